/* JSON (RFC 8259) and YAML 1.2 through libfyaml, with limits that keep its costs low. */
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

struct fy_document *rs_document_parse(const char *text, size_t n)
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
	return doc;
}

struct fy_node *rs_document_member(struct fy_node *n, const char *key)
{
	return n && fy_node_is_mapping(n)
		       ? fy_node_mapping_lookup_value_by_simple_key(n, key, FY_NT)
		       : NULL;
}

const char *rs_document_text(struct fy_node *n, char *buf, size_t size)
{
	size_t len;
	const char *p = n ? fy_node_get_scalar(n, &len) : NULL;

	if (!p || len >= size)
		return NULL;
	memcpy(buf, p, len);
	buf[len] = '\0';
	return buf;
}

uint32_t rs_document_line(struct fy_node *n)
{
	struct fy_token *t = n ? fy_node_get_scalar_token(n) : NULL;
	const struct fy_mark *m = t ? fy_token_start_mark(t) : NULL;

	return m ? (uint32_t)m->line + 1 : 0;
}
