/*
 * The flat ring, in NCCL's loops: each moves n chunks a channel, and a rank's step receives a slice
 * of a chunk, reduces or copies it, and passes it on. The order visits the GPUs of a host, then the
 * next host; every second host is walked backwards, so that both ends of a link between hosts are
 * on one rail.
 */
#include <errno.h>
#include <string.h>
#include "collective/nccl.h"

struct ring_plan {
	struct piece all;
	struct cut cut;
	uint64_t loops;
	uint32_t n; /* ranks of a ring */
	uint32_t stride;
	const uint32_t *order; /* [channel][ring][position]: rank */
	const uint32_t *at;    /* [channel][rank]: index into that channel's order */
};

uint32_t ring_sends(enum ring_kind kind, uint32_t n)
{
	return kind == RING_ALL_REDUCE ? 2 * n - 2 : n - 1;
}

uint64_t ring_steps(uint64_t loops, uint32_t sends, uint32_t slices)
{
	return sends ? (loops * sends + 1) * slices : 0;
}

struct ring_turn ring_turn(uint64_t loops, uint32_t sends, uint32_t slices, uint64_t step)
{
	uint64_t t = step / slices, loop = t / sends;
	uint32_t k = (uint32_t)(t - loop * sends);

	rs_assert(loop < loops || (loop == loops && !k)); /* the last turn only receives */
	return (struct ring_turn){
		.recv = t > 0,
		.send = loop<loops, .same = k> 0,
		.slice = (uint32_t)(step - t * slices),
		.in = k ? (struct ring_half){loop, k} : (struct ring_half){loop - 1, sends},
		.out = {loop, k},
	};
}

uint32_t ring_chunk(enum ring_kind kind, uint32_t n, uint32_t at, uint32_t k)
{
	uint32_t first = kind == RING_ALL_GATHER ? at : at + n - 1;

	return (first + 2 * n - k) % n;
}

bool ring_reduces(enum ring_kind kind, uint32_t n, uint32_t k)
{
	return kind != RING_ALL_GATHER && k < n;
}

uint64_t ring_taken(uint64_t loop, uint32_t sends, uint32_t slices, uint32_t k, uint32_t slice)
{
	return (loop * sends + k) * slices + slice + 1;
}

static const enum ring_kind kind_of_op[] = {
	[RS_COLL_ALL_REDUCE] = RING_ALL_REDUCE,
	[RS_COLL_REDUCE_SCATTER] = RING_REDUCE_SCATTER,
	[RS_COLL_ALL_GATHER] = RING_ALL_GATHER,
};

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct ring_plan *r = c->plan;

	return c->conf.op == RS_COLL_BROADCAST
		       ? r->loops
		       : ring_steps(r->loops, ring_sends(kind_of_op[c->conf.op], r->n),
				    r->cut.slices);
}

static struct piece piece_of(const struct rs_coll *c, uint32_t channel, uint64_t loop,
			     uint32_t ring, uint32_t chunk)
{
	const struct ring_plan *r = c->plan;
	uint32_t channels = c->conf.channels, owner;

	if (c->conf.op == RS_COLL_ALL_REDUCE)
		return piece_loop(piece_part(r->all, channels, channel), r->cut.chunk, r->n, loop,
				  chunk);
	owner = r->order[(size_t)channel * c->n_ranks + ring + chunk] % (r->stride * r->n) /
		r->stride;
	return piece_chunk(piece_part(piece_part(r->all, r->n, owner), channels, channel),
			   r->cut.chunk, loop);
}

