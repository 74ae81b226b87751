/* What was observed of a run, as a table for programs: `ripstop sim --series-csv`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "cli/sim_report.h"
#include "report/report.h"

/* How long a bin is: the last ends with the run. */
static rs_time bin_time(const struct rs_series *s, const struct rs_sim_result *r, uint32_t bin)
{
	rs_time from = (rs_time)bin * s->interval;

	return rs_time_min(s->interval, rs_time_max(r->sim_time - from, 1));
}

static double gbps(uint64_t bytes, rs_time t)
{
	return (double)bytes * 8 / ((double)t / RS_S) / 1e9;
}

/* ---- CSV ---- */

static void csv_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		fputs(*s == '"' ? "\"\"" : (char[]){*s, '\0'}, out);
	fputc('"', out);
}

static uint64_t at(const uint64_t *row, uint32_t bin)
{
	return row ? row[bin] : 0;
}

/* A line a bin for the port as a whole, and one for each of its classes. */
static void csv_port(const struct rs_diagnosis *d, const struct rs_series_port *p, FILE *out)
{
	const struct rs_sim_result *r = d->cases[0].result;
	const struct rs_series *s = r->series;

	for (uint32_t b = 0; b < s->bins; b++) {
		double when = (double)b * (double)s->interval / RS_NS;

		if (at(p->carried, b) || at(p->peak, b) || at(p->drops, b) || at(p->lost, b)) {
			fprintf(out, "%.3f,port,", when);
			csv_string(out, p->name);
			fprintf(out,
				",,%.6f,%" PRIu64 ",,%" PRIu64 ",%" PRIu64 ",,,,,%" PRIu64
				",,,,,,,,,,,\n",
				gbps(at(p->carried, b), bin_time(s, r, b)), at(p->peak, b),
				at(p->marks, b), at(p->drops, b), at(p->lost, b));
		}
		for (unsigned m = p->classes; m; m &= m - 1) {
			const struct rs_series_class *c = p->of[__builtin_ctz(m)];
			uint64_t held = at((const uint64_t *)c->held, b);

			if (!at(c->bytes, b) && !at(c->queue, b) && !held && !at(c->pauses, b) &&
			    !at(c->drops, b))
				continue;
			fprintf(out, "%.3f,class,", when);
			csv_string(out, p->name);
			fprintf(out, ",%d,", __builtin_ctz(m));
			if (c->bytes)
				fprintf(out, "%.6f", gbps(c->bytes[b], bin_time(s, r, b)));
			fprintf(out,
				",%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",,,,,,%" PRIu64
				",,,,,,,,,,\n",
				at(c->queue, b), (double)held / RS_NS, at(c->marks, b),
				at(c->drops, b), at(c->pauses, b));
		}
	}
}

static void csv_flow(const struct rs_diagnosis *d, const struct rs_series_flow *f, FILE *out)
{
	const struct rs_series *s = d->cases[0].result->series;
	char name[256];

	rs_series_flow_name(d, f, name, sizeof(name));
	for (uint32_t b = 0; b < s->bins; b++) {
		if (!f->rate[b] && !at(f->resent, b) && !at(f->acked, b))
			continue;
		fprintf(out, "%.3f,connection,", (double)(b + 1) * (double)s->interval / RS_NS);
		csv_string(out, name);
		fprintf(out, ",,,,,,,%.6f,", (double)f->rate[b] / RS_GBPS);
		if (f->window[b] != UINT64_MAX)
			fprintf(out, "%" PRIu64, f->window[b]);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",,,%" PRIu64, f->in_flight[b],
			at(f->resent, b), at(f->acked, b));
		for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
			fprintf(out, ",%" PRIu64, at(f->resent_for[why], b));
		fputs(",,,,,\n", out);
	}
}

static void csv_inside(const struct rs_diagnosis *d, const struct rs_series_inside *l, FILE *out)
{
	const struct rs_sim_result *r = d->cases[0].result;
	const struct rs_series *s = r->series;

	for (uint32_t b = 0; b < s->bins; b++) {
		if (!at(l->bytes, b))
			continue;
		fprintf(out, "%.3f,inside,", (double)b * (double)s->interval / RS_NS);
		csv_string(out, l->name);
		fprintf(out, ",,%.6f,,,,,,,,,,,,,,,,%.3f,,,,\n",
			gbps(at(l->bytes, b), bin_time(s, r, b)),
			(double)at((const uint64_t *)l->busy, b) / RS_NS);
	}
}

static void csv_engine(const struct rs_series *s, const struct rs_series_engine *g, FILE *out)
{
	for (uint32_t b = 0; b < s->bins; b++) {
		uint64_t waited = at((const uint64_t *)g->waited, b);

		if (!at(g->reads, b) && !at(g->credits, b) && !waited)
			continue;
		fprintf(out, "%.3f,engine,", (double)(b + 1) * (double)s->interval / RS_NS);
		csv_string(out, g->name);
		fprintf(out, ",,,,,,,,,,,,,,,,,,,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.3f\n",
			at(g->reads, b), at(g->read_bytes, b), at(g->credits, b),
			(double)waited / RS_NS);
	}
}

int rs_sim_series_csv(const struct rs_diagnosis *d, FILE *out)
{
	const struct rs_series *s = d->cases[0].result->series;

	fputs("time_ns,kind,name,class,gbps,queue_bytes,paused_ns,marks,drops,rate_gbps,"
	      "window_bytes,in_flight_bytes,resent,lost,pauses,acked_bytes,resent_timeout,"
	      "resent_nak,resent_rnr,resent_reordered,busy_ns,reads,read_bytes,credits,waited_ns\n",
	      out);
	for (uint32_t i = 0; i < s->n_ports; i++)
		csv_port(d, &s->ports[i], out);
	for (uint32_t i = 0; i < s->n_flows; i++)
		csv_flow(d, &s->flows[i], out);
	for (uint32_t i = 0; i < s->n_inside; i++)
		csv_inside(d, &s->inside[i], out);
	for (uint32_t i = 0; i < s->n_engines; i++)
		csv_engine(s, &s->engines[i], out);
	return ferror(out) ? -EIO : 0;
}
