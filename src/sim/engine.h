/*
 * Private to sim/: nodes (switches and hosts) joined by links. Each node runs alone for a window of
 * the least link delay; what can reach it in the window was sent before it. An arrival waits in its
 * link's FIFO; a node's queue holds links, not packets.
 */
#ifndef RS_SIM_ENGINE_H
#define RS_SIM_ENGINE_H

#include "base/random.h"
#include "plant/plant.h"
#include "rdma/nic.h"
#include "sim/sim.h"
#include "sim/tree.h"
#include "switch/switch.h"
#include "wire/framing.h"
#include "wire/pool.h"

struct rs_capture;
struct sim_host;
struct sim_conn;
struct sim_orders;
struct sim_pick;
struct sim_placement;

/* A packet on a link, and how much later than the one before it it arrives (UINT32_MAX: see its
 * field when): to take one off tells when the next comes, without touching it. */
struct sim_flight {
	uint32_t packet, gap;
};

/*
 * One direction of a link. When its ends are in different parts there are two of it: the sender's
 * gathers a window's packets, the receiver's (`far`) is given them when the window has ended.
 */
/* What is done with packets that leave by a link. */
enum {
	SIM_LINK_WATCHED = 1,
	SIM_LINK_CAPTURED = 2,
	SIM_LINK_LOSES = 4,
	SIM_LINK_EXACT = 8,
	SIM_LINK_RISES = 16, /* classes by hop: switch/rise.h */
};

struct sim_link {
	struct sim_flight *ring; /* packets on the wire, by arrival; malloc, grows */
	uint32_t head, tail;     /* counts: flight n is ring[n & (size - 1)] */
	uint32_t size;           /* a power of two, or 0 */
	uint32_t to_node, to_slot;
	uint16_t gap;  /* bytes that a frame takes beside itself */
	uint8_t odd;   /* SIM_LINK_...; 0: packets leave by it and that is all */
	bool whole_ns; /* serialization times are cut to whole nanoseconds */
	rs_time *due;  /* the receiving node's */
	struct rs_pace pace;
	rs_time busy_until;
	/* the second line */
	rs_time delay;     /* propagation, and the latency of the switch at the far end */
	rs_time header;    /* cut-through: time of the bytes that a switch waits for; else 0 */
	rs_time tail_when; /* the tail's arrival */
	uint64_t bytes, data_hops;
	uint64_t other_hops;  /* of packets without payload, PFC's too */
	struct sim_link *far; /* NULL: both ends are in one part */
	uint32_t from_node;
	int capture; /* interface of the capture; -1 none */
	/* of a NIC that is watched: classes that are not counted here, and are, beside all */
	uint8_t main_tc, cnp_tc;
	/* seldom */
	int64_t rate;
	uint64_t loss;                 /* of 2^32 */
	uint64_t cnp_bytes, pfc_bytes; /* of frames of cnp_tc, and of PFC's */
	uint32_t to_port;
	struct sim_pick *picks; /* packets that events single out; NULL: none (happen.h) */
	bool fails;             /* some event is of it (happen.h) */
	bool down;              /* now: what is sent over it is lost */
	struct rs_random random;
} __attribute__((aligned(64)));

struct sim_node {
	struct rs_tree tree;
	uint32_t n_ports, part;
	struct sim_link *out;  /* [port] */
	struct sim_link **in;  /* [port] */
	struct rs_switch *sw;  /* a switch, or */
	struct sim_host *host; /* a host */
	struct rs_pool_list free;
	rs_time deadline; /* a switch's timers: not in the tree */
	rs_time *due;     /* in its part's list: the earliest thing that will happen here */
	/* counters */
	uint64_t events, pfc_hops, losses;
	struct sim_watch *watch;           /* NULL: it is not watched */
	struct sim_happenings *happenings; /* NULL: no event is of it */
	struct sim_places *places; /* NULL: nothing can be lost here beside a switch's drops */
} __attribute__((aligned(64)));

/* Slots: a switch has arrival and tx a port. A host: see host.c. */
enum { SLOT_ARRIVAL, SLOT_TX, SLOTS_SWITCH_PORT };
enum { SLOT_DEADLINE = RS_TREE_SLOTS };

enum { SIM_PARTS_MAX = 64, SIM_LINE = 64, SIM_RING_LEAST = 16 };

