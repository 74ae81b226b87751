/* Plans of random hosts: whatever the search finds, rings pass each rank once, trees reach each
 * rank once, links and NICs carry no more than they can, and both sides of a p2p round agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "nccl/searches.h"
#include "nccl/state.h"

#ifdef RS_SANITIZED
enum { HOSTS = 40 };
#else
enum { HOSTS = 120 };
#endif

static const struct rs_where nowhere = {"test", 1, 1};
static const uint32_t releases[] = {21805, 21903, 22005, 22105, 22203, 22304, 22403, 22501,
				    22602, 22703, 22707, 22809, 22902, 23004, 23007};

/* Of all hosts that are drawn. */
static struct rs_nccl_searches *kept;

struct drawn {
	int cc, gpus, nics, links; /* links: NVLinks of a GPU to the switches; -1: to all others */
	bool switches, amd;
};

static struct drawn draw(struct rs_random *r)
{
	static const int ccs[] = {70, 80, 86, 90, 100}, rates[] = {0, 1, 2, 4, 6};
	struct drawn d = {.cc = ccs[rs_random_below(r, 5)], .gpus = 1 << rs_random_below(r, 4)};

	d.nics = 1 << rs_random_below(r, 4);
	if (d.nics > d.gpus)
		d.nics = d.gpus;
	d.links = d.gpus > 1 ? rates[rs_random_below(r, 5)] * 3 : 0;
	if (d.links && d.gpus <= 4 && rs_random_below(r, 2))
		d.links = -1;
	d.switches = rs_random_below(r, 3) > 0;
	d.amd = rs_random_below(r, 2);
	return d;
}

static int add(struct rs_load *l, struct rs_nccl_host *h, enum rs_nccl_item_kind kind, int parent,
	       float bw)
{
	struct rs_nccl_item *p = rs_nccl_item_add(l, h, kind, parent, nowhere);

	assert_non_null(p);
	p->bus = (uint64_t)h->n_items << 12;
	p->bw = bw;
	return h->n_items - 1;
}

/* Two sockets; a GPU, and its NIC where it has one, below a switch or on the socket. */
static struct rs_nccl_host *build(struct rs_load *l, const struct drawn *d)
{
	struct rs_nccl_host *h = rs_load_take(l, 1, sizeof(*h));
	float pci = d->cc >= 100 ? 96 : d->cc >= 90 ? 48 : d->cc >= 80 ? 24 : 12;
	int gpus[8], gpu = 0, nic = 0;

	assert_non_null(h);
	for (int s = 0; s < 2; s++) {
		int cpu = add(l, h, RS_NCCL_CPU, -1, 0);

		h->items[cpu].arch = RS_NCCL_X86;
		h->items[cpu].vendor = d->amd ? RS_NCCL_AMD : RS_NCCL_INTEL;
		h->items[cpu].family = 6;
		h->items[cpu].model = 143;
		for (; gpu < (s ? d->gpus : (d->gpus + 1) / 2); gpu++) {
			int up = d->switches ? add(l, h, RS_NCCL_PCI, cpu, pci) : cpu, port;

			gpus[gpu] = add(l, h, RS_NCCL_GPU, up, pci);
			h->items[gpus[gpu]].dev = gpu;
			h->items[gpus[gpu]].cc = d->cc;
			if (gpu * d->nics / d->gpus < nic)
				continue;
			port = add(l, h, RS_NCCL_PORT, add(l, h, RS_NCCL_NIC, up, pci), 0);
			h->items[port].dev = nic++;
			h->items[port].asic = (uint64_t)nic;
			h->items[port].net_bw = pci;
		}
	}
	for (int i = 0; i < d->gpus && d->links; i++)
		for (int k = 0; k < (d->links < 0 ? d->gpus : 1); k++)
			if (d->links > 0)
				rs_nccl_nvlink_add(l, h, gpus[i], RS_NCCL_TO_SWITCH, d->links);
			else if (k != i)
				rs_nccl_nvlink_add(l, h, gpus[i], gpus[k], 4);
	return h;
}

