/* Checks of what a job asks of its queue pairs: GID index and traffic class, by NCCL's release. The
 * port's own tables are R02's, the whole way of a class X01's. NCCL's sources (transport/net_ib).
 */
#include <stdio.h>
#include <string.h>
#include "audit/facts/gid.h"
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"
#include "audit/rules/rule.h"

enum { PORTS = 64 };

/* ---- N05 ---- */

/* Devices of the job with a table, and how many of them cannot use the index. */
struct tables {
	unsigned seen, bad;
	unsigned bare;         /* with a table, and no routable address in it */
	const char *first_bad; /* "nic/mlx5_0" */
};

static struct tables ask_tables(const struct rs_audit *a, const char *host, int index)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	struct tables t = {0};
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		struct rs_gid g = rs_gid_at(a, host, nic, index);

		/* a port without an address of its own is not part of the job */
		t.bare += rs_gid_table(a, host, nic) && rs_gid_best(a, host, nic) < 0 &&
			  !(hca && !rs_look_hca(hca->value, nic + 4));
		if (!rs_gid_table(a, host, nic) || rs_gid_best(a, host, nic) < 0 ||
		    (hca && !rs_look_hca(hca->value, nic + 4)))
			continue;
		t.seen++;
		if (rs_gid_usable(&g))
			continue;
		t.bad++;
		t.first_bad = t.first_bad ? t.first_bad : nic;
	}
	return t;
}

/* The job's devices that are known are all InfiniBand. */
static bool all_infiniband(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	const char *nic;
	uint32_t at = 0;
	bool any = false;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *l = rs_facts_value(a->facts, host, nic, "link_layer");

		if (!l || (hca && !rs_look_hca(hca->value, nic + 4)))
			continue;
		if (strcmp(l, "InfiniBand"))
			return false;
		any = true;
	}
	return any;
}

static void n05_bad(struct rs_audit *a, const struct rs_rule *r, const char *host,
		    const struct rs_fact *index, const struct tables *t, uint32_t release)
{
	int best = rs_gid_best(a, host, t->first_bad);
	struct rs_finding *f;

	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   index ? "NCCL_IB_GID_INDEX=%s is no routable RoCE v2 entry on %u of %u "
				   "devices"
				 : "NCCL_IB_GID_INDEX is not set, and this release takes %s, no "
				   "routable RoCE v2 entry on %u of %u devices",
			   index ? index->value : "0", t->bad, t->seen);
	rs_finding_subject(a, f, host, t->first_bad + 4);
	rs_finding_fact(f, index);
	rs_finding_fact(f, rs_gid_at(a, host, t->first_bad, best).gid);
	rs_finding_why(a, f, "an index is a place in a table of each port, not a kind of address");
	if (index && release >= rs_nccl_make(2, 21, 0))
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_IB_GID_INDEX=%s", index->value),
			       "unset NCCL_IB_GID_INDEX  # this release finds it");
	else if (rs_gid_fits_all(a, host, best))
		rs_finding_fix(a, f, host, true, NULL,
			       index ? rs_audit_text(a, "NCCL_IB_GID_INDEX=%s", index->value)
				     : "unset NCCL_IB_GID_INDEX",
			       "NCCL_IB_GID_INDEX=%d", best);
	else
		rs_finding_need(a, f, "show_gids",
				"an index that is RoCE v2 with an address on all rails");
}

