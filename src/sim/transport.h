/*
 * What the simulator asks of a transport. A NIC's port has an endpoint. The endpoint has ends of
 * connections, which carry messages in order. The transport tells what was acknowledged and what
 * arrived. RoCE is one transport (roce.c). rs_sim_options.transport names another, and nothing else
 * of the simulator changes: hosts, PCIe, switches, collectives, results.
 *
 * An end has a number, which is its endpoint's own. A packet names the end that it is for (dst,
 * dest_qp) and the end that it is of (src, src_qp). Switches look at tc, tos and sport. frame_bytes
 * is what it takes on a link, payload_bytes what it takes in memory. Its kind is RS_KIND_OTHER
 * unless it is RoCE's. Where hosts have an inside, a payload is read from memory before the packet
 * is sent, and written to memory before rx() is given the packet.
 *
 * A NIC's rate of messages, captures, and the counts of packets that overtake are RoCE's alone.
 */
#ifndef RS_SIM_TRANSPORT_H
#define RS_SIM_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "plant/plant.h"
#include "port/endpoint.h"
#include "sim/series.h"
#include "wire/pool.h"

struct rs_sim_counters;
struct rs_sim_options;

/* What an endpoint is made for. */
struct rs_sim_port {
	const struct rs_plant *plant; /* outlives the endpoint */
	uint32_t endpoint;            /* of the description: src of its packets */
	uint32_t first, n_ends;       /* numbers of its ends: first .. first + n_ends - 1 */
	uint32_t later;               /* ends beside, open at a time, that more() gives numbers */
	uint32_t news;                /* that may wait to be taken, at most */
	bool paths_vary;              /* packets of one end may take different paths */
	bool counted;                 /* each end counts for itself: rs_sim_end_now.resent */
	struct rs_pool_list *free;    /* where packets are taken from and given back */
	/* A packet came for an end that is not open: true when it is by now, false when the packet
	 * is late and means nothing. */
	bool (*absent)(void *arg, uint32_t number);
	void *absent_arg;
};

/* What was made: the transport's own, passed to each of its functions, and what the host holds. */
struct rs_sim_ends {
	void *self;
	struct rs_endpoint *endpoint;
	bool limited; /* an end may be held by a limit of its own: held() is asked */
};

/* What an end that is closed had received: the sizes of all its messages. */
struct rs_sim_past {
	uint64_t bytes; /* in messages of `piece` bytes; the last may be shorter */
	uint64_t piece;
	uint8_t op;   /* enum rs_flow_op */
	rs_time kept; /* the transport's own, from rests() to open() */
};

/* One end of a connection: the sender's or the receiver's. */
struct rs_sim_conn_end {
	uint32_t number;
	uint32_t peer, peer_number; /* endpoint; the number there */
	bool receiver;
	uint32_t depth;                 /* messages that may be under way, at most */
	bool told;                      /* news is wanted of each message that arrives */
	uint8_t op;                     /* enum rs_flow_op of its messages */
	uint8_t tc;                     /* class of its packets: rs_plant_qp() has the rest */
	uint8_t cc;                     /* congestion control: as rs_plant_qp_cc() has it */
	uint16_t sport;                 /* which path they take */
	uint64_t user;                  /* comes back with its news */
	const struct rs_sim_past *past; /* a receiver's that was closed; NULL: a new one */
};

struct rs_sim_news {
	uint64_t user;  /* the end's */
	bool arrived;   /* at a receiver; false: a sender's message was acknowledged */
	uint8_t status; /* enum rs_wc_status: anything but success, and the end is of no more use */
};

/* An end that sends, at a moment. */
struct rs_sim_end_now {
	int64_t rate;       /* that congestion control lets it send at: bits per second */
	uint64_t window;    /* bytes that may be unacknowledged; UINT64_MAX: no limit */
	uint64_t in_flight; /* bytes of frames that are not acknowledged */
	uint64_t acked;     /* bytes of frames that were acknowledged so far */
	uint32_t answered;  /* packets of messages, from the first on, modulo 2^24: of READs */
	/* Packets sent again so far, by what the transport was told; 0 where ends are not counted,
	 * and of RS_RESENT_REORDER: who watches paths knows that. */
	uint64_t resent[RS_RESENT_WHYS];
};

struct rs_sim_transport {
	const char *name;
	int (*create)(const struct rs_sim_port *port, struct rs_sim_ends *out, struct rs_error *e);
	void (*destroy)(void *self);
	/* -ENOMEM. Two ends of a connection are opened apart, each before what it is for. */
	int (*open)(void *self, const struct rs_sim_conn_end *end);
	void (*close)(void *self, uint32_t number);
	/* The user of an end; false: it is not open. */
	bool (*user)(void *self, uint32_t number, uint64_t *user);
	/* A message, after those that were posted before. What an end in error is given is lost.
	 * tell: of a write, the receiver is told. op: enum rs_flow_op, of which a transport may
	 * have RS_FLOW_WRITE alone (any_op). */
	void (*post)(void *self, uint32_t number, uint64_t bytes, uint8_t op, bool tell,
		     rs_time now);
	bool any_op;
	/* The next news, in the order in which it came about; false: there is none. */
	bool (*news)(void *self, struct rs_sim_news *news);
	/* What an end that sends is like now; false: it is not open. */
	bool (*look)(void *self, uint32_t number, struct rs_sim_end_now *out);
	/* How often it lowered and raised that; added. NULL: it does not tell. */
	void (*cuts)(void *self, uint32_t number, uint64_t *cuts, uint64_t *increases);
	/* Adds what it counted. payload: bytes that it sent, not what it sent again. */
	void (*collect)(void *self, struct rs_sim_counters *sum, uint64_t *payload);
	/* Packets for no end of it, or for one in error. */
	uint64_t (*dropped)(void *self);
	/* A receiver has all of `past` and owes nothing: it is closed, true, and past->kept filled.
	 * NULL: receivers stay. */
	bool (*rests)(void *self, uint32_t number, struct rs_sim_past *past);
	/* A receiver has all of `past`, whatever it owes. NULL: it does not tell. */
	bool (*has_all)(void *self, uint32_t number, const struct rs_sim_past *past);
	/* Numbers of ends are first .. first + n - 1 from now on, while nothing moves. -ENOMEM;
	 * -ENOSPC: it has no such numbers. NULL: never. */
	int (*more)(void *self, uint32_t n);
	/* Bytes of frames that it received so far and had a use for: none that came twice, and none
	 * that it will be sent again. NULL: it does not tell. */
	uint64_t (*useful)(void *self);
	/* What may send next waits for a limit of its own end. NULL: never. */
	bool (*held)(void *self, rs_time now);
};

/* RoCE v2: a queue pair an end. */
extern const struct rs_sim_transport sim_roce;
/* Ultra Ethernet: a half of a PDC an end. */
extern const struct rs_sim_transport sim_uet;
/* What this endpoint speaks. */
const struct rs_sim_transport *sim_transport_of(const struct rs_fabric *f,
						const struct rs_sim_options *o, uint32_t endpoint);

#endif
