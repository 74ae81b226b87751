/* Private to switch/: ports, queues and the shared buffer as they lie in memory, and the parts of a
 * hop that every packet takes. What few packets take is in the room's .c files. */
#ifndef RS_SWITCH_STATE_H
#define RS_SWITCH_STATE_H

#include <stddef.h>
#include "port/ets.h"
#include "port/lfc.h"
#include "port/queue.h"
#include "switch/switch.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { LINE = 64, ALPHA_BITS = 8, ALPHA_SHIFT_MAX = 10, CELL_BITS = 40 };

/* An egress port's packets of a class. */
struct queue {
	struct rs_queue packets;
	uint64_t bytes;
	uint64_t kmin; /* marks begin above it; UINT64_MAX: none */
	uint64_t sent; /* bytes of frames that left */
};

/* What an ingress port holds of a class. */
struct share {
	int64_t use; /* bytes outside headroom, less the reserve: above 0 they are the pool's */
	/* bytes in it, > 0 only while pausing; of an endless buffer also those beyond the buffer,
	 * and a lossy share that has such is `pausing` without a PAUSE */
	uint64_t headroom;
	uint32_t alpha; /* threshold: free << ALPHA_BITS * alpha */
	bool pausing;   /* PAUSE was asked for, RESUME not yet */
};

/* 13 lines. The first is all of a port that every packet touches, besides a queue or a share. */
struct port {
	uint8_t filled; /* egress: classes with packets */
	struct rs_lfc lfc;
	uint8_t rate_code;
	rs_time later; /* cut-through: until then a queued packet may still be arriving */
	int64_t rate;
	struct rs_switch_port_counters c;
	struct queue q[RS_CLASSES];
	struct share in[RS_CLASSES];
	struct rs_ets_turns turns;
	uint64_t kmax, headroom, limit;
	uint64_t marked[RS_CLASSES];
	struct rs_lfc_times times; /* of lfc */
} __attribute__((aligned(LINE)));

_Static_assert(offsetof(struct port, c.tx_pauses) == LINE, "what every packet counts is in line 0");

/* Of a port and class with PFC. */
struct hold {
	uint64_t pauses;
	rs_time held; /* as egress, by pauses that are over */
	/* as ingress, while it pauses: what its packets wait for, since when, and how long that
	 * egress had been held itself by then */
	bool open;
	uint16_t egress;
	rs_time since, held_before;
	struct rs_switch_wait wait[RS_SWITCH_WAITS];
};

/* A flowlet: packets of a flow that follow each other closely, all on one path. */
struct flowlet {
	rs_time last;
	uint32_t at; /* in the set */
};

enum { FLOWLETS = 2048 };

/* What adaptive routing saw of ports at a time. */
struct sample {
	rs_time at;
	uint64_t queued[RS_SWITCH_PORTS_MAX];
};
enum { PAIRS_A_PORT = 4, PAIRS_MAX = 256 }; /* whose packets were lost */

struct rs_switch {
	struct port *port;
	struct rs_packet *base; /* the slab */
	int64_t free;           /* bytes of the pool; below 0 never */
	uint64_t used;          /* all bytes held */
	const uint32_t *group_of, *set_of;
	const uint16_t *ports;
	uint32_t n_endpoints, my_group;

	const uint16_t *local_port, *local_index;
	uint64_t per_byte; /* cells a byte << CELL_BITS, rounded up */
	uint32_t cell;
	uint32_t hash_seed;
	rs_time deadline;
	struct rs_switch_counters c; /* max_buffer first */
	uint32_t int_scale;
	uint8_t lossless, limited; /* classes; limited: lossy, or of a limited queue */
	uint8_t routing;
	bool pinned, mark_at_dequeue, any_woken;
	uint8_t latest; /* class of the latest packet */

