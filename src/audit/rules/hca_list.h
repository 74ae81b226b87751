/* Private to audit/rules: the grammar of NCCL_IB_HCA. */
#ifndef RS_AUDIT_RULES_HCA_LIST_H
#define RS_AUDIT_RULES_HCA_LIST_H

#include "audit/rules/rule.h"

/* A FAIL of rule r where an entry of the list is one that NCCL takes for a name that no device can
 * have; false: each entry may be a name. */
bool rs_hca_list_judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const struct rs_fact *hca);

/* Has the list an entry that is no name, so that what it means is not to be guessed? */
bool rs_hca_list_odd(const char *list);

/* Does the list name this device whole, to take it? "mlx5" means all that there are; what follows
 * '^' is left out. */
bool rs_hca_list_names(const char *list, const char *nic);

#endif
