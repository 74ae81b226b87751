/* Lines that a program or a manual has, and nothing printed. */
#include <ctype.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/prose.h"
#include "audit/read/readers.h"
#include "audit/read/segment_state.h"
#include "audit/read/told.h"
#include "audit/read/unwrap.h"

enum { CODE_LINES = 3, CODE_GAP = 24 /* lines between two that show it */ };

/* A line that only a log has, though a program may stand around it. */
static bool of_log(const char *text)
{
	return (strstr(text, " NCCL INFO ") || strstr(text, " NCCL WARN ")) && !strchr(text, '"');
}

static void mark_code(struct rs_stream *s, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		rs_stream_line(s, i, &s->line);
		s->code[i] = !of_log(s->line.text);
	}
}

static bool is_help_file(struct rs_stream *s)
{
	for (uint32_t i = 0; i < s->n && i < 40; i++) {
		rs_stream_line(s, i, &s->line);
		if (!strncmp(s->line.text, "# -*- text -*-", 14) ||
		    strstr(s->line.text, "general help file for Open MPI"))
			return true;
	}
	return false;
}

bool rs_opens_json(const char *text)
{
	if (*text != '{' && *text != '[')
		return false;
	text++;
	text += strspn(text, " {[");
	return !*text || *text == '"';
}

/* Counts the braces of a line outside of strings; false: it ends within a string. */
static bool braces(const char *text, int *depth)
{
	bool string = false;

	for (; *text; text++) {
		if (string) {
			if (*text == '\\' && text[1])
				text++;
			else
				string = *text != '"';
		} else if (*text == '"') {
			string = true;
		} else {
			*depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
		}
	}
	return !string;
}

/* A key behind a brace, a string or a number behind a bracket: not what a program has there. */
static bool is_member(const char *p, char opened)
{
	size_t n;

	p += strspn(p, " ");
	if (*p != '"')
		return opened == '[' ? *p && strchr("{[]-0123456789", *p) : *p == '}';
	n = strcspn(p + 1, "\"");
	return opened == '[' || (p[1 + n] && p[2 + n + strspn(p + 2 + n, " ")] == ':');
}

/* Behind the braces of line i, or in the next line. */
static bool json_goes_on(struct rs_stream *s, uint32_t i)
{
	size_t n;
	char opened;

	rs_stream_line(s, i, &s->line);
	n = strspn(s->line.text, "{[ ");
	while (n && s->line.text[n - 1] == ' ')
		n--;
	opened = s->line.text[n - 1];
	if (s->line.text[n])
		return is_member(s->line.text + n, opened);
	while (++i < s->n && s->kind[i] == RS_PIECE_BLANK)
		;
	if (i == s->n)
		return false;
	rs_stream_line(s, i, &s->line);
	return (*s->line.text && strchr("{[", *s->line.text)) || is_member(s->line.text, opened);
}

/* The last line of the document of JSON that begins at line i; i: none does, or it does not end. */
uint32_t rs_stream_json_end(struct rs_stream *s, uint32_t i)
{
	struct rs_line *l = &s->line;
	int depth = 0;

	rs_stream_line(s, i, l);
	if (!rs_opens_json(l->text) || !json_goes_on(s, i))
		return i;

	/* braces that do not close are looked through a few times at most */
	for (uint32_t k = i; k < s->n && s->braced < 8 * (uint64_t)s->n; k++, s->braced++) {
		if (s->kind[k] == RS_PIECE_PROMPT || s->kind[k] == RS_PIECE_FENCE)
			return i;
		rs_stream_line(s, k, l);
		if (!braces(l->text, &depth))
			return i;
		if (depth <= 0)
			return k;
	}
	return i;
}

/* "I get errors like the following:" */
static bool is_own(const char *text)
{
	return !strncmp(text, "I ", 2) || !strncasecmp(text, "we ", 3) || strstr(text, " I ") ||
	       strcasestr(text, " we ") || strcasestr(text, " my ") || strcasestr(text, " our ");
}

/* "### Expected behavior", "**Expected output:**", "Expected:": what follows is what someone wants
 * to see. 2: a heading, 1: a line of its own, 0: neither. */
