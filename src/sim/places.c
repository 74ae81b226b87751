/* Where packets were lost, by place and reason: kept where nothing moves fast, put together at the
 * end, of all processes that share a run. What a switch drops it counts itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"

enum { PAIRS = 16 }; /* of a node that is no switch of its own losses */

/* Packets of a class. */
struct lost {
	uint64_t packets;
	uint8_t dscp; /* of the latest */
};

struct sim_places {
	struct rs_losses *losses; /* why: enum rs_drop_why */
	/* [port][class] */
	struct lost (*link)[RS_CLASSES], (*nic)[RS_CLASSES];
};

/* ---- While packets move ---- */

static void lost(struct lost *l, const struct rs_packet *p)
{
	l->packets++;
	l->dscp = p->tos >> 2;
}

void sim_lost_on_link(struct sim_node *n, uint32_t port, const struct rs_packet *p)
{
	lost(&n->places->link[port][p->tc], p);
	rs_losses_add(n->places->losses, p->src, p->dst, (uint16_t)port, RS_DROP_LINK);
}

void sim_lost_at_nic(struct sim_node *n, uint32_t port, const struct rs_packet *p)
{
	lost(&n->places->nic[port][p->tc], p);
	rs_losses_add(n->places->losses, p->src, p->dst, (uint16_t)port, RS_DROP_NIC);
}

static bool can_lose(const struct sim_node *n)
{
	bool can = n->host && n->host->bus;

	for (uint32_t p = 0; p < n->n_ports; p++)
		can |= n->out[p].loss != 0 || n->out[p].fails;
	return can;
}

int sim_places_create(struct rs_sim *s, struct rs_error *e)
{
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];
		struct sim_places *p;

		if (!can_lose(n))
			continue;
		n->places = p = rs_arena_alloc(s->arena, 1, sizeof(*p));
		if (p) {
			p->link = rs_arena_alloc(s->arena, n->n_ports, sizeof(*p->link));
			p->nic = rs_arena_alloc(s->arena, n->n_ports, sizeof(*p->nic));
			p->losses = rs_losses_create(PAIRS);
		}
		if (!p || !p->link || !p->nic || !p->losses)
			return rs_error_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

void sim_places_destroy(struct rs_sim *s)
{
	for (uint32_t i = 0; s->nodes && i < s->n_nodes; i++)
		if (s->nodes[i].places && s->nodes[i].places->losses)
			rs_losses_destroy(s->nodes[i].places->losses);
}

/* ---- Names ---- */

enum { NAME = 64 };

static const char *node_name(const struct rs_sim *s, uint32_t node, uint32_t port)
{
	const struct rs_fabric *f = s->f;

	return node >= s->n_hosts ? f->switches[node - s->n_hosts].name
				  : f->endpoints[f->hosts[node].first_endpoint + port].name;
}

void sim_port_name(const struct rs_sim *s, uint32_t node, uint32_t port, char name[NAME])
{
	const char *of = node_name(s, node, port);

	if (node >= s->n_hosts)
		snprintf(name, NAME, "%.24s port %u", of, port);
	else
		snprintf(name, NAME, "%.28s", of);
}

/* "leaf0 port 3, to h3": how is " to", " from" or " ->" with the comma that it needs. */
static void way_name(const struct rs_sim *s, uint32_t node, uint32_t port, const char *how,
		     char name[NAME])
{
	const struct sim_link *l = &s->nodes[node].out[port];
	char own[NAME];

	sim_port_name(s, node, port, own);
	snprintf(name, NAME, "%.34s%s %.22s", own, how, node_name(s, l->to_node, l->to_port));
}

void sim_egress_name(const struct rs_sim *s, uint32_t node, uint32_t port, char name[NAME])
{
	way_name(s, node, port, ", to", name);
}

/* Where something was lost; port: the node's. */
static void place_name(const struct rs_sim *s, uint32_t node, uint32_t port, enum rs_drop_why why,
		       char name[NAME])
{
	if (why == RS_DROP_LINK)
		way_name(s, node, port, " ->", name);
	else if (why == RS_DROP_NIC || why == RS_DROP_QP)
		sim_port_name(s, node, port, name);
	else
		way_name(s, node, port, why == RS_DROP_WATCHDOG ? ", to" : ", from", name);
}

/* ---- Drops ---- */

