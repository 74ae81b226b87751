/* What `ripstop sim` says of causes and fixes: jobs one by one, what holds them back, what fixes
 * give, the answer in short. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/sim_report.h"
#include "report/report.h"

enum {
	BAR = 12,
	JOBS_SHOWN = 3,
	/* side effects below them are not worth a word */
	QUEUE_SHORT = 256 << 10,
	PAUSES_FEW = 10,
};

/* A brake that costs less is not worth a sentence. */
#define BRAKE 0.15

static uint32_t n_jobs(const struct rs_diagnosis *d)
{
	return d->cases[0].fabric->n_jobs;
}

static const char *job_name(const struct rs_diagnosis *d, uint32_t job)
{
	return d->cases[0].fabric->jobs[job].name;
}

static const char *human(char *buf, size_t size, rs_time t)
{
	return t == RS_NEVER ? "does not end" : rs_human_time(buf, size, t);
}

/* ---- Jobs ---- */

/* The run of a job alone; 0: none. */
static uint32_t alone(const struct rs_diagnosis *d, uint32_t job)
{
	uint64_t all = (UINT64_C(1) << n_jobs(d)) - 1;

	for (uint32_t i = 1; i < d->n && n_jobs(d) < 64; i++)
		if (d->info[i].kind == RS_CASE_WITHOUT &&
		    d->cases[i].options.ideal.skip == (all & ~(UINT64_C(1) << job)))
			return i;
	return 0;
}

/* Times longer that a job takes beside the others; 1: not longer, or not known. */
static double slowdown(const struct rs_diagnosis *d, uint32_t job)
{
	uint32_t i = alone(d, job);
	rs_time with = rs_case_job_time(d, 0, job), by_itself;

	by_itself = i ? rs_case_job_time(d, i, job) : RS_NEVER;
	if (by_itself == RS_NEVER || by_itself <= 0)
		return 1;
	return with == RS_NEVER ? 1e9 : (double)with / (double)by_itself;
}

/* Several made ideal together are told only where that is a cause. */
static bool idle_pair(const struct rs_diagnosis *d, uint32_t i)
{
	if (!d->info[i].id || strcmp(d->info[i].id, "together") != 0)
		return false;
	for (uint32_t k = 0; k < d->n_causes; k++)
		if (d->causes[k].run == i)
			return false;
	return true;
}

/* What makes the most difference to one job, by name; NULL: nothing does. */
static const char *mostly(const struct rs_diagnosis *d, uint32_t job)
{
	rs_time base = rs_case_job_time(d, 0, job), least = base;
	const char *name = NULL;

	for (uint32_t i = 1; i < d->n; i++) {
		rs_time t = rs_case_job_time(d, i, job);

		if (d->info[i].kind != RS_CASE_COUNTERFACTUAL || !rs_case_gain(d, i).clear ||
		    idle_pair(d, i) || d->info[i].mends)
			continue;
		if (t < least && (base == RS_NEVER || base - t > base / 100)) {
			least = t;
			name = d->info[i].name;
		}
	}
	return name;
}

/* Payload that a job moved, a second of its time. */
static double goodput(const struct rs_diagnosis *d, uint32_t job)
{
	const struct rs_sim_result *r = d->cases[0].result;
	rs_time t = rs_job_span(r, job);
	uint64_t bytes = 0;

	if (t == RS_NEVER || t <= 0)
		return 0;
	if (r->jobs[job].program) {
		for (int i = 0; i < RS_WHYS; i++)
			bytes += r->jobs[job].work.bytes[i];
		return (double)bytes / ((double)t / RS_S) / 1e9;
	}
	if (r->jobs[job].conf->kind != RS_JOB_FLOWS)
		return (double)r->jobs[job].coll->conf.bytes /
		       ((double)r->jobs[job].further / RS_S) / 1e9;
	for (uint32_t i = 0; i < r->n_flows; i++)
		if (r->flows[i].job == job)
			bytes += r->flows[i].bytes;
	return (double)bytes / ((double)t / RS_S) / 1e9;
}

