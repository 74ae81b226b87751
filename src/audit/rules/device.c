/* Checks of how functions and their drivers are set up for GPUDirect: peer memory, payload and read
 * request sizes, ordering, ATS, BAR1, NUMA, Socket Direct, errors. PCIe Base Specification ch. 7.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/rules/device.h"

/* ---- Functions that matter: GPUs, and NICs with RDMA ---- */

void device_each(struct rs_audit *a, const struct rs_rule *r, each_function *judge)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		uint32_t at = 0;

		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
			const char *kind = rs_look_kind(a, host, pci);

			if (!strcmp(kind, "gpu") || !strcmp(kind, "nic"))
				judge(a, r, host, pci, kind);
		}
	}
}

/* Registers beyond the first 64 bytes were not shown. */
static bool hidden(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *pci,
		   const char *what)
{
	const struct rs_fact *config = rs_facts_get(a->facts, host, pci, "config");
	struct rs_finding *f;

	if (!config)
		return false;
	f = rs_finding_new(a, r, RS_UNKNOWN, r->severity, "%s is hidden from users", what);
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, config);
	rs_finding_need(a, f, "lspci -vvv as root", "configuration space beyond byte 64");
	return true;
}

/* ---- P02 ---- */

/* The least that any function of the same hierarchy can take: peers send to each other, too. */
static int64_t hierarchy_limit(const struct rs_audit *a, const char *host, const char *pci,
			       const char *const *bridge, unsigned n, const char **who)
{
	const char *top = bridge[n - 1], *theirs[RS_LOOK_ABOVE], *other;
	int64_t least = rs_look_number(a, host, pci, "mps_max", 0), m;
	uint32_t at = 0;

	*who = pci;
	while ((other = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		unsigned k;
		bool same = !strcmp(other, top);

		if (!rs_facts_number(a->facts, host, other, "mps_max", &m) || m >= least)
			continue;
		k = rs_look_above(a, host, other, theirs, RS_LOOK_ABOVE);
		same |= k && !strcmp(theirs[k - 1], top);
		if (same) {
			least = m;
			*who = other;
		}
	}
	return least;
}

static void p02_function(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *pci, const char *kind)
{
	int64_t mps, max, rate = rs_look_rate(a, host, pci), limit;
	const char *bridge[RS_LOOK_ABOVE], *who = NULL;
	struct rs_finding *f;
	unsigned n;

	if (!rs_facts_number(a->facts, host, pci, "mps", &mps) ||
	    !rs_facts_number(a->facts, host, pci, "mps_max", &max)) {
		if (*kind == 'n')
			hidden(a, r, host, pci, "MaxPayload");
		return;
	}
	n = rs_look_above(a, host, pci, bridge, RS_LOOK_ABOVE);
	for (unsigned i = 0; i < n; i++) {
		int64_t above = rs_look_number(a, host, bridge[i], "mps", mps);

		if (above >= mps)
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "MaxPayload is %lld, and %lld at %s above it: larger packets "
				   "are malformed there",
				   (long long)mps, (long long)above, bridge[i] + 4);
		rs_finding_subject(a, f, host, pci + 4);
		rs_finding_fact(f, rs_facts_get(a->facts, host, pci, "mps"));
		rs_finding_fact(f, rs_facts_get(a->facts, host, bridge[i], "mps"));
		rs_finding_fix(a, f, host, true, "reboot", "remove it from the command line",
			       "pci=pcie_bus_safe  # kernel command line");
		return;
	}
	limit = n ? hierarchy_limit(a, host, pci, bridge, n, &who) : max;
	if (mps >= limit) {
		f = rs_finding_new(a, r, RS_PASS, RS_MINOR, "MaxPayload is %lld, the most that %s",
				   (long long)mps,
				   n ? rs_audit_text(a, "%s can take", who + 4) : "it can take");
	} else if (!n) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
				   "MaxPayload is %lld of %lld; what the ports above can take is "
				   "not known",
				   (long long)mps, (long long)max);
		rs_finding_need(a, f, "lspci -vvv as root, whole", "the ports above it");
	} else {
		f = rs_finding_new(a, r, RS_FAIL, mps < 256 && rate >= 200 ? RS_MAJOR : RS_MINOR,
				   "MaxPayload is %lld where all of the path can take %lld",
				   (long long)mps, (long long)limit);
		rs_finding_why(a, f,
			       "each packet carries 24 bytes beside its payload: 128 bytes "
			       "give 84 %% of the link, 256 give 91 %%, 512 give 96 %%");
		rs_finding_fix(a, f, host, true, "reboot", "remove it from the command line",
			       "pci=pcie_bus_perf  # kernel command line, or MPS in the BIOS");
	}
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, rs_facts_get(a->facts, host, pci, "mps"));
	rs_finding_fact(f, rs_facts_get(a->facts, host, who ? who : pci, "mps_max"));
}

