/* How many leaves, spines and links a leaf-spine or rail network has, and which leaf a NIC is on.
 * A rail network is groups of hosts with a leaf a rail: NIC i of a host is on rail i mod rails. */
#include <errno.h>
#include "fabric/build.h"
#include "fabric/state.h"

enum {
	SWITCH_GBPS = 51200, /* of today's largest common switch chips: 128 ports at 400G */
	LOGICAL_PORTS = 256, /* that such a chip counts, however slow they are */
	LOGICAL_PORTS_LEAST = 16,
};

static uint32_t ceil_of(uint64_t a, uint64_t b)
{
	return (uint32_t)((a + b - 1) / b);
}

/* "1 to 5 leaves", "1 leaf". */
static const char *one_to(char *buf, size_t size, uint32_t most, const char *one, const char *many)
{
	if (most == 1)
		snprintf(buf, size, "1 %s", one);
	else
		snprintf(buf, size, "1 to %u %s", most, many);
	return buf;
}

static uint32_t most_nics(const struct rs_fabric *f)
{
	uint32_t most = 0;

	for (uint32_t h = 0; h < f->n_hosts; h++)
		if (f->hosts[h].n_endpoints > most)
			most = f->hosts[h].n_endpoints;
	return most;
}

static uint32_t groups_of(const struct rs_network_conf *c)
{
	return c->leaves / c->rails;
}

/* In order when it is said how many hosts a leaf has; else dealt out evenly. */
static uint32_t group_of(const struct rs_fabric *f, uint32_t host)
{
	const struct rs_network_conf *c = &f->net;

	return c->hosts_per_leaf ? host / c->hosts_per_leaf
				 : (uint32_t)((uint64_t)host * groups_of(c) / f->n_hosts);
}

uint32_t clos_leaf(const struct rs_fabric *f, uint32_t ep)
{
	uint32_t host = f->endpoints[ep].host, nic = ep - f->hosts[host].first_endpoint;

	return group_of(f, host) * f->net.rails + nic % f->net.rails;
}

/* ---- How many ---- */

/* Hosts whose NICs and uplinks fit on the leaves of a group: 0, not one. */
static uint32_t hosts_that_fit(const struct rs_fabric *f, double oversubscription)
{
	const struct rs_network_conf *c = &f->net;
	uint32_t nics = ceil_of(most_nics(f), c->rails), n = c->ports / nics;
	double up_a_host = c->spines ? (double)nics * (double)c->rate / (double)c->uplink_rate /
					       oversubscription
				     : 0;

	while (n && (double)n * (nics + up_a_host) > c->ports + 1e-6)
		n--;
	return n;
}

static void rail_groups(struct rs_load *l, struct rs_fabric *f, const struct rs_clos_given *g)
{
	struct rs_network_conf *c = &f->net;
	uint32_t groups, fit;

	if (c->leaves) {
		if (c->leaves % c->rails)
			rs_load_fail(
				l, -EINVAL, g->leaves,
				"leaves: %u leaves are not whole groups of %u rails; expected a "
				"multiple of %u, or other rails",
				c->leaves, c->rails, c->rails);
		return;
	}
	if (c->hosts_per_leaf) {
		groups = ceil_of(f->n_hosts, c->hosts_per_leaf);
	} else {
		fit = hosts_that_fit(f, g->oversubscription);
		groups = fit ? ceil_of(f->n_hosts, fit) : 1;
	}
	c->leaves = groups * c->rails;
}

