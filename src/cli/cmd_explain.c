/* ripstop explain SYMPTOM [PATH...]: which checks to look at for a symptom, in order, with what
 * each would show; over snapshots it walks them itself. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/price/price.h"
#include "audit/read/read.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"
#include "audit/rules/symptom.h"
#include "base/load.h"
#include "cli/audit_report.h"
#include "cli/cli.h"
#include "cli/explain_answer.h"
#include "report/report.h"

static int help(void)
{
	fputs("Usage: ripstop explain [--list] SYMPTOM [PATH...]\n\n"
	      "A symptom, in words or by name: the checks to look at, in order, and what each "
	      "would "
	      "show.\nWith PATHs (as ripstop audit takes them) the checks are made: what was "
	      "found, "
	      "what was\nruled out, what could not be seen and is to be fetched next.\n\n"
	      "  --list   the symptoms\n\n"
	      "Examples:\n"
	      "  ripstop explain \"800G link but 500G goodput\"\n"
	      "  ripstop explain timeouts gpu01.tar.gz gpu02.tar.gz leaf1.json\n\n"
	      "Exit status: 0 nothing found (or no PATH), 1 a cause was found, 2 bad input.\n",
	      stdout);
	return RS_EXIT_OK;
}

static int list(void)
{
	for (const struct rs_symptom *s = rs_symptoms; s->name; s++)
		printf("%-18s %s\n", s->name, s->title);
	return RS_EXIT_OK;
}

static void head(const struct rs_symptom *s)
{
	printf("%s: %s\n\n", s->name, s->title);
	rs_paragraph(stdout, 0, "%s", s->first);
	putchar('\n');
}

static int tell(const struct rs_symptom *s)
{
	unsigned n = 0;

	head(s);
	for (unsigned i = 0; i < RS_SYMPTOM_STEPS && s->step[i].check; i++) {
		const struct rs_rule *r = rs_rule_find(s->step[i].check);

		if (!r)
			continue;
		printf("%2u. %s %s\n", ++n, r->id, r->name);
		rs_paragraph(stdout, 4, "%s", s->step[i].shows);
		rs_paragraph(stdout, 4, "Right is: %s", r->criterion);
	}
	fputs("\nWith snapshots of the hosts and switches these are made at once: ripstop explain ",
	      stdout);
	printf("%s PATH...\nripstop audit --collect FILE makes one of a host.\n", s->name);
	return RS_EXIT_OK;
}

/* ---- Over snapshots ---- */

/* The files themselves, as far as they are texts. */
enum { FILES = 64 };
struct texts {
	char **path, *text[FILES];
	size_t bytes[FILES];
	int n;
};

/* A text: no archive, no picture. */
static bool is_text(const char *s, size_t n)
{
	return !memchr(s, '\0', n < 4096 ? n : 4096);
}

static void texts_load(struct texts *t, char **path, int n)
{
	enum { BYTES = 16 << 20 };

	*t = (struct texts){.path = path, .n = n < FILES ? n : FILES};
	for (int i = 0; i < t->n; i++) {
		struct rs_error e = {0};
		struct rs_load l = {.e = &e, .name = path[i]};
		struct stat st;

		if (stat(path[i], &st) || !S_ISREG(st.st_mode) || st.st_size > BYTES)
			continue;
		t->text[i] = rs_load_file(&l, path[i], BYTES, (struct rs_where){0}, &t->bytes[i]);
		if (t->text[i] && !is_text(t->text[i], t->bytes[i])) {
			free(t->text[i]);
			t->text[i] = NULL;
		}
	}
}

static void texts_free(struct texts *t)
{
	for (int i = 0; i < t->n; i++)
		free(t->text[i]);
}

static unsigned texts_find(const struct texts *t, const struct rs_question *q,
			   struct rs_question_line *out, unsigned most)
{
	unsigned found = 0;

	for (int i = 0; i < t->n; i++)
		if (t->text[i])
			found = rs_question_lines(q, t->path[i], t->text[i], t->bytes[i], out,
						  found, most);
	return found;
}

/* Lines that have a check's words, where no reader made anything of them. */
static unsigned texts_of_rule(const struct texts *t, const struct rs_rule *r,
			      struct rs_question_line *out, unsigned most)
{
	struct rs_question q, own = {.n = 0};
	unsigned found;

	rs_question_of_rule(&q, r);
	for (unsigned i = 0; i < q.n; i++)
		if (!q.meant[i])
			strcpy(own.word[own.n++], q.word[i]);
	found = own.n ? texts_find(t, &own, out, most) : 0;
	return found || !q.n ? found : texts_find(t, &q, out, most);
}

