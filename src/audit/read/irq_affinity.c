/* MLNX_OFED's show_irq_affinity.sh and set_irq_affinity*.sh: the CPUs of each interrupt of an
 * interface. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

enum { LIST = 256 };

/* "00000000,ffffffff" or "0x0000ff" as "0-31"; false: no mask, or more than the list holds. */
static bool mask_list(const char *text, char *out, size_t size)
{
	unsigned char bit[4096] = {0};
	unsigned bits = 0;
	size_t n = strcspn(text, " \t\r\n"), used = 0;

	text += !strncmp(text, "0x", 2) ? 2 : 0;
	n = strcspn(text, " \t\r\n");
	if (!n || text[strspn(text, "0123456789abcdefABCDEF,")] > ' ')
		return false;
	while (n--) {
		char digit[2] = {text[n], '\0'};
		unsigned long v = strtoul(digit, NULL, 16);

		if (text[n] == ',')
			continue;
		for (unsigned i = 0; i < 4 && bits < sizeof(bit); i++)
			bit[bits++] = v >> i & 1;
	}
	*out = '\0';
	for (unsigned i = 0; i < bits; i++) {
		unsigned from = i;
		int wrote;

		if (!bit[i])
			continue;
		while (i + 1 < bits && bit[i + 1])
			i++;
		wrote = snprintf(out + used, size - used, from == i ? "%s%u" : "%s%u-%u",
				 used ? "," : "", from, i);
		if (wrote < 0 || (size_t)wrote >= size - used)
			return false;
		used += (size_t)wrote;
	}
	return *out != '\0';
}

/* "Assign irq 233 core_id 0", "Assign irq 233 mask 0x1"; "233: 00000000,ffffffff" behind the
 * command alone. */
static bool row(const char *text, bool asked, unsigned *irq, char *cpus)
{
	unsigned core;
	int used = 0;

	if (sscanf(text, "Assign irq %u core_id %u", irq, &core) == 2) {
		snprintf(cpus, LIST, "%u", core);
		return true;
	}
	if (sscanf(text, "Assign irq %u mask %n", irq, &used) == 1 && used)
		return mask_list(text + used, cpus, LIST);
	return asked && sscanf(text, "%u: %n", irq, &used) == 1 && used &&
	       isxdigit((unsigned char)text[used]) && mask_list(text + used, cpus, LIST);
}

static bool asked(const struct rs_input *in)
{
	return in->command && strstr(in->command, "show_irq_affinity");
}

static int score(const struct rs_input *in)
{
	struct rs_line l = {0};
	char cpus[LIST];
	unsigned irq;

	while (rs_line_next(in, &l) && l.number < 40)
		if (row(l.text, asked(in), &irq, cpus))
			return 88;
	return 0;
}

static int read_rows(struct rs_audit *a, const struct rs_input *in)
{
	char device[128], subject[32], cpus[LIST];
	struct rs_line l = {0};
	unsigned irq;

	rs_input_device(in, device, sizeof(device));
	while (rs_line_next(in, &l)) {
		sscanf(l.text, "Discovered irqs for %127[^: ]", device);
		if (!row(l.text, asked(in), &irq, cpus))
			continue;
		snprintf(subject, sizeof(subject), "irq/%u", irq);
		rs_input_add(a, in, l.number, NULL, subject, "cpus", "%s", cpus);
		if (strcmp(device, "unnamed"))
			rs_input_add(a, in, l.number, NULL, subject, "netdev", "%.64s", device);
	}
	return a->err;
}

const struct rs_reader rs_reader_irq_affinity = {
	.name = "irq-affinity",
	.what = "show_irq_affinity.sh, set_irq_affinity*.sh: the CPUs of each interrupt",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_rows,
	.begins = (const char *const[]){"Discovered irqs for %", NULL},
};
