/* Drops by port, class and reason; whose they were; and the bounded table of pairs against counts
 * without bounds. */
#include "bed.h"

/* As the switch's own counters say in all. */
static void add_up(struct bed *b)
{
	const struct rs_switch_counters *c = rs_switch_get_counters(b->sw);
	uint64_t why[RS_SWITCH_WHYS] = {0};

	for (unsigned i = 0; i < b->c.n_ports; i++) {
		uint64_t in = 0;

		for (unsigned t = 0; t < RS_CLASSES; t++) {
			const struct rs_switch_drops *d = rs_switch_drops(b->sw, i, t);

			for (unsigned y = 0; d && y < RS_SWITCH_WHYS; y++) {
				why[y] += d->packets[y];
				in += y == RS_SWITCH_WATCHDOG ? 0 : d->packets[y];
			}
		}
		assert_int_equal(in, rs_switch_port_counters(b->sw, i)->drops);
	}
	assert_int_equal(why[RS_SWITCH_LOSSY] + why[RS_SWITCH_HEADROOM] + why[RS_SWITCH_LIMIT],
			 c->drops);
	assert_int_equal(why[RS_SWITCH_NO_ROUTE], c->unroutable);
	assert_int_equal(why[RS_SWITCH_WATCHDOG], c->watchdog_drops);
}

static uint64_t dropped(struct bed *b, unsigned port, unsigned tc, enum rs_switch_why why)
{
	return rs_switch_drops(b->sw, port, tc)->packets[why];
}

static void test_each_drop_has_its_reason(void **state)
{
	struct bed b;

	bed_init(&b, 4);
	b.c.classes[3] = (struct rs_switch_class){.lossless = true, .alpha_shift = -3};
	b.c.classes[4] =
		(struct rs_switch_class){.lossless = true, .egress_limit = 1000, .alpha_shift = 3};
	b.c.pfc_watchdog = RS_US;
	b.port[0].headroom = 500;
	b.c.buffer = 100000;
	bed_start(&b);
	for (unsigned i = 0; i < 20; i++) {
		bed_in(&b, 0, 3, 2, 1000);
		bed_in(&b, 1, 4, 2, 1000);
		bed_in(&b, 1, 1, 3, 40000);
		bed_in(&b, 1, 1, BED_FAR, 1000); /* no port leads there */
	}
	assert_true(dropped(&b, 0, 3, RS_SWITCH_HEADROOM) > 0);
	assert_int_equal(dropped(&b, 1, 4, RS_SWITCH_LIMIT), 19);
	assert_true(dropped(&b, 1, 1, RS_SWITCH_LOSSY) > 0);
	assert_int_equal(dropped(&b, 1, 1, RS_SWITCH_NO_ROUTE), 20);
	assert_int_equal(rs_switch_drops(b.sw, 0, 3)->to, 2);
	assert_int_equal(rs_switch_drops(b.sw, 0, 3)->dscp, 3);
	assert_true(rs_switch_drops(b.sw, 0, 3)->to_votes > 0);
	add_up(&b);
	bed_pause(&b, 2, 1 << 4, 65535, 0);
	rs_switch_expire(b.sw, RS_US);
	assert_int_equal(dropped(&b, 2, 4, RS_SWITCH_WATCHDOG), 1);
	add_up(&b);
	bed_end(&b);
}

static void test_a_class_without_dscp_drops_nothing(void **state)
{
	struct bed b;

	bed_init(&b, 2);
	for (unsigned d = 0; d < 64; d++)
		b.c.tc_of_dscp[d] = d == 26 ? 5 : 1;
	bed_start(&b);
	assert_null(rs_switch_drops(b.sw, 1, 0));
	assert_null(rs_switch_drops(b.sw, 1, 7));
	assert_non_null(rs_switch_drops(b.sw, 1, 1));
	assert_non_null(rs_switch_drops(b.sw, 1, 5));
	bed_end(&b);
}

