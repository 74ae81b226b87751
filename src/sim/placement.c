/*
 * Placement made ideal: what sends at the same time is placed together, as a batch. A collective's
 * connections have turns, by the step in which they are first used (all-to-all has many, a ring
 * one); the n-th turns of all jobs are a batch, and so are flows that start together, in the first
 * if all do. Flows that start later find on each link what those before have probably left to send.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/placement.h"

enum {
	/* queue pairs: one takes 1 kB while it is placed; more are dealt out by destination */
	DEMANDS_MAX = 1 << 18,
	STEPS_LOOKED_AT = 1 << 24, /* of a collective's plan */
	TOGETHER = 16,             /* flows whose starts are less than 1/16 of a flow apart */
	DRAWS = 40,                /* placements tried, of which the fastest is taken */
	ENOUGH = 100,              /* 1 % above the bound is fast enough */
	STEPS_KEPT = 40000000,     /* for the repair of later batches */
};

/* A queue pair's data, all of a run. */
struct demand {
	uint32_t src, dst;
	uint64_t bytes;
	uint32_t way, back;
};

/* Its place in the order of batches. Job 0 is all flows, other jobs follow. */
struct key {
	uint32_t job, demand;
	uint64_t when; /* flows: start, ps; collectives: the first step */
};

struct sim_placement {
	uint32_t *first; /* [connection]: of its queue pairs in demand[] */
	struct demand *demand;
};

struct work {
	struct rs_sim *sim;
	struct sim_placement *p;
	struct spread s;
	struct clos *clos;
	struct key *key;
	uint32_t n;
	uint64_t *common; /* [link]: of jobs that go on, as much as in a turn */
	uint64_t *own;    /* [link]: of all batches so far */
	uint64_t *job;    /* [link]: of one job */
	uint64_t *until;  /* [link]: when it has sent what flows so far have for it */
	bool beside;      /* something of other batches is on links: a batch may be uneven for it */
	uint64_t *nic;    /* [2 x endpoint + whether it receives]: of the batch, ps */
};

/* ---- What collectives send ---- */

struct use {
	uint64_t bytes, first;
};

/* Bytes of each connection, all repetitions, and the step of a lane in which it is first sent on.
 * Of very long plans every k-th step is looked at. */
static void look_at_steps(const struct rs_coll *c, struct use *use)
{
	uint64_t steps = 0, k;

	for (uint32_t r = 0; r < c->n_ranks; r++)
		for (uint32_t l = 0; l < c->n_lanes; l++)
			steps += c->n_steps(c, r, l);
	k = 1 + steps / STEPS_LOOKED_AT;
	for (uint32_t i = 0; i < c->n_conns; i++)
		use[i] = (struct use){.first = UINT64_MAX};
	for (uint32_t r = 0; r < c->n_ranks; r++)
		for (uint32_t l = 0; l < c->n_lanes; l++)
			for (uint64_t i = 0, n = c->n_steps(c, r, l); i < n; i += k) {
				struct rs_step st;

				c->step(c, r, l, i, &st);
				for (unsigned s = 0; s < st.n_send; s++) {
					struct use *u = &use[st.send[s].conn];

					u->bytes += st.send[s].bytes * k * c->conf.repeat;
					u->first = i < u->first ? i : u->first;
				}
			}
}

/* ---- Demands ---- */

static void *lines(struct rs_sim *sim, size_t n, size_t size, int *err)
{
	void *p = rs_arena_alloc(sim->arena, n + 1, size);

	if (!p)
		*err = -ENOMEM;
	return p;
}

static void add(struct work *w, const struct sim_line *l, uint32_t job, uint64_t when,
		uint64_t bytes)
{
	for (unsigned q = 0; q < l->n_qps; q++, w->n++) {
		w->p->demand[w->n] = (struct demand){
			l->src, l->dst, bytes / l->n_qps + (q < bytes % l->n_qps), 0, 0};
		w->key[w->n] = (struct key){job, w->n, when};
	}
}

/* Lines come job by job. */
static int demands(struct work *w, const struct sim_line *line, uint32_t n)
{
	const struct rs_sim_result *r = w->sim->r;
	struct use *use = NULL;
	uint32_t job = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct sim_line *l = &line[i];
		const struct rs_coll *c = l->flow ? NULL : r->jobs[l->job].coll;

		w->p->first[i] = w->n;
		if (l->flow) {
			add(w, l, 0, (uint64_t)r->flows[l->index].start, r->flows[l->index].bytes);
			continue;
		}
		if (l->job != job) {
			free(use);
			use = malloc((c->n_conns + 1u) * sizeof(*use));
			if (!use)
				return -ENOMEM;
			look_at_steps(c, use);
			job = l->job;
		}
		add(w, l, l->job + 1, use[l->index].first, use[l->index].bytes);
	}
	free(use);
	return 0;
}

