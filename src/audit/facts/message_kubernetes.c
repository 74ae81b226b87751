/* Kubernetes: pods, device plugins, operators of networks. */
#include "audit/facts/message_rows.h"

static const struct rs_message rows[] = {
	/* ---- What the network's operators say ---- */
	{
		.key = "sriov-sync",
		.check = "K05",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title =
			"the SR-IOV operator could not make the functions that its policy asks for",
		.why = "lastSyncError says what failed: the node was not drained, the driver or "
		       "the "
		       "firmware refused, or secure boot locks configuration space",
		.need = "kubectl logs of the sriov-network-config-daemon on that node",
		.need_why = "which step failed",
		.pattern = P("syncStatus: Failed", "Sync Status: Failed",
			     "lastSyncError: *timed out", "lastSyncError: *ailed",
			     "lastSyncError: *lockdown", "lastSyncError: *error",
			     "lastSyncError: *cannot", "lastSyncError: *not supported",
			     "lastSyncError: *not permitted", "lastSyncError: *invalid",
			     "lastSyncError: *no such", "Last Sync Error: *timed out",
			     "Last Sync Error: *ailed", "Last Sync Error: *not supported"),
	},
	{
		.key = "operator-notready",
		.check = "K02",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a part of the network operator is not ready",
		.why = "what it installs (driver, device plugin, CNI) is not on some node: pods "
		       "that "
		       "ask for its resource wait, or run without it",
		.need = "kubectl get pods -o wide in the operator's namespace; kubectl logs of the "
			"one that is not ready",
		.need_why = "which node and why",
		.pattern = P("tate: notReady", "tate:  notReady", "\"state\": \"notReady\"",
			     "\"state\":\"notReady\"", "State:\": \"notReady"),
	},
	{
		.key = "operator-pod",
		.check = "K02",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a pod of the network's operator does not run",
		.why = "what it installs or offers (driver, device plugin, CNI, peer memory) is "
		       "not "
		       "on its node",
		.need = "kubectl describe pod and kubectl logs --previous of it",
		.need_why = "why it ends",
		.pattern =
			P("mofed-*CrashLoopBackOff", "mofed-*Error", "mofed-*ImagePull",
			  "doca-*CrashLoopBackOff", "doca-*Error", "doca-*ImagePull",
			  "rdma-shared-*CrashLoopBackOff", "rdma-shared-*Error",
			  "rdma-shared-*ImagePull", "sriov-*CrashLoopBackOff", "sriov-*ImagePull",
			  "network-operator*CrashLoopBackOff", "network-operator*ImagePull",
			  "nic-configuration-*CrashLoopBackOff", "kube-multus-*CrashLoopBackOff",
			  "nv-ipam-*CrashLoopBackOff", "whereabouts-*CrashLoopBackOff",
			  "nvidia-driver-daemonset-*CrashLoopBackOff",
			  "aws-efa-k8s-device-plugin*CrashLoopBackOff"),
	},
	{
		.key = "sriov-enable",
		.check = "K05",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "virtual functions could not be made",
		.why = "the firmware gave no room for their BARs, the firmware has SR-IOV off or "
		       "fewer functions, or a device is in use",
		.need = "mlxconfig -d DEV q SRIOV_EN NUM_OF_VFS; lspci -vv; the BIOS' SR-IOV and "
			"MMIO settings",
		.need_why = "what is off",
		.pattern = P("not enough MMIO resources for SR-IOV", "pci_enable_sriov failed",
			     "can't enable * VFs", "sriov_numvfs: *write error",
			     "sriov_numvfs: Cannot allocate memory", "Fail to config vfs for",
			     "mlx5_device_enable_sriov*failed", "not enough * bus numbers *VF",
			     "fail to set NumVfs", "failed to set NumVfs",
			     "sriov_numvfs: *not implemented", "sriov_numvfs: *not supported",
			     "NumVfs*not supported by", "does not support SR-IOV"),
	},

	/* ---- Kubernetes ---- */
	{
		.key = "pod-resource",
		.check = "K02",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "no node offers the RDMA devices that a pod asks for",
		.why = "the device plugin has none to offer, all are taken, or the resource's name "
		       "is another",
		.need = "kubectl get nodes -o json | jq '.items[].status.allocatable'; kubectl "
			"logs of the device plugin",
		.need_why = "which resources nodes offer",
		.pattern = P("Insufficient rdma/", "Insufficient vpc.amazonaws.com/efa",
			     "Insufficient *rdma", "Insufficient *sriov", "Insufficient *mlnx",
			     "Insufficient *hostdev", "Insufficient *shared_devices",
			     "unavailable for rdma/", "unavailable for vpc.amazonaws.com/efa",
			     "devices unavailable for *rdma", "devices unavailable for *sriov"),
	},
	{
		.key = "plugin-devices",
		.check = "K02",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the RDMA device plugin finds no device to offer",
		.why = "its selectors match none, a driver is not bound, or the device has no RDMA "
		       "part: "
		       "\"issm\" belongs to InfiniBand with ib_umad loaded, and not to other NICs",
		.need = "ls /dev/infiniband; rdma link; the plugin's configuration",
		.need_why = "which devices it should match",
		.pattern = P("no devices in device pool", "no Rdma Devices were found",
			     "missing RDMA device spec", "error getting driver info for device",
			     "no RDMA devices found for", "No devices found for resource",
			     "incorrect RDMA subsystem network namespace", "exposing \"0\" devices",
			     "exposing devices:  []", "Fail to configure sriov; error"),
	},
	{
		.key = "pod-network",
		.check = "K03",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a pod's RDMA network could not be attached",
		.why = "the definition is missing or misnamed, the CNI plugin is not installed on "
		       "the node, or "
		       "its device cannot be moved into the pod",
		.need = "kubectl get net-attach-def -A; kubectl describe pod POD; ls /opt/cni/bin",
		.need_why = "which of them",
		.pattern =
			P("cannot find a network-attachment-definition",
			  "cannot find get a network-attachment", "failed to find plugin \"",
			  "SRIOV-CNI failed", "sriov*failed to set up pod interface",
			  "RDMA CNI*fail", "failed to move RDMA device", "no RDMA device found for",
			  "VF pci addr is required", "failed to get RDMA subsystem namespace",
			  "Multus*error adding container to network",
			  "error adding container to network"),
	},

	/* the kubelet's prober.go: "Startup probe failed: ", and what the probe printed */
	{
		.key = "driver-probe",
		.check = "N15",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the container that brings a driver is not ready",
		.why = "it has not built or loaded the driver: no package for the kernel, a module "
		       "in use, or it still compiles",
		.need = "kubectl logs of the driver's pod, from its beginning",
		.need_why = "which step it is at, or which failed",
		.pattern = P("probe failed: *driver-ready", "probe failed: *driver-ctr-ready"),
	},
	{
		.key = "pod-probe",
		.check = "N18",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.but = "driver-ready|driver-ctr-ready",
		.title = "a container does not answer the kubelet's probe",
		.why = "it is restarted, or gets no traffic, until it does",
		.need = "kubectl logs --previous of the pod",
		.need_why = "what it waits for, or how it ended",
		.pattern = P("Startup probe failed:", "Liveness probe failed:",
			     "Readiness probe failed:"),
	},

	/* ---- What tools show: found by audit/read/shown_table.c ---- */
	{
		.key = "pod-affinity",
		.check = "K06",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a pod was refused: its devices are not on one NUMA node "
			 "(TopologyAffinityError)",
		.why = "the topology manager's policy is strict, and no node has CPUs, GPUs and "
		       "NICs free on one socket",
		.need = "kubectl describe node; the kubelet's topologyManagerPolicy and Scope",
		.need_why = "what is free",
		.pattern =
			P("TopologyAffinityError", "Resources cannot be allocated with topology"),
	},
	{
		.key = "pod-admission",
		.check = "K02",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a pod was refused by the kubelet (UnexpectedAdmissionError)",
		.why = "the device plugin could not give the devices that were promised",
		.need = "kubectl describe pod; the device plugin's log",
		.need_why = "which device",
	},
};

PART(rs_messages_kubernetes);
