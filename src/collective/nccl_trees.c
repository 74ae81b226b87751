/*
 * NCCL's trees, in chunks: in each channel a lane goes up reducing and a lane goes down. NVLS is
 * the case without a tree: each rank is the head of its share, and reduces and spreads it over the
 * NVSwitches; NVLSTree joins heads of the same number over nodes.
 */
#include <errno.h>
#include "collective/nccl.h"

enum { NO_UP = UINT32_MAX, NO_HEAD = UINT32_MAX };
enum { UP, DOWN, OUT };
enum { BLOCK_WARPS = 105, DOWN_WARPS = 80 }; /* tenths: 22 GB/s of a block, 2.1 of a warp */
enum { BLOCK = 220, ALONE_UP = 320, ALONE_DOWN = 256 }; /* 0.1 GB/s; 3.2 of a warp */

struct trees {
	struct piece all;
	uint64_t chunk;
	uint32_t channels, lanes;         /* lanes of a channel: 2, or 3 */
	uint32_t heads;                   /* 1: plain trees */
	const uint32_t *head;             /* [rank]: which it is */
	const struct rs_nccl_tree **tree; /* [channel]: [rank] */
	uint32_t *up;                     /* [channel][rank]: connection to its parent, NO_UP */
	uint32_t down;                    /* first connection downwards */
	uint64_t ahead;                   /* chunks up before one came down */
	bool warps;                       /* Simple trees: each way has its warps */
};

static struct piece part_of(const struct trees *t, uint32_t channel, uint32_t rank)
{
	struct piece p = piece_part(t->all, t->channels, channel);

	return t->heads > 1 ? piece_part(p, t->heads, t->head[rank]) : p;
}

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct trees *t = c->plan;

	if (t->head[rank] == NO_HEAD)
		return 0;
	return ceil_div(part_of(t, lane / t->lanes, rank).n, t->chunk);
}

static uint32_t up_of(const struct trees *t, const struct rs_coll *c, uint32_t channel,
		      int32_t rank)
{
	return t->up[(size_t)channel * c->n_ranks + (uint32_t)rank];
}

/* What the root reduces it spreads in the same pass: a tree's with all of its block, which others
 * share between the way up and the way down. */
static void root_step(const struct trees *t, struct rs_step *out, bool up)
{
	if (!up)
		out->local = 0;
	else if (t->heads == 1 && !t->warps)
		out->local = (out->local + 1) / 2;
}

/* Of 20 warps 12 reduce upwards and 8 spread downwards (device/all_reduce.h): a block is busy with
 * 10 or 11. */
static uint64_t by_warps(uint64_t bytes, bool up)
{
	return up ? bytes : bytes * BLOCK_WARPS / DOWN_WARPS;
}

/* The end of a branch sends its first chunk, and takes its last one, while its block does nothing
 * else: a copy from one place to another. What it pulls waits for its data. */
static uint64_t by_end(const struct rs_coll *c, uint64_t bytes, uint64_t i, uint64_t n, bool up)
{
	if (up && i == 0)
		return bytes * BLOCK / ALONE_UP;
	if (!up && i + 1 == n && !c->nccl->pull_rate)
		return bytes * BLOCK / ALONE_DOWN;
	return by_warps(bytes, up);
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct trees *t = c->plan;
	uint32_t channel = lane / t->lanes, mine = up_of(t, c, channel, (int32_t)rank);
	const struct rs_nccl_tree *at = &t->tree[channel][rank];
	struct piece p = piece_chunk(part_of(t, channel, rank), t->chunk, i);
	bool up = lane % t->lanes == UP;

	*out = (struct rs_step){.local = p.n * c->conf.type_bytes};
	for (int k = 0; k < RS_NCCL_TREE_ARITY; k++) {
		if (at->down[k] < 0)
			continue;
		if (up)
			step_recv(c, out, up_of(t, c, channel, at->down[k]), p, true);
		else
			step_send(c, out, t->down + up_of(t, c, channel, at->down[k]), p);
	}
	if (up && mine != NO_UP)
		step_send(c, out, mine, p);
	if (lane % t->lanes == DOWN && mine != NO_UP)
		step_recv(c, out, t->down + mine, p, false);
	if (!up && mine == NO_UP)
		step_wait(out, lane - 1, i + 1);
	if (t->warps && mine != NO_UP && at->down[0] < 0 && !c->nccl->p->rccl)
		out->local = by_end(c, out->local, i, n_steps(c, rank, lane), up);
	else if (t->warps)
		out->local = by_warps(out->local, up);
	if (t->lanes == 2 && mine == NO_UP)
		root_step(t, out, up);
	if (up && i >= t->ahead && (t->heads > 1 || mine == NO_UP))
		step_wait(out, lane + t->lanes - 1, i - t->ahead + 1);
}

