/* Frames, errors and drops of interfaces: tables and paragraphs of switches and hosts. */
#include "reading.h"

static void value(const char *text, const char *subject, const char *name, const char *is)
{
	struct rs_audit *a = reading(text);

	expect(a, subject, name, is);
	rs_audit_destroy(a);
}

static void test_tables(void **state)
{
	static const char sonic[] =
		"      IFACE    STATE       RX_OK       RX_BPS    RX_UTIL    RX_ERR    RX_DRP    "
		"RX_OVR       TX_OK       TX_BPS    TX_UTIL    TX_ERR     TX_DRP    TX_OVR\n"
		"-----------  -------  ----------  -----------  ---------  --------\n"
		"  Ethernet0        U  61,115,381  286.58 KB/s      0.00%         7         5      "
		"   0"
		"  51,847,244  233.95 KB/s      0.00%         0  9,268,210         0\n";
	static const char netstat[] =
		"Kernel Interface table\n"
		"Iface      MTU    RX-OK RX-ERR RX-DRP RX-OVR    TX-OK TX-ERR TX-DRP TX-OVR Flg\n"
		"ens1f0    9000  7361728     12      3 0       2030188      0      4      0 BMRU\n";
	static const char errors[] =
		"Port          FCS    Align   Symbol   Rx   Runts   Giants   Tx\n"
		"Et1/1         42        0        3    0       0        0    0\n";

	value(sonic, "port/Ethernet0", "counter/frames_in", "61115381");
	value(sonic, "port/Ethernet0", "counter/errors_in", "7");
	value(sonic, "port/Ethernet0", "counter/dropped_out", "9268210");
	value(netstat, "netdev/ens1f0", "counter/errors_in", "12");
	value(netstat, "netdev/ens1f0", "counter/dropped_out", "4");
	value(errors, "port/Et1/1", "counter/crc_in", "42");
}

static void test_paragraphs(void **state)
{
	static const char eos[] =
		"Ethernet5/1 is up, line protocol is up (connected)\n"
		"  Hardware is Ethernet, address is 0200.0000.0001\n"
		"  Ethernet MTU 9214 bytes, BW 100000000 kbit\n"
		"     303476 packets input, 187544478586224 bytes\n"
		"     8863 runts, 2 giants\n"
		"     151 input errors, 144 CRC, 0 alignment, 6 symbol, 17 input discards\n"
		"     0 PAUSE input\n"
		"     586132 packets output, 665804887152081 bytes\n"
		"     0 output errors, 0 collisions\n"
		"     0 late collision, 0 deferred, 31 output discards\n";
	static const char os10[] = "Ethernet 1/1/3 is up, line protocol is up\n"
				   "Hardware is Dell EMC Eth, address is 02:00:00:00:00:03\n"
				   "MTU 9216 bytes, IP MTU 9184 bytes\n"
				   "Input statistics:\n"
				   "     90000 packets, 7200000 octets\n"
				   "     4 CRC, 0 overrun, 10 discarded\n"
				   "Output statistics:\n"
				   "     80000 packets, 6400000 octets\n"
				   "     0 throttles, 12 discarded, 0 Collisions,  0 wred drops\n";
	static const char config[] =
		"ib0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 2044\n"
		"        RX packets 5000  bytes 7000 (6.8 KiB)\n"
		"        RX errors 9  dropped 2  overruns 0  frame 0\n"
		"        TX packets 100  bytes 200 (200.0 B)\n"
		"        TX errors 0  dropped 1 overruns 0  carrier 0  collisions 0\n";

	value(eos, "port/Ethernet5/1", "counter/frames_in", "303476");
	value(eos, "port/Ethernet5/1", "counter/errors_in", "151");
	value(eos, "port/Ethernet5/1", "counter/crc_in", "144");
	value(eos, "port/Ethernet5/1", "counter/dropped_out", "31");
	value(eos, "port/Ethernet5/1", "mtu", "9214");
	value(os10, "port/Ethernet1/1/3", "counter/frames_in", "90000");
	value(os10, "port/Ethernet1/1/3", "counter/crc_in", "4");
	value(os10, "port/Ethernet1/1/3", "counter/dropped_in", "10");
	value(os10, "port/Ethernet1/1/3", "counter/dropped_out", "12");
	value(config, "netdev/ib0", "counter/errors_in", "9");
	value(config, "netdev/ib0", "counter/dropped_out", "1");
	value(config, "netdev/ib0", "mtu", "2044");
}

