/* The graph of switches and links: generators and explicit lists. A switch's ports are numbered as
 * its links are made: endpoints first. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "fabric/load.h"

enum { SWITCHES_MAX = 1 << 16, LINKS_MAX = 1 << 22 };

const char *const network_kinds[] = {"single-switch", "leaf-spine", "fat-tree",
				     "rail",          "explicit",   NULL};

struct builder {
	struct rs_load *l;
	struct rs_fabric *f;
	struct rs_where at;
};

static void switches(struct builder *b, uint32_t n)
{
	if (n > SWITCHES_MAX)
		rs_load_fail(b->l, -E2BIG, b->at, "%u switches; at most %d", n, SWITCHES_MAX);
	b->f->switches = rs_load_take(b->l, n ? n : 1, sizeof(*b->f->switches));
}

static void add_switches(struct builder *b, const char *prefix, uint8_t tier, uint32_t n)
{
	struct rs_fabric *f = b->f;

	for (uint32_t i = 0; i < n && !b->l->err; i++) {
		struct rs_fabric_switch *s = &f->switches[f->n_switches++];

		s->tier = tier;
		s->name = rs_arena_printf(b->l->arena, "%s%u", prefix, i);
		if (!s->name)
			rs_load_fail(b->l, -ENOMEM, b->at, "out of memory");
	}
}

static void space_for_links(struct builder *b, uint64_t n)
{
	if (n > LINKS_MAX)
		rs_load_fail(b->l, -E2BIG, b->at, "%llu links; at most %d", (unsigned long long)n,
			     LINKS_MAX);
	b->f->links = rs_load_take(b->l, n ? n : 1, sizeof(*b->f->links));
}

static uint16_t port_of(struct builder *b, uint32_t sw)
{
	struct rs_fabric_switch *s = &b->f->switches[sw];

	if (s->n_ports == b->f->net.ports) {
		rs_load_fail(b->l, -E2BIG, b->at,
			     "switch %s needs more than %u ports (network.ports, 1 to %d)", s->name,
			     b->f->net.ports, NET_PORTS_MAX);
		return 0;
	}
	return s->n_ports++;
}

static void host_link(struct builder *b, uint32_t ep, uint32_t sw)
{
	struct rs_fabric *f = b->f;
	struct rs_fabric_endpoint *e = &f->endpoints[ep];

	if (b->l->err)
		return;
	if (!e->rate || e->rate > f->net.rate)
		e->rate = f->net.rate;
	e->link = f->n_links;
	e->node = sw;
	f->links[f->n_links++] = (struct rs_fabric_link){
		.a = {.id = ep},
		.b = {true, sw, port_of(b, sw)},
		.rate = e->rate,
		.delay = f->net.delay,
		.loss = f->net.loss,
	};
}

static void switch_links(struct builder *b, uint32_t x, uint32_t y, uint32_t n)
{
	struct rs_fabric *f = b->f;

	while (n-- && !b->l->err)
		f->links[f->n_links++] = (struct rs_fabric_link){
			.a = {true, x, port_of(b, x)},
			.b = {true, y, port_of(b, y)},
			.rate = f->net.uplink_rate,
			.delay = f->net.uplink_delay,
			.loss = f->net.loss,
		};
}

static uint32_t leaf_of(const struct rs_fabric *f, uint32_t ep)
{
	return f->kind == RS_NET_FAT_TREE ? ep / (f->net.k / 2) : clos_leaf(f, ep);
}

static void single(struct builder *b)
{
	switches(b, 1);
	add_switches(b, "switch", 0, 1);
	space_for_links(b, b->f->n_endpoints);
	for (uint32_t i = 0; i < b->f->n_endpoints; i++)
		host_link(b, i, 0);
}

static void leaf_spine(struct builder *b, const struct rs_node *n)
{
	struct rs_fabric *f = b->f;
	struct rs_network_conf *c = &f->net;

	clos_resolve(b->l, f, n);
	if (b->l->err)
		return;
	switches(b, c->leaves + c->spines);
	add_switches(b, "leaf", 0, c->leaves);
	add_switches(b, "spine", 1, c->spines);
	space_for_links(b, f->n_endpoints + (uint64_t)c->leaves * c->spines * c->links);
	for (uint32_t i = 0; i < f->n_endpoints && !b->l->err; i++)
		host_link(b, i, leaf_of(f, i));
	for (uint32_t i = 0; i < c->leaves; i++)
		for (uint32_t j = 0; j < c->spines; j++)
			switch_links(b, i, c->leaves + j, c->links);
}

/* Two tiers of k-port switches: k leaves, k/2 spines. */
static void fat_tree_2(struct builder *b)
{
	struct rs_fabric *f = b->f;
	uint32_t k = f->net.k, half = k / 2;

	if (f->n_endpoints > k * half)
		rs_load_fail(b->l, -EINVAL, b->at,
			     "a fat tree of k %u and two tiers has room for %u NICs, not %u", k,
			     k * half, f->n_endpoints);
	switches(b, k + half);
	add_switches(b, "leaf", 0, k);
	add_switches(b, "spine", 1, half);
	space_for_links(b, f->n_endpoints + (uint64_t)k * half);
	for (uint32_t i = 0; i < f->n_endpoints && !b->l->err; i++)
		host_link(b, i, leaf_of(f, i));
	for (uint32_t i = 0; i < k; i++)
		for (uint32_t j = 0; j < half; j++)
			switch_links(b, i, k + j, 1);
}

