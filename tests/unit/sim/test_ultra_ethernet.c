/* Ultra Ethernet's endpoint in the simulator: times that the consortium's own simulator gives to
 * the picosecond, trimming that loses nothing, any number of threads, collectives, and hosts of
 * both transports in one fabric. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "unit/sim/load.h"

/* docs/validation.md's fabric: 128 hosts at 100 Gb/s in a fat tree, a microsecond a link. */
static void tree(struct text *t, const char *uet, const char *qos)
{
	t->n = 0;
	add(t,
	    "fabric:\n  network: {kind: fat-tree, k: 8, rate: 100G, delay: 1us}\n"
	    "  transport: {kind: uet, framing: htsim, payload: 4086B, uet: {%s}}\n"
	    "  qos: {switch_latency: 0ns%s}\nworkload:\n  - flows:\n",
	    uet, qos);
}

static void flow(struct text *t, uint32_t src, uint32_t dst, uint32_t bytes)
{
	add(t, "      - {src: %u, dst: %u, bytes: %uB}\n", src, dst, bytes);
}

static rs_time only_time(const struct text *t, uint32_t flows)
{
	struct loaded l = load_run(t->s, (struct rs_sim_options){.threads = 1});
	rs_time first = l.r->flows[0].finish;

	assert_int_equal(l.r->n_flows, flows);
	for (uint32_t i = 0; i < flows; i++)
		assert_int_equal(l.r->flows[i].finish, first);
	load_free(&l);
	return first;
}

/* uet-truth: one, one-rack, bidir; whatever balances. */
static void test_times_are_those_of_the_consortiums_simulator(void **state)
{
	static const char *const balance[] = {"oblivious", "bitmap", "reps", "mixed"};
	struct text t;
	char uet[40];

	for (int i = 0; i < 4; i++) {
		snprintf(uet, sizeof(uet), "balance: %s", balance[i]);
		tree(&t, uet, "");
		flow(&t, 0, 127, 2000000);
		assert_int_equal(only_time(&t, 1), 176199520);
	}
	tree(&t, "balance: oblivious", "");
	flow(&t, 0, 1, 2000000);
	assert_int_equal(only_time(&t, 1), 166851040);
	tree(&t, "balance: oblivious", "");
	flow(&t, 0, 127, 2000000);
	flow(&t, 127, 0, 2000000);
	assert_int_equal(only_time(&t, 2), 176803680);
}

/* 16 to one: within what the truth of 10 seeds asks of one, and its counts. */
static void check_incast(const char *uet, const char *qos, double mean_us, double percent)
{
	struct loaded l;
	struct text t;
	double sum = 0;

	tree(&t, uet, qos);
	for (uint32_t i = 0; i < 16; i++)
		flow(&t, i * 6, 127, 2000000);
	l = load_run(t.s, (struct rs_sim_options){.threads = 1});
	for (uint32_t i = 0; i < 16; i++) {
		assert_true(l.r->flows[i].finish != RS_NEVER);
		sum += (double)l.r->flows[i].finish / 1e6 / 16;
	}
	assert_true(sum > mean_us * (1 - percent / 100) && sum < mean_us * (1 + percent / 100));
	if (!strstr(qos, "trim: false")) {
		assert_true(l.r->counters.trimmed > 500);
		assert_int_equal(l.r->counters.drops, 0);
		if (!strstr(uet, "rod"))
			assert_in_range(l.r->counters.retransmits, l.r->counters.trimmed,
					l.r->counters.trimmed + 3);
	} else {
		assert_int_equal(l.r->counters.trimmed, 0);
		assert_true(l.r->counters.drops > 300);
	}
	assert_in_range(l.r->counters.max_queue, 4150, 178450 * 5);
	load_free(&l);
}

static void test_an_incast_trims_and_resends_each_packet_once(void **state)
{
	check_incast("balance: oblivious", "", 2404.7, 6);
	check_incast("balance: reps", "", 2418.8, 6);
	check_incast("balance: oblivious, window: dctcp", "", 2480.1, 4);
	check_incast("balance: oblivious, window: none, credits: true", "", 2622.8, 1);
	check_incast("delivery: rod", "", 2600, 40);
	check_incast("balance: oblivious", ", trim: false", 2390.8, 12);
	check_incast("balance: oblivious, sleek: true", ", trim: false", 2217.2, 8);
}

/* What depends on nothing but the seed. */
static uint64_t digest(const struct rs_sim_result *r)
{
	uint64_t d = r->counters.trimmed ^ rs_mix64(r->counters.retransmits) ^
		     rs_mix64(r->counters.ecn_marked) ^ rs_mix64(r->counters.packet_hops);

	for (uint32_t i = 0; i < r->n_flows; i++)
		d = rs_mix64(d ^ (uint64_t)r->flows[i].finish);
	return d;
}

