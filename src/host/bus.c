/*
 * A host's links in motion. Each directed link serves in order of arrival; a DMA goes through its
 * path cut into TLPs, piece by piece, and reserves all its links when it is issued. docs/host.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/host.h"
#include "host/route.h"

enum {
	PIECE = RS_BUS_PIECE,     /* a DMA is reserved in pieces of a RoCE packet at most */
	IMPLIED_SOCKETS_MAX = 64, /* joined each to each where no link between sockets is given */
	TAGS_MAX = 15360,         /* 14 bits, PCIe 6 */
	CREDITS_MAX = 1 << 16,
	LINK_NAME = 64,
	SPANS = 64, /* what lies ahead of a link: more than reads outstanding cut it into */
	NO_LINK = 0xffff,
};

static const rs_time hop_latency_unknown_cpu = 50 * RS_NS;
/* Calls come in order of time but for what a NIC's pipeline delays: remember so much of the past.
 */
static const rs_time remembered = 1 * RS_US;

/* When a link is taken, in order and apart: spans[first..n). */
struct span {
	rs_time from, to;
};

struct link {
	struct rs_pace pace;
	rs_time latency; /* of the link and of the element that it enters */
	rs_time busy;
	uint64_t bytes;
	uint32_t header[TLP_KINDS];
	uint16_t first, n;
	struct span spans[SPANS];
};

/* What is outstanding at an initiator: entries in order of the time at which their tags and buffer,
 * or their credits, are free again. */
struct hold {
	rs_time release;
	rs_time queued; /* of the time that it is held: what links let it wait */
	uint32_t units, slots;
};

struct window {
	uint32_t units_max, slots_max; /* bytes and tags, or data and header credits */
	uint32_t units, slots;
	uint32_t head, tail, mask;
	rs_time last;      /* issues are in order: none before this */
	rs_time waited[2]; /* for units, for slots; what links put off does not count */
	struct hold *ring;
};

/* A part's links by attachment. in and out: the root complex's peer-to-peer at this root port. */
struct port {
	uint16_t up, down, in, out;
	uint16_t mps, mrrs;
};

struct engine {
	struct window read, write;
};

/* All links of a kind between two parts, taken together. to: RS_NO_PART for the NVSwitches. */
struct edge {
	int a, b;
	enum rs_xlink_kind kind;
	uint16_t link[2], p2p[2]; /* [0]: a to b */
	uint16_t both;            /* peer-to-peer of both directions together, or NO_LINK */
};

struct bus_name {
	char text[LINK_NAME];
	int64_t rate;
};

struct rs_bus {
	const struct rs_host *host;
	struct rs_host_params p;
	const struct rs_cpu_model *cpu;
	struct link *links;
	struct bus_name *names;
	struct port (*ports)[VIAS];
	struct engine *engines;
	struct edge *edges;
	int n_links, n_edges;
	rs_time past;   /* nothing is asked of links before this */
	bool no_limits; /* a counterfactual: see hold_until() */
};

/* ---- Making it ---- */

static uint16_t add_link(struct rs_bus *b, int64_t rate, rs_time latency, const char *from,
			 const char *to, const char *what)
{
	struct link *l = &b->links[b->n_links];
	struct bus_name *n = &b->names[b->n_links];

	l->pace = rs_pace_of(rate);
	l->latency = latency;
	n->rate = rate;
	snprintf(n->text, sizeof(n->text), "%.24s->%.24s%s", from, to, what);
	return (uint16_t)b->n_links++;
}

static rs_time entry_latency(const struct rs_bus *b, int part)
{
	return b->host->parts[part].kind == RS_PART_PCI_BRIDGE ? b->p.switch_latency : 0;
}

/* Does a root complex cut what goes from one root port to another into TLPs of its own size? */
static bool recut(const struct rs_bus *b)
{
	return b->cpu && (b->cpu->p2p_tlp || b->cpu->root_rate);
}

/* What a root complex passes on to one of its ports: payload where it cuts TLPs anew, else TLPs. */
static int64_t root_rate(const struct rs_bus *b, int64_t rate, uint32_t header)
{
	if (!b->cpu)
		return 0;
	if (b->cpu->p2p_tlp)
		rate = rate * b->cpu->p2p_tlp / (b->cpu->p2p_tlp + header);
	if (b->cpu->root_rate && (!rate || b->cpu->root_rate < rate))
		rate = b->cpu->root_rate;
	return rate;
}

