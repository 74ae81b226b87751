/* Each check on a right host, on a wrong one, on one that tells too little, and on what looks wrong
 * but is not. */
#include "judge.h"

/* A NIC that trusts DSCP, maps 26 to 3 and protects 3. */
#define GOOD_NIC(h)                                                                                \
	{h, "nic/mlx5_0", "netdev", "eth0", 0}, {h, "netdev/eth0", "trust", "dscp", 0},            \
		{h, "netdev/eth0", "dscp_to_prio/26", "3", 0},                                     \
		{h, "netdev/eth0", "dscp_to_prio/0", "0", 0}, {h, "netdev/eth0", "pfc/0", "0", 0}, \
	{                                                                                          \
		h, "netdev/eth0", "pfc/3", "1", 0                                                  \
	}

/* ---- X01 ---- */

static void test_chain_holds_when_every_map_agrees(void **state)
{
	assert_int_equal(verdict("X01", FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_IB_TC", "106", 0})),
			 RS_PASS);
}

static void test_chain_is_right_for_an_odd_but_consistent_site(void **state)
{
	assert_int_equal(verdict("X01", FACTS({"a", "netdev/eth0", "trust", "dscp", 0},
					      {"a", "nic/m", "netdev", "eth0", 0},
					      {"a", "netdev/eth0", "dscp_to_prio/40", "5", 0},
					      {"a", "netdev/eth0", "pfc/5", "1", 0},
					      {"a", "nic/m", "tclass", "160", 0})),
			 RS_PASS);
}

static void test_chain_ignores_the_ecn_bits_of_the_class(void **state)
{
	assert_int_equal(verdict("X01", FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_IB_TC", "104", 0})),
			 RS_PASS);
}

static void test_chain_breaks_where_marking_is_missing(void **state)
{
	assert_int_equal(
		verdict("X01", FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_DEBUG", "WARN", 0})),
		RS_FAIL);
}

static void test_chain_breaks_where_trust_is_pcp(void **state)
{
	assert_int_equal(verdict("X01", FACTS({"a", "nic/m", "netdev", "eth0", 0},
					      {"a", "netdev/eth0", "trust", "pcp", 0},
					      {"a", "netdev/eth0", "pfc/0", "0", 0},
					      {"a", "netdev/eth0", "pfc/3", "1", 0},
					      {"a", "nic/m", "tclass", "106", 0})),
			 RS_FAIL);
}

static void test_chain_takes_the_kernels_class_over_the_environments(void **state)
{
	assert_int_equal(verdict("X01", FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_IB_TC", "0", 0},
					      {"a", "nic/mlx5_0", "tclass", "106", 0})),
			 RS_PASS);
}

static void test_chain_of_gpu_initiated_qps_is_followed_apart(void **state)
{
	assert_int_equal(
		verdict("X01", FACTS(GOOD_NIC("a"), {"a", "nic/mlx5_0", "tclass", "106", 0},
				     {"a", "env", "NCCL_GIN_TYPE", "3", 0})),
		RS_FAIL);
	assert_int_equal(
		verdict("X01", FACTS(GOOD_NIC("a"), {"a", "nic/mlx5_0", "tclass", "106", 0},
				     {"a", "env", "NCCL_GIN_TYPE", "3", 0},
				     {"a", "env", "NCCL_GIN_IB_TC", "106", 0})),
		RS_PASS);
}

static void test_chain_is_unknown_without_marking_or_maps(void **state)
{
	assert_int_equal(verdict("X01", FACTS(GOOD_NIC("a"))), RS_UNKNOWN);
}

static void test_chain_does_not_accuse_a_lossy_fabric(void **state)
{
	assert_int_equal(verdict("X01", FACTS({"a", "nic/m", "netdev", "eth0", 0},
					      {"a", "netdev/eth0", "trust", "dscp", 0},
					      {"a", "netdev/eth0", "pfc/0", "0", 0},
					      {"a", "netdev/eth0", "pfc/3", "0", 0},
					      {"a", "nic/m", "tclass", "106", 0})),
			 RS_NA);
}

/* Both ends pause priority 3, and yet the switch has this DSCP in another class. */
static void test_chain_breaks_at_a_switch_that_maps_elsewhere(void **state)
{
	struct judged j = judge("X01", FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_IB_TC", "106", 0},
					     {"leaf", "host", "role", "switch", 0},
					     {"leaf", "port/Ethernet0", "dscp_to_tc/26", "1", 0},
					     {"leaf", "port/Ethernet0", "dscp_to_tc/3", "3", 0},
					     {"leaf", "port/Ethernet0", "tc_to_pg/1", "0", 0},
					     {"leaf", "port/Ethernet0", "tc_to_pg/3", "3", 0},
					     {"leaf", "port/Ethernet0", "pfc/0", "0", 0},
					     {"leaf", "port/Ethernet0", "pfc/3", "1", 0}));
	const struct rs_finding *f = j.a->findings[0];

	assert_int_equal(f->verdict, RS_FAIL);
	assert_string_equal(f->stage[f->n_stages - 1].host, "leaf");
	assert_int_equal(f->stage[f->n_stages - 1].verdict, RS_FAIL);
	assert_true(f->n_fixes > 0);
	rs_audit_destroy(j.a);
}

static void test_chain_holds_through_a_switch_that_agrees(void **state)
{
	assert_int_equal(verdict("X01", FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_IB_TC", "106", 0},
					      {"leaf", "host", "role", "switch", 0},
					      {"leaf", "port/Ethernet0", "dscp_to_tc/26", "3", 0},
					      {"leaf", "port/Ethernet0", "tc_to_pg/3", "3", 0},
					      {"leaf", "port/Ethernet0", "pfc/3", "1", 0})),
			 RS_PASS);
}

