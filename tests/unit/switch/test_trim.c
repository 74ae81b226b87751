/* Trimming: who is cut, what a cut packet is like, and what happens when even that finds no room.
 */
#include "bed.h"

enum { DATA = 3, CONTROL = 6, FRAME = 1000, ROOM = 4 };

static void make(struct bed *b, bool either)
{
	bed_init(b, 4);
	b->c.classes[DATA] = (struct rs_switch_class){.alpha_shift = 7,
						      .egress_limit = ROOM * FRAME,
						      .trim_bytes = 64,
						      .trim_tc = CONTROL,
						      .trim_tos = CONTROL << 2,
						      .lose_either = either};
	b->c.classes[CONTROL] = (struct rs_switch_class){.alpha_shift = 7, .egress_limit = 10 * 64};
	bed_set(b, (const uint16_t[]){2, 3}, 2);
	bed_start(b);
}

static struct rs_packet *request(struct bed *b, uint32_t psn, uint32_t dst)
{
	struct rs_packet *p = bed_packet(b, DATA, dst, FRAME);

	p->kind = RS_KIND_OTHER;
	p->payload_bytes = FRAME - 100;
	p->psn = psn;
	return p;
}

static int send(struct bed *b, uint32_t psn, uint32_t dst)
{
	int to = rs_switch_rx(b->sw, 0, request(b, psn, dst), 0, 0);

	rs_switch_check(b->sw);
	return to;
}

static struct rs_packet *next(struct bed *b, unsigned port)
{
	rs_time again;
	struct rs_packet *p = rs_switch_tx(b->sw, port, 0, &again);

	rs_switch_check(b->sw);
	return p;
}

static void test_the_arrival_is_cut_and_overtakes(void **state)
{
	struct rs_packet *p;
	struct bed b;

	make(&b, false);
	for (uint32_t i = 0; i < ROOM + 2; i++)
		assert_int_equal(send(&b, i, 1), 1);
	assert_int_equal(rs_switch_get_counters(b.sw)->trimmed, 2);
	assert_int_equal(rs_switch_drops(b.sw, 1, DATA)->trimmed, 2);
	for (uint32_t i = 0; i < 2; i++) { /* strict: before all data */
		p = next(&b, 1);
		assert_int_equal(p->psn, ROOM + i);
		assert_int_equal(p->frame_bytes, 64);
		assert_int_equal(p->payload_bytes, 0);
		assert_int_equal(p->tc, CONTROL);
		assert_int_equal(p->tos, CONTROL << 2 | RS_ECN_ECT0);
		assert_int_equal(p->bth_flags, RS_PACKET_TRIMMED | RS_PACKET_TRIMMED_LAST);
		rs_pool_free(&b.free, p);
	}
	for (uint32_t i = 0; i < ROOM; i++) {
		p = next(&b, 1);
		assert_true(p->psn == i && p->frame_bytes == FRAME && !p->bth_flags);
		rs_pool_free(&b.free, p);
	}
	assert_null(next(&b, 1));
	assert_int_equal(rs_switch_get_counters(b.sw)->drops, 0);
	bed_end(&b);
}

/* The switch of a packet's own endpoint says so; another does not. */
static void test_only_the_last_hop_says_that_it_is(void **state)
{
	struct rs_packet *p = NULL;
	struct bed b;

	make(&b, false);
	bed_set(&b, (const uint16_t[]){2}, 1);
	for (uint32_t i = 0; i < ROOM + 1; i++)
		assert_int_equal(send(&b, i, BED_FAR), 2);
	p = next(&b, 2);
	assert_int_equal(p->bth_flags, RS_PACKET_TRIMMED);
	rs_pool_free(&b.free, p);
	bed_end(&b);
}

/* A coin: the newest that waits is cut about as often, never an older one, and the queue keeps its
 * length. */
