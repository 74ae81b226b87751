/* fabric.network: its keys by kind, the lists of an explicit one, hosts that have only a name. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"

const char *const network_kinds[] = {"single-switch", "leaf-spine", "fat-tree",
				     "rail",          "explicit",   NULL};

struct builder {
	struct rs_load *l;
	struct rs_fabric *f;
	struct rs_where at;
};

/* ---- Explicit lists ---- */

static const uint32_t SWITCH_BIT = 1u << 31;

static void explicit_switches(struct builder *b, const struct rs_node *list, struct rs_names *t)
{
	struct rs_fabric *f = b->f;

	for (const struct rs_item *i = list->first; i && !b->l->err; i = i->next) {
		static const char *const known[] = {"name", "tier", NULL};
		const struct rs_node *n = i->value;
		const char *name;
		uint8_t tier = 0;

		if (n->kind == RS_NODE_MAP) {
			if (!rs_node_keys(b->l, n, "a switch", known))
				return;
			rs_node_u8(b->l, n, "tier", 0, 7, &tier);
			n = rs_node_need(b->l, n, "name", "a switch");
		}
		name = n ? rs_node_scalar(b->l, n, "switches") : NULL;
		if (name && !rs_names_add(t, name, SWITCH_BIT | f->n_switches))
			rs_load_fail(b->l, -EINVAL, n->at, "the name '%s' is taken", name);
		rs_fabric_add_switch(b->l, f, name, tier, i->at);
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

static struct rs_link_end end_numbered(uint32_t id)
{
	return (struct rs_link_end){.is_switch = id & SWITCH_BIT, .id = id & ~SWITCH_BIT};
}

static void explicit_link(struct builder *b, const struct rs_node *n, const struct rs_names *t)
{
	static const char *const known[] = {"a", "b", "rate", "rate_back", "delay", "loss", NULL};
	const struct rs_network_conf *c = &b->f->net;
	struct rs_fabric_link link = {.rate = c->rate, .delay = c->delay, .loss = c->loss};
	uint32_t x, y;

	if (!rs_node_keys(b->l, n, "a link", known) || !end_of(b, n, "a", t, &x) ||
	    !end_of(b, n, "b", t, &y))
		return;
	rs_node_rate(b->l, n, "rate", &link.rate);
	rs_node_rate(b->l, n, "rate_back", &link.rate_back);
	rs_node_time(b->l, n, "delay", RS_NS, 10 * RS_MS, &link.delay);
	rs_node_share(b->l, n, "loss", 0, 1, &link.loss);
	link.a = end_numbered(x);
	link.b = end_numbered(y);
	rs_fabric_add_link(b->l, b->f, &link, n->at);
}

static void explicit_network(struct builder *b, const struct rs_node *n)
{
	struct rs_fabric *f = b->f;
	const struct rs_node *sw = rs_node_need(b->l, n, "switches", "an explicit network");
	const struct rs_node *links = rs_node_need(b->l, n, "links", "an explicit network");
	struct rs_names t;

	if (!sw || !links || !rs_node_is_list(b->l, sw, "switches") ||
	    !rs_node_is_list(b->l, links, "links"))
		return;
	if (!rs_names_create(b->l, &t, f->n_hosts + f->n_endpoints + sw->n))
		return;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].n_endpoints == 1)
			rs_names_add(&t, f->hosts[i].name, f->hosts[i].first_endpoint);
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		rs_names_add(&t, f->endpoints[i].name, i);
	rs_fabric_draw(b->l, f, sw->n, links->n, b->at);
	explicit_switches(b, sw, &t);
	for (const struct rs_item *i = links->first; i && !b->l->err; i = i->next)
		explicit_link(b, i->value, &t);
	rs_fabric_close_links(b->l, f, links->at);
}

/* ---- Plain hosts ---- */

/* Names as they are written, each once. */
static const char *const *host_names(struct builder *b, const struct rs_node *list)
{
	const char **name = rs_load_take(b->l, list->n ? list->n : 1, sizeof(*name));
	struct rs_names t;
	uint32_t n = 0;

	rs_names_create(b->l, &t, list->n);
	for (const struct rs_item *i = list->first; i && !b->l->err; i = i->next) {
		name[n] = rs_node_scalar(b->l, i->value, "hosts");
		if (name[n] && !rs_names_add(&t, name[n], n))
			rs_load_fail(b->l, -EINVAL, i->at, "the name '%s' is taken", name[n]);
		n++;
	}
	return name;
}

