/* ripstop expect [PATH...]: what perftest and nccl-tests should reach on hosts that were read. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/probe/collect.h"
#include "audit/probe/live.h"
#include "audit/read/read.h"
#include "base/load.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/expect_report.h"
#include "collective/collective.h"
#include "report/report.h"

enum { GIVEN_MAX = 32, HOST_MAX = 128, LOGS_MAX = 32, LOG_BYTES_MAX = 64 << 20, NOT_ENOUGH = 4 };

struct options {
	struct rs_expect_options o;
	const char *given[GIVEN_MAX], *host[HOST_MAX], *json;
	uint32_t n_host, n_log;
	const char *log[LOGS_MAX], *leaf[HOST_MAX];
	uint32_t n_leaf;
	bool pairs, latency, quiet;
	struct rs_progress *progress;
};

static int help(void)
{
	fputs("Usage: ripstop expect [OPTION...] [PATH...]\n\n"
	      "What perftest and nccl-tests should reach on hosts that were read (snapshots, "
	      "directories,\n"
	      "logs, pasted texts: whatever ripstop audit takes; without PATH this host). Each "
	      "figure is\n"
	      "simulated, with a range over what was not read, and with the part that holds it "
	      "back.\n\n"
	      "  --test WHICH        perftest or nccl; both by default\n"
	      "  --sizes LIST        sizes, as 4KiB,1MiB,1GiB\n"
	      "  --collective LIST   all-reduce (the default), all-gather, reduce-scatter, "
	      "broadcast,\n"
	      "                      all-to-all, send-recv; or all\n"
	      "  --hosts N           hosts of the larger collectives, 1 to 64; 2 where fewer were "
	      "read.\n"
	      "                      Hosts that were not read are copies of the first\n"
	      "  --nic A[,B]         NICs of perftest, by name: of both hosts, or of either\n"
	      "  --given KEY=VALUE   what is known and was not read; repeatable. Keys: rate "
	      "(Gb/s), nic\n"
	      "                      (ConnectX-7), gpu (H100), mtu, layer (InfiniBand, Ethernet), "
	      "delay\n"
	      "                      (ns of a cable), switch (ns; 0: none), nvlink (GB/s of a "
	      "GPU),\n"
	      "                      version (of NCCL)\n"
	      "  --host NAME=PATH    what PATH holds is of the host NAME; repeatable\n"
	      "  --measured FILE     a table of perftest or nccl-tests beside what is expected: "
	      "where it\n"
	      "                      is worse, and which fault or unknown would give that curve; "
	      "repeatable\n"
	      "  --pairs             PATHs are what pairs of hosts reached: a table with names, "
	      "lines of\n"
	      "                      'A B value', JSON, or logs of perftest or nccl-tests named by "
	      "their\n"
	      "                      pair (h1_to_h2.log; a directory of them): what explains the "
	      "slow ones\n"
	      "  --leaf NAME=H,H,... with --pairs: hosts behind one switch; repeatable\n"
	      "  --latency           with --pairs: less is better\n"
	      "  --json FILE|-       everything as JSON\n"
	      "  --threads N         at most so many at a time; one a core by default\n"
	      "  --quiet             no text, no progress\n\n"
	      "Examples:\n"
	      "  ripstop expect gpu01.tar.gz gpu02.tar.gz\n"
	      "  ripstop expect --test perftest --given rate=400 ibstat.txt\n"
	      "  ripstop expect --collective all --hosts 4 topo.xml\n"
	      "  ripstop expect --measured ib_write_bw.log gpu01.tar.gz\n"
	      "  ripstop expect --pairs --leaf leaf1=h1,h2 --leaf leaf2=h3,h4 matrix.csv\n\n"
	      "Exit status: 0 done, 1 a measured figure is worse than its range, doubtful or 0, or "
	      "a pair slow\n"
	      "or failed, 2 bad input, 3 out of memory, 4 not enough is known (the command to run "
	      "next is\n"
	      "printed).\n",
	      stdout);
	return RS_EXIT_OK;
}

/* ---- Options ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int sizes(struct options *o, char *list)
{
	char *save = NULL;

	for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		struct rs_error e = {0};
		uint64_t bytes;

		if (o->o.n_sizes == RS_EXPECT_SIZES)
			return rs_cli_usage("expect", "--sizes: at most %d", RS_EXPECT_SIZES);
		if (rs_parse_bytes(s, &bytes, &e) || bytes < 1 || bytes > UINT64_C(1) << 36)
			return rs_cli_usage("expect",
					    "--sizes: expected sizes such as 4KiB,1MiB (1 B to 64 "
					    "GiB), found '%s'",
					    s);
		o->o.size[o->o.n_sizes++] = bytes;
	}
	qsort(o->o.size, o->o.n_sizes, sizeof(*o->o.size), by_size);
	for (uint32_t i = 1; i < o->o.n_sizes; i++)
		if (o->o.size[i] == o->o.size[i - 1])
			return rs_cli_usage("expect", "--sizes: a size twice");
	return o->o.n_sizes ? 0 : rs_cli_usage("expect", "--sizes: no size in it");
}

static int collectives(struct options *o, char *list)
{
	static const struct {
		const char *name;
		enum rs_coll_op op;
	} ops[] = {{"all-reduce", RS_COLL_ALL_REDUCE},         {"all-gather", RS_COLL_ALL_GATHER},
		   {"reduce-scatter", RS_COLL_REDUCE_SCATTER}, {"broadcast", RS_COLL_BROADCAST},
		   {"all-to-all", RS_COLL_ALL_TO_ALL},         {"send-recv", RS_COLL_SEND_RECV}};
	enum { N = sizeof(ops) / sizeof(*ops) };
	char *save = NULL;

	o->o.n_ops = 0;
	for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		bool all = !strcmp(s, "all"), known = false;

		for (int i = 0; i < N; i++) {
			if ((!all && strcmp(s, ops[i].name)) || o->o.n_ops == RS_EXPECT_OPS)
				continue;
			known = true;
			o->o.op[o->o.n_ops++] = ops[i].op;
		}
		if (!known)
			return rs_cli_usage("expect",
					    "--collective takes all-reduce, all-gather, "
					    "reduce-scatter, broadcast, all-to-all, send-recv or "
					    "all, not '%s'",
					    s);
	}
	return 0;
}

static int test(struct options *o, const char *name)
{
	o->o.perftest = !strcmp(name, "perftest");
	o->o.nccl = !strcmp(name, "nccl");
	return o->o.perftest || o->o.nccl
		       ? 0
		       : rs_cli_usage("expect", "--test takes perftest or nccl, not '%s'", name);
}

static int one(struct options *o, int c, char *arg)
{
	enum {
		TEST = 256,
		SIZES,
		COLLECTIVE,
		HOSTS,
		NIC,
		GIVEN,
		HOST,
		JSON,
		THREADS,
		MEASURED,
		PAIRS,
		LEAF,
		LATENCY
	};
	int64_t v = 0;
	int err = 0;

	switch (c) {
	case TEST:
		return test(o, arg);
	case SIZES:
		return sizes(o, arg);
	case COLLECTIVE:
		return collectives(o, arg);
	case HOSTS:
		err = rs_cli_number("expect", "--hosts", arg, 1, RS_EXPECT_HOSTS_MAX, &v);
		o->o.hosts = (uint32_t)v;
		return err;
	case NIC:
		o->o.nic = arg;
		return 0;
	case GIVEN:
		return rs_cli_append("expect", "--given", o->given, &o->o.n_given, GIVEN_MAX, arg);
	case HOST:
		if (!strchr(arg, '=') || *arg == '=')
			return rs_cli_usage("expect", "--host takes NAME=PATH, not '%s'", arg);
		return rs_cli_append("expect", "--host", o->host, &o->n_host, HOST_MAX, arg);
	case JSON:
		o->json = arg;
		return rs_cli_json_output("expect", "--json", arg);
	case THREADS:
		err = rs_cli_number("expect", "--threads", arg, 1, 64, &v);
		o->o.threads = (unsigned)v;
		return err;
	case MEASURED:
		return rs_cli_append("expect", "--measured", o->log, &o->n_log, LOGS_MAX, arg);
	case PAIRS:
		o->pairs = true;
		return 0;
	case LATENCY:
		o->latency = true;
		return 0;
	case LEAF:
		return rs_cli_append("expect", "--leaf", o->leaf, &o->n_leaf, HOST_MAX, arg);
	case 'q':
		o->quiet = true;
		return 0;
	case 'h':
		help();
		exit(RS_EXIT_OK);
	default:
		return rs_cli_try("expect");
	}
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{"test", required_argument, NULL, 256},
		{"sizes", required_argument, NULL, 257},
		{"collective", required_argument, NULL, 258},
		{"hosts", required_argument, NULL, 259},
		{"nic", required_argument, NULL, 260},
		{"given", required_argument, NULL, 261},
		{"host", required_argument, NULL, 262},
		{"json", required_argument, NULL, 263},
		{"threads", required_argument, NULL, 264},
		{"measured", required_argument, NULL, 265},
		{"pairs", no_argument, NULL, 266},
		{"leaf", required_argument, NULL, 267},
		{"latency", no_argument, NULL, 268},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, err = 0;

	optind = 1;
	while (!err && (c = getopt_long(argc, argv, "hq", table, NULL)) != -1)
		err = one(o, c, optarg);
	o->o.given = o->given;
	return err;
}

/* ---- Reading ---- */

