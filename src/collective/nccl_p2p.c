/*
 * Point-to-point as NCCL runs it in a group: all-to-all, and each rank to the next. A message is
 * cut into parts over channels; in a channel eight operations go side by side, each with its warps,
 * and the next eight follow (enqueue.cc, ncclP2pSchedule of init.cc). To another node a message
 * changes to the NIC of the receiver's rail inside its own node (PXN).
 */
#include <errno.h>
#include "collective/nccl.h"

enum { SIDE_BY_SIDE = 8, LL_STEP = 64 << 10 };

struct p2p {
	struct piece all;
	uint64_t chunk, loops; /* chunks of a part */
	uint32_t channels, parts, turns;
	uint32_t places; /* of a batch: 8, fewer if no channel has as many operations */
	bool next;       /* each to the next rank, all bytes; else all-to-all */
	bool pull;       /* receivers inside a node read, senders do not write */
	struct pair_turns t;
	uint32_t *first; /* [channel]: of its operations in ops; one more than channels */
	uint32_t *ops;   /* turn * parts + part */
};

static uint32_t partner(const struct rs_coll *c, uint32_t rank, uint32_t turn, bool before)
{
	const struct p2p *p = c->plan;

	if (p->next)
		return (rank + (before ? c->n_ranks - 1 : 1)) % c->n_ranks;
	return pair_partner(&p->t, rank, (turn + 1) / p->t.gpus, (turn + 1) % p->t.gpus, before);
}

/* A lane sends or receives what is at one place of a channel's batches of eight. */
static uint32_t lane_channel(const struct p2p *p, uint32_t lane)
{
	return lane / 2 / p->places;
}

static uint32_t lane_place(const struct p2p *p, uint32_t lane)
{
	return lane / 2 % p->places;
}

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct p2p *p = c->plan;
	uint32_t channel = lane_channel(p, lane), place = lane_place(p, lane);
	uint32_t n = p->first[channel + 1] - p->first[channel];

	return (n + SIDE_BY_SIDE - 1 - place) / SIDE_BY_SIDE * p->loops;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct p2p *p = c->plan;
	uint32_t channel = lane_channel(p, lane), first = p->first[channel];
	uint32_t n = p->first[channel + 1] - first;
	uint32_t batch = (uint32_t)(i / p->loops) * SIDE_BY_SIDE;
	uint32_t beside = n - batch < SIDE_BY_SIDE ? n - batch : SIDE_BY_SIDE;
	uint32_t op = p->ops[first + batch + lane_place(p, lane)], turn = op / p->parts;
	bool takes = lane & 1;
	uint32_t other = partner(c, rank, turn, takes), n_ops = p->turns * p->parts;
	uint64_t conn = (uint64_t)(takes ? other : rank) * n_ops + op;
	struct piece share = p->all;
	struct nccl_p2p_work w = {.send = !takes};

	if (!p->next)
		share = piece_part(share, c->n_ranks, takes ? rank : other);
	share = piece_chunk(piece_part(share, p->parts, op % p->parts), p->chunk, i % p->loops);
	*out = (struct rs_step){0};
	if (takes)
		step_recv(c, out, conn, share, false);
	else
		step_send(c, out, conn, share);
	w.inside = c->conns[conn].nvlink;
	w.pull = w.inside && takes && p->pull;
	w.staged = takes && c->conns[conn].to_host && !c->conns[conn].c2c;
	w.alone = takes ? i % p->loops + 1 == p->loops : i % p->loops == 0;
	/* lines are taken as they come */
	out->compute = w.inside && takes && c->nccl->ll_inside
			       ? 0
			       : nccl_time_of(out->local, nccl_p2p_rate(c->nccl, beside, w));
}

/* ---- Channels ---- */

/* How many parts a message to a peer has, whose connections' steps are so long. */
static uint32_t parts_of(const struct rs_nccl_plan *n, uint64_t bytes, uint64_t step)
{
	bool one = n->n_nodes == 1;
	uint32_t most = (uint32_t)n->p2p_channels_per_peer, parts;
	uint64_t least = one ? step / 8 : step / 2, full = one ? 32 * step : step;

	for (parts = most; parts > 1 && parts * n->n_ranks > (uint32_t)n->p2p_channels;)
		parts /= 2;
	while (parts > 1 && (parts - 1) * least >= bytes)
		parts--;
	while (parts * 2 <= most && bytes / parts > full)
		parts *= 2;
	return parts;
}

static uint64_t bytes_to_peer(const struct rs_coll *c)
{
	return nccl_bytes(&c->conf) / (c->conf.op == RS_COLL_SEND_RECV ? 1 : c->n_ranks);
}

/* From 2.22 on by all of a message's channels; from 2.29 on by those that it has; before, by what
 * one channel has of it. */
