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
	struct cut cut;
	uint64_t loops;
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
	uint32_t slices = h->cut.slices;
	uint64_t inside = ring_steps(h->loops * h->hosts, h->gpus - 1, slices);

	switch (lane % LANES) {
	case LANE_SCATTER:
		return c->conf.op == RS_COLL_ALL_GATHER ? 0 : inside;
	case LANE_GATHER:
		return c->conf.op == RS_COLL_REDUCE_SCATTER ? 0 : inside;
	default:
		return ring_steps(h->loops, ring_sends(rail_kinds[c->conf.op], h->hosts), slices);
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
		return piece_loop(share, h->cut.chunk, h->hosts, loop, host);
	}
	share = piece_part(h->all, (uint64_t)h->gpus * h->hosts, host * h->gpus + gpu);
	return piece_chunk(piece_part(share, channels, channel), h->cut.chunk, loop);
}

/* A rail's n-th chunk of a loop must have been reduced inside the host. */
static void wait_scattered(const struct rs_coll *c, uint32_t channel, uint64_t loop, uint32_t nth,
			   uint32_t slice, struct rs_step *out)
{
	const struct hier_plan *h = c->plan;

	if (rail_kinds[c->conf.op] != RING_ALL_GATHER && h->gpus > 1)
		step_wait(out, channel * LANES + LANE_SCATTER,
			  ring_taken(loop * h->hosts + nth, h->gpus - 1, h->cut.slices, h->gpus - 1,
				     slice));
}

static void step_rail(const struct rs_coll *c, uint32_t rank, uint32_t channel, uint64_t i,
		      struct rs_step *out)
{
	const struct hier_plan *h = c->plan;
	enum ring_kind kind = rail_kinds[c->conf.op];
	uint32_t host = rank / h->gpus, gpu = rank % h->gpus, sends = ring_sends(kind, h->hosts);
	uint32_t prev = (host + h->hosts - 1) % h->hosts * h->gpus + gpu;
	uint64_t first = h->rail_conns + (uint64_t)channel * c->n_ranks;
	struct ring_turn t = ring_turn(h->loops, sends, h->cut.slices, i);
	struct piece p;

	if (t.recv) {
		p = piece_of(c, channel, t.in.loop, ring_chunk(kind, h->hosts, host, t.in.k), gpu);
		step_recv(c, out, first + prev, piece_slice(&h->cut, p, t.slice),
			  ring_reduces(kind, h->hosts, t.in.k));
		if (t.in.k < h->hosts)
			wait_scattered(c, channel, t.in.loop, t.in.k, t.slice, out);
	}
	if (!t.send)
		return;
	p = piece_of(c, channel, t.out.loop, ring_chunk(kind, h->hosts, host, t.out.k), gpu);
	step_send(c, out, first + rank, piece_slice(&h->cut, p, t.slice));
	if (!t.same && t.out.k < h->hosts)
		wait_scattered(c, channel, t.out.loop, t.out.k, t.slice, out);
}

/* How far the rail must be before the gathering of its n-th chunk of a loop begins. */
static void wait_for_rail(const struct rs_coll *c, uint32_t channel, uint64_t loop, uint32_t nth,
			  uint32_t slice, struct rs_step *out)
{
	const struct hier_plan *h = c->plan;
	enum ring_kind kind = rail_kinds[c->conf.op];
	uint32_t k = (kind == RING_ALL_REDUCE ? h->hosts - 1 : 0) + nth;

	if (h->hosts == 1)
		wait_scattered(c, channel, loop, nth, slice, out);
	else if (k)
		step_wait(out, channel * LANES + LANE_RAIL,
			  ring_taken(loop, ring_sends(kind, h->hosts), h->cut.slices, k, slice));
}

/* Loops inside a host take the rail's chunks in the order in which the rail needs or ends them: a
 * loop here is one of them. */
static struct piece inside_piece(const struct rs_coll *c, uint32_t rank, uint32_t channel,
				 bool gather, struct ring_half at, uint32_t slice)
{
	const struct hier_plan *h = c->plan;
	enum ring_kind kind = rail_kinds[c->conf.op];
	uint32_t nth = (uint32_t)(at.loop % h->hosts);
	uint32_t k = gather && kind == RING_ALL_REDUCE ? h->hosts - 1 + nth : nth;
	uint32_t chunk = ring_chunk(kind, h->hosts, rank / h->gpus, k);
	uint32_t owner = ring_chunk(gather ? RING_ALL_GATHER : RING_REDUCE_SCATTER, h->gpus,
				    rank % h->gpus, at.k);

	return piece_slice(&h->cut, piece_of(c, channel, at.loop / h->hosts, chunk, owner), slice);
}

static void step_inside(const struct rs_coll *c, uint32_t rank, uint32_t channel, bool gather,
			uint64_t i, struct rs_step *out)
{
	const struct hier_plan *h = c->plan;
	uint32_t gpu = rank % h->gpus, prev = rank - gpu + (gpu + h->gpus - 1) % h->gpus;
	uint64_t first = (gather ? h->gather_conns : 0) + (uint64_t)channel * c->n_ranks;
	struct ring_turn t = ring_turn(h->loops * h->hosts, h->gpus - 1, h->cut.slices, i);

	if (t.recv)
		step_recv(c, out, first + prev,
			  inside_piece(c, rank, channel, gather, t.in, t.slice), !gather);
	if (!t.send)
		return;
	if (gather && !t.same)
		wait_for_rail(c, channel, t.out.loop / h->hosts, (uint32_t)(t.out.loop % h->hosts),
			      t.slice, out);
	step_send(c, out, first + rank, inside_piece(c, rank, channel, gather, t.out, t.slice));
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
	uint64_t each = (uint64_t)c->n_ranks * c->conf.channels, share, loop;
	struct hier_plan *h = plan_take(p, 1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->all = p->all;
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
	loop = c->conf.op == RS_COLL_ALL_REDUCE ? h->hosts : 1;
	h->cut = plan_cut(p, ceil_div(share, loop));
	h->loops = ceil_div(share, h->cut.chunk * loop);
	c->plan = h;
	c->n_lanes = LANES * c->conf.channels;
	c->n_steps = n_steps;
	c->step = step;
	return 0;
}
