/* What `ripstop sim` prints for people: what ran, what it took, what holds it back, what fixes
 * give. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/sim_report.h"
#include "rdma/nic.h"
#include "report/report.h"

enum {
	SHARED_MAX = 8, /* jobs that are looked at for GPUs in common: a bit each */
	NAMED = 4,      /* NICs or switches of a list; the rest is counted */
};

/* ---- What was simulated ---- */

static const char *status_words(uint8_t status)
{
	switch (status) {
	case RS_WC_RETRY_EXC_ERR:
		return "no acknowledgement came, however often it was sent again (retry exceeded)";
	case RS_WC_RNR_RETRY_EXC_ERR:
		return "the receiver had no receive posted, however often it was asked (RNR retry "
		       "exceeded)";
	case RS_WC_REM_ACCESS_ERR:
		return "the receiver refused the key or the address (remote access error)";
	case RS_WC_REM_INV_REQ_ERR:
		return "the receiver refused the request (remote invalid request)";
	case RS_WC_REM_OP_ERR:
		return "the receiver could not carry it out (remote operation error)";
	default:
		return "it ended in error";
	}
}

static void print_failures(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_fabric *f = r->cases[0].fabric;
	const struct rs_sim_result *s = r->cases[0].result;

	for (uint32_t i = 0; i < s->n_failures && i < 3; i++) {
		const struct rs_sim_failure *x = &s->failures[i];

		rs_paragraph(out, 2, "'%s', %s to %s: %s.%s%s%s", s->jobs[x->job].conf->name,
			     f->endpoints[x->src].name, f->endpoints[x->dst].name,
			     status_words(x->status),
			     x->place[0] ? " Most of its packets were lost at " : "", x->place,
			     x->place[0] ? "." : "");
	}
	if (s->n_failures > 3)
		rs_paragraph(out, 2, "and %u more", s->n_failures - 3);
}

static void print_deadlock(const struct rs_sim_deadlock *k, FILE *out)
{
	char t[32];

	rs_paragraph(
		out, 0,
		"DEADLOCK (PFC): since %s these ports wait for each other in class %u, and none of "
		"them can ever send:",
		rs_human_time(t, sizeof(t), k->since), k->tc);
	for (uint32_t i = 0; i < k->n; i++)
		fprintf(out, "  %s\n", k->port[i].name);
	rs_paragraph(
		out, 0,
		"Break the circle: routes without it (up, then down), or a class for each turn of "
		"it, or a PFC watchdog, which drops (fabric.qos.watchdog).");
}

/* Why a job did not end, to follow its name. */
static const char *const end_words[] = {
	[RS_SIM_DONE] = NULL,
	[RS_SIM_FAILED] = "cannot end: a queue pair that it needs ended in error",
	[RS_SIM_DEADLOCK] = "cannot end: its packets wait in the circle above, or behind it",
	[RS_SIM_NO_TIMEOUT] =
		"cannot end: packets of it were lost, and nothing sends them again, since "
		"transport.timeout is 0",
	[RS_SIM_STOPPED] = "was still under way",
	[RS_SIM_LEFT_OUT] = NULL,
	[RS_SIM_STUCK] =
		"does not end, and nothing more happens: please report this as a defect, with "
		"the scenario",
};

/* Why a run ended before its jobs did. */
static void unfinished(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	if (s->complete)
		return;
	if (s->deadlock.n)
		print_deadlock(&s->deadlock, out);
	else if (s->stopped)
		rs_paragraph(out, 0,
			     "The run was stopped before its jobs ended: figures are partial.");
	for (uint32_t i = 0; i < s->n_jobs; i++) {
		const struct rs_sim_job *j = &s->jobs[i];

		if (end_words[j->end])
			rs_paragraph(out, 0, "Job '%s' %s.%s%s%s", j->conf->name, end_words[j->end],
				     j->place[0] && j->end != RS_SIM_FAILED ? " Most were lost at "
									    : "",
				     j->end != RS_SIM_FAILED ? j->place : "",
				     j->place[0] && j->end != RS_SIM_FAILED ? "." : "");
	}
	print_failures(r, out);
}

