/* A YAML or JSON document as a tree with places, read from libfyaml's events under limits: aliases
 * share nodes, so a "YAML bomb" costs no more than its text. */
#include <errno.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "text/tree.h"

struct anchor {
	const char *name;
	struct rs_node *node;
};
struct reader {
	struct rs_load *l;
	struct fy_parser *p;
	const char *name;
	uint32_t n_anchors;
	struct anchor anchor[RS_TREE_ANCHORS_MAX];
};

static struct rs_where place(struct reader *r, struct fy_token *t)
{
	const struct fy_mark *m = t ? fy_token_start_mark(t) : NULL;

	return (struct rs_where){r->name, m ? m->line + 1 : 1, m ? m->column + 1 : 1};
}

static const char *token_text(struct reader *r, struct fy_token *t)
{
	size_t n = 0;
	const char *s = t ? fy_token_get_text(t, &n) : NULL;
	char *copy = rs_load_take(r->l, n + 1, 1);

	if (copy && s)
		memcpy(copy, s, n);
	if (copy && memchr(copy, 0, n))
		rs_load_fail(r->l, -EINVAL, place(r, t), "a NUL byte in a text");
	return copy;
}

static void syntax_error(struct reader *r)
{
	struct fy_diag *diag = fy_parser_get_diag(r->p);
	struct fy_diag_error *err;
	void *it = NULL;

	err = fy_diag_errors_iterate(diag, &it);
	if (err)
		rs_load_fail(r->l, -EINVAL, (struct rs_where){r->name, err->line, err->column},
			     "not YAML: %s", err->msg);
	else
		rs_load_fail(r->l, -EINVAL, (struct rs_where){r->name, 1, 1}, "not YAML");
	fy_diag_unref(diag);
}

static struct fy_event *next(struct reader *r)
{
	struct fy_event *ev = r->l->err ? NULL : fy_parser_parse(r->p);

	if (!ev && !r->l->err)
		syntax_error(r);
	return ev;
}

static void remember(struct reader *r, struct fy_token *t, struct rs_node *n)
{
	if (!t || !n)
		return;
	if (r->n_anchors == RS_TREE_ANCHORS_MAX) {
		rs_load_fail(r->l, -E2BIG, n->at, "more than %d anchors", RS_TREE_ANCHORS_MAX);
		return;
	}
	r->anchor[r->n_anchors++] = (struct anchor){token_text(r, t), n};
}

static struct rs_node *alias(struct reader *r, struct fy_token *t)
{
	const char *name = token_text(r, t);

	for (uint32_t i = r->n_anchors; name && i--;)
		if (!strcmp(r->anchor[i].name, name))
			return r->anchor[i].node;
	if (name)
		rs_load_fail(r->l, -EINVAL, place(r, t),
			     "no anchor '&%s' is complete before this alias", name);
	return NULL;
}

static struct rs_node *value(struct reader *r, struct fy_event *ev, int depth);

/* "<<: *base" brings in the keys that are not there. */
static void merge(struct rs_load *l, struct rs_node *map)
{
	struct rs_item *m = rs_node_item(map, "<<"), **p = &map->first, *prev = NULL;

	if (!m)
		return;
	if (!m->value || m->value->kind != RS_NODE_MAP) {
		rs_load_fail(l, -EINVAL, m->at, "'<<' takes an alias of a mapping");
		return;
	}
	for (; *p != m; p = &(*p)->next)
		prev = *p;
	*p = m->next;
	if (map->last == m)
		map->last = prev;
	map->n--;
	for (struct rs_item *i = m->value->first; i && !l->err; i = i->next) {
		if (rs_node_item(map, i->key))
			continue;
		if (map->n == RS_TREE_KEYS_MAX)
			rs_load_fail(l, -E2BIG, m->at, "more than %d keys in one mapping",
				     RS_TREE_KEYS_MAX);
		rs_node_append(l, map, i->key, i->at, i->value);
	}
}

static void map_body(struct reader *r, struct rs_node *map, int depth)
{
	struct rs_load *l = r->l;

	for (;;) {
		struct fy_event *ev = next(r);
		struct rs_where at;
		const char *key;

		if (!ev || ev->type == FYET_MAPPING_END) {
			fy_parser_event_free(r->p, ev);
			break;
		}
		if (ev->type != FYET_SCALAR) {
			rs_load_fail(l, -EINVAL, map->at, "a key of this mapping is not a word");
			fy_parser_event_free(r->p, ev);
			return;
		}
		at = place(r, ev->scalar.value);
		key = token_text(r, ev->scalar.value);
		fy_parser_event_free(r->p, ev);
		if (!key)
			return;
		if (rs_node_item(map, key))
			rs_load_fail(l, -EINVAL, at, "'%s' is given twice", key);
		if (map->n == RS_TREE_KEYS_MAX)
			rs_load_fail(l, -E2BIG, at, "more than %d keys in one mapping",
				     RS_TREE_KEYS_MAX);
		ev = next(r);
		if (!ev)
			return;
		rs_node_append(l, map, key, at, value(r, ev, depth));
		if (l->err)
			return;
	}
	if (!l->err)
		merge(l, map);
}

