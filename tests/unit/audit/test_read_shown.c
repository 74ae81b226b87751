/* Modular QoS configurations (NX-OS, OS10), and what switches and hosts print of PFC, links and
 * sizes: what is read, and what is judged of it. */
#include "reading.h"

/* ---- NX-OS and OS10 ---- */

static const char nxos[] = "hostname leaf1\n"
			   "policy-map type network-qos nq\n"
			   "  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\n"
			   "class-map type qos match-any ROCE\n  match dscp 24-26\n"
			   "class-map type qos match-any CNP\n  match dscp cs6\n"
			   "policy-map type qos MARK\n  class ROCE\n    set qos-group 3\n"
			   "  class CNP\n    set qos-group 7\n"
			   "policy-map type queuing OUT\n"
			   "  class type queuing c-out-8q-q7\n    priority level 1\n"
			   "  class type queuing c-out-8q-q3\n    bandwidth remaining percent 90\n"
			   "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 "
			   "kbytes drop-probability 7 weight 0 ecn\n"
			   "system qos\n  service-policy type network-qos nq\n"
			   "  service-policy type queuing output OUT\n"
			   "interface Ethernet1/1-2\n  priority-flow-control mode on\n"
			   "  priority-flow-control watch-dog-interval on\n"
			   "  service-policy type qos input MARK\n  mtu 9216\n"
			   "interface Ethernet1/3\n  service-policy type qos input MARK\n"
			   "interface Ethernet1/4\n  mtu 1500\n";

static void test_nxos(void **state)
{
	struct rs_audit *a = reading(nxos);

	(void)state;
	expect(a, "host", "os", "NX-OS");
	expect(a, "port/Ethernet1/2", "dscp_to_tc/26", "3");
	expect(a, "port/Ethernet1/2", "dscp_to_tc/48", "7");
	expect(a, "port/Ethernet1/2", "dscp_to_tc/27", NULL);
	expect(a, "port/Ethernet1/1", "pfc/3", "1");
	expect(a, "port/Ethernet1/1", "queue/3/ecn", "1");
	expect(a, "port/Ethernet1/1", "queue/3/kmin", "150000");
	expect(a, "port/Ethernet1/1", "queue/3/kmax", "3000000");
	expect(a, "port/Ethernet1/1", "queue/7/scheduler", "STRICT");
	expect(a, "port/Ethernet1/1", "watchdog", "on");
	/* it classifies like the others and has no PFC; the last one does not classify */
	expect(a, "port/Ethernet1/3", "pfc/3", "0");
	expect(a, "port/Ethernet1/4", "pfc/3", NULL);
	rs_audit_destroy(a);
}

static const char os10[] =
	"dcbx enable\nclass-map type network-qos p3\n match qos-group 3\n"
	"class-map type queuing Q3\n match queue 3\n"
	"trust dscp-map m\n qos-group 3 dscp 24-31\n qos-group 0 dscp 0-23,32-63\n"
	"wred w\n random-detect color green minimum-threshold 100 maximum-threshold 900 "
	"drop-probability 100\n random-detect ecn\n"
	"policy-map type network-qos pfc\n!\n class p3\n  pause\n  pfc-cos 3\n"
	"policy-map type queuing out\n!\n class Q3\n  bandwidth percent 70\n  random-detect w\n"
	"qos-map traffic-class q\n queue 0 qos-group 0-2,4-7\n queue 3 qos-group 3\n"
	"system qos\n ets mode on\n"
	"interface ethernet1/1/1\n no switchport\n mtu 9216\n trust-map dscp m\n"
	" priority-flow-control mode on\n service-policy input type network-qos pfc\n"
	" service-policy output type queuing out\n qos-map traffic-class q\n"
	"interface ethernet1/1/2\n priority-flow-control mode on\n"
	" service-policy input type network-qos pfc\n";

