/* sysctl -a, numactl -H, lscpu, limits (ulimit -a, /proc/PID/limits, limits.conf),
 * /proc/interrupts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

/* ---- sysctl ---- */

static bool is_sysctl(const char *key)
{
	static const char *const roots[] = {"kernel.", "net.", "vm.", "fs.", "dev.", NULL};

	for (unsigned i = 0; roots[i]; i++)
		if (!strncmp(key, roots[i], strlen(roots[i])))
			return !strchr(key, ' ');
	return false;
}

static int score_sysctl(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned yes = 0, no = 0;

	while (rs_line_next(in, &l) && l.number < 40) {
		char *key, *value;

		if (!*l.text || *l.text == '#' || *l.text == ';')
			continue;
		if (rs_line_pair(l.text, '=', &key, &value) && is_sysctl(key))
			yes++;
		else
			no++;
	}
	return yes && yes > no ? 84 : 0;
}

/* A parameter is a file of /proc/sys: dots are slashes, but for those in an interface's name, which
 * sysctl prints as a slash. */
static int read_sysctl(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_input how = *in;
	struct rs_line l = {0};

	/* what a file would set gives way to what the kernel has */
	if ((in->command && strstr(in->command, "/etc/sysctl")) || strstr(in->path, "etc/sysctl"))
		how.trust = RS_TRUST_INTENT;
	while (rs_line_next(in, &l)) {
		char *key, *value, path[256];

		if (*l.text == '#' || !rs_line_pair(l.text, '=', &key, &value) || !is_sysctl(key))
			continue;
		snprintf(path, sizeof(path), "/proc/sys/%s", key);
		for (char *p = path + 10; *p; p++)
			*p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
		rs_place_add(a, &how, l.number, path, value);
	}
	return a->err;
}

const struct rs_reader rs_reader_sysctl = {
	.name = "sysctl",
	.what = "sysctl -a, or sysctl.conf",
	.trust = RS_TRUST_TOOL,
	.score = score_sysctl,
	.read = read_sysctl,
};

/* ---- uname -a, uname -r ---- */

/* "Linux gpu01 6.8.0-45-generic #45-Ubuntu SMP ... x86_64 GNU/Linux", or the release alone. */
static bool release_of(const char *text, char *out)
{
	unsigned major, minor;
	int used = 0;

	if (!strncmp(text, "Linux version ", 14)) /* /proc/version */
		text += 14;
	else if (!strncmp(text, "Linux ", 6) && sscanf(text, "Linux %*s %n", &used) == 0 && used)
		text += used;
	else if (strchr(text, ' '))
		return false;
	return sscanf(text, "%u.%u.%*u", &major, &minor) == 2 && major >= 2 && major < 100 &&
	       sscanf(text, "%63s", out) == 1;
}

static int score_uname(const struct rs_input *in)
{
	struct rs_line l = {0};
	char release[64];

	if (in->size > 1024 || !rs_line_next(in, &l))
		return 0;
	/* a release alone is a word like any other: the command or a suffix must tell */
	return release_of(l.text, release) &&
			       (strncmp(l.text, "Linux ", 6) == 0 || strchr(release, '-') != NULL ||
				(in->command && !strncmp(in->command, "uname", 5)))
		       ? 70
		       : 0;
}

static int read_uname(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	char release[64];

	if (rs_line_next(in, &l) && release_of(l.text, release))
		rs_input_add(a, in, l.number, NULL, "host", "kernel", "%s", release);
	return a->err;
}

const struct rs_reader rs_reader_uname = {
	.name = "uname",
	.what = "uname -a, uname -r, /proc/version: the kernel's release",
	.trust = RS_TRUST_TOOL,
	.score = score_uname,
	.read = read_uname,
	.begins = (const char *const[]){"Linux % #.#.", NULL},
};

/* ---- numactl -H, lscpu ---- */

