/*
 * All-to-all, pairwise: in turn s a rank sends to rank + s and receives from rank - s. A lane
 * sends, a lane receives; the sender may be `slots` pieces ahead, so that the turns stay together.
 */
#include <errno.h>
#include "collective/plan.h"

struct pair_plan {
	struct piece all;
	uint64_t chunk, loops; /* pieces of a turn */
};

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct pair_plan *p = c->plan;

	return p->loops * (c->n_ranks - 1);
}

static uint64_t conn_of(const struct rs_coll *c, uint32_t channel, uint32_t src, uint32_t turn)
{
	return ((uint64_t)channel * c->n_ranks + src) * (c->n_ranks - 1) + turn - 1;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct pair_plan *p = c->plan;
	uint32_t channel = lane / 2, n = c->n_ranks, turn = (uint32_t)(i / p->loops) + 1;
	uint32_t dst = lane & 1 ? rank : (rank + turn) % n;
	uint32_t src = lane & 1 ? (rank + n - turn) % n : rank;
	struct piece share = piece_part(piece_part(p->all, n, dst), c->conf.channels, channel);
	struct piece piece = piece_chunk(share, p->chunk, i % p->loops);

	*out = (struct rs_step){0};
	if (lane & 1) {
		step_recv(c, out, conn_of(c, channel, src, turn), piece, false);
		return;
	}
	if (i >= c->conf.slots)
		step_wait(out, lane + 1, i - c->conf.slots + 1);
	step_send(c, out, conn_of(c, channel, src, turn), piece);
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
	for (uint32_t ch = 0; ch < c->conf.channels; ch++)
		for (uint32_t src = 0; src < n; src++)
			for (uint32_t s = 1; s < n; s++)
				plan_connect(p, conn_of(c, ch, src, s), src, (src + s) % n, ch);
	c->plan = w;
	c->n_lanes = 2 * c->conf.channels;
	c->n_steps = n_steps;
	c->step = step;
	return 0;
}
