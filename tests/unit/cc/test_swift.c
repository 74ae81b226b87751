/* Swift: the window follows the measured delay; by example, and against the paper's algorithm 1
 * written down plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
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
	r->params = calloc(1, rs_cc_swift.params_bytes);
	assert_non_null(r->params);
	assert_int_equal(rs_cc_params_init(&rs_cc_swift, NULL, r->params, NULL), 0);
	rs_cc_swift.init(r->params, &r->cc, LINE, 0);
}

static void set(struct run *r, const char *name, const char *value)
{
	assert_int_equal(rs_cc_params_set(&rs_cc_swift, r->params, name, value, NULL), 0);
	rs_cc_swift.init(r->params, &r->cc, LINE, 0);
}

static void end(struct run *r)
{
	free(r->params);
}

static void ack(struct run *r, uint32_t bytes, rs_time rtt, rs_time later)
{
	r->now += later;
	rs_cc_swift.on_feedback(
		r->params, &r->cc,
		&(struct rs_cc_feedback){.now = r->now, .rtt = rtt, .bytes = bytes});
}

static void test_starts_with_what_the_line_carries_in_the_target(void **state)
{
	struct run r;

	begin(&r);
	assert_int_equal(r.cc.rate, LINE);
	assert_in_range(r.cc.window, 312499, 312500);
	assert_true(r.cc.next_event == RS_NEVER);
	end(&r);
}

static void test_below_the_target_a_window_of_acks_adds_one_packet(void **state)
{
	uint64_t before;
	struct run r;

	begin(&r);
	set(&r, "fs_range", "25us");
	for (unsigned i = 0; i < 2; i++)
		ack(&r, 0, 60 * RS_US, 60 * RS_US); /* to a window with room above it */
	before = r.cc.window;
	for (uint64_t sent = 0; sent < before; sent += 1024)
		ack(&r, 1024, 10 * RS_US, RS_US);
	/* the window grows meanwhile: a little less than one */
	assert_in_range(r.cc.window - before, 3500, 4100);
	end(&r);
}

/* 1 - beta (delay - target) / delay: at 50 us against 25 us 60 % stay. */
static void test_above_the_target_the_excess_is_cut(void **state)
{
	struct run r;

	begin(&r);
	set(&r, "fs_range", "0s");
	ack(&r, 1000, 50 * RS_US, RS_US);
	assert_in_range(r.cc.window, 187490, 187500);
	assert_int_equal(r.cc.cuts, 1);
	end(&r);
}

static void test_one_cut_in_a_round_trip(void **state)
{
	struct run r;

	begin(&r);
	set(&r, "fs_range", "0s");
	ack(&r, 1000, 50 * RS_US, RS_US);
	ack(&r, 1000, -1, 50 * RS_US - 1);
	assert_int_equal(r.cc.cuts, 1);
	ack(&r, 1000, -1, 1);
	assert_int_equal(r.cc.cuts, 2);
	end(&r);
}

static void test_a_cut_takes_a_half_at_most(void **state)
{
	struct run r;

	begin(&r);
	ack(&r, 1000, RS_S, RS_US);
	assert_in_range(r.cc.window, 156249, 156250);
	end(&r);
}

/* Half a packet a round trip of 100 us: 4096 x 8 / 2 bits in it. */
static void test_below_a_packet_the_window_is_a_pace(void **state)
{
	struct run r;

	begin(&r);
	set(&r, "fs_range", "0s");
	set(&r, "min_window", "0.5");
	for (unsigned i = 0; i < 100; i++)
		ack(&r, 0, 100 * RS_US, 100 * RS_US);
	assert_int_equal(r.cc.window, 4096);
	assert_in_range(r.cc.rate, 163840000 - 1, 163840000);
	/* and a packet's acknowledgement adds a whole one: no pace any more */
	ack(&r, 4096, 10 * RS_US, RS_US);
	assert_int_equal(r.cc.rate, LINE);
	assert_in_range(r.cc.window, 6143, 6144);
	end(&r);
}

/* At one packet a delay is fine that a window of a hundred answers with a cut. */
static void test_flow_scaling_gives_small_windows_more_time(void **state)
{
	struct run r;

	begin(&r);
	set(&r, "packet", "1024B");
	ack(&r, 0, 30 * RS_US, RS_US);
	assert_int_equal(r.cc.cuts, 1);
	for (unsigned i = 0; i < 12; i++)
		ack(&r, 0, RS_MS, RS_MS);
	r.cc.cuts = 0;
	ack(&r, 0, 30 * RS_US, 2 * RS_MS);
	assert_int_equal(r.cc.cuts, 0);
	end(&r);
}

static void test_loss_cuts_and_timeouts_in_a_row_reset(void **state)
{
	struct run r;

	begin(&r);
	rs_cc_swift.on_loss(r.params, &r.cc, false, RS_US);
	assert_in_range(r.cc.window, 156249, 156250);
	for (unsigned i = 0; i < 5; i++)
		rs_cc_swift.on_loss(r.params, &r.cc, true, RS_MS * (i + 1));
	assert_int_equal(r.cc.window, 4096);
	end(&r);
}

/* ---- Algorithm 1, in packets ---- */

struct twin {
	double cwnd, delay, target, cut_at;
	int timeouts;
};

