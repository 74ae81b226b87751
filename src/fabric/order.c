/* Pairs of messages, and a run of the graph in which the network takes no time or a plain one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/order.h"

/* ---- Pairs ---- */

struct end {
	uint32_t src, dst, label, at; /* at: the node's number of all */
	uint64_t tag;
};

static int by_message(const void *x, const void *y)
{
	const struct end *a = x, *b = y;

	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static bool same_message(const struct end *a, const struct end *b)
{
	return a->src == b->src && a->dst == b->dst && a->label == b->label && a->tag == b->tag;
}

static int number(const struct rs_work *w, struct rs_arena *a, struct rs_work_pairs *p,
		  struct rs_error *e)
{
	p->base = rs_arena_alloc(a, w->n_ranks + 1u, sizeof(*p->base));
	p->mate = rs_arena_alloc(a, w->n_nodes + 1u, sizeof(*p->mate));
	if (!p->base || !p->mate)
		return rs_error_set(e, -ENOMEM, "out of memory for the work's graph");
	memset(p->mate, 0xff, w->n_nodes * sizeof(*p->mate));
	for (uint32_t r = 0; r < w->n_ranks; r++)
		p->base[r + 1] = p->base[r] + w->rank[r].n;
	return 0;
}

static uint32_t count(const struct rs_work *w, enum rs_work_kind kind)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n; i++)
			n += w->rank[r].node[i].kind == kind;
	return n;
}

static void list(const struct rs_work *w, const struct rs_work_pairs *p, enum rs_work_kind kind,
		 struct end *out)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n; i++) {
			const struct rs_work_node *k = &w->rank[r].node[i];
			bool send = kind == RS_WORK_SEND;

			if (k->kind == kind)
				out[n++] = (struct end){.src = send ? r : k->peer,
							.dst = send ? k->peer : r,
							.label = k->label,
							.at = p->base[r] + i,
							.tag = k->tag};
		}
	qsort(out, n, sizeof(*out), by_message);
}

static const struct rs_work_node *node_at(const struct rs_work *w, const struct rs_work_pairs *p,
					  uint32_t rank, uint32_t at)
{
	return &w->rank[rank].node[at - p->base[rank]];
}

static int alone(const struct rs_work *w, const struct rs_work_pairs *p, const struct end *k,
		 bool send, struct rs_error *e)
{
	const struct rs_work_node *n = node_at(w, p, send ? k->src : k->dst, k->at);

	if (send)
		return rs_error_set(e, -EINVAL,
				    "node %llu of rank %u sends %llu B with tag %llu to rank %u, "
				    "which never receives them",
				    (unsigned long long)n->id, k->src, (unsigned long long)n->bytes,
				    (unsigned long long)k->tag, k->dst);
	return rs_error_set(e, -EINVAL,
			    "node %llu of rank %u waits for a message with tag %llu from rank %u, "
			    "which never sends it",
			    (unsigned long long)n->id, k->dst, (unsigned long long)k->tag, k->src);
}

static int marry(const struct rs_work *w, struct rs_work_pairs *p, const struct end *s,
		 const struct end *r, struct rs_error *e)
{
	const struct rs_work_node *a = node_at(w, p, s->src, s->at);
	const struct rs_work_node *b = node_at(w, p, r->dst, r->at);

	if (a->bytes != b->bytes)
		return rs_error_set(e, -EINVAL,
				    "node %llu of rank %u sends %llu B, node %llu of rank %u waits "
				    "for %llu B",
				    (unsigned long long)a->id, s->src, (unsigned long long)a->bytes,
				    (unsigned long long)b->id, r->dst,
				    (unsigned long long)b->bytes);
	p->mate[s->at] = r->at;
	p->mate[r->at] = s->at;
	return 0;
}

static int pair_messages(const struct rs_work *w, struct rs_work_pairs *p, struct rs_error *e)
{
	uint32_t n_s = count(w, RS_WORK_SEND), n_r = count(w, RS_WORK_RECV), i = 0, k = 0;
	struct end *s = calloc(n_s + 1u, sizeof(*s)), *r = calloc(n_r + 1u, sizeof(*r));
	int err = s && r ? 0 : rs_error_set(e, -ENOMEM, "out of memory for the work's graph");

	if (!err) {
		list(w, p, RS_WORK_SEND, s);
		list(w, p, RS_WORK_RECV, r);
	}
	while (!err && (i < n_s || k < n_r)) {
		bool both = i < n_s && k < n_r && same_message(&s[i], &r[k]);

		if (both)
			err = marry(w, p, &s[i++], &r[k++], e);
		else if (k == n_r || (i < n_s && by_message(&s[i], &r[k]) < 0))
			err = alone(w, p, &s[i], true, e);
		else
			err = alone(w, p, &r[k], false, e);
	}
	free(s);
	free(r);
	return err;
}

