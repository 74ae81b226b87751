/* Classes at an egress: strict priority, deficit round robin by weight (802.1Q-2022 §8.6.8). */
#include "bed.h"

static void sched_bed(struct bed *b, const uint8_t weight[RS_CLASSES])
{
	bed_init(b, 2);
	for (unsigned t = 0; t < RS_CLASSES; t++)
		b->c.classes[t] = (struct rs_switch_class){.lossless = true, .weight = weight[t]};
	b->c.buffer = 1 << 30;
	bed_start(b);
}

static void load(struct bed *b, unsigned tc, unsigned n, uint32_t frame)
{
	while (n--)
		assert_true(rs_switch_rx(b->sw, 0, bed_packet(b, tc, 1, frame), 0, 0) == 1);
}

static void test_strict_classes_go_before_all_others_the_highest_first(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {1, 0, 4, 1, 0, 1, 0, 1};
	struct bed b;

	sched_bed(&b, weight);
	for (unsigned t = 0; t < RS_CLASSES; t++)
		load(&b, t, 2, 1000);
	assert_int_equal(bed_out(&b, 1, 0), 6);
	assert_int_equal(bed_out(&b, 1, 0), 6);
	assert_int_equal(bed_out(&b, 1, 0), 4);
	load(&b, 6, 1, 64);
	assert_int_equal(bed_out(&b, 1, 0), 6); /* before what waited */
	assert_int_equal(bed_out(&b, 1, 0), 4);
	assert_int_equal(bed_out(&b, 1, 0), 1);
	assert_int_equal(bed_out(&b, 1, 0), 1);
	for (unsigned i = 0; i < 10; i++)
		assert_false(1 << bed_out(&b, 1, 0) & 0x52);
	assert_int_equal(bed_out(&b, 1, 0), -1);
	bed_end(&b);
}

/* Bytes, not packets: classes send frames of different sizes, shares are by weight. */
static void test_weights_share_bytes(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {1, 2, 4, 8, 0, 0, 0, 25};
	static const uint32_t frame[RS_CLASSES] = {64, 4178, 1082, 9000, 0, 0, 0, 300};
	uint64_t sent[RS_CLASSES] = {0}, total = 0;
	struct bed b;

	sched_bed(&b, weight);
	while (total < 20000000) {
		int tc;

		for (unsigned t = 0; t < RS_CLASSES; t++)
			if (frame[t] && rs_switch_queue_bytes(b.sw, 1, t) < 20000)
				load(&b, t, 20000 / frame[t] + 1, frame[t]);
		tc = bed_out(&b, 1, 0);
		assert_true(tc >= 0);
		sent[tc] += frame[tc];
		total += frame[tc];
	}
	/* a class is never ahead by more than its quantum and a frame: 1 % here */
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		double share = (double)total * weight[t] / 40;

		assert_true((double)sent[t] >= share * 0.99 && (double)sent[t] <= share * 1.01);
	}
	bed_end(&b);
}

/* In any interval two loaded classes of equal weight are apart by a quantum and a frame each. */
static void test_equal_weights_alternate(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {4, 4, 4, 4, 4, 4, 4, 4};
	int64_t ahead = 0;
	struct bed b;

	sched_bed(&b, weight);
	load(&b, 2, 1000, 1500);
	load(&b, 5, 1000, 1500);
	for (unsigned i = 0; i < 1900; i++) {
		ahead += bed_out(&b, 1, 0) == 2 ? 1500 : -1500;
		assert_true(ahead <= 4096 + 2 * 1500 && ahead >= -4096 - 2 * 1500);
	}
	bed_end(&b);
}

/* An idle or paused class saves nothing up. */
static void test_a_class_that_was_paused_has_no_credit(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {1, 1, 1, 1, 1, 1, 1, 1};
	unsigned sent[RS_CLASSES] = {0};
	struct bed b;

	sched_bed(&b, weight);
	load(&b, 1, 2000, 1000);
	load(&b, 2, 2000, 1000);
	load(&b, 3, 2000, 1000);
	bed_pause(&b, 1, 1 << 3, 65535, 0);
	for (unsigned i = 0; i < 1000; i++)
		sent[bed_out(&b, 1, 0)]++;
	assert_int_equal(sent[3], 0);
	assert_in_range(sent[1], 498, 502);
	bed_pause(&b, 1, 1 << 3, 0, 0);
	memset(sent, 0, sizeof(sent));
	for (unsigned i = 0; i < 30; i++)
		sent[bed_out(&b, 1, 0)]++;
	assert_in_range(sent[3], 8, 12);
	bed_end(&b);
}

static void test_one_class_alone_gets_the_link(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct bed b;

	sched_bed(&b, weight);
	load(&b, 5, 100, 9000);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(bed_out(&b, 1, 0), 5);
	assert_int_equal(bed_out(&b, 1, 0), -1);
	bed_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strict_classes_go_before_all_others_the_highest_first),
		cmocka_unit_test(test_weights_share_bytes),
		cmocka_unit_test(test_equal_weights_alternate),
		cmocka_unit_test(test_a_class_that_was_paused_has_no_credit),
		cmocka_unit_test(test_one_class_alone_gets_the_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
