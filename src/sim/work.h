/*
 * Private to sim/: the work of a run as hosts carry it out. workload.c posts messages, takes lanes'
 * steps and hears what is complete; work_make.c makes connections; work_result.c says what came of
 * them.
 */
#ifndef RS_SIM_WORK_H
#define RS_SIM_WORK_H

#include "sim/host.h"

enum {
	QPS_MAX = RS_QPS_MAX,
	SLOTS_MAX = RS_SLOTS_MAX,
};

#define NO_CONN UINT32_MAX

/* Where DMA goes: NIC to source memory, NIC to destination memory. */
struct sim_dma {
	struct rs_path from, to;
};

/* What a collective's connection keeps beside: messages over queue pairs, or inside a host. */
struct sim_messages {
	uint32_t src_rank, dst_rank;
	/* sending */
	union {
		uint64_t parts_sent[QPS_MAX]; /* over the network: parts completed, a queue pair */
		uint64_t left[SLOTS_MAX];     /* inside a host: of a message's bytes */
	};
	uint64_t sent, completed; /* messages */
	rs_time told;      /* inside a host: when the last one sent may be seen at the earliest */
	rs_time *posted;   /* [message % SLOTS_MAX]; NULL: not followed */
	uint32_t followed; /* its number among those that are */
	/* receiving */
	uint64_t parts[QPS_MAX];               /* parts arrived, a queue pair */
	uint64_t announced, arrived, consumed; /* messages */
};

/*
 * A connection. The sending half is touched by the source's node alone, the receiving half by the
 * destination's. A flow's queue pairs are made when it starts and freed when it has ended: the
 * sender's with the last completion, the receiver's some time after its last packet.
 */
struct sim_conn {
	/* both, constant */
	uint32_t job, index; /* index: of the flow or of the plan's connection */
	uint32_t src_endpoint, dst_endpoint, src_host, dst_host;
	uint32_t src_qpn, dst_qpn; /* of the first of its queue pairs */
	bool flow, nvlink;
	bool turns;  /* its queue pairs take messages in turn; else a message is dealt over all */
	bool rested; /* receiving: a flow's queue pair was there, had all of it, and is gone */
	bool registers; /* sending: the next message's memory is being registered */
	uint8_t n_qps;
	uint8_t op;           /* enum rs_flow_op */
	uint8_t error;        /* the sender's: enum rs_wc_status of its first queue pair in error */
	uint32_t outstanding; /* sending: pieces or messages not yet completed */
	struct sim_dma *dma;  /* NULL: neither end has an inside */
	rs_time visible;      /* receiving */
	rs_time kept;         /* ... by the transport of the end that is gone */
	union {
		struct sim_messages *m; /* of a collective */
		uint64_t to_post;       /* of a flow, sending: bytes not yet posted */
	};
};

struct sim_lane {
	uint64_t i, n;
	struct rs_step step;
	bool loaded, computing;
	rs_time since; /* its step was loaded */
};

struct sim_coll {
	struct rs_coll *plan;
	uint32_t job, first_conn;
	struct sim_lane *lanes; /* [rank * n_lanes + lane] */
	uint32_t *left;         /* [rank]: lanes not at their end */
	int64_t *rep;           /* [rank]: repetitions done */
	rs_time *first, *last;  /* [rank]: ends of the first and of the latest repetition */
	uint32_t first_lane;    /* number of lanes[0] among all collectives' */
	uint32_t repeat;
	struct rs_path *inside; /* [conn]: GPU to GPU */
	rs_time *posted;        /* [rank]: when its proxy is free; NULL: posts cost nothing */
	rs_time *served;        /* [host]: when its server is free; NULL: there is none */
	rs_time *registered;    /* [rank]: the same of registrations; NULL: there are none */
};

/* An endpoint's queue pairs, by number from SIM_FIRST_QPN on: the connection of each. */
struct sim_numbers {
	uint32_t *conn; /* the flow's, or NO_CONN */
	uint32_t n, room;
};

