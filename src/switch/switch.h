/*
 * A switch: a pure state machine in the shape of the NIC. Shared buffer with dynamic thresholds
 * (Choudhury and Hahne 1998) and PFC headroom (802.1Q-2022 clause 36, annex N), WRED/ECN marking
 * (RFC 3168), eight classes with strict and weighted scheduling (802.1Qaz), a routing policy.
 */
#ifndef RS_SWITCH_SWITCH_H
#define RS_SWITCH_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/quirks.h"
#include "base/random.h"
#include "base/time.h"
#include "port/pfc.h"
#include "switch/losses.h"
#include "wire/packet.h"
#include "wire/pool.h"

struct rs_switch;

enum rs_switch_limits { RS_SWITCH_PORTS_MAX = 1024, RS_SWITCH_CELL_MAX = 65535 };
#define RS_SWITCH_BUFFER_MAX (UINT64_C(1) << 44)

/* One traffic class, the same on every port. Bytes are those of the buffer (cells rounded up). */
struct rs_switch_class {
	bool lossless;       /* PFC on: pause at the ingress threshold, headroom above it */
	int8_t alpha_shift;  /* dynamic threshold T = free << shift (shift < 0: >>); -8..10 */
	uint64_t reserve;    /* bytes guaranteed to an ingress port of this class */
	uint64_t xon_offset; /* resume when use <= T - this */
	/* An egress queue of more drops the packet, lossless or not; 0: a lossless queue has no
	 * end, a lossy one the dynamic threshold. */
	uint64_t egress_limit;
	bool ecn;
	uint64_t kmin, kmax; /* egress queue bytes */
	uint32_t pmax;       /* marking probability at kmax, in 1/65536; above kmax always */
	uint8_t weight;      /* DWRR weight in the shares below; 0: strict, higher class first */
	/* What finds no room is cut to so many bytes and goes on in class trim_tc, with trim_tos'
	 * DSCP, if its transport knows of that (kind RS_KIND_OTHER); else, and with 0, it is
	 * dropped. */
	uint16_t trim_bytes;
	uint8_t trim_tc, trim_tos;
	/* a coin says who has no room: the arrival, or the newest packet that waits */
	bool lose_either;
};

struct rs_switch_port {
	int64_t rate;      /* bits per second */
	uint64_t headroom; /* bytes, an ingress port and lossless class */
	rs_time response;  /* to a PAUSE: frames are begun for so long after it came */
	/* ECN thresholds may scale with the port's rate: these override the class's when nonzero.
	 */
	uint64_t kmin, kmax;
	uint64_t limit; /* in place of the class's egress_limit, where cfg.limit_tc has one; 0: not
			 */
	/* to the class's alpha_shift: a faster link's larger share; the sum is cut to -8..10 */
	int8_t alpha_add;
};

/*
 * Flows whose path is given, as a list of switches: they are known by destination and queue pair.
 * An entry holds the egress port, RS_UNPINNED where the flow is routed as all others.
 */
struct rs_switch_pins {
	const uint32_t *first; /* an entry an endpoint, and one behind; shared; borrowed */
	const uint16_t *port;  /* [first[destination] + QPN - first_qpn] */
	uint32_t first_qpn;
};
#define RS_UNPINNED UINT16_MAX

/* Equal-cost next hops: route[dst_group] indexes sets; a set is a run of ports. */
struct rs_switch_routes {
	/* Endpoint -> group (its edge switch); endpoints of this switch have a port of their own.
	 */
	const uint32_t *group_of; /* an entry an endpoint; shared by all switches; borrowed */
	uint32_t n_endpoints;
	const uint32_t *set_of; /* an entry a group: first << 8 | count; count 0: unreachable */
	const uint16_t *ports;  /* the sets' ports */
	/* Directly attached: local_first <= endpoint < local_first + n_local use local_port[]. */
	uint32_t my_group;
	const uint16_t *local_port;  /* endpoint -> port for endpoints whose group is my_group;
				      * indexed  by local_index[endpoint] */
	const uint16_t *local_index; /* an entry an endpoint; shared; borrowed */
};

