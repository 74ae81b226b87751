/* A diagnosis as JSON: docs/schema/ripstop-sim-2.schema.json. */
#include <errno.h>
#include <math.h>
#include "diagnose/state.h"
#include "report/report.h"

static void time_ns(struct rs_json *j, const char *key, rs_time t)
{
	if (t == RS_NEVER)
		rs_json_string(j, key, NULL);
	else
		rs_json_number(j, key, (double)t / RS_NS);
}

static void number_or_null(struct rs_json *j, const char *key, bool known, double x)
{
	if (known)
		rs_json_number(j, key, x);
	else
		rs_json_string(j, key, NULL);
}

static const char *const ends[] = {
	[RS_SIM_DONE] = "done",         [RS_SIM_FAILED] = "failed",
	[RS_SIM_DEADLOCK] = "deadlock", [RS_SIM_NO_TIMEOUT] = "no-timeout",
	[RS_SIM_STOPPED] = "stopped",   [RS_SIM_STUCK] = "stuck",
	[RS_SIM_LEFT_OUT] = "left-out",
};

static double bandwidth(uint64_t bytes, rs_time t)
{
	return t > 0 ? (double)bytes / ((double)t / RS_S) / 1e9 : 0;
}

static void collective(struct rs_json *j, const struct rs_sim_job *b)
{
	const struct rs_coll *c = b->coll;
	double alg = bandwidth(c->conf.bytes, b->further);
	const char *chosen, *protocol;
	int channels;

	rs_json_string(j, "op", rs_coll_op_name(c->conf.op));
	rs_json_string(j, "algorithm", rs_coll_algorithm_name(c->conf.algorithm));
	if (rs_coll_chosen(c, &chosen, &protocol, &channels)) {
		rs_json_string(j, "chosen", chosen);
		rs_json_string(j, "protocol", protocol);
		rs_json_uint(j, "channels", (uint64_t)channels);
	}
	rs_json_uint(j, "bytes", c->conf.bytes);
	rs_json_uint(j, "count", c->count);
	rs_json_string(j, "type", c->conf.type);
	rs_json_uint(j, "n_ranks", c->n_ranks);
	time_ns(j, "time_ns", b->done ? b->further : RS_NEVER);
	number_or_null(j, "algbw_gbps", b->done, alg);
	number_or_null(j, "busbw_gbps", b->done,
		       alg * (double)c->bus_numerator / (double)c->bus_denominator);
}

static void train(struct rs_json *j, const struct rs_sim_job *b)
{
	const struct rs_train_plan *p = &b->plan;

	time_ns(j, "step_ns", b->done ? b->train.step : RS_NEVER);
	time_ns(j, "compute_ns", b->train.compute);
	time_ns(j, "communication_ns", b->train.communication);
	time_ns(j, "exposed_ns", b->train.exposed);
	rs_json_number(j, "efficiency", b->train.efficiency);
	rs_json_uint(j, "simulated_bytes", p->simulated_buckets * p->bucket_bytes);
	rs_json_uint(j, "extended_bytes", p->gradient_bytes);
	rs_json_uint(j, "simulated_buckets", p->simulated_buckets);
	rs_json_uint(j, "buckets", p->n_buckets);
}

static void whys(struct rs_json *j, const char *key, const uint64_t v[RS_WHYS])
{
	rs_json_object(j, key);
	for (int i = 0; i < RS_WHYS; i++)
		if (v[i])
			rs_json_uint(j, rs_work_whys[i], v[i]);
	rs_json_end(j);
}

/* A graph of work: what it sent and waited for, by what that was for. */
static void work(struct rs_json *j, const struct rs_sim_job *b)
{
	const struct rs_program_result *w = &b->work;

	rs_json_uint(j, "n_ranks", b->coll->n_ranks);
	time_ns(j, "time_ns", b->done ? w->step : RS_NEVER);
	time_ns(j, "dry_ns", w->dry);
	time_ns(j, "compute_ns", w->compute);
	whys(j, "sent_bytes", w->bytes);
	whys(j, "nic_bytes", w->outside);
	rs_json_object(j, "waits_ns");
	for (int i = 0; i < RS_WHYS; i++)
		if (w->exposed[i])
			time_ns(j, rs_work_whys[i], w->exposed[i]);
	rs_json_end(j);
}

