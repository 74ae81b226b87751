/* The one command to run next, from what a finding needs. */
#ifndef RS_AUDIT_RULES_NEXT_H
#define RS_AUDIT_RULES_NEXT_H

#include <stdbool.h>
#include "audit/facts/audit.h"
#include "audit/rules/rule.h"

/* From f->need[0], which is in words. *whole: it does all that was asked for; else the words are to
 * be told beside it. */
const char *rs_next_command(struct rs_audit *a, const struct rs_finding *f, bool *whole);

/* The command that tells most of a switch, where all that was read is of switches; NULL: it is not.
 */
const char *rs_next_of_switch(const struct rs_audit *a);

#endif
