/* `ripstop audit --fix-script`: the fixes as a shell script to be read first. It refuses to run
 * before a person says that it was read, and what is no plain command stays a comment. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/rules/rule.h"
#include "cli/audit_report.h"

enum kind { KIND_RUN, KIND_KERNEL, KIND_ENV, KIND_MANUAL };
enum { COMMAND_MAX = 2048, TARGETS_MAX = 4096 };

/* Programs that fixes call; anything else is for a person. All of them set a value: run twice they
 * leave what they left once (ip rule and route are made so below). */
static const char *const programs[] = {
	"mlnx_qos",    "mlxconfig",  "mlxlink", "mstconfig",    "mstlink",
	"setpci",      "sysctl",     "ip",      "ethtool",      "cpupower",
	"modprobe",    "systemctl",  "dcb",     "devlink",      "rdma",
	"echo",        "nv",         "config",  "cma_roce_tos", "cma_roce_mode",
	"update-grub", "nvidia-smi", "tc",      "printf",
};

/* Where a redirection of echo may lead: settings of the kernel, drop-in files of their own. */
static const char *const writable[] = {
	"/sys/", "/proc/sys/", "/etc/modules-load.d/", "/etc/sysctl.d/", "/etc/security/limits.d/",
	"fix"};

static bool begins_with_any(const char *p, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(p, list[i], strlen(list[i])))
			return true;
	return false;
}

static bool is_program(const char *p)
{
	size_t n;

	p += strspn(p, " ");
	if (!strncmp(p, "sudo ", 5))
		p += 5;
	n = strcspn(p, " ");
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (strlen(programs[i]) == n && !strncmp(p, programs[i], n))
			return true;
	return false;
}

/* A name read from a stranger's file is part of a command: nothing in it may start another one. */
static bool is_safe(const char *command)
{
	char part[COMMAND_MAX], quote = 0;
	size_t n = 0;

	for (const char *p = command;; p++) {
		if (quote) {
			if (!*p || (unsigned char)*p < ' ')
				return false;
			if (*p == quote)
				quote = 0;
			continue;
		}
		if (*p == '\'') {
			quote = *p;
		} else if (!*p || *p == ';' || !strncmp(p, "&&", 2)) {
			part[n] = '\0';
			if (!is_program(part))
				return false;
			if (!*p)
				return true;
			p += *p == '&';
			n = 0;
		} else if (*p == '>') {
			const char *to = p + 1 + strspn(p + 1, " ");

			if (p[1] == '>' || !begins_with_any(to, writable, 6) || strstr(to, ".."))
				return false;
		} else if (strchr("$`|&()<\\\"*?{}!#", *p) || (unsigned char)*p < ' ') {
			return false;
		} else if (n + 1 < sizeof(part)) {
			part[n++] = *p;
		}
	}
}

/* Splits "command  # remark". */
static enum kind classify(const char *text, char *command, const char **remark)
{
	const char *hash = strstr(text, "  #");
	size_t n = hash ? (size_t)(hash - text) : strlen(text);

	snprintf(command, COMMAND_MAX, "%.*s", (int)(n < COMMAND_MAX ? n : COMMAND_MAX - 1), text);
	*remark = hash ? hash + 3 : "";
	if (n >= COMMAND_MAX - 1 || strchr(command, '<'))
		return KIND_MANUAL;
	if (!strncmp(command, "NCCL_", 5) || !strncmp(command, "unset NCCL_", 11) ||
	    !strncmp(command, "UCX_", 4))
		return KIND_ENV;
	/* it is quoted once more where it is used */
	if (strstr(*remark, "kernel command line"))
		return strchr(command, '\'') || strchr(command, '$') || strchr(command, '`')
			       ? KIND_MANUAL
			       : KIND_KERNEL;
	return is_safe(command) ? KIND_RUN : KIND_MANUAL;
}

