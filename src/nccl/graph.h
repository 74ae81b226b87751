/*
 * Private to nccl/: a host as a graph with bandwidths, for the GPUs of one job: nodes, links, paths
 * between GPUs, NICs, NVSwitches and CPUs with their class (graph/topo.cc, graph/paths.cc), and the
 * NIC of a GPU. Bandwidths are single precision, as NCCL's: sums and ties come out the same.
 */
#ifndef RS_NCCL_GRAPH_H
#define RS_NCCL_GRAPH_H

#include "nccl/topo.h"

enum kind { GPU, PCI, NVS, CPU, NIC, NET, KINDS };
enum { HOPS_MAX = 64, LOC_BW = 5000 };

struct node;
struct link {
	enum rs_nccl_path class;
	float bw; /* what is left of it during a search */
	struct node *to;
};

struct way {
	int n;
	enum rs_nccl_path class;
	float bw;
	struct link **hop;
};

struct node {
	enum kind kind;
	int index; /* among those of its kind */
	int item;  /* in the host; -1: NVSwitches */
	int n_links, room;
	struct link *links;
	struct way *ways[KINDS]; /* to each GPU, NVS, CPU, NET; NULL: none of that kind */
	/* GPU */
	int rank, dev, cc;
	uint64_t used; /* by channels, a bit each */
	/* CPU */
	enum rs_nccl_cpu_arch arch;
	enum rs_nccl_cpu_vendor vendor;
	bool fast;
	/* NET */
	float net_bw, latency;
	uint64_t asic;
	int port, local_gpu;
	bool gdr, collnet;
};

struct rs_nccl_topo {
	struct rs_arena *arena;
	const struct rs_nccl_env *env;
	const struct rs_nccl_host *host;
	struct node *nodes[KINDS];
	int n[KINDS];
	float max_bw, total_bw;
	bool full; /* out of memory while it was made */
};

/* Of the host's GPUs those of gpus[0..n), by rank of the job; nets: with NICs. */
struct chosen {
	int item;
	int rank;
};
int nccl_topo_build(const struct rs_nccl_host *h, const struct rs_nccl_env *env,
		    const struct chosen *gpus, int n_gpus, bool nets, struct rs_arena *a,
		    struct rs_nccl_topo **out, struct rs_error *e);
int nccl_topo_ways(struct rs_nccl_topo *t);

float nccl_nvlink_bw(uint32_t release, int cc);
float nccl_xgmi_bw(int gfx);
/* The best of a kind from a node: highest bandwidth, then nearest class. *class may be NULL. */
int nccl_nearest(const struct node *from, enum kind kind, int n, int *found,
		 enum rs_nccl_path *class);
int nccl_local_net(const struct rs_nccl_topo *t, int gpu, int channel); /* NET's index; -1: none */
int nccl_local_gpu(const struct rs_nccl_topo *t, int net);
int nccl_local_cpu(const struct rs_nccl_topo *t, int gpu);
bool nccl_p2p_allowed(const struct rs_nccl_topo *t, int from, int to);
bool nccl_gdr_allowed(const struct rs_nccl_topo *t, int gpu, int net, bool read);
/* The GPU over whose NVLink a GPU reaches a NIC (PXN), or itself. */
int nccl_proxy_gpu(const struct rs_nccl_topo *t, int gpu, int net);
/* Would two GPUs of a host be joined faster by their NICs (ncclTopoCheckNet)? */
bool nccl_net_is_faster(const struct rs_nccl_topo *t, int a, int b);
void nccl_cc_range(const struct rs_nccl_topo *t, int *min, int *max);

/* ---- The search (graph/search.cc) ---- */

/* What is being found: channels of GPUs in order, and the NICs by which each enters and leaves. */
struct found {
	enum rs_nccl_pattern pattern;
	bool collnet;
	int min_channels, max_channels;
	int n_channels, cross_nic, hops;
	bool same;
	float bw_intra, bw_inter, latency;
	enum rs_nccl_path class_intra, class_inter;
	int16_t inter[2 * RS_NCCL_CHANNELS_MAX];
	int16_t *intra; /* [channel][GPU], indices */
};

int nccl_channels_max(uint32_t release);
void nccl_search_init(struct rs_nccl_topo *t);
/* The intra arrays of f and tmp have room for RS_NCCL_CHANNELS_MAX channels. */
void nccl_search_run(struct rs_nccl_topo *t, struct found *f, struct found *tmp);

/* One attempt of a search: what is tried, the best so far, steps that are left. */
struct attempt {
	struct rs_nccl_topo *t;
	struct found *g, *best;
};
void nccl_search_attempt(struct attempt *a, int *time);

#endif
