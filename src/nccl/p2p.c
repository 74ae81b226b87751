/* Point-to-point: channels of it, rounds of an all-to-all, NICs and PXN (graph/paths.cc, init.cc,
 * channel.h, graph/search.cc's ncclTopoGetNetDev); how two ranks are joined. */
#include "nccl/state.h"

/* NCCL_MAX_DEV_WORK_P2P_PER_BATCH */
enum { P2P_BATCH = 8, P2P_CHANNEL_BW = 14 };

static int pow2_up(int v)
{
	int p = 1;

	while (p < v)
		p <<= 1;
	return p;
}

/* NICs that it takes to carry what a GPU's own link to its CPU does. */
static int nets_by_bw(const struct rs_nccl_topo *t, int gpu)
{
	const struct node *g = &t->nodes[GPU][gpu];
	int nets[RS_NCCL_GPUS_MAX], n = nccl_nearest(g, NET, t->n[NET], nets, NULL), count = 0;
	float bw = 0, sum = 0;

	for (int i = 0; i < g->n_links; i++)
		if (g->links[i].to->kind == CPU)
			bw = g->links[i].bw;
	for (; count < n && sum < bw; count++)
		sum += g->ways[NET][nets[count]].bw;
	return count;
}

/* From 2.29 on: NICs that NCCL gives the GPU by channel, until they carry what its way to its CPU
 * does; a channel of p2p carries 14 GB/s (NCCL_P2P_PER_CHANNEL_NET_BW). */
static int by_net_rate(const struct rs_nccl_topo *t, int gpu)
{
	const struct node *g = &t->nodes[GPU][gpu];
	int first = nccl_local_net(t, gpu, 0), count = 0, cpus[RS_NCCL_GPUS_MAX], rate;
	float bw = 0, sum = 0;

	if (first < 0)
		return 2;
	if (nccl_nearest(g, CPU, t->n[CPU], cpus, NULL))
		bw = g->ways[CPU][cpus[0]].bw;
	for (int c = 0; c < RS_NCCL_CHANNELS_MAX && (!c || sum < bw); c++) {
		int net = nccl_local_net(t, gpu, c);

		if (c && net == first)
			break;
		sum += g->ways[NET][net].bw;
		count++;
	}
	rate = ((int)sum + P2P_CHANNEL_BW - 1) / P2P_CHANNEL_BW;
	return count > rate ? count : rate;
}

static int to_remote(const struct rs_nccl_plan *p, const struct rs_nccl_topo *t, int gpu)
{
	int max = 2, nets;

	if (p->env->net_peer != RS_NCCL_UNSET)
		return p->env->net_peer;
	if (p->release >= RS_NCCL_RELEASE(2, 29, 0))
		return by_net_rate(t, gpu);
	nets = nets_by_bw(t, gpu);
	while ((int64_t)max * p->n_ranks > (int64_t)p->p2p_channels * 4 && max > 1)
		max /= 2;
	return nets > max ? nets : max;
}

static int to_local(const struct rs_nccl_topo *t, int gpu, int peer)
{
	const struct way *w = &t->nodes[GPU][peer].ways[GPU][gpu];
	const struct rs_nccl_item *item = &t->host->items[t->nodes[GPU][gpu].item];
	bool xgmi = item->amd && !t->n[NVS];
	int links;

	if (w->class != RS_NCCL_NVL &&
	    !(w->class == RS_NCCL_NVB && t->env->release >= RS_NCCL_RELEASE(2, 30, 7)))
		return 2;
	links = (int)(w->bw / (xgmi ? nccl_xgmi_bw(item->gfx)
				    : nccl_nvlink_bw(t->env->release, t->nodes[GPU][gpu].cc)));
	return (xgmi && item->gfx >= 940 ? 4 : 2) * (links > 1 ? links : 1);
}

static void least(int *min, int v)
{
	*min = v < *min ? v : *min;
}

/* All peers, eight to a channel, in one round. */
static void fit_peers(struct rs_nccl_plan *p)
{
	uint32_t batches = (p->n_ranks + P2P_BATCH - 1) / P2P_BATCH;

	while (p->p2p_channels_per_peer > 1 &&
	       (uint32_t)p->p2p_channels_per_peer * batches > (uint32_t)p->p2p_channels)
		p->p2p_channels_per_peer /= 2;
}

