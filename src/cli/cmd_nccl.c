/* ripstop nccl: what NCCL plans on given hosts, in the words of its log; and where a real log
 * differs. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/nccl.h"
#include "describe/describe.h"
#include "nccl/log.h"
#include "report/report.h"

enum { ENV_MAX = 64 };

struct options {
	bool compare, tune, json, graph, csv;
	uint32_t release, nodes;
	const char *gpu, *gpus, *nic, *job, *net, *output, *rank, *tuner;
	int n_env;
	const char *env[ENV_MAX];
	const char *file, *log;
};

static int help(void)
{
	fputs("Usage: ripstop nccl plan [OPTION...] FILE\n"
	      "       ripstop nccl tune [OPTION...] FILE\n"
	      "       ripstop nccl compare [OPTION...] FILE LOG\n\n"
	      "What NCCL plans for a job: channels, rings, trees, NICs, point-to-point, as its log "
	      "prints\nthem with NCCL_DEBUG=INFO; `compare` holds a real log against the plan, "
	      "line "
	      "for line.\n\n"
	      "FILE is a scenario or fabric (YAML, as `ripstop sim` takes), or a topology of "
	      "NCCL's "
	      "(XML,\nwhich NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE takes) with --nodes, or "
	      "a "
	      "log with its topology\n(NCCL_DEBUG_SUBSYS=INIT,GRAPH).\n\n"
	      "  --nodes N          so many hosts like FILE (XML); default 1, or as the log says\n"
	      "  --gpus LIST        of each host these GPUs, by NVML's numbers: 0,1 or 0-3\n"
	      "  --job NAME         the job of the scenario whose ranks are meant; default: the "
	      "first\n"
	      "  --nccl X.Y.Z       the release, 2.18 to 2.30; default: the log's, else 2.27.7\n"
	      "  --env NAME=VALUE   a variable of NCCL's; may be given again\n"
	      "  --gpu MODEL        of GPUs whose model FILE does not tell: A100, H100, H800...\n"
	      "  --nic RATE         of NICs whose rate FILE does not tell: 400G\n"
	      "  --net NAME         the network plugin in the lines: IB, 'AWS Libfabric'\n"
	      "  --rank R[-S]       lines of these ranks alone\n"
	      "  --graph            lines of NCCL_DEBUG_SUBSYS=GRAPH too: what the search found\n"
	      "  --tuner FILE       tune: with this file of a tuner plugin's (CSV)\n"
	      "  --csv              tune: the choice as such a file\n"
	      "  --json             as JSON (plan, compare)\n"
	      "  --output FILE      write there; default: standard output\n\n"
	      "Examples:\n"
	      "  ripstop nccl plan scenarios/h100-8n.yaml\n"
	      "  ripstop nccl plan --nodes 2 --gpu A100 --nic 200G ndv4-topo.xml\n"
	      "  ripstop nccl plan --nodes 2 --env NCCL_CROSS_NIC=0 --rank 0 --graph topo.xml\n"
	      "  ripstop nccl tune --nodes 2 --env NCCL_ALGO=^nvlstree topo.xml\n"
	      "  ripstop nccl compare topo.xml job.log\n"
	      "  ripstop nccl compare job.log job.log\n\n"
	      "Exit status: 0 done, with compare: all lines the same; 1 a line differs; 2 bad "
	      "input;\n3 out of memory or disk.\n",
	      stdout);
	return RS_EXIT_OK;
}

static bool number(const char *s, unsigned long max, uint32_t *out)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno || !v || v > max)
		return false;
	*out = (uint32_t)v;
	return true;
}

static int option(struct options *o, int c)
{
	switch (c) {
	case 'N':
		if (!number(optarg, RS_NCCL_RANKS_MAX, &o->nodes))
			return rs_cli_usage("nccl", "--nodes takes 1 to %d, not '%s'",
					    RS_NCCL_RANKS_MAX, optarg);
		return 0;
	case 'v':
		o->release = rs_nccl_release_parse(optarg);
		if (o->release < RS_NCCL_OLDEST || o->release > RS_NCCL_NEWEST)
			return rs_cli_usage(
				"nccl", "--nccl takes 2.18 to 2.30, as 2.21.5, not '%s'", optarg);
		return 0;
	case 'e':
		if (o->n_env == ENV_MAX || !strchr(optarg, '='))
			return rs_cli_usage("nccl", "--env takes NAME=VALUE, at most %d times",
					    ENV_MAX);
		o->env[o->n_env++] = optarg;
		return 0;
	case 'g':
		if (!rs_nccl_gpu_find(optarg))
			return rs_cli_usage("nccl",
					    "--gpu: '%s' is no model known here; as A100, "
					    "H100, H800, B200, V100, L40",
					    optarg);
		o->gpu = optarg;
		return 0;
	default:
		return rs_cli_try("nccl");
	}
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{"nodes", required_argument, NULL, 'N'}, {"nccl", required_argument, NULL, 'v'},
		{"env", required_argument, NULL, 'e'},   {"gpu", required_argument, NULL, 'g'},
		{"gpus", required_argument, NULL, 'G'},  {"nic", required_argument, NULL, 'n'},
		{"job", required_argument, NULL, 'j'},   {"net", required_argument, NULL, 't'},
		{"rank", required_argument, NULL, 'r'},  {"graph", no_argument, NULL, 'p'},
		{"json", no_argument, NULL, 'J'},        {"output", required_argument, NULL, 'o'},
		{"tuner", required_argument, NULL, 'T'}, {"csv", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
	};
	int c, status;

	optind = 1;
	while ((c = getopt_long(argc, argv, "ho:", table, NULL)) != -1) {
		switch (c) {
		case 'G':
			o->gpus = optarg;
			break;
		case 'n':
			o->nic = optarg;
			break;
		case 'j':
			o->job = optarg;
			break;
		case 't':
			o->net = optarg;
			break;
		case 'r':
			o->rank = optarg;
			break;
		case 'p':
			o->graph = true;
			break;
		case 'T':
			o->tuner = optarg;
			break;
		case 'c':
			o->csv = true;
			break;
		case 'J':
			o->json = true;
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'h':
			help();
			exit(RS_EXIT_OK);
		default:
			status = option(o, c);
			if (status)
				return status;
		}
	}
	if (argc - optind < 1 || (strcmp(argv[optind], "plan") && strcmp(argv[optind], "tune") &&
				  strcmp(argv[optind], "compare")))
		return rs_cli_usage("nccl",
				    "what to do: plan FILE, tune FILE, or compare FILE LOG");
	o->tune = !strcmp(argv[optind], "tune");
	if (!o->tune && (o->tuner || o->csv))
		return rs_cli_usage("nccl", "--tuner and --csv go with tune");
	if (o->tune && o->json)
		return rs_cli_usage("nccl", "tune writes text, or a table with --csv");
	o->compare = !strcmp(argv[optind], "compare");
	if (argc - optind != (o->compare ? 3 : 2))
		return rs_cli_usage("nccl", o->compare ? "compare takes two files: FILE and LOG"
						       : "plan and tune take one FILE");
	o->file = argv[optind + 1];
	o->log = o->compare ? argv[optind + 2] : NULL;
	return 0;
}

static int ranks_of(const struct options *o, struct rs_nccl_print *how, struct rs_error *e)
{
	unsigned first, last;
	int used = 0;

	if (!o->rank)
		return 0;
	if (sscanf(o->rank, "%u%n-%u%n", &first, &used, &last, &used) == 1)
		last = first;
	if (!used || o->rank[used] || last < first)
		return rs_error_set(e, -EINVAL, "--rank takes 3 or 0-7, not '%s'", o->rank);
	how->first = first;
	how->n = last - first + 1;
	return 0;
}

/* ---- The job ---- */

