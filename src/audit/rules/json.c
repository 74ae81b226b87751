/* `ripstop audit --json`: one object, findings in the order of the screen. */
#include "audit/rules/evidence.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "report/report.h"

const char *const rs_verdict_names[] = {"PASS", "FAIL", "UNKNOWN", "NA"};
const char *const rs_severity_names[] = {"info", "minor", "major", "critical"};
const char *const rs_confidence_names[] = {"low", "medium", "high"};

static void subjects(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_array(j, "subject");
	for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "host", f->subject[i].host);
		if (f->subject[i].part)
			rs_json_string(j, "part", f->subject[i].part);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_uint(j, "subjects", f->n_subjects);
}

static void facts(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_array(j, "facts");
	for (uint32_t i = 0; i < f->n_facts; i++) {
		const struct rs_fact *k = f->fact[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "host", k->host);
		rs_json_string(j, "subject", k->subject);
		rs_json_string(j, "k", k->name);
		rs_json_string(j, "v", k->value);
		rs_json_string(j, "src", k->file);
		if (k->at)
			rs_json_string(j, "at", k->at);
		else if (k->line)
			rs_json_uint(j, "line", k->line);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void chain(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_array(j, "chain");
	for (uint32_t i = 0; i < f->n_stages; i++) {
		const struct rs_finding_stage *s = &f->stage[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "host", s->host);
		rs_json_string(j, "stage", s->stage);
		rs_json_string(j, "v", s->value);
		rs_json_string(j, "verdict", rs_verdict_names[s->verdict]);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void fixes(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_array(j, "fix");
	for (uint32_t i = 0; i < f->n_fixes; i++) {
		const struct rs_finding_fix *x = &f->fix[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "on", x->on);
		rs_json_string(j, "cmd", x->command);
		rs_json_string(j, "undo", x->undo);
		rs_json_bool(j, "persistent", x->persistent);
		rs_json_string(j, "risk", x->interrupts);
		rs_json_uint(j, "choice", x->choice);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "needs");
	for (uint32_t i = 0; i < f->n_needs; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "file", f->need[i].file);
		rs_json_string(j, "why", f->need[i].why);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void price(struct rs_json *j, const struct rs_finding *f)
{
	if (!f->price.priced) {
		rs_json_string(j, "price", NULL);
		rs_json_string(j, "unpriced", f->price.assumes);
		return;
	}
	rs_json_object(j, "price");
	rs_json_string(j, "metric", f->price.metric);
	rs_json_array(j, "delta_pct");
	rs_json_number(j, NULL, f->price.low);
	rs_json_number(j, NULL, f->price.high);
	rs_json_end(j);
	rs_json_number(j, "as_is", f->price.as_is);
	rs_json_number(j, "fixed", f->price.fixed);
	rs_json_string(j, "unit", f->price.unit);
	rs_json_string(j, "model", "sim");
	rs_json_string(j, "assumes", f->price.assumes);
	rs_json_end(j);
}

static void finding(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "id", f->rule->id);
	rs_json_string(j, "rule", f->rule->name);
	rs_json_string(j, "verdict", rs_verdict_names[f->verdict]);
	rs_json_string(j, "severity", rs_severity_names[f->severity]);
	rs_json_string(j, "confidence", rs_confidence_names[f->confidence]);
	rs_json_string(j, "title", f->title);
	rs_json_string(j, "why", f->why);
	subjects(j, f);
	facts(j, f);
	chain(j, f);
	rs_json_array(j, "cause_of");
	for (uint32_t i = 0; i < f->n_effects; i++)
		rs_json_string(j, NULL, f->effect[i]->rule->id);
	rs_json_end(j);
	rs_json_string(j, "cause", f->cause ? f->cause->rule->id : NULL);
	price(j, f);
	fixes(j, f);
	rs_json_array(j, "authority");
	rs_json_string(j, NULL, f->rule->authority);
	rs_json_end(j);
	if (f->suppressed)
		rs_json_string(j, "suppressed", f->suppressed_why);
	rs_json_end(j);
}

/* What it says as a whole, and what to do next. */
static void conclusion(struct rs_json *j, const struct rs_audit *a)
{
	rs_json_string(j, "verdict", rs_conclusion_names[rs_audit_concludes(a, false)]);
	rs_json_string(j, "stated_failure", a->failure ? a->failure->value : NULL);
	if (!a->next_command) {
		rs_json_string(j, "next", NULL);
		return;
	}
	rs_json_object(j, "next");
	rs_json_string(j, "cmd", a->next_command);
	rs_json_string(j, "why", a->next_why);
	rs_json_end(j);
}

/* What became of the lines of texts. */
static void texts(struct rs_json *j, const struct rs_audit *a)
{
	rs_json_array(j, "texts");
	for (const struct rs_text_use *u = a->texts; u; u = u->next) {
		rs_json_object(j, NULL);
		rs_json_string(j, "path", u->path);
		rs_json_uint(j, "lines", u->lines - u->count[RS_LINE_BLANK]);
		rs_json_uint(j, "used", u->count[RS_LINE_USED]);
		rs_json_uint(j, "known", u->count[RS_LINE_KNOWN] + u->count[RS_LINE_FRAME]);
		rs_json_array(j, "not_understood");
		for (uint32_t i = 0; i < u->n_blocks && i < RS_TEXT_BLOCKS; i++) {
			rs_json_object(j, NULL);
			rs_json_uint(j, "first", u->block[i].first);
			rs_json_uint(j, "last", u->block[i].last);
			rs_json_string(j, "text", u->block[i].text);
			rs_json_end(j);
		}
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

int rs_audit_json(const struct rs_audit *a, FILE *out)
{
	struct rs_json *j = rs_json_create(out);

	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-audit/1");
	conclusion(j, a);
	rs_json_array(j, "hosts");
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);

		rs_json_object(j, NULL);
		rs_json_string(j, "name", host);
		rs_json_string(j, "role", rs_facts_is_switch(a->facts, host) ? "switch" : "host");
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "files");
	for (uint32_t i = 0; i < a->n_files; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "path", a->files[i].path);
		rs_json_string(j, "host", a->files[i].host);
		rs_json_string(j, "reader", a->files[i].reader);
		rs_json_uint(j, "facts", a->files[i].facts);
		rs_json_end(j);
	}
	rs_json_end(j);
	texts(j, a);
	rs_json_array(j, "findings");
	for (uint32_t i = 0; i < a->n_findings; i++)
		finding(j, a->findings[i]);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}