static void print_jobs(const struct rs_diagnosis *d, FILE *out)
{
	struct rs_table *t = rs_table_create(NULL);
	char a[32];

	fputs("JOB BY JOB\n", out);
	rs_table_column(t, "job", RS_LEFT);
	rs_table_column(t, "takes", RS_RIGHT);
	rs_table_column(t, "GB/s", RS_RIGHT);
	rs_table_column(t, "alone", RS_RIGHT);
	rs_table_column(t, "times longer", RS_RIGHT);
	rs_table_column(t, "ideal", RS_RIGHT);
	rs_table_column(t, "loses most to", RS_LEFT);
	for (uint32_t j = 0; j < n_jobs(d); j++) {
		uint32_t i = alone(d, j), by;
		const char *what = mostly(d, j);
		double longer = slowdown(d, j);

		rs_table_row(t);
		rs_table_cell(t, "%s", job_name(d, j));
		rs_table_cell(t, "%s", human(a, sizeof(a), rs_case_job_time(d, 0, j)));
		if (goodput(d, j) > 0)
			rs_table_cell(t, "%.3g", goodput(d, j));
		else
			rs_table_cell(t, "-");
		rs_table_cell(t, "%s", i ? human(a, sizeof(a), rs_case_job_time(d, i, j)) : "-");
		if (i && longer < 1e9)
			rs_table_cell(t, longer < 10 ? "%.2f" : "%.0f", longer);
		else
			rs_table_cell(t, "-");
		rs_table_cell(t, "%s", human(a, sizeof(a), rs_least_time(d, j, &by)));
		rs_table_cell(t, "%s", what ? what : longer > 1.01 ? "the other jobs" : "-");
	}
	rs_table_print(t, out);
	fputc('\n', out);
}

/* ---- Tables of cases ---- */

static int by_gain(const struct rs_diagnosis *d, uint32_t x, uint32_t y)
{
	struct rs_gain a = rs_case_gain(d, x), b = rs_case_gain(d, y);

	if (a.ends != b.ends)
		return a.ends ? -1 : 1;
	return a.gain > b.gain ? -1 : a.gain < b.gain ? 1 : x < y ? -1 : x > y;
}

static uint32_t sorted(const struct rs_diagnosis *d, enum rs_case_kind kind, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < d->n; i++) {
		uint32_t at = n;

		bool neither = d->info[i].mends && kind == RS_CASE_COUNTERFACTUAL;

		if (d->info[i].kind != kind || idle_pair(d, i) || neither)
			continue;
		for (; at && by_gain(d, i, list[at - 1]) < 0; at--)
			list[at] = list[at - 1];
		list[at] = i;
		n++;
	}
	return n;
}

/* Seeds that all gave the same have no interval to tell of. */
static bool spread(const struct rs_diagnosis *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		struct rs_gain g = rs_case_gain(d, i);

		if (d->info[i].n_seeds > 1 && g.high - g.low > 0.0005)
			return true;
	}
	return false;
}

/* What a table in tenths of a percent shows as 0. */
static bool no_change(const struct rs_gain *g)
{
	return g->ends && g->base_ends && g->gain < 0.0005 && g->gain > -0.0005;
}

/* Of one job: the share of its lost time; of several there is no one time to share. */
static double share(const struct rs_diagnosis *d, uint32_t i, enum rs_case_kind kind)
{
	rs_time base = rs_case_job_time(d, 0, 0), c = rs_case_job_time(d, i, 0), least;
	uint32_t by;

	if (kind == RS_CASE_FIX || n_jobs(d) > 1 || base == RS_NEVER || c == RS_NEVER)
		return rs_case_gain(d, i).gain;
	least = rs_least_time(d, 0, &by);
	return base > least ? (double)(base - c) / (double)(base - least) : 0;
}

