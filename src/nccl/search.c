/*
 * One attempt of NCCL's search: channels one after the other, each from a NIC (or a GPU, on one
 * node) over all GPUs and back, as bandwidth allows (graph/search.cc). What it finds depends on the
 * order of trying and on the steps that it may take: both are NCCL's, by release.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/graph.h"

enum order { FREE, BY_ARRAY, REPLAY };

/* Where a channel goes back to a NIC, or to its first GPU; -1: not. */
struct turns {
	int net, first;
};

struct step {
	struct attempt *a;
	struct turns turns;
	enum order order;
	int *time;
};

static void go(const struct step *s, struct node *gpu, int at);
static void next_channel(struct attempt *a, int *time);

static bool since(const struct attempt *a, int major, int minor, int patch)
{
	return a->t->env->release >=
	       RS_NCCL_RELEASE((unsigned)major, (unsigned)minor, (unsigned)patch);
}

static bool is_tree(const struct found *g)
{
	return g->pattern == RS_NCCL_BALANCED_TREE || g->pattern == RS_NCCL_TREE ||
	       g->pattern == RS_NCCL_SPLIT_TREE;
}

/* ---- Bandwidth along a path ---- */

static float rounded(float v)
{
	return roundf(v * 1000) / 1000;
}

/* P2P over an Intel CPU goes in TLPs of 64 bytes: 6/5 of the bandwidth. */
static float pci_share(const struct way *w, const struct node *from, float bw)
{
	if (w->class == RS_NCCL_PHB && from->kind == GPU)
		for (int i = 0; i < w->n; i++) {
			const struct node *n = w->hop[i]->to;

			if (n->kind == CPU && n->arch == RS_NCCL_X86 && n->vendor == RS_NCCL_INTEL)
				return bw * 6 / 5;
		}
	return bw;
}

/* What a hop takes from the link's other direction. */
static float share_back(const struct link *l, const struct node *from, float bw)
{
	float back = 0;

	if (l->to->kind == GPU && l->to->cc < 80 && from->kind != GPU)
		back += bw / 8;
	if (l->to->kind == CPU && l->to->arch == RS_NCCL_POWER && l->class == RS_NCCL_NVL)
		back += bw;
	return back;
}

static struct link *other_way(const struct node *from, const struct link *l)
{
	for (int i = 0; i < l->to->n_links; i++)
		if (l->to->links[i].to == from && l->to->links[i].class == l->class)
			return &l->to->links[i];
	return NULL;
}

/* Takes bw (negative: gives back) from the first n links; how many had it. */
static int take(const struct way *w, struct node *from, int n, float bw)
{
	float pci = pci_share(w, from, bw);
	const struct node *at = from;

	for (int i = 0; i < n; i++) {
		struct link *l = w->hop[i], *rev = NULL;
		float forth = l->class == RS_NCCL_PIX ? pci : bw;
		float back = share_back(l, from, forth);

		if (back != 0) {
			rev = other_way(at, l);
			if (!rev)
				back = 0;
		}
		if (l->bw < forth || (back != 0 && rev->bw < back))
			return i;
		l->bw = rounded(l->bw - forth);
		if (back != 0)
			rev->bw = rounded(rev->bw - back);
		at = l->to;
	}
	return n;
}

/* From one node to another: takes times x the channel's bandwidth. False: no way of this class, or
 * not enough left. */
static bool follow(struct attempt *a, struct node *from, struct node *to, float times)
{
	struct found *g = a->g;
	const struct way *w = &from->ways[to->kind][to->index];
	bool intra =
		(from->kind == GPU || from->kind == NVS) && (to->kind == GPU || to->kind == NVS);
	float bw = intra ? g->bw_intra : g->bw_inter;
	enum rs_nccl_path class = intra ? g->class_intra : g->class_inter;
	int steps;

	if (!w->n && !since(a, 2, 21, 0))
		return true;
	if (w->class >= RS_NCCL_DIS)
		return false;
	if (times == 1 &&
	    (w->class > class || (is_tree(g) && to->ways[from->kind][from->index].class > class)))
		return false;
	bw *= times;
	steps = take(w, from, w->n, bw);
	rs_assert(bw >= 0 || steps == w->n); /* what was taken can be given back */
	if (steps < w->n) {
		take(w, from, steps, -bw);
		return false;
	}
	g->hops += (int)(times * (float)w->n);
	return true;
}

