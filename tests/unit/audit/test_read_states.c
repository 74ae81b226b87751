/* States and counters by the words of their names, whatever tool prints them, and the kernel's
 * lines by who speaks: what is read, and what healthy machines print. */
#include "audit/facts/kernel_line.h"
#include "audit/read/states.h"
#include "reading.h"

/* A text of which perhaps nothing is made. */
static struct rs_audit *tried(const char *text)
{
	struct rs_input in = {
		.host = "h", .path = "file", .inner = "file", .data = text, .size = strlen(text)};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	rs_facts_seal(a->facts);
	return a;
}

/* The message of a state that a text shows; healthy: none of it. */
static void shows(const char *text, const char *key)
{
	struct rs_audit *a = tried(text);

	if (!facts(a, "message", key))
		print_error("%s is not found in:\n%s\n", key, text);
	assert_true(facts(a, "message", key) > 0);
	rs_audit_destroy(a);
}

static void calm(const char *text, const char *key)
{
	struct rs_audit *a = tried(text);

	assert_int_equal(facts(a, "message", key), 0);
	rs_audit_destroy(a);
}

static void test_trees(void **state)
{
	(void)state;
	shows("$ nvidia-smi -q -d PAGE_RETIREMENT\nGPU 00000000:07:00.0\n    Retired Pages\n"
	      "        Double Bit ECC                    : 0\n"
	      "        Pending Page Blacklist            : Yes\n",
	      "gpu-remap");
	calm("$ nvidia-smi -q -d PAGE_RETIREMENT\nGPU 00000000:07:00.0\n    Retired Pages\n"
	     "        Pending Page Blacklist            : No\n",
	     "gpu-remap");
	/* a key of two parts */
	shows("$ rocm-smi --showxgmierr\nGPU[0]\t\t: XGMI Error count: 0\n"
	      "GPU[1]\t\t: XGMI Error count: Multiple errors\n",
	      "nvlink-errors");
	shows("$ ethtool -I --show-fec ens1np0\nFEC parameters for ens1np0:\n"
	      "Active FEC encoding: RS\nStatistics:\n  corrected_blocks: 81\n"
	      "  uncorrectable_blocks: 12\n",
	      "fec-uncorrectable");
	/* a heading with a rule below it is a parent */
	shows("$ mlxlink -d mlx5_0 --port_type PCIE -c\n"
	      "Management PCIe Performance Counters Info\n"
	      "-----------------------------------------\n"
	      "RX Errors                          : 8123\n",
	      "pcie-errors");
	/* values beside their own limits */
	shows("$ mlxlink -d mlx5_0 -m\nModule Info\n-----------\n"
	      "Rx Power Current [dBm]             : 1.2,1.1,-40,1.1 [-9.5..5]\n",
	      "optics-alarm");
	calm("$ mlxlink -d mlx5_0 -m\nModule Info\n-----------\n"
	     "Rx Power Current [dBm]             : 1.2,1.1,0.9,1.1 [-9.5..5]\n",
	     "optics-alarm");
}

/* A heading with a rule below it holds for keys that are not further right. */
static void test_sections(void **state)
{
	(void)state;
	shows("$ mlxlink -d /dev/mst/mt4129_pciconf1\nOperational Info\n----------------\n"
	      "State                              : Polling\n"
	      "Physical state                     : ETH_AN_FSM_ENABLE\n",
	      "port-down");
	shows("$ mlxlink -d mlx5_1\nTroubleshooting Info\n--------------------\n"
	      "Status Opcode                      : 36\n"
	      "Recommendation                     : FEC mismatch between the link partners\n",
	      "link-advice");
	calm("$ mlxlink -d mlx5_1\nTroubleshooting Info\n--------------------\n"
	     "Status Opcode                      : 0\n"
	     "Recommendation                     : No issue was observed\n",
	     "link-advice");
}

