/*
 * The one description: hosts with their insides, the network's graph, QoS, congestion control, the
 * workload and the what-if list; the same struct whether a person wrote it, a generator made it or
 * an importer read it. Everything lives in the fabric's arena.
 */
#ifndef RS_FABRIC_FABRIC_H
#define RS_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/quirks.h"
#include "base/time.h"
#include "host/host.h"
#include "port/pfc.h"

enum {
	RS_TIERS = 3, /* leaf, spine, core */
	RS_ENDPOINTS_MAX = 1 << 20,
	RS_FLOWS_MAX = 1000000,
	RS_OWN_CCS_MAX = 249, /* different congestion controls beside the fabric's */
	RS_TCS = 8,
	/* of a collective: queue pairs a connection, chunks in flight, runs */
	RS_QPS_MAX = 16,
	RS_SLOTS_MAX = 64,
	RS_REPEATS_MAX = 4096
};

/* An endpoint is a NIC's port: what a packet's source and destination name. Numbered from 0, host
 * by host. */
struct rs_fabric_endpoint {
	uint32_t host;
	int part;      /* the NIC in hosts[host].inside; RS_NO_PART for a plain host */
	uint32_t link; /* its link to the network */
	uint32_t node; /* its leaf switch */
	int64_t rate;
	const char *name; /* "h0/nic3"; plain: "h0" */
	bool no_pfc;      /* it neither heeds nor sends PAUSEs, whatever switches do */
	uint8_t mark;     /* DSCP of all that it sends, and 1; 0: its class's */
};

struct rs_fabric_host {
	const char *name;
	const struct rs_host
		*inside; /* NULL: plain, nothing inside to slow it; shared where alike */
	uint32_t first_endpoint, n_endpoints;
	uint32_t first_gpu, n_gpus; /* ranks of its GPUs; a plain host counts as one a NIC */
	uint8_t cc;                 /* of what it sends: 0 its class's, i: rs_fabric.ccs[i - 1] */
	uint8_t transport;          /* 0: the fabric's; i: kind i - 1 of rs_transport_conf */
};

struct rs_fabric_switch {
	const char *name; /* "leaf0" */
	uint8_t tier;     /* 0 leaf, 1 spine, 2 core */
	uint16_t n_ports;
	struct rs_qos *qos; /* its own; NULL: its tier's */
};

/* An end of a link: a switch and its port, or an endpoint. */
struct rs_link_end {
	bool is_switch;
	uint32_t id;   /* switch or endpoint */
	uint16_t port; /* of the switch */
};
struct rs_fabric_link {
	struct rs_link_end a, b;
	int64_t rate;
	rs_time delay;     /* cable and receive-side FEC, one way */
	double loss;       /* probability that a packet is lost: 0 healthy */
	bool down;         /* no route goes over it */
	int64_t rate_back; /* from b to a, where it differs; 0: it does not */
};

/* bit/s from a to b, or back. */
static inline int64_t rs_fabric_link_rate(const struct rs_fabric_link *l, bool back)
{
	return back && l->rate_back ? l->rate_back : l->rate;
}

/* Where packets go: an edge-switch group an endpoint, sets of equal-cost ports a switch and group.
 */
struct rs_routes {
	uint32_t n_groups;         /* switches with endpoints */
	uint32_t *group_of;        /* an entry an endpoint */
	uint16_t *local_index;     /* an entry an endpoint: its place among its edge switch's */
	uint32_t *group_of_switch; /* an entry a switch; UINT32_MAX: no endpoints */
	uint32_t **set_of;         /* [switch][group]: first << 8 | count */
	uint16_t **ports;          /* [switch]: the sets' ports, each set once */
	uint16_t **local_port;     /* [switch][local_index] */
};

struct rs_qos_class {
	bool lossless;
	int alpha_shift; /* T = free << shift */
	bool ecn;
	uint64_t kmin, kmax; /* bytes at the rate below */
	int64_t ecn_rate;    /* thresholds scale with port rate / this; 0: as they are */
	double pmax;
	uint8_t weight; /* 0: strict */
	uint8_t dscp;   /* what a NIC marks for this class */
	uint64_t reserved, xon_offset;
	uint64_t egress_limit; /* bytes of an egress queue; 0: none */
	uint8_t cc;            /* of senders: 0 the fabric's, i: rs_fabric.ccs[i - 1] */
};

