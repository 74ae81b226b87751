/* What `ripstop sim` prints for people: what ran, what it took, what holds it back, what fixes
 * give. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/sim_report.h"
#include "report/report.h"

enum { BAR = 12 };

static rs_time job_time(const struct rs_sim_job *j)
{
	if (!j->done)
		return RS_NEVER;
	switch (j->conf->kind) {
	case RS_JOB_TRAIN:
		return j->train.step;
	case RS_JOB_COLLECTIVE:
		return j->further;
	case RS_JOB_FLOWS:
		break;
	}
	return j->finish - j->start;
}

rs_time rs_case_time(const struct rs_sim_case *c)
{
	rs_time all = 0;

	for (uint32_t i = 0; i < c->result->n_jobs; i++) {
		rs_time t = job_time(&c->result->jobs[i]);

		if (t == RS_NEVER)
			return RS_NEVER;
		all += t;
	}
	return c->result->n_jobs ? all : RS_NEVER;
}

/* What the times compared are of, to begin a sentence with. */
static const char *what_takes(const struct rs_sim_result *s, char *buf, size_t size)
{
	static const char *const unit[] = {
		"From the first flow's start to the last one's end it takes",
		"The collective takes", "The training step takes"};

	if (s->n_jobs == 1)
		return unit[s->jobs[0].conf->kind];
	snprintf(buf, size, "The %u jobs together (their times added) take", s->n_jobs);
	return buf;
}

/* ---- What was simulated ---- */

static void describe(const struct rs_sim_report *r, FILE *out)
{
	const struct rs_fabric *f = r->cases[0].fabric;
	const struct rs_sim_result *s = r->cases[0].result;
	char rate[32], size[32];

	if (f->title)
		fprintf(out, "%s\n", f->title);
	if (f->about)
		rs_paragraph(out, 0, "%s", f->about);
	fputc('\n', out);
	rs_paragraph(
		out, 0,
		"Simulated packet by packet: %u host%s, %u GPU%s, %u NIC port%s of %s, %u switch%s "
		"with %s of buffer each, path MTU %u, congestion control %s, PFC %s, seed %llu.",
		f->n_hosts, f->n_hosts == 1 ? "" : "s", f->n_gpus, f->n_gpus == 1 ? "" : "s",
		f->n_endpoints, f->n_endpoints == 1 ? "" : "s",
		rs_human_rate(rate, sizeof(rate), (double)f->endpoints[0].rate), f->n_switches,
		f->n_switches == 1 ? "" : "es",
		f->qos.buffer ? rs_human_bytes(size, sizeof(size), (double)f->qos.buffer)
			      : "unlimited",
		f->transport.mtu, f->cc.kind ? f->cc.kind : "dcqcn", f->qos.pfc ? "on" : "off",
		(unsigned long long)r->seed);
	for (uint32_t i = 0; i < f->n_unknown && i < 8; i++)
		rs_paragraph(out, 2, "Unknown: %s", f->unknown[i]);
	if (f->n_unknown > 8)
		rs_paragraph(out, 2, "and %u more unknowns; `ripstop fabric show` lists them",
			     f->n_unknown - 8);
	if (!s->complete)
		rs_paragraph(
			out, 0, "%s",
			s->stopped
				? "The run was stopped before its jobs ended: figures are partial."
				: "Some jobs cannot end: nothing more happens, yet they are not "
				  "done.");
	fputc('\n', out);
}

/* ---- Jobs ---- */

static double gbps(uint64_t bytes, rs_time t)
{
	return t > 0 ? (double)bytes / ((double)t / RS_S) / 1e9 : 0;
}

