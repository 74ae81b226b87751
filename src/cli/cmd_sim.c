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
#include "cli/sim_report.h"
#include "report/report.h"

enum { SETS_MAX = 256, CASES_MAX = 256, PROPOSALS_MAX = 16 };

struct options {
	const char *file, *json, *csv, *rates;
	struct rs_sim_options sim;
	struct rs_setting set[SETS_MAX];
	uint32_t n_set;
	unsigned threads;
	bool quiet, no_diagnosis;
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
	      "  --flows-csv FILE|-  each flow's start and finish\n"
	      "  --rates-csv FILE|-  each flow's rate over time, as congestion control sets it\n"
	      "  --rate-interval T   between two of those (default 5us)\n"
	      "  --pcap FILE         pcapng of links, as Wireshark opens it\n"
	      "  --pcap-links LIST   their ends: names as in `ripstop fabric show`, or all;\n"
	      "                      default: the first NIC's link\n"
	      "  --seed N            another draw of ports, marks and losses (default 1)\n"
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

static int add_setting(struct options *o, char *text)
{
	char *eq = strchr(text, '=');

	if (!eq || eq == text)
		return rs_cli_usage("sim", "--set takes PATH=VALUE, not '%s'", text);
	if (o->n_set == SETS_MAX)
		return rs_cli_usage("sim", "at most %d --set", SETS_MAX);
	*eq = '\0';
	o->set[o->n_set++] = (struct rs_setting){text, eq + 1, {"--set", 0, 0}};
	return 0;
}

static int number(const char *option, const char *text, int64_t max, int64_t *out)
{
	struct rs_error e = {0};

	if (!rs_parse_int(text, 0, max, out, &e))
		return 0;
	return rs_cli_usage("sim", "%s takes a number, 0 to %lld, not '%s'", option, (long long)max,
			    text);
}

static int parse(int argc, char **argv, struct options *o)
{
	enum { RATES = 300, RATE_INTERVAL };
	enum { JSON = 256, CSV, PCAP, LINKS, SEED, SET, THREADS, MAX_TIME, NO_DIAGNOSIS, QUIET };
	static const struct option table[] = {
		{"json", required_argument, NULL, JSON},
		{"flows-csv", required_argument, NULL, CSV},
		{"rates-csv", required_argument, NULL, RATES},
		{"rate-interval", required_argument, NULL, RATE_INTERVAL},
		{"pcap", required_argument, NULL, PCAP},
		{"pcap-links", required_argument, NULL, LINKS},
		{"seed", required_argument, NULL, SEED},
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
		case PCAP:
			o->sim.pcap = optarg;
			break;
		case LINKS:
			o->sim.pcap_links = optarg;
			break;
		case SEED:
			err = number("--seed", optarg, INT64_MAX, &n);
			o->sim.seed = err ? 0 : (uint64_t)n;
			break;
		case SET:
			err = add_setting(o, optarg);
			break;
		case THREADS:
			err = number("--threads", optarg, 64, &n);
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
			return rs_cli_usage("sim", "see the options");
		}
	}
	if (err)
		return err;
	if (optind + 1 != argc)
		return rs_cli_usage("sim", optind == argc ? "which FILE?" : "one FILE at a time");
	o->file = argv[optind];
	return 0;
}

/* ---- The runs ---- */

static void add_case(struct rs_sim_report *r, const struct options *o, struct rs_fabric *f,
		     enum rs_case_kind kind, const char *name, const char *how,
		     struct rs_sim_ideal ideal, bool owns)
{
	struct rs_sim_case *c = &r->cases[r->n];

	*c = (struct rs_sim_case){.name = name, .fabric = f, .options = o->sim};
	c->options.ideal = ideal;
	if (r->n) {
		c->options.pcap = NULL;
		c->options.rate_interval = 0;
		c->options.progress = NULL;
	}
	r->info[r->n++] = (struct rs_case_info){kind, name, how, owns, f};
}

static bool any_inside(const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].inside)
			return true;
	return false;
}

static bool any_loss(const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_links; i++)
		if (f->links[i].loss > 0)
			return true;
	return false;
}

