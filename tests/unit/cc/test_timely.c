/* TIMELY: each branch of the paper's algorithm 1 by example, and a walk against it written plainly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "cc/cc.h"

#define LINE (100 * RS_GBPS)

struct run {
	struct rs_cc_params *params;
	struct rs_cc cc;
	rs_time now;
};

static void begin(struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->params = calloc(1, rs_cc_timely.params_bytes);
	assert_non_null(r->params);
	assert_int_equal(rs_cc_params_init(&rs_cc_timely, NULL, r->params, NULL), 0);
	rs_cc_timely.init(r->params, &r->cc, LINE, 0);
}

static void end(struct run *r)
{
	free(r->params);
}

static void ack(struct run *r, rs_time rtt)
{
	r->now += RS_US;
	rs_cc_timely.on_feedback(
		r->params, &r->cc,
		&(struct rs_cc_feedback){.now = r->now, .rtt = rtt, .bytes = 4096});
}

static void test_starts_at_line_rate_without_a_window(void **state)
{
	struct run r;

	begin(&r);
	assert_int_equal(r.cc.rate, LINE);
	assert_true(r.cc.window == UINT64_MAX && r.cc.next_event == RS_NEVER);
	ack(&r, -1); /* nothing was measured */
	ack(&r, 10 * RS_US);
	assert_int_equal(r.cc.rate, LINE); /* no more than the line */
	end(&r);
}

/* rtt > T_high: R (1 - beta (1 - T_high / rtt)), whatever the gradient. */
static void test_a_long_round_trip_cuts(void **state)
{
	struct run r;

	begin(&r);
	ack(&r, 1000 * RS_US);
	assert_int_equal(r.cc.rate, LINE * 6 / 10);
	ack(&r, 1000 * RS_US);
	assert_in_range(r.cc.rate, LINE * 36 / 100 - 1, LINE * 36 / 100 + 1);
	assert_int_equal(r.cc.cuts, 2);
	end(&r);
}

/* Between them the gradient decides: 20 us more in 20 us of least round trip, weighed by 7/8. */
static void test_a_rising_round_trip_cuts_by_its_gradient(void **state)
{
	struct run r;

	begin(&r);
	ack(&r, 100 * RS_US); /* no difference yet: a gradient of 0 climbs */
	ack(&r, 110 * RS_US);
	assert_in_range(r.cc.rate, (int64_t)(LINE * (1 - 0.8 * 0.4375)) - 1,
			(int64_t)(LINE * (1 - 0.8 * 0.4375)) + 1);
	end(&r);
}

/* From the fifth in a row it climbs five steps at a time; a short round trip: one. */
static void test_a_falling_round_trip_hastens(void **state)
{
	int64_t rate;
	struct run r;

	begin(&r);
	for (int i = 0; i < 20; i++)
		ack(&r, 2000 * RS_US); /* down to where there is room */
	rate = r.cc.rate;
	for (int i = 1; i <= 8; i++) {
		ack(&r, (400 - i) * RS_US);
		rate += i < 5 ? 10 * RS_MBPS : 50 * RS_MBPS;
		assert_in_range(r.cc.rate, rate - 2, rate + 2);
	}
	ack(&r, 20 * RS_US);
	rate += 10 * RS_MBPS;
	assert_in_range(r.cc.rate, rate - 2, rate + 2);
	ack(&r, 100 * RS_US); /* the average falls still */
	ack(&r, 200 * RS_US); /* and rises now */
	assert_true(r.cc.rate < rate);
	end(&r);
}

static void test_the_least_rate_holds(void **state)
{
	struct run r;

	begin(&r);
	for (int i = 0; i < 200; i++)
		ack(&r, RS_S);
	assert_int_equal(r.cc.rate, 100 * RS_MBPS);
	end(&r);
}

/* The paper's algorithm, in microseconds and Gb/s. */
static double plain(double rate, double rtt, double *before, double *difference, int *row)
{
	double g;

	if (*before > 0)
		*difference = 0.125 * *difference + 0.875 * (rtt - *before);
	*before = rtt;
	g = *difference / 20;
	*row = g <= 0 && rtt >= 50 && rtt <= 500 ? *row + 1 : 0;
	if (rtt < 50)
		rate += 0.01;
	else if (rtt > 500)
		rate *= 1 - 0.8 * (1 - 500 / rtt);
	else if (g <= 0)
		rate += *row >= 5 ? 0.05 : 0.01;
	else
		rate *= 1 - 0.8 * fmin(g, 1);
	return fmax(0.1, fmin(100, rate));
}

static void test_a_walk_is_the_papers(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct rs_random random = rs_random_stream(seed, 0, 0);
		double rate = 100, before = 0, difference = 0;
		rs_time rtt = 100 * RS_US;
		struct run r;
		int row = 0;

		begin(&r);
		for (int i = 0; i < 500; i++) {
			rtt += ((rs_time)rs_random_below(&random, 40001) - 20000) * RS_NS;
			rtt = rtt < 10 * RS_US ? 10 * RS_US : rtt;
			rate = plain(rate, (double)rtt / 1e6, &before, &difference, &row);
			ack(&r, rtt);
			assert_true(fabs((double)r.cc.rate / 1e9 - rate) < 1e-6 * rate + 1e-8);
		}
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_at_line_rate_without_a_window),
		cmocka_unit_test(test_a_long_round_trip_cuts),
		cmocka_unit_test(test_a_rising_round_trip_cuts_by_its_gradient),
		cmocka_unit_test(test_a_falling_round_trip_hastens),
		cmocka_unit_test(test_the_least_rate_holds),
		cmocka_unit_test(test_a_walk_is_the_papers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
