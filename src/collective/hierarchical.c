/*
 * Hierarchical: reduce-scatter inside a host, a ring per rail between hosts on a share of 1/g,
 * all-gather inside. Three lanes a channel, each waiting for just the piece it needs of the one
 * before, so that the three overlap.
 */
#include <errno.h>
#include "collective/plan.h"

enum { LANE_SCATTER, LANE_RAIL, LANE_GATHER, LANES };

struct hier_plan {
	struct piece all;
	uint64_t chunk, loops;
	uint32_t gpus, hosts;
	uint64_t rail_conns, gather_conns; /* where those numbers begin */
};

static const enum ring_kind rail_kinds[] = {
	[RS_COLL_ALL_REDUCE] = RING_ALL_REDUCE,
	[RS_COLL_REDUCE_SCATTER] = RING_REDUCE_SCATTER,
	[RS_COLL_ALL_GATHER] = RING_ALL_GATHER,
};

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct hier_plan *h = c->plan;
	uint64_t inside = h->loops * h->hosts * h->gpus;

	switch (lane % LANES) {
	case LANE_SCATTER:
		return c->conf.op == RS_COLL_ALL_GATHER ? 0 : inside;
	case LANE_GATHER:
		return c->conf.op == RS_COLL_REDUCE_SCATTER ? 0 : inside;
	default:
		return h->loops * ring_steps(rail_kinds[c->conf.op], h->hosts);
	}
}

/* The piece that passes rail gpu in this loop as chunk number host of the rail's ring. */
static struct piece piece_of(const struct rs_coll *c, uint32_t channel, uint64_t loop,
			     uint32_t host, uint32_t gpu)
{
	const struct hier_plan *h = c->plan;
	uint32_t channels = c->conf.channels;
	struct piece share;

	if (c->conf.op == RS_COLL_ALL_REDUCE) {
		share = piece_part(piece_part(h->all, h->gpus, gpu), channels, channel);
		return piece_loop(share, h->chunk, h->hosts, loop, host);
	}
	share = piece_part(h->all, (uint64_t)h->gpus * h->hosts, host * h->gpus + gpu);
	return piece_chunk(piece_part(share, channels, channel), h->chunk, loop);
}

static void step_rail(const struct rs_coll *c, uint32_t rank, uint32_t channel, uint64_t i,
		      struct rs_step *out)
{
	const struct hier_plan *h = c->plan;
	enum ring_kind kind = rail_kinds[c->conf.op];
	uint32_t host = rank / h->gpus, gpu = rank % h->gpus, steps = ring_steps(kind, h->hosts);
	uint32_t prev = (host + h->hosts - 1) % h->hosts * h->gpus + gpu, k = (uint32_t)(i % steps);
	uint64_t first = h->rail_conns + (uint64_t)channel * c->n_ranks;
	struct ring_move m = ring_move(kind, h->hosts, host, k);
	struct piece p = piece_of(c, channel, i / steps, m.chunk, gpu);

	/* its own share of this chunk must have been reduced inside the host */
	if (kind != RING_ALL_GATHER && k < h->hosts)
		step_wait(out, channel * LANES + LANE_SCATTER,
			  (i / steps * h->hosts + k + 1) * h->gpus);
	if (m.recv)
		step_recv(c, out, first + prev, p, m.reduce);
	if (m.send)
		step_send(c, out, first + rank, p);
}

