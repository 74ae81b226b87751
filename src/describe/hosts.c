/* Host groups: written out, or like a file, overlaid, changed one by one; and which NIC is nearest
 * to a GPU. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"
#include "import/import.h"

enum { GROUPS_MAX = 1024 };

/* ---- Written out ---- */

static void get_pcie(struct rs_load *l, const struct rs_node *map, const char *key,
		     struct rs_pcie *out)
{
	const struct rs_node *n = rs_node_get(map, key);
	unsigned gen, lanes;
	const char *s;
	int end = 0;

	if (!n || l->err)
		return;
	if (n->kind == RS_NODE_MAP) {
		static const char *const known[] = {"gen", "lanes", "mps", "mrrs", NULL};
		uint64_t mps = out->mps, mrrs = out->mrrs;

		rs_node_keys(l, n, key, known);
		rs_node_u8(l, n, "gen", 0, 6, &out->gen);
		rs_node_u8(l, n, "lanes", 0, 32, &out->lanes);
		rs_node_bytes(l, n, "mps", 0, 4096, &mps);
		rs_node_bytes(l, n, "mrrs", 0, 4096, &mrrs);
		out->mps = (uint16_t)mps;
		out->mrrs = (uint16_t)mrrs;
		return;
	}
	s = n->text;
	if (sscanf(s, "gen%1ux%2u%n", &gen, &lanes, &end) != 2 || s[end] || gen < 1 || gen > 6 ||
	    lanes < 1 || lanes > 32) {
		rs_load_fail(l, -EINVAL, n->at, "%s: expected a link such as gen5x16, found '%s'",
			     key, s);
		return;
	}
	out->gen = (uint8_t)gen;
	out->lanes = (uint8_t)lanes;
}

static const char *const part_keys[] = {"name",
					"model",
					"busid",
					"on",
					"pcie",
					"on2",
					"pcie2",
					"numa",
					"rate",
					"ports",
					"read_buffer",
					"tags",
					"posted_data_credits",
					"posted_header_credits",
					"inline",
					"message_rate",
					"qp_message_rate",
					"qp_rate",
					NULL};
/* The first of part_keys that only NICs have, and of those that GPUs have, too. */
enum { NIC_KEYS = 8, GPU_KEYS = 10, GPU_KEYS_END = 14 };

static void only_where_they_mean_something(struct rs_load *l, const struct rs_part *p,
					   const struct rs_node *n)
{
	for (unsigned i = NIC_KEYS; part_keys[i] && p->kind != RS_PART_NIC; i++) {
		bool gpu = p->kind == RS_PART_GPU && i >= GPU_KEYS && i < GPU_KEYS_END;

		if (rs_node_get(n, part_keys[i]) && !gpu)
			rs_load_fail(l, -EINVAL, rs_node_get(n, part_keys[i])->at,
				     "%s: only a NIC%s has it", part_keys[i],
				     i >= GPU_KEYS && i < GPU_KEYS_END ? " or a GPU" : "");
	}
}

/* 0 says that there is none; what is absent says nothing. */
static void get_limit(struct rs_load *l, const struct rs_node *n, const char *key, uint32_t unit,
		      uint32_t *out)
{
	double v = 0;

	rs_node_number(l, n, key, 0, 4e9 * unit, &v);
	if (!rs_node_get(n, key) || l->err)
		return;
	*out = v <= 0 ? RS_NO_LIMIT : v < unit ? 1 : (uint32_t)(v / unit);
}