static int by_batch(const void *x, const void *y)
{
	const struct key *a = x, *b = y;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return a->demand < b->demand ? -1 : a->demand > b->demand;
}

/* What the endpoint's own link needs for a demand: twice its number, and its direction. */
static uint64_t nic_time(const struct work *w, const struct demand *d, bool receives)
{
	uint32_t e = receives ? d->dst : d->src;

	return spread_time(&w->s, 2 * w->sim->f->endpoints[e].link, d->bytes);
}

/* Flows that start within this are one batch. */
static uint64_t apart(const struct work *w)
{
	uint64_t sum = 0, n = 0;

	for (uint32_t i = 0; i < w->n && !w->key[i].job; i++, n++)
		sum += nic_time(w, &w->p->demand[w->key[i].demand], false);
	return n ? sum / n / TOGETHER : 0;
}

/* ---- Loads ---- */

static void on_links(struct work *w, uint32_t demand, uint64_t *load)
{
	const struct demand *d = &w->p->demand[demand];
	struct spread_flow k = {.src = d->src, .dst = d->dst, .way = d->way};

	spread_walk(&w->s, &k);
	for (unsigned h = 0; h < k.n; h++)
		load[k.link[h]] += spread_time(&w->s, k.link[h], d->bytes);
}

/* Links work off what they have, without rest: when they are through with this flow too. */
static void queue(struct work *w, uint32_t demand, uint64_t start)
{
	const struct demand *d = &w->p->demand[demand];
	struct spread_flow k = {.src = d->src, .dst = d->dst, .way = d->way};

	spread_walk(&w->s, &k);
	for (unsigned h = 0; h < k.n; h++) {
		uint64_t *until = &w->until[k.link[h]];

		*until =
			(*until > start ? *until : start) + spread_time(&w->s, k.link[h], d->bytes);
	}
}

/* ---- A batch ---- */

/* The busiest endpoint's own link: no placement helps it. */
static uint64_t busiest_nic(struct work *w, uint32_t from, uint32_t to)
{
	uint64_t most = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct demand *d = &w->p->demand[w->key[i].demand];
		uint64_t *out = &w->nic[2 * d->src], *in = &w->nic[2 * d->dst + 1];

		*out += nic_time(w, d, false);
		*in += nic_time(w, d, true);
		most = *out > most ? *out : most;
		most = *in > most ? *in : most;
	}
	for (uint32_t i = from; i < to; i++) {
		const struct demand *d = &w->p->demand[w->key[i].demand];

		w->nic[2 * d->src] = w->nic[2 * d->dst + 1] = 0;
	}
	return most;
}

/* What other traffic takes of links while this batch is sent, which starts then. Of paths alike the
 * one that had less so far. */
static void background(struct work *w, uint64_t start)
{
	for (uint32_t i = 0; i < w->s.n_links; i++) {
		uint64_t left = w->until[i] > start ? w->until[i] - start : 0;
		uint64_t load = w->common[i] + left + w->own[i] / TOGETHER;

		w->s.load[i] = w->s.others[i] = load;
		w->beside |= w->common[i] + left != 0;
	}
}

static int draw_ways(struct work *w, uint64_t bound, uint32_t draw)
{
	int err = w->clos ? clos_colour(w->clos, &w->s, draw) : 0;

	if (err)
		return err;
	spread_greedy(&w->s);
	spread_repair(&w->s, bound);
	return 0;
}

/*
 * With the first draw no link has more than it must, or little. Where flows are unequal, links may
 * rest all the same while their flows wait elsewhere: of some draws the one that is through first.
 */
