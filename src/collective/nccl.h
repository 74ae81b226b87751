/*
 * Private to collective/: a collective as NCCL runs it. What it plans and chooses comes from nccl/;
 * here its channels become lanes with NCCL's chunks, and each step gets NCCL's costs.
 */
#ifndef RS_COLLECTIVE_NCCL_H
#define RS_COLLECTIVE_NCCL_H

#include "collective/plan.h"
#include "nccl/tune.h"

/* What a collective's steps cost; of one run. */
struct nccl_run {
	struct rs_nccl_plan *p;
	struct rs_nccl_choice choice;
	bool pairs;    /* RCCL on one host: MSCCL's all-pairs */
	bool p2p;      /* not a collective of NCCL's: sends and receives */
	bool own_time; /* its steps say how long they take */
	struct rs_nccl_tune_conf tune;
	int max_ctas;     /* NCCL_MAX_CTAS; 0: not set */
	int qps;          /* NCCL_IB_QPS_PER_CONNECTION; 0: as the collective says */
	int split;        /* NCCL_IB_SPLIT_DATA_ON_QPS */
	int ll_threshold; /* NCCL_P2P_LL_THRESHOLD, bytes */
	/* Of libfabric, over Slingshot: FI_CXI_RX_MATCH_MODE=software; FI_HMEM_CUDA_USE_GDRCOPY */
	int soft_match, gdrcopy;
	int rdzv_threshold, rdzv_get_min; /* FI_CXI_RDZV_THRESHOLD, FI_CXI_RDZV_GET_MIN: bytes */
	bool aws_tuner;    /* NCCL_TUNER_PLUGIN: that of AWS's plugin, where this is the network */
	bool ll_inside;    /* messages of point-to-point inside a node go by LL */
	rs_time launch;    /* before a lane's first step: the kernel, its start */
	rs_time starts;    /* of the kernels of all GPUs that a thread drives; 0: one GPU */
	rs_time slice;     /* that a block is busy for each slice, beside its bytes */
	int64_t lane_rate; /* bytes of data a second that a channel's block moves */
	/* ... of a Simple ring, while it only sends, or only takes */
	int64_t alone_rate;
	int64_t pull_rate; /* ... of Simple, while it reads from another GPU; 0: GPUs write */
	/* LL, LL128: bytes that all threads of a block pass in a turn (0: as they come), what such
	 * a turn takes, and what fewer bytes take at least. */
	uint64_t turn;
	rs_time turn_time, turn_least;
	uint64_t (*n_steps)(const struct rs_coll *c, uint32_t rank, uint32_t lane);
	void (*step)(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		     struct rs_step *out);
};

static inline rs_time nccl_time_of(uint64_t bytes, int64_t rate)
{
	return (rs_time)((__extension__(unsigned __int128) bytes) * RS_S / (uint64_t)rate);
}

/* Of the operation that NCCL chooses for. */
uint64_t nccl_bytes(const struct rs_collective_conf *c);
/* NCCL's plan for the collective's ranks on this fabric. */
int run_plan(struct planner *p, struct nccl_run *r);
/* plan_connect(), by the NICs and proxies of NCCL's plan. */
void run_connect(struct planner *p, const struct nccl_run *r, uint64_t conn, uint32_t src,
		 uint32_t dst, uint32_t channel);

/* Costs: bytes of data a second that a lane moves; times of the kernel, of hops and of the proxy;
 * bytes on links for bytes of data. */
int64_t nccl_lane_rate(const struct nccl_run *r, uint32_t n_ranks, bool broadcast);
int64_t nccl_alone_rate(const struct nccl_run *r);
int64_t nccl_pull_rate(const struct nccl_run *r);
/* Do receivers inside a node read? All GPUs are alike. */
bool nccl_pulls(const struct rs_nccl_plan *p);
/* What a step's block moves at most, which would do `rate` on its own. */
bool nccl_stores_over_pcie(const struct rs_nccl_plan *p, uint32_t src, uint32_t dst);
int64_t nccl_step_rate(const struct rs_coll *c, const struct rs_step *s, int64_t rate);
/* How an operation of point-to-point works: it sends, or takes; inside a node, or beside a NIC; it
 * pulls over NVLink; reads from the host's memory; no other chunk of it is in the block's hands,
 * neither sent nor taken. */
struct nccl_p2p_work {
	bool send, inside, pull, staged, alone;
};
/* Of one of `works` operations that share a block, one direction. */
int64_t nccl_p2p_rate(const struct nccl_run *r, uint32_t works, struct nccl_p2p_work w);
/* Do messages inside a node go by LL? */
bool nccl_p2p_ll(const struct rs_coll *c, const struct nccl_run *r);
/* Messages under way of a connection of point-to-point: `works` operations of a batch of a channel
 * go over the network. */
uint32_t nccl_p2p_window(uint32_t works);
/* Is a message inside a node on the links while its block works? */
bool nccl_stores(const struct nccl_run *r);
void nccl_set_times(struct rs_coll *c, struct nccl_run *r);
void nccl_set_overheads(struct rs_coll *c, const struct nccl_run *r);

/* Trees and NVLS (also both) over what run_plan() made. */
int plan_nccl_trees(struct planner *p, struct nccl_run *run);
/* All-to-all and send-recv. */
int plan_nccl_p2p(struct planner *p, struct nccl_run *run);
/* All-gather and reduce-scatter by PAT. */
int plan_nccl_pat(struct planner *p, struct nccl_run *run);
/* All-reduce of all pairs: does RCCL take it here? Then what it chooses, and its steps. */
bool nccl_takes_pairs(const struct rs_coll *c, const struct nccl_run *r);
void nccl_choose_pairs(const struct rs_coll *c, struct nccl_run *r);
int plan_nccl_pairs(struct planner *p, struct nccl_run *run);
/* Rings: channel's order from the plan. */
int plan_nccl_ring(struct planner *p, struct nccl_run *run);

#endif
