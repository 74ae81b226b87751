/* A host's tree: what makes a description sound, and the way from one part to another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "host/host.h"
#include "host/route.h"

enum { QUEUE_MAX = RS_HOST_PARTS_MAX };

int rs_host_find(const struct rs_host *h, const char *name)
{
	for (int i = 0; i < h->n_parts; i++)
		if (!strcmp(h->parts[i].name, name))
			return i;
	return RS_NO_PART;
}

/* ---- Checking ---- */

static bool power_of_two(unsigned n, unsigned min, unsigned max)
{
	return n >= min && n <= max && !(n & (n - 1));
}

static int check_pcie(const struct rs_part *p, const struct rs_pcie *l, struct rs_error *e)
{
	if (l->gen > 6)
		return rs_error_set(e, -EINVAL, "%s: PCIe generation %u; expected 1 to 6, or 0",
				    p->name, l->gen);
	if (l->lanes > 32)
		return rs_error_set(e, -EINVAL, "%s: %u PCIe lanes; expected 1 to 32, or 0",
				    p->name, l->lanes);
	if (l->mps && !power_of_two(l->mps, 128, 4096))
		return rs_error_set(e, -EINVAL,
				    "%s: a maximum payload of %u; expected 128, 256, ... 4096",
				    p->name, l->mps);
	if (l->mrrs && !power_of_two(l->mrrs, 128, 4096))
		return rs_error_set(e, -EINVAL,
				    "%s: a maximum read request of %u; expected 128, ... 4096",
				    p->name, l->mrrs);
	return 0;
}

static int check_parent(const struct rs_host *h, const struct rs_part *p, int parent,
			struct rs_error *e)
{
	enum rs_part_kind kind;

	if (parent == RS_NO_PART)
		return 0;
	if (parent < 0 || parent >= h->n_parts)
		return rs_error_set(e, -EINVAL, "%s: its parent does not exist", p->name);
	kind = h->parts[parent].kind;
	if (kind != RS_PART_SOCKET && kind != RS_PART_PCI_BRIDGE)
		return rs_error_set(e, -EINVAL, "%s: its parent %s is neither socket nor bridge",
				    p->name, h->parts[parent].name);
	if (p->kind == RS_PART_SOCKET || p->kind == RS_PART_NVSWITCH)
		return rs_error_set(e, -EINVAL, "%s: a %s has no PCIe parent", p->name,
				    p->kind == RS_PART_SOCKET ? "socket" : "NVSwitch");
	return 0;
}

static int check_part(const struct rs_host *h, const struct rs_part *p, struct rs_error *e)
{
	int rc, depth = 0;

	if ((unsigned)p->kind > RS_PART_OTHER)
		return rs_error_set(e, -EINVAL, "%s: unknown kind of part", p->name);
	if ((rc = check_parent(h, p, p->parent, e)) || (rc = check_parent(h, p, p->parent2, e)) ||
	    (rc = check_pcie(p, &p->up, e)) || (rc = check_pcie(p, &p->up2, e)))
		return rc;
	if (p->parent2 != RS_NO_PART && p->kind != RS_PART_NIC)
		return rs_error_set(e, -EINVAL, "%s: only a NIC may have a second attachment",
				    p->name);
	if (p->port_rate < 0)
		return rs_error_set(e, -EINVAL, "%s: a negative port rate", p->name);
	for (int q = p->parent; q >= 0 && q < h->n_parts; q = h->parts[q].parent)
		if (++depth > DEPTH_MAX)
			return rs_error_set(e, -EINVAL,
					    "%s: a cycle of parents, or more than %d above it",
					    p->name, DEPTH_MAX);
	return 0;
}