static int find_ways(struct work *w, uint64_t bound, uint64_t nic)
{
	uint64_t least = bound > nic ? bound : nic, first = UINT64_MAX, last;
	struct spread *s = &w->s;
	uint32_t *best;
	int err = draw_ways(w, bound, 0);

	if (err || !w->clos || w->beside || s->n < 2)
		return err;
	best = malloc(s->n * sizeof(*best));
	if (!best)
		return -ENOMEM;
	for (uint32_t draw = 0; draw < DRAWS && !err; draw++) {
		if (draw)
			err = draw_ways(w, bound, draw);
		last = err ? UINT64_MAX : spread_last(s);
		for (uint32_t i = 0; i < s->n && last < first; i++)
			best[i] = s->flow[i].way;
		first = last < first ? last : first;
		if (first <= least + least / ENOUGH || s->steps < STEPS_KEPT)
			break;
	}
	for (uint32_t i = 0; i < s->n && !err; i++)
		spread_put(s, i, best[i]);
	free(best);
	return err;
}

static int place(struct work *w, uint32_t from, uint32_t to, uint64_t start)
{
	struct rs_sim_placement *r = &w->sim->r->placement;
	struct spread *s = &w->s;
	uint64_t bound, most, nic = busiest_nic(w, from, to);
	int err = 0;

	background(w, start);
	s->n = to - from;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct demand *d = &w->p->demand[w->key[from + i].demand];

		s->flow[i] = (struct spread_flow){
			.src = d->src, .dst = d->dst, .bytes = d->bytes ? d->bytes : 1};
	}
	bound = spread_bound(s, w->clos);
	err = find_ways(w, bound, nic);
	if (err)
		return err;
	most = spread_most(s);
	for (uint32_t i = 0; i < s->n; i++) {
		struct demand *d = &w->p->demand[w->key[from + i].demand];

		r->flows += s->flow[i].n != 0;
		d->way = s->flow[i].way;
		d->back = spread_back(s, &s->flow[i]);
		spread_take(s, i);
	}
	bound = bound > nic ? bound : nic;
	if (!w->beside && most > bound && (most - bound) * 1000 / bound > r->above)
		r->above = (uint32_t)((most - bound) * 1000 / bound);
	r->batches++;
	return 0;
}

/* Flows one after another, beside jobs that are there all the time. */
static int place_flows(struct work *w, uint32_t n)
{
	uint64_t within = apart(w);
	int err = 0;

	for (uint32_t i = 0, k; i < n && !err; i = k) {
		uint64_t start = w->key[i].when;

		for (k = i + 1; k < n && w->key[k].when - start <= within;)
			k++;
		err = place(w, i, k, start);
		for (uint32_t j = i; j < k; j++) {
			queue(w, w->key[j].demand, w->key[j].when);
			on_links(w, w->key[j].demand, w->own);
		}
	}
	return err;
}

/* A job whose turns are over goes on, or begins anew: what it sends in a turn stays on its links.
 */
static void stays(struct work *w, uint32_t from, uint32_t to, uint32_t job, uint32_t turns)
{
	memset(w->job, 0, w->s.n_links * sizeof(*w->job));
	for (uint32_t i = from; i < to; i++)
		if (w->key[i].job == job)
			on_links(w, w->key[i].demand, w->job);
	for (uint32_t i = 0; i < w->s.n_links; i++)
		w->common[i] += w->job[i] / turns;
}

/* The n-th turns of all jobs are placed together. turns: [job], their number. */
static int place_turns(struct work *w, uint32_t from, const uint32_t *turns, uint32_t jobs)
{
	int err = 0;

	for (uint32_t i = from, k; i < w->n && !err; i = k) {
		uint64_t turn = w->key[i].when;

		for (k = i + 1; k < w->n && w->key[k].when == turn;)
			k++;
		err = place(w, i, k, 0);
		for (uint32_t j = i; j < k; j++)
			on_links(w, w->key[j].demand, w->own);
		for (uint32_t j = 0; j < jobs; j++)
			if (turns[j] == turn + 1)
				stays(w, from, k, j, turns[j]);
	}
	return err;
}

/* Sorted by job and time: when becomes the number of the turn, a collective's by its steps. Flows
 * that all start together are a job of one turn; others are left out, and counted. */
static uint32_t number_turns(struct work *w, uint32_t *turns)
{
	uint64_t within = apart(w), last = 0;
	uint32_t i = 0, flows = 0;

	while (flows < w->n && !w->key[flows].job)
		flows++;
	if (flows && w->key[flows - 1].when - w->key[0].when <= within) {
		for (; i < flows; i++)
			w->key[i].when = 0;
		turns[0] = 1;
		flows = 0;
	}
	for (i = i ? i : flows; i < w->n; i++) {
		uint32_t job = w->key[i].job;

		if (!turns[job] || w->key[i].when != last)
			turns[job]++;
		last = w->key[i].when;
		w->key[i].when = turns[job] - 1;
	}
	return flows;
}

