/* What a finding costs: the audited hosts simulated as they are and with it fixed, everything else
 * alike. How large a run may be is fixed beforehand, so that the same input gives the same price.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/price/cluster.h"
#include "audit/facts/look.h"
#include "audit/price/model.h"
#include "audit/price/price.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "describe/describe.h"
#include "host/build.h"
#include "sim/sim.h"

enum { NAMES_MAX = 9, INCAST_HOSTS = 9 };

struct limits {
	uint32_t findings, hosts;
	uint64_t ring, flow; /* bytes of an all-reduce of a GPU, of a flow */
	uint64_t packets;    /* of one run, about */
	uint32_t mates;      /* at least so many hosts: copies fill up */
};

static const struct limits fast = {12, 4, 16 << 20, 8 << 20, 150000, 2};
static const struct limits full = {64, 16, 256 << 20, 64 << 20, 4000000, 4};

struct pricing {
	struct rs_audit *a;
	const struct limits *limits;
	struct rs_finding *f;
	const char *why_not; /* set: not priced */
};

/* What a fix changes in the cluster: as_is is what was audited, fixed a copy of it. */
typedef void cure(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed);

/* ---- Cures inside hosts ---- */

static bool is_subject(const struct rs_finding *f, const char *host, const struct rs_part *p)
{
	for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
		const struct rs_finding_subject *s = &f->subject[i];

		if (!strcmp(s->host, host) && (!s->part || !strcmp(s->part, p->name) ||
					       (p->busid && !strcmp(s->part, p->busid))))
			return true;
	}
	return false;
}

/* The insides of the second cluster become its own, to be changed. */
static bool own_insides(struct pricing *p, struct rs_cluster *c)
{
	struct rs_error e = {0};
	struct rs_load l = {.arena = p->a->arena, .e = &e};

	for (uint32_t i = 0; i < c->n; i++) {
		if (!c->host[i].inside) {
			p->why_not = "the hosts' PCI trees, GPUs and NICs are not known";
			return false;
		}
		c->host[i].inside = rs_host_copy(&l, c->host[i].inside);
		if (!c->host[i].inside) {
			p->why_not = "out of memory";
			return false;
		}
	}
	return true;
}

/* P01: the link as its own capability has it. */
static void mend_link(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	bool any = false;

	if (!own_insides(p, fixed))
		return;
	for (uint32_t i = 0; i < fixed->n; i++) {
		struct rs_host *h = fixed->host[i].inside;

		for (int k = 0; k < h->n_parts; k++) {
			struct rs_part *part = &h->parts[k];
			char subject[64];
			unsigned gen;
			int64_t width;

			if (!part->busid || !is_subject(p->f, fixed->host[i].name, part))
				continue;
			snprintf(subject, sizeof(subject), "pci/%s", part->busid);
			gen = rs_audit_pcie_gen(rs_look_number(p->a, fixed->host[i].name, subject,
							       "max_link_speed", 0));
			width = rs_look_number(p->a, fixed->host[i].name, subject, "max_link_width",
					       part->up.lanes);
			if (gen >= part->up.gen && width >= part->up.lanes && width <= 32 &&
			    (gen > part->up.gen || width > part->up.lanes)) {
				part->up.gen = (uint8_t)gen;
				part->up.lanes = (uint8_t)width;
				any = true;
			}
		}
	}
	if (!any)
		p->why_not = "what the link could do at best is not known";
}

/* P02: the largest payload that the devices of a host allow. */
static void mend_payload(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	if (!own_insides(p, fixed))
		return;
	for (uint32_t i = 0; i < fixed->n; i++) {
		struct rs_host *h = fixed->host[i].inside;
		int64_t most = 4096;

		for (int k = 0; k < h->n_parts; k++) {
			char subject[64];
			int64_t max;

			snprintf(subject, sizeof(subject), "pci/%s",
				 h->parts[k].busid ? h->parts[k].busid : "");
			max = rs_look_number(p->a, fixed->host[i].name, subject, "mps_max", 0);
			most = max >= 128 && max < most ? max : most;
		}
		for (int k = 0; k < h->n_parts; k++)
			if (h->parts[k].up.mps && h->parts[k].up.mps < most)
				h->parts[k].up.mps = (uint16_t)most;
	}
}

