/* Checks of a RoCE interface's quality of service: trust, marking, map, global pause, buffers, ETS,
 * DCQCN, CNPs, DCBX, retransmission, ordering, persistence. IEEE 802.1Q-2022 clauses 36 to 38, IBTA
 * vol. 1 annex A17, mlx5. The whole chain to the switch is X01's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"
#include "audit/rules/rule.h"

enum { PORTS = 64 };

struct port {
	const char *host, *nic, *netdev; /* nic "" where only the interface is known */
	char subject[160];               /* "netdev/eth4" */
	int mask;                        /* PFC, -1: not known */
	struct rs_class c;               /* of plain queue pairs */
};

typedef void each_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p);

/* Calls for each interface with QoS facts of each host. */
static void each(struct rs_audit *a, const struct rs_rule *r, each_port *judge)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[PORTS];
		unsigned n =
			rs_facts_is_switch(a->facts, host) ? 0 : rs_qos_ports(a, host, port, PORTS);

		for (unsigned k = 0; k < n; k++) {
			struct port p = {
				.host = host, .nic = port[k].nic, .netdev = port[k].netdev};
			char nic[128];

			snprintf(nic, sizeof(nic), "nic/%s", p.nic);
			/* InfiniBand has service levels instead */
			if (*p.nic) {
				const char *l = rs_facts_value(a->facts, host, nic, "link_layer");

				if (l && strcmp(l, "Ethernet"))
					continue;
			}
			snprintf(p.subject, sizeof(p.subject), "netdev/%s", p.netdev);
			p.mask = rs_qos_pfc_mask(a, host, p.netdev);
			if (rs_qos_class(a, host, p.nic, p.netdev, RS_QP_VERBS, &p.c))
				judge(a, r, &p);
		}
	}
}

static const struct rs_fact *of(const struct rs_audit *a, const struct port *p, const char *name)
{
	return rs_facts_get(a->facts, p->host, p->subject, name);
}

static struct rs_finding *at(struct rs_audit *a, const struct port *p, struct rs_finding *f)
{
	rs_finding_subject(a, f, p->host, p->netdev);
	return f;
}

/* ---- R04 ---- */

static void r04_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	const struct rs_fact *trust = of(a, p, "trust");
	bool pcp = trust && !strcasecmp(trust->value, "pcp");
	struct rs_finding *f;

	if (!trust) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				      "what the interface trusts is not known"));
		rs_finding_need(a, f, rs_audit_text(a, "dcb app show dev %s", p->netdev),
				"an old mlnx_qos does not print the trust state");
		return;
	}
	if (p->c.dscp <= 0 && pcp) {
		/* nothing is marked by DSCP, as far as is known */
		if (p->mask <= 0)
			return;
		f = at(a, p,
		       rs_finding_new(
			       a, r, RS_FAIL, RS_MAJOR,
			       "the interface trusts PCP, and PFC is on for priority %d: only "
			       "packets with a VLAN tag get there",
			       __builtin_ctz((unsigned)p->mask)));
		rs_finding_fact(f, trust);
		rs_finding_fact(f, p->c.pfc);
		rs_finding_need(a, f, "ip -d link, and the job's GIDs",
				"whether RoCE uses a VLAN interface");
		if (f)
			f->confidence = RS_MEDIUM;
		return;
	}
	f = at(a, p,
	       rs_finding_new(a, r, pcp ? RS_FAIL : RS_PASS, RS_CRITICAL,
			      pcp ? "DSCP %d is sent, and the interface trusts %s"
				  : "DSCP %d is sent or received; the interface trusts %s",
			      p->c.dscp < 0 ? 0 : p->c.dscp, trust->value));
	rs_finding_fact(f, trust);
	rs_finding_fact(f, p->c.tc_fact);
	if (!pcp)
		return;
	rs_finding_why(a, f,
		       "packets without a VLAN tag have no PCP: all of them get priority 0, "
		       "whatever their DSCP. A virtual function follows its physical one");
	rs_finding_fix(a, f, p->host, false, NULL,
		       rs_audit_text(a, "mlnx_qos -i %s --trust pcp", p->netdev),
		       "mlnx_qos -i %s --trust dscp", p->netdev);
}

static void r04(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r04_port);
}

/* ---- R05 ---- */

