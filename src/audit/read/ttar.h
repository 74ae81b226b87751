/* Private to audit/: ttar, archives as text (github.com/ideaship/ttar): "Path: NAME", "Lines: N",
 * the lines, "Mode: 644" between rulers of "# ttar". */
#ifndef RS_AUDIT_READ_TTAR_H
#define RS_AUDIT_READ_TTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_ttar {
	const char *data, *why; /* why: of -EINVAL */
	size_t size, at;
	uint32_t line; /* of what is read next, from 1 */
	char path[1024];
	char *file; /* with a NUL behind it; the next call frees it */
	size_t n;
};

bool rs_ttar_is(const char *data, size_t size);
/* Zeroed but for data and size to begin. 1: a file; 0: the end; -EINVAL: not in that form, at
 * `line`; -ENOMEM. What is no file (directories, links) is passed over. */
int rs_ttar_next(struct rs_ttar *t);
void rs_ttar_end(struct rs_ttar *t);

#endif
