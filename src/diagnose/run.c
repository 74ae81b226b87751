/* The runs of a diagnosis: the scenario first, since what it shows says what else is worth a run;
 * then all others side by side; then further seeds of those that differ. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/elapsed.h"
#include "diagnose/state.h"
#include "nccl/searches.h"

enum {
	SEEDS = 5,              /* where the user does not say how many */
	LOOK_EVENTS = 10000000, /* of the scenario's first few seeds, to see what may happen */
	SEED_EVENTS = 40000000  /* of all further seeds together: some five seconds */
};

struct rs_case_info *case_add(struct diagnose *g, enum rs_case_kind kind, const char *name,
			      struct rs_fabric *fabric, const struct rs_sim_ideal *ideal)
{
	struct rs_diagnosis *d = g->d;
	struct rs_sim_case *c = &d->cases[d->n];

	if (d->n == CASES_MAX || !name)
		return NULL;
	*c = (struct rs_sim_case){
		.name = name, .fabric = fabric ? fabric : g->f, .options = g->o->sim};
	if (ideal)
		c->options.ideal = *ideal;
	c->options.searches = d->searches;
	if (d->n) {
		c->options.pcap = NULL;
		c->options.rate_interval = 0;
		c->options.observe.on = false;
	}
	d->info[d->n] = (struct rs_case_info){.kind = kind,
					      .name = name,
					      .owns_fabric = fabric != NULL,
					      .fabric = (struct rs_fabric *)c->fabric};
	return &d->info[d->n++];
}

void case_drop(struct diagnose *g)
{
	struct rs_diagnosis *d = g->d;

	d->n--;
	rs_sim_result_free(d->cases[d->n].result);
	free(d->info[d->n].times);
	if (d->info[d->n].owns_fabric)
		rs_fabric_free(d->info[d->n].fabric);
}

static bool stopped(const struct diagnose *g)
{
	return g->o->sim.stop && *g->o->sim.stop;
}

/* ---- One batch ---- */

/* Only the first of a batch tells how far it is: the others run beside it. */
static void run_batch(struct diagnose *g, struct rs_sim_case *cases, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		cases[i].options.progress = NULL;
	if (n)
		g->d->threads = rs_sim_run_all(cases, n, g->o->threads);
}

/* The times of a seed's run are kept, the rest of it only of the first seed. */
static int keep_times(struct rs_diagnosis *d, uint32_t i, const struct rs_sim_result *r)
{
	struct rs_case_info *c = &d->info[i];
	uint32_t n = d->cases[0].fabric->n_jobs;
	rs_time *more;

	if (!r)
		return 0;
	more = realloc(c->times, (size_t)(c->n_seeds + 1) * (n + 1u) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->times = more;
	for (uint32_t j = 0; j < n; j++)
		more[(size_t)c->n_seeds * n + j] = rs_job_time(r, j);
	c->n_seeds++;
	return 0;
}

/* A run of the tool's own that cannot be had (one switch in place of all holds too little headroom,
 * say) is no fault of the scenario's: it is left out. The author's fixes are not. */
static void drop_refused(struct rs_diagnosis *d)
{
	uint32_t n = 1;

	for (uint32_t i = 1; i < d->n; i++) {
		const struct rs_case_info *c = &d->info[i];
		int code = d->cases[i].error.code;

		if (code && code != -ENOMEM && (c->kind != RS_CASE_FIX || c->cures)) {
			if (c->owns_fabric)
				rs_fabric_free(c->fabric);
			continue;
		}
		d->info[n] = d->info[i];
		d->cases[n++] = d->cases[i];
	}
	d->n = n;
}

int cases_run(struct diagnose *g, uint32_t from)
{
	int err = 0;

	run_batch(g, &g->d->cases[from], g->d->n - from);
	if (from)
		drop_refused(g->d);
	for (uint32_t i = from; !err && i < g->d->n; i++)
		err = keep_times(g->d, i, g->d->cases[i].result);
	return err;
}

/* ---- Further seeds ---- */

/* Worth more seeds: the base, bounds, jobs apart, and whatever makes a difference. */
static bool differs(const struct rs_diagnosis *d, uint32_t i)
{
	if (d->cases[i].error.code || !d->cases[i].result)
		return false;
	return !i || d->info[i].kind == RS_CASE_IDEAL || d->info[i].kind == RS_CASE_WITHOUT ||
	       fabs(rs_case_gain(d, i).gain) > 0.001;
}

static uint32_t seeds_wanted(struct diagnose *g)
{
	uint64_t events = 0;

	if (g->o->seeds)
		return g->o->seeds < RS_SEEDS_MAX ? g->o->seeds : RS_SEEDS_MAX;
	for (uint32_t i = 0; i < g->d->n; i++)
		if (differs(g->d, i))
			events += g->d->cases[i].result->counters.events;
	g->d->seeds_cut = events * (SEEDS - 1) > SEED_EVENTS;
	return g->d->seeds_cut ? 1 : SEEDS;
}

/* Runs of some cases, a seed each; what Ctrl-C cut short is not kept. */
static int seed_cases(struct diagnose *g, struct rs_sim_case *c, const uint32_t *which, uint32_t n,
		      uint32_t seed)
{
	struct rs_diagnosis *d = g->d;
	int err = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct rs_sim_case *of = &d->cases[which[k]];

		c[k] = (struct rs_sim_case){
			.name = of->name, .fabric = of->fabric, .options = of->options};
		c[k].options.seed = d->seed + seed;
		c[k].options.pcap = NULL;
		c[k].options.rate_interval = 0;
		c[k].options.observe.on = false;
	}
	run_batch(g, c, n);
	for (uint32_t k = 0; k < n; k++) {
		if (!err && !stopped(g))
			err = keep_times(d, which[k], c[k].result);
		rs_sim_result_free(c[k].result);
	}
	return err;
}