static void r05_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	const struct rs_class *main = &p->c;
	struct rs_finding *f;
	bool differ = false;

	if (main->tc < 0) {
		if (p->mask <= 0)
			return;
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				      "which traffic class leaves is not known"));
		rs_finding_need(a, f,
				"the job's environment, "
				"/sys/class/infiniband/<dev>/tc/1/traffic_class",
				"DSCP of what is sent");
		return;
	}
	for (int k = RS_QP_GIN; k < RS_QP_KINDS; k++) {
		struct rs_class other;

		if (!rs_qos_class(a, p->host, p->nic, p->netdev, (enum rs_qp_kind)k, &other) ||
		    other.dscp < 0 || other.dscp == main->dscp)
			continue;
		/* RDMA-CM may serve storage in a class of its own */
		if (k == RS_QP_CM && other.lossless != 0)
			continue;
		differ = true;
		f = at(a, p,
		       rs_finding_new(a, r, RS_FAIL,
				      k == RS_QP_GIN ? RS_CRITICAL
				      : other.tc     ? RS_MAJOR
						     : RS_MINOR,
				      "%s leave with DSCP %d, %s with DSCP %d", rs_qp_kinds[0],
				      main->dscp, rs_qp_kinds[k], other.dscp));
		rs_finding_fact(f, main->tc_fact);
		rs_finding_fact(f, other.tc_fact);
		rs_finding_why(a, f, "the class of %s comes from %s, that of the others from %s",
			       rs_qp_kinds[k], other.tc_from, main->tc_from);
		if (k == RS_QP_GIN)
			rs_finding_fix(a, f, "all hosts of the job", true, NULL,
				       "unset NCCL_GIN_IB_TC", "NCCL_GIN_IB_TC=%d", main->dscp * 4);
		else
			rs_finding_fix(
				a, f, p->host, false, NULL,
				rs_audit_text(a, "cma_roce_tos -d %s -t %d", p->nic, other.tc),
				"cma_roce_tos -d %s -t %d", p->nic, main->dscp * 4);
	}
	if (differ)
		return;
	if (!main->dscp && main->lossless == 0 && p->mask > 0) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				      "nothing marks RDMA: DSCP 0 by %s, and PFC protects priority "
				      "%d",
				      main->tc_from, __builtin_ctz((unsigned)p->mask)));
		rs_finding_fact(f, main->tc_fact);
		return;
	}
	f = at(a, p,
	       rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "traffic class %d, DSCP %d, by %s",
			      main->tc, main->dscp, main->tc_from));
	rs_finding_fact(f, main->tc_fact);
}

/* A NIC of which nothing is known but the classes of its queue pairs. */
static void r05_alone(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *cm, *tc;
	uint32_t at = 0;

	while ((cm = rs_facts_next(a->facts, &at, host, "nic/", "cm_tos"))) {
		struct rs_finding *f;

		tc = rs_facts_get(a->facts, host, cm->subject, "tclass");
		/* the low two bits are ECN */
		if (!tc || !tc->numeric || !cm->numeric || tc->number >> 2 == cm->number >> 2)
			continue;
		f = rs_finding_new(a, r, RS_FAIL, cm->number ? RS_MAJOR : RS_MINOR,
				   "%s leave with DSCP %d, %s with DSCP %d", rs_qp_kinds[0],
				   (int)(tc->number & 255) >> 2, rs_qp_kinds[RS_QP_CM],
				   (int)(cm->number & 255) >> 2);
		rs_finding_subject(a, f, host, cm->subject + 4);
		rs_finding_fact(f, tc);
		rs_finding_fact(f, cm);
		rs_finding_why(a, f,
			       "RDMA-CM takes its own default ToS: what connects by it (storage, "
			       "MPI) is in another class than the job's queue pairs");
		rs_finding_need(a, f, "mlnx_qos -i NETDEV", "which priority each of them has");
		rs_finding_unpriced(a, f, "which priority each class has is not known");
		rs_finding_fix(a, f, host, false, NULL,
			       rs_audit_text(a, "cma_roce_tos -d %s -t %d", cm->subject + 4,
					     (int)cm->number),
			       "cma_roce_tos -d %s -t %d", cm->subject + 4, (int)tc->number & 252);
	}
}

static void r05(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r05_port);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		struct rs_qos_port port;

		if (!rs_qos_ports(a, rs_facts_host(a->facts, i), &port, 1))
			r05_alone(a, r, rs_facts_host(a->facts, i));
	}
}

/* ---- R06 ---- */

/* The map was listed, and leads no DSCP to a priority with PFC: whatever is sent is lossy. */
static bool r06_nowhere(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	const struct rs_fact *trust = of(a, p, "trust"), *f, *some = NULL;
	struct rs_finding *x;
	uint32_t k = rs_facts_seek(a->facts, p->host, p->subject);

	if (p->mask <= 0 || p->c.untagged || (trust && strcasecmp(trust->value, "dscp")))
		return false;
	while ((f = rs_facts_next(a->facts, &k, p->host, p->subject, "dscp_to_prio/")) &&
	       !strcmp(f->subject, p->subject)) {
		if (!f->numeric || f->number < 0 || f->number > 7)
			continue;
		if (p->mask >> f->number & 1)
			return false;
		some = some ? some : f;
	}
	if (!some)
		return false;
	x = at(a, p,
	       rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			      "PFC is on for priority %d, and no DSCP that is listed leads there",
			      __builtin_ctz((unsigned)p->mask)));
	rs_finding_fact(x, some);
	rs_finding_why(a, x,
		       "packets that come without a priority tag are never in the lossless class");
	rs_finding_fix(a, x, p->host, false, NULL, NULL, "mlnx_qos -i %s --dscp2prio set,26,%d",
		       p->netdev, __builtin_ctz((unsigned)p->mask));
	if (x)
		x->confidence = RS_MEDIUM;
	return true;
}

