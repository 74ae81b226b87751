/* What `ripstop sim` prints for people: what ran, what it took, what holds it back, what fixes
 * give. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/sim_report.h"
#include "report/report.h"

rs_time rs_case_time(const struct rs_sim_case *c)
{
	const struct rs_sim_job *j = c->result->jobs;

	if (!c->result->n_jobs || !j->done)
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

static const char *const job_unit[] = {"the flows' completion", "the collective",
				       "the training step"};

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

	fprintf(out, "%s (%s over %u ranks)%s\n", rs_coll_op_name(c->conf.op),
		rs_coll_algorithm_name(c->conf.algorithm), c->n_ranks,
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

static void print_flows(const struct rs_sim_report *r, uint32_t n, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;
	static const double percent[] = {0, 50, 90, 99, 100};
	static const char *const name[] = {"min", "p50", "p90", "p99", "max"};
	struct rs_table *t = rs_table_create(NULL);
	uint32_t done = 0, all = 0;
	char text[32];

	for (uint32_t i = 0; i < s->n_flows; i++)
		if (s->flows[i].job == n) {
			all++;
			done += s->flows[i].finish != RS_NEVER;
		}
	fprintf(out, "Flows: %u of %u finished; completion times\n", done, all);
	for (unsigned i = 0; i < 5; i++)
		rs_table_column(t, name[i], RS_RIGHT);
	rs_table_row(t);
	for (unsigned i = 0; i < 5; i++)
		rs_table_cell(t, "%s",
			      rs_human_time(text, sizeof(text), rs_sim_fct(s, n, percent[i])));
	rs_table_print(t, out);
	fputc('\n', out);
}

static void print_counters(const struct rs_sim_counters *c, FILE *out)
{
	char q[32], p[32];

	rs_paragraph(
		out, 0,
		"Counters: %llu data packets over %llu hops (acknowledgements and CNPs: %llu "
		"hops), "
		"%llu ECN marks, %llu CNPs, %llu pauses by switches and %llu by NICs (ports paused "
		"for %s in all), %llu drops, %llu retransmitted packets, %llu timeouts; longest "
		"queue %s.",
		(unsigned long long)c->data_packets, (unsigned long long)c->packet_hops,
		(unsigned long long)c->ack_hops, (unsigned long long)c->ecn_marked,
		(unsigned long long)c->cnps, (unsigned long long)c->pauses,
		(unsigned long long)c->nic_pauses, rs_human_time(p, sizeof(p), c->paused),
		(unsigned long long)(c->drops + c->nic_drops + c->link_losses),
		(unsigned long long)c->retransmits, (unsigned long long)c->timeouts,
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

static uint32_t sorted(const struct rs_sim_report *r, enum rs_case_kind kind,
		       const struct rs_sim_case **list)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < r->n; i++)
		if (r->info[i].kind == kind)
			list[n++] = &r->cases[i];
	qsort(list, n, sizeof(*list), by_gain);
	return n;
}

static void print_cases(const struct rs_sim_report *r, enum rs_case_kind kind, rs_time ideal,
			FILE *out)
{
	const struct rs_sim_case **list = calloc(r->n + 1u, sizeof(*list));
	rs_time base = rs_case_time(&r->cases[0]);
	uint32_t n = list ? sorted(r, kind, list) : 0;
	struct rs_table *t;
	char text[32], bar[32];

	if (n) {
		t = rs_table_create(NULL);
		rs_table_column(t, kind == RS_CASE_FIX ? "fix" : "made ideal", RS_LEFT);
		rs_table_column(t, "time", RS_RIGHT);
		rs_table_column(t, kind == RS_CASE_FIX ? "gain" : "share of lost time", RS_RIGHT);
		rs_table_column(t, "", RS_LEFT);
		for (uint32_t i = 0; i < n; i++) {
			rs_time c = rs_case_time(list[i]);
			double saved = c == RS_NEVER ? NAN : (double)(base - c);
			double of = kind == RS_CASE_FIX ? (double)base : (double)(base - ideal);
			double share = of > 0 ? saved / of : 0;

			rs_table_row(t);
			rs_table_cell(t, "%s", list[i]->name);
			rs_table_cell(t, "%s", rs_human_time(text, sizeof(text), c));
			if (isnan(saved))
				rs_table_cell(t, "does not finish");
			else
				rs_table_cell(t, "%.1f%%", 100 * share);
			rs_bar(bar, sizeof(bar), share > 0 ? share : 0, 20);
			rs_table_cell(t, "%s", bar);
		}
		rs_table_print(t, out);
		fputc('\n', out);
	}
	free(list);
}

static void diagnose(const struct rs_sim_report *r, FILE *out)
{
	rs_time base = rs_case_time(&r->cases[0]), ideal = base;
	const struct rs_sim_job *j = &r->cases[0].result->jobs[0];
	char a[32], b[32];

	if (r->n < 2 || base == RS_NEVER)
		return;
	for (uint32_t i = 1; i < r->n; i++)
		if (r->info[i].kind == RS_CASE_IDEAL && rs_case_time(&r->cases[i]) != RS_NEVER)
			ideal = rs_case_time(&r->cases[i]);
	fputs("WHAT HOLDS IT BACK\n", out);
	rs_paragraph(
		out, 0,
		"%s takes %s; with everything ideal %s: %.1f%% is lost. Each line is the same run "
		"with one thing made ideal; shares need not add up, since what one fault hides "
		"another shows.",
		job_unit[j->conf->kind], rs_human_time(a, sizeof(a), base),
		rs_human_time(b, sizeof(b), ideal),
		base > 0 ? 100 * (1 - (double)ideal / (double)base) : 0);
	print_cases(r, RS_CASE_COUNTERFACTUAL, ideal, out);
	fputs("WHAT EACH FIX GIVES\n", out);
	print_cases(r, RS_CASE_FIX, ideal, out);
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