/* ---- X03 ---- */

static void test_peers_that_differ_in_trust_are_named(void **state)
{
	struct judged j = judge("X03", FACTS(GOOD_NIC("a"), {"b", "nic/m", "netdev", "eth0", 0},
					     {"b", "netdev/eth0", "trust", "pcp", 0},
					     {"b", "netdev/eth0", "pfc/3", "1", 0}));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->n_subjects, 2);
	rs_audit_destroy(j.a);
	assert_int_equal(verdict("X03", FACTS(GOOD_NIC("a"), GOOD_NIC("b"))), RS_PASS);
	assert_int_equal(verdict("X03", FACTS(GOOD_NIC("a"))), RS_NA);
}

/* ---- Counters ---- */

static void test_loss_since_boot_is_said_to_be_since_boot(void **state)
{
	struct judged j =
		judge("C01", FACTS({"a", "nic/m", "counter/local_ack_timeout_err", "12", 0},
				   {"a", "netdev/eth4", "pfc/3", "1", 0}));

	/* of a class that need not be lossless one reading is a hint */
	assert_int_equal(
		verdict("C01", FACTS({"a", "nic/m", "counter/local_ack_timeout_err", "12", 0})),
		RS_UNKNOWN);
	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->severity, RS_MAJOR);
	assert_int_equal(j.a->findings[0]->confidence, RS_MEDIUM);
	rs_audit_destroy(j.a);
}

static void test_loss_that_does_not_rise_is_past(void **state)
{
	assert_int_equal(
		verdict("C01", FACTS({"a", "nic/m", "counter/local_ack_timeout_err", "12", 0},
				     {"a", "nic/m", "counter/local_ack_timeout_err", "12", 1})),
		RS_PASS);
	assert_int_equal(
		verdict("C01", FACTS({"a", "nic/m", "counter/local_ack_timeout_err", "13", 0},
				     {"a", "nic/m", "counter/local_ack_timeout_err", "12", 1})),
		RS_FAIL);
}

static void test_counter_that_was_cleared_counts_from_there(void **state)
{
	assert_int_equal(verdict("C01", FACTS({"a", "nic/m", "counter/packet_seq_err", "0", 0},
					      {"a", "nic/m", "counter/packet_seq_err", "900", 1})),
			 RS_PASS);
}

static void test_bytes_on_an_unprotected_priority(void **state)
{
	assert_int_equal(
		verdict("C03", FACTS(GOOD_NIC("a"),
				     {"a", "netdev/eth0", "counter/rx_prio0_bytes", "900000", 0},
				     {"a", "netdev/eth0", "counter/rx_prio3_bytes", "0", 0})),
		RS_FAIL);
	assert_int_equal(
		verdict("C03", FACTS(GOOD_NIC("a"),
				     {"a", "netdev/eth0", "counter/rx_prio0_bytes", "900", 0},
				     {"a", "netdev/eth0", "counter/rx_prio3_bytes", "900000", 0})),
		RS_PASS);
}

