/* What the shell's RDMA tools print (read/verbs_tools.c), and what is judged of it alone. */
#include "reading.h"

static void test_ibstatus(void **state)
{
	struct rs_audit *a =
		reading("Infiniband device 'mlx5_0' port 1 status:\n"
			"\tdefault gid:\t fe80:0000:0000:0000:a088:c203:0020:e496\n"
			"\tstate:\t\t 2: INIT\n\tphys state:\t 5: LinkUp\n"
			"\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t InfiniBand\n");

	expect(a, "nic/mlx5_0", "port_state", "INIT");
	expect(a, "nic/mlx5_0", "phys_state", "LinkUp");
	expect(a, "nic/mlx5_0", "rate_gbps", "400");
	expect(a, "nic/mlx5_0", "link_layer", "InfiniBand");
	rs_audit_destroy(a);
}

static void test_ibv_devices_with_and_without_a_device(void **state)
{
	struct rs_audit *a = reading("    device          \t   node GUID\n"
				     "    ------          \t----------------\n"
				     "    mlx5_bond_0     \te8ebd30300381588\n");

	expect(a, "nic/mlx5_bond_0", "node_guid", "e8ebd30300381588");
	expect(a, "host", "rdma_devices", "1");
	rs_audit_destroy(a);
	a = reading("root@a:/# ibv_devices\n    device          \t   node GUID\n"
		    "    ------          \t----------------\nroot@a:/#\n");
	assert_int_equal(rs_facts_hosts(a->facts) > 0, 1);
	rs_audit_destroy(a);
}

static void test_ibqueryerrors_and_ibportstate(void **state)
{
	struct rs_audit *a =
		reading("Errors for 0xb8599f0300fc6de4 \"MF0;sw1:MQM8700/U1\"\n"
			"   GUID 0xb8599f0300fc6de4 port 17: [SymbolErrorCounter == 65535] "
			"[LinkDownedCounter == 44]\n");

	expect(a, "link/MF0;sw1:MQM8700.U1 port 17", "counter/SymbolErrorCounter", "65535");
	expect(a, "link/MF0;sw1:MQM8700.U1 port 17", "counter/LinkDownedCounter", "44");
	rs_audit_destroy(a);
	a = reading("# Port info: Lid 2 port 25\nLinkState:.......................Down\n"
		    "PhysLinkState:...................Disabled\n");
	expect(a, "link/lid 2 port 25", "port_state", "Down");
	expect(a, "link/lid 2 port 25", "phys_state", "Disabled");
	rs_audit_destroy(a);
}

static const char perftest[] =
	"---------------------------------------------------------------------------------------\n"
	"                    RDMA_Write BW Test\n"
	" Dual-port       : OFF\t\tDevice         : mlx5_2\n"
	" Number of qps   : 4\t\tTransport type : IB\n"
	" Mtu             : 1024[B]\n Link type       : Ethernet\n GID index       : 3\n"
	" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
	" 65536      5000             92.03              91.98              0.175437\n";

static void test_perftest(void **state)
{
	struct rs_audit *a = reading(perftest);

	expect(a, "nic/mlx5_2", "active_mtu", "1024");
	expect(a, "nic/mlx5_2", "link_layer", "Ethernet");
	expect(a, "nic/mlx5_2", "perftest/gid_index", "3");
	expect(a, "nic/mlx5_2", "perftest/gbps/65536", "91.98");
	rs_audit_destroy(a);
	/* without --report_gbits: MiB/s */
	a = reading(
		" Dual-port       : OFF\t\tDevice         : mlx5_0\n"
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
		" 65536      1000             11690.33           11690.10\t\t   0.187042\n");
	expect(a, "nic/mlx5_0", "perftest/gbps/65536", "98.06");
	rs_audit_destroy(a);
	a = reading(" Dual-port       : OFF\t\tDevice         : mlx5_0\n"
		    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
		    "t_avg[usec]\n"
		    " 2       1000          0.99           3.64         1.02     \t       1.02\n");
	expect(a, "nic/mlx5_0", "perftest/us/2", "1.02");
	rs_audit_destroy(a);
}

