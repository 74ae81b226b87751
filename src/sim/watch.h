/* Private to sim/: what a node that is watched keeps. watch.c makes it before the run, observe.c
 * fills it, series.c makes the result's series of it. */
#ifndef RS_SIM_WATCH_H
#define RS_SIM_WATCH_H

#include "sim/observe.h"

/* What is kept of nearly every bin of a busy port lies together, so that few lines of memory are
 * touched for a bin: a record of these, then of bytes and queues of the node's classes. They become
 * the series' rows when the run has ended. */
enum { KEEP_CARRIED, KEEP_PEAK, KEEP_CLASSES };

/* What seldom grows: what it was when the open bin began. */
struct watched_class {
	uint64_t pauses, marks, drops;
	rs_time held;
};

/* A port in the bin that is open, and what it had counted until the bin began: in the first line of
 * memory all that most bins touch. */
struct watched_port {
	uint64_t *kept; /* [bin * width + column]; NULL: zeroes */
	uint64_t carried;
	uint32_t lost; /* in the bin */
	bool exact;
	uint64_t bytes[RS_CLASSES]; /* by the place of the class among the node's */
	uint64_t marks, drops;
	struct watched_class class[RS_CLASSES];
	struct rs_series_port s;
} __attribute__((aligned(64)));

struct watched_flow {
	struct rs_series_flow s;
	uint32_t conn;
	uint64_t acked, resent[RS_RESENT_WHYS];
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
	struct watched_port *port;
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
