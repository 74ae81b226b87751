/* Text of a stranger: its encoding, and the two things that cost a parser memory. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "base/text.h"

/* Bytes of the character at s, of which n are there; 0 where YAML's character set (§5.1) or UTF-8
 * (RFC 3629) has none such. */
static size_t character(const unsigned char *s, size_t n)
{
	size_t more = *s < 0x80 ? 0 : *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;
	uint32_t c = *s < 0x80 ? *s : *s & (0x3fu >> more);
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

	if (*s >= 0x80 && (*s < 0xc2 || *s > 0xf4 || more >= n))
		return 0;
	for (size_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < 0x20 ? c != '\t' && c != '\n' && c != '\r' : c >= 0x7f && c < 0xa0 && c != 0x85)
		return 0;
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c == 0xfffe ||
	    c == 0xffff)
		return 0;
	return more + 1;
}

int rs_text_check(const char *text, size_t n, int line_max, int open_max, struct rs_error *e)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;
	struct rs_where at = {NULL, 1, 1};
	int open = 0;

	while (s < end) {
		size_t bytes = character(s, (size_t)(end - s));

		if (!bytes)
			return rs_error_at(e, -EINVAL, at,
					   "not text: the byte 0x%02x; expected UTF-8", *s);
		open += *s == '[' || *s == '{';
		open -= open && (*s == ']' || *s == '}');
		if (open > open_max)
			return rs_error_at(e, -E2BIG, at, "more than %d open brackets", open_max);
		if (++at.column > line_max)
			return rs_error_at(e, -E2BIG, at, "a line of more than %d characters",
					   line_max);
		if (*s == '\n') {
			at.line++;
			at.column = 1;
		}
		s += bytes;
	}
	return 0;
}

/* Edits that turn a into b: insertions, deletions, substitutions; words of up to 31 letters. */
static unsigned edits(const char *a, const char *b)
{
	unsigned row[32], n = (unsigned)strnlen(b, 31);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; *a && i < 32; i++, a++) {
		unsigned left_up = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned best = left_up + !(tolower((unsigned char)*a) ==
						    tolower((unsigned char)b[j - 1]));

			left_up = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

const char *rs_text_nearest(const char *s, const char *const *names)
{
	const char *best = NULL;
	unsigned least = (unsigned)strlen(s) / 3 + 2;

	for (; *names; names++) {
		unsigned d = edits(s, *names);

		if (d < least) {
			least = d;
			best = *names;
		}
	}
	return best;
}

bool rs_text_same(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a && strchr("-_ ", *a))
			a++;
		while (*b && strchr("-_ ", *b))
			b++;
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
	}
}