/* Behind '#', line by line, whatever it holds. */
static void comment(FILE *out, const char *indent, const char *label, const char *text)
{
	fprintf(out, "%s# %s", indent, label);
	for (; *text; text++)
		if (*text == '\n')
			fprintf(out, "\n%s#   ", indent);
		else
			fputc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, out);
	fputc('\n', out);
}

static void quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		fputs(*text == '\'' ? "'\\''" : (const char[]){*text, 0}, out);
	fputc('\'', out);
}

static void command_line(FILE *out, enum kind kind, const char *command)
{
	static const char *const verb[] = {
		[KIND_RUN] = "run", [KIND_KERNEL] = "kernel_argument", [KIND_ENV] = "environment"};

	/* adding a second time is an error, not a setting */
	if (!strncmp(command, "ip rule add ", 12)) {
		fputs("\tabsent ", out);
		quoted(out, command + 12);
	} else if (!strncmp(command, "ip route add ", 13)) {
		char again[COMMAND_MAX + 8];

		snprintf(again, sizeof(again), "ip route replace %s", command + 13);
		fputs("\trun ", out);
		quoted(out, again);
	} else {
		fprintf(out, "\t%s ", verb[kind]);
		quoted(out, command);
	}
	fputc('\n', out);
}

static void fix(const struct rs_finding_fix *x, bool first_choice, FILE *out)
{
	char command[COMMAND_MAX];
	const char *remark;
	enum kind kind = classify(x->command, command, &remark);

	if (x->interrupts)
		comment(out, "\t", "interrupts: ", x->interrupts);
	if (!x->persistent && kind == KIND_RUN)
		comment(out, "\t", "", "until the next boot; make it permanent when it has helped");
	if (x->undo)
		comment(out, "\t", "undo: ", x->undo);
	if (*remark)
		comment(out, "\t", "", remark + strspn(remark, " "));
	if (!first_choice)
		comment(out, "\t", "instead: ", x->command);
	else if (kind == KIND_MANUAL)
		comment(out, "\t", "BY HAND: ", x->command);
	else
		command_line(out, kind, command);
}

static bool wanted(const struct rs_finding *f)
{
	return f->verdict == RS_FAIL && !f->suppressed && f->n_fixes;
}

/* What was said for one target: findings on many hosts end with the same line for the job. */
struct said {
	uint32_t n, room;
	const char **command;
	bool full; /* no memory: what follows may be said twice */
};

static bool is_new(struct said *s, const char *command)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!strcmp(s->command[i], command))
			return false;
	if (s->n == s->room && !s->full) {
		uint32_t room = s->room ? 2 * s->room : 32;
		const char **more = realloc(s->command, room * sizeof(*more));

		s->full = !more;
		if (more) {
			s->command = more;
			s->room = room;
		}
	}
	if (s->n < s->room)
		s->command[s->n++] = command;
	return true;
}

static void of_finding(const struct rs_finding *f, const char *target, struct said *s, FILE *out)
{
	bool named = false;

	for (uint32_t i = 0; i < f->n_fixes; i++) {
		if (strcmp(f->fix[i].on, target) || !is_new(s, f->fix[i].command))
			continue;
		if (!named) {
			fprintf(out, "\t# %s %s, %s\n", f->rule->id, f->rule->name,
				rs_severity_names[f->severity]);
			comment(out, "\t", "", f->title);
			named = true;
		}
		fix(&f->fix[i], f->fix[i].choice == f->fix[0].choice, out);
	}
}

/* Hosts and switches, each once, in the order in which they come. */
static uint32_t targets(const struct rs_audit *a, const char **list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_findings; i++)
		for (uint32_t k = 0; wanted(a->findings[i]) && k < a->findings[i]->n_fixes; k++) {
			const char *on = a->findings[i]->fix[k].on;
			uint32_t seen = 0;

			while (seen < n && strcmp(list[seen], on))
				seen++;
			if (seen == n && n < TARGETS_MAX)
				list[n++] = on;
		}
	return n;
}