	uint8_t tc_of_dscp[64];
	struct rs_ets ets;
	struct rs_lfc_conf lfc;
	struct rs_switch_class class[RS_CLASSES];
	struct rs_switch_pins pins;
	uint64_t pool_size;
	uint64_t *woken;
	struct flowlet *flowlets; /* NULL: no routing that needs them; as the two below */
	struct sample *sample;
	uint8_t *turn; /* [group] of round robin: the next of its set */
	struct rs_random random;
	struct rs_switch_config cfg;
	/* drops.c */
	struct rs_switch_drops *drops; /* [port * drop_slots + drop_slot[class]] */
	struct rs_losses *losses;
	uint8_t drop_slots, drop_slot[RS_CLASSES]; /* UINT8_MAX: no DSCP is of this class */
	/* holds.c */
	uint32_t held_now; /* (port, class) that peers pause, or paused just now */
	uint8_t hold_slots;
	struct hold *holds; /* [port * hold_slots + classes with PFC before it] */
} __attribute__((aligned(LINE)));

#define RS_SELDOM __attribute__((cold, noinline))

/* buffer.c */
bool rs_buffer_admit_tight(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes);
void rs_buffer_release_pausing(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes);
/* Holds what found no room beyond an endless buffer; false: the buffer has an end. */
RS_SELDOM bool rs_buffer_overflow(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes);
bool rs_buffer_egress_full(const struct rs_switch *sw, const struct port *out, unsigned tc,
			   uint64_t bytes);
/* drops.c: these take the packet and return -1 */
RS_SELDOM int rs_drop_unroutable(struct rs_switch *sw, unsigned in, unsigned tc,
				 struct rs_packet *p);
RS_SELDOM int rs_drop_no_room(struct rs_switch *sw, unsigned in, unsigned to, unsigned tc,
			      struct rs_packet *p, uint64_t bytes);
/* trim.c: what to do with a packet that found no room, which is taken; the port that may now have
 * something to send, or -1 */
RS_SELDOM int rs_no_room(struct rs_switch *sw, unsigned in, unsigned to, unsigned tc,
			 struct rs_packet *p, rs_time ready);
/* buffer.c: bytes that this queue may hold; 0: no limit of its own */
uint64_t rs_buffer_limit(const struct rs_switch *sw, const struct port *out, unsigned tc);
/* to: the egress that it was for; -1: none */
void rs_drops_count(struct rs_switch *sw, unsigned port, unsigned tc, enum rs_switch_why why,
		    int to, const struct rs_packet *p);
int rs_drops_create(struct rs_switch *sw); /* -1: no memory */
void rs_drops_destroy(struct rs_switch *sw);
/* holds.c */
int rs_holds_create(struct rs_switch *sw); /* -1: no memory */
/* A PFC frame of these classes leaves the port. */
void rs_holds_frame(struct rs_switch *sw, unsigned port, unsigned classes, rs_time now);
/* The peer's pause of this class is over. */
void rs_holds_ended(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now);
void rs_holds_rebase(struct rs_switch *sw, rs_time by);
/* PAUSE frames of this class that left the port; 0 of a class without PFC. */
uint64_t rs_holds_pauses(const struct rs_switch *sw, unsigned port, unsigned tc);
/* Asserts. */
void rs_holds_check(const struct rs_switch *sw);
/* ecn.c: the queue is above kmin */
void rs_ecn_mark(struct rs_switch *sw, struct port *out, unsigned tc, struct rs_packet *p);
/* route.c */
int rs_route_pinned(const struct rs_switch *sw, const struct rs_packet *p);
uint32_t rs_route_choose(struct rs_switch *sw, struct rs_packet *p, const uint16_t *set, uint32_t n,
			 rs_time now);
/* sched.c: the class to serve among ready, more than one */
unsigned rs_sched_pick(struct rs_switch *sw, struct port *out, uint8_t ready);
/* pfc.c */
struct rs_packet *rs_pfc_frame(struct rs_switch *sw, unsigned port, rs_time now);
void rs_pfc_received(struct rs_switch *sw, unsigned port, struct rs_packet *p, rs_time now);
void rs_pfc_set(struct rs_switch *sw, unsigned in, unsigned tc, bool pause);

/* Bytes of whole cells: exact for every frame and cell up to 65535 bytes, as (2^40 / cell's
 * rounding error) < cell and frame + cell < 2^17. */
static inline uint32_t cells(const struct rs_switch *sw, uint32_t frame_bytes)
{
	return (uint32_t)((frame_bytes + sw->cell - 1) * sw->per_byte >> CELL_BITS) * sw->cell;
}