struct walk {
	const struct texts *t;
	unsigned found, open, unseen, silent, right;
};

/* What no paragraph should have in it: line ends, tabs, control bytes. */
static void show_line(const struct rs_question_line *l, int indent)
{
	char text[512];
	size_t n = l->bytes < sizeof(text) - 1 ? l->bytes : sizeof(text) - 1, at = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)l->text[i];
		bool blank = c <= ' ' || c == 0x7f;

		if (blank && at && text[at - 1] == ' ')
			continue;
		text[at++] = blank ? ' ' : (char)c;
	}
	text[at] = '\0';
	rs_paragraph(stdout, indent, "%s:%u: %s", l->file, l->line, text);
}

/* What was read of it: a fact that the named files state is never "not seen". */
static void stated(const struct rs_finding *f)
{
	enum { STATED = 3 };

	for (uint32_t i = 0; i < f->n_facts && i < STATED; i++) {
		const struct rs_fact *k = f->fact[i];

		if (k->line)
			rs_paragraph(stdout, 6, "read %s:%u: %s %s = %.120s", k->file, k->line,
				     k->subject, k->name, k->value);
		else
			rs_paragraph(stdout, 6, "read %s: %s %s = %.120s", k->file ? k->file : "",
				     k->subject, k->name, k->value);
	}
}

static void failed(const struct rs_finding *f)
{
	rs_paragraph(stdout, 6, "%s%s%s: %s", f->n_subjects ? f->subject[0].host : "",
		     f->n_subjects && f->subject[0].part ? ":" : "",
		     f->n_subjects && f->subject[0].part ? f->subject[0].part : "", f->title);
	if (f->n_subjects > 1)
		rs_paragraph(stdout, 6, "and %u more", f->n_subjects - 1);
	stated(f);
	if (f->price.priced)
		rs_paragraph(stdout, 6, "costs %.0f %% of %s: %.3g -> %.3g %s when fixed",
			     -f->price.low, f->price.metric, f->price.as_is, f->price.fixed,
			     f->price.unit);
	for (uint32_t i = 0; i < f->n_fixes && f->fix[i].choice == f->fix[0].choice; i++)
		printf("      fix on %s: %s\n", f->fix[i].on, f->fix[i].command);
}

static void unseen(const struct rs_finding *f)
{
	rs_paragraph(stdout, 6, "%s%s%s", f->n_subjects ? f->subject[0].host : "",
		     f->n_subjects ? ": " : "", f->title);
	stated(f);
	for (uint32_t i = 0; i < f->n_needs; i++)
		rs_paragraph(stdout, 6, "fetch %s: %s", f->need[i].file, f->need[i].why);
}

/* What a check came to; *some: an UNKNOWN has facts. */
static enum rs_verdict came_to(const struct rs_audit *a, const struct rs_rule *r, bool *some)
{
	unsigned count[4] = {0};

	*some = false;
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->rule == r && !a->findings[i]->suppressed) {
			count[a->findings[i]->verdict]++;
			*some |= a->findings[i]->verdict == RS_UNKNOWN && a->findings[i]->n_facts;
		}
	return count[RS_FAIL]      ? RS_FAIL
	       : count[RS_UNKNOWN] ? RS_UNKNOWN
	       : count[RS_PASS]    ? RS_PASS
				   : RS_NA;
}

static void step(const struct rs_audit *a, const struct rs_rule *r, const char *shows,
		 struct walk *w)
{
	struct rs_question_line line[2];
	bool some;
	enum rs_verdict v = came_to(a, r, &some);
	unsigned shown = 0, told = 0;

	if (v == RS_UNKNOWN && !some)
		told = texts_of_rule(w->t, r, line, 2);
	some |= told > 0;
	printf("  %-8s %s %s\n",
	       (const char *[]){"ok", "FOUND", some ? "open" : "not seen", "no word"}[v], r->id,
	       r->name);
	if (v == RS_FAIL)
		rs_paragraph(stdout, 6, "%s", shows);
	for (uint32_t i = 0; i < a->n_findings && shown < 4; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->rule != r || f->verdict != v || f->suppressed)
			continue;
		if (v == RS_FAIL)
			failed(f);
		else if (v == RS_UNKNOWN)
			unseen(f);
		else if (v == RS_PASS)
			stated(f);
		shown++;
	}
	for (unsigned i = 0; i < told; i++)
		show_line(&line[i], 6);
	w->found += v == RS_FAIL;
	w->open += v == RS_UNKNOWN && some;
	w->unseen += v == RS_UNKNOWN && !some;
	w->right += v == RS_PASS;
}