static void r06_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	const struct rs_class *c = &p->c;
	int lossless = p->mask > 0 ? __builtin_ctz((unsigned)p->mask) : -1;
	struct rs_finding *f;

	if (c->dscp > 0 && p->mask > 0 && !c->trust) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				      "which priority DSCP %d has is not known", c->dscp));
		rs_finding_fact(f, c->tc_fact);
		rs_finding_need(a, f, rs_audit_text(a, "dcb app show dev %s", p->netdev),
				"the map from DSCP to priority");
		return;
	}
	if (c->dscp <= 0 && r06_nowhere(a, r, p))
		return;
	/* PFC on for none: R07 tells whether that is meant, and no priority is the right one */
	if (c->dscp <= 0 || c->untagged || c->priority < 0 || p->mask <= 0)
		return;
	if (!(p->mask >> c->priority & 1)) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				      "DSCP %d is mapped to priority %d, and PFC is on for %d",
				      c->dscp, c->priority, lossless));
		rs_finding_fix(a, f, p->host, false, NULL,
			       rs_audit_text(a, "mlnx_qos -i %s --dscp2prio del,%d,%d", p->netdev,
					     c->dscp, lossless),
			       "mlnx_qos -i %s --dscp2prio set,%d,%d", p->netdev, c->dscp,
			       lossless);
	} else {
		f = at(a, p,
		       rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				      "DSCP %d is mapped to priority %d%s", c->dscp, c->priority,
				      c->map_inferred ? " (not listed: DSCP / 8)" : ""));
	}
	if (f && c->map_inferred)
		f->confidence = RS_MEDIUM;
	rs_finding_fact(f, c->map);
	rs_finding_fact(f, c->tc_fact);
}

static void r06(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r06_port);
}

/* ---- R08 ---- */

static int64_t port_rate(const struct rs_audit *a, const struct port *p)
{
	int64_t mbps = rs_look_number(a, p->host, p->subject, "speed_mbps", 0), rate = 0;
	char nic[128];

	snprintf(nic, sizeof(nic), "nic/%s", p->nic);
	if (*p->nic)
		rate = rs_look_port_rate(a, p->host, nic);
	return rate ? rate : mbps > 0 ? mbps / 1000 : 0;
}

/* A row of eight as mlnx_qos takes it, as it is now; NULL: not all of it is known. */
static const char *row(struct rs_audit *a, const struct port *p, const char *option,
		       const char *name)
{
	const char *text = rs_audit_text(a, "mlnx_qos -i %s %s ", p->netdev, option);

	for (int q = 0; q < 8; q++) {
		const struct rs_fact *f = of(a, p, rs_audit_text(a, name, q));

		if (!f)
			return NULL;
		text = rs_audit_text(a, "%s%s%s", text, q ? "," : "", f->value);
	}
	return text;
}

static void r08_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	int prio = p->mask > 0 ? __builtin_ctz((unsigned)p->mask) : -1;
	const struct rs_fact *buffer, *size, *other = NULL;
	int64_t rate = port_rate(a, p), known = rs_look_number(a, p->host, p->subject, "mtu", 0);
	int64_t mtu = known ? known : 9000;
	double cable = (double)rs_look_number(a, p->host, p->subject, "cable_m", -1), xoff;
	const char *was, *want;
	struct rs_finding *f;

	if (prio < 0)
		return;
	buffer = rs_look(a, p->host, p->subject, "prio_buffer/%d", prio);
	size = buffer ? rs_look(a, p->host, p->subject, "buffer_size/%s", buffer->value) : NULL;
	if (!buffer || !buffer->numeric || !size || !size->numeric) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				      "the buffer of priority %d is not known", prio));
		rs_finding_need(a, f, rs_audit_text(a, "dcb buffer show dev %s", p->netdev),
				"an old mlnx_qos prints no buffers");
		return;
	}
	for (int q = 0; q < 8; q++) {
		const struct rs_fact *b = rs_look(a, p->host, p->subject, "prio_buffer/%d", q);

		if (b && b->numeric && b->number == buffer->number && !(p->mask >> q & 1))
			other = b;
	}
	/* mlx5's own: (301 + 2.16 m) * Gb/s + 2.72 * MTU bytes (en/port_buffer.c) */
	cable = cable < 0 ? a->set.cable_m : cable;
	xoff = (301 + 2.16 * cable) * (double)rate + 2.72 * (double)mtu;
	if (other)
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "lossless priority %d shares buffer %s with lossy priority %s",
				   prio, buffer->value, strrchr(other->name, '/') + 1);
	else if (rate && (double)size->number <= xoff)
		f = rs_finding_new(
			a, r, RS_FAIL, RS_MAJOR,
			"buffer %s has %lld bytes; XOFF takes %.0f at %lld Gb/s, %.0f m, "
			"MTU %lld%s",
			buffer->value, (long long)size->number, xoff, (long long)rate, cable,
			(long long)mtu, known ? "" : " (which was not read)");
	else
		f = rs_finding_new(a, r, rate ? RS_PASS : RS_UNKNOWN, RS_MAJOR,
				   "buffer %s of %lld bytes is priority %d's alone%s",
				   buffer->value, (long long)size->number, prio,
				   rate ? "" : "; the port's rate is not known");
	at(a, p, f);
	rs_finding_fact(f, buffer);
	rs_finding_fact(f, other);
	rs_finding_fact(f, size);
	if (f && f->verdict == RS_UNKNOWN)
		rs_finding_need(a, f, "/sys/class/net/<dev>/speed", "how much arrives after XOFF");
	if (!f || f->verdict != RS_FAIL)
		return;
	rs_finding_why(a, f,
		       other ? "lossy traffic fills what is set aside for lossless, and PFC "
			       "pauses too late"
			     : "what is on the wire when XOFF is sent does not fit: it is "
			       "dropped");
	was = row(a, p, "--prio2buffer", "prio_buffer/%d");
	want = rs_audit_text(a, "mlnx_qos -i %s --prio2buffer %d,%d,%d,%d,%d,%d,%d,%d", p->netdev,
			     p->mask & 1, p->mask >> 1 & 1, p->mask >> 2 & 1, p->mask >> 3 & 1,
			     p->mask >> 4 & 1, p->mask >> 5 & 1, p->mask >> 6 & 1,
			     p->mask >> 7 & 1);
	if (!was || strcmp(was, want))
		rs_finding_fix(a, f, p->host, false, "the port's buffers, for a moment", was, "%s",
			       want);
	rs_finding_fix(a, f, p->host, false, "the port's buffers, for a moment",
		       row(a, p, "--buffer_size", "buffer_size/%d"),
		       "mlnx_qos -i %s --buffer_size 19872,%.0f,0,0,0,0,0,0", p->netdev,
		       xoff * 1.5);
}

