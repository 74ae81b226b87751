/* Counter-based streams: the same key gives the same draws, whatever others draw; different keys,
 * entities and purposes give streams that have nothing to do with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include "base/random.h"

static void test_the_same_key_gives_the_same_stream(void **state)
{
	struct rs_random a = rs_random_stream(7, 8, 9), b = rs_random_stream(7, 8, 9), c;

	for (unsigned i = 0; i < 1000; i++) {
		struct rs_random other = rs_random_stream(7, 8 + i, 10);

		rs_random_u64(&other); /* somebody else's draw in between */
		assert_true(rs_random_u64(&a) == rs_random_u64(&b));
	}
	c = (struct rs_random){.key = a.key, .count = 500}; /* a place in the stream */
	b = rs_random_stream(7, 8, 9);
	for (unsigned i = 0; i < 500; i++)
		rs_random_u64(&b);
	assert_true(rs_random_u64(&b) == rs_random_u64(&c));
}

/* A change of the mix changes every seeded result: the first draws are held here. */
static void test_the_stream_is_what_it_was(void **state)
{
	struct rs_random r = rs_random_stream(1, 2, 3);
	uint64_t k = rs_mix64(1 + UINT64_C(0x9e3779b97f4a7c15));

	k = rs_mix64(k ^ (2 * UINT64_C(0x9e3779b97f4a7c15) + 3));
	assert_true(rs_random_u64(&r) == rs_mix64(k + UINT64_C(0x9e3779b97f4a7c15)));
	/* SplitMix64 of seed 0: the first value of the published generator */
	assert_true(rs_mix64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_no_two_streams_begin_alike(void **state)
{
	enum { SEEDS = 16, ENTITIES = 256, PURPOSES = 16, N = SEEDS * ENTITIES * PURPOSES };
	uint64_t *first = malloc(N * sizeof(*first));
	unsigned n = 0;

	for (unsigned s = 0; s < SEEDS; s++)
		for (unsigned e = 0; e < ENTITIES; e++)
			for (unsigned p = 0; p < PURPOSES; p++) {
				struct rs_random r = rs_random_stream(s, e, p);

				first[n++] = rs_random_u64(&r);
			}
	qsort(first, N, sizeof(*first), by_value);
	for (unsigned i = 1; i < N; i++)
		assert_true(first[i] != first[i - 1]);
	free(first);
}

/* Bits that agree between two streams: half, within five standard deviations. */
static void agree(struct rs_random a, struct rs_random b)
{
	enum { DRAWS = 20000 };
	long same = 0;

	for (unsigned i = 0; i < DRAWS; i++)
		same += __builtin_popcountll(~(rs_random_u64(&a) ^ rs_random_u64(&b)));
	assert_true(labs(same - DRAWS * 32L) < (long)(5 * sqrt(DRAWS * 64 / 4.0)));
}

static void test_streams_are_independent(void **state)
{
	agree(rs_random_stream(1, 1, 1), rs_random_stream(2, 1, 1));
	agree(rs_random_stream(1, 1, 1), rs_random_stream(1, 2, 1));
	agree(rs_random_stream(1, 1, 1), rs_random_stream(1, 1, 2));
	agree(rs_random_stream(0, 0, 0), rs_random_stream(0, 1, 0));
	agree(rs_random_stream(UINT64_MAX, 5, 1), rs_random_stream(0, 5, 1));
}

/* Each of n values as often as the others: chi-square of n - 1 degrees of freedom, which has mean
 * n - 1 and variance 2(n - 1). */
static void even(uint32_t n)
{
	struct rs_random r = rs_random_stream(99, n, 0);
	unsigned *count = calloc(n, sizeof(*count)), draws = 2000 * n;
	double chi = 0;

	for (unsigned i = 0; i < draws; i++) {
		uint32_t v = rs_random_below(&r, n);

		assert_true(v < n);
		count[v]++;
	}
	for (uint32_t i = 0; i < n; i++)
		chi += (count[i] - 2000.0) * (count[i] - 2000.0) / 2000;
	free(count);
	assert_true(fabs(chi - (n - 1)) < 5 * sqrt(2.0 * (n - 1)) + 1e-9);
}

static void test_below_is_even_and_below(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 16, 100, 255};

	for (unsigned i = 0; i < 7; i++)
		even(sizes[i]);
	for (unsigned i = 0; i < 1000; i++) {
		struct rs_random r = rs_random_stream(i, 0, 0);

		assert_true(rs_random_below(&r, UINT32_MAX) < UINT32_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_key_gives_the_same_stream),
		cmocka_unit_test(test_the_stream_is_what_it_was),
		cmocka_unit_test(test_no_two_streams_begin_alike),
		cmocka_unit_test(test_streams_are_independent),
		cmocka_unit_test(test_below_is_even_and_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
