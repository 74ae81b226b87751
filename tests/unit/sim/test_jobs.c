/* Jobs beside each other, and networks with a dead or slower link, as they run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"
#include "unit/describe/text.h"

#define NET                                                                                      \
	"fabric:\n  network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 8, spines: 4, rate: " \
	"100G}\n  cc: {kind: none}\n"

static struct rs_sim_result *run(const struct rs_fabric *f, uint64_t seed, unsigned threads)
{
	struct rs_sim_options o = {.seed = seed, .threads = threads};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_true(r->complete);
	assert_int_equal(r->counters.drops, 0);
	return r;
}

static rs_time took(const char *text, uint64_t seed, uint32_t job)
{
	struct rs_fabric *f = load(text);
	struct rs_sim_result *r = run(f, seed, 1);
	rs_time t = r->jobs[job].finish - r->jobs[job].start;

	rs_sim_result_free(r);
	rs_fabric_free(f);
	return t;
}

/* They stood on the same hosts, and each took twice as long. */
static void test_two_jobs_of_eight_do_not_meet(void **state)
{
	rs_time alone = took(NET "workload: [{collective: {bytes: 4MiB, ranks: 8}}]", 1, 0);
	static const char both[] = NET "workload: [{collective: {bytes: 4MiB, ranks: 8}}, "
				       "{collective: {bytes: 4MiB, ranks: 8}}]";
	static const char shared[] = NET "workload: [{collective: {bytes: 4MiB, ranks: 8}}, "
					 "{share: true, collective: {bytes: 4MiB, ranks: 8}}]";

	assert_true(took(both, 1, 0) == alone);
	assert_true(took(both, 1, 1) == alone);
	assert_true(took(shared, 1, 0) > alone + alone / 2);
}

/* Of ranks that take turns between two leaves each hop crosses the spines. */
static void test_a_list_is_the_order_of_ranks(void **state)
{
	rs_time near =
		took(NET "workload: [{collective: {bytes: 1MiB, ranks: [0-3, 8-11]}}]", 1, 0);
	rs_time far =
		took(NET "workload: [{collective: {bytes: 1MiB, ranks: [0, 8, 1, 9, 2, 10, 3, "
			 "11]}}]",
		     1, 0);

	assert_true(far > near);
}

static void test_drawn_places_follow_the_seed_alone(void **state)
{
	static const char text[] =
		NET "workload: [{place: random, collective: {bytes: 1MiB, ranks: "
		    "8}}, {place: random, collective: {bytes: 1MiB, ranks: 8}}]";
	struct rs_fabric *f = load(text);
	unsigned other = 0;

	for (uint64_t seed = 1; seed < 5; seed++) {
		struct rs_sim_result *a = run(f, seed, 1), *b = run(f, seed, 3);

		assert_true(a->sim_time == b->sim_time);
		assert_int_equal(a->counters.events, b->counters.events);
		for (uint32_t i = 0; i < 8; i++)
			other += rs_collective_gpu(&a->jobs[0].coll->conf, i) !=
				 rs_collective_gpu(&f->jobs[0].collective, i);
		rs_sim_result_free(a);
		rs_sim_result_free(b);
	}
	assert_true(other > 16);
	rs_fabric_free(f);
}

static void test_nothing_goes_over_what_is_down(void **state)
{
	static const char all[] = "workload: [{collective: {op: all-to-all, bytes: 1MiB}}]\n";
	char text[1000];
	rs_time whole, cut;

	snprintf(text, sizeof(text), "%s%s", NET, all);
	whole = took(text, 1, 0);
	snprintf(text, sizeof(text),
		 "%s  change: [{link: [leaf0, spine3], down: true}, {switch: spine1, down: "
		 "true}]\n%s",
		 NET, all);
	cut = took(text, 1, 0);
	assert_true(cut > whole);
}

static void test_a_slower_lossy_or_longer_link_counts(void **state)
{
	static const char flow[] = "workload: [{flows: [{src: h0, dst: h1, bytes: 1MB}]}]\n";
	char text[1000];
	rs_time was, now;

	snprintf(text, sizeof(text), "%s%s", NET, flow);
	was = took(text, 1, 0);
	snprintf(text, sizeof(text), "%s  change: [{link: h1, rate: 10G}]\n%s", NET, flow);
	now = took(text, 1, 0);
	assert_true(now > 9 * was && now < 11 * was);
	snprintf(text, sizeof(text), "%s  change: [{link: h1, delay: 100us}]\n%s", NET, flow);
	now = took(text, 1, 0);
	assert_true(now - was == 2 * (100 * RS_US - 500 * RS_NS));
	snprintf(text, sizeof(text), "%s  change: [{link: [h1], loss: 1%%}]\n%s", NET, flow);
	now = took(text, 1, 0);
	assert_true(now > was);
}