/* Three tiers of k-port switches: k pods of k/2 leaves and k/2 spines, k^2/4 cores. */
static void fat_tree_3(struct builder *b)
{
	struct rs_fabric *f = b->f;
	uint32_t half = f->net.k / 2, tier = f->net.k * half;

	if (f->n_endpoints > tier * half)
		rs_load_fail(b->l, -EINVAL, b->at,
			     "a fat tree of k %u has room for %u NICs, not %u", f->net.k,
			     tier * half, f->n_endpoints);
	switches(b, 2 * tier + half * half);
	add_switches(b, "leaf", 0, tier);
	add_switches(b, "spine", 1, tier);
	add_switches(b, "core", 2, half * half);
	space_for_links(b, f->n_endpoints + 2ull * tier * half);
	for (uint32_t i = 0; i < f->n_endpoints && !b->l->err; i++)
		host_link(b, i, leaf_of(f, i));
	for (uint32_t i = 0; i < tier; i++)
		for (uint32_t j = 0; j < half; j++)
			switch_links(b, i, tier + i / half * half + j, 1);
	for (uint32_t i = 0; i < tier; i++)
		for (uint32_t j = 0; j < half; j++)
			switch_links(b, tier + i, 2 * tier + i % half * half + j, 1);
}

/* ---- Explicit lists ---- */

static const uint32_t SWITCH_BIT = 1u << 31;

static void explicit_switches(struct builder *b, const struct rs_node *list, struct rs_names *t)
{
	struct rs_fabric *f = b->f;

	switches(b, list->n);
	for (const struct rs_item *i = list->first; i && !b->l->err; i = i->next) {
		static const char *const known[] = {"name", "tier", NULL};
		struct rs_fabric_switch *s = &f->switches[f->n_switches];
		const struct rs_node *n = i->value;

		if (n->kind == RS_NODE_MAP) {
			if (!rs_node_keys(b->l, n, "a switch", known))
				return;
			rs_node_u8(b->l, n, "tier", 0, 7, &s->tier);
			n = rs_node_need(b->l, n, "name", "a switch");
		}
		s->name = n ? rs_node_scalar(b->l, n, "switches") : NULL;
		if (s->name && !rs_names_add(t, s->name, SWITCH_BIT | f->n_switches))
			rs_load_fail(b->l, -EINVAL, n->at, "the name '%s' is taken", s->name);
		f->n_switches++;
	}
}

/* Some of the names that there are. */
static const char *const *known_ends(struct builder *b)
{
	const struct rs_fabric *f = b->f;
	const char **name = rs_load_take(b->l, 257, sizeof(*name));
	uint32_t n = 0;

	for (uint32_t i = 0; name && i < f->n_switches && n < 128; i++)
		name[n++] = f->switches[i].name;
	for (uint32_t i = 0; name && i < f->n_endpoints && n < 256; i++)
		name[n++] = f->endpoints[i].name;
	return name;
}

static bool end_of(struct builder *b, const struct rs_node *link, const char *key,
		   const struct rs_names *t, uint32_t *id)
{
	const struct rs_node *n = rs_node_need(b->l, link, key, "a link");
	const char *s = n ? rs_node_scalar(b->l, n, key) : NULL;

	if (!s)
		return false;
	if (rs_names_find(t, s, id))
		return true;
	rs_load_fail(b->l, -EINVAL, n->at,
		     "'%.80s' is neither a host, a host's NIC (h0/nic0) nor a switch%s", s,
		     rs_did_you_mean(b->l, s, known_ends(b)));
	return false;
}

