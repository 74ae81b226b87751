/* Hosts and what they bring: endpoints, an entry a NIC's port, and GPUs. */
#include <errno.h>
#include <string.h>
#include "base/names.h"
#include "fabric/build.h"
#include "fabric/state.h"

/* Entries that there is room for: a power of two, so that it need not be kept. */
static uint32_t room_for(uint32_t n)
{
	uint32_t room = n ? 64 : 0;

	while (room < n)
		room *= 2;
	return room;
}

void rs_fabric_add_hosts(struct rs_load *l, struct rs_fabric *f, const char *prefix, uint32_t first,
			 uint32_t count, const struct rs_host *inside, struct rs_where at)
{
	struct rs_fabric_host *more;

	if (!l->err && (uint64_t)f->n_hosts + count > RS_HOSTS_MAX)
		rs_load_fail(l, -E2BIG, at, "more than %d hosts", RS_HOSTS_MAX);
	if (!l->err && room_for(f->n_hosts + count) > room_for(f->n_hosts)) {
		more = rs_load_take(l, room_for(f->n_hosts + count), sizeof(*more));
		if (more && f->n_hosts)
			memcpy(more, f->hosts, f->n_hosts * sizeof(*more));
		f->hosts = more;
	}
	for (uint32_t i = 0; i < count && !l->err; i++) {
		struct rs_fabric_host *h = &f->hosts[f->n_hosts++];

		h->name = rs_arena_printf(l->arena, "%s%u", prefix, first + i);
		h->inside = inside;
		if (!h->name)
			rs_load_fail(l, -ENOMEM, at, "out of memory");
	}
}

static void check_names(struct rs_load *l, const struct rs_fabric *f, struct rs_where at)
{
	struct rs_names t;

	if (l->err || !rs_names_create(l, &t, f->n_hosts))
		return;
	for (uint32_t i = 0; i < f->n_hosts && !l->err; i++)
		if (!rs_names_add(&t, f->hosts[i].name, i))
			rs_load_fail(l, -EINVAL, at, "two hosts are named '%s'", f->hosts[i].name);
}

static void count_parts(struct rs_fabric *f, struct rs_fabric_host *h)
{
	h->first_endpoint = f->n_endpoints;
	h->first_gpu = f->n_gpus;
	for (int i = 0; i < h->inside->n_parts; i++) {
		h->n_endpoints += fabric_ports_of(&h->inside->parts[i]);
		h->n_gpus += h->inside->parts[i].kind == RS_PART_GPU;
	}
	f->n_endpoints += h->n_endpoints;
	f->n_gpus += h->n_gpus;
}

static void name_nics(struct rs_load *l, struct rs_fabric *f, uint32_t host)
{
	struct rs_fabric_host *h = &f->hosts[host];
	struct rs_fabric_endpoint *e = f->endpoints + h->first_endpoint;

	for (int i = 0; i < h->inside->n_parts && !l->err; i++) {
		const struct rs_part *p = &h->inside->parts[i];

		for (unsigned port = 0; port < fabric_ports_of(p); port++, e++) {
			*e = (struct rs_fabric_endpoint){.host = host,
							 .part = i,
							 .link = FABRIC_NO_LINK,
							 .rate = p->port_rate};
			e->name = fabric_ports_of(p) > 1
					  ? rs_arena_printf(l->arena, "%s/%sp%u", h->name, p->name,
							    port)
					  : rs_arena_printf(l->arena, "%s/%s", h->name, p->name);
			if (!e->name)
				rs_load_fail(l, -ENOMEM, (struct rs_where){0}, "out of memory");
		}
	}
}

/* One line a kind of thing that a source does not say. */
static void say_unknown(struct rs_load *l, struct rs_fabric *f, const struct rs_host *h,
			const char *host)
{
	int links = 0, places = 0, sockets = 0, gpus = 0, nics = 0;
	const char *lines[5] = {0};
	int n = 0;

	for (int i = 0; i < h->n_parts; i++) {
		const struct rs_part *p = &h->parts[i];

		sockets += p->kind == RS_PART_SOCKET;
		gpus += p->kind == RS_PART_GPU;
		nics += p->kind == RS_PART_NIC;
		if (p->kind == RS_PART_SOCKET || p->kind == RS_PART_NVSWITCH)
			continue;
		places += p->parent < 0;
		links += p->parent >= 0 && (!p->up.gen || !p->up.lanes);
	}
	if (links)
		lines[n++] = rs_arena_printf(l->arena,
					     "%s (%s): the speed of %d PCIe link%s; they do not "
					     "limit here",
					     host, h->source, links, links > 1 ? "s" : "");
	if (places)
		lines[n++] = rs_arena_printf(l->arena,
					     "%s (%s): the place of %d device%s in the PCIe tree",
					     host, h->source, places, places > 1 ? "s" : "");
	if (!h->cpu && sockets > 1)
		lines[n++] = rs_arena_printf(l->arena,
					     "%s (%s): the CPU model, and so the rate between "
					     "its sockets",
					     host, h->source);
	if (!gpus && !nics)
		lines[n++] = rs_arena_printf(l->arena,
					     "%s (%s): any GPU or NIC: the file shows no PCIe "
					     "devices",
					     host, h->source);
	for (int i = 0; i < n && f->n_unknown < 64; i++)
		if (lines[i])
			f->unknown[f->n_unknown++] = lines[i];
}