static void rings_pass_each_rank_once(const struct rs_nccl_plan *p)
{
	for (int c = 0; c < p->n_channels; c++) {
		const uint32_t *ring = p->channel[c].ring;
		uint32_t changes = 0;
		uint64_t seen = 0;

		assert_int_equal(ring[0], 0);
		for (uint32_t i = 0; i < p->n_ranks; i++) {
			seen |= UINT64_C(1) << ring[i];
			changes +=
				p->ranks[ring[i]].node != p->ranks[ring[(i + 1) % p->n_ranks]].node;
		}
		assert_int_equal(seen, (UINT64_C(1) << p->n_ranks) - 1);
		assert_int_equal(changes, p->n_nodes > 1 ? p->n_nodes : 0);
	}
}

static void trees_reach_each_rank_once(const struct rs_nccl_plan *p)
{
	for (int c = 0; c < p->n_channels; c++) {
		const struct rs_nccl_tree *t = p->channel[c].tree;
		uint32_t roots = 0;

		for (uint32_t r = 0; r < p->n_ranks; r++) {
			uint32_t hops = 0, at = r;

			roots += t[r].up < 0;
			while (t[at].up >= 0 && hops++ < p->n_ranks)
				at = (uint32_t)t[at].up;
			assert_true(hops < p->n_ranks);
			for (int i = 0; i < RS_NCCL_TREE_ARITY; i++)
				if (t[r].down[i] >= 0)
					assert_int_equal(t[t[r].down[i]].up, r);
		}
		assert_int_equal(roots, 1);
	}
}

/* The search's demands, added up apart from it: of each GPU's NVLinks to the switches, of NICs. */
static void nothing_carries_too_much(const struct rs_nccl_plan *p, const struct drawn *d)
{
	const struct rs_nccl_class *class = p->nodes[0].class;
	const struct found *f = &class->found[RING_GRAPH];
	float nvlink = (float)d->links * nccl_nvlink_bw(p->release, d->cc);
	float out[8] = {0}, enter[8] = {0}, leave[8] = {0};
	int n = class->n_gpus;

	if (f->bw_intra < .2f)
		return; /* the simple order, of which nothing is asked */
	for (int c = 0; c < f->n_channels; c++) {
		for (int i = 0; i < n - (p->n_nodes > 1); i++)
			out[f->intra[c * n + i]] += f->bw_intra;
		enter[f->inter[2 * c]] += f->bw_inter;
		leave[f->inter[2 * c + 1]] += f->bw_inter;
	}
	for (int i = 0; i < n && d->links > 0 && n > 1; i++)
		assert_true(out[i] <= nvlink + .01f);
	for (int i = 0; i < class->topo->n[NET]; i++)
		assert_true(enter[i] <= class->nics[i].bw + .01f &&
			    leave[i] <= class->nics[i].bw + .01f);
}

static void both_sides_of_a_round_agree(const struct rs_nccl_plan *p)
{
	uint32_t send[64][64], recv[64][64];

	for (uint32_t r = 0; r < p->n_ranks; r++)
		rs_nccl_p2p_schedule(p, r, send[r], recv[r]);
	for (uint32_t k = 0; k < p->n_ranks; k++)
		for (uint32_t r = 0; r < p->n_ranks; r++) {
			assert_int_equal(recv[send[r][k]][k], r);
			for (int part = 0; part < p->p2p_channels_per_peer; part++) {
				int c = rs_nccl_p2p_channel(p, k, part);

				assert_in_range(c, 0, p->p2p_channels - 1);
			}
		}
}

static void ways_are_of_the_node(const struct rs_nccl_plan *p)
{
	for (uint32_t r = 0; r < p->n_ranks && p->n_nodes > 1; r++)
		for (int c = 0; c < p->n_channels; c++) {
			struct rs_nccl_way w[] = {
				rs_nccl_way(p, RS_NCCL_ALGO_RING, r, c, true),
				rs_nccl_way(p, RS_NCCL_ALGO_TREE, r, c, false),
				rs_nccl_p2p_way(p, r, (r + 1) % p->n_ranks, c, true)};

			for (int i = 0; i < 3; i++) {
				assert_in_range(w[i].net, 0, p->nodes[p->ranks[r].node].n_nics - 1);
				assert_int_equal(p->ranks[w[i].proxy].node, p->ranks[r].node);
			}
		}
}

