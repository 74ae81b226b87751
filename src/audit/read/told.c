/* Lines that name a failure and tell of none (told.h). */
#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"
#include "audit/read/failure.h"
#include "audit/read/told.h"

enum { TEXT = 400, HEAD = 8 /* lines that say what a page is */ };

static bool begins(const char *text, const char *word)
{
	return !strncasecmp(text, word, strlen(word));
}

static bool begins_one(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (begins(text, *words))
			return true;
	return false;
}

static const char *behind_digits(const char *p)
{
	return p + strspn(p, "0123456789");
}

/* ---- Tests ---- */

/* "t/a.py::test_b PASSED", "3/9 Test #3: b ... Passed", "Start  3: b", "ok 3 - b",
 * "[       OK ] A.b": what has a verdict is a name. A failed test's line is none of these. */
static bool is_test(const char *text)
{
	static const char *const verdicts[] = {" PASSED", " SKIPPED", " XFAIL", " XPASS"};
	static const char *const google[] = {"[ RUN      ]", "[       OK ]", "[  PASSED  ]",
					     "[  SKIPPED ]", "[ DISABLED ]", NULL};
	const char *p, *q;

	for (unsigned i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++)
		if (strstr(text, "::") && (p = strstr(text, verdicts[i])) &&
		    !isalnum((unsigned char)p[strlen(verdicts[i])]))
			return true;
	if (begins_one(text, google))
		return true;
	/* unittest's: "Test ibv_create_ah. ... ERROR"; what went wrong stands below all of them */
	if ((p = strstr(text, " ... ")) && (begins(text, "Test ") || begins(text, "test_")) &&
	    (begins(p + 5, "ERROR") || begins(p + 5, "FAIL") || begins(p + 5, "ok") ||
	     begins(p + 5, "skipped")))
		return true;
	/* Automake's and TAP's */
	if (begins(text, "PASS: ") || begins(text, "SKIP: ") || begins(text, "XFAIL: "))
		return true;
	if (begins(text, "ok ") && (q = behind_digits(text + 3)) > text + 3)
		return *q == ' ' || !*q;
	/* CTest's */
	if (begins(text, "Start ")) {
		p = text + 6 + strspn(text + 6, " ");
		q = behind_digits(p);
		return q > p && q[0] == ':' && q[1] == ' ';
	}
	p = strstr(text, "Test ");
	return p && strchr(p, '#') && strstr(p, "...") &&
	       (strstr(p, " Passed ") || strstr(p, "***Skipped"));
}

/* ---- Changelogs ---- */

/* Behind a list's mark, "* ", "- ", "3. "; NULL: none. */
static const char *item(const char *text)
{
	const char *p = behind_digits(text);

	if (p > text && p - text < 3 && (*p == '.' || *p == ')') && p[1] == ' ')
		return p + 2;
	if ((*text == '*' || *text == '-' || *text == '+') && text[1] == ' ')
		return text + 1 + strspn(text + 1, " ");
	return !strncmp(text, "\xe2\x80\xa2 ", 4) ? text + 4 : NULL;
}

/* Behind "[net] ", "RDMA: " and "prov/efa: ": the part that was changed. */
static const char *behind_part(const char *p)
{
	enum { PART = 24 };
	size_t n = strcspn(p, " :]");

	if (*p == '[' && p[n] == ']')
		return p + n + 1 + strspn(p + n + 1, ": ");
	if (n && n < PART && p[n] == ':' && p[n + 1] == ' ')
		return p + n + 2;
	return p;
}

static bool is_mended(const char *text)
{
	static const char *const verbs[] = {"fixed ",    "fixes ",   "fix ",       "resolved ",
					    "resolves ", "resolve ", "corrected ", "avoided ",
					    "bug fix",   "bugfix",   NULL};
	/* "Fixed: ibv_modify_qp failed with 22", "fix(net): ..." */
	static const char *const labels[] = {
		"fixed:", "fix:", "fixes:", "resolved:", "resolves:", "fix(", "bugfix:", NULL};
	const char *p = item(text);

	return p && (begins_one(p, labels) || begins_one(behind_part(p), verbs));
}