/* Loops inside a host take the rail's chunks in the order in which the rail needs or ends them. */
static void step_inside(const struct rs_coll *c, uint32_t rank, uint32_t channel, bool gather,
			uint64_t i, struct rs_step *out)
{
	const struct hier_plan *h = c->plan;
	enum ring_kind kind = rail_kinds[c->conf.op];
	uint32_t host = rank / h->gpus, gpu = rank % h->gpus;
	uint32_t prev = host * h->gpus + (gpu + h->gpus - 1) % h->gpus;
	uint64_t loop = i / h->gpus / h->hosts;
	uint32_t nth = (uint32_t)(i / h->gpus % h->hosts), k = (uint32_t)(i % h->gpus);
	uint32_t end = (kind == RING_ALL_REDUCE ? h->hosts - 1 : 0) + nth;
	uint64_t first = (gather ? h->gather_conns : 0) + (uint64_t)channel * c->n_ranks;
	struct ring_move in =
		ring_move(gather ? RING_ALL_GATHER : RING_REDUCE_SCATTER, h->gpus, gpu, k);
	struct ring_move rail = ring_move(kind, h->hosts, host, gather ? end : nth);
	struct piece p = piece_of(c, channel, loop, rail.chunk, in.chunk);

	if (gather && !k)
		step_wait(out, channel * LANES + LANE_RAIL,
			  loop * ring_steps(kind, h->hosts) + end + 1);
	if (in.recv)
		step_recv(c, out, first + prev, p, in.reduce);
	if (in.send)
		step_send(c, out, first + rank, p);
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	*out = (struct rs_step){0};
	if (lane % LANES == LANE_RAIL)
		step_rail(c, rank, lane / LANES, i, out);
	else
		step_inside(c, rank, lane / LANES, lane % LANES == LANE_GATHER, i, out);
}

static int find_hosts(struct planner *p, struct hier_plan *h)
{
	uint32_t n = p->c->n_ranks;

	for (h->gpus = 1; h->gpus < n; h->gpus++)
		if (plan_host(p, h->gpus) != plan_host(p, 0))
			break;
	for (uint32_t r = 1; r < n; r++) {
		bool same = plan_host(p, r) == plan_host(p, r - 1);

		if (n % h->gpus || same != (r % h->gpus != 0)) {
			rs_error_set(
				p->e, -EINVAL,
				"hierarchical needs hosts of equal size: the first has %u GPUs, "
				"rank %u of %u does not fit that",
				h->gpus, r, n);
			rs_error_hint(p->e, "use the ring, or as many ranks as fill whole hosts");
			return -EINVAL;
		}
	}
	h->hosts = n / h->gpus;
	return 0;
}

static void connect(struct planner *p, const struct hier_plan *h)
{
	uint32_t n = p->c->n_ranks;

	for (uint32_t ch = 0; ch < p->c->conf.channels; ch++)
		for (uint32_t r = 0; r < n; r++) {
			uint32_t next = r / h->gpus * h->gpus + (r % h->gpus + 1) % h->gpus;
			uint64_t at = (uint64_t)ch * n + r;

			if (h->gpus > 1) {
				plan_connect(p, at, r, next, ch);
				plan_connect(p, h->gather_conns + at, r, next, ch);
			}
			if (h->hosts > 1)
				plan_connect(p, h->rail_conns + at, r, (r + h->gpus) % n, ch);
		}
}

int plan_hierarchical(struct planner *p)
{
	struct rs_coll *c = p->c;
	uint64_t each = (uint64_t)c->n_ranks * c->conf.channels, share;
	struct hier_plan *h = plan_take(p, 1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->all = p->all;
	h->chunk = p->chunk;
	err = find_hosts(p, h);
	if (err)
		return err;
	h->gather_conns = h->gpus > 1 ? each : 0;
	h->rail_conns = 2 * h->gather_conns;
	err = plan_conns(p, h->rail_conns + (h->hosts > 1 ? each : 0));
	if (err)
		return err;
	connect(p, h);
	share = c->conf.op == RS_COLL_ALL_REDUCE ? h->gpus : c->n_ranks;
	share = piece_part(piece_part(p->all, share, 0), c->conf.channels, 0).n;
	h->loops = ceil_div(share, p->chunk * (c->conf.op == RS_COLL_ALL_REDUCE ? h->hosts : 1));
	c->plan = h;
	c->n_lanes = LANES * c->conf.channels;
	c->n_steps = n_steps;
	c->step = step;
	return 0;
}
