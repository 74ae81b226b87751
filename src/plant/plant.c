/* A fabric made ready: its congestion control, and which link is at a switch's port. */
#include "plant/plant.h"

#include <errno.h>
#include "plant/rtt.h"
#include "plant/tree.h"

static int64_t fastest_nic(const struct rs_fabric *f)
{
	int64_t most = 0;

	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (f->endpoints[i].rate > most)
			most = f->endpoints[i].rate;
	return most;
}

static void note_end(uint32_t *link, const uint32_t *first, const struct rs_link_end *e, uint32_t l)
{
	if (!e->is_switch)
		return;
	rs_assert(first[e->id] + e->port < first[e->id + 1]);
	link[first[e->id] + e->port] = l;
}

/* Every port of a switch has one link. */
static int index_ports(struct rs_plant *p, struct rs_arena *a)
{
	const struct rs_fabric *f = p->f;
	uint32_t *first = rs_arena_alloc(a, f->n_switches + 1u, sizeof(*first));
	uint32_t *link, n = 0;

	if (!first)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_switches; n += f->switches[i++].n_ports)
		first[i] = n;
	first[f->n_switches] = n;
	link = rs_arena_alloc(a, n + 1u, sizeof(*link));
	if (!link)
		return -ENOMEM;
	for (uint32_t l = 0; l < f->n_links; l++) {
		note_end(link, first, &f->links[l].a, l);
		note_end(link, first, &f->links[l].b, l);
	}
	p->port_first = first;
	p->port_link = link;
	return 0;
}

int rs_plant_create(const struct rs_fabric *f, const struct rs_plant_ideal *ideal, uint64_t seed,
		    struct rs_arena *a, struct rs_plant **out, struct rs_error *e)
{
	struct rs_plant *p = rs_arena_alloc(a, 1, sizeof(*p));
	int err;

	if (!p)
		return rs_error_set(e, -ENOMEM, "out of memory");
	rs_assert(f && a && f->links);
	p->f = f;
	if (ideal)
		p->ideal = *ideal;
	p->seed = seed;
	p->nic_rate = fastest_nic(f);
	err = plant_make_ccs(p, a, e);
	if (err)
		return err;
	p->recovery_rtt = plant_recovery_rtt(p);
	plant_uet(p);
	if (index_ports(p, a) || plant_tree(p, a))
		return rs_error_set(e, -ENOMEM, "out of memory");
	*out = p;
	return 0;
}
