/* Text of a stranger, before a parser sees it. */
#ifndef RS_BASE_TEXT_H
#define RS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

/*
 * UTF-8 (RFC 3629) without NUL or control characters but tab and line ends (YAML 1.2 §5.1), lines
 * of at most line_max characters, at most open_max brackets open at once, those in strings counted
 * too: parsers keep both until they close. 0; -EINVAL or -E2BIG with line and column in e.
 */
int rs_text_check(const char *text, size_t n, int line_max, int open_max, struct rs_error *e);

/* The nearest of the NULL-terminated names to s, or NULL when none is near: for "did you mean". */
const char *rs_text_nearest(const char *s, const char *const *names);
/* The same name in any case, with or without '-', '_' and blanks: "All-Reduce" is "allreduce". */
bool rs_text_same(const char *a, const char *b);

#endif
