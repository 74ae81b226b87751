/* Hosts from files that others wrote: NCCL's topology XML and hwloc's XML. What a file does not say
 * stays 0: unknown. */
#include <errno.h>
#include <hwloc.h>
#include <libxml/parser.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/host_build.h"
#include "fabric/load.h"

enum { XML_BYTES_MAX = 16 << 20, XML_DEPTH_MAX = 64 };

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

static const char *cpu_class(const char *vendor, int family, int model)
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

struct import {
	struct load *l;
	struct rs_host *h;
	int n_gpu, n_nic, n_bridge, n_other, n_socket;
};

static struct rs_part *named(struct import *m, enum rs_part_kind kind, const char *prefix, int *n)
{
	return part_add(m->l, m->h, kind, rs_arena_printf(m->l->arena, "%s%d", prefix, (*n)++));
}

/* PCI class code: base and sub-class, PCI Code and ID Assignment specification. */
static enum rs_part_kind kind_of_class(unsigned class)
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

static struct rs_part *device(struct import *m, enum rs_part_kind kind)
{
	switch (kind) {
	case RS_PART_GPU:
		return named(m, kind, "gpu", &m->n_gpu);
	case RS_PART_NIC:
		return named(m, kind, "nic", &m->n_nic);
	case RS_PART_PCI_BRIDGE:
		return named(m, kind, "sw", &m->n_bridge);
	default:
		return named(m, kind, "other", &m->n_other);
	}
}

/* ---- NCCL ---- */

/* An attribute's text in the arena; "" when absent. */
static const char *attribute(struct import *m, const xmlNode *n, const char *name)
{
	xmlChar *s = xmlGetProp(n, (const xmlChar *)name);
	const char *copy = s ? take_string(m->l, (const char *)s) : "";

	xmlFree(s);
	return copy ? copy : "";
}

static long number(struct import *m, const xmlNode *n, const char *name, long otherwise)
{
	const char *s = attribute(m, n, name);
	char *end;
	long v = strtol(s, &end, 0);

	return end == s ? otherwise : v;
}

static bool is(const xmlNode *n, const char *name)
{
	return n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, name);
}

static struct rs_where xml_where(struct import *m, const xmlNode *n)
{
	return (struct rs_where){m->l->name, (int)xmlGetLineNo(n), 1};
}

static int64_t port_speed(struct import *m, const xmlNode *nic)
{
	int64_t rate = 0;

	for (const xmlNode *n = nic->children; n; n = n->next)
		if (is(n, "net")) {
			long mbps = number(m, n, "speed", 0);

			if (mbps > 0 && mbps <= 10000000)
				rate += mbps * RS_MBPS;
		}
	return rate;
}

static void nccl_nic(struct import *m, const xmlNode *n, int parent)
{
	struct rs_part *p = device(m, RS_PART_NIC);

	if (!p)
		return;
	p->parent = parent;
	p->port_rate = port_speed(m, n);
}

static enum rs_part_kind nccl_kind(struct import *m, const xmlNode *n)
{
	unsigned class = (unsigned)number(m, n, "class", 0) >> 8;

	for (const xmlNode *c = n->children; c; c = c->next) {
		if (is(c, "gpu"))
			return RS_PART_GPU;
		if (is(c, "nic"))
			return RS_PART_NIC;
		if (is(c, "pci"))
			return RS_PART_PCI_BRIDGE;
	}
	return kind_of_class(class);
}

