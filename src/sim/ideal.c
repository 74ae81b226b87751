/* The ideal network of a counterfactual: one switch that every endpoint hangs on, with the rate and
 * delay of its own link. Contention inside the network is gone; contention at endpoints is not. */
#include <errno.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/ideal.h"

static int routes(struct rs_fabric *f, struct rs_arena *a)
{
	struct rs_routes *r = &f->routes;

	r->n_groups = 1;
	r->group_of = rs_arena_alloc(a, f->n_endpoints, sizeof(uint32_t));
	r->local_index = rs_arena_alloc(a, f->n_endpoints, sizeof(uint16_t));
	r->group_of_switch = rs_arena_alloc(a, 1, sizeof(uint32_t));
	r->set_of = rs_arena_alloc(a, 1, sizeof(uint32_t *));
	r->ports = rs_arena_alloc(a, 1, sizeof(uint16_t *));
	r->local_port = rs_arena_alloc(a, 1, sizeof(uint16_t *));
	if (!r->group_of || !r->local_index || !r->group_of_switch || !r->set_of || !r->ports ||
	    !r->local_port)
		return -ENOMEM;
	r->set_of[0] = rs_arena_alloc(a, 1, sizeof(uint32_t));
	r->ports[0] = rs_arena_alloc(a, 1, sizeof(uint16_t));
	r->local_port[0] = rs_arena_alloc(a, f->n_endpoints, sizeof(uint16_t));
	if (!r->set_of[0] || !r->ports[0] || !r->local_port[0])
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		r->local_index[i] = r->local_port[0][i] = (uint16_t)i;
	return 0;
}

int rs_sim_ideal_network(const struct rs_fabric *f, struct rs_arena *a, struct rs_fabric **out,
			 struct rs_error *e)
{
	struct rs_fabric *g = rs_arena_alloc(a, 1, sizeof(*g));
	struct rs_fabric_switch *sw = rs_arena_alloc(a, 1, sizeof(*sw));
	struct rs_fabric_link *links = rs_arena_alloc(a, f->n_endpoints, sizeof(*links));
	struct rs_fabric_endpoint *ends = rs_arena_alloc(a, f->n_endpoints, sizeof(*ends));

	if (f->n_endpoints > RS_SWITCH_PORTS_MAX)
		return rs_error_set(
			e, -E2BIG, "the ideal network is one switch: at most %d endpoints, here %u",
			RS_SWITCH_PORTS_MAX, f->n_endpoints);
	if (!g || !sw || !links || !ends)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*g = *f;
	*sw = (struct rs_fabric_switch){.name = "ideal", .n_ports = (uint16_t)f->n_endpoints};
	memcpy(ends, f->endpoints, f->n_endpoints * sizeof(*ends));
	for (uint32_t i = 0; i < f->n_endpoints; i++) {
		const struct rs_fabric_link *l = &f->links[f->endpoints[i].link];

		links[i] = (struct rs_fabric_link){
			.a = {.is_switch = false, .id = i},
			.b = {.is_switch = true, .id = 0, .port = (uint16_t)i},
			.rate = l->rate,
			.rate_back = l->rate_back,
			.delay = l->delay,
		};
		ends[i].link = i;
		ends[i].node = 0;
	}
	g->n_switches = 1;
	g->switches = sw;
	g->n_links = f->n_endpoints;
	g->links = links;
	g->endpoints = ends;
	*out = g;
	return routes(g, a) ? rs_error_set(e, -ENOMEM, "out of memory") : 0;
}
