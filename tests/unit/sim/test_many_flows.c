/* Flows cost memory while they are under way: queue pairs are made when one starts and freed when
 * it has ended, at both ends. What comes late finds a receiver made anew; nothing depends on
 * threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/random.h"
#include "sim/sim.h"
#include "unit/describe/text.h"

/* n flows of 4 kB between 64 hosts at a third of the links' rate, as many other bytes a flow. */
static struct rs_fabric *many(uint32_t n, const char *more, uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, 0, 0);
	struct rs_fabric *f;
	struct rs_flow *flows;
	char text[1000];

	snprintf(text, sizeof(text),
		 "fabric: {network: {kind: leaf-spine, leaves: 4, hosts_per_leaf: 16, spines: 4, "
		 "rate: "
		 "100G%s}\nworkload: [{flows: [{src: 0, dst: 1, bytes: 4096B}]}]\n",
		 more);
	f = load(text);
	flows = calloc(n, sizeof(*flows));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t src = rs_random_below(&r, 64),
			 dst = (src + 1 + rs_random_below(&r, 63)) % 64;

		flows[i] = (struct rs_flow){.start = (rs_time)i * 15 * RS_NS,
					    .src = src,
					    .dst = dst,
					    .bytes = 4096,
					    .tc = 3};
	}
	f->jobs[0].flows = flows;
	f->jobs[0].n_flows = n;
	return f;
}

static struct rs_sim_result *run(const struct rs_fabric *f, unsigned threads)
{
	struct rs_sim_options o = {.seed = 1, .threads = threads};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	return r;
}

static void unload(struct rs_fabric *f)
{
	free(f->jobs[0].flows);
	rs_fabric_free(f);
}

/* 200,000 flows took 860 MB, 4.3 kB each. */
static void test_two_hundred_thousand_flows_take_less_than_ninety_megabytes(void **state)
{
	struct rs_fabric *f = many(200000, "}", 1);
	struct rs_sim_result *r = run(f, 1);
	struct rusage use;

	assert_true(r->complete);
	assert_int_equal(r->counters.nic_drops, 0);
	getrusage(RUSAGE_SELF, &use);
#ifndef __SANITIZE_ADDRESS__
	assert_true(use.ru_maxrss < 90 << 10);
#endif
	rs_sim_result_free(r);
	unload(f);
}

static void test_late_duplicates_do_no_harm_on_any_number_of_threads(void **state)
{
	static const char *const more[] = {
		", loss: 1%}, transport: {timeout: 1}, cc: {kind: none}",
		", loss: 2%}, transport: {timeout: 1, ack_every: 16}, qos: {routing: spray}",
		"}, transport: {timeout: 1}, qos: {pfc: off, buffer: 300kB}, cc: {kind: swift}",
	};

	for (unsigned i = 0; i < 3; i++) {
		struct rs_fabric *f = many(20000, more[i], i);
		struct rs_sim_result *one = run(f, 1), *two = run(f, 2), *three = run(f, 3);

		assert_true(one->complete);
		assert_int_equal(one->counters.nic_drops, 0);
		assert_true(one->counters.retransmits > 10 || i == 2);
		assert_int_equal(one->counters.events, two->counters.events);
		assert_int_equal(one->counters.events, three->counters.events);
		assert_memory_equal(one->flows, two->flows, one->n_flows * sizeof(*one->flows));
		assert_memory_equal(one->flows, three->flows, one->n_flows * sizeof(*one->flows));
		rs_sim_result_free(one);
		rs_sim_result_free(two);
		rs_sim_result_free(three);
		unload(f);
	}
}

/* Flows that begin at one time go in their order, and those of later jobs after them. */
static void test_flows_of_one_time_and_host_start_in_their_order(void **state)
{
	static const char text[] =
		"fabric: {network: {kind: single-switch, hosts: 4, rate: 100G}, cc: none}\n"
		"workload:\n"
		"  - flows: [{start: 5us, src: 0, dst: 1, bytes: 64kB}, {start: 1us, src: 0, dst: "
		"2, "
		"bytes: 1B}]\n"
		"  - flows: [{start: 5us, src: 0, dst: 3, bytes: 64kB}, {start: 1us, src: 0, dst: "
		"3, "
		"bytes: 1B}]\n";
	struct rs_fabric *f = load(text);
	struct rs_sim_result *r = run(f, 1);

	assert_true(r->complete);
	assert_true(r->flows[0].finish < r->flows[2].finish);
	assert_true(r->flows[1].finish < r->flows[3].finish);
	assert_true(r->flows[3].finish < r->flows[0].finish);
	rs_sim_result_free(r);
	rs_fabric_free(f);
}

/* Beyond one message: 2^30 bytes each. */
static void test_a_flow_of_several_messages_ends_and_rests(void **state)
{
	static const char text[] = "fabric: {network: {kind: single-switch, hosts: 2, rate: 100T, "
				   "mtu: 4096}, cc: none, "
				   "qos: {buffer: 0}}\n"
				   "workload: [{flows: [{src: 0, dst: 1, bytes: 1073745921B}, "
				   "{src: 0, dst: 1, bytes: 1B, "
				   "start: 10ms}, {src: 0, dst: 1, bytes: 1B, start: 20ms}]}]\n";
	struct rs_fabric *f = load(text);
	struct rs_sim_result *r = run(f, 1);

	assert_true(r->complete);
	assert_int_equal(r->counters.data_packets, (1 << 18) + 2 + 2);
	rs_sim_result_free(r);
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_hundred_thousand_flows_take_less_than_ninety_megabytes),
		cmocka_unit_test(test_late_duplicates_do_no_harm_on_any_number_of_threads),
		cmocka_unit_test(test_flows_of_one_time_and_host_start_in_their_order),
		cmocka_unit_test(test_a_flow_of_several_messages_ends_and_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
