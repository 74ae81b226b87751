/* A site's expectations: values compared, findings that are accepted, checks of its own. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/rules/profile.h"
#include "audit/rules/rule.h"

/* ---- Values ---- */

bool rs_profile_meets(const char *value, const char *expected)
{
	static const struct {
		const char *sign;
		int less, equal, more;
	} signs[] = {
		{">=", 0, 1, 1}, {"<=", 1, 1, 0}, {"!=", 1, 0, 1},
		{">", 0, 0, 1},  {"<", 1, 0, 0},  {"=", 0, 1, 0},
	};

	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].sign);
		int c;

		if (strncmp(expected, signs[i].sign, n))
			continue;
		expected += n + strspn(expected + n, " ");
		/* of two releases only the number counts: v28.39.1002 and 28.39.1002 are one */
		c = rs_facts_compare(
			value + (*value == 'v' && isdigit((unsigned char)value[1])),
			expected + (*expected == 'v' && isdigit((unsigned char)expected[1])));
		return c < 0 ? signs[i].less : c > 0 ? signs[i].more : signs[i].equal;
	}
	return !fnmatch(expected, value, 0);
}

static bool meets_any(const char *value, const struct rs_profile_value *v)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (rs_profile_meets(value, v->is[i]))
			return true;
	return false;
}

/* ---- E01 ---- */

struct tally {
	struct rs_finding *f;
	uint32_t looked, wrong, unseen;
};

static bool concerns(const struct rs_audit *a, const struct rs_profile_expectation *x,
		     const char *host, const char *subject)
{
	if (fnmatch(x->subject, subject, 0))
		return false;
	for (uint32_t i = 0; i < x->n_where; i++) {
		const char *v = rs_facts_value(a->facts, host, subject, x->where[i].name);

		if (!v || !meets_any(v, &x->where[i]))
			return false;
	}
	return true;
}

static const char *expected_text(struct rs_audit *a, const struct rs_profile_value *v)
{
	const char *text = v->is[0];

	for (uint32_t i = 1; i < v->n; i++)
		text = rs_audit_text(a, "%s or %s", text, v->is[i]);
	return text;
}

static void wrong(struct rs_audit *a, const struct rs_rule *r, struct tally *t,
		  const struct rs_profile_expectation *x, const char *host, const char *subject,
		  const char *title)
{
	if (!t->wrong++) {
		t->f = rs_finding_new(a, r, RS_FAIL, x->severity, "%s: %s", x->name, title);
		rs_finding_why(a, t->f, "%s:%d expects it", a->profile->path, x->at.line);
		rs_finding_unpriced(a, t->f, "what the site expects has no model");
	}
	rs_finding_subject(a, t->f, host, strchr(subject, '/') ? strchr(subject, '/') + 1 : NULL);
}

static void unseen(struct rs_audit *a, const struct rs_rule *r, struct tally *t,
		   const struct rs_profile_expectation *x, const char *host, const char *subject,
		   const char *name)
{
	struct rs_finding *f;

	if (t->unseen++)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, x->severity, "%s: %s of %s is not known", x->name,
			   name, subject);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_need(a, f, name, "%s:%d expects it of %s", a->profile->path, x->at.line,
			x->subject);
}

static void subject(struct rs_audit *a, const struct rs_rule *r, struct tally *t,
		    const struct rs_profile_expectation *x, const char *host, const char *s)
{
	const char *bad = NULL;

	t->looked++;
	for (uint32_t i = 0; i < x->n_facts; i++) {
		const struct rs_profile_value *v = &x->facts[i];
		const struct rs_fact *k = rs_facts_get(a->facts, host, s, v->name);

		if (!k) {
			unseen(a, r, t, x, host, s, v->name);
			continue;
		}
		if (meets_any(k->value, v))
			continue;
		if (!bad) {
			bad = rs_audit_text(a, "%s of %s is %s, expected %s", v->name, s, k->value,
					    expected_text(a, v));
			wrong(a, r, t, x, host, s, bad);
		}
		rs_finding_fact(t->f, k);
	}
}

static void expect(struct rs_audit *a, const struct rs_rule *r,
		   const struct rs_profile_expectation *x)
{
	struct tally t = {0};

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *s;
		uint32_t at = 0;
		int64_t n = 0;

		if (fnmatch(x->host, host, 0))
			continue;
		while ((s = rs_facts_subject(a->facts, &at, host, ""))) {
			if (!concerns(a, x, host, s))
				continue;
			n++;
			subject(a, r, &t, x, host, s);
		}
		if (x->count >= 0 && n != x->count)
			wrong(a, r, &t, x, host, "host",
			      rs_audit_text(a, "%lld of them on %s, expected %lld", (long long)n,
					    host, (long long)x->count));
	}
	if (!t.wrong && !t.unseen)
		rs_finding_new(a, r, t.looked ? RS_PASS : RS_NA, x->severity,
			       t.looked ? "%s: as the site expects (%u looked at)"
					: "%s: nothing like it was seen (%u)",
			       x->name, t.looked);
}

static void e01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; a->profile && i < a->profile->n_expect; i++)
		expect(a, r, &a->profile->expect[i]);
}

const struct rs_rule rs_rules_site[] = {
	{
		.id = "E01",
		.name = "site-expectation",
		.severity = RS_CRITICAL,
		.criterion = "what the profile (--profile) expects of hosts holds",
		.authority = "the site's own profile",
		.explain = "A site knows what it bought and decided: firmware releases, numbers of "
			   "NICs and GPUs, link rates, settings. A profile says so in YAML, for "
			   "subjects picked by pattern and by what else is known of them, and each "
			   "expectation is judged on all hosts. What was not seen is UNKNOWN.",
		.run = e01,
	},
	{0},
};

/* ---- Suppressions ---- */

static bool covers(const struct rs_profile_suppression *x, const struct rs_finding *f)
{
	uint32_t n = f->n_subjects < RS_FINDING_SUBJECTS ? f->n_subjects : RS_FINDING_SUBJECTS;

	if (strcmp(x->check, f->rule->id) && strcmp(x->check, f->rule->name))
		return false;
	/* all that it is about: one host more is news */
	for (uint32_t i = 0; i < n; i++) {
		const struct rs_finding_subject *s = &f->subject[i];

		if ((x->host && fnmatch(x->host, s->host, 0)) ||
		    (x->part && (!s->part || fnmatch(x->part, s->part, 0))))
			return false;
	}
	return f->n_subjects <= RS_FINDING_SUBJECTS && (n || !x->host);
}

void rs_profile_suppress(struct rs_audit *a, const char *today)
{
	for (uint32_t i = 0; a->profile && i < a->n_findings; i++)
		for (uint32_t k = 0; k < a->profile->n_suppress; k++) {
			const struct rs_profile_suppression *x = &a->profile->suppress[k];
			struct rs_finding *f = a->findings[i];

			if (f->verdict == RS_PASS || f->verdict == RS_NA || !covers(x, f))
				continue;
			if (x->until && strcmp(today, x->until) > 0) {
				if (!f->why)
					rs_finding_why(a, f, "its suppression ended on %s",
						       x->until);
				continue;
			}
			f->suppressed = true;
			f->suppressed_why = x->reason;
		}
}
