/* How functions and their drivers are set up: each check right, wrong, in doubt, and where it looks
 * wrong but is not. */
#include "judge.h"

#define BOTH                                           \
	{"a", "topo", "distance/GPU0/NIC0", "PIX", 0}, \
	{                                              \
		"a", "nic/mlx5_0", "netdev", "e0", 0   \
	}

/* ---- P12 ---- */

static void test_gpu_memory_can_be_registered(void **state)
{
	/* what a job did outranks what is loaded */
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "nccl", "via_ib_gdr", "NET/IB/0", 0})),
			 RS_PASS);
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", "memory_peers/nv_mem", "1", 0})),
			 RS_PASS);
	/* dma-buf needs no module */
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", "kernel", "6.8.0-45", 0},
					      {"a", "host", "gpu_module", "open", 0})),
			 RS_PASS);
	assert_int_equal(verdict("P12", FACTS(BOTH)), RS_UNKNOWN);
	assert_int_equal(verdict("P12", FACTS({"a", "nic/mlx5_0", "netdev", "e0", 0})), RS_NA);
}

static void test_peer_memory_depends_on_the_release(void **state)
{
	static const char *const module = "module/nvidia_peermem";

	/* the module's directory counts from 2.23.4 on */
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", module, "loaded", 0},
					      {"a", "nccl", "version", "2.26.2", 0})),
			 RS_PASS);
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", module, "loaded", 0},
					      {"a", "nccl", "version", "2.19.4", 0})),
			 RS_UNKNOWN);
}

static void test_absence_needs_a_whole_list(void **state)
{
	enum { MODULES = 24 };
	struct told facts[MODULES + 5] = {BOTH,
					  {"a", "host", "gpu_module", "proprietary", 0},
					  {"a", "host", "module/nvidia", "loaded", 0}};
	static char names[MODULES][32];

	/* a filtered list proves nothing */
	assert_int_equal(verdict("P12", facts), RS_UNKNOWN);
	for (int i = 0; i < MODULES; i++) {
		snprintf(names[i], sizeof(names[i]), "module/m%d", i);
		facts[4 + i] = (struct told){"a", "host", names[i], "loaded", 0};
	}
	assert_int_equal(verdict("P12", facts), RS_FAIL);
}

/* ---- P02 ---- */

#define PORT                                                 \
	{                                                    \
		"a", "pci/0000:16:00.0", "kind", "bridge", 0 \
	}
#define NIC_BELOW                                                    \
	{"a", "pci/0000:17:00.0", "kind", "nic", 0},                 \
	{                                                            \
		"a", "pci/0000:17:00.0", "parent", "0000:16:00.0", 0 \
	}
#define GPU_BELOW                                                    \
	{"a", "pci/0000:18:00.0", "kind", "gpu", 0},                 \
	{                                                            \
		"a", "pci/0000:18:00.0", "parent", "0000:16:00.0", 0 \
	}
#define MPS(bus, mps, max)                                      \
	{"a", "pci/0000:" bus ":00.0", "mps", mps, 0},          \
	{                                                       \
		"a", "pci/0000:" bus ":00.0", "mps_max", max, 0 \
	}

static void test_payload_is_what_the_path_takes(void **state)
{
	assert_int_equal(verdict("P02", FACTS(PORT, NIC_BELOW, MPS("16", "512", "512"),
					      MPS("17", "512", "512"))),
			 RS_PASS);
	assert_int_equal(verdict("P02", FACTS(PORT, NIC_BELOW, MPS("16", "128", "512"),
					      MPS("17", "128", "512"))),
			 RS_FAIL);
	/* a peer that takes 256 holds all of them to it */
	assert_int_equal(verdict("P02", FACTS(PORT, NIC_BELOW, GPU_BELOW, MPS("16", "256", "512"),
					      MPS("17", "256", "512"), MPS("18", "256", "256"))),
			 RS_PASS);
	/* the ports above are not known */
	assert_int_equal(verdict("P02", FACTS(NIC_BELOW, MPS("17", "256", "512"))), RS_UNKNOWN);
	assert_int_equal(verdict("P02", FACTS(NIC_BELOW, {"a", "pci/0000:17:00.0", "config",
							  "access denied", 0})),
			 RS_UNKNOWN);
}

static void test_payload_larger_than_the_port_above_is_malformed(void **state)
{
	struct judged j = judge(
		"P02", FACTS(PORT, NIC_BELOW, MPS("16", "256", "512"), MPS("17", "512", "512")));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->severity, RS_MAJOR);
	rs_audit_destroy(j.a);
}

