/* The level that a line of a log gives itself: what a program tries and does without is no fault.
 */
#ifndef RS_AUDIT_FACTS_LEVEL_H
#define RS_AUDIT_FACTS_LEVEL_H

#include <stdbool.h>

enum rs_level { RS_LEVEL_NONE, RS_LEVEL_DEBUG, RS_LEVEL_INFO, RS_LEVEL_WARN, RS_LEVEL_ERROR };

/* The first level in the line's first part: "E0331 12:03:04", "[E108 17:22:04", "UCX  ERROR",
 * "NCCL WARN", "<warn>", "*ERROR*", "[error]", "level=error", " ERROR ". */
enum rs_level rs_level_of(const char *line);

/* What a check of a machine's health says of what it looked at: a tick or a cross before it,
 * "[OK]",
 * "[FAIL]", "mlx5_7: FAIL - 182 errors". */
enum rs_tick { RS_TICK_NONE, RS_TICK_PASS, RS_TICK_FAIL };
enum rs_tick rs_tick_of(const char *line);

/* In small letters: does the program do without what it tells of, or take a value that it may? */
bool rs_level_goes_on(const char *low);

/* A line for information that tells of a try which another follows. */
bool rs_level_tries_again(const char *line);

/* In small letters: does a check of a machine's health compare what it found with what it expected
 * ("expected: performance, and found: powersave"), or is it an alert's text or a plugin's of a
 * monitor? */
bool rs_level_compares(const char *low);

/* Does a line in lower case say that no device of a kind is there: "no interfaces were detected"?
 */
bool rs_level_misses(const char *low);

#endif
