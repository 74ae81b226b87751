/*
 * Placement made ideal: on random permutations no link carries more than the least that it can, but
 * for some of unequal flows; what is sent is there about when that is through, and never later than
 * with ECMP. RS_PERMUTATIONS=100 for the whole of it (5 minutes), RS_SHOW=1 for figures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "describe/describe.h"
#include "sim/sim.h"
#include "unit/shuffle.h"

/* A packet's frame and its gap, to its payload. */
#define WIRE(t) ((t)*4198 / 4096)

static const struct {
	const char *name, *network, *qos;
	uint32_t hosts;
	/* percent above the bound, with flows of one size and of several: links' bytes, the time */
	unsigned load[2], late[2];
} fabrics[] = {
	{"leaf-spine 1:1",
	 "kind: leaf-spine, leaves: 8, spines: 8, hosts_per_leaf: 8",
	 "",
	 64,
	 {0, 0},
	 {5, 5}},
	/* links of unequal flows rest where theirs wait elsewhere: no placement is a schedule */
	{"leaf-spine 2:1",
	 "kind: leaf-spine, leaves: 8, spines: 4, hosts_per_leaf: 8, links: 1",
	 "",
	 64,
	 {0, 8},
	 {5, 20}},
	{"leaf-spine 1:1, pairs of links",
	 "kind: leaf-spine, leaves: 6, spines: 3, hosts_per_leaf: 6, links: 2",
	 "routing: spray",
	 36,
	 {0, 0},
	 {5, 5}},
	{"fat tree of k 4", "kind: fat-tree, k: 4", "routing: adaptive", 16, {0, 0}, {5, 10}},
	{"fat tree of k 8", "kind: fat-tree, k: 8", "", 128, {0, 0}, {5, 5}},
	{"fat tree of k 8, 2:1",
	 "kind: fat-tree, k: 8, uplink_rate: 50G",
	 "",
	 128,
	 {0, 5},
	 {15, 20}},
};

/* each flows of a host, by a permutation each; sizes alike, or from 1 to 10. */
static struct rs_fabric *load(unsigned fabric, unsigned each, bool mixed, uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, fabric, each * 2 + mixed);
	uint32_t hosts = fabrics[fabric].hosts, to[128];
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	fprintf(out,
		"fabric: {cc: {kind: none}, network: {%s, rate: 100G, delay: 500ns}, qos: {%s}}\n"
		"workload: [{flows: [",
		fabrics[fabric].network, fabrics[fabric].qos);
	for (unsigned k = 0; k < each; k++) {
		shuffle(&r, to, hosts);
		for (uint32_t i = 0; i < hosts; i++)
			fprintf(out, "{src: h%u, dst: h%u, bytes: %uB}, ", i, to[i],
				4096 * (mixed ? 25 * (1 + rs_random_below(&r, 10)) : 125));
	}
	fputs("]}]\n", out);
	fclose(out);
	if (rs_fabric_load_text(text, n, "t.yaml", NULL, NULL, 0, &f, &e))
		fail_msg("%s:%d:%d: %s", e.file, e.line, e.column, e.what);
	free(text);
	return f;
}

static struct rs_sim_result *run(const struct rs_fabric *f, bool placed, uint64_t seed)
{
	struct rs_sim_options o = {.seed = seed, .ideal.placed = placed};

	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_true(r->complete);
	return r;
}

static unsigned permutations(unsigned few)
{
	const char *s = getenv("RS_PERMUTATIONS");

	return s ? (unsigned)atoi(s) : few;
}

/* What a packet takes from the first host to the last and its ACK back. */
static rs_time alone(unsigned fabric)
{
	struct rs_fabric *f = NULL;
	struct rs_sim_result *r;
	struct rs_error e = {0};
	char text[512];
	rs_time t;

	snprintf(text, sizeof(text),
		 "fabric: {cc: {kind: none}, network: {%s, rate: 100G, delay: 500ns}}\n"
		 "workload: [{flows: [{src: h0, dst: h%u, bytes: 4096B}]}]\n",
		 fabrics[fabric].network, fabrics[fabric].hosts - 1);
	if (rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &f, &e))
		fail_msg("%s", e.what);
	r = run(f, false, 1);
	t = rs_sim_fct(r, 0, 100);
	rs_sim_result_free(r);
	rs_fabric_free(f);
	return t;
}

struct tally {
	unsigned above_bound, late, slower, n;
	double worst, gain, worst_load;
};

static void one(unsigned fabric, unsigned each, bool mixed, uint64_t seed, rs_time path,
		struct tally *t)
{
	struct rs_fabric *f = load(fabric, each, mixed, seed);
	struct rs_sim_result *placed, *ecmp;
	rs_time with, without, bound;

