/*
 * Clos networks: edge switches whose uplinks are alike, in one pod (leaf and spine) or several
 * (k-ary fat trees). Flows between edge switches are edges of a bipartite multigraph; a colour is
 * an uplink. Koenig (1916): as many colours as the greatest degree do. A switch of more flows than
 * uplinks is cut into parts of one flow an uplink, the heaviest first, so that its uplinks differ
 * by one flow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "sim/placement.h"

enum { RANDOM_COLOUR = 7, UPS_MAX = 255, NONE = -1, PACK_MAX = 64, PACK_STEPS = 20000 };

/* An uplink, in the order in which they correspond between switches. */
struct up {
	uint32_t peer;
	uint16_t port;
	uint8_t digit;    /* its place in the set */
	uint8_t plane;    /* of the distinct peers, which */
	uint8_t parallel; /* of the links to it, which */
};

struct tier {
	uint32_t n;      /* uplinks of a switch */
	uint32_t planes; /* distinct peers */
};

struct clos {
	const struct spread *s;
	uint32_t n_pods;
	struct tier leaf, agg; /* agg.n 0: two tiers */
	uint32_t *pod;         /* [switch] of edge switches and those above them; SPREAD_NONE */
	struct up *up;         /* [switch * UPS_MAX ...] by first_up */
	uint32_t *first_up;    /* [switch]; SPREAD_NONE: not looked at */
	uint32_t n_up;
	int64_t rate[2]; /* of the links of a tier */
};

/* ---- Finding one ---- */

static int by_peer(const void *x, const void *y)
{
	const struct up *a = x, *b = y;

	if (a->peer != b->peer)
		return a->peer < b->peer ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

static bool is_edge(const struct clos *c, uint32_t sw)
{
	return c->s->f->routes.group_of_switch[sw] != UINT32_MAX;
}

static bool alike(const struct clos *c, const struct up *a, const struct up *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].plane != b[i].plane || a[i].parallel != b[i].parallel)
			return false;
	return c->n_up > 0;
}

