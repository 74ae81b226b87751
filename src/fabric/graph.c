/* The graph of switches and links: generators, and what is drawn one by one. A switch's ports are
 * numbered as its links are made: endpoints first. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "fabric/build.h"
#include "fabric/state.h"

struct builder {
	struct rs_load *l;
	struct rs_fabric *f;
	struct rs_where at;
};

static void switches(struct builder *b, uint32_t n)
{
	if (n > RS_SWITCHES_MAX)
		rs_load_fail(b->l, -E2BIG, b->at, "%u switches; at most %d", n, RS_SWITCHES_MAX);
	b->f->switches = rs_load_take(b->l, n ? n : 1, sizeof(*b->f->switches));
	b->f->room_switches = n;
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
	if (n > RS_LINKS_MAX)
		rs_load_fail(b->l, -E2BIG, b->at, "%llu links; at most %d", (unsigned long long)n,
			     RS_LINKS_MAX);
	b->f->links = rs_load_take(b->l, n ? n : 1, sizeof(*b->f->links));
	b->f->room_links = (uint32_t)n;
}

static uint16_t port_of(struct builder *b, uint32_t sw)
{
	struct rs_fabric_switch *s = &b->f->switches[sw];

	if (s->n_ports == b->f->net.ports) {
		rs_load_fail(b->l, -E2BIG, b->at,
			     "switch %s needs more than %u ports (network.ports, 1 to %d)", s->name,
			     b->f->net.ports, RS_SWITCH_PORTS_MAX);
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

static void leaf_spine(struct builder *b)
{
	struct rs_fabric *f = b->f;
	struct rs_network_conf *c = &f->net;

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

void rs_fabric_generate(struct rs_load *l, struct rs_fabric *f, struct rs_where at)
{
	struct builder b = {l, f, at};

	if (l->err)
		return;
	switch (f->kind) {
	case RS_NET_SINGLE:
		single(&b);
		break;
	case RS_NET_LEAF_SPINE:
	case RS_NET_RAIL:
		leaf_spine(&b);
		break;
	case RS_NET_FAT_TREE:
		if (f->net.tiers == 2)
			fat_tree_2(&b);
		else
			fat_tree_3(&b);
		break;
	case RS_NET_EXPLICIT:
		break; /* drawn */
	}
}

/* ---- Drawn one by one ---- */

void rs_fabric_draw(struct rs_load *l, struct rs_fabric *f, uint32_t n_switches, uint64_t n_links,
		    struct rs_where at)
{
	struct builder b = {l, f, at};

	f->kind = RS_NET_EXPLICIT;
	switches(&b, n_switches);
	space_for_links(&b, n_links);
}

uint32_t rs_fabric_add_switch(struct rs_load *l, struct rs_fabric *f, const char *name,
			      uint8_t tier, struct rs_where at)
{
	if (!l->err && f->n_switches == f->room_switches)
		rs_load_fail(l, -E2BIG, at, "more switches than rs_fabric_draw() made room for");
	if (l->err)
		return 0;
	f->switches[f->n_switches] = (struct rs_fabric_switch){.name = name, .tier = tier};
	return f->n_switches++;
}

/* A NIC's only link. */
static void end_at_nic(struct rs_fabric *f, struct rs_fabric_link *k)
{
	struct rs_fabric_endpoint *e = &f->endpoints[k->a.id];

	if (e->rate && e->rate < k->rate)
		k->rate = e->rate;
	e->rate = k->rate;
	e->link = f->n_links;
	e->node = k->b.id;
}

static void check_end(struct rs_load *l, const struct rs_fabric *f, const struct rs_link_end *e,
		      struct rs_where at)
{
	uint32_t n = e->is_switch ? f->n_switches : f->n_endpoints;

	if (!l->err && e->id >= n)
		rs_load_fail(l, -ERANGE, at, "there is no %s %u; there are %u, from 0",
			     e->is_switch ? "switch" : "endpoint", e->id, n);
}

