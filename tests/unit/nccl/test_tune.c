/* NCCL's choice of algorithm, protocol and channels against what NCCL itself printed and took. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>
#include <cmocka.h>
#include "nccl/tune.h"

/* The machine of tests/data/nccl-choice (SOURCES): one H100 and one NIC a node, no GPUDirect. The
 * search gives one channel, of the NIC's rate; within the node, twice that for a tree. */
static struct rs_nccl_plan one_gpu_nodes(uint32_t nodes, float bw)
{
	struct rs_nccl_plan p = {.release = 22809,
				 .n_ranks = nodes,
				 .n_nodes = nodes,
				 .max_local_ranks = 1,
				 .min_cc = 90,
				 .max_cc = 90,
				 .cpu_arch = RS_NCCL_X86,
				 .cpu_vendor = RS_NCCL_INTEL,
				 .max_tree_pattern = RS_NCCL_TREE,
				 .n_channels = 2,
				 .coll_channels = 2};
	struct rs_nccl_graph g = {.n_channels = 1,
				  .same_channels = true,
				  .bw_intra = bw,
				  .bw_inter = bw,
				  .type_intra = RS_NCCL_PIX,
				  .type_inter = RS_NCCL_PHB};

	for (int a = 0; a < RS_NCCL_ALGOS; a++)
		p.graph[a] = g;
	p.graph[RS_NCCL_ALGO_TREE].pattern = RS_NCCL_TREE;
	p.graph[RS_NCCL_ALGO_TREE].bw_intra = 2 * bw;
	p.graph[RS_NCCL_ALGO_NVLS].n_channels = p.graph[RS_NCCL_ALGO_NVLS_TREE].n_channels = 0;
	return p;
}

static int index_of(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++)
		if (!strcasecmp(names[i], name))
			return i;
	return -1;
}

static FILE *open_data(const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/nccl-choice/%s", RS_SOURCE_DIR, name);
	f = fopen(path, "r");
	assert_non_null(f);
	return f;
}

static struct rs_nccl_plan machine(const char *net, uint32_t nodes)
{
	return one_gpu_nodes(nodes, strcmp(net, "ib") ? 1.2f : 12);
}

/* NCCL prints one digit behind the point. */
static void same_figure(const char *what, double printed, double ours)
{
	if (ours < printed - .0501 || ours > printed + .0501)
		fail_msg("%s: NCCL prints %.1f, here %.4f", what, printed, ours);
}

static void test_table_is_nccls_to_the_printed_digit(void **state)
{
	FILE *f = open_data("table.csv");
	char line[256], net[16], op[32], algo[32], proto[16];
	unsigned nodes, rows = 0;
	double latency, bandwidth;

	(void)state;
	assert_non_null(fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f)) {
		struct rs_nccl_plan p;
		struct rs_nccl_table t;
		struct rs_error e = {0};
		int func, a, q;

		assert_int_equal(sscanf(line, "%15[^,],%u,%31[^,],%31[^,],%15[^,],%lf,%lf", net,
					&nodes, op, algo, proto, &latency, &bandwidth),
				 7);
		p = machine(net, nodes);
		assert_int_equal(rs_nccl_tune(&p, NULL, &t, &e), 0);
		func = index_of(rs_nccl_func_names, op);
		a = index_of(rs_nccl_algo_names, algo);
		q = index_of(rs_nccl_proto_names, proto);
		assert_true(func >= 0 && a >= 0 && q >= 0);
		same_figure(line, latency, t.latency[func][a][q]);
		same_figure(line, bandwidth, t.bandwidth[func][a][q]);
		rows++;
	}
	fclose(f);
	assert_true(rows > 300);
}

