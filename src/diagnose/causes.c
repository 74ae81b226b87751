/* Causes in order: a counterfactual says how much, names.c where and why. A cause is specific
 * enough to act on; where two explain the same time, the one that can be pointed at comes first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "diagnose/state.h"
#include "report/report.h"

enum { RANK_FAMILY = 5, RANK_VAGUE = 10, RANK_OTHER_JOB = 10, RANK_TOGETHER = 13 };

/* Gains below it are not worth a name. */
#define WORTH 0.01
/* A cause that explains this share of what a vaguer one does stands for both; less where the vaguer
 * one takes away the whole network. */
#define SAME        0.85
#define SAME_AS_ALL 0.6
/* A fault at a place that costs so much comes before a brake, whatever that costs. */
#define BESIDE_BRAKE 0.05

#define ECN_OFF "ecn-off"

/* A fix whose gain shows that what it mends is a cause of its own: a slow link, say. */
static const struct {
	const char *cures, *id, *what;
	unsigned rank;
} mended[] = {
	{"link.slow", "link.slow", "a link slower than the others of its kind", 3},
	{"link.long", "link.long", "a link longer than the others of its kind", 3},
	{"drops.lossy-class", "drops.lossy-class",
	 "drops, where a switch has the lossless DSCP in another class", 2},
	{"drops.no-pfc", "drops.no-pfc", "drops, where PFC is off", 2},
	{"drops.headroom", "drops.headroom", "drops, where headroom is short", 2},
	{"drops.watchdog", "drops.watchdog", "drops by the PFC watchdog", 2},
	{ECN_OFF, "pauses", "pauses (PFC)", 9},
	{"link.down", "link.down", "links that are down", 3},
	{"mtu", "mtu", "a path MTU below 4096: more headers and packets for the same bytes", 5},
	{"channels", "channels", "fewer channels than a host has NICs", 3},
	{"messages", "messages", "messages or chunks too short, or too few under way", 5},
	{"ecn", "ecn", "ECN thresholds unlike those of most switches", 3},
	{"weights", "weights", "class weights unlike those of most switches", 3},
	{"cc", "cc", "congestion control's settings unlike the usual", 3},
	{"nccl", "nccl", "variables of NCCL that make it slower", 5},
	{"straggler", "straggler", "GPUs that compute slower than the others", 3},
	{"latency", "latency", "switches that take longer than usual to pass a packet on", 3},
	{"registration", "registration", "memory that is registered while messages wait", 3},
};

/* ---- When ---- */

/* What ports lost or waited for in a bin, of one kind of cause. */
static uint64_t happened(const struct rs_series_port *p, const char *id, uint32_t bin)
{
	uint64_t sum = 0;

	if (!strncmp(id, "drops", 5))
		return p->drops ? p->drops[bin] : 0;
	if (!strcmp(id, "link.loss"))
		return p->lost ? p->lost[bin] : 0;
	if (strcmp(id, "pauses") != 0)
		return 0;
	for (unsigned m = p->classes; m; m &= m - 1)
		if (p->of[__builtin_ctz(m)]->held)
			sum += (uint64_t)p->of[__builtin_ctz(m)]->held[bin];
	return sum;
}

/* From the begin of the first bin in which it happened to the end of the last. */
static void tell_when(const struct rs_diagnosis *d, struct rs_cause *c)
{
	const struct rs_series *s = d->watched ? d->watched->series : NULL;
	uint32_t first = UINT32_MAX, last = 0;
	char a[32], b[32], all[32];
	rs_time end;

	for (uint32_t i = 0; s && i < s->n_ports; i++)
		for (uint32_t k = 0; k < s->bins; k++)
			if (happened(&s->ports[i], c->id, k)) {
				first = k < first ? k : first;
				last = k > last ? k : last;
			}
	if (first == UINT32_MAX)
		return;
	end = rs_time_min((rs_time)(last + 1) * s->interval, d->watched->sim_time);
	cause_evidence(c, "it happened from %s to %s, of %s in all",
		       first ? rs_human_time(a, sizeof(a), (rs_time)first * s->interval)
			     : "the start",
		       rs_human_time(b, sizeof(b), end),
		       rs_human_time(all, sizeof(all), d->watched->sim_time));
}

/* ---- Gathering ---- */

struct candidate {
	struct rs_cause cause;
	unsigned rank;
	bool down;     /* by links that are down */
	uint32_t job;  /* of other-job */
	double effect; /* logarithm of time saved: adds up over jobs as gains do not */
	double saved; /* shares of the jobs' mean times, added: one seed's timeout counts in full */
};

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

static bool vague(const char *id)
{
	return !strcmp(id, "cuts") || !strcmp(id, "host") || !strcmp(id, "paths");
}

/* Packets of a queue pair take many paths: what is uneven is chance, not one flow on another. */
static bool dealt_out(const struct rs_fabric *f)
{
	return rs_fabric_has_uet(f) || f->qos.routing != RS_FABRIC_ECMP;
}