/* "## 2.21.5", "### [v1.4.0] - 2026-01-31": a release, and what it changed below. A report's
 * section has a title behind its number. */
static bool is_release(const char *text)
{
	const char *p = text + strspn(text, "# [v"), *q = behind_digits(p);

	if (*text != '#' || q == p || *q != '.' || !isdigit((unsigned char)q[1]))
		return false;
	for (q += strcspn(q, " ]"); *q; q++)
		if (isalpha((unsigned char)*q) || strchr("|=\"'", *q))
			return false;
	return true;
}

/* "## Bug Fixes", "Known Issues:", "What's Changed": few words, and nothing behind them. */
static bool is_changes(const char *text)
{
	static const char *const heads[] = {
		"bug fix",        "bugfix",    "fixed issues", "resolved issues",   "fixes",
		"what's changed", "changelog", "change log",   "release notes",     "changes in ",
		"fixed in ",      "new in ",   "known issues", "known limitations", NULL};
	enum { LONGEST = 48 };

	if (strlen(text) > LONGEST)
		return false;
	if (is_release(text))
		return true;
	text += strspn(text, "#*=[ ");
	return begins_one(text, heads);
}

static bool is_heading(const char *text)
{
	return *text == '#' || !strncmp(text, "---", 3) || !strncmp(text, "===", 3);
}

/* ---- Manuals ---- */

/* What a call gives when it fails, and what may come on some machine. */
static bool is_manual(const char *text, const char *low)
{
	const char *p = item(text), *option;

	if (rs_level_of(text))
		return false;
	if (rs_word_list_has(low,
			     "~errno is set to|~errno will be set|~and sets errno|~returns 0 on "
			     "success|~on success, or|~upon success|~(on failure)|~or an error "
			     "will occur|~in case of failure, |~is returned on failure",
			     false))
		return true;
	/* a synopsis: "tool [--fail-on-error=<bool>]" */
	if ((option = strstr(low, " [-")) &&
	    isalpha((unsigned char)option[3 + (option[3] == '-')]) && strchr(option, ']'))
		return true;
	/* a list's point on some machine and some day */
	return p &&
	       rs_word_list_has(low, "~ may fail|~ might fail|~ could fail|~ can fail", false) &&
	       !rs_word_list_has(low, "i|we|my|our", false);
}

/* "IBV_POLL_CQ(3)", "ethtool(8)    System Manager's Manual    ethtool(8)": a page's first line. */
static bool is_page_name(const char *text)
{
	size_t n = 0;

	/* Markdown's and pandoc's: "title: fi_peer(3)", "% fi_peer(3) manual" */
	text += begins(text, "title: ") ? 7 : begins(text, "% ") ? 2 : 0;
	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_-.+", text[n])))
		n++;
	if (n < 2 || text[n] != '(' || !isdigit((unsigned char)text[n + 1]))
		return false;
	n += 2 + (isalpha((unsigned char)text[n + 2]) != 0);
	return text[n] == ')' && (!text[n + 1] || text[n + 1] == ' ');
}

/* What the first lines of a text say of all of it. */
static bool is_page_head(const char *text)
{
	static const char *const notes[] = {"release notes", "changelog", "change log", NULL};
	enum { LONGEST = 48 };

	return is_page_name(text) || begins(text, ".TH ") || begins(text, ".SH NAME") ||
	       begins(text, ".\\\"") || !strcmp(text, "# NAME") ||
	       (strlen(text) < LONGEST && begins_one(text + strspn(text, "#*=[ "), notes));
}

/* "link training failed in slot %d, port %d": a message before a program has filled it in. */
static bool is_format(const char *text)
{
	static const char *const kinds[] = {"d", "s", "u", "x", "p", "lu", "ld", "llu", "zu"};

	if (rs_level_of(text))
		return false;
	for (const char *p = text; (p = strchr(p, '%')); p++) {
		if (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '%' || p[-1] == '.'))
			continue;
		for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
			size_t n = strlen(kinds[i]);

			if (!strncmp(p + 1, kinds[i], n) && !isalnum((unsigned char)p[1 + n]))
				return true;
		}
	}
	return false;
}