static void test_a_coin_cuts_the_newest_or_the_arrival(void **state)
{
	unsigned newest = 0;
	struct bed b;

	make(&b, true);
	for (uint32_t i = 0; i < ROOM; i++)
		send(&b, i, 1);
	for (uint32_t i = 0, last = ROOM - 1; i < 1000; i++) {
		uint32_t psn = 100 + i;
		struct rs_packet *p;

		assert_int_equal(send(&b, psn, 1), 1);
		assert_int_equal(rs_switch_queue_bytes(b.sw, 1, DATA), ROOM * FRAME);
		p = next(&b, 1);
		assert_true(p->psn == psn || p->psn == last);
		newest += p->psn == last;
		last = p->psn == last ? psn : last;
		rs_pool_free(&b.free, p);
	}
	assert_in_range(newest, 430, 570);
	for (uint32_t i = 0; i < ROOM - 1; i++) { /* those in front of the newest stay */
		struct rs_packet *p = next(&b, 1);

		assert_int_equal(p->psn, i);
		rs_pool_free(&b.free, p);
	}
	bed_end(&b);
}

static void test_what_cannot_be_cut_is_dropped(void **state)
{
	struct rs_packet *p;
	struct bed b;

	make(&b, false);
	for (uint32_t i = 0; i < ROOM; i++)
		send(&b, i, 1);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(send(&b, i, 1), 1);
	assert_int_equal(send(&b, 99, 1), -1); /* headers have a limit too */
	p = request(&b, 99, 1);
	p->kind = RS_KIND_ROCE; /* knows nothing of it */
	assert_int_equal(rs_switch_rx(b.sw, 0, p, 0, 0), -1);
	rs_switch_check(b.sw);
	assert_int_equal(rs_switch_get_counters(b.sw)->trimmed, 10);
	assert_int_equal(rs_switch_get_counters(b.sw)->drops, 2);
	bed_end(&b);
}

static void test_a_port_has_a_limit_of_its_own(void **state)
{
	struct bed b;

	bed_init(&b, 4);
	b.c.classes[DATA] = (struct rs_switch_class){.alpha_shift = 7,
						     .egress_limit = ROOM * FRAME,
						     .trim_bytes = 64,
						     .trim_tc = CONTROL,
						     .trim_tos = CONTROL << 2};
	b.c.classes[CONTROL] = (struct rs_switch_class){.alpha_shift = 7};
	b.c.limit_tc = DATA;
	b.port[1].limit = FRAME;
	bed_start(&b);
	for (uint32_t i = 0; i < ROOM; i++) {
		send(&b, i, 1);
		send(&b, i, 2);
	}
	assert_int_equal(rs_switch_queue_bytes(b.sw, 1, DATA), FRAME);
	assert_int_equal(rs_switch_queue_bytes(b.sw, 2, DATA), ROOM * FRAME);
	bed_end(&b);
}

/* Random arrivals, lengths, destinations and departures: the switch's own sums hold after each. */
static void test_sums_hold_whatever_comes(void **state)
{
	struct rs_random r = rs_random_stream(3, 0, 0);
	struct bed b;

	make(&b, true);
	for (unsigned i = 0; i < 20000; i++) {
		struct rs_packet *p = request(&b, i, rs_random_below(&r, 3));

		p->kind = rs_random_below(&r, 8) ? RS_KIND_OTHER : RS_KIND_ROCE;
		p->frame_bytes = (uint16_t)(64 + rs_random_below(&r, 3000));
		p->payload_bytes = (uint16_t)(p->frame_bytes - 64);
		if (!rs_random_below(&r, 4))
			p->tos = CONTROL << 2;
		rs_switch_rx(b.sw, rs_random_below(&r, 4), p, 0, 0);
		rs_switch_check(b.sw);
		for (unsigned k = rs_random_below(&r, 3); k; k--) {
			p = next(&b, rs_random_below(&r, 3));
			if (p)
				rs_pool_free(&b.free, p);
		}
	}
	assert_true(rs_switch_get_counters(b.sw)->trimmed > 1000);
	bed_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_arrival_is_cut_and_overtakes),
		cmocka_unit_test(test_only_the_last_hop_says_that_it_is),
		cmocka_unit_test(test_a_coin_cuts_the_newest_or_the_arrival),
		cmocka_unit_test(test_what_cannot_be_cut_is_dropped),
		cmocka_unit_test(test_a_port_has_a_limit_of_its_own),
		cmocka_unit_test(test_sums_hold_whatever_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
