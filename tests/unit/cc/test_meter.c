/* hp-dcqcn, a rate meter: what it metered is what a CNP leaves, by example and in random walks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
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
	r->params = calloc(1, rs_cc_hp_dcqcn.params_bytes);
	assert_non_null(r->params);
	assert_int_equal(rs_cc_params_init(&rs_cc_hp_dcqcn, NULL, r->params, NULL), 0);
	rs_cc_hp_dcqcn.init(r->params, &r->cc, LINE, 0);
}

static void end(struct run *r)
{
	free(r->params);
}

/* Acknowledged at this rate for so long. */
static void carried(struct run *r, int64_t rate, rs_time span)
{
	for (rs_time until = r->now + span; r->now < until;) {
		r->now += RS_US;
		rs_cc_hp_dcqcn.on_feedback(
			r->params, &r->cc,
			&(struct rs_cc_feedback){
				.now = r->now, .rtt = -1, .bytes = (uint32_t)(rate / 8000000)});
	}
}

static void cnp(struct run *r)
{
	rs_cc_hp_dcqcn.on_cnp(r->params, &r->cc, r->now);
}

static void test_before_it_metered_a_cnp_halves(void **state)
{
	struct run r;

	begin(&r);
	cnp(&r);
	assert_int_equal(r.cc.rate, LINE / 2);
	cnp(&r); /* no second one within a period */
	assert_int_equal(r.cc.rate, LINE / 2);
	end(&r);
}

static void test_a_cnp_leaves_95_percent_of_what_was_carried(void **state)
{
	static const int64_t rates[] = {80 * RS_GBPS, 25 * RS_GBPS, 6250 * RS_MBPS, 400 * RS_MBPS};

	for (int i = 0; i < 4; i++) {
		struct run r;

		begin(&r);
		carried(&r, rates[i], 100 * RS_US);
		cnp(&r);
		assert_in_range(r.cc.rate, rates[i] * 945 / 1000, rates[i] * 955 / 1000);
		assert_int_equal(r.cc.cuts, 1);
		end(&r);
	}
}

/* Five periods of 200 Mb/s, then 400, 600 and so on: a closed sum. */
static void test_quiet_periods_climb_faster_and_faster(void **state)
{
	struct run r;

	begin(&r);
	carried(&r, 10 * RS_GBPS, 100 * RS_US);
	cnp(&r);
	carried(&r, 10 * RS_GBPS, 15 * 20 * RS_US);
	/* the first period's end is within a period of the cut or not: one step of grace */
	assert_in_range(r.cc.rate, 9500 * RS_MBPS + (5 + 54) * 200 * RS_MBPS - 2400 * RS_MBPS,
			9500 * RS_MBPS + (5 + 65) * 200 * RS_MBPS + 100 * RS_MBPS);
	carried(&r, 10 * RS_GBPS, 3 * RS_MS);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

static void test_it_stays_within_limits(void **state)
{
	struct rs_random n = rs_random_stream(3, 0, 0);
	struct run r;

	begin(&r);
	for (int i = 0; i < 20000; i++) {
		carried(&r, (int64_t)rs_random_below(&n, 100) * RS_GBPS, RS_US);
		if (rs_random_below(&n, 10) == 0)
			cnp(&r);
		assert_in_range(r.cc.rate, 100 * RS_MBPS, LINE);
		assert_true(r.cc.window == UINT64_MAX);
	}
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_it_metered_a_cnp_halves),
		cmocka_unit_test(test_a_cnp_leaves_95_percent_of_what_was_carried),
		cmocka_unit_test(test_quiet_periods_climb_faster_and_faster),
		cmocka_unit_test(test_it_stays_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
