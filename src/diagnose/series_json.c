/* What was observed of a run, as a member of its JSON: docs/schema/ripstop-sim-2.schema.json. */
#include <stdio.h>
#include <stdlib.h>
#include "diagnose/state.h"
#include "report/report.h"

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
	row(j, "bytes", p->carried, s->bins);
	row(j, "queue_peak_bytes", p->peak, s->bins);
	row(j, "marks", p->marks, s->bins);
	row(j, "drops", p->drops, s->bins);
	row(j, "lost", p->lost, s->bins);
	rs_json_array(j, "classes");
	for (unsigned m = p->classes; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);

		json_class(j, s, &p->of[tc], tc);
	}
	rs_json_end(j);
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
	if (!g->reads && !g->credits && !g->waited)
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

static void json_spans(struct rs_json *j, const struct rs_series *s)
{
	static const char *const kinds[] = {[RS_SPAN_COMPUTE] = "compute",
					    [RS_SPAN_WAIT] = "wait",
					    [RS_SPAN_MESSAGE] = "message"};

	rs_json_array(j, "spans");
	for (uint64_t i = 0; i < s->n_spans; i++) {
		const struct rs_series_span *x = &s->spans[i];

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
		if (s->inside[i].bytes)
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