static void add_port(struct rs_bus *b, int part, enum via via)
{
	const struct rs_host *h = b->host;
	const struct rs_part *p = &h->parts[part];
	const struct rs_pcie *pcie = via == VIA_UP ? &p->up : &p->up2;
	struct port *t = &b->ports[part][via];
	int parent = host_parent(h, part, via);
	int64_t rate = host_pcie_usable(pcie, &b->p);
	const char *to;

	t->up = t->down = t->in = t->out = NO_LINK;
	t->mps = pcie->mps ? pcie->mps : MPS_DEFAULT;
	t->mrrs = pcie->mrrs ? pcie->mrrs : MRRS_DEFAULT;
	if (parent == RS_NO_PART)
		return;
	to = h->parts[parent].name;
	t->up = add_link(b, rate, b->p.phy_latency + entry_latency(b, parent), p->name, to, "");
	t->down = add_link(b, rate, b->p.phy_latency + entry_latency(b, part), to, p->name, "");
	host_tlp_headers(pcie, &b->p, b->links[t->up].header);
	memcpy(b->links[t->down].header, b->links[t->up].header, sizeof(b->links[0].header));
	if (h->parts[parent].kind != RS_PART_SOCKET)
		return;
	t->in = add_link(b, b->cpu ? rate : 0, b->p.root_p2p, p->name, to, " p2p");
	memcpy(b->links[t->in].header, b->links[t->up].header, sizeof(b->links[0].header));
	t->out = add_link(b, root_rate(b, rate, b->links[t->up].header[TLP_WRITE]), 0, to, p->name,
			  " p2p");
	if (!recut(b))
		memcpy(b->links[t->out].header, b->links[t->up].header, sizeof(b->links[0].header));
}

/* The NVSwitches of a host are one plane: a GPU's links to them carry its traffic together. */
static int plane_end(const struct rs_host *h, int part)
{
	return h->parts[part].kind == RS_PART_NVSWITCH ? RS_NO_PART : part;
}

static bool joins(const struct rs_host *h, const struct rs_xlink *x, const struct edge *e)
{
	int a = plane_end(h, x->a), b = plane_end(h, x->b);

	return x->kind == e->kind && ((a == e->a && b == e->b) || (a == e->b && b == e->a));
}

/* Rates of parallel links add up; by the model's default where one is not given. */
static void edge_rates(const struct rs_bus *b, const struct edge *e, int64_t *rate, int64_t *p2p,
		       rs_time *latency)
{
	const struct rs_host *h = b->host;
	bool given = false, unknown = false;

	*rate = *p2p = 0;
	*latency = -1;
	for (int i = 0; i < h->n_xlinks; i++) {
		const struct rs_xlink *x = &h->xlinks[i];

		if (!joins(h, x, e))
			continue;
		given |= x->rate > 0;
		unknown |= !x->rate;
		*rate += x->rate;
		*p2p = x->p2p_rate < 0 || *p2p < 0 ? -1 : *p2p + x->p2p_rate;
		*latency = x->latency > *latency ? x->latency : *latency;
	}
	if (given && !unknown)
		return;
	*rate = 0;
	if (e->kind == RS_XLINK_SOCKET && b->cpu)
		*rate = (int64_t)((double)b->cpu->hop_rate * b->p.xlink_efficiency);
	if (e->kind == RS_XLINK_NVLINK && e->b == RS_NO_PART)
		*rate = host_nvlink_rate(h->parts[e->a].model);
}

static rs_time edge_latency(const struct rs_bus *b, const struct edge *e)
{
	if (e->kind == RS_XLINK_NVLINK)
		return e->b == RS_NO_PART ? b->p.nvlink_hop / 2 : b->p.nvlink_hop;
	return b->cpu ? b->cpu->hop_latency : hop_latency_unknown_cpu;
}

static void add_edge(struct rs_bus *b, int from, int to, enum rs_xlink_kind kind)
{
	const struct rs_part *parts = b->host->parts;
	struct edge *e = &b->edges[b->n_edges++];
	const char *na = parts[from].name, *nb = to == RS_NO_PART ? "nvswitch" : parts[to].name;
	int64_t rate, p2p;
	rs_time latency;

	*e = (struct edge){from, to, kind, {NO_LINK, NO_LINK}, {NO_LINK, NO_LINK}, NO_LINK};
	edge_rates(b, e, &rate, &p2p, &latency);
	if (latency < 0)
		latency = edge_latency(b, e);
	e->link[0] = add_link(b, rate, latency, na, nb, "");
	e->link[1] = add_link(b, rate, latency, nb, na, "");
	if (kind != RS_XLINK_SOCKET)
		return;
	if (p2p == 0 && b->cpu) {
		p2p = b->cpu->p2p_rate;
		if (b->cpu->p2p_both)
			e->both = add_link(b, b->cpu->p2p_both, 0, na, nb, " both ways");
	}
	if (p2p < 0)
		p2p = rate; /* not limited apart: as the hop itself */
	e->p2p[0] = add_link(b, p2p, 2 * b->p.root_p2p, na, nb, " p2p");
	e->p2p[1] = add_link(b, p2p, 2 * b->p.root_p2p, nb, na, " p2p");
}

