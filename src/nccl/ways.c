/* Paths: breadth first from each GPU, NIC, NVSwitch and CPU, then what P2P, GPUDirect and PXN make
 * of them (graph/paths.cc); which NIC is a GPU's (graph/topo.cc, ncclTopoGetLocal...). */
#include <errno.h>
#include <string.h>
#include "nccl/graph.h"

static const enum kind bases[] = {CPU, GPU, NET, NVS};

static bool ways_to(struct rs_nccl_topo *t, struct node *n, enum kind kind)
{
	if (n->ways[kind] || !t->n[kind])
		return true;
	n->ways[kind] = rs_arena_alloc(t->arena, (size_t)t->n[kind], sizeof(struct way));
	for (int i = 0; n->ways[kind] && i < t->n[kind]; i++)
		n->ways[kind][i].class = RS_NCCL_DIS;
	return n->ways[kind];
}

static struct link *reverse(struct node *from, const struct node *to, enum rs_nccl_path class)
{
	for (int i = 0; i < from->n_links; i++)
		if (from->links[i].to == to && from->links[i].class == class)
			return &from->links[i];
	return NULL;
}

/* The class of a path that goes on over a link: path->class or worse. */
static enum rs_nccl_path class_over(const struct node *n, const struct way *way,
				    const struct link *l, int hops)
{
	enum rs_nccl_path c = l->class == RS_NCCL_NET ? RS_NCCL_LOC : l->class;

	if (n->kind == PCI && l->to->kind == PCI)
		c = RS_NCCL_PXB;
	if (l->class == RS_NCCL_PIX && (n->kind == CPU || l->to->kind == CPU))
		c = RS_NCCL_PHB;
	if (n->kind == GPU && way->class == RS_NCCL_NVL && c == RS_NCCL_NVL && hops > 1)
		c = RS_NCCL_NVB;
	return way->class > c ? way->class : c;
}

/* From 2.30.7 on the nearer class comes first, then the bandwidth, then the hops. */
static bool is_better(const struct rs_nccl_topo *t, const struct way *now, enum rs_nccl_path class,
		      float bw, int hops)
{
	if (t->env->release < RS_NCCL_RELEASE(2, 30, 7))
		return (now->bw == 0 || now->n >= hops) && now->bw < bw;
	if (now->bw == 0 || class != now->class)
		return now->bw == 0 || class < now->class;
	return now->bw < bw || (now->bw == bw && now->n > hops);
}

/* Is the neighbour better reached over node n? Then it is set so. -1: no memory. */
static int relax(struct rs_nccl_topo *t, const struct node *base, struct node *n, struct link *l)
{
	const struct way *way = &n->ways[base->kind][base->index];
	struct node *to = l->to;
	struct way *w;
	struct link *back;
	float bw = way->bw < l->bw ? way->bw : l->bw;

	if (!ways_to(t, to, base->kind))
		return -1;
	/* over a GPU only as one hop of NVLink */
	if (n != base && n->kind == GPU &&
	    (t->env->nvb_disable || l->class != RS_NCCL_NVL || to->kind != GPU || way->n > 1))
		return 0;
	w = &to->ways[base->kind][base->index];
	if (!is_better(t, w, class_over(n, way, l, way->n + 1), bw, way->n + 1))
		return 0;
	back = reverse(to, n, l->class);
	if (!back || way->n + 1 > HOPS_MAX)
		return 0; /* an NVLink that only one side tells of */
	w->hop = rs_arena_alloc(t->arena, (size_t)way->n + 1, sizeof(struct link *));
	if (!w->hop)
		return -1;
	w->hop[0] = back;
	if (way->n)
		memcpy(w->hop + 1, way->hop, (size_t)way->n * sizeof(struct link *));
	w->n = way->n + 1;
	w->bw = bw;
	w->class = class_over(n, way, l, w->n);
	return 1;
}

struct front {
	struct node **list;
	int n;
};

static void front_add(struct front *f, struct node *n)
{
	for (int i = 0; i < f->n; i++)
		if (f->list[i] == n)
			return;
	f->list[f->n++] = n;
}

static int spread(struct rs_nccl_topo *t, struct node *base, struct front *now, struct front *next)
{
	struct way *own;

	if (!ways_to(t, base, base->kind))
		return -ENOMEM;
	own = &base->ways[base->kind][base->index];
	*own = (struct way){0, RS_NCCL_LOC, LOC_BW, NULL};
	now->n = 0;
	front_add(now, base);
	while (now->n) {
		struct front f;

		next->n = 0;
		for (int i = 0; i < now->n; i++)
			for (int k = 0; k < now->list[i]->n_links; k++) {
				int r = relax(t, base, now->list[i], &now->list[i]->links[k]);

				if (r < 0)
					return -ENOMEM;
				if (r)
					front_add(next, now->list[i]->links[k].to);
			}
		f = *now;
		*now = *next;
		*next = f;
	}
	return 0;
}