enum { RS_FABRIC_AR = 7, RS_FABRIC_HASH_FIELDS = 7 /* source, destination, source port */ };

struct rs_qos {
	struct rs_qos_class tc[RS_TCS];
	uint8_t tc_of_dscp[64];
	uint8_t data_tc; /* class of flows that name none; 3 */
	/* A packet of one of these that goes on to another switch has the next there; the last
	 * stays. 0 of them: classes stay as NICs send them. rs_fabric.qos alone has any. */
	uint8_t n_hop_tcs, hop_tc[RS_TCS];
	uint8_t cnp_tc;   /* 6 */
	uint8_t cnp_dscp; /* 48 */
	/* ACKs leave NICs in this class; false: in that of what they answer. rs_fabric.qos alone.
	 */
	bool ack_apart;
	uint8_t ack_tc, ack_dscp;
	uint64_t buffer; /* a switch; 0: infinite (ideal) */
	uint32_t cell;
	bool pfc;
	bool ecn_on;
	double headroom_scale; /* 1: the formula's; 0.5: half of it, to see drops */
	uint32_t max_frame;    /* in the headroom formula; 4200 */
	uint16_t pause_quanta;
	rs_time pause_response; /* a port obeys a PAUSE so late; RS_PAUSE_RESPONSE_802_3: its limit
				 */
	rs_time watchdog;
	rs_time switch_latency;
	bool cut_through;
	bool mark_at_dequeue;
	enum {
		RS_FABRIC_ECMP,
		RS_FABRIC_SPRAY,
		RS_FABRIC_ADAPTIVE,
		RS_FABRIC_FLOWLET,
		RS_FABRIC_ROUND_ROBIN
	} routing;
	rs_time flowlet_gap; /* of a flow: after it the flow takes another path */
	bool flowlet_random; /* any of them, else the one with the fewest bytes queued */
	/* Of ecmp: what is hashed, and how (switch/switch.h has the numbers' names). */
	enum {
		RS_FABRIC_HASH_MIX,
		RS_FABRIC_HASH_CRC32,
		RS_FABRIC_HASH_XOR,
		RS_FABRIC_HASH_RANDOM
	} hash;
	uint8_t hash_fields; /* bits: source, destination, source port, queue pair */
	bool hash_same;      /* one seed for all switches */
	/* Of adaptive. */
	rs_time ar_sample; /* 0: queues are looked at for each packet */
	bool ar_sticky;    /* a flow leaves its port only for one of a lower grade */
	uint8_t n_ar;
	uint32_t ar[RS_FABRIC_AR]; /* thresholds, ascending; none: each byte counts */
	struct rs_quirks quirks;   /* of ports */
	uint64_t nic_buffer;       /* receive buffer of a NIC with an inside, headroom in it */
	/* Of data_tc: what finds no room is cut to its header, which goes on in another class. Only
	 * Ultra Ethernet's packets; others are dropped. */
	bool trim;
	uint16_t trim_bytes;
	uint8_t trim_tc;
	/* a full queue loses the arrival, or the newest packet in it and the arrival by turns of a
	 * coin */
	enum { RS_FABRIC_LOSE_ARRIVAL, RS_FABRIC_LOSE_EITHER } overflow;
	/* The egress queue of data_tc holds so many bandwidth-delay products, and marks from 20 to
	 * 80 % of one; that of trim_tc holds twice as much. 0: as the classes say; < 0: one with
	 * trimming, 5 without */
	double queue_bdp;
};

/* A parameter kept as written, for a room that fabric does not know (cc). */
struct rs_kv {
	const char *key, *value;
	struct rs_where at;
};

struct rs_cc_conf {
	const char *kind;   /* "dcqcn", "none" */
	const char *preset; /* NULL: default */
	struct rs_where at;
	uint32_t n;
	struct rs_kv *kv;
};