/* "Handling "NCCL WARN ..." errors": the heading of what is done about a message. */
static bool is_about(const char *text, const char *low)
{
	static const char *const gerunds[] = {"handling ",      "fixing ",        "resolving ",
					      "suppressing ",   "silencing ",     "avoiding ",
					      "understanding ", "diagnosing ",    "solving ",
					      "debugging ",     "how to handle ", NULL};

	static const char *const change[] = {
		"this pr ", "this patch ", "this commit ", "this pull request ", "this change ",
		"this mr ", NULL};

	/* "Improve error message for X", "This PR addresses": of a program that is changed */
	if (begins_one(text, change))
		return true;
	if (rs_word_list_has(low, "improve|improved|better|clearer|clarify|nicer|friendlier",
			     false) &&
	    rs_word_list_has(low,
			     "~ error message for |~ error message when |~ error messages for |~ "
			     "error text for |~ error message of ",
			     false))
		return true;
	return begins_one(text + strspn(text, "#* 0123456789."), gerunds) &&
	       strpbrk(text, "\"'`") && !strchr(text, '?') &&
	       !rs_word_list_has(low, "i|we|my|our", false);
}

/* The heading of a table that says what messages, codes or checks mean: what parts its columns;
 * '\0': it is none. What has a time has happened. */
static char meanings_in(const char *text, const char *low)
{
	static const char *const what[] = {"code",  "error", "check", "message", "xid",
					   "event", "alert", "alarm", "name"};
	static const char *const means[] = {
		"meaning",    "condition",    "action",         "cause",       "resolution",
		"solution",   "remedy",       "workaround",     "remediation", "explanation",
		"fix",        "what to do",   "possible cause", "recommended", "corrective",
		"how to fix", "what it means"};
	char parts = strchr(text, '|') ? '|' : '\t';
	unsigned columns = 0, explain = 0, named = 0;

	for (const char *p = low; *p;) {
		size_t n = strcspn(p, parts == '|' ? "|" : "\t");
		const char *cell = p + strspn(p, " *_");
		bool whole = cell < p + n;

		columns += whole;
		for (unsigned i = 0; whole && i < sizeof(means) / sizeof(*means); i++)
			if (!strncmp(cell, means[i], strlen(means[i]))) {
				explain++;
				break;
			}
		for (unsigned i = 0; whole && i < sizeof(what) / sizeof(*what); i++)
			if (!strncmp(cell, what[i], strlen(what[i]))) {
				named++;
				break;
			}
		p += n + (p[n] != '\0');
	}
	if (columns < 2 || strpbrk(text, "0123456789=") ||
	    rs_word_list_has(low, "time|date|timestamp|when|count|last", false))
		return '\0';
	return explain > 1 || (explain && named) ? parts : '\0';
}

/* "The warning is a false positive", without a doubt. */
static bool is_harmless(const char *sentence)
{
	return rs_word_list_has(sentence, "warning|warnings|message|messages|error|errors",
				false) &&
	       rs_word_list_has(sentence,
				"~ is a false positive|~ are false positives|~ is a false alarm|~ "
				"is harmless|~ are harmless|~ can be ignored|~ can be safely "
				"ignored|~ can safely be ignored|~ is safe to ignore|~ is benign|~ "
				"are benign|~ is cosmetic",
				false) &&
	       !strchr(sentence, '?') &&
	       !rs_word_list_has(sentence, "i|we|my|maybe|perhaps|seems|assume|if|whether|not",
				 false);
}

bool rs_told_harmless(const char *text)
{
	char low[TEXT];

	while (*text) {
		size_t n = 0, skip;

		while (text[n] && !(strchr(".;", text[n]) && text[n + 1] == ' '))
			n++;
		skip = text[n] ? 2 : 0;
		rs_word_lower(text, low, n < sizeof(low) ? n + 1 : sizeof(low));
		if (is_harmless(low))
			return true;
		text += n + skip;
	}
	return false;
}

/* "A message such as `Failed to connect` means that": of a message, not of a failure. */
static bool is_explained(const char *low)
{
	return strchr(low, '`') &&
	       rs_word_list_has(low, "~ such as `|~ like `|~` means |~` indicates ", false) &&
	       !rs_word_list_has(low, "i|we|my|our", false);
}

