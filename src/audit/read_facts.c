/* Facts as Ripstop writes them itself, a line each: what netlink and PCI configuration space said
 * on a host that was collected or is read where it runs. */
#include <stdio.h>
#include <string.h>
#include "audit/readers.h"

static const char mark[] = "# ripstop facts 1";

static int score(const struct rs_input *in)
{
	return strncmp(in->data, mark, sizeof(mark) - 1) ? 0 : 100;
}

/* "netdev/eth4 pfc/3 = 1" */
static int read_facts(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *subject = l.text, *name, *value;

		if (*subject == '#' || !(name = strchr(subject, ' ')) ||
		    !(value = strstr(name, " = ")) || value == name)
			continue;
		*name++ = '\0';
		*value = '\0';
		if (*subject && *name && value[3])
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", value + 3);
	}
	return a->err;
}

const struct rs_reader rs_reader_facts = {
	.name = "facts",
	.what = "facts as `ripstop audit --collect` keeps them: netlink, PCI configuration space",
	.trust = RS_TRUST_DUMP,
	.score = score,
	.read = read_facts,
};
