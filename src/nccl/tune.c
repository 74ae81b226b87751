/*
 * NCCL's table of latencies and bandwidths (graph/tuning.cc of 2.18 to 2.30), with the constants of
 * each release.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "nccl/algos.h"
#include "nccl/rccl.h"

const char *const rs_nccl_func_names[] = {"Broadcast",     "Reduce",    "AllGather",
					  "ReduceScatter", "AllReduce", NULL};
const char *const rs_nccl_algo_names[] = {"Tree", "Ring",     "CollNetDirect", "CollNetChain",
					  "NVLS", "NVLSTree", "PAT",           NULL};
const char *const rs_nccl_proto_names[] = {"LL", "LL128", "Simple", NULL};

enum hw { HW_NVLINK, HW_PCI, HW_NET, HWS };
enum gpu { GPU_VOLTA, GPU_AMPERE, GPU_HOPPER, GPU_BLACKWELL, GPUS };
enum { SPANS = 3 }; /* nodes: 1, 2, more */

/* What a release has. Latencies: us (LL, LL128, Simple); bandwidths: GB/s for 1, 2, more nodes. */
struct constants {
	float base[RS_NCCL_ALGOS][RS_NCCL_PROTOS];
	float hop[HWS][RS_NCCL_ALGOS][RS_NCCL_PROTOS];
	double ll[GPUS][SPANS]; /* more than one node: AMPERE is AMD's row, VOLTA all others' */
	double ring_ll128[GPUS][SPANS], tree_ll128[GPUS][SPANS]; /* of a channel */
	double tree[GPUS][SPANS], nvls_tree[GPUS][SPANS];        /* of a channel */
	double arity;                                            /* CollNetDirect, us a GPU */
};

/* 2.28.9; constants_of() goes back from here. */
static const struct constants newest = {
	.base = {[TREE] = {6.8f, 14, 8.4f}, [RING] = {6.6f, 14, 8.4f}, [PAT] = {8, 8, 8}},
	.hop = {[HW_NVLINK] = {[TREE] = {.6f, 1.25f, 4},
			       [RING] = {.6f, 1.9f, 3.4f},
			       [DIRECT] = {0, 0, 3.7f},
			       [CHAIN] = {0, 0, 2.8f},
			       [NVLS] = {0, 0, 25},
			       [NVLS_TREE] = {0, 0, 25},
			       [PAT] = {0, 0, 4}},
		[HW_PCI] = {[TREE] = {1, 1.9f, 4},
			    [RING] = {1, 2.5f, 5.7f},
			    [DIRECT] = {0, 0, 3.7f},
			    [CHAIN] = {0, 0, 2.8f},
			    [PAT] = {0, 0, 4}},
		[HW_NET] = {[TREE] = {5, 8.5f, 14},
			    [RING] = {2.7f, 4, 14},
			    [DIRECT] = {0, 0, 31},
			    [CHAIN] = {0, 0, 30},
			    [NVLS] = {0, 0, 18},
			    [NVLS_TREE] = {0, 0, 20.9f},
			    [PAT] = {0, 0, 14}}},
	.ll = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}},
	.ring_ll128 = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}},
	.tree_ll128 = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}},
	.tree = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}},
	.nvls_tree = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}},
	.arity = .4,
};

/* 2.18 counts otherwise in nearly every row. */
static void go_back_to_2_18(struct constants *k)
{
	k->hop[HW_NVLINK][TREE][RS_NCCL_SIMPLE] = 4;
	k->hop[HW_PCI][TREE][RS_NCCL_SIMPLE] = 6;
	k->hop[HW_NET][TREE][RS_NCCL_SIMPLE] = 14;
	k->hop[HW_NVLINK][DIRECT][RS_NCCL_SIMPLE] = k->hop[HW_PCI][DIRECT][RS_NCCL_SIMPLE] = 8;
	k->hop[HW_NVLINK][CHAIN][RS_NCCL_SIMPLE] = 4.75f;
	k->hop[HW_PCI][CHAIN][RS_NCCL_SIMPLE] = 8;
	k->hop[HW_NET][DIRECT][RS_NCCL_SIMPLE] = 10.7f;
	k->hop[HW_NET][CHAIN][RS_NCCL_SIMPLE] = 14;
	k->hop[HW_NVLINK][NVLS][RS_NCCL_SIMPLE] = k->hop[HW_NVLINK][NVLS_TREE][RS_NCCL_SIMPLE] = 0;
	k->hop[HW_NET][NVLS_TREE][RS_NCCL_SIMPLE] = 19;
	k->base[NVLS][RS_NCCL_SIMPLE] = k->base[NVLS_TREE][RS_NCCL_SIMPLE] = 23;
	k->base[DIRECT][RS_NCCL_LL] = k->base[CHAIN][RS_NCCL_LL] = 6.8f;
	k->base[DIRECT][RS_NCCL_LL128] = k->base[CHAIN][RS_NCCL_LL128] = 14;
	k->arity = .5;
}

