/*
 * What NCCL's kernels and its network proxy cost. The tables are NCCL's own (graph/tuning.cc of
 * 2.28), which it measured; what is fitted names its points in docs/nccl.md, "Run".
 */
#include "collective/nccl.h"

enum arch { VOLTA, AMPERE, HOPPER, BLACKWELL };

/* Bytes a second that a block copies or reduces with point-to-point; a message waits for its step's
 * flag beside. */
#define P2P_RATE INT64_C(21000000000)
/* LL's lines lie in the host's memory: a GPU writes them over PCIe, the other one reads them. NCCL
 * counts 39 GB/s on two hosts, 22.5 with AMD's CPUs; of 8 NICs. */
#define LL_OTHER      INT64_C(4900000000)
#define LL_AMD        INT64_C(2800000000)
#define P2P_WARP_RATE INT64_C(1400000000)
/* ... while it only sends, or only takes; a warp of it; what it pulls from another GPU */
#define P2P_ALONE_RATE      INT64_C(32000000000)
#define P2P_ALONE_WARP_RATE INT64_C(3200000000)
#define P2P_PULL_RATE       INT64_C(13850000000)
/* What a block reads from the host's memory, over PCIe: loads wait for their data, so many a
 * thread. The first is of blocks that store there, too; to the others their own work is added. */
#define HOST_RATE       INT64_C(8700000000)
#define HOST_RATE_A100  INT64_C(7300000000)
#define HOST_RATE_GB202 INT64_C(9800000000)
enum { HOST_THREADS = 512, WARP = 32 };
/* TCPX reaches 150 Gb/s of a NIC of 200 (Google's pages on A3 High). */
enum { TCPX_SHARE = 75 };
/* PAT's bandwidth, of a ring's (graph/tuning.cc): messages of log2(n) peers meet at a NIC. Of two
 * hosts each has one peer. */
enum { PAT_SHARE = 75 };

static enum arch arch_of(const struct rs_nccl_plan *p)
{
	return p->min_cc >= 100  ? BLACKWELL
	       : p->min_cc >= 90 ? HOPPER
	       : p->min_cc >= 80 ? AMPERE
				 : VOLTA;
}

/* Bytes a second that a block copies or reduces with Simple. In rings an A100's is as much slower
 * than Hopper's as NCCL counts its channel of LL128: 20 of 36.7 GB/s. Its trees do not show this.
 * Ada's GPUs (8.9), which have a higher clock, and RCCL's are taken as Hopper's. */
static int64_t block_rate(const struct nccl_run *r)
{
	static const int64_t rate[4] = {INT64_C(12000000000), INT64_C(12000000000),
					INT64_C(22000000000), INT64_C(23500000000)};
	enum arch a = arch_of(r->p);
	bool ring = r->choice.algo == RS_NCCL_ALGO_RING;

	if (r->p->rccl || (a < HOPPER && !ring) || (a == AMPERE && r->p->min_cc == 89))
		a = HOPPER;
	return rate[a];
}

static int span_of(const struct rs_nccl_plan *p)
{
	return p->n_nodes > 2 ? 2 : (int)p->n_nodes - 1;
}

static bool is_nvls(const struct nccl_run *r)
{
	return r->choice.algo == RS_NCCL_ALGO_NVLS || r->choice.algo == RS_NCCL_ALGO_NVLS_TREE;
}

/* ---- Rates ---- */

