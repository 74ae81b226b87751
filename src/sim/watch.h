/* Private to sim/: what a node that is watched keeps. watch.c makes it before the run, observe.c
 * fills it, series.c makes the result's series of it. */
#ifndef RS_SIM_WATCH_H
#define RS_SIM_WATCH_H

#include "sim/observe.h"

/*
 * What nearly every bin changes is kept in a record of a port: its bytes, then bytes and queues of
 * the classes of data, then bytes of CNPs where these have a class to themselves. The records of a
 * node's ports lie together, bin by bin, so that to close a bin writes few lines of memory, one
 * behind the other. Bytes are the counters as they stood at the bin's end: nothing is read to write
 * them. So when two bins become one, the latter's records are the pair's: sim_watch.row says where
 * a bin's are. They become the series' rows when the run has ended.
 */
enum { KEEP_CARRIED, KEEP_CLASSES };
/* The same of a followed connection. */
enum { FLOW_RATE, FLOW_WINDOW, FLOW_IN_FLIGHT, FLOW_ACKED, FLOW_COLUMNS };

/* What seldom grows: what it was when the open bin began. */
struct watched_class {
	uint64_t pauses, marks, drops;
	rs_time held;
	uint64_t passed; /* NIC: bytes of frames by now, where its link does not count them */
};

struct watched_port {
	struct rs_series_port *s; /* the result's; of a port without a link one that is not */
	uint32_t lost;            /* in the open bin */
};

/* What ports had counted until the open bin began. Of a switch `bytes` is that of PFC frames and of
 * CNPs that have a class to themselves, `cnps` that of CNPs. */
struct watched_rest {
	uint64_t bytes;
	union {
		uint64_t cnps;  /* switch */
		uint64_t drops; /* NIC */
	};
};
struct watched_seldom {
	uint64_t marks, pauses;
};

/* What becomes one of two bins: the sum, the greater, or what was at the end. */
enum watched_pairing { PAIR_SUM, PAIR_MOST, PAIR_LATTER };

/* A row that was made when it was first more than zeroes. */
struct watched_row {
	uint64_t *v;
	enum watched_pairing how;
};

struct watched_flow {
	struct rs_series_flow s;
	uint32_t conn;
	uint64_t resent[RS_RESENT_WHYS];
};

struct watched_inside {
	struct rs_series_inside s;
	uint64_t bytes;
	rs_time busy;
};

struct watched_engine {
	struct rs_series_engine s;
	int part;
	rs_time waited;
};

struct sim_watch {
	uint32_t bin, bins; /* the open one; how many there may be */
	uint32_t n_ports;   /* the node's */
	rs_time interval;   /* a bin's length */
	uint64_t *kept;     /* [row][port][column]; what was not written means nothing */
	uint64_t *peak;     /* [bin][port] of a switch: the most that waited in one class's queue */
	struct watched_port *port;
	struct watched_rest *rest;     /* [port] */
	struct watched_seldom *seldom; /* [port] */
	struct watched_class *class;   /* [slot[class] * n_ports + port] */
	uint8_t slot[RS_CLASSES];      /* of classes that a port may have figures of */
	uint8_t width;                 /* of a port's record */
	uint8_t classes, pausable;     /* that packets may be of; that can be held */
	uint8_t busy;                  /* of classes, those of data: CNPs alone pass in another */
	uint8_t cnp;                   /* the one that is in classes and not in busy, if any */
	uint8_t main;                  /* NIC: of busy, the one whose bytes are what is left */
	uint8_t seen;                  /* NIC: others that packets were of */
	bool any_lost;                 /* in the open bin */
	bool held;                     /* a peer's pause lasted when the bin began */
	uint8_t row[RS_SERIES_BINS];   /* [bin]: its records in kept */
	/* of a switch, all ports: what it had counted until the bin began */
	uint64_t marks, drops, pauses_sent, pauses_heard;
	struct watched_row *rows;
	uint32_t n_rows, rows_size;
	uint64_t *of_flow; /* [bin][flow][column] */
	struct watched_flow *flow;
	struct watched_inside *inside;
	struct watched_engine *engine;
	uint32_t n_flows, n_inside, n_engines;
	struct rs_series_span *span;
	uint32_t n_spans, spans_size, spans_most;
	bool spans_cut, no_memory;
};

/* Packets' ways that a part timed: they are counted some at a time, so that the histogram is in the
 * cache for more than one. */
enum { TIMED_AT_ONCE = 64 };
struct sim_timed {
	struct rs_hist of[RS_CLASSES];
	uint32_t n;
	uint8_t tc[TIMED_AT_ONCE];
	rs_time took[TIMED_AT_ONCE];
} __attribute__((aligned(64)));
void sim_watch_count_timed(struct sim_timed *t);

/* When the node's open bin ends. */
static inline rs_time *sim_watch_next(const struct rs_sim *s, const struct sim_node *n)
{
	const struct sim_part *p = &s->parts[n->part];

	return &p->bin_ends[n->due - p->due];
}

/* The record of a port's bin. */
static inline uint64_t *sim_watch_record(const struct sim_node *n, uint32_t bin, uint32_t port)
{
	const struct sim_watch *w = n->watch;

	return w->kept + ((size_t)w->row[bin] * n->n_ports + port) * w->width;
}

static inline uint64_t *sim_watch_flow_record(const struct sim_watch *w, uint32_t bin,
					      uint32_t flow)
{
	return w->of_flow + ((size_t)bin * w->n_flows + flow) * FLOW_COLUMNS;
}

/* observe.c: the open bin ends at `at`; and the one behind it is open. */
void sim_watch_close_bin(struct rs_sim *s, struct sim_node *n, rs_time at);
void sim_watch_next_bin(struct rs_sim *s, struct sim_node *n);
/* series.c: the series frees this block, at once if there is no memory for that. -ENOMEM. */
int sim_series_block(struct rs_series *r, uint64_t *block);
/* watch_ranks.c: each process has the rows of its own nodes; then all have all. Collective. */
int sim_watch_share(struct rs_sim *s);
/* speed.c: what the jobs' NICs have to carry: s->load. -ENOMEM. */
int sim_loads(struct rs_sim *s);
/* r->flow_speed and r->job_speed, but what jobs take alone. -ENOMEM. */
int sim_speed(struct rs_sim *s, struct rs_series *r);

#endif
