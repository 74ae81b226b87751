/*
 * From a graph of work to lanes. A rank has a lane a unit, a lane a connection that it sends on, a
 * lane a connection that it receives from, and for each of its groups as many as that group's
 * collectives have. A lane takes its nodes in order; nodes wait for others by lanes and counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "collective/program_state.h"

/* ---- Memory ---- */

static bool no_memory(struct program *m)
{
	if (!m->err)
		m->err = rs_error_set(m->e, -ENOMEM, "out of memory while planning the work");
	return false;
}

static bool grow(struct program *m, void **array, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 4;
	void *x;

	if (m->err)
		return false;
	if (n < *room)
		return true;
	x = rs_arena_alloc(m->a, more, size);
	if (!x)
		return no_memory(m);
	if (n)
		memcpy(x, *array, n * size);
	*array = x;
	*room = more;
	return true;
}

/* ---- Connections ---- */

static uint32_t gpu(const struct program *m, uint32_t rank)
{
	return rs_collective_gpu(&m->conf, rank);
}

static uint32_t add_conn(struct program *m, const struct rs_conn *c)
{
	if (!m->err && m->n_conns == COLL_CONNS_MAX) {
		m->err = rs_error_set(m->e, -E2BIG, "the work needs more than %d connections",
				      COLL_CONNS_MAX);
		rs_error_hint(m->e, "use fewer ranks or channels");
	}
	if (!grow(m, (void **)&m->conns, m->n_conns, &m->room_conns, sizeof(*m->conns)))
		return 0;
	m->conns[m->n_conns] = *c;
	return m->n_conns++;
}

static void connect(struct program *m, uint32_t src, uint32_t dst)
{
	uint32_t a = gpu(m, src), b = gpu(m, dst);
	struct rs_conn c = {.src = src, .dst = dst, .via = src};

	c.nvlink = rs_fabric_rank_host(m->f, a) == rs_fabric_rank_host(m->f, b);
	if (!c.nvlink) {
		c.src_endpoint = rs_fabric_rank_endpoint(m->f, a);
		c.dst_endpoint = rs_fabric_rank_endpoint(m->f, b);
	}
	add_conn(m, &c);
}

static bool make_table(struct program *m)
{
	m->table_size = 64;
	while (m->table_size < 2 * m->p.n_nodes && m->table_size < 1u << 30)
		m->table_size *= 2;
	m->table = calloc(m->table_size, sizeof(*m->table));
	return m->table || no_memory(m);
}

/* The wire from src to dst with this label; a new one has a connection of the same number. */
static uint32_t wire_of(struct program *m, uint32_t src, uint32_t dst, uint32_t label)
{
	uint64_t key = (uint64_t)src << 48 | (uint64_t)dst << 32 | label;
	uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 34) & (m->table_size - 1);

	while (m->table[at] && m->wire[m->table[at] - 1].key != key)
		at = (at + 1) & (m->table_size - 1);
	if (m->table[at])
		return m->table[at] - 1;
	if (!grow(m, (void **)&m->wire, m->n_wires, &m->room_wires, sizeof(*m->wire)))
		return 0;
	m->wire[m->n_wires] = (struct wire){.key = key, .tx = NO_LANE, .rx = NO_LANE};
	connect(m, src, dst);
	m->table[at] = ++m->n_wires;
	return m->n_wires - 1;
}

/* Each wire's sends, in the order in which their rank has them. */
static void make_wires(struct program *m)
{
	const struct rs_work *w = m->p.work;
	uint32_t at = 0;

	for (uint32_t r = 0; r < w->n_ranks && !m->err; r++)
		for (uint32_t i = 0; i < w->rank[r].n && !m->err; i++) {
			const struct rs_work_node *n = node_of(m, r, i);

			if (n->kind != RS_WORK_SEND)
				continue;
			info_of(m, r, i)->what = wire_of(m, r, n->peer, n->label);
			if (!m->err)
				m->wire[info_of(m, r, i)->what].n++;
		}
	m->sends = calloc(m->p.n_nodes + 1u, sizeof(*m->sends));
	if (m->err || (!m->sends && !no_memory(m)))
		return;
	for (uint32_t i = 0; i < m->n_wires; at += m->wire[i++].n)
		m->wire[i].first = at;
	for (uint32_t i = 0; i < m->n_wires; i++)
		m->wire[i].n = 0;
	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n; i++)
			if (node_of(m, r, i)->kind == RS_WORK_SEND) {
				struct wire *k = &m->wire[info_of(m, r, i)->what];

				m->sends[k->first + k->n++] = m->p.base[r] + i;
			}
}

