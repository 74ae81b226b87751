/* Packets that overtake: what is sent again for it is counted, and told from what was lost; the
 * counterfactual in which it costs nothing is near the bound, and exact on any number of threads.
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
#include "unit/shuffle.h"

enum { HOSTS = 64, BYTES = 1000000 };

/* 8 leaves of 8, 8 spines; a random permutation of 1 MB each. */
static struct rs_fabric *permutation(const char *network, const char *qos, uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, 1, 2);
	uint32_t to[HOSTS];
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	shuffle(&r, to, HOSTS);
	fprintf(out,
		"fabric: {cc: {kind: none}, network: {kind: leaf-spine, leaves: 8, spines: 8, "
		"hosts_per_leaf: 8, rate: 100G, delay: 500ns%s}, qos: {%s}}\n"
		"workload: [{flows: [",
		network, qos);
	for (uint32_t i = 0; i < HOSTS; i++)
		fprintf(out, "{src: h%u, dst: h%u, bytes: %dB}, ", i, to[i], BYTES);
	fputs("]}]\n", out);
	fclose(out);
	if (rs_fabric_load_text(text, n, "t.yaml", NULL, NULL, 0, &f, &e))
		fail_msg("%s:%d:%d: %s", e.file, e.line, e.column, e.what);
	free(text);
	return f;
}

static struct rs_sim_result *run(const struct rs_fabric *f, bool in_order, unsigned threads)
{
	struct rs_sim_options o = {.seed = 3, .threads = threads, .ideal.in_order = in_order};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_true(r->complete);
	if (getenv("RS_SHOW"))
		printf("in order %d: %.1f us, %llu packets, %llu sent again, %llu for their order; "
		       "%llu drops, %llu lost\n",
		       in_order, (double)rs_sim_fct(r, 0, 100) / RS_US,
		       (unsigned long long)r->counters.data_packets,
		       (unsigned long long)r->counters.retransmits,
		       (unsigned long long)r->counters.reordered,
		       (unsigned long long)r->counters.drops,
		       (unsigned long long)r->counters.link_losses);
	return r;
}

/* A flow's frames on its link, 10 ps a bit. */
#define BOUND ((rs_time)BYTES * 4198 / 4096 * 8 * 10)

static void near_the_bound(const char *routing)
{
	struct rs_fabric *f = permutation("", routing, 1);
	struct rs_sim_result *real = run(f, false, 1), *ideal = run(f, true, 1);

	assert_true(real->counters.retransmits > 0);
	assert_int_equal(real->counters.drops + real->counters.link_losses, 0);
	/* nothing was lost: all of it is for their order */
	assert_int_equal(real->counters.reordered, real->counters.retransmits);
	assert_int_equal(ideal->counters.retransmits, 0);
	assert_int_equal(ideal->counters.reordered, 0);
	assert_int_equal(ideal->counters.naks, 0);
	assert_true(rs_sim_fct(ideal, 0, 100) < BOUND * 13 / 10);
	assert_true(rs_sim_fct(real, 0, 100) > 10 * rs_sim_fct(ideal, 0, 100));
	rs_sim_result_free(real);
	rs_sim_result_free(ideal);
	rs_fabric_free(f);
}

static void test_spray_in_order_is_near_the_bound(void **state)
{
	near_the_bound("routing: spray");
	near_the_bound("routing: adaptive");
}

static void test_ecmp_has_nothing_to_reorder(void **state)
{
	struct rs_fabric *f = permutation(", loss: 0.001", "routing: ecmp", 1);
	struct rs_sim_result *real = run(f, false, 1), *ideal = run(f, true, 1);

	assert_true(real->counters.retransmits > 0);
	assert_int_equal(real->counters.reordered, 0);
	assert_int_equal(rs_sim_fct(real, 0, 100), rs_sim_fct(ideal, 0, 100));
	rs_sim_result_free(real);
	rs_sim_result_free(ideal);
	rs_fabric_free(f);
}

/* Losses are no reordering: in order, nothing but they make anyone send again. */
static void losses_are_told_apart(const char *network, const char *qos)
{
	struct rs_fabric *f = permutation(network, qos, 2);
	struct rs_sim_result *real = run(f, false, 1), *ideal = run(f, true, 1), *more;
	const struct rs_sim_counters *c = &ideal->counters;

	assert_true(real->counters.reordered < real->counters.retransmits);
	assert_true(c->drops + c->link_losses + c->nic_drops > 0);
	assert_true(c->naks <= c->drops + c->link_losses + c->nic_drops);
	assert_int_equal(c->reordered, 0);
	for (unsigned t = 2; t <= 3; t++) {
		more = run(f, true, t);
		assert_memory_equal(&more->counters, c, sizeof(*c));
		assert_memory_equal(more->flows, ideal->flows,
				    ideal->n_flows * sizeof(*ideal->flows));
		rs_sim_result_free(more);
		more = run(f, false, t);
		assert_memory_equal(&more->counters, &real->counters, sizeof(*c));
		rs_sim_result_free(more);
	}
	rs_sim_result_free(real);
	rs_sim_result_free(ideal);
	rs_fabric_free(f);
}

static void test_losses_are_told_apart(void **state)
{
	losses_are_told_apart(", loss: 0.002", "routing: spray");
	losses_are_told_apart("", "routing: spray, pfc: false, buffer: 400kB");
	losses_are_told_apart(", loss: 0.0005", "routing: adaptive, pfc: false, buffer: 400kB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spray_in_order_is_near_the_bound),
		cmocka_unit_test(test_ecmp_has_nothing_to_reorder),
		cmocka_unit_test(test_losses_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
