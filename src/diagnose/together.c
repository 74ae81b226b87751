/*
 * Faults that hide one another. Everything that can be made ideal or mended runs at once. Where
 * that saves clearly more than any one of them alone, one after another is left out again for as
 * long as what is left saves nearly the same: the rest is the smallest set of that kind, each part
 * of which is needed. So many runs as there are parts, and not as many as there are sets.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diagnose/state.h"

enum { PARTS_MAX = 24, TOGETHER_EVENTS = 40000000 };

/* All at once must save this much more than the best alone (of the logarithm of times). */
#define MORE 0.05
/* What is left of a set saves nearly the same. */
#define NEARLY 0.9

struct together {
	struct diagnose *g;
	uint32_t n, part[PARTS_MAX]; /* cases: what can best be left out comes first */
	uint64_t events;             /* of the runs so far */
	bool seeds;                  /* all are run with all: times differ from seed to seed */
	int err;
};

static double effect(const struct rs_diagnosis *d, uint32_t i)
{
	struct rs_gain g = rs_case_gain(d, i);

	return g.ends ? -log1p(-fmin(g.gain, 1 - 1e-12)) : -1;
}

/* ---- Parts ---- */

/* What names no place comes first: it is left out where something that does serves as well. */
static const char *const ideals[] = {"cuts",  "pauses",     "oversubscription",
				     "host",  "collisions", "reordering",
				     "drops", "link.loss"};

static bool is_fix(const struct rs_case_info *c)
{
	return c->kind == RS_CASE_FIX && c->cures && c->change && !c->general &&
	       (c->where || cause_mended(c->cures));
}

static void part_add(struct together *t, uint32_t i)
{
	if (t->n < PARTS_MAX)
		t->part[t->n++] = i;
}

static void parts_find(struct together *t)
{
	const struct rs_diagnosis *d = t->g->d;

	for (size_t k = 0; k < sizeof(ideals) / sizeof(*ideals); k++)
		for (uint32_t i = 1; i < d->n; i++)
			if (d->info[i].kind == RS_CASE_COUNTERFACTUAL &&
			    !strcmp(d->info[i].id, ideals[k]))
				part_add(t, i);
	for (uint32_t i = 1; i < d->n; i++)
		if (is_fix(&d->info[i]))
			part_add(t, i);
}

/* ---- Sets ---- */

static void ideal_join(struct rs_sim_ideal *to, const struct rs_sim_ideal *x)
{
	to->host |= x->host;
	to->no_pause |= x->no_pause;
	to->no_loss |= x->no_loss;
	to->no_cc |= x->no_cc;
	to->placed |= x->placed;
	to->no_drops |= x->no_drops;
	to->in_order |= x->in_order;
}

/* *to has room for all settings. */
static void change_join(struct rs_change *to, struct rs_setting *set, const struct rs_change *x)
{
	for (uint32_t i = 0; i < x->n_set; i++)
		set[to->n_set++] = x->set[i];
	to->set = set;
	to->repairs |= x->repairs;
	to->widen = fmax(to->widen, x->widen);
}

/* One fabric with the changes of all; NULL: none has any, or *err. */
static struct rs_fabric *fabric_of(struct together *t, const uint32_t *of, uint32_t n)
{
	const struct rs_diagnosis *d = t->g->d;
	struct rs_setting *set;
	struct rs_change all = {0};
	struct rs_fabric *h = NULL;
	uint32_t room = 1;
	bool changes = false;

	for (uint32_t i = 0; i < n; i++)
		if (d->info[of[i]].change) {
			room += d->info[of[i]].change->n_set;
			changes = true;
		}
	if (!changes)
		return NULL;
	set = calloc(room, sizeof(*set));
	for (uint32_t i = 0; set && i < n; i++)
		if (d->info[of[i]].change)
			change_join(&all, set, d->info[of[i]].change);
	t->err = set ? change_make(t->g, &all, &h) : -ENOMEM;
	free(set);
	return t->err ? NULL : h;
}

static const char *name_of(const struct together *t, const uint32_t *of, uint32_t n)
{
	const struct rs_diagnosis *d = t->g->d;
	const char *name = NULL;

	for (uint32_t i = 0; i < n; i++)
		name = rs_arena_printf(
			d->arena, "%s%s", name ? name : "together: ",
			rs_arena_printf(d->arena, "%s%s", i ? "; " : "", d->info[of[i]].name));
	return name;
}

/* Runs a set as the last case, with all seeds or with the first alone. Its effect; negative: it
 * cannot be had, and there is no such case. */
