/* Congestion control as it is described: the fabric's, and that of classes, hosts, jobs and flows.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "describe/load.h"

/* Names of algorithms and presets are written in any case. */
static const char *lower(struct rs_load *l, const char *s)
{
	char *low = rs_load_string(l, s);

	for (char *p = low; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return low;
}

/* c: the default, which what is written changes. */
static void read_cc(struct rs_load *l, const struct rs_node *n, struct rs_cc_conf *c)
{
	if (!n || l->err)
		return;
	c->at = n->at;
	if (n->kind == RS_NODE_LIST) {
		rs_load_fail(
			l, -EINVAL, n->at,
			"cc: expected a name, or a mapping such as {kind: dcqcn, preset: mlx5}");
		return;
	}
	if (n->kind == RS_NODE_SCALAR)
		c->kind = n->text;
	rs_node_string(l, n, "kind", &c->kind);
	c->kind = lower(l, c->kind);
	if (c->kind && !strcmp(c->kind, "none"))
		c->preset = NULL;
	rs_node_string(l, n, "preset", &c->preset);
	c->preset = c->preset ? lower(l, c->preset) : NULL;
	c->kv = rs_load_take(l, n->n ? n->n : 1, sizeof(*c->kv));
	for (const struct rs_item *i = n->first; i && !l->err; i = i->next) {
		const char *s = rs_node_scalar(l, i->value, i->key);

		if (s && strcmp(i->key, "kind") != 0 && strcmp(i->key, "preset") != 0)
			c->kv[c->n++] = (struct rs_kv){i->key, s, i->value->at};
	}
}

void load_cc(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	read_cc(l, n, &f->cc);
}

uint8_t load_own_cc(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	const struct rs_node *own = n && !l->err ? rs_node_get(n, "cc") : NULL;
	struct rs_cc_conf c = rs_fabric_cc_default(f);

	if (!own)
		return 0;
	read_cc(l, own, &c);
	return rs_fabric_add_cc(l, f, &c);
}
