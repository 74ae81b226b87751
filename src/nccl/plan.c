/* From a job to its plan: nodes, one search for hosts alike, what all ranks agree on (init.cc). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/state.h"
#include "nccl/xgmi.h"

struct planning {
	const struct rs_nccl_job *job;
	struct rs_nccl_plan *p;
	struct rs_arena *a;
	struct rs_error *e;
	uint32_t n_classes;
	struct rs_nccl_class **classes;
	int16_t *spare; /* of searches */
};

static int no_memory(struct rs_error *e)
{
	return rs_error_set(e, -ENOMEM, "out of memory");
}

/* ---- Hosts alike ---- */

static int item_of(const struct rs_nccl_host *h, int dev)
{
	for (int i = 0; i < h->n_items; i++)
		if (h->items[i].kind == RS_NCCL_GPU && h->items[i].dev == dev)
			return i;
	return -1;
}

static bool found_init(struct planning *g, struct found *f, enum rs_nccl_pattern pattern, int min,
		       int max, bool collnet, int n_gpus)
{
	size_t n = (size_t)RS_NCCL_CHANNELS_MAX * (size_t)n_gpus;

	*f = (struct found){.pattern = pattern,
			    .collnet = collnet,
			    .min_channels = min,
			    .max_channels = max,
			    .intra = rs_arena_alloc(g->a, n, sizeof(int16_t))};
	return f->intra;
}

static bool run(struct planning *g, struct rs_nccl_class *c, int which,
		enum rs_nccl_pattern pattern, int min, int max, bool collnet, bool wanted)
{
	struct found tmp = {.intra = g->spare};

	if (!found_init(g, &c->found[which], pattern, min, max, collnet, c->n_gpus))
		return false;
	if (wanted)
		nccl_search_run(c->topo, &c->found[which], &tmp);
	return true;
}

/* Heads, each GPU once. */
static void heads_of(struct rs_nccl_class *c)
{
	const struct found *f = &c->found[NVLS_GRAPH];

	for (int ch = 0; ch < f->n_channels && c->n_heads < RS_NCCL_NVLS_ARITY; ch++) {
		int gpu = f->intra[ch * c->n_gpus];
		bool again = false;

		for (int i = 0; i < c->n_heads; i++)
			again |= c->heads[i] == gpu;
		if (!again)
			c->heads[c->n_heads++] = gpu;
	}
}

static bool all_nvlink(const struct rs_nccl_topo *t)
{
	bool single = t->env->release >= RS_NCCL_RELEASE(2, 25, 0);

	for (int i = 0; i < t->n[GPU]; i++)
		for (int j = 0; j < t->n[GPU]; j++)
			if (i != j) {
				bool near = t->nodes[GPU][i].ways[GPU][j].class < RS_NCCL_PIX;

				if (!near && single)
					return false;
				if (near && !single)
					return true; /* one pair was enough */
			}
	return single;
}

static bool rccl(const struct rs_nccl_class *c)
{
	for (int i = 0; i < c->host->n_items; i++)
		if (c->host->items[i].amd)
			return true;
	return false;
}

static int gfx(const struct rs_nccl_class *c)
{
	int least = 0;

	for (int i = 0; i < c->host->n_items; i++)
		if (c->host->items[i].amd && (!least || c->host->items[i].gfx < least))
			least = c->host->items[i].gfx;
	return least;
}

static bool has_nvls(const struct rs_nccl_class *c)
{
	const struct rs_nccl_env *env = c->topo->env;
	int min, max, least = env->release >= RS_NCCL_RELEASE(2, 28, 0) ? 2 : 3;

	nccl_cc_range(c->topo, &min, &max);
	/* multicast: Hopper and later behind NVSwitches */
	return !rccl(c) && env->nvls && c->n_gpus >= least && min >= 90 && c->topo->n[NVS];
}

