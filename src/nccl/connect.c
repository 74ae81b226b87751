/* Nodes joined: rings end to end, a double binary tree over nodes, heads of NVLS; then how many
 * channels there are (graph/connect.cc, graph/trees.cc). */
#include <errno.h>
#include <string.h>
#include "nccl/state.h"

/* ---- A double binary tree ---- */

struct place {
	int up, down[2];
	int side; /* which child of its parent */
};

/* Leaves and inner nodes take turns: the lowest bit that is set is the height. */
static struct place binary(int n, int at)
{
	struct place p = {-1, {-1, -1}, 0};
	int bit = 1, low;

	while (bit < n && !(bit & at))
		bit <<= 1;
	if (!at) {
		p.down[1] = n > 1 ? bit >> 1 : -1;
		return p;
	}
	p.up = (at ^ bit) | bit << 1;
	if (p.up >= n)
		p.up = at ^ bit;
	p.side = at < p.up ? 0 : 1;
	low = bit >> 1;
	if (!low)
		return p;
	p.down[0] = at - low;
	p.down[1] = at + low;
	while (p.down[1] >= n) {
		low >>= 1;
		p.down[1] = low ? at + low : -1;
	}
	return p;
}

/* The second tree is the first mirrored, or shifted by one where their number is odd. */
static struct place second(int n, int at)
{
	struct place p = n % 2 ? binary(n, (at - 1 + n) % n) : binary(n, n - 1 - at);
	int *v[] = {&p.up, &p.down[0], &p.down[1]};

	for (int i = 0; i < 3; i++)
		if (*v[i] >= 0)
			*v[i] = n % 2 ? (*v[i] + 1) % n : n - 1 - *v[i];
	return p;
}

static struct place place_in(int n, int at, int tree)
{
	return tree ? second(n, at) : binary(n, at);
}

/* ---- Rings ---- */

/* Rings of a pair change places on each second node, so that what leaves by a rail arrives by it.
 */
static bool alternates(const struct rs_nccl_plan *p, uint32_t node, int n)
{
	int cross = p->graph[RS_NCCL_ALGO_RING].cross_nic;

	if (p->release < RS_NCCL_RELEASE(2, 20, 0) || n % 2 || node % 2 == 0)
		return false;
	if (p->release < RS_NCCL_RELEASE(2, 21, 0))
		return cross && p->n_nodes % 2 == 0;
	if (p->release < RS_NCCL_RELEASE(2, 26, 0))
		return cross;
	if (p->release < RS_NCCL_RELEASE(2, 28, 0))
		return cross == 2;
	return p->nodes[node].class->found[RING_GRAPH].cross_nic == 2;
}

static void make_ring(struct rs_nccl_plan *p, int c, int n, uint32_t *ring, uint32_t *all)
{
	uint32_t k = 0, first = 0;

	for (uint32_t node = 0; node < p->n_nodes; node++) {
		const struct rs_nccl_class *class = p->nodes[node].class;
		int from = alternates(p, node, n) ? c ^ 1 : c;

		for (int i = 0; i < class->n_gpus; i++)
			all[k++] = rank_of(
				p, node, class->found[RING_GRAPH].intra[from * class->n_gpus + i]);
	}
	rs_assert(k == p->n_ranks);
	while (all[first]) {
		first++;
		rs_assert(first < k); /* rank 0 is in every ring */
	}
	memcpy(ring, all + first, (k - first) * sizeof(*ring));
	memcpy(ring + (k - first), all, first * sizeof(*ring));
}

/* ---- Trees ---- */

/* Where other nodes hang: the parent's end, and both children's. */
struct ends {
	uint32_t parent, child[2];
};

static struct ends ends_of(const struct rs_nccl_plan *p, uint32_t node, int c)
{
	const struct rs_nccl_class *class = p->nodes[node].class;
	const struct found *f = &class->found[TREE_GRAPH];
	const int16_t *order = &f->intra[c * class->n_gpus];
	int next = class->n_gpus > 1 ? 1 : 0;

	return (struct ends){
		rank_of(p, node, order[0]),
		{rank_of(p, node, order[f->pattern == RS_NCCL_TREE ? 0 : next]),
		 rank_of(p, node, order[f->pattern == RS_NCCL_SPLIT_TREE ? next : 0])}};
}

