/* ECN marking (RFC 3168) by the queue's bytes: 0 up to kmin, rising to pmax at kmax, 1 above. */
#include <math.h>
#include "bed.h"

static void ecn_bed(struct bed *b, uint64_t kmin, uint64_t kmax, double pmax, bool at_dequeue)
{
	bed_init(b, 2);
	b->c.classes[0] = (struct rs_switch_class){.lossless = true,
						   .ecn = true,
						   .kmin = kmin,
						   .kmax = kmax,
						   .pmax = (uint32_t)(pmax * 65536)};
	b->c.buffer = 1 << 30;
	b->c.mark_at_dequeue = at_dequeue;
	b->port[0].headroom = b->port[1].headroom = 0;
	bed_start(b);
}

/* In, and marked then? */
static bool marked(struct bed *b, uint32_t frame, unsigned ecn)
{
	struct rs_packet *p = bed_packet(b, 0, 1, frame);

	p->tos = (uint8_t)ecn;
	assert_int_equal(rs_switch_rx(b->sw, 0, p, 0, 0), 1);
	return rs_packet_ecn(p) == RS_ECN_CE;
}

/* Out, and marked by then? */
static bool leaves_marked(struct bed *b)
{
	rs_time again;
	struct rs_packet *p = rs_switch_tx(b->sw, 1, 0, &again);

	rs_pool_free(&b->free, p);
	return rs_packet_ecn(p) == RS_ECN_CE;
}

/* At enqueue the packet itself counts. */
static void test_at_enqueue_marks_begin_above_kmin_and_are_sure_above_kmax(void **state)
{
	struct bed b;

	ecn_bed(&b, 1000, 2000, 0, false);
	assert_false(marked(&b, 1000, RS_ECN_ECT0));
	assert_false(marked(&b, 1000, RS_ECN_ECT0)); /* 2000, pmax 0 */
	assert_true(marked(&b, 1, RS_ECN_ECT0));
	assert_int_equal(rs_switch_get_counters(b.sw)->ecn_marked, 1);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->ecn_marked, 1);
	assert_int_equal(rs_switch_port_counters(b.sw, 0)->ecn_marked, 0);
	bed_end(&b);
	/* kmin = kmax: a step, as DCTCP's */
	ecn_bed(&b, 1000, 1000, 1, false);
	assert_false(marked(&b, 1000, RS_ECN_ECT0));
	assert_true(marked(&b, 1, RS_ECN_ECT0));
	bed_end(&b);
}

/* At dequeue the bytes are those that stay behind. */
static void test_at_dequeue_what_stays_behind_counts(void **state)
{
	struct bed b;

	ecn_bed(&b, 1000, 1000, 1, true);
	assert_false(marked(&b, 3000, RS_ECN_ECT0));
	assert_false(marked(&b, 1000, RS_ECN_ECT0));
	assert_false(marked(&b, 1, RS_ECN_ECT0));
	assert_true(leaves_marked(&b));  /* leaves 1001 */
	assert_false(leaves_marked(&b)); /* leaves 1 */
	assert_int_equal(rs_switch_get_counters(b.sw)->ecn_marked, 1);
	bed_end(&b);
}

static void test_only_ecn_capable_packets_are_marked(void **state)
{
	struct bed b;

	ecn_bed(&b, 10, 20, 1, false);
	assert_false(marked(&b, 1000, RS_ECN_NOT_ECT));
	assert_true(marked(&b, 1000, RS_ECN_ECT0));
	assert_true(marked(&b, 1000, RS_ECN_ECT1));
	assert_int_equal(rs_switch_get_counters(b.sw)->ecn_marked, 2);
	/* one that was marked before is counted there, not here */
	assert_true(marked(&b, 1000, RS_ECN_CE));
	assert_int_equal(rs_switch_get_counters(b.sw)->ecn_marked, 2);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->ecn_marked, 2);
	bed_end(&b);
	bed_init(&b, 2);
	b.c.classes[0] = (struct rs_switch_class){.lossless = true, .kmin = 10, .kmax = 20};
	bed_start(&b);
	assert_false(marked(&b, 1000, RS_ECN_ECT0)); /* a class without ECN */
	bed_end(&b);
}

