/*
 * A collective as NCCL runs it: its plan, its choice for the size, then the lanes of rings or trees
 * with the costs of its kernels and its network proxy. Sources of the costs: docs/nccl.md, "Run".
 */
#include <errno.h>
#include <string.h>
#include "collective/nccl.h"

enum { LAUNCH_STEPS = 1 };

/* ---- Steps ---- */

/* The last lane may be the thread that starts kernels. In a loop of operations it works on the next
 * ones while GPUs work: an operation takes the longer of both. */
static bool is_starter(const struct rs_coll *c, uint32_t lane)
{
	return c->nccl->starts && lane + 1 == c->n_lanes;
}

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	uint64_t n;

	if (is_starter(c, lane))
		return 1;
	n = c->nccl->n_steps(c, rank, lane);
	return n ? n + LAUNCH_STEPS : 0;
}

/* Lines with flags are taken as they come in from the NIC, which is slower than a block. */
static bool taken_on_the_way(const struct rs_coll *c, const struct rs_step *s)
{
	if (c->nccl->choice.proto == RS_NCCL_SIMPLE)
		return false;
	for (unsigned k = 0; k < s->n_recv; k++)
		if (!c->conns[s->recv[k].conn].nvlink)
			return true;
	return false;
}

/* Several turns are whole ones: threads wait for each other's lines. */
static rs_time block_time(const struct rs_coll *c, const struct rs_step *s)
{
	const struct nccl_run *r = c->nccl;
	uint64_t turns = r->turn ? ceil_div(s->local, r->turn) : 0;
	int64_t rate = nccl_step_rate(c, s, r->lane_rate);

	if (turns > 1 && rate < r->lane_rate)
		return nccl_time_of(r->turn, rate) * (rs_time)turns;
	if (turns > 1)
		return r->turn_time * (rs_time)turns;
	return s->local ? rs_time_max(nccl_time_of(s->local, rate), r->turn_least) : 0;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct nccl_run *r = c->nccl;

	if (i < LAUNCH_STEPS) {
		*out = (struct rs_step){.compute = is_starter(c, lane) ? r->starts : r->launch};
		return;
	}
	r->step(c, rank, lane, i - LAUNCH_STEPS, out);
	for (unsigned k = 0; k < out->n_wait; k++)
		out->wait[k].count += LAUNCH_STEPS;
	if (r->own_time)
		return;
	out->compute = taken_on_the_way(c, out) ? 0 : block_time(c, out);
	if (out->local)
		out->compute += r->slice;
}

bool rs_coll_chosen(const struct rs_coll *c, const char **algorithm, const char **protocol,
		    int *channels)
{
	if (!c->nccl)
		return false;
	*algorithm = c->nccl->p2p     ? "P2P"
		     : c->nccl->pairs ? "AllPairs"
				      : rs_nccl_algo_names[c->nccl->choice.algo];
	*protocol = rs_nccl_proto_names[c->nccl->choice.proto];
	*channels = c->nccl->choice.channels;
	return true;
}

/* ---- The plan ---- */

static const enum rs_nccl_func funcs[] = {
	[RS_COLL_ALL_REDUCE] = RS_NCCL_ALL_REDUCE,
	[RS_COLL_REDUCE_SCATTER] = RS_NCCL_REDUCE_SCATTER,
	[RS_COLL_ALL_GATHER] = RS_NCCL_ALL_GATHER,
	[RS_COLL_BROADCAST] = RS_NCCL_BROADCAST,
};

uint64_t nccl_bytes(const struct rs_collective_conf *c)
{
	return c->nccl.as_bytes ? c->nccl.as_bytes : c->bytes * (c->nccl.scale ? c->nccl.scale : 1);
}

static int choose(struct planner *p, struct nccl_run *r)
{
	const struct rs_collective_conf *conf = &p->c->conf;
	struct rs_nccl_table *t = plan_take(p, 1, sizeof(*t));
	uint64_t scale = conf->nccl.scale ? conf->nccl.scale : 1;
	int err;

	if (!t)
		return -ENOMEM;
	err = rs_nccl_tune(r->p, &r->tune, t, p->e);
	if (err)
		return err;
	err = rs_nccl_choose(r->p, t, funcs[conf->op], nccl_bytes(conf), conf->type_bytes,
			     &r->choice, p->e);
	if (!err && !r->choice.chunk)
		err = rs_error_set(p->e, -EINVAL,
				   "nccl.env: NCCL_BUFFSIZE: 8 steps of %llu B hold no chunk of %s",
				   (unsigned long long)r->choice.step,
				   rs_nccl_proto_names[r->choice.proto]);
	r->choice.chunk = ceil_div(r->choice.chunk, scale);
	return err;
}

static bool is_p2p(const struct rs_collective_conf *conf)
{
	return conf->op == RS_COLL_ALL_TO_ALL || conf->op == RS_COLL_SEND_RECV;
}

/* Inside a node small messages go by LL; to another there is Simple alone. */
static void choose_p2p(const struct rs_coll *c, struct nccl_run *r)
{
	r->choice.algo = RS_NCCL_ALGO_RING;
	r->p2p = true;
	r->ll_inside = nccl_p2p_ll(c, r);
	r->choice.proto = r->ll_inside && r->p->n_nodes == 1 ? RS_NCCL_LL : RS_NCCL_SIMPLE;
	r->own_time = true; /* each operation has its own warps */
}

int plan_nccl(struct planner *p)
{
	struct rs_coll *c = p->c;
	struct nccl_run *r = plan_take(p, 1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = run_plan(p, r);
	if (!err && !is_p2p(&c->conf))
		err = choose(p, r);
	if (!err && is_p2p(&c->conf))
		choose_p2p(c, r);
	else if (!err && nccl_takes_pairs(c, r))
		nccl_choose_pairs(c, r);
	if (err)
		return err;
	c->nccl = r;
	c->conf.channels = (uint32_t)r->choice.channels;
	c->conf.qps = r->qps ? (uint32_t)r->qps : c->conf.qps;
	c->turns = r->qps > 1 && !r->split;
	c->window = r->choice.chunk_steps > 1 && !r->p2p ? 4 : 8;
	r->lane_rate = nccl_lane_rate(r, c->n_ranks, c->conf.op == RS_COLL_BROADCAST);
	r->alone_rate = nccl_alone_rate(r);
	nccl_set_times(c, r);
	r->pull_rate = nccl_pull_rate(r);
	c->stores = nccl_stores(r);
	c->lines |= r->ll_inside;
	nccl_set_overheads(c, r);
	if (r->p2p)
		err = plan_nccl_p2p(p, r);
	else if (r->pairs)
		err = plan_nccl_pairs(p, r);
	else
		switch (r->choice.algo) {
		case RS_NCCL_ALGO_TREE:
		case RS_NCCL_ALGO_NVLS:
		case RS_NCCL_ALGO_NVLS_TREE:
			err = plan_nccl_trees(p, r);
			break;
		case RS_NCCL_ALGO_PAT:
			err = plan_nccl_pat(p, r);
			break;
		default:
			err = plan_nccl_ring(p, r);
		}
	c->n_lanes += r->starts > 0;
	c->n_steps = n_steps;
	c->step = step;
	return err;
}
