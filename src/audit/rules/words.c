/*
 * Words of RDMA, and the check that each kind of them points at. A release, a library or a driver
 * that was never read says what fails in its own words, yet the words of its subject are the same:
 * a GID, a queue pair, a registration, a driver's name beside a PCI address. The first kind below
 * whose words a line has is its check.
 */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/kernel_line.h"
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"
#include "audit/rules/words.h"

enum {
	TEXT = 512, /* bytes of a line that are looked at */
	SHORT = 4,  /* words: fewer say too little to accuse */
};

#define DRIVERS                                                                                   \
	"mlx5_core|mlx5_ib|mlx4_core|mlx4_en|mlx4_ib|bnxt_en|bnxt_re|bnxt_qplib|irdma|i40iw|ice|" \
	"efa|erdma|hns_roce|hns3|ionic|ionic_rdma|qedr|qede|cxgb4|iw_cxgb4|hfi1|qib|siw|"         \
	"rdma_rxe|rxe|mana_ib|ocrdma|usnic|vmw_pvrdma|ib_core|ib_uverbs|ib_umad|infiniband"
#define ULPS                                                                                     \
	"rpcrdma|xprtrdma|svcrdma|~nvme_rdma|~nvmet_rdma|~nvmet-rdma|isert|iser|ib_iser|ib_srp|" \
	"ib_srpt|ib_ipoib|ipoib|~smbdirect|~smb_direct|rds|rtrs|rnbd|ko2iblnd|lnet|lneterror|"   \
	"o2ib|~o2iblnd|"                                                                         \
	"~rdma_connect|~rdma_resolve|~connect rejected"

/* Words that only the kernel's lines begin with. */
#define ULPS_ALONE "~lnet: |~lneterror: |~lustreerror: |~rdma_rxe:|~rpcrdma:"

/* A person compares hosts. */
#define DIFFER                                                                                  \
	"~different between|~differ between|~differs between|~different on the|~differ on the|" \
	"~not the same on|~not identical|~different for the two|~mismatch between"