static void test_os10(void **state)
{
	struct rs_audit *a = reading(os10);

	(void)state;
	expect(a, "host", "os", "OS10");
	expect(a, "port/ethernet1/1/1", "trust", "dscp");
	expect(a, "port/ethernet1/1/1", "dscp_to_tc/26", "3");
	expect(a, "port/ethernet1/1/1", "pfc/3", "1");
	expect(a, "port/ethernet1/1/1", "tc_to_queue/5", "0");
	expect(a, "port/ethernet1/1/1", "queue/3/ecn", "1");
	expect(a, "port/ethernet1/1/1", "queue/3/kmax", "900000");
	expect(a, "port/ethernet1/1/1", "queue/3/weight", "70");
	expect(a, "port/ethernet1/1/1", "mtu_l2", "9216");
	/* OS10 trusts nothing of itself */
	expect(a, "port/ethernet1/1/2", "trust", "none");
	rs_audit_destroy(a);
}

/* Guides lose the indentation, and write each line behind its prompt. */
static void test_mqc_forms(void **state)
{
	struct rs_audit *a;
	char flat[4096];
	size_t n = 0;

	(void)state;
	for (const char *p = nxos; *p; p++)
		if (*p != ' ' || (p > nxos && p[-1] != '\n' && p[-1] != ' '))
			flat[n++] = *p;
	flat[n] = '\0';
	a = reading(flat);
	expect(a, "port/Ethernet1/1", "pfc/3", "1");
	expect(a, "port/Ethernet1/1", "queue/3/kmin", "150000");
	expect(a, "port/Ethernet1/3", "dscp_to_tc/26", "3");
	rs_audit_destroy(a);
}

/* ---- Tables that are shown ---- */

static void test_pfc_states(void **state)
{
	static const char eos[] =
		"Port  Status Priorities Action  Timeout  Recovery  Polling  Note\n"
		"----------------------------------------------------------------\n"
		"Et1/1  E A W  34  drop  -  -\nEt2/1  E - -  3  drop  -  -  DCBX\n"
		"Et3/1  D - -  -  -\n";
	static const char os10_shown[] =
		"ethernet1/1/15\nAdmin Mode : true\nOperstatus: true\n"
		"PFC Priorities: 3,4\nTotal Rx PFC Frames: 7\nCos  Rx  Tx\n"
		"------\n3  7  9\n";
	struct rs_audit *a = reading(eos);

	(void)state;
	expect(a, "port/Ethernet1/1", "pfc_oper", "On");
	expect(a, "port/Ethernet1/1", "pfc/4", "1");
	expect(a, "port/Ethernet2/1", "pfc_mode", "On");
	expect(a, "port/Ethernet2/1", "pfc_oper", "Off");
	expect(a, "port/Ethernet2/1", "pfc/3", NULL);
	expect(a, "port/Ethernet3/1", "pfc_mode", "Off");
	rs_audit_destroy(a);
	a = reading(os10_shown);
	expect(a, "port/ethernet1/1/15", "pfc_oper", "On");
	expect(a, "port/ethernet1/1/15", "pfc/4", "1");
	expect(a, "port/ethernet1/1/15", "counter/pfc_tx/3", "9");
	rs_audit_destroy(a);
}

static void test_reach(void **state)
{
	static const char text[] =
		"PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.\n\n"
		"--- 10.0.0.2 ping statistics ---\n3 packets transmitted, 0 received, 100% packet "
		"loss\n\nPING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n"
		"64 bytes from 10.0.0.2: icmp_seq=1 ttl=64\n";
	static const char links[] =
		"Switch: 0xb859 Quantum:\n"
		"  12  1[  ] ==( 4X  53.125 Gbps Active/  LinkUp)==>  31  1[  ] \"a mlx5_0\" ( )\n"
		"  12  2[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  32  1[  ] \"b mlx5_0\" ( "
		"Could be 53.125 Gbps)\n"
		"  12  4[  ] ==(  Down/ Polling)==>  [  ] \"\" ( )\n";
	static const char esx[] =
		"Name     Driver      State   MTU   Speed     Paired Uplink  Desc\n"
		"-------  ----------  ------  ----  --------  -------------  ----\n"
		"vmrdma0  nmlx5_rdma  Active  4096  100 Gbps  vmnic4  MT27800\n"
		"vmrdma1  nmlx5_rdma  Down    1024  0         vmnic5  MT27800\n";
	struct rs_audit *a = reading(text);

	(void)state;
	expect(a, "ping/10.0.0.2", "received/8972", "0");
	expect(a, "ping/10.0.0.2", "received/56", "1");
	rs_audit_destroy(a);
	a = reading(links);
	expect(a, "link/0xb859 Quantum port 1", "port_state", "Active");
	expect(a, "link/0xb859 Quantum port 1", "could_be", NULL);
	expect(a, "link/0xb859 Quantum port 2", "could_be", "53.125 Gbps");
	expect(a, "link/0xb859 Quantum port 4", "phys_state", "Polling");
	rs_audit_destroy(a);
	a = reading(esx);
	expect(a, "nic/vmrdma0", "rate_gbps", "100");
	expect(a, "nic/vmrdma1", "port_state", "Down");
	expect(a, "nic/vmrdma1", "netdev", "vmnic5");
	rs_audit_destroy(a);
}