static void p02(struct rs_audit *a, const struct rs_rule *r)
{
	device_each(a, r, p02_function);
}

/* ---- P03 ---- */

static void p03_function(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *pci, const char *kind)
{
	int64_t mrrs, ext, ten = rs_look_number(a, host, pci, "ten_bit_tag", 0);
	int64_t rate = rs_look_rate(a, host, pci);
	struct rs_finding *f;
	double gbps;
	int tags;

	if (*kind == 'n' && !rs_facts_get(a->facts, host, pci, "mrrs") &&
	    hidden(a, r, host, pci, "MaxReadReq"))
		return;
	/* the rate is not known: below PCIe's own default of 512 (7.5.3.4) it is wrong for any */
	if (*kind == 'n' && !rate && rs_facts_number(a->facts, host, pci, "mrrs", &mrrs) &&
	    mrrs < 512) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "MaxReadReq is %lld bytes, below the default of 512",
				   (long long)mrrs);
		rs_finding_subject(a, f, host, pci + 4);
		rs_finding_fact(f, rs_facts_get(a->facts, host, pci, "mrrs"));
		if (f)
			f->confidence = RS_MEDIUM;
		rs_finding_fix(a, f, host, false, NULL, NULL,
			       "setpci -s %s CAP_EXP+8.w=5000:7000  # MaxReadReq 4096", pci + 4);
		return;
	}
	if (*kind != 'n' || !rate || !rs_facts_number(a->facts, host, pci, "mrrs", &mrrs) ||
	    !rs_facts_number(a->facts, host, pci, "ext_tag", &ext))
		return;
	/* PCIe 2.2.6.2: 5-bit tags, 8-bit, 10-bit (of which a quarter is reserved) */
	tags = ten ? 768 : ext ? 256 : 32;
	gbps = (double)tags * (double)mrrs * 8 / (a->set.p2p_rtt_us * 1e3);
	f = rs_finding_new(a, r, gbps < (double)rate ? RS_FAIL : RS_PASS, RS_MAJOR,
			   "%d reads of %lld bytes in flight, each answered in %.1f us, carry %.0f "
			   "Gb/s for ports of %lld",
			   tags, (long long)mrrs, a->set.p2p_rtt_us, gbps, (long long)rate);
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, rs_facts_get(a->facts, host, pci, "mrrs"));
	rs_finding_fact(f, rs_facts_get(a->facts, host, pci, "ext_tag"));
	if (gbps >= (double)rate)
		return;
	rs_finding_why(a, f,
		       "a NIC that sends reads memory first: what is in flight over the time "
		       "of an answer bounds its rate");
	rs_finding_fix(
		a, f, host, false, NULL,
		rs_audit_text(a, "setpci -s %s CAP_EXP+8.w=%04x:7000", pci + 4,
			      (unsigned)(__builtin_ctzll((uint64_t)mrrs | 1ULL << 40) - 7) << 12),
		"setpci -s %s CAP_EXP+8.w=5000:7000  # MaxReadReq 4096", pci + 4);
}

static void p03(struct rs_audit *a, const struct rs_rule *r)
{
	device_each(a, r, p03_function);
}

/* ---- P06 ---- */

static void p06_function(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *pci, const char *kind)
{
	const struct rs_fact *ats = rs_facts_get(a->facts, host, pci, "ats");
	struct rs_finding *f;

	/* off is right where no IOMMU translates between peers: on bare metal */
	if (*kind != 'n' || !rs_look_guest(a, host) || !rs_look_has_gpu(a, host))
		return;
	if (!ats && hidden(a, r, host, pci, "ATS"))
		return;
	if (!ats || !ats->numeric)
		return;
	f = rs_finding_new(a, r, ats->number ? RS_PASS : RS_FAIL, RS_MINOR, "ATS is %s",
			   ats->number ? "on"
				       : "off in a guest: each peer-to-peer packet is "
					 "translated at the root complex");
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, ats);
	if (!ats->number)
		rs_finding_fix(a, f, "the hypervisor", true, "a power cycle of the host",
			       "mlxconfig -d <dev> set ATS_ENABLED=0",
			       "mlxconfig -d <dev> set ATS_ENABLED=1");
}