/* "If you see a permission denied error, add your user": and who does not, does not. */
static bool is_supposed(const char *text)
{
	static const char *const begin[] = {
		"if you see ",    "if you get ",     "if you receive ", "if you encounter ",
		"if this fails",  "if it fails",     "if the command ", "if an error occurs",
		"when you see ",  "should you see ", "in case you ",    "you may see ",
		"you might see ", "you may get ",    "you can ignore ", NULL};

	static const char *const within[] = {"may fail with",  "might fail with", "can fail with",
					     "errors like:",   "error like:",     "such as: `",
					     "messages like:", "may print",       "may report"};

	if (begins_one(text + strspn(text, "#>*- 0123456789."), begin))
		return true;
	for (unsigned i = 0; i < sizeof(within) / sizeof(*within); i++)
		if (strcasestr(text, within[i]))
			return true;
	return false;
}

/* "**phc_err** | Number of failed attempts", "- [pfc_storm](#pfc_storm)": what a counter counts, a
 * table of contents. */
static bool is_listed(const char *text, const char *low)
{
	const char *p = strstr(low, "number of ");

	if (p && !strpbrk(p, "0123456789=") &&
	    (p == low || (p - low > 1 && (strchr("|:-\t", p[-2]) ||
					  (p - low >= 6 && !strncmp(p - 6, "total ", 6))))))
		return true;
	p = item(text);
	return p && *p == '[' && (p = strstr(p, "](#")) && strchr(p, ')') && !strchr(p, ')')[1];
}

/* "net.cc:88:3: note: in expansion of macro": a compiler's, and the program was built. */
static bool is_compilers(const char *low)
{
	const char *p = strstr(low, ": note: ");

	p = p ? p : strstr(low, ": warning: ");
	if (!p)
		return false;
	for (unsigned numbers = 0; p > low; numbers++) {
		const char *end = p;

		while (p > low && isdigit((unsigned char)p[-1]))
			p--;
		if (p == end || p == low || p[-1] != ':')
			return numbers > 1;
		p--;
	}
	return false;
}

/* "-watchdog-action=panic": an option says what shall be done. */
static bool is_action(const char *low)
{
	for (const char *p = low; (p = strstr(p, "action=")); p++) {
		const char *from = p;

		while (from > low && (isalpha((unsigned char)from[-1]) || from[-1] == '-'))
			from--;
		if (*from == '-')
			return true;
	}
	return false;
}

/* "failOnInitError: true": what is done if something fails. */
static bool is_policy(const char *low)
{
	static const char *const words[] = {"failon",    "fail-on",    "fail_on",
					    "onerror",   "on-error",   "on_error",
					    "onfailure", "on-failure", "on_failure"};
	size_t n = strcspn(low, ":=");

	if (!low[n] || strcspn(low, " ") < n)
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *p = strstr(low, words[i]);

		/* "restartPolicy: OnFailure" has it behind the key */
		if (p && (p < low + n || !strncmp(low, "restart", 7)))
			return true;
	}
	return false;
}

/* "Option -m is missing its value.": who typed it is told, and nothing was tried. */
static bool is_usage(const char *low)
{
	return rs_word_list_has(low,
				"~is missing its value|~requires an argument|~requires a value|"
				"~expected one argument|~missing operand",
				false) &&
	       rs_word_list_has(low, "option|argument|operand|~ -", false);
}

/* "[context]: self.init_process_group(backend, timeout)": a call, as its source has it. */
static bool is_call(const char *low)
{
	const char *p = strstr(low, " self.");
	size_t n;

	if (!p)
		return false;
	p += 6;
	n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_.");
	return n && p[n] == '(' && low[strlen(low) - 1] == ')';
}

/* `raise_error("Got completion with error 12")`: a statement that makes a text, alone on its line.
 * A class begins with a capital: a thrown error's text may show it so. */
