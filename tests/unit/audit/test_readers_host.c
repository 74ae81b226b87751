/* Readers of a host's tools: what each takes from a sample, that a sample cut anywhere invents
 * nothing, and that files of real hosts are read or said to be unknown. */
#include <dirent.h>
#include <stdlib.h>
#include "audit/read/reader.h"
#include "elsewhere.h"
#include "judge.h"

#ifdef RS_SANITIZED
enum { EVERY = 4 }; /* slower by ten: every fourth cut and pair; the release build has all */
#else
enum { EVERY = 1 };
#endif

/* libfyaml 0.7.12 keeps some memory when it refuses a text: its own, and not what is looked for
 * here. LeakSanitizer asks this function. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml\n";
}

struct sample {
	const char *reader, *path, *text;
	struct {
		const char *subject, *name, *value;
	} fact[8];
};

/* An audit that has read one text, as a file would be. */
static struct rs_audit *read_text(const char *path, const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	struct rs_input in = {.host = "a", .path = path, .inner = path, .data = copy, .size = n};
	struct rs_audit *a;

	assert_non_null(copy);
	memcpy(copy, text, n);
	copy[n] = '\0';
	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	assert_int_equal(a->err, 0);
	rs_facts_seal(a->facts);
	free(copy);
	return a;
}