/* ---- Collectives ---- */

/* Hosts of a group have equally many of its ranks, and more than one, and there are several. */
static bool has_hierarchy(const struct program *m, const struct rs_work_group *g)
{
	uint32_t first = 0, n = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t host = rs_fabric_rank_host(m->f, gpu(m, g->rank[i]));

		if (host == last) {
			n++;
			continue;
		}
		if (first && n != first)
			return false;
		first = n;
		n = 1;
		last = host;
	}
	return first > 1 && n == first;
}

static enum rs_coll_algorithm algorithm(const struct program *m, enum rs_coll_op op,
					const struct rs_work_group *g)
{
	enum rs_coll_algorithm a = m->conf.algorithm;

	if (a == RS_ALGO_NCCL)
		return a;
	if (op == RS_COLL_ALL_TO_ALL)
		return RS_ALGO_PAIRWISE;
	if (a == RS_ALGO_TREE && (op == RS_COLL_ALL_REDUCE || op == RS_COLL_BROADCAST))
		return a;
	if (a == RS_ALGO_HIERARCHICAL && op != RS_COLL_BROADCAST && has_hierarchy(m, g))
		return a;
	return RS_ALGO_RING;
}

static uint32_t *group_gpus(struct program *m, const struct rs_work_group *g)
{
	uint32_t *map = rs_arena_alloc(m->a, g->n, sizeof(*map));

	for (uint32_t i = 0; map && i < g->n; i++)
		map[i] = gpu(m, g->rank[i]);
	if (!map)
		no_memory(m);
	return map;
}

static bool same_conns(const struct program *m, const struct part *a, const struct rs_coll *b)
{
	const struct rs_coll *c = a->coll;

	if (c->n_conns != b->n_conns)
		return false;
	for (uint32_t i = 0; i < b->n_conns; i++) {
		const struct rs_conn *x = &c->conns[i], *y = &b->conns[i];

		if (x->src != y->src || x->dst != y->dst || x->channel != y->channel ||
		    x->via != y->via || x->nvlink != y->nvlink ||
		    x->src_endpoint != y->src_endpoint || x->dst_endpoint != y->dst_endpoint)
			return false;
	}
	return c->hop == b->hop && c->lines == b->lines && c->stores == b->stores &&
	       c->proxy == b->proxy && c->proxy_rate == b->proxy_rate && c->post == b->post &&
	       c->serve == b->serve && c->lone == b->lone && c->longer == b->longer &&
	       c->rails == b->rails && c->found == b->found && c->injected == b->injected &&
	       c->eager_rate == b->eager_rate;
}

/* A communicator keeps its connections: collectives that are cut alike use the same ones. */
static void part_conns(struct program *m, struct part *p)
{
	const uint32_t *rank = m->p.work->group[p->group].rank;

	for (uint32_t i = 0; i < m->n_parts; i++)
		if (m->part[i].group == p->group && same_conns(m, &m->part[i], p->coll)) {
			p->conn = m->part[i].conn;
			return;
		}
	p->conn = m->n_conns;
	for (uint32_t i = 0; i < p->coll->n_conns && !m->err; i++) {
		struct rs_conn c = p->coll->conns[i];

		c.src = rank[c.src];
		c.dst = rank[c.dst];
		c.via = rank[c.via];
		add_conn(m, &c);
	}
}

/* Where nothing says how, as NCCL would; its planner refuses hosts that it knows too little of. */
static int plan_part(struct program *m, const struct rs_collective_conf *conf, struct rs_coll **out)
{
	struct rs_collective_conf c = *conf;
	struct rs_error e = {0};

	c.algorithm = RS_ALGO_NCCL;
	if (conf->as_nccl && conf->algorithm != RS_ALGO_NCCL &&
	    !rs_coll_plan(m->f, &c, m->a, out, &e))
		return 0;
	return rs_coll_plan(m->f, conf, m->a, out, m->e);
}