static int set_env(const struct options *o, const struct rs_nccl_log *log, struct rs_nccl_env *env,
		   struct rs_error *e)
{
	uint32_t release = o->release ? o->release : log && log->release ? log->release : 0;
	char name[64];
	int err = 0;

	if (release && release < RS_NCCL_OLDEST)
		return rs_error_set(e, -EINVAL,
				    "NCCL %u.%u: rules are known from 2.18 to 2.30; "
				    "--nccl says which to take",
				    release / 10000, release / 100 % 100);
	rs_nccl_env_init(env, release ? release : RS_NCCL_DEFAULT);
	for (int i = 0; log && i < log->n_vars && err >= 0; i++)
		if (!strncmp(log->vars[i].name, "NCCL_", 5) &&
		    rs_nccl_env_set(env, log->vars[i].name, log->vars[i].value, e) < 0)
			*e = (struct rs_error){0}; /* NCCL took it somehow: as if it were unset */
	if (log && log->no_nvls)
		env->nvls = 0;
	for (int i = 0; i < o->n_env && err >= 0; i++) {
		size_t n = strcspn(o->env[i], "=");

		snprintf(name, sizeof(name), "%.*s", (int)n, o->env[i]);
		err = rs_nccl_env_set(env, name, o->env[i] + n + 1, e);
	}
	return err < 0 ? err : 0;
}

/* Lines: those of NCCL's log, or all in JSON. */
static int write_out(const struct options *o, const struct rs_nccl_plan *p,
		     const struct rs_nccl_print *how, const char *assumed, struct rs_error *e)
{
	struct rs_outfile f;
	int err = rs_outfile_open(&f, o->output ? o->output : "-", e);

	if (err)
		return err;
	if (o->json)
		rs_cli_nccl_json(p, how, assumed, f.f);
	else
		rs_nccl_plan_print(p, how, f.f);
	return rs_outfile_commit(&f, e);
}

static int compare(const struct options *o, const struct rs_nccl_plan *p,
		   const struct rs_nccl_print *how, const char *text, size_t n, bool *differs,
		   struct rs_error *e)
{
	struct rs_nccl_compared c;
	struct rs_outfile f;
	int err = rs_outfile_open(&f, o->output ? o->output : "-", e);
	uint32_t all = 0;