/* What names no place must cost more before it is named: the whole inside of the hosts. */
#define WORTH_VAGUE 0.03
#define WORTH_EVEN  0.1
/* One of several that others hide, where nothing is amiss. */
#define WORTH_BRAKE 0.15

/* What a counterfactual must give before it is a cause. */
static double least_worth(const struct rs_fabric *f, const char *id)
{
	if (!strcmp(id, "collisions"))
		return dealt_out(f) ? WORTH_EVEN : WORTH;
	return vague(id) ? WORTH_VAGUE : WORTH;
}

/* What a sound machine has, too, and which no fix that was run mends: a name helps only where it
 * costs this much. */
static const struct {
	const char *id;
	double least;
} unmended[] = {
	{"pauses", 0.05},    {"host.link", 0.15},  {"host.limit", 0.1}, {"receiver", 0.15},
	{"latency", 1 / 3.}, {"collisions", 0.15}, {"host", 0.3},       {"cuts", 2},
};

static bool worth(const struct rs_gain *g)
{
	return g->ends && g->clear && g->gain > WORTH;
}

/* Shares of the jobs' mean times, added. */
static double saved_by(const struct rs_diagnosis *d, uint32_t i)
{
	double sum = 0;

	for (uint32_t j = 0; j < d->cases[0].fabric->n_jobs; j++) {
		rs_time base = rs_case_job_time(d, 0, j), t = rs_case_job_time(d, i, j);

		if (base != RS_NEVER && base > 0 && t != RS_NEVER)
			sum += 1 - (double)t / (double)base;
	}
	return sum;
}

static void measured(const struct rs_diagnosis *d, struct candidate *k, uint32_t i,
		     const struct rs_gain *g)
{
	k->cause.run = i;
	k->cause.fix = -1;
	k->cause.gain = g->gain;
	k->cause.low = g->low;
	k->cause.high = g->high;
	k->effect = -log1p(-(g->gain < 1 ? g->gain : 1 - 1e-12));
	k->saved = saved_by(d, i);
}

/* How even the paths were that the counterfactual found, beside the least that can be. */
static void tell_placement(const struct rs_sim_placement *p, struct rs_cause *c)
{
	char a[32], b[32];

	if (p->method == RS_PLACED_NOT)
		return;
	if (p->method == RS_PLACED_BY_DESTINATION) {
		cause_evidence(c,
			       "placed by destination: too many flows to look for the best paths");
		return;
	}
	cause_evidence(
		c, "placed by %s, the fullest link needs %s; the least possible is %s",
		p->method == RS_PLACED_COLOURED ? "edge colouring" : "greedy choice with repair",
		rs_human_time(a, sizeof(a), p->reached), rs_human_time(b, sizeof(b), p->bound));
}

/* What a counterfactual is called, and where: no name where there is nothing to say. */
static bool name_kind(const struct rs_diagnosis *d, const char *id, struct candidate *k)
{
	return cause_name_kind(d->cases[0].fabric, d->seen, id, &k->cause, &k->rank);
}

static bool from_counterfactual(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	struct rs_gain g = rs_case_gain(d, i);

	if (!strcmp(d->info[i].id, "latency") || !strcmp(d->info[i].id, "together"))
		return false;

	if (!worth(&g) || g.gain < least_worth(d->cases[0].fabric, d->info[i].id))
		return false;
	measured(d, k, i, &g);
	if (!name_kind(d, d->info[i].id, k))
		return false;
	/* other paths may avoid a deadlock, but the circle is known */
	if (!strcmp(k->cause.id, "pauses") && d->seen->deadlock.n)
		k->rank = 0;
	tell_when(d, &k->cause);
	if (d->seen_seed != d->seed)
		cause_evidence(&k->cause, "seen with seed %llu, which takes longer than %llu",
			       (unsigned long long)d->seen_seed, (unsigned long long)d->seed);
	tell_placement(&d->cases[i].result->placement, &k->cause);
	return k->cause.what[0] != '\0';
}

/* The job that costs the others, from runs without it. With two jobs, the other alone. */
static bool from_without(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	const struct rs_fabric *f = d->cases[0].fabric;
	uint64_t skip = d->cases[i].options.ideal.skip;
	struct rs_gain g = rs_case_gain(d, i);
	char a[32], b[32];
	uint32_t job, one = 0;

	if (!worth(&g) || __builtin_popcountll(skip) != 1)
		return false;
	measured(d, k, i, &g);
	k->rank = RANK_OTHER_JOB;
	job = (uint32_t)__builtin_ctzll(skip);
	k->cause.id = "other-job";
	k->job = job;
	snprintf(k->cause.what, sizeof(k->cause.what), "job '%s' beside the others",
		 f->jobs[job].name);
	snprintf(k->cause.place, sizeof(k->cause.place), "%s", f->jobs[job].name);
	for (uint32_t j = 0; j < f->n_jobs; j++) {
		rs_time with = rs_case_job_time(d, 0, j), without = rs_case_job_time(d, i, j);

		if (j == job || without == RS_NEVER ||
		    (with != RS_NEVER && with - without < with / 100))
			continue;
		cause_evidence(&k->cause, "'%s' takes %s beside it, %s without", f->jobs[j].name,
			       with == RS_NEVER ? "for ever" : rs_human_time(a, sizeof(a), with),
			       rs_human_time(b, sizeof(b), without));
		one++;
	}
	return one > 0;
}

