/* Checks of PCIe and topology. PCI Express Base Specification: link rates and coding (chapter 4),
 * ACS Control (7.7.11.3); NCCL's rules of GPUDirect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/rules/rule.h"

/* ---- P01 ---- */

/* Gb/s of a link after line coding: 8/10 up to 5 GT/s, 128/130 to 32, 236/256 in FLIT mode. */
static double link_gbps(int64_t tenths_gts, int64_t lanes)
{
	double coding = tenths_gts <= 50 ? 0.8 : tenths_gts <= 320 ? 128.0 / 130.0 : 236.0 / 256.0;

	return (double)tenths_gts / 10 * (double)lanes * coding;
}

/* hwloc keeps a link's bandwidth after coding alone, in GB/s. */
static double link_bandwidth(const struct rs_audit *a, const char *host, const char *pci)
{
	const char *v = rs_facts_value(a->facts, host, pci, "link_gbytes");

	return v ? strtod(v, NULL) * 8 : 0;
}

static bool link_of(const struct rs_audit *a, const char *host, const char *pci, int64_t *speed,
		    int64_t *width)
{
	return rs_facts_number(a->facts, host, pci, "link_speed", speed) &&
	       rs_facts_number(a->facts, host, pci, "link_width", width) && *speed > 0 &&
	       *width > 0;
}

enum { ABOVE = 16 };

/* The rate of the active ports behind a hop: of the functions in this very slot, or below this
 * bridge. 0: not known. */
static int64_t rate_behind(const struct rs_audit *a, const char *host, const char *hop, bool slot)
{
	const char *nic, *above[ABOVE];
	int64_t sum = 0;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *state = rs_facts_value(a->facts, host, nic, "port_state");
		bool behind = false;
		char own[160];

		if (!rs_look_pci_of(a, host, nic, own, sizeof(own)) ||
		    (state && strcasecmp(state, "ACTIVE")))
			continue;
		/* functions of a card share its slot: 18:00.0 and 18:00.1 */
		if (slot)
			behind = strlen(own) == strlen(hop) && !strncmp(own, hop, strlen(hop) - 1);
		else
			for (unsigned i = rs_look_above(a, host, own, above, ABOVE);
			     i-- && !behind;)
				behind = !strcmp(above[i], hop);
		if (behind)
			sum += rs_look_port_rate(a, host, nic);
	}
	return sum;
}

struct link {
	const char *at;               /* the function whose Link Status it is */
	int64_t speed, width, rate;   /* rate: of the ports behind it */
	int64_t can_speed, can_width; /* what both ends can do; 0: not known */
	double coded;                 /* Gb/s, where speed and width are not known */
	double have, need;            /* Gb/s of data */
};

static bool link_read(const struct rs_audit *a, const char *host, const char *pci, const char *up,
		      bool slot, struct link *l)
{
	int64_t other;

	*l = (struct link){.at = pci};
	if (!link_of(a, host, pci, &l->speed, &l->width)) {
		l->speed = l->width = 0;
		l->coded = link_bandwidth(a, host, pci);
		l->rate = rate_behind(a, host, pci, slot);
		l->have = l->coded * 256 / 280;
		l->need = (double)l->rate * 4096 / 4178;
		return l->coded > 0;
	}
	l->can_speed = rs_look_number(a, host, pci, "max_link_speed", 0);
	/* a slot wired narrower than the card is the platform's design: both ends must be known */
	if (up) {
		other = rs_look_number(a, host, up, "max_link_speed", 0);
		if (other && other < l->can_speed)
			l->can_speed = other;
		other = rs_look_number(a, host, up, "max_link_width", 0);
		l->can_width = rs_look_number(a, host, pci, "max_link_width", 0);
		l->can_width = other < l->can_width ? other : l->can_width;
	}
	l->rate = rate_behind(a, host, pci, slot);
	/* TLPs at MPS 256: 24 bytes of framing, header and LCRC (PCIe chapters 2 to 4) */
	l->have = link_gbps(l->speed, l->width) * 256 / 280;
	/* RoCE at path MTU 4096: 82 bytes a packet beside the payload */
	l->need = (double)l->rate * 4096 / 4178;
	return true;
}