static void r08(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r08_port);
}

/* ---- R09 ---- */

static int tc_of(const struct rs_audit *a, const struct port *p, int prio)
{
	char name[32];

	snprintf(name, sizeof(name), "prio_to_tc/%d", prio);
	return (int)rs_look_number(a, p->host, p->subject, name, -1);
}

/* Priorities of a traffic class that are not for control: 6 and 7 carry CNPs and the network's. */
static bool carries_data(const struct rs_audit *a, const struct port *p, int tc)
{
	int64_t cnp = rs_look_number(a, p->host, p->subject, "cnp_prio", 6);

	for (int q = 0; q < 6; q++)
		if (q != cnp && tc_of(a, p, q) == tc)
			return true;
	return false;
}

/* RoCE has most of it, CNPs and the network's own come first, the rest share what is left. */
static void r09_fix(struct rs_audit *a, struct rs_finding *f, const struct port *p, int tc)
{
	const char *tsa = "", *share = "", *was_tsa = "", *was = "";
	int strict = tc == 6 ? 7 : 6;
	bool known = true;

	for (int t = 0; t < 8; t++) {
		const struct rs_fact *w = rs_look(a, p->host, p->subject, "tc/%d/bandwidth", t);
		const struct rs_fact *is = rs_look(a, p->host, p->subject, "tc/%d/tsa", t);
		const char *comma = t ? "," : "";

		tsa = rs_audit_text(a, "%s%s%s", tsa, comma, t == strict ? "strict" : "ets");
		share = rs_audit_text(a, "%s%s%d", share, comma,
				      t == strict ? 0
				      : t == tc   ? 70
						  : 5);
		known &= is != NULL;
		was_tsa = rs_audit_text(a, "%s%s%s", was_tsa, comma, is ? is->value : "");
		was = rs_audit_text(a, "%s%s%s", was, comma, w ? w->value : "0");
	}
	rs_finding_fix(a, f, p->host, false, NULL,
		       known ? rs_audit_text(a, "mlnx_qos -i %s --tsa %s --tcbw %s", p->netdev,
					     was_tsa, was)
			     : NULL,
		       "mlnx_qos -i %s --tsa %s --tcbw %s", p->netdev, tsa, share);
}

static void r09_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	int prio = p->c.priority > 0 ? p->c.priority
		   : p->mask > 0     ? __builtin_ctz((unsigned)p->mask)
				     : -1,
	    tc = prio < 0 ? -1 : tc_of(a, p, prio);
	const struct rs_fact *tsa, *share, *limit;
	enum rs_severity s = RS_MAJOR;
	const char *what = NULL;
	struct rs_finding *f;

	if (prio >= 0 && p->mask > 0 && tc < 0) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
				      "which share of the port priority %d has is not known",
				      prio));
		rs_finding_need(a, f, rs_audit_text(a, "dcb ets show dev %s", p->netdev),
				"its traffic class and that class's share");
	}
	if (tc < 0 || !(tsa = rs_look(a, p->host, p->subject, "tc/%d/tsa", tc)))
		return;
	share = rs_look(a, p->host, p->subject, "tc/%d/bandwidth", tc);
	limit = rs_look(a, p->host, p->subject, "tc/%d/ratelimit", tc);
	if (limit && strcmp(limit->value, "unlimited") && atof(limit->value) > 0)
		what = rs_audit_text(a, "is limited to %s", limit->value);
	else if (!strcmp(tsa->value, "ets") && share && share->numeric && !share->number)
		what = "has no share of the bandwidth";
	for (int t = 0; t < 8 && !what; t++) {
		const struct rs_fact *other = rs_look(a, p->host, p->subject, "tc/%d/tsa", t);
		const struct rs_fact *w = rs_look(a, p->host, p->subject, "tc/%d/bandwidth", t);

		if (t == tc || !other || !carries_data(a, p, t) || strcmp(tsa->value, "ets"))
			continue;
		if (!strcmp(other->value, "strict"))
			what = rs_audit_text(a, "comes behind strict class %d, which carries data",
					     t);
		else if (!strcmp(other->value, "ets") && w && share && w->number > share->number)
			s = RS_MINOR, what = rs_audit_text(a, "has %s %% and class %d has %s %%",
							   share->value, t, w->value);
	}
	f = at(a, p,
	       rs_finding_new(a, r, what ? RS_FAIL : RS_PASS, s,
			      what ? "RoCE's traffic class %d (priority %d) %s"
				   : "RoCE's traffic class %d (priority %d) is not held back%s",
			      tc, prio, what ? what : ""));
	rs_finding_fact(f, tsa);
	rs_finding_fact(f, share);
	rs_finding_fact(f, limit);
	if (limit && what && strstr(what, "limited"))
		rs_finding_fix(a, f, p->host, false, NULL, NULL,
			       "mlnx_qos -i %s --ratelimit 0,0,0,0,0,0,0,0", p->netdev);
	else if (what)
		r09_fix(a, f, p, tc);
}

