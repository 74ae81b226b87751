/* hwloc's XML, formats 1 to 3, read from the document itself: hwloc's own reader trusts its input
 * (versions to 2.9 follow null pointers on a changed byte) and refuses formats newer than itself.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "import/import.h"
#include "import/reader.h"

enum { PACKAGES_MAX = 256, WORDS_MAX = 256 };

/* A CPU or node set: "0x000000ff,,0x1", 32-bit words, the highest first; "0xf...f" in front: all
 * above too. */
struct set {
	unsigned n;
	bool given, endless;
	uint32_t word[WORDS_MAX]; /* the lowest first */
};

struct reader {
	struct import *m;
	const char *version;
	int n_packages;
	struct set cpus[PACKAGES_MAX];
};

static void read_set(struct reader *r, const xmlNode *n, const char *name, struct set *set)
{
	const char *s = import_attribute(r->m, n, name);
	uint32_t word[WORDS_MAX];
	unsigned k = 0;

	*set = (struct set){.given = *s != '\0', .endless = !strncmp(s, "0xf...f", 7)};
	if (set->endless)
		s += 7 + (s[7] == ',');
	while (*s) {
		if (k == WORDS_MAX) {
			rs_load_fail(r->m->l, -E2BIG, (struct rs_where){r->m->l->name, 1, 1},
				     "a set of more than %d CPUs", WORDS_MAX * 32);
			return;
		}
		word[k++] = (uint32_t)strtoul(s, NULL, 16);
		s += strcspn(s, ",");
		s += *s == ',';
	}
	for (set->n = 0; set->n < k; set->n++)
		set->word[set->n] = word[k - 1 - set->n];
}

static uint32_t word_of(const struct set *s, unsigned i)
{
	return i < s->n ? s->word[i] : s->endless ? UINT32_MAX : 0;
}

static bool within(const struct set *inner, const struct set *outer)
{
	if (inner->endless && !outer->endless)
		return false;
	for (unsigned i = 0; i < inner->n || i < outer->n; i++)
		if (word_of(inner, i) & ~word_of(outer, i))
			return false;
	return true;
}

/* The only member of a set of one; -1 of others. */
static int only_one(const struct set *s)
{
	int one = -1;

	for (unsigned i = 0; i < s->n; i++)
		if (s->word[i]) {
			if (one >= 0 || s->word[i] & (s->word[i] - 1))
				return -1;
			one = (int)i * 32 + __builtin_ctz(s->word[i]);
		}
	return s->endless ? -1 : one;
}

static bool is_type(struct reader *r, const xmlNode *n, const char *type)
{
	return rs_xml_is(n, "object") && !strcmp(import_attribute(r->m, n, "type"), type);
}

static bool is_io(struct reader *r, const xmlNode *n)
{
	return is_type(r, n, "Bridge") || is_type(r, n, "PCIDev") || is_type(r, n, "OSDev") ||
	       is_type(r, n, "Misc");
}

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

/* An OpenFabrics device: kind 3 up to format 2, a bit of a set of kinds since format 3. */
static bool has_fabrics(struct reader *r, const xmlNode *n)
{
	for (const xmlNode *c = n->children; c; c = c->next) {
		long kind;

		if (!is_type(r, c, "OSDev"))
			continue;
		kind = strtol(import_attribute(r->m, c, "osdev_type"), NULL, 10);
		if (strtol(r->version, NULL, 10) >= 3 ? kind >= 0 && kind & 32 : kind == 3)
			return true;
	}
	return false;
}

/* Not every display is a GPU, nor every network function one that carries RDMA. */
static enum rs_part_kind kind_of(struct reader *r, const xmlNode *n)
{
	unsigned class = 0, vendor = 0, device;
	enum rs_part_kind kind;

	if (sscanf(import_attribute(r->m, n, "pci_type"), "%4x [%4x:%4x]", &class, &vendor,
		   &device) != 3)
		return RS_PART_OTHER;
	kind = import_class(class);
	if (kind == RS_PART_GPU && vendor != 0x10de && class >> 8 != 0x12 &&
	    (vendor != 0x1002 || (class == 0x0300 && device < RS_AMD_COMPUTES)))
		return RS_PART_OTHER;
	if (kind == RS_PART_NIC && class != 0x0207 && vendor != 0x15b3 && !has_fabrics(r, n))
		return RS_PART_OTHER;
	return kind == RS_PART_PCI_BRIDGE ? RS_PART_OTHER : kind;
}