static void check_choice(const char *line, const struct rs_nccl_plan *p, int func, uint64_t bytes,
			 const char *algo, const char *proto, int channels)
{
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};
	bool shares = func == RS_NCCL_ALL_GATHER || func == RS_NCCL_REDUCE_SCATTER;

	assert_int_equal(rs_nccl_tune(p, NULL, &t, &e), 0);
	assert_int_equal(rs_nccl_choose(p, &t, (enum rs_nccl_func)func,
					shares ? bytes * p->n_ranks : bytes, 4, &c, &e),
			 0);
	if (strcasecmp(rs_nccl_algo_names[c.algo], algo) ||
	    strcasecmp(rs_nccl_proto_names[c.proto], proto) || c.channels != channels)
		fail_msg("%llu B: %s %s %d, here: %s", (unsigned long long)bytes,
			 rs_nccl_algo_names[c.algo], rs_nccl_proto_names[c.proto], c.channels,
			 line);
	assert_int_equal(c.lo + (c.channels > 1 ? c.hi : 0) +
				 (uint64_t)(c.channels > 2 ? c.channels - 2 : 0) * c.mid,
			 bytes);
}

static void test_choice_is_nccls_in_every_row(void **state)
{
	FILE *f = open_data("choice.csv");
	char line[256], net[16], op[32], algo[32], proto[16];
	unsigned long long from, to;
	unsigned nodes, rows = 0;
	int channels;

	(void)state;
	assert_non_null(fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f)) {
		struct rs_nccl_plan p;
		int func;

		assert_int_equal(sscanf(line, "%15[^,],%u,%31[^,],%llu,%llu,%31[^,],%15[^,],%d",
					net, &nodes, op, &from, &to, algo, proto, &channels),
				 8);
		p = machine(net, nodes);
		func = index_of(rs_nccl_func_names, op);
		assert_true(func >= 0);
		check_choice(line, &p, func, from, algo, proto, channels);
		check_choice(line, &p, func, to, algo, proto, channels);
		rows++;
	}
	fclose(f);
	assert_true(rows > 150);
}

/* ---- Machines with NVSwitches ---- */

/* Two or more XE9680 (8 H100, 8 x 400G): n08 and n09 of the scoreboard. */
static struct rs_nccl_plan h100(uint32_t nodes, uint32_t release)
{
	struct rs_nccl_plan p = {.release = release,
				 .n_ranks = 8 * nodes,
				 .n_nodes = nodes,
				 .max_local_ranks = 8,
				 .min_cc = 90,
				 .max_cc = 90,
				 .cpu_arch = RS_NCCL_X86,
				 .cpu_vendor = RS_NCCL_INTEL,
				 .nvswitch = true,
				 .all_nvlink = true,
				 .max_tree_pattern = RS_NCCL_BALANCED_TREE,
				 .n_channels = 16,
				 .coll_channels = 16,
				 .nvls_channels = 16};
	struct rs_nccl_graph g = {.pattern = RS_NCCL_RING,
				  .n_channels = 8,
				  .bw_intra = 48,
				  .bw_inter = 48,
				  .type_intra = RS_NCCL_NVL,
				  .type_inter = RS_NCCL_PXN};

	for (int a = 0; a < RS_NCCL_ALGOS; a++)
		p.graph[a] = g;
	p.graph[RS_NCCL_ALGO_TREE].pattern = RS_NCCL_BALANCED_TREE;
	p.graph[RS_NCCL_ALGO_NVLS].bw_intra = p.graph[RS_NCCL_ALGO_NVLS_TREE].bw_intra = 40;
	return p;
}

/* The worked example of docs/nccl.md. */
static void test_two_nodes_of_eight(void **state)
{
	static const struct {
		uint64_t bytes;
		enum rs_nccl_algo algo;
		enum rs_nccl_proto proto;
	} want[] = {
		{64 << 10, RS_NCCL_ALGO_TREE, RS_NCCL_LL},
		{512 << 10, RS_NCCL_ALGO_TREE, RS_NCCL_LL128},
		{1 << 20, RS_NCCL_ALGO_NVLS_TREE, RS_NCCL_SIMPLE},
		{1 << 30, RS_NCCL_ALGO_NVLS_TREE, RS_NCCL_SIMPLE},
	};
	struct rs_nccl_plan p = h100(2, 22707);
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};

	(void)state;
	assert_int_equal(rs_nccl_tune(&p, NULL, &t, &e), 0);
	same_figure("Tree LL", 25.2, t.latency[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_TREE][0]);
	same_figure("Ring", 131.6, t.latency[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_RING][2]);
	same_figure("Ring", 204.8, t.bandwidth[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_RING][2]);
	same_figure("NVLSTree", 53, t.latency[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_NVLS_TREE][2]);
	same_figure("NVLSTree", 266.7, t.bandwidth[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_NVLS_TREE][2]);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(
			rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, want[i].bytes, 4, &c, &e), 0);
		assert_int_equal(c.algo, want[i].algo);
		assert_int_equal(c.proto, want[i].proto);
	}
	/* 8 heads, 16 channels: 64 MiB each, and half of the greatest chunk below 64 loops */
	assert_int_equal(c.channels, 16);
	assert_int_equal(c.chunk, 128 << 10);
}