int case_seeds(struct diagnose *g, uint32_t i)
{
	struct rs_diagnosis *d = g->d;
	const struct rs_sim_case *of = &d->cases[i];
	uint32_t n = d->info[0].n_seeds, first = d->info[i].n_seeds;
	struct rs_sim_case c[RS_SEEDS_MAX];
	int err = 0;

	rs_assert(n <= RS_SEEDS_MAX && i < d->n);
	for (uint32_t s = first; s < n; s++) {
		c[s] = (struct rs_sim_case){
			.name = of->name, .fabric = of->fabric, .options = of->options};
		c[s].options.seed = d->seed + s;
	}
	if (!of->result || first >= n)
		return 0;
	run_batch(g, &c[first], n - first);
	for (uint32_t s = first; s < n; s++) {
		if (!err && !stopped(g))
			err = keep_times(d, i, c[s].result);
		rs_sim_result_free(c[s].result);
	}
	return err;
}

/* All cases with further seeds, not only those that differ, are within the bound. */
static bool all_affordable(const struct diagnose *g, uint32_t seeds)
{
	uint64_t events = 0;

	for (uint32_t i = 1; i < g->d->n; i++)
		if (g->d->cases[i].result)
			events += g->d->cases[i].result->counters.events;
	return g->o->seeds || events * (seeds - 1) <= SEED_EVENTS;
}

bool base_varies(const struct rs_diagnosis *d)
{
	uint32_t n = d->cases[0].fabric->n_jobs;
	const rs_time *t = d->info[0].times;

	for (uint32_t i = n; i < n * d->info[0].n_seeds; i++)
		if (llabs(t[i] - t[i % n]) > t[i % n] / 1000)
			return true;
	return false;
}

/*
 * The scenario's own further seeds come first. Where they differ, a case that changed nothing with
 * the first seed may be what matters with the others (a loss, a collision that the first seed did
 * not draw): then all cases run with all seeds, where that is cheap.
 */
