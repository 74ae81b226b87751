/* Private to audit/rules: what a container that a text starts is given. */
#ifndef RS_AUDIT_RULES_CONTAINER_H
#define RS_AUDIT_RULES_CONTAINER_H

#include "audit/rules/rule.h"

/* A command or a Compose file that starts a container whose variables mean RDMA, and that gives it
 * no device node of RDMA: fails r (N15). */
void rs_container_judge(struct rs_audit *a, const struct rs_rule *r, const char *host);

#endif