/* To 2.20 from a step of the buffer (512 KiB) on, from 2.21 on from NVLS's 128 KiB or what
 * NCCL_NVLS_CHUNKSIZE says; from 2.19 on at most 64 KiB of four nodes, if
 * NCCL_NVLSTREE_MAX_CHUNKSIZE (2.20) says nothing else. Less bytes, smaller chunks. */
static void test_chunks_of_nvls_tree(void **state)
{
	static const struct {
		uint32_t release, nodes, nvls_kib, tree_kib, mib, want_kib;
	} cases[] = {
		{21805, 2, 0, 0, 4096, 512},   {21805, 2, 0, 0, 1024, 256},
		{21805, 2, 0, 0, 256, 128},    {21805, 2, 0, 0, 16, 64},
		{21805, 2, 0, 0, 4, 32},       {21805, 4, 0, 0, 4096, 512},
		{21904, 4, 0, 0, 4096, 64},    {22005, 2, 512, 0, 4096, 512},
		{22005, 2, 0, 128, 4096, 128}, {22005, 4, 0, 0, 4096, 64},
		{22005, 4, 0, 512, 4096, 512}, {22203, 2, 0, 0, 4096, 128},
		{22203, 2, 512, 0, 4096, 512}, {22203, 2, 512, 0, 1024, 256},
		{22203, 4, 512, 0, 4096, 64},  {22203, 4, 512, 512, 4096, 512},
		{22203, 2, 512, 512, 64, 128},
	};
	struct rs_nccl_tune_conf conf = {.algo = "nvlstree"};
	struct rs_nccl_plan p;
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p = h100(cases[i].nodes, cases[i].release);
		conf.nvls_chunk = cases[i].nvls_kib << 10;
		conf.nvls_tree_chunk = cases[i].tree_kib << 10;
		assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
		assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE,
						(uint64_t)cases[i].mib << 20, 4, &c, &e),
				 0);
		assert_int_equal(c.algo, RS_NCCL_ALGO_NVLS_TREE);
		if (c.chunk != cases[i].want_kib << 10)
			fail_msg("case %zu: %llu KiB, not %u", i, (unsigned long long)c.chunk >> 10,
				 cases[i].want_kib);
	}
}

/* n09: NVLSTree to about 0.6 GB, the ring above. */
static void test_eight_nodes_go_over_to_the_ring(void **state)
{
	struct rs_nccl_plan p = h100(8, 22707);
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};

	(void)state;
	assert_int_equal(rs_nccl_tune(&p, NULL, &t, &e), 0);
	assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, 512 << 20, 4, &c, &e), 0);
	assert_int_equal(c.algo, RS_NCCL_ALGO_NVLS_TREE);
	assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, 1 << 30, 4, &c, &e), 0);
	assert_int_equal(c.algo, RS_NCCL_ALGO_RING);
	assert_int_equal(c.proto, RS_NCCL_SIMPLE);
	assert_int_equal(c.chunk, 2 << 20);
	assert_int_equal(c.slice_steps, 2);
}

/* AWS's tuner on a p5, by its areas of bytes by ranks; on two nodes, and where a node has other
 * than 8 or 1 GPUs, NCCL's own choice stays. */
