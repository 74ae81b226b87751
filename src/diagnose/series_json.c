/* What was observed of a run, as a member of its JSON: docs/schema/ripstop-sim-2.schema.json. */
#include <stdio.h>
#include <stdlib.h>
#include "diagnose/state.h"
#include "report/report.h"

enum { SPANS_MAX = 16384 };

void rs_series_flow_name(const struct rs_diagnosis *d, const struct rs_series_flow *f, char *name,
			 size_t size)
{
	const struct rs_fabric *fabric = d->cases[0].fabric;

	snprintf(name, size, "%s -> %s #%u of %s", fabric->endpoints[f->src].name,
		 fabric->endpoints[f->dst].name, f->index,
		 d->cases[0].result->jobs[f->job].conf->name);
}

static void percentiles(struct rs_json *j, const char *key, const struct rs_hist *h, double unit)
{
	static const struct {
		const char *name;
		double p;
	} shown[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99_9", 99.9}, {"p99_99", 99.99}};

	rs_json_object(j, key);
	rs_json_uint(j, "samples", h->n);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		rs_json_number(j, shown[i].name, (double)rs_hist_percentile(h, shown[i].p) / unit);
	rs_json_number(j, "max", (double)h->most / unit);
	rs_json_number(j, "mean", h->n ? (double)h->sum / (double)h->n / unit : 0);
	rs_json_end(j);
}

static void row(struct rs_json *j, const char *key, const uint64_t *v, uint32_t n)
{
	if (v)
		rs_json_uints(j, key, v, n);
}

/* Times as whole nanoseconds. */
static void row_ns(struct rs_json *j, const char *key, const rs_time *v, uint32_t n)
{
	uint64_t *ns = v ? calloc(n + 1u, sizeof(*ns)) : NULL;

	for (uint32_t i = 0; ns && i < n; i++)
		ns[i] = (uint64_t)(v[i] / RS_NS);
	if (ns)
		rs_json_uints(j, key, ns, n);
	free(ns);
}

static void json_class(struct rs_json *j, const struct rs_series *s,
		       const struct rs_series_class *c, unsigned tc)
{
	rs_json_object(j, NULL);
	rs_json_uint(j, "class", tc);
	row(j, "bytes", c->bytes, s->bins);
	row(j, "queue_bytes", c->queue, s->bins);
	row_ns(j, "paused_ns", c->held, s->bins);
	row(j, "pauses", c->pauses, s->bins);
	row(j, "marks", c->marks, s->bins);
	row(j, "drops", c->drops, s->bins);
	if (c->queued.n)
		percentiles(j, "queue", &c->queued, 1);
	rs_json_end(j);
}

static void json_rows(struct rs_json *j, const struct rs_series *s, const struct rs_series_port *p)
{
	row(j, "bytes", p->carried, s->bins);
	row(j, "queue_peak_bytes", p->peak, s->bins);
	row(j, "marks", p->marks, s->bins);
	row(j, "drops", p->drops, s->bins);
	row(j, "lost", p->lost, s->bins);
	rs_json_array(j, "classes");
	for (unsigned m = p->classes; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);

		json_class(j, s, p->of[tc], tc);
	}
	rs_json_end(j);
}

static void json_port(struct rs_json *j, const struct rs_series *s, const struct rs_series_port *p)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "name", p->name);
	rs_json_bool(j, "nic", p->nic);
	rs_json_uint(j, "node", p->node);
	rs_json_uint(j, "port", p->port);
	rs_json_uint(j, "back", p->back);
	rs_json_int(j, "rate", p->rate);
	rs_json_bool(j, "exact", p->exact);
	rs_json_uint(j, "total_bytes", p->bytes);
	rs_json_uint(j, "data_packets", p->data_packets);
	rs_json_uint(j, "queue_max_bytes", p->queue_most);
	rs_json_uint(j, "total_marks", p->n_marks);
	rs_json_uint(j, "total_drops", p->n_drops);
	rs_json_uint(j, "total_lost", p->n_lost);
	rs_json_uint(j, "total_pauses", p->n_pauses);
	rs_json_number(j, "total_paused_ns", (double)p->paused / RS_NS);
	rs_json_bool(j, "rows", p->kept);
	if (p->kept)
		json_rows(j, s, p);
	rs_json_end(j);
}