static bool trained_down(const struct link *l)
{
	return l->speed < l->can_speed || (l->can_width && l->width < l->can_width);
}

/* The link on the way to the root that leaves the least of what is needed; without rates, the NIC's
 * own. false: no link is known. */
static bool worst_link(const struct rs_audit *a, const char *host, const char *pci, struct link *w)
{
	const char *above[ABOVE];
	unsigned n = rs_look_above(a, host, pci, above, ABOVE);
	struct link l;
	bool found = link_read(a, host, pci, n ? above[0] : NULL, true, w);

	/* a bridge's own Link Status is of the link above it when it is a switch's upstream port; a
	 * downstream or root port's repeats what the function below it says */
	for (unsigned i = 0; i < n; i++) {
		if (!link_read(a, host, above[i], i + 1 < n ? above[i + 1] : NULL, false, &l) ||
		    !l.rate)
			continue;
		if (!found || l.have / l.need < w->have / (w->need > 0 ? w->need : 1e9))
			*w = l;
		found = true;
	}
	return found;
}

static void p01_fail(struct rs_audit *a, struct rs_finding *f, const char *host, const char *pci,
		     const struct link *l)
{
	const char *above[ABOVE];

	rs_finding_why(a, f,
		       trained_down(l)
			       ? "a link below what both ends can do was trained so by a bad "
				 "contact, a retimer or the BIOS"
			       : "this link is what limits the NIC, by the platform's design");
	if (!trained_down(l))
		return;
	rs_finding_fix(a, f, host, true, "the slot's devices, and a reboot", NULL,
		       "set the slot's speed to Auto in the BIOS; reseat the card");
	rs_finding_choice(f);
	if (rs_look_above(a, host, l->at, above, ABOVE))
		rs_finding_fix(a, f, host, false, "the link, for some milliseconds", NULL,
			       "setpci -s %s CAP_EXP+10.w=0020:0020", above[0] + 4);
	else
		rs_finding_fix(a, f, host, false, "the link, for some milliseconds", NULL,
			       "setpci -s <bridge above %s> CAP_EXP+10.w=0020:0020", pci + 4);
}

/* "16.0 GT/s x16", or what hwloc knows of it. */
static const char *runs_at(struct rs_audit *a, const struct link *l)
{
	if (!l->width)
		return rs_audit_text(a, "%.2f GB/s", l->coded / 8);
	return rs_audit_text(a, "%.1f GT/s x%lld", (double)l->speed / 10, (long long)l->width);
}

static void p01_nic(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *pci)
{
	const char *where;
	struct rs_finding *f;
	struct link l;
	bool down;

	/* a hypervisor's links are emulated: cosmetic */
	if (rs_look_guest(a, host) || !worst_link(a, host, pci, &l))
		return;
	down = trained_down(&l);
	where = strcmp(l.at, pci) ? rs_audit_text(a, "the link at %s on its way", l.at + 4)
				  : "the slot";
	if (!l.rate && !down) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "%s, and the port's rate is not known", runs_at(a, &l));
		rs_finding_need(a, f, "/sys/class/infiniband/<dev>/ports/1/rate",
				"what the slot must carry");
	} else if (!l.rate) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "%s runs at %s and is capable of %.1f GT/s%s: downtrained",
				   where, runs_at(a, &l), (double)l.can_speed / 10,
				   l.can_width ? rs_audit_text(a, " x%lld", (long long)l.can_width)
					       : "");
		p01_fail(a, f, host, pci, &l);
	} else if (l.have < l.need * 0.98) {
		f = rs_finding_new(a, r, RS_FAIL, down ? RS_MAJOR : RS_MINOR,
				   "%s runs at %s: %.0f Gb/s of data, for ports of %lld Gb/s%s",
				   where, runs_at(a, &l), l.have, (long long)l.rate,
				   down ? "; it is capable of more: downtrained" : "");
		p01_fail(a, f, host, pci, &l);
	} else {
		f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
				   "%.0f Gb/s of data for ports of %lld Gb/s", l.have,
				   (long long)l.rate);
	}
	rs_finding_subject(a, f, host, pci + 4);
	if (strcmp(l.at, pci))
		rs_finding_subject(a, f, host, l.at + 4);
	rs_finding_fact(f, rs_facts_get(a->facts, host, l.at, "link_speed"));
	rs_finding_fact(f, rs_facts_get(a->facts, host, l.at, "link_width"));
	if (!l.width)
		rs_finding_fact(f, rs_facts_get(a->facts, host, l.at, "link_gbytes"));
	rs_finding_fact(f, rs_facts_get(a->facts, host, l.at, "max_link_speed"));
}