/* Connections are numbered by sender and channel. */
static uint64_t conn_of(const struct rs_coll *c, uint32_t rank, uint32_t channel)
{
	return (uint64_t)channel * c->n_ranks + rank;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct ring_plan *r = c->plan;
	const uint32_t *order = r->order + (size_t)lane * c->n_ranks;
	uint32_t index = r->at[(size_t)lane * c->n_ranks + rank], at = index % r->n;
	uint32_t ring = index - at, prev = order[ring + (at + r->n - 1) % r->n];
	enum ring_kind kind = kind_of_op[c->conf.op];
	struct ring_turn t = ring_turn(r->loops, ring_sends(kind, r->n), r->cut.slices, i);
	struct piece p = {0, 0};

	*out = (struct rs_step){0};
	if (t.recv) {
		p = piece_of(c, lane, t.in.loop, ring, ring_chunk(kind, r->n, at, t.in.k));
		p = piece_slice(&r->cut, p, t.slice);
		step_recv(c, out, conn_of(c, prev, lane), p, ring_reduces(kind, r->n, t.in.k));
	}
	if (!t.send)
		return;
	if (!t.same) {
		p = piece_of(c, lane, t.out.loop, ring, ring_chunk(kind, r->n, at, t.out.k));
		p = piece_slice(&r->cut, p, t.slice);
	}
	step_send(c, out, conn_of(c, rank, lane), p);
}

/* Among the GPUs of one process a rank writes what is done right into the next one's output, which
 * is spared a copy (transport/p2p.cc, P2P_DIRECT; device/prims_simple.h, genericOp()). */
static bool direct(const struct rs_coll *c, const struct rs_step *s)
{
	const struct rs_conn *from = s->n_recv ? &c->conns[s->recv[0].conn] : NULL;
	uint32_t gpus = c->conf.nccl.gpus_per_thread;

	return from && gpus > 1 && !s->recv[0].reduce && from->nvlink && !from->to_host &&
	       from->src / gpus == from->dst / gpus && !c->nccl->p->rccl && !c->nccl->pull_rate &&
	       !nccl_stores_over_pcie(c->nccl->p, from->src, from->dst);
}

/* Two places of its own GPU's memory: its output, and what a NIC reads. */
static bool fills_own_memory(const struct rs_coll *c, const struct rs_step *s)
{
	const struct rs_conn *to = &c->conns[s->send[0].conn];

	return !to->nvlink && !to->from_host;
}

/* A block's operations of Simple one after another (device/all_gather.h, reduce_scatter.h,
 * all_reduce.h): where a loop ends it takes its last chunk, and then sends the first of the next
 * one. Taking alone, and sending alone, write to one place; all others read or write two. */
static void step_simple(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
			struct rs_step *out)
{
	const struct nccl_run *r = c->nccl;
	int64_t takes = c->conf.op == RS_COLL_REDUCE_SCATTER ? r->lane_rate : r->alone_rate;
	int64_t sends = r->alone_rate;
	int64_t passes = r->lane_rate;
	const struct ring_plan *k = c->plan;
	struct ring_turn t =
		ring_turn(k->loops, ring_sends(kind_of_op[c->conf.op], k->n), k->cut.slices, i);

	step(c, rank, lane, i, out);
	out->compute = 0;
	if (c->conf.op == RS_COLL_ALL_GATHER)
		sends = out->n_send && fills_own_memory(c, out) ? r->alone_rate / 2 : r->lane_rate;
	if (direct(c, out))
		passes *= 2;
	if (t.same && out->local)
		out->compute = nccl_time_of(out->local, nccl_step_rate(c, out, passes)) + r->slice;
	if (t.same || !out->local)
		return;
	if (out->n_recv && passes == r->lane_rate) {
		struct rs_step in = *out;

		in.n_send = 0; /* what it sends next is another chunk */
		out->compute = nccl_time_of(out->local, nccl_step_rate(c, &in, takes));
	}
	if (out->n_recv)
		out->compute += r->slice;
	if (out->n_send)
		out->compute += nccl_time_of(out->local, sends) + r->slice;
}

/* The ring without the link that closes it: pieces run down the chain one behind another, from the
 * ring's first rank. */