static void test_prose_of_interfaces_is_no_table(void **state)
{
	static const char prose[] =
		"The port that we use is up and 5 packets input would be fine, 3 CRC are not.\n"
		"Our switch 7 is down since Monday.\n";
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = prose, .size = strlen(prose)};
	struct rs_audit *a;
	uint32_t at = 0;

	assert_int_equal(rs_audit_create(&a), 0);
	rs_read_input(a, &in);
	rs_facts_seal(a->facts);
	assert_null(rs_facts_next(a->facts, &at, "h", "port/", ""));
	rs_audit_destroy(a);
}

#define PORT(name, number)                                        \
	{                                                         \
		"s", "port/Ethernet1", "counter/" name, number, 0 \
	}

static enum rs_severity severity_of(const char *check, const struct told *t)
{
	struct judged j = judge(check, t);
	enum rs_severity s = RS_INFO;

	if (j.a->n_findings && j.a->findings[0]->verdict == RS_FAIL)
		s = j.a->findings[0]->severity;
	rs_audit_destroy(j.a);
	return s;
}

/* One in 500 is a fault, one in 100,000 still; what a good link may have is none. */
static void test_errors_are_judged_by_their_share(void **state)
{
	assert_int_equal(
		severity_of("C07", FACTS(PORT("frames_in", "1000000"), PORT("errors_in", "2000"))),
		RS_MAJOR);
	assert_int_equal(
		severity_of("C07", FACTS(PORT("frames_in", "100000000"), PORT("errors_in", "100"))),
		RS_MINOR);
	assert_int_equal(severity_of("C07", FACTS(PORT("frames_in", "100000000000"),
						  PORT("errors_in", "100"))),
			 RS_INFO);
	/* without what came nothing tells the share */
	assert_int_equal(severity_of("C07", FACTS(PORT("crc_in", "42"))), RS_MINOR);
	assert_int_equal(
		severity_of("C08", FACTS(PORT("frames_out", "1000"), PORT("dropped_out", "500"))),
		RS_MAJOR);
	assert_int_equal(
		severity_of("C08", FACTS(PORT("frames_out", "100000"), PORT("dropped_out", "50"))),
		RS_MINOR);
}

/* ---- nccl-tests ---- */

static const char *first_of(const char *text)
{
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = strlen(text)};
	static char id[8];
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_read_input(a, &in), 1);
	assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
	*id = '\0';
	if (a->n_findings && a->findings[0]->verdict == RS_FAIL)
		snprintf(id, sizeof(id), "%s", a->findings[0]->rule->id);
	rs_audit_destroy(a);
	return id;
}

static void test_what_nccl_tests_measured(void **state)
{
	static const char falls[] = "     1048576        262144     float     sum      -1    99.5  "
				    " 10.54   18.44      0\n"
				    "    33554432       8388608     float     sum      -1  2180.1  "
				    " 15.39   29.50      0\n"
				    "    67108864      16777216     float     sum      -1 24410.0  "
				    "  2.75    5.27      0\n"
				    "# Avg bus bandwidth    : 17.7\n";
	static const char grows[] = "     1048576        262144     float     sum      -1    99.5  "
				    " 10.54   18.44      0\n"
				    "    33554432       8388608     float     sum      -1  2180.1  "
				    " 15.39   29.50      0\n"
				    "# Avg bus bandwidth    : 23.9\n"
				    "     1048576        262144     float     sum      -1   999.5  "
				    "  1.05    1.84      0\n"
				    "# Avg bus bandwidth    : 1.84\n";
	static const char alone[] =
		"#  Rank  0 Group  0 Pid   3591 on   node1 device  0 [0x03] NVIDIA A100\n"
		"#  Rank  0 Group  0 Pid   2451 on   node2 device  0 [0x03] NVIDIA A100\n";
	static const char runs[] =
		"#  Rank  0 Group  0 Pid   3591 on   node1 device  0 [0x03] NVIDIA A100\n"
		"     1048576        262144     float     sum      -1    99.5   10.54   18.44      "
		"0\n"
		"#  Rank  0 Group  0 Pid   4451 on   node1 device  0 [0x03] NVIDIA A100\n";
	static const char none[] = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0\n";

	assert_string_equal(first_of(falls), "M01");
	assert_string_equal(first_of(grows), "");
	assert_string_equal(first_of(alone), "N18");
	assert_string_equal(first_of(runs), "");
	assert_string_equal(first_of(none), "N18");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_paragraphs),
		cmocka_unit_test(test_prose_of_interfaces_is_no_table),
		cmocka_unit_test(test_errors_are_judged_by_their_share),
		cmocka_unit_test(test_what_nccl_tests_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
