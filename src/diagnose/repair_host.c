/* Repairs inside hosts: slots too narrow for their NIC or unlike those of other hosts, short PCIe
 * payloads, limits below the model's, NICs on another socket than elsewhere. */
#include <stdlib.h>
#include <string.h>
#include "diagnose/state.h"

enum { MPS = 256, MRRS = 512, GEN_MAX = 6, LANES = 16 };

/* The host's inside as its own to change; hosts that are alike share theirs. NULL: no memory. */
static struct rs_host *own_inside(struct rs_fabric *h, uint32_t host)
{
	const struct rs_host *from = h->hosts[host].inside;
	struct rs_host *to = rs_arena_alloc(h->arena, 1, sizeof(*to));
	struct rs_part *parts = rs_arena_alloc(h->arena, (size_t)from->n_parts, sizeof(*parts));
	struct rs_xlink *xlinks =
		rs_arena_alloc(h->arena, (size_t)from->n_xlinks + 1, sizeof(*xlinks));

	if (!to || !parts || !xlinks)
		return NULL;
	*to = *from;
	memcpy(parts, from->parts, (size_t)from->n_parts * sizeof(*parts));
	if (from->n_xlinks)
		memcpy(xlinks, from->xlinks, (size_t)from->n_xlinks * sizeof(*xlinks));
	to->parts = parts;
	to->xlinks = xlinks;
	h->hosts[host].inside = to;
	return to;
}

/* Changes a part; false: nothing is to be mended there. */
typedef bool mend_part(const struct rs_fabric *f, uint32_t host, int part, struct rs_part *to);

static void mend_hosts(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r,
		       mend_part *mend)
{
	for (uint32_t i = 0; i < f->n_hosts; i++) {
		const struct rs_host *in = f->hosts[i].inside;
		struct rs_host *own = NULL;

		for (int p = 0; in && p < in->n_parts; p++) {
			struct rs_part to = in->parts[p];

			if (!mend(f, i, p, &to))
				continue;
			if (!own && !(own = own_inside(h, i)))
				return;
			own->parts[p] = to;
			repaired_at(r, rs_arena_printf(r->a, "%s %s", f->hosts[i].name, to.name));
		}
	}
}

/* ---- As in most hosts ---- */

/* This part's counterpart in another host, by name. */
static const struct rs_part *counterpart(const struct rs_fabric *f, uint32_t host, int part,
					 const char *name)
{
	const struct rs_host *in = f->hosts[host].inside;
	int p = part;

	if (!in)
		return NULL;
	if (p >= in->n_parts || strcmp(in->parts[p].name, name) != 0)
		p = rs_host_find(in, name);
	return p == RS_NO_PART ? NULL : &in->parts[p];
}

static const char *parent_name(const struct rs_fabric *f, uint32_t host, const struct rs_part *p)
{
	return p->parent == RS_NO_PART ? "" : f->hosts[host].inside->parts[p->parent].name;
}

typedef bool same_part(const struct rs_fabric *f, uint32_t a, const struct rs_part *p, uint32_t b,
		       const struct rs_part *q);

/* What more than half of the hosts that have this part have of it; NULL: they differ. The one that
 * outlasts the others when unlike ones leave in pairs is the only one that can be (Boyer, Moore).
 */
static const struct rs_part *usual_part(const struct rs_fabric *f, int part, const char *name,
					same_part *same, uint32_t *where)
{
	const struct rs_part *usual = NULL, *p;
	uint32_t lead = 0, n = 0, like = 0;

	for (uint32_t i = 0; i < f->n_hosts; i++) {
		if (!(p = counterpart(f, i, part, name)))
			continue;
		if (!lead) {
			usual = p;
			*where = i;
		}
		lead += !lead || same(f, i, p, *where, usual) ? 1 : UINT32_MAX;
	}
	for (uint32_t i = 0; usual && i < f->n_hosts; i++)
		if ((p = counterpart(f, i, part, name))) {
			n++;
			like += same(f, i, p, *where, usual);
		}
	return like * 2 > n ? usual : NULL;
}

static bool same_slot(const struct rs_fabric *f, uint32_t a, const struct rs_part *p, uint32_t b,
		      const struct rs_part *q)
{
	return p->up.gen == q->up.gen && p->up.lanes == q->up.lanes;
}