enum { RS_IN_FLIGHT_MAX = 8192 }; /* as rdma/ has it */

/* Ultra Ethernet's endpoint (docs/uet.md). 0: worked out from the network, or by the framing. */
struct rs_uet_settings {
	enum { RS_FABRIC_NSCC, RS_FABRIC_DCTCP, RS_FABRIC_NO_WINDOW } window;
	bool credits; /* RCCC */
	bool ordered; /* ROD; else RUD */
	bool sleek;
	uint8_t balance;  /* enum rs_balance_kind of cc/balance.h */
	uint16_t paths;   /* entropy values of a connection */
	rs_time freeze;   /* of REPS */
	uint16_t header;  /* bytes of a frame beside its payload */
	uint16_t control; /* frame bytes of an ACK, NACK, credit and probe */
	uint32_t ack_bytes, credit;
	uint32_t mpr; /* PSNs of a connection that may be unacknowledged */
	rs_time rto, base_rtt, target;
};

enum { RS_FABRIC_PORTS_MAX = 1 << 14 }; /* UDP source ports of RoCE: rdma/nic.h */
enum { RS_FABRIC_BALANCE_MIXED = 3, RS_FABRIC_BALANCES = 5 }; /* as cc/balance.h has it */

enum rs_transport_kind { RS_FABRIC_RC, RS_FABRIC_UET };

struct rs_transport_conf {
	enum rs_transport_kind kind; /* of hosts that name none */
	struct rs_uet_settings uet;
	uint16_t mtu; /* path MTU */
	bool ipv6;
	uint8_t timeout, retry, rnr_retry, min_rnr_timer, max_rd_atomic;
	enum { RS_FABRIC_CNP_BY_QP, RS_FABRIC_CNP_BY_IP, RS_FABRIC_CNP_BY_PORT } cnp_moderation;
	uint32_t ack_every;
	rs_time ack_delay;
	rs_time min_rto;
	enum { RS_FABRIC_GO_BACK_N, RS_FABRIC_SELECTIVE } recovery;
	/* of selective recovery: rdma/nic.h */
	uint32_t in_flight; /* packets of a queue pair; 0: what the longest path holds */
	rs_time reorder;    /* < 0: by the switches' routing */
	rs_time rto_low, rto_high;
	/* 0: a queue pair's packets have one UDP source port; i: kind i - 1 of cc/balance.h, over
	 * so many ports */
	uint8_t balance;
	uint16_t paths;
	enum { RS_FABRIC_ROCEV2, RS_FABRIC_NS3, RS_FABRIC_HTSIM } framing; /* wire/framing.h */
	uint16_t payload;        /* bytes of a full packet; 0: the path MTU */
	struct rs_quirks quirks; /* of NICs, but any_payload: that is payload */
};

/* A path that is given: the egress port at each switch on it. */
struct rs_pinned {
	uint32_t n;
	struct {
		uint32_t sw;
		uint16_t port;
	} hop[];
};

/* What a flow's messages are. src posts them; a READ's bytes go from dst to src. */
enum rs_flow_op { RS_FLOW_WRITE, RS_FLOW_SEND, RS_FLOW_READ, RS_FLOW_ATOMIC };
extern const char *const rs_flow_ops[]; /* "write", ..., NULL */

enum {
	RS_FLOW_MESSAGE_MAX = 1 << 30,
	RS_FLOW_DEPTH = 2, /* of a flow that names none */
	RS_FLOW_DEPTH_MAX = 4096,
	RS_FLOW_QPS_MAX = 65536,
	RS_FLOW_ATOMIC_BYTES = 8,
};

