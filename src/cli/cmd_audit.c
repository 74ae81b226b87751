/* ripstop audit [PATH...]: read hosts and switches, judge them, print the exact fixes. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/price/cluster.h"
#include "audit/price/price.h"
#include "audit/read/profile.h"
#include "audit/read/read.h"
#include "audit/rules/run.h"
#include "audit/probe/collect.h"
#include "audit/probe/live.h"
#include "audit/rules/rule.h"
#include "cli/audit_report.h"
#include "cli/cli.h"
#include "report/report.h"

enum { LIST_MAX = 128 };

enum format { JSON, SARIF, JUNIT, PROMETHEUS, FIX_SCRIPT, FABRIC, FORMATS };

struct options {
	const char *file[FORMATS]; /* by enum format */
	const char *collect, *key, *profile;
	const char *only[LIST_MAX + 1], *skip[LIST_MAX + 1], *host[LIST_MAX], *since[LIST_MAX];
	unsigned n_only, n_skip, n_host, n_since;
	bool strict, allow_unknown, quiet, anonymise, show;
	enum rs_audit_pricing price;
	struct rs_audit_view view;
};

static int help(void)
{
	fputs("Usage: ripstop audit [OPTION...] [PATH...]\n\n"
	      "Read hosts and switches (files, directories, archives, in any mixture; without PATH "
	      "this\n"
	      "host), find what is wrong for RDMA, and print the exact fix. Nothing is changed.\n\n"
	      "  --host NAME=PATH    what PATH holds is of the host or switch NAME; repeatable\n"
	      "  --since PATH        an older snapshot of the same hosts: counters become rates\n"
	      "  --json FILE|-       everything as JSON\n"
	      "  --show              each host as a tree: links, NUMA nodes, distances of GPUs and "
	      "NICs\n"
	      "  --sarif FILE|-      findings as SARIF 2.1.0\n"
	      "  --junit FILE|-      findings as JUnit XML: FAIL of major or worse fails\n"
	      "  --prometheus FILE|- findings as Prometheus text, for a textfile collector\n"
	      "  --fix-script FILE|- the fixes as a script to be read first; nothing is executed\n"
	      "  --fabric FILE|-     the audited hosts as a description for ripstop sim\n"
	      "  --collect FILE      write a snapshot of this host (.tar.gz, .tar.xz, .zip, ...)\n"
	      "  --anonymise[=KEY]   in it mask addresses, GUIDs, serials, the host's name; hosts "
	      "that\n"
	      "                      were collected with the same KEY still match\n"
	      "  --check ID          this check only; repeatable\n"
	      "  --skip ID           not this check; repeatable\n"
	      "  --list              all checks\n"
	      "  --markdown          checks, causes and readers, as docs/audit.md has them\n"
	      "  --explain ID        what a check means, and its criterion\n"
	      "  --profile FILE      the site's own expectations and thresholds, what it accepts\n"
	      "  --price WHICH       what a FAIL costs, by simulation: fast (the default), full, "
	      "none\n"
	      "  --strict            a minor FAIL makes the exit status 1, too\n"
	      "  --allow-unknown     an UNKNOWN of a critical check leaves the exit status 0\n"
	      "  -v, --verbose       what passed, what could not be seen, every file\n"
	      "  --quiet             no text\n\n"
	      "Examples:\n"
	      "  ripstop audit snapshots/gpu01.tar.gz\n"
	      "  ripstop audit --host leaf1=config_db.json hosts/\n"
	      "  ripstop audit --collect gpu01.tar.gz\n\n"
	      "Exit status: 0 nothing worse than minor, 1 a FAIL of major or worse, 2 bad input,\n"
	      "3 no such FAIL, but a critical check could not be made, 4 not enough evidence: "
	      "nothing\n"
	      "could be judged, a text states a failure that no FAIL of major or worse "
	      "explains,\n"
	      "or lines of a pasted text were not understood.\n",
	      stdout);
	return RS_EXIT_OK;
}