static const struct rs_kind kinds[] = {
	{
		.check = "P14",
		.any = "pcieport|aer|dpc|pciehp",
		.but = "~corrected|~correctable",
		.title = "the kernel's log states a fault of a PCIe link",
		.need = "dmesg -T; lspci -vvv -s BDF",
		.kernel = true,
	},
	{
		.check = "P14",
		.any = "nvrm|nvidia|amdgpu|kfd|nvidia-nvswitch|habanalabs",
		.but = "xid|sxid|taints|~tainting|~module "
		       "verification|~peermem|~corrected|~correctable",
		.title = "the kernel's log states a fault of a GPU",
		.need = "dmesg -T; nvidia-smi -q, or rocm-smi",
		.kernel = true,
	},
	{
		.check = "N16",
		.any = ULPS,
		.title = "a user of RDMA in the kernel lost or could not make a connection",
		.need = "rdma link; dmesg -T, on both ends",
		.kernel = true,
	},
	{
		.check = "N17",
		.any = "nfs|nfs4|libceph|ceph|cifs|smb|beegfs|gpfs|mmfs",
		.with = "~not responding|~timed out|~connection|~socket closed|~session lost",
		.title = "a network file system's server does not answer this host",
		.need = "ping and rpcinfo of the server; ip route get SERVER",
		.kernel = true,
	},
	{
		.check = "N17",
		.any = "~mount.nfs|~mount.lustre|~mount.beegfs|~mount.ceph|~mount.cifs|~mount(2)|"
		       "~mount error",
		.with = "refused|~timed out|~no route|unreachable|~not responding|~error(11|~error "
			"11",
		.title = "a network file system's server does not answer this host",
		.need = "ping and rpcinfo of the server; ip route get SERVER",
	},
	{
		.check = "P14",
		.any = DRIVERS,
		.but = "~corrected|~correctable",
		.title = "the kernel's log states a fault of an RDMA NIC",
		.need = "dmesg -T; ethtool -i NETDEV",
		.kernel = true,
	},
	{
		.check = "H05",
		.any = "memlock|~locked memory|~rlimit_memlock|~ulimit -l",
		.title = "a line states a failure that names the limit of locked memory",
		.need = "grep 'locked memory' /proc/PID/limits, of the job's own process",
	},
	{
		.check = "H06",
		.any = "eal",
		.with = "~memory|~hugepage|~huge page|~virtual area|~memseg|~hugetlb|~socket "
			"mem",
		.but = "vfio|~iommu|~shared data",
		.title = "DPDK got no memory for its huge pages",
		.need = "grep -i huge /proc/meminfo; ls /dev/hugepages; the program's -m, "
			"--socket-mem",
	},
	{
		.check = "H06",
		.any = "iobuf|~iobuf_|hugepage|hugepages|~huge page|~nr_hugepages|~hugetlb",
		.title = "a line states a failure that names huge pages",
		.need = "grep -i huge /proc/meminfo; cat /proc/cmdline",
	},
	{
		.check = "P14",
		.any = "gpu|gpus|ecc|xid|hbm|sram|vram",
		.with = "~uncorrect|~remap|~requires reset|~requires a reset|~fallen off|~fell "
			"off|xid|~double bit|~double-bit|~retired page|~pages retired|~gpu "
			"count|~missing gpu|~device handle|~gpus found",
		.title = "a monitor states a fault of a GPU",
		.need = "nvidia-smi -q, or rocm-smi; dmesg -T",
	},
	{
		.check = "P14",
		.any = "~hw slowdown|~thermal slowdown|~power brake|~hw thermal|~gpuid ",
		.with = "~engaged|active|~links down|~lanes down|~exceed",
		.title = "a monitor states that a GPU is slowed, or that links of it are down",
		.need = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE; nvidia-smi nvlink -s",
	},
	{
		.check = "P14",
		.any = "~psu|~power supply|~power supplies|~redundancy|fan|fans|~inlet|~voltage|"
		       "~temperature",
		.with = "~critical|~lost|~degraded|~failed|~failure|~redundant|~expected|~absent|"
			"~too high|~non-recoverable",
		.but = "module|optic|transceiver|gpu|gpus",
		.title = "a monitor states a fault of a power supply, a fan or a sensor",
		.need = "ipmitool sdr; ipmitool sel elist",
	},
	{
		.check = "N18",
		.any = "nodes|node|slurm|slurmd",
		.with = "~bad slurm state|~in bad |~in a bad state|~nodes are down|~not "
			"responding|~node is down|drained",
		.but = "kubelet|pod|pods",
		.title = "a monitor states that nodes of the cluster may not be used",
		.need = "sinfo -R; scontrol show node NODE",
	},
	{
		.check = "P14",
		.any = "~fabric manager|~fabricmanager|~fabric-manager",
		.with = "~not started|~not active|~not running|~fail|inactive|~could not|~unable",
		.title = "the fabric manager of the GPUs' NVSwitches does not run",
		.need = "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A4 Fabric",
	},
	{
		.check = "H02",
		.any = "~cpu profile|governor|cpupower|~cpu frequency|~power profile|~tuned "
		       "profile",
		.title = "a monitor states that the CPUs save power",
		.need = "cpupower frequency-info; tuned-adm active",
	},
	{
		.check = "P01",
		.any = "~width mismatch|~speed mismatch|~degraded link|~link is "
		       "degraded|~downtrained|~downgraded link|~link downgraded|~x8 instead "
		       "of|~x4 instead of|~x2 instead of|~x1 instead of|~gen1 instead|~gen2 "
		       "instead|~gen3 instead|~gen4 instead|~expected x16|~link width|~pcie "
		       "width|~pcie speed|~pcie link speed|~width test|~width check",
		.with = "pcie|pci|slot|x16|x8|gen3|gen4|gen5|~gt/s",
		.title = "a line states that a slot runs below what its device can",
		.need = "lspci -vvv -s BDF | grep Lnk, of the device and of the port above it",
	},
	{
		.check = "P13",
		.any = "bar1|~bar-usage|~bar usage",
		.title = "a line states a failure that names a GPU's BAR1",
		.need = "nvidia-smi -q -d MEMORY; lspci -vvv -s BDF",
	},
	{
		.check = "P05",
		.any = "iommu|smmu|dmar",
		.title = "a line states a failure that names the IOMMU",
		.need = "cat /proc/cmdline; dmesg | grep -iE 'iommu|dmar'",
	},
	{
		.check = "P12",
		.any = "~cufile|~nvidia-fs|~nvidia_fs|~nvfs_|gdsio|~gpudirect "
		       "storage|~peermem|~peer_mem|~gpudirect|~peer to peer support|~gpu "
		       "direct|~gpu rdma|~gpu-direct|gdrcopy|gdrdrv|dmabuf|dma-buf|gdr|gdrdma",
		.but = "~nccl_|~tcpx|~fastrak",
		.title = "a line states a failure of GPU memory that NICs should reach",
		.need = "lsmod | grep peermem; dmesg | grep -i peermem",
	},
	{
		.check = "R02",
		.any = "gid|gids|sgid|dgid|~gid_index",
		.but = "nfs|chown|~uid|~wqe[",
		.title = "a line states a failure that names a GID",
		.need = "show_gids, on both hosts",
	},
	{
		.check = "X02",
		.any = DIFFER,
		.with = "mtu|~active_mtu",
		.title = "a sentence states that hosts have another MTU each",
		.told = true,
		.need = "ip -br link; ibv_devinfo | grep active_mtu, on each host",
	},
	{
		.check = "X05",
		.any = DIFFER,
		.with = "firmware|driver|drivers|version|versions|kernel|kernels|ofed|release",
		.title = "a sentence states that hosts have another release each",
		.told = true,
		.need = "ofed_info -s; ethtool -i NETDEV; uname -r, on each host",
	},
	{
		.check = "X03",
		.any = DIFFER,
		.with = "pfc|dscp|qos|ecn|trust",
		.title = "a sentence states that hosts have another QoS each",
		.told = true,
		.need = "mlnx_qos -i NETDEV, on each host",
	},
	{
		.check = "X07",
		.any = DIFFER,
		.with = "topology|topologies|nic|nics|hca|hcas|gpu|gpus|numa|wiring",
		.title = "a sentence states that hosts are built another way each",
		.told = true,
		.need = "nvidia-smi topo -m; ibdev2netdev, on each host",
	},
	{
		.check = "P07",
		.any = "~sharing one nic|~share one nic|~sharing 1 nic|~overlapping nic|~is "
		       "closer|~closer to|~nearer to|~thinks nic|~nearest nic|~wrong nic|"
		       "~nic affinity|~nic mapping|~wrong numa|~wrong socket|~other socket|"
		       "~remote socket|~remote numa|~different numa|~different socket|"
		       "~cross-socket|~cross socket|~across sockets|~across the socket",
		.with = "gpu|gpus|nic|nics|hca|hcas|~mlx5_",
		.but = "~as expected|~is fine",
		.title = "a sentence states that GPUs do not use their nearest NIC",
		.told = true,
		.need = "nvidia-smi topo -m; NCCL_DEBUG=INFO: NET lines of each rank",
	},
	{
		.check = "N04",
		.any = "~sharing the same n|~the same nic|~same hca|~the same ib device|~first "
		       "nic|~first hca|"
		       "~only one nic|~only one hca|~only the first|~a single nic|~one of the nics|"
		       "~only uses one|~only use one|~only used one|~only using one|~only mlx5_0",
		.with = "nic|nics|hca|hcas|~mlx5_|rank|ranks|gpu|gpus|ib",
		.but = "~one gpu|~a single gpu|~first gpu",
		.title = "a sentence states that not each rail's NIC is used",
		.told = true,
		.need = "NCCL_DEBUG=INFO: the line NET/IB : Using; nvidia-smi topo -m",
	},
	{
		.check = "S03",
		.any = "headroom",
		.with = "~ 0|zero|~not allocated|~too small|insufficient|~not "
			"enough|missing|~exceed",
		.title = "a line states that headroom is missing where PFC needs it",
		.need = "show buffer configuration; show priority-group drop counters; the cable's "
			"length and the port's speed in the configuration",
	},
	{
		.check = "C04",
		.any = "pause|pauses|~pause frame|~pfc storm|~pause storm",
		.with = "~line rate|eating|storm|~throttl|~% of|~caused "
			"by|~received|~sending|flood",
		.but = "~pause/|sandbox|~pause image|~pause container",
		.title = "a sentence states that pause frames hold the traffic back",
		.told = true,
		.need = "ethtool -S NETDEV | grep -i pause, twice, a minute apart",
	},
	{
		.check = "N09",
		.any = "~graph_file|~graph file|~topo_file|~topo file|~topology file",
		.with = "~fail|~slow|~wrong|~without|~mismatch|~error",
		.title = "a line states a failure that names the topology or the graph that NCCL "
			 "was given",
		.need = "echo $NCCL_TOPO_FILE $NCCL_GRAPH_FILE; NCCL_TOPO_DUMP_FILE",
	},
	{
		.check = "R07",
		.any = "~flow control|pfc",
		.with = "~not having|~without|~missing|~not enabled|~lack|~disabled|~no proper|"
			"~misconfigur|~not configured|~improper",
		.title = "a sentence states that the network has no flow control where RoCE needs "
			 "it",
		.told = true,
		.need = "mlnx_qos -i NETDEV, on the hosts; the switch's PFC, port by port",
	},
	{
		.check = "R03",
		.any = "mtu|mtus|~active_mtu|~path_mtu",
		.with = "~mismatch|~differ|invalid|~exceed|~too large|~not match|~larger|~smaller|"
			"~unsupported|~not supported|wrong|~mixed|~won't work|~will not "
			"work|~doesn't "
			"work|~does not work",
		.title = "a line states a failure that names the MTU",
		.need = "ip -br link; ibv_devinfo | grep mtu, on both hosts",
	},
	{
		.check = "L01",
		.any = "fec|~reed-solomon|~rs-fec|~error-correction encoding|~forward error "
		       "correction",
		.with = "~off|~none|~without|~differ|~mismatch|~insist|~disabled|~not match|~both "
			"ends|~auto",
		.but = "~uncorrect|~corrected",
		.title = "a line states a failure that names FEC",
		.need = "ethtool --show-fec NETDEV; the switch port's FEC",
	},
	{
		.check = "H08",
		.any = "bond|bond0|bond1|bonding|~port-channel|~port "
		       "channel|~balance-xor|~balance-rr|"
		       "~balance-alb|lag|lacp|802.3ad",
		.with = "nccl|rdma|roce|rccl|~bandwidth|~throughput|~failures|~one port|~single "
			"port",
		.but = "~link down|~went down|~mlag|~peer-link",
		.title = "a line states a failure that names a bond under RDMA",
		.need = "cat /proc/net/bonding/*; rdma link",
	},
	{
		.check = "N02",
		.any = "~ib protocol and roce|~ib and roce|~infiniband and roce|~roce and ib|~roce "
		       "and "
		       "infiniband|~ib and ethernet|~infiniband and ethernet|~mixed link "
		       "layer|~both ib "
		       "and|~both infiniband and",
		.title = "a line states that a job has InfiniBand and RoCE devices at once",
		.need = "ibstat | grep -E 'CA |Link layer', on each host",
	},
	{
		.check = "S08",
		.any = "~pfc storm|~pfc watchdog|~pfcwd|~pfc_wd|~pfc wd|~pause storm|~storm detect|"
		       "~storm restor|~storm/restore|~deadlock detect|~pfc deadlock",
		.with = "storm|storms|stormed|storming|~never "
			"stopped|~detect|~restor|~deadlock|~flap|"
			"~continu",
		.but = "ethtool|nic",
		.title = "a line states a PFC storm that a switch's watchdog deals with",
		.need = "show pfcwd stats, twice; what sends the pauses: ethtool -S of the host "
			"there",
	},
	{
		.check = "C04",
		.any = "~pause frame|~pause storm|~pfc storm|~pfc pause|~pause packets",
		.with = "~storm|~flood|~continuous|~constant|~excessive|~too many|~send|~sent|"
			"~receiv|~slow|~degrad|~increas|~problem|~drop",
		.but = "~asymmetric|~autoneg",
		.title = "a line states that pauses hold the network up",
		.need = "ethtool -S NETDEV | grep -i pause, twice; the switch's PFC counters",
	},
	{
		.check = "X05",
		.any = "~version mismatch|~version does not match|~mismatched version|"
		       "~incompatible version|~version is incompatible|~abi version|~abi mismatch|"
		       "~undefined symbol|~symbol lookup error|~not found (required by|"
		       "~unsupported version|~protocol version|~versions differ|"
		       "~compiled against|~built against",
		.with = "~mismatch|~incompat|~differ|~not match|~unsupported|~not supported|"
			"~expected|~undefined|~lookup|~required by|~fail|~older|~newer",
		.title = "a line states that two releases do not fit each other",
		.need = "the releases of library, driver and firmware on each host: ofed_info -s, "
			"ldd, NCCL_DEBUG=VERSION",
	},
	{
		.check = "K03",
		.any = "cni|multus|~network-attachment|~networkattachment|~networkstatus|"
		       "~delegateadd|~delegatedel|~conflist|~delnetworklist|~netconf|"
		       "~cni_args",
		.title = "a line states that a pod's network could not be attached",
		.need = "kubectl describe pod POD; kubectl get net-attach-def -A",
	},
	{
		.check = "K03",
		.any = "~vfio",
		.with = "~hotplug|~hot plug|containerd|sandbox|~kata|~add device|~attach",
		.title = "a line states that a device could not be given to a pod's machine",
		.need = "kubectl describe pod POD; dmesg | grep -i vfio, on the node",
	},
	{
		.check = "K02",
		.any = "~device plugin|~device-plugin|~deviceplugin|~sriovnetwork|"
		       "~nicclusterpolicy|~getdevicespecs|~resourceprefix|~resource pool|"
		       "~resource server|~device states|~deviceinfo|~ "
		       "rdma/|~\"rdma/|~'rdma/|~hca_shared|~admissionerror",
		.title = "a line states a failure of an RDMA device plugin or its resource",
		.need = "kubectl logs of the device plugin; kubectl describe node NODE",
	},
	{
		.check = "N14",
		.any = "~instead of infiniband|~instead of ib|~instead of roce|~instead of rdma|"
		       "~instead of efa|~back to socket|~back to tcp|~back to ethernet|"
		       "~back to net/socket|~rdma is not used|~emulated rma|~uses socket|"
		       "~using socket|~uses tcp|~over tcp|"
		       "~not using infiniband|~not using rdma|~not using ib|~not use rdma|"
		       "~not use infiniband|~not use ib",
		.title = "a line states that sockets are used where RDMA was meant",
		.need = "NCCL_DEBUG=INFO (NET/IB or NET/Socket); ibv_devinfo, inside the container",
	},
	{
		.check = "N12",
		.any = "~fi_cq_readerr|~cq error status|~work item failed|"
		       "~cqe_req_sts|~cqe_resp_sts|~poll cq with|~poll send cq|~poll receive cq|"
		       "~poll recv cq",
		.title = "a line states a completion in error",
		.need = "the same program's log of both ends; ethtool -S NETDEV",
	},
	{
		.check = "N17",
		.any = "~no route to host|ehostunreach|~connection refused|econnrefused",
		.but = "~ibv_|~rdma_resolve|~rdma_connect|~rdmacm|~rdma_cm|~rdma cm|~cm event|"
		       "~nvme|database|sql|~http|~lldpad|x11|dbus|~docker.sock",
		.title = "a line states that a host is not reached by its address",
		.peer = true,
		.need = "ip route get PEER; ping PEER; the firewall, on each host",
	},
	{
		.check = "N17",
		.any = "~getaddrinfo",
		.title = "a line states that a host's name or address was not found",
		.need = "getent hosts NAME, on each host",
	},
	{
		.check = "H07",
		.any = "~same subnet|~single subnet|~one subnet|~same network segment|~same ip "
		       "subnet|"
		       "~same l3 network|~arp_ignore|~arp flux|~source routing|~policy routing|"
		       "~source-based routing|~rp_filter",
		.with = "interface|interfaces|nics|ports|routing|route|routed|arp|~both",
		.but = "~subnet_prefix|~subnet prefix|infiniband|~pods",
		.title = "a line states that several RDMA interfaces share a network without rules "
			 "of "
			 "their own",
		.need = "ip rule; ip route show table all; sysctl -a | grep -E 'arp_|rp_filter'",
	},
	{
		.check = "X04",
		.any = "~subnet_prefix|~subnet prefix|~subnet gid|~same subnet|~different subnet",
		.with = "~the same|~differ|~default",
		.title = "a line states that ports of several networks are used as one",
		.need = "ibv_devinfo -v | grep -A1 GID; ibnetdiscover, from each port",
	},
	{
		.check = "N12",
		.any = "~wqe[|~retry counter|~retry exceeded|~retry_exc|~retry count|rnr|wc|cqe|"
		       "~wc status|~completion with error|~completion error|~error completion|"
		       "~polling control error|"
		       "~work completion|~cq error|~endpoint timeout|~transport error|"
		       "~local access error|~remote access error|~protection error",
		.but = "cqe-|~_cqe|~cqe requirement",
		.title = "a line states a completion in error",
		.need = "the same program's log of both ends; ethtool -S NETDEV",
	},
	{
		.check = "N16",
		.any = "~reg_mr|~regmr|~registermem|~register_mem|~reg_mem|~memory region|"
		       "~memory registration|mr|mrs|mkey|lkey|rkey",
		.title = "a line states that memory could not be registered",
		.need = "lsmod | grep peermem; grep 'locked memory' /proc/PID/limits",
	},
	{
		.check = "N16",
		.any = "~regist",
		.with = "memory|~vram|buffer|buffers|mem|buf|bufs|heap|wq",
		.title = "a line states that memory could not be registered",
		.need = "lsmod | grep peermem; grep 'locked memory' /proc/PID/limits",
	},
	{
		.check = "N15",
		.any = "~/dev/infiniband|~--device|~uverbs",
		.with = "~without|~not visible|~not expose|~not mounted|~not passed|~not "
			"mapped|~not "
			"given|missing|~lacks|~not available|~inside the container|~in the "
			"container",
		.title = "a line states that a container is not given the RDMA devices",
		.need = "ls -l /dev/infiniband, inside the container; docker inspect, or kubectl "
			"describe pod",
	},
	{
		.check = "N16",
		.any = "~rdma_cm|~rdmacm|~rdma_connect|~rdma connect|~rdma_resolve|~rdma_bind|"
		       "~rdma_listen|~rdma_accept|~rdma_create|~rdma_disconnect|~cm event|"
		       "~cm_event|cm_id|~nvme_rdma|~nvmf_rdma|~proto=rdma|~rdma,port|~nfs/rdma|"
		       "~nfsordma",
		.but = "~device list|~devices list|~rdma devices|~abi version",
		.title = "a connection by the RDMA connection manager failed",
		.need = "rdma link; rping -c -a PEER -v; the listener's own log",
	},
	{
		.check = "P14",
		.any = "nvlink|nvlinks|nvswitch|~nvlink_",
		.with = "inactive|down|~fail|~error|fatal|disabled",
		.title = "a line states a fault of NVLink",
		.need = "nvidia-smi nvlink -s; dmesg | grep -i nvlink",
	},
	{
		.check = "L03",
		.any = "module|modules|~transceiver|optic|optics|~optical module",
		.with = "~overheat|~thermal|~too hot|celsius|~high temperature|~temperature alarm|"
			"~temperature reaches|~temperature of",
		.but = "~kernel module|~gpu temp",
		.title = "a line states that a module of a port is too hot",
		.need = "ethtool -m NETDEV, or mlxlink -m: its temperature and its own thresholds",
	},
	{
		.check = "C07",
		.any = "~flap",
		.with = "link|links|port|ports|rdma|interface|interfaces|nic|nics",
		.title = "a monitor states that a link flaps",
		.need = "dmesg -T | grep -i link; mlxlink -m -c, at both ends",
	},
	{
		.check = "C07",
		.any = "~training state machine|~link_downed|~link downed",
		.with = "~fail|~value|~delta",
		.title = "a monitor states that a link was lost",
		.need = "dmesg -T | grep -i link; mlxlink -m -c, at both ends",
	},
	{
		.check = "C07",
		.any = "~symbol error|~symbol_error|~link_downed|~link_error_recovery|"
		       "~port_rcv_err|~link recovery|~link error recovery|~link downed|~crc error|"
		       "~rcv error|~bit error|ber|~physical error|~raw error",
		.with = "~exceed|~threshold|~too high|~increas|~(expected|~expected 0",
		.title = "a monitor states that a port counts too many errors",
		.need = "mlxlink -m -c, or perfquery -x, at both ends",
	},
	{
		.check = "C08",
		.any = "~discard|~packet drop|~packets drop|~dropped packets|~drops",
		.with = "interface|interfaces|port|ports|nic|packets",
		.title = "a monitor states that a port drops packets",
		.need = "ethtool -S NETDEV | grep -iE 'drop|discard', twice",
	},
	{
		.check = "H09",
		.any = "interfaces|ports|port|linkup|hcas|hca|nics|nic|~infiniband|~ib link|~roce",
		.with = "~expected|~missing|~interfaces were detected|~interfaces "
			"detected|~interfaces found|~interfaces were found",
		.but = "~width|~speed|~rate|~x16|~firmware|~version|~error",
		.title = "a check of the machine's health counts fewer ports than there should be",
		.need = "ibstat, or rdma link; lspci | grep -i -E 'mellanox|broadcom'",
	},
	{
		.check = "H09",
		.any = "~network is down|enetdown",
		.title = "a line states that the network's interface is down",
		.need = "ip -br link; ibstat; lnetctl net show, where it is Lustre's",
	},
	{
		.check = "H09",
		.any = "port|link|carrier",
		.with = "down|inactive|polling|~not active|~no active|~no ib port|~no port|"
			"~not in active|~port is not",
		.but = "~https",
		.title = "a line states that a port is down",
		.need = "ibstat, or rdma link",
	},
	{
		.check = "N15",
		.any = "~net_mlx|~mlx5_common|~mlx5_pci|~mlx5_net",
		.with = "~probe|~verbs device|~list devices|~device context|~glue|~dependency|"
			"~load driver|~shared data|~global data|~attach|~sysfs|~query device",
		.title = "DPDK's driver found no verbs device, or no library of rdma-core",
		.need = "ls /sys/class/infiniband /dev/infiniband; lsmod | grep ib_uverbs; "
			"ibv_devinfo, inside the container",
	},
	{
		.check = "N15",
		.any = "rdma|ib|hca|hcas|infiniband|roce|~uverbs|rnic|nic|nics|efa|erdma|cxi|~"
		       "libibverbs|"
		       "~librdmacm",
		.with = "~no |~not found|~not find|~to find|~not initialized|~cannot open|~to open|"
			"~cannot find|unavailable|"
			"~not available|~out of range|~can't open|~to "
			"load|missing|~unsupported|~not supported|~not detect|"
			"~no such device|~n't open|~n't stat|~query device|~device attr|~device "
			"list|"
			"~devices list|~abi version|~open_device",
		.but = "~route|~entity",
		.title = "a line states that an RDMA device or its library is missing",
		.need = "ls -l /dev/infiniband /sys/class/infiniband; ibv_devinfo, inside the "
			"container",
	},
	{
		.check = "N15",
		.any = "~psm2|~psm3|~hfi_|hfi|~hfp_|~opa_|ipath",
		.title = "a line states that an Omni-Path or PSM device cannot be used",
		.need = "ls -l /dev/hfi1*; fi_info -p psm2, psm3; FI_PROVIDER, inside the job",
	},
	{
		.check = "N16",
		.any = "~ibv_|~ibverbs|verbs|qp|qps|qpair|rqpair|cq|srq|~queue pair|~queue_pair|"
		       "~mlx5dv|devx|uar|dct|dci|~ to rtr|~ to rts|~work request|~ib resource|"
		       "~rdma resource|~completion channel|~completion "
		       "queue|~completionqueue|~protection domain|~allocate pd|"
		       "~alloc pd|~verbs context|~rdma context|~address handle|~address "
		       "vector|wqe|wqes|"
		       "~send queue|~recv queue|~receive queue|~post send|~post recv|~postsend|"
		       "~to post rdma|~to post wr|~to post write|~to post read|~to post atomic|"
		       "~async event|~async error event|"
		       "~fi_endpoint|~fi_mr_|~fi_cq|~fi_enable|~fi_ep_",
		.title = "a line states a failure of a verbs object",
		.need = "dmesg | tail, at the time of the error; ibv_devinfo -v",
	},
	{
		.check = "H09",
		.any = "~ibwarn: [|~ibpanic: [|~mcast group|~multicast group|~query sa|~sa "
		       "query|~subnget|~subnset|~subnet manager|opensm|sminfo|mad|"
		       "umad|smp|~discover fabric|~path record|~] 0x01 -> ",
		.but = "~nvshmem|~for pe|~heap|~mem handle|~cumulticast|nvls",
		.title = "a line states that the subnet's management did not answer",
		.need = "sminfo; ibstat, on the host that runs it",
	},
	{
		.check = "N15",
		.any = "~cxi|slingshot|cassini",
		.title = "a line states a failure of a Slingshot device (CXI)",
		.need = "cxi_stat; cxi_service list; fi_info -p cxi, inside the job",
	},
	{
		.check = "N15",
		.any = "provider|transport|transports|plugin|btl|pml|mtl|libfabric|ofi|ucx|ucp|"
		       "uct|ucc|~libnccl-net|nixl|backend|~openib|~openfabrics|sharp|"
		       "hcoll",
		.with = "~initial|init|load|loading|~not found|~not "
			"available|unavailable|unsupported|"
			"~not supported|create|creating|open|select|selected|undefined|listen|"
			"listening",
		.but = "storage|bucket|file|files|symlink|snapshot|checkpoint",
		.title = "a line states that a network transport or plugin did not initialise",
		.need = "ibv_devinfo; ucx_info -d, or fi_info; inside the container",
	},
	{
		.check = "N15",
		.any = "~sharp|~available osts|~group alloc failed",
		.but = "~sharply|~sharper|~c-sharp",
		.title = "a line states a failure of SHARP (reduction in the switches)",
		.need = "systemctl status sharp_am, on the subnet manager's host; sharp_hello; "
			"NCCL_COLLNET_ENABLE=0 does without",
	},
	{
		.check = "N15",
		.any = "~fi_getinfo|~net/ofi|~net/gib|~net/ibext|~nccl_net_ofi|~nccl_ofi|"
		       "~net/fastrak|~net/fastsocket|~net/ucx|~net/sharp|~net/anp|~net/plugin|"
		       "~plug-in core|~tuner/",
		.title = "a line states that a network plugin failed",
		.need = "fi_info -p efa, or ibv_devinfo; the plugin's release; inside the "
			"container",
	},
	{
		.check = "N18",
		.any = "~assertion|~_assert(|~assert(|~assert `",
		.title = "a line states that a program broke one of its own assertions",
		.need = "the releases of the program and its libraries; the lines before it",
		.weak = true,
	},
	{
		.check = "N17",
		.any = "socket|sockets|connect|connected|connecting|connection|listen|tcp|"
		       "~bind to|~bind address|~bind port|~bind()|~binding to|~bind failed|"
		       "~tcpstore|hostname|hostnames|rendezvous|bootstrap|etcd|~metadata "
		       "server|~metadata_server|~metadata service|"
		       "handshake|~heartbeat|~rpc agent|~incoming request|~interface|~ip "
		       "address|subnet|~communicate|~communication|~store_based|~getaddrinfo|~kv "
		       "store",
		.but = "gb/s|gbps|~gb/"
		       "sec|database|sql|~http|~docker.sock|display|x11|dbus|~d-bus|~license|"
		       "nvls|~nvlink|multicast|snapshot|bucket|~reqsize|~respsize",
		.title = "a line states that processes could not reach each other",
		.peer = true,
		.need = "ip -br addr; ip route get PEER, on each host",
	},
	{
		.check = "M01",
		.any = "~not get past|~get past|~reaches only|~only reach|~tops out|~stuck at|~max "
		       "out|~we expected|~expected to get|~low bandwidth|~low allreduce|~low "
		       "throughput|~low bus|slow|slower|slowly|"
		       "~poor perf|~bad perf|~performance|~capped|~half of|~bandwidth is|"
		       "~low busbw|~very low|~too low|~lower than|~less than expect|~drops to|"
		       "~dropped to|~degrad|weird|~not what i expected",
		.with = "~bandwidth|gb/"
			"s|gbps|~gbit|~throughput|busbw|slow|slower|~perf|~speed|~latency",
		.title = "a line states that a transfer is slower than it should be",
		.need = "ib_write_bw between the hosts; nccl-tests' whole table; ripstop expect",
		.but = "~within the margin|~as expected|~performance now is|~is fine now",
		.told = true,
	},
	{
		.check = "N18",
		.any = "nccl|rccl|~processgroup|collective|~allreduce|~all_reduce|rank|ranks|mpi|"
		       "~mpi_|ucx|nixl|~mooncake|~deepep|transfer|transfers|~watchdog|~rdma|"
		       "~nvshmem|gloo|~torch|communicator|~infiniband|roce|~openib|btl|vllm|sglang|"
		       "horovod|~deepspeed|~megatron|ray|~mpirun|~multi-node|~multinode|cuda|hip|"
		       "ipc|gpu|gpus|~verbs|ib|training|worker|workers|~assert",
		.title = "a line states that a job or a transfer failed",
		.need = "the log of all ranks from their start, with NCCL_DEBUG=INFO or "
			"UCX_LOG_LEVEL=info",
		.weak = true,
	},
};