struct rs_flow {
	rs_time start;
	uint32_t src, dst; /* endpoints */
	uint64_t bytes;
	uint8_t tc;
	uint8_t cc;                              /* 0: its job's; i: rs_fabric.ccs[i - 1] */
	uint8_t op;                              /* enum rs_flow_op */
	bool inline_given;                       /* else the NIC says */
	uint32_t inline_bytes;                   /* of a message that comes with the doorbell */
	rs_time registration;                    /* of a message's memory, before it is posted */
	uint32_t message;                        /* bytes of each; 0: RS_FLOW_MESSAGE_MAX */
	uint32_t depth;                          /* messages under way; 0: RS_FLOW_DEPTH */
	const struct rs_pinned *path, *ack_path; /* of its data, of its ACKs; NULL: as routed */
};

enum rs_coll_op {
	RS_COLL_ALL_REDUCE,
	RS_COLL_REDUCE_SCATTER,
	RS_COLL_ALL_GATHER,
	RS_COLL_BROADCAST,
	RS_COLL_ALL_TO_ALL,
	RS_COLL_SEND_RECV /* each rank to the next, all bytes */
};
enum rs_coll_algorithm {
	RS_ALGO_RING,
	RS_ALGO_TREE,
	RS_ALGO_HIERARCHICAL,
	RS_ALGO_PAIRWISE,
	RS_ALGO_NCCL, /* what NCCL would take for the size on these hosts, and as it runs it */
};

/* What carries NCCL's messages between hosts: its plugin of verbs, or one of libfabric with RDMA
 * WRITE (EFA), without (EFA of A100 hosts), of Slingshot. Their software's times differ. */
enum rs_nccl_net {
	RS_NCCL_NET_IB,
	RS_NCCL_NET_EFA,
	RS_NCCL_NET_EFA_READ,
	RS_NCCL_NET_CXI,
	RS_NCCL_NET_TCPX,
	RS_NCCL_NET_TCPXO,
};

struct rs_nccl_searches;
/* With RS_ALGO_NCCL: the release, its variables, and what they do not tell. */
struct rs_nccl_conf {
	const char *version; /* "2.27.7"; NULL: the model's default */
	enum rs_nccl_net net;
	uint32_t gpus_per_thread; /* whose kernels one thread starts, one by one; 0: 1 */
	uint32_t cores;           /* that these GPUs' proxies share; 0: one each */
	uint32_t scale;           /* bytes and times are so many times smaller; 0: 1 */
	uint64_t as_bytes;        /* choose as for an operation of this size; 0: of its own */
	bool in_graph;            /* of a graph of work: its program is ahead of its GPUs */
	uint32_t n_env;
	const char **env;                  /* name, value, name, value, ... */
	struct rs_nccl_searches *searches; /* nccl/searches.h: a run's, no description's; NULL */
};

/* Which GPUs a job's ranks are: the first free ones, free ones of hosts in a drawn order, as few of
 * a host as can be, or a list. */
enum rs_place {
	RS_PLACE_PACKED,
	RS_PLACE_RANDOM,
	RS_PLACE_SPREAD,
	RS_PLACE_RAILS,
	RS_PLACE_LISTED
};

struct rs_collective_conf {
	enum rs_coll_op op;
	enum rs_coll_algorithm algorithm;
	uint64_t bytes;      /* nccl-tests' size: of the buffer of a rank */
	uint32_t n_ranks;    /* 0: all GPUs */
	const uint32_t *gpu; /* of each rank; NULL: rank i is GPU i. Drawn places: of seed 1 */
	enum rs_place place;
	/* auto: GPUs of its own while there are enough, else others' too; yes: takes GPUs that
	 * other jobs have, and leaves its own to others; no: refused where there are too few */
	enum { RS_SHARE_AUTO, RS_SHARE_YES, RS_SHARE_NO } share;
	const uint32_t *listed; /* RS_PLACE_LISTED */
	uint32_t n_listed;
	uint32_t channels;    /* 0: rs_fabric_channels(); a loaded fabric has none of those */
	uint32_t qps;         /* a connection */
	uint64_t chunk;       /* NCCL's step: 512 KiB. A ring's chunk is slots/2 of them */
	uint32_t slots;       /* messages in flight a connection; 8 (NCCL_STEPS) */
	rs_time step_latency; /* software a step: NCCL's network proxy; default 0, stated in docs */
	rs_time registration; /* of a message's memory before it is posted, a rank's one by one */
	uint32_t repeat;      /* run so many times back to back; 1 */
	uint8_t tc;
	rs_time start;
	/* where NICs find its bytes: GPUs, their own socket, another one */
	enum { RS_COLL_IN_GPU, RS_COLL_IN_HOST, RS_COLL_IN_FAR } memory;
	const char *type; /* "float": for the table */
	uint8_t type_bytes;
	uint32_t stride; /* ring: ranks r, r + stride, ... form a group; 0 or 1: neighbours */
	uint32_t group;  /* members of a group; 0: n_ranks / stride. All groups run at once */
	struct rs_nccl_conf nccl;
	bool as_nccl; /* nothing said how: RS_ALGO_NCCL where GPUs are described, else the ring */
};

