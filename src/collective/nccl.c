/*
 * A collective as NCCL runs it: its plan, its choice for the size, then the lanes of rings or trees
 * with the costs of its kernels and its network proxy. Sources of the costs: docs/nccl.md, "Run".
 */
#include <errno.h>
#include <string.h>
#include "collective/nccl.h"

enum { LAUNCH_STEPS = 1 };
/* bytes a second of a channel: 84 GB/s of four (8 B200, send-recv of 64 MiB) */
#define P2P_RATE INT64_C(21000000000)
enum arch { VOLTA, AMPERE, HOPPER, BLACKWELL };

static enum arch arch_of(const struct rs_nccl_plan *p)
{
	return p->min_cc >= 100  ? BLACKWELL
	       : p->min_cc >= 90 ? HOPPER
	       : p->min_cc >= 80 ? AMPERE
				 : VOLTA;
}

static int span_of(const struct rs_nccl_plan *p)
{
	return p->n_nodes > 2 ? 2 : (int)p->n_nodes - 1;
}

/* ---- Costs. The tables are NCCL's own (graph/tuning.cc of 2.28), which it measured ---- */

/* GB/s of a channel that its search found, a ring or a tree: Simple, LL128, and of all, LL. */
static const double tree_rate[4][3] = {
	{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double ll128_rate[4] = {20, 20, 36.7, 73.4};
static const double ll_rate[4] = {39, 87.7, 141, 282};
static const double nvls_tree_rate[4][3] = {{0}, {0}, {0, 57.7, 45.5}, {0, 96, 43.8}};
static const double nvls_efficiency[4] = {0, 0, .85, .74};

/* GB/s of all NVLinks of a GPU together, as NCCL counts them: its way to another one's. */
static double nvlink_rate(const struct rs_nccl_plan *p)
{
	const struct rs_nccl_node *n = &p->nodes[0];
	enum rs_nccl_path class;

	return n->n_ranks < 2 ? 0 : (double)rs_nccl_gpu_path(p, n->ranks[0], n->ranks[1], &class);
}

/* GB/s of the whole operation, of one direction of it. */
static double whole_rate(const struct nccl_run *r, uint32_t n_ranks)
{
	const struct rs_nccl_plan *p = r->p;
	enum arch a = arch_of(p);
	double n = n_ranks, local = p->max_local_ranks, rate, graph;

	switch (r->choice.algo) {
	case RS_NCCL_ALGO_NVLS:
	case RS_NCCL_ALGO_NVLS_TREE:
		rate = nvls_efficiency[a] * nvlink_rate(p) * local / (local + 1);
		graph = nvls_tree_rate[a][span_of(p)] * p->graph[RS_NCCL_ALGO_NVLS].n_channels * n /
			(2 * (n - 1));
		return p->n_nodes > 1 && graph < rate ? graph : rate;
	case RS_NCCL_ALGO_TREE:
		graph = p->graph[RS_NCCL_ALGO_TREE].n_channels;
		rate = graph * tree_rate[a][span_of(p)];
		if (r->choice.proto == RS_NCCL_LL && ll_rate[a] < rate / 3.8)
			rate = ll_rate[a];
		else if (r->choice.proto == RS_NCCL_LL)
			rate /= 3.8;
		else if (r->choice.proto == RS_NCCL_LL128 && graph * ll128_rate[a] < rate)
			rate = graph * ll128_rate[a];
		return rate / 2;
	default:
		graph = p->graph[RS_NCCL_ALGO_RING].n_channels;
		if (r->choice.proto == RS_NCCL_LL)
			return ll_rate[a];
		if (r->choice.proto == RS_NCCL_LL128)
			return graph * ll128_rate[a];
		return 2 * graph * tree_rate[a][0];
	}
}

/* A block has its share of what all channels of the machine together can do. */
static int64_t lane_rate(const struct nccl_run *r, uint32_t n_ranks)
{
	const struct rs_nccl_plan *p = r->p;
	bool nvls = r->choice.algo == RS_NCCL_ALGO_NVLS || r->choice.algo == RS_NCCL_ALGO_NVLS_TREE;
	double rate = whole_rate(r, n_ranks) * 1e9;
	int own = nvls ? p->nvls_channels : p->coll_channels;
	int usual = nvls ? p->min_cc >= 100 ? 24 : 16 : 2 * p->graph[r->choice.algo].n_channels;

	/* fewer, because NCCL_MAX_NCHANNELS says so, do not work the faster */
	usual = usual > own ? usual : own;

	if (r->p2p)
		return P2P_RATE;
	rate /= nvls ? (double)usual * p->n_nvls_heads : usual;
	return rate < 1e6 ? 1000000 : (int64_t)rate;
}

/* Start of the kernel, with the first flags: 8.2 us of a small one in a stream (measured on an
 * H100), else the tables' base. */
static rs_time launch_time(const struct rs_nccl_choice *c)
{
	static const rs_time base[RS_NCCL_PROTOS] = {8200 * RS_NS, 14 * RS_US, 8400 * RS_NS};

	if (c->algo == RS_NCCL_ALGO_NVLS || c->algo == RS_NCCL_ALGO_NVLS_TREE)
		return 25 * RS_US;
	return base[c->proto];
}

/* From a block to the next one's, inside a node. */
static rs_time hop_time(const struct nccl_run *r)
{
	static const rs_time ring[2][RS_NCCL_PROTOS] = {{600 * RS_NS, 1900 * RS_NS, 3400 * RS_NS},
							{RS_US, 2500 * RS_NS, 5700 * RS_NS}};
	static const rs_time tree[2][RS_NCCL_PROTOS] = {{600 * RS_NS, 1250 * RS_NS, 4 * RS_US},
							{RS_US, 1900 * RS_NS, 4 * RS_US}};
	bool pci = r->p->graph[r->choice.algo].type_intra != RS_NCCL_NVL;

	return r->choice.algo == RS_NCCL_ALGO_RING ? ring[pci][r->choice.proto]
						   : tree[pci][r->choice.proto];
}

/* Of a slice, beside its bytes: threads meet, a fence, the flag (Simple alone has any). Of this the
 * block itself is busy; the rest of a hop passes while it works on. */
static rs_time slice_time(const struct nccl_run *r)
{
	bool ring = r->choice.algo == RS_NCCL_ALGO_RING && !r->p2p;

	return ring && r->choice.proto == RS_NCCL_SIMPLE ? 2 * RS_US : 0;
}

/* Of a message on its way through the proxies of both ends, beside the network itself. */
static rs_time proxy_time(const struct nccl_run *r)
{
	static const rs_time soft[RS_NCCL_PROTOS] = {2500 * RS_NS, 2500 * RS_NS, 6 * RS_US};

	return soft[r->choice.proto];
}

/* Bytes on a link for bytes of data: lines with flags; NVLink's packets (20.6 of 25 GB/s and alike,
 * which is how NCCL counts a link). */
static void set_overheads(struct rs_coll *c, const struct nccl_run *r)
{
	static const uint32_t nvlink[4] = {1250, 1250, 1214, 1247}; /* thousandths */
	static const uint32_t flags[RS_NCCL_PROTOS][2] = {{2, 1}, {16, 15}, {1, 1}};
	const uint32_t *f = flags[r->choice.proto];
	bool nvl = r->p->graph[r->choice.algo].type_intra == RS_NCCL_NVL;

	c->net.num = f[0];
	c->net.den = f[1];
	c->inside.num = f[0] * (nvl ? nvlink[arch_of(r->p)] : 1000);
	c->inside.den = f[1] * 1000;
}

/* ---- Steps ---- */

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	uint64_t n = c->nccl->n_steps(c, rank, lane);

	return n ? n + LAUNCH_STEPS : 0;
}

static rs_time time_of(uint64_t bytes, int64_t rate)
{
	return (rs_time)((__extension__(unsigned __int128) bytes) * RS_S / (uint64_t)rate);
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct nccl_run *r = c->nccl;

	if (i < LAUNCH_STEPS) {
		*out = (struct rs_step){.compute = r->launch};
		return;
	}
	r->step(c, rank, lane, i - LAUNCH_STEPS, out);
	for (unsigned k = 0; k < out->n_wait; k++)
		out->wait[k].count += LAUNCH_STEPS;
	out->compute = time_of(out->local, r->lane_rate);
	if (out->local)
		out->compute += r->slice;
}

bool rs_coll_chosen(const struct rs_coll *c, const char **algorithm, const char **protocol,
		    int *channels)
{
	if (!c->nccl)
		return false;
	*algorithm = c->nccl->p2p ? "P2P" : rs_nccl_algo_names[c->nccl->choice.algo];
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

static int choose(struct planner *p, struct nccl_run *r)
{
	const struct rs_collective_conf *conf = &p->c->conf;
	struct rs_nccl_table *t = plan_take(p, 1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	err = rs_nccl_tune(r->p, &r->tune, t, p->e);
	if (err)
		return err;
	return rs_nccl_choose(r->p, t, funcs[conf->op], conf->bytes, conf->type_bytes, &r->choice,
			      p->e);
}

static bool is_p2p(const struct rs_collective_conf *conf)
{
	return conf->op == RS_COLL_ALL_TO_ALL || conf->op == RS_COLL_SEND_RECV;
}

/* Simple throughout: LL of small messages inside a node is not told apart. */
static void choose_p2p(struct nccl_run *r)
{
	r->choice.algo = RS_NCCL_ALGO_RING;
	r->choice.proto = RS_NCCL_SIMPLE;
	r->p2p = true;
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
		choose_p2p(r);
	if (err)
		return err;
	c->nccl = r;
	c->conf.channels = (uint32_t)r->choice.channels;
	c->conf.qps = r->qps ? (uint32_t)r->qps : c->conf.qps;
	c->window = r->choice.chunk_steps > 1 ? 4 : 8;
	r->launch = launch_time(&r->choice);
	r->lane_rate = lane_rate(r, c->n_ranks);
	r->slice = slice_time(r);
	c->hop = hop_time(r) - r->slice;
	/* A ring's LL128 shows itself by whole chunks (docs/nccl.md, "Run"). */
	c->lines = r->choice.proto == RS_NCCL_LL ||
		   (r->choice.proto == RS_NCCL_LL128 && r->choice.algo == RS_NCCL_ALGO_TREE);
	c->proxy = proxy_time(r);
	c->post = (r->p->cpu_vendor == RS_NCCL_AMD ? 2 : 1) * RS_US;
	set_overheads(c, r);
	if (r->p2p)
		err = plan_nccl_p2p(p, r);
	else
		switch (r->choice.algo) {
		case RS_NCCL_ALGO_TREE:
		case RS_NCCL_ALGO_NVLS:
		case RS_NCCL_ALGO_NVLS_TREE:
			err = plan_nccl_trees(p, r);
			break;
		default:
			err = plan_nccl_ring(p, r);
		}
	c->n_steps = n_steps;
	c->step = step;
	return err;
}
