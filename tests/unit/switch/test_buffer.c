/* The shared buffer: cells, reserves, dynamic thresholds (Choudhury and Hahne 1998) at their
 * boundary, limits of egress queues. */
#include "bed.h"
#include "switch/state.h"

/* Steps of a rising function: right at both ends of each step is right everywhere. All cells, and
 * with that all frames of 16 bits. */
static void test_cells_are_rounded_up_exactly_for_every_frame_and_cell(void **state)
{
	static struct rs_switch sw;

	for (uint32_t cell = 1; cell <= RS_SWITCH_CELL_MAX; cell++) {
		sw.cell = cell;
		sw.per_byte = cells_a_byte(cell);
		for (uint32_t k = 0; k * cell <= 65535; k++) {
			uint32_t last = (k + 1) * cell <= 65535 ? (k + 1) * cell : 65535;

			assert_true(cells(&sw, k * cell) == k * cell);
			if (k * cell < 65535)
				assert_true(cells(&sw, k * cell + 1) == (k + 1) * cell);
			assert_true(cells(&sw, last) == (last + cell - 1) / cell * cell);
		}
	}
}

static void test_every_frame_in_cells_of_real_switches(void **state)
{
	static const uint32_t known[] = {1, 80, 96, 144, 192, 208, 254, 256};
	static struct rs_switch sw;

	for (unsigned i = 0; i < 8; i++) {
		sw.cell = known[i];
		sw.per_byte = cells_a_byte(known[i]);
		for (uint32_t frame = 0; frame <= 65535; frame++)
			assert_true(cells(&sw, frame) ==
				    (frame + known[i] - 1) / known[i] * known[i]);
	}
}

static void test_the_buffer_counts_cells(void **state)
{
	struct bed b;

	bed_init(&b, 2);
	b.c.cell = 144;
	bed_start(&b);
	bed_in(&b, 0, 0, 1, 64);
	assert_int_equal(rs_switch_buffer_used(b.sw), 144);
	bed_in(&b, 0, 0, 1, 145);
	assert_int_equal(rs_switch_queue_bytes(b.sw, 1, 0), 432);
	bed_out(&b, 1, 0);
	bed_out(&b, 1, 0);
	assert_int_equal(rs_switch_buffer_used(b.sw), 0);
	assert_int_equal(rs_switch_get_counters(b.sw)->max_buffer, 432);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->max_queue, 432);
	bed_end(&b);
}

/* What a port with this alpha holds, of frames of a byte that all go to queues without a limit,
 * when n ports take as much as they get in turn. Lossless without headroom: admission decides
 * alone. */
static void fill(struct bed *b, int shift, unsigned n, uint64_t pool, uint64_t reserve)
{
	bed_init(b, n + 1);
	b->c.classes[1] = (struct rs_switch_class){
		.lossless = true, .alpha_shift = (int8_t)shift, .reserve = reserve};
	b->c.buffer = pool + (n + 1) * reserve;
	b->c.quirks.headroom_delays = true;
	bed_start(b);
	for (bool any = true; any;) {
		any = false;
		for (unsigned i = 0; i < n; i++)
			if (rs_switch_rx(b->sw, i, bed_packet(b, 1, n, 1), 0, 0) >= 0)
				any = true;
	}
	rs_switch_check(b->sw);
}

static uint64_t held(struct bed *b, unsigned port)
{
	return (uint64_t)(b->sw->port[port].in[1].use + (int64_t)b->sw->class[1].reserve);
}

/* One hot port: a/(1+a) B. n: each a B/(1+a n). */
static void test_thresholds_settle_at_choudhury_and_hahnes_shares(void **state)
{
	for (int shift = -4; shift <= 3; shift++)
		for (unsigned n = 1; n <= 7; n += 2) {
			const uint64_t pool = 7000;
			struct bed b;
			double alpha = shift < 0 ? 1.0 / (1 << -shift) : 1 << shift;
			double share = alpha * (double)pool / (1 + alpha * n);

			fill(&b, shift, n, pool, 0);
			for (unsigned i = 0; i < n; i++) {
				assert_true((double)held(&b, i) >= share - 8);
				assert_true((double)held(&b, i) <= share + 1 + alpha);
			}
			bed_end(&b);
		}
}

/* To the byte: use <= free >> 2 before the frame. */
static void test_a_frame_at_the_threshold_is_in_and_one_above_is_not(void **state)
{
	struct bed b;

	bed_init(&b, 2);
	b.c.classes[0].alpha_shift = -2;
	b.c.buffer = 40003;
	bed_start(&b);
	assert_false(bed_in(&b, 0, 0, 1, 10001)); /* T = 10000 */
	assert_true(bed_in(&b, 0, 0, 1, 10000));
	/* now T = 7500: full until something leaves; another port has its own 7500 */
	assert_false(bed_in(&b, 0, 0, 0, 64));
	assert_false(bed_in(&b, 1, 0, 0, 7501));
	assert_true(bed_in(&b, 1, 0, 0, 7500));
	bed_out(&b, 1, 0);
	assert_true(bed_in(&b, 0, 0, 0, 128)); /* its egress queue holds 7500 of T = 8125 */
	assert_int_equal(rs_switch_get_counters(b.sw)->drops, 3);
	assert_int_equal(rs_switch_get_counters(b.sw)->drops_lossless, 0);
	bed_end(&b);
}

static void test_a_faster_link_gets_a_larger_alpha(void **state)
{
	struct bed b;

	bed_init(&b, 2);
	b.c.classes[0].alpha_shift = -3;
	b.port[1].alpha_add = 2;
	b.c.buffer = 40000;
	bed_start(&b);
	assert_false(bed_in(&b, 0, 0, 0, 5001));
	assert_false(bed_in(&b, 1, 0, 0, 20001));
	assert_true(bed_in(&b, 1, 0, 0, 20000));
	bed_end(&b);
}

