/*
 * How soon the network regains its rate after an event. All hosts add what they have received to
 * sums at given times, and the sums tell the rate of the whole network between two of them. Only
 * runs with events have such times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/happen.h"
#include "sim/host.h"

enum {
	CHANGES = 16, /* times that are judged: the first of them */
	FINE = 500,   /* steps of each kind after a change */
	COARSE = 450,
	PARTS = 8, /* a window is this part of what is judged, within limits */
	FEW_LEFT = 8,
};
#define FINE_STEP   (10 * RS_US)
#define COARSE_STEP (100 * RS_US)
#define BEFORE      (1 * RS_MS)
#define WINDOW_LAST (100 * RS_US)

static int by_time(const void *x, const void *y)
{
	const rs_time *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static uint32_t sorted(rs_time *at, uint32_t n)
{
	uint32_t k = 0;

	qsort(at, n, sizeof(*at), by_time);
	for (uint32_t i = 0; i < n; i++)
		if (!k || at[k - 1] != at[i])
			at[k++] = at[i];
	return k;
}

/* When something begins or ends, the first CHANGES times. */
static int changes(struct rs_sim *s, struct sim_regain *g)
{
	const struct rs_fabric_events *v = &s->f->events;
	rs_time *at = rs_arena_alloc(s->arena, 2u * v->n + 1, sizeof(*at));
	uint32_t n = 0;

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n; i++) {
		at[n++] = v->event[i].at;
		if (v->event[i].until != RS_NEVER)
			at[n++] = v->event[i].until;
	}
	n = sorted(at, n);
	g->change = at;
	g->n_changes = n < CHANGES ? n : CHANGES;
	g->end = n > CHANGES ? at[CHANGES] : RS_NEVER;
	return 0;
}

int sim_regain_create(struct rs_sim *s)
{
	struct sim_regain *g = rs_arena_alloc(s->arena, 1, sizeof(*g));
	uint32_t room = CHANGES * (FINE + COARSE + 2);

	if (!g || changes(s, g))
		return -ENOMEM;
	g->at = rs_arena_alloc(s->arena, room, sizeof(*g->at));
	g->useful = rs_arena_alloc(s->arena, room, sizeof(*g->useful));
	if (!g->at || !g->useful)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_changes; i++) {
		rs_time t = g->change[i], end = i + 1 < g->n_changes ? g->change[i + 1] : g->end;

		if (t)
			g->at[g->n++] = t > BEFORE ? t - BEFORE : 0;
		for (unsigned k = 0; k < FINE + COARSE && t <= end; k++) {
			g->at[g->n++] = t;
			t += k < FINE ? FINE_STEP : COARSE_STEP;
		}
	}
	g->n = sorted(g->at, g->n);
	s->regain = g;
	for (uint32_t i = 0; i < s->n_hosts; i++)
		if (sim_happen_sampled(s, i))
			return -ENOMEM;
	return 0;
}

void sim_regain_sample(struct sim_node *n, struct sim_regain *g, uint32_t i)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < n->host->n_nics; k++) {
		const struct sim_nic *nic = &n->host->nics[k];

		if (nic->transport && nic->transport->useful)
			sum += nic->transport->useful(nic->ends.self);
	}
	__atomic_fetch_add(&g->useful[i], sum, __ATOMIC_RELAXED);
}

/* ---- The result ---- */

/* Bits per second from sample a to b. */
static int64_t rate(const struct sim_regain *g, uint32_t a, uint32_t b)
{
	uint64_t bytes = g->useful[b] > g->useful[a] ? g->useful[b] - g->useful[a] : 0;

	if (g->at[b] <= g->at[a])
		return 0;
	return (int64_t)((rs_uint128)bytes * 8 * (uint64_t)RS_S / (uint64_t)(g->at[b] - g->at[a]));
}

/* The sample at a time, or the first behind it. */
static uint32_t at(const struct sim_regain *g, rs_time t)
{
	uint32_t i = 0;

	while (i < g->n && g->at[i] < t)
		i++;
	return i;
}

/* The end of the window from i on; 0: it is not over by `last`. */
static uint32_t window_end(const struct sim_regain *g, uint32_t i, uint32_t last, rs_time window)
{
	uint32_t k = i + 1;

	while (k <= last && g->at[k] - g->at[i] < window)
		k++;
	return k <= last ? k : 0;
}

/*
 * Windows that begin with samples from `first` on. What is left is the rate of the second half. It
 * is regained with the first window at 95 % of it that comes after one below that, in the first
 * half.
 */
