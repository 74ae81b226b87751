/* Routing tables from the graph: a breadth-first search from each switch that has endpoints; at
 * every switch the ports that lead one hop nearer are a set, kept once.
 *
 * Up, then down (Schroeder et al., Autonet, 1991): switches stand in an order, and no route goes up
 * again once it went down, so that no circle of buffers can wait for each other. A table knows the
 * destination alone: a switch that can go down all the way does, and any other goes up. */
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
	uint32_t *height; /* up, then down: 0 is the top; of equals the lower number is higher */
	uint32_t *below;  /* up, then down: hops to the destination that go down alone, or FAR */
	uint64_t *order;  /* up, then down: height and number of switches, from the top on */
	uint32_t *n_ports, *room; /* of the sets kept, a switch */
};

static int by_port(const void *x, const void *y)
{
	return ((const struct neighbour *)x)->port - ((const struct neighbour *)y)->port;
}

static int by_height(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static bool graph_create(struct rs_load *l, const struct rs_fabric *f, struct graph *g)
{
	uint32_t *fill;

	memset(g, 0, sizeof(*g));
	g->first = calloc(f->n_switches + 2, sizeof(*g->first));
	g->to = calloc(2 * (size_t)f->n_links + 1, sizeof(*g->to));
	g->distance = calloc(f->n_switches + 1, sizeof(*g->distance));
	g->queue = calloc(f->n_switches + 1, sizeof(*g->queue));
	g->height = calloc(f->n_switches + 1, sizeof(*g->height));
	g->below = calloc(f->n_switches + 1, sizeof(*g->below));
	g->order = calloc(f->n_switches + 1, sizeof(*g->order));
	g->n_ports = calloc(f->n_switches + 1, sizeof(*g->n_ports));
	g->room = calloc(f->n_switches + 1, sizeof(*g->room));
	if (!g->first || !g->to || !g->distance || !g->queue || !g->height || !g->below ||
	    !g->order || !g->n_ports || !g->room) {
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
	free(g->height);
	free(g->below);
	free(g->order);
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

/* ---- Up, then down ---- */

static void rise(const struct rs_fabric *f, struct graph *g, uint32_t *tail, uint32_t s)
{
	g->height[s] = 0;
	g->queue[(*tail)++] = s;
	for (uint32_t i = 0; i < f->n_switches; i++)
		if (f->switches[s].tier && f->switches[i].tier == f->switches[s].tier &&
		    g->height[i] == FAR) {
			g->height[i] = 0;
			g->queue[(*tail)++] = i;
		}
}

/* Heights are hops from the top: all switches of the highest tier; where there are no tiers the
 * first switch, and so in each part of a network that is not joined. */
static void heights(const struct rs_fabric *f, struct graph *g)
{
	uint32_t head = 0, tail = 0;

	memset(g->height, 0xff, f->n_switches * sizeof(*g->height));
	for (int tier = UINT8_MAX; tier >= 0; tier--)
		for (uint32_t s = 0; s < f->n_switches; s++) {
			if (f->switches[s].tier != tier || g->height[s] != FAR)
				continue;
			for (rise(f, g, &tail, s); head < tail; head++)
				for (uint32_t at = g->queue[head], i = g->first[at];
				     i < g->first[at + 1]; i++) {
					uint32_t to = g->to[i].sw;

					if (g->height[to] != FAR)
						continue;
					g->height[to] = g->height[at] + 1;
					g->queue[tail++] = to;
				}
		}
	for (uint32_t s = 0; s < f->n_switches; s++)
		g->order[s] = (uint64_t)g->height[s] << 32 | s;
	qsort(g->order, f->n_switches, sizeof(*g->order), by_height);
}

static bool above(const struct graph *g, uint32_t a, uint32_t b)
{
	return g->height[a] < g->height[b] || (g->height[a] == g->height[b] && a < b);
}

/* distance: by a route of this kind. */
static void search_up_down(const struct rs_fabric *f, struct graph *g, uint32_t from)
{
	uint32_t head = 0, tail = 0;

	memset(g->below, 0xff, f->n_switches * sizeof(*g->below));
	g->below[from] = 0;
	for (g->queue[tail++] = from; head < tail; head++) {
		uint32_t s = g->queue[head];

		for (uint32_t i = g->first[s]; i < g->first[s + 1]; i++) {
			uint32_t to = g->to[i].sw;

			if (g->below[to] != FAR || !above(g, to, s))
				continue;
			g->below[to] = g->below[s] + 1;
			g->queue[tail++] = to;
		}
	}
	memcpy(g->distance, g->below, f->n_switches * sizeof(*g->distance));
	for (uint32_t k = 0; k < f->n_switches; k++) {
		uint32_t s = (uint32_t)g->order[k];

		for (uint32_t i = g->first[s]; g->below[s] == FAR && i < g->first[s + 1]; i++) {
			uint32_t to = g->to[i].sw;

			if (above(g, to, s) && g->distance[to] != FAR &&
			    g->distance[to] + 1 < g->distance[s])
				g->distance[s] = g->distance[to] + 1;
		}
	}
}

static bool nearer(const struct rs_fabric *f, const struct graph *g, uint32_t s, uint32_t to)
{
	if (!f->net.up_down)
		return g->distance[to] + 1 == g->distance[s];
	if (g->below[s] != FAR)
		return above(g, s, to) && g->below[to] != FAR && g->below[to] + 1 == g->below[s];
	return above(g, to, s) && g->distance[to] != FAR && g->distance[to] + 1 == g->distance[s];
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
	if (f->net.up_down)
		search_up_down(f, g, edge);
	else
		search(f, g, edge);
	for (uint32_t s = 0; s < f->n_switches && !l->err; s++) {
		uint16_t set[SET_MAX];
		uint32_t n = 0;

		if (g->distance[s] == FAR || s == edge)
			continue;
		for (uint32_t i = g->first[s]; i < g->first[s + 1] && n < SET_MAX; i++)
			if (nearer(f, g, s, g->to[i].sw))
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
	if (!l->err && graph_create(l, f, &g)) {
		if (f->net.up_down)
			heights(f, &g);
		for (uint32_t s = 0; s < f->n_switches && !l->err; s++)
			if (f->routes.group_of_switch[s] != UINT32_MAX)
				routes_to(l, f, &g, s, f->routes.group_of_switch[s]);
	}
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