static void test_plain_ethernet_uses_priority_0_by_right(void **state)
{
	assert_int_equal(
		verdict("C03", FACTS({"a", "netdev/eth9", "counter/rx_prio0_bytes", "900000", 0})),
		RS_NA);
}

static void test_cnps_and_marks_in_balance(void **state)
{
	assert_int_equal(
		verdict("C05", FACTS({"a", "nic/m", "counter/np_cnp_sent", "7", 0},
				     {"a", "nic/m", "counter/np_ecn_marked_roce_packets", "0", 0})),
		RS_FAIL);
	assert_int_equal(
		verdict("C05", FACTS({"a", "nic/m", "counter/np_cnp_sent", "0", 0},
				     {"a", "nic/m", "counter/np_ecn_marked_roce_packets", "7", 0})),
		RS_FAIL);
	assert_int_equal(
		verdict("C05", FACTS({"a", "nic/m", "counter/np_cnp_sent", "5", 0},
				     {"a", "nic/m", "counter/np_ecn_marked_roce_packets", "7", 0})),
		RS_PASS);
}

static void test_counter_at_its_ceiling_proves_nothing(void **state)
{
	assert_int_equal(verdict("C07", FACTS({"a", "nic/m", "counter/link_downed", "255", 0},
					      {"a", "nic/m", "counter/link_downed", "255", 1})),
			 RS_FAIL);
	assert_int_equal(verdict("C07", FACTS({"a", "nic/m", "counter/link_downed", "3", 0})),
			 RS_UNKNOWN);
	assert_int_equal(verdict("C07", FACTS({"a", "nic/m", "counter/link_downed", "0", 0})),
			 RS_PASS);
	assert_int_equal(verdict("C07", FACTS({"a", "nic/m", "counter/link_downed", "5", 0},
					      {"a", "nic/m", "counter/link_downed", "3", 1})),
			 RS_FAIL);
}

/* ---- PCIe ---- */

#define NIC_AT(speed, width, max_speed, rate)                              \
	{"a", "pci/0000:01:00.0", "kind", "nic", 0},                       \
		{"a", "pci/0000:01:00.0", "link_speed", speed, 0},         \
		{"a", "pci/0000:01:00.0", "link_width", width, 0},         \
		{"a", "pci/0000:01:00.0", "max_link_speed", max_speed, 0}, \
		{"a", "nic/m", "pci", "0000:01:00.0", 0},                  \
	{                                                                  \
		"a", "nic/m", "rate_gbps", rate, 0                         \
	}

static void test_slot_slower_than_its_port(void **state)
{
	/* Gen4 x8: 115 Gb/s of data for 400 Gb/s */
	assert_int_equal(verdict("P01", FACTS(NIC_AT("160", "8", "320", "400"))), RS_FAIL);
	/* Gen5 x16 carries 400 Gb/s */
	assert_int_equal(verdict("P01", FACTS(NIC_AT("320", "16", "320", "400"))), RS_PASS);
}

static void test_slot_at_its_maximum_is_by_design(void **state)
{
	struct judged j = judge("P01", FACTS(NIC_AT("160", "16", "160", "400")));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->severity, RS_MINOR);
	rs_audit_destroy(j.a);
}

static void test_emulated_link_of_a_guest_is_cosmetic(void **state)
{
	assert_int_equal(verdict("P01", FACTS(NIC_AT("25", "1", "25", "400"),
					      {"a", "host", "virtual", "KVM", 0})),
			 RS_NA);
}

static void test_acs_redirection_on_a_port(void **state)
{
	assert_int_equal(verdict("P04", FACTS({"a", "pci/0000:16:00.0", "kind", "bridge", 0},
					      {"a", "pci/0000:16:00.0", "acs_control", "0x1d", 0})),
			 RS_FAIL);
	/* Source Validation alone */
	assert_int_equal(verdict("P04", FACTS({"a", "pci/0000:16:00.0", "kind", "bridge", 0},
					      {"a", "pci/0000:16:00.0", "acs_control", "0x01", 0})),
			 RS_PASS);
	/* an endpoint's own register is no port's */
	assert_int_equal(verdict("P04", FACTS({"a", "pci/0000:18:00.0", "kind", "gpu", 0},
					      {"a", "pci/0000:18:00.0", "acs_control", "0x1d", 0})),
			 RS_NA);
}

