/* The steps of a program's lanes: any is found from its number, none is stored. */
#include "collective/program_state.h"

static const struct item *item_at(const struct lane *l, uint64_t i)
{
	uint32_t low = 0, high = l->n - 1;

	while (low < high) {
		uint32_t mid = (low + high + 1) / 2;

		if (l->item[mid].first <= i)
			low = mid;
		else
			high = mid - 1;
	}
	return &l->item[low];
}

/* The k-th three of what a node waits for. */
static void step_waits(const struct rank *r, const struct info *info, uint64_t k,
		       struct rs_step *out)
{
	for (uint64_t i = k * RS_STEP_FAN; i < info->n_wait && out->n_wait < RS_STEP_FAN; i++) {
		const struct wait *w = &r->wait[info->first_wait + i];

		step_wait(out, w->lane, w->count);
	}
}

static uint64_t chunk_bytes(const struct program *m, uint64_t bytes, uint64_t k)
{
	uint64_t at = k * m->conf.chunk;

	return bytes - at < m->conf.chunk ? bytes - at : m->conf.chunk;
}

static void message(const struct program *m, const struct rs_work_node *n, const struct info *info,
		    uint64_t k, struct rs_step *out)
{
	uint64_t bytes = n->bytes ? chunk_bytes(m, n->bytes, k) : 1;

	if (n->kind == RS_WORK_SEND) {
		out->send[0].conn = info->what;
		out->send[0].bytes = bytes;
		out->send[0].offset = k * m->conf.chunk;
		out->n_send = 1;
	} else {
		out->recv[0].conn = info->what;
		out->recv[0].bytes = bytes;
		out->recv[0].offset = k * m->conf.chunk;
		out->n_recv = 1;
	}
	if (!m->conns[info->what].nvlink)
		out->compute = m->conf.step_latency;
}

/* Which of a lane's items an item of a group's lane is: the same in all of them. */
static uint32_t turn_of(const struct lane *l, const struct item *it)
{
	return (uint32_t)(it - l->item);
}

/* A step of the collective's own plan, its lanes and connections numbered as the program's. */
static void part_step(const struct program *m, uint32_t rank, const struct part *p, uint32_t lane,
		      uint64_t i, uint32_t block, uint32_t turn, uint64_t waited,
		      struct rs_step *out)
{
	const struct rs_work_group *g = &m->p.work->group[p->group];
	const struct rank *r = &m->rank[rank];
	uint32_t own = 0;

	while (g->rank[own] != rank)
		own++;
	p->coll->step(p->coll, own, lane, i, out);
	for (unsigned k = 0; k < out->n_recv; k++)
		out->recv[k].conn += p->conn;
	for (unsigned k = 0; k < out->n_send; k++)
		out->send[k].conn += p->conn;
	for (unsigned k = 0; k < out->n_wait; k++) {
		uint32_t other = out->wait[k].lane;

		out->wait[k].count +=
			r->lane[block + other].item[turn].first + (other ? 1 : waited);
		out->wait[k].lane = block + other;
	}
}

static void coll_step(const struct program *m, uint32_t rank, uint32_t lane, const struct item *it,
		      uint64_t k, struct rs_step *out)
{
	const struct rank *r = &m->rank[rank];
	const struct info *info = info_of(m, rank, it->node);
	const struct part *p = &m->part[info->what];
	uint32_t block = r->lane[lane].block, turn = turn_of(&r->lane[lane], it);
	uint64_t waited = only_wait(info->n_wait);
	uint64_t joins = info->done - join_steps(p->coll) - it->first;

	if (it->role == ROLE_COLL_FURTHER && !k) {
		step_wait(out, block, r->lane[block].item[turn].first + waited);
		return;
	}
	if (it->role == ROLE_COLL_FURTHER) {
		part_step(m, rank, p, lane - block, k - 1, block, turn, waited, out);
		return;
	}
	if (k < waited) {
		step_waits(r, info, k, out);
		return;
	}
	if (k < joins) {
		part_step(m, rank, p, 0, k - waited, block, turn, waited, out);
		return;
	}
	for (uint64_t l = 1 + (k - joins) * RS_STEP_FAN;
	     l < p->coll->n_lanes && out->n_wait < RS_STEP_FAN; l++) {
		const struct lane *x = &r->lane[block + l];

		step_wait(out, block + (uint32_t)l,
			  turn + 1 < x->n ? x->item[turn + 1].first : x->steps);
	}
}

void program_step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		  struct rs_step *out)
{
	const struct program *m = c->plan;
	const struct rank *r = &m->rank[rank];
	const struct item *it = item_at(&r->lane[lane], i);
	const struct rs_work_node *n = node_of(m, rank, it->node);
	const struct info *info = info_of(m, rank, it->node);
	uint64_t k = i - it->first, before = before_last(info->n_wait);

	*out = (struct rs_step){0};
	if (it->role == ROLE_RECV) {
		message(m, n, info, k, out);
	} else if (it->role == ROLE_COLL || it->role == ROLE_COLL_FURTHER) {
		coll_step(m, rank, lane, it, k, out);
	} else {
		if (k <= before)
			step_waits(r, info, k, out);
		if (it->role == ROLE_COMPUTE && k == before)
			out->compute = n->time;
		if (it->role == ROLE_SEND && k >= before)
			message(m, n, info, k - before, out);
	}
}

uint64_t program_n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct program *m = c->plan;
	const struct rank *r = &m->rank[rank];

	return lane < r->n_lanes ? r->lane[lane].steps : 0;
}

/* ---- Times ---- */

void program_mark(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i, bool taken,
		  rs_time now)
{
	const struct program *m = c->plan;
	const struct lane *l = &m->rank[rank].lane[lane];
	const struct item *it = item_at(l, i);
	uint32_t at = m->p.base[rank] + it->node;
	uint64_t next = it + 1 < l->item + l->n ? it[1].first : l->steps;

	if (it->role == ROLE_COLL_FURTHER)
		return;
	if (!taken) {
		if (i + 1 == next)
			m->p.ended[at] = now;
	} else if (m->p.begun[at] == RS_NEVER || it->role == ROLE_COMPUTE ||
		   (it->role == ROLE_SEND && i - it->first <= before_last(m->info[at].n_wait)) ||
		   (it->role == ROLE_COLL && i - it->first < only_wait(m->info[at].n_wait))) {
		m->p.begun[at] = now;
	}
}
