/* Where packets were lost, by place and reason: kept where nothing moves fast, put together at the
 * end. What a switch drops it counts itself. */
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

/* "leaf0 port 3", "h3/nic0". */
static void port_name(const struct rs_sim *s, uint32_t node, uint32_t port, char name[NAME])
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

	port_name(s, node, port, own);
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
		port_name(s, node, port, name);
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

/* A node's losses; those of a switch's own have its reasons. */
static void most_lost(const struct rs_sim *s, const struct rs_losses *t, bool of_switch,
		      uint32_t node, uint32_t src, uint32_t dst, uint64_t *most, char name[NAME])
{
	struct rs_loss l;

	if (!t || !rs_losses_most(t, src, dst, &l) || l.packets <= *most)
		return;
	*most = l.packets;
	place_name(s, node, l.port, of_switch ? why_of(l.why) : (enum rs_drop_why)l.why, name);
}

uint64_t sim_place_of_pair(const struct rs_sim *s, uint32_t src, uint32_t dst, char name[NAME])
{
	uint64_t most = 0;

	name[0] = 0;
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		const struct sim_node *n = &s->nodes[i];

		for (unsigned back = 0; back < 2; back++) {
			uint32_t a = back ? dst : src, b = back ? src : dst;

			if (n->sw)
				most_lost(s, rs_switch_losses(n->sw), true, i, a, b, &most, name);
			if (n->places)
				most_lost(s, n->places->losses, false, i, a, b, &most, name);
		}
	}
	return most;
}

/* A drop and the sim's own numbers of its place, before it has names. */
struct found {
	struct rs_sim_drop d;
	uint32_t node, port;
	int to;
};

struct worst {
	struct found at[RS_SIM_PLACES];
	uint32_t n;
};

/* Those with most packets, the first seen first among equals. */
static void keep(struct worst *w, const struct found *f)
{
	uint32_t i = w->n;

	if (!f->d.packets)
		return;
	if (i == RS_SIM_PLACES && w->at[i - 1].d.packets >= f->d.packets)
		return;
	if (i < RS_SIM_PLACES)
		w->n++;
	else
		i--;
	for (; i && w->at[i - 1].d.packets < f->d.packets; i--)
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
					     .node = node,
					     .port = p,
					     .to = y == RS_SWITCH_WATCHDOG || !d->to_votes ? -1
											   : d->to,
				     });
		}
}

