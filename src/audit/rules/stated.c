/*
 * Failures in words that no table knows: each goes to the check that its words point at (words.h).
 * It is minor, and of low confidence: the line is quoted, and is what to read.
 */
#include <string.h>
#include <strings.h>
#include "audit/facts/message.h"
#include "audit/rules/message.h"
#include "audit/rules/stated.h"
#include "audit/rules/words.h"

enum {
	QUOTED = 4,     /* lines of a finding */
	FAILURES = 256, /* of a host that are looked at */
	KNOWN = 4096,   /* facts of messages of a host that are compared with them */
};

/* ---- What is known already ---- */

static bool same_line(const struct rs_fact *a, const struct rs_fact *b)
{
	return a->line == b->line && !strcmp(a->file, b->file);
}

static bool is_sign(const struct rs_fact *f)
{
	const struct rs_message *m =
		strcmp(f->subject, "message") ? NULL : rs_message_find(f->name);

	return m && !m->check;
}

/* A person names the completion's error, and in the same sentence what it came of. */
static bool tells_more(const struct rs_fact *f, const struct rs_fact *said)
{
	return !strcmp(f->name, "completion_line") && rs_words_told(said->value);
}

/* Is this line a row's, whatever the row made of it? */
static bool is_known(const struct rs_audit *a, const char *host, const struct rs_fact *said)
{
	static const char *const kept[][2] = {{"message", ""}, {"nccl", ""}, {"absent", ""}};

	for (unsigned i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		uint32_t at = rs_facts_seek(a->facts, host, kept[i][0]), n = 0;
		const struct rs_fact *f;

		while (n++ < KNOWN &&
		       (f = rs_facts_next(a->facts, &at, host, kept[i][0], kept[i][1])))
			/* where the log begins, and a good sign's row, say nothing of what the
			 * line states */
			if (same_line(f, said) && strcmp(f->name, "log") && !is_sign(f) &&
			    !tells_more(f, said))
				return true;
	}
	return false;
}

static bool cites(const struct rs_audit *a, const struct rs_fact *said)
{
	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		for (uint32_t k = 0; f->verdict == RS_FAIL && k < f->n_facts; k++)
			if (f->fact[k] && said->line && same_line(f->fact[k], said))
				return true;
	}
	return false;
}

/* ---- Findings ---- */

struct state {
	struct rs_audit *a;
	const char *host;
	struct rs_finding *of[RS_KINDS];
	uint32_t lines[RS_KINDS];
};

/* A line's words alone accuse no machine: what they point at is minor. */
static void say(struct state *s, const struct rs_rule *r, const struct rs_kind *k,
		const struct rs_fact *line)
{
	unsigned i = rs_words_number(k);
	struct rs_finding *f = s->of[i];

	if (!f) {
		rs_messages_overrule(s->a, k->check, s->host);
		f = rs_finding_new(s->a, r, RS_FAIL, RS_MINOR, "%s", k->title);
		if (!f)
			return;
		f->confidence = RS_LOW;
		f->told = rs_words_told(line->value);
		rs_finding_subject(s->a, f, s->host, NULL);
		rs_finding_why(
			s->a, f,
			"its words point at this check; nothing else that was read proves it");
		rs_finding_need(s->a, f, k->need, "what lies behind the line");
		rs_finding_unpriced(s->a, f, "what a message tells has no model");
		s->of[i] = f;
	}
	if (f->n_facts < QUOTED)
		rs_finding_fact(f, line);
	if (++s->lines[i] > 1)
		f->title = rs_audit_text(s->a, "%s (%u lines)", k->title, s->lines[i]);
}

/* A tool's refusal in its own form, and no counter's name. */
static bool refused(const char *text)
{
	static const char *const forms[] = {"answers: ",   "rror: ",    "annot ",   "ailed to ",
					    " failed",     "nable to ", "ouldn't ", "nvalid ",
					    "n't support", "-E-"};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strstr(text, forms[i]))
			return true;
	return false;
}

/* A tool's word for what it was asked wrongly. */
static bool asks_otherwise(const char *text)
{
	static const char *const forms[] = {"can only be ", "only valid for", "incompatible with",
					    "nsupported ",  "invalid state",  "lease provide"};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strstr(text, forms[i]))
			return true;
	return false;
}

/* told: a person's sentences; else what programs print. */
static void hear(struct state *s, bool told, bool any,
		 bool (*wanted)(const struct rs_rule *, void *), void *state)
{
	struct rs_audit *a = s->a;
	const char *host = s->host;
	uint32_t at = rs_facts_seek(a->facts, host, "said"), n = 0;
	const struct rs_fact *said;

	while (n++ < FAILURES && (said = rs_facts_next(a->facts, &at, host, "said", "failure/"))) {
		const struct rs_kind *k;
		const struct rs_rule *r;

		if (rs_words_told(said->value) != told)
			continue;
		k = rs_words_kind(said->value);
		/* its own words say little: what printed it says more */
		if (k ? k->weak : refused(said->value) || asks_otherwise(said->value)) {
			const struct rs_fact *by =
				rs_facts_get(a->facts, host, "said_by", said->name);
			const struct rs_kind *of =
				by ? rs_words_command(by->value, said->value) : NULL;

			k = of ? of : k;
		}
		if (!k || (k->weak && any) || is_known(a, host, said) || cites(a, said))
			continue;
		r = rs_rule_find(k->check);
		if (!r || !wanted(r, state) ||
		    (!s->of[rs_words_number(k)] && rs_failed(a, k->check, host, RS_MAJOR)))
			continue;
		say(s, r, k, said);
	}
}

void rs_stated_judge(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
		     void *state)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		struct state s = {.a = a, .host = rs_facts_host(a->facts, i)};
		uint32_t at = rs_facts_seek(a->facts, s.host, "said");
		bool any;

		if (!rs_facts_next(a->facts, &at, s.host, "said", "failure/"))
			continue;
		any = rs_failed(a, NULL, s.host, RS_MAJOR);
		/* a program knows better than a person what failed: its lines come first */
		hear(&s, false, any, wanted, state);
		hear(&s, true, any, wanted, state);
	}
}