/* NICs that a job could use and that carried nothing: names, as many as fit. */
static void print_idle_nics(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_fabric *f = r->cases[0].fabric;
	const struct rs_sim_result *s = r->cases[0].result;
	struct rs_enumeration names = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; s->nic_bytes && i < f->n_endpoints; i++)
		if (!s->nic_bytes[i] && n++ < NAMED)
			rs_enumerate(&names, ", ", "%.40s", f->endpoints[i].name);
	if (n && n < f->n_endpoints)
		rs_paragraph(out, 0, "%u of %u NICs sent nothing: %s%s.", n, f->n_endpoints,
			     names.text, n > NAMED ? " and others" : "");
}

static uint32_t ranks_of(const struct rs_fabric *f, const struct rs_collective_conf *c)
{
	return !c ? 0 : c->n_ranks ? c->n_ranks : f->n_gpus;
}

/* Jobs that stand on the same GPUs, as far as a few lines go. on: room for a byte a GPU, all 0. */
static void print_shared(const struct rs_fabric *f, uint8_t *on, FILE *out)
{
	const struct rs_collective_conf *c[SHARED_MAX];
	uint32_t jobs = f->n_jobs < SHARED_MAX ? f->n_jobs : SHARED_MAX;

	for (uint32_t i = 0; i < jobs; i++) {
		c[i] = rs_job_collective(&f->jobs[i]);
		for (uint32_t r = 0; r < ranks_of(f, c[i]); r++)
			on[rs_collective_gpu(c[i], r)] |= (uint8_t)(1u << i);
	}
	for (uint32_t a = 0; a < jobs; a++)
		for (uint32_t b = a + 1; b < jobs; b++) {
			uint32_t n = 0;

			for (uint32_t i = 0; i < f->n_gpus; i++)
				n += on[i] >> a & on[i] >> b & 1;
			if (n)
				rs_paragraph(out, 0,
					     "Jobs '%s' and '%s' stand on the same GPUs: %u.",
					     f->jobs[a].name, f->jobs[b].name, n);
		}
}

/* What the paragraph says of buffers and PFC does not hold there. */
static void print_odd_switches(const struct rs_fabric *f, FILE *out)
{
	struct rs_enumeration names = {0};
	char more[32] = "";
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_switches; i++)
		if (memcmp(rs_fabric_qos(f, i), &f->qos, sizeof(f->qos)) && n++ < NAMED)
			rs_enumerate(&names, ", ", "%.40s", f->switches[i].name);
	if (n > NAMED)
		snprintf(more, sizeof(more), " and %u more", n - NAMED);
	if (n)
		rs_paragraph(out, 0, "Set otherwise than fabric.qos says: %s%s.", names.text, more);
}