/* rails, leaves and hosts_per_group: what is not given follows from the others. */
static void rail_resolve(struct rs_load *l, struct rs_fabric *f, const struct rs_clos_given *g)
{
	struct rs_network_conf *c = &f->net;
	uint32_t most = most_nics(f), groups;
	char text[48];

	groups = c->hosts_per_leaf ? ceil_of(f->n_hosts, c->hosts_per_leaf) : 0;
	if (!c->rails && c->leaves && groups && c->leaves % groups)
		rs_load_fail(
			l, -EINVAL, g->leaves,
			"leaves: %u hosts in groups of %u are %u groups, which %u leaves do not "
			"divide "
			"into; expected a multiple of %u",
			f->n_hosts, c->hosts_per_leaf, groups, c->leaves, groups);
	if (!c->rails && c->leaves && !groups && c->leaves > most && c->leaves % most)
		rs_load_fail(
			l, -EINVAL, g->leaves,
			"leaves: a host has at most %u NIC%s, so that %u leaves would stand empty; "
			"expected %s, or a multiple of %u for groups of hosts",
			most, most > 1 ? "s" : "", c->leaves - most,
			one_to(text, sizeof(text), most, "leaf", "leaves"), most);
	if (l->err)
		return;
	if (!c->rails)
		c->rails = !c->leaves         ? most
			   : groups           ? c->leaves / groups
			   : c->leaves < most ? c->leaves
					      : most;
	if (c->rails > most)
		rs_load_fail(
			l, -EINVAL, g->rails,
			"%u rails, but a host has at most %u NIC%s: the other leaves would stand "
			"empty; "
			"expected %s",
			c->rails, most, most > 1 ? "s" : "",
			one_to(text, sizeof(text), most, "rail", "rails"));
	if (!l->err)
		rail_groups(l, f, g);
	if (!l->err && groups && groups_of(c) != groups)
		rs_load_fail(
			l, -EINVAL, g->leaves,
			"leaves: %u hosts in groups of %u are %u groups of %u rails; expected %u "
			"leaves, "
			"found %u",
			f->n_hosts, c->hosts_per_leaf, groups, c->rails, groups * c->rails,
			c->leaves);
}

/* One group: a spine for every two leaves. More: no more than a leaf has uplinks for, but as many
 * as the uplinks of all leaves need. */
static uint32_t rail_spines(const struct rs_fabric *f, double over)
{
	const struct rs_network_conf *c = &f->net;
	uint32_t half = (c->leaves + 1) / 2, hosts = ceil_of(f->n_hosts, groups_of(c)), up, least;
	double down = (double)hosts * ceil_of(most_nics(f), c->rails) * (double)c->rate;

	if (c->leaves < 2)
		return 0;
	if (groups_of(c) == 1)
		return half;
	up = (uint32_t)(down / over / (double)c->uplink_rate + 0.999999);
	up = up ? up : 1;
	least = ceil_of((uint64_t)c->leaves * up, c->ports);
	up = up < half ? up : half;
	return up > least ? up : least;
}

/* Links of a leaf-spine pair so that the fullest leaf is oversubscribed by no more than this. */
static uint32_t pair_links(struct rs_load *l, const struct rs_fabric *f, double oversubscription)
{
	int64_t *down, most = 0;
	double n;

	down = rs_load_take(l, f->net.leaves, sizeof(*down));
	for (uint32_t i = 0; down && i < f->n_endpoints; i++) {
		int64_t rate = f->endpoints[i].rate;
		int64_t *d = &down[clos_leaf(f, i)];

		*d += rate && rate < f->net.rate ? rate : f->net.rate;
		most = *d > most ? *d : most;
	}
	n = (double)most / oversubscription / (double)f->net.spines / (double)f->net.uplink_rate;
	return n <= 1                    ? 1
	       : n > RS_SWITCH_PORTS_MAX ? RS_SWITCH_PORTS_MAX
					 : (uint32_t)(n + 0.999999);
}

/* ---- What cannot be built ---- */

static void leaf_ports(struct rs_load *l, const struct rs_fabric *f, const struct rs_clos_given *g,
		       uint32_t leaf, uint32_t down)
{
	const struct rs_network_conf *c = &f->net;
	uint64_t up = (uint64_t)c->spines * c->links;

	if (down + up <= c->ports)
		return;
	rs_load_fail(
		l, -EINVAL, g->at,
		"leaf%u would have %u ports to NICs and %llu to spines; a switch has at most %u "
		"(network.ports, 1 to %d): %s or more oversubscription",
		leaf, down, (unsigned long long)up, c->ports, RS_SWITCH_PORTS_MAX,
		f->kind == RS_NET_RAIL ? "fewer hosts_per_group" : "more leaves");
}

