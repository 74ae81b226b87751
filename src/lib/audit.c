/* An audit (ripstop/audit.h): read, rules and price of audit/, their findings copied out. */
#include <errno.h>
#include <ripstop/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/price/price.h"
#include "audit/read/read.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "lib/lib.h"

_Static_assert((int)RIPSTOP_NOT_APPLICABLE == RS_NA && (int)RIPSTOP_CRITICAL == RS_CRITICAL &&
		       (int)RIPSTOP_HIGH == RS_HIGH && (int)RIPSTOP_PRICE_FULL == RS_PRICE_FULL,
	       "enums are audit's");

struct ripstop_audit {
	struct rs_audit *a;
	bool run;
};

int ripstop_audit_new(struct ripstop_audit **out, struct ripstop_error **e)
{
	struct ripstop_audit *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a || rs_audit_create(&a->a)) {
		free(a);
		return lib_fail(e, -ENOMEM, "out of memory");
	}
	*out = a;
	return 0;
}

void ripstop_audit_free(struct ripstop_audit *a)
{
	if (!a)
		return;
	rs_audit_destroy(a->a);
	free(a);
}

/* ---- Reading and running ---- */

static int not_run(const struct ripstop_audit *a, struct ripstop_error **e)
{
	return a->run ? lib_fail(e, -EINVAL, "the audit was run: make another") : 0;
}

static int done(int err, const struct rs_error *inner, struct ripstop_error **e)
{
	return err ? lib_error(e, inner, err) : 0;
}

int ripstop_audit_read(struct ripstop_audit *a, const char *path, const char *host,
		       struct ripstop_error **e)
{
	struct rs_error inner = {0};
	int err = not_run(a, e);

	return err ? err : done(rs_audit_read(a->a, path, host, 0, &inner), &inner, e);
}

int ripstop_audit_read_older(struct ripstop_audit *a, const char *path, struct ripstop_error **e)
{
	struct rs_error inner = {0};
	int err = not_run(a, e);

	return err ? err : done(rs_audit_read(a->a, path, NULL, 1, &inner), &inner, e);
}

int ripstop_audit_read_text(struct ripstop_audit *a, const char *host, const char *path,
			    const char *text, struct ripstop_error **e)
{
	struct rs_error inner = {0};
	int err = not_run(a, e);

	return err ? err : done(rs_audit_read_text(a->a, host, path, text, &inner), &inner, e);
}

static int rules_known(const char *const *list, struct ripstop_error **e)
{
	for (; list && *list; list++)
		if (!rs_rule_known(*list))
			return lib_fail(e, -EINVAL, "there is no rule '%.80s'", *list);
	return 0;
}

int ripstop_audit_run(struct ripstop_audit *a, const struct ripstop_audit_options *theirs,
		      struct ripstop_error **e)
{
	struct ripstop_audit_options o;
	struct rs_error inner = {0};
	int err = not_run(a, e);

	if (err || (err = lib_take(&o, sizeof(o), theirs, "ripstop_audit_options", e)) ||
	    (err = rules_known(o.only, e)) || (err = rules_known(o.skip, e)))
		return err;
	if (o.price > RIPSTOP_PRICE_FULL)
		return lib_fail(e, -EINVAL, "price: expected enum ripstop_audit_price");
	a->run = true;
	err = rs_audit_run(a->a, o.only, o.skip, &inner);
	if (!err)
		err = rs_audit_price(a->a, (enum rs_audit_pricing)o.price, &inner);
	return done(err, &inner, e);
}

int ripstop_audit_status(const struct ripstop_audit *a, int strict, int allow_unknown)
{
	return rs_audit_status(a->a, strict, allow_unknown);
}

static int write_audit(const void *audit, FILE *out)
{
	return rs_audit_json(audit, out);
}

int ripstop_audit_json(const struct ripstop_audit *a, char **text, struct ripstop_error **e)
{
	return lib_json(text, write_audit, a->a, e);
}

