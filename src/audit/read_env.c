/* The environment of a job: NAME=value lines, `export` or not, as NCCL, UCX and scripts write them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/readers.h"

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
	return known && yes > no ? 70 : 0;
}

static int read_env(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *name, *value;

		if (*l.text == '#' || !variable(l.text, &name, &value))
			continue;
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
