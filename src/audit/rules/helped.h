/* Private to audit/rules: what a person says that it was. */
#ifndef RS_AUDIT_RULES_HELPED_H
#define RS_AUDIT_RULES_HELPED_H

#include "audit/rules/rule.h"

/* After rs_messages_judge(): each sentence that says what mended the trouble or what it came of
 * (facts "told", "helped/") goes to the check of what it names: a FAIL of medium confidence, minor
 * in a guide. Rules that are wanted. */
void rs_helped_judge(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
		     void *state);

#endif
