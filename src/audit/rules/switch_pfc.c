/* Checks of switches: lossless classes, PFC, headroom, the watchdog, drops. IEEE 802.1Q clauses 36
 * and 8.6, 802.3 annex 31B. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/hop.h"
#include "audit/facts/look.h"
#include "audit/facts/qos.h"
#include "audit/rules/hop_fix.h"
#include "audit/rules/switch.h"

enum {
	DEMANDS = 32,
	HOST_PORTS = 64,
	ALL_PRIORITIES = 0xff,
	CONTROL = 48 /* CNPs and control of networks: RFC 4594, CS6 */
};

/* ---- S01: a lossless class that the traffic reaches ---- */

/* A row of the map that takes a DSCP out of the class that it has by default and that PFC guards,
 * or into one that is marked and not guarded, where no row leads into a guarded class: that DSCP
 * was meant to be lossless. NULL: none. */
static const struct rs_fact *s01_away(const struct rs_hop_view *v, unsigned mask)
{
	const struct rs_fact *away = NULL;

	for (int dscp = 0; dscp < 64; dscp++) {
		struct rs_hop h;

		rs_hop_find(v, dscp, &h);
		if (h.inferred || !h.map)
			continue;
		if (h.lossless == 1)
			return NULL;
		if (mask >> dscp / 8 & 1 || (h.ecn == 1 && h.lossless == 0 && dscp < CONTROL))
			away = away ? away : h.map;
	}
	return away;
}

/* A policy that classifies DSCPs was written and is bound to neither the port nor the switch. */
static bool s01_unbound(struct rs_gather *g, const struct rs_hop_view *v)
{
	const struct rs_fact *policy = rs_facts_get(g->a->facts, v->sw, v->port, "unbound_policy");

	if (!policy || v->classifies)
		return false;
	rs_gather_fail(g, RS_MAJOR, v->sw, v->port, policy,
		       rs_hop_fact(g->a, v->sw, v->port, "pfc/%d", __builtin_ctz(v->mask)),
		       "PFC is on for priority %d, and no policy leads a DSCP to its class on a "
		       "port of %s: %s is bound nowhere",
		       __builtin_ctz(v->mask), v->sw, policy->value);
	return true;
}

/* PFC is on, and the port looks at priority tags alone, though its DSCPs are mapped. RoCE v2
 * crosses routers without a tag. */
static bool s01_tags(struct rs_gather *g, const struct rs_hop_view *v)
{
	const struct rs_fact *map = NULL;

	for (int dscp = 0; dscp < 64 && !map; dscp++)
		map = v->dscp[dscp];
	if (!v->trust || strcmp(v->trust->value, "pcp") != 0 || (!map && !v->vrp))
		return false;
	rs_gather_fail(g, map ? RS_MAJOR : RS_MINOR, v->sw, v->port, v->trust,
		       rs_hop_fact(g->a, v->sw, v->port, "pfc/%d", __builtin_ctz(v->mask)),
		       "PFC is on for priority %d, and the port of %s trusts priority tags, not "
		       "DSCP: untagged packets are in the default class",
		       __builtin_ctz(v->mask), v->sw);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
	if (g->new_switch)
		rs_hop_fix_trust(g->a, g->f, v->sw, v->port);
	return true;
}

