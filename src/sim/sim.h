/*
 * The virtual-time world: runs a described fabric packet by packet. A run is a function of the
 * fabric and the seed alone: the same, bit for bit, however often and beside whatever it runs.
 */
#ifndef RS_SIM_SIM_H
#define RS_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/time.h"
#include "cc/cc.h"
#include "collective/program.h"
#include "collective/serve.h"
#include "collective/train.h"
#include "fabric/fabric.h"
#include "sim/ranks.h"
#include "sim/series.h"

struct rs_nccl_searches;
struct rs_sim_transport;

/* What a counterfactual takes away, one at a time. */
struct rs_sim_ideal {
	bool host;     /* nothing inside a host slows it: NICs reach memory at once */
	bool network;  /* one switch without contention inside, of the NICs' own rate */
	bool no_pause; /* PFC off, switch and NIC buffers without end */
	bool no_loss;  /* links lose nothing */
	bool no_cc;    /* senders at line rate */
	bool placed;   /* each queue pair has a path of its own, in order: no link has more than it
			  must */
	bool no_drops; /* what finds no room is held beyond the buffers; pauses as they are */
	bool in_order; /* a packet that overtakes another costs nothing: receivers take any order */
	bool host_links;  /* inside hosts: links of no width, limits as they are */
	bool host_limits; /* inside hosts: outstanding reads, credits and tags without end */
	bool receiver;    /* hosts take what arrives at once; what they send is as it is */
	uint64_t skip;    /* bits of jobs that are left out: they send nothing */
};

struct rs_sim_options {
	uint64_t seed;
	struct rs_sim_ideal ideal;
	unsigned threads; /* that this run may use; 0 or 1: one. Results do not depend on it. */
	const struct rs_ranks *ranks; /* the processes that share this run; NULL: this one alone */
	rs_time max_time;             /* virtual; 0: the engine's limit of 2^52 ps (75 minutes) */
	const char *pcap;             /* pcapng of the links named below; NULL: none */
	const char *
		pcap_links; /* comma list of switch or host names, "all"; NULL: endpoint 0's link */
	struct rs_observe observe;                /* fabric.h; what is kept: rs_sim_result.series */
	rs_time rate_interval;                    /* sample flows' rates so often; 0: never */
	const struct rs_sim_transport *transport; /* sim/transport.h; NULL: RoCE */
	struct rs_nccl_searches *searches; /* nccl/searches.h: of runs beside it; NULL: none */
	const volatile int *stop; /* non-zero ends the run at the next window; NULL: never */
	void (*progress)(void *arg, rs_time now, double share); /* NULL: none */
	void *progress_arg;
};

struct rs_sim_flow {
	uint32_t job, src, dst;
	uint64_t bytes;
	rs_time start, finish, /* the last acknowledgement reached the sender; RS_NEVER: not */
		delivered; /* hosts with an inside: a poll of the receiver's memory sees the last
			    * byte; RS_NEVER: plain hosts, or not finished */
};

/* What congestion control lets a flow send at; from its start to its finish. */
struct rs_sim_rate {
	rs_time when;
	int64_t rate;
	uint32_t flow;
};

enum { RS_SIM_PLACES = 64 };
enum { RS_SIM_RATES_MAX = 1 << 22 }; /* samples a host; later ones are left out */

/* How a job ended, or why it did not. */
enum rs_sim_end {
	RS_SIM_DONE,
	RS_SIM_FAILED,     /* a queue pair ended in error: what hung on it never ends */
	RS_SIM_DEADLOCK,   /* the run ended in the circle of the result's `deadlock` */
	RS_SIM_NO_TIMEOUT, /* it waits for packets that were lost; transport.timeout is 0 */
	RS_SIM_STOPPED,    /* it was under way when stop or max_time ended the run */
	RS_SIM_STUCK,      /* nothing more happens, for none of these reasons */
	RS_SIM_LEFT_OUT,   /* by ideal.skip: it was not run */
};

struct rs_sim_job {
	const struct rs_job *conf;
	bool done; /* all of it, no queue pair in error */
	enum rs_sim_end end;
	rs_time start, finish;
	uint32_t failed;                /* queue pairs that ended in error */
	uint64_t cc_cuts, cc_increases; /* by congestion control */
	/* where most packets of what did not end were lost, and how many of one pair's ("" and 0:
	 * none, or not known) */
	char place[64];
	uint64_t lost;
	/* collectives */
	struct rs_coll *coll;   /* its plan; borrowed from the result */
	rs_time first, further; /* mean duration of the first and of each further repetition */
	/* training */
	struct rs_train_plan plan;
	struct rs_train_result train;
	struct rs_step_plan step; /* of a step that is run node by node */
	/* a graph of work (a step node by node, a trace, requests); NULL: none */
	struct rs_program *program;
	struct rs_program_result work;
	struct rs_request *requests; /* [conf->serve.requests], of a job that serves */
	struct rs_serve_result serve;
};

