/* Private to audit/rules: what NCCL's variables say, and what those that were not seen leave open.
 */
#ifndef RS_AUDIT_RULES_NCCL_ENV_H
#define RS_AUDIT_RULES_NCCL_ENV_H

#include "audit/rules/rule.h"

/* Of a host with variables of which none is wrong: a PASS where NCCL's own log shows all that it
 * took, an UNKNOWN where only some were seen; nothing without variables. */
void rs_nccl_env_clean(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       enum rs_severity s, const char *title);

#endif
