/* ripstop sim FILE: run a scenario, its what-if list and the counterfactuals, side by side. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/cli.h"
#include "cli/page.h"
#include "cli/sim_report.h"
#include "describe/describe.h"
#include "report/report.h"

enum { TRACES_BYTES = 1 << 16 };

struct options {
	const char *file, *json, *html, *csv, *rates, *series, *perfetto, *measured;
	struct rs_sim_options sim;
	struct rs_cli_settings sets;
	char trace[TRACES_BYTES]; /* workload[+]={trace: [...]}, of all --trace */
	const char *timings;
	unsigned threads;
	uint32_t seeds;
	bool quiet, no_diagnosis, observe;
};

static volatile int stop;

static void on_interrupt(int sig)
{
	(void)sig;
	stop = 1;
}

static int help(void)
{
	fputs("Usage: ripstop sim [OPTION...] FILE\n\n"
	      "Run the scenario of FILE (YAML or JSON; ripstop-fabric(5)) packet by packet, then "
	      "the same\n"
	      "with one thing made ideal at a time, and with each of its what-if list, side by "
	      "side.\n\n"
	      "  --json FILE|-       everything as JSON (docs/schema/)\n"
	      "  --html FILE|-       one page with pictures and tables, for a browser; observes\n"
	      "  --flows-csv FILE|-  each flow's start and finish\n"
	      "  --rates-csv FILE|-  each flow's rate over time, as congestion control sets it\n"
	      "  --rate-interval T   between two of those (default 5us)\n"
	      "  --observe           keep what happened where over time, for --json and the files "
	      "below\n"
	      "  --series-csv FILE|- ports, connections and links inside hosts, bin by bin; "
	      "observes\n"
	      "  --perfetto FILE|-   a trace for ui.perfetto.dev: jobs, ranks, flows, queues, "
	      "pauses; "
	      "observes\n"
	      "  --trace FILE        a job more: a trace (Chakra, GOAL, SimAI); name.%d.et: a file "
	      "a rank\n"
	      "  --timings FILE      the first graph of work as Chakra traces with times; "
	      "name.%d.et\n"
	      "  --pcap FILE         pcapng of links, as Wireshark opens it\n"
	      "  --pcap-links LIST   their ends: names as in `ripstop fabric show`, or all;\n"
	      "                      default: the first NIC's link\n"
	      "  --measured LOG      what nccl-tests or perftest printed, beside the prediction "
	      "by\n"
	      "                      size, and which change would bring the prediction there\n"
	      "  --seed N            another draw of ports, marks and losses (default 1)\n"
	      "  --seeds N           so many draws, from --seed on: what is cause, what is chance\n"
	      "                      (default: 5 where the runs are short, else 1)\n"
	      "  --set PATH=VALUE    change the description; repeatable\n"
	      "  --threads N         threads: a run each, or several for one run (default: one a "
	      "core)\n"
	      "  --max-time T        stop at this virtual time, such as 50ms\n"
	      "  --no-diagnosis      the scenario alone, without counterfactuals and what-ifs\n"
	      "  --quiet             no text, no progress\n\n"
	      "Examples:\n"
	      "  ripstop sim scenarios/midnight.yaml\n"
	      "  ripstop sim --set fabric.network.rate=200G --json - scenarios/midnight.yaml\n\n"
	      "Exit status: 0 done, 1 a job did not finish, 2 bad input, 3 out of memory or "
	      "disk.\n",
	      stdout);
	return RS_EXIT_OK;
}

/* How many of the files are standard output. */
static unsigned outputs_on_stdout(const struct options *o)
{
	return rs_cli_is_stdout(o->json) + rs_cli_is_stdout(o->html) + rs_cli_is_stdout(o->csv) +
	       rs_cli_is_stdout(o->rates) + rs_cli_is_stdout(o->series) +
	       rs_cli_is_stdout(o->perfetto);
}

/* Files of ranks 0, 1, ... in the order of the options: one job. As the description is elsewhere,
 * names are made whole. */