static enum rs_drop_why why_of(enum rs_switch_why why)
{
	static const enum rs_drop_why same[RS_SWITCH_WHYS] = {
		[RS_SWITCH_LOSSY] = RS_DROP_LOSSY,       [RS_SWITCH_HEADROOM] = RS_DROP_HEADROOM,
		[RS_SWITCH_LIMIT] = RS_DROP_LIMIT,       [RS_SWITCH_WATCHDOG] = RS_DROP_WATCHDOG,
		[RS_SWITCH_NO_ROUTE] = RS_DROP_NO_ROUTE,
	};

	return same[why];
}

/* Where most of a pair's packets were lost, before it has a name. */
struct most {
	uint64_t packets;
	uint64_t order; /* of equals the first: node, way, who told */
	uint32_t node, port;
	enum rs_drop_why why;
};

static void keep_most(struct most *m, const struct most *other)
{
	if (other->packets > m->packets ||
	    (other->packets == m->packets && other->order < m->order))
		*m = *other;
}

/* A node's losses; those of a switch's own have its reasons. */
static void most_lost(const struct rs_losses *t, bool of_switch, uint32_t node, bool back,
		      const struct sim_pair *p, struct most *most)
{
	struct rs_loss l;

	if (!t || !rs_losses_most(t, back ? p->dst : p->src, back ? p->src : p->dst, &l))
		return;
	keep_most(most, &(struct most){
				.packets = l.packets,
				.order = (uint64_t)node << 2 | (uint64_t)back << 1 | !of_switch,
				.node = node,
				.port = l.port,
				.why = of_switch ? why_of(l.why) : (enum rs_drop_why)l.why,
			});
}

static struct most most_here(const struct rs_sim *s, const struct sim_pair *p)
{
	struct most most = {0};

	for (uint32_t i = 0; i < s->n_nodes; i++) {
		const struct sim_node *n = &s->nodes[i];

		for (unsigned back = 0; back < 2; back++) {
			if (n->sw)
				most_lost(rs_switch_losses(n->sw), true, i, back, p, &most);
			if (n->places)
				most_lost(n->places->losses, false, i, back, p, &most);
		}
	}
	return most;
}

int sim_places_of_pairs(struct rs_sim *s, struct sim_pair *pair, uint32_t n)
{
	struct most *mine = rs_arena_alloc(s->arena, n + 1u, sizeof(*mine));
	struct most *all;
	uint32_t n_all;

	if (!mine)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		mine[i] = most_here(s, &pair[i]);
	all = sim_ranks_share(s, mine, n, sizeof(*mine), &n_all);
	for (uint32_t i = 0; all && i < n; i++) {
		struct most most = {0};

		for (uint32_t k = i; k < n_all; k += n)
			keep_most(&most, &all[k]);
		pair[i].lost = most.packets;
		pair[i].place[0] = 0;
		if (most.packets)
			place_name(s, most.node, most.port, most.why, pair[i].place);
	}
	if (!all)
		return -ENOMEM;
	free(all);
	return 0;
}

/* A drop and the sim's own numbers of its place, before it has names. */
struct found {
	struct rs_sim_drop d;
	uint32_t order; /* of equals the first: nodes, then the links' two ways */
	uint32_t node, port;
	int to;
};

struct worst {
	struct found at[RS_SIM_PLACES];
	uint32_t n;
};

static bool comes_before(const struct found *a, const struct found *b)
{
	return a->d.packets != b->d.packets ? a->d.packets > b->d.packets : a->order < b->order;
}

/* Those with most packets, in their order; the first seen first among equals. */
static void keep(struct worst *w, const struct found *f)
{
	uint32_t i = w->n;

	if (!f->d.packets || (i == RS_SIM_PLACES && !comes_before(f, &w->at[i - 1])))
		return;
	if (i < RS_SIM_PLACES)
		w->n++;
	else
		i--;
	for (; i && comes_before(f, &w->at[i - 1]); i--)
		w->at[i] = w->at[i - 1];
	w->at[i] = *f;
}