static void empty_leaf(struct rs_load *l, const struct rs_fabric *f, const struct rs_clos_given *g,
		       uint32_t leaf)
{
	const struct rs_network_conf *c = &f->net;
	char text[48];

	if (f->kind == RS_NET_LEAF_SPINE)
		rs_load_fail(l, -EINVAL, g->leaves,
			     "leaves: %u host%s leave some of %u leaves empty; expected %s, or "
			     "hosts_per_leaf",
			     f->n_hosts, f->n_hosts == 1 ? "" : "s", c->leaves,
			     one_to(text, sizeof(text), f->n_hosts, "leaf", "leaves"));
	else if (groups_of(c) > f->n_hosts)
		rs_load_fail(l, -EINVAL, g->at, "%u groups of hosts, but %u host%s; expected %s",
			     groups_of(c), f->n_hosts, f->n_hosts > 1 ? "s" : "",
			     one_to(text, sizeof(text), f->n_hosts, "group", "groups"));
	else
		rs_load_fail(
			l, -EINVAL, g->at,
			"leaf%u, rail %u of group %u, would stand empty: no host of that group has "
			"%u NICs; put hosts with as many NICs into one group, or give fewer rails",
			leaf, leaf % c->rails, leaf / c->rails, leaf % c->rails + 1);
}

static void check_leaves(struct rs_load *l, const struct rs_fabric *f,
			 const struct rs_clos_given *g)
{
	const struct rs_network_conf *c = &f->net;
	uint32_t *down = rs_load_take(l, c->leaves, sizeof(*down));
	bool may_be_empty = f->kind == RS_NET_LEAF_SPINE && c->hosts_per_leaf;

	for (uint32_t i = 0; down && i < f->n_endpoints; i++)
		down[clos_leaf(f, i)]++;
	for (uint32_t i = 0; down && i < c->leaves && !l->err; i++) {
		if (!down[i] && !may_be_empty)
			empty_leaf(l, f, g, i);
		else
			leaf_ports(l, f, g, i, down[i]);
	}
	if (!l->err && (uint64_t)c->leaves * c->links > c->ports)
		rs_load_fail(l, -EINVAL, g->at,
			     "a spine would have %llu ports, %u leaves x %u links; a switch has at "
			     "most %u "
			     "(network.ports, 1 to %d): %s",
			     (unsigned long long)c->leaves * c->links, c->leaves, c->links,
			     c->ports, RS_SWITCH_PORTS_MAX,
			     c->links > 1 ? "more spines" : "larger groups or a fat tree");
}

/* ---- The whole ---- */

/* What a chip has at this rate, unless it is said. */
static uint32_t ports_at(int64_t rate)
{
	int64_t n = SWITCH_GBPS * RS_GBPS / rate;

	return n > LOGICAL_PORTS         ? LOGICAL_PORTS
	       : n < LOGICAL_PORTS_LEAST ? LOGICAL_PORTS_LEAST
					 : (uint32_t)n;
}

void rs_clos_shape(struct rs_load *l, struct rs_fabric *f, const struct rs_clos_given *g)
{
	struct rs_network_conf *c = &f->net;

	if (l->err)
		return;
	if (f->kind == RS_NET_LEAF_SPINE) {
		c->rails = 1;
		if ((uint64_t)c->leaves * c->hosts_per_leaf < f->n_hosts && c->hosts_per_leaf)
			rs_load_fail(l, -EINVAL, g->at, "%u hosts do not fit on %u leaves of %u",
				     f->n_hosts, c->leaves, c->hosts_per_leaf);
	} else {
		c->ports = g->ports ? c->ports : ports_at(c->rate);
		if (!g->spines)
			c->spines = 1; /* that there are any: how many follows */
		rail_resolve(l, f, g);
		if (!l->err && c->leaves > RS_LEAVES_MAX)
			rs_load_fail(l, -E2BIG, g->at, "%u leaves; at most %d", c->leaves,
				     RS_LEAVES_MAX);
		if (!l->err && !g->spines)
			c->spines = rail_spines(f, g->oversubscription);
	}
	if (!l->err && c->spines)
		c->links = pair_links(l, f, g->oversubscription);
}

void rs_clos_close(struct rs_load *l, struct rs_fabric *f, const struct rs_clos_given *g)
{
	struct rs_network_conf *c = &f->net;

	if (!c->spines)
		c->links = 0;
	if (!l->err)
		check_leaves(l, f, g);
	if (!l->err && !c->hosts_per_leaf && f->n_hosts % groups_of(c) == 0)
		c->hosts_per_leaf = f->n_hosts / groups_of(c); /* the same, said */
}