int rs_work_pair(const struct rs_work *w, struct rs_arena *a, struct rs_work_pairs *out,
		 struct rs_error *e)
{
	int err = number(w, a, out, e);

	return err ? err : pair_messages(w, out, e);
}

/* ---- The dry run ---- */

/* A collective of a group: its members' nodes, and how many of them have come to it. */
struct meeting {
	uint32_t come, first; /* first: in nodes */
	rs_time when;
};

struct dry {
	const struct rs_work *w;
	const struct rs_work_pairs *p;
	const struct rs_work_cost *cost;
	struct rs_error *e;
	uint32_t n;
	uint32_t *rank;          /* [node] */
	uint32_t *left;          /* [node]: what it still waits for */
	uint32_t *first, *next;  /* [node]: its followers are next[first[i]] and on */
	rs_time *ready;          /* [node] */
	uint32_t *meeting;       /* [node] */
	struct meeting *at;      /* [meeting] */
	uint32_t *first_meeting; /* [group] */
	uint32_t *members;       /* [meeting's first + i]: nodes */
	rs_time *free_at;        /* [rank * units + unit] */
	uint32_t *heap, n_heap;
	bool fixed;
};

static const struct rs_work_node *node(const struct dry *d, uint32_t at)
{
	return node_at(d->w, d->p, d->rank[at], at);
}

/* Edges that the graph does not have itself are found by what came last at a unit, a peer or a
 * group: call(d, from, to) of each. */
typedef void edge_fn(struct dry *d, uint32_t from, uint32_t to);

static int by_key(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] < b[1] ? -1 : a[1] > b[1];
}

/* What keeps the order of this node: 0 nothing. */
static uint64_t order_key(const struct dry *d, const struct rs_work_node *k)
{
	if (k->kind == RS_WORK_COLL)
		return UINT64_C(1) << 62 | k->peer;
	if (!d->fixed)
		return 0;
	if (k->kind == RS_WORK_COMPUTE)
		return UINT64_C(1) << 61 | k->unit;
	if (k->kind == RS_WORK_SEND)
		return UINT64_C(1) << 60 | (uint64_t)k->peer << 32 | k->label;
	return 0;
}

static int chain_edges(struct dry *d, uint32_t rank, edge_fn *edge)
{
	const struct rs_work_rank *r = &d->w->rank[rank];
	uint64_t(*key)[2] = malloc((r->n + 1u) * sizeof(*key));
	uint32_t n = 0;

	if (!key)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++) {
		key[n][0] = order_key(d, &r->node[i]);
		key[n][1] = d->p->base[rank] + i;
		n += key[n][0] != 0;
	}
	qsort(key, n, sizeof(*key), by_key);
	for (uint32_t i = 1; i < n; i++)
		if (key[i][0] == key[i - 1][0])
			edge(d, (uint32_t)key[i - 1][1], (uint32_t)key[i][1]);
	free(key);
	return 0;
}

static int all_edges(struct dry *d, edge_fn *edge)
{
	int err = 0;

	for (uint32_t r = 0; r < d->w->n_ranks && !err; r++) {
		const struct rs_work_rank *k = &d->w->rank[r];
		uint32_t base = d->p->base[r];

		for (uint32_t i = 0; i < k->n; i++) {
			const struct rs_work_node *n = &k->node[i];

			for (uint32_t j = 0; j < n->n_deps; j++)
				edge(d, base + k->dep[n->first_dep + j], base + i);
			if (n->kind == RS_WORK_RECV)
				edge(d, d->p->mate[base + i], base + i);
		}
		err = chain_edges(d, r, edge);
	}
	return err;
}

static void count_edge(struct dry *d, uint32_t from, uint32_t to)
{
	d->first[from + 1]++;
	d->left[to]++;
}

static void keep_edge(struct dry *d, uint32_t from, uint32_t to)
{
	d->next[d->first[from]++] = to;
}

static int make_edges(struct dry *d)
{
	int err = all_edges(d, count_edge);

	if (err)
		return err;
	for (uint32_t i = 0; i < d->n; i++)
		d->first[i + 1] += d->first[i];
	d->next = malloc((d->first[d->n] + 1u) * sizeof(*d->next));
	if (!d->next)
		return -ENOMEM;
	err = all_edges(d, keep_edge); /* moves each first to the next one's */
	for (uint32_t i = d->n; i; i--)
		d->first[i] = d->first[i - 1];
	d->first[0] = 0;
	return err;
}

