/*
 * NCCL's PAT (2.23 on, one GPU a node): all-gather and reduce-scatter by binomial trees, one from
 * each rank, whose messages of one dimension go together (S. Jeaugey, "PAT: a new algorithm for
 * all-gather and reduce-scatter operations at scale", arXiv 2506.20252; collectives.h of 2.27).
 *
 * A rank counts shares from its own: share s is that of the rank s further on. In an all-gather,
 * share s comes from the rank 2^k further on, 2^k being the lowest bit of s: there it is share
 * s - 2^k. `agg` shares, `spread` apart, go the same way one after another, up to `fit` of them in
 * one message. All ranks do the same in the same order: one list of turns serves them all. A
 * reduce-scatter is such a list from its end.
 */
#include <errno.h>
#include "collective/nccl.h"

enum { DIMS_MAX = 24 };

/* A message: n shares, the first of them, and how far apart they are, as its receiver counts. */
struct part {
	uint32_t dim, first, apart, n;
};
struct turn {
	struct part in[RS_STEP_FAN], out;
	uint8_t n_in, n_out;
};

struct pat {
	struct piece all;
	uint64_t chunk, loops;
	uint32_t n, dims, agg, spread, fit;
	bool scatter;
	struct turn *turns;
	uint32_t n_turns, turns_max;
	uint32_t sent[DIMS_MAX], taken[DIMS_MAX]; /* messages of a dimension so far */
	uint32_t *number; /* [share % spread]: of its first message in its dimension */
};

/* ---- Turns ---- */

static uint32_t dim_of(uint32_t share)
{
	return (uint32_t)__builtin_ctz(share);
}

/* How far apart those are that go together with a share, and how many there could be. */
static uint32_t apart(const struct pat *p, uint32_t share)
{
	return share % p->spread ? p->spread : 2u << dim_of(share);
}

static uint32_t alike(const struct pat *p, uint32_t share)
{
	return (p->agg * p->spread) / apart(p, share);
}

static uint32_t share_at(const struct pat *p, uint32_t share, uint32_t i)
{
	return share % apart(p, share) + i * apart(p, share);
}

/* Message g of those that bring what goes together with a share; shares past the last rank's are
 * left out. */
static struct part message(const struct pat *p, uint32_t share, uint32_t g)
{
	struct part m = {dim_of(share), share_at(p, share, g * p->fit), apart(p, share), 0};

	while (m.n < p->fit && g * p->fit + m.n < alike(p, share) && m.first + m.n * m.apart < p->n)
		m.n++;
	return m;
}

/* What a turn takes before it sends; more than a step can take is taken in turns before it. */
static void take(struct pat *p, struct part m)
{
	struct turn *t = &p->turns[p->n_turns];

	if (t->n_in == RS_STEP_FAN)
		t = &p->turns[++p->n_turns];
	rs_assert(p->n_turns < p->turns_max && m.dim < p->dims && m.n);
	t->in[t->n_in++] = m;
	p->taken[m.dim]++;
}

/* Messages come in the order in which they are sent: all up to the one with this share. */
static void need(struct pat *p, uint32_t share)
{
	uint32_t first, g;

	if (!share)
		return;
	first = share % p->spread ? p->number[share % p->spread] : 0;
	g = share / apart(p, share) / p->fit;
	rs_assert(dim_of(share) < p->dims && first <= p->taken[dim_of(share)] + g);
	while (p->taken[dim_of(share)] <= first + g)
		take(p, message(p, share, p->taken[dim_of(share)] - first));
}

static void end_turn(struct pat *p)
{
	struct turn *t = &p->turns[p->n_turns];

	p->n_turns += t->n_in || t->n_out;
	rs_assert(p->n_turns < p->turns_max);
}

/* What goes together with a share is passed on. The last one to pass a share on is its odd
 * neighbour: there it is taken, too, when no rank is so far on. */
static void pass_on(struct pat *p, uint32_t share)
{
	uint32_t step = 1u << dim_of(share), n = alike(p, share);

	if (share % p->spread)
		p->number[share % p->spread] = p->sent[dim_of(share)];
	for (uint32_t g = 0; g * p->fit < n; g++) {
		struct part m = message(p, share, g);

		for (uint32_t i = g * p->fit; i < n && i < (g + 1) * p->fit; i++) {
			uint32_t s = share_at(p, share, i);

			if (s < p->n || (s & 1 && s - step < p->n))
				need(p, s - step);
		}
		if (m.n) {
			p->turns[p->n_turns].out = m;
			p->turns[p->n_turns].n_out = 1;
			p->sent[m.dim]++;
		}
		end_turn(p);
	}
}

/* Odd shares end at this rank: they are taken, and not passed on. */
static void end_here(struct pat *p, uint32_t share)
{
	for (uint32_t g = 0; share & 1 && g * p->fit < p->agg; g++) {
		struct part m = message(p, share, g);

		if (m.n)
			take(p, m);
		end_turn(p);
	}
}

static void visit(struct pat *p, uint32_t share)
{
	pass_on(p, share);
	end_here(p, share);
}

/* Shares below a spread: the tree from its root, far ones first; a reduce-scatter has them by
 * number. */