static void get_limits(struct rs_load *l, struct rs_part *p, const struct rs_node *n)
{
	struct rs_dma_limits *d = &p->limits;
	int64_t rate = 0;

	rs_node_u32(l, n, "read_buffer", 4096, 1 << 24, &d->read_buffer);
	rs_node_u32(l, n, "tags", 1, 15360, &d->tags);
	rs_node_u32(l, n, "posted_data_credits", 256, 1 << 16, &d->data_credits);
	rs_node_u32(l, n, "posted_header_credits", 1, 1 << 16, &d->header_credits);
	rs_node_u32(l, n, "inline", 0, 1024, &d->inline_bytes);
	if (rs_node_get(n, "inline") && !d->inline_bytes)
		d->inline_bytes = RS_NO_LIMIT;
	get_limit(l, n, "message_rate", 1000, &d->message_rate);
	get_limit(l, n, "qp_message_rate", 1000, &d->qp_message_rate);
	if (!rs_node_get(n, "qp_rate") || l->err)
		return;
	if (rs_node_get(n, "qp_rate")->kind == RS_NODE_SCALAR &&
	    rs_node_get(n, "qp_rate")->text[0] == '0' &&
	    strtod(rs_node_get(n, "qp_rate")->text, NULL) == 0) {
		d->qp_rate = RS_NO_LIMIT;
		return;
	}
	rs_node_rate(l, n, "qp_rate", &rate);
	if (!l->err && (rate < 100 * RS_MBPS || rate > 4000 * RS_GBPS))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "qp_rate")->at,
			     "qp_rate: expected 100M to 4000G, or 0 for no limit");
	d->qp_rate = (uint32_t)(rate / RS_MBPS);
}

static void unknown_model(struct rs_load *l, const char *model, struct rs_where at)
{
	const char *names[64];
	unsigned k = 0;

	for (; k < 63 && rs_nic_model_at(k); k++)
		names[k] = rs_nic_model_at(k)->name;
	names[k] = NULL;
	rs_load_fail(
		l, -EINVAL, at,
		"model: '%.80s' is no known NIC%s; known: %s; for another leave model out and give "
		"its "
		"rate, pcie and limits",
		model, rs_did_you_mean(l, model, names), rs_list_names(l, names));
}

/* A NIC's model gives what its own keys do not say. */
static void model_gives(struct rs_load *l, struct rs_part *p, const struct rs_node *said,
			const struct rs_node *ports)
{
	const struct rs_nic_model *m = rs_nic_model_find(p->model);

	if (l->err || !p->model)
		return;
	if (!m)
		unknown_model(l, p->model, said->at);
	else if (p->ports > m->ports)
		rs_load_fail(l, -EINVAL, (ports ? ports : said)->at, "ports: %s has at most %u",
			     m->name, m->ports);
	if (l->err)
		return;
	p->model = m->name;
	if (!p->port_rate)
		p->port_rate = m->rate[p->ports > 1] * RS_GBPS;
	if (!p->up.gen && !p->up.lanes) {
		p->up.gen = m->slot.gen;
		p->up.lanes = m->slot.lanes;
	}
}

static void part_body(struct rs_load *l, struct rs_part *p, const struct rs_node *n)
{
	int64_t numa = p->numa;

	only_where_they_mean_something(l, p, n);
	rs_node_string(l, n, "model", &p->model);
	rs_node_string(l, n, "busid", &p->busid);
	get_pcie(l, n, "pcie", &p->up);
	get_pcie(l, n, "pcie2", &p->up2);
	rs_node_int(l, n, "numa", -1, 4095, &numa);
	rs_node_rate(l, n, "rate", &p->port_rate);
	p->numa = (int)numa;
	if (p->kind == RS_PART_NIC || p->kind == RS_PART_GPU)
		get_limits(l, p, n);
	if (p->kind == RS_PART_NIC) {
		rs_node_u8(l, n, "ports", 1, 8, &p->ports);
		model_gives(l, p, rs_node_get(n, "model"), rs_node_get(n, "ports"));
	}
}

