/* A job's environment and the version of NCCL that reads it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/nccl.h"

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

/* What a text about a job may hold; a prefix or a prompt that names a machine is another. */
static bool of_job(const struct rs_fact *f)
{
	static const char *const subjects[] = {"env", "nccl", "said", "absent", "message"};

	for (unsigned i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		if (!strcmp(f->subject, subjects[i]))
			return true;
	return false;
}

/* A host that has nothing but an environment, a log or a configuration of the job: not a machine.
 */
static bool is_job(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "", "")))
		if (!of_job(f))
			return false;
	return true;
}

void rs_nccl_find_jobs(struct rs_audit *a)
{
	uint32_t hosts = rs_facts_hosts(a->facts), at;

	a->n_jobs = 0;
	a->jobs = rs_arena_alloc(a->arena, hosts ? hosts : 1, sizeof(*a->jobs));
	if (!a->jobs)
		a->err = -ENOMEM;
	for (uint32_t i = 0; a->jobs && i < hosts; i++) {
		const char *host = rs_facts_host(a->facts, i);

		at = 0;
		if (rs_facts_next(a->facts, &at, host, "env", "") && is_job(a, host))
			a->jobs[a->n_jobs++] = host;
	}
}

const struct rs_fact *rs_nccl_env(const struct rs_audit *a, const char *host, const char *name)
{
	const struct rs_fact *f = rs_facts_get(a->facts, host, "env", name);

	for (uint32_t i = 0; !f && i < a->n_jobs; i++)
		f = rs_facts_get(a->facts, a->jobs[i], "env", name);
	return f;
}

bool rs_nccl_env_seen(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0;

	return a->n_jobs || rs_facts_next(a->facts, &at, host, "env", "");
}