/* The set of a switch for a group as its uplinks, all of the tier's number, rate and form. */
static bool ups(struct clos *c, uint32_t sw, uint32_t group, unsigned tier)
{
	struct tier *t = tier ? &c->agg : &c->leaf;
	const struct spread *s = c->s;
	uint32_t n;
	const uint16_t *ports = spread_set(s, sw, group, &n);
	struct up *up = &c->up[c->n_up];

	if (c->first_up[sw] != SPREAD_NONE) { /* the same for any group that is further up */
		const struct up *old = &c->up[c->first_up[sw]];

		for (uint32_t i = 0; i < n && n == t->n; i++)
			if (ports[old[i].digit] != old[i].port)
				return false;
		return n == t->n;
	}
	if (!n || n > UPS_MAX || (t->n && t->n != n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct spread_port *p = &s->port[s->first[sw] + ports[i]];
		int64_t rate = s->f->links[p->link / 2].rate;

		if (p->to == SPREAD_NONE || is_edge(c, p->to) ||
		    s->f->links[p->link / 2].rate_back || (c->rate[tier] && rate != c->rate[tier]))
			return false;
		c->rate[tier] = rate;
		up[i] = (struct up){.peer = p->to, .port = ports[i], .digit = (uint8_t)i};
	}
	qsort(up, n, sizeof(*up), by_peer);
	for (uint32_t i = 1; i < n; i++) {
		bool same = up[i].peer == up[i - 1].peer;

		up[i].plane = (uint8_t)(up[i - 1].plane + !same);
		up[i].parallel = same ? (uint8_t)(up[i - 1].parallel + 1) : 0;
	}
	if (t->n && !alike(c, up, t == &c->leaf ? c->up : &c->up[c->first_up[c->up[0].peer]], n))
		return false;
	t->n = n;
	t->planes = up[n - 1].plane + 1u;
	c->first_up[sw] = c->n_up;
	c->n_up += n;
	return true;
}

/* The switches above an edge switch are its pod: all of another's, or none. */
static bool join_pod(struct clos *c, uint32_t sw)
{
	const struct up *up = &c->up[c->first_up[sw]];
	uint32_t pod = c->pod[up[0].peer];

	for (uint32_t i = 0; i < c->leaf.n; i++)
		if (c->pod[up[i].peer] != pod)
			return false;
	if (pod == SPREAD_NONE) {
		pod = c->n_pods++;
		for (uint32_t i = 0; i < c->leaf.n; i++)
			c->pod[up[i].peer] = pod;
	} else {
		/* as many planes as those who made the pod see: then they are the same */
		for (uint32_t i = 0; i < c->s->f->n_switches; i++)
			if (c->first_up[i] != SPREAD_NONE && i != sw && c->pod[i] == pod &&
			    is_edge(c, i)) {
				const struct up *old = &c->up[c->first_up[i]];

				for (uint32_t k = 0; k < c->leaf.n; k++)
					if (old[k].peer != up[k].peer)
						return false;
				break;
			}
	}
	c->pod[sw] = pod;
	return true;
}

/* Of a switch above the edge: all pods' ways up lead to the same switches, plane by plane. */
static bool same_cores(const struct clos *c, uint32_t sw, uint32_t other)
{
	const struct up *a = &c->up[c->first_up[sw]], *b = &c->up[c->first_up[other]];

	for (uint32_t i = 0; i < c->agg.n; i++)
		if (a[i].peer != b[i].peer || c->pod[a[i].peer] != SPREAD_NONE)
			return false;
	return true;
}

static bool leaves_ok(struct clos *c)
{
	const struct spread *s = c->s;
	uint32_t n = s->f->routes.n_groups;

	if (n < 2)
		return false;
	for (uint32_t g = 0; g < n; g++)
		for (uint32_t to = 0; to < n; to++)
			if (to != g && !ups(c, s->edge[g], to, 0))
				return false;
	for (uint32_t g = 0; g < n; g++)
		if (!join_pod(c, s->edge[g]))
			return false;
	return true;
}

/* Down from a switch: as many links to a group as there are up from it. */
static bool down_ok(const struct clos *c, uint32_t sw, uint32_t group, uint32_t want)
{
	uint32_t n;

	spread_set(c->s, sw, group, &n);
	return n == want;
}

static uint32_t parallels(const struct up *up, uint32_t n, uint8_t plane)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += up[i].plane == plane;
	return count;
}

/* A spine, of edge switch g: its links to g, its links up, and those down to it from above. */
static bool spine_ok(struct clos *c, uint32_t g, const struct up *up, uint32_t first)
{
	const struct spread *s = c->s;
	const struct up *mine = &c->up[c->first_up[s->edge[g]]], *more;
	bool seen = c->first_up[up->peer] != SPREAD_NONE;

	if (!down_ok(c, up->peer, g, parallels(mine, c->leaf.n, up->plane)))
		return false;
	if (c->n_pods == 1)
		return true;
	for (uint32_t to = 0; !seen && to < s->f->routes.n_groups; to++)
		if (c->pod[s->edge[to]] != c->pod[up->peer] && !ups(c, up->peer, to, 1))
			return false;
	if (!same_cores(c, up->peer, first))
		return false;
	more = &c->up[c->first_up[up->peer]];
	for (uint32_t i = 0; i < c->agg.n; i++)
		if (!down_ok(c, more[i].peer, g, parallels(more, c->agg.n, more[i].plane)))
			return false;
	return true;
}

static bool spines_ok(struct clos *c)
{
	const struct spread *s = c->s;

	for (uint32_t g = 0; g < s->f->routes.n_groups; g++)
		for (uint32_t i = 0; i < c->leaf.n; i++) {
			const struct up *up = &c->up[c->first_up[s->edge[g]] + i];
			const struct up *first = &c->up[c->first_up[s->edge[0]] + i];

			if (!spine_ok(c, g, up, first->peer))
				return false;
		}
	return true;
}

struct clos *clos_find(const struct spread *s, struct rs_arena *a)
{
	const struct rs_fabric *f = s->f;
	struct clos *c = rs_arena_alloc(a, 1, sizeof(*c));
	uint64_t ports = 0;