static void test_tuner_of_a_p5(void **state)
{
	static const struct {
		uint32_t nodes, gpus;
		enum rs_nccl_func func;
		uint64_t mib;
		enum rs_nccl_algo algo;
		enum rs_nccl_proto proto;
		bool tuned;
	} want[] = {
		{4, 8, RS_NCCL_ALL_REDUCE, 32, RS_NCCL_ALGO_TREE, RS_NCCL_LL128, true},
		{4, 8, RS_NCCL_ALL_REDUCE, 64, RS_NCCL_ALGO_RING, RS_NCCL_LL128, true},
		{4, 8, RS_NCCL_ALL_REDUCE, 1024, RS_NCCL_ALGO_RING, RS_NCCL_LL128, true},
		{4, 8, RS_NCCL_ALL_REDUCE, 4096, RS_NCCL_ALGO_RING, RS_NCCL_SIMPLE, true},
		{8, 8, RS_NCCL_ALL_REDUCE, 112, RS_NCCL_ALGO_TREE, RS_NCCL_LL128,
		 true}, /* a corner */
		{8, 8, RS_NCCL_ALL_REDUCE, 256, RS_NCCL_ALGO_RING, RS_NCCL_LL128, true},
		{16, 8, RS_NCCL_ALL_REDUCE, 4096, RS_NCCL_ALGO_NVLS_TREE, RS_NCCL_SIMPLE, true},
		{512, 8, RS_NCCL_ALL_REDUCE, 1, RS_NCCL_ALGO_TREE, RS_NCCL_LL128, true},
		{2, 8, RS_NCCL_ALL_REDUCE, 256, RS_NCCL_ALGO_NVLS_TREE, RS_NCCL_SIMPLE, false},
		{8, 8, RS_NCCL_ALL_GATHER, 1024, RS_NCCL_ALGO_RING, RS_NCCL_SIMPLE, false},
		{8, 1, RS_NCCL_ALL_REDUCE, 1, RS_NCCL_ALGO_RING, RS_NCCL_LL128, true},
		{64, 1, RS_NCCL_ALL_REDUCE, 1, RS_NCCL_ALGO_TREE, RS_NCCL_LL128, true},
		{8, 1, RS_NCCL_ALL_GATHER, 1024, RS_NCCL_ALGO_RING, RS_NCCL_SIMPLE, true},
	};
	struct rs_nccl_tune_conf conf = {.aws = true};
	struct rs_error e = {0};
	struct rs_nccl_choice c;
	struct rs_nccl_table t;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct rs_nccl_plan p = h100(want[i].nodes, 22807);

		p.n_ranks = want[i].gpus * want[i].nodes;
		assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
		assert_int_equal(rs_nccl_choose(&p, &t, want[i].func, want[i].mib << 20, 4, &c, &e),
				 0);
		if (c.algo != want[i].algo || c.proto != want[i].proto || c.tuned != want[i].tuned)
			fail_msg("row %zu: %s %s", i, rs_nccl_algo_names[c.algo],
				 rs_nccl_proto_names[c.proto]);
	}
}

