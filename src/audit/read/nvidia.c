/* nvidia-smi -q (bus address, BAR1, memory, link, MIG, versions) and nvidia-smi nvlink --status. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "text/xml.h"

static int score(const struct rs_input *in)
{
	return rs_input_has(in, "NVSMI LOG") ? 92 : 0;
}

struct state {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[64];    /* "pci/0000:1a:00.0"; "": before the first GPU */
	char section[2][64]; /* headings above, by indent: 4 and 8 columns */
};

static void put(struct state *s, uint32_t line, const char *name, const char *value)
{
	rs_input_add(s->a, s->in, line, NULL, s->subject, name, "%s", value);
}

/* "GPU 00000000:1A:00.0" -> "pci/0000:1a:00.0" */
static bool gpu(struct state *s, const char *text)
{
	char address[32];
	unsigned domain, bus, dev, fn;

	if (sscanf(text, "GPU %x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4 || domain > 0xffffff ||
	    bus > 0xff || dev > 31 || fn > 7)
		return false;
	snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", domain, bus, dev, fn);
	snprintf(s->subject, sizeof(s->subject), "pci/%s", address);
	return true;
}

/* "81559 MiB", "16x", "5": the number in front. false: "N/A" and the like. */
static bool leading(const char *value, char *out, size_t size)
{
	size_t n = strspn(value, "0123456789");

	snprintf(out, size, "%.*s", (int)n, value);
	return n > 0;
}

/* PCIe generations as tenths of GT/s. */
static const char *speed_of(const char *generation)
{
	static const char *const of[] = {"", "25", "50", "80", "160", "320", "640"};
	int g = atoi(generation);

	return g > 0 && g < 7 ? of[g] : "";
}

static void of_gpu(struct state *s, uint32_t line, const char *key, const char *value)
{
	static const struct {
		const char *section, *key, *fact;
	} known[] = {
		{"BAR1 Memory Usage", "Total", "bar1_mib"},
		{"FB Memory Usage", "Total", "fb_mib"},
	};
	static const struct {
		const char *key, *fact;
	} plain[] = {
		{"Product Name", "product"},
		{"VBIOS Version", "vbios"},
		{"Performance State", "pstate"},
		{"Persistence Mode", "persistence"},
		{"GPU UUID", "uuid"},
		{"Serial Number", "serial"},
		{"Addressing Mode", "addressing"},
	};
	char number[32];

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(s->section[0], known[i].section) && !strcmp(key, known[i].key) &&
		    leading(value, number, sizeof(number)))
			put(s, line, known[i].fact, number);
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!strcmp(key, plain[i].key) && strcmp(value, "N/A"))
			put(s, line, plain[i].fact, value);
	if (!strcmp(s->section[0], "MIG Mode") && !strcmp(key, "Current") &&
	    !strcmp(value, "Enabled"))
		put(s, line, "mig", "1");
	/* an idle GPU lowers its link's speed: what it runs at now says nothing, its width does */
	if (!strcmp(s->section[1], "PCIe Generation") && !strcmp(key, "Max") && *speed_of(value))
		put(s, line, "max_link_speed", speed_of(value));
	if (!strcmp(s->section[1], "Link Width") && leading(value, number, sizeof(number))) {
		if (!strcmp(key, "Max"))
			put(s, line, "max_link_width", number);
		else if (!strcmp(key, "Current"))
			put(s, line, "link_width", number);
	}
}

static int read_q(struct rs_audit *a, const struct rs_input *in)
{
	struct state s = {.a = a, .in = in};
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (!l.indent && gpu(&s, l.text)) {
			put(&s, l.number, "kind", "gpu");
			s.section[0][0] = s.section[1][0] = '\0';
			continue;
		}
		if (!rs_line_pair(l.text, ':', &key, &value)) {
			/* a heading: what is below it belongs to it */
			if (l.indent <= 4) {
				snprintf(s.section[0], sizeof(s.section[0]), "%.63s", l.text);
				s.section[1][0] = '\0';
			} else {
				snprintf(s.section[1], sizeof(s.section[1]), "%.63s", l.text);
			}
			continue;
		}
		if (!*s.subject) {
			if (!strcmp(key, "Driver Version") || !strcmp(key, "CUDA Version"))
				rs_input_add(a, in, l.number, NULL, "host",
					     *key == 'D' ? "gpu_driver" : "cuda", "%s", value);
			continue;
		}
		if (l.indent <= 4)
			s.section[0][0] = s.section[1][0] = '\0';
		of_gpu(&s, l.number, key, value);
	}
	return a->err;
}

