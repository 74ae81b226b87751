/*
 * NCCL's plan from the fabric's description: graphs, channels, rings and trees over the ranks'
 * GPUs. Hosts are taken as alike, as the first is.
 */
#include <errno.h>
#include <string.h>
#include "collective/nccl.h"

/* What a GPU is to NCCL: compute capability x 10, its NVLinks and what NCCL counts of each, GB/s.
 */
struct model {
	const char *name;
	int cc, links;
	double link;
};
enum { H100 = 7 }; /* of a GPU of which nothing is said */
static const struct model models[] = {
	{"GB300", 103, 18, 40.1}, {"GB200", 100, 18, 40.1},
	{"B300", 103, 18, 40.1},  {"B200", 100, 18, 40.1},
	{"GH200", 90, 18, 20.6},  {"H200", 90, 18, 20.6},
	{"H800", 90, 8, 20.6},    [H100] = {"H100", 90, 18, 20.6},
	{"H20", 90, 18, 20.6},    {"A800", 80, 8, 20},
	{"A100", 80, 12, 20},     {"V100", 70, 6, 20},
};

/* Of a channel, GB/s: what its search tries, from the greatest (graph/search.cc). */
static const float one_node[3][12] = {{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4},
				      {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
				      {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18}};
static const float many_nodes[2][18] = {
	{48, 45, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, .24f, .12f},
	{96, 48, 45.1f, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, .24f, .12f}};

struct sketch {
	struct planner *p;
	struct rs_nccl_plan *n;
	uint32_t local;  /* ranks of a node */
	uint32_t nics;   /* of the ranks of a node */
	uint32_t *owner; /* [NIC]: the first local rank that has it */
	double nvlink;   /* GB/s of a GPU; 0: none */
	double net;      /* GB/s of a NIC */
	bool nvswitch;
};

static const struct rs_host *inside_of(const struct sketch *s)
{
	return s->p->f->hosts[plan_host(s->p, 0)].inside;
}

static const struct model *find_model(const struct sketch *s)
{
	const struct rs_host *h = inside_of(s);
	int part = rs_fabric_rank_part(s->p->f, rs_collective_gpu(&s->p->c->conf, 0));
	const char *name = h && part >= 0 ? h->parts[part].model : NULL;
	int cc = h && part >= 0 ? h->parts[part].cc : 0;

	for (size_t i = 0; name && i < sizeof(models) / sizeof(*models); i++)
		if (strstr(name, models[i].name))
			return &models[i];
	for (size_t i = 0; cc && i < sizeof(models) / sizeof(*models); i++)
		if (models[i].cc <= cc)
			return &models[i];
	return &models[H100];
}

/* NVLinks of the first GPU: by what its links say, else as its model has. */
static int links_of(const struct sketch *s, const struct model *m)
{
	const struct rs_host *h = inside_of(s);
	int part = rs_fabric_rank_part(s->p->f, rs_collective_gpu(&s->p->c->conf, 0));
	int64_t each = (m->cc >= 100 ? 400 : 200) * RS_GBPS, rate = 0;

	for (int i = 0; h && i < h->n_xlinks; i++)
		if (h->xlinks[i].kind == RS_XLINK_NVLINK &&
		    (h->xlinks[i].a == part || h->xlinks[i].b == part))
			rate += h->xlinks[i].rate;
	return rate >= each ? (int)(rate / each) : m->links;
}

static void look_inside(struct sketch *s)
{
	const struct rs_host *h = inside_of(s);
	const struct model *m = find_model(s);
	const char *cpu = h ? h->cpu : NULL;
	bool any = !h;

	s->nvswitch = !h;
	for (int i = 0; h && i < h->n_xlinks; i++)
		any |= h->xlinks[i].kind == RS_XLINK_NVLINK;
	for (int i = 0; h && i < h->n_parts; i++)
		s->nvswitch |= h->parts[i].kind == RS_PART_NVSWITCH;
	s->nvlink = any ? links_of(s, m) * m->link : 0;
	s->n->min_cc = s->n->max_cc = m->cc;
	s->n->cpu_arch = RS_NCCL_X86;
	s->n->cpu_vendor = RS_NCCL_INTEL;
	for (const char *const *amd =
		     (const char *const[]){"rome", "milan", "genoa", "turin", NULL};
	     cpu && *amd; amd++)
		if (!strcmp(cpu, *amd))
			s->n->cpu_vendor = RS_NCCL_AMD;
}

/* Nodes are hosts; each must have as many ranks, one behind the other. */
static int look_at_ranks(struct sketch *s)
{
	struct planner *p = s->p;
	uint32_t n = p->c->n_ranks, *endpoint;

	while (s->local < n && plan_host(p, s->local) == plan_host(p, 0))
		s->local++;
	for (uint32_t r = 0; r < n; r++)
		if (n % s->local || plan_host(p, r) != plan_host(p, r - r % s->local)) {
			rs_error_set(p->e, -EINVAL, "NCCL's plan needs hosts of as many ranks");
			rs_error_hint(p->e, "name another algorithm, or place ranks host by host");
			return -EINVAL;
		}
	s->owner = plan_take(p, 2 * (size_t)s->local, sizeof(*s->owner));
	if (!s->owner)
		return -ENOMEM;
	endpoint = s->owner + s->local;
	for (uint32_t i = 0, k; i < s->local; i++) {
		uint32_t e = plan_endpoint(p, i);

		for (k = 0; k < s->nics && endpoint[k] != e; k++)
			;
		if (k == s->nics) {
			endpoint[k] = e;
			s->owner[s->nics++] = i;
		}
	}
	s->net = (double)p->f->endpoints[endpoint[0]].rate / 8e9;
	s->n->n_ranks = n;
	s->n->max_local_ranks = s->local;
	s->n->n_nodes = n / s->local;
	return 0;
}

/* ---- Graphs ---- */

/* The farthest way from a GPU at which a channel enters to its NIC. */
static enum rs_nccl_path way_to_nic(const struct sketch *s)
{
	static const enum rs_nccl_path of[] = {
		[RS_DIST_SELF] = RS_NCCL_PIX, [RS_DIST_NVLINK] = RS_NCCL_PIX,
		[RS_DIST_PIX] = RS_NCCL_PIX,  [RS_DIST_PXB] = RS_NCCL_PXB,
		[RS_DIST_PHB] = RS_NCCL_PHB,  [RS_DIST_NODE] = RS_NCCL_PHB,
		[RS_DIST_SYS] = RS_NCCL_SYS,  [RS_DIST_UNKNOWN] = RS_NCCL_PIX,
	};
	const struct rs_fabric *f = s->p->f;
	enum rs_nccl_path worst = RS_NCCL_PIX;

	for (uint32_t i = 0; inside_of(s) && i < s->nics; i++) {
		uint32_t gpu = rs_collective_gpu(&s->p->c->conf, s->owner[i]);
		int a = rs_fabric_rank_part(f, gpu);
		int b = f->endpoints[plan_endpoint(s->p, s->owner[i])].part;
		enum rs_nccl_path way;

		if (a < 0 || b < 0)
			continue;
		way = of[rs_host_distance(inside_of(s), a, b)];
		worst = way > worst ? way : worst;
	}
	return worst;
}

static void search(const struct sketch *s, struct rs_nccl_graph *g)
{
	bool one = s->n->n_nodes == 1;
	int cc = s->n->min_cc;
	const float *speed = one ? one_node[cc >= 100 ? 2 : cc >= 90] : many_nodes[cc >= 100];
	double inside = s->nvlink > 0 ? s->nvlink : 12, best = 0;

	*g = (struct rs_nccl_graph){.pattern = RS_NCCL_RING, .same_channels = true};
	g->type_intra = s->nvlink > 0 ? RS_NCCL_NVL : RS_NCCL_PHB;
	g->type_inter = one ? RS_NCCL_PIX : way_to_nic(s);
	for (; *speed > 0; speed++) {
		int n = one ? (int)(inside / *speed) : (int)s->nics;

		if ((double)*speed > (one ? inside : s->net) || n < 1)
			continue;
		/* a ring leaves by a NIC at one GPU of a node: one hop fewer than GPUs */
		if (one && n * (double)*speed > inside)
			n = (int)(inside / *speed);
		else if (!one && s->local > 1 &&
			 n * (double)*speed * (s->local - 1) > inside * s->local)
			n = (int)(inside * s->local / (s->local - 1) / *speed);
		if (n * (double)*speed <= best)
			continue;
		best = n * (double)*speed;
		g->n_channels = n;
		g->bw_intra = g->bw_inter = *speed;
		if (!one || best > .95 * inside)
			break;
	}
	if (!g->n_channels) { /* as when a search finds nothing */
		g->n_channels = 1;
		g->bw_intra = g->bw_inter = .1f;
	}
	if (g->bw_intra >= 25 && !(cc > 80 && g->bw_intra < 50 && g->n_channels > 4)) {
		g->n_channels *= 2;
		g->bw_intra /= 2;
		g->bw_inter /= 2;
	}
}

static void set_graphs(struct sketch *s)
{
	struct rs_nccl_plan *n = s->n;
	struct rs_nccl_graph g, *nvls = &n->graph[RS_NCCL_ALGO_NVLS];

	search(s, &g);
	for (int a = 0; a < RS_NCCL_ALGOS; a++)
		n->graph[a] = g;
	n->max_tree_pattern = s->local == 1 ? RS_NCCL_TREE : RS_NCCL_BALANCED_TREE;
	n->graph[RS_NCCL_ALGO_TREE].pattern = n->max_tree_pattern;
	if (s->local == 1)
		n->graph[RS_NCCL_ALGO_TREE].bw_intra *= 2;
	n->n_channels = 2 * g.n_channels;
	if (n->min_cc >= 90 && n->n_nodes > 1 && g.bw_intra > 45 && n->n_channels < 16)
		n->n_channels *= 2;
	n->n_channels = n->n_channels > 32 ? 32 : n->n_channels;
	n->coll_channels = n->n_channels;
	nvls->n_channels = 0;
	if (n->min_cc >= 90 && s->nvswitch && s->local > 2) {
		float most = (float)(s->nvlink / (s->local + 1));

		nvls->n_channels = (int)(s->local > 32 ? 32 : s->local);
		nvls->bw_intra = n->min_cc >= 100 ? most : most >= 40 ? 40 : most;
		if (n->n_nodes == 1)
			nvls->bw_inter = nvls->bw_intra;
		n->nvls_channels = n->min_cc >= 100 ? 32 : 16;
	}
	n->graph[RS_NCCL_ALGO_NVLS_TREE] = *nvls;
	n->nvswitch = s->nvswitch;
	n->all_nvlink = s->nvlink > 0;
}

/* ---- Channels ---- */

/* On a node channel c enters at one NIC's GPU and leaves at its pair's: alternate nodes swap them,
 * so that a link between nodes stays on its rail (n02 and n03 of docs/nccl.md). */
static void order_node(const struct sketch *s, uint32_t channel, uint32_t node, uint32_t *order)
{
	uint32_t c = channel % (uint32_t)s->n->graph[RS_NCCL_ALGO_RING].n_channels;
	uint32_t a, b, in, out, k = 0, nic = c % s->nics;
	bool back = c & 1;

	if (s->nics % 2 == 0 && node & 1) {
		nic ^= 1;
		back = !back;
	}
	a = s->owner[nic];
	b = s->nics % 2 ? a : s->owner[nic ^ 1];
	in = s->n->n_nodes > 1 ? a : 0;
	out = s->n->n_nodes > 1 ? b : in;
	order[k++] = in;
	for (uint32_t i = 1; i < s->local; i++) {
		uint32_t g = (in + (back ? i : s->local - i)) % s->local;

		if (g != out && g != in)
			order[k++] = g;
	}
	if (out != in)
		order[k++] = out;
	for (uint32_t i = 0; i < s->local; i++)
		order[i] += node * s->local;
}

/* The first of the double binary trees over n nodes; -1: none. */
static int32_t above(uint32_t r, uint32_t n)
{
	uint32_t bit = r & -r, up = (r ^ bit) | bit << 1;

	return !r ? -1 : (int32_t)(up < n ? up : r ^ bit);
}

/* Of the second tree: mirrored, or shifted by one where they are odd. */
static int32_t rename_node(uint32_t r, uint32_t n, bool second, bool back)
{
	if (!second)
		return (int32_t)r;
	if (n % 2 == 0)
		return (int32_t)(n - 1 - r);
	return (int32_t)(back ? (r + 1) % n : (r + n - 1) % n);
}

static int32_t node_above(uint32_t node, uint32_t n, bool second)
{
	int32_t up = above((uint32_t)rename_node(node, n, second, false), n);

	return up < 0 ? -1 : rename_node((uint32_t)up, n, second, true);
}

static void hang(struct rs_nccl_tree *tree, uint32_t child, uint32_t parent)
{
	tree[child].up = (int32_t)parent;
	for (int k = 0; k < RS_NCCL_TREE_ARITY; k++)
		if (tree[parent].down[k] < 0) {
			tree[parent].down[k] = (int32_t)child;
			return;
		}
}

static void clear_tree(struct rs_nccl_tree *tree, uint32_t n)
{
	for (uint32_t r = 0; r < n; r++)
		tree[r] = (struct rs_nccl_tree){-1, {-1, -1, -1}};
}

/* A chain on each node; its parent is above the first, children hang at the first and second. */
static void make_tree(struct sketch *s, uint32_t channel, struct rs_nccl_tree *tree)
{
	const struct rs_nccl_plan *n = s->n;
	const uint32_t *ring = n->channel[channel].ring;
	bool second = channel >= (uint32_t)n->graph[RS_NCCL_ALGO_TREE].n_channels;
	uint32_t *kids = s->p->scratch;

	clear_tree(tree, n->n_ranks);
	memset(kids, 0, n->n_nodes * sizeof(*kids));
	for (uint32_t r = 0; r < n->n_ranks; r++)
		if (r % s->local)
			hang(tree, ring[r], ring[r - 1]);
	for (uint32_t k = 0; k < n->n_nodes; k++) {
		int32_t up = node_above(k, n->n_nodes, second);
		uint32_t at;

		if (up < 0)
			continue;
		at = (uint32_t)up * s->local + (kids[up]++ == 0 && s->local > 1);
		hang(tree, ring[k * s->local], ring[at]);
	}
}

static void make_nvls_tree(struct sketch *s, bool second, struct rs_nccl_tree *tree)
{
	clear_tree(tree, s->n->n_ranks);
	for (uint32_t k = 0; k < s->n->n_nodes; k++) {
		int32_t up = node_above(k, s->n->n_nodes, second);

		for (uint32_t h = 0; up >= 0 && h < s->local; h++)
			hang(tree, k * s->local + h, (uint32_t)up * s->local + h);
	}
}

static int make_channels(struct sketch *s)
{
	struct rs_nccl_plan *n = s->n;

	for (uint32_t c = 0; c < (uint32_t)n->n_channels; c++) {
		struct rs_nccl_channel *ch = &n->channel[c];

		ch->ring = plan_take(s->p, n->n_ranks, sizeof(*ch->ring));
		ch->tree = plan_take(s->p, n->n_ranks, sizeof(*ch->tree));
		if (!ch->ring || !ch->tree)
			return -ENOMEM;
		for (uint32_t k = 0; k < n->n_nodes; k++)
			order_node(s, c, k, ch->ring + k * s->local);
		make_tree(s, c, ch->tree);
	}
	n->n_nvls_heads = n->graph[RS_NCCL_ALGO_NVLS].n_channels;
	n->nvls_heads = plan_take(s->p, n->n_ranks, sizeof(*n->nvls_heads));
	for (int i = 0; i < 2; i++) {
		n->nvls_tree[i] = plan_take(s->p, n->n_ranks, sizeof(*n->nvls_tree[i]));
		if (!n->nvls_tree[i] || !n->nvls_heads)
			return -ENOMEM;
		make_nvls_tree(s, i, n->nvls_tree[i]);
	}
	for (int h = 0; h < n->n_nvls_heads; h++)
		for (uint32_t k = 0; k < n->n_nodes; k++)
			n->nvls_heads[(uint32_t)h * n->n_nodes + k] =
				(int32_t)(k * s->local + (uint32_t)h);
	return 0;
}

int nccl_plan(struct planner *p, uint32_t release, struct rs_nccl_plan **out)
{
	struct sketch s = {.p = p};
	int err;

	s.n = *out = plan_take(p, 1, sizeof(*s.n));
	if (!s.n)
		return -ENOMEM;
	s.n->release = release;
	err = look_at_ranks(&s);
	if (err)
		return err;
	look_inside(&s);
	set_graphs(&s);
	return make_channels(&s);
}
