/* Rails in networks of their own, and whether NCCL needs to cross them: NVLink islands, PXN,
 * routes. NCCL's sources (graph/search.cc, graph/paths.cc); RFC 1812 5.2.4 (longest prefix). */
#include "audit/rules/rails.h"
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/rules/rule.h"

enum { RAILS = 32, GPUS = 32 };

/* GPUs that NVLink does not join are islands of their own. */
unsigned rs_rails_islands(const struct rs_audit *a, const char *host, unsigned *gpus)
{
	unsigned island[GPUS], n = 0, top = 0;
	const struct rs_fact *f;
	uint32_t at = 0;

	for (unsigned i = 0; i < GPUS; i++)
		island[i] = i;
	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		unsigned x, y;

		if (sscanf(f->name, "distance/GPU%u/GPU%u", &x, &y) != 2 || x >= GPUS || y >= GPUS)
			continue;
		top = x >= top ? x + 1 : top;
		if (strncmp(f->value, "NV", 2))
			continue;
		for (unsigned i = 0, from = island[x], to = island[y]; i < GPUS; i++)
			if (island[i] == from)
				island[i] = to;
	}
	for (unsigned i = 0; i < top; i++) {
		bool first = true;

		for (unsigned k = 0; k < i; k++)
			first &= island[k] != island[i];
		n += first;
	}
	*gpus = top;
	return n;
}

struct rail {
	const char *nic, *netdev;
	uint32_t net, mask;
	const struct rs_fact *address;
};

static bool network(const char *cidr, uint32_t *net, uint32_t *mask)
{
	unsigned b[4], bits;

	if (sscanf(cidr, "%u.%u.%u.%u/%u", &b[0], &b[1], &b[2], &b[3], &bits) != 5 || bits > 32 ||
	    b[0] > 255 || b[1] > 255 || b[2] > 255 || b[3] > 255)
		return false;
	*mask = bits ? UINT32_MAX << (32 - bits) : 0;
	*net = (b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]) & *mask;
	return true;
}

static const char *cidr(struct rs_audit *a, const struct rail *r)
{
	return rs_audit_text(a, "%u.%u.%u.%u/%d", r->net >> 24, r->net >> 16 & 255,
			     r->net >> 8 & 255, r->net & 255, __builtin_popcount(r->mask));
}

/* Does the job use this device? By NCCL_IB_HCA, the devices that its log lists, or a GPU's
 * neighbour. */
static bool used(struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA"), *f;
	uint32_t at = 0;
	int near;

	if (hca)
		return rs_look_hca(hca->value, nic);
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "using/")))
		if (!strcmp(f->value, nic))
			return true;
	if (rs_facts_get(a->facts, host, "nccl", "using/0"))
		return false;
	near = rs_look_nearest(a, host, rs_audit_text(a, "nic/%s", nic));
	return near > 0 && near <= RS_PXB;
}

/* blind: RoCE devices of the job whose address is not known. */
static unsigned find_rails(struct rs_audit *a, const char *host, struct rail *rail, unsigned *blind)
{
	const char *nic;
	unsigned n = 0;
	uint32_t at = 0;

	*blind = 0;
	while (n < RAILS && (nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
		const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
		const struct rs_fact *address = NULL;
		char subject[128];

		if (!used(a, host, nic + 4))
			continue;
		if (netdev) {
			snprintf(subject, sizeof(subject), "netdev/%s", netdev);
			address = rs_facts_get(a->facts, host, subject, "address");
		}
		if (!address || !network(address->value, &rail[n].net, &rail[n].mask)) {
			*blind += layer && !strcmp(layer, "Ethernet");
			continue;
		}
		rail[n].nic = nic + 4;
		rail[n].netdev = netdev;
		rail[n++].address = address;
	}
	return n;
}

/* "route/10.0.0.0/8", "route/default", "route/10.0.0.0" with "mask 255.0.0.0" in its value */
static bool destination(const struct rs_fact *route, uint32_t *net, uint32_t *mask)
{
	const char *to = route->name + strlen("route/"), *m = strstr(route->value, "mask ");
	unsigned b[4];

	if (!strcmp(to, "default") || !strcmp(to, "0.0.0.0") || !strcmp(to, "0.0.0.0/0")) {
		*net = *mask = 0;
		return true;
	}
	if (network(to, net, mask))
		return true;
	if (sscanf(to, "%u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]) != 4)
		return false;
	*net = b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
	*mask = UINT32_MAX;
	if (m && sscanf(m, "mask %u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]) == 4)
		*mask = b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
	return true;
}

/* Is there a way from one rail to another by a gateway? A queue pair leaves by its GID's own
 * interface, so a default route by the management port leads nowhere. */
static bool routed(const struct rs_audit *a, const char *host, const struct rail *rail, unsigned n)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "host", "route/"))) {
		const char *via = strstr(f->value, " via ");
		uint32_t net, mask;

		if (!via || !strncmp(via, " via 0.0.0.0", 12) || !destination(f, &net, &mask))
			continue;
		for (unsigned from = 0; from < n; from++) {
			size_t len = strlen(rail[from].netdev);

			if (strncmp(f->value, rail[from].netdev, len) || f->value[len] != ' ')
				continue;
			for (unsigned to = 0; to < n; to++)
				if (to != from && (rail[to].net & mask) == net)
					return true;
		}
	}
	/* a table of the rail's own, which the main one does not show */
	for (at = 0; (f = rs_facts_next(a->facts, &at, host, "host", "rule/"));)
		for (unsigned k = 0; k < n; k++) {
			size_t len = strcspn(rail[k].address->value, "/");

			if (!strncmp(f->value, "from ", 5) &&
			    !strncmp(f->value + 5, rail[k].address->value, len) &&
			    strchr(" /", f->value[5 + len]) && !strstr(f->value, "lookup main"))
				return true;
		}
	return false;
}

static bool is_on(const struct rs_fact *f)
{
	return f && f->numeric && f->number;
}

/* The router of a rail, where some route names it. */
static const char *gateway(struct rs_audit *a, const char *host, const struct rail *r)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "host", "route/"))) {
		char dev[64], via[64];

		if (sscanf(f->value, "%63s via %63s", dev, via) == 2 && !strcmp(dev, r->netdev) &&
		    strcmp(via, "0.0.0.0") != 0)
			return rs_audit_text(a, "%s", via);
	}
	return rs_audit_text(a, "<the router of %s>", cidr(a, r));
}