static void add_counterfactuals(struct rs_sim_report *r, const struct options *o,
				struct rs_fabric *f)
{
	struct rs_sim_ideal all = {
		.network = true, .no_pause = true, .no_loss = true, .no_cc = true};

	if (any_inside(f))
		add_case(r, o, f, RS_CASE_COUNTERFACTUAL, "inside the hosts",
			 "NICs reach memory at once, GPUs each other too",
			 (struct rs_sim_ideal){.host = true}, false);
	all.host = any_inside(f);
	if (f->n_endpoints <= 1024 && f->n_switches > 1)
		add_case(r, o, f, RS_CASE_COUNTERFACTUAL, "the network's paths",
			 "one switch without contention inside",
			 (struct rs_sim_ideal){.network = true}, false);
	if (f->n_switches > 1)
		add_case(r, o, f, RS_CASE_COUNTERFACTUAL, "placement on paths (ECMP collisions)",
			 "flows are dealt over the equal-cost paths by destination",
			 (struct rs_sim_ideal){.placed = true}, false);
	add_case(r, o, f, RS_CASE_COUNTERFACTUAL, "pauses (PFC)", "no PFC, buffers without end",
		 (struct rs_sim_ideal){.no_pause = true}, false);
	if (any_loss(f))
		add_case(r, o, f, RS_CASE_COUNTERFACTUAL, "loss on links", "links lose nothing",
			 (struct rs_sim_ideal){.no_loss = true}, false);
	add_case(r, o, f, RS_CASE_COUNTERFACTUAL, "congestion control's cuts",
		 "senders stay at line rate", (struct rs_sim_ideal){.no_cc = true}, false);
	if (f->n_endpoints <= 1024)
		add_case(r, o, f, RS_CASE_IDEAL, "everything ideal", "all of these together", all,
			 false);
}

static int add_whatifs(struct rs_sim_report *r, const struct options *o, const struct rs_fabric *f,
		       struct rs_error *e)
{
	struct rs_setting set[2 * SETS_MAX];

	for (uint32_t i = 0; i < f->n_whatifs && r->n < CASES_MAX; i++) {
		const struct rs_whatif *w = &f->whatifs[i];
		struct rs_fabric *g;
		uint32_t n = o->n_set;

		memcpy(set, o->set, n * sizeof(*set));
		for (uint32_t k = 0; k < w->n && n < 2 * SETS_MAX; k++)
			set[n++] = w->set[k];
		if (rs_fabric_load(o->file, set, n, &g, e))
			return e->code;
		add_case(r, o, g, RS_CASE_FIX, w->name, NULL, (struct rs_sim_ideal){0}, true);
	}
	return 0;
}

/* Those that cannot be had here are left out: nobody asked for them. */
static int add_proposals(struct rs_sim_report *r, const struct options *o,
			 const struct rs_fabric *f, struct rs_error *e)
{
	struct rs_setting set[SETS_MAX + 1], tried[PROPOSALS_MAX];
	const char *name[PROPOSALS_MAX];
	uint32_t n = rs_propose(f, tried, name, PROPOSALS_MAX);

	memcpy(set, o->set, o->n_set * sizeof(*set));
	for (uint32_t i = 0; i < n && r->n < CASES_MAX; i++) {
		struct rs_error refused = {0};
		struct rs_fabric *g;
		const char *own;

		set[o->n_set] = tried[i];
		if (rs_fabric_load(o->file, set, o->n_set + 1, &g, &refused)) {
			if (refused.code == -ENOMEM)
				return rs_error_set(e, -ENOMEM, "out of memory");
			continue;
		}
		if (!rs_proposal_changes(f, g, &tried[i])) {
			rs_fabric_free(g);
			continue;
		}
		own = rs_arena_printf(f->arena, "%s (proposed)", name[i]);
		add_case(r, o, g, RS_CASE_FIX, own ? own : name[i], NULL, (struct rs_sim_ideal){0},
			 true);
	}
	return 0;
}