static int expects(const char *text)
{
	static const char *const words[] = {
		"expected behavior", "expected behaviour", "expected output", "expected result",
		"expected results",  "expected",           "what i expected", "what is expected"};
	bool heading = *text == '#' || !strncmp(text, "**", 2);
	const char *p = text + strspn(text, "#* ");
	size_t n;

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		n = strlen(words[i]);
		if (!strncasecmp(p, words[i], n) && p[n + strspn(p + n, ":* ")] == '\0' &&
		    (heading || p[n] == ':'))
			return heading ? 2 : 1;
	}
	return 0;
}

static bool is_actual(const char *text)
{
	static const char *const words[] = {"actual",  "observed", "got",
					    "current", "instead",  "what happen"};

	text += strspn(text, "#* ");
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncasecmp(text, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Which lines are what someone expects to see, and does not. */
static void find_expected(struct rs_stream *s)
{
	enum { EXPECTED_LINES = 24 };
	unsigned left = 0;
	int by = 0;
	bool fenced = false;

	for (uint32_t i = 0; i < s->n; i++) {
		const char *text = s->line.text;
		int cue;

		if (s->kind[i] == RS_PIECE_FENCE) {
			fenced = !fenced;
			/* the block behind "Expected:" */
			left = by == 1 && !fenced ? 0 : left;
			continue;
		}
		if (s->kind[i] == RS_PIECE_BLANK)
			continue;
		rs_stream_line(s, i, &s->line);
		if ((cue = fenced ? 0 : expects(text))) {
			by = cue;
			left = EXPECTED_LINES;
		} else if (is_actual(text) ||
			   (!fenced && (*text == '#' || !strncmp(text, "**", 2)))) {
			left = 0;
		} else if (left) {
			s->code[i] = true;
			left--;
		}
	}
}

/* "In such cases you may see an error like:": what a manual says that may come has not come. Its
 * examples end with the next sentence. */
void rs_stream_find_examples(struct rs_stream *s)
{
	static const char *const cues[] = {"you may see",
					   "you might see",
					   "you could see",
					   "you would see",
					   "you'll see",
					   "you will see",
					   "you may get",
					   "you might get",
					   "you may encounter",
					   "users may see",
					   "look for messages",
					   "look for lines",
					   "messages like the following",
					   "messages such as the following",
					   "errors like the following"};
	enum { EXAMPLE_LINES = 12 };
	uint32_t left = 0;

	find_expected(s);
	for (uint32_t i = 0; i < s->n; i++) {
		const char *text = s->line.text;
		size_t n;
		bool cue = false;

		if (s->kind[i] == RS_PIECE_BLANK || s->kind[i] == RS_PIECE_FENCE)
			continue;
		rs_stream_line(s, i, &s->line);
		n = strlen(text);
		for (unsigned k = 0; k < sizeof(cues) / sizeof(*cues); k++)
			cue |= strcasestr(text, cues[k]) != NULL;
		if (cue && n && text[n - 1] == ':' && !is_own(text))
			left = EXAMPLE_LINES;
		else if (left && n && text[n - 1] == '.' && isupper((unsigned char)*text) &&
			 strchr(text, ' '))
			left = 0;
		else if (left && left--)
			s->code[i] = true;
	}
}

/* Line i says that the message above it tells of nothing wrong. */
static void above(struct rs_stream *s, uint32_t i)
{
	enum { LINES = 2 };

	s->told[i] = true;
	for (unsigned n = 0; i-- > 0 && n < LINES;)
		if (s->kind[i] != RS_PIECE_BLANK) {
			s->told[i] = true;
			n++;
		}
}

/* "commit 5d1c0ff", as git prints it above "Author:". */
static bool names_commit(const char *text)
{
	size_t n;

	if (strncmp(text, "commit ", 7) != 0)
		return false;
	n = strspn(text + 7, "0123456789abcdef");
	return n >= 7 && n <= 64 && (!text[7 + n] || text[7 + n] == ' ');
}

/* A change to a program, by its trailers, by git's head of it or by a mail's, without any machine's
 * lines: "Signed-off-by: A <a@b>", "commit 5d1c0ff", "Subject: [PATCH 1/2] ...". */
static bool is_commit(struct rs_stream *s)
{
	static const char *const trailers[] = {"Signed-off-by: ", "Reviewed-by: ",
					       "Co-authored-by: ", "Acked-by: ", "Change-Id: "};
	bool signed_off = false, named = false;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->kind[i] == RS_PIECE_PROMPT || s->kind[i] == RS_PIECE_FENCE)
			return false;
		rs_stream_line(s, i, &s->line);
		if (*s->line.text == '[' || rs_record_of(s->line.text, strlen(s->line.text)))
			return false;
		signed_off |= strstr(s->line.text, "reviewable.io/reviews/") != NULL ||
			      !strncmp(s->line.text, "Subject: [PATCH", 15) ||
			      (named && !strncmp(s->line.text, "Author: ", 8));
		named |= names_commit(s->line.text);
		for (unsigned k = 0; k < sizeof(trailers) / sizeof(*trailers); k++)
			signed_off |= !strncmp(s->line.text, trailers[k], strlen(trailers[k]));
	}
	return signed_off;
}