/* The kernel's lines by who speaks: the check of each part, in the order of enum rs_kernel_part. */
static const struct rs_kind kernel_kinds[] = {
	[RS_KERNEL_NIC] = {.check = "P14",
			   .title = "the kernel's log states a fault of an RDMA NIC",
			   .need = "dmesg -T; ethtool -i NETDEV",
			   .kernel = true},
	[RS_KERNEL_GPU] = {.check = "P14",
			   .title = "the kernel's log states a fault of a GPU",
			   .need = "dmesg -T; nvidia-smi -q, or rocm-smi",
			   .kernel = true},
	[RS_KERNEL_PCI] = {.check = "P14",
			   .title = "the kernel's log states a fault of a PCIe link",
			   .need = "dmesg -T; lspci -vvv -s BDF",
			   .kernel = true},
	[RS_KERNEL_IOMMU] = {.check = "P05",
			     .title = "the kernel's log states a fault of the IOMMU or its buffers",
			     .need = "cat /proc/cmdline; dmesg | grep -iE 'iommu|dmar|swiotlb'",
			     .kernel = true},
	[RS_KERNEL_CPU] =
		{.check = "P14",
		 .title = "the kernel's log states a fault of a CPU, of memory or of its own",
		 .need = "dmesg -T; ipmitool sel list",
		 .kernel = true},
	[RS_KERNEL_NET] =
		{.check = "N17",
		 .title = "the kernel refused packets or connections: a table of it is full",
		 .need = "sysctl net.netfilter.nf_conntrack_max "
			 "net.ipv4.neigh.default.gc_thresh3 net.core.somaxconn",
		 .kernel = true},
	[RS_KERNEL_MODULE] = {.check = "X05",
			      .title = "the kernel refused a module: another kernel's, or unsigned",
			      .need = "modinfo MODULE; uname -r; dkms status; mokutil --sb-state",
			      .kernel = true},
	[RS_KERNEL_ULP] = {.check = "N16",
			   .title = "a user of RDMA in the kernel lost or could not make a "
				    "connection",
			   .need = "rdma link; dmesg -T, on both ends",
			   .kernel = true},
	[RS_KERNEL_VF] = {.check = "K05",
			  .title = "virtual functions could not be made",
			  .need = "lspci -vvv -s BDF; the BIOS's settings of SR-IOV and MMIO",
			  .kernel = true},
};