static void test_threads_change_nothing(void **state)
{
	static const char *const uet[] = {"balance: mixed", "balance: reps, credits: true",
					  "balance: bitmap, window: dctcp", "delivery: rod"};
	struct rs_random r = rs_random_stream(7, 0, 0);

	for (int k = 0; k < 4; k++) {
		uint64_t first = 0;
		struct text t;

		tree(&t, uet[k], "");
		for (uint32_t i = 0; i < 60; i++)
			flow(&t, i, 64 + rs_random_below(&r, 64), 1 + rs_random_below(&r, 200000));
		for (unsigned threads = 1; threads <= 3; threads++) {
			struct loaded l =
				load_run(t.s, (struct rs_sim_options){.threads = threads});
			uint64_t d = digest(l.r);

			first = threads == 1 ? d : first;
			assert_true(d == first);
			load_free(&l);
		}
	}
}

/* One of 4 paths dies: the rate is told, as RoCE's is, and is back soon. */
static void test_the_rate_after_an_event_is_told(void **state)
{
	struct text t = {.n = 0};
	struct loaded l;

	add(&t,
	    "fabric:\n  network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4, "
	    "rate: 100G}\n  transport: {kind: uet}\n"
	    "  events: [{at: 400us, link: [leaf0, spine1], down: true}]\nworkload:\n  - flows:\n");
	for (uint32_t i = 0; i < 4; i++)
		flow(&t, i, 4 + i, 20000000);
	l = load_run(t.s, (struct rs_sim_options){.threads = 1});
	assert_int_equal(l.r->n_regains, 1);
	/* four NICs at 100 Gb/s before, three paths after */
	assert_in_range(l.r->regains[0].before, 360000000000, 402000000000);
	assert_in_range(l.r->regains[0].left, 240000000000, 302000000000);
	assert_true(l.r->regains[0].time != RS_NEVER && l.r->regains[0].time < 2 * RS_MS);
	load_free(&l);
}

static void test_collectives_run_over_it(void **state)
{
	static const char text[] =
		"fabric:\n  network: {kind: leaf-spine, leaves: 4, hosts_per_leaf: 4, spines: 4, "
		"rate: 100G}\n  transport: {kind: uet}\n"
		"workload:\n  - collective: {op: all_reduce, bytes: 16MiB}\n"
		"  - collective: {op: all_to_all, bytes: 4MiB, qps: 3, share: yes}\n";
	struct loaded l = load_run(text, (struct rs_sim_options){.threads = 2});

	for (uint32_t j = 0; j < l.r->n_jobs; j++)
		assert_true(l.r->jobs[j].done);
	/* a ring moves 2 (n - 1) / n of 16 MiB a NIC: no sooner than the wire lets it */
	assert_true(l.r->jobs[0].finish > (rs_time)(16777216.0 * 15 / 8 * 80));
	load_free(&l);
}

static void test_hosts_of_both_transports(void **state)
{
	static const char text[] =
		"fabric:\n  hosts:\n"
		"    - {name: h, count: 2, sockets: 1, nics: [{name: nic0, on: socket0, pcie: "
		"gen5x16}]}\n"
		"    - {name: u, count: 2, sockets: 1, nics: [{name: nic0, on: socket0, pcie: "
		"gen5x16}], "
		"transport: uet}\n"
		"  network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, rate: "
		"100G}\n"
		"workload:\n  - flows: [{src: h0, dst: h1, bytes: 1MB}, {src: u0, dst: %s, bytes: "
		"1MB}]\n";
	struct rs_sim_options o = {.threads = 1, .seed = 1};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};
	char both[1000];
	struct rs_fabric *f;

	snprintf(both, sizeof(both), text, "u1");
	f = load(both);
	assert_string_equal(rs_fabric_cc_names(f, both, sizeof(both)), "nscc, dcqcn");
	assert_int_equal(rs_sim_run(f, &o, &r, &e), 0);
	assert_true(r->flows[0].finish != RS_NEVER && r->flows[1].finish != RS_NEVER);
	assert_true(r->flows[0].finish != r->flows[1].finish); /* other headers */
	rs_sim_result_free(r);
	rs_fabric_free(f);
	snprintf(both, sizeof(both), text, "h1");
	f = load(both);
	assert_int_equal(rs_sim_run(f, &o, &r, &e), -EINVAL);
	assert_non_null(strstr(e.what, "speaks Ultra Ethernet and h1"));
	rs_fabric_free(f);
}

/* As canonical text and read again it is the same fabric. */
static void test_written_and_read_again_it_is_the_same(void **state)
{
	static const char *const uet[] = {"window: dctcp, credits: true, paths: 16, mpr: 1024",
					  "delivery: rod, header: 90B, control: 70B, rto: 90us",
					  "balance: reps, freeze: 1ms, sleek: true, target: 9us"};
	static const char *const qos[] = {", trim: false, queue_bdp: 0, overflow: arrival",
					  ", trim_bytes: 128B, queue_bdp: 0.5", ""};

	for (int i = 0; i < 3; i++) {
		struct rs_sim_options o = {.threads = 1, .seed = 3};
		struct loaded a, b;
		struct text t;
		size_t size;
		char *text;
		FILE *out = open_memstream(&text, &size);

		tree(&t, uet[i], qos[i]);
		for (uint32_t k = 0; k < 9; k++)
			flow(&t, 3 * k, 100, 300000);
		a = load_run(t.s, o);
		assert_int_equal(rs_fabric_write(a.f, out), 0);
		fclose(out);
		b = load_run(text, o);
		assert_true(digest(a.r) == digest(b.r));
		load_free(&a);
		load_free(&b);
		free(text);
	}
}