static void p06(struct rs_audit *a, const struct rs_rule *r)
{
	device_each(a, r, p06_function);
}

/* ---- P08 ---- */

/* Nodes that are online: "0-1,4" is three. 0: not known. */
static unsigned nodes(const struct rs_audit *a, const char *host)
{
	const char *p = rs_facts_value(a->facts, host, "host", "numa_online");
	unsigned n = 0, from, to;

	for (int used; p && *p; p += used, p += *p == ',') {
		if (sscanf(p, "%u-%u%n", &from, &to, &used) == 2 && to >= from && to < 4096)
			n += to - from + 1;
		else if (sscanf(p, "%u%n", &from, &used) == 1)
			n++;
		else
			break;
	}
	return n;
}

/* Another carrier that says otherwise. */
static const struct rs_fact *contradicts(const struct rs_audit *a, const char *host,
					 const char *pci, const struct rs_fact *first)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, pci, "numa_node")))
		if (!strcmp(f->subject, pci) && f->numeric && first->numeric &&
		    f->number != first->number && f->number >= 0)
			return f;
	return NULL;
}

/* Devices whose numa_node was printed by their names, without their place on PCI. */
static unsigned p08_named(struct rs_audit *a, const struct rs_rule *r, const char *host,
			  unsigned online, struct rs_finding **f)
{
	const char *subject;
	unsigned blind = 0;
	uint32_t at = 0;

	while (online > 1 && (subject = rs_facts_subject(a->facts, &at, host, ""))) {
		const struct rs_fact *node = rs_facts_get(a->facts, host, subject, "numa_node");

		if ((strncmp(subject, "nic/", 4) && strncmp(subject, "netdev/", 7)) || !node ||
		    !node->numeric || node->number >= 0 ||
		    rs_facts_get(a->facts, host, subject, "pci"))
			continue;
		blind++;
		if (!*f)
			*f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
					    "GPUs or NICs without a NUMA node (-1) on a host of %u",
					    online);
		rs_finding_subject(a, *f, host, strchr(subject, '/') + 1);
		rs_finding_fact(*f, node);
	}
	return blind;
}

static void p08_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	unsigned online = nodes(a, host), known = 0, blind = 0, without = 0;
	struct rs_finding *f = NULL;
	const char *pci;
	uint32_t at = 0;

	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		const char *kind = rs_look_kind(a, host, pci);
		const struct rs_fact *node = rs_facts_get(a->facts, host, pci, "numa_node"), *other;
		struct rs_finding *x;

		if ((strcmp(kind, "gpu") && strcmp(kind, "nic")) || !node || !node->numeric)
			continue;
		known++;
		without += node->number < 0;
		if (node->number >= 0 && (other = contradicts(a, host, pci, node))) {
			x = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
					   "two sources disagree on the NUMA node: %lld and %lld",
					   (long long)node->number, (long long)other->number);
			rs_finding_subject(a, x, host, pci + 4);
			rs_finding_fact(x, node);
			rs_finding_fact(x, other);
			rs_finding_need(a, x, "the board's manual", "which socket the slot is on");
		}
		if (node->number >= 0 || online < 2)
			continue;
		blind++;
		if (!f)
			f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
					   "GPUs or NICs without a NUMA node (-1) on a host of %u",
					   online);
		rs_finding_subject(a, f, host, pci + 4);
		rs_finding_fact(f, node);
	}
	blind += p08_named(a, r, host, online, &f);
	if (blind) {
		rs_finding_fact(f, rs_facts_get(a->facts, host, "host", "numa_online"));
		rs_finding_why(a, f,
			       "pinning of processes, interrupts and NCCL's choice of paths go "
			       "without knowing the socket");
		rs_finding_fix(a, f, rs_look_guest(a, host) ? "the hypervisor" : host, true,
			       rs_look_guest(a, host) ? "the guest's restart" : "reboot", NULL,
			       rs_look_guest(a, host)
				       ? "give the guest NUMA cells and a pxb-pcie bus a cell"
				       : "update the BIOS, or set its option for _PXM (NUMA nodes "
					 "of PCIe)");
		rs_finding_choice(f);
		rs_finding_fix(a, f, host, true, NULL, "unset NCCL_TOPO_FILE",
			       "NCCL_TOPO_FILE=<XML with the numaid of each>");
	} else if (known && online) {
		f = rs_finding_new(a, r, RS_PASS, RS_MAJOR, "%u GPUs and NICs, %u NUMA node%s",
				   known, online, online == 1 ? "" : "s");
		rs_finding_subject(a, f, host, NULL);
	} else if (known && !without) {
		f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
				   "each of %u GPUs and NICs has a NUMA node", known);
		rs_finding_subject(a, f, host, NULL);
	} else if (known) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "how many NUMA nodes are online is "
				   "not known");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_need(a, f, "/sys/devices/system/node/online, numactl -H",
				"whether -1 is right");
	}
}

