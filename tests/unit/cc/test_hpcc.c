/* HPCC: the rate follows the fullest link; checked by hand-made telemetry, and against the paper's
 * algorithm written down plainly. */
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

enum { T_NS = 4160 };
#define LINE (100 * RS_GBPS)
#define WRAP (UINT64_C(1) << 29)

struct run {
	struct rs_cc_params *params;
	struct rs_cc cc;
	uint64_t acked, sent;
	struct rs_cc_hop hop[RS_CC_HOPS];
	unsigned n;
	uint32_t path;
	uint64_t path_state[RS_CC_PATH_BYTES / 8];
};

static void begin(struct run *r, const char *preset, unsigned n)
{
	memset(r, 0, sizeof(*r));
	r->params = calloc(1, rs_cc_hpcc.params_bytes);
	assert_non_null(r->params);
	assert_int_equal(rs_cc_params_init(&rs_cc_hpcc, preset, r->params, NULL), 0);
	assert_int_equal(rs_cc_params_set(&rs_cc_hpcc, r->params, "base_rtt", "4160ns", NULL), 0);
	rs_cc_hpcc.init(r->params, &r->cc, LINE, 0);
	r->n = n;
	r->sent = 50000;
	for (unsigned i = 0; i < n; i++)
		r->hop[i] =
			(struct rs_cc_hop){.rate = LINE, .time_wrap = 1 << 24, .sent_wrap = WRAP};
}

static void end(struct run *r)
{
	free(r->params);
}

static void hear(struct run *r, const struct rs_cc_hop *hops, unsigned n, uint32_t path)
{
	rs_cc_hpcc.on_feedback(r->params, &r->cc,
			       &(struct rs_cc_feedback){.rtt = -1,
							.acked = r->acked,
							.sent = r->sent,
							.hops = hops,
							.n_hops = (uint8_t)n,
							.path = path,
							.path_state = r->path_state});
}

/* ns later, after share of what hop 0 can send, with that queue. */
static void ack(struct run *r, uint32_t ns, double share, uint32_t queue, uint32_t bytes)
{
	for (unsigned i = 0; i < r->n; i++) {
		r->hop[i].time = (r->hop[i].time + ns) & 0xffffff;
		r->hop[i].sent =
			(r->hop[i].sent +
			 (uint64_t)(share * (double)r->hop[i].rate / 8e9 * ns / 512) * 512) &
			(WRAP - 1);
		r->hop[i].queue = queue;
	}
	r->acked += bytes;
	r->sent += bytes;
	hear(r, r->hop, r->n, r->path);
}

static void test_starts_at_line_rate_with_a_window_of_one_product(void **state)
{
	struct run r;

	begin(&r, "ns-3", 1);
	assert_int_equal(r.cc.rate, LINE);
	assert_int_equal(r.cc.window, 52000);
	end(&r);
}