static void test_bench_tables(void **state)
{
	struct rs_audit *a =
		reading("# OSU MPI Bandwidth Test v7.3\n# Datatype: MPI_CHAR.\n"
			"# Size      Bandwidth (MB/s)\n"
			"65536               22915.20\n4194304             24517.52\n");

	expect(a, "bench", "gbps/4194304", "196.140");
	rs_audit_destroy(a);
	/* of both directions, of which a port has each */
	a = reading("# OSU MPI Bi-Directional Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n"
		    "1048576             24000.00\n");
	expect(a, "bench", "gbps/1048576", "96.000");
	rs_audit_destroy(a);
	/* a collective's time is no message's; that of GPUs' buffers has copies in it */
	a = reading("# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n"
		    "8                      41.20\n# OSU MPI-CUDA Latency Test v7.3\n"
		    "# Size          Latency (us)\n8                      23.10\n"
		    "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"
		    "0                       1.31\n");
	expect(a, "bench", "us/0", "1.310");
	expect(a, "bench", "us/8", NULL);
	rs_audit_destroy(a);
	a = reading("# Benchmarking PingPong \n# #processes = 2 \n"
		    "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
		    "            0         1000         1.32         0.00\n"
		    "      4194304           10       349.53     12000.00\n"
		    "# Benchmarking Allreduce \n"
		    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
		    "      4194304           10       900.10       930.20       910.00\n");
	expect(a, "bench", "us/0", "1.320");
	expect(a, "bench", "gbps/4194304", "96.000");
	rs_audit_destroy(a);
	a = reading(
		"| API:          protocol layer       |\n| Test:         tag match bandwidth  |\n"
		"| Message size: 1048576              |\n"
		"Final:      1000      0.000    85.3    85.3    11718.75   11718.75   11718   "
		"11718\n");
	expect(a, "bench", "gbps/1048576", "98.304");
	rs_audit_destroy(a);
	a = reading(
		"bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
		"64k     1k      =1k      62m         0.01s   12000.00      5.46       0.18\n");
	expect(a, "bench", "gbps/65536", "96.000");
	rs_audit_destroy(a);
	/* "ibstat mlx5_0 | grep Rate" */
	a = reading("$ ibstat mlx5_0 | grep Rate\n\t\tRate: 200\n");
	expect(a, "nic/mlx5_0", "rate_gbps", "200");
	rs_audit_destroy(a);
}

static void test_rows_without_their_header(void **state)
{
	struct rs_audit *a =
		reading("mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a0c:0015 "
			"10.12.0.21      v2      "
			"net1\n0002:01:00.0  LnkCap: Speed 32GT/s, Width x4    LnkSta: Speed "
			"16GT/s, Width x2 "
			"(downgraded)\n  rdma/rdma_shared_device_a:    0\n");

	expect(a, "nic/mlx5_0", "gid_type/3", "v2");
	expect(a, "nic/mlx5_0", "gid_ipv4/3", "10.12.0.21");
	expect(a, "nic/mlx5_0", "netdev", "net1");
	expect(a, "pci/0002:01:00.0", "link_width", "2");
	expect(a, "pci/0002:01:00.0", "max_link_width", "4");
	expect(a, "pci/0002:01:00.0", "link_speed", "160");
	expect(a, "k8s/node", "resource/rdma/rdma_shared_device_a", "0");
	rs_audit_destroy(a);
}