static void r09(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r09_port);
}

/* ---- R10, R11 ---- */

/* The priority, if it is the only one, that has a half of DCQCN on; -1: none, or several. */
static int half_on(const struct rs_audit *a, const struct port *p)
{
	int only = -1;

	for (int prio = 0; prio < 8; prio++) {
		const struct rs_fact *np = rs_look(a, p->host, p->subject, "ecn_np/%d", prio);
		const struct rs_fact *rp = rs_look(a, p->host, p->subject, "ecn_rp/%d", prio);

		if ((np && np->numeric && np->number) || (rp && rp->numeric && rp->number)) {
			if (only >= 0)
				return -1;
			only = prio;
		}
	}
	return only;
}

static void r10_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	int prio = p->c.priority;
	const struct rs_fact *np, *rp, *off;
	struct rs_finding *f;

	/* which class leaves was not seen: the one that is protected is meant */
	if (prio < 0 && p->mask > 0)
		prio = __builtin_ctz((unsigned)p->mask);
	if (prio < 0)
		prio = half_on(a, p);
	if (prio < 0)
		return;
	np = rs_look(a, p->host, p->subject, "ecn_np/%d", prio);
	rp = rs_look(a, p->host, p->subject, "ecn_rp/%d", prio);
	off = np && np->numeric && !np->number ? np : rp && rp->numeric && !rp->number ? rp : NULL;
	if (!np && !rp) {
		if (p->mask <= 0 || p->c.priority < 0)
			return;
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				      "whether DCQCN is on for priority %d is not known", prio));
		rs_finding_need(a, f,
				rs_audit_text(a,
					      "/sys/class/net/%s/ecn/roce_{np,rp}/enable/%d, or "
					      "mlx5's cc_params in debugfs",
					      p->netdev, prio),
				"newer kernels keep it in debugfs, for root alone");
		return;
	}
	f = at(a, p,
	       rs_finding_new(a, r,
			      off        ? RS_FAIL
			      : np && rp ? RS_PASS
					 : RS_UNKNOWN,
			      RS_MAJOR,
			      off ? "DCQCN's %s is off for priority %d, which RoCE uses"
				  : "DCQCN is on%s for priority %d",
			      off        ? off == np ? "notification point" : "reaction point"
			      : np && rp ? ""
					 : ", as far as is seen,",
			      prio));
	rs_finding_fact(f, np);
	rs_finding_fact(f, rp);
	if (!off) {
		if (!np || !rp)
			rs_finding_need(a, f, "/sys/class/net/<dev>/ecn/roce_{np,rp}/enable",
					"both halves");
		return;
	}
	rs_finding_why(a, f,
		       off == np ? "marked packets bring no CNP: senders do not slow down, "
				   "and PFC alone is left"
				 : "CNPs come and the sender ignores them");
	for (unsigned i = 0; i < 2; i++) {
		const struct rs_fact *half = i ? rp : np;
		const char *way = rs_audit_text(a, "/sys/class/net/%s/ecn/roce_%s/enable/%d",
						p->netdev, i ? "rp" : "np", prio);

		if (!half || (half->numeric && !half->number))
			rs_finding_fix(a, f, p->host, false, NULL,
				       half ? rs_audit_text(a, "echo 0 > %s", way) : NULL,
				       "echo 1 > %s", way);
	}
}

/* DCQCN's own files may be all that was shown of an interface. */
static void r10_alone(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *subject;
	uint32_t at = 0;

	while ((subject = rs_facts_subject(a->facts, &at, host, "netdev/"))) {
		struct port p = {.host = host, .nic = "", .netdev = subject + 7, .mask = -1};

		if (rs_facts_get(a->facts, host, subject, "trust") ||
		    rs_qos_pfc_mask(a, host, p.netdev) >= 0)
			continue;
		snprintf(p.subject, sizeof(p.subject), "%s", subject);
		p.c.priority = half_on(a, &p);
		if (p.c.priority >= 0)
			r10_port(a, r, &p);
	}
}

static void r10(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r10_port);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i)))
			r10_alone(a, r, rs_facts_host(a->facts, i));
}

/* A parameter of the NIC's firmware, whatever its device is called in the file: config/NAME of any
 * device of the host, the same on all. NULL: not known, or not the same. */
static const struct rs_fact *parameter(const struct rs_audit *a, const char *host, const char *name)
{
	const struct rs_fact *f, *first = NULL;
	const char *subject;
	char full[96];
	uint32_t at_ = 0;

	snprintf(full, sizeof(full), "config/%s", name);
	while ((subject = rs_facts_subject(a->facts, &at_, host, ""))) {
		f = rs_facts_get(a->facts, host, subject, full);
		if (f && first && strcmp(first->value, f->value))
			return NULL;
		first = first ? first : f;
	}
	return first;
}

