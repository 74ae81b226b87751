/* What a cause is called, where it is and what shows it, by the counters of the run as described.
 */
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "diagnose/state.h"
#include "report/report.h"

enum { PLACES = 3 };

void cause_evidence(struct rs_cause *c, const char *fmt, ...)
{
	va_list ap;

	if (c->n_evidence == RS_EVIDENCE_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(c->evidence[c->n_evidence++], sizeof(c->evidence[0]), fmt, ap);
	va_end(ap);
}

/* ---- Drops ---- */

/* Drops alike in reason, class and DSCP; where they happened. */
struct drop_group {
	const struct rs_sim_drop *first;
	uint64_t packets;
	char places[160];
	unsigned n_places;
	uint32_t last;
};

static bool alike(const struct rs_sim_drop *a, const struct rs_sim_drop *b)
{
	return a->why == b->why && a->tc == b->tc && a->dscp == b->dscp;
}

static const char *drop_place(const struct rs_fabric *f, const struct rs_sim_drop *d)
{
	return d->node != RS_SIM_NO_SWITCH && d->node < f->n_switches ? f->switches[d->node].name
								      : d->place;
}

static void place_add(struct drop_group *g, const struct rs_fabric *f, const struct rs_sim_drop *d)
{
	const char *name = drop_place(f, d);
	size_t at = strlen(g->places);

	/* a switch is named once, however many of its ports dropped */
	if (strstr(g->places, name) || g->n_places > PLACES)
		return;
	if (g->n_places++ == PLACES)
		snprintf(g->places + at, sizeof(g->places) - at, " and others");
	else
		snprintf(g->places + at, sizeof(g->places) - at, "%s%s", at ? ", " : "", name);
}

static bool on_link(const struct rs_sim_drop *d)
{
	return d->why == RS_DROP_LINK;
}

static bool not_on_link(const struct rs_sim_drop *d)
{
	return d->why != RS_DROP_LINK;
}

static bool by_watchdog(const struct rs_sim_drop *d)
{
	return d->why == RS_DROP_WATCHDOG;
}

/* The greatest group of one kind. */
static struct drop_group top_drops(const struct rs_fabric *f, const struct rs_sim_result *r,
				   bool (*of)(const struct rs_sim_drop *d))
{
	struct drop_group best = {0};

	for (uint32_t i = 0; i < r->n_drops; i++) {
		struct drop_group g = {.first = &r->drops[i]};

		if (!of(&r->drops[i]))
			continue;
		for (uint32_t k = 0; k < r->n_drops; k++)
			if (alike(&r->drops[k], g.first)) {
				g.packets += r->drops[k].packets;
				place_add(&g, f, &r->drops[k]);
			}
		if (g.packets > best.packets)
			best = g;
	}
	return best;
}

static void name_lossy(const struct rs_fabric *f, const struct drop_group *g, struct rs_cause *c)
{
	const struct rs_sim_drop *d = g->first;
	uint32_t sw = d->node;
	int meant = sw < f->n_switches ? dscp_meant(f, sw, d->dscp) : -1;

	if (meant >= 0 && rs_fabric_qos(f, sw)->pfc) {
		c->id = "drops.lossy-class";
		snprintf(c->what, sizeof(c->what),
			 "drops at %s: DSCP %u is in class %u there, %s; NICs mark class %d with "
			 "it, "
			 "which is lossless",
			 g->places, d->dscp, d->tc,
			 d->tc == meant ? "without PFC" : "which is lossy", meant);
		return;
	}
	if (sw < f->n_switches && !rs_fabric_qos(f, sw)->pfc && f->qos.tc[d->tc].lossless) {
		c->id = "drops.no-pfc";
		snprintf(c->what, sizeof(c->what),
			 "drops at %s: PFC is off, so the buffer overflows in class %u (DSCP %u)",
			 g->places, d->tc, d->dscp);
		return;
	}
	c->id = "drops.lossy-class";
	snprintf(c->what, sizeof(c->what),
		 "drops at %s: class %u (DSCP %u) is lossy and its queue was full", g->places,
		 d->tc, d->dscp);
}

/* Hosts and jobs whose data is in a class; false: nobody else's is in the lossless class of data.
 */
static bool senders_of_class(const struct rs_fabric *f, uint8_t tc, struct rs_enumeration *who)
{
	bool others = false;

	for (uint32_t j = 0; j < f->n_jobs; j++) {
		const struct rs_collective_conf *c = rs_job_collective(&f->jobs[j]);
		uint32_t last = UINT32_MAX;

		others |= c && c->tc == f->qos.data_tc;
		if (c && c->tc == tc)
			rs_enumerate(who, ", ", "job '%s'", f->jobs[j].name);
		for (uint32_t i = 0; i < f->jobs[j].n_flows; i++) {
			const struct rs_flow *w = &f->jobs[j].flows[i];

			others |= w->tc == f->qos.data_tc;
			if (w->tc == tc && w->src != last)
				rs_enumerate(who, ", ", "%s", f->endpoints[w->src].name);
			last = w->tc == tc ? w->src : last;
		}
	}
	return others && who->n && f->qos.tc[f->qos.data_tc].lossless;
}

/* NICs that mark all they send with a DSCP which is not their class's. */
static bool senders_of_mark(const struct rs_fabric *f, uint8_t dscp, struct rs_enumeration *who)
{
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (f->endpoints[i].mark == dscp + 1)
			rs_enumerate(who, ", ", "%s", f->endpoints[i].name);
	return who->n;
}

/* Who sends in a lossy class, where others send in a lossless one: with a wrong DSCP, say. */
static void name_senders(const struct rs_fabric *f, const struct rs_sim_drop *d, struct rs_cause *c)
{
	struct rs_enumeration who = {0};
	char place[sizeof(c->place)];
	size_t at = strlen(c->what);

	if (d->tc == f->qos.data_tc ||
	    !(senders_of_mark(f, d->dscp, &who) || senders_of_class(f, d->tc, &who)))
		return;
	snprintf(c->what + at, sizeof(c->what) - at,
		 "; what %.80s sends is in it, others' is in class %u", who.text, f->qos.data_tc);
	snprintf(place, sizeof(place), "%s", c->place);
	snprintf(c->place, sizeof(c->place), "%.60s, %.90s", who.text, place);
}

static bool short_headroom(const struct rs_fabric *f)
{
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (rs_fabric_qos(f, s)->headroom_scale < 1)
			return true;
	return false;
}

/* The NIC at a switch's port; UINT32_MAX: a switch. */
static uint32_t nic_at(const struct rs_fabric *f, uint32_t sw, uint32_t port)
{
	for (uint32_t i = 0; i < f->n_endpoints; i++) {
		const struct rs_fabric_link *l = &f->links[f->endpoints[i].link];
		const struct rs_link_end *e = l->a.is_switch ? &l->a : &l->b;

		if (e->id == sw && e->port == port)
			return i;
	}
	return UINT32_MAX;
}

/* The switch at the other end of a switch's port; UINT32_MAX: a NIC. */
static uint32_t peer_of(const struct rs_fabric *f, uint32_t sw, uint32_t port)
{
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_link_end *a = &f->links[i].a, *b = &f->links[i].b;

		if (a->is_switch && b->is_switch && a->id == sw && a->port == port)
			return b->id;
		if (a->is_switch && b->is_switch && b->id == sw && b->port == port)
			return a->id;
	}
	return UINT32_MAX;
}

