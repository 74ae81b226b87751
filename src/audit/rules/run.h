/* The rules over the facts. */
#ifndef RS_AUDIT_RULES_RUN_H
#define RS_AUDIT_RULES_RUN_H

#include <stdio.h>
#include "audit/rules/finding.h"

/* Applies the rules (only those listed; NULL: all; skip wins) and puts the findings in order. */
int rs_audit_run(struct rs_audit *a, const char *const *only, const char *const *skip,
		 struct rs_error *e);

/* Puts the findings in order again, after their prices were found. */
void rs_audit_sort(struct rs_audit *a);

/* Of the findings not suppressed: 0, 1 (FAIL of major or worse), 3 (UNKNOWN of a critical rule), 4
 * (not enough evidence: rs_audit_concludes()). */
int rs_audit_status(const struct rs_audit *a, bool strict, bool allow_unknown);

/* All of it as JSON: ripstop-audit(1). -EIO, -ENOMEM. */
int rs_audit_json(const struct rs_audit *a, FILE *out);

#endif