static void test_switches_show(void **state)
{
	struct rs_audit *a =
		reading("Port               Mode Oper(VL bmap)  RxPPP      TxPPP\n"
			"============================================================\n\n"
			"Ethernet1/1        Auto Off           0          0\n"
			"Ethernet1/2        On   On  (8)       120394     992134\n"
			"Ethernet1/3        On   Off           0          0\n");

	expect(a, "port/Ethernet1/2", "pfc/3", "1");
	expect(a, "port/Ethernet1/2", "counter/tx_pause", "992134");
	expect(a, "port/Ethernet1/3", "pfc/3", "0");
	expect(a, "port/Ethernet1/3", "pfc_mode", "On");
	rs_audit_destroy(a);
	a = reading("Egress Queuing for Ethernet1/2 [System]\n"
		    "|                              QOS GROUP 3                    |\n"
		    "|                   Tx Pkts |       993284711|               0|\n"
		    "|              Dropped Pkts |          883471|               0|\n"
		    "|                 TxPPP |           12203|   RxPPP |               0|\n");
	expect(a, "port/Ethernet1/2", "counter/queue/3/dropped", "883471");
	expect(a, "port/Ethernet1/2", "counter/pfc_tx/3", "12203");
	rs_audit_destroy(a);
	a = reading("Physical interface: et-0/0/1, Enabled, Physical link is Up\n"
		    "Queue: 3, Forwarding classes: roce\n  Transmitted:\n"
		    "    Tail-dropped packets :                 71700                    11 pps\n");
	expect(a, "port/et-0/0/1", "counter/queue/3/dropped", "71700");
	rs_audit_destroy(a);
	/* set on and not in force; drops in the class that pauses */
	assert_int_equal(verdict("S15", FACTS({"s", "host", "role", "switch", 0},
					      {"s", "port/Ethernet1/3", "pfc_mode", "On", 0},
					      {"s", "port/Ethernet1/3", "pfc_oper", "Off", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("S13", FACTS({"s", "host", "role", "switch", 0},
					      {"s", "port/e1", "counter/queue/5/dropped", "9", 0},
					      {"s", "port/e1", "counter/pfc_tx/5", "7", 0})),
			 RS_FAIL);
	/* a lossy queue may drop */
	assert_int_not_equal(
		verdict("S13", FACTS({"s", "host", "role", "switch", 0},
				     {"s", "port/e1", "counter/queue/0/dropped", "9", 0})),
		RS_FAIL);
}

/* Each is taken from prose, code and other tools' output alike: nothing. */
static void test_others_words_are_not_taken(void **state)
{
	static const char text[] = "The state: was fine, Device : we had two of them.\n"
				   "device node GUIDs are unique\nMtu : 9000 is our MTU\n"
				   "rdma/hca: 1\nmlx5_0 has port 1 and index 3: see below\n"
				   "LnkCap and LnkSta should be equal (Speed 32GT/s)\n";
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = sizeof(text) - 1};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	rs_read_input(a, &in);
	rs_facts_seal(a->facts);
	assert_int_equal(facts(a, "nic/", ""), 0);
	assert_int_equal(facts(a, "pci/", ""), 0);
	assert_int_equal(facts(a, "k8s/", ""), 0);
	rs_audit_destroy(a);
}

static void test_judged_alone(void **state)
{
	/* all that was seen is down; some beside others that are up are a line */
	assert_int_equal(verdict("H09", FACTS({"h", "nic/mlx5_0", "port_state", "INIT", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N15", FACTS({"h", "host", "rdma_devices", "0", 0})), RS_FAIL);
	assert_int_equal(verdict("N15", FACTS({"h", "host", "rdma_devices", "2", 0})), RS_NA);
	assert_int_equal(verdict("C07", FACTS({"h", "link/sw1 port 17", "counter/LinkDownedCounter",
					       "44", 0})),
			 RS_FAIL);
	/* waiting is congestion, not a bad link */
	assert_int_equal(
		verdict("C07", FACTS({"h", "link/sw1 port 17", "counter/PortXmitWait", "44", 0})),
		RS_NA);
	assert_int_equal(verdict("P01", FACTS({"h", "pci/0002:01:00.0", "link_width", "2", 0},
					      {"h", "pci/0002:01:00.0", "max_link_width", "4", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("P01", FACTS({"h", "pci/0002:01:00.0", "link_width", "4", 0},
					      {"h", "pci/0002:01:00.0", "max_link_width", "4", 0})),
			 RS_NA);
	assert_int_equal(verdict("K02", FACTS({"h", "k8s/node", "resource/rdma/a", "0", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("H05", FACTS({"h", "host", "memlock", "65536", 0},
					      {"h", "host", "memlock_job", "srun", 0})),
			 RS_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ibstatus),
		cmocka_unit_test(test_ibv_devices_with_and_without_a_device),
		cmocka_unit_test(test_ibqueryerrors_and_ibportstate),
		cmocka_unit_test(test_perftest),
		cmocka_unit_test(test_bench_tables),
		cmocka_unit_test(test_rows_without_their_header),
		cmocka_unit_test(test_switches_show),
		cmocka_unit_test(test_others_words_are_not_taken),
		cmocka_unit_test(test_judged_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
