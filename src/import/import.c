/* Hosts from files that others wrote: what kind a file is, and NCCL's topology XML; hwloc's is in
 * hwloc.c. What a file does not say stays 0: unknown. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "import/import.h"
#include "import/reader.h"

enum { XML_BYTES_MAX = 16 << 20 };

/* CPUID family and model, extended fields added, as NCCL writes them, to the host room's classes.
 */
static const struct {
	const char *vendor;
	int family, first, last;
	const char *cpu;
} cpus[] = {
	{"GenuineIntel", 6, 85, 85, "skl"},     {"GenuineIntel", 6, 106, 108, "icx"},
	{"GenuineIntel", 6, 143, 143, "spr"},   {"GenuineIntel", 6, 207, 207, "emr"},
	{"GenuineIntel", 6, 173, 174, "gnr"},   {"AuthenticAMD", 143, 49, 49, "rome"},
	{"AuthenticAMD", 175, 1, 1, "milan"},   {"AuthenticAMD", 175, 17, 17, "genoa"},
	{"AuthenticAMD", 191, 0, 255, "turin"}, {"AuthenticAMD", 23, 49, 49, "rome"},
	{"AuthenticAMD", 25, 1, 1, "milan"},    {"AuthenticAMD", 25, 17, 17, "genoa"},
	{"AuthenticAMD", 26, 0, 255, "turin"},
};

const char *rs_import_cpu(const char *vendor, int family, int model)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
		if (!strcmp(cpus[i].vendor, vendor) && cpus[i].family == family &&
		    model >= cpus[i].first && model <= cpus[i].last)
			return cpus[i].cpu;
	return NULL;
}

static uint8_t generation(double gt)
{
	static const double speeds[] = {2.5, 5, 8, 16, 32, 64};

	for (uint8_t i = 0; i < 6; i++)
		if (fabs(gt - speeds[i]) < 0.11)
			return i + 1;
	return 0;
}

struct rs_part *import_named(struct import *m, enum rs_part_kind kind, const char *prefix, int *n)
{
	return rs_host_part_add(m->l, m->h, kind,
				rs_arena_printf(m->l->arena, "%s%d", prefix, (*n)++));
}

/* PCI class code: base and sub-class, PCI Code and ID Assignment specification. */
enum rs_part_kind import_class(unsigned class)
{
	switch (class >> 8) {
	case 0x02:
		return RS_PART_NIC;
	case 0x03:
	case 0x12:
		return RS_PART_GPU;
	case 0x06:
		return RS_PART_PCI_BRIDGE;
	default:
		return class == 0x0c06 ? RS_PART_NIC : RS_PART_OTHER;
	}
}

struct rs_part *import_device(struct import *m, enum rs_part_kind kind)
{
	switch (kind) {
	case RS_PART_GPU:
		return import_named(m, kind, "gpu", &m->n_gpu);
	case RS_PART_NIC:
		return import_named(m, kind, "nic", &m->n_nic);
	case RS_PART_PCI_BRIDGE:
		return import_named(m, kind, "sw", &m->n_bridge);
	default:
		return import_named(m, kind, "other", &m->n_other);
	}
}

/* ---- NCCL ---- */

/* An attribute's text in the arena; "" when absent. */
const char *import_attribute(struct import *m, const xmlNode *n, const char *name)
{
	xmlChar *s = xmlGetProp(n, (const xmlChar *)name);
	const char *copy = s ? rs_load_string(m->l, (const char *)s) : "";

	xmlFree(s);
	return copy ? copy : "";
}

static long number(struct import *m, const xmlNode *n, const char *name, long otherwise)
{
	const char *s = import_attribute(m, n, name);
	char *end;
	long v = strtol(s, &end, 0);

	return end == s ? otherwise : v;
}

static struct rs_where xml_where(struct import *m, const xmlNode *n)
{
	return (struct rs_where){m->l->name, (int)xmlGetLineNo(n), 1};
}

static int64_t port_speed(struct import *m, const xmlNode *nic)
{
	int64_t rate = 0;

	for (const xmlNode *n = nic->children; n; n = n->next)
		if (rs_xml_is(n, "net")) {
			long mbps = number(m, n, "speed", 0);

			if (mbps > 0 && mbps <= 10000000)
				rate += mbps * RS_MBPS;
		}
	return rate;
}

static void nccl_nic(struct import *m, const xmlNode *n, int parent)
{
	struct rs_part *p = import_device(m, RS_PART_NIC);

	if (!p)
		return;
	p->parent = parent;
	p->port_rate = port_speed(m, n);
}

static enum rs_part_kind nccl_kind(struct import *m, const xmlNode *n)
{
	unsigned class = (unsigned)number(m, n, "class", 0) >> 8;