/* ---- Which is better ---- */

static bool better(const struct attempt *a)
{
	const struct found *g = a->g, *b = a->best;
	float mine = (float)g->n_channels * g->bw_intra,
	      theirs = (float)b->n_channels * b->bw_intra;

	if (g->n_channels < g->min_channels)
		return false;
	if (g->pattern == RS_NCCL_NVLS)
		return (g->n_channels > b->n_channels && g->n_channels <= a->t->n[GPU]) ||
		       (since(a, 2, 19, 0) &&
			(float)g->n_channels * g->bw_inter > (float)b->n_channels * b->bw_inter);
	if (!since(a, 2, 20, 0)) /* a bonus for not crossing NICs */
		theirs *= (float)(1.0 - (b->cross_nic - g->cross_nic) * .15);
	if (mine != theirs)
		return mine > theirs;
	return g->pattern == b->pattern && g->cross_nic == b->cross_nic && g->hops < b->hops;
}

static void found_copy(struct found *to, const struct found *from, int n_gpus)
{
	int16_t *intra = to->intra;
	int n = from->n_channels;

	*to = *from;
	to->intra = intra;
	if (n > 0)
		memcpy(intra, from->intra, (size_t)(n * n_gpus) * sizeof(*intra));
}

static void channel_done(struct attempt *a, int *time)
{
	struct found *g = a->g;

	g->n_channels++;
	rs_assert(g->n_channels <= g->max_channels);
	if (better(a)) {
		found_copy(a->best, g, a->t->n[GPU]);
		if (g->n_channels == g->max_channels)
			*time = -1;
	}
	if (g->n_channels < g->max_channels)
		next_channel(a, time);
	g->n_channels--;
}

/* ---- Which GPU next ---- */

struct score {
	int gpu, from_here, hops, bw, net_hops, net_pci, net_bw;
};

static int by_score(const void *x, const void *y)
{
	const struct score *a = x, *b = y;

	if (a->net_bw != b->net_bw)
		return b->net_bw - a->net_bw;
	if (a->net_pci != b->net_pci)
		return b->net_pci - a->net_pci;
	if (a->net_hops != b->net_hops)
		return a->net_hops - b->net_hops;
	if (a->bw != b->bw)
		return b->bw - a->bw;
	if (a->hops != b->hops)
		return a->hops - b->hops;
	return a->from_here - b->from_here;
}

static int pci_bw(const struct node *gpu)
{
	for (int i = 0; i < gpu->n_links; i++) {
		const struct link *l = &gpu->links[i], *back;

		if (l->class != RS_NCCL_PIX)
			continue;
		back = other_way(gpu, l);
		return back ? (int)(l->bw < back->bw ? l->bw : back->bw) : -1;
	}
	return -1;
}

static bool all_alike(const struct score *s, int n)
{
	for (int i = 1; i < n; i++)
		if (s[i].bw != s[0].bw || s[i].hops != s[0].hops)
			return false;
	return true;
}

/* NVSwitches like few peers: neighbours of the array come first, and from 2.21 on alone. */
static int neighbours_first(const struct attempt *a, int at, int *next, int n)
{
	int all = a->t->n[GPU], before = (at - 1 + all) % all, after = (at + 1) % all;
	int first[2] = {after, before}, n_first = 2, real = 0;

	if (a->g->pattern == RS_NCCL_SPLIT_TREE || a->g->pattern == RS_NCCL_BALANCED_TREE) {
		first[0] = before;
		first[1] = after;
	} else if (a->g->pattern != RS_NCCL_RING) {
		n_first = 1;
	}
	if (before == after && n_first == 2 && since(a, 2, 21, 0))
		n_first = 1;
	for (int f = 0; f < n_first; f++) {
		int i = 0;

		while (i < n && next[i] != first[f])
			i++;
		if (i == n)
			continue;
		memmove(next + 1, next, (size_t)i * sizeof(*next));
		next[0] = first[f];
		real++;
	}
	return since(a, 2, 21, 0) ? real : n;
}

