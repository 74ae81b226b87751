/* Text files line by line, for readers: bounded, with escape sequences of terminals taken out. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/moment.h"
#include "audit/read/reader.h"
#include "audit/read/refusal.h"
#include "audit/read/secrets.h"

/* An ECMA-48 control sequence, ESC [ ... final byte: its length, 0 when it is none. */
static size_t escape(const char *p, size_t left)
{
	size_t n = 2;

	if (left < 2 || p[0] != '\033' || p[1] != '[')
		return 0;
	while (n < left && p[n] >= 0x20 && p[n] < 0x40)
		n++;
	return n < left ? n + 1 : n;
}

/* Most lines have nothing to take out: as they are, all at once. 0: not such a line. */
static size_t plain(const struct rs_input *in, struct rs_line *l)
{
	const char *from = in->data + l->next, *end = memchr(from, '\n', in->size - l->next);
	size_t n = end ? (size_t)(end - from) : 0;

	if (!n || n >= sizeof(l->text) || *from == ' ' || *from == '\t' ||
	    memchr(from, '\033', n) || memchr(from, '\r', n) || memchr(from, '\0', n))
		return 0;
	memcpy(l->text, from, n);
	return n;
}

/* What is skipped at i: a control sequence, a run of NULs as binary files have, and of a line that
 * is cut the rest. */
static size_t skipped(const struct rs_input *in, size_t i, size_t n)
{
	size_t left = in->size - i, run = 0;
	const char *p = in->data + i;

	if (n >= sizeof(((struct rs_line *)0)->text) - 1) {
		const char *end = memchr(p, '\n', left);

		return end ? (size_t)(end - p) : left;
	}
	if (*p == '\033')
		return escape(p, left);
	while (run < left && !p[run])
		run++;
	return run;
}

bool rs_line_next(const struct rs_input *in, struct rs_line *l)
{
	size_t n, i = l->next;

	if (i >= in->size)
		return false;
	l->number++;
	l->indent = 0;
	n = plain(in, l);
	i += n;
	while (i < in->size && in->data[i] != '\n') {
		size_t skip = skipped(in, i, n);
		char c = in->data[i];

		if (skip) {
			i += skip;
			continue;
		}
		i++;
		if (!n && (c == ' ' || c == '\t'))
			l->indent = c == ' ' ? l->indent + 1 : (l->indent / 8 + 1) * 8;
		else if (c != '\r')
			l->text[n++] = c;
	}
	while (n && isspace((unsigned char)l->text[n - 1]))
		n--;
	l->text[n] = '\0';
	l->next = i + 1;
	return true;
}

bool rs_input_has(const struct rs_input *in, const char *text)
{
	return memmem(in->data, in->size < 65536 ? in->size : 65536, text, strlen(text)) != NULL;
}

bool rs_input_word(const struct rs_input *in, const char *key, char *out, size_t size)
{
	size_t look = in->size < 65536 ? in->size : 65536, n = 0;
	const char *p = memmem(in->data, look, key, strlen(key));

	if (!p)
		return false;
	/* the data ends with a NUL, which is no part of a word */
	for (p += strlen(key); *p == ' ' || *p == '"' || *p == ':';)
		p++;
	while (n + 1 < size && isgraph((unsigned char)p[n]) && !strchr("\";,{}/", p[n])) {
		out[n] = p[n];
		n++;
	}
	out[n] = '\0';
	return n > 0;
}

static char *trim(char *p)
{
	size_t n;

	while (isspace((unsigned char)*p))
		p++;
	n = strlen(p);
	while (n && isspace((unsigned char)p[n - 1]))
		p[--n] = '\0';
	return p;
}

bool rs_line_pair(char *text, char separator, char **key, char **value)
{
	char *at = strchr(text, separator);

	if (!at)
		return false;
	*at = '\0';
	*key = trim(text);
	*value = trim(at + 1);
	return true;
}

unsigned rs_line_words(char *text, char **word, unsigned n)
{
	unsigned found = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " \t", &save); w && found < n;
	     w = strtok_r(NULL, " \t", &save))
		word[found++] = w;
	return found;
}

bool rs_pattern(const char *pattern, const struct rs_line *l)
{
	const char *p = pattern, *t = l->text, *star = NULL, *back = NULL;

	if (*p == ' ')
		p += strspn(p, " ");
	else if (l->indent)
		return false;
	while (*p) {
		bool fits = true;

		if (*p == '*') {
			star = ++p;
			back = t;
			continue;
		}
		if (*p == '#' || *p == '&') {
			size_t n = strspn(t, *p == '#' ? "0123456789" : "0123456789abcdefABCDEF");

			fits = n > 0;
			t += n;
		} else if (*p == '%') {
			size_t n = 0;

			/* up to what stands behind the word in the pattern */
			while (t[n] && !isspace((unsigned char)t[n]) && (!n || t[n] != p[1]))
				n++;
			fits = n > 0;
			t += n;
		} else if (*p == ' ') {
			size_t n = strspn(t, " \t");

			fits = n > 0;
			t += n;
		} else {
			fits = *t && *t == *p;
			t += fits;
		}
		if (fits) {
			p++;
			continue;
		}
		if (!star || !*back)
			return false;
		p = star;
		t = ++back;
	}
	return true;
}

/* An error's text is no value: "cat: /sys/...: Permission denied". */
static bool is_refusal(const char *subject, const char *value)
{
	static const char *const of[] = {"nic/", "netdev/", "pci/", "port/"};
	struct rs_refusal r;

	if (!strchr(value, ' ') || !rs_refusal_find(value, &r))
		return false;
	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strncmp(subject, of[i], strlen(of[i])))
			return true;
	return !strcmp(subject, "host");
}

/* A segment's line as the file's; marks it as used. Of a document (at) it is the whole; what sums a
 * segment up, as what system printed it, is of no line. */
static uint32_t line_of(const struct rs_input *in, uint32_t line, const char *at)
{
	if (!line) {
		if (in->use && (at || !in->lines))
			in->use->whole = true;
		return 0;
	}
	line += in->first_line;
	if (in->lines)
		line = line <= in->n_lines ? in->lines[line - 1] : 0;
	if (in->use && line && line <= in->use->lines)
		in->use->use[line - 1] = RS_LINE_USED;
	return line;
}

/* When it was read: what is of no line was with the first. */
static void set_moment(const struct rs_input *in, uint32_t line, struct rs_fact *f)
{
	uint32_t i = line ? line + in->first_line - 1 : 0;

	if (!in->moment || i >= in->n_lines)
		return;
	f->moment = in->moment[i];
	f->clock = in->clock[i];
	if (f->moment && strstr(f->subject, "/unnamed"))
		f->moment = in->command ? rs_moment_of_command(f->moment, in->command) : 0;
}

int rs_input_add(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *at,
		 const char *subject, const char *name, const char *fmt, ...)
{
	char value[RS_FACT_BYTES];
	struct rs_fact f = {
		.host = in->host,
		.subject = subject,
		.name = name,
		.value = value,
		.trust = in->trust,
		.age = in->age,
		.file = in->path,
		.line = line_of(in, line, at),
		.at = at,
	};
	va_list ap;
	int err;

	set_moment(in, line, &f);
	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (is_refusal(subject, value))
		return 0;
	/* what a finding quotes goes to tickets and chats */
	if (!strcmp(subject, "env") && rs_secrets_name(name, strlen(name)))
		snprintf(value, sizeof(value), "***");
	else if (!strcmp(name, "cmdline"))
		rs_secrets_hide(value);
	err = rs_facts_add(a->facts, &f);
	if (err && !a->err)
		a->err = err;
	return err;
}