static void plain_hosts(struct builder *b, const struct rs_node *n)
{
	const struct rs_node *hosts = rs_node_get(n, "hosts");
	uint64_t count = rs_fabric_capacity(b->f);
	const char *const *names = NULL;
	int64_t v = 0;

	if (hosts && hosts->kind == RS_NODE_LIST) {
		count = hosts->n;
		if (count * b->f->net.nics <= RS_ENDPOINTS_MAX)
			names = host_names(b, hosts);
	} else if (hosts) {
		rs_node_int(b->l, n, "hosts", 1, RS_ENDPOINTS_MAX, &v);
		count = (uint64_t)v;
	}
	rs_fabric_plain_hosts(b->l, b->f, count, names, n->at);
}

/* Leaf-spine and rail networks. */
static void clos(struct builder *b, const struct rs_node *n)
{
	const struct rs_node *leaves = rs_node_get(n, "leaves"), *rails = rs_node_get(n, "rails");
	struct rs_clos_given g = {.oversubscription = 1,
				  .ports = rs_node_get(n, "ports"),
				  .spines = rs_node_get(n, "spines"),
				  .at = n->at,
				  .leaves = leaves ? leaves->at : n->at,
				  .rails = rails    ? rails->at
					   : leaves ? leaves->at
						    : n->at};

	rs_node_number(b->l, n, "oversubscription", 0.01, 1000, &g.oversubscription);
	if (b->f->kind == RS_NET_RAIL)
		rs_node_u32(b->l, n, "spines", 0, RS_SWITCH_PORTS_MAX, &b->f->net.spines);
	rs_clos_shape(b->l, b->f, &g);
	rs_node_u32(b->l, n, "links", 1, RS_SWITCH_PORTS_MAX, &b->f->net.links);
	rs_clos_close(b->l, b->f, &g);
}

/* ---- The whole ---- */

#define SHARED_KEYS "kind", "hosts", "nics", "rate", "delay", "mtu", "loss", "ports", "routes"
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
	static const char *const routes[] = {"shortest", "up-down", NULL};
	int up_down = 0;

	rs_network_defaults(c);
	rs_node_name(l, n, "routes", routes, &up_down);
	c->up_down = up_down;
	rs_node_rate(l, n, "rate", &c->rate);
	rs_node_time(l, n, "delay", RS_NS, 10 * RS_MS, &c->delay);
	rs_node_share(l, n, "loss", 0, 1, &c->loss);
	c->uplink_rate = c->rate;
	c->uplink_delay = c->delay;
	rs_node_rate(l, n, "uplink_rate", &c->uplink_rate);
	rs_node_time(l, n, "uplink_delay", RS_NS, 10 * RS_MS, &c->uplink_delay);
	rs_node_u32(l, n, "nics", 1, RS_NICS_MAX, &c->nics);
	if (kind == RS_NET_FAT_TREE && rs_node_need(l, n, "k", "a fat tree"))
		rs_node_u32(l, n, "k", 2, RS_FAT_TREE_MAX, &c->k); /* and even */
	if (kind == RS_NET_FAT_TREE)
		rs_node_u32(l, n, "tiers", 2, 3, &c->tiers);
	if (!l->err && c->k % 2)
		rs_load_fail(l, -EINVAL, rs_node_get(n, "k")->at,
			     "k: expected an even number from 2 to 128, found %u", c->k);
	rs_node_u32(l, n, "ports", 1, RS_SWITCH_PORTS_MAX, &c->ports);
	if (kind == RS_NET_LEAF_SPINE && rs_node_need(l, n, "leaves", "leaf-spine") &&
	    rs_node_need(l, n, "spines", "leaf-spine"))
		rs_node_u32(l, n, "spines", 1, RS_SWITCH_PORTS_MAX, &c->spines);
	rs_node_u32(l, n, "leaves", 1, RS_LEAVES_MAX, &c->leaves);
	rs_node_u32(l, n, "rails", 1, RS_SWITCH_PORTS_MAX, &c->rails);
	rs_node_u32(l, n, kind == RS_NET_RAIL ? "hosts_per_group" : "hosts_per_leaf", 1,
		    RS_SWITCH_PORTS_MAX, &c->hosts_per_leaf);
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
	if (f->kind == RS_NET_LEAF_SPINE || f->kind == RS_NET_RAIL)
		clos(&b, n);
	if (f->kind == RS_NET_EXPLICIT)
		explicit_network(&b, n);
	else
		rs_fabric_generate(l, f, b.at);
}
