/* ripstop explain QUESTION PATH...: lines of the files themselves that have the words of the
 * question, whether or not a reader made facts of them. Rare words count more than common ones. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cli/explain_answer.h"

enum { LEAST_LETTERS = 3, SHOWN_BYTES = 200 };

/* Ends that words have in one place and not in another: "enabled" and "enable", "ports". */
static size_t stem(const char *w)
{
	static const char *const ends[] = {"ings", "ing", "ies", "ed", "es", "s", "e"};
	size_t n = strlen(w);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t m = strlen(ends[i]);

		if (n >= m + 4 && !strcmp(w + n - m, ends[i]))
			return n - m;
	}
	return n;
}

/* Where a word begins: at the start, behind what is no letter or digit, or at a capital. */
static bool begins(const char *line, size_t at)
{
	return !at || !isalnum((unsigned char)line[at - 1]) ||
	       (isupper((unsigned char)line[at]) && islower((unsigned char)line[at - 1])) ||
	       isdigit((unsigned char)line[at]) != isdigit((unsigned char)line[at - 1]);
}

/* A half: "sku" in "hwsku". */
double rs_question_has(const char *line, size_t n, const char *w)
{
	size_t m = stem(w), whole = strlen(w);
	bool number = isdigit((unsigned char)*w);
	double best = 0;

	if (whole < 2)
		return 0;
	for (size_t i = 0; i + m <= n; i++) {
		if (strncasecmp(line + i, w, m))
			continue;
		if (!begins(line, i)) {
			best = number || whole < LEAST_LETTERS ? best : 0.5;
			continue;
		}
		/* a number, or a short word, is meant as a whole */
		if ((number || whole <= LEAST_LETTERS) && i + m < n &&
		    (number ? isdigit((unsigned char)line[i + m]) != 0
			    : isalpha((unsigned char)line[i + m]) != 0))
			continue;
		return 1;
	}
	return best;
}

static uint32_t count(const char *text, size_t n, double *df, const struct rs_question *q)
{
	const char *end = text + n;
	uint32_t lines = 0;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((stop ? stop : end) - text);

		lines++;
		for (unsigned i = 0; i < q->n; i++)
			df[i] += rs_question_has(text, bytes, q->word[i]) > 0;
		text = stop ? stop + 1 : end;
	}
	return lines;
}

/* A line that names what the next ones are about: "Ethernet1/35", "port:", "Vlan1000": {". */
static bool is_heading(const char *s, size_t n)
{
	size_t words = 0;

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++)
		words += !isspace((unsigned char)s[i]) && (!i || isspace((unsigned char)s[i - 1]));
	return n && (strchr(":{[", s[n - 1]) || (words == 1 && !memchr(s, '=', n)));
}

/* The heading's bytes with those of the lines below it. */
static size_t with_next(const char *s, size_t n, const char *end)
{
	enum { BELOW = 4 };

	for (int i = 0; i < BELOW && s + n + 1 < end; i++) {
		const char *stop = memchr(s + n + 1, '\n', (size_t)(end - s) - n - 1);

		n = (size_t)((stop ? stop : end) - s);
	}
	return n;
}

static bool told(const struct rs_question_line *out, unsigned n, const char *s, size_t bytes)
{
	for (unsigned i = 0; i < n; i++)
		if (out[i].bytes == bytes && !memcmp(out[i].text, s, bytes))
			return true;
	return false;
}

unsigned rs_question_lines(const struct rs_question *q, const char *file, const char *text,
			   size_t n, struct rs_question_line *out, unsigned had, unsigned most)
{
	double df[RS_QUESTION_WORDS] = {0};
	uint32_t lines = count(text, n, df, q), number = 0;
	const char *end = text + n;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((stop ? stop : end) - text);
		const char *s = text;
		double score = 0;
		unsigned at = had;

		number++;
		text = stop ? stop + 1 : end;
		for (unsigned i = 0; i < q->n; i++)
			if (df[i] > 0)
				score += rs_question_has(s, bytes, q->word[i]) *
					 log(1 + lines / df[i]);
		while (bytes && isspace((unsigned char)*s)) {
			s++;
			bytes--;
		}
		if (bytes && is_heading(s, bytes))
			bytes = with_next(s, bytes, end);
		bytes = bytes < SHOWN_BYTES ? bytes : SHOWN_BYTES;
		while (at && out[at - 1].score < score)
			at--;
		if (!(score > 0) || at == most || told(out, had, s, bytes))
			continue;
		had += had < most;
		memmove(out + at + 1, out + at, (had - 1 - at) * sizeof(*out));
		out[at] = (struct rs_question_line){file, number, s, bytes, score};
	}
	return had;
}
