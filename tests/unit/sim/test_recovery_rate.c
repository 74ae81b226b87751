/* What recovery costs: selective repeat against go-back-N and against arithmetic, under loss and
 * over several paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit/sim/load.h"

/* One flow over one switch; loss: of a packet on its way through, either way. */
static struct loaded flow(const char *recovery, const char *rate, const char *delay, unsigned mtu,
			  double loss, unsigned ack_every)
{
	struct text t = {.n = 0};

	add(&t,
	    "fabric:\n  network: {kind: single-switch, hosts: 2, rate: %s, delay: %s, mtu: %u, "
	    "loss: %g}\n  qos: {switch_latency: 0ns}\n  cc: none\n  transport: {ack_every: %u, "
	    "recovery: %s}\n"
	    "workload: [{flows: [{src: h0, dst: h1, bytes: 60MB}]}]\n",
	    rate, delay, mtu, loss / 2, ack_every, recovery);
	return load_run(t.s, (struct rs_sim_options){0});
}

static rs_time time_of(struct loaded l)
{
	rs_time t = rs_sim_fct(l.r, 0, 100);

	assert_true(l.r->complete);
	load_free(&l);
	return t;
}

/* A loss costs selective repeat its own packet, and go-back-N a round trip of packets: 1 / (1 + p
 * W) of the rate, W packets being out. */
static void test_a_loss_costs_a_packet_not_a_round_trip(void **state)
{
	static const struct {
		const char *rate, *delay;
		unsigned mtu, ack_every;
		double window; /* W: of 4 delays, and of serialization there and back */
	} paths[] = {
		{"400G", "2us", 4096, 1, 400e9 / 8 * (8e-6 + 2 * 85e-9) / 4214},
		{"100G", "2500ns", 1024, 1, 100e9 / 8 * (10e-6 + 2 * 92e-9) / 1142},
		{"800G", "1us", 2048, 4, 800e9 / 8 * (4e-6 + 2 * 22e-9) / 2166},
		{"200G", "4us", 4096, 8, 200e9 / 8 * (16e-6 + 2 * 169e-9) / 4214},
	};

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		rs_time clean = time_of(flow("selective", paths[i].rate, paths[i].delay,
					     paths[i].mtu, 0, paths[i].ack_every));
		rs_time lossy = time_of(flow("selective", paths[i].rate, paths[i].delay,
					     paths[i].mtu, 1e-3, paths[i].ack_every));
		struct loaded back = flow("go-back-n", paths[i].rate, paths[i].delay, paths[i].mtu,
					  1e-3, paths[i].ack_every);
		double packets = (double)(60000000 / paths[i].mtu);
		/* p as it was drawn */
		double form = 1 / (1 + (double)back.r->counters.naks / packets * paths[i].window);
		double kept = (double)clean / (double)lossy;
		double gone = (double)clean / (double)time_of(back);

		if (kept < 0.97)
			fail_msg("%s: selective keeps %.3f of the rate", paths[i].rate, kept);
		if (gone < form - 0.03 || gone > form + 0.03 || gone > 0.95)
			fail_msg("%s: go-back-n keeps %.3f of the rate, the form has %.3f",
				 paths[i].rate, gone, form);
	}
}

/* Data that was lost goes again, and nothing else does: no loss of an ACK makes work. */
static void test_only_what_was_lost_goes_again(void **state)
{
	struct loaded l = flow("selective", "400G", "2us", 4096, 2e-3, 1);
	uint64_t packets = (60000000 + 4095) / 4096; /* in one message, or a few */

	assert_in_range(l.r->counters.retransmits, 10, l.r->counters.link_losses);
	assert_in_range(l.r->counters.data_packets - l.r->counters.retransmits, packets,
			packets + 64);
	load_free(&l);
}

/* Of 1,000 packets the last: nothing behind it tells of its loss, and IRN's shorter timeout does.
 * Of a READ's responses, too; with go-back-N it is the attribute timeout. */
static void test_a_lost_last_packet_costs_rto_low(void **state)
{
	static const struct {
		const char *op, *recovery;
		rs_time cost;
	} cases[] = {{"write", "selective", 100 * RS_US},
		     {"send", "selective", 100 * RS_US},
		     {"read", "selective", 100 * RS_US},
		     {"write", "go-back-n", 4096 * RS_NS << 8},
		     {"read", "go-back-n", 4096 * RS_NS << 8}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rs_time took[2];

		for (unsigned lost = 0; lost < 2; lost++) {
			struct text t = {.n = 0};

			add(&t,
			    "fabric:\n  network: {kind: single-switch, hosts: 2, rate: 100G, "
			    "delay: "
			    "1us}\n  cc: none\n  transport: {timeout: 8, recovery: %s}\n%s"
			    "workload: [{op: %s, flows: [{src: h0, dst: h1, bytes: 4096000B}]}]\n",
			    cases[i].recovery,
			    lost ? "  events: [{at: 0us, link: h0, drop: 1, skip: 999}]\n" : "",
			    cases[i].op);
			took[lost] = time_of(load_run(t.s, (struct rs_sim_options){0}));
		}
		/* a READ's timeout runs from what came last; the others' from what was sent last */
		assert_in_range(took[1] - took[0], cases[i].cost - 10 * RS_US,
				cases[i].cost + 10 * RS_US);
	}
}

