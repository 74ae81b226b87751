/* Congestion control as the environment chooses it: what it means, what is refused and why. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "live/congestion.h"

#define FREE (8000 * RS_GBPS)

static const struct rs_cc_params *params(const struct rs_congestion *c)
{
	return (const struct rs_cc_params *)(const void *)c->params[0].words;
}

/* The rate that the first CNP leaves: alpha is 1, so half of where the limit began. */
static int64_t first_cut(const struct rs_congestion *c)
{
	struct rs_cc cc;

	c->use[0].ops->init(params(c), &cc, c->rate ? c->rate : FREE, 0);
	assert_int_equal(cc.rate, c->rate ? c->rate : FREE);
	c->use[0].ops->on_cnp(params(c), &cc, RS_US);
	return cc.rate;
}

static void test_without_a_word_it_is_dcqcn_from_the_links_speed(void **state)
{
	struct rs_congestion c;

	assert_int_equal(rs_congestion_read(&c, NULL, NULL, NULL, 100 * RS_GBPS, NULL), 0);
	assert_ptr_equal(c.use[0].ops, &rs_cc_dcqcn);
	assert_int_equal(c.rate, 0);
	assert_int_equal(first_cut(&c), 50 * RS_GBPS);
	assert_int_equal(rs_congestion_read(&c, "", "", "", 10 * RS_GBPS, NULL), 0);
	assert_int_equal(first_cut(&c), 5 * RS_GBPS);
	assert_int_equal(rs_congestion_read(&c, "dcqcn", NULL, NULL, 0, NULL), 0);
	assert_int_equal(first_cut(&c), 25 * RS_GBPS / 2);
}

/* The step that one timer adds to the target of a rate that was cut twice. */
static int64_t step_of(const struct rs_congestion *c, rs_time between)
{
	int64_t target, cut;
	struct rs_cc cc;

	c->use[0].ops->init(params(c), &cc, FREE, 0);
	c->use[0].ops->on_cnp(params(c), &cc, 0);
	c->use[0].ops->on_time(params(c), &cc, between);
	target = cc.rate;
	c->use[0].ops->on_cnp(params(c), &cc, between);
	cut = cc.rate;
	assert_true(cut < target);
	c->use[0].ops->on_time(params(c), &cc, cc.next_event);
	return 2 * cc.rate - cut - target;
}

/* The preset for software takes its steps from there. */
static void test_steps_go_by_where_limits_begin(void **state)
{
	static const struct {
		const char *kind, *set;
		int64_t speed, step;
		rs_time between;
	} cases[] = {
		{NULL, "stages=1", 10 * RS_GBPS, 20 * RS_MBPS, 501 * RS_US},
		{"dcqcn:software", "stages=1", RS_GBPS, 2 * RS_MBPS, 501 * RS_US},
		{NULL, "stages=1,rate_ai=7M", 10 * RS_GBPS, 7 * RS_MBPS, 501 * RS_US},
		{"dcqcn:paper", "stages=1", 10 * RS_GBPS, 40 * RS_MBPS, 10 * RS_US},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_congestion c;

		assert_int_equal(rs_congestion_read(&c, cases[i].kind, cases[i].set, NULL,
						    cases[i].speed, NULL),
				 0);
		assert_in_range(step_of(&c, cases[i].between), cases[i].step - 2,
				cases[i].step + 2);
	}
}

static void test_a_rate_is_the_ports_and_the_limits(void **state)
{
	struct rs_congestion c;

	assert_int_equal(rs_congestion_read(&c, "dcqcn", NULL, "2G", 10 * RS_GBPS, NULL), 0);
	assert_int_equal(c.rate, 2 * RS_GBPS);
	assert_int_equal(first_cut(&c), RS_GBPS);
	assert_int_equal(rs_congestion_read(&c, "none", NULL, "2G", 10 * RS_GBPS, NULL), 0);
	assert_int_equal(c.rate, 2 * RS_GBPS);
	assert_int_equal(first_cut(&c), 2 * RS_GBPS);
}

static void test_presets_and_parameters_are_the_simulators(void **state)
{
	struct rs_congestion c;

	assert_int_equal(rs_congestion_read(&c, "dcqcn:paper", NULL, NULL, 0, NULL), 0);
	assert_true(c.use[0].ops->cnp_due(params(&c), 0, 50 * RS_US));
	assert_false(c.use[0].ops->cnp_due(params(&c), 0, 49 * RS_US));
	assert_int_equal(
		rs_congestion_read(&c, NULL, "cnp_interval=7us,rate_max=4G", NULL, 0, NULL), 0);
	assert_true(c.use[0].ops->cnp_due(params(&c), 0, 7 * RS_US));
	assert_false(c.use[0].ops->cnp_due(params(&c), 0, 6 * RS_US));
	assert_int_equal(first_cut(&c), 2 * RS_GBPS);
}

