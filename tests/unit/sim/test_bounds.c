/*
 * Collectives against their bounds: each operation by each algorithm, on hosts of 1, 2, 3 and 8
 * GPUs (a NIC each, nothing inside), 1 to 8 channels, 1, 2 and 4 queue pairs, on one switch, rails,
 * and leaf-spine of 1:1 and 2:1. A bound is what its busiest NIC or cut of the network must carry
 * at the rate of payload, and the time that the first bytes take where an algorithm is a pipeline;
 * both are worked out here, from the definitions, not asked of the planner.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"
#include "sim/sim.h"

#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 17 }; /* of the cases one in so many */
#else
enum { EVERY = 1 };
#endif

enum { MTU = 4096, HEADERS = 82, CASES_MAX = 1024, NICS_MAX = 64 };
#define RATE    400e9
#define DELAY   0.5e-6
#define SWITCH  0.5e-6
#define GOODPUT (RATE / 8 * MTU / (MTU + HEADERS))
#define FRAME   ((MTU + HEADERS) * 8 / RATE)

enum net { SINGLE, RAILS, CLOS, CLOS2, NETS };
static const char *const nets[] = {"one switch", "rails", "leaf-spine 1:1", "leaf-spine 2:1"};

enum what {
	AR_RING,
	RS_RING,
	AG_RING,
	BC_RING,
	AR_TREE,
	BC_TREE,
	AR_HIER,
	RS_HIER,
	AG_HIER,
	A2A,
	WHATS
};
static const struct {
	const char *op, *algorithm;
} whats[] = {
	[AR_RING] = {"all-reduce", "ring"},         [RS_RING] = {"reduce-scatter", "ring"},
	[AG_RING] = {"all-gather", "ring"},         [BC_RING] = {"broadcast", "ring"},
	[AR_TREE] = {"all-reduce", "tree"},         [BC_TREE] = {"broadcast", "tree"},
	[AR_HIER] = {"all-reduce", "hierarchical"}, [RS_HIER] = {"reduce-scatter", "hierarchical"},
	[AG_HIER] = {"all-gather", "hierarchical"}, [A2A] = {"all-to-all", "pairwise"},
};

struct test_case {
	enum what what;
	enum net net;
	uint32_t hosts, gpus, channels, qps;
	const char *delay, *cc;
	double slack; /* 1.05, or what a row says */
	uint64_t bytes, chunk;
	double bound; /* s, of the busiest NIC or cut */
	double fill;  /* s, until the last hop of a pipeline has its first chunk */
	const char *cut;
};

/* ---- The bounds ---- */

/* Parent of host h in the first tree over n: its lowest bit moves up by one, or is taken away where
 * that is past the end. The second tree: hosts mirrored where n is even, else shifted by one. */
static uint32_t parent(uint32_t tree, uint32_t n, uint32_t h)
{
	uint32_t r = !tree ? h : n % 2 ? (h + n - 1) % n : n - 1 - h, bit = r & -r, up;

	if (!r)
		return h;
	up = (r ^ bit) | bit << 1;
	up = up >= n ? r ^ bit : up;
	return !tree ? up : n % 2 ? (up + 1) % n : n - 1 - up;
}

static uint32_t children(uint32_t tree, uint32_t n, uint32_t h)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += i != h && parent(tree, n, i) == h;
	return sum;
}

static uint32_t log2_up(uint32_t n)
{
	uint32_t k = 0;

	while (1u << k < n)
		k++;
	return k;
}

/* Bytes that a host's NICs send in all, and what leaves the first half of the hosts upwards. */
struct load {
	double host[16], cut;
	bool all_nics; /* every rank by its own NIC; else a channel by one, channels by turns */
};

static void ring_load(const struct test_case *t, double each, struct load *l)
{
	for (uint32_t h = 0; h < t->hosts; h++)
		l->host[h] = each;
	l->cut = each;
}

static void chain_load(const struct test_case *t, struct load *l)
{
	uint32_t first = t->channels <= t->gpus ? 1 : (t->channels + t->gpus - 1) / t->gpus;

	/* the last host passes on to GPUs of the first, where a channel does not begin at the root
	 */
	ring_load(t, (double)t->bytes, l);
	l->host[t->hosts - 1] -= (double)t->bytes * first / t->channels;
}

