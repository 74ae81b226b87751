/*
 * A described host as NCCL would see it: its sockets are the CPUs, in the order in which the first
 * GPU or NIC of each comes; PCI devices of a switch by address. What the description leaves out is
 * as NCCL takes what it cannot read: an unknown link is Gen3 x16.
 */
#include <errno.h>
#include <string.h>
#include "nccl/topo.h"

struct maker {
	struct rs_load *l;
	const struct rs_host *from;
	struct rs_nccl_host *h;
	int *of;      /* part to item; -1 */
	int *number;  /* of a GPU, of a NIC's first port */
	bool *placed; /* sockets */
};

static const struct rs_where nowhere = {"host", 1, 1};

/* CPUID's family and model of a class of CPUs (host/host.h), as NCCL reads it. */
static void cpu_ids(struct rs_nccl_item *p, const char *cpu)
{
	static const struct {
		const char *name;
		enum rs_nccl_cpu_vendor vendor;
		int family, model;
	} cpus[] = {{"bdw", RS_NCCL_INTEL, 6, 79},   {"skl", RS_NCCL_INTEL, 6, 85},
		    {"icx", RS_NCCL_INTEL, 6, 106},  {"spr", RS_NCCL_INTEL, 6, 143},
		    {"emr", RS_NCCL_INTEL, 6, 207},  {"gnr", RS_NCCL_INTEL, 6, 173},
		    {"rome", RS_NCCL_AMD, 143, 49},  {"milan", RS_NCCL_AMD, 175, 1},
		    {"genoa", RS_NCCL_AMD, 175, 17}, {"turin", RS_NCCL_AMD, 191, 2}};

	p->arch = RS_NCCL_X86;
	p->vendor = RS_NCCL_INTEL; /* not said: as Skylake, which most classes are like */
	p->family = 6;
	p->model = 85;
	if (cpu && !strcmp(cpu, "grace")) {
		p->arch = RS_NCCL_ARM;
		p->vendor = 0;
	}
	for (size_t i = 0; cpu && i < sizeof(cpus) / sizeof(*cpus); i++)
		if (!strcmp(cpus[i].name, cpu)) {
			p->vendor = cpus[i].vendor;
			p->family = cpus[i].family;
			p->model = cpus[i].model;
		}
}

/* width x speed / 80, as NCCL counts a PCI link (graph/topo.cc). */
static float pcie_bw(const struct rs_pcie *p)
{
	static const int speeds[] = {60, 15, 30, 60, 120, 240, 480};
	int lanes = p->lanes ? p->lanes : 16;

	return (float)((double)(lanes * speeds[p->gen <= 6 ? p->gen : 0]) / 80.0);
}

static uint64_t bus_of(const struct maker *m, int part)
{
	const char *busid = m->from->parts[part].busid;

	return busid && *busid ? rs_nccl_bus_parse(busid) : (uint64_t)part;
}

static int socket_above(const struct rs_host *h, int part)
{
	for (int up = 0; part >= 0 && up < RS_NCCL_DEPTH_MAX; up++) {
		if (h->parts[part].kind == RS_PART_SOCKET)
			return part;
		part = h->parts[part].parent;
	}
	return -1;
}

static void add_ports(struct maker *m, int part, int nic)
{
	const struct rs_part *p = &m->from->parts[part];
	int ports = p->ports ? p->ports : 1;

	for (int i = 0; i < ports; i++) {
		struct rs_nccl_item *q = rs_nccl_item_add(m->l, m->h, RS_NCCL_PORT, nic, nowhere);

		if (!q)
			return;
		q->bus = bus_of(m, part);
		q->dev = m->number[part] + i;
		q->name = p->name;
		q->asic = (uint64_t)part + 1;
		q->port = i + 1;
		q->net_bw = (float)((double)p->port_rate / 8e9);
		q->tag = (uint32_t)(m->number[part] + i);
	}
}

static void add_part(struct maker *m, int part, int parent, int depth);

