/* Checks of what stands between a GPU and a NIC: ACS redirection on bridges (PCI Express Base
 * Specification 7.7.11.3), the IOMMU; NCCL's rules of GPUDirect. */
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/rules/pcie.h"

/* ---- P04, P05 ---- */

enum { ACS_REDIRECT = 0x04, ACS_COMPLETION = 0x08, ACS_UPSTREAM = 0x10 };

/* Does the command line leave host devices untranslated? Of words that say one thing and another
 * the last counts (Documentation/admin-guide/kernel-parameters). */
static bool passthrough(const char *cmdline)
{
	enum { OFF, PASS };
	static const struct {
		const char *word;
		int what;
		bool is;
	} words[] = {
		{"intel_iommu=off", OFF, true},
		{"intel_iommu=on", OFF, false},
		{"amd_iommu=off", OFF, true},
		{"amd_iommu=on", OFF, false},
		{"iommu=off", OFF, true},
		{"iommu=pt", PASS, true},
		{"iommu=nopt", PASS, false},
		{"iommu.passthrough=1", PASS, true},
		{"iommu.passthrough=0", PASS, false},
	};
	bool is[] = {[OFF] = false, [PASS] = false};

	for (const char *p = cmdline; *p; p += strcspn(p, " \t\n"), p += strspn(p, " \t\n"))
		for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
			size_t n = strlen(words[i].word);

			/* "intel_iommu=on,sm_on" */
			if (!strncmp(p, words[i].word, n) && (!p[n] || strchr(" ,\t\n", p[n])))
				is[words[i].what] = words[i].is;
		}
	return is[OFF] || is[PASS];
}

/* 1: addresses of DMA are translated; 0: they are not; -1: not known. */
static int iommu_translates(const struct rs_audit *a, const char *host, const struct rs_fact **why)
{
	const struct rs_fact *cmdline = rs_facts_get(a->facts, host, "host", "cmdline");
	const struct rs_fact *def = rs_facts_get(a->facts, host, "host", "iommu_default");
	const struct rs_fact *group;
	uint32_t at = 0;

	*why = def;
	if (def)
		return !strncasecmp(def->value, "Translated", 10);
	/* sysfs: the domain of each group; one that translates is enough to ask which */
	while ((group = rs_facts_next(a->facts, &at, host, "host", "iommu_group_type/"))) {
		*why = group;
		if (strcmp(group->value, "identity"))
			return 1;
	}
	if (*why)
		return 0;
	*why = cmdline;
	if (cmdline && passthrough(cmdline->value))
		return 0;
	/* a silent command line leaves it to the distribution's default */
	return -1;
}

/* Has something below it, or is not known to be an endpoint: its ACS Control is a port's. */
static bool is_port(const struct rs_audit *a, const char *host, const char *pci)
{
	const char *k = rs_look_kind(a, host, pci);

	return !*k || !strcmp(k, "bridge");
}

/* How GPUs and NICs of a host meet, as far as the tree is known. */
struct meeting {
	bool known; /* a GPU and a NIC with the bridges above them */
	bool below; /* some pair meets below a switch */
	unsigned n;
	const char *port[64]; /* ports between such a pair and where it meets */
};

static void add_ports(struct meeting *m, const char *const *above, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bool has = false;

		for (unsigned k = 0; k < m->n; k++)
			has |= !strcmp(m->port[k], above[i]);
		if (!has && m->n < 64)
			m->port[m->n++] = above[i];
	}
}

enum { ROOT_PORT = 4 };

/* Is what is above this bridge known? A listing of some functions alone ends anywhere. */
static bool at_root(const struct rs_audit *a, const char *host, const char *bridge)
{
	const struct rs_fact *up = rs_facts_get(a->facts, host, bridge, "parent");

	return up || rs_look_number(a, host, bridge, "port_type", -1) == ROOT_PORT;
}

/* Ports of one bus, which the switch that they belong to joins, though it was not shown. */
static bool siblings(const char *x, const char *y)
{
	const char *end = strrchr(x, ':');

	return end && !strncmp(x, y, (size_t)(end - x));
}

static void meet(const struct rs_audit *a, const char *host, const char *gpu, const char *nic,
		 struct meeting *m)
{
	const char *x[RS_LOOK_ABOVE], *y[RS_LOOK_ABOVE];
	unsigned n = rs_look_above(a, host, gpu, x, RS_LOOK_ABOVE);
	unsigned k = rs_look_above(a, host, nic, y, RS_LOOK_ABOVE);

	m->known |= n && k;
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < k; j++)
			if (!strcmp(x[i], y[j])) {
				m->below = true;
				add_ports(m, x, i);
				add_ports(m, y, j);
				return;
			}
	if (n && k && !at_root(a, host, x[n - 1]) && !at_root(a, host, y[k - 1]) &&
	    siblings(x[n - 1], y[k - 1])) {
		m->below = true;
		add_ports(m, x, n);
		add_ports(m, y, k);
	}
}