static void n05_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *index = rs_nccl_env(a, host, "NCCL_IB_GID_INDEX"), *from;
	uint32_t release = rs_nccl_version(a, host, &from);
	bool chosen = !index || !index->numeric || index->number < 0;
	struct tables t = ask_tables(a, host, chosen ? 0 : (int)index->number);
	struct rs_finding *f;

	if (chosen && (!release || !t.seen))
		return; /* R02 asks for the release */
	if (chosen && release >= rs_nccl_make(2, 21, 0)) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "the index is left to NCCL, which finds a routable entry");
	} else if (!t.seen && all_infiniband(a, host)) {
		return; /* its GIDs have no types */
	} else if (!t.seen && t.bare) {
		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "NCCL_IB_GID_INDEX=%s: no device has a routable RoCE v2 GID",
				   index->value);
		rs_finding_why(a, f,
			       "the tables have link-local entries alone: the interfaces have no "
			       "address, or (in a container) are not in this namespace");
		rs_finding_need(a, f, "ip -br addr, beside show_gids",
				"whether the rails' interfaces have addresses here");
	} else if (!t.seen) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "NCCL_IB_GID_INDEX=%s: what it is on this host was not seen",
				   index->value);
		rs_finding_need(a, f, "show_gids", "the GID table of each port");
	} else if (t.bad) {
		n05_bad(a, r, host, chosen ? NULL : index, &t, release);
		return;
	} else {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "GID index %s is routable RoCE v2 on %u device%s",
				   chosen ? "0" : index->value, t.seen, t.seen == 1 ? "" : "s");
	}
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, index);
	rs_finding_fact(f, from);
}

static void n05(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		n05_host(a, r, rs_facts_host(a->facts, i));
}

/* ---- N06 ---- */

static const char *const kind_variable[RS_QP_KINDS] = {
	[RS_QP_VERBS] = "NCCL_IB_TC",
	[RS_QP_GIN] = "NCCL_GIN_IB_TC",
};

/* Was the class chosen by the job, or by leaving it out? The kernel's override is not the job's. */
static bool by_job(const struct rs_class *c)
{
	return c->tc >= 0 && (!c->tc_fact || strcmp(c->tc_fact->name, "tclass"));
}

static void n06_bad(struct rs_audit *a, const struct rs_rule *r, const char *host,
		    const struct rs_qos_port *port, int kind, const struct rs_class *c)
{
	int mask = rs_qos_pfc_mask(a, host, port->netdev);
	int dscp = rs_qos_lossless_dscp(a, host, port->netdev, mask);
	bool as_dscp = c->tc_fact && c->tc == dscp;
	struct rs_finding *f;

	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   "%s have traffic class %d (%s), DSCP %d, of lossy priority %d; DSCP %d "
			   "is lossless here",
			   rs_qp_kinds[kind], c->tc, c->tc_from, c->dscp, c->priority, dscp);
	rs_finding_subject(a, f, host, *port->nic ? port->nic : port->netdev);
	rs_finding_fact(f, c->tc_fact);
	rs_finding_fact(f, c->map);
	rs_finding_fact(f, c->pfc);
	rs_finding_why(a, f, "%s",
		       as_dscp ? "the variable takes the whole traffic class, which is four times "
				 "the DSCP"
			       : "the job's setting and the host's map do not belong together; "
				 "X01 shows the whole way");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL,
		       c->tc_fact ? rs_audit_text(a, "%s=%d", kind_variable[kind], c->tc)
				  : rs_audit_text(a, "unset %s", kind_variable[kind]),
		       "%s=%d  # DSCP %d", kind_variable[kind], dscp * 4, dscp);
}

/* Clear-to-send messages have a class of their own from 2.22.3 on, when it is set. */
static void n06_fifo(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_qos_port *port, const struct rs_class *data)
{
	const struct rs_fact *fifo = rs_nccl_env(a, host, "NCCL_IB_FIFO_TC");
	uint32_t release = rs_nccl_version(a, host, NULL);
	struct rs_finding *f;
	int64_t priority;
	int dscp;

	if (!fifo || !fifo->numeric || fifo->number < 0 || fifo->number > 255 ||
	    (release && release < rs_nccl_make(2, 22, 3)) || data->untagged)
		return;
	/* 0 means "as the data" up to 2.24.2 */
	if (!fifo->number && release && release < rs_nccl_make(2, 24, 3))
		return;
	dscp = (int)fifo->number >> 2;
	priority = rs_look_number(a, host, rs_audit_text(a, "netdev/%s", port->netdev),
				  rs_audit_text(a, "dscp_to_prio/%d", dscp), dscp / 8);
	if (data->lossless != 1 || rs_qos_pfc_mask(a, host, port->netdev) >> priority & 1)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "clear-to-send messages have DSCP %d, of lossy priority %lld; the data "
			   "is lossless",
			   dscp, (long long)priority);
	rs_finding_subject(a, f, host, *port->nic ? port->nic : port->netdev);
	rs_finding_fact(f, fifo);
	rs_finding_why(a, f, "a message that is lost here holds the data back for a timeout");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL,
		       rs_audit_text(a, "NCCL_IB_FIFO_TC=%s", fifo->value),
		       "unset NCCL_IB_FIFO_TC");
}