static void founds_are_the_same(const struct found *a, const struct found *b, int n_gpus)
{
	for (int i = 0; i < GRAPHS; i++) {
		size_t n = (size_t)(a[i].n_channels * n_gpus) * sizeof(*a[i].intra);

		assert_int_equal(a[i].n_channels, b[i].n_channels);
		assert_int_equal(a[i].pattern, b[i].pattern);
		assert_int_equal(a[i].same, b[i].same);
		assert_int_equal(a[i].cross_nic, b[i].cross_nic);
		assert_int_equal(a[i].class_intra, b[i].class_intra);
		assert_int_equal(a[i].class_inter, b[i].class_inter);
		assert_true(a[i].bw_intra == b[i].bw_intra && a[i].bw_inter == b[i].bw_inter);
		assert_memory_equal(a[i].inter, b[i].inter, 4 * (size_t)a[i].n_channels);
		assert_memory_equal(a[i].intra, b[i].intra, n);
	}
}

static void plans_are_the_same(const struct rs_nccl_plan *p, const struct rs_nccl_plan *q)
{
	const struct rs_nccl_class *a = p->nodes->class, *b = q->nodes->class;

	founds_are_the_same(a->found, b->found, a->n_gpus);
	assert_int_equal(a->n_heads, b->n_heads);
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < a->topo->n[k]; i++) {
			const struct node *m = &a->topo->nodes[k][i], *n = &b->topo->nodes[k][i];

			assert_true(m->net_bw == n->net_bw && m->n_links == n->n_links);
			for (int l = 0; l < m->n_links; l++)
				assert_true(m->links[l].bw == n->links[l].bw);
		}
	assert_int_equal(p->n_channels, q->n_channels);
	assert_int_equal(p->p2p_channels, q->p2p_channels);
	assert_int_equal(p->p2p_channels_per_peer, q->p2p_channels_per_peer);
	for (int c = 0; c < p->n_channels; c++)
		assert_memory_equal(p->channel[c].ring, q->channel[c].ring,
				    p->n_ranks * sizeof(*p->channel[c].ring));
}

/* With what other hosts, other variables left there, and again with what the first one left. */
static void kept_searches_find_the_same(const struct rs_nccl_plan *p, struct rs_nccl_job job,
					const struct rs_nccl_env *env, struct rs_arena *a)
{
	uint64_t taken = rs_nccl_searches_taken(kept);
	struct rs_nccl_plan *q;

	job.searches = kept;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rs_nccl_plan_make(&job, env, a, &q, NULL), 0);
		plans_are_the_same(p, q);
	}
	assert_true(rs_nccl_searches_taken(kept) > taken);
}

static void one(struct rs_random *r, uint32_t release)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_error e = {0};
	struct rs_load l = {.arena = a, .e = &e, .name = "test"};
	struct drawn d = draw(r);
	const struct rs_nccl_host *h = build(&l, &d), *hosts[] = {h, h, h, h, h};
	struct rs_nccl_place places[40];
	struct rs_nccl_job job = {1 + rs_random_below(r, 5), 0, hosts, places, NULL};
	struct rs_nccl_env env;
	struct rs_nccl_plan *p;

	rs_nccl_env_init(&env, release);
	env.cross_nic = (int)rs_random_below(r, 3);
	env.pxn_disable = rs_random_below(r, 4) == 0;
	for (uint32_t i = 0; i < job.n_hosts; i++)
		for (int g = 0; g < d.gpus; g++)
			places[job.n_ranks++] = (struct rs_nccl_place){i, g, 0};
	if (rs_nccl_plan_make(&job, &env, a, &p, &e))
		fail_msg("%s", e.what);
	assert_in_range(p->n_channels, 1, nccl_channels_max(release));
	rings_pass_each_rank_once(p);
	trees_reach_each_rank_once(p);
	nothing_carries_too_much(p, &d);
	both_sides_of_a_round_agree(p);
	ways_are_of_the_node(p);
	kept_searches_find_the_same(p, job, &env, a);
	rs_arena_destroy(a);
}

static void test_random_hosts(void **state)
{
	kept = rs_nccl_searches_create();
	assert_non_null(kept);
	for (uint64_t i = 0; i < HOSTS; i++) {
		struct rs_random r = rs_random_stream(1, i, 1);

		one(&r, releases[i % (sizeof(releases) / sizeof(*releases))]);
	}
	assert_in_range(rs_nccl_searches_kept(kept), HOSTS / 2, HOSTS);
	rs_nccl_searches_free(kept);
}