/* The nodes that one thread runs, and what they send to other parts in a window. */
struct sim_part {
	struct rs_pool pool;
	uint32_t *nodes, n_nodes;
	rs_time *due;      /* [n_nodes] in the order of nodes: what is scanned between windows */
	rs_time next;      /* the earliest thing that will happen here */
	uint64_t events;   /* in the latest window */
	rs_time bin_end;   /* of the open bin, where the run is watched; RS_NEVER: it is not */
	rs_time *bin_ends; /* [n_nodes]: the nodes' own, which differ within a window alone */
	struct sim_link **box[SIM_PARTS_MAX]; /* [part]: links that lead there and are not empty */
	uint32_t n_box[SIM_PARTS_MAX];
} __attribute__((aligned(64)));

/* Payload that a job sends over the network; what the fullest port of a NIC needs for its part. */
struct sim_load {
	uint64_t bytes;
	rs_time least;
};

struct rs_sim {
	const struct rs_fabric *f;
	const struct rs_sim_options *o;
	struct rs_arena *arena;
	struct rs_pool pool;
	uint32_t n_nodes, n_hosts, n_parts;
	struct sim_node *nodes; /* hosts first, then switches */
	struct sim_part *parts;
	rs_time window;
	rs_time now;         /* start of the present window */
	uint64_t left;       /* the same in all processes that share the run */
	uint64_t unfinished; /* flows and ranks not at their end: read between windows only */
	struct rs_sim_result *r;
	struct rs_plant *plant; /* f, made ready for the engine */
	struct rs_rise rise;    /* of SIM_LINK_RISES */
	bool rises;
	struct rs_capture *capture;
	struct sim_workload *work;
	struct sim_pins *pins;           /* NULL: no flow's path is given */
	struct sim_placement *placement; /* NULL: none, or too large for one */
	/* deadlock.c: when it was looked for, and will be as soon as something happens; a time that
	 * a window begins at even if nothing happens */
	rs_time looked, look, look_at;
	struct sim_circle *circle;
	struct sim_regain *regain;  /* NULL: there are no events */
	struct sim_orders *orders;  /* NULL: nothing can overtake */
	struct rs_session *session; /* whose run it is; NULL: it runs by itself */
	uint32_t later;             /* of a session: flows under way at a NIC at a time */
	/* of a run that is watched; else NULL and 0 */
	uint32_t untimed;        /* packets are timed whose PSN has none of these bits */
	struct sim_timed *timed; /* [part] */
	struct sim_load *load;   /* [job] */
	uint32_t connections;    /* those over the network */
};

/* Puts p on out[port] of n at `now`; the port must be free. */
void sim_transmit(struct rs_sim *s, struct sim_node *n, uint32_t port, struct rs_packet *p,
		  rs_time now);

/* The node of a link's end, and which of its ports that is. */
uint32_t sim_node_of(const struct rs_sim *s, const struct rs_link_end *e, uint32_t *port);

/* A flow or a rank is at its end; any part's thread. */
static inline void sim_finished(struct rs_sim *s)
{
	__atomic_fetch_sub(&s->unfinished, 1, __ATOMIC_RELAXED);
}

/* No node has run further: what lasts at the end is counted until then. */
static inline rs_time sim_end(const struct rs_sim *s)
{
	return s->now + s->window;
}

static inline bool sim_link_idle(const struct sim_link *l)
{
	return l->head == l->tail;
}

static inline const struct sim_flight *sim_link_flight(const struct sim_link *l, uint32_t n)
{
	return &l->ring[n & (l->size - 1)];
}

/* Room for twice as many; memory that cannot be had ends the run through an assertion. */
void sim_link_grow(struct sim_link *l);

/* Puts packet i behind the last of a link. */
static inline void sim_link_append(struct sim_link *l, uint32_t i, rs_time when)
{
	rs_time gap = when - l->tail_when;

	if (__builtin_expect(l->tail - l->head == l->size, 0))
		sim_link_grow(l);
	l->ring[l->tail++ & (l->size - 1)] =
		(struct sim_flight){i, gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX};
	l->tail_when = when;
}

/* The head of a link, which is not idle. */
static inline struct rs_packet *sim_link_head(const struct rs_sim *s, const struct sim_link *l)
{
	return rs_pool_at(&s->pool, sim_link_flight(l, l->head)->packet);
}

/* Asks memory for the packet `places` behind the head: any packet when there are not so many. */
static inline void sim_link_fetch(const struct rs_sim *s, const struct sim_link *l, uint32_t places)
{
	__builtin_prefetch(rs_pool_at(&s->pool, sim_link_flight(l, l->head + places)->packet));
}

/* Takes the head, which arrives at `now`, off a link: when the next arrives. */
static inline rs_time sim_link_pop(const struct rs_sim *s, struct sim_link *l, rs_time now)
{
	const struct sim_flight *next;

	l->head++;
	if (sim_link_idle(l))
		return RS_NEVER;
	next = sim_link_flight(l, l->head);
	return __builtin_expect(next->gap != UINT32_MAX, 1)
		       ? now + next->gap
		       : rs_pool_at(&s->pool, next->packet)->when;
}

