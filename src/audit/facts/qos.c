/* From a traffic class to a priority: IBTA annex A17 (DSCP in the GRH's traffic class), 802.1Q, and
 * what NCCL and mlx5 do in between. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"

const char *const rs_qp_kinds[] = {"QPs of ib_verbs", "GIN QPs (DevX)", "RDMA-CM QPs"};

const char *rs_qos_netdev(const struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *f;
	char subject[160];
	const char *only = NULL;
	uint32_t at = 0;

	snprintf(subject, sizeof(subject), "nic/%s", nic);
	f = rs_facts_get(a->facts, host, subject, "netdev");
	if (f)
		return f->value;
	f = rs_facts_next(a->facts, &at, host, subject, "gid_netdev/");
	if (f && !strcmp(f->subject, subject))
		return f->value;
	for (at = 0; (f = rs_facts_next(a->facts, &at, host, "netdev/", "trust"));) {
		if (only && strcmp(only, f->subject))
			return NULL;
		only = f->subject;
	}
	return only ? only + 7 : NULL;
}

static const struct rs_fact *of_netdev(const struct rs_audit *a, const char *host,
				       const char *netdev, const char *fmt, int number)
{
	char subject[160], name[64];

	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	snprintf(name, sizeof(name), fmt, number);
	return rs_facts_get(a->facts, host, subject, name);
}

static const struct rs_fact *of_nic(const struct rs_audit *a, const char *host, const char *nic,
				    const char *name)
{
	char subject[160];

	snprintf(subject, sizeof(subject), "nic/%s", nic);
	return rs_facts_get(a->facts, host, subject, name);
}

static bool env_class(const struct rs_audit *a, const char *host, const char *name,
		      struct rs_class *c)
{
	const struct rs_fact *f = rs_nccl_env(a, host, name);

	if (!f || !f->numeric || f->number < 0 || f->number > 255)
		return false;
	c->tc = (int)f->number;
	c->tc_fact = f;
	c->tc_from = f->name;
	return true;
}

/* Does the job use GPU-initiated networking, whose QPs the kernel's override does not reach? */
static bool gin_used(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *on = rs_nccl_env(a, host, "NCCL_GIN_ENABLE");
	const struct rs_fact *type = rs_nccl_env(a, host, "NCCL_GIN_TYPE");

	if (on && on->numeric && !on->number)
		return false;
	return (on && on->numeric && on->number) || (type && type->numeric && type->number);
}

static void traffic_class(const struct rs_audit *a, const char *host, const char *nic,
			  enum rs_qp_kind kind, struct rs_class *c)
{
	const struct rs_fact *kernel = of_nic(a, host, nic, "tclass");

	if (kind == RS_QP_GIN) {
		if (env_class(a, host, "NCCL_GIN_IB_TC", c) || env_class(a, host, "NCCL_IB_TC", c))
			return;
		c->tc = 0;
		c->tc_from = "NCCL's default, NCCL_GIN_IB_TC and NCCL_IB_TC unset";
		return;
	}
	/* the kernel's override replaces what ib_modify_qp was asked for */
	if (kernel && kernel->numeric) {
		c->tc = (int)kernel->number;
		c->tc_fact = kernel;
		c->tc_from = "the kernel's traffic_class";
		return;
	}
	if (env_class(a, host, "NCCL_IB_TC", c))
		return;
	if (kernel || rs_nccl_env_seen(a, host)) {
		c->tc = 0;
		c->tc_fact = kernel;
		c->tc_from = rs_nccl_env_seen(a, host) ? "NCCL's default, NCCL_IB_TC unset"
						       : "the default, traffic_class unset";
	}
}

static void priority(const struct rs_audit *a, const char *host, const char *netdev,
		     struct rs_class *c)
{
	c->trust = of_netdev(a, host, netdev, "trust", 0);
	if (c->dscp < 0 || !c->trust)
		return;
	if (!strcasecmp(c->trust->value, "pcp")) {
		c->priority = 0;
		c->untagged = true;
		return;
	}
	c->map = of_netdev(a, host, netdev, "dscp_to_prio/%d", c->dscp);
	if (c->map && c->map->numeric) {
		c->priority = (int)c->map->number;
	} else {
		/* `--trust dscp` installs DSCP / 8 for all 64; a listing may leave rows out */
		c->priority = c->dscp / 8;
		c->map_inferred = true;
	}
}

