/*
 * RCCL's choice where it differs from NCCL's (ROCm/rccl, graph/tuning.cc of October 2024 and of
 * summer 2025; ROCm/rocm-systems, projects/rccl/src/graph/tuning.cc and misc/rccl_wrap.cc of 2026):
 * its table of times for the GPUs that have one, and the ranges of sizes that it gives to a
 * protocol. Releases with tables of their own: to 2.22 (ROCm 6.4), to 2.26 (ROCm 7.0), and later.
 */
#include <string.h>
#include "nccl/rccl.h"
#include "nccl/rccl_model.h"
#include "nccl/state.h"

enum { TREE_ROW = 0, RING_ROW = 1, MI250_16 = 1, MI250_2CPU, MI250_NICS, MI250_16_NICS };
#define UNSET NCCL_RCCL_UNSET

#define TREE_LL                                                                                \
	{                                                                                      \
		.1f, .1f, .1f, .1f, .1f, .1f, 1, 1, 1, 1, 1, .6f, 1, .9f, 1, 1, .1f, .1f, .1f, \
			.1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f                                 \
	}
#define RING_LL                                                                                  \
	{                                                                                        \
		.1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, 1, .2f, 1, .4f, .4f, .1f, \
			.2f, .2f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f                         \
	}
#define TREE_SIMPLE(...)                                                                           \
	{                                                                                          \
		.1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .7f, 1, \
			__VA_ARGS__                                                                \
	}
#define RING_SIMPLE(...)                                                                        \
	{                                                                                       \
		.1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, \
			.1f, .1f, .1f, .1f, __VA_ARGS__                                         \
	}
#define TIMES                                           \
	.inside = {{.9f, .9f, 2.3f}, {.8f, .8f, 2.1f}}, \
	.net = {{10.5f, 10.5f, 25}, {9.5f, 9.5f, 320}}, \
	.ratio = {{{.06f, .06f, .11f}, {.08f, .08f, 1}}, {{.06f, .06f, .59f}, {.08f, .08f, 1}}}

/* MI300X, MI325X (gfx942), to RCCL 2.22: without LL128 and ranges (ROCm 6.4.2 has a 2.22.3 with
 * LL128; its ranges are not known) */
static const struct nccl_rccl_model mi300_222 = {
	TIMES,
	.factor = {{TREE_LL, TREE_LL, TREE_SIMPLE(1, 1, 1, 1, 1, 1, 1, 1, 1, .8f)},
		   {RING_LL, RING_LL, RING_SIMPLE(.1f, .1f, .1f, .8f, 1, 1, 1)}},
	.range = {{UNSET, UNSET}, {UNSET, UNSET}, {UNSET, UNSET}, {UNSET, UNSET}, {UNSET, UNSET}},
};

/* ... to 2.26, from where on trees stop at 128 MiB */
static const struct nccl_rccl_model mi300_226 = {
	TIMES,
	.factor = {{TREE_LL, TREE_LL, TREE_SIMPLE(1, 1, 1, 1, .7f, .7f, .5f, .6f, .6f, .6f)},
		   {RING_LL, RING_LL, RING_SIMPLE(.1f, .1f, 1, .8f, 1, 1, 1)}},
	.range = {[RS_NCCL_BROADCAST] = {UNSET, UNSET},
		  [RS_NCCL_REDUCE] = {UNSET, UNSET},
		  [RS_NCCL_ALL_GATHER] = {98304, 5046272},
		  [RS_NCCL_REDUCE_SCATTER] = {131072, 3211264},
		  [RS_NCCL_ALL_REDUCE] = {1048576, 9437184}},
};

static const struct nccl_rccl_model mi300 = {
	TIMES,
	.factor = {{TREE_LL, TREE_LL, TREE_SIMPLE(1, 1, 1, 1, .7f, .7f, .5f, .6f, .6f, .6f)},
		   {RING_LL, RING_LL, RING_SIMPLE(.1f, .1f, .7f, .2f, 1, 1, 1)}},
	.range = {[RS_NCCL_BROADCAST] = {8192, 33554432},
		  [RS_NCCL_REDUCE] = {4096, 16777216},
		  [RS_NCCL_ALL_GATHER] = {98304, 5046272},
		  [RS_NCCL_REDUCE_SCATTER] = {131072, 3211264},
		  [RS_NCCL_ALL_REDUCE] = {524288, 4415057}},
};

