/* A host's inside from facts: sockets by NUMA node, PCIe switches by their upstream ports, GPUs and
 * NICs with the links they run at. PCI Express Base Specification 1.3 (root port, switch). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/pcie.h"
#include "audit/price/model.h"

enum { ABOVE_MAX = 16, ROOT_PORT = 4, UPSTREAM = 5, DOWNSTREAM = 6 };

struct build {
	struct rs_audit *a;
	const char *host;
	struct rs_host *h;
	unsigned gpus;
	int err;
};

unsigned rs_audit_pcie_gen(int64_t tenths)
{
	for (unsigned g = 1; rs_pcie_speed(g); g++)
		if (tenths == rs_pcie_speed(g))
			return g;
	return 0;
}

static struct rs_part *add(struct build *b, enum rs_part_kind kind, const char *name)
{
	struct rs_host *h = b->h;
	unsigned n = (unsigned)h->n_parts;
	struct rs_part *p;

	if (b->err || n == RS_HOST_PARTS_MAX || !name) {
		b->err = b->err ? b->err : n == RS_HOST_PARTS_MAX ? -E2BIG : -ENOMEM;
		return NULL;
	}
	if (n < 16 ? !n : !(n & (n - 1))) {
		p = rs_arena_alloc(b->a->arena, n < 16 ? 16 : 2 * (size_t)n, sizeof(*p));
		if (!p) {
			b->err = -ENOMEM;
			return NULL;
		}
		if (n)
			memcpy(p, h->parts, n * sizeof(*p));
		h->parts = p;
	}
	p = &h->parts[h->n_parts++];
	*p = (struct rs_part){.name = name,
			      .kind = kind,
			      .parent = RS_NO_PART,
			      .parent2 = RS_NO_PART,
			      .numa = -1};
	return p;
}

static int find_bus(const struct rs_host *h, const char *busid)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].busid && !strcmp(h->parts[i].busid, busid))
			return i;
	return RS_NO_PART;
}

/* hwloc keeps a bandwidth alone: the oldest generation that has it with whole lanes up to 16 stands
 * for it, the rate is the same. An idle GPU's says nothing. */
static void link_of_bandwidth(const struct build *b, const char *pci, bool idles,
			      struct rs_pcie *up)
{
	static const double lane[] = {0.25, 0.5, 128 / 130.0, 256 / 130.0, 512 / 130.0, 7.375};
	const char *v = rs_facts_value(b->a->facts, b->host, pci, "link_gbytes");
	double gbytes = v && !idles ? strtod(v, NULL) : 0;

	for (uint8_t g = 0; g < 6 && gbytes > 0.2; g++)
		for (uint8_t lanes = 1; lanes <= 16; lanes *= 2)
			if (gbytes > 0.97 * lane[g] * lanes && gbytes < 1.03 * lane[g] * lanes) {
				up->gen = g + 1;
				up->lanes = lanes;
				return;
			}
}

/* What the link runs at; an idle GPU's slows down, so that its width and its best rate tell more.
 */
static struct rs_pcie link_of(const struct build *b, const char *pci, bool idles)
{
	int64_t speed = rs_look_number(b->a, b->host, pci, "link_speed", 0);
	int64_t width = rs_look_number(b->a, b->host, pci, "link_width", 0);
	int64_t best = rs_look_number(b->a, b->host, pci, "max_link_speed", 0);
	int64_t mps = rs_look_number(b->a, b->host, pci, "mps", 0);
	int64_t mrrs = rs_look_number(b->a, b->host, pci, "mrrs", 0);
	struct rs_pcie up;

	if (idles && best > speed)
		speed = best;
	/* 63 and 255 are what a link that is down shows */
	if (width < 1 || width > 32)
		width = 0;
	up = (struct rs_pcie){
		.gen = (uint8_t)rs_audit_pcie_gen(speed),
		.lanes = (uint8_t)width,
		.mps = mps >= 128 && mps <= 4096 ? (uint16_t)mps : 0,
		.mrrs = mrrs >= 128 && mrrs <= 4096 ? (uint16_t)mrrs : 0,
	};
	if (!up.gen && !up.lanes)
		link_of_bandwidth(b, pci, idles, &up);
	return up;
}

static int socket(struct build *b, int numa)
{
	char name[32];
	struct rs_part *p;

	for (int i = 0; i < b->h->n_parts; i++)
		if (b->h->parts[i].kind == RS_PART_SOCKET &&
		    (b->h->parts[i].numa == numa || numa < 0))
			return i;
	snprintf(name, sizeof(name), "socket%d", numa < 0 ? 0 : numa);
	p = add(b, RS_PART_SOCKET, rs_audit_text(b->a, "%s", name));
	if (!p)
		return RS_NO_PART;
	p->numa = numa;
	return b->h->n_parts - 1;
}

/* Is bridge i of those above a device, counted from the root, a switch's upstream port? Its
 * capability says so; else root port, upstream, downstream, upstream, ... follow one another.
 * NCCL's XML has one entry for a switch. */
static bool is_switch(const struct build *b, const char *bridge, unsigned from_root, bool whole)
{
	int64_t type = rs_look_number(b->a, b->host, bridge, "port_type", -1);

	if (type == ROOT_PORT || type == UPSTREAM || type == DOWNSTREAM)
		return type == UPSTREAM;
	return whole || from_root % 2 == 1;
}