	placed = run(f, true, seed);
	f->qos.routing = RS_FABRIC_ECMP;
	ecmp = run(f, false, seed);
	bound = WIRE(placed->placement.bound) + path;
	with = rs_sim_fct(placed, 0, 100);
	without = rs_sim_fct(ecmp, 0, 100);
	assert_int_equal(placed->placement.method, RS_PLACED_COLOURED);
	assert_int_equal(ecmp->placement.method, RS_PLACED_NOT);
	assert_int_equal(placed->counters.naks, 0); /* in order, whatever the description has */
	t->n++;
	t->above_bound +=
		placed->placement.reached >
			placed->placement.bound * (100 + fabrics[fabric].load[mixed]) / 100 ||
		placed->placement.above > 10 * fabrics[fabric].load[mixed];
	t->late += with > bound * (100 + fabrics[fabric].late[mixed]) / 100;
	t->slower += with > without;
	if ((double)with / (double)bound > t->worst)
		t->worst = (double)with / (double)bound;
	if ((double)placed->placement.reached / (double)placed->placement.bound > t->worst_load)
		t->worst_load = (double)placed->placement.reached / (double)placed->placement.bound;
	t->gain += (double)without / (double)with;
	rs_sim_result_free(placed);
	rs_sim_result_free(ecmp);
	rs_fabric_free(f);
}

static void test_random_permutations(void **state)
{
	unsigned n = permutations(2), bad = 0;

	for (unsigned i = 0; i < sizeof(fabrics) / sizeof(*fabrics); i++)
		for (unsigned each = 1; each <= 3; each += 2)
			for (unsigned mixed = 0; mixed < 2; mixed++) {
				struct tally t = {0};
				rs_time path = alone(i);

				for (unsigned s = 0; s < n; s++)
					one(i, each, mixed, s + 1, path, &t);
				bad += t.above_bound + t.late + t.slower;
				if (getenv("RS_SHOW") || t.above_bound + t.late + t.slower)
					printf("%-32s %u a host, %s: of %u %u above the bound "
					       "(%.3f), %u late (%.3f), %u slower than ECMP, "
					       "which takes %.2f\n",
					       fabrics[i].name, each, mixed ? "mixed" : "alike",
					       t.n, t.above_bound, t.worst_load, t.late, t.worst,
					       t.slower, t.gain / t.n);
			}
	assert_int_equal(bad, 0);
}

static struct rs_fabric *load_text(const char *text)
{
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};

	if (rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &f, &e))
		fail_msg("%s:%d:%d: %s", e.file, e.line, e.column, e.what);
	return f;
}

static rs_time last(const struct rs_sim_result *r)
{
	rs_time t = 0;

	for (uint32_t i = 0; i < r->n_jobs; i++)
		t = r->jobs[i].finish > t ? r->jobs[i].finish : t;
	return t;
}

#define LEAF_SPINE                                                                           \
	"network: {kind: leaf-spine, leaves: 4, spines: 4, hosts_per_leaf: 4, rate: 100G}, " \
	"cc: {kind: none}"
#define SHIFT(n)                                                                         \
	"[{flows: [{src: h0, dst: h" n ", bytes: 1MB}, {src: h1, dst: h8, bytes: 1MB}, " \
	"{src: h2, dst: h12, bytes: 1MB}, {src: h3, dst: h5, bytes: 1MB}, "              \
	"{src: h4, dst: h0, bytes: 1MB}, {src: h5, dst: h9, bytes: 1MB}, "               \
	"{src: h6, dst: h13, bytes: 1MB}, {src: h7, dst: h1, bytes: 1MB}]}]"