static const char *address(struct reader *r, const xmlNode *n)
{
	unsigned domain, bus, device, function;

	if (sscanf(import_attribute(r->m, n, "pci_busid"), "%8x:%2x:%2x.%1x", &domain, &bus,
		   &device, &function) != 4)
		return NULL;
	return rs_arena_printf(r->m->l->arena, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

/* A bridge of type 0-1 is the host's own end of the tree: no part. */
static void read_io(struct reader *r, const xmlNode *n, int parent, int depth)
{
	bool device = is_type(r, n, "PCIDev");
	struct import *m = r->m;
	struct rs_part *p;
	int me = parent;

	if ((!device && !is_type(r, n, "Bridge")) || depth > XML_DEPTH_MAX || m->l->err)
		return;
	if (device || import_attribute(m, n, "bridge_type")[0] == '1') {
		p = import_device(m, device ? kind_of(r, n) : RS_PART_PCI_BRIDGE);
		if (!p)
			return;
		me = m->h->n_parts - 1;
		p->parent = parent;
		p->busid = address(r, n);
		link_of_bandwidth(strtod(import_attribute(m, n, "pci_link_speed"), NULL), &p->up);
	}
	for (const xmlNode *c = n->children; c && !m->l->err; c = c->next)
		read_io(r, c, me, depth + 1);
}

/* The package that has all CPUs of the object that devices hang on. */
static int socket_of(struct reader *r, const xmlNode *over)
{
	struct set cpus;

	read_set(r, over, "cpuset", &cpus);
	for (int i = 0; cpus.given && i < r->n_packages; i++)
		if (within(&cpus, &r->cpus[i]))
			return i;
	return r->m->n_socket == 1 ? 0 : RS_NO_PART;
}

/* Devices directly under objects that are none, in the order of the file: first trees, then single
 * devices. */
static void read_devices(struct reader *r, const xmlNode *n, const char *type, int depth)
{
	if (depth > XML_DEPTH_MAX)
		return;
	for (const xmlNode *c = n->children; c && !r->m->l->err; c = c->next)
		if (rs_xml_is(c, "object") && !is_io(r, c))
			read_devices(r, c, type, depth + 1);
	for (const xmlNode *c = n->children; c && !r->m->l->err; c = c->next)
		if (is_type(r, c, type))
			read_io(r, c, socket_of(r, n), 0);
}

static const char *info(struct reader *r, const xmlNode *n, const char *name)
{
	for (const xmlNode *c = n->children; c; c = c->next)
		if (rs_xml_is(c, "info") && !strcmp(import_attribute(r->m, c, "name"), name))
			return import_attribute(r->m, c, "value");
	return "";
}

static void read_package(struct reader *r, const xmlNode *n)
{
	struct import *m = r->m;
	struct rs_part *p;
	struct set nodes;

	if (r->n_packages == PACKAGES_MAX) {
		rs_load_fail(m->l, -E2BIG, (struct rs_where){m->l->name, (int)xmlGetLineNo(n), 1},
			     "more than %d packages", PACKAGES_MAX);
		return;
	}
	p = import_named(m, RS_PART_SOCKET, "socket", &m->n_socket);
	if (!p)
		return;
	read_set(r, n, "cpuset", &r->cpus[r->n_packages++]);
	read_set(r, n, "nodeset", &nodes);
	p->numa = only_one(&nodes) < 4096 ? only_one(&nodes) : -1;
	if (!m->h->cpu)
		m->h->cpu =
			rs_import_cpu(info(r, n, "CPUVendor"), atoi(info(r, n, "CPUFamilyNumber")),
				      atoi(info(r, n, "CPUModelNumber")));
}

/* A package was a socket in format 1. */
static void read_packages(struct reader *r, const xmlNode *n, int depth)
{
	for (const xmlNode *c = n->children; c && depth < XML_DEPTH_MAX && !r->m->l->err;
	     c = c->next) {
		if (is_type(r, c, "Package") || is_type(r, c, "Socket"))
			read_package(r, c);
		else if (rs_xml_is(c, "object") && !is_io(r, c))
			read_packages(r, c, depth + 1);
	}
}

void import_hwloc(struct import *m, const xmlNode *root)
{
	struct reader *r = calloc(1, sizeof(*r));
	const xmlNode *top = root->children;

	if (!r) {
		rs_load_fail(m->l, -ENOMEM, (struct rs_where){0}, "out of memory");
		return;
	}
	*r = (struct reader){.m = m, .version = import_attribute(m, root, "version")};
	while (top && !rs_xml_is(top, "object"))
		top = top->next;
	if (top) {
		read_packages(r, root, 0);
		if (!m->n_socket)
			import_named(m, RS_PART_SOCKET, "socket", &m->n_socket);
		read_devices(r, root, "Bridge", 0);
		read_devices(r, root, "PCIDev", 0);
	} else {
		rs_load_fail(m->l, -EINVAL,
			     (struct rs_where){m->l->name, (int)xmlGetLineNo(root), 1},
			     "a hwloc topology without objects; write it again with "
			     "lstopo --whole-io FILE.xml");
	}
	free(r);
}
