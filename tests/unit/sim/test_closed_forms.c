/* The simulator against arithmetic: latency of an empty path to the picosecond, goodput of one
 * flow, sharing, PFC without loss, the same result twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit/sim/build.h"

static struct rs_sim_result *run(struct hand *h, struct rs_sim_options o)
{
	struct rs_error e = {0};
	struct rs_sim_result *r = NULL;

	if (!o.seed)
		o.seed = 1;
	if (rs_sim_run(&h->f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_true(r->complete);
	return r;
}

/* One packet there, one ACK back: serialization on each of two links each way, and two delays. */
static void test_empty_path_latency_is_exact(void **state)
{
	static const int64_t rates[] = {RS_GBPS, 10 * RS_GBPS, 100 * RS_GBPS, 400 * RS_GBPS,
					800 * RS_GBPS};

	for (unsigned i = 0; i < 5; i++) {
		struct hand *h = hand_single(2, rates[i], RS_US, 1024);
		rs_time byte = 8 * RS_S / rates[i];
		/* WRITE Only of 64 B: 14+20+8+12+16+64+4+4 = 142, on the link 162; ACK 66 + 20 */
		rs_time expect = 2 * (162 * byte + RS_US) + 2 * (86 * byte + RS_US);
		struct rs_sim_result *r;

		hand_flow(h, 0, 1, 64, 0);
		r = run(h, (struct rs_sim_options){0});
		assert_int_equal(r->flows[0].finish, expect);
		assert_int_equal(r->counters.packet_hops, 2);
		assert_int_equal(r->counters.ack_hops, 2);
		rs_sim_result_free(r);
		hand_free(h);
	}
}

static rs_time one_flow(int64_t rate, uint16_t mtu, uint64_t bytes)
{
	struct hand *h = hand_single(2, rate, 100 * RS_NS, mtu);
	struct rs_sim_result *r;
	rs_time t;

	hand_flow(h, 0, 1, bytes, 0);
	r = run(h, (struct rs_sim_options){0});
	t = r->flows[0].finish;
	rs_sim_result_free(r);
	hand_free(h);
	return t;
}

/* Two lengths, so that the path's latency falls out. */
static void test_goodput_is_payload_over_overhead(void **state)
{
	static const int64_t rates[] = {RS_GBPS, 100 * RS_GBPS, 400 * RS_GBPS, 800 * RS_GBPS};

	for (uint16_t mtu = 256; mtu <= 4096; mtu = (uint16_t)(mtu * 2)) {
		for (unsigned i = 0; i < 4; i++) {
			uint64_t bytes = (uint64_t)mtu * 4096;
			rs_time t =
				one_flow(rates[i], mtu, 2 * bytes) - one_flow(rates[i], mtu, bytes);
			double goodput = (double)bytes * 8 / ((double)t / RS_S);
			double expect = (double)rates[i] * mtu / (mtu + 82);

			assert_true(goodput < expect * 1.001 && goodput > expect * 0.999);
		}
	}
}

static void test_incast_is_lossless_and_shares_the_link(void **state)
{
	struct hand *h = hand_single(9, 100 * RS_GBPS, RS_US, 1024);
	struct rs_sim_result *r;
	double ideal;

	h->f.qos.buffer = 4000000;
	h->f.qos.ecn_on = false;
	for (uint32_t i = 0; i < 8; i++)
		hand_flow(h, i, 8, 2000000, 0);
	r = run(h, (struct rs_sim_options){0});
	ideal = 8 * 2000000.0 * 8 * (1024 + 82) / 1024 / 100e9;
	assert_int_equal(r->counters.drops, 0);
	assert_int_equal(r->counters.retransmits, 0);
	assert_true(r->counters.pauses > 0);
	assert_true((double)r->sim_time / RS_S < ideal * 1.02);
	assert_true((double)r->sim_time / RS_S > ideal);
	rs_sim_result_free(r);
	hand_free(h);
}