	for (uint32_t i = 0; i < f->n_switches; i++)
		ports += f->switches[i].n_ports;
	if (!c)
		return NULL;
	c->s = s;
	c->pod = rs_arena_alloc(a, f->n_switches, sizeof(*c->pod));
	c->first_up = rs_arena_alloc(a, f->n_switches, sizeof(*c->first_up));
	c->up = rs_arena_alloc(a, ports + UPS_MAX + 1, sizeof(*c->up));
	if (!c->pod || !c->first_up || !c->up)
		return NULL;
	memset(c->pod, 0xff, f->n_switches * sizeof(*c->pod));
	memset(c->first_up, 0xff, f->n_switches * sizeof(*c->first_up));
	return leaves_ok(c) && spines_ok(c) ? c : NULL;
}

/* ---- Colouring ---- */

struct edge {
	uint32_t flow, left, right; /* nodes; then their parts */
	uint32_t from, to;          /* nodes, as they are */
	int colour;
};

struct colouring {
	struct edge *edge;
	uint32_t n, colours, nodes;
	int *slot[2];           /* [part * colours + colour]: the edge there; NONE */
	uint64_t *load[2];      /* [node * colours + colour]: bytes */
	uint64_t grain;         /* loads that differ by less are alike; 1: none are */
	struct rs_random *draw; /* among colours alike; NULL: the least loaded */
	uint32_t *chain;
};

static uint32_t end_of(const struct edge *e, unsigned side)
{
	return side ? e->right : e->left;
}

static int *slot(struct colouring *c, unsigned side, uint32_t part, int colour)
{
	return &c->slot[side][(size_t)part * c->colours + (uint32_t)colour];
}

static void set_colour(struct colouring *c, const struct spread *s, uint32_t e, int colour)
{
	struct edge *x = &c->edge[e];
	uint64_t bytes = s->flow[x->flow].bytes;
	int was = x->colour;

	if (was != NONE) {
		*slot(c, 0, x->left, was) = *slot(c, 1, x->right, was) = NONE;
		c->load[0][(size_t)x->from * c->colours + (uint32_t)was] -= bytes;
		c->load[1][(size_t)x->to * c->colours + (uint32_t)was] -= bytes;
	}
	x->colour = colour;
	if (colour == NONE)
		return;
	*slot(c, 0, x->left, colour) = *slot(c, 1, x->right, colour) = (int)e;
	c->load[0][(size_t)x->from * c->colours + (uint32_t)colour] += bytes;
	c->load[1][(size_t)x->to * c->colours + (uint32_t)colour] += bytes;
}

/* A colour that is free at both ends, of the least load; NONE. */
static int common(struct colouring *c, const struct edge *x)
{
	uint64_t least = UINT64_MAX, least_sum = UINT64_MAX;
	int best = NONE;

	for (int k = 0; k < (int)c->colours; k++) {
		uint64_t a, b, most, sum;

		if (*slot(c, 0, x->left, k) != NONE || *slot(c, 1, x->right, k) != NONE)
			continue;
		a = c->load[0][(size_t)x->from * c->colours + (uint32_t)k];
		b = c->load[1][(size_t)x->to * c->colours + (uint32_t)k];
		most = (a > b ? a : b) / c->grain;
		sum = c->draw ? rs_random_u64(c->draw) : a + b;
		if (most < least || (most == least && sum < least_sum)) {
			least = most;
			least_sum = sum;
			best = k;
		}
	}
	return best;
}

static int free_at(struct colouring *c, unsigned side, uint32_t part)
{
	for (int k = 0; k < (int)c->colours; k++)
		if (*slot(c, side, part, k) == NONE)
			return k;
	return NONE;
}

/* One colour is free at the left end, another at the right: along the chain of both colours that
 * begins at the right end they change places. It cannot come to the left end (Koenig). */
