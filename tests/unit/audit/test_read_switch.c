/* Switch configuration and neighbours, as each vendor writes them: what is read, what is not
 * made up, and that two spellings of one configuration are one. */
#include <stdlib.h>
#include <unistd.h>
#include "reading.h"

/* ---- Junos ---- */

static const char junos_braces[] =
	"system {\n    host-name leaf7;\n}\n"
	"interfaces {\n"
	"    et-0/0/1 {\n        number-of-sub-ports 2;\n"
	"        speed 400g;\n    }\n"
	"    et-0/0/1:0 {\n        mtu 9216;\n"
	"        unit 0 {\n            family inet {\n"
	"                mtu 9170;\n            }\n        }\n    }\n"
	"    xe-0/0/9 {\n        disable;\n    }\n"
	"    inactive: et-0/0/5 {\n        mtu 1500;\n    }\n}\n"
	"class-of-service {\n"
	"    classifiers {\n        dscp d1 {\n"
	"            forwarding-class CNP {\n"
	"                loss-priority low code-points cs6;\n            }\n"
	"            forwarding-class RDMA {\n"
	"                loss-priority low code-points [ 101000 101001 ];\n"
	"            }\n        }\n    }\n"
	"    drop-profiles {\n        dp {\n            interpolate {\n"
	"                fill-level [ 40 80 ];\n"
	"                drop-probability [ 0 100 ];\n            }\n"
	"        }\n    }\n"
	"    forwarding-classes {\n"
	"        class CNP queue-num 6;\n"
	"        class RDMA queue-num 4 no-loss pfc-priority 5;\n    }\n"
	"    congestion-notification-profile {\n        cnp {\n"
	"            pfc-watchdog;\n            input {\n"
	"                dscp {\n                    code-point 101000 {\n"
	"                        pfc;\n                    }\n"
	"                }\n            }\n        }\n    }\n"
	"    interfaces {\n        et-* {\n"
	"            congestion-notification-profile cnp;\n"
	"            scheduler-map sm;\n            unit * {\n"
	"                classifiers {\n                    dscp d1;\n"
	"                }\n            }\n        }\n    }\n"
	"    scheduler-maps {\n        sm {\n"
	"            forwarding-class RDMA scheduler s1;\n        }\n    }\n"
	"    schedulers {\n        s1 {\n"
	"            drop-profile-map loss-priority any protocol any "
	"drop-profile dp;\n"
	"            explicit-congestion-notification;\n        }\n"
	"    }\n}\n";

static const char junos_set[] =
	"set system host-name leaf7\n"
	"set interfaces et-0/0/1 number-of-sub-ports 2\n"
	"set interfaces et-0/0/1 speed 400g\n"
	"set interfaces et-0/0/1:0 mtu 9216\n"
	"set interfaces et-0/0/1:0 unit 0 family inet mtu 9170\n"
	"set interfaces xe-0/0/9 disable\n"
	"set interfaces et-0/0/5 mtu 1500\n"
	"deactivate interfaces et-0/0/5\n"
	"set class-of-service classifiers dscp d1 forwarding-class CNP loss-priority low "
	"code-points cs6\n"
	"set class-of-service classifiers dscp d1 forwarding-class RDMA loss-priority low "
	"code-points 101000\n"
	"set class-of-service classifiers dscp d1 forwarding-class RDMA loss-priority low "
	"code-points 101001\n"
	"set class-of-service drop-profiles dp interpolate fill-level 40 drop-probability 0\n"
	"set class-of-service drop-profiles dp interpolate fill-level 80 drop-probability 100\n"
	"set class-of-service forwarding-classes class CNP queue-num 6\n"
	"set class-of-service forwarding-classes class RDMA queue-num 4\n"
	"set class-of-service forwarding-classes class RDMA no-loss\n"
	"set class-of-service forwarding-classes class RDMA pfc-priority 5\n"
	"set class-of-service congestion-notification-profile cnp pfc-watchdog\n"
	"set class-of-service congestion-notification-profile cnp input dscp code-point 101000 "
	"pfc\n"
	"set class-of-service interfaces et-* congestion-notification-profile cnp\n"
	"set class-of-service interfaces et-* scheduler-map sm\n"
	"set class-of-service interfaces et-* unit * classifiers dscp d1\n"
	"set class-of-service scheduler-maps sm forwarding-class RDMA scheduler s1\n"
	"set class-of-service schedulers s1 drop-profile-map loss-priority any protocol any "
	"drop-profile dp\n"
	"set class-of-service schedulers s1 explicit-congestion-notification\n";

static void check_junos(const struct rs_audit *a)
{
	const char *port = "port/et-0/0/1:0";

	expect(a, "host", "os", "Junos");
	expect(a, "host", "hostname", "leaf7");
	expect(a, port, "speed_mbps", "400000");
	expect(a, port, "mtu", "9216");
	expect(a, port, "mtu_ip", "9170");
	/* the class is the queue; PFC has a number of its own */
	expect(a, port, "dscp_to_tc/40", "4");
	expect(a, port, "dscp_to_tc/41", "4");
	expect(a, port, "dscp_to_tc/48", "6");
	expect(a, port, "tc_to_pg/4", "5");
	expect(a, port, "pfc/5", "1");
	expect(a, port, "pfc/3", NULL);
	expect(a, port, "pfc_dscp/40", "1");
	expect(a, port, "pfc_dscp/41", NULL);
	expect(a, port, "queue/4/ecn", "1");
	expect(a, port, "queue/4/kmin_percent", "40");
	expect(a, port, "queue/4/kmax_percent", "80");
	expect(a, port, "queue/4/pmax", "100");
	expect(a, port, "watchdog", "on");
	expect(a, port, "watchdog/detection_ms", "200");
	/* a port that is split, one that is switched off by the editor, one that no wildcard means
	 */
	assert_int_equal(facts(a, "port/et-0/0/1", "pfc/"), facts(a, port, "pfc/"));
	assert_int_equal(facts(a, "port/et-0/0/5", ""), 0);
	assert_int_equal(facts(a, "port/xe-0/0/9", "dscp_to_tc"), 0);
	expect(a, "port/xe-0/0/9", "admin", "down");
}

