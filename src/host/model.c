/*
 * The constants of a host's model and what follows from them alone: PCIe rates (PCI Express Base
 * Specification 6.0, sections 3 and 4), CPU classes, NVLink, memory registration.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include "host/host.h"
#include "host/route.h"

#define GB8 (8 * RS_GBPS) /* a gigabyte per second */

enum { GEN_FLIT = 6, FLIT_HEADER = 16 };

const struct rs_host_params rs_host_defaults = {
	.phy_latency = 25 * RS_NS,
	.switch_latency = 105 * RS_NS,
	.root_write = 200 * RS_NS,
	.root_p2p = 150 * RS_NS,
	.dram_read = 500 * RS_NS, /* 550 less the root port's link, there and back */
	.gpu_write = 200 * RS_NS,
	.gpu_read = 290 * RS_NS, /* 600 less one switch and two links, there and back */
	.nvlink_hop = 1 * RS_US,
	.nic_pipeline = 120 * RS_NS,
	.post = 75 * RS_NS,
	.mmio = 150 * RS_NS,
	.poll = 50 * RS_NS,
	.credit_latency = 400 * RS_NS,
	.completion_chunk = 256,
	.header_write = 24,
	.header_completion = 20,
	.header_read = 24,
	.dll_efficiency = 0.97,
	.xlink_efficiency = 0.70,
};

/*
 * What may be outstanding where the description does not say: tags of 8 bits, 10 bits from Gen4, of
 * the 14 bits of Gen6 a part (PCI Express Base Specification 6.0, section 2.2.6.2; there 256, 768
 * and 15360); buffer and credits grow with what a Gen6 x16 slot carries in a read's or a credit's
 * latency.
 */
static const struct rs_dma_limits gen1_limits = {
	.read_buffer = 65536, .tags = 256, .data_credits = 2048, .header_credits = 128};
static const struct rs_dma_limits gen4_limits = {
	.read_buffer = 65536, .tags = 768, .data_credits = 2048, .header_credits = 128};
static const struct rs_dma_limits gen6_limits = {
	.read_buffer = 131072, .tags = 1024, .data_credits = 4096, .header_credits = 256};

static const struct rs_dma_limits *by_generation(uint8_t gen)
{
	return gen >= GEN_FLIT ? &gen6_limits : gen >= 4 ? &gen4_limits : &gen1_limits;
}

/* docs/host.md, "NIC models", has source and confidence of each figure. */
#define MLX5_INLINE .inline_bytes = 220
static const struct rs_nic_model nic_models[] = {
	{"ConnectX-4", 2, {100, 100}, {3, 16, 0, 0}, {MLX5_INLINE, .message_rate = 150000}},
	{"ConnectX-5",
	 2,
	 {100, 100},
	 {3, 16, 0, 0},
	 {MLX5_INLINE, .message_rate = 200000, .qp_message_rate = 8000}},
	{"ConnectX-6",
	 2,
	 {200, 200},
	 {4, 16, 0, 0},
	 {MLX5_INLINE, .message_rate = 215000, .qp_message_rate = 5500}},
	{"ConnectX-6 Dx",
	 2,
	 {200, 100},
	 {4, 16, 0, 0},
	 {MLX5_INLINE, .message_rate = 215000, .qp_message_rate = 5500}},
	{"ConnectX-7",
	 2,
	 {400, 200},
	 {5, 16, 0, 0},
	 {MLX5_INLINE, .message_rate = 330000, .qp_message_rate = 5500, .qp_rate = 372300}},
	{"ConnectX-8",
	 2,
	 {800, 400},
	 {6, 16, 0, 0},
	 {MLX5_INLINE, .message_rate = 330000, .qp_message_rate = 5500}},
	{"BlueField-3",
	 2,
	 {400, 200},
	 {5, 16, 0, 0},
	 {MLX5_INLINE, .message_rate = 330000, .qp_message_rate = 5500, .qp_rate = 372300}},
	{"Thor2", 2, {400, 200}, {5, 16, 0, 0}, {0}},
};
enum { NIC_MODELS = sizeof(nic_models) / sizeof(*nic_models) };

static bool same_model(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == ' ' || *a == '-')
			a++;
		while (*b == ' ' || *b == '-')
			b++;
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
	}
}