static void p08(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		p08_host(a, r, rs_facts_host(a->facts, i));
}

/* ---- P10 ---- */

/* Two functions of one card in two slots: 0000:18:00.0 and 0000:af:00.0, not .0 and .1 of one. */
static bool two_slots(const char *x, const char *y)
{
	size_t n = strlen(x);

	return n == strlen(y) && n > 2 && strncmp(x, y, n - 1) != 0;
}

static void p10_fix(struct rs_audit *a, struct rs_finding *f, const char *host, const char *pci)
{
	rs_finding_fix(a, f, host, true, NULL, NULL,
		       "mlxconfig -d %s q PF_SD_GROUP STRAP_SD_OR_MH PCI_BUS00_WIDTH "
		       "PCI_BUS00_SPEED  # what the firmware expects",
		       pci);
	rs_finding_fix(a, f, host, true, "power off", NULL,
		       "move the auxiliary card or its harness to a slot of the other socket, with "
		       "the lanes that the firmware expects");
}

static void p10_pair(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const char *nic[2], char pci[2][160])
{
	const struct rs_fact *node[2], *width[2];
	const char *what = NULL;
	struct rs_finding *f;

	for (int i = 0; i < 2; i++) {
		node[i] = rs_facts_get(a->facts, host, pci[i], "numa_node");
		node[i] = node[i] ? node[i] : rs_facts_get(a->facts, host, nic[i], "numa_node");
		width[i] = rs_facts_get(a->facts, host, pci[i], "link_width");
	}
	if (node[0] && node[1] && node[0]->number >= 0 && node[0]->number == node[1]->number)
		what = "both halves are on one socket: the other socket's GPUs gain nothing";
	else if (width[0] && width[1] && width[0]->number != width[1]->number)
		what = rs_audit_text(a, "one half trained at x%lld, the other at x%lld",
				     (long long)width[0]->number, (long long)width[1]->number);
	if (!what && (!node[0] || !node[1])) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "a Socket Direct card; its sockets are not known");
		rs_finding_need(a, f, "/sys/bus/pci/devices/*/numa_node", "each half's socket");
	} else {
		f = rs_finding_new(a, r, what ? RS_FAIL : RS_PASS, RS_MAJOR, "Socket Direct: %s",
				   what ? what : "a half on each socket");
	}
	rs_finding_subject(a, f, host, nic[0] + 4);
	rs_finding_subject(a, f, host, nic[1] + 4);
	for (int i = 0; i < 2; i++) {
		rs_finding_fact(f, node[i]);
		rs_finding_fact(f, width[i]);
	}
	if (what)
		p10_fix(a, f, host, pci[0] + 4);
}

/* The firmware is set up for two halves, and one is seen: its harness, slot or lanes are missing.
 */
static void p10_half(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *group;
	struct rs_finding *f;
	const char *nic;
	uint32_t at = 0;
	char pci[160];

	while ((group = rs_facts_next(a->facts, &at, host, "", "config/PF_SD_GROUP")))
		if (group->numeric && group->number > 0)
			break;
	if (!group)
		return;
	at = 0;
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/")))
		if (rs_look_pci_of(a, host, nic, pci, sizeof(pci)))
			break;
	if (!nic)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "Socket Direct: the firmware has group %lld, and one half alone is seen",
			   (long long)group->number);
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, group);
	rs_finding_why(
		a, f,
		"the other half's harness, slot or bifurcation is missing: its socket's GPUs "
		"cross to this one, and half of the lanes are unused");
	p10_fix(a, f, host, pci + 4);
}

