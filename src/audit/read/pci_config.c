/* PCI configuration space as bytes: lspci -x, -xxx, -xxxx, and sysfs's config files. PCI Local Bus
 * 6.1 (header), PCI Express Base Specification 7.5.3 (Express), 7.7.11 (ACS), 10.5 (ATS). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/pcie.h"
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "host/host.h"

enum {
	SPACE = 4096,
	CAP_EXPRESS = 0x10,
	EXT_ACS = 0x0d,
	EXT_ATS = 0x0f,
	CAPS_MAX = 48, /* a list may run in a circle */
};

struct space {
	struct rs_audit *a;
	const struct rs_input *in;
	uint32_t line;
	char subject[64];
	uint8_t byte[SPACE];
	unsigned size; /* bytes that were shown, from 0 without a gap */
	bool named;    /* lspci's words told what it is */
};

static unsigned word(const struct space *s, unsigned at)
{
	return s->byte[at] | (unsigned)s->byte[at + 1] << 8;
}

static uint32_t dword(const struct space *s, unsigned at)
{
	return word(s, at) | (uint32_t)word(s, at + 2) << 16;
}

static void put(const struct space *s, const char *name, const char *fmt, long value)
{
	rs_input_add(s->a, s->in, s->line, NULL, s->subject, name, fmt, value);
}

static void express(const struct space *s, unsigned at)
{
	unsigned type = word(s, at + 2) >> 4 & 15, control = word(s, at + 8);
	uint32_t caps = dword(s, at + 4), link = dword(s, at + 12);
	unsigned status = word(s, at + 18);
	struct rs_pcie_fact set[RS_PCIE_CONTROL_FACTS];

	put(s, "mps_max", "%ld", 128L << (caps & 7));
	rs_pcie_control(control, set);
	for (unsigned i = 0; i < RS_PCIE_CONTROL_FACTS; i++)
		put(s, set[i].name, "%ld", set[i].value);
	put(s, "port_type", "%ld", (long)type);
	if (at + 0x2a <= s->size && (word(s, at + 2) & 15) >= 2)
		put(s, "ten_bit_tag", "%ld", word(s, at + 0x28) >> 12 & 1);
	/* endpoints and event collectors inside the root complex have no link */
	if (type == 9 || type == 10)
		return;
	if (rs_pcie_speed(link & 15))
		put(s, "max_link_speed", "%ld", rs_pcie_speed(link & 15));
	put(s, "max_link_width", "%ld", link >> 4 & 63);
	if (rs_pcie_speed(status & 15))
		put(s, "link_speed", "%ld", rs_pcie_speed(status & 15));
	put(s, "link_width", "%ld", status >> 4 & 63);
}

static void extended(const struct space *s)
{
	unsigned at = 0x100;

	for (int i = 0; i < CAPS_MAX && at >= 0x100 && at + 8 <= s->size; i++) {
		uint32_t head = dword(s, at);

		if (!head || head == UINT32_MAX)
			return;
		if ((head & 0xffff) == EXT_ACS)
			put(s, "acs_control", "0x%02lx", word(s, at + 6));
		if ((head & 0xffff) == EXT_ATS)
			put(s, "ats", "%ld", word(s, at + 6) >> 15);
		at = head >> 20 & 0xffc;
	}
}

static const char *kind(unsigned class, unsigned vendor, unsigned device)
{
	bool gpus = vendor == 0x10de ||
		    (vendor == 0x1002 && (class != 0x0300 || device >= RS_AMD_COMPUTES));

	switch (class) {
	case 0x0604:
		return "bridge";
	case 0x0302:
		return "gpu";
	case 0x0300:
	case 0x0380:
	case 0x1200:
		return gpus ? "gpu" : "other";
	case 0x0200:
		return vendor == 0x15b3 ? "nic" : "ethernet";
	case 0x0280:
		return vendor == 0x15b3 ? "nic" : "other";
	case 0x0207:
		return "nic";
	default:
		return "other";
	}
}

