/* Who paused whom, and for what: each process tells what its own ports sent and how long they were
 * held; trees and circles of pauses are found in what all told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "sim/host.h"

enum { NAME = 64, FACTS_FIRST = 64 };

/* What a port tells of a class: PAUSEs that it sent, how long its peer held it, and the egress that
 * its own PAUSEs were for most. */
struct fact {
	uint32_t node, port, tc;
	uint32_t egress;
	uint64_t frames;
	rs_time held;
	rs_time waited, egress_held; /* for that egress; of it, that was held itself */
};

struct facts {
	struct fact *at;
	uint32_t n, room;
};

/* A port that paused its peer. */
struct pauser {
	uint32_t node, port, tc;
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

/* ---- What is told ---- */

static void of_switch(const struct rs_sim *s, const struct sim_node *n, struct fact *f)
{
	struct rs_switch_wait w[RS_SWITCH_WAITS] = {{0}}, most = {0};

	f->frames = rs_switch_waits(n->sw, f->port, f->tc, sim_end(s), w);
	for (unsigned i = 0; i < RS_SWITCH_WAITS; i++)
		if (w[i].time > most.time)
			most = w[i];
	f->egress = most.egress;
	f->waited = most.time;
	f->egress_held = most.held;
	f->held = rs_switch_held(n->sw, f->port, f->tc, sim_end(s));
}

static void of_nic(const struct rs_sim *s, const struct sim_node *n, struct fact *f)
{
	const struct sim_nic *k = &n->host->nics[f->port];

	f->frames = k->pfc->sent[f->tc];
	f->held = sim_nic_held(k, f->tc, sim_end(s));
}

static int add(struct facts *all, const struct fact *f)
{
	if (all->n == all->room) {
		uint32_t room = all->room ? 2 * all->room : FACTS_FIRST;
		struct fact *more = realloc(all->at, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		all->at = more;
		all->room = room;
	}
	all->at[all->n++] = *f;
	return 0;
}

static int tell_node(const struct rs_sim *s, uint32_t node, struct facts *all)
{
	const struct sim_node *n = &s->nodes[node];

	for (uint32_t p = 0; p < n->n_ports; p++)
		for (uint32_t t = 0; t < RS_CLASSES && n->out[p].rate; t++) {
			struct fact f = {.node = node, .port = p, .tc = t};

			if (n->sw)
				of_switch(s, n, &f);
			else
				of_nic(s, n, &f);
			if ((f.frames || f.held) && add(all, &f))
				return -ENOMEM;
		}
	return 0;
}

static int by_place(const void *x, const void *y)
{
	const struct fact *a = x, *b = y;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->tc < b->tc ? -1 : a->tc > b->tc;
}

/* NULL: nothing was paused there, and it paused nothing. */
static const struct fact *fact_of(const struct facts *all, uint32_t node, uint32_t port,
				  uint32_t tc)
{
	struct fact key = {.node = node, .port = port, .tc = tc};

	return all->n ? bsearch(&key, all->at, all->n, sizeof(key), by_place) : NULL;
}

/* The class that packets of an egress class have at the link's other end. */
static uint32_t class_behind(const struct rs_sim *s, const struct sim_link *l, uint32_t tc)
{
	return l->odd & SIM_LINK_RISES ? s->rise.next[tc] : tc;
}

/* What a port's peer tells of the class that the port pauses as its class tc: where classes rise by
 * hop several may be, and that held longest counts. */
static const struct fact *peer_fact(const struct rs_sim *s, const struct facts *all, uint32_t node,
				    uint32_t port, uint32_t tc)
{
	const struct sim_link *l = &s->nodes[node].out[port];
	const struct fact *most = NULL;

	for (uint32_t c = 0; c < RS_CLASSES; c++) {
		const struct fact *f = class_behind(s, l, c) == tc
					       ? fact_of(all, l->to_node, l->to_port, c)
					       : NULL;

		if (f && (!most || f->held > most->held))
			most = f;
	}
	return most;
}

/* ---- Why ---- */

/* What held up a pauser's packets; false: nothing was held up. *on: that egress was held itself. */
static bool first_stop(const struct rs_sim *s, const struct facts *all, uint32_t tc,
		       struct stop *at, bool *on)
{
	const struct fact *f;

	*on = false;
	if (s->nodes[at->node].host)
		return true;
	f = fact_of(all, at->node, at->port, tc);
	if (!f || !f->waited)
		return false;
	at->port = f->egress;
	*on = f->egress_held > f->waited / 10;
	return true;
}

static bool next_stop(const struct rs_sim *s, const struct facts *all, uint32_t *tc,
		      struct stop *at, bool *on)
{
	const struct sim_link *l = &s->nodes[at->node].out[at->port];

	*at = (struct stop){l->to_node, l->to_port};
	*tc = class_behind(s, l, *tc);
	return first_stop(s, all, *tc, at, on);
}

/* The head of the tree; in a circle its first port, so that all of it have one root. */
static struct stop root_of(const struct rs_sim *s, const struct facts *all, struct stop at, bool on,
			   uint32_t tc)
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
		if (!next_stop(s, all, &tc, &next, &on))
			break;
		at = next;
	}
	return at;
}