/* GPUs in the order of trying. to_net: 1 the next one goes back to the NIC, -1 a later one, 0 none.
 */
static int sorted_next(const struct attempt *a, const struct node *gpu, int to_net, int *next)
{
	const struct rs_nccl_topo *t = a->t;
	const struct found *g = a->g;
	const struct way *from_net =
		to_net ? t->nodes[NET][g->inter[2 * g->n_channels]].ways[GPU] : NULL;
	struct score scores[RS_NCCL_GPUS_MAX];
	uint64_t bit = UINT64_C(1) << (g->n_channels & 63);
	int n = 0;

	rs_assert(t->n[GPU] <= RS_NCCL_GPUS_MAX);
	for (int i = 1; i < t->n[GPU]; i++) {
		int to = (gpu->index + i) % t->n[GPU];
		const struct way *w = &gpu->ways[GPU][to];

		if (!w->n || t->nodes[GPU][to].used & bit)
			continue;
		scores[n] =
			(struct score){.gpu = to, .from_here = i, .hops = w->n, .bw = (int)w->bw};
		if (from_net) {
			scores[n].net_hops = from_net[to].n;
			scores[n].net_pci = pci_bw(&t->nodes[GPU][to]);
			scores[n].net_bw = (int)from_net[to].bw;
		}
		n++;
	}
	qsort(scores, (size_t)n, sizeof(*scores), by_score);
	for (int i = 0; i < n; i++)
		next[i] = scores[to_net == -1 && all_alike(scores, n) ? n - 1 - i : i].gpu;
	if (t->n[NVS] && since(a, 2, 19, 0))
		n = neighbours_first(a, gpu->index, next, n);
	return n;
}

/* ---- Steps of a channel ---- */

static void try_gpu(const struct step *s, struct node *from, struct node *gpu, int at)
{
	uint64_t bit = UINT64_C(1) << (s->a->g->n_channels & 63);

	if (from && !follow(s->a, from, gpu, 1))
		return;
	gpu->used ^= bit;
	go(s, gpu, at);
	gpu->used ^= bit;
	if (from)
		follow(s->a, from, gpu, -1);
}

/* The GPU that the last channel had at a place. */
static struct node *replayed(const struct attempt *a, int at)
{
	const struct found *g = a->g;

	rs_assert(g->n_channels > 0 && at < a->t->n[GPU]);
	return &a->t->nodes[GPU][g->intra[(g->n_channels - 1) * a->t->n[GPU] + at]];
}

static void list_add(int *list, int *n, int v)
{
	for (int i = 0; i < *n; i++)
		if (list[i] == v)
			return;
	list[(*n)++] = v;
}

/* NICs in the order of trying, of one GPU or (-1) of all: each GPU's own, channel by channel, then
 * the others of the class that is allowed. */
static int sorted_nets(const struct attempt *a, int gpu, int *nets)
{
	const struct rs_nccl_topo *t = a->t;
	int n = 0, first, last = nccl_channels_max(t->env->release);

	for (int g = gpu < 0 ? 0 : gpu; g < (gpu < 0 ? t->n[GPU] : gpu + 1); g++) {
		first = -1;
		for (int c = 0; c < last; c++) {
			int net = nccl_local_net(t, g, c);

			if (net < 0 || (c && net == first))
				break;
			if (!c)
				first = net;
			list_add(nets, &n, net);
		}
	}
	for (int class = 0; class <= (int)a->g->class_inter; class ++)
		for (int g = gpu < 0 ? 0 : gpu; g < (gpu < 0 ? t->n[GPU] : gpu + 1); g++)
			for (int i = 0; i < t->n[NET]; i++)
				if ((int)t->nodes[GPU][g].ways[NET][i].class == class)
					list_add(nets, &n, i);
	return n;
}

static bool same_card(const struct node *a, const struct node *b)
{
	return a->asic == b->asic && a->port == b->port;
}