/* The model of a training step that is run node by node; docs/workloads.md has what follows. */
struct rs_model {
	const char *name;
	uint32_t layers, hidden, heads, kv_heads, head_dim;
	uint32_t ffn;        /* inner width of a dense layer's MLP */
	bool gated;          /* the MLP has three matrices, not two */
	uint32_t vocab;      /* 0: no embedding and no output layer */
	uint32_t sequence;   /* tokens */
	double attention;    /* parameters of a layer's attention; 0: by its heads */
	uint32_t experts;    /* of a layer; 0: dense */
	uint32_t top_k;      /* of them a token goes to */
	uint32_t shared;     /* experts that each token goes to beside */
	uint32_t expert_ffn; /* inner width of one */
	uint32_t dense;      /* layers before the first with experts */
};

enum rs_schedule { RS_SCHEDULE_1F1B, RS_SCHEDULE_GPIPE, RS_SCHEDULE_INTERLEAVED };
enum rs_context { RS_CONTEXT_RING, RS_CONTEXT_ALL_GATHER };

/* How it is run. */
struct rs_step_conf {
	bool on; /* else the step is the closed form of rs_train_plan() */
	struct rs_model model;
	uint32_t cp, ep;    /* context, expert degree */
	uint32_t expert_tp; /* over how many ranks an expert is split; 0: as tp */
	uint32_t ends;      /* layers that the embedding, and the output layer, count as when layers
			       are dealt to stages */
	uint8_t gradient_bytes; /* of a number of gradients; 0: as parameters' */
	uint32_t chunks;        /* of layers a stage, interleaved; 1 */
	uint32_t microbatches;  /* of a step and replica */
	uint32_t micro_batch;   /* sequences of one */
	enum rs_schedule schedule;
	enum rs_context context;
	uint8_t zero;       /* 0: gradients all-reduced; 1, 2: reduced and scattered, parameters
			       gathered once a step; 3: gathered for each pass, a layer at a time */
	bool sequence;      /* sequence parallel: tensor groups scatter and gather */
	bool recompute;     /* the forward pass again before each backward pass */
	double skew;        /* load of the fullest expert over the mean; 1 */
	uint8_t dispatch;   /* bytes a number of what goes to experts; 2, fp8: 1 */
	uint32_t scale;     /* bytes and compute times are divided by it, results multiplied */
	double peak, share; /* FLOP/s of a GPU, and what is achieved of it; 0: flops is said */
};

struct rs_train_conf {
	double parameters;
	uint8_t type_bytes;  /* gradients, parameters of a step of layers; bf16 2 */
	double tokens;       /* a step, whole job */
	uint32_t dp, tp, pp; /* dp 0: from the ranks */
	double flops;        /* achieved FLOP/s a GPU */
	uint64_t bucket;     /* gradient bucket bytes */
	double overlap;      /* share of the backward pass that communication may hide under; 1 */
	uint64_t simulate;   /* bytes a rank simulated packet by packet; the rest is extended */
	struct rs_collective_conf collective; /* how a bucket is all-reduced */
	struct rs_step_conf step;
};

static inline uint32_t rs_collective_gpu(const struct rs_collective_conf *c, uint32_t rank)
{
	return c->gpu ? c->gpu[rank] : rank;
}