static void p10(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic[2];
		unsigned pairs = 0;
		uint32_t at = 0;

		while ((nic[0] = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			const char *guid = rs_facts_value(a->facts, host, nic[0], "sys_image_guid");
			uint32_t next = at;
			char pci[2][160];

			if (!guid || !rs_look_pci_of(a, host, nic[0], pci[0], sizeof(pci[0])))
				continue;
			while ((nic[1] = rs_facts_subject(a->facts, &next, host, "nic/"))) {
				const char *same =
					rs_facts_value(a->facts, host, nic[1], "sys_image_guid");

				if (same && !strcmp(guid, same) &&
				    rs_look_pci_of(a, host, nic[1], pci[1], sizeof(pci[1])) &&
				    two_slots(pci[0], pci[1])) {
					p10_pair(a, r, host, nic, pci);
					pairs++;
				}
			}
		}
		if (!pairs)
			p10_half(a, r, host);
	}
}

/* ---- P11 ---- */

/* PCI_WR_ORDERING=1: the firmware orders all writes loosely, whoever asks. */
static bool forced(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "", "config/PCI_WR_ORDERING")))
		if (strstr(f->value, "force_relax") || (f->numeric && f->number == 1))
			return true;
	return false;
}

static void p11_function(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *pci, const char *kind)
{
	const struct rs_fact *on = rs_facts_get(a->facts, host, pci, "relaxed_ordering");
	const struct rs_fact *env = rs_nccl_env(a, host, "NCCL_IB_PCI_RELAXED_ORDERING");
	const struct rs_fact *cpu = rs_facts_get(a->facts, host, "host", "cpu_vendor");
	const struct rs_fact *log = rs_facts_get(a->facts, host, "nccl", "relaxed_ordering");
	bool matters = rs_look_guest(a, host) || (cpu && strstr(cpu->value, "AMD"));
	uint32_t version = rs_nccl_version(a, host, NULL);
	bool old = !env && version && version < rs_nccl_make(2, 12, 0);
	bool unused = ((env && env->numeric && !env->number) || old) && !forced(a, host);
	struct rs_finding *f;

	if (*kind != 'n' || !rs_look_has_gpu(a, host) ||
	    (!on && hidden(a, r, host, pci, "relaxed ordering")) || (!on && !env))
		return;
	if (on && on->numeric && !on->number) {
		f = rs_finding_new(a, r, RS_FAIL, matters ? RS_MAJOR : RS_MINOR,
				   "relaxed ordering is off in the NIC's Device Control");
		rs_finding_fix(a, f, host, false, NULL,
			       rs_audit_text(a, "setpci -s %s CAP_EXP+8.w=0000:0010", pci + 4),
			       "setpci -s %s CAP_EXP+8.w=0010:0010", pci + 4);
		rs_finding_choice(f);
		rs_finding_fix(
			a, f, host, true, "the NIC's reset, before the next line",
			rs_audit_text(a, "mlxconfig -d %s set ADVANCED_PCI_SETTINGS=0", pci + 4),
			"mlxconfig -d %s set ADVANCED_PCI_SETTINGS=1", pci + 4);
		rs_finding_fix(a, f, host, true, "the NIC's reset; forced for all software",
			       rs_audit_text(a, "mlxconfig -d %s set PCI_WR_ORDERING=0", pci + 4),
			       "mlxconfig -d %s set PCI_WR_ORDERING=1", pci + 4);
	} else if (unused && !log) {
		f = rs_finding_new(
			a, r, RS_FAIL, matters ? RS_MAJOR : RS_MINOR,
			old ? "NCCL before 2.12 does not ask for relaxed ordering by itself"
			    : "NCCL_IB_PCI_RELAXED_ORDERING=0: NCCL does not ask for it");
		if (old)
			rs_finding_fix(a, f, "all hosts of the job", true, NULL,
				       "unset NCCL_IB_PCI_RELAXED_ORDERING",
				       "NCCL_IB_PCI_RELAXED_ORDERING=1");
		else
			rs_finding_fix(
				a, f, "all hosts of the job", true, NULL,
				"NCCL_IB_PCI_RELAXED_ORDERING=0",
				"unset NCCL_IB_PCI_RELAXED_ORDERING  # 2 (when it can) since 2.12");
	} else if (on) {
		f = rs_finding_new(a, r, RS_PASS, RS_MINOR, "the NIC may order its writes loosely");
	} else {
		return;
	}
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, on);
	rs_finding_fact(f, unused ? env : log);
	if (f && f->verdict == RS_FAIL)
		rs_finding_why(a, f,
			       "writes to GPU memory wait for one another; on AMD's and in "
			       "virtual machines this costs much of the rate");
}