/* Hosts of 8 GPUs with a NIC of 48 GB/s each. */
static void check_peers(uint32_t release, uint32_t hosts, int per_peer, int first_part)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_error e = {0};
	struct rs_load l = {.arena = a, .e = &e, .name = "test"};
	const struct drawn d = {.cc = 90, .gpus = 8, .nics = 8, .links = 18, .switches = true};
	const struct rs_nccl_host *h = build(&l, &d), *all[10];
	struct rs_nccl_place places[80];
	struct rs_nccl_job job = {hosts, 0, all, places, NULL};
	struct rs_nccl_env env;
	struct rs_nccl_plan *p;

	rs_nccl_env_init(&env, release);
	for (uint32_t i = 0; i < hosts; i++) {
		all[i] = h;
		for (int g = 0; g < d.gpus; g++)
			places[job.n_ranks++] = (struct rs_nccl_place){i, g, 0};
	}
	assert_int_equal(rs_nccl_plan_make(&job, &env, a, &p, &e), 0);
	assert_int_equal(p->p2p_channels, 16);
	assert_int_equal(p->p2p_channels_per_peer, per_peer);
	assert_int_equal(rs_nccl_p2p_channel(p, 8, 0), first_part);
	rs_arena_destroy(a);
}

/* To 2.28 two channels a peer, fewer at scale; from 2.29 on as many as carry the NIC's rate at
 * 14 GB/s each, while all peers, eight to a channel, fit in one round (graph/paths.cc). From 2.28
 * on the first part of a round has its bits turned round, not the others (NCCL's channel.h). */
static void test_channels_of_a_peer(void **state)
{
	check_peers(22707, 2, 2, 1);
	check_peers(22707, 4, 2, 1);
	check_peers(22707, 10, 1, 1);
	check_peers(22809, 2, 2, 8);
	check_peers(22902, 2, 4, 8);
	check_peers(22902, 4, 4, 8);
	check_peers(22902, 5, 2, 8);
	check_peers(22902, 10, 1, 8);
}

/* Two hosts of 8 GPUs: without peer-to-peer and shared memory
 * each GPU is a node, with NVLink alone the host is one. */
static void test_nodes_without_shared_memory(void **state)
{
	static const struct {
		const char *env[2];
		int links;
		uint32_t nodes;
	} of[] = {{{"NCCL_SHM_DISABLE", "NCCL_P2P_DISABLE"}, 0, 16},
		  {{"NCCL_SHM_DISABLE", "NCCL_P2P_DISABLE"}, 18, 16},
		  {{"NCCL_SHM_DISABLE", "NCCL_SHM_DISABLE"}, 18, 2},
		  {{"NCCL_P2P_DISABLE", "NCCL_P2P_DISABLE"}, 0, 2}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct rs_arena *a = rs_arena_create(0);
		struct rs_error e = {0};
		struct rs_load l = {.arena = a, .e = &e, .name = "test"};
		const struct drawn d = {
			.cc = 90, .gpus = 8, .nics = 8, .links = of[i].links, .switches = true};
		const struct rs_nccl_host *h = build(&l, &d), *all[2] = {h, h};
		struct rs_nccl_place places[16];
		struct rs_nccl_job job = {2, 0, all, places, NULL};
		struct rs_nccl_env env;
		struct rs_nccl_plan *p;

		rs_nccl_env_init(&env, 22707);
		for (int k = 0; k < 2; k++)
			assert_int_equal(rs_nccl_env_set(&env, of[i].env[k], "1", &e), 0);
		for (uint32_t r = 0; r < 16; r++)
			places[job.n_ranks++] = (struct rs_nccl_place){r / 8, (int)r % 8, 0};
		assert_int_equal(rs_nccl_plan_make(&job, &env, a, &p, &e), 0);
		assert_int_equal(p->n_nodes, of[i].nodes);
		rings_pass_each_rank_once(p);
		for (uint32_t r = 0; r < 16 && of[i].nodes == 16; r++)
			assert_int_equal(rs_nccl_via(p, r, (r + 1) % 16, NULL, NULL),
					 RS_NCCL_VIA_NET);
		rs_arena_destroy(a);
	}
}

