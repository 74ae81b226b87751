/* A site's expectations as YAML, read by the same grammar as descriptions of fabrics: what is not
 * understood is refused with its line. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/profile.h"
#include "text/tree.h"

enum { PROFILE_BYTES_MAX = 4 << 20 };

static const char *const severities[] = {"info", "minor", "major", "critical", NULL};

/* ---- Reading ---- */

static void settings(struct rs_load *l, struct rs_audit *a, const struct rs_node *n)
{
	static const char *const known[] = {
		"pause_note",   "pause_fail",    "cable_m", "p2p_rtt_us", "fec_warn_ber",
		"fec_warn_bin", "flaps_per_day", "idle_us", "lossless",   NULL};

	if (!n || !rs_node_keys(l, n, "settings", known))
		return;
	rs_node_number(l, n, "pause_note", 0, 1, &a->set.pause_note);
	rs_node_number(l, n, "pause_fail", 0, 1, &a->set.pause_fail);
	rs_node_number(l, n, "cable_m", 0, 100000, &a->set.cable_m);
	rs_node_number(l, n, "p2p_rtt_us", 0, 1000, &a->set.p2p_rtt_us);
	rs_node_number(l, n, "fec_warn_ber", 0, 1, &a->set.fec_warn_ber);
	rs_node_number(l, n, "fec_warn_bin", 1, 16, &a->set.fec_warn_bin);
	rs_node_number(l, n, "idle_us", 0, 1e6, &a->set.idle_us);
	rs_node_number(l, n, "flaps_per_day", 0, 1e6, &a->set.flaps_per_day);
	rs_node_bool(l, n, "lossless", &a->set.lossless);
}

static const char **names(struct rs_load *l, const struct rs_node *n, const char *what,
			  uint32_t *count)
{
	const char **list;
	uint32_t i = 0;

	*count = 0;
	if (!n)
		return NULL;
	if (n->kind == RS_NODE_SCALAR) {
		list = rs_load_take(l, 2, sizeof(*list));
		if (list)
			list[0] = rs_node_scalar(l, n, what);
		*count = list && !l->err;
		return list;
	}
	if (!rs_node_is_list(l, n, what))
		return NULL;
	list = rs_load_take(l, n->n + 1u, sizeof(*list));
	for (const struct rs_item *it = n->first; it && list && !l->err; it = it->next)
		list[i++] = rs_node_scalar(l, it->value, what);
	*count = i;
	return list;
}

static const char **checks(struct rs_load *l, const struct rs_node *n, const char *what,
			   uint32_t *count, rs_check_known *known)
{
	const char **list = names(l, n, what, count);

	for (uint32_t i = 0; i < *count && !l->err; i++)
		if (!known(list[i]))
			rs_load_fail(l, -EINVAL, n->at, "no check is called '%s'", list[i]);
	return list;
}

static struct rs_profile_value *values(struct rs_load *l, const struct rs_node *n, const char *what,
				       uint32_t *count)
{
	struct rs_profile_value *v;
	uint32_t i = 0;

	*count = 0;
	if (!n)
		return NULL;
	if (n->kind != RS_NODE_MAP) {
		rs_load_fail(l, -EINVAL, n->at, "%s: expected {fact: value, ...}", what);
		return NULL;
	}
	v = rs_load_take(l, n->n + 1u, sizeof(*v));
	for (const struct rs_item *it = n->first; it && v && !l->err; it = it->next, i++) {
		v[i].name = it->key;
		v[i].is = names(l, it->value, it->key, &v[i].n);
		if (!l->err && !v[i].n)
			rs_load_fail(l, -EINVAL, it->at, "%s: expected a value", it->key);
	}
	*count = i;
	return v;
}

static void expectation(struct rs_load *l, const struct rs_node *n,
			struct rs_profile_expectation *x)
{
	static const char *const known[] = {"name",  "hosts", "subject", "severity",
					    "count", "where", "facts",   NULL};
	int severity = RS_MAJOR;

	*x = (struct rs_profile_expectation){.host = "*", .count = -1, .at = n->at};
	if (!rs_node_keys(l, n, "an expectation", known))
		return;
	if (!rs_node_need(l, n, "subject", "an expectation"))
		return;
	rs_node_string(l, n, "name", &x->name);
	rs_node_string(l, n, "hosts", &x->host);
	rs_node_string(l, n, "subject", &x->subject);
	rs_node_name(l, n, "severity", severities, &severity);
	rs_node_int(l, n, "count", 0, 100000, &x->count);
	x->severity = (enum rs_severity)severity;
	x->where = values(l, rs_node_get(n, "where"), "where", &x->n_where);
	x->facts = values(l, rs_node_get(n, "facts"), "facts", &x->n_facts);
	if (!l->err && !x->n_facts && x->count < 0)
		rs_load_fail(l, -EINVAL, n->at,
			     "an expectation without facts or a count expects nothing");
	if (!x->name)
		x->name = x->subject;
}