static void gain_cells(struct rs_table *t, const struct rs_diagnosis *d, uint32_t i,
		       enum rs_case_kind kind)
{
	struct rs_gain g = rs_case_gain(d, i);
	char bar[32] = "";

	if (!g.ends) {
		rs_table_cell(t, "does not end");
	} else if (!g.base_ends) {
		rs_table_cell(t, "ends");
	} else if (g.gain < 0) {
		rs_table_cell(t, "%.1f%% slower", -100 * g.gain);
	} else {
		rs_table_cell(t, "%.1f%%", 100 * share(d, i, kind));
		rs_bar(bar, sizeof(bar), share(d, i, kind), BAR);
	}
	rs_table_cell(t, "%s", bar);
	if (!spread(d))
		return;
	if (!g.ends || !g.base_ends || d->info[i].n_seeds < 2)
		rs_table_cell(t, "-");
	else if (g.gain < 0)
		rs_table_cell(t, "%.1f to %.1f%% slower", -100 * g.high, -100 * g.low);
	else
		rs_table_cell(t, "%.1f to %.1f%%", 100 * g.low, 100 * g.high);
}

static struct rs_table *case_table(const struct rs_diagnosis *d, enum rs_case_kind kind)
{
	struct rs_table *t = rs_table_create(NULL);

	rs_table_column(t, kind == RS_CASE_FIX ? "fix" : "made ideal", RS_LEFT);
	for (uint32_t j = 0; j < n_jobs(d) && n_jobs(d) <= JOBS_SHOWN; j++)
		rs_table_column(t, n_jobs(d) == 1 ? "takes" : job_name(d, j), RS_RIGHT);
	rs_table_column(t, kind != RS_CASE_FIX && n_jobs(d) == 1 ? "of what is lost" : "less time",
			RS_RIGHT);
	rs_table_column(t, "", RS_LEFT);
	if (spread(d))
		rs_table_column(t, "95% sure", RS_RIGHT);
	return t;
}

/* Names of those that pass, in one sentence. */
static void print_names(const struct rs_diagnosis *d, const uint32_t *list, uint32_t n,
			const char *begin, bool (*pass)(const struct rs_gain *g), FILE *out)
{
	struct rs_enumeration names = {0};

	for (uint32_t i = 0; i < n; i++) {
		struct rs_gain g = rs_case_gain(d, list[i]);

		if (pass(&g))
			rs_enumerate(&names, "; ", "%s", d->info[list[i]].name);
	}
	if (names.n)
		rs_paragraph(out, 0, "%s: %s.", begin, names.text);
}

static bool unclear(const struct rs_gain *g)
{
	return !no_change(g) && !g->clear;
}

static void print_cases(const struct rs_diagnosis *d, enum rs_case_kind kind, FILE *out)
{
	uint32_t *list = calloc(d->n + 1u, sizeof(*list));
	uint32_t n = list ? sorted(d, kind, list) : 0;
	struct rs_table *t = NULL;
	char text[32];

	for (uint32_t i = 0; i < n; i++) {
		struct rs_gain g = rs_case_gain(d, list[i]);

		if (no_change(&g) || unclear(&g))
			continue;
		t = t ? t : case_table(d, kind);
		rs_table_row(t);
		rs_table_cell(t, "%s", d->info[list[i]].name);
		for (uint32_t j = 0; j < n_jobs(d) && n_jobs(d) <= JOBS_SHOWN; j++)
			rs_table_cell(t, "%s",
				      rs_case_job_time(d, list[i], j) == RS_NEVER
					      ? "-"
					      : human(text, sizeof(text),
						      rs_case_job_time(d, list[i], j)));
		gain_cells(t, d, list[i], kind);
	}
	if (t)
		rs_table_print(t, out);
	print_names(d, list, n, "No change", no_change, out);
	print_names(d, list, n, "No more than chance between seeds explains", unclear, out);
	free(list);
}

