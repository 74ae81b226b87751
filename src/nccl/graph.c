/* From a host to a graph for one job's GPUs: graph/topo.cc's constants and order of links. */
#include <errno.h>
#include <string.h>
#include "nccl/graph.h"

/* Of one NVLink, GB/s (graph/topo.h). */
float nccl_nvlink_bw(uint32_t release, int cc)
{
	if (cc >= 100 && release >= RS_NCCL_RELEASE(2, 25, 0))
		return release >= RS_NCCL_RELEASE(2, 27, 0) ? 40.1f : 40.0f;
	if (cc >= 90)
		return release >= RS_NCCL_RELEASE(2, 20, 0) ? 20.6f : 20.0f;
	return cc == 86 ? 12.0f : cc >= 70 ? 20.0f : cc >= 60 ? 18.0f : 20.0f;
}

/* Of one link of xGMI (RCCL's graph/topo.h). */
float nccl_xgmi_bw(int gfx)
{
	return gfx >= 940 ? 48.0f : gfx == RS_NCCL_GFX90A ? 36.0f : 24.0f;
}

/* Between the CPUs of a host, from this one, GB/s. */
static float socket_bw(uint32_t release, const struct rs_nccl_item *cpu)
{
	bool new = release >= RS_NCCL_RELEASE(2, 26, 0);

	switch (cpu->arch) {
	case RS_NCCL_POWER:
		return 32.0f;
	case RS_NCCL_ARM:
		return 6.0f;
	case RS_NCCL_X86:
		break;
	default:
		return LOC_BW;
	}
	if (cpu->vendor == RS_NCCL_AMD) /* AMD_BW came with 2.19 */
		return release >= RS_NCCL_RELEASE(2, 19, 0) ? 16.0f : (float)LOC_BW;
	if (cpu->vendor == RS_NCCL_ZHAOXIN)
		return cpu->family == 7 && cpu->model == 0x5b ? 9.0f : 6.0f;
	if (cpu->vendor != RS_NCCL_INTEL)
		return LOC_BW;
	if (cpu->family != 6 || cpu->model < 0x55)
		return 6.0f;
	return new && cpu->model >= 0xcf ? 40.0f : new && cpu->model >= 0x8f ? 22.0f : 10.0f;
}

/* A CPU of 2022 or later: Sapphire Rapids, Genoa, Grace. */
static bool fast_cpu(const struct rs_nccl_item *cpu)
{
	enum { SAPPHIRE_RAPIDS = 0x8f, GENOA = 0x11 };

	if (cpu->arch != RS_NCCL_X86 || cpu->vendor == RS_NCCL_INTEL)
		return cpu->arch == RS_NCCL_ARM ||
		       (cpu->family == 6 && cpu->model >= SAPPHIRE_RAPIDS);
	if (cpu->vendor != RS_NCCL_AMD)
		return false;
	/* some write the family as CPUID has it, some with NCCL's shift */
	return cpu->family == 191 || cpu->family == 26 ||
	       ((cpu->family == 175 || cpu->family == 25) && cpu->model == GENOA);
}

/* Adds to the link of this class to a node, or makes it; links stay in falling order. */
static void join(struct rs_nccl_topo *t, struct node *a, struct node *b, enum rs_nccl_path class,
		 float bw)
{
	struct link l;
	int i;

	for (i = 0; i < a->n_links; i++)
		if (a->links[i].to == b && a->links[i].class == class)
			break;
	if (i == a->n_links) {
		if (a->n_links == a->room) {
			struct link *more = rs_arena_alloc(
				t->arena, a->room ? 2 * (size_t)a->room : 8, sizeof(*more));

			if (!more) {
				t->full = true;
				return;
			}
			if (a->n_links)
				memcpy(more, a->links, (size_t)a->n_links * sizeof(*more));
			a->links = more;
			a->room = a->room ? 2 * a->room : 8;
		}
		a->links[a->n_links++] = (struct link){class, 0, b};
	}
	a->links[i].bw += bw;
	l = a->links[i];
	for (; i && a->links[i - 1].bw < l.bw; i--)
		a->links[i] = a->links[i - 1];
	a->links[i] = l;
}

static void join_both(struct rs_nccl_topo *t, struct node *a, struct node *b,
		      enum rs_nccl_path class, float bw)
{
	join(t, a, b, class, bw);
	join(t, b, a, class, bw);
}

static struct node *add_node(struct rs_nccl_topo *t, enum kind kind, int item)
{
	struct node *n = &t->nodes[kind][t->n[kind]];

	*n = (struct node){.kind = kind, .index = t->n[kind]++, .item = item};
	return n;
}

/* While a graph is made: the node of each item. */
struct making {
	struct rs_nccl_topo *t;
	const struct chosen *gpus;
	int n_gpus;
	bool nets;
	struct node **of;
};

