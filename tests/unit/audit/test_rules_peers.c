/* Checks across hosts: alike, one odd, two that differ, too little known, and what differs by
 * right. */
#include "judge.h"

/* The hosts that the first finding names, put together. */
static const char *named(const char *rule, const struct told *t, char *out, size_t size)
{
	struct judged j = judge(rule, t);

	*out = '\0';
	assert_true(j.a->n_findings > 0);
	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	for (uint32_t i = 0; i < j.a->findings[0]->n_subjects; i++)
		snprintf(out + strlen(out), size - strlen(out), "%s ",
			 j.a->findings[0]->subject[i].host);
	rs_audit_destroy(j.a);
	return out;
}

/* ---- X02 ---- */

#define MTU(h, v)                                 \
	{h, "nic/m", "active_mtu", v, 0},         \
	{                                         \
		h, "nic/m", "rate_gbps", "400", 0 \
	}

static void test_active_mtu_is_equal(void **state)
{
	char who[64];

	assert_int_equal(verdict("X02", FACTS(MTU("a", "4096"), MTU("b", "4096"))), RS_PASS);
	assert_string_equal(named("X02",
				  FACTS(MTU("a", "4096"), MTU("b", "1024"), MTU("c", "4096")), who,
				  sizeof(who)),
			    "b ");
	/* of two nobody knows which is meant */
	assert_string_equal(
		named("X02", FACTS(MTU("a", "4096"), MTU("b", "1024")), who, sizeof(who)), "a b ");
	assert_int_equal(verdict("X02", FACTS(MTU("a", "4096"))), RS_NA);
}

static void test_management_nics_have_an_mtu_of_their_own(void **state)
{
	assert_int_equal(verdict("X02", FACTS(MTU("a", "4096"), MTU("b", "4096"),
					      {"b", "nic/mgmt", "active_mtu", "1024", 0},
					      {"b", "nic/mgmt", "rate_gbps", "25", 0})),
			 RS_PASS);
	/* a fast port that is down says nothing */
	assert_int_equal(verdict("X02", FACTS(MTU("a", "4096"), MTU("b", "4096"),
					      {"b", "nic/x", "active_mtu", "1024", 0},
					      {"b", "nic/x", "rate_gbps", "800", 0},
					      {"b", "nic/x", "port_state", "DOWN", 0})),
			 RS_PASS);
}

/* ---- X03 ---- */

#define QOS(h, trust)                          \
	{h, "netdev/e", "trust", trust, 0},    \
	{                                      \
		h, "netdev/e", "pfc/3", "1", 0 \
	}

static void test_odd_one_of_three_is_named_whoever_is_first(void **state)
{
	char who[64];

	assert_string_equal(named("X03", FACTS(QOS("a", "pcp"), QOS("b", "dscp"), QOS("c", "dscp")),
				  who, sizeof(who)),
			    "a ");
	assert_string_equal(
		named("X03", FACTS(QOS("a", "pcp"), QOS("b", "dscp")), who, sizeof(who)), "a b ");
}

static void test_cnps_have_one_dscp(void **state)
{
	char who[64];

	assert_string_equal(named("X03",
				  FACTS(QOS("a", "dscp"), QOS("b", "dscp"), QOS("c", "dscp"),
					{"a", "netdev/e", "cnp_dscp", "48", 0},
					{"b", "netdev/e", "cnp_dscp", "46", 0},
					{"c", "netdev/e", "cnp_dscp", "48", 0}),
				  who, sizeof(who)),
			    "b ");
	/* a host that does not print it is not another */
	assert_int_equal(verdict("X03", FACTS(QOS("a", "dscp"), QOS("b", "dscp"),
					      {"a", "netdev/e", "cnp_dscp", "48", 0})),
			 RS_PASS);
}

/* ---- X04 ---- */

#define PLUG(h, dev, leaf)                                         \
	{                                                          \
		"fabric", "cable/" h "/" dev, "neighbour", leaf, 0 \
	}
#define RAILS(h, one, two) PLUG(h, "m0", one), PLUG(h, "m1", two)

static void test_rails_are_on_their_leaves(void **state)
{
	assert_int_equal(verdict("X04", FACTS(RAILS("a", "L1", "L2"), RAILS("b", "L1", "L2"),
					      RAILS("c", "L1", "L2"))),
			 RS_PASS);
}

static void test_swapped_cables_are_a_pair(void **state)
{
	struct judged j = judge("X04", FACTS(RAILS("a", "L1", "L2"), RAILS("b", "L2", "L1"),
					     RAILS("c", "L1", "L2")));
	const struct rs_finding *f = j.a->findings[0];

	assert_int_equal(f->verdict, RS_FAIL);
	assert_int_equal(f->n_subjects, 2);
	assert_string_equal(f->subject[0].host, "b");
	assert_string_equal(f->fix[0].command, "move the cable of m0 from L2 port ? to L1");
	rs_audit_destroy(j.a);
}

