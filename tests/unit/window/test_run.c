/* Runs whose copies do not go as granted: in what order bytes come to lie, and when a ring is given
 * up. tests/property/test_copies.c draws the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "window/run.h"
#include "window/tuning.h"

enum { BYTES = 4 * RS_RUN_PAGE };

static struct rs_run_ticket ticket[RS_RUN_TICKETS];
static _Atomic uint64_t done_word;
static struct rs_runs_out out;
static struct rs_runs_in in;
static uint8_t place[2 * BYTES] __attribute__((aligned(RS_RUN_PAGE)));

static void begin(void)
{
	memset(ticket, 0, sizeof(ticket));
	done_word = 0;
	out = (struct rs_runs_out){.ticket = ticket,
				   .done_word = &done_word,
				   .stops_max = rs_window_defaults.run_stops};
	in = (struct rs_runs_in){.ticket = ticket, .done_word = &done_word, .grant_time = RS_S};
}

/* A run is sent, comes, and is granted: its first half to the sender. */
static void send_to(uint8_t *at)
{
	struct rs_run_sent run = {.bytes = BYTES, .qpn = 7};
	struct rs_run_come come = {.bytes = BYTES, .packets = 4, .qpn = 7, .place = at};
	uint32_t ahead;

	assert_non_null(rs_runs_out_ticket(&out));
	rs_runs_out_sent(&out, &run);
	assert_true(rs_runs_in_may_copy(&in, 7, &ahead));
	assert_int_equal(rs_runs_in_begin(&in, &come, 0), BYTES / 2);
}

static void push(enum rs_run_push how)
{
	struct rs_run_copy c;

	assert_true(rs_runs_out_push(&out, &c));
	rs_runs_out_pushed(&out, c.number, how);
}

static void expect(enum rs_run_step step, uint32_t bytes)
{
	uint32_t n = 0;

	assert_int_equal(rs_runs_in_step(&in, 1, &n), step);
	assert_int_equal(n, bytes);
	if (step == RS_RUN_EXECUTE)
		rs_runs_in_finished(&in);
}

/* The older one's half is read here once the newer one's was written: so that is read anew. */
static void test_an_older_half_does_not_stay_over_a_newer(void **state)
{
	begin();
	send_to(place);
	send_to(place);
	push(RS_RUN_PUSH_FAILED);
	push(RS_RUN_PUSH_DONE);
	expect(RS_RUN_PULL, BYTES / 2);
	expect(RS_RUN_EXECUTE, 0);
	expect(RS_RUN_PULL, BYTES / 2);
	expect(RS_RUN_EXECUTE, 0);
}

static void test_halves_apart_are_not_read_anew(void **state)
{
	begin();
	send_to(place);
	send_to(place + BYTES);
	push(RS_RUN_PUSH_FAILED);
	push(RS_RUN_PUSH_DONE);
	expect(RS_RUN_PULL, BYTES / 2);
	expect(RS_RUN_EXECUTE, 0);
	expect(RS_RUN_EXECUTE, 0);
}

/* Waits are one run's: those of runs before say nothing of the reader. */
static void test_waits_are_counted_by_run(void **state)
{
	struct rs_run_copy c;

	begin();
	for (unsigned i = 0; i < 3 * rs_window_defaults.run_stops; i++) {
		send_to(place);
		assert_true(rs_runs_in_pull(&in, 0));
		assert_int_equal(rs_runs_out_forbid(&out, i), RS_RUN_READ);
		rs_runs_in_pulled(&in, 0);
		assert_false(rs_runs_out_push(&out, &c)); /* its request is over */
		rs_runs_in_finished(&in);
		rs_runs_out_note(&out);
	}
	assert_false(out.stuck);
}

static void test_a_reader_without_end_is_given_up(void **state)
{
	begin();
	send_to(place);
	for (unsigned i = 1; i < rs_window_defaults.run_stops; i++) {
		assert_true(rs_runs_in_pull(&in, 0));
		assert_int_equal(rs_runs_out_forbid(&out, 0), RS_RUN_READ);
		rs_runs_in_pulled(&in, 0);
	}
	assert_true(rs_runs_in_pull(&in, 0));
	assert_int_equal(rs_runs_out_forbid(&out, 0), RS_RUN_STUCK);
	assert_true(out.stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_older_half_does_not_stay_over_a_newer),
		cmocka_unit_test(test_halves_apart_are_not_read_anew),
		cmocka_unit_test(test_waits_are_counted_by_run),
		cmocka_unit_test(test_a_reader_without_end_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
