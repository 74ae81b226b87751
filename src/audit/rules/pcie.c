/* Checks of PCIe links, and the table of those of PCIe and topology. PCI Express Base
 * Specification: link rates and coding (chapter 4). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/rules/pcie.h"

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

/* The rate of the active ports behind a hop: of the functions in this very slot, or below this
 * bridge. 0: not known. */
static int64_t rate_behind(const struct rs_audit *a, const char *host, const char *hop, bool slot)
{
	const char *nic, *above[RS_LOOK_ABOVE];
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
			for (unsigned i = rs_look_above(a, host, own, above, RS_LOOK_ABOVE);
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
	const char *above[RS_LOOK_ABOVE];
	unsigned n = rs_look_above(a, host, pci, above, RS_LOOK_ABOVE);
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
	const char *above[RS_LOOK_ABOVE];

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
	if (rs_look_above(a, host, l->at, above, RS_LOOK_ABOVE))
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

/* The slot's own width is not known, but the card's is four times what runs. */
static bool is_starved(const struct rs_audit *a, const char *host, const char *pci)
{
	int64_t width = rs_look_number(a, host, pci, "link_width", 0);

	return width > 0 && rs_look_number(a, host, pci, "max_link_width", 0) >= 4 * width;
}

/* No bridge was shown, and the card has fewer lanes than it can. */
static bool is_narrowed(const struct rs_audit *a, const char *host, const char *pci)
{
	const char *above[RS_LOOK_ABOVE];
	int64_t width = rs_look_number(a, host, pci, "link_width", 0);

	return width > 0 && rs_look_number(a, host, pci, "max_link_width", 0) > width &&
	       !rs_look_above(a, host, pci, above, RS_LOOK_ABOVE);
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
	if (!l.rate && !down && is_starved(a, host, pci)) {
		f = rs_finding_new(
			a, r, RS_FAIL, RS_MAJOR,
			"the card runs with a quarter of its lanes or fewer: %s of x%lld",
			runs_at(a, &l),
			(long long)rs_look_number(a, host, pci, "max_link_width", 0));
		if (f)
			f->confidence = RS_MEDIUM;
		rs_finding_why(a, f,
			       "slots of half the width are made on purpose; fewer lanes come of a "
			       "bad contact, a riser, or the wrong slot");
		rs_finding_need(a, f, "lspci -vv of the bridge above it",
				"how wide the slot itself is");
	} else if (!l.rate && !down && is_narrowed(a, host, pci)) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
				   "the card runs with fewer lanes than it has: %s of x%lld",
				   runs_at(a, &l),
				   (long long)rs_look_number(a, host, pci, "max_link_width", 0));
		if (f) {
			f->confidence = RS_MEDIUM;
			f->states_failure = true;
		}
		rs_finding_why(a, f,
			       "a bad contact or a riser trains a link down; a slot of half the "
			       "width is made on purpose, and may carry what the port needs");
		rs_finding_need(a, f,
				"lspci -vv of the bridge above it; "
				"/sys/class/infiniband/<dev>/ports/1/rate",
				"how wide the slot itself is, and what it must carry");
	} else if (!l.rate && !down) {
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

/* A function of which nothing but its own link was shown: narrower than it can be. What is above it
 * is not known, so that the slot may be wired so. */
static void p01_alone(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *pci)
{
	const struct rs_fact *is = rs_facts_get(a->facts, host, pci, "link_width");
	const struct rs_fact *can = rs_facts_get(a->facts, host, pci, "max_link_width");
	const char *above[RS_LOOK_ABOVE];
	struct rs_finding *f;
	bool half;

	if (!is || !can || !is->numeric || !can->numeric || is->number < 1 ||
	    is->number >= can->number || can->number < 4 || /* a board's own, of 1 Gb/s */
	    rs_look_guest(a, host) || rs_look_above(a, host, pci, above, RS_LOOK_ABOVE))
		return;
	/* many boards, and most clouds' hosts, have slots of 8 lanes for GPUs */
	half = !strcmp(rs_look_kind(a, host, pci), "gpu") && is->number * 2 == can->number &&
	       is->number >= 8;
	f = rs_finding_new(a, r, RS_FAIL, half ? RS_MINOR : RS_MAJOR,
			   "the slot runs at x%lld, and its device is capable of x%lld",
			   (long long)is->number, (long long)can->number);
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, is);
	rs_finding_fact(f, can);
	rs_finding_why(
		a, f,
		"a bad contact or a retimer trains a link down; a slot that is wired narrower "
		"than the card does the same by design. The port above tells which");
	rs_finding_need(a, f, "lspci -vvv, or lspci -tv", "what the port above is capable of");
	if (!f)
		return;
	f->confidence = RS_MEDIUM;
	f->states_failure = half;
}

/* Was any bridge shown? Then a function without one above it is on the root complex. */
static bool tree_seen(const struct rs_audit *a, const char *host)
{
	const char *pci;
	uint32_t at = 0;

	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
		if (!strcmp(rs_look_kind(a, host, pci), "bridge"))
			return true;
	return false;
}

/* A disk's or a board controller's slot is no matter of the fabric's. */
static bool may_carry(const char *kind)
{
	return !*kind || !strcmp(kind, "gpu") || !strcmp(kind, "ethernet");
}

static void p01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		uint32_t at = 0;

		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
			if (!strcmp(rs_look_kind(a, host, pci), "nic"))
				p01_nic(a, r, host, pci);
			else if (may_carry(rs_look_kind(a, host, pci)) && !tree_seen(a, host))
				p01_alone(a, r, host, pci);
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
		.run = pcie_p04,
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
		.run = pcie_p05,
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
		.run = pcie_p07,
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
		.run = pcie_p09,
	},
	{0},
};