static void json_flow(struct rs_json *j, const struct rs_diagnosis *d, const struct rs_series *s,
		      const struct rs_series_flow *f)
{
	char name[256];
	bool windowed = false;

	for (uint32_t b = 0; b < s->bins; b++)
		windowed |= f->window[b] && f->window[b] != UINT64_MAX;
	rs_series_flow_name(d, f, name, sizeof(name));
	rs_json_object(j, NULL);
	rs_json_string(j, "name", name);
	rs_json_uint(j, "job", f->job);
	rs_json_uint(j, "src", f->src);
	rs_json_uint(j, "dst", f->dst);
	rs_json_uint(j, "udp_source_port", f->sport);
	rs_json_uints(j, "rate", (const uint64_t *)f->rate, s->bins);
	if (windowed)
		rs_json_uints(j, "window_bytes", f->window, s->bins);
	rs_json_uints(j, "in_flight_bytes", f->in_flight, s->bins);
	row(j, "acked_bytes", f->acked, s->bins);
	row(j, "resent", f->resent, s->bins);
	row(j, "resent_timeout", f->resent_for[RS_RESENT_TIMEOUT], s->bins);
	row(j, "resent_nak", f->resent_for[RS_RESENT_NAK], s->bins);
	row(j, "resent_rnr", f->resent_for[RS_RESENT_RNR], s->bins);
	row(j, "resent_reordered", f->resent_for[RS_RESENT_REORDER], s->bins);
	rs_json_array(j, "path");
	for (uint32_t i = 0; i < f->n_path; i++)
		rs_json_uint(j, NULL, f->path[i]);
	rs_json_end(j);
	rs_json_number(j, "ways", f->ways);
	rs_json_end(j);
}

static void json_inside(struct rs_json *j, const struct rs_series *s,
			const struct rs_series_inside *l)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "name", l->name);
	rs_json_int(j, "rate", l->rate);
	row(j, "bytes", l->bytes, s->bins);
	row_ns(j, "busy_ns", l->busy, s->bins);
	rs_json_end(j);
}

/* NULL rows: it moved nothing. */
static void json_engine(struct rs_json *j, const struct rs_series *s,
			const struct rs_series_engine *g)
{
	if (!g->kept || (!g->reads && !g->credits && !g->waited))
		return;
	rs_json_object(j, NULL);
	rs_json_string(j, "name", g->name);
	rs_json_uint(j, "reads_max", g->reads_max);
	rs_json_uint(j, "read_bytes_max", g->read_bytes_max);
	rs_json_uint(j, "credits_max", g->credits_max);
	row(j, "reads", g->reads, s->bins);
	row(j, "read_bytes", g->read_bytes, s->bins);
	row(j, "credits", g->credits, s->bins);
	row_ns(j, "waited_ns", g->waited, s->bins);
	rs_json_end(j);
}

/* One rank in so many has its spans in the file. */
static uint32_t spans_every(const struct rs_series *s)
{
	uint32_t every = 1;

	for (;; every *= 2) {
		uint64_t n = 0;

		for (uint64_t i = 0; i < s->n_spans; i++)
			n += !(s->spans[i].rank % every);
		if (n <= SPANS_MAX || every > UINT32_MAX / 4)
			return every;
	}
}

