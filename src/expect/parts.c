/* What models, numbers of PCI devices and names tell of a host's parts, and what stays unknown. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "expect/state.h"
#include "host/build.h"
#include "import/import.h"

/* NVLinks of 25 GB/s a direction up to Hopper, 50 GB/s from Blackwell on (docs/nccl.md). */
enum { LINK_GBPS = 200, LINK_GBPS_BLACKWELL = 400, XGMI_GBPS = 3584, BLACKWELL = 100 };

/* ---- NICs ---- */

/* PCI devices: pci.ids. ConnectX-6 Lx and -4 Lx are smaller ports of their neighbours. */
static const char *nic_model(int64_t device)
{
	static const struct {
		int64_t first, last;
		const char *model;
	} ids[] = {{0x1013, 0x1016, "ConnectX-4"},  {0x1017, 0x101a, "ConnectX-5"},
		   {0x101b, 0x101c, "ConnectX-6"},  {0x101d, 0x101f, "ConnectX-6 Dx"},
		   {0x1021, 0x1021, "ConnectX-7"},  {0x1023, 0x1023, "ConnectX-8"},
		   {0xa2dc, 0xa2dc, "BlueField-3"}, {0xa2d6, 0xa2d6, "ConnectX-6 Dx"},
		   {0x1760, 0x1760, "Thor2"}};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (device >= ids[i].first && device <= ids[i].last)
			return ids[i].model;
	return NULL;
}

/* A text that names it: lspci's "[ConnectX-7]", a board's "MT4129". */
static const char *named_model(const char *text)
{
	const struct rs_nic_model *m, *best = NULL;
	const char *mt = text ? strstr(text, "MT") : NULL;

	for (unsigned i = 0; text && (m = rs_nic_model_at(i)); i++)
		if (strcasestr(text, m->name) && (!best || strlen(m->name) > strlen(best->name)))
			best = m;
	if (best)
		return best->name;
	return mt && isdigit((unsigned char)mt[2]) ? nic_model(strtol(mt + 2, NULL, 10)) : NULL;
}

static const char *model_of(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	static const char *const texts[] = {"hca_type", "board", "product"};
	const struct rs_audit *a = x->audit;
	const char *model = NULL, *vendor;
	char nic[160], pci[160];

	snprintf(nic, sizeof(nic), "nic/%s", p->name);
	snprintf(pci, sizeof(pci), "pci/%s", p->busid ? p->busid : "");
	vendor = rs_facts_value(a->facts, host, pci, "vendor");
	if (!vendor || !strcasecmp(vendor, "0x15b3") || !strcasecmp(vendor, "0x14e4"))
		model = nic_model(rs_look_number(a, host, pci, "device", 0));
	if (!model)
		model = nic_model(rs_look_number(a, host, nic, "vendor_part_id", 0));
	for (size_t i = 0; !model && i < sizeof(texts) / sizeof(*texts); i++)
		model = named_model(rs_facts_value(a->facts, host, nic, texts[i]));
	return model ? model : named_model(rs_facts_value(a->facts, host, pci, "lspci"));
}

/* ConnectX-4 Lx and -6 Lx: ports of 25 Gb/s, where their neighbours have 100. */
static bool is_lx(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	const struct rs_audit *a = x->audit;
	char nic[160], pci[160];
	const char *text;
	int64_t device;

	snprintf(nic, sizeof(nic), "nic/%s", p->name);
	snprintf(pci, sizeof(pci), "pci/%s", p->busid ? p->busid : "");
	device = rs_look_number(a, host, pci, "device", 0);
	if (!device)
		device = rs_look_number(a, host, nic, "vendor_part_id", 0);
	text = rs_facts_value(a->facts, host, pci, "lspci");
	return device == 0x1015 || device == 0x1016 || device == 0x101f ||
	       (text && strstr(text, " Lx"));
}

/* The slot that a port of this rate needs. */
struct rs_pcie expect_slot(const struct rs_part *p)
{
	const struct rs_nic_model *m = rs_nic_model_find(p->model);
	int64_t gbps = p->port_rate / RS_GBPS;

	if (m)
		return m->slot;
	return (struct rs_pcie){.gen = gbps > 400   ? 6
				       : gbps > 200 ? 5
				       : gbps > 100 ? 4
						    : 3,
				.lanes = gbps > 50 ? 16 : 8};
}

/* The port that a slot of its generation is made for. */
static int64_t of_slot(const struct rs_pcie *up)
{
	static const int64_t gbps[] = {10, 20, 40, 100, 200, 400, 800};
	int64_t rate = gbps[up->gen <= 6 ? up->gen : 6] * RS_GBPS;

	return up->lanes >= 16 || !up->lanes ? rate : rate / 2;
}

