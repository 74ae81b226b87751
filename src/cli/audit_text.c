/* `ripstop audit` for people: findings with their chain, evidence and fix, 100 columns wide. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/evidence.h"
#include "audit/rules/rule.h"
#include "cli/audit_report.h"
#include "report/report.h"

static const char *colour(const struct rs_audit_view *v, const struct rs_finding *f)
{
	if (!v->colour)
		return "";
	if (f->verdict == RS_FAIL)
		return f->severity >= RS_MAJOR ? "\033[1;31m" : "\033[33m";
	return f->verdict == RS_PASS ? "\033[32m" : "\033[36m";
}

static void subjects(const struct rs_finding *f, const struct rs_audit_view *v, FILE *out)
{
	uint32_t n = f->n_subjects < RS_FINDING_SUBJECTS ? f->n_subjects : RS_FINDING_SUBJECTS;
	uint32_t shown = v->verbose || n <= 4 ? n : 3;

	for (uint32_t i = 0; i < shown; i++) {
		const struct rs_finding_subject *s = &f->subject[i];

		fprintf(out, "%s%s%s%s", i ? ", " : "", s->host, s->part ? ":" : "",
			s->part ? s->part : "");
	}
	if (f->n_subjects > shown)
		fprintf(out, " and %u more%s", f->n_subjects - shown, v->verbose ? "" : " (-v)");
	if (f->alike)
		fprintf(out, " (%u findings alike)", f->alike);
}

static void price(const struct rs_finding *f, const struct rs_audit_view *v, FILE *out)
{
	double lost = -f->price.low;

	if (f->price.priced && lost < 1)
		rs_paragraph(out, 2, "costs     less than 1 %% of %s as simulated: %s",
			     f->price.metric, f->price.assumes);
	else if (f->price.priced)
		rs_paragraph(out, 2, "costs     %.0f %% of %s: %.3g -> %.3g %s when fixed (%s)",
			     lost, f->price.metric, f->price.as_is, f->price.fixed, f->price.unit,
			     f->price.assumes);
	else if (f->price.assumes && v->verbose)
		rs_paragraph(out, 2, "price     not priced: %s", f->price.assumes);
}

static void chain(const struct rs_finding *f, FILE *out)
{
	static const char *const mark[] = {[RS_PASS] = "ok",
					   [RS_FAIL] = "BROKEN HERE",
					   [RS_UNKNOWN] = "not seen",
					   [RS_NA] = "-"};

	for (uint32_t i = 0; i < f->n_stages; i++) {
		const struct rs_finding_stage *s = &f->stage[i];

		fprintf(out, "  %-9s %-16.16s %-18.18s %-36.36s %s\n", i ? "" : "chain", s->host,
			s->stage, s->value, mark[s->verdict]);
	}
}

static void evidence(const struct rs_finding *f, const struct rs_audit_view *v, FILE *out)
{
	uint32_t shown = v->verbose || f->n_facts <= 6 ? f->n_facts : 5;

	for (uint32_t i = 0; i < shown; i++) {
		const struct rs_fact *k = f->fact[i];
		char at[320] = "";

		if (k->at)
			snprintf(at, sizeof(at), "#%s", k->at);
		else if (k->line)
			snprintf(at, sizeof(at), ":%u", k->line);
		rs_paragraph(out, i ? 12 : 2, "%s%s%s  %s %s = %s", i ? "" : "evidence  ",
			     k->file ? k->file : k->host, at, k->subject, k->name, k->value);
	}
	if (shown < f->n_facts)
		rs_paragraph(out, 12, "and %u more (-v)", f->n_facts - shown);
}

static bool same_fix(const struct rs_finding_fix *x, const struct rs_finding_fix *y)
{
	return x->choice == y->choice && !strcmp(x->command, y->command) &&
	       !strcmp(x->undo ? x->undo : "", y->undo ? y->undo : "");
}

/* The hosts that a command is for, each once: findings that were alike have one for each of theirs.
 */
static void hosts_of(const struct rs_finding *f, uint32_t i, char *out, size_t size)
{
	uint32_t n = 0;

	*out = '\0';
	for (uint32_t k = i; k < f->n_fixes; k++) {
		size_t used = strlen(out);

		if (!same_fix(&f->fix[i], &f->fix[k]))
			continue;
		snprintf(out + used, size - used, "%s%s", n++ ? ", " : "", f->fix[k].on);
	}
	/* a finding keeps a few fixes, of however many hosts */
	if (f->n_fixes == RS_FINDING_FIXES && n > 1 && f->alike > n)
		snprintf(out + strlen(out), size - strlen(out), " and %u more", f->alike - n);
}