static bool is_statement(const char *text)
{
	const char *name = text, *p = text, *end = text + strlen(text);
	char quote;

	/* `assert "retry exceeded" in text` */
	if ((begins(text, "assert \"") || begins(text, "assert '")) && strstr(text, " in "))
		return true;
	for (; isalnum((unsigned char)*p) || *p == '_' || *p == '.'; p++)
		name = *p == '.' ? p + 1 : name;
	if (p == name || *p != '(' || !islower((unsigned char)*name))
		return false;
	p += 1 + strspn(p + 1, " ");
	p += *p && strchr("bfru", *p) && p[1] && strchr("\"'", p[1]) ? 1 : 0;
	quote = *p;
	while (end > p && strchr(",; ", end[-1]))
		end--;
	if ((quote != '"' && quote != '\'') || end - p < 3 || end[-1] != ')')
		return false;
	return memchr(p, ' ', (size_t)(end - p)) && memchr(p + 1, quote, (size_t)(end - p - 1));
}

/* Behind the words that all is well; NULL: none of them. */
static const char *behind_well(const char *low)
{
	static const char *const words[] = {"are fine",         "is fine",
					    "works again",      "work again",
					    "works fine",       "work fine",
					    "runs fine",        "run fine",
					    "is gone",          "are gone",
					    "went away",        "is healthy",
					    "are healthy",      "is no longer there",
					    "never came back",  "has not come back",
					    "did not come back"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *p = strstr(low, words[i]);

		if (p)
			return p + strlen(words[i]);
	}
	return NULL;
}

/* "On Monday we had "...", but after replacing the optic all jobs are fine": it is over, unless
 * what follows says another thing. */
static bool is_over(const char *text, const char *low)
{
	const char *rest = behind_well(low);

	return rest && strpbrk(text, "\"`") && !strchr(text, '?') &&
	       rs_word_list_has(low, "had|saw|got|used to|were seeing|were getting", false) &&
	       rs_word_list_has(
		       low, "~but after |~but since |~but now |~since then|~, after |~until we ",
		       false) &&
	       !rs_word_list_has(low, "still|not fine|other jobs|others", false) &&
	       !rs_word_list_has(rest, "but|except|however|again|back|hangs|~fail|only|today|now",
				 false);
}

/* "state healthy error 0", "error_count=0": what counts failures counted none. */
static bool is_none(const char *text, const char *low)
{
	static const char *const words[] = {"error_count", "errors", "error", "failures", "failed"};
	unsigned counted = 0;

	if (rs_level_of(text))
		return false;
	for (const char *p = low; *p;) {
		size_t n = 0;

		for (unsigned i = 0; !n && i < sizeof(words) / sizeof(*words); i++)
			if (!strncmp(p, words[i], strlen(words[i])))
				n = strlen(words[i]);
		if (!n) {
			if (!strncmp(p, "fail", 4))
				return false;
			p++;
			continue;
		}
		p += n;
		n = strspn(p, " =:");
		if (!n || p[n] != '0' || (p[n + 1] && !strchr(" ,;\"", p[n + 1])))
			return false;
		counted++;
		p += n;
	}
	return counted > 0;
}

/* What a library does without, and goes on; what would come if something were so. */
static bool is_done_without(const char *low)
{
	return rs_word_list_has(low,
				"~ can cause a hang if |~ can potentially cause a hang|~custom "
				"allreduce is disabled because|~communicator is not available|~ "
				"not supported; falling back to nccl",
				false);
}

/* ---- Rules of monitors ---- */

static bool is_rule(const char *text)
{
	text += *text == '-' ? 1 + strspn(text + 1, " ") : 0;
	/* the node problem detector's */
	if (begins(text, "\"pattern\": \"") || begins(text, "pattern: \""))
		return true;
	return begins(text, "expr: ") || begins(text, "alert: ") || begins(text, "record: ");
}

/* Who takes away what is in use is told so; nothing failed that ran. */
static bool is_in_use(const char *low)
{
	return (!strncmp(low, "rmmod: ", 7) || !strncmp(low, "modprobe: ", 10)) &&
	       strstr(low, " is in use") != NULL;
}

bool rs_told_annotation(const char *text)
{
	static const char *const keys[] = {
		"summary:",   "description:", "message:",     "title:",  "runbook:",
		"dashboard:", "\"reason\":",  "\"message\":", "reason:", NULL};

	return begins_one(text, keys);
}

