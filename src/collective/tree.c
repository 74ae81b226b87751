/*
 * Double binary tree (Sanders, Speck, Träff 2009) over hosts: each tree carries half of the data,
 * and the leaves of one are inner hosts of the other. Inside a host a chain leads to the GPU in the
 * tree; both trees of a channel use the same one, and its NIC. A lane goes up reducing, a lane goes
 * down; broadcast has one tree and goes down only.
 */
#include <errno.h>
#include "collective/plan.h"

struct tree_plan {
	struct piece all;
	uint64_t chunk;
	uint32_t hosts, trees;   /* trees of a channel */
	const uint32_t *host_of; /* [rank]: host's place among those used */
	const uint32_t *first;   /* [host]: its first rank; one more than hosts */
	const uint32_t *head;    /* [host][channel]: which of its GPUs is in the trees */
	uint64_t down_conns;
	uint64_t ahead; /* chunks that a head may have sent up and not seen come down */
};

/* Who is above and below a rank; the root is its own parent. */
struct place {
	uint32_t parent, n_children, child[RS_STEP_FAN];
	bool head; /* of its host */
};

/* A host's parent in the first tree: its lowest set bit moves up by one, or away past the end. */
static uint32_t above(uint32_t h, uint32_t n)
{
	uint32_t low = h & -h, up = (h ^ low) | low << 1;

	return up < n ? up : h ^ low;
}

/* Its children: half the lowest bit down, and up as far as there are hosts; 0's only one is the
 * highest power of two. */
static uint32_t below(uint32_t h, uint32_t n, uint32_t child[2])
{
	uint32_t low = h & -h, k = 0;

	if (!h) {
		for (low = 1; low < n; low <<= 1)
			;
		if (n > 1)
			child[k++] = low >> 1;
		return k;
	}
	if (low > 1)
		child[k++] = h - low / 2;
	for (uint32_t b = low / 2; b; b /= 2)
		if (h + b < n) {
			child[k++] = h + b;
			break;
		}
	rs_assert(k <= 2);
	return k;
}

/* The second tree is the first with hosts renamed: mirrored, or shifted by one when they are odd.
 */
static uint32_t rename_host(const struct tree_plan *t, uint32_t tree, uint32_t h, bool back)
{
	if (!(tree & 1))
		return h;
	if (t->hosts & 1)
		return back ? (h + 1) % t->hosts : (h + t->hosts - 1) % t->hosts;
	return t->hosts - 1 - h;
}

/* The GPU of a host that is in a tree: another one each channel, for its NIC; the same in both
 * trees of a channel. A host that is inner in one is a leaf in the other, so that what a NIC
 * carries for both is alike everywhere. */
static uint32_t head(const struct rs_coll *c, uint32_t slot, uint32_t host)
{
	const struct tree_plan *t = c->plan;

	return t->first[host] + t->head[(size_t)host * c->conf.channels + slot / t->trees];
}

/* Where the chain inside a host begins. A broadcast's begins at its root, which may not be in the
 * tree itself. */
static uint32_t chain_top(const struct rs_coll *c, uint32_t slot, uint32_t host)
{
	const struct tree_plan *t = c->plan;

	return t->trees == 1 && !host ? 0 : head(c, slot, host);
}

static struct place place_of(const struct rs_coll *c, uint32_t rank, uint32_t slot)
{
	const struct tree_plan *t = c->plan;
	uint32_t host = t->host_of[rank], top = chain_top(c, slot, host), tree = slot % t->trees;
	uint32_t start = t->first[host], gpus = t->first[host + 1] - start;
	uint32_t along = (rank + gpus - top) % gpus, h = rename_host(t, tree, host, false);
	struct place p = {.parent = rank};
	uint32_t child[2], n;

	if (along + 1 < gpus)
		p.child[p.n_children++] = start + (rank - start + 1) % gpus;
	if (along)
		p.parent = start + (rank - start + gpus - 1) % gpus;
	else if (h)
		p.parent = head(c, slot, rename_host(t, tree, above(h, t->hosts), true));
	p.head = rank == head(c, slot, host);
	if (!p.head)
		return p;
	n = below(h, t->hosts, child);
	rs_assert(p.n_children + n <= RS_STEP_FAN);
	for (uint32_t i = 0; i < n; i++)
		p.child[p.n_children++] = head(c, slot, rename_host(t, tree, child[i], true));
	return p;
}

/* Connections are numbered by the end that is lower in the tree: all ranks but the root. */
static uint64_t conn_of(const struct rs_coll *c, uint32_t slot, uint32_t lower)
{
	const struct tree_plan *t = c->plan;
	uint32_t root = chain_top(c, slot, rename_host(t, slot % t->trees, 0, true));

	rs_assert(lower != root && lower < c->n_ranks); /* nothing is above a root */
	return (uint64_t)slot * (c->n_ranks - 1) + lower - (lower > root);
}