static void test_halved_headroom_drops(void **state)
{
	struct hand *h = hand_single(9, 100 * RS_GBPS, 20 * RS_US, 1024);
	struct rs_sim_result *r;

	h->f.qos.buffer = 8000000;
	h->f.qos.ecn_on = false;
	h->f.qos.headroom_scale = 0.5;
	h->f.qos.tc[3].alpha_shift = 3;
	for (uint32_t i = 0; i < 8; i++)
		hand_flow(h, i, 8, 4000000, 0);
	r = run(h, (struct rs_sim_options){0});
	assert_true(r->counters.drops > 0);
	rs_sim_result_free(r);
	h->f.qos.headroom_scale = 1;
	r = run(h, (struct rs_sim_options){0});
	assert_int_equal(r->counters.drops, 0);
	rs_sim_result_free(r);
	hand_free(h);
}

/* Frames of a cell and some bytes, a cable longer than the peer's response, a pipeline before the
 * buffer: the headroom counts cells, and what is on the way in. */
static void test_small_frames_in_cells_lose_nothing(void **state)
{
	struct hand *h = hand_single(9, 400 * RS_GBPS, 5 * RS_US, 256);
	struct rs_sim_result *r;

	h->f.qos.buffer = 12000000;
	h->f.qos.cell = 144;
	h->f.qos.max_frame = 400;
	h->f.qos.switch_latency = 500 * RS_NS;
	h->f.qos.ecn_on = false;
	for (uint32_t i = 0; i < 8; i++)
		hand_flow(h, i, 8, 4000000, 0);
	r = run(h, (struct rs_sim_options){0});
	assert_true(r->counters.pauses > 0);
	assert_int_equal(r->counters.drops, 0);
	rs_sim_result_free(r);
	hand_free(h);
}

static void test_lost_packets_come_again(void **state)
{
	struct hand *h = hand_single(2, 100 * RS_GBPS, RS_US, 1024);
	struct rs_sim_result *r;

	h->f.links[0].loss = 0.001;
	hand_flow(h, 0, 1, 20000000, 0);
	r = run(h, (struct rs_sim_options){0});
	assert_true(r->counters.link_losses > 0);
	assert_true(r->counters.retransmits > 0);
	rs_sim_result_free(r);
	hand_free(h);
}

static void test_dcqcn_keeps_the_queue_below_pfc(void **state)
{
	struct hand *h = hand_single(9, 100 * RS_GBPS, RS_US, 1024);
	struct rs_sim_result *r;

	h->f.cc.kind = "dcqcn";
	for (uint32_t i = 0; i < 8; i++)
		hand_flow(h, i, 8, 4000000, 0);
	r = run(h, (struct rs_sim_options){0});
	assert_true(r->counters.ecn_marked > 0);
	assert_true(r->counters.cnps > 0);
	assert_int_equal(r->counters.pauses, 0);
	rs_sim_result_free(r);
	hand_free(h);
}

static void test_a_seed_gives_the_same_run_bit_for_bit(void **state)
{
	struct hand *h = hand_single(9, 100 * RS_GBPS, RS_US, 1024);
	struct rs_sim_result *a, *b, *c;
	bool differs = false;

	h->f.cc.kind = "dcqcn";
	for (uint32_t i = 0; i < 8; i++)
		hand_flow(h, i, 8, 3000000, i * RS_NS);
	a = run(h, (struct rs_sim_options){.seed = 7});
	b = run(h, (struct rs_sim_options){.seed = 7});
	c = run(h, (struct rs_sim_options){.seed = 8});
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
	assert_memory_equal(a->flows, b->flows, a->n_flows * sizeof(*a->flows));
	for (uint32_t i = 0; i < a->n_flows; i++)
		differs |= a->flows[i].finish != c->flows[i].finish;
	assert_true(differs);
	rs_sim_result_free(a);
	rs_sim_result_free(b);
	rs_sim_result_free(c);
	hand_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_path_latency_is_exact),
		cmocka_unit_test(test_goodput_is_payload_over_overhead),
		cmocka_unit_test(test_incast_is_lossless_and_shares_the_link),
		cmocka_unit_test(test_halved_headroom_drops),
		cmocka_unit_test(test_small_frames_in_cells_lose_nothing),
		cmocka_unit_test(test_lost_packets_come_again),
		cmocka_unit_test(test_dcqcn_keeps_the_queue_below_pfc),
		cmocka_unit_test(test_a_seed_gives_the_same_run_bit_for_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
