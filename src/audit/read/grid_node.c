/* Trees of JSON and XML that forgive what a paste breaks: grid_node.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/grid_node.h"
#include "text/xml.h"

enum {
	DEPTH = 24,
	NODES = 1 << 18, /* of a document: beyond them its rest is left out */
	WORD = 512       /* bytes of a key or a value that are kept */
};

struct rs_nodes {
	struct rs_arena *arena;
	struct rs_node *root;
	unsigned n;
};

static const char *keep(struct rs_nodes *t, const char *text, size_t n)
{
	char *copy;

	n = n < WORD ? n : WORD;
	copy = rs_arena_alloc(t->arena, n + 1, 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

/* NULL: no room or no memory */
static struct rs_node *node(struct rs_nodes *t, const char *key, uint32_t line)
{
	struct rs_node *n = t->n < NODES ? rs_arena_alloc(t->arena, 1, sizeof(*n)) : NULL;

	if (!n)
		return NULL;
	*n = (struct rs_node){.key = key, .line = line};
	t->n++;
	return n;
}

static struct rs_nodes *create(void)
{
	struct rs_nodes *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->arena = rs_arena_create(0);
	t->root = t->arena ? node(t, "", 1) : NULL;
	if (!t->root) {
		rs_nodes_destroy(t);
		return NULL;
	}
	return t;
}

void rs_nodes_destroy(struct rs_nodes *t)
{
	if (!t)
		return;
	rs_arena_destroy(t->arena);
	free(t);
}

const struct rs_node *rs_nodes_root(const struct rs_nodes *t)
{
	return t->root;
}

const struct rs_node *rs_node_member(const struct rs_node *n, const char *key)
{
	for (const struct rs_node *m = n ? n->first : NULL; m; m = m->next)
		if (!strcmp(m->key, key))
			return m;
	return NULL;
}

/* ---- JSON (RFC 8259) ---- */

struct json {
	struct rs_nodes *t;
	const char *p, *end;
	uint32_t line;
	bool over; /* cut off, broken or no memory: what came before stays */
};

static bool next(struct json *j)
{
	for (; j->p < j->end && strchr(" \t\r\n,", *j->p) && *j->p; j->p++)
		j->line += *j->p == '\n';
	return j->p < j->end && *j->p;
}

/* A string, or a bare word. An escape is its own letter, a line's end a blank. */
static const char *text_of(struct json *j)
{
	char out[WORD];
	size_t n = 0;
	bool quoted = *j->p == '"', whole = !quoted;

	for (j->p += quoted; j->p < j->end; j->p++) {
		char c = *j->p;

		if (quoted ? c == '"' : strchr(",:]}[{\" \t\r\n", c) != NULL) {
			whole = true;
			break;
		}
		if (quoted && c == '\\' && j->p + 1 < j->end) {
			c = *++j->p;
			c = strchr("nrtbf", c) && c ? ' ' : c;
		}
		j->line += c == '\n';
		if (n < sizeof(out))
			out[n++] = c;
	}
	j->p += quoted && j->p < j->end;
	j->over |= !whole;
	return keep(j->t, out, n);
}

static struct rs_node *value(struct json *j, const char *key, unsigned depth);

static void members(struct json *j, struct rs_node *in, unsigned depth)
{
	const struct rs_node **last = &in->first;
	char close = *j->p++ == '{' ? '}' : ']';

	in->list = close == ']';
	while (!j->over && next(j)) {
		const char *key = "";
		struct rs_node *n;

		if (*j->p == '}' || *j->p == ']') {
			j->over = *j->p++ != close;
			return;
		}
		if (!in->list) {
			key = *j->p == '"' ? text_of(j) : NULL;
			if (!key || !next(j) || *j->p != ':') {
				j->over = true;
				return;
			}
			j->p++;
			if (!next(j))
				break;
		}
		n = value(j, key, depth + 1);
		if (!n)
			return;
		*last = n;
		last = (const struct rs_node **)&n->next;
	}
	j->over = true;
}

/* NULL: nothing is there, and it is over */
static struct rs_node *value(struct json *j, const char *key, unsigned depth)
{
	struct rs_node *n = node(j->t, key, j->line);
	const char *from = j->p;

	if (!n || depth > DEPTH) {
		j->over = true;
		return NULL;
	}
	if (*j->p == '{' || *j->p == '[') {
		members(j, n, depth);
		return n;
	}
	n->value = text_of(j);
	if (!n->value || j->p == from) {
		j->over = true;
		return NULL;
	}
	return n;
}

struct rs_nodes *rs_nodes_json(const char *text, size_t size)
{
	struct json j = {.t = create(), .p = text, .end = text + size, .line = 1};
	const struct rs_node **last;

	if (!j.t)
		return NULL;
	j.t->root->list = true;
	last = &j.t->root->first;
	while (!j.over && next(&j) && (*j.p == '{' || *j.p == '[')) {
		struct rs_node *n = value(&j, "", 0);

		if (!n)
			break;
		*last = n;
		last = (const struct rs_node **)&n->next;
	}
	return j.t;
}

/* ---- XML ---- */

static const char *content(struct rs_nodes *t, xmlNode *x)
{
	xmlChar *all = xmlNodeGetContent(x);
	const char *p = (const char *)all, *copy;
	size_t n;

	if (!all)
		return "";
	p += strspn(p, " \t\r\n");
	for (n = strlen(p); n && isspace((unsigned char)p[n - 1]);)
		n--;
	copy = keep(t, p, n);
	xmlFree(all);
	return copy;
}

static struct rs_node *element(struct rs_nodes *t, xmlNode *x, unsigned depth)
{
	const char *name = (const char *)x->name, *key = keep(t, name, strlen(name));
	long line = xmlGetLineNo(x);
	struct rs_node *n =
		key && depth <= DEPTH
			? node(t, key, line > 0 && line < INT32_MAX ? (uint32_t)line : 1)
			: NULL;
	const struct rs_node **last;

	if (!n)
		return NULL;
	if (!xmlFirstElementChild(x)) {
		n->value = content(t, x);
		return n->value ? n : NULL;
	}
	last = &n->first;
	for (xmlNode *c = xmlFirstElementChild(x); c; c = xmlNextElementSibling(c)) {
		struct rs_node *m = element(t, c, depth + 1);

		if (!m)
			break;
		*last = m;
		last = (const struct rs_node **)&m->next;
	}
	return n;
}

struct rs_nodes *rs_nodes_xml(const char *text, size_t size)
{
	struct rs_error e = {0};
	struct rs_load l = {.name = "", .e = &e};
	struct rs_nodes *t;
	const xmlNode *root;
	xmlDoc *doc;

	/* what stands behind the last element is a prompt */
	while (size && text[size - 1] != '>')
		size--;
	doc = rs_xml_load(&l, text, size, &root);
	if (!doc)
		return NULL;
	t = create();
	if (t)
		t->root->first = element(t, xmlDocGetRootElement(doc), 0);
	xmlFreeDoc(doc);
	return t;
}
