/* A host whose PCI tree was not read: its parts from lists of devices, their places from topo -m.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "expect/state.h"
#include "host/build.h"

enum { DEVICES = 64 };

struct placing {
	struct rs_expect *x;
	const char *host;
	unsigned n, gpus;
	struct {
		char topo[64]; /* as topo -m names it; "" */
		const char *name;
		bool gpu, told;     /* told: a distance that says where it is */
		int socket, bridge; /* the first device that shares it */
	} d[DEVICES];
};

/* "NIC3" of topo -m is this device. */
static const char *legend(const struct placing *p, const char *topo)
{
	const struct rs_fact *f = rs_look(p->x->audit, p->host, "topo", "nic_name/%s", topo);

	return f ? f->value : topo;
}

static void add(struct placing *p, const char *topo, const char *name, bool gpu)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->d[i].name, name))
			return;
	if (p->n == DEVICES)
		return;
	snprintf(p->d[p->n].topo, sizeof(p->d[p->n].topo), "%s", topo);
	p->d[p->n].name = name;
	p->d[p->n].gpu = gpu;
	p->d[p->n].socket = p->d[p->n].bridge = (int)p->n;
	p->gpus += gpu;
	p->n++;
}

static void devices_of_topo(struct placing *p)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(p->x->audit->facts, &at, p->host, "topo", "distance/"))) {
		char row[64];
		bool gpu;

		if (sscanf(f->name, "distance/%63[^/]/", row) != 1)
			continue;
		gpu = !strncmp(row, "GPU", 3);
		add(p, row, gpu ? rs_audit_text(p->x->audit, "gpu%s", row + 3) : legend(p, row),
		    gpu);
	}
}

/* GPUs that a list names, and RDMA devices. */
static void devices_of_lists(struct placing *p)
{
	const struct rs_facts *facts = p->x->audit->facts;
	const struct rs_fact *f;
	bool none = !p->gpus;
	uint32_t at = 0;
	const char *s;

	while (none && (s = rs_facts_subject(facts, &at, p->host, "gpu/")))
		add(p, "", rs_audit_text(p->x->audit, "gpu%s", s + 4), true);
	at = 0;
	while ((s = rs_facts_subject(facts, &at, p->host, "nic/")))
		if (strcmp(s, "nic/unnamed"))
			add(p, "", s + 4, false);
	at = 0;
	/* NCCL's log: "mlx5_0:1/RoCE" */
	while ((f = rs_facts_next(facts, &at, p->host, "nccl", "using/")))
		add(p, "",
		    rs_audit_text(p->x->audit, "%.*s", (int)strcspn(f->value, ":/ "), f->value),
		    false);
}

static const char *between(const struct placing *p, unsigned i, unsigned k)
{
	const struct rs_fact *f;

	if (!*p->d[i].topo || !*p->d[k].topo)
		return "";
	f = rs_look(p->x->audit, p->host, "topo", "distance/%s/%s", p->d[i].topo, p->d[k].topo);
	return f ? f->value : "";
}

/* Devices nearer than SYS share a socket; at PIX and PXB a switch. NVLinks tell neither. */
static void group(struct placing *p)
{
	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; k < i; k++) {
			const char *d = between(p, i, k);
			bool bridge = !strcmp(d, "PIX") || !strcmp(d, "PXB");

			if (*d && strncmp(d, "NV", 2) && strcmp(d, "X"))
				p->d[i].told = p->d[k].told = true;
			if (bridge || !strcmp(d, "PHB") || !strcmp(d, "NODE"))
				for (unsigned j = 0, from = (unsigned)p->d[i].socket,
					      to = (unsigned)p->d[k].socket;
				     j < p->n; j++)
					if ((unsigned)p->d[j].socket == from)
						p->d[j].socket = (int)to;
			if (bridge)
				for (unsigned j = 0, from = (unsigned)p->d[i].bridge,
					      to = (unsigned)p->d[k].bridge;
				     j < p->n; j++)
					if ((unsigned)p->d[j].bridge == from)
						p->d[j].bridge = (int)to;
		}
}