static int further_seeds(struct diagnose *g)
{
	struct rs_diagnosis *d = g->d;
	uint32_t seeds = seeds_wanted(g), n = 0, which[CASES_MAX];
	struct rs_sim_case *c = calloc(d->n + 1u, sizeof(*c));
	int err = c ? 0 : -ENOMEM;
	bool all;

	rs_assert(d->n <= CASES_MAX && seeds <= RS_SEEDS_MAX);
	which[0] = 0;
	for (uint32_t s = 1; s < seeds && !err && !stopped(g); s++)
		err = seed_cases(g, c, which, 1, s);
	all = !err && seeds > 1 && base_varies(d) && all_affordable(g, seeds);
	for (uint32_t i = 1; i < d->n; i++)
		if (differs(d, i) || (all && !d->cases[i].error.code && d->cases[i].result))
			which[n++] = i;
	for (uint32_t s = 1; s < seeds && !err && n && !stopped(g); s++)
		err = seed_cases(g, c, which, n, s);
	free(c);
	return err;
}

/* ---- All ---- */

static bool failed(const struct rs_diagnosis *d)
{
	return d->cases[0].error.code != 0 || !d->cases[0].result;
}

/* The sum of jobs' times; without end: a job does not finish. */
static double time_in_all(const struct rs_sim_result *r)
{
	double sum = 0;

	for (uint32_t j = 0; r && j < r->n_jobs; j++) {
		rs_time t = rs_job_time(r, j);

		sum += t == RS_NEVER ? INFINITY : (double)t;
	}
	return r ? sum : 0;
}

/* So much longer than with the first seed: something else happened. */
#define LONGER 1.05

/* What a draw leaves out (a loss, a watchdog that fires) is not seen in its counters: of a few
 * seeds the one that takes longest is looked at. */
static void look_at_seeds(struct diagnose *g)
{
	struct rs_diagnosis *d = g->d;
	const struct rs_sim_case *of = &d->cases[0];
	struct rs_sim_case c[SEEDS - 1];
	double most = time_in_all(of->result) * LONGER;
	uint32_t n = g->o->seeds && g->o->seeds < SEEDS ? g->o->seeds - 1 : SEEDS - 1;

	d->seen = of->result;
	d->seen_seed = d->seed;
	if (of->result->counters.events * n > LOOK_EVENTS)
		return;
	for (uint32_t i = 0; i < n; i++) {
		c[i] = (struct rs_sim_case){
			.name = of->name, .fabric = of->fabric, .options = of->options};
		c[i].options.seed = d->seed + i + 1;
		c[i].options.pcap = NULL;
		c[i].options.rate_interval = 0;
		c[i].options.observe.on = false;
	}
	run_batch(g, c, n);
	for (uint32_t i = 0; i < n; i++) {
		if (stopped(g) || !(time_in_all(c[i].result) > most)) {
			rs_sim_result_free(c[i].result);
			continue;
		}
		if (d->seen != of->result)
			rs_sim_result_free((struct rs_sim_result *)d->seen);
		most = time_in_all(c[i].result);
		d->seen = c[i].result;
		d->seen_seed = c[i].options.seed;
	}
}

/* That run once more, to see when packets were dropped and ports were held. */
static void watch_seen(struct diagnose *g)
{
	struct rs_diagnosis *d = g->d;
	const struct rs_sim_counters *s = &d->seen->counters;
	struct rs_sim_case c = {.name = d->cases[0].name,
				.fabric = d->cases[0].fabric,
				.options = d->cases[0].options};

	if (s->events > LOOK_EVENTS ||
	    !(s->drops + s->nic_drops + s->link_losses + s->pauses + s->nic_pauses))
		return;
	c.options.seed = d->seen_seed;
	c.options.pcap = NULL;
	c.options.rate_interval = 0;
	c.options.observe = (struct rs_observe){.on = true, .flows = 1};
	run_batch(g, &c, 1);
	d->watched = c.result;
}

static int run_whole(struct diagnose *g)
{
	uint32_t n;
	int err;

	look_at_seeds(g);
	watch_seen(g);
	counterfactuals_add(g);
	if ((err = whatifs_add(g)) || (err = repairs_add(g)))
		return err;
	g->d->whole = true;
	err = cases_run(g, 1);
	if (err || stopped(g))
		return err;
	n = g->d->n;
	latency_add(g);
	err = cases_run(g, n);
	if (!err && !stopped(g))
		err = further_seeds(g);
	return err || stopped(g) ? err : together_find(g);
}

