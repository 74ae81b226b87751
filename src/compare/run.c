/* The runs of a comparison: each variant with each seed, side by side. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/elapsed.h"
#include "compare/state.h"
#include "describe/describe.h"
#include "nccl/searches.h"

/* Shared by all runs. */
struct runs {
	struct rs_comparison *c;
	const struct rs_compare_options *o;
	pthread_mutex_t lock; /* of what is below, and of progress */
	uint32_t done, all;
};

/* Of one run: a variant with a seed. */
struct one {
	struct runs *of;
	uint32_t variant, seed;
};

static bool stopped(const struct runs *w)
{
	return w->o->sim.stop && *w->o->sim.stop;
}

static int load(const struct runs *w, uint32_t v, struct rs_fabric **f, struct rs_error *e)
{
	struct rs_setting set[SETTINGS];
	uint32_t n = variant_settings(w->c, w->o, v, set);

	return rs_fabric_load(w->o->file, set, n, f, e);
}

static void begin(struct rs_sim_case *k)
{
	struct one *one = k->arg;
	struct rs_fabric *f = NULL;

	if (stopped(one->of))
		rs_error_set(&k->error, -EINTR, "interrupted");
	else
		load(one->of, one->variant, &f, &k->error);
	k->fabric = f;
}

static void take(struct runs *w, const struct one *one, const struct rs_sim_case *k)
{
	struct rs_variant *v = &w->c->variants[one->variant];
	const struct rs_sim_result *r = k->result;
	double *to = v->run + (size_t)one->seed * RS_FIGURES;

	figures_of(k->fabric, r, to);
	v->events[one->seed] = r->counters.events;
	pthread_mutex_lock(&w->lock);
	v->n_seeds++;
	v->ended += r->complete;
	pthread_mutex_unlock(&w->lock);
}

static void refuse(struct runs *w, const struct one *one, const struct rs_error *e)
{
	pthread_mutex_lock(&w->lock);
	/* of several seeds the first one's words, whichever thread was first */
	if (!one->seed || !w->c->variants[one->variant].error.code)
		w->c->variants[one->variant].error = *e;
	pthread_mutex_unlock(&w->lock);
}

static void end(struct rs_sim_case *k)
{
	struct one *one = k->arg;
	struct runs *w = one->of;

	if (k->error.code && k->error.code != -EINTR)
		refuse(w, one, &k->error);
	else if (k->result && !stopped(w))
		take(w, one, k);
	rs_sim_result_free(k->result);
	rs_fabric_free((struct rs_fabric *)k->fabric);
	k->result = NULL;
	k->fabric = NULL;
	pthread_mutex_lock(&w->lock);
	w->done++;
	if (w->o->progress)
		w->o->progress(w->o->progress_arg, w->done, w->all);
	pthread_mutex_unlock(&w->lock);
}

/* ---- Before any run ---- */

/* Value i of axis a can be had: with the first values of the others, or with any. */
static int check_value(const struct runs *w, uint32_t a, uint32_t i, struct rs_error *e)
{
	struct rs_error other = {0};
	int err = -EINVAL;
	bool first = true;

	for (uint32_t v = 0; v < w->c->n && err; v++) {
		struct rs_fabric *f;

		if (rs_variant_choice(w->c, v, a) != &w->c->axes[a].choice[i])
			continue;
		err = load(w, v, &f, first ? e : &other);
		if (!err)
			rs_fabric_free(f);
		first = false;
	}
	if (!err)
		*e = (struct rs_error){0};
	return err;
}

static int check_values(const struct runs *w, struct rs_error *e)
{
	for (uint32_t a = 0; a < w->c->n_axes; a++)
		for (uint32_t i = 0; w->c->axes[a].varied && i < w->c->axes[a].n; i++)
			if (check_value(w, a, i, e))
				return e->code;
	return 0;
}

static const char *name_of(struct rs_comparison *c, uint32_t v)
{
	const char *name = "";

	for (uint32_t a = 0; a < c->n_axes && name; a++)
		name = rs_arena_printf(c->arena, "%s%s%s %s", name, a ? ", " : "", c->axes[a].name,
				       rs_variant_choice(c, v, a)->label);
	return name;
}

/* Figures that a run did not give are not known. */
static int make_variants(struct rs_comparison *c)
{
	c->variants = rs_arena_alloc(c->arena, c->n, sizeof(*c->variants));
	c->order = rs_arena_alloc(c->arena, c->n, sizeof(*c->order));
	if (!c->variants || !c->order)
		return -ENOMEM;
	for (uint32_t v = 0; v < c->n; v++) {
		struct rs_variant *o = &c->variants[v];

		o->name = name_of(c, v);
		o->run = rs_arena_alloc(c->arena, (size_t)c->n_seeds * RS_FIGURES, sizeof(*o->run));
		o->events = rs_arena_alloc(c->arena, c->n_seeds, sizeof(*o->events));
		if (!o->name || !o->run || !o->events)
			return -ENOMEM;
		for (uint32_t i = 0; i < c->n_seeds * RS_FIGURES; i++)
			o->run[i] = NAN;
	}
	return 0;
}