static void fixes(struct rs_audit *a, struct rs_finding *f, const char *host,
		  const struct rail *rail, unsigned n)
{
	for (unsigned k = 0; k < n && k < 8; k++) {
		const struct rail *to = &rail[(k + 1) % n];

		rs_finding_fix(
			a, f, host, false, NULL,
			rs_audit_text(a, "ip route del %s dev %s", cidr(a, to), rail[k].netdev),
			"ip route add %s via %s dev %s", cidr(a, to), gateway(a, host, &rail[k]),
			rail[k].netdev);
	}
	rs_finding_choice(f);
	rs_finding_fix(a, f, "all hosts of the job", true, NULL, "unset NCCL_NET_DISABLE_INTRA",
		       "NCCL_NET_DISABLE_INTRA=1");
}

void rs_rails_judge(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *pxn = rs_nccl_env(a, host, "NCCL_PXN_DISABLE");
	struct rail rail[RAILS];
	unsigned gpus, blind, n_islands = rs_rails_islands(a, host, &gpus);
	unsigned n = find_rails(a, host, rail, &blind);
	bool disjoint = n > 1;
	struct rs_finding *f;

	for (unsigned k = 1; k < n; k++)
		disjoint &= rail[k].net != rail[0].net;
	if (gpus < 2 || (n_islands < 2 && !is_on(pxn)))
		return;
	if (n < 2 && n + blind > 1) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "GPUs of this host use different rails and talk across them; "
				   "whether rails reach each other is not known");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_need(a, f, "ip addr, and ip route", "the rails' networks");
	}
	if (!disjoint)
		return;
	if (is_on(rs_nccl_env(a, host, "NCCL_NET_DISABLE_INTRA")) || routed(a, host, rail, n)) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "rails in disjoint networks, which are routed or not crossed");
		rs_finding_subject(a, f, host, NULL);
		return;
	}
	f = rs_finding_new(
		a, r, RS_FAIL, RS_CRITICAL,
		"%u rails in disjoint networks without a route between them, and %s: pairs "
		"of GPUs on different rails cannot connect",
		n,
		n_islands > 1 ? rs_audit_text(a, "%u NVLink islands a host", n_islands)
			      : "PXN is off");
	rs_finding_subject(a, f, host, NULL);
	for (unsigned k = 0; k < n; k++)
		rs_finding_fact(f, rail[k].address);
	rs_finding_fact(f, rs_facts_get(a->facts, host, "nccl", "nodes"));
	rs_finding_fact(f, rs_nccl_env(a, host, "NCCL_CROSS_NIC"));
	rs_finding_fact(f, is_on(pxn) ? pxn : NULL);
	rs_finding_why(a, f,
		       "GPUs of one host that NVLink does not join choose different NICs, so a "
		       "ring joins one rail of a host to another rail of the next; "
		       "NCCL_CROSS_NIC=0 governs the choice within a host only");
	fixes(a, f, host, rail, n);
	if (!rs_facts_get(a->facts, host, "host", "routes_seen")) {
		rs_finding_need(a, f, "ip route show table all", "whether the rails are routed");
		if (f)
			f->confidence = RS_MEDIUM;
	}
}