/* Swift's window is what the link carries in the target: the interface's speed, or the port's rate.
 */
static void test_swift_begins_with_what_the_link_carries(void **state)
{
	static const struct {
		const char *kind, *set, *rate;
		int64_t speed;
		uint64_t window;
	} cases[] = {
		{"swift", NULL, NULL, 10 * RS_GBPS, 625000}, /* 500 us of 10 Gb/s */
		{"swift", NULL, "2G", 10 * RS_GBPS, 125000},
		{"swift", NULL, NULL, 0, 1562500}, /* of 25 Gb/s */
		{"swift:paper", NULL, NULL, 10 * RS_GBPS, 31250},
		{"swift:software", "target=1ms", NULL, RS_GBPS, 125000},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_congestion c;
		struct rs_cc cc;

		assert_int_equal(rs_congestion_read(&c, cases[i].kind, cases[i].set, cases[i].rate,
						    cases[i].speed, NULL),
				 0);
		assert_ptr_equal(c.use[0].ops, &rs_cc_swift);
		c.use[0].ops->init(c.use[0].params, &cc, c.start_rate, 0);
		assert_in_range(cc.window, cases[i].window - 1, cases[i].window);
	}
}

static void test_a_class_may_have_its_own(void **state)
{
	struct rs_congestion c;
	struct rs_cc cc;

	assert_int_equal(rs_congestion_read(&c, "3:swift,none,7:dcqcn:paper",
					    "3:target=1ms,7:cnp_interval=7us", "1G", 0, NULL),
			 0);
	assert_int_equal(c.n, 3);
	for (unsigned class = 0; class < RS_CONGESTION_CLASSES; class ++)
		assert_ptr_equal(c.use[c.of_class[class]].ops, class == 3   ? &rs_cc_swift
							       : class == 7 ? &rs_cc_dcqcn
									    : &rs_cc_none);
	c.use[c.of_class[3]].ops->init(c.use[c.of_class[3]].params, &cc, c.start_rate, 0);
	assert_in_range(cc.window, 124999, 125000); /* 1 ms of 1 Gb/s */
	assert_true(rs_cc_dcqcn.cnp_due(c.use[c.of_class[7]].params, 0, 7 * RS_US));
	assert_false(rs_cc_dcqcn.cnp_due(c.use[c.of_class[7]].params, 0, 6 * RS_US));
	for (unsigned dscp = 0; dscp < 64; dscp++)
		assert_int_equal(rs_congestion_class(&c, (uint8_t)(dscp << 2 | 2)), dscp / 8);
	/* all but those that are named have the default */
	assert_int_equal(rs_congestion_read(&c, "0:none", NULL, NULL, 0, NULL), 0);
	assert_ptr_equal(c.use[c.of_class[0]].ops, &rs_cc_none);
	assert_ptr_equal(c.use[c.of_class[5]].ops, &rs_cc_dcqcn);
	assert_int_equal(
		rs_congestion_read(&c,
				   "0:none,1:swift,2:dcqcn,3:none,4:swift,5:none,6:dcqcn:mlx5,"
				   "7:none,swift:paper",
				   NULL, NULL, 0, NULL),
		0);
	assert_int_equal(c.n, 9);
	/* one for all: no class is told apart */
	assert_int_equal(rs_congestion_read(&c, "swift", NULL, NULL, 0, NULL), 0);
	assert_int_equal(rs_congestion_class(&c, 0xff), 0);
}