/* What a tool says when it fails, by the tool: .any is the beginning of a command, of which
 * .with is somewhere within. A told one is minor: the tool may lack a right, or the device a
 * part. */
static const struct rs_kind command_kinds[] = {
	{.check = "K05",
	 .any = "echo|bash|sh|tee|sudo",
	 .with = "~sriov_numvfs",
	 .title = "the kernel refused to make virtual functions",
	 .need = "lspci -vvv -s BDF; dmesg | tail"},
	{.check = "N16",
	 .any = "echo|bash|sh|tee|sudo|nvme",
	 .with = "~/dev/nvme-fabrics",
	 .title = "the kernel could not make a connection of NVMe over Fabrics",
	 .need = "dmesg | tail; rping -c -a TARGET -v"},
	{.check = "N18",
	 .any = "kubectl|oc|docker|crictl|podman",
	 .with = "~ logs ",
	 .title = "a container's program states a failure",
	 .need = "the container's log from its start",
	 .weak = true},
	{.check = "R07",
	 .any = "mlnx_qos|dcb|lldptool|niccli|bnxt_setupcc.sh|bnxt_setupcc",
	 .title = "a tool that sets QoS was refused",
	 .need = "mlnx_qos -i NETDEV, or dcb pfc show dev NETDEV; dmesg | tail"},
	{.check = "N16",
	 .any = "ib_send_bw|ib_send_lat|ib_write_bw|ib_write_lat|ib_read_bw|ib_read_lat|"
		"ib_atomic_bw|ib_atomic_lat|raw_ethernet_bw|raw_ethernet_lat|ibv_rc_pingpong|"
		"ibv_uc_pingpong|ibv_ud_pingpong|ibv_srq_pingpong|ibv_xsrq_pingpong|rping|ucmatose|"
		"rdma_server|rdma_client|rstream|riostream|udaddy|mckey|cmtime|srp_daemon|ibsrpdm",
	 .title = "a test of RDMA between two hosts failed",
	 .need = "ibv_devinfo; rping -c -a PEER -v; dmesg | tail, on both hosts"},
	{.check = "N15",
	 .any = "ibv_devinfo|ibv_devices|ibv_|ibstat|ibstatus|rdma|show_gids|ibdev2netdev|fi_info|"
		"ucx_info|"
		"modprobe|insmod|dkms|openibd",
	 .title = "a tool finds no RDMA device, or could not load its driver",
	 .need = "rdma link; lsmod | grep -E 'ib_|rdma'; dmesg | tail"},
	{.check = "H09",
	 .any = "perfquery|ibqueryerrors|saquery|sminfo|ibping|ibhosts|ibnodes|ibswitches|"
		"ibnetdiscover|"
		"iblinkinfo|smpquery|ibtracert|ibdiagnet|ibportstate|ibroute|ibaddr",
	 .title = "a tool of the subnet got no answer",
	 .need = "ibstat; sminfo"},
	{.check = "P14",
	 .any = "devlink|mlxlink|mlxconfig|mstconfig|mst|flint|mstflint|mlxfwmanager|mlxreg|nicctl|"
		"lspci|"
		"setpci|nvidia-smi|rocm-smi|amd-smi|dcgmi|mlxfwreset",
	 .title = "a device's tool could not reach the device, or it refused",
	 .need = "lspci; dmesg | tail"},
	{.check = "P12",
	 .any = "gdscheck|gdscheck.py|gdsio|gdsio_verify|gdrcopy_sanity|gdrcopy_copybw",
	 .title = "a check of GPUDirect Storage or of GDRCopy failed",
	 .need = "lsmod | grep -E 'nvidia_fs|gdrdrv'; dmesg | tail"},
	{.check = "K03",
	 .any = "multus",
	 .title = "a pod's network could not be attached (Multus)",
	 .need = "kubectl describe pod POD; kubectl get net-attach-def -A"},
	{.check = "K02",
	 .any = "sriovdp",
	 .title = "a device plugin of RDMA states a failure",
	 .need = "kubectl logs of the device plugin; kubectl describe node NODE"},
	{.check = "K02",
	 .any = "kubectl|oc|helm|crictl",
	 .title = "the cluster states a failure of an object",
	 .need = "kubectl describe of that object; kubectl get events"},
	{.check = "H09",
	 .any = "ethtool",
	 .title = "the kernel refused a question about an interface",
	 .need = "ip link; dmesg | tail"},
	{.check = "N18",
	 .any = "systemctl|journalctl|sinfo|squeue|sacct|scontrol",
	 .title = "a service or a job is in a state of failure",
	 .need = "journalctl -u UNIT; scontrol show job JOB"},
};