/* A card of two functions has two ports. */
static bool two_functions(const struct rs_host *h, int part)
{
	const char *own = h->parts[part].busid;
	size_t n = own ? strcspn(own, ".") : 0;

	for (int i = 0; n && i < h->n_parts; i++)
		if (i != part && h->parts[i].kind == RS_PART_NIC && h->parts[i].busid &&
		    !strncmp(h->parts[i].busid, own, n + 1))
			return true;
	return false;
}

static bool few_tags(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	char pci[160];

	snprintf(pci, sizeof(pci), "pci/%s", p->busid ? p->busid : "");
	return !rs_look_number(x->audit, host, pci, "ext_tag", 1) &&
	       !rs_look_number(x->audit, host, pci, "ten_bit_tag", 0);
}

static void complete_nic(struct rs_expect *x, struct expect_host *h, int part)
{
	struct rs_part *p = &h->inside->parts[part];
	const struct rs_nic_model *m;

	if (!p->model)
		p->model = model_of(x, h->name, p);
	if (!p->model && x->world->given.nic)
		p->model = rs_nic_model_find(x->world->given.nic)->name;
	m = rs_nic_model_find(p->model);
	if (!p->port_rate)
		p->port_rate = expect_told_rate(x, h->name, p);
	if (!p->port_rate && x->world->given.gbps > 0)
		p->port_rate = (int64_t)(x->world->given.gbps * RS_GBPS);
	if (!p->port_rate && (m || p->up.gen)) {
		p->port_rate = is_lx(x, h->name, p) ? 25 * RS_GBPS
			       : m ? m->rate[two_functions(h->inside, part)] * RS_GBPS
				   : of_slot(&p->up);
		h->lacks[part] |= LACKS_RATE;
	}
	if (!p->up.gen || !p->up.lanes) {
		struct rs_pcie slot = expect_slot(p);

		p->up.gen = slot.gen;
		p->up.lanes = slot.lanes;
		h->lacks[part] |= LACKS_SLOT;
	}
	/* five bits of tags without the extended ones (PCIe 2.2.6.2) */
	if (!p->limits.tags && few_tags(x, h->name, p))
		p->limits.tags = 32;
	h->lacks[part] |= (p->up.mps ? 0 : LACKS_MPS) | (p->up.mrrs ? 0 : LACKS_MRRS);
}

/* ---- CPUs ---- */

/* What vendors' numbers tell: the generation is in the last digit of EPYCs, in the second of Xeons.
 */
static const char *cpu_class(const char *model)
{
	const char *p = model ? strstr(model, "EPYC ") : NULL;
	static const char *const epyc[] = {"rome", "milan", "genoa", "turin"};
	static const char *const xeon[] = {"skl", "skl", "icx", "spr", "emr"};

	if (p && isdigit((unsigned char)p[5]) && strlen(p) > 8 && p[8] >= '2' && p[8] <= '5')
		return epyc[p[8] - '2'];
	for (p = model; p && (p = strpbrk(p, "0123456789")); p++) {
		if (strspn(p, "0123456789") == 4 && strstr(model, "Xeon")) {
			if (strstr(model, "v4"))
				return "bdw";
			if (!strncmp(p, "69", 2) || !strncmp(p, "67", 2))
				return "gnr";
			if (p[1] >= '1' && p[1] <= '5')
				return xeon[p[1] - '1'];
		}
		p += strspn(p, "0123456789") - 1;
	}
	return NULL;
}

static const char *cpu_of(struct rs_expect *x, const char *host)
{
	const char *id = rs_facts_value(x->audit->facts, host, "host", "cpuid");
	char vendor[32];
	int family, model;

	if (id && sscanf(id, "%31s %d %d", vendor, &family, &model) == 3)
		return rs_import_cpu(vendor, family, model);
	return cpu_class(rs_facts_value(x->audit->facts, host, "host", "cpu_model"));
}

static void join_sockets(struct rs_host *h, struct rs_load *l)
{
	for (int i = 0; i < h->n_parts; i++)
		for (int k = i + 1; k < h->n_parts; k++)
			if (h->parts[i].kind == RS_PART_SOCKET &&
			    h->parts[k].kind == RS_PART_SOCKET)
				rs_host_xlink_add(l, h, i, k, RS_XLINK_SOCKET);
}

/* ---- GPUs ---- */