static void r11_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	const struct rs_fact *dscp = of(a, p, "cnp_dscp"), *map;
	struct rs_finding *f;
	int64_t prio;

	dscp = dscp ? dscp : parameter(a, p->host, "CNP_DSCP_P1");
	if (!dscp && p->mask > 0 && p->c.priority >= 0) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				      "which DSCP CNPs have is not known"));
		rs_finding_need(a, f,
				rs_audit_text(a,
					      "/sys/class/net/%s/ecn/roce_np/cnp_dscp, or "
					      "mlxconfig's CNP_DSCP_P1",
					      p->netdev),
				"whether CNPs wait behind the data");
	}
	if (!dscp || !dscp->numeric || p->c.priority < 0 || !p->c.trust)
		return;
	map = rs_look(a, p->host, p->subject, "dscp_to_prio/%s", dscp->value);
	prio = map && map->numeric ? map->number : dscp->number / 8;
	f = at(a, p,
	       rs_finding_new(a, r, prio == p->c.priority ? RS_FAIL : RS_PASS, RS_MAJOR,
			      prio == p->c.priority
				      ? "CNPs (DSCP %lld) share priority %lld with the data"
				      : "CNPs (DSCP %lld) have priority %lld of their own",
			      (long long)dscp->number, (long long)prio));
	rs_finding_fact(f, dscp);
	rs_finding_fact(f, map);
	if (f && !map)
		f->confidence = RS_MEDIUM;
	if (prio != p->c.priority)
		return;
	rs_finding_why(a, f,
		       "a CNP that waits behind the data, or is paused with it, comes when the "
		       "queue has overflowed");
	rs_finding_fix(a, f, p->host, false, NULL,
		       rs_audit_text(a, "echo %lld > /sys/class/net/%s/ecn/roce_np/cnp_dscp",
				     (long long)dscp->number, p->netdev),
		       "echo 48 > /sys/class/net/%s/ecn/roce_np/cnp_dscp", p->netdev);
}

static void r11(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r11_port);
}

/* ---- R12 ---- */

static void r12_port(struct rs_audit *a, const struct rs_rule *r, const struct port *p)
{
	const struct rs_fact *mode = of(a, p, "dcbx");
	const struct rs_fact *willing = parameter(a, p->host, "DCBX_WILLING_P1");
	const struct rs_fact *listens = parameter(a, p->host, "LLDP_NB_RX_MODE_P1");
	bool firmware = mode && (!strncasecmp(mode->value, "firmware", 8) ||
				 !strncasecmp(mode->value, "fw", 2));
	bool deaf = listens && listens->numeric && !listens->number;
	bool stubborn = willing && willing->numeric && !willing->number;
	struct rs_finding *f;

	if (!mode)
		return;
	if (!firmware || deaf || stubborn) {
		f = at(a, p,
		       rs_finding_new(a, r, RS_PASS, RS_MAJOR, "%s",
				      !firmware ? "the operating system alone sets the QoS"
				      : deaf    ? "the firmware may take QoS from the switch, but "
						  "does not listen"
						: "the firmware is not willing to take QoS from "
						  "the switch"));
	} else {
		f = at(a, p,
		       rs_finding_new(a, r, willing && listens ? RS_FAIL : RS_UNKNOWN, RS_MAJOR,
				      "the firmware %s take QoS from the switch over what is set "
				      "here",
				      willing && listens ? "will" : "may"));
		if (!willing || !listens)
			rs_finding_need(a, f,
					"mlxconfig -d <dev> -e q (DCBX_WILLING_P1, "
					"LLDP_NB_RX_MODE_P1)",
					"whether it listens to the switch's LLDP");
		rs_finding_why(a, f, "two owners of one setting: an LLDP frame undoes mlnx_qos");
		rs_finding_fix(a, f, p->host, false, NULL,
			       rs_audit_text(a, "mlnx_qos -i %s -d fw", p->netdev),
			       "mlnx_qos -i %s -d os", p->netdev);
	}
	rs_finding_fact(f, mode);
	rs_finding_fact(f, willing);
	rs_finding_fact(f, listens);
}

static void r12(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, r12_port);
}

/* ---- R13 ---- */

/* A fabric that was seen to be lossy, and nothing says how its NICs recover. */
static void r13_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct rs_qos_port port[PORTS];
	unsigned n = rs_qos_ports(a, host, port, PORTS);
	struct rs_finding *f;

	if (!n || rs_qos_pfc_mask(a, host, port[0].netdev) < 0)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
			   "the fabric is lossy; how NICs recover from loss is not known");
	rs_finding_subject(a, f, host, port[0].netdev);
	rs_finding_need(a, f, "mlxreg -d <dev> --reg_name ROCE_ACCL --get, as root",
			"adaptive retransmission and slow restart");
}