/* P03: reads of 4096 bytes under extended tags. */
static void mend_reads(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	if (!own_insides(p, fixed))
		return;
	for (uint32_t i = 0; i < fixed->n; i++)
		for (int k = 0; k < fixed->host[i].inside->n_parts; k++) {
			struct rs_part *part = &fixed->host[i].inside->parts[k];
			char subject[64];

			if (part->kind != RS_PART_NIC || !part->busid ||
			    !is_subject(p->f, fixed->host[i].name, part))
				continue;
			snprintf(subject, sizeof(subject), "pci/%s", part->busid);
			/* five bits of tags without the extended ones (PCIe 2.2.6.2) */
			if (!rs_look_number(p->a, fixed->host[i].name, subject, "ext_tag", 1))
				as_is->tags = 32;
			part->up.mrrs = 4096;
		}
}

/* P04: as it is, a GPU's and a NIC's requests climb to the root complex and come back. */
static void free_switches(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	bool any = false;

	if (!own_insides(p, as_is))
		return;
	for (uint32_t i = 0; i < as_is->n; i++) {
		struct rs_host *h = as_is->host[i].inside;
		bool concerned = false;

		for (uint32_t k = 0; k < p->f->n_subjects && k < RS_FINDING_SUBJECTS; k++)
			concerned |= !strcmp(p->f->subject[k].host, as_is->host[i].name);
		for (int k = 0; k < h->n_parts && concerned; k++) {
			struct rs_part *part = &h->parts[k];
			int top = part->parent;

			if (part->kind != RS_PART_NIC || top == RS_NO_PART ||
			    h->parts[top].kind != RS_PART_PCI_BRIDGE)
				continue;
			while (h->parts[top].parent != RS_NO_PART)
				top = h->parts[top].parent;
			part->parent = top;
			any = true;
		}
	}
	if (!any)
		p->why_not = "no GPU and NIC are known to share a PCIe switch there";
}

/* P07: as it is, GPU i uses NIC i. */
static void pair_nearest(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	if (own_insides(p, fixed))
		as_is->by_index = true;
}

/* ---- Cures of the network's classes ---- */

static void mend_mtu(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	static const uint32_t sizes[] = {4096, 2048, 1024, 512, 256};
	int64_t least = 0;

	for (uint32_t i = 0; i < p->f->n_facts; i++) {
		const struct rs_fact *k = p->f->fact[i];
		bool path = !strcmp(k->name, "active_mtu");

		if (!k->numeric || (!path && strcmp(k->name, "mtu")))
			continue;
		/* Linux keeps 96 bytes of the interface's for headers */
		if (!least || k->number - (path ? 0 : 96) < least)
			least = k->number - (path ? 0 : 96);
	}
	as_is->mtu = 0;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes) && !as_is->mtu; i++)
		if (least >= sizes[i])
			as_is->mtu = sizes[i];
	if (!as_is->mtu || as_is->mtu == fixed->mtu)
		p->why_not = "the MTU of now is not known";
}

static void make_lossless(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	as_is->load = fixed->load = RS_LOAD_INCAST;
	as_is->lossless = false;
}

/* Traffic that a switch counts in another class has neither that class's PFC nor its marks. */
static void right_class(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	make_lossless(p, as_is, fixed);
	as_is->ecn = false;
}

static void turn_ecn_on(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	as_is->load = fixed->load = RS_LOAD_BYSTANDER;
	as_is->ecn = false;
}

static void turn_cc_on(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	as_is->load = fixed->load = RS_LOAD_BYSTANDER;
	as_is->cc = false;
}

/* A job goes at the pace of its slowest rail: as it is, all have the least rate that was seen. */
static void mend_rate(struct pricing *p, struct rs_cluster *as_is, struct rs_cluster *fixed)
{
	int64_t least = 0;

	for (uint32_t i = 0; i < p->f->n_facts; i++) {
		const struct rs_fact *k = p->f->fact[i];
		int64_t unit = !strcmp(k->name, "rate_gbps")    ? INT64_C(1000000000)
			       : !strcmp(k->name, "speed_mbps") ? 1000000
								: 0;

		if (unit && k->numeric && k->number > 0 && k->number < INT64_MAX / unit &&
		    (!least || k->number * unit < least))
			least = k->number * unit;
	}
	as_is->rate = least;
	if (!least || least >= fixed->rate)
		p->why_not = "no port of it is known to be slower than the rest, and a job that "
			     "needs one that is down does not run";
}