/* ---- P03 ---- */

#define READS(mrrs, ext, rate)                                 \
	NIC_BELOW, {"a", "pci/0000:17:00.0", "mrrs", mrrs, 0}, \
		{"a", "pci/0000:17:00.0", "ext_tag", ext, 0},  \
		{"a", "nic/m", "pci", "0000:17:00.0", 0},      \
	{                                                      \
		"a", "nic/m", "rate_gbps", rate, 0             \
	}

static void test_reads_in_flight_carry_the_rate(void **state)
{
	/* 32 tags of 512 bytes over 0.8 us: 164 Gb/s */
	assert_int_equal(verdict("P03", FACTS(READS("512", "0", "200"))), RS_FAIL);
	assert_int_equal(verdict("P03", FACTS(READS("512", "0", "100"))), RS_PASS);
	/* 4096 is not needed with 256 tags */
	assert_int_equal(verdict("P03", FACTS(READS("512", "1", "400"))), RS_PASS);
	/* the port's rate is not known */
	assert_int_equal(
		verdict("P03", FACTS(NIC_BELOW, {"a", "pci/0000:17:00.0", "mrrs", "512", 0})),
		RS_NA);
}

static void test_undo_of_a_read_request_size_is_the_former_one(void **state)
{
	struct judged j = judge("P03", FACTS(READS("512", "0", "400")));

	assert_string_equal(j.a->findings[0]->fix[0].undo,
			    "setpci -s 0000:17:00.0 CAP_EXP+8.w=2000:7000");
	rs_audit_destroy(j.a);
}

/* ---- P06 ---- */

static void test_translation_by_the_nic_matters_in_guests(void **state)
{
#define GUEST {"a", "host", "virtual", "KVM", 0}
#define ATS(v)                                       \
	{                                            \
		"a", "pci/0000:17:00.0", "ats", v, 0 \
	}
	assert_int_equal(verdict("P06", FACTS(GUEST, NIC_BELOW, GPU_BELOW, ATS("0"))), RS_FAIL);
	assert_int_equal(verdict("P06", FACTS(GUEST, NIC_BELOW, GPU_BELOW, ATS("1"))), RS_PASS);
	/* bare metal: off is right */
	assert_int_equal(verdict("P06", FACTS(NIC_BELOW, GPU_BELOW, ATS("0"))), RS_NA);
	assert_int_equal(
		verdict("P06", FACTS(GUEST, NIC_BELOW, GPU_BELOW,
				     {"a", "pci/0000:17:00.0", "config", "access denied", 0})),
		RS_UNKNOWN);
}

/* ---- P08 ---- */

static void test_each_device_has_a_numa_node(void **state)
{
#define NODE(v) {"a", "pci/0000:17:00.0", "numa_node", v, 0}
#define ONLINE(v)                                \
	{                                        \
		"a", "host", "numa_online", v, 0 \
	}
	assert_int_equal(verdict("P08", FACTS(NIC_BELOW, NODE("-1"), ONLINE("0-1"))), RS_FAIL);
	assert_int_equal(verdict("P08", FACTS(NIC_BELOW, NODE("1"), ONLINE("0-1"))), RS_PASS);
	/* one node: -1 is normal */
	assert_int_equal(verdict("P08", FACTS(NIC_BELOW, NODE("-1"), ONLINE("0"))), RS_PASS);
	assert_int_equal(verdict("P08", FACTS(NIC_BELOW, NODE("-1"))), RS_UNKNOWN);
	/* two sources disagree */
	assert_int_equal(verdict("P08", FACTS(NIC_BELOW, NODE("1"), NODE("0"), ONLINE("0-1"))),
			 RS_UNKNOWN);
}

/* ---- P10 ---- */

