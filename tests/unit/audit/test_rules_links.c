/* Checks of links: FEC, bit errors, modules, speeds; each on a right link, a wrong one, one that
 * tells too little, and on what looks wrong but is not. */
#include "judge.h"

#define SWITCH(os)                             \
	{"leaf", "host", "role", "switch", 0}, \
	{                                      \
		"leaf", "host", "os", os, 0    \
	}
#define OF(n, v)                           \
	{                                  \
		"leaf", "port/p1", n, v, 0 \
	}
#define PLUGGED                                                 \
	{"gpu", "netdev/eth0", "neighbour", "leaf", 0},         \
	{                                                       \
		"gpu", "netdev/eth0", "neighbour_port", "p1", 0 \
	}

static enum rs_severity severity(const char *rule, const struct told *t)
{
	struct judged j = judge(rule, t);
	enum rs_severity s = j.a->n_findings ? j.a->findings[0]->severity : RS_INFO;

	assert_true(j.a->n_findings > 0);
	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	rs_audit_destroy(j.a);
	return s;
}

static const char *first_fix(const char *rule, const struct told *t, char *out, size_t size)
{
	struct judged j = judge(rule, t);

	assert_true(j.a->n_findings > 0 && j.a->findings[0]->n_fixes > 0);
	snprintf(out, size, "%s", j.a->findings[0]->fix[0].command);
	rs_audit_destroy(j.a);
	return out;
}

/* ---- L01 ---- */

static void test_fast_lanes_need_rs(void **state)
{
	char fix[256];
	const struct told *t = FACTS(SWITCH("SONiC"), OF("fec", "none"), OF("lanes", "8"),
				     OF("speed_mbps", "400000"));

	assert_int_equal(severity("L01", t), RS_MAJOR);
	assert_string_equal(first_fix("L01", t, fix, sizeof(fix)),
			    "sudo config interface fec p1 rs && sudo config save -y");
	assert_int_equal(verdict("L01", FACTS(SWITCH("SONiC"), OF("fec", "rs"), OF("lanes", "8"),
					      OF("speed_mbps", "400000"))),
			 RS_PASS);
}

static void test_slow_lanes_may_do_without(void **state)
{
	/* 100G over four lanes of 25G NRZ */
	assert_int_equal(verdict("L01", FACTS(SWITCH("SONiC"), OF("fec", "none"), OF("lanes", "4"),
					      OF("speed_mbps", "100000"))),
			 RS_NA);
	/* over one lane it is PAM4 */
	assert_int_equal(verdict("L01", FACTS(SWITCH("SONiC"), OF("fec", "fc"), OF("lanes", "1"),
					      OF("speed_mbps", "100000"))),
			 RS_FAIL);
}

static void test_fec_is_spelled_in_many_ways(void **state)
{
	static const char *const rs[] = {
		"RS", "Standard_RS-FEC - (544,514)", "RS(544,514)", "llrs", "reed-solomon", "Auto"};

	for (unsigned i = 0; i < sizeof(rs) / sizeof(*rs); i++)
		assert_int_equal(
			verdict("L01", FACTS({"gpu", "netdev/eth0", "fec", rs[i], 0},
					     {"gpu", "netdev/eth0", "speed_mbps", "400000", 0})),
			RS_PASS);
	assert_int_equal(verdict("L01", FACTS({"gpu", "nic/m", "link/fec", "Firecode FEC", 0},
					      {"gpu", "nic/m", "link/speed", "400G", 0},
					      {"gpu", "nic/m", "link/width", "8x", 0})),
			 RS_FAIL);
}

static void test_fec_of_a_fast_link_that_is_not_known(void **state)
{
	assert_int_equal(verdict("L01", FACTS({"gpu", "netdev/eth0", "speed_mbps", "400000", 0})),
			 RS_UNKNOWN);
	/* a switch that is told nothing takes what the module needs */
	assert_int_equal(verdict("L01", FACTS(SWITCH("Junos"), OF("speed_mbps", "400000"))), RS_NA);
}

static void test_fec_differs_between_the_ends(void **state)
{
#define ENDS(host, leaf)                                                                         \
	SWITCH("SONiC"), OF("fec", leaf), OF("speed_mbps", "100000"), OF("lanes", "4"), PLUGGED, \
		{"gpu", "netdev/eth0", "fec", host, 0}
	assert_int_equal(verdict("L01", FACTS(ENDS("RS", "none"))), RS_FAIL);
	assert_int_equal(verdict("L01", FACTS(ENDS("RS", "rs"))), RS_NA);
	assert_int_equal(verdict("L01", FACTS(ENDS("Auto", "rs"))), RS_NA);
	assert_int_equal(severity("L01", FACTS(ENDS("off", "rs"),
					       {"gpu", "netdev/eth0", "operstate", "down", 0})),
			 RS_CRITICAL);
}