static void visit_below(struct pat *p, uint32_t share, uint32_t bit)
{
	for (uint32_t s = 1; p->scatter && s < p->spread; s++)
		visit(p, s);
	for (bit >>= 1; bit && !p->scatter; bit >>= 1) {
		visit(p, share + bit);
		visit_below(p, share + bit, bit);
	}
}

static int make_turns(struct planner *pl, struct pat *p)
{
	uint32_t groups = (uint32_t)ceil_div(p->agg, p->fit) + 1;

	/* a message is sent once and taken once */
	p->turns_max = 2 * groups * (p->spread + p->dims) + 1;
	p->turns = plan_take(pl, p->turns_max, sizeof(*p->turns));
	p->number = plan_take(pl, p->spread, sizeof(*p->number));
	if (!p->turns || !p->number)
		return -ENOMEM;
	for (uint32_t s = p->agg * p->spread / 2; s >= p->spread; s /= 2)
		pass_on(p, s);
	visit_below(p, 0, p->spread);
	return 0;
}

/* ---- Steps ---- */

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct pat *p = c->plan;

	return p->n_turns * p->loops;
}

/* The elements of a message, at the first of them. back: as its sender counts shares. */
static struct piece piece_of(const struct rs_coll *c, const struct part *m, uint32_t rank,
			     uint32_t lane, uint64_t loop, bool sender)
{
	const struct pat *p = c->plan;
	struct piece sum = {0};

	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t share = m->first + i * m->apart - (sender ? 1u << m->dim : 0);
		struct piece x = piece_part(p->all, p->n, (rank + share) % p->n);

		x = piece_chunk(piece_part(x, c->conf.channels, lane), p->chunk, loop);
		sum = i ? (struct piece){sum.at, sum.n + x.n} : x;
	}
	return sum;
}

static uint64_t conn_of(const struct pat *p, uint32_t lane, uint32_t dim, uint32_t src)
{
	return ((uint64_t)lane * p->dims + dim) * p->n + src;
}

/* In an all-gather to the rank 2^dim before, in a reduce-scatter to the one 2^dim further on. */
static uint32_t neighbour(const struct pat *p, uint32_t rank, uint32_t dim, bool further)
{
	uint32_t by = (1u << dim) % p->n;

	return (rank + (further ? by : p->n - by)) % p->n;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct pat *p = c->plan;
	uint64_t loop = i / p->n_turns, at = i % p->n_turns;
	const struct turn *t = &p->turns[p->scatter ? p->n_turns - 1 - at : at];
	uint32_t from;

	*out = (struct rs_step){0};
	for (unsigned k = 0; k < t->n_in; k++) {
		const struct part *m = &t->in[k];
		struct piece x = piece_of(c, m, rank, lane, loop, false);

		from = p->scatter ? rank : neighbour(p, rank, m->dim, true);
		if (p->scatter)
			step_send(c, out, conn_of(p, lane, m->dim, from), x);
		else
			step_recv(c, out, conn_of(p, lane, m->dim, from), x, false);
	}
	if (t->n_out) {
		struct piece x = piece_of(c, &t->out, rank, lane, loop, true);

		from = p->scatter ? neighbour(p, rank, t->out.dim, false) : rank;
		if (p->scatter)
			step_recv(c, out, conn_of(p, lane, t->out.dim, from), x, true);
		else
			step_send(c, out, conn_of(p, lane, t->out.dim, from), x);
	}
	out->compute = nccl_time_of(out->local, c->nccl->lane_rate) +
		       (t->n_out ? t->out.n * c->nccl->slice : 0);
}

/* ---- The plan ---- */

/* Shares in one message: what fits in a chunk; then as many messages as a connection's buffer
 * holds go the same way. */
static void cut(struct pat *p, uint64_t share)
{
	p->dims = 1;
	while (1u << p->dims < p->n)
		p->dims++;
	rs_assert(p->dims < DIMS_MAX);
	p->agg = 1;
	while (share && p->chunk / (share * p->agg) >= 2 && p->agg < p->n / 2)
		p->agg *= 2;
	p->fit = p->agg;
	for (int steps = 8; steps > 1 && p->agg < p->n / 2; steps /= 2)
		p->agg *= 2;
	p->spread = (1u << p->dims) / p->agg;
	p->loops = ceil_div(share, p->chunk);
}

int plan_nccl_pat(struct planner *pl, struct nccl_run *run)
{
	struct rs_coll *c = pl->c;
	struct pat *p = plan_take(pl, 1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->all = pl->all;
	p->n = c->n_ranks;
	p->scatter = c->conf.op == RS_COLL_REDUCE_SCATTER;
	p->chunk = ceil_div(run->choice.chunk, c->conf.type_bytes);
	cut(p, piece_part(piece_part(p->all, p->n, 0), c->conf.channels, 0).n);
	err = make_turns(pl, p);
	if (!err)
		err = plan_conns(pl, (uint64_t)c->conf.channels * p->dims * p->n);
	if (err)
		return err;
	for (uint32_t lane = 0; lane < c->conf.channels; lane++)
		for (uint32_t dim = 0; dim < p->dims; dim++)
			for (uint32_t r = 0; r < p->n; r++)
				run_connect(pl, run, conn_of(p, lane, dim, r), r,
					    neighbour(p, r, dim, p->scatter), lane);
	c->plan = p;
	c->n_lanes = c->conf.channels;
	run->own_time = true;
	run->n_steps = n_steps;
	run->step = step;
	return 0;
}