int nccl_local_cpu(const struct rs_nccl_topo *t, int gpu)
{
	const struct way *ways = t->nodes[GPU][gpu].ways[CPU];
	int found = -1, near[RS_NCCL_GPUS_MAX];

	if (t->env->release >= RS_NCCL_RELEASE(2, 30, 7) && t->n[CPU] <= RS_NCCL_GPUS_MAX)
		return nccl_nearest(&t->nodes[GPU][gpu], CPU, t->n[CPU], near, NULL) ? near[0] : -1;
	for (int c = 0; c < t->n[CPU]; c++)
		if (ways[c].n > 0 && (found < 0 || ways[c].n < ways[found].n))
			found = c;
	return found;
}

static enum rs_nccl_path merged(const struct rs_nccl_topo *t, enum rs_nccl_path a,
				enum rs_nccl_path b)
{
	enum rs_nccl_path max = a > b ? a : b, min = a > b ? b : a;

	if (t->env->release >= RS_NCCL_RELEASE(2, 27, 5) && max == RS_NCCL_PHB &&
	    min == RS_NCCL_C2C)
		return RS_NCCL_P2C;
	return max;
}

/* From a to b over c. */
static int over(struct rs_nccl_topo *t, struct node *a, struct node *c, struct node *b)
{
	const struct way *first = &a->ways[c->kind][c->index], *then = &c->ways[b->kind][b->index];
	struct way *w = &a->ways[b->kind][b->index];
	struct link **hop =
		rs_arena_alloc(t->arena, (size_t)(first->n + then->n) + 1, sizeof(*hop));

	if (!hop)
		return -ENOMEM;
	if (first->n)
		memcpy(hop, first->hop, (size_t)first->n * sizeof(*hop));
	if (then->n)
		memcpy(hop + first->n, then->hop, (size_t)then->n * sizeof(*hop));
	*w = (struct way){.n = first->n + then->n,
			  .class = c->kind == GPU ? RS_NCCL_PXN
						  : merged(t, first->class, then->class),
			  .bw = first->bw < then->bw ? first->bw : then->bw,
			  .hop = hop};
	return 0;
}

bool nccl_p2p_allowed(const struct rs_nccl_topo *t, int from, int to)
{
	const struct node *cpu = t->nodes[CPU];
	int level = RS_NCCL_PXB;

	if (cpu->arch == RS_NCCL_X86 && cpu->vendor == RS_NCCL_AMD && t->n[GPU] <= 2)
		level = RS_NCCL_SYS;
	if (t->env->p2p_level != RS_NCCL_UNSET)
		level = t->env->p2p_level;
	return (int)t->nodes[GPU][from].ways[GPU][to].class <= level;
}

int nccl_proxy_gpu(const struct rs_nccl_topo *t, int gpu, int net)
{
	const struct way *w = &t->nodes[GPU][gpu].ways[NET][net];

	if (w->class != RS_NCCL_PXN)
		return gpu;
	for (int i = 0; i < w->n; i++)
		if (w->hop[i]->to->kind == GPU)
			return w->hop[i]->to->index;
	return gpu;
}

static bool has_nvlink(const struct rs_nccl_topo *t, int gpu)
{
	if (t->n[GPU] == 1)
		return true;
	for (int i = 0; i < t->n[GPU]; i++)
		if (i != gpu && t->nodes[GPU][gpu].ways[GPU][i].class == RS_NCCL_NVL)
			return true;
	return false;
}

bool nccl_gdr_allowed(const struct rs_nccl_topo *t, int gpu, int net, bool read)
{
	const struct rs_nccl_env *env = t->env;
	const struct node *g = &t->nodes[GPU][gpu];
	int level = env->gdr_level != RS_NCCL_UNSET ? env->gdr_level : RS_NCCL_PXB;
	bool any_cc = env->release < RS_NCCL_RELEASE(2, 19, 0);
	enum rs_nccl_path class;

	if (!t->nodes[NET][net].gdr || !g->gdr)
		return false;
	if (read && (env->gdr_read == 0 ||
		     (env->gdr_read < 0 && (any_cc || g->cc < 80) && !has_nvlink(t, gpu))))
		return false;
	class = t->nodes[GPU][nccl_proxy_gpu(t, gpu, net)].ways[NET][net].class;
	if (env->gdr_c2c && class == RS_NCCL_P2C)
		class = RS_NCCL_C2C;
	return (int)class <= level;
}