static void nccl_pci(struct import *m, const xmlNode *n, int parent, int depth)
{
	enum rs_part_kind kind = nccl_kind(m, n);
	struct rs_part *p = m->l->err ? NULL : device(m, kind);
	long lanes = number(m, n, "link_width", 0);
	int me = m->h->n_parts - 1;

	if (!p)
		return;
	if (depth > XML_DEPTH_MAX) {
		fail(m->l, -E2BIG, xml_where(m, n), "PCI devices nested more than %d deep",
		     XML_DEPTH_MAX);
		return;
	}
	p->parent = parent;
	p->busid = attribute(m, n, "busid");
	p->up.gen = generation(strtod(attribute(m, n, "link_speed"), NULL));
	p->up.lanes = lanes > 0 && lanes <= 32 ? (uint8_t)lanes : 0;
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next) {
		if (is(c, "nic"))
			m->h->parts[me].port_rate += port_speed(m, c);
		else if (is(c, "pci"))
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

/* 25 GB/s a link and direction since Volta, 20 GB/s before (NVIDIA's white papers); xGMI: not said.
 */
static void nccl_nvlink(struct import *m, const xmlNode *n, int gpu, long sm)
{
	long count = number(m, n, "count", 0);
	int to = by_busid(m->h, attribute(m, n, "target"));
	bool nvlink = is(n, "nvlink"), to_switch;
	struct rs_xlink *x;

	to_switch = to < 0 && (number(m, n, "tclass", 0) >> 8) == 0x0680;
	if (to_switch) {
		to = part_find(m->h, "nvswitch0");
		if (to < 0 && part_add(m->l, m->h, RS_PART_NVSWITCH, "nvswitch0"))
			to = m->h->n_parts - 1;
	}
	if (to < 0 || to == gpu || m->l->err || (!to_switch && joined(m->h, gpu, to)))
		return;
	x = xlink_add(m->l, m->h, gpu, to, RS_XLINK_NVLINK);
	if (x && nvlink && sm && count > 0 && count <= 64)
		x->rate = count * (sm >= 70 ? 200 : 160) * RS_GBPS;
}

static void nccl_links(struct import *m, const xmlNode *n, int depth)
{
	if (depth > XML_DEPTH_MAX + 4)
		return;
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next) {
		if (is(c, "gpu") && is(n, "pci")) {
			int gpu = by_busid(m->h, attribute(m, n, "busid"));

			for (const xmlNode *x = c->children; x && gpu >= 0; x = x->next)
				if (is(x, "nvlink") || is(x, "xgmi"))
					nccl_nvlink(m, x, gpu, number(m, c, "sm", 0));
		}
		nccl_links(m, c, depth + 1);
	}
}

static void nccl_cpu(struct import *m, const xmlNode *n)
{
	long numa = number(m, n, "numaid", -1);
	struct rs_part *p = named(m, RS_PART_SOCKET, "socket", &m->n_socket);
	int me = m->h->n_parts - 1;
	const char *cpu;

	if (!p)
		return;
	p->numa = numa >= 0 && numa < 4096 ? (int)numa : -1;
	cpu = cpu_class(attribute(m, n, "vendor"), (int)number(m, n, "familyid", 0),
			(int)number(m, n, "modelid", 0));
	if (cpu)
		m->h->cpu = p->model = cpu;
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next) {
		if (is(c, "pci"))
			nccl_pci(m, c, me, 0);
		else if (is(c, "nic"))
			nccl_nic(m, c, me);
	}
}

static void nccl(struct import *m, const xmlNode *root)
{
	for (const xmlNode *n = root->children; n && !m->l->err; n = n->next)
		if (is(n, "cpu"))
			nccl_cpu(m, n);
	nccl_links(m, root, 0);
	if (!m->l->err && !m->n_socket)
		fail(m->l, -EINVAL, xml_where(m, root),
		     "a NCCL topology without a <cpu>; dump it again "
		     "with NCCL_TOPO_DUMP_FILE");
}

/* ---- hwloc ---- */

/* hwloc knows a link's bandwidth only; the oldest generation that gives it with whole lanes up to
 * 16 stands for it: the rate is the same. */
static void link_of_bandwidth(double gigabytes, struct rs_pcie *up)
{
	static const double lane[] = {0.25,
				      0.5,
				      8 * 128 / 130.0 / 8,
				      16 * 128 / 130.0 / 8,
				      32 * 128 / 130.0 / 8,
				      64 * 242 / 256.0 / 8};

	for (uint8_t g = 0; g < 6 && gigabytes > 0.2; g++)
		for (uint8_t lanes = 1; lanes <= 16; lanes *= 2)
			if (fabs(gigabytes / (lane[g] * lanes) - 1) < 0.03) {
				*up = (struct rs_pcie){.gen = g + 1, .lanes = lanes};
				return;
			}
}