/* ---- Help ---- */

bool rs_told_help(const char *command, const char *text)
{
	static const char *const shells[] = {"bash:", "sh:", "-bash:", "zsh:", "error:", NULL};
	const char *tool = begins(command, "sudo ") ? command + 5 : command;
	size_t n;

	if (begins(tool, "man "))
		tool += 4;
	else if (!strstr(tool, " --help"))
		return false;
	n = strcspn(tool, " ");
	for (const char *p; (p = memchr(tool, '/', n)); tool = p + 1)
		n -= (size_t)(p + 1 - tool);
	return strncasecmp(text, tool, n) != 0 && !begins_one(text, shells);
}

bool rs_told_history(const char *command, const char *text)
{
	static const char *const commands[] = {"git log",          "git show",   "git diff",
					       "git blame",        "git grep",   "git shortlog",
					       "git format-patch", "git cherry", NULL};
	static const char *const own[] = {"fatal:", "error:", "git:", "bash:", "sh:", NULL};

	return begins_one(command, commands) && !begins_one(text, own);
}

/* ---- All ---- */

bool rs_told(struct rs_told *t, const char *text)
{
	char low[TEXT];

	rs_word_lower(text, low, sizeof(low));
	if (is_rule(text)) {
		t->rules = true;
		return true;
	}
	t->page |= ++t->lines < HEAD && is_page_head(text);
	if (t->change)
		return true;
	if (t->meanings && !strchr(text, t->meanings))
		t->meanings = '\0';
	if (t->meanings || (t->meanings = meanings_in(text, low)))
		return true;
	if (t->page && !rs_level_of(text))
		return true;
	if (is_changes(text))
		t->changes = true;
	else if (is_heading(text))
		t->changes = false;
	if (is_test(text) || is_mended(text) || is_manual(text, low) || is_policy(low) ||
	    is_explained(low) || is_compilers(low) || is_usage(low) || is_call(low) ||
	    is_action(low) || is_format(text) || is_about(text, low) || is_in_use(low) ||
	    is_supposed(text) || is_listed(text, low) || is_none(text, low) ||
	    is_done_without(low) || is_statement(text) || is_over(text, low) || rs_prints(text))
		return true;
	return t->changes && item(text) && !rs_level_of(text);
}

/* "pod/a" of `kubectl get events`, which tells of many; "" of `kubectl describe pod`. */
static void pod_of(const char *text, char *out, size_t size)
{
	const char *p = strstr(text, " pod/");
	size_t n = p ? strcspn(p + 1, " ") : 0;

	*out = '\0';
	if (n && n < size) {
		memcpy(out, p + 1, n);
		out[n] = '\0';
	}
}

static bool is_placed(const struct rs_told_events *e, const char *pod)
{
	for (unsigned i = 0; i < e->n; i++)
		if (!strcmp(e->placed[i], pod))
			return true;
	return false;
}

static bool pods_event(struct rs_told_events *e, const char *text)
{
	char pod[RS_TOLD_NAME];

	pod_of(text, pod, sizeof(pod));
	if (!*pod && !begins(text, "Warning ") && !begins(text, "Normal "))
		return false;
	if (strstr(text, "Normal ") &&
	    ((strstr(text, " Scheduled ") && strstr(text, "Successfully assigned")) ||
	     strstr(text, " Started "))) {
		if (e->n < RS_TOLD_PODS && !is_placed(e, pod))
			strcpy(e->placed[e->n++], pod);
		return false;
	}
	return strstr(text, "Warning ") && is_placed(e, pod) &&
	       (strstr(text, " FailedScheduling ") || strstr(text, " FailedMount "));
}

bool rs_told_event(struct rs_told_events *e, const char *text)
{
	/* another pod's, or its first line */
	if (begins(text, "Name:") || begins(text, "Events:"))
		e->n = 0;
	e->bond |= strstr(text, ": active interface up") != NULL;
	e->booted |= strstr(text, "containerd successfully booted") != NULL;
	if (e->bond && strstr(text, "No 802.3ad response from the link partner"))
		return true;
	if (e->booted && strstr(text, "failed to load cni during init"))
		return true;
	return pods_event(e, text);
}