static void test_pods_have_leaves_of_their_own(void **state)
{
	/* two pods of one shape; and racks where all NICs go to one leaf */
	assert_int_equal(verdict("X04", FACTS(RAILS("a", "L1", "L2"), RAILS("b", "L1", "L2"),
					      RAILS("c", "L1", "L2"), RAILS("d", "L3", "L4"),
					      RAILS("e", "L3", "L4"), RAILS("f", "L3", "L4"))),
			 RS_PASS);
	assert_int_equal(verdict("X04", FACTS(RAILS("a", "L1", "L1"), RAILS("b", "L1", "L1"),
					      RAILS("c", "L2", "L2"), RAILS("d", "L2", "L2"),
					      RAILS("e", "L2", "L2"))),
			 RS_PASS);
}

static void test_cable_on_a_foreign_leaf(void **state)
{
#define FOUR(h, one, two, three, four) \
	PLUG(h, "m0", one), PLUG(h, "m1", two), PLUG(h, "m2", three), PLUG(h, "m3", four)
	struct judged j = judge(
		"X04", FACTS(FOUR("a", "L1", "L2", "L3", "L4"), FOUR("b", "L1", "L2", "L3", "L4"),
			     FOUR("c", "L1", "L2", "L3", "L4"), FOUR("d", "L1", "L2", "L9", "L4")));
	const struct rs_finding *f = j.a->findings[0];

	assert_int_equal(f->verdict, RS_FAIL);
	assert_int_equal(f->n_subjects, 1);
	assert_string_equal(f->subject[0].host, "d");
	assert_string_equal(f->subject[0].part, "m2");
	rs_audit_destroy(j.a);
	/* a host of another pod shares one leaf by chance */
	assert_int_equal(verdict("X04", FACTS(FOUR("a", "L1", "L2", "L3", "L4"),
					      FOUR("b", "L1", "L2", "L3", "L4"),
					      FOUR("c", "L1", "L2", "L3", "L4"),
					      FOUR("d", "L1", "L7", "L8", "L9"))),
			 RS_PASS);
	/* a cable that is out is no cable elsewhere */
	assert_int_equal(
		verdict("X04",
			FACTS(FOUR("a", "L1", "L2", "L3", "L4"), FOUR("b", "L1", "L2", "L3", "L4"),
			      FOUR("c", "L1", "L2", "L3", "L4"), PLUG("d", "m0", "L1"),
			      PLUG("d", "m1", "L2"), PLUG("d", "m3", "L4"))),
		RS_PASS);
}

static void test_two_hosts_have_no_majority(void **state)
{
	assert_int_equal(verdict("X04", FACTS(RAILS("a", "L1", "L2"), RAILS("b", "L2", "L1"))),
			 RS_NA);
}

static void test_rails_by_lldp_at_the_hosts(void **state)
{
#define LLDP(h, one, two)                                                                     \
	{h, "nic/m0", "netdev", "e0", 0}, {h, "nic/m1", "netdev", "e1", 0},                   \
		{h, "netdev/e0", "neighbour", one, 0}, {h, "netdev/e1", "neighbour", two, 0}, \
	/* the management interface is plugged in anywhere */                                 \
	{                                                                                     \
		h, "netdev/mgmt", "neighbour", h, 0                                           \
	}
	char who[64];

	assert_string_equal(
		named("X04",
		      FACTS(LLDP("a", "L1", "L2"), LLDP("b", "L1", "L2"), LLDP("c", "L2", "L1")),
		      who, sizeof(who)),
		"c c ");
}

/* ---- X05 ---- */

#define FIRMWARE(h, n, board, v)              \
	{h, "nic/" n, "board_id", board, 0},  \
	{                                     \
		h, "nic/" n, "firmware", v, 0 \
	}

static void test_firmware_by_board(void **state)
{
	char who[64];

	assert_int_equal(
		verdict("X05", FACTS(FIRMWARE("a", "m", "X", "1"), FIRMWARE("b", "m", "X", "1"),
				     FIRMWARE("b", "n", "Y", "2"))),
		RS_PASS);
	assert_string_equal(named("X05",
				  FACTS(FIRMWARE("a", "m", "X", "1"), FIRMWARE("b", "m", "X", "2"),
					FIRMWARE("c", "m", "X", "1")),
				  who, sizeof(who)),
			    "b ");
	/* within one host too */
	assert_int_equal(
		verdict("X05", FACTS(FIRMWARE("a", "m", "X", "1"), FIRMWARE("a", "n", "X", "2"))),
		RS_FAIL);
	assert_int_equal(verdict("X05", FACTS(FIRMWARE("a", "m", "X", "1"))), RS_NA);
}

static void test_any_one_release_is_right(void **state)
{
	assert_int_equal(verdict("X05", FACTS({"a", "host", "kernel", "5.4", 0},
					      {"b", "host", "kernel", "5.4", 0})),
			 RS_PASS);
	assert_int_equal(verdict("X05", FACTS({"a", "host", "kernel", "5.4", 0},
					      {"b", "host", "kernel", "6.1", 0})),
			 RS_FAIL);
}