static void explicit_link(struct builder *b, const struct rs_node *n, const struct rs_names *t,
			  bool *linked)
{
	static const char *const known[] = {"a", "b", "rate", "delay", "loss", NULL};
	struct rs_fabric *f = b->f;
	struct rs_fabric_link link = {
		.rate = f->net.rate, .delay = f->net.delay, .loss = f->net.loss};
	uint32_t a, c, swap;

	if (!rs_node_keys(b->l, n, "a link", known) || !end_of(b, n, "a", t, &a) ||
	    !end_of(b, n, "b", t, &c))
		return;
	rs_node_rate(b->l, n, "rate", &link.rate);
	rs_node_time(b->l, n, "delay", RS_NS, 10 * RS_MS, &link.delay);
	rs_node_share(b->l, n, "loss", 0, 1, &link.loss);
	if (!(c & SWITCH_BIT)) {
		swap = a;
		a = c;
		c = swap;
	}
	if (!b->l->err && !(c & SWITCH_BIT))
		rs_load_fail(b->l, -EINVAL, n->at,
			     "a link between two NICs; put a switch between them");
	if (!b->l->err && a == c)
		rs_load_fail(b->l, -EINVAL, n->at, "a link from a switch to itself");
	if (!b->l->err && !(a & SWITCH_BIT) && linked[a])
		rs_load_fail(b->l, -EINVAL, n->at, "a second link of %s; a NIC has one port",
			     f->endpoints[a].name);
	if (b->l->err)
		return;
	if (!(a & SWITCH_BIT)) {
		struct rs_fabric_endpoint *e = &f->endpoints[a];

		linked[a] = true;
		if (e->rate && e->rate < link.rate)
			link.rate = e->rate;
		e->rate = link.rate;
		e->link = f->n_links;
		e->node = c & ~SWITCH_BIT;
		link.a = (struct rs_link_end){.id = a};
	} else {
		link.a = (struct rs_link_end){true, a & ~SWITCH_BIT, port_of(b, a & ~SWITCH_BIT)};
	}
	link.b = (struct rs_link_end){true, c & ~SWITCH_BIT, port_of(b, c & ~SWITCH_BIT)};
	f->links[f->n_links++] = link;
}

static void explicit_network(struct builder *b, const struct rs_node *n)
{
	struct rs_fabric *f = b->f;
	const struct rs_node *sw = rs_node_need(b->l, n, "switches", "an explicit network");
	const struct rs_node *links = rs_node_need(b->l, n, "links", "an explicit network");
	struct rs_names t;
	bool *linked;

	if (!sw || !links || !rs_node_is_list(b->l, sw, "switches") ||
	    !rs_node_is_list(b->l, links, "links"))
		return;
	linked = rs_load_take(b->l, f->n_endpoints, sizeof(*linked));
	if (!rs_names_create(b->l, &t, f->n_hosts + f->n_endpoints + sw->n))
		return;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].n_endpoints == 1)
			rs_names_add(&t, f->hosts[i].name, f->hosts[i].first_endpoint);
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		rs_names_add(&t, f->endpoints[i].name, i);
	explicit_switches(b, sw, &t);
	space_for_links(b, links->n);
	for (const struct rs_item *i = links->first; i && !b->l->err; i = i->next)
		explicit_link(b, i->value, &t, linked);
	for (uint32_t i = 0; i < f->n_endpoints && !b->l->err; i++)
		if (!linked[i])
			rs_load_fail(b->l, -EINVAL, links->at, "%s has no link",
				     f->endpoints[i].name);
}

/* ---- Plain hosts ---- */

static void plain_host(struct builder *b, uint32_t h, const char *name)
{
	struct rs_fabric *f = b->f;
	uint32_t nics = f->net.nics;

	f->hosts[h] = (struct rs_fabric_host){.name = name,
					      .first_endpoint = h * nics,
					      .n_endpoints = nics,
					      .first_gpu = h * nics,
					      .n_gpus = nics};
	for (uint32_t i = 0; i < nics && !b->l->err; i++) {
		const char *ep =
			nics == 1 ? name : rs_arena_printf(b->l->arena, "%s/nic%u", name, i);

		if (!ep)
			rs_load_fail(b->l, -ENOMEM, b->at, "out of memory");
		f->endpoints[h * nics + i] =
			(struct rs_fabric_endpoint){.host = h, .part = RS_NO_PART, .name = ep};
	}
}