/* Where a leaf has too little upwards because of what is down, that is what it is called. */
static void name_down(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	struct rs_network_facts now, up;
	size_t at;

	rs_fabric_facts(d->cases[0].fabric, &now);
	rs_fabric_facts(d->cases[i].fabric, &up);
	if (now.oversubscription < 1.001 || now.oversubscription <= up.oversubscription * 1.001)
		return;
	k->cause.id = "oversubscription";
	cause_name_oversubscription(d->cases[0].fabric, d->seen, &k->cause);
	at = strlen(k->cause.what);
	snprintf(k->cause.what + at, sizeof(k->cause.what) - at, ": %s %s down", d->info[i].where,
		 strchr(d->info[i].where, ',') || strstr(d->info[i].where, " and ") ? "are" : "is");
	snprintf(k->cause.place, sizeof(k->cause.place), "%s", d->info[i].where);
}

/* Pauses come where senders are not told in time: ECN does more than buffers without end where
 * queues hold up others, too. */
static void name_ecn_off(const struct rs_diagnosis *d, uint32_t i, struct rs_cause *c)
{
	size_t at;

	cause_name_pauses(d->cases[0].fabric, d->seen, c);
	at = strlen(c->what);
	snprintf(c->what + at, sizeof(c->what) - at, "; ECN is off at %s", d->info[i].where);
}

/* How many were dropped at the switches that are its place. */
static void tell_drops(const struct rs_diagnosis *d, struct rs_cause *c)
{
	const struct rs_fabric *f = d->cases[0].fabric;
	uint64_t n = 0, all = d->seen->counters.drops + d->seen->counters.nic_drops;

	for (uint32_t i = 0; i < d->seen->n_drops; i++) {
		const struct rs_sim_drop *x = &d->seen->drops[i];

		if (x->node < f->n_switches && strstr(c->place, f->switches[x->node].name))
			n += x->packets;
	}
	if (!strncmp(c->id, "drops", 5))
		cause_evidence(c, "%llu of %llu dropped packets", (unsigned long long)n,
			       (unsigned long long)all);
}

/* A repair that chance over the others' seeds hides, and that one job clearly gains by. */
#define WORTH_TO_ONE 0.05

static bool worth_to_one(const struct rs_diagnosis *d, uint32_t i)
{
	uint32_t n = d->cases[0].fabric->n_jobs;
	struct rs_gain all = rs_case_gain(d, i);

	for (uint32_t j = 0; n > 1 && all.gain > WORTH && j < n; j++) {
		struct rs_gain g = rs_case_gain_of_job(d, i, j);

		if (worth(&g) && g.gain > WORTH_TO_ONE)
			return true;
	}
	return false;
}

/* What a fix mends, and where. */
static bool name_mended(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	const char *where = d->info[i].where, *cures = d->info[i].cures;
	size_t n = 0, at;

	while (n < sizeof(mended) / sizeof(*mended) && !has_word(cures, mended[n].cures))
		n++;
	if (n == sizeof(mended) / sizeof(*mended))
		return false;
	k->rank = mended[n].rank;
	k->cause.id = mended[n].id;
	snprintf(k->cause.what, sizeof(k->cause.what), "%s", mended[n].what);
	at = strlen(k->cause.what);
	if (where) {
		snprintf(k->cause.what + at, sizeof(k->cause.what) - at, ": %s", where);
		snprintf(k->cause.place, sizeof(k->cause.place), "%s", where);
	}
	if (!strcmp(k->cause.id, "link.down"))
		name_down(d, i, k);
	k->down = !strcmp(mended[n].id, "link.down");
	if (!strcmp(mended[n].cures, ECN_OFF))
		name_ecn_off(d, i, &k->cause);
	return true;
}

bool cause_mended(const char *cures)
{
	for (size_t n = 0; n < sizeof(mended) / sizeof(*mended); n++)
		if (has_word(cures, mended[n].cures))
			return true;
	return false;
}

/* What a fix that names no cause of its own is for: the first word of what it cures. */
static const struct {
	const char *id, *what;
} families[] = {
	{"host.link", "links inside the hosts"},
	{"host.limit", "limits inside the hosts"},
	{"pauses", "pauses (PFC)"},
	{"link.loss", "packets lost on links"},
	{"reordering", "routing unlike that of most switches"},
};

/* Its place is known, and what it is for. */
static bool name_family(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	const struct rs_case_info *c = &d->info[i];

	for (size_t n = 0; c->where && n < sizeof(families) / sizeof(*families); n++) {
		if (strncmp(c->cures, families[n].id, strcspn(c->cures, " ")) != 0)
			continue;
		k->rank = RANK_FAMILY;
		k->cause.id = families[n].id;
		snprintf(k->cause.what, sizeof(k->cause.what), "%s: %s", families[n].what,
			 c->where);
		snprintf(k->cause.place, sizeof(k->cause.place), "%s", c->where);
		return true;
	}
	return false;
}