static void test_junos_reads_the_same_in_braces_and_as_set_lines(void **state)
{
	struct rs_audit *a = reading(junos_braces), *b = reading(junos_set);

	check_junos(a);
	check_junos(b);
	assert_int_equal(facts(a, "", ""), facts(b, "", ""));
	rs_audit_destroy(a);
	rs_audit_destroy(b);
}

static void test_junos_group_that_is_applied_counts_as_written(void **state)
{
	struct rs_audit *a =
		reading("set groups G class-of-service forwarding-classes class X queue-num 4\n"
			"set groups G class-of-service classifiers dscp d forwarding-class X "
			"loss-priority low code-points 000001\n"
			"set groups G class-of-service interfaces et-0/0/1 unit 0 classifiers dscp "
			"d\n"
			"set system host-name a\nset interfaces et-0/0/1 mtu 9000\n"
			"set apply-groups G\n");

	expect(a, "port/et-0/0/1", "dscp_to_tc/1", "4");
	rs_audit_destroy(a);
}

static void test_junos_stanza_alone_speaks_of_its_wildcard(void **state)
{
	const char *from = strstr(junos_braces, "class-of-service {");
	struct rs_audit *a = reading(from);

	expect(a, "port/et-*", "dscp_to_tc/40", "4");
	expect(a, "port/et-*", "pfc/5", "1");
	rs_audit_destroy(a);
}

static void test_junos_default_class_gives_way_to_a_queue_in_use(void **state)
{
	struct rs_audit *a = reading(strstr(junos_braces, "class-of-service {"));

	/* the built-in class no-loss has queue 4 and priority 4: RDMA took the queue */
	expect(a, "port/et-*", "pfc/4", NULL);
	rs_audit_destroy(a);
}

static void test_junos_cut_short_is_read_as_far_as_it_goes(void **state)
{
	for (size_t n = 120; n < sizeof(junos_braces); n += 37) {
		char *cut = strndup(junos_braces, n);
		struct rs_input in = {
			.host = "h", .path = "f", .inner = "f", .data = cut, .size = n};
		struct rs_audit *a;

		assert_int_equal(rs_audit_create(&a), 0);
		assert_true(rs_read_input(a, &in) >= 0);
		assert_int_equal(a->err, 0);
		rs_audit_destroy(a);
		free(cut);
	}
}

/* ---- Several machines in one directory ---- */

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_configurations_side_by_side_are_machines(void **state)
{
	static const char *const names[] = {"a.conf", "b.conf", "c.txt"};
	char dir[] = "/tmp/ripstop-test-XXXXXX", path[256];
	struct rs_error e = {0};
	struct rs_audit *a;

	assert_non_null(mkdtemp(dir));
	put_file(dir, names[0], "set system host-name l1\nset interfaces et-0/0/1 mtu 9000\n");
	put_file(dir, names[2], "FEC parameters for eth9:\nActive FEC encoding: RS\n");
	/* one that names itself is the directory's machine */
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, dir, NULL, 0, &e), 0);
	rs_facts_seal(a->facts);
	assert_int_equal(rs_facts_hosts(a->facts), 1);
	rs_audit_destroy(a);
	/* two that name themselves are two; what names nobody stays the directory's */
	put_file(dir, names[1], "set system host-name l2\nset interfaces et-0/0/1 mtu 9000\n");
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, dir, NULL, 0, &e), 0);
	rs_facts_seal(a->facts);
	assert_int_equal(rs_facts_hosts(a->facts), 3);
	assert_non_null(rs_facts_get(a->facts, "l1", "port/et-0/0/1", "mtu"));
	assert_non_null(rs_facts_get(a->facts, "l2", "port/et-0/0/1", "mtu"));
	rs_audit_destroy(a);
	/* unless the user says whose they are */
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, dir, "leaf", 0, &e), 0);
	rs_facts_seal(a->facts);
	assert_int_equal(rs_facts_hosts(a->facts), 1);
	rs_audit_destroy(a);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* ---- EOS ---- */

static const char eos[] =
	"! device: leaf3\n!\nhostname leaf3\n!\n"
	"qos profile RDMA\n   qos trust dscp\n   service-policy type qos input p1\n   !\n"
	"   tx-queue 5\n      bandwidth percent 60\n"
	"      random-detect ecn minimum-threshold 320 kbytes maximum-threshold 1 "
	"mbytes max-mark-probability 90\n"
	"   !\n   priority-flow-control on\n"
	"   priority-flow-control priority 5 no-drop\n"
	"   priority-flow-control pause watchdog\n!\n"
	"interface Ethernet1/1\n   mtu 9214\n   speed 400g-8\n"
	"   no switchport\n   error-correction encoding reed-solomon\n"
	"   service-profile RDMA\n!\n"
	"interface Ethernet2/1\n   service-profile RDMA\n   qos trust cos\n"
	"   comment\n   priority-flow-control priority 0 no-drop\n   EOF\n!\n"
	"interface Ethernet3/1\n   priority-flow-control priority 5 no-drop\n!\n"
	"interface Ethernet1/1.100\n   mtu 1500\n!\n"
	"qos map dscp 40 41-43 to traffic-class 5\n"
	"qos map traffic-class 5 to tx-queue 5\n"
	"priority-flow-control pause watchdog default timeout 0.2\n";