static int read_named(struct rs_audit *a, const char *named, struct rs_error *e)
{
	const char *eq = strchr(named, '=');
	char name[256];

	if ((size_t)(eq - named) >= sizeof(name))
		return rs_error_set(e, -EINVAL, "--host: the name is longer than 255 bytes");
	snprintf(name, sizeof(name), "%.*s", (int)(eq - named), named);
	return rs_audit_read(a, eq + 1, name, 0, e);
}

static int read_all(struct rs_audit *a, const struct options *o, char **path, int n,
		    struct rs_error *e)
{
	int err = 0;

	for (uint32_t i = 0; i < o->n_host && !err; i++)
		err = read_named(a, o->host[i], e);
	for (int i = 0; i < n && !err; i++)
		err = rs_audit_read(a, path[i], NULL, 0, e);
	return err || n || o->n_host ? err : rs_audit_read_live(a, e);
}

/* ---- What was measured ---- */

static int read_log(const char *path, const struct options *o, struct rs_arena *a,
		    struct rs_measured **out, struct rs_error *e)
{
	struct rs_load l = {.arena = a, .e = e, .name = path};
	size_t n = 0;
	char *text = rs_load_file(&l, path, LOG_BYTES_MAX, (struct rs_where){0}, &n);
	const char *op = o->o.n_ops == 1 ? rs_coll_op_name(o->o.op[0]) : NULL;
	int err = text ? rs_measured_read(text, n, path, op, a, out, e) : l.err;

