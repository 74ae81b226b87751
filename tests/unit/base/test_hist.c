/* Percentiles of a histogram against those of the sorted values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include "base/hist.h"
#include "base/random.h"

enum { VALUES = 5000 };

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check(uint64_t *v, size_t n, const struct rs_hist *h)
{
	static const double asked[] = {0.01, 1, 50, 90, 99, 99.9, 99.99, 100};

	qsort(v, n, sizeof(*v), by_size);
	assert_int_equal(h->n, n);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		size_t rank = (size_t)ceil(asked[i] / 100 * (double)n);
		uint64_t want = v[rank ? rank - 1 : 0], got = rs_hist_percentile(h, asked[i]);

		assert_true(got >= want);
		assert_true(got - want <= want >> RS_HIST_BITS);
	}
}

static void test_values_of_every_size(void **state)
{
	struct rs_random r = rs_random_stream(1, 2, 3);
	uint64_t v[VALUES];

	(void)state;
	for (unsigned bits = 1; bits <= 64; bits++) {
		struct rs_hist h = {0};

		for (size_t i = 0; i < VALUES; i++) {
			v[i] = rs_random_u64(&r) >> (64 - bits);
			rs_hist_add(&h, v[i]);
		}
		check(v, VALUES, &h);
		rs_hist_fini(&h);
	}
}

static void test_two_are_as_one(void **state)
{
	struct rs_random r = rs_random_stream(4, 5, 6);
	struct rs_hist a = {0}, b = {0};
	uint64_t v[VALUES];

	(void)state;
	for (size_t i = 0; i < VALUES; i++) {
		v[i] = rs_random_u64(&r) >> (rs_random_u64(&r) % 64);
		rs_hist_add(i % 3 ? &a : &b, v[i]);
	}
	rs_hist_merge(&a, &b);
	check(v, VALUES, &a);
	rs_hist_fini(&a);
	rs_hist_fini(&b);
	assert_int_equal(rs_hist_percentile(&a, 99), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_every_size),
		cmocka_unit_test(test_two_are_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
