/* Windows towards peers' sockets. Private to the room; all of it locked. */
#ifndef RS_LIVE_FLIGHT_H
#define RS_LIVE_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"

struct rs_live;
struct rs_packet;
struct rs_qp;

enum {
	RS_FLIGHT_PEERS = 4096,
	RS_FLIGHT_BUCKETS = 1024,
	/* Of a peer that has not said what it can take: Linux's least default (rmem_default), as it
	 * charges a socket. More than 16 packets fit: what an ACK is asked for anyway. */
	RS_FLIGHT_UNKNOWN = 212992,
};

#define RS_FLIGHT_ASK_EVERY (1000 * RS_MS)

/* Of a peer: what is never acknowledged, in bytes as they are charged, ever since. */
struct rs_flight_loose {
	uint64_t sent, gone; /* gone: that has left the peer's socket */
	uint64_t mark;       /* what was sent before the question */
	uint32_t question;   /* that is under way; 0: none */
	rs_time first_at, asked_at, since;
	int32_t next_due;
	bool due, closed;
};

struct rs_flight_peer {
	uint32_t path;
	uint16_t generation;
	uint8_t slot;
	bool used, closed;
	uint32_t qpn; /* of the peer's, that was last sent to */
	bool whole;   /* what goes as one send arrives as one */
	bool silent;  /* an ACK was waited for in vain: what was sent may lie there still */
	bool ours;    /* it answers */
	uint64_t window, charged;
	struct rs_flight_loose loose;
	int32_t first; /* its queue pairs */
	int32_t next;  /* of its hash chain, or of the free list */
	rs_time asked_at;
};

struct rs_flight_qp {
	int32_t peer, next, prev;
	uint64_t bytes, charged;
	uint64_t timeouts;
	bool loose; /* UC or UD */
};

struct rs_flight {
	struct rs_flight_qp *qp; /* by QPN */
	struct rs_flight_peer *peer;
	int32_t bucket[RS_FLIGHT_BUCKETS];
	int32_t fresh, free;
	int32_t closed;
	int32_t due; /* peers whose question waits until what was encoded is sent */
	uint32_t questions;
	uint64_t timeouts; /* of the device, that were looked at */
	uint64_t charged;  /* towards all peers */
	rs_time look_at; /* at closed ones, whose queue pairs may have gone; RS_NEVER: there is none
			  */
};

int rs_flight_init(struct rs_flight *f);
void rs_flight_fini(struct rs_flight *f);
/* Before a queue pair sends: it shares its peer's window, and is held while that is closed. Returns
 * what is on its way to the peer. */
uint64_t rs_flight_join(struct rs_live *l, struct rs_qp *qp);
/* A packet is about to be encoded, and was: alone in its send, or behind another. */
void rs_flight_before(struct rs_live *l, struct rs_packet *p, rs_time now);
void rs_flight_after(struct rs_live *l, const struct rs_packet *p, bool alone, rs_time now);
/* A response came for a queue pair; lost: it says that something was. */
void rs_flight_acked(struct rs_live *l, uint32_t qpn, bool lost);
/* Timers ran. */
void rs_flight_look(struct rs_live *l, rs_time now);
/* The peer that the sockets of an address and slot are; negative: none. What it can take. */
int32_t rs_flight_find(const struct rs_live *l, uint32_t path, uint8_t slot);
uint64_t rs_flight_window(const struct rs_flight_peer *p);
/* Let its requests go, if there is room now. */
void rs_flight_open(struct rs_live *l, struct rs_flight_peer *p);

/* loose.c: a packet was encoded; true: its queue pair waits. */
bool rs_loose_sent(struct rs_live *l, struct rs_flight_peer *p, uint64_t charge, rs_time now);
/* All that was encoded is sent. */
void rs_loose_flushed(struct rs_live *l, rs_time now);
void rs_loose_answered(struct rs_live *l, int32_t peer, uint32_t question);
void rs_loose_look(struct rs_live *l, struct rs_flight_peer *p, rs_time now);
void rs_flight_granted(struct rs_live *l, int32_t peer, uint64_t bytes, bool whole);

#endif
