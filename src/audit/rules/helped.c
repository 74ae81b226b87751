/*
 * What a person says that it was. What mended the trouble names its cause: who sets
 * NCCL_CROSS_NIC=0 had rails that do not reach each other. The first of these that a sentence has
 * is its check.
 */
#include <stdio.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/rules/helped.h"
#include "audit/rules/message.h"

enum { TEXT = 640, MOST = 3 /* findings of a host */ };

static const struct {
	const char *words; /* rs_word_list_has() */
	const char *but;   /* words that mean another thing; NULL */
	const char *check, *what, *need;
} levers[] = {
	{"~nccl_cross_nic", NULL, "X04", "rails that do not reach each other",
	 "ping -I NETDEV PEER, from each rail to each"},
	{"~/dev/infiniband|~--device=/dev|~--privileged", NULL, "N15",
	 "a container without the RDMA devices", "ls -l /dev/infiniband, inside the container"},
	{"~shm-size|~/dev/shm|~shm_size|~nccl_shm_disable|~ipc=host|~shared memory size|~shared "
	 "memory mount|~shared memory volume|~missing shared memory",
	 NULL, "K06", "shared memory that is too small", "df -h /dev/shm, inside the container"},
	{"~noacs|acs|~acsctl|~config_acs", NULL, "P04",
	 "ACS, which sends peer-to-peer traffic through the root complex",
	 "lspci -vvv | grep -i acsctl"},
	{"iommu|~iommu=|~intel_iommu|~amd_iommu|vt-d|amd-vi|~arm-smmu", NULL, "P05",
	 "an IOMMU that translates peer-to-peer traffic", "cat /proc/cmdline"},
	{"~p2p_disable|~p2p_level", NULL, "P04", "peer-to-peer traffic that does not arrive",
	 "lspci -vvv | grep -i acsctl; cat /proc/cmdline"},
	{"~nvidia_peermem|~nvidia-peermem|~nv_peer_mem|~peermem|~dmabuf|~dma-buf|~dma_buf|"
	 "~gdr_level|~gdr_disable|~gdr_read|gdr|~gpudirect|~gpu direct",
	 NULL, "P12", "GPU memory that the NIC could not register", "lsmod | grep peermem"},
	{"~ipc_lock", NULL, "K01", "a container that may not lock memory",
	 "grep 'locked memory' /proc/PID/limits, inside the container"},
	{"~memlock|~locked memory|~ulimit -l", NULL, "H05", "the limit of locked memory",
	 "grep 'locked memory' /proc/PID/limits"},
	{"~gid_index|~gid index|~gid table|gid|gids|~roce v1|~rocev1", "~nccl_ib_disable", "R02",
	 "the GID that was used", "show_gids, on both hosts"},
	{"~nccl_ib_hca|~ucx_net_devices|~hca_list|~ib-device|~ib_device", NULL, "N04",
	 "the devices that the job took", "ibdev2netdev, inside the container"},
	{"~socket_ifname|~oob_net_ifname|~btl_tcp_if|~oob_tcp_if|~if_include|~if_exclude|"
	 "firewall|firewalld|iptables|ufw|~ports not being open|~ports were not open|~ports "
	 "opened|~opening the port|~opened the port|~open the port|~blocked ports|~ports "
	 "blocked|~port was blocked|~security group|~/etc/hosts|~master_addr",
	 NULL, "N17", "the network by which the ranks find each other",
	 "ip -br addr; ip route get PEER, on each host"},
	{"arp|~ip neigh|~arp_ignore|~arp_announce|~rp_filter|~ip rule|~policy routing|~source "
	 "routing|"
	 "~same subnet|~separate subnet|~different subnet",
	 "~subnet manager", "H07", "several RDMA interfaces in one network",
	 "ip rule; ip -br addr"},
	{"~split_data_on_qps", NULL, "N07", "data split over queue pairs",
	 "NCCL_DEBUG=INFO: NCCL's release"},
	{"~nccl_nvls|~nvlsalloc|nvls", NULL, "N18", "NVLink SHARP (NVLS)",
	 "nvidia-smi -q | grep -A4 Fabric"},
	{"~fabricmanager|~fabric manager|~fabric-manager", NULL, "P14",
	 "the fabric manager of the NVSwitches", "systemctl status nvidia-fabricmanager"},
	{"~relaxed_ordering|~relaxed ordering", NULL, "P11", "relaxed ordering of PCIe writes",
	 "NCCL_DEBUG=INFO; setpci or lspci -vvv"},
	{"~topo_file|~topology file|~topo file|~graph_file", NULL, "N09",
	 "the topology that NCCL was given", "NCCL_TOPO_DUMP_FILE; nvidia-smi topo -m"},
	{"~nccl_ib_tc|~traffic class|dscp|~trust mode|tos", NULL, "N06",
	 "the traffic class of the job", "mlnx_qos -i NETDEV; the switch's DSCP map"},
	{"~adaptive_routing|~adaptive routing", NULL, "R14", "adaptive routing on one side alone",
	 "mlxreg, or the switch's configuration"},
	{"~max_acc_out_read|~outstanding read|~outstanding pcie|~maxreadreq|~max_read_req|mrrs|"
	 "~extended tag",
	 NULL, "P03", "reads in flight over PCIe", "lspci -vvv: DevCtl, MaxReadReq and ExtTag"},
	{"~sriov_en|~num_of_vfs|~numvfs|~num_vfs", NULL, "K05", "virtual functions",
	 "cat /sys/class/net/PF/device/sriov_numvfs; mlxconfig -d DEV q SRIOV_EN NUM_OF_VFS"},
	{"fec|~reed-solomon|~error-correction encoding|rs-fec|~base-r", NULL, "L01",
	 "FEC that differed between the ends", "ethtool --show-fec, and the switch's port"},
	{"pfc|~priority flow|~flow control|~priority-flow", NULL, "R07",
	 "flow control (PFC) of the class", "mlnx_qos -i NETDEV; the switch's PFC, port by port"},
	{"~mtu is different|~mtu was different|~mtu differ|~different mtu|~mtu mismatch|"
	 "~mismatched mtu|~mtu did not match|~same mtu",
	 NULL, "X02", "an MTU that is not the same on all hosts",
	 "ip -br link; ibv_devinfo | grep active_mtu, on each host"},
	{"mtu|~active_mtu|~jumbo|~path_mtu|~ibv_mtu", NULL, "R03", "the MTU",
	 "ip -br link, on both hosts and the switch"},
	{"opensm|~subnet manager", NULL, "H09", "the subnet manager", "sminfo; ibstat"},
	{"cable|cables|transceiver|transceivers|optic|optics|reseat|~re-seat|~reseated", NULL,
	 "L03", "a cable or a module", "mlxlink -m -c, at both ends"},
	{"bar1|~bar size|~bar space|~resizable bar|~above 4g", NULL, "P13", "the GPU's BAR1",
	 "nvidia-smi -q -d MEMORY"},
	{"hugepages|~huge pages|~nr_hugepages", NULL, "H06", "huge pages",
	 "grep -i huge /proc/meminfo"},
	{"governor|cpupower|~cpu frequency", NULL, "H02", "the CPUs' clock",
	 "cpupower frequency-info"},
	{"c-states|cstates|~c-state|~cstate|~idle_state|~intel_idle", NULL, "H01",
	 "idle states of the CPUs", "cpupower idle-info"},
	{"isrdma", NULL, "K04", "a policy without isRdma",
	 "kubectl get sriovnetworknodepolicy -o yaml"},
	{"~nccl_algo|~nccl_proto", NULL, "N10", "an algorithm or protocol that was pinned",
	 "env | grep NCCL_"},
	{"~modprobe|~dynamic link|~dynamic linking|~statically "
	 "linked|ib_uverbs|rdma_ucm|ib_umad|mlx5_ib|~rdma-core|libibverbs|~ibverbs-providers",
	 NULL, "N15", "a module or library of RDMA that was missing",
	 "lsmod | grep -E 'ib_|rdma'; ibv_devinfo"},
	{"~version mismatch|~mismatched version|~versions of nccl|~same version|~same nccl|"
	 "~different version|~upgrading|~upgraded|~downgrad|~firmware|~newer driver|~driver "
	 "version",
	 "~vllm|~pytorch version", "X05", "releases that did not fit each other",
	 "ofed_info -s; NCCL_DEBUG=VERSION; ethtool -i NETDEV, on each host"},
};

