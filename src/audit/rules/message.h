/* Private to audit/rules: what programs say of RDMA in their own words, judged. */
#ifndef RS_AUDIT_RULES_MESSAGE_H
#define RS_AUDIT_RULES_MESSAGE_H

#include "audit/rules/rule.h"

/* After all checks: a FAIL for each row of facts/message.h that a host's text holds and nothing
 * contradicts, of the rules that are wanted. It takes the place of a PASS or an UNKNOWN. */
void rs_messages_judge(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
		       void *state);

/* Takes a PASS and an UNKNOWN of a check on a host out of the list: a message contradicts them. */
void rs_messages_overrule(struct rs_audit *a, const char *check, const char *host);

/* The fact that says that this host's job should use RDMA: a variable, a plugin, a device, several
 * nodes. NULL: nothing says so, or it is one machine alone, or NCCL_IB_DISABLE forbids it. */
const struct rs_fact *rs_message_meant(const struct rs_audit *a, const char *host);

/* That a job is of several nodes: NCCL counts them in its log, a launch asks for them, or
 * nccl-tests lists ranks of several hosts. NULL: none of these. */
const struct rs_fact *rs_message_nodes(const struct rs_audit *a, const char *host);

/* What the ranks of another host of this log chose (`own`: this host's "nccl network"), of one job,
 * where it is another network than own and no sockets; NULL: none. */
const struct rs_fact *rs_message_other_network(const struct rs_audit *a, const char *host,
					       const struct rs_fact *own);

#endif
