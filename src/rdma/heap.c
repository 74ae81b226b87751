/* The heap of heap.h. Ties go to the lower number, so that a run is the same on every machine. */
#include "rdma/heap.h"

#include <errno.h>
#include <stdlib.h>
#include "base/error.h"

int rs_heap_init(struct rs_heap *h, uint32_t limit)
{
	rs_assert(limit && limit < RS_HEAP_OUT);
	*h = (struct rs_heap){0};
	h->entries = calloc(limit, sizeof(*h->entries));
	h->place = malloc(limit * sizeof(*h->place));
	if (!h->entries || !h->place) {
		rs_heap_fini(h);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < limit; i++)
		h->place[i] = RS_HEAP_OUT;
	return 0;
}

void rs_heap_fini(struct rs_heap *h)
{
	free(h->entries);
	free(h->place);
	*h = (struct rs_heap){0};
}

static inline bool before(struct rs_heap_entry a, struct rs_heap_entry b)
{
	return a.when != b.when ? a.when < b.when : a.tie < b.tie;
}

static inline void put(struct rs_heap *h, uint32_t i, struct rs_heap_entry e)
{
	h->entries[i] = e;
	h->place[e.id] = i;
	h->moves++;
}

static uint32_t sift_up(struct rs_heap *h, uint32_t i, struct rs_heap_entry e)
{
	while (i && before(e, h->entries[(i - 1) / 2])) {
		put(h, i, h->entries[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(h, i, e);
	return i;
}

static void sift_down(struct rs_heap *h, uint32_t i, struct rs_heap_entry e)
{
	for (uint32_t c = 2 * i + 1; c < h->count; c = 2 * i + 1) {
		if (c + 1 < h->count && before(h->entries[c + 1], h->entries[c]))
			c++;
		if (!before(h->entries[c], e))
			break;
		put(h, i, h->entries[c]);
		i = c;
	}
	put(h, i, e);
}

void rs_heap_set(struct rs_heap *h, uint32_t id, uint32_t tie, rs_time when)
{
	struct rs_heap_entry e = {.when = when, .id = id, .tie = tie};
	uint32_t i = h->place[id];

	if (i == RS_HEAP_OUT) {
		sift_up(h, h->count++, e);
		return;
	}
	if (before(e, h->entries[i]))
		sift_up(h, i, e);
	else
		sift_down(h, i, e);
}

void rs_heap_remove(struct rs_heap *h, uint32_t id)
{
	uint32_t i = h->place[id];
	struct rs_heap_entry last;

	if (i == RS_HEAP_OUT)
		return;
	h->place[id] = RS_HEAP_OUT;
	last = h->entries[--h->count];
	if (last.id == id)
		return;
	if (sift_up(h, i, last) == i)
		sift_down(h, i, last);
}
