/* The whole of an audit: rules over facts, causes joined to consequences, findings in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "audit/facts/nccl.h"
#include "audit/rules/evidence.h"
#include "audit/rules/message.h"
#include "audit/rules/profile.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "audit/rules/helped.h"
#include "audit/rules/stated.h"

const struct rs_rule *rs_rule_find(const char *id)
{
	for (unsigned f = 0; rs_rule_families[f]; f++)
		for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++)
			if (!strcmp(r->id, id) || !strcmp(r->name, id))
				return r;
	return NULL;
}

bool rs_rule_known(const char *id)
{
	return rs_rule_find(id);
}

static bool listed(const struct rs_rule *r, const char *const *list)
{
	for (; list && *list; list++)
		if (!strcmp(*list, r->id) || !strcmp(*list, r->name))
			return true;
	return false;
}

static int check_names(const char *const *list, struct rs_error *e)
{
	for (; list && *list; list++)
		if (!rs_rule_find(*list)) {
			rs_error_set(e, -EINVAL, "no check is called '%s'", *list);
			rs_error_hint(e, "ripstop audit --list names them");
			return -EINVAL;
		}
	return 0;
}

/* ---- Causes ---- */

/* Which check's FAIL explains which other's, when they share a host. A cause comes before what it
 * explains; the first that is there wins. docs/audit.md prints this table. */
static const struct {
	const char *cause, *effect;
} because[] = {
	{"N02", "N12"}, {"N02", "N14"}, {"X01", "C01"}, {"X01", "C04"}, {"X01", "C03"},
	{"X01", "C05"}, {"X01", "S13"}, {"X01", "S01"}, {"X01", "S02"}, {"X01", "R04"},
	{"X01", "R06"}, {"X01", "R05"}, {"X01", "R07"}, {"X03", "X01"}, {"R04", "C03"},
	{"R05", "C03"}, {"R07", "C03"}, {"R07", "C01"}, {"S01", "C01"}, {"S02", "C01"},
	{"S03", "S13"}, {"S02", "S13"}, {"S04", "C05"}, {"R10", "C05"}, {"P04", "C04"},
	{"P05", "C04"}, {"P01", "C04"}, {"P04", "N12"}, {"P12", "N08"}, {"P12", "N12"},
	{"P09", "P07"}, {"P09", "N08"}, {"P09", "P08"}, {"P07", "N08"}, {"R02", "N12"},
	{"R03", "X02"}, {"X02", "N12"}, {"X02", "C08"}, {"L01", "C07"}, {"L02", "C07"},
	{"L03", "L02"}, {"X04", "N12"}, {"X04", "N13"}, {"H07", "N12"}, {"H09", "N04"},
	{"R01", "N02"}, {"S11", "R14"}, {"H05", "N12"}, {"S05", "C04"}, {"R02", "N05"},
	{"X01", "N06"}, {"N05", "N12"}, {"N02", "N04"}, {"N15", "N14"}, {"K02", "N15"},
	{"K02", "N14"}, {"H05", "N16"}, {"R02", "N16"}, {"P12", "N16"}, {"H09", "N15"},
	{"R02", "N15"}, {"N04", "N15"}, {"H09", "N12"}, {"H05", "N18"}, {"R02", "N18"},
	{"P12", "N18"}, {"N15", "N18"}, {"N13", "N18"}, {"N16", "N18"}, {"N17", "N18"},
	{"N12", "N18"}, {"N14", "N18"}, {"H09", "N18"}, {"N04", "N18"}, {"N02", "N18"},
	{"P14", "N18"}, {"X05", "N18"}, {"K02", "N18"}, {"K03", "N18"}, {"P05", "N18"},
	{"C06", "N18"}, {"H11", "N12"}, {"H11", "N17"}, {"H11", "N18"}, {"H11", "N16"},
};

bool rs_audit_because(uint32_t i, const char **cause, const char **effect)
{
	if (i >= sizeof(because) / sizeof(*because))
		return false;
	*cause = because[i].cause;
	*effect = because[i].effect;
	return true;
}

