/* lspci: -vvv (links, MPS, MRRS, ACS, NUMA), -tv (the tree), and register excerpts that name no
 * function. PCI Express Base Specification chapter 7 (DevCtl, LnkCap, LnkSta, ACS Control). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

bool rs_pci_address(const char *p, char *full, size_t size)
{
	unsigned domain, bus, dev, fn;
	int n = 0;

	if (sscanf(p, "%4x:%2x:%2x.%1x%n", &domain, &bus, &dev, &fn, &n) == 4 && n >= 12 &&
	    (!p[n] || isspace((unsigned char)p[n]))) {
		snprintf(full, size, "%04x:%02x:%02x.%x", domain, bus, dev, fn);
		return true;
	}
	if (sscanf(p, "%2x:%2x.%1x%n", &bus, &dev, &fn, &n) == 3 && n == 7 &&
	    (!p[n] || isspace((unsigned char)p[n]))) {
		snprintf(full, size, "0000:%02x:%02x.%x", bus, dev, fn);
		return true;
	}
	return false;
}

/* A line of its own, as lspci prints it: what grep and paste made one line of is another's. */
static bool has_line(const struct rs_input *in, const char *a, const char *b)
{
	struct rs_line l = {0};

	if (!rs_input_has(in, a) && !rs_input_has(in, b))
		return false;
	while (rs_line_next(in, &l) && l.next < 65536)
		if (!strncmp(l.text, a, strlen(a)) || !strncmp(l.text, b, strlen(b)))
			return true;
	return false;
}

static int score_vvv(const struct rs_input *in)
{
	if (has_line(in, "LnkSta:", "ACSCtl:"))
		return 85;
	/* virtual devices have no links */
	if (rs_input_has(in, "\tControl: I/O") || rs_input_has(in, "\tFlags: bus master") ||
	    rs_input_has(in, "Capabilities: <access denied>"))
		return 80;
	return rs_input_has(in, "ACS_CTRL=") ? 60 : 0;
}

struct device {
	struct rs_audit *a;
	const struct rs_input *in;
	uint32_t line;
	char subject[64];
};

static void put(const struct device *d, const char *name, const char *fmt, long value)
{
	rs_input_add(d->a, d->in, d->line, NULL, d->subject, name, fmt, value);
}

/* "Speed 16GT/s (downgraded), Width x16" -> tenths of GT/s, lanes */
static void link(const struct device *d, const char *p, const char *speed, const char *width)
{
	double gts;
	int lanes;

	if ((p = strstr(p, "Speed ")) && sscanf(p, "Speed %lf", &gts) == 1)
		put(d, speed, "%ld", (long)(gts * 10 + 0.5));
	if (p && (p = strstr(p, "Width x")) && sscanf(p, "Width x%d", &lanes) == 1)
		put(d, width, "%ld", lanes);
	/* lspci's own word, where LnkCap is not shown */
	if (p && strstr(p, "(downgraded)") && !strcmp(speed, "link_speed"))
		put(d, "link_downgraded", "%ld", 1);
}