/* A PAUSE finds no ear at a switch that has the packets in another class, or PFC off: what it sends
 * on overruns the headroom of the next. Then that switch is to blame. */
static bool name_deaf(const struct rs_fabric *f, const struct rs_sim_result *r,
		      const struct drop_group *g, struct rs_cause *c)
{
	struct drop_group deaf = {0};
	uint8_t dscp = g->first->dscp, tc = g->first->tc;
	int meant = -1;
	bool off = false;

	for (uint32_t i = 0; i < r->n_drops; i++) {
		const struct rs_sim_drop *d = &r->drops[i];
		uint32_t peer = alike(d, g->first) && d->node < f->n_switches
					? peer_of(f, d->node, d->port)
					: UINT32_MAX;
		struct rs_sim_drop at = {.node = peer};

		if (peer == UINT32_MAX)
			continue;
		if (dscp_meant(f, peer, dscp) >= 0)
			meant = dscp_meant(f, peer, dscp);
		else if (f->qos.pfc && f->qos.tc[tc].lossless && !rs_fabric_qos(f, peer)->pfc)
			off = true;
		else
			continue;
		place_add(&deaf, f, &at);
	}
	if (meant < 0 && !off)
		return false;
	c->id = meant >= 0 ? "drops.lossy-class" : "drops.no-pfc";
	if (meant >= 0)
		snprintf(
			c->what, sizeof(c->what),
			"drops at %s, behind %s: DSCP %u is not in class %d there, so a PAUSE does "
			"not hold it",
			g->places, deaf.places, dscp, meant);
	else
		snprintf(c->what, sizeof(c->what),
			 "drops at %s, behind %s: PFC is off there, so a PAUSE does not hold it",
			 g->places, deaf.places);
	snprintf(c->place, sizeof(c->place), "%s", deaf.places);
	return true;
}

