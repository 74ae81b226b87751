/* Checks of switches: what they are to each other and to hosts: MTU, twins, hashing,
 * oversubscription.
 */
#include <ctype.h>
#include <string.h>
#include "audit/facts/hop.h"
#include "audit/facts/look.h"
#include "audit/rules/hop_fix.h"
#include "audit/rules/switch.h"

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
			rs_gather_pass(g, mtu, at_switch);
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
		rs_gather_pass(g, mtu, mfs);
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

/* A port of the lossless class that takes ordinary frames alone, beside others that take large
 * ones. */
static void s09_odd(struct rs_gather *g, const struct rs_hop_view *v)
{
	enum { ORDINARY = 1600, JUMBO = 4096 };
	static const char *const names[] = {"mtu", "mtu_l2", "mtu_ip"};
	const struct rs_fact *mtu = NULL, *other;
	uint32_t at = 0;

	for (unsigned i = 0; !mtu && i < sizeof(names) / sizeof(*names); i++)
		mtu = rs_facts_get(g->a->facts, v->sw, v->port, names[i]);
	if (!v->mask || !mtu || !mtu->numeric || mtu->number > ORDINARY)
		return;
	while ((other = rs_facts_next(g->a->facts, &at, v->sw, "port/", "mtu")))
		if (!strcmp(other->name, mtu->name) && other->numeric && other->number >= JUMBO)
			break;
	if (!other)
		return;
	rs_gather_fail(g, RS_MAJOR, v->sw, v->port, mtu, other,
		       "a lossless port of %s takes %lld B, others take %lld B", v->sw,
		       (long long)mtu->number, (long long)other->number);
}

/* NX-OS: the lossless class has an MTU of its own, which is below the port's. */
static void s09_class(struct rs_gather *g, const struct rs_hop_view *v)
{
	const struct rs_fact *class = rs_facts_get(g->a->facts, v->sw, v->port, "mtu_class");
	const struct rs_fact *port = NULL;

	if (!class || !class->numeric ||
	    ip_mtu(g->a, v->sw, v->port, &port) <= (int64_t) class->number)
		return;
	rs_gather_fail(g, RS_MAJOR, v->sw, v->port, class, port,
		       "the lossless class of %s takes frames of %lld B, its ports %lld B", v->sw,
		       (long long)class->number, (long long)port->number);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
}