static const struct {
	const char *id;
	cure *cure;      /* NULL: why it has no price */
	const char *why; /* or what the price leaves out */
} cures[] = {
	{"P01", mend_link, NULL},
	{"P02", mend_payload, NULL},
	{"P03", mend_reads, NULL},
	{"P04", free_switches,
	 "a lower bound: the way up and back is not counted twice on the switch's own link"},
	{"P07", pair_nearest, NULL},
	{"R03", mend_mtu, NULL},
	{"X02", mend_mtu, NULL},
	{"X01", right_class, "in a lossy class without marks; go-back-N"},
	{"X03", right_class, "in a lossy class without marks; go-back-N"},
	{"R04", right_class, "in a lossy class without marks; go-back-N"},
	{"R05", right_class, "in a lossy class without marks; go-back-N"},
	{"R06", right_class, "in a lossy class without marks; go-back-N"},
	{"S01", right_class, "in a lossy class without marks; go-back-N"},
	{"C03", right_class, "in a lossy class without marks; go-back-N"},
	{"R07", make_lossless, "without PFC the class drops when its buffer is full; go-back-N"},
	{"S02", make_lossless, "without PFC the class drops when its buffer is full; go-back-N"},
	{"R08", make_lossless, "an upper bound: as if PFC without headroom saved nothing"},
	{"S03", make_lossless, "an upper bound: as if PFC without headroom saved nothing"},
	{"N06", right_class, "in a lossy class without marks; go-back-N"},
	{"H09", mend_rate, "all rails at the pace of the slowest"},
	{"L04", mend_rate, "all rails at the pace of the slowest"},
	{"C05", turn_ecn_on, "as if no mark were heeded, pauses alone"},
	{"S04", turn_ecn_on, "no marks, pauses alone"},
	{"S05", turn_ecn_on, "an upper bound: as if marks never came before pauses"},
	{"R10", turn_cc_on, "senders at line rate, pauses alone"},
	{"P05", NULL, "translation in an IOMMU has no model"},
	{"P08", NULL, "it misleads what places threads and buffers; that has no model"},
	{"P09", NULL, "what NCCL does without a topology has no model"},
	{"P12", NULL, "copies through host memory have no model"},
	{"N08", NULL, "copies through host memory have no model"},
	{"N14", NULL, "TCP sockets have no model"},
	{"N11", NULL, "shared memory and its lack have no model"},
	{"H01", NULL,
	 "it is a wake from idle for each message that no program polls for; that has no "
	 "model"},
	{"H02", NULL, "a CPU's clock has no model"},
	{"H10", NULL, "threads and their buffers have no model"},
	{"H11", NULL, "a process that is gone has no rate"},
	{"H03", NULL, "page migration has no model"},
	{"N07", NULL, "how NCCL splits data over queue pairs has no model"},
	{"R02", NULL, "a connection that is not made has no rate"},
	{"N05", NULL, "a connection that is not made has no rate"},
	{"N12", NULL, "a connection that breaks has no rate"},
	{"N10", NULL, "NCCL's choice of algorithms has no model"},
	{"P10", NULL, "which side's buffers a GPU uses is not known"},
	{"P11", NULL, "the order of writes in a root complex has no model"},
	{"R14", NULL, "the paths between switches, which it depends on, are not known"},
	{"S11", NULL, "the paths between switches, which it depends on, are not known"},
	{"X04", NULL, "the paths between leaves, which crossed rails take, are not known"},
	{"S07", NULL, "how much the other classes carry is not known"},
	{"S12", NULL, "which hosts a job spans is not known: ripstop sim tells"},
	{"L01", NULL, "a link that flaps or stays down has no rate"},
	{"L02", NULL, "how often frames are lost at the job's load is not known"},
	{"C07", NULL, "how often the link will be lost is not known"},
	{"C08", NULL, "how often frames are lost at the job's load is not known"},
	{"N02", NULL, "a connection that is not made has no rate"},
	{"N06", right_class, "in a lossy class without marks; go-back-N"},
	{"N13", NULL, "how NCCL splits a job into nodes has no model"},
	{"C01", NULL, "what causes the loss is priced, where it was found"},
	{"C04", NULL, "what causes the pauses is priced, where it was found"},
};