static void test_socket_direct_reaches_both_sockets(void **state)
{
#define HALF(nic, bdf, node)                                           \
	{"a", "nic/" nic, "sys_image_guid", "0c42:a103:0075:3272", 0}, \
		{"a", "nic/" nic, "pci", bdf, 0}, {"a", "nic/" nic, "numa_node", node, 0}
	assert_int_equal(verdict("P10", FACTS(HALF("m0", "0000:17:00.0", "0"),
					      HALF("m1", "0000:af:00.0", "1"))),
			 RS_PASS);
	assert_int_equal(verdict("P10", FACTS(HALF("m0", "0000:17:00.0", "0"),
					      HALF("m1", "0000:af:00.0", "0"))),
			 RS_FAIL);
	/* two ports of one slot */
	assert_int_equal(verdict("P10", FACTS(HALF("m0", "0000:17:00.0", "0"),
					      HALF("m1", "0000:17:00.1", "0"))),
			 RS_NA);
	assert_int_equal(verdict("P10", FACTS({"a", "nic/m0", "sys_image_guid", "x", 0},
					      {"a", "nic/m0", "pci", "0000:17:00.0", 0},
					      {"a", "nic/m1", "sys_image_guid", "x", 0},
					      {"a", "nic/m1", "pci", "0000:af:00.0", 0})),
			 RS_UNKNOWN);
}

/* ---- P11 ---- */

static void test_writes_may_be_ordered_loosely(void **state)
{
#define LOOSE(v)                                                  \
	{                                                         \
		"a", "pci/0000:17:00.0", "relaxed_ordering", v, 0 \
	}
	struct judged j;

	assert_int_equal(verdict("P11", FACTS(NIC_BELOW, GPU_BELOW, LOOSE("1"))), RS_PASS);
	j = judge("P11", FACTS(NIC_BELOW, GPU_BELOW, LOOSE("0")));
	assert_int_equal(j.a->findings[0]->severity, RS_MINOR);
	rs_audit_destroy(j.a);
	j = judge("P11", FACTS(NIC_BELOW, GPU_BELOW, LOOSE("0"),
			       {"a", "host", "cpu_vendor", "AuthenticAMD", 0}));
	assert_int_equal(j.a->findings[0]->severity, RS_MAJOR);
	rs_audit_destroy(j.a);
	/* nothing says; no GPU: no matter */
	assert_int_equal(verdict("P11", FACTS(NIC_BELOW, GPU_BELOW)), RS_NA);
	assert_int_equal(verdict("P11", FACTS(NIC_BELOW, LOOSE("0"))), RS_NA);
}

/* ---- P13 ---- */

static void test_bar_maps_the_gpus_memory(void **state)
{
#define BAR(v) {"a", "pci/0000:18:00.0", "bar1_mib", v, 0}
#define FB(v)                                           \
	{                                               \
		"a", "pci/0000:18:00.0", "fb_mib", v, 0 \
	}
	assert_int_equal(verdict("P13", FACTS(GPU_BELOW, BAR("131072"), FB("81559"))), RS_PASS);
	assert_int_equal(verdict("P13", FACTS(GPU_BELOW, BAR("256"), FB("81559"))), RS_FAIL);
	assert_int_equal(verdict("P13", FACTS(GPU_BELOW, BAR("256"))), RS_FAIL);
	/* a display card's is small by right */
	assert_int_equal(verdict("P13", FACTS({"a", "pci/0000:18:00.0", "class", "0x030000", 0},
					      BAR("256"))),
			 RS_NA);
	assert_int_equal(verdict("P13", FACTS(GPU_BELOW)), RS_NA);
}

/* ---- P14 ---- */

static void test_errors_are_a_rate(void **state)
{
#define AER(kind, now, old)                                     \
	{"a", "pci/0000:17:00.0", "counter/aer_" kind, now, 0}, \
		{"a", "pci/0000:17:00.0", "counter/aer_" kind, old, 1}
#define HOUR                                       \
	{"a", "host", "uptime_s", "7200", 0},      \
	{                                          \
		"a", "host", "uptime_s", "3600", 1 \
	}
	assert_int_equal(verdict("P14", FACTS(AER("nonfatal", "4", "3"))), RS_FAIL);
	assert_int_equal(verdict("P14", FACTS(AER("nonfatal", "4", "4"))), RS_PASS);
	/* 60 an hour is one a minute; 61 is more */
	assert_int_equal(verdict("P14", FACTS(HOUR, AER("correctable", "60", "0"))), RS_PASS);
	assert_int_equal(verdict("P14", FACTS(HOUR, AER("correctable", "61", "0"))), RS_FAIL);
	/* one reading, or no clock, is no rate: told, and no more */
	struct judged j = judge("P14", FACTS(AER("correctable", "61", "0")));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->severity, RS_INFO);
	rs_audit_destroy(j.a);
	assert_int_equal(
		verdict("P14", FACTS({"a", "pci/0000:17:00.0", "counter/aer_fatal", "1", 0})),
		RS_FAIL);
}

