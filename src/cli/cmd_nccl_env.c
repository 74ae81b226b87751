/* ripstop nccl-env: the environment file that NCCL is to have on the audited hosts, each line with
 * its reason. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/rules/job_env.h"
#include "audit/facts/nccl.h"
#include "audit/probe/live.h"
#include "audit/read/read.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "cli/audit_report.h"
#include "cli/cli.h"
#include "report/report.h"

struct options {
	uint32_t release;
	const char *output;
};

static int help(void)
{
	fputs("Usage: ripstop nccl-env [--nccl X.Y.Z] [--output FILE] [PATH...]\n\n"
	      "The environment that NCCL is to have on the hosts whose snapshots are named "
	      "(without "
	      "PATH:\nthis host): a file of NAME=VALUE lines, each with its reason. What needs no "
	      "variable says\nso, and what cannot be told names what would tell it.\n\n"
	      "  --nccl X.Y.Z   the release; default: the one that logs or environments name\n"
	      "  --output FILE  write there; default: standard output\n\n"
	      "Examples:\n"
	      "  ripstop nccl-env hosts/ >/etc/nccl.conf\n"
	      "  ripstop nccl-env --nccl 2.18.5 gpu01.tar.gz gpu02.tar.gz\n\n"
	      "Exit status: 0, 2 bad input, 3 out of memory or disk.\n",
	      stdout);
	return RS_EXIT_OK;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{"nccl", required_argument, NULL, 'n'},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	unsigned major, minor, patch;
	int c, used;

	optind = 1;
	while ((c = getopt_long(argc, argv, "ho:", table, NULL)) != -1) {
		switch (c) {
		case 'n':
			used = 0;
			patch = 0;
			if (sscanf(optarg, "%2u.%2u%n.%2u%n", &major, &minor, &used, &patch,
				   &used) < 2 ||
			    optarg[used])
				return rs_cli_usage("nccl-env", "--nccl takes 2.21.5, not '%s'",
						    optarg);
			o->release = rs_nccl_make(major, minor, patch);
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'h':
			help();
			exit(RS_EXIT_OK);
		default:
			return rs_cli_try("nccl-env");
		}
	}
	return 0;
}

/* A reason as comment lines; control bytes of inputs do not get out. */
static void comment(FILE *out, const char *text)
{
	size_t width = 0;

	fputs("#", out);
	while (*text) {
		size_t n = strcspn(text, " ");

		if (width + n > 96 && width) {
			fputs("\n#", out);
			width = 0;
		}
		fputc(' ', out);
		for (size_t i = 0; i < n; i++)
			fputc((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i], out);
		width += n + 1;
		text += n + strspn(text + n, " ");
	}
	fputc('\n', out);
}

static void print(const struct rs_job_env *e, FILE *out)
{
	fputs("# NCCL's environment for the audited hosts, by `ripstop nccl-env`\n", out);
	if (e->release)
		fprintf(out, "# NCCL %u.%u.%u (%s)\n", e->release / 10000, e->release / 100 % 100,
			e->release % 100, e->release_from ? e->release_from : "");
	else
		fputs("# the release of NCCL is not known (--nccl X.Y.Z tells it)\n", out);
	for (uint32_t i = 0; i < e->n; i++) {
		const struct rs_job_line *l = &e->line[i];
		const char *v = l->value;

		fputc('\n', out);
		if (l->host) {
			fputs("# on ", out);
			comment(out, l->host);
		}
		comment(out, l->reason);
		if (!v || l->host) {
			/* one file is for all hosts: what differs is for a person to place */
			fprintf(out, "# %s%s%s\n", l->name, v ? "=" : "", v ? v : "");
			continue;
		}
		fprintf(out, "%s=", l->name);
		for (; *v; v++)
			fputc((unsigned char)*v < ' ' || *v == 127 ? '?' : *v, out);
		fputc('\n', out);
	}
}

static int write_out(const struct rs_job_env *env, const char *path, struct rs_error *e)
{
	struct rs_outfile f;
	int err = rs_outfile_open(&f, path ? path : "-", e);

	if (err)
		return err;
	print(env, f.f);
	return rs_outfile_commit(&f, e);
}

int rs_cmd_nccl_env(int argc, char **argv)
{
	struct rs_job_env *env = calloc(1, sizeof(*env));
	struct options o = {0};
	struct rs_error e = {0};
	struct rs_audit *a = NULL;
	int status = parse(argc, argv, &o), err;

	if (status) {
		free(env);
		return status;
	}
	err = env ? rs_audit_create(&a) : -ENOMEM;
	if (err)
		rs_error_set(&e, err, "out of memory");
	for (int i = optind; i < argc && !err; i++)
		err = rs_audit_read(a, argv[i], NULL, 0, &e);
	if (!err && optind == argc)
		err = rs_audit_read_live(a, &e);
	if (!err)
		err = rs_audit_run(a, NULL, NULL, &e);
	if (!err) {
		rs_audit_job_env(a, o.release, env);
		err = write_out(env, o.output, &e);
	}
	rs_audit_destroy(a);
	free(env);
	return err ? rs_cli_error(&e) : RS_EXIT_OK;
}
