/* A program's own word for the GID that it took, in any log: "GID index 0 on bnxt_re0: fe80::1",
 * "device mlx5_0 gid_index=3". Where it names the device, its GID table tells whether that was
 * right. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/read/place.h"
#include "audit/read/prose.h"
#include "audit/read/reader.h"

enum { WORDS = 96 };

/* The number behind "gid index"; -1: the line has none, or it is of a variable's name. */
static int index_in(const char *text)
{
	for (const char *p = text; (p = strcasestr(p, "gid")); p++) {
		const char *q = p + 3;
		int value, used;

		if (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
			continue;
		q += strspn(q, " _-");
		if (strncasecmp(q, "index", 5) && strncasecmp(q, "idx", 3))
			continue;
		q += strncasecmp(q, "idx", 3) ? 5 : 3;
		q += strspn(q, " :=");
		if (sscanf(q, "%d%n", &value, &used) == 1 && value >= 0 && value < 256 &&
		    !isalnum((unsigned char)q[used]) && q[used] != '.')
			return value;
	}
	return -1;
}

static bool line_gid(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char text[sizeof(l->text)], subject[80], *word[WORDS];
	int index = index_in(l->text);
	unsigned n;

	/* what a person writes, or a script's comment, tells of no program's choice */
	if (index < 0 || rs_prose(l->text) || *l->text == '#')
		return false;
	snprintf(text, sizeof(text), "%s", l->text);
	for (char *p = text; *p; p++)
		*p = strchr("=:,;()[]\"'/", *p) ? ' ' : *p;
	n = rs_line_words(text, word, WORDS);
	for (unsigned i = 0; i < n; i++)
		if (rs_is_rdma_name(word[i]) && strlen(word[i]) < 64) {
			snprintf(subject, sizeof(subject), "nic/%s", word[i]);
			rs_input_add(a, in, l->number, NULL, subject, "gid_used", "%d", index);
			return true;
		}
	return false;
}

const struct rs_reader rs_reader_gid_used = {
	.name = "gid-used",
	.what = "a program's line that names an RDMA device and the GID index that it took",
	.trust = RS_TRUST_TOOL,
	.line = line_gid,
};