static void part_of_list(struct rs_load *l, struct rs_host *h, enum rs_part_kind kind,
			 const struct rs_node *n)
{
	const char *name = NULL;
	struct rs_part *p;

	if (!rs_node_keys(l, n, "a device", part_keys) || !rs_node_need(l, n, "name", "a device"))
		return;
	rs_node_string(l, n, "name", &name);
	if (!l->err && rs_host_find(h, name) >= 0)
		rs_load_fail(l, -EINVAL, n->at, "the name '%s' is taken in this host", name);
	p = l->err ? NULL : rs_host_part_add(l, h, kind, name);
	if (p)
		part_body(l, p, n);
}

struct section {
	const char *key, *prefix;
	enum rs_part_kind kind;
};
static const struct section sections[] = {{"sockets", "socket", RS_PART_SOCKET},
					  {"switches", "sw", RS_PART_PCI_BRIDGE},
					  {"gpus", "gpu", RS_PART_GPU},
					  {"nics", "nic", RS_PART_NIC},
					  {"nvswitches", "nvswitch", RS_PART_NVSWITCH},
					  {"others", "other", RS_PART_OTHER},
					  {NULL, NULL, RS_PART_OTHER}};

static void add_section(struct rs_load *l, struct rs_host *h, const struct section *s,
			const struct rs_node *n)
{
	int64_t count = 0;

	if (n->kind == RS_NODE_LIST) {
		for (const struct rs_item *i = n->first; i && !l->err; i = i->next)
			part_of_list(l, h, s->kind, i->value);
		return;
	}
	if (s->kind != RS_PART_SOCKET) {
		rs_node_is_list(l, n, s->key);
		return;
	}
	if (rs_node_scalar(l, n, s->key)) {
		struct rs_error e = {0};

		if (rs_parse_int(n->text, 1, 64, &count, &e))
			rs_load_fail(l, -EINVAL, n->at, "sockets: %s", e.what);
	}
	for (int i = 0; i < count && !l->err; i++) {
		struct rs_part *p =
			rs_host_part_add(l, h, s->kind, rs_arena_printf(l->arena, "socket%d", i));

		if (p)
			p->numa = i;
	}
}

static void no_part(struct rs_load *l, const struct rs_host *h, const char *s, struct rs_where at)
{
	const char *names[65];
	int k = 0;

	for (int j = 0; j < h->n_parts && k < 64; j++)
		names[k++] = h->parts[j].name;
	names[k] = NULL;
	rs_load_fail(l, -EINVAL, at, "the host has no part '%.80s'%s", s,
		     rs_did_you_mean(l, s, names));
}

static int find_part(struct rs_load *l, const struct rs_host *h, const struct rs_node *n)
{
	const char *s = rs_node_scalar(l, n, "a part");
	int i = s ? rs_host_find(h, s) : RS_NO_PART;

	if (s && i < 0)
		no_part(l, h, s, n->at);
	return i;
}

static void attach(struct rs_load *l, struct rs_host *h, const struct rs_node *n)
{
	const struct rs_node *name = rs_node_get(n, "name"), *on = rs_node_get(n, "on"),
			     *on2 = rs_node_get(n, "on2");
	struct rs_part *p = &h->parts[rs_host_find(h, name->text)];

	if (on)
		p->parent = find_part(l, h, on);
	if (on2)
		p->parent2 = find_part(l, h, on2);
}

static void add_xlink(struct rs_load *l, struct rs_host *h, const struct rs_node *n)
{
	static const char *const known[] = {"a", "b", "kind", "rate", "latency", "p2p_rate", NULL};
	static const char *const kinds[] = {"socket", "nvlink", "c2c", NULL};
	const struct rs_node *a, *b, *p2p;
	struct rs_xlink *x;
	int ia, ib, kind = 0;

	if (!rs_node_keys(l, n, "a cross link", known))
		return;
	a = rs_node_need(l, n, "a", "a cross link");
	b = rs_node_need(l, n, "b", "a cross link");
	if (!a || !b)
		return;
	ia = find_part(l, h, a);
	ib = find_part(l, h, b);
	rs_node_name(l, n, "kind", kinds, &kind);
	x = l->err ? NULL : rs_host_xlink_add(l, h, ia, ib, (enum rs_xlink_kind)kind);
	if (!x)
		return;
	p2p = rs_node_get(n, "p2p_rate");
	rs_node_rate(l, n, "rate", &x->rate);
	rs_node_time(l, n, "latency", 0, RS_MS, &x->latency);
	if (p2p && p2p->kind == RS_NODE_SCALAR && !strcmp(p2p->text, "unlimited"))
		x->p2p_rate = -1;
	else
		rs_node_rate(l, n, "p2p_rate", &x->p2p_rate);
}