static void test_iommu_matters_on_a_redirected_path(void **state)
{
	assert_int_equal(verdict("P05", FACTS({"a", "pci/0000:16:00.0", "kind", "bridge", 0},
					      {"a", "pci/0000:16:00.0", "acs_control", "0x1d", 0},
					      {"a", "host", "iommu_default", "Translated", 0})),
			 RS_FAIL);
	/* neither the tree nor ACS was seen */
	assert_int_equal(verdict("P05", FACTS({"a", "host", "iommu_default", "Translated", 0})),
			 RS_UNKNOWN);
	assert_int_equal(
		verdict("P05", FACTS({"a", "pci/0000:16:00.0", "acs_control", "0x1d", 0},
				     {"a", "host", "cmdline", "ro iommu=pt intel_iommu=on", 0})),
		RS_PASS);
	assert_int_equal(verdict("P05", FACTS({"a", "host", "cmdline", "ro quiet", 0})), RS_NA);
}

#define CROSSED                                                \
	{"a", "topo", "distance/GPU0/NIC0", "SYS", 0},         \
		{"a", "topo", "distance/GPU0/NIC1", "PIX", 0}, \
		{"a", "topo", "distance/GPU1/NIC0", "PIX", 0}, \
		{"a", "topo", "distance/GPU1/NIC1", "SYS", 0}, \
		{"a", "topo", "nic_name/NIC0", "mlx5_0", 0},   \
	{                                                      \
		"a", "topo", "nic_name/NIC1", "mlx5_1", 0      \
	}

static void test_reversed_order_of_nics_is_as_good(void **state)
{
	assert_int_equal(verdict("P07", FACTS(CROSSED)), RS_PASS);
}

static void test_near_nic_left_out_of_the_list(void **state)
{
	struct judged j = judge("P07", FACTS(CROSSED, {"a", "env", "NCCL_IB_HCA", "=mlx5_0", 0}));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_string_equal(j.a->findings[0]->fix[0].command, "NCCL_IB_HCA==mlx5_0,mlx5_1");
	rs_audit_destroy(j.a);
}

#define FLAT(numa)                                                  \
	{"a", "pci/0000:05:00.0", "kind", "gpu", 0},                \
		{"a", "pci/0000:05:00.0", "bridges_above", "1", 0}, \
		{"a", "pci/0000:05:00.0", "numa_node", numa, 0},    \
		{"a", "pci/0000:06:00.0", "kind", "nic", 0},        \
		{"a", "pci/0000:06:00.0", "bridges_above", "1", 0}, \
	{                                                           \
		"a", "pci/0000:06:00.0", "numa_node", numa, 0       \
	}

static void test_flat_guest_without_a_topology_file(void **state)
{
	assert_int_equal(verdict("P09", FACTS(FLAT("-1"))), RS_FAIL);
	assert_int_equal(verdict("P09", FACTS(FLAT("-1"), {"a", "env", "NCCL_TOPO_FILE", "/x", 0})),
			 RS_PASS);
	/* a desktop has no switch either, and knows its NUMA node */
	assert_int_equal(verdict("P09", FACTS(FLAT("0"))), RS_NA);
}

/* ---- The operating system ---- */

