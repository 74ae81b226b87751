/* Sentences in which a person says what mended the trouble, or what it came of: "Setting
 * NCCL_CROSS_NIC=0 worked for me", "turned out that ACS was on". A thread ends with one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"
#include "audit/read/reader.h"

enum {
	KEPT = 600,    /* bytes of sentences that are kept */
	WORDS = 4,     /* of letters, that a sentence has at least */
	FOLLOWING = 3, /* lines that a sentence which ends with ':' announces */
	BEFORE = 3,    /* sentences, with its own */
	HEADINGS = 12, /* of a page that is no report */
	SHORT = 60,    /* bytes of a line that says no more than that it is solved */
	BELOW = 8,     /* lines of a heading that are looked at */
	LONGEST = 4096
};

static const char *const ends_well[] = {"worked for me",
					"ran through",
					"runs through",
					"job runs now",
					"jobs run now",
					"job ran fine",
					"run fine now",
					"works for me",
					"works now",
					"now works",
					"it works",
					"works fine",
					"work fine",
					"works well",
					"works again",
					"working now",
					"now working",
					"worked fine",
					"works correctly",
					"works as expected",
					"works if ",
					"works when ",
					"works after ",
					"work after ",
					"worked after ",
					"works with ",
					"worked with ",
					"fixed the",
					"fixed it",
					"fixed this",
					"fixed that",
					"fixed my",
					"fixed our",
					"fixed for me",
					"fixed for us",
					"fixed by",
					"fixed with",
					"fixed after",
					"fixed when",
					"fixed once",
					"fixed!",
					"fixed via",
					"fixed now",
					"solved the",
					"solved it",
					"solved this",
					"solved that",
					"solved my",
					"solved our",
					"solved for me",
					"solved for us",
					"solved by",
					"solved with",
					"solved after",
					"solved when",
					"solved once",
					"solved!",
					"solved via",
					"solved now",
					"resolved the",
					"resolved it",
					"resolved this",
					"resolved that",
					"resolved my",
					"resolved our",
					"resolved for me",
					"resolved for us",
					"resolved by",
					"resolved with",
					"resolved after",
					"resolved when",
					"resolved once",
					"resolved!",
					"resolved via",
					"fixes the",
					"fixes it",
					"fixes this",
					"solves the",
					"solves it",
					"solves this",
					"resolves the",
					"resolves it",
					"resolves this",
					"problem solved",
					"issue solved",
					"is solved",
					"was solved",
					"is resolved",
					"was resolved",
					"got resolved",
					"got fixed",
					"got it fixed",
					"was fixed",
					"the fix is",
					"the fix was",
					"the fix:",
					"goes away",
					"went away",
					"gone away",
					"disappear",
					"no longer fail",
					"no longer hang",
					"no longer happen",
					"no longer occur",
					"did the trick",
					"this helped",
					"that helped",
					"which helped",
					"problem is gone",
					"issue is gone",
					"error is gone",
					"back to normal",
					"root cause",
					"the cause was",
					"was caused by",
					"turned out",
					"turns out",
					"the problem was",
					"the issue was",
					"the culprit",
					"was the limit",
					"was the bottleneck",
					"was the cause",
					"was the reason",
					"the reason was",
					"issue was due to",
					"runs fine",
					"succeeded after",
					"found a workaround",
					"found the problem",
					"was a problem of",
					"indeed a problem of",
					"indeed caused by",
					"see the issue now",
					"see the problem now",
					"found the issue",
					"found the cause",
					"comes from:",
					"does eliminate",
					"eliminates the",
					"not recurred",
					"figured out the",
					"managed to resolve",
					"managed to fix",
					"managed to solve",
					"finally resolved",
					"finally fixed",
					"finally solved",
					"been solved",
					"been resolved",
					"been fixed",
					"figured it out"};

/* What a person found out by himself: what follows is the cause, in whatever words. */
static const char *const finds_out[] = {"i found that ",
					"we found that ",
					"i realized ",
					"i realised ",
					"we realized ",
					"we realised ",
					"forgot to ",
					"because of a missing",
					"because of missing",
					"error occurred because",
					"error occured because",
					"never mind, i ",
					"nevermind, i "};

/* A line that says it at once: "Fix: add a route". */
static const char *const labels[] = {
	"fix: ",        "solution: ", "root cause: ", "the fix: ", "resolution: ",
	"workaround: ", "cause: ",    "fixed: ",      "solved: "};