static void p01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		uint32_t at = 0;

		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
			if (!strcmp(rs_look_kind(a, host, pci), "nic"))
				p01_nic(a, r, host, pci);
	}
}

/* ---- P04, P05 ---- */

enum { ACS_REDIRECT = 0x04, ACS_COMPLETION = 0x08, ACS_UPSTREAM = 0x10 };

static bool passthrough(const char *cmdline)
{
	return strstr(cmdline, "iommu=pt") || strstr(cmdline, "iommu.passthrough=1") ||
	       strstr(cmdline, "intel_iommu=off") || strstr(cmdline, "amd_iommu=off");
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

static void meet(const struct rs_audit *a, const char *host, const char *gpu, const char *nic,
		 struct meeting *m)
{
	const char *x[ABOVE], *y[ABOVE];
	unsigned n = rs_look_above(a, host, gpu, x, ABOVE);
	unsigned k = rs_look_above(a, host, nic, y, ABOVE);

	m->known |= n && k;
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < k; j++)
			if (!strcmp(x[i], y[j])) {
				m->below = true;
				add_ports(m, x, i);
				add_ports(m, y, j);
				return;
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

static void p04(struct rs_audit *a, const struct rs_rule *r)
{
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

static void p05(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		const struct rs_fact *why;
		int translates = iommu_translates(a, host, &why);
		struct meeting m = meetings(a, host);
		bool redirected = false;
		struct rs_finding *f;
		uint32_t at = 0;

		if (translates < 0) {
			p05_unknown(a, r, host);
			continue;
		}
		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
			redirected |= redirects(rs_facts_get(a->facts, host, pci, "acs_control")) &&
				      is_port(a, host, pci) && between(&m, pci);
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

/* ---- P07 ---- */

enum { GPUS = 32, NICS = 64 };

static int distance_rank(const char *d)
{
	static const char *const order[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

	for (int i = 0; i < 6; i++)
		if (!strcmp(d, order[i]))
			return i;
	return -1;
}

struct board {
	unsigned gpus, nics;
	int rank[GPUS][NICS];
	const struct rs_fact *fact[GPUS][NICS];
	char nic[NICS][64];
	bool used[NICS];
};

static const char *nic_of_column(const struct rs_audit *a, const char *host, const char *column)
{
	char name[96];
	const char *real;

	snprintf(name, sizeof(name), "nic_name/%s", column);
	real = rs_facts_value(a->facts, host, "topo", name);
	return real ? real : column;
}

/* The same of the PCI tree and the sockets, where all pairs are known. */
static void board_of_tree(const struct rs_audit *a, const char *host, struct board *b)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	const char *gpu, *nic;
	uint32_t at = 0;

	if (rs_look_guest(a, host))
		return;
	while (b->gpus < GPUS && (gpu = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		uint32_t next = 0, own;

		if (strcmp(rs_look_kind(a, host, gpu), "gpu"))
			continue;
		b->nics = 0;
		while (b->nics < NICS && (nic = rs_facts_subject(a->facts, &next, host, "nic/"))) {
			char pci[160];
			int d;

			if (!rs_look_pci_of(a, host, nic, pci, sizeof(pci)))
				continue;
			d = rs_look_between(a, host, gpu, pci);
			if (d < 0) {
				b->gpus = b->nics = 0;
				return;
			}
			snprintf(b->nic[b->nics], sizeof(b->nic[0]), "%s", nic + 4);
			b->used[b->nics] = !hca || rs_look_hca(hca->value, nic + 4);
			b->rank[b->gpus][b->nics] = d;
			own = rs_facts_seek(a->facts, host, nic);
			b->fact[b->gpus][b->nics++] = rs_facts_next(a->facts, &own, host, nic, "");
		}
		b->gpus++;
	}
}

static void board_read(const struct rs_audit *a, const char *host, struct board *b)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA"), *f;
	uint32_t at = 0;

	memset(b, 0, sizeof(*b));
	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		unsigned gpu, n = 0;
		char column[64];
		const char *nic;

		if (sscanf(f->name, "distance/GPU%u/%63s", &gpu, column) != 2 || gpu >= GPUS ||
		    !strncmp(column, "GPU", 3) || distance_rank(f->value) < 0)
			continue;
		nic = nic_of_column(a, host, column);
		while (n < b->nics && strcmp(b->nic[n], nic))
			n++;
		if (n == NICS)
			continue;
		if (n == b->nics) {
			snprintf(b->nic[b->nics++], sizeof(b->nic[0]), "%s", nic);
			/* columns without a legend cannot be told from the list: all count */
			b->used[n] =
				!hca || !strncmp(nic, "NIC", 3) || rs_look_hca(hca->value, nic);
		}
		b->rank[gpu][n] = distance_rank(f->value);
		b->fact[gpu][n] = f;
		if (gpu >= b->gpus)
			b->gpus = gpu + 1;
	}
	if (!b->gpus)
		board_of_tree(a, host, b);
}

/* Augmenting paths (Kuhn): can every GPU have a NIC of its own no farther than `most`? */
static bool assign(const struct board *b, unsigned gpu, int most, const bool *allowed, bool *seen,
		   int *of)
{
	for (unsigned n = 0; n < b->nics; n++) {
		if (!allowed[n] || seen[n] || !b->fact[gpu][n] || b->rank[gpu][n] > most)
			continue;
		seen[n] = true;
		if (of[n] < 0 || assign(b, (unsigned)of[n], most, allowed, seen, of)) {
			of[n] = (int)gpu;
			return true;
		}
	}
	return false;
}

/* The least distance at which all GPUs have a NIC; each a NIC of its own if there are enough. */
static int best(const struct board *b, const bool *allowed)
{
	unsigned nics = 0;

	for (unsigned n = 0; n < b->nics; n++)
		nics += allowed[n];
	for (int most = 1; most <= 5; most++) {
		unsigned done = 0;
		int of[NICS];

		memset(of, 0xff, sizeof(of));
		for (unsigned g = 0; g < b->gpus; g++) {
			bool seen[NICS] = {false}, shared = false;

			if (nics >= b->gpus) {
				done += assign(b, g, most, allowed, seen, of);
				continue;
			}
			for (unsigned n = 0; n < b->nics; n++)
				shared |= allowed[n] && b->fact[g][n] && b->rank[g][n] <= most;
			done += shared;
		}
		if (done == b->gpus)
			return most;
	}
	return 6;
}

/* The board's NICs that are this near to some GPU, as a list. */
static const char *nearest_nics(struct rs_audit *a, const struct board *b, int most)
{
	const char *text = "";

	for (unsigned n = 0; n < b->nics; n++) {
		bool near = false;

		for (unsigned g = 0; g < b->gpus; g++)
			near |= b->fact[g][n] && b->rank[g][n] <= most;
		if (near)
			text = rs_audit_text(a, "%s%s%s", text, *text ? "," : "", b->nic[n]);
	}
	return text;
}

static void p07(struct rs_audit *a, const struct rs_rule *r)
{
	static const char *const name[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "nothing"};

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		bool all[NICS];
		struct rs_finding *f;
		struct board b;
		int have, could;

		board_read(a, host, &b);
		if ((!b.gpus || !b.nics) && !rs_look_guest(a, host) && rs_look_has_gpu(a, host) &&
		    rs_look_has_rdma(a, host)) {
			f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
					   "how near GPUs and NICs are is not known");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_need(a, f, "nvidia-smi topo -m, or lspci -tv",
					"whether each GPU uses the NIC next to it");
		}
		if (!b.gpus || !b.nics)
			continue;
		memset(all, true, sizeof(all));
		have = best(&b, b.used);
		could = best(&b, all);
		if (have > could) {
			f = rs_finding_new(
				a, r, RS_FAIL, RS_MAJOR,
				"the NICs in use are %s from some GPU; with all of the board's it "
				"would be %s",
				name[have], name[could]);
			rs_finding_why(a, f,
				       "NCCL uses GPUDirect RDMA up to PXB by default; farther, "
				       "data crosses "
				       "the CPU or the socket interconnect");
			rs_finding_fix(a, f, host, true, NULL,
				       rs_audit_text(a, "NCCL_IB_HCA=%s",
						     rs_nccl_env(a, host, "NCCL_IB_HCA")->value),
				       "NCCL_IB_HCA==%s", nearest_nics(a, &b, could));
		} else {
			f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
					   "each GPU has a NIC at %s or nearer%s", name[have],
					   have > 2 ? ", the best that the board offers" : "");
		}
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, rs_nccl_env(a, host, "NCCL_IB_HCA"));
	}
}

