/* Posts in a row: who is held, from when, and that nobody loses more by it than they gain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"
#include "window/row.h"

enum { GATHER = 64, GAIN = 1000, LEAST = 500000, MOST = 1000000000, PARDON = 4 };
enum { PROMPT = 10000, LONG = 400000, LOOK = 2000000, POST = 100 };

static const struct rs_row_tuning tuning = {.gather = GATHER,
					    .gain_ns = GAIN,
					    .least = LEAST,
					    .most = MOST,
					    .pardon = PARDON,
					    .prompt_ns = PROMPT,
					    .long_ns = LONG};
static int64_t now;

/* n posts and a poll so many ns behind the last; how many were held. */
static unsigned row(struct rs_row *r, unsigned n, int64_t until_poll)
{
	unsigned held = 0;

	for (unsigned i = 0; i < n; i++) {
		bool holds = rs_row_holds(r, 1);

		held += holds;
		if (!holds)
			rs_row_sent(r);
		now += POST;
		rs_row_posted(r, now);
	}
	now += until_poll;
	rs_row_polled(r, now);
	rs_row_sent(r);
	return held;
}

/* Rows of n posts until some are held. */
static unsigned rows_until_held(struct rs_row *r, unsigned n)
{
	unsigned rows = 0;

	while (!row(r, n, PROMPT))
		rows++;
	return rows;
}

static void test_nothing_is_held_before_it_is_earned(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	assert_int_equal(rows_until_held(&r, 2), LEAST / GAIN);
	rs_row_init(&r, &tuning);
	assert_int_equal(rows_until_held(&r, 51), LEAST / GAIN / 50);
}

/* The first goes at once, and a full row goes without a poll. */
static void test_first_and_the_last_of_a_full_row_go(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	rows_until_held(&r, 2);
	assert_int_equal(row(&r, 1, 0), 0);
	assert_int_equal(row(&r, GATHER, 0), GATHER - 1);
	assert_int_equal(row(&r, 1 + 2 * GATHER, 0), 2 * (GATHER - 1));
	rs_row_posted(&r, now); /* lists of a quarter of it */
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(rs_row_holds(&r, GATHER / 4), i % 4 != 3);
		rs_row_posted(&r, now);
		if (i % 4 == 3)
			rs_row_sent(&r);
	}
}

/* One post and a poll earn nothing, however late, and cost nothing. */
static void test_single_posts_count_for_nothing(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (unsigned i = 0; i < 4 * LEAST / GAIN; i++)
		assert_int_equal(row(&r, 1, i % 2 ? 0 : LOOK), 0);
	assert_int_equal(r.account, 0);
	rows_until_held(&r, 2);
	row(&r, 1, LOOK);
	assert_int_equal(row(&r, 2, 0), 1);
}

static void test_late_polls_cost_how_late_they_are(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (unsigned i = 0; i < LEAST / GAIN; i++)
		row(&r, 2, 0);
	row(&r, 2, 50 * GAIN);
	assert_int_equal(r.account, LEAST - 50 * GAIN);
	assert_int_equal(r.need, LEAST);
	assert_int_equal(rows_until_held(&r, 2), 50);
	row(&r, 2, 10 * LEAST);
	assert_int_equal(r.account, 0);
	row(&r, 2, 10 * LEAST); /* nothing was held */
	assert_int_equal(r.need, 2 * LEAST);
}

/* Each time that posts waited in vain twice as much is earned first, up to most, until enough was.
 */
static void test_who_left_posts_waiting_earns_for_longer(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (int64_t need = LEAST; need < MOST; need *= 2) {
		assert_int_equal(r.need, need);
		r.account = need; /* whatever it was earned by */
		assert_int_equal(row(&r, 2, LONG + 1), 1);
		assert_int_equal(r.account, 0);
	}
	rs_row_init(&r, &tuning);
	rows_until_held(&r, 2);
	row(&r, 2, LOOK);
	assert_int_equal(r.need, 2 * LEAST);
	for (unsigned i = 0; i < PARDON * 2 * LEAST / GAIN; i++)
		row(&r, 2, 0);
	assert_int_equal(r.need, LEAST);
}

/* A program that is kept from its core now and then, as on a busy machine, is held nearly always.
 */
static void test_a_program_that_is_kept_from_its_core_is_held(void **state)
{
	struct rs_row r;
	unsigned held = 0, rows = 100000;

	rs_row_init(&r, &tuning);
	for (unsigned i = 1; i <= rows; i++)
		held += row(&r, 50, i % 5000 == 0 ? 3 * LONG * 10 : i % 300 == 0 ? 30000 : 0) != 0;
	assert_true(held > rows * 95 / 100);
}

/* Of whatever program: posts that were held and whose poll came late waited until then, or until
 * the thread's look. All of it is no more than twice what the rows' sends would have cost, and a
 * look for each time that need may double. */
static void test_nobody_loses_more_than_they_gain(void **state)
{
	enum { DOUBLINGS = 12 };

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct rs_random rnd = rs_random_stream(seed, 1, 0x524f5753);
		uint32_t most_posts = 2 + rs_random_below(&rnd, 60);
		uint32_t one_in = 1 + rs_random_below(&rnd, seed % 2 ? 20 : 5000);
		int64_t lost = 0, gained = 0;
		struct rs_row r;

		rs_row_init(&r, &tuning);
		for (unsigned i = 0; i < 20000; i++) {
			unsigned n = 1 + rs_random_below(&rnd, most_posts);
			int64_t wait =
				rs_random_below(&rnd, one_in) ? 0 : rs_random_below(&rnd, 2 * LOOK);
			bool held = row(&r, n, wait);

			if (held && wait > PROMPT)
				lost += wait < LOOK ? wait : LOOK;
			else if (wait <= PROMPT)
				gained += (n - 1) * GAIN;
		}
		assert_true(lost <= 2 * gained + DOUBLINGS * (int64_t)LOOK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_held_before_it_is_earned),
		cmocka_unit_test(test_first_and_the_last_of_a_full_row_go),
		cmocka_unit_test(test_single_posts_count_for_nothing),
		cmocka_unit_test(test_late_polls_cost_how_late_they_are),
		cmocka_unit_test(test_who_left_posts_waiting_earns_for_longer),
		cmocka_unit_test(test_a_program_that_is_kept_from_its_core_is_held),
		cmocka_unit_test(test_nobody_loses_more_than_they_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
