/* The environment of a job: NAME=value lines, `export` or not, as NCCL, UCX and scripts write them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/readers.h"

static bool is_name(const char *p, const char *end)
{
	if (p == end || !(isupper((unsigned char)*p) || *p == '_'))
		return false;
	for (; p < end; p++)
		if (!isupper((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '_')
			return false;
	return true;
}

/* "export NCCL_IB_TC=106", "-x NCCL_IB_TC=106", "NCCL_IB_TC=106": the name and the value. */
static bool variable(char *text, char **name, char **value)
{
	static const char *const before[] = {"export ", "-x ", "--env ", "-e ", "ENV "};
	char *eq;

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncmp(text, before[i], strlen(before[i])))
			text += strlen(before[i]);
	while (*text == ' ')
		text++;
	eq = strchr(text, '=');
	if (!eq || !is_name(text, eq))
		return false;
	*eq = '\0';
	*name = text;
	*value = eq + 1;
	return true;
}

/* Quotes around the whole and a comment or backslash behind it do not belong to the value. */
static void clean(char *value)
{
	size_t n;

	if (*value == '"' || *value == '\'') {
		char quote = *value, *end = strchr(value + 1, quote);

		if (end) {
			*end = '\0';
			memmove(value, value + 1, (size_t)(end - value));
			return;
		}
	}
	n = strcspn(value, " \t");
	value[n] = '\0';
}

unsigned rs_line_variables(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			   bool add)
{
	static const char *const kinds[] = {"NCCL_", "UCX_"};
	unsigned n = 0;

	for (unsigned k = 0; k < 2; k++)
		for (const char *p = l->text; (p = strstr(p, kinds[k])); p++) {
			size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
			char name[96], value[256];
			size_t end;

			if ((p > l->text && !strchr(" ,=\"'", p[-1])) || p[len] != '=' ||
			    len >= sizeof(name))
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)len, p);
			/* a list of devices has commas of its own: what follows one is no name */
			end = len + 1 + strcspn(p + len + 1, " \t\"'");
			for (const char *c = p + len + 1;
			     (c = memchr(c, ',', (size_t)(p + end - c))); c++)
				if (is_name(c + 1, c + 1 + strcspn(c + 1, "=, \t\"'")) &&
				    c[1 + strcspn(c + 1, "=, \t\"'")] == '=') {
					end = (size_t)(c - p);
					break;
				}
			snprintf(value, sizeof(value), "%.*s", (int)(end - len - 1), p + len + 1);
			n++;
			if (add)
				rs_input_add(a, in, l->number, NULL, "env", name, "%s", value);
		}
	return n;
}

static int score(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned yes = 0, no = 0, known = 0;

	while (rs_line_next(in, &l) && l.number < 64) {
		char *name, *value;

		if (!*l.text || *l.text == '#')
			continue;
		if (!variable(l.text, &name, &value)) {
			no++;
			continue;
		}
		yes++;
		known += !strncmp(name, "NCCL_", 5) || !strncmp(name, "UCX_", 4) ||
			 !strncmp(name, "CUDA_", 5);
	}
	if (known && yes > no)
		return 70;
	/* a script that starts the job */
	for (l = (struct rs_line){0}; !strncmp(in->data, "#!", 2) && rs_line_next(in, &l);)
		if (*l.text != '#' && rs_line_variables(NULL, in, &l, false))
			return 62;
	return 0;
}

static int read_env(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *name, *value;

		if (*l.text == '#')
			continue;
		/* several on a launcher's line, or one on its own */
		if (rs_line_variables(a, in, &l, false) > 1 || strstr(l.text, "--export=")) {
			rs_line_variables(a, in, &l, true);
			continue;
		}
		if (!variable(l.text, &name, &value)) {
			rs_line_variables(a, in, &l, true);
			continue;
		}
		clean(value);
		if (rs_input_add(a, in, l.number, NULL, "env", name, "%s", value))
			return a->err;
	}
	return 0;
}

const struct rs_reader rs_reader_env = {
	.name = "env",
	.what = "environment of a job (NAME=value): the variables of NCCL and UCX",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.read = read_env,
};
