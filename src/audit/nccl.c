/* A job's environment and the version of NCCL that reads it. */
#include <stdio.h>
#include <string.h>
#include "audit/nccl.h"

uint32_t rs_nccl_make(unsigned major, unsigned minor, unsigned patch)
{
	return major * 10000 + minor * 100 + patch;
}

uint32_t rs_nccl_version(const struct rs_audit *a, const char *host, const struct rs_fact **fact)
{
	const struct rs_fact *f = rs_facts_get(a->facts, host, "nccl", "version");
	unsigned major, minor, patch = 0;

	if (!f)
		f = rs_nccl_env(a, host, "NCCL_VERSION");
	if (fact)
		*fact = f;
	if (!f || sscanf(f->value, "%u.%u.%u", &major, &minor, &patch) < 2)
		return 0;
	return rs_nccl_make(major, minor, patch);
}

/* A host that has nothing but an environment, a log or a configuration of the job: not a machine.
 */
static bool is_job(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "", "")))
		if (strcmp(f->subject, "env") && strcmp(f->subject, "nccl"))
			return false;
	return true;
}

const struct rs_fact *rs_nccl_env(const struct rs_audit *a, const char *host, const char *name)
{
	const struct rs_fact *f = rs_facts_get(a->facts, host, "env", name);

	for (uint32_t i = 0; !f && i < rs_facts_hosts(a->facts); i++) {
		const char *other = rs_facts_host(a->facts, i);

		f = rs_facts_get(a->facts, other, "env", name);
		if (f && !is_job(a, other))
			f = NULL;
	}
	return f;
}

bool rs_nccl_env_seen(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0;

	if (rs_facts_next(a->facts, &at, host, "env", ""))
		return true;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		at = 0;
		if (rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "env", "") &&
		    is_job(a, rs_facts_host(a->facts, i)))
			return true;
	}
	return false;
}