static const char head[] =
	"#!/bin/sh\n"
	"# Fixes found by `ripstop audit`. Read each line before you run any: nothing was "
	"executed.\n"
	"# Lines after BY HAND are for a person, lines after instead are the alternatives.\n"
	"# Running it twice leaves what running it once left.\n"
	"set -eu\n";

/* What the script calls, in the order in which one needs the other; only what is used is there. */
static const struct {
	const char *call, *text;
	bool needs_run;
} helpers[] = {
	{"\trun ", "run() {\n\techo \"+ $1\"\n\teval \"$1\"\n}\n", false},
	{"\tabsent ",
	 "absent() { # an ip rule: added unless it is there\n"
	 "\teval \"ip rule del $1\" 2>/dev/null || :\n"
	 "\trun \"ip rule add $1\"\n"
	 "}\n",
	 true},
	{"\tenvironment ",
	 "environment() {\n"
	 "\techo \"in the environment of the job, on all its hosts: $1\"\n"
	 "}\n",
	 false},
	{"\tkernel_argument ",
	 "kernel_argument() {\n"
	 "\tfor word in $1; do\n"
	 "\t\tcase \" $(cat /proc/cmdline) \" in\n"
	 "\t\t*\" $word \"*) continue ;;\n"
	 "\t\tesac\n"
	 "\t\tif command -v grubby >/dev/null; then\n"
	 "\t\t\trun \"grubby --update-kernel=ALL --args='$word'\"\n"
	 "\t\telse\n"
	 "\t\t\techo \"add to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub: $word\"\n"
	 "\t\tfi\n"
	 "\tdone\n"
	 "}\n",
	 true},
};

/* A line of the body that begins so, which no comment does. */
static bool calls(const char *body, const char *call)
{
	for (const char *p = body; (p = strstr(p, call)); p++)
		if (p == body || p[-1] == '\n')
			return true;
	return false;
}

static void write_helpers(const char *body, FILE *out)
{
	bool run = false;

	for (unsigned i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		run |= calls(body, helpers[i].call) && (!i || helpers[i].needs_run);
	for (unsigned i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		if (i ? calls(body, helpers[i].call) : run)
			fputs(helpers[i].text, out);
}

static void write_body(const struct rs_audit *a, const char *const *list, uint32_t n, FILE *out)
{
	for (uint32_t i = 0; i < n; i++) {
		struct said said = {.n = 0};

		quoted(out, list[i]);
		fputs(")\n\t:\n", out);
		for (uint32_t k = 0; k < a->n_findings; k++)
			if (wanted(a->findings[k]))
				of_finding(a->findings[k], list[i], &said, out);
		fputs("\t;;\n", out);
		free(said.command);
	}
}

int rs_audit_fix_script(const struct rs_audit *a, FILE *out)
{
	const char **list = calloc(TARGETS_MAX, sizeof(*list));
	char *body = NULL;
	size_t size = 0;
	FILE *memory = list ? open_memstream(&body, &size) : NULL;
	uint32_t n;

	if (!memory) {
		free(list);
		return -ENOMEM;
	}
	n = targets(a, list);
	write_body(a, list, n, memory);
	if (fclose(memory)) {
		free(body);
		free(list);
		return -ENOMEM;
	}
	fputs(head, out);
	write_helpers(body, out);
	fputs("if [ $# != 1 ] || [ \"${REVIEWED-}\" != yes ]; then\n"
	      "\techo \"read $0 first; then: REVIEWED=yes sh $0 TARGET\" >&2\n"
	      "\techo \"targets:\" >&2\n",
	      out);
	for (uint32_t i = 0; i < n; i++) {
		fputs("\techo ", out);
		quoted(out, list[i]);
		fputs(" >&2\n", out);
	}
	fputs("\texit 2\nfi\ncase $1 in\n", out);
	fputs(body, out);
	fputs("*)\n\techo \"$0: no such target: $1\" >&2\n\texit 2\n\t;;\nesac\n", out);
	free(body);
	free(list);
	return ferror(out) ? -EIO : 0;
}
