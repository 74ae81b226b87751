/* A switch's packets in time: store and forward, cut-through, what waits, counters. */
#include "bed.h"
#include "wire/telemetry.h"

static void test_packets_leave_in_the_order_in_which_they_came(void **state)
{
	struct bed b;
	rs_time again;

	bed_init(&b, 3);
	bed_start(&b);
	for (unsigned i = 0; i < 50; i++) {
		struct rs_packet *p = bed_packet(&b, 2, 2, 100 + i);

		p->psn = i;
		assert_int_equal(rs_switch_rx(b.sw, i & 1, p, i, i), 2);
	}
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(rs_switch_tx(b.sw, 2, 50, &again)->psn, i);
	assert_null(rs_switch_tx(b.sw, 2, 50, &again));
	assert_true(again == RS_NEVER);
	assert_true(rs_switch_port_empty(b.sw, 2));
	bed_end(&b);
}

/* To a link as fast or slower and an idle queue the head leaves while the tail still comes. */
static void test_cut_through_to_a_link_no_faster(void **state)
{
	for (unsigned faster = 0; faster < 2; faster++) {
		struct bed b;
		rs_time again;

		bed_init(&b, 2);
		b.port[1].rate = faster ? 200 * RS_GBPS : 100 * RS_GBPS;
		bed_start(&b);
		assert_int_equal(rs_switch_rx(b.sw, 0, bed_packet(&b, 0, 1, 1000), 1000, 5000), 1);
		if (!faster) {
			assert_non_null(rs_switch_tx(b.sw, 1, 1000, &again));
		} else {
			assert_null(rs_switch_tx(b.sw, 1, 1000, &again));
			assert_int_equal(again, 5000);
			assert_null(rs_switch_tx(b.sw, 1, 4999, &again));
			assert_non_null(rs_switch_tx(b.sw, 1, 5000, &again));
		}
		bed_end(&b);
	}
}

static void test_cut_through_behind_another_packet_waits_for_its_tail(void **state)
{
	struct bed b;
	rs_time again;

	bed_init(&b, 2);
	bed_start(&b);
	rs_switch_rx(b.sw, 0, bed_packet(&b, 0, 1, 1000), 1000, 5000);
	rs_switch_rx(b.sw, 0, bed_packet(&b, 0, 1, 1000), 2000, 6000);
	assert_non_null(rs_switch_tx(b.sw, 1, 2000, &again));
	assert_null(rs_switch_tx(b.sw, 1, 5999, &again));
	assert_int_equal(again, 6000);
	assert_non_null(rs_switch_tx(b.sw, 1, 6000, &again));
	bed_end(&b);
}

/* A packet of a higher class that is not whole yet neither holds up the others nor costs its class.
 */
static void test_a_packet_still_arriving_holds_up_no_other_class(void **state)
{
	for (unsigned weight = 0; weight < 2; weight++) {
		unsigned served = 0;
		struct bed b;
		rs_time again;

		bed_init(&b, 2);
		b.port[1].rate = 200 * RS_GBPS;
		for (unsigned t = 0; t < RS_CLASSES; t++)
			b.c.classes[t].weight = (uint8_t)weight;
		bed_start(&b);
		rs_switch_rx(b.sw, 0, bed_packet(&b, 5, 1, 9000), 1000, 9000);
		for (unsigned i = 0; i < 40; i++)
			assert_true(bed_in(&b, 0, 2, 1, 1000));
		for (unsigned i = 0; i < 30; i++)
			assert_int_equal(rs_switch_tx(b.sw, 1, 1000 + i, &again)->tc, 2);
		/* when it is whole it goes within what the other class's weight gives it */
		for (unsigned i = 0; i < 10; i++)
			if (rs_switch_tx(b.sw, 1, 9000, &again)->tc == 5)
				served++;
		assert_int_equal(served, 1);
		bed_end(&b);
	}
}