static void test_kernel_log_names_the_narrow_link(void **state)
{
	struct judged j =
		judge("P14", FACTS({"a", "host", "pcie_limited",
				    "[ 12.3] mlx5_core 0000:17:00.0: 63.008 Gb/s available PCIe "
				    "bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:16:00.0 "
				    "(capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)",
				    0}));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_string_equal(j.a->findings[0]->subject[0].part, "0000:16:00.0");
	rs_audit_destroy(j.a);
	assert_int_equal(verdict("P14", FACTS({"a", "host", "kernel_error/1",
					       "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off "
					       "the bus.",
					       0})),
			 RS_FAIL);
}

/* ---- P01, P04, P05 by the tree ---- */

/* 15:00.0 (upstream) > 16:00.0 and 16:01.0 (downstream) > the NIC 17:00.0, the GPU 18:00.0 */
#define UNDER(bus, kind, parent)                          \
	{"a", "pci/0000:" bus, "kind", kind, 0},          \
	{                                                 \
		"a", "pci/0000:" bus, "parent", parent, 0 \
	}
#define SWITCH                                                  \
	UNDER("15:00.0", "bridge", "0000:14:00.0"),             \
		{"a", "pci/0000:14:00.0", "kind", "bridge", 0}, \
		UNDER("16:00.0", "bridge", "0000:15:00.0"),     \
		UNDER("16:01.0", "bridge", "0000:15:00.0"),     \
		UNDER("17:00.0", "nic", "0000:16:00.0"), UNDER("18:00.0", "gpu", "0000:16:01.0")
#define LINK(bus, speed, width)                              \
	{"a", "pci/0000:" bus, "link_speed", speed, 0},      \
	{                                                    \
		"a", "pci/0000:" bus, "link_width", width, 0 \
	}
#define MAX(bus, speed, width)                                   \
	{"a", "pci/0000:" bus, "max_link_speed", speed, 0},      \
	{                                                        \
		"a", "pci/0000:" bus, "max_link_width", width, 0 \
	}
#define PORT400                                     \
	{"a", "nic/m", "pci", "0000:17:00.0", 0},   \
	{                                           \
		"a", "nic/m", "rate_gbps", "400", 0 \
	}

static void test_narrowest_link_of_the_way_is_named(void **state)
{
	struct judged j =
		judge("P01", FACTS(SWITCH, PORT400, LINK("17:00.0", "320", "16"),
				   LINK("15:00.0", "160", "8"), MAX("15:00.0", "320", "16"),
				   MAX("14:00.0", "320", "16")));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->severity, RS_MAJOR);
	assert_string_equal(j.a->findings[0]->subject[1].part, "0000:15:00.0");
	assert_string_equal(j.a->findings[0]->fix[1].command,
			    "setpci -s 0000:14:00.0 CAP_EXP+10.w=0020:0020");
	rs_audit_destroy(j.a);
	assert_int_equal(verdict("P01", FACTS(SWITCH, PORT400, LINK("17:00.0", "320", "16"),
					      LINK("15:00.0", "320", "16"))),
			 RS_PASS);
}

static void test_width_is_judged_by_both_ends(void **state)
{
	struct judged j;

	/* both can x16, trained at x8 */
	j = judge("P01", FACTS(SWITCH, PORT400, LINK("17:00.0", "320", "8"),
			       MAX("17:00.0", "320", "16"), MAX("16:00.0", "320", "16")));
	assert_int_equal(j.a->findings[0]->severity, RS_MAJOR);
	rs_audit_destroy(j.a);
	/* a slot wired x8 is the platform's design */
	j = judge("P01", FACTS(SWITCH, PORT400, LINK("17:00.0", "320", "8"),
			       MAX("17:00.0", "320", "16"), MAX("16:00.0", "320", "8")));
	assert_int_equal(j.a->findings[0]->severity, RS_MINOR);
	rs_audit_destroy(j.a);
}

