/* A host in the words of its tools: right as it is, and spoilt in one place at a time. What each
 * reader takes must reach the check that needs it, and no other may cry. */
#include <stdlib.h>
#include "audit/read/reader.h"
#include "judge.h"

static const char lspci[] =
	"14:01.0 PCI bridge: Intel Corporation Root Port (prog-if 00 [Normal decode])\n"
	"\tBus: primary=14, secondary=15, subordinate=18, sec-latency=0\n"
	"\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"
	"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n"
	"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
	"\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
	"\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n"
	"15:00.0 PCI bridge: Broadcom PEX890xx Switch (prog-if 00 [Normal decode])\n"
	"\tBus: primary=15, secondary=16, subordinate=18, sec-latency=0\n"
	"\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"
	"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n"
	"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
	"\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
	"16:00.0 PCI bridge: Broadcom PEX890xx Switch (prog-if 00 [Normal decode])\n"
	"\tBus: primary=16, secondary=17, subordinate=17, sec-latency=0\n"
	"\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"
	"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n"
	"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
	"\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
	"\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-\n"
	"16:01.0 PCI bridge: Broadcom PEX890xx Switch (prog-if 00 [Normal decode])\n"
	"\tBus: primary=16, secondary=18, subordinate=18, sec-latency=0\n"
	"\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"
	"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n"
	"17:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
	"\tNUMA node: 0\n"
	"\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"
	"\t\tDevCtl:\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-\n"
	"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n"
	"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1\n"
	"\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
	"18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
	"\tNUMA node: 0\n"
	"\tRegion 1: Memory at 3f000000000 (64-bit, prefetchable) [size=128G]\n"
	"\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0\n"
	"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n";

static const char devinfo[] =
	"hca_id:\tmlx5_0\n\tfw_ver:\t\t28.41.1000\n\tnode_guid:\t9c63:c003:00d4:20f0\n"
	"\tboard_id:\tMT_0000000834\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n"
	"\t\t\tactive_mtu:\t4096 (5)\n\t\t\tlink_layer:\tEthernet\n"
	"\t\t\tGID[  0]:\tfe80:0000:0000:0000:0e42:a1ff:fe40:29a0, RoCE v1\n"
	"\t\t\tGID[  3]:\t::ffff:10.1.0.5, RoCE v2\n";

static const char qos[] =
	"DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n"
	"        prio:3 dscp:31,30,29,28,27,26,25,24,\n"
	"Receive buffer size (bytes): 20016,300000,0,0,0,0,0,0,max_buffer_size=4151520\n"
	"Cable len: 7\nPFC configuration:\n"
	"        priority    0   1   2   3   4   5   6   7\n"
	"        enabled     0   0   0   1   0   0   0   0\n"
	"        buffer      0   0   0   1   0   0   0   0\n"
	"tc: 0 ratelimit: unlimited, tsa: ets, bw: 30%\n         priority:  0\n"
	"tc: 3 ratelimit: unlimited, tsa: ets, bw: 70%\n         priority:  3\n";