static uint32_t place_in(const struct rs_work_group *g, uint32_t rank)
{
	uint32_t i = 0;

	while (i < g->n && g->rank[i] != rank)
		i++;
	return i;
}

/* How many collectives of a group a rank has; all members have as many. */
static int count_meetings(struct dry *d, uint32_t *seen, uint32_t *of)
{
	const struct rs_work *w = d->w;

	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n; i++)
			if (w->rank[r].node[i].kind == RS_WORK_COLL) {
				uint32_t g = w->rank[r].node[i].peer;

				rs_assert(g < w->n_groups);
				of[g] += w->group[g].rank[0] == r;
				seen[g]++;
			}
	for (uint32_t g = 0; g < w->n_groups; g++)
		if (seen[g] != (uint64_t)of[g] * w->group[g].n)
			return rs_error_set(d->e, -EINVAL,
					    "the %u ranks of group %u (rank %u and others) take "
					    "part in %u collectives in sum; rank %u in %u: all "
					    "must in the same ones",
					    w->group[g].n, g, w->group[g].rank[0], seen[g],
					    w->group[g].rank[0], of[g]);
	return 0;
}

static int fill_meetings(struct dry *d, uint32_t *seen)
{
	const struct rs_work *w = d->w;

	for (uint32_t r = 0; r < w->n_ranks; r++) {
		memset(seen, 0, w->n_groups * sizeof(*seen));
		for (uint32_t i = 0; i < w->rank[r].n; i++) {
			const struct rs_work_node *k = &w->rank[r].node[i];
			const struct rs_work_node *other;
			uint32_t at = d->p->base[r] + i, m, place;

			if (k->kind != RS_WORK_COLL)
				continue;
			place = place_in(&w->group[k->peer], r);
			m = d->first_meeting[k->peer] + seen[k->peer]++;
			if (place == w->group[k->peer].n || m >= d->first_meeting[k->peer + 1])
				return rs_error_set(
					d->e, -EINVAL,
					"node %llu of rank %u: a collective of group %u, of which "
					"rank %u is no member, or more of them than other members "
					"have",
					(unsigned long long)k->id, r, k->peer, r);
			d->meeting[at] = m;
			d->members[d->at[m].first + place] = at;
			other = node(d, d->members[d->at[m].first]);
			if (place && (other->op != k->op || other->bytes != k->bytes))
				return rs_error_set(
					d->e, -EINVAL,
					"node %llu of rank %u and node %llu of rank %u meet in a "
					"collective of group %u, but their operation or bytes "
					"differ (%llu and %llu B)",
					(unsigned long long)k->id, r, (unsigned long long)other->id,
					w->group[k->peer].rank[0], k->peer,
					(unsigned long long)k->bytes,
					(unsigned long long)other->bytes);
		}
	}
	return 0;
}

static int make_meetings(struct dry *d)
{
	const struct rs_work *w = d->w;
	uint32_t *seen = calloc(w->n_groups + 1u, sizeof(*seen));
	uint32_t *of = calloc(w->n_groups + 1u, sizeof(*of)), n = 0, members = 0;
	int err = seen && of ? count_meetings(d, seen, of) : -ENOMEM;

	d->first_meeting = calloc(w->n_groups + 1u, sizeof(*d->first_meeting));
	for (uint32_t g = 0; !err && d->first_meeting && g < w->n_groups; g++) {
		d->first_meeting[g] = n;
		n += of[g];
		members += of[g] * w->group[g].n;
	}
	d->at = calloc(n + 1u, sizeof(*d->at));
	d->members = calloc(members + 1u, sizeof(*d->members));
	if (!err && (!d->first_meeting || !d->at || !d->members))
		err = -ENOMEM;
	for (uint32_t g = 0, m = 0, first = 0; !err && g < w->n_groups; g++)
		for (uint32_t i = 0; i < of[g]; i++, m++, first += w->group[g].n)
			d->at[m].first = first;
	if (!err) {
		d->first_meeting[w->n_groups] = n;
		err = fill_meetings(d, seen);
	}
	free(seen);
	free(of);
	return err;
}

static bool before(const struct dry *d, uint32_t a, uint32_t b)
{
	return d->ready[a] != d->ready[b] ? d->ready[a] < d->ready[b] : a < b;
}