static void tree_load(const struct test_case *t, struct load *l)
{
	uint32_t trees = t->what == BC_TREE ? 1 : 2, half = t->hosts / 2;
	double each = (double)t->bytes / trees;

	for (uint32_t tree = 0; tree < trees; tree++)
		for (uint32_t h = 0; h < t->hosts; h++) {
			uint32_t up = parent(tree, t->hosts, h);
			bool root = up == h;

			l->host[h] += children(tree, t->hosts, h) * each;
			if (trees == 2 && !root)
				l->host[h] += each;
			/* an edge carries as much up as down; a broadcast, down only */
			if ((up < half) != (h < half) && (trees == 2 || up < half))
				l->cut += each;
		}
}

static struct load load_of(const struct test_case *t)
{
	double s = (double)t->bytes, n = t->hosts * t->gpus, hosts = t->hosts;
	struct load l = {.all_nics = t->what >= AR_HIER};

	switch (t->what) {
	case AR_RING:
		ring_load(t, s * 2 * (n - 1) / n, &l);
		break;
	case RS_RING:
	case AG_RING:
		ring_load(t, s * (n - 1) / n, &l);
		break;
	case BC_RING:
		chain_load(t, &l);
		break;
	case AR_TREE:
	case BC_TREE:
		tree_load(t, &l);
		break;
	case AR_HIER:
		ring_load(t, s * 2 * (hosts - 1) / hosts, &l);
		break;
	case RS_HIER:
	case AG_HIER:
		ring_load(t, s * (hosts - 1) / hosts, &l);
		break;
	default: /* to each rank that is not on this host; half of all is in the other half */
		ring_load(t, s * t->gpus * (n - t->gpus) / n, &l);
		l.cut = s * n / 4;
	}
	return l;
}

static double most(const struct test_case *t, const struct load *l)
{
	double host = 0;

	for (uint32_t h = 0; h < t->hosts; h++)
		host = l->host[h] > host ? l->host[h] : host;
	return host;
}

/* Channels that the busiest NIC of a host has. */
static uint32_t channels_a_nic(const struct test_case *t)
{
	return (t->channels + t->gpus - 1) / t->gpus;
}

/* All-to-all goes by turns, which `slots` pieces keep together: hosts that are a turn apart. How
 * many of them are in different halves differs by turn, so that of 2:1 uplinks some turns need all
 * and others leave some. */
static double by_turns(const struct test_case *t, double up)
{
	double share = (double)t->bytes / (t->hosts * t->gpus), sum = 0;
	uint32_t half = t->hosts / 2;

	for (uint32_t d = 1; d < t->hosts; d++) {
		uint32_t cross = d < t->hosts - d ? d : t->hosts - d;
		double nic = t->gpus * share / GOODPUT;
		double cut = (cross < half ? cross : half) * t->gpus * t->gpus * share / up;

		sum += cut > nic ? cut : nic;
	}
	return sum;
}

static void set_bound(struct test_case *t)
{
	struct load l = load_of(t);
	double nic = most(t, &l) / (l.all_nics ? t->gpus : (double)t->channels / channels_a_nic(t));
	double up = t->hosts / 2 * t->gpus * GOODPUT / (t->net == CLOS2 ? 2 : 1);
	double delay = strtod(t->delay, NULL) * 1e-6;
	uint32_t links = t->net == SINGLE || t->net == RAILS ? 2 : 4;
	double hop = links * delay + (links - 1) * (SWITCH + FRAME), beside;
	bool cut = (t->net == CLOS || t->net == CLOS2) && l.cut / up > nic / GOODPUT;

	t->bound = cut ? l.cut / up : nic / GOODPUT;
	t->cut = cut ? "uplinks" : "a NIC";
	/* others share the NIC: a chunk takes as long as its share of it allows */
	beside = channels_a_nic(t) * (double)t->chunk / GOODPUT;
	t->fill = hop;
	if (t->what == A2A && t->net == CLOS2)
		t->fill += by_turns(t, up) - t->bound;
	if (t->what == BC_RING)
		t->fill = (t->hosts - 1) * (hop + beside);
	if (t->what == BC_TREE)
		t->fill = log2_up(t->hosts) * (hop + 2 * beside);
	if (t->what == AR_TREE)
		t->fill = 2 * log2_up(t->hosts) * (hop + 4 * beside);
}

/* ---- Running ---- */

static struct rs_fabric *load(const struct test_case *t)
{
	char text[1024], network[512];
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;
	uint32_t up = t->hosts / 2 * t->gpus * 400 / (t->net == CLOS2 ? 2 : 1);