/* ---- Side effects ---- */

/* A run that is faster may fill queues that were short: what it costs beside the time. */
static void print_effects(const struct rs_diagnosis *d, uint32_t i, FILE *out)
{
	struct rs_effects a = rs_case_effects(d->cases[0].result);
	struct rs_effects b = rs_case_effects(d->cases[i].result);
	struct rs_enumeration price = {0};
	bool without = d->info[i].kind == RS_CASE_COUNTERFACTUAL;
	char x[32], y[32];

	if (b.max_queue > a.max_queue + a.max_queue / 2 && b.max_queue > QUEUE_SHORT)
		rs_enumerate(&price, ", ", "the longest queue grows from %s to %s",
			     rs_human_bytes(x, sizeof(x), (double)a.max_queue),
			     rs_human_bytes(y, sizeof(y), (double)b.max_queue));
	if (b.pauses > a.pauses + a.pauses / 2 + PAUSES_FEW)
		rs_enumerate(&price, ", ", "there are %llu pauses instead of %llu",
			     (unsigned long long)b.pauses, (unsigned long long)a.pauses);
	if (b.drops > a.drops)
		rs_enumerate(&price, ", ", "%llu packets are dropped instead of %llu",
			     (unsigned long long)b.drops, (unsigned long long)a.drops);
	if (b.fairness > 0 && b.fairness < a.fairness - 0.02)
		rs_enumerate(&price, ", ",
			     "fairness between flows (Jain's index) falls from %.2f to %.2f",
			     a.fairness, b.fairness);
	if (price.n)
		rs_paragraph(out, 2, "But %s %s: %s.", without ? "without" : "with",
			     d->info[i].name, price.text);
}

static void print_prices(const struct rs_diagnosis *d, FILE *out)
{
	for (uint32_t i = 1; i < d->n; i++) {
		struct rs_gain g = rs_case_gain(d, i);
		bool cuts = d->info[i].id && !strcmp(d->info[i].id, "cuts");

		if (((d->info[i].kind == RS_CASE_FIX && !idle_pair(d, i)) || cuts) && g.ends &&
		    g.gain > 0.0005)
			print_effects(d, i, out);
	}
}

/* ---- The answer ---- */

/* What the times compared are of, to begin a sentence with. */
static const char *what_takes(const struct rs_diagnosis *d)
{
	static const char *const unit[] = {
		"From the first flow's start to the last one's end it takes",
		"The collective takes", "The training step takes", "The trace takes",
		"The mean time to first token is"};

	if (d->cases[0].fabric->jobs[0].kind == RS_JOB_FLOWS &&
	    rs_job_arrives(&d->cases[0].fabric->jobs[0]))
		return "A flow takes, on average,";
	return unit[d->cases[0].fabric->jobs[0].kind];
}

/* One job: what is lost against the least that any run reached. */
static void sum_one(const struct rs_diagnosis *d, FILE *out)
{
	rs_time base = rs_case_job_time(d, 0, 0), least;
	char a[32], b[32];
	uint32_t by;

	least = rs_least_time(d, 0, &by);
	if (base == RS_NEVER && least == RS_NEVER) {
		rs_paragraph(out, 0, "It does not end, whatever is made ideal.");
		return;
	}
	if (base == RS_NEVER)
		rs_paragraph(out, 0,
			     "It does not end as described. It takes %s when this is ideal: %s.",
			     rs_human_time(b, sizeof(b), least), d->info[by].how);
	else if (!by || base - least < base / 1000)
		rs_paragraph(out, 0, "%s %s. No run with less in its way was faster: %s.",
			     what_takes(d), rs_human_time(a, sizeof(a), base),
			     d->n_causes ? "nothing is lost on the way" : "nothing is lost");
	else if (d->info[by].kind == RS_CASE_IDEAL)
		rs_paragraph(out, 0, "%s %s; with %s %s: %.1f%% of the time is lost.",
			     what_takes(d), rs_human_time(a, sizeof(a), base), d->info[by].name,
			     rs_human_time(b, sizeof(b), least),
			     100 * (1 - (double)least / (double)base));
	else
		rs_paragraph(
			out, 0,
			"%s %s; the least that any run took is %s (ideal: %s), so %.1f%% of the "
			"time is lost. With everything ideal at once it is slower than that: one "
			"of the brakes did good.",
			what_takes(d), rs_human_time(a, sizeof(a), base),
			rs_human_time(b, sizeof(b), least), d->info[by].name,
			100 * (1 - (double)least / (double)base));
}