static const struct sample samples[] = {
	{"nvidia-smi",
	 "smi.txt",
	 "==============NVSMI LOG==============\n\n"
	 "Driver Version                            : 575.51.03\n"
	 "Attached GPUs                             : 1\n"
	 "GPU 00000000:1B:00.0\n"
	 "    Product Name                          : NVIDIA H100 80GB HBM3\n"
	 "    MIG Mode\n"
	 "        Current                           : Disabled\n"
	 "    PCI\n"
	 "        GPU Link Info\n"
	 "            PCIe Generation\n"
	 "                Max                       : 5\n"
	 "                Current                   : 1\n"
	 "            Link Width\n"
	 "                Max                       : 16x\n"
	 "                Current                   : 8x\n"
	 "    FB Memory Usage\n"
	 "        Total                             : 81559 MiB\n"
	 "        Free                              : 81000 MiB\n"
	 "    BAR1 Memory Usage\n"
	 "        Total                             : 131072 MiB\n",
	 {{"host", "gpu_driver", "575.51.03"},
	  {"pci/0000:1b:00.0", "bar1_mib", "131072"},
	  {"pci/0000:1b:00.0", "fb_mib", "81559"},
	  {"pci/0000:1b:00.0", "max_link_speed", "320"},
	  {"pci/0000:1b:00.0", "link_width", "8"},
	  /* an idle GPU's speed says nothing; MIG is off */
	  {"pci/0000:1b:00.0", "link_speed", NULL},
	  {"pci/0000:1b:00.0", "mig", NULL}}},
	{"nvidia-smi-xml",
	 "smi.xml",
	 "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
	 "<nvidia_smi_log>\n<driver_version>575.51.03</driver_version>\n"
	 "<gpu id=\"00000000:1B:00.0\">\n<product_name>NVIDIA H100 80GB HBM3</product_name>\n"
	 "<serial>N/A</serial><mig_mode><current_mig>Disabled</current_mig></mig_mode>\n"
	 "<pci><pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen>"
	 "<current_link_gen>1</current_link_gen></pcie_gen><link_widths>"
	 "<current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info></pci>\n"
	 "<bar1_memory_usage>\n<total>131072 MiB</total></bar1_memory_usage>\n</gpu>\n"
	 "</nvidia_smi_log>\n",
	 {{"host", "gpu_driver", "575.51.03"},
	  {"pci/0000:1b:00.0", "product", "NVIDIA H100 80GB HBM3"},
	  {"pci/0000:1b:00.0", "bar1_mib", "131072"},
	  {"pci/0000:1b:00.0", "max_link_speed", "320"},
	  {"pci/0000:1b:00.0", "link_width", "8"},
	  {"pci/0000:1b:00.0", "link_speed", NULL},
	  {"pci/0000:1b:00.0", "serial", NULL},
	  {"pci/0000:1b:00.0", "mig", NULL}}},
	{"ibdev2netdev",
	 "ibdev.txt",
	 "0000:17:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 card fw 28.39.1002 "
	 "port 1 (ACTIVE) ==> enp23s0np0 (Up)\n",
	 {{"nic/mlx5_0", "netdev", "enp23s0np0"},
	  {"nic/mlx5_0", "link", "Up"},
	  {"nic/mlx5_0", "pci", "0000:17:00.0"},
	  {"nic/mlx5_0", "firmware", "28.39.1002"}}},
	{"ibdev2netdev",
	 "ibdev.txt",
	 "mlx5_0 port 1 ==> eth01 (Up)\nmlx5_1 port 1 ==> eth02 (Down)\n",
	 {{"nic/mlx5_1", "netdev", "eth02"}, {"nic/mlx5_1", "link", "Down"}}},
	{"ip-brief",
	 "br.txt",
	 "lo               UNKNOWN        127.0.0.1/8 ::1/128\n"
	 "eth4             UP             10.1.0.5/16 fe80::1/64\n",
	 {{"netdev/eth4", "address", "10.1.0.5/16"},
	  {"netdev/eth4", "operstate", "UP"},
	  {"netdev/eth4", "address6", "fe80::1/64"}}},
	{"ip",
	 "link.txt",
	 "5: eth4: <BROADCAST,UP> mtu 9000 qdisc mq state UP mode DEFAULT\n"
	 "    link/ether 10:70:fd:00:00:01 brd ff:ff:ff:ff:ff:ff parentbus pci parentdev "
	 "0000:17:00.0\n"
	 "    vf 1     link/ether 00:00:00:00:00:00 brd ff:ff:ff:ff:ff:ff, max_tx_rate 100Mbps, "
	 "link-state enable, trust on, query_rss off\n",
	 {{"netdev/eth4", "mtu", "9000"},
	  {"netdev/eth4", "bus-info", "0000:17:00.0"},
	  {"netdev/eth4", "vf/1/trust", "true"},
	  {"netdev/eth4", "vf/1/link_state", "enable"},
	  {"netdev/eth4", "vf/1/max_tx_rate", "100"}}},
	{"kernel-log",
	 "dmesg.txt",
	 "[Sat Nov 21 14:00:00 2026] Linux version 6.8.0\n"
	 "[Sat Nov 21 14:00:09 2026] mlx5_core 0000:17:00.0 eth4: Link down\n"
	 "[Sat Nov 21 15:10:01 2026] mlx5_core 0000:17:00.0 eth4: Link down\n",
	 /* the first belongs to the boot */
	 {{"netdev/eth4", "flap/1", "28653001"}, {"netdev/eth4", "flap/2", NULL}}},
	{"kernel-log",
	 "journal.txt",
	 "2026-11-21T14:10:01+0000 gpu01 kernel: mlx5_core 0000:17:00.0 eth4: Link down\n"
	 "2026-11-21T14:20:01+0000 gpu01 kernel: NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen "
	 "off "
	 "the bus.\n",
	 /* a log is no list of modules */
	 {{"netdev/eth4", "flap/1", "31327801"}, {"host", "module/mlx5_core", NULL}}},
	{"lsmod",
	 "modules",
	 "nvidia_peermem 16384 0 - Live 0x0000000000000000\n"
	 "ib_core 462848 2 mlx5_ib,ib_cm, Live 0x0000000000000000\n",
	 {{"host", "module/nvidia_peermem", "loaded"},
	  {"host", "module/mlx5_ib", "loaded"},
	  {"host", "module/-", NULL}}},
	{"sysfs",
	 "steps.txt",
	 "# cma_roce_tos -d mlx5_0\n106\n# cma_roce_mode -d mlx5_0 -p 1\nRoCE v2\n"
	 "# cat /sys/class/infiniband/mlx5_1/tc/1/traffic_class\nGlobal tclass=104\n",
	 {{"nic/mlx5_0", "cm_tos", "106"},
	  {"nic/mlx5_0", "cm_mode", "RoCE v2"},
	  {"nic/mlx5_1", "tclass", "104"}}},
	{NULL,
	 "traffic_class-mlx5_0.txt",
	 "Permission denied\n",
	 /* no word of it is no traffic class */
	 {{"nic/mlx5_0", "tclass", NULL}}},
	{"nccl-log",
	 "nccl.log",
	 "gpu01:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0.100.\n"
	 "gpu01:1:1 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0,mlx5_1\n"
	 "gpu01:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
	 "eth0:10.0.0.1<0>\nNCCL version 2.27.3+cuda12.9\n",
	 {{"env", "NCCL_SOCKET_IFNAME", "eth0.100"},
	  {"env", "NCCL_IB_HCA", "=mlx5_0,mlx5_1"},
	  {"nccl", "using/1", "mlx5_1"},
	  {"nccl", "using_layer/0", "RoCE"},
	  {"nccl", "relaxed_ordering", "1"},
	  {"nccl", "version", "2.27.3"}}},
	{"limits",
	 "limits.conf",
	 "* soft nofile 1024\n* - memlock unlimited\n",
	 {{"host", "memlock", "unlimited"}}},
	{"kernel-log",
	 "syslog",
	 /* a dash between words is no limit */
	 "2026-11-21T14:10:01+0000 - kernel: mlx5_core 0000:17:00.0 eth4: Link down\n",
	 {{"netdev/eth4", "flap/1", "31327801"}}},
	{"nvidia-smi-nvlink",
	 "nvlink.txt",
	 "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5269b708)\n\t Link 0: 25 GB/s\n"
	 "\t Link 1: <inactive>\nGPU 1: NVIDIA A100 (UUID: GPU-1)\n"
	 "NVML: Unable to retrieve NVLink information as all links are inactive\n",
	 {{"gpu/0", "nvlink/0", "25.000"},
	  {"gpu/0", "nvlink/1", "inactive"},
	  {"gpu/1", "nvlink", "inactive"}}},
	{"mlxconfig",
	 "mlxconfig.txt",
	 "Device #1:\n----------\n\nDevice type:    ConnectX7\nName:           MCX75310AAS-NEA_Ax\n"
	 "Device:         0000:17:00.0\n\n"
	 "Configurations:                              Default         Current         Next Boot\n"
	 "*        LINK_TYPE_P1                        IB(1)           IB(1)           ETH(2)\n"
	 "         SRIOV_EN                            False(0)        False(0)        False(0)\n"
	 "         PCI_WR_ORDERING                     per_mkey(0)     per_mkey(0)     "
	 "per_mkey(0)\n",
	 {{"pci/0000:17:00.0", "config/LINK_TYPE_P1", "2"},
	  {"pci/0000:17:00.0", "config_current/LINK_TYPE_P1", "1"},
	  {"pci/0000:17:00.0", "config_default/SRIOV_EN", "0"},
	  {"pci/0000:17:00.0", "config/PCI_WR_ORDERING", "0"},
	  {"pci/0000:17:00.0", "device_type", "ConnectX7"}}},
	{"mlxlink",
	 "mlxlink-mlx5_0.txt",
	 "Operational Info\n----------------\nState                           : Active\n"
	 "Physical state                  : LinkUp\nSpeed                           : NDR\n"
	 "FEC                             : Standard_RS-FEC - (544,514)\n"
	 "Raw Physical BER                : 2E-08\nTemperature [C]                 : 52 [-5..75]\n"
	 "Voltage [mV]                    : N/A\n",
	 {{"nic/mlx5_0", "link/fec", "Standard_RS-FEC - (544,514)"},
	  {"nic/mlx5_0", "link/raw_ber", "2E-08"},
	  {"nic/mlx5_0", "module/temperature", "52 [-5..75]"},
	  {"nic/mlx5_0", "module/voltage", NULL}}},
	{"mlxreg",
	 "roce_accl-mlx5_0.txt",
	 "Field Name                          | Data\n=========\n"
	 "roce_adp_retrans_en                 | 0x00000001\n"
	 "roce_slow_restart_en                | 0x00000000\n",
	 {{"nic/mlx5_0", "roce_accl/roce_adp_retrans_en", "0x00000001"},
	  {"nic/mlx5_0", "roce_accl/roce_slow_restart_en", "0x00000000"}}},
	{"ethtool",
	 "ethtool.txt",
	 "Settings for eth4:\n\tSpeed: 400000Mb/s\n\tLanes: 4\n\tDuplex: Full\n"
	 "\tAuto-negotiation: off\n\tLink detected: yes\n"
	 "Pause parameters for eth4:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n"
	 "Ring parameters for eth4:\nPre-set maximums:\nRX:\t\t8192\n"
	 "Current hardware settings:\nRX:\t\t1024\n"
	 "FEC parameters for eth4:\nSupported/Configured FEC encodings: Auto RS\n"
	 "Active FEC encoding: RS\n",
	 {{"netdev/eth4", "speed_mbps", "400000"},
	  {"netdev/eth4", "pause_rx", "1"},
	  {"netdev/eth4", "pause_tx", "0"},
	  {"netdev/eth4", "ring_rx_max", "8192"},
	  {"netdev/eth4", "ring_rx", "1024"},
	  {"netdev/eth4", "fec", "rs"}}},
	{"ethtool",
	 "k.txt",
	 "Features for eth4:\nrx-checksumming: on\nlarge-receive-offload: off [fixed]\n",
	 {{"netdev/eth4", "feature/rx-checksumming", "1"},
	  {"netdev/eth4", "feature/large-receive-offload", "0"}}},
	{"ethtool",
	 "ethtool-m-eth4.txt",
	 "\tIdentifier                                : 0x1e (QSFP+ or later with CMIS)\n"
	 "\tVendor name                               : NVIDIA\n"
	 "\tModule temperature                        : 47.45 degrees C\n"
	 "\tModule temperature high warning threshold : 75.00 degrees C\n"
	 "\tRcvr signal avg optical power(Channel 1)  : 1.0 mW / 0.00 dBm\n",
	 {{"netdev/eth4", "module/vendor", "NVIDIA"},
	  {"netdev/eth4", "module/temperature_warn", "75.00 degrees C"},
	  {"netdev/eth4", "module/rx_power/1", "1.0 mW / 0.00 dBm"}}},
	{"rdma",
	 "rdma.txt",
	 "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth4 \n"
	 "link mlx5_0/1 rx_write_requests 7 out_of_sequence 3 \n",
	 {{"nic/mlx5_0", "port_state", "ACTIVE"},
	  {"nic/mlx5_0", "phys_state", "LinkUp"},
	  {"nic/mlx5_0", "netdev", "eth4"},
	  {"nic/mlx5_0", "counter/out_of_sequence", "3"}}},
	{"rdma",
	 "qp.txt",
	 "link mlx5_0/1 lqpn 2441 rqpn 1181 type RC state ERR rq-psn 0 sq-psn 5100 pid 31 comm x\n",
	 {{"nic/mlx5_0", "resource", "listed"}, {"nic/mlx5_0", "port_state", NULL}}},
	{"rdma-json",
	 "rdma.json",
	 "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"port\":1,\"state\":\"ACTIVE\","
	 "\"physical_state\":\"LINK_UP\",\"netdev\":\"eth4\"}]",
	 {{"nic/mlx5_0", "port_state", "ACTIVE"},
	  {"nic/mlx5_0", "phys_state", "LinkUp"},
	  {"nic/mlx5_0", "counter/port", NULL}}},
	{"rdma-json",
	 "statistic.json",
	 "[{\"ifname\":\"mlx5_0\",\"port\":1,\"rx_write_requests\":44,\"out_of_sequence\":5}]",
	 {{"nic/mlx5_0", "counter/out_of_sequence", "5"}, {"nic/mlx5_0", "counter/port", NULL}}},
	{"rdma-json",
	 "system.json",
	 "{\"netns\":\"exclusive\",\"copy-on-fork\":\"on\"}",
	 {{"host", "rdma_netns", "exclusive"}}},
	{"counters",
	 "ethtool_S_eth4.txt",
	 "NIC statistics:\n     rx_prio3_pause: 5\n     rx_discards_phy: 0\n",
	 {{"netdev/eth4", "counter/rx_prio3_pause", "5"},
	  {"netdev/eth4", "counter/rx_discards_phy", "0"}}},
	{"counters",
	 "perfquery-mlx5_0.txt",
	 "# Port counters: Lid 13 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
	 "LinkDownedCounter:...............3\nPortXmitData:....................123456\n"
	 "CounterSelect:...................0x0000\n",
	 {{"nic/mlx5_0", "counter/link_downed", "3"},
	  {"nic/mlx5_0", "counter/port_xmit_data", "123456"}}},
	{"ethtool-json",
	 "k.json",
	 "[ {\"ifname\": \"eth4\", \"rx-checksumming\": {\"active\": true, \"fixed\": false},"
	 " \"large-receive-offload\": {\"active\": false}} ]",
	 {{"netdev/eth4", "feature/rx-checksumming", "1"},
	  {"netdev/eth4", "feature/large-receive-offload", "0"}}},
	{"ethtool-json",
	 "a.json",
	 "[ {\"ifname\": \"eth4\", \"autonegotiate\": false, \"rx\": true, \"tx\": false} ]",
	 {{"netdev/eth4", "pause_rx", "1"}, {"netdev/eth4", "pause_tx", "0"}}},
	{"ethtool-json",
	 "g.json",
	 "[ {\"ifname\": \"eth4\", \"rx-max\": 8192, \"rx\": 1024, \"tx-max\": 8192, \"tx\": 512} "
	 "]",
	 {{"netdev/eth4", "ring_rx_max", "8192"},
	  {"netdev/eth4", "ring_rx", "1024"},
	  {"netdev/eth4", "pause_rx", NULL}}},
	{"cpuinfo",
	 "cpuinfo",
	 "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\n"
	 "flags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\n",
	 {{"host", "cpu_vendor", "GenuineIntel"},
	  {"host", "virtual", "the processor's hypervisor flag"}}},
	{"lscpu",
	 "lscpu.txt",
	 "Architecture:        ppc64le\nCPU(s):              160\nNUMA node(s):        3\n"
	 "NUMA node0 CPU(s):   0-79\nNUMA node8 CPU(s):   80-159\nNUMA node252 CPU(s):\n",
	 {{"host", "numa_online", "0,8,252"},
	  {"host", "numa_cpus/8", "80-159"},
	  {"host", "numa_cpus/252", NULL}}},
	{"env",
	 "job.env",
	 "export NCCL_IB_TC=106\nexport "
	 "AWS_SECRET_ACCESS_KEY=abc\nNCCL_AUTH_TOKEN=def\nNCCL_DEBUG=INFO\n",
	 {{"env", "NCCL_IB_TC", "106"},
	  /* no variable of RDMA's: it is not kept at all */
	  {"env", "AWS_SECRET_ACCESS_KEY", NULL},
	  {"env", "NCCL_AUTH_TOKEN", "***"}}},
	{"cmdline",
	 "cmdline",
	 "BOOT_IMAGE=/vmlinuz root=/dev/sda ro iommu=pt rd.luks.key=abc\n",
	 {{"host", "cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda ro iommu=pt rd.luks.key=***"}}},
	{"cmdline",
	 "grub.txt",
	 "root=/dev/nvme0n1p2 rw initrd=initramfs.img amd_iommu=on iommu=pt\n",
	 {{"host", "cmdline",
	   "root=/dev/nvme0n1p2 rw initrd=initramfs.img amd_iommu=on iommu=pt"}}},
	{"lspci-list",
	 "lspci.txt",
	 "17:00.0 0200: 15b3:1021\n18:00.0 0302: 10de:2330 (rev a1)\n",
	 {{"pci/0000:17:00.0", "class", "0x0200"},
	  {"pci/0000:18:00.0", "vendor", "0x10de"},
	  {"pci/0000:18:00.0", "kind", NULL}}},
	{"ibstat",
	 "ibstat.txt",
	 "CA 'mlx5_0'\n\tCA type: MT4129\n\tFirmware version: 28.41.1000\n\tPort 1:\n"
	 "\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
	 "\t\tLink layer: InfiniBand\n",
	 {{"nic/mlx5_0", "port_state", "ACTIVE"},
	  {"nic/mlx5_0", "rate_gbps", "400"},
	  {"nic/mlx5_0", "link_layer", "InfiniBand"},
	  {"nic/mlx5_0", "hca_type", "MT4129"}}},
	{"ip-json",
	 "addr.json",
	 "[{\"ifindex\":4,\"ifname\":\"eth4\",\"mtu\":9000,\"operstate\":\"UP\","
	 "\"parentdev\":\"0000:17:00.0\",\"vfinfo_list\":[{\"vf\":0,\"trust\":false,"
	 "\"rate\":{\"max_tx\":0}}],"
	 "\"addr_info\":[{\"family\":\"inet\",\"local\":\"10.1.0.5\",\"prefixlen\":16}]}]",
	 {{"netdev/eth4", "mtu", "9000"},
	  {"netdev/eth4", "address", "10.1.0.5/16"},
	  {"netdev/eth4", "bus-info", "0000:17:00.0"},
	  {"netdev/eth4", "vf/0/trust", "false"}}},
	{"ip-json",
	 "route.json",
	 "[{\"dst\":\"default\",\"gateway\":\"10.0.0.1\",\"dev\":\"eth0\"},"
	 "{\"dst\":\"10.1.0.0/16\",\"dev\":\"eth4\"}]",
	 {{"host", "route/default", "eth0 via 10.0.0.1"},
	  {"host", "route/10.1.0.0/16", "eth4"},
	  {"host", "routes_seen", "1"}}},
	{"ip-json",
	 "rule.json",
	 "[{\"priority\":0,\"src\":\"all\",\"table\":\"local\"},"
	 "{\"priority\":100,\"src\":\"10.1.0.5\",\"table\":\"101\"}]",
	 {{"host", "rule/1", "from 10.1.0.5 lookup 101"}, {"host", "rules_seen", "1"}}},
	{"ip-rule",
	 "rule.txt",
	 "0:\tfrom all lookup local\n100:\tfrom 10.1.0.5 lookup 101\n",
	 {{"host", "rule/1", "from 10.1.0.5 lookup 101"}}},
	{"bonding",
	 "bond0",
	 "Ethernet Channel Bonding Driver: v6.8\n\nBonding Mode: IEEE 802.3ad Dynamic link "
	 "aggregation\nTransmit Hash Policy: layer3+4 (1)\n\nSlave Interface: eth4\n\n"
	 "Slave Interface: eth5\n",
	 {{"bond/bond0", "xmit_hash_policy", "layer3+4 (1)"},
	  {"bond/bond0", "slaves", "eth4 eth5"}}},
	{"sysctl",
	 "sysctl.txt",
	 "kernel.numa_balancing = 1\nnet.ipv4.conf.all.arp_ignore = 1\n"
	 "net.ipv4.conf.eth4/100.rp_filter = 2\nvm.nr_hugepages = 0\n",
	 {{"host", "numa_balancing", "1"},
	  {"host", "arp_ignore/all", "1"},
	  {"host", "rp_filter/eth4.100", "2"},
	  {"host", "hugepages", "0"}}},
	{"numactl",
	 "numa.txt",
	 "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 193129 MB\n",
	 {{"host", "numa_online", "0-1"}, {"host", "numa_cpus/0", "0 1 2 3"}}},
	{"lscpu",
	 "lscpu.txt",
	 "Architecture:          x86_64\nCPU(s):                64\nVendor ID:             "
	 "AuthenticAMD\nNUMA:\n  NUMA node(s):        2\n  NUMA node0 CPU(s):   0-31\n"
	 "  NUMA node1 CPU(s):   32-63\n",
	 {{"host", "cpu_vendor", "AuthenticAMD"},
	  {"host", "numa_online", "0,1"},
	  {"host", "numa_cpus/0", "0-31"}}},
	{"limits",
	 "limits",
	 "Limit                     Soft Limit           Hard Limit           Units     \n"
	 "Max locked memory         65536                65536                bytes     \n",
	 {{"host", "memlock", "65536"}}},
	{"limits",
	 "ulimit.txt",
	 "max locked memory           (kbytes, -l) 64\n",
	 {{"host", "memlock", "65536"}}},
	{"limits",
	 "limits.conf",
	 "# comment\nroot soft memlock 64\n* soft memlock unlimited\n",
	 {{"host", "memlock", "unlimited"}}},
	{"interrupts",
	 "interrupts",
	 "           CPU0       CPU1       \n"
	 "  98:          0         12   PCI-MSI 524288-edge      mlx5_comp3@pci:0000:17:00.0\n"
	 " NMI:          1          1   Non-maskable interrupts\n",
	 {{"irq/98", "action", "mlx5_comp3@pci:0000:17:00.0"}}},
	{"sysfs",
	 "report.md",
	 "# Host\n```\n$ numactl -H\navailable: 2 nodes (0-1)\nnode 0 cpus: 0 1\n```\ntext\n"
	 "```\n# ethtool -a eth4\nPause parameters for eth4:\nRX:\t\ton\n"
	 "[root@a ~]# cat /proc/sys/kernel/numa_balancing\n1\n```\n",
	 {{"host", "numa_online", "0-1"},
	  {"netdev/eth4", "pause_rx", "1"},
	  {"host", "numa_balancing", "1"}}},
};