static uint32_t add_part(struct program *m, uint32_t group, uint8_t op, uint64_t bytes)
{
	const struct rs_work_group *g = &m->p.work->group[group];
	struct part p = {.group = group, .op = op, .bytes = bytes};
	struct rs_collective_conf c = m->conf;
	uint64_t least = (uint64_t)c.type_bytes * g->n;

	if (!grow(m, (void **)&m->part, m->n_parts, &m->room_parts, sizeof(*m->part)))
		return 0;
	c.op = (enum rs_coll_op)op;
	c.algorithm = algorithm(m, c.op, g);
	c.bytes = bytes < least ? least : ceil_div(bytes, c.type_bytes) * c.type_bytes;
	c.n_ranks = g->n;
	c.gpu = group_gpus(m, g);
	c.stride = c.group = 0;
	if (m->err)
		return 0;
	m->err = plan_part(m, &c, &p.coll);
	if (m->err)
		return 0;
	part_conns(m, &p);
	if (m->group_lanes[group] < p.coll->n_lanes)
		m->group_lanes[group] = p.coll->n_lanes;
	m->part[m->n_parts] = p;
	return m->n_parts++;
}

static uint32_t part_of(struct program *m, uint32_t group, uint8_t op, uint64_t bytes)
{
	uint64_t key = (bytes * 31 + op) * 0x100003 + group;
	uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 34) & (m->table_size - 1);
	const struct part *p;

	for (; m->table[at]; at = (at + 1) & (m->table_size - 1)) {
		p = &m->part[m->table[at] - 1];
		if (p->group == group && p->op == op && p->bytes == bytes)
			return m->table[at] - 1;
	}
	add_part(m, group, op, bytes);
	m->table[at] = m->n_parts;
	return m->n_parts - 1;
}

static void make_parts(struct program *m)
{
	const struct rs_work *w = m->p.work;

	if (m->err)
		return;
	memset(m->table, 0, m->table_size * sizeof(*m->table));
	m->group_lanes = rs_arena_alloc(m->a, w->n_groups + 1u, sizeof(*m->group_lanes));
	if (!m->group_lanes && !no_memory(m))
		return;
	for (uint32_t r = 0; r < w->n_ranks && !m->err; r++)
		for (uint32_t i = 0; i < w->rank[r].n && !m->err; i++) {
			const struct rs_work_node *n = node_of(m, r, i);

			if (n->kind == RS_WORK_COLL && w->group[n->peer].n > 1)
				info_of(m, r, i)->what = part_of(m, n->peer, n->op, n->bytes);
		}
}

/* ---- Lanes ---- */

static int32_t add_lane(struct program *m, struct rank *r, uint32_t block)
{
	if (!m->err && r->n_lanes == LANES_MAX)
		m->err = rs_error_set(m->e, -E2BIG,
				      "a rank has more than %d units, peers and channels of groups",
				      LANES_MAX);
	if (!grow(m, (void **)&r->lane, r->n_lanes, &r->room_lanes, sizeof(*r->lane)))
		return 0;
	r->lane[r->n_lanes] = (struct lane){.block = block};
	return (int32_t)r->n_lanes++;
}

static uint64_t append(struct program *m, struct rank *r, int32_t lane, uint32_t node,
		       enum role role, uint64_t steps)
{
	struct lane *l = &r->lane[lane];

	if (!grow(m, (void **)&l->item, l->n, &l->room, sizeof(*l->item)))
		return 0;
	l->item[l->n++] = (struct item){l->steps, node, role};
	l->steps += steps;
	return l->steps;
}

static uint64_t chunks(const struct program *m, uint64_t bytes)
{
	return bytes ? ceil_div(bytes, m->conf.chunk) : 1;
}

/* What a rank receives comes as it was sent. */
static void receive_lanes(struct program *m)
{
	for (uint32_t i = 0; i < m->n_wires && !m->err; i++) {
		struct wire *k = &m->wire[i];
		uint32_t dst = (uint32_t)(k->key >> 32) & 0xffff;
		struct rank *r = &m->rank[dst];

		k->rx = add_lane(m, r, 0);
		for (uint32_t j = 0; j < k->n && !m->err; j++) {
			uint32_t at = m->pairs.mate[m->sends[k->first + j]];
			uint32_t own = at - m->p.base[dst];

			m->info[at].what = i;
			m->info[at].lane = k->rx;
			m->info[at].done = append(m, r, k->rx, own, ROLE_RECV,
						  chunks(m, node_of(m, dst, own)->bytes));
		}
	}
}