/* What a program's strings, comments and enumerations say is no job's environment; its calls are.
 */
static void test_programs_say_no_environment(void **state)
{
	static const char text[] =
		"#include <stdlib.h>\n/* NCCL_IB_HCA=mlx5_9 is what most use */\n"
		"enum { NCCL_ALL=0, NCCL_COLL=1 };\nint main(void)\n{\n"
		"\tprintf(\"try NCCL_IB_DISABLE=1\\n\");\n\tsetenv(\"NCCL_ALGO\", \"Ring\", "
		"1);\n}\n"
		"\nexport NCCL_IB_TC=106\n";
	struct rs_audit *a = reading(text);

	(void)state;
	expect(a, "env", "NCCL_IB_HCA", NULL);
	expect(a, "env", "NCCL_IB_DISABLE", NULL);
	expect(a, "env", "NCCL_COLL", NULL);
	expect(a, "env", "NCCL_ALGO", "Ring");
	expect(a, "env", "NCCL_IB_TC", "106");
	rs_audit_destroy(a);
}

/* ---- Cumulus' files, Onyx, and small tools of hosts ---- */

static void test_cumulus_files(void **state)
{
	static const char text[] =
		"traffic.packet_priority_source_set = [802.1p,dscp]\n"
		"traffic.cos_3.priority_source.dscp = [24-26]\npfc.port_group_list = [R]\n"
		"pfc.R.port_set = swp1-swp3,swp9s0\npfc.R.cos_list = [3]\npfc.R.tx_enable = false\n"
		"default_ecn_red_conf.egress_queue_list = [0,3]\n"
		"default_ecn_red_conf.ecn_enable = true\n"
		"default_ecn_red_conf.min_threshold_bytes = 150000\n";
	struct rs_audit *a = reading(text);

	(void)state;
	expect(a, "host", "os", "Cumulus");
	expect(a, "port/*", "trust", "dscp");
	expect(a, "port/*", "dscp_to_tc/25", "3");
	expect(a, "port/swp3", "pfc/3", "1");
	expect(a, "port/swp9s0", "pfc_tx", "0");
	expect(a, "port/swp4", "pfc/3", NULL);
	expect(a, "port/*", "queue/3/kmin", "150000");
	rs_audit_destroy(a);
}

static void test_onyx(void **state)
{
	struct rs_audit *a = reading("Eth1/5:\n  Rx:\n    77  packets\n    12  no buffer discards\n"
				     "    0  pause packets\n  Tx:\n    3  no buffer discards\n");

	(void)state;
	expect(a, "port/Eth1/5", "counter/lossless_rx_discards", "12");
	expect(a, "port/Eth1/5", "counter/lossless_tx_discards", "3");
	rs_audit_destroy(a);
	a = reading("RoCE mode      : lossless\nPort trust mode: L3\nMode: ecn, absolute\n"
		    "Min : 150\nMax : 1500\nException list:\nPFC of Eth1/7 differs\n");
	expect(a, "host", "roce_mode", "lossless");
	expect(a, "port/*", "pfc/3", "1");
	expect(a, "port/*", "queue/3/kmax", "1500000");
	expect(a, "host", "roce_exception/1", "PFC of Eth1/7 differs");
	rs_audit_destroy(a);
}