/* ---- L02 ---- */

static void test_codewords_beyond_correction(void **state)
{
	assert_int_equal(severity("L02", FACTS(OF("counter/fec_uncorrectable", "3"))), RS_MINOR);
	assert_int_equal(severity("L02", FACTS(OF("counter/fec_uncorrectable", "300"))), RS_MAJOR);
	assert_int_equal(verdict("L02", FACTS(OF("counter/fec_uncorrectable", "0"))), RS_PASS);
	assert_int_equal(
		verdict("L02", FACTS(OF("counter/fec_uncorrectable", "3"),
				     {"leaf", "port/p1", "counter/fec_uncorrectable", "3", 1})),
		RS_PASS);
	assert_int_equal(verdict("L02", FACTS(OF("mtu", "1"))), RS_NA);
}

static void test_bit_errors_before_correction(void **state)
{
#define BER(v) FACTS({"gpu", "nic/m", "link/raw_ber", v, 0})
	assert_int_equal(verdict("L02", BER("15E-255")), RS_PASS);
	assert_int_equal(verdict("L02", BER("9E-6")), RS_PASS);
	assert_int_equal(severity("L02", BER("2E-5")), RS_MINOR);
	assert_int_equal(severity("L02", BER("3E-4")), RS_MAJOR);
}

static void test_bins_of_a_histogram_are_a_rate(void **state)
{
	/* a bad symbol in a million codewords of 5440 bits: 1.8e-10 */
	assert_int_equal(verdict("L02", FACTS(OF("counter/fec_bin/0", "1000000"),
					      OF("counter/fec_bin/1", "1"))),
			 RS_PASS);
	/* the same in bin 12: near the end of what is corrected */
	assert_int_equal(severity("L02", FACTS(OF("counter/fec_bin/0", "1000000"),
					       OF("counter/fec_bin/12", "1"))),
			 RS_MINOR);
	/* two of each: 3.7e-4 */
	assert_int_equal(severity("L02", FACTS(OF("counter/fec_bin/2", "1000000"))), RS_MAJOR);
}

/* ---- L03 ---- */

static void test_module_is_judged_by_its_own_limits(void **state)
{
	assert_int_equal(verdict("L03", FACTS(OF("module/temperature", "74.9"),
					      OF("module/temperature_warn", "75.0"))),
			 RS_PASS);
	assert_int_equal(verdict("L03", FACTS(OF("module/temperature", "75.1"),
					      OF("module/temperature_warn", "75.0"))),
			 RS_FAIL);
	/* 72 C is nothing to a module that warns at 80 */
	assert_int_equal(
		verdict("L03", FACTS({"gpu", "nic/m", "module/temperature", "72 [-5..80]", 0})),
		RS_PASS);
	assert_int_equal(
		verdict("L03", FACTS({"gpu", "nic/m", "module/temperature", "72 [-5..70]", 0})),
		RS_FAIL);
	assert_int_equal(verdict("L03", FACTS(OF("module/temperature", "99"))), RS_UNKNOWN);
}

static void test_light_is_judged_by_the_modules_own_limits(void **state)
{
	assert_int_equal(verdict("L03", FACTS({"gpu", "netdev/e", "module/rx_power/1",
					       "0.5010 mW / -3.00 dBm", 0},
					      {"gpu", "netdev/e", "module/rx_power_low_warn",
					       "0.1000 mW / -10.00 dBm", 0})),
			 RS_PASS);
	assert_int_equal(verdict("L03", FACTS({"gpu", "nic/m", "module/rx_power",
					       "1.5,-11.2,1.1,0.9 [-10..4]", 0})),
			 RS_FAIL);
}

static void test_no_light_is_not_little_light(void **state)
{
	assert_int_equal(verdict("L03", FACTS({"gpu", "nic/m", "module/rx_power",
					       "1.5,-40.0,1.1,0.9 [-10..4]", 0})),
			 RS_FAIL);
	/* the cable is out */
	assert_int_equal(
		verdict("L03", FACTS({"gpu", "nic/m", "module/rx_power", "-inf,-inf [-10..4]", 0})),
		RS_NA);
}

/* ---- L04 ---- */

