/* An arena: zeroed, aligned, never overlapping, up to its limit; and bit loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>
#include "base/arena.h"
#include "base/bitmap.h"
#include "base/random.h"

/* Each allocation is filled with its number; all are still whole at the end. */
static void test_allocations_are_zeroed_aligned_and_apart(void **state)
{
	enum { N = 3000 };
	static uint8_t *p[N];
	static size_t size[N];
	struct rs_arena *a = rs_arena_create(0);
	struct rs_random r = rs_random_stream(5, 0, 0);
	size_t total = 0;

	for (unsigned i = 0; i < N; i++) {
		size[i] = i % 500 == 499 ? 3 << 20 : rs_random_below(&r, 600);
		p[i] = rs_arena_alloc(a, size[i], 1);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < size[i]; k += 1 + size[i] / 700)
			assert_int_equal(p[i][k], 0);
		memset(p[i], (int)(i & 0xff), size[i]);
		total += size[i];
	}
	for (unsigned i = 0; i < N; i++)
		for (size_t k = 0; k < size[i]; k += 1 + size[i] / 700)
			assert_int_equal(p[i][k], i & 0xff);
	assert_true(rs_arena_used(a) >= total && rs_arena_used(a) <= total + N * 16);
	rs_arena_destroy(a);
}

static void test_the_limit_holds_and_leaves_the_rest_usable(void **state)
{
	struct rs_arena *a = rs_arena_create(1000);

	assert_null(rs_arena_alloc(a, 1001, 1));
	assert_non_null(rs_arena_alloc(a, 500, 1));
	assert_null(rs_arena_alloc(a, 500, 1)); /* 512 are taken: sizes are rounded up to 16 */
	assert_non_null(rs_arena_alloc(a, 480, 1));
	assert_null(rs_arena_alloc(a, 1, 1 << 20));
	assert_int_equal(rs_arena_used(a), 992);
	rs_arena_destroy(a);
}

static void test_products_that_overflow_are_refused(void **state)
{
	struct rs_arena *a = rs_arena_create(0);

	assert_null(rs_arena_alloc(a, SIZE_MAX / 2, 3));
	assert_null(rs_arena_alloc(a, SIZE_MAX, 1));
	assert_null(rs_arena_alloc(a, SIZE_MAX - 20, 1));
	assert_non_null(rs_arena_alloc(a, 0, 8));
	assert_true(rs_arena_alloc(a, 0, 8) != rs_arena_alloc(a, 0, 8));
	rs_arena_destroy(a);
	rs_arena_destroy(NULL);
}

static void test_strings_are_copies(void **state)
{
	struct rs_arena *a = rs_arena_create(0), *small = rs_arena_create(32);
	char text[] = "h0/nic3", *s = rs_arena_strdup(a, text);

	text[0] = 'x';
	assert_string_equal(s, "h0/nic3");
	assert_string_equal(rs_arena_printf(a, "%s-%05d", s, 42), "h0/nic3-00042");
	assert_string_equal(rs_arena_strdup(a, ""), "");
	assert_null(rs_arena_strdup(small, "a text that is longer than the arena's limit"));
	assert_null(rs_arena_printf(small, "%100d", 1));
	rs_arena_destroy(small);
	rs_arena_destroy(a);
}

static void test_each_set_bit_once_lowest_first(void **state)
{
	struct rs_random r = rs_random_stream(6, 0, 0);

	for (unsigned i = 0; i < 2000; i++) {
		uint64_t w = i == 0   ? 0
			     : i == 1 ? UINT64_MAX
				      : rs_random_u64(&r) & rs_random_u64(&r);
		uint64_t seen = 0, drawn = w;
		unsigned b, calls = 0;
		int last = -1;

		rs_for_each_bit (b, (calls++, drawn)) {
			assert_true((int)b > last);
			last = (int)b;
			seen |= UINT64_C(1) << b;
			drawn = 0; /* the word was read once, at the beginning */
		}
		assert_true(seen == w);
		assert_int_equal(calls, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocations_are_zeroed_aligned_and_apart),
		cmocka_unit_test(test_the_limit_holds_and_leaves_the_rest_usable),
		cmocka_unit_test(test_products_that_overflow_are_refused),
		cmocka_unit_test(test_strings_are_copies),
		cmocka_unit_test(test_each_set_bit_once_lowest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