static void test_eos_profile_counts_where_it_is_used(void **state)
{
	struct rs_audit *a = reading(eos);

	expect(a, "host", "hostname", "leaf3");
	expect(a, "port/Ethernet1/1", "trust", "dscp");
	expect(a, "port/Ethernet1/1", "pfc/5", "1");
	expect(a, "port/Ethernet1/1", "mtu_ip", "9214");
	expect(a, "port/Ethernet1/1", "speed_mbps", "400000");
	expect(a, "port/Ethernet1/1", "fec", "rs");
	expect(a, "port/Ethernet1/1", "queue/5/kmin", "320000");
	expect(a, "port/Ethernet1/1", "queue/5/kmax", "1000000");
	expect(a, "port/Ethernet1/1", "watchdog", "on");
	expect(a, "port/*", "dscp_to_tc/42", "5");
	expect(a, "port/*", "watchdog/detection_ms", "200");
	rs_audit_destroy(a);
}

static void test_eos_interface_wins_over_its_profile(void **state)
{
	struct rs_audit *a = reading(eos);

	expect(a, "port/Ethernet2/1", "trust", "pcp");
	expect(a, "port/Ethernet2/1", "pfc/5", "1");
	/* a comment is no configuration */
	expect(a, "port/Ethernet2/1", "pfc/0", NULL);
	rs_audit_destroy(a);
}

static void test_eos_no_drop_without_flow_control_on_protects_nothing(void **state)
{
	struct rs_audit *a = reading(eos);

	expect(a, "port/Ethernet3/1", "pfc/5", "0");
	assert_int_equal(facts(a, "port/Ethernet1/1.100", ""), 0);
	rs_audit_destroy(a);
}

static void test_eos_tables_of_show(void **state)
{
	struct rs_audit *a = reading(
		"leaf3#show interfaces status\n"
		"Port       Name            Status       Vlan     Duplex Speed  Type         "
		"Flags\n"
		"Et1/1      to gpu 01       connected    routed   full   400G   400GBASE-DR4\n"
		"Et2/1                      notconnect   1        full   400G   Not Present\n"
		"Et3/1      spare           disabled     1        full   400G   Not Present\n"
		"Et4        old             connected    1        a-full a-100G 100GBASE-CR4\n\n"
		"leaf3#show lldp neighbors\n"
		"Port          Neighbor Device ID       Neighbor Port ID    TTL\n"
		"---------- ------------------------ ---------------------- ---\n"
		"Et1/1         gpu01                    eth2                120\n\n"
		"leaf3#show priority-flow-control counters\n"
		"Port           RxPfc           TxPfc\n"
		"Et1/1             12               7\n");

	expect(a, "port/Ethernet1/1", "speed_mbps", "400000");
	expect(a, "port/Ethernet1/1", "neighbour", "gpu01");
	expect(a, "port/Ethernet1/1", "neighbour_port", "eth2");
	expect(a, "port/Ethernet1/1", "counter/tx_pause", "7");
	expect(a, "port/Ethernet4", "speed_mbps", "100000");
	/* a port without a link has no speed */
	expect(a, "port/Ethernet2/1", "speed_mbps", NULL);
	expect(a, "port/Ethernet3/1", "admin", "down");
	rs_audit_destroy(a);
}

/* ---- Cumulus ---- */

static void check_nvue(const struct rs_audit *a)
{
	expect(a, "host", "os", "Cumulus");
	expect(a, "port/swp2", "mtu", "9216");
	expect(a, "port/swp3", "mtu", NULL);
	expect(a, "port/swp1s1", "speed_mbps", "400000");
	expect(a, "port/*", "dscp_to_tc/40", "5");
	expect(a, "port/*", "dscp_to_tc/26", "3");
	expect(a, "port/*", "pfc/5", "1");
	expect(a, "port/*", "queue/5/kmin", "200000");
	expect(a, "host", "roce_mode", "lossless");
	expect(a, "host", "ar", "on");
}

static void test_nvue_reads_the_same_as_lines_yaml_and_json(void **state)
{
	struct rs_audit *a =
		reading("cumulus@leaf:~$ nv set qos roce mode lossless\n"
			"nv set qos mapping default-global dscp 40 switch-priority 5\n"
			"nv set qos pfc default-global switch-priority 5\n"
			"nv set qos congestion-control default-global traffic-class 5 "
			"min-threshold-bytes 200000\n"
			"nv set interface swp1-2 link mtu 9216\n"
			"nv set interface swp1s0-1 link speed 400G\n"
			"nv set router adaptive-routing enable on\n"
			"nv set interface swp3 link mtu 1500\nnv unset interface swp3 link mtu\n");
	struct rs_audit *b = reading(
		"- header:\n    nvue-api-version: nvue_v1\n"
		"- set:\n    interface:\n      swp1-2:\n        link:\n          mtu: 9216\n"
		"      swp1s0-1:\n        link:\n          speed: 400G\n"
		"    qos:\n      roce:\n        mode: lossless\n"
		"      mapping:\n        default-global:\n          dscp:\n            '40':\n"
		"              switch-priority: 5\n"
		"      pfc:\n        default-global:\n          switch-priority: 5\n"
		"      congestion-control:\n        default-global:\n          traffic-class:\n"
		"            '5':\n              min-threshold-bytes: 200000\n"
		"    router:\n      adaptive-routing:\n        enable: on\n");
	struct rs_audit *c = reading(
		"[{\"header\": {\"nvue-api-version\": \"nvue_v1\"}}, {\"set\": {"
		"\"interface\": {\"swp1-2\": {\"link\": {\"mtu\": 9216}},"
		"\"swp1s0-1\": {\"link\": {\"speed\": \"400G\"}}},"
		"\"qos\": {\"roce\": {\"mode\": \"lossless\"}, \"mapping\": {\"default-global\": "
		"{\"dscp\": {\"40\": {\"switch-priority\": 5}}}},"
		"\"pfc\": {\"default-global\": {\"switch-priority\": 5}},"
		"\"congestion-control\": {\"default-global\": {\"traffic-class\": {\"5\": "
		"{\"min-threshold-bytes\": 200000}}}}},"
		"\"router\": {\"adaptive-routing\": {\"enable\": \"on\"}}}}]");

	check_nvue(a);
	check_nvue(b);
	check_nvue(c);
	rs_audit_destroy(a);
	rs_audit_destroy(b);
	rs_audit_destroy(c);
}

