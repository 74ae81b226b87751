/* Questions that several families of checks ask: kinds of functions, the PCI tree, distances, what
 * a counter did. IBTA vol. 1 16.1.3.5 (widths of PortCounters). */
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "host/host.h"

const struct rs_fact *rs_look(const struct rs_audit *a, const char *host, const char *subject,
			      const char *name_fmt, ...)
{
	char name[192];
	va_list ap;

	va_start(ap, name_fmt);
	vsnprintf(name, sizeof(name), name_fmt, ap);
	va_end(ap);
	return rs_facts_get(a->facts, host, subject, name);
}

int64_t rs_look_number(const struct rs_audit *a, const char *host, const char *subject,
		       const char *name, int64_t otherwise)
{
	int64_t n;

	return rs_facts_number(a->facts, host, subject, name, &n) ? n : otherwise;
}

bool rs_look_any(const struct rs_audit *a, const char *host, const char *subject, const char *name)
{
	uint32_t at = 0;

	return rs_facts_next(a->facts, &at, host, subject, name) != NULL;
}

/* ---- Devices ---- */

const char *rs_look_kind(const struct rs_audit *a, const char *host, const char *pci)
{
	static const struct {
		const char *class, *kind;
	} classes[] = {
		{"0x0302", "gpu"}, {"0x0300", "gpu"}, {"0x0200", "nic"}, {"0x0207", "nic"},
		{"0x0380", "gpu"}, {"0x1200", "gpu"}, {"0x0280", "nic"},
	};
	const char *k = rs_facts_value(a->facts, host, pci, "kind");
	const char *class = rs_facts_value(a->facts, host, pci, "class"), *vendor;

	if (k || !class)
		return k ? k : "";
	if (!strncmp(class, "0x0604", 6))
		return "bridge";
	/* an Ethernet controller of another maker may do RDMA, but most do not: lspci's reader and
	 * the live one say the same */
	vendor = rs_facts_value(a->facts, host, pci, "vendor");
	if (!strncmp(class, "0x0200", 6) && vendor && strcasecmp(vendor, "0x15b3"))
		return "ethernet";
	/* ConnectX-3 and -4 on InfiniBand say "other network controller" */
	if (!strncmp(class, "0x0280", 6) && (!vendor || strcasecmp(vendor, "0x15b3")))
		return "other";
	/* a management controller's screen is no GPU, nor is every accelerator */
	if ((!strncmp(class, "0x0300", 6) || !strncmp(class, "0x0380", 6) ||
	     !strncmp(class, "0x1200", 6)) &&
	    vendor && strcasecmp(vendor, "0x10de") && strcasecmp(vendor, "0x1002"))
		return "other";
	if (!strncmp(class, "0x0300", 6) && vendor && !strcasecmp(vendor, "0x1002") &&
	    rs_look_number(a, host, pci, "device", RS_AMD_COMPUTES) < RS_AMD_COMPUTES)
		return "other";
	for (unsigned i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (!strncmp(class, classes[i].class, 6))
			return classes[i].kind;
	return "other";
}

/* What hypervisors call their machines in SMBIOS (DSP0134, system information). A cloud's vendor
 * alone tells nothing: its metal machines have the same. */
static bool named_as_guest(const char *vendor, const char *product)
{
	static const char *const vendors[] = {"QEMU",      "VMware", "innotek GmbH", "Xen",
					      "Parallels", "Bochs",  "OpenStack"};
	static const char *const products[] = {
		"KVM",       "Virtual Machine",       "HVM domU",   "VirtualBox", "VMware",
		"OpenStack", "Google Compute Engine", "Standard PC"};

	for (unsigned i = 0; vendor && i < sizeof(vendors) / sizeof(*vendors); i++)
		if (!strncmp(vendor, vendors[i], strlen(vendors[i])))
			return true;
	for (unsigned i = 0; product && i < sizeof(products) / sizeof(*products); i++)
		if (!strncmp(product, products[i], strlen(products[i])))
			return true;
	/* "p5.48xlarge" is a guest, "i3.metal" is not */
	return vendor && product && !strcmp(vendor, "Amazon EC2") && !strstr(product, "metal");
}

bool rs_look_guest(const struct rs_audit *a, const char *host)
{
	return rs_facts_get(a->facts, host, "host", "virtual") ||
	       named_as_guest(rs_facts_value(a->facts, host, "host", "dmi_vendor"),
			      rs_facts_value(a->facts, host, "host", "dmi_product"));
}

bool rs_look_has_gpu(const struct rs_audit *a, const char *host)
{
	const char *pci;
	uint32_t at = 0;

	if (rs_look_any(a, host, "topo", "distance/GPU") || rs_look_any(a, host, "gpu/", "") ||
	    rs_facts_get(a->facts, host, "host", "module/nvidia"))
		return true;
	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
		if (!strcmp(rs_look_kind(a, host, pci), "gpu"))
			return true;
	return false;
}

bool rs_look_has_rdma(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0;

	return rs_facts_subject(a->facts, &at, host, "nic/") ||
	       rs_facts_get(a->facts, host, "nccl", "using/0");
}

bool rs_look_pci_of(const struct rs_audit *a, const char *host, const char *nic, char *out,
		    size_t size)
{
	const char *bdf = rs_facts_value(a->facts, host, nic, "pci");
	const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
	char subject[160];

	if (!bdf && netdev) {
		snprintf(subject, sizeof(subject), "netdev/%s", netdev);
		bdf = rs_facts_value(a->facts, host, subject, "bus-info");
	}
	if (!bdf)
		return false;
	/* lspci without -D leaves the domain out */
	snprintf(out, size, "pci/%s%s", strlen(bdf) == 7 ? "0000:" : "", bdf);
	return true;
}

const char *rs_look_nic_at(const struct rs_audit *a, const char *host, const char *pci)
{
	const char *nic;
	uint32_t at = 0;
	char own[160];

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/")))
		if (rs_look_pci_of(a, host, nic, own, sizeof(own)) && !strcmp(own, pci))
			return nic;
	return NULL;
}

const char *rs_look_netdev(const struct rs_audit *a, const char *host, const char *nic)
{
	static const char *const kinds[] = {"netdev/bond", "bond/"};
	const char *own = rs_facts_value(a->facts, host, nic, "netdev"), *s, *found = NULL;

	if (own || !strstr(nic, "bond"))
		return own;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t at = 0;

		while ((s = rs_facts_subject(a->facts, &at, host, kinds[i]))) {
			const char *name = strchr(s, '/') + 1;

			/* "bond0.100" is a VLAN of it */
			if (strchr(name, '.') || (found && !strcmp(found, name)))
				continue;
			if (found)
				return NULL;
			found = name;
		}
	}
	return found;
}