bool nccl_net_is_faster(const struct rs_nccl_topo *t, int a, int b)
{
	const int gpu[] = {a, b};
	float speed = t->nodes[GPU][a].ways[GPU][b].bw;

	if (t->env->net_disable_intra)
		return false;
	for (int i = 0; i < 2; i++) {
		float best = 0;

		for (int n = 0; n < t->n[NET]; n++) {
			const struct way *w = &t->nodes[GPU][gpu[i]].ways[NET][n];

			if (w->class <= RS_NCCL_PXB && w->bw > best)
				best = w->bw;
		}
		if (!(best > speed))
			return false;
	}
	return true;
}

int nccl_nearest(const struct node *from, enum kind kind, int n, int *found,
		 enum rs_nccl_path *class)
{
	const struct way *w = from->ways[kind];
	enum rs_nccl_path best = RS_NCCL_DIS;
	float bw = 0;
	int count = 0;

	for (int i = 0; w && i < n; i++) {
		if (w[i].bw > bw || (w[i].bw == bw && w[i].class < best)) {
			bw = w[i].bw;
			best = w[i].class;
			count = 0;
		}
		if (w[i].bw == bw && w[i].class == best)
			found[count++] = i;
	}
	if (class)
		*class = best;
	return count;
}

/* The low bits of v, as many as n has, in the other order: n is a power of two. */
static int mirrored(int v, int n)
{
	int out = 0;

	for (int bit = 1, mirror = n >> 1; mirror; bit <<= 1, mirror >>= 1)
		if (v & bit)
			out |= mirror;
	return out;
}

int nccl_local_net(const struct rs_nccl_topo *t, int gpu, int channel)
{
	int nets[RS_NCCL_GPUS_MAX], gpus[RS_NCCL_GPUS_MAX], n, n_gpus, at;

	n = nccl_nearest(&t->nodes[GPU][gpu], NET, t->n[NET], nets, NULL);
	if (!n)
		return -1;
	n_gpus = nccl_nearest(&t->nodes[NET][nets[0]], GPU, t->n[GPU], gpus, NULL);
	at = t->nodes[GPU][gpu].dev;
	if (n_gpus && t->env->release >= RS_NCCL_RELEASE(2, 30, 7))
		at %= n_gpus;
	if (!(n & (n - 1)))
		at = mirrored(at, n);
	if (n_gpus)
		at += channel % ((n + n_gpus - 1) / n_gpus);
	return nets[at % n];
}

int nccl_local_gpu(const struct rs_nccl_topo *t, int net)
{
	int gpus[RS_NCCL_GPUS_MAX];
	int n = nccl_nearest(&t->nodes[NET][net], GPU, t->n[GPU], gpus, NULL);
	int all = t->env->release < RS_NCCL_RELEASE(2, 19, 0) ? t->n[GPU] : 0;

	for (int c = 0; c < nccl_channels_max(t->env->release); c++)
		for (int i = 0; i < (all ? all : n); i++)
			if (nccl_local_net(t, all ? i : gpus[i], c) == net)
				return all ? i : gpus[i];
	return -1;
}

/* Without P2P a GPU's traffic goes over the CPU of the one that it goes to. */
static int ways_without_p2p(struct rs_nccl_topo *t)
{
	for (int to = 0; to < t->n[GPU]; to++)
		for (int from = 0; from < t->n[GPU]; from++) {
			int cpu = nccl_p2p_allowed(t, from, to) ? -1 : nccl_local_cpu(t, to);

			if (cpu >= 0 &&
			    over(t, &t->nodes[GPU][from], &t->nodes[CPU][cpu], &t->nodes[GPU][to]))
				return -ENOMEM;
		}
	return 0;
}

/* From 2.29 on it is so of the nearest NICs alone: to others a GPU beside them is better. */
static bool is_among(const int *near, int n, int net)
{
	for (int i = 0; i < n; i++)
		if (near[i] == net)
			return true;
	return false;
}