static bool shared(const struct placing *p, unsigned i)
{
	for (unsigned k = 0; k < p->n; k++)
		if (k != i && p->d[k].bridge == p->d[i].bridge)
			return true;
	return false;
}

/* The part of this kind that stands for a group of devices. */
static int stands(struct placing *p, struct rs_host *h, struct rs_load *l, enum rs_part_kind kind,
		  int group_of)
{
	const char *name =
		rs_audit_text(p->x->audit, kind == RS_PART_SOCKET ? "socket-of-%s" : "switch-of-%s",
			      p->d[group_of].name);
	int have = rs_host_find(h, name);

	if (have == RS_NO_PART && rs_host_part_add(l, h, kind, name))
		have = h->n_parts - 1;
	return have;
}

/* Where topo -m does not tell, all devices are on one socket. */
static int socket_of(struct placing *p, struct rs_host *h, struct rs_load *l, unsigned i)
{
	unsigned with = 0;

	while (with < p->n && !p->d[with].told)
		with++;
	if (!p->d[i].told)
		i = with < p->n ? with : 0;
	return stands(p, h, l, RS_PART_SOCKET, p->d[i].socket);
}

static void put(struct placing *p, struct rs_host *h, struct rs_load *l, unsigned i)
{
	int parent = socket_of(p, h, l, i);
	struct rs_part *part;

	if (shared(p, i)) {
		int bridge = stands(p, h, l, RS_PART_PCI_BRIDGE, p->d[i].bridge);

		if (bridge >= 0 && h->parts[bridge].parent == RS_NO_PART)
			h->parts[bridge].parent = parent;
		parent = bridge;
	}
	part = rs_host_part_add(l, h, p->d[i].gpu ? RS_PART_GPU : RS_PART_NIC, p->d[i].name);
	if (!part)
		return;
	part->parent = parent;
	if (!p->d[i].gpu) {
		const char *nic = rs_audit_text(p->x->audit, "nic/%s", p->d[i].name);
		int64_t gbps = rs_look_port_rate(p->x->audit, p->host, nic);

		part->port_rate = gbps > 0 && gbps < 10000 ? gbps * RS_GBPS : 0;
	}
}

struct rs_host *expect_place(struct rs_expect *x, const char *host, struct rs_load *l)
{
	struct placing *p = rs_load_take(l, 1, sizeof(*p));
	struct rs_host *h = rs_load_take(l, 1, sizeof(*h));

	if (!p || !h)
		return NULL;
	p->x = x;
	p->host = host;
	devices_of_topo(p);
	devices_of_lists(p);
	if (!p->n)
		return NULL;
	group(p);
	*h = (struct rs_host){.name = host, .source = "lists of devices"};
	for (unsigned i = 0; i < p->n; i++)
		put(p, h, l, i);
	return l->err ? NULL : h;
}

/* Nothing was read: a host of one NIC and one GPU, as --given says, on one PCIe
 * switch. NULL: it says neither. */
struct rs_host *expect_place_given(struct rs_expect *x, struct rs_load *l)
{
	const struct expect_given *g = &x->world->given;
	struct rs_host *h = rs_load_take(l, 1, sizeof(*h));
	struct rs_part *part;

	if (!h || !(g->nic || g->gbps > 0 || g->gpu))
		return NULL;
	*h = (struct rs_host){.name = "given", .source = "--given"};
	rs_host_part_add(l, h, RS_PART_SOCKET, "socket");
	part = rs_host_part_add(l, h, RS_PART_PCI_BRIDGE, "switch");
	if (part)
		part->parent = 0;
	part = g->nic || g->gbps > 0 ? rs_host_part_add(l, h, RS_PART_NIC, "nic0") : NULL;
	if (part) {
		part->parent = 1;
		part->port_rate = g->gbps > 0 ? (int64_t)(g->gbps * RS_GBPS) : 0;
	}
	part = g->gpu ? rs_host_part_add(l, h, RS_PART_GPU, "gpu0") : NULL;
	if (part)
		part->parent = 1;
	return l->err ? NULL : h;
}