static void print_collective(const struct rs_sim_job *j, FILE *out)
{
	const struct rs_coll *c = j->coll;
	struct rs_table *t = rs_table_create(NULL);
	double alg = gbps(c->conf.bytes, j->further);
	char over[80];

	if (c->conf.group && c->conf.group < c->n_ranks)
		snprintf(over, sizeof(over), "%u groups of %u ranks each, all at once",
			 c->n_ranks / c->conf.group, c->conf.group);
	else
		snprintf(over, sizeof(over), "%u ranks", c->n_ranks);
	rs_paragraph(out, 0, "%s%s, %s over %s%s", rs_coll_op_name(c->conf.op),
		     j->conf->kind == RS_JOB_TRAIN ? " of a bucket of gradients" : "",
		     rs_coll_algorithm_name(c->conf.algorithm), over,
		     j->done ? "" : ": did not finish");
	rs_table_column(t, "size (B)", RS_RIGHT);
	rs_table_column(t, "count", RS_RIGHT);
	rs_table_column(t, "type", RS_LEFT);
	rs_table_column(t, "time (us)", RS_RIGHT);
	rs_table_column(t, "algbw (GB/s)", RS_RIGHT);
	rs_table_column(t, "busbw (GB/s)", RS_RIGHT);
	rs_table_row(t);
	rs_table_cell(t, "%llu", (unsigned long long)c->conf.bytes);
	rs_table_cell(t, "%llu", (unsigned long long)c->count);
	rs_table_cell(t, "%s", c->conf.type ? c->conf.type : "float");
	rs_table_cell(t, "%.1f", (double)j->further / RS_US);
	rs_table_cell(t, "%.2f", alg);
	rs_table_cell(t, "%.2f", alg * (double)c->bus_numerator / (double)c->bus_denominator);
	rs_table_print(t, out);
	fputc('\n', out);
}

static void print_train(const struct rs_sim_job *j, const struct rs_sim_report *r, uint32_t n,
			FILE *out)
{
	const struct rs_train_plan *p = &j->plan;
	const struct rs_sim_job *ideal = NULL;
	char a[32], b[32], c[32], d[32];

	for (uint32_t i = 1; i < r->n; i++)
		if (r->info[i].kind == RS_CASE_IDEAL)
			ideal = &r->cases[i].result->jobs[n];
	fprintf(out, "Training step: data %u x tensor %u x pipeline %u\n", p->dp, p->tp, p->pp);
	rs_paragraph(
		out, 2,
		"step %s = compute %s + exposed communication %s (of %s in all); compute is %.1f%% "
		"of the step.",
		rs_human_time(a, sizeof(a), j->train.step),
		rs_human_time(b, sizeof(b), j->train.compute),
		rs_human_time(c, sizeof(c), j->train.exposed),
		rs_human_time(d, sizeof(d), j->train.communication), 100 * j->train.efficiency);
	if (ideal && ideal->done && j->train.step > 0)
		rs_paragraph(
			out, 2,
			"Scaling efficiency against the same job with everything ideal: %.1f%%.",
			100 * (double)ideal->train.step / (double)j->train.step);
	rs_paragraph(out, 2,
		     "Run packet by packet: %u of %u gradient buckets of %s a GPU; extended: the "
		     "others, "
		     "as the last of these (%s each, back to back).",
		     p->simulated_buckets, p->n_buckets,
		     rs_human_bytes(a, sizeof(a), (double)p->bucket_bytes),
		     rs_human_time(b, sizeof(b), j->further));
	fputc('\n', out);
}

static int by_time(const void *a, const void *b)
{
	rs_time x = *(const rs_time *)a, y = *(const rs_time *)b;

	return x < y ? -1 : x > y;
}

/* One row of percentiles (nearest rank) of a job's flows, for those that have got so far. */
static void flow_row(struct rs_table *t, const struct rs_sim_result *s, uint32_t job,
		     const char *what, size_t until)
{
	static const unsigned percent[] = {0, 50, 90, 99, 100};
	rs_time *took = calloc(s->n_flows + 1u, sizeof(*took));
	uint32_t n = 0;
	char text[32];

	for (uint32_t i = 0; took && i < s->n_flows; i++) {
		const struct rs_sim_flow *f = &s->flows[i];
		rs_time end = *(const rs_time *)(const void *)((const char *)f + until);

		if (f->job == job && end != RS_NEVER)
			took[n++] = end - f->start;
	}
	if (n) {
		qsort(took, n, sizeof(*took), by_time);
		rs_table_row(t);
		rs_table_cell(t, "%s", what);
	}
	for (unsigned i = 0; n && i < 5; i++) {
		uint32_t at = (uint32_t)((uint64_t)percent[i] * n / 100);

		rs_table_cell(t, "%s",
			      rs_human_time(text, sizeof(text), took[at < n ? at : n - 1]));
	}
	free(took);
}

