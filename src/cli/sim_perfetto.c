/*
 * What was observed of a run, as a trace for ui.perfetto.dev: `ripstop sim --perfetto`. Chrome's
 * JSON trace events ("Trace Event Format", Google): X is a bar, C a counter, M a name. Written as
 * it goes; each kind of thing has a limit, so the file has one. Times are whole nanoseconds, as the
 * reader's clock is: both ends of a bar are cut down to them, so that bars stay inside each other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "cli/sim_report.h"
#include "report/report.h"

enum {
	BARS_MAX = 200000, /* of ranks and messages, and as many of flows; the longest are kept */
	ROWS_MAX = 64,     /* of bars that overlap; what finds no row is left out */
	PORTS_MAX = 512,   /* with counters: those with most pauses, then queue, then bytes */
	INSIDE_MAX = 256,  /* links inside hosts with counters, those with most bytes */
	/* processes of the trace; 0 is the reader's own */
	PID_SCENARIO = 1,
	PID_JOBS = 2,
	PID_SWITCHES = 100000000,
	PID_HOSTS = 200000000,
};

struct trace {
	const struct rs_diagnosis *d;
	const struct rs_fabric *f;
	const struct rs_sim_result *r;
	FILE *out;
	bool any;
	uint32_t tid; /* the last that was given: no two are alike in the file */
	uint64_t bars_left_out, flows_left_out, buckets_left_out;
	uint32_t ports, ports_left_out, inside_left_out;
};

/* ---- Events ---- */

static void event(struct trace *t, char phase, uint32_t pid, uint32_t tid)
{
	fprintf(t->out, "%s{\"ph\":\"%c\",\"pid\":%" PRIu32, t->any ? ",\n" : "\n", phase, pid);
	if (tid)
		fprintf(t->out, ",\"tid\":%" PRIu32, tid);
	t->any = true;
}