static int check_xlink(const struct rs_host *h, const struct rs_xlink *x, struct rs_error *e)
{
	static const unsigned ends[] = {
		[RS_XLINK_SOCKET] = 1 << RS_PART_SOCKET,
		[RS_XLINK_NVLINK] = 1 << RS_PART_GPU | 1 << RS_PART_NVSWITCH | 1 << RS_PART_SOCKET,
		[RS_XLINK_C2C] = 1 << RS_PART_GPU | 1 << RS_PART_SOCKET,
	};

	if (x->a < 0 || x->b < 0 || x->a >= h->n_parts || x->b >= h->n_parts || x->a == x->b)
		return rs_error_set(e, -EINVAL,
				    "a link between parts that are not two of the host's");
	if ((unsigned)x->kind > RS_XLINK_C2C ||
	    !(ends[x->kind] >> h->parts[x->a].kind & ends[x->kind] >> h->parts[x->b].kind & 1))
		return rs_error_set(e, -EINVAL, "%s and %s: not what a link of this kind joins",
				    h->parts[x->a].name, h->parts[x->b].name);
	if ((x->rate && x->rate < RS_MBPS) || x->latency < -1 || x->latency > RS_MS ||
	    (x->p2p_rate > 0 && x->p2p_rate < RS_MBPS) || x->p2p_rate < -1)
		return rs_error_set(e, -EINVAL,
				    "%s to %s: a rate below 1 Mb/s or a latency above 1 ms",
				    h->parts[x->a].name, h->parts[x->b].name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct rs_host *h, struct rs_error *e)
{
	const char **names = calloc((size_t)h->n_parts, sizeof(*names));
	int rc = 0;

	if (!names)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (int i = 0; i < h->n_parts; i++)
		names[i] = h->parts[i].name;
	qsort(names, (size_t)h->n_parts, sizeof(*names), by_name);
	for (int i = 1; i < h->n_parts && !rc; i++)
		if (!strcmp(names[i - 1], names[i]))
			rc = rs_error_set(e, -EINVAL, "two parts are named %s", names[i]);
	free(names);
	return rc;
}

int rs_host_check(const struct rs_host *h, struct rs_error *e)
{
	int rc = 0;

	if (h->n_parts < 1 || h->n_parts > RS_HOST_PARTS_MAX)
		return rs_error_set(e, -EINVAL, "a host of %d parts; expected 1 to %d", h->n_parts,
				    RS_HOST_PARTS_MAX);
	if (h->n_xlinks < 0 || h->n_xlinks > RS_HOST_PARTS_MAX)
		return rs_error_set(e, -EINVAL, "%d links between parts; expected at most %d",
				    h->n_xlinks, RS_HOST_PARTS_MAX);
	for (int i = 0; i < h->n_parts; i++)
		if (!h->parts[i].name || !*h->parts[i].name)
			return rs_error_set(e, -EINVAL, "part %d has no name", i);
	for (int i = 0; i < h->n_parts && !rc; i++)
		rc = check_part(h, &h->parts[i], e);
	for (int i = 0; i < h->n_xlinks && !rc; i++)
		rc = check_xlink(h, &h->xlinks[i], e);
	return rc ? rc : check_names(h, e);
}

/* ---- Routes ---- */

static enum rs_part_kind kind_of(const struct rs_host *h, int part)
{
	return h->parts[part].kind;
}

bool host_is_socket_link(const struct rs_host *h, const struct rs_xlink *x)
{
	return kind_of(h, x->a) == RS_PART_SOCKET && kind_of(h, x->b) == RS_PART_SOCKET;
}

bool host_has_socket_links(const struct rs_host *h)
{
	for (int i = 0; i < h->n_xlinks; i++)
		if (host_is_socket_link(h, &h->xlinks[i]))
			return true;
	return false;
}

static int other_end(const struct rs_xlink *x, int part)
{
	return x->a == part ? x->b : x->b == part ? x->a : RS_NO_PART;
}

static int coherent_socket(const struct rs_host *h, int part)
{
	if (kind_of(h, part) != RS_PART_GPU)
		return RS_NO_PART;
	for (int i = 0; i < h->n_xlinks; i++) {
		int o = other_end(&h->xlinks[i], part);

		if (o != RS_NO_PART && kind_of(h, o) == RS_PART_SOCKET)
			return o;
	}
	return RS_NO_PART;
}

int host_parent(const struct rs_host *h, int part, enum via via)
{
	if (via == VIA_C2C)
		return coherent_socket(h, part);
	return via == VIA_UP ? h->parts[part].parent : h->parts[part].parent2;
}

/* The steps from a part up to the top of its tree; returns their number. */
static int climb(const struct rs_host *h, int part, enum via via, struct step up[DEPTH_MAX + 1])
{
	int n = 0, parent;

	while (n <= DEPTH_MAX && (parent = host_parent(h, part, via)) != RS_NO_PART) {
		up[n++] = (struct step){STEP_UP, via, part, parent};
		part = parent;
		via = VIA_UP;
	}
	return n;
}

/* The sockets from one to another, breadth first; returns the number of crossings, or -1. */
static int cross_sockets(const struct rs_host *h, int from, int to, struct step *out, int max)
{
	bool links = host_has_socket_links(h);
	int came[RS_HOST_PARTS_MAX], queue[QUEUE_MAX], head = 0, tail = 0, n = 0, at;

	if (!links && max > 0) { /* sockets of one coherent machine: joined, if nothing says how */
		out[0] = (struct step){STEP_CROSS, VIA_UP, from, to};
		return 1;
	}
	for (int i = 0; i < h->n_parts; i++)
		came[i] = RS_NO_PART;
	came[from] = from;
	queue[tail++] = from;
	while (head < tail && came[to] == RS_NO_PART) {
		int s = queue[head++];

		for (int i = 0; i < h->n_xlinks; i++) {
			int o = other_end(&h->xlinks[i], s);

			if (o == RS_NO_PART || kind_of(h, o) != RS_PART_SOCKET ||
			    came[o] != RS_NO_PART)
				continue;
			came[o] = s;
			queue[tail++] = o;
		}
	}
	if (came[to] == RS_NO_PART)
		return -1;
	for (at = to; at != from; at = came[at])
		n++;
	at = to;
	for (int i = n; i-- > 0; at = came[at])
		if (i < max)
			out[i] = (struct step){STEP_CROSS, VIA_UP, came[at], at};
	return n;
}

/* a's steps up to the meeting place, then b's, turned round, down. */
static int join(struct route *r, const struct step *ua, int na, const struct step *ub, int nb,
		const struct step *cross, int nc)
{
	if (na + nb + nc > RS_PATH_HOPS_MAX)
		return -E2BIG;
	for (int i = 0; i < na; i++)
		r->step[r->n++] = ua[i];
	for (int i = 0; i < nc; i++)
		r->step[r->n++] = cross[i];
	for (int i = nb; i-- > 0;) {
		r->step[r->n] = ub[i];
		r->step[r->n++].kind = STEP_DOWN;
	}
	return 0;
}

static void describe(const struct rs_host *h, int a, struct route *r)
{
	int node = RS_NO_PART;

	r->one_node = true;
	r->through_socket = kind_of(h, a) == RS_PART_SOCKET;
	for (int i = 0; i < r->n; i++) {
		const struct step *s = &r->step[i];
		int entered = s->kind == STEP_DOWN ? s->part : s->other;

		if (kind_of(h, entered) == RS_PART_PCI_BRIDGE)
			r->bridges++;
		if (kind_of(h, entered) == RS_PART_SOCKET)
			r->through_socket = true;
		if (s->kind != STEP_CROSS)
			continue;
		r->crossings++;
		if (node == RS_NO_PART)
			node = h->parts[s->part].numa;
		r->one_node &= node >= 0 && h->parts[s->other].numa == node;
	}
}

static int meet(const struct rs_host *h, int a, enum via va, int b, enum via vb, struct route *r)
{
	struct step ua[DEPTH_MAX + 1], ub[DEPTH_MAX + 1], cross[RS_PATH_HOPS_MAX];
	int na = climb(h, a, va, ua), nb = climb(h, b, vb, ub), nc = 0;
	int top_a = na ? ua[na - 1].other : a, top_b = nb ? ub[nb - 1].other : b;

	*r = (struct route){0};
	for (int i = 0; i <= na; i++)
		for (int j = 0; j <= nb; j++)
			if ((i ? ua[i - 1].other : a) == (j ? ub[j - 1].other : b))
				return join(r, ua, i, ub, j, cross, 0);
	if (kind_of(h, top_a) != RS_PART_SOCKET || kind_of(h, top_b) != RS_PART_SOCKET) {
		r->unknown = true; /* the top of a tree is hidden */
		return 0;
	}
	nc = cross_sockets(h, top_a, top_b, cross, RS_PATH_HOPS_MAX);
	if (nc < 0)
		return -ENOENT;
	return join(r, ua, na, ub, nb, cross, nc);
}

static bool moves_data(enum rs_part_kind k)
{
	return k == RS_PART_SOCKET || k == RS_PART_GPU || k == RS_PART_NIC;
}

static bool better(const struct route *x, const struct route *y)
{
	if (x->unknown != y->unknown)
		return !x->unknown;
	return x->crossings != y->crossings ? x->crossings < y->crossings : x->n < y->n;
}

int host_route(const struct rs_host *h, int a, int b, struct route *best)
{
	int rc = -ENOENT;

	*best = (struct route){0};
	if (!moves_data(kind_of(h, a)) || !moves_data(kind_of(h, b)))
		return -ENOENT;
	for (int va = 0; va < VIAS; va++) {
		if (va != VIA_UP && host_parent(h, a, (enum via)va) == RS_NO_PART)
			continue;
		for (int vb = 0; vb < VIAS; vb++) {
			struct route r;
			int got;

			if (vb != VIA_UP && host_parent(h, b, (enum via)vb) == RS_NO_PART)
				continue;
			got = meet(h, a, (enum via)va, b, (enum via)vb, &r);
			if (got) {
				rc = rc == -ENOENT ? got : rc;
				continue;
			}
			describe(h, a, &r);
			if (rc || better(&r, best))
				*best = r;
			rc = 0;
		}
	}
	return rc;
}

static bool has_switch(const struct rs_host *h, int gpu)
{
	for (int i = 0; i < h->n_xlinks; i++) {
		int o = other_end(&h->xlinks[i], gpu);

		if (o != RS_NO_PART && kind_of(h, o) == RS_PART_NVSWITCH)
			return true;
	}
	return false;
}

int host_nvlink(const struct rs_host *h, int a, int b)
{
	if (a == b || kind_of(h, a) != RS_PART_GPU || kind_of(h, b) != RS_PART_GPU)
		return 0;
	for (int i = 0; i < h->n_xlinks; i++)
		if (h->xlinks[i].kind == RS_XLINK_NVLINK && other_end(&h->xlinks[i], a) == b)
			return 1;
	return has_switch(h, a) && has_switch(h, b) ? 2 : 0;
}

/* ---- Distances ---- */

const char *rs_distance_name(enum rs_distance d)
{
	static const char *const names[] = {
		[RS_DIST_SELF] = "SELF", [RS_DIST_NVLINK] = "NVL",      [RS_DIST_PIX] = "PIX",
		[RS_DIST_PXB] = "PXB",   [RS_DIST_PHB] = "PHB",         [RS_DIST_NODE] = "NODE",
		[RS_DIST_SYS] = "SYS",   [RS_DIST_UNKNOWN] = "unknown",
	};

	return names[(unsigned)d <= RS_DIST_UNKNOWN ? d : RS_DIST_UNKNOWN];
}

enum rs_distance host_route_distance(const struct route *r)
{
	if (r->unknown)
		return RS_DIST_UNKNOWN;
	if (r->crossings)
		return r->one_node ? RS_DIST_NODE : RS_DIST_SYS;
	if (r->through_socket)
		return RS_DIST_PHB;
	return r->bridges > 1 ? RS_DIST_PXB : RS_DIST_PIX;
}

enum rs_distance rs_host_distance(const struct rs_host *h, int a, int b)
{
	struct route r;

	if (a < 0 || b < 0 || a >= h->n_parts || b >= h->n_parts)
		return RS_DIST_UNKNOWN;
	if (a == b)
		return RS_DIST_SELF;
	if (host_nvlink(h, a, b))
		return RS_DIST_NVLINK;
	return host_route(h, a, b, &r) ? RS_DIST_UNKNOWN : host_route_distance(&r);
}