static bool shares_host(const struct rs_finding *a, const struct rs_finding *b)
{
	uint32_t n = a->n_subjects < RS_FINDING_SUBJECTS ? a->n_subjects : RS_FINDING_SUBJECTS;
	uint32_t m = b->n_subjects < RS_FINDING_SUBJECTS ? b->n_subjects : RS_FINDING_SUBJECTS;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < m; k++)
			if (!strcmp(a->subject[i].host, b->subject[k].host))
				return true;
	return false;
}

/* Is all that the effect is about among the parts of its cause? A port that is down does not
 * explain that a list names another device, or one that is not there. */
static bool covers(const struct rs_finding *cause, const struct rs_finding *effect)
{
	uint32_t n =
		cause->n_subjects < RS_FINDING_SUBJECTS ? cause->n_subjects : RS_FINDING_SUBJECTS;
	uint32_t m =
		effect->n_subjects < RS_FINDING_SUBJECTS ? effect->n_subjects : RS_FINDING_SUBJECTS;

	for (uint32_t k = 0; k < m; k++) {
		const char *part = effect->subject[k].part;
		bool found = false;

		for (uint32_t i = 0; i < n; i++)
			found |= !cause->subject[i].part ||
				 (part && !strcmp(part, cause->subject[i].part));
		if (!found)
			return false;
	}
	return true;
}

static void join(struct rs_finding *cause, struct rs_finding *effect)
{
	/* no circle: a cause's own causes do not lead back */
	for (const struct rs_finding *f = cause; f; f = f->cause)
		if (f == effect)
			return;
	effect->cause = cause;
	if (cause->n_effects < RS_FINDING_EFFECTS)
		cause->effect[cause->n_effects++] = effect;
}

enum { NO_VOICE, PROGRAM, PERSON };

/* Whose words a finding stands on. */
static int voice(const struct rs_finding *f)
{
	if (!f->n_facts || !f->fact[0] ||
	    (strcmp(f->fact[0]->subject, "message") && strcmp(f->fact[0]->subject, "said")))
		return NO_VOICE;
	return f->told ? PERSON : PROGRAM;
}

/* What words alone point at does not push down what a row of its own names, nor what is minor what
 * a check or a program is sure of. */
static bool as_sure(const struct rs_finding *cause, const struct rs_finding *effect)
{
	if (cause->severity == RS_MINOR && effect->severity >= RS_MAJOR &&
	    effect->confidence == RS_HIGH && voice(effect) != PERSON)
		return false;
	return cause->confidence != RS_LOW || effect->confidence != RS_HIGH;
}

static void find_causes(struct rs_audit *a)
{
	for (unsigned k = 0; k < sizeof(because) / sizeof(*because); k++)
		for (uint32_t i = 0; i < a->n_findings; i++) {
			struct rs_finding *cause = a->findings[i];

			if (cause->verdict != RS_FAIL || cause->suppressed ||
			    /* a note is no cause */
			    cause->severity == RS_INFO || strcmp(cause->rule->id, because[k].cause))
				continue;
			for (uint32_t j = 0; j < a->n_findings; j++) {
				struct rs_finding *effect = a->findings[j];

				if (effect != cause && !effect->cause && !effect->suppressed &&
				    !effect->root && effect->verdict == RS_FAIL &&
				    as_sure(cause, effect) &&
				    !strcmp(effect->rule->id, because[k].effect) &&
				    shares_host(cause, effect) &&
				    (strcmp(because[k].cause, "H09") != 0 ||
				     strcmp(because[k].effect, "N04") != 0 ||
				     covers(cause, effect)))
					join(cause, effect);
			}
		}
}

/* ---- Order ---- */

static int rank(const struct rs_finding *f)
{
	static const int of[] = {[RS_FAIL] = 0, [RS_UNKNOWN] = 1, [RS_PASS] = 2, [RS_NA] = 3};

	return of[f->verdict];
}

/* Per cent that a finding costs, and at least what its severity stands for: a price is that of one
 * load, on which a critical finding may not show. */
