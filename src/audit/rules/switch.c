/* Checks of switches: classes, PFC, headroom, ECN, scheduling, watchdog, MTU, counters. IEEE 802.1Q
 * clauses 36 and 8.6, 802.3 annex 31B; DCQCN (SIGCOMM 2015) section 4 for the thresholds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/rules/gather.h"
#include "audit/facts/hop.h"
#include "audit/rules/hop_fix.h"
#include "audit/facts/look.h"
#include "audit/facts/qos.h"

enum { DEMANDS = 32, HOST_PORTS = 64 };

static struct rs_gather gather(struct rs_audit *a, const struct rs_rule *r)
{
	return (struct rs_gather){.a = a, .r = r, .hosts_protect = -1};
}

static const char *switch_at(const struct rs_audit *a, uint32_t i)
{
	const char *sw = rs_facts_host(a->facts, i);

	return rs_facts_is_switch(a->facts, sw) ? sw : NULL;
}

/* What one port is asked; called for each port of each switch. */
typedef void per_port(struct rs_gather *g, const struct rs_hop_view *v);

static void each_port(struct rs_gather *g, per_port *fn)
{
	for (uint32_t i = 0; i < rs_facts_hosts(g->a->facts); i++) {
		const char *sw = switch_at(g->a, i), *port;
		uint32_t at = 0;

		if (sw)
			rs_hop_site(g->a, sw, &g->site);
		while (sw && (port = rs_hop_port(g->a, &at, sw))) {
			struct rs_hop_view v;

			rs_hop_view(g->a, sw, port, &v);
			fn(g, &v);
		}
	}
}

static unsigned switches_seen(const struct rs_audit *a)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		n += switch_at(a, i) != NULL;
	return n;
}

/* ---- S01: a lossless class that the traffic reaches ---- */

/* PFC is on, and no DSCP leads to what it protects. */
static void s01_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned mask = v->mask, reached = 0;
	struct rs_hop h;

	if (!mask)
		return;
	if (!v->classifies) {
		g->unknown++;
		return;
	}
	for (int dscp = 0; dscp < 64; dscp++) {
		rs_hop_find(v, dscp, &h);
		if (h.untrusted)
			return; /* by priority tags, which no map here shows */
		if (h.lossless == 1 && h.group >= 0)
			reached |= 1u << h.group;
	}
	if (reached & mask) {
		g->passed++;
		return;
	}
	rs_gather_fail(g, RS_CRITICAL, sw, port,
		       rs_hop_fact(g->a, sw, port, "pfc/%d", __builtin_ctz(mask)), NULL,
		       "PFC is on for priority %d, but no DSCP leads to its class on %s",
		       __builtin_ctz(mask), sw);
}

/* What hosts send, where each switch puts it: by host, X01 tells the whole chain. */
static void s01_demand(struct rs_gather *g, const char *sw, const struct rs_demand *d)
{
	uint32_t at = 0;
	const char *port;

	rs_hop_site(g->a, sw, &g->site);
	while ((port = rs_hop_port(g->a, &at, sw))) {
		struct rs_hop_view v;
		struct rs_hop h;

		rs_hop_view(g->a, sw, port, &v);
		rs_hop_find(&v, d->dscp, &h);
		if (h.lossless != 0 || h.tc < 0 || d->lossless == 0 ||
		    !rs_hop_carries(&v, &g->site))
			continue;
		rs_gather_fail(g, RS_CRITICAL, sw, port, h.map, h.pfc,
			       "hosts send DSCP %d, which %s puts in TC %d: lossy%s", d->dscp, sw,
			       h.tc, h.inferred ? " (by default: no map names it)" : "");
		if (g->f && h.inferred)
			g->f->confidence = RS_MEDIUM;
		if (!g->new_switch)
			continue;
		for (int other = 0; other < 64; other++) {
			struct rs_hop to;

			rs_hop_find(&v, other, &to);
			if (to.lossless == 1 && !to.inferred) {
				rs_hop_fix_class(g->a, g->f, sw, port, d->dscp, to.tc);
				break;
			}
		}
	}
}

static void s01(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_demand d[DEMANDS];
	unsigned n = rs_hop_demands(a, d, DEMANDS);
	struct rs_gather g = gather(a, r);

	bool lossless = rs_qos_any_lossless(a);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		for (unsigned k = 0; lossless && k < n && switch_at(a, i); k++)
			s01_demand(&g, switch_at(a, i), &d[k]);
	each_port(&g, s01_port);
	rs_gather_end(&g,
		      "PFC protects a class; traffic that the map puts elsewhere is dropped when "
		      "queues fill",
		      "ports whose lossless class is reached by a DSCP",
		      "PFC is on, but no DSCP map was seen", "the switch's DSCP map",
		      "which class traffic is in");
}

/* ---- S02: PFC where the class goes ---- */

static bool hosts_protect(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[1];

		if (!rs_facts_is_switch(a->facts, host) && rs_qos_ports(a, host, port, 1) &&
		    rs_qos_pfc_mask(a, host, port[0].netdev) > 0)
			return true;
	}
	return false;
}

/* Hosts protect a class, this port classifies, and nothing says for what PFC is on. */
static bool pfc_hidden(struct rs_gather *g, const struct rs_hop_view *v)
{
	if (!v->classifies || v->mask || v->pfc_seen || g->site.mask)
		return false;
	if (g->hosts_protect < 0)
		g->hosts_protect = hosts_protect(g->a);
	return g->hosts_protect;
}

/* The DSCP map of this port leads to a class that other ports protect, and here nobody does. */
static void s02_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned elsewhere = g->site.mask, here = v->mask;
	int64_t rx = rs_hop_number(g->a, sw, port, "pfc_rx", 1);
	int64_t tx = rs_hop_number(g->a, sw, port, "pfc_tx", 1);
	struct rs_hop h;

	if (pfc_hidden(g, v)) {
		g->unknown++;
		return;
	}
	if (here && (!rx || !tx)) {
		rs_gather_fail(g, RS_CRITICAL, sw, port,
			       rs_hop_fact(g->a, sw, port, rx ? "pfc_tx" : "pfc_rx"), NULL,
			       "PFC works in one direction only on %s: it does not %s", sw,
			       rx ? "send" : "obey");
		if (g->new_switch)
			rs_hop_fix_pfc(g->a, g->f, sw, port, __builtin_ctz(here), -1);
		return;
	}
	if (here & elsewhere || !v->classifies || !rs_hop_carries(v, &g->site)) {
		g->passed += here != 0;
		return;
	}
	for (int dscp = 0; dscp < 64; dscp++) {
		rs_hop_find(v, dscp, &h);
		if (h.inferred || h.lossless != 0 || h.group < 0 || !(elsewhere >> h.group & 1))
			continue;
		rs_gather_fail(g, RS_CRITICAL, sw, port, h.map, h.pfc,
			       "%s classifies for priority %d on this port, but does not protect "
			       "it there as on others",
			       sw, h.group);
		if (g->new_switch)
			rs_hop_fix_pfc(g->a, g->f, sw, port, h.group, dscp);
		return;
	}
}