static int run_all(struct diagnose *g)
{
	int err;

	if (!case_add(g, RS_CASE_BASE, "as described", NULL, NULL))
		return -ENOMEM;
	err = cases_run(g, 0);
	if (err || failed(g->d) || stopped(g))
		return err;
	if (!g->o->base_only) {
		err = run_whole(g);
	} else if (g->o->sim.observe.on && g->o->sim.observe.alone) {
		jobs_alone_add(g);
		err = cases_run(g, 1);
	}
	if (!err && !stopped(g) && g->o->base_only && g->o->seeds > 1)
		err = further_seeds(g);
	g->d->n_seeds = g->d->info[0].n_seeds;
	if (!err)
		series_alone(g->d);
	if (!err && g->d->whole)
		causes_find(g->d);
	return err;
}

static int start(struct rs_diagnosis *d, const struct rs_diagnose_options *o)
{
	*d = (struct rs_diagnosis){.scenario = o->file,
				   .seed = o->sim.seed,
				   .cases = calloc(CASES_MAX, sizeof(*d->cases)),
				   .info = calloc(CASES_MAX, sizeof(*d->info)),
				   .searches = rs_nccl_searches_create(),
				   .arena = rs_arena_create(0)};
	return d->cases && d->info && d->searches && d->arena ? 0 : -ENOMEM;
}

int rs_diagnose(struct rs_fabric *f, const struct rs_diagnose_options *o, struct rs_diagnosis **out,
		struct rs_error *e)
{
	struct rs_diagnosis *d = calloc(1, sizeof(*d));
	struct diagnose g = {o, f, d, e};
	double wall = rs_elapsed_s(RS_ELAPSED_WALL), cpu = rs_elapsed_s(RS_ELAPSED_PROCESS_CPU);
	int err = -ENOMEM;

	*out = d;
	if (d) {
		err = start(d, o);
		if (!err)
			err = run_all(&g);
		d->wall_s = rs_elapsed_s(RS_ELAPSED_WALL) - wall;
		d->cpu_s = rs_elapsed_s(RS_ELAPSED_PROCESS_CPU) - cpu;
	}
	if (!err)
		return 0;
	rs_diagnosis_free(d);
	*out = NULL;
	return rs_error_set(e, err, "out of memory");
}

int rs_diagnosis_of(const struct rs_fabric *f, const char *scenario, uint64_t seed,
		    struct rs_sim_result *r, struct rs_diagnosis **out)
{
	const struct rs_diagnose_options o = {.file = scenario, .sim.seed = seed};
	struct rs_diagnosis *d = calloc(1, sizeof(*d));
	struct diagnose g = {&o, (struct rs_fabric *)(uintptr_t)f, d, NULL};
	int err = d ? start(d, &o) : -ENOMEM;

	*out = d;
	if (!err && !case_add(&g, RS_CASE_BASE, "as described", NULL, NULL))
		err = -ENOMEM;
	if (!err) {
		d->cases[0].result = r;
		d->threads = r->threads;
		d->wall_s = r->wall_s;
		d->cpu_s = r->cpu_s;
		d->seen = r;
		d->seen_seed = seed;
		d->n_seeds = 1;
		err = keep_times(d, 0, r);
	} else {
		rs_sim_result_free(r);
	}
	if (!err)
		return 0;
	rs_diagnosis_free(d);
	*out = NULL;
	return err;
}

void rs_diagnosis_free(struct rs_diagnosis *d)
{
	if (d && d->cases && d->seen && d->seen != d->cases[0].result)
		rs_sim_result_free((struct rs_sim_result *)d->seen);
	for (uint32_t i = 0; d && d->cases && d->info && i < d->n; i++) {
		rs_sim_result_free(d->cases[i].result);
		free(d->info[i].times);
		if (d->info[i].owns_fabric)
			rs_fabric_free(d->info[i].fabric);
	}
	if (!d)
		return;
	rs_sim_result_free(d->watched);
	free(d->cases);
	free(d->info);
	rs_nccl_searches_free(d->searches);
	rs_arena_destroy(d->arena);
	free(d);
}
