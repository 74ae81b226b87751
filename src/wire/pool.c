/* The packet slab: one reservation of address space, free lists that spill half when long. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "base/error.h"
#include "wire/pool.h"

int rs_pool_init(struct rs_pool *p, uint32_t capacity)
{
	void *base = mmap(NULL, (size_t)capacity * sizeof(struct rs_packet), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	memset(p, 0, sizeof(*p));
	p->spill_head = RS_NO_PACKET;
	if (base == MAP_FAILED)
		return -ENOMEM;
	p->base = base;
	p->capacity = capacity;
	return 0;
}

void rs_pool_fini(struct rs_pool *p)
{
	if (p->base)
		munmap(p->base, (size_t)p->capacity * sizeof(struct rs_packet));
	p->base = NULL;
}

void rs_pool_list_init(struct rs_pool_list *l, struct rs_pool *p)
{
	*l = (struct rs_pool_list){.pool = p, .head = RS_NO_PACKET, .tail = RS_NO_PACKET};
}

struct rs_packet *rs_pool_refill(struct rs_pool_list *l)
{
	struct rs_pool *p = l->pool;
	struct rs_packet *k;

	if (p->spill_head != RS_NO_PACKET) {
		k = rs_pool_at(p, p->spill_head);
		p->spill_head = k->next;
		p->spill_count--;
		return k;
	}
	if (p->fresh == p->capacity)
		return NULL;
	return rs_pool_at(p, p->fresh++);
}

/* The older half goes to the common list: the younger half is still in the cache. */
void rs_pool_spill(struct rs_pool_list *l)
{
	struct rs_pool *p = l->pool;

	for (uint32_t n = l->count / 2; n; n--) {
		struct rs_packet *k = rs_pool_at(p, l->head);
		uint32_t i = l->head;

		l->head = k->next;
		l->count--;
		k->next = p->spill_head;
		p->spill_head = i;
		p->spill_count++;
	}
}