static void check_link(struct rs_load *l, const struct rs_fabric *f, const struct rs_fabric_link *k,
		       struct rs_where at)
{
	if (!l->err && f->n_links == f->room_links)
		rs_load_fail(l, -E2BIG, at, "more links than rs_fabric_draw() made room for");
	check_end(l, f, &k->a, at);
	check_end(l, f, &k->b, at);
	if (!l->err && !k->b.is_switch)
		rs_load_fail(l, -EINVAL, at, "a link between two NICs; put a switch between them");
	if (!l->err && k->a.is_switch && k->a.id == k->b.id)
		rs_load_fail(l, -EINVAL, at, "a link from a switch to itself");
	if (!l->err && !k->a.is_switch && f->endpoints[k->a.id].link != FABRIC_NO_LINK)
		rs_load_fail(l, -EINVAL, at, "a second link of %s; a NIC has one port",
			     f->endpoints[k->a.id].name);
}

void rs_fabric_add_link(struct rs_load *l, struct rs_fabric *f, const struct rs_fabric_link *k,
			struct rs_where at)
{
	struct builder b = {l, f, at};
	struct rs_fabric_link link = *k;

	if (!k->b.is_switch) {
		link.a = k->b;
		link.b = k->a;
		link.rate = k->rate_back ? k->rate_back : k->rate;
		link.rate_back = k->rate_back ? k->rate : 0;
	}
	check_link(l, f, &link, at);
	if (l->err)
		return;
	if (!link.a.is_switch)
		end_at_nic(f, &link);
	else
		link.a.port = port_of(&b, link.a.id);
	link.b.port = port_of(&b, link.b.id);
	f->links[f->n_links++] = link;
}

void rs_fabric_close_links(struct rs_load *l, struct rs_fabric *f, struct rs_where at)
{
	for (uint32_t i = 0; i < f->n_endpoints && !l->err; i++)
		if (f->endpoints[i].link == FABRIC_NO_LINK)
			rs_load_fail(l, -EINVAL, at, "%s has no link", f->endpoints[i].name);
}

/* ---- Is it still one network? ---- */

static uint32_t root_of(uint32_t *of, uint32_t s)
{
	while (of[s] != s)
		s = of[s] = of[of[s]];
	return s;
}

/* [switch]: one switch of all that are joined to it. */
static uint32_t *islands(struct rs_load *l, const struct rs_fabric *f, bool up_only)
{
	uint32_t *of = rs_load_take(l, f->n_switches, sizeof(*of));

	for (uint32_t i = 0; of && i < f->n_switches; i++)
		of[i] = i;
	for (uint32_t i = 0; of && i < f->n_links; i++) {
		const struct rs_fabric_link *k = &f->links[i];

		if (k->a.is_switch && !(up_only && k->down))
			of[root_of(of, k->a.id)] = root_of(of, k->b.id);
	}
	return of;
}

/* Two NICs whose links are up, joined as the network was drawn, and no longer. */
static void check_whole(struct rs_load *l, const struct rs_fabric *f, struct rs_where at)
{
	uint32_t *before = islands(l, f, false), *after = islands(l, f, true);
	uint32_t *first = rs_load_take(l, f->n_switches, sizeof(*first)); /* endpoint + 1 */

	for (uint32_t i = 0; first && i < f->n_endpoints && !l->err; i++) {
		const struct rs_fabric_endpoint *e = &f->endpoints[i];
		uint32_t *seen = &first[root_of(before, e->node)];

		if (f->links[e->link].down)
			continue;
		if (!*seen)
			*seen = i + 1;
		else if (root_of(after, e->node) != root_of(after, f->endpoints[*seen - 1].node))
			rs_load_fail(l, -EINVAL, at,
				     "the changes cut the network in two: %s (on %s) no longer "
				     "reaches %s "
				     "(on %s)",
				     f->endpoints[*seen - 1].name,
				     f->switches[f->endpoints[*seen - 1].node].name, e->name,
				     f->switches[e->node].name);
	}
}

void rs_fabric_close_changes(struct rs_load *l, struct rs_fabric *f, struct rs_where at)
{
	f->n_down = 0;
	for (uint32_t i = 0; i < f->n_links && !l->err; i++)
		f->n_down += f->links[i].down;
	if (!l->err && f->n_down)
		check_whole(l, f, at);
}