static const struct rs_kind other = {
	.check = "N18",
	.title = "a line states a failure that no other check explains",
	.need = "what came before it in the same log, and ripstop audit --collect on each host",
	.weak = true,
};

/* ---- Words ---- */

static bool has_one(const char *low, const char *words)
{
	return rs_word_list_has(low, words, false);
}

/* "0000:3b:00.0": a PCI function, and no clock. */
static bool has_bdf(const char *low)
{
	for (const char *p = low; (p = strchr(p, '.')); p++) {
		unsigned domain, bus, device, function;
		char behind = ' ';

		if (p - low >= 10 && p[-3] == ':' && p[-6] == ':' &&
		    sscanf(p - 10, "%4x:%2x:%2x.%1u%c", &domain, &bus, &device, &function,
			   &behind) >= 4 &&
		    !isalnum((unsigned char)behind))
			return true;
	}
	return false;
}

/* A line of the kernel's log: "[  123.456] ", "kernel: ", or a driver's "mlx5_core 0000:3b:00.0".
 */
static bool is_kernel(const char *low)
{
	const char *p = strchr(low, '[');
	unsigned whole, part, hour, minute;

	if (strstr(low, " kernel:") || !strncmp(low, "kernel:", 7) || has_one(low, ULPS_ALONE))
		return true;
	/* dmesg -T: "[mon oct 16 09:54:43 2017] " */
	if (*low == '[' && has_one(low, "mon|tue|wed|thu|fri|sat|sun") &&
	    sscanf(low, "[%*3s %*3s %u %u:%u:%u", &whole, &part, &hour, &minute) == 4)
		return true;
	if (p && p - low < 40 &&
	    (sscanf(p, "[%9u.%u]", &whole, &part) == 2 ||
	     sscanf(p, "[ +%9u.%u]", &whole, &part) == 2 ||
	     sscanf(p, "[ %9u.%u]", &whole, &part) == 2))
		/* libraries print such a clock, too, and a level that the kernel has not */
		return !strstr(low, " ucx ") && !strstr(low, "nccl") && !strstr(low, "[error]") &&
		       !strstr(low, "[warning]");
	return has_bdf(low) && has_one(low, DRIVERS);
}

