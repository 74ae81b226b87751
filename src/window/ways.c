/* Which of two ways is the faster one: see ways.h. */
#include "window/ways.h"

void rs_ways_init(struct rs_ways *w, const struct rs_ways_tuning *tuning)
{
	*w = (struct rs_ways){.tuning = *tuning, .until = 1};
}

static void begin(struct rs_ways *w, int64_t now)
{
	w->begin_ns = now;
	w->bytes = 0;
}

/* Its end, or sooner, of the other way: what the whole would have taken. */
static int64_t of_stretch(const struct rs_ways *w, int64_t took)
{
	if (w->bytes >= w->tuning.stretch)
		return took;
	return (int64_t)((uint64_t)took * w->tuning.stretch / w->bytes);
}

static void begin_trial(struct rs_ways *w)
{
	w->trial = true;
	w->way = !w->way;
	w->slow = w->plain = 0;
}

/*
 * What else the machine does makes a stretch longer and none shorter: the least of those since the
 * last trial is what the way takes. Some in a row that took longer than the other one did: of these
 * alone the least, and the other one is tried.
 */
static void judge_plain(struct rs_ways *w, int64_t took)
{
	int64_t other = w->ns[!w->way];

	if (!w->plain++ || took < w->ns[w->way])
		w->ns[w->way] = took;
	if (other && took > other) {
		w->least_slow = w->slow && w->least_slow < took ? w->least_slow : took;
		w->slow++;
	} else {
		w->slow = 0;
	}
	if (w->slow == w->tuning.agree)
		w->ns[w->way] = w->least_slow;
	else if (w->plain < w->until)
		return;
	begin_trial(w);
}

/* One that is taken is doubted first: the time that it was better than may have been another's
 * fault. */
static void judge_trial(struct rs_ways *w, int64_t took)
{
	bool better = took < w->ns[!w->way];

	w->ns[w->way] = took;
	w->trial = false;
	w->until = better ? 1 : 4 * w->until;
	if (w->until > w->tuning.tries)
		w->until = w->tuning.tries;
	if (!better)
		w->way = !w->way;
}

void rs_ways_went(struct rs_ways *w, uint64_t bytes, int64_t now)
{
	int64_t took;

	if (!w->begin_ns || now - w->last_ns > w->tuning.break_ns)
		begin(w, now);
	w->last_ns = now;
	w->bytes += bytes;
	took = now - w->begin_ns;
	if (w->bytes < w->tuning.stretch && !(w->trial && took > w->ns[!w->way]))
		return;
	took = of_stretch(w, took);
	begin(w, now);
	if (w->trial)
		judge_trial(w, took);
	else
		judge_plain(w, took);
}