static int score_numa(const struct rs_input *in)
{
	return rs_input_has(in, "available: ") && rs_input_has(in, " nodes") &&
			       rs_input_has(in, "node 0 ")
		       ? 88
		       : 0;
}

static int read_numa(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	char list[64], name[64];
	unsigned node;

	while (rs_line_next(in, &l)) {
		int used = 0;

		if (sscanf(l.text, "available: %*u nodes (%63[0-9,-])", list) == 1)
			rs_input_add(a, in, l.number, NULL, "host", "numa_online", "%s", list);
		else if (sscanf(l.text, "node %u cpus: %n", &node, &used) == 1 && used &&
			 node < 1024) {
			snprintf(name, sizeof(name), "numa_cpus/%u", node);
			rs_input_add(a, in, l.number, NULL, "host", name, "%s", l.text + used);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_numactl = {
	.name = "numactl",
	.what = "numactl -H: NUMA nodes and their CPUs",
	.trust = RS_TRUST_TOOL,
	.score = score_numa,
	.read = read_numa,
	.begins = (const char *const[]){"available: # nodes", NULL},
};

static int score_lscpu(const struct rs_input *in)
{
	/* whole, or the lines of NUMA nodes alone */
	return (rs_input_has(in, "Architecture:") && rs_input_has(in, "CPU(s):")) ||
			       (rs_input_has(in, "NUMA node(s):") &&
				rs_input_has(in, "NUMA node0 CPU"))
		       ? 88
		       : 0;
}

static int read_lscpu(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{"Vendor ID", "cpu_vendor"},       {"Model name", "cpu_model"},
		{"Socket(s)", "sockets"},          {"CPU(s)", "cpus"},
		{"Thread(s) per core", "threads"}, {"Hypervisor vendor", "virtual"},
	};
	char name[64], online[1024] = "";
	unsigned node, listed = 0;
	struct rs_line l = {0};
	int nodes = -1;

	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (!rs_line_pair(l.text, ':', &key, &value))
			continue;
		/* nodes need not be numbered one after another; one of memory alone has no CPUs */
		if (sscanf(key, "NUMA node%u CPU(s)", &node) == 1 && node < 1024) {
			size_t n = strlen(online);

			listed++;
			snprintf(online + n, sizeof(online) - n, "%s%u", n ? "," : "", node);
			snprintf(name, sizeof(name), "numa_cpus/%u", node);
			if (*value)
				rs_input_add(a, in, l.number, NULL, "host", name, "%s", value);
			continue;
		}
		if (!strcmp(key, "NUMA node(s)"))
			nodes = atoi(value);
		for (unsigned i = 0; *value && i < sizeof(known) / sizeof(*known); i++)
			if (!strcmp(key, known[i].key))
				rs_input_add(a, in, l.number, NULL, "host", known[i].fact, "%s",
					     value);
	}
	/* a text that was cut lists fewer */
	if (*online && (nodes < 0 || (int)listed == nodes))
		rs_input_add(a, in, 0, NULL, "host", "numa_online", "%s", online);
	return a->err;
}

const struct rs_reader rs_reader_lscpu = {
	.name = "lscpu",
	.what = "lscpu: vendor, sockets, NUMA nodes, hypervisor",
	.trust = RS_TRUST_TOOL,
	.score = score_lscpu,
	.read = read_lscpu,
	.begins = (const char *const[]){"Architecture: ", NULL},
};

/* ---- /proc/cpuinfo ---- */

static int score_cpuinfo(const struct rs_input *in)
{
	return !strncmp(in->data, "processor\t:", 11) ? 88 : 0;
}

/* The first processor stands for all. The flag is CPUID leaf 1, ECX bit 31: only a hypervisor sets
 * it. */
static int read_cpuinfo(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && *l.text) {
		char *key, *value;

		if (!rs_line_pair(l.text, ':', &key, &value) || !*value)
			continue;
		if (!strcmp(key, "vendor_id"))
			rs_input_add(a, in, l.number, NULL, "host", "cpu_vendor", "%s", value);
		else if (!strcmp(key, "model name"))
			rs_input_add(a, in, l.number, NULL, "host", "cpu_model", "%s", value);
		else if (!strcmp(key, "flags") && strstr(value, " hypervisor"))
			rs_input_add(a, in, l.number, NULL, "host", "virtual",
				     "the processor's hypervisor flag");
	}
	return a->err;
}