/* "- error - text": what Python's logging prints behind its clock, which is gone. */
static bool is_levelled(const char *low)
{
	static const char *const levels[] = {"error", "warning", "critical", "fatal", "warn", NULL};
	size_t n = strcspn(low + 2, " ");

	return rs_word_in(levels, low + 2, n) && !strncmp(low + 2 + n, " - ", 3);
}

/* A person's sentence: words that programs leave out, and no place in a source. A table's row, a
 * heading and a point of a list are a person's, too. */
static bool is_told(const char *low)
{
	static const char *const joins[] = {" the ", " is ",   " we ",   " i ",   " it ",  " when ",
					    " my ",  " this ", " that ", " and ", " but ", " with ",
					    " a ",   " are ",  " was ",  " have "};
	static const char *const places[] = {".c:",      ".cc:",    ".cpp:",   ".cu:",  ".py:",
					     ".go:",     ".h:",     "*error*", "errno", "nccl warn",
					     "ucx  err", "[error]", "error:",  "fatal:"};
	unsigned n = 0;

	if (has_one(low, "~ will throw |~ throws |~ raises |~ i get |~ we get |~ i got |~ we got "))
		return true;
	if (*low == '|' || *low == '#' || (!strncmp(low, "- ", 2) && !is_levelled(low)) ||
	    !strncmp(low, "* ", 2))
		return true;
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strstr(low, places[i]))
			return false;
	for (unsigned i = 0; i < sizeof(joins) / sizeof(*joins); i++)
		n += strstr(low, joins[i]) != NULL;
	return n > 1 || low[strcspn(low, "?")];
}

