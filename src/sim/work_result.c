/* What came of flows and collectives: when they ended, and why some did not. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "sim/work.h"

/* A step that was run smaller is as many times longer. */
static void collect_work(struct rs_sim_job *j)
{
	uint32_t scale = j->conf->train.step.scale;
	struct rs_program_result *w = &j->work;

	rs_program_close(j->program);
	rs_program_evaluate(j->program, w);
	if (j->requests)
		rs_serve_evaluate(j->program, &j->conf->serve, j->requests, &j->serve);
	if (j->conf->kind != RS_JOB_TRAIN || !j->done)
		return;
	w->step *= scale;
	w->dry *= scale;
	w->compute *= scale;
	for (int i = 0; i < RS_WHYS; i++) {
		w->exposed[i] *= scale;
		w->bytes[i] *= scale;
		w->outside[i] *= scale;
	}
	j->train = (struct rs_train_result){.step = w->step,
					    .compute = w->compute,
					    .exposed = w->step - w->compute,
					    .communication = w->step - w->compute};
	j->train.efficiency = w->step > 0 ? (double)w->compute / (double)w->step : 1;
}

static void collect_coll(struct rs_sim *s, struct sim_coll *k)
{
	struct rs_sim_job *j = &s->r->jobs[k->job];
	rs_time first = 0, last = 0;

	j->start = k->plan->conf.start;
	j->done = !j->failed;
	for (uint32_t r = 0; r < k->plan->n_ranks; r++) {
		if (k->rep[r] < k->repeat)
			j->done = false;
		first = rs_time_max(first, k->first[r]);
		last = rs_time_max(last, k->last[r]);
	}
	j->finish = last;
	j->first = first - j->start;
	j->further = k->repeat > 1 ? (last - first) / (k->repeat - 1) : j->first;
	if (j->program)
		collect_work(j);
	else if (j->conf->kind == RS_JOB_TRAIN && j->done)
		rs_train_evaluate(&j->plan, &j->conf->train, j->first, j->further, &j->train);
}

static int by_when(const void *x, const void *y)
{
	const struct rs_sim_rate *a = x, *b = y;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

static void collect_rates(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_hosts; i++)
		n += s->nodes[i].host ? s->nodes[i].host->n_rates : 0;
	r->rates = n ? rs_arena_alloc(r->arena, n, sizeof(*r->rates)) : NULL;
	for (uint32_t i = 0; r->rates && i < s->n_hosts; i++) {
		const struct sim_host *h = s->nodes[i].host;

		if (!h || !h->n_rates)
			continue;
		memcpy(r->rates + r->n_rates, h->rates, h->n_rates * sizeof(*h->rates));
		r->n_rates += h->n_rates;
	}
	if (r->n_rates)
		qsort(r->rates, r->n_rates, sizeof(*r->rates), by_when);
}

static void deliveries(struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->work->n_conns; i++) {
		struct sim_conn *c = &s->work->conns[i];
		struct rs_sim_flow *fl = c->flow ? &s->r->flows[c->index] : NULL;

		if (fl && c->visible && fl->finish != RS_NEVER)
			fl->delivered = c->visible + s->f->host_params.poll;
	}
}

/* Nodes' times: each is of one process, the others have never. */
static int combine_work(struct rs_sim *s, struct rs_program *p)
{
	int err = 0;

	if (p)
		err = sim_ranks_combine(s, RS_RANKS_MIN, p->begun, p->n_nodes, sizeof(*p->begun),
					0);
	if (p && !err)
		err = sim_ranks_combine(s, RS_RANKS_MIN, p->ended, p->n_nodes, sizeof(*p->ended),
					0);
	return err;
}

