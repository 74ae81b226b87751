/* ripstop expect for people: a table a test, what holds figures back, what was assumed. */
#include <math.h>
#include <string.h>
#include "base/units.h"
#include "cli/expect_report.h"
#include "report/report.h"

static bool same(const struct rs_expect_figure *a, const struct rs_expect_figure *b)
{
	return a->test == b->test && a->op == b->op && a->hosts == b->hosts;
}

static void print_hosts(const struct rs_expect *x, FILE *out)
{
	struct rs_enumeration all = {.n = 0};
	uint32_t read = 0;

	for (uint32_t i = 0; i < x->n_hosts; i++)
		if (!x->host[i].twin) {
			read++;
			rs_enumerate(&all, ", ", "%s (%u GPU%s, %u NIC%s)", x->host[i].name,
				     x->host[i].gpus, x->host[i].gpus == 1 ? "" : "s",
				     x->host[i].nics, x->host[i].nics == 1 ? "" : "s");
		}
	if (!read)
		return;
	rs_paragraph(out, 0, "Simulated packet by packet from what was read of %s.%s", all.text,
		     read == 1 && x->n_hosts > 1 ? " Other hosts are copies of it." : "");
}

static void heading(const struct rs_expect *x, const struct rs_expect_figure *f, char *s, size_t n)
{
	if (f->test == RS_EXPECT_COLLECTIVE)
		snprintf(s, n, "%s_perf, %u host%s, %u GPUs", rs_expect_test_name(f), f->hosts,
			 f->hosts == 1 ? "" : "s", f->ranks);
	else
		snprintf(s, n, "%s, %s to %s", rs_expect_test_name(f), x->host[0].nic,
			 x->host[1].nic);
}