bool rs_qos_class(const struct rs_audit *a, const char *host, const char *nic, const char *netdev,
		  enum rs_qp_kind kind, struct rs_class *c)
{
	*c = (struct rs_class){.tc = -1, .dscp = -1, .priority = -1, .lossless = -1};
	if (kind == RS_QP_GIN && !gin_used(a, host))
		return false;
	if (kind == RS_QP_CM) {
		const struct rs_fact *f = of_nic(a, host, nic, "cm_tos");

		if (!f)
			f = of_netdev(a, host, netdev, "cm_tos", 0);
		if (!f || !f->numeric)
			return false;
		c->tc = (int)f->number;
		c->tc_fact = f;
		c->tc_from = "default_roce_tos";
	} else {
		traffic_class(a, host, nic, kind, c);
	}
	if (c->tc >= 0)
		c->dscp = (c->tc & 255) >> 2; /* the low two bits are ECN */
	priority(a, host, netdev, c);
	if (c->priority >= 0) {
		c->pfc = of_netdev(a, host, netdev, "pfc/%d", c->priority);
		if (c->pfc && c->pfc->numeric)
			c->lossless = c->pfc->number != 0;
	}
	return true;
}

int rs_qos_pfc_mask(const struct rs_audit *a, const char *host, const char *netdev)
{
	char subject[160], name[] = "pfc/0";
	int mask = -1;

	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	for (int p = 0; p < 8; p++, name[4]++) {
		const struct rs_fact *f = rs_facts_get(a->facts, host, subject, name);

		if (!f || !f->numeric)
			continue;
		mask = mask < 0 ? 0 : mask;
		mask |= f->number ? 1 << p : 0;
	}
	return mask;
}

int rs_qos_lossless_dscp(const struct rs_audit *a, const char *host, const char *netdev, int mask)
{
	char subject[160];
	const struct rs_fact *f;
	uint32_t at = 0;
	int inferred = -1;

	if (mask <= 0)
		return -1;
	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	while ((f = rs_facts_next(a->facts, &at, host, subject, "dscp_to_prio/")))
		if (!strcmp(f->subject, subject) && f->numeric && mask >> f->number & 1) {
			int dscp = 0;

			sscanf(f->name, "dscp_to_prio/%d", &dscp);
			/* 26 is what most sites mark, where the map leaves the choice */
			if (dscp == 26 || inferred < 0)
				inferred = dscp;
		}
	for (int p = 0; inferred < 0 && p < 8; p++)
		if (mask >> p & 1)
			inferred = p * 8;
	return inferred;
}

int rs_qos_path_mtu(int64_t mtu)
{
	static const int sizes[] = {4096, 2048, 1024, 512, 256};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (mtu - 96 >= sizes[i])
			return sizes[i];
	return 0;
}

bool rs_qos_any_lossless(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const struct rs_fact *f;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "", "pfc/")))
			if (f->numeric && f->number)
				return true;
	}
	return false;
}

static bool has_port(const struct rs_qos_port *port, unsigned n, const char *netdev)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(port[i].netdev, netdev))
			return true;
	return false;
}

/* Does the job leave this device out? It is of storage or management then. */
static bool left_out(const struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");

	return hca && !rs_look_hca(hca->value, nic);
}

static bool has_qos(const struct rs_audit *a, const char *host, const char *netdev)
{
	return of_netdev(a, host, netdev, "trust", 0) || rs_qos_pfc_mask(a, host, netdev) >= 0;
}

/* all: those too that NCCL_IB_HCA does not name. */
static unsigned find_ports(const struct rs_audit *a, const char *host, struct rs_qos_port *port,
			   unsigned most, bool all)
{
	const char *skipped[64], *subject;
	unsigned n = 0, n_skipped = 0;
	uint32_t at = 0;

	while (n < most && (subject = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *netdev = rs_qos_netdev(a, host, subject + 4);

		if (!netdev || has_port(port, n, netdev) || !has_qos(a, host, netdev))
			continue;
		if (!all && left_out(a, host, subject + 4)) {
			if (n_skipped < 64)
				skipped[n_skipped++] = netdev;
			continue;
		}
		snprintf(port[n].nic, sizeof(port[n].nic), "%s", subject + 4);
		snprintf(port[n].netdev, sizeof(port[n].netdev), "%s", netdev);
		n++;
	}
	/* interfaces whose RDMA device nothing names */
	for (at = 0; n < most && (subject = rs_facts_subject(a->facts, &at, host, "netdev/"));) {
		bool skip = has_port(port, n, subject + 7) || !has_qos(a, host, subject + 7);

		for (unsigned k = 0; k < n_skipped; k++)
			skip |= !strcmp(skipped[k], subject + 7);
		if (skip)
			continue;
		port[n].nic[0] = '\0';
		snprintf(port[n].netdev, sizeof(port[n].netdev), "%s", subject + 7);
		n++;
	}
	return n;
}

unsigned rs_qos_ports(const struct rs_audit *a, const char *host, struct rs_qos_port *port,
		      unsigned most)
{
	unsigned n = find_ports(a, host, port, most, false);

	/* a list of devices that this host does not have tells nothing of it */
	return n ? n : find_ports(a, host, port, most, true);
}