	free(text);
	return err;
}

/* Every rate is 0: no bad input, but a run that failed. */
static int failed_run(struct rs_expect *x, const char *file, struct rs_expect_measured **out,
		      struct rs_error *e)
{
	*out = rs_arena_alloc(x->arena, 1, sizeof(**out));
	if (!*out)
		return rs_error_set(e, -ENOMEM, "out of memory");
	(*out)->file = file;
	(*out)->zero = 1;
	(*out)->why_not = rs_arena_strdup(x->arena, e->what);
	*e = (struct rs_error){0};
	return (*out)->why_not ? 0 : rs_error_set(e, -ENOMEM, "out of memory");
}

static int compare(struct rs_expect *x, const struct options *o, struct rs_expect_measured **m,
		   struct rs_error *e)
{
	int err = 0;

	for (uint32_t i = 0; i < o->n_log && !err; i++) {
		struct rs_measured *table = NULL;
		struct rs_audit *log = NULL;

		err = read_log(o->log[i], o, x->arena, &table, e);
		if (err == -ENXIO) {
			err = failed_run(x, o->log[i], &m[i], e);
			continue;
		}
		if (!err && rs_audit_create(&log))
			err = rs_error_set(e, -ENOMEM, "out of memory");
		if (!err)
			err = rs_audit_read(log, o->log[i], NULL, 0, e);
		if (!err)
			err = rs_expect_compare(x, &o->o, table, log, o->log[i], &m[i], e);
		if (log)
			rs_audit_destroy(log);
	}
	return err;
}

static int status_of(const struct rs_expect *x, struct rs_expect_measured *const *m, uint32_t n)
{
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		if (m[i]->below || m[i]->zero || m[i]->doubtful)
			return RS_EXIT_INCOMPLETE;
		any |= !m[i]->why_not;
	}
	return any || x->n_figures ? RS_EXIT_OK : NOT_ENOUGH;
}

/* ---- All of it ---- */

static void progress(void *arg, double share)
{
	rs_progress_update(arg, share, "simulating");
}

static int write_json(const struct options *o, const struct rs_expect *x,
		      struct rs_expect_measured *const *m, struct rs_error *e)
{
	struct rs_outfile f;
	int err = rs_outfile_open(&f, o->json, e);

	if (err)
		return err;
	err = rs_expect_json(x, m, o->n_log, f.f);
	if (err) {
		rs_outfile_abort(&f);
		return rs_error_set(e, err, "%s: %s", o->json, strerror(-err));
	}
	return rs_outfile_commit(&f, e);
}

static int expect(struct rs_audit *a, struct options *o, struct rs_error *e)
{
	struct rs_expect_measured *m[LOGS_MAX] = {NULL};
	struct rs_expect *x = NULL;
	int status = RS_EXIT_OK, err;

	o->progress = rs_progress_create(stderr, o->quiet);
	o->o.progress = progress;
	o->o.arg = o->progress;
	o->o.no_figures = o->n_log > 0;
	err = rs_expect(a, &o->o, &x, e);
	if (!err)
		err = compare(x, o, m, e);
	rs_progress_destroy(o->progress);
	if (!err && o->json)
		err = write_json(o, x, m, e);
	if (!err && !o->quiet && !rs_cli_is_stdout(o->json)) {
		rs_expect_print(x, o->n_log > 0, stdout);
		for (uint32_t i = 0; i < o->n_log; i++)
			rs_expect_print_measured(m[i], stdout);
	}
	status = err ? rs_cli_error(e) : status_of(x, m, o->n_log);
	rs_expect_destroy(x);
	return status;
}