/* ---- Runs ---- */

/* About how many packets a run sends, before it is made. */
static double packets(const struct rs_cluster *c)
{
	double each = (double)c->bytes / c->mtu;

	if (c->load != RS_LOAD_RINGS)
		return each * c->n;
	return 2 * each * c->n * (c->gpus ? c->gpus : 1);
}

static void fit(const struct limits *l, struct rs_cluster *c)
{
	uint64_t least = c->load == RS_LOAD_RINGS ? 1 << 20 : 256 << 10;

	c->bytes = c->load == RS_LOAD_RINGS ? l->ring : l->flow;
	while (packets(c) > (double)l->packets && c->bytes > least)
		c->bytes /= 2;
}

/* Gb/s or GB/s of what the load measures; 0: it did not end. */
static double measure(const struct rs_cluster *c, const struct rs_sim_result *r)
{
	const struct rs_sim_job *j = &r->jobs[0];
	double bytes = (double)c->bytes, first = 0, last = 0;

	if (!r->complete)
		return 0;
	if (c->load == RS_LOAD_RINGS)
		return bytes * 2 * (c->n - 1) / c->n / ((double)(j->finish - j->start) / RS_S) /
		       1e9;
	for (uint32_t i = 0; i < r->n_flows; i++) {
		const struct rs_sim_flow *f = &r->flows[i];

		if (c->load == RS_LOAD_BYSTANDER && f->job != 1)
			continue;
		first = !last || (double)f->start < first ? (double)f->start : first;
		last = (double)f->finish > last ? (double)f->finish : last;
	}
	if (c->load == RS_LOAD_INCAST)
		bytes *= c->n - 1;
	return last > first ? bytes * 8 / ((last - first) / RS_S) / 1e9 : 0;
}

static int simulate(const struct rs_cluster *c, double *value, struct rs_error *e)
{
	/* two hundred times what the bytes need: a run that gets nowhere ends */
	rs_time most = (rs_time)(200.0 * 8 * (double)c->bytes * c->n / (double)c->rate * RS_S);
	struct rs_sim_options o = {.seed = 1, .max_time = most + RS_MS};
	struct rs_sim_result *r = NULL;
	struct rs_fabric *f = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int err;

	*value = 0;
	if (!out)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = rs_cluster_write(c, out);
	if (fclose(out) || err)
		err = rs_error_set(e, -ENOMEM, "out of memory");
	if (!err)
		err = rs_fabric_load_text(text, n, "the audited cluster", ".", NULL, 0, &f, e);
	/* a ring a rail: how GPUs of a host reach each other is seldom known, and does not matter
	 */
	if (!err && c->load == RS_LOAD_RINGS && c->host[0].inside) {
		f->jobs[0].collective.stride = c->gpus;
		f->jobs[0].collective.channels = 1;
	}
	if (!err)
		err = rs_sim_run(f, &o, &r, e);
	if (!err)
		*value = measure(c, r);
	rs_sim_result_free(r);
	rs_fabric_free(f);
	free(text);
	return err;
}

/* ---- A finding ---- */

static const char *what(struct rs_audit *a, const struct rs_cluster *c, const char **metric,
			const char **unit)
{
	uint64_t mib = c->bytes >> 20;
	const char *size = mib ? rs_audit_text(a, "%llu MiB", (unsigned long long)mib)
			       : rs_audit_text(a, "%llu KiB", (unsigned long long)c->bytes >> 10);

	*unit = c->load == RS_LOAD_RINGS ? "GB/s" : "Gb/s";
	switch (c->load) {
	case RS_LOAD_RINGS:
		*metric = "all-reduce bandwidth";
		return rs_audit_text(a, "ring, %s, %u hosts, %u GPU%s each, a ring a rail", size,
				     c->n, c->gpus ? c->gpus : 1, c->gpus > 1 ? "s" : "");
	case RS_LOAD_INCAST:
		*metric = "incast goodput";
		return rs_audit_text(a, "%u senders to one, %s each", c->n - 1, size);
	default:
		*metric = "a bystander's goodput";
		return rs_audit_text(a, "%u senders to one, %s each, and a flow beside them",
				     c->n - 1, size);
	}
}

