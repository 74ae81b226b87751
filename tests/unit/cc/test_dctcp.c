/* DCTCP's window against the closed forms of RFC 8257. */
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
enum { FULL = 250000, PACKET = 1000 }; /* bytes: 100 Gb/s for 20 us */

struct run {
	struct rs_cc_params *params;
	struct rs_cc cc;
	rs_time now;
	uint64_t acked, sent;
};

static void set(struct run *r, const char *name, const char *value)
{
	assert_int_equal(rs_cc_params_set(&rs_cc_dctcp, r->params, name, value, NULL), 0);
	rs_cc_dctcp.init(r->params, &r->cc, LINE, 0);
}

static void begin(struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->params = calloc(1, rs_cc_dctcp.params_bytes);
	assert_non_null(r->params);
	assert_int_equal(rs_cc_params_init(&rs_cc_dctcp, NULL, r->params, NULL), 0);
	set(r, "base_rtt", "20us");
	set(r, "ai", "1000B");
	r->sent = FULL;
}

static void end(struct run *r)
{
	free(r->params);
}

/* A packet is acknowledged, and as much goes as the window lets. */
static void ack(struct run *r, bool marked)
{
	r->now += 100 * RS_NS;
	r->acked += PACKET;
	rs_cc_dctcp.on_feedback(r->params, &r->cc,
				&(struct rs_cc_feedback){.now = r->now,
							 .rtt = -1,
							 .bytes = PACKET,
							 .marked = marked ? PACKET : 0,
							 .acked = r->acked,
							 .sent = r->sent});
	while (r->sent + PACKET <= r->acked + r->cc.window)
		r->sent += PACKET;
}

/* What was out at its beginning is acknowledged; every `each`-th packet is marked, 0: none. */
static void round_of(struct run *r, unsigned each)
{
	uint64_t until = r->sent;

	for (unsigned i = 0; r->acked < until; i++)
		ack(r, each && i % each == 0);
}

static void test_begins_with_what_the_line_carries(void **state)
{
	struct run r;

	begin(&r);
	assert_int_equal(r.cc.window, FULL);
	assert_int_equal(r.cc.rate, LINE);
	assert_true(r.cc.next_event == RS_NEVER);
	round_of(&r, 0);
	round_of(&r, 0);
	assert_int_equal(r.cc.window, FULL); /* no more than that */
	end(&r);
}

/* alpha 1: W(1 - alpha/2), once for what is out. */
static void test_all_marked_halves_once_a_round(void **state)
{
	struct run r;

	begin(&r);
	ack(&r, true);
	assert_int_equal(r.cc.window, FULL / 2);
	assert_int_equal(r.cc.rate, LINE / 2);
	while (r.acked < FULL)
		ack(&r, true);
	assert_int_equal(r.cc.cuts, 1);
	ack(&r, true);
	assert_int_equal(r.cc.window, FULL / 4);
	for (int i = 0; i < 20; i++)
		round_of(&r, 1);
	assert_int_equal(r.cc.window, 8192); /* two packets of 4096 */
	end(&r);
}

/* One packet of ten is marked in many rounds: alpha is a tenth. It is seen in a cut, behind rounds
 * without marks that raised the window from its floor and made alpha (1 - g)^n of it. */
static void test_alpha_is_the_share_of_marks(void **state)
{
	for (unsigned each = 5; each <= 50; each *= 10) {
		double alpha = pow(15.0 / 16, 20) / each, seen;
		uint64_t before;
		struct run r;

		begin(&r);
		set(&r, "min_window", "100kB");
		for (int n = 0; n < 200; n++)
			round_of(&r, each);
		for (int n = 0; n < 21; n++)
			round_of(&r, 0);
		assert_in_range(r.cc.window, 119000, 122000);
		for (before = r.cc.window; r.cc.window >= before; ack(&r, true))
			before = r.cc.window;
		seen = 2 * (1 - (double)r.cc.window / (double)before);
		assert_true(fabs(seen - alpha) < alpha / 5);
		end(&r);
	}
}

/* alpha from 1 to 0 in rounds without a mark: a cut after n of them is by half of (1 - g)^n. */
static void test_alpha_forgets(void **state)
{
	for (int n = 0; n < 60; n += 7) {
		double alpha = pow(15.0 / 16, n);
		struct run r;

		begin(&r);
		round_of(&r, 0); /* of what came before nothing is known */
		for (int i = 0; i < n; i++)
			round_of(&r, 0);
		while (r.cc.cuts == 0)
			ack(&r, true);
		/* this ACK may end a round of its own, without a mark but its own */
		assert_true(fabs(2 * (1 - (double)r.cc.window / FULL) - alpha) < alpha / 15);
		end(&r);
	}
}

static void test_a_round_without_marks_adds_a_packet(void **state)
{
	struct run r;
	uint64_t before;

	begin(&r);
	round_of(&r, 1);
	round_of(&r, 0); /* the cut's own round ends */
	before = r.cc.window;
	for (int i = 1; i <= 10; i++) {
		round_of(&r, 0);
		assert_int_equal(r.cc.window, before + (uint64_t)i * PACKET);
	}
	end(&r);
}

/* CNPs in place of echoes: the ACK behind one cuts. */
static void test_a_cnp_is_a_mark(void **state)
{
	struct run r;

	begin(&r);
	rs_cc_dctcp.on_cnp(r.params, &r.cc, 0);
	assert_int_equal(r.cc.window, FULL);
	ack(&r, false);
	assert_int_equal(r.cc.window, FULL / 2);
	assert_true(rs_cc_dctcp.cnp_due(r.params, 5, 5));
	end(&r);
}

static void test_losses(void **state)
{
	struct run r;

	begin(&r);
	rs_cc_dctcp.on_loss(r.params, &r.cc, false, 0);
	assert_int_equal(r.cc.window, FULL / 2);
	rs_cc_dctcp.on_loss(r.params, &r.cc, true, 0);
	assert_int_equal(r.cc.window, 8192);
	end(&r);
}

static void test_unpaced_keeps_the_line(void **state)
{
	struct run r;

	begin(&r);
	set(&r, "paced", "off");
	ack(&r, true);
	assert_int_equal(r.cc.window, FULL / 2);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

static void test_it_stays_within_limits_whatever_comes(void **state)
{
	struct rs_random n = rs_random_stream(1, 0, 0);
	struct run r;

	for (int i = 0; i < 50; i++) {
		begin(&r);
		for (int k = 0; k < 2000; k++) {
			uint32_t what = rs_random_below(&n, 100);

			if (what == 0)
				rs_cc_dctcp.on_loss(r.params, &r.cc, rs_random_below(&n, 2), r.now);
			else if (what < 5)
				rs_cc_dctcp.on_cnp(r.params, &r.cc, r.now);
			else
				ack(&r, rs_random_below(&n, 100) < (uint32_t)i);
			assert_in_range(r.cc.window, 8192, FULL);
			assert_in_range(r.cc.rate, 1, LINE);
		}
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins_with_what_the_line_carries),
		cmocka_unit_test(test_all_marked_halves_once_a_round),
		cmocka_unit_test(test_alpha_is_the_share_of_marks),
		cmocka_unit_test(test_alpha_forgets),
		cmocka_unit_test(test_a_round_without_marks_adds_a_packet),
		cmocka_unit_test(test_a_cnp_is_a_mark),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_unpaced_keeps_the_line),
		cmocka_unit_test(test_it_stays_within_limits_whatever_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
