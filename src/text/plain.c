/* In place of yaml.c where there is no libfyaml: the values of settings, which are plain scalars.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "text/tree.h"

static bool is_plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_./+-%", text[i]))
			return false;
	return n != 0;
}

struct rs_node *rs_tree_parse(struct rs_load *l, const char *text, size_t n, const char *name)
{
	struct rs_where at = {name, 1, 1};
	struct rs_node *node;
	char *copy;

	if (!is_plain(text, n)) {
		rs_load_fail(l, -ENOTSUP, at,
			     "this build reads no YAML: expected a plain value such as 400G");
		return NULL;
	}
	node = rs_node_new(l, RS_NODE_SCALAR, at);
	copy = rs_load_take(l, n + 1, 1);
	if (!node || !copy)
		return NULL;
	memcpy(copy, text, n);
	node->text = copy;
	return node;
}
