/* The page of `ripstop sim --html`, made from web/ at build time (tools/web-build): what stands
 * before the report's data in it, and what stands after. */
#ifndef RS_CLI_PAGE_H
#define RS_CLI_PAGE_H

#include <stddef.h>

extern const unsigned char rs_page_head[], rs_page_tail[];
extern const size_t rs_page_head_bytes, rs_page_tail_bytes;
/* Why this program was built without it, such as "npm was not installed"; NULL: it was not. */
extern const char *const rs_page_missing;

#endif
