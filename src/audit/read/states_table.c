/*
 * The words of states.h: names of counters and states, whatever tool prints them (nvidia-smi,
 * rocm-smi, amd-smi, mlxlink, ethtool, devlink, nicctl, ipmitool, kubectl, Slurm, systemd, tuned).
 * The first row that fits a pair takes it, so what is exact stands above what is general.
 */
#include "audit/read/states.h"

#define IS(key, but, values, message)                     \
	{                                                 \
		key, but, RS_STATE_IS, 0, values, message \
	}
#define OVER(key, but, than, message)                        \
	{                                                    \
		key, but, RS_STATE_OVER, than, NULL, message \
	}

#define OTHER(key, but, values, message)                     \
	{                                                    \
		key, but, RS_STATE_OTHER, 0, values, message \
	}

#define BITS(key, but, mask, message)                        \
	{                                                    \
		key, but, RS_STATE_BITS, mask, NULL, message \
	}

#define YES "yes|true|1|active|enabled"
/* A device or a part of one that does not work, in each tool's word. */
#define BAD                                                                                    \
	"failed|failure|fail|error|err|faulty|fault|faulted|degraded|unhealthy|critical|dead|" \
	"not ready|notready|not healthy|not ok|offline|lost|broken|unrecoverable|stalled|bad|" \
	"nok|non recoverable|abnormal|not present|not responding|timeout|timed out"