static bool same_parent(const struct rs_fabric *f, uint32_t a, const struct rs_part *p, uint32_t b,
			const struct rs_part *q)
{
	return !strcmp(parent_name(f, a, p), parent_name(f, b, q));
}

/* ---- Slots ---- */

/* What a NIC or a GPU of the host has to move: the fastest port. */
static int64_t port_rate(const struct rs_fabric *f, uint32_t host)
{
	const struct rs_fabric_host *h = &f->hosts[host];
	int64_t most = 0;

	for (uint32_t i = h->first_endpoint; i < h->first_endpoint + h->n_endpoints; i++)
		if (f->endpoints[i].rate > most)
			most = f->endpoints[i].rate;
	return most;
}

static bool known(const struct rs_pcie *up)
{
	return up->gen && up->lanes;
}

static bool carries(const struct rs_fabric *f, uint32_t host, const struct rs_pcie *up)
{
	struct rs_pcie usual = {.gen = up->gen, .lanes = up->lanes};

	return rs_pcie_write_goodput(&usual, &f->host_params) >= port_rate(f, host);
}

static bool mend_slot(const struct rs_fabric *f, uint32_t host, int part, struct rs_part *to)
{
	const struct rs_part *usual;
	uint32_t where;

	if (!known(&to->up))
		return false;
	usual = usual_part(f, part, to->name, same_slot, &where);
	if (usual && known(&usual->up) && rs_pcie_rate(&usual->up) > rs_pcie_rate(&to->up)) {
		to->up.gen = usual->up.gen;
		to->up.lanes = usual->up.lanes;
		return true;
	}
	if ((to->kind != RS_PART_NIC && to->kind != RS_PART_GPU) || carries(f, host, &to->up))
		return false;
	to->up.lanes = to->up.lanes < LANES ? LANES : to->up.lanes;
	while (to->up.gen < GEN_MAX && !carries(f, host, &to->up))
		to->up.gen++;
	return true;
}

void repair_slots(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_hosts(f, h, r, mend_slot);
}

/* ---- Payloads ---- */

static bool mend_link_payload(struct rs_pcie *up)
{
	bool odd = (up->mps && up->mps < MPS) || (up->mrrs && up->mrrs < MRRS);

	if (up->mps && up->mps < MPS)
		up->mps = MPS;
	if (up->mrrs && up->mrrs < MRRS)
		up->mrrs = MRRS;
	return odd;
}

static bool mend_payload(const struct rs_fabric *f, uint32_t host, int part, struct rs_part *to)
{
	bool up = mend_link_payload(&to->up);

	return mend_link_payload(&to->up2) || up;
}

void repair_payload(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_hosts(f, h, r, mend_payload);
}

/* ---- Limits ---- */

/* A limit that is there and tighter than what holds without it. */
static bool tighter(uint32_t now, uint32_t without)
{
	return now && now != RS_NO_LIMIT && (!without || without == RS_NO_LIMIT || now < without);
}

static bool mend_limits(const struct rs_fabric *f, uint32_t host, int part, struct rs_part *to)
{
	static const size_t of[] = {
		offsetof(struct rs_dma_limits, read_buffer),
		offsetof(struct rs_dma_limits, tags),
		offsetof(struct rs_dma_limits, data_credits),
		offsetof(struct rs_dma_limits, header_credits),
		offsetof(struct rs_dma_limits, message_rate),
		offsetof(struct rs_dma_limits, qp_message_rate),
		offsetof(struct rs_dma_limits, qp_rate),
	};
	struct rs_part plain = *to;
	struct rs_dma_limits now = rs_dma_limits_of(to, &f->host_params), without;
	bool odd = false;

	if (to->kind != RS_PART_NIC && to->kind != RS_PART_GPU)
		return false;
	plain.limits = (struct rs_dma_limits){.inline_bytes = to->limits.inline_bytes};
	without = rs_dma_limits_of(&plain, &rs_host_defaults);
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		uint32_t *said = (uint32_t *)((char *)&to->limits + of[i]);

		if (!tighter(*(uint32_t *)((char *)&now + of[i]),
			     *(uint32_t *)((char *)&without + of[i])))
			continue;
		*said = *(uint32_t *)((char *)&without + of[i]);
		*said = *said ? *said : RS_NO_LIMIT;
		odd = true;
	}
	return odd;
}

