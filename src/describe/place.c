/* Which GPUs a collective's ranks are, as it is written: a count, a list of GPUs, hosts and ranges,
 * or a word that says how they are chosen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"

const char *const place_names[] = {"packed", "random", "spread", "rails", NULL};

/* ---- Lists as they are written ---- */

struct list {
	struct rs_load *l;
	const struct rs_fabric *f;
	struct rs_names names; /* hosts */
	uint32_t *gpu;
	uint32_t n;
	uint8_t *taken; /* a bit a GPU, against doubles */
};

static void put(struct list *t, uint32_t gpu, struct rs_where at)
{
	if (t->l->err)
		return;
	if (t->taken[gpu / 8] >> gpu % 8 & 1) {
		rs_load_fail(t->l, -EINVAL, at, "GPU %u (%s) is listed twice", gpu,
			     t->f->hosts[rs_fabric_rank_host(t->f, gpu)].name);
		return;
	}
	t->taken[gpu / 8] |= (uint8_t)(1 << gpu % 8);
	t->gpu[t->n++] = gpu;
}

static void put_host(struct list *t, uint32_t host, struct rs_where at)
{
	const struct rs_fabric_host *h = &t->f->hosts[host];

	if (!h->n_gpus)
		rs_load_fail(t->l, -EINVAL, at, "host %s has no GPU", h->name);
	for (uint32_t i = 0; i < h->n_gpus; i++)
		put(t, h->first_gpu + i, at);
}

static bool number(const struct list *t, const char *s, uint32_t *out)
{
	int64_t v;

	if (rs_parse_int(s, 0, (int64_t)t->f->n_gpus - 1, &v, NULL) || *s == '-')
		return false;
	*out = (uint32_t)v;
	return true;
}

/* Both ends of a range: GPUs by number, or hosts by name. */
static bool put_range(struct list *t, const char *from, const char *to, struct rs_where at)
{
	uint32_t a, b;
	bool gpus = number(t, from, &a) && number(t, to, &b);

	if (!gpus && (!rs_names_find(&t->names, from, &a) || !rs_names_find(&t->names, to, &b)))
		return false;
	if (a > b)
		rs_load_fail(t->l, -EINVAL, at, "the range '%s' to '%s' runs backwards", from, to);
	for (uint32_t i = a; i <= b && !t->l->err; i++)
		if (gpus)
			put(t, i, at);
		else
			put_host(t, i, at);
	return true;
}

/* "h0/gpu3"; of a plain host, whose GPUs are its NICs, "h0/nic3". */
static bool put_part(struct list *t, const char *host, const char *part, struct rs_where at)
{
	const struct rs_fabric_host *h;
	uint32_t id, nth = 0;
	int64_t v;

	if (!rs_names_find(&t->names, host, &id))
		return false;
	h = &t->f->hosts[id];
	if (!h->inside) {
		if (strncmp(part, "nic", 3) != 0 ||
		    rs_parse_int(part + 3, 0, (int64_t)h->n_gpus - 1, &v, NULL))
			return false;
		put(t, h->first_gpu + (uint32_t)v, at);
		return true;
	}
	for (int i = 0; i < h->inside->n_parts; i++) {
		const struct rs_part *p = &h->inside->parts[i];

		if (p->kind == RS_PART_GPU && !strcmp(p->name, part)) {
			put(t, h->first_gpu + nth, at);
			return true;
		}
		nth += p->kind == RS_PART_GPU;
	}
	return false;
}

/* "h[8-15]", as Slurm writes it. */
static bool put_bracket(struct list *t, char *s, char *open, struct rs_where at)
{
	char *dash = strchr(open, '-'), *close = strchr(open, ']');
	const char *from, *to;

	if (!dash || !close || close < dash || close[1])
		return false;
	*open = *dash = *close = '\0';
	from = rs_arena_printf(t->l->arena, "%s%s", s, open + 1);
	to = rs_arena_printf(t->l->arena, "%s%s", s, dash + 1);
	return from && to && put_range(t, from, to, at);
}

/* A range's separator may stand in names too: each place is tried. */
static bool put_any_range(struct list *t, const char *s, struct rs_where at)
{
	for (const char *p = s + 1; *p; p++) {
		size_t n = strncmp(p, "..", 2) ? *p == '-' : 2;
		char *from = n ? rs_load_string(t->l, s) : NULL;

		if (!from)
			continue;
		from[p - s] = '\0';
		if (put_range(t, from, p + n, at))
			return true;
	}
	return false;
}

static void refuse(struct list *t, const char *s, struct rs_where at)
{
	const char *names[65];
	uint32_t n = 0;

	while (n < 64 && n < t->f->n_hosts) {
		names[n] = t->f->hosts[n].name;
		n++;
	}
	names[n] = NULL;
	rs_load_fail(t->l, -EINVAL, at,
		     "'%.80s' is neither a GPU, 0 to %u, nor a host, nor a range such as 0-7 or "
		     "%s..%s%s",
		     s, t->f->n_gpus - 1, t->f->hosts[0].name, t->f->hosts[t->f->n_hosts - 1].name,
		     rs_did_you_mean(t->l, s, names));
}

