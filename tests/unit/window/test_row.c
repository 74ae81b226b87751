/* Posts in a row: who is held, from when, and how a program that did not poll gets its own back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "window/row.h"

enum { LEAST = 8, MOST = 64, GATHER = 5, PROMPT_NS = 1000 };

static const struct rs_row_tuning tuning = {GATHER, LEAST, MOST, PROMPT_NS};
static int64_t now;

/* n posts, 10 ns apart, and a poll so many ns behind the last; how many were held. */
static unsigned row(struct rs_row *r, unsigned n, int64_t until_poll)
{
	unsigned held = 0;

	for (unsigned i = 0; i < n; i++) {
		bool holds = rs_row_holds(r);

		held += holds;
		if (!holds)
			rs_row_sent(r);
		now += 10;
		rs_row_posted(r, now);
	}
	now += until_poll;
	rs_row_polled(r, now);
	rs_row_sent(r);
	return held;
}

static void test_nothing_is_held_before_it_is_proved(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (unsigned i = 0; i < LEAST; i++)
		assert_int_equal(row(&r, 3, PROMPT_NS), 0);
	assert_int_equal(row(&r, 3, PROMPT_NS), 2);
}

/* The first goes at once, and a full row goes without a poll. */
static void test_first_and_the_last_of_a_full_row_go(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (unsigned i = 0; i < LEAST; i++)
		row(&r, 2, 0);
	assert_int_equal(row(&r, 1, 0), 0);
	assert_int_equal(row(&r, GATHER, 0), GATHER - 2);
	assert_int_equal(row(&r, 2 * GATHER, 0), 2 * GATHER - 3);
}

/* One post and a poll prove nothing, and break no proof. */
static void test_single_posts_count_for_nothing(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (unsigned i = 0; i < 4 * LEAST; i++)
		assert_int_equal(row(&r, 1, i % 2 ? 0 : 10 * PROMPT_NS), 0);
	for (unsigned i = 0; i < LEAST; i++) {
		assert_int_equal(row(&r, 2, 0), 0);
		row(&r, 1, 10 * PROMPT_NS);
	}
	assert_int_equal(row(&r, 2, 0), 1);
}

static void test_late_poll_breaks_the_proof(void **state)
{
	struct rs_row r;

	rs_row_init(&r, &tuning);
	for (unsigned i = 0; i < LEAST - 1; i++)
		row(&r, 2, 0);
	row(&r, 2, PROMPT_NS + 1);
	for (unsigned i = 0; i < LEAST; i++)
		assert_int_equal(row(&r, 2, 0), 0);
	assert_int_equal(row(&r, 2, 0), 1);
}

/* Each time that posts waited in vain the proof takes twice as long, up to most. */
static void test_who_left_posts_waiting_proves_for_longer(void **state)
{
	struct rs_row r;
	unsigned need = LEAST;

	rs_row_init(&r, &tuning);
	for (unsigned broken = 0; broken < 6; broken++) {
		for (unsigned i = 0; i < need; i++)
			assert_int_equal(row(&r, 2, 0), 0);
		assert_int_equal(row(&r, 2, PROMPT_NS + 1), 1);
		need = need < MOST ? 2 * need : MOST;
	}
	assert_int_equal(r.need, MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_held_before_it_is_proved),
		cmocka_unit_test(test_first_and_the_last_of_a_full_row_go),
		cmocka_unit_test(test_single_posts_count_for_nothing),
		cmocka_unit_test(test_late_poll_breaks_the_proof),
		cmocka_unit_test(test_who_left_posts_waiting_proves_for_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