static int exchange(struct colouring *c, const struct spread *s, const struct edge *x)
{
	int a = free_at(c, 0, x->left), b = free_at(c, 1, x->right), colour = a;
	uint32_t n = 0, at = x->right;
	unsigned side = 1;
	int e;

	while ((e = *slot(c, side, at, colour)) != NONE) {
		c->chain[n++] = (uint32_t)e;
		side ^= 1;
		at = end_of(&c->edge[e], side);
		colour = colour == a ? b : a;
	}
	for (uint32_t i = 0; i < n; i++) {
		int was = c->edge[c->chain[i]].colour;

		set_colour(c, s, c->chain[i], NONE);
		c->edge[c->chain[i]].colour = ~(was == a ? b : a) - 1; /* below NONE: set aside */
	}
	for (uint32_t i = 0; i < n; i++) {
		int next = ~(c->edge[c->chain[i]].colour + 1);

		c->edge[c->chain[i]].colour = NONE;
		set_colour(c, s, c->chain[i], next);
	}
	return a;
}

/* Parts of `colours` edges each, in the order of edges; how many there are. */
static uint32_t cut(struct colouring *c, unsigned side, uint32_t *count, uint32_t *base)
{
	uint32_t parts = 0;

	memset(count, 0, c->nodes * sizeof(*count));
	for (uint32_t i = 0; i < c->n; i++)
		count[end_of(&c->edge[i], side)]++;
	for (uint32_t v = 0; v < c->nodes; v++) {
		base[v] = parts;
		parts += (count[v] + c->colours - 1) / c->colours;
		count[v] = 0;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t *end = side ? &c->edge[i].right : &c->edge[i].left, v = *end;

		*end = base[v] + count[v]++ / c->colours;
	}
	return parts;
}

/* Colours n edges, heaviest first; each has at most one of a colour in a part. */
static int colour(const struct spread *s, struct edge *edge, uint32_t n, uint32_t nodes,
		  uint32_t colours, struct rs_random *draw)
{
	struct colouring c = {
		.edge = edge, .n = n, .colours = colours, .nodes = nodes, .grain = 1, .draw = draw};
	uint32_t *count = malloc((nodes + 1) * sizeof(*count));
	uint32_t *base = malloc((nodes + 1) * sizeof(*base)), parts;
	int err = count && base ? 0 : -ENOMEM;

	if (draw && n)
		c.grain = s->flow[edge[0].flow].bytes / 5 * 2 + 1;
	for (unsigned side = 0; side < 2 && !err; side++) {
		parts = cut(&c, side, count, base);
		c.slot[side] = malloc(((size_t)parts * colours + 1) * sizeof(int));
		c.load[side] = calloc((size_t)nodes * colours + 1, sizeof(uint64_t));
		if (c.slot[side])
			memset(c.slot[side], 0xff, (size_t)parts * colours * sizeof(int));
		if (!c.slot[side] || !c.load[side])
			err = -ENOMEM;
	}
	c.chain = malloc((n + 1) * sizeof(*c.chain));
	err = c.chain ? err : -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		int k = common(&c, &edge[i]);

		set_colour(&c, s, i, k != NONE ? k : exchange(&c, s, &edge[i]));
	}
	for (unsigned side = 0; side < 2; side++) {
		free(c.slot[side]);
		free(c.load[side]);
	}
	free(c.chain);
	free(count);
	free(base);
	return err;
}

/* ---- Ways ---- */

static void digit(uint32_t *way, unsigned *n, uint32_t of, uint32_t at)
{
	if (of > 1)
		*way |= at << (8 * (*n)++);
}

static uint32_t way_of(const struct clos *c, const struct spread_flow *k, int leaf, int agg)
{
	const struct rs_fabric *f = c->s->f;
	uint32_t from = f->endpoints[k->src].node, to = f->endpoints[k->dst].node, way = 0;
	const struct up *ups = &c->up[c->first_up[from]], *up = &ups[leaf];
	unsigned n = 0;

	digit(&way, &n, c->leaf.n, up->digit);
	if (c->pod[from] != c->pod[to]) {
		const struct up *mores = &c->up[c->first_up[up->peer]], *more = &mores[agg];

		digit(&way, &n, c->agg.n, more->digit);
		digit(&way, &n, parallels(mores, c->agg.n, more->plane), more->parallel);
	}
	digit(&way, &n, parallels(ups, c->leaf.n, up->plane), up->parallel);
	return way;
}