/* What a case of thousands does in its thread: it makes its fabric, and keeps a figure. */
struct kept {
	const char *text;
	rs_time took;
};

static void begin(struct rs_sim_case *c)
{
	const struct kept *k = c->arg;

	rs_fabric_load_text(k->text, strlen(k->text), "t", ".", NULL, 0,
			    (struct rs_fabric **)&c->fabric, &c->error);
}

static void end(struct rs_sim_case *c)
{
	struct kept *k = c->arg;

	if (c->result && c->result->complete)
		k->took = c->result->sim_time;
	rs_sim_result_free(c->result);
	rs_fabric_free((struct rs_fabric *)c->fabric);
	c->result = NULL;
	c->fabric = NULL;
}

/* Congestion control, rings, trees and all-to-all, and plans as NCCL makes them; the same fabric
 * for some of the runs. Under ThreadSanitizer this is what shows that runs share nothing that they
 * write. */
static void test_runs_side_by_side_are_as_one_after_another(void **state)
{
#define DCQCN \
	"fabric: {network: {kind: fat-tree, k: 4, rate: 100G, mtu: 1024}, cc: {kind: dcqcn}}\n"
#define NCCL                                                                                 \
	"fabric: {hosts: [{name: h, count: 2, like: " RS_SOURCE_DIR                          \
	"/tests/data/hosts/h100-8.xml, nvlink: {rate: 3600G}}], pairing: nearest, network: " \
	"{kind: rail, leaves: 8, rate: 400G}, cc: {kind: none}}\n"
	static const char *const texts[] = {
		DCQCN "workload: [{collective: {op: all-reduce, bytes: 64KiB}}, {collective: {op: "
		      "all-to-all, bytes: 64KiB}}]",
		DCQCN "workload: [{collective: {op: all-reduce, algorithm: tree, bytes: 64KiB}}]",
		NET "workload: [{collective: {op: all-gather, bytes: 256KiB}}]",
		NCCL "workload: [{collective: {op: all-reduce, bytes: 256KiB, nccl: {}}}]",
		NCCL "workload: [{collective: {op: all-to-all, bytes: 256KiB, nccl: {}}}]",
	};
	enum { TEXTS = sizeof(texts) / sizeof(*texts), N = 3 * TEXTS };
	struct kept kept[TEXTS] = {0};
	struct rs_sim_case c[N] = {0};
	struct rs_fabric *f[TEXTS];
	rs_time alone[TEXTS];

	for (uint32_t i = 0; i < TEXTS; i++) {
		struct rs_sim_result *r;

		f[i] = load(texts[i]);
		r = run(f[i], 1, 1);
		alone[i] = r->sim_time;
		rs_sim_result_free(r);
		kept[i].text = texts[i];
	}
	for (uint32_t i = 0; i < N; i++) {
		c[i].options.seed = 1;
		c[i].options.threads = 1;
		if (i < 2 * TEXTS) {
			c[i].fabric = f[i % TEXTS];
		} else {
			c[i].begin = begin;
			c[i].end = end;
			c[i].arg = &kept[i % TEXTS];
		}
	}
	assert_int_equal(rs_sim_run_all(c, N, 4), 4);
	for (uint32_t i = 0; i < 2 * TEXTS; i++) {
		assert_non_null(c[i].result);
		assert_true(c[i].result->sim_time == alone[i % TEXTS]);
		rs_sim_result_free(c[i].result);
	}
	for (uint32_t i = 0; i < TEXTS; i++) {
		assert_true(kept[i].took == alone[i]);
		rs_fabric_free(f[i]);
	}
}

static void test_rails_that_are_apart_are_told(void **state)
{
	struct rs_fabric *f =
		load("fabric: {network: {kind: rail, hosts: 4, nics: 2, spines: 0}}\n"
		     "workload: [{name: mix, collective: {op: all-to-all, bytes: 1MiB}}]\n");
	struct rs_sim_options o = {.seed = 1};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	assert_int_equal(rs_sim_run(f, &o, &r, &e), -EINVAL);
	assert_non_null(strstr(e.what, "job 'mix': no route from h0/nic0 (rank 0) to h1/nic1"));
	assert_int_equal(e.line, 2);
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_jobs_of_eight_do_not_meet),
		cmocka_unit_test(test_a_list_is_the_order_of_ranks),
		cmocka_unit_test(test_drawn_places_follow_the_seed_alone),
		cmocka_unit_test(test_nothing_goes_over_what_is_down),
		cmocka_unit_test(test_a_slower_lossy_or_longer_link_counts),
		cmocka_unit_test(test_rails_that_are_apart_are_told),
		cmocka_unit_test(test_runs_side_by_side_are_as_one_after_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
