/* ripstop compare FILE: variants of a scenario side by side, in one table and one page. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/cli.h"
#include "cli/compare_report.h"
#include "cli/page.h"
#include "describe/describe.h"
#include "diagnose/diagnose.h"
#include "report/report.h"

struct options {
	const char *file, *json, *html, *csv;
	struct rs_compare_options how;
	struct rs_cli_settings sets;
	const char *vary[RS_COMPARE_AXES];
	bool quiet;
};

static volatile int stop;

static void on_interrupt(int sig)
{
	(void)sig;
	stop = 1;
}

static int help(void)
{
	fputs("Usage: ripstop compare [OPTION...] FILE\n\n"
	      "Run variants of the scenario of FILE side by side, each with the same seeds: one "
	      "table of\n"
	      "completion, tail, goodput, queues, pauses, marks, resent packets, load, fairness, "
	      "CPU.\n\n"
	      "  --over LIST         of cc, routing, transport, fabric, what-if: all that there "
	      "are of each;\n"
	      "                      several: all combinations (default: cc, without --vary)\n"
	      "  --vary PATH=A,B,... each of these values of the description; repeatable: all\n"
	      "                      combinations\n"
	      "  --seeds N           of each variant so many draws (default 5; of more than 100 "
	      "variants 1)\n"
	      "  --seed N            the first one (default 1)\n"
	      "  --set PATH=VALUE    change the description of all variants; repeatable\n"
	      "  --html FILE|-       one page with pictures and tables, for a browser\n"
	      "  --csv FILE|-        a line a variant\n"
	      "  --json FILE|-       everything, with each seed (docs/schema/)\n"
	      "  --threads N         so many runs at a time (default: one a core)\n"
	      "  --max-time T        stop each run at this virtual time, such as 50ms\n"
	      "  --quiet             no text, no progress\n\n"
	      "Examples:\n"
	      "  ripstop compare scenarios/incast.yaml\n"
	      "  ripstop compare --over cc,routing --html all.html scenarios/midnight.yaml\n"
	      "  ripstop compare --vary fabric.network.rate=100G,200G,400G --csv - "
	      "scenarios/incast.yaml\n\n"
	      "Exit status: 0 done, 1 interrupted, 2 bad input, or a value of --vary that cannot "
	      "be had,\n3 out of memory or disk.\n",
	      stdout);
	return RS_EXIT_OK;
}

static unsigned outputs_on_stdout(const struct options *o)
{
	return rs_cli_is_stdout(o->json) + rs_cli_is_stdout(o->html) + rs_cli_is_stdout(o->csv);
}

enum { JSON = 256, HTML, CSV, OVER, VARY, SEED, SEEDS, SET, THREADS, MAX_TIME, QUIET };

static int add_vary(struct options *o, const char *text)
{
	if (o->how.n_vary == RS_COMPARE_AXES)
		return rs_cli_usage("compare", "at most %d --vary", RS_COMPARE_AXES);
	o->vary[o->how.n_vary++] = text;
	return 0;
}

/* One option that takes a value; 0 or an exit status. */
static int option(struct options *o, int c, char *arg)
{
	struct rs_error e = {0};
	int64_t n = 0;
	int err = 0;

	switch (c) {
	case JSON:
		o->json = arg;
		return rs_cli_json_output("compare", "--json", arg);
	case HTML:
		o->html = arg;
		break;
	case CSV:
		o->csv = arg;
		break;
	case OVER:
		o->how.over = arg;
		break;
	case VARY:
		return add_vary(o, arg);
	case SEED:
		err = rs_cli_number("compare", "--seed", arg, 0, INT64_MAX - RS_SEEDS_MAX, &n);
		o->how.sim.seed = (uint64_t)n;
		break;
	case SEEDS:
		err = rs_cli_number("compare", "--seeds", arg, 1, RS_SEEDS_MAX, &n);
		o->how.seeds = (uint32_t)n;
		break;
	case THREADS:
		err = rs_cli_number("compare", "--threads", arg, 0, 64, &n);
		o->how.threads = (unsigned)n;
		break;
	case SET:
		return rs_cli_setting(&o->sets, arg, &e) ? rs_cli_usage("compare", "%s", e.what)
							 : 0;
	case MAX_TIME:
		return rs_parse_time(arg, &o->how.sim.max_time, &e)
			       ? rs_cli_usage("compare", "--max-time: %s", e.what)
			       : 0;
	default:
		return rs_cli_try("compare");
	}
	return err;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{"json", required_argument, NULL, JSON},
		{"html", required_argument, NULL, HTML},
		{"csv", required_argument, NULL, CSV},
		{"over", required_argument, NULL, OVER},
		{"vary", required_argument, NULL, VARY},
		{"seed", required_argument, NULL, SEED},
		{"seeds", required_argument, NULL, SEEDS},
		{"set", required_argument, NULL, SET},
		{"threads", required_argument, NULL, THREADS},
		{"max-time", required_argument, NULL, MAX_TIME},
		{"quiet", no_argument, NULL, QUIET},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct rs_error e = {0};
	int c, err = 0;

	optind = 1;
	while (!err && (c = getopt_long(argc, argv, "hq", table, NULL)) != -1) {
		if (c == 'h')
			exit(help());
		if (c == 'q' || c == QUIET)
			o->quiet = true;
		else
			err = option(o, c, optarg);
	}
	if (err)
		return err;
	if (outputs_on_stdout(o) > 1)
		return rs_cli_usage("compare", "only one file can be standard output (-)");
	if (optind + 1 != argc)
		return rs_cli_usage("compare",
				    optind == argc ? "which FILE?" : "one FILE at a time");
	if (!o->how.over && !o->how.n_vary)
		o->how.over = "cc";
	o->file = argv[optind];
	return o->html && rs_page_absent(&e) ? rs_cli_error(&e) : 0;
}

