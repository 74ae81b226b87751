/*
 * Point-to-point as NCCL runs it in a group: all-to-all, and each rank to the next. A message is
 * cut into parts over channels; in a channel eight operations go side by side, chunk by chunk, and
 * the next eight follow (enqueue.cc, ncclP2pSchedule of init.cc). To another node a message changes
 * to the NIC of the receiver's rail inside its own node (PXN).
 */
#include <errno.h>
#include "collective/nccl.h"

enum { SIDE_BY_SIDE = 8, PART = 4096 };

struct p2p {
	struct piece all;
	uint64_t chunk, loops; /* chunks of a part */
	uint32_t channels, parts, turns;
	bool next; /* each to the next rank, all bytes; else all-to-all */
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

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct p2p *p = c->plan;

	return (p->first[lane / 2 + 1] - p->first[lane / 2]) * p->loops;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct p2p *p = c->plan;
	uint32_t first = p->first[lane / 2], n = p->first[lane / 2 + 1] - first;
	uint32_t batch = (uint32_t)(i / (SIDE_BY_SIDE * p->loops)) * SIDE_BY_SIDE;
	uint32_t beside = n - batch < SIDE_BY_SIDE ? n - batch : SIDE_BY_SIDE;
	uint64_t k = i - batch * p->loops;
	uint32_t op = p->ops[first + batch + (uint32_t)(k % beside)], turn = op / p->parts;
	bool takes = lane & 1;
	uint32_t other = partner(c, rank, turn, takes), n_ops = p->turns * p->parts;
	struct piece share = p->all;

	if (!p->next)
		share = piece_part(share, c->n_ranks, takes ? rank : other);
	share = piece_chunk(piece_part(share, p->parts, op % p->parts), p->chunk, k / beside);
	*out = (struct rs_step){0};
	if (takes)
		step_recv(c, out, (uint64_t)other * n_ops + op, share, false);
	else
		step_send(c, out, (uint64_t)rank * n_ops + op, share);
}

/* ---- Channels ---- */

static uint32_t reversed(uint32_t j, uint32_t channels)
{
	uint32_t r = 0;

	for (uint32_t bit = 1; bit < channels; bit <<= 1, j >>= 1)
		r = r << 1 | (j & 1);
	return r;
}

/* How many parts a message to a peer has. */
static void cut_parts(struct p2p *p, const struct rs_nccl_plan *n, uint64_t bytes, uint64_t step)
{
	bool one = n->n_nodes == 1;
	uint32_t most = (uint32_t)n->p2p_channels_per_peer, parts;
	uint64_t least = one ? step / 8 : step / 2, full = one ? 32 * step : step;

	for (parts = most; parts > 1 && parts * n->n_ranks > p->channels;)
		parts /= 2;
	while (parts > 1 && (parts - 1) * least >= bytes)
		parts--;
	while (parts * 2 <= most && bytes / parts > full)
		parts *= 2;
	p->parts = parts;
}

static uint32_t base_of(const struct p2p *p, uint32_t turn)
{
	uint32_t node = (turn + 1) / p->t.gpus, local = (turn + 1) % p->t.gpus;

	if (p->t.hosts == 1 || p->next)
		return turn + 1;
	return node * ((p->t.gpus + SIDE_BY_SIDE - 1) / SIDE_BY_SIDE) + local / SIDE_BY_SIDE;
}

static uint32_t channel_of(const struct p2p *w, uint32_t op)
{
	return (base_of(w, op / w->parts) + reversed(op % w->parts, w->channels)) % w->channels;
}

static int deal(struct planner *p, struct p2p *w)
{
	uint32_t n = w->turns * w->parts;
	uint32_t *at = plan_take(p, 2 * (size_t)w->channels + 2, sizeof(*at));

	w->ops = plan_take(p, n + 1u, sizeof(*w->ops));
	if (!at || !w->ops)
		return -ENOMEM;
	w->first = at + w->channels + 1;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t op = 0; op < n; op++) {
			uint32_t c =
				(base_of(w, op / w->parts) + reversed(op % w->parts, w->channels)) %
				w->channels;

			if (pass)
				w->ops[at[c]] = op;
			at[c]++;
		}
		for (uint32_t c = 0, sum = 0; c < w->channels && !pass; c++) {
			w->first[c] = sum;
			sum += at[c];
			w->first[c + 1] = sum;
			at[c] = w->first[c];
		}
	}
	return 0;
}

static void connect(struct planner *p, const struct p2p *w, const struct nccl_run *run)
{
	uint32_t n_ops = w->turns * w->parts;

	for (uint32_t src = 0; src < p->c->n_ranks; src++)
		for (uint32_t op = 0; op < n_ops; op++)
			run_connect(p, run, (uint64_t)src * n_ops + op, src,
				    partner(p->c, src, op / w->parts, false), channel_of(w, op));
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
	bytes = nccl_bytes(&c->conf) / (w->next ? 1 : c->n_ranks);
	cut_parts(w, run->p, bytes, unit);
	if (run->p->n_nodes > 1 && bytes < 8 * unit)
		chunk = bytes < unit ? unit / 4 : unit / 2;
	bytes = (w->next ? p->all.n : piece_part(p->all, c->n_ranks, 0).n) * c->conf.type_bytes;
	w->chunk = ceil_div(ceil_div(chunk, scale), c->conf.type_bytes);
	w->loops = ceil_div(ceil_div(ceil_div(bytes, c->conf.type_bytes), w->parts), w->chunk);
	c->conf.channels = w->channels;
	run->choice.channels = (int)w->channels;
	c->plan = w;
	err = deal(p, w);
	if (!err)
		err = plan_conns(p, (uint64_t)c->n_ranks * w->turns * w->parts);
	if (err)
		return err;
	connect(p, w, run);
	c->n_lanes = 2 * w->channels;
	run->n_steps = n_steps;
	run->step = step;
	return 0;
}