/* A trace of another program (import/trace.h); its collectives as the job's collective says. */
struct rs_work;
struct rs_trace_job {
	uint32_t n_files;
	const char **file;
	const char *groups; /* NULL: none */
	double flops;
	const struct rs_work *work;
};

/* Requests that some GPUs prefill and others decode: collective/serve.h. Ranks: first those that
 * prefill. */
struct rs_serve_conf {
	uint32_t prefill, decode; /* GPUs */
	uint32_t requests;
	double rate;            /* of arrivals a second, by a Poisson process; 0: arrival[] */
	const rs_time *arrival; /* [requests], ascending; NULL: drawn */
	const char *arrivals;   /* the file that they are from; NULL: none */
	uint64_t kv;            /* bytes of a request's keys and values */
	uint32_t pieces;        /* in which they go, as layers are done */
	rs_time prefill_time, decode_time; /* of a request's prefill; of its first token after */
	rs_time slo; /* time to first token that counts as good; RS_NEVER: any */
	uint64_t seed;
};

enum rs_job_kind {
	RS_JOB_FLOWS,
	RS_JOB_COLLECTIVE,
	RS_JOB_TRAIN,
	RS_JOB_TRACE,
	RS_JOB_SERVE,
	RS_JOB_KINDS
};
extern const char *const rs_job_kinds[RS_JOB_KINDS]; /* "flows", ... */

/* Where a flow's bytes are, at both ends: the memory of the NIC's socket, of the GPU that uses this
 * NIC, or of another socket than the NIC's. */
enum rs_flow_memory { RS_MEMORY_HOST, RS_MEMORY_GPU, RS_MEMORY_FAR };
extern const char *const rs_flow_memories[]; /* "host", "gpu", "far", NULL */
struct rs_job {
	enum rs_job_kind kind;
	const char *name;
	struct rs_where at;
	uint32_t n_flows;
	struct rs_flow *flows;
	enum rs_flow_memory memory;
	uint8_t cc; /* 0: the sending host's; i: rs_fabric.ccs[i - 1] */
	struct rs_collective_conf collective;
	struct rs_train_conf train;
	struct rs_trace_job trace;
	struct rs_serve_conf serve;
};

/* NULL for flows. */
const struct rs_collective_conf *rs_job_collective(const struct rs_job *j);
/* Whether it is run as a graph of work (fabric/work.h). */
bool rs_job_is_work(const struct rs_job *j);

struct rs_setting {
	const char *path, *value; /* value as YAML flow text */
	struct rs_where at;
};
struct rs_whatif {
	const char *name;
	uint32_t n;
	struct rs_setting *set;
};

enum rs_network_kind {
	RS_NET_SINGLE,
	RS_NET_LEAF_SPINE,
	RS_NET_FAT_TREE,
	RS_NET_RAIL,
	RS_NET_EXPLICIT
};

/* What the network was made from, resolved: for writing it out again. */
struct rs_network_conf {
	uint32_t plain_hosts; /* hosts that network.hosts or the topology made; 0: groups */
	uint32_t nics;        /* of each of those */
	uint32_t k, tiers, leaves, spines; /* tiers: of a fat tree */
	uint32_t hosts_per_leaf;           /* rail: of a group's leaves; 0: dealt out evenly */
	uint32_t rails;                    /* leaves of a group of hosts; leaf-spine: 1 */
	uint32_t links;                    /* of a pair of switches */
	uint32_t ports;                    /* that a switch has at most */
	bool up_down; /* routes go up, then down (routes.c); else they are the shortest */
	int64_t rate, uplink_rate;
	rs_time delay, uplink_delay;
	double loss;
};

/* What happens to links at a time: they lose all that is sent over them, or have another rate or
 * loss, or lose some packets. */
struct rs_fabric_event {
	rs_time at, until;     /* RS_NEVER: to the end */
	const uint32_t *links; /* in both directions */
	uint32_t n_links;
	bool down;
	int64_t rate;  /* 0: the link's own */
	double loss;   /* negative: the link's own */
	uint32_t drop; /* packets with payload that the link loses from `at` on, each way */
	uint32_t skip; /* with payload, too, that go through before those */
	bool pause;    /* the NIC at the link holds all classes with PFC */
	uint32_t text; /* in rs_fabric_events: as it was written */
};