/* Within a plane the pods are the nodes, and the ways to the cores the colours. */
static int colour_plane(const struct clos *c, struct spread *s, struct edge *edge, const int *leaf,
			uint32_t plane, uint32_t n, struct edge *some, struct rs_random *draw)
{
	const struct rs_fabric *f = s->f;
	uint32_t m = 0;
	int err;

	for (uint32_t i = 0; i < n; i++) {
		const struct spread_flow *k = &s->flow[edge[i].flow];
		uint32_t from = c->pod[f->endpoints[k->src].node];
		uint32_t to = c->pod[f->endpoints[k->dst].node];

		if (from != to && c->up[c->first_up[s->edge[0]] + (uint32_t)leaf[i]].plane == plane)
			some[m++] = (struct edge){edge[i].flow, from, to, from, to, NONE};
	}
	err = colour(s, some, m, c->n_pods, c->agg.n, draw);
	for (uint32_t i = 0, at = 0; i < m && !err; i++, at++) {
		while (edge[at].flow != some[i].flow)
			at++;
		spread_put(s, some[i].flow,
			   way_of(c, &s->flow[some[i].flow], leaf[at], some[i].colour));
	}
	return err;
}

struct by_weight {
	uint64_t bytes;
	uint32_t flow;
};

static int heaviest(const void *x, const void *y)
{
	const struct by_weight *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

/* Flows between edge switches, heaviest first. */
static uint32_t edges(const struct spread *s, struct edge *edge)
{
	const struct rs_routes *r = &s->f->routes;
	struct by_weight *w = malloc((s->n + 1) * sizeof(*w));
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n && w; i++)
		if (r->group_of[s->flow[i].src] != r->group_of[s->flow[i].dst])
			w[n++] = (struct by_weight){s->flow[i].bytes, i};
	if (n)
		qsort(w, n, sizeof(*w), heaviest);
	for (uint32_t i = 0; i < n; i++) {
		const struct spread_flow *k = &s->flow[w[i].flow];
		uint32_t from = r->group_of[k->src], to = r->group_of[k->dst];

		edge[i] = (struct edge){w[i].flow, from, to, from, to, NONE};
	}
	free(w);
	return n;
}

int clos_colour(const struct clos *c, struct spread *s, uint32_t draw)
{
	struct rs_random random = rs_random_stream(draw, s->n, RANDOM_COLOUR);
	struct edge *edge = malloc((s->n + 1) * sizeof(*edge));
	struct edge *some = malloc((s->n + 1) * sizeof(*some));
	int *leaf = malloc((s->n + 1) * sizeof(*leaf)), err = edge && some && leaf ? 0 : -ENOMEM;
	uint32_t n = err ? 0 : edges(s, edge);

	if (!err)
		err = colour(s, edge, n, s->f->routes.n_groups, c->leaf.n, draw ? &random : NULL);
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct spread_flow *k = &s->flow[edge[i].flow];

		leaf[i] = edge[i].colour;
		if (c->pod[s->f->endpoints[k->src].node] == c->pod[s->f->endpoints[k->dst].node])
			spread_put(s, edge[i].flow, way_of(c, k, leaf[i], 0));
	}
	for (uint32_t p = 0; p < c->leaf.planes && c->agg.n && !err; p++)
		err = colour_plane(c, s, edge, leaf, p, n, some, draw ? &random : NULL);
	free(edge);
	free(some);
	free(leaf);
	return err;
}

/* ---- The bound ---- */

/* What leaves or enters a switch, or a pod: bytes of flows, heaviest first, over these links. */
struct crossing {
	const struct spread *s;
	const uint64_t *bytes;
	const uint32_t *link; /* fastest first */
	uint32_t n, links;
};

static bool links_alike(const struct crossing *x)
{
	for (uint32_t i = 1; i < x->links; i++)
		if (x->s->cost[x->link[i]] != x->s->cost[x->link[0]])
			return false;
	return true;
}

