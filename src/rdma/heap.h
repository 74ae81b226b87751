/* A binary heap of (time, QP index) with a known place for each index: pacing and timers. */
#ifndef RS_RDMA_HEAP_H
#define RS_RDMA_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"

#define RS_HEAP_OUT UINT32_MAX

struct rs_heap_entry {
	rs_time when;
	uint32_t id;
	uint32_t tie; /* of equal times the lower goes first */
};

struct rs_heap {
	struct rs_heap_entry *entries;
	uint32_t *place; /* of an id; RS_HEAP_OUT: not in the heap */
	uint32_t count;
	uint64_t moves; /* entries written since the start: the cost, for tests */
};

/* ids are 0 .. limit - 1, each at most once in the heap. -ENOMEM. */
int rs_heap_init(struct rs_heap *h, uint32_t limit);
void rs_heap_fini(struct rs_heap *h);
/* Put id at when, whether it is in the heap or not. tie: a number that no other id in it has. */
void rs_heap_set(struct rs_heap *h, uint32_t id, uint32_t tie, rs_time when);
void rs_heap_remove(struct rs_heap *h, uint32_t id);

static inline rs_time rs_heap_top(const struct rs_heap *h)
{
	return h->count ? h->entries[0].when : RS_NEVER;
}

static inline bool rs_heap_has(const struct rs_heap *h, uint32_t id)
{
	return h->place[id] != RS_HEAP_OUT;
}

#endif
