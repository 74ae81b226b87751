/* JSON (RFC 8259) and YAML 1.2 through libfyaml, with limits that keep its costs low. */
#include <libfyaml.h>
#include <string.h>
#include "base/text.h"
#include "text/document.h"

enum { LINE_MAX_CHARACTERS = 1 << 26, OPEN_MAX = 64 };

static bool is_json(const char *text, size_t n)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r\n", text[at]))
		at++;
	return at < n && (text[at] == '{' || text[at] == '[');
}

struct rs_document *rs_document_parse(const char *text, size_t n)
{
	/* looking for duplicate keys costs the square of a mapping's size */
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_ALLOW_DUPLICATE_KEYS};
	struct fy_document *doc;
	struct fy_diag_cfg quiet;

	if (rs_text_check(text, n, LINE_MAX_CHARACTERS, OPEN_MAX, NULL))
		return NULL;
	if (is_json(text, n))
		cfg.flags |= FYPCF_JSON_FORCE;
	fy_diag_cfg_default(&quiet);
	quiet.fp = NULL;
	cfg.diag = fy_diag_create(&quiet);
	if (!cfg.diag)
		return NULL;
	fy_diag_set_collect_errors(cfg.diag, true);
	doc = fy_document_build_from_string(&cfg, text, n);
	if (doc)
		fy_diag_unref(cfg.diag);
	else /* the errors that were gathered refer to it */
		fy_diag_destroy(cfg.diag);
	return (struct rs_document *)doc;
}

void rs_document_destroy(struct rs_document *d)
{
	fy_document_destroy((struct fy_document *)d);
}

struct rs_value *rs_document_root(struct rs_document *d)
{
	return (struct rs_value *)fy_document_root((struct fy_document *)d);
}

/* ---- Values: the library's nodes by another name ---- */

static struct fy_node *node(struct rs_value *v)
{
	return (struct fy_node *)v;
}

bool rs_value_is_map(struct rs_value *v)
{
	return fy_node_is_mapping(node(v));
}

bool rs_value_is_list(struct rs_value *v)
{
	return fy_node_is_sequence(node(v));
}

bool rs_value_is_scalar(struct rs_value *v)
{
	return fy_node_is_scalar(node(v));
}

struct rs_pair *rs_value_each_pair(struct rs_value *map, void **at)
{
	return (struct rs_pair *)fy_node_mapping_iterate(node(map), at);
}

struct rs_value *rs_value_each(struct rs_value *list, void **at)
{
	return (struct rs_value *)fy_node_sequence_iterate(node(list), at);
}

struct rs_value *rs_pair_key(struct rs_pair *p)
{
	return (struct rs_value *)fy_node_pair_key((struct fy_node_pair *)p);
}

struct rs_value *rs_pair_value(struct rs_pair *p)
{
	return (struct rs_value *)fy_node_pair_value((struct fy_node_pair *)p);
}

int rs_value_pairs(struct rs_value *map)
{
	return fy_node_mapping_item_count(node(map));
}

struct rs_value *rs_value_at(struct rs_value *list, int i)
{
	return (struct rs_value *)fy_node_sequence_get_by_index(node(list), i);
}

const char *rs_value_scalar(struct rs_value *v, size_t *n)
{
	return fy_node_get_scalar(node(v), n);
}

struct rs_value *rs_document_member(struct rs_value *v, const char *key)
{
	return v && rs_value_is_map(v)
		       ? (struct rs_value *)fy_node_mapping_lookup_value_by_simple_key(node(v), key,
										       FY_NT)
		       : NULL;
}

const char *rs_document_text(struct rs_value *v, char *buf, size_t size)
{
	size_t len;
	const char *p = v ? rs_value_scalar(v, &len) : NULL;

	if (!p || len >= size)
		return NULL;
	memcpy(buf, p, len);
	buf[len] = '\0';
	return buf;
}

uint32_t rs_document_line(struct rs_value *v)
{
	struct fy_token *t = v ? fy_node_get_scalar_token(node(v)) : NULL;
	const struct fy_mark *m = t ? fy_token_start_mark(t) : NULL;

	return m ? (uint32_t)m->line + 1 : 0;
}