static int32_t block_of(struct program *m, struct rank *r, uint32_t group)
{
	struct block b = {group, r->n_lanes};

	for (uint32_t i = 0; i < r->n_blocks; i++)
		if (r->block[i].group == group)
			return (int32_t)r->block[i].lane;
	if (!grow(m, (void **)&r->block, r->n_blocks, &r->room_blocks, sizeof(*r->block)))
		return 0;
	r->block[r->n_blocks++] = b;
	for (uint32_t i = 0; i < m->group_lanes[group] && !m->err; i++)
		add_lane(m, r, b.lane);
	return (int32_t)b.lane;
}

/* ---- What nodes wait for ---- */

static void need(struct program *m, uint32_t lane, uint64_t n, uint32_t *n_touched)
{
	if (!m->best[lane])
		m->touched[(*n_touched)++] = lane;
	if (m->best[lane] < n)
		m->best[lane] = n;
}

static void need_node(struct program *m, uint32_t rank, uint32_t dep, uint32_t *n)
{
	const struct info *d = info_of(m, rank, dep);
	enum rs_work_kind kind = (enum rs_work_kind)node_of(m, rank, dep)->kind;

	if (d->lane != NO_LANE)
		need(m, (uint32_t)d->lane, d->done, n);
	if (d->lane != NO_LANE && kind != RS_WORK_RECV)
		return;
	for (uint32_t i = 0; i < d->n_wait; i++) {
		const struct wait *w = &m->rank[rank].wait[d->first_wait + i];

		need(m, w->lane, w->count, n);
	}
}

/* The lanes and counts of a node's dependencies; not of its own lane, which keeps its order. */
static void waits(struct program *m, uint32_t rank, uint32_t i, int32_t own)
{
	const struct rs_work_rank *w = &m->p.work->rank[rank];
	const struct rs_work_node *k = &w->node[i];
	struct rank *r = &m->rank[rank];
	struct info *info = info_of(m, rank, i);
	uint32_t n = 0;

	for (uint32_t j = 0; j < k->n_deps; j++)
		need_node(m, rank, w->dep[k->first_dep + j], &n);
	info->first_wait = r->n_waits;
	for (uint32_t j = 0; j < n; j++) {
		uint32_t lane = m->touched[j];

		if ((int32_t)lane != own &&
		    grow(m, (void **)&r->wait, r->n_waits, &r->room_waits, sizeof(*r->wait)))
			r->wait[r->n_waits++] = (struct wait){m->best[lane], lane};
		m->best[lane] = 0;
	}
	info->n_wait = r->n_waits - info->first_wait;
}

static void place_coll(struct program *m, uint32_t rank, uint32_t i)
{
	struct rank *r = &m->rank[rank];
	struct info *info = info_of(m, rank, i);
	const struct part *p = &m->part[info->what];
	int32_t lane = block_of(m, r, p->group);
	uint32_t own = 0, n = m->group_lanes[p->group];

	if (m->err)
		return;
	while (m->p.work->group[p->group].rank[own] != rank)
		own++;
	waits(m, rank, i, lane);
	info->lane = lane;
	info->done = append(m, r, lane, i, ROLE_COLL,
			    only_wait(info->n_wait) + p->coll->n_steps(p->coll, own, 0) +
				    join_steps(p->coll));
	for (uint32_t l = 1; l < n && !m->err; l++)
		append(m, r, lane + (int32_t)l, i, ROLE_COLL_FURTHER,
		       1 + (l < p->coll->n_lanes ? p->coll->n_steps(p->coll, own, l) : 0));
}

static void place_compute(struct program *m, uint32_t rank, uint32_t i)
{
	struct rank *r = &m->rank[rank];
	struct info *info = info_of(m, rank, i);
	int32_t *lane = &r->unit[node_of(m, rank, i)->unit];

	if (*lane == NO_LANE)
		*lane = add_lane(m, r, 0);
	if (m->err)
		return;
	waits(m, rank, i, *lane);
	info->lane = *lane;
	info->done = append(m, r, *lane, i, ROLE_COMPUTE, before_last(info->n_wait) + 1);
}

static void place_send(struct program *m, uint32_t rank, uint32_t i)
{
	struct rank *r = &m->rank[rank];
	struct info *info = info_of(m, rank, i);
	struct wire *k = &m->wire[info->what];

	if (k->tx == NO_LANE)
		k->tx = add_lane(m, r, 0);
	if (m->err)
		return;
	waits(m, rank, i, k->tx);
	info->lane = k->tx;
	info->done = append(m, r, k->tx, i, ROLE_SEND,
			    before_last(info->n_wait) + chunks(m, node_of(m, rank, i)->bytes));
}

