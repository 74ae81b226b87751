/* Private to audit/: what a version of NCCL reads and defaults to; read in its tagged sources. */
#ifndef RS_AUDIT_NCCL_H
#define RS_AUDIT_NCCL_H

#include "audit/audit.h"

/* 2.30.7 -> 23007; 0: not known. From the log, else from the environment. fact may be NULL. */
uint32_t rs_nccl_version(const struct rs_audit *a, const char *host, const struct rs_fact **fact);
/* A variable of the job on this host: its own environment, else that of the cluster's directory
 * when there is just one other. NULL: not set, or no environment was seen. */
const struct rs_fact *rs_nccl_env(const struct rs_audit *a, const char *host, const char *name);
/* Was an environment or a log seen at all, so that "not set" means something? */
bool rs_nccl_env_seen(const struct rs_audit *a, const char *host);
uint32_t rs_nccl_make(unsigned major, unsigned minor, unsigned patch);

#endif
