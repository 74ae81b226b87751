/*
 * The environment that NCCL is to have on the audited hosts: each variable with its reason, by
 * release; what needs no variable says so.
 */
#ifndef RS_AUDIT_RULES_JOB_ENV_H
#define RS_AUDIT_RULES_JOB_ENV_H

#include "audit/facts/audit.h"

enum { RS_JOB_LINES = 64 };

struct rs_job_line {
	const char *name;
	const char *value;  /* NULL: it is not to be set, or cannot be told: only the reason */
	const char *reason; /* why, from which facts */
	const char *host;   /* of this host alone; NULL: of all */
};

struct rs_job_env {
	uint32_t release; /* of NCCL, as rs_nccl_make() has it; 0: not known */
	const char *release_from;
	uint32_t n;
	struct rs_job_line line[RS_JOB_LINES];
};

/* After rs_audit_run(). release 0: from the facts. */
void rs_audit_job_env(struct rs_audit *a, uint32_t release, struct rs_job_env *out);

#endif
