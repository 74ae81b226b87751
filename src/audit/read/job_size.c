/* How many nodes a job asks for: batch scripts' directives, launchers' options and hosts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/prompt.h"
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

/* Hosts of "gpu01:8,gpu02:8", of Slurm's and Open MPI's lists; 0: none, or a variable. */
static unsigned hosts_in(const char *p)
{
	size_t end = strcspn(p, " \t\"';");
	unsigned n = 1;

	if (!end || !isalnum((unsigned char)*p) || memchr(p, '$', end) || memchr(p, '[', end))
		return 0;
	for (size_t i = 0; i < end; i++)
		n += p[i] == ',' && i + 1 < end;
	return n;
}

/* mpirun names its hosts, or how many ranks there are and how many of them on each. What stands
 * behind the program is the program's: nccl-tests has a -n and a -N of its own. */
static unsigned of_mpi(const char *command)
{
	static const char *const lists[] = {" -H ", " --host ", " -host ", " -hosts ", " --hosts "};
	static const char *const all[] = {"-np", "-n", "--np"};
	static const char *const each[] = {"-ppn", "--ppn", "-npernode", "--npernode", "-N"};
	static const char *const program[] = {"_perf", " ./", " /", " python", " bash", " osu_"};
	unsigned ranks = 0, of_node = 0, n;
	char text[512];
	char *p;

	snprintf(text, sizeof(text), "%s", command);
	for (unsigned i = 0; i < sizeof(program) / sizeof(*program); i++)
		if ((p = strstr(text, program[i])))
			*p = '\0';
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if ((p = strstr(text, lists[i])) && (n = hosts_in(p + strlen(lists[i]))))
			return n;
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all) && !ranks; i++)
		ranks = option(text, all[i], false);
	for (unsigned i = 0; i < sizeof(each) / sizeof(*each) && !of_node; i++)
		of_node = option(text, each[i], false);
	if (!of_node && (p = strstr(text, "ppr:")) && sscanf(p, "ppr:%u:node", &n) == 1)
		of_node = n;
	return of_node && ranks >= of_node ? (ranks + of_node - 1) / of_node : 0;
}

/* A word of the line, which may begin it; NULL: it has none. */
static const char *word_at(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += n)
		if ((p == text || strchr(" \t/", p[-1])) && strchr(" \t", p[n]))
			return p;
	return NULL;
}

/* Where a command stands: at the line's begin, behind a prompt, an operator or variables; NULL. */
static const char *command_at(const char *text, const char *word)
{
	for (const char *p = text; (p = strstr(p, word)); p++) {
		if (p == text)
			return p;
		/* "# srun" alone may be a script's remark */
		if (p - text > 1 && p[-1] == ' ' && strchr("$#%>;&|", p[-2]) &&
		    (p[-2] != '#' || p - text > 2))
			return p;
		/* NCCL_DEBUG=INFO srun -N 2 */
		if (p[-1] == ' ' && text[strcspn(text, "= ")] == '=')
			return p;
	}
	return NULL;
}

static bool line_job_size(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	/* of a batch system's own command or directive; of any launcher */
	static const char *const batch[] = {"#SBATCH", "srun ", "sbatch ", "salloc ", "flux "};
	static const char *const any[] = {"--nnodes", "--num_nodes", "--num-nodes",
					  "--num_machines"};
	static const char *const mpi[] = {"mpirun", "mpiexec", "mpiexec.hydra"};
	unsigned nodes = 0;
	const char *at;

	module_version(a, in, l);
	if (!strchr(l->text, '-'))
		return false;
	for (unsigned i = 0; i < sizeof(batch) / sizeof(*batch) && !nodes; i++)
		if ((at = i ? command_at(l->text, batch[i]) : l->text) &&
		    !strncmp(at, batch[i], strlen(batch[i])) &&
		    (at == l->text || rs_gang_find(l->text) == RS_GANG_NONE)) {
			nodes = option(at, "--nodes", false);
			nodes = nodes ? nodes : option(at, "-N", true);
		}
	for (unsigned i = 0; i < sizeof(any) / sizeof(*any) && !nodes; i++)
		nodes = option(l->text, any[i], false);
	for (unsigned i = 0; i < sizeof(mpi) / sizeof(*mpi) && !nodes && *l->text != '#'; i++)
		if ((at = word_at(l->text, mpi[i])))
			nodes = of_mpi(at);
	if (!nodes && word_at(l->text, "torchrun") && word_at(l->text, "--standalone"))
		nodes = 1;
	if (!nodes || nodes > 100000)
		return false;
	rs_input_add(a, in, l->number, NULL, "job", "nodes", "%u", nodes);
	/* a launcher's line has more to tell: limits, variables */
	return !strncmp(l->text, "#SBATCH", 7);
}

const struct rs_reader rs_reader_job_size = {
	.name = "job-size",
	.what = "how many nodes a job asks for: #SBATCH, srun, mpirun's hosts, torchrun's --nnodes",
	.trust = RS_TRUST_INTENT,
	.line = line_job_size,
	.of_code = true,
	.also = true,
};
