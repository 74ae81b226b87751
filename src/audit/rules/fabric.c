/* Checks across hosts and switches: the chain from traffic class to lossless queue, and what should
 * be alike but differs. IEEE 802.1Q-2022 clause 36 (PFC), IBTA annex A17, NCCL's sources. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/hop.h"
#include "audit/rules/hop_fix.h"
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"
#include "audit/rules/rule.h"

enum { PORTS = 64, GROUPS = 64 };

/* ---- X01: the chain ---- */

static const char *class_text(struct rs_audit *a, const struct rs_hop *h)
{
	if (h->untrusted)
		return "does not trust DSCP";
	return rs_audit_text(a, "TC %d (%s%s)", h->tc,
			     h->lossless == 1   ? "lossless"
			     : h->lossless == 0 ? "lossy"
						: "PFC not known",
			     h->inferred ? ", by default" : "");
}

/* The first port whose answer breaks the chain, else the first that has one; n: how many answer so.
 * Ports that say nothing of classes or PFC carry storage or management: none of these. */
static bool switch_hop(const struct rs_audit *a, const char *sw, int dscp, struct rs_hop *worst,
		       struct rs_hop_view *where, unsigned *n)
{
	struct rs_hop_site site;
	const char *port;
	uint32_t at = 0;
	bool found = false;

	*n = 0;
	rs_hop_site(a, sw, &site);
	while ((port = rs_hop_port(a, &at, sw))) {
		struct rs_hop_view v;
		struct rs_hop h;

		rs_hop_view(a, sw, port, &v);
		rs_hop_find(&v, dscp, &h);
		if ((h.tc < 0 && !(h.untrusted && v.mask)) || !rs_hop_carries(&v, &site))
			continue;
		if (!found || (h.lossless == 0 && worst->lossless != 0)) {
			*worst = h;
			*where = v;
			*n = 1;
		} else if (h.tc == worst->tc && h.lossless == worst->lossless) {
			++*n;
		}
		found = true;
	}
	return found;
}

struct chain {
	const char *host;
	struct rs_qos_port port;
	enum rs_qp_kind kind;
	struct rs_class c;
	enum rs_verdict verdict;
};

static void host_stages(struct rs_audit *a, struct rs_finding *f, const struct chain *x)
{
	const struct rs_class *c = &x->c;

	rs_finding_stage(a, f, x->host, "traffic class", c->tc < 0 ? RS_UNKNOWN : RS_PASS,
			 c->tc < 0 ? "not known" : "%d, from %s", c->tc, c->tc_from);
	if (c->tc >= 0)
		rs_finding_stage(a, f, x->host, "DSCP", RS_PASS, "%d", c->dscp);
	rs_finding_stage(a, f, x->host, "trust",
			 !c->trust                    ? RS_UNKNOWN
			 : c->untagged && c->dscp > 0 ? RS_FAIL
						      : RS_PASS,
			 "%s", c->trust ? c->trust->value : "not known");
	if (c->priority >= 0)
		rs_finding_stage(a, f, x->host, "priority", RS_PASS, "%d%s", c->priority,
				 c->map_inferred ? " (inferred: DSCP / 8)"
				 : c->untagged   ? " (no tag)"
						 : "");
	rs_finding_stage(a, f, x->host, "PFC",
			 c->lossless < 0 ? RS_UNKNOWN
			 : c->lossless   ? RS_PASS
					 : RS_FAIL,
			 "%s",
			 c->lossless < 0 ? "not known"
			 : c->lossless   ? "on"
					 : "off for it");
	rs_finding_fact(f, c->tc_fact);
	rs_finding_fact(f, c->trust);
	rs_finding_fact(f, c->map);
	rs_finding_fact(f, c->pfc);
}

/* The kernel's override wins over the job's variable: on each device of the host that has it. */
static void override_fix(struct rs_audit *a, struct rs_finding *f, const struct chain *x, int dscp)
{
	enum { NAMED = 8 };
	const char *nic;
	unsigned n = 0;
	uint32_t at = 0;

	while (n < NAMED && (nic = rs_facts_subject(a->facts, &at, x->host, "nic/"))) {
		const struct rs_fact *t = rs_facts_get(a->facts, x->host, nic, "tclass");

		if (!t || strcmp(t->value, x->c.tc_fact->value) != 0)
			continue;
		n++;
		rs_finding_fix(
			a, f, x->host, false, NULL,
			rs_audit_text(a, "echo %s > /sys/class/infiniband/%s/tc/1/traffic_class",
				      t->numeric ? t->value : "0", nic + 4),
			"echo %d > /sys/class/infiniband/%s/tc/1/traffic_class", dscp * 4, nic + 4);
	}
}

