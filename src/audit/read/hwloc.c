/* hwloc's XML (lstopo --whole-io FILE.xml), formats 1 to 3: the PCI tree with bridges, GPUs, NICs,
 * NUMA nodes. Of a link hwloc keeps the bandwidth alone, in GB/s. IBTA vol. 1 14.2.5.6 (states). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "text/xml.h"

enum { DEPTH_MAX = 64, NODES_MAX = 4096 };

static int score(const struct rs_input *in)
{
	return rs_input_has(in, "<topology") && rs_input_has(in, "<object type=\"") ? 91 : 0;
}

struct tree {
	struct rs_audit *a;
	const struct rs_input *in;
	long format;
	bool node[NODES_MAX];
};

/* Where an object is: what it hangs on and the only NUMA node that it is near to, if one. */
struct place {
	char parent[32], function[32]; /* "0000:16:00.0"; function: of devices on it */
	int numa;                      /* -1: none, or several */
};

static void put(struct tree *t, xmlNode *n, const char *subject, const char *name,
		const char *value)
{
	rs_input_add(t->a, t->in, (uint32_t)xmlGetLineNo(n), NULL, subject, name, "%s", value);
}

/* Calls for each <info name= value=> of an object. */
static void each_info(struct tree *t, xmlNode *n, const char *subject,
		      void (*fn)(struct tree *t, xmlNode *n, const char *subject, const char *name,
				 const char *value))
{
	char name[64], value[256];

	for (xmlNode *c = n->children; c; c = c->next)
		if (rs_xml_is(c, "info") && rs_xml_attribute(c, "name", name, sizeof(name)) &&
		    rs_xml_attribute(c, "value", value, sizeof(value)))
			fn(t, c, subject, name, value);
}

/* The only member of a set such as "0x00000002" or "0x1,,0x0", words of 32 bits, highest first; -1:
 * several, none, or without an end ("0xf...f"). */
static int only_one(const char *set)
{
	unsigned words = 1, seen = 0;
	int one = -1;

	if (!*set || strstr(set, "..."))
		return -1;
	for (const char *p = set; *p; p++)
		words += *p == ',';
	for (const char *p = set; words--; p += strcspn(p, ","), p += *p == ',') {
		unsigned long word = *p == ',' ? 0 : strtoul(p, NULL, 16);

		seen += (unsigned)__builtin_popcountl(word);
		if (word)
			one = (int)words * 32 + __builtin_ctzl(word);
	}
	return seen == 1 && one < NODES_MAX ? one : -1;
}

/* ---- Devices ---- */

/* Kinds of OS devices: numbers up to format 2, a set of bits since 3. */
static bool is_device(const struct tree *t, const char *type, int number, int bit)
{
	long kind = strtol(type, NULL, 10);

	return t->format >= 3 ? (kind & bit) != 0 : kind == number;
}

static void of_fabrics(struct tree *t, xmlNode *n, const char *subject, const char *name,
		       const char *value)
{
	static const char *const states[] = {NULL, "DOWN", "INIT", "ARMED", "ACTIVE"};
	long state = strtol(value, NULL, 10);

	if (!strcmp(name, "NodeGUID"))
		put(t, n, subject, "node_guid", value);
	else if (!strcmp(name, "SysImageGUID"))
		put(t, n, subject, "sys_image_guid", value);
	else if (!strcmp(name, "Port1GID0"))
		put(t, n, subject, "gid/0", value);
	else if (!strcmp(name, "Port1State") && state >= 1 && state <= 4)
		put(t, n, subject, "port_state", states[state]);
}

static void of_network(struct tree *t, xmlNode *n, const char *subject, const char *name,
		       const char *value)
{
	if (!strcmp(name, "Address"))
		put(t, n, subject, "mac", value);
}