/* The cluster of the finding: its hosts first; too few are filled up with copies that are as after
 * the fix, so that a single sick host is seen among healthy ones. */
static void fill_up(struct rs_cluster *as_is, struct rs_cluster *fixed, uint32_t least)
{
	if (as_is->load != RS_LOAD_RINGS && least < INCAST_HOSTS)
		least = INCAST_HOSTS;
	while (as_is->n < least) {
		as_is->host[as_is->n++] = fixed->host[0];
		fixed->host[fixed->n++] = fixed->host[0];
	}
}

static int price(struct pricing *p, cure *mend, const char *remark, struct rs_error *e)
{
	const char *names[NAMES_MAX] = {NULL}, *metric, *unit, *load;
	struct rs_cluster as_is, fixed;
	struct rs_price *x = &p->f->price;
	double before, after;
	uint32_t copies;
	int err;

	for (uint32_t i = 0; i < p->f->n_subjects && i + 1 < NAMES_MAX; i++)
		names[i] = p->f->subject[i].host;
	if (rs_audit_cluster(p->a, names, p->limits->hosts, &as_is, NULL)) {
		p->why_not = "no host with a NIC is known";
		return 0;
	}
	fixed = as_is;
	mend(p, &as_is, &fixed);
	if (p->why_not)
		return 0;
	copies = as_is.n;
	fill_up(&as_is, &fixed, p->limits->mates);
	copies = as_is.n - copies;
	fit(p->limits, &as_is);
	fixed.bytes = as_is.bytes;
	err = simulate(&as_is, &before, e);
	err = err ? err : simulate(&fixed, &after, e);
	if (err)
		return err;
	load = what(p->a, &as_is, &metric, &unit);
	if (before <= 0 || after <= 0) {
		p->why_not = rs_audit_text(p->a, "the simulated %s did not end (%s)", metric, load);
		return 0;
	}
	*x = (struct rs_price){
		.priced = true,
		.low = 100 * (before - after) / after,
		.as_is = before,
		.fixed = after,
		.unit = unit,
		.metric = metric,
		.assumes = rs_audit_text(
			p->a, "%s%s%s%s%s", load,
			copies ? rs_audit_text(p->a, "; %u host%s of them %s", copies,
					       copies > 1 ? "s" : "",
					       copies > 1 ? "are mended copies"
							  : "is a mended copy")
			       : "",
			as_is.rate_assumed ? rs_audit_text(p->a, "; ports of %lld Gb/s assumed",
							   (long long)(as_is.rate / 1000000000))
					   : "",
			remark ? "; " : "", remark ? remark : ""),
	};
	x->high = x->low;
	return 0;
}

int rs_audit_price(struct rs_audit *a, enum rs_audit_pricing how, struct rs_error *e)
{
	struct pricing p = {.a = a, .limits = how == RS_PRICE_FULL ? &full : &fast};
	uint32_t done = 0;
	int err = 0;

	for (uint32_t i = 0; i < a->n_findings && !err; i++) {
		struct rs_finding *f = a->findings[i];
		unsigned k = 0, n = sizeof(cures) / sizeof(*cures);

		if (f->verdict != RS_FAIL || f->suppressed || f->price.assumes)
			continue;
		while (k < n && strcmp(cures[k].id, f->rule->id))
			k++;
		p.f = f;
		p.why_not = k == n                 ? "it has no model in the simulator"
			    : how == RS_PRICE_NONE ? "--price none"
			    : !cures[k].cure       ? cures[k].why
			    : done == p.limits->findings
				    ? "more findings than --price fast runs: --price full"
				    : NULL;
		if (!p.why_not) {
			done++;
			err = price(&p, cures[k].cure, cures[k].why, e);
		}
		if (p.why_not)
			rs_finding_unpriced(a, f, p.why_not);
	}
	if (!err)
		rs_audit_sort(a);
	return err;
}