/* Either the DSCP that was meant goes to the guarded class, or PFC to the DSCP's. */
static void s01_fix(struct rs_gather *g, const struct rs_hop_view *v)
{
	int guarded = __builtin_ctz(v->mask), tc = guarded, dscp = -1;
	struct rs_demand d[1];
	struct rs_hop h, best;
	bool moves;

	for (int i = 0; i < RS_HOP_CLASSES; i++)
		if (v->group[i] && v->group[i]->number == guarded)
			tc = i;
	if (rs_hop_demands(g->a, d, 1))
		dscp = d[0].dscp;
	/* 26, which most hosts use, or the first that a row leads out of the default class, below
	 * what the network itself sends */
	for (int i = 0; dscp < 0 && i < 46; i++) {
		rs_hop_find(v, i ? i : 26, &h);
		if (!h.inferred && h.map && h.tc > 0)
			dscp = i ? i : 26;
	}
	dscp = dscp < 0 ? 26 : dscp;
	rs_hop_find(v, dscp, &h);
	rs_finding_fact(g->f, h.map);
	moves = h.group > 0 && h.group < RS_HOP_PRIORITIES && !h.inferred;
	/* the guarded class is queued with best effort, and the DSCP's is not: that one was meant
	 */
	rs_hop_find(v, 0, &best);
	if (moves && h.queue != best.queue && rs_hop_queue(v, guarded) == best.queue) {
		rs_hop_fix_pause(g->a, g->f, v->sw, v->port, guarded, h.group);
		rs_finding_choice(g->f);
		moves = false;
	}
	rs_hop_fix_class(g->a, g->f, v->sw, v->port, dscp, tc);
	if (!moves)
		return;
	rs_finding_choice(g->f);
	rs_hop_fix_pause(g->a, g->f, v->sw, v->port, guarded, h.group);
}

/* PFC is on, and no DSCP leads to what it protects. */
static void s01_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	unsigned mask = v->mask, reached = 0;
	struct rs_hop h;

	if (!mask)
		return;
	if (v->trust && !strcmp(v->trust->value, "none")) {
		rs_gather_fail(g, RS_CRITICAL, sw, port, v->trust,
			       rs_hop_fact(g->a, sw, port, "pfc/%d", __builtin_ctz(mask)),
			       "PFC is on for priority %d, and the port of %s looks at no marking: "
			       "all packets are in the default class",
			       __builtin_ctz(mask), sw);
		if (g->new_switch)
			rs_hop_fix_trust(g->a, g->f, sw, port);
		return;
	}
	if (s01_unbound(g, v) || s01_tags(g, v))
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
		const struct rs_fact *away = s01_away(v, mask);

		if (away)
			rs_gather_fail(
				g, RS_MAJOR, sw, port, away, NULL,
				"a row of the map leads %s to a class that PFC does not guard on "
				"%s: the guarded class is reached by default rows alone",
				strrchr(away->name, '/') + 1, sw);
		else
			rs_gather_pass_pfc(g, sw, port, reached & mask);
		return;
	}
	rs_gather_fail(g, RS_CRITICAL, sw, port,
		       rs_hop_fact(g->a, sw, port, "pfc/%d", __builtin_ctz(mask)), NULL,
		       "PFC is on for priority %d, but no DSCP leads to its class on %s",
		       __builtin_ctz(mask), sw);
	if (g->new_switch)
		s01_fix(g, v);
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
		    !rs_hop_carries(&v, &g->site) || rs_look_aside(g->a, sw, port))
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