struct rs_sim_counters {
	uint64_t data_packets, ack_packets, packet_hops, ack_hops, pfc_hops, events;
	uint64_t drops, link_losses, ecn_marked, cnps, pauses, nic_pauses, retransmits;
	uint64_t timeouts, naks, rnr_naks, nic_drops;
	uint64_t trimmed;   /* of Ultra Ethernet: packets that switches cut */
	uint64_t credits;   /* packets by which receivers granted: Ultra Ethernet's, cc: credits */
	uint64_t ecn_again; /* marks that packets had already */
	/* RoCE packets of all kinds: sent = delivered + drops + nic_drops + link_losses + in flight
	 */
	uint64_t packets_sent, packets_delivered, packets_in_flight;
	uint64_t reordered;   /* of retransmits: nothing was lost, packets came out of order */
	uint64_t data_marked; /* marked data packets that arrived */
	uint64_t cc_cuts, cc_increases; /* by congestion control */
	uint64_t max_buffer, max_queue;
	rs_time paused; /* time that ports and NICs were held by PFC, summed; until the end */
};

/* Why a packet was dropped. */
enum rs_drop_why {
	RS_DROP_LOSSY,    /* of a class without PFC, beyond its share of the buffer */
	RS_DROP_HEADROOM, /* of a class with PFC: what came after the PAUSE found no room */
	RS_DROP_LIMIT,    /* the egress queue's limit */
	RS_DROP_WATCHDOG, /* the PFC watchdog emptied a queue that was paused for too long */
	RS_DROP_NO_ROUTE,
	RS_DROP_NIC,  /* a NIC's receive buffer */
	RS_DROP_LINK, /* a link lost it: bit errors */
	RS_DROP_QP,   /* a NIC: no such queue pair, or one that is in error */
	RS_DROPS_WHY
};

/* Packets dropped at one place for one reason, those with most packets first. */
struct rs_sim_drop {
	/* the port that it came in by ("leaf0 port 3, from h3"); of the watchdog the egress that it
	 * emptied ("leaf0 port 3, to h3"); the NIC ("h3/nic0"); the link, one direction of it
	 * ("leaf0 port 3 -> h3") */
	char place[64];
	char to[64];      /* the egress that most were for ("leaf0 port 5, to h5"); "": none */
	uint32_t node;    /* switch; RS_SIM_NO_SWITCH: a NIC or a link */
	uint32_t port;    /* of the switch, as in place; an endpoint for a NIC; the link's number */
	uint8_t tc, dscp; /* of the packets; dscp: of most; tc RS_SIM_NO_CLASS: both not known */
	enum rs_drop_why why;
	uint64_t packets;
};
#define RS_SIM_NO_SWITCH UINT32_MAX
#define RS_SIM_NO_CLASS  UINT8_MAX

/*
 * Who paused whom: a port that sent PAUSE, to which port, since what waited for. Longest first.
 * for_: the egress where most of the pauser's packets waited ("leaf0 port 5, to h5"), by time;
 * "memory of h3" for a NIC. root: from there on to the one that paused that egress (where it was
 * held for more than a tenth of the time), and so on: an egress that no one holds up, or the
 * memory.
 */
struct rs_sim_pause {
	char by[64], held[64]; /* ends of a link: "leaf0 port 3", "h3/nic0" */
	char for_[64], root[64];
	uint8_t tc;
	uint64_t pauses; /* frames */
	rs_time time;    /* held was held, in all; until the end */
};

/* A circle of ports that wait for each other (PFC deadlock), in order; none: n is 0. */
struct rs_sim_deadlock {
	rs_time since; /* the circle was closed */
	uint8_t tc;
	uint32_t n;
	struct {
		char name[64];
	} * port;
};

/* A connection whose queue pair ended in error: what it was for, and why. */
struct rs_sim_failure {
	uint32_t job, src, dst; /* endpoints */
	uint8_t status;         /* enum rs_wc_status, of the first that failed */
	/* where most of its packets, or those that came back to it, were lost: as in rs_sim_drop;
	 * "": none was. Connections of one pair of endpoints are not told apart. */
	char place[64];
	uint64_t lost; /* packets lost there */
};

/*
 * How paths were found where placement was made ideal. bound and reached: the time that the fullest
 * link, between switches or at an endpoint, needs for all its bytes of the run: the least possible,
 * and as it was placed. No run can be shorter than bound. Paths are found for what sends together
 * (a batch); above: how far the worst batch's fullest link is above its own bound, of those that
 * nothing else was beside.
 */