static void test_counters_of_ports(void **state)
{
	const struct rs_switch_port_counters *in, *out;
	struct bed b;

	bed_init(&b, 2);
	b.c.cell = 144;
	bed_start(&b);
	for (unsigned i = 0; i < 10; i++)
		bed_in(&b, 0, 0, 1, 200);
	bed_in(&b, 0, 0, 3 * BED_FAR, 200);
	for (unsigned i = 0; i < 4; i++)
		bed_out(&b, 1, 0);
	in = rs_switch_port_counters(b.sw, 0);
	out = rs_switch_port_counters(b.sw, 1);
	assert_int_equal(in->rx_packets, 11);
	assert_int_equal(in->rx_bytes, 2200); /* frames, not cells */
	assert_int_equal(in->drops, 1);
	assert_int_equal(in->tx_packets, 0);
	assert_int_equal(out->tx_packets, 4);
	assert_int_equal(out->tx_bytes, 800);
	assert_int_equal(out->max_queue, 2880);
	assert_int_equal(rs_switch_get_counters(b.sw)->max_buffer, 2880);
	assert_int_equal(rs_switch_buffer_used(b.sw), 6 * 288);
	/* PFC frames are apart */
	bed_pause(&b, 1, 1, 5, 0);
	assert_int_equal(out->rx_packets, 0);
	assert_int_equal(out->rx_pauses, 1);
	bed_end(&b);
}

/* Dropped packets, sent ones and PFC frames all come back: the slab never grows. */
static void test_no_packet_is_lost_from_the_slab(void **state)
{
	struct bed b;

	bed_init(&b, 4);
	b.c.classes[0] = (struct rs_switch_class){.lossless = true};
	b.c.classes[1] = (struct rs_switch_class){.egress_limit = 3000};
	b.c.buffer = 20000;
	b.c.pfc_watchdog = 10;
	bed_start(&b);
	for (unsigned i = 0; i < 5000; i++) {
		rs_time now = i * 20;

		bed_in(&b, i % 4, i & 1, (i + 1) % 4, 1000);
		if (i % 7 == 0)
			bed_pause(&b, 1, 1, 65535, now);
		if (i & 1)
			bed_out(&b, i / 2 % 4, now);
		rs_switch_expire(b.sw, now);
	}
	assert_true(rs_switch_get_counters(b.sw)->drops > 100);
	assert_true(rs_switch_get_counters(b.sw)->watchdog_drops > 0);
	assert_true(b.pool.fresh <= 2 * RS_POOL_LIST_MAX);
	bed_end(&b);
}

/* Stamped as it leaves: the bytes sent before it and the queue that it leaves behind. */
static void test_telemetry_is_stamped_at_dequeue_on_packets_that_carry_it(void **state)
{
	struct rs_int_stamp stamp;
	struct rs_packet *p;
	struct bed b;
	rs_time again;

	bed_init(&b, 2);
	b.c.int_scale = 1;
	bed_start(&b);
	for (unsigned i = 0; i < 9; i++) {
		p = bed_packet(&b, 0, 1, 1280);
		p->payload_bytes = 1024;
		p->bth_flags = i == 4 ? RS_PACKET_INT : 0;
		rs_switch_rx(b.sw, 0, p, 0, 0);
	}
	for (unsigned i = 0; i < 9; i++) {
		p = rs_switch_tx(b.sw, 1, 7 * RS_US, &again);
		if (i != 4) {
			assert_int_equal(p->int_hop[0], 0);
			continue;
		}
		rs_int_unpack(p->int_hop[0], 1, &stamp);
		assert_int_equal(stamp.rate, 100 * RS_GBPS);
		assert_int_equal(stamp.time, 7000);
		assert_int_equal(stamp.sent, 4 * 1280);
		assert_int_equal(stamp.queue, 4 * 1280);
	}
	bed_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_leave_in_the_order_in_which_they_came),
		cmocka_unit_test(test_cut_through_to_a_link_no_faster),
		cmocka_unit_test(test_cut_through_behind_another_packet_waits_for_its_tail),
		cmocka_unit_test(test_a_packet_still_arriving_holds_up_no_other_class),
		cmocka_unit_test(test_counters_of_ports),
		cmocka_unit_test(test_no_packet_is_lost_from_the_slab),
		cmocka_unit_test(test_telemetry_is_stamped_at_dequeue_on_packets_that_carry_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
