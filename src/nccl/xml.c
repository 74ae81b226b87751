/*
 * NCCL's topology XML as a host: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE takes
 * (graph/xml.cc, graph/topo.cc). A file of the second kind may leave out what NCCL finds at run
 * time: GPUs and NICs are then told by their PCI class.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/topo.h"
#include "text/xml.h"

enum { VALUE_MAX = 128, XML_BYTES_MAX = 16 << 20 };

struct reader {
	struct rs_load *l;
	struct rs_nccl_host *h;
	bool tells_gpus, tells_nics, tells_dev; /* has <gpu>, <nic>, <net dev=>; else by class */
};

static struct rs_where at(const struct reader *r, const xmlNode *n)
{
	return (struct rs_where){r->l->name, (int)xmlGetLineNo(n), 1};
}

static bool text_of(const xmlNode *n, const char *name, char value[VALUE_MAX])
{
	return rs_xml_attribute((xmlNode *)(uintptr_t)n, name, value, VALUE_MAX);
}

/* An attribute that is a number from min to max; otherwise where there is none. */
static long number(struct reader *r, const xmlNode *n, const char *name, long min, long max,
		   long otherwise)
{
	char s[VALUE_MAX], *end;
	long v;

	if (!text_of(n, name, s))
		return otherwise;
	errno = 0;
	v = strtol(s, &end, 0);
	if (end == s || errno || v < min || v > max) {
		rs_load_fail(r->l, -EINVAL, at(r, n),
			     "%s: expected a number from %ld to %ld, found "
			     "'%s'",
			     name, min, max, s);
		return otherwise;
	}
	return v;
}

/* 100 Mb/s of a lane (graph/topo.cc, kvDictPciGen); what is not there counts as Gen3. */
static int lane_speed(const char *s)
{
	static const struct {
		const char *text;
		int speed;
	} speeds[] = {{"2.5 GT/s", 15},   {"5 GT/s", 30},   {"5.0 GT/s", 30},   {"8 GT/s", 60},
		      {"8.0 GT/s", 60},   {"16 GT/s", 120}, {"16.0 GT/s", 120}, {"32 GT/s", 240},
		      {"32.0 GT/s", 240}, {"64 GT/s", 480}, {"64.0 GT/s", 480}};

	for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++)
		if (!strncmp(s, speeds[i].text, strlen(speeds[i].text)))
			return speeds[i].speed;
	return 60;
}

static float link_bw(struct reader *r, const xmlNode *n)
{
	char s[VALUE_MAX];
	long width = number(r, n, "link_width", 0, 255, 0);

	text_of(n, "link_speed", s);
	return (float)((double)((width ? width : 16) * lane_speed(s)) / 80.0);
}

static const xmlNode *child(const xmlNode *n, const char *name)
{
	for (const xmlNode *c = n->children; c; c = c->next)
		if (rs_xml_is(c, name))
			return c;
	return NULL;
}

static uint64_t device(struct reader *r, const xmlNode *n)
{
	return (uint64_t)number(r, n, "vendor", 0, 0xffff, 0) << 48 |
	       (uint64_t)number(r, n, "device", 0, 0xffff, 0) << 32 |
	       (uint64_t)number(r, n, "subsystem_vendor", 0, 0xffff, 0) << 16 |
	       (uint64_t)number(r, n, "subsystem_device", 0, 0xffff, 0);
}

static void read_gpu(struct reader *r, const xmlNode *pci, int parent, uint64_t bus)
{
	const xmlNode *gpu = child(pci, "gpu");
	struct rs_nccl_item *p = rs_nccl_item_add(r->l, r->h, RS_NCCL_GPU, parent, at(r, pci));
	const struct rs_nccl_gpu_model *m;
	char target[VALUE_MAX];

	if (!p)
		return;
	p->bus = bus;
	p->bw = link_bw(r, pci);
	m = rs_nccl_gpu_by_pci((uint16_t)number(r, pci, "device", 0, 0xffff, 0));
	p->cc = m ? m->cc : 0;
	if (!gpu)
		return;
	if (text_of(gpu, "gcn", target)) {
		rs_load_fail(
			r->l, -EINVAL, at(r, gpu),
			"a GPU of AMD's: RCCL takes its rings from tables of known hosts, which "
			"are not here");
		return;
	}
	p->cc = (int)number(r, gpu, "sm", 10, 200, p->cc);
	p->dev = (int)number(r, gpu, "dev", 0, RS_NCCL_GPUS_MAX - 1, -1);
	p->gdr = number(r, gpu, "gdr", 0, 1, 1) != 0;
}