/* A check that nothing was read for, though the text has its words. */
static bool in_words(const struct rs_rule *r, struct walk *w)
{
	struct rs_question_line line[2];
	unsigned n = texts_of_rule(w->t, r, line, 2);

	if (!n)
		return false;
	if (w->silent++)
		putchar('\n');
	w->silent = 0;
	w->open++;
	printf("  %-8s %s %s\n", "in words", r->id, r->name);
	for (unsigned i = 0; i < n; i++)
		show_line(&line[i], 6);
	return true;
}

/* Steps that came to one verdict, in their order. */
static void steps(const struct rs_symptom *s, const struct rs_audit *a, enum rs_verdict v,
		  struct walk *w)
{
	bool some;

	for (unsigned i = 0; i < RS_SYMPTOM_STEPS && s->step[i].check; i++) {
		const struct rs_rule *r = rs_rule_find(s->step[i].check);

		if (!r || came_to(a, r, &some) != v)
			continue;
		if (v != RS_NA)
			step(a, r, s->step[i].shows, w);
		else if (!in_words(r, w))
			printf("%s%s %s", w->silent++ ? ", " : "  no word of ", r->id, r->name);
	}
	if (v == RS_NA && w->silent)
		putchar('\n');
}

static bool is_step(const struct rs_symptom *s, const struct rs_rule *r)
{
	for (unsigned i = 0; i < RS_SYMPTOM_STEPS && s->step[i].check; i++)
		if (!strcmp(s->step[i].check, r->id))
			return true;
	return false;
}

/* What the files state and no step of the symptom asks for: it may be the cause all the same. */
static void beside(const struct rs_symptom *s, const struct rs_audit *a, struct walk *w)
{
	enum { BESIDE = 5 };
	unsigned shown = 0;

	for (uint32_t i = 0; i < a->n_findings && shown < BESIDE; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict != RS_FAIL || f->suppressed || is_step(s, f->rule))
			continue;
		if (!shown++)
			puts(w->found ? "\nBeside these steps:" : "Beside the steps:");
		printf("  FOUND    %s %s\n", f->rule->id, f->rule->name);
		failed(f);
	}
	if (a->failure && a->failure->line)
		rs_paragraph(stdout, 0, "The text states a failure, %s:%u: %.200s",
			     a->failure->file, a->failure->line, a->failure->value);
	if (w->found + shown)
		putchar('\n');
	w->found += shown;
}

static void read_texts(const struct rs_audit *a)
{
	for (const struct rs_text_use *u = a->texts; u; u = u->next)
		if (u->count[RS_LINE_STRANGE] && u->n_blocks)
			rs_paragraph(stdout, 0,
				     "%s: %u of %u lines used; the first not understood is %u: "
				     "%.80s",
				     u->path, u->count[RS_LINE_USED],
				     u->lines - u->count[RS_LINE_BLANK], u->block[0].first,
				     u->block[0].text);
}

/* ---- A question that is no symptom ---- */

enum { ANSWERS = 64, FACTS = 8, FOUND_SHOWN = 6, OTHERS_SHOWN = 4 };

static const char *const said[] = {
	[RS_PASS] = "ok", [RS_FAIL] = "FOUND", [RS_UNKNOWN] = "not seen", [RS_NA] = "no word"};

/* Findings of one verdict that have some of the words, those with most of them first. */
static unsigned answers(const struct rs_question *q, const struct rs_audit *a, enum rs_verdict v,
			const struct rs_finding **out)
{
	unsigned score[ANSWERS], n = 0;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];
		unsigned k = rs_question_finding(q, f), at = n;

		if (f->verdict != v || f->suppressed || !k || n == ANSWERS)
			continue;
		while (at && score[at - 1] < k)
			at--;
		memmove(score + at + 1, score + at, (n - at) * sizeof(*score));
		memmove(out + at + 1, out + at, (n - at) * sizeof(*out));
		score[at] = k;
		out[at] = f;
		n++;
	}
	return n;
}

/* An UNKNOWN without facts, of which the text has lines all the same. */
static bool open_in_words(const struct rs_finding *f, const struct texts *t)
{
	struct rs_question_line line[2];
	unsigned n =
		f->verdict == RS_UNKNOWN && !f->n_facts ? texts_of_rule(t, f->rule, line, 2) : 0;

	if (!n)
		return false;
	printf("  %-8s %s %s\n", "open", f->rule->id, f->rule->name);
	rs_paragraph(stdout, 6, "%s", f->title);
	for (unsigned i = 0; i < n; i++)
		show_line(&line[i], 6);
	return true;
}

