/* Text of a stranger, before a parser sees it. */
#ifndef RS_BASE_TEXT_H
#define RS_BASE_TEXT_H

#include <stddef.h>
#include "base/error.h"

/*
 * UTF-8 (RFC 3629) without NUL or control characters but tab and line ends (YAML 1.2 §5.1), lines
 * of at most line_max characters, at most open_max brackets open at once, those in strings counted
 * too: parsers keep both until they close. 0; -EINVAL or -E2BIG with line and column in e.
 */
int rs_text_check(const char *text, size_t n, int line_max, int open_max, struct rs_error *e);

#endif