/* MI350X, MI355X (gfx950), to 2.26 */
static const struct nccl_rccl_model mi350_226 = {
	TIMES,
	.factor = {{TREE_LL,
		    {.1f, .1f, .1f, .1f, .1f, .1f, 1,   1,   1,   1,   1,   .6f, 1,  .9f,
		     1,   1,   1,   1,   1,   2,   .1f, .1f, .1f, .1f, .1f, .1f, .1f},
		    TREE_SIMPLE(.1f, .1f, .1f, .9f, .9f, .7f, .8f, .6f, .6f, .6f)},
		   {RING_LL,
		    {.1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, 1,   .2f, 1,
		     .4f, .4f, .1f, .2f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f},
		    RING_SIMPLE(.1f, .1f, 1, .8f, .8f, 1, 1)}},
	.range = {[RS_NCCL_BROADCAST] = {2048, 16777216},
		  [RS_NCCL_REDUCE] = {16383, 16777216},
		  [RS_NCCL_ALL_GATHER] = {7, 8388608},
		  [RS_NCCL_REDUCE_SCATTER] = {131071, 4194304},
		  [RS_NCCL_ALL_REDUCE] = {131071, 17660227}},
};

static const struct nccl_rccl_model mi350 = {
	TIMES,
	.factor = {{TREE_LL,
		    {.1f, .1f, .1f, .1f, .1f, .1f, 1, 1, 1,   1,   1,   .6f, 1,  .9f,
		     1,   1,   1,   1,   1,   2,   2, 1, .1f, .9f, .9f, .1f, .1f},
		    TREE_SIMPLE(.1f, .1f, .1f, .1f, .1f, .7f, .15f, .6f, .7f, .6f)},
		   {RING_LL,
		    {.1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f, .1f,  .1f, .1f, 1, .2f, 1,
		     .4f, .4f, .1f, .2f, .1f, .1f, .1f, .1f, 5.5f, .1f, .1f, 1, 1},
		    RING_SIMPLE(.9f, .1f, 1, .1f, .6f, 1, 1)}},
	.range = {[RS_NCCL_BROADCAST] = {2048, 16777216},
		  [RS_NCCL_REDUCE] = {16383, 16777216},
		  [RS_NCCL_ALL_GATHER] = {65536, 8388608},
		  [RS_NCCL_REDUCE_SCATTER] = {65536, 8388608},
		  [RS_NCCL_ALL_REDUCE] = {262144, 70640910}},
};

static bool since(const struct rs_nccl_plan *p, uint32_t minor)
{
	return p->release >= RS_NCCL_RELEASE(2, minor, 0);
}

/* RCCL knows a machine by all its parts, and each has the number of its table: here by dies, CPUs
 * and NICs. */
static int mi250_of(const struct rs_nccl_plan *p)
{
	const struct rs_nccl_topo *t = p->nodes[0].class->topo;
	int gpus = t->n[GPU], nets = p->n_nodes > 1 ? t->n[NET] : 0;

	if (gpus > 8)
		return nets ? MI250_16_NICS : MI250_16;
	if (t->n[CPU] == 2 && nets < 8)
		return MI250_2CPU;
	return nets >= 4 ? MI250_NICS : 0;
}

static const struct nccl_rccl_model *model_of(const struct rs_nccl_plan *p)
{
	if (p->gfx == RS_NCCL_GFX90A)
		return &nccl_rccl_mi250[mi250_of(p)];
	if (p->gfx >= 950)
		return since(p, 27) ? &mi350 : &mi350_226;
	return since(p, 27) ? &mi300 : since(p, 23) ? &mi300_226 : &mi300_222;
}

bool nccl_rccl_known(const struct rs_nccl_plan *p)
{
	return p->gfx == RS_NCCL_GFX90A || (p->gfx >= 940 && p->n_nodes > 1);
}

/* Its rings leave by the GPU beside the NIC, where our search may take another one (PXN). */
bool nccl_rccl_ll128(const struct rs_nccl_plan *p, const struct rs_nccl_graph *g)
{
	if (p->gfx == RS_NCCL_GFX90A)
		return mi250_of(p) == MI250_16_NICS && g->type_intra <= RS_NCCL_NVL &&
		       g->type_inter <= RS_NCCL_PXB;
	return since(p, 23) && g->type_intra <= RS_NCCL_NVL && g->type_inter <= RS_NCCL_PXN;
}

static int log2_down(uint64_t n)
{
	int l = 0;

	while (n >>= 1)
		l++;
	return l;
}