/* Random classes, frames, limits: whatever is dropped is told with a reason, once. */
static void test_reasons_add_up_under_random_load(void **state)
{
	struct rs_random r = rs_random_stream(11, 0, 0);

	for (unsigned trial = 0; trial < 60; trial++) {
		struct bed b;

		bed_init(&b, 8);
		for (unsigned t = 0; t < RS_CLASSES; t++)
			b.c.classes[t] = (struct rs_switch_class){
				.lossless = rs_random_u64(&r) & 1,
				.alpha_shift = (int8_t)(rs_random_u64(&r) % 8) - 5,
				.egress_limit = rs_random_u64(&r) & 3 ? 0 : 5000};
		for (unsigned p = 0; p < 8; p++)
			b.port[p].headroom = rs_random_u64(&r) % 1500;
		for (unsigned d = 0; d < 64; d++)
			b.c.tc_of_dscp[d] = rs_random_u64(&r) % RS_CLASSES;
		b.c.buffer = 130000;
		b.c.pfc_watchdog = 3 * RS_US;
		bed_start(&b);
		for (unsigned i = 0; i < 2000; i++) {
			unsigned in = rs_random_u64(&r) % 8, to = rs_random_u64(&r) % 8;

			rs_switch_rx(b.sw, in,
				     bed_packet(&b, rs_random_u64(&r) % 64,
						rs_random_u64(&r) % 40 ? to : BED_FAR,
						64 + rs_random_u64(&r) % 2000),
				     0, 0);
			if (rs_random_u64(&r) % 3 == 0)
				bed_out(&b, to, i * RS_NS);
			if (rs_random_u64(&r) % 50 == 0)
				bed_pause(&b, to, rs_random_u64(&r) & 0xff, 65535, i * RS_NS);
			if (i % 500 == 499)
				rs_switch_expire(b.sw, i * 10 * RS_NS);
		}
		assert_true(rs_switch_get_counters(b.sw)->drops > 0);
		add_up(&b);
		bed_end(&b);
	}
}

/* ---- Without an end ---- */

/* Beside a switch with an end, while that drops nothing: the same packets, pauses and shares. After
 * it nothing is dropped either, and all that came in goes out. */
static void test_an_endless_buffer_drops_nothing_and_pauses_alike(void **state)
{
	struct rs_random r = rs_random_stream(12, 0, 0);
	unsigned alike = 0, beyond = 0;

	for (unsigned trial = 0; trial < 60; trial++) {
		struct bed b[2];
		bool same = true;
		uint64_t in = 0, out = 0;

		for (unsigned e = 0; e < 2; e++) {
			bed_init(&b[e], 8);
			b[e].c.endless = e;
			b[e].c.buffer = 130000;
		}
		for (unsigned t = 0; t < RS_CLASSES; t++) {
			struct rs_switch_class k = {.lossless = rs_random_u64(&r) & 1,
						    .alpha_shift = (int8_t)(t % 8) - 4,
						    .egress_limit =
							    rs_random_u64(&r) & 3 ? 0 : 9000};

			b[0].c.classes[t] = b[1].c.classes[t] = k;
		}
		for (unsigned p = 0; p < 8; p++)
			b[0].port[p].headroom = b[1].port[p].headroom = 1500;
		bed_start(&b[0]);
		bed_start(&b[1]);
		for (unsigned i = 0; i < 1500; i++) {
			unsigned from = rs_random_u64(&r) % 8, to = rs_random_u64(&r) % 8;
			unsigned tc = rs_random_u64(&r) % 8;
			uint32_t frame = 64 + (uint32_t)(rs_random_u64(&r) % 1500);
			bool drain = rs_random_u64(&r) % 4 == 0;

			assert_true(bed_in(&b[1], from, tc, to, frame));
			in++;
			if (same && !bed_in(&b[0], from, tc, to, frame)) {
				same = false;
				alike += i > 20;
			}
			if (same) {
				assert_int_equal(rs_switch_buffer_used(b[0].sw),
						 rs_switch_buffer_used(b[1].sw));
				assert_int_equal(rs_switch_woken(b[0].sw, 0),
						 rs_switch_woken(b[1].sw, 0));
			}
			if (drain) {
				int sent = bed_out(&b[1], to, 0);

				out += sent >= 0;
				if (same)
					assert_int_equal(bed_out(&b[0], to, 0), sent);
			}
		}
		beyond += rs_switch_buffer_used(b[1].sw) > 130000;
		for (unsigned p = 0; p < 8; p++)
			for (int sent; (sent = bed_out(&b[1], p, 0)) != -1;)
				out += sent >= 0;
		assert_int_equal(in, out);
		assert_int_equal(rs_switch_buffer_used(b[1].sw), 0);
		assert_int_equal(rs_switch_get_counters(b[1].sw)->drops, 0);
		bed_end(&b[0]);
		bed_end(&b[1]);
	}
	assert_true(alike > 30 && beyond > 30);
}