static void test_in_flight_bounds_the_rate(void **state)
{
	/* 10 packets a round trip: 4 x 5 us, a packet's serialization twice, an ACK's twice */
	struct loaded l = load_run(
		"fabric:\n  network: {kind: single-switch, hosts: 2, rate: 100G, delay: 5us, mtu: "
		"4096}\n  qos: {switch_latency: 0ns}\n"
		"  cc: none\n  transport: {ack_every: 1, recovery: selective, in_flight: 10}\n"
		"workload: [{flows: [{src: h0, dst: h1, bytes: 4096000B}]}]\n",
		(struct rs_sim_options){0});
	double rtt = 20e-6 + 2 * 4214 * 8 / 100e9 + 2 * 86 * 8 / 100e9;
	double t = (double)time_of(l) / 1e12;

	if (t < 99 * rtt || t > 101.5 * rtt)
		fail_msg("1000 packets took %.1f round trips", t / rtt);
}

/* Links as long as a country: no timeout is shorter than their round trip. */
static void test_a_long_way_is_no_loss(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		static const char *const delays[] = {"50us", "200us", "500us"};
		struct loaded l = flow("selective", "100G", delays[i], 4096, 0, 1);

		assert_true(l.r->complete);
		assert_int_equal(l.r->counters.timeouts, 0);
		assert_int_equal(l.r->counters.retransmits, 0);
		load_free(&l);
	}
}

static struct loaded spray(const char *recovery, const char *routing, const char *cc,
			   unsigned threads)
{
	struct text t = {.n = 0};

	add(&t,
	    "fabric:\n  network: {kind: leaf-spine, leaves: 4, spines: 4, hosts: 16, rate: 100G, "
	    "delay: 1us, mtu: 1024}\n  qos: {routing: %s}\n  cc: %s\n"
	    "  transport: {ack_every: 1, recovery: %s}\nworkload:\n  - flows:\n",
	    routing, cc, recovery);
	for (unsigned i = 0; i < 16; i++)
		add(&t, "      - {src: h%u, dst: h%u, bytes: 1MB}\n", i, (i + 5) % 16);
	return load_run(t.s, (struct rs_sim_options){.threads = threads});
}

/* Paths for each packet: all of the network is used, and no packet goes again for its order. */
static void test_spraying_does_not_collapse(void **state)
{
	static const char *const routings[] = {"spray", "adaptive"};
	static const char *const ccs[] = {"none", "dcqcn", "swift"};
	/* a flow's frames at 100 Gb/s */
	rs_time line = (rs_time)(1000000.0 / 1024 * 1158 * 80);

	for (unsigned i = 0; i < 6; i++) {
		struct loaded l = spray("selective", routings[i / 3], ccs[i % 3], 1);
		struct loaded back = spray("go-back-n", routings[i / 3], ccs[i % 3], 1);
		rs_time t = rs_sim_fct(l.r, 0, 100);

		assert_true(l.r->complete && back.r->complete);
		assert_int_equal(l.r->counters.reordered, 0);
		assert_int_equal(l.r->counters.retransmits, 0);
		if (t > line + line / 4)
			fail_msg("%s, %s: %.1f us, the line needs %.1f", routings[i / 3],
				 ccs[i % 3], (double)t / 1e6, (double)line / 1e6);
		assert_true(back.r->counters.reordered > 1000);
		assert_true(rs_sim_fct(back.r, 0, 100) > 2 * t);
		load_free(&l);
		load_free(&back);
	}
}

static void test_threads_change_nothing(void **state)
{
	struct loaded one = spray("selective, reorder: 2us", "spray", "dcqcn", 1);

	assert_true(one.r->counters.reordered > 0); /* within a time that is too short */
	for (unsigned threads = 2; threads < 4; threads++) {
		struct loaded l = spray("selective, reorder: 2us", "spray", "dcqcn", threads);

		assert_int_equal(l.r->n_flows, one.r->n_flows);
		for (uint32_t i = 0; i < l.r->n_flows; i++)
			assert_int_equal(l.r->flows[i].finish, one.r->flows[i].finish);
		assert_memory_equal(&l.r->counters, &one.r->counters, sizeof(l.r->counters));
		load_free(&l);
	}
	load_free(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_loss_costs_a_packet_not_a_round_trip),
		cmocka_unit_test(test_only_what_was_lost_goes_again),
		cmocka_unit_test(test_a_lost_last_packet_costs_rto_low),
		cmocka_unit_test(test_in_flight_bounds_the_rate),
		cmocka_unit_test(test_a_long_way_is_no_loss),
		cmocka_unit_test(test_spraying_does_not_collapse),
		cmocka_unit_test(test_threads_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