static void add_edges(struct rs_bus *b)
{
	const struct rs_host *h = b->host;

	for (int i = 0; i < h->n_xlinks; i++) {
		const struct rs_xlink *x = &h->xlinks[i];
		int from = plane_end(h, x->a), to = plane_end(h, x->b);
		bool there = false;

		for (int j = 0; j < b->n_edges && !there; j++)
			there = joins(h, x, &b->edges[j]);
		if (there || (from == RS_NO_PART && to == RS_NO_PART))
			continue;
		add_edge(b, from == RS_NO_PART ? to : from, from == RS_NO_PART ? from : to,
			 x->kind);
	}
	if (host_has_socket_links(h))
		return;
	for (int i = 0; i < h->n_parts; i++)
		for (int j = 0; j < i; j++)
			if (h->parts[i].kind == RS_PART_SOCKET &&
			    h->parts[j].kind == RS_PART_SOCKET)
				add_edge(b, j, i, RS_XLINK_SOCKET);
}

static int make_window(struct window *w, uint32_t units, uint32_t slots)
{
	uint32_t size = 1;

	while (size < slots)
		size <<= 1;
	*w = (struct window){.units_max = units, .slots_max = slots, .mask = size - 1};
	w->ring = calloc(size, sizeof(*w->ring));
	return w->ring ? 0 : -ENOMEM;
}

static bool has_engine(const struct rs_part *p)
{
	return p->kind == RS_PART_NIC || p->kind == RS_PART_GPU || p->kind == RS_PART_SOCKET;
}

static int make_engines(struct rs_bus *b)
{
	for (int i = 0; i < b->host->n_parts; i++) {
		struct rs_dma_limits l = rs_dma_limits_of(&b->host->parts[i], &b->p);

		if (has_engine(&b->host->parts[i]) &&
		    (make_window(&b->engines[i].read, l.read_buffer, l.tags) ||
		     make_window(&b->engines[i].write, l.data_credits, l.header_credits)))
			return -ENOMEM;
	}
	return 0;
}

static bool in_range(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max;
}

static int check_limits(const struct rs_host *h, const struct rs_host_params *p, struct rs_error *e)
{
	for (int i = 0; i < h->n_parts; i++) {
		struct rs_dma_limits l = rs_dma_limits_of(&h->parts[i], p);
		const char *name = h->parts[i].name;

		if (!in_range(l.tags, 1, TAGS_MAX))
			return rs_error_set(e, -EINVAL, "%s: %u read tags; expected 1 to %d", name,
					    l.tags, TAGS_MAX);
		if (!in_range(l.read_buffer, 4096, 1 << 24))
			return rs_error_set(e, -EINVAL,
					    "%s: a read buffer of %u bytes; expected 4096 to %d",
					    name, l.read_buffer, 1 << 24);
		if (!in_range(l.data_credits, 256, CREDITS_MAX) ||
		    !in_range(l.header_credits, 1, CREDITS_MAX))
			return rs_error_set(e, -EINVAL,
					    "%s: posted credits: %u units of data and %u headers; "
					    "expected 256 to %d and 1 to %d",
					    name, l.data_credits, l.header_credits, CREDITS_MAX,
					    CREDITS_MAX);
	}
	return 0;
}

static int check_params(const struct rs_host_params *p, struct rs_error *e)
{
	uint32_t chunk = p->completion_chunk;

	if (!in_range(chunk, 64, 4096) || (chunk & (chunk - 1)))
		return rs_error_set(e, -EINVAL,
				    "completions of %u bytes; expected 64, 128 ... 4096", chunk);
	if (!(p->dll_efficiency > 0 && p->dll_efficiency <= 1) ||
	    !(p->xlink_efficiency > 0 && p->xlink_efficiency <= 1))
		return rs_error_set(e, -EINVAL, "a link's efficiency lies above 0 and up to 1");
	if (!in_range(p->header_write, 0, 64) || !in_range(p->header_completion, 0, 64) ||
	    !in_range(p->header_read, 0, 64))
		return rs_error_set(e, -EINVAL, "a TLP's overhead is at most 64 bytes");
	return 0;
}

static int count_sockets(const struct rs_host *h)
{
	int n = 0;

	for (int i = 0; i < h->n_parts; i++)
		n += h->parts[i].kind == RS_PART_SOCKET;
	return n;
}

static int allocate(struct rs_bus *b)
{
	size_t parts = (size_t)b->host->n_parts, sockets = (size_t)count_sockets(b->host);
	size_t edges = (size_t)b->host->n_xlinks;

	if (!host_has_socket_links(b->host))
		edges += sockets * sockets / 2;
	b->edges = calloc(edges + 1, sizeof(*b->edges));
	b->links = calloc(8 * parts + 5 * edges + 1, sizeof(*b->links));
	b->names = calloc(8 * parts + 5 * edges + 1, sizeof(*b->names));
	b->ports = calloc(parts, sizeof(*b->ports));
	b->engines = calloc(parts, sizeof(*b->engines));
	if (!b->edges || !b->links || !b->names || !b->ports || !b->engines)
		return -ENOMEM;
	return make_engines(b);
}