const struct rs_reader rs_reader_cpuinfo = {
	.name = "cpuinfo",
	.what = "/proc/cpuinfo: the processor, and whether a hypervisor is below it",
	.trust = RS_TRUST_DUMP,
	.score = score_cpuinfo,
	.read = read_cpuinfo,
};

/* ---- Limits ---- */

/* What `ulimit -l` prints: a number of kbytes or a word. */
static bool is_lone(const struct rs_input *in)
{
	const char *p = in->data + strspn(in->data, " \t\r\n");

	return in->command && !strncmp(in->command, "ulimit ", 7) && strstr(in->command, "-l") &&
	       in->size < 64 && (isdigit((unsigned char)*p) || !strncmp(p, "unlimited", 9));
}

static int score_limits(const struct rs_input *in)
{
	struct rs_line l = {0};
	char type[16], value[16];
	unsigned pid;
	const char *p = strstr(in->path, "proc/");

	/* in a copy of /proc: of a process that is no job's, it may have lowered its own */
	if (p && !in->command && sscanf(p, "proc/%u/limits", &pid) == 1)
		return 0;
	if (is_lone(in))
		return 90;
	if (rs_input_has(in, "Max locked memory") || rs_input_has(in, "max locked memory") ||
	    rs_input_has(in, "max locked-in-memory"))
		return 90;
	while (rs_line_next(in, &l) && l.number < 200)
		if (*l.text != '#' &&
		    sscanf(l.text, "%*s %15[a-z-] memlock %15s", type, value) == 2 &&
		    (!strcmp(type, "soft") || !strcmp(type, "hard") || !strcmp(type, "-")))
			return 85;
	return 0;
}

void rs_memlock_of_job(struct rs_audit *a, const struct rs_input *in, uint32_t line)
{
	static const char *const launchers[] = {"srun", "mpirun", "kubectl", "docker", "podman",
						"enroot", "pdsh", "ssh", "ansible", "flux run",
						/* of `kubectl exec POD -- sh -c 'ulimit -l'` */
						"sh -c"};

	for (unsigned i = 0; in->command && i < sizeof(launchers) / sizeof(*launchers); i++)
		if (strstr(in->command, launchers[i])) {
			rs_input_add(a, in, line, NULL, "host", "memlock_job", "%s", launchers[i]);
			return;
		}
}

static void memlock(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *v,
		    int64_t unit)
{
	char *end;
	long long n = strtoll(v, &end, 10);

	if (!strncmp(v, "unlimited", 9) || !strncmp(v, "infinity", 8) || !strcmp(v, "-1"))
		rs_input_add(a, in, line, NULL, "host", "memlock", "unlimited");
	else if (end != v && n >= 0 && n < INT64_MAX / 1024)
		rs_input_add(a, in, line, NULL, "host", "memlock", "%lld", n * unit);
	rs_memlock_of_job(a, in, line);
}

/* "ulimit -l 64" in a job's script: what its processes have, in kbytes. */
static bool line_ulimit(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	struct rs_input script = *in;
	char flags[8], value[32];

	const char *docker = strstr(l->text, "--ulimit"), *of;
	int64_t unit = 1024;

	/* docker run --ulimit memlock=65536:65536, in bytes; --ulimit=memlock=-1 */
	of = docker ? strstr(docker, "memlock=") : NULL;
	if (of && of - docker <= 9 && sscanf(of + 8, "%31[-0-9a-z]", value) == 1)
		unit = 1;
	else if (sscanf(l->text, " ulimit -%7[SHl] %31[0-9a-z]", flags, value) != 2 ||
		 !strchr(flags, 'l'))
		return false;
	script.trust = RS_TRUST_INTENT;
	memlock(a, &script, l->number, value, unit);
	rs_input_add(a, &script, l->number, NULL, "host", "memlock_job",
		     unit == 1 ? "docker" : "script");
	return true;
}