static const struct {
	const char *path, *text;
} files[] = {
	{"lspci-vvv.txt", lspci},
	{"ibv_devinfo-v.txt", devinfo},
	{"mlnx_qos-eth4.txt", qos},
	{"ibdev2netdev.txt", "mlx5_0 port 1 ==> eth4 (Up)\n"},
	{"addr.json", "[{\"ifindex\":4,\"ifname\":\"eth4\",\"mtu\":9000,\"operstate\":\"UP\","
		      "\"parentdev\":\"0000:17:00.0\","
		      "\"vfinfo_list\":[{\"vf\":0,\"trust\":true,\"rate\":{\"max_tx\":0}}],"
		      "\"addr_info\":[{\"family\":\"inet\",\"local\":\"10.1.0.5\","
		      "\"prefixlen\":24}]}]"},
	{"ethtool.txt", "Settings for eth4:\n\tSpeed: 400000Mb/s\n"
			"Pause parameters for eth4:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n"
			"FEC parameters for eth4:\nActive FEC encoding: RS\n"},
	{"ecn.txt", "/sys/class/net/eth4/ecn/roce_np/enable/3:1\n"
		    "/sys/class/net/eth4/ecn/roce_rp/enable/3:1\n"
		    "/sys/class/net/eth4/ecn/roce_np/cnp_dscp:48\n"},
	{"counters.txt", "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer:0\n"
			 "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err:0\n"},
	{"env.txt", "NCCL_IB_HCA==mlx5_0\nNCCL_IB_TC=106\nNCCL_DEBUG=INFO\n"},
	{"nccl.log",
	 "NCCL version 2.27.3+cuda12.8\n"
	 "gpu01:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
	 "gpu01:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via "
	 "NET/IB/0/GDRDMA\n"},
	{"sysctl.txt", "kernel.numa_balancing = 0\nnet.ipv4.conf.all.arp_ignore = 1\n"},
	{"numactl.txt", "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\n"},
	{"cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro intel_iommu=on iommu=pt\n"},
	{"limits.conf", "* soft memlock unlimited\n* hard memlock unlimited\n"},
	{"smi.txt", "==============NVSMI LOG==============\n\nGPU 00000000:18:00.0\n"
		    "    FB Memory Usage\n        Total                    : 81559 MiB\n"
		    "    BAR1 Memory Usage\n        Total                    : 131072 MiB\n"},
	{"dmesg.txt", "[    1.0] iommu: Default domain type: Passthrough\n"},
};

enum { FILES = sizeof(files) / sizeof(*files) };

/* text with the first `from` replaced; the caller frees it. */
static char *spoilt(const char *text, const char *from, const char *to)
{
	const char *at = from ? strstr(text, from) : NULL;
	char *out = malloc(strlen(text) + (to ? strlen(to) : 0) + 1);

	assert_non_null(out);
	if (from && !at)
		fail_msg("'%s' is not in the sample", from);
	if (!at)
		return strcpy(out, text);
	sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return out;
}

static struct rs_audit *audit(const char *path, const char *from, const char *to)
{
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	for (unsigned i = 0; i < FILES; i++) {
		bool this = path && !strcmp(files[i].path, path);
		char *text = spoilt(files[i].text, this ? from : NULL, to);
		struct rs_input in = {.host = "gpu01",
				      .path = files[i].path,
				      .inner = files[i].path,
				      .data = text,
				      .size = strlen(text)};

		if (!rs_read_input(a, &in))
			fail_msg("%s is not recognised", files[i].path);
		free(text);
	}
	assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
	return a;
}

static void test_a_right_host_is_not_accused(void **state)
{
	struct rs_audit *a = audit(NULL, NULL, NULL);
	unsigned passed = 0;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		if (a->findings[i]->verdict == RS_FAIL)
			fail_msg("%s: %s", a->findings[i]->rule->id, a->findings[i]->title);
		passed += a->findings[i]->verdict == RS_PASS;
	}
	assert_true(passed >= 25);
	rs_audit_destroy(a);
}

