/* Trees of a description: made, changed by settings, copied, written, and read by getters that
 * check. Where a document comes from is yaml.c's. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/units.h"
#include "text/tree.h"

struct rs_node *rs_node_new(struct rs_load *l, enum rs_node_kind kind, struct rs_where at)
{
	struct rs_node *n;

	if (++l->n_nodes > RS_TREE_NODES_MAX) {
		rs_load_fail(l, -E2BIG, at, "more than %d values in one document",
			     RS_TREE_NODES_MAX);
		return NULL;
	}
	n = rs_load_take(l, 1, sizeof(*n));
	if (n) {
		n->kind = kind;
		n->at = at;
	}
	return n;
}

bool rs_same_key(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

struct rs_item *rs_node_item(const struct rs_node *map, const char *key)
{
	if (!map || map->kind != RS_NODE_MAP)
		return NULL;
	for (struct rs_item *i = map->first; i; i = i->next)
		if (rs_same_key(i->key, key))
			return i;
	return NULL;
}

void rs_node_append(struct rs_load *l, struct rs_node *to, const char *key, struct rs_where at,
		    struct rs_node *value)
{
	struct rs_item *i;

	if (++l->n_items > RS_TREE_NODES_MAX)
		rs_load_fail(l, -E2BIG, at, "more than %d values in one document",
			     RS_TREE_NODES_MAX);
	i = rs_load_take(l, 1, sizeof(*i));
	if (!i)
		return;
	*i = (struct rs_item){key, at, value, NULL};
	if (to->last)
		to->last->next = i;
	else
		to->first = i;
	to->last = i;
	to->n++;
}

/* ---- Copies ---- */

/* Nodes that were copied, so that what aliases share is shared in the copy, too. */
struct copies {
	struct rs_load *l;
	uint32_t size, n; /* a power of two */
	struct {
		const struct rs_node *from;
		struct rs_node *to;
	} * slot;
};

static uint32_t copy_slot(const struct copies *c, const struct rs_node *n)
{
	uint32_t i = (uint32_t)(((uintptr_t)n >> 4) * UINT32_C(2654435761)) & (c->size - 1);

	while (c->slot[i].from && c->slot[i].from != n)
		i = (i + 1) & (c->size - 1);
	return i;
}

static bool copies_grow(struct copies *c)
{
	struct copies more = {.l = c->l, .size = c->size ? 2 * c->size : 256, .n = c->n};

	more.slot = calloc(more.size, sizeof(*more.slot));
	if (!more.slot)
		return !rs_load_fail(c->l, -ENOMEM, (struct rs_where){0}, "out of memory");
	for (uint32_t i = 0; i < c->size; i++)
		if (c->slot[i].from)
			more.slot[copy_slot(&more, c->slot[i].from)] = c->slot[i];
	free(c->slot);
	*c = more;
	return true;
}

static struct rs_where copy_place(struct rs_load *l, struct rs_where at)
{
	if (at.file)
		at.file =
			!l->name || strcmp(at.file, l->name) ? rs_load_string(l, at.file) : l->name;
	return at;
}

static struct rs_node *copy_node(struct copies *c, const struct rs_node *n)
{
	struct rs_node *to;
	uint32_t i;

	if (2 * c->n >= c->size && !copies_grow(c))
		return NULL;
	i = copy_slot(c, n);
	if (c->slot[i].from)
		return c->slot[i].to;
	to = rs_node_new(c->l, n->kind, copy_place(c->l, n->at));
	if (!to)
		return NULL;
	c->slot[i].from = n;
	c->slot[i].to = to;
	c->n++;
	to->quoted = n->quoted;
	if (n->kind == RS_NODE_TABLE) {
		to->rows = n->rows;
		to->n = n->n;
	} else if (n->text) {
		to->text = rs_load_string(c->l, n->text);
	}
	for (const struct rs_item *k = n->first; k && !c->l->err; k = k->next)
		rs_node_append(c->l, to, k->key ? rs_load_string(c->l, k->key) : NULL,
			       copy_place(c->l, k->at), copy_node(c, k->value));
	return to;
}

struct rs_node *rs_node_copy(struct rs_load *l, const struct rs_node *n)
{
	struct copies c = {.l = l};
	struct rs_node *to = copy_node(&c, n);

	free(c.slot);
	return l->err ? NULL : to;
}

/* ---- Settings ---- */

static const char *const kind_names[] = {"a plain value", "a mapping", "a list", "a table"};