/* Google's rules of A3 Mega: what they do not have is NCCL's own choice. */
static void test_tuner_of_a3_mega(void **state)
{
	static const struct {
		uint32_t nodes, gpus;
		enum rs_nccl_func func;
		uint64_t kib;
		enum rs_nccl_algo algo;
		int channels; /* 0: any */
		bool tuned;
	} want[] = {
		{2, 8, RS_NCCL_ALL_REDUCE, 1, RS_NCCL_ALGO_TREE, 0, true},
		{2, 8, RS_NCCL_ALL_REDUCE, 8 << 20, RS_NCCL_ALGO_TREE, 0, true},
		{2, 8, RS_NCCL_ALL_GATHER, 8 << 20, RS_NCCL_ALGO_RING, 0, true},
		{4, 8, RS_NCCL_ALL_REDUCE, 1024, RS_NCCL_ALGO_TREE, 0, true},
		{4, 8, RS_NCCL_ALL_REDUCE, 1 << 20, RS_NCCL_ALGO_RING, 0, false},
		{4, 8, RS_NCCL_REDUCE_SCATTER, 1 << 20, RS_NCCL_ALGO_RING, 0, true},
		{2, 1, RS_NCCL_ALL_REDUCE, 64 << 10, RS_NCCL_ALGO_TREE, 2, true},
		{2, 1, RS_NCCL_ALL_GATHER, 64 << 10, RS_NCCL_ALGO_RING, 4, true},
		{2, 1, RS_NCCL_ALL_GATHER, 127, RS_NCCL_ALGO_RING, 2, true},
	};
	struct rs_nccl_tune_conf conf = {.google = true, .proto = "Simple"},
				 other = {.google = true};
	struct rs_error e = {0};
	struct rs_nccl_choice c;
	struct rs_nccl_table t;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct rs_nccl_plan p = h100(want[i].nodes, 22105);

		p.n_ranks = want[i].gpus * want[i].nodes;
		assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
		assert_int_equal(rs_nccl_choose(&p, &t, want[i].func, want[i].kib << 10, 4, &c, &e),
				 0);
		if (c.algo != want[i].algo || c.tuned != want[i].tuned ||
		    (c.tuned && c.proto != RS_NCCL_SIMPLE) ||
		    (want[i].channels && c.channels != want[i].channels))
			fail_msg("row %zu: %s %s %d", i, rs_nccl_algo_names[c.algo],
				 rs_nccl_proto_names[c.proto], c.channels);
		/* where LL128 may be taken its rules are other ones, which are not public */
		assert_int_equal(rs_nccl_tune(&p, &other, &t, &e), 0);
		assert_int_equal(rs_nccl_choose(&p, &t, want[i].func, want[i].kib << 10, 4, &c, &e),
				 0);
		assert_false(c.tuned);
	}
}

/* Of AMD's hosts: 8 GPUs, no multicast. */
static struct rs_nccl_plan mi300(uint32_t nodes, uint32_t release, int gfx)
{
	struct rs_nccl_plan p = h100(nodes, release);

	p.rccl = true;
	p.gfx = gfx;
	p.cpu_vendor = RS_NCCL_AMD;
	p.nvls_channels = 0;
	p.graph[RS_NCCL_ALGO_NVLS].n_channels = p.graph[RS_NCCL_ALGO_NVLS_TREE].n_channels = 0;
	return p;
}

static struct rs_nccl_choice chosen(const struct rs_nccl_plan *p, enum rs_nccl_func func,
				    uint64_t bytes)
{
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};

	assert_int_equal(rs_nccl_tune(p, NULL, &t, &e), 0);
	assert_int_equal(rs_nccl_choose(p, &t, func, bytes, 4, &c, &e), 0);
	return c;
}

/* RCCL's table by hand: 12 + 2 (7 x 0.9 + 10.5) us; a ring's Simple 17 + 28 x 6 + 2 x 320. Ranges
 * of sizes decide the protocol from 2.23 on, LL128's 3.8 times as far over more than 2 nodes. */
static void test_rccl_has_its_own_table(void **state)
{
	struct rs_nccl_plan p = mi300(2, 22707, 950);
	struct rs_nccl_table t;
	struct rs_error e = {0};

	(void)state;
	assert_int_equal(rs_nccl_tune(&p, NULL, &t, &e), 0);
	same_figure("Tree LL", 45.6, t.latency[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_TREE][0]);
	same_figure("Ring", 825, t.latency[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_RING][2]);
	same_figure("Ring", 204.8, t.bandwidth[RS_NCCL_ALL_REDUCE][RS_NCCL_ALGO_RING][2]);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 262144).proto, RS_NCCL_LL);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 262148).proto, RS_NCCL_LL128);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 16 << 20).algo, RS_NCCL_ALGO_TREE);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 70640908).proto, RS_NCCL_LL128);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 70640912).proto, RS_NCCL_SIMPLE);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_GATHER, 16 * 8388608).proto, RS_NCCL_LL128);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_GATHER, 16 * 8388616).proto, RS_NCCL_SIMPLE);
	p = mi300(4, 22707, 950);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 256 << 20).proto, RS_NCCL_LL128);
	/* before, the least time alone; a tree's chunk by its depth of 8 */
	p = mi300(2, 22005, 942);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 16 << 20).proto, RS_NCCL_SIMPLE);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 16 << 20).algo, RS_NCCL_ALGO_TREE);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 16 << 20).chunk, 64 << 10);
	assert_int_equal(chosen(&p, RS_NCCL_ALL_REDUCE, 1 << 30).algo, RS_NCCL_ALGO_RING);
}

