/*
 * ripstop sim --measured LOG: a table of nccl-tests or perftest beside the prediction, size by
 * size, and which change of the description would bring the prediction there. A change is never
 * kept: it says where to look.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/cli.h"
#include "cli/sim_report.h"
#include "collective/collective.h"
#include "describe/describe.h"
#include "measured/measured.h"
#include "report/report.h"

enum {
	LOG_BYTES_MAX = 64 << 20,
	EVENTS_MAX = 20000000, /* of a run: larger sizes are a line through the last two */
	SETTINGS_MAX = RS_CLI_SETTINGS + 16,
	TRIES_MAX = 48,
	SHOWN_MAX = 8,
	DELAY_US = 5, /* of a link at most: a kilometre of fibre */
	STEP_US = 1000,
	LOOP = 20,
	REPEATS = 3, /* that stand for it */
};
/* A prediction this near is as good as a second measurement; a change must halve what is apart. */
static const double AGREES = 0.1, HALVES = 0.5;

struct
try {
	char name[200];
	struct rs_setting set[4];
	char value[4][96];
	uint32_t n;
	double us[RS_PARTS]; /* of each probe; 0: it does not run */
	double apart;
};

struct measuring {
	const struct rs_measured_options *o;
	const struct rs_fabric *f;
	struct rs_measured *m;
	struct rs_arena *arena;
	struct rs_error *e;
	double *us; /* predicted, of each row */
	bool *line; /* by a line through two smaller sizes */
	uint32_t n_probes, probe[RS_PARTS];
	struct try tries[TRIES_MAX];
	uint32_t n_tries;
};

/* ---- The log ---- */

/* An operation as a description says it. */
static const char *op_name(const char *op)
{
	int i = op ? rs_coll_op_of(op) : -1;

	return i < 0 ? NULL : rs_coll_op_name((enum rs_coll_op)i);
}

/* Which of several tables is the first job's. */
static const char *test_of(const struct rs_fabric *f)
{
	const struct rs_job *j = f->n_jobs ? &f->jobs[0] : NULL;

	return j && j->kind == RS_JOB_COLLECTIVE ? rs_coll_op_name(j->collective.op) : NULL;
}

static int read_log(struct measuring *w)
{
	FILE *f = fopen(w->o->log, "rbe");
	char *text = f ? malloc(LOG_BYTES_MAX + 1) : NULL;
	size_t n;
	int err = 0;

	if (!f)
		return rs_error_set(w->e, -errno, "%s: %s", w->o->log, strerror(errno));
	if (!text) {
		fclose(f);
		return rs_error_set(w->e, -ENOMEM, "out of memory");
	}
	n = fread(text, 1, LOG_BYTES_MAX + 1, f);
	if (ferror(f))
		err = rs_error_set(w->e, -EIO, "%s: cannot be read", w->o->log);
	else if (n > LOG_BYTES_MAX)
		err = rs_error_set(w->e, -E2BIG, "%s: more than 64 MiB", w->o->log);
	fclose(f);
	err = err ? err
		  : rs_measured_read(text, n, w->o->log, test_of(w->f), w->arena, &w->m, w->e);
	free(text);
	return err;
}

static int fits_nccl(struct measuring *w)
{
	const struct rs_job *j = &w->f->jobs[0];
	uint32_t n = j->collective.n_ranks ? j->collective.n_ranks : w->f->n_gpus;

	if (j->kind != RS_JOB_COLLECTIVE)
		return rs_error_set(w->e, -EINVAL,
				    "%s: the first job is to be a collective, like the test of %s",
				    w->o->file, w->o->log);
	if (w->m->op && !op_name(w->m->op))
		return rs_error_set(w->e, -EINVAL, "%s: %s_perf is not simulated", w->o->log,
				    w->m->op);
	if (!w->m->n_ranks || w->m->n_ranks == n)
		return 0;
	rs_error_set(w->e, -EINVAL, "%s has %u ranks, the first job of %s %u", w->o->log,
		     w->m->n_ranks, w->o->file, n);
	rs_error_hint(w->e, "--set fabric.hosts[0].count=N, or workload[0].collective.ranks");
	return w->e->code;
}