static void line_of(const struct rs_finding *f)
{
	printf("  %-8s %s %s\n", f->verdict == RS_UNKNOWN && f->n_facts ? "open" : said[f->verdict],
	       f->rule->id, f->rule->name);
}

static bool among(const struct rs_finding *f, const struct rs_finding *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == f)
			return true;
	return false;
}

/* What else was found, the worst first: it may be the answer in other words. */
static unsigned others(const struct rs_audit *a, const struct rs_finding *const *told, unsigned n)
{
	unsigned shown = 0;

	for (uint32_t i = 0; i < a->n_findings && shown < FOUND_SHOWN; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict != RS_FAIL || f->suppressed || among(f, told, n))
			continue;
		if (!shown++)
			puts(n ? "\nFound beside it:" : "\nFound, in other words:");
		line_of(f);
		failed(f);
	}
	return shown;
}

/* How many. */
static unsigned answer_facts(const struct rs_question *q, const struct rs_audit *a)
{
	const struct rs_fact *fact[FACTS];
	unsigned n = rs_question_facts(q, a, fact, FACTS);

	if (n)
		puts("Read of it:");
	for (unsigned i = 0; i < n; i++)
		if (fact[i]->line)
			rs_paragraph(stdout, 2, "%s:%u: %s %s = %.120s", fact[i]->file,
				     fact[i]->line, fact[i]->subject, fact[i]->name,
				     fact[i]->value);
		else
			rs_paragraph(stdout, 2, "%s: %s %s = %.120s", fact[i]->file,
				     fact[i]->subject, fact[i]->name, fact[i]->value);
	return n;
}

/* ---- Lines of the files themselves ---- */

static void answer_lines(const struct rs_question *q, const struct texts *t)
{
	enum { LINES = 8 };
	struct rs_question_line line[LINES];
	unsigned found = texts_find(t, q, line, LINES);

	if (found)
		puts("\nLines that have its words:");
	for (unsigned i = 0; i < found; i++)
		show_line(&line[i], 2);
}

static int answer(const char *text, const struct rs_audit *a, const struct texts *t)
{
	const struct rs_finding *found[ANSWERS + 1], *other[ANSWERS + 1];
	struct rs_question q;
	unsigned n, k, beside_it;
	bool asks;

	rs_question_make(&q, text);
	printf("\"%s\": what the files say of its words\n\n", text);
	/* a question of what something is gets that first */
	asks = rs_question_asks(text);
	if (asks && answer_facts(&q, a))
		putchar('\n');
	n = answers(&q, a, RS_FAIL, found);
	for (unsigned i = 0; i < n && i < FOUND_SHOWN; i++) {
		line_of(found[i]);
		failed(found[i]);
	}
	for (int v = RS_PASS; v <= RS_UNKNOWN; v++) {
		if (v == RS_FAIL)
			continue;
		k = answers(&q, a, (enum rs_verdict)v, other);
		for (unsigned i = 0; i < k && i < OTHERS_SHOWN; i++) {
			if (open_in_words(other[i], t))
				continue;
			line_of(other[i]);
			if (v == RS_UNKNOWN)
				unseen(other[i]);
			else
				stated(other[i]);
		}
	}
	beside_it = others(a, found, n);
	if (!asks) {
		putchar('\n');
		answer_facts(&q, a);
	}
	answer_lines(&q, t);
	printf("\n%u found by its words, %u beside\n", n, beside_it);
	read_texts(a);
	return n + beside_it ? RS_EXIT_INCOMPLETE : RS_EXIT_OK;
}

/* Facts that have words of the question, beside the steps of a symptom. */
static void read_of(const char *text, const struct rs_symptom *s, const struct rs_audit *a,
		    const struct texts *t)
{
	struct rs_question q;

	if (!strcmp(text, s->name))
		return;
	rs_question_make(&q, text);
	putchar('\n');
	answer_facts(&q, a);
	answer_lines(&q, t);
}

/* "is mlx5_0 up?": what is asked for is the state of a part that was read, no symptom. */
static bool asks_for_state(const char *text, const struct rs_audit *a)
{
	struct rs_question q;

	rs_question_make(&q, text);
	return rs_question_asks(text) && rs_question_part(&q, a);
}

/* A symptom that shares a word or two with a question is not what it asks for, where a check has
 * more of its words, or is called by one. */
