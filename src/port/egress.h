/*
 * The way out of a NIC's port, for packets that wait for their payload. Each class has a queue, so
 * that a class that is paused, or whose payload is not there yet, holds up no other. A packet is
 * put in with the time at which its payload is there. The packet that the wire takes next is taken
 * out, by class (ets.h).
 */
#ifndef RS_PORT_EGRESS_H
#define RS_PORT_EGRESS_H

#include "port/ets.h"
#include "port/queue.h"

struct rs_egress_class {
	/* staged: with a payload, from the request to memory until the wire takes it, or behind
	 * such; express: what needs none and may go before */
	struct rs_queue staged, express;
	rs_time last;     /* when the last of staged has its payload */
	uint32_t bytes;   /* of payload in staged */
	uint32_t answers; /* READ responses in staged */
};

struct rs_egress {
	struct rs_egress_class class[RS_CLASSES];
	struct rs_ets ets;
	struct rs_ets_turns turns;
	uint8_t filled; /* classes with packets */
	uint8_t used;   /* classes that ever had a payload */
	uint32_t bytes; /* of payload in all */
	struct rs_packet *base;
};

/* base: of the packets' slab. weight: of classes, as rs_ets_of() takes them. */
void rs_egress_init(struct rs_egress *g, struct rs_packet *base, const uint8_t weight[RS_CLASSES]);

/*
 * A packet of class c whose payload is there at `when`; of one without a payload `when` is now.
 * Packets of a class leave in their order, but ACKs, NAKs and CNPs, which need nothing from memory,
 * go before what does: not before READ responses, as a queue pair's answers are in order. Of
 * another transport, whatever has no payload goes before.
 */
void rs_egress_put(struct rs_egress *g, unsigned c, struct rs_packet *p, rs_time when);

/* Classes, of those not held, whose first packet may go. Else, of these, when the first may: the
 * least of that and *again is put into *again. */
unsigned rs_egress_ready(const struct rs_egress *g, uint8_t held, rs_time now, rs_time *again);
/* Takes the next packet out of classes that are ready, which are not none. */
struct rs_packet *rs_egress_take(struct rs_egress *g, unsigned ready);

/* Bytes of payload in classes that are not held. */
uint32_t rs_egress_bytes(const struct rs_egress *g, uint8_t held);
/* Classes that share by weight what is read ahead: one that is held has no part in it. */
static inline uint8_t rs_egress_sharing(const struct rs_egress *g, uint8_t held)
{
	return g->used & (uint8_t) ~(held | g->ets.strict);
}
/*
 * Classes of these that have their part of what is read ahead for `ahead` of the wire: it is to be
 * in proportion to what the wire takes, or else the one of more queue pairs would fill it. Each may
 * have a packet of `most` bytes more, so that one of little weight does not wait for its read at
 * each turn.
 */
uint8_t rs_egress_full(const struct rs_egress *g, uint8_t sharing, rs_time ahead,
		       struct rs_pace pace, uint32_t most);

/* Packets in all queues. Slow: it counts them. */
uint64_t rs_egress_count(const struct rs_egress *g);

#endif