/* The variable alone, where no GPU and no PCI function was read. */
static void p11_asked(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *env =
		rs_facts_get(a->facts, host, "env", "NCCL_IB_PCI_RELAXED_ORDERING");
	struct rs_finding *f;

	if (!env || !env->numeric || env->number || rs_failed(a, "P11", host, RS_INFO) ||
	    forced(a, host) || rs_facts_get(a->facts, host, "nccl", "relaxed_ordering"))
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
			   "NCCL_IB_PCI_RELAXED_ORDERING=0: NCCL does not ask for it");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, env);
	rs_finding_why(a, f,
		       "in guests and on AMD's hosts a NIC's writes to a GPU wait for one another "
		       "without it");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL, "NCCL_IB_PCI_RELAXED_ORDERING=0",
		       "unset NCCL_IB_PCI_RELAXED_ORDERING  # 2: where the NIC can");
}

static void p11(struct rs_audit *a, const struct rs_rule *r)
{
	device_each(a, r, p11_function);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		p11_asked(a, r, rs_facts_host(a->facts, i));
}

/* ---- P14 ---- */

static void p14_errors(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *pci, unsigned *right)
{
	static const struct {
		const char *counter;
		double per_minute; /* more is a FAIL */
	} kinds[] = {{"aer_fatal", 0}, {"aer_nonfatal", 0}, {"aer_correctable", 1}};
	unsigned seen = 0, bad = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct rs_finding *f;
		struct rs_rise c;
		double rate;

		if (!rs_look_rise(a, host, pci, kinds[i].counter, &c))
			continue;
		seen++;
		rate = c.seconds > 0 ? (double)c.by * 60 / c.seconds : 0;
		if (c.by <= 0 || (kinds[i].per_minute > 0 && !c.lifetime && c.seconds > 0 &&
				  rate <= kinds[i].per_minute))
			continue;
		bad++;
		/* one reading, or a correctable error without a clock, is no rate */
		if (c.lifetime || (kinds[i].per_minute > 0 && c.seconds <= 0)) {
			f = rs_finding_new(a, r, RS_FAIL, RS_INFO, "%lld %s PCIe errors, %s",
					   (long long)c.by, kinds[i].counter + 4,
					   rs_look_since(a, &c));
			f->confidence = RS_LOW;
			rs_finding_need(a, f, "--since an older snapshot, and /proc/uptime",
					"their rate");
		} else {
			f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "%lld %s PCIe errors %s",
					   (long long)c.by, kinds[i].counter + 4,
					   rs_look_since(a, &c));
			rs_finding_why(a, f,
				       "a link that repeats packets loses rate; one that "
				       "loses them takes the device down");
			rs_finding_fix(a, f, host, true, "power off", NULL,
				       "reseat the card and its riser; try another slot");
		}
		rs_finding_subject(a, f, host, pci + 4);
		rs_finding_fact(f, c.now);
	}
	*right += seen && !bad;
}

/* "63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:16:00.0 (capable
 * of 126.016 Gb/s with ...": the kernel's own view of the path. */