/* Readers of messages may take a line, too: one of those that took the file. */
static bool took(const struct rs_audit *a, const char *reader)
{
	for (uint32_t i = 0; i < a->n_files; i++)
		if (a->files[i].reader && !strcmp(a->files[i].reader, reader))
			return true;
	print_error("%s did not take it\n", reader);
	return false;
}

static void test_each_reader_takes_its_facts(void **state)
{
	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];
		struct rs_audit *a = read_text(s->path, s->text, strlen(s->text));

		if (!s->reader)
			assert_int_equal(a->n_files, 0);
		else
			assert_true(took(a, s->reader));
		for (unsigned k = 0; k < 8 && s->fact[k].subject; k++) {
			const char *v =
				rs_facts_value(a->facts, "a", s->fact[k].subject, s->fact[k].name);

			if (!s->fact[k].value)
				assert_null(v);
			else if (!v || strcmp(v, s->fact[k].value))
				fail_msg("%s: %s %s is %s, not %s", s->path, s->fact[k].subject,
					 s->fact[k].name, v ? v : "unknown", s->fact[k].value);
		}
		rs_audit_destroy(a);
	}
}

/* What a cut text says, the whole one says, too: but for the value that the cut is in. */
static void test_a_cut_text_invents_nothing(void **state)
{
	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];
		size_t n = strlen(s->text);
		struct rs_audit *whole = read_text(s->path, s->text, n);

		for (size_t cut = 0; cut < n; cut += 7 * EVERY) {
			struct rs_audit *a = read_text(s->path, s->text, cut);
			const struct rs_fact *f;
			unsigned strange = 0;
			uint32_t at = 0;

			while ((f = rs_facts_next(a->facts, &at, "a", "", "")))
				strange += !rs_facts_value(whole->facts, "a", f->subject, f->name);
			/* "config/SRIOV_E", "irq/9": the name that was cut in two */
			assert_true(strange <= 2);
			rs_audit_destroy(a);
		}
		rs_audit_destroy(whole);
	}
}