static void mark_fix(struct rs_audit *a, struct rs_finding *f, const struct chain *x, int dscp)
{
	const char *nic = *x->port.nic ? x->port.nic : "<rdma device>", *variable;
	const struct rs_fact *set;

	if (x->kind == RS_QP_CM) {
		rs_finding_fix(a, f, x->host, false, NULL,
			       rs_audit_text(a, "cma_roce_tos -d %s -t %d", nic, x->c.tc),
			       "cma_roce_tos -d %s -t %d", nic, dscp * 4);
		return;
	}
	variable = x->kind == RS_QP_GIN ? "NCCL_GIN_IB_TC" : "NCCL_IB_TC";
	set = rs_nccl_env(a, x->host, variable);
	rs_finding_fix(a, f, "all hosts of the job", true, NULL,
		       set ? rs_audit_text(a, "%s=%s", variable, set->value)
			   : rs_audit_text(a, "unset %s", variable),
		       "%s=%d  # DSCP %d", variable, dscp * 4, dscp);
	if (x->kind == RS_QP_VERBS && x->c.tc_fact && !strcmp(x->c.tc_fact->name, "tclass"))
		override_fix(a, f, x, dscp);
}

static void host_fixes(struct rs_audit *a, struct rs_finding *f, const struct chain *x)
{
	int mask = rs_qos_pfc_mask(a, x->host, x->port.netdev);
	const char *nd = x->port.netdev;

	if (x->c.untagged) {
		rs_finding_fix(a, f, x->host, false, NULL,
			       rs_audit_text(a, "mlnx_qos -i %s --trust pcp", nd),
			       "mlnx_qos -i %s --trust dscp", nd);
		if (x->c.dscp > 0)
			return;
		rs_finding_choice(f);
	}
	if (mask > 0) {
		mark_fix(a, f, x, rs_qos_lossless_dscp(a, x->host, nd, mask));
		if (x->c.priority > 0) {
			rs_finding_choice(f);
			rs_finding_fix(a, f, x->host, false, NULL,
				       rs_audit_text(a, "mlnx_qos -i %s --dscp2prio del,%d,%d", nd,
						     x->c.dscp, __builtin_ctz((unsigned)mask)),
				       "mlnx_qos -i %s --dscp2prio set,%d,%d", nd, x->c.dscp,
				       __builtin_ctz((unsigned)mask));
		}
		return;
	}
	rs_finding_fix(a, f, x->host, false, "a few lost packets",
		       rs_audit_text(a, "mlnx_qos -i %s --pfc 0,0,0,0,0,0,0,0", nd),
		       "mlnx_qos -i %s --pfc %d,%d,%d,%d,%d,%d,%d,%d", nd, x->c.priority == 0,
		       x->c.priority == 1, x->c.priority == 2, x->c.priority == 3,
		       x->c.priority == 4, x->c.priority == 5, x->c.priority == 6,
		       x->c.priority == 7);
}

/* Marked as the switch wants it, the host's own map must lead there too. */
static void host_follows(struct rs_audit *a, struct rs_finding *f, const struct chain *x, int dscp)
{
	const char *nd = x->port.netdev, *subject = rs_audit_text(a, "netdev/%s", nd);
	int64_t is = dscp / 8;

	rs_facts_number(a->facts, x->host, subject, rs_audit_text(a, "dscp_to_prio/%d", dscp), &is);
	if (x->c.lossless == 1 && is != x->c.priority)
		rs_finding_fix(
			a, f, x->host, false, NULL,
			rs_audit_text(a, "mlnx_qos -i %s --dscp2prio set,%d,%d", nd, dscp, (int)is),
			"mlnx_qos -i %s --dscp2prio set,%d,%d", nd, dscp, x->c.priority);
}