static double cost(const struct rs_finding *f)
{
	static const double stands_for[] = {
		[RS_INFO] = 0, [RS_MINOR] = 1, [RS_MAJOR] = 10, [RS_CRITICAL] = 50};
	double priced = f->price.priced ? -f->price.low : 0;

	return priced > stands_for[f->severity] ? priced : stands_for[f->severity];
}

static int order(const void *x, const void *y)
{
	const struct rs_finding *a = *(struct rs_finding *const *)x;
	const struct rs_finding *b = *(struct rs_finding *const *)y;

	if (a->suppressed != b->suppressed)
		return a->suppressed ? 1 : -1;
	if (rank(a) != rank(b))
		return rank(a) - rank(b);
	if (!a->cause != !b->cause)
		return a->cause ? 1 : -1;
	if (cost(a) != cost(b))
		return cost(a) > cost(b) ? -1 : 1;
	if (a->severity != b->severity)
		return (int)b->severity - (int)a->severity;
	if (a->confidence != b->confidence)
		return (int)b->confidence - (int)a->confidence;
	/* more that hangs on it: nearer to the root */
	if (a->n_effects != b->n_effects)
		return a->n_effects > b->n_effects ? -1 : 1;
	/* what a check judged, then what a program says, then what a person says */
	if (voice(a) != voice(b))
		return voice(a) - voice(b);
	/* what was said first is nearer to the cause than what followed */
	if (voice(a) && strcmp(a->fact[0]->file, b->fact[0]->file))
		return strcmp(a->fact[0]->file, b->fact[0]->file);
	if (voice(a) && a->fact[0]->line != b->fact[0]->line)
		return a->fact[0]->line < b->fact[0]->line ? -1 : 1;
	if (strcmp(a->rule->id, b->rule->id))
		return strcmp(a->rule->id, b->rule->id);
	return a->order < b->order ? -1 : 1;
}

void rs_audit_sort(struct rs_audit *a)
{
	if (a->n_findings)
		qsort(a->findings, a->n_findings, sizeof(struct rs_finding *), order);
}

/* What a guide or a manual shows has happened elsewhere: nothing above minor stands on it alone. */
static void soften_guides(struct rs_audit *a)
{
	for (uint32_t i = 0; i < a->n_findings; i++) {
		struct rs_finding *f = a->findings[i];
		bool guide = f->verdict == RS_FAIL && f->severity > RS_MINOR && f->n_facts;

		for (uint32_t k = 0; guide && k < f->n_facts; k++)
			guide = f->fact[k] && rs_audit_is_guide(a, f->fact[k]->file);
		if (guide)
			f->severity = RS_MINOR;
	}
}

static bool of_file(const struct rs_finding *f, const char *file)
{
	for (uint32_t k = 0; k < f->n_facts; k++)
		if (f->fact[k] && !strcmp(f->fact[k]->file, file))
			return true;
	return false;
}

/* A log of several hosts of which one fails a check: that another passes it is no comfort. */
static bool fails_beside(const struct rs_audit *a, const struct rs_finding *pass)
{
	bool text = false;

	/* a snapshot's own files are of one host: a thousand of them are not compared */
	for (const struct rs_text_use *u = a->texts; u && !text; u = u->next)
		text = u->path && of_file(pass, u->path);
	for (uint32_t i = 0; text && i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict != RS_FAIL || f->rule != pass->rule || !pass->n_subjects ||
		    rs_finding_is_of(f, pass->subject[0].host))
			continue;
		for (uint32_t k = 0; k < pass->n_facts; k++)
			if (pass->fact[k] && of_file(f, pass->fact[k]->file))
				return true;
	}
	return false;
}

/* Of the state of one port two checks may tell: H09's word goes before a note's. */
static bool is_port_note(const struct rs_finding *f)
{
	static const char *const states[] = {"link", "port_state", "phys_state", "port-down"};

	if (f->verdict != RS_FAIL || f->severity != RS_INFO || f->n_subjects != 1 || !f->n_facts ||
	    !f->fact[0] || strcmp(f->rule->id, "A01") != 0)
		return false;
	for (unsigned i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(f->fact[0]->name, states[i]))
			return true;
	return false;
}