static void test_lines_of_a_part_are_the_files(void **state)
{
	const char *text =
		"a\nb\n```\n$ numactl -H\navailable: 2 nodes (0-1)\nnode 0 cpus: 0\n```\n";
	struct rs_audit *a = read_text("r.md", text, strlen(text));

	assert_int_equal(rs_facts_get(a->facts, "a", "host", "numa_online")->line, 5);
	rs_audit_destroy(a);
}

/* ---- Configuration space ---- */

static void hex(char *out, size_t room, const uint8_t *byte, unsigned size)
{
	size_t n = (size_t)snprintf(out, room, "17:00.0 Infiniband controller: Mellanox\n");

	for (unsigned i = 0; i < size; i++) {
		if (i % 16 == 0)
			n += (size_t)snprintf(out + n, room - n, "%02x:", i);
		n += (size_t)snprintf(out + n, room - n, " %02x%s", byte[i],
				      i % 16 == 15 ? "\n" : "");
	}
}

static void test_configuration_space_is_decoded(void **state)
{
	uint8_t b[4096] = {0xb3, 0x15, 0x21, 0x10};
	static char text[16384];
	struct rs_audit *a;

	b[6] = 0x10;          /* has capabilities */
	b[10] = 7, b[11] = 2; /* InfiniBand controller */
	b[0x34] = 0x60;
	b[0x60] = 0x10, b[0x62] = 2; /* Express, version 2, endpoint */
	b[0x64] = 2;                 /* up to 512 bytes */
	b[0x68] = 0x30,
	b[0x69] = 0x51; /* relaxed ordering, payload 256, tags of 8 bits, reads 4096 */
	b[0x6c] = 0x05, b[0x6d] = 0x01;                 /* 32 GT/s, x16 */
	b[0x72] = 0x04, b[0x73] = 0x01;                 /* 16 GT/s, x16 */
	b[0x100] = 0x0d, b[0x102] = 1, b[0x103] = 0x12; /* ACS, next at 0x120 */
	b[0x106] = 0x1d;
	b[0x120] = 0x0f, b[0x122] = 1; /* ATS, the last */
	b[0x127] = 0x80;
	hex(text, sizeof(text), b, 4096);
	a = read_text("lspci-xxxx.txt", text, strlen(text));
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "mps_max")->number, 512);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "mps")->number, 256);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "mrrs")->number, 4096);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "ext_tag")->number, 1);
	assert_int_equal(
		rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "relaxed_ordering")->number, 1);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "max_link_speed")->number,
			 320);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "link_speed")->number,
			 160);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "link_width")->number, 16);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "acs_control")->number,
			 0x1d);
	assert_int_equal(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "ats")->number, 1);
	rs_audit_destroy(a);
}