/* May the channel that entered by one NIC leave by another? */
static bool may_leave(const struct attempt *a, const struct node *in, const struct node *out)
{
	const struct found *g = a->g;
	bool odd = g->n_channels & 1,
	     paired = odd && out->index != g->inter[2 * (g->n_channels - 1)];

	if (g->pattern == RS_NCCL_TREE && out != in)
		return false;
	if (since(a, 2, 23, 0)) {
		if (g->pattern == RS_NCCL_RING && g->cross_nic == 2)
			return !paired;
		return g->cross_nic || same_card(in, out);
	}
	if (g->cross_nic != 1 && !same_card(in, out))
		return false;
	return !(since(a, 2, 20, 0) && g->cross_nic && paired);
}

static bool may_enter(const struct attempt *a, const struct node *net)
{
	const struct found *g = a->g;
	bool pairs = since(a, 2, 23, 0) ? g->pattern == RS_NCCL_RING && g->cross_nic == 2
					: since(a, 2, 20, 0) && g->cross_nic;

	return !(pairs && g->n_channels & 1 && net->index != g->inter[2 * (g->n_channels - 1) + 1]);
}

static void back_to_net(const struct step *s, struct node *gpu, int at)
{
	struct found *g = s->a->g;
	struct node *in = &s->a->t->nodes[NET][g->inter[2 * g->n_channels]];
	int nets[RS_NCCL_GPUS_MAX], n = sorted_nets(s->a, gpu->index, nets);

	for (int i = 0; i < n; i++) {
		struct node *net = &s->a->t->nodes[NET][nets[i]];
		struct step then = *s;
		float whole = g->bw_inter;
		bool ok;

		if (!may_leave(s->a, in, net))
			continue;
		then.turns.net = -1;
		if (g->pattern == RS_NCCL_BALANCED_TREE) { /* half at each of the first two GPUs */
			if (!at)
				then.turns.net = 1;
			else if (net->index != g->inter[2 * g->n_channels + 1])
				continue;
			g->bw_inter /= 2;
		}
		ok = follow(s->a, gpu, net, 1);
		g->bw_inter = whole;
		if (!ok)
			continue;
		g->inter[2 * g->n_channels + 1] = (int16_t)net->index;
		go(&then, gpu, at);
		if (g->pattern == RS_NCCL_BALANCED_TREE)
			g->bw_inter /= 2;
		follow(s->a, gpu, net, -1);
		g->bw_inter = whole;
	}
}

static void end_channel(const struct step *s)
{
	struct step end = {s->a, {-1, -1}, FREE, s->time};

	go(&end, NULL, s->a->t->n[GPU]);
}

/* A head of NVLS pulls twice, all others once, both ways. */
static void heads(const struct step *s, struct node *head)
{
	struct node *nvs = s->a->t->nodes[NVS], *gpus = s->a->t->nodes[GPU];
	int n = s->a->t->n[GPU], down = 0, up = 0;

	while (down < n && follow(s->a, nvs, &gpus[down], &gpus[down] == head ? 2 : 1))
		down++;
	if (down == n) {
		while (up < n && follow(s->a, &gpus[up], nvs, &gpus[up] == head ? 2 : 1))
			up++;
		if (up == n)
			end_channel(s);
		while (up--)
			follow(s->a, &gpus[up], nvs, &gpus[up] == head ? -2 : -1);
	}
	while (down--)
		follow(s->a, nvs, &gpus[down], &gpus[down] == head ? -2 : -1);
}

/* A head of CollNet's direct form exchanges with each other GPU. */
static void collnet_heads(const struct step *s, struct node *head)
{
	struct found *g = s->a->g;
	struct node *gpus = s->a->t->nodes[GPU];
	int n = s->a->t->n[GPU], out = 0, in = 0, at = 1;
	float share = 1.0f / (float)(n - 1);

	while (out < n && follow(s->a, head, &gpus[out], share))
		out++;
	if (out == n) {
		while (in < n && follow(s->a, &gpus[in], head, share))
			in++;
		if (in == n) {
			for (int i = 0; i < n; i++)
				if (&gpus[i] != head)
					g->intra[g->n_channels * n + at++] = (int16_t)i;
			end_channel(s);
		}
		while (in--)
			follow(s->a, &gpus[in], head, -share);
	}
	while (out--)
		follow(s->a, head, &gpus[out], -share);
}

