/* Findings for other programs: SARIF 2.1.0 (OASIS), JUnit's XML, Prometheus' text format 0.0.4. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "audit/rules/evidence.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "cli/audit_report.h"
#include "report/report.h"

/* ---- SARIF ---- */

/* Sections 3.27.9 kind and 3.27.10 level: a level is of failures alone. */
static const char *const sarif_kinds[] = {"pass", "fail", "open", "notApplicable"};
static const char *const sarif_levels[] = {"note", "warning", "error", "error"};

static void sarif_rules(struct rs_json *j)
{
	rs_json_array(j, "rules");
	for (unsigned f = 0; rs_rule_families[f]; f++)
		for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++) {
			rs_json_object(j, NULL);
			rs_json_string(j, "id", r->id);
			rs_json_string(j, "name", r->name);
			rs_json_object(j, "shortDescription");
			rs_json_string(j, "text", r->criterion);
			rs_json_end(j);
			rs_json_object(j, "fullDescription");
			rs_json_string(j, "text", r->explain);
			rs_json_end(j);
			rs_json_object(j, "defaultConfiguration");
			rs_json_string(j, "level", sarif_levels[r->severity]);
			rs_json_end(j);
			rs_json_end(j);
		}
	rs_json_end(j);
}

/* RFC 3986: what is no unreserved character or slash goes as %XX. */
static void uri(const char *path, char *out, size_t size)
{
	size_t n = 0;

	for (; *path && n + 4 < size; path++) {
		unsigned char c = (unsigned char)*path;

		if (isalnum(c) || strchr("-._~/", c))
			out[n++] = (char)c;
		else
			n += (size_t)snprintf(out + n, size - n, "%%%02X", c);
	}
	out[n] = '\0';
}