/* Several: the one that pays most for the others. */
static void sum_jobs(const struct rs_diagnosis *d, FILE *out)
{
	uint32_t worst = 0, by;
	rs_time with, least;
	char a[32], b[32];

	for (uint32_t j = 1; j < n_jobs(d); j++)
		if (slowdown(d, j) > slowdown(d, worst))
			worst = j;
	with = rs_case_job_time(d, 0, worst);
	if (with == RS_NEVER) {
		rs_paragraph(out, 0, "Job '%s' does not end.", job_name(d, worst));
	} else if (slowdown(d, worst) > 1.01) {
		rs_time by_itself = rs_case_job_time(d, alone(d, worst), worst);

		rs_paragraph(
			out, 0,
			"Job '%s' pays most for the others: it takes %s beside them and %s alone, "
			"%.3g times longer.",
			job_name(d, worst), rs_human_time(a, sizeof(a), with),
			rs_human_time(b, sizeof(b), by_itself), slowdown(d, worst));
	} else {
		rs_paragraph(out, 0, "%s",
			     alone(d, worst)
				     ? "No job is slower beside the others than alone."
				     : "The jobs were not run alone: there are more than 8.");
	}
	for (uint32_t j = 0; j < n_jobs(d); j++) {
		with = rs_case_job_time(d, 0, j);
		least = rs_least_time(d, j, &by);
		if (with != RS_NEVER && least < with - with / 20)
			rs_paragraph(out, 0,
				     "Job '%s' takes %s; with %s %s: %.1f%% of its time is lost.",
				     job_name(d, j), rs_human_time(a, sizeof(a), with),
				     d->info[by].kind == RS_CASE_IDEAL ? d->info[by].name
								       : "one thing made ideal",
				     rs_human_time(b, sizeof(b), least),
				     100 * (1 - (double)least / (double)with));
	}
}

static int best_fix(const struct rs_diagnosis *d)
{
	int best = -1;

	for (uint32_t i = 1; i < d->n; i++)
		if (d->info[i].kind == RS_CASE_FIX && !idle_pair(d, i) &&
		    (best < 0 || by_gain(d, i, (uint32_t)best) < 0))
			best = (int)i;
	return best;
}

static void print_fix(const struct rs_diagnosis *d, const char *which, uint32_t i, FILE *out)
{
	struct rs_gain g = rs_case_gain(d, i);
	rs_time t = rs_case_job_time(d, i, 0), least;
	char a[32];
	uint32_t by;

	least = rs_least_time(d, 0, &by);
	if (!g.base_ends) {
		rs_paragraph(out, 0, "%s: %s. Then it ends.", which, d->info[i].name);
		return;
	}
	if (n_jobs(d) > 1)
		rs_paragraph(out, 0, "%s: %s. The jobs take %.1f%% less (geometric mean).", which,
			     d->info[i].name, 100 * g.gain);
	else
		rs_paragraph(out, 0, "%s: %s. It would then take %s: %.1f%% less.%s", which,
			     d->info[i].name, rs_human_time(a, sizeof(a), t), 100 * g.gain,
			     t < least - least / 1000
				     ? " That is more than is lost: the ideal runs keep the hosts' "
				       "links and what the job sends."
				     : "");
}

