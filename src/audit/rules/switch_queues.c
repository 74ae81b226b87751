/* Checks of switches: ECN and its thresholds, CNPs, scheduling. DCQCN (SIGCOMM 2015) section 4 for
 * the thresholds; IEEE 802.1Q clause 8.6. */
#include <math.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/hop.h"
#include "audit/facts/look.h"
#include "audit/rules/hop_fix.h"
#include "audit/rules/switch.h"

/* ---- S04: ECN on the queue of the class ---- */

static bool queues_seen(const struct rs_audit *a, const char *sw, const char *port)
{
	return rs_hop_fact(a, sw, port, "queues_seen") ||
	       rs_facts_get(a->facts, sw, "host", "queues_seen");
}

/* A PFC-protected queue that the port's map leads to: where the map is seen and none does, PFC
 * protects nothing here (S01). */
static int lossless_queue(const struct rs_hop_view *v, int p)
{
	for (int dscp = 0; dscp < 64; dscp++) {
		struct rs_hop h;

		rs_hop_find(v, dscp, &h);
		if (h.lossless == 1 && h.group == p)
			return h.queue;
	}
	return -1;
}

static void s04_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned mask = v->mask;

	for (int p = 0; p < 8; p++) {
		int q = mask >> p & 1 ? lossless_queue(v, p) : -1;
		const struct rs_fact *ecn = rs_hop_fact(g->a, sw, port, "queue/%d/ecn", q);

		if (q < 0)
			continue;
		if (ecn && ecn->numeric && ecn->number) {
			rs_gather_pass(g, ecn, NULL);
		} else if (!ecn && (!queues_seen(g->a, sw, port) ||
				    rs_hop_fact(g->a, sw, port, "queue/%d/wred", q))) {
			g->unknown++;
		} else {
			rs_gather_fail(g, RS_MAJOR, sw, port, ecn,
				       rs_hop_fact(g->a, sw, port, "pfc/%d", p),
				       "queue %d of %s is lossless but does not mark ECN", q, sw);
			if (g->new_switch)
				rs_hop_fix_ecn(g->a, g->f, sw, port, q, 150000, 1500000);
		}
	}
}

void switch_s04(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	switch_each_port(&g, s04_port);
	rs_gather_end(
		&g,
		"without marks DCQCN never slows down: every congestion ends in pauses, which "
		"spread to flows that have no part in it",
		"lossless queues that mark ECN", "whether lossless queues mark is not known",
		"the switch's WRED or ECN profiles and their queues", "marking");
}

/* ---- S05: ECN before PFC ---- */

/* The queue at which one ingress alone crosses XOFF: alpha / (1 + alpha) of the pool, where SONiC's
 * alpha is 2^dynamic_th; or the fixed threshold. Negative: not known. */
static double xoff_depth(const struct rs_audit *a, const char *sw, const char *port, int p,
			 const struct rs_fact **why)
{
	const struct rs_fact *fixed = rs_hop_fact(a, sw, port, "pg/%d/static", p);
	const struct rs_fact *alpha = rs_hop_fact(a, sw, port, "pg/%d/alpha", p);
	const struct rs_fact *pool = rs_hop_fact(a, sw, port, "pg/%d/pool", p);
	const struct rs_fact *size = rs_look(a, sw, "host", "pool/%s/size",
					     pool ? pool->value : "ingress_lossless_pool");
	double k;

	if (!alpha)
		alpha = rs_facts_get(a->facts, sw, "host", "default_alpha");
	*why = fixed ? fixed : alpha;
	if (fixed && fixed->numeric)
		return (double)fixed->number;
	if (!alpha || !alpha->numeric || !size || !size->numeric || size->number <= 0 ||
	    alpha->number < -16 || alpha->number > 16)
		return -1;
	k = ldexp(1, (int)alpha->number);
	return k / (1 + k) * (double)size->number;
}