enum rs_routing {
	RS_ROUTE_ECMP,     /* hash of source, destination, UDP source port */
	RS_ROUTE_SPRAY,    /* a port for each packet, uniformly at random */
	RS_ROUTE_ADAPTIVE, /* the least queue among the equal-cost ports, a packet: rs_adaptive */
	RS_ROUTE_FLOWLET,  /* the least queue, or any (flowlet_random), a flowlet: anew after a
			    * pause of flowlet_gap */
	RS_ROUTE_PLACED,   /* as the packet says in `number`: a byte a choice, the lowest first */
	RS_ROUTE_ROUND_ROBIN, /* a port for each packet, in turn, for each group on its own */
	RS_ROUTE_HASHED,      /* as ECMP, by rs_hashing */
};

/* What a switch hashes, and how. Other than the defaults only with RS_ROUTE_HASHED. */
enum rs_hash_function {
	RS_HASH_MIX,   /* every bit depends on every bit: no flows are alike to it */
	RS_HASH_CRC32, /* of the fields' octets (802.3, clause 3.2.9), modulo the ports */
	RS_HASH_XOR,   /* of the fields' 16-bit words, modulo the ports: alike flows stay alike */
	/* as uneven as balls thrown at random: mix deals the source ports of one pair out more
	 * evenly than a hash would that knows nothing of them */
	RS_HASH_RANDOM,
};
enum rs_hash_fields {
	RS_HASH_SRC = 1,
	RS_HASH_DST = 2,
	RS_HASH_SPORT = 4, /* the UDP source port: entropy of a queue pair */
	RS_HASH_QP = 8,    /* BTH's destination QP */
};
struct rs_hashing {
	uint8_t function, fields; /* enum rs_hash_function; of enum rs_hash_fields */
	/* Every switch has the same seed: switches behind one another then choose alike, and leave
	 * ports without traffic (hash polarisation). */
	bool same_seed;
};

enum { RS_AR_GRADES = 7 };

/* How RS_ROUTE_ADAPTIVE looks at queues. All zero: exactly, now, for each packet. */
struct rs_adaptive {
	rs_time sample; /* queues are looked at so often at most; 0: for each packet */
	/* Ports are graded by these, ascending: a port's grade is how many its queue reaches. Among
	 * the ports of the least grade one is drawn. 0 of them: each byte counts */
	uint8_t n_grades;
	uint32_t grade[RS_AR_GRADES]; /* bytes */
	bool sticky;                  /* a flow leaves its port only for one of a lower grade */
};

struct rs_switch_config {
	uint32_t id; /* for random streams and the ECMP seed */
	uint64_t seed;
	uint32_t n_ports;
	const struct rs_switch_port *ports;         /* copied */
	struct rs_switch_class classes[RS_CLASSES]; /* copied */
	uint64_t buffer; /* bytes shared by all; headroom and reserves come out of it */
	uint32_t cell;   /* bytes; a packet takes ceil(frame/cell)*cell; 0 or 1: exact bytes */
	uint16_t pause_quanta;   /* 65535 usual; refreshed at half */
	struct rs_quirks quirks; /* of ports */
	uint16_t pfc_frame;      /* bytes of a PFC frame; 0: 802.1Q's 64 */
	uint32_t int_scale;      /* stamp packets that carry telemetry, in these units; 0: do not */
	rs_time pfc_watchdog;    /* a class paused for longer drops; 0: no watchdog */
	bool mark_at_dequeue;    /* else at enqueue */
	/* A counterfactual: what finds no room is held beyond the buffer, until it leaves; the
	 * rest of the buffer, its thresholds and PAUSEs stay as they are. A watchdog drops nothing:
	 * it only ends the pause. */
	bool endless;
	uint8_t tc_of_dscp[64];
	uint8_t limit_tc; /* whose egress_limit ports may have of their own */
	enum rs_routing routing;
	struct rs_hashing hashing;
	struct rs_adaptive adaptive;
	rs_time flowlet_gap;
	bool flowlet_random;
	struct rs_switch_routes routes; /* borrowed arrays */
	struct rs_pool *pool;           /* where packet indices live */
	struct rs_pool_list *free;      /* where dropped packets and PFC frames go and come from */
	/* Told of each packet that is dropped, before it is freed; NULL: not told. */
	void (*dropped)(void *ctx, const struct rs_packet *p);
	void *dropped_ctx;
};

int rs_switch_create(const struct rs_switch_config *c, struct rs_switch **sw, struct rs_error *e);
void rs_switch_destroy(struct rs_switch *sw);
/* Before the first packet; the arrays are borrowed. */
void rs_switch_pin(struct rs_switch *sw, const struct rs_switch_pins *pins);

