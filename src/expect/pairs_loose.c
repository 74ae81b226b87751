/*
 * Lists of pairs in words of their own: "gpu01 <-> gpu02: busbw 48.1 GB/s", "Testing h1 - h2 ...
 * 390 Gbps OK", "[pair 2/6] nodes=h1,h2 avg_busbw=48". A line counts that has two names and a
 * value.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "expect/pairs_reader.h"

enum { TOKENS = 64, LEAST = 3 /* pairs */, SHARE = 6 /* of ten lines */ };

/* "9,554.7": the comma goes; "h1,200.5" keeps it. */
static void no_thousands(char *line)
{
	for (char *p = line; (p = strchr(p, ',')); p++) {
		char *start = p;

		while (start > line && isdigit((unsigned char)start[-1]))
			start--;
		if (start == p || p - start > 3 || strspn(p + 1, "0123456789") != 3 ||
		    p[4] != '.' || (start > line && !strchr(" \t=:|(", start[-1])))
			continue;
		memmove(p, p + 1, strlen(p));
		p--;
	}
}

/* What stands in brackets goes (time stamps, "3/6"), but for "(h1, h2)" at the begin, and what
 * joins or parts words. */
static void plain(char *line)
{
	int depth = 0;

	line += strspn(line, " \t");
	no_thousands(line);
	for (char *p = line; *p; p++) {
		char c = *p;

		depth += c == '[' || (c == '(' && p > line);
		if (depth || strchr("[](){}<>=|,;\"'`*~", c) ||
		    (c == '-' &&
		     (p[1] == '>' || p[1] == '-' || (p > line && p[-1] == ' ' && p[1] == ' '))) ||
		    (c == ':' && (!p[1] || p[1] == ' ')))
			*p = ' ';
		depth -= depth && (c == ']' || c == ')');
	}
}

/* A host or its NIC: letters and digits, or an IPv4 address. */
static bool is_name(const char *s)
{
	unsigned letters = 0, digits = 0, dots = 0;

	for (const char *p = s; *p; p++) {
		letters += isalpha((unsigned char)*p) != 0;
		digits += isdigit((unsigned char)*p) != 0;
		dots += *p == '.';
		if (!isalnum((unsigned char)*p) && !strchr("._-:/", *p))
			return false;
	}
	return digits && (letters ? !isdigit((unsigned char)*s) : dots == 3);
}

/* A figure, its unit behind it or none: where it ends; NULL: none. */
static const char *figure(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || !(v > 0) || !isdigit((unsigned char)*s))
		return NULL;
	return !*end || isalpha((unsigned char)*end) ? end : NULL;
}

static bool is_unit(const char *s)
{
	return strlen(s) > 2 && strchr("KMGTkmgt", *s) &&
	       (strstr(s, "b/s") || strstr(s, "B/s") || strcasestr(s, "bps") ||
		strcasestr(s, "bit/s") || strstr(s, "Bps"));
}

/* The name of a figure: "busbw", "bandwidth", "rate". */
static bool is_rate_word(const char *s)
{
	return strcasestr(s, "bw") || strcasestr(s, "bandw") || strcasestr(s, "rate") ||
	       strcasestr(s, "throughput") || strcasestr(s, "speed");
}

/* "n05:18515", where n05 is named before: the same host's port. */
static bool is_port_of(const char *word, const char *const name[2], unsigned names)
{
	const char *colon = strchr(word, ':');

	for (unsigned i = 0; i < names && i < 2 && colon; i++)
		if (strlen(name[i]) == (size_t)(colon - word) &&
		    !strncmp(name[i], word, (size_t)(colon - word)))
			return true;
	return false;
}

/* "A B value unit" of a line into out, or "A B failed"; false: it is no pair. */
static bool pair(char *line, char *out, size_t size)
{
	const char *name[2] = {NULL, NULL}, *value = NULL, *unit = "";
	char *word[TOKENS], *save = NULL;
	unsigned n = 0, names = 0, values = 0;
	bool certain = false, failed = pairs_tells_failure(line);

	plain(line);
	for (char *w = strtok_r(line, " \t\r", &save); w && n < TOKENS;
	     w = strtok_r(NULL, " \t\r", &save))
		word[n++] = w;
	for (unsigned i = 0; i < n; i++) {
		const char *end = figure(word[i]);
		size_t len = strlen(word[i]);

		if (len && word[i][len - 1] == ':')
			word[i][len - 1] = '\0';
		if (failed && is_port_of(word[i], name, names))
			continue;
		if (is_name(word[i])) {
			if (names < 2 && !(names && !strcmp(name[0], word[i])))
				name[names] = word[i];
			names++;
		} else if (end && (!*end || is_unit(end))) {
			bool has_unit = *end || (i + 1 < n && is_unit(word[i + 1]));
			bool sure = has_unit || (i && is_rate_word(word[i - 1]));

			values++;
			/* the first that says what it is, else the only one */
			if (certain || (value && !sure))
				continue;
			certain = sure;
			value = word[i];
			unit = !*end && has_unit ? word[i + 1] : "";
		}
	}
	if (names != 2 || !name[1] || (values > 1 && !certain))
		return false;
	/* "timed out after 60 s": no rate */
	if (failed && !certain) {
		snprintf(out, size, "%s %s failed", name[0], name[1]);
		return true;
	}
	if (!value)
		return false;
	snprintf(out, size, "%s %s %s %s", name[0], name[1], value, unit);
	return true;
}

char *pairs_loose(const char *text, size_t n)
{
	char *out = malloc(2 * n + 2), *line = malloc(n + 1), *made = malloc(2 * n + 64);
	uint32_t lines = 0, found = 0;
	size_t used = 0;

	for (size_t at = 0; out && line && made && at < n;) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - text) - at : n - at;

		memcpy(line, text + at, len);
		line[len] = '\0';
		lines += line[strspn(line, " \t\r")] != '\0';
		if (pair(line, made, 2 * n + 64) && used + strlen(made) + 1 < 2 * n) {
			size_t k = strlen(made);

			memcpy(out + used, made, k);
			used += k;
			found++;
		}
		out[used++] = '\n';
		at += len + 1;
	}
	free(line);
	free(made);
	if (out && found >= LEAST && 10 * found >= SHARE * lines) {
		out[used] = '\0';
		return out;
	}
	free(out);
	return NULL;
}