float nccl_rccl_latency(const struct rs_nccl_plan *p, enum rs_nccl_func f, enum rs_nccl_algo a,
			enum rs_nccl_proto q, float overhead)
{
	const struct nccl_rccl_model *m = model_of(p);
	int row = a == RS_NCCL_ALGO_TREE ? TREE_ROW : RING_ROW;
	float base = q == RS_NCCL_SIMPLE ? 17 : 12, inside = m->inside[row][q],
	      net = m->net[row][q];
	int ranks = (int)p->n_ranks, nodes = (int)p->n_nodes, steps, between;
	bool reduce = f == RS_NCCL_ALL_REDUCE;

	if (a == RS_NCCL_ALGO_TREE)
		return base + 2 * ((float)(ranks / nodes - 1) * inside +
				   (float)log2_down((uint64_t)nodes) * net);
	if (f == RS_NCCL_BROADCAST || f == RS_NCCL_REDUCE)
		return base +
		       (nodes > 1 ? net : inside) *
			       (p->graph[RS_NCCL_ALGO_RING].same_channels ? 1 : (float)ranks);
	steps = (reduce ? 2 : 1) * (ranks - 1);
	between = nodes == 1 ? 0 : (reduce ? 2 : 1) * (since(p, 23) || !reduce ? nodes - 1 : nodes);
	if (nodes > 1 && q == RS_NCCL_SIMPLE)
		overhead *= 3;
	if (nodes > 1 && inside < overhead)
		inside = overhead;
	return base + (float)(steps - between) * inside + (float)between * net;
}

double nccl_rccl_bus(const struct rs_nccl_plan *p, double bus)
{
	/* GB/s that this one has by hand (rome_models.cc) */
	return p->gfx == RS_NCCL_GFX90A && mi250_of(p) == MI250_16_NICS ? 161.4 : bus;
}

bool rs_nccl_rccl_has_times(const struct rs_nccl_plan *p)
{
	return p->rccl && nccl_rccl_known(p);
}

int64_t rs_nccl_rccl_hop(const struct rs_nccl_plan *p, enum rs_nccl_algo a, enum rs_nccl_proto q,
			 bool net)
{
	const struct nccl_rccl_model *m = model_of(p);
	float us = net ? m->net[TREE_ROW][q]
		       : m->inside[a == RS_NCCL_ALGO_TREE ? TREE_ROW : RING_ROW][q];

	return (int64_t)(us * 1000 + .5f);
}

double nccl_rccl_ratio(const struct rs_nccl_plan *p, enum rs_nccl_func f, enum rs_nccl_algo a,
		       enum rs_nccl_proto q)
{
	double ratio = model_of(p)->ratio[p->n_nodes > 2][a == RS_NCCL_ALGO_RING][q];

	if (a == RS_NCCL_ALGO_TREE && q == RS_NCCL_SIMPLE && p->n_nodes == 1 && p->gfx >= 940)
		return 0;
	if (a == RS_NCCL_ALGO_RING && q == RS_NCCL_LL && p->n_nodes == 1 && p->gfx >= 940 &&
	    (f == RS_NCCL_BROADCAST || f == RS_NCCL_REDUCE))
		ratio *= 1.65;
	return ratio;
}

double nccl_rccl_factor(const struct rs_nccl_plan *p, enum rs_nccl_algo a, enum rs_nccl_proto q,
			uint64_t bytes)
{
	int i = log2_down(bytes >> 6);

	if (a == RS_NCCL_ALGO_RING && p->n_nodes == 1)
		return 1;
	return model_of(p)->factor[a == RS_NCCL_ALGO_RING][q]
				  [i < NCCL_RCCL_FACTORS ? i : NCCL_RCCL_FACTORS - 1];
}

enum rs_nccl_proto nccl_rccl_proto(const struct rs_nccl_plan *p, enum rs_nccl_func f,
				   uint64_t bytes, bool ll128, enum rs_nccl_proto chosen)
{
	const uint64_t *range = model_of(p)->range[f];
	uint64_t size = f == RS_NCCL_ALL_REDUCE ? bytes : bytes / p->n_ranks;
	double most = (double)range[1];

	if (p->n_nodes == 1 || range[0] == UNSET)
		return chosen;
	/* a tree of two nodes is short */
	if (f == RS_NCCL_ALL_REDUCE && p->n_nodes > 2)
		most *= 3.8;
	if (size <= range[0])
		return RS_NCCL_LL;
	return ll128 && (double)size <= most ? RS_NCCL_LL128 : RS_NCCL_SIMPLE;
}