/* nvidia-smi shows pairs of GPUs and NICs, and none meets below the root complex. */
static bool apart(const struct rs_audit *a, const char *host)
{
	const char *nic;
	uint32_t at = 0;
	bool seen = false;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		int near = rs_look_nearest(a, host, nic);

		if (near > 0 && near <= RS_PXB)
			return false;
		seen |= near > 0;
	}
	return seen;
}

static struct meeting meetings(const struct rs_audit *a, const char *host)
{
	struct meeting m = {.known = false};
	const char *gpu, *nic;
	uint32_t at = 0;

	while ((gpu = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		uint32_t next = 0;

		if (strcmp(rs_look_kind(a, host, gpu), "gpu"))
			continue;
		while ((nic = rs_facts_subject(a->facts, &next, host, "pci/")))
			if (!strcmp(rs_look_kind(a, host, nic), "nic"))
				meet(a, host, gpu, nic, &m);
	}
	/* without a tree nvidia-smi's matrix tells whether they meet below a switch at all */
	if (!m.known)
		m.known = apart(a, host);
	return m;
}

/* Does this port lie between a GPU and a NIC? Where the tree is not known, it may. */
static bool between(const struct meeting *m, const char *pci)
{
	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(m->port[i], pci))
			return true;
	return !m->known;
}

static bool redirects(const struct rs_fact *acs)
{
	return acs && acs->numeric && acs->number & (ACS_REDIRECT | ACS_COMPLETION | ACS_UPSTREAM);
}

static void p04_port(struct rs_audit *a, struct rs_finding *f, const char *host, const char *pci,
		     const struct rs_fact *acs)
{
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, acs);
	if (strncmp(pci, "pci/unnamed", 11))
		rs_finding_fix(a, f, host, false, NULL,
			       rs_audit_text(a, "setpci -s %s ECAP_ACS+6.w=%04llx", pci + 4,
					     (long long)acs->number),
			       "setpci -s %s ECAP_ACS+6.w=0000", pci + 4);
}

/* Registers of no port between a GPU and a NIC were shown: neither ACS nor Device Control. */
static bool hidden_ports(const struct rs_audit *a, const char *host, const struct meeting *m)
{
	if (!m->below || rs_look_guest(a, host))
		return false;
	for (unsigned i = 0; i < m->n; i++)
		if (rs_facts_get(a->facts, host, m->port[i], "mps"))
			return false;
	return true;
}

static void p04_done(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct meeting *m, unsigned harmless, unsigned elsewhere)
{
	struct rs_finding *f;

	if (elsewhere && m->known && !m->below)
		f = rs_finding_new(a, r, RS_NA, RS_CRITICAL,
				   "ACS redirects at %u ports; GPUs and NICs meet at the root "
				   "complex alone, where redirection changes nothing (P05 counts)",
				   elsewhere);
	else if (elsewhere && (!m->below || harmless))
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "no port between a GPU and a NIC redirects; %u elsewhere do",
				   elsewhere);
	else if (harmless)
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "no PCIe port of %u redirects peer-to-peer requests", harmless);
	else if (hidden_ports(a, host, m)) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "GPUs and NICs meet below a PCIe switch; what ACS does at its "
				   "ports was not shown");
		rs_finding_need(a, f, "lspci -vvv as root",
				"ACSCtl lies beyond byte 64 of configuration space, which users do "
				"not see");
	} else {
		return;
	}
	rs_finding_subject(a, f, host, NULL);
}

static void p04_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct meeting m = meetings(a, host);
	unsigned harmless = 0, elsewhere = 0, unnamed = 0;
	struct rs_finding *f = NULL;
	const char *ports = "";
	const struct rs_fact *why;
	const char *pci;
	uint32_t at = 0;

	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		const struct rs_fact *acs = rs_facts_get(a->facts, host, pci, "acs_control");

		if (!acs || !acs->numeric || !is_port(a, host, pci))
			continue;
		if (!redirects(acs) || !between(&m, pci)) {
			harmless += !redirects(acs);
			elsewhere += redirects(acs);
			continue;
		}
		if (!f) {
			f = rs_finding_new(
				a, r, rs_look_guest(a, host) ? RS_NA : RS_FAIL, RS_CRITICAL,
				"ACS redirects peer-to-peer requests at PCIe switch ports");
			rs_finding_why(
				a, f,
				"each transfer between a GPU and a NIC below one switch climbs "
				"to the root complex and back instead of turning at the "
				"switch; perftest may still reach line rate, NCCL does not. "
				"Source Validation alone is harmless and not counted");
		}
		unnamed += !strncmp(pci, "pci/unnamed", 11);
		ports = rs_audit_text(a, "%s%s%s", ports, *ports ? ";" : "", pci + 4);
		p04_port(a, f, host, pci, acs);
	}
	if (!f) {
		p04_done(a, r, host, &m, harmless, elsewhere);
		return;
	}
	if (iommu_translates(a, host, &why) == 1)
		rs_finding_fact(f, why);
	rs_finding_fix(a, f, host, true, "reboot", "remove it from the command line",
		       "pci=disable_acs_redir=%s  # kernel command line",
		       *ports && !unnamed ? ports : "<bridges>");
	if (!unnamed && m.known)
		return;
	f->confidence = RS_MEDIUM;
	rs_finding_need(a, f, "lspci -vvv as root, whole",
			"which ports these are, and whether a GPU and a NIC are below one");
}

