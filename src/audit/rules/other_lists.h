/* Private to audit/rules: variables of libraries beside NCCL that name devices and GIDs. */
#ifndef RS_AUDIT_RULES_OTHER_LISTS_H
#define RS_AUDIT_RULES_OTHER_LISTS_H

#include "audit/rules/rule.h"

/* Lists of devices (UCX_NET_DEVICES, NVSHMEM_HCA_LIST and the like) against the devices of the
 * host, where all of them were listed: a name that none has fails r (N04). */
void rs_other_lists_judge(struct rs_audit *a, const struct rs_rule *r, const char *host);

/* A GID index that a library beside NCCL is told by its variable (MC_GID_INDEX and the like), a
 * whole number from 0 on; NULL: none is. */
const struct rs_fact *rs_other_gid_index(const struct rs_audit *a, const char *host);

#endif