static void p14_limited(struct rs_audit *a, const struct rs_rule *r, const char *host,
			const struct rs_fact *line)
{
	const char *p = strstr(line->value, "Gb/s available"),
		   *at = strstr(line->value, " link at ");
	const char *capable = strstr(line->value, "(capable of ");
	double have, could;
	struct rs_finding *f;
	char bdf[32];

	while (p && p > line->value && p[-1] != ' ')
		p--;
	for (p = p ? p - 1 : NULL; p && p > line->value && p[-1] != ' '; p--)
		;
	if (!p || !at || !capable || sscanf(p, "%lf", &have) != 1 ||
	    sscanf(capable, "(capable of %lf", &could) != 1 ||
	    sscanf(at, " link at %31[0-9a-f:.]", bdf) != 1 || have >= could)
		return;
	/* a driver says it of its own device, the PCI core of any; below half the slot is wrong */
	if (have * 2 < could && !strstr(line->value, " pci ") && strncmp(line->value, "pci ", 4)) {
		f = rs_finding_new(a, rs_rule_find("P01"), RS_FAIL, RS_MAJOR,
				   "a device has %.0f of the %.0f Gb/s that it can, limited at %s",
				   have, could, bdf);
		rs_finding_subject(a, f, host, bdf);
		rs_finding_fact(f, line);
		if (f)
			f->confidence = RS_MEDIUM;
		rs_finding_why(a, f,
			       "the slot or a bridge above it gives fewer lanes or a lower rate "
			       "than the card has");
		rs_finding_need(a, f, "lspci -vvv as root; ethtool", "what the port needs");
		return;
	}
	f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
			   "the kernel saw %.0f of %.0f Gb/s to a device, limited at %s", have,
			   could, bdf);
	rs_finding_subject(a, f, host, bdf);
	rs_finding_fact(f, line);
	rs_finding_why(a, f,
		       "said when the driver started; P01 judges whether the ports behind it "
		       "need more");
}

static void p14_log(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *e;
	struct rs_finding *f = NULL;
	uint32_t at = 0;

	while ((e = rs_facts_next(a->facts, &at, host, "host", "kernel_error/"))) {
		if (!f) {
			f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
					   "the kernel's log has errors of GPUs or NICs");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_why(a, f,
				       "a device that resets, falls off the bus or reports a "
				       "fault is not one to send a job to");
			rs_finding_need(a, f, "the log's times",
					"whether this was before the last repair");
			if (f)
				f->confidence = RS_MEDIUM;
		}
		rs_finding_fact(f, e);
	}
	at = 0;
	while ((e = rs_facts_next(a->facts, &at, host, "host", "pcie_limited")))
		p14_limited(a, r, host, e);
}

/* Services that RDMA stands on, and that failed: each is the check's of what it would have done. */
static void p14_services(struct rs_audit *a, const char *host)
{
	static const struct {
		const char *unit, *check, *lost;
	} units[] = {
		{"openibd", "N15", "RDMA's drivers are not loaded by it"},
		{"rdma", "N15", "RDMA's modules are not loaded by it"},
		{"opensm", "H09", "without a subnet manager InfiniBand ports stay in INIT"},
		{"nvidia-fabricmanager", "P14", "NVSwitch links GPUs only with it"},
		{"nv_peer_mem", "P12", "NICs do not reach GPU memory by it"},
		{"nvidia-peermem", "P12", "NICs do not reach GPU memory by it"},
	};
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "host", "service/"))) {
		if (strcmp(f->value, "failed"))
			continue;
		for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++) {
			struct rs_finding *x;

			if (strncmp(f->name + 8, units[i].unit, strlen(units[i].unit)))
				continue;
			x = rs_finding_new(a, rs_rule_find(units[i].check), RS_FAIL, RS_CRITICAL,
					   "the service %s has failed", f->name + 8);
			rs_finding_subject(a, x, host, NULL);
			rs_finding_fact(x, f);
			rs_finding_why(a, x, "%s", units[i].lost);
			rs_finding_need(a, x, rs_audit_text(a, "journalctl -u %s -b", f->name + 8),
					"why it ended");
			break;
		}
	}
}

static void p14(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		unsigned right = 0;
		uint32_t at = 0;

		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
			p14_errors(a, r, host, pci, &right);
		p14_log(a, r, host);
		p14_services(a, host);
		if (right)
			rs_finding_subject(a,
					   rs_finding_new(a, r, RS_PASS, RS_MAJOR,
							  "no PCIe errors, on %u functions", right),
					   host, NULL);
	}
}