static void go_back_before_2_28(struct constants *k)
{
	for (int s = 0; s < SPANS; s++) {
		k->ring_ll128[GPU_BLACKWELL][s] = 2 * k->ring_ll128[GPU_HOPPER][s];
		k->tree_ll128[GPU_BLACKWELL][s] = 2 * k->tree_ll128[GPU_HOPPER][s];
		k->tree[GPU_BLACKWELL][s] = 2 * k->tree[GPU_HOPPER][s];
	}
}

/* What 2.29 and 2.30 measured anew, of Blackwell. */
static void go_on_from_2_28(struct constants *k, uint32_t release)
{
	bool last = release >= RS_NCCL_RELEASE(2, 30, 0);

	k->ring_ll128[GPU_BLACKWELL][0] = last ? 40 : 34.5;
	k->ring_ll128[GPU_BLACKWELL][1] = last ? 40 : 34.6;
	k->ring_ll128[GPU_BLACKWELL][2] = last ? 40 : 34.5;
	if (last)
		k->nvls_tree[GPU_BLACKWELL][2] = 80;
}

static struct constants constants_of(uint32_t release)
{
	struct constants k = newest;

	if (release >= RS_NCCL_RELEASE(2, 29, 0))
		go_on_from_2_28(&k, release);

	if (release < RS_NCCL_RELEASE(2, 28, 7)) {
		k.hop[HW_NET][NVLS_TREE][RS_NCCL_SIMPLE] = 14;
		k.ring_ll128[GPU_BLACKWELL][1] = 73.4;
		k.nvls_tree[GPU_BLACKWELL][2] = 43.1;
	}
	if (release < RS_NCCL_RELEASE(2, 28, 0))
		go_back_before_2_28(&k);
	if (release < RS_NCCL_RELEASE(2, 23, 0)) {
		k.base[TREE][RS_NCCL_SIMPLE] = 0;
		for (int h = 0; h < HWS; h++)
			k.hop[h][TREE][RS_NCCL_SIMPLE] = 28;
	}
	if (release < RS_NCCL_RELEASE(2, 21, 0)) {
		k.hop[HW_NVLINK][NVLS][RS_NCCL_SIMPLE] = 23;
		k.hop[HW_NVLINK][NVLS_TREE][RS_NCCL_SIMPLE] = 23;
		memcpy(k.ll[GPU_HOPPER], k.ll[GPU_AMPERE], sizeof(k.ll[0]));
	}
	if (release < RS_NCCL_RELEASE(2, 19, 0))
		go_back_to_2_18(&k);
	return k;
}

/* ---- NCCL_ALGO, NCCL_PROTO ---- */

struct word {
	const char *at;
	size_t n;
};

static bool word_is(struct word w, const char *name)
{
	return strlen(name) == w.n && !strncasecmp(w.at, name, w.n);
}

/* Up to the next of the marks in *text, which moves past it; false at the end. */
static bool next_word(const char **text, const char *end, char mark, struct word *w)
{
	const char *stop;

	if (*text >= end)
		return false;
	stop = memchr(*text, mark, (size_t)(end - *text));
	if (!stop)
		stop = end;
	*w = (struct word){*text, (size_t)(stop - *text)};
	*text = stop + 1;
	return true;
}

static int find_name(struct word w, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (word_is(w, names[i]))
			return i;
	return -1;
}

static int unknown(const char *variable, struct word w, const char *what, struct rs_error *e)
{
	rs_error_set(e, -EINVAL, "%s: there is no %s '%.*s'", variable, what, (int)w.n, w.at);
	rs_error_hint(e, "write a list as 'ring,tree', '^ll128' or 'ring;allreduce:tree'");
	return -EINVAL;
}

/* A list for one function (or all): those named are on and the others off; after '^', the other
 * way round. on[f * n + i]. */
