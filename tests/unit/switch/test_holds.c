/* What an ingress that pauses waits for, and how long ports are held: also while it lasts. */
#include "bed.h"

enum { TC = 3 };

static void start(struct bed *b)
{
	bed_init(b, 8);
	b->c.classes[TC] = (struct rs_switch_class){.lossless = true, .alpha_shift = -3};
	for (unsigned i = 0; i < 8; i++)
		b->port[i].headroom = 3000;
	b->c.buffer = 200000;
	bed_start(b);
}

/* Takes the PFC frame that port sends now. */
static void frame(struct bed *b, unsigned port, rs_time now)
{
	assert_int_equal(bed_out(b, port, now), -2);
}

static struct rs_switch_wait most(struct bed *b, unsigned port, rs_time now)
{
	struct rs_switch_wait w[RS_SWITCH_WAITS] = {{0}}, m = {0};

	rs_switch_waits(b->sw, port, TC, now, w);
	for (unsigned i = 0; i < RS_SWITCH_WAITS; i++)
		if (w[i].time > m.time)
			m = w[i];
	return m;
}

/* A longer queue of others is not what holds these packets. */
static void test_an_ingress_waits_for_the_queue_that_its_packets_are_in(void **state)
{
	struct bed b;
	unsigned own = 0;

	start(&b);
	for (unsigned i = 0; i < 9; i++) {
		bed_in(&b, 1, TC, 5, 1000);
		bed_in(&b, 2, TC, 5, 1000);
		bed_in(&b, 3, TC, 6, 1000);
	}
	while (!rs_switch_any_woken(b.sw)) {
		bed_in(&b, 0, TC, 4, 1000);
		own++;
	}
	assert_true(own > 2 && rs_switch_woken(b.sw, 0) & 1);
	frame(&b, 0, RS_US);
	assert_true(rs_switch_queue_bytes(b.sw, 4, TC) < rs_switch_queue_bytes(b.sw, 5, TC) + 5000);
	assert_int_equal(most(&b, 0, 3 * RS_US).egress, 4);
	assert_int_equal(most(&b, 0, 3 * RS_US).time, 2 * RS_US);
	assert_int_equal(most(&b, 0, 3 * RS_US).held, 0);
	bed_end(&b);
}

static void test_what_is_held_itself_is_told_apart(void **state)
{
	struct rs_switch_wait w[RS_SWITCH_WAITS];
	struct bed b;

	start(&b);
	while (!rs_switch_any_woken(b.sw))
		bed_in(&b, 0, TC, 4, 1000);
	frame(&b, 0, 10 * RS_US);
	bed_pause(&b, 4, 1 << TC, 65535, 12 * RS_US);
	bed_pause(&b, 4, 1 << TC, 0, 15 * RS_US);
	assert_int_equal(rs_switch_held(b.sw, 4, TC, 20 * RS_US), 3 * RS_US);
	bed_pause(&b, 4, 1 << TC, 65535, 20 * RS_US);
	/* it lasts: counted up to now */
	assert_int_equal(rs_switch_held(b.sw, 4, TC, 21 * RS_US), 4 * RS_US);
	assert_int_equal(most(&b, 0, 21 * RS_US).time, 11 * RS_US);
	assert_int_equal(most(&b, 0, 21 * RS_US).held, 4 * RS_US);
	assert_int_equal(rs_switch_waits(b.sw, 0, TC, 21 * RS_US, w), 1);
	/* the RESUME ends it */
	bed_pause(&b, 4, 1 << TC, 0, 22 * RS_US);
	while (bed_out(&b, 4, 22 * RS_US) == TC)
		;
	frame(&b, 0, 23 * RS_US);
	assert_int_equal(most(&b, 0, 99 * RS_US).time, 13 * RS_US);
	assert_int_equal(most(&b, 0, 99 * RS_US).held, 5 * RS_US);
	assert_int_equal(rs_switch_held(b.sw, 4, TC, 99 * RS_US), 5 * RS_US);
	bed_end(&b);
}

static void test_classes_without_pfc_are_never_held(void **state)
{
	struct rs_switch_wait w[RS_SWITCH_WAITS];
	struct bed b;

	start(&b);
	bed_pause(&b, 4, 0xff, 65535, RS_US);
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		assert_int_equal(rs_switch_held(b.sw, 4, t, 5 * RS_US), t == TC ? 4 * RS_US : 0);
		assert_int_equal(rs_switch_waits(b.sw, 4, t, 5 * RS_US, w), 0);
	}
	bed_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_ingress_waits_for_the_queue_that_its_packets_are_in),
		cmocka_unit_test(test_what_is_held_itself_is_told_apart),
		cmocka_unit_test(test_classes_without_pfc_are_never_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