const struct rs_rule rs_rules_device[] = {
	{
		.id = "P02",
		.name = "mps",
		.severity = RS_MAJOR,
		.criterion = "MaxPayload is equal along a path and as large as its least capable "
			     "function takes.",
		.authority = "PCI Express Base Specification 7.5.3.3, 7.5.3.4 (Device Capabilities "
			     "and Control); Linux pci=pcie_bus_perf",
		.explain = "A function must not send packets larger than any on the way takes, so "
			   "the least capable of a hierarchy sets the size: 512 cannot be forced "
			   "on a GPU that takes 256.",
		.run = p02,
	},
	{
		.id = "P03",
		.name = "mrrs-tags",
		.severity = RS_MAJOR,
		.criterion =
			"Reads in flight (tags times MaxReadReq over the round trip) carry the "
			"ports' rate.",
		.authority = "PCI Express Base Specification 2.2.6.2 (tags), 7.5.3.4 (MaxReadReq); "
			     "the round trip (p2p_rtt_us, 0.8) is Ripstop's default, settable",
		.explain =
			"32 tags of 512 bytes over 0.8 us carry 164 Gb/s; 256 tags carry 1.3 Tb/s: "
			"demanding 4096 of every device is a false alarm.",
		.run = p03,
	},
	{
		.id = "P06",
		.name = "ats",
		.severity = RS_MINOR,
		.criterion = "In a guest with GPUs the NICs translate addresses themselves (ATS).",
		.authority = "PCI Express Base Specification chapter 10 (ATS)",
		.explain = "Where an IOMMU translates between peers, ATS lets the NIC ask once and "
			   "send directly. On bare metal off is right.",
		.run = p06,
	},
	{
		.id = "P08",
		.name = "numa-node-known",
		.severity = RS_MAJOR,
		.criterion = "On a host of several NUMA nodes each GPU and NIC has one.",
		.authority = "ACPI 6.5, 6.2.14 (_PXM); Linux Documentation/ABI, numa_node",
		.explain = "-1 on a host of one node is normal. Firmware may be wrong: where two "
			   "sources disagree, that is said.",
		.run = p08,
	},
	{
		.id = "P10",
		.name = "socket-direct",
		.severity = RS_MAJOR,
		.criterion = "The halves of a Socket Direct card are on different sockets, trained "
			     "alike.",
		.authority = "NVIDIA's Socket Direct; mstflint's parameters (PF_SD_GROUP)",
		.explain =
			"One card, two slots, one system image GUID. Two ports of one slot share "
			"the GUID, too: they are no Socket Direct.",
		.run = p10,
	},
	{
		.id = "P11",
		.name = "relaxed-ordering",
		.severity = RS_MAJOR,
		.criterion = "NICs may order writes loosely, and NCCL asks for it.",
		.authority =
			"PCI Express Base Specification 2.4 (ordering), 7.5.3.4; NCCL's sources "
			"(2 since 2.12)",
		.explain = "Major on AMD hosts and in guests, minor elsewhere. Prefer it by memory "
			   "region: forced in firmware it is unsafe for software that polls data.",
		.run = p11,
	},
	{
		.id = "P12",
		.name = "gdr-module",
		.severity = RS_CRITICAL,
		.criterion =
			"NICs can register GPU memory: a peer memory interface that the NCCL in "
			"use accepts, or dma-buf.",
		.authority = "NCCL's tagged sources (peer memory by release, dma-buf from 2.13); "
			     "Linux 5.12 (dma-buf in ib_core)",
		.explain =
			"nv_mem up to 2.8; nvidia-peermem, too, from 2.9 to 2.21; nv_mem_nc from "
			"2.22; the module's own directory from 2.23. dma-buf needs the open GPU "
			"module and makes all of these unnecessary. A log with GDRDMA outranks a "
			"list of modules.",
		.run = device_p12,
	},
	{
		.id = "P13",
		.name = "bar1",
		.severity = RS_MAJOR,
		.criterion = "BAR1 of a data-centre GPU maps all of its memory.",
		.authority = "NVIDIA's GPUDirect RDMA guide (BAR space)",
		.explain = "256 MiB means that Above 4G Decoding or Resizable BAR is off. Display "
			   "cards and MIG are left out.",
		.run = device_p13,
	},
	{
		.id = "P14",
		.name = "aer-and-kernel-log",
		.severity = RS_MAJOR,
		.criterion = "No fatal or non-fatal PCIe errors between two readings, at most one "
			     "correctable a minute, no fault of a GPU or NIC in the kernel's log.",
		.authority =
			"PCI Express Base Specification 6.2 (errors); Linux Documentation/ABI, "
			"aer_dev_*",
		.explain =
			"Counters since boot are a hint. Device Status bits (CorrErr+, UnsupReq+) "
			"stick from enumeration and are not looked at.",
		.run = p14,
	},
	{0},
};
