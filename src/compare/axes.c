/* What is compared: --over's axes with all choices that the program has, --vary's with the values
 * given. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/arena.h"
#include "base/units.h"
#include "cc/cc.h"
#include "compare/state.h"
#include "describe/describe.h"

enum { CHOICES_MAX = RS_COMPARE_VARIANTS, OVER_MAX = 32, TEXT = 512 };

struct maker {
	struct rs_comparison *c;
	const struct rs_fabric *f;
	struct rs_error *e;
	struct rs_choice over[OVER_MAX]; /* of the axis that is made */
	uint32_t n;
	bool no_memory;
};

static struct rs_axis *new_axis(struct maker *m, const char *name, bool varied)
{
	struct rs_comparison *c = m->c;
	struct rs_axis *a = &c->axes[c->n_axes];

	for (uint32_t i = 0; i < c->n_axes; i++)
		if (!strcmp(c->axes[i].name, name)) {
			rs_error_set(m->e, -EINVAL, "'%s' is compared twice", name);
			return NULL;
		}
	if (c->n_axes == RS_COMPARE_AXES) {
		rs_error_set(m->e, -E2BIG, "at most %d of --over and --vary together",
			     RS_COMPARE_AXES);
		return NULL;
	}
	*a = (struct rs_axis){.name = rs_arena_strdup(c->arena, name), .varied = varied};
	m->n = 0;
	m->no_memory |= !a->name;
	c->n_axes++;
	return a;
}

/* ---- --over ---- */

/* path NULL: as described. */
static void choice(struct maker *m, const char *label, const char *path, const char *value)
{
	struct rs_choice *k = &m->over[m->n];
	struct rs_setting *set = rs_arena_alloc(m->c->arena, 1, sizeof(*set));

	if (m->n == OVER_MAX)
		return;
	m->n++;
	*k = (struct rs_choice){.label = rs_arena_strdup(m->c->arena, label)};
	m->no_memory |= !k->label || !set;
	if (!path || m->no_memory)
		return;
	*set = (struct rs_setting){
		.path = path,
		.value = rs_arena_strdup(m->c->arena, value),
		.at = {.file = rs_arena_printf(m->c->arena, "--over %s",
					       m->c->axes[m->c->n_axes - 1].name)}};
	m->no_memory |= !set->value;
	k->set = set;
	k->n = 1;
}

static void over_cc(struct maker *m)
{
	const struct rs_cc_ops *described = rs_cc_find(m->f->cc.kind);
	char text[TEXT];

	for (const struct rs_cc_ops *const *o = rs_cc_all; *o; o++) {
		snprintf(text, sizeof(text), "{kind: %s}", (*o)->name);
		choice(m, (*o)->name, *o == described ? NULL : "fabric.cc", text);
	}
}

static void over_names(struct maker *m, const char *path, unsigned from)
{
	const char *const *names = rs_fabric_choices(path);

	for (unsigned i = 0; names && names[i]; i++)
		if (i >= from)
			choice(m, names[i], path, names[i]);
}

static void over_routing(struct maker *m)
{
	over_names(m, "fabric.qos.routing", 0);
}

/* The choice made last sets this too. */
static void besides(struct maker *m, const char *path, const char *value)
{
	struct rs_choice *k = &m->over[m->n - 1];
	struct rs_setting *both = rs_arena_alloc(m->c->arena, 2, sizeof(*both));

	m->no_memory |= !both;
	if (m->no_memory)
		return;
	both[0] = both[1] = k->set[0];
	both[0].path = path;
	both[0].value = value;
	k->set = both;
	k->n = 2;
}

/* RoCE with each recovery; then transports of another kind, which have their own. */
static void over_transport(struct maker *m)
{
	static const char path[] = "fabric.transport.recovery";
	const char *const *names = rs_fabric_choices(path);

	for (; names && *names && !m->no_memory; names++) {
		choice(m, *names, path, *names);
		if (m->f->transport.kind != RS_FABRIC_RC)
			besides(m, "fabric.transport.kind", "rc");
	}
	over_names(m, "fabric.transport.kind", 1);
}