int64_t rs_look_kind_rate(const struct rs_audit *a, const char *host, const char *nic)
{
	/* ConnectX-3 to -8 and BlueField 1 to 3, each at its kind's full rate a port */
	static const struct {
		int part, gbps;
	} kinds[] = {{4099, 40},  {4103, 40},  {4113, 56},   {4115, 100},  {4117, 25},
		     {4119, 100}, {4121, 100}, {4123, 200},  {4125, 100},  {4127, 25},
		     {4129, 400}, {4131, 800}, {41682, 100}, {41686, 200}, {41692, 400}};
	int64_t part = rs_look_number(a, host, nic, "vendor_part_id", 0);
	const char *type = rs_facts_value(a->facts, host, nic, "hca_type");

	if (!part && type && !strncmp(type, "MT", 2))
		part = strtol(type + 2, NULL, 10);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (part == kinds[i].part)
			return kinds[i].gbps;
	return 0;
}

bool rs_look_management(const char *port)
{
	/* a name that ends in '#' has a figure there, one that ends in '$' ends itself */
	static const char *const names[] = {
		"mgmt", "management", "ma#", "meth",     "fxp#",     "em0$", "me0$",
		"vme$", "m-gigabit",  "oob", "re0:mgmt", "re1:mgmt", "bmc",  "gigabitethernet0$"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strcspn(names[i], "#$");

		if (strncasecmp(port, names[i], n))
			continue;
		if (names[i][n] == '#' ? isdigit((unsigned char)port[n]) != 0
		    : names[i][n]      ? strchr(". ,:", port[n]) != NULL
				       : true)
			return true;
	}
	return false;
}

/* Names of 1 Gb/s ports: Junos' ge-, and what Cisco, Huawei and H3C write out. */
static bool gigabit(const char *port)
{
	return !strncmp(port, "ge-", 3) || !strncmp(port, "fe-", 3) ||
	       !strncmp(port, "GigabitEthernet", 15) || !strncmp(port, "FastEthernet", 12) ||
	       (!strncmp(port, "Gi", 2) && isdigit((unsigned char)port[2])) ||
	       (!strncmp(port, "GE", 2) && isdigit((unsigned char)port[2]));
}