/* What takes the meaning away: it did not, it may, it is a question or a wish. */
static const char *const not_so[] = {
	"didn't",      "did not",     "doesn't",         "does not",
	"not solve",   "hasn't",      "never",           "no luck",
	"still ",      "not work",    "without success", "not help",
	"no help",     "did nothing", "should ",         "would ",
	"could ",      "might ",      " may ",           "hope",
	"?",           "can be ",     "isn't",           "wasn't",
	"not fixed",   "unresolved",  "not resolved",    "how to",
	"to be fixed", "will be ",    "not found",       "unclear",
	"not sure",    "please ",     "let me know",     "i suspect",
	"maybe",       "perhaps",     "hopefully",       "not caused",
	"not the ",    "cannot be",   "address already", "is fixed now",
	"last week",   "last month",  "in the past",     "release notes",
	"changelog",   "hostname"};

static const char *find_any(const char *low, const char *const *words, unsigned n)
{
	const char *first = NULL;

	for (unsigned i = 0; i < n; i++) {
		const char *at = strstr(low, words[i]);

		if (at && (at == low || !isalpha((unsigned char)at[-1]) || *at == '?') &&
		    (!first || at < first))
			first = at;
	}
	return first;
}

/* "- Fixed flow control of DC": a point of a list of changes. */
static bool is_change(const char *text)
{
	static const char *const verbs[] = {"fix", "Fix", "resolve", "Resolve", "solve", "Solve"};

	if (!strchr("-*+", *text) || !*text)
		return false;
	text += strspn(text, "-*+ ");
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strncmp(text, verbs[i], strlen(verbs[i])))
			return true;
	return false;
}

/* Of people: a few words of letters, no log's level, no row, key or code. */
static bool is_persons(const char *text)
{
	unsigned words = 0;

	if (is_change(text) || rs_level_of(text) != RS_LEVEL_NONE || strchr(text, '{') ||
	    strchr(text, '\t') || strstr(text, "::") || strstr(text, "  ") || *text == '"')
		return false;
	for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " "), letters = 0;

		for (size_t i = 0; i < n; i++)
			letters += isalpha((unsigned char)p[i]) != 0;
		words += letters > 1 && letters + 1 >= n;
		p += n;
	}
	return words >= WORDS;
}

/* Where the sentence begins that `at` is in, with two before it, where there are: its subject may
 * stand there ("I set X. That fixed it."). */
static size_t begins(const char *low, size_t at, unsigned sentences)
{
	unsigned ends = 0;

	for (size_t i = at; i > 1; i--)
		if (low[i] == ' ' && strchr(".!?", low[i - 1]) && ++ends == sentences)
			return i + 1;
	return 0;
}

static size_t ends(const char *low, size_t at)
{
	while (low[at] && !(strchr(".!?", low[at]) && (!low[at + 1] || low[at + 1] == ' ')))
		at++;
	return at;
}

/* "The fix was:" is followed by what it was: lines of commands, without fences. */
static void append_following(const struct rs_input *in, const struct rs_line *l, char *out)
{
	struct rs_line next = {.next = l->next};

	for (unsigned i = 0; i < 2 * FOLLOWING && rs_line_next(in, &next); i++) {
		size_t n = strlen(out);

		if (*next.text && strncmp(next.text, "```", 3) && n + 2 < KEPT)
			snprintf(out + n, KEPT - n, " %s", next.text);
	}
}