static void r13(struct rs_audit *a, const struct rs_rule *r)
{
	static const char *const wanted[] = {"roce_adp_retrans_en", "roce_slow_restart_en"};
	bool lossless = rs_qos_any_lossless(a);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *s;
		bool seen = false;
		uint32_t at_ = 0;

		while ((s = rs_facts_subject(a->facts, &at_, host, ""))) {
			const struct rs_fact *off = NULL, *any = NULL;
			struct rs_finding *f;

			for (unsigned k = 0; k < 2; k++) {
				const struct rs_fact *v =
					rs_look(a, host, s, "roce_accl/%s", wanted[k]);

				any = v ? v : any;
				off = v && v->numeric && !v->number ? v : off;
			}
			if (!any)
				continue;
			seen = true;
			f = rs_finding_new(a, r, off && !lossless ? RS_FAIL : RS_PASS, RS_MAJOR,
					   off && !lossless ? "%s is off on a lossy fabric"
					   : lossless ? "the fabric is lossless: either is right"
						      : "the NIC recovers from loss by itself",
					   off ? strchr(off->name, '/') + 1 : "");
			rs_finding_subject(a, f, host, strchr(s, '/') ? strchr(s, '/') + 1 : s);
			rs_finding_fact(f, off ? off : any);
			if (!off || lossless)
				continue;
			rs_finding_why(a, f,
				       "a lost packet then costs a full timeout, and the sender "
				       "starts again at full rate");
			rs_finding_fix(a, f, host, false, NULL,
				       rs_audit_text(a,
						     "mlxreg -d %s --reg_name ROCE_ACCL --set "
						     "\"%s=0x0\" --yes",
						     rs_look_mft(a, host, s),
						     strchr(off->name, '/') + 1),
				       "mlxreg -d %s --reg_name ROCE_ACCL --set "
				       "\"roce_adp_retrans_en=0x1,roce_slow_restart_en=0x1\" --yes",
				       rs_look_mft(a, host, s));
			rs_finding_fix(
				a, f, host, true, "the NIC's reset",
				rs_audit_text(a, "mlxconfig -d %s set RDMA_SELECTIVE_REPEAT_EN=0",
					      rs_look_mft(a, host, s)),
				"mlxconfig -d %s set RDMA_SELECTIVE_REPEAT_EN=1  # where the "
				"firmware has it",
				rs_look_mft(a, host, s));
		}
		if (!seen && !lossless && !rs_facts_is_switch(a->facts, host))
			r13_unseen(a, r, host);
	}
}

/* ---- R14 ---- */

static void r14(struct rs_audit *a, const struct rs_rule *r)
{
	const struct rs_fact *sw = NULL;
	int spray = rs_look_sprays(a, &sw);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *env = rs_nccl_env(a, host, "NCCL_IB_ADAPTIVE_ROUTING");
		const struct rs_fact *forced = parameter(a, host, "ROCE_ADAPTIVE_ROUTING_EN");
		bool roce = rs_look_any(a, host, "netdev/", "trust"), on, bad;
		struct rs_finding *f;

		/* left out, it is 0 on RoCE: told where switches are seen to spray */
		if (rs_facts_is_switch(a->facts, host) || !roce ||
		    (!env && !forced && (spray != 1 || !rs_nccl_env_seen(a, host))))
			continue;
		on = (env && env->numeric && env->number) ||
		     (forced && forced->numeric && forced->number);
		bad = spray >= 0 && on != (spray == 1);
		f = rs_finding_new(a, r,
				   spray < 0 ? RS_UNKNOWN
				   : bad     ? RS_FAIL
					     : RS_PASS,
				   spray < 0 ? RS_MAJOR : RS_CRITICAL,
				   spray < 0 ? "NICs %s packets out of order; whether switches "
					       "spray is not known"
				   : bad     ? "NICs %s packets out of order, and the switches do "
					       "the other"
					     : "NICs %s packets out of order, as the switches need",
				   on ? "take" : "do not take");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, env);
		rs_finding_fact(f, forced);
		rs_finding_fact(f, sw);
		if (spray < 0)
			rs_finding_need(a, f, "the switches' configuration",
					"whether they use adaptive routing");
		/* a switch may balance by flowlets, which stay in order */
		if (f && bad)
			f->confidence = RS_MEDIUM;
		if (bad)
			rs_finding_fix(
				a, f, "all hosts of the job", true, NULL,
				env  ? rs_audit_text(a, "NCCL_IB_ADAPTIVE_ROUTING=%s", env->value)
				: on ? "NCCL_IB_ADAPTIVE_ROUTING=1"
				     : "unset NCCL_IB_ADAPTIVE_ROUTING",
				"NCCL_IB_ADAPTIVE_ROUTING=%d", !on);
	}
}

/* ---- R15 ---- */

static void r15(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *now;
		struct rs_finding *f = NULL;
		unsigned same = 0;
		uint32_t at_ = 0;

		while ((now = rs_facts_next(a->facts, &at_, host, "", "config_current/"))) {
			const struct rs_fact *next =
				rs_look(a, host, now->subject, "config/%s", now->name + 15);

			if (!next)
				continue;
			if (!strcmp(next->value, now->value)) {
				same++;
				continue;
			}
			if (!f) {
				f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
						   "%s is %s now and %s after the next reboot",
						   now->name + 15, now->value, next->value);
				rs_finding_why(a, f,
					       "what works today changes at the next power "
					       "cycle, or was never activated");
				rs_finding_fix(a, f, host, false, "the NIC's reset", NULL,
					       "mlxfwreset -d %s reset  # what was set is meant",
					       rs_look_mft(a, host, now->subject));
				rs_finding_choice(f);
				rs_finding_fix(a, f, host, true, NULL,
					       rs_audit_text(a, "mlxconfig -d %s set %s=%s",
							     rs_look_mft(a, host, now->subject),
							     now->name + 15, next->value),
					       "mlxconfig -d %s set %s=%s  # what is now is meant",
					       rs_look_mft(a, host, now->subject), now->name + 15,
					       now->value);
			}
			rs_finding_subject(a, f, host, strchr(now->subject, '/') + 1);
			rs_finding_fact(f, now);
			rs_finding_fact(f, next);
		}
		if (!f && !same && rs_look_any(a, host, "", "config/")) {
			f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
					   "the firmware's parameters are listed for the next boot "
					   "alone");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_need(a, f, "mlxconfig -d <dev> -e q", "what is in use now");
		} else if (!f && same)
			rs_finding_subject(a,
					   rs_finding_new(a, r, RS_PASS, RS_MINOR,
							  "%u firmware parameters are the same "
							  "after a reboot",
							  same),
					   host, NULL);
	}
}