static double set_run(struct together *t, const uint32_t *of, uint32_t n, bool seeds)
{
	struct rs_diagnosis *d = t->g->d;
	struct rs_sim_ideal ideal = {0};
	struct rs_fabric *h;
	struct rs_case_info *c;
	uint32_t at = d->n, fixes = 0;

	t->events += d->cases[0].result->counters.events * (seeds ? d->info[0].n_seeds : 1);
	h = t->events > TOGETHER_EVENTS ? NULL : fabric_of(t, of, n);
	if (t->err || t->events > TOGETHER_EVENTS) {
		t->err = t->err == -ENOMEM ? -ENOMEM : 0;
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		ideal_join(&ideal, &d->cases[of[i]].options.ideal);
	/* what can be made is a fix; with something ideal it is none */
	for (uint32_t i = 0; i < n; i++)
		fixes += d->info[of[i]].kind == RS_CASE_FIX;
	c = case_add(t->g, fixes == n ? RS_CASE_FIX : RS_CASE_COUNTERFACTUAL, name_of(t, of, n), h,
		     &ideal);
	if (!c) {
		rs_fabric_free(h);
		return -1;
	}
	c->id = "together";
	c->cures = "together";
	c->mends = fixes > 0;
	t->err = cases_run(t->g, at);
	if (!t->err && seeds && d->n > at)
		t->err = case_seeds(t->g, at);
	return !t->err && d->n > at && d->cases[at].result ? effect(d, at) : -1;
}

/* Its effect alone; the run is not kept. */
static double set_try(struct together *t, const uint32_t *of, uint32_t n)
{
	uint32_t at = t->g->d->n;
	double x = set_run(t, of, n, t->seeds);

	while (t->g->d->n > at)
		case_drop(t->g);
	return x;
}

/* ---- The smallest ---- */

static void leave_out(uint32_t *of, uint32_t *n, uint32_t i)
{
	memmove(&of[i], &of[i + 1], (*n - i - 1) * sizeof(*of));
	(*n)--;
}

/* Leaves out what is not needed. */
static void set_shrink(struct together *t, uint32_t *of, uint32_t *n, double all)
{
	uint32_t less[PARTS_MAX];

	for (uint32_t i = 0; i<*n && * n> 1 && !t->err;) {
		uint32_t m = *n;

		memcpy(less, of, m * sizeof(*of));
		leave_out(less, &m, i);
		if (set_try(t, less, m) >= NEARLY * all)
			leave_out(of, n, i);
		else
			i++;
	}
}

/* The set as a case, and all of it but each. */
static void set_keep(struct together *t, const uint32_t *of, uint32_t n)
{
	struct rs_diagnosis *d = t->g->d;
	uint32_t at = d->n, less[PARTS_MAX];

	if (set_run(t, of, n, true) < 0)
		return;
	memcpy(d->info[at].of, of, n * sizeof(*of));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = n;

		memcpy(less, of, n * sizeof(*of));
		leave_out(less, &m, i);
		d->info[at].rest[i] = m == 1 ? less[0] : d->n;
		if (m > 1) {
			set_run(t, less, m, true);
			if (t->err || d->n == d->info[at].rest[i])
				return;
		}
	}
	d->info[at].n_of = n;
}

/* Brakes are no faults, and without them it may be slower: they come in only where the rest hides
 * nothing. most: what the best of all saves alone. */
static double set_all(struct together *t, uint32_t *of, uint32_t *n, double most)
{
	const struct rs_diagnosis *d = t->g->d;
	uint32_t brakes = 0;
	double kept;

	while (brakes < t->n && d->info[t->part[brakes]].kind == RS_CASE_COUNTERFACTUAL &&
	       (!strcmp(d->info[t->part[brakes]].id, "cuts") ||
		!strcmp(d->info[t->part[brakes]].id, "pauses")))
		brakes++;
	*n = t->n - brakes;
	memcpy(of, t->part + brakes, *n * sizeof(*of));
	kept = *n > 1 ? set_try(t, of, *n) : -1;
	if (t->err || !brakes || kept > most + MORE)
		return kept;
	*n = t->n;
	memcpy(of, t->part, *n * sizeof(*of));
	return set_try(t, of, *n);
}

int together_find(struct diagnose *g)
{
	const struct rs_diagnosis *d = g->d;
	struct together t = {.g = g, .seeds = base_varies(g->d)};
	uint32_t n, of[PARTS_MAX];
	double all, most = 0;

	parts_find(&t);
	for (uint32_t i = 0; i < t.n; i++)
		most = fmax(most, effect(d, t.part[i]));
	if (t.n < 2)
		return 0;
	all = set_all(&t, of, &n, most);
	if (!t.err && all > most + MORE) {
		set_shrink(&t, of, &n, all);
		if (!t.err && n > 1 && n <= RS_TOGETHER_MAX)
			set_keep(&t, of, n);
	}
	return t.err;
}