static int apply_list(struct word list, int func, const char *variable, const char *const *names,
		      uint32_t release, unsigned char *on, int n, struct rs_error *e)
{
	bool not = list.n && list.at[0] == '^';
	const char *text = list.at + not, *end = list.at + list.n;
	unsigned char row[RS_NCCL_ALGOS];
	struct word w;

	memset(row, not, sizeof(row));
	while (next_word(&text, end, ',', &w)) {
		int i = find_name(w, names);

		if (i < 0 && w.n && release >= RS_NCCL_RELEASE(2, 24, 0))
			return unknown(variable, w, n == RS_NCCL_PROTOS ? "protocol" : "algorithm",
				       e);
		if (i >= 0)
			row[i] = !not ;
	}
	for (int f = 0; f < RS_NCCL_FUNCS; f++)
		if (func < 0 || func == f)
			memcpy(on + f * n, row, (size_t)n);
	return 0;
}

/* From 2.24 on: "ring;allreduce:tree,nvls"; before, one list for all. */
static int read_list(const char *text, const char *variable, const char *const *names,
		     uint32_t release, unsigned char *on, int n, struct rs_error *e)
{
	const char *end = text + strlen(text);
	bool first = true;
	struct word part;
	int err = 0;

	if (release < RS_NCCL_RELEASE(2, 24, 0))
		return apply_list((struct word){text, strlen(text)}, -1, variable, names, release,
				  on, n, e);
	for (; !err && next_word(&text, end, ';', &part); first = false) {
		const char *colon = memchr(part.at, ':', part.n);
		int func = -1;

		if (!part.n)
			continue;
		if (colon) {
			struct word name = {part.at, (size_t)(colon - part.at)};

			func = find_name(name, rs_nccl_func_names);
			if (func < 0)
				return unknown(variable, name, "operation", e);
			part.n -= name.n + 1;
			part.at = colon + 1;
		} else if (!first) {
			rs_error_set(e, -EINVAL,
				     "%s: only the first list may name no operation, "
				     "found '%.*s'",
				     variable, (int)part.n, part.at);
			rs_error_hint(e, "write 'ring;allreduce:tree'");
			return -EINVAL;
		}
		err = apply_list(part, func, variable, names, release, on, n, e);
	}
	return err;
}

/* ---- The table ---- */

struct tuning {
	const struct rs_nccl_plan *p;
	struct rs_nccl_table *t;
	struct constants k;
	enum gpu gpu;
	int span;  /* nodes: 0: 1, 1: 2, 2: more */
	float ppn; /* ranks a node */
	double ll; /* GB/s at most */
	enum rs_nccl_func f;
};

static bool since(const struct tuning *w, uint32_t minor)
{
	return w->p->release >= RS_NCCL_RELEASE(2, minor, 0);
}

/* PAT runs over the trees' graph (init.cc). */
static const struct rs_nccl_graph *graph_of(const struct tuning *w, enum rs_nccl_algo a)
{
	return &w->p->graph[a == PAT ? TREE : a];
}

static bool dealt(enum rs_nccl_func f)
{
	return f == RS_NCCL_ALL_GATHER || f == RS_NCCL_REDUCE_SCATTER;
}

static int func_steps(const struct tuning *w)
{
	int n = (int)w->p->n_ranks;

	return w->f == RS_NCCL_ALL_REDUCE ? 2 * (n - 1) : dealt(w->f) ? n - 1 : n;
}

static bool pat_on(const struct tuning *w)
{
	if (!since(w, 23) || (since(w, 26) && w->p->min_cc < 60))
		return false;
	if (w->t->conf.pat == 1 || w->t->conf.pat == 2)
		return w->t->conf.pat == 2;
	return w->p->n_nodes == w->p->n_ranks;
}

/* Is there such a kernel at all? */
static bool exists(const struct tuning *w, enum rs_nccl_algo a, enum rs_nccl_proto q)
{
	if ((a == NVLS || a == NVLS_TREE) &&
	    (q != RS_NCCL_SIMPLE || graph_of(w, a)->n_channels < (since(w, 28) ? 2 : 1)))
		return false;
	if (a == PAT)
		return dealt(w->f) && q == RS_NCCL_SIMPLE && pat_on(w);
	if (w->f == RS_NCCL_ALL_REDUCE || a == RING)
		return true;
	return dealt(w->f) && ((a == NVLS && since(w, 19)) || (a == DIRECT && since(w, 20)));
}