void nccl_count_p2p(struct rs_nccl_plan *p)
{
	const struct rs_nccl_env *env = p->env;
	const struct rs_nccl_topo *t = p->nodes[0].class->topo;
	int max = nccl_channels_max(p->release), peer, limit;

	p->p2p_channels = p->n_channels;
	limit = env->max_p2p == RS_NCCL_UNSET ? max : env->max_p2p;
	least(&p->p2p_channels, limit);
	if (p->p2p_channels < env->min_p2p)
		p->p2p_channels = env->min_p2p;
	peer = p->release >= RS_NCCL_RELEASE(2, 29, 0) ? max : p->p2p_channels;
	for (int g = 0; g < t->n[GPU]; g++) {
		for (int i = 0; i < t->n[GPU]; i++)
			if (i != g)
				least(&peer, to_local(t, g, i));
		if (p->n_nodes > 1)
			least(&peer, to_remote(p, t, g));
	}
	p->p2p_channels = pow2_up(p->p2p_channels);
	least(&p->p2p_channels, max);
	p->p2p_channels_per_peer = pow2_up(peer);
	if (p->gfx >= 940 && p->n_nodes == 1 && !t->n[NVS])
		p->p2p_channels_per_peer *= 2;
	if (p->release >= RS_NCCL_RELEASE(2, 29, 0) && p->n_nodes > 1 &&
	    env->net_peer == RS_NCCL_UNSET)
		fit_peers(p);
	else if (p->release >= RS_NCCL_RELEASE(2, 22, 0))
		least(&p->p2p_channels_per_peer, p->p2p_channels);
	p->p2p_chunk = p->n_nodes > 1  ? env->chunk_net
		       : p->all_nvlink ? env->chunk_nvl
				       : env->chunk_pci;
	if ((uint64_t)p->p2p_chunk * 8 > env->buffer) /* NCCL_STEPS */
		p->p2p_chunk = (uint32_t)(env->buffer / 8);
}

/* ---- Rounds ---- */

/* Differences 0, 1, 3, 6, 10 ... modulo a power of two, those below n: each once. */
struct deltas {
	uint32_t n, mask, round, delta;
};

static bool next_delta(struct deltas *d, uint32_t *out)
{
	while (d->round <= d->mask) {
		uint32_t now = d->delta;

		d->round++;
		d->delta = (d->delta + d->round) & d->mask;
		if (now < d->n) {
			*out = now;
			return true;
		}
	}
	return false;
}

static struct deltas deltas_of(uint32_t n)
{
	return (struct deltas){.n = n, .mask = (uint32_t)pow2_up((int)n) - 1};
}

void rs_nccl_p2p_schedule(const struct rs_nccl_plan *p, uint32_t rank, uint32_t *send,
			  uint32_t *recv)
{
	bool flat = !p->equal_nodes;
	uint32_t nodes = flat ? 1 : p->n_nodes, locals = flat ? p->n_ranks : p->max_local_ranks;
	uint32_t node = flat ? 0 : p->ranks[rank].node, local = flat ? rank : p->ranks[rank].local;
	struct deltas over_nodes = deltas_of(nodes);
	uint32_t dn, dl, k = 0;

	while (next_delta(&over_nodes, &dn)) {
		struct deltas over_locals = deltas_of(locals);

		while (next_delta(&over_locals, &dl)) {
			uint32_t to = (local + dl) % locals, from = (local + locals - dl) % locals;

			send[k] = flat ? to : p->nodes[(node + dn) % nodes].ranks[to];
			recv[k] = flat ? from : p->nodes[(node + nodes - dn) % nodes].ranks[from];
			k++;
		}
	}
}

static int reversed(int v, int n)
{
	int out = 0;

	for (int bit = 1; bit < n; bit <<= 1)
		out = out << 1 | (v & bit ? 1 : 0);
	return out;
}

int rs_nccl_p2p_channel(const struct rs_nccl_plan *p, uint32_t round, int part)
{
	uint32_t locals = p->max_local_ranks, base = round;

	if (p->n_nodes > 1)
		base = round / locals * ((locals + P2P_BATCH - 1) / P2P_BATCH) +
		       round % locals / P2P_BATCH;
	if (p->release >= RS_NCCL_RELEASE(2, 28, 0))
		base = (uint32_t)reversed((int)base, p->p2p_channels);
	else
		part = reversed(part, p->p2p_channels);
	return (int)((base & 0xff) + (uint32_t)part) & (p->p2p_channels - 1);
}

/* ---- NICs ---- */

static struct rs_nccl_way way_by(const struct rs_nccl_plan *p, uint32_t rank, int net, int proxy,
				 bool send)
{
	const struct rs_nccl_topo *t = class_of(p, rank)->topo;

	if (net < 0)
		return (struct rs_nccl_way){-1, -1, rank, false};
	return (struct rs_nccl_way){net, t->nodes[NET][net].dev,
				    rank_of(p, p->ranks[rank].node, proxy),
				    nccl_gdr_allowed(t, p->ranks[rank].gpu, net, send)};
}

/* The NIC of a head of NVLS. */
static int head_net(const struct found *f, int n_gpus, int gpu, int channel)
{
	int nets[RS_NCCL_CHANNELS_MAX], n = 0;

	for (int c = 0; c < f->n_channels; c++)
		if (f->intra[c * n_gpus] == gpu)
			nets[n++] = f->inter[2 * c];
	return n ? nets[channel % n] : -1;
}