/* ---- P08, P09 ---- */

/* What a cloud's daemon leaves where NCCL looks by itself: a fact out of it. */
static const struct rs_fact *cloud_file(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "pci/", "")))
		if (strstr(f->file, "virtualTopology.xml"))
			return f;
	return NULL;
}

static void p09_judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const struct rs_fact *some, const char *what)
{
	const struct rs_fact *virtual = rs_facts_get(a->facts, host, "host", "virtual");
	struct rs_finding *f;

	if (rs_nccl_env(a, host, "NCCL_TOPO_FILE") || cloud_file(a, host)) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "a flat guest with a topology file");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, rs_nccl_env(a, host, "NCCL_TOPO_FILE"));
		rs_finding_fact(f, cloud_file(a, host));
		return;
	}
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL, "%s, and there is no NCCL_TOPO_FILE", what);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_why(a, f,
		       "a virtual machine hides the PCIe tree, so NCCL cannot pair GPUs with their "
		       "NICs and turns GPUDirect off. Link speeds that the guest shows for "
		       "emulated ports (2.5 GT/s x1) are cosmetic");
	rs_finding_fix(a, f, host, true, NULL, "unset NCCL_TOPO_FILE",
		       "NCCL_TOPO_FILE=<XML made from the bare-metal twin: NCCL_TOPO_DUMP_FILE>");
	rs_finding_choice(f);
	rs_finding_fix(a, f, "the hypervisor", true, "the guest's restart", NULL,
		       "give the guest NUMA cells and a pxb-pcie bus with switches a cell");
	rs_finding_fact(f, some);
	rs_finding_fact(f, virtual);
}

