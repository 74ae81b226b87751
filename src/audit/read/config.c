/* Configurations as lists of words: braces (Junos), indentation (EOS), `nv set` lines and trees
 * (NVUE). One store, so that each vendor's reader is a table of patterns. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/config.h"
#include "text/document.h"

enum { ARENA_MAX = 256 << 20 };

int rs_config_create(struct rs_config *c)
{
	*c = (struct rs_config){.arena = rs_arena_create(ARENA_MAX)};
	return c->arena ? 0 : -ENOMEM;
}

void rs_config_destroy(struct rs_config *c)
{
	rs_arena_destroy(c->arena);
	free(c->at);
}

const char *rs_config_text(struct rs_config *c, const char *p, size_t n)
{
	char *copy = rs_arena_alloc(c->arena, n + 1, 1);

	if (!copy) {
		c->full = true;
		return "";
	}
	memcpy(copy, p, n);
	return copy;
}

void rs_config_add(struct rs_config *c, uint32_t line, const char *const *word, unsigned n)
{
	const char **copy;

	if (c->full || !n || n > RS_CONFIG_DEPTH)
		return;
	if (c->n == c->room) {
		uint32_t room = c->room ? c->room * 2 : 1024;
		struct rs_statement *at =
			c->n < RS_CONFIG_STATEMENTS ? realloc(c->at, room * sizeof(*at)) : NULL;

		c->full = !at;
		if (!at)
			return;
		c->at = at;
		c->room = room;
	}
	copy = rs_arena_alloc(c->arena, n, sizeof(*copy));
	if (!copy) {
		c->full = true;
		return;
	}
	memcpy(copy, word, n * sizeof(*copy));
	c->at[c->n++] = (struct rs_statement){copy, n, line};
}

/* ---- Looking up ---- */

bool rs_config_match(const struct rs_statement *s, const char *pattern, const char **got)
{
	unsigned w = 0, captured = 0;

	for (const char *p = pattern; *p; p += *p == ' ') {
		size_t n = strcspn(p, " ");

		if (n == 1 && *p == '*' && !p[1])
			return true;
		if (w == s->n)
			return false;
		if (n == 1 && *p == '?') {
			if (got && captured < RS_CONFIG_CAPTURES)
				got[captured++] = s->word[w];
		} else if (strncmp(s->word[w], p, n) || s->word[w][n]) {
			return false;
		}
		w++;
		p += n;
	}
	return w == s->n;
}

const struct rs_statement *rs_config_next(const struct rs_config *c, uint32_t *at,
					  const char *pattern, const char **got)
{
	for (; *at < c->n; ++*at)
		if (rs_config_match(&c->at[*at], pattern, got))
			return &c->at[(*at)++];
	return NULL;
}

const struct rs_statement *rs_config_find(const struct rs_config *c, const char *pattern,
					  const char **got)
{
	uint32_t at = 0;

	return rs_config_next(c, &at, pattern, got);
}

bool rs_config_like(const char *name, const char *pattern)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = name;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* ---- Junos ---- */

enum token { END, WORD, OPEN, CLOSE, SEMICOLON, LIST, LIST_END };

struct lexer {
	struct rs_config *c;
	const char *p, *end;
	uint32_t line;
	const char *word;
};

static void pass_blanks(struct lexer *x)
{
	while (x->p < x->end) {
		size_t left = (size_t)(x->end - x->p);
		const char *stop;

		if (*x->p == '#') {
			stop = memchr(x->p, '\n', left);
			x->p = stop ? stop : x->end;
		} else if (left > 1 && x->p[0] == '/' && x->p[1] == '*') {
			stop = memmem(x->p + 2, left - 2, "*/", 2);
			for (stop = stop ? stop + 2 : x->end; x->p < stop; x->p++)
				x->line += *x->p == '\n';
		} else if (isspace((unsigned char)*x->p)) {
			x->line += *x->p++ == '\n';
		} else {
			return;
		}
	}
}

static enum token next_token(struct lexer *x)
{
	static const char marks[] = "{};[]";
	static const enum token of[] = {OPEN, CLOSE, SEMICOLON, LIST, LIST_END};
	const char *from, *mark;