/* Microseconds, with the nanoseconds that are whole. */
static void put_time(struct trace *t, const char *key, int64_t ns)
{
	fprintf(t->out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void put_name(struct trace *t, const char *name)
{
	fputs(",\"name\":", t->out);
	rs_json_text(t->out, name);
}

static void named(struct trace *t, const char *what, uint32_t pid, uint32_t tid, const char *fmt,
		  ...) __attribute__((format(printf, 5, 6)));

/* The name of a process or a thread, which then come in this order. */
static void named(struct trace *t, const char *what, uint32_t pid, uint32_t tid, const char *fmt,
		  ...)
{
	char name[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	event(t, 'M', pid, tid);
	fprintf(t->out, ",\"name\":\"%s_name\",\"args\":{\"name\":", what);
	rs_json_text(t->out, name);
	fputs("}}", t->out);
	event(t, 'M', pid, tid);
	fprintf(t->out, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}", what,
		tid ? tid : pid);
}

static int64_t whole_ns(rs_time x)
{
	return x / RS_NS;
}

/* Opens a bar; its arguments follow, then bar_end(). */
static void bar_begin(struct trace *t, uint32_t pid, uint32_t tid, rs_time from, rs_time to,
		      const char *name)
{
	event(t, 'X', pid, tid);
	put_time(t, "ts", whole_ns(from));
	put_time(t, "dur", whole_ns(to) - whole_ns(from));
	put_name(t, name);
	fputs(",\"args\":{", t->out);
}

static void bar_end(struct trace *t)
{
	fputs("}}", t->out);
}

static void counter(struct trace *t, uint32_t pid, rs_time when, const char *name, const char *unit,
		    double value)
{
	event(t, 'C', pid, 0);
	put_time(t, "ts", whole_ns(when));
	put_name(t, name);
	fprintf(t->out, ",\"args\":{\"%s\":%.10g}}", unit, value);
}

/* ---- Jobs ---- */

static rs_time end_of(const struct trace *t, rs_time finish)
{
	return finish == RS_NEVER ? t->r->sim_time : finish;
}

static void job_bar(struct trace *t, uint32_t i, uint32_t tid)
{
	const struct rs_sim_job *j = &t->r->jobs[i];

	named(t, "thread", PID_SCENARIO, tid, "job %s", j->conf->name);
	if (j->end == RS_SIM_LEFT_OUT)
		return;
	bar_begin(t, PID_SCENARIO, tid, j->start, end_of(t, j->done ? j->finish : RS_NEVER),
		  j->conf->name);
	fprintf(t->out, "\"kind\":\"%s\",\"done\":%s", rs_job_kinds[j->conf->kind],
		j->done ? "true" : "false");
	bar_end(t);
}

/* A training step as it was worked out from its buckets' collectives: from 0 on. */
static void train_bars(struct trace *t, uint32_t i)
{
	const struct rs_sim_job *j = &t->r->jobs[i];
	const struct rs_train_plan *p = &j->plan;
	uint32_t step = ++t->tid, compute = ++t->tid, network = ++t->tid;
	struct rs_train_bucket b = {0};

	named(t, "thread", PID_SCENARIO, step, "job %s: one training step", j->conf->name);
	bar_begin(t, PID_SCENARIO, step, 0, j->train.step, "step");
	fprintf(t->out, "\"efficiency\":%.6g,\"exposed_ns\":%" PRId64, j->train.efficiency,
		whole_ns(j->train.exposed));
	bar_end(t);
	named(t, "thread", PID_SCENARIO, compute, "job %s: computing", j->conf->name);
	bar_begin(t, PID_SCENARIO, compute, 0, p->forward, "forward");
	bar_end(t);
	bar_begin(t, PID_SCENARIO, compute, p->forward, p->forward + p->backward, "backward");
	bar_end(t);
	named(t, "thread", PID_SCENARIO, network, "job %s: communication", j->conf->name);
	for (uint32_t n = 0; n < p->n_buckets; n++) {
		rs_train_bucket(p, &j->conf->train, j->first, j->further, n, &b);
		if (n >= BARS_MAX) {
			t->buckets_left_out++;
			continue;
		}
		bar_begin(t, PID_SCENARIO, network, b.from, b.to, "bucket");
		fprintf(t->out, "\"bucket\":%" PRIu32 ",\"bytes\":%" PRIu64, n, p->bucket_bytes);
		bar_end(t);
	}
}

static void jobs(struct trace *t)
{
	named(t, "process", PID_SCENARIO, 0, "scenario %s", t->d->scenario);
	for (uint32_t i = 0; i < t->r->n_jobs; i++) {
		job_bar(t, i, ++t->tid);
		if (t->r->jobs[i].conf->kind == RS_JOB_TRAIN && t->r->jobs[i].done &&
		    !t->r->jobs[i].program)
			train_bars(t, i);
	}
}

/* ---- Bars that are too many: the longest ---- */

struct bar {
	rs_time from, to;
	uint64_t group; /* bars of a group share rows; groups in the order of their numbers */
	uint64_t which;
};

struct bars {
	struct bar *bar;
	uint64_t n, left_out;
};

typedef bool get_bar(const struct trace *t, uint64_t i, struct bar *out);

static unsigned size_of(const struct bar *b)
{
	uint64_t length = (uint64_t)(b->to - b->from);

	return length ? 64 - (unsigned)__builtin_clzll(length) : 0;
}

static int by_group(const void *x, const void *y)
{
	const struct bar *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to > b->to ? -1 : 1;
	return a->which < b->which ? -1 : a->which > b->which;
}

/* Of n things those that have bars, at most BARS_MAX: by length in powers of two, then as they
 * come. -ENOMEM. */
static int bars_choose(const struct trace *t, get_bar *get, uint64_t n, struct bars *out)
{
	uint64_t of[65] = {0}, room = BARS_MAX, all = 0;
	unsigned least = 64;
	struct bar b;

	for (uint64_t i = 0; i < n; i++)
		if (get(t, i, &b)) {
			of[size_of(&b)]++;
			all++;
		}
	while (least && of[least] <= room)
		room -= of[least--];
	*out = (struct bars){.bar = calloc((all < BARS_MAX ? all : BARS_MAX) + 1, sizeof(b))};
	if (!out->bar)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		if (!get(t, i, &b) || size_of(&b) < least || (size_of(&b) == least && !room))
			continue;
		room -= size_of(&b) == least;
		out->bar[out->n++] = b;
	}
	out->left_out = all - out->n;
	qsort(out->bar, out->n, sizeof(*out->bar), by_group);
	return 0;
}

/* The rows of one group, each a thread; bars of a row do not overlap. */
struct rows {
	uint32_t tid[ROWS_MAX], n;
	rs_time busy[ROWS_MAX];
};

/* A row that is free from this bar's begin on; *fresh: it was made. ROWS_MAX: there is none. */
static uint32_t row_for(struct trace *t, struct rows *rows, const struct bar *b, bool *fresh)
{
	uint32_t i;

	*fresh = false;
	for (i = 0; i < rows->n; i++)
		if (rows->busy[i] <= b->from)
			break;
	if (i == ROWS_MAX)
		return i;
	if (i == rows->n) {
		*fresh = true;
		rows->tid[rows->n++] = ++t->tid;
	}
	rows->busy[i] = b->to;
	return i;
}

/* Those of n that bars_choose() keeps, each on a row of its group; the rest are counted. row: its
 * place in the group, from 0; fresh: nothing was drawn on it before. */
static int bars_draw(struct trace *t, get_bar *get, uint64_t n,
		     void (*draw)(struct trace *t, uint64_t which, uint32_t tid, uint32_t row,
				  bool fresh),
		     uint64_t *left_out)
{
	struct rows rows = {0};
	struct bars b;
	int err = bars_choose(t, get, n, &b);

	for (uint64_t i = 0; !err && i < b.n; i++) {
		bool fresh;
		uint32_t row;

		if (!i || b.bar[i].group != b.bar[i - 1].group)
			rows = (struct rows){0};
		row = row_for(t, &rows, &b.bar[i], &fresh);
		if (row == ROWS_MAX)
			++*left_out;
		else
			draw(t, b.bar[i].which, rows.tid[row], row, fresh);
	}
	*left_out += b.left_out;
	free(b.bar);
	return err;
}

/* ---- Ranks, channels, steps, messages ---- */

/* The number of lanes makes a group's number: job, bars of ranks before those of messages, then
 * rank and lane or the followed connection. */
static bool span_bar(const struct trace *t, uint64_t i, struct bar *out)
{
	const struct rs_series_span *s = &t->r->series->spans[i];
	uint64_t lanes = t->r->jobs[s->job].coll ? t->r->jobs[s->job].coll->n_lanes : 1;

	out->from = s->from;
	out->to = s->to;
	out->which = i;
	out->group = (uint64_t)s->job << 48;
	out->group |= s->kind == RS_SPAN_MESSAGE ? UINT64_C(1) << 47 | s->lane
						 : s->rank * lanes + s->lane;
	return true;
}

static const struct rs_series_flow *followed(const struct rs_series *s, uint32_t number)
{
	for (uint32_t i = 0; i < s->n_flows; i++)
		if (s->flows[i].number == number)
			return &s->flows[i];
	return NULL;
}

static void name_lane(struct trace *t, uint32_t tid, const struct rs_series_span *s)
{
	const struct rs_sim_job *j = &t->r->jobs[s->job];
	uint32_t channels = j->coll->conf.channels,
		 gpu = rs_collective_gpu(&j->coll->conf, s->rank);
	uint32_t lanes =
		channels && j->coll->n_lanes % channels == 0 ? j->coll->n_lanes / channels : 0;
	char channel[64] = "";

	if (lanes > 1)
		snprintf(channel, sizeof(channel), "channel %" PRIu32 ", lane %" PRIu32,
			 s->lane / lanes, s->lane % lanes);
	else
		snprintf(channel, sizeof(channel), "%s %" PRIu32, lanes ? "channel" : "lane",
			 s->lane);
	named(t, "thread", PID_JOBS + s->job, tid, "rank %" PRIu32 " (%s), %s", s->rank,
	      t->f->hosts[rs_fabric_rank_host(t->f, gpu)].name, channel);
}

/* What tells a row of bars from the first: they overlap those of the rows before. */
static const char *further(uint32_t row, char text[24])
{
	if (row < 2)
		return row ? " (more)" : "";
	snprintf(text, 24, " (more, %u)", row);
	return text;
}

static void name_row(struct trace *t, uint32_t tid, const struct rs_series_span *s, uint32_t row)
{
	const struct rs_series_flow *f = followed(t->r->series, s->lane);
	char name[256] = "", more[24];

	if (s->kind != RS_SPAN_MESSAGE) {
		name_lane(t, tid, s);
		return;
	}
	if (f)
		rs_series_flow_name(t->d, f, name, sizeof(name));
	named(t, "thread", PID_JOBS + s->job, tid, "%s%s", name, further(row, more));
}

static void span_event(struct trace *t, uint32_t tid, const struct rs_series_span *s)
{
	static const char *const kinds[] = {[RS_SPAN_COMPUTE] = "compute",
					    [RS_SPAN_WAIT] = "wait",
					    [RS_SPAN_MESSAGE] = "message"};

	bar_begin(t, PID_JOBS + s->job, tid, s->from, s->to, kinds[s->kind]);
	fprintf(t->out, "\"rank\":%" PRIu32 ",\"%s\":%" PRIu32, s->rank,
		s->kind == RS_SPAN_MESSAGE ? "message" : "step", s->step);
	bar_end(t);
}

static void draw_span(struct trace *t, uint64_t which, uint32_t tid, uint32_t row, bool fresh)
{
	const struct rs_series_span *x = &t->r->series->spans[which];

	if (fresh)
		name_row(t, tid, x, row);
	span_event(t, tid, x);
}

/* ---- Flows ---- */

static bool flow_bar(const struct trace *t, uint64_t i, struct bar *out)
{
	const struct rs_sim_flow *w = &t->r->flows[i];

	out->from = w->start;
	out->to = end_of(t, w->finish);
	out->which = i;
	out->group = (uint64_t)w->job << 32 | w->src;
	return t->r->jobs[w->job].end != RS_SIM_LEFT_OUT && out->to >= out->from;
}

static void flow_event(struct trace *t, uint32_t tid, uint64_t id)
{
	const struct rs_sim_flow *w = &t->r->flows[id];
	rs_time to = end_of(t, w->finish);
	char name[160];

	snprintf(name, sizeof(name), "%s -> %s", t->f->endpoints[w->src].name,
		 t->f->endpoints[w->dst].name);
	bar_begin(t, PID_JOBS + w->job, tid, w->start, to, name);
	fprintf(t->out, "\"flow\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"finished\":%s", id, w->bytes,
		w->finish != RS_NEVER ? "true" : "false");
	if (w->finish != RS_NEVER && to > w->start)
		fprintf(t->out, ",\"goodput_gbps\":%.6g",
			(double)w->bytes * 8 / ((double)(to - w->start) / RS_S) / 1e9);
	bar_end(t);
}

static void draw_flow(struct trace *t, uint64_t which, uint32_t tid, uint32_t row, bool fresh)
{
	const struct rs_sim_flow *w = &t->r->flows[which];
	char more[24];

	if (fresh)
		named(t, "thread", PID_JOBS + w->job, tid, "flows from %s%s",
		      t->f->endpoints[w->src].name, further(row, more));
	flow_event(t, tid, which);
}

static void job_processes(struct trace *t)
{
	for (uint32_t i = 0; i < t->r->n_jobs; i++)
		named(t, "process", PID_JOBS + i, 0, "job %s", t->r->jobs[i].conf->name);
}

/* ---- Ports: counters, pauses ---- */

static rs_time bin_from(const struct trace *t, uint32_t bin)
{
	return (rs_time)bin * t->r->series->interval;
}

static rs_time bin_end(const struct trace *t, uint32_t bin)
{
	return rs_time_min(bin_from(t, bin + 1), rs_time_max(t->r->sim_time, bin_from(t, bin) + 1));
}

static double gbps(const struct trace *t, uint32_t bin, uint64_t bytes)
{
	rs_time took = bin_end(t, bin) - bin_from(t, bin);

	return (double)bytes * 8 / ((double)took / RS_S) / 1e9;
}

/* A counter with a value for each bin, from its begin on, and 0 at the end. as_rate: bytes as Gb/s.
 * Values that do not change are written once. */
static void bin_counter(struct trace *t, uint32_t pid, const char *of, const char *what,
			const char *unit, const uint64_t *row, bool as_rate)
{
	const struct rs_series *s = t->r->series;
	double last = 0;
	char name[160];
	bool any = false;

	snprintf(name, sizeof(name), "%s: %s", of, what);
	for (uint32_t b = 0; row && b < s->bins; b++) {
		double x = as_rate ? gbps(t, b, row[b]) : (double)row[b];

		if (x == last)
			continue;
		if (!any && b)
			counter(t, pid, 0, name, unit, 0);
		counter(t, pid, bin_from(t, b), name, unit, x);
		last = x;
		any = true;
	}
	if (last != 0)
		counter(t, pid,
			rs_time_max(bin_end(t, s->bins - 1), bin_from(t, s->bins - 1) + RS_NS),
			name, unit, 0);
}

/* Bins one after another in which the class was held, as one bar: how long it was in all. */
static void pause_bars(struct trace *t, uint32_t pid, const struct rs_series_port *p, unsigned tc)
{
	const struct rs_series *s = t->r->series;
	const rs_time *held = p->of[tc]->held;
	uint32_t tid = 0, b = 0, from;

	while (held && b < s->bins) {
		rs_time sum = 0;

		for (from = b; b < s->bins && held[b] > 0; b++)
			sum += held[b];
		if (b == from) {
			b++;
			continue;
		}
		if (!tid) {
			tid = ++t->tid;
			named(t, "thread", pid, tid, "%s: class %u paused", p->name, tc);
		}
		bar_begin(t, pid, tid, bin_from(t, from), bin_end(t, b - 1), "paused");
		fprintf(t->out, "\"held_ns\":%" PRId64 ",\"share\":%.4g", whole_ns(sum),
			(double)sum / (double)(bin_end(t, b - 1) - bin_from(t, from)));
		bar_end(t);
	}
}

struct busy_port {
	rs_time held;
	uint64_t peak, bytes;
	uint32_t i;
};

static int by_trouble(const void *x, const void *y)
{
	const struct busy_port *a = x, *b = y;

	if (a->held != b->held)
		return a->held > b->held ? -1 : 1;
	if (a->peak != b->peak)
		return a->peak > b->peak ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static int by_number(const void *x, const void *y)
{
	const struct busy_port *a = x, *b = y;

	return a->i < b->i ? -1 : a->i > b->i;
}

static struct busy_port judged(const struct rs_series *s, uint32_t i)
{
	const struct rs_series_port *p = &s->ports[i];
	struct busy_port o = {.i = i, .bytes = p->bytes};

	for (uint32_t b = 0; b < s->bins; b++) {
		if (p->peak && p->peak[b] > o.peak)
			o.peak = p->peak[b];
		for (unsigned m = p->classes; m; m &= m - 1)
			if (p->of[__builtin_ctz(m)]->held)
				o.held += p->of[__builtin_ctz(m)]->held[b];
	}
	return o;
}

static uint32_t process_of(const struct trace *t, const struct rs_series_port *p)
{
	return p->nic ? PID_HOSTS + t->f->endpoints[p->node].host : PID_SWITCHES + p->node;
}

static void port_events(struct trace *t, const struct rs_series_port *p)
{
	uint32_t pid = process_of(t, p);

	bin_counter(t, pid, p->name, "throughput", "Gb/s", p->carried, true);
	bin_counter(t, pid, p->name, "longest queue", "bytes", p->peak, false);
	bin_counter(t, pid, p->name, "marked", "packets", p->marks, false);
	bin_counter(t, pid, p->name, "dropped", "packets", p->drops, false);
	for (unsigned m = p->classes; m; m &= m - 1)
		pause_bars(t, pid, p, (unsigned)__builtin_ctz(m));
}

static void name_node(struct trace *t, const struct rs_series_port *p)
{
	if (p->nic)
		named(t, "process", process_of(t, p), 0, "host %s",
		      t->f->hosts[t->f->endpoints[p->node].host].name);
	else
		named(t, "process", process_of(t, p), 0, "switch %s", t->f->switches[p->node].name);
}

static int ports(struct trace *t)
{
	const struct rs_series *s = t->r->series;
	struct busy_port *o = calloc(s->n_ports + 1u, sizeof(*o));
	uint32_t last = 0, n = 0;

	if (!o)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_ports; i++) {
		o[n] = judged(s, i);
		n += o[n].bytes || o[n].held;
	}
	qsort(o, n, sizeof(*o), by_trouble);
	t->ports = n < PORTS_MAX ? n : PORTS_MAX;
	t->ports_left_out = n - t->ports;
	qsort(o, t->ports, sizeof(*o), by_number);
	for (uint32_t i = 0; i < t->ports; i++) {
		const struct rs_series_port *p = &s->ports[o[i].i];

		if (process_of(t, p) != last)
			name_node(t, p);
		last = process_of(t, p);
		port_events(t, p);
	}
	free(o);
	return 0;
}

/* ---- Connections, links inside hosts ---- */

static void connections(struct trace *t)
{
	const struct rs_series *s = t->r->series;
	char name[256];

	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct rs_series_flow *f = &s->flows[i];
		uint64_t *mbps = calloc(s->bins + 1u, sizeof(*mbps));

		rs_series_flow_name(t->d, f, name, sizeof(name));
		for (uint32_t b = 0; mbps && b < s->bins; b++)
			mbps[b] = (uint64_t)(f->rate[b] / 1000000);
		bin_counter(t, PID_JOBS + f->job, name, "rate", "Mb/s", mbps, false);
		bin_counter(t, PID_JOBS + f->job, name, "in flight", "bytes", f->in_flight, false);
		bin_counter(t, PID_JOBS + f->job, name, "sent again", "packets", f->resent, false);
		free(mbps);
	}
}

