/*
 * The packet slab. Packets are named by 32-bit indices and never move: the slab is one reservation
 * of address space, touched only as it grows. Free packets wait in last-in first-out lists, one a
 * host: the next one wanted is still in the cache. A list holds one magazine that is being used and
 * at most one full one; more go whole to the slab's common list. One slab belongs to one thread;
 * rs_pool_split() deals one out to several.
 */
#ifndef RS_WIRE_POOL_H
#define RS_WIRE_POOL_H

#include <stdint.h>
#include "wire/packet.h"

struct rs_pool_exchange;

struct rs_pool {
	struct rs_packet *base;
	uint32_t capacity;                 /* limit; rs_pool_alloc() returns NULL at it */
	uint32_t fresh;                    /* first index never used */
	uint32_t spill_head, spill_count;  /* full magazines in common; packets in them */
	struct rs_pool_exchange *exchange; /* of a split slab; NULL: of one thread */
};

/* A free list of one owner. */
struct rs_pool_list {
	struct rs_pool *pool;
	uint32_t head, count; /* the magazine in use */
	uint32_t full;        /* first of a full one; RS_NO_PACKET: none */
};

enum { RS_POOL_MAGAZINE = 128, RS_POOL_LIST_MAX = 2 * RS_POOL_MAGAZINE };

/* capacity: packets, at most 2^31. -ENOMEM when the address space cannot be had. */
int rs_pool_init(struct rs_pool *p, uint32_t capacity);
void rs_pool_fini(struct rs_pool *p);
/*
 * Deals the unused rest of `whole` out to n slabs, one a thread, that name packets alike: a packet
 * may be freed in another slab than it was taken from. What gathers in one is handed on through an
 * exchange, which rs_pool_join() frees. The parts need no rs_pool_fini(). -ENOMEM.
 */
int rs_pool_split(struct rs_pool *whole, struct rs_pool *const part[], uint32_t n);
void rs_pool_join(struct rs_pool *const part[], uint32_t n);
void rs_pool_list_init(struct rs_pool_list *l, struct rs_pool *p);

static inline struct rs_packet *rs_pool_at(const struct rs_pool *p, uint32_t i)
{
	return &p->base[i];
}

static inline uint32_t rs_pool_index(const struct rs_pool *p, const struct rs_packet *k)
{
	return (uint32_t)(k - p->base);
}

/* Free packets in a list. */
static inline uint32_t rs_pool_list_count(const struct rs_pool_list *l)
{
	return l->count + (l->full == RS_NO_PACKET ? 0 : RS_POOL_MAGAZINE);
}

/* The seldom halves of alloc and free: another magazine, or a fresh packet; room for one more. */
struct rs_packet *rs_pool_refill(struct rs_pool_list *l);
void rs_pool_spill(struct rs_pool_list *l);

static inline struct rs_packet *rs_pool_take(struct rs_pool_list *l)
{
	struct rs_packet *k = rs_pool_at(l->pool, l->head);

	l->head = k->next;
	l->count--;
	/* on its way until it is wanted */
	if (__builtin_expect(l->head != RS_NO_PACKET, 1))
		__builtin_prefetch(rs_pool_at(l->pool, l->head), 1);
	return k;
}

/* NULL at the slab's limit. The packet's fields are whatever they were: the taker fills them. */
static inline struct rs_packet *rs_pool_alloc(struct rs_pool_list *l)
{
	if (__builtin_expect(l->head == RS_NO_PACKET, 0))
		return rs_pool_refill(l);
	return rs_pool_take(l);
}

static inline void rs_pool_free(struct rs_pool_list *l, struct rs_packet *k)
{
	if (__builtin_expect(l->count == RS_POOL_MAGAZINE, 0))
		rs_pool_spill(l);
	k->next = l->head;
	l->head = rs_pool_index(l->pool, k);
	l->count++;
}

#endif
