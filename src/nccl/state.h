/* Private to nccl/: hosts alike, searched once, and the plan's other files. */
#ifndef RS_NCCL_STATE_H
#define RS_NCCL_STATE_H

#include "nccl/graph.h"

enum { RING_GRAPH, TREE_GRAPH, CHAIN_GRAPH, NVLS_GRAPH, DIRECT_GRAPH, GRAPHS };

struct rs_nccl_class {
	const struct rs_nccl_host *host;
	struct rs_nccl_topo *topo;
	struct found found[GRAPHS];
	int n_gpus;
	const int *devs; /* by local number */
	int *local;      /* of each GPU of the topology's array: its local number */
	struct rs_nccl_nic *nics;
	bool nvls; /* the GPUs have multicast */
	bool all_nvlink;
	int n_heads;
	int heads[RS_NCCL_NVLS_ARITY]; /* GPUs */
};

static inline const struct rs_nccl_class *class_of(const struct rs_nccl_plan *p, uint32_t rank)
{
	return p->nodes[p->ranks[rank].node].class;
}

/* The rank of a node's GPU. */
static inline uint32_t rank_of(const struct rs_nccl_plan *p, uint32_t node, int gpu)
{
	return p->nodes[node].ranks[p->nodes[node].class->local[gpu]];
}

/* searches.c: what was found of a topology alike before, into c->found, with what searches leave on
 * its links. False: nothing, or no memory. */
bool nccl_searches_take(struct rs_nccl_searches *s, struct rs_nccl_class *c, struct rs_arena *a);
void nccl_searches_keep(struct rs_nccl_searches *s, const struct rs_nccl_class *c);

enum { CHAIN = RS_NCCL_ALGO_COLLNET_CHAIN, DIRECT = RS_NCCL_ALGO_COLLNET_DIRECT };

/* Rings, trees and heads over all nodes; n: channels before they are doubled. */
int nccl_connect(struct rs_nccl_plan *p, int n, struct rs_arena *a);
void nccl_count_p2p(struct rs_nccl_plan *p);

#endif