static void sarif_locations(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_array(j, "locations");
	for (uint32_t i = 0; i < f->n_facts; i++) {
		const struct rs_fact *k = f->fact[i];
		char text[4096];

		if (!k->file)
			continue;
		uri(k->file, text, sizeof(text));
		rs_json_object(j, NULL);
		rs_json_object(j, "physicalLocation");
		rs_json_object(j, "artifactLocation");
		rs_json_string(j, "uri", text);
		rs_json_end(j);
		if (k->line) {
			rs_json_object(j, "region");
			rs_json_uint(j, "startLine", k->line);
			rs_json_end(j);
		}
		rs_json_end(j);
		rs_json_end(j);
	}
	for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
		char name[512];

		snprintf(name, sizeof(name), "%s%s%s", f->subject[i].host,
			 f->subject[i].part ? "/" : "",
			 f->subject[i].part ? f->subject[i].part : "");
		rs_json_object(j, NULL);
		rs_json_array(j, "logicalLocations");
		rs_json_object(j, NULL);
		rs_json_string(j, "fullyQualifiedName", name);
		rs_json_end(j);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void sarif_result(struct rs_json *j, const struct rs_finding *f)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "ruleId", f->rule->id);
	rs_json_string(j, "kind", sarif_kinds[f->verdict]);
	rs_json_string(j, "level", f->verdict == RS_FAIL ? sarif_levels[f->severity] : "none");
	rs_json_object(j, "message");
	rs_json_string(j, "text", f->title);
	rs_json_end(j);
	sarif_locations(j, f);
	if (f->suppressed) {
		rs_json_array(j, "suppressions");
		rs_json_object(j, NULL);
		rs_json_string(j, "kind", "external");
		rs_json_string(j, "justification", f->suppressed_why);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

/* What was not enough, and what to do next. */
static void sarif_next(struct rs_json *j, const struct rs_audit *a)
{
	char text[1024];

	rs_json_array(j, "toolExecutionNotifications");
	if (rs_audit_concludes(a, false) == RS_CONCLUDES_THIN) {
		snprintf(text, sizeof(text), "not enough evidence; next: %s (%s)",
			 a->next_command ? a->next_command : "-",
			 a->next_why ? a->next_why : "nothing was judged");
		rs_json_object(j, NULL);
		rs_json_string(j, "level", "warning");
		rs_json_object(j, "message");
		rs_json_string(j, "text", text);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

int rs_audit_sarif(const struct rs_audit *a, FILE *out)
{
	struct rs_json *j = rs_json_create(out);

	rs_json_object(j, NULL);
	rs_json_string(j, "$schema",
		       "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
		       "sarif-schema-2.1.0.json");
	rs_json_string(j, "version", "2.1.0");
	rs_json_array(j, "runs");
	rs_json_object(j, NULL);
	rs_json_object(j, "tool");
	rs_json_object(j, "driver");
	rs_json_string(j, "name", "ripstop audit");
	rs_json_string(j, "version", RS_VERSION);
	sarif_rules(j);
	rs_json_end(j);
	rs_json_end(j);
	/* section 3.20: what the run came to */
	rs_json_array(j, "invocations");
	rs_json_object(j, NULL);
	rs_json_bool(j, "executionSuccessful", true);
	rs_json_int(j, "exitCode", rs_audit_status(a, false, false));
	rs_json_string(j, "exitCodeDescription", rs_conclusion_names[rs_audit_concludes(a, false)]);
	sarif_next(j, a);
	rs_json_end(j);
	rs_json_end(j);
	rs_json_array(j, "results");
	for (uint32_t i = 0; i < a->n_findings; i++)
		sarif_result(j, a->findings[i]);
	rs_json_end(j);
	rs_json_end(j);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

/* ---- JUnit ---- */

/* XML 1.0 2.2: control characters have no form at all. */
static void xml(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else
			fputc(c < ' ' || c == 127 ? '?' : c, out);
	}
}

/* What makes the exit status 1 fails; what was not seen or does not apply was skipped. */
static bool fails(const struct rs_finding *f, bool strict)
{
	return f->verdict == RS_FAIL && !f->suppressed &&
	       f->severity >= (strict ? RS_MINOR : RS_MAJOR);
}

static bool skipped(const struct rs_finding *f)
{
	return f->suppressed || f->verdict == RS_UNKNOWN || f->verdict == RS_NA;
}

static void junit_case(FILE *out, const struct rs_finding *f, bool strict)
{
	fprintf(out, "    <testcase classname=\"%s\" name=\"%s %s", f->rule->name, f->rule->id,
		f->rule->name);
	for (uint32_t i = 0; i < f->n_subjects && i < 4; i++) {
		fputs(i ? ", " : " ", out);
		xml(out, f->subject[i].host);
		if (f->subject[i].part) {
			fputc(':', out);
			xml(out, f->subject[i].part);
		}
	}
	if (f->n_subjects > 4)
		fprintf(out, " and %u more", f->n_subjects - 4);
	fputs("\">", out);
	if (fails(f, strict)) {
		fprintf(out, "<failure type=\"%s\" message=\"", rs_severity_names[f->severity]);
		xml(out, f->title);
		fputs("\">", out);
		for (uint32_t i = 0; i < f->n_fixes; i++) {
			xml(out, f->fix[i].on);
			fputs(": ", out);
			xml(out, f->fix[i].command);
			fputc('\n', out);
		}
		fputs("</failure>", out);
	} else if (skipped(f)) {
		fputs("<skipped message=\"", out);
		xml(out, f->suppressed ? f->suppressed_why : f->title);
		fputs("\"/>", out);
	} else if (f->verdict == RS_FAIL) {
		fputs("<system-out>", out);
		xml(out, f->title);
		fputs("</system-out>", out);
	}
	fputs("</testcase>\n", out);
}

/* Not enough evidence is an error of the run: no test failed, and none may be believed. */
static void junit_evidence(FILE *out, const struct rs_audit *a)
{
	fputs("    <testcase classname=\"evidence\" name=\"enough evidence\"><error "
	      "type=\"not enough evidence\" message=\"",
	      out);
	if (a->failure) {
		xml(out, "a line states a failure that no check explains: ");
		xml(out, a->failure->value);
	} else {
		xml(out, "nothing that was read could be judged");
	}
	fputs("\">", out);
	if (a->next_command) {
		xml(out, a->next_command);
		fputs(": ", out);
		xml(out, a->next_why);
	}
	fputs("</error></testcase>\n", out);
}

int rs_audit_junit(const struct rs_audit *a, bool strict, FILE *out)
{
	bool thin = rs_audit_concludes(a, strict) == RS_CONCLUDES_THIN;
	uint32_t failures = 0, skips = 0;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		failures += fails(a->findings[i], strict);
		skips += skipped(a->findings[i]);
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		"  <testsuite name=\"ripstop audit\" tests=\"%u\" failures=\"%u\" errors=\"%u\" "
		"skipped=\"%u\">\n",
		a->n_findings + thin, failures, (unsigned)thin, skips);
	if (thin)
		junit_evidence(out, a);
	for (uint32_t i = 0; i < a->n_findings; i++)
		junit_case(out, a->findings[i], strict);
	fputs("  </testsuite>\n</testsuites>\n", out);
	return ferror(out) ? -EIO : 0;
}

/* ---- Prometheus ---- */

static void label(FILE *out, const char *name, const char *value, bool last)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		fputc((unsigned char)*value < ' ' ? '?' : *value, out);
	}
	fputs(last ? "\"" : "\",", out);
}

