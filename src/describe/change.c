/* fabric.change: what differs at single links and switches of a network that is drawn already. A
 * link that is down keeps its ports and its number; no route goes over it. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "describe/change.h"

static const uint32_t SWITCH_BIT = 1u << 31;

static bool is_host_change(const struct rs_node *n)
{
	return n->kind == RS_NODE_MAP && rs_node_get(n, "host");
}

void change_names(struct changes *c)
{
	const struct rs_fabric *f = c->f;

	if (!rs_names_create(c->l, &c->names, f->n_hosts + f->n_endpoints + f->n_switches))
		return;
	for (uint32_t i = 0; i < f->n_switches; i++)
		rs_names_add(&c->names, f->switches[i].name, SWITCH_BIT | i);
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		rs_names_add(&c->names, f->endpoints[i].name, i);
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].n_endpoints == 1)
			rs_names_add(&c->names, f->hosts[i].name, f->hosts[i].first_endpoint);
}

/* A few names that there are, the nearest one first if one is near. */
static void unknown(struct changes *c, const struct rs_node *n, const char *s, bool switches_only)
{
	const struct rs_fabric *f = c->f;
	const char *names[129];
	uint32_t k = 0;

	for (uint32_t i = 0; i < f->n_switches && k < 64; i++)
		names[k++] = f->switches[i].name;
	for (uint32_t i = 0; !switches_only && i < f->n_endpoints && k < 128; i++)
		names[k++] = f->endpoints[i].name;
	names[k] = NULL;
	rs_load_fail(c->l, -EINVAL, n->at,
		     "there is no %s '%.80s'%s; switches are %s to %s (`ripstop fabric show`)%s%s",
		     switches_only ? "switch" : "switch, host or NIC", s,
		     rs_did_you_mean(c->l, s, names), f->switches[0].name,
		     f->switches[f->n_switches - 1].name, switches_only ? "" : ", NICs such as ",
		     switches_only ? "" : f->endpoints[0].name);
}

static bool end_named(struct changes *c, const struct rs_node *n, uint32_t *id)
{
	const char *s = rs_node_scalar(c->l, n, "link");

	if (!s)
		return false;
	if (!rs_names_find(&c->names, s, id))
		unknown(c, n, s, false);
	return !c->l->err;
}

bool change_joins(const struct rs_fabric_link *k, uint32_t a, uint32_t b)
{
	uint32_t x = k->a.id | (k->a.is_switch ? SWITCH_BIT : 0), y = k->b.id | SWITCH_BIT;

	return (x == a && y == b) || (x == b && y == a) || (b == UINT32_MAX && x == a);
}

/* ---- Links ---- */

struct link_change {
	int64_t rate;
	rs_time delay;
	double loss;
	bool down;
};

static void change_one(struct rs_fabric *f, struct rs_fabric_link *k, const struct link_change *to)
{
	if (to->rate) {
		k->rate = to->rate;
		k->rate_back = 0;
	}
	if (to->delay >= 0)
		k->delay = to->delay;
	if (to->loss >= 0)
		k->loss = to->loss;
	k->down = to->down;
	if (!k->a.is_switch && to->rate)
		f->endpoints[k->a.id].rate = to->rate;
}

bool change_ends(struct changes *c, const struct rs_node *n, uint32_t *a, uint32_t *b)
{
	const struct rs_node *list = rs_node_get(n, "link");

	*b = UINT32_MAX;
	if (list->kind == RS_NODE_SCALAR || (list->kind == RS_NODE_LIST && list->n == 1)) {
		const struct rs_node *one = list->kind == RS_NODE_LIST ? list->first->value : list;

		if (!end_named(c, one, a))
			return false;
		if (*a & SWITCH_BIT)
			rs_load_fail(c->l, -EINVAL, one->at,
				     "link: a switch has many links; expected two ends, as [leaf0, "
				     "spine3]");
		return !c->l->err;
	}
	if (list->kind != RS_NODE_LIST || list->n != 2) {
		rs_load_fail(c->l, -EINVAL, list->at,
			     "link: expected two ends, as [leaf0, spine3]");
		return false;
	}
	return end_named(c, list->first->value, a) && end_named(c, list->last->value, b);
}

bool change_nic(struct changes *c, const struct rs_node *n, uint32_t *a)
{
	const struct rs_node *nic = rs_node_get(n, "nic");

	if (!end_named(c, nic, a))
		return false;
	if (*a & SWITCH_BIT)
		rs_load_fail(c->l, -EINVAL, nic->at,
			     "nic: this is a switch; expected a NIC, or a host with one, as h3 or "
			     "h3/nic1");
	return !c->l->err;
}