/* GB/s of a channel that its search found, a ring or a tree: LL128, and of all, LL. */
static const double tree_rate[4][3] = {
	{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double ll128_rate[4] = {20, 20, 36.7, 40}; /* the last: 2.30 */
static const double ll_rate[4] = {39, 87.7, 141, 200};  /* the last: fitted; NCCL counts 282 */
/* of two nodes; of more the network has the rest (NCCL counts 45.5 and 43.8 of all) */
static const double nvls_tree_rate[4] = {0, 0, 57.7, 96};
static const double nvls_efficiency[4] = {0, 0, .88, .8};

/* GB/s of all NVLinks of a GPU together, as NCCL counts them: its way to another one's. */
static double nvlink_rate(const struct rs_nccl_plan *p)
{
	const struct rs_nccl_node *n = &p->nodes[0];
	enum rs_nccl_path class;

	return n->n_ranks < 2 ? 0 : (double)rs_nccl_gpu_path(p, n->ranks[0], n->ranks[1], &class);
}

/* GB/s of the whole operation, of one direction of it: NVLS, LL and LL128. */
static double whole_rate(const struct nccl_run *r, uint32_t n_ranks)
{
	const struct rs_nccl_plan *p = r->p;
	enum arch a = arch_of(p);
	double n = n_ranks, local = p->max_local_ranks, rate, graph;

	if (is_nvls(r)) {
		rate = nvls_efficiency[a] * nvlink_rate(p) * local / (local + 1);
		graph = nvls_tree_rate[a] * p->graph[RS_NCCL_ALGO_NVLS].n_channels * n /
			(2 * (n - 1));
		return p->n_nodes > 1 && graph < rate ? graph : rate;
	}
	graph = p->graph[r->choice.algo].n_channels;
	if (r->choice.algo == RS_NCCL_ALGO_TREE) {
		rate = graph * tree_rate[a][span_of(p)];
		if (r->choice.proto == RS_NCCL_LL && ll_rate[a] < rate / 3.8)
			rate = ll_rate[a];
		else if (r->choice.proto == RS_NCCL_LL)
			rate /= 3.8;
		else if (graph * ll128_rate[a] < rate)
			rate = graph * ll128_rate[a];
		return rate / 2;
	}
	return r->choice.proto == RS_NCCL_LL ? ll_rate[a] : graph * ll128_rate[a];
}

/* LL: each thread takes a line of 8 bytes of data and waits for it; LL128: a warp takes 1,920 bytes
 * (device/prims_ll.h, prims_ll128.h). Of a tree's threads half reduce. Between hosts LL128's chunks
 * are messages, and the whole ring moves chunk by chunk. */
static uint64_t turn_of(const struct nccl_run *r)
{
	uint64_t threads = (uint64_t)r->choice.threads;
	bool ring = r->choice.algo == RS_NCCL_ALGO_RING;

	if (r->p->rccl || r->p2p)
		return 0;
	if (r->choice.proto == RS_NCCL_LL)
		return 8 * (ring ? threads : threads / 2);
	return r->choice.proto == RS_NCCL_LL128 && ring && r->p->n_nodes == 1
		       ? 1920 * (threads / 32)
		       : 0;
}

/* What a rank passes on in one step of a ring. */
static uint64_t ring_piece(const struct rs_coll *c, const struct nccl_run *r)
{
	uint64_t bytes = r->choice.mid ? r->choice.mid : r->choice.lo;

	if (c->conf.op == RS_COLL_ALL_REDUCE)
		bytes = bytes / c->n_ranks + 1;
	return bytes < r->choice.chunk ? bytes : r->choice.chunk;
}

/* Inside a host two GPUs that write to each other, and have no NVLink for it: a block stores there
 * no faster for what it is spared. */
bool nccl_stores_over_pcie(const struct rs_nccl_plan *p, uint32_t src, uint32_t dst)
{
	enum rs_nccl_path class;

	rs_nccl_gpu_path(p, src, dst, &class);
	return class > RS_NCCL_C2C && rs_nccl_via(p, src, dst, NULL, NULL) == RS_NCCL_VIA_P2P;
}

/* A broadcast's block copies once, not twice. RCCL has twice the channels at least; half of a
 * tree's block goes up, half down. */
static bool works_twice_as_fast(const struct nccl_run *r, bool broadcast)
{
	const struct rs_nccl_node *n = &r->p->nodes[0];

	if (r->p->rccl && r->choice.algo == RS_NCCL_ALGO_RING)
		return true;
	return broadcast &&
	       !(n->n_ranks > 1 && nccl_stores_over_pcie(r->p, n->ranks[0], n->ranks[1]));
}

int64_t nccl_lane_rate(const struct nccl_run *r, uint32_t n_ranks, bool broadcast)
{
	const struct rs_nccl_plan *p = r->p;
	double rate;
	int own, usual;

	if (r->choice.proto == RS_NCCL_SIMPLE && !is_nvls(r))
		return block_rate(r) * (works_twice_as_fast(r, broadcast) ? 2 : 1);
	/* a share of what all channels of the machine together can do: fewer, because
	 * NCCL_MAX_NCHANNELS says so, do not work the faster */
	own = is_nvls(r) ? p->nvls_channels : p->coll_channels;
	usual = is_nvls(r) ? p->min_cc >= 100 ? 24 : 16 : 2 * p->graph[r->choice.algo].n_channels;
	usual = usual > own ? usual : own;
	rate = whole_rate(r, n_ranks) * 1e9 / usual;
	rate /= is_nvls(r) ? p->n_nvls_heads : 1;
	return rate < 1e6 ? 1000000 : (int64_t)rate;
}

/* A copy from one place to another, where a ring begins and ends: 32 GB/s of a block of 22, twice
 * with RCCL. */
int64_t nccl_alone_rate(const struct nccl_run *r)
{
	return block_rate(r) * 16 / 11 * (r->p->rccl ? 2 : 1);
}

bool nccl_pulls(const struct rs_nccl_plan *p)
{
	const struct rs_nccl_node *n = &p->nodes[0];
	bool read = false;

	if (n->n_ranks > 1)
		rs_nccl_via(p, n->ranks[0], n->ranks[1], &read, NULL);
	return read;
}

/* A block that reads waits for its data: it has its channel's share of the NVLinks at most, and
 * queues nothing there while it is busy otherwise. */
int64_t nccl_pull_rate(const struct nccl_run *r)
{
	uint32_t peers = r->p->nvswitch ? 1 : r->p->nodes[0].n_ranks - 1;
	double share;

	if (r->p2p || r->choice.proto != RS_NCCL_SIMPLE || !nccl_pulls(r->p))
		return 0;
	share = nvlink_rate(r->p) * 1e9 * peers / r->choice.channels;
	return share < P2P_PULL_RATE ? (int64_t)share : P2P_PULL_RATE;
}

static bool simple_ring(const struct nccl_run *r)
{
	return r->choice.algo == RS_NCCL_ALGO_RING && r->choice.proto == RS_NCCL_SIMPLE;
}

/* A Simple ring of 12 GB/s in all at most has 256 threads (graph/tuning.cc), as has one with little
 * to do; a warp more keeps the flags. Those of an RTX PRO 6000 read as much as 512 do. */
static int64_t host_rate(const struct nccl_run *r)
{
	int64_t rate = r->p->min_cc == 80 ? HOST_RATE_A100 : HOST_RATE;
	int64_t threads = r->choice.threads - WARP;

	if (r->choice.proto == RS_NCCL_LL) /* half of its lines is flags */
		return rate / 2;
	if (!simple_ring(r))
		return rate;
	if (r->p->min_cc >= 120)
		return HOST_RATE_GB202;
	return rate * (threads < HOST_THREADS ? threads : HOST_THREADS) / HOST_THREADS;
}

/* One after the other. */
static int64_t in_turn(int64_t reads, int64_t works)
{
	return (int64_t)((double)reads * (double)works / (double)(reads + works));
}

/* Is what a block passes on stored in the host's memory: by SHM, or for a NIC without GPUDirect? */
static bool stores_in_host(const struct rs_coll *c, const struct rs_step *s)
{
	for (unsigned k = 0; k < s->n_send; k++) {
		const struct rs_conn *to = &c->conns[s->send[k].conn];

		if (to->nvlink ? to->to_host && !to->c2c : to->from_host)
			return true;
	}
	return false;
}

/* A block of an A100 or GB202 that takes from the host's memory and stores there does its own work
 * when it has read. HOST_RATE has that in it. */
static int64_t staged_rate(const struct rs_coll *c, const struct rs_step *s, int64_t rate)
{
	const struct nccl_run *r = c->nccl;
	int64_t host = host_rate(r);

	if (simple_ring(r) && (r->p->min_cc == 80 || r->p->min_cc >= 120) && stores_in_host(c, s))
		return in_turn(host, rate);
	return host < rate ? host : rate;
}

int64_t nccl_step_rate(const struct rs_coll *c, const struct rs_step *s, int64_t rate)
{
	int64_t pull = c->nccl->pull_rate, staged = staged_rate(c, s, rate);

	for (unsigned k = 0; k < s->n_recv; k++) {
		const struct rs_conn *from = &c->conns[s->recv[k].conn];

		if (from->to_host && !from->c2c && staged < rate)
			rate = staged;
		if (from->nvlink && pull && pull < rate)
			rate = pull;
	}
	return rate;
}

/* What threads store into another GPU, or read from it, is on the links as they do. Rings of LL128
 * between hosts pass chunk by chunk; what passes line by line is early anyway. The rate of a block
 * of Simple was fitted on rings that write after it, and RCCL's is not known. */
bool nccl_stores(const struct nccl_run *r)
{
	bool ring = r->choice.algo == RS_NCCL_ALGO_RING;
	bool tree = r->choice.algo == RS_NCCL_ALGO_TREE && !r->p->rccl;

	if (r->p2p)
		return !r->ll_inside;
	return r->pull_rate || r->pairs || (tree && r->choice.proto == RS_NCCL_SIMPLE) ||
	       (ring && r->choice.proto == RS_NCCL_LL128 && r->p->n_nodes > 1);
}

/* GB/s of LL of a block with 16 warps: what a machine has, over the channels of one host of 8. */
static double ll_block_rate(const struct rs_nccl_plan *p)
{
	static const double channels[4] = {12, 24, 24, 32};

	return ll_rate[arch_of(p)] / channels[arch_of(p)];
}

/* The operations of a batch share 20 warps, half of an operation's send and half receive
 * (device/sendrecv.h). A warp that sends over the network stores into a buffer of the NIC's GPU,
 * one step after another: 14 GB/s for 10 warps is what NCCL counts on
 * (NCCL_P2P_PER_CHANNEL_NET_BW). Inside a node a block's first chunk is sent, and its last taken,
 * while it does nothing else. */
int64_t nccl_p2p_rate(const struct nccl_run *r, uint32_t works, struct nccl_p2p_work w)
{
	uint32_t warps = 20 / works;
	int64_t share = P2P_RATE / works, rate;

	warps = warps <= 4 ? warps / 2 : (warps - 1) / 2 + w.send;
	if (w.inside && r->ll_inside)
		return (int64_t)(ll_block_rate(r->p) * 1e9 * warps / 16);
	if (w.staged)
		return (r->p->min_cc >= 120 ? in_turn(HOST_RATE_GB202, P2P_RATE) : HOST_RATE) /
		       works;
	if (r->p->rccl)
		return 2 * share;
	if (w.inside && w.pull)
		return P2P_PULL_RATE / works;
	if (w.inside && w.alone) {
		share = P2P_ALONE_RATE / works;
		rate = P2P_ALONE_WARP_RATE * warps;
		return rate < share ? rate : share;
	}
	if (w.inside || !w.send)
		return share;
	rate = P2P_WARP_RATE * warps;
	return rate < share ? rate : share;
}

/* A NIC's buffer has 16 steps a channel, which the operations of a batch share
 * (NCCL_SHARED_STEPS, transport/net.cc). */
uint32_t nccl_p2p_window(uint32_t works)
{
	uint32_t steps = 16 / (works ? works : 1);

	return steps > 8 ? 8 : steps;
}

/* ---- Times ---- */

/* GPUs of graphics boards, with GDDR: another chip than the A100, H100 or B200 of its time. */
static bool on_board(const struct rs_nccl_plan *p)
{
	return !p->rccl && (p->min_cc == 86 || p->min_cc == 89 || p->min_cc == 120);
}

/* Of flags between GPUs, in percent of NCCL's table. */
static rs_time by_arch(const struct nccl_run *r, rs_time t)
{
	static const int percent[4] = {175, 175, 100, 200};

	if (r->p->rccl || on_board(r->p))
		return t;
	return t * percent[arch_of(r->p)] / 100;
}

/* RCCL's kernels and networks, by its own table (graph/tuning.cc). */
static bool by_rccl(const struct nccl_run *r)
{
	return rs_nccl_rccl_has_times(r->p) && !r->p2p;
}

static rs_time rccl_time(const struct nccl_run *r, bool net)
{
	return rs_nccl_rccl_hop(r->p, r->choice.algo, r->choice.proto, net) * RS_NS;
}

/* Start of the kernel, with the first flags: 8.2 us of a small one in a stream (measured on an
 * H100; less on a graphics board), a ring's of Simple as NVLS's, else the tables' base. */
#define BOARD_START (5900 * RS_NS)
static rs_time launch_time(const struct nccl_run *r)
{
	const struct rs_nccl_choice *c = &r->choice;
	static const rs_time base[RS_NCCL_PROTOS] = {8200 * RS_NS, 14 * RS_US, 8400 * RS_NS};
	static const rs_time rccl[RS_NCCL_PROTOS] = {12 * RS_US, 12 * RS_US, 17 * RS_US};

	if (by_rccl(r))
		return rccl[c->proto];
	if (on_board(r->p) && (c->proto == RS_NCCL_LL || r->p2p))
		return BOARD_START;
	if (c->algo == RS_NCCL_ALGO_NVLS_TREE)
		return 25 * RS_US;
	if (c->algo == RS_NCCL_ALGO_NVLS ||
	    (c->algo == RS_NCCL_ALGO_RING && c->proto == RS_NCCL_SIMPLE && !r->p2p && !r->pairs))
		return 18 * RS_US;
	return base[c->proto];
}

/* From a block to the next one's, inside a node. */
static rs_time hop_time(const struct nccl_run *r)
{
	static const rs_time ring[2][RS_NCCL_PROTOS] = {{600 * RS_NS, 1900 * RS_NS, 3400 * RS_NS},
							{RS_US, 2500 * RS_NS, 5700 * RS_NS}};
	static const rs_time tree[2][RS_NCCL_PROTOS] = {{600 * RS_NS, 1250 * RS_NS, 4 * RS_US},
							{RS_US, 1900 * RS_NS, 4 * RS_US}};
	static const rs_time pairs[RS_NCCL_PROTOS] = {2700 * RS_NS, 0, 5900 * RS_NS};
	bool pci = r->p->graph[r->choice.algo].type_intra != RS_NCCL_NVL;

	if (r->ll_inside)
		return ring[pci][RS_NCCL_LL];
	if (r->pairs)
		return pairs[r->choice.proto];
	if (by_rccl(r))
		return rccl_time(r, false);
	if (r->turn && r->choice.algo == RS_NCCL_ALGO_RING)
		return ring[pci][RS_NCCL_LL]; /* of a line; the turn is beside it */
	return r->choice.algo == RS_NCCL_ALGO_RING ? ring[pci][r->choice.proto]
						   : tree[pci][r->choice.proto];
}

/* Of a slice, beside its bytes: threads meet, a fence, the flag (Simple alone has any). Of this the
 * block itself is busy; the rest of a hop passes while it works on. A pass over the NVSwitches
 * waits for the flags of all GPUs. NCCL's trees came out longer with it than measured, RCCL's not.
 */
static rs_time slice_time(const struct nccl_run *r)
{
	bool sliced = r->choice.algo == RS_NCCL_ALGO_RING ||
		      (r->choice.algo == RS_NCCL_ALGO_TREE && r->p->rccl);

	if (r->choice.algo == RS_NCCL_ALGO_NVLS)
		return by_arch(r, 3 * RS_US);
	if (r->choice.algo == RS_NCCL_ALGO_PAT) /* of a share (graph/tuning.cc) */
		return 2800 * RS_NS;
	if (!sliced || r->choice.proto != RS_NCCL_SIMPLE || r->p2p || r->pairs)
		return 0;
	return 2 * RS_US;
}

/* Of a message on its way through the proxies of both ends, beside the network itself. */
static rs_time proxy_time(const struct nccl_run *r)
{
	static const rs_time ring[RS_NCCL_PROTOS] = {2500 * RS_NS, 2500 * RS_NS, 11500 * RS_NS};
	static const rs_time tree[RS_NCCL_PROTOS] = {2500 * RS_NS, 6 * RS_US, 11500 * RS_NS};

	if (r->p2p || r->choice.algo == RS_NCCL_ALGO_PAT)
		return 6 * RS_US;
	if (by_rccl(r)) /* the table's has its post and the network in it */
		return rccl_time(r, true) - 2500 * RS_NS;
	return r->choice.algo == RS_NCCL_ALGO_RING ? ring[r->choice.proto] : tree[r->choice.proto];
}

/* What a message costs more than one of verbs: on its way, and its proxy. A message of host memory
 * (of EFA without WRITE, any) of more than `copied` and at most `eager` bytes is copied at `rate`;
 * for a longer one the NICs ask the receiver first. */
struct net {
	rs_time message, post, serve;
	uint32_t copied, eager;
	int64_t rate;
	rs_time rendezvous, longer, found, injected;
	uint32_t rails, stripe;
	int64_t rail_rate;
};

static const struct net nets[] = {
	/* a message goes over four rails, each with a queue of completions, and its receiver tells
	 * the sender first where it goes */
	[RS_NCCL_NET_EFA] = {.message = 13 * RS_US,
			     .post = 3800 * RS_NS,
			     .eager = 8192,
			     .longer = 12 * RS_US,
			     .rails = 4,
			     .stripe = 128 << 10,
			     .rail_rate = INT64_C(12500000000)},
	/* libfabric's runting read (prov/efa): up to FI_EFA_RUNT_SIZE a message comes in packets,
	 * and the host copies them into the GPU's memory; the rest is read */
	[RS_NCCL_NET_EFA_READ] = {.message = 16 * RS_US,
				  .copied = 8192,
				  .eager = 307200,
				  .rate = INT64_C(7000000000),
				  .longer = 32 * RS_US},
	[RS_NCCL_NET_CXI] = {.message = -2 * RS_US},
	/* Google's plugins over TCP: a manager on the host tells of what came (RxDM); TCPX has the
	 * kernel's TCP, a socket for each 512 KiB of a message. TCPXO (FasTrak) has it in the NIC:
	 * its messages take two flows of half a NIC in turn, and each is a command to the host's
	 * DXS (google/nccl-plugin-gpudirect-tcpxo, nccl_shim.cc) */
	[RS_NCCL_NET_TCPX] = {.message = 58 * RS_US,
			      .rails = 4,
			      .stripe = (512 << 10) * 100 / TCPX_SHARE,
			      .rail_rate = INT64_C(3540000000)},
	[RS_NCCL_NET_TCPXO] = {.message = 17 * RS_US,
			       .serve = 400 * RS_NS,
			       .rails = 2,
			       .stripe = UINT32_MAX,
			       .rail_rate = INT64_C(12500000000)}};

/* NCCL posts so many receives of a connection ahead (NCCL_STEPS). A sender over libfabric does not
 * wait for one: a ring with more messages has some that come before theirs. */
enum { RECEIVES = 8 };
/* Bytes that Slingshot's NIC sends with the command itself. */
enum { INJECTED = 192 };

static bool come_early(const struct rs_coll *c, const struct nccl_run *r)
{
	bool all_reduce = c->conf.op == RS_COLL_ALL_REDUCE;
	uint64_t sends = all_reduce ? 2 * (uint64_t)c->n_ranks - 2 : c->n_ranks - 1;
	uint64_t bytes = r->choice.mid ? r->choice.mid : r->choice.lo;
	uint64_t scale = c->conf.nccl.scale ? c->conf.nccl.scale : 1;

	if (r->p2p || r->choice.algo != RS_NCCL_ALGO_RING || r->choice.proto == RS_NCCL_SIMPLE)
		return false;
	if (all_reduce)
		bytes = ceil_div(bytes, c->n_ranks);
	return sends * ceil_div(bytes, r->choice.chunk * scale) > RECEIVES;
}

/* libfabric's provider of Slingshot (prov/cxi; fi_cxi(7)). A message is eager up to
 * FI_CXI_RDZV_THRESHOLD and FI_CXI_RDZV_GET_MIN, of 192 bytes at least. What has no more goes with
 * the command: the host copies it there first, from a GPU's memory by CUDA where there is no
 * GDRCopy (cxip_send_buf_init()); LL's buffers are the host's. The NIC finds its receive. Where
 * software does, the host copies what came eagerly into the GPU's memory, by GDRCopy up to
 * FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD, else by CUDA; without GDRCopy by CUDA alone, and of longer
 * messages their first part. What comes before its receive lands in a buffer of libfabric's, and
 * software copies it, too; of a longer message it asks for the data (issue_rdzv_get()), which the
 * NIC does where the receive is there. */
static struct net net_of(const struct rs_coll *c, const struct nccl_run *r)
{
	const struct rs_nccl_conf *conf = &c->conf.nccl;
	struct net n = nets[conf->net];
	int messages = r->p2p ? 2 : 1; /* a proxy thread of point-to-point sends and receives */

	if (conf->net != RS_NCCL_NET_CXI)
		return n;
	n.eager = (uint32_t)(r->rdzv_threshold + r->rdzv_get_min);
	if (n.eager < INJECTED)
		n.eager = INJECTED;
	if (!r->gdrcopy && r->choice.proto == RS_NCCL_SIMPLE)
		n.injected = 12 * RS_US;
	if (!r->gdrcopy)
		n.rendezvous = 8 * RS_US;
	else if (r->choice.proto == RS_NCCL_LL && come_early(c, r))
		n.rendezvous = 4 * RS_US;
	if (!r->soft_match && come_early(c, r)) {
		n.rate = INT64_C(2600000000);
		n.found = r->gdrcopy ? 0 : 5 * RS_US;
	}
	if (!r->soft_match)
		return n;
	n.message = 0;
	n.rate = INT64_C(1500000000);
	n.copied = r->gdrcopy ? 4096 : 0;
	n.post = r->gdrcopy ? 0 : 5 * RS_US * messages;
	return n;
}

/* One thread starts the kernels of several GPUs, and notes each message of point-to-point; to 2.21
 * each channel of an operation (enqueue.cc, appendWorkElemColl()), which a later CPU does in half
 * of the time. In a graph of work it is ahead of its GPUs. */
static rs_time starts_time(const struct rs_coll *c, const struct nccl_run *r)
{
	int64_t gpus = c->conf.nccl.gpus_per_thread ? c->conf.nccl.gpus_per_thread : 1;
	int64_t messages = !r->p2p                           ? 0
			   : c->conf.op == RS_COLL_SEND_RECV ? 2
							     : 2 * (int64_t)c->n_ranks;
	bool by_channel = !r->p2p && !r->p->rccl && r->p->release < RS_NCCL_RELEASE(2, 22, 0);
	rs_time note = r->p->rccl ? 0 : 400 * RS_NS;
	rs_time element = r->p->cpu_fast ? 60 * RS_NS : 120 * RS_NS;

	if (gpus > 1 && r->p->release >= RS_NCCL_RELEASE(2, 22, 0) && !r->p->rccl)
		note = 170 * RS_NS;
	if (gpus == 1 && (!r->p2p || r->p->rccl || c->conf.nccl.in_graph))
		return 0;
	return gpus *
	       (4500 * RS_NS + messages * note + (by_channel ? r->choice.channels * element : 0));
}

/* Messages from the GPUs of a node to one of another go together: PXN takes them to one NIC, and
 * its plugin takes up to 8 receives at once. Where each sends to the next one, one alone leaves a
 * node. */
static uint32_t together(const struct rs_coll *c, const struct nccl_run *r)
{
	if (c->conf.op == RS_COLL_SEND_RECV)
		return 1;
	return r->p->max_local_ranks < 8 ? r->p->max_local_ranks : 8;
}

/* LL passes line by line through a block, and so do LL128's trees. On one host a ring's LL128
 * passes turn by turn, if it has several: the first one is all done before the next block begins.
 */
static void set_turns(struct rs_coll *c, struct nccl_run *r, int64_t scale)
{
	const struct rs_nccl_choice *k = &r->choice;
	bool ll128 = k->proto == RS_NCCL_LL128;

	r->turn = turn_of(r);
	r->turn_time = nccl_time_of(r->turn, r->lane_rate) / scale;
	r->turn = ceil_div(r->turn, (uint64_t)scale);
	r->turn_least = ll128 ? r->turn_time : 0;
	c->lines = k->proto == RS_NCCL_LL || (ll128 && k->algo == RS_NCCL_ALGO_TREE) ||
		   (r->turn && ring_piece(c, r) > r->turn);
}

void nccl_set_times(struct rs_coll *c, struct nccl_run *r)
{
	const struct rs_nccl_conf *conf = &c->conf.nccl;
	const struct net own = net_of(c, r), *n = &own;
	int64_t scale = conf->scale ? conf->scale : 1;

	r->launch = launch_time(r);
	set_turns(c, r, scale);
	r->slice = slice_time(r);
	c->hop = (r->p2p && !r->ll_inside) || is_nvls(r) ? hop_time(r) : by_arch(r, hop_time(r));
	c->hop -= c->hop < r->slice ? c->hop : r->slice;
	if (c->lines && r->turn_least)
		c->hop += r->turn_time * scale;
	c->proxy = rs_time_max(proxy_time(r) + n->message, 0) + (r->p2p ? 11 * RS_US : 0);
	c->post = RS_US + n->post;
	if (r->p2p)
		c->post += 1800 * RS_NS / (conf->net == RS_NCCL_NET_IB ? together(c, r) : 1);
	c->serve = n->serve;
	c->eager = n->eager;
	c->copied = n->copied;
	/* LL's buffers are the host's */
	if (r->choice.proto == RS_NCCL_LL || conf->net == RS_NCCL_NET_EFA_READ)
		c->eager_rate = n->rate;
	c->rendezvous = n->rendezvous / scale;
	c->found = n->found / scale;
	c->inject = INJECTED;
	c->injected = n->injected / scale;
	c->longer = n->longer / scale;
	c->rails = n->rails;
	c->stripe = n->stripe / (uint32_t)scale;
	c->rail_rate = n->rail_rate;
	if (r->choice.proto == RS_NCCL_LL && !(n->rate && r->soft_match) && !r->p->rccl)
		c->proxy_rate = r->p->cpu_vendor == RS_NCCL_AMD ? LL_AMD : LL_OTHER;
	r->starts = starts_time(c, r);
	r->launch /= scale;
	r->slice /= scale;
	r->starts /= scale;
	c->hop /= scale;
	c->proxy /= scale;
	c->post /= scale;
	c->serve /= scale;
}

/* The plugin deals a message out to as many rails as it has stripes, of those numbers that divide
 * the rails (its scheduler). All rails together are the NIC. TCPX's sockets are alike. */
static rs_time by_rails(const struct rs_coll *c, uint64_t bytes)
{
	uint64_t n = ceil_div(bytes, c->stripe);

	n = n < 1 ? 1 : n > c->rails ? c->rails : n;
	while (c->rails % n)
		n--;
	return nccl_time_of(bytes, c->rail_rate) / (rs_time)n -
	       nccl_time_of(bytes, c->rail_rate) / c->rails;
}

/* A program that its launcher binds to a few cores has its GPUs' proxies there, by turns. */
uint32_t rs_coll_proxy(const struct rs_coll *c, uint32_t rank)
{
	const struct rs_nccl_conf *conf = &c->conf.nccl;
	uint32_t gpus = conf->gpus_per_thread, at;

	if (!conf->cores || conf->cores >= gpus)
		return rank;
	at = rank % gpus;
	return rank - at + at % conf->cores;
}

rs_time rs_coll_proxy_time(const struct rs_coll *c, uint64_t bytes)
{
	rs_time t = c->proxy;

	if (c->proxy_rate)
		t += (rs_time)(bytes * (uint64_t)(RS_S / c->proxy_rate));
	if (bytes > c->eager)
		t += c->longer;
	if (c->rails)
		t += by_rails(c, bytes);
	return t;
}

/* An empty slice, which is a byte here, has nothing to copy. */
rs_time rs_coll_inject_time(const struct rs_coll *c, uint64_t bytes)
{
	return bytes > 1 && bytes <= c->inject ? c->injected : 0;
}

rs_time rs_coll_serve_time(const struct rs_coll *c, uint64_t bytes)
{
	return c->serve * (bytes <= c->lone ? 2 : 1);
}

/* Of NVLink, percent: while several GPUs send to one; of links from GPU to GPU, without NVSwitches.
 */
enum { SWITCHED = 94, DIRECT = 90 };

/* Thousandths on xGMI for data: RCCL counts 36 of 50 GB/s a link on an MI250 and 48 of 64 later.
 * Over an MI300X's own links, one to each other GPU, AMD measured 45.2 GB/s (TransferBench, the
 * slowest of them; ROCm's blog on RCCL). */
static uint32_t on_xgmi(const struct rs_nccl_plan *p)
{
	if (p->gfx == RS_NCCL_GFX90A)
		return 1389;
	return !p->nvswitch && p->gfx < 950 ? 1416 : 1333;
}

/* Bytes on a link for bytes of data: lines with flags; NVLink's packets (20.6 of 25 GB/s and alike,
 * which is how NCCL counts a link). */
void nccl_set_overheads(struct rs_coll *c, const struct nccl_run *r)
{
	static const uint32_t nvlink[4] = {1250, 1250, 1214, 1247}; /* thousandths */
	static const uint32_t nvlink_ga102 = 1172;
	static const uint32_t flags[RS_NCCL_PROTOS][2] = {{2, 1}, {16, 15}, {1, 1}};
	const uint32_t *f = flags[r->choice.proto];
	const uint32_t *inside = r->ll_inside ? flags[RS_NCCL_LL] : f;
	bool nvl = r->p->graph[r->choice.algo].type_intra == RS_NCCL_NVL;

	c->net.num = f[0];
	c->net.den = f[1];
	if (c->conf.nccl.net == RS_NCCL_NET_TCPX) {
		c->net.num *= 100;
		c->net.den *= TCPX_SHARE;
	}
	if (r->choice.algo == RS_NCCL_ALGO_PAT && r->p->n_nodes > 2) {
		c->net.num *= 100;
		c->net.den *= PAT_SHARE;
	}
	c->inside.num = inside[0] * (r->p->rccl                  ? on_xgmi(r->p)
				     : nvl && r->p->min_cc == 86 ? nvlink_ga102
				     : nvl                       ? nvlink[arch_of(r->p)]
								 : 1000);
	c->inside.den = inside[1] * 1000;
	if (nvl && !r->p->nvswitch && !r->p->rccl) {
		c->inside.num *= 10;
		c->inside.den *= DIRECT / 10;
	}
	if (c->conf.op == RS_COLL_ALL_TO_ALL && r->p->max_local_ranks > 2) {
		c->inside.num *= 100;
		c->inside.den *= SWITCHED;
	}
}
