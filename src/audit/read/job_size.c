/* How many nodes a job asks for: batch scripts' directives, launchers' options. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

/* The number behind an option, "=4", " 4", "4" (of "-N4"); of a range, "1:4", "2-4", the last; 0:
 * none, or a variable. */
static unsigned number_behind(const char *p, bool glued)
{
	unsigned n, last;
	char *end;

	if (*p != '=' && *p != ' ' && !(glued && isdigit((unsigned char)*p)))
		return 0;
	p += strspn(p, "= \"'");
	if (!isdigit((unsigned char)*p))
		return 0;
	n = (unsigned)strtoul(p, &end, 10);
	if ((*end == ':' || *end == '-') && isdigit((unsigned char)end[1])) {
		last = (unsigned)strtoul(end + 1, &end, 10);
		n = last > n ? last : n;
	}
	return *end && !strchr(" \t\"'\\,;)", *end) ? 0 : n;
}

/* An option that stands as a word of its own. */
static unsigned option(const char *text, const char *name, bool glued)
{
	size_t n = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p += n)
		if (p > text && (p[-1] == ' ' || p[-1] == '\t')) {
			unsigned found = number_behind(p + n, glued);

			if (found)
				return found;
		}
	return 0;
}

/* "module load cuda/12.4 nccl/2.22.3": the release that the job takes. */
static void module_version(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	const char *p = strstr(l->text, " nccl/");
	unsigned major, minor, patch = 0;

	if (p && (!strncmp(l->text, "module ", 7) || !strncmp(l->text, "ml ", 3)) &&
	    sscanf(p, " nccl/%u.%u.%u", &major, &minor, &patch) >= 2 && major >= 2 && major < 10)
		rs_input_add(a, in, l->number, NULL, "env", "NCCL_VERSION", "%u.%u.%u", major,
			     minor, patch);
}

static bool line_job_size(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	/* of a batch system's own command or directive; of any launcher */
	static const char *const batch[] = {"#SBATCH", "srun ", "sbatch ", "salloc ", "flux "};
	static const char *const any[] = {"--nnodes", "--num_nodes", "--num-nodes",
					  "--num_machines"};
	unsigned nodes = 0;

	module_version(a, in, l);
	if (!strchr(l->text, '-'))
		return false;
	for (unsigned i = 0; i < sizeof(batch) / sizeof(*batch) && !nodes; i++)
		if (!strncmp(l->text, batch[i], strlen(batch[i]))) {
			nodes = option(l->text, "--nodes", false);
			nodes = nodes ? nodes : option(l->text, "-N", true);
		}
	for (unsigned i = 0; i < sizeof(any) / sizeof(*any) && !nodes; i++)
		nodes = option(l->text, any[i], false);
	if (!nodes || nodes > 100000)
		return false;
	rs_input_add(a, in, l->number, NULL, "job", "nodes", "%u", nodes);
	/* a launcher's line has more to tell: limits, variables */
	return !strncmp(l->text, "#SBATCH", 7);
}

const struct rs_reader rs_reader_job_size = {
	.name = "job-size",
	.what = "how many nodes a job asks for: #SBATCH, srun, torchrun's --nnodes",
	.trust = RS_TRUST_INTENT,
	.line = line_job_size,
	.of_code = true,
	.also = true,
};