/* Below a heading that says what the trouble came of: "## Root cause", "**Fix:**". */
static bool is_cause(const char *text)
{
	static const char *const headings[] = {"root cause",      "root causes",
					       "the root cause",  "root cause analysis",
					       "cause",           "the cause",
					       "causes",          "fix",
					       "the fix",         "fixes",
					       "solution",        "the solution",
					       "resolution",      "workaround",
					       "work-around",     "workarounds",
					       "what it was",     "what was wrong",
					       "what fixed it",   "what helped",
					       "how i fixed it",  "how it was fixed",
					       "how we fixed it", "found the cause",
					       "resolved",        "solved"};
	char low[64];
	size_t n = strlen(text), whole = n;

	if (n >= sizeof(low))
		return false;
	rs_word_lower(text, low, sizeof(low));
	while (n && strchr("*:_ .!", low[n - 1]))
		low[--n] = '\0';
	text = low + strspn(low, "#*_ 0123456789.)");
	/* a word alone is a table's or a list's, too */
	if (text == low && n == whole && !strchr(text, ' '))
		return false;
	for (unsigned i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		if (!strcmp(text, headings[i]))
			return true;
	return false;
}

static bool is_heading(const char *text)
{
	size_t n = strlen(text);

	return *text == '#' || (n > 5 && !strncmp(text, "**", 2) &&
				(!strcmp(text + n - 2, "**") || !strcmp(text + n - 3, "**:")));
}

/* One trouble has one cause: a guide to many has such a heading for each, or many headings. */
static bool is_only(const struct rs_input *in, const struct rs_line *l)
{
	struct rs_line other = {0};
	unsigned n = 0, headings = 0;

	while (rs_line_next(in, &other)) {
		n += !strcmp(other.text, l->text);
		headings += !strncmp(other.text, "## ", 3) || !strncmp(other.text, "### ", 4);
	}
	return n == 1 && headings < HEADINGS;
}

static void add_below(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	struct rs_line next = {.next = l->next, .number = l->number};
	char name[32];

	for (unsigned n = 0; n < BELOW && rs_line_next(in, &next) && !is_heading(next.text);) {
		if (!*next.text || !strncmp(next.text, "```", 3))
			continue;
		snprintf(name, sizeof(name), "helped/%u", next.number);
		rs_input_add(a, in, next.number, NULL, "told", name, "%.*s", KEPT, next.text);
		n++;
	}
}

/* "fix: add IPC_LOCK to the workers": the subject of a change, at the head of its text. */
static bool is_subject_of_fix(const char *text)
{
	static const char *const beginnings[] = {"fix: ",  "fix(",   "[fix]",    "fix ",
						 "hotfix", "bugfix", "[bugfix]", "fixes "};
	char low[16];

	snprintf(low, sizeof(low), "%s", text + strspn(text, "# "));
	rs_word_lower(low, low, sizeof(low));
	for (unsigned i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(low, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static bool is_found_out(const char *low)
{
	return find_any(low, finds_out, sizeof(finds_out) / sizeof(*finds_out)) &&
	       !strchr(low, '?') && !strstr(low, "still ");
}

/* One label alone: a guide's table of troubles has many. */
static bool is_labelled(const struct rs_input *in, const struct rs_line *l, const char *low)
{
	low += strspn(low, "*-# ");
	for (unsigned i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		struct rs_line other = {0};
		unsigned n = 0;

		if (strncmp(low, labels[i], strlen(labels[i])))
			continue;
		while (rs_line_next(in, &other))
			n += !strncasecmp(other.text + strspn(other.text, "*-# "), labels[i],
					  strlen(labels[i]));
		return n == 1 && l->number;
	}
	return false;
}

static bool line_helped(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char low[LONGEST], said[KEPT], sentence[LONGEST], name[32];
	const char *at;
	size_t from, own, to;

	if (is_cause(l->text) && is_only(in, l))
		add_below(a, in, l);
	if (l->number == 1 && is_subject_of_fix(l->text))
		rs_input_add(a, in, 1, NULL, "told", "helped/1", "%.*s", KEPT, l->text);
	if (!is_persons(l->text))
		return false;
	rs_word_lower(l->text, low, sizeof(low));
	if (is_found_out(low) || is_labelled(in, l, low)) {
		snprintf(name, sizeof(name), "helped/%u", l->number);
		rs_input_add(a, in, l->number, NULL, "told", name, "%.*s", KEPT, l->text);
		return false;
	}
	for (const char *p = low;
	     (at = find_any(p, ends_well, sizeof(ends_well) / sizeof(*ends_well))); p = low + to) {
		from = begins(low, (size_t)(at - low), BEFORE);
		own = begins(low, (size_t)(at - low), 1);
		to = ends(low, (size_t)(at - low));
		snprintf(sentence, sizeof(sentence), "%.*s", (int)(to - own + (low[to] == '?')),
			 low + own);
		if (!find_any(sentence, not_so, sizeof(not_so) / sizeof(*not_so))) {
			snprintf(said, sizeof(said), "%.*s", (int)(to - from), l->text + from);
			/* "Thanks, it has been solved." stands before what it was */
			if (low[strlen(low) - 1] == ':' || strlen(low) < SHORT)
				append_following(in, l, said);
			snprintf(name, sizeof(name), "helped/%u", l->number);
			rs_input_add(a, in, l->number, NULL, "told", name, "%s", said);
			return false;
		}
		if (!low[to])
			break;
	}
	return false;
}

const struct rs_reader rs_reader_helped = {
	.name = "helped",
	.what = "a person's sentence that says what mended the trouble, or what it came of",
	.trust = RS_TRUST_NOTE,
	.also = true,
	.line = line_helped,
};