/* What a host's switch says of its PFC by LLDP (802.1Qaz), where the switch itself was not seen. */
static void s02_lldp(struct rs_gather *g, const char *host)
{
	struct rs_qos_port port[HOST_PORTS];
	unsigned n = rs_qos_ports(g->a, host, port, HOST_PORTS);

	for (unsigned i = 0; i < n; i++) {
		const char *subject = rs_audit_text(g->a, "netdev/%s", port[i].netdev);
		const struct rs_fact *said = rs_look(g->a, host, subject, "neighbour_pfc");
		int mask = rs_qos_pfc_mask(g->a, host, port[i].netdev);

		if (!said || !said->numeric || mask <= 0)
			continue;
		if (!(mask & ~said->number)) {
			g->passed++;
			continue;
		}
		rs_gather_fail(g, RS_CRITICAL, host, rs_audit_text(g->a, "port/%s", port[i].netdev),
			       said,
			       rs_look(g->a, host, subject, "pfc/%d",
				       __builtin_ctz((unsigned)(mask & ~said->number))),
			       "%s protects priority %d, its switch says by LLDP that it does not",
			       host, __builtin_ctz((unsigned)(mask & ~said->number)));
		if (g->f)
			g->f->confidence = RS_MEDIUM;
	}
}

static void s02(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	each_port(&g, s02_port);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!switch_at(a, i))
			s02_lldp(&g, rs_facts_host(a->facts, i));
	rs_gather_end(
		&g,
		"a port in the path without PFC drops what it cannot hold, whatever the other "
		"ports do",
		"ports with PFC on, both ways",
		"hosts protect a class; for which priorities switch ports have PFC is not known",
		"PORT_QOS_MAP of config_db.json, show priority-flow-control, show "
		"class-of-service congestion-notification",
		"PFC of each port");
}

/* ---- S03: headroom ---- */

/* Bytes that arrive after XOFF was decided: two frames, the cable there and back, and with
 * `response` the peer's time to obey (802.3 31B.3.7, in bit times). */
static double headroom(double mtu, double cable_m, double gbps, bool response)
{
	static const struct {
		double gbps, bits;
	} times[] = {{10, 30720}, {25, 40960}, {40, 60416}, {100, 201728}, {400, 463360}};
	double bytes = 2 * mtu + 84 + 2 * 5e-9 * cable_m * gbps * 1e9 / 8;

	for (unsigned i = 0; response && i < sizeof(times) / sizeof(*times); i++)
		if (gbps <= times[i].gbps || i + 1 == sizeof(times) / sizeof(*times))
			return bytes + times[i].bits / 8;
	return bytes;
}

static void s03_group(struct rs_gather *g, const char *sw, const char *port, int p)
{
	const struct rs_fact *xoff = rs_hop_fact(g->a, sw, port, "pg/%d/xoff", p);
	const struct rs_fact *profile = rs_hop_fact(g->a, sw, port, "pg/%d/profile", p);
	double speed = (double)rs_hop_number(g->a, sw, port, "speed_mbps", 0) / 1000;
	double mtu = (double)rs_hop_number(g->a, sw, port, "mtu", 9216);
	double cable = (double)rs_hop_number(g->a, sw, port, "cable_m", (int64_t)g->a->set.cable_m);
	double floor_bytes, worst;

	/* NULL: SONiC's dynamic model computes it from speed, MTU and cable */
	if (profile && !strcasecmp(profile->value, "NULL")) {
		g->passed++;
		return;
	}
	if (!xoff || !xoff->numeric || speed <= 0) {
		g->unknown += xoff || profile;
		return;
	}
	floor_bytes = headroom(mtu, cable, speed, false);
	worst = headroom(mtu, cable, speed, true);
	if ((double)xoff->number >= worst) {
		g->passed++;
		return;
	}
	rs_gather_fail(
		g, (double)xoff->number < floor_bytes ? RS_MAJOR : RS_MINOR, sw, port, xoff,
		rs_hop_fact(g->a, sw, port, "cable_m"),
		"headroom of priority %d on %s is %lld B; %.0f m at %.0fG with MTU %.0f needs "
		"%.0f B, and %.0f B with the peer's slowest answer",
		p, sw, (long long)xoff->number, cable, speed, mtu, floor_bytes, worst);
	if (g->f && g->new_switch && !strcmp(rs_hop_os(g->a, sw), "SONiC"))
		rs_finding_fix(
			g->a, g->f, sw, false, "buffers are reprogrammed: a few lost packets",
			rs_audit_text(g->a, "sudo config buffer profile set %s --xoff %lld",
				      profile ? profile->value : "<profile>",
				      (long long)xoff->number),
			"sudo config buffer profile set %s --xoff %.0f && sudo config save -y",
			profile ? profile->value : "<profile>", worst);
}

static void s03_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned mask = v->mask;

	for (int p = 0; p < 8; p++)
		if (mask >> p & 1)
			s03_group(g, sw, port, p);
}

/* What all ports reserve must fit the pool, unless headroom is shared by intent. */
static void s03_sum(struct rs_gather *g, const char *sw)
{
	const struct rs_fact *pool = rs_look(g->a, sw, "host", "pool/ingress_lossless_pool/size");
	const struct rs_fact *shared =
		rs_look(g->a, sw, "host", "pool/ingress_lossless_pool/shared_headroom");
	double sum = 0;
	uint32_t at = 0;
	const char *port;

	if (!pool || !pool->numeric || shared)
		return;
	while ((port = rs_hop_port(g->a, &at, sw)))
		for (int p = 0; p < 8; p++) {
			const struct rs_fact *x = rs_hop_fact(g->a, sw, port, "pg/%d/xoff", p);

			if (x && x->numeric && x->number > 0)
				sum += (double)x->number;
		}
	if (sum > (double)pool->number)
		rs_gather_fail(g, RS_MAJOR, sw, NULL, pool, NULL,
			       "%s reserves %.0f B of headroom in a pool of %lld B", sw, sum,
			       (long long)pool->number);
}