/*
 * No less than all bytes over all rates, nor than the heaviest flow over the fastest. Over links
 * alike, of links x m + 1 flows one link has m + 1, which are no lighter than the lightest of them.
 */
static uint64_t relaxed_bound(const struct crossing *x)
{
	rs_uint128 sum = 0, rates = 0, bound;

	for (uint32_t i = 0; i < x->n; i++)
		sum += x->bytes[i];
	for (uint32_t i = 0; i < x->links; i++)
		rates += (uint64_t)rs_fabric_link_rate(&x->s->f->links[x->link[i] / 2],
						       x->link[i] & 1);
	bound = sum * 8 * RS_S / rates;
	if (spread_time(x->s, x->link[0], x->bytes[0]) > bound)
		bound = spread_time(x->s, x->link[0], x->bytes[0]);
	for (uint32_t m = 1; (uint64_t)x->links * m < x->n && links_alike(x); m++) {
		uint64_t together = 0;

		for (uint32_t i = x->links * m - m; i <= x->links * m; i++)
			together += spread_time(x->s, x->link[0], x->bytes[i]);
		if (together > bound)
			bound = together;
	}
	return (uint64_t)bound;
}

/* A search for the best way to deal flows out to links: exact where it ends. */
struct packing {
	const struct crossing *x;
	uint64_t load[UPS_MAX], least, best;
	uint32_t steps;
};

/* Was a link tried that is as fast, and as full? */
static bool tried(const struct packing *p, uint32_t link)
{
	const struct crossing *x = p->x;

	for (uint32_t k = 0; k < link; k++)
		if (p->load[k] == p->load[link] &&
		    x->s->cost[x->link[k]] == x->s->cost[x->link[link]])
			return true;
	return false;
}

/* The i-th flow and all after it; no link may come to `best`. */
static void pack(struct packing *p, uint32_t i, uint64_t most)
{
	const struct crossing *x = p->x;

	if (most >= p->best || !p->steps || p->best == p->least)
		return;
	if (i == x->n) {
		p->best = most;
		return;
	}
	p->steps--;
	for (uint32_t b = 0; b < x->links; b++) {
		uint64_t was = p->load[b];
		uint64_t load = was + spread_time(x->s, x->link[b], x->bytes[i]);

		if (load >= p->best || tried(p, b))
			continue;
		p->load[b] = load;
		pack(p, i + 1, load > most ? load : most);
		p->load[b] = was;
	}
}

/* The least that the fullest of the links has; the relaxed bound where that takes too long. */
static uint64_t crossing_bound(const struct crossing *x)
{
	struct packing p = {.x = x, .steps = PACK_STEPS, .best = UINT64_MAX};

	if (!x->n || !x->links)
		return 0;
	p.least = relaxed_bound(x);
	if (x->n > PACK_MAX || x->links > UPS_MAX ||
	    (x->bytes[0] == x->bytes[x->n - 1] && links_alike(x)))
		return p.least;
	pack(&p, 0, 0);
	return p.steps || p.best == p.least ? p.best : p.least;
}

/* The links of nodes: node v has those from first[v] to first[v + 1]. */
struct borders {
	uint32_t nodes, *first, *link;
};

static void borders_free(struct borders *b)
{
	free(b->first);
	free(b->link);
}

/* Flows by the node that they leave, or come to, heaviest first: the greatest bound of any. */
static uint64_t crossings(const struct spread *s, const struct edge *edge, uint32_t n,
			  const struct borders *b, bool to)
{
	uint32_t *first = calloc(b->nodes + 3u, sizeof(*first));
	uint64_t *bytes = malloc((n + 1) * sizeof(*bytes)), bound = 0;

	for (uint32_t i = 0; first && i < n; i++)
		first[(to ? edge[i].to : edge[i].from) + 2]++;
	for (uint32_t v = 0; first && v < b->nodes; v++)
		first[v + 2] += first[v + 1];
	for (uint32_t i = 0; first && bytes && i < n; i++)
		bytes[first[(to ? edge[i].to : edge[i].from) + 1]++] = s->flow[edge[i].flow].bytes;
	for (uint32_t v = 0; first && bytes && v < b->nodes; v++) {
		struct crossing x = {.s = s,
				     .bytes = bytes + first[v],
				     .link = b->link + b->first[v],
				     .n = first[v + 1] - first[v],
				     .links = b->first[v + 1] - b->first[v]};
		uint64_t one = crossing_bound(&x);

		bound = one > bound ? one : bound;
	}
	free(first);
	free(bytes);
	return bound;
}

