/* ripstop: the RDMA fabric of an AI cluster, in software. One file a command. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/cli.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{"sim", rs_cmd_sim, "simulate a scenario: what holds it back, what each fix gives"},
	{"compare", rs_cmd_compare, "variants of a scenario side by side: one table, one page"},
	{"fabric", rs_cmd_fabric, "show, check or convert the description of a fabric"},
	{"exec", rs_cmd_exec, "run an RDMA program on RoCEv2 devices in software, real packets"},
	{"devices", rs_cmd_devices, "the devices that a program under exec sees"},
	{"counters", rs_cmd_counters, "what the devices of running programs count"},
	{"switch", rs_cmd_switch,
	 "a switch between network interfaces that marks, with classes and PFC"},
	{"libdir", rs_cmd_libdir, "the folder of the drop-in libraries, for LD_LIBRARY_PATH"},
	{"audit", rs_cmd_audit, "read hosts and switches, find what is wrong, print the fix"},
	{"expect", rs_cmd_expect,
	 "what perftest and nccl-tests should reach on hosts that were read; why less is measured"},
	{"nccl", rs_cmd_nccl, "what NCCL plans on given hosts: rings, trees, channels, NICs"},
	{"nccl-env", rs_cmd_nccl_env,
	 "the environment that NCCL is to have on hosts, with reasons"},
	{"explain", rs_cmd_explain, "a symptom: which checks to look at, and what each would show"},
	{"pcap", rs_cmd_pcap, "verify a RoCEv2 capture and tell what happened on the wire"},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static bool told; /* of an error */

int rs_cli_error(const struct rs_error *e)
{
	char text[1800];

	rs_error_text(e, text, sizeof(text));
	fprintf(stderr, "ripstop: %s\n", text);
	told = true;
	switch (e->code) {
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
	case -ENOENT:
	case -ENOTDIR:
	case -EISDIR:
	case -EACCES:
	case -EPERM:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -EBADMSG:
	case -ENODATA:
	case -EPROTONOSUPPORT:
	case -EFBIG:
		return RS_EXIT_INPUT;
	default:
		return RS_EXIT_FAILED;
	}
}

int rs_cli_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "ripstop %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return rs_cli_try(command);
}

int rs_cli_append(const char *command, const char *option, const char **list, unsigned *n,
		  unsigned max, const char *value)
{
	if (*n == max)
		return rs_cli_usage(command, "at most %u %s", max, option);
	list[(*n)++] = value;
	return 0;
}

/* The first n bytes that are no white space, as far as they are there. */
static void first_bytes(const char *path, char *out, size_t n)
{
	struct stat st;
	FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
	size_t have = 0;
	int c;

	while (f && have + 1 < n && (c = getc(f)) != EOF)
		if (!isspace(c))
			out[have++] = (char)c;
	out[have] = '\0';
	if (f)
		fclose(f);
}

int rs_cli_json_output(const char *command, const char *option, const char *path)
{
	static const char *const ours[] = {"{\"schema\":\"ripstop-", "{\"$schema\":"};
	char begins[64];

	if (!strncmp(path, "--", 2))
		return rs_cli_usage(command, "%s takes a file to write, or '-', not '%s'", option,
				    path);
	first_bytes(path, begins, sizeof(begins));
	if (!begins[0])
		return 0;
	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!strncmp(begins, ours[i], strlen(ours[i])))
			return 0;
	return rs_cli_usage(
		command,
		"%s would write over '%s', which is no report of ripstop: to read it, say "
		"'%s - %s'; to replace it, remove it first",
		option, path, option, path);
}

int rs_cli_number(const char *command, const char *option, const char *text, int64_t min,
		  int64_t max, int64_t *out)
{
	struct rs_error e = {0};

	if (!rs_parse_int(text, min, max, out, &e))
		return 0;
	return rs_cli_usage(command, "%s takes a number, %lld to %lld, not '%s'", option,
			    (long long)min, (long long)max, text);
}

bool rs_cli_is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

int rs_cli_try(const char *command)
{
	fprintf(stderr, "Try `ripstop %s --help`.\n", command);
	return RS_EXIT_INPUT;
}

static int help(FILE *out)
{
	fputs("Usage: ripstop COMMAND [ARGUMENT...]\n\n"
	      "The RDMA fabric of an AI cluster, simulated packet by packet.\n\n",
	      out);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n  ripstop COMMAND --help     a command's options, with examples\n"
	      "  ripstop --version\n\n"
	      "Start with: ripstop sim scenarios/midnight.yaml\n"
	      "Exit status: 0 done, 1 a job did not finish, 2 bad input, 3 out of memory or "
	      "disk.\n",
	      out);
	return RS_EXIT_OK;
}

/* At exit: what was printed and did not get there, as on a full disk, is no success. */
static void finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	if (!told)
		fprintf(stderr, "ripstop: cannot write standard output: %s\n", strerror(errno));
	_exit(RS_EXIT_FAILED);
}

int main(int argc, char **argv)
{
	char name[32]; /* what getopt_long() begins its messages with */

	atexit(finish);
	if (argc < 2) {
		help(stderr);
		return RS_EXIT_INPUT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(stdout);
	if (!strcmp(argv[1], "--version")) {
		puts("ripstop " RS_VERSION);
		return RS_EXIT_OK;
	}
	for (int i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "ripstop %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "ripstop: there is no command '%s'; there are:", argv[1]);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", commands[i].name);
	fputc('\n', stderr);
	return RS_EXIT_INPUT;
}
