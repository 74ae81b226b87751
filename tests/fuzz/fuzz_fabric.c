/* The description: refused with a place and a reason, or read; and what is read writes out to a
 * text that reads back and writes out the same. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "describe/describe.h"
#include "fabric/fabric.h"
#include "fuzz.h"

enum { SIZE_MAX_HERE = 32 };

/* A fabric of a million NICs is no fault, but takes seconds to lay out: those are left out here. */
static bool large(const char *text)
{
	static const char *const sizes[] = {"hosts", "nics", "count", "leaves", "spines",
					    "links", "leaf", "k",     "first",  NULL};

	for (const char *const *s = sizes; *s; s++)
		for (const char *p = text; (p = strstr(p, *s)); p++) {
			const char *v = p + strlen(*s);

			for (unsigned i = 0; i < 16 && *v && !isdigit((unsigned char)*v); i++)
				v++;
			if (isdigit((unsigned char)*v) && strtoul(v, NULL, 10) > SIZE_MAX_HERE)
				return true;
		}
	return false;
}

static char *written(const struct rs_fabric *f, size_t *n)
{
	char *buf = NULL;
	FILE *out = open_memstream(&buf, n);

	rs_assert(out && !rs_fabric_write(f, out) && !fclose(out));
	return buf;
}

static void converts_to_itself(const struct rs_fabric *f)
{
	struct rs_error e = {0};
	struct rs_fabric *g = NULL;
	size_t n, m;
	char *once = written(f, &n), *twice;

	if (rs_fabric_load_text(once, n, "written", ".", NULL, 0, &g, &e)) {
		fprintf(stderr, "%s\n%d:%d: %s\n", once, e.line, e.column, e.what);
		abort();
	}
	twice = written(g, &m);
	if (n != m || memcmp(once, twice, n)) {
		fprintf(stderr, "%s\nthen\n%s\n", once, twice);
		abort();
	}
	rs_fabric_free(g);
	free(once);
	free(twice);
}

static void check_refusal(int err, const struct rs_error *e)
{
	rs_assert(err < 0 && e->code == err && e->what[0]);
	if (err != -ENOMEM && (!e->file[0] || !e->line || !e->column)) {
		fprintf(stderr, "no place: %s\n", e->what);
		abort();
	}
}

/* Reads the text with some settings; what-ifs are read as the command does it. */
static void try(const char *text, size_t n, const struct rs_setting *set, uint32_t n_set,
		unsigned whatifs)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;
	int err = rs_fabric_load_text(text, n, "fuzz.yaml", "/nonexistent", set, n_set, &f, &e);

	if (err)
		check_refusal(err, &e);
	else
		converts_to_itself(f);
	for (uint32_t i = 0; !err && i < f->n_whatifs && i < whatifs; i++)
		try(text, n, f->whatifs[i].set, f->whatifs[i].n, 0);
	rs_fabric_free(f);
}

/* A first line "#set PATH=VALUE" is what --set would be given. */
static bool setting(char *text, struct rs_setting *set)
{
	char *end = strchr(text, '\n'), *value = strchr(text, '=');

	if (strncmp(text, "#set ", 5) != 0 || !end || !value || value > end)
		return false;
	*value = *end = '\0';
	*set = (struct rs_setting){text + 5, value + 1, {"--set", 1, 1}};
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_setting set;
	char *text = malloc(n + 1), *head = malloc(n + 1);

	rs_assert(text && head);
	memcpy(text, bytes, n);
	text[n] = '\0';
	memcpy(head, text, n + 1);
	if (!large(text)) {
		bool given = setting(head, &set);

		try(text, n, given ? &set : NULL, given, 4);
	}
	free(head);
	free(text);
	return 0;
}
