/* DCQCN: the paper's and mlx5's reactions by example, and ns-3's against a twin that carries out
 * every timer when it fires, where the real one looks back. */
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
};

static void begin(struct run *r, const char *preset)
{
	memset(r, 0, sizeof(*r));
	r->params = calloc(1, rs_cc_dcqcn.params_bytes);
	assert_non_null(r->params);
	assert_int_equal(rs_cc_params_init(&rs_cc_dcqcn, preset, r->params, NULL), 0);
	rs_cc_dcqcn.init(r->params, &r->cc, LINE, 0);
}

static void set(struct run *r, const char *name, const char *value)
{
	assert_int_equal(rs_cc_params_set(&rs_cc_dcqcn, r->params, name, value, NULL), 0);
	rs_cc_dcqcn.init(r->params, &r->cc, LINE, 0);
}

static void cnp(struct run *r, rs_time now)
{
	rs_cc_dcqcn.on_cnp(r->params, &r->cc, now);
}

static int64_t rate_at(struct run *r, rs_time now)
{
	if (now >= r->cc.next_event)
		rs_cc_dcqcn.on_time(r->params, &r->cc, now);
	return r->cc.rate;
}

static void end(struct run *r)
{
	free(r->params);
}

static void test_starts_at_line_rate_and_costs_no_event(void **state)
{
	struct run r;

	begin(&r, "paper");
	assert_int_equal(r.cc.rate, LINE);
	assert_true(r.cc.next_event == RS_NEVER);
	assert_true(r.cc.byte_credit > INT64_MAX / 2);
	assert_true(r.cc.window == UINT64_MAX);
	end(&r);
}

/* §5.1: alpha is 1 at first, so that the first cut halves; one cut in 50 us. */
static void test_the_first_cut_halves_and_the_next_waits_for_its_period(void **state)
{
	struct run r;

	begin(&r, "paper");
	cnp(&r, 10 * RS_US);
	assert_int_equal(r.cc.rate, LINE / 2);
	cnp(&r, 59 * RS_US);
	assert_int_equal(r.cc.rate, LINE / 2);
	cnp(&r, 60 * RS_US);
	/* alpha was fed all along: still 1 */
	assert_int_equal(r.cc.rate, LINE / 4);
	assert_int_equal(r.cc.cuts, 2);
	end(&r);
}

/* Without feedback alpha falls by 1/256 each 55 us: a late second cut is a small one. */
static void test_alpha_forgets(void **state)
{
	double alpha;
	struct run r;

	begin(&r, "paper");
	set(&r, "increase_timer", "1s");
	cnp(&r, 0);
	cnp(&r, 55 * RS_US * 256);
	/* the first tick was fed; 255 were not, and the new feedback is for the next tick */
	alpha = pow(1 - 1.0 / 256, 255);
	assert_true(fabs((double)r.cc.rate / (LINE / 2) - (1 - alpha / 2)) < 1e-6);
	end(&r);
}

/* Half the way to the target while the timer's stage is below F = 5, then 40 Mb/s a step: figure 7.
 */
static void test_recovery_by_the_timer(void **state)
{
	rs_time t = 0;
	int64_t gap = LINE / 2, target = LINE / 2;
	struct run r;

	begin(&r, "paper");
	cnp(&r, 0);
	cnp(&r, 50 * RS_US); /* LINE / 4, target LINE / 2: the paper clamps */
	t = 50 * RS_US;
	gap = LINE / 4;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rate_at(&r, t + 55 * RS_US - 1), target - gap);
		t += 55 * RS_US;
		gap /= 2;
		assert_true(llabs(rate_at(&r, t) - (target - gap)) <= 5);
	}
	/* the byte counter has not moved: additive, not hyper */
	t += 55 * RS_US;
	assert_true(llabs(rate_at(&r, t) - (target + 40 * RS_MBPS - (gap + 40 * RS_MBPS) / 2)) <=
		    5);
	end(&r);
}

