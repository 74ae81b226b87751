/* GPUs: GPUDirect RDMA by every library's words, GPUs among themselves, their driver and memory. */
#include "audit/facts/message_rows.h"

#define GPU_PATH "nccl via_ib_gdr"

static const struct rs_message rows[] = {
	/* ---- GPUDirect RDMA ---- */
	{
		.key = "gdr-disabled",
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.against = GPU_PATH,
		.but = "NET/Socket",
		.title = "the library says that GPUDirect RDMA is disabled",
		.why = WHY_GDR,
		.need = NEED_GDR,
		.need_why = "whether GPU memory can be registered",
		.pattern = P("GPU Direct RDMA Disabled for HCA",
			     "GDRDMA not enabled. Could not find memory_peers",
			     "Couldn't enable GPUDirect RDMA", "for HMEM, disabling GDR",
			     "Unable to use GIN: Peermem is not supported",
			     "GDAKI not supported, please load Nvidia peermem",
			     "GPUDirect RDMA is not supported", "GDR is not supported",
			     "cannot allocate buffer on the specified memory type"),
	},
	{
		/* a person's words, which tell what was looked at */
		.key = "gdr-told",
		.but = "echo|if |whether|make sure|could be| may ",
		.check = "P12",
		.severity = MIN,
		.confidence = RS_LOW,
		.against = GPU_PATH,
		.title = "a line says that GPUDirect RDMA is not on",
		.why = WHY_GDR,
		.need = NEED_GDR,
		.need_why = "whether GPU memory can be registered",
		.pattern = P("haven't enabled GPU Direct", "haven't enabled GPUDirect",
			     "GPU Direct RDMA is not enabled", "GPUDirect RDMA is not enabled",
			     "GDR is not enabled", "GPUDirect RDMA is disabled",
			     "GPU Direct RDMA is disabled", "GDRDMA is disabled", "without GDRDMA",
			     "GDR is disabled"),
	},
	{
		.key = "gdr-md",
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.tried = true,
		.against = GPU_PATH,
		.title = "UCX says that a NIC cannot register GPU memory",
		.why = WHY_GDR,
		.need = NEED_GDR,
		.need_why = "whether GPU memory can be registered",
		.pattern = P("md *cannot register cuda memory", "md *cannot register rocm memory"),
	},
	{
		.key = "gdr-far",
		.check = "N08",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.against = "message gdr-enabled",
		.title = "NCCL does not use GPUDirect RDMA: each NIC is too far from its GPU",
		.why = "the distance is beyond NCCL_NET_GDR_LEVEL, or peer memory is missing",
		.need = "nvidia-smi topo -m; lsmod | grep peer",
		.need_why = "whether a nearer NIC is there",
		.pattern = P("GPU Direct RDMA Disabled for GPU"),
	},
	{
		.key = "peermem-load",
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.against = GPU_PATH,
		.title = "the peer memory module cannot be loaded, or finds no interface to "
			 "register with",
		.why = "nvidia_peermem needs ib_register_peer_memory_client. An inbox ib_core has "
		       "none; after an RDMA stack was installed the GPU driver must be built again",
		.need = "grep peer_memory_client /proc/kallsyms; modinfo nvidia_peermem",
		.need_why = "whether ib_core has the interface",
		.pattern = P(
			"nvidia_peermem: Unknown symbol", "nvidia_peermem: disagrees about version",
			"nvidia-peermem: disagrees", "could not insert 'nvidia_peermem'",
			"could not insert 'nvidia-peermem'", "could not insert module *peermem",
			"could not insert 'nv_peer_mem'", "Module nvidia_peermem not found",
			"Module nvidia-peermem not found", "Module nv_peer_mem not found",
			"Unknown symbol ib_register_peer_memory_client",
			"no symbol version for ib_register_peer_memory_client",
			"version of symbol ib_register_peer_memory_client",
			"nv_peer_mem: Unknown symbol", "Failed to start *nv_peer_mem",
			"Failed to load nvidia_peermem", "nvidia-peermem*error*registration",
			"could not insert 'peermem'", "failed to load nvidia-peermem",
			"peermem*is not loaded", "nv_peer_mem*is not loaded",
			"neither nv_peer_mem, or nvidia_peermem"),
	},
	{
		.key = "gds-rdma",
		.check = "P12",
		.severity = MIN,
		.setting = true,
		.confidence = RS_LOW,
		.against = GPU_PATH,
		.title = "GPUDirect Storage finds no peer memory for RDMA (gdscheck)",
		.why = "storage over RDMA (NFS, WekaFS, Lustre and others) is copied through host "
		       "memory. Of local NVMe this says nothing",
		.need = NEED_GDR,
		.need_why = "whether GPU memory can be registered",
		.pattern = P("PeerDirect : Disabled", "Disabling UserSpace RDMA access"),
	},
	{
		.key = "peermem-pages",
		.but = "detected invalid context, skipping", /* harmless, says its maker */
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "the kernel refused to pin GPU memory for a NIC",
		.why = "the GPU driver's peer memory returned an error: out of BAR1, an "
		       "unsupported "
		       "GPU, or a module that does not fit the driver",
		.need = "nvidia-smi -q -d MEMORY; dmesg",
		.need_why = "how much of BAR1 is free",
		.pattern = P("nvidia_p2p_get_pages*error", "nvidia-peermem*nv_get_p2p*error",
			     "nv_mem_get_pages*error", "nvidia_p2p_dma_map_pages*fail",
			     "nvidia_peermem*error code", "nv_peer_mem*error code",
			     "Error ret*invoking nvidia_p2p_", "nvfs_pin_gpu_pages*rror ret"),
	},
	{
		.key = "gdr-amd",
		.check = "P12",
		.severity = MIN,
		.setting = true,
		.confidence = RS_LOW,
		.against = GPU_PATH,
		.title = "the AMD GPU driver found no peer memory interface, or no dma-buf",
		.why = "one of the two must be there for NICs to reach GPU memory",
		.need = "grep peer_memory_client /proc/kallsyms; grep -E 'DMABUF_MOVE|P2PDMA' "
			"/boot/config-*",
		.need_why = "whether the other is there",
		.pattern =
			P("PeerDirect interface was not detected",
			  "DMA_BUF_SUPPORT Failed due to OS kernel support",
			  "CONFIG_PCI_P2PDMA should be set", "ROCm does not support dmabuf feature",
			  "ROCm dmabuf support requested but not found",
			  "dmabuf support requested but not found"),
	},
	{
		.key = "ibgda-driver",
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "GPU-initiated RDMA (IBGDA, GDAKI) is not permitted by the GPU driver",
		.why = "a GPU rings the NIC's doorbell itself. The driver allows it with "
		       "NVreg_EnableStreamMemOPs=1 and PeerMappingOverride=1 "
		       "(NVreg_RegistryDwords)",
		.need = "grep -E 'RegistryDwords|StreamMem' /proc/driver/nvidia/params",
		.need_why = "whether the driver was loaded with both",
		.pattern = P("GDAKI not supported, please add", "cuMemHostRegister*IoMemory*failed",
			     "cudaHostRegister*IoMemory*fail", "PeerMappingOverride*not"),
	},

	/* ---- Devices that cannot be opened ---- */
	{
		.key = "gdrcopy",
		.check = "P12",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "GDRCopy does not work here: its driver (gdrdrv) is missing or of another "
			 "release",
		.why = "UCX, NVSHMEM and MPI copy small messages to the GPU through it. The "
		       "container has the library, the host the driver and /dev/gdrdrv",
		.need = "lsmod | grep gdrdrv; ls -l /dev/gdrdrv, inside the container; rpm -q or "
			"dpkg -l gdrcopy",
		.need_why = "whether both are there, and of one release",
		.pattern = P("unable to open GDR driver", "gdr_pin_buffer failed",
			     "could not load module *gdrdrv", "gdr_open() failed",
			     "gdr_open failed", "GDRCopy*failed to open", "as GDRCopy is disable"),
	},

	/* ---- Verbs calls, by their errno ---- */
	{
		.key = "gpu-register",
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.given = "message gpu-buffer",
		.against = "message verbs-register/12",
		.title = "a GPU's buffer could not be registered with an RDMA device",
		.why = WHY_GDR,
		.need = NEED_GDR,
		.need_why = "whether GPU memory can be registered",
		.pattern =
			P("Couldn't allocate MR", "failed to create mr",
			  "DMA-BUF is not supported on", "ibv_reg_dmabuf_mr*fail",
			  "cuMemGetHandleForAddressRange error", "GetHandleForAddressRange*failed"),
	},

	/* ---- What the network's operators say ---- */
	{
		.key = "dcgm-fail",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a vendor's diagnostics of GPUs fail on this host",
		.why = "a GPU, its slot or its links did not pass the test (DCGM, RVS)",
		.need = "dcgmi diag -r 3 -v; nvidia-smi -q",
		.need_why = "which part, and its errors",
		.pattern =
			P("Fail - GPU", "| Fail - All", "Diagnostic *| Fail", "[RESULT] * FALSE"),
	},
	{
		.key = "fabricmanager",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "NVIDIA's fabric manager does not run: NVSwitch links GPUs only with it",
		.why = "its release must be the driver's, and each NVSwitch must answer",
		.need = "journalctl -u nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric",
		.need_why = "why it ended",
		.pattern =
			P("Failed to start *fabricmanager", "nvidia-fabricmanager.service: Failed",
			  "failed to start nv-fabricmanager", "Failed to start *fabric manager",
			  "Failed to start NVIDIA fabric"),
	},

	{
		.key = "cuda-not-ready",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "CUDA does not start: the system's own daemons are not ready (error 802)",
		.why = "on machines with NVSwitch the fabric manager does not run, or is another "
		       "release than the driver; on others MIG or the driver's start is not done",
		.need = "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric",
		.need_why = "which daemon is missing",
		.pattern = P("system not yet initialized", "cudaErrorSystemNotReady",
			     "CUDA_ERROR_SYSTEM_NOT_READY"),
	},

	/* ---- The job's own network ---- */
	{
		.key = "same-gpu",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "two ranks were given one GPU",
		.why = "the launcher starts more ranks a host than it has GPUs, or each rank sets "
		       "device 0",
		.pattern = P("Duplicate GPU detected", "Multiple Ranks are using the same GPU",
			     "ranks detected using the same GPU"),
	},
	{
		.key = "imex",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "NVLink between hosts (MNNVL) is there and does not work: IMEX",
		.why = "GPUs of several hosts share memory over NVLink by IMEX: its daemon must "
		       "run on "
		       "each, and each process needs a channel",
		.need = "nvidia-imex-ctl -N; ls /dev/nvidia-caps-imex-channels",
		.need_why = "which host is not ready, and whether the channel is there",
		.pattern = P("is available but not working on this system", "IMEX*not ready",
			     "imex channel*not", "Failed to open IMEX",
			     "CUDA_ERROR_NOT_PERMITTED*cuMemCreate",
			     "cuMemCreate*operation not permitted",
			     "cuMemExportToShareableHandle*operation not permitted",
			     "cuMemImportFromShareableHandle*operation not permitted"),
	},
	{
		.key = "nvls",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "NVLink SHARP (NVLS, multicast memory) failed on a host",
		.why = "NVSwitches join the GPUs' memory by fabric manager's leave: it does not "
		       "run, "
		       "is of another release than the driver, or a GPU is not in its fabric. "
		       "NCCL_NVLS_ENABLE=0 does without, more slowly",
		.need = "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A3 Fabric",
		.need_why = "whether each GPU's fabric state is Completed and its status Success",
		.pattern = P("Failed to bind NVLink SHARP", "nvls.cc:* NCCL WARN Cuda failure",
			     "cuMulticastCreate*fail", "cuMulticastAddDevice*fail",
			     "cuMulticastBindMem*fail", "Multicast support requested for team",
			     "NVLS connection cannot"),
	},
	{
		.key = "gpu-share",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "ranks of one host cannot reach each other's GPU memory (CUDA IPC)",
		.why = "each rank opens its neighbour's memory by a handle: containers without "
		       "--ipc=host "
		       "and a common PID namespace, two drivers, or devices hidden from each "
		       "other stop "
		       "that. NCCL_CUMEM_ENABLE=0 or NCCL_P2P_DISABLE=1 tells whether it is all",
		.need = "nvidia-smi topo -p2p r; docker inspect (IpcMode, PidMode)",
		.need_why = "whether the GPUs may reach each other at all",
		.pattern =
			P("cudaIpcGetMemHandle failed", "failed to open CUDA IPC handle",
			  "cudaIpcOpenMemHandle*fail", "hipIpcOpenMemHandle*fail",
			  "failed to open ipc mem handle", "cuMemImportFromShareableHandle failed",
			  "cuMemImportFromShareableHandle() failed",
			  "p2p.cc:* NCCL WARN Cuda failure", "p2p.cc:* NCCL WARN failed to peer",
			  "failed to peer with device"),
	},
	{
		.key = "topology",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "NCCL could not make sense of the host's GPUs and PCI tree",
		.why = "a guest or container shows other PCI addresses or NUMA nodes than the "
		       "GPUs' own, or /sys is not the host's: NCCL_TOPO_FILE of the cloud or the "
		       "board takes its place",
		.need = "nvidia-smi topo -m; ls /sys/class/pci_bus; NCCL_TOPO_DUMP_FILE=t.xml",
		.need_why = "what NCCL sees of the host",
		.pattern = P("Failed to find reverse path", "Error : ring * does not",
			     "could not find CPU close to GPU", "No path computed to go from",
			     "Could not find rev link for", "tried to create too many nodes",
			     "Could not find intermediate GPU"),
	},
	{
		.key = "topo-file",
		.but = "NCCL INFO", /* a file of a cloud's own that need not be there */
		.check = "N09",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "NCCL cannot use the topology or graph file that it was given",
		.why = "NCCL_TOPO_FILE or NCCL_GRAPH_FILE names a file that is not in the "
		       "container, is "
		       "of another machine, or of another release's form",
		.need = "ls -l $NCCL_TOPO_FILE, inside the container",
		.need_why = "whether it is there",
		.pattern = P("Could not open XML topology file", "Could not open XML graph file",
			     "XML Topology has wrong version", "XML Graph has wrong version",
			     "XML Import Channel : dev * not found", "XML Parse error"),
	},
	{
		.key = "fabricmanager-release",
		.check = "X05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "NVIDIA's fabric manager is of another release than the driver",
		.why = "both must be of one release to the last figure: it ends, and NVSwitch "
		       "links "
		       "no GPUs",
		.need = "nvidia-smi; nv-fabricmanager --version",
		.need_why = "which is to follow the other",
		.pattern = P("fabric manager NVIDIA GPU driver interface version*don't match",
			     "fabric manager*version*mismatch*driver",
			     "fabricmanager*does not match*driver"),
	},
	{
		.key = "gpu-driver",
		.check = "X05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the GPU driver is too old for the CUDA release of the job, or another "
			 "than its "
			 "library",
		.why = "the container brings CUDA, the host brings the driver. After an update of "
		       "the "
		       "driver the host's kernel part may still be the old one",
		.need = "nvidia-smi; cat /proc/driver/nvidia/version; nvcc --version",
		.need_why = "which releases meet here",
		.pattern = P("CUDA driver version is insufficient",
			     "CUDA Driver version found is * Minimum",
			     "Driver/library version mismatch",
			     "forward compatibility was attempted on non supported",
			     "driver on your system is too old",
			     "the provided PTX was compiled with an unsupported",
			     "no kernel image is available"),
	},
	{
		.key = "gpu-memory",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.but = "OutOfMemoryErrors", /* a counter of a protocol */
		.title = "a GPU has too little free memory",
		.why = "other processes hold it, or the job's size does not fit; the network is as "
		       "it "
		       "should be",
		.need = "nvidia-smi, on the host of the rank that says so",
		.need_why = "which processes hold the GPU memory",
		.pattern = P("CUDA out of memory", "Cuda failure 2 'out of memory'",
			     "Cuda failure 'out of memory'", "HIP out of memory",
			     "OutOfMemoryError", "CUDA_ERROR_OUT_OF_MEMORY"),
	},
	{
		.key = "gpu-fault",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a GPU's work failed (CUDA or HIP), not the network",
		.why = "a kernel read or wrote where it must not, or the GPU failed: the kernel's "
		       "log "
		       "(Xid) tells them apart",
		.need = "dmesg -T | grep -i xid; CUDA_LAUNCH_BLOCKING=1",
		.need_why = "whether the GPU or the program is at fault",
		.pattern = P("an illegal memory access was encountered",
			     "unspecified launch failure", "uncorrectable ECC error encountered",
			     "CUDA error: device-side assert", "unhandled cuda error",
			     "peer mapping resources exhausted", "invalid device ordinal",
			     "hipErrorIllegalAddress", "(Cuda failure: ", "(Cu failure: ",
			     "Memory access fault by GPU", "all CUDA-capable devices are busy"),
	},

	/* ---- IOMMU, NUMA ---- */
	{
		.key = "nvlink-p2p",
		.check = "N11",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "GPUs that NVLink joins cannot reach each other",
		.why = "NCCL takes it for a hardware fault",
		.need = "nvidia-smi nvlink -s; dmesg | grep -i xid",
		.need_why = "which link is down",
		.pattern = P("P2P is disabled between NVLINK connected GPUs"),
	},

	{
		.key = "no-p2p",
		.check = "N11",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "this kind of GPU has no P2P, and the launcher refuses to start with it",
		.why = "the maker left it out of boards for desktops: ranks of one host exchange "
		       "through host memory",
		.pattern = P("support faster communication broadband via P2P"),
	},
	/* ---- What tools show: found by audit/read/shown_table.c ---- */
	{
		.key = "gpu-ecc",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a GPU counts memory errors beyond correction",
		.why = "a job that meets them ends; a reset or an exchange is due",
		.need = "nvidia-smi -q -d ECC,ROW_REMAPPER",
		.need_why = "how many, since when",
	},
	{
		.key = "gpu-remap",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a GPU waits for rows of its memory to be remapped",
		.why = "it needs a reset; if remapping failed, an exchange",
		.need = "nvidia-smi -q -d ROW_REMAPPER",
		.need_why = "its state",
	},
	{
		.key = "gpu-slow",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a GPU is slowed down by hardware: heat or power",
		.why = "it is the straggler of each collective",
		.need = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",
		.need_why = "the reason",
	},
	{
		.key = "gpu-replays",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a GPU's PCIe link sent much again",
		.why = "slot, riser or retimer",
		.need = "lspci -vvv; dmesg | grep AER",
		.need_why = "which link",
	},
	{
		.key = "gpu-fabric",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a GPU has not joined the NVLink fabric",
		.why = "the fabric manager is not running, or its release is not the driver's: "
		       "CUDA does not start",
		.need = "systemctl status nvidia-fabricmanager",
		.need_why = "its state",
		.pattern = P("Status*: Insufficient Resources"),
	},
	{
		.key = "nvlink-inactive",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.against = "host geforce", /* has NVLink by a bridge alone */
		.title = "an NVLink of a GPU is inactive",
		.why = "fewer links carry less; on boards with NVSwitch none is spare",
		.need = "nvidia-smi nvlink -s of all GPUs; dmesg | grep -i nvlink",
		.need_why = "whether its like have it",
	},
	{
		.key = "nvlink-errors",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "an NVLink counts errors",
		.why = "a link that sends again is slow, and may be lost",
		.need = "nvidia-smi nvlink -e, a minute later",
		.need_why = "whether it rises",
	},
	{
		.key = "gpu-gone",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the GPU driver or a GPU does not answer (nvidia-smi)",
		.why = "the module is not loaded, or a GPU fell off the bus",
		.need = "dmesg | grep -iE 'nvrm|nvidia'",
		.need_why = "which",
	},
};

PART(rs_messages_gpu);
