/* Files of sysfs, procfs and configfs in a tree or an archive, and listings of them: lines of
 * "path:value" or "path=value", as grep -r and cat loops print. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

enum { PATH = 512 };

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

/* A path below a port's or a device's own directory, where somebody stood:
 * "hw_counters/np_cnp_sent", "ports/1/state". Which device it is no line says. false: no such path.
 */
static bool below(const char *path, char *full, size_t size)
{
	static const struct {
		const char *begins, *above;
	} dirs[] = {{"hw_counters/", "unnamed/ports/1/"},
		    {"counters/", "unnamed/ports/1/"},
		    {"gids/", "unnamed/ports/1/"},
		    {"gid_attrs/", "unnamed/ports/1/"},
		    {"ports/", "unnamed/"}};

	path += !strncmp(path, "./", 2) ? 2 : 0;
	for (unsigned i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (!strncmp(path, dirs[i].begins, strlen(dirs[i].begins))) {
			snprintf(full, size, "%s%s", dirs[i].above, path);
			return rs_place_known(full);
		}
	return false;
}

/* Cuts "path:value": at the first separator that leaves a known place before it. Bus addresses have
 * colons of their own. */
static bool split(char *text, char **path, char **value, char full[PATH])
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
		if (!strpbrk(text, " \"{(") && (rs_place_known(text) || below(text, full, PATH))) {
			*path = rs_place_known(text) ? text : full;
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
		char *path, *value, full[PATH];

		yes += split(l.text, &path, &value, full);
	}
	return yes ? 65 : 0;
}

static int read_listing(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *path, *value, full[PATH];

		if (split(l.text, &path, &value, full))
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