static void test_sixty_four_bytes_hide_the_rest(void **state)
{
	uint8_t b[64] = {0xb3, 0x15, 0x21, 0x10, 0, 0, 0x10};
	static char text[1024];
	struct rs_audit *a;

	hex(text, sizeof(text), b, 64);
	a = read_text("lspci-x.txt", text, strlen(text));
	assert_non_null(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "config"));
	assert_null(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "mps"));
	rs_audit_destroy(a);
	/* the same in binary, of sysfs */
	a = read_text("sys/bus/pci/devices/0000:17:00.0/config", (const char *)b, sizeof(b));
	assert_non_null(rs_facts_get(a->facts, "a", "pci/0000:17:00.0", "config"));
	rs_audit_destroy(a);
}

/* ---- Files of third parties ---- */

static const char *const folders[] = {"cmd-output",     "mlxconfig", "mlnx_qos",
				      "perf",           "logs",      "host-report",
				      "sysfs-snapshot", "topo-m",    "nccl-env"};
/* Those that their sources or the data's index call right. The ASUS report has two firmwares on one
 * board id, and X05 says so. */
static const char *const healthy[] = {"mlnx_qos/att-netarbiter",
				      "mlnx_qos/spiderpool-prio5",
				      "mlxconfig/cx5-daytona3",
				      "topo-m/h100-8x8-healthy",
				      "topo-m/h100-vm-reversed-9nic",
				      "nccl-env",
				      "cmd-output",
				      "perf"};