static bool from_fix(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	struct rs_gain g = rs_case_gain(d, i);

	if (!d->info[i].cures || d->info[i].general ||
	    !(worth(&g) || (d->info[i].where && worth_to_one(d, i))) ||
	    !(name_mended(d, i, k) || name_family(d, i, k)))
		return false;
	measured(d, k, i, &g);
	k->cause.fix = (int)i;
	tell_drops(d, &k->cause);
	cause_evidence(&k->cause, "mended: %s", d->info[i].name);
	tell_when(d, &k->cause);
	return true;
}

/* ---- What hides one another ---- */

/* Several together are a cause where they save much more than all do apart. */
#define TOGETHER_WORTH 0.1
#define TOGETHER_MORE  1.5
/* One that explains this share of it by itself comes first, and what it hides behind it; less where
 * the set has nothing that is amiss at a place. */
#define TOGETHER_ONE       0.4
#define TOGETHER_ONE_VAGUE 0.2
/* One that others hide is a cause where it saves so much beyond them, and so much more than alone.
 */
#define HIDDEN_WORTH 0.03
#define HIDDEN_MORE  3

/* A part of a set, as a cause of its own. */
static bool name_part(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	const struct rs_case_info *c = &d->info[i];

	k->cause.fix = -1;
	if (c->kind == RS_CASE_COUNTERFACTUAL) {
		name_kind(d, c->id, k);
		return k->cause.what[0] != '\0';
	}
	k->cause.fix = (int)i;
	if (name_mended(d, i, k) || name_family(d, i, k))
		return true;
	if (!c->where)
		return false;
	/* buffers: for what they did */
	name_kind(d, "drops", k);
	if (!k->cause.what[0])
		name_kind(d, "pauses", k);
	snprintf(k->cause.place, sizeof(k->cause.place), "%s", c->where);
	return k->cause.what[0] != '\0';
}

/* Something at a place is amiss, and its repair was run. */
static bool amiss(const struct rs_diagnosis *d, const struct candidate *k)
{
	const struct rs_case_info *fix = k->cause.fix >= 0 ? &d->info[k->cause.fix] : NULL;

	return fix && fix->where && (!fix->general || fix->far_off);
}

/* The same, and it is no name for all of the network or of the hosts. */
static bool fault(const struct rs_diagnosis *d, const struct candidate *k)
{
	return amiss(d, k) && !vague(k->cause.id) && k->rank != CAUSE_RANK_COLLISIONS;
}

static double log_saved(double gain)
{
	return -log1p(-fmin(fmax(gain, 0), 1 - 1e-12));
}

static void list_add(char *list, size_t size, const char *with, const char *x)
{
	size_t at = strlen(list);

	snprintf(list + at, size - at, "%s%s", at && x[0] ? with : "", x);
}

static bool is_brake(const struct rs_case_info *c)
{
	return c->kind == RS_CASE_COUNTERFACTUAL &&
	       (!strcmp(c->id, "cuts") || !strcmp(c->id, "pauses"));
}

/* All of them, as one cause. */
static bool from_set(const struct rs_diagnosis *d, uint32_t i, struct candidate *k)
{
	static const char *const number[] = {"", "", "two", "three", "four"};
	const struct rs_case_info *c = &d->info[i];
	struct rs_gain g = rs_case_gain(d, i);
	char whats[280] = "", alone[120] = "", one[40];
	double apart = 0, most = 0;
	bool pointed = false, brakes = false;

	if (!worth(&g) || g.gain < TOGETHER_WORTH)
		return false;
	measured(d, k, i, &g);
	k->cause.fix = c->kind == RS_CASE_FIX ? (int)i : -1;
	k->rank = RANK_TOGETHER;
	k->cause.id = "together";
	for (uint32_t p = 0; p < c->n_of; p++) {
		struct rs_gain x = rs_case_gain(d, c->of[p]);
		struct candidate part = {0};
		struct rs_cause_part *to = &k->cause.parts[p];
		char what[140];

		if (!name_part(d, c->of[p], &part))
			return false;
		apart += log_saved(x.gain);
		most = fmax(most, log_saved(x.gain));
		pointed |= amiss(d, &part);
		brakes |= is_brake(&d->info[c->of[p]]);
		snprintf(what, sizeof(what), "%.*s", (int)(240 / c->n_of), part.cause.what);
		list_add(whats, sizeof(whats), "; and ", what);
		list_add(k->cause.place, sizeof(k->cause.place), "; ", part.cause.place);
		snprintf(one, sizeof(one), "%.1f%%", 100 * x.gain);
		list_add(alone, sizeof(alone), ", ", one);
		to->id = part.cause.id;
		snprintf(to->place, sizeof(to->place), "%.79s", part.cause.place);
	}
	k->cause.n_parts = c->n_of;
	snprintf(k->cause.what, sizeof(k->cause.what),
		 "%s together, each of which hides what the %s: %s", number[c->n_of],
		 c->n_of == 2 ? "other costs" : "others cost", whats);
	cause_evidence(&k->cause, "all of them ideal save %.1f%%; each alone saves %s",
		       100 * g.gain, alone);
	/* what a brake costs beside a fault is told beside it */
	return k->effect > TOGETHER_MORE * apart && !(pointed && brakes) &&
	       most < (pointed ? TOGETHER_ONE : TOGETHER_ONE_VAGUE) * k->effect;
}