static void decode(const struct space *s)
{
	unsigned at;

	/* all ones: the device does not answer */
	if (s->size < 64 || word(s, 0) == 0xffff)
		return;
	put(s, "vendor", "0x%04lx", word(s, 0));
	put(s, "device", "0x%04lx", word(s, 2));
	if (!s->named)
		rs_input_add(s->a, s->in, s->line, NULL, s->subject, "kind", "%s",
			     kind(word(s, 10), word(s, 0), word(s, 2)));
	if ((s->byte[14] & 0x7f) == 1)
		rs_input_add(s->a, s->in, s->line, NULL, s->subject, "secondary_bus", "%u-%u",
			     s->byte[25], s->byte[26]);
	if (!(word(s, 6) & 0x10))
		return; /* no list of capabilities */
	if (s->size < 256) {
		rs_input_add(s->a, s->in, s->line, NULL, s->subject, "config", "%u bytes alone",
			     s->size);
		return;
	}
	at = s->byte[0x34] & 0xfc;
	for (int i = 0; i < CAPS_MAX && at >= 64 && at + 20 <= s->size; i++) {
		if (s->byte[at] == CAP_EXPRESS)
			express(s, at);
		at = s->byte[at + 1] & 0xfc;
	}
	extended(s);
}

/* ---- lspci -xxxx ---- */

/* "10: 00 00 c0 ...": up to 16 bytes at an offset. false: another line. */
static bool row(const char *text, unsigned *at, uint8_t *byte, unsigned *n)
{
	int used = 0;

	if (sscanf(text, "%3x:%n", at, &used) != 1 || !used || text[used] != ' ' || *at >= SPACE ||
	    *at % 16)
		return false;
	text += used;
	for (*n = 0; *n < 16 && *text == ' ' && isxdigit((unsigned char)text[1]) &&
		     isxdigit((unsigned char)text[2]) && (!text[3] || text[3] == ' ');
	     (*n)++, text += 3)
		byte[*n] = (uint8_t)strtoul(text + 1, NULL, 16);
	return *n > 0;
}

static int score_dump(const struct rs_input *in)
{
	struct rs_line l = {0};
	uint8_t byte[16];
	unsigned at, n;

	while (rs_line_next(in, &l) && l.number < 60)
		if (row(l.text, &at, byte, &n) && at == 0 && n == 16)
			return 86; /* with -vvv in it: above the reader of its words */
	return 0;
}

static int read_dump(struct rs_audit *a, const struct rs_input *in)
{
	struct space s = {.a = a, .in = in};
	struct rs_line l = {0};

	/* words of -vvv between the rows are its reader's */
	if (rs_input_has(in, "LnkSta:"))
		rs_reader_lspci.read(a, in);
	while (rs_line_next(in, &l)) {
		uint8_t byte[16];
		unsigned at, n;
		char full[32];

		if (!l.indent && rs_pci_address(l.text, full, sizeof(full))) {
			decode(&s);
			s.size = 0;
			s.line = l.number;
			s.named = strlen(l.text) > 14 && rs_input_has(in, "LnkSta:");
			snprintf(s.subject, sizeof(s.subject), "pci/%s", full);
			continue;
		}
		/* a row that is missing ends what is known */
		if (*s.subject && row(l.text, &at, byte, &n) && at == s.size) {
			memcpy(s.byte + at, byte, n);
			s.size = at + n;
		}
	}
	decode(&s);
	return a->err;
}

const struct rs_reader rs_reader_lspci_dump = {
	.name = "lspci-bytes",
	.what = "lspci -xxxx: configuration space decoded (links, payload, reads, ACS, ATS)",
	.trust = RS_TRUST_DUMP,
	.score = score_dump,
	.read = read_dump,
};

/* ---- /sys/bus/pci/devices/BDF/config ---- */

static bool config_of(const char *path, char *full, size_t size)
{
	const char *end = strrchr(path, '/');
	char own[16];

	if (!end || strcmp(end, "/config") || end - path < 12)
		return false;
	snprintf(own, sizeof(own), "%.12s", end - 12);
	return rs_pci_address(own, full, size);
}

static int score_config(const struct rs_input *in)
{
	char full[32];

	return (in->size == 64 || in->size == 256 || in->size == SPACE) &&
			       config_of(in->path, full, sizeof(full))
		       ? 90
		       : 0;
}

static int read_config(struct rs_audit *a, const struct rs_input *in)
{
	struct space s = {.a = a, .in = in, .size = (unsigned)in->size};
	char full[32];

	if (!config_of(in->path, full, sizeof(full)))
		return 0;
	snprintf(s.subject, sizeof(s.subject), "pci/%s", full);
	memcpy(s.byte, in->data, in->size < SPACE ? in->size : SPACE);
	/* its neighbour, class, tells the kind */
	s.named = true;
	decode(&s);
	return a->err;
}

const struct rs_reader rs_reader_pci_config = {
	.name = "pci-config",
	.what = "/sys/bus/pci/devices/BDF/config: configuration space decoded",
	.trust = RS_TRUST_DUMP,
	.score = score_config,
	.read = read_config,
};