static void step(struct rs_json *j, const struct rs_sim_job *b)
{
	const struct rs_step_plan *p = &b->step;

	time_ns(j, "step_ns", b->done ? b->train.step : RS_NEVER);
	time_ns(j, "exposed_ns", b->train.exposed);
	rs_json_number(j, "efficiency", b->train.efficiency);
	rs_json_number(j, "tokens", p->tokens);
	rs_json_number(j, "flops", p->flops);
	rs_json_uint(j, "scale", b->conf->train.step.scale);
}

static void serve(struct rs_json *j, const struct rs_sim_job *b)
{
	static const char *const first[] = {"first_p50_ns", "first_p90_ns", "first_p99_ns"};
	static const char *const moving[] = {"moving_p50_ns", "moving_p90_ns", "moving_p99_ns"};
	const struct rs_serve_result *r = &b->serve;

	rs_json_uint(j, "requests", b->conf->serve.requests);
	rs_json_uint(j, "requests_done", r->done);
	rs_json_uint(j, "requests_good", r->good);
	rs_json_number(j, "good_per_s", r->rate);
	for (int i = 0; i < 3; i++)
		time_ns(j, first[i], r->done ? r->first[i] : RS_NEVER);
	for (int i = 0; i < 3; i++)
		time_ns(j, moving[i], r->done ? r->moving[i] : RS_NEVER);
}

static void job(struct rs_json *j, const struct rs_sim_result *r, uint32_t i)
{
	const struct rs_sim_job *b = &r->jobs[i];
	uint32_t done = 0;

	rs_json_object(j, NULL);
	rs_json_string(j, "name", b->conf->name);
	rs_json_string(j, "kind", rs_job_kinds[b->conf->kind]);
	time_ns(j, "start_ns", b->start);
	time_ns(j, "finish_ns", b->done ? b->finish : RS_NEVER);
	rs_json_bool(j, "done", b->done);
	rs_json_string(j, "end", ends[b->end]);
	if (r->series)
		series_speed(j, &r->series->job_speed[i]);
	if (r->several_ccs) {
		rs_json_uint(j, "cc_cuts", b->cc_cuts);
		rs_json_uint(j, "cc_increases", b->cc_increases);
	}
	if (b->conf->kind == RS_JOB_FLOWS) {
		for (uint32_t k = 0; k < r->n_flows; k++)
			done += r->flows[k].job == i && r->flows[k].finish != RS_NEVER;
		rs_json_uint(j, "flows_done", done);
		time_ns(j, "p50_ns", rs_sim_fct(r, i, 50));
		time_ns(j, "p99_ns", rs_sim_fct(r, i, 99));
		time_ns(j, "max_ns", rs_sim_fct(r, i, 100));
	} else if (b->program) {
		work(j, b);
		if (b->conf->kind == RS_JOB_TRAIN)
			step(j, b);
		if (b->requests)
			serve(j, b);
	} else {
		collective(j, b);
		if (b->conf->kind == RS_JOB_TRAIN)
			train(j, b);
	}
	rs_json_end(j);
}