static uint64_t capacity(const struct rs_fabric *f)
{
	const struct rs_network_conf *c = &f->net;

	switch (f->kind) {
	case RS_NET_FAT_TREE:
		return (uint64_t)c->k * c->k / 2 * (c->tiers == 2 ? 1 : c->k / 2) / c->nics;
	case RS_NET_LEAF_SPINE:
		return (uint64_t)c->leaves * c->hosts_per_leaf;
	default:
		return 0;
	}
}

static void plain_hosts(struct builder *b, const struct rs_node *n)
{
	struct rs_fabric *f = b->f;
	const struct rs_node *hosts = rs_node_get(n, "hosts");
	const struct rs_item *named = NULL;
	uint64_t count = capacity(f);
	struct rs_names t;
	int64_t v = 0;

	if (hosts && hosts->kind == RS_NODE_LIST) {
		count = hosts->n;
		named = hosts->first;
	} else if (hosts) {
		rs_node_int(b->l, n, "hosts", 1, RS_ENDPOINTS_MAX, &v);
		count = (uint64_t)v;
	}
	if (!b->l->err && !count)
		rs_load_fail(b->l, -EINVAL, n->at,
			     "how many hosts? give network.hosts or fabric.hosts");
	if (!b->l->err && count * f->net.nics > RS_ENDPOINTS_MAX)
		rs_load_fail(b->l, -E2BIG, n->at, "more than %d endpoints", RS_ENDPOINTS_MAX);
	if (b->l->err)
		return;
	f->n_hosts = f->net.plain_hosts = (uint32_t)count;
	f->n_endpoints = f->n_gpus = f->n_hosts * f->net.nics;
	f->hosts = rs_load_take(b->l, f->n_hosts, sizeof(*f->hosts));
	f->endpoints = rs_load_take(b->l, f->n_endpoints, sizeof(*f->endpoints));
	rs_names_create(b->l, &t, named ? f->n_hosts : 1);
	for (uint32_t h = 0; h < f->n_hosts && !b->l->err; h++) {
		const char *name = named ? rs_node_scalar(b->l, named->value, "hosts")
					 : rs_arena_printf(b->l->arena, "h%u", h);

		if (!name)
			rs_load_fail(b->l, -ENOMEM, b->at, "out of memory");
		else if (named && !rs_names_add(&t, name, h))
			rs_load_fail(b->l, -EINVAL, named->at, "the name '%s' is taken", name);
		else
			plain_host(b, h, name);
		named = named ? named->next : NULL;
	}
}

/* ---- The whole ---- */

#define SHARED_KEYS "kind", "hosts", "nics", "rate", "delay", "mtu", "loss", "ports"
#define UPLINK_KEYS "uplink_rate", "uplink_delay"
#define SPINE_KEYS  "leaves", "spines", "links", "oversubscription"

static const char *const shared_keys[] = {SHARED_KEYS, NULL};
static const char *const spine_keys[] = {SHARED_KEYS, UPLINK_KEYS, SPINE_KEYS, "hosts_per_leaf",
					 NULL};
static const char *const tree_keys[] = {SHARED_KEYS, UPLINK_KEYS, "k", "tiers", NULL};
static const char *const rail_keys[] = {SHARED_KEYS, UPLINK_KEYS,       SPINE_KEYS,
					"rails",     "hosts_per_group", NULL};
static const char *const explicit_keys[] = {SHARED_KEYS, "switches", "links", NULL};
static const char *const *const keys_of_kind[] = {shared_keys, spine_keys, tree_keys, rail_keys,
						  explicit_keys};

