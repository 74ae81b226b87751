/* Facts of a network for people: tiers, oversubscription, bisection, diameter. */
#include <stdlib.h>
#include "fabric/fabric.h"

static void count_links(const struct rs_fabric *f, struct rs_network_facts *o, int64_t *down,
			int64_t *up)
{
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = &f->links[i];

		if (l->down)
			continue;
		if (!l->a.is_switch) {
			o->host_links++;
			down[l->b.id] += l->rate;
			continue;
		}
		o->fabric_links++;
		up[l->a.id] += l->rate;
		up[l->b.id] += rs_fabric_link_rate(l, true);
	}
}

/* Switches from s to the group's edge switch along the first of its equal-cost ports. */
static uint32_t hops(const struct rs_fabric *f, uint32_t **peer, uint32_t s, uint32_t group)
{
	uint32_t n = 1;

	while (f->routes.group_of_switch[s] != group && n <= f->n_switches) {
		uint32_t set = f->routes.set_of[s][group];

		if (!(set & 0xff))
			return 0;
		s = peer[s][f->routes.ports[s][set >> 8]];
		n++;
	}
	return n;
}

static uint32_t diameter(const struct rs_fabric *f)
{
	uint32_t **peer = calloc(f->n_switches + 1u, sizeof(*peer)), most = 0;

	for (uint32_t s = 0; peer && s < f->n_switches; s++)
		peer[s] = calloc(f->switches[s].n_ports + 1u, sizeof(**peer));
	for (uint32_t i = 0; peer && i < f->n_links; i++) {
		const struct rs_link_end *a = &f->links[i].a, *b = &f->links[i].b;

		if (!a->is_switch || !peer[a->id] || !peer[b->id])
			continue;
		peer[a->id][a->port] = b->id;
		peer[b->id][b->port] = a->id;
	}
	for (uint32_t s = 0; peer && s < f->n_switches; s++)
		for (uint32_t g = 0;
		     f->routes.group_of_switch[s] != UINT32_MAX && g < f->routes.n_groups; g++) {
			uint32_t n = hops(f, peer, s, g);

			most = n > most ? n : most;
		}
	for (uint32_t s = 0; peer && s < f->n_switches; s++)
		free(peer[s]);
	free(peer);
	return most;
}

/* The worst even split cuts, of each leaf, the lesser of what hangs on it and what leads up: the
 * half of the leaves with the least of it is what can cross. */
static int by_rate(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a > b) - (a < b);
}

void rs_fabric_facts(const struct rs_fabric *f, struct rs_network_facts *out)
{
	int64_t *down = calloc(f->n_switches + 1u, sizeof(*down));
	int64_t *up = calloc(f->n_switches + 1u, sizeof(*up));
	uint32_t n = 0;

	*out = (struct rs_network_facts){.switches = f->n_switches};
	if (down && up) {
		count_links(f, out, down, up);
		for (uint32_t s = 0; s < f->n_switches; s++) {
			double over = up[s] ? (double)down[s] / (double)up[s] : 0;

			if (f->switches[s].tier + 1u > out->tiers)
				out->tiers = f->switches[s].tier + 1u;
			if (!down[s])
				continue;
			if (over > out->oversubscription)
				out->oversubscription = over;
			down[n++] = f->n_switches == 1 ? down[s]
				    : down[s] < up[s]  ? down[s]
						       : up[s];
		}
		qsort(down, n, sizeof(*down), by_rate);
		for (uint32_t i = 0; i < n / 2; i++)
			out->bisection += down[i];
		if (n == 1)
			out->bisection = down[0] / 2;
	}
	out->diameter = diameter(f);
	free(down);
	free(up);
}
