/* Congestion control: the fabric's, and that of classes, hosts, jobs and flows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "fabric/build.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same(const struct rs_cc_conf *a, const struct rs_cc_conf *b)
{
	bool alike = same_text(a->kind, b->kind) && same_text(a->preset, b->preset) && a->n == b->n;

	for (uint32_t i = 0; alike && i < a->n; i++)
		alike = same_text(a->kv[i].key, b->kv[i].key) &&
			same_text(a->kv[i].value, b->kv[i].value);
	return alike;
}

uint8_t rs_fabric_add_cc(struct rs_load *l, struct rs_fabric *f, const struct rs_cc_conf *c)
{
	uint32_t i = 0;

	if (!l->err && !f->ccs)
		f->ccs = rs_load_take(l, RS_OWN_CCS_MAX, sizeof(*f->ccs));
	if (l->err)
		return 0;
	while (i < f->n_ccs && !same(&f->ccs[i], c))
		i++;
	if (i == RS_OWN_CCS_MAX) {
		rs_load_fail(l, -E2BIG, c->at, "more than %d different congestion controls",
			     RS_OWN_CCS_MAX);
		return 0;
	}
	if (i == f->n_ccs)
		f->ccs[f->n_ccs++] = *c;
	return (uint8_t)(i + 1);
}

struct rs_cc_conf rs_fabric_cc_default(const struct rs_fabric *f)
{
	return (struct rs_cc_conf){.kind = "dcqcn",
				   .preset = f->preset == RS_PRESET_NS3 ? "ns-3" : NULL};
}

/* ---- What is asked of them ---- */

const struct rs_cc_conf *rs_fabric_cc(const struct rs_fabric *f, uint32_t i)
{
	return i ? &f->ccs[i - 1] : &f->cc;
}

uint8_t rs_fabric_cc_of(const struct rs_fabric *f, const struct rs_job *j, const struct rs_flow *w,
			uint32_t src, uint8_t tc)
{
	if (w && w->cc)
		return w->cc;
	if (j && j->cc)
		return j->cc;
	if (f->hosts[f->endpoints[src].host].cc)
		return f->hosts[f->endpoints[src].host].cc;
	return f->qos.tc[tc].cc;
}

static const char *kind_of(const struct rs_cc_conf *c)
{
	return c->kind ? c->kind : "dcqcn";
}

bool rs_fabric_has_cc(const struct rs_fabric *f, const char *kind)
{
	for (uint32_t i = 0; i <= f->n_ccs; i++)
		if (!strcmp(kind_of(rs_fabric_cc(f, i)), kind))
			return true;
	return false;
}

bool rs_fabric_controls(const struct rs_fabric *f)
{
	if (rs_fabric_has_uet(f))
		return true;
	for (uint32_t i = 0; i <= f->n_ccs; i++)
		if (strcmp(kind_of(rs_fabric_cc(f, i)), "none") != 0)
			return true;
	return false;
}

/* Ultra Ethernet's own: "nscc, rccc"; how many characters. */
static size_t uet_names(const struct rs_uet_settings *u, char *buf, size_t size)
{
	static const char *const names[] = {"nscc", "dctcp", "rccc"};
	bool both = u->credits && u->window != RS_FABRIC_NO_WINDOW;

	return (size_t)snprintf(buf, size, "%s%s", names[u->window], both ? ", rccc" : "");
}

/* Is there a host that does not speak Ultra Ethernet? */
bool rs_fabric_has_rc(const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (rs_fabric_speaks(f, i) == RS_FABRIC_RC)
			return true;
	return false;
}

const char *rs_fabric_cc_names(const struct rs_fabric *f, char *buf, size_t size)
{
	size_t n = rs_fabric_has_uet(f) ? uet_names(&f->transport.uet, buf, size) : 0;

	if (n && !rs_fabric_has_rc(f))
		return buf;
	if (n && n < size)
		n += (size_t)snprintf(buf + n, size - n, ", ");
	for (uint32_t i = 0; i <= f->n_ccs; i++) {
		const char *kind = kind_of(rs_fabric_cc(f, i));
		bool known = false;

		for (uint32_t k = 0; k < i && !known; k++)
			known = !strcmp(kind_of(rs_fabric_cc(f, k)), kind);
		if (!known && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "", kind);
	}
	return buf;
}
