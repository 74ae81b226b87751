/* A comparison as people read it: a table of the best, who is equal, what cannot be had. */
#include <math.h>
#include <string.h>
#include "base/units.h"
#include "cli/compare_report.h"
#include "report/report.h"

enum {
	ROWS_FIRST = 40, /* of the table; of more variants */
	ROWS_BEST = 20,
	ROWS_LAST = 5,
	REFUSED_MAX = 12,
	GROUPS_MAX = 12
};

/* Of all figures those that tell most stand in the table, the first of them where there is no room
 * for all; files have all. width: of a column, about. */
static const struct {
	enum rs_figure figure;
	const char *name;
	unsigned width;
	unsigned place; /* from the left */
} shown[] = {
	{RS_FIGURE_COMPLETION, "takes", 16, 0}, {RS_FIGURE_RECOVERY, "recovers in", 12, 10},
	{RS_FIGURE_TAIL, "flows p99", 10, 1},   {RS_FIGURE_QUEUE, "queue p99", 10, 3},
	{RS_FIGURE_GOODPUT, "goodput", 10, 2},  {RS_FIGURE_PAUSES, "pauses", 7, 4},
	{RS_FIGURE_RESENT, "resent", 7, 6},     {RS_FIGURE_MARKS, "marks", 7, 5},
	{RS_FIGURE_LOST, "lost", 6, 7},         {RS_FIGURE_UTILISATION, "links", 6, 8},
	{RS_FIGURE_FAIRNESS, "Jain", 6, 9},     {RS_FIGURE_CPU, "CPU", 8, 11},
};
enum { SHOWN = sizeof(shown) / sizeof(*shown), WIDTH = 100, LABEL_MOST = 36 };

/* The last part of a path says enough. */
static const char *short_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* Characters of UTF-8. */
static size_t letters(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

/* Which of `shown` find room beside the axes, a bit each. */
static unsigned choose(const struct rs_comparison *c)
{
	unsigned left = WIDTH - 5, chosen = 0;

	for (uint32_t a = 0; a < c->n_axes; a++) {
		size_t most = letters(short_name(c->axes[a].name));

		for (uint32_t i = 0; i < c->axes[a].n; i++)
			if (letters(c->axes[a].choice[i].label) > most)
				most = letters(c->axes[a].choice[i].label);
		most = (most < LABEL_MOST ? most : LABEL_MOST) + 1;
		left = left > most ? left - (unsigned)most : 0;
	}
	for (unsigned k = 0; k < SHOWN; k++)
		if (rs_figure_worth(c, shown[k].figure) && (shown[k].width < left || !k)) {
			left = left > shown[k].width ? left - shown[k].width : 0;
			chosen |= 1u << shown[k].place;
		}
	return chosen;
}

/* What stands in a place from the left. */
static unsigned at_place(unsigned place)
{
	unsigned k = 0;

	while (shown[k].place != place)
		k++;
	return k;
}

static const char *value(char *buf, size_t size, const char *unit, double v)
{
	if (isinf(v))
		return "never";
	if (!strcmp(unit, "ns"))
		return rs_human_time(buf, size, (rs_time)(v * 1000 + 0.5));
	if (!strcmp(unit, "bit/s"))
		return rs_human_rate(buf, size, v);
	if (!strcmp(unit, "bytes"))
		return rs_human_bytes(buf, size, v);
	if (!strcmp(unit, "share"))
		snprintf(buf, size, "%.1f%%", 100 * v);
	else if (!strcmp(unit, "s"))
		snprintf(buf, size, "%.2gs", v);
	else
		snprintf(buf, size, "%.0f", v);
	return buf;
}

static void figure_cell(struct rs_table *t, const struct rs_variant *v, enum rs_figure figure)
{
	const struct rs_over_seeds *o = &v->of[figure];
	char text[48];
	double half = (o->high - o->low) / 2;

	if (!o->n || v->error.code)
		rs_table_cell(t, "-");
	else if (figure == RS_FIGURE_COMPLETION && isfinite(o->mean) && half > 0)
		rs_table_cell(t, "%s +-%.2g%%",
			      value(text, sizeof(text), rs_figures[figure].unit, o->mean),
			      100 * half / o->mean);
	else if (figure == RS_FIGURE_FAIRNESS)
		rs_table_cell(t, "%.3f", o->mean);
	else
		rs_table_cell(t, "%s", value(text, sizeof(text), rs_figures[figure].unit, o->mean));
}

static void row(struct rs_table *t, const struct rs_comparison *c, uint32_t i, unsigned chosen)
{
	const struct rs_variant *v = &c->variants[i];

	rs_table_row(t);
	if (v->rank)
		rs_table_cell(t, "%u%s", v->rank, v->shared ? "=" : "");
	else
		rs_table_cell(t, "-");
	for (uint32_t a = 0; a < c->n_axes; a++)
		rs_table_cell(t, "%s", rs_variant_choice(c, i, a)->label);
	for (unsigned m = chosen; m; m &= m - 1)
		figure_cell(t, v, shown[at_place((unsigned)__builtin_ctz(m))].figure);
}

static void table(const struct rs_comparison *c, FILE *out)
{
	struct rs_table *t = rs_table_create(NULL);
	unsigned chosen = choose(c);
	uint32_t had = 0;

	rs_table_column(t, "", RS_RIGHT);
	for (uint32_t a = 0; a < c->n_axes; a++)
		rs_table_column(t, short_name(c->axes[a].name), RS_LEFT);
	for (unsigned m = chosen; m; m &= m - 1)
		rs_table_column(t, shown[at_place((unsigned)__builtin_ctz(m))].name, RS_RIGHT);
	while (had < c->n && !c->variants[c->order[had]].error.code)
		had++;
	for (uint32_t i = 0; i < had; i++)
		if (had <= ROWS_FIRST || i < ROWS_BEST || i >= had - ROWS_LAST)
			row(t, c, c->order[i], chosen);
	rs_table_print(t, out);
	if (had > ROWS_FIRST)
		rs_paragraph(out, 0,
			     "The first %d and the last %d of %u; --csv, --json and --html have "
			     "all.",
			     ROWS_BEST, ROWS_LAST, had);
}

/* ---- Sentences ---- */

static void say_equal(const struct rs_comparison *c, FILE *out)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < c->n && groups < GROUPS_MAX; i++) {
		uint32_t first = c->order[i], n = 0;
		struct rs_enumeration l = {0};

		for (uint32_t k = i; k < c->n; k++) {
			uint32_t v = c->order[k];

			if (c->variants[first].error.code || c->variants[first].same_as != first ||
			    c->variants[v].same_as != first)
				continue;
			rs_enumerate(&l, "; ", "%s", c->variants[v].name);
			n++;
		}
		if (n < 2)
			continue;
		rs_paragraph(out, 0, "Equal in every figure: %s.", l.text);
		groups++;
	}
}