static void add_gpu(struct making *m, int item)
{
	const struct rs_nccl_item *p = &m->t->host->items[item];

	for (int i = 0; i < m->n_gpus; i++)
		if (m->gpus[i].item == item) {
			m->of[item] = add_node(m->t, GPU, item);
			m->of[item]->rank = m->gpus[i].rank;
			m->of[item]->dev = p->dev;
			m->of[item]->cc = p->cc;
			m->of[item]->gdr = p->gdr;
		}
}

static void add_port(struct making *m, int item)
{
	const struct rs_nccl_item *p = &m->t->host->items[item];
	struct node *n;

	if (!m->nets || !rs_nccl_env_takes(m->t->env, p->name, p->port))
		return;
	n = m->of[item] = add_node(m->t, NET, item);
	n->dev = p->dev;
	n->net_bw = p->net_bw;
	n->latency = p->latency;
	n->asic = p->asic;
	n->port = p->port;
	n->gdr = p->gdr;
	n->collnet = p->collnet;
	join_both(m->t, m->of[p->parent], n, RS_NCCL_NET, p->net_bw);
}

/* Children first: a switch's ports come before its way up. */
static void add_item(struct making *m, int item)
{
	const struct rs_nccl_host *h = m->t->host;
	const struct rs_nccl_item *p = &h->items[item];
	struct node *n;

	switch (p->kind) {
	case RS_NCCL_GPU:
		add_gpu(m, item);
		break;
	case RS_NCCL_PORT:
		add_port(m, item);
		return;
	default:
		m->of[item] = add_node(m->t,
				       p->kind == RS_NCCL_CPU   ? CPU
				       : p->kind == RS_NCCL_PCI ? PCI
								: NIC,
				       item);
	}
	n = m->of[item];
	for (int i = item + 1; i < h->n_items; i++)
		if (h->items[i].parent == item)
			add_item(m, i);
	if (n && n->kind == CPU) {
		n->arch = p->arch;
		n->vendor = p->vendor;
		n->fast = fast_cpu(p);
	} else if (n && !(n->kind == NIC && !n->n_links)) {
		join_both(m->t, n, m->of[p->parent], RS_NCCL_PIX, p->bw);
	}
}

static struct node *cpu_above(const struct making *m, int item)
{
	while (item >= 0 && m->t->host->items[item].kind != RS_NCCL_CPU)
		item = m->t->host->items[item].parent;
	return item < 0 ? NULL : m->of[item];
}

static void add_nvlinks(struct making *m)
{
	const struct rs_nccl_host *h = m->t->host;
	uint32_t release = m->t->env->release;

	for (int i = 0; i < h->n_nvlinks; i++) {
		const struct rs_nccl_nvlink *x = &h->nvlinks[i];
		struct node *gpu = m->of[x->gpu], *to;
		bool xgmi = x->to >= 0 && h->items[x->gpu].amd;
		float bw;

		if (!gpu)
			continue;
		bw = (float)x->count *
		     (xgmi ? nccl_xgmi_bw(h->items[x->gpu].gfx) : nccl_nvlink_bw(release, gpu->cc));
		if (x->to >= 0) {
			if (m->of[x->to])
				join(m->t, gpu, m->of[x->to], RS_NCCL_NVL, bw);
			continue;
		}
		if (x->to == RS_NCCL_TO_SWITCH && !m->t->n[NVS])
			add_node(m->t, NVS, -1);
		to = x->to == RS_NCCL_TO_SWITCH ? m->t->nodes[NVS] : cpu_above(m, x->gpu);
		join_both(m->t, gpu, to, RS_NCCL_NVL, bw);
	}
	for (int i = 0; i < h->n_c2cs && release >= RS_NCCL_RELEASE(2, 19, 0); i++) {
		struct node *gpu = m->of[h->c2cs[i].gpu];

		/* a class of its own from 2.26 on */
		if (gpu)
			join_both(m->t, gpu, cpu_above(m, h->c2cs[i].gpu),
				  release >= RS_NCCL_RELEASE(2, 26, 0) ? RS_NCCL_C2C : RS_NCCL_NVL,
				  h->c2cs[i].bw);
	}
}

/* Broadcom's PEX switches show two levels, which are one at full rate. The generation of a switch's
 * ids at a level, or 0. */
static int pex(uint64_t device, int level)
{
	if ((device & ~UINT64_C(0xfff)) == UINT64_C(0x1000c0101000a000))
		return 4;
	return (device & ~UINT64_C(0xfff)) == (UINT64_C(0x1000c03010000000) | (uint64_t)level << 12)
		       ? 5
		       : 0;
}

static void take_link(struct node *n, int i)
{
	memmove(&n->links[i], &n->links[i + 1], (size_t)(n->n_links - i - 1) * sizeof(*n->links));
	n->n_links--;
}

