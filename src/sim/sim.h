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
#include "collective/collective.h"
#include "fabric/fabric.h"
#include "sim/ranks.h"

/* What a counterfactual takes away, one at a time. */
struct rs_sim_ideal {
	bool host;     /* nothing inside a host slows it: NICs reach memory at once */
	bool network;  /* one switch without contention inside, of the NICs' own rate */
	bool no_pause; /* PFC off, switch and NIC buffers without end */
	bool no_loss;  /* links lose nothing */
	bool no_cc;    /* senders at line rate */
	bool placed; /* flows are dealt over equal-cost paths by destination: no collisions in rings
		      */
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
	rs_time rate_interval; /* sample flows' rates so often; 0: never */
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

enum { RS_SIM_RATES_MAX = 1 << 22 }; /* samples a host; later ones are left out */

struct rs_sim_job {
	const struct rs_job *conf;
	bool done;
	rs_time start, finish;
	uint32_t failed; /* queue pairs that ended in error */
	/* collectives */
	struct rs_coll *coll;   /* its plan; borrowed from the result */
	rs_time first, further; /* mean duration of the first and of each further repetition */
	/* training */
	struct rs_train_plan plan;
	struct rs_train_result train;
};

struct rs_sim_counters {
	uint64_t data_packets, ack_packets, packet_hops, ack_hops, pfc_hops, events;
	uint64_t drops, link_losses, ecn_marked, cnps, pauses, nic_pauses, retransmits;
	uint64_t timeouts, naks, rnr_naks, nic_drops;
	uint64_t data_marked;	    /* marked data packets that arrived */
	uint64_t cc_cuts, cc_increases; /* by congestion control */
	uint64_t max_buffer, max_queue;
	rs_time paused; /* port-time under PFC, summed */
};

struct rs_sim_link {
	char name[64];
	uint64_t bytes;
	rs_time busy;
	int64_t rate;
};

struct rs_sim_result {
	struct rs_arena *arena;
	bool complete; /* every job done */
	bool stopped;  /* by stop or max_time */
	rs_time sim_time;
	uint32_t n_jobs, n_flows;
	struct rs_sim_job *jobs;
	struct rs_sim_flow *flows;
	struct rs_sim_rate *rates; /* by time, then flow */
	uint64_t n_rates;
	struct rs_sim_counters counters;
	uint32_t n_links; /* the busiest links inside hosts, at most 8; none of a shared run */
	struct rs_sim_link *links;
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
};
/* threads: at most so many at a time; 0: one a core. Results do not depend on it. Returns how many
 * there were. */
unsigned rs_sim_run_all(struct rs_sim_case *cases, uint32_t n, unsigned threads);

#endif