/* What stands in bytes, or in time at the port's rate (EOS). Negative: not known. */
double switch_threshold(const struct rs_hop_view *v, int q, const char *which,
			const struct rs_fact **fact)
{
	const struct rs_fact *ns;
	double mbps;

	*fact = rs_hop_fact(v->a, v->sw, v->port, "queue/%d/%s", q, which);
	if (*fact && (*fact)->numeric)
		return (double)(*fact)->number;
	ns = rs_hop_fact(v->a, v->sw, v->port, "queue/%d/%s_ns", q, which);
	mbps = (double)rs_hop_number(v->a, v->sw, v->port, "speed_mbps", -1);
	if (!ns || !ns->numeric || mbps <= 0)
		return -1;
	*fact = ns;
	return (double)ns->number * mbps / 8000;
}

/* The ingress of this switch that PFC stops first, and where: whichever port a packet came by, its
 * own threshold counts. Negative: not known of any. */
static double first_stop(const struct rs_hop_view *of, int p, const struct rs_fact **why,
			 const char **where)
{
	double least = -1;
	const char *port;
	uint32_t at = 0;

	while ((port = rs_hop_port(of->a, &at, of->sw))) {
		const struct rs_fact *on = rs_hop_fact(of->a, of->sw, port, "pfc/%d", p), *w;
		double d = on && on->numeric && on->number ? xoff_depth(of->a, of->sw, port, p, &w)
							   : -1;

		if (d < 0 || (least >= 0 && d >= least))
			continue;
		least = d;
		*why = w;
		*where = port;
	}
	return least;
}

/* Both thresholds against what n ingresses hold together when the first of them is stopped: with
 * n = 1 least, n alpha / (1 + n alpha) of the pool with dynamic thresholds. */
static void s05_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	/* ports of one switch come one after another: its ingresses are asked once */
	if (g->stop.sw != v->sw) {
		for (int p = 0; p < 8; p++)
			g->stop.depth[p] = first_stop(v, p, &g->stop.why[p], &g->stop.where[p]);
		g->stop.sw = v->sw;
	}
	for (int p = 0; p < 8; p++) {
		int q = v->mask >> p & 1 ? rs_hop_queue(v, p) : -1;
		const struct rs_fact *low, *high;
		double kmin = q < 0 ? -1 : switch_threshold(v, q, "kmin", &low);
		double kmax = q < 0 ? -1 : switch_threshold(v, q, "kmax", &high);
		double depth = g->stop.depth[p];
		bool always;

		if (q >= 0 && kmin < 0 &&
		    (rs_hop_fact(g->a, v->sw, v->port, "queue/%d/kmin_percent", q) ||
		     rs_hop_fact(g->a, v->sw, v->port, "queue/%d/kmin_segments", q)))
			g->unknown++;
		if (q < 0 || kmin < 0)
			continue;
		if (depth < 0) {
			g->unknown++;
			continue;
		}
		if (kmin < depth && kmax < depth) {
			rs_gather_pass(g, high, g->stop.why[p]);
			continue;
		}
		always = kmin >= depth;
		rs_gather_fail(g, always ? RS_MAJOR : RS_MINOR, v->sw, v->port, low, g->stop.why[p],
			       "on %s queue %d begins to mark at %.0f B and marks all at %.0f B, "
			       "PFC stops one sender (on %s) at %.0f B: %s",
			       v->sw, q, kmin, kmax < 0 ? kmin : kmax,
			       rs_hop_name(g->stop.where[p]), depth,
			       always ? "PFC always comes first"
				      : "marking is not certain when PFC starts");
		if (g->new_switch)
			rs_hop_fix_ecn(g->a, g->f, v->sw, v->port, q, (int64_t)(depth / 10),
				       (int64_t)(depth / 2));
	}
}

void switch_s05(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	switch_each_port(&g, s05_port);
	rs_gather_end(&g,
		      "ECN is to slow senders down; PFC is the last resort. A threshold that PFC "
		      "reaches first never marks",
		      "lossless queues that mark before PFC stops anyone",
		      "whether marking begins before PFC is not known: the size of the shared pool "
		      "is not",
		      "the sizes of the shared buffer, and on EOS of a segment: SONiC BUFFER_POOL "
		      "and BUFFER_PG, Junos show "
		      "class-of-service shared-buffer, Cumulus nv show interface <port> qos roce "
		      "status",
		      "the pool's size and alpha");
}

