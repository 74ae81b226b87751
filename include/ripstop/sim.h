/*
 * Running a fabric in virtual time, packet by packet, and what came out. A run is a function of the
 * fabric and the seed: threads and what runs beside it change nothing.
 */
#ifndef RIPSTOP_SIM_H
#define RIPSTOP_SIM_H

#include <ripstop/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ripstop_result;

struct ripstop_sim_options {
	size_t size;
	uint64_t seed;     /* 0: 1 */
	uint32_t diagnose; /* 1: also with one thing made ideal at a time, with each what-if and
			    * with repairs: causes, and what each fix gives */
	uint32_t seeds;    /* of a diagnosis; 0: 5 where the runs are short, else 1; at most 32 */
	uint32_t threads;  /* 0: one a core */
	uint32_t unused;
	int64_t max_time;       /* virtual; 0: none */
	int64_t rate_interval;  /* between samples of flows' rates; 0: none are taken */
	const char *pcap;       /* a pcapng file to write; NULL: none */
	const char *pcap_links; /* comma list of names, or "all"; NULL: the first NIC's link */
	/* Now and then, from one thread at a time, which need not be the caller's. share: done so
	 * far, 0 to 1. Other than 0: cancel. */
	int (*progress)(void *arg, int64_t now, double share);
	void *progress_arg;
	volatile int *cancel; /* other than 0 cancels, from any thread; NULL: none */
};

/*
 * Runs all the work of a fabric. o may be NULL. A cancelled run is no error: it has a result, which
 * says `stopped`. -EINVAL: the fabric is wrong; -ENOMEM; -EIO: the pcapng.
 */
RIPSTOP_API int ripstop_simulate(const struct ripstop_fabric *f,
				 const struct ripstop_sim_options *o, struct ripstop_result **r,
				 struct ripstop_error **e);
RIPSTOP_API void ripstop_result_free(struct ripstop_result *r);

/* ---- The whole ---- */

struct ripstop_summary {
	size_t size;
	int32_t complete; /* each job is done */
	int32_t stopped;  /* by max_time or cancel */
	uint32_t runs;    /* run 0 is the fabric as described; others: of a diagnosis */
	uint32_t causes, jobs, seeds, endpoints, threads;
	uint64_t flows, rates;
	int64_t sim_time;
	double wall_s, cpu_s;
};
RIPSTOP_API void ripstop_result_summary(const struct ripstop_result *r, struct ripstop_summary *s);
/* "h3" or "h3/nic0"; NULL: there is none of this number. The result's. */
RIPSTOP_API const char *ripstop_result_endpoint(const struct ripstop_result *r, uint32_t endpoint);
/* What `ripstop sim --json` writes; freed by ripstop_free(). */
RIPSTOP_API int ripstop_result_json(const struct ripstop_result *r, char **text,
				    struct ripstop_error **e);

/* ---- Arrays: n elements from `from` on; the whole number is returned ---- */

/* Texts in elements are the result's. A run that is not there has no elements. */

enum ripstop_end {
	RIPSTOP_DONE,
	RIPSTOP_FAILED,     /* a queue pair ended in error */
	RIPSTOP_DEADLOCK,   /* ports that wait for each other */
	RIPSTOP_NO_TIMEOUT, /* packets were lost and the timeout is off */
	RIPSTOP_STOPPED,    /* by max_time or cancel */
	RIPSTOP_STUCK,
	RIPSTOP_LEFT_OUT, /* this run is without it */
};

struct ripstop_job {
	const char *name;
	const char *kind; /* "flows", "collective", "train", "trace", "serve" */
	uint32_t end;     /* enum ripstop_end */
	uint32_t ranks;   /* of a collective or step */
	int64_t start, finish;
	int64_t time;          /* what it is judged by: first start to last end of flows, a further
				* repetition of a collective, a step; of requests the mean time to
				* first token, of flows that begin one after another the mean time
				* of one; RIPSTOP_NEVER: not done */
	int64_t p50, p99, max; /* of flows' completion times, or requests' first tokens (no max);
				* RIPSTOP_NEVER: none */
	uint64_t bytes;        /* of a collective; that all ranks of other work sent */
	double algbw, busbw;   /* bytes per second, as nccl-tests has them; 0: not done */
	int64_t compute, communication, exposed; /* of a training step, a trace, requests */
	double efficiency;
};
RIPSTOP_API size_t ripstop_result_jobs(const struct ripstop_result *r, uint32_t run, size_t from,
				       size_t n, struct ripstop_job *out, size_t each);

