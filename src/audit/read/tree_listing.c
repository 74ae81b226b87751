/* Files of sysfs, procfs and configfs in a tree or an archive, and listings of them: lines of
 * "path:value" or "path=value", as grep -r and cat loops print. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

static int score_tree(const struct rs_input *in)
{
	/* a short value at a known place */
	return in->size <= 4096 && rs_place_known(in->path) ? 60 : 0;
}

static int read_tree(struct rs_audit *a, const struct rs_input *in)
{
	rs_place_add(a, in, 0, in->path, in->data);
	return a->err;
}

/* Cuts "path:value": at the first separator that leaves a known place before it. Bus addresses have
 * colons of their own. */
static bool split(char *text, char **path, char **value)
{
	for (char *p = text; *p; p++) {
		char was = *p;
		char *end = p;

		if (was != ':' && was != '=')
			continue;
		while (end > text && isspace((unsigned char)end[-1]))
			end--;
		was = *end;
		*end = '\0';
		/* a sentence or a log's line that names a file is none */
		if (!strpbrk(text, " \"{(") && rs_place_known(text)) {
			*path = text;
			*value = p + 1 + strspn(p + 1, " \t");
			return true;
		}
		*end = was;
	}
	return false;
}

static int score_listing(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned yes = 0;

	while (rs_line_next(in, &l) && l.number < 50) {
		char *path, *value;

		yes += split(l.text, &path, &value);
	}
	return yes ? 65 : 0;
}

static int read_listing(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *path, *value;

		if (split(l.text, &path, &value))
			rs_place_add(a, in, l.number, path, value);
	}
	return a->err;
}

const struct rs_reader rs_reader_tree = {
	.name = "sysfs",
	.what = "files of /sys, /proc and configfs by their place",
	.trust = RS_TRUST_DUMP,
	.score = score_tree,
	.read = read_tree,
};

const struct rs_reader rs_reader_listing = {
	.name = "sysfs-listing",
	.what = "lines of PATH:VALUE, as `grep -r . /sys/class/infiniband` prints",
	.trust = RS_TRUST_DUMP,
	.score = score_listing,
	.read = read_listing,
};