/* fabric.events, and how soon switches take what is down out of their routes. */
struct rs_fabric_events {
	uint32_t n;
	struct rs_fabric_event *event; /* each occurrence of those that repeat */
	uint32_t n_texts;
	const char **text; /* as they were written, YAML flow text */
	rs_time detect;    /* until the switches at the ends of a link know */
	rs_time converge;  /* from then until all switches have new routes */
};

/* As event i was written; one that was built by calls has no words. */
static inline const char *rs_fabric_event_text(const struct rs_fabric_events *v, uint32_t i)
{
	return v->event[i].text < v->n_texts ? v->text[v->event[i].text] : "an event";
}

enum rs_fabric_preset { RS_PRESET_NONE, RS_PRESET_NS3 };

/* What a run keeps of itself over time (sim/series.h); it changes no result. */
struct rs_observe {
	bool on;
	rs_time interval; /* of a bin; 0: 1 us, and longer as the run gets longer */
	uint32_t flows;   /* connections that are followed, at most; 0: 256 */
	uint32_t ports;   /* ports that files have the rows of, at most; 0: 256 */
	bool alone;       /* each of several jobs is run alone, too */
	uint32_t n_exact; /* switches and NICs, by name, of which each packet is kept; "all" */
	const char **exact;
};

struct rs_fabric {
	struct rs_arena *arena;
	const char *name;          /* the file */
	const char *title, *about; /* optional words of the author; NULL */
	const char *assumed;       /* what a file that is no description left to assume; NULL */
	uint32_t n_hosts, n_endpoints, n_switches, n_links, n_gpus;
	uint32_t room_switches, room_links; /* of fabric/build.h */
	struct rs_fabric_host *hosts;
	struct rs_fabric_endpoint *endpoints;
	struct rs_fabric_switch *switches;
	struct rs_fabric_link *links;
	const struct rs_fabric_link *drawn; /* links before changes; NULL: there were none */
	uint32_t n_changes, n_down;         /* of all but hosts; links that are down */
	const char **changes;               /* as YAML flow text */
	uint32_t *change_at; /* each one's number in the list, which has hosts', too */
	enum rs_network_kind kind;
	enum rs_fabric_preset preset; /* what the defaults below stand for */
	double *gpu_speed;  /* [GPU]: share of the usual that it computes at; NULL: all of it */
	bool pair_by_index; /* a host's i-th GPU uses its i-th NIC, however far; else the nearest */
	struct rs_network_conf net;
	struct rs_routes routes;
	struct rs_qos qos;
	struct rs_qos *tier_qos[RS_TIERS]; /* of a tier's switches where it differs; NULL: qos */
	struct rs_cc_conf cc;              /* where nothing else says */
	uint32_t n_ccs; /* what classes, hosts, jobs and flows have of their own: */
	struct rs_cc_conf *ccs;
	struct rs_transport_conf transport;
	struct rs_host_params host_params;
	struct rs_fabric_events events;
	uint32_t n_jobs;
	struct rs_job *jobs;
	bool places_drawn; /* a job's place is drawn from the seed */
	struct rs_observe observe;
	uint32_t n_whatifs;
	struct rs_whatif *whatifs;
	uint32_t n_unknown; /* what sources did not say, one line each, for people */
	const char **unknown;
};

/* What holds at a switch. */
static inline const struct rs_qos *rs_fabric_qos(const struct rs_fabric *f, uint32_t sw)
{
	uint8_t tier = f->switches[sw].tier;

	if (f->switches[sw].qos)
		return f->switches[sw].qos;
	return tier < RS_TIERS && f->tier_qos[tier] ? f->tier_qos[tier] : &f->qos;
}

void rs_fabric_free(struct rs_fabric *f);

/* ---- Congestion control: number 0 is f->cc, i is f->ccs[i - 1] ---- */

