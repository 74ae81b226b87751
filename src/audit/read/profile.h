/* A site's profile from YAML. */
#ifndef RS_AUDIT_READ_PROFILE_H
#define RS_AUDIT_READ_PROFILE_H

#include "audit/facts/profile.h"

/* Is there a check of this number or name? The rules know: rs_rule_known(). */
typedef bool rs_check_known(const char *id);

/* Reads a profile; its thresholds go to a->set, the rest is applied by rs_audit_run(). -EINVAL with
 * the place and what was expected. Once an audit. */
int rs_audit_profile(struct rs_audit *a, const char *path, rs_check_known *known,
		     struct rs_error *e);
int rs_audit_profile_text(struct rs_audit *a, const char *text, size_t n, const char *name,
			  rs_check_known *known, struct rs_error *e);

#endif