static int search_all(struct planning *g, struct rs_nccl_class *c)
{
	const struct rs_nccl_env *env = c->topo->env;
	int max = nccl_channels_max(env->release), n, nvls = max;
	bool ok, known;

	c->nvls = has_nvls(c);
	if (nccl_searches_take(g->job->searches, c, g->a))
		return 0;
	if (!run(g, c, RING_GRAPH, RS_NCCL_RING, 1, max / 2, false, false) ||
	    !run(g, c, TREE_GRAPH, RS_NCCL_BALANCED_TREE, 1, max / 2, false, false))
		return no_memory(g->e);
	known = nccl_xgmi(c);
	ok = known || run(g, c, RING_GRAPH, RS_NCCL_RING, 1, max / 2, false, true);
	n = c->found[RING_GRAPH].n_channels;
	ok = ok && (known || run(g, c, TREE_GRAPH, RS_NCCL_BALANCED_TREE, n, n, false, true)) &&
	     run(g, c, CHAIN_GRAPH, RS_NCCL_TREE, n, n, true, env->collnet && c->topo->n[NET]) &&
	     run(g, c, NVLS_GRAPH, RS_NCCL_NVLS, 1, nvls, false, c->nvls) &&
	     run(g, c, DIRECT_GRAPH, RS_NCCL_COLLNET_DIRECT, 1, max, true,
		 env->collnet && c->topo->n[NET] && env->release >= RS_NCCL_RELEASE(2, 22, 0));
	if (!ok)
		return no_memory(g->e);
	nccl_searches_keep(g->job->searches, c);
	return 0;
}

static int class_fill(struct planning *g, struct rs_nccl_class *c, const struct chosen *gpus,
		      bool nets)
{
	struct rs_nccl_topo *t;
	int err;

	err = nccl_topo_build(c->host, g->p->env, gpus, c->n_gpus, nets, g->a, &t, g->e);

	if (err)
		return err;
	c->topo = t;
	if (nets && !t->n[NET])
		return rs_error_set(g->e, -EINVAL,
				    "%s has no NIC that NCCL could take, and the job has several "
				    "hosts",
				    c->host->name ? c->host->name : "a host");
	c->local = rs_arena_alloc(g->a, (size_t)c->n_gpus, sizeof(*c->local));
	c->nics = rs_arena_alloc(g->a, (size_t)t->n[NET] + 1, sizeof(*c->nics));
	if (!c->local || !c->nics)
		return no_memory(g->e);
	for (int i = 0; i < t->n[GPU]; i++)
		c->local[i] = t->nodes[GPU][i].rank;
	for (int i = 0; i < t->n[NET]; i++) {
		const struct rs_nccl_item *p = &c->host->items[t->nodes[NET][i].item];

		c->nics[i] = (struct rs_nccl_nic){p->dev, p->name, p->net_bw, p->tag};
	}
	err = search_all(g, c);
	heads_of(c);
	c->all_nvlink = all_nvlink(c->topo);
	return err;
}

static struct rs_nccl_class *class_known(const struct planning *g, const struct rs_nccl_host *h,
					 const int *devs, int n)
{
	for (uint32_t i = 0; i < g->n_classes; i++) {
		struct rs_nccl_class *c = g->classes[i];

		if (c->host == h && c->n_gpus == n &&
		    !memcmp(c->devs, devs, (size_t)n * sizeof(*devs)))
			return c;
	}
	return NULL;
}

static int class_make(struct planning *g, struct rs_nccl_node *node)
{
	const struct rs_nccl_host *h = g->job->hosts[node->host];
	struct chosen gpus[RS_NCCL_GPUS_MAX];
	struct rs_nccl_class *c;
	int *devs, n = (int)node->n_ranks, err;

	if (node->n_ranks > RS_NCCL_GPUS_MAX)
		return rs_error_set(g->e, -E2BIG, "more than %d ranks on a host", RS_NCCL_GPUS_MAX);
	devs = rs_arena_alloc(g->a, (size_t)n, sizeof(*devs));
	if (!devs)
		return no_memory(g->e);
	for (int i = 0; i < n; i++) {
		int dev = g->job->ranks[node->ranks[i]].dev;

		devs[i] = dev;
		gpus[i] = (struct chosen){item_of(h, dev), i};
		if (gpus[i].item < 0)
			return rs_error_set(g->e, -EINVAL, "%s has no GPU %d: it has %d",
					    h->name ? h->name : "the host", dev, h->n_gpus);
		for (int k = 0; k < i; k++)
			if (devs[k] == dev)
				return rs_error_set(g->e, -EINVAL,
						    "two ranks on GPU %d of one host", dev);
	}
	node->class = class_known(g, h, devs, n);
	if (node->class)
		return 0;
	c = rs_arena_alloc(g->a, 1, sizeof(*c));
	if (!c)
		return no_memory(g->e);
	c->host = h;
	c->n_gpus = n;
	c->devs = devs;
	err = class_fill(g, c, gpus, g->p->n_nodes > 1);
	if (err)
		return err;
	g->classes[g->n_classes++] = c;
	node->class = c;
	return 0;
}