/* The same of NICs that have PFC off: they send on through PAUSEs, and ask for none. */
static bool name_deaf_nics(const struct rs_fabric *f, const struct rs_sim_result *r,
			   const struct drop_group *g, struct rs_cause *c)
{
	bool at_nic = g->first->why == RS_DROP_NIC;
	struct rs_enumeration who = {0};

	for (uint32_t i = 0; f->qos.pfc && i < f->n_endpoints; i++)
		if (f->endpoints[i].no_pfc && at_nic && strstr(g->places, f->endpoints[i].name))
			rs_enumerate(&who, ", ", "%s", f->endpoints[i].name);
	for (uint32_t i = 0; f->qos.pfc && !at_nic && i < r->n_drops; i++) {
		const struct rs_sim_drop *d = &r->drops[i];
		uint32_t nic = alike(d, g->first) && d->node < f->n_switches
				       ? nic_at(f, d->node, d->port)
				       : UINT32_MAX;

		if (nic != UINT32_MAX && f->endpoints[nic].no_pfc)
			rs_enumerate(&who, ", ", "%s", f->endpoints[nic].name);
	}
	if (!who.n)
		return false;
	c->id = "drops.no-pfc";
	snprintf(c->what, sizeof(c->what),
		 at_nic ? "drops at %s: PFC is off at %.80s, so it does not hold its switch"
			: "drops at %s: PFC is off at %.80s, so a PAUSE does not hold it",
		 g->places, who.text);
	snprintf(c->place, sizeof(c->place), "%.150s", who.text);
	return true;
}

static void name_drops(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c)
{
	static const char *const id[RS_DROPS_WHY] = {
		[RS_DROP_HEADROOM] = "drops.headroom", [RS_DROP_LIMIT] = "drops.limit",
		[RS_DROP_WATCHDOG] = "drops.watchdog", [RS_DROP_NO_ROUTE] = "drops.no-route",
		[RS_DROP_NIC] = "drops.nic",           [RS_DROP_QP] = "drops.queue-pair",
	};
	static const char *const why[RS_DROPS_WHY] = {
		[RS_DROP_HEADROOM] = "what still came after the PAUSE found no headroom",
		[RS_DROP_LIMIT] = "an egress queue was at its limit",
		[RS_DROP_WATCHDOG] =
			"the PFC watchdog emptied queues that were paused for too long",
		[RS_DROP_NO_ROUTE] = "there was no route",
		[RS_DROP_NIC] = "the NIC's receive buffer was full",
		[RS_DROP_QP] = "the queue pair was in error, or gone",
	};
	struct drop_group g = top_drops(f, r, not_on_link);

	if (!g.first)
		return;
	/* a queue that its watchdog emptied sends on through the PAUSE, past any headroom */
	if (g.first->why == RS_DROP_HEADROOM && !short_headroom(f) &&
	    top_drops(f, r, by_watchdog).first)
		g = top_drops(f, r, by_watchdog);
	if (g.first->why == RS_DROP_LOSSY) {
		name_lossy(f, &g, c);
	} else if (!((g.first->why == RS_DROP_HEADROOM || g.first->why == RS_DROP_NIC) &&
		     name_deaf_nics(f, r, &g, c)) &&
		   (g.first->why != RS_DROP_HEADROOM || !name_deaf(f, r, &g, c))) {
		c->id = id[g.first->why];
		snprintf(c->what, sizeof(c->what), "drops at %s: %s", g.places, why[g.first->why]);
		if (g.first->tc != RS_SIM_NO_CLASS)
			cause_evidence(c, "class %u, DSCP %u", g.first->tc, g.first->dscp);
	}
	if (!c->place[0])
		snprintf(c->place, sizeof(c->place), "%s", g.places);
	if (g.first->why == RS_DROP_LOSSY)
		name_senders(f, g.first, c);
	if (g.first->to[0])
		cause_evidence(c, "most were on their way to %s", g.first->to);
	cause_evidence(c, "%llu of %llu dropped packets; %llu packets sent again, %llu timeouts",
		       (unsigned long long)g.packets,
		       (unsigned long long)(r->counters.drops + r->counters.nic_drops),
		       (unsigned long long)r->counters.retransmits,
		       (unsigned long long)r->counters.timeouts);
}

