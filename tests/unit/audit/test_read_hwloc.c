/* hwloc's XML: what becomes facts, formats that number their devices differently, and what a link's
 * bandwidth is judged as. */
#include "audit/facts/look.h"
#include "audit/price/model.h"
#include "reading.h"

/* Two nodes; a NIC below a switch of node 1, its port up; a GPU beside it. */
#define TOPOLOGY(version, fabrics, network, coprocessor)                                          \
	"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"                    \
	"<topology version=\"" version "\">\n"                                                    \
	"<object type=\"Machine\" os_index=\"0\" nodeset=\"0x00000003\">\n"                       \
	"<info name=\"OSRelease\" value=\"6.8.0\"/>\n"                                            \
	"<info name=\"DMISysVendor\" value=\"QEMU\"/>\n"                                          \
	"<object type=\"Package\" nodeset=\"0x00000001\">\n"                                      \
	"<object type=\"NUMANode\" os_index=\"0\" nodeset=\"0x00000001\"/></object>\n"            \
	"<object type=\"Package\" nodeset=\"0x00000002\">\n"                                      \
	"<object type=\"NUMANode\" os_index=\"1\" nodeset=\"0x00000002\"/>\n"                     \
	"<object type=\"Bridge\" bridge_type=\"0-1\" bridge_pci=\"0000:[80-8f]\">\n"              \
	"<object type=\"Bridge\" bridge_type=\"1-1\" bridge_pci=\"0000:[81-83]\" "                \
	"pci_busid=\"0000:80:01.0\" pci_type=\"0604 [8086:347a] [0:0] 04\" "                      \
	"pci_link_speed=\"15.753846\">\n"                                                         \
	"<object type=\"PCIDev\" pci_busid=\"0000:82:00.0\" pci_type=\"0200 [15b3:1021] [0:0]\" " \
	"pci_link_speed=\"15.753846\">\n"                                                         \
	"<object type=\"OSDev\" name=\"eth4\" osdev_type=\"" network "\">"                        \
	"<info name=\"Address\" value=\"b8:ce:f6:00:00:01\"/></object>\n"                         \
	"<object type=\"OSDev\" name=\"mlx5_0\" osdev_type=\"" fabrics "\">"                      \
	"<info name=\"NodeGUID\" value=\"b8ce:f603:0000:0001\"/>"                                 \
	"<info name=\"Port1State\" value=\"4\"/></object></object>\n"                             \
	"<object type=\"PCIDev\" pci_busid=\"0000:83:00.0\" pci_type=\"0302 [10de:2330] [0:0]\" " \
	"pci_link_speed=\"1.000000\">"                                                            \
	"<object type=\"OSDev\" name=\"nvml0\" osdev_type=\"" coprocessor "\">"                   \
	"<info name=\"GPUModel\" value=\"H100\"/></object></object>\n"                            \
	"</object></object></object></object></topology>\n"

static void test_the_tree_becomes_facts_in_each_format(void **state)
{
	static const char *const formats[] = {TOPOLOGY("3.0", "48", "16", "12"),
					      TOPOLOGY("2.0", "3", "2", "5")};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_audit *a = reading(formats[i]);

		expect(a, "host", "numa_online", "0-1");
		expect(a, "host", "kernel", "6.8.0");
		expect(a, "pci/0000:80:01.0", "parent", "pci0000:80");
		expect(a, "pci/0000:80:01.0", "secondary_bus", "129-131");
		expect(a, "pci/0000:82:00.0", "parent", "0000:80:01.0");
		expect(a, "pci/0000:82:00.0", "vendor", "0x15b3");
		expect(a, "pci/0000:82:00.0", "numa_node", "1");
		expect(a, "pci/0000:82:00.0", "link_gbytes", "15.753846");
		/* of several links of that bandwidth it is not said which one it is */
		expect(a, "pci/0000:82:00.0", "link_speed", NULL);
		expect(a, "pci/0000:83:00.0", "product", "H100");
		expect(a, "nic/mlx5_0", "pci", "0000:82:00.0");
		expect(a, "nic/mlx5_0", "port_state", "ACTIVE");
		expect(a, "nic/mlx5_0", "node_guid", "b8ce:f603:0000:0001");
		expect(a, "netdev/eth4", "bus-info", "0000:82:00.0");
		expect(a, "netdev/eth4", "mac", "b8:ce:f6:00:00:01");
		assert_int_equal(facts(a, "nic/", ""), 3);
		rs_audit_destroy(a);
	}
	(void)state;
}

static void test_devices_of_the_whole_machine_have_no_node(void **state)
{
	struct rs_audit *a = reading("<topology version=\"2.0\"><object type=\"Machine\" "
				     "nodeset=\"0x3\"><object type=\"PCIDev\" "
				     "pci_busid=\"0000:82:00.0\" pci_type=\"0200 [15b3:1021]\" "
				     "pci_link_speed=\"0.000000\"/></object></topology>");

	expect(a, "pci/0000:82:00.0", "device", "0x1021");
	expect(a, "pci/0000:82:00.0", "numa_node", NULL);
	expect(a, "pci/0000:82:00.0", "link_gbytes", NULL);
	rs_audit_destroy(a);
	(void)state;
}

