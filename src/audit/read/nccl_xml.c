/* NCCL's topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): the PCI tree with GPUs and NICs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "text/xml.h"

enum { DEPTH_MAX = 32 };

static int score(const struct rs_input *in)
{
	return rs_input_has(in, "<system") &&
			       (rs_input_has(in, "busid=") || rs_input_has(in, "numaid="))
		       ? 90
		       : 0;
}

struct tree {
	struct rs_audit *a;
	const struct rs_input *in;
	char numa[16];
};

static void put(struct tree *t, xmlNode *n, const char *subject, const char *name,
		const char *value)
{
	rs_input_add(t->a, t->in, (uint32_t)xmlGetLineNo(n), NULL, subject, name, "%s", value);
}

static void nic(struct tree *t, xmlNode *n, const char *pci)
{
	char name[64], value[64], subject[96];

	for (xmlNode *c = n->children; c; c = c->next) {
		if (!rs_xml_is(c, "net") || !rs_xml_attribute(c, "name", name, sizeof(name)))
			continue;
		snprintf(subject, sizeof(subject), "nic/%s", name);
		put(t, c, subject, "pci", pci + 4);
		if (rs_xml_attribute(c, "speed", value, sizeof(value)) && atoi(value) > 0) {
			snprintf(value, sizeof(value), "%d", atoi(value) / 1000);
			put(t, c, subject, "rate_gbps", value);
		}
		if (rs_xml_attribute(c, "gdr", value, sizeof(value)))
			put(t, c, subject, "gdr", value);
	}
}

/* <gpu sm="90"><nvlink target="..." count="18"/>: its links by where they go, or none. */
static void gpu(struct tree *t, xmlNode *n, const char *pci)
{
	char value[64], count[16], name[80];
	bool any = false;

	if (rs_xml_attribute(n, "sm", value, sizeof(value)) && atoi(value) > 0)
		put(t, n, pci, "sm", value);
	if (rs_xml_attribute(n, "gcn", value, sizeof(value)))
		put(t, n, pci, "gcn", value);
	for (xmlNode *c = n->children; c; c = c->next) {
		if ((!rs_xml_is(c, "nvlink") && !rs_xml_is(c, "xgmi")) ||
		    !rs_xml_attribute(c, "target", value, sizeof(value)) ||
		    !rs_xml_attribute(c, "count", count, sizeof(count)) || atoi(count) <= 0)
			continue;
		snprintf(name, sizeof(name), "nvlink/%s", value);
		put(t, c, pci, name, count);
		any = true;
	}
	put(t, n, pci, "nvlinks", any ? "yes" : "none");
}

static void pci(struct tree *t, xmlNode *n, const char *parent, unsigned depth)
{
	char bus[64], value[64], subject[80] = "";
	double gts;

	if (depth > DEPTH_MAX)
		return;
	if (rs_xml_attribute(n, "busid", bus, sizeof(bus))) {
		snprintf(subject, sizeof(subject), "pci/%s", bus);
		put(t, n, subject, "parent", parent);
		put(t, n, subject, "bridges_above", depth ? "1" : "0");
		if (*t->numa)
			put(t, n, subject, "numa_node", t->numa);
		/* 0 and "" are what a virtual machine shows: not known */
		if (rs_xml_attribute(n, "link_speed", value, sizeof(value)) &&
		    (gts = atof(value)) > 0) {
			snprintf(value, sizeof(value), "%.0f", gts * 10);
			put(t, n, subject, "link_speed", value);
		}
		if (rs_xml_attribute(n, "link_width", value, sizeof(value)) && atoi(value) > 0)
			put(t, n, subject, "link_width", value);
		if (rs_xml_attribute(n, "class", value, sizeof(value))) {
			const char *kind =
				strncmp(value, "0x0302", 6) && strncmp(value, "0x0300", 6)
					? strncmp(value, "0x0604", 6)
						  ? strncmp(value, "0x02", 4) ? "other" : "nic"
						  : "bridge"
					: "gpu";

			put(t, n, subject, "kind", kind);
		}
	}
	for (xmlNode *c = n->children; c; c = c->next) {
		if (c->type != XML_ELEMENT_NODE)
			continue;
		if (!strcmp((const char *)c->name, "pci"))
			pci(t, c, *subject ? subject + 4 : parent, depth + 1);
		else if (!strcmp((const char *)c->name, "nic") && *subject)
			nic(t, c, subject);
		else if (!strcmp((const char *)c->name, "gpu") && *subject)
			gpu(t, c, subject);
	}
}

static void cpu(struct tree *t, xmlNode *n)
{
	char value[64], vendor[64], family[16], model[16];

	*t->numa = '\0';
	if (rs_xml_attribute(n, "numaid", value, sizeof(value)))
		snprintf(t->numa, sizeof(t->numa), "%.15s", value);
	if (rs_xml_attribute(n, "vendor", vendor, sizeof(vendor)) &&
	    rs_xml_attribute(n, "familyid", family, sizeof(family)) &&
	    rs_xml_attribute(n, "modelid", model, sizeof(model))) {
		snprintf(value, sizeof(value), "%.20s %d %d", vendor, atoi(family), atoi(model));
		put(t, n, "host", "cpuid", value);
	}
	for (xmlNode *c = n->children; c; c = c->next)
		if (rs_xml_is(c, "pci"))
			pci(t, c, "root", 0);
}

static int read_nccl_xml(struct rs_audit *a, const struct rs_input *in)
{
	struct tree t = {.a = a, .in = in};
	xmlDoc *doc = rs_xml_parse(in->data, in->size);
	xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;

	for (xmlNode *c = root ? root->children : NULL; c; c = c->next)
		if (rs_xml_is(c, "cpu"))
			cpu(&t, c);
	xmlFreeDoc(doc);
	return a->err;
}

const struct rs_reader rs_reader_nccl_xml = {
	.name = "nccl-xml",
	.what = "NCCL's topology XML: the PCI tree, GPUs, NICs, NUMA nodes",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_nccl_xml,
	.begins = (const char *const[]){"<system version", "<system>", NULL},
};