/* ---- S06: where CNPs go ---- */

/* The DSCP of CNPs that hosts say, else what mlx5 sends. */
static int cnp_dscp(const struct rs_audit *a, const struct rs_fact **fact)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		uint32_t at = 0;

		if (switch_at(a, i))
			continue;
		*fact = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "netdev/",
				      "cnp_dscp");
		if (*fact && (*fact)->numeric && (*fact)->number >= 0 && (*fact)->number < 64)
			return (int)(*fact)->number;
	}
	*fact = NULL;
	return 48;
}

/* Is data of a lossless class in the same queue as CNPs? */
static bool shares_lossless(const struct rs_hop_view *v, const struct rs_hop *cnp)
{
	for (int dscp = 0; dscp < 64; dscp++) {
		struct rs_hop h;

		rs_hop_find(v, dscp, &h);
		if (h.lossless == 1 && !h.inferred && h.queue == cnp->queue)
			return true;
	}
	return false;
}

/* A queue that no class is in: that with the class's own number, else the highest. */
static int free_queue(const struct rs_hop_view *v, int tc)
{
	unsigned used = 0;

	for (int i = 0; i < 8; i++)
		if (v->queue[i] && v->queue[i]->number >= 0 && v->queue[i]->number < 8)
			used |= 1u << v->queue[i]->number;
	if (tc < 8 && !(used >> tc & 1))
		return tc;
	for (int q = 7; q > 0; q--)
		if (!(used >> q & 1))
			return q;
	return 7;
}

/* Where PFC was not read: a queue whose profile has the name that SONiC gives that of lossless
 * queues. */
static const struct rs_fact *named_lossless(const struct rs_hop_view *v, int queue)
{
	return v->mask || v->pfc_seen
		       ? NULL
		       : rs_hop_fact(v->a, v->sw, v->port, "queue/%d/lossless_by_name", queue);
}

/* CNPs in such a queue, and the map leads other traffic there, too. */
static void s06_named(struct rs_gather *g, const struct rs_hop_view *v)
{
	const struct rs_fact *named;
	struct rs_hop cnp, h;

	rs_hop_find(v, g->cnp, &cnp);
	if (cnp.queue < 0 || cnp.inferred || !(named = named_lossless(v, cnp.queue)))
		return;
	for (int dscp = 0; dscp < 64; dscp++) {
		rs_hop_find(v, dscp, &h);
		if (dscp == g->cnp || h.inferred || h.queue != cnp.queue)
			continue;
		rs_gather_fail(g, RS_MAJOR, v->sw, v->port, cnp.map, named,
			       "%s puts CNPs (DSCP %d) into queue %d, which is lossless by its "
			       "profile's name, with the data (DSCP %d)",
			       v->sw, g->cnp, cnp.queue, dscp);
		return;
	}
}

static void s06_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	const struct rs_fact *said = g->cnp_fact, *dropped;
	int dscp = g->cnp;
	struct rs_hop h, best;

	if (!v->mask)
		s06_named(g, v);
	if (!v->mask || !v->classifies)
		return;
	rs_hop_find(v, dscp, &h);
	rs_hop_find(v, 0, &best);
	if (h.queue < 0) {
		g->unknown++;
		return;
	}
	dropped = rs_hop_fact(g->a, sw, port, "queue/%d/wred", h.queue);
	if (shares_lossless(v, &h)) {
		rs_gather_fail(g, RS_MAJOR, sw, port, h.map, said,
			       "%s puts CNPs (DSCP %d) into the lossless queue %d, behind the data "
			       "whose congestion they report",
			       sw, dscp, h.queue);
	} else if (dropped && h.ecn == 0) {
		rs_gather_fail(g, RS_MAJOR, sw, port, dropped, said,
			       "queue %d of %s, where CNPs (DSCP %d) go, drops early (WRED)",
			       h.queue, sw, dscp);
	} else if (best.queue == h.queue) {
		rs_gather_fail(g, RS_MINOR, sw, port, h.map, said,
			       "%s puts CNPs (DSCP %d) into queue %d with best effort", sw, dscp,
			       h.queue);
	} else {
		rs_gather_pass(g, h.map, said);
		return;
	}
	if (g->new_switch) {
		for (int q = 7; q > 0; q--) {
			struct rs_hop other;

			rs_hop_find(v, q * 8, &other);
			if (other.queue < 0 || other.queue == h.queue || other.lossless == 1 ||
			    other.queue == best.queue)
				continue;
			rs_hop_fix_class(g->a, g->f, sw, port, dscp, other.tc);
			return;
		}
		/* a class of its own that shares a queue: the queue is what to change */
		if (h.map && h.tc > 0 && h.tc != best.tc)
			rs_hop_fix_queue(g->a, g->f, v, h.tc, free_queue(v, h.tc));
		else
			rs_hop_fix_class(g->a, g->f, sw, port, dscp, 6);
	}
}