/* Guaranteed though the pool is empty, and not the pool's: nothing of it weighs on T. */
static void test_a_reserve_is_there_when_the_pool_is_full(void **state)
{
	struct bed b;

	fill(&b, 3, 1, 9000, 1000);
	assert_int_equal(held(&b, 0), 9000); /* 8/9 of the pool, and the reserve */
	for (unsigned i = 0; i < 8; i++)
		assert_true(bed_in(&b, 1, 1, 0, 125));
	assert_int_equal(b.sw->free, 1000);
	bed_end(&b);
}

/* alpha 128: the threshold is far above what is left. */
static void test_alpha_above_1_never_overruns_the_pool(void **state)
{
	struct bed b;

	bed_init(&b, 4);
	b.c.classes[0].alpha_shift = 7;
	b.c.buffer = 10000;
	bed_start(&b);
	for (unsigned i = 0; i < 400; i++) {
		bed_in(&b, i % 4, 0, (i + 1) % 4, 64 + i * 37 % 900);
		assert_true(rs_switch_buffer_used(b.sw) <= 10000);
	}
	assert_true(rs_switch_buffer_used(b.sw) > 9000);
	assert_true(rs_switch_get_counters(b.sw)->drops > 0);
	bed_end(&b);
}

static void test_a_lossy_queue_ends_at_the_threshold_and_a_lossless_one_does_not(void **state)
{
	struct bed b;

	/* four ports into one queue: T = free / 4 holds for the queue, too */
	for (unsigned lossless = 0; lossless < 2; lossless++) {
		bed_init(&b, 5);
		b.c.classes[0] = (struct rs_switch_class){.alpha_shift = -2, .lossless = lossless};
		b.c.buffer = 50000;
		bed_start(&b);
		for (unsigned i = 0; i < 400; i++)
			bed_in(&b, i % 4, 0, 4, 100);
		if (lossless)
			assert_true(rs_switch_queue_bytes(b.sw, 4, 0) >=
				    24900); /* 4 x a B/(1+4a) */
		else
			assert_int_equal(rs_switch_queue_bytes(b.sw, 4, 0), 10000); /* a B/(1+a) */
		bed_end(&b);
	}
}

static void test_a_limited_queue_drops_lossless_or_not(void **state)
{
	for (unsigned lossless = 0; lossless < 2; lossless++) {
		struct bed b;

		bed_init(&b, 2);
		b.c.classes[0] =
			(struct rs_switch_class){.lossless = lossless, .egress_limit = 2000};
		bed_start(&b);
		assert_false(bed_in(&b, 0, 0, 1, 2001));
		assert_true(bed_in(&b, 0, 0, 1, 1500));
		assert_true(bed_in(&b, 0, 0, 1, 500));
		assert_false(bed_in(&b, 0, 0, 1, 64));
		assert_true(bed_in(&b, 0, 1, 1, 3000)); /* another class */
		assert_true(bed_in(&b, 0, 0, 0, 64));   /* another queue */
		assert_int_equal(rs_switch_get_counters(b.sw)->drops, 2);
		assert_int_equal(rs_switch_get_counters(b.sw)->drops_lossless, lossless ? 2 : 0);
		assert_int_equal(rs_switch_port_counters(b.sw, 0)->drops, 2);
		bed_end(&b);
	}
}

static void refused(struct bed *b, const char *why)
{
	struct rs_error e = {0};

	assert_true(rs_switch_create(&b->c, &b->sw, &e) < 0);
	assert_non_null(strstr(e.what, why));
	b->sw = NULL;
	bed_end(b);
}

static void test_a_switch_that_cannot_be_is_refused_with_a_reason(void **state)
{
	struct bed b;

	bed_init(&b, 4);
	b.c.classes[3] = (struct rs_switch_class){.lossless = true, .reserve = 100};
	b.port[2].headroom = 900;
	b.c.buffer = 4 * 100 + 900;
	refused(&b, "cannot hold the headroom and reserves of its 4 ports, 1300 bytes");
	bed_init(&b, 4);
	b.c.n_ports = RS_SWITCH_PORTS_MAX + 1;
	refused(&b, "1 to 1024 ports");
	bed_init(&b, 4);
	b.c.cell = 65536;
	refused(&b, "cell");
	bed_init(&b, 4);
	b.c.buffer = RS_SWITCH_BUFFER_MAX + 1;
	refused(&b, "16 TiB");
	bed_init(&b, 4);
	b.c.routing = RS_ROUTE_FLOWLET;
	refused(&b, "gap");
	bed_init(&b, 4);
	b.c.tc_of_dscp[26] = 8;
	refused(&b, "DSCP 26 has class 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_are_rounded_up_exactly_for_every_frame_and_cell),
		cmocka_unit_test(test_every_frame_in_cells_of_real_switches),
		cmocka_unit_test(test_the_buffer_counts_cells),
		cmocka_unit_test(test_thresholds_settle_at_choudhury_and_hahnes_shares),
		cmocka_unit_test(test_a_frame_at_the_threshold_is_in_and_one_above_is_not),
		cmocka_unit_test(test_a_faster_link_gets_a_larger_alpha),
		cmocka_unit_test(test_a_reserve_is_there_when_the_pool_is_full),
		cmocka_unit_test(test_alpha_above_1_never_overruns_the_pool),
		cmocka_unit_test(
			test_a_lossy_queue_ends_at_the_threshold_and_a_lossless_one_does_not),
		cmocka_unit_test(test_a_limited_queue_drops_lossless_or_not),
		cmocka_unit_test(test_a_switch_that_cannot_be_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