bool nccl_p2p_ll(const struct rs_coll *c, const struct nccl_run *r)
{
	uint64_t bytes = bytes_to_peer(c), limit = (uint64_t)r->ll_threshold;
	uint32_t parts = parts_of(r->p, bytes, r->p->p2p_chunk);

	if (r->p->release >= RS_NCCL_RELEASE(2, 29, 0))
		return bytes <= limit * parts;
	if (r->p->release >= RS_NCCL_RELEASE(2, 22, 0))
		return bytes <= limit * (uint64_t)r->p->p2p_channels_per_peer;
	return ceil_div(bytes, parts) <= limit;
}

/* A step of LL's buffer is 64 KiB, of which half is data. */
static uint64_t step_of(const struct nccl_run *r)
{
	bool ll = r->ll_inside && r->p->n_nodes == 1 && r->p->release < RS_NCCL_RELEASE(2, 29, 0);

	return ll ? LL_STEP : r->p->p2p_chunk;
}

/* The turn of each to the next one is NCCL's second round. */
static uint32_t channel_of(const struct p2p *w, const struct rs_nccl_plan *n, uint32_t op)
{
	return (uint32_t)rs_nccl_p2p_channel(n, op / w->parts + 1, (int)(op % w->parts));
}

static int deal(struct planner *p, struct p2p *w, const struct rs_nccl_plan *plan)
{
	uint32_t n = w->turns * w->parts;
	uint32_t *at = plan_take(p, 2 * (size_t)w->channels + 2, sizeof(*at));

	w->ops = plan_take(p, n + 1u, sizeof(*w->ops));
	if (!at || !w->ops)
		return -ENOMEM;
	w->first = at + w->channels + 1;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t op = 0; op < n; op++) {
			uint32_t c = channel_of(w, plan, op);

			if (pass)
				w->ops[at[c]] = op;
			at[c]++;
		}
		for (uint32_t c = 0, sum = 0; c < w->channels && !pass; c++) {
			w->places = at[c] > w->places ? at[c] : w->places;
			w->first[c] = sum;
			sum += at[c];
			w->first[c + 1] = sum;
			at[c] = w->first[c];
		}
	}
	w->places = w->places < SIDE_BY_SIDE ? w->places : SIDE_BY_SIDE;
	return 0;
}

/* The most operations of one batch of a channel that go to another node. */
static uint32_t to_nodes(const struct p2p *w)
{
	uint32_t most = w->next, n;

	for (uint32_t c = 0; c < w->channels && !w->next; c++)
		for (uint32_t at = w->first[c]; at < w->first[c + 1]; at += SIDE_BY_SIDE) {
			n = 0;
			for (uint32_t i = at; i < at + SIDE_BY_SIDE && i < w->first[c + 1]; i++)
				n += (w->ops[i] / w->parts + 1) / w->t.gpus > 0;
			most = n > most ? n : most;
		}
	return most;
}

static void connect(struct planner *p, const struct p2p *w, const struct nccl_run *run)
{
	uint32_t n_ops = w->turns * w->parts;

	for (uint32_t src = 0; src < p->c->n_ranks; src++)
		for (uint32_t op = 0; op < n_ops; op++)
			run_connect(p, run, (uint64_t)src * n_ops + op, src,
				    partner(p->c, src, op / w->parts, false),
				    channel_of(w, run->p, op));
}

int plan_nccl_p2p(struct planner *p, struct nccl_run *run)
{
	struct rs_coll *c = p->c;
	struct p2p *w = plan_take(p, 1, sizeof(*w));
	uint64_t unit = run->p->p2p_chunk, bytes;
	uint64_t chunk = unit, scale = c->conf.nccl.scale ? c->conf.nccl.scale : 1;
	int err;

	if (!w)
		return -ENOMEM;
	w->all = p->all;
	w->next = c->conf.op == RS_COLL_SEND_RECV;
	w->turns = w->next ? 1 : c->n_ranks - 1;
	w->channels = (uint32_t)run->p->p2p_channels;
	err = pair_turns(p, &w->t);
	if (err)
		return err;
	bytes = bytes_to_peer(c);
	w->parts = parts_of(run->p, bytes, step_of(run));
	w->pull = nccl_pulls(run->p);
	if (run->p->n_nodes > 1 && bytes < 8 * unit)
		chunk = bytes < unit ? unit / 4 : unit / 2;
	if (run->choice.proto == RS_NCCL_LL)
		chunk = LL_STEP / 2;
	bytes = (w->next ? p->all.n : piece_part(p->all, c->n_ranks, 0).n) * c->conf.type_bytes;
	w->chunk = ceil_div(ceil_div(chunk, scale), c->conf.type_bytes);
	w->loops = ceil_div(ceil_div(ceil_div(bytes, c->conf.type_bytes), w->parts), w->chunk);
	c->conf.channels = w->channels;
	run->choice.channels = (int)w->channels;
	c->plan = w;
	err = deal(p, w, run->p);
	if (!err)
		err = plan_conns(p, (uint64_t)c->n_ranks * w->turns * w->parts);
	if (err)
		return err;
	connect(p, w, run);
	c->net_window = nccl_p2p_window(to_nodes(w));
	c->n_lanes = 2 * w->channels * w->places;
	run->n_steps = n_steps;
	run->step = step;
	return 0;
}