static void print_flows(const struct rs_sim_report *r, uint32_t n, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;
	static const char *const name[] = {"min", "p50", "p90", "p99", "max"};
	struct rs_table *t = rs_table_create(NULL);
	uint32_t done = 0, all = 0;

	for (uint32_t i = 0; i < s->n_flows; i++)
		if (s->flows[i].job == n) {
			all++;
			done += s->flows[i].finish != RS_NEVER;
		}
	fprintf(out, "%s: %u of %u flow%s finished\n", s->jobs[n].conf->name, done, all,
		all == 1 ? "" : "s");
	rs_table_column(t, "from the start until", RS_LEFT);
	for (unsigned i = 0; i < 5; i++)
		rs_table_column(t, name[i], RS_RIGHT);
	flow_row(t, s, n, "the receiver's memory shows it",
		 offsetof(struct rs_sim_flow, delivered));
	flow_row(t, s, n, "the sender's last ACK", offsetof(struct rs_sim_flow, finish));
	rs_table_print(t, out);
	fputc('\n', out);
}

static void print_counters(const struct rs_sim_counters *c, FILE *out)
{
	uint64_t lost = c->drops + c->nic_drops + c->link_losses;
	char q[32], p[32], pauses[160] = "no pauses (PFC)", losses[128] = "nothing lost";

	if (c->pauses + c->nic_pauses)
		snprintf(pauses, sizeof(pauses),
			 "%llu pauses (PFC) by switches and %llu by NICs, which held ports for %s "
			 "in "
			 "all",
			 (unsigned long long)c->pauses, (unsigned long long)c->nic_pauses,
			 rs_human_time(p, sizeof(p), c->paused));
	if (lost + c->retransmits + c->timeouts)
		snprintf(losses, sizeof(losses),
			 "%llu packets lost, %llu sent again, %llu timeouts",
			 (unsigned long long)lost, (unsigned long long)c->retransmits,
			 (unsigned long long)c->timeouts);
	rs_paragraph(out, 0,
		     "Counters: %llu data packets over %llu hops (ACKs and CNPs: %llu hops); %llu "
		     "ECN marks, %llu CNPs; %s; %s; longest queue %s.",
		     (unsigned long long)c->data_packets, (unsigned long long)c->packet_hops,
		     (unsigned long long)c->ack_hops, (unsigned long long)c->ecn_marked,
		     (unsigned long long)c->cnps, pauses, losses,
		     rs_human_bytes(q, sizeof(q), (double)c->max_queue));
	fputc('\n', out);
}

/* ---- What holds it back, what fixes give ---- */

static int by_gain(const void *a, const void *b)
{
	const struct rs_sim_case *x = *(const struct rs_sim_case *const *)a;
	const struct rs_sim_case *y = *(const struct rs_sim_case *const *)b;
	rs_time tx = rs_case_time(x), ty = rs_case_time(y);

	return tx < ty ? -1 : tx > ty ? 1 : x < y ? -1 : x > y;
}

/* Nothing was lost: a run without loss would say nothing. */
static bool moot(const struct rs_sim_report *r, uint32_t i)
{
	const struct rs_sim_ideal *o = &r->cases[i].options.ideal;

	return r->info[i].kind == RS_CASE_COUNTERFACTUAL && o->no_loss &&
	       !r->cases[0].result->counters.link_losses;
}

