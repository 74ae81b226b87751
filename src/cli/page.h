/* The page of `ripstop sim --html`, made from web/ at build time (tools/web-build): what stands
 * before the report's data in it, and what stands after. */
#ifndef RS_CLI_PAGE_H
#define RS_CLI_PAGE_H

#include <stddef.h>
#include <stdio.h>
#include "base/error.h"

extern const unsigned char rs_page_head[], rs_page_tail[];
extern const size_t rs_page_head_bytes, rs_page_tail_bytes;
/* Why this program was built without it, such as "npm was not installed"; NULL: it was not. */
extern const char *const rs_page_missing;
/* An error that says so, and what to do; 0: it was not. */
int rs_page_absent(struct rs_error *e);

/* Bytes in memory, with a NUL behind them. */
struct rs_page_text {
	char *at;
	size_t bytes;
};
/* A page with this JSON in it, and the report as the terminal shows it. -ENOMEM, -EIO, -EFBIG. */
int rs_page_write(const struct rs_page_text *json, const struct rs_page_text *report, FILE *out);

#endif
