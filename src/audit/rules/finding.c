/* Findings as rules make them: everything is kept in the audit's arena. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/rule.h"

struct rs_finding *rs_finding_new(struct rs_audit *a, const struct rs_rule *r, enum rs_verdict v,
				  enum rs_severity s, const char *title_fmt, ...)
{
	struct rs_finding *f = rs_arena_alloc(a->arena, 1, sizeof(*f));
	va_list ap;

	if (f && a->n_findings == a->room) {
		uint32_t room = a->room ? 2 * a->room : 64;
		struct rs_finding **list = realloc(a->findings, room * sizeof(*list));

		if (list) {
			a->findings = list;
			a->room = room;
		} else {
			f = NULL;
		}
	}
	if (!f) {
		a->err = -ENOMEM;
		return NULL;
	}
	f->rule = r;
	f->verdict = v;
	f->severity = s;
	f->confidence = RS_HIGH;
	f->order = a->n_findings;
	f->witness = rs_facts_last(a->facts);
	va_start(ap, title_fmt);
	f->title = rs_audit_vtext(a, title_fmt, ap);
	va_end(ap);
	a->findings[a->n_findings++] = f;
	return f;
}

void rs_finding_subject(struct rs_audit *a, struct rs_finding *f, const char *host,
			const char *part)
{
	if (!f)
		return;
	if (f->n_subjects < RS_FINDING_SUBJECTS)
		f->subject[f->n_subjects] = (struct rs_finding_subject){
			rs_audit_text(a, "%s", host), part ? rs_audit_text(a, "%s", part) : NULL};
	f->n_subjects++;
}

bool rs_finding_cites(const struct rs_finding *f, const struct rs_fact *fact)
{
	for (uint32_t i = 0; i < f->n_facts; i++)
		if (f->fact[i] == fact)
			return true;
	return false;
}

void rs_finding_fact(struct rs_finding *f, const struct rs_fact *fact)
{
	if (!f || !fact || f->n_facts == RS_FINDING_FACTS || rs_finding_cites(f, fact))
		return;
	f->fact[f->n_facts++] = fact;
}

void rs_finding_why(struct rs_audit *a, struct rs_finding *f, const char *fmt, ...)
{
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	f->why = rs_audit_vtext(a, fmt, ap);
	va_end(ap);
}

void rs_finding_stage(struct rs_audit *a, struct rs_finding *f, const char *host, const char *stage,
		      enum rs_verdict v, const char *value_fmt, ...)
{
	va_list ap;

	if (!f || f->n_stages == RS_FINDING_STAGES)
		return;
	va_start(ap, value_fmt);
	f->stage[f->n_stages++] = (struct rs_finding_stage){
		.host = rs_audit_text(a, "%s", host),
		.stage = stage,
		.value = rs_audit_vtext(a, value_fmt, ap),
		.verdict = v,
	};
	va_end(ap);
}

void rs_finding_devices_right(struct rs_audit *a, const struct rs_rule *r, const char *host,
			      unsigned n, const char *what, const char *first)
{
	struct rs_finding *f;

	if (!n)
		return;
	f = rs_finding_new(a, r, RS_PASS, r->severity, "%s, on %u device%s", what, n,
			   n == 1 ? "" : "s");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, rs_look_counter(a, host, first));
}

void rs_finding_fix(struct rs_audit *a, struct rs_finding *f, const char *on, bool persistent,
		    const char *interrupts, const char *undo, const char *command_fmt, ...)
{
	va_list ap;

	if (!f || f->n_fixes == RS_FINDING_FIXES)
		return;
	va_start(ap, command_fmt);
	f->fix[f->n_fixes] = (struct rs_finding_fix){
		.on = rs_audit_text(a, "%s", rs_audit_called(a, on)),
		.command = rs_audit_vtext(a, command_fmt, ap),
		.undo = undo ? rs_audit_text(a, "%s", undo) : NULL,
		.interrupts = interrupts,
		.persistent = persistent,
		.choice = f->n_fixes ? f->fix[f->n_fixes - 1].choice : 1,
	};
	va_end(ap);
	/* rs_finding_choice() left its mark in the free place */
	if (f->n_fixes && f->fix[f->n_fixes].choice < f->n_choices)
		f->fix[f->n_fixes].choice = f->n_choices;
	f->n_fixes++;
}

void rs_finding_choice(struct rs_finding *f)
{
	if (f)
		f->n_choices = (uint8_t)((f->n_fixes ? f->fix[f->n_fixes - 1].choice : 0) + 1);
}

void rs_finding_need(struct rs_audit *a, struct rs_finding *f, const char *file,
		     const char *why_fmt, ...)
{
	va_list ap;

	if (!f || f->n_needs == RS_FINDING_NEEDS)
		return;
	va_start(ap, why_fmt);
	f->need[f->n_needs++] = (struct rs_finding_need){rs_audit_text(a, "%s", file),
							 rs_audit_vtext(a, why_fmt, ap)};
	va_end(ap);
}

void rs_finding_unpriced(struct rs_audit *a, struct rs_finding *f, const char *why)
{
	if (f)
		f->price.assumes = rs_audit_text(a, "%s", why);
}

bool rs_finding_is_of(const struct rs_finding *f, const char *host)
{
	for (uint32_t k = 0; k < f->n_subjects && k < RS_FINDING_SUBJECTS; k++)
		if (!strcmp(f->subject[k].host, host))
			return true;
	return !f->n_subjects;
}

bool rs_failed(const struct rs_audit *a, const char *check, const char *host,
	       enum rs_severity least)
{
	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict == RS_FAIL && f->severity >= least &&
		    (!check || !strcmp(f->rule->id, check)) && rs_finding_is_of(f, host))
			return true;
	}
	return false;
}