	/* one spine, and a link of the whole rate to it: no two paths for ECMP to choose from */
	if (t->net == SINGLE)
		snprintf(network, sizeof(network), "kind: single-switch");
	else if (t->net == RAILS)
		snprintf(network, sizeof(network),
			 "kind: rail, spines: 1, links: 1, uplink_rate: %uG", t->hosts * 400);
	else
		snprintf(network, sizeof(network),
			 "kind: leaf-spine, leaves: 2, spines: 1, links: 1, uplink_rate: %uG", up);
	snprintf(text, sizeof(text),
		 "fabric: {network: {%s, hosts: %u, nics: %u, rate: 400G, delay: %s}, cc: {kind: "
		 "%s}}\n"
		 "workload: [{collective: {op: %s, algorithm: %s, bytes: %lluB, channels: %u, "
		 "qps: %u, chunk: %lluB}}]\n",
		 network, t->hosts, t->gpus, t->delay, t->cc, whats[t->what].op,
		 whats[t->what].algorithm, (unsigned long long)t->bytes, t->channels, t->qps,
		 (unsigned long long)t->chunk);
	if (rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &f, &e))
		fail_msg("%s\n%s", e.what, text);
	return f;
}

static const char *name_of(const struct test_case *t)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "%s, %s, %s: %u hosts of %u GPUs, %u channels, %u queue pairs, %llu B, cc %s",
		 whats[t->what].op, whats[t->what].algorithm, nets[t->net], t->hosts, t->gpus,
		 t->channels, t->qps, (unsigned long long)t->bytes, t->cc);
	return text;
}

/* NICs of a host sent what the algorithm says in all, and alike, as far as channels divide. */
static unsigned check_nics(const struct test_case *t, const struct rs_sim_result *r)
{
	struct load l = load_of(t);
	unsigned wrong = 0;

	for (uint32_t h = 0; h < t->hosts; h++) {
		uint64_t sum = 0, top = 0, each = (uint64_t)(l.host[h] + 0.5);

		for (uint32_t i = 0; i < t->gpus; i++) {
			uint64_t b = r->nic_bytes[h * t->gpus + i];

			sum += b;
			top = b > top ? b : top;
		}
		if (l.all_nics)
			wrong += top != each / t->gpus;
		else
			wrong += top > channels_a_nic(t) * ((uint64_t)most(t, &l) / t->channels);
		wrong += sum != each;
		if (sum != each)
			print_error("%s: host %u sent %llu B, expected %llu\n", name_of(t), h,
				    (unsigned long long)sum, (unsigned long long)each);
	}
	return wrong;
}

static unsigned check(const struct test_case *t, const struct rs_sim_result *r)
{
	double took = (double)r->sim_time / RS_S, least = t->bound, limit;
	unsigned wrong = check_nics(t, r);

	limit = (t->bound + t->fill) * t->slack;
	if (took < least * 0.9999 || took > limit) {
		print_error("%s: %.1f us; bound %.1f us by %s and %.1f us to fill: %.3f\n",
			    name_of(t), took * 1e6, t->bound * 1e6, t->cut, t->fill * 1e6,
			    took / (t->bound + t->fill));
		wrong++;
	}
	return wrong;
}

static unsigned run_cases(const struct test_case *t, uint32_t n)
{
	struct rs_sim_case *c = calloc(n, sizeof(*c));
	unsigned wrong = 0;

	assert_non_null(c);
	for (uint32_t i = 0; i < n; i++) {
		c[i].fabric = load(&t[i]);
		c[i].options.seed = 1;
	}
	rs_sim_run_all(c, n, 2);
	for (uint32_t i = 0; i < n; i++) {
		if (!c[i].result || !c[i].result->complete)
			fail_msg("%s: %s", name_of(&t[i]), c[i].error.what);
		wrong += check(&t[i], c[i].result);
		rs_sim_result_free(c[i].result);
		rs_fabric_free((struct rs_fabric *)c[i].fabric);
	}
	free(c);
	return wrong;
}