static void push(struct dry *d, uint32_t at)
{
	uint32_t i = d->n_heap++;

	for (; i && before(d, at, d->heap[(i - 1) / 2]); i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = at;
}

static uint32_t pop(struct dry *d)
{
	uint32_t top = d->heap[0], last = d->heap[--d->n_heap], i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k >= d->n_heap)
			break;
		if (k + 1 < d->n_heap && before(d, d->heap[k + 1], d->heap[k]))
			k++;
		if (!before(d, d->heap[k], last))
			break;
		d->heap[i] = d->heap[k];
		i = k;
	}
	d->heap[i] = last;
	return top;
}

static rs_time transfer(const struct dry *d, uint64_t bytes)
{
	double t = d->cost->rate ? 8 * (double)bytes / (double)d->cost->rate * RS_S : 0;

	return d->cost->latency + (rs_time)(t < 1e18 ? t : 1e18);
}

static void release(struct dry *d, uint32_t at, rs_time end, rs_time *ended)
{
	if (ended)
		ended[at] = end;
	for (uint32_t i = d->first[at]; i < d->first[at + 1]; i++) {
		uint32_t to = d->next[i];
		rs_time when = end;

		if (d->p->mate[at] == to)
			when += transfer(d, node(d, at)->bytes);
		d->ready[to] = rs_time_max(d->ready[to], when);
		if (!--d->left[to])
			push(d, to);
	}
}

static void meet(struct dry *d, uint32_t at, rs_time *ended)
{
	struct meeting *m = &d->at[d->meeting[at]];
	const struct rs_work_node *k = node(d, at);
	uint32_t n = d->w->group[k->peer].n;

	m->when = rs_time_max(m->when, d->ready[at]);
	if (++m->come < n)
		return;
	for (uint32_t i = 0; i < n; i++)
		release(d, d->members[m->first + i], m->when + transfer(d, k->bytes), ended);
}

static void take(struct dry *d, uint32_t at, rs_time *ended)
{
	const struct rs_work_node *k = node(d, at);
	rs_time *free_at = &d->free_at[d->rank[at] * RS_WORK_UNITS_MAX + k->unit];

	if (k->kind == RS_WORK_COLL) {
		meet(d, at, ended);
	} else if (k->kind == RS_WORK_COMPUTE) {
		*free_at = rs_time_max(*free_at, d->ready[at]) + k->time;
		release(d, at, *free_at, ended);
	} else {
		release(d, at, d->ready[at], ended);
	}
}

static int dry_room(struct dry *d)
{
	d->n = d->p->base[d->w->n_ranks];
	d->rank = calloc(d->n + 1u, sizeof(*d->rank));
	d->left = calloc(d->n + 1u, sizeof(*d->left));
	d->first = calloc(d->n + 2u, sizeof(*d->first));
	d->ready = calloc(d->n + 1u, sizeof(*d->ready));
	d->meeting = calloc(d->n + 1u, sizeof(*d->meeting));
	d->heap = calloc(d->n + 1u, sizeof(*d->heap));
	d->free_at = calloc((size_t)d->w->n_ranks * RS_WORK_UNITS_MAX, sizeof(*d->free_at));
	if (!d->rank || !d->left || !d->first || !d->ready || !d->meeting || !d->heap ||
	    !d->free_at)
		return -ENOMEM;
	for (uint32_t r = 0; r < d->w->n_ranks; r++)
		for (uint32_t i = d->p->base[r]; i < d->p->base[r + 1]; i++)
			d->rank[i] = r;
	return 0;
}

static void dry_free(struct dry *d)
{
	free(d->rank);
	free(d->left);
	free(d->first);
	free(d->next);
	free(d->ready);
	free(d->meeting);
	free(d->at);
	free(d->first_meeting);
	free(d->members);
	free(d->free_at);
	free(d->heap);
}

/* The first node that never became ready, or whose collective never began. */
static int stuck(const struct dry *d, const uint8_t *done)
{
	uint32_t at = 0;

	while (at < d->n && done[at])
		at++;
	return rs_error_set(d->e, -EDEADLK,
			    "the work never ends: node %llu of rank %u waits for what waits for it",
			    (unsigned long long)node(d, at)->id, d->rank[at]);
}

static int dry_run(struct dry *d, rs_time *ended, uint32_t *order)
{
	uint8_t *done = calloc(d->n + 1u, 1);
	uint32_t n = 0;
	int err = 0;

	if (!done)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n; i++)
		if (!d->left[i])
			push(d, i);
	while (d->n_heap) {
		uint32_t at = pop(d);

		done[at] = 1;
		if (order)
			order[at] = n;
		n++;
		take(d, at, ended);
	}
	if (n < d->n)
		err = stuck(d, done);
	free(done);
	return err;
}

