/* `ripstop audit --markdown`: what docs/audit.md says of checks, causes and readers, from the code
 * itself (tools/audit-docs). */
#include <stdio.h>
#include <string.h>
#include "audit/read/readers.h"
#include "audit/rules/rule.h"
#include "cli/audit_report.h"

/* In a table's cell a bar would end it. */
static void cell(const char *text, FILE *out)
{
	for (; *text; text++)
		fputs(*text == '|' ? "\\|" : (const char[]){*text, 0}, out);
}

static void checks(FILE *out)
{
	unsigned n = 0;

	for (unsigned f = 0; rs_rule_families[f]; f++)
		for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++)
			n++;
	fprintf(out,
		"### %u checks\n\n| check | worst | right is | authority |\n|---|---|---|---|\n",
		n);
	for (char family = 'A'; family <= 'Z'; family++)
		for (unsigned i = 0; i < 100; i++)
			for (unsigned f = 0; rs_rule_families[f]; f++)
				for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++) {
					char id[8];

					snprintf(id, sizeof(id), "%c%02u", family, i);
					if (rs_rule_find(id) != r)
						continue;
					fprintf(out, "| **%s** %s | %s | ", r->id, r->name,
						rs_severity_names[r->severity]);
					cell(r->criterion, out);
					fputs(" | ", out);
					cell(r->authority, out);
					fputs(" |\n", out);
				}
}

static void causes(FILE *out)
{
	const char *cause, *effect, *last = "";

	fputs("\n### Causes and consequences\n\nA FAIL of the left explains one of the right on "
	      "the "
	      "same host:\n",
	      out);
	for (uint32_t i = 0; rs_audit_because(i, &cause, &effect); i++) {
		if (strcmp(cause, last))
			fprintf(out, "%s%s explains %s", *last ? ".\n" : "\n", cause, effect);
		else
			fprintf(out, ", %s", effect);
		last = cause;
	}
	fputs(".\n", out);
}

static void readers(FILE *out)
{
	fputs("\n### What is read\n\n| reader | what it takes |\n|---|---|\n", out);
	for (unsigned i = 0; rs_readers[i]; i++) {
		fprintf(out, "| %s | ", rs_readers[i]->name);
		cell(rs_readers[i]->what, out);
		fputs(" |\n", out);
	}
}

void rs_audit_markdown(FILE *out)
{
	checks(out);
	causes(out);
	readers(out);
}