static void add_child(struct rs_nccl_tree *t, uint32_t rank)
{
	rs_assert(t->down[RS_NCCL_TREE_ARITY - 1] < 0); /* one of the chain, and two nodes */
	for (int i = 0; i < RS_NCCL_TREE_ARITY; i++)
		if (t->down[i] < 0) {
			t->down[i] = (int32_t)rank;
			return;
		}
}

static void chain(const struct rs_nccl_plan *p, uint32_t node, int c, struct rs_nccl_tree *tree)
{
	const struct rs_nccl_class *class = p->nodes[node].class;
	const int16_t *order = &class->found[TREE_GRAPH].intra[c * class->n_gpus];

	for (int i = 0; i < class->n_gpus; i++) {
		struct rs_nccl_tree *t = &tree[rank_of(p, node, order[i])];

		*t = (struct rs_nccl_tree){-1, {-1, -1, -1}};
		if (i)
			t->up = (int32_t)rank_of(p, node, order[i - 1]);
		if (i < class->n_gpus - 1)
			t->down[0] = (int32_t)rank_of(p, node, order[i + 1]);
	}
}

static void make_tree(struct rs_nccl_plan *p, int c, int which, struct rs_nccl_tree *tree)
{
	int n = (int)p->n_nodes;

	for (uint32_t node = 0; node < p->n_nodes; node++)
		chain(p, node, c, tree);
	for (int node = 0; node < n; node++) {
		struct ends own = ends_of(p, (uint32_t)node, c);
		struct place at = place_in(n, node, which);

		if (at.up >= 0)
			tree[own.parent].up =
				(int32_t)ends_of(p, (uint32_t)at.up, c).child[at.side];
		for (int i = 0; i < 2; i++)
			if (at.down[i] >= 0)
				add_child(&tree[own.child[i]],
					  ends_of(p, (uint32_t)at.down[i], c).parent);
	}
}

/* ---- NVLS ---- */

static void make_nvls(struct rs_nccl_plan *p)
{
	int n = (int)p->n_nodes;

	for (int which = 0; which < 2 && p->nvls_tree[which]; which++) {
		for (uint32_t r = 0; r < p->n_ranks; r++)
			p->nvls_tree[which][r] = (struct rs_nccl_tree){-1, {-1, -1, -1}};
		for (int h = p->n_nvls_heads - 1; h >= 0; h--)
			for (int node = 0; node < n; node++) {
				const uint32_t *heads = &p->nvls_heads[h * n];
				struct rs_nccl_tree *t = &p->nvls_tree[which][heads[node]];
				struct place at = place_in(n, node, which);
				int k = 1;

				*t = (struct rs_nccl_tree){-1, {-1, -1, -1}};
				t->up = at.up < 0 ? -1 : (int32_t)heads[at.up];
				for (int i = 0; i < 2; i++)
					if (at.down[i] >= 0)
						t->down[k++] = (int32_t)heads[at.down[i]];
			}
	}
}

static int nvls_heads(struct rs_nccl_plan *p, struct rs_arena *a)
{
	p->n_nvls_heads = RS_NCCL_NVLS_ARITY;
	for (uint32_t node = 0; node < p->n_nodes; node++)
		if (p->nodes[node].class->n_heads < p->n_nvls_heads)
			p->n_nvls_heads = p->nodes[node].class->n_heads;
	if (!p->nvls_channels || !p->n_nvls_heads) {
		p->n_nvls_heads = p->nvls_channels = 0;
		return 0;
	}
	p->nvls_heads = rs_arena_alloc(a, (size_t)p->n_nvls_heads * p->n_nodes, sizeof(uint32_t));
	if (!p->nvls_heads)
		return -ENOMEM;
	for (int h = 0; h < p->n_nvls_heads; h++)
		for (uint32_t node = 0; node < p->n_nodes; node++)
			p->nvls_heads[(uint32_t)h * p->n_nodes + node] =
				rank_of(p, node, p->nodes[node].class->heads[h]);
	for (int which = 0; which < 2 && p->n_nodes > 1; which++) {
		p->nvls_tree[which] = rs_arena_alloc(a, p->n_ranks, sizeof(struct rs_nccl_tree));
		if (!p->nvls_tree[which])
			return -ENOMEM;
	}
	make_nvls(p);
	return 0;
}

