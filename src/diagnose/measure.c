/* Times of cases compared: over jobs by the geometric mean, over seeds with Student's t. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diagnose/state.h"

enum { OPEN_MIN = 8 }; /* fewer flows are no stream of arrivals */

/* Most of its flows begin at another time than the one before in the list. */
static bool flows_arrive(const struct rs_job *j)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < j->n_flows; i++)
		n += j->flows[i].start != j->flows[i - 1].start;
	return j->n_flows >= OPEN_MIN && n > j->n_flows / 2;
}

bool rs_job_arrives(const struct rs_job *j)
{
	return j->kind == RS_JOB_SERVE || (j->kind == RS_JOB_FLOWS && flows_arrive(j));
}

static rs_time mean_first_token(const struct rs_sim_job *j)
{
	uint32_t n = j->conf->serve.requests;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)(j->requests[i].first - j->start - j->requests[i].arrival);
	return n ? (rs_time)llround(sum / n) : 0;
}

static rs_time mean_completion(const struct rs_sim_result *r, uint32_t job)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_flows; i++)
		if (r->flows[i].job == job) {
			sum += (double)(r->flows[i].finish - r->flows[i].start);
			n++;
		}
	return n ? (rs_time)llround(sum / n) : 0;
}

rs_time rs_job_span(const struct rs_sim_result *r, uint32_t job)
{
	const struct rs_sim_job *j = &r->jobs[job];

	if (!j->done)
		return RS_NEVER;
	switch (j->conf->kind) {
	case RS_JOB_TRAIN:
		return j->train.step;
	case RS_JOB_COLLECTIVE:
		return j->further;
	case RS_JOB_TRACE:
	case RS_JOB_SERVE:
		return j->work.step;
	case RS_JOB_FLOWS:
	case RS_JOB_KINDS:
		break;
	}
	return j->finish - j->start;
}

/* Where arrivals decide when the last one ends, what each takes is what counts. */
rs_time rs_job_time(const struct rs_sim_result *r, uint32_t job)
{
	const struct rs_sim_job *j = &r->jobs[job];

	if (!j->done || !rs_job_arrives(j->conf))
		return rs_job_span(r, job);
	return j->conf->kind == RS_JOB_SERVE ? mean_first_token(j) : mean_completion(r, job);
}

static uint32_t n_jobs(const struct rs_diagnosis *d)
{
	return d->cases[0].fabric->n_jobs;
}

static bool left_out(const struct rs_diagnosis *d, uint32_t i, uint32_t job)
{
	return job < 64 && d->cases[i].options.ideal.skip >> job & 1;
}

static rs_time time_of(const struct rs_diagnosis *d, uint32_t i, uint32_t seed, uint32_t job)
{
	return d->info[i].times[(size_t)seed * n_jobs(d) + job];
}

rs_time rs_case_job_time(const struct rs_diagnosis *d, uint32_t i, uint32_t job)
{
	double sum = 0;
	uint32_t n = d->info[i].n_seeds;

	for (uint32_t s = 0; s < n; s++) {
		if (time_of(d, i, s, job) == RS_NEVER)
			return RS_NEVER;
		sum += (double)time_of(d, i, s, job);
	}
	return n ? (rs_time)llround(sum / n) : RS_NEVER;
}

rs_time rs_case_time(const struct rs_diagnosis *d, uint32_t i)
{
	rs_time all = 0;

	for (uint32_t j = 0; j < n_jobs(d); j++) {
		if (left_out(d, i, j))
			continue;
		if (!d->info[i].n_seeds || time_of(d, i, 0, j) == RS_NEVER)
			return RS_NEVER;
		all += time_of(d, i, 0, j);
	}
	return n_jobs(d) ? all : RS_NEVER;
}

double rs_student(uint32_t freedom)
{
	static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
				   2.365, 2.306,  2.262, 2.228, 2.201, 2.179, 2.160,
				   2.145, 2.131,  2.120, 2.110, 2.101, 2.093, 2.086};

	return freedom < sizeof(t) / sizeof(*t) ? t[freedom] : 1.96 + 2.5 / freedom;
}

/* A job that never ends as described, and does in a case, is counted as this many times longer. */
#define NEVER_ENDS 1000.0

enum { ALL_JOBS = UINT32_MAX };

/* The mean over jobs (or of one) of the logarithm of case i's time over another's, of one seed. */
static double log_ratio(const struct rs_diagnosis *d, uint32_t i, uint32_t over, uint32_t seed,
			uint32_t only, struct rs_gain *g)
{
	double sum = 0;

	for (uint32_t j = 0; j < n_jobs(d); j++) {
		rs_time base = time_of(d, over, seed, j), c = time_of(d, i, seed, j);

		if (left_out(d, i, j) || (base <= 0 && c <= 0) || (only != ALL_JOBS && j != only))
			continue;
		if (base == RS_NEVER)
			g->base_ends = false;
		if (c == RS_NEVER)
			continue;
		sum += base == RS_NEVER
			       ? -log(NEVER_ENDS)
			       : log((double)rs_time_max(c, 1) / (double)rs_time_max(base, 1));
	}
	return only == ALL_JOBS ? sum / n_jobs(d) : sum;
}

static bool all_end(const struct rs_diagnosis *d, uint32_t i)
{
	for (uint32_t j = 0; j < n_jobs(d); j++)
		if (!left_out(d, i, j) && rs_case_job_time(d, i, j) == RS_NEVER)
			return false;
	return true;
}

/* Of the logarithms of ratios, a seed each. */
struct spread {
	uint32_t n;
	double sum, squares, least, most, x[RS_SEEDS_MAX];
};

static void spread_add(struct spread *s, double x)
{
	s->least = s->n ? fmin(s->least, x) : x;
	s->most = s->n ? fmax(s->most, x) : x;
	s->sum += x;
	s->squares += x * x;
	s->x[s->n++] = x;
}