static unsigned failures(const char *path)
{
	struct rs_error e = {0};
	struct rs_audit *a;
	unsigned n = 0;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, path, NULL, 0, &e), 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, &e), 0);
	for (uint32_t i = 0; i < a->n_findings; i++)
		/* A note on what is not as usual accuses nothing. */
		if (a->findings[i]->verdict == RS_FAIL && a->findings[i]->severity != RS_INFO) {
			print_message("%s: %s %s\n", path, a->findings[i]->rule->id,
				      a->findings[i]->title);
			n++;
		}
	rs_audit_destroy(a);
	return n;
}

static void test_healthy_hosts_are_not_accused(void **state)
{
	char path[512];

	for (unsigned i = 0; i < sizeof(healthy) / sizeof(*healthy); i++) {
		if (!elsewhere(healthy[i], path, sizeof(path)))
			skip();
		assert_int_equal(failures(path), 0);
	}
}

/* Trees of sysfs that hwloc, gpud and Prometheus keep: real machines, nothing known to be wrong but
 * the governors of two, which say powersave, and two counters of another at their ceilings. */
static void test_snapshots_of_sysfs_are_not_accused(void **state)
{
	char path[512], one[1024];
	struct dirent *e;
	DIR *d;

	if (!elsewhere("sysfs-snapshot", path, sizeof(path)))
		skip();
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		snprintf(one, sizeof(one), "%s/%s", path, e->d_name);
		assert_int_equal(failures(one),
				 strcmp(e->d_name, "gpud") == 0
					 ? 2
					 : !strcmp(e->d_name, "node_exporter-sys.ttar") ||
						   !strcmp(e->d_name, "procfs-fixtures.ttar"));
	}
	closedir(d);
}

