/* Routing tables from the graph: a breadth-first search from each switch that has endpoints; at
 * every switch the ports that lead one hop nearer are a set, kept once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/build.h"

#define FAR UINT32_MAX

enum { SET_MAX = 255 };

struct neighbour {
	uint32_t sw;
	uint16_t port;
};
struct graph {
	uint32_t *first; /* an entry a switch, and one behind */
	struct neighbour *to;
	uint32_t *distance, *queue;
	uint32_t *n_ports, *room; /* of the sets kept, a switch */
};

static int by_port(const void *x, const void *y)
{
	return ((const struct neighbour *)x)->port - ((const struct neighbour *)y)->port;
}

static bool graph_create(struct rs_load *l, const struct rs_fabric *f, struct graph *g)
{
	uint32_t *fill;

	memset(g, 0, sizeof(*g));
	g->first = calloc(f->n_switches + 2, sizeof(*g->first));
	g->to = calloc(2 * (size_t)f->n_links + 1, sizeof(*g->to));
	g->distance = calloc(f->n_switches + 1, sizeof(*g->distance));
	g->queue = calloc(f->n_switches + 1, sizeof(*g->queue));
	g->n_ports = calloc(f->n_switches + 1, sizeof(*g->n_ports));
	g->room = calloc(f->n_switches + 1, sizeof(*g->room));
	if (!g->first || !g->to || !g->distance || !g->queue || !g->n_ports || !g->room) {
		rs_load_fail(l, -ENOMEM, (struct rs_where){0}, "out of memory");
		return false;
	}
	fill = g->first + 1; /* counts, then starts, then ends: no second array */
	for (uint32_t i = 0; i < f->n_links; i++)
		if (f->links[i].a.is_switch && !f->links[i].down) {
			fill[f->links[i].a.id + 1]++;
			fill[f->links[i].b.id + 1]++;
		}
	for (uint32_t i = 0; i < f->n_switches; i++)
		fill[i + 1] += fill[i];
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_link_end *a = &f->links[i].a, *b = &f->links[i].b;

		if (!a->is_switch || f->links[i].down)
			continue;
		g->to[fill[a->id]++] = (struct neighbour){b->id, a->port};
		g->to[fill[b->id]++] = (struct neighbour){a->id, b->port};
	}
	for (uint32_t i = 0; i < f->n_switches; i++)
		qsort(g->to + g->first[i], g->first[i + 1] - g->first[i], sizeof(*g->to), by_port);
	return true;
}

static void graph_destroy(struct graph *g)
{
	free(g->first);
	free(g->to);
	free(g->distance);
	free(g->queue);
	free(g->n_ports);
	free(g->room);
}

static void search(const struct rs_fabric *f, struct graph *g, uint32_t from)
{
	uint32_t head = 0, tail = 0;

	memset(g->distance, 0xff, f->n_switches * sizeof(*g->distance));
	g->distance[from] = 0;
	g->queue[tail++] = from;
	while (head < tail) {
		uint32_t s = g->queue[head++];

		for (uint32_t i = g->first[s]; i < g->first[s + 1]; i++) {
			uint32_t to = g->to[i].sw;

			if (g->distance[to] != FAR)
				continue;
			g->distance[to] = g->distance[s] + 1;
			g->queue[tail++] = to;
		}
	}
}

/* Where this set is among the switch's; appended when it is new. Sets of earlier groups are runs of
 * the same ports, so any run that matches will do. */
static uint32_t keep(struct rs_load *l, struct rs_routes *r, struct graph *g, uint32_t s,
		     const uint16_t *set, uint32_t n)
{
	uint16_t *ports = r->ports[s];
	uint32_t have = g->n_ports[s];

	for (uint32_t i = 0; n && i + n <= have; i++)
		if (ports[i] == set[0] && !memcmp(ports + i, set, n * sizeof(*set)))
			return i << 8 | n;
	if (have + n > g->room[s]) {
		uint32_t room = 2 * (have + n) + 16;

		ports = rs_load_take(l, room, sizeof(*ports));
		if (!ports)
			return 0;
		memcpy(ports, r->ports[s], have * sizeof(*ports));
		r->ports[s] = ports;
		g->room[s] = room;
	}
	memcpy(ports + have, set, n * sizeof(*set));
	g->n_ports[s] = have + n;
	return have << 8 | n;
}