/* "SrcValid+ TransBlk- ReqRedir+ ..." -> the register's bits (PCIe 7.7.11.3) */
static void acs(const struct device *d, const char *p)
{
	static const struct {
		const char *flag;
		long bit;
	} bits[] = {
		{"SrcValid+", 1},     {"TransBlk+", 2},    {"ReqRedir+", 4},     {"CmpltRedir+", 8},
		{"UpstreamFwd+", 16}, {"EgressCtrl+", 32}, {"DirectTrans+", 64},
	};
	long value = 0;

	for (unsigned i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (strstr(p, bits[i].flag))
			value |= bits[i].bit;
	put(d, "acs_control", "0x%02lx", value);
}

/* "Capabilities: [68] Express (v2) Root Port (Slot+), MSI 00" -> the Device/Port Type (7.5.3.2) */
static void port_type(const struct device *d, const char *p)
{
	static const struct {
		const char *name;
		long type;
	} types[] = {
		{"Endpoint", 0},
		{"Legacy Endpoint", 1},
		{"Root Port", 4},
		{"Upstream Port", 5},
		{"Downstream Port", 6},
		{"PCI-Express to PCI", 7},
		{"PCI/PCI-X to PCI-Express", 8},
	};

	p = strstr(p, "Express (v");
	p = p ? strchr(p, ')') : NULL;
	for (unsigned i = 0; p && p[1] == ' ' && i < sizeof(types) / sizeof(*types); i++)
		if (!strncmp(p + 2, types[i].name, strlen(types[i].name)))
			put(d, "port_type", "%ld", types[i].type);
}

/* "64G]", "256M]": BAR1 of NVIDIA's GPUs in MiB. */
static void region(const struct device *d, const char *size)
{
	char unit;
	long n;

	if (sscanf(size, "%ld%c", &n, &unit) == 2 && n > 0 && (unit == 'M' || unit == 'G') &&
	    n < 1 << 20)
		put(d, "bar1_mib", "%ld", unit == 'G' ? n * 1024 : n);
}

/* -n has numbers for words: "17:00.0 0200: 15b3:1021 (rev a1)" */
static bool numbers(const struct device *d, const char *text)
{
	const char *p = strchr(text, ' ');
	unsigned class, vendor, device;
	int used = 0;

	if (!p || sscanf(p, " %4x: %4x:%4x%n", &class, &vendor, &device, &used) != 3 || !used)
		return false;
	put(d, "class", "0x%04lx", class);
	put(d, "vendor", "0x%04lx", vendor);
	put(d, "device", "0x%04lx", device);
	return true;
}

static void header(struct device *d, const char *bdf, const char *text)
{
	const char *kind = "other";

	snprintf(d->subject, sizeof(d->subject), "pci/%s", bdf);
	/* an address alone, before a register: what it is was not said */
	if (!strstr(text, ": "))
		return;
	if (strstr(text, "PCI bridge"))
		kind = "bridge";
	else if (strstr(text, "NVIDIA") &&
		 (strstr(text, "3D controller") || strstr(text, "VGA compatible")))
		kind = "gpu";
	else if (strstr(text, "Display controller") || strstr(text, "Processing accelerators"))
		kind = "gpu";
	else if (strstr(text, "Ethernet controller") || strstr(text, "Infiniband controller"))
		kind = strstr(text, "Mellanox") || strstr(text, "ConnectX") ||
				       strstr(text, "Infiniband")
			       ? "nic"
			       : "ethernet";
	if (!numbers(d, text))
		rs_input_add(d->a, d->in, d->line, NULL, d->subject, "kind", "%s", kind);
	rs_input_add(d->a, d->in, d->line, NULL, d->subject, "lspci", "%s", text);
}

static void detail(struct device *d, const char *text)
{
	const char *p;
	unsigned bus[3];
	int n, m;

	if (!strncmp(text, "LnkCap:", 7))
		link(d, text, "max_link_speed", "max_link_width");
	else if (!strncmp(text, "LnkSta:", 7))
		link(d, text, "link_speed", "link_width");
	else if (!strncmp(text, "ACSCtl:", 7))
		acs(d, text);
	else if (!strncmp(text, "ATSCtl:", 7))
		put(d, "ats", "%ld", strstr(text, "Enable+") != NULL);
	else if (sscanf(text, "NUMA node: %d", &n) == 1)
		put(d, "numa_node", "%ld", n);
	else if (sscanf(text, "Bus: primary=%x, secondary=%x, subordinate=%x", &bus[0], &bus[1],
			&bus[2]) == 3)
		rs_input_add(d->a, d->in, d->line, NULL, d->subject, "secondary_bus", "%d-%d",
			     bus[1], bus[2]);
	else if (sscanf(text, "MaxPayload %d bytes, MaxReadReq %d bytes", &n, &m) == 2) {
		put(d, "mps", "%ld", n);
		put(d, "mrrs", "%ld", m);
	} else if (sscanf(text, "DevCap: MaxPayload %d", &n) == 1) /* a blank of a form is any */
		put(d, "mps_max", "%ld", n);
	else if (!strncmp(text, "Region 1: Memory at ", 20) && (p = strstr(text, "[size=")))
		region(d, p + 6);
	else if (strstr(text, "Capabilities: <access denied>"))
		rs_input_add(d->a, d->in, d->line, NULL, d->subject, "config", "%s",
			     "access denied");
	if (!strncmp(text, "Capabilities: [", 15))
		port_type(d, text);
	if (strstr(text, "RlxdOrd+") || strstr(text, "RlxdOrd-"))
		put(d, "relaxed_ordering", "%ld", strstr(text, "RlxdOrd+") != NULL);
	if ((p = strstr(text, "10BitTagReq")))
		put(d, "ten_bit_tag", "%ld", p[11] == '+');
	if (strstr(text, "PhantFunc") && (strstr(text, "ExtTag+") || strstr(text, "ExtTag-")) &&
	    strstr(text, "NoSnoop"))
		put(d, "ext_tag", "%ld", strstr(text, "ExtTag+") != NULL);
}

static int read_vvv(struct rs_audit *a, const struct rs_input *in)
{
	struct device d = {.a = a, .in = in, .subject = "pci/unnamed"};
	struct rs_line l = {0};
	unsigned unnamed = 0;

	while (rs_line_next(in, &l)) {
		char bdf[32];
		unsigned value;
		const char *p;

		d.line = l.number;
		if (!l.indent && rs_pci_address(l.text, bdf, sizeof(bdf))) {
			header(&d, bdf, l.text);
			if (!strstr(l.text, "ACS_CTRL="))
				continue;
		}
		/* a dump of registers without their functions: each is a port of its own */
		if (!strcmp(d.subject, "pci/unnamed") || !strncmp(d.subject, "pci/unnamed-", 12))
			if (!strncmp(l.text, "ACSCtl:", 7) || strstr(l.text, "ACS_CTRL="))
				snprintf(d.subject, sizeof(d.subject), "pci/unnamed-%u", ++unnamed);
		if ((p = strstr(l.text, "ACS_CTRL=")) && sscanf(p, "ACS_CTRL=%x", &value) == 1) {
			put(&d, "acs_control", "0x%02lx", (long)value);
			continue;
		}
		detail(&d, l.text);
	}
	return a->err;
}

const struct rs_reader rs_reader_lspci = {
	.name = "lspci",
	.what = "lspci -vvv: links, payload sizes, ACS, ATS, NUMA node of each function",
	.trust = RS_TRUST_DUMP,
	.score = score_vvv,
	.read = read_vvv,
	.begins = (const char *const[]){"&:&.# %*: ", "&:&:&.# %*: ", NULL},
};

/* ---- lspci, lspci -nn: a line a function ---- */

/* "0001:00:00.0 3D controller [0302]: NVIDIA Corporation ..." */
static bool listed(const char *text, char *full, size_t size)
{
	const char *p;

	if (!rs_pci_address(text, full, size))
		return false;
	p = strchr(text, ' ');
	return p && isalnum((unsigned char)p[1]) && strstr(p, ": ");
}

static int score_list(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned yes = 0, no = 0;
	char full[32];

	while (rs_line_next(in, &l) && l.number < 40) {
		yes += !l.indent && listed(l.text, full, sizeof(full));
		no += *l.text && (l.indent || !listed(l.text, full, sizeof(full)));
	}
	return yes && yes > no ? 72 : 0;
}

static int read_list(struct rs_audit *a, const struct rs_input *in)
{
	struct device d = {.a = a, .in = in};
	struct rs_line l = {0};
	char full[32];

	while (rs_line_next(in, &l)) {
		d.line = l.number;
		if (!l.indent && listed(l.text, full, sizeof(full)))
			header(&d, full, l.text);
	}
	return a->err;
}

const struct rs_reader rs_reader_lspci_list = {
	.name = "lspci-list",
	.what = "lspci, lspci -nn: which functions the host has",
	.trust = RS_TRUST_TOOL,
	.score = score_list,
	.read = read_list,
};

/* ---- lspci -tv ---- */

static int score_tree(const struct rs_input *in)
{
	return rs_input_has(in, "-[0000:") && (rs_input_has(in, "-+-") || rs_input_has(in, "---"))
		       ? 75
		       : 0;
}

/* A function's depth: how many bridges "XX.X-[BB]" stand before it on its line or above its column.
 */
struct column {
	size_t at;
	unsigned bus; /* the bus behind the bridge */
	unsigned depth;
};

static const char *kind_of(const char *text)
{
	if (strstr(text, "NVIDIA") && !strstr(text, "Audio") && !strstr(text, "USB") &&
	    !strstr(text, "NVSwitch"))
		return "gpu";
	if (strstr(text, "Mellanox") || strstr(text, "ConnectX"))
		return "nic";
	return NULL;
}

enum { INDENT_MAX = 1024 };

static int read_tree(struct rs_audit *a, const struct rs_input *in)
{
	struct column open[32];
	unsigned n = 0, root = 0;
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char text[INDENT_MAX + sizeof(l.text)];
		size_t start = 0, indent = l.indent < INDENT_MAX ? l.indent : INDENT_MAX;
		const char *kind;
		char *p;

		/* columns count: put the blanks back */
		memset(text, ' ', indent);
		memcpy(text + indent, l.text, strlen(l.text) + 1);
		if ((p = strstr(text, "-[")) && strchr(p, ':') &&
		    sscanf(p, "-[%*x:%x]", &root) == 1) {
			open[0] = (struct column){(size_t)(p - text), root, 0};
			n = 1;
			start = (size_t)(p - text) + 2;
		}
		/* bridges of lines above whose column lies right of this line's branch are done */
		p = text + start + strcspn(text + start, "+\\");
		if (*p && !start)
			while (n > 1 && open[n - 1].at >= (size_t)(p - text))
				n--;
		for (p = text + start; (p = strstr(p, "-[")); p += 2) {
			unsigned bus;

			if (sscanf(p, "-[%x", &bus) != 1 || strchr(p, ']') == NULL || n == 32 || !n)
				continue; /* nothing hangs in the air: a root complex comes first */
			open[n] = (struct column){(size_t)(p - text), bus, open[n - 1].depth + 1};
			n++;
		}
		kind = kind_of(text);
		if (kind && n) {
			char subject[64], parent[32];
			unsigned dev = 0, fn = 0;
			/* the function is the last "DD.F  " before the description */
			char *q = strstr(text, "  ");

			for (q = text + strlen(text); q > text + 4; q--)
				if (q[0] == ' ' && q[1] == ' ' &&
				    sscanf(q - 4, "%2x.%1x", &dev, &fn) == 2 && q[-2] == '.')
					break;
			snprintf(subject, sizeof(subject), "pci/0000:%02x:%02x.%x", open[n - 1].bus,
				 dev, fn);
			snprintf(parent, sizeof(parent), "%u", open[n - 1].depth);
			rs_input_add(a, in, l.number, NULL, subject, "kind", "%s", kind);
			rs_input_add(a, in, l.number, NULL, subject, "bridges_above", "%s", parent);
			if (n > 1)
				rs_input_add(a, in, l.number, NULL, subject, "bus_above", "%02x",
					     open[n - 2].bus);
		}
	}
	if (rs_input_has(in, "Virtio") || rs_input_has(in, "Red Hat") || rs_input_has(in, "QEMU"))
		rs_input_add(a, in, 0, NULL, "host", "virtual", "%s",
			     "virtio devices on the PCI bus");
	return a->err;
}

const struct rs_reader rs_reader_lspci_tree = {
	.name = "lspci-tree",
	.what = "lspci -tv: which bridges are above GPUs and NICs; virtual machines",
	.trust = RS_TRUST_TOOL,
	.score = score_tree,
	.read = read_tree,
	.begins = (const char *const[]){"-[&:&]-", " +-[&:&]-", NULL},
};