static int explain(const char *id)
{
	struct rs_error e = {0};

	if (!rs_audit_explain(id, stdout))
		exit(RS_EXIT_OK);
	rs_error_set(&e, -ENOENT, "no check is called '%s'", id);
	rs_error_hint(&e, "ripstop audit --list names them");
	return rs_cli_error(&e);
}

static int pricing(const char *name, enum rs_audit_pricing *out)
{
	static const char *const names[] = {"none", "fast", "full"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			*out = (enum rs_audit_pricing)i;
			return 0;
		}
	return rs_cli_usage("audit", "--price takes fast, full or none, not '%s'", name);
}

static int parse(int argc, char **argv, struct options *o)
{
	enum {
		FIRST = 256, /* and the formats */
		LAST = FIRST + FORMATS,
		HOST,
		SINCE,
		CHECK,
		SKIP,
		LIST,
		EXPLAIN,
		STRICT,
		ALLOW,
		QUIET,
		COLLECT,
		ANONYMISE,
		SHOW,
		PROFILE,
		PRICE,
		MARKDOWN,
	};
	static const struct option table[] = {
		{"json", required_argument, NULL, FIRST + JSON},
		{"sarif", required_argument, NULL, FIRST + SARIF},
		{"junit", required_argument, NULL, FIRST + JUNIT},
		{"prometheus", required_argument, NULL, FIRST + PROMETHEUS},
		{"fix-script", required_argument, NULL, FIRST + FIX_SCRIPT},
		{"fabric", required_argument, NULL, FIRST + FABRIC},
		{"host", required_argument, NULL, HOST},
		{"since", required_argument, NULL, SINCE},
		{"check", required_argument, NULL, CHECK},
		{"skip", required_argument, NULL, SKIP},
		{"list", no_argument, NULL, LIST},
		{"markdown", no_argument, NULL, MARKDOWN},
		{"explain", required_argument, NULL, EXPLAIN},
		{"strict", no_argument, NULL, STRICT},
		{"allow-unknown", no_argument, NULL, ALLOW},
		{"profile", required_argument, NULL, PROFILE},
		{"price", required_argument, NULL, PRICE},
		{"show", no_argument, NULL, SHOW},
		{"collect", required_argument, NULL, COLLECT},
		{"anonymise", optional_argument, NULL, ANONYMISE},
		{"anonymize", optional_argument, NULL, ANONYMISE},
		{"verbose", no_argument, NULL, 'v'},
		{"quiet", no_argument, NULL, QUIET},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, err = 0;

	optind = 1;
	while (!err && (c = getopt_long(argc, argv, "hqv", table, NULL)) != -1) {
		if (c >= FIRST && c < LAST) {
			o->file[c - FIRST] = optarg;
			if (c - FIRST == JSON || c - FIRST == SARIF)
				err = rs_cli_json_output(
					"audit", c - FIRST == JSON ? "--json" : "--sarif", optarg);
			continue;
		}
		switch (c) {
		case HOST:
			if (!strchr(optarg, '=') || *optarg == '=')
				return rs_cli_usage("audit", "--host takes NAME=PATH, not '%s'",
						    optarg);
			err = rs_cli_append("audit", "--host", o->host, &o->n_host, LIST_MAX,
					    optarg);
			break;
		case SINCE:
			err = rs_cli_append("audit", "--since", o->since, &o->n_since, LIST_MAX,
					    optarg);
			break;
		case CHECK:
			err = rs_cli_append("audit", "--check", o->only, &o->n_only, LIST_MAX,
					    optarg);
			break;
		case SKIP:
			err = rs_cli_append("audit", "--skip", o->skip, &o->n_skip, LIST_MAX,
					    optarg);
			break;
		case LIST:
			rs_audit_list(stdout);
			exit(RS_EXIT_OK);
		case MARKDOWN:
			rs_audit_markdown(stdout);
			exit(RS_EXIT_OK);
		case EXPLAIN:
			return explain(optarg);
		case STRICT:
			o->strict = true;
			break;
		case ALLOW:
			o->allow_unknown = true;
			break;
		case PROFILE:
			o->profile = optarg;
			break;
		case PRICE:
			err = pricing(optarg, &o->price);
			break;
		case SHOW:
			o->show = true;
			break;
		case COLLECT:
			o->collect = optarg;
			break;
		case ANONYMISE:
			o->anonymise = true;
			o->key = optarg;
			break;
		case 'v':
			o->view.verbose = true;
			break;
		case 'q':
		case QUIET:
			o->quiet = true;
			break;
		case 'h':
			help();
			exit(RS_EXIT_OK);
		default:
			return rs_cli_try("audit");
		}
	}
	return err;
}

static int read_named(struct rs_audit *a, const char *named, struct rs_error *e)
{
	const char *eq = strchr(named, '=');
	char name[256];

	if ((size_t)(eq - named) >= sizeof(name))
		return rs_error_set(e, -EINVAL, "--host: the name is longer than 255 bytes");
	memcpy(name, named, (size_t)(eq - named));
	name[eq - named] = '\0';
	return rs_audit_read(a, eq + 1, name, 0, e);
}

static int read_all(struct rs_audit *a, const struct options *o, char **path, int n,
		    struct rs_error *e)
{
	int err = 0;

	for (unsigned i = 0; i < o->n_host && !err; i++)
		err = read_named(a, o->host[i], e);
	for (int i = 0; i < n && !err; i++)
		err = rs_audit_read(a, path[i], NULL, 0, e);
	for (unsigned i = 0; i < o->n_since && !err; i++)
		err = rs_audit_read(a, o->since[i], NULL, 1, e);
	if (!err && !n && !o->n_host) {
		err = rs_audit_read_live(a, e);
		err = err ? err : rs_audit_read_devices(a, e);
	}
	return err;
}

/* What a host sends itself never leaves it, and says nothing of NICs and network: alone it gets a
 * twin. Said in the description, and where it is written. */
static bool add_twin(struct rs_cluster *c)
{
	if (c->n != 1)
		return false;
	c->host[c->n++] = c->host[0];
	return true;
}

static int write_fabric(struct rs_audit *a, const struct options *o, FILE *f, struct rs_error *e)
{
	struct rs_cluster c;
	int err = rs_audit_cluster(a, NULL, RS_CLUSTER_HOSTS, &c, e);

	if (err)
		return err;
	fputs("# audited hosts, by ripstop audit --fabric; the network between them was not "
	      "audited\n",
	      f);
	if (c.rate_assumed)
		fputs("# no port's rate is known: 400 Gb/s is assumed\n", f);
	if (c.n == RS_CLUSTER_HOSTS && rs_facts_hosts(a->facts) > c.n)
		fprintf(f, "# the first %d of the audited hosts\n", RS_CLUSTER_HOSTS);
	if (add_twin(&c)) {
		fprintf(f,
			"# one host was audited, %s: the second is its twin, behind the same "
			"switches\n",
			c.host[0].name);
		if (!o->quiet)
			fprintf(stderr,
				"ripstop audit: %s: one host was audited, %s: a twin of it was "
				"added, for traffic that leaves the host\n",
				o->file[FABRIC], c.host[0].name);
	}
	return rs_cluster_write(&c, f);
}

static int write_format(struct rs_audit *a, const struct options *o, enum format what, FILE *f,
			struct rs_error *e)
{
	switch (what) {
	case JSON:
		return rs_audit_json(a, f);
	case SARIF:
		return rs_audit_sarif(a, f);
	case JUNIT:
		return rs_audit_junit(a, o->strict, f);
	case PROMETHEUS:
		return rs_audit_prometheus(a, f);
	case FIX_SCRIPT:
		return rs_audit_fix_script(a, f);
	default:
		return write_fabric(a, o, f, e);
	}
}

static int write_files(struct rs_audit *a, const struct options *o, struct rs_error *e)
{
	for (int i = 0; i < FORMATS; i++) {
		struct rs_outfile f;
		int err;

		if (!o->file[i])
			continue;
		err = rs_outfile_open(&f, o->file[i], e);
		if (err)
			return err;
		err = write_format(a, o, (enum format)i, f.f, e);
		if (err) {
			rs_outfile_abort(&f);
			return rs_error_set(e, err, "%s: %s", o->file[i], strerror(-err));
		}
		err = rs_outfile_commit(&f, e);
		if (err)
			return err;
	}
	return 0;
}

/* Is a file asked for that tells findings? A description, and the trees of --show, need facts
 * alone. */
static bool wants_findings(const struct options *o)
{
	bool any = false;

	for (int i = 0; i < FORMATS; i++)
		any |= o->file[i] && i != FABRIC;
	return any || !o->show;
}

/* Standard output takes one thing. */
static unsigned to_stdout(const struct options *o)
{
	unsigned n = o->show;

	for (int i = 0; i < FORMATS; i++)
		n += o->file[i] && !strcmp(o->file[i], "-");
	return n;
}

static bool any_file(const struct options *o)
{
	bool any = false;

	for (int i = 0; i < FORMATS; i++)
		any |= o->file[i] != NULL;
	return any;
}

static int collect(const struct options *o, int n)
{
	struct rs_collected count;
	struct rs_error e = {0};

	if (n || o->n_host || o->n_since || o->n_only || o->n_skip || o->show || any_file(o))
		return rs_cli_usage("audit", "--collect writes a snapshot of this host and does "
					     "nothing else");
	if (rs_audit_collect(o->collect, o->anonymise, o->key, &count, &e))
		return rs_cli_error(&e);
	if (!o->quiet)
		printf("%s: %u files of %s, %.1f KiB\n", o->collect, count.files, count.host,
		       (double)count.bytes / 1024);
	return RS_EXIT_OK;
}

static int judge(struct rs_audit *a, const struct options *o, struct rs_error *e)
{
	int err;

	if (!wants_findings(o)) {
		rs_facts_seal(a->facts);
		return 0;
	}
	err = rs_audit_run(a, o->n_only ? o->only : NULL, o->n_skip ? o->skip : NULL, e);
	return err ? err : rs_audit_price(a, o->price, e);
}

int rs_cmd_audit(int argc, char **argv)
{
	struct options o = {.price = RS_PRICE_FAST,
			    .view.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR")};
	struct rs_error e = {0};
	struct rs_audit *a;
	int status = parse(argc, argv, &o), err;

	if (status)
		return status;
	if (o.anonymise && !o.collect)
		return rs_cli_usage("audit", "--anonymise goes with --collect");
	if (to_stdout(&o) > 1)
		return rs_cli_usage("audit", "one format at a time on standard output%s",
				    o.show ? ", where --show goes" : "");
	if (o.collect)
		return collect(&o, argc - optind);
	if (rs_audit_create(&a)) {
		rs_error_set(&e, -ENOMEM, "out of memory");
		return rs_cli_error(&e);
	}
	err = o.profile ? rs_audit_profile(a, o.profile, rs_rule_known, &e) : 0;
	if (!err)
		err = read_all(a, &o, argv + optind, argc - optind, &e);
	if (!err)
		err = judge(a, &o, &e);
	if (!err)
		err = write_files(a, &o, &e);
	if (!err && o.show)
		err = rs_audit_show(a, stdout, &e);
	else if (!err && !o.quiet && !to_stdout(&o))
		rs_audit_print(a, &o.view, stdout);
	status = err                  ? rs_cli_error(&e)
		 : wants_findings(&o) ? rs_audit_status(a, o.strict, o.allow_unknown)
				      : RS_EXIT_OK;
	rs_audit_destroy(a);
	return status;
}
