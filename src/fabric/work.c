/* Building a graph of work, node by node. */
#include <errno.h>
#include <string.h>
#include "fabric/work.h"

const char *const rs_work_whys[RS_WHYS] = {"other",   "compute", "data",    "tensor",  "pipeline",
					   "context", "expert",  "weights", "KV cache"};

struct rs_work *rs_work_create(struct rs_arena *a, uint32_t n_ranks, struct rs_error *e)
{
	struct rs_work *w;

	if (!n_ranks || n_ranks > RS_WORK_RANKS_MAX) {
		rs_error_set(e, -E2BIG, "work of %u ranks; expected 1 to %d", n_ranks,
			     RS_WORK_RANKS_MAX);
		return NULL;
	}
	w = rs_arena_alloc(a, 1, sizeof(*w));
	if (w)
		w->rank = rs_arena_alloc(a, n_ranks, sizeof(*w->rank));
	if (!w || !w->rank) {
		rs_error_set(e, -ENOMEM, "out of memory for the work of %u ranks", n_ranks);
		return NULL;
	}
	w->arena = a;
	w->n_ranks = n_ranks;
	w->e = e;
	return w;
}

/* Room for one more of `size` bytes each; what an arena gave before stays behind. */
static bool grow(struct rs_work *w, void **array, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 16;
	void *m;

	if (w->err)
		return false;
	if (n < *room)
		return true;
	m = rs_arena_alloc(w->arena, more, size);
	if (!m) {
		w->err = rs_error_set(w->e, -ENOMEM, "out of memory for the work's graph");
		return false;
	}
	if (n)
		memcpy(m, *array, n * size);
	*array = m;
	*room = more;
	return true;
}

uint32_t rs_work_group(struct rs_work *w, const uint32_t *ranks, uint32_t n)
{
	uint32_t *copy;

	if (!w->err && w->n_groups == RS_WORK_GROUPS_MAX)
		w->err = rs_error_set(w->e, -E2BIG, "more than %d groups of ranks",
				      RS_WORK_GROUPS_MAX);
	if (!grow(w, (void **)&w->group, w->n_groups, &w->room_groups, sizeof(*w->group)))
		return RS_WORK_NONE;
	copy = rs_arena_alloc(w->arena, n ? n : 1, sizeof(*copy));
	if (!copy) {
		w->err = rs_error_set(w->e, -ENOMEM, "out of memory for a group of ranks");
		return RS_WORK_NONE;
	}
	memcpy(copy, ranks, n * sizeof(*copy));
	w->group[w->n_groups] = (struct rs_work_group){n, copy};
	return w->n_groups++;
}

uint32_t rs_work_add(struct rs_work *w, uint32_t rank, const struct rs_work_node *node)
{
	struct rs_work_rank *r = &w->rank[rank];

	rs_assert(rank < w->n_ranks);
	if (!w->err && w->n_nodes == RS_WORK_NODES_MAX) {
		w->err =
			rs_error_set(w->e, -E2BIG, "more than %d nodes of work", RS_WORK_NODES_MAX);
		rs_error_hint(w->e, "fewer ranks, layers or microbatches");
	}
	if (!grow(w, (void **)&r->node, r->n, &r->room, sizeof(*r->node)))
		return RS_WORK_NONE;
	r->node[r->n] = *node;
	r->node[r->n].first_dep = r->n_deps;
	r->node[r->n].n_deps = 0;
	w->n_nodes++;
	return r->n++;
}

void rs_work_after(struct rs_work *w, uint32_t rank, uint32_t dep)
{
	struct rs_work_rank *r = &w->rank[rank];

	if (dep == RS_WORK_NONE ||
	    !grow(w, (void **)&r->dep, r->n_deps, &r->room_deps, sizeof(*r->dep)))
		return;
	rs_assert(r->n);
	r->dep[r->n_deps++] = dep;
	r->node[r->n - 1].n_deps++;
}

void rs_work_depend(struct rs_work *w, uint32_t rank, uint32_t node, uint32_t dep)
{
	struct rs_work_rank *r = &w->rank[rank];

	if (!grow(w, (void **)&r->dep, r->n_deps, &r->room_deps, sizeof(*r->dep)))
		return;
	rs_assert(node < r->n && dep < r->n);
	if (!r->node[node].n_deps)
		r->node[node].first_dep = r->n_deps;
	rs_assert(r->node[node].first_dep + r->node[node].n_deps == r->n_deps);
	r->dep[r->n_deps++] = dep;
	r->node[node].n_deps++;
}

uint64_t rs_work_sent(const struct rs_work *w, uint32_t rank, enum rs_work_why why)
{
	const struct rs_work_rank *r = &w->rank[rank];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->n; i++)
		if (r->node[i].why == why && r->node[i].kind == RS_WORK_SEND)
			sum += r->node[i].bytes;
	return sum;
}
