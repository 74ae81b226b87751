/*
 * Tables and trees through libsmartcols: an out-of-memory is kept until the table is printed, so
 * that callers check once.
 */
#include "report/report.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define TREE_DEPTH 32 /* a host's deepest path (package, bridges, device) is under ten */

struct rs_table {
	struct libscols_table *cols;
	struct libscols_line *row;
	struct libscols_line *branch[TREE_DEPTH]; /* the latest row of each depth */
	size_t columns, cell;
	int err;
};

static void note(struct rs_table *t, int err)
{
	if (err && !t->err)
		t->err = -ENOMEM;
}

static int set_title(struct libscols_table *cols, const char *title)
{
	struct libscols_cell *cell = scols_table_get_title(cols);
	char *text = strdup(title);
	int rc;

	if (!text)
		return -ENOMEM;
	rs_report_clean(text);
	rc = scols_cell_set_data(cell, text);
	free(text);
	if (rc)
		return rc;
	return scols_cell_set_flags(cell, SCOLS_CELL_FL_LEFT);
}

struct rs_table *rs_table_create(const char *title)
{
	struct rs_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->cols = scols_new_table();
	if (!t->cols) {
		free(t);
		return NULL;
	}
	if (title)
		note(t, set_title(t->cols, title));
	return t;
}

void rs_table_column(struct rs_table *t, const char *name, enum rs_align align)
{
	/* a column without a name holds bars, which are not broken */
	int flags = align == RS_RIGHT ? SCOLS_FL_RIGHT : *name ? SCOLS_FL_WRAP : 0;

	if (!t)
		return;
	rs_assert(!t->row);
	note(t, !scols_table_new_column(t->cols, name, 0, flags));
	t->columns++;
}

static void add_row(struct rs_table *t, struct libscols_line *parent)
{
	t->cell = 0;
	t->row = scols_table_new_line(t->cols, parent);
	note(t, !t->row);
}

void rs_table_row(struct rs_table *t)
{
	if (t)
		add_row(t, NULL);
}

void rs_table_tree_row(struct rs_table *t, unsigned depth)
{
	struct libscols_column *first;

	if (!t || t->err)
		return;
	rs_assert(t->columns > 0);
	rs_assert(depth < TREE_DEPTH);
	rs_assert(depth == 0 || t->branch[depth - 1]);
	first = scols_table_get_column(t->cols, 0);
	if (!scols_column_is_tree(first))
		note(t, scols_column_set_flags(first, SCOLS_FL_TREE | SCOLS_FL_WRAP));
	add_row(t, depth ? t->branch[depth - 1] : NULL);
	t->branch[depth] = t->row;
	for (unsigned d = depth + 1; d < TREE_DEPTH; d++)
		t->branch[d] = NULL;
}

void rs_table_cell(struct rs_table *t, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	if (!t || t->err)
		return;
	rs_assert(t->row);
	rs_assert(t->cell < t->columns);
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		note(t, n);
		return;
	}
	rs_report_clean(text);
	n = scols_line_refer_data(t->row, t->cell++, text); /* owns text from here */
	if (n)
		free(text);
	note(t, n);
}

int rs_table_print(struct rs_table *t, FILE *out)
{
	int rc;

	if (!t)
		return -ENOMEM;
	rc = t->err;
	if (!rc) {
		scols_table_set_stream(t->cols, out);
		scols_table_set_termforce(t->cols, SCOLS_TERMFORCE_ALWAYS);
		scols_table_set_termwidth(t->cols, rs_report_columns(out));
		rc = scols_print_table(t->cols);
		if (!rc && ferror(out))
			rc = -EIO;
	}
	scols_unref_table(t->cols);
	free(t);
	return rc;
}