/* The same hosts, links and delays in another network. */
static void network(struct maker *m, const char *label, const char *fmt, uint32_t a, uint32_t b)
{
	const struct rs_network_conf *net = &m->f->net;
	char rate[32], delay[32], text[TEXT];
	int n = snprintf(text, sizeof(text), "{rate: %s, delay: %s, mtu: %u, ",
			 rs_format_rate(rate, sizeof(rate), net->rate),
			 rs_format_time(delay, sizeof(delay), net->delay), m->f->transport.mtu);

	if (net->plain_hosts)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "hosts: %u, nics: %u, ",
			      net->plain_hosts, net->nics ? net->nics : 1);
	n += snprintf(text + n, sizeof(text) - (size_t)n, fmt, a, b);
	snprintf(text + n, sizeof(text) - (size_t)n, "}");
	choice(m, label, "fabric.network", text);
}

static void over_fabric(struct maker *m)
{
	const struct rs_fabric *f = m->f;
	uint32_t hosts = f->n_hosts ? f->n_hosts : 1, ends = f->n_endpoints, k = 4;
	uint32_t nics = (ends + hosts - 1) / hosts, leaves = f->net.leaves;
	uint32_t a_leaf;

	if (f->kind != RS_NET_LEAF_SPINE || !leaves)
		leaves = (uint32_t)ceil(sqrt(hosts));
	a_leaf = (hosts + leaves - 1) / leaves * nics;
	while (k * k * k / 4 < ends)
		k += 2;
	choice(m, "as described", NULL, NULL);
	network(m, "single switch", "kind: single-switch", 0, 0);
	network(m, "leaf-spine 1:1", "kind: leaf-spine, leaves: %u, spines: %u", leaves, a_leaf);
	network(m, "leaf-spine 2:1",
		"kind: leaf-spine, leaves: %u, spines: %u, oversubscription: 2", leaves,
		(a_leaf + 1) / 2);
	network(m, "fat tree", "kind: fat-tree, k: %u, tiers: 3", k, 0);
	if (nics > 1)
		network(m, "rails", "kind: rail", 0, 0);
}

/* The author's own list. */
static void over_what_if(struct maker *m)
{
	const struct rs_fabric *f = m->f;

	choice(m, "as described", NULL, NULL);
	for (uint32_t i = 0; i < f->n_whatifs && m->n < OVER_MAX; i++) {
		choice(m, f->whatifs[i].name, NULL, NULL);
		m->over[m->n - 1].set = f->whatifs[i].set;
		m->over[m->n - 1].n = f->whatifs[i].n;
	}
}

static const struct {
	const char *name;
	void (*make)(struct maker *m);
} overs[] = {{"cc", over_cc},
	     {"routing", over_routing},
	     {"transport", over_transport},
	     {"fabric", over_fabric},
	     {"what-if", over_what_if}};

static int over_one(struct maker *m, const char *name)
{
	struct rs_axis *a;

	for (unsigned i = 0; i < sizeof(overs) / sizeof(*overs); i++) {
		if (strcmp(name, overs[i].name) != 0)
			continue;
		a = new_axis(m, name, false);
		if (!a)
			return m->e->code;
		overs[i].make(m);
		a->n = m->n;
		a->choice = rs_arena_alloc(m->c->arena, m->n + 1u, sizeof(*a->choice));
		if (!a->choice || m->no_memory)
			return rs_error_set(m->e, -ENOMEM, "out of memory");
		memcpy(a->choice, m->over, m->n * sizeof(*a->choice));
		return 0;
	}
	return rs_error_set(m->e, -EINVAL,
			    "--over takes cc, routing, transport, fabric and what-if, not '%s'",
			    name);
}

static int overs_make(struct maker *m, const char *list)
{
	char *copy = list ? rs_arena_strdup(m->c->arena, list) : NULL, *next = copy;
	int err = list && !copy ? rs_error_set(m->e, -ENOMEM, "out of memory") : 0;

	while (!err && next) {
		char *name = next;

		next = strchr(next, ',');
		if (next)
			*next++ = '\0';
		err = over_one(m, name);
	}
	return err;
}

/* ---- --vary ---- */