/* Objects of JSON by what they call themselves, on one line or on many. */
static void test_json(void **state)
{
	(void)state;
	shows("$ gpud scan --json\n{\"component\":\"accelerator-nvidia-infiniband\",\"health\":"
	      "\"Unhealthy\",\"reason\":\"5 of 8 ports are active\"}\n",
	      "port-down");
	shows("$ gpud scan --json\n{\"component\":\"accelerator-nvidia-ecc\",\"health\":"
	      "\"Unhealthy\",\"reason\":\"row remapping failed\"}\n",
	      "state-gpu");
	calm("$ gpud scan --json\n{\"component\":\"accelerator-nvidia-ecc\",\"health\":"
	     "\"Healthy\",\"reason\":\"no issue\"}\n",
	     "state-gpu");
	shows("$ kubectl get node gpu-2 -o json | jq .status.conditions\n[\n  {\n"
	      "    \"reason\": \"NodeStatusUnknown\",\n    \"status\": \"Unknown\",\n"
	      "    \"type\": \"Ready\"\n  }\n]\n",
	      "node-condition");
	calm("$ kubectl get node gpu-2 -o json | jq .status.conditions\n[\n  {\n"
	     "    \"reason\": \"KubeletReady\",\n    \"status\": \"True\",\n"
	     "    \"type\": \"Ready\"\n  }\n]\n",
	     "node-condition");
	/* a document that is cut off is read by its lines */
	shows("$ x --json\n{\n  \"port\": {\n    \"operstate\": \"down\"\n", "port-down");
}

/* One of at least four parts differs from the others. */
/* Of what is unhealthy the object's own reason tells what it is. */
static void test_reasons(void **state)
{
	(void)state;
	shows("{\"component\": \"net-infiniband\", \"health\": \"Unhealthy\",\n"
	      "\"reason\": \"3 port(s) are active, expect 4; 1 Disabled (ib7)\"}\n",
	      "port-down");
	shows("{\"component\": \"net-infiniband\", \"health\": \"Unhealthy\",\n"
	      "\"reason\": \"ib7 port 1 flapped since noon\"}\n",
	      "flaps-many");
	shows("{\"type\": \"NicCheck\", \"status\": \"True\", \"reason\": "
	      "\"NicCheckIsNotHealthy\",\n"
	      "\"message\": \"port ib7/1 is DOWN, replace the cable\"}\n",
	      "port-down");
	calm("{\"type\": \"NicCheck\", \"status\": \"False\", \"reason\": \"NicCheckIsHealthy\",\n"
	     "\"message\": \"no failures of any port\"}\n",
	     "port-down");
}

/* What a container may lock is a fact of its processes. */
static void test_limits_of_a_container(void **state)
{
	struct rs_audit *a = tried("$ docker inspect job7\n[{\"HostConfig\": {\"Ulimits\": [\n"
				   "{\"Name\": \"nofile\", \"Soft\": 1024},\n"
				   "{\"Name\": \"memlock\", \"Hard\": 8192, \"Soft\": 8192}]}}]\n");

	(void)state;
	assert_string_equal(rs_facts_get(a->facts, "h", "host", "memlock")->value, "8192");
	rs_audit_destroy(a);
}

/* The colons of a program's own line part no key from a value. */
static void test_a_log_is_no_tree(void **state)
{
	(void)state;
	calm("nic.c: 412:nic_move: *ERROR*: port 3: expected state: READY, now: ERR\n",
	     "state-nic");
	shows("$ nictool show\nnic 3\n  port state: ERR\n", "state-nic");
}