	pass_blanks(x);
	if (x->p == x->end || !*x->p)
		return END;
	mark = strchr(marks, *x->p);
	if (mark) {
		x->p++;
		return of[mark - marks];
	}
	if (*x->p == '"') {
		from = ++x->p;
		while (x->p < x->end && *x->p != '"')
			x->line += *x->p++ == '\n';
		x->word = rs_config_text(x->c, from, (size_t)(x->p - from));
		x->p += x->p < x->end;
		return WORD;
	}
	for (from = x->p; x->p < x->end && *x->p && !isspace((unsigned char)*x->p) &&
			  !strchr(marks, *x->p) && *x->p != '"';)
		x->p++;
	x->word = rs_config_text(x->c, from, (size_t)(x->p - from));
	return WORD;
}

struct nest {
	const char *word[RS_CONFIG_DEPTH];
	unsigned n;                     /* words of the statement so far */
	unsigned base[RS_CONFIG_DEPTH]; /* words of each open brace's path */
	unsigned depth, too_deep;
	unsigned inactive; /* 0, or 1 + the depth at which it began */
};

/* "a [ b c ]" is "a b" and "a c". */
static void list(struct lexer *x, struct nest *t)
{
	enum token k;

	while ((k = next_token(x)) == WORD) {
		if (t->n == RS_CONFIG_DEPTH || t->inactive)
			continue;
		t->word[t->n] = x->word;
		rs_config_add(x->c, x->line, t->word, t->n + 1);
	}
}

static void word(struct nest *t, const char *w)
{
	unsigned base = t->depth ? t->base[t->depth - 1] : 0;

	if (t->n == base && !strcmp(w, "inactive:")) {
		t->inactive = t->inactive ? t->inactive : t->depth + 1;
		return;
	}
	if (t->n == base && !strcmp(w, "protect:"))
		return;
	if (t->n < RS_CONFIG_DEPTH)
		t->word[t->n++] = w;
}

static void open_brace(struct nest *t)
{
	if (t->depth == RS_CONFIG_DEPTH)
		t->too_deep++;
	else
		t->base[t->depth++] = t->n;
}

static void close_brace(struct nest *t)
{
	if (t->too_deep)
		t->too_deep--;
	else if (t->depth)
		t->depth--;
	t->n = t->depth ? t->base[t->depth - 1] : 0;
	if (t->inactive == t->depth + 1)
		t->inactive = 0;
}

static void braces(struct rs_config *c, const struct rs_input *in)
{
	struct lexer x = {.c = c, .p = in->data, .end = in->data + in->size, .line = 1};
	struct nest t = {.n = 0};
	bool listed = false;
	enum token k;

	while (!c->full && (k = next_token(&x)) != END) {
		unsigned base = t.depth ? t.base[t.depth - 1] : 0;

		switch (k) {
		case WORD:
			word(&t, x.word);
			break;
		case LIST:
			list(&x, &t);
			listed = true;
			break;
		case OPEN:
			open_brace(&t);
			break;
		case CLOSE:
			close_brace(&t);
			break;
		default:
			if (t.n > base && !t.inactive && !listed && !t.too_deep)
				rs_config_add(c, x.line, t.word, t.n);
			if (t.inactive == t.depth + 1)
				t.inactive = 0;
			listed = false;
			t.n = base;
		}
	}
}

/* Words of a line; quotes keep blanks together. Returns how many. */
static unsigned split(struct rs_config *c, const char *p, const char **word, unsigned most)
{
	unsigned n = 0;

	for (;;) {
		size_t len;

		while (isspace((unsigned char)*p))
			p++;
		if (!*p || n == most)
			return n;
		if (*p == '"' || *p == '\'') {
			const char *end = strchr(p + 1, *p);

			len = end ? (size_t)(end - p - 1) : strlen(p + 1);
			word[n++] = rs_config_text(c, p + 1, len);
			p += len + 1 + (end != NULL);
			continue;
		}
		for (len = 0; p[len] && !isspace((unsigned char)p[len]);)
			len++;
		word[n++] = rs_config_text(c, p, len);
		p += len;
	}
}

static bool under(const struct rs_statement *s, const struct rs_statement *root)
{
	if (s->n < root->n)
		return false;
	for (unsigned i = 0; i < root->n; i++)
		if (strcmp(s->word[i], root->word[i]))
			return false;
	return true;
}