static void test_every_fixture_is_read_or_said_to_be_unknown(void **state)
{
	char path[512];

	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		struct rs_error e = {0};
		struct rs_audit *a;

		if (!elsewhere(folders[i], path, sizeof(path)))
			skip();
		assert_int_equal(rs_audit_create(&a), 0);
		assert_int_equal(rs_audit_read(a, path, NULL, 0, &e), 0);
		assert_true(a->n_files > 0);
		for (uint32_t f = 0; f < a->n_files; f++)
			if (a->files[f].reader)
				assert_true(a->files[f].path && *a->files[f].path);
		assert_int_equal(rs_audit_run(a, NULL, NULL, &e), 0);
		rs_audit_destroy(a);
	}
}

/* ---- Each reader against the others ---- */

/* By lines, and from the text alone: not a document, not by the file's name. */
static bool pasted(const struct sample *s)
{
	const char *p = s->text + strspn(s->text, " \t\r\n");

	return s->reader && !strchr("{[<", *p) && strcmp(s->reader, "sysfs") &&
	       strcmp(s->reader, "facts") && strcmp(s->reader, "files") &&
	       strncmp(s->text, "# ", 2);
}

/* Does its first line tell whose it is? */
static bool begins(const struct sample *s)
{
	struct rs_input in = {.data = s->text, .size = strlen(s->text)};
	struct rs_line l = {0};

	if (!rs_line_next(&in, &l))
		return false;
	for (unsigned r = 0; rs_readers[r]; r++)
		for (const char *const *p = rs_readers[r]->begins; p && *p; p++)
			if (!strcmp(rs_readers[r]->name, s->reader) && rs_pattern(*p, &l))
				return true;
	return false;
}

static bool is_message_reader(const char *name)
{
	for (unsigned r = 0; rs_readers[r]; r++)
		if (!strcmp(rs_readers[r]->name, name))
			return rs_readers[r]->line || !rs_readers[r]->score;
	return false;
}

/* Alone, a sample is taken by its reader and by readers of messages. */
static void test_no_reader_takes_what_is_anothers(void **state)
{
	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];
		struct rs_audit *a;

		/* one with prompts is of several outputs */
		if (!s->reader || !strcmp(s->path, "steps.txt") || !strcmp(s->path, "report.md"))
			continue;
		a = read_text(s->path, s->text, strlen(s->text));
		for (uint32_t f = 0; f < a->n_files; f++)
			if (strcmp(a->files[f].reader, s->reader) && a->files[f].facts &&
			    !is_message_reader(a->files[f].reader))
				fail_msg("%s of %s: %u facts by %s", s->path, s->reader,
					 a->files[f].facts, a->files[f].reader);
		rs_audit_destroy(a);
	}
}

/* One behind the other, without a word between: both are read. */
static void test_outputs_behind_each_other_are_told_apart(void **state)
{
	unsigned pairs = 0;

	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		for (unsigned k = 0; k < sizeof(samples) / sizeof(*samples); k++) {
			const struct sample *x = &samples[i], *y = &samples[k];
			struct rs_audit *a;
			char *both;

			if (!pasted(x) || !pasted(y) || !begins(y) ||
			    !strcmp(x->reader, y->reader) || (i + k) % EVERY)
				continue;
			assert_true(asprintf(&both, "%s\n%s", x->text, y->text) > 0);
			a = read_text(x->path, both, strlen(both));
			if (!took(a, x->reader) || !took(a, y->reader))
				fail_msg("%s before %s: %s is not read", x->reader, y->reader,
					 took(a, x->reader) ? y->reader : x->reader);
			rs_audit_destroy(a);
			free(both);
			pairs++;
		}
	assert_true(pairs > 500 / EVERY);
}