/* ---- X06 ---- */

static void test_environment_is_equal(void **state)
{
	char who[64];

	assert_int_equal(verdict("X06", FACTS({"a", "env", "NCCL_IB_TC", "106", 0},
					      {"b", "env", "NCCL_IB_TC", "106", 0})),
			 RS_PASS);
	assert_string_equal(named("X06",
				  FACTS({"a", "env", "NCCL_IB_TC", "106", 0},
					{"b", "env", "NCCL_IB_TC", "106", 0},
					{"c", "env", "NCCL_DEBUG", "INFO", 0}),
				  who, sizeof(who)),
			    "c ");
	assert_int_equal(verdict("X06", FACTS({"a", "env", "NCCL_IB_TC", "106", 0},
					      {"b", "netdev/e", "mtu", "1500", 0})),
			 RS_NA);
}

static void test_names_and_files_differ_by_right(void **state)
{
	assert_int_equal(verdict("X06", FACTS({"a", "env", "NCCL_IB_HCA", "mlx5_0", 0},
					      {"a", "env", "NCCL_DEBUG_FILE", "a.log", 0},
					      {"b", "env", "NCCL_IB_HCA", "mlx5_1", 0})),
			 RS_NA);
}

static void test_each_variable_is_told_once(void **state)
{
	struct judged j = judge("X06", FACTS({"a", "env", "NCCL_ALGO", "Ring", 0},
					     {"b", "env", "NCCL_ALGO", "Tree", 0},
					     {"c", "env", "NCCL_ALGO", "Ring", 0}));

	assert_int_equal(j.a->n_findings, 1);
	rs_audit_destroy(j.a);
}

/* ---- X07 ---- */

#define GPU(h, bdf)                             \
	{                                       \
		h, "pci/" bdf, "kind", "gpu", 0 \
	}

static void test_gpus_are_in_the_same_places(void **state)
{
	char who[64];

	assert_int_equal(verdict("X07", FACTS(GPU("a", "0000:19:00.0"), GPU("b", "0000:19:00.0"),
					      GPU("c", "0000:19:00.0"))),
			 RS_PASS);
	assert_string_equal(named("X07",
				  FACTS(GPU("a", "0000:19:00.0"), GPU("a", "0000:3b:00.0"),
					GPU("b", "0000:19:00.0"), GPU("c", "0000:19:00.0"),
					GPU("c", "0000:3b:00.0")),
				  who, sizeof(who)),
			    "b ");
}

static void test_two_hosts_that_differ_may_be_two_models(void **state)
{
	assert_int_equal(verdict("X07", FACTS(GPU("a", "0000:19:00.0"), GPU("b", "0000:3b:00.0"))),
			 RS_UNKNOWN);
	assert_int_equal(verdict("X07", FACTS(GPU("a", "0000:19:00.0"), GPU("b", "0000:3b:00.0"),
					      GPU("c", "0000:5e:00.0"))),
			 RS_NA);
}

static void test_boards_are_counted_whatever_the_devices_names(void **state)
{
#define BOARD(h, n, b) {h, "nic/" n, "board_id", b, 0}
	assert_int_equal(verdict("X07", FACTS(BOARD("a", "m0", "X"), BOARD("a", "m1", "Y"),
					      BOARD("b", "m0", "Y"), BOARD("b", "m1", "X"),
					      BOARD("c", "p0", "X"), BOARD("c", "p1", "Y"))),
			 RS_PASS);
	assert_int_equal(verdict("X07", FACTS(BOARD("a", "m0", "X"), BOARD("b", "m0", "X"),
					      BOARD("c", "m0", "X"), BOARD("c", "m1", "X"))),
			 RS_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_active_mtu_is_equal),
		cmocka_unit_test(test_management_nics_have_an_mtu_of_their_own),
		cmocka_unit_test(test_odd_one_of_three_is_named_whoever_is_first),
		cmocka_unit_test(test_cnps_have_one_dscp),
		cmocka_unit_test(test_rails_are_on_their_leaves),
		cmocka_unit_test(test_swapped_cables_are_a_pair),
		cmocka_unit_test(test_pods_have_leaves_of_their_own),
		cmocka_unit_test(test_cable_on_a_foreign_leaf),
		cmocka_unit_test(test_two_hosts_have_no_majority),
		cmocka_unit_test(test_rails_by_lldp_at_the_hosts),
		cmocka_unit_test(test_firmware_by_board),
		cmocka_unit_test(test_any_one_release_is_right),
		cmocka_unit_test(test_environment_is_equal),
		cmocka_unit_test(test_names_and_files_differ_by_right),
		cmocka_unit_test(test_each_variable_is_told_once),
		cmocka_unit_test(test_gpus_are_in_the_same_places),
		cmocka_unit_test(test_two_hosts_that_differ_may_be_two_models),
		cmocka_unit_test(test_boards_are_counted_whatever_the_devices_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