int rs_bus_create(const struct rs_host *h, const struct rs_host_params *p, struct rs_bus **bus,
		  struct rs_error *e)
{
	struct rs_bus *b;
	int rc;

	p = p ? p : &rs_host_defaults;
	if ((rc = rs_host_check(h, e)) || (rc = check_params(p, e)) || (rc = check_limits(h, p, e)))
		return rc;
	if (!host_has_socket_links(h) && count_sockets(h) > IMPLIED_SOCKETS_MAX)
		return rs_error_set(e, -EINVAL, "%d sockets and no link between them",
				    count_sockets(h));
	b = calloc(1, sizeof(*b));
	if (!b)
		return rs_error_set(e, -ENOMEM, "out of memory");
	b->host = h;
	b->p = *p;
	b->cpu = rs_cpu_find(h->cpu);
	if (allocate(b)) {
		rs_bus_destroy(b);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	for (int i = 0; i < h->n_parts; i++) {
		add_port(b, i, VIA_UP);
		add_port(b, i, VIA_UP2);
	}
	add_edges(b);
	*bus = b;
	return 0;
}

void rs_bus_destroy(struct rs_bus *b)
{
	if (!b)
		return;
	for (int i = 0; b->engines && i < b->host->n_parts; i++) {
		free(b->engines[i].read.ring);
		free(b->engines[i].write.ring);
	}
	free(b->engines);
	free(b->ports);
	free(b->edges);
	free(b->names);
	free(b->links);
	free(b);
}

void rs_bus_ideal(struct rs_bus *b, bool links, bool limits)
{
	for (int i = 0; i < b->n_links && links; i++)
		b->links[i].pace = rs_pace_of(0);
	b->no_limits = limits;
}

/* ---- Paths ---- */

static const struct edge *find_edge(const struct rs_bus *b, int x, int y, bool *forward)
{
	for (int i = 0; i < b->n_edges; i++) {
		const struct edge *e = &b->edges[i];

		*forward = e->a == x && e->b == y;
		if (*forward || (e->a == y && e->b == x))
			return e;
	}
	return NULL;
}

struct way {
	unsigned n;
	uint16_t hop[RS_PATH_HOPS_MAX + 4];
};

static void put(struct way *w, uint16_t link)
{
	if (w->n < RS_PATH_HOPS_MAX + 4)
		w->hop[w->n++] = link;
}

static void put_edge(const struct rs_bus *b, struct way *w, int from, int to, bool p2p)
{
	bool forward;
	const struct edge *e = find_edge(b, from, to, &forward);

	rs_assert(e);
	if (p2p && e->p2p[!forward] != NO_LINK)
		put(w, e->p2p[!forward]);
	if (p2p && e->both != NO_LINK)
		put(w, e->both);
	put(w, e->link[!forward]);
}

/* Between two root ports of one socket: the root complex's peer-to-peer of both. */
static void put_turn(const struct rs_bus *b, struct way *w, const struct step *up,
		     const struct step *down)
{
	if (up->via != VIA_C2C)
		put(w, b->ports[up->part][up->via].in);
	if (down->via != VIA_C2C)
		put(w, b->ports[down->part][down->via].out);
}

static void put_steps(const struct rs_bus *b, struct way *w, const struct step *s, int n, bool p2p)
{
	for (int i = 0; i < n; i++) {
		bool turn = i + 1 < n && s[i].kind == STEP_UP && s[i + 1].kind == STEP_DOWN &&
			    b->host->parts[s[i].other].kind == RS_PART_SOCKET;

		if (s[i].kind == STEP_CROSS)
			put_edge(b, w, s[i].part, s[i].other, p2p);
		else if (s[i].via == VIA_C2C)
			put_edge(b, w, s[i].kind == STEP_UP ? s[i].part : s[i].other,
				 s[i].kind == STEP_UP ? s[i].other : s[i].part, false);
		else if (s[i].kind == STEP_UP)
			put(w, b->ports[s[i].part][s[i].via].up);
		else
			put(w, b->ports[s[i].part][s[i].via].down);
		if (turn)
			put_turn(b, w, &s[i], &s[i + 1]);
	}
}

static void turn_round(struct step *s, int n)
{
	for (int i = 0; i < n / 2; i++) {
		struct step t = s[i];

		s[i] = s[n - 1 - i];
		s[n - 1 - i] = t;
	}
	for (int i = 0; i < n; i++) {
		int part = s[i].part;

		if (s[i].kind == STEP_CROSS) {
			s[i].part = s[i].other;
			s[i].other = part;
		} else {
			s[i].kind = s[i].kind == STEP_UP ? STEP_DOWN : STEP_UP;
		}
	}
}

static int finish(const struct rs_bus *b, const struct way *to, const struct way *back,
		  struct rs_path *p)
{
	if (to->n > RS_PATH_HOPS_MAX || back->n > RS_PATH_HOPS_MAX)
		return -E2BIG;
	p->n_hops = (uint8_t)to->n;
	memcpy(p->hop, to->hop, to->n * sizeof(*p->hop));
	memcpy(p->back, back->hop, back->n * sizeof(*p->back));
	for (unsigned i = 0; i < to->n; i++) {
		p->fixed += b->links[p->hop[i]].latency;
		p->fixed_back += b->links[p->back[i]].latency;
		p->unknown |= !b->names[p->hop[i]].rate || !b->names[p->back[i]].rate;
	}
	p->mps_shift = (uint8_t)__builtin_ctz(p->mps);
	p->mrrs_shift = (uint8_t)__builtin_ctz(p->mrrs);
	p->chunk_shift = (uint8_t)__builtin_ctz(p->chunk);
	return 0;
}

/*
 * A DMA waits for the tags and bytes, or credits, of a whole piece, where real TLPs wait one by
 * one. The largest piece that leaves no more than 3 % of what may be outstanding unused.
 */
static uint32_t piece_of(uint64_t units, uint64_t slots, uint32_t tlp)
{
	uint64_t most = units < slots ? units : slots, piece = PIECE;

	while (piece > tlp && most / piece * piece * 100 < most * 97)
		piece /= 2;
	return most < piece ? (uint32_t)most : (uint32_t)piece;
}

static void sizes(const struct rs_bus *b, const struct route *r, struct rs_path *p)
{
	const struct engine *g = &b->engines[p->initiator];
	bool pcie = false;

	for (int i = 0; i < r->n; i++) {
		const struct port *t = &b->ports[r->step[i].part][r->step[i].via];

		if (r->step[i].kind == STEP_CROSS || r->step[i].via == VIA_C2C)
			continue;
		if (!pcie || t->mps < p->mps)
			p->mps = t->mps;
		if (!pcie) /* the initiator's own, or that of a socket's first port */
			p->mrrs = t->mrrs;
		pcie = true;
	}
	p->chunk = b->p.completion_chunk < p->mps ? (uint16_t)b->p.completion_chunk : p->mps;
	p->write_piece = piece_of((uint64_t)g->write.units_max * 16,
				  (uint64_t)g->write.slots_max * p->mps, p->mps);
	p->read_piece = piece_of(g->read.units_max, (uint64_t)g->read.slots_max * p->mrrs, p->mrrs);
}

static int nvlink_path(const struct rs_bus *b, int how, struct rs_path *p)
{
	struct way to = {0}, back = {0};
	int via = how == 1 ? p->target : RS_NO_PART;

	put_edge(b, &to, p->initiator, via, false);
	if (how == 2)
		put_edge(b, &to, via, p->target, false);
	put_edge(b, &back, p->target, how == 1 ? p->initiator : via, false);
	if (how == 2)
		put_edge(b, &back, via, p->initiator, false);
	p->nvlink = true;
	p->distance = RS_DIST_NVLINK;
	return finish(b, &to, &back, p);
}

static void unknown_place(const struct rs_bus *b, struct rs_path *p)
{
	p->unknown = true;
	p->fixed = p->fixed_back = 2 * b->p.phy_latency;
}

int rs_bus_path(const struct rs_bus *b, int initiator, int target, bool via_nvlink,
		struct rs_path *p)
{
	const struct rs_part *parts = b->host->parts;
	struct way to = {0}, back = {0};
	struct route r;
	int rc, how;
	bool p2p;