/* The tables of releases, by sizes between which they differ: up to 2.22 trees to 256 MiB and no
 * LL128, up to 2.26 LL to 1 MiB and LL128 to 9 MiB on MI300X, to 17,660,227 bytes on MI355X. */
static void test_rccl_tables_by_release(void **state)
{
	static const struct {
		uint32_t release;
		int gfx;
		uint64_t bytes;
		enum rs_nccl_algo algo;
		enum rs_nccl_proto proto;
	} rows[] = {
		{22203, 942, 4 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_SIMPLE},
		{22203, 942, 256 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_SIMPLE},
		{22606, 942, 1 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_LL},
		{22606, 942, 9 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_LL128},
		{22606, 942, 10 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_SIMPLE},
		{22606, 942, 256 << 20, RS_NCCL_ALGO_RING, RS_NCCL_SIMPLE},
		{22707, 942, 1 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_LL128},
		{22707, 942, 9 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_SIMPLE},
		{22606, 950, 256 << 10, RS_NCCL_ALGO_TREE, RS_NCCL_LL128},
		{22606, 950, 16 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_LL128},
		{22606, 950, 64 << 20, RS_NCCL_ALGO_TREE, RS_NCCL_SIMPLE},
		{22606, 950, 256 << 20, RS_NCCL_ALGO_RING, RS_NCCL_SIMPLE},
		{22707, 950, 64 << 20, RS_NCCL_ALGO_RING, RS_NCCL_LL128},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rs_nccl_plan p = mi300(2, rows[i].release, rows[i].gfx);
		struct rs_nccl_choice c = chosen(&p, RS_NCCL_ALL_REDUCE, rows[i].bytes);

		assert_int_equal(c.algo, rows[i].algo);
		assert_int_equal(c.proto, rows[i].proto);
	}
}

/* Least traffic of a channel: 16 KiB, from 2.29 on 32 KiB (enqueue.cc). */
static void test_least_traffic(void **state)
{
	static const int channels[2] = {12, 6};
	struct rs_nccl_tune_conf conf = {.algo = "tree", .proto = "LL128"};
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rs_nccl_plan p = h100(2, i ? 22902 : 22809);

		assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
		assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, 96 << 10, 4, &c, &e),
				 0);
		assert_int_equal(c.channels, channels[i]);
	}
}

/* ---- What a user asks for ---- */

static enum rs_nccl_algo asked(const struct rs_nccl_plan *p, const char *algo, const char *proto,
			       enum rs_nccl_func func, enum rs_nccl_proto *q)
{
	struct rs_nccl_tune_conf conf = {.algo = algo, .proto = proto};
	struct rs_nccl_choice c;
	struct rs_nccl_table t;
	struct rs_error e = {0};

	assert_int_equal(rs_nccl_tune(p, &conf, &t, &e), 0);
	assert_int_equal(rs_nccl_choose(p, &t, func, 8 << 20, 4, &c, &e), 0);
	*q = c.proto;
	return c.algo;
}