/* The head of a link that was empty arrives at `when`. */
static inline void sim_link_armed(struct rs_sim *s, const struct sim_link *l, rs_time when)
{
	rs_tree_set(&s->nodes[l->to_node].tree, l->to_slot, when);
	if (when < *l->due)
		*l->due = when;
}

/* A run, by itself or by steps: all that it needs, what came of it, and the end. */
int sim_build(struct rs_sim *s, struct rs_error *e);
int sim_collect(struct rs_sim *s, struct rs_error *e);
void sim_destroy(struct rs_sim *s);

/* session.c: a flow of a session's has all its ACKs, or its queue pair is in error. */
void sim_session_ended(struct rs_sim *s, const struct sim_conn *c, uint8_t status);

/* One node for all that happens before `end`: how many events. */
uint64_t sim_node_run(struct rs_sim *s, struct sim_node *n, rs_time end);

/* parts.c: who runs which node, and the windows. */
/* Deals the nodes out to at most `threads` parts; before links are made. */
int sim_parts_create(struct rs_sim *s, unsigned threads, struct rs_error *e);
/* After links and hosts are made: the far halves of the links that are cut. */
int sim_parts_connect(struct rs_sim *s, struct rs_error *e);
/* n * size zeroed bytes at the start of a cache line; NULL: no memory. */
void *sim_lines_alloc(struct rs_arena *a, size_t n, size_t size);
/* Runs to the end of the work, a limit, or the stop. */
int sim_parts_run(struct rs_sim *s, struct rs_error *e);
/* A part's nodes for a window; the earliest thing that will happen in a part. */
void sim_part_window(struct rs_sim *s, struct sim_part *p, rs_time end);
rs_time sim_part_due(const struct sim_part *p);
/* Of a run in one part, after a window that its caller has run, and before the first: what waits
 * for the next one. -ENOMEM. */
int sim_parts_between(struct rs_sim *s, struct rs_error *e);
void sim_parts_destroy(struct rs_sim *s);

/* ranks.c: the same with a part a process. */
int sim_ranks_run(struct rs_sim *s, struct rs_error *e);
/* The 64-bit field at `offset` of each of n elements of `size` bytes, combined over all processes.
 */
int sim_ranks_combine(struct rs_sim *s, enum rs_ranks_op op, void *array, size_t n, size_t size,
		      size_t offset);
/* What each process has, n things of `size` bytes here, in all of them: those of process 0, of 1,
 * and so on, to be freed. A run in one process: its own. Collective. NULL: no memory, or the
 * exchange failed. */
void *sim_ranks_share(struct rs_sim *s, const void *mine, uint32_t n, size_t size, uint32_t *n_all);
/* Is it this process that runs the node? */
static inline bool sim_runs_here(const struct rs_sim *s, const struct sim_node *n)
{
	return !s->o->ranks || n->part == s->o->ranks->me;
}

/* host.c */
int sim_host_create(struct rs_sim *s, uint32_t host, struct rs_error *e);
void sim_host_destroy(struct sim_host *h);
/* Asks memory for what a node will touch, in steps: each reads what the one before it fetched. */
void sim_host_fetch(const struct rs_sim *s, const struct sim_node *n, unsigned step);
void sim_switch_fetch(const struct rs_sim *s, const struct sim_node *n, unsigned step);
void sim_host_event(struct rs_sim *s, struct sim_node *n, uint32_t slot, rs_time now);
uint32_t sim_host_slots(uint32_t n_endpoints);
uint32_t sim_host_arrival_slot(uint32_t port);
void sim_host_collect(struct rs_sim *s, struct sim_node *n);
/* After all were collected: the busiest links and longest limits of all processes. Collective.
 * -ENOMEM. */
int sim_host_share(struct rs_sim *s);

/* workload.c, work_make.c, work_result.c: flows and collectives, as hosts carry them out. */
struct sim_workload;
int sim_workload_create(struct rs_sim *s, struct rs_error *e);
/* Before sim_workload_collect(): what other processes know of flows and collectives. */
int sim_workload_combine(struct rs_sim *s);
void sim_workload_collect(struct rs_sim *s);
/* After sim_workload_collect(): what failed, and why jobs did not end. Collective. -ENOMEM. */
int sim_workload_explain(struct rs_sim *s);
double sim_workload_share(const struct rs_sim *s);

