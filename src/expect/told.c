/* What several tools tell of a port in ways of their own: its rate, and whether it is InfiniBand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "base/units.h"
#include "expect/state.h"

/* ---- Which subjects are of this NIC ---- */

/* lspci alone names no RDMA device: then what all devices of the host, of which no place on PCI is
 * known, have in common is this one's. */
static bool may_be_of(struct rs_expect *x, const char *host, const struct rs_part *p,
		      const char *nic)
{
	char own[160], pci[160];

	snprintf(own, sizeof(own), "nic/%s", p->name);
	if (rs_look_any(x->audit, host, own, ""))
		return !strcmp(nic, own);
	return !rs_look_pci_of(x->audit, host, nic, pci, sizeof(pci)) && strcmp(nic, "nic/unnamed");
}

/* ---- The rate ---- */

/* Gb/s of a lane by InfiniBand's names (IBTA vol. 1 release 1.7, table of link speeds). */
static double lane(const char *name)
{
	static const struct {
		const char *name;
		double gbps;
	} of[] = {{"SDR", 2.5}, {"DDR", 5},  {"QDR", 10},  {"FDR10", 10}, {"FDR", 14},
		  {"EDR", 25},  {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

	name += !strncasecmp(name, "IB-", 3) ? 3 : 0;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcasecmp(name, of[i].name))
			return of[i].gbps;
	return 0;
}

/* ibv_devinfo -v: lanes times their rate ("4X", "50.0 Gbps"); mlxlink: "200G", "IB-NDR" and "4x" */
static double of_tools(const struct rs_facts *facts, const char *host, const char *nic)
{
	const char *speed = rs_facts_value(facts, host, nic, "active_speed");
	const char *width = rs_facts_value(facts, host, nic, "active_width");
	char *end;
	double gbps;

	if (speed && width)
		return strtod(speed, NULL) * strtod(width, NULL);
	speed = rs_facts_value(facts, host, nic, "link/speed");
	width = rs_facts_value(facts, host, nic, "link/width");
	if (!speed)
		return 0;
	gbps = strtod(speed, &end);
	if (gbps > 0)
		return *end == 'G' ? gbps : 0;
	return lane(speed) * (width ? atoi(width) : 4);
}

static double of_nic(struct rs_expect *x, const char *host, const char *nic)
{
	int64_t rate = rs_look_port_rate(x->audit, host, nic);

	return rate > 0 ? (double)rate : of_tools(x->audit->facts, host, nic);
}

/* Interfaces of a host without a known RDMA device; 0: none has a rate, or they differ. */
static double of_interfaces(struct rs_expect *x, const char *host)
{
	const char *dev;
	uint32_t at = 0;
	double rate = 0;

	while ((dev = rs_facts_subject(x->audit->facts, &at, host, "netdev/"))) {
		int64_t mbps = rs_look_number(x->audit, host, dev, "speed_mbps", 0);
		char pci[160];

		if (mbps <= 0 || mbps >= INT32_MAX ||
		    rs_look_pci_of(x->audit, host, dev, pci, sizeof(pci)))
			continue;
		if (rate > 0 && (double)mbps / 1e3 != rate)
			return 0;
		rate = (double)mbps / 1e3;
	}
	return rate;
}

int64_t expect_told_rate(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	double rate = 0;
	bool any = false;
	uint32_t at = 0;
	const char *nic;

	while ((nic = rs_facts_subject(x->audit->facts, &at, host, "nic/"))) {
		double own = may_be_of(x, host, p, nic) ? of_nic(x, host, nic) : 0;

		any |= may_be_of(x, host, p, nic);
		if (own > 0 && rate > 0 && own != rate)
			return 0;
		rate = own > 0 ? own : rate;
	}
	if (!any)
		rate = of_interfaces(x, host);
	return rate >= 1 && rate <= 3200 ? (int64_t)(rate * 1e9 + 0.5) : 0;
}

/* ---- InfiniBand or Ethernet ---- */

/* "ib0", "ibs2", "ibp24s0": the kernel's names of IPoIB; "ibft0" is none. */
static bool ipoib(const char *netdev)
{
	return !strncmp(netdev, "ib", 2) && strspn(netdev + 2, "0123456789sp") > 0;
}

static const char *by_log(const struct rs_facts *facts, const char *host, const char *name)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(facts, &at, host, "nccl", "using/"))) {
		char layer[64];

		snprintf(layer, sizeof(layer), "using_layer/%s", f->name + strlen("using/"));
		if (!strcmp(f->value, name))
			return rs_facts_value(facts, host, "nccl", layer);
	}
	return NULL;
}

/* Its own word; a GID of RoCE v2; NCCL's; mlxlink's name of the speed; its interface's. */
static const char *of_device(struct rs_expect *x, const char *host, const char *nic)
{
	const struct rs_facts *facts = x->audit->facts;
	const char *v = rs_facts_value(facts, host, nic, "link_layer");
	const struct rs_fact *f;
	uint32_t at = 0;

	if (v)
		return v;
	while ((f = rs_facts_next(facts, &at, host, nic, "gid_type/")))
		if (!strcmp(f->subject, nic) && strstr(f->value, "v2"))
			return "Ethernet";
	v = by_log(facts, host, nic + strlen("nic/"));
	if (v)
		return !strcmp(v, "IB") ? "InfiniBand" : "Ethernet";
	v = rs_facts_value(facts, host, nic, "link/speed");
	if (v && (lane(v) > 0 || strtol(v, NULL, 10) > 0))
		return lane(v) > 0 ? "InfiniBand" : "Ethernet";
	v = rs_facts_value(facts, host, nic, "netdev");
	return !v ? NULL : ipoib(v) ? "InfiniBand" : "Ethernet";
}

/* The class of a PCI function follows the port's type: a card of both kinds tells its own. */
static const char *by_class(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	const struct rs_facts *facts = x->audit->facts;
	const char *v;
	char pci[160];

	snprintf(pci, sizeof(pci), "nic/%s", p->name);
	if (p->busid)
		snprintf(pci, sizeof(pci), "pci/%s", p->busid);
	else if (!rs_look_pci_of(x->audit, host, pci, pci, sizeof(pci)))
		return NULL;
	v = rs_facts_value(facts, host, pci, "class");
	v = v ? v : rs_facts_value(facts, host, pci, "lspci");
	if (!v)
		return NULL;
	if (strcasestr(v, "infiniband controller") || !strncmp(v, "0x0207", 6))
		return "InfiniBand";
	return strcasestr(v, "ethernet controller") || !strncmp(v, "0x0200", 6) ? "Ethernet" : NULL;
}

const char *expect_told_layer(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	const char *layer = NULL, *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(x->audit->facts, &at, host, "nic/"))) {
		const char *own = may_be_of(x, host, p, nic) ? of_device(x, host, nic) : NULL;

		if (own && layer && strcasecmp(own, layer))
			return by_class(x, host, p);
		layer = own ? own : layer;
	}
	if (!layer)
		layer = by_log(x->audit->facts, host, p->name);
	if (layer)
		return strncasecmp(layer, "I", 1) ? "Ethernet" : "InfiniBand";
	return by_class(x, host, p);
}