/* ---- A matrix of pairs ---- */

static int read_pairs(const char *path, struct rs_arena *a, struct rs_pairs **p,
		      struct rs_error *e);

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a directory, in the order of their names. */
static int read_directory(const char *path, struct rs_arena *a, struct rs_pairs **p,
			  struct rs_error *e)
{
	enum { FILES_MAX = 1 << 17 };
	char **name = NULL;
	size_t n = 0, room = 0;
	struct dirent *d;
	DIR *dir = opendir(path);
	int err = dir ? 0 : rs_error_set(e, -errno, "%s: %s", path, strerror(errno));

	while (!err && (d = readdir(dir))) {
		if (*d->d_name == '.' || n == FILES_MAX)
			continue;
		if (n == room) {
			char **more = realloc(name, (room = room ? 2 * room : 64) * sizeof(*name));

			if (!more) {
				err = rs_error_set(e, -ENOMEM, "out of memory");
				break;
			}
			name = more;
		}
		name[n] = rs_arena_printf(a, "%s/%s", path, d->d_name);
		err = name[n] ? 0 : rs_error_set(e, -ENOMEM, "out of memory");
		n += !err;
	}
	if (dir)
		closedir(dir);
	qsort(name, n, sizeof(*name), by_name);
	for (size_t i = 0; i < n && !err; i++)
		err = read_pairs(name[i], a, p, e);
	free(name);
	return err;
}

static int read_pairs(const char *path, struct rs_arena *a, struct rs_pairs **p, struct rs_error *e)
{
	struct rs_load l = {.arena = a, .e = e, .name = path};
	struct stat st;
	size_t n = 0;
	char *text;
	int err;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return read_directory(path, a, p, e);
	text = rs_load_file(&l, path, LOG_BYTES_MAX, (struct rs_where){0}, &n);
	err = text ? rs_pairs_read(text, n, path, a, p, e) : l.err;
	free(text);
	return err;
}

static int write_pairs(const struct options *o, const struct rs_pairs *p,
		       const struct rs_pairs_verdict *v, struct rs_error *e)
{
	struct rs_outfile f;
	int err = rs_outfile_open(&f, o->json, e);

	if (err)
		return err;
	err = rs_expect_json_pairs(p, v, f.f);
	if (err) {
		rs_outfile_abort(&f);
		return rs_error_set(e, err, "%s: %s", o->json, strerror(-err));
	}
	return rs_outfile_commit(&f, e);
}

static int pairs(const struct options *o, char **path, int n)
{
	struct rs_pairs_verdict *v = calloc(1, sizeof(*v));
	struct rs_arena *a = rs_arena_create(0);
	struct rs_pairs *p = NULL;
	struct rs_error e = {0};
	int err = v && a ? 0 : rs_error_set(&e, -ENOMEM, "out of memory"), status;

	for (int i = 0; i < n && !err; i++)
		err = read_pairs(path[i], a, &p, &e);
	if (!err)
		err = p ? rs_pairs_close(p, &e)
			: rs_error_set(&e, -EINVAL, "--pairs: give the file of the matrix");
	for (uint32_t i = 0; i < o->n_leaf && !err; i++)
		err = rs_pairs_group(p, o->leaf[i], &e);
	if (!err) {
		p->latency |= o->latency;
		err = rs_pairs_judge(p, v, &e);
	}
	if (!err && o->json)
		err = write_pairs(o, p, v, &e);
	if (!err && !o->quiet && !rs_cli_is_stdout(o->json))
		rs_expect_print_pairs(p, v, stdout);
	status = err ? rs_cli_error(&e) : v->n ? RS_EXIT_INCOMPLETE : RS_EXIT_OK;
	status = err == -ENODATA ? NOT_ENOUGH : status;
	if (a)
		rs_arena_destroy(a);
	free(v);
	return status;
}

int rs_cmd_expect(int argc, char **argv)
{
	struct options o = {.o = {.perftest = true, .nccl = true}};
	struct rs_error e = {0};
	struct rs_audit *a;
	int status = parse(argc, argv, &o);

	if (status)
		return status;
	if (o.pairs)
		return pairs(&o, argv + optind, argc - optind);
	if (o.n_leaf || o.latency)
		return rs_cli_usage("expect", "--leaf and --latency go with --pairs");
	if (rs_audit_create(&a)) {
		rs_error_set(&e, -ENOMEM, "out of memory");
		return rs_cli_error(&e);
	}
	status = read_all(a, &o, argv + optind, argc - optind, &e) ? rs_cli_error(&e)
								   : expect(a, &o, &e);
	rs_audit_destroy(a);
	return status;
}