static void show_progress(void *arg, rs_time now, double share)
{
	char t[32];

	rs_progress_update(arg, share, "simulated %s", rs_human_time(t, sizeof(t), now));
}

static int write_out(const char *path, const struct rs_sim_report *r,
		     int (*writer)(const struct rs_sim_report *, FILE *), struct rs_error *e)
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

static int report(const struct options *o, struct rs_sim_report *r)
{
	struct rs_error e = {0};
	const struct rs_sim_result *base = r->cases[0].result;

	for (uint32_t i = 0; i < r->n; i++)
		if (r->cases[i].error.code)
			return rs_cli_error(&r->cases[i].error);
	if (o->json && write_out(o->json, r, rs_sim_json, &e))
		return rs_cli_error(&e);
	if (o->csv && write_out(o->csv, r, rs_sim_csv, &e))
		return rs_cli_error(&e);
	if (o->rates && write_out(o->rates, r, rs_sim_rates_csv, &e))
		return rs_cli_error(&e);
	if (!o->quiet && !(o->json && !strcmp(o->json, "-")) && !(o->csv && !strcmp(o->csv, "-")) &&
	    !(o->rates && !strcmp(o->rates, "-")))
		rs_sim_print(r, stdout);
	return base->complete ? RS_EXIT_OK : RS_EXIT_INCOMPLETE;
}

static double now_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_all(struct options *o, struct rs_fabric *f, struct rs_error *e)
{
	struct rs_sim_report r = {.scenario = o->file, .seed = o->sim.seed};
	struct rs_progress *p = rs_progress_create(stderr, o->quiet);
	double wall = now_s(CLOCK_MONOTONIC), cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
	int status = RS_EXIT_FAILED, err = 0;

	r.cases = calloc(CASES_MAX + 8, sizeof(*r.cases));
	r.info = calloc(CASES_MAX + 8, sizeof(*r.info));
	if (!r.cases || !r.info) {
		err = rs_error_set(e, -ENOMEM, "out of memory");
	} else {
		o->sim.progress = show_progress;
		o->sim.progress_arg = p;
		add_case(&r, o, f, RS_CASE_BASE, "as described", NULL, (struct rs_sim_ideal){0},
			 false);
		if (!o->no_diagnosis) {
			add_counterfactuals(&r, o, f);
			err = add_whatifs(&r, o, f, e);
			err = err ? err : add_proposals(&r, o, f, e);
		}
	}
	if (!err) {
		r.threads = rs_sim_run_all(r.cases, r.n, o->threads);
		r.wall_s = now_s(CLOCK_MONOTONIC) - wall;
		r.cpu_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	}
	rs_progress_destroy(p);
	status = err ? rs_cli_error(e) : report(o, &r);
	for (uint32_t i = 0; i < r.n; i++) {
		rs_sim_result_free(r.cases[i].result);
		if (r.info[i].owns_fabric)
			rs_fabric_free(r.info[i].fabric);
	}
	free(r.cases);
	free(r.info);
	return status;
}

/* Only the first of the processes that share a run says anything. */
static int quiet_process(struct options *o)
{
	o->quiet = true;
	o->json = o->csv = NULL;
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
	if (o.rates && !o.sim.rate_interval)
		o.sim.rate_interval = 5 * RS_US;
	if (rs_fabric_load(o.file, o.set, o.n_set, &f, &e))
		return me ? RS_EXIT_INPUT : rs_cli_error(&e);
	if (!f->n_jobs) {
		rs_error_set(&e, -EINVAL, "%s: there is no workload to run", o.file);
		rs_error_hint(&e,
			      "add workload: [{flows: FILE.csv}], a collective or a train step");
		rs_fabric_free(f);
		return me ? RS_EXIT_INPUT : rs_cli_error(&e);
	}
	if (me && quiet_process(&o)) {
		rs_fabric_free(f);
		return RS_EXIT_FAILED;
	}
	/* the first Ctrl-C ends the runs with what is known; the second ends the program */
	sigaction(SIGINT, &sa, NULL);
	status = shared ? run_shared(&o, f, &e) : run_all(&o, f, &e);
	rs_fabric_free(f);
	return status;
}