/* Those that hang on a part: by address. */
static void add_below(struct maker *m, int part, int parent, int depth)
{
	for (;;) {
		int next = -1;

		for (int i = 0; i < m->from->n_parts; i++)
			if (m->from->parts[i].parent == part && m->of[i] == -1 &&
			    (next < 0 || bus_of(m, i) < bus_of(m, next)))
				next = i;
		if (next < 0 || m->l->err)
			return;
		m->of[next] = -2;
		add_part(m, next, parent, depth + 1);
	}
}

static void add_part(struct maker *m, int part, int parent, int depth)
{
	static const enum rs_nccl_item_kind kinds[] = {[RS_PART_PCI_BRIDGE] = RS_NCCL_PCI,
						       [RS_PART_GPU] = RS_NCCL_GPU,
						       [RS_PART_NIC] = RS_NCCL_NIC};
	const struct rs_part *p = &m->from->parts[part];
	struct rs_nccl_item *q;

	if ((p->kind != RS_PART_PCI_BRIDGE && p->kind != RS_PART_GPU && p->kind != RS_PART_NIC) ||
	    depth > RS_NCCL_DEPTH_MAX)
		return;
	q = rs_nccl_item_add(m->l, m->h, kinds[p->kind], parent, nowhere);
	if (!q)
		return;
	m->of[part] = m->h->n_items - 1;
	q->bus = bus_of(m, part);
	q->bw = pcie_bw(&p->up);
	if (p->kind == RS_PART_GPU) {
		const struct rs_nccl_gpu_model *model = rs_nccl_gpu_find(p->model);

		q->dev = m->number[part];
		q->tag = (uint32_t)q->dev;
		q->amd = rs_nccl_gpu_amd(p->model);
		q->gfx = rs_nccl_gpu_gfx(p->model);
		/* RCCL's search counts as NCCL's does for Hopper */
		q->cc = q->amd ? 90 : model ? model->cc : p->cc;
	} else if (p->kind == RS_PART_NIC) {
		add_ports(m, part, m->of[part]);
	} else {
		add_below(m, part, m->of[part], depth);
	}
}

static void add_socket(struct maker *m, int part)
{
	const struct rs_part *p = part < 0 ? NULL : &m->from->parts[part];
	struct rs_nccl_item *q = rs_nccl_item_add(m->l, m->h, RS_NCCL_CPU, -1, nowhere);

	if (!q)
		return;
	q->bus = p && p->numa >= 0 ? (uint64_t)p->numa : (uint64_t)m->h->n_items;
	cpu_ids(q, p && p->model ? p->model : m->from->cpu);
	if (p) {
		m->placed[part] = true;
		m->of[part] = m->h->n_items - 1;
		add_below(m, part, m->of[part], 0);
	}
}

/* CPUs in the order in which GPUs, then NICs, are on them; what has no place hangs on the first. */
static void add_all(struct maker *m)
{
	static const enum rs_part_kind order[] = {RS_PART_GPU, RS_PART_NIC};
	const struct rs_host *h = m->from;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < h->n_parts && !m->l->err; i++) {
			int s = h->parts[i].kind == order[k] ? socket_above(h, i) : -1;

			if (s >= 0 && !m->placed[s])
				add_socket(m, s);
		}
	if (!m->h->n_items)
		add_socket(m, -1);
	for (int i = 0; i < h->n_parts && !m->l->err; i++)
		if (m->of[i] == -1 && socket_above(h, i) < 0)
			add_part(m, i, 0, 0);
}

/* Links by their rate: 25 GB/s each, 20 before Volta, 50 from Blackwell on (NVIDIA's white papers).
 */
static int links_of(const struct maker *m, int gpu, bool xgmi, int64_t rate)
{
	const struct rs_nccl_gpu_model *model = rs_nccl_gpu_find(m->from->parts[gpu].model);
	int cc = m->h->items[m->of[gpu]].cc;
	int64_t each = (cc >= 100 ? 400 : cc && cc < 70 ? 160 : 200) * RS_GBPS;

	if (xgmi) {
		each = rs_xgmi_rate(m->from->parts[gpu].model);
		return each && rate > each ? (int)(rate / each) : 1;
	}
	if (rate > 0)
		return (int)(rate / each > 0 ? rate / each : 1);
	return model ? model->nvlinks : 0;
}