/* nvidia-smi's matrix of a guest: several GPUs and NICs, and all pairs are alike and far. */
static void p09_matrix(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *f, *first = NULL;
	unsigned gpus = 0, pairs = 0, x;
	uint32_t at = 0;

	if (!rs_look_guest(a, host))
		return;
	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		char column[64];

		if (sscanf(f->name, "distance/GPU%u/%63s", &x, column) != 2 ||
		    !strncmp(column, "GPU", 3))
			continue;
		first = first ? first : f;
		gpus = x >= gpus ? x + 1 : gpus;
		pairs++;
		if (strcmp(f->value, first->value) || !strcmp(f->value, "PIX") ||
		    !strcmp(f->value, "PXB"))
			return;
	}
	if (!pairs && rs_look_has_gpu(a, host) && rs_look_has_rdma(a, host) &&
	    !rs_nccl_env(a, host, "NCCL_TOPO_FILE")) {
		struct rs_finding *u =
			rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				       "a guest with GPUs and NICs; what it sees of PCIe is not "
				       "known");

		rs_finding_subject(a, u, host, NULL);
		rs_finding_need(a, u, "lspci -tv, or nvidia-smi topo -m",
				"whether GPUs and NICs are below switches");
	}
	if (gpus < 2 || pairs < 2 * gpus)
		return;
	p09_judge(a, r, host, first,
		  rs_audit_text(a, "all %u pairs of GPUs and NICs of this guest are %s", pairs,
				first->value));
}