static bool is_day(const char *s)
{
	for (int i = 0; i < 10; i++)
		if (i == 4 || i == 7 ? s[i] != '-' : !isdigit((unsigned char)s[i]))
			return false;
	return !s[10];
}

static void suppression(struct rs_load *l, const struct rs_node *n,
			struct rs_profile_suppression *x, rs_check_known *check_known)
{
	static const char *const known[] = {"check", "hosts", "part", "reason", "until", NULL};

	if (!rs_node_keys(l, n, "a suppression", known) ||
	    !rs_node_need(l, n, "check", "a suppression") ||
	    !rs_node_need(l, n, "reason", "a suppression"))
		return;
	rs_node_string(l, n, "check", &x->check);
	rs_node_string(l, n, "hosts", &x->host);
	rs_node_string(l, n, "part", &x->part);
	rs_node_string(l, n, "reason", &x->reason);
	rs_node_string(l, n, "until", &x->until);
	if (!l->err && !check_known(x->check))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "check")->at, "no check is called '%s'",
			     x->check);
	if (!l->err && x->until && !is_day(x->until))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "until")->at,
			     "expected a day such as 2027-01-31, found '%s'", x->until);
}

static void whole(struct rs_load *l, struct rs_audit *a, struct rs_profile *p,
		  const struct rs_node *root, rs_check_known *check_known)
{
	static const char *const known[] = {"settings", "expect", "suppress",
					    "check",    "skip",   NULL};
	const struct rs_node *list;

	if (!rs_node_keys(l, root, "a profile", known))
		return;
	settings(l, a, rs_node_get(root, "settings"));
	p->only = checks(l, rs_node_get(root, "check"), "check", &p->n_only, check_known);
	p->skip = checks(l, rs_node_get(root, "skip"), "skip", &p->n_skip, check_known);
	list = rs_node_get(root, "expect");
	if (list && rs_node_is_list(l, list, "expect")) {
		p->expect = rs_load_take(l, list->n + 1u, sizeof(*p->expect));
		for (const struct rs_item *it = list->first; it && !l->err; it = it->next)
			expectation(l, it->value, &p->expect[p->n_expect++]);
	}
	list = rs_node_get(root, "suppress");
	if (list && rs_node_is_list(l, list, "suppress")) {
		p->suppress = rs_load_take(l, list->n + 1u, sizeof(*p->suppress));
		for (const struct rs_item *it = list->first; it && !l->err; it = it->next)
			suppression(l, it->value, &p->suppress[p->n_suppress++], check_known);
	}
}

int rs_audit_profile_text(struct rs_audit *a, const char *text, size_t n, const char *name,
			  rs_check_known *known, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.arena = a->arena, .e = e ? e : &own, .base_dir = "."};
	struct rs_profile *p;
	struct rs_node *root;

	if (a->profile)
		return rs_error_set(e, -EINVAL, "%s: one profile at a time", name);
	l.name = rs_load_string(&l, name);
	p = rs_load_take(&l, 1, sizeof(*p));
	root = rs_tree_parse(&l, text, n, l.name);
	if (!l.err) {
		p->path = l.name;
		whole(&l, a, p, root, known);
	}
	if (!l.err)
		a->profile = p;
	return l.err;
}

int rs_audit_profile(struct rs_audit *a, const char *path, rs_check_known *known,
		     struct rs_error *e)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;
	int err;

	if (!f)
		return rs_error_set(e, -errno, "%s: %s", path, strerror(errno));
	text = malloc(PROFILE_BYTES_MAX + 1);
	if (!text) {
		fclose(f);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	errno = 0;
	n = fread(text, 1, PROFILE_BYTES_MAX + 1, f);
	err = ferror(f) ? -(errno ? errno : EIO) : 0;
	fclose(f);
	if (err)
		err = rs_error_set(e, err, "%s: %s", path, strerror(-err));
	else if (n > PROFILE_BYTES_MAX)
		err = rs_error_set(e, -E2BIG, "%s: longer than 4 MiB", path);
	else {
		text[n] = '\0';
		err = rs_audit_profile_text(a, text, n, path, known, e);
	}
	free(text);
	return err;
}
