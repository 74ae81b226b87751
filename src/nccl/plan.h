/*
 * What NCCL plans for a communicator: from its hosts' topologies the graphs that its search finds,
 * the channels that it makes of them over all nodes, rings and trees of each, the NICs by which
 * they leave and enter, channels of point-to-point. Rules and constants: docs/nccl.md.
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
	RS_NCCL_RANKS_MAX = 1 << 20,
};

/* A release as a number: 2.27.7 is 22707. */
#define RS_NCCL_RELEASE(major, minor, patch) (10000u * (major) + 100u * (minor) + (patch))
enum { RS_NCCL_OLDEST = 21800, RS_NCCL_NEWEST = 22899, RS_NCCL_DEFAULT = 22707 };

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

/*
 * What the search found for an algorithm, made equal over all ranks. n_channels 0: none. NVLSTree
 * uses NVLS's, PAT the tree's. Bandwidths are of a channel, GB/s (10^9 bytes/s), as NCCL counts
 * them: single precision.
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
	uint32_t node;  /* its node, numbered in order of their first ranks */
	uint32_t local; /* its number among the node's ranks */
	int cc;         /* compute capability x 10: 90 */
	int dev;        /* NVML's number of its GPU on the host */
	uint32_t tag;   /* of whoever made the job: a GPU of the fabric, say */
};

/* Of a rank in a tree; -1: none. */
struct rs_nccl_tree {
	int32_t up, down[RS_NCCL_TREE_ARITY];
};

/* Where a channel's ring enters and leaves a node: ranks and NICs. A NIC is its number as NCCL
 * prints it (NET/IB/n); -1 on one node. */
struct rs_nccl_door {
	int32_t recv, send;         /* ranks */
	int16_t net_recv, net_send; /* NICs */
	int32_t proxy_send;         /* PXN: the rank over whose GPU it leaves; else send */
	bool gdr_recv, gdr_send;
};

struct rs_nccl_channel {
	uint32_t *ring;            /* all ranks in order, from rank 0: `Channel cc/nn : ...` */
	struct rs_nccl_tree *tree; /* an entry a rank */
	struct rs_nccl_door *door; /* an entry a node */
};

/* How two ranks of a node, or of two nodes, are joined. */
enum rs_nccl_transport { RS_NCCL_VIA_P2P, RS_NCCL_VIA_SHM, RS_NCCL_VIA_NET };

struct rs_nccl_nic {
	int dev;          /* as the plugin numbers it */
	const char *name; /* "mlx5_0"; NULL unknown */
	float bw;         /* GB/s */
	uint32_t tag;     /* of whoever made the topology: an endpoint of the host, say */
};

/* A node: ranks that NVLink, PCIe or shared memory joins. Those alike share one topology. */
struct rs_nccl_topo;
struct rs_nccl_node {
	const struct rs_nccl_topo *topo; /* with the job's GPUs only */
	uint32_t first_rank;             /* the receiving rank of its first ring */
	uint32_t n_ranks;
	uint32_t *ranks; /* by local number */
	enum rs_nccl_pattern tree_pattern;
	int n_nics;
	const struct rs_nccl_nic *nics;
};

struct rs_nccl_plan {
	uint32_t release;
	uint32_t n_ranks, n_nodes, max_local_ranks;
	struct rs_nccl_rank *ranks;
	struct rs_nccl_node *nodes;
	int min_cc, max_cc;
	enum rs_nccl_cpu_arch cpu_arch;
	enum rs_nccl_cpu_vendor cpu_vendor;
	bool all_nvlink; /* of each pair of GPUs of a node */
	bool nvswitch;   /* on the nodes */
	struct rs_nccl_graph graph[RS_NCCL_ALGOS];
	enum rs_nccl_pattern max_tree_pattern;
	int n_channels;    /* as printed: `Channel cc/nn` */
	int coll_channels; /* that collectives use; less than n_channels where NVLS has more */
	int nvls_channels;
	int p2p_channels, p2p_channels_per_peer;
	uint32_t p2p_chunk; /* bytes */
	struct rs_nccl_channel channel[RS_NCCL_CHANNELS_MAX];
	/* NVLS and NVLSTree: heads, [head][node]; a head's trees over nodes by nvls_tree[parity of
	 * the channel][rank], down[0] unused (its NVSwitch). */
	int n_nvls_heads;
	int32_t *nvls_heads;
	struct rs_nccl_tree *nvls_tree[2];
};

/* The p2p rounds of a rank: whom it sends to and receives from, n_ranks of each; round 0 is itself.
 * Both arrays are the caller's. */
void rs_nccl_p2p_schedule(const struct rs_nccl_plan *p, uint32_t rank, uint32_t *send,
			  uint32_t *recv);
/* The channel of part `part` of a message in p2p round `round`. */
int rs_nccl_p2p_channel(const struct rs_nccl_plan *p, uint32_t round, int part);
/* By which NIC of its node a rank sends to another's, and over which rank's GPU (PXN; else itself),
 * in point-to-point on a channel. */
struct rs_nccl_way {
	int16_t net;
	int32_t proxy;
	bool gdr;
};
struct rs_nccl_way rs_nccl_p2p_way(const struct rs_nccl_plan *p, uint32_t from, uint32_t to,
				   int channel);

/* Two ranks of one node; read: the receiver pulls (A100 over NVLink). */
enum rs_nccl_transport rs_nccl_via(const struct rs_nccl_plan *p, uint32_t from, uint32_t to,
				   bool *read);

#endif
