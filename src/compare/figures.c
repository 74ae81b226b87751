/* What is compared of a run; figures over seeds, ranks, and which variants are equal. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/hist.h"
#include "compare/state.h"
#include "diagnose/diagnose.h"

const struct rs_figure_info rs_figures[RS_FIGURES] = {
	[RS_FIGURE_COMPLETION] = {"completion_ns", "completion", "ns"},
	[RS_FIGURE_MEDIAN] = {"flow_p50_ns", "flows p50", "ns"},
	[RS_FIGURE_TAIL] = {"flow_p99_ns", "flows p99", "ns"},
	[RS_FIGURE_SLOWEST] = {"flow_max_ns", "slowest flow", "ns"},
	[RS_FIGURE_GOODPUT] = {"goodput_bps", "goodput", "bit/s"},
	[RS_FIGURE_QUEUE] = {"queue_p99_bytes", "queue p99", "bytes"},
	[RS_FIGURE_QUEUE_MOST] = {"queue_max_bytes", "longest queue", "bytes"},
	[RS_FIGURE_PAUSES] = {"pauses", "pauses", ""},
	[RS_FIGURE_PAUSED] = {"paused_ns", "paused for", "ns"},
	[RS_FIGURE_MARKS] = {"marks", "marks", ""},
	[RS_FIGURE_RESENT] = {"resent", "resent", ""},
	[RS_FIGURE_LOST] = {"lost", "lost", ""},
	[RS_FIGURE_UTILISATION] = {"utilisation", "utilisation", "share"},
	[RS_FIGURE_BUSIEST] = {"busiest_link", "busiest link", "share"},
	[RS_FIGURE_FAIRNESS] = {"fairness", "fairness", "share"},
	[RS_FIGURE_RECOVERY] = {"recovery_ns", "recovery", "ns"},
	[RS_FIGURE_CPU] = {"cpu_s", "CPU", "s"},
};

#define PS_A_NS 1000.0

/* ---- Of one run ---- */

static double completion(const struct rs_sim_result *r)
{
	double sum = 0;

	for (uint32_t j = 0; j < r->n_jobs; j++) {
		rs_time t = rs_job_time(r, j);

		if (t == RS_NEVER)
			return INFINITY;
		sum += log((double)rs_time_max(t, 1));
	}
	if (r->n_jobs == 1)
		return (double)rs_job_time(r, 0) / PS_A_NS;
	return r->n_jobs ? exp(sum / r->n_jobs) / PS_A_NS : NAN;
}

static int by_time(const void *x, const void *y)
{
	const rs_time *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* Nearest rank, over the flows of all jobs; a flow that did not finish took without end. */
static void flows(const struct rs_sim_result *r, double *out)
{
	static const struct {
		enum rs_figure figure;
		double share;
	} of[] = {{RS_FIGURE_MEDIAN, 0.5}, {RS_FIGURE_TAIL, 0.99}, {RS_FIGURE_SLOWEST, 1}};
	uint32_t n = r->n_flows;
	rs_time *t = malloc((n + 1u) * sizeof(*t));

	for (uint32_t i = 0; t && i < n; i++)
		t[i] = r->flows[i].finish == RS_NEVER ? RS_NEVER
						      : r->flows[i].finish - r->flows[i].start;
	if (t && n)
		qsort(t, n, sizeof(*t), by_time);
	for (unsigned k = 0; t && n && k < sizeof(of) / sizeof(*of); k++) {
		rs_time v = t[(uint32_t)ceil(of[k].share * n) - 1];

		out[of[k].figure] = v == RS_NEVER ? INFINITY : (double)v / PS_A_NS;
	}
	free(t);
}

/* From the first job's start to the last one's end, or the run's where one does not end. */
static double duration(const struct rs_sim_result *r)
{
	rs_time from = RS_NEVER, to = 0;

	for (uint32_t j = 0; j < r->n_jobs; j++) {
		from = rs_time_min(from, r->jobs[j].start);
		to = rs_time_max(to, r->jobs[j].done ? r->jobs[j].finish : r->sim_time);
	}
	return to > from ? (double)(to - from) : 0;
}

static void goodput(const struct rs_fabric *f, const struct rs_sim_result *r, double ps,
		    double *out)
{
	double bytes = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_endpoints; i++) {
		bytes += (double)r->nic_bytes[i];
		n += r->nic_bytes[i] != 0;
	}
	if (n && ps > 0)
		out[RS_FIGURE_GOODPUT] = bytes * 8e12 / ps / n;
}