static void test_nvue_profile_is_of_the_ports_that_have_it(void **state)
{
	struct rs_audit *a = reading("nv set qos pfc default-global switch-priority 3\n"
				     "nv set qos pfc gpu switch-priority 5\n"
				     "nv set qos mapping gpu dscp 40-47 switch-priority 5\n"
				     "nv set interface swp1-2 qos pfc profile gpu\n"
				     "nv set interface swp2 qos mapping profile gpu\n"
				     "nv set interface swp3 link mtu 9216\n");

	expect(a, "port/swp1", "pfc/5", "1");
	expect(a, "port/swp1", "pfc/3", "0");
	expect(a, "port/swp2", "dscp_to_tc/40", "5");
	expect(a, "port/swp1", "dscp_to_tc/40", NULL);
	expect(a, "port/swp3", "pfc/5", NULL);
	expect(a, "port/*", "pfc/3", "1");
	rs_audit_destroy(a);
}

static void test_nvue_roce_switched_off_says_nothing(void **state)
{
	struct rs_audit *a = reading("nv set qos roce enable off\nnv set interface swp1 link mtu "
				     "9216\n");

	expect(a, "host", "roce_mode", NULL);
	expect(a, "port/*", "pfc/3", NULL);
	rs_audit_destroy(a);
}

static const char nv_show[] = "cumulus@leaf:~$ nv show interface swp5 qos roce status\n"
			      "                    operational    applied  description\n"
			      "------------------  -------------  -------  -----------------\n"
			      "congestion-control\n"
			      "  enabled-tc        0,5                     Congestion config\n"
			      "  max-threshold     1.43 MB                 Congestion config\n"
			      "  min-threshold     153.00 KB               Congestion config\n"
			      "pfc\n"
			      "  pfc-priority      5                       switch-prio\n"
			      "  tx-enabled        yes                     PFC Tx\n"
			      "trust\n"
			      "  trust-mode        pcp,dscp                Trust\n"
			      "mode                lossless       lossy    Roce Mode\n"
			      "\nRoCE PCP/DSCP->SP mapping configurations\n=======\n"
			      "          pcp  dscp  switch-prio\n    ----  ---  ----  -----------\n"
			      "    roce  5    40    5\n"
			      "\nRoCE SP->TC mapping and ETS configurations\n=======\n"
			      "          switch-prio  traffic-class  scheduler-weight\n"
			      "    ----  -----------  -------------  ----------------\n"
			      "    roce  5            5              dwrr-50%\n";

static void test_nv_show_tells_operational_from_applied(void **state)
{
	struct rs_audit *a = reading(nv_show);

	expect(a, "port/swp5", "pfc/5", "1");
	expect(a, "port/swp5", "pfc/3", "0");
	expect(a, "port/swp5", "dscp_to_tc/40", "5");
	expect(a, "port/swp5", "tc_to_queue/5", "5");
	expect(a, "port/swp5", "queue/5/kmin", "156672"); /* 153 times 1024 */
	expect(a, "port/swp5", "operational/mode", "lossless");
	expect(a, "port/swp5", "applied/mode", "lossy");
	/* a column that is empty differs from nothing */
	expect(a, "port/swp5", "applied/pfc/pfc-priority", NULL);
	rs_audit_destroy(a);
}

static void test_nv_show_takes_the_port_from_the_name_of_the_file(void **state)
{
	const char *text = strchr(nv_show, '\n') + 1;
	struct rs_audit *a = reading_as("leaf1/swp7s1-roce.txt", text, strlen(text));

	expect(a, "port/swp7s1", "pfc/5", "1");
	rs_audit_destroy(a);
	a = reading_as("leaf1/nv-show-qos-roce.txt", text, strlen(text));
	expect(a, "port/*", "pfc/5", "1");
	rs_audit_destroy(a);
}

/* ---- LLDP ---- */

static void check_lldp(const struct rs_audit *a)
{
	expect(a, "netdev/eth4", "neighbour", "leaf1");
	expect(a, "netdev/eth4", "neighbour_port", "swp8");
	expect(a, "netdev/eth4", "neighbour_mfs", "9216");
	expect(a, "netdev/eth4", "neighbour_pfc", "0x08");
	expect(a, "netdev/eth5", "neighbour", "leaf2");
	expect(a, "netdev/eth5", "neighbour_pfc", NULL);
}