struct rs_host *host_written(struct rs_load *l, const struct rs_node *group)
{
	struct rs_host *h = rs_load_take(l, 1, sizeof(*h));
	const struct rs_node *x = rs_node_get(group, "xlinks");

	if (!h)
		return NULL;
	h->source = "written out";
	for (const struct section *s = sections; s->key; s++)
		if (rs_node_get(group, s->key))
			add_section(l, h, s, rs_node_get(group, s->key));
	for (const struct section *s = sections; s->key; s++) {
		const struct rs_node *list = rs_node_get(group, s->key);

		if (list && list->kind == RS_NODE_LIST)
			for (const struct rs_item *i = list->first; i && !l->err; i = i->next)
				attach(l, h, i->value);
	}
	if (x && rs_node_is_list(l, x, "xlinks"))
		for (const struct rs_item *i = x->first; i && !l->err; i = i->next)
			add_xlink(l, h, i->value);
	return h;
}

/* ---- Overlays and changes ---- */

static void overlay_nvlink(struct rs_load *l, struct rs_host *h, const struct rs_node *n)
{
	static const char *const known[] = {"gpus", "rate", "latency", NULL};
	const char *gpus = "all";
	int64_t rate = 0;
	rs_time latency = -1;
	int sw = h->n_parts, before = h->n_parts;

	if (!rs_node_keys(l, n, "nvlink", known))
		return;
	rs_node_string(l, n, "gpus", &gpus);
	rs_node_rate(l, n, "rate", &rate);
	rs_node_time(l, n, "latency", 0, RS_MS, &latency);
	if (!l->err && strcmp(gpus, "all") != 0)
		rs_load_fail(l, -EINVAL, n->at, "nvlink.gpus: expected 'all', found '%s'", gpus);
	if (!l->err && rs_host_find(h, "nvswitch0") >= 0)
		rs_load_fail(l, -EINVAL, n->at,
			     "the host has its NVSwitches already; nvlink: adds the first");
	if (l->err || !rs_host_part_add(l, h, RS_PART_NVSWITCH, "nvswitch0"))
		return;
	for (int i = 0; i < before && !l->err; i++) {
		struct rs_xlink *x;

		if (h->parts[i].kind != RS_PART_GPU)
			continue;
		x = rs_host_xlink_add(l, h, i, sw, RS_XLINK_NVLINK);
		if (x) {
			x->rate = rate;
			x->latency = latency;
		}
	}
}

void host_overlay(struct rs_load *l, struct rs_host *h, const struct rs_node *n)
{
	static const char *const cpus[] = {"bdw",  "skl",   "icx",   "spr",   "emr", "gnr",
					   "rome", "milan", "genoa", "turin", NULL};
	const struct rs_node *nvlink = rs_node_get(n, "nvlink");

	rs_node_string(l, n, "cpu", &h->cpu);
	rs_node_string(l, n, "source", &h->source);
	if (!l->err && h->cpu && !rs_cpu_find(h->cpu))
		rs_load_fail(
			l, -EINVAL, rs_node_get(n, "cpu") ? rs_node_get(n, "cpu")->at : n->at,
			"cpu: '%.80s' is no known CPU model; expected one of: bdw, skl, icx, spr, "
			"emr, "
			"gnr, rome, milan, genoa, turin%s",
			h->cpu, rs_did_you_mean(l, h->cpu, cpus));
	if (nvlink && !l->err)
		overlay_nvlink(l, h, nvlink);
	for (int i = 0; i < h->n_parts && rs_node_get(n, "nic_model"); i++)
		if (h->parts[i].kind == RS_PART_NIC && !h->parts[i].model) {
			rs_node_string(l, n, "nic_model", &h->parts[i].model);
			model_gives(l, &h->parts[i], rs_node_get(n, "nic_model"), NULL);
		}
}

