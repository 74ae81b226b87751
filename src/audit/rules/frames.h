/* Private to audit/rules: frames that came damaged or were dropped, beside all that passed. */
#ifndef RS_AUDIT_RULES_FRAMES_H
#define RS_AUDIT_RULES_FRAMES_H

#include "audit/rules/rule.h"

/* C07 and C08 of one host: interfaces and ports of which frames and errors, or drops, were read. */
void rs_frames_errors(struct rs_audit *a, const struct rs_rule *r, const char *host);
void rs_frames_drops(struct rs_audit *a, const struct rs_rule *r, const char *host);
/* Has an interface discarded frames that it counts by priority or queue? */
bool rs_frames_priority_drops(const struct rs_audit *a, const char *host, const char *subject);

#endif
