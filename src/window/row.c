/* Posts in a row: may they wait for one another? */
#include "window/row.h"

void rs_row_init(struct rs_row *r, const struct rs_row_tuning *tuning)
{
	*r = (struct rs_row){.tuning = *tuning, .need = tuning->least};
}

bool rs_row_holds(struct rs_row *r)
{
	if (r->prompt < r->need || !r->posts || (r->posts + 1) % r->tuning.gather == 0)
		return false;
	r->held = true;
	return true;
}

void rs_row_posted(struct rs_row *r, int64_t now_ns)
{
	r->posts++;
	r->last_ns = now_ns;
}

void rs_row_polled(struct rs_row *r, int64_t now_ns)
{
	bool prompt = now_ns - r->last_ns <= r->tuning.prompt_ns;

	if (r->posts > 1 && prompt && r->prompt < r->need) {
		r->prompt++;
	} else if (r->posts > 1 && !prompt) {
		if (r->held && r->need < r->tuning.most)
			r->need *= 2;
		r->prompt = 0;
	}
	r->posts = 0;
}

void rs_row_sent(struct rs_row *r)
{
	r->held = false;
}