const struct rs_reader rs_reader_nvidia_smi = {
	.name = "nvidia-smi",
	.what = "nvidia-smi -q: each GPU's BAR1, memory, link, MIG, versions",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_q,
	.begins = (const char *const[]){"==============NVSMI LOG", "=*=NVSMI LOG", NULL},
};

/* ---- nvidia-smi -q -x ---- */

static int score_xml(const struct rs_input *in)
{
	return rs_input_has(in, "<nvidia_smi_log>") ? 93 : 0;
}

/* An element by its names below another, "pci/pci_gpu_link_info"; NULL: there is none. */
static xmlNode *below(xmlNode *n, const char *path)
{
	while (n && *path) {
		size_t len = strcspn(path, "/");
		xmlNode *c = n->children;

		while (c && (c->type != XML_ELEMENT_NODE || strlen((const char *)c->name) != len ||
			     strncmp((const char *)c->name, path, len) != 0))
			c = c->next;
		n = c;
		path += len + (path[len] == '/');
	}
	return n;
}

/* Its text without blanks around it; false: empty, or what it does not have. */
static bool text_below(xmlNode *n, const char *path, char *out, size_t size, uint32_t *line)
{
	xmlNode *at = below(n, path);
	xmlChar *v = at ? xmlNodeGetContent(at) : NULL;
	const char *p = v ? (const char *)v + strspn((const char *)v, " \t\r\n") : "";

	snprintf(out, size, "%.*s", (int)strcspn(p, "\r\n"), p);
	*line = at ? (uint32_t)xmlGetLineNo(at) : 0;
	xmlFree(v);
	return *out && strcmp(out, "N/A") != 0;
}

static void gpu_xml(struct state *s, xmlNode *n)
{
	static const struct {
		const char *path, *fact;
		enum { TEXT, NUMBER, GENERATION } kind;
	} known[] = {
		{"product_name", "product", TEXT},
		{"vbios_version", "vbios", TEXT},
		{"performance_state", "pstate", TEXT},
		{"persistence_mode", "persistence", TEXT},
		{"uuid", "uuid", TEXT},
		{"serial", "serial", TEXT},
		{"addressing_mode", "addressing", TEXT},
		{"bar1_memory_usage/total", "bar1_mib", NUMBER},
		{"fb_memory_usage/total", "fb_mib", NUMBER},
		{"pci/pci_gpu_link_info/link_widths/max_link_width", "max_link_width", NUMBER},
		{"pci/pci_gpu_link_info/link_widths/current_link_width", "link_width", NUMBER},
		{"pci/pci_gpu_link_info/pcie_gen/max_link_gen", "max_link_speed", GENERATION},
	};
	char value[256], number[32];
	uint32_t line;

	put(s, (uint32_t)xmlGetLineNo(n), "kind", "gpu");
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!text_below(n, known[i].path, value, sizeof(value), &line))
			continue;
		if (known[i].kind == TEXT)
			put(s, line, known[i].fact, value);
		else if (known[i].kind == NUMBER && leading(value, number, sizeof(number)))
			put(s, line, known[i].fact, number);
		else if (known[i].kind == GENERATION && *speed_of(value))
			put(s, line, known[i].fact, speed_of(value));
	}
	if (text_below(n, "mig_mode/current_mig", value, sizeof(value), &line) &&
	    !strcmp(value, "Enabled"))
		put(s, line, "mig", "1");
}