static void switch_fixes(struct rs_audit *a, struct rs_finding *f, const struct chain *x,
			 const struct rs_hop_view *v, const struct rs_hop *h)
{
	const char *sw = v->sw;
	int lossless = -1, lossless_tc = -1;

	if (h->untrusted) {
		rs_hop_fix_trust(a, f, sw, v->port);
		return;
	}
	for (int d = 0; d < 64 && lossless < 0; d++) {
		struct rs_hop other;

		rs_hop_find(v, d, &other);
		if (other.lossless == 1 && !other.inferred) {
			lossless = d;
			lossless_tc = other.tc;
		}
	}
	/* the class is the lossless one, but PFC is off for it */
	if (lossless < 0 && h->group >= 0 && !h->inferred)
		rs_hop_fix_pfc(a, f, sw, v->port, h->group, x->c.dscp);
	else if (lossless >= 0 && lossless_tc == h->tc)
		rs_hop_fix_pfc(a, f, sw, v->port, h->group, x->c.dscp);
	else if (lossless_tc >= 0)
		rs_hop_fix_class(a, f, sw, v->port, x->c.dscp, lossless_tc);
	else if (!strcmp(rs_hop_os(a, sw), "Cumulus"))
		rs_finding_fix(a, f, sw, true, "buffers are reprogrammed: a few lost packets",
			       "nv unset qos roce; nv config apply",
			       "nv set qos roce mode lossless; nv config apply");
	if (lossless >= 0 && lossless != x->c.dscp) {
		rs_finding_choice(f);
		mark_fix(a, f, x, lossless);
		host_follows(a, f, x, lossless);
	}
}

static struct rs_finding *chain_finding(struct rs_audit *a, const struct rs_rule *r,
					const struct chain *x, enum rs_verdict v, const char *title)
{
	struct rs_finding *f = rs_finding_new(a, r, v, RS_CRITICAL, "%s", title);

	rs_finding_subject(a, f, x->host, *x->port.nic ? x->port.nic : x->port.netdev);
	host_stages(a, f, x);
	return f;
}

static void chain_broken_at_host(struct rs_audit *a, const struct rs_rule *r, const struct chain *x)
{
	struct rs_finding *f = chain_finding(
		a, r, x, RS_FAIL,
		rs_audit_text(a,
			      "%s send DSCP %d, which is priority %d here, and PFC is off for it",
			      rs_qp_kinds[x->kind], x->c.dscp, x->c.priority));

	if (f && (x->c.map_inferred || !x->c.tc_fact))
		f->confidence = RS_MEDIUM;
	rs_finding_why(
		a, f,
		"RoCE traffic in a lossy priority is dropped when a queue fills; each loss costs "
		"a go-back-N or a timeout, though another priority is lossless");
	host_fixes(a, f, x);
}

/* Is this priority protected on other ports of the switch? Then one port lacks it. */
static bool in_use(const struct rs_audit *a, const char *sw, int priority)
{
	struct rs_hop_site site;

	rs_hop_site(a, sw, &site);
	return priority < RS_HOP_PRIORITIES && site.mask >> priority & 1;
}

static const char *broken_title(struct rs_audit *a, const struct chain *x, const char *sw,
				const struct rs_hop *h)
{
	const char *who =
		rs_audit_text(a, "%sDSCP %d%s", x->c.lossless == 1 ? "the host protects " : "",
			      x->c.dscp, x->c.lossless == 1 ? " with PFC" : "");

	if (h->untrusted)
		return rs_audit_text(a, "%s, but %s does not look at the DSCP there", who, sw);
	if (h->group >= 0 && in_use(a, sw, h->group))
		return rs_audit_text(a, "%s%s %s has PFC off for its priority %d on a port", who,
				     x->c.lossless == 1 ? ", but" : ":", sw, h->group);
	return rs_audit_text(a, "%s%s %s puts it in TC %d, which is lossy there", who,
			     x->c.lossless == 1 ? ", but" : ":", sw, h->tc);
}

/* Returns whether a switch was seen to break it. */
static bool chain_at_switches(struct rs_audit *a, const struct rs_rule *r, const struct chain *x,
			      unsigned *seen)
{
	bool broken = false;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *sw = rs_facts_host(a->facts, i);
		struct rs_finding *f;
		struct rs_hop_view v;
		struct rs_hop h;
		unsigned n;

		if (!rs_facts_is_switch(a->facts, sw) || !switch_hop(a, sw, x->c.dscp, &h, &v, &n))
			continue;
		++*seen;
		if (h.lossless != 0)
			continue;
		broken = true;
		f = chain_finding(a, r, x, RS_FAIL, broken_title(a, x, sw, &h));
		if (f && (h.inferred || (h.untrusted && !v.trust)))
			f->confidence = RS_MEDIUM;
		rs_finding_subject(a, f, sw, rs_hop_name(v.port));
		rs_finding_stage(a, f, sw, "class", RS_FAIL, "%s on %u port%s", class_text(a, &h),
				 n, n == 1 ? "" : "s");
		rs_finding_fact(f, v.trust);
		rs_finding_fact(f, h.map);
		rs_finding_fact(f, h.pfc);
		rs_finding_why(a, f,
			       "PFC protects a class, not a number: both ends may pause the same "
			       "priority while this traffic is in another");
		switch_fixes(a, f, x, &v, &h);
	}
	return broken;
}