static void dropped_by_switch(struct rs_sim *s, uint32_t node, struct worst *w)
{
	const struct sim_node *n = &s->nodes[node];

	for (uint32_t p = 0; p < n->n_ports; p++)
		for (unsigned t = 0; t < RS_CLASSES; t++) {
			const struct rs_switch_drops *d = rs_switch_drops(n->sw, p, t);

			for (unsigned y = 0; d && y < RS_SWITCH_WHYS; y++)
				keep(w,
				     &(struct found){
					     .d = {.node = node - s->n_hosts,
						   .port = p,
						   .tc = (uint8_t)t,
						   .dscp = (uint8_t)d->dscp,
						   .why = why_of(y),
						   .packets = d->packets[y]},
					     .order = node,
					     .node = node,
					     .port = p,
					     .to = y == RS_SWITCH_WATCHDOG || !d->to_votes ? -1
											   : d->to,
				     });
		}
}

/* Beside a switch's drops: what links and NICs lost, class by class. */
static void lost_here(uint32_t order, uint32_t node, uint32_t port, uint32_t number,
		      enum rs_drop_why why, const struct lost *l, struct worst *w)
{
	for (unsigned t = 0; t < RS_CLASSES; t++)
		keep(w, &(struct found){
				.d = {.node = RS_SIM_NO_SWITCH,
				      .port = number,
				      .tc = (uint8_t)t,
				      .dscp = l[t].dscp,
				      .why = why,
				      .packets = l[t].packets},
				.order = order,
				.node = node,
				.port = port,
				.to = -1,
			});
}

static void dropped_by_host(struct rs_sim *s, uint32_t node, struct worst *w)
{
	const struct sim_node *n = &s->nodes[node];
	uint32_t first = s->f->hosts[node].first_endpoint;

	for (uint32_t p = 0; p < n->n_ports; p++) {
		const struct sim_nic *k = &n->host->nics[p];

		if (n->places)
			lost_here(node, node, p, first + p, RS_DROP_NIC, n->places->nic[p], w);
		keep(w, &(struct found){
				.d = {.node = RS_SIM_NO_SWITCH,
				      .port = first + p,
				      .tc = RS_SIM_NO_CLASS,
				      .why = RS_DROP_QP,
				      .packets = k->transport->dropped(k->ends.self)},
				.order = node,
				.node = node,
				.port = p,
				.to = -1,
			});
	}
}

static uint32_t node_of_end(const struct rs_sim *s, const struct rs_link_end *e, uint32_t *port)
{
	uint32_t host = e->is_switch ? 0 : s->f->endpoints[e->id].host;

	*port = e->is_switch ? e->port : e->id - s->f->hosts[host].first_endpoint;
	return e->is_switch ? s->n_hosts + e->id : host;
}

static void lost_by_link(struct rs_sim *s, uint32_t link, bool back, struct worst *w)
{
	const struct rs_fabric_link *l = &s->f->links[link];
	uint32_t port, node = node_of_end(s, back ? &l->b : &l->a, &port);

	if (s->nodes[node].places)
		lost_here(s->n_nodes + 2 * link + back, node, port, link, RS_DROP_LINK,
			  s->nodes[node].places->link[port], w);
}

/* Of this process's nodes: the others' have lost nothing here. */
static void drops_here(struct rs_sim *s, struct worst *w)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].sw)
			dropped_by_switch(s, i, w);
		else
			dropped_by_host(s, i, w);
	for (uint32_t i = 0; i < s->f->n_links; i++) {
		lost_by_link(s, i, false, w);
		lost_by_link(s, i, true, w);
	}
}

int sim_places_collect(struct rs_sim *s)
{
	struct worst *here = rs_arena_alloc(s->arena, 2, sizeof(*here)), *w = here + 1;
	struct rs_sim_result *r = s->r;
	struct found *all;
	uint32_t n;

	if (!here)
		return -ENOMEM;
	drops_here(s, here);
	all = sim_ranks_share(s, here->at, here->n, sizeof(*here->at), &n);
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keep(w, &all[i]);
	free(all);
	r->drops = rs_arena_alloc(r->arena, w->n + 1u, sizeof(*r->drops));
	if (!r->drops)
		return -ENOMEM;
	r->n_drops = w->n;
	for (uint32_t i = 0; i < r->n_drops; i++) {
		const struct found *f = &w->at[i];

		r->drops[i] = f->d;
		place_name(s, f->node, f->port, f->d.why, r->drops[i].place);
		if (f->to >= 0)
			way_name(s, f->node, (uint32_t)f->to, ", to", r->drops[i].to);
	}
	return 0;
}
