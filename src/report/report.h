/*
 * What people and programs read: tables (libsmartcols), JSON, words wrapped at 100 columns.
 */
#ifndef RS_REPORT_REPORT_H
#define RS_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"
#include "base/time.h"

/* ---- Tables ---- */
struct rs_table;
enum rs_align { RS_LEFT, RS_RIGHT };

/* title may be NULL. Width is that of the terminal, at most 100 columns; 100 when not a terminal.
 */
struct rs_table *rs_table_create(const char *title);
void rs_table_column(struct rs_table *t, const char *name, enum rs_align align);
/* One cell after another; rs_table_row() starts the next row. Control bytes become '?'. */
void rs_table_row(struct rs_table *t);
void rs_table_cell(struct rs_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints and destroys. -ENOMEM if any call before ran out of memory. */
int rs_table_print(struct rs_table *t, FILE *out);

/* A tree: depth 0 is a root. The same table with a tree in its first column. */
void rs_table_tree_row(struct rs_table *t, unsigned depth);

/* A paragraph with a left margin, wrapped at the terminal's width, at most 100 columns. */
void rs_paragraph(FILE *out, unsigned margin, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A horizontal bar of share (0..1) of width columns, in plain characters. */
void rs_bar(char *buf, size_t size, double share, unsigned width);

/* ---- A list within a sentence: "a, b, c". What finds no room is left out, and counted ---- */
struct rs_enumeration {
	char text[2048];
	size_t bytes;
	uint32_t n; /* entries that were added, also those that found no room */
};
void rs_enumerate(struct rs_enumeration *l, const char *between, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- JSON (RFC 8259), written as it goes: valid at the end or an error ---- */
struct rs_json;
struct rs_json *rs_json_create(FILE *out);               /* indented by two */
void rs_json_object(struct rs_json *j, const char *key); /* key NULL: in an array or at the root */
void rs_json_array(struct rs_json *j, const char *key);
void rs_json_end(struct rs_json *j); /* closes the innermost */
void rs_json_string(struct rs_json *j, const char *key, const char *value); /* NULL: null */
void rs_json_int(struct rs_json *j, const char *key, int64_t value);
void rs_json_uint(struct rs_json *j, const char *key, uint64_t value);
void rs_json_number(struct rs_json *j, const char *key,
		    double value); /* shortest that reads back */
void rs_json_bool(struct rs_json *j, const char *key, bool value);
/* An array of numbers on one line. */
void rs_json_uints(struct rs_json *j, const char *key, const uint64_t *values, size_t n);
/* A string alone, in its quotes: for writers of their own form. */
void rs_json_text(FILE *out, const char *s);
/* Frees. -EIO when the stream failed, -EINVAL when brackets were left open. */
int rs_json_finish(struct rs_json *j);

/* ---- Files that are whole or absent ---- */
/* Write beside path (path + ".tmp.PID"), rename at commit; "-" is standard output. */
struct rs_outfile {
	FILE *f;
	char path[512], tmp[544];
};
int rs_outfile_open(struct rs_outfile *o, const char *path, struct rs_error *e);
int rs_outfile_commit(struct rs_outfile *o, struct rs_error *e);
void rs_outfile_abort(struct rs_outfile *o);

/* ---- Progress: one line, on a terminal only, after two seconds, at most five times a second ----
 */
struct rs_progress;
struct rs_progress *rs_progress_create(FILE *err, bool quiet);
/* share: 0..1 done, < 0 unknown. Safe from one thread. */
void rs_progress_update(struct rs_progress *p, double share, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rs_progress_destroy(struct rs_progress *p); /* clears the line */

#endif
