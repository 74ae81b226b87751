/* What Ripstop writes itself of a host that was collected or is read where it runs: facts, a line
 * each, of netlink and PCI configuration space; and the short files of /sys and /proc/sys together.
 */
#include <stdio.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "audit/read/snapshot.h"

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

/* ---- Files ---- */

static int score_files(const struct rs_input *in)
{
	return strncmp(in->data, RS_SNAPSHOT_FILES, sizeof(RS_SNAPSHOT_FILES) - 1) ? 0 : 100;
}

/* "sys/class/net/eth0/mtu<tab>9000" */
static int read_files(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *tab = strchr(l.text, '\t');

		if (*l.text == '#' || !tab)
			continue;
		*tab = '\0';
		rs_place_add(a, in, l.number, l.text, tab + 1);
	}
	return a->err;
}

const struct rs_reader rs_reader_files = {
	.name = "files",
	.what = "short files of /sys and /proc/sys as `ripstop audit --collect` keeps them "
		"together",
	.trust = RS_TRUST_DUMP,
	.score = score_files,
	.read = read_files,
};