/* ---- Nodes ---- */

/* Without shared memory NCCL takes GPUs of a host that have no peer-to-peer either for other nodes
 * (graph/paths.cc, ncclTopoTrimSystem()). part[i]: the first of the host's ranks that rank i shares
 * memory with. */
static int split_host(struct planning *g, uint32_t host, uint32_t *part)
{
	const struct rs_nccl_job *job = g->job;
	struct chosen gpus[RS_NCCL_GPUS_MAX];
	uint32_t of[RS_NCCL_GPUS_MAX];
	struct rs_nccl_topo *t;
	int n = 0, err;

	for (uint32_t r = 0; r < job->n_ranks; r++) {
		if (job->ranks[r].host != host)
			continue;
		if (n == RS_NCCL_GPUS_MAX)
			return rs_error_set(g->e, -E2BIG, "more than %d ranks on a host",
					    RS_NCCL_GPUS_MAX);
		for (int k = 0; k < n; k++)
			if (job->ranks[of[k]].dev == job->ranks[r].dev)
				return rs_error_set(g->e, -EINVAL,
						    "two ranks on GPU %d of one host",
						    job->ranks[r].dev);
		gpus[n] = (struct chosen){item_of(job->hosts[host], job->ranks[r].dev), n};
		if (gpus[n].item < 0)
			return 0; /* refused with its node */
		of[n++] = r;
	}
	err = n > 1 ? nccl_topo_build(job->hosts[host], g->p->env, gpus, n, false, g->a, &t, g->e)
		    : 0;
	if (err || n < 2)
		return err;
	for (int i = 0; i < t->n[GPU]; i++)
		for (int k = 0; k < t->n[GPU]; k++) {
			uint32_t *a = &part[of[t->nodes[GPU][i].rank]];
			uint32_t *b = &part[of[t->nodes[GPU][k].rank]], from, to;

			if (i == k || *a == *b || !nccl_p2p_allowed(t, i, k))
				continue;
			from = *a > *b ? *a : *b;
			to = *a > *b ? *b : *a;
			for (int m = 0; m < n; m++)
				if (part[of[m]] == from)
					part[of[m]] = to;
		}
	return 0;
}

/* The first rank of each rank's node. */
static int parts_of(struct planning *g, uint32_t *part)
{
	const struct rs_nccl_job *job = g->job;
	uint32_t *first = rs_arena_alloc(g->a, job->n_hosts, sizeof(*first));
	int err = 0;

	if (!first)
		return no_memory(g->e);
	for (uint32_t h = 0; h < job->n_hosts; h++)
		first[h] = UINT32_MAX;
	for (uint32_t r = 0; r < job->n_ranks; r++) {
		uint32_t h = job->ranks[r].host;

		if (h >= job->n_hosts)
			return rs_error_set(g->e, -EINVAL, "rank %u is on host %u of %u", r, h,
					    job->n_hosts);
		if (first[h] == UINT32_MAX)
			first[h] = r;
		part[r] = g->p->env->shm_disable ? r : first[h];
	}
	for (uint32_t h = 0; h < job->n_hosts && g->p->env->shm_disable && !err; h++)
		err = split_host(g, h, part);
	return err;
}