static void s03(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	each_port(&g, s03_port);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i))
			s03_sum(&g, switch_at(a, i));
	rs_gather_end(&g,
		      "after XOFF the peer still sends what is on the cable and what it had begun; "
		      "without room for it the lossless class drops",
		      "lossless groups with headroom enough",
		      "headroom cannot be judged: speed or XOFF is not known",
		      "PORT and BUFFER_PROFILE tables (config_db.json)", "speed, cable and XOFF");
}

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
			g->passed++;
		} else if (!ecn && !queues_seen(g->a, sw, port)) {
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

static void s04(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	each_port(&g, s04_port);
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
static double threshold(const struct rs_hop_view *v, int q, const char *which,
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
		double kmin = q < 0 ? -1 : threshold(v, q, "kmin", &low);
		double kmax = q < 0 ? -1 : threshold(v, q, "kmax", &high);
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
			g->passed++;
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

static void s05(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	each_port(&g, s05_port);
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

static void s06_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	const struct rs_fact *said = g->cnp_fact, *dropped;
	int dscp = g->cnp;
	struct rs_hop h, best;

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
		g->passed++;
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
		rs_hop_fix_class(g->a, g->f, sw, port, dscp, 6);
	}
}

static void s06(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	g.cnp = cnp_dscp(a, &g.cnp_fact);
	each_port(&g, s06_port);
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

static void s07_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	int cnp = g->cnp, dscp;
	int64_t sum = 0;

	if (v->mask && !queues_seen(g->a, sw, port))
		g->unknown++;
	if (!v->mask || !queues_seen(g->a, sw, port))
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
	else
		g->passed++;
}

static void s07(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	g.cnp = cnp_dscp(a, &g.cnp_fact);
	each_port(&g, s07_port);
	rs_gather_end(&g, "what may be filled at will is not to starve the training traffic",
		      "ports whose schedulers leave the lossless queue its share",
		      "how queues are scheduled is not known",
		      "QUEUE and SCHEDULER of config_db.json, show qos interfaces",
		      "what is served before the lossless queue");
}

/* ---- S08: the PFC watchdog ---- */

static void s08_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	const struct rs_fact *dog = rs_hop_fact(g->a, sw, port, "watchdog");
	const char *all = rs_facts_value(g->a->facts, sw, "host", "watchdog_default");
	int64_t detect = rs_hop_number(g->a, sw, port, "watchdog/detection_ms", -1);
	int64_t restore = rs_hop_number(g->a, sw, port, "watchdog/restoration_ms", -1);
	bool whole = rs_facts_get(g->a->facts, sw, "host", "model") ||
		     !strcmp(rs_hop_os(g->a, sw), "EOS");

	if (!v->mask)
		return;
	if ((dog && !strcmp(dog->value, "off")) ||
	    (!dog && whole && (!all || strcmp(all, "enable")))) {
		rs_gather_fail(g, switches_seen(g->a) > 1 ? RS_MAJOR : RS_MINOR, sw, port, dog,
			       NULL, "no PFC watchdog on %s", sw);
		if (g->new_switch)
			rs_hop_fix_watchdog(g->a, g->f, sw, port);
	} else if (!dog) {
		g->unknown++;
	} else if (detect >= 0 && detect < 100) {
		rs_gather_fail(g, RS_MINOR, sw, port,
			       rs_hop_fact(g->a, sw, port, "watchdog/detection_ms"), NULL,
			       "the PFC watchdog of %s strikes after %lld ms: ordinary congestion "
			       "lasts that long",
			       sw, (long long)detect);
		if (g->new_switch)
			rs_hop_fix_watchdog(g->a, g->f, sw, port);
	} else if (restore >= 0 && detect >= 0 && restore < detect) {
		rs_gather_fail(g, RS_MINOR, sw, port,
			       rs_hop_fact(g->a, sw, port, "watchdog/restoration_ms"), NULL,
			       "the PFC watchdog of %s restores after %lld ms, before it could "
			       "detect again (%lld ms)",
			       sw, (long long)restore, (long long)detect);
	} else {
		g->passed++;
	}
}

/* A queue that is in a storm now, or was and did not come back. */
static void s08_storm(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	for (int q = 0; q < 8; q++) {
		const struct rs_fact *s = rs_hop_fact(g->a, sw, port, "watchdog/%d/status", q);
		int64_t in = rs_look_number(g->a, sw, port,
					    rs_audit_text(g->a, "watchdog/%d/detected", q), 0);
		int64_t out = rs_look_number(g->a, sw, port,
					     rs_audit_text(g->a, "watchdog/%d/restored", q), in);
		bool now = s && !strcmp(s->value, "stormed");

		if (!now && in == out)
			continue;
		rs_gather_fail(g, RS_CRITICAL, sw, port, s,
			       rs_hop_fact(g->a, sw, port, "watchdog/%d/detected", q),
			       "queue %d of %s is held by a pause storm (%lld detected, %lld "
			       "ended): the sender of the pauses does not drain",
			       q, sw, (long long)in, (long long)out);
	}
}

static void s08(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r), now = gather(a, r);

	g.unseen = RS_MAJOR;
	each_port(&now, s08_storm);
	if (now.f)
		rs_gather_end(&now,
			      "a neighbour that pauses without end stops every flow through this "
			      "queue, and queues before it in turn",
			      "", "", "", "");
	each_port(&g, s08_port);
	rs_gather_end(&g,
		      "on two tiers or more pauses can wait for each other in a circle; the "
		      "watchdog is what ends that",
		      "ports with a PFC watchdog", "whether a PFC watchdog is on is not known",
		      "the whole configuration (config_db.json: PFC_WD, DEVICE_METADATA)",
		      "the watchdog");
}

/* ---- S09: MTU ---- */

/* The largest IP packet that a port takes, by its system's way of counting; -1: not known. */
static int64_t ip_mtu(const struct rs_audit *a, const char *sw, const char *port,
		      const struct rs_fact **fact)
{
	const struct rs_fact *ip = rs_hop_fact(a, sw, port, "mtu_ip");
	const struct rs_fact *l2 = rs_hop_fact(a, sw, port, "mtu_l2");
	const struct rs_fact *mtu = rs_hop_fact(a, sw, port, "mtu");
	int64_t n = -1;

	/* Junos counts the Ethernet header in the port's MTU; SONiC's and Cumulus' are IP's; EOS'
	 * mtu is IP's, l2 mtu the frame's */
	if (mtu && mtu->numeric) {
		n = mtu->number - (strcmp(rs_hop_os(a, sw), "Junos") ? 0 : 14);
		*fact = mtu;
	}
	if (ip && ip->numeric && (n < 0 || ip->number < n)) {
		n = ip->number;
		*fact = ip;
	}
	if (l2 && l2->numeric && (n < 0 || l2->number - 18 < n)) {
		n = l2->number - 18;
		*fact = l2;
	}
	return n;
}