	if (initiator < 0 || target < 0 || initiator >= b->host->n_parts ||
	    target >= b->host->n_parts)
		return -ENOENT;
	*p = (struct rs_path){.initiator = initiator,
			      .target = target,
			      .mps = MPS_DEFAULT,
			      .mrrs = MRRS_DEFAULT,
			      .chunk = MPS_DEFAULT,
			      .write_piece = PIECE,
			      .read_piece = PIECE};
	how = via_nvlink ? host_nvlink(b->host, initiator, target) : 0;
	if (via_nvlink)
		return how ? nvlink_path(b, how, p) : -ENOENT;
	if ((rc = host_route(b->host, initiator, target, &r)))
		return rc;
	p->distance = initiator == target ? RS_DIST_SELF : host_route_distance(&r);
	p2p = parts[initiator].kind != RS_PART_SOCKET && parts[target].kind != RS_PART_SOCKET;
	if (parts[target].kind != RS_PART_NIC) {
		bool gpu = parts[target].kind == RS_PART_GPU;

		p->write_access = gpu ? b->p.gpu_write : b->p.root_write;
		p->read_access = gpu ? b->p.gpu_read : b->p.dram_read;
	}
	sizes(b, &r, p);
	put_steps(b, &to, r.step, r.n, p2p);
	turn_round(r.step, r.n);
	put_steps(b, &back, r.step, r.n, p2p);
	rc = finish(b, &to, &back, p);
	if (r.unknown)
		unknown_place(b, p);
	return rc;
}

/* ---- Motion ---- */

/* When the first and the last TLP of a piece are at a place. */
struct front {
	rs_time head, tail;
};

struct load {
	enum tlp kind;
	uint32_t payload, tlps, first; /* bytes; TLPs; bytes of the first TLP's payload */
};

/* What a crossing took: the first link from .. to, and what the links after it let it wait. */
struct taken {
	rs_time from, to, wait;
};

/* Room for one more span: forget the past, else close the gap that costs least, the last one. */
static void make_room(struct link *l)
{
	if (!l->first) {
		l->spans[l->n - 2].to = l->spans[l->n - 1].to;
		l->n--;
		return;
	}
	memmove(l->spans, l->spans + l->first, (l->n - l->first) * sizeof(*l->spans));
	l->n = (uint16_t)(l->n - l->first);
	l->first = 0;
}

/* Put one span in the place of spans[i..k). */
static void replace_spans(struct link *l, unsigned i, unsigned k, struct span s)
{
	memmove(l->spans + i + 1, l->spans + k, (l->n - k) * sizeof(*l->spans));
	l->spans[i] = s;
	l->n = (uint16_t)(l->n + 1 - (k - i));
}

/*
 * Take `work` of a link's time from `at` on, wherever it is idle: the first to come is served
 * first, even when others were reserved before for later. *end: when the work is done. Returns when
 * it begins.
 */
static inline rs_time take(struct link *l, rs_time past, rs_time at, rs_time work, rs_time *end)
{
	struct span s = {at, at};
	unsigned i, k;
	rs_time start;

	*end = at;
	if (!work)
		return at;
	while (l->first < l->n && l->spans[l->first].to <= past)
		l->first++;
	if (l->first == l->n)
		l->first = l->n = 0;
	if (l->n == SPANS)
		make_room(l);
	for (i = l->n; i > l->first && l->spans[i - 1].to >= at;)
		i--;
	k = i;
	if (k < l->n && l->spans[k].from <= at)
		s = l->spans[k++];
	start = s.to;
	for (; k < l->n && l->spans[k].from - s.to <= work; k++) {
		work -= l->spans[k].from - s.to;
		s.to = l->spans[k].to;
		*end = l->spans[k].from;
	}
	if (work) {
		s.to += work;
		*end = s.to;
	}
	replace_spans(l, i, k, s);
	return start;
}

/*
 * Carry a piece over a row of links, which pass it on TLP by TLP. A link takes it when it has come
 * and the link is idle.
 */
static inline struct front cross(struct rs_bus *b, const uint16_t *hop, unsigned n,
				 const struct load *d, struct front at, struct taken *got)
{
	rs_time all_wait = 0;

	*got = (struct taken){at.head, at.head, 0};
	for (unsigned i = 0; i < n; i++) {
		struct link *l = &b->links[hop[i]];
		uint32_t header = l->header[d->kind], bytes = d->payload + d->tlps * header;
		rs_time all = rs_pace_time(l->pace, bytes), end;
		rs_time one = rs_pace_time(l->pace, d->first + header);
		rs_time start = take(l, b->past, at.head, all, &end);

		if (i)
			all_wait += start - at.head;
		else
			*got = (struct taken){start, end, 0};
		l->busy += all;
		l->bytes += bytes;
		at.tail = rs_time_max(at.tail + one, end) + l->latency;
		at.head = start + one + l->latency;
	}
	got->wait = all_wait;
	return at;
}

/* A limit lets wait for no longer than without the queues of links further on. */
static void count_wait(struct window *w, bool slots, rs_time waited, rs_time queued)
{
	if (waited > queued)
		w->waited[slots] += waited - queued;
}

/* Wait until so many units and slots are free, in order of issue. */
static inline rs_time acquire(struct window *w, uint32_t units, uint32_t slots, rs_time now)
{
	now = rs_time_max(now, w->last);
	while (w->head != w->tail &&
	       (w->units + units > w->units_max || w->slots + slots > w->slots_max)) {
		const struct hold *h = &w->ring[w->head++ & w->mask];

		if (h->release > now) {
			count_wait(w, w->units + units <= w->units_max, h->release - now,
				   h->queued);
			now = h->release;
		}
		w->units -= h->units;
		w->slots -= h->slots;
	}
	w->last = now;
	return now;
}

static inline void hold(struct window *w, uint32_t units, uint32_t slots, rs_time release,
			rs_time queued)
{
	uint32_t i = w->tail++;

	/* what a short way gives back does not wait for what a long one holds */
	for (; i != w->head && w->ring[(i - 1) & w->mask].release > release; i--)
		w->ring[i & w->mask] = w->ring[(i - 1) & w->mask];
	w->ring[i & w->mask] = (struct hold){release, queued, units, slots};
	w->units += units;
	w->slots += slots;
}

/*
 * Until when a piece issued at `now` holds what it holds. Where limits are taken away: for as long
 * as links let it wait, so that latency costs nothing and no initiator fills a slow link's queue
 * for all time to come, which would be slower than the limits are.
 */
static inline rs_time hold_until(const struct rs_bus *b, rs_time release, rs_time now,
				 rs_time queued)
{
	return __builtin_expect(b->no_limits, 0) ? now + queued : release;
}

static inline uint32_t pieces_of(uint32_t n, unsigned shift)
{
	uint32_t k = (n + (1u << shift) - 1) >> shift;

	return k ? k : 1;
}

static inline uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The tags and bytes of a piece come free one request after the other, and would be taken again so;
 * a piece is held until its first request is complete, so that the next, whose requests then follow
 * each other as those did, is issued when its first may be.
 */
static rs_time read_piece(struct rs_bus *b, const struct rs_path *p, uint32_t n, rs_time now,
			  rs_time *issued)
{
	struct window *w = &b->engines[p->initiator].read;
	uint32_t k = pieces_of(n, p->mrrs_shift);
	struct load request = {TLP_READ, 0, k, 0};
	struct load data = {TLP_COMPLETION, n, pieces_of(n, p->chunk_shift), least(n, p->chunk)};
	struct front at;
	struct taken got;
	rs_time queued, back;

	now = acquire(w, n, k, now);
	*issued = now;
	at = cross(b, p->hop, p->n_hops, &request, (struct front){now, now}, &got);
	at.head += p->read_access;
	at.tail += p->read_access;
	queued = got.from - now + got.wait;
	back = at.head;
	at = cross(b, p->back, p->n_hops, &data, at, &got);
	queued += got.from - back + got.wait;
	hold(w, n, k,
	     hold_until(b, at.head + ((at.tail - at.head) >> (31 - __builtin_clz(k))), now, queued),
	     queued);
	return at.tail;
}

static rs_time write_piece(struct rs_bus *b, const struct rs_path *p, uint32_t n, rs_time now,
			   rs_time *left)
{
	struct window *w = &b->engines[p->initiator].write;
	struct load data = {TLP_WRITE, n, pieces_of(n, p->mps_shift), least(n, p->mps)};
	uint32_t units = (n + 15) >> 4;
	struct front at;
	struct taken got;
	rs_time queued;

	now = acquire(w, units, data.tlps, now);
	at = cross(b, p->hop, p->n_hops, &data, (struct front){now, now}, &got);
	queued = got.from - now + got.wait;
	hold(w, units, data.tlps, hold_until(b, now + queued + b->p.credit_latency, now, queued),
	     queued);
	*left = got.to;
	return at.tail + p->write_access;
}

rs_time rs_bus_read(struct rs_bus *b, const struct rs_path *p, uint32_t n, rs_time now,
		    rs_time *issued)
{
	rs_time done, at = now;

	b->past = now - remembered;
	if (!p->n_hops) {
		if (issued)
			*issued = now;
		return now + p->fixed + p->read_access + p->fixed_back;
	}
	if (p->nvlink) {
		struct load data = {TLP_COMPLETION, n, 1, least(n, p->chunk)};
		struct taken got;

		if (issued)
			*issued = now;
		at = now + p->fixed;
		return cross(b, p->back, p->n_hops, &data, (struct front){at, at}, &got).tail;
	}
	done = read_piece(b, p, least(n, p->read_piece), now, &at);
	for (uint32_t off = p->read_piece; off < n; off += p->read_piece)
		done = rs_time_max(done, read_piece(b, p, least(n - off, p->read_piece), at, &at));
	if (issued)
		*issued = at;
	return done;
}

rs_time rs_bus_write(struct rs_bus *b, const struct rs_path *p, uint32_t n, rs_time now,
		     rs_time *accepted)
{
	rs_time visible, left = now;

	b->past = now - remembered;
	if (!p->n_hops) {
		visible = now + p->fixed + p->write_access;
	} else if (p->nvlink) {
		struct load data = {TLP_WRITE, n, 1, least(n, p->mps)};
		struct taken got;

		visible = cross(b, p->hop, p->n_hops, &data, (struct front){now, now}, &got).tail;
		left = got.to;
	} else {
		visible = write_piece(b, p, least(n, p->write_piece), now, &left);
		for (uint32_t off = p->write_piece; off < n; off += p->write_piece)
			visible = rs_time_max(
				visible,
				write_piece(b, p, least(n - off, p->write_piece), now, &left));
	}
	if (accepted)
		*accepted = left;
	return visible;
}

rs_time rs_bus_write_ready(struct rs_bus *b, const struct rs_path *p, uint32_t n, rs_time now)
{
	struct window *w = &b->engines[p->initiator].write;
	uint32_t units = w->units + ((n + 15) >> 4), slots = w->slots + pieces_of(n, p->mps_shift);

	if (!p->n_hops || p->nvlink)
		return now;
	now = rs_time_max(now, w->last);
	for (uint32_t i = w->head; i != w->tail && (units > w->units_max || slots > w->slots_max);
	     i++) {
		const struct hold *h = &w->ring[i & w->mask];

		if (h->release > now) {
			count_wait(w, units <= w->units_max, h->release - now, h->queued);
			now = h->release;
		}
		units -= h->units;
		slots -= h->slots;
	}
	return now;
}

rs_time rs_bus_waited(const struct rs_bus *b, int part, enum rs_dma_wait what)
{
	const struct engine *g = &b->engines[part];

	if (what == RS_WAIT_CREDITS)
		return g->write.waited[0] + g->write.waited[1];
	return g->read.waited[what == RS_WAIT_TAGS];
}

/* Entries are in order of release. */
static void sum_held(const struct window *w, rs_time now, uint32_t *units, uint32_t *slots)
{
	*units = *slots = 0;
	for (uint32_t i = w->tail; i != w->head; i--) {
		const struct hold *h = &w->ring[(i - 1) & w->mask];

		if (h->release <= now)
			break;
		*units += h->units;
		*slots += h->slots;
	}
}

void rs_bus_outstanding(const struct rs_bus *b, int part, rs_time now,
			struct rs_bus_outstanding *out)
{
	const struct engine *g = &b->engines[part];
	uint32_t headers;