/* One of them that shows only where the others are ideal: it is a share of what they leave. */
static bool from_hidden(const struct rs_diagnosis *d, uint32_t i, uint32_t p, struct candidate *k)
{
	const struct rs_case_info *c = &d->info[i];
	struct rs_gain g = rs_case_gain(d, i), rest = rs_case_gain(d, c->rest[p]),
		       x = rs_case_gain(d, c->of[p]), beyond = rs_case_gain_over(d, i, c->rest[p]);
	double least = HIDDEN_WORTH;
	int fix;

	/* collisions and brakes are everywhere where something else is mended */
	if (d->info[c->of[p]].kind == RS_CASE_COUNTERFACTUAL)
		least = WORTH_BRAKE;
	if (!rest.ends || !worth(&rest) || !worth(&beyond) || beyond.gain < least ||
	    (x.clear && log_saved(beyond.gain) < HIDDEN_MORE * log_saved(x.gain)) ||
	    !name_part(d, c->of[p], k))
		return false;
	cause_evidence(
		&k->cause,
		"it shows where others are ideal (%s): they save %.1f%%, with it %.1f%%; alone it "
		"saves %.1f%%",
		d->info[c->rest[p]].name, 100 * rest.gain, 100 * g.gain, 100 * x.gain);
	fix = k->cause.fix;
	if (fix >= 0)
		cause_evidence(&k->cause, "mended: %s", d->info[fix].name);
	measured(d, k, i, &beyond);
	k->cause.fix = fix;
	k->cause.after = c->rest[p];
	/* of all the time, so that what hides it comes first */
	k->effect = log_saved(g.gain - rest.gain);
	k->saved -= saved_by(d, c->rest[p]);
	return true;
}

/* All that a set tells: itself, or those of it that the others hide. */
static uint32_t from_sets(const struct rs_diagnosis *d, struct candidate *k)
{
	uint32_t n = 0, i = d->n;

	while (--i && !d->info[i].n_of)
		;
	if (!i)
		return 0;
	if (from_set(d, i, &k[n]))
		return 1;
	k[n] = (struct candidate){0};
	for (uint32_t p = 0; p < d->info[i].n_of; p++) {
		if (from_hidden(d, i, p, &k[n]))
			n++;
		else
			k[n] = (struct candidate){0};
	}
	return n;
}

/* Fixes that point at what is amiss; those that ask for more of everything, at places or anywhere.
 */
enum pointing { AT_FAULT, AT_PLACES, ANYWHERE };

static bool points(const struct rs_case_info *c, enum pointing how)
{
	return how == AT_FAULT ? !c->general : c->general && (how == ANYWHERE || c->where);
}

/* What the best fix of a cause gives. */
struct best_fix {
	double gives; /* logarithm, as a candidate's effect */
	int i;        /* -1: none */
};

static bool cures(const struct rs_case_info *c, const char *id)
{
	char family[40];

	snprintf(family, sizeof(family), "%.*s", (int)strcspn(id, "."), id);
	return !c->cures || has_word(c->cures, id) || has_word(c->cures, family);
}

static struct best_fix best_fix(const struct rs_diagnosis *d, const struct candidate *k,
				enum pointing how)
{
	struct best_fix best = {0, -1};

	for (uint32_t i = 1; i < d->n; i++) {
		const struct rs_case_info *c = &d->info[i];
		struct rs_gain g;
		double gives;

		if (c->kind != RS_CASE_FIX || !points(c, how) || !cures(c, k->cause.id))
			continue;
		g = rs_case_gain(d, i);
		gives = -log1p(-fmin(g.gain, 1 - 1e-12));
		if ((worth(&g) || (how == AT_FAULT && c->where && worth_to_one(d, i))) &&
		    gives > best.gives)
			best = (struct best_fix){gives, (int)i};
	}
	return best;
}

/* The fix that mends a cause: of those that say so the one that gives most. One that points at what
 * is amiss comes before one that asks for more of everything, if it gives a third of what is lost.
 * Of the latter one that has a place comes first, if it gives nearly as much as any. */
static int fix_of(const struct rs_diagnosis *d, const struct candidate *k)
{
	struct best_fix at = best_fix(d, k, AT_FAULT), placed = best_fix(d, k, AT_PLACES),
			general = best_fix(d, k, ANYWHERE);

	if (at.i >= 0 && (at.gives >= k->effect / 3 || at.gives >= general.gives))
		return at.i;
	if (placed.i >= 0 && placed.gives >= SAME * general.gives)
		return placed.i;
	return general.i >= 0 ? general.i : at.i;
}