static void test_a_watchdog_of_an_endless_buffer_ends_the_pause_alone(void **state)
{
	struct bed b;

	bed_init(&b, 2);
	b.c.classes[3].lossless = true;
	b.c.pfc_watchdog = RS_US;
	b.c.endless = true;
	bed_start(&b);
	bed_in(&b, 0, 3, 1, 1000);
	bed_pause(&b, 1, 1 << 3, 65535, 0);
	assert_int_equal(bed_out(&b, 1, 0), -1);
	rs_switch_expire(b.sw, RS_US);
	assert_int_equal(bed_out(&b, 1, RS_US), 3);
	assert_int_equal(rs_switch_get_counters(b.sw)->watchdog_drops, 0);
	bed_end(&b);
}

/* ---- Pairs ---- */

static void test_few_pairs_are_exact(void **state)
{
	struct rs_losses *t = rs_losses_create(64);
	struct rs_loss l;

	for (uint32_t pair = 0; pair < 8; pair++)
		for (uint32_t n = 0; n <= pair; n++) {
			rs_losses_add(t, pair, 100, 7, 1);
			if (n)
				rs_losses_add(t, pair, 100, 8, 2);
		}
	for (uint32_t pair = 0; pair < 8; pair++) {
		assert_true(rs_losses_most(t, pair, 100, &l));
		assert_int_equal(l.port, 7);
		assert_int_equal(l.why, 1);
		assert_int_equal(l.packets, pair + 1);
		assert_false(rs_losses_most(t, 100, pair, &l));
	}
	rs_losses_destroy(t);
}

/* 20,000 pairs lose two packets each; four lose many, spread over the same time. */
static void test_those_that_lose_most_stay(void **state)
{
	struct rs_losses *t = rs_losses_create(256);
	struct rs_loss l;

	for (uint32_t i = 0; i < 40000; i++) {
		rs_losses_add(t, 1000 + i % 20000, i % 17, 3, 0);
		if (i % 20 == 0)
			rs_losses_add(t, i / 20 % 4, 5, 9, 1);
	}
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(rs_losses_most(t, i, 5, &l));
		assert_int_equal(l.port, 9);
		assert_int_equal(l.why, 1);
		assert_true(l.packets >= 500);
	}
	rs_losses_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_drop_has_its_reason),
		cmocka_unit_test(test_a_class_without_dscp_drops_nothing),
		cmocka_unit_test(test_reasons_add_up_under_random_load),
		cmocka_unit_test(test_an_endless_buffer_drops_nothing_and_pauses_alike),
		cmocka_unit_test(test_a_watchdog_of_an_endless_buffer_ends_the_pause_alone),
		cmocka_unit_test(test_few_pairs_are_exact),
		cmocka_unit_test(test_those_that_lose_most_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