static void fixes(const struct rs_finding *f, FILE *out)
{
	char hosts[RS_FINDING_FIXES * 72], last[sizeof(hosts)] = "";

	for (uint32_t i = 0; i < f->n_fixes; i++) {
		const struct rs_finding_fix *x = &f->fix[i];
		bool first = !i || f->fix[i - 1].choice != x->choice, told = false;

		for (uint32_t k = 0; k < i; k++)
			told |= same_fix(&f->fix[k], x);
		if (told)
			continue;
		hosts_of(f, i, hosts, sizeof(hosts));
		if (first || strcmp(hosts, last) != 0)
			fprintf(out, "  fix %-5s on %s%s%s%s\n",
				f->fix[f->n_fixes - 1].choice > 1
					? (const char *[]){"", "(a)", "(b)", "(c)",
							   "(d)"}[x->choice & 3]
					: "",
				hosts, x->persistent ? "" : ", until the next boot",
				x->interrupts ? "; interrupts: " : "",
				x->interrupts ? x->interrupts : "");
		memcpy(last, hosts, sizeof(last));
		/* a command is not broken over lines: it is to be copied */
		fprintf(out, "            %s\n", x->command);
		if (x->undo)
			fprintf(out, "            undo: %s\n", x->undo);
	}
}

static void needs(const struct rs_finding *f, FILE *out)
{
	for (uint32_t i = 0; i < f->n_needs; i++)
		rs_paragraph(out, i ? 12 : 2, "%s%s: %s", i ? "" : "unseen    ", f->need[i].file,
			     f->need[i].why);
}

static void finding(const struct rs_finding *f, const struct rs_audit_view *v, FILE *out)
{
	fprintf(out, "%s%-7s %s%s%s%s %s  ", colour(v, f), rs_verdict_names[f->verdict],
		f->verdict == RS_FAIL ? rs_severity_names[f->severity] : "",
		f->verdict == RS_FAIL ? "  " : "", f->rule->id, v->colour ? "\033[0m" : "",
		f->rule->name);
	subjects(f, v, out);
	fputc('\n', out);
	rs_paragraph(out, 2, "%s", f->title);
	if (f->verdict == RS_FAIL)
		price(f, v, out);
	chain(f, out);
	evidence(f, v, out);
	if (f->why)
		rs_paragraph(out, 2, "why       %s", f->why);
	for (uint32_t i = 0; i < f->n_effects; i++)
		rs_paragraph(out, i ? 12 : 2, "%s%s %s: %s", i ? "" : "explains  ",
			     f->effect[i]->rule->id, f->effect[i]->rule->name, f->effect[i]->title);
	fixes(f, out);
	needs(f, out);
	if (f->verdict == RS_FAIL)
		rs_paragraph(out, 2, "authority %s; confidence %s", f->rule->authority,
			     rs_confidence_names[f->confidence]);
	fputc('\n', out);
}

/* What passed or could not be seen, a line a check: details with -v. */
static void summary(const struct rs_audit *a, enum rs_verdict verdict, const char *title, FILE *out)
{
	const char *last = NULL;
	uint32_t n = 0;
	char line[4096] = "";

	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict != verdict || f->suppressed || (last && !strcmp(last, f->rule->id)))
			continue;
		if (!strstr(line, f->rule->id)) {
			snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s %s",
				 n ? ", " : "", f->rule->id, f->rule->name);
			n++;
		}
		last = f->rule->id;
	}
	if (n)
		rs_paragraph(out, 0, "%s (%u): %s", title, n, line);
}

/* A document that was recognised and gave nothing was cut, or is of a form that is not known. Files
 * of which most say nothing are left out. */
static void barren(const struct rs_audit *a, FILE *out)
{
	static const char *const often[] = {"sysfs",      "pci-config",    "limits",
					    "kernel-log", "report",        "counters",
					    "interrupts", "traffic_class", "cpuinfo"};
	enum { NAMED = 4 };
	struct rs_enumeration files = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_files; i++) {
		const struct rs_input_file *f = &a->files[i];
		bool usual = !f->reader || f->facts;

		for (unsigned k = 0; k < sizeof(often) / sizeof(*often) && !usual; k++)
			usual = !strcmp(f->reader, often[k]);
		if (!usual && n++ < NAMED)
			rs_enumerate(&files, ", ", "%s (%s)", f->path, f->reader);
	}
	if (!n)
		return;
	rs_paragraph(out, 0,
		     "No fact came of %s%s: cut short, empty, or of a form that is not "
		     "known.",
		     files.text, n > NAMED ? " and others (-v)" : "");
	fputc('\n', out);
}