/* The line's own words say that something failed: not a setting's name, a column or a counter. */
static bool is_strong(const char *low)
{
	return !strncmp(low, "error ", 6) || rs_level_compares(low) ||
	       (*low != '|' && rs_level_misses(low)) ||
	       has_one(low,
		       "~failed|fail|fails|failure|failures|~error:|~*error*|~[error]|~"
		       "nccl warn|fatal|"
		       "~traceback|errno|~exception|cannot|can't|~unable to|~could not|"
		       "~couldn't|~not enough|refused|rejected|~timed out|unreachable|~no such|"
		       "~not found|aborted|abort|exceeded|panic|crash|crashed|crashes|hang|"
		       "hangs|hung|hanging|stuck|~retry_exc|~bad address|~connection closed|~ "
		       "closed (-|~encountered "
		       "error|"
		       "~connection reset|~not responding|unhealthy|lost|~error code|"
		       "~with error|~segmentation fault|~core dumped|invalid|~timeout:|"
		       "~timeout,|~timeout.|~timeout after|~timeout waiting|timeout!|err|"
		       "~out of range|~unsupported |~incompatib|~unbound "
		       "variable|sigsegv|sigbus|sigabrt|~caught "
		       "signal|~cm_event_connect_error|~cm_event_device_removal|~terminate "
		       "called|~what():|~error (|~error!|~coredump|~core "
		       "dump|~errors in |~error "
		       "-|~error 0x|~doesn't work|~does not work|~not working|"
		       "~not available|~no data available|~ret=-|~ret = -|~rc=-|~rc = -|~not "
		       "permitted|~back to socket|~back to tcp|~back to ethernet|~instead of "
		       "infiniband|~instead of rdma|~instead of ib|~instead of "
		       "roce|~non-zero status|~null value|~returned "
		       "-1|~error in nvshmem|~n't supported|~is disable|bogus|~went down|~error "
		       "status|~ibwarn: "
		       "[|~ibpanic: [|~node-mark-offline|~in bad |~in a bad state|~network is "
		       "down|enetdown|~not have "
		       "the same|"
		       "~\xe5\xa4\xb1\xe8\xb4\xa5|~\xe6\x8a\xa5\xe9\x94\x99|"
		       "~\xe8\xb6\x85\xe6\x97\xb6|~\xe6\x97\xa0\xe6\xb3\x95|"
		       "~\xe5\xb4\xa9\xe6\xba\x83|~\xe3\x82\xa8\xe3\x83\xa9\xe3\x83\xbc");
}

static unsigned words(const char *low)
{
	unsigned n = 0;

	for (; *low; low += strcspn(low, " \t"), low += strspn(low, " \t"))
		n++;
	return n;
}

/* Of a log: a level, a place in a source, a date. Only there is a failure without any word of
 * RDMA, of jobs or of networks told. */
static bool is_logged(const char *low)
{
	return has_one(low, "~error:|~[error]|~*error*|~.c:|~.cc:|~.cpp:|~.cu:|~.py\"|~traceback|"
			    "~error]|~fatal:|~]: |~error (|~runtimeerror|~exception:") ||
	       (*low == 'e' && isdigit((unsigned char)low[1])) || *low == '[' ||
	       !strncmp(low, "-e-", 3);
}

/* "10.0.0.1", "::ffff:10", "fd00:1::2" */
static bool has_address(const char *text)
{
	unsigned a, b, c, d;

	for (const char *p = text; *p; p++)
		if ((p == text || !isalnum((unsigned char)p[-1])) &&
		    sscanf(p, "%3u.%3u.%3u.%3u", &a, &b, &c, &d) == 4)
			return true;
	return strstr(text, "::") && strpbrk(text, "0123456789");
}

static bool is_between_peers(const char *low)
{
	return has_address(low) ||
	       has_one(low, "rank|ranks|peer|peers|worker|workers|master|~tcpstore|rendezvous|"
			    "bootstrap|etcd|~metadata|node|nodes|nccl|gloo|~rdma|hosts|server|"
			    "servers|client|clients|remote|oob|~mpi|processes|"
			    "~each other");
}

/* Takes "socket.cc:120" out of a line: a file's name is not what failed. */
static void unplace(char *low)
{
	static const char *const ends[] = {".c:",   ".cc:", ".cpp:", ".cu:", ".h:",  ".hpp:",
					   ".inl:", ".py:", ".go:",  ".rs:", ".hh:", ".cuh:"};

	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		for (char *p = low; (p = strstr(p, ends[i]));) {
			char *from = p, *to = p + strlen(ends[i]);

			to += strspn(to, " 0123456789");
			while (from > low && !strchr(" \t[(<", from[-1]))
				from--;
			memset(from, ' ', (size_t)(to - from));
			p = to;
		}
}

