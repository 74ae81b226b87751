/* Simulating a fabric and what came out (ripstop/sim.h): diagnose/ and sim/, their results copied
 * out in the shapes of the public header. */
#include <errno.h>
#include <ripstop/sim.h>
#include <stdlib.h>
#include <string.h>
#include "diagnose/diagnose.h"
#include "lib/fabric.h"
#include "lib/lib.h"
#include "lib/result.h"
#ifndef RS_NO_CLOCK
#include <sys/resource.h>
#endif

_Static_assert((int)RIPSTOP_DONE == RS_SIM_DONE && (int)RIPSTOP_LEFT_OUT == RS_SIM_LEFT_OUT &&
		       (int)RIPSTOP_STUCK == RS_SIM_STUCK,
	       "ends are sim's");

/* ---- Running ---- */

struct watch {
	int (*progress)(void *arg, int64_t now, double share);
	void *arg;
	volatile int *cancel;
};

static void on_progress(void *arg, rs_time now, double share)
{
	struct watch *w = arg;

	if (w->progress(w->arg, now, share))
		*w->cancel = 1;
}

static int load_again(void *arg, const struct rs_setting *set, uint32_t n, struct rs_fabric **out,
		      struct rs_error *e)
{
	return lib_fabric_build(arg, set, n, out, e);
}

/* The first run's error is the call's; others' are what the run could not do. */
static int outcome(const struct rs_diagnosis *d, struct rs_error *e)
{
	if (!d->cases[0].error.code)
		return d->cases[0].result ? 0 : -ENOMEM;
	*e = d->cases[0].error;
	return e->code;
}

/* A run that failed beside the first one is left out. */
static int check_others(const struct rs_diagnosis *d, struct rs_error *e)
{
	for (uint32_t i = 1; i < d->n; i++)
		if (d->cases[i].error.code) {
			*e = d->cases[i].error;
			return e->code;
		}
	return 0;
}

static int run(struct ripstop_result *r, const struct ripstop_fabric *f,
	       const struct ripstop_sim_options *o, struct rs_error *e)
{
	volatile int own_cancel = 0;
	struct watch w = {o->progress, o->progress_arg, o->cancel ? o->cancel : &own_cancel};
	struct rs_diagnose_options how = {
		.file = f->load.name,
		.load = load_again,
		.load_arg = (void *)(uintptr_t)f,
		.sim = {.seed = o->seed ? o->seed : 1,
			.max_time = o->max_time,
			.pcap = o->pcap,
			.pcap_links = o->pcap_links,
			.rate_interval = o->rate_interval,
			.stop = w.cancel,
			.progress = o->progress ? on_progress : NULL,
			.progress_arg = &w},
		.threads = o->threads,
		.seeds = o->seeds,
		.base_only = !o->diagnose,
	};
	int err = rs_diagnose(r->fabric, &how, &r->d, e);

	if (!err)
		err = outcome(r->d, e);
	return err ? err : check_others(r->d, e);
}

static int check_options(const struct ripstop_sim_options *o, struct ripstop_error **e)
{
	if (o->diagnose > 1 || o->seeds > RS_SEEDS_MAX || o->threads > 64)
		return lib_fail(e, -EINVAL,
				"expected diagnose of 0 or 1, at most %d seeds, at most 64 threads",
				RS_SEEDS_MAX);
	if (o->max_time < 0 || o->rate_interval < 0 ||
	    (o->rate_interval && o->rate_interval < RS_NS))
		return lib_fail(e, -EINVAL,
				"expected max_time of 0 or more, rate_interval of 0 or "
				"at least 1 ns");
	return 0;
}

int ripstop_simulate(const struct ripstop_fabric *f, const struct ripstop_sim_options *theirs,
		     struct ripstop_result **out, struct ripstop_error **e)
{
	struct ripstop_sim_options o;
	struct rs_error inner = {0};
	struct ripstop_result *r;
	int err = lib_take(&o, sizeof(o), theirs, "ripstop_sim_options", e);