static void routes_to(struct rs_load *l, struct rs_fabric *f, struct graph *g, uint32_t edge,
		      uint32_t group)
{
	search(f, g, edge);
	for (uint32_t s = 0; s < f->n_switches && !l->err; s++) {
		uint16_t set[SET_MAX];
		uint32_t n = 0;

		if (g->distance[s] == FAR || s == edge)
			continue;
		for (uint32_t i = g->first[s]; i < g->first[s + 1] && n < SET_MAX; i++)
			if (g->distance[g->to[i].sw] + 1 == g->distance[s])
				set[n++] = g->to[i].port;
		f->routes.set_of[s][group] = keep(l, &f->routes, g, s, set, n);
	}
}

/* Groups: switches with endpoints, numbered in the order of their first endpoint. */
static void groups(struct rs_load *l, struct rs_fabric *f)
{
	struct rs_routes *r = &f->routes;
	uint32_t *count = rs_load_take(l, f->n_switches, sizeof(*count));

	r->group_of = rs_load_take(l, f->n_endpoints, sizeof(*r->group_of));
	r->local_index = rs_load_take(l, f->n_endpoints, sizeof(*r->local_index));
	r->group_of_switch = rs_load_take(l, f->n_switches, sizeof(*r->group_of_switch));
	r->set_of = rs_load_take(l, f->n_switches, sizeof(*r->set_of));
	r->ports = rs_load_take(l, f->n_switches, sizeof(*r->ports));
	r->local_port = rs_load_take(l, f->n_switches, sizeof(*r->local_port));
	if (l->err)
		return;
	memset(r->group_of_switch, 0xff, f->n_switches * sizeof(*r->group_of_switch));
	for (uint32_t i = 0; i < f->n_endpoints; i++) {
		uint32_t s = f->endpoints[i].node;

		if (r->group_of_switch[s] == UINT32_MAX)
			r->group_of_switch[s] = r->n_groups++;
		r->group_of[i] = r->group_of_switch[s];
		r->local_index[i] = (uint16_t)count[s]++;
	}
	for (uint32_t s = 0; s < f->n_switches; s++) {
		r->local_port[s] = rs_load_take(l, count[s] ? count[s] : 1, sizeof(uint16_t));
		r->set_of[s] = rs_load_take(l, r->n_groups, sizeof(uint32_t));
		r->ports[s] = rs_load_take(l, 1, sizeof(uint16_t));
	}
	for (uint32_t i = 0; i < f->n_endpoints && !l->err; i++)
		r->local_port[f->endpoints[i].node][r->local_index[i]] =
			f->links[f->endpoints[i].link].b.port;
}

void rs_fabric_route(struct rs_load *l, struct rs_fabric *f)
{
	struct graph g = {0};

	if (l->err)
		return;
	groups(l, f);
	if (!l->err && graph_create(l, f, &g))
		for (uint32_t s = 0; s < f->n_switches && !l->err; s++)
			if (f->routes.group_of_switch[s] != UINT32_MAX)
				routes_to(l, f, &g, s, f->routes.group_of_switch[s]);
	graph_destroy(&g);
}

int rs_fabric_reroute(const struct rs_fabric *f, const bool *down, struct rs_arena *a,
		      struct rs_routes *out, struct rs_error *e)
{
	struct rs_fabric g = *f;
	struct rs_load l = {.arena = a, .e = e};

	g.arena = a;
	memset(&g.routes, 0, sizeof(g.routes));
	g.links = rs_load_take(&l, f->n_links + 1u, sizeof(*g.links));
	for (uint32_t i = 0; g.links && i < f->n_links; i++) {
		g.links[i] = f->links[i];
		g.links[i].down |= down[i];
	}
	rs_fabric_route(&l, &g);
	*out = g.routes;
	return l.err;
}