void switch_s09(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	switch_each_port(&g, s09_odd);
	switch_each_port(&g, s09_class);

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

/* What a switch's ports have most often, of what hosts notice, is its normal form. What is QoS must
 * be alike where role and model are; the rest only where names are alike, too ("leaf1", "leaf2").
 */
static const struct twin_name {
	const char *name; /* of facts, by prefix */
	bool qos;
	enum rs_severity severity;
} twin_names[] = {
	{"dscp_to_tc/", true, RS_MAJOR},  {"tc_to_pg/", true, RS_MAJOR},
	{"tc_to_queue/", true, RS_MAJOR}, {"pfc/", true, RS_MAJOR},
	{"pfc_dscp/", true, RS_MAJOR},    {"queue/", true, RS_MAJOR},
	{"watchdog", true, RS_MAJOR},     {"trust", true, RS_MAJOR},
	{"mtu", false, RS_MAJOR},         {"fec", false, RS_MAJOR},
	{"speed_mbps", false, RS_MAJOR},  {"wred/", true, RS_MAJOR},
};

enum { TWIN_NAMES = 256, TWIN_PORTS = 64 /* of a switch whose names are looked at */ };

static const struct twin_name *twin_name(const char *name)
{
	for (unsigned i = 0; i < sizeof(twin_names) / sizeof(*twin_names); i++)
		if (!strncmp(name, twin_names[i].name, strlen(twin_names[i].name)))
			return &twin_names[i];
	return NULL;
}

/* Adds the names of a switch's settings to those of its twin. */
static unsigned names_of(const struct rs_audit *a, const char *sw, const char **name, unsigned n)
{
	uint32_t at = 0;
	const char *port;

	for (unsigned ports = 0; ports < TWIN_PORTS && (port = rs_hop_port(a, &at, sw)); ports++) {
		uint32_t k = rs_facts_seek(a->facts, sw, port);
		const struct rs_fact *f;

		while ((f = rs_facts_next(a->facts, &k, sw, port, "")) && n < TWIN_NAMES) {
			unsigned i = 0;

			while (i < n && strcmp(name[i], f->name))
				i++;
			if (i == n && !strcmp(f->subject, port) && twin_name(f->name))
				name[n++] = f->name;
		}
	}
	return n;
}

/* The commonest value of a fact over a switch's ports; NULL: no port has it. most: half of them
 * have it. */
static const struct rs_fact *commonest(const struct rs_audit *a, const char *sw, const char *name,
				       bool *most)
{
	const struct rs_fact *value[8];
	unsigned votes[8] = {0}, n = 0, best = 0, ports = 0, have = 0;
	uint32_t at = 0;
	const char *port;

	while ((port = rs_hop_port(a, &at, sw))) {
		const struct rs_fact *f = rs_facts_get(a->facts, sw, port, name);
		unsigned k = 0;

		ports++;
		have += f != NULL;
		while (f && k < n && strcmp(value[k]->value, f->value))
			k++;
		if (!f || k == 8)
			continue;
		if (k == n)
			value[n++] = f;
		votes[k]++;
		/* what stands for all ports */
		if (!strcmp(port, "port/*"))
			have += TWIN_PORTS * TWIN_NAMES;
	}
	for (unsigned k = 1; k < n; k++)
		if (votes[k] > votes[best])
			best = k;
	*most = 2 * have >= ports;
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

/* "leaf1" and "leaf2", "rack1-sw3" and "rack2-sw4": names that differ in numbers alone. */
static bool named_alike(const char *x, const char *y)
{
	while (*x && *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			x += strspn(x, "0123456789");
			y += strspn(y, "0123456789");
		} else if (*x++ != *y++) {
			return false;
		}
	}
	return !*x && !*y;
}

/* A setting that one of two configurations has on most ports, and the other nowhere. */
static void s10_lone(struct rs_gather *g, const char *has, const char *lacks,
		     const struct rs_fact *f, const struct twin_name *t)
{
	if (f->trust == RS_TRUST_INTENT && t->qos && named_alike(has, lacks))
		rs_gather_fail(g, t->severity, lacks, NULL, f, NULL,
			       "%s and %s have one role and differ: %s is %s on %s alone", has,
			       lacks, f->name, f->value, has);
}

/* What one port has of QoS, and the port of that name on the twin has not though others there do.
 */
static void s10_port(struct rs_gather *g, const char *has, const char *lacks, const char *port)
{
	uint32_t at = rs_facts_seek(g->a->facts, has, port);
	const struct rs_fact *f;
	bool most;

	if (!rs_facts_next(g->a->facts, &(uint32_t){rs_facts_seek(g->a->facts, lacks, port)}, lacks,
			   port, ""))
		return;
	while ((f = rs_facts_next(g->a->facts, &at, has, port, "")) && !strcmp(f->subject, port)) {
		const struct twin_name *t = twin_name(f->name);

		if (t && t->qos && !rs_look(g->a, lacks, port, "%s", f->name) &&
		    commonest(g->a, lacks, f->name, &most))
			s10_lone(g, has, lacks, f, t);
	}
}

/* Settings of the whole switch. */
static void s10_host(struct rs_gather *g, const char *x, const char *y)
{
	static const char *const names[] = {"roce_mode", "ar"};
	static const struct twin_name whole = {"", true, RS_MAJOR};

	for (unsigned i = 0; named_alike(x, y) && i < sizeof(names) / sizeof(*names); i++) {
		const struct rs_fact *mine = rs_look(g->a, x, "host", "%s", names[i]);
		const struct rs_fact *theirs = rs_look(g->a, y, "host", "%s", names[i]);

		if (mine && !theirs)
			s10_lone(g, x, y, mine, &whole);
		else if (theirs && !mine)
			s10_lone(g, y, x, theirs, &whole);
		else if (mine && strcmp(mine->value, theirs->value))
			rs_gather_fail(g, RS_MAJOR, y, NULL, mine, theirs,
				       "%s and %s have one role and differ: %s is %s and %s", x, y,
				       names[i], mine->value, theirs->value);
	}
}

static void s10_pair(struct rs_gather *g, const char *x, const char *y)
{
	const struct rs_fact *one = NULL, *two = NULL; /* that were compared and agree */
	const char *name[TWIN_NAMES], *port;
	unsigned compared = 0, n = names_of(g->a, y, name, names_of(g->a, x, name, 0));

	for (unsigned k = 0; k < n; k++) {
		const struct twin_name *t = twin_name(name[k]);
		bool many, most;
		const struct rs_fact *mine = commonest(g->a, x, name[k], &many);
		const struct rs_fact *theirs = commonest(g->a, y, name[k], &most);

		if (mine && !theirs && many)
			s10_lone(g, x, y, mine, t);
		if (theirs && !mine && most)
			s10_lone(g, y, x, theirs, t);
		if (!mine || !theirs || (!t->qos && !named_alike(x, y)))
			continue;
		if (strcmp(mine->value, theirs->value)) {
			rs_gather_fail(g, t->severity, y, NULL, mine, theirs,
				       "%s and %s have one role and differ: %s is %s and %s", x, y,
				       name[k], mine->value, theirs->value);
		} else if (t->qos) {
			one = mine;
			two = theirs;
		}
		compared += t->qos;
	}
	s10_host(g, x, y);
	for (uint32_t at = 0; named_alike(x, y) && (port = rs_hop_port(g->a, &at, x));) {
		s10_port(g, x, y, port);
		s10_port(g, y, x, port);
	}
	if (compared)
		rs_gather_pass(g, one, two);
	g->unknown += !compared;
}

void switch_s10(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

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

/* The command that tells what a switch hashes by; NULL: of this system none is known. */
static const char *shows_hash(const char *os)
{
	static const struct {
		const char *os, *command;
	} of[] = {
		{"SONiC", "show switch-hash global"},
		{"Cumulus", "nv show system forwarding"},
		{"Junos", "show forwarding-options enhanced-hash-key"},
		{"EOS", "show load-balance profile"},
		{"NX-OS", "show ip load-sharing"},
	};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcmp(of[i].os, os))
			return of[i].command;
	return NULL;
}

void switch_s11(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r, .unseen = RS_MINOR};
	const char *with = NULL, *without = NULL, *shows = NULL;

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
			rs_gather_pass(&g, l4, NULL);
		} else if (sw && !ar &&
			   (shows_hash(rs_hop_os(a, sw)) || rs_look_any(a, sw, "host", "hash/"))) {
			shows = shows ? shows : shows_hash(rs_hop_os(a, sw));
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
		      shows ? shows : "the switches' configurations",
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

void switch_s12(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i))
			s12_switch(a, r, switch_at(a, i));
}