static void read_net(struct reader *r, const xmlNode *n, int nic, uint64_t bus)
{
	struct rs_nccl_item *p;
	char s[VALUE_MAX];
	long dev = number(r, n, "dev", 0, RS_NCCL_GPUS_MAX - 1, -1);

	if (r->tells_dev && dev < 0)
		return; /* a dump's NIC that NCCL did not take */
	p = rs_nccl_item_add(r->l, r->h, RS_NCCL_PORT, nic, at(r, n));
	if (!p)
		return;
	p->bus = bus;
	p->dev = (int)dev;
	p->name = text_of(n, "name", s) ? rs_load_string(r->l, s) : NULL;
	p->asic = text_of(n, "guid", s) ? strtoull(s, NULL, 16) : RS_NCCL_NO_GUID;
	p->port = (int)number(r, n, "port", -1, 255, 0);
	p->net_bw = (float)((double)number(r, n, "speed", -1, 100000000, 0) / 8000.0);
	p->latency = text_of(n, "latency", s) ? strtof(s, NULL) : 0;
	p->gdr = number(r, n, "gdr", 0, 1, 1) != 0;
	p->collnet = number(r, n, "coll", 0, 1, 0) != 0;
	if (p->latency < 0 || p->latency > 1e6f)
		rs_load_fail(r->l, -EINVAL, at(r, n), "latency: expected 0 to 1000000 us");
}

/* The ports of one card are one NIC: PCI functions of a device on one NUMA node. */
static int nic_of(struct reader *r, const xmlNode *pci, int parent, uint64_t bus)
{
	struct rs_nccl_item *p;

	for (int i = 0; i < r->h->n_items; i++)
		if (r->h->items[i].kind == RS_NCCL_NIC &&
		    r->h->items[i].bus == (bus & ~UINT64_C(0xf)) && r->h->items[i].parent == parent)
			return i;
	p = rs_nccl_item_add(r->l, r->h, RS_NCCL_NIC, parent, at(r, pci));
	if (!p)
		return -1;
	p->bus = bus & ~UINT64_C(0xf);
	p->bw = link_bw(r, pci);
	return r->h->n_items - 1;
}

static void read_nic(struct reader *r, const xmlNode *pci, int parent, uint64_t bus)
{
	const xmlNode *nic = child(pci, "nic");
	int me = nic_of(r, pci, parent, bus);

	if (me < 0)
		return;
	if (!nic) {
		read_net(r, pci, me, bus);
		return;
	}
	for (const xmlNode *c = nic->children; c && !r->l->err; c = c->next)
		if (rs_xml_is(c, "net"))
			read_net(r, c, me, bus);
}

static void read_pci(struct reader *r, const xmlNode *n, int parent, int depth)
{
	char class[VALUE_MAX], busid[VALUE_MAX];
	struct rs_nccl_item *p;
	uint64_t bus;
	int me;

	if (depth > RS_NCCL_DEPTH_MAX) {
		rs_load_fail(r->l, -E2BIG, at(r, n), "PCI devices nested more than %d deep",
			     RS_NCCL_DEPTH_MAX);
		return;
	}
	text_of(n, "class", class);
	if (!text_of(n, "busid", busid)) {
		rs_load_fail(r->l, -EINVAL, at(r, n),
			     "a <pci> without busid, as busid=\"0000:1b:00.0\"");
		return;
	}
	bus = rs_nccl_bus_parse(busid);
	if (child(n, "gpu") || (!r->tells_gpus && !strncmp(class, "0x03", 4))) {
		read_gpu(r, n, parent, bus);
		return;
	}
	if (child(n, "nic") || (!r->tells_nics && !strncmp(class, "0x02", 4))) {
		read_nic(r, n, parent, bus);
		return;
	}
	if (!strncmp(class, "0x03", 4) || !strncmp(class, "0x02", 4))
		return;
	p = rs_nccl_item_add(r->l, r->h, RS_NCCL_PCI, parent, at(r, n));
	if (!p)
		return;
	me = r->h->n_items - 1;
	p->bus = bus;
	p->bw = link_bw(r, n);
	p->device = device(r, n);
	for (const xmlNode *c = n->children; c && !r->l->err; c = c->next)
		if (rs_xml_is(c, "pci"))
			read_pci(r, c, me, depth + 1);
}

static enum rs_nccl_cpu_vendor vendor_of(const char *s)
{
	if (!strncmp(s, "GenuineIntel", 12))
		return RS_NCCL_INTEL;
	if (!strncmp(s, "AuthenticAMD", 12))
		return RS_NCCL_AMD;
	return !strncmp(s, "CentaurHauls", 12) || !strncmp(s, "  Shanghai  ", 12) ? RS_NCCL_ZHAOXIN
										  : 0;
}

static void read_cpu(struct reader *r, const xmlNode *n)
{
	struct rs_nccl_item *p = rs_nccl_item_add(r->l, r->h, RS_NCCL_CPU, -1, at(r, n));
	int me = r->h->n_items - 1;
	char s[VALUE_MAX];

	if (!p)
		return;
	p->bus = (uint64_t)number(r, n, "numaid", -1, 4095, 0);
	p->arch = !text_of(n, "arch", s) || !strncmp(s, "x86_64", 6) ? RS_NCCL_X86
		  : !strncmp(s, "arm64", 5)                          ? RS_NCCL_ARM
		  : !strncmp(s, "ppc64", 5)                          ? RS_NCCL_POWER
								     : 0;
	text_of(n, "vendor", s);
	p->vendor = p->arch == RS_NCCL_X86 ? vendor_of(s) : 0;
	p->family = (int)number(r, n, "familyid", 0, 4095, 0);
	p->model = (int)number(r, n, "modelid", 0, 4095, 0);
	for (const xmlNode *c = n->children; c && !r->l->err; c = c->next)
		if (rs_xml_is(c, "pci")) {
			read_pci(r, c, me, 0);
		} else if (rs_xml_is(c, "nic")) {
			int nic = nic_of(r, c, me, 0);

			if (nic >= 0)
				r->h->items[nic].bw = 5000; /* LOC_BW */
			for (const xmlNode *x = c->children; x && nic >= 0 && !r->l->err;
			     x = x->next)
				if (rs_xml_is(x, "net"))
					read_net(r, x, nic, 0);
		}
}