/* The end of a value: a comma that is in no bracket and no quotes. */
static char *value_end(char *p)
{
	int depth = 0;

	for (char quote = 0; *p && (*p != ',' || depth > 0 || quote); p++) {
		if (quote)
			quote = *p == quote ? 0 : quote;
		else if (*p == '"' || *p == '\'')
			quote = *p;
		else
			depth += (*p == '[' || *p == '{') - (*p == ']' || *p == '}');
	}
	return p;
}

static uint32_t count_values(char *p)
{
	uint32_t n = 1;

	for (p = value_end(p); *p; p = value_end(p + 1))
		n++;
	return n;
}

static int values_make(struct maker *m, struct rs_axis *a, char *p)
{
	struct rs_setting *set;

	a->n = count_values(p);
	if (a->n > CHOICES_MAX)
		return rs_error_set(m->e, -E2BIG, "--vary %s: at most %d values", a->name,
				    CHOICES_MAX);
	a->choice = rs_arena_alloc(m->c->arena, a->n, sizeof(*a->choice));
	set = rs_arena_alloc(m->c->arena, a->n, sizeof(*set));
	if (!a->choice || !set)
		return rs_error_set(m->e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < a->n; i++) {
		char *end = value_end(p), *next = *end ? end + 1 : end;

		*end = '\0';
		if (!*p)
			return rs_error_set(m->e, -EINVAL, "--vary %s: value %u of %u is empty",
					    a->name, i + 1, a->n);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(a->choice[k].label, p))
				return rs_error_set(m->e, -EINVAL, "--vary %s: '%s' stands twice",
						    a->name, p);
		set[i] = (struct rs_setting){
			a->name, p, {rs_arena_printf(m->c->arena, "--vary %s", a->name), 0, 0}};
		a->choice[i] = (struct rs_choice){p, &set[i], 1};
		p = next;
	}
	return 0;
}

static int vary_one(struct maker *m, const char *text)
{
	char *copy = rs_arena_strdup(m->c->arena, text), *eq = copy ? strchr(copy, '=') : NULL;
	struct rs_axis *a;

	if (!copy)
		return rs_error_set(m->e, -ENOMEM, "out of memory");
	if (!eq || eq == copy)
		return rs_error_set(m->e, -EINVAL, "--vary takes PATH=VALUE,VALUE..., not '%s'",
				    text);
	*eq = '\0';
	a = new_axis(m, copy, true);
	return a ? values_make(m, a, eq + 1) : m->e->code;
}

/* ---- All ---- */

int axes_make(struct rs_comparison *c, const struct rs_fabric *f,
	      const struct rs_compare_options *o, struct rs_error *e)
{
	struct maker m = {.c = c, .f = f, .e = e};
	uint64_t n = 1;
	int err;

	c->axes = rs_arena_alloc(c->arena, RS_COMPARE_AXES, sizeof(*c->axes));
	if (!c->axes)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = overs_make(&m, o->over);
	for (uint32_t i = 0; !err && i < o->n_vary; i++)
		err = vary_one(&m, o->vary[i]);
	for (uint32_t i = 0; !err && i < c->n_axes; i++) {
		n *= c->axes[i].n;
		if (n > RS_COMPARE_VARIANTS)
			err = rs_error_set(e, -E2BIG, "these are more than %d variants",
					   RS_COMPARE_VARIANTS);
	}
	c->n = (uint32_t)n;
	return err;
}

const struct rs_choice *rs_variant_choice(const struct rs_comparison *c, uint32_t v, uint32_t a)
{
	for (uint32_t i = c->n_axes; --i > a;)
		v /= c->axes[i].n;
	return &c->axes[a].choice[v % c->axes[a].n];
}

uint32_t variant_settings(const struct rs_comparison *c, const struct rs_compare_options *o,
			  uint32_t v, struct rs_setting *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n_set && n < SETTINGS; i++)
		out[n++] = o->set[i];
	for (uint32_t a = 0; a < c->n_axes; a++) {
		const struct rs_choice *k = rs_variant_choice(c, v, a);

		for (uint32_t i = 0; i < k->n && n < SETTINGS; i++)
			out[n++] = k->set[i];
	}
	return n;
}