static void test_odd_ones(void **state)
{
	(void)state;
	shows("$ ibstat | grep -E \"CA|Rate\"\nCA 'mlx5_0'\n\t\tRate: 400\nCA 'mlx5_1'\n"
	      "\t\tRate: 400\nCA 'mlx5_2'\n\t\tRate: 100\nCA 'mlx5_3'\n\t\tRate: 400\n",
	      "odd-rate");
	shows("$ cat /sys/class/net/rail*/mtu\n9000\n9000\n1500\n9000\n", "odd-one-out");
	/* hosts by groups, as dshbak folds them */
	shows("$ pdsh -w n[1-8] ibv_devinfo | grep fw_ver | dshbak "
	      "-c\n----------------\nn[1-5,7-8]\n"
	      "----------------\n\tfw_ver:\t\t28.39.1002\n----------------\nn6\n"
	      "----------------\n\tfw_ver:\t\t28.36.1010\n",
	      "odd-one-out");
	assert_int_equal(rs_odd_hosts("n[1-5,7-8]"), 7);
	assert_int_equal(rs_odd_hosts("n[01-02],login1,n9"), 4);
	assert_int_equal(rs_odd_hosts("Operational Info"), 1);
	/* of two kinds of parts neither is odd, and three are too few to tell */
	calm("$ ibstat | grep -E \"CA|Rate\"\nCA 'mlx5_0'\n\t\tRate: 400\nCA 'mlx5_1'\n"
	     "\t\tRate: 400\nCA 'mlx5_2'\n\t\tRate: 100\nCA 'mlx5_3'\n\t\tRate: 100\n",
	     "odd-rate");
	calm("$ ibstat | grep -E \"CA|Rate\"\nCA 'mlx5_0'\n\t\tRate: 400\nCA 'mlx5_1'\n"
	     "\t\tRate: 400\nCA 'mlx5_2'\n\t\tRate: 100\n",
	     "odd-rate");
}

/* Numbers behind their names, values of one file of many devices, and GID files. */
static void test_bare_values(void **state)
{
	(void)state;
	shows("$ nstat -az TcpRetransSegs\n#kernel\nTcpRetransSegs      71823312     0.0\n",
	      "tcp-resends");
	calm("$ nstat -az TcpRetransSegs\n#kernel\nTcpRetransSegs      712     0.0\n",
	     "tcp-resends");
	shows("$ for i in 0 1; do cat /sys/class/infiniband/mlx5_3/ports/1/gids/$i; done\n"
	      "fe80:0000:0000:0000:bace:f6ff:fe21:0044\n"
	      "0000:0000:0000:0000:0000:0000:0000:0000\n",
	      "gids-none");
	/* InfiniBand's is made of a GUID */
	calm("$ for i in 0 1; do cat /sys/class/infiniband/mlx5_3/ports/1/gids/$i; done\n"
	     "fe80:0000:0000:0000:b8ce:f603:0021:0044\n"
	     "0000:0000:0000:0000:0000:0000:0000:0000\n",
	     "gids-none");
	calm("$ for i in 0 1; do cat /sys/class/infiniband/mlx5_3/ports/1/gids/$i; done\n"
	     "fe80:0000:0000:0000:bace:f6ff:fe21:0044\n"
	     "0000:0000:0000:0000:0000:ffff:0a00:0107\n",
	     "gids-none");
}