/* ---- How many ---- */

/* Channels from n on are those from 0 on again. */
static void copy_to(struct rs_nccl_plan *p, int end)
{
	int n = p->n_channels, max = nccl_channels_max(p->release);

	rs_assert(max <= RS_NCCL_CHANNELS_MAX && (n || end <= 0));
	for (int c = n; c < end && c < max; c++)
		p->channel[p->n_channels++] = p->channel[c - n];
}

/* RCCL's least: on one host four times the rings of an MI250; of two ranks of MI300X and later 16
 * times, of four 4 times; else twice (init.cc, allGather3Data's nc). */
static int rccl_least(const struct rs_nccl_plan *p)
{
	int rings = p->graph[RS_NCCL_ALGO_RING].n_channels;

	if (!p->rccl)
		return 0;
	if (p->gfx >= 940 && (p->n_ranks == 2 || p->n_ranks == 4))
		return rings * (p->n_ranks == 2 ? 16 : 4);
	return p->gfx == RS_NCCL_GFX90A && p->n_nodes == 1 ? 4 * rings : 0;
}

static void count(struct rs_nccl_plan *p)
{
	const struct rs_nccl_env *env = p->env;
	const struct rs_nccl_graph *ring = &p->graph[RS_NCCL_ALGO_RING];
	int max = nccl_channels_max(p->release);
	bool hopper = p->release >= RS_NCCL_RELEASE(2, 25, 0) ? p->min_cc >= 90 : p->min_cc == 90;
	bool few = p->release >= RS_NCCL_RELEASE(2, 20, 0) ? p->n_channels < 16
							   : 2 * p->n_channels <= max;
	const struct rs_nccl_graph *coll =
		&p->graph[p->release >= RS_NCCL_RELEASE(2, 22, 0) ? CHAIN : DIRECT];

	if (env->collnet && p->graph[CHAIN].n_channels && coll->bw_intra > coll->bw_inter &&
	    p->n_ranks > p->n_nodes) {
		copy_to(p, p->n_channels + p->n_channels / 2);
		few = p->release >= RS_NCCL_RELEASE(2, 20, 0) ? p->n_channels < 16
							      : 2 * p->n_channels <= max;
	}
	if (hopper && p->n_nodes > 1 && ring->bw_intra > 45.0f && few)
		copy_to(p, 2 * p->n_channels);
	if (env->max_channels != RS_NCCL_UNSET && env->max_channels < p->n_channels)
		p->n_channels = env->max_channels;
	copy_to(p, env->min_channels);
	copy_to(p, rccl_least(p));
	p->coll_channels = p->n_channels;
	/* fused operations may use as many as NVLS has */
	if (p->release >= RS_NCCL_RELEASE(2, 20, 0) && p->release < RS_NCCL_RELEASE(2, 28, 0))
		copy_to(p, p->nvls_channels);
}

int nccl_connect(struct rs_nccl_plan *p, int n, struct rs_arena *a)
{
	uint32_t *all = rs_arena_alloc(a, p->n_ranks, sizeof(*all));
	int max = nccl_channels_max(p->release), n_all = 2 * n < max ? 2 * n : max;

	rs_assert(n > 0 && n <= max);
	for (int c = 0; c < n_all; c++) {
		struct rs_nccl_channel *ch = &p->channel[c];

		ch->tree = rs_arena_alloc(a, p->n_ranks, sizeof(*ch->tree));
		ch->ring = c < n ? rs_arena_alloc(a, p->n_ranks, sizeof(*ch->ring))
				 : p->channel[c - n].ring;
		if (!all || !ch->tree || !ch->ring)
			return -ENOMEM;
		if (c < n)
			make_ring(p, c, n, ch->ring, all);
		make_tree(p, c % n, c / n, ch->tree);
	}
	p->n_channels = n_all;
	if (nvls_heads(p, a))
		return -ENOMEM;
	count(p);
	return 0;
}