static void test_lldp_reads_the_same_in_all_of_lldpctls_formats(void **state)
{
	static const char *const formats[] = {
		/* json */
		"{\"lldp\": {\"interface\": [{\"eth4\": {\"via\": \"LLDP\", \"chassis\": "
		"{\"leaf1\": {\"id\": {\"type\": \"mac\", \"value\": \"00:11:22:33:44:55\"}, "
		"\"descr\": \"x\"}}, \"port\": {\"id\": {\"type\": \"ifname\", \"value\": "
		"\"swp8\"}, \"mfs\": \"9216\"}, \"unknown-tlvs\": {\"unknown-tlv\": {\"oui\": "
		"\"00,80,C2\", \"subtype\": \"11\", \"len\": \"2\", \"value\": \"04,08\"}}}},"
		"{\"eth5\": {\"chassis\": {\"leaf2\": {\"id\": {\"type\": \"mac\", \"value\": "
		"\"00:11:22:33:44:56\"}}}, \"port\": {\"id\": {\"type\": \"ifname\", "
		"\"value\": \"swp9\"}}}}]}}",
		/* json, one interface an object beside the other */
		"{\"lldp\": {\"interface\": {\"eth4\": {\"chassis\": {\"leaf1\": {\"id\": "
		"{\"type\": \"mac\", \"value\": \"0\"}}}, \"port\": {\"id\": {\"type\": "
		"\"ifname\", \"value\": \"swp8\"}, \"mfs\": \"9216\"}, \"unknown-tlvs\": "
		"{\"unknown-tlv\": [{\"oui\": \"00,12,0F\", \"subtype\": \"11\", \"value\": "
		"\"01,02\"}, {\"oui\": \"00,80,c2\", \"subtype\": \"11\", \"value\": "
		"\"04,08\"}]}}, \"eth5\": {\"chassis\": {\"leaf2\": {\"id\": {\"type\": "
		"\"mac\", \"value\": \"1\"}}}}}}}",
		/* json0 */
		"{\"lldp\": [{\"interface\": [{\"name\": \"eth4\", \"chassis\": [{\"id\": "
		"[{\"type\": \"mac\", \"value\": \"0\"}], \"name\": [{\"value\": \"leaf1\"}]}], "
		"\"port\": [{\"id\": [{\"type\": \"ifname\", \"value\": \"swp8\"}], \"mfs\": "
		"[{\"value\": \"9216\"}]}], \"unknown-tlvs\": [{\"unknown-tlv\": [{\"oui\": "
		"\"00,80,C2\", \"subtype\": \"11\", \"len\": \"2\", \"value\": \"04,08\"}]}]},"
		"{\"name\": \"eth5\", \"chassis\": [{\"name\": [{\"value\": \"leaf2\"}]}]}]}]}",
		/* keyvalue */
		"lldp.eth4.via=LLDP\nlldp.eth4.chassis.mac=00:11\nlldp.eth4.chassis.name=leaf1\n"
		"lldp.eth4.port.ifname=swp8\nlldp.eth4.port.mfs=9216\n"
		"lldp.eth4.unknown-tlvs.unknown-tlv.oui=00,80,C2\n"
		"lldp.eth4.unknown-tlvs.unknown-tlv.subtype=11\n"
		"lldp.eth4.unknown-tlvs.unknown-tlv.value=04,08\n"
		"lldp.eth5.chassis.name=leaf2\nlldp.eth5.port.ifname=swp9\n",
		/* text */
		"-----\nLLDP neighbors:\n-----\n"
		"Interface:    eth4, via: LLDP, RID: 1, Time: 0 day, 00:01:02\n"
		"  Chassis:\n    ChassisID:    mac 00:11:22:33:44:55\n    SysName:      leaf1\n"
		"  Port:\n    PortID:       ifname swp8\n    MFS:          9216\n"
		"  Unknown TLVs:\n    TLV:          OUI: 00,80,C2, SubType: 11, Len: 2 04,08\n"
		"-----\nInterface:    eth5, via: LLDP, RID: 2\n  Chassis:\n"
		"    SysName:      leaf2\n",
		/* xml */
		"<?xml version=\"1.0\"?>\n<lldp label=\"LLDP neighbors\">\n"
		"<interface label=\"Interface\" name=\"eth4\" via=\"LLDP\">\n"
		"<chassis><id type=\"mac\">00:11</id><name>leaf1</name></chassis>\n"
		"<port><id type=\"ifname\">swp8</id><mfs>9216</mfs></port>\n"
		"<unknown-tlvs><unknown-tlv oui=\"00,80,C2\" subtype=\"11\" len=\"2\">04,08"
		"</unknown-tlv></unknown-tlvs></interface>\n"
		"<interface name=\"eth5\"><chassis><name>leaf2</name></chassis></interface>\n"
		"</lldp>\n",
	};

	for (unsigned i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct rs_audit *a = reading(formats[i]);

		check_lldp(a);
		rs_audit_destroy(a);
	}
}

static void test_lldp_on_a_switch_is_of_its_ports(void **state)
{
	struct rs_audit *a = reading("lldp.Ethernet8.chassis.name=gpu01\n"
				     "lldp.Ethernet8.port.ifname=eth2\n");

	expect(a, "port/Ethernet8", "neighbour", "gpu01");
	rs_audit_destroy(a);
}

static void test_lldp_without_neighbours_says_nothing(void **state)
{
	struct rs_audit *a = reading("{\"lldp\":{}}");

	assert_int_equal(rs_facts_count(a->facts), 0);
	rs_audit_destroy(a);
}

/* ---- Cables ---- */