static void s09_netdev(struct rs_gather *g, const char *host, const char *netdev)
{
	const struct rs_fact *mtu = rs_look(g->a, host, netdev, "mtu"), *at_switch = NULL;
	const struct rs_fact *mfs = rs_look(g->a, host, netdev, "neighbour_mfs");
	const char *sw, *port;
	int64_t n;

	if (!mtu || !mtu->numeric || mtu->number < 1280)
		return;
	if (rs_hop_peer(g->a, host, netdev + 7, &sw, &port) &&
	    (n = ip_mtu(g->a, sw, port, &at_switch)) > 0) {
		if (mtu->number <= n) {
			g->passed++;
			return;
		}
		rs_gather_fail(g, RS_CRITICAL, sw, port, mtu, at_switch,
			       "%s %s sends packets of %lld B, %s takes %lld B", host, netdev + 7,
			       (long long)mtu->number, sw, (long long)n);
		rs_finding_subject(g->a, g->f, host, netdev + 7);
		rs_hop_fix_mtu(g->a, g->f, sw, port, mtu->number);
		return;
	}
	if ((!mfs || !mfs->numeric) && rs_hop_peer(g->a, host, netdev + 7, &sw, &port))
		g->unknown++;
	if (!mfs || !mfs->numeric || mfs->number < 64)
		return;
	/* some name their MTU instead of the frame: only what is beyond doubt fails */
	if (mfs->number >= mtu->number) {
		g->passed++;
		return;
	}
	rs_gather_fail(
		g, RS_CRITICAL, host, NULL, mtu, mfs,
		"%s %s sends packets of %lld B, its switch says by LLDP that it takes frames "
		"of %lld B",
		host, netdev + 7, (long long)mtu->number, (long long)mfs->number);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
	rs_finding_fix(
		g->a, g->f, host, false, "traffic of the interface",
		rs_audit_text(g->a, "ip link set %s mtu %lld", netdev + 7, (long long)mtu->number),
		"ip link set %s mtu %lld  # or raise the switch's port to %lld", netdev + 7,
		(long long)(mfs->number - 18), (long long)(mtu->number + 22));
}

static void s09(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *netdev;
		uint32_t at = 0;

		if (rs_facts_is_switch(a->facts, host))
			continue;
		while ((netdev = rs_facts_subject(a->facts, &at, host, "netdev/")))
			s09_netdev(&g, host, netdev);
	}
	rs_gather_end(&g,
		      "a frame that is too long is dropped without a word; short messages still "
		      "pass, so that jobs hang instead of failing",
		      "interfaces whose switch port takes their packets",
		      "which packets a host's switch port takes is not known",
		      "the switch's configuration of the port, or lldpctl with its frame size",
		      "the port's MTU");
}

/* ---- S10: twins ---- */

/* What a switch's ports have most often, of what hosts notice: its normal form. */
static const char *const twin_names[] = {
	"dscp_to_tc/", "tc_to_pg/", "tc_to_queue/", "pfc/", "queue/", "watchdog", NULL};

/* The commonest value of a fact over a switch's ports; NULL: no port has it. */
static const struct rs_fact *commonest(const struct rs_audit *a, const char *sw, const char *name)
{
	const struct rs_fact *value[8];
	unsigned votes[8] = {0}, n = 0, best = 0;
	uint32_t at = 0;
	const char *port;

	while ((port = rs_hop_port(a, &at, sw))) {
		const struct rs_fact *f = rs_facts_get(a->facts, sw, port, name);
		unsigned k = 0;

		while (f && k < n && strcmp(value[k]->value, f->value))
			k++;
		if (!f || k == 8)
			continue;
		if (k == n)
			value[n++] = f;
		votes[k]++;
	}
	for (unsigned k = 1; k < n; k++)
		if (votes[k] > votes[best])
			best = k;
	return n ? value[best] : NULL;
}

static bool same_text(const char *x, const char *y)
{
	return x == y || (x && y && !strcmp(x, y));
}

/* Of one make and one role, as far as they say. */
static bool twins(const struct rs_audit *a, const char *x, const char *y)
{
	static const char *const alike[] = {"os", "model", "tier"};

	for (unsigned i = 0; i < 3; i++)
		if (!same_text(rs_facts_value(a->facts, x, "host", alike[i]),
			       rs_facts_value(a->facts, y, "host", alike[i])))
			return false;
	return true;
}

static void s10_pair(struct rs_gather *g, const char *x, const char *y)
{
	unsigned compared = 0;

	for (unsigned k = 0; twin_names[k]; k++) {
		const struct rs_fact *f;
		struct rs_hop_view v;
		const char *port;
		uint32_t at = 0, first = 0;

		/* the first port that classifies names what there is to compare */
		while ((port = rs_hop_port(g->a, &first, x))) {
			rs_hop_view(g->a, x, port, &v);
			if (v.classifies)
				break;
		}
		while (port && (f = rs_facts_next(g->a->facts, &at, x, port, twin_names[k]))) {
			const struct rs_fact *mine, *theirs;

			if (strcmp(f->subject, port))
				continue;
			mine = commonest(g->a, x, f->name);
			theirs = commonest(g->a, y, f->name);
			compared += mine && theirs;
			if (!mine || !theirs || !strcmp(mine->value, theirs->value))
				continue;
			rs_gather_fail(g, RS_MAJOR, y, NULL, mine, theirs,
				       "%s and %s have one role and differ: %s is %s and %s", x, y,
				       f->name, mine->value, theirs->value);
		}
	}
	g->passed += compared != 0;
	g->unknown += !compared;
}

static void s10(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	/* each against the first of its kind: what differs from it is named */
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		for (uint32_t k = 0; switch_at(a, i) && k < i; k++) {
			if (!switch_at(a, k) || !twins(a, switch_at(a, k), switch_at(a, i)))
				continue;
			s10_pair(&g, switch_at(a, k), switch_at(a, i));
			break;
		}
	if (g.f)
		for (uint32_t k = 0; k < rs_facts_hosts(a->facts); k++)
			if (switch_at(a, k) && twins(a, switch_at(a, k), g.sw)) {
				rs_finding_subject(a, g.f, switch_at(a, k), NULL);
				break;
			}
	rs_gather_end(&g,
		      "flows that ECMP spreads over twins meet another class, threshold or "
		      "protection by chance of their hash",
		      "pairs of switches that are alike in QoS",
		      "switches of one role have no QoS in common that could be compared",
		      "the whole configuration of both", "maps, PFC, thresholds");
}