static int by_effect(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return a->effect > b->effect ? -1 : a->effect < b->effect ? 1 : (int)a->rank - (int)b->rank;
}

static bool inside_host(const char *id)
{
	static const char *const host[] = {"host", "host.link", "host.limit", "receiver"};

	for (unsigned i = 0; i < sizeof(host) / sizeof(*host); i++)
		if (!strcmp(id, host[i]))
			return true;
	return false;
}

/* Contention that several causes in the network share: the greatest of them, if together they
 * explain as much of it as one would have to. Else best. */
static uint32_t in_parts(const struct candidate *k, uint32_t n, uint32_t best)
{
	double sum = 0;
	uint32_t first = best;

	if (k[best].rank != CAUSE_RANK_PATHS)
		return best;
	for (uint32_t i = 0; i < n; i++) {
		if (k[i].rank >= RANK_VAGUE || inside_host(k[i].cause.id))
			continue;
		if (k[best].saved > 0 && k[i].saved >= SAME * k[best].saved)
			return i;
		sum += k[i].effect;
		if (first == best)
			first = i;
	}
	return sum >= SAME_AS_ALL * k[best].effect ? first : best;
}

/* Some setting of congestion control or ECN is unlike the usual. */
static bool brake_is_set(const struct rs_diagnosis *d)
{
	for (uint32_t i = 1; i < d->n; i++)
		if (d->info[i].where && has_word(d->info[i].cures, "cuts"))
			return true;
	return false;
}

/* What arrives by chance meets by chance, too: where all jobs do, this much of their flows' mean
 * time is no fault of their paths. */
#define WORTH_ARRIVING 0.3

static bool all_arrive(const struct rs_fabric *f)
{
	for (uint32_t j = 0; j < f->n_jobs; j++)
		if (!rs_job_arrives(&f->jobs[j]))
			return false;
	return true;
}

static bool worth_a_name(const struct rs_diagnosis *d, const struct rs_cause *c)
{
	bool mended_at = c->fix >= 0 && !d->info[c->fix].general;
	bool set = !strcmp(c->id, "cuts") && brake_is_set(d);
	bool ecmp = !strcmp(c->id, "collisions") && !dealt_out(d->cases[0].fabric);

	if (!strcmp(c->id, "collisions") && all_arrive(d->cases[0].fabric) && !c->place[0])
		return c->gain >= WORTH_ARRIVING;
	for (size_t n = 0; n < sizeof(unmended) / sizeof(*unmended); n++)
		if (!strcmp(unmended[n].id, c->id) && !mended_at && !set && !ecmp &&
		    !d->seen->deadlock.n)
			return c->gain >= unmended[n].least;
	return true;
}

/* Of jobs that cost the others alike, the one that stands last in the workload: who adds a job adds
 * it there. */
static uint32_t last_job(const struct candidate *k, uint32_t n, uint32_t best)
{
	uint32_t last = best;

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(k[i].cause.id, "other-job") && k[i].effect >= SAME * k[best].effect &&
		    k[i].job > k[last].job)
			last = i;
	return last;
}

/* Flows of several jobs share paths: where each job alone loses next to nothing by that, it is the
 * jobs beside each other that cost, unless all are lists of flows, where one more flow is one more
 * job. A job's run leaves that job itself out: of two, the effects add
 * up; of more, one job must cost the others that much. */
static uint32_t jobs_instead(const struct rs_diagnosis *d, const struct candidate *k, uint32_t n,
			     uint32_t best)
{
	uint32_t most = n, jobs = d->cases[0].fabric->n_jobs, lists = 0;
	double sum = 0;

	for (uint32_t j = 0; j < jobs; j++)
		lists += d->cases[0].fabric->jobs[j].kind == RS_JOB_FLOWS;
	if (lists == jobs)
		return best;

	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(k[i].cause.id, "other-job") != 0)
			continue;
		sum += k[i].effect;
		most = most == n ? i : most;
	}
	if (most < n && jobs > 2)
		sum = k[most].effect * jobs / (jobs - 1);
	return most < n && sum >= SAME * k[best].effect ? last_job(k, n, most) : best;
}

/* The next to name: of those that explain nearly as much as the greatest, the one that can best be
 * pointed at. */