static void test_variables_strike_out(void **state)
{
	struct rs_nccl_plan p = h100(2, 22707), old = h100(2, 22203);
	struct rs_nccl_tune_conf conf = {.algo = "ring,torus"};
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	enum rs_nccl_proto q;
	struct rs_error e = {0};

	(void)state;
	assert_int_equal(asked(&p, "Ring", "LL128", RS_NCCL_ALL_REDUCE, &q), RS_NCCL_ALGO_RING);
	assert_int_equal(q, RS_NCCL_LL128);
	assert_int_equal(asked(&p, "^nvlstree,tree", "^ll", RS_NCCL_ALL_REDUCE, &q),
			 RS_NCCL_ALGO_RING);
	assert_int_equal(asked(&p, "ring;allreduce:tree", "", RS_NCCL_ALL_REDUCE, &q),
			 RS_NCCL_ALGO_TREE);
	assert_int_equal(asked(&p, "ring;allreduce:tree", "", RS_NCCL_ALL_GATHER, &q),
			 RS_NCCL_ALGO_RING);
	/* to 2.23 the ring comes back where nothing is left; after, that is an error */
	assert_int_equal(asked(&old, "tree", "", RS_NCCL_ALL_GATHER, &q), RS_NCCL_ALGO_RING);
	assert_int_equal(rs_nccl_tune(&old, &conf, &t, &e), 0);
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), -EINVAL);
	assert_non_null(strstr(e.what, "torus"));
	memset(&e, 0, sizeof(e));
	conf.algo = "ring;gather:tree";
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), -EINVAL);
	conf.algo = "ring;tree";
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), -EINVAL);
	conf.algo = "tree";
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
	assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_GATHER, 1 << 20, 4, &c, &e), -ENOENT);
}

/* A value of every release: none fails, and the choice is one that the release has. */
static void test_every_release_chooses(void **state)
{
	static const uint32_t releases[] = {21805, 21903, 22005, 22105, 22203, 22304,
					    22403, 22501, 22602, 22707, 22803, 22809};
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		for (uint32_t nodes = 1; nodes < 40; nodes = nodes * 2 + 1)
			for (uint64_t bytes = 8; bytes < UINT64_C(1) << 40; bytes *= 7) {
				struct rs_nccl_plan p = h100(nodes, releases[i]);

				assert_int_equal(rs_nccl_tune(&p, NULL, &t, &e), 0);
				for (int f = 0; f < RS_NCCL_FUNCS; f++) {
					assert_int_equal(
						rs_nccl_choose(&p, &t, (enum rs_nccl_func)f,
							       bytes * p.n_ranks, 4, &c, &e),
						0);
					assert_true(c.channels >= 1 && c.channels <= 64);
					assert_true(c.chunk > 0 && c.threads >= 96);
					assert_true(nodes > 1 || c.algo != RS_NCCL_ALGO_NVLS_TREE);
				}
			}
}

/* ---- Tuner files ---- */

static int read_rows(const char *text, struct rs_arena *a, struct rs_nccl_tuner_row **rows,
		     size_t *n, struct rs_error *e)
{
	return rs_nccl_tuner_read("tuner.conf", text, strlen(text), a, rows, n, e);
}

static void test_tuner_file(void **state)
{
	static const char text[] = "# type,min,max,...\n\nallreduce,0,65536,ring,ll128,2,2,-1\r\n"
				   " allreduce , 65537, 1048576 ,nvls_tree,simple,-1,2,16,-1,-1\n"
				   "allreduce,0,99999999,ring,simple,-1,-1,-1,4\n";
	struct rs_arena *a = rs_arena_create(1 << 20);
	struct rs_nccl_tune_conf conf = {0};
	struct rs_nccl_plan p = h100(2, 22707);
	struct rs_nccl_tuner_row *rows, *again;
	char line[RS_NCCL_TUNER_LINE_MAX];
	struct rs_nccl_table t;
	struct rs_nccl_choice c;
	struct rs_error e = {0};
	size_t n, m;

	(void)state;
	assert_int_equal(read_rows(text, a, &rows, &n, &e), 0);
	assert_int_equal(n, 3);
	conf.rows = rows;
	conf.n_rows = n;
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
	assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, 65536, 4, &c, &e), 0);
	assert_true(c.tuned && c.proto == RS_NCCL_LL128 && c.channels == 2);
	assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, 65540, 4, &c, &e), 0);
	assert_true(c.tuned && c.algo == RS_NCCL_ALGO_NVLS_TREE);
	assert_int_equal(rs_nccl_choose(&p, &t, RS_NCCL_ALL_REDUCE, 8 << 20, 4, &c, &e), 0);
	assert_false(c.tuned); /* the third is for operations in a group of four */
	rs_nccl_tuner_line(&rows[1], line);
	assert_string_equal(line, "allreduce,65537,1048576,nvls_tree,simple,-1,2,16,-1,-1");
	assert_int_equal(read_rows(line, a, &again, &m, &e), 0);
	assert_memory_equal(again, &rows[1], sizeof(*again));
	rs_arena_destroy(a);
}