static struct rs_node *by_name(struct rs_node *list, const char *name)
{
	for (struct rs_item *i = list->first; i; i = i->next) {
		const struct rs_node *n = rs_node_get(i->value, "name");

		if (n && n->kind == RS_NODE_SCALAR && !strcmp(n->text, name))
			return i->value;
		if (i->value->kind == RS_NODE_MAP && i->value->n == 1 &&
		    rs_same_key(i->value->first->key, name))
			return i->value;
	}
	return NULL;
}

/* Of a list's elements that have one, for "did you mean". */
static const char *const *element_names(struct rs_load *l, const struct rs_node *list)
{
	static const char *const none[] = {NULL};
	const char **names = rs_arena_alloc(l->arena, list->n + 1u, sizeof(*names));
	uint32_t n = 0;

	for (struct rs_item *i = names ? list->first : NULL; i; i = i->next) {
		const struct rs_node *name = rs_node_get(i->value, "name");

		if (name && name->kind == RS_NODE_SCALAR)
			names[n++] = name->text;
	}
	return names ? names : none;
}

static struct rs_item *by_index(struct rs_node *list, uint32_t index)
{
	struct rs_item *i = list->first;

	while (i && index--)
		i = i->next;
	return i;
}

enum { STEP_MAX = 128 };

/* The next step of a path: "hosts", "[3]", "3"; *path moves behind it. */
static bool step(const char **path, char *buf, size_t size, bool *index)
{
	const char *p = *path, *end;

	*index = *p == '[';
	end = *index ? strchr(p, ']') : p + strcspn(p, ".[");
	p += *index;
	if (!end || end == p || (size_t)(end - p) >= size)
		return false;
	memcpy(buf, p, (size_t)(end - p));
	buf[end - p] = '\0';
	end += *index;
	if (*end == '.' && !*++end)
		return false;
	*path = end;
	return true;
}

static struct rs_node **slot(struct rs_load *l, struct rs_node *in, const char *name,
			     struct rs_where at, const char *path)
{
	struct rs_item *i = NULL;
	int64_t index;

	if (in->kind == RS_NODE_LIST) {
		if (!rs_parse_int(name, 0, UINT32_MAX, &index, NULL))
			i = by_index(in, (uint32_t)index);
		for (i = i ? i : in->first; i && rs_parse_int(name, 0, UINT32_MAX, &index, NULL);)
			if (i->value == by_name(in, name))
				break;
			else
				i = i->next;
		if (!i || (!rs_parse_int(name, 0, UINT32_MAX, &index, NULL) && index >= in->n)) {
			rs_load_fail(l, -EINVAL, at,
				     "'%s': the list has no element '%s'%s; it has %u, from [0]",
				     path, name, rs_did_you_mean(l, name, element_names(l, in)),
				     in->n);
			return NULL;
		}
		return &i->value;
	}
	if (in->kind == RS_NODE_TABLE || (in->kind == RS_NODE_SCALAR && *in->text)) {
		rs_load_fail(l, -EINVAL, at, "'%s': '%s' is inside %s", path, name,
			     kind_names[in->kind]);
		return NULL;
	}
	in->kind = RS_NODE_MAP;
	i = rs_node_item(in, name);
	if (!i)
		rs_node_append(l, in, rs_load_string(l, name), at, rs_node_new(l, RS_NODE_MAP, at));
	return l->err ? NULL : &(i ? i : in->last)->value;
}

/* Takes the key or element whose value is here out of a mapping or list. */
static void take_out(struct rs_node *in, struct rs_node **where)
{
	struct rs_item *prev = NULL;

	for (struct rs_item *i = in->first; i; prev = i, i = i->next) {
		if (&i->value != where)
			continue;
		if (prev)
			prev->next = i->next;
		else
			in->first = i->next;
		in->last = in->last == i ? prev : in->last;
		in->n--;
		return;
	}
}

/* "[+]": a new element behind the last; a list begins where there was nothing. */
static struct rs_node **behind(struct rs_load *l, struct rs_node *in, struct rs_where at,
			       const char *path)
{
	if (in->kind == RS_NODE_MAP && !in->n)
		in->kind = RS_NODE_LIST;
	if (in->kind != RS_NODE_LIST) {
		rs_load_fail(l, -EINVAL, at, "'%s': [+] is for a list", path);
		return NULL;
	}
	rs_node_append(l, in, NULL, at, rs_node_new(l, RS_NODE_MAP, at));
	return l->err ? NULL : &in->last->value;
}