struct sim_workload {
	uint32_t n_conns, n_colls, n_flows, n_lanes;
	struct sim_conn *conns;
	struct sim_coll *colls;
	uint32_t *coll_of_job, *first_flow; /* [job] */
	struct sim_numbers *numbers;        /* [endpoint] */
	/* flows of a host, by start: starts[next[host]] .. starts[end[host] - 1] are to come */
	uint32_t *starts, *next, *end;
	uint64_t total; /* flows and lanes */
};

static inline struct sim_coll *coll_of(struct rs_sim *s, uint32_t job)
{
	return &s->work->colls[s->work->coll_of_job[job]];
}

/* The GPU that a rank of a collective is. */
static inline uint32_t gpu_of(const struct sim_coll *k, uint32_t rank)
{
	return rs_collective_gpu(&k->plan->conf, rank);
}

/* A counterfactual leaves this job out: it is planned as ever, so that the others' draws stay as
 * they are, and never starts. */
static inline bool skipped(const struct rs_sim *s, uint32_t job)
{
	return job < 64 && s->o->ideal.skip >> job & 1;
}

static inline const struct rs_flow *flow_of(const struct rs_sim *s, const struct sim_conn *c)
{
	return &s->f->jobs[c->job].flows[c->index - s->work->first_flow[c->job]];
}

/* Where a connection's bytes come from, and go. */
static inline uint32_t sim_bytes_from(const struct sim_conn *c)
{
	return c->op == RS_FLOW_READ ? c->dst_endpoint : c->src_endpoint;
}

static inline uint32_t sim_bytes_to(const struct sim_conn *c)
{
	return c->op == RS_FLOW_READ ? c->src_endpoint : c->dst_endpoint;
}

/* A flow's messages: bytes of each but the last, and how many may be under way. */
static inline uint64_t sim_flow_message(const struct rs_flow *f)
{
	return f->op == RS_FLOW_ATOMIC ? RS_FLOW_ATOMIC_BYTES
	       : f->message            ? f->message
				       : RS_FLOW_MESSAGE_MAX;
}

static inline uint32_t sim_flow_depth(const struct rs_flow *f)
{
	return f->depth ? f->depth : RS_FLOW_DEPTH;
}

/* The UDP source port of a connection's q-th: with the addresses it decides the path. */
static inline uint16_t sim_source_port(const struct rs_sim *s, uint64_t conn, unsigned q)
{
	return (uint16_t)(0xc000 | (rs_mix64(s->o->seed ^ (conn * QPS_MAX + q)) & 0x3fff));
}

/* work_watch.c, of a run that is watched: a lane's step is ready; the next message of a followed
 * connection is complete. */
void sim_watch_step(struct rs_sim *s, const struct sim_coll *k, uint32_t rank, uint32_t lane,
		    rs_time now);
/* A flow's sending end is about to go. */
void sim_watch_closing(struct rs_sim *s, uint32_t conn, uint32_t host);
void sim_watch_message(struct rs_sim *s, const struct sim_conn *c, rs_time now);

/* work_make.c: a flow more, behind all there are, for which conns and the result's flows have room.
 * The job's flows have it at their end. -ENOMEM; -ENOSPC. */
int sim_flow_add(struct rs_sim *s, uint32_t job, const struct rs_flow *fl, struct rs_error *e);

/* workload.c */
/* One end of a connection's q-th. past: what it had received before; NULL: nothing. */
int sim_open_end(struct rs_sim *s, struct sim_conn *c, unsigned q, bool receiver, uint32_t depth,
		 uint8_t tc, const struct rs_sim_past *past);
/* The flow of this number at this endpoint, if it is one's that ends there; NULL. */
struct sim_conn *sim_flow_to(struct rs_sim *s, uint32_t endpoint, uint32_t qpn);
/* What a flow's receiver will have had. */
struct rs_sim_past sim_past_of(const struct rs_sim *s, const struct sim_conn *c);
/* When a flow's first work request is in the NIC's hands. */
rs_time sim_flow_posted(struct rs_sim *s, const struct sim_conn *c);
/* Where placement is ideal: the path of a queue pair's data, or of its ACKs, to dst. */
uint32_t sim_way(const struct rs_sim *s, uint64_t conn, unsigned q, uint32_t dst, bool back);
/* The next of a host's flows to start: at one time they go before all else, in their order. */
void sim_next_flow(struct rs_sim *s, uint32_t host);

#endif
