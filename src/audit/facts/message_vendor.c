/*
 * Fabrics and accelerators of one vendor, in their own programs' words: Slingshot (the driver cxi,
 * libcxi's retry handler, libfabric's provider cxi), Ascend (HCCL, HCCP and the NPU's events, as
 * CANN's table of HCCL's errors and MindCluster's ascend-faultdiag list them), Omni-Path and PSM3
 * (libfabric), DCGM (dcgm_errors.h), gpud, GPUDirect-TCPX, 802.1X on RDMA interfaces.
 */
#include "audit/facts/message_rows.h"

static const struct rs_message rows[] = {
	/* ---- Slingshot: the retry handler of libcxi ---- */
	{
		.key = "slingshot-given-up",
		.check = "C01",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "Slingshot's retry handler gave packets up: their target never answered",
		.why = "a packet was sent again as often as the handler may, or its target was "
		       "taken for down: what waits for it ends in UNDELIVERABLE. A link of the "
		       "target, an address (AMA) that its switch port does not have, or a node "
		       "that is gone",
		.need = "journalctl -u 'cxi_rh@*'; cxi_stat on the host of the nid that it names",
		.need_why = "whether one target or one NIC is behind it",
		.pattern = P("cancelling spt=*which was retried", "cancelling spt=*determined down",
			     "cancelling spt=*uncorrectable error", "Adding nid=*to parked list",
			     "Adding switch=*to parked switches"),
	},
	{
		.key = "slingshot-resent",
		.check = "C01",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "Slingshot's retry handler sent packets again after a timeout",
		.why = "a packet or its answer was lost, or late: a few are a link that came up "
		       "anew, many are a sick one",
		.need = "cat /run/cxi/cxi0/spt_timeouts /run/cxi/cxi0/nacks, twice",
		.need_why = "whether they rise",
		.pattern = P("PCT timeout event (spt="),
	},
	{
		.key = "slingshot-handler-none",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "no retry handler runs for a Slingshot NIC",
		.why = "the handler (cxi_rh) sends lost packets again; without it libfabric leaves "
		       "the NIC out",
		.need = "systemctl status 'cxi_rh@*'",
		.need_why = "why it ended",
		.pattern = P("CXI retry handler not running"),
	},

	/* ---- Ports of such a fabric: found by audit/read/states_table.c ---- */
	{
		.key = "rail-down",
		.check = "H09",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a port of an accelerator's own network, or of a NIC of the job's fabric, "
			 "is not up",
		.why = "each of these ports has its cable: the rank that would use it has none",
		.need = "cxi_stat, or hccn_tool -i N -link_stat -g; the switch port",
		.need_why = "which port, and since when",
	},
	{
		.key = "fabric-short",
		.check = "H09",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a fabric manager counts fewer links between switches than it was told of",
		.why = "what passed those links goes another way, or nowhere",
		.need = "the fabric manager's list of offline ports",
		.need_why = "which switches they join",
	},
	{
		.key = "edge-short",
		.check = "H09",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "a fabric manager counts fewer ports of nodes that are up than it knows",
		.why = "nodes that are off count, too",
		.need = "the fabric manager's list of offline ports",
		.need_why = "whether nodes of the job are among them",
	},
	{
		.key = "rail-slow",
		.check = "L04",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a Slingshot NIC's link runs at half its rate or less",
		.why = "BJ_100G, CD_100G and CD_50G are rates of other NICs: of this one the cable "
		       "or the switch port's setting makes them",
		.need = "cxi_stat; the switch port's setting",
		.need_why = "what the other NICs have",
	},

	/* ---- Slingshot: the driver ---- */
	{
		.key = "slingshot-cable",
		.check = "H09",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "no usable cable is in a Slingshot NIC's port",
		.why = "the driver sees no module, or one that it cannot read",
		.need = "cxi_stat; ls /sys/class/cxi/*/device/port/0/media",
		.need_why = "which port, and which module",
		.pattern = P("HSN cable is not plugged", "cxi*Bad cable present",
			     "cxi*EEPROM data unavailable"),
	},
	{
		.key = "slingshot-link-lost",
		.check = "C07",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "a Slingshot link went down by itself",
		.why = "the driver's own watch of the link, or the other end, took it down",
		.need = "dmesg -T | grep cxi; cxi_stat -r",
		.need_why = "how often, and the bit errors",
		.pattern = P("(sbl)*link down alert", "async link down, origin",
			     "lmon taking link down"),
	},
	{
		.key = "slingshot-lanes",
		.check = "L04",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a Slingshot link lost lanes",
		.why = "a link that degrades goes on with fewer lanes, at a part of its rate",
		.need = "cxi_stat; the port's lanes at the switch",
		.need_why = "which lane, and the cable",
		.pattern = P("(sbl)*rx degrade", "(sbl)*tx degrade"),
	},
	{
		.key = "slingshot-device",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a Slingshot NIC does not answer its driver",
		.why = "the driver reports a chip or a controller that is not in order",
		.need = "dmesg -T | grep cxi; slingshot-diag -i hsn0",
		.need_why = "since when",
		.pattern = P("(sbl)*serdes fw corruption", "cxi*HW is in a bad state",
			     "cxi*firmware status from uC", "cxi*Disabling device",
			     "cxi*chip not ready", "cxi*PCIe error: ", "cxi*uC not detected",
			     "cxi*uC took too long", "cxi*uC didn't"),
	},

	/* ---- Slingshot: libfabric's provider ---- */
	{
		.key = "slingshot-queue",
		.check = "C02",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a Slingshot endpoint's event queue or match list ran full",
		.why = "messages came faster than the program took them, or before their receives: "
		       "the endpoint stops and asks its peers to send again. Larger queues "
		       "(FI_CXI_DEFAULT_CQ_SIZE), or FI_CXI_RX_MATCH_MODE=hybrid or software",
		.need = "env | grep FI_CXI; FI_LOG_LEVEL=warn",
		.need_why = "which of them ran full",
		.pattern = P("H/W Event Queue overflow", "Flow control EQ full",
			     "Flow control UX LE resources", "priority LE exhaustion",
			     "Control EQ drops detected", "dropped FC message: retry_delay",
			     "Flow control triggered", "failure to append LE",
			     "Software endpoint mode required"),
	},
	{
		.key = "slingshot-service",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the job has no right to a Slingshot NIC's network (service or VNI)",
		.why = "the NIC hands out its resources by service: the workload manager makes one "
		       "for a job, with its VNI and traffic classes. The one that was named is "
		       "not there, is of another user, or has none left",
		.need = "env | grep SLINGSHOT; cxi_service list",
		.need_why = "which service the job was given",
		.pattern = P("Failed to allocate CP, ret", "Failed to allocate CXI Domain, ret",
			     "Failed to open CXI Device", "Failed to find valid default rgroup",
			     "Failed to find service ID in", "in SLINGSHOT_DEVICES",
			     "Invalid VNI * and svc_id", "Failed to allocate TX EQ resources",
			     "Failed to allocate TGT EQ resources"),
	},

	/* ---- Ascend ---- */
	{
		.key = "hccl-exchange",
		.check = "N17",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "ranks of an Ascend job did not exchange their addresses (HCCL)",
		.why = "the root rank waited in vain, or a rank did not reach it: another "
		       "interface (HCCL_SOCKET_IFNAME, HCCL_IF_IP), a port that is taken, a "
		       "firewall, or a rank that ended",
		.need = "the first error of each rank's plog; ip -br addr",
		.need_why = "which rank failed first, and which interface it took",
		.pattern = P("topo exchange server*timeout", "topo exchange agent*timeout",
			     "ra socket listen start fail", "get host ip fail by socket Ifname",
			     "ra listen start failed", "bind and listen fail", "(EJ0003)",
			     "EJ0003: ", "(EI0015)", "EI0015: ", "(EI0019)", "EI0019: ", "(EI0020)",
			     "EI0020: ", "Wait links establish completed failed",
			     "the connection failure between this device and"),
	},
	{
		.key = "hccl-cqe",
		.check = "N12",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a send of an Ascend job ended in error (HCCL)",
		.why = "status 12 is a peer that never answered: its port is down, its process "
		       "ended, or the switches lose packets",
		.need = "hccn_tool -i N -link_stat -g; hccn_tool -i N -stat -g, at both ends",
		.need_why = "whether the link was lost, and what is sent again",
		.pattern = P("Heartbeat]cqe err", "Heartbeat]find cqe error",
			     "Error CQE is detected", "error cqe status(", "cqe error status[",
			     "Error ROCE CQE", "(EI0013)", "EI0013: ", "(EI0018)", "EI0018: "),
	},
	{
		.key = "hccp-port",
		.check = "H09",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an NPU's network port was down before the job began",
		.why = "HCCP, which runs on the NPU, answers -67 where its port has no link",
		.need = "hccn_tool -i N -link -g; hccn_tool -i N -link_stat -g",
		.need_why = "which port, and since when",
		.pattern = P("process failed ret(-67)"),
	},
	{
		.key = "hccp-start",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the network process of an NPU did not start (HCCP)",
		.why = "a process of the last job still holds the NPU, or the NPU has no address",
		.need = "npu-smi info; hccn_tool -i N -ip -g",
		.need_why = "which process holds the NPU",
		.pattern = P("(EJ0001)", "EJ0001: ", "Failed to initialize the HCCP process",
			     "HCCP*[check][ip]fail"),
	},
	{
		.key = "hccl-qp",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an NPU refused a queue pair or a registration",
		.why = "too many queue pairs or too much memory, or an NPU that is not in order",
		.need = "the plog of HCCP on that NPU",
		.need_why = "the number of the error",
		.pattern = P("ra qp create fail", "ra mr reg fail", "ra_qp_create*fail",
			     "ra_mr_reg*fail"),
	},
	{
		.key = "hccl-arguments",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "ranks of an Ascend job do not agree, or its table of ranks is wrong "
			 "(HCCL)",
		.why = "EI0005: ranks call other collectives, or with other sizes; EI0004, EI0014, "
		       "EI0017: the table of ranks names an address twice, or one that no NPU has; "
		       "EI0001, EI0003, EI0016: a variable or an argument has a wrong value",
		.need = "the table of ranks; the log of each rank before the error",
		.need_why = "which rank differs",
		.pattern = P("(EI0001)", "EI0001: ", "(EI0003)", "EI0003: ", "(EI0004)",
			     "EI0004: ", "(EI0005)", "EI0005: ", "(EI0014)", "EI0014: ", "(EI0016)",
			     "EI0016: ", "(EI0017)", "EI0017: ", "ranktable or rank is invalid",
			     "arguments for collective communication are inconsistent"),
	},
	{
		.key = "hccl-resource",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an NPU has no memory or no queue pairs left for HCCL (EI0007, EI0011)",
		.why = "the job's buffers, or another process, have taken them",
		.need = "npu-smi info; HCCL_BUFFSIZE",
		.need_why = "which process has the memory",
		.pattern = P("(EI0007)", "EI0007: ", "(EI0011)", "EI0011: "),
	},
	{
		.key = "hccl-versions",
		.check = "X05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "ranks run different releases of CANN or HCCL (EI0008)",
		.why = "the containers or packages of the hosts differ",
		.need = "cat "
			"/usr/local/Ascend/ascend-toolkit/latest/*/ascend_toolkit_install.info, on "
			"each host",
		.need_why = "which host is the odd one",
		.pattern = P("(EI0008)", "EI0008: "),
	},
	{
		.key = "hccl-transport",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "HCCL could not set up an NPU's network port (EI0009)",
		.why = "its link is down, its module is missing, or it has no IP address",
		.need = "hccn_tool -i N -optical -g; hccn_tool -i N -ip -g; hccn_tool -i N -link "
			"-g",
		.need_why = "which of the three",
		.pattern = P("(EI0009)", "EI0009: "),
	},
	{
		.key = "hccl-inside",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a copy between NPUs of one machine or one supernode failed (EI0010, "
			 "EI0012)",
		.why = "their link (HCCS, PCIe), a peer that ended, or memory that was freed early",
		.need = "npu-smi info -t health -i N; the first error of each rank",
		.need_why = "whether the NPU is well, and which rank ended first",
		.pattern = P("(EI0010)", "EI0010: ", "(EI0012)", "EI0012: "),
	},
	{
		.key = "npu-link",
		.check = "H09",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "an NPU reports that its network port went down (event 0x81078603)",
		.why = "the cable, the module or the switch port",
		.need = "hccn_tool -i N -link_stat -g",
		.need_why = "since when, and how often",
		.pattern = P("Event id=0x81078603", "event_id*0x81078603",
			     "Node Type=0x83;*event_state=3)"),
	},
	{
		.key = "npu-lanes",
		.check = "L04",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "some lanes of an NPU's network port are faulty (event 0x81078605)",
		.why = "the port goes on at a part of its rate",
		.need = "hccn_tool -i N -optical -g",
		.need_why = "which lane has no light",
		.pattern = P("Event id=0x81078605", "event_id*0x81078605",
			     "Node Type=0x83;*event_state=5)"),
	},
	{
		.key = "npu-fault",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an NPU reports a fault of its network part, its memory or its PCIe link",
		.why = "events 0x80bb8*** are of its RoCE engine, 0x80bd8*** of its NIC, 0x80e*** "
		       "of its memory, 0x80b98*** of PCIe",
		.need = "npu-smi info -t health -i N; npu-smi info -t ecc -i N",
		.need_why = "whether the NPU goes on",
		.pattern =
			P("Event id=0x80bb8", "event_id*0x80bb8", "Event id=0x80bd8",
			  "event_id*0x80bd8", "Event id=0x80e", "event_id*0x80e",
			  "Event id=0x80b98", "event_id*0x80b98", "drv_soft_fault*Heartbeat lost"),
	},

	{
		.key = "npu-address",
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an NPU's network port has no IP address",
		.why = "HCCL's queue pairs need a GID that is made of one",
		.need = "cat /etc/hccn.conf; hccn_tool -i N -ip -g",
		.need_why = "which address it should have",
		.pattern = P("device has no ip address"),
	},

	/* ---- Omni-Path and PSM3, in libfabric's words (prov/opx, prov/psm3) ---- */
	{
		.key = "opx-lost",
		.check = "C01",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title =
			"packets over Omni-Path were sent again until no try was left, or the link "
			"was lost",
		.why = "a link, a switch or the peer's process is gone",
		.need = "opainfo on both hosts; opareport -o errors",
		.need_why = "which link counts errors",
		.pattern = P(":opx:*retransmission limit", ":opx:*Link down detected",
			     "max retransmits exceeded"),
	},
	{
		.key = "opx-port",
		.check = "H09",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "no port of the device that libfabric was given is active (opx, psm3)",
		.why = "no link, no fabric manager (Omni-Path), or no device that PSM3 knows",
		.need = "opainfo, or ibv_devinfo; fi_info -p opx, or -p psm3",
		.need_why = "the state of the ports",
		.pattern = P("HFI has no active ports", "HFI unit * is not active",
			     "selected unit * is not active", "no nic units are active",
			     "Port state is not active for"),
	},
	{
		.key = "opx-open",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "libfabric could not open a device (opx, psm3)",
		.why = "no device, none that it may open, or all of its contexts are in use by "
		       "other ranks",
		.need = "ls -l /dev/hfi1_* /dev/infiniband; fi_info -p opx, or -p psm3",
		.need_why = "which devices there are",
		.pattern = P("No HFI units found", "detected no HFIs", "Unable to open HFI unit",
			     "open a context on HFI unit", "no nic units are available",
			     "PSM3 can't open nic unit", "Unable to open *-specified HFI"),
	},
	{
		/* psmx2_update_hfi_info(): also on a host that has no Omni-Path and wants none */
		.key = "psm2-none",
		.check = "N15",
		.severity = MIN,
		.confidence = RS_LOW,
		.title = "libfabric's psm2 finds no unit of Omni-Path",
		.why = "libpsm2 sees no hfi1 device, or none with a free context. It matters where "
		       "Omni-Path is to carry the job; without this provider libfabric takes "
		       "another one",
		.need = "opainfo; ls -l /dev/hfi1_*; fi_info -p psm2",
		.need_why = "whether the host has a unit, and who may open it",
		.pattern = P("no PSM2 device is active", "no PSM2 device is found"),
	},

	{
		.key = "opx-differs",
		.check = "X06",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "both ends of a connection have other settings (PSM3)",
		.why = "PSM3_RDMA, the partition key, the service level or the kind of address "
		       "differ: they come from each rank's own environment",
		.need = "env | grep -E 'PSM3|FI_', on each host",
		.need_why = "which host differs",
		.pattern = P("mismatched PSM3_RDMA config", "PKey mismatch (local",
			     "Service Level mismatch (local", "Wire Mode mismatch (local",
			     "Mismatched address format: remote", "Mismatched protocol: remote"),
	},
	{
		.key = "opx-pkey",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "no partition key of the port fits",
		.why = "PSM3 and OPX need a full member's key: the fabric manager gives none to "
		       "this port, or the job names another",
		.need = "cat /sys/class/infiniband/*/ports/1/pkeys/*; PSM3_PKEY, FI_OPX_PKEY",
		.need_why = "which keys the port has",
		.pattern = P("valid pkey value from pkey table", "Limited Member pkey",
			     "use PSM3_PKEY to specify a valid"),
	},

	/* ---- DCGM (dcgm_errors.h) ---- */
	{
		.key = "dcgm-nvlink",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "DCGM reports NVLinks or NVSwitches that are down or in error",
		.why = "on boards with NVSwitch no link is spare",
		.need = "nvidia-smi nvlink -s; dmesg | grep -iE 'sxid|nvlink'",
		.need_why = "which link, and since when",
		.pattern =
			P("NvLinks are up out of the expected", "NvLink port * is currently down",
			  "NvLink link * is currently down", "fatal errors on NvSwitch",
			  "fatal NvSwitch SXID", "'s NvLink * is down",
			  "NvLink errors found occuring", "exceeds minimum threshold on GPU",
			  "NVLink which exceeds", "NVLink (should be 0)"),
	},
	{
		.key = "dcgm-memory",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "DCGM reports errors of a GPU's memory",
		.why = "a job that meets them ends; a reset or an exchange is due",
		.need = "nvidia-smi -q -d ECC,ROW_REMAPPER",
		.need_why = "how many, since when",
		.pattern = P("volatile double-bit ECC error(s)", "pending retired page has been",
			     "retired pages have been detected", "row remapping failed",
			     "rows were remapped", "uncorrectable row remap limit",
			     "row remappings are pending", "SRAM Threshold Count exceeded",
			     "faulty memory elements on GPU", "corrupt InfoROM has been"),
	},
	{
		.key = "dcgm-slot",
		.check = "P01",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "DCGM finds a GPU's PCIe link or its bandwidth too low",
		.why = "a slot, a riser or a retimer that trained lower than it can",
		.need = "lspci -vv; nvidia-smi -q | grep -A8 'GPU Link Info'",
		.need_why = "width and generation now, and what both ends can",
		.pattern = P("is running at PCI link", "minimum required bandwidth of"),
	},
	{
		.key = "dcgm-recovery",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "DCGM reports a GPU that failed, is too hot, or waits for a reset",
		.why = "such a GPU takes its rank, and so the job, down or back",
		.need = "nvidia-smi -q | grep -i recovery; dmesg | grep -i xid",
		.need_why = "what the driver asks for",
		.pattern = P("Recovery action: *(GPU_RESET)", "Recovery action: *(NODE_REBOOT)",
			     "Recovery action: *(DRAIN", "clocks event due to thermal violation",
			     "PCIe replays per minute for GPU", "host-side PCIe replay violation",
			     "Detected XID * for GPU", "GPU had a contained error",
			     "There were thermal violations totaling",
			     "unsuccessfully written to by GPU", "unsuccessfully wrote data to GPU",
			     "only achieved a memory bandwidth of"),
	},

	/* ---- gpud's reasons ---- */
	{
		.key = "watch-fabric",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a monitor finds NVLink's fabric or its manager not in order",
		.why = "without the fabric manager CUDA does not start; with a part of the links "
		       "the "
		       "collectives of that host are slow",
		.need = "nvidia-smi -q | grep -A8 Fabric; systemctl status nvidia-fabricmanager",
		.need_why = "the state that the driver gives",
		.pattern = P("fabric manager found but not active",
			     "nv-fabricmanager executable not found", "GPU GPU-*bandwidth degraded",
			     "GPU GPU-*route unhealthy", "GPU GPU-*route recovery in progress"),
	},
	{
		.key = "watch-ports",
		.check = "H09",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a monitor counts fewer active ports than the host should have",
		.why = "a rail is missing, or trained at another rate",
		.need = "ibstat, or rdma link",
		.need_why = "which port it is",
		.pattern = P("port(s) are active and >="),
	},

	/* ---- Google's plugins over TCP ---- */
	{
		.key = "tcpx-daemon",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the daemon of GPUDirect-TCPX or TCPXO (RxDM) is not there, or did not "
			 "start",
		.why = "the plugin gets its buffers from it, by a socket in /run/tcpx or /tmp: it "
		       "runs "
		       "beside the job, of the same release, and sees all GPUs and NICs",
		.need = "kubectl logs of the daemon's container; ls -l /run/tcpx /tmp/nvdma",
		.need_why = "why it ended",
		.pattern = P("Failed to initialize RxDM", "Failed to connect to RxDM",
			     "Rx buffer manager*fail", "connect to*buffer manager"),
	},
	{
		.key = "tcpx-connect",
		.check = "N17",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "connections of GPUDirect-TCPX or TCPXO between hosts failed",
		.why = "its data goes over TCP of several interfaces (eth1 and more): each needs "
		       "its "
		       "route and a firewall rule between the hosts, and the same settings on both",
		.need = "NCCL_SOCKET_IFNAME, NCCL_FASTRAK_IFNAME, "
			"NCCL_GPUDIRECTTCPX_SOCKET_IFNAME; "
			"ping between the interfaces",
		.need_why = "which interface does not reach its peer",
		.pattern =
			P("TCPX*connection*failed", "TCPX*onnect*timed out", "TCPX*onnect*refused",
			  "FasTrak*onnection*timed out", "FasTrak*onnection*failed"),
	},

	/* ---- Networks that ask for a certificate ---- */
	{
		.key = "port-unauthorised",
		.check = "H09",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an RDMA interface is not let into its network (802.1X)",
		.why = "its switch port drops all frames until wpa_supplicant has shown a "
		       "certificate: the certificate ended, or the supplicant was not started for "
		       "this interface",
		.need = "wpa_cli -i IFACE status; journalctl -u 'oci-cn-auth*' -u "
			"'wpa_supplicant*'",
		.need_why = "which interfaces are let in",
		.pattern = P("CTRL-EVENT-EAP-FAILURE", "CTRL-EVENT-EAP-TIMEOUT-FAILURE",
			     "suppPortStatus=Unauthorized", "EAP state=FAILURE",
			     "rdma*is not authenticated"),
	},
};

PART(rs_messages_vendor);