static void prometheus_series(const struct rs_audit *a, FILE *out, enum rs_verdict v,
			      const char *name, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		for (uint32_t k = 0;
		     f->verdict == v && k < f->n_subjects && k < RS_FINDING_SUBJECTS; k++) {
			char n[16];

			/* a check may find more than one thing of a subject */
			snprintf(n, sizeof(n), "%u", i);
			fprintf(out, "%s{", name);
			label(out, "check", f->rule->id, false);
			label(out, "name", f->rule->name, false);
			label(out, "severity", rs_severity_names[f->severity], false);
			label(out, "host", f->subject[k].host, false);
			label(out, "part", f->subject[k].part ? f->subject[k].part : "", false);
			label(out, "suppressed", f->suppressed ? "yes" : "no", false);
			label(out, "finding", n, true);
			fputs("} 1\n", out);
		}
	}
}

int rs_audit_prometheus(const struct rs_audit *a, FILE *out)
{
	uint32_t count[4][4] = {{0}};

	for (uint32_t i = 0; i < a->n_findings; i++)
		if (!a->findings[i]->suppressed)
			count[a->findings[i]->verdict][a->findings[i]->severity]++;
	fputs("# HELP ripstop_audit_verdict What the audit says as a whole: 1 of its verdict.\n"
	      "# TYPE ripstop_audit_verdict gauge\n",
	      out);
	for (int c = RS_CONCLUDES_RIGHT; c <= RS_CONCLUDES_FAULTY; c++)
		fprintf(out, "ripstop_audit_verdict{verdict=\"%s\"} %d\n", rs_conclusion_names[c],
			(int)rs_audit_concludes(a, false) == c);
	fputs("# HELP ripstop_audit_findings Findings that are not suppressed.\n"
	      "# TYPE ripstop_audit_findings gauge\n",
	      out);
	for (int v = RS_PASS; v <= RS_NA; v++)
		for (int s = RS_INFO; s <= RS_CRITICAL; s++)
			fprintf(out, "ripstop_audit_findings{verdict=\"%s\",severity=\"%s\"} %u\n",
				rs_verdict_names[v], rs_severity_names[s], count[v][s]);
	prometheus_series(a, out, RS_FAIL, "ripstop_audit_fail",
			  "A check that failed, a series a subject.");
	prometheus_series(a, out, RS_UNKNOWN, "ripstop_audit_unknown",
			  "A check that could not be made, a series a subject.");
	fprintf(out,
		"# HELP ripstop_audit_hosts Hosts and switches that were read.\n"
		"# TYPE ripstop_audit_hosts gauge\nripstop_audit_hosts %u\n"
		"# HELP ripstop_audit_facts Facts that were read.\n"
		"# TYPE ripstop_audit_facts gauge\nripstop_audit_facts %u\n",
		rs_facts_hosts(a->facts), rs_facts_count(a->facts));
	return ferror(out) ? -EIO : 0;
}