const struct rs_nic_model *rs_nic_model_find(const char *name)
{
	for (size_t i = 0; name && i < NIC_MODELS; i++)
		if (same_model(nic_models[i].name, name))
			return &nic_models[i];
	return NULL;
}

const struct rs_nic_model *rs_nic_model_at(unsigned i)
{
	return i < NIC_MODELS ? &nic_models[i] : NULL;
}

/* The first that says something. */
static uint32_t first_said(uint32_t own, uint32_t all, uint32_t model, uint32_t otherwise)
{
	uint32_t v = own ? own : all ? all : model ? model : otherwise;

	return v == RS_NO_LIMIT ? 0 : v;
}

struct rs_dma_limits rs_dma_limits_of(const struct rs_part *part, const struct rs_host_params *p)
{
	const struct rs_nic_model *found =
		part->kind == RS_PART_NIC ? rs_nic_model_find(part->model) : NULL;
	const struct rs_dma_limits none = {0}, *o = &part->limits,
				   *m = found ? &found->limits : &none;
	const struct rs_dma_limits *g = by_generation(part->up.gen);

	return (struct rs_dma_limits){
		.read_buffer =
			first_said(o->read_buffer, p->read_buffer, m->read_buffer, g->read_buffer),
		.tags = first_said(o->tags, p->tags, m->tags, g->tags),
		.data_credits = first_said(o->data_credits, p->posted_data_credits, m->data_credits,
					   g->data_credits),
		.header_credits = first_said(o->header_credits, p->posted_header_credits,
					     m->header_credits, g->header_credits),
		.inline_bytes = first_said(o->inline_bytes, p->inline_bytes, m->inline_bytes, 0),
		.message_rate = first_said(o->message_rate, 0, m->message_rate, 0),
		.qp_message_rate = first_said(o->qp_message_rate, 0, m->qp_message_rate, 0),
		.qp_rate = first_said(o->qp_rate, 0, m->qp_rate, 0),
	};
}

const struct rs_mr_params rs_mr_defaults = {
	.base = 15 * RS_US,
	.page = 310 * RS_NS,
	.huge_page = 3 * RS_US,
	.gpu_base = 200 * RS_US,
	.cache_hit = 100 * RS_NS,
};

/*
 * Raw rates: links of a two-socket board (the usual, lower count) times the rate of one. What root
 * complexes pass on between peers: docs/host.md, "Peer to peer", has the source of each.
 */
static const struct rs_cpu_model cpu_models[] = {
	{"bdw", "Broadwell, 2 QPI", 2 * 19.2 * GB8, 30 * RS_NS, 6 * GB8, 0, 64, 7 * GB8},
	{"skl", "Skylake, Cascade Lake, 2 UPI", 2 * 20.8 * GB8, 30 * RS_NS, 11 * GB8, 0, 64, 0},
	{"icx", "Ice Lake, 3 UPI", 3 * 22.4 * GB8, 30 * RS_NS, 11 * GB8, 0, 64, 0},
	{"spr", "Sapphire Rapids, 3 UPI 2.0", 3 * 48 * GB8, 45 * RS_NS, 22 * GB8, 0, 64, 0},
	{"emr", "Emerald Rapids, 3 UPI 2.0", 3 * 60 * GB8, 45 * RS_NS, 40 * GB8, 0, 64, 0},
	{"gnr", "Granite Rapids, 4 UPI 2.0", 4 * 72 * GB8, 150 * RS_NS, 40 * GB8, 0, 64, 0},
	{"rome", "Rome, 3 xGMI-2", 3 * 32 * GB8, 50 * RS_NS, 16 * GB8, 0, 0, 0},
	{"milan", "Milan, 3 xGMI-2", 3 * 36 * GB8, 50 * RS_NS, 16 * GB8, 0, 0, 18.3 * GB8},
	{"genoa", "Genoa, 3 xGMI-3", 3 * 64 * GB8, 50 * RS_NS, 39 * GB8, 64 * GB8, 0, 0},
	{"turin", "Turin, 3 xGMI-3", 3 * 64 * GB8, 50 * RS_NS, -1, 0, 0, 0},
};