static int read_limits(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	bool lone = is_lone(in);

	while (rs_line_next(in, &l)) {
		char who[64], type[16], value[32];
		const char *p;

		if (*l.text == '#')
			continue;
		if (lone && *l.text) {
			memlock(a, in, l.number, l.text, 1024);
			break;
		}
		/* /proc/PID/limits: the soft limit, in bytes */
		if (sscanf(l.text, "Max locked memory %31s", value) == 1)
			memlock(a, in, l.number, value, 1);
		else if (!strncmp(l.text, "max locked memory", 17) && (p = strrchr(l.text, ' ')))
			memlock(a, in, l.number, p + 1, 1024); /* ulimit -a, in kbytes */
		else if (sscanf(l.text, "MEMLOCK max locked-in-memory address space %31s", value) ==
			 1)
			memlock(a, in, l.number, value, 1); /* prlimit, in bytes */
		/* limits.conf: for all users, not root's own */
		else if (sscanf(l.text, "%63s %15s memlock %31s", who, type, value) == 3 &&
			 !strcmp(who, "*") && strcmp(type, "hard"))
			memlock(a, in, l.number, value, 1024);
	}
	return a->err;
}

const struct rs_reader rs_reader_limits = {
	.name = "limits",
	.what = "/proc/PID/limits, ulimit -a, prlimit, limits.conf: locked memory",
	.trust = RS_TRUST_DUMP,
	.score = score_limits,
	.read = read_limits,
	.line = line_ulimit,
	.of_code = true,
	.begins = (const char *const[]){"core file size", "real-time non-blocking time",
					"RESOURCE DESCRIPTION SOFT HARD", "MEMLOCK max locked",
					"Limit Soft Limit Hard Limit", NULL},
};

/* ---- /proc/interrupts ---- */

static int score_interrupts(const struct rs_input *in)
{
	const char *p = in->data + strspn(in->data, " \t");

	return !strncmp(p, "CPU0", 4) && rs_input_has(in, ":") ? 88 : 0;
}

/* The CPU that took most of an interrupt, of the counts behind its number; -1: it never came. */
static int busiest(const char *counts)
{
	unsigned long long n, most = 0, all = 0;
	int best = -1, used;

	for (int cpu = 0;
	     sscanf(counts, " %llu%n", &n, &used) == 1 && isspace((unsigned char)counts[used]);
	     cpu++, counts += used) {
		all += n;
		if (n > most) {
			most = n;
			best = cpu;
		}
	}
	return most >= 1000 && most > all - all / 10 ? best : -1;
}

static int read_interrupts(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	char subject[32];
	unsigned irq;

	while (rs_line_next(in, &l)) {
		const char *last = strrchr(l.text, ' ');
		int used = 0, cpu;

		/* numbered ones; NMI, LOC and the like have no device */
		if (sscanf(l.text, "%u:%n", &irq, &used) != 1 || !used || !last)
			continue;
		snprintf(subject, sizeof(subject), "irq/%u", irq);
		rs_input_add(a, in, l.number, NULL, subject, "action", "%s", last + 1);
		cpu = busiest(l.text + used);
		if (cpu >= 0)
			rs_input_add(a, in, l.number, NULL, subject, "ran_on", "%d", cpu);
	}
	return a->err;
}

const struct rs_reader rs_reader_interrupts = {
	.name = "interrupts",
	.what = "/proc/interrupts: which interrupt is which device's",
	.trust = RS_TRUST_DUMP,
	.score = score_interrupts,
	.read = read_interrupts,
	.begins = (const char *const[]){" CPU0 CPU1", NULL},
};
