/* What came of a program: when its nodes ended, what its ranks waited for, bytes by what they are
 * for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "collective/program_state.h"

void rs_program_close(struct rs_program *p)
{
	const struct rs_work *w = p->work;

	for (uint32_t r = 0; r < w->n_ranks; r++)
		for (uint32_t i = 0; i < w->rank[r].n; i++) {
			const struct rs_work_node *k = &w->rank[r].node[i];
			bool alone = k->kind == RS_WORK_COLL && w->group[k->peer].n < 2;
			rs_time *end = &p->ended[p->base[r] + i];

			if (k->kind != RS_WORK_JOIN && k->kind != RS_WORK_RECV && !alone)
				continue;
			if (k->kind != RS_WORK_RECV)
				*end = p->coll->conf.start;
			for (uint32_t j = 0; j < k->n_deps; j++)
				*end = rs_time_max(
					*end,
					p->ended[p->base[r] + w->rank[r].dep[k->first_dep + j]]);
			if (k->kind != RS_WORK_RECV)
				p->begun[p->base[r] + i] = *end;
		}
}

/* ---- What the first unit waited for ---- */

/* Of a node's dependencies the one that ended last. */
static uint32_t last_dep(const struct rs_program *p, uint32_t rank, uint32_t i)
{
	const struct rs_work_rank *w = &p->work->rank[rank];
	const struct rs_work_node *k = &w->node[i];
	uint32_t last = RS_WORK_NONE;

	for (uint32_t j = 0; j < k->n_deps; j++) {
		uint32_t d = w->dep[k->first_dep + j];

		if (last == RS_WORK_NONE ||
		    p->ended[p->base[rank] + d] > p->ended[p->base[rank] + last])
			last = d;
	}
	return last;
}

/*
 * From `from` to `to` a unit waited for node i to begin. What its last dependency took of that is
 * lost to what that is for; the time before, to what that one waited for in turn. Between the end
 * of the last dependency and its begin a node was held by what is before it in its lane: that is
 * lost to what the node is for.
 */
static void blame(const struct rs_program *p, uint32_t rank, uint32_t i, rs_time from, rs_time to,
		  struct rs_program_result *out)
{
	const struct rs_work_rank *w = &p->work->rank[rank];
	const rs_time *begun = p->begun + p->base[rank], *ended = p->ended + p->base[rank];

	while (from < to) {
		uint32_t d = last_dep(p, rank, i);
		rs_time at = d == RS_WORK_NONE ? from : rs_time_max(ended[d], from);

		if (at < to) {
			out->exposed[w->node[i].why] += to - at;
			to = at;
		}
		if (d == RS_WORK_NONE || to == from)
			return;
		at = w->node[d].kind == RS_WORK_RECV ? from : rs_time_max(begun[d], from);
		if (at < to && w->node[d].kind != RS_WORK_JOIN) {
			out->exposed[w->node[d].why] += to - at;
			to = at;
		}
		i = d;
	}
}

/* False: a rank that does not compute. */
static bool rank_times(const struct rs_program *p, uint32_t rank, rs_time last,
		       struct rs_program_result *out)
{
	const struct rs_work_rank *w = &p->work->rank[rank];
	rs_time end = p->coll->conf.start;
	bool any = false;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct rs_work_node *k = &w->node[i];
		rs_time begun = p->begun[p->base[rank] + i];

		if (k->kind != RS_WORK_COMPUTE || k->unit || begun == RS_NEVER)
			continue;
		if (begun > end)
			blame(p, rank, i, end, begun, out);
		out->compute += k->time;
		end = begun + k->time;
		any = true;
	}
	if (any) /* others are still at work */
		out->exposed[RS_WHY_OTHER] += rs_time_max(last - end, 0);
	return any;
}

/* ---- Bytes ---- */

struct sent {
	uint64_t all, outside;
};

/* Of a message's bytes on its link those that are data: NCCL's flags and NVLink's losses are not.
 */
static uint64_t data_bytes(const struct rs_coll *c, bool inside, uint64_t bytes)
{
	uint32_t num = inside ? c->inside.num : c->net.num;
	uint32_t den = inside ? c->inside.den : c->net.den;

	return den ? bytes * den / num : bytes;
}

/* Of each member of each part, once; a part's members after another's. */
static struct sent *parts_sent(const struct program *m, uint32_t *first)
{
	uint32_t n = 0;
	struct sent *s;
	struct rs_step st;

	for (uint32_t i = 0; i < m->n_parts; n += m->part[i++].coll->n_ranks)
		first[i] = n;
	s = calloc(n + 1u, sizeof(*s));
	for (uint32_t i = 0; s && i < m->n_parts; i++) {
		const struct rs_coll *c = m->part[i].coll;

		for (uint32_t r = 0; r < c->n_ranks; r++)
			for (uint32_t l = 0; l < c->n_lanes; l++)
				for (uint64_t k = 0, end = c->n_steps(c, r, l); k < end; k++) {
					c->step(c, r, l, k, &st);
					for (unsigned j = 0; j < st.n_send; j++) {
						bool in = c->conns[st.send[j].conn].nvlink;
						uint64_t b = data_bytes(c, in, st.send[j].bytes);

						s[first[i] + r].all += b;
						s[first[i] + r].outside += in ? 0 : b;
					}
				}
	}
	return s;
}

static struct sent node_sent(const struct program *m, const struct sent *parts,
			     const uint32_t *first, uint32_t rank, uint32_t i)
{
	const struct rs_work_node *k = node_of(m, rank, i);
	const struct info *info = info_of(m, rank, i);
	uint32_t own = 0;

	if (k->kind == RS_WORK_SEND)
		return (struct sent){k->bytes, m->conns[info->what].nvlink ? 0 : k->bytes};
	if (k->kind != RS_WORK_COLL || m->p.work->group[k->peer].n < 2)
		return (struct sent){0};
	while (m->p.work->group[k->peer].rank[own] != rank)
		own++;
	return parts[first[info->what] + own];
}

static void count_bytes(const struct program *m, struct rs_program_result *out)
{
	const struct rs_work *w = m->p.work;
	uint32_t *first = calloc(m->n_parts + 1u, sizeof(*first));
	struct sent *parts = first ? parts_sent(m, first) : NULL;

	for (uint32_t r = 0; parts && r < w->n_ranks; r++) {
		uint32_t messages = 0;

		for (uint32_t i = 0; i < w->rank[r].n; i++) {
			struct sent s = node_sent(m, parts, first, r, i);

			out->bytes[w->rank[r].node[i].why] += s.all;
			out->outside[w->rank[r].node[i].why] += s.outside;
			messages += s.all > 0;
		}
		out->messages = messages > out->messages ? messages : out->messages;
	}
	free(parts);
	free(first);
}

void rs_program_evaluate(const struct rs_program *p, struct rs_program_result *out)
{
	const struct program *m = p->coll->plan;
	rs_time end = p->coll->conf.start;

	*out = (struct rs_program_result){.dry = p->dry};
	for (uint32_t i = 0; i < p->n_nodes; i++)
		if (p->ended[i] != RS_NEVER)
			end = rs_time_max(end, p->ended[i]);
	for (uint32_t r = 0; r < p->work->n_ranks; r++)
		out->ranks += rank_times(p, r, end, out);
	out->step = end - p->coll->conf.start;
	for (int i = 0; out->ranks && i < RS_WHYS; i++)
		out->exposed[i] /= out->ranks;
	if (out->ranks)
		out->compute /= out->ranks;
	count_bytes(m, out);
}