/* ---- The longest ---- */

static bool comes_before(const struct pauser *a, const struct pauser *b)
{
	if (a->time != b->time)
		return a->time > b->time;
	if (a->node != b->node)
		return a->node < b->node;
	return a->port != b->port ? a->port < b->port : a->tc < b->tc;
}

static void keep(struct longest *w, const struct pauser *p)
{
	uint32_t i = w->n;

	if (i == RS_SIM_PLACES && !comes_before(p, &w->at[i - 1]))
		return;
	if (i < RS_SIM_PLACES)
		w->n++;
	else
		i--;
	for (; i && comes_before(p, &w->at[i - 1]); i--)
		w->at[i] = w->at[i - 1];
	w->at[i] = *p;
}

/* A port that sent PAUSEs, and one whose peer was held though it has sent none. */
static void pausers_of(const struct rs_sim *s, const struct facts *all, const struct fact *f,
		       struct longest *w)
{
	const struct sim_link *l = &s->nodes[f->node].out[f->port];
	const struct fact *held = peer_fact(s, all, f->node, f->port, f->tc);
	uint32_t behind = class_behind(s, l, f->tc);
	const struct fact *pausing = fact_of(all, l->to_node, l->to_port, behind);

	if (f->frames)
		keep(w,
		     &(struct pauser){f->node, f->port, f->tc, f->frames, held ? held->held : 0});
	if (f->held && !(pausing && pausing->frames))
		keep(w, &(struct pauser){l->to_node, l->to_port, behind, 0, f->held});
}

static void stop_name(const struct rs_sim *s, const struct stop *at, char name[NAME])
{
	if (s->nodes[at->node].host)
		snprintf(name, NAME, "memory of %.40s", s->f->hosts[at->node].name);
	else
		sim_egress_name(s, at->node, at->port, name);
}

static void describe(const struct rs_sim *s, const struct facts *all, const struct pauser *p,
		     struct rs_sim_pause *out)
{
	const struct sim_link *l = &s->nodes[p->node].out[p->port];
	struct stop at = {p->node, p->port};
	bool on;

	*out = (struct rs_sim_pause){.tc = (uint8_t)p->tc, .pauses = p->frames, .time = p->time};
	sim_port_name(s, p->node, p->port, out->by);
	sim_port_name(s, l->to_node, l->to_port, out->held);
	if (!first_stop(s, all, p->tc, &at, &on))
		return;
	stop_name(s, &at, out->for_);
	at = root_of(s, all, at, on, p->tc);
	stop_name(s, &at, out->root);
}

static int describe_longest(struct rs_sim *s, const struct facts *all)
{
	struct longest *w = rs_arena_alloc(s->arena, 1, sizeof(*w));
	struct rs_sim_result *r = s->r;

	for (uint32_t i = 0; w && i < all->n; i++)
		pausers_of(s, all, &all->at[i], w);
	r->pauses = w ? rs_arena_alloc(r->arena, w->n + 1u, sizeof(*r->pauses)) : NULL;
	if (!r->pauses)
		return -ENOMEM;
	r->n_pauses = w->n;
	for (uint32_t i = 0; i < r->n_pauses; i++)
		describe(s, all, &w->at[i], &r->pauses[i]);
	return 0;
}

int sim_pauses_collect(struct rs_sim *s)
{
	struct facts mine = {0}, all = {0};
	int err = 0;

	for (uint32_t i = 0; i < s->n_nodes && !err; i++)
		if (sim_runs_here(s, &s->nodes[i]))
			err = tell_node(s, i, &mine);
	if (!err)
		all.at = sim_ranks_share(s, mine.at, mine.n, sizeof(*mine.at), &all.n);
	free(mine.at);
	if (!all.at)
		return -ENOMEM;
	qsort(all.at, all.n, sizeof(*all.at), by_place);
	err = describe_longest(s, &all);
	free(all.at);
	return err;
}
