/* `ripstop sim --json` (docs/schema/ripstop-sim-1.schema.json) and --flows-csv. */
#include <errno.h>
#include <sys/resource.h>
#include "cli/sim_report.h"
#include "report/report.h"

static void time_ns(struct rs_json *j, const char *key, rs_time t)
{
	if (t == RS_NEVER)
		rs_json_string(j, key, NULL);
	else
		rs_json_number(j, key, (double)t / RS_NS);
}

static const char *const kinds[] = {"flows", "collective", "train"};

static double bandwidth(uint64_t bytes, rs_time t)
{
	return t > 0 ? (double)bytes / ((double)t / RS_S) / 1e9 : 0;
}

static void collective(struct rs_json *j, const struct rs_sim_job *b)
{
	const struct rs_coll *c = b->coll;
	double alg = bandwidth(c->conf.bytes, b->further);

	rs_json_string(j, "op", rs_coll_op_name(c->conf.op));
	rs_json_string(j, "algorithm", rs_coll_algorithm_name(c->conf.algorithm));
	rs_json_uint(j, "bytes", c->conf.bytes);
	rs_json_uint(j, "count", c->count);
	rs_json_string(j, "type", c->conf.type);
	rs_json_uint(j, "n_ranks", c->n_ranks);
	time_ns(j, "time_ns", b->done ? b->further : RS_NEVER);
	rs_json_number(j, "algbw_gbps", alg);
	rs_json_number(j, "busbw_gbps",
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

static void job(struct rs_json *j, const struct rs_sim_result *r, uint32_t i)
{
	const struct rs_sim_job *b = &r->jobs[i];
	uint32_t done = 0;

	rs_json_object(j, NULL);
	rs_json_string(j, "name", b->conf->name);
	rs_json_string(j, "kind", kinds[b->conf->kind]);
	time_ns(j, "start_ns", b->start);
	time_ns(j, "finish_ns", b->done ? b->finish : RS_NEVER);
	rs_json_bool(j, "done", b->done);
	if (b->conf->kind == RS_JOB_FLOWS) {
		for (uint32_t k = 0; k < r->n_flows; k++)
			done += r->flows[k].job == i && r->flows[k].finish != RS_NEVER;
		rs_json_uint(j, "flows_done", done);
		time_ns(j, "p50_ns", rs_sim_fct(r, i, 50));
		time_ns(j, "p99_ns", rs_sim_fct(r, i, 99));
		time_ns(j, "max_ns", rs_sim_fct(r, i, 100));
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
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void counters(struct rs_json *j, const struct rs_sim_counters *c)
{
	rs_json_object(j, "counters");
	rs_json_uint(j, "data_packets", c->data_packets);
	rs_json_uint(j, "packet_hops", c->packet_hops);
	rs_json_uint(j, "ack_hops", c->ack_hops);
	rs_json_uint(j, "events", c->events);
	rs_json_uint(j, "drops", c->drops + c->nic_drops);
	rs_json_uint(j, "link_losses", c->link_losses);
	rs_json_uint(j, "ecn_marked", c->ecn_marked);
	rs_json_uint(j, "data_marked", c->data_marked);
	rs_json_uint(j, "cnps", c->cnps);
	rs_json_uint(j, "cc_cuts", c->cc_cuts);
	rs_json_uint(j, "cc_increases", c->cc_increases);
	rs_json_uint(j, "pauses", c->pauses + c->nic_pauses);
	rs_json_uint(j, "nic_pauses", c->nic_pauses);
	rs_json_uint(j, "retransmits", c->retransmits);
	rs_json_uint(j, "timeouts", c->timeouts);
	rs_json_uint(j, "max_queue_bytes", c->max_queue);
	rs_json_uint(j, "max_buffer_bytes", c->max_buffer);
	rs_json_end(j);
}

static void diagnosis(struct rs_json *j, const struct rs_sim_report *r)
{
	rs_time base = rs_case_time(&r->cases[0]);

	rs_json_array(j, "diagnosis");
	for (uint32_t i = 1; i < r->n; i++) {
		rs_time t = rs_case_time(&r->cases[i]);
		bool both = t != RS_NEVER && base != RS_NEVER && base > 0;

		rs_json_object(j, NULL);
		rs_json_string(j, "name", r->info[i].name);
		rs_json_string(j, "kind",
			       r->info[i].kind == RS_CASE_FIX ? "fix" : "counterfactual");
		time_ns(j, "time_ns", t);
		if (both)
			rs_json_number(j, "gain", 1 - (double)t / (double)base);
		else
			rs_json_string(j, "gain", NULL);
		rs_json_end(j);
	}
	rs_json_end(j);
}

int rs_sim_json(const struct rs_sim_report *r, FILE *out)
{
	struct rs_json *j = rs_json_create(out);
	const struct rs_fabric *f = r->cases[0].fabric;
	struct rusage ru;

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-sim/1");
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
		rs_json_end(j);
	}
	rs_json_end(j);
	diagnosis(j, r);
	getrusage(RUSAGE_SELF, &ru);
	rs_json_object(j, "engine");
	rs_json_number(j, "wall_s", r->wall_s);
	rs_json_number(j, "cpu_s", r->cpu_s);
	rs_json_int(j, "peak_rss_bytes", (int64_t)ru.ru_maxrss * 1024);
	rs_json_uint(j, "threads", r->threads);
	rs_json_uint(j, "qp_bytes", r->cases[0].result->qp_bytes);
	rs_json_uint(j, "packet_bytes", r->cases[0].result->packet_bytes);
	rs_json_uint(j, "port_bytes", r->cases[0].result->port_bytes);
	rs_json_uint(j, "packets_peak", r->cases[0].result->packets_peak);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

int rs_sim_csv(const struct rs_sim_report *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	fputs("id,src,dst,bytes,start_ns,finish_ns,fct_ns\n", out);
	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct rs_sim_flow *f = &s->flows[i];

		fprintf(out, "%u,%u,%u,%llu,%.3f,", i, f->src, f->dst, (unsigned long long)f->bytes,
			(double)f->start / RS_NS);
		if (f->finish == RS_NEVER)
			fputs(",\n", out);
		else
			fprintf(out, "%.3f,%.3f\n", (double)f->finish / RS_NS,
				(double)(f->finish - f->start) / RS_NS);
	}
	return ferror(out) ? -EIO : 0;
}

int rs_sim_rates_csv(const struct rs_sim_report *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	fputs("time_ns,flow,rate_gbps\n", out);
	for (uint64_t i = 0; i < s->n_rates; i++)
		fprintf(out, "%.3f,%u,%.6f\n", (double)s->rates[i].when / RS_NS, s->rates[i].flow,
			(double)s->rates[i].rate / RS_GBPS);
	return ferror(out) ? -EIO : 0;
}