const struct rs_cpu_model *rs_cpu_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof(cpu_models) / sizeof(*cpu_models); i++)
		if (!strcasecmp(cpu_models[i].name, name))
			return &cpu_models[i];
	return NULL;
}

/* All NVLinks of a GPU together, one direction. A model's name may carry more ("H100-SXM5"). */
static const struct {
	const char *name;
	int64_t rate;
} nvlink_models[] = {
	{"P100", 80 * GB8},  {"V100", 150 * GB8}, {"A100", 300 * GB8},
	{"H100", 450 * GB8}, {"H200", 450 * GB8}, {"B200", 900 * GB8},
};

int64_t host_nvlink_rate(const char *model)
{
	for (size_t i = 0; model && i < sizeof(nvlink_models) / sizeof(*nvlink_models); i++)
		if (strstr(model, nvlink_models[i].name))
			return nvlink_models[i].rate;
	return 0;
}

/* A link of xGMI between AMD's GPUs, one direction (their data sheets). */
int64_t rs_xgmi_rate(const char *model)
{
	static const struct {
		const char *name;
		int64_t rate;
	} of[] = {{"MI2", 50 * GB8},     {"gfx90a", 50 * GB8}, {"MI35", 76.8 * GB8},
		  {"gfx95", 76.8 * GB8}, {"MI3", 64 * GB8},    {"gfx94", 64 * GB8}};

	for (size_t i = 0; model && i < sizeof(of) / sizeof(*of); i++)
		if (strstr(model, of[i].name))
			return of[i].rate;
	return 0;
}

/* A lane's transfers a second, and the share of its bits that are TLPs: 8b/10b, 128b/130b, or 236
 * bytes of a 256-byte FLIT. */
static const struct {
	int64_t transfers;
	int of, in;
} generations[] = {
	{0, 0, 1},
	{2500 * RS_MBPS, 8, 10},
	{5000 * RS_MBPS, 8, 10},
	{8 * RS_GBPS, 128, 130},
	{16 * RS_GBPS, 128, 130},
	{32 * RS_GBPS, 128, 130},
	{64 * RS_GBPS, 236, 256},
};

int64_t rs_pcie_rate(const struct rs_pcie *p)
{
	if (!p->gen || p->gen > GEN_FLIT)
		return 0;
	return generations[p->gen].transfers * p->lanes * generations[p->gen].of /
	       generations[p->gen].in;
}

int64_t host_pcie_usable(const struct rs_pcie *p, const struct rs_host_params *hp)
{
	int64_t rate = rs_pcie_rate(p);

	/* A FLIT has its own bytes for DLLPs; before, they come out of the TLPs' rate, up to Gen3
	 * a little more of them (pcie-bench's hosts: 0.95 in all). */
	if (p->gen == GEN_FLIT)
		return rate;
	return (int64_t)((double)rate * hp->dll_efficiency * (p->gen <= 3 ? 0.98 : 1));
}

void host_tlp_headers(const struct rs_pcie *p, const struct rs_host_params *hp,
		      uint32_t header[TLP_KINDS])
{
	bool flit = p->gen == GEN_FLIT;

	header[TLP_WRITE] = flit ? FLIT_HEADER : hp->header_write;
	header[TLP_COMPLETION] = flit ? FLIT_HEADER : hp->header_completion;
	header[TLP_READ] = flit ? FLIT_HEADER : hp->header_read;
}

int64_t rs_pcie_write_goodput(const struct rs_pcie *p, const struct rs_host_params *hp)
{
	uint32_t header[TLP_KINDS], mps = p->mps ? p->mps : MPS_DEFAULT;

	host_tlp_headers(p, hp, header);
	return (int64_t)((double)host_pcie_usable(p, hp) * mps / (mps + header[TLP_WRITE]));
}

rs_time rs_mr_register_time(const struct rs_mr_params *p, uint64_t bytes, uint64_t page_bytes,
			    bool gpu)
{
	uint64_t pages;

	if (gpu) /* resident already: nothing to pin page by page */
		return p->gpu_base;
	if (!page_bytes)
		page_bytes = 4096;
	pages = bytes / page_bytes + (bytes % page_bytes != 0);
	return p->base + (rs_time)pages * (page_bytes < (2 << 20) ? p->page : p->huge_page);
}