	for (const xmlNode *c = n->children; c; c = c->next) {
		if (rs_xml_is(c, "gpu"))
			return RS_PART_GPU;
		if (rs_xml_is(c, "nic"))
			return RS_PART_NIC;
		if (rs_xml_is(c, "pci"))
			return RS_PART_PCI_BRIDGE;
	}
	return import_class(class);
}

static void nccl_pci(struct import *m, const xmlNode *n, int parent, int depth)
{
	enum rs_part_kind kind = nccl_kind(m, n);
	struct rs_part *p = m->l->err ? NULL : import_device(m, kind);
	long lanes = number(m, n, "link_width", 0);
	int me = m->h->n_parts - 1;

	if (!p)
		return;
	if (depth > XML_DEPTH_MAX) {
		rs_load_fail(m->l, -E2BIG, xml_where(m, n), "PCI devices nested more than %d deep",
			     XML_DEPTH_MAX);
		return;
	}
	p->parent = parent;
	p->busid = import_attribute(m, n, "busid");
	p->up.gen = generation(strtod(import_attribute(m, n, "link_speed"), NULL));
	p->up.lanes = lanes > 0 && lanes <= 32 ? (uint8_t)lanes : 0;
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next) {
		if (rs_xml_is(c, "nic"))
			m->h->parts[me].port_rate += port_speed(m, c);
		else if (rs_xml_is(c, "pci"))
			nccl_pci(m, c, me, depth + 1);
	}
}

static int by_busid(const struct rs_host *h, const char *busid)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].busid && !strcmp(h->parts[i].busid, busid))
			return i;
	return RS_NO_PART;
}

static bool joined(const struct rs_host *h, int a, int b)
{
	for (int i = 0; i < h->n_xlinks; i++)
		if ((h->xlinks[i].a == a && h->xlinks[i].b == b) ||
		    (h->xlinks[i].a == b && h->xlinks[i].b == a))
			return true;
	return false;
}

/* Mb/s of a link and direction: 50 GB/s since Blackwell, 25 since Volta, 20 before; 14.0625 of
 * GA102 (NVIDIA's white papers). */
static int64_t link_rate(long sm)
{
	return sm >= 100 ? 400000 : sm == 86 ? 112500 : sm >= 70 ? 200000 : 160000;
}

/* xGMI by the GPU's model. */
static void nccl_nvlink(struct import *m, const xmlNode *n, int gpu, long sm)
{
	long count = number(m, n, "count", 0);
	int to = by_busid(m->h, import_attribute(m, n, "target"));
	bool nvlink = rs_xml_is(n, "nvlink"), to_switch;
	struct rs_xlink *x;

	to_switch = to < 0 && (number(m, n, "tclass", 0) >> 8) == 0x0680;
	if (to_switch) {
		to = rs_host_find(m->h, "nvswitch0");
		if (to < 0 && rs_host_part_add(m->l, m->h, RS_PART_NVSWITCH, "nvswitch0"))
			to = m->h->n_parts - 1;
	}
	if (to < 0 || to == gpu || m->l->err || (!to_switch && joined(m->h, gpu, to)))
		return;
	x = rs_host_xlink_add(m->l, m->h, gpu, to, RS_XLINK_NVLINK);
	if (!x || count <= 0 || count > 64)
		return;
	if (!nvlink)
		x->rate = count * rs_xgmi_rate(m->h->parts[gpu].model);
	else if (sm)
		x->rate = count * link_rate(sm) * RS_MBPS;
}

/* NVLink-C2C joins a GPU and its processor's memory: bw is of a link, in MB/s. */
static void nccl_c2c(struct import *m, const xmlNode *n, int gpu)
{
	long bw = number(m, n, "bw", 0), count = number(m, n, "count", 0);
	int socket = m->h->parts[gpu].parent;
	struct rs_xlink *x;

	while (socket >= 0 && m->h->parts[socket].kind != RS_PART_SOCKET)
		socket = m->h->parts[socket].parent;
	if (socket < 0 || bw <= 0 || bw > 10000000 || count <= 0 || count > 64)
		return;
	x = rs_host_xlink_add(m->l, m->h, gpu, socket, RS_XLINK_C2C);
	if (x)
		x->rate = bw * count * 8 * RS_MBPS;
}

/* RCCL's dump has its GPUs' architecture, as gfx942, and in `sm` that number. */
static void nccl_gpu(struct import *m, const xmlNode *n, struct rs_part *gpu)
{
	const char *gcn = import_attribute(m, n, "gcn");

	gpu->cc = *gcn ? 0 : (int)number(m, n, "sm", 0);
	if (*gcn)
		gpu->model = gcn;
}