/* Ranks to nodes in order of the nodes' first ranks. */
static int split(struct planning *g)
{
	const struct rs_nccl_job *job = g->job;
	struct rs_nccl_plan *p = g->p;
	uint32_t *node_of = rs_arena_alloc(g->a, job->n_ranks, sizeof(*node_of));
	uint32_t *part = rs_arena_alloc(g->a, job->n_ranks, sizeof(*part));
	int err;

	p->ranks = rs_arena_alloc(g->a, job->n_ranks, sizeof(*p->ranks));
	if (!node_of || !part || !p->ranks)
		return no_memory(g->e);
	err = parts_of(g, part);
	if (err)
		return err;
	for (uint32_t r = 0; r < job->n_ranks; r++)
		node_of[r] = part[r] == r ? p->n_nodes++ : UINT32_MAX;
	p->nodes = rs_arena_alloc(g->a, p->n_nodes, sizeof(*p->nodes));
	if (!p->nodes)
		return no_memory(g->e);
	for (uint32_t r = 0; r < job->n_ranks; r++) {
		uint32_t n = node_of[part[r]];

		p->nodes[n].host = job->ranks[r].host;
		p->ranks[r].host = job->ranks[r].host;
		p->ranks[r].node = n;
		p->ranks[r].local = p->nodes[n].n_ranks++;
		p->ranks[r].tag = job->ranks[r].tag;
	}
	for (uint32_t n = 0; n < p->n_nodes; n++) {
		p->nodes[n].ranks = rs_arena_alloc(g->a, p->nodes[n].n_ranks, sizeof(uint32_t));
		if (!p->nodes[n].ranks)
			return no_memory(g->e);
		if (p->nodes[n].n_ranks > p->max_local_ranks)
			p->max_local_ranks = p->nodes[n].n_ranks;
	}
	for (uint32_t r = 0; r < job->n_ranks; r++)
		p->nodes[p->ranks[r].node].ranks[p->ranks[r].local] = r;
	p->equal_nodes = p->n_nodes * p->max_local_ranks == p->n_ranks;
	return 0;
}

static void fill_nodes(struct rs_nccl_plan *p)
{
	for (uint32_t n = 0; n < p->n_nodes; n++) {
		struct rs_nccl_node *node = &p->nodes[n];
		const struct rs_nccl_class *c = node->class;

		node->n_nics = c->topo->n[NET];
		node->nics = c->nics;
		for (int i = 0; i < c->n_gpus; i++) {
			struct rs_nccl_rank *r = &p->ranks[node->ranks[c->local[i]]];

			r->gpu = (int16_t)i;
			r->dev = (int16_t)c->topo->nodes[GPU][i].dev;
			r->cc = (int16_t)c->topo->nodes[GPU][i].cc;
		}
	}
}

/* ---- What all agree on ---- */

static void agree_on(struct rs_nccl_graph *g, const struct found *f, bool first)
{
	if (first) {
		*g = (struct rs_nccl_graph){f->pattern, f->n_channels,  f->cross_nic,
					    f->same,    f->bw_intra,    f->bw_inter,
					    f->latency, f->class_intra, f->class_inter};
		return;
	}
	g->n_channels = f->n_channels < g->n_channels ? f->n_channels : g->n_channels;
	g->same_channels &= f->same;
	g->bw_intra = f->bw_intra < g->bw_intra ? f->bw_intra : g->bw_intra;
	g->bw_inter = f->bw_inter < g->bw_inter ? f->bw_inter : g->bw_inter;
	g->type_intra = f->class_intra > g->type_intra ? f->class_intra : g->type_intra;
	g->type_inter = f->class_inter > g->type_inter ? f->class_inter : g->type_inter;
	g->cross_nic = f->cross_nic > g->cross_nic ? f->cross_nic : g->cross_nic;
}

static void agree_cpu(struct rs_nccl_plan *p, const struct node *cpu, bool first)
{
	if (first) {
		p->cpu_arch = cpu->arch;
		p->cpu_vendor = cpu->vendor;
		p->cpu_fast = cpu->fast;
		return;
	}
	p->cpu_fast &= cpu->fast;
	if (p->cpu_arch != cpu->arch)
		p->cpu_arch = RS_NCCL_ARCH_MIXED;
	if (p->cpu_vendor != cpu->vendor)
		p->cpu_vendor = RS_NCCL_VENDOR_MIXED;
}