static void say(struct rs_audit *a, const struct rs_rule *r, unsigned lever,
		const struct rs_fact *f)
{
	struct rs_finding *x;

	rs_messages_overrule(a, levers[lever].check, f->host);
	x = rs_finding_new(a, r, RS_FAIL, rs_audit_is_guide(a, f->file) ? RS_MINOR : RS_MAJOR,
			   "the text says what it was: %s", levers[lever].what);
	if (!x)
		return;
	x->confidence = RS_MEDIUM;
	x->told = true;
	rs_finding_subject(a, x, f->host, NULL);
	rs_finding_fact(x, f);
	rs_finding_why(a, x,
		       "a person's sentence names what mended the trouble, or what it came of; "
		       "whether it is the same here is not known");
	rs_finding_need(a, x, levers[lever].need, "whether it holds on these hosts");
	rs_finding_unpriced(a, x, "what a person tells has no model");
}

void rs_helped_judge(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
		     void *state)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		uint32_t at = rs_facts_seek(a->facts, host, "told");
		const struct rs_fact *f;
		unsigned n = 0;

		while (n < MOST && (f = rs_facts_next(a->facts, &at, host, "told", "helped/"))) {
			char low[TEXT];

			rs_word_lower(f->value, low, sizeof(low));
			for (unsigned k = 0; k < sizeof(levers) / sizeof(*levers); k++) {
				const struct rs_rule *r;

				if (!rs_word_list_has(low, levers[k].words, false) ||
				    rs_word_list_has(low, levers[k].but, false))
					continue;
				r = rs_rule_find(levers[k].check);
				if (r && wanted(r, state) &&
				    !rs_failed(a, levers[k].check, host, RS_MAJOR)) {
					say(a, r, k, f);
					n++;
				}
				break;
			}
		}
	}
}
