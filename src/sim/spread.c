/* Loads of links by flows that take a path each: the least loaded path, and repair by chains of
 * moves (placement.h). All in integers: the same everywhere. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/placement.h"

enum { CHAIN = 48, /* moves that one may cause */ COST_BITS = 16, TRIES = 64, PASSES = 3 };
#define STEPS_MAX UINT64_C(60000000)

int spread_create(struct spread *s, const struct rs_fabric *f, struct rs_arena *a)
{
	uint32_t ports = 0;

	*s = (struct spread){.f = f, .a = a, .n_links = 2 * f->n_links, .steps = STEPS_MAX};
	s->first = rs_arena_alloc(a, f->n_switches + 1u, sizeof(*s->first));
	s->edge = rs_arena_alloc(a, f->routes.n_groups + 1u, sizeof(*s->edge));
	s->cost = rs_arena_alloc(a, s->n_links + 1u, sizeof(*s->cost));
	s->load = rs_arena_alloc(a, s->n_links + 1u, sizeof(*s->load));
	s->others = rs_arena_alloc(a, s->n_links + 1u, sizeof(*s->others));
	s->head = rs_arena_alloc(a, s->n_links + 1u, sizeof(*s->head));
	if (!s->first || !s->edge || !s->cost || !s->load || !s->others || !s->head)
		return -ENOMEM;
	memset(s->head, 0xff, (s->n_links + 1u) * sizeof(*s->head));
	for (uint32_t i = 0; i < f->n_switches; i++) {
		s->first[i] = ports;
		ports += f->switches[i].n_ports;
		if (f->routes.group_of_switch[i] != UINT32_MAX)
			s->edge[f->routes.group_of_switch[i]] = i;
	}
	s->port = rs_arena_alloc(a, ports + 1u, sizeof(*s->port));
	if (!s->port)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = &f->links[i];
		rs_uint128 bit = (rs_uint128)8 * RS_S << COST_BITS;

		for (unsigned back = 0; back < 2; back++)
			s->cost[2 * i + back] =
				(uint64_t)(bit / (uint64_t)rs_fabric_link_rate(l, back));
		if (l->a.is_switch)
			s->port[s->first[l->a.id] + l->a.port] =
				(struct spread_port){2 * i, l->b.is_switch ? l->b.id : SPREAD_NONE};
		if (l->b.is_switch)
			s->port[s->first[l->b.id] + l->b.port] = (struct spread_port){
				2 * i + 1, l->a.is_switch ? l->a.id : SPREAD_NONE};
	}
	return 0;
}

void spread_destroy(struct spread *s)
{
	free(s->log);
}

uint64_t spread_time(const struct spread *s, uint32_t link, uint64_t bytes)
{
	return (uint64_t)((rs_uint128)bytes * s->cost[link] >> COST_BITS);
}

const uint16_t *spread_set(const struct spread *s, uint32_t sw, uint32_t group, uint32_t *n)
{
	uint32_t set = s->f->routes.set_of[sw][group];

	*n = set & 0xff;
	return s->f->routes.ports[sw] + (set >> 8);
}

static uint32_t group_of(const struct spread *s, const struct spread_flow *k)
{
	return s->f->routes.group_of[k->dst];
}

/* ---- Onto links and off them ---- */

static void list_in(struct spread *s, uint32_t flow, unsigned hop)
{
	struct spread_flow *k = &s->flow[flow];
	uint32_t *head = &s->head[k->link[hop]], me = flow * SPREAD_HOPS + hop;

	rs_assert(hop < k->n && k->n <= SPREAD_HOPS && k->link[hop] < s->n_links);
	k->next[hop] = *head;
	k->prev[hop] = SPREAD_NONE;
	if (*head != SPREAD_NONE)
		s->flow[*head / SPREAD_HOPS].prev[*head % SPREAD_HOPS] = me;
	*head = me;
}

static void list_out(struct spread *s, uint32_t flow, unsigned hop)
{
	struct spread_flow *k = &s->flow[flow];
	uint32_t next = k->next[hop], prev = k->prev[hop];

	rs_assert(prev != SPREAD_NONE || s->head[k->link[hop]] == flow * SPREAD_HOPS + hop);
	if (prev == SPREAD_NONE)
		s->head[k->link[hop]] = next;
	else
		s->flow[prev / SPREAD_HOPS].next[prev % SPREAD_HOPS] = next;
	if (next != SPREAD_NONE)
		s->flow[next / SPREAD_HOPS].prev[next % SPREAD_HOPS] = prev;
}

void spread_walk(const struct spread *s, struct spread_flow *k)
{
	uint32_t sw = s->f->endpoints[k->src].node, group = group_of(s, k), way = k->way;

	k->n = 0;
	while (s->f->routes.group_of_switch[sw] != group && k->n < SPREAD_HOPS) {
		const struct spread_port *p;
		const uint16_t *ports;
		uint32_t n, at = 0;

		ports = spread_set(s, sw, group, &n);
		if (!n)
			return;
		if (n > 1) {
			at = (way & 0xff) % n;
			way >>= 8;
		}
		p = &s->port[s->first[sw] + ports[at]];
		k->link[k->n++] = p->link;
		sw = p->to;
	}
}

