/* Bytes of a text that say nothing, taken away before its lines are looked at. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/plain.h"

/* ---- Encodings ---- */

static size_t utf8_put(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t unit(const char *p, bool big)
{
	unsigned char x = (unsigned char)p[0], y = (unsigned char)p[1];

	return big ? (uint32_t)(x << 8 | y) : (uint32_t)(y << 8 | x);
}

char *rs_plain_utf8(const char *data, size_t size, size_t *out_size)
{
	bool big = size >= 2 && !memcmp(data, "\xfe\xff", 2);
	size_t n = 0;
	char *out;

	if (size < 4 || (!big && memcmp(data, "\xff\xfe", 2) != 0))
		return NULL;
	out = malloc(size / 2 * 3 + 1); /* three bytes for two at most */
	if (!out)
		return NULL;
	for (size_t i = 2; i + 1 < size; i += 2) {
		uint32_t c = unit(data + i, big), low;

		if (c >= 0xd800 && c < 0xdc00 && i + 3 < size &&
		    (low = unit(data + i + 2, big)) >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			i += 2;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = 0xfffd; /* half of a pair */
		}
		n += utf8_put(out + n, c);
	}
	out[n] = '\0';
	*out_size = n;
	return out;
}

bool rs_plain_despite_nuls(const char *data, size_t size)
{
	enum { LOOKED_AT = 4096, TEXT_PER_RUN = 8 };
	size_t n = size < LOOKED_AT ? size : LOOKED_AT, runs = 0, text = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)data[i];

		if (!c)
			runs += !i || data[i - 1];
		else if (c < ' ' && !strchr("\t\n\r\033\b\a\f", c))
			return false;
		else
			text++;
	}
	return runs && text >= TEXT_PER_RUN * runs && memchr(data, '\n', n);
}

/* ---- Terminals' sequences ---- */

/* Behind "[": where parameters and the letter end; NULL: it is no such sequence. */
static const char *csi_end(const char *p, const char *end)
{
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x40)
		p++;
	return p < end && (unsigned char)*p >= 0x40 && (unsigned char)*p < 0x7f ? p + 1 : NULL;
}

/* Behind "]": where a title ends, by BEL or "ESC \"; NULL: not on this line. */
static const char *title_end(const char *p, const char *end)
{
	for (; p < end && *p != '\n'; p++) {
		if (*p == '\a')
			return p + 1;
		if (*p == '\033')
			return p + 1 < end && p[1] == '\\' ? p + 2 : NULL;
	}
	return NULL;
}

/* Behind an ESC: where its sequence ends. */
static const char *escape_end(const char *p, const char *end)
{
	const char *past = NULL;

	if (p >= end || *p == '\n' || *p == '\r')
		return p;
	if (*p == '[')
		past = csi_end(p + 1, end);
	else if (strchr("]P^_", *p)) /* titles, and strings for the terminal */
		past = title_end(p + 1, end);
	else if (strchr("()*+", *p)) /* a set of characters: ESC ( B */
		return p + 1 < end && isalnum((unsigned char)p[1]) ? p + 2 : p;
	else if (strchr("=>78cDEHMNOZ", *p))
		return p + 1;
	return past ? past : p;
}

/* "^[[01;32m", "#033[0m", "\u001b[0m": a sequence that another program spelt out. Where it ends;
 * NULL: it is none. A pattern has "^[[:space:]]" and "^[[a-z]". */
static const char *spelt_end(const char *p, const char *end)
{
	static const char *const begins[] = {"^[[",    "#033[", "\\033[",   "\\x1b[",
					     "\\x1B[", "\\e[",  "\\u001b[", "\\u001B["};

	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		size_t n = strlen(begins[i]);
		const char *q = p + n;

		if ((size_t)(end - p) <= n || memcmp(p, begins[i], n) != 0)
			continue;
		while (q < end && (isdigit((unsigned char)*q) || *q == ';' || *q == '?'))
			q++;
		if (q >= end || !strchr("mKJHhl", *q) || (q == p + n && !strchr("mK", *q)))
			return NULL;
		if (q == p + n && q + 1 < end && strchr("-]", q[1]))
			return NULL;
		return q + 1;
	}
	if (end - p > 3 && !memcmp(p, "^[]", 3))
		for (const char *q = p + 3; q + 1 < end && *q != '\n'; q++)
			if (*q == '^' && q[1] == 'G')
				return q + 2;
	return NULL;
}

/* ---- Entities ---- */

/* "&gt;": its length, the character in *c; 0: it is none. */
static size_t entity(const char *p, const char *end, char *c)
{
	static const struct {
		const char *name;
		char is;
	} known[] = {{"&gt;", '>'},    {"&lt;", '<'},   {"&amp;", '&'},   {"&quot;", '"'},
		     {"&apos;", '\''}, {"&#39;", '\''}, {"&#x27;", '\''}, {"&#34;", '"'},
		     {"&nbsp;", ' '},  {"&#160;", ' '}, {"&#x60;", '`'},  {"&#96;", '`'}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strlen(known[i].name);

		if ((size_t)(end - p) >= n && !memcmp(p, known[i].name, n)) {
			*c = known[i].is;
			return n;
		}
	}
	return 0;
}

/* ---- A text ---- */

/* Ends of lines by CR alone: no LF but the last byte. */
static bool ends_by_cr(const char *data, size_t size)
{
	const char *lf = memchr(data, '\n', size);
	const char *cr = memchr(data, '\r', size);

	return cr && (!lf || lf == data + size - 1) && cr + 1 < data + size && cr[1] != '\n';
}

static bool has_any(const char *data, size_t size)
{
	static const char *const signs[] = {"^[[",  "^[]",    "33[",   "1b[",   "1B[",
					    "\\e[", "&gt;",   "&lt;",  "&amp;", "&quot;",
					    "&#",   "&nbsp;", "&apos;"};

	if (memchr(data, '\033', size) || memchr(data, '\b', size) || memchr(data, '\0', size))
		return true;
	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (memmem(data, size, signs[i], strlen(signs[i])))
			return true;
	return ends_by_cr(data, size);
}

char *rs_plain_text(const char *data, size_t size, size_t *out_size)
{
	const char *p = data, *end = data + size, *past;
	size_t n = 0, k;
	bool cr;
	char *out;

	if (!has_any(data, size) || !(out = malloc(size + 1)))
		return NULL;
	cr = ends_by_cr(data, size);
	while (p < end) {
		if (*p == '\033') {
			p = escape_end(p + 1, end);
		} else if (*p == '\b') {
			n -= n && out[n - 1] != '\n';
			p++;
		} else if (!*p) {
			while (p < end && !*p)
				p++;
			if (n && out[n - 1] != '\n')
				out[n++] = ' ';
		} else if ((*p == '^' || *p == '#' || *p == '\\') && (past = spelt_end(p, end))) {
			p = past;
		} else if (*p == '&' && (k = entity(p, end, &out[n]))) {
			n++;
			p += k;
		} else {
			out[n++] = *p == '\r' && cr ? '\n' : *p;
			p++;
		}
	}
	out[n] = '\0';
	*out_size = n;
	return out;
}