/* The host's buffer of the priority, as far as it was printed; R08 judges its size. */
static void buffer_stage(struct rs_audit *a, struct rs_finding *f, const struct chain *x)
{
	const char *subject = rs_audit_text(a, "netdev/%s", x->port.netdev), *buffer, *size;

	buffer = rs_facts_value(a->facts, x->host, subject,
				rs_audit_text(a, "prio_buffer/%d", x->c.priority));
	size = buffer ? rs_facts_value(a->facts, x->host, subject,
				       rs_audit_text(a, "buffer_size/%s", buffer))
		      : NULL;
	rs_finding_stage(a, f, x->host, "buffer", buffer ? RS_PASS : RS_UNKNOWN, "%s%s%s%s",
			 buffer ? buffer : "not known", size ? " of " : "", size ? size : "",
			 size ? " B" : "");
	if (!buffer)
		rs_finding_need(a, f, rs_audit_text(a, "dcb buffer show dev %s", x->port.netdev),
				"the buffer of the priority");
}

/* What each switch makes of it, where nothing breaks the chain. */
static void switch_stages(struct rs_audit *a, struct rs_finding *f, const struct chain *x)
{
	for (uint32_t i = 0; f && i < rs_facts_hosts(a->facts); i++) {
		const char *sw = rs_facts_host(a->facts, i);
		struct rs_hop_view v;
		struct rs_hop h;
		unsigned n;

		if (!rs_facts_is_switch(a->facts, sw) || !switch_hop(a, sw, x->c.dscp, &h, &v, &n))
			continue;
		rs_finding_stage(a, f, sw, "class", h.lossless == 1 ? RS_PASS : RS_UNKNOWN,
				 "%s on %u port%s", class_text(a, &h), n, n == 1 ? "" : "s");
		rs_finding_stage(a, f, sw, "queue", h.ecn < 0 ? RS_UNKNOWN : RS_PASS, "%d, %s",
				 h.queue,
				 h.ecn == 1   ? "marks ECN"
				 : h.ecn == 0 ? "does not mark (S04)"
					      : "marking not known");
		rs_finding_fact(f, h.map);
	}
}

static void chain_judge(struct rs_audit *a, const struct rs_rule *r, struct chain *x)
{
	unsigned switches = 0;
	struct rs_finding *f;

	if (x->c.lossless == 0 && rs_qos_any_lossless(a)) {
		chain_broken_at_host(a, r, x);
		return;
	}
	if (x->c.lossless == 0) {
		f = chain_finding(a, r, x, RS_NA,
				  "no priority is lossless on anything that was seen: a lossy "
				  "fabric, or PFC forgotten everywhere");
		return;
	}
	if (x->c.dscp >= 0 && chain_at_switches(a, r, x, &switches))
		return;
	if (x->c.lossless < 0) {
		f = chain_finding(a, r, x, RS_UNKNOWN, "the chain cannot be followed at the host");
		if (x->c.tc < 0)
			rs_finding_need(a, f,
					"the job's environment, or "
					"/sys/class/infiniband/<dev>/tc/1/traffic_class",
					"the traffic class");
		if (!x->c.trust || !x->c.pfc)
			rs_finding_need(a, f, rs_audit_text(a, "mlnx_qos -i %s", x->port.netdev),
					"trust, DSCP map and PFC");
		return;
	}
	f = chain_finding(a, r, x, RS_PASS,
			  rs_audit_text(a, "%s: DSCP %d is lossless as far as seen",
					rs_qp_kinds[x->kind], x->c.dscp));
	buffer_stage(a, f, x);
	switch_stages(a, f, x);
	if (!switches)
		rs_finding_need(a, f, "the switches' configuration", "what they do with the DSCP");
}

static bool same_chain(const struct chain *a, const struct chain *b)
{
	/* the same class by another way is the same chain; GIN's QPs are told apart */
	return (a->kind == RS_QP_GIN) == (b->kind == RS_QP_GIN) && a->c.tc == b->c.tc &&
	       a->c.priority == b->c.priority && a->c.lossless == b->c.lossless &&
	       a->c.untagged == b->c.untagged;
}