/* ---- All ---- */

/* What Ctrl-C cut off may be any of a variant's seeds: those that ran come first. */
static void close_gaps(struct rs_comparison *c)
{
	for (uint32_t v = 0; v < c->n; v++) {
		struct rs_variant *o = &c->variants[v];
		uint32_t n = 0;

		for (uint32_t s = 0; s < c->n_seeds && o->n_seeds < c->n_seeds; s++)
			if (!isnan(o->run[(size_t)s * RS_FIGURES + RS_FIGURE_CPU])) {
				memmove(o->run + (size_t)n * RS_FIGURES,
					o->run + (size_t)s * RS_FIGURES,
					RS_FIGURES * sizeof(*o->run));
				o->events[n++] = o->events[s];
			}
	}
}

static int run(struct runs *w)
{
	struct rs_comparison *c = w->c;
	uint32_t n = c->n * c->n_seeds;
	struct rs_sim_case *k = calloc(n, sizeof(*k));
	struct one *one = calloc(n, sizeof(*one));
	struct rs_nccl_searches *searches = rs_nccl_searches_create();
	bool room = k && one && searches;

	w->all = n;
	for (uint32_t i = 0; room && i < n; i++) {
		one[i] = (struct one){w, i / c->n_seeds, i % c->n_seeds};
		k[i] = (struct rs_sim_case){.name = c->variants[one[i].variant].name,
					    .options = w->o->sim,
					    .begin = begin,
					    .end = end,
					    .arg = &one[i]};
		k[i].options.seed = c->seed + one[i].seed;
		k[i].options.searches = searches;
		k[i].options.observe = (struct rs_observe){.on = true, .flows = 1};
		k[i].options.progress = NULL;
		k[i].options.threads = 1;
	}
	if (room)
		c->threads = rs_sim_run_all(k, n, w->o->threads);
	rs_nccl_searches_free(searches);
	free(k);
	free(one);
	c->stopped = stopped(w);
	close_gaps(c);
	return room ? judge(c) : -ENOMEM;
}

/* What nothing can be said of is an error: all variants are refused. */
static int any_ran(const struct rs_comparison *c, struct rs_error *e)
{
	for (uint32_t v = 0; v < c->n; v++)
		if (!c->variants[v].error.code)
			return 0;
	*e = c->variants[0].error;
	return e->code;
}

static int compare(struct runs *w, const struct rs_fabric *f, struct rs_error *e)
{
	struct rs_comparison *c = w->c;
	int err = axes_make(c, f, w->o, e);

	c->n_seeds = w->o->seeds ? w->o->seeds : c->n <= RS_COMPARE_SEEDED ? RS_COMPARE_SEEDS : 1;
	if (!err)
		err = check_values(w, e);
	if (err)
		return err;
	err = make_variants(c);
	if (!err)
		err = run(w);
	return err ? rs_error_set(e, err, "out of memory") : any_ran(c, e);
}

int rs_compare(const struct rs_fabric *f, const struct rs_compare_options *o,
	       struct rs_comparison **out, struct rs_error *e)
{
	double wall = rs_elapsed_s(RS_ELAPSED_WALL), cpu = rs_elapsed_s(RS_ELAPSED_PROCESS_CPU);
	struct runs w = {.c = calloc(1, sizeof(*w.c)), .o = o, .lock = PTHREAD_MUTEX_INITIALIZER};
	int err;

	*out = NULL;
	if (w.c)
		*w.c = (struct rs_comparison){
			.scenario = o->file, .seed = o->sim.seed, .arena = rs_arena_create(0)};
	err = w.c && w.c->arena ? compare(&w, f, e) : rs_error_set(e, -ENOMEM, "out of memory");
	pthread_mutex_destroy(&w.lock);
	if (err) {
		rs_comparison_free(w.c);
		return err;
	}
	w.c->wall_s = rs_elapsed_s(RS_ELAPSED_WALL) - wall;
	w.c->cpu_s = rs_elapsed_s(RS_ELAPSED_PROCESS_CPU) - cpu;
	*out = w.c;
	return 0;
}

const struct rs_error *rs_comparison_impossible(const struct rs_comparison *c)
{
	for (uint32_t a = 0; a < c->n_axes; a++)
		for (uint32_t i = 0; c->axes[a].varied && i < c->axes[a].n; i++) {
			const struct rs_error *why = NULL;
			bool can = false;

			for (uint32_t v = 0; v < c->n && !can; v++) {
				if (rs_variant_choice(c, v, a) != &c->axes[a].choice[i])
					continue;
				can = !c->variants[v].error.code;
				why = why ? why : &c->variants[v].error;
			}
			if (!can)
				return why;
		}
	return NULL;
}

void rs_comparison_free(struct rs_comparison *c)
{
	if (!c)
		return;
	rs_arena_destroy(c->arena);
	free(c);
}