static bool asks_for_check(const struct rs_symptom *s, const char *text)
{
	unsigned own = 0, known = 0, most = 0;
	struct rs_question q;
	bool called = false;

	if (!strcmp(text, s->name))
		return false;
	rs_question_make(&q, text);
	for (unsigned i = 0; i < q.n; i++)
		if (!q.meant[i]) {
			own++;
			known += rs_symptom_has(s, q.word[i]);
		}
	for (unsigned i = 0; rs_rule_families[i]; i++)
		for (const struct rs_rule *r = rs_rule_families[i]; r->id; r++) {
			bool named;
			unsigned n = rs_question_rule(&q, r, &named);

			called |= named && n >= most;
			most = n > most ? n : most;
		}
	return known < own && (most > known || (most == known && called));
}

static int walk_steps(const struct rs_symptom *s, const char *text, const struct rs_audit *a,
		      const struct texts *t)
{
	struct walk w = {.t = t};

	head(s);
	/* what was found comes first, whichever step it is */
	steps(s, a, RS_FAIL, &w);
	beside(s, a, &w);
	steps(s, a, RS_UNKNOWN, &w);
	steps(s, a, RS_PASS, &w);
	steps(s, a, RS_NA, &w);
	read_of(text, s, a, t);
	printf("\n%u found, %u ruled out, %u open, %u not seen, of %u no word was read\n", w.found,
	       w.right, w.open, w.unseen, w.silent);
	read_texts(a);
	if (w.found)
		fputs("Mend the first that was found, then look again: later ones may follow from "
		      "it.\n",
		      stdout);
	return w.found ? RS_EXIT_INCOMPLETE : RS_EXIT_OK;
}

static int walk(const struct rs_symptom *s, const char *text, struct rs_audit *a, char **path,
		int n, struct rs_error *e)
{
	struct texts t;
	int err = 0, status;

	for (int i = 0; i < n && !err; i++)
		err = rs_audit_read(a, path[i], NULL, 0, e);
	if (!err)
		err = rs_audit_run(a, NULL, NULL, e);
	if (!err)
		err = rs_audit_price(a, RS_PRICE_FAST, e);
	if (err)
		return rs_cli_error(e);
	texts_load(&t, path, n);
	status = !s || asks_for_state(text, a) || asks_for_check(s, text)
			 ? answer(text, a, &t)
			 : walk_steps(s, text, a, &t);
	texts_free(&t);
	return status;
}

/* One that is not there, too: a name that was mistyped is no word of a symptom. */
static bool is_path(const char *word)
{
	static const char *const ends[] = {".gz",  ".tgz", ".xz",  ".bz2", ".zip",  ".tar", ".json",
					   ".txt", ".log", ".xml", ".csv", ".yaml", ".out"};
	size_t n = strlen(word);

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (n > strlen(ends[i]) && !strcmp(word + n - strlen(ends[i]), ends[i]))
			return true;
	return strchr(word, '/') || !access(word, F_OK);
}

/* None, or several alike: those that come near are named. */
static int several(const char *text)
{
	const struct rs_symptom *near[3];
	unsigned n = rs_symptom_near(text, near, 3);
	struct rs_error e = {0};

	if (rs_rule_find(text)) {
		rs_error_set(&e, -EINVAL, "'%s' is a check, not a symptom", text);
		rs_error_hint(&e, "ripstop audit --explain %s says what it means", text);
		return rs_cli_error(&e);
	}
	rs_error_set(&e, -EINVAL, "no one symptom fits '%s'", text);
	if (!n)
		rs_error_hint(&e, "ripstop explain --list names those known; or say more of it");
	else
		rs_error_hint(&e, "near to it: %s%s%s%s%s; ripstop explain --list names all",
			      near[0]->name, n > 1 ? ", " : "", n > 1 ? near[1]->name : "",
			      n > 2 ? ", " : "", n > 2 ? near[2]->name : "");
	return rs_cli_error(&e);
}

int rs_cmd_explain(int argc, char **argv)
{
	static const struct option table[] = {
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const struct rs_symptom *s;
	struct rs_error e = {0};
	struct rs_audit *a;
	char text[512] = "";
	int c, status;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (c == 'h')
			return help();
		if (c == 'l')
			return list();
		return rs_cli_try("explain");
	}
	if (optind == argc)
		return rs_cli_usage("explain", "which symptom? --list names those known");
	/* words without quotes: up to the first that is a path */
	for (; optind < argc && (!*text || !is_path(argv[optind])); optind++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? " " : "",
			 argv[optind]);
	s = rs_symptom_find(text);
	if (!s && optind == argc)
		return several(text);
	if (optind == argc)
		return tell(s);
	if (rs_audit_create(&a)) {
		rs_error_set(&e, -ENOMEM, "out of memory");
		return rs_cli_error(&e);
	}
	status = walk(s, text, a, argv + optind, argc - optind, &e);
	rs_audit_destroy(a);
	return status;
}