/* About `nic` bytes a NIC; a multiple of all that the algorithms divide by, in elements of 4 B. */
static void set_bytes(struct test_case *t, uint64_t nic)
{
	uint64_t n = (uint64_t)t->hosts * t->gpus, unit = 8 * n * t->channels * t->gpus, want;
	uint64_t nics = t->channels < t->gpus ? t->channels : t->gpus;

	want = nic * (t->what >= AR_HIER ? t->gpus : nics);
	if (t->what == AR_RING || t->what == AR_TREE || t->what == AR_HIER)
		want /= 2;
	if (t->what == A2A)
		want = nic;
	/* short ones where chunks run one behind another, so that a small buffer has many */
	t->chunk = t->what == BC_RING || t->what == BC_TREE || t->what == AR_TREE || t->what == A2A
			   ? 64 << 10
			   : 512 << 10;
	t->bytes = (want + unit - 1) / unit * unit;
}

static void every_collective(void **state)
{
	static const uint32_t gpus[] = {1, 2, 3, 8}, hosts[] = {8, 6, 4, 4}, qps[] = {1, 2, 4};
	static struct test_case t[CASES_MAX];
	uint32_t n = 0, k = 0;

	for (uint32_t w = 0; w < WHATS; w++)
		for (uint32_t net = 0; net < NETS; net++)
			for (uint32_t g = 0; g < 4; g++)
				for (uint32_t v = 0; v < 3; v++, k++) {
					uint32_t odd = net == SINGLE && v == 1;

					if (k % EVERY)
						continue;
					t[n] = (struct test_case){.what = w,
								  .net = net,
								  .hosts = hosts[g] - odd,
								  .gpus = gpus[g],
								  .channels = 1 + (5 * k + v) % 8,
								  .qps = qps[(k / 3 + v) % 3],
								  .delay = "0.5us",
								  .cc = "none",
								  .slack = 1.05};
					set_bytes(&t[n], 12 << 20);
					set_bound(&t[n++]);
				}
	assert_int_equal(run_cases(t, n), 0);
}

/* One GPU a host: a ring's chunk is on the way in slices, so that long links cost it nothing. */
static void long_links(void **state)
{
	static const enum what rings[] = {AR_RING, RS_RING, AG_RING, AR_HIER,
					  AR_TREE, BC_RING, A2A};
	static const uint32_t hosts[] = {2, 3, 8, 16};
	struct test_case t[64];
	uint32_t n = 0, k = 0;

	for (uint32_t w = 0; w < sizeof(rings) / sizeof(*rings); w++)
		for (uint32_t h = 0; h < 4; h++, k++) {
			if (k % EVERY)
				continue;
			t[n] = (struct test_case){.what = rings[w],
						  .net = SINGLE,
						  .hosts = hosts[h],
						  .gpus = 1,
						  .channels = 1,
						  .qps = 1,
						  .delay = "5us",
						  .cc = "none",
						  .slack = 1.05};
			set_bytes(&t[n], 128 << 20);
			t[n].chunk = 512 << 10; /* 8 of 64 KiB are less than is under way */
			set_bound(&t[n++]);
		}
	assert_int_equal(run_cases(t, n), 0);
}

/*
 * What the defaults (DCQCN as mlx5 has it) lose: nothing where a port has one sender at a time.
 * Where several meet at a port (two children and a parent in a tree) or at uplinks of 2:1, the
 * queue marks, senders are cut to half within microseconds and rise again over milliseconds, which
 * these short runs do not have: up to the factor of the row.
 */
static void with_defaults(void **state)
{
	static const struct {
		enum what what;
		enum net net;
		double slack;
	} rows[] = {
		{AR_RING, SINGLE, 1.05}, {AR_RING, CLOS, 1.05},  {AR_HIER, RAILS, 1.05},
		{AG_RING, SINGLE, 1.05}, {BC_RING, CLOS2, 1.05}, {A2A, SINGLE, 1.05},
		{AR_HIER, CLOS2, 1.05},  {AR_TREE, SINGLE, 2},   {A2A, CLOS2, 2.2},
	};
	struct test_case t[16];
	uint32_t n = 0;

	for (uint32_t k = 0; k<sizeof(rows) / sizeof(*rows); k += EVERY> 1 ? 4 : 1) {
		t[n] = (struct test_case){.what = rows[k].what,
					  .net = rows[k].net,
					  .hosts = 4,
					  .gpus = 8,
					  .channels = 8,
					  .qps = 1,
					  .delay = "0.5us",
					  .cc = "dcqcn",
					  .slack = rows[k].slack};
		set_bytes(&t[n], 24 << 20);
		set_bound(&t[n++]);
	}
	assert_int_equal(run_cases(t, n), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_collective),
		cmocka_unit_test(long_links),
		cmocka_unit_test(with_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
