/* The one error type: filled where the fault is found, printed at the edge. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

#undef rs_error_set
#undef rs_error_at

static void put(char *buf, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(buf, size, fmt, ap);

	if (n >= 0 && (size_t)n >= size)
		memcpy(buf + size - 4, "...", 4);
}

static int fill(struct rs_error *e, int code, const struct rs_where *at, const char *fmt,
		va_list ap)
{
	if (!e || e->code)
		return code;
	e->code = code;
	e->file[0] = e->hint[0] = '\0';
	e->line = e->column = 0;
	if (at) {
		snprintf(e->file, sizeof(e->file), "%s", at->file ? at->file : "");
		e->line = at->line;
		e->column = at->column;
	}
	put(e->what, sizeof(e->what), fmt, ap);
	return code;
}

int rs_error_set(struct rs_error *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(e, code, NULL, fmt, ap);
	va_end(ap);
	return code;
}

int rs_error_at(struct rs_error *e, int code, struct rs_where at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(e, code, &at, fmt, ap);
	va_end(ap);
	return code;
}

void rs_error_place(struct rs_error *e, struct rs_where at)
{
	if (!e || !e->code || e->file[0] || !at.file)
		return;
	snprintf(e->file, sizeof(e->file), "%s", at.file);
	e->line = at.line;
	e->column = at.column;
}

void rs_error_hint(struct rs_error *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	put(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

int rs_error_text(const struct rs_error *e, char *buf, size_t size)
{
	char place[560] = "";
	int n;

	if (e->file[0] && e->line)
		snprintf(place, sizeof(place), "%s:%d:%d: ", e->file, e->line, e->column);
	else if (e->file[0])
		snprintf(place, sizeof(place), "%s: ", e->file);
	n = snprintf(buf, size, "%s%s%s%s%s", place, e->what, e->hint[0] ? " (" : "", e->hint,
		     e->hint[0] ? ")" : "");
	for (char *p = buf; size && *p; p++) {
		bool c1 = (unsigned char)*p == 0xc2 && (p[1] & 0xe0) == 0x80; /* U+0080..U+009F */

		if (iscntrl((unsigned char)*p) || c1)
			*p = '?';
		if (c1)
			*++p = '?';
	}
	return n;
}

void rs_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "ripstop: %s:%d: this does not hold: %s\n", file, line, what);
	abort();
}