static void place_join(struct program *m, uint32_t rank, uint32_t i)
{
	info_of(m, rank, i)->lane = NO_LANE;
	waits(m, rank, i, NO_LANE);
}

static void place_node(struct program *m, uint32_t rank, uint32_t i)
{
	const struct rs_work_node *n = node_of(m, rank, i);

	switch ((enum rs_work_kind)n->kind) {
	case RS_WORK_COMPUTE:
		place_compute(m, rank, i);
		break;
	case RS_WORK_SEND:
		place_send(m, rank, i);
		break;
	case RS_WORK_COLL:
		if (m->p.work->group[n->peer].n > 1)
			place_coll(m, rank, i);
		else /* alone, there is nothing to move */
			place_join(m, rank, i);
		break;
	case RS_WORK_JOIN:
		place_join(m, rank, i);
		break;
	case RS_WORK_RECV:
		waits(m, rank, i, NO_LANE);
		break;
	}
}

static uint32_t most_lanes(const struct program *m)
{
	uint32_t most = 0;

	for (uint32_t r = 0; r < m->p.work->n_ranks; r++)
		most = m->rank[r].n_lanes > most ? m->rank[r].n_lanes : most;
	return most;
}

static void make_lanes(struct program *m)
{
	const struct rs_work *w = m->p.work;

	m->best = calloc(LANES_MAX, sizeof(*m->best));
	m->touched = calloc(LANES_MAX, sizeof(*m->touched));
	if (!m->best || !m->touched)
		no_memory(m);
	for (uint32_t r = 0; r < w->n_ranks && !m->err; r++)
		for (uint32_t u = 0; u < RS_WORK_UNITS_MAX; u++)
			m->rank[r].unit[u] = NO_LANE;
	receive_lanes(m);
	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n && !m->err; i++)
			place_node(m, r, i);
}

/* ---- Slow GPUs ---- */

/* Computations take longer on a GPU that is slow: a copy of the work where some are. NULL: no
 * memory. */
static const struct rs_work *at_speed(struct program *m, const struct rs_work *w)
{
	struct rs_work *own;

	if (!m->f->gpu_speed)
		return w;
	own = rs_arena_alloc(m->a, 1, sizeof(*own));
	if (own)
		*own = *w;
	if (own)
		own->rank = rs_arena_alloc(m->a, w->n_ranks, sizeof(*own->rank));
	if (!own || !own->rank)
		return NULL;
	for (uint32_t r = 0; r < w->n_ranks; r++) {
		struct rs_work_rank *to = &own->rank[r];
		double speed = rs_fabric_gpu_speed(m->f, gpu(m, r));

		*to = w->rank[r];
		if (speed >= 1)
			continue;
		to->node = rs_arena_alloc(m->a, to->n + 1u, sizeof(*to->node));
		if (!to->node)
			return NULL;
		for (uint32_t i = 0; i < to->n; i++) {
			to->node[i] = w->rank[r].node[i];
			if (to->node[i].why == RS_WHY_COMPUTE)
				to->node[i].time = (rs_time)((double)to->node[i].time / speed);
		}
	}
	return own;
}

/* ---- The plan ---- */

static void free_scratch(struct program *m)
{
	free(m->table);
	free(m->sends);
	free(m->best);
	free(m->touched);
	m->table = m->sends = m->touched = NULL;
	m->best = NULL;
}

static void fill_conf(struct program *m, const struct rs_collective_conf *conf)
{
	struct rs_collective_conf *c = &m->conf;

	*c = *conf;
	c->n_ranks = m->p.work->n_ranks;
	c->stride = c->group = 0;
	c->nccl.in_graph = true;
	c->repeat = 1;
	c->chunk = c->chunk ? c->chunk : 512 << 10;
	c->slots = c->slots ? c->slots : 8;
	c->qps = c->qps ? c->qps : 1;
	c->type_bytes = c->type_bytes ? c->type_bytes : 2;
}

/* Which plan each connection is of; messages between two ranks are of none. */
static const struct rs_coll *const *conn_parts(struct program *m, rs_time *post, rs_time *serve)
{
	static const struct rs_coll plain;
	const struct rs_coll **of = rs_arena_alloc(m->a, m->n_conns + 1u, sizeof(*of));

	for (uint32_t i = 0; of && i < m->n_conns; i++)
		of[i] = &plain;
	for (uint32_t i = 0; of && i < m->n_parts; i++) {
		const struct rs_coll *c = m->part[i].coll;

		for (uint32_t k = 0; k < c->n_conns; k++)
			of[m->part[i].conn + k] = c;
		*post = rs_time_max(*post, c->post);
		*serve = rs_time_max(*serve, c->serve);
	}
	return of;
}