/* places.c: what was lost, and where. */
int sim_places_create(struct rs_sim *s, struct rs_error *e);
void sim_places_destroy(struct rs_sim *s);
/* A packet that the link of this port lost, or the NIC there. */
void sim_lost_on_link(struct sim_node *n, uint32_t port, const struct rs_packet *p);
void sim_lost_at_nic(struct sim_node *n, uint32_t port, const struct rs_packet *p);
/* The result has the places that dropped most. Collective. -ENOMEM. */
int sim_places_collect(struct rs_sim *s);
/* Where most packets of two endpoints' connections were lost, either way: how many; 0: none. */
struct sim_pair {
	uint32_t src, dst;
	uint64_t lost;  /* out */
	char place[64]; /* out */
};
/* The same pairs in each process. Collective. -ENOMEM. */
int sim_places_of_pairs(struct rs_sim *s, struct sim_pair *pair, uint32_t n);

/* A port, for people: "leaf0 port 3", "h3/nic0"; its way out: "leaf0 port 3, to h3". */
void sim_port_name(const struct rs_sim *s, uint32_t node, uint32_t port, char name[64]);
void sim_egress_name(const struct rs_sim *s, uint32_t node, uint32_t port, char name[64]);

/* pauses.c: the result has the ports that paused their peers longest. Collective. -ENOMEM. */
int sim_pauses_collect(struct rs_sim *s);

/* deadlock.c */
int sim_deadlock_create(struct rs_sim *s, struct rs_error *e);
/* Between windows: is there a circle of ports that can never send? Then the result has it. end:
 * nothing more can happen. Collective. -ENOMEM. */
int sim_deadlock_look(struct rs_sim *s, bool end);
/* The same where it is time for that; events: of the latest window, in all. */
static inline int sim_deadlock_due(struct rs_sim *s, uint64_t events)
{
	if (s->now >= s->look)
		return sim_deadlock_look(s, false);
	if (events && s->now != s->looked)
		s->look_at = s->look;
	return 0;
}

/* pins.c: given paths. qps: queue pairs an endpoint will have. */
enum { SIM_FIRST_QPN = 16 };
int sim_pins_create(struct rs_sim *s, const uint32_t *qps, struct rs_error *e);
/* Packets to this queue pair take this path; NULL: as routed. */
int sim_pin(struct rs_sim *s, uint32_t endpoint, uint32_t qpn, const struct rs_pinned *path,
	    struct rs_error *e);
void sim_pins_apply(struct rs_sim *s);

/* A connection, as placement sees it. */
struct sim_line {
	uint32_t src, dst;   /* endpoints */
	uint32_t job, index; /* of the flow in the result, or of the plan's connection */
	uint8_t n_qps;       /* 0: it needs no network */
	bool flow;
};

/* placement.c: paths of queue pairs, when placement is ideal. Before queue pairs are made. */
int sim_placement_create(struct rs_sim *sim, const struct sim_line *line, uint32_t n,
			 struct rs_error *e);
/* What packets of a line's queue pair, or those back to it, carry in `number`. */
uint32_t sim_placement_way(const struct rs_sim *sim, uint32_t line, unsigned qp, uint32_t dst,
			   bool back);

/* A packet that was lost: both its ends are told. */
struct sim_loss {
	rs_time when;       /* they hear of it */
	uint32_t node, seq; /* where: for an order that does not depend on parts */
	uint32_t src, src_qp, dst, dst_qp, psn, number;
};

/* order.c: packets that overtake others; all but the first
 * two, and sim_orders_lost(), where s->orders is. */
int sim_orders_create(struct rs_sim *s, struct rs_error *e);
/* p is lost at node n, and not yet freed. */
void sim_order_dropped(struct rs_sim *s, const struct sim_node *n, const struct rs_packet *p);
/* A part begins a window; what all parts lost in the one that ended goes to this part's hosts. */
void sim_orders_window(struct rs_sim *s, uint32_t part, rs_time end);
void sim_orders_tell(struct rs_sim *s, uint32_t part);
/* What a part lost in its latest window; the same of a part that another process runs. */
const struct sim_loss *sim_orders_lost(const struct rs_sim *s, uint32_t part, uint32_t *n);
void sim_orders_hear(struct rs_sim *s, uint32_t part, const void *losses, uint32_t n);
void sim_orders_destroy(struct rs_sim *s);

/* balance.c: packets, PFC's apart, that are on the way when a run has ended. Slow. */
uint64_t sim_packets_in_flight(const struct rs_sim *s);

/* capture.c */
int rs_capture_open(struct rs_sim *s, struct rs_error *e);
void rs_capture_packet(struct rs_capture *c, int interface, const struct rs_packet *p, rs_time t);
int rs_capture_flush(struct rs_capture *c, struct rs_error *e);
int rs_capture_close(struct rs_capture *c, struct rs_error *e);

#endif
