/* ttar, archives as text. NULLBYTE stands for a zero byte, EOF for a missing last end of line; a
 * backslash before either says that the word itself is meant. */
#include "audit/read/ttar.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ruler[] = "# ttar - - - - - - - - ";

bool rs_ttar_is(const char *data, size_t size)
{
	/* the first entry comes within some lines of remarks */
	return memmem(data, size < 1024 ? size : 1024, ruler, sizeof(ruler) - 1) != NULL &&
	       (*data == '#' || !strncmp(data, "Path: ", 6) || !strncmp(data, "Directory: ", 11));
}

/* The next line, without its end; false: there is none. */
static bool line(struct rs_ttar *t, const char **text, size_t *n)
{
	const char *end;

	if (t->at >= t->size)
		return false;
	*text = t->data + t->at;
	end = memchr(*text, '\n', t->size - t->at);
	*n = end ? (size_t)(end - *text) : t->size - t->at;
	t->at += *n + (end != NULL);
	t->line++;
	return true;
}

static bool is_key(const char *text, size_t n, const char *key)
{
	return n > strlen(key) && !strncmp(text, key, strlen(key));
}

/* Adds a line in place of its escapes. true: it had no end. */
static bool unescape(char *out, size_t *at, const char *text, size_t n)
{
	static const char null[] = "NULLBYTE", eof[] = "EOF";

	for (size_t i = 0; i < n;) {
		const char *p = text + i;
		size_t left = n - i;

		if (left > 1 && *p == '\\' &&
		    (is_key(p, left + 1, "\\NULLBYTE") || is_key(p, left + 1, "\\EOF"))) {
			out[(*at)++] = p[1];
			i += 2;
		} else if (left >= sizeof(null) - 1 && !memcmp(p, null, sizeof(null) - 1)) {
			out[(*at)++] = '\0';
			i += sizeof(null) - 1;
		} else if (left == sizeof(eof) - 1 && !memcmp(p, eof, sizeof(eof) - 1)) {
			return true;
		} else {
			out[(*at)++] = *p;
			i++;
		}
	}
	return false;
}

static int refuse(struct rs_ttar *t, const char *why)
{
	t->why = why;
	return -EINVAL;
}

static int file(struct rs_ttar *t, unsigned long lines)
{
	size_t room = 0, start = t->at, n;
	uint32_t first = t->line;
	const char *text;

	for (unsigned long i = 0; i < lines; i++) {
		if (!line(t, &text, &n))
			return refuse(t, "the archive ends within a file");
		room += n + 1;
	}
	t->file = malloc(room + 1);
	if (!t->file)
		return -ENOMEM;
	t->at = start;
	t->line = first;
	t->n = 0;
	for (unsigned long i = 0; i < lines; i++) {
		if (!line(t, &text, &n))
			break;
		if (!unescape(t->file, &t->n, text, n))
			t->file[t->n++] = '\n';
	}
	t->file[t->n] = '\0';
	return 1;
}

int rs_ttar_next(struct rs_ttar *t)
{
	const char *text;
	size_t n;

	free(t->file);
	t->file = NULL;
	*t->path = '\0';
	while (line(t, &text, &n)) {
		if (is_key(text, n, "Path: ")) {
			if (n - 6 >= sizeof(t->path) || memchr(text, '\0', n))
				return refuse(t, "a path longer than 1023 bytes");
			snprintf(t->path, sizeof(t->path), "%.*s", (int)(n - 6), text + 6);
		} else if (is_key(text, n, "Lines: ")) {
			if (!*t->path)
				return refuse(t, "lines without a path");
			return file(t, strtoul(text + 7, NULL, 10));
		} else if (is_key(text, n, "SymlinkTo: ") || is_key(text, n, "Directory: ")) {
			*t->path = '\0';
		} else if (n && *text != '#' && !is_key(text, n, "Mode: ")) {
			return refuse(t, "neither Path:, Lines:, Mode:, Directory: nor SymlinkTo:");
		}
	}
	return 0;
}

void rs_ttar_end(struct rs_ttar *t)
{
	free(t->file);
	t->file = NULL;
}