static int read_xml(struct rs_audit *a, const struct rs_input *in)
{
	xmlDoc *doc = rs_xml_parse(in->data, in->size);
	xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
	struct state s = {.a = a, .in = in};
	char value[256];
	uint32_t line;

	if (text_below(root, "driver_version", value, sizeof(value), &line))
		rs_input_add(a, in, line, NULL, "host", "gpu_driver", "%s", value);
	if (text_below(root, "cuda_version", value, sizeof(value), &line))
		rs_input_add(a, in, line, NULL, "host", "cuda", "%s", value);
	for (xmlNode *c = root ? root->children : NULL; c; c = c->next) {
		xmlChar *id = c->type == XML_ELEMENT_NODE && !strcmp((const char *)c->name, "gpu")
				      ? xmlGetProp(c, (const xmlChar *)"id")
				      : NULL;

		snprintf(value, sizeof(value), "GPU %s", id ? (const char *)id : "");
		if (id && gpu(&s, value))
			gpu_xml(&s, c);
		xmlFree(id);
	}
	xmlFreeDoc(doc);
	return a->err;
}

const struct rs_reader rs_reader_nvidia_smi_xml = {
	.name = "nvidia-smi-xml",
	.what = "nvidia-smi -q -x: the same as XML",
	.trust = RS_TRUST_TOOL,
	.score = score_xml,
	.read = read_xml,
	.begins = (const char *const[]){"<nvidia_smi_log", NULL},
};

/* ---- /proc/driver/nvidia/version ---- */

static int score_nvrm(const struct rs_input *in)
{
	return !strncmp(in->data, "NVRM version:", 13) ? 88 : 0;
}

static int read_nvrm(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l))
		if (!strncmp(l.text, "NVRM version:", 13))
			rs_place_add(a, in, l.number, "/proc/driver/nvidia/version", l.text);
	return a->err;
}

const struct rs_reader rs_reader_nvrm = {
	.name = "nvidia-version",
	.what = "/proc/driver/nvidia/version: open or proprietary kernel module",
	.trust = RS_TRUST_DUMP,
	.score = score_nvrm,
	.read = read_nvrm,
	.begins = (const char *const[]){"NVRM version:", NULL},
};

/* ---- nvlink --status ---- */

static int score_nvlink(const struct rs_input *in)
{
	return rs_input_has(in, "(UUID: GPU-") &&
			       (rs_input_has(in, "Link 0:") || rs_input_has(in, "NVLink"))
		       ? 88
		       : 0;
}

/* "GPU 0: NVIDIA A100 (UUID: ...)", then "Link 0: 25 GB/s" or "Link 0: <inactive>" */
static int read_nvlink(struct rs_audit *a, const struct rs_input *in)
{
	char subject[32] = "", name[48];
	struct rs_line l = {0};
	unsigned index;

	while (rs_line_next(in, &l)) {
		double rate;
		int used = 0;

		if (sscanf(l.text, "GPU %u: %n", &index, &used) == 1 && used &&
		    strstr(l.text, "UUID")) {
			snprintf(subject, sizeof(subject), "gpu/%u", index);
			rs_input_add(a, in, l.number, NULL, subject, "product", "%.*s",
				     (int)strcspn(l.text + used, "("), l.text + used);
			continue;
		}
		if (!*subject)
			continue;
		if (strstr(l.text, "all links are inactive")) {
			rs_input_add(a, in, l.number, NULL, subject, "nvlink", "inactive");
		} else if (sscanf(l.text, "Link %u: %n", &index, &used) == 1 && used) {
			snprintf(name, sizeof(name), "nvlink/%u", index);
			if (sscanf(l.text + used, "%lf GB/s", &rate) == 1)
				rs_input_add(a, in, l.number, NULL, subject, name, "%.3f", rate);
			else
				rs_input_add(a, in, l.number, NULL, subject, name, "inactive");
		}
	}
	return a->err;
}

/* ---- nvidia-smi -L ---- */

static int score_list(const struct rs_input *in)
{
	return rs_input_has(in, "(UUID: GPU-") ? 70 : 0;
}

const struct rs_reader rs_reader_nvidia_list = {
	.name = "nvidia-smi-list",
	.what = "nvidia-smi -L: the GPUs by number and model",
	.trust = RS_TRUST_TOOL,
	.score = score_list,
	.read = read_nvlink,
	.begins = (const char *const[]){"GPU 0: * (UUID: GPU-", NULL},
};

const struct rs_reader rs_reader_nvlink = {
	.name = "nvidia-smi-nvlink",
	.what = "nvidia-smi nvlink --status: each link's rate",
	.trust = RS_TRUST_TOOL,
	.score = score_nvlink,
	.read = read_nvlink,
};
