/* Streams that come: are they left to gather? */
#include "window/gather.h"

void rs_gather_init(struct rs_gather *g, const struct rs_gather_tuning *tuning)
{
	*g = (struct rs_gather){.tuning = *tuning};
}

/* That pauses were slower is remembered. */
static void end(struct rs_gather *g)
{
	if (g->pauses)
		g->left = 0;
	g->comes = g->pauses = false;
}

void rs_gather_answered(struct rs_gather *g)
{
	end(g);
}

static unsigned longer(const struct rs_gather *g)
{
	unsigned n = g->rest ? 2 * g->rest : g->tuning.rest;

	return n < g->tuning.rest_most ? n : g->tuning.rest_most;
}

/* A stretch that takes too long is not waited for to its end. */
static bool is_slower(const struct rs_gather *g, int64_t took)
{
	return g->pauses && took > g->plain_ns + g->plain_ns * g->tuning.slower / 100;
}

static void rest(struct rs_gather *g)
{
	g->rest = longer(g);
	g->left = g->rest;
	g->slow = g->good = 0;
}

static void judge(struct rs_gather *g, int64_t took)
{
	if (!g->pauses) {
		g->plain_ns = took;
		g->pauses = !g->left;
		g->left = g->left ? g->left - 1 : g->tuning.tries;
		return;
	}
	if (is_slower(g, took)) {
		g->pauses = false;
		g->left = 0; /* a plain one, and pauses again */
		if (++g->slow == g->tuning.agree)
			rest(g);
		return;
	}
	g->slow = 0;
	if (++g->good == g->tuning.tries)
		g->rest = 0;
	g->pauses = --g->left;
}

/* A look may find much more than the stretch lacked. */
static int64_t of_stretch(const struct rs_gather *g, int64_t took)
{
	if (g->bytes <= g->tuning.stretch)
		return took;
	return (int64_t)((uint64_t)took * g->tuning.stretch / g->bytes);
}

/* Of the first look's bytes nothing is known but that they came: time runs from there. */
bool rs_gather_looked(struct rs_gather *g, uint64_t bytes, int64_t now_ns)
{
	if (g->comes && now_ns - g->last_ns > g->tuning.gap_ns)
		end(g);
	if (!bytes)
		return false;
	g->last_ns = now_ns;
	if (!g->comes) {
		g->comes = true;
		g->bytes = 0;
		g->begin_ns = now_ns;
		return false;
	}
	g->bytes += bytes;
	if (g->bytes >= g->tuning.stretch || is_slower(g, now_ns - g->begin_ns)) {
		judge(g, of_stretch(g, now_ns - g->begin_ns));
		g->bytes = 0;
		g->begin_ns = now_ns;
	}
	return g->pauses;
}

int64_t rs_gather_takes(const struct rs_gather *g, uint64_t bytes)
{
	return (int64_t)((uint64_t)g->plain_ns * bytes / g->tuning.stretch);
}