static void list_body(struct reader *r, struct rs_node *list, int depth)
{
	while (!r->l->err) {
		struct fy_event *ev = next(r);
		struct rs_node *n;

		if (!ev || ev->type == FYET_SEQUENCE_END) {
			fy_parser_event_free(r->p, ev);
			return;
		}
		n = value(r, ev, depth);
		if (n)
			rs_node_append(r->l, list, NULL, n->at, n);
	}
}

/* The node that ev begins; frees ev. */
static struct rs_node *value(struct reader *r, struct fy_event *ev, int depth)
{
	struct rs_node *n = NULL;
	struct fy_token *anchor = NULL;
	enum fy_event_type type = ev->type;

	if (type == FYET_SCALAR) {
		n = rs_node_new(r->l, RS_NODE_SCALAR, place(r, ev->scalar.value));
		if (n)
			n->text = token_text(r, ev->scalar.value);
		if (n && ev->scalar.value)
			n->quoted = fy_token_scalar_style(ev->scalar.value) != FYSS_PLAIN;
		anchor = ev->scalar.anchor;
	} else if (type == FYET_ALIAS) {
		n = alias(r, ev->alias.anchor);
	} else if (type == FYET_MAPPING_START) {
		n = rs_node_new(r->l, RS_NODE_MAP, place(r, ev->mapping_start.mapping_start));
		anchor = ev->mapping_start.anchor;
	} else if (type == FYET_SEQUENCE_START) {
		n = rs_node_new(r->l, RS_NODE_LIST, place(r, ev->sequence_start.sequence_start));
		anchor = ev->sequence_start.anchor;
	} else {
		rs_load_fail(r->l, -EINVAL, (struct rs_where){r->name, 1, 1},
			     "the document ends early");
	}
	if (n && depth == RS_TREE_DEPTH_MAX)
		rs_load_fail(r->l, -E2BIG, n->at, "nested more than %d deep", RS_TREE_DEPTH_MAX);
	if (n && type == FYET_MAPPING_START)
		map_body(r, n, depth + 1);
	if (n && type == FYET_SEQUENCE_START)
		list_body(r, n, depth + 1);
	remember(r, anchor, n);
	fy_parser_event_free(r->p, ev);
	return r->l->err ? NULL : n;
}

static struct rs_node *document(struct reader *r)
{
	struct rs_node *root = NULL;
	struct fy_event *ev;

	while ((ev = next(r))) {
		enum fy_event_type type = ev->type;

		if (type == FYET_STREAM_START || type == FYET_DOCUMENT_START ||
		    type == FYET_DOCUMENT_END || type == FYET_STREAM_END) {
			fy_parser_event_free(r->p, ev);
			if (type == FYET_STREAM_END)
				return root;
			if (type == FYET_DOCUMENT_START && root)
				rs_load_fail(r->l, -EINVAL, (struct rs_where){r->name, 1, 1},
					     "more than one document in the file");
			continue;
		}
		root = value(r, ev, 0);
	}
	return NULL;
}

/* What is no text at all, or would have the parser look too far ahead, is refused before. */
static bool readable(struct rs_load *l, const char *text, size_t n, const char *name)
{
	struct rs_error e = {0};

	if (rs_text_check(text, n, RS_TREE_LINE_MAX, RS_TREE_OPEN_MAX, &e))
		rs_load_fail(l, e.code, (struct rs_where){name, e.line, e.column}, "%s", e.what);
	return !l->err;
}

struct rs_node *rs_tree_parse(struct rs_load *l, const char *text, size_t n, const char *name)
{
	struct fy_diag_cfg dc;
	struct fy_diag *diag;
	struct reader *r = NULL;
	struct rs_node *root = NULL;
	struct rs_where at = {name, 1, 1};

	if (n > RS_TREE_BYTES_MAX) {
		rs_load_fail(l, -E2BIG, at, "larger than %d MiB", RS_TREE_BYTES_MAX >> 20);
		return NULL;
	}
	if (l->err || !readable(l, text, n, name))
		return NULL;
	fy_diag_cfg_default(&dc);
	dc.fp = NULL;
	dc.colorize = false;
	diag = fy_diag_create(&dc);
	r = calloc(1, sizeof(*r));
	if (diag && r) {
		struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG, .diag = diag};

		fy_diag_set_collect_errors(diag, true);
		*r = (struct reader){.l = l, .name = name, .p = fy_parser_create(&cfg)};
	}
	if (!r || !r->p || fy_parser_set_string(r->p, n ? text : " ", n ? n : 1))
		rs_load_fail(l, -ENOMEM, at, "out of memory");
	else
		root = document(r);
	if (!l->err && !root)
		rs_load_fail(l, -EINVAL, at, "an empty document");
	if (r && r->p)
		fy_parser_destroy(r->p);
	if (diag)
		fy_diag_destroy(diag);
	free(r);
	return l->err ? NULL : root;
}