static void test_the_first_ack_only_primes(void **state)
{
	struct run r;

	begin(&r, "ns-3", 2);
	ack(&r, 1000000, 1, 1 << 20, 1000);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

/* A full link, no queue: eta of the line is aimed at. */
static void test_a_full_link_settles_at_eta(void **state)
{
	struct run r;

	begin(&r, "ns-3", 1);
	for (unsigned i = 0; i < 4000; i++)
		ack(&r, 4096, (double)r.cc.rate / LINE, 0, 1000);
	assert_in_range(r.cc.rate, 94 * RS_GBPS, 96 * RS_GBPS);
	assert_in_range(r.cc.window, 52000 * 94 / 100, 52000 * 96 / 100);
	end(&r);
}

static void test_a_queue_cuts_and_one_base_product_of_it_halves(void **state)
{
	struct run r;

	begin(&r, "ns-3", 1);
	ack(&r, 4160, 1, 52000, 1000);
	ack(&r, 4160, 1, 52000, 1000); /* full, and a product waits: utilization 2 */
	assert_in_range(r.cc.rate, LINE * 0.95 / 2 * 0.99, LINE * 0.95 / 2 * 1.01 + 40 * RS_MBPS);
	end(&r);
}

/* Of two readings of a queue the lesser counts: what has drained since is no congestion. */
static void test_the_lesser_of_two_readings_counts(void **state)
{
	struct run r;

	begin(&r, "ns-3", 1);
	ack(&r, 4160, 1, 0, 1000);
	ack(&r, 4160, 0.5, 1 << 20, 1000);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

static void test_the_fullest_hop_decides(void **state)
{
	struct run r;

	begin(&r, "ns-3", 3);
	r.hop[1].rate = 25 * RS_GBPS;
	ack(&r, 4160, 1, 0, 1000);
	for (unsigned i = 0; i < 3; i++) {
		r.hop[i].time += 4160;
		r.hop[i].sent += 4160 * 25 / 8 / 512 * 512; /* 25 Gb/s: fills hop 1 alone */
	}
	r.acked = 60000;
	r.sent = 61000;
	hear(&r, r.hop, 3, 0);
	assert_in_range(r.cc.rate, LINE * 0.93, LINE * 0.97);
	end(&r);
}

static void test_the_floor_holds(void **state)
{
	struct run r;

	begin(&r, "ns-3", 1);
	for (unsigned i = 0; i < 2000; i++)
		ack(&r, 4160, 1, 10 << 20, 1000);
	assert_int_equal(r.cc.rate, RS_GBPS);
	end(&r);
}

static void test_another_number_of_hops_primes_anew(void **state)
{
	struct run r;

	begin(&r, "ns-3", 2);
	ack(&r, 4160, 1, 1 << 20, 1000);
	r.n = 3;
	r.hop[2] = (struct rs_cc_hop){.rate = LINE, .time_wrap = 1 << 24, .sent_wrap = WRAP};
	ack(&r, 4160, 1, 1 << 20, 1000);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

static void test_a_stamp_of_the_same_nanosecond_says_nothing(void **state)
{
	struct run r;

	begin(&r, "ns-3", 1);
	ack(&r, 4160, 1, 0, 1000);
	ack(&r, 0, 0, 1 << 20, 1000);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

/* ---- The paper's algorithm 1, in rates, without limits of width ---- */

struct twin {
	double u, reference, rate;
	uint64_t update, sent[RS_CC_HOPS], time[RS_CC_HOPS];
	uint32_t queue[RS_CC_HOPS];
	int stage, max_stage;
	double ai, min;
	bool primed;
};

static void twin_ack(struct twin *t, const uint64_t *time, const uint64_t *sent,
		     const uint32_t *queue, unsigned n, uint64_t acked, uint64_t next)
{
	double most = 0, tau = 0;
	bool multiply;

	for (unsigned i = 0; t->primed && i < n; i++) {
		double dt = (double)(time[i] - t->time[i]);
		uint32_t q = queue[i] < t->queue[i] ? queue[i] : t->queue[i];
		double u = (double)(sent[i] - t->sent[i]) * 8e9 / dt / LINE + (double)q / 52000;

		if (u > most * (1 + 1e-12)) { /* of equals the first */
			most = u;
			tau = dt < T_NS ? dt : T_NS;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		t->time[i] = time[i];
		t->sent[i] = sent[i];
		t->queue[i] = queue[i];
	}
	if (!t->primed) {
		t->primed = true;
		t->update = next;
		return;
	}
	t->u = (1 - tau / T_NS) * t->u + tau / T_NS * most;
	multiply = t->u >= 0.95 || t->stage >= t->max_stage;
	t->rate = (multiply ? t->reference / (t->u / 0.95) : t->reference) + t->ai;
	t->rate = fmin(fmax(t->rate, t->min), LINE);
	if (acked > t->update) {
		t->reference = t->rate;
		t->stage = multiply ? 0 : t->stage + 1;
		t->update = next;
	}
}

static void follows(const char *preset, int max_stage, double ai, double min)
{
	struct twin t = {.u = 1,
			 .reference = LINE,
			 .rate = LINE,
			 .max_stage = max_stage,
			 .ai = ai,
			 .min = min};
	uint64_t time[3] = {0}, sent[3] = {0};
	struct rs_random random = rs_random_stream(3, 1, 1);
	struct run r;

	begin(&r, preset, 3);
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t queue[3];

		for (unsigned k = 0; k < 3; k++) {
			uint32_t dt = 20 + rs_random_below(&random, 400);

			time[k] += dt;
			sent[k] += (uint64_t)rs_random_below(&random, dt / 40 + 1) * 512;
			queue[k] = rs_random_below(&random, 100) * 320;
			r.hop[k].time = (uint32_t)(time[k] & 0xffffff);
			r.hop[k].sent = sent[k] & (WRAP - 1);
			r.hop[k].queue = queue[k];
		}
		r.acked += 1000;
		r.sent = r.acked + 1000 * rs_random_below(&random, 50);
		twin_ack(&t, time, sent, queue, 3, r.acked, r.sent);
		hear(&r, r.hop, 3, 0);
		assert_true(fabs((double)r.cc.rate - t.rate) < 1e-6 * t.rate + 1000);
	}
	end(&r);
}

static void test_follows_the_paper_plainly_written(void **state)
{
	follows("ns-3", 0, 40e6, 1e9);
	follows("paper", 5, 50e6, 100e6);
}

/* The counters of another path's links are no measure: of equal length, they used to be one. */
static void test_another_path_is_not_compared(void **state)
{
	struct rs_cc_hop other[2] = {{.rate = LINE,
				      .time_wrap = 1 << 24,
				      .sent_wrap = WRAP,
				      .sent = WRAP / 2,
				      .time = 7},
				     {.rate = LINE,
				      .time_wrap = 1 << 24,
				      .sent_wrap = WRAP,
				      .sent = 9 << 20,
				      .time = 9}};
	struct run r;

	begin(&r, "ns-3", 2);
	ack(&r, 100, 0.5, 0, 1000);
	for (unsigned i = 0; i < 1000; i++) {
		hear(&r, i & 1 ? r.hop : other, 2, !(i & 1));
		assert_int_equal(r.cc.rate, LINE);
		other[0].sent = (other[0].sent + 4096) & (WRAP - 1);
		other[0].time += 50;
	}
	/* two in a row of one path are: 1.2 of what the link carries, for a round trip */
	r.path = 0;
	ack(&r, T_NS, 1.2, 0, 50000);
	assert_true(r.cc.rate < LINE * 85 / 100);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_at_line_rate_with_a_window_of_one_product),
		cmocka_unit_test(test_the_first_ack_only_primes),
		cmocka_unit_test(test_a_full_link_settles_at_eta),
		cmocka_unit_test(test_a_queue_cuts_and_one_base_product_of_it_halves),
		cmocka_unit_test(test_the_lesser_of_two_readings_counts),
		cmocka_unit_test(test_the_fullest_hop_decides),
		cmocka_unit_test(test_the_floor_holds),
		cmocka_unit_test(test_another_number_of_hops_primes_anew),
		cmocka_unit_test(test_a_stamp_of_the_same_nanosecond_says_nothing),
		cmocka_unit_test(test_follows_the_paper_plainly_written),
		cmocka_unit_test(test_another_path_is_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