static void sum_fixes(const struct rs_diagnosis *d, FILE *out)
{
	int best = best_fix(d), cure = d->n_causes ? d->causes[0].fix : -1;
	struct rs_gain g;

	if (best < 0)
		return;
	/* what mends the first cause is said first, then what gives clearly more */
	if (cure >= 0 &&
	    rs_case_gain(d, (uint32_t)cure).gain > 0.95 * rs_case_gain(d, (uint32_t)best).gain)
		best = cure;
	else if (cure >= 0)
		print_fix(d, "What mends the first of these", (uint32_t)cure, out);
	g = rs_case_gain(d, (uint32_t)best);
	if (g.ends && g.clear && (g.gain > 0.0005 || !g.base_ends))
		print_fix(d, "The best fix tried", (uint32_t)best, out);
	else
		rs_paragraph(out, 0, "None of the fixes that were tried makes it faster.");
}

static double gains_of(const struct rs_diagnosis *d, const char *id)
{
	for (uint32_t i = 1; i < d->n; i++)
		if (d->info[i].id && !strcmp(d->info[i].id, id))
			return rs_case_gain(d, i).gain;
	return 0;
}

/* Which job a cause costs what, of several. */
static void print_costs(const struct rs_diagnosis *d, const struct rs_cause *c, FILE *out)
{
	struct rs_enumeration jobs = {0};

	for (uint32_t j = 0; j < n_jobs(d) && n_jobs(d) > 1; j++) {
		double x = rs_cause_job_share(d, c, j);

		if (isnan(x) || fabs(x) < 0.01)
			continue;
		if (x > 0)
			rs_enumerate(&jobs, ", ", "job '%s' loses %.1f%% of its time",
				     job_name(d, j), 100 * x);
		else
			rs_enumerate(&jobs, ", ", "job '%s' is %.2f times as fast", job_name(d, j),
				     1 - x);
	}
	if (jobs.n)
		rs_paragraph(out, 2, "by it %s", jobs.text);
}

static void sum_not_told(const struct rs_diagnosis *d, FILE *out)
{
	for (uint32_t i = 0; i < d->n_not_told && d->n_seeds > 1; i++)
		rs_paragraph(out, 0, "Not enough to tell: %s. This would: %s", d->not_told[i].what,
			     d->not_told[i].run);
}

/* What congestion control costs where nothing is amiss with it. */
static void sum_brake(const struct rs_diagnosis *d, FILE *out)
{
	double gain = gains_of(d, "cuts");

	for (uint32_t i = 0; i < d->n_causes; i++)
		if (!strcmp(d->causes[i].id, "cuts"))
			return;
	if (gain > BRAKE)
		rs_paragraph(out, 0,
			     "Without congestion control's cuts it would take %.1f%% less. Its "
			     "settings are the usual: that is the price of a brake, and no fault.",
			     100 * gain);
}

static void sum_causes(const struct rs_diagnosis *d, FILE *out)
{
	const struct rs_cause *c = &d->causes[0];
	char a[32], until[64] = "";

	if (!d->n_causes) {
		if (d->no_queues && gains_of(d, "paths") > 0.01 &&
		    (best_fix(d) < 0 || rs_case_gain(d, (uint32_t)best_fix(d)).gain < 0.01))
			rs_paragraph(
				out, 0,
				"No packet stood behind another in the network: what one ideal "
				"switch gains is a shorter way. Nothing is to be mended there.");
		return;
	}
	if (n_jobs(d) == 1 && rs_case_job_time(d, c->run, 0) != RS_NEVER &&
	    d->info[c->run].kind != RS_CASE_FIX)
		snprintf(until, sizeof(until), " Were that ideal, it would take %s.",
			 rs_human_time(a, sizeof(a), rs_case_job_time(d, c->run, 0)));
	rs_paragraph(out, 0, "What costs most: %s.%s", c->what, until);
	for (uint32_t i = 0; i < c->n_evidence; i++)
		rs_paragraph(out, 2, "%s", c->evidence[i]);
	print_costs(d, c, out);
	for (uint32_t k = 1; k < d->n_causes && k < 3; k++) {
		rs_paragraph(out, 0, "%s: %s.", k == 1 ? "Then" : "And", d->causes[k].what);
		print_costs(d, &d->causes[k], out);
	}
}