static void test_ports_that_are_down_need_no_rate(void **state)
{
	assert_int_equal(verdict("P01", FACTS(SWITCH, PORT400, LINK("17:00.0", "160", "16"),
					      {"a", "nic/m2", "pci", "0000:17:00.1", 0},
					      {"a", "nic/m2", "rate_gbps", "400", 0},
					      {"a", "nic/m2", "port_state", "DOWN", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("P01", FACTS(SWITCH, {"a", "nic/m", "pci", "0000:17:00.0", 0},
					      {"a", "nic/m", "rate_gbps", "200", 0},
					      LINK("17:00.0", "160", "16"),
					      {"a", "nic/m2", "pci", "0000:17:00.1", 0},
					      {"a", "nic/m2", "rate_gbps", "200", 0},
					      {"a", "nic/m2", "port_state", "DOWN", 0})),
			 RS_PASS);
	/* both up: 400 Gb/s through a slot of 230 */
	assert_int_equal(verdict("P01", FACTS(SWITCH, {"a", "nic/m", "pci", "0000:17:00.0", 0},
					      {"a", "nic/m", "rate_gbps", "200", 0},
					      LINK("17:00.0", "160", "16"),
					      {"a", "nic/m2", "pci", "0000:17:00.1", 0},
					      {"a", "nic/m2", "rate_gbps", "200", 0})),
			 RS_FAIL);
}

#define ACS(bus, v)                                       \
	{                                                 \
		"a", "pci/0000:" bus, "acs_control", v, 0 \
	}

static void test_redirection_counts_between_gpu_and_nic(void **state)
{
	struct judged j =
		judge("P04", FACTS(SWITCH, ACS("16:00.0", "0x1d"), ACS("14:00.0", "0x1d")));

	/* the downstream port, not the root port above the switch */
	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->n_subjects, 1);
	assert_string_equal(j.a->findings[0]->subject[0].part, "0000:16:00.0");
	rs_audit_destroy(j.a);
	assert_int_equal(
		verdict("P04", FACTS(SWITCH, ACS("16:00.0", "0x01"), ACS("14:00.0", "0x1d"))),
		RS_PASS);
}

#define APART                                                   \
	{"a", "pci/0000:14:00.0", "kind", "bridge", 0},         \
		{"a", "pci/0000:24:00.0", "kind", "bridge", 0}, \
		UNDER("17:00.0", "nic", "0000:14:00.0"), UNDER("18:00.0", "gpu", "0000:24:00.0")

static void test_root_complex_alone_makes_redirection_moot(void **state)
{
	struct judged j;

	assert_int_equal(verdict("P04", FACTS(APART, ACS("14:00.0", "0x1d"))), RS_NA);
	j = judge("P05", FACTS(APART, ACS("14:00.0", "0x1d"),
			       {"a", "host", "iommu_default", "Translated", 0}));
	assert_int_equal(j.a->findings[0]->severity, RS_INFO);
	rs_audit_destroy(j.a);
	assert_int_equal(verdict("P05", FACTS(SWITCH, ACS("16:00.0", "0x1d"),
					      {"a", "host", "iommu_group_type/3", "DMA-FQ", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("P05", FACTS(SWITCH, ACS("16:00.0", "0x1d"),
					      {"a", "host", "iommu_group_type/3", "identity", 0})),
			 RS_PASS);
	/* a silent command line */
	assert_int_equal(verdict("P05", FACTS(SWITCH, PORT400, {"a", "host", "cmdline", "ro", 0})),
			 RS_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_payload_is_what_the_path_takes),
		cmocka_unit_test(test_payload_larger_than_the_port_above_is_malformed),
		cmocka_unit_test(test_reads_in_flight_carry_the_rate),
		cmocka_unit_test(test_undo_of_a_read_request_size_is_the_former_one),
		cmocka_unit_test(test_translation_by_the_nic_matters_in_guests),
		cmocka_unit_test(test_each_device_has_a_numa_node),
		cmocka_unit_test(test_socket_direct_reaches_both_sockets),
		cmocka_unit_test(test_writes_may_be_ordered_loosely),
		cmocka_unit_test(test_bar_maps_the_gpus_memory),
		cmocka_unit_test(test_errors_are_a_rate),
		cmocka_unit_test(test_kernel_log_names_the_narrow_link),
		cmocka_unit_test(test_narrowest_link_of_the_way_is_named),
		cmocka_unit_test(test_width_is_judged_by_both_ends),
		cmocka_unit_test(test_ports_that_are_down_need_no_rate),
		cmocka_unit_test(test_redirection_counts_between_gpu_and_nic),
		cmocka_unit_test(test_root_complex_alone_makes_redirection_moot),
		cmocka_unit_test(test_gpu_memory_can_be_registered),
		cmocka_unit_test(test_peer_memory_depends_on_the_release),
		cmocka_unit_test(test_absence_needs_a_whole_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