	*out = (struct rs_bus_outstanding){.reads_max = g->read.slots_max,
					   .read_bytes_max = g->read.units_max,
					   .credits_max = g->write.units_max};
	sum_held(&g->read, now, &out->read_bytes, &out->reads);
	sum_held(&g->write, now, &out->credits, &headers);
}

/* ---- Figures ---- */

/* What a row of links gives to DMAs of n bytes cut into so many TLPs. */
static double row_rate(const struct rs_bus *b, const uint16_t *hop, unsigned n_hops, uint32_t n,
		       uint32_t load, uint32_t tlps, enum tlp kind)
{
	double least_rate = 0;

	for (unsigned i = 0; i < n_hops; i++) {
		double rate = (double)b->names[hop[i]].rate;
		uint32_t bytes = load + tlps * b->links[hop[i]].header[kind];

		if (rate <= 0 || !bytes)
			continue;
		rate = rate * n / bytes;
		if (least_rate <= 0 || rate < least_rate)
			least_rate = rate;
	}
	return least_rate;
}

static double bounded(double rate, double bound)
{
	return rate <= 0 || bound < rate ? bound : rate;
}

int64_t rs_path_write_rate(const struct rs_bus *b, const struct rs_path *p, uint32_t n)
{
	uint32_t tlps = pieces_of(n, p->mps_shift);
	double rate = row_rate(b, p->hop, p->n_hops, n, n, tlps, TLP_WRITE);
	double seconds = (double)b->p.credit_latency / (double)RS_S;
	const struct window *w = &b->engines[p->initiator].write;

	if (p->nvlink || !p->n_hops || !n || b->p.credit_latency <= 0)
		return (int64_t)rate;
	rate = bounded(rate, w->slots_max * 8.0 * n / tlps / seconds);
	return (int64_t)bounded(rate, w->units_max * 8.0 * n / ((n + 15) >> 4) / seconds);
}

int64_t rs_path_read_rate(const struct rs_bus *b, const struct rs_path *p, uint32_t n)
{
	uint32_t requests = pieces_of(n, p->mrrs_shift), chunks = pieces_of(n, p->chunk_shift);
	double back = row_rate(b, p->back, p->n_hops, n, n, chunks, TLP_COMPLETION);
	double to = row_rate(b, p->hop, p->n_hops, n, 0, requests, TLP_READ);
	double seconds = (double)(p->fixed + p->read_access + p->fixed_back) / (double)RS_S;
	double rate = to > 0 ? bounded(back, to) : back, outstanding;
	const struct window *w = &b->engines[p->initiator].read;

	if (p->nvlink || !p->n_hops || !n || seconds <= 0)
		return (int64_t)rate;
	outstanding = (double)w->slots_max * n / requests;
	outstanding = bounded(outstanding, w->units_max);
	return (int64_t)bounded(rate, outstanding * 8 / seconds);
}

int rs_bus_links(const struct rs_bus *b)
{
	return b->n_links;
}

void rs_bus_link_stat(const struct rs_bus *b, int link, struct rs_bus_link_stat *out)
{
	rs_assert(link >= 0 && link < b->n_links);
	*out = (struct rs_bus_link_stat){.busy = b->links[link].busy,
					 .bytes = b->links[link].bytes,
					 .rate = b->names[link].rate};
	snprintf(out->name, sizeof(out->name), "%s", b->names[link].text);
}

void rs_bus_link_carried(const struct rs_bus *b, int link, uint64_t *bytes, rs_time *busy)
{
	rs_assert(link >= 0 && link < b->n_links);
	*bytes = b->links[link].bytes;
	*busy = b->links[link].busy;
}