static void step_broadcast(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
			   struct rs_step *out)
{
	const struct ring_plan *r = c->plan;
	const uint32_t *order = r->order + (size_t)lane * c->n_ranks;
	const uint32_t *at = r->at + (size_t)lane * c->n_ranks;
	uint32_t block = r->stride * r->n, root = rank / block * block + rank % r->stride;
	uint32_t ring = at[rank] - at[rank] % r->n;
	uint32_t place = (at[rank] + r->n - at[root]) % r->n;
	struct piece p = piece_chunk(piece_part(r->all, c->conf.channels, lane), r->cut.chunk, i);

	*out = (struct rs_step){0};
	if (place > 0)
		step_recv(c, out,
			  conn_of(c, order[ring + (at[rank] - ring + r->n - 1) % r->n], lane), p,
			  false);
	if (place + 1 < r->n)
		step_send(c, out, conn_of(c, rank, lane), p);
}

/* ---- The order ---- */

/* Ranks of one ring on one host, in the ring's order: where it enters differs by channel, so that
 * each leaves by another GPU and NIC. */
static void walk_host(uint32_t *order, const uint32_t *ranks, uint32_t n, uint32_t enter,
		      bool backward)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = ranks[backward ? (enter + 2 * n - 1 - i) % n : (enter + i) % n];
}

/* order: of channel 0; the same place of the others is n_ranks apart. */
static void order_ring(struct planner *p, uint32_t first, uint32_t *ranks, uint32_t *order)
{
	uint32_t hosts = 0, enter[COLL_CHANNELS_MAX];

	rs_assert(p->c->conf.channels <= COLL_CHANNELS_MAX);
	for (uint32_t i = 0; i < p->group; i++)
		ranks[i] = first + i * p->stride;
	for (uint32_t i = 0, n; i < p->group; i += n, hosts++) {
		uint32_t host = plan_host(p, ranks[i]);

		for (n = 1; i + n < p->group; n++)
			if (plan_host(p, ranks[i + n]) != host)
				break;
		plan_entries(p, ranks + i, n, 1, enter);
		for (uint32_t ch = 0; ch < p->c->conf.channels; ch++)
			walk_host(order + (size_t)ch * p->c->n_ranks + i, ranks + i, n, enter[ch],
				  hosts & 1);
	}
}

static void connect_channel(struct planner *p, uint32_t channel, const uint32_t *order,
			    uint32_t *at)
{
	for (uint32_t i = 0; i < p->c->n_ranks; i++) {
		rs_assert(order[i] < p->c->n_ranks);
		at[order[i]] = i;
	}
	for (uint32_t i = 0; i < p->c->n_ranks; i++) {
		uint32_t ring = i - i % p->group;

		plan_connect(p, conn_of(p->c, order[i], channel), order[i],
			     order[ring + (i - ring + 1) % p->group], channel);
	}
}

/* A chain passes its chunks one behind another, as they are; the other kinds work in loops. */
static void cut_ring(struct planner *p, struct ring_plan *r)
{
	uint64_t channel = piece_part(p->all, p->c->conf.channels, 0).n;
	uint64_t share = piece_part(piece_part(p->all, p->group, 0), p->c->conf.channels, 0).n;

	if (p->c->conf.op == RS_COLL_BROADCAST) {
		r->cut.chunk = p->chunk;
		r->loops = ceil_div(channel, p->chunk);
		return;
	}
	if (p->c->conf.op == RS_COLL_ALL_REDUCE)
		share = ceil_div(channel, p->group);
	r->cut = plan_cut(p, share);
	r->loops = p->c->conf.op == RS_COLL_ALL_REDUCE ? ceil_div(channel, r->cut.chunk * p->group)
						       : ceil_div(share, r->cut.chunk);
}