static uint32_t sorted(const struct rs_sim_report *r, enum rs_case_kind kind,
		       const struct rs_sim_case **list)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < r->n; i++)
		if (r->info[i].kind == kind && !moot(r, i))
			list[n++] = &r->cases[i];
	qsort(list, n, sizeof(*list), by_gain);
	return n;
}

/* A thousandth of the time that is compared: what a table in tenths of a percent shows as 0. */
static bool no_change(rs_time base, rs_time t)
{
	return t != RS_NEVER && (t > base ? t - base : base - t) <= base / 2000;
}

static void gain_cells(struct rs_table *t, rs_time base, rs_time c, double of)
{
	double share = of > 0 ? (double)(base - c) / of : 0;
	char bar[32];

	rs_bar(bar, sizeof(bar), c != RS_NEVER && share > 0 ? share : 0, BAR);
	if (c == RS_NEVER)
		rs_table_cell(t, "does not finish");
	else if (c > base)
		rs_table_cell(t, "%.1f%% slower", 100 * ((double)c / (double)base - 1));
	else
		rs_table_cell(t, "%.1f%%", 100 * share);
	rs_table_cell(t, "%s", c != RS_NEVER && c > base ? "" : bar);
}

/* Those that change nothing, in one sentence. */
static void print_idle(const struct rs_sim_case **list, uint32_t n, rs_time base, FILE *out)
{
	char text[1024];
	size_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		if (no_change(base, rs_case_time(list[i])) && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? "; " : "",
					       list[i]->name);
	if (at)
		rs_paragraph(out, 0, "No change: %s.", text);
}

static struct rs_table *case_table(enum rs_case_kind kind)
{
	struct rs_table *t = rs_table_create(NULL);

	rs_table_column(t, kind == RS_CASE_FIX ? "fix" : "made ideal", RS_LEFT);
	rs_table_column(t, "takes", RS_RIGHT);
	rs_table_column(t, kind == RS_CASE_FIX ? "less time" : "of what is lost", RS_RIGHT);
	rs_table_column(t, "", RS_LEFT);
	return t;
}

static void print_cases(const struct rs_sim_report *r, enum rs_case_kind kind, rs_time ideal,
			FILE *out)
{
	const struct rs_sim_case **list = calloc(r->n + 1u, sizeof(*list));
	rs_time base = rs_case_time(&r->cases[0]);
	double of = kind == RS_CASE_FIX ? (double)base : (double)(base - ideal);
	uint32_t n = list ? sorted(r, kind, list) : 0;
	struct rs_table *t = NULL;
	char text[32];

	for (uint32_t i = 0; i < n; i++) {
		rs_time c = rs_case_time(list[i]);

		if (no_change(base, c))
			continue;
		t = t ? t : case_table(kind);
		rs_table_row(t);
		rs_table_cell(t, "%s", list[i]->name);
		rs_table_cell(t, "%s", c == RS_NEVER ? "-" : rs_human_time(text, sizeof(text), c));
		gain_cells(t, base, c, of);
	}
	if (t)
		rs_table_print(t, out);
	if (n)
		print_idle(list, n, base, out);
	free(list);
}

static const struct rs_sim_case *best(const struct rs_sim_report *r, enum rs_case_kind kind)
{
	const struct rs_sim_case *c = NULL;

	for (uint32_t i = 1; i < r->n; i++)
		if (r->info[i].kind == kind && !moot(r, i) &&
		    (!c || rs_case_time(&r->cases[i]) < rs_case_time(c)))
			c = &r->cases[i];
	return c;
}