static int inside(struct trace *t)
{
	const struct rs_series *s = t->r->series;
	struct busy_port *o = calloc(s->n_inside + 1u, sizeof(*o));
	uint32_t n = 0;

	if (!o)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_inside; i++) {
		o[n] = (struct busy_port){.i = i};
		for (uint32_t b = 0; s->inside[i].bytes && b < s->bins; b++)
			o[n].bytes += s->inside[i].bytes[b];
		n += o[n].bytes > 0;
	}
	qsort(o, n, sizeof(*o), by_trouble);
	t->inside_left_out = n > INSIDE_MAX ? n - INSIDE_MAX : 0;
	n -= t->inside_left_out;
	qsort(o, n, sizeof(*o), by_number);
	for (uint32_t i = 0; i < n; i++)
		bin_counter(t, PID_SCENARIO, s->inside[o[i].i].name, "throughput", "Gb/s",
			    s->inside[o[i].i].bytes, true);
	free(o);
	return 0;
}

/* ---- All ---- */

/* What the trace is of, and what it leaves out. */
static void about(struct trace *t)
{
	const struct rs_series *s = t->r->series;

	fputs("\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"scenario\":", t->out);
	rs_json_text(t->out, t->d->scenario);
	fprintf(t->out,
		",\"seed\":%" PRIu64 ",\"bin_ns\":%" PRId64 ",\"bars_left_out\":%" PRIu64
		",\"buckets_left_out\":%" PRIu64
		",\"bars_not_recorded\":%s,\"flows_left_out\":%" PRIu64 ",\"connections\":%" PRIu32
		",\"connections_followed\":%" PRIu32 ",\"ports_left_out\":%" PRIu32
		",\"links_inside_left_out\":%" PRIu32 "}}\n",
		t->d->seed, whole_ns(s->interval), t->bars_left_out, t->buckets_left_out,
		s->spans_cut ? "true" : "false", t->flows_left_out, s->connections, s->n_flows,
		t->ports_left_out, t->inside_left_out);
}

int rs_sim_perfetto(const struct rs_diagnosis *d, FILE *out)
{
	struct trace t = {.d = d, .f = d->cases[0].fabric, .r = d->cases[0].result, .out = out};
	int err;

	fputs("{\"traceEvents\":[", out);
	jobs(&t);
	job_processes(&t);
	if ((err = bars_draw(&t, span_bar, t.r->series->n_spans, draw_span, &t.bars_left_out)) ||
	    (err = bars_draw(&t, flow_bar, t.r->n_flows, draw_flow, &t.flows_left_out)) ||
	    (err = ports(&t)) || (err = inside(&t)))
		return err;
	connections(&t);
	about(&t);
	return ferror(out) ? -EIO : 0;
}