/* Beside a switch's drops: what links and NICs lost, class by class. */
static void lost_here(uint32_t node, uint32_t port, uint32_t number, enum rs_drop_why why,
		      const struct lost *l, struct worst *w)
{
	for (unsigned t = 0; t < RS_CLASSES; t++)
		keep(w, &(struct found){
				.d = {.node = RS_SIM_NO_SWITCH,
				      .port = number,
				      .tc = (uint8_t)t,
				      .dscp = l[t].dscp,
				      .why = why,
				      .packets = l[t].packets},
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
			lost_here(node, p, first + p, RS_DROP_NIC, n->places->nic[p], w);
		keep(w, &(struct found){
				.d = {.node = RS_SIM_NO_SWITCH,
				      .port = first + p,
				      .tc = RS_SIM_NO_CLASS,
				      .why = RS_DROP_QP,
				      .packets = k->transport->dropped(k->ends.self)},
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

static void lost_by_link(struct rs_sim *s, uint32_t link, const struct rs_link_end *from,
			 struct worst *w)
{
	uint32_t port, node = node_of_end(s, from, &port);

	if (s->nodes[node].places)
		lost_here(node, port, link, RS_DROP_LINK, s->nodes[node].places->link[port], w);
}

static void collect_drops(struct rs_sim *s, struct worst *w)
{
	struct rs_sim_result *r = s->r;

	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].sw)
			dropped_by_switch(s, i, w);
		else
			dropped_by_host(s, i, w);
	for (uint32_t i = 0; i < s->f->n_links; i++) {
		lost_by_link(s, i, &s->f->links[i].a, w);
		lost_by_link(s, i, &s->f->links[i].b, w);
	}
	r->drops = w->n ? rs_arena_alloc(r->arena, w->n, sizeof(*r->drops)) : NULL;
	r->n_drops = r->drops ? w->n : 0;
	for (uint32_t i = 0; i < r->n_drops; i++) {
		const struct found *f = &w->at[i];

		r->drops[i] = f->d;
		place_name(s, f->node, f->port, f->d.why, r->drops[i].place);
		if (f->to >= 0)
			way_name(s, f->node, (uint32_t)f->to, ", to", r->drops[i].to);
	}
}

/* ---- Pauses ---- */

/* A port that paused its peer. */
struct pauser {
	uint32_t node, port;
	uint8_t tc;
	uint64_t frames;
	rs_time time; /* the peer was held */
};

struct longest {
	struct pauser at[RS_SIM_PLACES];
	uint32_t n;
};

/* An egress of a switch, or the memory behind a NIC's port. */
struct stop {
	uint32_t node, port;
};

static const struct sim_nic *nic_at(const struct rs_sim *s, uint32_t node, uint32_t port)
{
	return &s->nodes[node].host->nics[port];
}

/* How long a port was held by its peer. */
static rs_time held(const struct rs_sim *s, uint32_t node, uint32_t port, unsigned tc)
{
	const struct sim_node *n = &s->nodes[node];

	return n->sw ? rs_switch_held(n->sw, port, tc, sim_end(s))
		     : sim_nic_held(nic_at(s, node, port), tc, sim_end(s));
}

/* PAUSEs of a port, and the egress that they were for most. */
static uint64_t paused_for(const struct rs_sim *s, uint32_t node, uint32_t port, unsigned tc,
			   struct rs_switch_wait *most)
{
	const struct sim_node *n = &s->nodes[node];
	struct rs_switch_wait w[RS_SWITCH_WAITS] = {{0}};
	uint64_t frames;

	*most = (struct rs_switch_wait){0};
	if (!n->sw)
		return nic_at(s, node, port)->pfc->sent[tc];
	frames = rs_switch_waits(n->sw, port, tc, sim_end(s), w);
	for (unsigned i = 0; i < RS_SWITCH_WAITS; i++)
		if (w[i].time > most->time)
			*most = w[i];
	return frames;
}

/* What held up a pauser's packets; false: nothing was held up. *on: that egress was held itself. */
static bool first_stop(const struct rs_sim *s, uint32_t node, uint32_t port, unsigned tc,
		       struct stop *at, bool *on)
{
	struct rs_switch_wait w;

	*on = false;
	*at = (struct stop){node, port};
	if (s->nodes[node].host)
		return true;
	paused_for(s, node, port, tc, &w);
	if (!w.time)
		return false;
	at->port = w.egress;
	*on = w.held > w.time / 10;
	return true;
}

static bool next_stop(const struct rs_sim *s, unsigned tc, struct stop *at, bool *on)
{
	const struct sim_link *l = &s->nodes[at->node].out[at->port];

	return first_stop(s, l->to_node, l->to_port, tc, at, on);
}

/* The head of the tree; in a circle its first port, so that all of it have one root. */
static struct stop root_of(const struct rs_sim *s, struct stop at, bool on, unsigned tc)
{
	enum { HOPS = 64 };
	struct stop seen[HOPS], next;
	uint32_t n = 0;

	for (; on && n < HOPS; n++) {
		seen[n] = at;
		for (uint32_t i = 0; i < n; i++) {
			if (seen[i].node != at.node || seen[i].port != at.port)
				continue;
			for (; i < n; i++)
				if (seen[i].node < at.node ||
				    (seen[i].node == at.node && seen[i].port < at.port))
					at = seen[i];
			return at;
		}
		next = at;
		if (!next_stop(s, tc, &next, &on))
			break;
		at = next;
	}
	return at;
}

static void stop_name(const struct rs_sim *s, const struct stop *at, char name[NAME])
{
	if (s->nodes[at->node].host)
		snprintf(name, NAME, "memory of %.40s", s->f->hosts[at->node].name);
	else
		way_name(s, at->node, at->port, ", to", name);
}

static void keep_longest(struct longest *w, const struct pauser *p)
{
	uint32_t i = w->n;

	if (!p->frames && !p->time)
		return;
	if (i == RS_SIM_PLACES && w->at[i - 1].time >= p->time)
		return;
	if (i < RS_SIM_PLACES)
		w->n++;
	else
		i--;
	for (; i && w->at[i - 1].time < p->time; i--)
		w->at[i] = w->at[i - 1];
	w->at[i] = *p;
}

static void pausers_of(struct rs_sim *s, uint32_t node, struct longest *w)
{
	const struct sim_node *n = &s->nodes[node];
	struct rs_switch_wait most;

	for (uint32_t p = 0; p < n->n_ports; p++) {
		const struct sim_link *l = &n->out[p];

		for (unsigned t = 0; t < RS_CLASSES && l->rate; t++)
			keep_longest(w, &(struct pauser){
						.node = node,
						.port = p,
						.tc = (uint8_t)t,
						.frames = paused_for(s, node, p, t, &most),
						.time = held(s, l->to_node, l->to_port, t),
					});
	}
}

static void describe_pause(const struct rs_sim *s, const struct pauser *p, struct rs_sim_pause *out)
{
	const struct sim_link *l = &s->nodes[p->node].out[p->port];
	struct stop at;
	bool on;

	*out = (struct rs_sim_pause){.tc = p->tc, .pauses = p->frames, .time = p->time};
	port_name(s, p->node, p->port, out->by);
	port_name(s, l->to_node, l->to_port, out->held);
	if (!first_stop(s, p->node, p->port, p->tc, &at, &on))
		return;
	stop_name(s, &at, out->for_);
	at = root_of(s, at, on, p->tc);
	stop_name(s, &at, out->root);
}

static void collect_pauses(struct rs_sim *s, struct longest *w)
{
	struct rs_sim_result *r = s->r;

	for (uint32_t i = 0; i < s->n_nodes; i++)
		pausers_of(s, i, w);
	r->pauses = w->n ? rs_arena_alloc(r->arena, w->n, sizeof(*r->pauses)) : NULL;
	r->n_pauses = r->pauses ? w->n : 0;
	for (uint32_t i = 0; i < r->n_pauses; i++)
		describe_pause(s, &w->at[i], &r->pauses[i]);
}

void sim_places_collect(struct rs_sim *s)
{
	struct worst *worst = rs_arena_alloc(s->arena, 1, sizeof(*worst));
	struct longest *longest = rs_arena_alloc(s->arena, 1, sizeof(*longest));

	if (worst)
		collect_drops(s, worst);
	if (longest)
		collect_pauses(s, longest);
}
