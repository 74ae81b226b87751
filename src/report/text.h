/*
 * Bytes of inputs on their way to a terminal or a JSON file: UTF-8 (RFC 3629) told from everything
 * else, control bytes made harmless, widths. Of this room only.
 */
#ifndef RS_REPORT_TEXT_H
#define RS_REPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

#define RS_REPORT_COLUMNS 100 /* as wide as anything that people read gets */

/* Bytes of the well-formed sequence at s, which ends with a NUL; 0 when it is malformed. */
unsigned rs_report_utf8(const char *s);
/* Control characters (C0, DEL, C1) and malformed bytes become '?', in place. */
void rs_report_clean(char *s);
/* Characters in the first len bytes of cleaned text; each counts as one column. */
size_t rs_report_width(const char *s, size_t len);
/* Columns to use on out: the terminal's, at most RS_REPORT_COLUMNS; that many if not a terminal. */
unsigned rs_report_columns(FILE *out);

#endif