static void test_ends_have_one_speed(void **state)
{
	char fix[256];
	const struct told *t = FACTS(SWITCH("SONiC"), OF("speed_mbps", "200000"), PLUGGED,
				     {"gpu", "netdev/eth0", "speed_mbps", "400000", 0});

	assert_int_equal(severity("L04", t), RS_CRITICAL);
	assert_string_equal(first_fix("L04", t, fix, sizeof(fix)),
			    "sudo config interface speed p1 400000 && sudo config save -y");
	assert_int_equal(verdict("L04", FACTS(SWITCH("SONiC"), OF("speed_mbps", "400000"), PLUGGED,
					      {"gpu", "netdev/eth0", "speed_mbps", "400000", 0})),
			 RS_PASS);
	assert_int_equal(verdict("L04", FACTS(SWITCH("SONiC"), PLUGGED,
					      {"gpu", "netdev/eth0", "speed_mbps", "400000", 0})),
			 RS_NA);
}

static void test_peer_is_found_from_the_switchs_own_list(void **state)
{
	assert_int_equal(verdict("L04", FACTS(SWITCH("SONiC"), OF("speed_mbps", "200000"),
					      OF("neighbour", "gpu"), OF("neighbour_port", "eth0"),
					      {"gpu", "netdev/eth0", "speed_mbps", "400000", 0})),
			 RS_FAIL);
}

static void test_twins_of_one_board_have_one_speed(void **state)
{
#define NIC(n, board, rate) \
	{"gpu", "nic/" n, "board_id", board, 0}, {"gpu", "nic/" n, "rate_gbps", rate, 0}
	assert_int_equal(verdict("L04", FACTS(NIC("a", "X", "400"), NIC("b", "X", "200"))),
			 RS_FAIL);
	assert_int_equal(verdict("L04", FACTS(NIC("a", "X", "400"), NIC("b", "X", "400"))),
			 RS_PASS);
#define HCA(n, rate)                                              \
	{"gpu", "nic/" n, "hca_type", "MT4129", 0},               \
		{"gpu", "nic/" n, "link_layer", "InfiniBand", 0}, \
		{"gpu", "nic/" n, "port_state", "ACTIVE", 0},     \
		{"gpu", "nic/" n, "rate_gbps", rate, 0}
	/* of InfiniBand ports without a board's name the adapter's type tells, with less weight */
	assert_int_equal(severity("L04", FACTS(HCA("a", "400"), HCA("b", "200"))), RS_MINOR);
	assert_true(verdict("L04", FACTS(HCA("a", "400"), HCA("b", "400"))) != RS_FAIL);
	/* a management NIC is slower by right; one that is down has no speed */
	assert_int_equal(verdict("L04", FACTS(NIC("a", "X", "400"), NIC("b", "Y", "25"))), RS_NA);
	assert_int_equal(verdict("L04", FACTS(NIC("a", "X", "400"), NIC("b", "X", "40"),
					      {"gpu", "nic/b", "port_state", "DOWN", 0})),
			 RS_NA);
}

#define SDR(dev)                                                \
	{"gpu", "nic/" dev, "link_layer", "InfiniBand", 0},     \
		{"gpu", "nic/" dev, "port_state", "ACTIVE", 0}, \
	{                                                       \
		"gpu", "nic/" dev, "rate_gbps", "10", 0         \
	}

/* sysfs calls an iWARP adapter's link layer InfiniBand. */
static void test_only_infiniband_is_the_slowest_at_10(void **state)
{
	assert_int_equal(severity("L04", FACTS(SDR("mlx5_0"))), RS_MAJOR);
	assert_int_equal(verdict("L04", FACTS(SDR("i40iw0"))), RS_NA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fast_lanes_need_rs),
		cmocka_unit_test(test_slow_lanes_may_do_without),
		cmocka_unit_test(test_fec_is_spelled_in_many_ways),
		cmocka_unit_test(test_fec_of_a_fast_link_that_is_not_known),
		cmocka_unit_test(test_fec_differs_between_the_ends),
		cmocka_unit_test(test_codewords_beyond_correction),
		cmocka_unit_test(test_bit_errors_before_correction),
		cmocka_unit_test(test_bins_of_a_histogram_are_a_rate),
		cmocka_unit_test(test_module_is_judged_by_its_own_limits),
		cmocka_unit_test(test_light_is_judged_by_the_modules_own_limits),
		cmocka_unit_test(test_no_light_is_not_little_light),
		cmocka_unit_test(test_only_infiniband_is_the_slowest_at_10),
		cmocka_unit_test(test_ends_have_one_speed),
		cmocka_unit_test(test_peer_is_found_from_the_switchs_own_list),
		cmocka_unit_test(test_twins_of_one_board_have_one_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