/* How sure it is. */
static void sum_seeds(const struct rs_diagnosis *d, FILE *out)
{
	rs_time least = RS_NEVER, most = 0;
	char a[32], b[32];

	if (d->n_seeds < 2) {
		rs_paragraph(
			out, 0,
			"One seed was run%s: where paths, marks or losses are drawn, a difference "
			"of a few percent may be chance. --seeds 5 tells.",
			d->seeds_cut ? ", since the runs are long" : "");
		return;
	}
	for (uint32_t s = 0; s < d->n_seeds && n_jobs(d) == 1; s++) {
		least = rs_time_min(least, d->info[0].times[s]);
		most = rs_time_max(most, d->info[0].times[s]);
	}
	if (n_jobs(d) == 1 && most != RS_NEVER && most - least > most / 1000)
		rs_paragraph(out, 0,
			     "Times are means of %u seeds; as described they span %s to %s.",
			     d->n_seeds, rs_human_time(a, sizeof(a), least),
			     rs_human_time(b, sizeof(b), most));
	else
		rs_paragraph(out, 0,
			     spread(d) ? "Times are means of %u seeds."
				       : "%u seeds gave the same times.",
			     d->n_seeds);
}

static void sum_up(const struct rs_diagnosis *d, FILE *out)
{
	fputs("IN SHORT\n", out);
	if (n_jobs(d) == 1)
		sum_one(d, out);
	else
		sum_jobs(d, out);
	sum_causes(d, out);
	sum_brake(d, out);
	sum_not_told(d, out);
	sum_fixes(d, out);
	sum_seeds(d, out);
	fputc('\n', out);
}

/* ---- Where ---- */

/* Where inside the hosts it is tight. */
static void print_busiest(const struct rs_sim_result *s, FILE *out)
{
	struct rs_enumeration links = {0};

	for (uint32_t i = 0; i < s->n_links && i < 3 && s->sim_time > 0; i++)
		rs_enumerate(&links, ", ", "%s %.0f%%", s->links[i].name,
			     100 * (double)s->links[i].busy / (double)s->sim_time);
	if (links.n)
		rs_paragraph(out, 0, "Busiest links inside the hosts, share of the time run: %s.",
			     links.text);
}

static bool any(const struct rs_diagnosis *d, enum rs_case_kind kind)
{
	for (uint32_t i = 1; i < d->n; i++)
		if (d->info[i].kind == kind)
			return true;
	return false;
}

void rs_sim_print_diagnosis(const struct rs_diagnosis *d, FILE *out)
{
	if (!d->whole)
		return;
	if (n_jobs(d) > 1)
		print_jobs(d, out);
	fputs("WHAT HOLDS IT BACK\n", out);
	rs_paragraph(out, 0,
		     "Each line is the same run with one thing made ideal. Shares need not add up: "
		     "what one fault hides another shows. Without pauses, or without congestion "
		     "control's cuts, a queue grows where there was none: that can be slower.");
	print_cases(d, RS_CASE_COUNTERFACTUAL, out);
	print_busiest(d->cases[0].result, out);
	fputc('\n', out);
	if (any(d, RS_CASE_FIX)) {
		fputs("WHAT EACH FIX GIVES\n", out);
		print_cases(d, RS_CASE_FIX, out);
		fputc('\n', out);
	}
	print_prices(d, out);
	sum_up(d, out);
}