static void test_cables_of_an_infiniband_fabric(void **state)
{
	struct rs_audit *a = reading(
		"# Topology\nvendid=0x2c9\ndevid=0xd2f2\nswitchguid=0x1(1)\n"
		"Switch\t65 \"S-1\"\t\t# \"MF0;LEAF-04:MQM9701/U1\" enhanced port 0 lid 73\n"
		"[1]\t\"H-2\"[1](2) \t\t# \"gpu01 mlx5_5\" lid 647 4xNDR\n\n"
		"vendid=0x2c9\ndevid=0x1021\ncaguid=0x2\n"
		"Ca\t1 \"H-2\"\t\t# \"gpu01 mlx5_5\"\n"
		"[1](2) \t\"S-1\"[17]\t\t# lid 657 lmc 0 \"MF0;LEAF-04:MQM9701/U1\" lid 73 4xNDR\n"
		"Ca\t1 \"H-3\"\t\t# \"MT4129 ConnectX7   Mellanox Technologies\"\n"
		"[1](3) \t\"S-1\"[18]\t\t# lid 658 lmc 0 \"MF0;LEAF-04:MQM9701/U1\" lid 73 "
		"4xNDR\n");

	expect(a, "cable/gpu01/mlx5_5", "neighbour", "LEAF-04");
	expect(a, "cable/gpu01/mlx5_5", "neighbour_port", "17");
	expect(a, "cable/gpu01/mlx5_5", "rate", "4xNDR");
	/* a name that the driver gave names nobody */
	assert_int_equal(facts(a, "cable/", "neighbour_port"), 1);
	rs_audit_destroy(a);
}

static void test_cables_of_netq_are_a_host_at_one_end(void **state)
{
	struct rs_audit *a = reading(
		"[{\"links\": [{\"compounded_links\": [{\"id\": \"x\", \"interfaces\": "
		"[{\"interface\": \"swp17s0\", \"node\": \"leaf9\"}, {\"interface\": "
		"\"ens4f0np0\", \"node\": \"gpu12\"}]}, {\"id\": \"y\", \"interfaces\": "
		"[{\"interface\": \"swp1\", \"node\": \"leaf9\"}, {\"interface\": \"swp2\", "
		"\"node\": \"spine1\"}]}]}]}]");

	expect(a, "cable/gpu12/ens4f0np0", "neighbour", "leaf9");
	expect(a, "cable/gpu12/ens4f0np0", "neighbour_port", "swp17s0");
	assert_int_equal(facts(a, "cable/", "neighbour_port"), 1);
	rs_audit_destroy(a);
}

/* ---- SONiC ---- */

static void test_sonic_nested_and_flat_are_one(void **state)
{
	static const char *const forms[] = {
		"{\"PORT_QOS_MAP\": {\"Ethernet0\": {\"dscp_to_tc_map\": \"A\", \"pfc_enable\": "
		"\"5\"}}, \"DSCP_TO_TC_MAP\": {\"A\": {\"40\": \"5\"}}, \"PORT\": {\"Ethernet0\": "
		"{\"lanes\": \"0,1,2,3\", \"speed\": \"400000\"}}, \"PFC_WD\": {\"Ethernet0\": "
		"{\"detection_time\": \"200\"}}}",
		"{\"PORT_QOS_MAP|Ethernet0\": {\"dscp_to_tc_map\": \"[DSCP_TO_TC_MAP|A]\", "
		"\"pfc_enable\": \"5\"}, \"DSCP_TO_TC_MAP|A\": {\"40\": \"5\"}, "
		"\"PORT|Ethernet0\": {\"lanes\": \"0,1,2,3\", \"speed\": \"400000\"}, "
		"\"PFC_WD|Ethernet0\": {\"detection_time\": \"200\"}}",
	};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_audit *a = reading(forms[i]);

		expect(a, "port/Ethernet0", "dscp_to_tc/40", "5");
		expect(a, "port/Ethernet0", "pfc/5", "1");
		expect(a, "port/Ethernet0", "pfc/3", "0");
		expect(a, "port/Ethernet0", "lanes", "4");
		expect(a, "port/Ethernet0", "watchdog/detection_ms", "200");
		rs_audit_destroy(a);
	}
}

static void test_sonic_counters_go_to_the_port_that_the_map_names(void **state)
{
	static const char *const forms[] = {
		"{\"COUNTERS:oid:0x1\": {\"SAI_PORT_STAT_PFC_3_TX_PKTS\": \"7\", "
		"\"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S12\": \"4\"}, "
		"\"COUNTERS:oid:0x2\": {\"SAI_QUEUE_STAT_DROPPED_PACKETS\": \"9\", "
		"\"PFC_WD_STATUS\": \"stormed\"}, "
		"\"COUNTERS:oid:0x3\": {\"SAI_PORT_STAT_PFC_3_TX_PKTS\": \"1\"}, "
		"\"COUNTERS_PORT_NAME_MAP\": {\"Ethernet4\": \"oid:0x1\"}, "
		"\"COUNTERS_QUEUE_NAME_MAP\": {\"Ethernet4:3\": \"oid:0x2\"}}",
		"{\"COUNTERS:oid:0x1\": {\"type\": \"hash\", \"value\": "
		"{\"SAI_PORT_STAT_PFC_3_TX_PKTS\": \"7\", "
		"\"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S12\": \"4\"}}, "
		"\"COUNTERS:oid:0x2\": {\"type\": \"hash\", \"value\": "
		"{\"SAI_QUEUE_STAT_DROPPED_PACKETS\": \"9\", \"PFC_WD_STATUS\": \"stormed\"}}, "
		"\"COUNTERS_PORT_NAME_MAP\": {\"type\": \"hash\", \"value\": {\"Ethernet4\": "
		"\"oid:0x1\"}}, \"COUNTERS_QUEUE_NAME_MAP\": {\"value\": {\"Ethernet4:3\": "
		"\"oid:0x2\"}}}",
	};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_audit *a = reading(forms[i]);

		expect(a, "port/Ethernet4", "counter/pfc_tx/3", "7");
		expect(a, "port/Ethernet4", "counter/fec_bin/12", "4");
		expect(a, "port/Ethernet4", "counter/queue/3/dropped", "9");
		expect(a, "port/Ethernet4", "watchdog/3/status", "stormed");
		/* an object that no map names is nobody's */
		assert_int_equal(facts(a, "port/", ""), 4);
		rs_audit_destroy(a);
	}
}