static bool borders_take(struct borders *b, uint32_t nodes, uint64_t links)
{
	b->nodes = nodes;
	b->first = calloc(nodes + 1u, sizeof(*b->first));
	b->link = calloc(links + 1, sizeof(*b->link));
	return b->first && b->link;
}

/* Into the links of the node that was begun last, by rate. */
static void border_add(const struct spread *s, struct borders *b, uint32_t node, uint32_t link)
{
	uint32_t i = b->first[node + 1]++;

	for (; i > b->first[node] && s->cost[b->link[i - 1]] > s->cost[link]; i--)
		b->link[i] = b->link[i - 1];
	b->link[i] = link;
}

/* Links between an edge switch and others. */
static bool edge_borders(const struct spread *s, struct borders *b)
{
	const struct rs_fabric *f = s->f;

	if (!borders_take(b, f->routes.n_groups, s->n_links))
		return false;
	for (uint32_t g = 0; g < b->nodes; g++) {
		uint32_t sw = s->edge[g];

		b->first[g + 1] = b->first[g];
		for (uint32_t p = 0; p < f->switches[sw].n_ports; p++) {
			const struct spread_port *x = &s->port[s->first[sw] + p];

			if (x->to != SPREAD_NONE && !f->links[x->link / 2].down)
				border_add(s, b, g, x->link);
		}
	}
	return true;
}

/* Links between a pod and what is above it: all alike. */
static bool pod_borders(const struct spread *s, const struct clos *c, struct borders *b)
{
	uint32_t agg = c->up[c->first_up[s->edge[0]]].peer, each = c->leaf.planes * c->agg.n;
	uint32_t link = s->port[s->first[agg] + c->up[c->first_up[agg]].port].link;

	if (!borders_take(b, c->n_pods, (uint64_t)c->n_pods * each))
		return false;
	for (uint32_t p = 0; p < c->n_pods; p++) {
		b->first[p + 1] = b->first[p];
		for (uint32_t i = 0; i < each; i++)
			border_add(s, b, p, link);
	}
	return true;
}

static uint64_t both_ways(const struct spread *s, const struct edge *edge, uint32_t n,
			  const struct borders *b)
{
	uint64_t out = crossings(s, edge, n, b, false), in = crossings(s, edge, n, b, true);

	return out > in ? out : in;
}

/* Edges between pods, in the place of those between edge switches. */
static uint32_t pod_edges(const struct spread *s, const struct clos *c, struct edge *edge,
			  uint32_t n)
{
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct spread_flow *k = &s->flow[edge[i].flow];
		uint32_t from = c->pod[s->f->endpoints[k->src].node];
		uint32_t to = c->pod[s->f->endpoints[k->dst].node];

		if (from != to)
			edge[m++] = (struct edge){edge[i].flow, from, to, from, to, NONE};
	}
	return m;
}

uint64_t spread_bound(const struct spread *s, const struct clos *c)
{
	struct edge *edge = malloc((s->n + 1) * sizeof(*edge));
	struct borders leaves = {0}, pods = {0};
	uint64_t bound = 0, more = 0;
	uint32_t n;

	if (edge && edge_borders(s, &leaves)) {
		n = edges(s, edge);
		bound = both_ways(s, edge, n, &leaves);
		if (c && c->agg.n && pod_borders(s, c, &pods))
			more = both_ways(s, edge, pod_edges(s, c, edge, n), &pods);
	}
	borders_free(&leaves);
	borders_free(&pods);
	free(edge);
	return bound > more ? bound : more;
}