static int number_connections(struct planner *p, struct trees *t, uint32_t *n)
{
	size_t room = (size_t)t->channels * p->c->n_ranks;

	t->up = plan_take(p, room, sizeof(*t->up));
	if (!t->up)
		return -ENOMEM;
	*n = 0;
	for (uint32_t c = 0; c < t->channels; c++)
		for (uint32_t r = 0; r < p->c->n_ranks; r++)
			t->up[(size_t)c * p->c->n_ranks + r] =
				t->tree[c][r].up < 0 ? NO_UP : (*n)++;
	t->down = *n;
	return 0;
}

static void connect(struct planner *p, const struct trees *t, const struct nccl_run *run)
{
	for (uint32_t c = 0; c < t->channels; c++)
		for (uint32_t r = 0; r < p->c->n_ranks; r++) {
			int32_t up = t->tree[c][r].up;
			uint32_t conn = up_of(t, p->c, c, (int32_t)r);

			if (up < 0)
				continue;
			run_connect(p, run, conn, r, (uint32_t)up, c);
			run_connect(p, run, t->down + conn, (uint32_t)up, r, c);
		}
}

/* Each channel's tree: the plan's own, or that of the heads, by the channel's parity. */
static int find_trees(struct planner *p, struct trees *t, const struct nccl_run *run)
{
	uint32_t *head = plan_take(p, p->c->n_ranks, sizeof(*head));
	bool nvls = run->choice.algo != RS_NCCL_ALGO_TREE;
	struct rs_nccl_tree *alone;

	t->tree = plan_take(p, t->channels, sizeof(*t->tree));
	if (!head || !t->tree)
		return -ENOMEM;
	/* on one node there is no tree of heads */
	alone = nvls && !run->p->nvls_tree[0] ? plan_take(p, p->c->n_ranks, sizeof(*alone)) : NULL;
	if (nvls && !run->p->nvls_tree[0] && !alone)
		return -ENOMEM;
	for (uint32_t r = 0; r < p->c->n_ranks; r++) {
		head[r] = nvls ? NO_HEAD : 0;
		if (alone)
			alone[r] = (struct rs_nccl_tree){-1, {-1, -1, -1}};
	}
	for (uint32_t c = 0; c < t->channels; c++)
		t->tree[c] = alone  ? alone
			     : nvls ? run->p->nvls_tree[c & 1]
				    : run->p->channel[c].tree;
	t->heads = nvls ? (uint32_t)run->p->n_nvls_heads : 1;
	for (uint32_t h = 0; nvls && h < t->heads; h++)
		for (uint32_t n = 0; n < run->p->n_nodes; n++)
			head[run->p->nvls_heads[h * run->p->n_nodes + n]] = h;
	t->head = head;
	return 0;
}

int plan_nccl_trees(struct planner *p, struct nccl_run *run)
{
	struct trees *t = plan_take(p, 1, sizeof(*t));
	uint32_t n;
	int err;

	if (!t)
		return -ENOMEM;
	t->all = p->all;
	t->chunk = ceil_div(run->choice.chunk, p->c->conf.type_bytes);
	t->channels = p->c->conf.channels;
	/* NVLS on one node: a copy into its buffer, the pass over the NVSwitches, a copy out of it
	 */
	t->lanes = run->choice.algo == RS_NCCL_ALGO_NVLS ? 3 : 2;
	/* a tree's root does both ways in one; of heads, what connections hold, and one on each
	 * level of the way up and down */
	t->ahead = p->c->window;
	for (uint32_t k = run->p->n_nodes; k > 1; k >>= 1)
		t->ahead += 2;
	if (run->choice.algo == RS_NCCL_ALGO_TREE)
		t->ahead = 1;
	t->warps = run->choice.algo == RS_NCCL_ALGO_TREE && run->choice.proto == RS_NCCL_SIMPLE;
	err = find_trees(p, t, run);
	if (!err)
		err = number_connections(p, t, &n);
	if (!err)
		err = plan_conns(p, 2 * (uint64_t)n);
	if (err)
		return err;
	connect(p, t, run);
	p->c->plan = t;
	p->c->n_lanes = t->lanes * t->channels;
	run->n_steps = n_steps;
	run->step = step;
	return 0;
}