static void parameters(struct builder *b, const struct rs_node *n)
{
	struct rs_network_conf *c = &b->f->net;
	struct rs_load *l = b->l;
	enum rs_network_kind kind = b->f->kind;

	*c = (struct rs_network_conf){
		.nics = 1, .ports = NET_PORTS_MAX, .rate = 400 * RS_GBPS, .delay = 500 * RS_NS};
	rs_node_rate(l, n, "rate", &c->rate);
	rs_node_time(l, n, "delay", RS_NS, 10 * RS_MS, &c->delay);
	rs_node_share(l, n, "loss", 0, 1, &c->loss);
	c->uplink_rate = c->rate;
	c->uplink_delay = c->delay;
	rs_node_rate(l, n, "uplink_rate", &c->uplink_rate);
	rs_node_time(l, n, "uplink_delay", RS_NS, 10 * RS_MS, &c->uplink_delay);
	rs_node_u32(l, n, "nics", 1, 64, &c->nics);
	if (kind == RS_NET_FAT_TREE && rs_node_need(l, n, "k", "a fat tree"))
		rs_node_u32(l, n, "k", 2, 128, &c->k); /* and even */
	c->tiers = 3;
	if (kind == RS_NET_FAT_TREE)
		rs_node_u32(l, n, "tiers", 2, 3, &c->tiers);
	if (!l->err && c->k % 2)
		rs_load_fail(l, -EINVAL, rs_node_get(n, "k")->at,
			     "k: expected an even number from 2 to 128, found %u", c->k);
	rs_node_u32(l, n, "ports", 1, NET_PORTS_MAX, &c->ports);
	if (kind == RS_NET_LEAF_SPINE && rs_node_need(l, n, "leaves", "leaf-spine") &&
	    rs_node_need(l, n, "spines", "leaf-spine"))
		rs_node_u32(l, n, "spines", 1, NET_PORTS_MAX, &c->spines);
	rs_node_u32(l, n, "leaves", 1, CLOS_LEAVES_MAX, &c->leaves);
	rs_node_u32(l, n, "rails", 1, NET_PORTS_MAX, &c->rails);
	rs_node_u32(l, n, kind == RS_NET_RAIL ? "hosts_per_group" : "hosts_per_leaf", 1,
		    NET_PORTS_MAX, &c->hosts_per_leaf);
}

/* The largest path MTU of an Ethernet MTU: Linux takes 96 bytes off for the longest headers
 * (include/rdma/ib_addr.h, iboe_get_mtu). */
static int path_mtu_of(int64_t ethernet)
{
	int m = 4096;

	while (m > 256 && m + 96 > ethernet)
		m /= 2;
	return m;
}

static void mtu(struct builder *b, const struct rs_node *n)
{
	const struct rs_node *at = rs_node_get(n, "mtu");
	const char *s = at ? rs_node_scalar(b->l, at, "mtu") : NULL;
	char text[24];
	int64_t v;

	if (!s)
		return;
	snprintf(text, sizeof(text), "%s", s);
	text[strcspn(text, "B")] = '\0'; /* 4096B is as good */
	if (rs_parse_int(text, 0, 1 << 20, &v, NULL))
		v = 0;
	if (v >= 256 && v <= 4096 && !(v & (v - 1)))
		b->f->transport.mtu = (uint16_t)v;
	else if (v >= 512)
		rs_load_fail(b->l, -ERANGE, at->at,
			     "mtu: expected a path MTU of 256, 512, 1024, 2048 or 4096, found "
			     "'%s'; links "
			     "of "
			     "an Ethernet MTU of %d carry a path MTU of %d: write mtu: %d",
			     s, (int)v, path_mtu_of(v), path_mtu_of(v));
	else
		rs_load_fail(
			b->l, -EINVAL, at->at,
			"mtu: expected a path MTU of 256, 512, 1024, 2048 or 4096, found '%.80s'",
			s);
}

void load_network(struct rs_load *l, struct rs_fabric *f, const struct rs_node *fabric)
{
	const struct rs_node *n = l->err ? NULL : rs_node_need(l, fabric, "network", "fabric");
	struct builder b = {l, f, n ? n->at : fabric->at};
	int kind = 0;

	if (!n)
		return;
	if (n->kind == RS_NODE_MAP && rs_node_need(l, n, "kind", "network"))
		rs_node_name(l, n, "kind", network_kinds, &kind);
	if (l->err || !rs_node_keys(l, n, "network", keys_of_kind[kind]))
		return;
	f->kind = (enum rs_network_kind)kind;
	parameters(&b, n);
	mtu(&b, n);
	if (f->n_hosts && (rs_node_get(n, "hosts") || rs_node_get(n, "nics")))
		rs_load_fail(l, -EINVAL, n->at,
			     "network.hosts and network.nics are for a fabric without hosts");
	if (!f->n_hosts)
		plain_hosts(&b, n);
	if (l->err)
		return;
	switch (f->kind) {
	case RS_NET_SINGLE:
		single(&b);
		break;
	case RS_NET_LEAF_SPINE:
	case RS_NET_RAIL:
		leaf_spine(&b, n);
		break;
	case RS_NET_FAT_TREE:
		if (f->net.tiers == 2)
			fat_tree_2(&b);
		else
			fat_tree_3(&b);
		break;
	case RS_NET_EXPLICIT:
		explicit_network(&b, n);
		break;
	}
}