void spread_put(struct spread *s, uint32_t flow, uint32_t way)
{
	struct spread_flow *k = &s->flow[flow];

	if (k->placed)
		spread_take(s, flow);
	k->way = way;
	spread_walk(s, k);
	for (unsigned h = 0; h < k->n; h++) {
		s->load[k->link[h]] += spread_time(s, k->link[h], k->bytes);
		list_in(s, flow, h);
	}
	k->placed = true;
}

void spread_take(struct spread *s, uint32_t flow)
{
	struct spread_flow *k = &s->flow[flow];

	for (unsigned h = 0; k->placed && h < k->n; h++) {
		s->load[k->link[h]] -= spread_time(s, k->link[h], k->bytes);
		list_out(s, flow, h);
	}
	k->placed = false;
}

uint64_t spread_most(const struct spread *s)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->n_links; i++)
		if (s->load[i] - s->others[i] > most)
			most = s->load[i] - s->others[i];
	return most;
}

/* ---- All ways of a flow ---- */

/* A way that is being followed, and the best so far. */
struct search {
	struct spread *s;
	const struct spread_flow *k;
	uint32_t group;
	uint64_t limit; /* no link above it */
	bool even;      /* the least sum; else the least maximum, then sum */
	bool eject;     /* limits may be exceeded where one other flow's leaving makes room */
	/* the best */
	bool found;
	uint32_t way;
	uint64_t most, sum;
	uint32_t n_out, out[SPREAD_HOPS];
};

struct trail {
	uint32_t sw, way;
	uint8_t digits, n, n_out;
	uint64_t most, sum;
	uint32_t out[SPREAD_HOPS];
};

/* The lightest unmarked flow of a link that is heavy enough. */
static uint32_t lightest(struct spread *s, uint32_t link, uint64_t excess)
{
	uint32_t best = SPREAD_NONE;
	uint64_t least = UINT64_MAX;

	for (uint32_t e = s->head[link]; e != SPREAD_NONE;) {
		const struct spread_flow *k = &s->flow[e / SPREAD_HOPS];
		uint64_t w = spread_time(s, link, k->bytes);

		s->steps -= s->steps != 0;
		if (k->mark != s->marks && w >= excess && w < least) {
			least = w;
			best = e / SPREAD_HOPS;
		}
		e = k->next[e % SPREAD_HOPS];
	}
	return best;
}

static bool better(const struct search *q, const struct trail *t)
{
	if (!q->found)
		return true;
	if (t->n_out != q->n_out)
		return t->n_out < q->n_out;
	if (!q->even && t->most != q->most)
		return t->most < q->most;
	return t->sum < q->sum;
}

/* A step onto a link; false: no good way leads over it. */
static bool step(struct search *q, struct trail *t, uint32_t link)
{
	uint64_t w = spread_time(q->s, link, q->k->bytes), load = q->s->load[link] + w;

	q->s->steps -= q->s->steps != 0;
	if (load > q->limit) {
		uint32_t out = q->eject ? lightest(q->s, link, load - q->limit) : SPREAD_NONE;

		if (out == SPREAD_NONE)
			return false;
		for (unsigned i = 0; i < t->n_out; i++)
			if (t->out[i] == out)
				out = SPREAD_NONE;
		if (out != SPREAD_NONE)
			t->out[t->n_out++] = out;
	}
	t->most = load > t->most ? load : t->most;
	t->sum += load;
	t->n++;
	return better(q, t);
}

static void follow(struct search *q, const struct trail *at)
{
	const struct spread *s = q->s;
	const uint16_t *ports;
	uint32_t n;

	if (s->f->routes.group_of_switch[at->sw] == q->group || at->n == SPREAD_HOPS) {
		if (!better(q, at))
			return;
		q->found = true;
		q->way = at->way;
		q->most = at->most;
		q->sum = at->sum;
		q->n_out = at->n_out;
		memcpy(q->out, at->out, sizeof(q->out));
		return;
	}
	ports = spread_set(s, at->sw, q->group, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct spread_port *p = &s->port[s->first[at->sw] + ports[i]];
		struct trail t = *at;

		if (n > 1 && i && at->digits == SPREAD_DIGITS)
			return;
		if (n > 1 && at->digits < SPREAD_DIGITS)
			t.way |= i << (8 * t.digits++);
		t.sw = p->to;
		if (step(q, &t, p->link))
			follow(q, &t);
	}
}

static bool look(struct search *q, uint32_t flow)
{
	struct trail t = {.sw = q->s->f->endpoints[q->s->flow[flow].src].node};

	q->k = &q->s->flow[flow];
	q->group = group_of(q->s, q->k);
	follow(q, &t);
	return q->found;
}