const struct rs_state_row rs_state_rows[] = {
	/* ---- GPUs: memory, rows, fabric ---- */
	IS("remap fail", NULL, YES, "gpu-remap"),
	IS("remap|retired|retirement|page pending", NULL, YES, "gpu-remap"),
	OVER("retired|retirement double-bit|dbe", "threshold", 0, "gpu-ecc"),
	OVER("ecc|ras|umc|sram|dram|hbm|gpu$ uncorrect|double-bit|ue$|dbe",
	     "threshold|fec|nic|port|remap|remapped", 0, "gpu-ecc"),
	OVER("xid-errors", "threshold", 45, "state-gpu"),
	IS("gpu recovery-action", NULL,
	   "reset|reboot|gpu reset|node reboot|drain|drain p2p|drain and reset", "gpu-reset"),
	IS("fabric|nvlink unhealthy", NULL, YES, "gpu-fabric"),
	IS("fabric state|status|bandwidth|health", NULL,
	   BAD "|unknown error|in progress|not started|invalid", "gpu-fabric"),
	IS("npu-smi npu-smi", "usage|power|temp", "critical|alarm|offline", "state-gpu"),
	IS("xgmi error|err", "count-0", "multiple errors|single error|1 error|errors|error",
	   "nvlink-errors"),
	OVER("xgmi error|err count", NULL, 0, "nvlink-errors"),
	OVER("nvlink|xgmi crc|replay|recovery", "threshold|max", 100, "nvlink-errors"),
	BITS("throttle-reasons|event-reasons active", NULL, 0xc8, "gpu-slow"),
	IS("slowdown|throttle", "sw|power-cap|temp|threshold|idle", "active", "gpu-slow"),
	IS("ecc|gpu$|box$|nvidia|tesla", NULL, "err|unknown error|gpu requires reset|gpu is lost",
	   "gpu-gone"),
	IS("nvidia smi", NULL, "err|unknown error|gpu requires reset|gpu is lost", "gpu-gone"),

	/* ---- Links ---- */
	/* ports of which each has its cable: a Slingshot NIC's, an NPU's */
	IS("cxi|cxi0|cxi1|cxi2|cxi3|hsn|hsn0|hsn1|hsn2|hsn3|hccn-tool link-state|link-status", NULL,
	   "down|starting|stopping|resetting|error|unconfigured|unknown", "rail-down"),
	IS("cxi|hsn link-speed", NULL, "bj 100g|cd 100g|cd 50g", "rail-slow"),
	{"cxi|hsn pcie-speed-width", NULL, RS_STATE_HAS, 0, "~x8|~x4|~x2|~x1$", "slot-narrow"},
	IS("cxi|hsn pcie-speed-width", NULL, "2 5|5 0|8 0", "slot-slow"),
	/* fmn-show-status of Slingshot: not all edge ports are in use */
	{"fabric$|ports-reported$", "cpu|memory|disk|gpu", RS_STATE_BELOW, 0, NULL, "fabric-short"},
	{"edge$", "cpu|memory|disk|gpu", RS_STATE_BELOW, 0, NULL, "edge-short"},
	IS("hl-smi port|port-status", NULL, "down", "rdma-port-down"),
	IS("hl-smi port|port-status", NULL, "up", "port-up"),
	OVER("cxi|rates rx-pause|tx-pause pcp|pause$", "state", 10, "pause-many"),
	IS("link-quality|link-quality-indicator", "threshold-max", "1|2", "signal-bad"),
	OVER("cxi pkts-cancelled|connections-cancelled|cancel-no-matching", "config", 10,
	     "slingshot-given-up"),
	OVER("cxi spt-timeouts", "epoch|config", 1000, "slingshot-resent"),
	OVER("unresponsive-remote-events|impaired-remote-conn-events|max-retry-exceeded", NULL, 10,
	     "retransmits"),
	BITS("los|lol flag", "threshold", 0xff, "optics-alarm"),
	IS("amd-smi link-state", "xgmi", "down", "rdma-port-down"),
	IS("amd-smi link-state", "xgmi", "up", "port-up"),
	OVER("ucw-ber|uncorrected-ber", "threshold", 1e-12, "ber-high"),
	IS("optical|optical-info present$", NULL, "not present", "rail-down"),
	IS("amd-smi pcie width$", "max", "8|4|2|1", "slot-narrow"),
	IS("nicctl|ionic|card|eth1-1 link-fsm-state", NULL, "signal detect|an reset|down",
	   "rdma-port-down"),
	/* "Loopback0" is an interface */
	IS("loopback$", "support|cap|test|name|modes",
	   "phy|internal|external|local|remote|on|port|mac", "loopback-on"),
	IS("test-result", NULL, "fail|failed", "self-test"),
	IS("recommendation", NULL,
	   "negotiation failure|no partner|bad signal|cable is unplugged|cable unplugged|remote "
	   "faults|"
	   "link training|the port is closed|no cable|module|signal not detected|bad si|config "
	   "error",
	   "link-advice"),
	OTHER("mlxlink|troubleshooting recommendation", NULL, "no issue|n a|none", "link-advice"),
	IS("rdma|infiniband|ib$|hca$|ibstat phys-state|physical-state|port-state|state",
	   "admin|fsm|module|node$|counter|pod|netdev|lacp|bgp",
	   "down|polling|disabled|init|armed|port down|port init", "rdma-port-down"),
	/* a session's state is no port's */
	IS("operational|oper|link|port|physical|phy|carrier state|status",
	   "admin|fsm|module|node|counter|pod|bfd",
	   "down|polling|no carrier|lowerlayerdown|link down|notpresent|not connected|disconnected",
	   "port-down"),
	IS("operational|oper|link|port|physical|phy|carrier state|status",
	   "admin|fsm|module|node|counter|pod|bfd", "up|linkup|active|link up", "port-up"),
	/* "port 8: DOWN": the key itself is the port; "AirPort: Link Down" is a wireless network's
	 */
	IS("port|ports|link|links|lane",
	   "admin|fsm|module|node|counter|pod|policy|container|https|http|speed|width|monitor|"
	   "event|events|log|action|air$|wlan|wifi",
	   "down|linkdown|link down", "port-down"),
	IS("port|ports|link|links|lane",
	   "admin|fsm|module|node|counter|pod|policy|container|https|http|speed|width|monitor|"
	   "event|events|log|action|air$|wlan|wifi",
	   "up|linkup|link up", "port-up"),
	IS("link-detected", NULL, "no|0", "port-down"),
	IS("link-detected", NULL, "yes|1", "port-up"),
	IS("dra-net state", NULL, "down", "port-down"),
	IS("lnetctl|lnet|nid|local-ni-s status", "peer", "down", "rdma-port-down"),
	IS("lnetctl|lnet|nid|local-ni-s status", "peer", "up", "port-up"),
	IS("operational$", NULL, "false", "rdma-off"),
	/* IBTA vol. 1 14.2.5.6, as node_exporter and registers give them: by number */
	IS("infiniband physical-state-id", NULL, "2|3|4|6|7", "rdma-port-down"),
	IS("infiniband state-id", "physical", "1|2|3", "rdma-port-down"),
	IS("infiniband state-id", NULL, "4|5", "port-up"),
	IS("paos|mlxreg oper-status", NULL, "0x00000002|0x2", "port-down"),
	IS("net-health status", NULL, "receive timeout|unreachable|time exceeded", "host-silent"),
	OTHER("net-health status", NULL, "success|init|undetected|n a", "state-nic"),
	{"link|pcie speed active", NULL, RS_STATE_BELOW, 0, NULL, "slot-slow"},
	{"link|pcie width active", NULL, RS_STATE_BELOW, 0, NULL, "slot-narrow"},
	IS("mlxlink|link|operational-info width",
	   "enabled|supported|max|cap|pcie|pci|active-width|width-active", "1x|2x", "width-half"),
	IS("active-width", "pcie|pci", "1x|2x", "width-half"),
	IS("operstate", "docker|virbr|br|veth|cni|lo|tun|bond0", "down", "port-down"),
	IS("operstate", "docker|virbr|br|veth|cni|lo|tun", "up", "port-up"),
	OVER("carrier-changes", NULL, 100, "flaps-many"),
	IS("link-speed-active", "ext", "2 5 gbps|5 0 gbps", "ib-speed-low"),

	/* ---- Modules ---- */
	{"temperature|power|voltage|bias", NULL, RS_STATE_OUTSIDE, 0, NULL, "optics-alarm"},
	IS("module state|status", "low-power", "modulefault|fault|faulted|0x05 modulefault|0x05",
	   "optics-alarm"),
	OVER("module-high-temp", NULL, 0, "module-hot"),
	OVER("module-bus-stuck|module-bad-shorted", NULL, 0, "optics-alarm"),

	/* ---- Counters ---- */
	OVER("pci-signal-integrity", NULL, 100, "pcie-errors"),
	OVER("effective-physical-errors|symbol-errors", "per-lane", 100, "link-symbols"),
	OVER("fec|codeword|codewords|cw$|block|blocks|rs uncorrect|uncorrected", "threshold", 0,
	     "fec-uncorrectable"),
	OVER("pcie|pci crc|error|errors|replay|nak",
	     "corrected|threshold|max|link|ber|reset|rollover", 100, "pcie-errors"),
	OVER("buff-alloc-err", NULL, 1000, "host-drops"),
	OVER("allowance-exceeded", NULL, 1000, "cloud-limit"),
	OVER("symbol-err|symbol-error|symbol-errors|rcv-errors|rcv-remote-physical-errors|"
	     "rcverr|symerr|symbolerr|lcrc-error|rx-error-count",
	     "per-lane|ber|max|threshold|time|pcie", 1000, "port-counts"),
	OVER("crc-err|crc-error|crc-errors|fcs-err|fcs-errors|bad-fcs",
	     "max|threshold|pcie|nvlink|link", 10000, "port-counts"),
	OVER("link-downed|link-down-events|link-down-counter|link-error-recovery|"
	     "link-integrity-errors",
	     "max|threshold", 20, "port-counts"),
	/* of sar: by second */
	OVER("rxdrop|txdrop|rxfifo|txfifo", "total|max", 100, "port-drops"),
	OVER("segments-retransmit|tcp-retrans-segs|retrans-segs|tcp-ext-tcptimeouts", "max",
	     1000000, "tcp-resends"),
	/* what a NIC sent again, in the words of hccn_tool, eadm, bnxt_re, efa */
	OVER("pkt-rty-num|retrans-cnt|tx-retrans|retrans-pkts|to-retransmits|retrans-timeout-"
	     "events",
	     "tcp|max", 10000, "retransmits"),
	OVER("discards-phy|xmit-discards|rx-discards|tx-discards", "max|threshold", 10000,
	     "port-drops"),

	OVER("drops-no|no-buffer|no-pbuf|no-skbs|no-frags", "tx|unicast", 100000, "host-drops"),

	OVER("lnet|lnetctl|statistics "
	     "resend-count|response-timeout-count|remote-timeout-count|network-timeout-count",
	     "max|threshold", 1000, "lnet-timeouts"),

	/* ---- Kubernetes ---- */
	IS("status", NULL,
	   "crashloopbackoff|init crashloopbackoff|init error|imagepullbackoff|errimagepull|"
	   "createcontainererror|createcontainerconfigerror|oomkilled|runcontainererror|"
	   "init imagepullbackoff|evicted|init errimagepull|containerstatusunknown|nodelost",
	   "pod-broken"),
	IS("kubectl pod|pods|po status", NULL, "error", "pod-broken"),
	IS("reason|state", NULL, "oomkilled", "pod-killed"),
	IS("sync-status", NULL, "failed", "sriov-sync"),
	IS("reason|state", NULL,
	   "crashloopbackoff|imagepullbackoff|errimagepull|containercannotrun", "pod-broken"),
	/* a pod that has ended is not ready by right */
	IS("ready status", "pod|pods|po|containersready|containers", "false|unknown",
	   "node-condition"),
	IS("xid|problem|pressure|unavailable|fault|failure|unhealthy|degraded|deadlock|readonly|"
	   "error status",
	   "ready|continue-on-error", "true", "node-condition"),
	IS("kubectl node|nodes|no status", NULL, "notready", "node-condition"),

	/* ---- Slurm, systemd ---- */
	/* how many nodes are in such a state */
	OVER("down$ not-responding|drain$|drained|reserved", "link|port", 0, "node-drained"),
	OVER("nvlink|xgmi|link crc-data-error|crc-flit-error|recovery-error|replay-error",
	     "threshold|max|rate|pcie", 10, "nvlink-errors"),
	IS("state", "link|port|phys|module|reporter|gpu|health|status|fabric",
	   "node fail|node_fail|out of memory|out of me|boot fail|deadline", "job-state"),
	IS("pbsnodes|bhosts|qhost|lsload|condor-status|ntype|mom state|status", NULL,
	   "offline|down|unavail|unreach|closed adm|closed lim|unlicensed|lim unavail|state "
	   "unknown",
	   "node-drained"),
	IS("domain-state", NULL, "degraded|down|unavailable|not ready", "imex"),
	IS("docker|podman|nerdctl|crictl status|state", NULL,
	   "exited 137|exited 1|exited 134|exited 135|exited 139|exited 255|restarting|dead",
	   "pod-broken"),
	IS("sinfo|scontrol|slurm|partition|node|nodes|node-name|nodelist state",
	   "link|port|dev|interface|ifname|rdma|nic|hca|ca|dladm",
	   "inval|invalid|down|drained|draining|drain|drng|fail|failing|not responding",
	   "node-drained"),

	/* ---- QoS ---- */
	IS("pfc bitmap", NULL, "0x0", "pfc-host-none"),
	IS("ecn roce-np|roce-rp enable-3", NULL, "0", "dcqcn-off"),
	IS("cc-ecn-enable", NULL, "0x0|0", "dcqcn-off"),
	IS("dcqcn status|state|enabled", NULL, "disabled|off|no|false", "dcqcn-off"),
	OVER("rx-usecs$", "high|low|irq", 200, "coalesce-long"),

	/* ---- Machines ---- */
	IS("status-desc|event|state|status", "pod|node",
	   "upper critical|lower critical|upper non recoverable|lower non recoverable|at or below "
	   "lower critical|at or above upper critical|redundancy lost|redundancy degraded|ps "
	   "failed|power supply failure|fully redundant to degraded",
	   "sensor-critical"),
	IS("fanstatus|ps-status|psstatus|psoperstatus", NULL,
	   "shutdown|failed|failure|fail|absent|faulty", "switch-hardware"),
	IS("fan|fans|psu|psus|psu0|psu1|psu2|dc-power|power-supply status|state|health|power",
	   "pod|node|speed", BAD, "sensor-critical"),
	IS("temp|temperature", "threshold|limit|high|low|max", "critical|overheat",
	   "sensor-critical"),
	OVER("mget-temp", NULL, 105, "sensor-critical"),
	IS("off-line-cpu|offline-cpu", "mask-0x0", "0|1|2|3|4|5|6|7|8|9", "cpus-offline"),
	OVER("off-line-cpu|offline-cpu", NULL, 0, "cpus-offline"),
	IS("current-active-profile", NULL, "powersave|balanced|desktop|laptop|virtual guest",
	   "tuned-profile"),
	IS("status", NULL, "update required", "firmware-update"),

	IS("sys-profile", NULL, "perfperwattoptimizeddapc|perfperwattoptimizedos|denscfgoptimized",
	   "bios-power"),
	IS("sriov-global-enable|sr-iov-support", NULL, "disabled|disable", "bios-sriov"),
	IS("opensm active", NULL, "inactive|failed", "opensm-off"),

	/* ---- Any device: of a monitor by what it watches ---- */
	IS("infiniband|nic$|nics$|hca|hcas|rdma|roce health$|state|status|result",
	   "pod|pods|admin|node|nodes|route", BAD, "state-nic"),
	IS("nvidia|gpu$|gpus$|ecc|xid|sxid|nvswitch|fabricmanager|fabric-manager|remapped "
	   "health$|status|result",
	   "pod|pods|admin|node|nodes|smi", "unhealthy|degraded|critical|failed|fail", "state-gpu"),
	{"reason", NULL, RS_STATE_HAS, 0, "~isnothealthy|~isunhealthy|~notready", "state-bad"},
	IS("health$", "route|system", "unhealthy|degraded|critical", "state-bad"),
	IS("gpu$|gpus$|nvlink|nvswitch|xgmi state|status|health|result", NULL, BAD, "state-gpu"),
	IS("transceiver|module|optic|qsfp|osfp|cable state|status|health", "severity", BAD,
	   "optics-alarm"),
	IS("nic|hca|mlx|mlx5|bnxt|ice|ionic|efa|infiniband|rdma|roce|firmware|fw|pci|pcie|port|"
	   "link|lif "
	   "state|status|health|condition",
	   /* "MySQL on port 3336" is a program */
	   "pod|admin|node|status-opcode|on-port|tcp-on|http", BAD, "state-nic"),
	{0},
};

const struct rs_state_why rs_state_whys[] = {
	{"nvlink|nvswitch|fabric", "gpu-fabric"},
	{"flap|flaps|flapped|flapping", "flaps-many"},
	{"port|ports|link|links down|disabled|inactive|polling|active|drop|dropped|lost|"
	 "initializing",
	 "port-down"},
	{"pcie|pci width|lanes|downgraded|gen", "slot-narrow"},
	{"ecc|xid|sxid|remap|remapping|remapped|gpu$|gpus$", "state-gpu"},
	{0},
};