/* Two ranks of one GPU are refused, though they would be nodes of their own. */
static void test_two_ranks_of_a_gpu(void **state)
{
	for (int shm = 0; shm < 2; shm++) {
		struct rs_arena *a = rs_arena_create(0);
		struct rs_error e = {0};
		struct rs_load l = {.arena = a, .e = &e, .name = "test"};
		const struct drawn d = {.cc = 90, .gpus = 8, .nics = 8, .switches = true};
		const struct rs_nccl_host *h = build(&l, &d);
		struct rs_nccl_place places[2] = {{0, 3, 0}, {0, 3, 0}};
		struct rs_nccl_job job = {1, 2, &h, places, NULL};
		struct rs_nccl_env env;
		struct rs_nccl_plan *p;

		rs_nccl_env_init(&env, 22707);
		env.shm_disable = shm;
		assert_int_equal(rs_nccl_plan_make(&job, &env, a, &p, &e), -EINVAL);
		assert_non_null(strstr(e.what, "two ranks on GPU 3"));
		rs_arena_destroy(a);
	}
}

/* ---- xGMI ---- */

/* GPUs of AMD on one CPU each, with a NIC or without, and as many links as count says. */
static struct rs_nccl_host *xgmi_host(struct rs_load *l, int n, int gfx, const int *count)
{
	struct rs_nccl_host *h = rs_load_take(l, 1, sizeof(*h));
	int gpus[8];

	assert_non_null(h);
	for (int g = 0; g < n; g++) {
		int cpu = add(l, h, RS_NCCL_CPU, -1, 0), port;

		h->items[cpu].arch = RS_NCCL_X86;
		h->items[cpu].vendor = RS_NCCL_AMD;
		gpus[g] = add(l, h, RS_NCCL_GPU, cpu, 24);
		h->items[gpus[g]].dev = g;
		h->items[gpus[g]].cc = 90;
		h->items[gpus[g]].amd = true;
		h->items[gpus[g]].gfx = gfx;
		port = add(l, h, RS_NCCL_PORT, add(l, h, RS_NCCL_NIC, cpu, 24), 0);
		h->items[port].dev = g;
		h->items[port].asic = (uint64_t)g + 1;
		h->items[port].net_bw = 24;
	}
	for (int i = 0; i < n * n; i++)
		if (count[i])
			rs_nccl_nvlink_add(l, h, gpus[i / n], gpus[i % n], count[i]);
	return h;
}

static struct rs_nccl_plan *xgmi_plan(struct rs_arena *a, uint32_t hosts, int n, int gfx,
				      const int *count)
{
	struct rs_error e = {0};
	struct rs_load l = {.arena = a, .e = &e, .name = "test"};
	const struct rs_nccl_host *h = xgmi_host(&l, n, gfx, count), *all[2] = {h, h};
	struct rs_nccl_place places[16];
	struct rs_nccl_job job = {hosts, 0, all, places, NULL};
	struct rs_nccl_env *env = rs_arena_alloc(a, 1, sizeof(*env));
	struct rs_nccl_plan *p;

	assert_non_null(env);
	rs_nccl_env_init(env, 22707);
	for (uint32_t i = 0; i < hosts; i++)
		for (int g = 0; g < n; g++)
			places[job.n_ranks++] = (struct rs_nccl_place){i, g, 0};
	assert_int_equal(rs_nccl_plan_make(&job, env, a, &p, &e), 0);
	rings_pass_each_rank_once(p);
	trees_reach_each_rank_once(p);
	return p;
}

/* The fullest link: rings of all found channels over it, by its links, in hundredths. */
static int fullest(const struct rs_nccl_plan *p, int n, const int *count)
{
	int load[64] = {0}, most = 0, found = p->graph[RS_NCCL_ALGO_RING].n_channels;

	for (int c = 0; c < found; c++)
		for (uint32_t i = 0; i < p->n_ranks; i++) {
			uint32_t from = p->channel[c].ring[i];
			uint32_t to = p->channel[c].ring[(i + 1) % p->n_ranks];

			if (p->ranks[from].node != p->ranks[to].node)
				continue;
			assert_true(count[(from % n) * n + to % n] > 0);
			load[(from % n) * n + to % n]++;
		}
	for (int i = 0; i < n * n; i++)
		if (count[i] && 100 * load[i] / count[i] > most)
			most = 100 * load[i] / count[i];
	return most / (int)p->n_nodes;
}