	if (err)
		return err;
	if (rs_nccl_compare(p, how, text, n, o->log, o->json ? NULL : f.f, &c))
		err = rs_error_set(e, -ENOMEM, "out of memory");
	for (int i = 0; i < RS_NCCL_LINES; i++) {
		all += c.lines[i];
		*differs |= c.lines[i] != c.same[i];
	}
	if (!err && !all)
		err = rs_error_at(e, -EINVAL, (struct rs_where){o->log, 1, 1},
				  "no line of a plan of %u ranks in it: rings, trees, connections",
				  p->n_ranks);
	if (err) {
		rs_outfile_abort(&f);
		return err;
	}
	if (o->json)
		rs_cli_nccl_compared_json(&c, f.f);
	else
		rs_cli_nccl_compared(&c, f.f);
	return rs_outfile_commit(&f, e);
}

/* The file of a tuner plugin, if there is one. */
static int read_tuner(const struct options *o, struct rs_arena *a, struct rs_nccl_tune_conf *conf,
		      struct rs_error *e)
{
	struct rs_load l = {.arena = a, .e = e, .name = o->tuner};
	struct rs_nccl_tuner_row *rows;
	char *text;
	size_t n;
	int err;

	if (!o->tuner)
		return 0;
	text = rs_load_file(&l, o->tuner, 1 << 20, (struct rs_where){o->tuner, 0, 0}, &n);
	if (!text)
		return l.err;
	err = rs_nccl_tuner_read(o->tuner, text, n, a, &rows, &conf->n_rows, e);
	conf->rows = rows;
	free(text);
	return err;
}

static int tune(const struct options *o, const struct rs_nccl_plan *p,
		const struct rs_nccl_env *env, struct rs_arena *a, struct rs_error *e)
{
	struct rs_nccl_tune_conf conf = {.algo = env->algo,
					 .proto = env->proto,
					 .buffer = env->buffer,
					 .nvls_chunk = env->nvls_chunk,
					 .nvls_tree_chunk = env->nvls_tree_chunk,
					 .thresholds = env->thresholds};
	struct rs_outfile f;
	int err = read_tuner(o, a, &conf, e);

	if (!err)
		err = rs_outfile_open(&f, o->output ? o->output : "-", e);
	if (err)
		return err;
	err = rs_cli_nccl_tune(p, &conf, o->csv, a, f.f, e);
	if (err) {
		rs_outfile_abort(&f);
		return err;
	}
	return rs_outfile_commit(&f, e);
}

struct work {
	struct rs_arena *a;
	struct rs_fabric *fabric;
	struct rs_nccl_log *log;
	char *log_text;
	size_t log_n;
	struct rs_nccl_env env;
	struct rs_nccl_plan *plan;
	const char *assumed;
};

static int read_log(const struct options *o, struct work *w, struct rs_error *e)
{
	const char *name = o->log ? o->log : o->file;
	struct rs_load l = {.arena = w->a, .e = e, .name = name};

	w->log_text =
		rs_load_file(&l, name, RS_NCCL_LOG_MAX, (struct rs_where){name, 0, 0}, &w->log_n);
	if (!w->log_text)
		return l.err;
	/* a plan's FILE may be a log itself */
	if (!o->log && !strstr(w->log_text, "NCCL INFO "))
		return 0;
	return rs_nccl_log_read(w->log_text, w->log_n, name, w->a, &w->log, e);
}

static int run(const struct options *o, struct work *w, bool *differs, struct rs_error *e)
{
	struct rs_nccl_print how = {.net = o->net ? o->net : "IB", .graph = o->graph};
	struct rs_cli_nccl_job job = {.file = o->file,
				      .gpus = o->gpus,
				      .job = o->job,
				      .gpu = o->gpu,
				      .nic = o->nic,
				      .nodes = o->nodes};
	int err = read_log(o, w, e);

	if (err)
		return err;
	if (w->log && w->log->net && !o->net)
		how.net = w->log->net;
	how.same_process = w->log && w->log->one_process;
	job.log = w->log;
	err = set_env(o, w->log, &w->env, e);
	if (!err)
		err = ranks_of(o, &how, e);
	if (!err)
		err = rs_cli_nccl_load(&job, &w->env, w->a, &w->fabric, &w->plan, &w->assumed, e);
	if (err)
		return err;
	if (w->assumed)
		fprintf(stderr, "ripstop: %s: assumed: %s\n", o->file, w->assumed);
	if (o->tune)
		return tune(o, w->plan, &w->env, w->a, e);
	return o->compare ? compare(o, w->plan, &how, w->log_text, w->log_n, differs, e)
			  : write_out(o, w->plan, &how, w->assumed, e);
}

int rs_cmd_nccl(int argc, char **argv)
{
	struct options o = {0};
	struct rs_error e = {0};
	struct work w = {0};
	bool differs = false;
	int status = parse(argc, argv, &o), err;

	if (status)
		return status;
	w.a = rs_arena_create(0);
	err = w.a ? run(&o, &w, &differs, &e) : rs_error_set(&e, -ENOMEM, "out of memory");
	rs_fabric_free(w.fabric);
	free(w.log_text);
	rs_arena_destroy(w.a);
	if (err)
		return rs_cli_error(&e);
	return differs ? RS_EXIT_INCOMPLETE : RS_EXIT_OK;
}