enum {
	TEXTS_SHOWN = 4, /* without -v */
	LINES_SHOWN = 4, /* of one among others */
	BLOCK_BYTES = 90
};

/* Bytes up to n that end with a whole character of UTF-8. */
static int whole(const char *text, int n)
{
	if (strlen(text) <= (size_t)n)
		return n;
	while (n && ((unsigned char)text[n] & 0xC0) == 0x80)
		n--;
	return n;
}

/* What became of a text's lines: nothing is dropped without a word. */
static void text(const struct rs_text_use *u, const struct rs_audit_view *v, FILE *out)
{
	uint32_t lines = u->lines - u->count[RS_LINE_BLANK];
	uint32_t shown = v->verbose ? u->n_blocks : 1;

	rs_paragraph(out, 0, "%s: %u of %u lines used, %u more are of known outputs%s", u->path,
		     u->count[RS_LINE_USED], lines,
		     u->count[RS_LINE_KNOWN] + u->count[RS_LINE_FRAME],
		     u->n_blocks ? "" : ", all are understood");
	if (u->n_blocks)
		rs_paragraph(out, 2, "%u lines in %u block%s were not understood%s",
			     u->count[RS_LINE_STRANGE], u->n_blocks, u->n_blocks == 1 ? "" : "s",
			     u->n_blocks > 1 && !v->verbose ? "; the first (all: -v):" : ":");
	for (uint32_t i = 0; i < u->n_blocks && i < shown && i < RS_TEXT_BLOCKS; i++)
		fprintf(out, "    %u-%u: %.*s\n", u->block[i].first, u->block[i].last,
			whole(u->block[i].text, BLOCK_BYTES), u->block[i].text);
}

static void texts(const struct rs_audit *a, const struct rs_audit_view *v, FILE *out)
{
	uint32_t n = 0;

	for (const struct rs_text_use *u = a->texts; u; u = u->next) {
		/* files of a word or two, in a copy of a tree: they are counted above */
		if (!v->verbose && u->lines < LINES_SHOWN && a->texts != a->last_text)
			continue;
		if (u->lines == u->count[RS_LINE_BLANK])
			continue;
		if (v->verbose || n < TEXTS_SHOWN)
			text(u, v, out);
		n++;
	}
	if (n > TEXTS_SHOWN && !v->verbose)
		rs_paragraph(out, 0, "and %u texts more (-v)", n - TEXTS_SHOWN);
	if (n)
		fputc('\n', out);
}

static void inputs(const struct rs_audit *a, const struct rs_audit_view *v, FILE *out)
{
	uint32_t read = 0, strange = 0;

	for (uint32_t i = 0; i < a->n_files; i++)
		a->files[i].reader ? read++ : strange++;
	fprintf(out,
		"%u facts of %u hosts and switches from %u files; %u files were not "
		"recognised%s\n\n",
		rs_facts_count(a->facts), rs_facts_hosts(a->facts), read, strange,
		strange && !v->verbose ? " (-v)" : "");
	for (uint32_t i = 0; v->verbose && i < a->n_files; i++)
		fprintf(out, "  %-14s %6u  %s\n",
			a->files[i].reader ? a->files[i].reader : "not recognised",
			a->files[i].facts, a->files[i].path);
	if (v->verbose)
		fputc('\n', out);
	texts(a, v, out);
	barren(a, out);
}

static bool judged_right(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->verdict == RS_PASS)
			return true;
	return false;
}