/* Between two switches. */
static bool is_core(const struct rs_series *s, const struct rs_series_port *p)
{
	return !p->nic && !s->ports[p->back].nic;
}

static void links(const struct rs_series *s, double ps, double *out)
{
	double sum = 0, most = 0;
	uint32_t n = 0;
	bool core = false;

	for (uint32_t i = 0; i < s->n_ports; i++)
		core |= is_core(s, &s->ports[i]);
	for (uint32_t i = 0; ps > 0 && i < s->n_ports; i++) {
		const struct rs_series_port *p = &s->ports[i];
		double load = (double)p->bytes * 8e12 / ((double)p->rate * ps);

		if (core ? !is_core(s, p) : !p->nic)
			continue;
		sum += load;
		most = fmax(most, load);
		n++;
	}
	if (!n)
		return;
	out[RS_FIGURE_UTILISATION] = sum / n;
	out[RS_FIGURE_BUSIEST] = most;
}

/* The longest queue of each bin in which a switch's port sent something. */
static void queues(const struct rs_series *s, double *out)
{
	struct rs_hist h = {0};

	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct rs_series_port *p = &s->ports[i];

		for (uint32_t b = 0; !p->nic && p->carried && b < s->bins; b++)
			if (p->carried[b])
				rs_hist_add(&h, p->peak ? p->peak[b] : 0);
	}
	if (h.n)
		out[RS_FIGURE_QUEUE] = (double)rs_hist_percentile(&h, 99);
	rs_hist_fini(&h);
}

/* Nothing is left until the event ends: what counts is its end. */
static bool is_outage(const struct rs_sim_result *r, const struct rs_sim_regain *g)
{
	bool ends = false;

	for (uint32_t i = 0; i < r->n_regains; i++)
		ends |= r->regains[i].event == g->event && !r->regains[i].begins;
	return g->begins && !g->left && ends;
}

/* The longest, counted from the change on. Before the first packet there was nothing to regain. */
static void recovery(const struct rs_sim_result *r, double *out)
{
	for (uint32_t i = 0; i < r->n_regains; i++) {
		const struct rs_sim_regain *g = &r->regains[i];
		double ns = g->time == RS_NEVER ? INFINITY : (double)g->time / PS_A_NS;

		if ((!g->before && g->begins) || is_outage(r, g))
			continue;
		if (isnan(out[RS_FIGURE_RECOVERY]) || ns > out[RS_FIGURE_RECOVERY])
			out[RS_FIGURE_RECOVERY] = ns;
	}
}

void figures_of(const struct rs_fabric *f, const struct rs_sim_result *r, double *out)
{
	const struct rs_sim_counters *c = &r->counters;
	struct rs_effects fx = rs_case_effects(r);
	double ps = duration(r);

	for (unsigned i = 0; i < RS_FIGURES; i++)
		out[i] = NAN;
	out[RS_FIGURE_COMPLETION] = completion(r);
	flows(r, out);
	goodput(f, r, ps, out);
	out[RS_FIGURE_QUEUE_MOST] = (double)c->max_queue;
	out[RS_FIGURE_PAUSES] = (double)(c->pauses + c->nic_pauses);
	out[RS_FIGURE_PAUSED] = (double)c->paused / PS_A_NS;
	out[RS_FIGURE_MARKS] = (double)c->ecn_marked;
	out[RS_FIGURE_RESENT] = (double)c->retransmits;
	out[RS_FIGURE_LOST] = (double)(c->drops + c->nic_drops + c->link_losses);
	if (fx.fairness > 0)
		out[RS_FIGURE_FAIRNESS] = fx.fairness;
	if (r->series) {
		links(r->series, ps, out);
		queues(r->series, out);
	}
	recovery(r, out);
	out[RS_FIGURE_CPU] = r->cpu_s;
}

/* ---- Over seeds ---- */

static void over_seeds(const struct rs_variant *v, unsigned figure, struct rs_over_seeds *o)
{
	double sum = 0, squares = 0, half = 0;

	*o = (struct rs_over_seeds){0};
	for (uint32_t s = 0; s < v->n_seeds; s++) {
		double x = v->run[(size_t)s * RS_FIGURES + figure];

		if (isnan(x))
			continue;
		sum += x;
		o->n++;
	}
	if (!o->n)
		return;
	o->mean = sum / o->n;
	for (uint32_t s = 0; s < v->n_seeds && o->n > 1 && isfinite(sum); s++) {
		double x = v->run[(size_t)s * RS_FIGURES + figure];

		squares += isnan(x) ? 0 : (x - o->mean) * (x - o->mean);
	}
	if (o->n > 1)
		half = rs_student(o->n - 1) * sqrt(squares / (o->n - 1) / o->n);
	o->low = o->mean > half ? o->mean - half : 0; /* no figure is below 0 */
	o->high = o->mean + half;
}