static bool judges_line(const struct rs_finding *f, const struct rs_fact *k)
{
	for (uint32_t i = 0; i < f->n_facts && i < RS_FINDING_FACTS; i++)
		if (f->fact[i] && f->fact[i]->line == k->line && k->line &&
		    !strcmp(f->fact[i]->file, k->file))
			return true;
	return false;
}

static bool told_by_h09(const struct rs_audit *a, const struct rs_finding *note)
{
	for (uint32_t k = 0; k < a->n_findings; k++)
		if (a->findings[k]->verdict == RS_FAIL &&
		    !strcmp(a->findings[k]->rule->id, "H09") &&
		    rs_finding_is_of(a->findings[k], note->subject[0].host) &&
		    judges_line(a->findings[k], note->fact[0]))
			return true;
	return false;
}

static bool is_needless(const struct rs_audit *a, const struct rs_finding *f)
{
	return f->verdict == RS_PASS ? fails_beside(a, f) : is_port_note(f) && told_by_h09(a, f);
}

/* None that others are held against is taken out: they may be looked for meanwhile. */
static void drop_needless(struct rs_audit *a)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < a->n_findings; i++)
		if (!is_needless(a, a->findings[i]))
			a->findings[kept++] = a->findings[i];
	a->n_findings = kept;
}

/* What the profile accepts explains nothing and is explained by nothing. */
static void accept(struct rs_audit *a)
{
	time_t now = time(NULL);
	struct tm day;
	char today[16];

	gmtime_r(&now, &day);
	strftime(today, sizeof(today), "%Y-%m-%d", &day);
	rs_profile_suppress(a, today);
}

struct choice {
	const struct rs_audit *a;
	const char *const *only, *const *skip;
};

static bool chosen(const struct rs_rule *r, void *state)
{
	const struct choice *c = state;

	return (!c->only || listed(r, c->only)) && !listed(r, c->skip) &&
	       !(c->a->profile && listed(r, c->a->profile->skip));
}

int rs_audit_run(struct rs_audit *a, const char *const *only, const char *const *skip,
		 struct rs_error *e)
{
	struct choice c = {.a = a, .skip = skip};
	int err;

	if ((err = check_names(only, e)) || (err = check_names(skip, e)))
		return err;
	rs_facts_seal(a->facts);
	if (!a->nearest)
		a->nearest = calloc(rs_facts_count(a->facts) + 1u, sizeof(*a->nearest));
	rs_nccl_find_jobs(a);
	if (!only && a->profile && a->profile->n_only)
		only = a->profile->only;
	c.only = only;
	a->some = only != NULL;
	for (unsigned f = 0; rs_rule_families[f]; f++)
		for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++)
			if (chosen(r, &c))
				r->run(a, r);
	rs_messages_judge(a, chosen, &c);
	rs_helped_judge(a, chosen, &c);
	rs_stated_judge(a, chosen, &c);
	rs_evidence_states(a, chosen, &c);
	if (a->err)
		return rs_error_set(e, a->err, "out of memory");
	soften_guides(a);
	drop_needless(a);
	rs_evidence_settle(a);
	accept(a);
	rs_evidence_agree(a);
	rs_evidence_merge(a);
	find_causes(a);
	rs_audit_sort(a);
	rs_evidence_next(a);
	return a->err ? rs_error_set(e, a->err, "out of memory") : 0;
}

int rs_audit_status(const struct rs_audit *a, bool strict, bool allow_unknown)
{
	switch (rs_audit_concludes(a, strict)) {
	case RS_CONCLUDES_FAULTY:
		return 1;
	case RS_CONCLUDES_THIN:
		/* what states a failure is never fine */
		return allow_unknown && !a->failure ? 0 : 4;
	case RS_CONCLUDES_OPEN:
		return allow_unknown ? 0 : 3;
	default:
		return 0;
	}
}