void switch_s06(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	g.cnp = cnp_dscp(a, &g.cnp_fact);
	switch_each_port(&g, s06_port);
	rs_gather_end(&g,
		      "a notification that waits behind the congestion that it reports comes too "
		      "late; one that is dropped does not come",
		      "ports where CNPs have a queue of their own", "where CNPs go is not known",
		      "the switch's DSCP map", "the queue of CNPs");
}

/* ---- S07: scheduling ---- */

static bool is_strict(const struct rs_audit *a, const char *sw, const char *port, int q)
{
	const struct rs_fact *s = rs_hop_fact(a, sw, port, "queue/%d/scheduler", q);

	return s && !strcasecmp(s->value, "STRICT");
}

/* A strict queue that starves the lossless one: users reach it by a DSCP that is no control
 * traffic's (below 46), and nothing limits it. */
static int strict_for_users(const struct rs_hop_view *v, int cnp)
{
	for (int dscp = 0; dscp < 46; dscp++) {
		struct rs_hop h;

		rs_hop_find(v, dscp, &h);
		if (h.queue >= 0 && !h.inferred && h.lossless != 1 && dscp != cnp &&
		    is_strict(v->a, v->sw, v->port, h.queue) &&
		    !rs_hop_fact(v->a, v->sw, v->port, "queue/%d/weight", h.queue))
			return dscp;
	}
	return -1;
}

/* Was any scheduler or share of this port's queues read? */
static bool scheduled(const struct rs_audit *a, const char *sw, const char *port)
{
	for (int q = 0; q < 8; q++)
		if (rs_hop_fact(a, sw, port, "queue/%d/scheduler", q) ||
		    rs_hop_fact(a, sw, port, "queue/%d/weight", q))
			return true;
	return false;
}

/* The share that a lossless queue has of what those with weights have; 1 where it is not known. */
static double share_of(const struct rs_audit *a, const char *sw, const char *port, int queue,
		       const struct rs_fact **weight)
{
	int64_t all = 0;

	*weight = queue < 0 ? NULL : rs_hop_fact(a, sw, port, "queue/%d/weight", queue);
	if (!*weight || !(*weight)->numeric || is_strict(a, sw, port, queue))
		return 1;
	for (int q = 0; q < 8; q++) {
		const struct rs_fact *w = rs_hop_fact(a, sw, port, "queue/%d/weight", q);

		if (w && w->numeric && w->number > 0 && !is_strict(a, sw, port, q))
			all += w->number;
	}
	return all > 0 ? (double)(*weight)->number / (double)all : 1;
}

/* A lossless queue that others leave next to nothing: true when it was told. */
static bool s07_starved(struct rs_gather *g, const struct rs_hop_view *v)
{
	/* Ripstop's: below half of what one of eight equal queues has */
	static const double least = 0.0625;

	for (int p = 0; p < 8; p++) {
		const struct rs_fact *weight;
		int q = v->mask >> p & 1 ? lossless_queue(v, p) : -1;
		double share = share_of(g->a, v->sw, v->port, q, &weight);

		if (share >= least)
			continue;
		rs_gather_fail(g, RS_MINOR, v->sw, v->port, weight,
			       rs_hop_fact(g->a, v->sw, v->port, "pfc/%d", p),
			       "lossless queue %d of %s has %.0f %% of the bandwidth", q, v->sw,
			       100 * share);
		return true;
	}
	return false;
}

