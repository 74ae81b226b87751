/* A RoCE interface's quality of service: each check right, wrong, in doubt, and where it looks
 * wrong but is not. */
#include "judge.h"

#define ND(name, value)                          \
	{                                        \
		"a", "netdev/e0", name, value, 0 \
	}
#define NIC                                     \
	{                                       \
		"a", "nic/m", "netdev", "e0", 0 \
	}
#define DSCP_TRUST ND("trust", "dscp")
#define TC(value)                                \
	{                                        \
		"a", "nic/m", "tclass", value, 0 \
	}
/* DSCP 26 to priority 3, which is lossless */
#define SITE \
	NIC, DSCP_TRUST, TC("106"), ND("dscp_to_prio/26", "3"), ND("pfc/0", "0"), ND("pfc/3", "1")

static void test_trust_follows_the_marking(void **state)
{
	assert_int_equal(verdict("R04", FACTS(SITE)), RS_PASS);
	assert_int_equal(verdict("R04", FACTS(NIC, ND("trust", "pcp"), TC("106"))), RS_FAIL);
	/* an old tool prints no trust */
	assert_int_equal(verdict("R04", FACTS(NIC, ND("pfc/3", "1"), TC("106"))), RS_UNKNOWN);
	/* nobody marks */
	assert_int_equal(verdict("R04", FACTS(NIC, ND("trust", "pcp"), TC("unset"))), RS_NA);
}

static void test_kinds_of_queue_pairs_leave_alike(void **state)
{
#define GIN {"a", "env", "NCCL_GIN_ENABLE", "1", 0}
	assert_int_equal(verdict("R05", FACTS(SITE)), RS_PASS);
	assert_int_equal(verdict("R05", FACTS(SITE, GIN)), RS_FAIL);
	assert_int_equal(verdict("R05", FACTS(SITE, GIN, {"a", "env", "NCCL_GIN_IB_TC", "104", 0})),
			 RS_PASS);
	assert_int_equal(verdict("R05", FACTS(NIC, DSCP_TRUST, ND("pfc/3", "1"))), RS_UNKNOWN);
	/* connections of storage may have a lossless class of their own */
	assert_int_equal(verdict("R05", FACTS(SITE, {"a", "nic/m", "cm_tos", "160", 0},
					      ND("dscp_to_prio/40", "5"), ND("pfc/5", "1"))),
			 RS_PASS);
	assert_int_equal(verdict("R05", FACTS(SITE, {"a", "nic/m", "cm_tos", "0", 0})), RS_FAIL);
}

static void test_map_leads_to_a_lossless_priority(void **state)
{
	struct judged j;

	assert_int_equal(verdict("R06", FACTS(SITE)), RS_PASS);
	assert_int_equal(
		verdict("R06", FACTS(NIC, DSCP_TRUST, TC("106"), ND("dscp_to_prio/26", "1"),
				     ND("pfc/1", "0"), ND("pfc/3", "1"))),
		RS_FAIL);
	/* the row is not printed: DSCP / 8, with less confidence */
	j = judge("R06", FACTS(NIC, DSCP_TRUST, TC("106"), ND("pfc/3", "1")));
	assert_int_equal(j.a->findings[0]->verdict, RS_PASS);
	assert_int_equal(j.a->findings[0]->confidence, RS_MEDIUM);
	rs_audit_destroy(j.a);
	/* an odd site */
	assert_int_equal(verdict("R06", FACTS(NIC, DSCP_TRUST, TC("160"),
					      ND("dscp_to_prio/40", "5"), ND("pfc/5", "1"))),
			 RS_PASS);
	/* a lossy site */
	assert_int_equal(verdict("R06", FACTS(NIC, DSCP_TRUST, TC("106"), ND("pfc/3", "0"))),
			 RS_NA);
	assert_int_equal(verdict("R06", FACTS(NIC, DSCP_TRUST, TC("106"))), RS_NA);
}

static void test_global_pause_beside_pfc(void **state)
{
	assert_int_equal(verdict("R07", FACTS(SITE, ND("pause_rx", "0"))), RS_PASS);
	assert_int_equal(verdict("R07", FACTS(SITE, ND("pause_rx", "1"))), RS_FAIL);
	/* without PFC, global pause is a choice */
	assert_int_equal(
		verdict("R07", FACTS(NIC, DSCP_TRUST, ND("pfc/3", "0"), ND("pause_rx", "1"))),
		RS_NA);
	assert_int_equal(verdict("R07", FACTS(NIC, DSCP_TRUST)), RS_UNKNOWN);
}

