/* The congestion control that a description asks for: its algorithm and parameters. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "plant/rtt.h"

static int no_such(const struct rs_cc_conf *c, struct rs_error *e)
{
	const char *names[16], *near;
	char list[120] = "";
	unsigned n = 0;

	for (; rs_cc_all[n] && n < 15; n++) {
		names[n] = rs_cc_all[n]->name;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", names[n]);
	}
	names[n] = NULL;
	near = rs_text_nearest(c->kind, names);
	rs_error_at(e, -EINVAL, c->at, "no congestion control is called '%.80s'%s%s%s", c->kind,
		    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	rs_error_hint(e, "there are:%s", list);
	return -EINVAL;
}

/* Where in the description it is wrong. */
static int placed(struct rs_error *e, int err, const struct rs_error *inner, struct rs_where at)
{
	if (err) {
		rs_error_at(e, err, at, "%s", inner->what);
		rs_error_hint(e, "%s", inner->hint);
	}
	return err;
}

int rs_plant_cc(const struct rs_fabric *f, bool none, struct rs_arena *a,
		const struct rs_cc_ops **ops, struct rs_cc_params **params, struct rs_error *e)
{
	const struct rs_cc_conf *c = &f->cc;
	struct rs_error inner = {0};
	int err;

	*ops = rs_cc_find(none ? "none" : c->kind ? c->kind : "dcqcn");
	if (!*ops)
		return no_such(c, e);
	*params = rs_arena_alloc(a, 1, (*ops)->params_bytes + 1);
	if (!*params)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = rs_cc_params_init(*ops, none ? NULL : c->preset, *params, &inner);
	err = placed(e, err, &inner, c->at);
	for (uint32_t i = 0; !err && !none && i < c->n; i++) {
		err = rs_cc_params_set(*ops, *params, c->kv[i].key, c->kv[i].value, &inner);
		err = placed(e, err, &inner, c->kv[i].at);
	}
	return err;
}

bool plant_cc_given(const struct rs_cc_conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (rs_text_same(c->kv[i].key, name))
			return true;
	return false;
}

/* Of several spellings the last holds, as in rs_plant_cc(); base_rtt is the fabric's unless given.
 */
int rs_plant_cc_fill(struct rs_fabric *f, struct rs_error *e)
{
	const struct rs_cc_ops *ops;
	struct rs_cc_params *params;
	struct rs_kv *kv;
	uint32_t n = 0;
	int err = rs_plant_cc(f, false, f->arena, &ops, &params, e);

	if (err)
		return err;
	for (const struct rs_cc_param *p = ops->params; p && p->name; p++)
		n++;
	kv = rs_arena_alloc(f->arena, n + 1u, sizeof(*kv));
	n = 0;
	for (const struct rs_cc_param *p = ops->params; kv && p && p->name; p++) {
		char buf[40];

		if (!strcmp(p->name, "base_rtt") && !plant_cc_given(&f->cc, p->name))
			continue;
		kv[n].key = p->name;
		kv[n].value = rs_arena_printf(f->arena, "%s",
					      rs_cc_params_get(p, params, buf, sizeof(buf)));
		if (!kv[n++].value)
			kv = NULL;
	}
	if (!kv)
		return rs_error_set(e, -ENOMEM, "out of memory");
	f->cc.kind = ops->name;
	if (!f->cc.preset && ops->presets && ops->presets->name)
		f->cc.preset = ops->presets->name;
	f->cc.kv = kv;
	f->cc.n = n;
	return 0;
}