	*out = NULL;
	if (err || (err = check_options(&o, e)))
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		return lib_fail(e, -ENOMEM, "out of memory");
	err = lib_fabric_build(f, NULL, 0, &r->fabric, &inner);
	if (!err && !r->fabric->n_jobs)
		err = rs_error_set(&inner, -EINVAL, "%s: there is no workload to run",
				   f->load.name);
	if (!err)
		err = run(r, f, &o, &inner);
	if (err) {
		ripstop_result_free(r);
		return lib_error(e, &inner, err);
	}
	*out = r;
	return 0;
}

void ripstop_result_free(struct ripstop_result *r)
{
	if (!r)
		return;
	rs_diagnosis_free(r->d);
	rs_fabric_free(r->fabric);
	free(r);
}

/* ---- The whole ---- */

static const struct rs_sim_result *base_of(const struct ripstop_result *r)
{
	return r->d->cases[0].result;
}

/* NULL: there is no such run, or it was cut off. */
static const struct rs_sim_result *run_of(const struct ripstop_result *r, uint32_t run)
{
	return run < r->d->n ? r->d->cases[run].result : NULL;
}

void ripstop_result_summary(const struct ripstop_result *r, struct ripstop_summary *theirs)
{
	const struct rs_sim_result *s = base_of(r);
	struct ripstop_summary ours = {
		.complete = s->complete,
		.stopped = s->stopped,
		.runs = r->d->n,
		.causes = r->d->n_causes,
		.jobs = s->n_jobs,
		.seeds = r->d->n_seeds,
		.endpoints = r->fabric->n_endpoints,
		.threads = r->d->threads,
		.flows = s->n_flows,
		.rates = s->n_rates,
		.sim_time = s->sim_time,
		.wall_s = r->d->wall_s,
		.cpu_s = r->d->cpu_s,
	};

	lib_give(theirs, &ours, sizeof(ours));
}

const char *ripstop_result_endpoint(const struct ripstop_result *r, uint32_t endpoint)
{
	return endpoint < r->fabric->n_endpoints ? r->fabric->endpoints[endpoint].name : NULL;
}

static uint64_t peak_rss(void)
{
#ifdef RS_NO_CLOCK
	return 0;
#else
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss * 1024;
#endif
}

static int write_result(const void *diagnosis, FILE *out)
{
	return rs_diagnosis_json(diagnosis, peak_rss(), out);
}

int ripstop_result_json(const struct ripstop_result *r, char **text, struct ripstop_error **e)
{
	return lib_json(text, write_result, r->d, e);
}

/* ---- Arrays ---- */

static double bandwidth(uint64_t bytes, rs_time t)
{
	return t > 0 ? (double)bytes / ((double)t / RS_S) : 0;
}

static void collective_of(struct ripstop_job *k, const struct rs_sim_job *b)
{
	const struct rs_coll *c = b->coll;

	if (!c)
		return;
	k->ranks = c->n_ranks;
	k->bytes = c->conf.bytes;
	if (b->done) {
		k->algbw = bandwidth(c->conf.bytes, b->further);
		k->busbw = k->algbw * (double)c->bus_numerator / (double)c->bus_denominator;
	}
}

/* A graph of work: all that its ranks sent, and what computing waited. */
static void work_of(struct ripstop_job *k, const struct rs_sim_job *b)
{
	const struct rs_program_result *w = &b->work;

	k->ranks = b->coll->n_ranks;
	for (int i = 0; i < RS_WHYS; i++)
		k->bytes += w->bytes[i];
	k->compute = w->compute;
	k->communication = k->exposed = w->step - w->compute;
	k->efficiency = w->step > 0 ? (double)w->compute / (double)w->step : 0;
	if (!b->requests || !b->serve.done)
		return;
	k->p50 = b->serve.first[0];
	k->p99 = b->serve.first[2];
}

