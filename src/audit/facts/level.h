/* The level that a line of a log gives itself: what a program tries and does without is no fault.
 */
#ifndef RS_AUDIT_FACTS_LEVEL_H
#define RS_AUDIT_FACTS_LEVEL_H

enum rs_level { RS_LEVEL_NONE, RS_LEVEL_DEBUG, RS_LEVEL_INFO, RS_LEVEL_WARN, RS_LEVEL_ERROR };

/* The first level in the line's first part: "E0331 12:03:04", "[E108 17:22:04", "UCX  ERROR",
 * "NCCL WARN", "<warn>", "*ERROR*", "[error]", "level=error", " ERROR ". */
enum rs_level rs_level_of(const char *line);

#endif
