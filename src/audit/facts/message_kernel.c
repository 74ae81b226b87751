/* The kernel's log: NICs, GPUs, PCIe, IOMMU, memory, modules. */
#include "audit/facts/message_rows.h"

static const struct rs_message rows[] = {
	/* ---- What the network's operators say ---- */
	{
		.key = "firewall-drops",
		.check = "N17",
		.severity = MIN,
		.setting = true,
		.confidence = RS_LOW,
		.title = "the host's firewall drops what no rule accepts",
		.why = "ranks meet on TCP ports of any number, and RoCE of a software device is "
		       "UDP "
		       "4791: unless the job's hosts are accepted, they do not",
		.need = "nft list ruleset; iptables -S",
		.need_why = "whether the other hosts' addresses or interfaces are accepted",
		.pattern = P("hook input priority*policy drop", "Chain INPUT (policy DROP"),
	},
	{
		.key = "driver-load",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the RDMA driver's modules could not be loaded",
		.why = "modules of another kernel or another package are in the way: after an "
		       "update "
		       "of the kernel the driver must be built again",
		.need = "dmesg; modinfo mlx5_ib | grep -E 'filename|vermagic'; uname -r",
		.need_why = "whose module it is, and for which kernel",
		.pattern =
			P("Failed loading kernel module mlx5", "Failed loading kernel module ib_",
			  "Failed loading kernel module rdma", "openibd.service: Failed",
			  "Failed to start openibd", "belong to kernel which is not a part of",
			  "Loading rdma_ucm *[FAILED]", "Loading * mlx5_ib*[FAILED]",
			  "Module rdma_rxe not found", "Module mlx5_ib not found",
			  "Module ib_uverbs not found", "Module siw not found"),
	},

	/* ---- The job's own network ---- */
	{
		.key = "kernel-symbols",
		.check = "X05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.but = "peer",
		.title = "a kernel module was built against another RDMA stack than the one that "
			 "runs",
		.why = "its symbols are of another ib_core: after OFED or the kernel was changed, "
		       "what stands on it (ko2iblnd, nvme_rdma, rpcrdma, GPU drivers) must be "
		       "built again, against that one",
		.need = "modinfo MODULE ib_core | grep -E 'filename|vermagic'; ofed_info -s",
		.need_why = "whose ib_core runs, and which one the module was built for",
		.pattern =
			P("disagrees about version of symbol", "Unknown symbol ib_",
			  "Unknown symbol __ib_", "Unknown symbol rdma_", "Unknown symbol __rdma_",
			  "no symbol version for ib_", "no symbol version for rdma_"),
	},

	/* ---- IOMMU, NUMA ---- */
	{
		.key = "iommu-parameter",
		.check = "P05",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the kernel runs without the IOMMU parameters that GPU transfers need "
			 "(iommu=pt)",
		.why = "RCCL says so itself: with a translating IOMMU peer-to-peer transfers are "
		       "slow or hang",
		.need = "cat /proc/cmdline",
		.need_why = "what the kernel was given",
		.pattern = P("Missing \"iommu=pt\"", "Missing \"amd_iommu=on\"", "Missing \"iommu"),
	},
	{
		.key = "iommu-fault",
		.check = "P05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the IOMMU refused a device's transfer",
		.why = "a NIC or GPU reached for memory that is not mapped for it: peer-to-peer "
		       "through a "
		       "translating IOMMU, or a driver's fault. With iommu=pt no map is needed",
		.need = "cat /proc/cmdline; lspci -s BDF of the line",
		.need_why = "which device, and whether the IOMMU translates",
		.pattern = P("DMAR: [DMA *fault addr", "IO_PAGE_FAULT",
			     "arm-smmu*Unhandled context fault",
			     "DMAR: DRHD: handling fault status", "smmu*event*translation fault",
			     "smmu*C_BAD_STREAMID", "smmu*F_TRANSLATION", "smmu*F_PERMISSION"),
	},
	{
		.key = "numa-balancing",
		.check = "H03",
		.severity = MIN,
		.setting = true,
		.confidence = RS_HIGH,
		.title = "automatic NUMA balancing is on",
		.why = "RCCL says so itself: pages move while NICs and GPUs use them",
		.need = "cat /proc/sys/kernel/numa_balancing",
		.need_why = "its value",
		.pattern = P("NUMA auto balancing enabled"),
	},

	/* ---- The kernel's log ---- */
	{
		.key = "kernel-nic",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the kernel's log has a fault of an RDMA NIC or its firmware",
		.why = "a device that hangs, resets or loses its firmware is not one to send a job "
		       "to",
		.need = "dmesg -T; devlink health show",
		.need_why = "since when, and how often",
		.pattern =
			P("mlx5_core*health compromised", "mlx5_core*assert_var",
			  "mlx5_core*device's health", "mlx5_core*fatal error",
			  "mlx5_core*timeout. Will cause a leak", "mlx5_core*handling bad device",
			  "mlx5_core*Fatal error", "mlx5_core*pre-initializing",
			  "mlx5_core*TX timeout detected", "mlx5_core*crash dump",
			  "mlx5_core*pci_disable", "mlx5_core*enter error state",
			  "bnxt_*Error (timeout:", "QPLIB: cmdq*timedout",
			  "bnxt_*Firmware not responding", "bnxt_*timed out", "bnxt_re*Failed to",
			  "irdma*CQP*timed out", "irdma*probe of*failed",
			  "irdma*request new completed", "irdma*abnormal ae_id", "erdma*timeout",
			  "mana *timed out", "mana *Failed to establish", "ionic*heartbeat stalled",
			  "ionic*timedout", "hns_roce*timeout", "ionic*timed out",
			  "infiniband *: Couldn't open port"),
	},
	{
		.key = "kernel-cmd",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "the driver of an RDMA NIC reports refused or failed commands",
		.why = "the firmware refused what the driver asked: releases that do not fit, "
		       "resources "
		       "used up, or a wrong argument of a program",
		.need = "dmesg -T; ethtool -i NETDEV",
		.need_why = "releases of driver and firmware",
		.pattern = P("mlx5_cmd_out_err*failed", "mlx5_cmd_check*failed",
			     "mlx5_core*syndrome (0x", "bnxt_*hwrm req_type*error",
			     "bnxt_*hwrm*failed", "efa 0000:*ailed", "hns_roce*failed",
			     "hns3 0000:*reset", "irdma*: Could not", "irdma*err=",
			     "rdma_rxe: *fail", "rxe_*invalid mask or state", "siw: *failed",
			     "ionic 0000:*failed", "bnxt_qplib*failed", "erdma 0000:*ailed"),
	},
	{
		.key = "kernel-cqe",
		.check = "C06",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the kernel's log has completions in error of an RDMA NIC",
		.why = "the syndrome says which: 0x15 transport retries, 0x16 receiver not ready, "
		       "0x4 "
		       "protection, 0x13 remote access, 0x5 flushed after another",
		.need = "dmesg -T; rdma statistic",
		.need_why = "which error came first",
		.pattern = P("Requestor error cqe on", "Responder error cqe on", "dump error cqe",
			     "dump_cqe:", "mlx5_poll_one*error cqe"),
	},
	{
		.key = "kernel-gpu",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the kernel's log has a fault of a GPU",
		.why = "a GPU that fell off the bus, resets or has uncorrectable memory takes its "
		       "rank, and so "
		       "the job, down",
		.need = "dmesg -T; nvidia-smi -q, or rocm-smi",
		.need_why = "which GPU, and whether it is back",
		.pattern = P(
			"fallen off the bus", "RmInitAdapter failed", "NVRM*probe routine failed",
			"NVRM*GPU has been lost", "amdgpu*GPU reset begin", "amdgpu*ring * timeout",
			"amdgpu*uncorrectable", "amdgpu*GPU Recovery Failed", "amdgpu*Fatal error",
			"amdgpu*device lost", "kfd*unrecoverable", "NVRM: GPU * is lost",
			"nvidia-nvswitch*SXid*Fatal", "NVRM*rpcRmApiControl*fail"),
	},
	{
		.key = "kernel-pcie",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the kernel's log has fatal or uncorrected PCIe errors",
		.why = "a link that loses packets takes the device down: slot, riser, retimer or "
		       "the card",
		.need = "dmesg -T | grep -E 'AER|DPC|pcieport'; lspci -vvv -s BDF",
		.need_why = "which link, and how often",
		.pattern = P("severity=Uncorrect", "severity=Fatal", "AER: Uncorrected",
			     "AER: Multiple Uncorrect", "device recovery failed",
			     "DPC: containment event", "pciehp*Link Down",
			     "pciehp*Card not present", "PCIe Bus Error: severity=Non-Fatal",
			     "Unable to change power state*device inaccessible",
			     "subordinate device reset failed"),
	},

	/* ---- What tools show: found by audit/read/shown_table.c ---- */
	{
		.key = "kernel-memory",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the kernel killed a process for want of memory",
		.why = "the job's rank is gone, and its peers time out",
		.need = "free -g; the job's limits",
		.need_why = "what used it",
		.pattern = P("Out of memory: Killed process", "Memory cgroup out of memory: Killed",
			     "oom-kill:constraint"),
	},
	{
		.key = "kernel-hung",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a process waits in the kernel for minutes",
		.why = "the trace below names what it waits for",
		.need = "the whole trace; dmesg before it",
		.need_why = "which driver",
		.pattern = P("INFO: task * blocked for more than", "self-detected stall on CPU",
			     "detected stalls on CPUs"),
	},
	{
		.key = "kernel-dimm",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the host's memory or processor reports hardware errors",
		.why = "an uncorrected one ends what meets it",
		.need = "mcelog, ras-mc-ctl --errors; the BMC's log",
		.need_why = "which part",
		.pattern = P("EDAC *: * UE ", "[Hardware Error]: Machine check",
			     "Uncorrected hardware memory error", "Uncorrected on DIMM",
			     "Fatal on DIMM"),
	},
	{
		.key = "kernel-hot",
		.check = "H02",
		.severity = MIN,
		.confidence = RS_HIGH,
		.title = "the processor throttles for heat",
		.why = "clocks fall, and with them what feeds GPUs and NICs",
		.need = "fans and inlet temperature (ipmitool sdr)",
		.need_why = "why it is hot",
		.pattern = P("cpu clock throttled", "Core temperature above threshold"),
	},
	{
		.key = "bar-space",
		.check = "P13",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the firmware gave a GPU or NIC no room for its memory window (BAR)",
		.why = "'Above 4G decoding' or resizable BAR is off, or the MMIO window is too "
		       "small",
		.need = "the BIOS' MMIO settings; dmesg | grep BAR",
		.need_why = "which BAR",
		.pattern = P("BAR *: no space for [mem",
			     "This PCI I/O region assigned to your NVIDIA device is invalid",
			     "BAR1 is 0M", "BAR0 is 0M"),
	},
	{
		.key = "xid-program",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_LOW,
		.title = "a program made a GPU fault (Xid 13 or 31)",
		.why = "the program's own memory error in most cases; on one GPU alone, its "
		       "hardware",
		.need = "the same program on another GPU; nvidia-smi -q",
		.need_why = "whether it follows the GPU",
		.pattern = P("NVRM: Xid (PCI:*): 31,", "NVRM: Xid (PCI:*): 13,"),
	},
	{
		.key = "xid-cleared",
		.check = "P14",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "the driver ended the work of a program on a GPU (Xid 43 or 45)",
		.why = "a program that is stopped, or that failed, leaves this behind; the GPU is "
		       "well",
		.need = "the lines before it, and the program's own log",
		.need_why = "whether another Xid came first",
		.pattern = P("NVRM: Xid (PCI:*): 43,", "NVRM: Xid (PCI:*): 45,"),
	},
	{
		.key = "kernel-tx",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a NIC's transmit queue stood still (NETDEV WATCHDOG)",
		.why = "its driver, its firmware or its interrupts hang; the driver resets it",
		.need = "the log around it; ethtool -i",
		.need_why = "which driver, and how often",
		.pattern = P("NETDEV WATCHDOG: *timed out", "Detected Tx Unit Hang",
			     "TX timeout on queue"),
	},
	{
		.key = "kernel-oops",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "the kernel met a fault of its own (oops, BUG, panic)",
		.why = "the trace below names the module",
		.need = "the whole trace; the releases of kernel and driver",
		.need_why = "which module",
		.pattern = P("BUG: kernel NULL pointer", "BUG: unable to handle",
			     "general protection fault", "kernel BUG at ",
			     "Kernel panic - not syncing"),
	},
	{
		.key = "kernel-warning",
		.check = "P14",
		.severity = MIN,
		.confidence = RS_LOW,
		.title = "the kernel warns in code of RDMA or of NICs",
		.why = "the trace below names the function: releases of kernel and driver that do "
		       "not fit are a common cause",
		.need = "the whole trace; modinfo mlx5_core; uname -r",
		.need_why = "which function",
		.pattern =
			P("WARNING: CPU*at net/core/devlink", "WARNING: CPU*at drivers/infiniband",
			  "WARNING: CPU*at drivers/net/ethernet",
			  "WARNING: CPU*at net/sched/sch_generic",
			  "WARNING: CPU*at drivers/nvme/*rdma",
			  "WARNING: CPU*at net/sunrpc/xprtrdma", "WARNING: CPU*at drivers/pci",
			  "WARNING: CPU*at drivers/iommu", "WARNING: CPU*transport_rdma.c"),
	},
};

PART(rs_messages_kernel);