#define ROOM(size)                                                                     \
	ND("prio_buffer/0", "0"), ND("prio_buffer/3", "1"), ND("buffer_size/1", size), \
		ND("mtu", "9000"), ND("cable_m", "30"),                                \
	{                                                                              \
		"a", "nic/m", "rate_gbps", "400", 0                                    \
	}

static void test_buffer_holds_what_is_on_the_wire(void **state)
{
	/* (301 + 2.16 * 30) * 400 + 2.72 * 9000 = 170,800 bytes */
	assert_int_equal(verdict("R08", FACTS(SITE, ROOM("170801"))), RS_PASS);
	assert_int_equal(verdict("R08", FACTS(SITE, ROOM("170800"))), RS_FAIL);
	/* an old tool prints no buffers */
	assert_int_equal(verdict("R08", FACTS(SITE)), RS_UNKNOWN);
	/* shared with a lossy priority */
	assert_int_equal(
		verdict("R08", FACTS(SITE, ND("prio_buffer/0", "1"), ND("prio_buffer/3", "1"),
				     ND("buffer_size/1", "900000"))),
		RS_FAIL);
	/* a lossy site has none to judge */
	assert_int_equal(verdict("R08", FACTS(NIC, DSCP_TRUST, ND("pfc/3", "0"))), RS_NA);
}

#define CLASSES(tsa3, bw3, tsa0, bw0)                                           \
	ND("prio_to_tc/3", "3"), ND("prio_to_tc/0", "0"), ND("tc/3/tsa", tsa3), \
		ND("tc/3/bandwidth", bw3), ND("tc/0/tsa", tsa0), ND("tc/0/bandwidth", bw0)

static void test_class_of_roce_is_not_starved(void **state)
{
	assert_int_equal(verdict("R09", FACTS(SITE, CLASSES("ets", "70", "ets", "30"))), RS_PASS);
	assert_int_equal(verdict("R09", FACTS(SITE, CLASSES("ets", "0", "ets", "100"))), RS_FAIL);
	assert_int_equal(verdict("R09", FACTS(SITE, CLASSES("ets", "100", "strict", "0"))),
			 RS_FAIL);
	assert_int_equal(verdict("R09", FACTS(SITE, CLASSES("vendor", "0", "vendor", "0"))),
			 RS_PASS);
	/* the strict class carries CNPs alone */
	assert_int_equal(verdict("R09", FACTS(SITE, CLASSES("ets", "70", "ets", "30"),
					      ND("prio_to_tc/6", "6"), ND("tc/6/tsa", "strict"))),
			 RS_PASS);
	assert_int_equal(verdict("R09", FACTS(SITE)), RS_UNKNOWN);
}

static void test_both_halves_of_dcqcn_are_on(void **state)
{
	assert_int_equal(verdict("R10", FACTS(SITE, ND("ecn_np/3", "1"), ND("ecn_rp/3", "1"))),
			 RS_PASS);
	assert_int_equal(verdict("R10", FACTS(SITE, ND("ecn_np/3", "1"), ND("ecn_rp/3", "0"))),
			 RS_FAIL);
	assert_int_equal(verdict("R10", FACTS(SITE, ND("ecn_np/3", "1"))), RS_UNKNOWN);
	/* off where no RoCE goes */
	assert_int_equal(verdict("R10", FACTS(SITE, ND("ecn_np/3", "1"), ND("ecn_rp/3", "1"),
					      ND("ecn_np/0", "0"))),
			 RS_PASS);
}

static void test_cnps_have_a_class_of_their_own(void **state)
{
	assert_int_equal(verdict("R11", FACTS(SITE, ND("cnp_dscp", "48"))), RS_PASS);
	assert_int_equal(
		verdict("R11", FACTS(SITE, ND("cnp_dscp", "48"), ND("dscp_to_prio/48", "3"))),
		RS_FAIL);
	assert_int_equal(verdict("R11", FACTS(SITE)), RS_UNKNOWN);
}