static int add_trace(struct options *o, const char *file)
{
	size_t n = strlen(o->trace);
	char here[4096] = "";

	if (*file != '/' && !getcwd(here, sizeof(here)))
		return rs_cli_usage("sim", "--trace: %s", strerror(errno));
	if (n + strlen(here) + 2 * strlen(file) + 64 > sizeof(o->trace))
		return rs_cli_usage("sim", "--trace: too many names; name.%%d.et stands for a file "
					   "a rank");
	n += (size_t)sprintf(o->trace + n, "%s\"%s%s", n ? ", " : "workload[+]={trace: [", here,
			     *here ? "/" : "");
	for (; *file; file++) {
		if (*file == '"' || *file == '\\')
			o->trace[n++] = '\\';
		o->trace[n++] = *file;
	}
	o->trace[n++] = '"';
	o->trace[n] = '\0';
	return 0;
}

/* After the last option. */
static int end_traces(struct options *o)
{
	struct rs_error e = {0};

	if (!*o->trace)
		return 0;
	strcat(o->trace, "]}");
	return rs_cli_setting(&o->sets, o->trace, &e) ? rs_cli_usage("sim", "%s", e.what) : 0;
}

static int parse(int argc, char **argv, struct options *o)
{
	enum { RATES = 300, RATE_INTERVAL, OBSERVE, SERIES, PERFETTO, HTML, MEASURED };
	enum {
		JSON = 256,
		CSV,
		PCAP,
		LINKS,
		SEED,
		SEEDS,
		SET,
		THREADS,
		MAX_TIME,
		NO_DIAGNOSIS,
		QUIET,
		TRACE,
		TIMINGS
	};
	static const struct option table[] = {
		{"json", required_argument, NULL, JSON},
		{"html", required_argument, NULL, HTML},
		{"flows-csv", required_argument, NULL, CSV},
		{"rates-csv", required_argument, NULL, RATES},
		{"rate-interval", required_argument, NULL, RATE_INTERVAL},
		{"observe", no_argument, NULL, OBSERVE},
		{"series-csv", required_argument, NULL, SERIES},
		{"perfetto", required_argument, NULL, PERFETTO},
		{"measured", required_argument, NULL, MEASURED},
		{"trace", required_argument, NULL, TRACE},
		{"timings", required_argument, NULL, TIMINGS},
		{"pcap", required_argument, NULL, PCAP},
		{"pcap-links", required_argument, NULL, LINKS},
		{"seed", required_argument, NULL, SEED},
		{"seeds", required_argument, NULL, SEEDS},
		{"set", required_argument, NULL, SET},
		{"threads", required_argument, NULL, THREADS},
		{"max-time", required_argument, NULL, MAX_TIME},
		{"no-diagnosis", no_argument, NULL, NO_DIAGNOSIS},
		{"quiet", no_argument, NULL, QUIET},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct rs_error e = {0};
	int64_t n;
	int c, err = 0;

	optind = 1;
	while (!err && (c = getopt_long(argc, argv, "hq", table, NULL)) != -1) {
		switch (c) {
		case JSON:
			o->json = optarg;
			err = rs_cli_json_output("sim", "--json", optarg);
			break;
		case HTML:
			o->html = optarg;
			o->observe = true;
			break;
		case CSV:
			o->csv = optarg;
			break;
		case RATES:
			o->rates = optarg;
			break;
		case RATE_INTERVAL:
			if (rs_parse_time(optarg, &o->sim.rate_interval, &e))
				return rs_cli_usage("sim", "--rate-interval: %s", e.what);
			if (o->sim.rate_interval < RS_NS)
				return rs_cli_usage("sim", "--rate-interval takes 1ns or more");
			break;
		case OBSERVE:
			o->observe = true;
			break;
		case SERIES:
			o->series = optarg;
			o->observe = true;
			break;
		case PERFETTO:
			o->perfetto = optarg;
			o->observe = true;
			break;
		case TRACE:
			err = add_trace(o, optarg);
			break;
		case TIMINGS:
			if (!strstr(optarg, "%d"))
				return rs_cli_usage("sim", "--timings takes a name with %%d for "
							   "the rank, such as out.%%d.et");
			o->timings = optarg;
			break;
		case PCAP:
			o->sim.pcap = optarg;
			break;
		case LINKS:
			o->sim.pcap_links = optarg;
			break;
		case MEASURED:
			o->measured = optarg;
			break;
		case SEED:
			err = rs_cli_number("sim", "--seed", optarg, 0, INT64_MAX, &n);
			o->sim.seed = err ? 0 : (uint64_t)n;
			break;
		case SEEDS:
			err = rs_cli_number("sim", "--seeds", optarg, 1, RS_SEEDS_MAX, &n);
			o->seeds = err ? 0 : (uint32_t)n;
			break;
		case SET:
			if (rs_cli_setting(&o->sets, optarg, &e))
				return rs_cli_usage("sim", "%s", e.what);
			break;
		case THREADS:
			err = rs_cli_number("sim", "--threads", optarg, 0, 64, &n);
			o->threads = err ? 0 : (unsigned)n;
			break;
		case MAX_TIME:
			if (rs_parse_time(optarg, &o->sim.max_time, &e))
				return rs_cli_usage("sim", "--max-time: %s", e.what);
			break;
		case NO_DIAGNOSIS:
			o->no_diagnosis = true;
			break;
		case 'q':
		case QUIET:
			o->quiet = true;
			break;
		case 'h':
			help();
			exit(RS_EXIT_OK);
		default:
			return rs_cli_try("sim");
		}
	}
	if (!err)
		err = end_traces(o);
	if (err)
		return err;
	if (outputs_on_stdout(o) > 1)
		return rs_cli_usage("sim", "only one file can be standard output (-)");
	if (o->measured && (o->json || o->html || o->csv || o->rates || o->observe || o->sim.pcap))
		return rs_cli_usage("sim", "--measured prints a report and writes no other file");
	if (optind + 1 != argc)
		return rs_cli_usage("sim", optind == argc ? "which FILE?" : "one FILE at a time");
	o->file = argv[optind];
	return o->html && rs_page_absent(&e) ? rs_cli_error(&e) : 0;
}

/* ---- The runs ---- */

static void show_progress(void *arg, rs_time now, double share)
{
	char t[32];

	rs_progress_update(arg, share, "simulated %s", rs_human_time(t, sizeof(t), now));
}

static int write_out(const char *path, const struct rs_diagnosis *r,
		     int (*writer)(const struct rs_diagnosis *, FILE *), struct rs_error *e)
{
	struct rs_outfile f;
	int err = rs_outfile_open(&f, path, e);

	if (err)
		return err;
	err = writer(r, f.f);
	if (!err)
		return rs_outfile_commit(&f, e);
	rs_outfile_abort(&f);
	return rs_error_set(e, err, "%s: %s", path, strerror(-err));
}

static int report(const struct options *o, const struct rs_diagnosis *d)
{
	struct rs_error e = {0};

	for (uint32_t i = 0; i < d->n; i++)
		if (d->cases[i].error.code)
			return rs_cli_error(&d->cases[i].error);
	if (o->json && write_out(o->json, d, rs_sim_json, &e))
		return rs_cli_error(&e);
	if (o->html && write_out(o->html, d, rs_sim_page, &e))
		return rs_cli_error(&e);
	if (o->csv && write_out(o->csv, d, rs_sim_csv, &e))
		return rs_cli_error(&e);
	if (o->rates && write_out(o->rates, d, rs_sim_rates_csv, &e))
		return rs_cli_error(&e);
	if (o->series && write_out(o->series, d, rs_sim_series_csv, &e))
		return rs_cli_error(&e);
	if (o->perfetto && write_out(o->perfetto, d, rs_sim_perfetto, &e))
		return rs_cli_error(&e);
	if (o->timings && rs_sim_timings(d, o->timings, &e))
		return rs_cli_error(&e);
	if (!o->quiet && !outputs_on_stdout(o))
		rs_sim_print(d, stdout);
	return d->cases[0].result->complete ? RS_EXIT_OK : RS_EXIT_INCOMPLETE;
}

static int run_all(struct options *o, struct rs_fabric *f, struct rs_error *e)
{
	struct rs_progress *p = rs_progress_create(stderr, o->quiet);
	struct rs_diagnose_options how = {.file = o->file,
					  .set = o->sets.set,
					  .n_set = o->sets.n,
					  .threads = o->threads,
					  .seeds = o->seeds,
					  .base_only = o->no_diagnosis};
	struct rs_diagnosis *d;
	int status, err;

	o->sim.progress = show_progress;
	o->sim.progress_arg = p;
	how.sim = o->sim;
	err = rs_diagnose(f, &how, &d, e);
	rs_progress_destroy(p);
	status = err ? rs_cli_error(e) : report(o, d);
	rs_diagnosis_free(d);
	return status;
}

static int run_measured(const struct options *o, const struct rs_fabric *f, struct rs_error *e)
{
	struct rs_measured_options how = {.file = o->file,
					  .log = o->measured,
					  .set = o->sets.set,
					  .n_set = o->sets.n,
					  .sim = o->sim};

	return rs_sim_measured(&how, f, stdout, e) ? rs_cli_error(e) : RS_EXIT_OK;
}

/* Only the first of the processes that share a run says anything. */
static int quiet_process(struct options *o)
{
	o->quiet = true;
	o->json = o->csv = o->series = o->html = o->perfetto = NULL;
	return freopen("/dev/null", "w", stdout) ? 0 : -errno;
}

static int run_shared(struct options *o, struct rs_fabric *f, struct rs_error *e)
{
	struct rs_ranks ranks;
	int status;

	if (o->sim.pcap)
		return rs_cli_usage("sim", "--pcap needs a run in one process, not mpirun");
	if (rs_cli_ranks_start(&ranks, e))
		return rs_cli_error(e);
	o->sim.ranks = &ranks;
	o->threads = 1; /* runs one after another, in all processes in the same order */
	status = run_all(o, f, e);
	/* a process that failed leaves at once, so that mpirun ends the others */
	if (status == RS_EXIT_OK || status == RS_EXIT_INCOMPLETE)
		rs_cli_ranks_end();
	return status;
}

int rs_cmd_sim(int argc, char **argv)
{
	struct options o = {.sim = {.seed = 1, .stop = &stop}};
	struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
	struct rs_error e = {0};
	struct rs_fabric *f;
	uint32_t me;
	bool shared = rs_cli_ranks_wanted(&me);
	int status = parse(argc, argv, &o);

	if (status)
		return status;
	if (o.rates && shared)
		return rs_cli_usage("sim", "--rates-csv is for one process");
	if (o.measured && shared)
		return rs_cli_usage("sim", "--measured is for one process");
	if (o.rates && !o.sim.rate_interval)
		o.sim.rate_interval = 5 * RS_US;
	if (rs_fabric_load(o.file, o.sets.set, o.sets.n, &f, &e))
		return me ? RS_EXIT_INPUT : rs_cli_error(&e);
	if (!f->n_jobs) {
		rs_error_set(&e, -EINVAL, "%s: there is no workload to run", o.file);
		rs_error_hint(
			&e, f->assumed ? "it is a host's file: --set fabric.hosts.h.count=4 --set "
					 "'workload=[{collective: {bytes: 64MiB}}]'"
				       : "add workload: [{flows: FILE.csv}], a collective or a "
					 "train step");
		rs_fabric_free(f);
		return me ? RS_EXIT_INPUT : rs_cli_error(&e);
	}
	o.sim.observe = f->observe;
	o.sim.observe.on = o.observe || f->observe.on;
	if (me && quiet_process(&o)) {
		rs_fabric_free(f);
		return RS_EXIT_FAILED;
	}
	/* the first Ctrl-C ends the runs with what is known; the second ends the program */
	sigaction(SIGINT, &sa, NULL);
	status = o.measured ? run_measured(&o, f, &e)
		 : shared   ? run_shared(&o, f, &e)
			    : run_all(&o, f, &e);
	rs_fabric_free(f);
	return status;
}
