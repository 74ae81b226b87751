/*
 * What NCCL plans for a communicator: from its hosts' topologies the graphs that its search finds,
 * the channels that it makes of them over all nodes, rings and trees of each, the NICs by which
 * they leave and enter, channels of point-to-point. Rules: NCCL's graph/, by release.
 */
#ifndef RS_NCCL_PLAN_H
#define RS_NCCL_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"

/* MAXCHANNELS: 32 up to 2.24, 64 from 2.25 on; NCCL_TOPO_MAX_NODES; NCCL_MAX_TREE_ARITY;
 * NCCL_MAX_NVLS_ARITY */
enum {
	RS_NCCL_CHANNELS_MAX = 64,
	RS_NCCL_GPUS_MAX = 256, /* of a node, NICs too */
	RS_NCCL_TREE_ARITY = 3,
	RS_NCCL_NVLS_ARITY = 32,
	RS_NCCL_RANKS_MAX = 1 << 17,
};

/* A release as a number: 2.27.7 is 22707. */
#define RS_NCCL_RELEASE(major, minor, patch) (10000u * (major) + 100u * (minor) + (patch))
enum { RS_NCCL_OLDEST = 21800, RS_NCCL_NEWEST = 23099, RS_NCCL_DEFAULT = 22707 };

/* Classes of a path, from near to far (graph/topo.h of 2.27; older releases lack C2C, P2C). */
enum rs_nccl_path {
	RS_NCCL_LOC,
	RS_NCCL_NVL,
	RS_NCCL_NVB, /* over another GPU's NVLinks */
	RS_NCCL_C2C,
	RS_NCCL_PIX,
	RS_NCCL_PXB,
	RS_NCCL_P2C, /* C2C to the CPU, then PCIe */
	RS_NCCL_PXN, /* over another GPU's NVLink and its NIC */
	RS_NCCL_PHB,
	RS_NCCL_SYS,
	RS_NCCL_NET,
	RS_NCCL_DIS,
	RS_NCCL_PATHS,
};
extern const char *const rs_nccl_path_names[]; /* "LOC", ... "DIS", NULL */

/* Patterns of a search, with the numbers that the log prints. */
enum rs_nccl_pattern {
	RS_NCCL_BALANCED_TREE = 1, /* the parent at the first GPU, a child at each of two */
	RS_NCCL_SPLIT_TREE = 2,
	RS_NCCL_TREE = 3, /* parent and children at the first GPU */
	RS_NCCL_RING = 4,
	RS_NCCL_NVLS = 5,
	RS_NCCL_COLLNET_DIRECT = 6,
};

/* NCCL's algorithms, in its order. */
enum rs_nccl_algo {
	RS_NCCL_ALGO_TREE,
	RS_NCCL_ALGO_RING,
	RS_NCCL_ALGO_COLLNET_DIRECT,
	RS_NCCL_ALGO_COLLNET_CHAIN,
	RS_NCCL_ALGO_NVLS,
	RS_NCCL_ALGO_NVLS_TREE,
	RS_NCCL_ALGO_PAT,
	RS_NCCL_ALGOS,
};

/* What the search found for an algorithm; n_channels 0: nothing. NVLSTree has NVLS's, PAT the
 * tree's. Bandwidths are of a channel, GB/s (10^9 bytes/s), as NCCL counts them: single precision.
 */
struct rs_nccl_graph {
	enum rs_nccl_pattern pattern;
	int n_channels;
	int cross_nic;
	bool same_channels;
	float bw_intra, bw_inter;
	float latency_inter; /* us, of the NIC; 0 unless its plugin says */
	enum rs_nccl_path type_intra, type_inter;
};

enum rs_nccl_cpu_arch { RS_NCCL_X86 = 1, RS_NCCL_POWER, RS_NCCL_ARM, RS_NCCL_ARCH_MIXED };
enum rs_nccl_cpu_vendor { RS_NCCL_INTEL = 1, RS_NCCL_AMD, RS_NCCL_ZHAOXIN, RS_NCCL_VENDOR_MIXED };

/* A rank's place. */
struct rs_nccl_rank {
	uint32_t host;  /* of the job's list */
	uint32_t node;  /* its node, numbered in order of their first ranks */
	uint32_t local; /* its number among the node's ranks */
	uint32_t tag;   /* as the job's */
	int16_t gpu;    /* in the node's array of GPUs, which rings follow */
	int16_t dev;    /* NVML's number of its GPU on the host */
	int16_t cc;     /* compute capability x 10: 90 */
};

/* Of a rank in a tree; -1: none. */
struct rs_nccl_tree {
	int32_t up, down[RS_NCCL_TREE_ARITY];
};

/* Copies of a channel share its arrays. */
struct rs_nccl_channel {
	uint32_t *ring;            /* all ranks in order, from rank 0: `Channel cc/nn : ...` */
	struct rs_nccl_tree *tree; /* an entry a rank */
};

/* By which NIC a rank goes to another node. */
struct rs_nccl_way {
	int net;        /* of the node's NICs; -1: none */
	int dev;        /* its number as NCCL prints it: NET/IB/dev; -1: none */
	uint32_t proxy; /* PXN: the rank over whose GPU it goes; else the rank itself */
	bool gdr;
};

enum rs_nccl_transport { RS_NCCL_VIA_P2P, RS_NCCL_VIA_SHM, RS_NCCL_VIA_NET };