/* The host shows itself to be a switch: eth0 is its management. */
static bool of_switch(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0;

	return rs_facts_is_switch(a->facts, host) ||
	       rs_facts_subject(a->facts, &at, host, "port/") != NULL;
}

bool rs_look_aside(const struct rs_audit *a, const char *host, const char *subject)
{
	const char *name = strchr(subject, '/'), *nic;
	int64_t mbps;
	uint32_t at = 0;

	name = name ? name + 1 : subject;
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");

		if (netdev && !strcmp(netdev, name))
			return false;
	}
	if (rs_look_management(name) || gigabit(name) ||
	    (!strncmp(name, "eth0", 4) && (!name[4] || name[4] == '.') && of_switch(a, host)))
		return true;
	mbps = rs_look_number(a, host, subject, "speed_mbps", 0);
	if (mbps <= 0)
		mbps = rs_look_number(a, host, subject, "bandwidth_mbps", 0);
	return mbps > 0 && mbps <= 1000;
}

int64_t rs_look_port_rate(const struct rs_audit *a, const char *host, const char *nic)
{
	const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
	int64_t rate = rs_look_number(a, host, nic, "rate_gbps", 0), mbps;
	char subject[160];

	if (rate > 0 || !netdev)
		return rate > 0 ? rate : 0;
	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	mbps = rs_look_number(a, host, subject, "speed_mbps", 0);
	/* -1: the link is down; 4294967295 is -1 in old tools */
	return mbps > 0 && mbps < INT32_MAX ? mbps / 1000 : 0;
}

int64_t rs_look_rate(const struct rs_audit *a, const char *host, const char *pci)
{
	const char *nic;
	uint32_t at = 0;
	int64_t sum = 0;
	char own[160];

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/")))
		if (rs_look_pci_of(a, host, nic, own, sizeof(own)) && !strcmp(own, pci))
			sum += rs_look_port_rate(a, host, nic);
	return sum;
}

/* ---- The tree ---- */

/* The bridge whose secondary bus a function is on: "pci/0000:18:00.0" is on bus 18. */
static const char *bridge_of_bus(const struct rs_audit *a, const char *host, const char *pci)
{
	unsigned domain, bus, of, from, to;
	const struct rs_fact *f;
	uint32_t at = 0;

	if (sscanf(pci, "pci/%x:%x:", &domain, &bus) != 2)
		return NULL;
	while ((f = rs_facts_next(a->facts, &at, host, "pci/", "secondary_bus")))
		if (sscanf(f->subject, "pci/%x:", &of) == 1 && of == domain &&
		    sscanf(f->value, "%u-%u", &from, &to) == 2 && from == bus)
			return f->subject;
	return NULL;
}

/* A subject that has any fact, as the store spells it; NULL: none. */
static const char *listed(const struct rs_audit *a, const char *host, const char *subject)
{
	uint32_t at = rs_facts_seek(a->facts, host, subject);
	const char *s = rs_facts_subject(a->facts, &at, host, subject);

	return s && !strcmp(s, subject) ? s : NULL;
}

/* "pci/" and a function's address: asked for so often that printf() shows */
static void pci_named(char *out, size_t size, const char *bdf)
{
	size_t n = strnlen(bdf, size - sizeof("pci/"));

	memcpy(out, "pci/", 4);
	memcpy(out + 4, bdf, n);
	out[4 + n] = '\0';
}

unsigned rs_look_above(const struct rs_audit *a, const char *host, const char *pci,
		       const char **bridge, unsigned most)
{
	unsigned n = 0;

	while (n < most) {
		const struct rs_fact *up = rs_facts_get(a->facts, host, pci, "parent"), *above;
		const char *next;
		char name[160];

		if (up && !strncmp(up->value, "pci", 3))
			break;
		if (up) {
			pci_named(name, sizeof(name), up->value);
			above = rs_facts_get(a->facts, host, name, "parent");
			next = above ? above->subject : listed(a, host, name);
		} else {
			next = bridge_of_bus(a, host, pci);
		}
		for (unsigned i = 0; next && i < n; i++)
			if (!strcmp(bridge[i], next))
				return n; /* a circle: what was read is not a tree */
		if (!next || !strcmp(next, pci))
			break;
		bridge[n++] = pci = next;
	}
	return n;
}

/* ---- Distances ---- */