static void test_tuner_file_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"allreduce,0,1\n", "tuner.conf:1: expected 8 to 10 fields"},
		{"\nallreduce,0,1,rang,ll,1,1,1\n", "tuner.conf:2: expected an algorithm"},
		{"reduceall,0,1,ring,ll,1,1,1\n", "expected a collective"},
		{"allreduce,-1,1,ring,ll,1,1,1\n", "expected a number of bytes, found '-1'"},
		{"allreduce,0,1,ring,ll,0,1,1\n", "expected -1 or 1 to 64 channels, found '0'"},
		{"allreduce,9,1,ring,ll,1,1,1\n", "found '1'"},
		{"allreduce,0,1,ring,ll,1,1,1,1,1,1\n", "expected 8 to 10"},
		{"allreduce,0,1,ring,lll,1,1,1\n", "expected ll, ll128 or simple, found 'lll'"},
		{"allreduce,0,1,ring,ll,1x,1,1\n", "expected -1 or a count, found '1x'"},
	};
	struct rs_arena *a = rs_arena_create(1 << 20);
	struct rs_nccl_tuner_row *rows;
	struct rs_error e = {0};
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&e, 0, sizeof(e));
		assert_int_equal(read_rows(bad[i].text, a, &rows, &n, &e), -EINVAL);
		if (!strstr(e.what, bad[i].says))
			fail_msg("%s: %s", bad[i].text, e.what);
	}
	rs_arena_destroy(a);
}

/* NCCL_THREAD_THRESHOLDS: the third number is Tree's Simple, the sixth Ring's; what is negative or
 * left out stays; a word is refused. */
static void test_thresholds_of_threads(void **state)
{
	struct rs_nccl_plan p = machine("ib", 2);
	struct rs_nccl_tune_conf conf = {.thresholds = "-1 9 65 -2 10 66"};
	struct rs_error e = {0};
	struct rs_nccl_table t;

	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_TREE][RS_NCCL_LL], 8);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_TREE][RS_NCCL_LL128], 9);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_TREE][RS_NCCL_SIMPLE], 65);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_RING][RS_NCCL_LL], 8 * 2);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_RING][RS_NCCL_LL128], 10);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_RING][RS_NCCL_SIMPLE], 66);
	conf.thresholds = "7";
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), 0);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_TREE][RS_NCCL_LL], 7);
	assert_int_equal(t.threshold[RS_NCCL_ALGO_RING][RS_NCCL_SIMPLE], 64);
	conf.thresholds = "8 x";
	assert_int_equal(rs_nccl_tune(&p, &conf, &t, &e), -EINVAL);
	assert_non_null(strstr(e.what, "'8 x'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_is_nccls_to_the_printed_digit),
		cmocka_unit_test(test_choice_is_nccls_in_every_row),
		cmocka_unit_test(test_two_nodes_of_eight),
		cmocka_unit_test(test_chunks_of_nvls_tree),
		cmocka_unit_test(test_eight_nodes_go_over_to_the_ring),
		cmocka_unit_test(test_tuner_of_a_p5),
		cmocka_unit_test(test_tuner_of_a3_mega),
		cmocka_unit_test(test_rccl_has_its_own_table),
		cmocka_unit_test(test_rccl_tables_by_release),
		cmocka_unit_test(test_least_traffic),
		cmocka_unit_test(test_variables_strike_out),
		cmocka_unit_test(test_every_release_chooses),
		cmocka_unit_test(test_tuner_file),
		cmocka_unit_test(test_tuner_file_errors),
		cmocka_unit_test(test_thresholds_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