static struct ripstop_job job_of(const struct rs_sim_result *s, uint32_t i)
{
	const struct rs_sim_job *b = &s->jobs[i];
	bool flows = b->conf->kind == RS_JOB_FLOWS;
	struct ripstop_job k = {
		.name = b->conf->name,
		.kind = rs_job_kinds[b->conf->kind],
		.end = b->end,
		.start = b->start,
		.finish = b->done ? b->finish : RS_NEVER,
		.time = rs_job_time(s, i),
		.p50 = flows ? rs_sim_fct(s, i, 50) : RS_NEVER,
		.p99 = flows ? rs_sim_fct(s, i, 99) : RS_NEVER,
		.max = flows ? rs_sim_fct(s, i, 100) : RS_NEVER,
	};

	if (b->program)
		work_of(&k, b);
	else if (!flows)
		collective_of(&k, b);
	if (b->conf->kind == RS_JOB_TRAIN) {
		k.compute = b->train.compute;
		k.communication = b->train.communication;
		k.exposed = b->train.exposed;
		k.efficiency = b->train.efficiency;
	}
	return k;
}

size_t ripstop_result_jobs(const struct ripstop_result *r, uint32_t run, size_t from, size_t n,
			   struct ripstop_job *out, size_t each)
{
	const struct rs_sim_result *s = run_of(r, run);
	size_t all = s ? s->n_jobs : 0;

	n = lib_within(all, from, n);
	for (size_t i = 0; i < n; i++) {
		struct ripstop_job k = job_of(s, (uint32_t)(from + i));

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return all;
}

size_t ripstop_result_flows(const struct ripstop_result *r, uint32_t run, size_t from, size_t n,
			    struct ripstop_flow_time *out, size_t each)
{
	const struct rs_sim_result *s = run_of(r, run);
	size_t all = s ? s->n_flows : 0;

	n = lib_within(all, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_sim_flow *f = &s->flows[from + i];
		struct ripstop_flow_time k = {.start = f->start,
					      .finish = f->finish,
					      .delivered = f->delivered,
					      .bytes = f->bytes,
					      .src = f->src,
					      .dst = f->dst,
					      .job = f->job};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return all;
}

size_t ripstop_result_rates(const struct ripstop_result *r, size_t from, size_t n,
			    struct ripstop_rate *out, size_t each)
{
	const struct rs_sim_result *s = base_of(r);

	n = lib_within(s->n_rates, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_sim_rate *f = &s->rates[from + i];
		struct ripstop_rate k = {.when = f->when, .rate = f->rate, .flow = f->flow};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return s->n_rates;
}

size_t ripstop_result_sent(const struct ripstop_result *r, size_t from, size_t n, uint64_t *out)
{
	size_t all = base_of(r)->nic_bytes ? r->fabric->n_endpoints : 0;

	n = lib_within(all, from, n);
	if (n)
		memcpy(out, base_of(r)->nic_bytes + from, n * sizeof(*out));
	return all;
}

int ripstop_result_counters(const struct ripstop_result *r, uint32_t run,
			    struct ripstop_counters *theirs)
{
	const struct rs_sim_result *s = run_of(r, run);
	const struct rs_sim_counters *c = s ? &s->counters : NULL;

