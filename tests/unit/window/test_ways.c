/* Of two ways the faster one is taken, soon after it has become so, and to look at the other one
 * costs little however slow that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"
#include "window/ways.h"

enum { MIB = 1 << 20, PIECE = 64 << 10 };

static const struct rs_ways_tuning tuning = {
	.stretch = 4 * MIB, .break_ns = 200000, .tries = 32, .agree = 3};

/* Of each way, ns of a piece. Returns what so many bytes took. */
static int64_t send(struct rs_ways *w, int64_t *now, uint64_t bytes, int64_t a, int64_t b)
{
	int64_t since = *now;

	for (; bytes >= PIECE; bytes -= PIECE) {
		*now += w->way ? b : a;
		rs_ways_went(w, PIECE, *now);
	}
	return *now - since;
}

static void test_faster_way_is_taken_and_the_other_costs_little(void **state)
{
	struct rs_random r = rs_random_stream(7, 8, 9);

	for (unsigned i = 0; i < 500; i++) {
		int64_t fast = 1000 + rs_random_below(&r, 9000), now = 1;
		int64_t slow = fast + fast * rs_random_below(&r, 20) / 2 + rs_random_below(&r, 900);
		bool first = rs_random_below(&r, 2);
		struct rs_ways w;
		int64_t took, best = 4096 * fast;

		rs_ways_init(&w, &tuning);
		send(&w, &now, 64 * MIB, first ? fast : slow, first ? slow : fast);
		took = send(&w, &now, 256 * MIB, first ? fast : slow, first ? slow : fast);
		/* a trial takes what a stretch does, and a piece that it does not begin */
		assert_true(took <= best + best / 32 + 2 * (64 * fast + slow));
	}
}

static void test_way_that_becomes_the_faster_one_is_found(void **state)
{
	struct rs_random r = rs_random_stream(7, 8, 10);
	struct rs_ways w;
	int64_t now = 1;

	rs_ways_init(&w, &tuning);
	for (unsigned i = 0; i < 200; i++) {
		int64_t a = 1500 + rs_random_below(&r, 30000), b = 4000;

		/* as many stretches as there are between two trials, and the trial */
		send(&w, &now, 34 * 4 * MIB, a, b);
		for (unsigned k = 0; k < 4 && w.trial; k++)
			send(&w, &now, 4 * MIB, a, b);
		assert_true(a == b || w.way == (b < a) || (a > b * 15 / 16 && a < b * 17 / 16));
	}
}

/* Pauses say nothing of a way. */
static void test_stretch_with_a_break_is_not_judged(void **state)
{
	struct rs_ways w;
	int64_t now = 1;

	rs_ways_init(&w, &tuning);
	send(&w, &now, 64 * MIB, 2000, 4000);
	assert_false(w.way);
	for (unsigned i = 0; i < 1000; i++) {
		now += 300000;
		send(&w, &now, 2 * MIB, 2000, 4000);
		assert_true(w.trial || !w.way);
		assert_true(w.ns[0] <= 64 * 2000);
	}
}

/* Others have the cores for a stretch in eight, whichever way it goes. */
static void test_other_work_does_not_change_the_way(void **state)
{
	struct rs_random r = rs_random_stream(7, 8, 11);
	int64_t lost = 0;

	for (unsigned i = 0; i < 100; i++) {
		int64_t fast = 3000, slow = fast * (2 + rs_random_below(&r, 8));
		int64_t now = 1, least = 0, since;
		struct rs_ways w;

		rs_ways_init(&w, &tuning);
		send(&w, &now, 64 * MIB, fast, slow);
		since = now;
		for (unsigned k = 0; k < 800; k++) {
			int64_t more = rs_random_below(&r, 8) ? 0 : 100000;

			send(&w, &now, 4 * MIB, fast + more, slow + more);
			least += 64 * (fast + more);
		}
		lost += now - since - least;
	}
	/* an eighth of what the fast way takes alone; as much as that, with one slow stretch enough
	 */
	assert_true(lost <= INT64_C(100) * 800 * 64 * 3000 / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faster_way_is_taken_and_the_other_costs_little),
		cmocka_unit_test(test_way_that_becomes_the_faster_one_is_found),
		cmocka_unit_test(test_stretch_with_a_break_is_not_judged),
		cmocka_unit_test(test_other_work_does_not_change_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