/* Columns that the command names, bits of a mask, keys that are ports themselves. */
static void test_queries(void **state)
{
	(void)state;
	/* 0x40 is the hardware's thermal slowdown, 0x1 an idle GPU */
	shows("$ nvidia-smi --query-gpu=index,clocks.sm,clocks_throttle_reasons.active "
	      "--format=csv,noheader\n0, 1980 MHz, 0x0000000000000000\n"
	      "1, 345 MHz, 0x0000000000000040\n",
	      "gpu-slow");
	calm("$ nvidia-smi --query-gpu=index,clocks.sm,clocks_throttle_reasons.active "
	     "--format=csv,noheader\n0, 345 MHz, 0x0000000000000001\n",
	     "gpu-slow");
	shows("$ hl-smi -n link\nport 0:\tUP\nport 9:\tDOWN\n", "rdma-port-down");
	shows("$ hccn_tool -i 2 -net_health -g\nnet health status: Receive timeout\n",
	      "host-silent");
	shows("$ hccn_tool -i 2 -net_health -g\nnet health status: Fault\n", "state-nic");
	calm("$ hccn_tool -i 2 -net_health -g\nnet health status: Success\n", "state-nic");
	shows("$ hccn_tool -i 6 -optical -g\noptical info:\npresent : not present\n", "rail-down");
	shows("$ for i in 0 1; do hccn_tool -i $i -link -g; done\nlink status: UP\n"
	      "link status: DOWN\n",
	      "rail-down");
	shows("Device: cxi2\n    Link state: down\n", "rail-down");
	calm("Device: eth2\n    Link state: down\n", "rail-down");
	calm("Device: cxi2\n    Link state: up\n", "rail-down");
	shows("$ amd-smi metric --pcie\nGPU: 0\n    PCIE:\n        WIDTH: 8\n", "slot-narrow");
	calm("$ amd-smi metric --pcie\nGPU: 0\n    PCIE:\n        WIDTH: 16\n", "slot-narrow");
	shows("$ nicctl show dcqcn\nROCE device : rocep4s0\n  Status : Disabled\n", "dcqcn-off");
	shows("Edge: 60 / 64\nFabric: 400 / 410\n", "fabric-short");
	calm("Edge: 64 / 64\nFabric: 410 / 410\n", "fabric-short");
	/* a shell's braces are as many files; a path and its value */
	shows("$ cat /run/cxi/cxi0/{spt_timeouts,pkts_cancelled_o}\n3\n99\n", "slingshot-given-up");
	calm("$ cat /run/cxi/cxi0/{spt_timeouts,pkts_cancelled_o}\n99\n3\n", "slingshot-given-up");
	shows("$ grep . /run/cxi/cxi1/*\n/run/cxi/cxi1/pkts_cancelled_u:41\n",
	      "slingshot-given-up");
	shows("$ for i in 0 1 2 3; do hccn_tool -i $i -fec -g; done\nfec mode: rs FEC mode\n"
	      "fec mode: rs FEC mode\nfec mode: no FEC mode\nfec mode: rs FEC mode\n",
	      "odd-fec");
	/* a limit that is a whole number, and one that the tool prints on a line of its own */
	shows("Temperature [C]  : 84 [-10..75]\n", "optics-alarm");
	calm("Temperature [C]  : 74 [-10..75]\n", "optics-alarm");
	shows("Temperature : 81 C\nTemperature High Thres : 75 C\n", "optics-alarm");
	calm("Temperature : 71 C\nTemperature High Thres : 75 C\nTemperature Low Thres : -5 C\n",
	     "optics-alarm");
	shows("Rx Power1 : 0.9 mW\nRx Power2 : 0.001 mW\nRx Power Low Thres : 0.1 mW\n",
	      "optics-alarm");
	calm("Rx Power1 : 0.9 mW\nTx Power Low Thres : 1.1 mW\n", "optics-alarm");
	shows("$ flint -d 03:00.0 q\nFW Version: 1.2\nFW Version(Running): 1.1\n",
	      "firmware-pending");
	/* a program behind a port of TCP is no port */
	calm("{\"check\": {\"Name\": \"SQL TCP on port 5432\", \"Status\": \"critical\"}}\n",
	     "state-nic");
	shows("{\"check\": {\"Name\": \"nic 2 port 1\", \"Status\": \"critical\"}}\n", "state-nic");
	shows("PS C:\\> Get-NetAdapterRdma\nName      InterfaceDescription     Enabled     "
	      "Operational     PFC\n----      --------------------     -------     -----------"
	      "     ---\nSLOT 5    ConnectX Adapter         True        False           False\n",
	      "rdma-off");
	shows("$ for d in mlx5_0 mlx5_1; do echo -n \"$d \"; cat "
	      "/sys/class/infiniband/$d/ports/1/state; done\nmlx5_0 4: ACTIVE\nmlx5_1 1: DOWN\n",
	      "port-down");
	/* Prometheus' text, by its labels */
	shows("$ curl -s n1:9400/metrics\nDCGM_FI_DEV_XID_ERRORS{gpu=\"2\",UUID=\"GPU-3\"} 94\n",
	      "state-gpu");
	calm("$ curl -s n1:9400/metrics\nDCGM_FI_DEV_XID_ERRORS{gpu=\"2\",UUID=\"GPU-3\"} 0\n",
	     "state-gpu");
	shows("node_infiniband_state_id{device=\"mlx5_4\",port=\"1\"} 1\n", "rdma-port-down");
	calm("node_infiniband_state_id{device=\"mlx5_4\",port=\"1\"} 4\n", "rdma-port-down");
	/* a number before what it counts, a clock before a row, a number alone */
	shows("$ netstat -s\nTcp:\n    71283912 segments retransmitted\n", "tcp-resends");
	calm("$ netstat -s\nTcp:\n    7128 segments retransmitted\n", "tcp-resends");
	shows("$ sar -n EDEV 1 1\n09:11:22 PM     IFACE   rxerr/s   txerr/s  rxdrop/s\n"
	      "09:11:23 PM  ens2np0      0.00      0.00   7123.00\n",
	      "port-drops");
	shows("$ mget_temp -d 0000:3b:00.0\n111\n", "sensor-critical");
	calm("$ mget_temp -d 0000:3b:00.0\n61\n", "sensor-critical");
	/* columns that stand apart, one of them empty */
	shows("$ docker ps -a\nCONTAINER ID   IMAGE         STATUS                      PORTS   "
	      "NAMES\n72a1           vllm:latest   Exited (137) 2 minutes ago          w-1\n",
	      "pod-broken");
	calm("$ docker ps -a\nCONTAINER ID   IMAGE         STATUS                      PORTS   "
	     "NAMES\n72a1           vllm:latest   Exited (0) 2 minutes ago            w-1\n",
	     "pod-broken");
	shows("$ pbsnodes -l\ngpu04                offline,down\n", "node-drained");
	/* rows of nvidia-smi's box without its heading */
	shows("|   2  NVIDIA H100 80GB HBM3     On  |   00000000:2A:00.0 Off |        ERR! |\n",
	      "gpu-gone");
	/* a port's state is none of the scheduler's */
	calm("Port 2:\n\tState: Down\n", "node-drained");
}