/* A NIC by the CPU that the GPU is coherent with. */
static void ways_by_c2c(struct rs_nccl_topo *t)
{
	bool merge = t->env->release >= RS_NCCL_RELEASE(2, 27, 5);

	if (t->env->release < RS_NCCL_RELEASE(2, 27, 0))
		return;
	for (int g = 0; g < t->n[GPU]; g++) {
		struct node *gpu = &t->nodes[GPU][g];
		int c = nccl_local_cpu(t, g), near[RS_NCCL_GPUS_MAX];
		int n_near = nccl_nearest(gpu, NET, t->n[NET], near, NULL);

		for (int n = 0; n < t->n[NET]; n++) {
			struct node *net = &t->nodes[NET][n];
			struct way *there = &gpu->ways[NET][n], *back = &net->ways[GPU][g];

			if (c < 0 || (t->env->release >= RS_NCCL_RELEASE(2, 29, 0) &&
				      !is_among(near, n_near, n)))
				continue;
			if (merge) {
				if (merged(t, gpu->ways[CPU][c].class, net->ways[CPU][c].class) !=
				    RS_NCCL_P2C)
					continue;
				if (there->class > RS_NCCL_P2C)
					there->class = RS_NCCL_P2C;
				if (back->class > RS_NCCL_P2C)
					back->class = RS_NCCL_P2C;
			} else if (there->class == RS_NCCL_PHB &&
				   gpu->ways[CPU][c].class == RS_NCCL_C2C) {
				there->class = back->class = RS_NCCL_P2C;
			}
		}
	}
}

static bool pxn_helps(const struct rs_nccl_topo *t, int peer, int gpu, int net)
{
	const struct node *p = &t->nodes[GPU][peer];
	const struct way *own = &t->nodes[GPU][gpu].ways[NET][net];
	bool newer = t->env->release >= RS_NCCL_RELEASE(2, 27, 5);

	if (t->env->release >= RS_NCCL_RELEASE(2, 30, 0) && !nccl_gdr_allowed(t, peer, net, true))
		return false;
	return p->ways[NET][net].class <= (t->env->pxn_c2c ? RS_NCCL_P2C : RS_NCCL_PXB) &&
	       p->ways[GPU][gpu].class <= RS_NCCL_NVL &&
	       (p->ways[NET][net].bw > own->bw || own->class > (newer ? RS_NCCL_PXN : RS_NCCL_PXB));
}

static int way_to_net(struct rs_nccl_topo *t, int gpu, int net)
{
	struct node *g = &t->nodes[GPU][gpu], *n = &t->nodes[NET][net];
	bool far = t->env->release < RS_NCCL_RELEASE(2, 21, 0);
	int cpu, peer;

	if (!t->env->pxn_disable) {
		peer = nccl_local_gpu(t, net);
		if (peer != gpu && peer >= 0 && pxn_helps(t, peer, gpu, net) &&
		    over(t, g, &t->nodes[GPU][peer], n))
			return -ENOMEM;
	}
	if ((far || g->ways[NET][net].class < RS_NCCL_PHB) &&
	    !nccl_gdr_allowed(t, gpu, net, false)) {
		cpu = nccl_local_cpu(t, gpu);
		if (cpu >= 0 &&
		    (over(t, n, &t->nodes[CPU][cpu], g) || over(t, g, &t->nodes[CPU][cpu], n)))
			return -ENOMEM;
	}
	return 0;
}

/* What no path reaches is disconnected, with a way of no hops. */
static bool all_ways(struct rs_nccl_topo *t)
{
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < t->n[k]; i++)
			for (int b = 0; b < 4; b++)
				if (!ways_to(t, &t->nodes[k][i], bases[b]))
					return false;
	return true;
}

int nccl_topo_ways(struct rs_nccl_topo *t)
{
	struct front now, next;
	size_t all = 1;

	for (int k = 0; k < KINDS; k++)
		all += (size_t)t->n[k];
	now.list = rs_arena_alloc(t->arena, all, sizeof(*now.list));
	next.list = rs_arena_alloc(t->arena, all, sizeof(*next.list));
	if (!now.list || !next.list || !all_ways(t))
		return -ENOMEM;
	for (int b = 0; b < 4; b++)
		for (int i = 0; i < t->n[bases[b]]; i++)
			if (spread(t, &t->nodes[bases[b]][i], &now, &next))
				return -ENOMEM;
	if (ways_without_p2p(t))
		return -ENOMEM;
	ways_by_c2c(t);
	for (int n = 0; n < t->n[NET]; n++)
		for (int g = 0; g < t->n[GPU]; g++)
			if (way_to_net(t, g, n))
				return -ENOMEM;
	for (int n = 0; n < t->n[NET]; n++)
		t->nodes[NET][n].local_gpu = nccl_local_gpu(t, n);
	return 0;
}

void nccl_cc_range(const struct rs_nccl_topo *t, int *min, int *max)
{
	*min = *max = t->nodes[GPU]->cc;
	for (int i = 1; i < t->n[GPU]; i++) {
		int cc = t->nodes[GPU][i].cc;

		*min = cc < *min ? cc : *min;
		*max = cc > *max ? cc : *max;
	}
}