/* ---- S11: hash and adaptive routing ---- */

/* Two tiers with one seed choose alike: what the first puts on one link the second does too. */
static void s11_seeds(struct rs_gather *g, const char *x, const char *y)
{
	const struct rs_fact *mine = rs_look(g->a, x, "host", "hash/seed");
	const struct rs_fact *theirs = rs_look(g->a, y, "host", "hash/seed");
	const char *a = rs_facts_value(g->a->facts, x, "host", "tier");
	const char *b = rs_facts_value(g->a->facts, y, "host", "tier");
	bool linked = a && b && strcmp(a, b) != 0;
	const char *port;
	uint32_t at = 0;

	if (!mine || !theirs || strcmp(mine->value, theirs->value))
		return;
	while (!linked && (port = rs_hop_port(g->a, &at, x))) {
		const char *who = rs_facts_value(g->a->facts, x, port, "neighbour");

		linked = who && !strcmp(who, y);
	}
	if (!linked)
		return;
	rs_gather_fail(g, RS_MINOR, x, NULL, mine, theirs,
		       "%s and %s, one above the other, have one hash seed (%s)", x, y,
		       mine->value);
	rs_finding_subject(g->a, g->f, y, NULL);
}

static void s11(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r, .unseen = RS_MINOR};
	const char *with = NULL, *without = NULL;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *sw = switch_at(a, i);
		const struct rs_fact *l4 = sw ? rs_look(a, sw, "host", "hash/l4_source") : NULL;
		const char *ar = sw ? rs_facts_value(a->facts, sw, "host", "ar") : NULL;

		if (l4 && l4->numeric && !l4->number) {
			rs_gather_fail(&g, RS_MAJOR, sw, NULL, l4, NULL,
				       "%s leaves the UDP source port out of its hash", sw);
			if (!strcmp(rs_hop_os(a, sw), "SONiC"))
				rs_finding_fix(
					a, g.f, sw, true, "flows move to other links once",
					"the list in the evidence",
					"sudo config switch-hash global ecmp-hash SRC_IP DST_IP "
					"IP_PROTOCOL L4_SRC_PORT L4_DST_PORT");
			else if (!strcmp(rs_hop_os(a, sw), "Cumulus"))
				rs_finding_fix(a, g.f, sw, true, "flows move to other links once",
					       "nv set system forwarding ecmp-hash source-port off",
					       "nv set system forwarding ecmp-hash source-port on; "
					       "nv config apply");
			else if (!strcmp(rs_hop_os(a, sw), "Junos"))
				rs_finding_fix(a, g.f, sw, true, "flows move to other links once",
					       "rollback 1; commit",
					       "delete forwarding-options enhanced-hash-key inet "
					       "no-l4-source-port; commit");
		} else if (l4) {
			g.passed++;
		} else if (sw && !ar) {
			g.unknown++;
		}
		if (ar && strcmp(ar, "off") != 0)
			with = sw;
		else if (ar)
			without = sw;
	}
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		for (uint32_t k = 0; switch_at(a, i) && k < i; k++)
			if (switch_at(a, k))
				s11_seeds(&g, switch_at(a, k), switch_at(a, i));
	if (with && without) {
		rs_gather_fail(&g, RS_MAJOR, without, NULL, rs_look(a, without, "host", "ar"),
			       rs_look(a, with, "host", "ar"),
			       "adaptive routing is on at %s and off at %s", with, without);
		rs_finding_subject(a, g.f, with, NULL);
		if (!strcmp(rs_hop_os(a, without), "Cumulus"))
			rs_finding_fix(a, g.f, without, true, "routes are installed anew",
				       "nv set router adaptive-routing enable off",
				       "nv set router adaptive-routing enable on; nv config apply");
	}
	rs_gather_end(&g,
		      "RoCE's only entropy is the UDP source port; without it all QPs of a pair of "
		      "hosts share one link",
		      "switches whose hash has the source port",
		      "what switches hash by, and whether they spray, is not known",
		      "SWITCH_HASH of config_db.json, nv show system forwarding, show "
		      "forwarding-options enhanced-hash-key, show load-balance profile",
		      "whether the UDP source port is in it");
}

/* ---- S12: oversubscription ---- */

static void s12_switch(struct rs_audit *a, const struct rs_rule *r, const char *sw)
{
	double down = 0, up = 0;
	unsigned blind = 0;
	uint32_t at = 0;
	const char *port;
	struct rs_finding *f;

	while ((port = rs_hop_port(a, &at, sw))) {
		const char *who = rs_facts_value(a->facts, sw, port, "neighbour");
		const char *tier = rs_facts_value(a->facts, sw, port, "neighbour_tier");
		double gbps = (double)rs_hop_number(a, sw, port, "speed_mbps", 0) / 1000;
		bool is_switch = tier && strstr(tier, "Router");

		for (uint32_t i = 0; who && i < rs_facts_hosts(a->facts); i++)
			is_switch |= switch_at(a, i) && !strcmp(rs_facts_host(a->facts, i), who);
		blind += who && gbps <= 0;
		if (!who || gbps <= 0)
			continue;
		if (is_switch)
			up += gbps;
		else
			down += gbps;
	}
	if (blind && (up <= 0 || down <= 0)) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_INFO,
				   "neighbours of %s are known, the speed of their links is not",
				   sw);
		rs_finding_subject(a, f, sw, NULL);
		rs_finding_need(a, f, "show interfaces status", "the speed of each link");
	}
	if (up <= 0 || down <= 0)
		return;
	f = rs_finding_new(a, r, down > 1.01 * up ? RS_FAIL : RS_PASS, RS_INFO,
			   "%s has %.0fG to hosts and %.0fG to other switches: %.2f to 1", sw, down,
			   up, down / up);
	rs_finding_subject(a, f, sw, NULL);
	if (down > 1.01 * up)
		rs_finding_why(
			a, f,
			"rings within a rack do not notice; all-to-all and jobs over several "
			"leaves do. `ripstop sim` tells what this job needs");
}

static void s12(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i))
			s12_switch(a, r, switch_at(a, i));
}

/* ---- S13: drops in a lossless class ---- */

/* How much a counter rose, if it did. */
static int64_t rose(struct rs_gather *g, const char *sw, const char *port, const char *name,
		    struct rs_rise *r)
{
	r->now = NULL;
	return rs_look_rise(g->a, sw, port, name, r) && r->by > 0 ? r->by : 0;
}