struct ripstop_flow_time {
	int64_t start;
	int64_t finish;    /* at the sender; RIPSTOP_NEVER: not */
	int64_t delivered; /* seen in the receiver's memory; RIPSTOP_NEVER: plain hosts, or not */
	uint64_t bytes;
	uint32_t src, dst, job, unused;
};
RIPSTOP_API size_t ripstop_result_flows(const struct ripstop_result *r, uint32_t run, size_t from,
					size_t n, struct ripstop_flow_time *out, size_t each);

/* A sample of what congestion control lets a flow send at; by time, then flow. Of run 0. */
struct ripstop_rate {
	int64_t when, rate;
	uint32_t flow, unused;
};
RIPSTOP_API size_t ripstop_result_rates(const struct ripstop_result *r, size_t from, size_t n,
					struct ripstop_rate *out, size_t each);

/* Payload that each endpoint's NIC sent, once. Of run 0. */
RIPSTOP_API size_t ripstop_result_sent(const struct ripstop_result *r, size_t from, size_t n,
				       uint64_t *out);

struct ripstop_counters {
	size_t size;
	uint64_t data_packets, ack_packets, packets_sent, packets_delivered, packets_in_flight;
	uint64_t packet_hops, events;
	uint64_t drops, nic_drops, link_losses; /* by switches, NICs, links */
	uint64_t ecn_marked, data_marked, cnps, cc_cuts, cc_increases;
	uint64_t pauses, nic_pauses; /* frames by switches, by NICs */
	uint64_t retransmits, reordered, timeouts, naks, rnr_naks;
	uint64_t max_queue, max_buffer; /* bytes */
	int64_t paused;                 /* time that ports were held, summed */
};
RIPSTOP_API int ripstop_result_counters(const struct ripstop_result *r, uint32_t run,
					struct ripstop_counters *c);

/* Where packets were dropped, most first; of run 0, at most 64. */
struct ripstop_drop {
	const char *place, *to; /* "leaf0 port 3, from h3"; "leaf0 port 5, to h5", or "" */
	const char *why; /* "lossy-class", "headroom", "egress-limit", "watchdog", "no-route",
			  * "nic-buffer", "link", "queue-pair" */
	uint64_t packets;
	int32_t traffic_class; /* -1: not known */
	int32_t dscp;          /* -1 */
};
RIPSTOP_API size_t ripstop_result_drops(const struct ripstop_result *r, size_t from, size_t n,
					struct ripstop_drop *out, size_t each);

/* Who paused whom, longest first; of run 0, at most 64. */
struct ripstop_pause {
	const char *by, *held;         /* the port that sent PAUSE, the port that obeyed */
	const char *waited_for, *root; /* where the pauser's packets waited; the end of the chain */
	uint64_t frames;
	int64_t time;
	uint32_t traffic_class, unused;
};
RIPSTOP_API size_t ripstop_result_pauses(const struct ripstop_result *r, size_t from, size_t n,
					 struct ripstop_pause *out, size_t each);

/* ---- The diagnosis ---- */

struct ripstop_run {
	const char *name;       /* "as described", "pauses (PFC)", a what-if's name */
	const char *kind;       /* "base", "counterfactual", "without", "ideal", "fix" */
	const char *id;         /* of a counterfactual: "pauses"; "" */
	const char *how;        /* what was changed, for people; "" */
	int64_t time;           /* of all jobs, added; RIPSTOP_NEVER: one is not done */
	double gain, low, high; /* share of the time that it saves, its 95 % interval over seeds */
	int32_t ends;           /* all its jobs finish */
	int32_t clear;          /* more than chance explains */
	uint32_t seeds, unused;
};
RIPSTOP_API size_t ripstop_result_runs(const struct ripstop_result *r, size_t from, size_t n,
				       struct ripstop_run *out, size_t each);

/* What time is lost to, most first: docs/causes.md. */
struct ripstop_cause {
	const char *id, *what, *place;
	const char *evidence[4]; /* NULL behind the last */
	double share, low, high;
	uint32_t run; /* that made it ideal */
	int32_t fix;  /* the run that mends it; -1: none */
};
RIPSTOP_API size_t ripstop_result_causes(const struct ripstop_result *r, size_t from, size_t n,
					 struct ripstop_cause *out, size_t each);

#ifdef __cplusplus
}
#endif

#endif