/* No draw of no seed tells them apart, but the time that it took to compute them. */
static bool identical(const struct rs_variant *a, const struct rs_variant *b)
{
	if (a->n_seeds != b->n_seeds || !a->n_seeds || a->error.code || b->error.code)
		return false;
	for (uint32_t s = 0; s < a->n_seeds; s++) {
		const double *x = a->run + (size_t)s * RS_FIGURES,
			     *y = b->run + (size_t)s * RS_FIGURES;

		if (a->events[s] != b->events[s])
			return false;
		for (unsigned i = 0; i < RS_FIGURES; i++)
			if (i != RS_FIGURE_CPU &&
			    (isnan(x[i]) != isnan(y[i]) || x[i] < y[i] || x[i] > y[i]))
				return false;
	}
	return true;
}

/*
 * Chance may explain the difference of their completion: the 95 % interval of the logarithm of
 * their ratio, seed by seed (the same seed draws the same in both), has 0 in it. One seed tells no
 * chance: then only equal times are equal.
 */
static bool alike(const struct rs_variant *a, const struct rs_variant *b)
{
	uint32_t n = a->n_seeds < b->n_seeds ? a->n_seeds : b->n_seeds;
	double sum = 0, squares = 0, mean;

	for (uint32_t s = 0; s < n; s++) {
		double x = log(b->run[(size_t)s * RS_FIGURES] / a->run[(size_t)s * RS_FIGURES]);

		sum += x;
		squares += x * x;
	}
	if (!n || !isfinite(sum))
		return false;
	mean = sum / n;
	if (n == 1 || squares == 0)
		return squares == 0;
	squares = fmax(0, squares - n * mean * mean) / (n - 1);
	return fabs(mean) <= rs_student(n - 1) * sqrt(squares / n);
}

struct sorted {
	double completion;
	uint32_t v;
};

static int by_completion(const void *x, const void *y)
{
	const struct sorted *a = x, *b = y;

	if (a->completion < b->completion || a->completion > b->completion)
		return a->completion < b->completion ? -1 : 1;
	return (a->v > b->v) - (a->v < b->v);
}

/* Of a variant that always ends its mean, of one that cannot be had more than of all. */
static double key(const struct rs_variant *v)
{
	if (v->error.code || !v->n_seeds)
		return HUGE_VAL;
	return v->ended == v->n_seeds ? v->of[RS_FIGURE_COMPLETION].mean : 1e300 - v->ended;
}

static void rank(struct rs_comparison *c)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		struct rs_variant *v = &c->variants[c->order[i]];
		struct rs_variant *f = &c->variants[c->order[first]];

		if (v->error.code || !v->n_seeds || v->ended < v->n_seeds)
			return;
		if (i && alike(f, v))
			f->shared = v->shared = true;
		else
			first = i;
		v->rank = first + 1;
	}
}

/* Equal ones stand beside each other in the order, if all their figures are equal. */
static void find_same(struct rs_comparison *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct rs_variant *v = &c->variants[c->order[i]];

		v->same_as = c->order[i];
		for (uint32_t k = i; k-- > 0 && !v->error.code;) {
			const struct rs_variant *before = &c->variants[c->order[k]];

			if (key(before) < key(v))
				break;
			if (identical(before, v)) {
				v->same_as = before->same_as;
				break;
			}
		}
	}
}

int judge(struct rs_comparison *c)
{
	struct sorted *s = calloc(c->n + 1u, sizeof(*s));

	if (!s)
		return -ENOMEM;
	for (uint32_t v = 0; v < c->n; v++) {
		for (unsigned i = 0; i < RS_FIGURES; i++)
			over_seeds(&c->variants[v], i, &c->variants[v].of[i]);
		s[v] = (struct sorted){key(&c->variants[v]), v};
	}
	qsort(s, c->n, sizeof(*s), by_completion);
	for (uint32_t i = 0; i < c->n; i++)
		c->order[i] = s[i].v;
	free(s);
	rank(c);
	find_same(c);
	return 0;
}

bool rs_figure_worth(const struct rs_comparison *c, enum rs_figure figure)
{
	for (uint32_t v = 0; v < c->n; v++)
		if (c->variants[v].of[figure].n &&
		    (c->variants[v].of[figure].mean != 0 || figure == RS_FIGURE_RECOVERY))
			return true;
	return false;
}