	if (!c)
		return -ENOENT;
#define C(name) .name = c->name
	struct ripstop_counters ours = {
		C(data_packets),
		C(ack_packets),
		C(packets_sent),
		C(packets_delivered),
		C(packets_in_flight),
		C(packet_hops),
		C(events),
		C(drops),
		C(nic_drops),
		C(link_losses),
		C(ecn_marked),
		C(data_marked),
		C(cnps),
		C(cc_cuts),
		C(cc_increases),
		C(pauses),
		C(nic_pauses),
		C(retransmits),
		C(reordered),
		C(timeouts),
		C(naks),
		C(rnr_naks),
		C(max_queue),
		C(max_buffer),
		C(paused),
	};
#undef C
	lib_give(theirs, &ours, sizeof(ours));
	return 0;
}

size_t ripstop_result_drops(const struct ripstop_result *r, size_t from, size_t n,
			    struct ripstop_drop *out, size_t each)
{
	static const char *const why[RS_DROPS_WHY] = {
		[RS_DROP_LOSSY] = "lossy-class",  [RS_DROP_HEADROOM] = "headroom",
		[RS_DROP_LIMIT] = "egress-limit", [RS_DROP_WATCHDOG] = "watchdog",
		[RS_DROP_NO_ROUTE] = "no-route",  [RS_DROP_NIC] = "nic-buffer",
		[RS_DROP_LINK] = "link",          [RS_DROP_QP] = "queue-pair",
	};
	const struct rs_sim_result *s = base_of(r);

	n = lib_within(s->n_drops, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_sim_drop *d = &s->drops[from + i];
		bool known = d->tc != RS_SIM_NO_CLASS;
		struct ripstop_drop k = {.place = d->place,
					 .to = d->to,
					 .why = why[d->why],
					 .packets = d->packets,
					 .traffic_class = known ? d->tc : -1,
					 .dscp = known ? d->dscp : -1};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return s->n_drops;
}

size_t ripstop_result_pauses(const struct ripstop_result *r, size_t from, size_t n,
			     struct ripstop_pause *out, size_t each)
{
	const struct rs_sim_result *s = base_of(r);

	n = lib_within(s->n_pauses, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_sim_pause *p = &s->pauses[from + i];
		struct ripstop_pause k = {.by = p->by,
					  .held = p->held,
					  .waited_for = p->for_,
					  .root = p->root,
					  .frames = p->pauses,
					  .time = p->time,
					  .traffic_class = p->tc};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return s->n_pauses;
}

/* ---- The diagnosis ---- */

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

size_t ripstop_result_runs(const struct ripstop_result *r, size_t from, size_t n,
			   struct ripstop_run *out, size_t each)
{
	static const char *const kinds[] = {
		[RS_CASE_BASE] = "base",       [RS_CASE_COUNTERFACTUAL] = "counterfactual",
		[RS_CASE_WITHOUT] = "without", [RS_CASE_IDEAL] = "ideal",
		[RS_CASE_FIX] = "fix",
	};
	const struct rs_diagnosis *d = r->d;

	n = lib_within(d->n, from, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)(from + i);
		const struct rs_case_info *c = &d->info[at];
		struct rs_gain g = {0};
		struct ripstop_run k = {.name = c->name,
					.kind = kinds[c->kind],
					.id = or_empty(c->id),
					.how = or_empty(c->how),
					.time = RS_NEVER,
					.seeds = c->n_seeds};

		if (d->cases[at].result && c->n_seeds) {
			g = rs_case_gain(d, at);
			k.time = rs_case_time(d, at);
		}
		k.ends = g.ends;
		k.clear = g.clear;
		if (g.ends && g.base_ends) {
			k.gain = g.gain;
			k.low = g.low;
			k.high = g.high;
		}
		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return d->n;
}

size_t ripstop_result_causes(const struct ripstop_result *r, size_t from, size_t n,
			     struct ripstop_cause *out, size_t each)
{
	enum { SHOWN = sizeof(((struct ripstop_cause *)0)->evidence) / sizeof(char *) };

	n = lib_within(r->d->n_causes, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_cause *c = &r->d->causes[from + i];
		struct ripstop_cause k = {.id = c->id,
					  .what = c->what,
					  .place = c->place,
					  .share = c->gain,
					  .low = c->low,
					  .high = c->high,
					  .run = c->run,
					  .fix = c->fix};

		for (unsigned m = 0; m < c->n_evidence && m < SHOWN; m++)
			k.evidence[m] = c->evidence[m];
		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return r->d->n_causes;
}