static const char sonic_show[] =
	"admin@leaf:~$ show pfc counters\n"
	"  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n"
	"---------  ------  ------  ------  ------  ------  ------  ------  ------\n"
	"Ethernet0       0       0       0   1,203       0       0       0       0\n\n"
	"  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n"
	"---------  ------  ------  ------  ------  ------  ------  ------  ------\n"
	"Ethernet0       0       0       0      11       0       0       0       0\n\n"
	"admin@leaf:~$ show queue counters Ethernet0\n"
	"     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes\n"
	"---------  -----  --------------  ---------------  -----------  ------------\n"
	"Ethernet0    UC3              52               70           19             76\n"
	"Ethernet0    MC8             N/A              N/A          N/A            N/A\n\n"
	"admin@leaf:~$ show interfaces status\n"
	"  Interface            Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin\n"
	"-----------  ---------------  -------  -----  -----  -------  ------  ------  -------\n"
	"  Ethernet0          0,1,2,3     400G   9100     rs     etp1  routed      up       up\n"
	"  Ethernet4          4,5,6,7     100G   9100    N/A     etp2   trunk    down     down\n\n"
	"admin@leaf:~$ show pfc priority\nInterface    Lossless priorities\n"
	"-----------  ---------------------\nEthernet0    3,4\nEthernet4    N/A\n\n"
	"admin@leaf:~$ show pfcwd stats\n"
	"      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP\n"
	"-----------  -----------  -------------------------  ------------  ------------\n"
	"Ethernet0:3      stormed                        1/0       100/300       100/300\n\n"
	"admin@leaf:~$ show pfcwd config\n"
	"     PORT    ACTION    DETECTION TIME    RESTORATION TIME\n"
	"---------  --------  ----------------  ------------------\n"
	"Ethernet0      drop               600                 700\n\n"
	"admin@leaf:~$ show priority-group watermark headroom\nIngress headroom per PG:\n"
	"     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7\n"
	"---------  -----  -----  -----  -----  -----  -----  -----  -----\n"
	"Ethernet0    900    901    902    903    904    905    906    907\n\n"
	"admin@leaf:~$ show priority-group drop counters\nIngress PG dropped packets:\n"
	"     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7\n"
	"---------  -----  -----  -----  -----  -----  -----  -----  -----\n"
	"Ethernet0      0      1      2      3      4      5      6      7\n\n"
	"admin@leaf:~$ show interfaces counters fec-stats\n"
	"    IFACE    STATE    FEC_CORR    FEC_UNCORR    FEC_SYMBOL_ERR    FEC_PRE_BER\n"
	"---------  -------  ----------  ------------  ----------------  -------------\n"
	"Ethernet0        U     130,402             3                 4       1.21e-05\n\n"
	"admin@leaf:~$ show lldp table\nCapability codes: (R) Router, (B) Bridge, (O) Other\n"
	"LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr\n"
	"-----------  --------------  --------------  ------------  -----------------\n"
	"Ethernet0    gpu07           eth2            O             eth2\n";

static void test_sonic_tables_of_show(void **state)
{
	static const struct {
		const char *name, *value;
	} known[] = {{"counter/pfc_rx/3", "1203"},
		     {"counter/pfc_tx/3", "11"},
		     {"counter/queue/3/dropped", "19"},
		     {"speed_mbps", "400000"},
		     {"lanes", "4"},
		     {"fec", "rs"},
		     {"pfc/4", "1"},
		     {"pfc/5", "0"},
		     {"watchdog/3/status", "stormed"},
		     {"watchdog/3/detected", "1"},
		     {"watchdog/3/restored", "0"},
		     {"watchdog/restoration_ms", "700"},
		     {"counter/pg/3/dropped", "3"},
		     {"counter/fec_uncorrectable", "3"},
		     {"link/raw_ber", "1.21e-05"},
		     {"neighbour", "gpu07"},
		     {"neighbour_port", "eth2"},
		     {"counter/queue/8/dropped", NULL}};
	struct rs_audit *a = reading(sonic_show);

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		expect(a, "port/Ethernet0", known[i].name, known[i].value);
	expect(a, "port/Ethernet4", "admin", "down");
	expect(a, "port/Ethernet4", "fec", NULL);
	expect(a, "port/Ethernet4", "pfc/3", "0");
	/* watermarks look alike and are no drops: each group has one figure */
	assert_int_equal(facts(a, "port/Ethernet0", "counter/pg/"), 8);
	rs_audit_destroy(a);
}

static void test_nv_show_as_json_is_the_same(void **state)
{
	struct rs_audit *a = reading(
		"{\"congestion-control\": {\"enabled-tc\": \"0,5\", \"max-threshold\": \"1.43 "
		"MB\", "
		"\"min-threshold\": \"153.00 KB\"}, \"mode\": \"lossless\", \"pfc\": "
		"{\"pfc-priority\": \"5\", \"rx-enabled\": \"yes\", \"tx-enabled\": \"no\"}, "
		"\"trust\": {\"trust-mode\": \"pcp,dscp\"}}");

	expect(a, "port/*", "pfc/5", "1");
	expect(a, "port/*", "pfc_tx", "0");
	expect(a, "port/*", "queue/5/kmin", "156672");
	expect(a, "host", "roce_mode", "lossless");
	rs_audit_destroy(a);
	a = reading("{\"tx-roce-stats\": {\"roce-packets\": 7, \"unicast-no-buffer-discard\": 3}}");
	expect(a, "port/*", "counter/lossless_tx_discards", "3");
	rs_audit_destroy(a);
}