static void on_to_gpus(const struct step *s, struct node *gpu, int at)
{
	struct attempt *a = s->a;
	int next[RS_NCCL_GPUS_MAX], n = 1;

	if (s->order == BY_ARRAY)
		next[0] = at + 1;
	else if (s->order == REPLAY)
		next[0] = replayed(a, at + 1)->index;
	else
		n = sorted_next(a, gpu,
				s->turns.net < 0         ? 0
				: s->turns.net == at + 1 ? 1
							 : -1,
				next);
	for (int i = 0; i < n; i++)
		try_gpu(s, gpu, &a->t->nodes[GPU][next[i]], at + 1);
}

static void back_to_first(const struct step *s, struct node *gpu, int at)
{
	struct found *g = s->a->g;
	struct node *first = &s->a->t->nodes[GPU][g->intra[g->n_channels * s->a->t->n[GPU]]];
	struct step then = *s;

	then.turns.first = -1;
	if (!follow(s->a, gpu, first, 1))
		return;
	go(&then, first, at + 1);
	follow(s->a, gpu, first, -1);
}

static void go(const struct step *s, struct node *gpu, int at)
{
	struct found *g = s->a->g;
	int n = s->a->t->n[GPU];

	if (*s->time <= 0)
		return;
	(*s->time)--;
	if (at == n) {
		channel_done(s->a, s->time);
		return;
	}
	g->intra[g->n_channels * n + at] = (int16_t)gpu->index;
	if (at == s->turns.net)
		back_to_net(s, gpu, at);
	else if (g->pattern == RS_NCCL_NVLS)
		heads(s, gpu);
	else if (g->pattern == RS_NCCL_COLLNET_DIRECT)
		collnet_heads(s, gpu);
	else if (at < n - 1)
		on_to_gpus(s, gpu, at);
	else if (at == s->turns.first)
		back_to_first(s, gpu, at);
	else
		end_channel(s);
}

/* ---- The start of a channel ---- */

static struct turns turns_of(const struct attempt *a)
{
	int last = a->t->n[GPU] - 1;
	bool ring = a->g->pattern == RS_NCCL_RING;

	if (!a->t->n[NET])
		return (struct turns){-1, ring ? last : -1};
	return (struct turns){ring ? last : a->g->pattern == RS_NCCL_SPLIT_TREE ? 1 : 0, -1};
}

/* The GPUs of highest bandwidth and fewest hops to a NIC, as 2.19 to 2.26 try them; 2.18 in order
 * of the array. */
static void try_near(const struct step *s, struct node *net, int bw)
{
	const struct way *w = net->ways[GPU];
	int n = s->a->t->n[GPU], hops = 1 << 20;
	float best = 0;

	for (int g = 0; g < n; g++) {
		if (w[g].bw > best) {
			best = w[g].bw;
			hops = w[g].n;
		} else if (w[g].bw == best && w[g].n > 0 && w[g].n < hops) {
			hops = w[g].n;
		}
	}
	for (int i = 0; i < n && best >= (float)bw; i++) {
		int g = since(s->a, 2, 19, 0) ? (s->a->g->n_channels + i) % n : i;

		if (w[g].bw == best && w[g].n == hops)
			try_gpu(s, net, &s->a->t->nodes[GPU][g], 0);
	}
}

/* From 2.27 on. False: the NIC reaches no GPU. */
static bool try_local(const struct step *s, struct node *net)
{
	int gpus[RS_NCCL_GPUS_MAX], n, own = -1;
	enum rs_nccl_path class;

	if (since(s->a, 2, 27, 5)) {
		own = net->local_gpu;
		if (own >= 0)
			try_gpu(s, net, &s->a->t->nodes[GPU][own], 0);
	}
	n = nccl_nearest(net, GPU, s->a->t->n[GPU], gpus, &class);
	if (class == RS_NCCL_DIS)
		return false;
	for (int i = 0; i < n; i++)
		if (gpus[i] != own)
			try_gpu(s, net, &s->a->t->nodes[GPU][gpus[i]], 0);
	return true;
}

