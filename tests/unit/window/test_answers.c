/* ACKs that wait for data: which programs have theirs wait, and which no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "window/answers.h"

enum { LEAST = 8 };

static const struct rs_answers_tuning tuning = {LEAST, RS_MS};
static rs_time now;

/* A message comes each ms. Its ACK goes alone, unless it may wait and the program answers within 20
 * us; an answer goes so long behind (0: none). Did the ACK wait? */
static bool message(struct rs_answers *a, rs_time answered)
{
	bool waits = rs_answers_wait(a), together = waits && answered && answered <= 20 * RS_US;

	now += RS_MS;
	if (!together)
		rs_answers_alone(a, now);
	if (answered)
		rs_answers_data(a, together, now + answered);
	return waits;
}

static unsigned messages(struct rs_answers *a, unsigned n, rs_time answered)
{
	unsigned waited = 0;

	while (n--)
		waited += message(a, answered);
	return waited;
}

static void start(struct rs_answers *a)
{
	now = RS_S;
	rs_answers_init(a, &tuning);
}

static void test_nothing_waits_before_the_program_answered(void **state)
{
	struct rs_answers a;

	start(&a);
	assert_int_equal(messages(&a, LEAST, RS_US), 0);
	assert_int_equal(messages(&a, 100, RS_US), 100);
}

static void test_a_program_that_takes_a_stream_has_no_ACK_wait(void **state)
{
	struct rs_answers a;

	start(&a);
	assert_int_equal(messages(&a, 100, 0), 0);
	/* every second one: whatever else it sends */
	for (unsigned i = 0; i < 100; i++) {
		assert_false(message(&a, 0));
		assert_false(message(&a, RS_US));
	}
}

/*
 * A program with one core answers when the device's thread has left it: 56 us behind the ACK, which
 * did not wait so long. Its ACKs wait nevertheless: once both arrive while it polls, neither has to
 * wake.
 */
static void test_an_answer_that_comes_late_is_one(void **state)
{
	struct rs_answers a;

	start(&a);
	messages(&a, LEAST, 56 * RS_US);
	assert_int_equal(messages(&a, 1000, 56 * RS_US), 1000);
}

static void test_data_of_its_own_is_no_answer(void **state)
{
	struct rs_answers a;

	start(&a);
	assert_int_equal(messages(&a, 100, RS_MS), 0);
	for (unsigned i = 0; i < 100; i++) /* and data that nothing came before */
		rs_answers_data(&a, false, now += RS_US);
	assert_false(rs_answers_wait(&a));
}

/* The first message that is not answered may take an ACK with it; the second not. */
static void test_one_that_stops_answering_is_found_at_once(void **state)
{
	struct rs_answers a;

	start(&a);
	messages(&a, 2 * LEAST, RS_US);
	assert_true(message(&a, 0));
	assert_int_equal(messages(&a, 100, 0), 0);
	assert_int_equal(messages(&a, LEAST, RS_US), 0);
	assert_true(message(&a, RS_US));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_waits_before_the_program_answered),
		cmocka_unit_test(test_a_program_that_takes_a_stream_has_no_ACK_wait),
		cmocka_unit_test(test_an_answer_that_comes_late_is_one),
		cmocka_unit_test(test_data_of_its_own_is_no_answer),
		cmocka_unit_test(test_one_that_stops_answering_is_found_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