static void add_xlink(struct maker *m, const struct rs_xlink *x)
{
	const struct rs_part *parts = m->from->parts;

	for (int side = 0; side < 2; side++) {
		int gpu = side ? x->b : x->a, other = side ? x->a : x->b, n;

		if (parts[gpu].kind != RS_PART_GPU || m->of[gpu] < 0)
			continue;
		if (x->kind == RS_XLINK_C2C) {
			rs_nccl_c2c_add(m->l, m->h, m->of[gpu], (float)((double)x->rate / 8e9));
			continue;
		}
		n = links_of(m, gpu,
			     parts[other].kind == RS_PART_GPU && m->h->items[m->of[gpu]].amd,
			     x->rate);
		if (x->kind != RS_XLINK_NVLINK || n < 1)
			continue;
		if (parts[other].kind == RS_PART_NVSWITCH)
			rs_nccl_nvlink_add(m->l, m->h, m->of[gpu], RS_NCCL_TO_SWITCH, n);
		else if (parts[other].kind == RS_PART_GPU && m->of[other] >= 0)
			rs_nccl_nvlink_add(m->l, m->h, m->of[gpu], m->of[other], n);
	}
}

static void number_parts(struct maker *m)
{
	int gpus = 0, ports = 0;

	for (int i = 0; i < m->from->n_parts; i++) {
		const struct rs_part *p = &m->from->parts[i];

		m->of[i] = -1;
		if (p->kind == RS_PART_GPU) {
			m->number[i] = gpus++;
		} else if (p->kind == RS_PART_NIC) {
			m->number[i] = ports;
			ports += p->ports ? p->ports : 1;
		}
	}
}

/* Several NVSwitches are one to NCCL; a model's default counts once, not a switch. */
static void add_xlinks(struct maker *m)
{
	const struct rs_host *h = m->from;
	bool unsaid[RS_NCCL_GPUS_MAX] = {false};

	for (int i = 0; i < h->n_xlinks && !m->l->err; i++) {
		const struct rs_xlink *x = &h->xlinks[i];
		int gpu = h->parts[x->a].kind == RS_PART_GPU ? x->a : x->b;
		int other = gpu == x->a ? x->b : x->a;

		if (x->kind == RS_XLINK_NVLINK && !x->rate &&
		    h->parts[other].kind == RS_PART_NVSWITCH && m->number[gpu] < RS_NCCL_GPUS_MAX) {
			if (unsaid[m->number[gpu]])
				continue;
			unsaid[m->number[gpu]] = true;
		}
		add_xlink(m, x);
	}
}

int rs_nccl_host_inside(const struct rs_host *h, const struct rs_nccl_assume *assume,
			struct rs_arena *a, struct rs_nccl_host **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.arena = a, .e = e ? e : &own, .name = h->name ? h->name : "host"};
	struct maker m = {.l = &l, .from = h};
	size_t n = (size_t)h->n_parts + 1;

	*out = NULL;
	m.h = rs_load_take(&l, 1, sizeof(*m.h));
	m.of = rs_load_take(&l, n, sizeof(*m.of));
	m.number = rs_load_take(&l, n, sizeof(*m.number));
	m.placed = rs_load_take(&l, n, sizeof(*m.placed));
	if (l.err)
		return l.err;
	m.h->name = h->name;
	number_parts(&m);
	add_all(&m);
	add_xlinks(&m);
	if (!l.err && !m.h->n_gpus)
		rs_error_set(l.e, l.err = -EINVAL, "%s has no GPU inside", l.name);
	if (!l.err)
		rs_nccl_host_number(m.h, assume);
	if (l.err)
		return l.err;
	*out = m.h;
	return 0;
}