static struct rs_coll *make_coll(struct program *m)
{
	struct rs_coll *c = rs_arena_alloc(m->a, 1, sizeof(*c));
	rs_time post = 0, serve = 0;
	const struct rs_coll *const *part = c ? conn_parts(m, &post, &serve) : NULL;

	if (!part)
		return NULL;
	*c = (struct rs_coll){.conf = m->conf,
			      .n_ranks = m->p.work->n_ranks,
			      .n_lanes = most_lanes(m),
			      .window = m->conf.slots,
			      .n_conns = m->n_conns,
			      .conns = m->conns,
			      .part = part,
			      .post = post,
			      .serve = serve,
			      .bus_numerator = 1,
			      .bus_denominator = 1,
			      .plan = m,
			      .n_steps = program_n_steps,
			      .step = program_step,
			      .mark = program_mark};
	for (uint32_t i = 0; i < m->n_parts; i++)
		c->window =
			m->part[i].coll->window > c->window ? m->part[i].coll->window : c->window;
	c->conf.slots = c->window;
	return c;
}

static void times(struct program *m)
{
	uint32_t n = m->p.n_nodes;

	m->p.begun = rs_arena_alloc(m->a, n + 1u, sizeof(*m->p.begun));
	m->p.ended = rs_arena_alloc(m->a, n + 1u, sizeof(*m->p.ended));
	if (!m->p.begun || !m->p.ended) {
		no_memory(m);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		m->p.begun[i] = m->p.ended[i] = RS_NEVER;
}

static void dry_time(struct program *m)
{
	const struct rs_work_cost nothing = {0};
	rs_time *ended = calloc(m->p.n_nodes + 1u, sizeof(*ended));

	if (!ended)
		no_memory(m);
	if (!m->err)
		m->err = rs_work_dry(m->p.work, &m->pairs, &nothing, true, ended, NULL, m->e);
	for (uint32_t i = 0; !m->err && i < m->p.n_nodes; i++)
		m->p.dry = rs_time_max(m->p.dry, ended[i]);
	free(ended);
}

static int check(const struct rs_fabric *f, const struct rs_work *w,
		 const struct rs_collective_conf *conf, struct rs_error *e)
{
	if (w->n_ranks > f->n_gpus)
		return rs_error_set(e, -EINVAL, "the work has %u ranks, the fabric has %u GPUs",
				    w->n_ranks, f->n_gpus);
	if (conf->n_ranks && conf->n_ranks != w->n_ranks)
		return rs_error_set(e, -EINVAL, "the work has %u ranks, %u are placed", w->n_ranks,
				    conf->n_ranks);
	return 0;
}

int rs_program_plan(const struct rs_fabric *f, const struct rs_work *w,
		    const struct rs_collective_conf *conf, struct rs_arena *a,
		    struct rs_program **out, struct rs_error *e)
{
	struct program *m = rs_arena_alloc(a, 1, sizeof(*m));

	*out = NULL;
	if (!m)
		return rs_error_set(e, -ENOMEM, "out of memory while planning the work");
	m->err = check(f, w, conf, e);
	if (m->err)
		return m->err;
	m->a = a;
	m->e = e;
	m->f = f;
	m->p.work = w;
	m->p.n_nodes = (uint32_t)w->n_nodes;
	fill_conf(m, conf);
	m->p.work = w = at_speed(m, w);
	if (!w) {
		no_memory(m);
		return m->err;
	}
	m->err = rs_work_pair(w, a, &m->pairs, e);
	m->p.base = m->pairs.base;
	m->rank = rs_arena_alloc(a, w->n_ranks, sizeof(*m->rank));
	m->info = rs_arena_alloc(a, w->n_nodes + 1u, sizeof(*m->info));
	if (!m->rank || !m->info)
		no_memory(m);
	if (!m->err)
		dry_time(m);
	if (!m->err && make_table(m))
		make_wires(m);
	make_parts(m);
	if (!m->err)
		make_lanes(m);
	times(m);
	if (!m->err && !(m->p.coll = make_coll(m)))
		no_memory(m);
	free_scratch(m);
	*out = m->err ? NULL : &m->p;
	return m->err;
}