/* Looked at as a whole before a step is made, so that a refused setting changes nothing. */
static bool path_valid(struct rs_load *l, const char *path, struct rs_where at)
{
	const char *p = path;
	char name[STEP_MAX];
	bool index;
	int depth = 0;

	if (!*p)
		rs_load_fail(l, -EINVAL, at, "an empty path");
	while (*p && !l->err)
		if (!step(&p, name, sizeof(name), &index) || ++depth > RS_TREE_DEPTH_MAX)
			rs_load_fail(l, -EINVAL, at,
				     "'%s' is no path; expected one such as fabric.network.rate or "
				     "workload[0].collective.bytes",
				     path);
	return !l->err;
}

void rs_tree_set(struct rs_load *l, struct rs_node *root, const char *path, const char *text,
		 struct rs_where at)
{
	struct rs_node **where = &root, *in = root, *value = NULL;
	const char *p = path;
	char name[STEP_MAX];
	bool index;

	if (!l->err && path_valid(l, path, at) && strcmp(text, "null") != 0 &&
	    strcmp(text, "~") != 0)
		value = rs_tree_parse(l, text, strlen(text), at.file ? at.file : "--set");
	while (*p && !l->err) {
		step(&p, name, sizeof(name), &index);
		in = *where;
		where = index && !strcmp(name, "+") ? behind(l, in, at, path)
						    : slot(l, in, name, at, path);
		if (!where)
			return;
	}
	if (!l->err && !value)
		take_out(in, where);
	else if (!l->err)
		*where = value;
}

static bool plain(const char *s)
{
	if (!*s || !strcmp(s, "-") || !strcmp(s, "~") || *s == '-')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_./+-", *s))
			return false;
	return true;
}