static void test_the_model_takes_the_bandwidth_of_busy_devices(void **state)
{
	struct rs_audit *a = reading(TOPOLOGY("3.0", "48", "16", "12"));
	struct rs_host *h;

	assert_int_equal(rs_audit_host(a, "h", &h, NULL), 0);
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_NIC) {
			/* the oldest link of that bandwidth stands for it */
			assert_int_equal(h->parts[i].up.gen, 3);
			assert_int_equal(h->parts[i].up.lanes, 16);
			assert_int_equal(h->parts[i].numa, 1);
		} else if (h->parts[i].kind == RS_PART_GPU) {
			/* an idle GPU's rate says nothing of what it can */
			assert_int_equal(h->parts[i].up.gen, 0);
		}
	rs_audit_destroy(a);
	(void)state;
}

/* 15.75 GB/s carry 115 Gb/s of data: enough for a port of 100, not for one of 200. */
static void test_a_bandwidth_is_judged_against_the_ports(void **state)
{
	assert_int_equal(
		verdict("P01", FACTS({"h", "pci/0000:82:00.0", "kind", "nic", 0},
				     {"h", "pci/0000:82:00.0", "link_gbytes", "15.753846", 0},
				     {"h", "nic/mlx5_0", "pci", "0000:82:00.0", 0},
				     {"h", "nic/mlx5_0", "rate_gbps", "100", 0})),
		RS_PASS);
	assert_int_equal(
		verdict("P01", FACTS({"h", "pci/0000:82:00.0", "kind", "nic", 0},
				     {"h", "pci/0000:82:00.0", "link_gbytes", "15.753846", 0},
				     {"h", "nic/mlx5_0", "pci", "0000:82:00.0", 0},
				     {"h", "nic/mlx5_0", "rate_gbps", "200", 0})),
		RS_FAIL);
	assert_int_equal(
		verdict("P01", FACTS({"h", "pci/0000:82:00.0", "kind", "nic", 0},
				     {"h", "pci/0000:82:00.0", "link_gbytes", "15.753846", 0},
				     {"h", "nic/mlx5_0", "pci", "0000:82:00.0", 0})),
		RS_UNKNOWN);
	(void)state;
}

static void test_not_every_display_and_network_controller_counts(void **state)
{
	static const struct {
		const char *class, *vendor, *device, *kind;
	} known[] = {
		{"0x0300", "0x1002", "0x515e", "other"}, /* ES1000 */
		{"0x0300", "0x1002", "0x744c", "gpu"},   /* RX 7900 */
		{"0x0380", "0x1002", "0x740c", "gpu"},   /* MI250 */
		{"0x1200", "0x1002", "0x74a1", "gpu"},   /* MI300X */
		{"0x1200", "0x8086", "0x0b25", "other"}, /* DSA */
		{"0x0280", "0x15b3", "0x1003", "nic"},   /* ConnectX-3 */
		{"0x0280", "0x8086", "0x2725", "other"}, /* Wi-Fi */
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct judged j = judge("P09", FACTS({"h", "pci/0", "class", known[i].class, 0},
						     {"h", "pci/0", "vendor", known[i].vendor, 0},
						     {"h", "pci/0", "device", known[i].device, 0}));

		assert_string_equal(rs_look_kind(j.a, "h", "pci/0"), known[i].kind);
		rs_audit_destroy(j.a);
	}
	(void)state;
}

static void test_a_machine_that_smbios_calls_a_guests_is_one(void **state)
{
	static const struct {
		const char *vendor, *product;
		bool guest;
	} known[] = {
		{"QEMU", "Standard PC (Q35 + ICH9, 2009)", true},
		{"Microsoft Corporation", "Virtual Machine", true},
		{"Amazon EC2", "p5.48xlarge", true},
		{"Amazon EC2", "i3.metal", false},
		{"Supermicro", "SYS-821GE-TNHR", false},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct judged j =
			judge("P09", FACTS({"h", "host", "dmi_vendor", known[i].vendor, 0},
					   {"h", "host", "dmi_product", known[i].product, 0}));

		assert_int_equal(rs_look_guest(j.a, "h"), known[i].guest);
		rs_audit_destroy(j.a);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_tree_becomes_facts_in_each_format),
		cmocka_unit_test(test_devices_of_the_whole_machine_have_no_node),
		cmocka_unit_test(test_the_model_takes_the_bandwidth_of_busy_devices),
		cmocka_unit_test(test_not_every_display_and_network_controller_counts),
		cmocka_unit_test(test_a_machine_that_smbios_calls_a_guests_is_one),
		cmocka_unit_test(test_a_bandwidth_is_judged_against_the_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