static const char *why_lost(const struct rs_fabric *f)
{
	bool errors = false, events = f->events.n != 0;

	for (uint32_t i = 0; i < f->n_links; i++)
		errors |= f->links[i].loss > 0;
	return errors && events ? "bit errors and fabric.events"
	       : events         ? "fabric.events"
				: "bit errors";
}

static void name_loss(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c)
{
	struct drop_group g = top_drops(f, r, on_link);

	if (g.first) {
		snprintf(c->what, sizeof(c->what), "packets lost on the link %s: %s", g.places,
			 why_lost(f));
		snprintf(c->place, sizeof(c->place), "%s", g.places);
	} else {
		snprintf(c->what, sizeof(c->what), "packets lost on links: %s", why_lost(f));
	}
	cause_evidence(c, "%llu packets lost on links; %llu sent again, %llu timeouts",
		       (unsigned long long)r->counters.link_losses,
		       (unsigned long long)r->counters.retransmits,
		       (unsigned long long)r->counters.timeouts);
}

/* ---- Pauses ---- */

void cause_name_pauses(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c)
{
	const struct rs_sim_pause *p = r->n_pauses ? &r->pauses[0] : NULL;
	char t[32];

	if (r->deadlock.n) {
		snprintf(c->what, sizeof(c->what),
			 "a PFC deadlock: %u ports wait for each other in a circle, from %s",
			 r->deadlock.n, r->deadlock.port[0].name);
		snprintf(c->place, sizeof(c->place), "%s", r->deadlock.port[0].name);
		return;
	}
	if (!p) {
		snprintf(c->what, sizeof(c->what), "pauses (PFC)");
		return;
	}
	snprintf(c->what, sizeof(c->what), "pauses (PFC) that begin at %s",
		 p->root[0] ? p->root : p->by);
	snprintf(c->place, sizeof(c->place), "%s", p->root[0] ? p->root : p->by);
	for (uint32_t i = 0; i < r->n_pauses && i < 2; i++) {
		p = &r->pauses[i];
		cause_evidence(c, "%s held %s for %s in class %u (%llu PAUSE frames)%s%s", p->by,
			       p->held, rs_human_time(t, sizeof(t), p->time), p->tc,
			       (unsigned long long)p->pauses,
			       p->for_[0] ? ": its packets waited for " : "", p->for_);
	}
}

/* ---- Inside hosts ---- */

static void busiest_link(const struct rs_sim_result *r, struct rs_cause *c)
{
	const struct rs_sim_link *l = r->n_links ? &r->links[0] : NULL;

	if (!l)
		return;
	snprintf(c->place, sizeof(c->place), "%s", l->name);
	if (r->sim_time > 0)
		cause_evidence(c, "%s is taken %.0f%% of the time", l->name,
			       100 * (double)l->busy / (double)r->sim_time);
}

static void name_host(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c)
{
	const struct rs_sim_link *l = r->n_links ? &r->links[0] : NULL;

	snprintf(c->what, sizeof(c->what), "inside the hosts%s%s",
		 l ? ", where the busiest link is " : "", l ? l->name : "");
	busiest_link(r, c);
}

static void name_host_link(const struct rs_fabric *f, const struct rs_sim_result *r,
			   struct rs_cause *c)
{
	const struct rs_sim_link *l = r->n_links ? &r->links[0] : NULL;

	snprintf(c->what, sizeof(c->what), "links inside the hosts%s%s",
		 l ? ": the busiest link is " : "", l ? l->name : "");
	busiest_link(r, c);
}

static void name_receiver(const struct rs_fabric *f, const struct rs_sim_result *r,
			  struct rs_cause *c)
{
	snprintf(c->what, sizeof(c->what), "receiving hosts that take what arrives too slowly");
	busiest_link(r, c);
}