void rs_tree_write_string(FILE *out, const char *s)
{
	if (plain(s)) {
		fputs(s, out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (iscntrl((unsigned char)*s))
			fprintf(out, "\\x%02x", (unsigned char)*s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

static bool write_flow(FILE *out, const struct rs_node *n)
{
	if (ftell(out) > RS_TREE_TEXT_MAX)
		return false;
	if (n->kind == RS_NODE_SCALAR) {
		rs_tree_write_string(out, n->text);
		return true;
	}
	fputc(n->kind == RS_NODE_MAP ? '{' : '[', out);
	for (struct rs_item *i = n->first; i; i = i->next) {
		if (i->key) {
			rs_tree_write_string(out, i->key);
			fputs(": ", out);
		}
		if (!write_flow(out, i->value))
			return false;
		if (i->next)
			fputs(", ", out);
	}
	fputc(n->kind == RS_NODE_MAP ? '}' : ']', out);
	return true;
}

const char *rs_tree_text(struct rs_load *l, const struct rs_node *n)
{
	char *buf = NULL;
	size_t size = 0;
	FILE *out = l->err ? NULL : open_memstream(&buf, &size);
	const char *s = NULL;

	if (l->err)
		return NULL;
	if (out && !write_flow(out, n))
		rs_load_fail(l, -E2BIG, n->at, "a value of more than %d bytes", RS_TREE_TEXT_MAX);
	if (out && !fclose(out))
		s = rs_load_string(l, buf);
	else
		rs_load_fail(l, -ENOMEM, n->at, "out of memory");
	free(buf);
	return s;
}

/* ---- Getters ---- */

const char *rs_did_you_mean(struct rs_load *l, const char *s, const char *const *names)
{
	const char *near = names ? rs_text_nearest(s, names) : NULL;
	const char *text = near ? rs_arena_printf(l->arena, "; did you mean '%s'?", near) : NULL;

	return text ? text : "";
}

const char *rs_list_names(struct rs_load *l, const char *const *names)
{
	size_t size = 1, n = 0;
	char *all;

	for (const char *const *i = names; *i; i++)
		size += strlen(*i) + 2;
	all = rs_load_take(l, size, 1);
	for (; all && *names; names++)
		n += (size_t)snprintf(all + n, size - n, "%s%s", n ? ", " : "", *names);
	return all ? all : "";
}

bool rs_node_keys(struct rs_load *l, const struct rs_node *n, const char *what,
		  const char *const *known)
{
	if (l->err)
		return false;
	if (n->kind != RS_NODE_MAP) {
		rs_load_fail(l, -EINVAL, n->at, "%s: expected a mapping (key: value), found %s",
			     what, kind_names[n->kind]);
		return false;
	}
	for (const struct rs_item *i = n->first; i; i = i->next) {
		const char *const *k = known;

		while (*k && !rs_same_key(*k, i->key))
			k++;
		if (*k)
			continue;
		rs_load_fail(l, -EINVAL, i->at, "%s has no key '%.80s'%s (there are: %s)", what,
			     i->key, rs_did_you_mean(l, i->key, known), rs_list_names(l, known));
		return false;
	}
	return true;
}

bool rs_node_is_list(struct rs_load *l, const struct rs_node *n, const char *what)
{
	if (l->err)
		return false;
	if (n->kind != RS_NODE_LIST)
		rs_load_fail(l, -EINVAL, n->at, "%s: expected a list, found %s", what,
			     kind_names[n->kind]);
	return !l->err;
}

const struct rs_node *rs_node_get(const struct rs_node *map, const char *key)
{
	const struct rs_item *i = rs_node_item(map, key);

	return i ? i->value : NULL;
}

const struct rs_node *rs_node_need(struct rs_load *l, const struct rs_node *map, const char *key,
				   const char *what)
{
	const struct rs_node *n = rs_node_get(map, key);

	if (!n)
		rs_load_fail(l, -EINVAL, map->at, "%s needs the key '%s'", what, key);
	return n;
}

const char *rs_node_scalar(struct rs_load *l, const struct rs_node *n, const char *what)
{
	if (l->err)
		return NULL;
	if (n->kind == RS_NODE_SCALAR)
		return n->text;
	rs_load_fail(l, -EINVAL, n->at, "%s: expected a plain value, found %s", what,
		     kind_names[n->kind]);
	return NULL;
}

static const char *text_of(struct rs_load *l, const struct rs_node *map, const char *key,
			   const struct rs_node **n)
{
	*n = rs_node_get(map, key);
	return *n ? rs_node_scalar(l, *n, key) : NULL;
}

static void wrong(struct rs_load *l, const struct rs_node *n, const char *key, int code,
		  const struct rs_error *e)
{
	if (code)
		rs_load_fail(l, code, n->at, "%s: %s", key, e->what);
}

static void rate_in(struct rs_load *l, const struct rs_node *map, const char *key, bool none,
		    int64_t *out)
{
	struct rs_error e = {0};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);
	int64_t v = 0;
	int err;

	if (!s)
		return;
	err = rs_parse_rate(s, &v, &e);
	if (err && err != -ERANGE)
		wrong(l, n, key, err, &e);
	else if (err || (!(none && !v) && (v < 1000 || v > 100000 * RS_GBPS)))
		rs_load_fail(l, -ERANGE, n->at,
			     "%s: expected a rate from 1kbps to 100T%s, found '%s'", key,
			     none ? ", or 0" : "", s);
	if (!l->err)
		*out = v;
}

void rs_node_rate(struct rs_load *l, const struct rs_node *map, const char *key, int64_t *out)
{
	rate_in(l, map, key, false, out);
}

void rs_node_rate_or_none(struct rs_load *l, const struct rs_node *map, const char *key,
			  int64_t *out)
{
	rate_in(l, map, key, true, out);
}

void rs_node_time(struct rs_load *l, const struct rs_node *map, const char *key, rs_time min,
		  rs_time max, rs_time *out)
{
	struct rs_error e = {0};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);
	char a[32], b[32];
	rs_time v = 0;
	int err;

	if (!s)
		return;
	err = rs_parse_time(s, &v, &e);
	if (err && err != -ERANGE)
		wrong(l, n, key, err, &e);
	else if (err || v < min || v > max)
		rs_load_fail(l, -ERANGE, n->at, "%s: expected a time from %s to %s, found '%s'",
			     key, rs_format_time(a, sizeof(a), min),
			     rs_format_time(b, sizeof(b), max), s);
	if (!l->err)
		*out = v;
}

void rs_node_bytes(struct rs_load *l, const struct rs_node *map, const char *key, uint64_t min,
		   uint64_t max, uint64_t *out)
{
	struct rs_error e = {0};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);
	char a[32], b[32];
	uint64_t v = 0;
	int err;

	if (!s)
		return;
	err = rs_parse_bytes(s, &v, &e);
	if (err && err != -ERANGE)
		wrong(l, n, key, err, &e);
	else if (err || v < min || v > max)
		rs_load_fail(l, -ERANGE, n->at, "%s: expected a size from %s to %s, found '%s'",
			     key, rs_format_bytes(a, sizeof(a), min),
			     rs_format_bytes(b, sizeof(b), max), s);
	if (!l->err)
		*out = v;
}

void rs_node_int(struct rs_load *l, const struct rs_node *map, const char *key, int64_t min,
		 int64_t max, int64_t *out)
{
	struct rs_error e = {0};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);

	if (s)
		wrong(l, n, key, rs_parse_int(s, min, max, out, &e), &e);
}