/* ---- Files ---- */

static int print_text(const struct rs_comparison *c, FILE *out)
{
	rs_compare_print(c, out);
	return ferror(out) ? -EIO : 0;
}

static int printed(const struct rs_comparison *c,
		   int (*print)(const struct rs_comparison *, FILE *), struct rs_page_text *t)
{
	FILE *f = open_memstream(&t->at, &t->bytes);
	int err = f ? print(c, f) : -ENOMEM;

	if (f && fclose(f) && !err)
		err = -ENOMEM;
	return err;
}

static int page(const struct rs_comparison *c, FILE *out)
{
	struct rs_page_text json = {0}, text = {0};
	int err = printed(c, rs_comparison_json, &json);

	if (!err)
		err = printed(c, print_text, &text);
	if (!err)
		err = rs_page_write(&json, &text, out);
	free(json.at);
	free(text.at);
	return err;
}

static int write_out(const char *path, const struct rs_comparison *c,
		     int (*writer)(const struct rs_comparison *, FILE *))
{
	struct rs_error e = {0};
	struct rs_outfile f;
	int err = path ? rs_outfile_open(&f, path, &e) : 0;

	if (!path)
		return RS_EXIT_OK;
	if (!err && (err = writer(c, f.f))) {
		rs_outfile_abort(&f);
		rs_error_set(&e, err, "%s: %s", path, strerror(-err));
	} else if (!err) {
		err = rs_outfile_commit(&f, &e);
	}
	return err ? rs_cli_error(&e) : RS_EXIT_OK;
}

static int report(const struct options *o, const struct rs_comparison *c)
{
	int status = write_out(o->json, c, rs_comparison_json);

	if (!status)
		status = write_out(o->csv, c, rs_comparison_csv);
	if (!status)
		status = write_out(o->html, c, page);
	if (status)
		return status;
	if (!o->quiet && !outputs_on_stdout(o))
		rs_compare_print(c, stdout);
	if (c->stopped)
		return RS_EXIT_INCOMPLETE;
	return rs_comparison_impossible(c) ? rs_cli_error(rs_comparison_impossible(c)) : RS_EXIT_OK;
}

static void show_progress(void *arg, uint32_t done, uint32_t all)
{
	rs_progress_update(arg, (double)done / all, "%u of %u runs", done, all);
}

int rs_cmd_compare(int argc, char **argv)
{
	struct options o = {.how = {.sim = {.seed = 1, .stop = &stop}}};
	struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
	struct rs_error e = {0};
	struct rs_comparison *c;
	struct rs_progress *p;
	struct rs_fabric *f;
	int status = parse(argc, argv, &o);

	if (status)
		return status;
	if (rs_fabric_load(o.file, o.sets.set, o.sets.n, &f, &e))
		return rs_cli_error(&e);
	if (!f->n_jobs) {
		rs_error_set(&e, -EINVAL, "%s: there is no workload to run", o.file);
		rs_fabric_free(f);
		return rs_cli_error(&e);
	}
	o.how.file = o.file;
	o.how.set = o.sets.set;
	o.how.n_set = o.sets.n;
	o.how.vary = o.vary;
	p = rs_progress_create(stderr, o.quiet);
	o.how.progress = show_progress;
	o.how.progress_arg = p;
	/* the first Ctrl-C ends the runs with what is known; the second ends the program */
	sigaction(SIGINT, &sa, NULL);
	rs_compare(f, &o.how, &c, &e);
	rs_progress_destroy(p);
	status = c ? report(&o, c) : rs_cli_error(&e);
	rs_comparison_free(c);
	rs_fabric_free(f);
	return status;
}
