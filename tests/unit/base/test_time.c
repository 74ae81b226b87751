/* A pace against division in 128 bits: exact for the rates that divide, within its bound for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"
#include "base/time.h"

/* Picoseconds of n bytes at rate, rounded down. */
static rs_time divided(int64_t rate, uint64_t n)
{
	return (rs_time)((rs_uint128)n * 8000000000000u / (uint64_t)rate);
}

static void test_a_pace_is_exact_for_rates_that_divide_8e12(void **state)
{
	static const int64_t gigabits[] = {1, 10, 25, 40, 50, 100, 200, 400, 800, 1600};
	struct rs_random r = rs_random_stream(1, 0, 0);

	for (unsigned i = 0; i < 10; i++) {
		int64_t rate = gigabits[i] * RS_GBPS;
		struct rs_pace p = rs_pace_of(rate);

		for (uint32_t n = 0; n < 10000; n++)
			assert_true(rs_pace_time(p, n) == divided(rate, n));
		for (unsigned k = 0; k < 10000; k++) {
			uint64_t n = rs_random_u64(&r) >> 18; /* 64 TiB */

			assert_true(rs_pace_time_long(p, n) == divided(rate, n));
			n &= (1 << 24) - 1;
			assert_true(rs_pace_time(p, (uint32_t)n) == divided(rate, n));
		}
	}
}

/* Half of 2^-16 ps a byte, and the rounding down. */
static void test_any_other_rate_is_within_its_bound(void **state)
{
	struct rs_random r = rs_random_stream(2, 0, 0);

	for (unsigned k = 0; k < 200000; k++) {
		int64_t rate = RS_MBPS + (int64_t)(rs_random_u64(&r) >> (18 + k % 26));
		uint32_t n = (uint32_t)rs_random_u64(&r) >> (8 + k % 24);
		rs_time off = rs_pace_time(rs_pace_of(rate), n) - divided(rate, n);
		rs_time bound = n / 131072 + 1;

		assert_true(off >= -bound && off <= bound);
	}
}

/* The product stays within 64 bits where the comment says that it does. */
static void test_slow_rates_and_large_frames_do_not_overflow(void **state)
{
	rs_time slow = rs_pace_time(rs_pace_of(1000), 35000);
	rs_time fast = rs_pace_time(rs_pace_of(RS_MBPS), (1 << 24) - 1);

	assert_true(slow == divided(1000, 35000));
	assert_true(fast == divided(RS_MBPS, (1 << 24) - 1));
}

static void test_no_rate_takes_no_time(void **state)
{
	assert_true(rs_pace_time(rs_pace_of(0), 1 << 20) == 0);
	assert_true(rs_pace_time(rs_pace_of(-5), 1 << 20) == 0);
	assert_true(rs_pace_time_long(rs_pace_of(0), UINT64_MAX) == 0);
}

static void test_more_bytes_take_no_less_time(void **state)
{
	struct rs_pace p = rs_pace_of(INT64_C(123456789012));

	for (uint32_t n = 1; n < 70000; n++)
		assert_true(rs_pace_time(p, n) >= rs_pace_time(p, n - 1));
}

static void test_least_and_greatest_time(void **state)
{
	assert_true(rs_time_min(3, RS_NEVER) == 3);
	assert_true(rs_time_max(-3, 2) == 2);
	assert_true(RS_S == INT64_C(1000000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pace_is_exact_for_rates_that_divide_8e12),
		cmocka_unit_test(test_any_other_rate_is_within_its_bound),
		cmocka_unit_test(test_slow_rates_and_large_frames_do_not_overflow),
		cmocka_unit_test(test_no_rate_takes_no_time),
		cmocka_unit_test(test_more_bytes_take_no_less_time),
		cmocka_unit_test(test_least_and_greatest_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