/* A smaller difference points nowhere: nothing, or little beside the mean. */
#define POINTS      0.002
#define POINTS_MEAN 0.1
/* Four times as fast: a timeout that is gone. */
#define TIMEOUT 1.386

/*
 * Times with timeouts in them are far from normal. Where each of five seeds or more points the same
 * way, that is clear by the sign test (1 in 32 by chance). Seeds with which nothing changes draw
 * the same with and without: what was taken away (a loss, a collision) did not happen there. That
 * two others differ is then no chance either, if none differs the other way. One is enough where
 * losses were taken away and a timeout went with them.
 */
static bool one_way(const struct spread *s, bool losses)
{
	double least = fmax(POINTS, POINTS_MEAN * fabs(s->sum / s->n));
	uint32_t less = 0, more = 0, timeouts = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		less += s->x[i] < -least;
		more += s->x[i] > least;
		timeouts += s->x[i] < -TIMEOUT;
	}
	return s->n >= 5 && less + more + (losses && timeouts) >= 2 && (!less || !more);
}

/* The mean and its 95 % interval. Where seeds point one way it does not pass the one that points
 * that way least. */
static void spread_judge(const struct spread *s, bool losses, struct rs_gain *g)
{
	double mean = s->n ? s->sum / s->n : 0, half = 0, low, high;
	bool same = s->n && one_way(s, losses);

	if (s->n > 1) {
		double var = (s->squares - s->n * mean * mean) / (s->n - 1);

		half = rs_student(s->n - 1) * sqrt(var > 0 ? var / s->n : 0);
	}
	low = mean - half;
	high = mean + half;
	/* of seeds that say the same, the mean may be off by its last bit */
	if (same && mean < 0)
		high = fmin(high, fmax(s->most, mean));
	if (same && mean > 0)
		low = fmax(low, fmin(s->least, mean));
	g->clear = s->n < 2 || same || fabs(mean) > half;
	g->gain = 1 - exp(mean);
	g->low = 1 - exp(high);
	g->high = 1 - exp(low);
}

/* The case takes losses or drops away. */
static bool no_losses(const struct rs_case_info *c)
{
	if (c->id)
		return !strcmp(c->id, "link.loss") || !strcmp(c->id, "drops");
	return c->cures && (strstr(c->cures, "link.loss") || strstr(c->cures, "drops."));
}

static uint32_t seeds_of(const struct rs_diagnosis *d, uint32_t i, uint32_t over)
{
	uint32_t n = d->info[i].n_seeds, m = d->info[over].n_seeds;

	return n < m ? n : m;
}

static struct rs_gain gain_of(const struct rs_diagnosis *d, uint32_t i, uint32_t over,
			      uint32_t only)
{
	struct rs_gain g = {.ends = true, .base_ends = true};
	uint32_t n = seeds_of(d, i, over);
	struct spread s = {0};

	for (uint32_t k = 0; k < n; k++)
		spread_add(&s, log_ratio(d, i, over, k, only, &g));
	spread_judge(&s, no_losses(&d->info[i]), &g);
	g.ends = all_end(d, i);
	return g;
}

struct rs_gain rs_case_gain(const struct rs_diagnosis *d, uint32_t i)
{
	return gain_of(d, i, 0, ALL_JOBS);
}

struct rs_gain rs_case_gain_over(const struct rs_diagnosis *d, uint32_t i, uint32_t over)
{
	return gain_of(d, i, over, ALL_JOBS);
}

struct rs_gain rs_case_gain_of_job(const struct rs_diagnosis *d, uint32_t i, uint32_t job)
{
	return gain_of(d, i, 0, job);
}

double rs_case_job_gain(const struct rs_diagnosis *d, uint32_t i, uint32_t job)
{
	rs_time base = rs_case_job_time(d, 0, job), t = rs_case_job_time(d, i, job);

	if (left_out(d, i, job) || t == RS_NEVER)
		return NAN;
	if (base == RS_NEVER)
		return 1;
	return base > 0 ? 1 - (double)t / (double)base : 0;
}

double rs_cause_job_share(const struct rs_diagnosis *d, const struct rs_cause *c, uint32_t job)
{
	double x = rs_case_job_gain(d, c->run, job), after;

	if (!c->after)
		return x;
	after = rs_case_job_gain(d, c->after, job);
	return after < 1 ? (x - after) / (1 - after) : NAN;
}

rs_time rs_least_time(const struct rs_diagnosis *d, uint32_t job, uint32_t *by)
{
	rs_time least = RS_NEVER;

	*by = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		rs_time t;

		if (d->info[i].kind == RS_CASE_FIX || d->info[i].kind == RS_CASE_WITHOUT ||
		    d->info[i].mends)
			continue;
		t = rs_case_job_time(d, i, job);
		/* of equals the ideal one is named */
		if (t < least || (t == least && d->info[i].kind == RS_CASE_IDEAL)) {
			least = t;
			*by = i;
		}
	}
	return least;
}

struct rs_effects rs_case_effects(const struct rs_sim_result *r)
{
	const struct rs_sim_counters *c = &r->counters;
	struct rs_effects e = {.max_queue = c->max_queue,
			       .pauses = c->pauses + c->nic_pauses,
			       .drops = c->drops + c->nic_drops};
	double sum = 0, squares = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_flows; i++) {
		const struct rs_sim_flow *f = &r->flows[i];

		if (f->finish != RS_NEVER && f->finish > f->start) {
			double x = (double)f->bytes / (double)(f->finish - f->start);

			sum += x;
			squares += x * x;
			n++;
		}
	}
	e.fairness = squares > 0 ? sum * sum / (n * squares) : 0;
	return e;
}