const char *expect_gpu(struct rs_expect *x, const char *host)
{
	const struct rs_audit *a = x->audit;
	const char *s, *text;
	uint32_t at = 0;

	for (const struct rs_fact *f; (f = rs_facts_next(a->facts, &at, host, "gpu/", "product"));)
		if (rs_nccl_gpu_find(f->value) || rs_nccl_gpu_amd(f->value))
			return f->value;
	at = 0;
	while ((s = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		const struct rs_nccl_gpu_model *m;

		if (strcmp(rs_look_kind(a, host, s), "gpu"))
			continue;
		m = rs_nccl_gpu_by_pci((uint16_t)rs_look_number(a, host, s, "device", 0));
		text = rs_facts_value(a->facts, host, s, "lspci");
		if (m)
			return m->name;
		if (rs_nccl_gpu_find(text))
			return rs_nccl_gpu_find(text)->name;
		text = rs_facts_value(a->facts, host, s, "gcn");
		if (text)
			return text; /* AMD's, as RCCL names them */
		text = rs_facts_value(a->facts, host, s, "product");
		if (text && (rs_nccl_gpu_find(text) || rs_nccl_gpu_amd(text)))
			return text;
	}
	return NULL;
}

/* "NV18" between two GPUs; 0: PCIe; -1: not known. */
static int links_between(struct rs_expect *x, const char *host, unsigned i, unsigned k)
{
	const struct rs_fact *f = rs_look(x->audit, host, "topo", "distance/GPU%u/GPU%u", i, k);

	if (!f)
		return -1;
	return !strncmp(f->value, "NV", 2) ? atoi(f->value + 2) : !strcmp(f->value, "XGMI") ? 1 : 0;
}

/* By a compute capability, or by how many NVLinks there are to NVSwitches: the usual one of its
 * kind. */
static const char *like_gpu(struct rs_expect *x, const char *host)
{
	static const struct {
		int sm, links;
		const char *model;
	} kinds[] = {{70, 6, "V100"}, {80, 12, "A100"}, {90, 18, "H100"}, {100, -2, "B200"}};
	int links = links_between(x, host, 0, 1);
	const char *s;
	uint32_t at = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (links == kinds[i].links)
			return kinds[i].model;
	while ((s = rs_facts_subject(x->audit->facts, &at, host, "pci/")))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (rs_look_number(x->audit, host, s, "sm", 0) == kinds[i].sm)
				return kinds[i].model;
	return NULL;
}

const char *expect_gpu_assumed(struct rs_expect *x, const char *host)
{
	const char *model = x->world->gpu ? x->world->gpu : expect_gpu(x, host);

	return model ? model : like_gpu(x, host);
}

static int nth_gpu(const struct rs_host *h, unsigned n)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_GPU && !n--)
			return i;
	return RS_NO_PART;
}

static void to_switch(struct rs_host *h, struct rs_load *l, int64_t gbps)
{
	int n = h->n_parts;

	if (!rs_host_part_add(l, h, RS_PART_NVSWITCH, "nvswitch0"))
		return;
	for (int i = 0; i < n; i++) {
		struct rs_xlink *k;

		if (h->parts[i].kind != RS_PART_GPU)
			continue;
		k = rs_host_xlink_add(l, h, i, n, RS_XLINK_NVLINK);
		if (k)
			k->rate = gbps * RS_GBPS;
	}
}

/* By topo -m: pairs joined by links of their own, or all by NVSwitches. */
static void by_topo(struct rs_expect *x, struct expect_host *h, struct rs_load *l, unsigned gpus,
		    int64_t gbps, int of_model)
{
	int all = links_between(x, h->name, 0, 1);
	bool alike = true;

	for (unsigned i = 0; i < gpus; i++)
		for (unsigned k = 0; k < gpus; k++)
			alike &= i == k || links_between(x, h->name, i, k) == all;
	if (alike && all > 0 && gpus > 2 && (!of_model || all * (int)(gpus - 1) > of_model)) {
		to_switch(h->inside, l, all * gbps);
		return;
	}
	for (unsigned i = 0; i < gpus; i++)
		for (unsigned k = i + 1; k < gpus; k++) {
			int n = links_between(x, h->name, i, k);
			struct rs_xlink *y;

			if (n <= 0)
				continue;
			y = rs_host_xlink_add(l, h->inside, nth_gpu(h->inside, i),
					      nth_gpu(h->inside, k), RS_XLINK_NVLINK);
			if (y)
				y->rate = n * gbps * RS_GBPS;
		}
}