/* deactivate and delete: what lies below goes. */
static void take_out(struct rs_config *c, const char *const *word, unsigned n)
{
	struct rs_statement root = {word, n, 0};
	uint32_t kept = 0;

	for (uint32_t i = 0; n && i < c->n; i++)
		if (!under(&c->at[i], &root))
			c->at[kept++] = c->at[i];
	c->n = n ? kept : c->n;
}

/* A setting that has one value: said twice, the last counts. */
static bool is_single(const char *key)
{
	static const char *const keys[] = {"mtu",
					   "speed",
					   "fec",
					   "description",
					   "congestion-notification-profile",
					   "scheduler-map",
					   "percent",
					   "queue-num",
					   "pfc-priority",
					   "detection",
					   "recovery",
					   "min-threshold",
					   "max-threshold",
					   "state",
					   "mode",
					   NULL};

	return rs_word_in(keys, key, strlen(key));
}

static uint64_t hash_of(const struct rs_statement *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (unsigned i = 0; i + 1 < s->n; i++)
		for (const char *p = s->word[i];; p++) {
			h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
			if (!*p)
				break;
		}
	return h;
}

static bool same_setting(const struct rs_statement *x, const struct rs_statement *y)
{
	if (x->n != y->n)
		return false;
	for (unsigned i = 0; i + 1 < x->n; i++)
		if (strcmp(x->word[i], y->word[i]))
			return false;
	return true;
}

/* Of settings with one value that were said again the last stays. */
static void keep_last(struct rs_config *c)
{
	uint32_t size = 64, kept = 0, *seen;

	while (size < 2 * c->n)
		size *= 2;
	seen = calloc(size, sizeof(*seen));
	if (!seen) {
		c->full = true;
		return;
	}
	for (uint32_t i = c->n; i--;) {
		struct rs_statement *s = &c->at[i];
		uint64_t h;

		if (s->n < 2 || !is_single(s->word[s->n - 2]))
			continue;
		for (h = hash_of(s) & (size - 1); seen[h]; h = (h + 1) & (size - 1))
			if (same_setting(s, &c->at[seen[h] - 1]))
				break;
		if (seen[h])
			s->n = 0;
		else
			seen[h] = i + 1;
	}
	free(seen);
	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].n)
			c->at[kept++] = c->at[i];
	c->n = kept;
}

static void set_lines(struct rs_config *c, const struct rs_input *in)
{
	struct rs_line l = {.number = 0};
	unsigned removals = 0;

	while (!c->full && rs_line_next(in, &l)) {
		const char *w[RS_CONFIG_DEPTH];
		unsigned n = split(c, l.text, w, RS_CONFIG_DEPTH);

		/* each removal looks at all that came before */
		if (n > 1 && !strcmp(w[0], "set"))
			rs_config_add(c, l.number, w + 1, n - 1);
		else if (n > 1 && (!strcmp(w[0], "deactivate") || !strcmp(w[0], "delete")) &&
			 removals++ < 256)
			take_out(c, w + 1, n - 1);
	}
}

/* Top-level groups that are applied at the root count as if written there. */
static void apply_groups(struct rs_config *c)
{
	const char *got[RS_CONFIG_CAPTURES];
	uint32_t at = 0, last = c->n;

	while (rs_config_next(c, &at, "apply-groups ?", got) && at <= last)
		for (uint32_t i = 0; i < last; i++) {
			const struct rs_statement s = c->at[i];

			if (s.n > 2 && !strcmp(s.word[0], "groups") && !strcmp(s.word[1], got[0]))
				rs_config_add(c, s.line, s.word + 2, s.n - 2);
		}
}

void rs_config_junos(struct rs_config *c, const struct rs_input *in)
{
	struct rs_line l = {.number = 0};
	unsigned set = 0, brace = 0;

	for (unsigned i = 0; i < 400 && rs_line_next(in, &l); i++) {
		size_t n = strlen(l.text);

		set += !strncmp(l.text, "set ", 4);
		brace += n && l.text[n - 1] == '{';
	}
	if (set > brace)
		set_lines(c, in);
	else
		braces(c, in);
	keep_last(c);
	apply_groups(c);
}

/* ---- EOS ---- */

/* "no X", "default X" in a block: what began with X there goes. "default interface X": all of it.
 */