static struct rs_part *changed(struct rs_load *l, struct rs_host *h, const struct rs_item *i)
{
	int p = rs_host_find(h, i->key);

	if (p < 0)
		no_part(l, h, i->key, i->at);
	return l->err ? NULL : &h->parts[p];
}

static void change_link(struct rs_load *l, struct rs_host *h, const struct rs_item *i)
{
	struct rs_part *p = changed(l, h, i);
	struct rs_item one = {.key = "pcie", .at = i->at, .value = i->value};
	struct rs_node map = {
		.kind = RS_NODE_MAP, .at = i->at, .n = 1, .first = &one, .last = &one};

	if (p)
		get_pcie(l, &map, "pcie", &p->up);
}

/* A move puts the part under another socket's own root port, or under a PCIe switch. */
void host_change(struct rs_load *l, struct rs_host *h, const struct rs_node *n)
{
	const struct rs_node *move = rs_node_get(n, "move"), *link = rs_node_get(n, "link");
	struct rs_part *p;

	if ((move && move->kind != RS_NODE_MAP) || (link && link->kind != RS_NODE_MAP)) {
		rs_load_fail(l, -EINVAL, n->at, "move and link are mappings, as {nic0: socket1}");
		return;
	}
	for (const struct rs_item *i = move ? move->first : NULL; i && !l->err; i = i->next) {
		p = changed(l, h, i);
		if (p)
			p->parent = find_part(l, h, i->value);
	}
	for (const struct rs_item *i = link ? link->first : NULL; i && !l->err; i = i->next)
		change_link(l, h, i);
}

/* ---- Groups ---- */

struct hosts {
	struct rs_load *l;
	struct rs_fabric *f;
	uint32_t unnamed; /* number of the next host of groups without a name */
};

static const char *const group_keys[] = {"name",   "count",      "first",   "like",     "cpu",
					 "nvlink", "nic_model",  "sockets", "switches", "gpus",
					 "nics",   "nvswitches", "others",  "xlinks",   "source",
					 "cc",     "transport",  NULL};

static struct rs_host *inside_of(struct rs_load *l, const struct rs_node *n)
{
	const char *like = NULL;
	struct rs_error e = {0};
	struct rs_host *h = NULL;
	char why[700];
	int err;

	rs_node_string(l, n, "like", &like);
	if (l->err)
		return NULL;
	if (!like) {
		h = host_written(l, n);
	} else {
		for (const struct section *s = sections; s->key; s++)
			if (rs_node_get(n, s->key))
				rs_load_fail(
					l, -EINVAL, rs_node_get(n, s->key)->at,
					"'%s' beside 'like': a host is written out or like a file",
					s->key);
		err = l->err ? 0 : rs_host_import(rs_load_beside(l, like), l->arena, &h, &e);
		if (err) {
			rs_error_text(&e, why, sizeof(why));
			rs_load_fail(l, err, rs_node_get(n, "like")->at, "%s", why);
		}
	}
	if (h && !l->err)
		host_overlay(l, h, n);
	if (h && !l->err)
		rs_host_close(l, h, n->at);
	return l->err ? NULL : h;
}