static void cut_nccl_ring(struct planner *p, struct ring_plan *r, const struct rs_nccl_choice *k)
{
	uint64_t channel = piece_part(p->all, p->c->conf.channels, 0).n;
	uint64_t share = piece_part(piece_part(p->all, p->group, 0), p->c->conf.channels, 0).n;

	r->cut.chunk = ceil_div(k->chunk, p->c->conf.type_bytes);
	r->cut.slices = (uint32_t)(k->chunk_steps / k->slice_steps);
	r->cut.packet = 16; /* and the least slice: device/prims_simple.h, genericOp */
	r->cut.least = r->cut.chunk * (uint64_t)k->slice_steps / (uint64_t)k->chunk_steps / 32;
	if (p->c->conf.op == RS_COLL_ALL_REDUCE)
		r->loops = ceil_div(channel, r->cut.chunk * p->group);
	else if (p->c->conf.op == RS_COLL_BROADCAST)
		r->loops = ceil_div(channel, r->cut.chunk);
	else
		r->loops = ceil_div(share, r->cut.chunk);
}

int plan_nccl_ring(struct planner *p, struct nccl_run *run)
{
	struct rs_coll *c = p->c;
	size_t n = (size_t)c->n_ranks * c->conf.channels;
	struct ring_plan *r = plan_take(p, 1, sizeof(*r));
	uint32_t *order = plan_take(p, n, sizeof(*order)), *at = plan_take(p, n, sizeof(*at));
	int err = plan_conns(p, n);

	if (!r || !order || !at || err)
		return err ? err : -ENOMEM;
	*r = (struct ring_plan){
		.all = p->all, .n = p->group, .stride = p->stride, .order = order, .at = at};
	for (uint32_t ch = 0; ch < c->conf.channels; ch++) {
		size_t first = (size_t)ch * c->n_ranks;

		memcpy(order + first, run->p->channel[ch].ring, c->n_ranks * sizeof(*order));
		for (uint32_t i = 0; i < c->n_ranks; i++) {
			uint32_t rank = order[first + i],
				 next = order[first + (i + 1) % c->n_ranks];

			at[first + rank] = i;
			run_connect(p, run, conn_of(c, rank, ch), rank, next, ch);
		}
	}
	cut_nccl_ring(p, r, &run->choice);
	c->plan = r;
	c->n_lanes = c->conf.channels;
	run->n_steps = n_steps;
	run->step = c->conf.op == RS_COLL_BROADCAST ? step_broadcast : step;
	if (run->choice.proto == RS_NCCL_SIMPLE && c->conf.op != RS_COLL_BROADCAST) {
		run->step = step_simple;
		run->own_time = true;
		/* DXS is told of an empty one, and none was seen to wait for its peer */
		c->empties = c->conf.nccl.net != RS_NCCL_NET_TCPXO;
		if (!c->empties && r->cut.slices > 1)
			c->lone = r->cut.least * c->conf.type_bytes;
	}
	return 0;
}

int plan_ring(struct planner *p)
{
	struct rs_coll *c = p->c;
	size_t n = (size_t)c->n_ranks * c->conf.channels;
	struct ring_plan *r = plan_take(p, 1, sizeof(*r));
	uint32_t *order = plan_take(p, n, sizeof(*order));
	uint32_t *at = plan_take(p, n, sizeof(*at));
	uint32_t *ranks = plan_take(p, p->group, sizeof(*ranks));
	int err = plan_conns(p, n);

	if (!r || !order || !at || !ranks || err)
		return err ? err : -ENOMEM;
	*r = (struct ring_plan){
		.all = p->all, .n = p->group, .stride = p->stride, .order = order, .at = at};
	for (uint32_t b = 0, ring = 0; b < c->n_ranks; b += p->stride * p->group)
		for (uint32_t i = 0; i < p->stride; i++, ring += p->group)
			order_ring(p, b + i, ranks, order + ring);
	for (uint32_t ch = 0; ch < c->conf.channels; ch++)
		connect_channel(p, ch, order + (size_t)ch * c->n_ranks,
				at + (size_t)ch * c->n_ranks);
	cut_ring(p, r);
	c->plan = r;
	c->n_lanes = c->conf.channels;
	c->n_steps = n_steps;
	c->step = c->conf.op == RS_COLL_BROADCAST ? step_broadcast : step;
	return 0;
}