static void test_tables(void **state)
{
	(void)state;
	shows("$ nvidia-smi --query-gpu=index,pcie.link.width.current,pcie.link.width.max "
	      "--format=csv\nindex, pcie.link.width.current, pcie.link.width.max\n"
	      "0, 16, 16\n1, 8, 16\n",
	      "slot-narrow");
	/* at rest a GPU lowers its generation */
	calm("$ nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.gen.max "
	     "--format=csv\nindex, pcie.link.gen.current, pcie.link.gen.max\n0, 1, 4\n",
	     "slot-narrow");
	shows("$ rocm-smi --showrasinfo\n"
	      "         Block       Status  Correctable Error  Uncorrectable Error\n"
	      "           UMC      ENABLED                  0                    3\n",
	      "gpu-ecc");
	calm("$ rocm-smi --showrasinfo\n"
	     "         Block       Status  Correctable Error  Uncorrectable Error\n"
	     "           UMC      ENABLED                  7                    0\n",
	     "gpu-ecc");
	/* columns one blank apart */
	shows("$ sacct -j 8812 --format=JobID,State,ExitCode\n"
	      "JobID             State ExitCode \n------------ ---------- -------- \n"
	      "8812          NODE_FAIL      0:0 \n",
	      "job-state");
	calm("$ ipmitool sel elist\n   1 | 03/04/2026 | 04:05:06 | Power Supply PS1 Status | "
	     "Presence detected | Asserted\n",
	     "machine-power");
	shows("$ ipmitool sdr list\nGPU0 Temp        | 97 degrees C      | cr\n"
	      "GPU1 Temp        | 61 degrees C      | ok\n",
	      "sensor-critical");
}