/* The verdict of what is not enough, and what would be. */
static void conclusion(const struct rs_audit *a, FILE *out)
{
	const struct rs_fact *f = a->failure, *cut;
	const struct rs_text_use *text;
	uint32_t said = 0;

	if (rs_audit_concludes(a, false) != RS_CONCLUDES_THIN)
		return;
	for (uint32_t i = 0; i < a->n_findings; i++)
		said += a->findings[i]->verdict == RS_FAIL;
	if (f)
		rs_paragraph(
			out, 0,
			"NOT ENOUGH EVIDENCE: a line states a failure, and no check explains it%s.",
			said ? " (what is minor stands below)" : "");
	else if ((cut = rs_evidence_cut_off(a)))
		rs_paragraph(
			out, 0,
			"NOT ENOUGH EVIDENCE: nothing wrong was found, but %s does not show that "
			"the job ended.",
			cut->file);
	else if (!said && judged_right(a) && (text = rs_evidence_strange(a)))
		rs_paragraph(out, 0,
			     "NOT ENOUGH EVIDENCE: what was judged is right. But %s has lines that "
			     "were not understood, or asks for what is not there: these may say "
			     "what is wrong.",
			     text->path);
	else if (said)
		rs_paragraph(out, 0,
			     "NOT ENOUGH EVIDENCE: what was found is minor or a note, and nothing "
			     "tells whether a job suffers from it.");
	else
		rs_paragraph(out, 0,
			     "NOT ENOUGH EVIDENCE: nothing was judged. docs/audit.md lists what is "
			     "read.");
	if (f && f->line)
		rs_paragraph(out, 2, "said      %s:%u  %s", f->file, f->line, f->value);
	if (a->next_command) {
		/* a command is not broken over lines: it is to be copied */
		fprintf(out, "  run next  %s\n", a->next_command);
		rs_paragraph(out, 2, "because   %s", a->next_why);
	}
	fputc('\n', out);
}

/* The first so many hosts: what each is made of, as far as was seen, and what it does not show. */
enum { HOSTS_SHOWN = 8, OTHERS_SHOWN = 6 };

static uint32_t subjects_of(const struct rs_audit *a, const char *host, const char *prefix)
{
	uint32_t at = 0, n = 0;

	while (rs_facts_subject(a->facts, &at, host, prefix))
		n++;
	return n;
}

/* GPUs by the tree, by their own facts, or by the matrix of nvidia-smi topo -m: the most of them.
 */
static uint32_t gpus_of(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0, n = 0, own = subjects_of(a, host, "gpu/"), in_matrix = 0;
	const struct rs_fact *f;
	const char *s;
	char last[32] = "";

	while ((s = rs_facts_subject(a->facts, &at, host, "pci/")))
		n += !strcmp(rs_look_kind(a, host, s), "gpu");
	/* "distance/GPU0/NIC1", in their order */
	for (at = 0; (f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"));) {
		const char *gpu = f->name + strlen("distance/");
		size_t len = strcspn(gpu, "/");

		if (len >= sizeof(last) || (strlen(last) == len && !strncmp(last, gpu, len)))
			continue;
		snprintf(last, sizeof(last), "%.*s", (int)len, gpu);
		in_matrix++;
	}
	n = own > n ? own : n;
	return in_matrix > n ? in_matrix : n;
}

/* Interfaces of their own, and those that RDMA devices name. */
static uint32_t netdevs_of(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0, n = subjects_of(a, host, "netdev/");
	const char *nic;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
		const struct rs_fact *f;
		char subject[160];
		uint32_t of;

		snprintf(subject, sizeof(subject), "netdev/%s", netdev ? netdev : "");
		of = rs_facts_seek(a->facts, host, subject);
		f = rs_facts_next(a->facts, &of, host, subject, "");
		n += netdev && (!f || strcmp(f->subject, subject));
	}
	return n;
}

static void host_line(const struct rs_audit *a, const char *host, FILE *out)
{
	uint32_t nics = subjects_of(a, host, "nic/"), at = 0, hidden = 0;
	uint32_t pci = subjects_of(a, host, "pci/"), netdevs = netdevs_of(a, host), gpus;
	const struct rs_fact *f;
	const char *called = rs_audit_called(a, host);
	char unread[512] = "";

	if (!nics && !pci && !netdevs)
		return;
	gpus = gpus_of(a, host);
	for (at = 0; (f = rs_facts_next(a->facts, &at, host, "pci/", "config"));)
		hidden += !strcmp(f->value, "access denied");
	if (hidden)
		snprintf(unread, sizeof(unread),
			 "configuration space of %u PCI functions: needs root", hidden);
	for (at = 0; (f = rs_facts_next(a->facts, &at, host, "host", "unreadable"));)
		snprintf(unread + strlen(unread), sizeof(unread) - strlen(unread), "%s%s",
			 *unread ? "; " : "", f->value);
	rs_paragraph(out, 0,
		     "%s%s%s%s: %u RDMA devices, %u GPUs, %u interfaces, %u PCI functions%s", host,
		     called == host ? "" : " (its prompt says ", called == host ? "" : called,
		     called == host ? "" : ")", nics, gpus, netdevs, pci,
		     nics ? "" : ". Without an RDMA device most checks have nothing to judge");
	if (*unread)
		rs_paragraph(out, 2, "unreadable %s", unread);
}

