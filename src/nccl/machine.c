/* Putting a host's items together: what the readers share, and what GPU models are to NCCL. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/topo.h"

/*
 * Compute capability: NVIDIA, "CUDA GPU Compute Capability". NVLinks: NVIDIA's data sheets
 * (bandwidth of both ways / 50 GB/s a link, GB200 and B200 / 100). PCI devices: pci.ids. The first
 * whose name is in what is asked for holds.
 */
static const struct rs_nccl_gpu_model models[] = {
	{"GB300", 0, 103, 18},        {"GB200", 0x2941, 100, 18},   {"GH200", 0x2342, 90, 18},
	{"B300", 0, 103, 18},         {"B200", 0x2901, 100, 18},    {"H800-PCIE", 0, 90, 0},
	{"H800", 0x2324, 90, 8},      {"H200", 0x2335, 90, 18},     {"H100-PCIE", 0x2331, 90, 0},
	{"H100-NVL", 0x2321, 90, 0},  {"H100", 0x2330, 90, 18},     {"H20", 0x2329, 90, 18},
	{"A100-PCIE", 0x20f1, 80, 0}, {"A100", 0x20b0, 80, 12},     {"A100-80", 0x20b2, 80, 12},
	{"A800-PCIE", 0, 80, 0},      {"A800", 0x20f3, 80, 8},      {"A40", 0x2235, 86, 0},
	{"A30", 0x20b7, 80, 0},       {"A10", 0x2236, 86, 0},       {"L40", 0x26b9, 89, 0},
	{"L4", 0x27b8, 89, 0},        {"V100-PCIE", 0x1db4, 70, 0}, {"V100", 0x1db1, 70, 6},
	{"T4", 0x1eb8, 75, 0},        {"P100", 0x15f9, 60, 4},
};
enum { MODELS = sizeof(models) / sizeof(*models) };

static bool alike(const char *in, const char *name)
{
	for (; *name; name++, in++) {
		while (*in == ' ' || *in == '-' || *in == '_')
			in++;
		while (*name == '-')
			name++;
		if (toupper((unsigned char)*in) != *name)
			return false;
	}
	return true;
}

const struct rs_nccl_gpu_model *rs_nccl_gpu_find(const char *name)
{
	for (int i = 0; name && i < MODELS; i++)
		for (const char *s = name; *s; s++)
			if (alike(s, models[i].name))
				return &models[i];
	return NULL;
}

bool rs_nccl_gpu_amd(const char *name)
{
	static const char *const amd[] = {"MI3", "MI2", "MI1", "GFX9"};

	for (size_t i = 0; name && i < sizeof(amd) / sizeof(*amd); i++)
		for (const char *s = name; *s; s++)
			if (alike(s, amd[i]))
				return true;
	return false;
}

/* AMD's data sheets; a name that only says MI300 is an MI300X's. */
int rs_nccl_gpu_gfx(const char *name)
{
	static const struct {
		const char *name;
		int gfx;
	} of[] = {{"MI35", 950},
		  {"GFX950", 950},
		  {"MI30", 942},
		  {"MI32", 942},
		  {"GFX94", 942},
		  {"MI2", RS_NCCL_GFX90A},
		  {"GFX90A", RS_NCCL_GFX90A}};

	for (size_t i = 0; name && i < sizeof(of) / sizeof(*of); i++)
		for (const char *s = name; *s; s++)
			if (alike(s, of[i].name))
				return of[i].gfx;
	return 0;
}

const struct rs_nccl_gpu_model *rs_nccl_gpu_by_pci(uint16_t device)
{
	for (int i = 0; i < MODELS; i++)
		if (models[i].pci && models[i].pci == device)
			return &models[i];
	return NULL;
}

/* Room for one more of n, in an array that doubles. */
static bool grow(struct rs_load *l, void *array, int n, int max, size_t size, struct rs_where at)
{
	void **where = array, *bigger;

	if (l->err)
		return false;
	if (n >= max) {
		rs_load_fail(l, -E2BIG, at, "a topology of more than %d parts or links", max);
		return false;
	}
	if (n && (n < 16 || n & (n - 1)))
		return true;
	bigger = rs_load_take(l, n ? 2 * (size_t)n : 16, size);
	if (!bigger)
		return false;
	if (n)
		memcpy(bigger, *where, (size_t)n * size);
	*where = bigger;
	return true;
}

struct rs_nccl_item *rs_nccl_item_add(struct rs_load *l, struct rs_nccl_host *h,
				      enum rs_nccl_item_kind kind, int parent, struct rs_where at)
{
	struct rs_nccl_item *p;