static void test_the_byte_counter_counts_as_a_stage_of_its_own(void **state)
{
	struct run r;

	begin(&r, "paper");
	cnp(&r, 0);
	assert_int_equal(r.cc.byte_credit, 10000000);
	r.cc.byte_credit -= 10000100;
	rs_cc_dcqcn.on_bytes(r.params, &r.cc, RS_US);
	assert_int_equal(r.cc.rate, LINE / 4 * 3);
	assert_int_equal(r.cc.byte_credit, 10000000 - 100); /* what was sent too much counts */
	assert_int_equal(r.cc.increases, 1);
	end(&r);
}

/* Both stages beyond F: the target rises by i x 200 Mb/s, i how far the lesser of them is. */
static void test_hyper_increase_needs_both(void **state)
{
	int64_t before, target = LINE / 2;
	struct run r;

	begin(&r, "paper");
	cnp(&r, 0);
	cnp(&r, 50 * RS_US);
	rate_at(&r, 50 * RS_US + 8 * 55 * RS_US); /* eight by the timer, the last four additive */
	target += 4 * 40 * RS_MBPS;
	for (unsigned i = 1; i <= 5; i++) {
		rs_cc_dcqcn.on_bytes(r.params, &r.cc, 500 * RS_US);
		target += 40 * RS_MBPS; /* the timer alone is beyond */
	}
	for (unsigned i = 1; i <= 2; i++) {
		before = r.cc.rate;
		rs_cc_dcqcn.on_bytes(r.params, &r.cc, 500 * RS_US);
		target += i * 200 * RS_MBPS;
		assert_true(llabs(r.cc.rate - (before + target) / 2) <= 5);
	}
	end(&r);
}

/* RPG_CLAMP_TGT_RATE off: consecutive cuts leave the target where it was. */
static void test_mlx5_keeps_its_target_at_consecutive_cuts(void **state)
{
	struct run r;

	begin(&r, "mlx5");
	cnp(&r, 0);
	cnp(&r, 4 * RS_US);
	cnp(&r, 8 * RS_US);
	assert_in_range(r.cc.rate, LINE / 8, LINE / 7);
	/* one timer: half way back to line rate, not to a half */
	assert_in_range(rate_at(&r, 308 * RS_US), LINE / 16 * 9, LINE / 14 * 9);
	end(&r);
}

static void test_back_at_line_rate_the_limiter_is_released(void **state)
{
	struct run r;

	begin(&r, "mlx5");
	cnp(&r, 0);
	rate_at(&r, RS_S);
	assert_int_equal(r.cc.rate, LINE);
	assert_true(r.cc.next_event == RS_NEVER);
	/* and the next feedback finds alpha at 1 again */
	cnp(&r, RS_S + RS_MS);
	assert_int_equal(r.cc.rate, LINE / 2);
	end(&r);
}

static void test_the_floor_holds(void **state)
{
	struct run r;

	begin(&r, "mlx5");
	set(&r, "rate_min", "1G");
	for (unsigned i = 0; i < 100; i++)
		cnp(&r, (rs_time)i * 4 * RS_US);
	assert_int_equal(r.cc.rate, RS_GBPS);
	end(&r);
}

static void test_one_cnp_in_an_interval(void **state)
{
	struct run r;

	begin(&r, "paper");
	assert_true(rs_cc_dcqcn.cnp_due(r.params, RS_NEVER, 0));
	assert_false(rs_cc_dcqcn.cnp_due(r.params, RS_US, 50 * RS_US));
	assert_true(rs_cc_dcqcn.cnp_due(r.params, RS_US, 51 * RS_US));
	end(&r);
}

static void test_a_window_follows_the_rate(void **state)
{
	struct run r;

	begin(&r, "ns-3");
	set(&r, "window", "on");
	set(&r, "base_rtt", "4160ns");
	assert_int_equal(r.cc.window, 52000);
	set(&r, "delayed_cut", "off");
	cnp(&r, 0);
	assert_int_equal(r.cc.window, 26000);
	end(&r);
}

/* ---- ns-3's: everything when it happens ---- */

struct twin {
	double alpha;
	int64_t rate, target;
	rs_time alpha_at, cut_at, inc_at;
	bool started, fed, marked, increased;
	unsigned stage;
};