/* Measured: peer-to-peer is slower than the way through the host's memory. */
static void p04_measured(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *pairs = rs_facts_get(a->facts, host, "p2p_test", "pairs");
	const struct rs_fact *slower = rs_facts_get(a->facts, host, "p2p_test", "slower");
	struct rs_finding *f;

	if (!pairs || !slower || !slower->numeric || slower->number < 1)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "peer-to-peer is less than half as fast as the way through the host's "
			   "memory, on %lld of %lld pairs of GPUs",
			   (long long)slower->number, (long long)pairs->number);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, rs_facts_get(a->facts, host, "p2p_test", "worst"));
	rs_finding_why(a, f,
		       "what lies between the GPUs holds their requests back: ACS that sends them "
		       "to the root complex, an IOMMU that translates them, or a root complex that "
		       "passes them on slowly");
	rs_finding_need(a, f, "lspci -vvv | grep -i acsctl; cat /proc/cmdline; nvidia-smi topo -m",
			"which of them it is");
	if (f)
		f->confidence = RS_MEDIUM;
}

void pcie_p04(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		p04_measured(a, r, rs_facts_host(a->facts, i));
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		p04_host(a, r, rs_facts_host(a->facts, i));
}

/* A silent command line says nothing: what the distribution chose, the kernel's log does. */
static void p05_unknown(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *cmdline = rs_facts_get(a->facts, host, "host", "cmdline");
	struct rs_finding *f;

	if (!cmdline || !rs_look_has_gpu(a, host) || !rs_look_has_rdma(a, host))
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
			   "the command line does not say whether DMA is translated");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, cmdline);
	rs_finding_need(a, f, "dmesg | grep -i iommu, /sys/kernel/iommu_groups/*/type",
			"the distribution's default");
}

/* It translates, and neither the tree nor ACS was seen. Who wrote intel_iommu=on without iommu=pt
 * is told; what a distribution chose is asked for. */
static struct rs_finding *p05_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *cmdline = rs_facts_value(a->facts, host, "host", "cmdline");
	bool told = cmdline && strstr(cmdline, "iommu=on");
	struct rs_finding *f = rs_finding_new(
		a, r, told ? RS_FAIL : RS_UNKNOWN, told ? RS_MINOR : RS_MAJOR,
		"the IOMMU translates DMA; which way GPUs and NICs reach each other was not seen");

	if (f) {
		f->confidence = RS_MEDIUM;
		f->states_failure = told;
	}
	if (told)
		rs_finding_fix(a, f, host, true, "reboot", "remove it from the command line",
			       "iommu=pt  # kernel command line, with intel_iommu=on or "
			       "amd_iommu=on; then update-grub");
	rs_finding_need(a, f, "lspci -vvv as root",
			"whether requests between peers pass the root complex");
	return f;
}

void pcie_p05(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		const struct rs_fact *why;
		int translates = iommu_translates(a, host, &why);
		struct meeting m = meetings(a, host);
		bool redirected = false, acs_seen = false;
		struct rs_finding *f;
		uint32_t at = 0;

		if (translates < 0) {
			p05_unknown(a, r, host);
			continue;
		}
		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
			const struct rs_fact *acs =
				rs_facts_get(a->facts, host, pci, "acs_control");

			acs_seen |= acs != NULL;
			redirected |= redirects(acs) && is_port(a, host, pci) && between(&m, pci);
		}
		if (translates && redirected) {
			f = rs_finding_new(
				a, r, RS_FAIL, RS_MAJOR,
				"the IOMMU translates DMA, and peer-to-peer requests are sent "
				"through it");
			rs_finding_fix(a, f, host, true, "reboot",
				       "remove it from the command line",
				       "iommu=pt  # kernel command line, with intel_iommu=on or "
				       "amd_iommu=on; then update-grub");
			rs_finding_why(
				a, f,
				"each peer-to-peer TLP is translated at the root complex; with "
				"iommu=pt host devices keep their addresses");
		} else if (translates && m.known && !m.below) {
			f = rs_finding_new(
				a, r, RS_FAIL, RS_INFO,
				"the IOMMU translates what GPUs and NICs send each other: "
				"they meet at the root complex alone");
			rs_finding_why(a, f,
				       "NCCL uses no GPUDirect so far by default; where it is "
				       "forced, iommu=pt spares the translation");
		} else if (translates && !m.known && !acs_seen) {
			f = p05_unseen(a, r, host);
		} else {
			f = rs_finding_new(
				a, r, RS_PASS, RS_MAJOR,
				translates ? "the IOMMU translates, off the peer-to-peer path"
					   : "DMA is not translated");
		}
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, why);
	}
}