/* Asks memory for what packets from or to a port touch of it, then for the first that waits there.
 */
void rs_switch_prefetch(const struct rs_switch *sw, unsigned port);
void rs_switch_prefetch_waiting(const struct rs_switch *sw, unsigned port);

/*
 * A packet arrived (whole, unless the caller does cut-through: then `ready` is when its last byte
 * will be in; else ready == now). Takes the packet. Returns the port that may now have something to
 * send, or -1 (dropped, or a PFC frame that opened nothing). Ports that other effects woke (a PAUSE
 * to send, a RESUME received) are found by rs_switch_woken().
 */
int rs_switch_rx(struct rs_switch *sw, unsigned in, struct rs_packet *p, rs_time now,
		 rs_time ready);

/*
 * The next packet that the port sends: PFC frames first, then by class. NULL with *again the time
 * to ask anew (a packet still arriving; a pause that ends by its timer), RS_NEVER if only another
 * event can help. The caller puts it on the link.
 */
struct rs_packet *rs_switch_tx(struct rs_switch *sw, unsigned out, rs_time now, rs_time *again);

/* Nothing waits at this egress: asking rs_switch_tx() before the next rs_switch_rx() is idle. */
bool rs_switch_port_empty(const struct rs_switch *sw, unsigned port);

/* Bits of ports woken since the last call by rx or tx, besides rx's own answer; cleared. word:
 * ports 64*word.. . rs_switch_any_woken() first: it is one load. */
bool rs_switch_any_woken(const struct rs_switch *sw);
uint64_t rs_switch_woken(struct rs_switch *sw, unsigned word);

/* PFC refresh and watchdog timers. */
rs_time rs_switch_deadline(const struct rs_switch *sw);
void rs_switch_expire(struct rs_switch *sw, rs_time now);
/* Other sets of ports from now on, as in the config's routes: borrowed, for the same groups. What
 * is queued leaves as it was routed. */
void rs_switch_set_routes(struct rs_switch *sw, const uint32_t *set_of, const uint16_t *ports);
/* The caller's clock is put back by so much, for a switch that outlives the range of rs_time. */
void rs_switch_rebase(struct rs_switch *sw, rs_time by);

struct rs_switch_port_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* data and control, PFC apart */
	uint64_t max_queue;            /* bytes, of one class's egress queue */
	uint64_t tx_pauses, rx_pauses; /* frames that pause a class */
	uint64_t tx_resumes, rx_resumes;
	uint64_t drops;      /* of packets that came in here: no room, no route */
	uint64_t ecn_marked; /* at this egress; those that came in marked are not counted */
	rs_time paused;      /* time that this egress was paused, summed over classes; of
			      * pauses that are over */
};

/* Of a port's class: bytes of frames that left, packets marked at this egress, packets dropped that
 * came in here or that the watchdog took from this egress, PAUSE frames sent. */
struct rs_switch_class_counters {
	uint64_t tx_bytes, ecn_marked, drops, tx_pauses;
};

struct rs_switch_counters {
	uint64_t max_buffer; /* bytes in use at the peak */
	uint64_t drops, drops_lossless, ecn_marked, pauses_sent, unroutable, watchdog_drops;
	uint64_t pauses_heard; /* frames that paused a class of some port */
	uint64_t trimmed;
	uint64_t ecn_again; /* packets that it would have marked, but came in marked */
};

/* Why a switch drops a packet. */
enum rs_switch_why {
	RS_SWITCH_LOSSY,    /* of a class without PFC, beyond its share of the buffer */
	RS_SWITCH_HEADROOM, /* of a class with PFC: neither the pool nor headroom has room */
	RS_SWITCH_LIMIT,    /* the egress queue's limit */
	RS_SWITCH_WATCHDOG, /* the PFC watchdog emptied the egress queue */
	RS_SWITCH_NO_ROUTE,
	RS_SWITCH_WHYS
};

/* Packets of a class that were dropped at a port: by the watchdog those that were to leave there,
 * else those that came in there. */
struct rs_switch_drops {
	uint64_t packets[RS_SWITCH_WHYS];
	uint16_t dscp, dscp_votes; /* of most of them */
	uint16_t to, to_votes; /* the egress that most were for; to_votes 0: none in particular */
	uint64_t trimmed;      /* packets for this egress that were cut; not among the others */
};