/* By NCCL's topology: each GPU's links by where they go. false: it says nothing. */
static bool by_xml(struct rs_expect *x, struct expect_host *h, struct rs_load *l, int64_t gbps)
{
	struct rs_host *in = h->inside;
	int n = in->n_parts, sw = RS_NO_PART;
	bool said = false;

	for (int i = 0; i < n; i++) {
		const struct rs_fact *f;
		uint32_t at;
		char pci[160];

		if (in->parts[i].kind != RS_PART_GPU || !in->parts[i].busid)
			continue;
		snprintf(pci, sizeof(pci), "pci/%s", in->parts[i].busid);
		said |= rs_facts_value(x->audit->facts, h->name, pci, "nvlinks") != NULL;
		at = rs_facts_seek(x->audit->facts, h->name, pci);
		while ((f = rs_facts_next(x->audit->facts, &at, h->name, pci, "nvlink/"))) {
			int to = RS_NO_PART;
			struct rs_xlink *k;

			for (int j = 0; j < n; j++)
				if (in->parts[j].busid &&
				    !strcasecmp(in->parts[j].busid, f->name + 7))
					to = j;
			if (strcmp(f->subject, pci) || (to != RS_NO_PART && to < i))
				continue; /* each of two says it */
			if (to == RS_NO_PART && sw == RS_NO_PART &&
			    rs_host_part_add(l, in, RS_PART_NVSWITCH, "nvswitch0"))
				sw = in->n_parts - 1;
			k = rs_host_xlink_add(l, in, i, to == RS_NO_PART ? sw : to,
					      RS_XLINK_NVLINK);
			if (k)
				k->rate = strtol(f->value, NULL, 10) * gbps * RS_GBPS;
		}
	}
	return said;
}

/* As NCCL takes GPUs of which only the slot is known (nccl/machine.c). */
static const struct rs_nccl_gpu_model *by_slot(const struct rs_host *h)
{
	static const char *const kinds[] = {NULL, NULL, NULL, "V100", "A100", "H100", "B200"};
	int gpu = nth_gpu(h, 0);

	return gpu >= 0 ? rs_nccl_gpu_find(
				  kinds[h->parts[gpu].up.gen <= 6 ? h->parts[gpu].up.gen : 0])
			: NULL;
}

/* Boards for sockets of GPUs (SXM, OAM) have 4 or 8; cards are joined by PCIe or not told. */
static bool board(unsigned gpus)
{
	return gpus == 4 || gpus == 8 || gpus == 16;
}

static void complete_gpus(struct rs_expect *x, struct expect_host *h, struct rs_load *l)
{
	const char *model = expect_gpu_assumed(x, h->name);
	const struct rs_nccl_gpu_model *m = rs_nccl_gpu_find(model);
	int64_t gbps = m && m->cc >= BLACKWELL ? LINK_GBPS_BLACKWELL : LINK_GBPS;
	unsigned gpus = 0;

	for (int i = 0; i < h->inside->n_parts; i++)
		if (h->inside->parts[i].kind == RS_PART_GPU) {
			gpus++;
			h->inside->parts[i].model = model;
		}
	if (gpus < 2)
		return;
	if (x->world->given.nvlink > 0) {
		to_switch(h->inside, l, (int64_t)(8 * x->world->given.nvlink));
		return;
	}
	if (links_between(x, h->name, 0, 1) >= 0) {
		by_topo(x, h, l, gpus, gbps, m ? m->nvlinks : 0);
		return;
	}
	if (by_xml(x, h, l, gbps) && !rs_nccl_gpu_amd(model))
		return;
	if (!m && !model)
		m = by_slot(h->inside);
	if (!board(gpus))
		return;
	if (model && rs_nccl_gpu_amd(model))
		to_switch(h->inside, l, XGMI_GBPS);
	else if (m && m->nvlinks)
		to_switch(h->inside, l,
			  m->nvlinks * (m->cc >= BLACKWELL ? LINK_GBPS_BLACKWELL : LINK_GBPS));
	x->world->nvlink |= m && m->nvlinks; /* assumed */
}

void expect_complete(struct rs_expect *x, struct expect_host *h, struct rs_load *l)
{
	if (!h->inside->cpu)
		h->inside->cpu = cpu_of(x, h->name);
	for (int i = 0; i < h->inside->n_parts; i++)
		if (h->inside->parts[i].kind == RS_PART_NIC)
			complete_nic(x, h, i);
	join_sockets(h->inside, l);
	complete_gpus(x, h, l);
}

const struct rs_part *expect_nic(const struct expect_model *m, uint32_t host)
{
	const struct rs_host *h = m->host[host].inside;

	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_NIC &&
		    (m->host[host].nic < 0 || m->host[host].nic == i))
			return &h->parts[i];
	return NULL;
}