static struct piece part_of(const struct rs_coll *c, uint32_t slot)
{
	const struct tree_plan *t = c->plan;

	return piece_part(t->all, (uint64_t)c->conf.channels * t->trees, slot);
}

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	const struct tree_plan *t = c->plan;

	return ceil_div(part_of(c, lane / t->trees).n, t->chunk);
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct tree_plan *t = c->plan;
	uint32_t slot = lane / t->trees; /* with two trees, two lanes; with one, one */
	bool up = t->trees == 2 && !(lane & 1);
	struct place at = place_of(c, rank, slot);
	struct piece p = piece_chunk(part_of(c, slot), t->chunk, i);

	*out = (struct rs_step){0};
	for (uint32_t k = 0; k < at.n_children; k++)
		if (up)
			step_recv(c, out, conn_of(c, slot, at.child[k]), p, true);
		else
			step_send(c, out, t->down_conns + conn_of(c, slot, at.child[k]), p);
	/* Two children that send as they please to one parent do not keep step: the one that is
	 * ahead takes the parent's port from the other, whose chunk is the next that is needed. */
	if (up && at.head && i >= t->ahead)
		step_wait(out, lane + 1, i - t->ahead + 1);
	if (up && at.parent != rank)
		step_send(c, out, conn_of(c, slot, rank), p);
	else if (!up && at.parent != rank)
		step_recv(c, out, t->down_conns + conn_of(c, slot, rank), p, false);
	else if (!up && t->trees == 2)
		step_wait(out, lane - 1, i + 1);
}

static int find_hosts(struct planner *p, struct tree_plan *t)
{
	uint32_t n = p->c->n_ranks;
	uint32_t *host_of = plan_take(p, n, sizeof(*host_of));
	uint32_t *first = plan_take(p, n + 1u, sizeof(*first));

	if (!host_of || !first)
		return -ENOMEM;
	for (uint32_t r = 0; r < n; r++) {
		if (!r || plan_host(p, r) != plan_host(p, r - 1))
			first[t->hosts++] = r;
		host_of[r] = t->hosts - 1;
	}
	first[t->hosts] = n;
	t->host_of = host_of;
	t->first = first;
	/* one on each level of the way up and down, and what connections hold */
	t->ahead = p->c->conf.slots;
	for (uint32_t h = t->hosts - 1; h; h >>= 1)
		t->ahead += 2;
	return 0;
}

static int choose_heads(struct planner *p, struct tree_plan *t)
{
	uint32_t channels = p->c->conf.channels, gpus;
	uint32_t *at = plan_take(p, (size_t)t->hosts * channels, sizeof(*at));
	uint32_t *ranks = plan_take(p, p->c->n_ranks, sizeof(*ranks));

	if (!at || !ranks)
		return -ENOMEM;
	for (uint32_t r = 0; r < p->c->n_ranks; r++)
		ranks[r] = r;
	for (uint32_t h = 0; h < t->hosts; h++) {
		gpus = t->first[h + 1] - t->first[h];
		plan_entries(p, ranks + t->first[h], gpus, 0, at + (size_t)h * channels);
	}
	t->head = at;
	return 0;
}

int plan_tree(struct planner *p)
{
	struct rs_coll *c = p->c;
	struct tree_plan *t = plan_take(p, 1, sizeof(*t));
	uint32_t slots;
	int err;

	if (!t)
		return -ENOMEM;
	t->all = p->all;
	t->chunk = p->chunk;
	t->trees = c->conf.op == RS_COLL_BROADCAST ? 1 : 2;
	slots = c->conf.channels * t->trees;
	t->down_conns = t->trees == 2 ? (uint64_t)slots * (c->n_ranks - 1) : 0;
	c->plan = t;
	err = find_hosts(p, t);
	if (!err)
		err = choose_heads(p, t);
	if (!err)
		err = plan_conns(p, (uint64_t)slots * (c->n_ranks - 1) * t->trees);
	if (err)
		return err;
	for (uint32_t s = 0; s < slots; s++)
		for (uint32_t r = 0; r < c->n_ranks; r++) {
			uint32_t parent = place_of(c, r, s).parent;

			if (parent == r)
				continue;
			plan_connect(p, t->down_conns + conn_of(c, s, r), parent, r, s / t->trees);
			if (t->trees == 2)
				plan_connect(p, conn_of(c, s, r), r, parent, s / t->trees);
		}
	c->n_lanes = slots * t->trees;
	c->n_steps = n_steps;
	c->step = step;
	return 0;
}