static void name_host_limit(const struct rs_fabric *f, const struct rs_sim_result *r,
			    struct rs_cause *c)
{
	static const char *const kind[] = {
		[RS_LIMIT_READS] = "outstanding reads (tags)",
		[RS_LIMIT_BUFFER] = "bytes of reads outstanding",
		[RS_LIMIT_CREDITS] = "credits of posted writes",
		[RS_LIMIT_MESSAGES] = "messages a second",
		[RS_LIMIT_QP] = "what one queue pair may send",
	};
	const struct rs_sim_limit *l = r->n_limits ? &r->limits[0] : NULL;
	char t[32];

	if (!l) {
		snprintf(c->what, sizeof(c->what), "limits inside the hosts");
		return;
	}
	snprintf(c->what, sizeof(c->what), "a limit inside the hosts: %s of %s", kind[l->kind],
		 l->name);
	snprintf(c->place, sizeof(c->place), "%s", l->name);
	cause_evidence(c, "%s waited %s for it", l->name, rs_human_time(t, sizeof(t), l->stalled));
}

/* ---- The network ---- */

/* No packet stood behind another: what one switch in place of all gains is the way. */
bool cause_no_queues(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return r->counters.max_queue <= 2 * (uint64_t)f->transport.mtu + 512 &&
	       !r->counters.drops && !r->counters.link_losses && !r->counters.pauses;
}

static void name_paths(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c)
{
	if (cause_no_queues(f, r))
		return;
	snprintf(c->what, sizeof(c->what), "contention on the network's paths");
}

void cause_name_oversubscription(const struct rs_fabric *f, const struct rs_sim_result *r,
				 struct rs_cause *c)
{
	struct rs_network_facts facts;

	rs_fabric_facts(f, &facts);
	snprintf(c->what, sizeof(c->what),
		 "oversubscription: a leaf has %.3g times the bandwidth to its hosts that it has "
		 "upwards",
		 facts.oversubscription);
}

static void name_reordering(const struct rs_fabric *f, const struct rs_sim_result *r,
			    struct rs_cause *c)
{
	static const char *const routing[] = {"ecmp", "spray", "adaptive", "flowlet",
					      "round-robin"};

	snprintf(c->what, sizeof(c->what),
		 "reordering: %s routing sends packets of a queue pair over several paths, and the "
		 "receiver takes them in order only",
		 routing[f->qos.routing]);
	cause_evidence(c, "%llu of %llu packets that were sent again had only come out of order",
		       (unsigned long long)r->counters.reordered,
		       (unsigned long long)r->counters.retransmits);
}

static void name_collisions(const struct rs_fabric *f, const struct rs_sim_result *r,
			    struct rs_cause *c)
{
	snprintf(c->what, sizeof(c->what),
		 "collisions: flows share a path while others of the same cost are idle");
}

static void name_cuts(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c)
{
	char ccs[64];

	snprintf(c->what, sizeof(c->what), "congestion control's cuts (%s)",
		 rs_fabric_cc_names(f, ccs, sizeof(ccs)));
	cause_evidence(c, "%llu packets marked, %llu CNPs, %llu cuts of a rate",
		       (unsigned long long)r->counters.ecn_marked,
		       (unsigned long long)r->counters.cnps,
		       (unsigned long long)r->counters.cc_cuts);
}

/* What can be pointed at comes before what is only true: rank 0 first. */
static const struct {
	const char *id;
	unsigned rank;
	void (*name)(const struct rs_fabric *f, const struct rs_sim_result *r, struct rs_cause *c);
} kinds[] = {
	{"link.loss", 0, name_loss},
	{"drops", 1, name_drops},
	{"reordering", 2, name_reordering},
	{"host.link", 4, name_host_link},
	{"host.limit", 4, name_host_limit},
	{"receiver", 5, name_receiver},
	{"host", 6, name_host},
	{"collisions", CAUSE_RANK_COLLISIONS, name_collisions},
	{"oversubscription", 8, cause_name_oversubscription},
	{"pauses", 9, cause_name_pauses},
	{"paths", CAUSE_RANK_PATHS, name_paths},
	{"cuts", CAUSE_RANK_CUTS, name_cuts},
};

bool cause_name_kind(const struct rs_fabric *f, const struct rs_sim_result *r, const char *id,
		     struct rs_cause *c, unsigned *rank)
{
	for (size_t n = 0; n < sizeof(kinds) / sizeof(*kinds); n++)
		if (!strcmp(kinds[n].id, id)) {
			c->id = kinds[n].id;
			*rank = kinds[n].rank;
			kinds[n].name(f, r, c);
			return true;
		}
	return false;
}
