/* DCQCN: reactions by example; every preset, and mixtures of them, against a twin that carries out
 * every timer when it fires, where the real one looks back; parameters that must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
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

/* Of 1000 bytes, so many of them marked. */
static void ack(struct run *r, uint32_t marked, rs_time now)
{
	rs_cc_dcqcn.on_feedback(
		r->params, &r->cc,
		&(struct rs_cc_feedback){.now = now, .rtt = -1, .bytes = 1000, .marked = marked});
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

/* Alpha is 1 at first, so that the first cut halves. The paper's receiver spaces CNPs: each cuts.
 */
static void test_every_cnp_of_the_paper_cuts(void **state)
{
	struct run r;

	begin(&r, "paper");
	cnp(&r, 10 * RS_US);
	assert_int_equal(r.cc.rate, LINE / 2);
	cnp(&r, 59 * RS_US);
	/* alpha was fed by each cut: still 1 */
	assert_int_equal(r.cc.rate, LINE / 4);
	assert_int_equal(r.cc.cuts, 2);
	end(&r);
}

/* RATE_REDUCE_MONITOR_PERIOD: a CNP too early for a cut is not lost, but cuts when it may. */
static void test_an_early_cnp_of_mlx5_cuts_at_the_end_of_its_period(void **state)
{
	struct run r;

	begin(&r, "mlx5");
	cnp(&r, 10 * RS_US);
	assert_int_equal(r.cc.rate, LINE / 2);
	cnp(&r, 13 * RS_US);
	cnp(&r, 13 * RS_US + RS_NS);
	assert_int_equal(rate_at(&r, 14 * RS_US - 1), LINE / 2);
	assert_in_range(rate_at(&r, 14 * RS_US), LINE / 4, LINE / 4 + LINE / 100);
	assert_int_equal(r.cc.cuts, 2);
	rate_at(&r, 100 * RS_US);
	assert_int_equal(r.cc.cuts, 2);
	end(&r);
}

/* Equation 1: R (1 - alpha/2) with the alpha before, then (1 - g) alpha + g. Equation 2: (1 - g)
 * alpha after each 55 us without a CNP. */
static void test_alpha_and_rate_follow_the_equations_step_by_step(void **state)
{
	double alpha = 1, rate = LINE, g = 1.0 / 256;
	rs_time t = 0;
	struct run r;

	begin(&r, "paper");
	set(&r, "increase_timer", "10s");
	set(&r, "rate_min", "1k");
	for (unsigned i = 0; i < 12; i++) {
		cnp(&r, t);
		rate *= 1 - alpha / 2;
		assert_true(fabs((double)r.cc.rate - rate) < 1e-7 * rate + 2);
		alpha = (1 - g) * alpha + g;
		for (unsigned k = 0; k < 37 * i; k++)
			alpha *= 1 - g;
		t += 55 * RS_US * 37 * i + 54 * RS_US;
	}
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
	alpha = pow(1 - 1.0 / 256, 256);
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

/* ConnectX's knobs: RPG_GD shifts alpha's share, RATE_TO_SET_ON_FIRST_CNP names a rate, and a fixed
 * cut does not ask alpha. */
static void test_cuts_by_other_rules(void **state)
{
	static const struct {
		const char *name, *value;
		double first, second; /* of the line's rate */
	} rules[] = {{"fixed_cut", "0.125", 0.875, 0.875 * 0.875},
		     {"fixed_cut", "25%", 0.75, 0.5625},
		     {"gd", "12", 0.75, 0.5625},
		     {"gd", "11", 0.5, 0.25},
		     {"gd", "10", 0.5, 0.25}, /* min_factor holds it */
		     {"first_rate", "10Gb/s", 0.1, 0.05},
		     {"first_rate", "800Gb/s", 1, 1}};
	struct run r;

	for (unsigned i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		begin(&r, "paper");
		if (!strcmp(rules[i].name, "first_rate"))
			set(&r, "min_factor", i == 5 ? "0.05" : "0.5");
		set(&r, rules[i].name, rules[i].value);
		cnp(&r, 10 * RS_US);
		assert_in_range(r.cc.rate, (int64_t)(rules[i].first * LINE) - 2,
				(int64_t)(rules[i].first * LINE) + 2);
		cnp(&r, 12 * RS_US);
		assert_in_range(r.cc.rate, (int64_t)(rules[i].second * LINE) - 4,
				(int64_t)(rules[i].second * LINE) + 4);
		end(&r);
	}
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

/* ---- The twin: everything when it happens ---- */

struct rule { /* as the presets' sources have them, written down once more */
	const char *preset;
	double g;
	uint32_t silence; /* ns, long enough to recover in, or nearly */
	rs_time alpha, reduce, increase;
	int64_t bytes, ai, hai, min;
	unsigned stages;
	bool clamp, grid, alpha_at_cut, release;
};

static const struct rule mlx5 = {"mlx5",       5.0 / 1024,  10000000, RS_US,
				 4 * RS_US,    300 * RS_US, 2000000,  5 * RS_MBPS,
				 50 * RS_MBPS, RS_MBPS,     1,        .release = true};
static const struct rule paper = {"paper",
				  1.0 / 256,
				  100000000,
				  55 * RS_US,
				  1,
				  55 * RS_US,
				  10000000,
				  40 * RS_MBPS,
				  200 * RS_MBPS,
				  RS_MBPS,
				  5,
				  .clamp = true,
				  .alpha_at_cut = true,
				  .release = true};
static const struct rule ns3 = {"ns-3",        1.0 / 256,   10000000, RS_US,
				4 * RS_US,     300 * RS_US, 0,        20 * RS_MBPS,
				200 * RS_MBPS, RS_GBPS,     1,        .grid = true};

struct twin {
	const struct rule *rule;
	double alpha;
	int64_t rate, target, left;
	rs_time alpha_at, cut_at, inc_at; /* when each comes next */
	bool active, counting, fed, marked, increased;
	unsigned time, bytes;
};

static void twin_cut(struct twin *t, rs_time now)
{
	const struct rule *u = t->rule;

	if (u->clamp || t->increased || t->rate == LINE)
		t->target = t->rate;
	t->rate = (int64_t)((double)t->rate * (1 - t->alpha / 2));
	t->rate = t->rate < u->min ? u->min : t->rate;
	t->time = t->bytes = 0;
	t->increased = t->marked = false;
	t->inc_at = now + u->increase;
	t->left = u->bytes;
	t->counting = u->bytes > 0;
	if (u->alpha_at_cut) {
		t->alpha = t->alpha * (1 - u->g) + u->g;
		t->alpha_at = now + u->alpha;
	}
}

static int64_t twin_step(const struct twin *t)
{
	const struct rule *u = t->rule;
	unsigned most = t->time > t->bytes ? t->time : t->bytes;
	unsigned least = t->time + t->bytes - most;

	if (!u->bytes) /* ns-3: by the number of increases before this */
		return most - 1 < u->stages ? 0 : most - 1 == u->stages ? u->ai : u->hai;
	return most < u->stages ? 0 : least > u->stages ? (least - u->stages) * u->hai : u->ai;
}

static void twin_increase(struct twin *t)
{
	t->target += twin_step(t);
	t->target = t->target > LINE ? LINE : t->target;
	t->rate = (t->rate + t->target + 1) / 2;
	if (t->rule->release && t->rate >= LINE - 1) {
		t->rate = LINE;
		t->counting = false;
		t->active = t->marked;
	}
}

static void twin_to(struct twin *t, rs_time now)
{
	while (t->active) {
		rs_time cut = t->marked || t->rule->grid ? t->cut_at : RS_NEVER;
		rs_time next = rs_time_min(t->alpha_at, rs_time_min(cut, t->inc_at));

		if (next > now)
			return;
		if (next == t->alpha_at) {
			t->alpha = t->alpha * (1 - t->rule->g) + (t->fed ? t->rule->g : 0);
			t->fed = false;
			t->alpha_at += t->rule->alpha;
		} else if (next == cut) {
			if (t->marked)
				twin_cut(t, cut);
			t->cut_at += t->rule->reduce;
		} else {
			t->time++;
			t->increased = true;
			t->inc_at += t->rule->increase;
			twin_increase(t);
		}
	}
}

static void twin_mark(struct twin *t, rs_time now)
{
	const struct rule *u = t->rule;
	bool first = !t->active;

	if (first) {
		t->active = true;
		t->alpha = 1;
		t->alpha_at = now + u->alpha;
		t->cut_at = u->grid ? now + u->reduce + RS_NS : now;
		t->inc_at = RS_NEVER;
	}
	t->fed = !u->alpha_at_cut && !(first && u->grid);
	t->marked = true;
	if (!u->grid && now >= t->cut_at) {
		twin_cut(t, now);
		t->cut_at = now + u->reduce;
	}
}

static void twin_send(struct twin *t, int64_t bytes)
{
	if (!t->active || !t->counting)
		return;
	t->left -= bytes;
	if (t->left > 0)
		return;
	t->left += t->rule->bytes;
	t->bytes++;
	twin_increase(t);
}

static void send(struct run *r, int64_t bytes, rs_time now)
{
	r->cc.byte_credit -= bytes;
	if (r->cc.byte_credit <= 0)
		rs_cc_dcqcn.on_bytes(r->params, &r->cc, now);
}

/* Bursts, and silences long enough to recover in; the real one is called now and then only. */
static void trace(const struct rule *u, struct rs_random *random, unsigned *cuts,
		  unsigned *released)
{
	struct twin t = {.rule = u, .rate = LINE, .target = LINE};
	unsigned shape = rs_random_below(random, 4);
	rs_time now = 12345 * RS_NS;
	struct run r;

	begin(&r, u->preset);
	for (unsigned i = 0; i < 400; i++) {
		uint32_t span =
			rs_random_below(random, 30 << shape) ? 3000u << shape * 2 : u->silence;
		uint32_t what = rs_random_below(random, 8);
		int64_t bytes = (int64_t)rs_random_below(random, 2000000);

		now += (rs_time)(1 + rs_random_below(random, span)) * RS_NS;
		twin_to(&t, now + 500); /* never at the time of a timer */
		if (what < 4) {
			twin_mark(&t, now + 500);
			what & 1 ? cnp(&r, now + 500) : ack(&r, 1000, now + 500);
		} else if (what < 6) {
			rate_at(&r, now + 500);
			twin_send(&t, bytes);
			send(&r, bytes, now + 500);
		} else if (what == 6) {
			ack(&r, 0, now + 500);
			continue;
		}
		if (llabs(rate_at(&r, now + 500) - t.rate) > t.rate / 1000000 + 20)
			fail_msg("%s, step %u: %lld, twin %lld", u->preset, i, (long long)r.cc.rate,
				 (long long)t.rate);
		*released += r.cc.cuts && !t.active;
		assert_true(t.active == (r.cc.next_event != RS_NEVER));
	}
	*cuts += r.cc.cuts;
	end(&r);
}

static void follows(const struct rule *u, uint32_t seed)
{
	struct rs_random random = rs_random_stream(seed, 1, 1);
	unsigned cuts = 0, released = 0;

	for (unsigned i = 0; i < 2000; i++)
		trace(u, &random, &cuts, &released);
	assert_true(cuts > 20000);
	assert_true(!u->release || released > 300);
}

static void test_mlx5_looked_back_equals_mlx5_carried_out(void **state)
{
	follows(&mlx5, 11);
}

static void test_the_paper_looked_back_equals_the_paper_carried_out(void **state)
{
	follows(&paper, 12);
}

static void test_ns3_looked_back_equals_ns3_carried_out(void **state)
{
	follows(&ns3, 13);
}

/* ---- When it is called must not matter ---- */

/* The same feedback; one is asked for its rate at every microsecond, one at feedback alone. */
static void test_lazy_equals_eager(void **state)
{
	static const char *const presets[] = {"mlx5", "paper", "ns-3"};
	struct rs_random random = rs_random_stream(17, 1, 1);

	for (unsigned i = 0; i < 60; i++) {
		struct run lazy, eager;
		rs_time now = 0;

		begin(&lazy, presets[i % 3]);
		begin(&eager, presets[i % 3]);
		for (unsigned k = 0; k < 40; k++) {
			uint32_t wait = rs_random_below(&random, k % 5 ? 30 : 3000);

			for (uint32_t us = 0; us < wait; us++)
				rate_at(&eager, now += RS_US);
			cnp(&lazy, now);
			cnp(&eager, now);
			assert_memory_equal(&lazy.cc, &eager.cc, sizeof(lazy.cc));
		}
		end(&lazy);
		end(&eager);
	}
}

/* A limiter that is never released is caught up with after hours without carrying out each timer.
 */
static void test_a_long_silence_costs_nothing(void **state)
{
	struct run r;

	begin(&r, "ns-3");
	set(&r, "increase_timer", "1us");
	cnp(&r, 0);
	rate_at(&r, RS_S);
	assert_int_equal(r.cc.rate, LINE);
	rate_at(&r, 9000 * RS_S);
	assert_int_equal(r.cc.rate, LINE);
	assert_in_range(r.cc.next_event, 9000 * RS_S, 9000 * RS_S + RS_US);
	cnp(&r, 9000 * RS_S + 1);
	assert_true(rate_at(&r, 9001 * RS_S) == LINE && r.cc.cuts == 2);
	end(&r);
}

/* ---- Parameters ---- */

/* Any mixture of values at and between their limits: the rate stays between floor and line. */
static void test_the_rate_stays_within_its_limits_whatever_the_parameters(void **state)
{
	static const char *const presets[] = {"mlx5", "paper", "ns-3"};
	struct rs_random random = rs_random_stream(19, 1, 1);

	for (unsigned round = 0; round < 3000; round++) {
		const struct rs_cc_param *p = rs_cc_dcqcn.params;
		int64_t least = 1000;
		rs_time now = 0;
		struct run r;

		begin(&r, presets[round % 3]);
		for (; p->name; p++) {
			double share = rs_random_below(&random, 3) / 2.0;
			double v = p->min * pow(p->max / fmax(p->min, 1e-3), share);
			char text[64];

			if (rs_random_below(&random, 2))
				continue;
			v = fmin(fmax(v, p->min), p->max);
			if (p->unit == 'o')
				snprintf(text, sizeof(text), "%s", v > 0 ? "on" : "off");
			else
				snprintf(text, sizeof(text), p->unit == 'n' ? "%.9g" : "%.0f%s", v,
					 p->unit == 't'   ? "ps"
					 : p->unit == 'b' ? "B"
					 : p->unit == 'r' ? "bps"
							  : "");
			set(&r, p->name, text);
		}
		for (unsigned i = 0; i < 60; i++) {
			now += (rs_time)rs_random_below(&random, 2000) * RS_US + 1;
			send(&r, (int64_t)rs_random_below(&random, 1 << 20), now);
			if (rs_random_below(&random, 2))
				cnp(&r, now);
			assert_in_range(rate_at(&r, now), least, LINE);
			assert_true(r.cc.window > 0 && r.cc.byte_credit > 0);
		}
		end(&r);
	}
}

static void test_a_floor_above_the_line_is_the_line(void **state)
{
	struct run r;

	begin(&r, "mlx5");
	set(&r, "rate_min", "200G");
	cnp(&r, 0);
	assert_int_equal(r.cc.rate, LINE);
	end(&r);
}

/* RPG_MAX_RATE: limits begin and end below what the port can do. */
static void test_limits_begin_and_end_at_rate_max(void **state)
{
	struct run r;

	begin(&r, "mlx5");
	set(&r, "rate_max", "10G");
	assert_int_equal(r.cc.rate, LINE);
	cnp(&r, 0);
	assert_int_equal(r.cc.rate, 5 * RS_GBPS);
	for (rs_time now = 0; r.cc.next_event != RS_NEVER; now += 10 * RS_US) {
		assert_true(rate_at(&r, now) < 10 * RS_GBPS || r.cc.rate == LINE);
		assert_true(now < RS_S);
	}
	assert_int_equal(r.cc.rate, LINE);
	set(&r, "rate_max", "400G"); /* more than the port's: nothing is limited there */
	cnp(&r, 0);
	assert_int_equal(r.cc.rate, LINE / 2);
	end(&r);
}

static void test_bad_parameters_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *name, *value, *why;
	} bad[] = {
		{"gain", "0.1", "no parameter 'gain'"},
		{"alpha_tmer", "1us", "did you mean 'alpha_timer'?"},
		{"g", "2", "expected from 1e-06 to 1, found '2'"},
		{"g", "0", "expected from "},
		{"g", "nan", "expected a plain number"},
		{"g", "fast", "expected a plain number"},
		{"g", "-1", "it takes 1e-06 to 1"},
		{"alpha_timer", "1", "a time needs a unit"},
		{"alpha_timer", "-1us", "cannot be negative"},
		{"alpha_timer", "0s", "expected from "},
		{"rate_ai", "5", "a rate needs a unit"},
		{"rate_ai", "99999999T", "too large"},
		{"byte_counter", "many", "expected a size"},
		{"stages", "0", "expected from "},
		{"stages", "1.5", "expected a whole number"},
		{"window", "maybe", "true or false"},
		{"increase_timer", "1ns", "expected from "},
		{"", "1", "no parameter ''"},
	};
	struct rs_cc_params *p = malloc(rs_cc_dcqcn.params_bytes);
	struct rs_cc_params *before = malloc(rs_cc_dcqcn.params_bytes);

	assert_true(p && before);
	assert_int_equal(rs_cc_params_init(&rs_cc_dcqcn, NULL, p, NULL), 0);
	memcpy(before, p, rs_cc_dcqcn.params_bytes);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rs_error e = {0};

		assert_true(rs_cc_params_set(&rs_cc_dcqcn, p, bad[i].name, bad[i].value, &e) < 0);
		if (!strstr(e.what, bad[i].why) || !strstr(e.what, bad[i].name))
			fail_msg("%s: %s: '%s'", bad[i].name, bad[i].value, e.what);
		assert_memory_equal(p, before, rs_cc_dcqcn.params_bytes);
	}
	free(p);
	free(before);
}