uint32_t change_index(struct changes *c, const struct rs_node *n, uint32_t a, uint32_t b,
		      int64_t *index)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < c->f->n_links && !c->l->err; i++)
		found += change_joins(&c->f->links[i], a, b);
	if (!c->l->err && !found)
		rs_load_fail(
			c->l, -EINVAL, rs_node_get(n, "link")->at,
			"no link joins these two; `ripstop fabric show` lists what joins what");
	*index = -1;
	rs_node_int(c->l, n, "index", 0, (int64_t)found - 1, index);
	return found;
}

static void change_link(struct changes *c, const struct rs_node *n)
{
	static const char *const known[] = {"link", "index", "down", "rate", "delay", "loss", NULL};
	struct link_change to = {.delay = -1, .loss = -1};
	struct rs_fabric *f = c->f;
	uint32_t a, b, found;
	int64_t index;

	if (!rs_node_keys(c->l, n, "a change of a link", known) || !change_ends(c, n, &a, &b))
		return;
	if (n->n == 1)
		rs_load_fail(c->l, -EINVAL, n->at,
			     "what of this link? expected down, rate, delay or loss beside it");
	found = change_index(c, n, a, b, &index);
	rs_node_bool(c->l, n, "down", &to.down);
	rs_node_rate(c->l, n, "rate", &to.rate);
	rs_node_time(c->l, n, "delay", RS_NS, 10 * RS_MS, &to.delay);
	rs_node_share(c->l, n, "loss", 0, 1, &to.loss);
	found = 0;
	for (uint32_t i = 0; i < f->n_links && !c->l->err; i++)
		if (change_joins(&f->links[i], a, b) && (index < 0 || index == found++))
			change_one(f, &f->links[i], &to);
}

/* ---- Switches ---- */

uint32_t change_switch(struct changes *c, const struct rs_node *n)
{
	const struct rs_node *name = rs_node_get(n, "switch");
	const char *s = rs_node_scalar(c->l, name, "switch");
	uint32_t id = 0;

	if (s && (!rs_names_find(&c->names, s, &id) || !(id & SWITCH_BIT)))
		unknown(c, name, s, true);
	return id & ~SWITCH_BIT;
}

static void switch_down(struct changes *c, const struct rs_node *n)
{
	static const char *const known[] = {"switch", "down", "qos", NULL};
	struct rs_fabric *f = c->f;
	bool down = false;
	uint32_t sw;

	if (!rs_node_keys(c->l, n, "a change of a switch", known))
		return;
	sw = change_switch(c, n);
	rs_node_bool(c->l, n, "down", &down);
	if (n->n == 1)
		rs_load_fail(c->l, -EINVAL, n->at,
			     "what of this switch? expected down or qos beside it");
	for (uint32_t i = 0; i < f->n_links && down && !c->l->err; i++) {
		struct rs_fabric_link *k = &f->links[i];

		if ((k->a.is_switch && k->a.id == sw) || k->b.id == sw)
			k->down = true;
	}
}

void change_qos(struct rs_load *l, struct rs_fabric *f, const struct rs_node *list)
{
	struct changes c = {l, f, {0}};

	if (l->err || !f->n_changes)
		return;
	change_names(&c);
	for (const struct rs_item *i = list->first; i && !l->err; i = i->next) {
		const struct rs_node *n = i->value, *qos = rs_node_get(n, "qos");
		uint32_t sw;

		if (!rs_node_get(n, "switch") || !qos)
			continue;
		sw = change_switch(&c, n);
		if (!l->err)
			f->switches[sw].qos =
				load_own_qos(l, rs_fabric_qos(f, sw), f->switches[sw].name, qos);
	}
}

/* ---- NICs and GPUs ---- */

static void change_of_nic(struct changes *c, const struct rs_node *n)
{
	static const char *const known[] = {"nic", "pfc", "dscp", NULL};
	struct rs_fabric_endpoint *e;
	int64_t dscp = -1;
	bool pfc = true;
	uint32_t a;

	if (!rs_node_keys(c->l, n, "a change of a NIC", known) || !change_nic(c, n, &a))
		return;
	if (n->n == 1)
		rs_load_fail(c->l, -EINVAL, n->at,
			     "what of this NIC? expected pfc or dscp beside it; its rate, loss and "
			     "delay are its link's");
	e = &c->f->endpoints[a];
	pfc = !e->no_pfc;
	rs_node_bool(c->l, n, "pfc", &pfc);
	rs_node_int(c->l, n, "dscp", 0, 63, &dscp);
	e->no_pfc = !pfc;
	if (dscp >= 0)
		e->mark = (uint8_t)(dscp + 1);
}