/* Thresholds of a port, for links of another rate, go before those of the class; 0: the class's. */
static void test_a_ports_thresholds_override_the_classes(void **state)
{
	struct bed b;

	bed_init(&b, 2);
	b.c.classes[0] = (struct rs_switch_class){
		.lossless = true, .ecn = true, .kmin = 100, .kmax = 5000, .pmax = 0};
	b.port[1].kmin = 3000;
	b.port[1].kmax = 4000;
	bed_start(&b);
	assert_false(marked(&b, 4000, RS_ECN_ECT0));
	assert_true(marked(&b, 1, RS_ECN_ECT0));
	bed_end(&b);
}

/* A queue held at q bytes: marks are binomial, within four standard deviations. */
static void marks_at(uint32_t q, double pmax, bool at_dequeue, double p)
{
	enum { N = 20000, FRAME = 100 };
	struct bed b;
	unsigned marks = 0;

	ecn_bed(&b, 10000, 50000, pmax, at_dequeue);
	for (uint32_t at = FRAME; at + (at_dequeue ? 0 : FRAME) <= q; at += FRAME)
		marked(&b, FRAME, RS_ECN_NOT_ECT);
	for (unsigned i = 0; i < N + q / FRAME; i++) {
		bool in = marked(&b, FRAME, RS_ECN_ECT0), out = leaves_marked(&b);

		if (at_dequeue && i >= q / FRAME)
			marks += out;
		if (!at_dequeue && i < N)
			marks += in;
	}
	assert_true(fabs((double)marks - N * p) <= 4 * sqrt(N * p * (1 - p)) + 1e-9);
	bed_end(&b);
}

static void test_the_probability_rises_in_a_line_from_kmin_to_pmax_at_kmax(void **state)
{
	for (unsigned at_dequeue = 0; at_dequeue < 2; at_dequeue++) {
		marks_at(9900, 0.5, at_dequeue, 0);
		marks_at(10000, 0.5, at_dequeue, 0);
		marks_at(14000, 0.5, at_dequeue, 0.05);
		marks_at(30000, 0.5, at_dequeue, 0.25);
		marks_at(50000, 0.5, at_dequeue, 0.5);
		marks_at(50100, 0.5, at_dequeue, 1);
		marks_at(30000, 0.01, at_dequeue, 0.005);
		marks_at(50000, 1, at_dequeue, 1);
	}
}

/* Draws depend on the seed and the switch alone. */
static void test_marks_repeat_with_the_seed(void **state)
{
	uint64_t marks[3] = {0};

	for (unsigned run = 0; run < 3; run++) {
		struct bed b;

		bed_init(&b, 2);
		b.c.classes[0] = (struct rs_switch_class){
			.lossless = true, .ecn = true, .kmin = 0, .kmax = 60000, .pmax = 65536};
		b.c.seed = run == 2 ? 43 : 42;
		bed_start(&b);
		for (unsigned i = 0; i < 60; i++)
			marks[run] |= (uint64_t)marked(&b, 1000, RS_ECN_ECT0) << i;
		bed_end(&b);
	}
	assert_true(marks[0] == marks[1]);
	assert_true(marks[0] != marks[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_enqueue_marks_begin_above_kmin_and_are_sure_above_kmax),
		cmocka_unit_test(test_at_dequeue_what_stays_behind_counts),
		cmocka_unit_test(test_only_ecn_capable_packets_are_marked),
		cmocka_unit_test(test_a_ports_thresholds_override_the_classes),
		cmocka_unit_test(test_the_probability_rises_in_a_line_from_kmin_to_pmax_at_kmax),
		cmocka_unit_test(test_marks_repeat_with_the_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
