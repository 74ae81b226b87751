/* Private to audit/rules: links of an InfiniBand fabric by its own tools. */
#ifndef RS_AUDIT_RULES_IB_LINKS_H
#define RS_AUDIT_RULES_IB_LINKS_H

#include "audit/rules/rule.h"

/* C07: a FAIL for the links whose error counters a tool lists. */
void rs_ib_links_errors(struct rs_audit *a, const struct rs_rule *r, const char *host);

/* H09: a FAIL, or a line, for ports that a tool shows as not active. */
void rs_ib_links_state(struct rs_audit *a, const struct rs_rule *r, const char *host);

#endif