static void judge(const struct sim_regain *g, uint32_t first, uint32_t last, rs_time window,
		  struct rs_sim_regain *r)
{
	uint32_t end, half = at(g, g->at[first] + (g->at[last] - g->at[first]) / 2);
	bool fell = false;

	r->least = INT64_MAX;
	r->left = rate(g, half, last);
	r->time = r->left ? 0 : RS_NEVER;
	for (uint32_t i = first; (end = window_end(g, i, last, window)); i++) {
		int64_t now = rate(g, i, end);
		bool low = now < r->left / 100 * 95;

		if (!fell && i >= half) /* what falls so late is flows that end */
			return;
		if (low && !fell)
			r->time = RS_NEVER;
		fell |= low;
		if (fell && !low) {
			r->time = g->at[i] - g->at[first];
			return;
		}
		r->least = now < r->least ? now : r->least;
	}
}

/* ---- Until when a change is judged ---- */

/* When flows begin and end, each sorted. */
struct courses {
	uint32_t n;
	rs_time *start, *finish;
};

static int courses_of(struct rs_sim *s, struct courses *c)
{
	const struct rs_sim_result *r = s->r;

	c->start = rs_arena_alloc(s->arena, r->n_flows + 1u, sizeof(*c->start));
	c->finish = rs_arena_alloc(s->arena, r->n_flows + 1u, sizeof(*c->finish));
	if (!c->start || !c->finish)
		return -ENOMEM;
	for (c->n = 0; c->n < r->n_flows; c->n++) {
		c->start[c->n] = r->flows[c->n].start;
		c->finish[c->n] = r->flows[c->n].finish;
	}
	qsort(c->start, c->n, sizeof(*c->start), by_time);
	qsort(c->finish, c->n, sizeof(*c->finish), by_time);
	return 0;
}

/* When less than FEW_LEFT of 10 of the flows of time t are under way; the end of a job of other
 * traffic ends what can be compared, too. */
static rs_time comparable(const struct rs_sim *s, const struct courses *c, rs_time t)
{
	const struct rs_sim_result *r = s->r;
	uint32_t begun = 0, ended = 0, then;
	rs_time end = r->sim_time;

	for (uint32_t i = 0; i < r->n_jobs; i++)
		if (r->jobs[i].conf->kind != RS_JOB_FLOWS && r->jobs[i].finish > t)
			end = rs_time_min(end, r->jobs[i].finish);
	while (begun < c->n && c->start[begun] <= t)
		begun++;
	while (ended < c->n && c->finish[ended] <= t)
		ended++;
	for (then = begun - ended; then && ended < c->n; ended++) {
		while (begun < c->n && c->start[begun] <= c->finish[ended])
			begun++;
		if (10 * (uint64_t)(begun - ended - 1) < FEW_LEFT * (uint64_t)then)
			return rs_time_min(end, c->finish[ended]);
	}
	return end;
}

static bool of_change(const struct rs_sim *s, struct rs_sim_regain *r, rs_time t)
{
	const struct rs_fabric_events *v = &s->f->events;

	for (uint32_t i = 0; i < v->n; i++)
		if (v->event[i].at == t || v->event[i].until == t) {
			r->begins = v->event[i].at == t;
			r->event = i;
			return true;
		}
	return false;
}

int sim_regain_collect(struct rs_sim *s)
{
	struct sim_regain *g = s->regain;
	struct rs_sim_result *r = s->r;
	struct courses c;

	if (!g)
		return 0;
	r->regains = rs_arena_alloc(r->arena, g->n_changes + 1u, sizeof(*r->regains));
	if (!r->regains || courses_of(s, &c))
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_changes; i++) {
		struct rs_sim_regain *x = &r->regains[r->n_regains];
		rs_time t = g->change[i], end = i + 1 < g->n_changes ? g->change[i + 1] : g->end;
		uint32_t first = at(g, t), last;
		rs_time window;

		end = rs_time_min(end, comparable(s, &c, t));
		last = at(g, end);
		last -= last && (last == g->n || g->at[last] > end);
		window = rs_time_max(FINE_STEP, rs_time_min(WINDOW_LAST, (end - t) / PARTS));
		if (end <= t || first >= last || !window_end(g, first, last, 4 * window) ||
		    !of_change(s, x, t))
			continue;
		x->at = t;
		x->before = t ? rate(g, at(g, t > BEFORE ? t - BEFORE : 0), first) : 0;
		judge(g, first, last, window, x);
		r->n_regains++;
	}
	return 0;
}
