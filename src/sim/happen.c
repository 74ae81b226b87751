/* fabric.events made into moments of nodes (happen.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/happen.h"
#include "sim/host.h"

/* Routes that all moments take, at most. */
static const uint64_t TABLES_MAX = UINT64_C(1) << 30;

/* Times at which something becomes known. */
struct times {
	rs_time *at;
	uint32_t n;
};

/* ---- Lists ---- */

static struct sim_happenings *list_of(struct rs_sim *s, uint32_t node)
{
	struct sim_node *n = &s->nodes[node];

	if (!n->happenings)
		n->happenings = rs_arena_alloc(s->arena, 1, sizeof(*n->happenings));
	return n->happenings;
}

int sim_happen_sampled(struct rs_sim *s, uint32_t host)
{
	struct sim_happenings *h = list_of(s, host);

	if (!h)
		return -ENOMEM;
	h->regain = s->regain;
	return 0;
}

static int add(struct rs_sim *s, uint32_t node, const struct sim_moment *m)
{
	struct sim_happenings *h = list_of(s, node);

	if (!h)
		return -ENOMEM;
	if (h->n == h->room) {
		uint32_t room = 2 * h->room + 4;
		struct sim_moment *more = rs_arena_alloc(s->arena, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		if (h->n)
			memcpy(more, h->moment, h->n * sizeof(*more));
		h->moment = more;
		h->room = room;
	}
	h->moment[h->n++] = *m;
	return 0;
}

static int by_time(const void *x, const void *y)
{
	const rs_time *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* Sorted, each once. */
static void in_order(struct times *t)
{
	uint32_t n = 0;

	qsort(t->at, t->n, sizeof(*t->at), by_time);
	for (uint32_t i = 0; i < t->n; i++)
		if (!n || t->at[n - 1] != t->at[i])
			t->at[n++] = t->at[i];
	t->n = n;
}

static bool concerns(const struct rs_fabric_event *v, uint32_t link)
{
	for (uint32_t i = 0; i < v->n_links; i++)
		if (v->links[i] == link)
			return true;
	return false;
}

/* ---- Links ---- */

/* What one way of the link is at this time: events that began later count for more. An event makes
 * no way faster than it is. */
static void state(const struct rs_fabric *f, uint32_t link, bool back, rs_time at,
		  struct sim_moment *m)
{
	const struct rs_fabric_link *l = &f->links[link];
	int64_t own = rs_fabric_link_rate(l, back), rate = own;
	rs_time rate_since = -1, loss_since = -1;
	double loss = l->loss;

	m->at = at;
	for (uint32_t i = 0; i < f->events.n; i++) {
		const struct rs_fabric_event *v = &f->events.event[i];

		if (v->at > at || v->until <= at || !concerns(v, link))
			continue;
		m->down |= v->down;
		if (v->rate && v->at >= rate_since) {
			rate = v->rate < own ? v->rate : own;
			rate_since = v->at;
		}
		if (v->loss >= 0 && v->at >= loss_since) {
			loss = v->loss;
			loss_since = v->at;
		}
	}
	m->pace = rs_pace_of(rate);
	m->loss = (uint64_t)ldexp(loss, 32);
}

/* Packets that events which begin now single out. */
static int picks(struct rs_sim *s, uint32_t link, rs_time at, struct sim_moment *m)
{
	for (uint32_t i = 0; i < s->f->events.n; i++) {
		const struct rs_fabric_event *v = &s->f->events.event[i];
		struct sim_pick *p;

		if (!v->drop || v->at != at || !concerns(v, link))
			continue;
		p = rs_arena_alloc(s->arena, 1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		*p = (struct sim_pick){.drop = v->drop, .skip = v->skip, .next = m->picks};
		m->picks = p;
	}
	return 0;
}

static int link_moment(struct rs_sim *s, uint32_t link, rs_time at)
{
	for (int back = 0; back < 2; back++) {
		struct sim_moment m = {0};
		struct rs_plant_way w;
		uint32_t node;

		state(s->f, link, back, at, &m);
		if (picks(s, link, at, &m))
			return -ENOMEM;
		rs_plant_way(s->plant, link, back, &w);
		node = sim_node_of(s, &w.from, &m.port);
		s->nodes[node].out[m.port].odd |= SIM_LINK_LOSES;
		s->nodes[node].out[m.port].fails = true;
		if (add(s, node, &m))
			return -ENOMEM;
	}
	return 0;
}

/* Does a switch at its end pass packets on before their tails are in? */
static bool cuts_through(const struct rs_sim *s, uint32_t link)
{
	for (int back = 0; back < 2; back++) {
		struct rs_plant_way w;

		rs_plant_way(s->plant, link, back, &w);
		if (w.header)
			return true;
	}
	return false;
}

/* Every link that some event concerns, at every time at which one begins or ends. */
static int links(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric_events *v = &s->f->events;
	struct times t = {rs_arena_alloc(s->arena, 2u * v->n + 1, sizeof(rs_time)), 0};

	if (!t.at)
		return -ENOMEM;
	for (uint32_t link = 0; link < s->f->n_links; link++) {
		t.n = 0;
		for (uint32_t i = 0; i < v->n; i++)
			if (concerns(&v->event[i], link)) {
				t.at[t.n++] = v->event[i].at;
				if (v->event[i].until != RS_NEVER)
					t.at[t.n++] = v->event[i].until;
				if (v->event[i].rate && cuts_through(s, link))
					return rs_error_set(
						e, -EINVAL,
						"events: a link's rate does not change where "
						"qos.cut_through is on; expected it off");
			}
		in_order(&t);
		for (uint32_t i = 0; i < t.n; i++)
			if (link_moment(s, link, t.at[i]))
				return -ENOMEM;
	}
	return 0;
}

/* A NIC holds its switch from and until. */
static int storm(struct rs_sim *s, const struct rs_fabric_event *v, rs_time at, enum sim_storm what)
{
	for (uint32_t i = 0; i < v->n_links && at != RS_NEVER; i++) {
		struct sim_moment m = {.at = at, .storm = (uint8_t)what};
		uint32_t node = sim_node_of(s, &s->f->links[v->links[i]].a, &m.port);

		if (add(s, node, &m))
			return -ENOMEM;
	}
	return 0;
}

static int storms(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric_events *v = &s->f->events;

	for (uint32_t i = 0; i < v->n; i++)
		if (v->event[i].pause &&
		    (storm(s, &v->event[i], v->event[i].at, SIM_STORM_BEGINS) ||
		     storm(s, &v->event[i], v->event[i].until, SIM_STORM_ENDS)))
			return -ENOMEM;
	return 0;
}

/* ---- Routes ---- */

/* Is the link taken for down, by who hears of it so late? What is shorter is never heard of. */
static bool known_down(const struct rs_fabric *f, uint32_t link, rs_time at, rs_time late)
{
	for (uint32_t i = 0; i < f->events.n; i++) {
		const struct rs_fabric_event *v = &f->events.event[i];

		if (v->down && v->at + late <= at && concerns(v, link) &&
		    (v->until == RS_NEVER || (v->until - v->at > late && at < v->until + late)))
			return true;
	}
	return false;
}

/* All times at which something is known so late, the beginning too. */
static int known_times(struct rs_sim *s, rs_time late, struct times *t)
{
	const struct rs_fabric_events *v = &s->f->events;

	t->n = 0;
	t->at = rs_arena_alloc(s->arena, 2u * v->n + 1, sizeof(rs_time));
	for (uint32_t i = 0; t->at && i < v->n; i++)
		if (v->event[i].down) {
			t->at[t->n++] = v->event[i].at + late;
			if (v->event[i].until != RS_NEVER)
				t->at[t->n++] = v->event[i].until + late;
		}
	if (t->at)
		in_order(t);
	return t->at ? 0 : -ENOMEM;
}

/* The table of a switch without its ports that it knows to be down itself. */
static int without(struct rs_sim *s, const struct rs_routes *r, uint32_t sw, const bool *dead,
		   struct sim_moment *m)
{
	uint32_t *set_of = rs_arena_alloc(s->arena, r->n_groups + 1u, sizeof(*set_of)), n = 0;
	uint16_t *ports;

	if (!set_of)
		return -ENOMEM;
	for (uint32_t g = 0; g < r->n_groups; g++) /* a set is kept for each group: these are few */
		n += r->set_of[sw][g] & 0xff;
	ports = rs_arena_alloc(s->arena, n + 1u, sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	n = 0;
	for (uint32_t g = 0; g < r->n_groups; g++) {
		uint32_t set = r->set_of[sw][g], first = n;

		for (uint32_t i = 0; i < (set & 0xff); i++)
			if (!dead[r->ports[sw][(set >> 8) + i]])
				ports[n++] = r->ports[sw][(set >> 8) + i];
		set_of[g] = first << 8 | (n - first);
	}
	m->set_of = set_of;
	m->ports = ports;
	return 0;
}

/* What a switch routes by, from this time on. */
static int route_moment(struct rs_sim *s, const struct rs_routes *r, uint32_t sw, rs_time at)
{
	struct sim_moment m = {.at = at, .set_of = r->set_of[sw], .ports = r->ports[sw]};
	const struct sim_node *n = &s->nodes[s->n_hosts + sw];
	bool dead[RS_SWITCH_PORTS_MAX] = {false}, any = false;

	for (uint32_t p = 0; p < n->n_ports; p++) {
		dead[p] = n->out[p].fails && known_down(s->f, rs_plant_port_link(s->plant, sw, p),
							at, s->f->events.detect);
		any |= dead[p];
	}
	if (any && without(s, r, sw, dead, &m))
		return -ENOMEM;
	return add(s, s->n_hosts + sw, &m);
}

/* Switches with a link that is known of at this time; all: every switch. */
static int route_moments(struct rs_sim *s, const struct rs_routes *r, rs_time at, bool all)
{
	for (uint32_t sw = 0; sw < s->f->n_switches; sw++) {
		const struct sim_node *n = &s->nodes[s->n_hosts + sw];
		bool here = all;

		for (uint32_t p = 0; p < n->n_ports && !here; p++)
			here = n->out[p].fails;
		if (here && route_moment(s, r, sw, at))
			return -ENOMEM;
	}
	return 0;
}

static int reroute(struct rs_sim *s, rs_time at, rs_time late, struct rs_routes *r,
		   struct rs_error *e)
{
	bool *down = rs_arena_alloc(s->arena, s->f->n_links + 1u, sizeof(*down));

	if (!down)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->f->n_links; i++)
		down[i] = known_down(s->f, i, at, late);
	return rs_fabric_reroute(s->f, down, s->arena, r, e);
}

static int too_many(const struct rs_sim *s, uint32_t changes, struct rs_error *e)
{
	uint64_t bytes =
		(uint64_t)changes * s->f->n_switches * s->f->routes.n_groups * sizeof(uint32_t);

	if (bytes <= TABLES_MAX)
		return 0;
	return rs_error_set(
		e, -E2BIG,
		"events: %u changes of the routes of %u switches are %llu MiB; at most %llu MiB; "
		"expected fewer events, or a longer fabric.failover.converge",
		changes, s->f->n_switches, (unsigned long long)(bytes >> 20),
		(unsigned long long)(TABLES_MAX >> 20));
}

static int routes(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric_events *v = &s->f->events;
	rs_time late = v->detect + v->converge;
	struct rs_routes now = s->f->routes;
	struct times near, far;
	uint32_t i = 0, k = 0;
	int err;

	if (known_times(s, v->detect, &near) || known_times(s, late, &far))
		return -ENOMEM;
	if ((err = too_many(s, far.n, e)))
		return err;
	while (i < near.n || k < far.n) {
		rs_time a = i < near.n ? near.at[i] : RS_NEVER,
			b = k < far.n ? far.at[k] : RS_NEVER;
		rs_time at = rs_time_min(a, b);

		i += a == at;
		k += b == at;
		if (b == at && (err = reroute(s, at, late, &now, e)))
			return err;
		if ((err = route_moments(s, &now, at, b == at)))
			return err;
	}
	return 0;
}

/* ---- The whole ---- */

static int before(const void *x, const void *y)
{
	const struct sim_moment *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

int sim_happen_create(struct rs_sim *s, struct rs_error *e)
{
	int err;

	if (!s->f->events.n || s->o->ideal.network || s->o->ideal.no_loss)
		return 0;
	if ((err = links(s, e)) || (err = storms(s, e)) || (err = routes(s, e)))
		return err == -ENOMEM ? rs_error_set(e, err, "out of memory") : err;
	if (sim_regain_create(s))
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		struct sim_happenings *h = s->nodes[i].happenings;

		/* moments of one time are of different links, or are the routes: in any order */
		if (h && h->n)
			qsort(h->moment, h->n, sizeof(*h->moment), before);
	}
	return 0;
}

bool sim_link_picks(struct sim_link *l)
{
	struct sim_pick *taken = NULL, **at = &l->picks;

	for (struct sim_pick *p; (p = *at); at = &p->next) {
		if (p->skip)
			p->skip--;
		else if (!taken)
			taken = p;
	}
	if (taken && !--taken->drop) {
		for (at = &l->picks; *at != taken; at = &(*at)->next)
			;
		*at = taken->next;
	}
	return taken;
}

static void pick(struct sim_link *l, struct sim_pick *more)
{
	struct sim_pick **end = &l->picks;

	while (*end)
		end = &(*end)->next;
	*end = more;
}

void sim_happen(struct sim_node *n)
{
	struct sim_happenings *h = n->happenings;
	const struct sim_moment *m;
	struct sim_link *l;

	if (h->regain && h->sampled < h->regain->n &&
	    (h->next == h->n || h->regain->at[h->sampled] <= h->moment[h->next].at)) {
		sim_regain_sample(n, h->regain, h->sampled++);
		return;
	}
	m = &h->moment[h->next++];
	if (m->set_of) {
		rs_switch_set_routes(n->sw, m->set_of, m->ports);
		return;
	}
	if (m->storm) {
		sim_nic_storm(&n->host->nics[m->port], m->storm == SIM_STORM_BEGINS, m->at);
		return;
	}
	l = &n->out[m->port];
	l->down = m->down;
	l->pace = m->pace;
	l->loss = m->loss;
	pick(l, m->picks);
}
