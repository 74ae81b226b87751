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

int rs_plant_cc(const struct rs_cc_conf *c, struct rs_arena *a, struct rs_cc_use *out,
		struct rs_error *e)
{
	const struct rs_cc_ops *ops = rs_cc_find(c->kind ? c->kind : "dcqcn");
	struct rs_cc_params *params;
	struct rs_error inner = {0};
	int err;

	if (!ops)
		return no_such(c, e);
	params = rs_arena_alloc(a, 1, ops->params_bytes + 1);
	if (!params)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = rs_cc_params_init(ops, c->preset, params, &inner);
	err = placed(e, err, &inner, c->at);
	for (uint32_t i = 0; !err && i < c->n; i++) {
		err = rs_cc_params_set(ops, params, c->kv[i].key, c->kv[i].value, &inner);
		err = placed(e, err, &inner, c->kv[i].at);
	}
	*out = (struct rs_cc_use){.ops = ops, .params = params};
	return err;
}

static int make_none(struct rs_plant *p, struct rs_arena *a, struct rs_error *e)
{
	struct rs_cc_use *use = rs_arena_alloc(a, 1, sizeof(*use));

	if (!use)
		return rs_error_set(e, -ENOMEM, "out of memory");
	use->ops = &rs_cc_none;
	p->cc = use;
	p->n_cc = 1;
	return 0;
}

int plant_make_ccs(struct rs_plant *p, struct rs_arena *a, struct rs_error *e)
{
	uint32_t n = p->f->n_ccs + 1;
	struct rs_cc_use *use;
	int err = 0;

	rs_assert(n <= RS_NIC_CCS);
	if (p->ideal.no_cc)
		return make_none(p, a, e);
	use = rs_arena_alloc(a, n, sizeof(*use));
	if (!use)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct rs_cc_conf *c = rs_fabric_cc(p->f, i);

		err = rs_plant_cc(c, a, &use[i], e);
		if (!err)
			err = plant_base_rtt(p, c, &use[i], e);
		if (!err && (use[i].ops->needs & RS_CC_NEEDS_STAMPS))
			p->stamps = true;
	}
	p->cc = use;
	p->n_cc = n;
	return err;
}

uint8_t rs_plant_qp_cc(const struct rs_plant *p, const struct rs_job *j, const struct rs_flow *w,
		       uint32_t src, uint8_t tc)
{
	uint32_t at = p->n_cc == 1 ? 0 : rs_fabric_cc_of(p->f, j, w, src, tc);

	rs_assert(at < p->n_cc);
	return (uint8_t)(at + 1);
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
static int fill(struct rs_cc_conf *c, struct rs_arena *a, struct rs_error *e)
{
	struct rs_cc_use use;
	struct rs_kv *kv;
	uint32_t n = 0;
	int err = rs_plant_cc(c, a, &use, e);

	if (err)
		return err;
	for (const struct rs_cc_param *p = use.ops->params; p && p->name; p++)
		n++;
	kv = rs_arena_alloc(a, n + 1u, sizeof(*kv));
	n = 0;
	for (const struct rs_cc_param *p = use.ops->params; kv && p && p->name; p++) {
		char buf[40];

		if (!strcmp(p->name, "base_rtt") && !plant_cc_given(c, p->name))
			continue;
		kv[n].key = p->name;
		kv[n].value =
			rs_arena_printf(a, "%s", rs_cc_params_get(p, use.params, buf, sizeof(buf)));
		if (!kv[n++].value)
			kv = NULL;
	}
	if (!kv)
		return rs_error_set(e, -ENOMEM, "out of memory");
	c->kind = use.ops->name;
	if (!c->preset && use.ops->presets && use.ops->presets->name)
		c->preset = use.ops->presets->name;
	c->kv = kv;
	c->n = n;
	return 0;
}

int rs_plant_cc_fill(struct rs_fabric *f, struct rs_error *e)
{
	int err = fill(&f->cc, f->arena, e);

	for (uint32_t i = 0; i < f->n_ccs && !err; i++)
		err = fill(&f->ccs[i], f->arena, e);
	return err;
}
