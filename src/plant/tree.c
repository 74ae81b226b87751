/* The network as a whole: a tree of its switches, and a digest of its links. */
#include <errno.h>
#include <stdlib.h>
#include "base/random.h"
#include "plant/tree.h"

/* The links of one switch that lead to switches not reached yet join the tree. */
static uint32_t reach(const struct rs_plant *p, uint32_t sw, uint8_t *floods, bool *reached,
		      uint32_t *queue, uint32_t tail)
{
	for (uint32_t i = 0; i < p->f->switches[sw].n_ports; i++) {
		uint32_t link = rs_plant_port_link(p, sw, i);
		const struct rs_fabric_link *l = &p->f->links[link];
		uint32_t to = l->a.is_switch && l->a.id == sw ? l->b.id : l->a.id;

		if (l->down || !l->a.is_switch || reached[to])
			continue;
		reached[to] = true;
		floods[link] = 1;
		queue[tail++] = to;
	}
	return tail;
}

/* Breadth first, from the first switch of each part of the network. */
int plant_tree(struct rs_plant *p, struct rs_arena *a)
{
	const struct rs_fabric *f = p->f;
	uint8_t *floods = rs_arena_alloc(a, f->n_links + 1u, sizeof(*floods));
	uint32_t *queue = calloc(f->n_switches + 1u, sizeof(*queue));
	bool *reached = calloc(f->n_switches + 1u, sizeof(*reached));
	int err = floods && queue && reached ? 0 : -ENOMEM;

	for (uint32_t s = 0; !err && s < f->n_switches; s++) {
		uint32_t head = 0, tail = 0;

		if (reached[s])
			continue;
		reached[s] = true;
		queue[tail++] = s;
		while (head < tail)
			tail = reach(p, queue[head++], floods, reached, queue, tail);
	}
	for (uint32_t i = 0; !err && i < f->n_links; i++)
		if (!f->links[i].a.is_switch)
			floods[i] = !f->links[i].down;
	p->floods = floods;
	free(queue);
	free(reached);
	return err;
}

bool rs_plant_port_floods(const struct rs_plant *p, uint32_t sw, uint32_t port)
{
	return p->floods[rs_plant_port_link(p, sw, port)];
}

static uint64_t end_word(const struct rs_link_end *e)
{
	return (uint64_t)e->is_switch << 63 | (uint64_t)e->id << 16 | e->port;
}

uint64_t rs_plant_digest(const struct rs_plant *p)
{
	const struct rs_fabric *f = p->f;
	uint64_t d = rs_mix64((uint64_t)f->n_switches << 32 | f->n_endpoints);

	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = &f->links[i];

		d = rs_mix64(d ^ end_word(&l->a));
		d = rs_mix64(d ^ end_word(&l->b) ^ (uint64_t)l->down << 62);
	}
	return d;
}