const char *const rs_near_name[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

static int near(const char *word)
{
	for (int i = RS_PIX; i <= RS_SYS; i++)
		if (!strcmp(word, rs_near_name[i]))
			return i;
	return RS_NEAR_UNKNOWN;
}

/* Does this column of topo -m stand for the device? By the legend, or by its own name. */
static bool column_is(const struct rs_audit *a, const char *host, const char *column,
		      const char *nic)
{
	const struct rs_fact *real = rs_look(a, host, "topo", "nic_name/%s", column);

	return !strcmp(real ? real->value : column, nic);
}

/* Where the ways of two functions to the root meet: at one switch, behind several, or at the root
 * complex of one socket or two. */
int rs_look_between(const struct rs_audit *a, const char *host, const char *x, const char *y)
{
	const char *mine[16], *theirs[16];
	unsigned n = rs_look_above(a, host, x, mine, 16), m = rs_look_above(a, host, y, theirs, 16);
	int64_t p = rs_look_number(a, host, x, "numa_node", -1);
	int64_t q = rs_look_number(a, host, y, "numa_node", -1);

	/* a switch is its upstream port and a downstream port for each function */
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < m; k++)
			if (!strcmp(mine[i], theirs[k]))
				return i <= 1 && k <= 1 ? RS_PIX : RS_PXB;
	if (p < 0 || q < 0)
		return RS_NEAR_UNKNOWN;
	return p == q ? RS_NODE : RS_SYS;
}

static int by_tree(const struct rs_audit *a, const char *host, const char *nic)
{
	int best = RS_NEAR_UNKNOWN;
	uint32_t at = 0;
	const char *pci;
	char own[160];

	if (!rs_look_pci_of(a, host, nic, own, sizeof(own)))
		return best;
	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		int d;

		if (strcmp(rs_look_kind(a, host, pci), "gpu"))
			continue;
		d = rs_look_between(a, host, own, pci);
		if (d > 0 && d <= RS_PXB && (best < 0 || d < best))
			best = d;
	}
	return best;
}

static int find_nearest(const struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *f;
	int best = RS_NEAR_UNKNOWN;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		char column[64];
		int d = near(f->value);

		if (sscanf(f->name, "distance/GPU%*u/%63s", column) != 1 || d < 0 ||
		    !strncmp(column, "GPU", 3) || !column_is(a, host, column, nic + 4))
			continue;
		best = best < 0 || d < best ? d : best;
	}
	return best < 0 ? by_tree(a, host, nic) : best;
}

int rs_look_nearest(const struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *first;
	struct rs_nearest *kept;
	uint32_t at = 0;

	/* the first fact of a device stands for it; that of a longer name does not */
	first = a->nearest ? rs_facts_next(a->facts, &at, host, nic, "") : NULL;
	if (!first || strcmp(first->subject, nic))
		return find_nearest(a, host, nic);
	kept = &a->nearest[at - 1];
	if (kept->witness) {
		rs_facts_met(a->facts, kept->witness);
	} else {
		kept->near = find_nearest(a, host, nic);
		kept->witness = rs_facts_last(a->facts);
	}
	return kept->near;
}

const struct rs_fact *rs_look_list(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	const struct rs_fact *ucx =
		hca ? NULL : rs_facts_get(a->facts, host, "env", "UCX_NET_DEVICES");

	return ucx && strcmp(ucx->value, "all") && *ucx->value ? ucx : hca;
}

bool rs_look_hca(const char *list, const char *name)
{
	bool exclude = *list == '^', exact, hit = false;
	char item[128];

	list += exclude;
	exact = *list == '=';
	list += exact;
	/* NCCL (misc/utils.cc, matchIfList()): an empty list is any device's, "^" is none's */
	hit = !list[strspn(list, ",")];
	while (*list && !hit) {
		size_t n = strcspn(list, ",");

		snprintf(item, sizeof(item), "%.*s", (int)n, list);
		item[strcspn(item, ":")] = '\0';
		hit = *item && (exact ? !strcmp(name, item) : !strncmp(name, item, strlen(item)));
		list += n + (list[n] == ',');
	}
	return hit != exclude;
}

int rs_look_sprays(const struct rs_audit *a, const struct rs_fact **which)
{
	static const char *const yes[] = {"on", "enabled", "1", "true", "yes"};
	int known = -1;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *f = rs_facts_get(a->facts, host, "host", "ar");
		bool on = false;

		if (!f || !rs_facts_is_switch(a->facts, host))
			continue;
		/* "flowlet": balanced by load, in order */
		for (unsigned k = 0; k < sizeof(yes) / sizeof(*yes); k++)
			on |= !strcasecmp(f->value, yes[k]);
		*which = f;
		known = on || known == 1;
	}
	return known;
}