static const struct rs_kind *kind_in(const char *low, enum rs_level level)
{
	bool kernel = is_kernel(low);
	bool person = *low != '|' && is_told(low);
	enum rs_kernel_part part;

	if (kernel && rs_kernel_line(low, &part) == RS_KERNEL_FAULT &&
	    !has_one(low, "~peermem|~peer_mem|xid|sxid") && !has_one(low, ULPS))
		return &kernel_kinds[part];
	/* a user of RDMA in the kernel's log needs no second word for it; nor does a person's
	 * complaint, which has words of its own */
	if (level != RS_LEVEL_ERROR && !person && !is_strong(low) &&
	    !(kernel && has_one(low, ULPS)))
		return NULL;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct rs_kind *k = &kinds[i];

		if ((k->kernel && !kernel) || (k->told && !person) || !has_one(low, k->any) ||
		    (k->with && !has_one(low, k->with)) || (k->but && has_one(low, k->but)) ||
		    (k->peer && !is_between_peers(low)))
			continue;
		return k;
	}
	/* of the kernel's other parts nothing is known here */
	return kernel || (!is_logged(low) && level != RS_LEVEL_ERROR) || words(low) < SHORT
		       ? NULL
		       : &other;
}

/* "RdmaCompletionQueue" as "rdma completion queue". */
static void split(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (const char *p = text; *p && n + 2 < size; p++) {
		/* "IBDevice": the last capital begins the word */
		if (p > text && isupper((unsigned char)*p) &&
		    (islower((unsigned char)p[-1]) ||
		     (isupper((unsigned char)p[-1]) && islower((unsigned char)p[1]))))
			out[n++] = ' ';
		out[n++] = (char)tolower((unsigned char)*p);
	}
	out[n] = '\0';
}

static bool is_vague(const struct rs_kind *k)
{
	return !k || k == &other || (k->weak && !k->told);
}

/* Of a person's several sentences the one that states the failure names what failed. */
static const struct rs_kind *kind_of_sentence(const char *low, enum rs_level level)
{
	char one[TEXT];

	for (const char *p = low; *p;) {
		size_t n = strcspn(p, ".?!;");
		const struct rs_kind *k;

		/* "net_ib.cc", "10.0.0.1": no end of a sentence */
		while (p[n] && p[n + 1] && p[n + 1] != ' ')
			n += 1 + strcspn(p + n + 1, ".?!;");
		snprintf(one, sizeof(one), "%.*s", (int)n, p);
		if (is_strong(one) && !is_vague(k = kind_in(one, level)))
			return k;
		p += n + (p[n] != '\0');
		p += strspn(p, " ");
	}
	return NULL;
}

/* By what is said; where that tells little, by the words within its names, and by the file that
 * says it. */
static const struct rs_kind *kind_of(const char *text, const char *low)
{
	enum rs_level level = rs_level_of(text);
	const struct rs_kind *k, *better;
	char bare[TEXT];

	snprintf(bare, sizeof(bare), "%s", low);
	unplace(bare);
	if (is_told(bare) && (k = kind_of_sentence(bare, level)))
		return k;
	k = kind_in(bare, level);
	if (!is_vague(k))
		return k;
	split(text, bare, sizeof(bare));
	unplace(bare);
	better = kind_in(bare, level);
	if (!is_vague(better))
		return better;
	k = k && k != &other ? k : better;
	return k && k != &other ? k : kind_in(low, level);
}

/* What the system's own daemons cannot do at boot, and no job waits for. */
static bool is_housekeeping(const char *low)
{
	return has_one(low,
		       "~systemd-udevd[|~multipathd[|~snapd[|~dbus-daemon[|~smartd[|~irqbalance["
		       "|~rsyslogd[|~chronyd[|~ntpd[|~polkitd[|~cloud-init[|~avahi-daemon[|"
		       "~thermald[|~lvm[|~udisksd[|~apparmor[|~dhclient[|~fwupd[");
}

const struct rs_kind *rs_words_kind(const char *text)
{
	const struct rs_kind *k;
	char low[TEXT];

	rs_word_lower(text, low, sizeof(low));
	/* what NCCL tries and does without is INFO */
	if (strstr(low, "nccl info") || !(k = kind_of(text, low)) ||
	    (k->weak && (!strncmp(low, "* ", 2) || is_housekeeping(low))) ||
	    ((k->weak || !strcmp(k->check, "K02")) && rs_level_goes_on(low)))
		return NULL;
	return k;
}

bool rs_words_told(const char *text)
{
	char low[TEXT];

	rs_word_lower(text, low, sizeof(low));
	return is_told(low);
}

bool rs_words_benign(const char *text)
{
	static const char *const words[] = {
		"benign",
		"harmless",
		"safe to ignore",
		"no impact",
		"warnings such as this",
		"safely ignored",
		"can be ignored",
		"may be ignored",
		"can ignore",
		"no real problem",
		"not a problem",
		"is expected here",
		"cosmetic",
		"\xe8\x89\xaf\xe6\x80\xa7", /* benign */
		"\xe5\x8f\xaf\xe4\xbb\xa5\xe5\xbf\xbd\xe7\x95\xa5" /* may be ignored */};
	char low[TEXT];

	rs_word_lower(text, low, sizeof(low));
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(low, words[i]))
			return true;
	return false;
}

const struct rs_kind *rs_words_command(const char *command, const char *text)
{
	char low[TEXT], said[TEXT], first[64];
	const char *name;

	rs_word_lower(command, low, sizeof(low));
	name = low + strspn(low, " \t");
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, " \t"), name);
	name = strrchr(first, '/');
	name = name ? name + 1 : first;
	for (unsigned i = 0; i < sizeof(command_kinds) / sizeof(*command_kinds); i++) {
		const struct rs_kind *k = &command_kinds[i];

		if (!has_one(name, k->any) || (k->with && !has_one(low, k->with)))
			continue;
		/* a sentence below a cluster's command is a guide's */
		rs_word_lower(text, said, sizeof(said));
		return strcmp(k->check, "K02") || !is_told(said) ? k : NULL;
	}
	return NULL;
}

unsigned rs_words_number(const struct rs_kind *k)
{
	static_assert(sizeof(kinds) / sizeof(*kinds) +
				      sizeof(kernel_kinds) / sizeof(*kernel_kinds) +
				      sizeof(command_kinds) / sizeof(*command_kinds) <
			      RS_KINDS,
		      "RS_KINDS holds each and the other");
	unsigned n = sizeof(kinds) / sizeof(*kinds);

	if (k == &other)
		return n;
	if (k >= kernel_kinds && k < kernel_kinds + sizeof(kernel_kinds) / sizeof(*kernel_kinds))
		return n + 1 + (unsigned)(k - kernel_kinds);
	if (k >= command_kinds &&
	    k < command_kinds + sizeof(command_kinds) / sizeof(*command_kinds))
		return n + 1 + sizeof(kernel_kinds) / sizeof(*kernel_kinds) +
		       (unsigned)(k - command_kinds);
	return (unsigned)(k - kinds);
}