/* One place spoilt, and the check that must say so. */
static const struct {
	const char *path, *from, *to, *id;
} spoils[] = {
	{"lspci-vvv.txt", "LnkSta:\tSpeed 32GT/s, Width x16\n18:00",
	 "LnkSta:\tSpeed 16GT/s, Width x8\n18:00", "P01"},
	{"lspci-vvv.txt", "ReqRedir- CmpltRedir-", "ReqRedir+ CmpltRedir+", "P04"},
	{"lspci-vvv.txt", "RlxdOrd+ ExtTag+", "RlxdOrd- ExtTag+", "P11"},
	{"lspci-vvv.txt", "RlxdOrd+ ExtTag+", "RlxdOrd+ ExtTag-", "P03"},
	{"lspci-vvv.txt", "NUMA node: 0\n\tRegion", "NUMA node: -1\n\tRegion", "P08"},
	{"lspci-vvv.txt",
	 "DevCtl:\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-\n\t\t\tMaxPayload 256",
	 "DevCtl:\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-\n\t\t\tMaxPayload 512",
	 "P02"},
	{"lspci-vvv.txt", "[size=128G]", "[size=256M]", "P13"},
	{"dmesg.txt", "Passthrough\n",
	 "Passthrough\n[ 900.0] NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.\n",
	 "P14"},
	{"mlnx_qos-eth4.txt", "trust state: dscp", "trust state: pcp", "R04"},
	{"mlnx_qos-eth4.txt", "prio:3 dscp:31", "prio:2 dscp:31", "R06"},
	{"mlnx_qos-eth4.txt", "300000", "30000", "R08"},
	{"mlnx_qos-eth4.txt", "tsa: ets, bw: 70%", "tsa: ets, bw: 0%", "R09"},
	{"ethtool.txt", "RX:\t\toff", "RX:\t\ton", "R07"},
	{"ecn.txt", "roce_np/enable/3:1", "roce_np/enable/3:0", "R10"},
	{"ecn.txt", "cnp_dscp:48", "cnp_dscp:24", "R11"},
	{"ibv_devinfo-v.txt", "PORT_ACTIVE", "PORT_DOWN", "H09"},
	{"ibv_devinfo-v.txt", "4096 (5)", "1024 (3)", "R03"},
	{"env.txt", "NCCL_DEBUG=INFO", "NCCL_IB_GID_INDEX=0", "R02"},
	{"env.txt", "NCCL_DEBUG=INFO", "NCCL_GIN_ENABLE=1\nNCCL_GIN_IB_TC=0", "R05"},
	{"env.txt", "NCCL_DEBUG=INFO", "NCCL_IB_TIMEOT=22", "N01"},
	{"env.txt", "NCCL_DEBUG=INFO", "NCCL_PROTO=Simple", "N10"},
	{"env.txt", "=mlx5_0", "=mlx5_7", "N04"},
	{"nccl.log", "/GDRDMA", "", "N08"},
	{"sysctl.txt", "kernel.numa_balancing = 0", "kernel.numa_balancing = 1", "H03"},
	{"limits.conf", "* soft memlock unlimited", "* soft memlock 64", "H05"},
	{"addr.json", "\"max_tx\":0", "\"max_tx\":1000", "K05"},
};

static void test_each_spoilt_place_is_found(void **state)
{
	for (unsigned i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
		struct rs_audit *a = audit(spoils[i].path, spoils[i].from, spoils[i].to);
		bool found = false;

		for (uint32_t k = 0; k < a->n_findings; k++)
			found |= a->findings[k]->verdict == RS_FAIL &&
				 !strcmp(a->findings[k]->rule->id, spoils[i].id);
		if (!found)
			fail_msg("%s: '%s' for '%s': no FAIL of %s", spoils[i].path, spoils[i].to,
				 spoils[i].from, spoils[i].id);
		rs_audit_destroy(a);
	}
}

/* Every fix that is printed names a command, where it is run, and how it is undone or that it is
 * not: a choice has at least one command. */
static void test_each_fix_is_a_command_with_its_place(void **state)
{
	for (unsigned i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
		struct rs_audit *a = audit(spoils[i].path, spoils[i].from, spoils[i].to);

		for (uint32_t k = 0; k < a->n_findings; k++)
			for (uint32_t n = 0; n < a->findings[k]->n_fixes; n++) {
				const struct rs_finding_fix *fix = &a->findings[k]->fix[n];

				assert_true(fix->command && *fix->command && fix->on && *fix->on);
				assert_true(!fix->undo || strcmp(fix->undo, fix->command));
			}
		rs_audit_destroy(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_right_host_is_not_accused),
		cmocka_unit_test(test_each_spoilt_place_is_found),
		cmocka_unit_test(test_each_fix_is_a_command_with_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