/* GPU `part` of a host: "gpu2"; of a plain host, whose GPUs are its NICs, "nic2". NULL: all. */
static bool gpus_named(const struct rs_fabric_host *h, const char *part, uint32_t *first,
		       uint32_t *n)
{
	uint32_t nth = 0;
	int64_t v;

	*first = h->first_gpu;
	*n = h->n_gpus;
	if (!part)
		return h->n_gpus;
	*n = 1;
	if (!h->inside) {
		if (strncmp(part, "nic", 3) != 0 ||
		    rs_parse_int(part + 3, 0, (int64_t)h->n_gpus - 1, &v, NULL))
			return false;
		*first += (uint32_t)v;
		return true;
	}
	for (int i = 0; i < h->inside->n_parts; i++) {
		if (h->inside->parts[i].kind != RS_PART_GPU)
			continue;
		if (!strcmp(h->inside->parts[i].name, part)) {
			*first += nth;
			return true;
		}
		nth++;
	}
	return false;
}

static bool find_gpus(struct changes *c, const struct rs_node *n, uint32_t *first, uint32_t *count)
{
	const char *s = rs_node_scalar(c->l, n, "gpu");
	const char *slash = s ? strrchr(s, '/') : NULL;
	size_t len = slash ? (size_t)(slash - s) : s ? strlen(s) : 0;

	for (uint32_t i = 0; s && i < c->f->n_hosts; i++) {
		const struct rs_fabric_host *h = &c->f->hosts[i];

		if (strlen(h->name) == len && !strncmp(h->name, s, len) &&
		    gpus_named(h, slash ? slash + 1 : NULL, first, count))
			return true;
	}
	if (s)
		rs_load_fail(c->l, -EINVAL, n->at,
			     "there is no GPU '%.80s'; expected one as %s/gpu2 (of a plain host "
			     "%s/nic2), or a host for all of its GPUs, as %s",
			     s, c->f->hosts[0].name, c->f->hosts[0].name, c->f->hosts[0].name);
	return false;
}

static void change_gpu(struct changes *c, const struct rs_node *n)
{
	static const char *const known[] = {"gpu", "speed", NULL};
	struct rs_fabric *f = c->f;
	uint32_t first, count;
	double speed = 1;

	if (!rs_node_keys(c->l, n, "a change of a GPU", known) ||
	    !rs_node_need(c->l, n, "speed", "a change of a GPU") ||
	    !find_gpus(c, rs_node_get(n, "gpu"), &first, &count))
		return;
	rs_node_share(c->l, n, "speed", 0.001, 1, &speed);
	if (!f->gpu_speed) {
		f->gpu_speed = rs_load_take(c->l, f->n_gpus + 1u, sizeof(*f->gpu_speed));
		for (uint32_t i = 0; f->gpu_speed && i < f->n_gpus; i++)
			f->gpu_speed[i] = 1;
	}
	for (uint32_t i = first; f->gpu_speed && i < first + count; i++)
		f->gpu_speed[i] = speed;
}

/* ---- The whole ---- */

static void keep_as_drawn(struct rs_load *l, struct rs_fabric *f)
{
	struct rs_fabric_link *drawn = rs_load_take(l, f->n_links + 1u, sizeof(*drawn));

	if (drawn)
		memcpy(drawn, f->links, f->n_links * sizeof(*drawn));
	f->drawn = drawn;
}

void change_network(struct rs_load *l, struct rs_fabric *f, const struct rs_node *list)
{
	struct changes c = {l, f, {0}};
	uint32_t n = 0, at = 0;

	for (const struct rs_item *i = l->err || !list ? NULL : list->first; i; i = i->next)
		n += !is_host_change(i->value);
	if (!n)
		return;
	f->changes = rs_load_take(l, n, sizeof(*f->changes));
	f->change_at = rs_load_take(l, n, sizeof(*f->change_at));
	keep_as_drawn(l, f);
	change_names(&c);
	for (const struct rs_item *i = list->first; i && !l->err; i = i->next, at++) {
		const struct rs_node *x = i->value;

		if (is_host_change(x))
			continue;
		f->change_at[f->n_changes] = at;
		if (x->kind == RS_NODE_MAP && rs_node_get(x, "link"))
			change_link(&c, x);
		else if (x->kind == RS_NODE_MAP && rs_node_get(x, "switch"))
			switch_down(&c, x);
		else if (x->kind == RS_NODE_MAP && rs_node_get(x, "nic"))
			change_of_nic(&c, x);
		else if (x->kind == RS_NODE_MAP && rs_node_get(x, "gpu"))
			change_gpu(&c, x);
		else
			rs_load_fail(l, -EINVAL, x->at,
				     "a change needs the key 'host', 'link', 'switch', 'nic' or "
				     "'gpu', as {link: [leaf0, spine3], down: true}");
		f->changes[f->n_changes++] = rs_tree_text(l, x);
	}
	rs_fabric_close_changes(l, f, list->at);
}
