/* JSON as a tree of keys and values for states.h (RFC 8259), wherever it stands in a text: what an
 * object calls itself is part of its values' path, and its reason is told beside them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/states.h"

enum {
	DEPTH = 24,
	PATH = 320,
	WORD = 160,  /* bytes of a key, a value or a name */
	ABOUT = 240, /* of an object's reason */
};

struct walk {
	const char *p, *end, *begin;
	rs_states_leaf *leaf; /* NULL: only to see whether it is whole */
	void *context;
	char path[PATH], about[ABOUT];
	size_t n; /* of the path */
	unsigned depth;
	bool bad;
};

static void value(struct walk *w);

static void blanks(struct walk *w)
{
	while (w->p < w->end && strchr(" \t\r\n", *w->p))
		w->p++;
}

static bool next_is(struct walk *w, char c)
{
	blanks(w);
	if (w->p >= w->end || *w->p != c)
		return false;
	w->p++;
	return true;
}

/* A string or a bare word; escapes are blanks. */
static void scalar(struct walk *w, char *out, size_t size)
{
	bool quoted = w->p < w->end && *w->p == '"';
	size_t n = 0;

	w->p += quoted;
	for (; w->p < w->end; w->p++) {
		char c = *w->p;

		if (quoted ? c == '"' : strchr(",]}: \t\r\n", c) != NULL)
			break;
		if (quoted && c == '\\' && w->p + 1 < w->end) {
			w->p++;
			c = ' ';
		}
		if (n + 1 < size)
			out[n++] = c;
	}
	out[n] = '\0';
	w->bad |= w->p >= w->end ? quoted : false;
	w->p += quoted;
}

static bool is_one(const char *key, const char *const *keys)
{
	for (; *keys; keys++)
		if (!strcasecmp(key, *keys))
			return true;
	return false;
}

static void push(struct walk *w, const char *word)
{
	int n = snprintf(w->path + w->n, sizeof(w->path) - w->n, "%s ", word);

	w->n = n > 0 && w->n + (size_t)n < sizeof(w->path) ? w->n + (size_t)n : sizeof(w->path) - 1;
}

/* The texts of an object of labels, into the path of the one that it stands in. */
static void label(struct walk *w, struct walk *peek)
{
	char text[WORD];

	next_is(peek, '{');
	while (!peek->bad && !next_is(peek, '}')) {
		blanks(peek);
		scalar(peek, text, sizeof(text));
		if (!next_is(peek, ':'))
			return;
		blanks(peek);
		if (peek->p < peek->end && *peek->p == '"') {
			scalar(peek, text, sizeof(text));
			push(w, text);
		} else {
			value(peek);
		}
		if (!next_is(peek, ',') && (blanks(peek), peek->p >= peek->end || *peek->p != '}'))
			return;
	}
}

/* What this object is called, into the path, and why it is as it is. */
static void introduce(struct walk *w)
{
	static const char *const names[] = {
		"name",     "component", "device",   "dev",       "interface", "ifname", "reporter",
		"test",     "test_name", "bdf",      "title",     "type",      "gpu",    "port",
		"category", "check",     "__name__", "alertname", NULL};
	static const char *const states[] = {"status", "state", "alertstate", "newstatevalue",
					     NULL};
	static const char *const raised[] = {"firing", "alerting",  "problem",
					     "alarm",  "triggered", NULL};
	/* what a measured value is of, in an object beside it */
	static const char *const of[] = {"metric",     "labels",   "tags",  "dimensions",
					 "attributes", "resource", "attrs", NULL};
	static const char *const reasons[] = {"reason", "message", "error",    "description",
					      "info",   "detail",  "warnings", NULL};
	struct walk peek = *w;
	char key[WORD], text[ABOUT];

	peek.leaf = NULL;
	while (!peek.bad && !next_is(&peek, '}')) {
		blanks(&peek);
		scalar(&peek, key, sizeof(key));
		if (!next_is(&peek, ':'))
			return;
		blanks(&peek);
		if (peek.p < peek.end && *peek.p == '"') {
			scalar(&peek, text, sizeof(text));
			if (is_one(key, names))
				push(w, text);
			/* an alert that is raised: what its texts say has come */
			else if (is_one(key, states) && is_one(text, raised))
				push(w, RS_STATES_RAISED);
			else if (is_one(key, reasons) && strlen(text) > strlen(w->about))
				snprintf(w->about, sizeof(w->about), "%s", text);
		} else if (is_one(key, of) && peek.p < peek.end && *peek.p == '{') {
			label(w, &peek);
		} else {
			value(&peek);
		}
		if (!next_is(&peek, ',') && (blanks(&peek), peek.p < peek.end) && *peek.p != '}')
			return;
	}
}

static void object(struct walk *w)
{
	char key[WORD], above[ABOUT];
	size_t n = w->n, own;

	memcpy(above, w->about, sizeof(above));
	if (w->leaf)
		introduce(w);
	own = w->n;
	while (!w->bad && !next_is(w, '}')) {
		blanks(w);
		if (w->p >= w->end || *w->p != '"') {
			w->bad = true;
			break;
		}
		scalar(w, key, sizeof(key));
		w->bad |= !next_is(w, ':');
		push(w, key);
		value(w);
		w->n = own;
		w->path[own] = '\0';
		if (!next_is(w, ',') && (blanks(w), w->p >= w->end || *w->p != '}'))
			w->bad = true;
	}
	w->n = n;
	w->path[n] = '\0';
	memcpy(w->about, above, sizeof(above));
}

/* [1573125558.781, "41"]: a time in seconds, and what was measured then. */
static void unstamp(struct walk *w)
{
	enum { DIGITS = 10 };
	const char *p;

	blanks(w);
	for (p = w->p; p < w->end && isdigit((unsigned char)*p); p++)
		;
	if (p - w->p < DIGITS || *w->p != '1')
		return;
	while (p < w->end && (isdigit((unsigned char)*p) || *p == '.'))
		p++;
	while (p < w->end && isspace((unsigned char)*p))
		p++;
	if (p < w->end && *p == ',')
		w->p = p + 1;
}

static void list(struct walk *w)
{
	unstamp(w);
	while (!w->bad && !next_is(w, ']')) {
		value(w);
		if (!next_is(w, ',') && (blanks(w), w->p >= w->end || *w->p != ']'))
			w->bad = true;
	}
}

static void value(struct walk *w)
{
	char text[ABOUT];
	const char *at;

	blanks(w);
	if (w->p >= w->end || w->depth == DEPTH) {
		w->bad = true;
		return;
	}
	at = w->p;
	w->depth++;
	if (next_is(w, '{')) {
		object(w);
	} else if (next_is(w, '[')) {
		list(w);
	} else {
		scalar(w, text, sizeof(text));
		w->bad |= w->p == at;
		if (w->leaf && !w->bad)
			w->leaf(w->context, w->path, text, w->about, (size_t)(at - w->begin));
	}
	w->depth--;
}

size_t rs_states_json(const char *text, size_t n, rs_states_leaf *leaf, void *context)
{
	struct walk w = {.p = text, .begin = text, .end = text + n};

	/* "[2024-11-02 10:22:11]" is a stamp */
	if (*text == '[' && !strchr("{[\" \r\n", n > 1 ? text[1] : 'x'))
		return 0;
	value(&w);
	if (w.bad || w.p - text < 8 || !memchr(text, ':', (size_t)(w.p - text)))
		return 0;
	n = (size_t)(w.p - text);
	w = (struct walk){
		.p = text, .begin = text, .end = text + n, .leaf = leaf, .context = context};
	value(&w);
	return n;
}