/* The answer, for who reads only the end. */
static void sum_up(const struct rs_sim_report *r, const char *what, rs_time ideal, FILE *out)
{
	const struct rs_sim_case *cause = best(r, RS_CASE_COUNTERFACTUAL),
				 *fix = best(r, RS_CASE_FIX);
	rs_time base = rs_case_time(&r->cases[0]);
	bool inside = cause && cause->options.ideal.host && r->cases[0].result->n_links;
	char a[32], b[32];

	fputs("IN SHORT\n", out);
	rs_paragraph(out, 0, "%s %s; with everything ideal %s: %.1f%% of the time is lost.", what,
		     rs_human_time(a, sizeof(a), base), rs_human_time(b, sizeof(b), ideal),
		     base > ideal ? 100 * (1 - (double)ideal / (double)base) : 0);
	if (cause && rs_case_time(cause) < base - base / 100)
		rs_paragraph(out, 0, "What costs most: %s%s%s. Were that ideal, it would take %s.",
			     cause->name, inside ? ", where the busiest link is " : "",
			     inside ? r->cases[0].result->links[0].name : "",
			     rs_human_time(a, sizeof(a), rs_case_time(cause)));
	if (fix && rs_case_time(fix) < base && !no_change(base, rs_case_time(fix)))
		rs_paragraph(out, 0, "The best fix tried: %s. It would then take %s: %.1f%% less.",
			     fix->name, rs_human_time(a, sizeof(a), rs_case_time(fix)),
			     100 * (1 - (double)rs_case_time(fix) / (double)base));
	else if (fix)
		rs_paragraph(out, 0, "None of the fixes that were tried makes it faster.");
	fputc('\n', out);
}

/* Where inside the hosts it is tight. */
static void print_busiest(const struct rs_sim_result *s, FILE *out)
{
	char text[512];
	size_t at = 0;

	for (uint32_t i = 0; i < s->n_links && i < 3 && s->sim_time > 0; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %.0f%%", at ? ", " : "",
				       s->links[i].name,
				       100 * (double)s->links[i].busy / (double)s->sim_time);
	if (at)
		rs_paragraph(out, 0, "Busiest links inside the hosts, share of the time run: %s.",
			     text);
}

static void diagnose(const struct rs_sim_report *r, FILE *out)
{
	rs_time base = rs_case_time(&r->cases[0]), ideal = base;
	char buf[64];

	if (r->n < 2 || base == RS_NEVER)
		return;
	for (uint32_t i = 1; i < r->n; i++)
		if (r->info[i].kind == RS_CASE_IDEAL && rs_case_time(&r->cases[i]) != RS_NEVER)
			ideal = rs_case_time(&r->cases[i]);
	fputs("WHAT HOLDS IT BACK\n", out);
	rs_paragraph(out, 0,
		     "Each line is the same run with one thing made ideal. Shares need not add up: "
		     "what one fault hides another shows. Without pauses, or without congestion "
		     "control's cuts, a queue grows where there was none: that can be slower.");
	print_cases(r, RS_CASE_COUNTERFACTUAL, ideal, out);
	print_busiest(r->cases[0].result, out);
	fputc('\n', out);
	if (best(r, RS_CASE_FIX)) {
		fputs("WHAT EACH FIX GIVES\n", out);
		print_cases(r, RS_CASE_FIX, ideal, out);
		fputc('\n', out);
	}
	sum_up(r, what_takes(r->cases[0].result, buf, sizeof(buf)), ideal, out);
}

void rs_sim_print(const struct rs_sim_report *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	describe(r, out);
	for (uint32_t i = 0; i < s->n_jobs; i++) {
		const struct rs_sim_job *j = &s->jobs[i];

		if (j->failed)
			rs_paragraph(out, 0, "%u queue pair%s of '%s' ended in error.", j->failed,
				     j->failed == 1 ? "" : "s", j->conf->name);
		if (j->conf->kind == RS_JOB_FLOWS) {
			print_flows(r, i, out);
			continue;
		}
		print_collective(j, out);
		if (j->conf->kind == RS_JOB_TRAIN && j->done)
			print_train(j, r, i, out);
	}
	print_counters(&s->counters, out);
	diagnose(r, out);
	fprintf(out, "%u run%s in %.1f s (%.1f s of CPU)\n", r->n, r->n == 1 ? "" : "s", r->wall_s,
		r->cpu_s);
}