static void test_junos_balances_by_flowlets_or_by_packets(void **state)
{
	struct rs_audit *a = reading("set system host-name leaf1\n"
				     "set class-of-service interfaces et-0/0/0 scheduler-map m\n"
				     "set forwarding-options enhanced-hash-key ecmp-dlb flowlet "
				     "inactivity-interval 128\n");

	expect(a, "host", "ar", "flowlet");
	rs_audit_destroy(a);
	a = reading("set system host-name leaf1\n"
		    "set class-of-service interfaces et-0/0/0 scheduler-map m\n"
		    "set forwarding-options enhanced-hash-key ecmp-dlb per-packet\n");
	expect(a, "host", "ar", "on");
	rs_audit_destroy(a);
	(void)state;
}

#define NXOS                                                                                \
	"hostname leaf1\nclass-map type qos match-all R\n  match dscp 26\n"                 \
	"policy-map type qos in\n  class R\n    set qos-group 3\n"                          \
	"policy-map type network-qos nq\n  class type network-qos c-8q-nq3\n    mtu 1500\n" \
	"    pause pfc-cos 3\nsystem qos\n  service-policy type network-qos nq\n"

static void test_lines_that_are_missing_are_told(void **state)
{
	struct rs_audit *a = reading(NXOS "interface Ethernet1/1\n  mtu 9216\n"
					  "  priority-flow-control mode on\n");

	(void)state;
	expect(a, "port/Ethernet1/1", "mtu_class", "1500");
	expect(a, "port/Ethernet1/1", "unbound_policy", "in");
	expect(a, "host", "pfc_meant", NULL);
	rs_audit_destroy(a);
	a = reading(NXOS "interface Ethernet1/1\n  service-policy type qos input in\n"
			 "  priority-flow-control mode off\n");
	expect(a, "host", "pfc_meant", "off");
	expect(a, "port/Ethernet1/1", "unbound_policy", NULL);
	rs_audit_destroy(a);
	a = reading("interface Ethernet1\n   qos trust dscp\n   priority-flow-control on\n"
		    "interface Ethernet2\n   priority-flow-control on\n"
		    "   priority-flow-control priority 3 no-drop\n");
	expect(a, "port/Ethernet1", "pfc_no_class", "priority-flow-control on");
	expect(a, "port/Ethernet2", "pfc_no_class", NULL);
	rs_audit_destroy(a);
	a = reading("#\nsysname leaf1\n#\ndcb pfc\n priority 3\n#\ninterface 100GE1/0/1\n"
		    " trust 8021p\n dcb pfc enable mode manual\n#\nreturn\n");
	expect(a, "port/100GE1/0/1", "trust", "pcp");
	rs_audit_destroy(a);
	a = reading("set system host-name leaf1\n"
		    "set class-of-service forwarding-classes class N queue-num 4\n"
		    "set class-of-service forwarding-classes class N no-loss\n"
		    "set class-of-service congestion-notification-profile c input dscp code-point "
		    "011010 pfc\n"
		    "set class-of-service interfaces et-* unit * classifiers dscp d\n");
	expect(a, "host", "pfc_unbound", "c");
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_junos_reads_the_same_in_braces_and_as_set_lines),
		cmocka_unit_test(test_junos_group_that_is_applied_counts_as_written),
		cmocka_unit_test(test_junos_stanza_alone_speaks_of_its_wildcard),
		cmocka_unit_test(test_junos_default_class_gives_way_to_a_queue_in_use),
		cmocka_unit_test(test_junos_cut_short_is_read_as_far_as_it_goes),
		cmocka_unit_test(test_configurations_side_by_side_are_machines),
		cmocka_unit_test(test_eos_profile_counts_where_it_is_used),
		cmocka_unit_test(test_eos_interface_wins_over_its_profile),
		cmocka_unit_test(test_eos_no_drop_without_flow_control_on_protects_nothing),
		cmocka_unit_test(test_eos_tables_of_show),
		cmocka_unit_test(test_junos_balances_by_flowlets_or_by_packets),
		cmocka_unit_test(test_nvue_reads_the_same_as_lines_yaml_and_json),
		cmocka_unit_test(test_nvue_profile_is_of_the_ports_that_have_it),
		cmocka_unit_test(test_nvue_roce_switched_off_says_nothing),
		cmocka_unit_test(test_nv_show_tells_operational_from_applied),
		cmocka_unit_test(test_nv_show_takes_the_port_from_the_name_of_the_file),
		cmocka_unit_test(test_sonic_tables_of_show),
		cmocka_unit_test(test_nv_show_as_json_is_the_same),
		cmocka_unit_test(test_lldp_reads_the_same_in_all_of_lldpctls_formats),
		cmocka_unit_test(test_lldp_on_a_switch_is_of_its_ports),
		cmocka_unit_test(test_lldp_without_neighbours_says_nothing),
		cmocka_unit_test(test_cables_of_an_infiniband_fabric),
		cmocka_unit_test(test_cables_of_netq_are_a_host_at_one_end),
		cmocka_unit_test(test_lines_that_are_missing_are_told),
		cmocka_unit_test(test_sonic_nested_and_flat_are_one),
		cmocka_unit_test(test_sonic_counters_go_to_the_port_that_the_map_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