static bool from_net(struct step *s, struct node *net, int bw)
{
	struct attempt *a = s->a;
	bool first = !a->g->n_channels;

	if (!first && (a->g->same || !since(a, 2, 27, 5))) {
		s->order = REPLAY;
		try_gpu(s, net, replayed(a, 0), 0);
		s->order = FREE;
	}
	if (!first && a->g->same)
		return true;
	if (first && (!a->t->n[NVS] || !since(a, 2, 19, 0))) {
		int t = 1 << 10; /* a reference that does not count in the search's steps */
		struct step by_array = {a, s->turns, BY_ARRAY, &t};

		try_gpu(&by_array, net, a->t->nodes[GPU], 0);
		if (t == -1)
			*s->time = -1;
	}
	if (since(a, 2, 27, 0))
		return try_local(s, net);
	try_near(s, net, bw);
	return true;
}

static void share_card(const struct attempt *a, const struct node *net, int bw)
{
	for (int i = 0; i < a->t->n[NET]; i++)
		if (same_card(&a->t->nodes[NET][i], net))
			a->t->nodes[NET][i].net_bw -= (float)bw;
}

/* Heads of NVLS and CollNet: a NIC's own GPU, each once. */
static bool head_from(struct step *s, struct node *net, int n_nets, const int *nets)
{
	struct found *g = s->a->g;
	struct node *gpus = s->a->t->nodes[GPU];
	int gpu;

	if (g->n_channels >= n_nets)
		return false;
	if (!since(s->a, 2, 19, 0)) {
		gpu = nccl_local_gpu(s->a->t, nets[g->n_channels]);
		if (gpu >= 0)
			try_gpu(s, NULL, &gpus[gpu], 0);
		return false;
	}
	gpu = net->local_gpu;
	if (gpu < 0)
		return false;
	for (int c = 0; since(s->a, 2, 22, 0) && c < g->n_channels; c++)
		if (g->intra[c * s->a->t->n[GPU]] == gpu)
			return false;
	try_gpu(s, net, &gpus[gpu], 0);
	return true;
}

static void from_nets(struct attempt *a, int *time)
{
	struct found *g = a->g;
	int nets[RS_NCCL_GPUS_MAX], n = sorted_nets(a, -1, nets), bw = (int)g->bw_inter;
	bool head = g->pattern == RS_NCCL_NVLS || g->pattern == RS_NCCL_COLLNET_DIRECT;
	struct step s = {a, turns_of(a), FREE, time};

	for (int i = 0; i < n; i++) {
		int at = since(a, 2, 19, 0) ? (g->n_channels + i) % n : i;
		struct node *net = &a->t->nodes[NET][nets[at]];
		bool give = true, done = false;

		if ((g->collnet && !net->collnet) || net->net_bw < (float)bw || !may_enter(a, net))
			continue;
		g->inter[2 * g->n_channels] = (int16_t)net->index;
		g->latency = net->latency;
		share_card(a, net, bw);
		if (head)
			done = head_from(&s, net, n, nets);
		else
			give = from_net(&s, net, bw);
		if (give)
			share_card(a, net, -bw);
		/* 2.19 to 2.21 look at one NIC alone for NVLS */
		if (head && (done || (since(a, 2, 19, 0) && !since(a, 2, 22, 0))))
			break;
	}
}

static void from_gpus(struct attempt *a, int *time)
{
	struct node *gpus = a->t->nodes[GPU];
	struct step s = {a, turns_of(a), FREE, time};

	if (a->g->pattern == RS_NCCL_NVLS) {
		try_gpu(&s, NULL, &gpus[a->g->n_channels], 0);
		return;
	}
	if (!a->g->n_channels) {
		s.order = BY_ARRAY;
		try_gpu(&s, NULL, gpus, 0);
	} else {
		s.order = REPLAY;
		try_gpu(&s, NULL, replayed(a, 0), 0);
	}
	s.order = FREE;
	if (a->g->same && a->g->n_channels)
		return;
	for (int i = 0; i < a->t->n[GPU] && *time > 0; i++)
		try_gpu(&s, NULL, &gpus[i], 0);
}

static void next_channel(struct attempt *a, int *time)
{
	if (a->t->n[NET])
		from_nets(a, time);
	else
		from_gpus(a, time);
}

void nccl_search_attempt(struct attempt *a, int *time)
{
	a->g->n_channels = 0;
	a->g->hops = 0;
	next_channel(a, time);
}