static void agree(struct planning *g)
{
	static const struct {
		enum rs_nccl_algo algo;
		int graph;
	} all[] = {{RS_NCCL_ALGO_TREE, TREE_GRAPH},
		   {RS_NCCL_ALGO_RING, RING_GRAPH},
		   {RS_NCCL_ALGO_COLLNET_DIRECT, DIRECT_GRAPH},
		   {RS_NCCL_ALGO_COLLNET_CHAIN, CHAIN_GRAPH},
		   {RS_NCCL_ALGO_NVLS, NVLS_GRAPH},
		   {RS_NCCL_ALGO_NVLS_TREE, NVLS_GRAPH},
		   {RS_NCCL_ALGO_PAT, TREE_GRAPH}};
	struct rs_nccl_plan *p = g->p;

	p->all_nvlink = p->nvswitch = true;
	for (uint32_t i = 0; i < g->n_classes; i++) {
		const struct rs_nccl_class *c = g->classes[i];
		int min, max;

		for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
			agree_on(&p->graph[all[k].algo], &c->found[all[k].graph], !i);
		if (c->found[TREE_GRAPH].pattern > p->max_tree_pattern)
			p->max_tree_pattern = c->found[TREE_GRAPH].pattern;
		nccl_cc_range(c->topo, &min, &max);
		p->min_cc = !i || min < p->min_cc ? min : p->min_cc;
		p->max_cc = max > p->max_cc ? max : p->max_cc;
		p->all_nvlink &= c->all_nvlink;
		p->nvswitch &= c->topo->n[NVS] > 0;
		p->gfx = !i || gfx(c) < p->gfx ? gfx(c) : p->gfx;
		p->rccl |= rccl(c);
		agree_cpu(p, c->topo->nodes[CPU], !i);
	}
}

/* NVLS_NCHANNELS_SM90 16, _SM100 32, and 24 on one node from 2.27 on (transport/nvls.cc). */
static void count_nvls(struct rs_nccl_plan *p)
{
	const struct rs_nccl_env *env = p->env;
	int n = 16;

	if (!p->graph[RS_NCCL_ALGO_NVLS].n_channels)
		return;
	if (p->min_cc >= 100 && p->release >= RS_NCCL_RELEASE(2, 25, 0))
		n = p->n_nodes == 1 && p->release >= RS_NCCL_RELEASE(2, 27, 0) ? 24 : 32;
	if (env->nvls_channels != RS_NCCL_UNSET)
		n = env->nvls_channels;
	p->nvls_channels = n;
}

static int make(struct planning *g)
{
	struct rs_nccl_plan *p = g->p;
	int err = split(g), n;

	for (uint32_t i = 0; i < p->n_nodes && !err; i++)
		err = class_make(g, &p->nodes[i]);
	if (err)
		return err;
	fill_nodes(p);
	agree(g);
	n = p->graph[RS_NCCL_ALGO_RING].n_channels;
	if (p->graph[RS_NCCL_ALGO_TREE].n_channels < n)
		n = p->graph[RS_NCCL_ALGO_TREE].n_channels;
	p->graph[RS_NCCL_ALGO_RING].n_channels = p->graph[RS_NCCL_ALGO_TREE].n_channels = n;
	p->graph[RS_NCCL_ALGO_PAT].n_channels = n;
	if (p->n_nodes == 1) /* COLLNET_NODE_THRESHOLD */
		p->graph[CHAIN].n_channels = p->graph[DIRECT].n_channels = 0;
	count_nvls(p);
	if (nccl_connect(p, n, g->a))
		return no_memory(g->e);
	nccl_count_p2p(p);
	return 0;
}

int rs_nccl_plan_make(const struct rs_nccl_job *job, const struct rs_nccl_env *env,
		      struct rs_arena *a, struct rs_nccl_plan **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct planning g = {.job = job, .a = a, .e = e ? e : &own};
	int err;

	*out = NULL;
	if (!job->n_ranks || job->n_ranks > RS_NCCL_RANKS_MAX || job->n_hosts > RS_NCCL_RANKS_MAX)
		return rs_error_set(g.e, -E2BIG, "a job of %u ranks; 1 to %d", job->n_ranks,
				    RS_NCCL_RANKS_MAX);
	g.p = rs_arena_alloc(a, 1, sizeof(*g.p));
	g.classes = rs_arena_alloc(a, job->n_ranks, sizeof(struct rs_nccl_class *));
	g.spare = rs_arena_alloc(a, RS_NCCL_CHANNELS_MAX * RS_NCCL_GPUS_MAX, sizeof(*g.spare));
	if (!g.p || !g.classes || !g.spare)
		return no_memory(g.e);
	*g.p = (struct rs_nccl_plan){.release = env->release, .env = env, .n_ranks = job->n_ranks};
	err = make(&g);
	if (err)
		return err;
	*out = g.p;
	return 0;
}