int sim_workload_combine(struct rs_sim *s)
{
	struct sim_workload *w = s->work;
	struct rs_sim_result *r = s->r;
	int64_t *failed = calloc(r->n_jobs + 1u, sizeof(*failed));
	int err = failed ? 0 : -ENOMEM;

	if (!err && r->n_flows)
		err = sim_ranks_combine(s, RS_RANKS_MIN, r->flows, r->n_flows, sizeof(*r->flows),
					offsetof(struct rs_sim_flow, finish));
	if (!err && w->n_conns)
		err = sim_ranks_combine(s, RS_RANKS_MAX_OF, w->conns, w->n_conns, sizeof(*w->conns),
					offsetof(struct sim_conn, visible));
	for (uint32_t i = 0; !err && i < w->n_colls; i++) {
		struct sim_coll *k = &w->colls[i];
		uint32_t n = k->plan->n_ranks;

		err = sim_ranks_combine(s, RS_RANKS_MAX_OF, k->first, n, sizeof(*k->first), 0);
		if (!err)
			err = sim_ranks_combine(s, RS_RANKS_MAX_OF, k->last, n, sizeof(*k->last),
						0);
		if (!err)
			err = sim_ranks_combine(s, RS_RANKS_MAX_OF, k->rep, n, sizeof(*k->rep), 0);
		if (!err)
			err = combine_work(s, r->jobs[k->job].program);
	}
	for (uint32_t i = 0; i < r->n_jobs && failed; i++)
		failed[i] = r->jobs[i].failed;
	if (!err)
		err = sim_ranks_combine(s, RS_RANKS_SUM, failed, r->n_jobs, sizeof(*failed), 0);
	for (uint32_t i = 0; i < r->n_jobs && !err; i++)
		r->jobs[i].failed = (uint32_t)failed[i];
	free(failed);
	for (uint32_t i = 0; i < r->n_jobs && !err; i++) {
		uint64_t cc[] = {r->jobs[i].cc_cuts, r->jobs[i].cc_increases};

		err = sim_ranks_combine(s, RS_RANKS_SUM, cc, 2, sizeof(*cc), 0);
		r->jobs[i].cc_cuts = cc[0];
		r->jobs[i].cc_increases = cc[1];
	}
	return err;
}

void sim_workload_collect(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;

	for (uint32_t i = 0; i < r->n_jobs; i++) {
		r->jobs[i].done = !r->jobs[i].failed && r->jobs[i].conf->kind == RS_JOB_FLOWS;
		r->jobs[i].start = RS_NEVER;
	}
	deliveries(s);
	collect_rates(s);
	for (uint32_t i = 0; i < r->n_flows; i++) {
		struct rs_sim_job *j = &r->jobs[r->flows[i].job];

		j->start = rs_time_min(j->start, r->flows[i].start);
		if (r->flows[i].finish == RS_NEVER)
			j->done = false;
		else
			j->finish = rs_time_max(j->finish, r->flows[i].finish);
	}
	for (uint32_t i = 0; i < s->work->n_colls; i++)
		collect_coll(s, &s->work->colls[i]);
	for (uint32_t i = 0; i < r->n_jobs; i++) {
		r->sim_time = rs_time_max(r->sim_time, r->jobs[i].finish);
		if (r->jobs[i].start == RS_NEVER)
			r->jobs[i].start = 0;
	}
}

/* ---- What did not end ---- */

static bool any_lost(const struct rs_sim_counters *c)
{
	return c->drops + c->nic_drops + c->link_losses > 0;
}

static enum rs_sim_end end_of(const struct rs_sim *s, const struct rs_sim_job *j)
{
	if (j->done)
		return RS_SIM_DONE;
	if (j->failed)
		return RS_SIM_FAILED;
	if (s->r->deadlock.n)
		return RS_SIM_DEADLOCK;
	if (s->r->stopped)
		return RS_SIM_STOPPED;
	return !s->f->transport.timeout && any_lost(&s->r->counters) ? RS_SIM_NO_TIMEOUT
								     : RS_SIM_STUCK;
}

/* How each connection ended, in all processes: enum rs_wc_status, and whether its sender still
 * waits. */
struct ending {
	int64_t error_and_wait;
};

static struct ending *endings(struct rs_sim *s)
{
	uint32_t n = s->work->n_conns;
	struct ending *end = rs_arena_alloc(s->arena, n + 1u, sizeof(*end));

	for (uint32_t i = 0; end && i < n; i++) {
		const struct sim_conn *c = &s->work->conns[i];

		if (sim_runs_here(s, &s->nodes[c->src_host]))
			end[i].error_and_wait = c->error << 1 | (c->outstanding > 0);
	}
	if (end && s->o->ranks && sim_ranks_combine(s, RS_RANKS_MAX_OF, end, n, sizeof(*end), 0))
		return NULL;
	return end;
}

static bool in_error(const struct ending *e)
{
	return e->error_and_wait >> 1;
}

/* Did it keep its job from its end, by what it lost? */
static bool kept_back(const struct rs_sim_job *j, const struct sim_conn *c, const struct ending *e)
{
	if (j->end == RS_SIM_FAILED)
		return in_error(e);
	return j->end != RS_SIM_DONE && j->end != RS_SIM_DEADLOCK && j->end != RS_SIM_LEFT_OUT &&
	       !c->nvlink && (e->error_and_wait & 1);
}

