/* What a site's profile does to findings. */
#ifndef RS_AUDIT_RULES_PROFILE_H
#define RS_AUDIT_RULES_PROFILE_H

#include "audit/facts/profile.h"

/* Does a value meet "x*", "=x", "!=x", ">=x", "<=x", ">x", "<x"? Versions and numbers compare part
 * by part. */
bool rs_profile_meets(const char *value, const char *expected);

/* Private to audit/: marks what the profile accepts. today: "2026-11-21". */
void rs_profile_suppress(struct rs_audit *a, const char *today);

#endif