static void twin_cut(struct twin *t)
{
	if (t->marked) {
		if (t->increased || t->rate == LINE)
			t->target = t->rate;
		t->rate = (int64_t)((double)t->rate * (1 - t->alpha / 2));
		t->rate = t->rate < RS_GBPS ? RS_GBPS : t->rate;
		t->stage = 0;
		t->increased = t->marked = false;
		t->inc_at = t->cut_at + 300 * RS_US;
	}
	t->cut_at += 4 * RS_US;
}

static void twin_increase(struct twin *t)
{
	if (t->stage >= 1)
		t->target += t->stage == 1 ? 20 * RS_MBPS : 200 * RS_MBPS;
	t->target = t->target > LINE ? LINE : t->target;
	t->rate = (t->rate + t->target) / 2;
	t->stage++;
	t->increased = true;
	t->inc_at += 300 * RS_US;
}

static void twin_to(struct twin *t, rs_time now)
{
	while (t->started) {
		rs_time next = rs_time_min(t->alpha_at, rs_time_min(t->cut_at, t->inc_at));

		if (next > now)
			return;
		if (next == t->alpha_at) {
			t->alpha = t->alpha * 255 / 256 + (t->fed ? 1.0 / 256 : 0);
			t->fed = false;
			t->alpha_at += RS_US;
		} else if (next == t->cut_at) {
			twin_cut(t);
		} else {
			twin_increase(t);
		}
	}
}

static void twin_mark(struct twin *t, rs_time now)
{
	twin_to(t, now);
	if (!t->started) {
		t->started = true;
		t->alpha = 1;
		t->alpha_at = now + RS_US;
		t->cut_at = now + 4 * RS_US + RS_NS;
		t->inc_at = RS_NEVER;
		t->marked = true;
		return;
	}
	t->fed = t->marked = true;
}

static void test_ns3_looked_back_equals_ns3_carried_out(void **state)
{
	struct rs_random random = rs_random_stream(11, 1, 1);

	for (unsigned round = 0; round < 30; round++) {
		struct twin t = {.rate = LINE,
				 .target = LINE,
				 .alpha_at = RS_NEVER,
				 .cut_at = RS_NEVER,
				 .inc_at = RS_NEVER};
		rs_time now = 12345 * RS_NS;
		struct run r;

		begin(&r, "ns-3");
		for (unsigned i = 0; i < 3000; i++) {
			/* bursts of marks, and silences long enough to recover in */
			uint32_t span = rs_random_below(&random, 50) ? 3000 : 900000;

			now += (rs_time)(1 + rs_random_below(&random, span)) * RS_NS + 500;
			now -= now % RS_NS - 500; /* never at the time of a timer */
			twin_to(&t, now);
			if (llabs(rate_at(&r, now) - t.rate) > t.rate / 100000 + 100)
				fail_msg("round %u step %u: %lld, twin %lld", round, i,
					 (long long)r.cc.rate, (long long)t.rate);
			if (rs_random_below(&random, 3)) {
				twin_mark(&t, now);
				rs_cc_dcqcn.on_ack(r.params, &r.cc, 1000, -1, true, now);
			} else {
				rs_cc_dcqcn.on_ack(r.params, &r.cc, 1000, -1, false, now);
			}
		}
		assert_true(r.cc.cuts > 100 && r.cc.increases > 10);
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_at_line_rate_and_costs_no_event),
		cmocka_unit_test(test_the_first_cut_halves_and_the_next_waits_for_its_period),
		cmocka_unit_test(test_alpha_forgets),
		cmocka_unit_test(test_recovery_by_the_timer),
		cmocka_unit_test(test_the_byte_counter_counts_as_a_stage_of_its_own),
		cmocka_unit_test(test_hyper_increase_needs_both),
		cmocka_unit_test(test_mlx5_keeps_its_target_at_consecutive_cuts),
		cmocka_unit_test(test_back_at_line_rate_the_limiter_is_released),
		cmocka_unit_test(test_the_floor_holds),
		cmocka_unit_test(test_one_cnp_in_an_interval),
		cmocka_unit_test(test_a_window_follows_the_rate),
		cmocka_unit_test(test_ns3_looked_back_equals_ns3_carried_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