static void of_gpu(struct tree *t, xmlNode *n, const char *subject, const char *name,
		   const char *value)
{
	static const struct {
		const char *name, *fact;
	} known[] = {
		{"GPUModel", "product"},
		{"NVIDIAUUID", "uuid"},
		{"NVIDIASerial", "serial"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			put(t, n, subject, known[i].fact, value);
}

/* A coprocessor of the first MIC generation shows a fabric of its own: no HCA. */
static void os_device(struct tree *t, xmlNode *n, const struct place *p)
{
	char name[64], type[16], subject[96];

	if (!*p->function || !rs_xml_attribute(n, "name", name, sizeof(name)) ||
	    !rs_xml_attribute(n, "osdev_type", type, sizeof(type)) || !strncmp(name, "scif", 4))
		return;
	if (is_device(t, type, 3, 32)) {
		snprintf(subject, sizeof(subject), "nic/%s", name);
		put(t, n, subject, "pci", p->function);
		each_info(t, n, subject, of_fabrics);
	} else if (is_device(t, type, 2, 16)) {
		snprintf(subject, sizeof(subject), "netdev/%s", name);
		put(t, n, subject, "bus-info", p->function);
		each_info(t, n, subject, of_network);
	} else {
		snprintf(subject, sizeof(subject), "pci/%s", p->function);
		each_info(t, n, subject, of_gpu);
	}
}

/* "0302 [10de:1db3] [10de:1214] a1", and the link's bandwidth, where it is known. */
static void function(struct tree *t, xmlNode *n, const struct place *p, const char *subject)
{
	unsigned class, vendor, device, from, to, domain;
	char text[128], value[32];

	if (rs_xml_attribute(n, "pci_type", text, sizeof(text)) &&
	    sscanf(text, "%4x [%4x:%4x]", &class, &vendor, &device) == 3) {
		snprintf(value, sizeof(value), "0x%04x", class);
		put(t, n, subject, "class", value);
		snprintf(value, sizeof(value), "0x%04x", vendor);
		put(t, n, subject, "vendor", value);
		snprintf(value, sizeof(value), "0x%04x", device);
		put(t, n, subject, "device", value);
	}
	if (rs_xml_attribute(n, "pci_link_speed", text, sizeof(text)) && strtod(text, NULL) > 0)
		put(t, n, subject, "link_gbytes", text);
	if (rs_xml_attribute(n, "bridge_pci", text, sizeof(text)) &&
	    sscanf(text, "%8x:[%2x-%2x]", &domain, &from, &to) == 3) {
		snprintf(value, sizeof(value), "%u-%u", from, to);
		put(t, n, subject, "secondary_bus", value);
	}
	if (*p->parent)
		put(t, n, subject, "parent", p->parent);
	if (p->numa >= 0)
		rs_input_add(t->a, t->in, (uint32_t)xmlGetLineNo(n), NULL, subject, "numa_node",
			     "%d", p->numa);
}

/* A host bridge (type 0-1) is no function: it begins a root complex's buses. */
static void bridge_or_device(struct tree *t, xmlNode *n, struct place *p)
{
	unsigned domain, bus, device, fn;
	char text[64], subject[64];

	if (rs_xml_attribute(n, "bridge_type", text, sizeof(text)) && *text == '0') {
		if (rs_xml_attribute(n, "bridge_pci", text, sizeof(text)) &&
		    sscanf(text, "%8x:[%2x-", &domain, &bus) == 2)
			snprintf(p->parent, sizeof(p->parent), "pci%04x:%02x", domain, bus);
		return;
	}
	if (!rs_xml_attribute(n, "pci_busid", text, sizeof(text)) ||
	    sscanf(text, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &fn) != 4)
		return;
	snprintf(p->function, sizeof(p->function), "%04x:%02x:%02x.%x", domain, bus, device, fn);
	snprintf(subject, sizeof(subject), "pci/%s", p->function);
	function(t, n, p, subject);
	snprintf(p->parent, sizeof(p->parent), "%s", p->function);
}

/* ---- The whole ---- */

static void of_host(struct tree *t, xmlNode *n, const char *subject, const char *name,
		    const char *value)
{
	static const struct {
		const char *name, *fact;
	} known[] = {
		{"OSRelease", "kernel"},           {"DMISysVendor", "dmi_vendor"},
		{"DMIProductName", "dmi_product"}, {"CPUModel", "cpu_model"},
		{"CPUVendor", "cpu_vendor"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			put(t, n, subject, known[i].fact, value);
}

static void object(struct tree *t, xmlNode *n, struct place p, unsigned depth)
{
	char type[32], text[256];
	long index;

	if (depth > DEPTH_MAX || !rs_xml_attribute(n, "type", type, sizeof(type)))
		return;
	if (!strcmp(type, "Bridge") || !strcmp(type, "PCIDev")) {
		bridge_or_device(t, n, &p);
	} else if (!strcmp(type, "OSDev")) {
		os_device(t, n, &p);
	} else if (strcmp(type, "Misc")) {
		/* devices on the whole machine are near to no node of it */
		bool whole = !strcmp(type, "Machine") || !strcmp(type, "System");

		if (rs_xml_attribute(n, "nodeset", text, sizeof(text)))
			p.numa = whole ? -1 : only_one(text);
		if (!strncmp(type, "NUMANode", 8) &&
		    rs_xml_attribute(n, "os_index", text, sizeof(text)) &&
		    (index = strtol(text, NULL, 10)) >= 0 && index < NODES_MAX)
			t->node[index] = true;
		if (whole || !strcmp(type, "Package") || !strcmp(type, "Socket"))
			each_info(t, n, "host", of_host);
	}
	for (xmlNode *c = n->children; c; c = c->next)
		if (rs_xml_is(c, "object"))
			object(t, c, p, depth + 1);
}

/* "0-1,8", as the kernel lists them. */
static void nodes_online(struct tree *t)
{
	char list[1024] = "";

	for (int i = 0; i < NODES_MAX; i++) {
		size_t n = strlen(list);
		int last = i;

		if (!t->node[i])
			continue;
		while (last + 1 < NODES_MAX && t->node[last + 1])
			last++;
		snprintf(list + n, sizeof(list) - n, last > i ? "%s%d-%d" : "%s%d", n ? "," : "", i,
			 last);
		i = last;
	}
	if (*list)
		rs_input_add(t->a, t->in, 0, NULL, "host", "numa_online", "%s", list);
}

static int read_hwloc(struct rs_audit *a, const struct rs_input *in)
{
	xmlDoc *doc = rs_xml_parse(in->data, in->size);
	xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
	struct tree *t = calloc(1, sizeof(*t));
	char version[16];

	if (!t) {
		xmlFreeDoc(doc);
		return -ENOMEM;
	}
	*t = (struct tree){.a = a, .in = in};
	if (root && rs_xml_attribute(root, "version", version, sizeof(version)))
		t->format = strtol(version, NULL, 10);
	for (xmlNode *c = root ? root->children : NULL; c; c = c->next)
		if (rs_xml_is(c, "object"))
			object(t, c, (struct place){.numa = -1}, 0);
	nodes_online(t);
	free(t);
	xmlFreeDoc(doc);
	return a->err;
}

const struct rs_reader rs_reader_hwloc = {
	.name = "hwloc",
	.what = "hwloc's XML (lstopo FILE.xml): the PCI tree, link rates, GPUs, NICs, NUMA nodes",
	.trust = RS_TRUST_DUMP,
	.score = score,
	.read = read_hwloc,
	.begins = (const char *const[]){"<topology", NULL},
};