static void test_small_tools(void **state)
{
	struct rs_audit *a = reading("hfi1_0:1    PortGID:0xfe80000000000000:001175\n"
				     "   PortState:     Init (LinkUp)\n");

	(void)state;
	expect(a, "nic/hfi1_0", "port_state", "Init");
	rs_audit_destroy(a);
	a = reading("$ systemctl status openibd\n* openibd.service - configure devices\n"
		    "     Active: failed (Result: exit-code) since Tue\n");
	expect(a, "host", "service/openibd", "failed");
	rs_audit_destroy(a);
	a = reading("$ ethtool ens8np0 | grep -E 'Speed|Link'\n\tSpeed: 400000Mb/s\n"
		    "\tLink detected: yes\n");
	expect(a, "netdev/ens8np0", "speed_mbps", "400000");
	rs_audit_destroy(a);
	a = reading("$ setpci -v -s 17:01.0 ECAP_ACS+0x6.w\n0000:17:01.0 @26e = 001d\n"
		    "0000:17:02.0 @26e = 0000\n");
	expect(a, "pci/0000:17:01.0", "acs_control", "0x1d");
	rs_audit_destroy(a);
	/* device control: payload 256, reads of 4096; link status: 16 GT/s, 8 lanes */
	a = reading("$ setpci -s 3b:00.0 CAP_EXP+8.w\n5937\n");
	expect(a, "pci/0000:3b:00.0", "mps", "256");
	expect(a, "pci/0000:3b:00.0", "mrrs", "4096");
	rs_audit_destroy(a);
	a = reading("$ setpci -v -s 3b:00.0 CAP_EXP+12.w\n0000:3b:00.0 (cap 10 @60) @72 = 1084\n");
	expect(a, "pci/0000:3b:00.0", "link_speed", "160");
	expect(a, "pci/0000:3b:00.0", "link_width", "8");
	rs_audit_destroy(a);
	/* counters of a device that the output does not name */
	a = reading("duplicate_request:12\nlocal_ack_timeout_err:771\npacket_seq_err:81231\n");
	expect(a, "nic/unnamed", "counter/packet_seq_err", "81231");
	rs_audit_destroy(a);
}

static void test_states_of_ports(void **state)
{
	struct rs_audit *a = reading("Physical interface: et-0/0/8, Enabled, Physical link is Up\n"
				     "    FEC Uncorrected Errors      88123\n"
				     "    CRC/Align errors            71233       0\n");

	(void)state;
	expect(a, "port/et-0/0/8", "counter/fec_uncorrectable", "88123");
	expect(a, "port/et-0/0/8", "counter/crc_in", "71233");
	rs_audit_destroy(a);
	a = reading("Port       Name          Status       Reason\n---- ---- ---- ----\n"
		    "Et5/1      gpu05-nic0    errdisabled  link-flap\n");
	expect(a, "port/Ethernet5/1", "link_state", "errdisabled: link-flap");
	rs_audit_destroy(a);
	a = reading(
		"leaf7# show queuing pfc-queue interface ethernet 1/12\n"
		"| QOS GROUP 3 [Active] PFC [YES] PFC-COS [3]\n"
		"| Shutdown              |         17|\n| Restored              |         16|\n");
	expect(a, "port/Ethernet1/12", "watchdog/3/detected", "17");
	rs_audit_destroy(a);
	a = reading("Interface ethernet1/1/1 (All queues)\n"
		    "Description   Packets  Bytes  Dropped-Packets  Dropped-Bytes\n"
		    "UC-Queue 3    991      4058   77               3161\n");
	expect(a, "port/ethernet1/1/1", "counter/queue/3/dropped", "77");
	rs_audit_destroy(a);
	a = reading("Ethernet Channel Bonding Driver: v5\nBonding Mode: IEEE 802.3ad\n"
		    "MII Status: up\nSlave Interface: eth0\nMII Status: up\n"
		    "Slave Interface: eth1\nMII Status: down\n");
	expect(a, "bond/file", "slave_down", "eth1");
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nxos),
		cmocka_unit_test(test_os10),
		cmocka_unit_test(test_mqc_forms),
		cmocka_unit_test(test_pfc_states),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_programs_say_no_environment),
		cmocka_unit_test(test_cumulus_files),
		cmocka_unit_test(test_onyx),
		cmocka_unit_test(test_small_tools),
		cmocka_unit_test(test_states_of_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