/* What the job says where the host's map was not seen. */
static void n06_unknown(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *tc = rs_facts_get(a->facts, host, "env", "NCCL_IB_TC");
	struct rs_finding *f;

	if (!tc || !tc->numeric)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
			   "NCCL_IB_TC=%lld is DSCP %lld; no host's map was seen",
			   (long long)tc->number, (long long)(tc->number & 255) >> 2);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, tc);
	rs_finding_need(a, f, "mlnx_qos -i <netdev>, or dcb app and dcb pfc",
			"which priority that is, and whether it is lossless");
}

static bool any_ports(const struct rs_audit *a)
{
	struct rs_qos_port port[1];

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i)) &&
		    rs_qos_ports(a, rs_facts_host(a->facts, i), port, 1))
			return true;
	return false;
}

static void n06_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct rs_qos_port port[PORTS];
	unsigned n = rs_qos_ports(a, host, port, PORTS), right = 0;
	bool told[RS_QP_KINDS] = {false};
	struct rs_class c, shown = {.tc = -1};
	struct rs_finding *f;

	for (unsigned p = 0; p < n; p++)
		for (int kind = RS_QP_VERBS; kind <= RS_QP_GIN; kind++) {
			if (told[kind] || !rs_qos_class(a, host, port[p].nic, port[p].netdev,
							(enum rs_qp_kind)kind, &c))
				continue;
			if (kind == RS_QP_VERBS && !p)
				n06_fifo(a, r, host, &port[p], &c);
			if (!by_job(&c) || c.untagged || c.lossless < 0)
				continue;
			if (c.lossless || rs_qos_pfc_mask(a, host, port[p].netdev) <= 0) {
				right += c.lossless == 1;
				shown = c.lossless == 1 ? c : shown;
				continue;
			}
			told[kind] = true;
			n06_bad(a, r, host, &port[p], kind, &c);
		}
	if (!right || told[RS_QP_VERBS] || told[RS_QP_GIN])
		return;
	f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
			   "traffic class %d, DSCP %d, leads to lossless priority %d", shown.tc,
			   shown.dscp, shown.priority);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, shown.tc_fact);
}

static void n06(struct rs_audit *a, const struct rs_rule *r)
{
	bool ports = any_ports(a);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);

		if (rs_facts_is_switch(a->facts, host))
			continue;
		if (ports)
			n06_host(a, r, host);
		else
			n06_unknown(a, r, host);
	}
}

const struct rs_rule rs_rules_job[] = {
	{
		.id = "N05",
		.name = "gid",
		.severity = RS_CRITICAL,
		.criterion = "The job's GID index is a routable RoCE v2 entry on each of its "
			     "devices, or is left to NCCL 2.21 and later.",
		.authority = "NCCL's sources (net_ib): 0 up to 2.20, chosen from 2.21.5 on",
		.explain = "The variable is one number for all hosts and ports; which entry has "
			   "that number depends on the order in which addresses came. R02 judges "
			   "each port and is the cause where both fail.",
		.run = n05,
	},
	{
		.id = "N06",
		.name = "tc",
		.severity = RS_CRITICAL,
		.criterion = "The traffic class that the job asks for, by kind of queue pair and "
			     "release, leads to a lossless priority of the host.",
		.authority = "NCCL's sources (NCCL_IB_TC, NCCL_IB_FIFO_TC from 2.22.3, "
			     "NCCL_GIN_IB_TC from 2.30.7); RFC 2474 (DSCP)",
		.explain = "NCCL_IB_TC is the whole octet: four times the DSCP; the low two bits "
			   "are ECN. The kernel's traffic_class overrides it, but not on the queue "
			   "pairs of GPU-initiated networking. X01 follows the class to the end "
			   "and is the cause where both fail.",
		.run = n06,
	},
	{0},
};