void switch_s01(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_demand d[DEMANDS];
	unsigned n = rs_hop_demands(a, d, DEMANDS);
	struct rs_gather g = switch_gather(a, r);

	bool lossless = rs_qos_any_lossless(a);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		for (unsigned k = 0; lossless && k < n && switch_at(a, i); k++)
			s01_demand(&g, switch_at(a, i), &d[k]);
	switch_each_port(&g, s01_port);
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

/* Does a DSCP lead to a class that PFC guards here? Yes, where nothing says how DSCPs go. */
static bool is_reached(const struct rs_hop_view *v)
{
	struct rs_hop h;

	for (int dscp = 0; v->classifies && dscp < 64; dscp++) {
		rs_hop_find(v, dscp, &h);
		if (h.lossless == 1 || h.untrusted)
			return true;
	}
	return !v->classifies;
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
	if (rs_facts_get(g->a->facts, sw, port, "pfc_no_class")) {
		rs_gather_fail(g, RS_CRITICAL, sw, port,
			       rs_facts_get(g->a->facts, sw, port, "pfc_no_class"), NULL,
			       "PFC is on for a port of %s, and it pauses for no class or priority",
			       sw);
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
	/* it takes a priority tag into the class that others protect, and does not */
	for (int p = 0; !here && !v->classifies && p < 8; p++) {
		const struct rs_fact *cos = rs_hop_fact(g->a, sw, port, "cos_to_tc/%d", p);

		if (!cos || !(elsewhere >> p & 1) || !v->pfc_seen)
			continue;
		rs_gather_fail(
			g, RS_CRITICAL, sw, port, cos, v->pfc_seen,
			"%s classifies priority %d on this port, but does not protect it there "
			"as on others",
			sw, p);
		if (g->new_switch)
			rs_hop_fix_pfc(g->a, g->f, sw, port, p, -1);
		return;
	}
	if (here & elsewhere || !v->classifies || !rs_hop_carries(v, &g->site)) {
		/* all eight are no choice of a class (S14 tells them), and no more is one that only
		 * default rows reach, or no row (S01) */
		if (here && here != ALL_PRIORITIES && !s01_away(v, here) && is_reached(v))
			rs_gather_pass_pfc(g, sw, port, here);
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
			rs_gather_pass(g, said, NULL);
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

/* A switch showed its ports' PFC, and it is in force on none: Auto waits for a DCBX that hosts do
 * not speak. A port that has PFC set On is S15's. */
static void s02_nowhere(struct rs_gather *g, const char *sw)
{
	const struct rs_fact *off = NULL, *mode = NULL;
	bool works = false, broken = false;
	uint32_t at = 0;
	const char *port;

	while ((port = rs_hop_port(g->a, &at, sw))) {
		const struct rs_fact *oper = rs_facts_get(g->a->facts, sw, port, "pfc_oper");
		const struct rs_fact *set = rs_facts_get(g->a->facts, sw, port, "pfc_mode");

		if (!oper || !set || rs_look_aside(g->a, sw, port))
			continue;
		works |= strcmp(oper->value, "Off") != 0;
		broken |= !strcmp(oper->value, "Off") && !strcmp(set->value, "On");
		off = off ? off : oper;
		mode = mode ? mode : set;
	}
	if (broken) {
		/* what other ports have says nothing of that one */
		g->unknown += g->passed;
		g->passed = 0;
	}
	if (!off || works || broken || strcmp(mode->value, "Auto"))
		return;
	rs_gather_fail(g, RS_MAJOR, sw, off->subject, mode, off,
		       "PFC is left to DCBX on %s and is in force on no port that was shown", sw);
	rs_hop_fix_pfc(g->a, g->f, sw, off->subject, 3, -1);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
}

/* What a switch's configuration says of all its ports. */
static void s02_whole(struct rs_gather *g, const char *sw)
{
	static const struct {
		const char *fact, *value, *what;
		enum rs_severity severity;
	} known[] = {
		{"pfc_meant", NULL, "PFC is off on each port, though a class is to pause",
		 RS_MAJOR},
		{"pfc_unbound", NULL, "a profile of PFC was written, and no port has it", RS_MAJOR},
		{"roce_mode", "lossy", "RoCE's mode is lossy: no priority has PFC", RS_MINOR},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct rs_fact *f = rs_facts_get(g->a->facts, sw, "host", known[i].fact);

		if (!f || (known[i].value && strcmp(f->value, known[i].value) != 0))
			continue;
		rs_gather_fail(g, known[i].severity, sw, "port/*", f, NULL, "%s: %s", sw,
			       known[i].what);
		if (g->f)
			g->f->confidence = RS_MEDIUM;
	}
}

void switch_s02(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	switch_each_port(&g, s02_port);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i)) {
			s02_nowhere(&g, switch_at(a, i));
			s02_whole(&g, switch_at(a, i));
		}
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
		rs_gather_pass(g, profile, NULL);
		return;
	}
	if (!xoff || !xoff->numeric || speed <= 0) {
		g->unknown += xoff || profile;
		return;
	}
	floor_bytes = headroom(mtu, cable, speed, false);
	worst = headroom(mtu, cable, speed, true);
	if ((double)xoff->number >= worst) {
		rs_gather_pass(g, xoff, NULL);
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

void switch_s03(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	switch_each_port(&g, s03_port);
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

/* ---- S08: the PFC watchdog ---- */

static void s08_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	const struct rs_fact *dog = rs_hop_fact(g->a, sw, port, "watchdog");
	const char *all = rs_facts_value(g->a->facts, sw, "host", "watchdog_default");
	int64_t detect = rs_hop_number(g->a, sw, port, "watchdog/detection_ms", -1);
	int64_t restore = rs_hop_number(g->a, sw, port, "watchdog/restoration_ms", -1);
	bool whole = rs_facts_get(g->a->facts, sw, "host", "model") ||
		     (!strcmp(rs_hop_os(g->a, sw), "EOS") &&
		      rs_facts_get(g->a->facts, sw, "host", "config_seen"));

	if (!v->mask)
		return;
	if ((dog && !strcmp(dog->value, "off")) ||
	    (!dog && whole && (!all || strcmp(all, "enable")))) {
		rs_gather_fail(g, switch_count(g->a) > 1 ? RS_MAJOR : RS_MINOR, sw, port, dog, NULL,
			       "no PFC watchdog on %s", sw);
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
		rs_gather_pass(g, dog, NULL);
	}
}

/* Queues in a storm now, or that were in one and did not come back; or (past) those that did. */
static void s08_queues(struct rs_gather *g, const struct rs_hop_view *v, bool past)
{
	const char *sw = v->sw, *port = v->port;

	for (int q = 0; q < 8; q++) {
		const struct rs_fact *s = rs_hop_fact(g->a, sw, port, "watchdog/%d/status", q);
		int64_t in = rs_look_number(g->a, sw, port,
					    rs_audit_text(g->a, "watchdog/%d/detected", q), 0);
		int64_t out = rs_look_number(g->a, sw, port,
					     rs_audit_text(g->a, "watchdog/%d/restored", q), in);
		bool now = s && !strcmp(s->value, "stormed");

		bool over = !now && in == out;

		if (over != past || (over && !in))
			continue;
		if (over) {
			rs_gather_fail(g, RS_MINOR, sw, port, s,
				       rs_hop_fact(g->a, sw, port, "watchdog/%d/detected", q),
				       "queue %d of %s was held by a pause storm, %lld times, and "
				       "came back",
				       q, sw, (long long)in);
			if (g->f)
				g->f->states_failure = true;
			continue;
		}
		rs_gather_fail(g, RS_CRITICAL, sw, port, s,
			       rs_hop_fact(g->a, sw, port, "watchdog/%d/detected", q),
			       "queue %d of %s is held by a pause storm (%lld detected, %lld "
			       "ended): the sender of the pauses does not drain",
			       q, sw, (long long)in, (long long)out);
	}
}

static void s08_now(struct rs_gather *g, const struct rs_hop_view *v)
{
	s08_queues(g, v, false);
}

static void s08_past(struct rs_gather *g, const struct rs_hop_view *v)
{
	s08_queues(g, v, true);
}

void switch_s08(struct rs_audit *a, const struct rs_rule *r)
{
	switch_port *const storms[] = {s08_now, s08_past};
	struct rs_gather g = switch_gather(a, r);

	g.unseen = RS_MAJOR;
	for (unsigned i = 0; i < 2; i++) {
		struct rs_gather storm = switch_gather(a, r);

		switch_each_port(&storm, storms[i]);
		if (storm.f)
			rs_gather_end(&storm,
				      "a neighbour that pauses without end stops every flow "
				      "through this queue, and queues before it in turn",
				      "", "", "", "");
	}
	switch_each_port(&g, s08_port);
	rs_gather_end(&g,
		      "on two tiers or more pauses can wait for each other in a circle; the "
		      "watchdog is what ends that",
		      "ports with a PFC watchdog", "whether a PFC watchdog is on is not known",
		      "the whole configuration (config_db.json: PFC_WD, DEVICE_METADATA)",
		      "the watchdog");
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
			if (in_queue.now || in_group.now)
				rs_gather_pass(g, in_queue.now, in_group.now);
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
			rs_gather_pass(g, dropped.now, NULL);
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
			rs_gather_pass(g, r.now, NULL);
			continue;
		}
		rs_gather_fail(g, RS_MAJOR, v->sw, v->port, r.now, NULL,
			       "%s: %s had this port stopped for %.1f%% of the time %s", v->sw,
			       who ? who : "its neighbour", 100 * share, rs_look_since(g->a, &r));
	}
}

/* Drops of a port of which no configuration was read: in a queue that pauses were counted for, or
 * that is usually the lossless one (3 and 4). */
static void s13_bare(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;

	if (v->mask || v->classifies || rs_facts_get(g->a->facts, sw, port, "pfc_seen"))
		return;
	for (int q = 0; q < 8; q++) {
		struct rs_rise in_queue = {0}, pause = {0};
		bool paused, few;

		if (!rose(g, sw, port, rs_audit_text(g->a, "queue/%d/dropped", q), &in_queue) &&
		    !rose(g, sw, port, rs_audit_text(g->a, "pg/%d/dropped", q), &in_queue))
			continue;
		paused = rose(g, sw, port, rs_audit_text(g->a, "pfc_tx/%d", q), &pause) ||
			 rose(g, sw, port, rs_audit_text(g->a, "pfc_rx/%d", q), &pause);
		if (!paused && q != 3 && q != 4)
			continue;
		few = !paused && rs_look_few_ever(&in_queue);
		rs_gather_fail(g, few ? RS_MINOR : RS_MAJOR, sw, port, in_queue.now, pause.now,
			       "%s dropped %lld packets in queue or group %d%s", sw,
			       (long long)in_queue.by, q,
			       paused ? ", for which it pauses" : ", which is usually lossless");
		if (!g->f)
			continue;
		g->f->confidence = paused ? RS_HIGH : RS_MEDIUM;
		g->f->states_failure = g->f->severity == RS_MINOR;
	}
}

/* A port that paused its neighbour and dropped all the same: what came after the pause did not fit.
 * Where nothing tells queues apart, one frame in a thousand is more than a lossy class's own. */
static void s13_ingress(struct rs_gather *g, const struct rs_hop_view *v)
{
	struct rs_rise dropped = {0}, all = {0}, pause = {0};
	int p = 0;

	while (p < 8 && !rose(g, v->sw, v->port, rs_audit_text(g->a, "pfc_tx/%d", p), &pause))
		p++;
	if (p == 8 || !rose(g, v->sw, v->port, "dropped_in", &dropped) ||
	    !rose(g, v->sw, v->port, "frames_in", &all) || dropped.by < all.by / 1000)
		return;
	rs_gather_fail(g, RS_MAJOR, v->sw, v->port, dropped.now, pause.now,
		       "%s dropped %lld frames on receiving, and paused priority %d of that port",
		       v->sw, (long long)dropped.by, p);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
}

void switch_s13(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r, .unseen = RS_MINOR}, paused = switch_gather(a, r);

	switch_each_port(&paused, s13_paused);
	if (paused.f)
		rs_gather_end(
			&paused,
			"the sender of pauses does not drain: a host by its PCIe path, IOMMU or "
			"memory, a switch by congestion behind it",
			"", "", "", "");
	switch_each_port(&g, s13_port);
	switch_each_port(&g, s13_bare);
	switch_each_port(&g, s13_ingress);
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
	else if (n > 0)
		rs_gather_pass_pfc(g, sw, port, mask);
}

void switch_s14(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	switch_each_port(&g, s14_port);
	rs_gather_end(&g,
		      "each lossless priority of each port reserves headroom that the shared pool "
		      "then lacks",
		      "ports with at most two lossless priorities",
		      "how many priorities are lossless is not known",
		      "the switch's PFC configuration", "PFC of each port");
}