static int by_turn(const void *x, const void *y)
{
	const struct key *a = x, *b = y;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return by_batch(x, y);
}

static int place_all(struct work *w)
{
	uint32_t jobs = w->sim->f->n_jobs + 1, flows;
	uint32_t *turns = calloc(jobs, sizeof(*turns));
	int err = turns ? 0 : -ENOMEM;

	if (err)
		return err;
	if (w->n)
		qsort(w->key, w->n, sizeof(*w->key), by_batch);
	flows = number_turns(w, turns);
	if (w->n > flows)
		qsort(w->key + flows, w->n - flows, sizeof(*w->key), by_turn);
	err = place_turns(w, flows, turns, jobs);
	free(turns);
	return err ? err : place_flows(w, flows);
}

/* ---- All of it ---- */

static void sum_up(struct work *w)
{
	struct rs_sim_placement *r = &w->sim->r->placement;
	uint64_t nic = busiest_nic(w, 0, w->n), bound, most;
	struct spread *s = &w->s;

	memset(s->load, 0, s->n_links * sizeof(*s->load));
	memset(s->others, 0, s->n_links * sizeof(*s->others));
	s->n = w->n;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct demand *d = &w->p->demand[w->key[i].demand];

		s->flow[i] = (struct spread_flow){.src = d->src, .dst = d->dst, .bytes = d->bytes};
		on_links(w, w->key[i].demand, s->load);
	}
	bound = spread_bound(s, w->clos);
	most = spread_most(s);
	r->bound = (rs_time)(bound > nic ? bound : nic);
	r->reached = (rs_time)(most > nic ? most : nic);
}

static int work_create(struct work *w, const struct sim_line *line, uint32_t n, uint32_t qps)
{
	struct rs_sim *sim = w->sim;
	uint32_t ends = 2 * sim->f->n_endpoints, links = 2 * sim->f->n_links;
	int err = 0;

	w->p = lines(sim, 1, sizeof(*w->p), &err);
	w->key = lines(sim, qps, sizeof(*w->key), &err);
	w->common = lines(sim, links, sizeof(*w->common), &err);
	w->own = lines(sim, links, sizeof(*w->own), &err);
	w->job = lines(sim, links, sizeof(*w->job), &err);
	w->nic = lines(sim, ends, sizeof(*w->nic), &err);
	w->until = lines(sim, links, sizeof(*w->until), &err);
	if (err)
		return err;
	w->p->first = lines(sim, n, sizeof(*w->p->first), &err);
	w->p->demand = lines(sim, qps, sizeof(*w->p->demand), &err);
	if (!err)
		err = spread_create(&w->s, sim->f, sim->arena);
	w->s.flow = lines(sim, qps, sizeof(*w->s.flow), &err);
	return err ? err : demands(w, line, n);
}

int sim_placement_create(struct rs_sim *sim, const struct sim_line *line, uint32_t n,
			 struct rs_error *e)
{
	struct work w = {.sim = sim};
	uint64_t qps = 0;
	int err;

	for (uint32_t i = 0; i < n; i++)
		qps += line[i].n_qps;
	sim->r->placement.method = RS_PLACED_BY_DESTINATION;
	if (qps > DEMANDS_MAX)
		return 0;
	err = work_create(&w, line, n, (uint32_t)qps);
	if (!err) {
		w.clos = clos_find(&w.s, sim->arena);
		sim->r->placement.method = w.clos ? RS_PLACED_COLOURED : RS_PLACED_GREEDY;
		err = place_all(&w);
	}
	if (!err)
		sum_up(&w);
	spread_destroy(&w.s);
	sim->placement = w.p;
	return err ? rs_error_set(e, err, "out of memory") : 0;
}

/* Beyond the limit: by the destination's place at its switch, at every choice. */
static uint32_t by_destination(const struct rs_sim *sim, uint32_t dst)
{
	return (sim->f->routes.local_index[dst] & 0xffu) * 0x01010101u;
}

uint32_t sim_placement_way(const struct rs_sim *sim, uint32_t line, unsigned qp, uint32_t dst,
			   bool back)
{
	const struct sim_placement *p = sim->placement;
	const struct demand *d;

	if (!p)
		return by_destination(sim, dst);
	d = &p->demand[p->first[line] + qp];
	return back ? d->back : d->way;
}