struct rs_nccl_nic {
	int dev;          /* as the plugin numbers it */
	const char *name; /* "mlx5_0"; NULL unknown */
	float bw;         /* GB/s */
	uint32_t tag;     /* of the topology's maker: an endpoint of the host, say */
};

/* What hosts alike have in common: topology and what the search found in it. */
struct rs_nccl_class;
/* A node: ranks of a host, which NVLink, PCIe or shared memory joins. */
struct rs_nccl_node {
	const struct rs_nccl_class *class;
	uint32_t host;
	uint32_t n_ranks;
	uint32_t *ranks; /* by local number */
	int n_nics;
	const struct rs_nccl_nic *nics;
};

enum { RS_NCCL_GFX90A = 910 }; /* a target that is no number */

struct rs_nccl_env;
struct rs_nccl_plan {
	uint32_t release;
	const struct rs_nccl_env *env;
	uint32_t n_ranks, n_nodes, max_local_ranks;
	bool equal_nodes; /* as many ranks on each */
	struct rs_nccl_rank *ranks;
	struct rs_nccl_node *nodes;
	int min_cc, max_cc;
	enum rs_nccl_cpu_arch cpu_arch;
	enum rs_nccl_cpu_vendor cpu_vendor; /* 0: unknown */
	bool cpu_fast;                      /* of 2022 or later, on each node */
	bool all_nvlink;                    /* between all GPUs of each node */
	bool nvswitch;                      /* on each node */
	bool rccl;                          /* AMD's GPUs: no multicast */
	int gfx; /* ... their target, 942 of gfx942, RS_NCCL_GFX90A; 0: none, or one before */
	/* made equal over all ranks */
	struct rs_nccl_graph graph[RS_NCCL_ALGOS];
	enum rs_nccl_pattern max_tree_pattern;
	int n_channels;    /* as printed: `Channel cc/nn` */
	int coll_channels; /* that collectives use: fewer where NVLS has more of them */
	int nvls_channels; /* 0: no NVLS */
	int p2p_channels, p2p_channels_per_peer;
	uint32_t p2p_chunk; /* bytes */
	struct rs_nccl_channel channel[RS_NCCL_CHANNELS_MAX];
	/* NVLS and NVLSTree: heads, [head * n_nodes + node]; trees of heads over nodes, of even and
	 * odd channels, an entry a rank: down[0] stands for its NVSwitch. NULL on one node. */
	int n_nvls_heads;
	uint32_t *nvls_heads;
	struct rs_nccl_tree *nvls_tree[2];
};

struct rs_nccl_host;
struct rs_nccl_searches;
/* Where a rank is: a host of the job's list, and NVML's number of a GPU there. Tags are kept. */
struct rs_nccl_place {
	uint32_t host;
	int dev;
	uint32_t tag;
};
struct rs_nccl_job {
	uint32_t n_hosts, n_ranks;
	const struct rs_nccl_host *const *hosts; /* alike ones the same pointer: searched once */
	const struct rs_nccl_place *ranks;
	struct rs_nccl_searches *searches; /* searches.h; NULL: each plan searches by itself */
};
/* Everything in the arena, env is borrowed. -EINVAL: no such GPU or no NIC, two ranks on one;
 * -E2BIG: over a limit; -ENOMEM. */
int rs_nccl_plan_make(const struct rs_nccl_job *job, const struct rs_nccl_env *env,
		      struct rs_arena *a, struct rs_nccl_plan **out, struct rs_error *e);

/* By which NIC a rank sends to another node, or receives from one, in a collective's channel. */
struct rs_nccl_way rs_nccl_way(const struct rs_nccl_plan *p, enum rs_nccl_algo algo, uint32_t rank,
			       int channel, bool send);
/* The same of point-to-point: to a rank, or (send false) from any. */
struct rs_nccl_way rs_nccl_p2p_way(const struct rs_nccl_plan *p, uint32_t rank, uint32_t peer,
				   int channel, bool send);
/* How two ranks are joined. *read: the receiver pulls (A100 over NVLink); *over: the rank over
 * whose GPU, or from. Either may be NULL. */
enum rs_nccl_transport rs_nccl_via(const struct rs_nccl_plan *p, uint32_t from, uint32_t to,
				   bool *read, uint32_t *over);
/* Has the rank's GPU NVLink-C2C to its CPU? */
bool rs_nccl_has_c2c(const struct rs_nccl_plan *p, uint32_t rank);
/* The path between the GPUs of two ranks of a node, GB/s and class. */
float rs_nccl_gpu_path(const struct rs_nccl_plan *p, uint32_t from, uint32_t to,
		       enum rs_nccl_path *class);
/* The path from a rank's GPU to a NIC of its node. */
float rs_nccl_nic_path(const struct rs_nccl_plan *p, uint32_t rank, int net,
		       enum rs_nccl_path *class);

/* The p2p rounds of a rank: to which it sends, from which it receives, n_ranks of each; round 0 is
 * itself. Both arrays are the caller's. */
void rs_nccl_p2p_schedule(const struct rs_nccl_plan *p, uint32_t rank, uint32_t *send,
			  uint32_t *recv);
/* The channel of part `part` of a message in p2p round `round`. */
int rs_nccl_p2p_channel(const struct rs_nccl_plan *p, uint32_t round, int part);

#endif