static void add_group(struct hosts *b, const struct rs_node *n)
{
	struct rs_load *l = b->l;
	const char *prefix = "h";
	struct rs_host *inside;
	uint8_t cc, transport;
	uint32_t count = 1, first = rs_node_get(n, "name") ? 0 : b->unnamed;

	if (!rs_node_keys(l, n, "a group of hosts", group_keys))
		return;
	rs_node_string(l, n, "name", &prefix);
	if (!*prefix)
		rs_load_fail(l, -EINVAL, rs_node_get(n, "name")->at,
			     "an empty name of a group of hosts");
	rs_node_u32(l, n, "count", 1, RS_HOSTS_MAX, &count);
	rs_node_u32(l, n, "first", 0, RS_HOSTS_MAX, &first);
	if (!rs_node_get(n, "name"))
		b->unnamed = first + count; /* the next group without a name goes on */
	inside = inside_of(l, n);
	cc = load_own_cc(l, b->f, n);
	transport = load_own_transport(l, n);
	rs_fabric_add_hosts(l, b->f, prefix, first, count, inside, n->at);
	for (uint32_t i = 0; i < count && !l->err; i++)
		b->f->hosts[b->f->n_hosts - 1 - i].cc = cc;
	for (uint32_t i = 0; i < count && !l->err; i++)
		b->f->hosts[b->f->n_hosts - 1 - i].transport = transport;
}

static void change_host(struct hosts *b, const struct rs_names *t, const struct rs_node *n)
{
	static const char *const known[] = {"host", "move", "link", NULL};
	struct rs_load *l = b->l;
	const char *name = NULL;
	struct rs_host *h;
	uint32_t id = 0;

	if (!rs_node_keys(l, n, "a change", known) || !rs_node_need(l, n, "host", "a change"))
		return;
	rs_node_string(l, n, "host", &name);
	if (!l->err && !rs_names_find(t, name, &id)) {
		const char *names[65];
		uint32_t k = 0;

		for (; k < b->f->n_hosts && k < 64; k++)
			names[k] = b->f->hosts[k].name;
		names[k] = NULL;
		rs_load_fail(l, -EINVAL, rs_node_get(n, "host")->at, "there is no host '%.80s'%s",
			     name, rs_did_you_mean(l, name, names));
	}
	h = l->err ? NULL : rs_host_copy(l, b->f->hosts[id].inside);
	if (!h)
		return;
	host_change(l, h, n);
	rs_host_close(l, h, n->at);
	b->f->hosts[id].inside = h;
}

void load_hosts(struct rs_load *l, struct rs_fabric *f, const struct rs_node *fabric)
{
	const struct rs_node *n = l->err ? NULL : rs_node_get(fabric, "hosts");
	const struct rs_node *change = l->err ? NULL : rs_node_get(fabric, "change");
	struct hosts b = {.l = l, .f = f};
	struct rs_names t;

	if (!l->err && change && rs_node_is_list(l, change, "change") && !n)
		for (const struct rs_item *i = change->first; i && !l->err; i = i->next)
			if (i->value->kind == RS_NODE_MAP && rs_node_get(i->value, "host"))
				rs_load_fail(
					l, -EINVAL, i->at,
					"change: there are no fabric.hosts to change; plain hosts "
					"have "
					"nothing inside");
	if (!n || !rs_node_is_list(l, n, "hosts"))
		return;
	if (n->n > GROUPS_MAX || !n->n)
		rs_load_fail(l, -E2BIG, n->at, "%u groups of hosts; expected 1 to %d", n->n,
			     GROUPS_MAX);
	for (const struct rs_item *i = n->first; i && !l->err; i = i->next)
		add_group(&b, i->value);
	if (l->err || !rs_names_create(l, &t, f->n_hosts))
		return;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (!rs_names_add(&t, f->hosts[i].name, i)) {
			rs_load_fail(l, -EINVAL, n->at, "two hosts are named '%s'",
				     f->hosts[i].name);
			return;
		}
	for (const struct rs_item *i = change ? change->first : NULL; i && !l->err; i = i->next)
		if (i->value->kind == RS_NODE_MAP && rs_node_get(i->value, "host"))
			change_host(&b, &t, i->value);
	if (!l->err)
		rs_fabric_close_hosts(l, f, n->at);
}