static void test_slow_idle_state(void **state)
{
	assert_int_equal(verdict("H01", FACTS({"a", "host", "cpuidle/2/name", "C6", 0},
					      {"a", "host", "cpuidle/2/latency_us", "133", 0},
					      {"a", "host", "cpuidle/2/disable", "0", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("H01", FACTS({"a", "host", "cpuidle/2/latency_us", "133", 0},
					      {"a", "host", "cpuidle/2/disable", "1", 0})),
			 RS_PASS);
	assert_int_equal(verdict("H01", FACTS({"a", "host", "cpuidle/0/latency_us", "0", 0})),
			 RS_PASS);
	/* slow, and nothing says whether it is enabled */
	assert_int_equal(verdict("H01", FACTS({"a", "host", "cpuidle/2/latency_us", "133", 0})),
			 RS_UNKNOWN);
	assert_int_equal(verdict("H01", FACTS({"a", "host", "kernel", "6.1", 0})), RS_NA);
}

static void test_governor_and_balancing(void **state)
{
	assert_int_equal(verdict("H02", FACTS({"a", "host", "governor", "powersave", 0})), RS_FAIL);
	assert_int_equal(verdict("H02", FACTS({"a", "host", "governor", "performance", 0})),
			 RS_PASS);
	assert_int_equal(verdict("H03", FACTS({"a", "host", "numa_balancing", "1", 0})), RS_FAIL);
	assert_int_equal(verdict("H03", FACTS({"a", "host", "numa_balancing", "0", 0})), RS_PASS);
}

/* ---- RoCE ---- */

#define GIDS                                                                                  \
	{"a", "nic/m", "gid/0", "fe80::1", 0}, {"a", "nic/m", "gid_type/0", "v1", 0},         \
		{"a", "nic/m", "gid/1", "fe80::1", 0}, {"a", "nic/m", "gid_type/1", "v2", 0}, \
		{"a", "nic/m", "gid/3", "::ffff:10.0.0.1", 0},                                \
	{                                                                                     \
		"a", "nic/m", "gid_type/3", "v2", 0                                           \
	}

static void test_gid_index_must_be_routable_v2(void **state)
{
	assert_int_equal(verdict("R02", FACTS(GIDS, {"a", "env", "NCCL_IB_GID_INDEX", "3", 0})),
			 RS_PASS);
	assert_int_equal(verdict("R02", FACTS(GIDS, {"a", "env", "NCCL_IB_GID_INDEX", "1", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("R02", FACTS(GIDS, {"a", "env", "NCCL_IB_GID_INDEX", "0", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("R02", FACTS(GIDS)), RS_NA);
	/* a vendor that has its only routable entry at 1 */
	assert_int_equal(verdict("R02", FACTS({"a", "nic/h", "gid/1", "::ffff:10.0.0.2", 0},
					      {"a", "nic/h", "gid_type/1", "v2", 0},
					      {"a", "env", "NCCL_IB_GID_INDEX", "1", 0})),
			 RS_PASS);
}

static void test_mtu_of_4200_is_enough(void **state)
{
	assert_int_equal(
		verdict("R03", FACTS(GOOD_NIC("a"), {"a", "netdev/eth0", "mtu", "4200", 0})),
		RS_PASS);
	assert_int_equal(
		verdict("R03", FACTS(GOOD_NIC("a"), {"a", "netdev/eth0", "mtu", "1500", 0})),
		RS_FAIL);
	assert_int_equal(verdict("R03", FACTS(GOOD_NIC("a"))), RS_UNKNOWN);
	/* the port's own word does where its interface's MTU was not seen */
	assert_int_equal(verdict("R03", FACTS({"a", "nic/m", "active_mtu", "1024", 0},
					      {"a", "nic/m", "link_layer", "Ethernet", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("R03", FACTS({"a", "nic/m", "active_mtu", "2048", 0},
					      {"a", "nic/m", "link_layer", "InfiniBand", 0})),
			 RS_NA);
}

/* ---- NCCL ---- */

static void test_link_layers_are_not_mixed(void **state)
{
	assert_int_equal(verdict("N02", FACTS({"a", "nccl", "using/0", "mlx5_0", 0},
					      {"a", "nccl", "using_layer/0", "IB", 0},
					      {"a", "nccl", "using/1", "mlx5_b", 0},
					      {"a", "nccl", "using_layer/1", "RoCE", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N02", FACTS({"a", "nccl", "using_layer/0", "RoCE", 0},
					      {"a", "nccl", "using_layer/1", "RoCE", 0})),
			 RS_PASS);
}

static void test_split_by_hand_depends_on_the_version(void **state)
{
	static const char *const split = "NCCL_IB_SPLIT_DATA_ON_QPS";

	assert_int_equal(verdict("N07", FACTS({"a", "env", split, "1", 0},
					      {"a", "nccl", "version", "2.27.3", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N07", FACTS({"a", "env", split, "1", 0},
					      {"a", "nccl", "version", "2.19.4", 0})),
			 RS_PASS);
	assert_int_equal(verdict("N07", FACTS({"a", "env", split, "1", 0})), RS_UNKNOWN);
	assert_int_equal(verdict("N07", FACTS({"a", "env", split, "0", 0})), RS_PASS);
}

static void test_queue_pairs_suit_the_switches(void **state)
{
	static const char *const qps = "NCCL_IB_QPS_PER_CONNECTION";

	assert_int_equal(verdict("N07", FACTS({"a", "env", qps, "4", 0})), RS_PASS);
	assert_int_equal(verdict("N07", FACTS({"a", "env", qps, "64", 0})), RS_FAIL);
	assert_int_equal(verdict("N07", FACTS({"a", "env", qps, "4", 0},
					      {"leaf", "host", "role", "switch", 0},
					      {"leaf", "host", "ar", "on", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N07", FACTS({"a", "env", qps, "1", 0},
					      {"leaf", "host", "role", "switch", 0},
					      {"leaf", "host", "ar", "off", 0})),
			 RS_FAIL);
}

static void test_level_of_p2p_leaves_what_the_board_offers(void **state)
{
#define NVLINK {"a", "topo", "distance/GPU0/GPU1", "NV18", 0}
#define LEVEL(v)                                   \
	{                                          \
		"a", "env", "NCCL_P2P_LEVEL", v, 0 \
	}
	assert_int_equal(verdict("N11", FACTS(NVLINK, LEVEL("LOC"))), RS_FAIL);
	/* NVLink is nearer than PIX */
	assert_int_equal(verdict("N11", FACTS(NVLINK, LEVEL("PIX"))), RS_PASS);
	assert_int_equal(
		verdict("N11", FACTS({"a", "topo", "distance/GPU0/GPU1", "PIX", 0}, LEVEL("NVL"))),
		RS_FAIL);
	assert_int_equal(verdict("N11", FACTS(LEVEL("LOC"))), RS_UNKNOWN);
}

static void test_gid_that_a_release_chooses_by_itself(void **state)
{
#define TABLE                                                                         \
	{"a", "nic/m", "gid/0", "fe80::1", 0}, {"a", "nic/m", "gid_type/0", "v1", 0}, \
		{"a", "nic/m", "gid/3", "::ffff:10.0.0.1", 0},                        \
		{"a", "nic/m", "gid_type/3", "v2", 0}, {"a", "env", "NCCL_DEBUG", "WARN", 0}
#define RELEASE(v)                           \
	{                                    \
		"a", "nccl", "version", v, 0 \
	}
	assert_int_equal(verdict("R02", FACTS(TABLE, RELEASE("2.20.5"))), RS_FAIL);
	assert_int_equal(verdict("R02", FACTS(TABLE, RELEASE("2.21.5"))), RS_PASS);
	assert_int_equal(verdict("R02", FACTS(TABLE)), RS_UNKNOWN);
}

static void test_port_uses_the_mtu_that_its_interface_leaves(void **state)
{
#define MTUS(active, mtu)                                                                     \
	{"a", "nic/m", "active_mtu", active, 0}, {"a", "nic/m", "link_layer", "Ethernet", 0}, \
		{"a", "nic/m", "netdev", "e0", 0}, {"a", "netdev/e0", "mtu", mtu, 0}
	assert_int_equal(verdict("R03", FACTS(MTUS("1024", "9000"))), RS_FAIL);
	assert_int_equal(verdict("R03", FACTS(MTUS("4096", "4200"))), RS_NA);
	/* a port that is down uses none */
	assert_int_equal(verdict("R03", FACTS(MTUS("1024", "9000"),
					      {"a", "nic/m", "port_state", "DOWN", 0})),
			 RS_NA);
}

static void test_cnps_are_handled_somewhere(void **state)
{
#define CNPS(h, sent, handled)                        \
	{h, "nic/m", "counter/np_cnp_sent", sent, 0}, \
		{h, "nic/m", "counter/rp_cnp_handled", handled, 0}
	assert_int_equal(verdict("C05", FACTS(CNPS("a", "9", "0"), CNPS("b", "0", "0"))), RS_FAIL);
	assert_int_equal(verdict("C05", FACTS(CNPS("a", "9", "0"), CNPS("b", "0", "9"))),
			 RS_UNKNOWN);
	/* one host alone is no other's sender; without marks nothing tells */
	assert_int_equal(verdict("C05", FACTS(CNPS("a", "9", "0"))), RS_UNKNOWN);
}

static void test_lossless_priority_discards_nothing(void **state)
{
#define DROPS(p)                                                    \
	{"a", "netdev/e", "counter/rx_prio" p "_discards", "7", 0}, \
		{"a", "netdev/e", "pfc/3", "1", 0}
	assert_int_equal(verdict("C01", FACTS(DROPS("3"))), RS_FAIL);
	/* a lossy one may */
	assert_int_equal(verdict("C01", FACTS(DROPS("0"))), RS_NA);
}

#define ISLANDS                                                                                 \
	{"a", "topo", "distance/GPU0/GPU1", "NV18", 0},                                         \
		{"a", "topo", "distance/GPU0/GPU2", "SYS", 0},                                  \
		{"a", "topo", "distance/GPU1/GPU0", "NV18", 0},                                 \
		{"a", "topo", "distance/GPU2/GPU3", "NV18", 0},                                 \
		{"a", "topo", "distance/GPU3/GPU2", "NV18", 0},                                 \
		{"a", "env", "NCCL_IB_HCA", "=mlx5_0,mlx5_1", 0},                               \
		{"a", "nic/mlx5_0", "netdev", "e0", 0}, {"a", "nic/mlx5_1", "netdev", "e1", 0}, \
	{                                                                                       \
		"a", "netdev/e0", "address", "10.1.0.5/16", 0                                   \
	}

static void test_islands_need_rails_that_reach_each_other(void **state)
{
	assert_int_equal(
		verdict("X04", FACTS(ISLANDS, {"a", "netdev/e1", "address", "10.2.0.5/16", 0})),
		RS_FAIL);
	/* one network */
	assert_int_equal(
		verdict("X04", FACTS(ISLANDS, {"a", "netdev/e1", "address", "10.1.0.6/16", 0})),
		RS_NA);
	/* routed */
	assert_int_equal(
		verdict("X04", FACTS(ISLANDS, {"a", "netdev/e1", "address", "10.2.0.5/16", 0},
				     {"a", "host", "route/10.2.0.0/16", "e0 via 10.1.0.1", 0})),
		RS_PASS);
	/* the management port's default route leads no queue pair of a rail anywhere */
	assert_int_equal(
		verdict("X04", FACTS(ISLANDS, {"a", "netdev/e1", "address", "10.2.0.5/16", 0},
				     {"a", "host", "route/default", "eno1 via 10.9.0.1", 0})),
		RS_FAIL);
}

static void test_nodes_are_not_more_than_hosts(void **state)
{
#define JOB(nodes, ranks) {"a", "nccl", "nodes", nodes, 0}, {"a", "nccl", "ranks", ranks, 0}
#define FOUR_GPUS                                            \
	{                                                    \
		"a", "topo", "distance/GPU3/GPU0", "NV18", 0 \
	}
	assert_int_equal(verdict("N13", FACTS(FOUR_GPUS, JOB("4", "8"))), RS_FAIL);
	assert_int_equal(verdict("N13", FACTS(FOUR_GPUS, JOB("2", "8"))), RS_PASS);
	/* a job that leaves GPUs out */
	assert_int_equal(verdict("N13", FACTS(FOUR_GPUS, JOB("3", "6"))), RS_PASS);
	assert_int_equal(verdict("N13", FACTS(JOB("4", "8"))), RS_UNKNOWN);
}

static void test_completions_and_fallback(void **state)
{
	assert_int_equal(verdict("N12", FACTS({"a", "nccl", "completion_error", "12", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N14", FACTS({"a", "nccl", "via_socket", "NET/Socket/0", 0},
					      {"a", "nic/m", "port_state", "ACTIVE", 0})),
			 RS_FAIL);
	/* whether there is a device at all was not seen */
	assert_int_equal(verdict("N14", FACTS({"a", "nccl", "via_socket", "NET/Socket/0", 0})),
			 RS_UNKNOWN);
	assert_int_equal(verdict("N14", FACTS({"a", "nccl", "via_ib_gdr", "NET/IB/0/GDRDMA", 0})),
			 RS_PASS);
}

static void test_consequences_fold_under_their_cause(void **state)
{
	struct judged j = judge(NULL, FACTS(GOOD_NIC("a"), {"a", "env", "NCCL_DEBUG", "WARN", 0},
					    {"a", "nic/mlx5_0", "counter/packet_seq_err", "9", 0}));

	assert_string_equal(j.a->findings[0]->rule->id, "X01");
	assert_int_equal(j.a->findings[0]->n_effects, 3);
	assert_string_equal(j.a->findings[0]->effect[0]->rule->id, "C01");
	assert_string_equal(j.a->findings[0]->effect[1]->rule->id, "R05");
	/* the job's variable is the same fact, told once */
	assert_string_equal(j.a->findings[0]->effect[2]->rule->id, "N06");
	assert_int_equal(rs_audit_status(j.a, false, false), 1);
	rs_audit_destroy(j.a);
}

static void test_every_check_is_described(void **state)
{
	for (unsigned f = 0; rs_rule_families[f]; f++)
		for (const struct rs_rule *r = rs_rule_families[f]; r->id; r++) {
			assert_ptr_equal(rs_rule_find(r->id), r);
			assert_true(strlen(r->criterion) > 20 && strlen(r->explain) > 20);
			assert_true(strlen(r->authority) > 3 && r->run);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain_holds_when_every_map_agrees),
		cmocka_unit_test(test_chain_is_right_for_an_odd_but_consistent_site),
		cmocka_unit_test(test_chain_ignores_the_ecn_bits_of_the_class),
		cmocka_unit_test(test_chain_breaks_where_marking_is_missing),
		cmocka_unit_test(test_chain_breaks_where_trust_is_pcp),
		cmocka_unit_test(test_chain_takes_the_kernels_class_over_the_environments),
		cmocka_unit_test(test_chain_of_gpu_initiated_qps_is_followed_apart),
		cmocka_unit_test(test_chain_is_unknown_without_marking_or_maps),
		cmocka_unit_test(test_chain_does_not_accuse_a_lossy_fabric),
		cmocka_unit_test(test_chain_breaks_at_a_switch_that_maps_elsewhere),
		cmocka_unit_test(test_chain_holds_through_a_switch_that_agrees),
		cmocka_unit_test(test_peers_that_differ_in_trust_are_named),
		cmocka_unit_test(test_loss_since_boot_is_said_to_be_since_boot),
		cmocka_unit_test(test_loss_that_does_not_rise_is_past),
		cmocka_unit_test(test_counter_that_was_cleared_counts_from_there),
		cmocka_unit_test(test_bytes_on_an_unprotected_priority),
		cmocka_unit_test(test_plain_ethernet_uses_priority_0_by_right),
		cmocka_unit_test(test_cnps_and_marks_in_balance),
		cmocka_unit_test(test_counter_at_its_ceiling_proves_nothing),
		cmocka_unit_test(test_slot_slower_than_its_port),
		cmocka_unit_test(test_slot_at_its_maximum_is_by_design),
		cmocka_unit_test(test_emulated_link_of_a_guest_is_cosmetic),
		cmocka_unit_test(test_acs_redirection_on_a_port),
		cmocka_unit_test(test_iommu_matters_on_a_redirected_path),
		cmocka_unit_test(test_reversed_order_of_nics_is_as_good),
		cmocka_unit_test(test_near_nic_left_out_of_the_list),
		cmocka_unit_test(test_flat_guest_without_a_topology_file),
		cmocka_unit_test(test_slow_idle_state),
		cmocka_unit_test(test_governor_and_balancing),
		cmocka_unit_test(test_gid_index_must_be_routable_v2),
		cmocka_unit_test(test_mtu_of_4200_is_enough),
		cmocka_unit_test(test_link_layers_are_not_mixed),
		cmocka_unit_test(test_split_by_hand_depends_on_the_version),
		cmocka_unit_test(test_queue_pairs_suit_the_switches),
		cmocka_unit_test(test_level_of_p2p_leaves_what_the_board_offers),
		cmocka_unit_test(test_gid_that_a_release_chooses_by_itself),
		cmocka_unit_test(test_port_uses_the_mtu_that_its_interface_leaves),
		cmocka_unit_test(test_cnps_are_handled_somewhere),
		cmocka_unit_test(test_lossless_priority_discards_nothing),
		cmocka_unit_test(test_islands_need_rails_that_reach_each_other),
		cmocka_unit_test(test_nodes_are_not_more_than_hosts),
		cmocka_unit_test(test_completions_and_fallback),
		cmocka_unit_test(test_consequences_fold_under_their_cause),
		cmocka_unit_test(test_every_check_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