static void test_xgmi_loads_all_links_alike(void **state)
{
	/* rings of one host, lines of several; rings of a link */
	static const struct {
		int n, rings, full, lines, net_full;
	} of[] = {{2, 2, 200, 8, 400},
		  {3, 2, 100, 12, 400},
		  {4, 6, 200, 8, 200},
		  {5, 4, 100, 10, 200},
		  {8, 14, 200, 8, 100}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct rs_arena *a = rs_arena_create(0);
		struct rs_nccl_plan *p;
		int count[64] = {0}, n = of[i].n;

		for (int k = 0; k < n * n; k++)
			count[k] = k / n != k % n;
		p = xgmi_plan(a, 1, n, 942, count);
		assert_int_equal(p->graph[RS_NCCL_ALGO_RING].n_channels, of[i].rings);
		assert_int_equal(fullest(p, n, count), of[i].full);
		p = xgmi_plan(a, 2, n, 942, count);
		assert_int_equal(p->graph[RS_NCCL_ALGO_RING].n_channels, of[i].lines);
		assert_int_equal(fullest(p, n, count), of[i].net_full);
		rs_arena_destroy(a);
	}
}

/* Four MI250X of two dies (RCCL's machine 62): four rings, as it has; four times as many channels
 * on one host. */
static void test_xgmi_of_mi250x(void **state)
{
	static const int links[][3] = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4},
				       {0, 2, 1}, {0, 6, 2}, {1, 3, 1}, {1, 5, 1},
				       {2, 4, 2}, {3, 7, 1}, {4, 6, 1}, {5, 7, 1}};
	struct rs_arena *a = rs_arena_create(0);
	struct rs_nccl_plan *p;
	int count[64] = {0};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		count[links[i][0] * 8 + links[i][1]] = count[links[i][1] * 8 + links[i][0]] =
			links[i][2];
	p = xgmi_plan(a, 1, 8, RS_NCCL_GFX90A, count);
	assert_int_equal(p->graph[RS_NCCL_ALGO_RING].n_channels, 4);
	assert_int_equal(p->coll_channels, 16);
	assert_int_equal(fullest(p, 8, count), 100);
	p = xgmi_plan(a, 2, 8, RS_NCCL_GFX90A, count);
	assert_int_equal(p->graph[RS_NCCL_ALGO_RING].n_channels, 8);
	assert_int_equal(p->coll_channels, 16);
	rs_arena_destroy(a);
}

static void test_env_refuses(void **state)
{
	struct rs_nccl_env env;
	struct rs_error e = {0};

	rs_nccl_env_init(&env, 22707);
	assert_int_equal(rs_nccl_env_set(&env, "NCCL_CROSS_NIC", "1", &e), 0);
	assert_int_equal(env.cross_nic, 1);
	assert_int_equal(rs_nccl_env_set(&env, "NCCL_P2P_LEVEL", "SYS", &e), 0);
	assert_int_equal(env.p2p_level, RS_NCCL_SYS);
	assert_int_equal(rs_nccl_env_set(&env, "NCCL_DEBUG", "INFO", &e), 1);
	assert_true(rs_nccl_env_set(&env, "NCCL_CROSS_NIC", "3", &e) < 0);
	assert_true(rs_nccl_env_set(&env, "NCCL_P2P_LEVEL", "FAR", &e) < 0);
	assert_true(rs_nccl_env_set(&env, "PATH", "1", &e) < 0);
	strcpy(env.hca, "^mlx5_1,mlx5_2:1");
	assert_true(rs_nccl_env_takes(&env, "mlx5_0", 1));
	assert_false(rs_nccl_env_takes(&env, "mlx5_10", 1));
	assert_true(rs_nccl_env_takes(&env, "mlx5_2", 2));
	strcpy(env.hca, "=mlx5_1");
	assert_false(rs_nccl_env_takes(&env, "mlx5_10", 1));
	assert_int_equal(rs_nccl_release_parse("2.21.5+cuda12.4"), 22105);
	assert_int_equal(rs_nccl_release_parse("two"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_hosts),
		cmocka_unit_test(test_channels_of_a_peer),
		cmocka_unit_test(test_nodes_without_shared_memory),
		cmocka_unit_test(test_two_ranks_of_a_gpu),
		cmocka_unit_test(test_xgmi_loads_all_links_alike),
		cmocka_unit_test(test_xgmi_of_mi250x),
		cmocka_unit_test(test_env_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
