/* What was observed of a run, for people: where load, queues and pauses were, in a few lines. */
#include <stdlib.h>
#include "base/units.h"
#include "cli/sim_report.h"
#include "report/report.h"

enum { ROWS = 5, NAMES = 4 };

/* A port, by one figure of it. */
struct place {
	double figure;
	const struct rs_series_port *p;
};

static int by_figure(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->figure != b->figure)
		return a->figure < b->figure ? 1 : -1;
	return a->p->number < b->p->number ? -1 : a->p->number > b->p->number;
}

/* A hundredth of the first is not. */
static bool worth(const struct place *place, uint32_t i)
{
	return place[i].figure > 0 && place[i].figure * 100 >= place[0].figure;
}

/* Share of what the link could carry in the run. */
static double use_of(const struct rs_series_port *p, const struct rs_sim_result *r)
{
	double room = (double)p->rate * (double)r->sim_time / (double)RS_S / 8;

	return room > 0 ? (double)p->bytes / room : 0;
}

static double queue_of(const struct rs_series_port *p, const struct rs_sim_result *r)
{
	(void)r;
	return (double)p->queue_most;
}

/* The table's title is said only where there is something to say. */
static void print_ports(const struct rs_sim_result *r, const char *title,
			double (*figure)(const struct rs_series_port *p,
					 const struct rs_sim_result *r),
			struct place *place, FILE *out)
{
	const struct rs_series *s = r->series;
	struct rs_table *t;
	char a[32], b[32];

	for (uint32_t i = 0; i < s->n_ports; i++)
		place[i] = (struct place){figure(&s->ports[i], r), &s->ports[i]};
	qsort(place, s->n_ports, sizeof(*place), by_figure);
	if (!s->n_ports || place[0].figure <= 0 || !(t = rs_table_create(title)))
		return;
	rs_table_column(t, "port", RS_LEFT);
	rs_table_column(t, "Gb/s", RS_RIGHT);
	rs_table_column(t, "use", RS_RIGHT);
	rs_table_column(t, "longest queue", RS_RIGHT);
	rs_table_column(t, "marks", RS_RIGHT);
	rs_table_column(t, "lost", RS_RIGHT);
	rs_table_column(t, "paused", RS_RIGHT);
	for (uint32_t i = 0; i < ROWS && i < s->n_ports && worth(place, i); i++) {
		const struct rs_series_port *p = place[i].p;
		double use = use_of(p, r);

		rs_table_row(t);
		rs_table_cell(t, "%s", p->name);
		rs_table_cell(t, "%.1f", use * (double)p->rate / 1e9);
		rs_table_cell(t, "%.0f%%", use * 100);
		rs_table_cell(t, "%s",
			      p->nic ? "" : rs_human_bytes(a, sizeof(a), (double)p->queue_most));
		rs_table_cell(t, "%llu", (unsigned long long)p->n_marks);
		rs_table_cell(t, "%llu", (unsigned long long)(p->n_drops + p->n_lost));
		rs_table_cell(t, "%s", p->paused ? rs_human_time(b, sizeof(b), p->paused) : "");
	}
	rs_table_print(t, out);
	fputc('\n', out);
}

static void print_pauses(const struct rs_sim_result *r, FILE *out)
{
	struct rs_table *t = r->n_pauses ? rs_table_create("Who paused whom") : NULL;
	char a[32];

	if (!t)
		return;
	rs_table_column(t, "held", RS_LEFT);
	rs_table_column(t, "by", RS_LEFT);
	rs_table_column(t, "class", RS_RIGHT);
	rs_table_column(t, "for", RS_RIGHT);
	rs_table_column(t, "which waited for", RS_LEFT);
	for (uint32_t i = 0; i < ROWS && i < r->n_pauses; i++) {
		const struct rs_sim_pause *p = &r->pauses[i];

		rs_table_row(t);
		rs_table_cell(t, "%s", p->held);
		rs_table_cell(t, "%s", p->by);
		rs_table_cell(t, "%u", p->tc);
		rs_table_cell(t, "%s", rs_human_time(a, sizeof(a), p->time));
		rs_table_cell(t, "%s", p->for_);
	}
	rs_table_print(t, out);
	fputc('\n', out);
}

/* Neither sent nor received. */
static void print_idle(const struct rs_diagnosis *d, FILE *out)
{
	const struct rs_series *s = d->cases[0].result->series;
	const struct rs_fabric *f = d->cases[0].fabric;
	struct rs_enumeration names = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct rs_series_port *p = &s->ports[i];

		if (p->nic && !p->bytes && !s->ports[p->back].bytes && n++ < NAMES)
			rs_enumerate(&names, ", ", "%.40s", f->endpoints[p->node].name);
	}
	if (n)
		rs_paragraph(out, 0, "%u of %u NICs carried nothing: %s%s.", n, f->n_endpoints,
			     names.text, n > NAMES ? " and others" : "");
}

static void print_latency(const struct rs_series *s, FILE *out)
{
	static const double shown[] = {50, 99, 99.99};
	char t[3][32];

	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		const struct rs_hist *h = &s->latency[tc];

		if (!h->n)
			continue;
		for (unsigned i = 0; i < 3; i++)
			rs_human_time(t[i], sizeof(t[i]), (rs_time)rs_hist_percentile(h, shown[i]));
		rs_paragraph(out, 0,
			     "From NIC to NIC packets of class %u took %s (p50), %s (p99), %s "
			     "(p99.99).",
			     tc, t[0], t[1], t[2]);
	}
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double nearest_rank(const double *sorted, uint32_t n, double p)
{
	uint32_t at = (uint32_t)(p / 100 * n);

	return sorted[at < n ? at : n - 1];
}

static void print_slowdowns(const struct rs_sim_result *r, FILE *out)
{
	double *slow = malloc((r->n_flows + 1u) * sizeof(*slow));
	uint32_t n = 0;

	for (uint32_t i = 0; slow && i < r->n_flows; i++)
		if (r->series->flow_speed[i].slowdown > 0)
			slow[n++] = r->series->flow_speed[i].slowdown;
	if (n) {
		qsort(slow, n, sizeof(*slow), by_size);
		rs_paragraph(out, 0,
			     "Beside an empty network flows took %.2f times as long (p50), %.2f "
			     "(p99), %.2f at most.",
			     nearest_rank(slow, n, 50), nearest_rank(slow, n, 99), slow[n - 1]);
	}
	free(slow);
	for (uint32_t i = 0; r->n_jobs > 1 && i < r->n_jobs; i++)
		if (r->series->job_speed[i].slowdown > 0)
			rs_paragraph(
				out, 0,
				"Beside a run without the others '%s' took %.2f times as long.",
				r->jobs[i].conf->name, r->series->job_speed[i].slowdown);
}

void rs_sim_print_observed(const struct rs_diagnosis *d, FILE *out)
{
	const struct rs_sim_result *r = d->cases[0].result;
	struct place *place;

	if (!r->series)
		return;
	place = calloc(r->series->n_ports + 1u, sizeof(*place));
	if (!place)
		return;
	print_ports(r, "Busiest ports", use_of, place, out);
	print_ports(r, "Longest queues", queue_of, place, out);
	free(place);
	print_pauses(r, out);
	print_idle(d, out);
	print_latency(r->series, out);
	print_slowdowns(r, out);
}