/* One finding a cause: NICs that are alike are one, the rest are named in its subjects. */
static void x01(struct rs_audit *a, const struct rs_rule *r)
{
	struct chain group[GROUPS];
	unsigned n = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[PORTS];
		unsigned ports = rs_qos_ports(a, host, port, PORTS);

		for (unsigned p = 0; p < ports; p++)
			for (int kind = 0; kind < RS_QP_KINDS; kind++) {
				struct chain x = {.host = host,
						  .port = port[p],
						  .kind = (enum rs_qp_kind)kind};
				unsigned g = 0;

				if (!rs_qos_class(a, host, x.port.nic, x.port.netdev, x.kind, &x.c))
					continue;
				/* 0 is what configfs has where nobody set it, and NCCL does not
				 * use RDMA-CM: R05 mentions it */
				if (x.kind == RS_QP_CM && !x.c.tc)
					continue;
				while (g < n && !same_chain(&group[g], &x))
					g++;
				if (g < n || n == GROUPS)
					continue;
				group[n++] = x;
			}
	}
	for (unsigned g = 0; g < n; g++)
		chain_judge(a, r, &group[g]);
}

/* ---- X03: hosts that should be alike ---- */

static void qos_text(const struct rs_audit *a, const char *host, const struct rs_qos_port *p,
		     char *out, size_t size, const struct rs_fact **fact)
{
	char subject[160];
	int mask = rs_qos_pfc_mask(a, host, p->netdev);
	struct rs_class c;

	snprintf(subject, sizeof(subject), "netdev/%s", p->netdev);
	*fact = rs_facts_get(a->facts, host, subject, "trust");
	rs_qos_class(a, host, p->nic, p->netdev, RS_QP_VERBS, &c);
	snprintf(out, size, "trust %s, PFC %s%x, traffic class %d, priority %d",
		 *fact ? (*fact)->value : "?", mask < 0 ? "?" : "0x", mask < 0 ? 0 : (unsigned)mask,
		 c.tc, c.untagged ? 0 : c.priority);
}

/* What more than half of three or more say; NULL: nobody knows which is meant. */
static const char *majority(const char *const *of, unsigned n)
{
	for (unsigned i = 0; n > 2 && i < n; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < n; k++)
			same += !strcmp(of[i], of[k]);
		if (2 * same > n)
			return of[i];
	}
	return NULL;
}

/* A setting that some hosts print and others do not: only those that do are compared. */
static void x03_setting(struct rs_audit *a, const struct rs_rule *r, const char *name,
			const char *what)
{
	const struct rs_fact *of[GROUPS], *f;
	const char *text[GROUPS], *usual;
	struct rs_finding *finding;
	unsigned n = 0, kinds = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && n < GROUPS; i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[PORTS];

		/* as above, a host's first NIC stands for it */
		if (rs_facts_is_switch(a->facts, host) || !rs_qos_ports(a, host, port, PORTS))
			continue;
		f = rs_facts_get(a->facts, host, rs_audit_text(a, "netdev/%s", port[0].netdev),
				 name);
		if (!f)
			continue;
		of[n] = f;
		text[n++] = f->value;
	}
	for (unsigned i = 1; i < n; i++)
		kinds += strcmp(text[i], text[0]) != 0;
	if (!kinds)
		return;
	usual = majority(text, n);
	finding = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "%s differs between hosts of the job",
				 what);
	for (unsigned i = 0; i < n; i++) {
		if (usual && !strcmp(text[i], usual))
			continue;
		rs_finding_subject(a, finding, of[i]->host, of[i]->subject + 7);
		rs_finding_fact(finding, of[i]);
	}
}

/* One host's QoS was read; other hosts with RDMA devices are there, and theirs was not. */
static void x03_unseen(struct rs_audit *a, const struct rs_rule *r, const char *known)
{
	const char *blind = NULL;
	struct rs_finding *f;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);

		if (!blind && strcmp(host, known) && !rs_facts_is_switch(a->facts, host) &&
		    rs_look_has_rdma(a, host))
			blind = host;
	}
	if (!blind)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
			   "trust and PFC of %s are known, those of %s are not", known, blind);
	rs_finding_subject(a, f, blind, NULL);
	rs_finding_need(a, f, "mlnx_qos -i <netdev>, or dcb app and dcb pfc",
			"whether both ends classify alike");
}