/* The ports of a switch below become the upper one's. */
static void flatten(struct rs_nccl_topo *t, struct node *sw, struct node *sub)
{
	for (int i = 0; i < sub->n_links; i++) {
		struct node *below = sub->links[i].to;

		if (below == sw)
			continue;
		if (sw->n_links == sw->room) {
			struct link *more =
				rs_arena_alloc(t->arena, 2 * (size_t)sw->room, sizeof(*more));

			if (!more) {
				t->full = true;
				return;
			}
			memcpy(more, sw->links, (size_t)sw->n_links * sizeof(*more));
			sw->links = more;
			sw->room *= 2;
		}
		sw->links[sw->n_links++] = sub->links[i];
		for (int k = 0; k < below->n_links; k++)
			if (below->links[k].to == sub) {
				below->links[k].to = sw;
				break;
			}
	}
	sub->n_links = 0;
}

static void flatten_all(struct making *m)
{
	const struct rs_nccl_item *items = m->t->host->items;

	for (int s = 0; s < m->t->n[PCI]; s++) {
		struct node *sw = &m->t->nodes[PCI][s], *subs[RS_NCCL_GPUS_MAX];
		int gen = pex(items[sw->item].device, 0), n = 0;

		for (int i = 0; gen && i < sw->n_links; i++) {
			struct node *sub = sw->links[i].to;

			if (sub->kind != PCI || sub->item < sw->item ||
			    pex(items[sub->item].device, 1) != gen || n == RS_NCCL_GPUS_MAX)
				continue;
			subs[n++] = sub;
			take_link(sw, i--);
		}
		for (int i = 0; i < n; i++)
			flatten(m->t, sw, subs[i]);
	}
}

/* The way up is the last of a PCI device's links. */
static void up_last(struct node *n, struct node *up)
{
	for (int i = 0; up && i < n->n_links; i++)
		if (n->links[i].to == up) {
			struct link l = n->links[i];

			take_link(n, i);
			n->links[n->n_links++] = l;
			break;
		}
	for (int i = 0; i < n->n_links; i++)
		if (n->links[i].class == RS_NCCL_PIX && n->links[i].to != up)
			up_last(n->links[i].to, n);
}

static int check_size(const struct rs_nccl_host *h, int n_gpus, struct rs_error *e)
{
	if (n_gpus > RS_NCCL_GPUS_MAX || h->n_ports > RS_NCCL_GPUS_MAX)
		return rs_error_set(e, -E2BIG, "a node of more than %d GPUs or NICs",
				    RS_NCCL_GPUS_MAX);
	return 0;
}

static bool claim(struct rs_nccl_topo *t, struct making *m)
{
	const struct rs_nccl_host *h = t->host;
	int count[KINDS] = {[NVS] = 1};

	for (int i = 0; i < h->n_items; i++)
		count[(const int[]){CPU, PCI, GPU, NIC, NET}[h->items[i].kind]]++;
	for (int k = 0; k < KINDS; k++) {
		t->nodes[k] = rs_arena_alloc(t->arena, (size_t)count[k] + 1, sizeof(**t->nodes));
		if (!t->nodes[k])
			return false;
	}
	m->of = rs_arena_alloc(t->arena, (size_t)h->n_items, sizeof(*m->of));
	return m->of;
}

int nccl_topo_build(const struct rs_nccl_host *h, const struct rs_nccl_env *env,
		    const struct chosen *gpus, int n_gpus, bool nets, struct rs_arena *a,
		    struct rs_nccl_topo **out, struct rs_error *e)
{
	struct rs_nccl_topo *t = rs_arena_alloc(a, 1, sizeof(*t));
	struct making m = {t, gpus, n_gpus, nets, NULL};
	int err = check_size(h, n_gpus, e);

	if (err)
		return err;
	if (!t)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*t = (struct rs_nccl_topo){.arena = a, .env = env, .host = h};
	if (!claim(t, &m))
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (int i = 0; i < h->n_items; i++)
		if (h->items[i].parent < 0)
			add_item(&m, i);
	add_nvlinks(&m);
	flatten_all(&m);
	for (int i = 0; i < t->n[CPU]; i++)
		for (int j = 0; j < t->n[CPU]; j++)
			if (i != j)
				join(t, &t->nodes[CPU][i], &t->nodes[CPU][j], RS_NCCL_SYS,
				     socket_bw(env->release, &h->items[t->nodes[CPU][i].item]));
	for (int i = 0; i < t->n[CPU]; i++)
		up_last(&t->nodes[CPU][i], NULL);
	if (t->full || nccl_topo_ways(t))
		return rs_error_set(e, -ENOMEM, "out of memory");
	nccl_search_init(t);
	*out = t;
	return 0;
}