enum rs_sim_placed {
	RS_PLACED_NOT,            /* it was not */
	RS_PLACED_COLOURED,       /* a Clos network: edge colouring, then repair */
	RS_PLACED_GREEDY,         /* any other: each flow where it does least, then repair */
	RS_PLACED_BY_DESTINATION, /* more than 4 Mi queue pairs: destinations in turn, no bound */
};

struct rs_sim_placement {
	enum rs_sim_placed method;
	uint64_t flows; /* queue pairs with a path of their own, between switches */
	uint32_t batches;
	rs_time bound, reached;
	uint32_t above; /* in 1/1000 of the bound; 0: every batch is as even as it can be */
};

struct rs_sim_link {
	char name[64];
	uint32_t host;
	uint64_t bytes;
	rs_time busy;
	int64_t rate;
};

/* What may be outstanding inside a host, or a NIC's rate of messages: time that something was
 * ready and waited for it. Most time first. */
enum rs_limit_kind {
	RS_LIMIT_READS,    /* read requests outstanding (tags) */
	RS_LIMIT_BUFFER,   /* bytes of reads outstanding */
	RS_LIMIT_CREDITS,  /* posted writes */
	RS_LIMIT_MESSAGES, /* work requests a NIC begins in a second */
	RS_LIMIT_QP,       /* what one queue pair may send: its rate, or its work requests */
};
struct rs_sim_limit {
	char name[64]; /* "h3 nic0" */
	uint32_t host;
	enum rs_limit_kind kind;
	rs_time stalled;
};

/* What follows an event: the rate of the whole network, in bits per second of useful frames. */
struct rs_sim_regain {
	rs_time at;
	uint32_t event;      /* in rs_fabric_events: the first that begins or ends then */
	bool begins;         /* else it ends */
	int64_t before;      /* in the millisecond before; 0: there was no time before */
	int64_t least, left; /* the lowest until then; the second half's of what is judged */
	rs_time time;        /* until 95 % of what is left; 0: it did not fall below that;
			      * RS_NEVER: never */
};

struct rs_sim_result {
	struct rs_arena *arena;
	bool complete; /* every job done that was run */
	bool stopped;  /* by stop or max_time */
	rs_time sim_time;
	uint32_t n_jobs, n_flows;
	bool several_ccs; /* jobs may differ in congestion control: their cuts are told apart */
	struct rs_sim_job *jobs;
	struct rs_sim_flow *flows;
	struct rs_sim_rate *rates; /* by time, then flow */
	uint64_t n_rates;
	struct rs_sim_counters counters;
	struct rs_sim_placement placement;
	uint32_t n_links; /* the busiest links inside hosts, at most 8 */
	struct rs_sim_link *links;
	uint32_t n_limits; /* inside hosts, at most 8 */
	struct rs_sim_limit *limits;
	/* at most RS_SIM_PLACES of each */
	uint32_t n_drops, n_pauses, n_failures;
	struct rs_sim_drop *drops;
	struct rs_sim_pause *pauses;
	struct rs_sim_failure *failures;
	struct rs_sim_deadlock deadlock;
	uint32_t n_regains; /* times at which events begin and end, 16 at most */
	struct rs_sim_regain *regains;
	struct rs_series *series; /* NULL: options.observe was off */
	uint64_t *nic_bytes; /* an entry an endpoint: payload that its NIC sent; not what it sent
				again */
	double wall_s, cpu_s;
	unsigned threads; /* that ran it */
	/* memory of a queue pair, of a packet in flight, of a switch's port with its link */
	uint64_t qp_bytes, packet_bytes, port_bytes;
	uint64_t packets_peak; /* packets in flight or free for reuse at the end */
};

/* Runs f to the end of its jobs. f is only read. Negative errno with e filled. */
int rs_sim_run(const struct rs_fabric *f, const struct rs_sim_options *o,
	       struct rs_sim_result **out, struct rs_error *e);
void rs_sim_result_free(struct rs_sim_result *r);

/* Nearest-rank percentile of the finished flows' completion times; RS_NEVER when there are none. */
rs_time rs_sim_fct(const struct rs_sim_result *r, uint32_t job, double percentile);

/* ---- Several runs side by side ---- */
struct rs_sim_case {
	const char *name;
	const struct rs_fabric *fabric;
	struct rs_sim_options options;
	struct rs_sim_result *result; /* out */
	struct rs_error error;        /* out; code 0: fine */
	/* Both NULL, or of a case among thousands, whose fabric and result are not kept: begin
	 * makes the fabric, end takes what it wants of the result and frees both. They are called
	 * in the thread that runs the case, end also where begin has set the error. */
	void (*begin)(struct rs_sim_case *c);
	void (*end)(struct rs_sim_case *c);
	void *arg;
};
/* threads: at most so many at a time; 0: one a core. Results do not depend on it. Returns how many
 * there were. */
unsigned rs_sim_run_all(struct rs_sim_case *cases, uint32_t n, unsigned threads);

#endif