/* A connection whose place is asked for: it is listed as failed, or kept its job from its end. Of
 * these a job's first few: each asks all nodes. */
struct asked {
	uint32_t conn;
	bool listed, looked;
};

struct asking {
	struct asked *of;
	struct sim_pair *pair;
	uint32_t n, most;
};

static void ask(struct rs_sim *s, const struct ending *end, struct asking *a)
{
	uint32_t job = UINT32_MAX, listed = 0, looked = 0;

	for (uint32_t i = 0; i < s->work->n_conns && a->n < a->most; i++) {
		const struct sim_conn *c = &s->work->conns[i];
		struct asked as = {.conn = i,
				   .listed = listed < RS_SIM_PLACES && in_error(&end[i])};

		looked = c->job == job ? looked : 0;
		job = c->job;
		as.looked = looked < RS_SIM_PLACES && kept_back(&s->r->jobs[job], c, &end[i]);
		listed += as.listed;
		looked += as.looked;
		if (!as.listed && !as.looked)
			continue;
		a->pair[a->n] = (struct sim_pair){.src = c->src_endpoint, .dst = c->dst_endpoint};
		a->of[a->n++] = as;
	}
}

static void list_failure(struct rs_sim *s, const struct sim_conn *c, const struct ending *end,
			 const struct sim_pair *p)
{
	struct rs_sim_result *r = s->r;
	struct rs_sim_failure *x = &r->failures[r->n_failures++];

	*x = (struct rs_sim_failure){.job = c->job,
				     .src = c->src_endpoint,
				     .dst = c->dst_endpoint,
				     .status = (uint8_t)(end->error_and_wait >> 1),
				     .lost = p->lost};
	memcpy(x->place, p->place, sizeof(x->place));
}

static void keep_place(struct rs_sim_job *j, const struct sim_pair *p)
{
	if (p->lost <= j->lost)
		return;
	j->lost = p->lost;
	memcpy(j->place, p->place, sizeof(j->place));
}

/* What failed, and where that and what did not end lost most. */
static int list_places(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;
	struct asking a = {.most = RS_SIM_PLACES * (r->n_jobs + 1)};
	const struct ending *end = endings(s);

	a.of = rs_arena_alloc(s->arena, a.most, sizeof(*a.of));
	a.pair = rs_arena_alloc(s->arena, a.most, sizeof(*a.pair));
	r->failures = rs_arena_alloc(r->arena, RS_SIM_PLACES, sizeof(*r->failures));
	if (!end || !a.of || !a.pair || !r->failures)
		return -ENOMEM;
	ask(s, end, &a);
	if (sim_places_of_pairs(s, a.pair, a.n))
		return -ENOMEM;
	for (uint32_t i = 0; i < a.n; i++) {
		const struct sim_conn *c = &s->work->conns[a.of[i].conn];

		if (a.of[i].listed)
			list_failure(s, c, &end[a.of[i].conn], &a.pair[i]);
		if (a.of[i].looked)
			keep_place(&r->jobs[c->job], &a.pair[i]);
	}
	return 0;
}

int sim_workload_explain(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;

	r->complete = !s->unfinished;
	for (uint32_t i = 0; i < r->n_jobs; i++) {
		if (skipped(s, i)) {
			r->jobs[i].end = RS_SIM_LEFT_OUT;
			continue;
		}
		r->jobs[i].end = end_of(s, &r->jobs[i]);
		r->complete &= r->jobs[i].done;
	}
	if (r->complete)
		return 0;
	r->sim_time = rs_time_max(r->sim_time, s->now);
	return list_places(s);
}

static int by_time(const void *a, const void *b)
{
	rs_time x = *(const rs_time *)a, y = *(const rs_time *)b;

	return x < y ? -1 : x > y;
}

rs_time rs_sim_fct(const struct rs_sim_result *r, uint32_t job, double percentile)
{
	rs_time *t = malloc((r->n_flows + 1u) * sizeof(*t)), value = RS_NEVER;
	uint32_t n = 0, at;

	for (uint32_t i = 0; t && i < r->n_flows; i++)
		if (r->flows[i].job == job && r->flows[i].finish != RS_NEVER)
			t[n++] = r->flows[i].finish - r->flows[i].start;
	if (n) {
		qsort(t, n, sizeof(*t), by_time);
		at = (uint32_t)(percentile / 100 * n);
		value = t[at < n ? at : n - 1];
	}
	free(t);
	return value;
}
