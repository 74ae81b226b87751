/* Private to audit/: a host's rails, and whether what NCCL needs of them can be had. */
#ifndef RS_AUDIT_RULES_RAILS_H
#define RS_AUDIT_RULES_RAILS_H

#include "audit/facts/audit.h"

struct rs_rule;

/* Groups of GPUs that NVLink joins; *gpus: how many there are. 0: no topology was seen. */
unsigned rs_rails_islands(const struct rs_audit *a, const char *host, unsigned *gpus);

/* X04's part in one host: pairs of GPUs on rails that cannot reach each other. */
void rs_rails_judge(struct rs_audit *a, const struct rs_rule *r, const char *host);

#endif