int rs_work_dry(const struct rs_work *w, const struct rs_work_pairs *p,
		const struct rs_work_cost *c, bool fixed, rs_time *ended, uint32_t *order,
		struct rs_error *e)
{
	struct dry d = {.w = w, .p = p, .cost = c, .e = e, .fixed = fixed};
	int err = dry_room(&d);

	if (!err)
		err = make_edges(&d);
	if (!err)
		err = make_meetings(&d);
	if (!err)
		err = dry_run(&d, ended, order);
	if (err == -ENOMEM)
		rs_error_set(e, err, "out of memory for a dry run of the work");
	dry_free(&d);
	return err;
}

/* ---- Without a network ---- */

int rs_work_dry_time(const struct rs_work *w, rs_time *out, struct rs_error *e)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_work_pairs pairs;
	const struct rs_work_cost nothing = {0};
	rs_time *ended = calloc(w->n_nodes + 1u, sizeof(*ended));
	int err = a && ended ? 0 : rs_error_set(e, -ENOMEM, "out of memory for a dry run");

	*out = 0;
	if (!err)
		err = rs_work_pair(w, a, &pairs, e);
	if (!err)
		err = rs_work_dry(w, &pairs, &nothing, true, ended, NULL, e);
	for (uint64_t i = 0; !err && i < w->n_nodes; i++)
		*out = rs_time_max(*out, ended[i]);
	free(ended);
	rs_arena_destroy(a);
	return err;
}

/* The network of the dry run that orders a trace: 400 Gbit/s and 5 us, about a cluster's. */
static const struct rs_work_cost plain_network = {.latency = 5 * RS_US, .rate = 400000000000};

struct turn {
	uint32_t order, node;
};

static int by_turn(const void *x, const void *y)
{
	const struct turn *a = x, *b = y;

	return a->order < b->order ? -1 : a->order > b->order;
}

/* A rank's nodes by `order`: dependencies keep to what they named. */
static bool sort_rank(struct rs_work *w, uint32_t rank, const uint32_t *order)
{
	struct rs_work_rank *r = &w->rank[rank];
	struct turn *t = calloc(r->n + 1u, sizeof(*t));
	uint32_t *now = calloc(r->n + 1u, sizeof(*now));
	struct rs_work_node *node = rs_arena_alloc(w->arena, r->n + 1u, sizeof(*node));

	for (uint32_t i = 0; t && i < r->n; i++)
		t[i] = (struct turn){order[i], i};
	if (t)
		qsort(t, r->n, sizeof(*t), by_turn);
	for (uint32_t i = 0; t && now && node && i < r->n; i++) {
		now[t[i].node] = i;
		node[i] = r->node[t[i].node];
	}
	for (uint32_t i = 0; now && i < r->n_deps; i++)
		r->dep[i] = now[r->dep[i]];
	if (t && now && node)
		r->node = node;
	free(t);
	free(now);
	return t && now && node;
}

/* Each pair has a tag of its own from here on: messages of one tag were paired in the order of the
 * trace, and may become ready in another one. */
static void tag_pairs(struct rs_work *w, const struct rs_work_pairs *p)
{
	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n; i++) {
			struct rs_work_node *k = &w->rank[r].node[i];

			if (k->kind == RS_WORK_SEND)
				k->tag = p->base[r] + i;
			else if (k->kind == RS_WORK_RECV)
				k->tag = p->mate[p->base[r] + i];
		}
}

int rs_work_sort(struct rs_work *w, struct rs_error *e)
{
	struct rs_arena *a = rs_arena_create(0);
	uint32_t *order = calloc(w->n_nodes + 1u, sizeof(*order));
	struct rs_work_pairs pairs;
	int err = a && order ? rs_work_pair(w, a, &pairs, e) : -ENOMEM;

	if (!err)
		err = rs_work_dry(w, &pairs, &plain_network, false, NULL, order, e);
	if (!err)
		tag_pairs(w, &pairs);
	for (uint32_t r = 0; !err && r < w->n_ranks; r++)
		if (!sort_rank(w, r, order + pairs.base[r]))
			err = -ENOMEM;
	if (err == -ENOMEM)
		rs_error_set(e, err, "out of memory while ordering the work");
	free(order);
	rs_arena_destroy(a);
	return err;
}