static void p09(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		unsigned gpus = 0, nics = 0, flat = 0, without_node = 0;
		const struct rs_fact *virtual = rs_facts_get(a->facts, host, "host", "virtual");
		const struct rs_fact *some = NULL;
		uint32_t at = 0;

		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
			const char *k = rs_look_kind(a, host, pci);
			const struct rs_fact *above =
				rs_facts_get(a->facts, host, pci, "bridges_above");
			int64_t node;

			if (strcmp(k, "gpu") && strcmp(k, "nic"))
				continue;
			gpus += *k == 'g';
			nics += *k == 'n';
			/* one bridge is the root port: a switch is one more */
			if (above && above->numeric && above->number <= 1) {
				flat++;
				some = some ? some : above;
			}
			without_node += rs_facts_number(a->facts, host, pci, "numa_node", &node) &&
					node < 0;
		}
		if (!gpus && !nics)
			p09_matrix(a, r, host);
		if (!gpus || !nics || flat < gpus + nics)
			continue;
		/* bare metal shows NUMA nodes, or has a switch on the way; a guest shows neither */
		if (!virtual && without_node < gpus + nics)
			continue;
		p09_judge(a, r, host, some,
			  rs_audit_text(a,
					"%u GPUs and %u NICs on a flat PCI bus%s: no GPU shares a "
					"switch with a NIC",
					gpus, nics,
					without_node ? ", without NUMA nodes (-1)" : ""));
	}
}

const struct rs_rule rs_rules_pcie[] = {
	{
		.id = "P01",
		.name = "pcie-path-rate",
		.severity = RS_MAJOR,
		.criterion = "The slot's data rate, after coding and TLP headers, is at least the "
			     "ports' RoCE "
			     "goodput.",
		.authority = "PCI Express Base Specification, chapters 2 to 4",
		.explain = "Link rate is GT/s times lanes times coding (8/10 up to Gen2, 128/130 "
			   "to Gen5), times "
			   "256/280 for TLP headers at a payload of 256 bytes. A link below what "
			   "both ends can do is "
			   "downtrained: reseat, retimer, BIOS. A link at its maximum that is "
			   "below the port's rate is "
			   "the platform's design.",
		.run = p01,
	},
	{
		.id = "P04",
		.name = "acs-on-gpu-nic-path",
		.severity = RS_CRITICAL,
		.criterion = "No PCIe switch port between a GPU and a NIC redirects peer-to-peer "
			     "requests or "
			     "completions.",
		.authority = "PCI Express Base Specification 7.7.11.3 (ACS Control)",
		.explain = "P2P Request Redirect (bit 2), Completion Redirect (3) and Upstream "
			   "Forwarding (4) send "
			   "traffic between two devices below one switch up to the root complex. "
			   "Source Validation "
			   "(bit 0) alone does not.",
		.run = p04,
	},
	{
		.id = "P05",
		.name = "iommu-mode",
		.severity = RS_MAJOR,
		.criterion = "Where peer-to-peer traffic passes the root complex, the IOMMU does "
			     "not translate it.",
		.authority =
			"Linux kernel, admin-guide/kernel-parameters (iommu, iommu.passthrough)",
		.explain = "A translated domain makes each peer-to-peer TLP that reaches the root "
			   "complex pay for a "
			   "translation. iommu=pt leaves host devices untranslated and keeps the "
			   "IOMMU for guests.",
		.run = p05,
	},
	{
		.id = "P07",
		.name = "gpu-nic-affinity",
		.severity = RS_MAJOR,
		.criterion =
			"Each GPU's NIC is as near as the best assignment on the board allows.",
		.authority = "NCCL's topology levels (PIX, PXB, PHB, SYS)",
		.explain = "The best assignment is found by bipartite matching over the distances, "
			   "not by comparing "
			   "index with index: a reversed order is as good. One NIC for many GPUs "
			   "by design is a "
			   "property.",
		.run = p07,
	},
	{
		.id = "P09",
		.name = "vm-topology",
		.severity = RS_CRITICAL,
		.criterion = "A guest with GPUs and NICs shows their PCIe switches, or NCCL has a "
			     "topology file.",
		.authority = "NCCL's documentation of NCCL_TOPO_FILE",
		.explain = "Hypervisors put passed-through devices on a flat bus. NCCL pairs a GPU "
			   "with a NIC by their "
			   "common switch; where there is none, it stays with the CPU.",
		.run = p09,
	},
	{0},
};