void repair_host_limits(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_hosts(f, h, r, mend_limits);
}

/* ---- Places ---- */

static bool mend_place(const struct rs_fabric *f, uint32_t host, int part, struct rs_part *to)
{
	const struct rs_part *usual;
	uint32_t where;
	int parent;

	if (to->kind != RS_PART_NIC && to->kind != RS_PART_GPU)
		return false;
	usual = usual_part(f, part, to->name, same_parent, &where);
	if (!usual || same_parent(f, host, to, where, usual))
		return false;
	parent = rs_host_find(f->hosts[host].inside, parent_name(f, where, usual));
	if (parent == RS_NO_PART)
		return false;
	to->parent = parent;
	to->numa = usual->numa;
	return true;
}

void repair_nic_places(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_hosts(f, h, r, mend_place);
}

/* ---- NICs without a GPU near ---- */

/* The socket that a part hangs on. */
static int socket_of(const struct rs_host *in, int part)
{
	while (part != RS_NO_PART && in->parts[part].kind != RS_PART_SOCKET)
		part = in->parts[part].parent;
	return part;
}

static bool socket_has(const struct rs_host *in, int socket, enum rs_part_kind kind)
{
	for (int p = 0; p < in->n_parts; p++)
		if (in->parts[p].kind == kind && socket_of(in, p) == socket)
			return true;
	return false;
}

/* A NIC on a socket without GPUs, while another has GPUs and no NIC. */
static bool mend_far(const struct rs_fabric *f, uint32_t host, int part, struct rs_part *to)
{
	const struct rs_host *in = f->hosts[host].inside;
	int mine = socket_of(in, part);

	if (to->kind != RS_PART_NIC || mine == RS_NO_PART || socket_has(in, mine, RS_PART_GPU))
		return false;
	for (int s = 0; s < in->n_parts; s++)
		if (in->parts[s].kind == RS_PART_SOCKET && socket_has(in, s, RS_PART_GPU) &&
		    !socket_has(in, s, RS_PART_NIC)) {
			to->parent = s;
			to->numa = in->parts[s].numa;
			return true;
		}
	return false;
}

void repair_far(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_hosts(f, h, r, mend_far);
}

/* ---- Links between sockets, NVLink ---- */

static const struct rs_xlink *xlink_of(const struct rs_fabric *f, uint32_t host, int i)
{
	const struct rs_host *in = f->hosts[host].inside;

	return in && i < in->n_xlinks ? &in->xlinks[i] : NULL;
}

/* What more than half of the hosts have as their link of this number; 0: they differ. */
static int64_t usual_xlink(const struct rs_fabric *f, int i, enum rs_xlink_kind kind)
{
	const struct rs_xlink *x;
	int64_t usual = 0;
	uint32_t lead = 0, n = 0, like = 0;

	for (uint32_t h = 0; h < f->n_hosts; h++) {
		if (!(x = xlink_of(f, h, i)) || x->kind != kind)
			continue;
		usual = lead ? usual : x->rate;
		lead += !lead || x->rate == usual ? 1 : UINT32_MAX;
	}
	for (uint32_t h = 0; h < f->n_hosts; h++)
		if ((x = xlink_of(f, h, i)) && x->kind == kind) {
			n++;
			like += x->rate == usual;
		}
	return like * 2 > n ? usual : 0;
}

void repair_xlinks(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t i = 0; i < f->n_hosts; i++) {
		const struct rs_host *in = f->hosts[i].inside;
		struct rs_host *own = NULL;

		for (int l = 0; in && l < in->n_xlinks; l++) {
			const struct rs_xlink *x = &in->xlinks[l];
			int64_t usual = usual_xlink(f, l, x->kind);

			if (!x->rate || usual <= x->rate)
				continue;
			if (!own && !(own = own_inside(h, i)))
				return;
			own->xlinks[l].rate = usual;
			repaired_at(r, rs_arena_printf(r->a, "%s %s - %s", f->hosts[i].name,
						       in->parts[x->a].name, in->parts[x->b].name));
		}
	}
}