/* Best effort goes strictly before a queue that is lossless by its profile's name. */
static void s07_named(struct rs_gather *g, const struct rs_hop_view *v)
{
	for (int q = 1; q < 8; q++) {
		const struct rs_fact *named = named_lossless(v, q);

		if (!named || !is_strict(g->a, v->sw, v->port, 0) ||
		    is_strict(g->a, v->sw, v->port, q) ||
		    rs_hop_fact(g->a, v->sw, v->port, "queue/0/weight"))
			continue;
		rs_gather_fail(g, RS_MINOR, v->sw, v->port,
			       rs_hop_fact(g->a, v->sw, v->port, "queue/0/scheduler"), named,
			       "on %s queue 0 goes strictly before queue %d, which is lossless by "
			       "its profile's name",
			       v->sw, q);
		return;
	}
}

/* The first lossless queue. */
static int first_lossless(const struct rs_hop_view *v)
{
	for (int q = 0; q < 8; q++)
		if (v->mask & 1u << q)
			return q;
	return -1;
}

/* A strict queue without a limit below the lossless one; -1: there is none. */
static int strict_below(const struct rs_audit *a, const struct rs_hop_view *v)
{
	int lossless = first_lossless(v);

	for (int q = 0; q < lossless; q++)
		if (is_strict(a, v->sw, v->port, q) && !is_strict(a, v->sw, v->port, lossless) &&
		    !rs_hop_fact(a, v->sw, v->port, "queue/%d/weight", q))
			return q;
	return -1;
}

/* Which DSCPs reach it was not shown. Queue 0 is where unmarked traffic goes by default. */
static void s07_unmapped(struct rs_gather *g, const struct rs_hop_view *v, int q)
{
	if (q)
		g->unknown++;
	else
		rs_gather_fail(g, RS_MINOR, v->sw, v->port,
			       rs_hop_fact(g->a, v->sw, v->port, "queue/0/scheduler"), NULL,
			       "on %s queue 0 goes strictly before queue %d, which is lossless",
			       v->sw, first_lossless(v));
}

static void s07_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	int cnp = g->cnp, dscp;
	int64_t sum = 0;

	if (!v->mask)
		s07_named(g, v);
	if (v->mask && !scheduled(g->a, sw, port))
		g->unknown++;
	if (!v->mask || !scheduled(g->a, sw, port) || s07_starved(g, v))
		return;
	/* EOS takes per cents, which cannot exceed a hundred; others take weights */
	for (int q = 0; q < 8 && !strcmp(rs_hop_os(g->a, sw), "EOS"); q++) {
		const struct rs_fact *w = rs_hop_fact(g->a, sw, port, "queue/%d/weight", q);

		if (w && w->numeric && !is_strict(g->a, sw, port, q))
			sum += w->number;
	}
	if (sum > 100) {
		rs_gather_fail(g, RS_MINOR, sw, port, rs_hop_fact(g->a, sw, port, "queue/0/weight"),
			       NULL, "bandwidth percents of %s sum to %lld", sw, (long long)sum);
		return;
	}
	dscp = strict_for_users(v, cnp);
	if (dscp >= 0)
		rs_gather_fail(g, RS_MINOR, sw, port,
			       rs_hop_fact(g->a, sw, port, "dscp_to_tc/%d", dscp), NULL,
			       "on %s any user's DSCP %d goes before the lossless queue (strict, "
			       "without limit)",
			       sw, dscp);
	else if (!rs_hop_fact(g->a, sw, port, "dscp_to_tc/0") && strict_below(g->a, v) >= 0)
		s07_unmapped(g, v, strict_below(g->a, v));
	else
		rs_gather_pass_pfc(g, sw, port, v->mask);
}

void switch_s07(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	g.cnp = cnp_dscp(a, &g.cnp_fact);
	switch_each_port(&g, s07_port);
	rs_gather_end(&g, "what may be filled at will is not to starve the training traffic",
		      "ports whose schedulers leave the lossless queue its share",
		      "how queues are scheduled is not known",
		      "QUEUE and SCHEDULER of config_db.json, show qos interfaces",
		      "what is served before the lossless queue");
}