static void say_refused(const struct rs_comparison *c, FILE *out)
{
	uint32_t n = 0;

	for (uint32_t v = 0; v < c->n; v++) {
		if (!c->variants[v].error.code)
			continue;
		if (n++ < REFUSED_MAX)
			rs_paragraph(out, 0, "Not to be had: %s: %s.", c->variants[v].name,
				     c->variants[v].error.what);
	}
	if (n > REFUSED_MAX)
		rs_paragraph(out, 0, "And %u more that cannot be had.", n - REFUSED_MAX);
}

static void say_nothing_of(const struct rs_comparison *c, FILE *out)
{
	struct rs_enumeration l = {0};

	for (unsigned k = 0; k < SHOWN; k++) {
		bool known = false;

		for (uint32_t v = 0; v < c->n; v++)
			known |= c->variants[v].of[shown[k].figure].n != 0;
		if (known && !rs_figure_worth(c, shown[k].figure))
			rs_enumerate(&l, ", ", "%s", rs_figures[shown[k].figure].name);
	}
	if (l.n)
		rs_paragraph(out, 0, "0 in all: %s.", l.text);
}

static void say_unfinished(const struct rs_comparison *c, FILE *out)
{
	uint32_t n = 0;

	for (uint32_t v = 0; v < c->n; v++)
		n += !c->variants[v].error.code && c->variants[v].ended < c->variants[v].n_seeds;
	if (n)
		rs_paragraph(out, 0,
			     "%u of %u variants did not finish with each seed: they have no rank.",
			     n, c->n);
	if (c->stopped)
		rs_paragraph(out, 0, "Interrupted: not all variants ran with all seeds.");
}

void rs_compare_print(const struct rs_comparison *c, FILE *out)
{
	bool shared = false;

	for (uint32_t v = 0; v < c->n; v++)
		shared |= c->variants[v].shared;
	fprintf(out, "%s: %u variant%s, %u seed%s each\n\n", c->scenario, c->n,
		c->n == 1 ? "" : "s", c->n_seeds, c->n_seeds == 1 ? "" : "s");
	table(c, out);
	fputc('\n', out);
	say_unfinished(c, out);
	if (shared && c->n_seeds > 1)
		rs_paragraph(out, 0,
			     "=: chance explains the difference to the first of the same rank "
			     "(95 %% interval of the ratio, seed by seed).");
	if (c->n_seeds == 1)
		rs_paragraph(out, 0, "One seed does not tell cause from chance: --seeds 5 does.");
	say_equal(c, out);
	say_nothing_of(c, out);
	say_refused(c, out);
	fprintf(out, "%u runs in %.1f s (%.1f s of CPU)\n", c->n * c->n_seeds, c->wall_s, c->cpu_s);
}