static inline uint64_t cells_a_byte(uint32_t cell)
{
	return ((UINT64_C(1) << CELL_BITS) + cell - 1) / cell;
}

/* For what asks of a port now and then: a packet's way has its indices from us. */
static inline struct port *port_at(const struct rs_switch *sw, unsigned port)
{
	rs_assert(port < sw->cfg.n_ports);
	return &sw->port[port];
}

static inline void wake(struct rs_switch *sw, unsigned port)
{
	sw->any_woken = true;
	sw->woken[port >> 6] |= UINT64_C(1) << (port & 63);
}

/* ---- The shared buffer ---- */

static inline int64_t above_0(int64_t x)
{
	return x > 0 ? x : 0;
}

static inline int64_t threshold(const struct share *s, int64_t free)
{
	return free * s->alpha >> ALPHA_BITS;
}

static inline void hold(struct rs_switch *sw, uint64_t bytes)
{
	sw->used += bytes;
	if (sw->used > sw->c.max_buffer)
		sw->c.max_buffer = sw->used;
}

/* A packet that stays under the threshold that holds with it in was under the one before it. It
 * uses no headroom and pauses no port. */
static inline bool admit(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes)
{
	struct share *s = &sw->port[in].in[tc];
	int64_t use = s->use + (int64_t)bytes;
	int64_t free = sw->free - (above_0(use) - above_0(s->use));

	if (unlikely(s->pausing || above_0(use) >= threshold(s, free)))
		return rs_buffer_admit_tight(sw, in, tc, bytes);
	s->use = use;
	sw->free = free;
	hold(sw, bytes);
	return true;
}

static inline void release(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes)
{
	struct share *s = &sw->port[in].in[tc];
	int64_t use = s->use - (int64_t)bytes;

	sw->used -= bytes;
	if (unlikely(s->pausing)) {
		rs_buffer_release_pausing(sw, in, tc, bytes);
		return;
	}
	sw->free += above_0(s->use) - above_0(use);
	s->use = use;
}

/* ---- Routing ---- */

/* ECMP: which of n ports. */
static inline uint32_t hashed(const struct rs_switch *sw, const struct rs_packet *p, uint32_t n)
{
	uint64_t hash = ((uint64_t)p->src << 32 | p->dst) * UINT64_C(0x9e3779b97f4a7c15);

	hash = (hash ^ hash >> 29 ^ (uint64_t)p->sport << 17 ^ sw->hash_seed) *
	       UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)((hash >> 32) * n >> 32);
}

static inline int route(struct rs_switch *sw, struct rs_packet *p, rs_time now)
{
	uint32_t group, set, n;

	if (unlikely(p->dst >= sw->n_endpoints))
		return -1;
	if (unlikely(sw->pinned)) {
		int pinned = rs_route_pinned(sw, p);

		if (pinned != RS_UNPINNED)
			return pinned;
	}
	group = sw->group_of[p->dst];
	if (group == sw->my_group)
		return sw->local_port[sw->local_index[p->dst]];
	set = sw->set_of[group];
	n = set & 0xff;
	if (n <= 1)
		return n ? sw->ports[set >> 8] : -1;
	if (unlikely(sw->routing != RS_ROUTE_ECMP))
		return sw->ports[(set >> 8) + rs_route_choose(sw, p, &sw->ports[set >> 8], n, now)];
	return sw->ports[(set >> 8) + hashed(sw, p, n)];
}

/* ---- Queues ---- */

/* Strict classes first, the highest first; one class alone needs no turn. */
static inline unsigned pick(struct rs_switch *sw, struct port *out, uint8_t ready)
{
	if (likely(!(ready & (ready - 1))))
		return (unsigned)__builtin_ctz(ready);
	return rs_sched_pick(sw, out, ready);
}

static inline void enqueue(struct rs_switch *sw, struct port *out, unsigned tc, struct rs_packet *p,
			   uint64_t bytes)
{
	struct queue *q = &out->q[tc];

	rs_queue_push(&q->packets, sw->base, p);
	q->bytes += bytes;
	out->filled |= (uint8_t)(1u << tc);
	if (q->bytes > out->c.max_queue)
		out->c.max_queue = q->bytes;
}

#endif