static void test_an_unknown_preset_names_those_there_are(void **state)
{
	struct rs_cc_params *p = malloc(rs_cc_dcqcn.params_bytes);
	struct rs_error e = {0};

	assert_non_null(p);
	assert_int_equal(rs_cc_params_init(&rs_cc_dcqcn, "best", p, &e), -EINVAL);
	assert_non_null(strstr(e.hint, "mlx5 paper ns-3"));
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_at_line_rate_and_costs_no_event),
		cmocka_unit_test(test_every_cnp_of_the_paper_cuts),
		cmocka_unit_test(test_an_early_cnp_of_mlx5_cuts_at_the_end_of_its_period),
		cmocka_unit_test(test_alpha_and_rate_follow_the_equations_step_by_step),
		cmocka_unit_test(test_alpha_forgets),
		cmocka_unit_test(test_recovery_by_the_timer),
		cmocka_unit_test(test_the_byte_counter_counts_as_a_stage_of_its_own),
		cmocka_unit_test(test_hyper_increase_needs_both),
		cmocka_unit_test(test_mlx5_keeps_its_target_at_consecutive_cuts),
		cmocka_unit_test(test_back_at_line_rate_the_limiter_is_released),
		cmocka_unit_test(test_the_floor_holds),
		cmocka_unit_test(test_cuts_by_other_rules),
		cmocka_unit_test(test_one_cnp_in_an_interval),
		cmocka_unit_test(test_a_window_follows_the_rate),
		cmocka_unit_test(test_mlx5_looked_back_equals_mlx5_carried_out),
		cmocka_unit_test(test_the_paper_looked_back_equals_the_paper_carried_out),
		cmocka_unit_test(test_ns3_looked_back_equals_ns3_carried_out),
		cmocka_unit_test(test_lazy_equals_eager),
		cmocka_unit_test(test_a_long_silence_costs_nothing),
		cmocka_unit_test(test_the_rate_stays_within_its_limits_whatever_the_parameters),
		cmocka_unit_test(test_a_floor_above_the_line_is_the_line),
		cmocka_unit_test(test_limits_begin_and_end_at_rate_max),
		cmocka_unit_test(test_bad_parameters_are_refused_with_a_reason),
		cmocka_unit_test(test_an_unknown_preset_names_those_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