void rs_node_u8(struct rs_load *l, const struct rs_node *map, const char *key, int min, int max,
		uint8_t *out)
{
	int64_t v = *out;

	rs_node_int(l, map, key, min, max, &v);
	*out = (uint8_t)v;
}

void rs_node_u32(struct rs_load *l, const struct rs_node *map, const char *key, int64_t min,
		 int64_t max, uint32_t *out)
{
	int64_t v = *out;

	rs_node_int(l, map, key, min, max, &v);
	*out = (uint32_t)v;
}

void rs_node_number(struct rs_load *l, const struct rs_node *map, const char *key, double min,
		    double max, double *out)
{
	struct rs_error e = {0};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);
	double v = 0;
	int err;

	if (!s)
		return;
	err = rs_parse_count(s, &v, &e);
	if (err && err != -ERANGE)
		wrong(l, n, key, err, &e);
	else if (err || !(v >= min && v <= max))
		rs_load_fail(l, -ERANGE, n->at, "%s: expected a number from %g to %g, found '%s'",
			     key, min, max, s);
	if (!l->err)
		*out = v;
}

void rs_node_share(struct rs_load *l, const struct rs_node *map, const char *key, double min,
		   double max, double *out)
{
	struct rs_error e = {0};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);
	size_t len = s ? strlen(s) : 0;
	char text[64];
	double v, unit = 1;

	if (!s)
		return;
	snprintf(text, sizeof(text), "%s", s);
	if (len && len < sizeof(text) && s[len - 1] == '%') {
		unit = 0.01;
		text[len - 1] = '\0';
		while (len > 1 && text[len - 2] == ' ')
			text[--len - 1] = '\0';
	}
	if (rs_parse_count(text, &v, &e) || !(v * unit >= min && v * unit <= max))
		rs_load_fail(
			l, e.code == -EINVAL ? -EINVAL : -ERANGE, n->at,
			"%s: expected a share from %g to %g, or from %g%% to %g%%, found '%.80s'",
			key, min, max, 100 * min, 100 * max, s);
	/* 0.1 / 100 is the double that 0.001 is; 0.1 * 0.01 is not */
	if (!l->err)
		*out = unit < 1 ? v / 100 : v;
}

void rs_node_bool(struct rs_load *l, const struct rs_node *map, const char *key, bool *out)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", NULL};
	static const char *const near[] = {"0",       "1",      "n",        "y",
					   "disable", "enable", "disabled", "enabled",
					   "none",    "all",    NULL};
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);

	for (int i = 0; s && words[i]; i++)
		if (rs_text_same(s, words[i])) {
			*out = i & 1;
			return;
		}
	for (int i = 0; s && near[i]; i++)
		if (rs_text_same(s, near[i]))
			rs_load_fail(l, -EINVAL, n->at,
				     "%s: expected true or false, found '%s'; did you mean '%s'?",
				     key, s, words[i & 1]);
	if (s)
		rs_load_fail(l, -EINVAL, n->at, "%s: expected true or false, found '%.80s'", key,
			     s);
}

void rs_node_string(struct rs_load *l, const struct rs_node *map, const char *key, const char **out)
{
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);

	if (s && strlen(s) > 1000)
		rs_load_fail(l, -E2BIG, n->at, "%s: more than 1000 bytes", key);
	else if (s)
		*out = s;
}

void rs_node_name(struct rs_load *l, const struct rs_node *map, const char *key,
		  const char *const *names, int *out)
{
	const struct rs_node *n;
	const char *s = text_of(l, map, key, &n);

	for (int i = 0; s && names[i]; i++)
		if (rs_text_same(s, names[i])) {
			*out = i;
			return;
		}
	if (!s)
		return;
	rs_load_fail(l, -EINVAL, n->at, "%s: '%.80s' is not one of: %s%s", key, s,
		     rs_list_names(l, names), rs_did_you_mean(l, s, names));
}