const struct rs_rule rs_rules_qos[] = {
	{
		.id = "R04",
		.name = "trust",
		.severity = RS_CRITICAL,
		.criterion = "An interface whose traffic is marked by DSCP trusts DSCP.",
		.authority = "IEEE 802.1Q-2022 6.9.3 (priority from PCP); RFC 2474 (DSCP)",
		.explain =
			"RoCE over routers has no VLAN tag, so PCP says nothing. Any application "
			"entry of selector 5 means DSCP to the kernel; deleting the last flips "
			"it back.",
		.run = r04,
	},
	{
		.id = "R05",
		.name = "marking",
		.severity = RS_CRITICAL,
		.criterion = "All kinds of queue pairs of a job leave with one DSCP.",
		.authority = "IBTA vol. 1 annex A17.4.5.2; NCCL's sources; mlx5's traffic_class",
		.explain =
			"The job's NCCL_IB_TC, overridden by the kernel's traffic_class for queue "
			"pairs of ib_verbs; NCCL_GIN_IB_TC for GPU-initiated ones, which that "
			"does not reach; default_roce_tos for RDMA-CM. DSCP is TC / 4: the low "
			"two bits are ECN and not compared.",
		.run = r05,
	},
	{
		.id = "R06",
		.name = "dscp-to-prio",
		.severity = RS_CRITICAL,
		.criterion = "The DSCP in use is mapped to a priority with PFC.",
		.authority = "IEEE 802.1Q-2022 D.2.9 (application priority, selector 5); mlnx_qos",
		.explain =
			"--trust dscp installs DSCP / 8 for all 64; rows that a listing leaves out "
			"are taken to be that, with less confidence.",
		.run = r06,
	},
	{
		.id = "R08",
		.name = "buffer",
		.severity = RS_MAJOR,
		.criterion = "The lossless priority has a buffer of its own, larger than XOFF.",
		.authority =
			"Linux mlx5 (en/port_buffer.c): xoff = (301 + 2.16 m) Gb/s + 2.72 MTU; "
			"the cable (cable_m, 30) is a default, settable",
		.explain = "What is on the wire when XOFF is sent must still fit. A lossy priority "
			   "in the same buffer eats the room.",
		.run = r08,
	},
	{
		.id = "R09",
		.name = "ets",
		.severity = RS_MAJOR,
		.criterion =
			"RoCE's traffic class has a share, no limit, and no strict class of data "
			"before it.",
		.authority = "IEEE 802.1Q-2022 clause 37 (ETS)",
		.explain = "tsa vendor is the default and fair. Strict classes are for CNPs and "
			   "control. Classes 0 and 1 swapped is mlx5's default order.",
		.run = r09,
	},
	{
		.id = "R10",
		.name = "dcqcn-enabled",
		.severity = RS_MAJOR,
		.criterion = "DCQCN's notification and reaction points are on for the priority in "
			     "use.",
		.authority = "IBTA vol. 1 annex A17.9; DCQCN (SIGCOMM 2015) section 3",
		.explain = "The receiver's half answers marks with CNPs, the sender's slows down. "
			   "Newer kernels keep the switches in debugfs: then nothing is said.",
		.run = r10,
	},
	{
		.id = "R11",
		.name = "cnp-class",
		.severity = RS_MAJOR,
		.criterion = "CNPs have a priority other than the data's.",
		.authority = "DCQCN (SIGCOMM 2015) section 3.2; mlx5's cnp_dscp (48)",
		.explain = "In the data's class a CNP waits behind what it should slow down.",
		.run = r11,
	},
	{
		.id = "R12",
		.name = "dcbx",
		.severity = RS_MAJOR,
		.criterion =
			"One owner sets the QoS: the operating system, or the firmware by LLDP.",
		.authority = "IEEE 802.1Q-2022 clause 38 (DCBX)",
		.explain = "A willing firmware takes what the switch advertises. A NIC that is "
			   "willing but does not receive LLDP takes nothing.",
		.run = r12,
	},
	{
		.id = "R13",
		.name = "lossy-accel",
		.severity = RS_MAJOR,
		.criterion = "On a lossy fabric adaptive retransmission and slow restart are on.",
		.authority = "mlxreg's ROCE_ACCL",
		.explain =
			"They make loss cheap. On a lossless fabric either is right. The register "
			"is volatile and needs root.",
		.run = r13,
	},
	{
		.id = "R14",
		.name = "adaptive-routing-host",
		.severity = RS_CRITICAL,
		.criterion = "NICs take packets out of order where switches spray, and only there.",
		.authority =
			"NCCL's sources (NCCL_IB_ADAPTIVE_ROUTING: 1 on InfiniBand, 0 on RoCE)",
		.explain =
			"Spraying to a NIC that wants order looks like loss; a NIC that marks its "
			"traffic for spraying on hashing switches gains nothing.",
		.run = r14,
	},
	{
		.id = "R15",
		.name = "persistence",
		.severity = RS_MINOR,
		.criterion = "Firmware parameters in use are those of the next boot.",
		.authority = "mlxconfig (columns Current and Next Boot)",
		.explain =
			"mlnx_qos, sysfs, setpci and mlxreg do not survive a reboot; mlxconfig's "
			"columns tell what changes.",
		.run = r15,
	},
	{0},
};
