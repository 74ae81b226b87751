/* Private to sim/: what a node that is watched keeps. watch.c makes it before the run, observe.c
 * fills it, series.c makes the result's series of it. */
#ifndef RS_SIM_WATCH_H
#define RS_SIM_WATCH_H

#include "sim/observe.h"

/*
 * What nearly every bin changes is kept in a record of a port: these columns, then bytes and queues
 * of the node's classes. The records of a node's ports lie together, bin by bin, so that to close a
 * bin writes few lines of memory, one behind the other. Bytes are the counters as they stood at the
 * bin's end: nothing is read to write them. They become the series' rows when the run has ended.
 */
enum { KEEP_CARRIED, KEEP_PEAK, KEEP_CLASSES };
/* The same of a followed connection. */
enum { FLOW_RATE, FLOW_WINDOW, FLOW_IN_FLIGHT, FLOW_ACKED, FLOW_COLUMNS };

/* What seldom grows: what it was when the open bin began. */
struct watched_class {
	uint64_t pauses, marks, drops;
	rs_time held;
};

struct watched_port {
	uint32_t lost; /* in the open bin */
	bool exact;
	struct watched_class class[RS_CLASSES];
	struct rs_series_port *s; /* the result's; of a port without a link one that is not */
};

/* What ports had counted until the open bin began; of a switch's `rest` is bytes of PFC frames and
 * of CNPs that have a class to themselves. */
struct watched_seldom {
	uint64_t marks, pauses, rest, drops;
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
	rs_time next, interval; /* the open bin's end; a bin's length */
	uint32_t bin, bins;     /* the open one; how many there may be */
	uint64_t *kept;         /* [bin][port][column] */
	uint64_t *of_flow;      /* [bin][flow][column] */
	struct watched_port *port;
	struct watched_seldom *seldom; /* [port] */
	struct watched_flow *flow;
	struct watched_inside *inside;
	struct watched_engine *engine;
	uint32_t n_flows, n_inside, n_engines;
	struct rs_series_span *span;
	uint32_t n_spans, spans_size, spans_most;
	/* of a switch, all ports: what it had counted until the bin began; a peer's pause lasted */
	uint64_t marks, drops, pauses_sent, pauses_heard;
	bool held;
	uint8_t width;              /* of a port's record */
	uint8_t column[RS_CLASSES]; /* the class's place among the node's */
	uint8_t classes, pausable;  /* that packets may be of; that can be held */
	uint8_t busy;               /* of classes, those of data: CNPs alone pass in another */
	bool any_lost;              /* in the open bin */
	bool spans_cut, no_memory, collected;
};

/* observe.c: the open bin ends at `at`; and the one behind it is open. */
void sim_watch_close_bin(struct rs_sim *s, struct sim_node *n, rs_time at);
void sim_watch_next_bin(struct sim_node *n);
/* speed.c: what the jobs' NICs have to carry: s->load. -ENOMEM. */
int sim_loads(struct rs_sim *s);
/* r->flow_speed and r->job_speed, but what jobs take alone. -ENOMEM. */
int sim_speed(struct rs_sim *s, struct rs_series *r);

#endif