struct rs_nccl_way rs_nccl_way(const struct rs_nccl_plan *p, enum rs_nccl_algo algo, uint32_t rank,
			       int channel, bool send)
{
	static const int graphs[RS_NCCL_ALGOS] = {TREE_GRAPH, RING_GRAPH, DIRECT_GRAPH, CHAIN_GRAPH,
						  NVLS_GRAPH, NVLS_GRAPH, TREE_GRAPH};
	const struct rs_nccl_class *class = class_of(p, rank);
	const struct found *f = &class->found[graphs[algo]];
	int n = p->graph[algo].n_channels, gpu = p->ranks[rank].gpu, net, c;

	if (!n || !f->n_channels || p->n_nodes == 1)
		return way_by(p, rank, -1, gpu, send);
	c = channel % n;
	if (graphs[algo] == NVLS_GRAPH)
		net = head_net(f, class->n_gpus, gpu, channel);
	else
		net = f->inter[2 * c + (f->intra[c * class->n_gpus] != gpu)];
	return way_by(p, rank, net, net >= 0 && send ? nccl_proxy_gpu(class->topo, gpu, net) : gpu,
		      send);
}

struct rs_nccl_way rs_nccl_p2p_way(const struct rs_nccl_plan *p, uint32_t rank, uint32_t peer,
				   int channel, bool send)
{
	const struct rs_nccl_env *env = p->env;
	const struct rs_nccl_topo *t = class_of(p, rank)->topo;
	int gpu = p->ranks[rank].gpu, net = t->n[NET] ? nccl_local_net(t, gpu, channel) : -1;
	int level = env->pxn_disable ? 0 : env->p2p_pxn_level, twin = -1, far, g;

	if (net < 0 || (env->cross_nic && !level))
		return way_by(p, rank, net, gpu, send);
	/* the local GPU with the number of the other's */
	for (int i = 0; i < t->n[GPU]; i++)
		if (t->nodes[GPU][i].dev == p->ranks[send ? peer : rank].dev)
			twin = i;
	if (twin < 0)
		return way_by(p, rank, net, gpu, send);
	far = nccl_local_net(t, twin, channel);
	if (!env->cross_nic)
		net = far;
	if (level == 1 && t->nodes[GPU][gpu].ways[NET][far].class <= RS_NCCL_PXN)
		return way_by(p, rank, far, send ? nccl_proxy_gpu(t, gpu, far) : gpu, send);
	g = level == 2 ? nccl_local_gpu(t, far) : -1;
	if (g >= 0 && t->nodes[GPU][g].ways[GPU][gpu].class <= RS_NCCL_NVL &&
	    t->nodes[GPU][g].ways[NET][far].class <= (env->pxn_c2c ? RS_NCCL_P2C : RS_NCCL_PXB))
		return way_by(p, rank, far, send ? g : gpu, send);
	return way_by(p, rank, net, gpu, send);
}

/* ---- Two ranks ---- */

float rs_nccl_gpu_path(const struct rs_nccl_plan *p, uint32_t from, uint32_t to,
		       enum rs_nccl_path *class)
{
	const struct way *w =
		&class_of(p, from)->topo->nodes[GPU][p->ranks[from].gpu].ways[GPU]
									     [p->ranks[to].gpu];

	*class = w->class;
	return w->bw;
}

float rs_nccl_nic_path(const struct rs_nccl_plan *p, uint32_t rank, int net,
		       enum rs_nccl_path *class)
{
	const struct way *w =
		&class_of(p, rank)->topo->nodes[GPU][p->ranks[rank].gpu].ways[NET][net];

	*class = w->class;
	return w->bw;
}

bool rs_nccl_has_c2c(const struct rs_nccl_plan *p, uint32_t rank)
{
	const struct rs_nccl_topo *t = class_of(p, rank)->topo;
	int item = t->nodes[GPU][p->ranks[rank].gpu].item;

	for (int i = 0; i < t->host->n_c2cs; i++)
		if (t->host->c2cs[i].gpu == item)
			return true;
	return false;
}

enum rs_nccl_transport rs_nccl_via(const struct rs_nccl_plan *p, uint32_t from, uint32_t to,
				   bool *read, uint32_t *over)
{
	const struct rs_nccl_topo *t = class_of(p, from)->topo;
	int a = p->ranks[from].gpu, b = p->ranks[to].gpu;
	const struct way *w;

	if (read)
		*read = false;
	if (over)
		*over = from;
	if (p->ranks[from].node != p->ranks[to].node)
		return RS_NCCL_VIA_NET;
	w = &t->nodes[GPU][a].ways[GPU][b];
	if (nccl_p2p_allowed(t, a, b) && w->n == 2 && w->hop[0]->to->kind == GPU) {
		if (over)
			*over = rank_of(p, p->ranks[from].node, w->hop[0]->to->index);
		return RS_NCCL_VIA_P2P;
	}
	if (nccl_net_is_faster(t, a, b))
		return RS_NCCL_VIA_NET;
	if (nccl_p2p_allowed(t, a, b)) {
		if (read)
			*read = w->class == RS_NCCL_NVL && t->nodes[GPU][a].cc == 80 &&
				t->nodes[GPU][b].cc == 80;
		return RS_NCCL_VIA_P2P;
	}
	return p->env->shm_disable ? RS_NCCL_VIA_NET : RS_NCCL_VIA_SHM;
}