static double twin_target(double cwnd)
{
	double alpha = 125e6 / (1 / sqrt(0.1) - 1 / sqrt(100)), beta = -alpha / sqrt(100);

	return 25e6 + fmax(0, fmin(alpha / sqrt(cwnd) + beta, 125e6));
}

static void twin_limit(struct twin *t)
{
	double most = LINE / 8.0 * 150e-6 / 4096;

	t->cwnd = fmin(fmax(t->cwnd, 0.001), most);
}

static void twin_ack(struct twin *t, double acked, double rtt, double now)
{
	t->timeouts = 0;
	if (rtt > 0) {
		t->delay = rtt;
		t->target = twin_target(t->cwnd);
	}
	if (t->delay == 0)
		return;
	if (t->delay < t->target) {
		t->cwnd += t->cwnd >= 1 ? 1 / t->cwnd * acked : acked;
	} else if (now - t->cut_at >= t->delay) {
		t->cwnd *= fmax(1 - 0.8 * (t->delay - t->target) / t->delay, 0.5);
		t->cut_at = now;
	}
	twin_limit(t);
}

static void twin_loss(struct twin *t, bool timeout, double now)
{
	t->timeouts += timeout;
	if (timeout && t->timeouts >= 5) {
		t->cwnd = 0.001;
	} else if (now - t->cut_at >= t->delay) {
		t->cwnd *= 0.5;
		t->cut_at = now;
	}
	twin_limit(t);
}

static void test_follows_the_paper_plainly_written(void **state)
{
	struct rs_random random = rs_random_stream(5, 1, 1);
	unsigned paced = 0;

	for (unsigned round = 0; round < 200; round++) {
		uint32_t high = 20000 << rs_random_below(&random, 6);
		struct twin t = {.cwnd = LINE / 8.0 * 25e-6 / 4096, .cut_at = -1e18};
		struct run r;

		begin(&r);
		for (unsigned i = 0; i < 1000; i++) {
			bool measured = !rs_random_below(&random, 10);
			rs_time rtt =
				measured ? (rs_time)(5000 + rs_random_below(&random, high)) * RS_NS
					 : -1;
			uint32_t bytes = 1 + rs_random_below(&random, 8192);
			rs_time later = (rs_time)rs_random_below(&random, 20000) * RS_NS;

			if (rs_random_below(&random, 50)) {
				ack(&r, bytes, rtt, later);
				twin_ack(&t, bytes / 4096.0, (double)rtt, (double)r.now);
			} else {
				bool timeout = rs_random_below(&random, 2);

				r.now += later;
				rs_cc_swift.on_loss(r.params, &r.cc, timeout, r.now);
				twin_loss(&t, timeout, (double)r.now);
			}
			assert_true(fabs((double)r.cc.window - fmax(t.cwnd, 1) * 4096) <
				    2 + 1e-6 * (double)r.cc.window);
			if (t.cwnd < 0.999 && t.delay > 0) {
				double pace = t.cwnd * 4096 * 8e12 / t.delay;

				paced++;
				assert_true(fabs((double)r.cc.rate - pace) < 2 + 1e-6 * pace);
			} else if (t.cwnd > 1.001) {
				assert_int_equal(r.cc.rate, LINE);
			}
		}
		end(&r);
	}
	assert_true(paced > 1000);
}

static void test_rate_and_window_stay_within_limits_whatever_the_parameters(void **state)
{
	struct rs_random random = rs_random_stream(7, 1, 1);

	for (unsigned round = 0; round < 2000; round++) {
		const struct rs_cc_param *p = rs_cc_swift.params;
		struct run r;

		begin(&r);
		for (; p->name; p++) {
			double share = rs_random_below(&random, 3) / 2.0;
			double v = p->min * pow(p->max / fmax(p->min, 1e-3), share);
			char text[64];

			if (rs_random_below(&random, 2))
				continue;
			v = fmin(fmax(v, p->min), p->max);
			snprintf(text, sizeof(text), p->unit == 'n' ? "%.9g" : "%.0f%s", v,
				 p->unit == 't'   ? "ps"
				 : p->unit == 'b' ? "B"
						  : "");
			set(&r, p->name, text);
		}
		for (unsigned i = 0; i < 60; i++) {
			rs_time rtt = (rs_time)rs_random_below(&random, 3) *
				      (rs_time)rs_random_below(&random, 1000000) * RS_NS;

			ack(&r, rs_random_below(&random, 1 << 24), rtt, RS_US * i);
			if (!rs_random_below(&random, 3))
				rs_cc_swift.on_loss(r.params, &r.cc, i & 1, r.now);
			assert_in_range(r.cc.rate, 1000, LINE);
			assert_in_range(r.cc.window, 64, INT64_MAX);
		}
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_with_what_the_line_carries_in_the_target),
		cmocka_unit_test(test_below_the_target_a_window_of_acks_adds_one_packet),
		cmocka_unit_test(test_above_the_target_the_excess_is_cut),
		cmocka_unit_test(test_one_cut_in_a_round_trip),
		cmocka_unit_test(test_a_cut_takes_a_half_at_most),
		cmocka_unit_test(test_below_a_packet_the_window_is_a_pace),
		cmocka_unit_test(test_flow_scaling_gives_small_windows_more_time),
		cmocka_unit_test(test_loss_cuts_and_timeouts_in_a_row_reset),
		cmocka_unit_test(test_follows_the_paper_plainly_written),
		cmocka_unit_test(test_rate_and_window_stay_within_limits_whatever_the_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