const char *rs_look_mft(struct rs_audit *a, const char *host, const char *nic)
{
	char pci[160];

	if (rs_look_pci_of(a, host, nic, pci, sizeof(pci)))
		return rs_audit_text(a, "%s", pci + strlen("pci/"));
	return strchr(nic, '/') ? strchr(nic, '/') + 1 : nic;
}

/* ---- Counters ---- */

int64_t rs_look_ceiling(const char *counter)
{
	static const struct {
		const char *name;
		int64_t at;
	} narrow[] = {
		{"link_downed", 255},
		{"link_error_recovery", 255},
		{"symbol_error", 65535},
		{"port_rcv_errors", 65535},
		{"port_xmit_discards", 65535},
		{"VL15_dropped", 65535},
		{"local_link_integrity_errors", 15},
		{"excessive_buffer_overrun_errors", 15},
		{"port_xmit_wait", UINT32_MAX},
	};

	for (unsigned i = 0; i < sizeof(narrow) / sizeof(*narrow); i++)
		if (!strcmp(counter, narrow[i].name))
			return narrow[i].at;
	return INT64_MAX;
}

/* Seconds between the two snapshots, by their clocks or by their uptimes; of one: since boot. */
static double elapsed(const struct rs_audit *a, const char *host, bool lifetime)
{
	static const char *const clocks[] = {"time", "uptime_s"};

	for (unsigned i = 0; i < 2; i++) {
		const struct rs_fact *now = rs_facts_get(a->facts, host, "host", clocks[i]);
		const struct rs_fact *old = rs_facts_get_old(a->facts, host, "host", clocks[i]);

		if (lifetime && i && now && now->numeric && now->number > 0)
			return (double)now->number;
		if (!lifetime && now && old && now->numeric && old->numeric &&
		    now->number > old->number)
			return (double)(now->number - old->number);
	}
	return 0;
}

const struct rs_fact *rs_look_counter(const struct rs_audit *a, const char *host,
				      const char *subject)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while (subject && (f = rs_facts_next(a->facts, &at, host, subject, "counter/")))
		if (!strcmp(f->subject, subject))
			return f;
	return NULL;
}

bool rs_look_rise(const struct rs_audit *a, const char *host, const char *subject,
		  const char *counter, struct rs_rise *r)
{
	const struct rs_fact *now, *old;
	char name[192];

	snprintf(name, sizeof(name), "counter/%s", counter);
	now = rs_facts_get(a->facts, host, subject, name);
	if (!now || !now->numeric)
		return false;
	old = rs_facts_get_old(a->facts, host, subject, name);
	*r = (struct rs_rise){.now = now, .by = now->number, .lifetime = true};
	if (old && old->numeric) {
		r->lifetime = false;
		r->cleared = old->number > now->number;
		r->by = r->cleared ? now->number : now->number - old->number;
	}
	r->full = now->number == rs_look_ceiling(counter);
	r->seconds = elapsed(a, host, r->lifetime);
	if (r->lifetime && now->moment && (old = rs_facts_before(a->facts, &now))) {
		r->now = now;
		r->full = now->number == rs_look_ceiling(counter);
		r->lifetime = false;
		r->in_text = true;
		r->before = old;
		r->by = now->number - old->number;
		r->seconds = 0;
		if (now->clock && old->clock && now->clock > old->clock &&
		    now->clock - old->clock < RS_MOMENT_GAP)
			r->seconds = (double)(now->clock - old->clock) / 10;
	}
	return true;
}

enum { FEW = 100 };

bool rs_look_few_ever(const struct rs_rise *r)
{
	return r->lifetime && r->by < FEW;
}

bool rs_look_few(const struct rs_rise *r)
{
	enum { PER_SECOND = 10 };

	return r->in_text && r->by < FEW &&
	       (r->seconds <= 0 || (double)r->by < PER_SECOND * r->seconds);
}

const char *rs_look_since(struct rs_audit *a, const struct rs_rise *r)
{
	if (r->lifetime)
		return "since boot or the last clearing";
	if (r->in_text && r->seconds > 0)
		return rs_audit_text(a, "in the %.*f s between two readings", r->seconds < 10,
				     r->seconds);
	if (r->in_text)
		return "between two readings";
	if (r->seconds > 0)
		return rs_audit_text(a, "in the %.0f s between the two snapshots", r->seconds);
	return "between the two snapshots";
}
