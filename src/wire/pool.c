/* The packet slab: one reservation of address space, free lists of magazines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "wire/pool.h"
#ifndef RS_NO_THREADS
#include <pthread.h>
#endif
#if !defined(__wasm__) && !defined(RS_NO_RESERVE)
#include <sys/mman.h>
#endif

/* Free packets that one slab has too many of, in chains of magazines. The first packet of a
 * magazine names the next one in its field dst; the first of a chain the next chain in its field
 * src. */
struct rs_pool_exchange {
#ifndef RS_NO_THREADS
	pthread_mutex_t lock;
#endif
	uint32_t first;
};

enum { CHAIN = 16, CHUNK = CHAIN * RS_POOL_MAGAZINE, SPILL_MAX = 3 * CHUNK };

#if defined(__wasm__) || defined(RS_NO_RESERVE)
/* No address space to reserve: a module's memory grows as a whole, so a slab is not for all cases.
 */
enum { RESERVE_MAX = 128 << 20 };

static void *reserve(size_t bytes)
{
	return bytes > RESERVE_MAX ? NULL : malloc(bytes);
}

static void give_back(void *base, size_t bytes)
{
	free(base);
}
#else
static void *reserve(size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	/* packets are touched in no order: fewer, larger pages where the system gives them */
	madvise(base, bytes, MADV_HUGEPAGE);
	return base;
}

static void give_back(void *base, size_t bytes)
{
	munmap(base, bytes);
}
#endif

#ifdef RS_NO_THREADS
static void lock_init(struct rs_pool_exchange *x)
{
}
static void lock_fini(struct rs_pool_exchange *x)
{
}
static void lock(struct rs_pool_exchange *x)
{
}
static void unlock(struct rs_pool_exchange *x)
{
}
#else
static void lock_init(struct rs_pool_exchange *x)
{
	pthread_mutex_init(&x->lock, NULL);
}

static void lock_fini(struct rs_pool_exchange *x)
{
	pthread_mutex_destroy(&x->lock);
}

static void lock(struct rs_pool_exchange *x)
{
	pthread_mutex_lock(&x->lock);
}

static void unlock(struct rs_pool_exchange *x)
{
	pthread_mutex_unlock(&x->lock);
}
#endif

int rs_pool_init(struct rs_pool *p, uint32_t capacity)
{
	size_t bytes;

	rs_assert(capacity && capacity <= UINT32_C(1) << 31);
	memset(p, 0, sizeof(*p));
	p->spill_head = RS_NO_PACKET;
	if (__builtin_mul_overflow((size_t)capacity, sizeof(struct rs_packet), &bytes))
		return -ENOMEM;
	p->base = reserve(bytes);
	if (!p->base)
		return -ENOMEM;
	p->capacity = capacity;
	return 0;
}

void rs_pool_fini(struct rs_pool *p)
{
	if (p->base)
		give_back(p->base, (size_t)p->capacity * sizeof(struct rs_packet));
	p->base = NULL;
}

void rs_pool_list_init(struct rs_pool_list *l, struct rs_pool *p)
{
	rs_assert(p && p->base);
	*l = (struct rs_pool_list){.pool = p, .head = RS_NO_PACKET, .full = RS_NO_PACKET};
}

int rs_pool_split(struct rs_pool *whole, struct rs_pool *const part[], uint32_t n)
{
	struct rs_pool_exchange *x;
	uint32_t each;

	rs_assert(n && !whole->exchange && whole->fresh <= whole->capacity);
	each = (whole->capacity - whole->fresh) / n;
	x = malloc(sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->first = RS_NO_PACKET;
	lock_init(x);
	for (uint32_t i = 0; i < n; i++) {
		*part[i] = (struct rs_pool){
			.base = whole->base,
			.fresh = whole->fresh + i * each,
			.capacity = whole->fresh + (i + 1) * each,
			.spill_head = RS_NO_PACKET,
			.exchange = x,
		};
	}
	return 0;
}

void rs_pool_join(struct rs_pool *const part[], uint32_t n)
{
	if (!n || !part[0]->exchange)
		return;
	/* one exchange for all of them, as rs_pool_split() made it */
	for (uint32_t i = 1; i < n; i++)
		rs_assert(part[i]->exchange == part[0]->exchange);
	lock_fini(part[0]->exchange);
	free(part[0]->exchange);
	for (uint32_t i = 0; i < n; i++)
		part[i]->exchange = NULL;
}

static void give(struct rs_pool *p)
{
	struct rs_pool_exchange *x = p->exchange;
	uint32_t first = p->spill_head, last = first;

	for (uint32_t i = 1; i < CHAIN; i++)
		last = rs_pool_at(p, last)->dst;
	p->spill_head = rs_pool_at(p, last)->dst;
	p->spill_count -= CHUNK;
	rs_pool_at(p, last)->dst = RS_NO_PACKET;
	lock(x);
	rs_pool_at(p, first)->src = x->first;
	__atomic_store_n(&x->first, first, __ATOMIC_RELAXED);
	unlock(x);
}

static void take(struct rs_pool *p)
{
	struct rs_pool_exchange *x = p->exchange;

	if (__atomic_load_n(&x->first, __ATOMIC_RELAXED) == RS_NO_PACKET)
		return;
	lock(x);
	if (x->first != RS_NO_PACKET) {
		p->spill_head = x->first;
		p->spill_count = CHUNK;
		__atomic_store_n(&x->first, rs_pool_at(p, x->first)->src, __ATOMIC_RELAXED);
	}
	unlock(x);
}

struct rs_packet *rs_pool_refill(struct rs_pool_list *l)
{
	struct rs_pool *p = l->pool;

	if (l->full != RS_NO_PACKET) {
		l->head = l->full;
		l->full = RS_NO_PACKET;
		l->count = RS_POOL_MAGAZINE;
		return rs_pool_take(l);
	}
	if (p->spill_head == RS_NO_PACKET && p->exchange)
		take(p);
	if (p->spill_head != RS_NO_PACKET) {
		l->head = p->spill_head;
		l->count = RS_POOL_MAGAZINE;
		p->spill_head = rs_pool_at(p, l->head)->dst;
		p->spill_count -= RS_POOL_MAGAZINE;
		return rs_pool_take(l);
	}
	if (p->fresh == p->capacity)
		return NULL;
	return rs_pool_at(p, p->fresh++);
}

/* The older magazine goes to the common list: the younger one is still in the cache. */
void rs_pool_spill(struct rs_pool_list *l)
{
	struct rs_pool *p = l->pool;

	rs_assert(l->count == RS_POOL_MAGAZINE && l->head != RS_NO_PACKET);
	if (l->full != RS_NO_PACKET) {
		rs_pool_at(p, l->full)->dst = p->spill_head;
		p->spill_head = l->full;
		p->spill_count += RS_POOL_MAGAZINE;
		if (p->exchange && p->spill_count > SPILL_MAX)
			give(p);
	}
	l->full = l->head;
	l->head = RS_NO_PACKET;
	l->count = 0;
}