/* NULL: no DSCP is of this class. */
const struct rs_switch_drops *rs_switch_drops(const struct rs_switch *sw, unsigned port,
					      unsigned tc);
/* The same by source and destination; why: enum rs_switch_why. */
const struct rs_losses *rs_switch_losses(const struct rs_switch *sw);

/* What an ingress that paused its peer waited for: its packets were in the queue of this egress. */
struct rs_switch_wait {
	uint16_t egress;
	rs_time time;
	rs_time held; /* of it, the egress was paused by its own peer */
};
enum { RS_SWITCH_WAITS = 4 }; /* kept of an ingress and class: those with most time */

/* PAUSEs of this class sent at the port until `now`, and what for; unused entries have no time. */
uint64_t rs_switch_waits(const struct rs_switch *sw, unsigned port, unsigned tc, rs_time now,
			 struct rs_switch_wait wait[RS_SWITCH_WAITS]);
/*
 * For who looks for circles of waiting ports. Ports and classes that peers hold now, in all; the
 * classes of an egress that were held since before `before`, with packets; since when one has been;
 * the classes whose peer this ingress pauses.
 */
uint32_t rs_switch_held_now(const struct rs_switch *sw);
uint8_t rs_switch_held_before(const struct rs_switch *sw, unsigned port, rs_time before);
rs_time rs_switch_held_since(const struct rs_switch *sw, unsigned port, unsigned tc);
uint8_t rs_switch_pausing(const struct rs_switch *sw, unsigned port);
/* The packets that wait at an egress: their bytes are added to the port that they came in by. Walks
 * the queue. */
void rs_switch_queued_by(const struct rs_switch *sw, unsigned port, unsigned tc, uint64_t *bytes);

/* How long the port's peer has held this class, pauses that last still among them. */
rs_time rs_switch_held(const struct rs_switch *sw, unsigned port, unsigned tc, rs_time now);

const struct rs_switch_port_counters *rs_switch_port_counters(const struct rs_switch *sw,
							      unsigned port);
/* Its ecn_marked, its tx_pauses, and a class's tx_bytes: each touches one line of memory. */
uint64_t rs_switch_marks(const struct rs_switch *sw, unsigned port);
uint64_t rs_switch_pauses(const struct rs_switch *sw, unsigned port);
uint64_t rs_switch_sent(const struct rs_switch *sw, unsigned port, unsigned tc);
void rs_switch_class_counters(const struct rs_switch *sw, unsigned port, unsigned tc,
			      struct rs_switch_class_counters *out);
/*
 * The port by which the switch would send p on now; -1: none. *ways: among how many ports it
 * chooses anew for each packet or flowlet; 1: it is always this one. Of p its addresses are read,
 * and what it says of its path, which is taken off.
 */
int rs_switch_way(const struct rs_switch *sw, struct rs_packet *p, uint32_t *ways);
/* Classes of an egress that its peer pauses, now or once the port's response time is over. */
uint8_t rs_switch_paused(const struct rs_switch *sw, unsigned port);
/* Classes of which packets wait at an egress. */
uint8_t rs_switch_filled(const struct rs_switch *sw, unsigned port);
/* What changes often at a port, for who looks often: its classes with packets, the most bytes
 * that waited in one of them since the last look, and its tx_packets. */
uint8_t rs_switch_look(struct rs_switch *sw, unsigned port, uint64_t *max_queue, uint64_t *packets);
/* Asks memory for what that, rs_switch_sent() and rs_switch_queue_bytes() of these classes touch.
 */
void rs_switch_prefetch_look(const struct rs_switch *sw, unsigned port, uint8_t classes);
const struct rs_switch_counters *rs_switch_get_counters(const struct rs_switch *sw);
uint64_t rs_switch_queue_bytes(const struct rs_switch *sw, unsigned port, unsigned tc);
uint64_t rs_switch_buffer_used(const struct rs_switch *sw);
/* Packets that wait in all queues. Slow: it counts them. */
uint64_t rs_switch_waiting(const struct rs_switch *sw);
/* Memory of one port, with one class of PFC and three in use: for the report. */
uint64_t rs_switch_port_bytes(void);
/* Sums of queues, ingress counters and the buffer agree: asserts. Slow, for tests. */
void rs_switch_check(const struct rs_switch *sw);

#endif