void spread_greedy(struct spread *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct search q = {.s = s, .limit = UINT64_MAX};

		if (!s->flow[i].placed)
			spread_put(s, i, look(&q, i) ? q.way : 0);
	}
}

/* ---- Repair ---- */

static bool remember(struct spread *s, uint32_t flow)
{
	if (s->n_log + 2 > s->log_size) {
		uint32_t size = 2 * s->log_size + 256;
		uint32_t *log = realloc(s->log, size * sizeof(*log));

		if (!log)
			return false;
		s->log = log;
		s->log_size = size;
	}
	s->log[s->n_log++] = flow;
	s->log[s->n_log++] = s->flow[flow].way;
	return true;
}

/* A place for a flow that has none where no link has more than limit; others make room, each once.
 */
static bool fit(struct spread *s, uint32_t flow, uint64_t limit, unsigned chain)
{
	struct search q = {.s = s, .limit = limit};

	if (!s->steps)
		return false;
	if (look(&q, flow)) {
		spread_put(s, flow, q.way);
		return true;
	}
	q.eject = true;
	if (!chain || !look(&q, flow))
		return false;
	for (unsigned i = 0; i < q.n_out; i++) {
		if (!remember(s, q.out[i]))
			return false;
		s->flow[q.out[i]].mark = s->marks;
		spread_take(s, q.out[i]);
	}
	spread_put(s, flow, q.way);
	for (unsigned i = 0; i < q.n_out; i++)
		if (!fit(s, q.out[i], limit, chain - 1))
			return false;
	return true;
}

/* One flow less on a link, or nothing is changed. */
static bool relieve(struct spread *s, uint32_t flow, uint64_t limit)
{
	s->n_log = 0;
	s->marks++;
	s->flow[flow].mark = s->marks;
	if (!remember(s, flow))
		return false;
	spread_take(s, flow);
	if (fit(s, flow, limit, CHAIN))
		return true;
	for (uint32_t i = 0; i < s->n_log; i += 2)
		spread_take(s, s->log[i]);
	for (uint32_t i = 0; i < s->n_log; i += 2)
		spread_put(s, s->log[i], s->log[i + 1]);
	return false;
}

static uint32_t fullest(const struct spread *s)
{
	uint32_t at = SPREAD_NONE;

	for (uint32_t i = 0; i < s->n_links; i++)
		if (s->head[i] != SPREAD_NONE && (at == SPREAD_NONE || s->load[i] > s->load[at]))
			at = i;
	return at;
}

static bool relieve_link(struct spread *s, uint32_t link, uint64_t limit)
{
	uint32_t flow[TRIES], n = 0;

	for (uint32_t e = s->head[link]; e != SPREAD_NONE && n < TRIES;) {
		flow[n++] = e / SPREAD_HOPS;
		e = s->flow[e / SPREAD_HOPS].next[e % SPREAD_HOPS];
	}
	for (uint32_t i = 0; i < n; i++)
		if (relieve(s, flow[i], limit))
			return true;
	return false;
}

/* Off long queues onto short ones, below what is the most anyway. */
static void even_out(struct spread *s)
{
	uint32_t at = fullest(s);
	uint64_t most = at == SPREAD_NONE ? 0 : s->load[at];

	for (unsigned pass = 0; pass < PASSES; pass++)
		for (uint32_t i = 0; i < s->n && s->steps; i++) {
			struct search q = {.s = s, .limit = most, .even = true};
			uint32_t way = s->flow[i].way;
			uint64_t sum = 0;

			if (!s->flow[i].n)
				continue;
			for (unsigned h = 0; h < s->flow[i].n; h++)
				sum += s->load[s->flow[i].link[h]];
			spread_take(s, i);
			spread_put(s, i, look(&q, i) && q.sum < sum ? q.way : way);
		}
}

void spread_repair(struct spread *s, uint64_t bound)
{
	uint32_t at;

	while (s->steps && (at = fullest(s)) != SPREAD_NONE && s->load[at] > bound) {
		uint64_t most = s->load[at];

		if (!relieve_link(s, at, most - (most - bound + 7) / 8) &&
		    !relieve_link(s, at, most - 1))
			break;
	}
	even_out(s);
}

/* ---- The way back ---- */

uint32_t spread_back(const struct spread *s, const struct spread_flow *k)
{
	uint32_t sw = s->f->endpoints[k->dst].node, group = s->f->routes.group_of[k->src];
	uint32_t way = 0, digits = 0;

	for (unsigned h = k->n; h && s->f->routes.group_of_switch[sw] != group; h--) {
		uint32_t n, at = 0;
		const uint16_t *ports = spread_set(s, sw, group, &n);

		while (at < n && s->port[s->first[sw] + ports[at]].link != (k->link[h - 1] ^ 1))
			at++;
		if (at == n)
			return way;
		if (n > 1 && digits < SPREAD_DIGITS)
			way |= at << (8 * digits++);
		sw = s->port[s->first[sw] + ports[at]].to;
	}
	return way;
}