static int gpu_at(const struct reader *r, uint64_t bus)
{
	for (int i = 0; i < r->h->n_items; i++)
		if (r->h->items[i].kind == RS_NCCL_GPU && r->h->items[i].bus == bus)
			return i;
	return -1;
}

static void read_nvlink(struct reader *r, const xmlNode *n, int gpu)
{
	int count = (int)number(r, n, "count", 0, 1024, 1), to = RS_NCCL_TO_SWITCH;
	char class[VALUE_MAX], target[VALUE_MAX];

	text_of(n, "tclass", class);
	if (!strncmp(class, "0x03", 4)) {
		text_of(n, "target", target);
		to = gpu_at(r, rs_nccl_bus_parse(target));
		if (to < 0)
			return; /* a GPU of the host that is not here */
	} else if (!strncmp(class, "0x068001", 8)) {
		to = RS_NCCL_TO_CPU;
	}
	if (to != gpu && count)
		rs_nccl_nvlink_add(r->l, r->h, gpu, to, count);
}

/* NVLinks and coherent links come when all GPUs are there. */
static void read_links(struct reader *r, const xmlNode *n, int depth)
{
	char busid[VALUE_MAX];

	if (depth > RS_NCCL_DEPTH_MAX + 4)
		return;
	for (const xmlNode *c = n->children; c && !r->l->err; c = c->next) {
		if (rs_xml_is(c, "gpu") && text_of(n, "busid", busid)) {
			int gpu = gpu_at(r, rs_nccl_bus_parse(busid));

			for (const xmlNode *x = c->children; x && gpu >= 0; x = x->next)
				if (rs_xml_is(x, "nvlink"))
					read_nvlink(r, x, gpu);
				else if (rs_xml_is(x, "c2c"))
					rs_nccl_c2c_add(
						r->l, r->h, gpu,
						(float)((double)(number(r, x, "bw", 0, 1 << 24, 0) *
								 number(r, x, "count", 0, 64, 0)) /
							1000.0));
		}
		read_links(r, c, depth + 1);
	}
}

/* What kinds of elements there are at all. */
static void look(struct reader *r, const xmlNode *n, int depth)
{
	char s[VALUE_MAX];

	for (const xmlNode *c = n->children; c && depth <= RS_NCCL_DEPTH_MAX + 4; c = c->next) {
		r->tells_gpus |= rs_xml_is(c, "gpu");
		r->tells_nics |= rs_xml_is(c, "nic");
		r->tells_dev |= rs_xml_is(c, "net") && text_of(c, "dev", s);
		look(r, c, depth + 1);
	}
}

static void read_system(struct reader *r, const xmlNode *root)
{
	if (!rs_xml_is(root, "system")) {
		rs_load_fail(r->l, -EINVAL, at(r, root),
			     "<%.40s> is no topology of NCCL's, which begins with <system>; "
			     "NCCL_TOPO_DUMP_FILE writes one",
			     (const char *)root->name);
		return;
	}
	look(r, root, 0);
	for (const xmlNode *c = root->children; c && !r->l->err; c = c->next)
		if (rs_xml_is(c, "cpu"))
			read_cpu(r, c);
	read_links(r, root, 0);
	if (!r->l->err && !r->h->n_gpus)
		rs_load_fail(r->l, -EINVAL, at(r, root),
			     "no GPU in it: neither <gpu> nor a <pci> of class 0x03...");
}

int rs_nccl_host_parse(const char *text, size_t n, const char *name,
		       const struct rs_nccl_assume *assume, struct rs_arena *a,
		       struct rs_nccl_host **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.arena = a, .e = e ? e : &own, .name = name};
	struct reader r = {.l = &l, .h = rs_load_take(&l, 1, sizeof(struct rs_nccl_host))};
	const xmlNode *root;
	xmlDoc *doc;

	*out = NULL;
	if (!l.err && n > XML_BYTES_MAX)
		rs_load_fail(&l, -E2BIG, (struct rs_where){name, 1, 1}, "more than 16 MiB of XML");
	if (l.err)
		return l.err;
	doc = rs_xml_load(&l, text, n, &root);
	if (doc)
		read_system(&r, root);
	xmlFreeDoc(doc);
	if (!l.err)
		rs_nccl_host_assume(&l, r.h, assume);
	if (l.err)
		return l.err;
	*out = r.h;
	return 0;
}
