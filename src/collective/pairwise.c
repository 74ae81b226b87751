/*
 * All-to-all, pairwise, in the order of NCCL's rounds: in a turn every rank sends to the rank that
 * is so many hosts and so many places further on, so that each receives from one. Ranks of one host
 * have turns of their own beside. A lane sends, a lane receives; the sender may be `slots` pieces
 * ahead, so that the turns stay together.
 */
#include <errno.h>
#include "collective/plan.h"

enum { LANE_AWAY, LANE_INSIDE = 2, LANES = 4 }; /* each: one sends, the next one receives */

struct pair_plan {
	struct piece all;
	uint64_t chunk, loops; /* pieces of a turn */
	struct pair_turns t;
};

/* Turns of a lane: those to other hosts, or those inside one. */
static uint32_t turns(const struct pair_plan *p, bool inside)
{
	return inside ? p->t.gpus - 1 : (p->t.hosts - 1) * p->t.gpus;
}

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct pair_plan *p = c->plan;

	return p->loops * turns(p, lane % LANES >= LANE_INSIDE);
}

uint32_t pair_partner(const struct pair_turns *t, uint32_t rank, uint32_t host_turn,
		      uint32_t gpu_turn, bool before)
{
	uint32_t h = t->host[host_turn], g = t->gpu[gpu_turn];

	h = before && h ? t->hosts - h : h;
	g = before && g ? t->gpus - g : g;
	return (rank / t->gpus + h) % t->hosts * t->gpus + (rank % t->gpus + g) % t->gpus;
}

/* The rank that is a turn before or after this one. */
static uint32_t partner(const struct pair_plan *p, uint32_t rank, bool inside, uint32_t turn,
			bool before)
{
	return pair_partner(&p->t, rank, inside ? 0 : turn / p->t.gpus + 1,
			    inside ? turn + 1 : turn % p->t.gpus, before);
}

static uint64_t conn_of(const struct rs_coll *c, uint32_t channel, uint32_t src, bool inside,
			uint32_t turn)
{
	const struct pair_plan *p = c->plan;

	return ((uint64_t)channel * c->n_ranks + src) * (c->n_ranks - 1) + turn +
	       (inside ? turns(p, false) : 0);
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct pair_plan *p = c->plan;
	uint32_t channel = lane / LANES, turn = (uint32_t)(i / p->loops);
	bool inside = lane % LANES >= LANE_INSIDE, takes = lane & 1;
	uint32_t other = partner(p, rank, inside, turn, takes);
	struct piece share = piece_part(p->all, c->n_ranks, takes ? rank : other), piece;

	share = piece_part(share, c->conf.channels, channel);
	piece = piece_chunk(share, p->chunk, i % p->loops);
	*out = (struct rs_step){0};
	if (takes) {
		step_recv(c, out, conn_of(c, channel, other, inside, turn), piece, false);
		return;
	}
	if (i >= c->conf.slots)
		step_wait(out, lane + 1, i - c->conf.slots + 1);
	step_send(c, out, conn_of(c, channel, rank, inside, turn), piece);
}

/* NCCL's order of distances (ncclP2pSchedule): triangular numbers modulo the next power of two. */
static const uint32_t *distances(struct planner *p, uint32_t n)
{
	uint32_t *d = plan_take(p, n, sizeof(*d)), size = 1, at = 0;

	while (size < n)
		size *= 2;
	for (uint32_t i = 0, k = 0; d && i < size; i++) {
		at = (at + i) & (size - 1);
		if (at < n)
			d[k++] = at;
	}
	return d;
}

/* Hosts of as many ranks each, one host behind another; else as if each rank were a host. */
static void find_hosts(struct planner *p, struct pair_turns *w)
{
	uint32_t n = p->c->n_ranks, g = 1;

	while (g < n && plan_host(p, g) == plan_host(p, 0))
		g++;
	w->gpus = n % g ? 1 : g;
	for (uint32_t r = 1; r < n && w->gpus > 1; r++)
		if ((plan_host(p, r) == plan_host(p, r - 1)) != (r % g != 0))
			w->gpus = 1;
	w->hosts = n / w->gpus;
}

int pair_turns(struct planner *p, struct pair_turns *t)
{
	find_hosts(p, t);
	t->host = distances(p, t->hosts);
	t->gpu = distances(p, t->gpus);
	return t->host && t->gpu ? 0 : -ENOMEM;
}

static void connect(struct planner *p, const struct pair_plan *w, uint32_t channel, uint32_t src)
{
	for (unsigned inside = 0; inside < 2; inside++)
		for (uint32_t t = 0; t < turns(w, inside); t++)
			plan_connect(p, conn_of(p->c, channel, src, inside, t), src,
				     partner(w, src, inside, t, false), channel);
}

int plan_pairwise(struct planner *p)
{
	struct rs_coll *c = p->c;
	uint32_t n = c->n_ranks;
	struct pair_plan *w = plan_take(p, 1, sizeof(*w));
	int err = plan_conns(p, (uint64_t)n * (n - 1) * c->conf.channels);

	if (!w || err)
		return err ? err : -ENOMEM;
	w->all = p->all;
	w->chunk = p->chunk;
	w->loops = ceil_div(piece_part(piece_part(p->all, n, 0), c->conf.channels, 0).n, p->chunk);
	err = pair_turns(p, &w->t);
	if (err)
		return err;
	c->plan = w;
	for (uint32_t ch = 0; ch < c->conf.channels; ch++)
		for (uint32_t src = 0; src < n; src++)
			connect(p, w, ch, src);
	c->n_lanes = LANES * c->conf.channels;
	c->n_steps = n_steps;
	c->step = step;
	return 0;
}