const struct rs_cc_conf *rs_fabric_cc(const struct rs_fabric *f, uint32_t i);
/* Of what endpoint src sends in class tc: the flow's own, its job's, the host's, the class's, the
 * fabric's. j, w: NULL: there is none. */
uint8_t rs_fabric_cc_of(const struct rs_fabric *f, const struct rs_job *j, const struct rs_flow *w,
			uint32_t src, uint8_t tc);
/* Is there one of this kind; of another kind than none? Their kinds, "dcqcn, swift". */
bool rs_fabric_has_cc(const struct rs_fabric *f, const char *kind);
bool rs_fabric_controls(const struct rs_fabric *f);
const char *rs_fabric_cc_names(const struct rs_fabric *f, char *buf, size_t size);

/* What an endpoint speaks; is there one that speaks Ultra Ethernet; one that speaks RC? */
enum rs_transport_kind rs_fabric_speaks(const struct rs_fabric *f, uint32_t endpoint);
bool rs_fabric_has_uet(const struct rs_fabric *f);
bool rs_fabric_has_rc(const struct rs_fabric *f);
/* The longest frame that links carry: max_frame, or what the transport sends if that is longer. */
uint32_t rs_fabric_max_frame(const struct rs_fabric *f, const struct rs_qos *q);
/* How long a port of this rate goes on sending after a PAUSE came. */
rs_time rs_fabric_pause_response(const struct rs_qos *q, int64_t rate);
/* What a NIC keeps free in its buffer for what comes after its PAUSEs: all its lossless classes'.
 */
uint64_t rs_fabric_nic_headroom(const struct rs_fabric *f, uint32_t endpoint);

/* Facts for `fabric show`. */
struct rs_network_facts {
	uint32_t tiers, switches, host_links, fabric_links;
	double oversubscription; /* worst leaf: rate down / rate up; 1 non-blocking; 0: one tier */
	int64_t bisection; /* bits per second across the worst even split of leaves, one way */
	uint32_t diameter; /* switches on the longest shortest path */
};
void rs_fabric_facts(const struct rs_fabric *f, struct rs_network_facts *out);

/* What a GPU computes at, as a share of what a job says: 1 where no change says less. */
static inline double rs_fabric_gpu_speed(const struct rs_fabric *f, uint32_t gpu)
{
	return f->gpu_speed ? f->gpu_speed[gpu] : 1;
}

/* GPU -> host, and the endpoint that it uses: the nearest (ties spread round-robin as NCCL does),
 * or by index. */
uint32_t rs_fabric_rank_host(const struct rs_fabric *f, uint32_t rank);
uint32_t rs_fabric_rank_endpoint(const struct rs_fabric *f, uint32_t rank);
/* The routes that f would have with these links down as well, in arena a; an entry of down a link.
 * What they no longer reach has no ports. -ENOMEM. */
int rs_fabric_reroute(const struct rs_fabric *f, const bool *down, struct rs_arena *a,
		      struct rs_routes *out, struct rs_error *e);
/* Whether routes lead from one endpoint to the other, both of whose links are up. */
bool rs_fabric_reachable(const struct rs_fabric *f, uint32_t src, uint32_t dst);
/*
 * The GPUs of each job's ranks, an entry a job; NULL for flows, and where rank i is GPU i. Where
 * places are drawn (places_drawn) they depend on the seed. In the arena; -EINVAL where they do not
 * fit.
 */
int rs_fabric_place(const struct rs_fabric *f, uint64_t seed, struct rs_arena *a,
		    const uint32_t **gpu, struct rs_error *e);
/*
 * Channels of a collective that names none: a channel a NIC, as many as neighbours of one ring that
 * are on one host use there. 1 for hierarchical and pairwise: each rank has its own NIC at work.
 */
uint32_t rs_fabric_channels(const struct rs_fabric *f, const struct rs_collective_conf *c);
/* The rank's GPU part in its host's inside, or RS_NO_PART for plain hosts. */
int rs_fabric_rank_part(const struct rs_fabric *f, uint32_t rank);

#endif