static bool has_fabrics(hwloc_obj_t o)
{
	for (hwloc_obj_t c = o->io_first_child; c; c = c->next_sibling)
		if (c->type == HWLOC_OBJ_OS_DEVICE &&
		    c->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
			return true;
	return false;
}

/* Not every display is a GPU, nor every network function one that carries RDMA. */
static enum rs_part_kind hwloc_kind(hwloc_obj_t o)
{
	const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
	enum rs_part_kind kind = kind_of_class(pci->class_id);

	if (kind == RS_PART_GPU && pci->vendor_id != 0x10de && pci->vendor_id != 0x1002 &&
	    pci->class_id >> 8 != 0x12)
		return RS_PART_OTHER;
	if (kind == RS_PART_NIC && pci->class_id != 0x0207 && pci->vendor_id != 0x15b3 &&
	    !has_fabrics(o))
		return RS_PART_OTHER;
	return kind == RS_PART_PCI_BRIDGE ? RS_PART_OTHER : kind;
}

static void hwloc_io(struct import *m, hwloc_obj_t o, int parent, int depth)
{
	const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
	struct rs_part *p;
	int me = parent;

	if (o->type == HWLOC_OBJ_OS_DEVICE || o->type == HWLOC_OBJ_MISC || depth > XML_DEPTH_MAX)
		return;
	if (o->type == HWLOC_OBJ_PCI_DEVICE ||
	    o->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
		p = device(m, o->type == HWLOC_OBJ_PCI_DEVICE ? hwloc_kind(o) : RS_PART_PCI_BRIDGE);
		if (!p)
			return;
		me = m->h->n_parts - 1;
		p->parent = parent;
		p->busid = rs_arena_printf(m->l->arena, "%04x:%02x:%02x.%x", (unsigned)pci->domain,
					   pci->bus, pci->dev, pci->func);
		link_of_bandwidth((double)pci->linkspeed, &p->up);
	}
	for (hwloc_obj_t c = o->io_first_child; c && !m->l->err; c = c->next_sibling)
		hwloc_io(m, c, me, depth + 1);
}

static int socket_of(struct import *m, hwloc_obj_t o, const hwloc_obj_t *packages)
{
	for (int i = 0; i < m->n_socket; i++)
		if (packages[i] && hwloc_bitmap_isincluded(o->cpuset, packages[i]->cpuset))
			return i;
	return m->n_socket == 1 ? 0 : RS_NO_PART;
}

static void hwloc_sockets(struct import *m, hwloc_topology_t t, hwloc_obj_t *packages, int n)
{
	for (int i = 0; i < (n ? n : 1) && !m->l->err; i++) {
		struct rs_part *p = named(m, RS_PART_SOCKET, "socket", &m->n_socket);
		hwloc_obj_t o = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, (unsigned)i);
		const char *vendor, *family, *model;

		packages[i] = n ? o : NULL;
		if (!p || !o)
			continue;
		p->numa = o->nodeset && hwloc_bitmap_weight(o->nodeset) == 1
				  ? hwloc_bitmap_first(o->nodeset)
				  : -1;
		vendor = hwloc_obj_get_info_by_name(o, "CPUVendor");
		family = hwloc_obj_get_info_by_name(o, "CPUFamilyNumber");
		model = hwloc_obj_get_info_by_name(o, "CPUModelNumber");
		if (vendor && family && model && !m->h->cpu)
			m->h->cpu = cpu_class(vendor, atoi(family), atoi(model));
	}
}

static void hwloc_tree(struct import *m, hwloc_topology_t t)
{
	int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE);
	hwloc_obj_t *packages, o = NULL;

	if (n < 0 || n > 256) {
		fail(m->l, -E2BIG, (struct rs_where){m->l->name, 1, 1}, "more than 256 packages");
		return;
	}
	packages = take(m->l, (size_t)n + 1, sizeof(hwloc_obj_t));
	if (!packages)
		return;
	hwloc_sockets(m, t, packages, n);
	while (!m->l->err && (o = hwloc_get_next_bridge(t, o))) {
		hwloc_obj_t over = hwloc_get_non_io_ancestor_obj(t, o);

		if (o->parent == over)
			hwloc_io(m, o, socket_of(m, over, packages), 0);
	}
	for (o = NULL; !m->l->err && (o = hwloc_get_next_pcidev(t, o));) {
		hwloc_obj_t over = hwloc_get_non_io_ancestor_obj(t, o);

		if (o->parent == over)
			hwloc_io(m, o, socket_of(m, over, packages), 0);
	}
}