static void x03(struct rs_audit *a, const struct rs_rule *r)
{
	const char *of[GROUPS] = {NULL}, *who[GROUPS], *dev[GROUPS];
	const char *usual;
	const struct rs_fact *fact[GROUPS];
	unsigned n = 0, kinds = 0, hosts = 0;
	struct rs_finding *f;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && n < GROUPS; i++) {
		struct rs_qos_port port[PORTS];
		const char *host = rs_facts_host(a->facts, i);
		char text[256];

		/* a host's NICs are judged against each other by X01; here the first stands for it
		 */
		if (rs_facts_is_switch(a->facts, host) || !rs_qos_ports(a, host, port, PORTS))
			continue;
		hosts++;
		qos_text(a, host, &port[0], text, sizeof(text), &fact[n]);
		who[n] = host;
		dev[n] = rs_audit_text(a, "%s", port[0].netdev);
		of[n++] = rs_audit_text(a, "%s", text);
	}
	for (unsigned i = 1; i < n; i++)
		kinds += strcmp(of[i], of[0]) != 0;
	if (hosts == 1)
		x03_unseen(a, r, who[0]);
	if (hosts < 2)
		return;
	x03_setting(a, r, "cnp_dscp", "the DSCP of CNPs");
	x03_setting(a, r, "cable_m", "the cable length that headroom is made for");
	usual = majority(of, n);
	f = rs_finding_new(a, r, kinds ? RS_FAIL : RS_PASS, RS_CRITICAL,
			   kinds ? "hosts that talk to each other classify RoCE traffic differently"
				 : "trust, PFC and traffic class are alike on %u hosts",
			   hosts);
	for (unsigned i = 0; i < n; i++) {
		/* with a majority the odd ones out; without, all */
		if (kinds && usual && !strcmp(of[i], usual))
			continue;
		rs_finding_subject(a, f, who[i], dev[i]);
		rs_finding_fact(f, fact[i]);
		if (kinds)
			rs_finding_stage(a, f, who[i], dev[i],
					 usual && strcmp(of[i], usual) ? RS_FAIL : RS_NA, "%s",
					 of[i]);
	}
	if (!kinds)
		return;
	rs_finding_why(
		a, f,
		"what one end marks and protects, the other end does not: one direction of every "
		"connection is lossy");
	for (unsigned i = 0; i < n; i++)
		if (fact[i] && !strcasecmp(fact[i]->value, "pcp"))
			rs_finding_fix(a, f, who[i], false, NULL,
				       rs_audit_text(a, "mlnx_qos -i %s --trust pcp", dev[i]),
				       "mlnx_qos -i %s --trust dscp", dev[i]);
}

const struct rs_rule rs_rules_fabric[] = {
	{
		.id = "X01",
		.name = "chain",
		.severity = RS_CRITICAL,
		.criterion = "The traffic class that QPs use leads, through DSCP, trust, map and "
			     "PFC of the host "
			     "and each switch's map, to a lossless class everywhere.",
		.authority =
			"IEEE 802.1Q-2022 clause 36 (PFC); IBTA vol. 1 annex A17; NCCL's sources",
		.explain = "A packet's traffic class becomes a DSCP (its upper six bits). The "
			   "host's NIC "
			   "trusts it or not, maps it to a priority, and PFC protects priorities. "
			   "Each "
			   "switch has maps of its own. The traffic is lossless only if every map "
			   "on the "
			   "way leads it to a class for which PFC is on. Any consistent choice is "
			   "right: "
			   "26 on priority 3 is a habit. The check follows the chain for each kind "
			   "of QP, "
			   "since the kernel's traffic_class reaches those made by ib_verbs and "
			   "not those "
			   "that a library makes through DevX.",
		.run = x01,
	},
	{
		.id = "X03",
		.name = "qos-peers",
		.severity = RS_CRITICAL,
		.criterion =
			"Trust, DSCP map, PFC and traffic class are equal on all hosts of a job.",
		.authority =
			"IEEE 802.1Q-2022 clause 36: PFC acts hop by hop, so both ends must agree",
		.explain = "Both directions of a connection are classified by different machines: "
			   "data by the "
			   "sender's marking, and by the receiver's map for what comes back. A "
			   "host that differs "
			   "from its peers makes one direction lossy. With more than two hosts the "
			   "odd ones are "
			   "named; with two, both are.",
		.run = x03,
	},
	{0},
};