void rs_stream_find_told(struct rs_stream *s)
{
	struct rs_told_events events = {0};
	bool change = is_commit(s);
	struct rs_told told = {.page = change, .change = change};
	const char *command = "";

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->command[i] || s->kind[i] == RS_PIECE_PROMPT)
			command = s->command[i] ? s->t->command[s->command[i] - 1] : "";
		if (s->kind[i] == RS_PIECE_BLANK)
			continue;
		rs_stream_line(s, i, &s->line);
		s->told[i] = rs_told(&told, s->line.text) || rs_told_history(command, s->line.text);
		/* a manual's page shows outputs, too */
		s->code[i] |= told.page && s->told[i];
		if (rs_told_harmless(s->line.text))
			above(s, i);
	}
	for (uint32_t i = s->n; i-- > 0;) {
		if (s->kind[i] == RS_PIECE_BLANK)
			continue;
		rs_stream_line(s, i, &s->line);
		s->told[i] |= rs_told_event(&events, s->line.text);
		s->code[i] |= told.rules && rs_told_annotation(s->line.text);
	}
}

/*
 * A program that prints what a tool prints has not printed it: lines between definitions,
 * inclusions and ends of loops are a program's, where several stand close to each other. What a
 * trace of calls quotes is none.
 */
/* A script, from its first line: what its comments quote happened elsewhere. */
static void mark_comments(struct rs_stream *s)
{
	static const char *const begin[] = {"#!/", "import ", "from "};
	bool script = false;
	uint32_t first = 0;

	while (first < s->n && s->kind[first] == RS_PIECE_BLANK)
		first++;
	if (first == s->n)
		return;
	rs_stream_line(s, first, &s->line);
	for (unsigned i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		script |= !strncmp(s->line.text, begin[i], strlen(begin[i]));
	for (uint32_t i = first; script && i < s->n; i++) {
		rs_stream_line(s, i, &s->line);
		s->code[i] |= !strncmp(s->line.text, "# ", 2);
	}
}

void rs_stream_find_code(struct rs_stream *s)
{
	uint32_t first = 0, last = 0, shows = 0, gap = 0;
	struct rs_line *l = &s->line;
	bool quoted = false;

	/* the help texts of Open MPI's own sources hold each message that it has */
	if (s->n && is_help_file(s)) {
		memset(s->code, true, s->n * sizeof(*s->code));
		return;
	}

	mark_comments(s);
	for (uint32_t i = 0; i <= s->n; i++) {
		bool shown = false, end = i == s->n;

		if (!end && s->kind[i] != RS_PIECE_BLANK) {
			/* a document of JSON is data, whatever its lines end with */
			i = rs_stream_json_end(s, i);
			rs_stream_line(s, i, l);
			shown = !quoted && rs_code(l->text);
			quoted = !strncmp(l->text, "File \"", 6);
			gap++;
		}
		end |= shows && (gap > CODE_GAP || (!end && s->kind[i] == RS_PIECE_FENCE));
		if (end && shows >= CODE_LINES)
			mark_code(s, first, last);
		if (end)
			shows = 0;
		if (!shown)
			continue;
		first = shows++ ? first : i;
		last = i;
		gap = 0;
	}
}