static void hwloc_read(struct import *m, const char *text, size_t n)
{
	struct rs_where at = {m->l->name, 1, 1};
	hwloc_topology_t t;

	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	setenv("HWLOC_COMPONENTS", "xml,stop", 0);
	if (hwloc_topology_init(&t)) {
		fail(m->l, -ENOMEM, at, "out of memory");
		return;
	}
	if (hwloc_topology_set_xmlbuffer(t, text, (int)n + 1) ||
	    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_load(t))
		fail(m->l, -EINVAL, at,
		     "hwloc cannot read this topology; write it again with "
		     "lstopo --whole-io FILE.xml");
	else
		hwloc_tree(m, t);
	hwloc_topology_destroy(t);
}

/* ---- Either ---- */

/* libxml2 reports a broken encoding here whatever the options say. */
__attribute__((format(printf, 2, 3))) static void silent(void *context, const char *fmt, ...)
{
}

static void not_xml(struct import *m)
{
	const xmlError *why = xmlGetLastError();
	struct rs_where at = {m->l->name, why && why->line > 0 ? why->line : 1,
			      why && why->int2 > 0 ? why->int2 : 1};

	fail(m->l, -EINVAL, at, "not XML: %.*s",
	     why && why->message ? (int)strcspn(why->message, "\n") : 5,
	     why && why->message ? why->message : "empty");
}

static void recognise(struct import *m, const char *text, size_t n)
{
	xmlDoc *doc;
	const xmlNode *root;

	xmlResetLastError();
	xmlSetGenericErrorFunc(NULL, silent);
	doc = xmlReadMemory(text, (int)n, NULL, NULL,
			    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	root = doc ? xmlDocGetRootElement(doc) : NULL;
	if (!root) {
		not_xml(m);
	} else if (doc->intSubset && doc->intSubset->entities) {
		fail(m->l, -EINVAL, (struct rs_where){m->l->name, 1, 1},
		     "XML that defines entities: no topology has some");
	} else if (is(root, "system")) {
		nccl(m, root);
	} else if (is(root, "topology") &&
		   strtol(attribute(m, root, "version"), NULL, 10) > HWLOC_API_VERSION >> 16) {
		fail(m->l, -EINVAL, xml_where(m, root),
		     "written by a newer hwloc than the one here "
		     "(%d); write it again with lstopo --export-xml-flags v2",
		     HWLOC_API_VERSION >> 16);
	} else if (is(root, "topology")) {
		hwloc_read(m, text, n);
	} else if (is(root, "graphs")) {
		fail(m->l, -EINVAL, xml_where(m, root),
		     "a NCCL graph file, not a topology: it lists "
		     "rings, not devices; use the file that NCCL_TOPO_DUMP_FILE writes");
	} else {
		fail(m->l, -EINVAL, xml_where(m, root),
		     "<%.40s> is neither a NCCL topology (<system>) "
		     "nor a hwloc one (<topology>)",
		     (const char *)root->name);
	}
	xmlFreeDoc(doc);
	xmlSetGenericErrorFunc(NULL, NULL);
}

int rs_host_import_text(const char *text, size_t n, const char *name, struct rs_arena *a,
			struct rs_host **out, struct rs_error *e)
{
	struct rs_error own = {0}, why = {0};
	struct load l = {.arena = a, .e = e ? e : &own, .name = name};
	struct import m = {.l = &l};

	*out = NULL;
	m.h = take(&l, 1, sizeof(*m.h));
	if (!m.h)
		return l.err;
	if (n > XML_BYTES_MAX)
		return fail(&l, -E2BIG, (struct rs_where){name, 1, 1}, "more than 16 MiB of XML");
	m.h->source = take_string(&l, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	if (!l.err)
		recognise(&m, text, n);
	if (!l.err)
		host_sort(&l, m.h);
	if (!l.err && rs_host_check(m.h, &why))
		fail(&l, -EINVAL, (struct rs_where){name, 1, 1}, "%s", why.what);
	if (l.err)
		return l.err;
	*out = m.h;
	return 0;
}

int rs_host_import(const char *path, struct rs_arena *a, struct rs_host **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct load l = {.arena = a, .e = e ? e : &own, .name = path};
	size_t n;
	char *text = read_file(&l, path, XML_BYTES_MAX, (struct rs_where){path, 0, 0}, &n);
	int err;

	*out = NULL;
	if (!text)
		return l.err;
	err = rs_host_import_text(text, n, path, a, out, e);
	free(text);
	return err;
}