static void flows(struct rs_json *j, const struct rs_sim_result *r)
{
	rs_json_array(j, "flows");
	for (uint32_t i = 0; i < r->n_flows; i++) {
		const struct rs_sim_flow *f = &r->flows[i];

		rs_json_object(j, NULL);
		rs_json_uint(j, "id", i);
		rs_json_uint(j, "src", f->src);
		rs_json_uint(j, "dst", f->dst);
		rs_json_uint(j, "bytes", f->bytes);
		time_ns(j, "start_ns", f->start);
		time_ns(j, "finish_ns", f->finish);
		time_ns(j, "delivered_ns", f->delivered);
		if (r->series)
			series_speed(j, &r->series->flow_speed[i]);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void counters(struct rs_json *j, const struct rs_sim_counters *c)
{
	rs_json_object(j, "counters");
	rs_json_uint(j, "data_packets", c->data_packets);
	rs_json_uint(j, "packets_sent", c->packets_sent);
	rs_json_uint(j, "packets_delivered", c->packets_delivered);
	rs_json_uint(j, "packets_in_flight", c->packets_in_flight);
	rs_json_uint(j, "packet_hops", c->packet_hops);
	rs_json_uint(j, "ack_hops", c->ack_hops);
	rs_json_uint(j, "events", c->events);
	rs_json_uint(j, "drops", c->drops + c->nic_drops);
	rs_json_uint(j, "link_losses", c->link_losses);
	rs_json_uint(j, "ecn_marked", c->ecn_marked);
	rs_json_uint(j, "ecn_marked_again", c->ecn_again);
	rs_json_uint(j, "trimmed", c->trimmed);
	rs_json_uint(j, "credits", c->credits);
	rs_json_uint(j, "ack_packets", c->ack_packets);
	rs_json_uint(j, "naks", c->naks);
	rs_json_uint(j, "data_marked", c->data_marked);
	rs_json_uint(j, "cnps", c->cnps);
	rs_json_uint(j, "cc_cuts", c->cc_cuts);
	rs_json_uint(j, "cc_increases", c->cc_increases);
	rs_json_uint(j, "pauses", c->pauses + c->nic_pauses);
	rs_json_uint(j, "nic_pauses", c->nic_pauses);
	rs_json_uint(j, "retransmits", c->retransmits);
	rs_json_uint(j, "reordered", c->reordered);
	rs_json_uint(j, "timeouts", c->timeouts);
	rs_json_uint(j, "max_queue_bytes", c->max_queue);
	rs_json_uint(j, "max_buffer_bytes", c->max_buffer);
	rs_json_end(j);
}

static const char *const case_kinds[] = {
	[RS_CASE_BASE] = "base",       [RS_CASE_COUNTERFACTUAL] = "counterfactual",
	[RS_CASE_WITHOUT] = "without", [RS_CASE_IDEAL] = "ideal",
	[RS_CASE_FIX] = "fix",
};

static void job_times(struct rs_json *j, const struct rs_diagnosis *r, uint32_t i)
{
	rs_json_array(j, "job_times_ns");
	for (uint32_t k = 0; k < r->cases[0].fabric->n_jobs; k++)
		time_ns(j, NULL, rs_case_job_time(r, i, k));
	rs_json_end(j);
}

static void diagnosis(struct rs_json *j, const struct rs_diagnosis *r)
{
	rs_json_array(j, "diagnosis");
	for (uint32_t i = 1; i < r->n; i++) {
		struct rs_gain g = rs_case_gain(r, i);
		bool both = g.ends && g.base_ends;

		rs_json_object(j, NULL);
		rs_json_string(j, "name", r->info[i].name);
		rs_json_string(j, "kind", case_kinds[r->info[i].kind]);
		rs_json_string(j, "id", r->info[i].id);
		time_ns(j, "time_ns", rs_case_time(r, i));
		rs_json_bool(j, "ends", g.ends);
		rs_json_bool(j, "clear", g.clear);
		number_or_null(j, "gain", both, g.gain);
		number_or_null(j, "gain_low", both, g.low);
		number_or_null(j, "gain_high", both, g.high);
		rs_json_uint(j, "seeds", r->info[i].n_seeds);
		job_times(j, r, i);
		rs_json_end(j);
	}
	rs_json_end(j);
}

/* What acts together. */
static void parts(struct rs_json *j, const struct rs_cause *c)
{
	if (!c->n_parts)
		return;
	rs_json_array(j, "parts");
	for (uint32_t i = 0; i < c->n_parts; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "id", c->parts[i].id);
		rs_json_string(j, "place", c->parts[i].place);
		rs_json_end(j);
	}
	rs_json_end(j);
}

/* What costs most comes first; `run` and `fix` are places in `runs`. */
static void causes(struct rs_json *j, const struct rs_diagnosis *r)
{
	rs_json_array(j, "causes");
	for (uint32_t i = 0; i < r->n_causes; i++) {
		const struct rs_cause *c = &r->causes[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "id", c->id);
		rs_json_string(j, "what", c->what);
		rs_json_string(j, "place", c->place);
		rs_json_number(j, "share", c->gain);
		rs_json_array(j, "interval");
		rs_json_number(j, NULL, c->low);
		rs_json_number(j, NULL, c->high);
		rs_json_end(j);
		rs_json_array(j, "evidence");
		for (uint32_t k = 0; k < c->n_evidence; k++)
			rs_json_string(j, NULL, c->evidence[k]);
		rs_json_end(j);
		rs_json_array(j, "jobs");
		for (uint32_t k = 0; k < r->cases[0].fabric->n_jobs; k++) {
			double x = rs_cause_job_share(r, c, k);

			rs_json_object(j, NULL);
			rs_json_string(j, "name", r->cases[0].fabric->jobs[k].name);
			number_or_null(j, "share", !isnan(x), x);
			rs_json_end(j);
		}
		rs_json_end(j);
		parts(j, c);
		rs_json_uint(j, "run", c->run);
		if (c->after)
			rs_json_uint(j, "after", c->after);
		if (c->fix >= 0)
			rs_json_uint(j, "fix", (uint64_t)c->fix);
		else
			rs_json_string(j, "fix", NULL);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void not_told(struct rs_json *j, const struct rs_diagnosis *r)
{
	rs_json_array(j, "not_told");
	for (uint32_t i = 0; i < r->n_not_told; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "what", r->not_told[i].what);
		rs_json_string(j, "run", r->not_told[i].run);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void placement(struct rs_json *j, const struct rs_sim_placement *p)
{
	static const char *const methods[] = {
		[RS_PLACED_COLOURED] = "edge-colouring",
		[RS_PLACED_GREEDY] = "greedy",
		[RS_PLACED_BY_DESTINATION] = "by-destination",
	};

	if (p->method == RS_PLACED_NOT)
		return;
	rs_json_object(j, "placement");
	rs_json_string(j, "method", methods[p->method]);
	rs_json_uint(j, "flows", p->flows);
	time_ns(j, "bound_ns", p->bound);
	time_ns(j, "reached_ns", p->reached);
	rs_json_end(j);
}

static const char *const drop_why[RS_DROPS_WHY] = {
	[RS_DROP_LOSSY] = "lossy-class",  [RS_DROP_HEADROOM] = "headroom",
	[RS_DROP_LIMIT] = "egress-limit", [RS_DROP_WATCHDOG] = "watchdog",
	[RS_DROP_NO_ROUTE] = "no-route",  [RS_DROP_NIC] = "nic-buffer",
	[RS_DROP_LINK] = "link",          [RS_DROP_QP] = "queue-pair",
};

static void places(struct rs_json *j, const struct rs_sim_result *s)
{
	rs_json_array(j, "drops");
	for (uint32_t i = 0; i < s->n_drops; i++) {
		const struct rs_sim_drop *d = &s->drops[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "place", d->place);
		rs_json_string(j, "to", d->to);
		rs_json_string(j, "why", drop_why[d->why]);
		if (d->tc == RS_SIM_NO_CLASS) {
			rs_json_string(j, "class", NULL);
			rs_json_string(j, "dscp", NULL);
		} else {
			rs_json_uint(j, "class", d->tc);
			rs_json_uint(j, "dscp", d->dscp);
		}
		rs_json_uint(j, "packets", d->packets);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "pauses");
	for (uint32_t i = 0; i < s->n_pauses; i++) {
		const struct rs_sim_pause *p = &s->pauses[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "by", p->by);
		rs_json_string(j, "held", p->held);
		rs_json_string(j, "waited_for", p->for_);
		rs_json_string(j, "root", p->root);
		rs_json_uint(j, "class", p->tc);
		rs_json_uint(j, "frames", p->pauses);
		time_ns(j, "time_ns", p->time);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "deadlock");
	for (uint32_t i = 0; i < s->deadlock.n; i++)
		rs_json_string(j, NULL, s->deadlock.port[i].name);
	rs_json_end(j);
	rs_json_array(j, "failures");
	for (uint32_t i = 0; i < s->n_failures; i++) {
		const struct rs_sim_failure *x = &s->failures[i];

		rs_json_object(j, NULL);
		rs_json_uint(j, "job", x->job);
		rs_json_uint(j, "src", x->src);
		rs_json_uint(j, "dst", x->dst);
		rs_json_uint(j, "status", x->status);
		rs_json_string(j, "place", x->place);
		rs_json_uint(j, "lost", x->lost);
		rs_json_end(j);
	}
	rs_json_end(j);
}

/* How soon the rate was regained after each event. */
static void regains(struct rs_json *j, const struct rs_fabric *f, const struct rs_sim_result *s)
{
	rs_json_array(j, "events");
	for (uint32_t i = 0; i < s->n_regains; i++) {
		const struct rs_sim_regain *x = &s->regains[i];

		rs_json_object(j, NULL);
		time_ns(j, "at_ns", x->at);
		rs_json_string(j, "event", rs_fabric_event_text(&f->events, x->event));
		rs_json_bool(j, "begins", x->begins);
		rs_json_number(j, "before_bps", (double)x->before);
		rs_json_number(j, "least_bps", (double)x->least);
		rs_json_number(j, "left_bps", (double)x->left);
		time_ns(j, "to_95_percent_ns", x->time);
		rs_json_end(j);
	}
	rs_json_end(j);
}

int rs_diagnosis_json(const struct rs_diagnosis *r, uint64_t peak_rss, FILE *out)
{
	struct rs_json *j = rs_json_create(out);
	const struct rs_fabric *f = r->cases[0].fabric;

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-sim/2");
	rs_json_string(j, "scenario", r->scenario);
	rs_json_uint(j, "seed", r->seed);
	rs_json_bool(j, "complete", r->cases[0].result->complete);
	rs_json_array(j, "unknown");
	for (uint32_t i = 0; i < f->n_unknown; i++)
		rs_json_string(j, NULL, f->unknown[i]);
	rs_json_end(j);
	rs_json_array(j, "runs");
	for (uint32_t i = 0; i < r->n; i++) {
		const struct rs_sim_result *s = r->cases[i].result;

		rs_json_object(j, NULL);
		rs_json_string(j, "name", r->cases[i].name);
		time_ns(j, "sim_time_ns", s->sim_time);
		rs_json_array(j, "jobs");
		for (uint32_t k = 0; k < s->n_jobs; k++)
			job(j, s, k);
		rs_json_end(j);
		flows(j, s);
		counters(j, &s->counters);
		placement(j, &s->placement);
		if (!i)
			places(j, s);
		if (!i && s->n_regains)
			regains(j, f, s);
		if (!i && s->nic_bytes) {
			rs_json_array(j, "nic_bytes");
			for (uint32_t k = 0; k < r->cases[0].fabric->n_endpoints; k++)
				rs_json_uint(j, NULL, s->nic_bytes[k]);
			rs_json_end(j);
		}
		if (!i && s->series)
			series_json(j, r);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_uint(j, "seeds", r->n_seeds);
	job_times(j, r, 0);
	if (r->cases[0].result->series)
		fabric_json(j, r);
	diagnosis(j, r);
	causes(j, r);
	not_told(j, r);
	rs_json_object(j, "engine");
	rs_json_number(j, "wall_s", r->wall_s);
	rs_json_number(j, "cpu_s", r->cpu_s);
	rs_json_uint(j, "peak_rss_bytes", peak_rss);
	rs_json_uint(j, "threads", r->threads);
	rs_json_uint(j, "qp_bytes", r->cases[0].result->qp_bytes);
	rs_json_uint(j, "packet_bytes", r->cases[0].result->packet_bytes);
	rs_json_uint(j, "port_bytes", r->cases[0].result->port_bytes);
	rs_json_uint(j, "packets_peak", r->cases[0].result->packets_peak);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}