/* ---- Findings ---- */

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static uint32_t least(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static const struct rs_finding *finding_at(const struct ripstop_audit *a, size_t i)
{
	return i < a->a->n_findings ? a->a->findings[i] : NULL;
}

static int32_t cause_of(const struct ripstop_audit *a, const struct rs_finding *f)
{
	for (uint32_t i = 0; f->cause && i < a->a->n_findings; i++)
		if (a->a->findings[i] == f->cause)
			return (int32_t)i;
	return -1;
}

size_t ripstop_audit_findings(const struct ripstop_audit *a, size_t from, size_t n,
			      struct ripstop_finding *out, size_t each)
{
	n = lib_within(a->a->n_findings, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_finding *f = a->a->findings[from + i];
		const struct rs_price *p = &f->price;
		struct ripstop_finding k = {
			.id = f->rule->id,
			.rule = f->rule->name,
			.title = or_empty(f->title),
			.why = or_empty(f->why),
			.authority = or_empty(f->rule->authority),
			.suppressed = f->suppressed ? or_empty(f->suppressed_why) : "",
			.price_unit = p->priced ? or_empty(p->unit) : "",
			.price_metric = or_empty(p->priced ? p->metric : p->assumes),
			.price_low = p->low,
			.price_high = p->high,
			.price_as_is = p->as_is,
			.price_fixed = p->fixed,
			.verdict = f->verdict,
			.severity = f->severity,
			.confidence = f->confidence,
			.cause = cause_of(a, f),
			.places = least(f->n_subjects, RS_FINDING_SUBJECTS),
			.evidence = f->n_facts,
			.fixes = f->n_fixes,
			.needs = f->n_needs,
		};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return a->a->n_findings;
}

size_t ripstop_audit_places(const struct ripstop_audit *a, size_t finding, size_t from, size_t n,
			    struct ripstop_place *out, size_t each)
{
	const struct rs_finding *f = finding_at(a, finding);
	size_t all = f ? least(f->n_subjects, RS_FINDING_SUBJECTS) : 0;

	n = lib_within(all, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_finding_subject *s = &f->subject[from + i];
		struct ripstop_place k = {or_empty(s->host), or_empty(s->part)};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return all;
}

size_t ripstop_audit_evidence(const struct ripstop_audit *a, size_t finding, size_t from, size_t n,
			      struct ripstop_evidence *out, size_t each)
{
	const struct rs_finding *f = finding_at(a, finding);
	size_t all = f ? f->n_facts : 0;

	n = lib_within(all, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_fact *s = f->fact[from + i];
		struct ripstop_evidence k = {.host = or_empty(s->host),
					     .subject = or_empty(s->subject),
					     .name = or_empty(s->name),
					     .value = or_empty(s->value),
					     .file = or_empty(s->file),
					     .at = or_empty(s->at),
					     .line = s->line};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return all;
}

size_t ripstop_audit_fixes(const struct ripstop_audit *a, size_t finding, size_t from, size_t n,
			   struct ripstop_fix *out, size_t each)
{
	const struct rs_finding *f = finding_at(a, finding);
	size_t all = f ? f->n_fixes : 0;

	n = lib_within(all, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_finding_fix *s = &f->fix[from + i];
		struct ripstop_fix k = {.on = or_empty(s->on),
					.command = or_empty(s->command),
					.undo = or_empty(s->undo),
					.interrupts = or_empty(s->interrupts),
					.choice = s->choice,
					.persistent = s->persistent};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return all;
}

size_t ripstop_audit_needs(const struct ripstop_audit *a, size_t finding, size_t from, size_t n,
			   struct ripstop_need *out, size_t each)
{
	const struct rs_finding *f = finding_at(a, finding);
	size_t all = f ? f->n_needs : 0;

	n = lib_within(all, from, n);
	for (size_t i = 0; i < n; i++) {
		struct ripstop_need k = {or_empty(f->need[from + i].file),
					 or_empty(f->need[from + i].why)};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return all;
}

size_t ripstop_audit_files(const struct ripstop_audit *a, size_t from, size_t n,
			   struct ripstop_file *out, size_t each)
{
	n = lib_within(a->a->n_files, from, n);
	for (size_t i = 0; i < n; i++) {
		const struct rs_input_file *s = &a->a->files[from + i];
		struct ripstop_file k = {.host = or_empty(s->host),
					 .path = or_empty(s->path),
					 .reader = or_empty(s->reader),
					 .facts = s->facts};

		lib_give_array((char *)out + i * each, each, 1, &k, sizeof(k));
	}
	return a->a->n_files;
}