/* What launchers, collectors and mail put before each line, and behind it. */
static const struct {
	const char *before, *behind;
} dresses[] = {
	{"> ", ""},
	{"", "\r"},
	{"2025-03-04T08:11:20.114Z ", ""},
	{"[1,0]<stdout>:", ""},
	{"[pod/trainer-0/main] ", ""},
	{"(Worker pid=12, ip=10.0.0.7) ", ""},
	{"\033[32m", "\033[0m"},
	{"trainer-1  | ", ""},
	{"gpu01: ", ""},
};

static char *dress(const char *text, const char *before, const char *behind)
{
	size_t lines = 1, n = 0;
	char *out;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	out = malloc(strlen(text) + lines * (strlen(before) + strlen(behind) + 1) + 1);
	assert_non_null(out);
	while (*text) {
		size_t line = strcspn(text, "\n");

		n += (size_t)sprintf(out + n, "%s%.*s%s\n", before, (int)line, text, behind);
		text += line + (text[line] == '\n');
	}
	out[n] = '\0';
	return out;
}

static void same_facts(const struct sample *s, const char *before, const char *behind)
{
	char *text = dress(s->text, before, behind);
	struct rs_audit *a = read_text(s->path, text, strlen(text));

	for (unsigned k = 0; k < 8 && s->fact[k].subject; k++) {
		const char *v = rs_facts_value(a->facts, "a", s->fact[k].subject, s->fact[k].name);

		if (!s->fact[k].value ? v != NULL : !v || strcmp(v, s->fact[k].value))
			fail_msg("%s behind '%s': %s %s is %s", s->path, before, s->fact[k].subject,
				 s->fact[k].name, v ? v : "unknown");
	}
	rs_audit_destroy(a);
	free(text);
}

static void test_prefixes_change_no_fact(void **state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		for (unsigned d = 0; d < sizeof(dresses) / sizeof(*dresses); d++) {
			const struct sample *s = &samples[i];
			const char *second = strchr(s->text, '\n');

			/* names before lines are a habit where several lines have one */
			if (!pasted(s) || !strcmp(s->reader, "kernel-log") ||
			    (d >= 7 && (!second || !strchr(second + 1, '\n') ||
					!strchr(strchr(second + 1, '\n') + 1, '\n'))))
				continue;
			same_facts(s, dresses[d].before, dresses[d].behind);
			n++;
		}
	assert_true(n > 250);
}

static void no_output(const char *folder, const char *name)
{
	char path[1024], *data = malloc(1 << 18);
	struct rs_audit *a;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s/%s", RS_SOURCE_DIR, folder, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(data);
	n = fread(data, 1, (1 << 18) - 1, f);
	fclose(f);
	a = read_text(name, data, n);
	for (uint32_t i = 0; i < a->n_files; i++)
		if (a->files[i].facts && !is_message_reader(a->files[i].reader))
			fail_msg("%s: %u facts by %s", path, a->files[i].facts, a->files[i].reader);
	rs_audit_destroy(a);
	free(data);
}

/* Programs and scripts print and quote what tools print: no reader takes it for an output. */
static void test_programs_are_no_output(void **state)
{
	static const char *const rooms[] = {"src/audit/read", "src/audit/rules", "src/verbs",
					    "src/nccl", "tests/interop"};
	unsigned files = 0;

	for (unsigned d = 0; d < sizeof(rooms) / sizeof(*rooms); d++) {
		char path[512];
		struct dirent *e;
		DIR *dir;

		snprintf(path, sizeof(path), "%s/%s", RS_SOURCE_DIR, rooms[d]);
		dir = opendir(path);
		assert_non_null(dir);
		while ((e = readdir(dir))) {
			size_t n = strlen(e->d_name);

			if (n > 2 && (!strcmp(e->d_name + n - 2, ".c") ||
				      !strcmp(e->d_name + n - 3, ".sh"))) {
				no_output(rooms[d], e->d_name);
				files++;
			}
		}
		closedir(dir);
	}
	assert_true(files > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_reader_takes_its_facts),
		cmocka_unit_test(test_no_reader_takes_what_is_anothers),
		cmocka_unit_test(test_outputs_behind_each_other_are_told_apart),
		cmocka_unit_test(test_programs_are_no_output),
		cmocka_unit_test(test_prefixes_change_no_fact),
		cmocka_unit_test(test_a_cut_text_invents_nothing),
		cmocka_unit_test(test_lines_of_a_part_are_the_files),
		cmocka_unit_test(test_configuration_space_is_decoded),
		cmocka_unit_test(test_sixty_four_bytes_hide_the_rest),
		cmocka_unit_test(test_healthy_hosts_are_not_accused),
		cmocka_unit_test(test_snapshots_of_sysfs_are_not_accused),
		cmocka_unit_test(test_every_fixture_is_read_or_said_to_be_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