static void put_text(struct list *t, const char *text, struct rs_where at)
{
	char *s = rs_load_string(t->l, text), *slash = s ? strrchr(s, '/') : NULL;
	char *open = s ? strchr(s, '[') : NULL;
	uint32_t id;

	if (!s)
		return;
	if (number(t, s, &id)) {
		put(t, id, at);
	} else if (rs_names_find(&t->names, s, &id)) {
		put_host(t, id, at);
	} else if (!put_any_range(t, s, at) && !t->l->err) {
		if (slash)
			*slash = '\0';
		if (!(slash && put_part(t, s, slash + 1, at)) &&
		    !(open && put_bracket(t, s, open, at)))
			refuse(t, text, at);
	}
}

static void read_list(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n,
		      struct rs_collective_conf *c)
{
	struct list t = {.l = l, .f = f};

	if (!rs_names_create(l, &t.names, f->n_hosts))
		return;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		rs_names_add(&t.names, f->hosts[i].name, i);
	t.gpu = rs_load_take(l, f->n_gpus + 1u, sizeof(*t.gpu));
	t.taken = rs_load_take(l, f->n_gpus / 8 + 1u, 1);
	if (n->kind == RS_NODE_LIST)
		for (const struct rs_item *i = n->first; i && !l->err; i = i->next) {
			const char *s = rs_node_scalar(l, i->value, "a rank");

			if (s)
				put_text(&t, s, i->value->at);
		}
	else
		put_text(&t, n->text, n->at);
	if (!l->err && t.n < 2)
		rs_load_fail(l, -EINVAL, n->at, "a collective needs 2 GPUs or more, found %u", t.n);
	c->place = RS_PLACE_LISTED;
	c->gpu = c->listed = t.gpu;
	c->n_listed = t.n;
}

/* ---- What a job says ---- */

/* A count, "all", a list, or a range in one word. */
static void get_ranks(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n,
		      struct rs_collective_conf *c)
{
	struct rs_error e = {0};
	int64_t v = 0;

	if (n->kind == RS_NODE_MAP) {
		rs_node_scalar(l, n, "ranks");
	} else if (n->kind == RS_NODE_LIST ||
		   rs_parse_int(n->text, INT64_MIN, INT64_MAX, &v, NULL)) {
		if (n->kind == RS_NODE_LIST || strcmp(n->text, "all") != 0)
			read_list(l, f, n, c);
	} else {
		if (rs_parse_int(n->text, 2, f->n_gpus, &v, &e))
			rs_load_fail(l, e.code, n->at,
				     "ranks: %s; or a list of GPUs and hosts such as [0-3, h4..h7]",
				     e.what);
		c->n_ranks = (uint32_t)v;
	}
}

static void get_place(struct rs_load *l, struct rs_fabric *f, const struct rs_node *map,
		      struct rs_collective_conf *c)
{
	const struct rs_node *n = rs_node_get(map, "place");
	int place = (int)c->place;

	if (!n || l->err)
		return;
	if (n->kind == RS_NODE_SCALAR && !strpbrk(n->text, "0123456789.[/")) {
		rs_node_name(l, map, "place", place_names, &place);
		c->place = (enum rs_place)place;
		return;
	}
	if (n->kind == RS_NODE_LIST || n->kind == RS_NODE_SCALAR)
		read_list(l, f, n, c);
	else
		rs_node_scalar(l, n, "place");
}

/* true, false, or auto. */
static void read_share(struct rs_load *l, const struct rs_node *n, struct rs_collective_conf *c)
{
	const struct rs_node *x = n ? rs_node_get(n, "share") : NULL;
	const char *text = x && x->kind == RS_NODE_SCALAR ? x->text : NULL;
	bool share = c->share == RS_SHARE_YES;

	if (!x || (text && !strcmp(text, "auto")))
		return;
	rs_node_bool(l, n, "share", &share);
	c->share = share ? RS_SHARE_YES : RS_SHARE_NO;
}

void place_read(struct rs_load *l, struct rs_fabric *f, const struct rs_node *job,
		const struct rs_node *n, struct rs_collective_conf *c)
{
	const struct rs_node *ranks = rs_node_get(n, "ranks"), *place = rs_node_get(n, "place");
	char span[48];

	if (ranks && !l->err)
		get_ranks(l, f, ranks, c);
	if (rs_node_get(job, "place") && (place || c->listed)) {
		rs_load_fail(l, -EINVAL, rs_node_get(job, "place")->at,
			     "the job's place is given twice");
		return;
	}
	if (place && c->listed) {
		rs_load_fail(l, -EINVAL, place->at,
			     "place beside a list of ranks: give one of them");
		return;
	}
	get_place(l, f, place ? n : job, c);
	read_share(l, n, c);
	read_share(l, job, c);
	if (!l->err && c->listed && c->n_ranks > c->n_listed)
		rs_load_fail(l, -EINVAL, (ranks ? ranks : job)->at,
			     "ranks: %u, but the list has %u GPU%s; expected %s", c->n_ranks,
			     c->n_listed, c->n_listed == 1 ? "" : "s",
			     c->n_listed < 2 ? "a list of 2 or more"
					     : rs_format_range(span, sizeof(span), 2, c->n_listed));
	if (!l->err && c->listed && !c->n_ranks)
		c->n_ranks = c->n_listed;
}
