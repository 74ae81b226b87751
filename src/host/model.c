/*
 * The constants of a host's model and what follows from them alone: PCIe rates (PCI Express Base
 * Specification 6.0, sections 3 and 4), CPU classes, NVLink, memory registration.
 */
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
	.nic_pipeline = 200 * RS_NS,
	.post = 75 * RS_NS,
	.mmio = 150 * RS_NS,
	.poll = 75 * RS_NS,
	.read_buffer = 65536,
	.tags = 256,
	.posted_data_credits = 2048,
	.posted_header_credits = 128,
	.credit_latency = 400 * RS_NS,
	.completion_chunk = 256,
	.header_write = 24,
	.header_completion = 20,
	.header_read = 24,
	.dll_efficiency = 0.97,
	.xlink_efficiency = 0.70,
};

const struct rs_mr_params rs_mr_defaults = {
	.base = 15 * RS_US,
	.page = 310 * RS_NS,
	.huge_page = 400 * RS_NS,
	.gpu_base = 200 * RS_US,
	.cache_hit = 100 * RS_NS,
};

/* Raw rates: links of a two-socket board (the usual, lower count) times the rate of one. */
static const struct rs_cpu_model cpu_models[] = {
	{"bdw", "Broadwell, 2 QPI", 2 * 19.2 * GB8, 30 * RS_NS, 6 * GB8, 0.8},
	{"skl", "Skylake, Cascade Lake, 2 UPI", 2 * 20.8 * GB8, 30 * RS_NS, 11 * GB8, 0.8},
	{"icx", "Ice Lake, 3 UPI", 3 * 22.4 * GB8, 30 * RS_NS, 11 * GB8, 0.8},
	{"spr", "Sapphire Rapids, 3 UPI 2.0", 3 * 48 * GB8, 45 * RS_NS, 22 * GB8, 0.8},
	{"emr", "Emerald Rapids, 3 UPI 2.0", 3 * 60 * GB8, 45 * RS_NS, 40 * GB8, 0.8},
	{"gnr", "Granite Rapids, 4 UPI 2.0", 4 * 72 * GB8, 150 * RS_NS, 40 * GB8, 0.8},
	{"rome", "Rome, 3 xGMI-2", 3 * 32 * GB8, 50 * RS_NS, 16 * GB8, 1.0},
	{"milan", "Milan, 3 xGMI-2", 3 * 36 * GB8, 50 * RS_NS, 16 * GB8, 1.0},
	{"genoa", "Genoa, 3 xGMI-3", 3 * 64 * GB8, 50 * RS_NS, 26 * GB8, 1.0},
	{"turin", "Turin, 3 xGMI-3", 3 * 64 * GB8, 50 * RS_NS, 26 * GB8, 1.0},
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

	/* A FLIT has its own bytes for DLLPs; before, they come out of the TLPs' rate. */
	return p->gen == GEN_FLIT ? rate : (int64_t)((double)rate * hp->dll_efficiency);
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