static void hosts(const struct rs_audit *a, FILE *out)
{
	uint32_t n = rs_facts_hosts(a->facts), shown = n <= HOSTS_SHOWN ? n : 0;

	for (uint32_t i = 0; i < shown; i++)
		if (!rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i)))
			host_line(a, rs_facts_host(a->facts, i), out);
	if (shown)
		fputc('\n', out);
}

/* Is it printed in full? What a cause explains is printed with the cause. */
static bool shown(const struct rs_finding *f, const struct rs_audit_view *v)
{
	return !f->suppressed && (v->verbose || (f->verdict == RS_FAIL && !f->cause) ||
				  (f->verdict == RS_UNKNOWN && f->severity == RS_CRITICAL));
}

/* The same of other hosts: told in a line, not again. */
static void others(const struct rs_audit *a, uint32_t first, const struct rs_audit_view *v,
		   bool *done, FILE *out)
{
	const struct rs_finding *f = a->findings[first];
	char line[1024] = "", more[32];
	uint32_t n = 0;

	for (uint32_t i = first + 1; i < a->n_findings; i++) {
		const struct rs_finding *g = a->findings[i];
		size_t used = strlen(line);

		if (g->rule != f->rule || g->verdict != f->verdict || !shown(g, v) ||
		    strcmp(g->title, f->title))
			continue;
		done[i] = true;
		if (n++ < OTHERS_SHOWN && g->n_subjects)
			snprintf(line + used, sizeof(line) - used, "%s%s%s%s", used ? ", " : "",
				 g->subject[0].host, g->subject[0].part ? ":" : "",
				 g->subject[0].part ? g->subject[0].part : "");
	}
	snprintf(more, sizeof(more), " and %u more", n - OTHERS_SHOWN);
	if (n)
		rs_paragraph(out, 2, "also      %s%s%s", line, n > OTHERS_SHOWN ? more : "",
			     f->n_fixes ? "; their fixes: -v, --fix-script" : "");
	if (n)
		fputc('\n', out);
}

void rs_audit_print(const struct rs_audit *a, const struct rs_audit_view *v, FILE *out)
{
	bool *done = calloc(a->n_findings + 1u, sizeof(*done));
	uint32_t count[4] = {0}, suppressed = 0;

	inputs(a, v, out);
	conclusion(a, out);
	hosts(a, out);
	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		suppressed += f->suppressed;
		if (f->suppressed)
			continue;
		count[f->verdict]++;
		if (!shown(f, v) || (done && done[i]))
			continue;
		finding(f, v, out);
		if (done && !v->verbose)
			others(a, i, v, done, out);
	}
	free(done);
	if (!v->verbose) {
		summary(a, RS_UNKNOWN, "Not seen", out);
		summary(a, RS_PASS, "Looked at and right", out);
	}
	fprintf(out, "Verdict: %s. %u FAIL, %u UNKNOWN, %u PASS, %u do not apply",
		rs_conclusion_names[rs_audit_concludes(a, false)], count[RS_FAIL],
		count[RS_UNKNOWN], count[RS_PASS], count[RS_NA]);
	fprintf(out, suppressed ? ", %u suppressed\n" : "\n", suppressed);
}

void rs_audit_list(FILE *out)
{
	for (unsigned f = 0; rs_rule_families[f]; f++)
		for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++) {
			fprintf(out, "%-4s %-24s %s\n", r->id, r->name,
				rs_severity_names[r->severity]);
			rs_paragraph(out, 5, "%s", r->criterion);
		}
}

int rs_audit_explain(const char *id, FILE *out)
{
	const struct rs_rule *r = rs_rule_find(id);

	if (!r)
		return -ENOENT;
	fprintf(out, "%s %s (%s)\n\n", r->id, r->name, rs_severity_names[r->severity]);
	rs_paragraph(out, 0, "%s", r->explain);
	fputc('\n', out);
	rs_paragraph(out, 0, "Criterion: %s", r->criterion);
	rs_paragraph(out, 0, "Authority: %s", r->authority);
	return 0;
}
