/* Posts in a row: may they wait for one another? */
#include "window/row.h"

void rs_row_init(struct rs_row *r, const struct rs_row_tuning *tuning)
{
	*r = (struct rs_row){.tuning = *tuning, .need = tuning->least};
}

bool rs_row_holds(struct rs_row *r, unsigned requests)
{
	if (r->account < r->need || !r->posts || r->waiting + requests >= r->tuning.gather)
		return false;
	r->waiting += requests;
	r->hold = true;
	return true;
}

void rs_row_posted(struct rs_row *r, int64_t now_ns)
{
	r->posts++;
	r->last_ns = now_ns;
}

static void earn(struct rs_row *r)
{
	int64_t gain = (r->posts - 1) * r->tuning.gain_ns;

	r->account += gain;
	r->earned += gain;
	if (r->need > r->tuning.least && r->earned >= r->tuning.pardon * r->need) {
		r->need /= 2;
		r->earned = 0;
	}
	if (r->account > 2 * r->need)
		r->account = 2 * r->need;
}

static void pay(struct rs_row *r, int64_t late)
{
	r->account = late < r->account ? r->account - late : 0;
	if (!r->hold || late <= r->tuning.long_ns)
		return;
	r->account = r->earned = 0;
	if (r->need < r->tuning.most)
		r->need *= 2;
}

/* A single post proves nothing: the program may look for its answer elsewhere. */
void rs_row_polled(struct rs_row *r, int64_t now_ns)
{
	int64_t late = now_ns - r->last_ns;

	if (r->posts > 1 && late <= r->tuning.prompt_ns)
		earn(r);
	else if (r->posts > 1)
		pay(r, late);
	r->posts = 0;
	r->hold = false;
}

void rs_row_sent(struct rs_row *r)
{
	r->waiting = 0;
}