/* Flows that stand behind a link that loses packets: timeouts alone bring them home. */
static void test_links_that_lose_packets(void **state)
{
	static const char text[] =
		"fabric:\n  network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, "
		"rate: 100G, loss: 0.01}\n  transport: {kind: uet, uet: {credits: %s, balance: "
		"%s}}\n"
		"workload:\n  - flows: [{src: 0, dst: 7, bytes: 1MB}, {src: 1, dst: 7, bytes: "
		"1MB}, "
		"{src: 2, dst: 4, bytes: 3MB}]\n";

	for (int i = 0; i < 4; i++) {
		char s[600];
		struct loaded l;

		snprintf(s, sizeof(s), text, i & 1 ? "true" : "false", i & 2 ? "reps" : "mixed");
		l = load_run(s, (struct rs_sim_options){.threads = 1});
		for (uint32_t k = 0; k < 3; k++)
			assert_true(l.r->flows[k].finish < 50 * RS_MS);
		assert_true(l.r->counters.timeouts > 0 && l.r->counters.link_losses > 0);
		load_free(&l);
	}
}

/* Some that are given up arrive all the same, and do not go again. */
static void test_what_goes_again_is_told_once(void **state)
{
	static const char text[] =
		"fabric:\n  network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, "
		"rate: 100G, loss: 0.005}\n  transport: {kind: uet, uet: {%s}}\n"
		"workload:\n  - flows: [{src: 0, dst: 7, bytes: 1MB}, {src: 1, dst: 7, bytes: "
		"1MB}, {src: 2, dst: 7, bytes: 1MB}]\n";
	static const char *const uet[] = {"delivery: rod", "sleek: true", "credits: true",
					  "window: dctcp, delivery: rod"};

	for (int i = 0; i < 4; i++) {
		uint64_t told = 0, why = 0;
		char s[600];
		struct loaded l;

		snprintf(s, sizeof(s), text, uet[i]);
		l = load_run(s, (struct rs_sim_options){.observe = {.on = true, .flows = 64}});
		for (uint32_t f = 0; f < l.r->series->n_flows; f++)
			for (uint32_t b = 0; b < l.r->series->bins; b++) {
				const struct rs_series_flow *x = &l.r->series->flows[f];

				told += x->resent ? x->resent[b] : 0;
				for (unsigned k = 0; k < RS_RESENT_WHYS; k++)
					why += x->resent_for[k] ? x->resent_for[k][b] : 0;
			}
		assert_true(l.r->counters.retransmits > 10);
		assert_int_equal(told, l.r->counters.retransmits);
		assert_int_equal(why, told);
		load_free(&l);
	}
}

/* Senders at line rate before queues that have no end (a counterfactual): nothing is lost, so
 * nothing goes again, however late it is, and the bottleneck's time is all that it takes. */
static void test_endless_queues_send_nothing_again(void **state)
{
	static const struct rs_sim_ideal ideals[] = {
		{.no_cc = true, .no_pause = true},
		{.no_cc = true, .no_drops = true},
		{.no_cc = true, .no_pause = true, .network = true}};
	const double seconds = 16 * 2e6 * 8 / 100e9;

	for (unsigned i = 0; i < sizeof(ideals) / sizeof(*ideals); i++) {
		struct rs_sim_options o = {.threads = 1, .max_time = RS_S, .ideal = ideals[i]};
		struct loaded l;
		struct text t;
		double took;

		tree(&t, "window: dctcp, balance: fixed", ", trim: false");
		for (uint32_t k = 0; k < 16; k++)
			flow(&t, k * 6, 127, 2000000);
		l = load_run(t.s, o);
		took = (double)l.r->sim_time / RS_S;
		assert_int_equal(l.r->counters.retransmits, 0);
		assert_true(took > seconds && took < seconds * 1.05);
		load_free(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_are_those_of_the_consortiums_simulator),
		cmocka_unit_test(test_an_incast_trims_and_resends_each_packet_once),
		cmocka_unit_test(test_threads_change_nothing),
		cmocka_unit_test(test_the_rate_after_an_event_is_told),
		cmocka_unit_test(test_collectives_run_over_it),
		cmocka_unit_test(test_hosts_of_both_transports),
		cmocka_unit_test(test_written_and_read_again_it_is_the_same),
		cmocka_unit_test(test_links_that_lose_packets),
		cmocka_unit_test(test_what_goes_again_is_told_once),
		cmocka_unit_test(test_endless_queues_send_nothing_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