static void s13_fail(struct rs_gather *g, const char *sw, const char *port, const struct rs_rise *r,
		     int64_t pauses, bool pauses_seen, const char *where)
{
	rs_gather_fail(g, r->lifetime ? RS_MAJOR : RS_CRITICAL, sw, port, r->now, NULL,
		       "%s dropped %lld packets of %s %s%s", sw, (long long)r->by, where,
		       rs_look_since(g->a, r),
		       pauses_seen && !pauses ? ", and sent no pause: PFC does not work there"
					      : "");
	if (!g->f)
		return;
	if (pauses_seen && !pauses)
		g->f->severity = RS_CRITICAL;
	if (r->lifetime)
		g->f->confidence = RS_MEDIUM;
}

/* Of ports that tell queues and priorities apart (SONiC). */
static void s13_queues(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned mask = v->mask;

	for (int p = 0; p < 8; p++) {
		struct rs_rise in_queue = {0}, in_group = {0}, pause;
		int q = mask >> p & 1 ? rs_hop_queue(v, p) : -1;
		char where[48];

		if (q < 0)
			continue;
		if (rose(g, sw, port, rs_audit_text(g->a, "queue/%d/dropped", q), &in_queue)) {
			snprintf(where, sizeof(where), "lossless queue %d", q);
			s13_fail(g, sw, port, &in_queue, 1, false, where);
		} else if (rose(g, sw, port, rs_audit_text(g->a, "pg/%d/dropped", p), &in_group)) {
			bool seen = rs_look_rise(g->a, sw, port,
						 rs_audit_text(g->a, "pfc_tx/%d", p), &pause);

			snprintf(where, sizeof(where), "lossless priority group %d", p);
			s13_fail(g, sw, port, &in_group, seen ? pause.by : 1, seen, where);
		} else {
			g->passed += in_queue.now || in_group.now;
		}
	}
}

/* Of ports that count RoCE as one (Cumulus). */
static void s13_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	static const char *const names[] = {"lossless_tx_discards", "lossless_rx_discards"};
	const char *mode = rs_facts_value(g->a->facts, sw, "host", "roce_mode");
	unsigned before = g->passed, failed = g->ports;

	for (unsigned i = 0; i < 2; i++) {
		struct rs_rise dropped, rx, tx;
		bool seen;

		if (!rs_look_rise(g->a, sw, port, names[i], &dropped))
			continue;
		if (dropped.by <= 0 || (mode && !strncmp(mode, "lossy", 5))) {
			g->passed++;
			continue;
		}
		seen = rs_look_rise(g->a, sw, port, "tx_pause", &tx) &&
		       rs_look_rise(g->a, sw, port, "rx_pause", &rx);
		s13_fail(g, sw, port, &dropped, seen ? tx.by + rx.by : 1, seen,
			 i ? "RoCE on reception" : "RoCE on sending");
	}
	s13_queues(g, v);
	/* lossless, and neither drops nor pauses were read */
	if (v->mask && g->passed == before && g->ports == failed)
		g->unknown++;
}

/* How long the neighbour had a lossless priority of this port stopped, of the time between two
 * snapshots: a host that does not drain, or a switch that is full. */
static void s13_paused(struct rs_gather *g, const struct rs_hop_view *v)
{
	for (int p = -1; p < RS_HOP_PRIORITIES; p++) {
		const char *who = rs_facts_value(g->a->facts, v->sw, v->port, "neighbour");
		const char *name = p < 0 ? "rx_pause_us" : rs_audit_text(g->a, "pfc_rx_us/%d", p);
		struct rs_rise r;
		double share;

		if (!rs_look_rise(g->a, v->sw, v->port, name, &r) || r.lifetime || r.seconds <= 0)
			continue;
		share = (double)r.by / 1e6 / r.seconds;
		if (share <= g->a->set.pause_fail) {
			g->passed++;
			continue;
		}
		rs_gather_fail(g, RS_MAJOR, v->sw, v->port, r.now, NULL,
			       "%s: %s had this port stopped for %.1f%% of the time %s", v->sw,
			       who ? who : "its neighbour", 100 * share, rs_look_since(g->a, &r));
	}
}

static void s13(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r, .unseen = RS_MINOR}, paused = gather(a, r);

	each_port(&paused, s13_paused);
	if (paused.f)
		rs_gather_end(
			&paused,
			"the sender of pauses does not drain: a host by its PCIe path, IOMMU or "
			"memory, a switch by congestion behind it",
			"", "", "", "");
	each_port(&g, s13_port);
	if (g.f) {
		rs_finding_need(a, g.f, "--since an older snapshot", "whether it still rises");
		rs_finding_unpriced(a, g.f,
				    "how often it drops at the job's load is not in a counter");
	}
	rs_gather_end(&g,
		      "a lossless class that drops has headroom too small, PFC off on the way, or "
		      "a peer that does not obey; each drop costs a go-back-N",
		      "lossless queues without drops", "whether lossless queues drop is not known",
		      "SONiC show queue counters and show pfc counters, Cumulus nv show interface "
		      "<port> qos roce counters, EOS show interfaces counters queue drops",
		      "drops and pauses");
}

/* ---- S14: too many lossless classes ---- */

static void s14_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned mask = v->mask;
	int n = __builtin_popcount(mask);

	g->unknown += pfc_hidden(g, v);
	if (n > 2)
		rs_gather_fail(g, RS_MINOR, sw, port,
			       rs_hop_fact(g->a, sw, port, "pfc/%d", __builtin_ctz(mask)), NULL,
			       "%d priorities are lossless on %s", n, sw);
	else
		g->passed += n > 0;
}

static void s14(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r);

	each_port(&g, s14_port);
	rs_gather_end(&g,
		      "each lossless priority of each port reserves headroom that the shared pool "
		      "then lacks",
		      "ports with at most two lossless priorities",
		      "how many priorities are lossless is not known",
		      "the switch's PFC configuration", "PFC of each port");
}

/* ---- S15: configured and not in force ---- */

/* "on" and "enabled" are one, numbers within a cell of a buffer (10%) too. */
static bool in_force(const char *x, const char *y)
{
	static const char *const yes[] = {"on", "yes", "enable", "enabled", "true"};
	bool a = false, b = false;
	char *end_x, *end_y;
	double n = strtod(x, &end_x), m = strtod(y, &end_y);

	for (unsigned i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		a |= !strcasecmp(x, yes[i]);
		b |= !strcasecmp(y, yes[i]);
	}
	if (a && b)
		return true;
	if (end_x != x && end_y != y && !strcasecmp(end_x, end_y))
		return fabs(n - m) <= 0.1 * fabs(n);
	return !strcasecmp(x, y);
}