static uint32_t next_cause(const struct rs_diagnosis *d, const struct candidate *k, uint32_t n)
{
	double same = (k[0].rank >= RANK_VAGUE ? SAME_AS_ALL : SAME) * k[0].effect;
	uint32_t best = 0;

	for (uint32_t i = 1; i < n && k[i].effect >= same; i++)
		if (k[i].rank < k[best].rank)
			best = i;
	/* flows dealt out keep clear of slow links, make the most of those that are left, and fill
	 * no buffer: what is amiss comes before them */
	for (uint32_t i = 0; k[best].rank == CAUSE_RANK_COLLISIONS && i < n; i++)
		if (fault(d, &k[i]) && k[i].effect >= SAME_AS_ALL * k[best].effect)
			best = i;
	/* a brake is no fault */
	for (uint32_t i = 0; k[best].rank == CAUSE_RANK_CUTS && i < n; i++)
		if (fault(d, &k[i]) && i != best && k[i].cause.gain >= BESIDE_BRAKE)
			best = i;
	if (k[best].rank == CAUSE_RANK_COLLISIONS)
		best = jobs_instead(d, k, n, best);
	else if (!strcmp(k[best].cause.id, "other-job"))
		best = last_job(k, n, best);
	/* nor is it a fault to have another job: what is amiss in what they share is */
	for (uint32_t i = 0; !strcmp(k[best].cause.id, "other-job") && i < n; i++)
		if (fault(d, &k[i]) && k[i].cause.gain >= BESIDE_BRAKE)
			best = i;
	return in_parts(k, n, best);
}

/* A word of a place that names nothing: a number of a port, "memory of". */
static bool no_name(const char *word, size_t n)
{
	static const char *const words[] = {"port", "memory", "of", "to", "and", "more", "others"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == n && !strncmp(word, words[i], n))
			return true;
	return strspn(word, "0123456789") >= n;
}

/* Some host or switch of the one is in the other, too. Nowhere is everywhere. */
static bool same_place(const char *a, const char *b)
{
	static const char between[] = " ,;:->/";
	size_t n, m;

	for (const char *p = a + strspn(a, between); *p; p += n + strspn(p + n, between)) {
		n = strcspn(p, between);
		for (const char *q = b + strspn(b, between); *q; q += m + strspn(q + m, between)) {
			m = strcspn(q, between);
			if (n == m && !strncmp(p, q, n) && !no_name(p, n))
				return true;
		}
	}
	return !a[0] || !b[0];
}

/* The repair at another place than the one that is named. */
static bool mends_elsewhere(const struct rs_diagnosis *d, const struct rs_cause *named,
			    const struct rs_cause *c)
{
	return d->info[c->run].kind == RS_CASE_FIX && d->info[c->run].where &&
	       named->fix != c->fix && !same_place(named->place, c->place);
}

/* Says the same as one that is named, in vaguer words: the host's inside after one of its links,
 * the whole network after anything in it. */
static bool covered(const struct rs_diagnosis *d, const struct rs_cause *named,
		    const struct rs_cause *c)
{
	bool a = inside_host(named->id), b = inside_host(c->id);

	/* what another hides is not what that one is */
	if (c->after)
		return !strcmp(named->id, c->id) && same_place(named->place, c->place);
	if (!strcmp(named->id, c->id) && strcmp(c->id, "other-job") != 0)
		return !mends_elsewhere(d, named, c);
	/* another link than the one named is another cause only if it saves something else */
	if (a && b)
		return c->gain <= named->gain * 1.05;
	/* cuts are what wrong settings do */
	if (!strcmp(named->id, "cc") && !strcmp(c->id, "cuts"))
		return c->gain <= named->gain * 1.05;
	/* without pauses buffers have no end either: what drops nothing then is not told twice */
	if (!strncmp(named->id, "drops", 5) && !strcmp(c->id, "pauses"))
		return c->gain <= named->gain * 1.05;
	return !strcmp(c->id, "paths") && strcmp(named->id, "other-job") != 0 && !a;
}

static bool said(const struct rs_diagnosis *d, const struct rs_cause *c)
{
	for (uint32_t i = 0; i < d->n_causes; i++)
		if (covered(d, &d->causes[i], c))
			return true;
	return false;
}

static bool is_drops(const struct rs_cause *c)
{
	return !strncmp(c->id, "drops.", 6);
}

/* Several reasons for drops: no drops at all is what they cost together. Each is measured by its
 * own repair. */
static void drops_apart(struct rs_diagnosis *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n_causes; i++)
		n += is_drops(&d->causes[i]);
	for (uint32_t i = 0; i < d->n_causes && n > 1; i++) {
		struct rs_cause *c = &d->causes[i];
		struct rs_gain g;

		if (!is_drops(c) || c->after || c->fix < 0 || !d->info[c->fix].where)
			continue;
		g = rs_case_gain(d, (uint32_t)c->fix);
		c->run = (uint32_t)c->fix;
		c->gain = g.gain;
		c->low = g.low;
		c->high = g.high;
	}
}

/* ---- What the runs do not tell ---- */

#define NOT_TOLD         0.03
#define NETWORK_NOT_TOLD 0.1

/* So many seeds that the interval would leave out 0, if the mean stays. */
static uint32_t seeds_to_tell(const struct rs_diagnosis *d, const struct rs_gain *g)
{
	double half = (g->high - g->low) / 2, n = d->n_seeds * pow(half / g->gain, 2) * 1.2;

	return n > RS_SEEDS_MAX ? RS_SEEDS_MAX : n < 2 * d->n_seeds ? 2 * d->n_seeds : (uint32_t)n;
}