/* Networks that are no Clos, traffic that is no permutation. percent: above the bound at most. */
static const struct {
	const char *text;
	enum rs_sim_placed method;
	unsigned percent;
} others[] = {
	/* a link that is down: three are left for four flows of leaf 0, all as fast as one */
	{"fabric: {" LEAF_SPINE ", change: [{link: [leaf0, spine1], down: true}]}\n"
	 "workload: " SHIFT("4"),
	 RS_PLACED_GREEDY, 0},
	/* one at half the rate takes nothing of two, or half */
	{"fabric: {" LEAF_SPINE ", change: [{link: [leaf0, spine1], rate: 50G}]}\n"
	 "workload: " SHIFT("4"),
	 RS_PLACED_GREEDY, 0},
	/* a spine that is dead leaves a Clos */
	{"fabric: {" LEAF_SPINE ", change: [{switch: spine2, down: true}]}\n"
	 "workload: " SHIFT("4"),
	 RS_PLACED_COLOURED, 0},
	/* many to one: its own link is all that counts */
	{"fabric: {" LEAF_SPINE "}\nworkload: [{flows: [{src: h4, dst: h0, bytes: 1MB}, {src: h5, "
	 "dst: h0, bytes: 2MB}, {src: h8, dst: h0, bytes: 1MB}, {src: h9, dst: h0, bytes: 1MB}, "
	 "{src: h12, dst: h0, bytes: 3MB}, {src: h13, dst: h1, bytes: 1MB}]}]",
	 RS_PLACED_COLOURED, 0},
	/* a ring of switches, two ways round for who is opposite */
	{"fabric: {cc: {kind: none}, network: {kind: explicit, hosts: [a, b, c, d, e, f], rate: "
	 "100G, switches: [s, t, u, v], links: [{a: a, b: s}, {a: b, b: s}, {a: c, b: t}, {a: d, "
	 "b: u}, {a: e, b: u}, {a: f, b: v}, {a: s, b: t}, {a: t, b: u}, {a: u, b: v}, {a: v, b: "
	 "s}]}}\nworkload: [{flows: [{src: a, dst: d, bytes: 1MB}, {src: b, dst: e, bytes: 1MB}]}]",
	 RS_PLACED_GREEDY, 0},
	/* all to all: each turn a permutation, placed by itself */
	{"fabric: {" LEAF_SPINE "}\nworkload: [{collective: {op: all-to-all, algorithm: pairwise, "
	 "bytes: 4MB, qps: 2}}]",
	 RS_PLACED_COLOURED, 0},
	/* two jobs that share uplinks, with several queue pairs a connection */
	{"fabric: {" LEAF_SPINE "}\nworkload: [{collective: {op: all-reduce, algorithm: ring, "
	 "bytes: 4MB, ranks: [0, 4, 8, 12, 1, 5, 9, 13], qps: 4}}, {collective: {op: all-reduce, "
	 "algorithm: ring, bytes: 4MB, ranks: [2, 6, 10, 14, 3, 7, 11, 15], qps: 1}}]",
	 RS_PLACED_COLOURED, 5},
	/* the same over and over: as many bytes */
	{"fabric: {" LEAF_SPINE "}\nworkload: [{collective: {op: all-gather, algorithm: ring, "
	 "bytes: 4MB, repeat: 3}}]",
	 RS_PLACED_COLOURED, 0},
	/* one switch, and a leaf alone: nothing to choose */
	{"fabric: {cc: {kind: none}, network: {kind: single-switch, hosts: 4, rate: 100G}}\n"
	 "workload: [{flows: [{src: h0, dst: h1, bytes: 1MB}]}]",
	 RS_PLACED_GREEDY, 0},
	{"fabric: {cc: {kind: none}, network: {kind: leaf-spine, leaves: 1, spines: 2, "
	 "hosts_per_leaf: 4, rate: 100G}}\n"
	 "workload: [{flows: [{src: h0, dst: h1, bytes: 1MB}]}]",
	 RS_PLACED_GREEDY, 0},
	/* a leaf that is gone, with its hosts */
	{"fabric: {" LEAF_SPINE ", change: [{switch: leaf3, down: true}]}\nworkload: [{flows: "
	 "[{src: h0, dst: h4, bytes: 1MB}, {src: h1, dst: h5, bytes: 1MB}]}]",
	 RS_PLACED_GREEDY, 0},
	/* flows one after another take the way of those that have ended */
	{"fabric: {" LEAF_SPINE "}\nworkload: [{flows: [{src: h0, dst: h4, bytes: 1MB}, {src: h1, "
	 "dst: h5, bytes: 1MB, start: 10us}, {src: h2, dst: h6, bytes: 1MB, start: 20us}, {src: "
	 "h3, "
	 "dst: h7, bytes: 1MB, start: 30us}, {src: h0, dst: h8, bytes: 1MB, start: 200us}]}]",
	 RS_PLACED_COLOURED, 0},
};

static void test_other_networks_and_traffic(void **state)
{
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct rs_fabric *f = load_text(others[i].text);
		struct rs_sim_result *placed = run(f, true, 1), *ecmp = run(f, false, 1);
		const struct rs_sim_placement *p = &placed->placement;

		if (getenv("RS_SHOW"))
			printf("%u: method %d, %u batches, bound %.1f us, reached %.1f, above %u; "
			       "%.1f, by ECMP %.1f\n",
			       i, p->method, p->batches, (double)p->bound / RS_US,
			       (double)p->reached / RS_US, p->above, (double)last(placed) / RS_US,
			       (double)last(ecmp) / RS_US);
		assert_int_equal(p->method, others[i].method);
		assert_true(p->bound > 0 && p->reached >= p->bound);
		assert_true(p->reached <= p->bound * (100 + others[i].percent) / 100);
		assert_true(p->above <= 10 * others[i].percent);
		assert_true(last(placed) >= p->bound);
		/* ACKs meet data in another order: some packets' time */
		assert_true(last(placed) <= last(ecmp) + RS_US / 2);
		rs_sim_result_free(placed);
		rs_sim_result_free(ecmp);
		rs_fabric_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_permutations),
		cmocka_unit_test(test_other_networks_and_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
