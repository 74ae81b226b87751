/*
 * When a progress line is due and what it says, apart from clocks and terminals. Of this room only.
 */
#ifndef RS_REPORT_PROGRESS_H
#define RS_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_PROGRESS_QUIET_NS INT64_C(2000000000) /* shorter waits need no line */
#define RS_PROGRESS_GAP_NS   INT64_C(200000000)  /* five a second */

struct rs_progress_pace {
	int64_t next_ns; /* monotonic time of the next line */
};

void rs_progress_begin(struct rs_progress_pace *p, int64_t now_ns);
/* True: draw now; the next is then due a gap later. */
bool rs_progress_due(struct rs_progress_pace *p, int64_t now_ns);
/* The line, cut to columns - 1 so that no terminal wraps it. share < 0 or not a number: unknown. */
void rs_progress_line(char *buf, size_t size, unsigned columns, double share, const char *text);

#endif