	if (!grow(l, &h->items, h->n_items, RS_NCCL_ITEMS_MAX, sizeof(*h->items), at))
		return NULL;
	p = &h->items[h->n_items++];
	*p = (struct rs_nccl_item){.kind = kind, .parent = parent, .dev = -1, .gdr = true};
	h->n_gpus += kind == RS_NCCL_GPU;
	h->n_ports += kind == RS_NCCL_PORT;
	return p;
}

int rs_nccl_nvlink_add(struct rs_load *l, struct rs_nccl_host *h, int gpu, int to, int count)
{
	if (grow(l, &h->nvlinks, h->n_nvlinks, RS_NCCL_LINKS_MAX, sizeof(*h->nvlinks),
		 (struct rs_where){l->name, 1, 1}))
		h->nvlinks[h->n_nvlinks++] = (struct rs_nccl_nvlink){gpu, to, count};
	return l->err;
}

int rs_nccl_c2c_add(struct rs_load *l, struct rs_nccl_host *h, int gpu, float bw)
{
	if (grow(l, &h->c2cs, h->n_c2cs, RS_NCCL_ITEMS_MAX, sizeof(*h->c2cs),
		 (struct rs_where){l->name, 1, 1}))
		h->c2cs[h->n_c2cs++] = (struct rs_nccl_c2c){gpu, bw};
	return l->err;
}

uint64_t rs_nccl_bus_parse(const char *busid)
{
	uint64_t v = 0;

	for (; *busid; busid++)
		if (isxdigit((unsigned char)*busid))
			v = v << 4 | (uint64_t)strtol((char[]){*busid, 0}, NULL, 16);
	return v;
}

/* Numbers for items that have none, in order of their addresses: as NVML and the kernel count. */
static void number_items(struct rs_nccl_host *h, enum rs_nccl_item_kind kind)
{
	int next = 0;

	for (int i = 0; i < h->n_items; i++)
		if (h->items[i].kind == kind && h->items[i].dev >= 0)
			return;
	for (;;) {
		struct rs_nccl_item *first = NULL;

		for (int i = 0; i < h->n_items; i++) {
			struct rs_nccl_item *p = &h->items[i];

			if (p->kind == kind && p->dev < 0 && (!first || p->bus < first->bus))
				first = p;
		}
		if (!first)
			return;
		first->dev = next++;
	}
}

/* A GPU of which nothing but its slot is known: the generation's own. */
static const struct rs_nccl_gpu_model *by_slot(float bw)
{
	return rs_nccl_gpu_find(bw > 90 ? "B200" : bw > 40 ? "H100" : bw > 20 ? "A100" : "V100");
}

static int default_links(const struct rs_nccl_item *p, const struct rs_nccl_assume *assume)
{
	const struct rs_nccl_gpu_model *m = assume->gpu;

	for (int i = 0; !m && i < MODELS; i++)
		if (models[i].cc == p->cc && models[i].nvlinks)
			m = &models[i];
	/* of one cc the table has cut-down models first: the full one is meant */
	if (!assume->gpu && p->cc == 90)
		m = rs_nccl_gpu_find("H100");
	return m ? m->nvlinks : 0;
}

void rs_nccl_host_number(struct rs_nccl_host *h, const struct rs_nccl_assume *assume)
{
	number_items(h, RS_NCCL_GPU);
	number_items(h, RS_NCCL_PORT);
	for (int i = 0; i < h->n_items; i++) {
		struct rs_nccl_item *p = &h->items[i];

		if (p->kind == RS_NCCL_GPU && !p->cc) {
			p->cc = (assume->gpu ? assume->gpu : by_slot(p->bw))->cc;
			h->assumed |= !assume->gpu;
		}
		if (p->kind == RS_NCCL_PORT && p->asic == RS_NCCL_NO_GUID)
			p->asic = (uint64_t)p->dev;
		if (p->kind == RS_NCCL_PORT && p->net_bw <= 0) {
			/* graph/topo.cc: a speed of -1 counts as 10000 */
			h->slow_nics |= assume->mbps <= 0;
			p->net_bw = (float)((assume->mbps > 0 ? assume->mbps : 10000) / 8000.0);
		}
	}
}

void rs_nccl_host_assume(struct rs_load *l, struct rs_nccl_host *h,
			 const struct rs_nccl_assume *assume)
{
	rs_nccl_host_number(h, assume);
	if (h->n_nvlinks || h->n_gpus < 2)
		return;
	for (int i = 0; i < h->n_items && !l->err; i++) {
		int n = h->items[i].kind == RS_NCCL_GPU ? default_links(&h->items[i], assume) : 0;

		if (n) {
			h->assumed = true;
			rs_nccl_nvlink_add(l, h, i, RS_NCCL_TO_SWITCH, n);
		}
	}
}
