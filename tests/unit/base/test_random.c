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

/* The slow twin: SplitMix64 as published, a state that advances, multiplied by adding. */
static uint64_t slow_product(uint64_t a, uint64_t b)
{
	uint64_t sum = 0;

	for (; b; b >>= 1, a += a)
		if (b & 1)
			sum += a;
	return sum;
}

static uint64_t slow_mix(uint64_t x)
{
	x = slow_product(x ^ x / (UINT64_C(1) << 30), UINT64_C(0xbf58476d1ce4e5b9));
	x = slow_product(x ^ x / (UINT64_C(1) << 27), UINT64_C(0x94d049bb133111eb));
	return x ^ x / (UINT64_C(1) << 31);
}

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t slow_begin(uint64_t seed, uint64_t entity, uint32_t purpose)
{
	return slow_mix(slow_mix(seed + golden) ^ (slow_product(entity, golden) + purpose));
}

static uint64_t slow_next(uint64_t *state)
{
	*state += golden;
	return slow_mix(*state);
}

static uint32_t slow_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(slow_product(slow_next(state) >> 32, n) >> 32);
}

/* Many streams, drawn from in any order, by both kinds of draw, and begun anew. */
static void test_streams_draw_as_their_twins_in_any_order(void **state)
{
	enum { STREAMS = 300, DRAWS = 60000 };
	static struct rs_random fast[STREAMS];
	static uint64_t slow[STREAMS];
	uint64_t who = 1;

	for (uint32_t i = 0; i < STREAMS; i++) {
		fast[i] = rs_random_stream(i % 7, i, i % 3);
		slow[i] = slow_begin(i % 7, i, i % 3);
	}
	for (uint32_t i = 0; i < DRAWS; i++) {
		uint64_t choice = slow_next(&who);
		uint32_t k = choice % STREAMS, n = (uint32_t)(choice >> 32) | 1;

		if (choice >> 20 & 1)
			assert_true(rs_random_u64(&fast[k]) == slow_next(&slow[k]));
		else
			assert_int_equal(rs_random_below(&fast[k], n), slow_below(&slow[k], n));
		if (choice >> 21 & 63)
			continue;
		fast[k] = rs_random_stream(choice, k, n);
		slow[k] = slow_begin(choice, k, n);
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
		cmocka_unit_test(test_streams_draw_as_their_twins_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