static void nccl_links(struct import *m, const xmlNode *n, int depth)
{
	if (depth > XML_DEPTH_MAX + 4)
		return;
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next) {
		if (rs_xml_is(c, "gpu") && rs_xml_is(n, "pci")) {
			int gpu = by_busid(m->h, import_attribute(m, n, "busid"));

			if (gpu >= 0 && m->h->parts[gpu].kind == RS_PART_GPU)
				nccl_gpu(m, c, &m->h->parts[gpu]);
			for (const xmlNode *x = c->children; x && gpu >= 0; x = x->next)
				if (rs_xml_is(x, "nvlink") || rs_xml_is(x, "xgmi"))
					nccl_nvlink(m, x, gpu, number(m, c, "sm", 0));
				else if (rs_xml_is(x, "c2c"))
					nccl_c2c(m, x, gpu);
		}
		nccl_links(m, c, depth + 1);
	}
}

static void nccl_cpu(struct import *m, const xmlNode *n)
{
	long numa = number(m, n, "numaid", -1);
	struct rs_part *p = import_named(m, RS_PART_SOCKET, "socket", &m->n_socket);
	int me = m->h->n_parts - 1;
	const char *cpu;

	if (!p)
		return;
	p->numa = numa >= 0 && numa < 4096 ? (int)numa : -1;
	cpu = rs_import_cpu(import_attribute(m, n, "vendor"), (int)number(m, n, "familyid", 0),
			    (int)number(m, n, "modelid", 0));
	if (cpu)
		m->h->cpu = p->model = cpu;
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next) {
		if (rs_xml_is(c, "pci"))
			nccl_pci(m, c, me, 0);
		else if (rs_xml_is(c, "nic"))
			nccl_nic(m, c, me);
	}
}

static void nccl(struct import *m, const xmlNode *root)
{
	for (const xmlNode *n = root->children; n && !m->l->err; n = n->next)
		if (rs_xml_is(n, "cpu"))
			nccl_cpu(m, n);
	nccl_links(m, root, 0);
	if (!m->l->err && !m->n_socket)
		rs_load_fail(m->l, -EINVAL, xml_where(m, root),
			     "a NCCL topology without a <cpu>; dump it again "
			     "with NCCL_TOPO_DUMP_FILE");
}

/* ---- Either ---- */

static void recognise(struct import *m, const char *text, size_t n)
{
	const xmlNode *root;
	xmlDoc *doc = rs_xml_load(m->l, text, n, &root);

	if (!doc)
		return;
	if (rs_xml_is(root, "system")) {
		nccl(m, root);
	} else if (rs_xml_is(root, "topology")) {
		import_hwloc(m, root);
	} else if (rs_xml_is(root, "graphs")) {
		rs_load_fail(m->l, -EINVAL, xml_where(m, root),
			     "a NCCL graph file, not a topology: it lists "
			     "rings, not devices; use the file that NCCL_TOPO_DUMP_FILE writes");
	} else {
		rs_load_fail(m->l, -EINVAL, xml_where(m, root),
			     "<%.40s> is neither a NCCL topology (<system>) "
			     "nor a hwloc one (<topology>)",
			     (const char *)root->name);
	}
	xmlFreeDoc(doc);
}

int rs_host_import_text(const char *text, size_t n, const char *name, struct rs_arena *a,
			struct rs_host **out, struct rs_error *e)
{
	struct rs_error own = {0}, why = {0};
	struct rs_load l = {.arena = a, .e = e ? e : &own, .name = name};
	struct import m = {.l = &l};

	*out = NULL;
	m.h = rs_load_take(&l, 1, sizeof(*m.h));
	if (!m.h)
		return l.err;
	if (n > XML_BYTES_MAX)
		return rs_load_fail(&l, -E2BIG, (struct rs_where){name, 1, 1},
				    "more than 16 MiB of XML");
	m.h->source = rs_load_string(&l, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	if (!l.err)
		recognise(&m, text, n);
	if (!l.err)
		rs_host_sort(&l, m.h);
	if (!l.err && rs_host_check(m.h, &why))
		rs_load_fail(&l, -EINVAL, (struct rs_where){name, 1, 1}, "%s", why.what);
	if (l.err)
		return l.err;
	*out = m.h;
	return 0;
}

int rs_host_import(const char *path, struct rs_arena *a, struct rs_host **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.arena = a, .e = e ? e : &own, .name = path};
	size_t n;
	char *text = rs_load_file(&l, path, XML_BYTES_MAX, (struct rs_where){path, 0, 0}, &n);
	int err;

	*out = NULL;
	if (!text)
		return l.err;
	err = rs_host_import_text(text, n, path, a, out, e);
	free(text);
	return err;
}
