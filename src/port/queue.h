/* A queue of packets of one slab (wire/pool.h), linked by their `next`. */
#ifndef RS_PORT_QUEUE_H
#define RS_PORT_QUEUE_H

#include "wire/packet.h"

struct rs_queue {
	uint32_t head, tail; /* indices; head RS_NO_PACKET: it is empty, and tail means nothing */
};

/* base: the slab's. */
static inline void rs_queue_push(struct rs_queue *q, struct rs_packet *base, struct rs_packet *p)
{
	uint32_t index = (uint32_t)(p - base);

	p->next = RS_NO_PACKET;
	if (q->head == RS_NO_PACKET)
		q->head = index;
	else
		base[q->tail].next = index;
	q->tail = index;
}

/* The first; NULL: it is empty. */
static inline struct rs_packet *rs_queue_first(const struct rs_queue *q, struct rs_packet *base)
{
	return q->head == RS_NO_PACKET ? NULL : &base[q->head];
}

/* Takes the first of a queue that is not empty. */
static inline void rs_queue_pop(struct rs_queue *q, const struct rs_packet *base)
{
	q->head = base[q->head].next;
}

/* Slow: it counts them. */
static inline uint64_t rs_queue_count(const struct rs_queue *q, const struct rs_packet *base)
{
	uint64_t n = 0;

	for (uint32_t i = q->head; i != RS_NO_PACKET; i = base[i].next)
		n++;
	return n;
}

#endif
