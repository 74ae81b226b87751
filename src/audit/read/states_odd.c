/* One among its like: a value that all other parts of a machine have otherwise. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/states.h"

enum { LEAST = 4 /* parts before one of them stands out */, SHARE = 4 /* one in so many */ };

/* The path without the words that number or address a part: those with a figure. */
static void kind_of(const char *path, char *out, size_t size)
{
	size_t n = 0;

	while (*path && n + 2 < size) {
		size_t w = strcspn(path, " ");
		bool figure = false;

		for (size_t i = 0; i < w; i++)
			figure |= isdigit((unsigned char)path[i]) != 0;
		if (w && !figure && n + w + 2 < size)
			n += (size_t)snprintf(out + n, size - n, "%.*s ", (int)w, path);
		path += w + (path[w] == ' ');
	}
	out[n] = '\0';
}

/* "400", "16 GT/s": figures or names, not what stands for nothing. */
static bool counts(const char *value)
{
	static const char *const nothing[] = {"N/A", "n/a",  "unknown", "Unknown",
					      "-",   "none", "[N/A",    "auto"};

	for (unsigned i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		if (!strncmp(value, nothing[i], strlen(nothing[i])))
			return false;
	return *value && strlen(value) < sizeof(((struct rs_odd *)0)->value[0].text);
}

/* "gpu[01-04,07],login1" of dshbak: how many hosts a heading names; 1 where it names none. */
unsigned rs_odd_hosts(const char *list)
{
	unsigned all = 0, low, high;
	const char *p = strchr(list, '[');

	if (strpbrk(list, " \t:=") || (!p && !strchr(list, ',')))
		return 1;
	for (const char *c = list; *c; c++) {
		bool within = p && c > p;

		if (*c == '[')
			p = c;
		if (*c == ']')
			p = NULL;
		all += *c == ',' && !within;
	}
	all++;
	for (p = list; (p = strpbrk(p, "[,")); p++) {
		const char *open = p;

		while (open > list && *open != '[' && *open != ']')
			open--;
		if (*open != '[')
			continue;
		all += *p == ',';
		if (sscanf(p + 1, "%u-%u", &low, &high) == 2 && high > low && high - low < 10000)
			all += high - low;
	}
	return all;
}

void rs_odd_add(struct rs_odds *o, const char *path, const char *value, uint32_t line,
		const char *text, unsigned parts)
{
	char kind[sizeof(o->group[0].kind)];
	struct rs_odd *g = NULL;

	kind_of(path, kind, sizeof(kind));
	if (!counts(value) || !*kind)
		return;
	for (unsigned i = 0; i < o->n && !g; i++)
		if (!strcmp(o->group[i].kind, kind))
			g = &o->group[i];
	if (!g) {
		if (o->n == RS_ODD_GROUPS)
			return;
		g = &o->group[o->n++];
		*g = (struct rs_odd){0};
		snprintf(g->kind, sizeof(g->kind), "%s", kind);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (!g->value[i].n) {
			snprintf(g->value[i].text, sizeof(g->value[i].text), "%s", value);
			snprintf(g->value[i].line_text, sizeof(g->value[i].line_text), "%s", text);
			g->value[i].line = line;
		} else if (strcmp(g->value[i].text, value)) {
			continue;
		}
		g->value[i].n += parts;
		return;
	}
	g->more = true; /* three values: each is its own */
}

const struct rs_odd_value *rs_odd_out(const struct rs_odd *g)
{
	unsigned all = g->value[0].n + g->value[1].n;
	const struct rs_odd_value *few = &g->value[g->value[1].n <= g->value[0].n];

	return !g->more && few->n && all >= LEAST && few->n * SHARE <= all ? few : NULL;
}
