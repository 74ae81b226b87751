/*
 * Fabrics and accelerators of one vendor, in their own programs' words: Slingshot (the driver cxi,
 * libcxi's retry handler, libfabric's provider cxi), Ascend (HCCL, HCCP and the NPU's events, as
 * MindCluster's ascend-faultdiag lists them), 802.1X on RDMA interfaces (wpa_supplicant).
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
			     "cxi*chip not ready", "cxi*PCIe error: "),
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
			     "Control EQ drops detected", "dropped FC message: retry_delay"),
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
			     "ra listen start failed", "bind and listen fail", "EJ0003",
			     "Wait links establish completed failed",
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
		.pattern = P("Heartbeat]cqe err", "Error CQE is detected", "error cqe status(",
			     "cqe error status["),
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
		.pattern = P("EJ0001", "Failed to initialize the HCCP process",
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
		.title = "ranks of an Ascend job do not agree (HCCL, EI0004, EI0005)",
		.why = "the table of ranks names an address twice or a rank too few, or ranks call "
		       "other collectives, or with other sizes",
		.need = "the table of ranks; the log of each rank before the error",
		.need_why = "which rank differs",
		.pattern = P("EI0004", "EI0005", "ranktable or rank is invalid",
			     "arguments for collective communication are inconsistent"),
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