static int fits_perf(struct measuring *w)
{
	const struct rs_job *j = &w->f->jobs[0];
	bool stream = w->m->kind == RS_MEASURED_BANDWIDTH;

	if (w->m->read)
		return rs_error_set(w->e, -EINVAL,
				    "%s: perftest's reads and atomics: only writes and sends are "
				    "simulated here",
				    w->o->log);
	if (!stream && j->kind == RS_JOB_FLOWS && j->n_flows == 1)
		return 0;
	if (stream && j->kind == RS_JOB_COLLECTIVE && j->collective.n_ranks == 2)
		return 0;
	rs_error_set(
		w->e, -EINVAL, "%s: the first job is to be %s", w->o->file,
		stream ? "a collective of two ranks: a stream of messages from one to the other"
		       : "one flow: a message");
	rs_error_hint(w->e,
		      stream ? "--set 'workload=[{collective: {op: broadcast, ranks: 2, bytes: "
			       "1MiB}}]'"
			     : "--set 'workload=[{flows: [{src: h0, dst: h1, bytes: 1B}]}]'");
	return w->e->code;
}

/* ---- Runs ---- */

static void add(struct try *t, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void add(struct try *t, const char *path, const char *fmt, ...)
{
	va_list ap;

	rs_assert(t->n < sizeof(t->set) / sizeof(*t->set));
	va_start(ap, fmt);
	vsnprintf(t->value[t->n], sizeof(t->value[t->n]), fmt, ap);
	va_end(ap);
	t->set[t->n].path = path;
	t->set[t->n].value = t->value[t->n];
	t->set[t->n].at = (struct rs_where){"--measured", 0, 0};
	t->n++;
}

/* nccl-tests' loop of 20, not operations of a job one by one: a broadcast's root begins the next
 * one while others still pass the last one on. In other operations all wait for all. */
static bool in_loop(const struct measuring *w)
{
	if (w->m->kind != RS_MEASURED_NCCL || w->m->operations)
		return false;
	return w->m->op ? !strcmp(w->m->op, "broadcast")
			: w->f->jobs[0].collective.op == RS_COLL_BROADCAST;
}

/* What a row of the log is in the description. *messages: that one run sends. */
static void describe_row(const struct measuring *w, const struct rs_measured_row *r, struct try *t,
			 double *messages)
{
	unsigned long long bytes = r->bytes, stream = bytes < 65536 ? 2000 * bytes : 64ull << 20;

	*messages = 1;
	if (w->m->kind == RS_MEASURED_LATENCY) {
		add(t, "workload[0].flows[0].bytes", "%lluB", bytes);
		return;
	}
	if (w->m->kind == RS_MEASURED_NCCL) {
		add(t, "workload[0].collective.bytes", "%lluB", bytes);
		if (w->m->op)
			add(t, "workload[0].collective.op", "%s", op_name(w->m->op));
		if (in_loop(w))
			add(t, "workload[0].collective.repeat", "%d", REPEATS);
		return;
	}
	stream = stream < 4 * bytes ? 4 * bytes : stream;
	*messages = (double)stream / (double)bytes;
	add(t, "workload[0].collective.bytes", "%lluB", stream);
	add(t, "workload[0].collective.chunk", "%lluB", bytes);
	add(t, "workload[0].collective.slots", "%d", bytes < 65536 ? 64 : 8);
}

static double duration(const struct measuring *w, const struct rs_sim_result *r, double messages)
{
	if (!r->complete)
		return 0;
	if (w->m->kind == RS_MEASURED_LATENCY)
		return (double)(r->flows[0].delivered == RS_NEVER
					? r->flows[0].finish - r->flows[0].start
					: r->flows[0].delivered) /
		       RS_US;
	if (in_loop(w))
		return (double)(r->jobs[0].first + (LOOP - 1) * r->jobs[0].further) / LOOP / RS_US;
	return (double)r->jobs[0].first / RS_US / messages;
}

/* us of a row with a try's changes; 0 with *why filled: the description with them is refused. */
static double run(struct measuring *w, const struct rs_measured_row *row, const struct try *t,
		  uint64_t *events, struct rs_error *why)
{
	struct rs_setting all[SETTINGS_MAX];
	uint32_t n = w->o->n_set;
	struct try as_row = {.n = 0};
	struct rs_sim_options sim = w->o->sim;
	struct rs_sim_result *r = NULL;
	struct rs_fabric *f;
	double messages, us = 0;

	describe_row(w, row, &as_row, &messages);
	memcpy(all, w->o->set, n * sizeof(*all));
	memcpy(all + n, as_row.set, as_row.n * sizeof(*all));
	n += as_row.n;
	for (uint32_t i = 0; t && i < t->n; i++)
		all[n++] = t->set[i];
	if (rs_fabric_load(w->o->file, all, n, &f, why))
		return 0;
	if (!rs_sim_run(f, &sim, &r, why)) {
		us = duration(w, r, messages);
		*events = r->counters.events;
		rs_sim_result_free(r);
	}
	rs_fabric_free(f);
	return us;
}

static double on_line(const struct rs_measured_row *a, double ua, const struct rs_measured_row *b,
		      double ub, uint64_t bytes)
{
	return ub + (ub - ua) / (double)(b->bytes - a->bytes) * (double)(bytes - b->bytes);
}

static int predict_all(struct measuring *w)
{
	struct rs_measured *m = w->m;
	uint64_t events = 0;
	uint32_t last = 0; /* the last row that was run */

	for (uint32_t i = 0; i < m->n_rows; i++) {
		bool far = i >= 2 && events &&
			   (double)events / (double)m->rows[last].bytes * (double)m->rows[i].bytes >
				   EVENTS_MAX;

		if (far && last >= 1) {
			w->line[i] = true;
			w->us[i] = on_line(&m->rows[last - 1], w->us[last - 1], &m->rows[last],
					   w->us[last], m->rows[i].bytes);
			continue;
		}
		w->us[i] = run(w, &m->rows[i], NULL, &events, w->e);
		if (w->e->code)
			return w->e->code;
		if (!(w->us[i] > 0))
			return rs_error_set(w->e, -EINVAL,
					    "%s: the job does not end with %llu bytes", w->o->file,
					    (unsigned long long)m->rows[i].bytes);
		last = i;
	}
	return 0;
}

/* Where changes are tried: rows that were run themselves. */
static void choose_probes(struct measuring *w)
{
	w->n_probes = rs_measured_probes(w->m, w->probe);
	for (uint32_t i = 0; i < w->n_probes; i++)
		while (w->line[w->probe[i]])
			w->probe[i]--;
}

/* ---- Changes ---- */

/* NULL: no room, and nothing is tried. */
static struct try *new_try(struct measuring *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static struct try *new_try(struct measuring *w, const char *fmt, ...)
{
	struct try *t = w->n_tries < TRIES_MAX ? &w->tries[w->n_tries++] : NULL;
	va_list ap;

	if (!t)
		return NULL;
	*t = (struct try){.n = 0};
	va_start(ap, fmt);
	vsnprintf(t->name, sizeof(t->name), fmt, ap);
	va_end(ap);
	return t;
}

/* Runs it at the probes; a change that the description does not allow is taken back. */
static bool run_try(struct measuring *w, struct try *t)
{
	bool moves = false;

	t->apart = 0;
	for (uint32_t i = 0; i < w->n_probes; i++) {
		const struct rs_measured_row *row = &w->m->rows[w->probe[i]];
		struct rs_error why = {0};
		uint64_t events;

		t->us[i] = run(w, row, t, &events, &why);
		if (!(t->us[i] > 0)) {
			w->n_tries--;
			return false;
		}
		t->apart += fabs(log(t->us[i] / row->us)) / w->n_probes;
		moves |= fabs(t->us[i] / w->us[w->probe[i]] - 1) > 1e-3;
	}
	if (!moves)
		w->n_tries--;
	return moves;
}

/* Times follow x as a + slope (x - x0): the x at which probe i is as measured; < 0: none. */
static double solve(const struct measuring *w, uint32_t i, double x0, double x1, double us1)
{
	double us0 = w->us[w->probe[i]], slope = (us1 - us0) / (x1 - x0);

	if (fabs(us1 / us0 - 1) < 1e-6)
		return -1;
	return x0 + (w->m->rows[w->probe[i]].us - us0) / slope;
}

static double rate_of(const struct measuring *w)
{
	return (double)w->f->net.rate;
}

/* A link's rate, software a step and a link's delay, each as far as it would have to go. */
static double try_rate(struct measuring *w)
{
	double half, inverse, rate = rate_of(w);
	uint32_t last = w->n_probes - 1;
	struct try *t;

	t = new_try(w, "links of half their rate");
	if (!t)
		return 0;
	add(t, "fabric.network.rate", "%.0fM", rate / 2e6);
	if (!run_try(w, t))
		return 0;
	half = t->us[last]; /* a time is a + b / rate */
	inverse = solve(w, last, 1 / rate, 2 / rate, half);
	if (!(inverse > 0) || 1 / inverse > 4 * rate || 1 / inverse < rate / 64)
		return 0;
	t = new_try(w, "links at %.3g Gb/s, where the description has %.3g", 1e-9 / inverse,
		    rate / 1e9);
	if (t)
		add(t, "fabric.network.rate", "%.0fM", 1e-6 / inverse);
	return t && run_try(w, t) ? 1 / inverse : 0;
}

static double try_time(struct measuring *w, const char *path, double now_us, double most_us,
		       const char *what)
{
	double needed, more = now_us + 1;
	struct try *t = new_try(w, "%s", what);

	if (!t)
		return 0;
	add(t, path, "%.0fns", more * 1000);
	if (!run_try(w, t))
		return 0;
	needed = solve(w, 0, now_us, more, t->us[0]);
	w->n_tries--; /* the step towards it says nothing by itself */
	if (!(needed >= 0) || needed > most_us || fabs(needed - now_us) < 0.05)
		return 0;
	t = new_try(w, "%s of %.3g us, where the description has %.3g", what, needed, now_us);
	if (t)
		add(t, path, "%.0fns", needed * 1000);
	return t && run_try(w, t) ? needed : 0;
}

static void try_one(struct measuring *w, const char *name, const char *path, const char *value)
{
	struct try *t = new_try(w, "%s", name);

	if (!t)
		return;
	add(t, path, "%s", value);
	run_try(w, t);
}

/* The release that the log names, where the description has another one. */
static void try_release(struct measuring *w)
{
	const char *has = w->f->jobs[0].collective.nccl.version;
	char name[96];

	if (!w->m->release || (has && !strcmp(has, w->m->release)))
		return;
	snprintf(name, sizeof(name), "NCCL %.16s, which the log names", w->m->release);
	try_one(w, name, "workload[0].collective.nccl.version", w->m->release);
}

/* Fewer NICs than the host has: a list that names some, or ports that are down. */
static void try_nics(struct measuring *w)
{
	const struct rs_fabric_host *h = &w->f->hosts[0];
	char name[64], list[96];

	for (uint32_t n = h->n_endpoints / 2; n && w->f->n_hosts > 1; n /= 2) {
		size_t at = (size_t)snprintf(list, sizeof(list), "=");

		for (uint32_t i = 0; i < n && at < sizeof(list); i++) {
			const char *whole = w->f->endpoints[h->first_endpoint + i].name;
			const char *slash = strchr(whole, '/');

			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? "," : "",
					       slash ? slash + 1 : whole);
		}
		if (at >= sizeof(list))
			continue;
		snprintf(name, sizeof(name), "%u of %u NICs", n, h->n_endpoints);
		try_one(w, name, "workload[0].collective.nccl.env.NCCL_IB_HCA", list);
	}
}

/* NCCL's own way: what its variables would have to force. */
static void try_nccl(struct measuring *w)
{
	const struct rs_job *j = &w->f->jobs[0];
	static const char *const forced[][2] = {
		{"NCCL_ALGO", "Ring"},    {"NCCL_ALGO", "Tree"},       {"NCCL_ALGO", "NVLSTree"},
		{"NCCL_ALGO", "NVLS"},    {"NCCL_PROTO", "LL"},        {"NCCL_PROTO", "LL128"},
		{"NCCL_PROTO", "Simple"}, {"NCCL_MAX_NCHANNELS", "4"}, {"NCCL_MAX_NCHANNELS", "1"}};
	bool p2p = j->collective.op == RS_COLL_ALL_TO_ALL || j->collective.op == RS_COLL_SEND_RECV;
	uint32_t gpus = w->m->per_thread > 1 ? w->m->per_thread : w->f->hosts[0].n_gpus;
	char name[64], path[80], value[16];

	try_release(w);
	try_nics(w);
	if (p2p)
		try_one(w, "NCCL_PXN_DISABLE=1", "workload[0].collective.nccl.env.NCCL_PXN_DISABLE",
			"1");
	for (size_t i = 0; !p2p && i < sizeof(forced) / sizeof(*forced); i++) {
		snprintf(name, sizeof(name), "%s=%s", forced[i][0], forced[i][1]);
		snprintf(path, sizeof(path), "workload[0].collective.nccl.env.%s", forced[i][0]);
		try_one(w, name, path, forced[i][1]);
	}
	if (gpus < 2 || j->collective.nccl.gpus_per_thread > 1)
		return;
	snprintf(name, sizeof(name), "one thread that starts the kernels of %u GPUs", gpus);
	snprintf(value, sizeof(value), "%u", gpus);
	try_one(w, name, "workload[0].collective.nccl.gpus_per_thread", value);
}

/* The explicit algorithms, with the channels that the description has. */
static void try_explicit(struct measuring *w)
{
	static const char *const algorithms[] = {"ring", "tree", "hierarchical"};
	const struct rs_collective_conf *c = &w->f->jobs[0].collective;
	char name[64], value[32];

	for (size_t i = 0; i < sizeof(algorithms) / sizeof(*algorithms); i++)
		if (strcmp(algorithms[i], rs_coll_algorithm_name(c->algorithm))) {
			snprintf(name, sizeof(name), "algorithm: %s", algorithms[i]);
			try_one(w, name, "workload[0].collective.algorithm", algorithms[i]);
		}
	for (uint32_t n = c->channels / 2; n; n /= 2) {
		snprintf(value, sizeof(value), "%u", n);
		snprintf(name, sizeof(name), "%u channel%s, where the description has %u", n,
			 n == 1 ? "" : "s", c->channels);
		try_one(w, name, "workload[0].collective.channels", value);
	}
}

static void try_fabric(struct measuring *w)
{
	const struct rs_fabric *f = w->f;

	try_one(w, "leaves with 2:1 oversubscription", "fabric.network.oversubscription", "2");
	try_one(w, "leaves with 4:1 oversubscription", "fabric.network.oversubscription", "4");
	try_one(w, "NICs by number, not by distance", "fabric.pairing", "index");
	if (!strcmp(f->cc.kind, "none"))
		try_one(w, "DCQCN", "fabric.cc", "dcqcn");
	else
		try_one(w, "no congestion control", "fabric.cc", "none");
	try_one(w, "packets spread over paths", "fabric.qos.routing", "spray");
	try_one(w, "switches without latency", "fabric.qos.switch_latency", "0ns");
	for (uint32_t i = 0; i < f->n_whatifs; i++) {
		const struct rs_whatif *x = &f->whatifs[i];
		struct try *t = x->n <= 4 ? new_try(w, "what-if: %s", x->name) : NULL;

		for (uint32_t k = 0; t && k < x->n; k++)
			t->set[t->n++] = x->set[k];
		if (t)
			run_try(w, t);
	}
}

static void try_both(struct measuring *w, double rate, double step)
{
	struct try *t;

	if (!(rate > 0) || !(step > 0))
		return;
	t = new_try(w, "links at %.3g Gb/s and software of %.3g us a step", rate / 1e9, step);
	if (!t)
		return;
	add(t, "fabric.network.rate", "%.0fM", rate / 1e6);
	add(t, "workload[0].collective.step_latency", "%.0fns", step * 1000);
	run_try(w, t);
}

static bool explained(const struct measuring *w)
{
	for (uint32_t i = 0; i < w->n_tries; i++)
		if (w->tries[i].apart <= AGREES)
			return true;
	return false;
}

static int by_apart(const void *a, const void *b)
{
	double x = ((const struct try *)a)->apart, y = ((const struct try *)b)->apart;

	return (x > y) - (x < y);
}

static void try_changes(struct measuring *w)
{
	const struct rs_job *j = &w->f->jobs[0];
	bool nccl = j->kind == RS_JOB_COLLECTIVE && j->collective.algorithm == RS_ALGO_NCCL;
	double rate, step = 0;

	rate = try_rate(w);
	if (j->kind == RS_JOB_COLLECTIVE && !nccl)
		step = try_time(w, "workload[0].collective.step_latency",
				(double)j->collective.step_latency / RS_US, STEP_US,
				"software a step");
	try_time(w, "fabric.network.delay", (double)w->f->net.delay / RS_US, DELAY_US,
		 "links with a delay");
	if (!explained(w))
		try_both(w, rate, step);
	if (j->kind == RS_JOB_COLLECTIVE && w->m->kind == RS_MEASURED_NCCL)
		nccl ? try_nccl(w) : try_explicit(w);
	try_fabric(w);
	qsort(w->tries, w->n_tries, sizeof(*w->tries), by_apart);
}

/* ---- The report ---- */

static void print_rows(const struct measuring *w, FILE *out)
{
	struct rs_table *t = rs_table_create("Measured and predicted");
	char text[32];

	rs_table_column(t, "size", RS_RIGHT);
	rs_table_column(t, "measured (us)", RS_RIGHT);
	rs_table_column(t, "predicted (us)", RS_RIGHT);
	rs_table_column(t, "error", RS_RIGHT);
	rs_table_column(t, "part", RS_LEFT);
	for (uint32_t i = 0; i < w->m->n_rows; i++) {
		const struct rs_measured_row *r = &w->m->rows[i];

		rs_table_row(t);
		rs_table_cell(t, "%s", rs_format_bytes(text, sizeof(text), r->bytes));
		rs_table_cell(t, "%.2f", r->us);
		rs_table_cell(t, "%s%.2f", w->line[i] ? "~" : "", w->us[i]);
		rs_table_cell(t, "%+.0f %%", (w->us[i] / r->us - 1) * 100);
		rs_table_cell(t, "%s", rs_measured_parts[rs_measured_part_of(w->m, i)]);
	}
	rs_table_print(t, out);
}

static void print_parts(const struct measuring *w, const struct rs_measured_fit *fit, FILE *out)
{
	static const char *const what[] = {
		"where time hardly depends on the size: launch, steps, links",
		"between the two: protocol, chunks, how steps overlap",
		"where the rate is full: links, slots, NICs at work",
	};
	char text[32];

	fputs("\n", out);
	for (int p = 0; p < RS_PARTS; p++)
		if (fit->n[p])
			rs_paragraph(out, 0, "%s part (%s): %+.0f %% in the median of %u sizes.",
				     rs_measured_parts[p], what[p], fit->error[p] * 100, fit->n[p]);
	if (fit->first < 0)
		rs_paragraph(out, 0, "No size is off by more than a tenth.");
	else
		rs_paragraph(out, 0,
			     "The first size that is off by more than a tenth is %s (%s part).",
			     rs_format_bytes(text, sizeof(text), w->m->rows[fit->first].bytes),
			     rs_measured_parts[rs_measured_part_of(w->m, (uint32_t)fit->first)]);
	for (uint32_t i = 0; i < w->m->n_rows; i++)
		if (w->line[i]) {
			rs_paragraph(out, 0,
				     "~: not simulated, on a line through the two largest sizes "
				     "that were.");
			break;
		}
}

static void try_row(struct rs_table *t, const struct measuring *w, const char *name,
		    const double *us, double apart)
{
	rs_table_row(t);
	rs_table_cell(t, "%s", name);
	for (uint32_t i = 0; i < w->n_probes; i++)
		rs_table_cell(t, "%+.0f %%", (us[i] / w->m->rows[w->probe[i]].us - 1) * 100);
	rs_table_cell(t, "%.0f %%", (exp(apart) - 1) * 100);
}

static void print_tries(const struct measuring *w, double apart, FILE *out)
{
	struct rs_table *t = rs_table_create("What would change the prediction");
	double us[RS_PARTS];
	char text[32];

	rs_table_column(t, "change", RS_LEFT);
	for (uint32_t i = 0; i < w->n_probes; i++) {
		us[i] = w->us[w->probe[i]];
		rs_table_column(t,
				rs_format_bytes(text, sizeof(text), w->m->rows[w->probe[i]].bytes),
				RS_RIGHT);
	}
	rs_table_column(t, "apart", RS_RIGHT);
	try_row(t, w, "none: as described", us, apart);
	for (uint32_t i = 0; i < w->n_tries && i < SHOWN_MAX; i++)
		try_row(t, w, w->tries[i].name, w->tries[i].us, w->tries[i].apart);
	fputs("\n", out);
	rs_table_print(t, out);
}

static void print_verdict(const struct measuring *w, double apart, FILE *out)
{
	struct rs_enumeration near = {.n = 0};

	for (uint32_t i = 0; i < w->n_tries && w->tries[i].apart <= AGREES; i++)
		rs_enumerate(&near, "; or ", "%s", w->tries[i].name);
	fputs("\n", out);
	if (apart <= AGREES)
		rs_paragraph(out, 0, "The prediction agrees with the log within a tenth.");
	else if (near.n)
		rs_paragraph(out, 0, "It would agree within a tenth with: %s.", near.text);
	else if (w->n_tries && w->tries[0].apart <= HALVES * apart)
		rs_paragraph(out, 0, "Most of the difference would be gone with: %s.",
			     w->tries[0].name);
	else
		rs_paragraph(out, 0, "None of %u changes explains the difference.", w->n_tries);
}

static void report(const struct measuring *w, FILE *out)
{
	struct rs_measured_fit fit;
	double apart = 0;

	for (uint32_t i = 0; i < w->n_probes; i++)
		apart += fabs(log(w->us[w->probe[i]] / w->m->rows[w->probe[i]].us)) / w->n_probes;
	rs_measured_compare(w->m, w->us, &fit);
	print_rows(w, out);
	print_parts(w, &fit, out);
	print_tries(w, apart, out);
	print_verdict(w, apart, out);
}

int rs_sim_measured(const struct rs_measured_options *o, const struct rs_fabric *f, FILE *out,
		    struct rs_error *e)
{
	struct measuring *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w || !(w->arena = rs_arena_create(0))) {
		free(w);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	w->o = o;
	w->f = f;
	w->e = e;
	err = read_log(w);
	if (!err)
		err = w->m->kind == RS_MEASURED_NCCL ? fits_nccl(w) : fits_perf(w);
	if (!err) {
		w->us = rs_arena_alloc(w->arena, w->m->n_rows, sizeof(*w->us));
		w->line = rs_arena_alloc(w->arena, w->m->n_rows, sizeof(*w->line));
		err = w->us && w->line ? predict_all(w) : rs_error_set(e, -ENOMEM, "out of memory");
	}
	if (!err) {
		choose_probes(w);
		try_changes(w);
		report(w, out);
	}
	rs_arena_destroy(w->arena);
	free(w);
	return err;
}