static void test_pairs_of_values(void **state)
{
	(void)state;
	shows("$ kubectl describe node gpu07\nName:               gpu07\nCapacity:\n"
	      "  nvidia.com/gpu:               8\nAllocatable:\n"
	      "  nvidia.com/gpu:               7\n",
	      "resource-short");
	calm("$ kubectl describe node gpu07\nCapacity:\n  nvidia.com/gpu:               8\n"
	     "Allocatable:\n  nvidia.com/gpu:               8\n",
	     "resource-short");
	shows("$ cat /sys/class/net/ens1np0/carrier_changes\n4812\n", "flaps-many");
	calm("$ cat /sys/class/net/ens1np0/carrier_changes\n2\n", "flaps-many");
}

static void test_kernel_lines(void **state)
{
	enum rs_kernel_part part;
	static const char *const healthy[] = {
		"[    6.1] bnxt_en 0000:41:00.0: 252.048 Gb/s available PCIe bandwidth",
		"[    6.9] bnxt_en 0000:41:00.0 ens1: Device requests max timeout of 100 seconds, "
		"may trigger hung task watchdog",
		"[    1.9] pcieport 0000:16:01.0: DPC: error containment capabilities: Int Msg #0",
		"[    1.1] pci 0000:17:00.0: BAR 13: no space for [io  size 0x1000]",
		"[    8.4] amdgpu 0000:05:00.0: amdgpu: RAS: optional ras ta ucode is not "
		"available",
		"[   21.2] nvidia: module verification failed: signature and/or required key "
		"missing - tainting kernel",
		"NCCL WARN mlx5_0 failed",
		"[    0.000000] Command line: root=/dev/sda3 panic=5 swiotlb=65536 quiet",
		"[    2.2] mce: [Firmware Bug]: Ignoring request to disable invalid MCA bank 7.",
		"[    4.1] [drm:nv_drm_load [nvidia_drm]] *ERROR* [nvidia-drm] Failed to allocate "
		"NvKmsKapiDevice",
		"[    4.2] nvidia 0000:2a:00.0: Direct firmware load for nvidia/gsp.bin failed "
		"with "
		"error -2",
		"[    4.3] mlx5_core 0000:17:00.0:   device [15b3:1021] error "
		"status/mask=00000001/0000e000",
	};
	static const struct {
		const char *text;
		enum rs_kernel_part part;
	} sick[] = {
		{"[ 9.1] bnxt_en 0000:41:00.0 ens1: Chip temperature (108 C) has gone above the "
		 "critical thermal threshold!",
		 RS_KERNEL_NIC},
		{"Nov 12 03:11:21 n1 kernel: hns3 0000:7d:00.0 hns_0: Local Work Queue 0x12 catast "
		 "error, sub_event type is: 3",
		 RS_KERNEL_NIC},
		{"[ 9.1] pcieport 0000:c0:01.1: pciehp: Slot(3-1): Link Down", RS_KERNEL_PCI},
		{"[ 9.1] amdgpu 0000:83:00.0: amdgpu: GPU reset begin!", RS_KERNEL_GPU},
		{"[ 9.1] AMD-Vi: Completion-Wait loop timed out", RS_KERNEL_IOMMU},
		{"[ 9.1] nf_conntrack: nf_conntrack: table full, dropping packet", RS_KERNEL_NET},
		{"[ 9.1] mce: [Hardware Error]: CPU 32: Machine Check Exception: 5 Bank 7",
		 RS_KERNEL_CPU},
		{"[ 9.1] mlx5_ib: version magic '5.15.0-91' should be '5.15.0-101'",
		 RS_KERNEL_MODULE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(healthy) / sizeof(*healthy); i++)
		assert_int_not_equal(rs_kernel_line(healthy[i], NULL), RS_KERNEL_FAULT);
	for (unsigned i = 0; i < sizeof(sick) / sizeof(*sick); i++) {
		assert_int_equal(rs_kernel_line(sick[i].text, &part), RS_KERNEL_FAULT);
		assert_int_equal(part, sick[i].part);
	}
	/* one loss of a link is told by how many there are */
	assert_int_equal(rs_kernel_line("[ 9.1] bnxt_en 0000:41:00.0 ens1: NIC Link is Down", NULL),
			 RS_KERNEL_NONE);
}

static void test_monitors_lines(void **state)
{
	(void)state;
	/* a label tells a state; a series of 0 is of a state that it is not in */
	shows("rdma_port_info{device=\"mlx5_6\",port=\"1\",speed=\"400\",state=\"DOWN\"} 1\n",
	      "rdma-port-down");
	calm("rdma_port_info{device=\"mlx5_6\",port=\"1\",state=\"DOWN\"} 0\n", "rdma-port-down");
	shows("node_net_ethtool_info{device=\"eth4\",link_detected=\"no\"} 1.0\n", "port-down");
	shows("nic_rx_frames_bad_fcs{nic_id=\"3\"} 2.75e+07\n", "port-counts");
	calm("nic_rx_frames_bad_fcs{nic_id=\"3\"} 2.75e+01\n", "port-counts");
	/* InfluxDB's line protocol */
	shows("infiniband,device=mlx5_2,host=g7,port=1 link_downed=63i,symbol_error=0i "
	      "1732430000000000000\n",
	      "port-counts");
	calm("infiniband,device=mlx5_2,host=g7,port=1 link_downed=0i,symbol_error=0i,up=true "
	     "1732430000000000000\n",
	     "port-counts");
	shows("> ipmi_sensor,host=g7,name=slot5,status_desc=upper_critical value=112,status=0 1\n",
	      "sensor-critical");
	/* Prometheus' answers: the first of two figures is a time */
	shows("{\"data\":{\"result\":[{\"metric\":{\"__name__\":\"DCGM_FI_DEV_XID_ERRORS\","
	      "\"gpu\":\"3\"},\"value\":[1732430000.1,\"79\"]}]}}\n",
	      "state-gpu");
	calm("{\"data\":{\"result\":[{\"metric\":{\"__name__\":\"DCGM_FI_DEV_XID_ERRORS\","
	     "\"gpu\":\"3\"},\"value\":[1732430000.1,\"0\"]}]}}\n",
	     "state-gpu");
	/* what a loop prints below each file's name */
	shows("$ for f in *; do echo \"=== $f ===\"; cat $f; done\n=== link_downed ===\n231\n"
	      "=== symbol_error ===\n0\n",
	      "port-counts");
	shows("  12 DOWN+DRAIN+NOT_RESPONDING\n 300 MIXED\n", "node-drained");
	shows("7,PSU1,Power Supply,0.00,W,'At or Below (<=) Lower Critical Threshold'\n",
	      "sensor-critical");
}

/* A collector's map of files is what the files are. */
static void test_files_in_json(void **state)
{
	struct rs_audit *a =
		tried("{\n  \"/sys/class/infiniband/mlx5_3/ports/1/state\": \"2: INIT\\n\",\n"
		      "  \"/sys/class/infiniband/mlx5_3/ports/1/rate\": \"200 Gb/sec\"\n}\n");

	(void)state;
	assert_true(facts(a, "nic/mlx5_3", "port_state") > 0);
	assert_true(facts(a, "nic/mlx5_3", "rate_gbps") > 0);
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_odd_ones),
		cmocka_unit_test(test_bare_values),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_pairs_of_values),
		cmocka_unit_test(test_kernel_lines),
		cmocka_unit_test(test_limits_of_a_container),
		cmocka_unit_test(test_a_log_is_no_tree),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_monitors_lines),
		cmocka_unit_test(test_files_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
