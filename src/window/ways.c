/* Which of two ways is the faster one: see ways.h. */
#include "window/ways.h"

void rs_ways_init(struct rs_ways *w, const struct rs_ways_tuning *tuning)
{
	*w = (struct rs_ways){.tuning = *tuning};
}

static void begin(struct rs_ways *w, int64_t now)
{
	w->begin_ns = now;
	w->bytes = 0;
}

void rs_ways_went(struct rs_ways *w, uint64_t bytes, int64_t now)
{
	uint64_t stretch = w->tuning.stretch;
	int64_t took;

	if (!w->begin_ns || now - w->last_ns > w->tuning.break_ns)
		begin(w, now);
	w->last_ns = now;
	w->bytes += bytes;
	took = now - w->begin_ns;
	if (w->bytes < stretch && !(w->trial && w->ns[!w->way] && took > w->ns[!w->way]))
		return;
	/* of a trial that was cut short, what the whole would have taken */
	w->ns[w->way] = w->bytes < stretch ? (int64_t)((uint64_t)took * stretch / w->bytes) : took;
	begin(w, now);
	w->trial = ++w->stretches % w->tuning.tries == 1;
	w->way = (w->ns[1] && w->ns[1] < w->ns[0]) != w->trial;
}