static void s15_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	const struct rs_fact *f, *is;
	uint32_t at = rs_facts_seek(g->a->facts, sw, port);

	while ((f = rs_facts_next(g->a->facts, &at, sw, "", "")) && !strcmp(f->subject, port)) {
		if (strncmp(f->name, "applied/", 8))
			continue;
		is = rs_look(g->a, sw, port, "operational/%s", f->name + 8);
		if (!is) {
			g->unknown++;
			continue;
		}
		if (in_force(f->value, is->value)) {
			g->passed++;
			continue;
		}
		rs_gather_fail(g, RS_MAJOR, sw, port, f, is,
			       "%s is set to %s on %s, but %s is in force", f->name + 8, f->value,
			       sw, is->value);
		if (g->new_switch)
			rs_finding_fix(g->a, g->f, sw, true, "reload of switchd", NULL,
				       "nv config apply; nv config diff applied operational; sudo "
				       "systemctl reload switchd");
	}
}

/* What makes the saved configuration the running one, and the other way round. */
static void s15_fix(struct rs_audit *a, struct rs_finding *f, const char *sw)
{
	static const struct {
		const char *os, *keep, *back, *interrupts;
	} ways[] = {
		{"SONiC", "sudo config save -y", "sudo config reload -y",
		 "all ports, for a minute"},
		{"EOS", "copy running-config startup-config", "configure replace startup-config",
		 "what differs"},
		{"Junos", "commit", "rollback 0", NULL},
		{"Cumulus", "nv config save", "nv config apply startup", "what differs"},
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].os, rs_hop_os(a, sw)))
			continue;
		rs_finding_fix(a, f, sw, true, NULL, NULL, "%s  # what runs is meant",
			       ways[i].keep);
		rs_finding_choice(f);
		rs_finding_fix(a, f, sw, true, ways[i].interrupts, NULL,
			       "%s  # what is saved is meant", ways[i].back);
	}
}

/* Is this of a switch's configuration, rather than a counter or a neighbour? */
static bool is_setting(const char *name)
{
	static const char *const settings[] = {
		"dscp_to_tc/", "tc_to_pg/", "tc_to_queue/", "pfc/",       "queue/",   "pg/",
		"trust",       "mtu",       "fec",          "speed_mbps", "watchdog", "cable_m"};

	for (unsigned i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strncmp(name, settings[i], strlen(settings[i])))
			return !strstr(name, "/dropped") && !strstr(name, "/status") &&
			       !strstr(name, "/detected") && !strstr(name, "/restored");
	return false;
}

/* What a switch has where nothing is said of it. */
static bool is_default(const char *value)
{
	static const char *const off[] = {"0", "off", "false", "no", "none", "disable", "disabled"};

	for (unsigned i = 0; i < sizeof(off) / sizeof(*off); i++)
		if (!strcasecmp(value, off[i]))
			return true;
	return false;
}

enum { GROUP = 512, FILES = 8 };

/* Settings of one kind ("pfc/") of one port, by all files that have some. */
struct group {
	const struct rs_fact *f[GROUP];
	unsigned n, n_files;
	const char *file[FILES];
};

static void s15_differs(struct rs_gather *g, const struct rs_fact *one, const struct rs_fact *two,
			const char *lacks)
{
	const char *sw = one->host;

	if (two)
		rs_gather_fail(g, RS_MAJOR, sw, one->subject, one, two,
			       "%s is %s in one configuration of %s and %s in another: what runs "
			       "is not what is saved",
			       one->name, one->value, sw, two->value);
	else
		rs_gather_fail(g, RS_MAJOR, sw, one->subject, one, NULL,
			       "%s is %s in one configuration of %s and not set in another (%s): "
			       "what runs is not what is saved",
			       one->name, one->value, sw, lacks);
	if (g->new_switch)
		s15_fix(g->a, g->f, sw);
}

static const struct rs_fact *in_file(const struct group *s, const char *name, const char *file)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->f[i]->name, name) && !strcmp(s->f[i]->file, file))
			return s->f[i];
	return NULL;
}

static void s15_group(struct rs_gather *g, const struct group *s)
{
	if (s->n_files < 2)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		const struct rs_fact *f = s->f[i];

		for (unsigned k = 0; k < s->n_files; k++) {
			const struct rs_fact *other = in_file(s, f->name, s->file[k]);

			if (!strcmp(s->file[k], f->file))
				continue;
			if (other ? !in_force(f->value, other->value) : !is_default(f->value)) {
				/* a pair is told once */
				if (!other || strcmp(f->file, other->file) < 0)
					s15_differs(g, f, other, s->file[k]);
			} else {
				g->passed++;
			}
		}
	}
}

/* "pfc/3" and "pfc/4" are of one kind, "mtu" is one of its own. */
static bool same_kind(const struct rs_fact *x, const struct rs_fact *y)
{
	size_t n = strcspn(x->name, "/");

	return !strcmp(x->subject, y->subject) && n == strcspn(y->name, "/") &&
	       !strncmp(x->name, y->name, n);
}

static void group_add(struct group *s, const struct rs_fact *f)
{
	unsigned k = 0;

	while (k < s->n_files && strcmp(s->file[k], f->file))
		k++;
	if (k == s->n_files && k < FILES)
		s->file[s->n_files++] = f->file;
	if (k < FILES && s->n < GROUP)
		s->f[s->n++] = f;
}

/* Two files of one switch that are whole configurations: the one saved and the one running. What
 * they say differently is lost at the next boot, or not in force yet. */
static void s15_files(struct rs_gather *g, const char *sw)
{
	struct group s = {.n = 0};
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(g->a->facts, &at, sw, "port/", ""))) {
		if (s.n && !same_kind(s.f[0], f)) {
			s15_group(g, &s);
			s.n = s.n_files = 0;
		}
		if (is_setting(f->name))
			group_add(&s, f);
	}
	s15_group(g, &s);
}

static void s15(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = gather(a, r), files = gather(a, r);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i))
			s15_files(&files, switch_at(a, i));
	if (files.f || files.passed)
		rs_gather_end(&files,
			      "at the next boot the switch comes up with what is saved: a change "
			      "that was never saved is lost, one that was saved and never loaded "
			      "comes unasked",
			      "settings that are alike in the saved and the running configuration",
			      "", "", "");
	each_port(&g, s15_port);
	rs_gather_end(&g, "what was set does nothing until it is in force",
		      "settings that are in force", "whether what is set is in force is not known",
		      "nv show interface <port> qos roce status (operational beside applied)",
		      "the operational values");
}