static void json_spans(struct rs_json *j, const struct rs_series *s)
{
	static const char *const kinds[] = {[RS_SPAN_COMPUTE] = "compute",
					    [RS_SPAN_WAIT] = "wait",
					    [RS_SPAN_MESSAGE] = "message"};

	uint32_t every = spans_every(s);

	rs_json_array(j, "spans");
	for (uint64_t i = 0; i < s->n_spans; i++) {
		const struct rs_series_span *x = &s->spans[i];

		if (x->rank % every)
			continue;
		rs_json_object(j, NULL);
		rs_json_string(j, "kind", kinds[x->kind]);
		rs_json_uint(j, "job", x->job);
		rs_json_uint(j, "rank", x->rank);
		rs_json_uint(j, x->kind == RS_SPAN_MESSAGE ? "connection" : "lane", x->lane);
		rs_json_uint(j, "step", x->step);
		rs_json_number(j, "from_ns", (double)x->from / RS_NS);
		rs_json_number(j, "to_ns", (double)x->to / RS_NS);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_uint(j, "spans_every", every);
	rs_json_bool(j, "spans_cut", s->spans_cut);
}

void series_json(struct rs_json *j, const struct rs_diagnosis *d)
{
	const struct rs_series *s = d->cases[0].result->series;

	rs_json_object(j, "series");
	rs_json_number(j, "interval_ns", (double)s->interval / RS_NS);
	rs_json_uint(j, "bins", s->bins);
	rs_json_array(j, "ports");
	for (uint32_t i = 0; i < s->n_ports; i++)
		json_port(j, s, &s->ports[i]);
	rs_json_end(j);
	rs_json_uint(j, "connections", s->connections);
	rs_json_array(j, "followed");
	for (uint32_t i = 0; i < s->n_flows; i++)
		json_flow(j, d, s, &s->flows[i]);
	rs_json_end(j);
	rs_json_array(j, "inside");
	for (uint32_t i = 0; i < s->n_inside; i++)
		if (s->inside[i].kept && s->inside[i].bytes)
			json_inside(j, s, &s->inside[i]);
	rs_json_end(j);
	rs_json_array(j, "engines");
	for (uint32_t i = 0; i < s->n_engines; i++)
		json_engine(j, s, &s->engines[i]);
	rs_json_end(j);
	rs_json_array(j, "latency");
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		if (!s->latency[tc].n)
			continue;
		rs_json_object(j, NULL);
		rs_json_uint(j, "class", tc);
		percentiles(j, "ns", &s->latency[tc], RS_NS);
		rs_json_end(j);
	}
	rs_json_end(j);
	json_spans(j, s);
	rs_json_end(j);
}

/* ---- Flows and jobs ---- */

void series_speed(struct rs_json *j, const struct rs_series_speed *x)
{
	rs_json_number(j, "goodput_gbps", x->goodput / 1e9);
	rs_json_number(j, "allowed_gbps", x->allowed / 1e9);
	rs_json_number(j, "share", x->allowed > 0 ? x->goodput / x->allowed : 0);
	rs_json_number(j, "alone_ns", (double)x->alone / RS_NS);
	rs_json_number(j, "slowdown", x->slowdown);
}

/* The run that has this job alone, or none. */
static const struct rs_sim_result *run_alone(const struct rs_diagnosis *d, uint32_t job)
{
	uint32_t n = d->cases[0].fabric->n_jobs;
	uint64_t all = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	if (n == 1)
		return d->cases[0].result;
	for (uint32_t i = 1; i < d->n && job < 64; i++)
		if (d->info[i].kind == RS_CASE_WITHOUT && d->cases[i].result &&
		    d->cases[i].options.ideal.skip == (all & ~(UINT64_C(1) << job)))
			return d->cases[i].result;
	return NULL;
}

void series_alone(struct rs_diagnosis *d)
{
	const struct rs_sim_result *base = d->cases[0].result;

	for (uint32_t i = 0; base && base->series && i < base->n_jobs; i++) {
		struct rs_series_speed *x = &base->series->job_speed[i];
		const struct rs_sim_result *r = run_alone(d, i);
		rs_time alone = r ? rs_job_time(r, i) : RS_NEVER, t = rs_job_time(base, i);

		if (alone == RS_NEVER)
			continue;
		x->alone = alone;
		if (t != RS_NEVER && alone > 0)
			x->slowdown = (double)t / (double)alone;
	}
}