static void not_told(struct rs_diagnosis *d, const char *what, uint32_t seeds)
{
	struct rs_not_told *n = &d->not_told[d->n_not_told];

	if (d->n_not_told == RS_NOT_TOLD_MAX || d->n_seeds >= RS_SEEDS_MAX)
		return;
	d->n_not_told++;
	snprintf(n->what, sizeof(n->what), "%s", what);
	snprintf(n->run, sizeof(n->run), "ripstop sim --seeds %u %s", seeds, d->scenario);
}

/* Contention that no cause explains. */
static void network_not_told(struct rs_diagnosis *d, double gain)
{
	struct rs_not_told *n = &d->not_told[d->n_not_told];

	if (gain < NETWORK_NOT_TOLD || (d->n_causes && gain < 2 * d->causes[0].gain))
		return;
	d->n_not_told++;
	snprintf(n->what, sizeof(n->what),
		 "one switch in place of the network saves %.1f%%, and nothing alone explains it",
		 100 * gain);
	snprintf(n->run, sizeof(n->run), "ripstop sim --html page.html %s", d->scenario);
}

/* What would be a cause, and a greater one than those that are named, if it is no chance. */
static void not_told_find(struct rs_diagnosis *d)
{
	double named = d->n_causes ? d->causes[0].gain : 0;
	char what[240];

	for (uint32_t i = 1; i < d->n; i++) {
		struct rs_gain g = rs_case_gain(d, i);

		if (d->info[i].kind != RS_CASE_COUNTERFACTUAL || !g.ends || g.clear ||
		    vague(d->info[i].id) || g.gain < NOT_TOLD || g.gain <= named)
			continue;
		snprintf(what, sizeof(what),
			 "%s may cost %.1f%% (95%% interval %.1f to %.1f%%): %u seeds do not tell "
			 "it from chance",
			 d->info[i].name, 100 * g.gain, 100 * g.low, 100 * g.high, d->n_seeds);
		not_told(d, what, seeds_to_tell(d, &g));
	}
	if (d->n_seeds == 1 && d->n_causes)
		not_told(d, "one seed was run: a share of a few percent may be chance", 5);
}

/* What a shorter way gives is latency, where switches and links that take no time give most of it.
 */
static void latency_instead(const struct rs_diagnosis *d, struct candidate *paths)
{
	for (uint32_t i = 1; i < d->n; i++) {
		struct candidate k = {0};
		struct rs_gain g = rs_case_gain(d, i);

		if (!d->info[i].id || strcmp(d->info[i].id, "latency") != 0 || !worth(&g))
			continue;
		measured(d, &k, i, &g);
		if (k.effect < SAME_AS_ALL * paths->effect)
			return;
		k.cause.id = "latency";
		k.cause.fix = paths->cause.fix;
		snprintf(k.cause.what, sizeof(k.cause.what),
			 "latency: messages are so short that the way takes longer than they do");
		cause_evidence(&k.cause, "longest queue %llu B",
			       (unsigned long long)d->seen->counters.max_queue);
		*paths = k;
		return;
	}
}

void causes_find(struct rs_diagnosis *d)
{
	struct candidate *k = calloc(d->n + 2u + RS_TOGETHER_MAX, sizeof(*k));
	double network = 0;
	uint32_t n = 0;

	d->no_queues = cause_no_queues(d->cases[0].fabric, d->seen);
	for (uint32_t i = 1; k && i < d->n; i++) {
		bool found = false;

		if (!d->cases[i].result)
			continue;
		if (d->info[i].kind == RS_CASE_COUNTERFACTUAL)
			found = from_counterfactual(d, i, &k[n]);
		else if (d->info[i].kind == RS_CASE_WITHOUT)
			found = from_without(d, i, &k[n]);
		else if (d->info[i].kind == RS_CASE_FIX)
			found = from_fix(d, i, &k[n]);
		if (found)
			n++;
		else
			k[n] = (struct candidate){0};
	}
	n += k ? from_sets(d, &k[n]) : 0;
	if (n)
		qsort(k, n, sizeof(*k), by_effect);
	/* what mends it tells whether something is amiss there */
	for (uint32_t i = 0; i < n; i++)
		if (k[i].cause.fix < 0)
			k[i].cause.fix = fix_of(d, &k[i]);
	while (n && d->n_causes < RS_CAUSES_MAX) {
		uint32_t i = next_cause(d, k, n);

		if (!k[i].cause.place[0] && amiss(d, &k[i]))
			snprintf(k[i].cause.place, sizeof(k[i].cause.place), "%s",
				 d->info[k[i].cause.fix].where);
		if (!said(d, &k[i].cause)) {
			if (!strcmp(k[i].cause.id, "paths"))
				latency_instead(d, &k[i]);
			/* the network as a whole is no cause to act on */
			if (!strcmp(k[i].cause.id, "paths"))
				network = k[i].cause.gain;
			else if (worth_a_name(d, &k[i].cause))
				d->causes[d->n_causes++] = k[i].cause;
		}
		memmove(&k[i], &k[i + 1], (n - i - 1) * sizeof(*k));
		n--;
	}
	drops_apart(d);
	network_not_told(d, network);
	not_told_find(d);
	free(k);
}
