/*
 * The one error type: what went wrong, where, and what to do about it. Functions return a negative
 * errno and fill a struct rs_error; only the edge (cli/) prints it.
 */
#ifndef RS_BASE_ERROR_H
#define RS_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A place in an input. file is borrowed for the error's life or copied by rs_error_at(). */
struct rs_where {
	const char *file; /* NULL: no file */
	int line, column; /* from 1; 0: unknown */
};

struct rs_error {
	int code; /* negative errno; 0: no error */
	char file[512];
	int line, column;
	char what[768]; /* "expected a rate such as 400G, found '400'", or all keys of a mapping */
	char hint[440]; /* what to do; may be empty */
};

/*
 * Fill e (which may be NULL) and return code. The first error wins: an e that already holds one is
 * left alone. Strings that do not fit are cut with an ellipsis.
 */
int rs_error_set(struct rs_error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int rs_error_at(struct rs_error *e, int code, struct rs_where at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#ifdef __clang_analyzer__ /* it does not look into another file to see that the code comes back */
#define rs_error_set(e, code, ...) (rs_error_set(e, code, __VA_ARGS__), (code))
#define rs_error_at(e, code, ...)  (rs_error_at(e, code, __VA_ARGS__), (code))
#endif
/* Say where, if the error does not say so itself. */
void rs_error_place(struct rs_error *e, struct rs_where at);
/* Add the advice to an error just made. */
void rs_error_hint(struct rs_error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * "file:line:column: what (hint)" into buf, NUL-terminated; returns what snprintf would. Control
 * bytes of inputs are shown as '?', so that a hostile name cannot drive a terminal.
 */
int rs_error_text(const struct rs_error *e, char *buf, size_t size);

/* Programmer errors only: kept in release builds. */
#define rs_assert(c)                                              \
	do {                                                      \
		if (__builtin_expect(!(c), 0))                    \
			rs_assert_failed(#c, __FILE__, __LINE__); \
	} while (0)
_Noreturn void rs_assert_failed(const char *what, const char *file, int line);

#endif