static void remove_no(struct rs_config *c, const char *const *word, unsigned parent, unsigned n)
{
	/* each removal looks at all that came before: not for what no reader asks */
	static const char *const asked[] = {"priority-flow-control",
					    "qos",
					    "service-policy",
					    "mtu",
					    "l2",
					    "error-correction",
					    "tx-queue",
					    "uc-tx-queue",
					    "random-detect",
					    "bandwidth",
					    "priority",
					    NULL};
	const char *root[RS_CONFIG_DEPTH];
	unsigned k = 0;

	if (n < parent + 2 || n > RS_CONFIG_DEPTH || !c->n ||
	    (strcmp(word[parent], "no") && strcmp(word[parent], "default")) ||
	    !(parent ? rs_word_in(asked, word[parent + 1], strlen(word[parent + 1]))
		     : !strcmp(word[0], "default") && !strcmp(word[1], "interface")))
		return;
	for (unsigned i = 0; i < n; i++)
		if (i != parent)
			root[k++] = word[i];
	if (c->removals++ < RS_CONFIG_REMOVALS)
		take_out(c, root, k);
}

void rs_config_indented(struct rs_config *c, const struct rs_input *in)
{
	const char *word[RS_CONFIG_DEPTH];
	unsigned indent[RS_CONFIG_DEPTH], n[RS_CONFIG_DEPTH + 1] = {0}, depth = 0;
	struct rs_line l = {.number = 0};
	bool text = false;

	while (!c->full && rs_line_next(in, &l)) {
		if (text || !l.text[0] || l.text[0] == '!') {
			text &= strcmp(l.text, "EOF") != 0;
			continue;
		}
		text = !strcmp(l.text, "comment") || !strncmp(l.text, "banner ", 7);
		if (text)
			continue;
		while (depth && indent[depth - 1] >= l.indent)
			depth--;
		if (depth == RS_CONFIG_DEPTH)
			continue;
		indent[depth] = l.indent;
		n[depth + 1] =
			n[depth] + split(c, l.text, word + n[depth], RS_CONFIG_DEPTH - n[depth]);
		remove_no(c, word, n[depth], n[depth + 1]);
		rs_config_add(c, l.number, word, n[depth + 1]);
		depth++;
	}
	keep_last(c);
}

/* ---- NVUE ---- */

void rs_config_nv(struct rs_config *c, const struct rs_input *in)
{
	struct rs_line l = {.number = 0};
	unsigned removals = 0;

	while (!c->full && rs_line_next(in, &l)) {
		const char *w[RS_CONFIG_DEPTH], *p = strstr(l.text, "nv ");
		unsigned n;

		/* a prompt may stand before it */
		if (!p || (p > l.text && !strchr("$# ", p[-1])))
			continue;
		n = split(c, p, w, RS_CONFIG_DEPTH);
		if (n > 3 && !strcmp(w[1], "set"))
			rs_config_add(c, l.number, w + 2, n - 2);
		else if (n > 2 && !strcmp(w[1], "unset") && removals++ < 256)
			take_out(c, w + 2, n - 2);
	}
	keep_last(c);
}

struct walk {
	struct rs_config *c;
	const char *word[RS_CONFIG_DEPTH];
};

static void tree(struct walk *w, struct rs_value *node, unsigned depth, unsigned level)
{
	struct rs_pair *pair;
	struct rs_value *item;
	void *it = NULL;
	size_t len;
	const char *p;

	if (!node || depth == RS_CONFIG_DEPTH || level == 2 * RS_CONFIG_DEPTH || w->c->full)
		return;
	if (rs_value_is_map(node)) {
		while ((pair = rs_value_each_pair(node, &it))) {
			p = rs_value_scalar(rs_pair_key(pair), &len);
			if (!p)
				continue;
			w->word[depth] = rs_config_text(w->c, p, len);
			tree(w, rs_pair_value(pair), depth + 1, level + 1);
		}
	} else if (rs_value_is_list(node)) {
		while ((item = rs_value_each(node, &it)))
			tree(w, item, depth, level + 1);
	} else if ((p = rs_value_scalar(node, &len))) {
		w->word[depth] = rs_config_text(w->c, p, len);
		rs_config_add(w->c, rs_document_line(node), w->word, depth + 1);
	}
}

void rs_config_tree(struct rs_config *c, const struct rs_input *in)
{
	struct rs_document *doc = rs_document_parse(in->data, in->size);
	struct walk w = {.c = c};

	if (doc)
		tree(&w, rs_document_root(doc), 0, 0);
	rs_document_destroy(doc);
}
