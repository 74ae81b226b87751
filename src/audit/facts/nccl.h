/* Private to audit/: what a version of NCCL reads and defaults to; read in its tagged sources. */
#ifndef RS_AUDIT_FACTS_NCCL_H
#define RS_AUDIT_FACTS_NCCL_H

#include "audit/facts/audit.h"

/* 2.30.7 -> 23007; 0: not known. From the log, else from the environment. fact may be NULL. */
uint32_t rs_nccl_version(const struct rs_audit *a, const char *host, const struct rs_fact **fact);
/* A variable of the job on this host: its own environment, else that of the cluster's directory
 * when there is just one other. NULL: not set, or no environment was seen. */
const struct rs_fact *rs_nccl_env(const struct rs_audit *a, const char *host, const char *name);
/* Was an environment or a log seen at all, so that "not set" means something? */
bool rs_nccl_env_seen(const struct rs_audit *a, const char *host);
/* Looks for jobs' environments once, so that rs_nccl_env() need not ask each host; after the facts
 * are sealed. */
void rs_nccl_find_jobs(struct rs_audit *a);
uint32_t rs_nccl_make(unsigned major, unsigned minor, unsigned patch);

/* A variable that some release reads: since, until (as rs_nccl_make(); 0: before the first release
 * that was looked at, and still). Ended by NULL; in the order of names. nccl_names.c. */
struct rs_nccl_name {
	const char *name;
	uint32_t since, until;
};
extern const struct rs_nccl_name rs_nccl_names[];
extern const uint32_t rs_nccl_names_last; /* the last release that was looked at */

#endif