/* Of NVLS and NVLSTree, a channel. */
static float nvls_bandwidth(const struct tuning *w, enum rs_nccl_algo a)
{
	static const float efficiency[GPUS] = {0, 0, .85f, .74f};
	const struct rs_nccl_graph *g = graph_of(w, a);
	float intra = g->bw_intra, inter = g->bw_inter, ppn = w->ppn;

	if (!since(w, 19))
		return w->p->n_nodes <= 2 ? intra : inter;
	if (!since(w, 28)) {
		if (a == NVLS_TREE)
			inter = w->p->n_nodes <= 2 ? inter : inter / 2;
		else if (since(w, 27) && w->f != RS_NCCL_ALL_REDUCE) {
			intra *= (ppn - 1) / ppn;
			inter *= .9f;
		}
		return intra < inter ? intra : inter;
	}
	intra *= efficiency[w->gpu] * (float)(g->n_channels - 1) / (float)g->n_channels;
	intra *= w->f == RS_NCCL_ALL_REDUCE ? 2 : (ppn - 1) / ppn;
	if (a == NVLS_TREE) {
		float most = (float)w->k.nvls_tree[w->gpu][w->span];

		inter *= w->p->n_nodes <= 2 ? 2 : 1;
		inter = inter < most ? inter : most;
	}
	return intra < inter ? intra : inter;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* A node's GPUs to its NICs: half of what they lack is lost. */
static double direct_bandwidth(const struct tuning *w, double bus, float bw)
{
	const struct rs_nccl_graph *g = &w->p->graph[DIRECT];
	double factor = w->ppn / (double)g->n_channels, share = (w->ppn - 1) / 7;

	if (dealt(w->f)) {
		if (since(w, 27))
			return w->ppn * least(g->bw_intra, g->bw_inter * .9f);
		return w->ppn * bw * (share * .85 + (1 - share) * .95);
	}
	factor -= (factor - 1) / 2;
	return bus / factor * (w->p->min_cc >= 90 ? .85 : 1);
}

static double ring_bus(const struct tuning *w, enum rs_nccl_proto q, double bus)
{
	double n = w->p->graph[RING].n_channels, most = w->k.ring_ll128[w->gpu][w->span];
	bool quarter = w->p->n_nodes > 1 || w->f == RS_NCCL_ALL_REDUCE || w->f == RS_NCCL_REDUCE;

	if (q == RS_NCCL_LL)
		return least(w->ll, bus * (since(w, 21) ? .5 : quarter ? 1. / 4 : 1. / 3));
	if (q == RS_NCCL_LL128)
		return least(bus * (!since(w, 23) && w->ppn < 2 ? .7 : .92), n * most);
	return bus;
}

static double tree_bus(const struct tuning *w, enum rs_nccl_proto q, double bus)
{
	double n = w->p->graph[TREE].n_channels;
	enum rs_nccl_pattern pattern =
		since(w, 26) ? w->p->max_tree_pattern : w->p->graph[TREE].pattern;

	bus = least(bus * .92, n * w->k.tree[w->gpu][w->span]);
	if (q == RS_NCCL_LL)
		bus = least(bus / 3.8, w->ll);
	if (q == RS_NCCL_LL128)
		bus = least(bus * (w->p->n_nodes == 1 ? 7. / 9 : 120. / 128),
			    n * w->k.tree_ll128[w->gpu][w->span]);
	return pattern == RS_NCCL_TREE ? bus * .85 : bus;
}

/* Of a bus bandwidth, what the algorithm gets. */
static double to_algorithm(const struct tuning *w, enum rs_nccl_algo a)
{
	double ring = (double)w->p->n_ranks / func_steps(w), nodes = (double)w->p->n_nodes;

	if (a == RING)
		return ring;
	if (dealt(w->f) && (since(w, 23) || a == DIRECT))
		return 1;
	if (a != NVLS && a != NVLS_TREE)
		return .5;
	if (!since(w, 19) && a == NVLS_TREE)
		return nodes > 1 ? .7 * nodes / (2 * (nodes - 1)) : 0;
	return since(w, 28) ? ring : 5. / 6;
}

static double bandwidth(const struct tuning *w, enum rs_nccl_algo a, enum rs_nccl_proto q)
{
	const struct rs_nccl_graph *g = graph_of(w, a);
	bool collnet = a == DIRECT || a == CHAIN;
	float bw = w->p->n_nodes <= 2 || collnet ? g->bw_intra : g->bw_inter;
	double bus;

	if (a == NVLS || a == NVLS_TREE)
		bw = nvls_bandwidth(w, a);
	bus = (double)g->n_channels * bw;
	if (nccl_rccl_known(w->p) && (a == RING || a == TREE))
		return nccl_rccl_bus(w->p, bus) * nccl_rccl_ratio(w->p, w->f, a, q) *
		       to_algorithm(w, a);
	if (collnet && q != RS_NCCL_SIMPLE)
		return 0;
	if (a == RING)
		bus = ring_bus(w, q, bus);
	else if (a == TREE)
		bus = tree_bus(w, q, bus);
	else if (a == PAT)
		bus *= since(w, 24) ? .75 : .85;
	else if (a == DIRECT)
		bus = direct_bandwidth(w, bus, bw);
	return bus * to_algorithm(w, a);
}

static float net_overhead(const struct tuning *w)
{
	if (w->t->conf.net_overhead_ns > 0)
		return (float)(w->t->conf.net_overhead_ns - 1) * .001f;
	return w->p->cpu_arch == RS_NCCL_X86 && w->p->cpu_vendor == RS_NCCL_AMD ? 2 : 1;
}

static float ring_latency(const struct tuning *w, enum rs_nccl_proto q, enum hw intra_hw,
			  float intra, float inter)
{
	int n = (int)w->p->n_nodes, steps = func_steps(w), net = 0;
	enum hw hw = n == 1 ? intra_hw : HW_NET;
	float launch = 0;

	if (w->f == RS_NCCL_BROADCAST || w->f == RS_NCCL_REDUCE) {
		if (w->p->graph[RING].same_channels)
			return w->k.hop[hw][RING][q];
		return (float)steps * w->k.hop[hw][q == RS_NCCL_SIMPLE ? TREE : RING][q];
	}
	if (n > 1) {
		launch = net_overhead(w) * (q == RS_NCCL_SIMPLE ? 3 : 1);
		net = w->f == RS_NCCL_ALL_REDUCE ? 2 * (since(w, 23) ? n - 1 : n) : n - 1;
	}
	intra = intra > launch ? intra : launch;
	return (float)(steps - net) * intra + (float)net * inter;
}

static int log2_down(uint64_t n)
{
	int l = 0;

	while (n >>= 1)
		l++;
	return l;
}

static float latency(const struct tuning *w, enum rs_nccl_algo a, enum rs_nccl_proto q)
{
	const struct rs_nccl_graph *g = graph_of(w, a);
	enum hw hw = g->type_intra == RS_NCCL_NVL ? HW_NVLINK : HW_PCI;
	float base = w->k.base[a][q], intra = w->k.hop[hw][a][q];
	float net = w->k.hop[HW_NET][since(w, 23) && w->ppn == 1 ? TREE : a][q];
	float inter = net + g->latency_inter * (q == RS_NCCL_SIMPLE ? 2 : 1);
	int n = (int)w->p->n_nodes, in = (int)w->p->n_ranks / n - 1, log = log2_down((uint64_t)n);

	if (nccl_rccl_known(w->p) && (a == RING || a == TREE))
		return nccl_rccl_latency(w->p, w->f, a, q, net_overhead(w));
	switch (a) {
	case RING:
		return base + ring_latency(w, q, hw, intra, inter);
	case TREE:
		return base + 2 * ((float)in * intra + (float)log * inter);
	case DIRECT:
		return base + 2 * ((in ? intra : 0) + (float)(in * w->k.arity)) + inter;
	case CHAIN:
		return base + 2 * (float)in * intra + inter;
	case NVLS:
		return base + intra + (n > 1 ? since(w, 19) ? inter : net : 0);
	case NVLS_TREE:
		if (!since(w, 19))
			return base + 2 * (float)(n - 1) * net;
		return base + intra + 2 * (float)log * inter;
	default:
		return base + (float)log * (inter / 3.5f) + (float)w->p->n_ranks * 2.8f;
	}
}

/* LL128 by itself: GPUs that store 128 B at once, NVLink inside, GPUDirect outside. */
static bool ll128_safe(const struct tuning *w, enum rs_nccl_algo a)
{
	const struct rs_nccl_graph *g = graph_of(w, a);
	int cc = w->p->min_cc;
	bool known;

	if (nccl_rccl_known(w->p))
		return nccl_rccl_ll128(w->p, g);
	known = since(w, 27) ? cc >= 70
			     : cc == 70 || cc == 80 || cc == 90 ||
				       (since(w, 25) && (cc == 100 || cc == 120));

	return known && (cc == w->p->max_cc || (cc >= 90 && since(w, 30))) &&
	       g->type_intra <= RS_NCCL_NVB &&
	       g->type_inter <= (cc >= 90 ? RS_NCCL_PXN : RS_NCCL_PXB);
}

/* What the machine cannot do, whatever was asked for. */
static bool possible(const struct tuning *w, enum rs_nccl_algo a)
{
	bool collnet = w->t->conf.collnet;

	if (a == NVLS_TREE && (w->p->n_nodes == 1 || !w->p->nvls_channels))
		return false;
	if (a == NVLS && ((w->p->n_nodes > 1 && !collnet) || !w->p->nvls_channels))
		return false;
	if ((a == DIRECT || a == CHAIN) && (!collnet || w->p->max_local_ranks > 8))
		return false;
	if ((a == NVLS || a == NVLS_TREE) && w->f != RS_NCCL_ALL_REDUCE &&
	    w->p->max_local_ranks > RS_NCCL_NVLS_ARITY)
		return false;
	/* reduction of shares in the network: no plugin that we know has it */
	if (dealt(w->f) && w->p->n_nodes > 1 && (a == DIRECT || a == NVLS))
		return false;
	return a != DIRECT || w->p->nvswitch;
}

static void strike_out(struct tuning *w, const unsigned char *algo, const unsigned char *proto)
{
	/* to 2.18 the ring stays for all but all-reduce, whatever NCCL_ALGO says */
	for (int a = 0; a < RS_NCCL_ALGOS; a++)
		for (int q = 0; q < RS_NCCL_PROTOS; q++) {
			int mine = proto[(int)w->f * RS_NCCL_PROTOS + q];
			bool ring = a == RING && !since(w, 19) && w->f != RS_NCCL_ALL_REDUCE;

			if (mine == 2)
				mine = ll128_safe(w, (enum rs_nccl_algo)a);
			if (a == RING)
				w->t->ring[w->f][q] = mine ? w->t->bandwidth[w->f][a][q] : 0;
			if (!mine || !possible(w, (enum rs_nccl_algo)a) ||
			    (!ring && !algo[(int)w->f * RS_NCCL_ALGOS + a]))
				w->t->bandwidth[w->f][a][q] = 0;
		}
}

static void fill(struct tuning *w)
{
	for (int a = 0; a < RS_NCCL_ALGOS; a++)
		for (int q = 0; q < RS_NCCL_PROTOS; q++) {
			enum rs_nccl_algo algo = (enum rs_nccl_algo)a;

			if (!exists(w, algo, (enum rs_nccl_proto)q))
				continue;
			w->t->latency[w->f][a][q] = latency(w, algo, (enum rs_nccl_proto)q);
			w->t->bandwidth[w->f][a][q] =
				(float)bandwidth(w, algo, (enum rs_nccl_proto)q);
		}
}

/* NCCL_NTHREADS: multiples of a warp, else the largest; bounded. */
static int threads_of(int asked, int min, int max, int otherwise)
{
	if (asked <= 0)
		return otherwise;
	if (asked % 32 || asked > max)
		return max;
	return asked < min ? min : asked;
}

static void set_threads(const struct rs_nccl_plan *p, struct rs_nccl_table *t)
{
	const struct rs_nccl_graph *ring = &p->graph[RING];
	bool narrow = ring->bw_intra * (float)ring->n_channels <= 12; /* a Gen3 x16 slot */
	int asked = t->conf.threads;

	for (int a = 0; a < RS_NCCL_ALGOS; a++) {
		t->threads[a][RS_NCCL_SIMPLE] = 640;
		t->threshold[a][RS_NCCL_LL] = t->threshold[a][RS_NCCL_LL128] = 8;
		t->threshold[a][RS_NCCL_SIMPLE] = 64;
	}
	for (int a = TREE; a <= RING; a++) {
		t->threads[a][RS_NCCL_LL] = threads_of(asked, 64, 512, 512);
		t->threads[a][RS_NCCL_LL128] = threads_of(t->conf.ll128_threads, 160, 640, 640);
	}
	/* never set there: so PAT keeps all channels, however little there is to send */
	t->threads[PAT][RS_NCCL_SIMPLE] = 0;
	t->threads[TREE][RS_NCCL_SIMPLE] = threads_of(asked, 64, 512, 512);
	t->threads[RING][RS_NCCL_SIMPLE] = threads_of(asked, 64, 512, narrow ? 256 : 512);
	t->threshold[RING][RS_NCCL_LL] *= p->n_ranks;
	t->threshold[DIRECT][RS_NCCL_SIMPLE] = t->threshold[CHAIN][RS_NCCL_SIMPLE] = 512;
}

/* "8 8 64 128 8 64": bytes a thread, of Tree's and of Ring's LL, LL128 and Simple; those that are
 * negative or left out stay (graph/tuning.cc). */
static int read_thresholds(struct rs_nccl_table *t, struct rs_error *e)
{
	const char *s = t->conf.thresholds;

	for (int i = 0; s && *s && i < 2 * RS_NCCL_PROTOS; i++) {
		char *end;
		long n = strtol(s, &end, 10);

		if (end == s)
			return rs_error_set(e, -EINVAL,
					    "NCCL_THREAD_THRESHOLDS: expected six numbers, as "
					    "'8 8 64 128 8 64', found '%.60s'",
					    t->conf.thresholds);
		if (n >= 0)
			t->threshold[i / RS_NCCL_PROTOS ? RING : TREE][i % RS_NCCL_PROTOS] = n;
		s = end + strspn(end, " ");
	}
	return 0;
}

static struct tuning prepare(const struct rs_nccl_plan *p, struct rs_nccl_table *t)
{
	bool amd = p->cpu_vendor == RS_NCCL_AMD || (p->cpu_vendor == RS_NCCL_VENDOR_MIXED &&
						    p->release >= RS_NCCL_RELEASE(2, 24, 0));
	struct tuning w = {.p = p, .t = t, .k = constants_of(p->release)};

	w.gpu = p->min_cc >= 90 ? GPU_HOPPER : p->min_cc >= 80 ? GPU_AMPERE : GPU_VOLTA;
	if (p->min_cc >= 100 && p->release >= RS_NCCL_RELEASE(2, 25, 0))
		w.gpu = GPU_BLACKWELL;
	w.span = p->n_nodes <= 2 ? (int)p->n_nodes - 1 : 2;
	w.ll = w.k.ll[p->n_nodes == 1 ? w.gpu : amd ? GPU_AMPERE : GPU_VOLTA][w.span];
	w.ppn = (float)p->n_ranks / (float)p->n_nodes;
	if (p->cpu_arch == RS_NCCL_POWER)
		w.k.hop[HW_PCI][TREE][RS_NCCL_SIMPLE] = w.k.hop[HW_PCI][RING][RS_NCCL_SIMPLE];
	return w;
}

int rs_nccl_tune(const struct rs_nccl_plan *p, const struct rs_nccl_tune_conf *conf,
		 struct rs_nccl_table *out, struct rs_error *e)
{
	unsigned char algo[RS_NCCL_FUNCS * RS_NCCL_ALGOS], proto[RS_NCCL_FUNCS * RS_NCCL_PROTOS];
	struct tuning w;
	int err = 0;

	memset(out, 0, sizeof(*out));
	memset(algo, 1, sizeof(algo));
	for (int i = 0; i < RS_NCCL_FUNCS * RS_NCCL_PROTOS; i++)
		proto[i] = i % RS_NCCL_PROTOS == RS_NCCL_LL128 ? 2 : 1;
	if (conf)
		out->conf = *conf;
	if (out->conf.proto && *out->conf.proto)
		err = read_list(out->conf.proto, "NCCL_PROTO", rs_nccl_proto_names, p->release,
				proto, RS_NCCL_PROTOS, e);
	if (!err && out->conf.algo && *out->conf.algo)
		err = read_list(out->conf.algo, "NCCL_ALGO", rs_nccl_algo_names, p->release, algo,
				RS_NCCL_ALGOS, e);
	if (err)
		return err;
	set_threads(p, out);
	err = read_thresholds(out, e);
	if (err || p->n_ranks < 2)
		return err;
	w = prepare(p, out);
	for (int f = 0; f < RS_NCCL_FUNCS; f++) {
		w.f = (enum rs_nccl_func)f;
		fill(&w);
		strike_out(&w, algo, proto);
	}
	return 0;
}
