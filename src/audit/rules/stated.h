/* Private to audit/rules: lines that state a failure in words that no table knows. */
#ifndef RS_AUDIT_RULES_STATED_H
#define RS_AUDIT_RULES_STATED_H

#include "audit/rules/rule.h"

/* After rs_messages_judge(): each line that states a failure (facts "said"), that no row of
 * messages knows and no FAIL cites, goes to the check that its words point at: a FAIL of low
 * confidence, major for a program's line, minor for a person's sentence. Rules that are wanted. */
void rs_stated_judge(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
		     void *state);

#endif
