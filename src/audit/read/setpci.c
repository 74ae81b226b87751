/* setpci [-v] -s BDF REGISTER: registers of PCI Express and ACS by their capability's name. PCI
 * Express Base Specification 7.5.3 (Express), 7.7.11 (ACS); the form is that of setpci(8). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/pcie.h"
#include "audit/read/place.h"
#include "audit/read/readers.h"

struct reg {
	struct rs_audit *a;
	const struct rs_input *in;
	uint32_t line;
	char subject[48];
	unsigned value;
};

static void put(const struct reg *r, const char *name, long value)
{
	rs_input_add(r->a, r->in, r->line, NULL, r->subject, name, "%ld", value);
}

static void acs_control(const struct reg *r)
{
	rs_input_add(r->a, r->in, r->line, NULL, r->subject, "acs_control", "0x%02x", r->value);
}

static void device_control(const struct reg *r)
{
	struct rs_pcie_fact set[RS_PCIE_CONTROL_FACTS];

	rs_pcie_control(r->value, set);
	for (unsigned i = 0; i < RS_PCIE_CONTROL_FACTS; i++)
		put(r, set[i].name, set[i].value);
}

static void link_status(const struct reg *r)
{
	if (rs_pcie_speed(r->value & 15))
		put(r, "link_speed", rs_pcie_speed(r->value & 15));
	if (r->value >> 4 & 63)
		put(r, "link_width", r->value >> 4 & 63);
}

static const struct {
	const char *name; /* in capitals */
	unsigned offset;
	void (*take)(const struct reg *r);
} registers[] = {
	{"ECAP_ACS", 6, acs_control}, {"ECAP0D", 6, acs_control},
	{"ECAP000D", 6, acs_control}, {"CAP_EXP", 8, device_control},
	{"CAP10", 8, device_control}, {"CAP_EXP", 0x12, link_status},
	{"CAP10", 0x12, link_status},
};

/* "setpci -v -s 17:00.0 ECAP_ACS+6.w", also within a loop: which register it reads; -1: none that
 * is known, or it writes. */
static int asked(const char *command)
{
	for (const char *p = command; (p = strpbrk(p, "EeCc")); p++) {
		char name[16];
		size_t n = strcspn(p, "+ ");
		unsigned offset;
		int used = 0;

		if ((p > command && p[-1] != ' ') || n >= sizeof(name) || p[n] != '+' ||
		    sscanf(p + n + 1, "%x%n", &offset, &used) != 1)
			continue;
		for (size_t i = 0; i <= n; i++)
			name[i] = i < n ? (char)toupper((unsigned char)p[i]) : '\0';
		if (strncmp(p + n + 1 + used, ".w", 2) || p[n + 1 + (size_t)used + 2] == '=')
			continue;
		for (unsigned i = 0; i < sizeof(registers) / sizeof(*registers); i++)
			if (!strcmp(name, registers[i].name) && offset == registers[i].offset)
				return (int)i;
	}
	return -1;
}

/* The function that -s names. */
static bool named(const char *command, char *full, size_t size)
{
	const char *p = strstr(command, "-s ");

	return p && rs_pci_address(p + 3 + strspn(p + 3, " "), full, size);
}

/* An address, perhaps with a sign behind it. */
static bool address(const char *text, char *full, size_t size)
{
	char word[32];
	size_t n = strcspn(text, " =,\t");

	if (!n || n >= sizeof(word))
		return false;
	snprintf(word, sizeof(word), "%.*s", (int)n, text);
	if (word[n - 1] == ':')
		word[n - 1] = '\0';
	return rs_pci_address(word, full, size);
}

/* "001d", "0x001d": 16 bits. All ones: the device does not answer. */
static bool bits(const char *text, unsigned *value)
{
	char *end;

	*value = (unsigned)strtoul(text, &end, 16);
	return end > text && !*end && *value < 0xffff;
}

/* "0000:17:00.0 (ecap 000d @148) @14e = 001d" and "0000:17:00.0 @14e = 001d" of -v, "17:00.0: 001d"
 * of a loop; with a command that names the function, the value alone. */
static bool take_line(struct reg *r, const char *text, const char *command)
{
	const char *value = strrchr(text, ' ');
	char full[32];
	size_t n = strcspn(text, " \t");

	if (!value) {
		if (!command || !named(command, full, sizeof(full)) || !bits(text, &r->value))
			return false;
	} else if (!address(text, full, sizeof(full)) || !bits(value + 1, &r->value) ||
		   (!strstr(text, " = ") && text + n + strspn(text + n, " \t") != value + 1)) {
		return false;
	}
	snprintf(r->subject, sizeof(r->subject), "pci/%s", full);
	return true;
}

/* The register that the command asks for; without a command, a table whose text names ACS Control.
 */
static int register_of(const struct rs_input *in)
{
	bool acs = rs_input_has(in, "ECAP_ACS") || rs_input_has(in, "ACSCtl") ||
		   rs_input_has(in, "ACS_CTRL");

	if (in->command && strstr(in->command, "setpci"))
		return asked(in->command);
	return acs ? 0 : -1;
}

static int score(const struct rs_input *in)
{
	struct rs_line l = {0};
	struct reg r = {0};

	if (register_of(in) < 0)
		return 0;
	while (rs_line_next(in, &l) && l.number < 40)
		if (take_line(&r, l.text, in->command))
			return in->command ? 90 : 86;
	return 0;
}

static int read_values(struct rs_audit *a, const struct rs_input *in)
{
	struct reg r = {.a = a, .in = in};
	struct rs_line l = {0};
	int which = register_of(in);

	while (which >= 0 && rs_line_next(in, &l)) {
		r.line = l.number;
		if (take_line(&r, l.text, in->command))
			registers[which].take(&r);
	}
	return a->err;
}

const struct rs_reader rs_reader_setpci = {
	.name = "setpci",
	.what = "setpci REGISTER behind its prompt, or a table of ACS Control: ACS of ports, "
		"payload, reads, link",
	.trust = RS_TRUST_DUMP,
	.score = score,
	.read = read_values,
};