/* Three digits, without an exponent. */
static const char *digits(double v, char *s, size_t n)
{
	snprintf(s, n, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
	return s;
}

static uint32_t print_kind(const struct rs_expect *x, uint32_t i, FILE *out)
{
	const struct rs_expect_figure *first = &x->figure[i];
	char title[128], unit[48], size[32], a[32], b[32], c[32];
	struct rs_table *t;

	heading(x, first, title, sizeof(title));
	t = rs_table_create(title);
	snprintf(unit, sizeof(unit), "%s%s", first->test == RS_EXPECT_COLLECTIVE ? "busbw " : "",
		 rs_expect_unit(first));
	rs_table_column(t, "size", RS_RIGHT);
	rs_table_column(t, unit, RS_RIGHT);
	rs_table_column(t, "range", RS_RIGHT);
	rs_table_column(t, "time (us)", RS_RIGHT);
	rs_table_column(t, "held back by", RS_LEFT);
	for (; i < x->n_figures && same(&x->figure[i], first); i++) {
		const struct rs_expect_figure *f = &x->figure[i];

		rs_table_row(t);
		rs_table_cell(t, "%s", rs_format_bytes(size, sizeof(size), f->bytes));
		rs_table_cell(t, "%s%s", f->line ? "~" : "", digits(f->value, a, sizeof(a)));
		rs_table_cell(t, "%s to %s", digits(f->low, b, sizeof(b)),
			      digits(f->high, c, sizeof(c)));
		rs_table_cell(t, "%s", digits(f->us, a, sizeof(a)));
		rs_table_cell(t, "%s", f->limit);
	}
	fputc('\n', out);
	rs_table_print(t, out);
	return i;
}

static void effect(struct rs_table *t, double share)
{
	if (share < 0.01)
		rs_table_cell(t, "-");
	else
		rs_table_cell(t, "%.0f %%", share * 100);
}

static void print_unknowns(const struct rs_expect *x, FILE *out)
{
	struct rs_table *t;

	if (!x->n_unknowns)
		return;
	t = rs_table_create("Not read, and assumed");
	rs_table_column(t, "what", RS_LEFT);
	rs_table_column(t, "as", RS_LEFT);
	rs_table_column(t, "swept", RS_LEFT);
	rs_table_column(t, "perftest", RS_RIGHT);
	rs_table_column(t, "nccl", RS_RIGHT);
	for (uint32_t i = 0; i < x->n_unknowns; i++) {
		const struct rs_expect_unknown *u = &x->unknown[i];

		rs_table_row(t);
		rs_table_cell(t, "%s", u->what);
		rs_table_cell(t, "%s", u->value);
		if (u->low)
			rs_table_cell(t, "%s to %s", u->low, u->high);
		else
			rs_table_cell(t, "-");
		effect(t, u->perftest);
		effect(t, u->nccl);
	}
	fputc('\n', out);
	rs_table_print(t, out);
	rs_paragraph(out, 0, "The last two columns: how far it moves a figure at most.");
}

static void print_notes(const struct rs_expect *x, FILE *out)
{
	bool line = false, any = x->n_figures > 0;

	for (uint32_t i = 0; i < x->n_figures; i++)
		line |= x->figure[i].line;
	fputc('\n', out);
	if (any)
		rs_paragraph(out, 0,
			     "A range is over what was assumed, all of it at its worst and at its "
			     "best, and over the model's own error (docs/expect.md).%s",
			     line ? " ~: a line through two smaller sizes that were simulated."
				  : "");
	if (x->no_perftest)
		rs_paragraph(out, 0, "No figures of perftest: %s.", x->no_perftest);
	if (x->no_nccl)
		rs_paragraph(out, 0, "No figures of nccl-tests: %s.", x->no_nccl);
	if (x->next && !x->n_figures)
		rs_paragraph(out, 0, "Run next: %s", x->next);
	else if (x->next)
		rs_paragraph(out, 0, "To tell them: %s", x->next);
}

/* Beside a measurement: the assumptions in a sentence. */
static void brief(const struct rs_expect *x, FILE *out)
{
	struct rs_enumeration all = {.n = 0};

	for (uint32_t i = 0; i < x->n_unknowns; i++)
		rs_enumerate(&all, "; ", "%s %s", x->unknown[i].what, x->unknown[i].value);
	if (all.n)
		rs_paragraph(out, 0, "Not read, and assumed: %s.", all.text);
}

void rs_expect_print(const struct rs_expect *x, bool measured, FILE *out)
{
	print_hosts(x, out);
	if (measured) {
		brief(x, out);
		return;
	}
	for (uint32_t i = 0; i < x->n_figures;)
		i = print_kind(x, i, out);
	print_unknowns(x, out);
	print_notes(x, out);
}

/* ---- Beside a measurement ---- */

static void measured_rows(const struct rs_expect_measured *m, FILE *out)
{
	char title[160], size[32], a[32], b[32], c[32];
	const struct rs_expect_figure *first = &m->row[0].f;
	struct rs_table *t;

	snprintf(title, sizeof(title), "%s: %s, %s%s", m->file, rs_expect_test_name(first),
		 first->test == RS_EXPECT_COLLECTIVE ? "busbw in " : "in ", rs_expect_unit(first));
	t = rs_table_create(title);
	rs_table_column(t, "size", RS_RIGHT);
	rs_table_column(t, "measured", RS_RIGHT);
	rs_table_column(t, "expected", RS_RIGHT);
	rs_table_column(t, "range", RS_RIGHT);
	rs_table_column(t, "difference", RS_RIGHT);
	rs_table_column(t, "", RS_LEFT);
	for (uint32_t i = 0; i < m->n_rows; i++) {
		const struct rs_expect_row *r = &m->row[i];

		rs_table_row(t);
		rs_table_cell(t, "%s", rs_format_bytes(size, sizeof(size), r->f.bytes));
		rs_table_cell(t, "%s", digits(r->measured, a, sizeof(a)));
		rs_table_cell(t, "%s%s", r->f.line ? "~" : "", digits(r->f.value, b, sizeof(b)));
		rs_table_cell(t, "%s to %s", digits(r->f.low, a, sizeof(a)),
			      digits(r->f.high, c, sizeof(c)));
		rs_table_cell(t, "%+.0f %%", (r->measured / r->f.value - 1) * 100);
		rs_table_cell(t, "%s", !r->met ? "worse" : r->over ? "better" : "");
	}
	fputc('\n', out);
	rs_table_print(t, out);
}

static void apart(struct rs_table *t, double ln)
{
	if (ln < 100)
		rs_table_cell(t, "%.0f %%", expm1(ln) * 100);
	else
		rs_table_cell(t, "does not end");
}

/* How much more the longest size reaches, as a share, with all of it mended. */
static double better(const struct rs_expect_measured *m)
{
	const struct rs_expect_figure *f = &m->row[m->n_rows - 1].f;

	if (!(m->mended_value > 0))
		return 0;
	return f->test == RS_EXPECT_MESSAGE ? f->value / m->mended_value - 1
					    : m->mended_value / f->value - 1;
}

/* "P01 gpu01/...: the slot runs at ..." */
static const char *named(const struct rs_expect_cause *c)
{
	static char text[2200];

	snprintf(text, sizeof(text), "%s%s%s", c->check ? c->check : "", c->check ? " " : "",
		 c->what);
	return text;
}

static void causes_table(const struct rs_expect_measured *m, FILE *out)
{
	enum { SHOWN = 8 };
	struct rs_table *t = rs_table_create("What would give such a curve");
	int shown = 0;

	rs_table_column(t, "change", RS_LEFT);
	rs_table_column(t, "apart", RS_RIGHT);
	rs_table_row(t);
	rs_table_cell(t, "none: as it was read");
	apart(t, m->apart);
	for (uint32_t i = 0; i < m->n_causes && shown < SHOWN; i++) {
		if (m->cause[i].found || m->cause[i].apart >= m->apart)
			continue;
		shown++;
		rs_table_row(t);
		rs_table_cell(t, "%s", m->cause[i].what);
		apart(t, m->cause[i].apart);
	}
	fputc('\n', out);
	rs_table_print(t, out);
}

/* What the audit found, by simulating with it and without it. */
static void found_table(const struct rs_expect_measured *m, FILE *out)
{
	struct rs_table *t = rs_table_create("What was found, simulated");

	rs_table_column(t, "found", RS_LEFT);
	rs_table_column(t, "it alone: apart", RS_RIGHT);
	rs_table_column(t, "mended: faster by", RS_RIGHT);
	rs_table_row(t);
	rs_table_cell(t, "hosts as they were read");
	apart(t, m->apart);
	rs_table_cell(t, "-");
	if (m->n_is) {
		rs_table_row(t);
		rs_table_cell(t, "none of it");
		apart(t, m->mended);
		rs_table_cell(t, "%.0f %%", better(m) * 100);
	}
	for (uint32_t i = 0; i < m->n_causes; i++) {
		const struct rs_expect_cause *c = &m->cause[i];

		if (!c->found)
			continue;
		rs_table_row(t);
		rs_table_cell(t, "%s", named(c));
		apart(t, c->apart);
		if (c->is && c->gain >= 0.005)
			rs_table_cell(t, "%.0f %%", c->gain * 100);
		else
			rs_table_cell(t, "-");
	}
	fputc('\n', out);
	rs_table_print(t, out);
}

/* What was found and explains most of the difference, though something else fits the rest better.
 */
static const struct rs_expect_cause *most_of_it(const struct rs_expect_measured *m)
{
	static const double half = 0.5, matters = 0.02;
	const struct rs_expect_cause *best = NULL;

	for (uint32_t i = 0; i < m->n_causes; i++) {
		const struct rs_expect_cause *c = &m->cause[i];

		if (c->found && c->is && c->gain >= matters && c->apart <= half * m->mended &&
		    (!best || c->gain > best->gain))
			best = c;
	}
	return best;
}

static void explanation(const struct rs_expect_measured *m, FILE *out)
{
	const struct rs_expect_cause *c = &m->cause[0];
	/* the hosts as they were read are near the measurement, and no fault holds them back */
	bool fine = !m->below && !m->doubtful && !(m->n_is && better(m) >= 0.02);
	const struct rs_expect_cause *most = most_of_it(m);

	if (m->says && !fine)
		rs_paragraph(
			out, 0,
			"The log itself explains it: %s. That is not simulated; the changes above "
			"are of RDMA.",
			m->says);
	if (m->n_alike && c->is)
		rs_paragraph(out, 0,
			     "It is explained by what was found: %s. Simulated with it alone: "
			     "%.0f %% apart; without it: %.0f %%. Mended, the longest size would "
			     "be %.0f %% faster.",
			     named(c), expm1(c->apart) * 100, expm1(m->mended) * 100,
			     100 * (c->gain > 0 ? c->gain : better(m)));
	if (m->n_alike && c->is)
		return;
	if (most)
		rs_paragraph(
			out, 0,
			"Most of it is explained by what was found: %s. Without it the two "
			"would be %.0f %% apart; with it they are %.0f %%. Mended, the longest "
			"size would be %.0f %% faster.",
			named(most), expm1(m->mended) * 100, expm1(m->apart) * 100,
			100 * most->gain);
	if (m->n_alike)
		rs_paragraph(out, 0, "%s: %s (%.0f %% apart; %.0f %% without).%s%s%s",
			     most ? "What is left is as with" : "It is as with", named(c),
			     expm1(c->apart) * 100, expm1(m->apart) * 100,
			     c->look ? " Look at: " : "", c->look ? c->look : "",
			     c->look ? "." : "");
	else if (m->n_causes && !fine && !most && !m->says)
		rs_paragraph(out, 0, "Nothing that was tried explains the difference (%u changes).",
			     m->n_causes);
}

/* What the longest size reaches of what is expected. */
static double share(const struct rs_expect_measured *m)
{
	const struct rs_expect_row *r = &m->row[m->n_rows - 1];

	return r->f.test == RS_EXPECT_MESSAGE ? r->f.value / r->measured : r->measured / r->f.value;
}

static void verdict(const struct rs_expect_measured *m, FILE *out)
{
	const char *limit = m->row[m->n_rows - 1].f.limit;
	struct rs_enumeration alike = {.n = 0}, rest = {.n = 0};

	fputc('\n', out);
	if (m->zero)
		rs_paragraph(out, 0,
			     "%u size%s of 4 KiB or more with a rate of 0: the run failed there.",
			     m->zero, m->zero > 1 ? "s" : "");
	if (m->doubtful)
		rs_paragraph(out, 0,
			     "All %u sizes are inside the range, which what was not read makes "
			     "wide, and "
			     "yet the longest is %.0f %% of what is expected.",
			     m->n_rows, share(m) * 100);
	else if (!m->below)
		rs_paragraph(out, 0, "All %u sizes are inside what is expected%s%s%s.", m->n_rows,
			     m->over ? ", or better" : "",
			     *limit ? "; the longest is held back by " : "", limit);
	else
		rs_paragraph(out, 0, "%u of %u sizes are worse than expected.", m->below,
			     m->n_rows);
	for (uint32_t i = 1; i < m->n_alike; i++)
		rs_enumerate(&alike, "; ", "%s", m->cause[i].what);
	explanation(m, out);
	if (alike.n)
		rs_paragraph(out, 0, "Cannot be told apart from: %s.", alike.text);
	for (uint32_t i = 0; i < m->n_rest; i++)
		rs_enumerate(&rest, "; ", "%s", m->rest[i]);
	if (rest.n)
		rs_paragraph(out, 0, "Found as well, and not simulated: %s.", rest.text);
}

void rs_expect_print_measured(const struct rs_expect_measured *m, FILE *out)
{
	uint32_t found = 0, tried = 0;

	if (m->why_not) {
		fputc('\n', out);
		rs_paragraph(out, 0, "%s: not compared: %s.", m->file, m->why_not);
		return;
	}
	measured_rows(m, out);
	if (m->release)
		rs_paragraph(out, 0, "NCCL's release is the log's own: %s.", m->release);
	for (uint32_t i = 0; i < m->n_causes; i++) {
		found += m->cause[i].found;
		tried += !m->cause[i].found;
	}
	if (found)
		found_table(m, out);
	if (tried)
		causes_table(m, out);
	verdict(m, out);
}