static void describe(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_fabric *f = r->cases[0].fabric;
	uint8_t *on = f->n_jobs > 1 ? calloc(f->n_gpus + 1u, sizeof(*on)) : NULL;
	char rate[32], size[32], ccs[64];

	if (f->title)
		fprintf(out, "%s\n", f->title);
	if (f->about)
		rs_paragraph(out, 0, "%s", f->about);
	fputc('\n', out);
	rs_paragraph(
		out, 0,
		"Simulated packet by packet: %u host%s, %u GPU%s, %u NIC port%s of %s, %u switch%s "
		"with %s of buffer each, path MTU %u, %scongestion control %s, PFC %s,%s seed "
		"%llu.",
		f->n_hosts, f->n_hosts == 1 ? "" : "s", f->n_gpus, f->n_gpus == 1 ? "" : "s",
		f->n_endpoints, f->n_endpoints == 1 ? "" : "s",
		rs_human_rate(rate, sizeof(rate), (double)f->endpoints[0].rate), f->n_switches,
		f->n_switches == 1 ? "" : "es",
		f->qos.buffer ? rs_human_bytes(size, sizeof(size), (double)f->qos.buffer)
			      : "unlimited",
		f->transport.mtu, rs_fabric_has_uet(f) ? "Ultra Ethernet, " : "",
		rs_fabric_cc_names(f, ccs, sizeof(ccs)), f->qos.pfc ? "on" : "off",
		f->transport.recovery == RS_FABRIC_SELECTIVE ? " selective recovery," : "",
		(unsigned long long)r->seed);
	for (uint32_t i = 0; i < f->n_unknown && i < 8; i++)
		rs_paragraph(out, 2, "Unknown: %s", f->unknown[i]);
	if (f->n_unknown > 8)
		rs_paragraph(out, 2, "and %u more unknowns; `ripstop fabric show` lists them",
			     f->n_unknown - 8);
	print_odd_switches(f, out);
	if (on)
		print_shared(f, on, out);
	free(on);
	unfinished(r, out);
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
	double alg = gbps(c->conf.bytes, j->further);
	struct rs_table *t;
	char over[80], what[80] = "";
	const char *algo, *proto;
	int channels;

	if (rs_coll_chosen(c, &algo, &proto, &channels))
		snprintf(what, sizeof(what), " (%s %s, %d channel%s)", algo, proto, channels,
			 channels == 1 ? "" : "s");
	if (c->conf.group && c->conf.group < c->n_ranks)
		snprintf(over, sizeof(over), "%u groups of %u ranks each, all at once",
			 c->n_ranks / c->conf.group, c->conf.group);
	else
		snprintf(over, sizeof(over), "%u ranks", c->n_ranks);
	rs_paragraph(out, 0, "%s%s, %s%s over %s%s", rs_coll_op_name(c->conf.op),
		     j->conf->kind == RS_JOB_TRAIN ? " of a bucket of gradients" : "",
		     rs_coll_algorithm_name(c->conf.algorithm), what, over,
		     j->done ? "" : ": did not finish");
	if (!j->done)
		return;
	t = rs_table_create(NULL);
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

/* What the first unit of a rank waited for, and bytes, by what they are for. */
static void print_whys(const struct rs_program_result *w, FILE *out)
{
	struct rs_table *t = rs_table_create(NULL);
	char a[32];

	rs_table_column(t, "for", RS_LEFT);
	rs_table_column(t, "sent", RS_RIGHT);
	rs_table_column(t, "through NICs", RS_RIGHT);
	rs_table_column(t, "computing waits", RS_RIGHT);
	rs_table_column(t, "of the time", RS_RIGHT);
	for (int i = 0; i < RS_WHYS; i++) {
		if (!w->bytes[i] && !w->exposed[i])
			continue;
		rs_table_row(t);
		rs_table_cell(t, "%s", rs_work_whys[i]);
		rs_table_cell(t, "%s", rs_human_bytes(a, sizeof(a), (double)w->bytes[i]));
		rs_table_cell(t, "%s", rs_human_bytes(a, sizeof(a), (double)w->outside[i]));
		rs_table_cell(t, "%s", rs_human_time(a, sizeof(a), w->exposed[i]));
		rs_table_cell(t, "%.1f%%", 100 * (double)w->exposed[i] / (double)w->step);
	}
	rs_table_print(t, out);
	fputc('\n', out);
}

static void print_step(const struct rs_sim_job *j, FILE *out)
{
	const struct rs_step_plan *p = &j->step;
	const struct rs_model *m = &j->conf->train.step.model;
	const struct rs_program_result *w = &j->work;
	char a[32], b[32], c[32];

	fprintf(out,
		"Training step%s%s: data %u x context %u x tensor %u x pipeline %u, expert %u\n",
		m->name ? " of " : "", m->name ? m->name : "", p->dp, p->cp, p->tp, p->pp, p->ep);
	rs_paragraph(out, 2,
		     "%.4g parameters (a token meets %.4g), %.4g tokens in %u microbatches a "
		     "replica, %.4g FLOP; each GPU achieves %.4g FLOP/s while it computes. Memory "
		     "is not simulated.",
		     p->parameters, p->active, p->tokens, p->microbatches, p->flops, p->rate);
	if (!j->done) {
		rs_paragraph(out, 2, "It did not finish.");
		return;
	}
	rs_paragraph(out, 2,
		     "step %s = compute %s + waits %s (mean of ranks); compute is %.1f%% of the "
		     "step; %.4g tokens/s.",
		     rs_human_time(a, sizeof(a), w->step), rs_human_time(b, sizeof(b), w->compute),
		     rs_human_time(c, sizeof(c), w->step - w->compute), 100 * j->train.efficiency,
		     p->tokens / ((double)w->step / RS_S));
	rs_paragraph(
		out, 2,
		"Were bytes to take no time, it would take %s: the pipeline's bubble is in it.",
		rs_human_time(a, sizeof(a), w->dry));
	if (j->conf->train.step.scale > 1)
		rs_paragraph(out, 2,
			     "Run with bytes and compute times divided by %u, results multiplied: "
			     "latencies weigh %u times too much.",
			     j->conf->train.step.scale, j->conf->train.step.scale);
	print_whys(w, out);
}

static void print_trace(const struct rs_sim_job *j, FILE *out)
{
	const struct rs_program_result *w = &j->work;
	char a[32], b[32], c[32];

	fprintf(out, "%s: a trace of %u ranks, %llu nodes\n", j->conf->name, j->coll->n_ranks,
		(unsigned long long)j->program->work->n_nodes);
	if (j->program->work->missing)
		rs_paragraph(out, 2,
			     "%llu dependencies name nodes that the trace does not have, or a node "
			     "itself. They were left out.",
			     (unsigned long long)j->program->work->missing);
	if (j->program->work->unmatched)
		rs_paragraph(
			out, 2,
			"%llu operations are not in the logs of all their ranks, or have no times. "
			"They were left out.",
			(unsigned long long)j->program->work->unmatched);
	if (!j->done) {
		rs_paragraph(out, 2, "It did not finish.");
		return;
	}
	rs_paragraph(out, 2,
		     "It takes %s; %s, were bytes to take no time. GPUs compute for %s (mean of %u "
		     "ranks that do).",
		     rs_human_time(a, sizeof(a), w->step), rs_human_time(b, sizeof(b), w->dry),
		     rs_human_time(c, sizeof(c), w->compute), w->ranks);
	print_whys(w, out);
}

static void serve_row(struct rs_table *t, const char *what, const rs_time v[3])
{
	char text[32];

	rs_table_row(t);
	rs_table_cell(t, "%s", what);
	for (int i = 0; i < 3; i++)
		rs_table_cell(t, "%s", rs_human_time(text, sizeof(text), v[i]));
}

static void print_serve(const struct rs_sim_job *j, FILE *out)
{
	const struct rs_serve_conf *c = &j->conf->serve;
	const struct rs_serve_result *r = &j->serve;
	struct rs_table *t = rs_table_create(NULL);
	char a[32];

	fprintf(out, "%s: %u GPUs prefill, %u decode; %u of %u requests have their first token\n",
		j->conf->name, c->prefill, c->decode, r->done, c->requests);
	rs_table_column(t, "of requests", RS_LEFT);
	rs_table_column(t, "p50", RS_RIGHT);
	rs_table_column(t, "p90", RS_RIGHT);
	rs_table_column(t, "p99", RS_RIGHT);
	serve_row(t, "from arrival to the first token", r->first);
	serve_row(t, "of that: keys and values still moving after the prefill", r->moving);
	rs_table_print(t, out);
	if (c->slo != RS_NEVER)
		rs_paragraph(out, 2, "%u of %u are good (first token within %s): %.4g a second.",
			     r->good, c->requests, rs_human_time(a, sizeof(a), c->slo), r->rate);
	else
		rs_paragraph(out, 2, "%.4g requests a second.", r->rate);
	fputc('\n', out);
}

static void print_work(const struct rs_sim_job *j, FILE *out)
{
	if (j->conf->kind == RS_JOB_TRAIN)
		print_step(j, out);
	else if (j->conf->kind == RS_JOB_TRACE)
		print_trace(j, out);
	else
		print_serve(j, out);
}

static void print_train(const struct rs_sim_job *j, const struct rs_diagnosis *r, uint32_t n,
			FILE *out)
{
	const struct rs_train_plan *p = &j->plan;
	rs_time ideal;
	uint32_t by;
	char a[32], b[32], c[32], d[32];

	ideal = rs_least_time(r, n, &by);
	fprintf(out, "Training step: data %u x tensor %u x pipeline %u\n", p->dp, p->tp, p->pp);
	rs_paragraph(
		out, 2,
		"step %s = compute %s + exposed communication %s (of %s in all); compute is %.1f%% "
		"of the step.",
		rs_human_time(a, sizeof(a), j->train.step),
		rs_human_time(b, sizeof(b), j->train.compute),
		rs_human_time(c, sizeof(c), j->train.exposed),
		rs_human_time(d, sizeof(d), j->train.communication), 100 * j->train.efficiency);
	if (r->whole && ideal != RS_NEVER && j->train.step > 0)
		rs_paragraph(
			out, 2,
			"Scaling efficiency against the same job with everything ideal: %.1f%%.",
			100 * (double)ideal / (double)rs_case_job_time(r, 0, n));
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

static void print_flows(const struct rs_diagnosis *r, uint32_t n, FILE *out)
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
	char trimmed[48] = "";
	char q[32], p[32], pauses[160] = "no pauses (PFC)", losses[128] = "nothing lost";

	if (c->pauses + c->nic_pauses)
		snprintf(pauses, sizeof(pauses),
			 "%llu pauses (PFC) by switches and %llu by NICs, which held ports for %s "
			 "in "
			 "all",
			 (unsigned long long)c->pauses, (unsigned long long)c->nic_pauses,
			 rs_human_time(p, sizeof(p), c->paused));
	if (c->trimmed)
		snprintf(trimmed, sizeof(trimmed), " %llu trimmed,",
			 (unsigned long long)c->trimmed);
	if (lost + c->retransmits + c->timeouts)
		snprintf(losses, sizeof(losses),
			 "%llu packets lost,%s %llu sent again, %llu timeouts",
			 (unsigned long long)lost, trimmed, (unsigned long long)c->retransmits,
			 (unsigned long long)c->timeouts);
	rs_paragraph(out, 0,
		     "Counters: %llu data packet%s over %llu hops (ACKs and CNPs: %llu hops); %llu "
		     "ECN marks, %llu CNPs; %s; %s; longest queue %s.",
		     (unsigned long long)c->data_packets, c->data_packets == 1 ? "" : "s",
		     (unsigned long long)c->packet_hops, (unsigned long long)c->ack_hops,
		     (unsigned long long)c->ecn_marked, (unsigned long long)c->cnps, pauses, losses,
		     rs_human_bytes(q, sizeof(q), (double)c->max_queue));
	fputc('\n', out);
}

/* What followed each event. */
static void print_regains(const struct rs_fabric *f, const struct rs_sim_result *s, FILE *out)
{
	for (uint32_t i = 0; i < s->n_regains; i++) {
		const struct rs_sim_regain *x = &s->regains[i];
		char at[32], time[32], before[32], least[32], left[32], until[128];

		rs_human_rate(left, sizeof(left), (double)x->left);
		if (!x->left)
			snprintf(until, sizeof(until),
				 "nothing was received in the second half of what followed");
		else if (!x->time)
			snprintf(until, sizeof(until), "it stayed above 95 %% of %s", left);
		else if (x->time == RS_NEVER)
			snprintf(until, sizeof(until), "95 %% of %s was not regained", left);
		else
			snprintf(until, sizeof(until),
				 "95 %% of the %s that is left after %s, %s at least", left,
				 rs_human_time(time, sizeof(time), x->time),
				 rs_human_rate(least, sizeof(least), (double)x->least));
		rs_paragraph(out, 0, "%s %s at %s: %s before; %s.",
			     rs_fabric_event_text(&f->events, x->event),
			     x->begins ? "begins" : "ends", rs_human_time(at, sizeof(at), x->at),
			     rs_human_rate(before, sizeof(before), (double)x->before), until);
	}
	if (s->n_regains)
		fputc('\n', out);
}

void rs_sim_print(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	describe(r, out);
	for (uint32_t i = 0; i < s->n_jobs; i++) {
		const struct rs_sim_job *j = &s->jobs[i];

		if (j->conf->kind == RS_JOB_FLOWS) {
			print_flows(r, i, out);
			continue;
		}
		if (j->program) {
			print_work(j, out);
			continue;
		}
		print_collective(j, out);
		if (j->conf->kind == RS_JOB_TRAIN && j->done)
			print_train(j, r, i, out);
	}
	print_counters(&s->counters, out);
	print_regains(r->cases[0].fabric, s, out);
	if (s->n_jobs > 1 || s->jobs[0].conf->kind != RS_JOB_FLOWS)
		print_idle_nics(r, out);
	rs_sim_print_observed(r, out);
	rs_sim_print_diagnosis(r, out);
	fprintf(out, "%u run%s in %.1f s (%.1f s of CPU)\n", r->n, r->n == 1 ? "" : "s", r->wall_s,
		r->cpu_s);
}