/* XML says "root" where sysfs names the root complex's bus. */
static bool from_xml(const struct build *b, const char *topmost)
{
	const char *up = rs_facts_value(b->a->facts, b->host, topmost, "parent");

	return up && !strcmp(up, "root");
}

static int numa_of(const struct build *b, const char *pci, const char *const *above, unsigned n)
{
	int64_t numa = rs_look_number(b->a, b->host, pci, "numa_node", -1);

	for (unsigned i = 0; i < n && numa < 0; i++)
		numa = rs_look_number(b->a, b->host, above[i], "numa_node", -1);
	return numa >= 0 && numa < 1024 ? (int)numa : -1;
}

/* The part that a device hangs on: the nearest switch above it, made with those above that. */
static int attach(struct build *b, const char *pci, int *numa)
{
	const char *above[ABOVE_MAX];
	unsigned n = rs_look_above(b->a, b->host, pci, above, ABOVE_MAX);
	bool whole = n && from_xml(b, above[n - 1]);
	int parent;

	*numa = numa_of(b, pci, above, n);
	parent = socket(b, *numa);
	for (unsigned i = 0; i < n && parent != RS_NO_PART; i++) {
		const char *bridge = above[n - 1 - i];
		int have = find_bus(b->h, bridge + 4);
		struct rs_part *p;

		if (!is_switch(b, bridge, i, whole))
			continue;
		if (have == RS_NO_PART) {
			p = add(b, RS_PART_PCI_BRIDGE,
				rs_audit_text(b->a, "switch-%s", bridge + 4));
			if (!p)
				return RS_NO_PART;
			p->busid = bridge + 4;
			p->parent = parent;
			p->up = link_of(b, bridge, false);
			p->numa = *numa;
			have = b->h->n_parts - 1;
		}
		parent = have;
	}
	return parent;
}

/* Gb/s of the ports behind a function, in bits per second; 0: not known. */
static int64_t port_rate(const struct build *b, const char *pci, const char *netdev)
{
	int64_t rate = rs_look_rate(b->a, b->host, pci);

	if (!rate && netdev)
		rate = rs_look_number(b->a, b->host, netdev, "speed_mbps", 0) / 1000;
	return rate > 0 && rate < 10000 ? rate * 1000000000 : 0;
}

static const char *netdev_at(const struct build *b, const char *pci)
{
	uint32_t at = 0;
	const char *s;

	while ((s = rs_facts_subject(b->a->facts, &at, b->host, "netdev/"))) {
		const char *own = rs_facts_value(b->a->facts, b->host, s, "pci");

		if (own && !strcmp(own, pci + 4))
			return s;
	}
	return NULL;
}

static void device(struct build *b, const char *pci)
{
	const char *kind = rs_look_kind(b->a, b->host, pci), *nic, *netdev, *name;
	bool gpu = !strcmp(kind, "gpu");
	struct rs_part *p;
	int parent, numa;

	nic = gpu ? NULL : rs_look_nic_at(b->a, b->host, pci);
	if (!gpu && !nic && strcmp(kind, "nic") && strcmp(kind, "ethernet"))
		return;
	netdev = gpu ? NULL : netdev_at(b, pci);
	name = gpu      ? rs_audit_text(b->a, "gpu%u", b->gpus++)
	       : nic    ? nic + 4
	       : netdev ? netdev + 7
			: rs_audit_text(b->a, "nic-%s", pci + 4);
	parent = attach(b, pci, &numa);
	p = add(b,
		gpu                           ? RS_PART_GPU
		: nic || !strcmp(kind, "nic") ? RS_PART_NIC
					      : RS_PART_OTHER,
		name);
	if (!p || parent == RS_NO_PART)
		return;
	p->busid = pci + 4;
	p->parent = parent;
	p->numa = numa;
	p->up = link_of(b, pci, gpu);
	p->port_rate = gpu ? 0 : port_rate(b, pci, netdev);
}

/* Two ports of one name would be two parts of one name. */
static void unique_names(struct build *b)
{
	for (int i = 0; i < b->h->n_parts; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(b->h->parts[i].name, b->h->parts[k].name))
				b->h->parts[i].name = rs_audit_text(
					b->a, "%s-%s", b->h->parts[i].name,
					b->h->parts[i].busid ? b->h->parts[i].busid : "2");
}

int rs_audit_host(struct rs_audit *a, const char *host, struct rs_host **out, struct rs_error *e)
{
	struct build b = {.a = a, .host = host};
	uint32_t at = 0;
	const char *pci;

	*out = NULL;
	b.h = rs_arena_alloc(a->arena, 1, sizeof(*b.h));
	if (!b.h)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*b.h = (struct rs_host){.name = host, .source = "audited"};
	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
		if (strncmp(pci, "pci/unnamed", 11))
			device(&b, pci);
	unique_names(&b);
	if (b.err || a->err) {
		int err = b.err ? b.err : a->err;

		return rs_error_set(e, err, "%s: %s", host,
				    err == -E2BIG ? "more PCI devices than a host has"
						  : "out of memory");
	}
	if (!b.h->n_parts)
		return rs_error_set(e, -ENODATA, "%s: no GPU or NIC on a PCI bus is known", host);
	*out = b.h;
	return 0;
}