static void test_what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *kind, *set, *rate;
		int err;
		const char *what;
	} cases[] = {
		{"swift:mlx5", NULL, NULL, -EINVAL, "swift has no preset 'mlx5'"},
		{"swift", "g=1", NULL, -EINVAL, "swift has no parameter 'g'"},
		{"swift", "target=1", NULL, -EINVAL, "unit"},
		{"dcqcnx", NULL, NULL, -EINVAL, "'dcqcnx'"},
		{"dcqcn:none", NULL, NULL, -EINVAL, "preset 'none'"},
		{"none:paper", NULL, NULL, -EINVAL, "preset 'paper'"},
		{"dcqcn", "gain=1", NULL, -EINVAL, "'gain'"},
		{"dcqcn", "g", NULL, -EINVAL, "expected NAME=VALUE, found 'g'"},
		{"dcqcn", "g=2", NULL, -ERANGE, "g: expected from 1e-06 to 1"},
		{"dcqcn", "stages=1,alpha_timer=3", NULL, -EINVAL, "unit"},
		{"none", "g=0.1", NULL, -EINVAL, "'g'"},
		{"3:nscc", NULL, NULL, -EINVAL, "there is no congestion control 'nscc'"},
		{"8:swift", NULL, NULL, -EINVAL, "class 8: expected 0 to 7"},
		{"3:swift,3:none", NULL, NULL, -EINVAL, "class 3 is named twice"},
		{"swift,none", NULL, NULL, -EINVAL, "'none' is the second without a class"},
		{"3:", NULL, NULL, -EINVAL, "''"},
		{"30:swift", NULL, NULL, -EINVAL, "'30:swift'"},
		{"3:swift", "target=1ms", NULL, -EINVAL, "dcqcn has no parameter 'target'"},
		{"3:swift", "4:target=1ms", NULL, -EINVAL, "class 4 has no congestion control of"},
		{"3:swift", "9:target=1ms", NULL, -EINVAL, "class 9: expected 0 to 7"},
		{NULL, NULL, "2", -EINVAL, "unit"},
		{NULL, NULL, "1k", -ERANGE, "below 1M"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_error e = {0};
		struct rs_congestion c;

		assert_int_equal(
			rs_congestion_read(&c, cases[i].kind, cases[i].set, cases[i].rate, 0, &e),
			cases[i].err);
		assert_non_null(strstr(e.what, cases[i].what));
	}
}

static void test_an_interface_without_a_speed_has_none(void **state)
{
	assert_int_equal(rs_congestion_speed("lo"), 0);
	assert_int_equal(rs_congestion_speed("no-such-if"), 0);
}

/* All of src/cc, with its preset for software where it has one; but for what needs packets that
 * RoCEv2 does not have. */
static void test_each_algorithm_of_the_simulator_is_taken(void **state)
{
	for (unsigned i = 0; rs_cc_all[i]; i++) {
		struct rs_error e = {0};
		struct rs_congestion c;

		if (rs_cc_all[i]->needs & RS_CC_NEEDS_CREDITS) {
			assert_int_equal(
				rs_congestion_read(&c, rs_cc_all[i]->name, NULL, "200M", 0, &e),
				-EINVAL);
			assert_non_null(strstr(e.what, "credits"));
			continue;
		}
		assert_int_equal(rs_congestion_read(&c, rs_cc_all[i]->name, NULL, "200M", 0, &e),
				 0);
		assert_ptr_equal(c.use[0].ops, rs_cc_all[i]);
		for (const struct rs_cc_preset *p = rs_cc_all[i]->presets; p && p->name; p++) {
			char text[64];

			snprintf(text, sizeof(text), "3:%s:%s,dcqcn", rs_cc_all[i]->name, p->name);
			assert_int_equal(rs_congestion_read(&c, text, NULL, NULL, 0, &e), 0);
			assert_ptr_equal(c.use[c.of_class[3]].ops, rs_cc_all[i]);
		}
	}
}

/* Steps of HPCC and TIMELY go by where limits begin; what is set goes before. */
static void test_steps_of_other_algorithms_go_by_the_line(void **state)
{
	static const struct {
		const char *kind, *set, *name, *value;
	} cases[] = {
		{"hpcc", NULL, "rate_ai", "1M"},        {"hpcc", "rate_ai=3M", "rate_ai", "3M"},
		{"hpcc:paper", NULL, "rate_ai", "50M"}, {"timely", NULL, "rate_ai", "1M"},
		{"timely", NULL, "rate_min", "2M"},     {"hp-dcqcn", NULL, "rate_ai", "1M"},
		{"hpcc", NULL, "rate_min", "2M"},       {"timely:paper", NULL, "rate_min", "100M"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rs_cc_param *p;
		struct rs_congestion c;
		char buf[40];

		assert_int_equal(
			rs_congestion_read(&c, cases[i].kind, cases[i].set, "200M", 0, NULL), 0);
		p = c.use[0].ops->params;
		while (strcmp(p->name, cases[i].name) != 0)
			p++;
		assert_string_equal(rs_cc_params_get(p, params(&c), buf, sizeof(buf)),
				    cases[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_word_it_is_dcqcn_from_the_links_speed),
		cmocka_unit_test(test_steps_go_by_where_limits_begin),
		cmocka_unit_test(test_a_rate_is_the_ports_and_the_limits),
		cmocka_unit_test(test_presets_and_parameters_are_the_simulators),
		cmocka_unit_test(test_swift_begins_with_what_the_link_carries),
		cmocka_unit_test(test_a_class_may_have_its_own),
		cmocka_unit_test(test_what_is_wrong_is_named),
		cmocka_unit_test(test_an_interface_without_a_speed_has_none),
		cmocka_unit_test(test_each_algorithm_of_the_simulator_is_taken),
		cmocka_unit_test(test_steps_of_other_algorithms_go_by_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