void rs_fabric_close_hosts(struct rs_load *l, struct rs_fabric *f, struct rs_where at)
{
	const struct rs_host *last = NULL;

	check_names(l, f, at);
	for (uint32_t i = 0; i < f->n_hosts && !l->err; i++) {
		count_parts(f, &f->hosts[i]);
		if (f->n_endpoints > RS_ENDPOINTS_MAX || f->n_gpus > RS_ENDPOINTS_MAX)
			rs_load_fail(l, -E2BIG, (struct rs_where){l->name, 1, 1},
				     "more than %d NICs or GPUs in all", RS_ENDPOINTS_MAX);
	}
	if (l->err)
		return;
	f->endpoints = rs_load_take(l, f->n_endpoints ? f->n_endpoints : 1, sizeof(*f->endpoints));
	f->unknown = rs_load_take(l, 64, sizeof(*f->unknown));
	for (uint32_t i = 0; i < f->n_hosts && !l->err; i++) {
		name_nics(l, f, i);
		if (f->hosts[i].inside != last)
			say_unknown(l, f, f->hosts[i].inside, f->hosts[i].name);
		last = f->hosts[i].inside;
	}
	if (!l->err && !f->n_endpoints)
		rs_load_fail(
			l, -EINVAL, (struct rs_where){l->name, 1, 1},
			"none of the hosts has a NIC: nothing can be connected; write one out with "
			"nics:");
}

/* ---- Plain hosts ---- */

static void plain_host(struct rs_load *l, struct rs_fabric *f, uint32_t h, const char *name)
{
	uint32_t nics = f->net.nics;

	f->hosts[h] = (struct rs_fabric_host){.name = name,
					      .first_endpoint = h * nics,
					      .n_endpoints = nics,
					      .first_gpu = h * nics,
					      .n_gpus = nics};
	for (uint32_t i = 0; i < nics && !l->err; i++) {
		const char *ep = nics == 1 ? name : rs_arena_printf(l->arena, "%s/nic%u", name, i);

		if (!ep)
			rs_load_fail(l, -ENOMEM, (struct rs_where){0}, "out of memory");
		f->endpoints[h * nics + i] = (struct rs_fabric_endpoint){
			.host = h, .part = RS_NO_PART, .link = FABRIC_NO_LINK, .name = ep};
	}
}

void rs_fabric_plain_hosts(struct rs_load *l, struct rs_fabric *f, uint64_t count,
			   const char *const *names, struct rs_where at)
{
	if (!l->err && !count)
		rs_load_fail(l, -EINVAL, at, "how many hosts? give network.hosts or fabric.hosts");
	if (!l->err && count * f->net.nics > RS_ENDPOINTS_MAX)
		rs_load_fail(l, -E2BIG, at, "more than %d endpoints", RS_ENDPOINTS_MAX);
	if (l->err)
		return;
	f->n_hosts = f->net.plain_hosts = (uint32_t)count;
	f->n_endpoints = f->n_gpus = f->n_hosts * f->net.nics;
	f->hosts = rs_load_take(l, f->n_hosts, sizeof(*f->hosts));
	f->endpoints = rs_load_take(l, f->n_endpoints, sizeof(*f->endpoints));
	for (uint32_t h = 0; h < f->n_hosts && !l->err; h++) {
		const char *name = names ? names[h] : rs_arena_printf(l->arena, "h%u", h);

		if (!name)
			rs_load_fail(l, -ENOMEM, at, "out of memory");
		else
			plain_host(l, f, h, name);
	}
	if (names)
		check_names(l, f, at);
}

uint64_t rs_fabric_capacity(const struct rs_fabric *f)
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