static void test_quality_of_service_has_one_owner(void **state)
{
#define WILLING(v) {"a", "mst/x", "config/DCBX_WILLING_P1", v, 0}
#define LISTENS(v)                                              \
	{                                                       \
		"a", "mst/x", "config/LLDP_NB_RX_MODE_P1", v, 0 \
	}
	assert_int_equal(verdict("R12", FACTS(SITE, ND("dcbx", "OS controlled"))), RS_PASS);
	assert_int_equal(verdict("R12", FACTS(SITE, ND("dcbx", "Firmware controlled"), WILLING("1"),
					      LISTENS("2"))),
			 RS_FAIL);
	assert_int_equal(verdict("R12", FACTS(SITE, ND("dcbx", "Firmware controlled"))),
			 RS_UNKNOWN);
	/* willing, but deaf */
	assert_int_equal(verdict("R12", FACTS(SITE, ND("dcbx", "Firmware controlled"), WILLING("1"),
					      LISTENS("0"))),
			 RS_PASS);
}

static void test_recovery_from_loss_matters_on_lossy_fabrics(void **state)
{
#define ACCL(v) {"a", "mst/x", "roce_accl/roce_adp_retrans_en", v, 0}
	assert_int_equal(verdict("R13", FACTS(NIC, DSCP_TRUST, ND("pfc/3", "0"), ACCL("0"))),
			 RS_FAIL);
	assert_int_equal(verdict("R13", FACTS(NIC, DSCP_TRUST, ND("pfc/3", "0"), ACCL("1"))),
			 RS_PASS);
	assert_int_equal(verdict("R13", FACTS(SITE, ACCL("0"))), RS_PASS);
	assert_int_equal(verdict("R13", FACTS(SITE)), RS_NA);
}

static void test_ordering_is_the_same_at_both_ends(void **state)
{
#define ADAPTIVE(v) {"a", "env", "NCCL_IB_ADAPTIVE_ROUTING", v, 0}
#define SPRAY(v)                               \
	{"leaf", "host", "role", "switch", 0}, \
	{                                      \
		"leaf", "host", "ar", v, 0     \
	}
	assert_int_equal(verdict("R14", FACTS(SITE, ADAPTIVE("1"), SPRAY("on"))), RS_PASS);
	assert_int_equal(verdict("R14", FACTS(SITE, ADAPTIVE("1"), SPRAY("off"))), RS_FAIL);
	assert_int_equal(verdict("R14", FACTS(SITE, ADAPTIVE("0"), SPRAY("on"))), RS_FAIL);
	/* flowlets stay in order */
	assert_int_equal(verdict("R14", FACTS(SITE, ADAPTIVE("0"), SPRAY("flowlet"))), RS_PASS);
	assert_int_equal(verdict("R14", FACTS(SITE, ADAPTIVE("1"))), RS_UNKNOWN);
	/* on InfiniBand it is the default */
	assert_int_equal(
		verdict("R14", FACTS({"a", "nic/m", "link_layer", "InfiniBand", 0}, ADAPTIVE("1"))),
		RS_NA);
}

static void test_what_changes_at_the_next_boot(void **state)
{
#define NOW(v) {"a", "pci/0000:17:00.0", "config_current/SRIOV_EN", v, 0}
#define NEXT(v)                                                  \
	{                                                        \
		"a", "pci/0000:17:00.0", "config/SRIOV_EN", v, 0 \
	}
	assert_int_equal(verdict("R15", FACTS(NOW("1"), NEXT("1"))), RS_PASS);
	assert_int_equal(verdict("R15", FACTS(NOW("1"), NEXT("0"))), RS_FAIL);
	/* the listing has one column */
	assert_int_equal(verdict("R15", FACTS(NEXT("0"))), RS_UNKNOWN);
}

static void test_infiniband_has_no_priorities(void **state)
{
	assert_int_equal(verdict("R04", FACTS({"a", "nic/m", "link_layer", "InfiniBand", 0}, NIC,
					      ND("trust", "pcp"), TC("106"))),
			 RS_NA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trust_follows_the_marking),
		cmocka_unit_test(test_kinds_of_queue_pairs_leave_alike),
		cmocka_unit_test(test_map_leads_to_a_lossless_priority),
		cmocka_unit_test(test_global_pause_beside_pfc),
		cmocka_unit_test(test_buffer_holds_what_is_on_the_wire),
		cmocka_unit_test(test_class_of_roce_is_not_starved),
		cmocka_unit_test(test_both_halves_of_dcqcn_are_on),
		cmocka_unit_test(test_cnps_have_a_class_of_their_own),
		cmocka_unit_test(test_quality_of_service_has_one_owner),
		cmocka_unit_test(test_recovery_from_loss_matters_on_lossy_fabrics),
		cmocka_unit_test(test_ordering_is_the_same_at_both_ends),
		cmocka_unit_test(test_what_changes_at_the_next_boot),
		cmocka_unit_test(test_infiniband_has_no_priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