#define PFC_STANDARD "IEEE 802.1Q-2022 clause 36 (PFC)"

const struct rs_rule rs_rules_switch[] = {
	{"S01", "class-map", RS_CRITICAL,
	 "The DSCP that hosts send leads to a lossless class on every switch.", PFC_STANDARD,
	 "A switch puts a packet in a class by its DSCP and the port's map. PFC protects classes. "
	 "SONiC's stock map AZURE makes DSCP 3 and 4 lossless and puts 26 in a lossy class; "
	 "Cumulus' lossless mode takes 24 to 31. Either is right if hosts agree.",
	 s01},
	{"S02", "pfc-on-port", RS_CRITICAL,
	 "Every port that carries the class has PFC for its priority, both ways.", PFC_STANDARD,
	 "PFC acts hop by hop. A port that classifies for a protected class but has no PFC itself "
	 "drops when it is full. Ports of storage or management, which do not classify, need none.",
	 s02},
	{"S03", "headroom", RS_MAJOR,
	 "XOFF headroom holds two frames and the cable there and back; with the peer's slowest "
	 "answer too, nothing is lost.",
	 "IEEE 802.3 annex 31B.3.7 (response times); 802.1Q annex N",
	 "After XOFF is decided, frames under way and on the cable still come: 2 x MTU + 84 + 2 x "
	 "5 "
	 "ns/m x length x rate / 8 bytes at least. The standard allows the peer 463360 bit times "
	 "more at 400G. Below the first it fails; between both it is a minor finding. SONiC's "
	 "dynamic model computes it: then only the cable's length is to be right.",
	 s03},
	{"S04", "ecn-enabled", RS_MAJOR, "The queue of the lossless class marks ECN.",
	 "RFC 3168; DCQCN (SIGCOMM 2015) section 3",
	 "DCQCN slows a sender down when the switch marks. The marking profile must be bound to "
	 "the "
	 "very queue of the class, which may have another number than the priority.",
	 s04},
	{"S05", "ecn-before-pfc", RS_MAJOR,
	 "Kmin lies below the depth at which the first ingress crosses XOFF.",
	 "DCQCN (SIGCOMM 2015) section 4; SAI dynamic thresholds",
	 "With a dynamic threshold alpha one ingress is stopped at alpha / (1 + alpha) of the "
	 "shared "
	 "pool, n of them together at n alpha / (1 + n alpha): one alone is the first, and of a "
	 "switch's ports the one with the least threshold. Marking must begin before, and be "
	 "certain "
	 "before, or senders are paused without ever having been told to slow down. Thresholds in "
	 "time count at the port's rate; those in segments or per cent need the platform's sizes.",
	 s05},
	{"S06", "cnp-queue", RS_MAJOR,
	 "CNPs have a queue of their own, not the lossless one, and are not dropped early.",
	 "IBTA annex A17.9.3 (CNP); mlx5 sends them with DSCP 48",
	 "A notification must overtake the congestion that it reports.", s06},
	{"S07", "ets", RS_MINOR,
	 "No strict queue that users can fill stands before the lossless one; shares are within a "
	 "hundred.",
	 "IEEE 802.1Q-2022 clause 37 (ETS)",
	 "Strict priority is for what is little by nature: CNPs, routing. What users mark at will "
	 "may starve the rest.",
	 s07},
	{"S08", "watchdog", RS_CRITICAL,
	 "A PFC watchdog watches lossless queues, detects in 200 to 400 ms, and no queue is in a "
	 "storm.",
	 "SONiC PFC watchdog design; Junos and EOS defaults",
	 "Pauses spread upstream; in a circle they hold each other for ever. The watchdog drops a "
	 "queue that was paused too long. Under 100 ms it strikes at ordinary congestion. A queue "
	 "that is stormed now has a neighbour that does not drain: look there.",
	 s08},
	{"S09", "mtu-switch", RS_CRITICAL, "A switch port takes the largest packet of its host.",
	 "IEEE 802.3-2022 clause 79.3.4 (maximum frame size by LLDP)",
	 "SONiC and Cumulus give the MTU of IP, Junos counts the Ethernet header, EOS has mtu for "
	 "IP "
	 "and l2 mtu for frames. LLDP tells the neighbour's frame, which some fill with the MTU.",
	 s09},
	{"S10", "twins-differ", RS_MAJOR,
	 "Switches of one role have equal class maps, PFC, thresholds and watchdogs.",
	 "ECMP spreads flows over twins",
	 "Normalised facts are compared, not text: names, addresses and descriptions differ by "
	 "right. Switches count as twins when system, model and role are equal as far as said.",
	 s10},
	{"S11", "hash-and-ar", RS_MAJOR,
	 "The UDP source port is in the hash; adaptive routing is on everywhere or nowhere.",
	 "IBTA annex A17.9.1 (UDP source port)",
	 "RoCE v2's QPs differ in the UDP source port alone. Adaptive routing at some switches "
	 "only "
	 "reorders packets without relieving the others.",
	 s11},
	{"S12", "oversubscription", RS_INFO,
	 "A leaf's rate to other switches is not below its rate to hosts.",
	 "Clos networks: 1 to 1 for GPU rails",
	 "The sum of rates of links that are up. Where "
	 "neighbours are not known nothing is said.",
	 s12},
	{"S13", "drops-and-pause", RS_CRITICAL,
	 "Nothing is dropped in a lossless class; where it is, pauses were sent.", PFC_STANDARD,
	 "Drops with pauses: headroom too small, or a peer that does not obey. Drops without any "
	 "pause: PFC does not work on that port at all. One reading tells since boot; two tell "
	 "whether it still happens.",
	 s13},
	{"S14", "lossless-sprawl", RS_MINOR, "At most two priorities are lossless on a port.",
	 PFC_STANDARD, "Headroom is reserved for each, used or not.", s14},
	{"S15", "not-applied", RS_MAJOR, "What is configured is in force, and what runs is saved.",
	 "Cumulus nv show: columns operational and applied; SONiC config_db.json beside show "
	 "runningconfiguration; EOS startup-config beside running-config",
	 "Two configurations of one switch are held against each other setting by setting; so are "
	 "the columns of nv show. Sizes are rounded to cells of the buffer: within a tenth they "
	 "are one setting. A Junos candidate that is not committed is not read.",
	 s15},
	{0},
};
