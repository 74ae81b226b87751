/*
 * The rows of message.h. Patterns are words of the programs' own sources, cut to what tells them
 * apart: NCCL v2.3.5-5 to v2.30.7-1 (net_ib, ibvwrap, net, init, bootstrap, socket, topo, gin),
 * RCCL, aws-ofi-nccl, UCX 1.8 to master, perftest, NVSHMEM, Mooncake, NIXL, the RDMA shared device
 * plugin, Linux (mlx5, bnxt_re, irdma, efa, erdma, hns_roce, rxe, PCI AER), NVRM, amdgpu, SONiC.
 */
#include "audit/facts/message.h"

#define CRIT RS_CRITICAL
#define MAJ  RS_MAJOR
#define MIN  RS_MINOR
#define P(...)                    \
	{                         \
		__VA_ARGS__, NULL \
	}

#define GPU_PATH "nccl via_ib_gdr"
#define WHY_GDR                                                                                \
	"NICs cannot reach GPU memory, so each transfer is copied through host memory. "       \
	"Registration needs dma-buf (Linux 5.12, the open GPU module) or nvidia_peermem that " \
	"found ib_register_peer_memory_client, which the RDMA stack's vendor build has"
#define NEED_GDR "lsmod | grep peermem; ls /sys/kernel/mm/memory_peers; dmesg | grep -i peermem"
#define WHY_GID                                                                                    \
	"to leave INIT the kernel resolves the peer's address from the GID's own interface. It "   \
	"fails when the index is empty, of RoCE v1 on one side, link-local, of an interface that " \
	"is not in this network namespace, or when the peer's network is not reached from there"
#define NEED_GID "show_gids, ip route get PEER from LOCAL, on both hosts"
#define WHY_LOCKED                                                                               \
	"RDMA memory is locked. The limit of the process that started the job counts (systemd, " \
	"slurmd, the container's runtime), not that of a login shell"
#define NEED_LOCKED "grep 'locked memory' /proc/PID/limits, of the job's own process"
#define WHY_OPEN                                                                                   \
	"the library sees no device that it can open: /dev/infiniband/uverbs* is not in the "      \
	"container, the driver's user part (rdma-core) is missing or older than the kernel's, or " \
	"the device is in another network namespace"
#define NEED_OPEN "ls -l /dev/infiniband /sys/class/infiniband; ibv_devinfo, inside the container"
#define WHY_REFUSED                                                                          \
	"the address was reached, and what runs there did not take the connection: nothing " \
	"listens "                                                                           \
	"for RDMA on that port, its port is another, or its limits are below what was asked"
#define NEED_REFUSED "the peer's own log; rdma resource show cm_id, on the peer"

const struct rs_message rs_messages[] = {
	/* ---- Good signs ---- */
	{.key = "gdr-enabled", .pattern = P("GPU Direct RDMA Enabled for", "/GDRDMA", "/GDR/")},
	{.key = "network-rdma",
	 .pattern =
		 P("Using network IB", "Using network AWS Libfabric", "Using network Libfabric",
		   "Using network gIB", "Using network FasTrak", "NET/OFI Selected Provider is",
		   "NET/OFI Selected provider is", "NET/IB : Using [", "Using network GPUDirect")},
	{.key = "rdma-meant",
	 .pattern = P("P2P plugin IBext", "NCCL RDMA Plugin", "NET/OFI Initializing aws-ofi-nccl",
		      "NET/OFI Using aws-ofi", "RdmaTransport", "NVSHMEM_IBGDA",
		      "vpc.amazonaws.com/efa")},
	{.key = "connected",
	 .pattern = P("Connected all rings", "Connected all trees", "- Init COMPLETE")},
	{.key = "finished", .pattern = P("Out of bounds values : 0 OK")},
	{.key = "gpu-buffer",
	 .pattern = P("cuMemAlloc() of a", "allocated GPU buffer address", "creating CUDA Ctx",
		      "for GPU buffer address", "hipMalloc() of a", "--use_cuda", "--use_rocm",
		      "VRAM is used", "Picking GPU number", "allocated * bytes of GPU buffer")},
	{.key = "across-nodes",
	 .pattern = P("[send] via NET/", "[receive] via NET/", "[send] via NET/Socket")},

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
			     "GPUDirect RDMA is not supported", "GDR is not supported"),
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
			"nv_peer_mem: Unknown symbol",
			"nvidia_peermem: module verification*required",
			"Failed to start *nv_peer_mem", "Failed to load nvidia_peermem",
			"nvidia-peermem*error*registration", "could not insert 'peermem'",
			"failed to load nvidia-peermem", "peermem*is not loaded",
			"nv_peer_mem*is not loaded", "neither nv_peer_mem, or nvidia_peermem"),
	},
	{
		.key = "gds-rdma",
		.check = "P12",
		.severity = MIN,
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
			     "nvidia_peermem*error code", "nv_peer_mem*error code"),
	},
	{
		.key = "gdr-amd",
		.check = "P12",
		.severity = MIN,
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

	/* ---- Locked memory ---- */
	{
		.key = "memlock",
		.check = "H05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the limit of locked memory is too small",
		.why = WHY_LOCKED,
		.need = NEED_LOCKED,
		.need_why = "the limit that the job has",
		.pattern =
			P("set max locked memory (ulimit -l)", "increase the memlock",
			  "RLIMIT_MEMLOCK*too", "WARNING: *registered memory*limit",
			  "insufficient memory for locked", "max locked memory*is too",
			  "allow registering*part of your physical memory",
			  "exceeds the locked memory limit", "libibverbs: Warning: RLIMIT_MEMLOCK",
			  "memlock limits are set too low", "allocate some locked memory"),
	},

	/* ---- Devices that cannot be opened ---- */
	{
		.key = "no-device",
		.check = "N14",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.meant = true,
		.against = "message network-rdma",
		.title = "NCCL found no RDMA device where RDMA was meant (NET/IB: No device found)",
		.why = WHY_OPEN,
		.need = NEED_OPEN,
		.need_why = "whether the job sees the devices of its host",
		.pattern = P("NET/IB : No device found", "NET/IB: No device found",
			     "NET/gIB : No device found", "NET/gIB: No device found",
			     "NET/IBext* : No device found", "NET/IB_SHARP* No device found"),
	},
	{
		.key = "verbs-library",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.meant = true,
		.against = "message network-rdma",
		.title = "the RDMA user library is missing or too old (libibverbs)",
		.why = "without libibverbs, or its driver for the NIC, a program has no RDMA "
		       "device. "
		       "In a container it comes with the image, not from the host",
		.need = "ldconfig -p | grep -E 'ibverbs|mlx5'; ibv_devices, inside the container",
		.need_why = "which libraries the job sees",
		.pattern = P("Failed to open libibverbs", "libibverbs.so*cannot open shared object",
			     "Could not load libibverbs",

			     "librdmacm.so*cannot open shared object",
			     "libmlx5.so*cannot open shared object", "dlvsym failed on",
			     "Unable to load libibverbs"),
	},
	{
		.key = "verbs-driver",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.against = "message network-rdma",
		.title = "the user library has no driver for an RDMA device that is there",
		.why = "libibverbs loads a driver for each kind of NIC. The image's rdma-core "
		       "lacks it, or is "
		       "of a release that does not fit the kernel's",
		.need = "ls /usr/lib/*/libibverbs /etc/libibverbs.d; ibv_devices, inside the "
			"container",
		.need_why = "which drivers the image has",
		.pattern = P("libibverbs: Warning: couldn't load driver",
			     "no userspace device-specific driver found for",
			     "river * does not support the kernel ABI"),
	},
	{
		.key = "open-device",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an RDMA device is there, and cannot be opened",
		.why = WHY_OPEN,
		.need = NEED_OPEN,
		.need_why = "whether the job may open the devices of its host",
		.pattern =
			P("NET/IB : Unable to open device", "NET/IB: Unable to open device",
			  "ibv_open_device failed", "ibv_open_device(*) failed",
			  "ibv_open_device()*failed", "Couldn't get context for the device",
			  "rdma_context.cpp*Failed to open device", "Disable device mlx5",
			  "RdmaTransport*Disable device", "Failed to open IB device",
			  "failed to open device /dev/infiniband", "/dev/infiniband/uverbs*No such",
			  "/dev/infiniband/uverbs*Permission denied",
			  "/dev/infiniband/rdma_cm*No such", "Unable to open the device",
			  "Failed to open device", "Couldn't open IB device",
			  "Couldn't allocate context"),
	},
	{
		.key = "list-devices",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a program found no RDMA device at all",
		.why = WHY_OPEN,
		.need = NEED_OPEN,
		.need_why = "whether the job sees the devices of its host",
		.pattern =
			P("No IB devices found", "no IB devices found", "No RDMA devices found",
			  "Did not detect devices", "Unable to find the Infiniband/RoCE device",
			  "ibv_get_device_list failed", "ibv_get_device_list()*failed",
			  "Failed to get IB devices list", "RdmaTransport: No available RNIC",
			  "cannot initialize RDMA resources", "Failed to install RDMA transport",
			  "No available RNIC", "Failed to get ib_dev list", "no InfiniBand device",
			  "IB device * not found", "No network devices that support GDAKI",
			  "No GIN-capable devices found", "WARNING: There are no available devices",
			  "NVSHMEM*no NICs found", "no HCAs", "error: no rdma dev"),
	},
	{
		.key = "transport-init",
		.but = "protocol:",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "an RDMA transport or network plugin did not initialise",
		.why = "its devices, its library (libfabric, the plugin's own) or its permissions "
		       "are "
		       "missing here, or its release does not fit. The first message above says "
		       "which",
		.need = "fi_info -p efa, or ibv_devinfo; ldd of the plugin, inside the container",
		.need_why = "what it finds on this host, compared with a host on which it works",
		.pattern = P(
			"aws-ofi-nccl initialization failed", "NET/OFI Initializing plugin failed",
			"Couldn't find any optimal provider", "No eligible providers were found",
			"fi_getinfo() call failed", "fi_getinfo*: -61",
			"EFA libfabric provider not detected", "EFA provider requires at least",
			"NET/OFI Failed to initialize", "NET/OFI OFI NCCL failure",
			"Failed to initialize any NET plugin", "Failed to initialize NET plugin",
			"NCCL WARN Error: network * not found", "init failed for transport",
			"Unable to initialize any transports",
			"Failed to initialize libfabric backend",
			"Failed to initialize all selected devices",
			"is not enumerated as an mlx5 device", "libnccl-net*undefined symbol",
			"libfabric.so*cannot open shared object", "no usable transports/devices",
			"NET/OFI Creating new endpoint*failed", "No transports selected to",
			"NET/OFI Couldn't o", "NET/OFI Couldn't create",
			"to SHARP aggregation manager", "PML ucx cannot be selected",
			"no Open MPI device has indicated", "Unable to create UCP worker",
			"failed to initialize while trying to create an internal",
			"error initializing an OpenFabrics device",
			"No OpenFabrics connection schemes reported"),
	},
	{
		.key = "library-init",
		.check = "N15",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a communication library found none of the transports that it was asked "
			 "for",
		.why = "oneCCL, UCC, hcoll, Mercury and MPI stand on libfabric or UCX: the "
		       "provider that "
		       "was asked for is not built in, not on its path, or finds no device",
		.need = "fi_info -l, or ucx_info -d; FI_PROVIDER, FI_PROVIDER_PATH, UCX_TLS; "
			"inside the "
			"container",
		.need_why = "which transports this library has here",
		.pattern = P("failed to initialize ATL", "fi_getinfo error: ret",
			     "no TLs are selected for", "required TL * is not part of",
			     "lib_init failed for component", "no CLs are selected",
			     "failed to init ucx", "Hcol library init failed",
			     "No provider entry/domain found", "Could not open domain for",
			     "Requested OFI provider * is not available",
			     "find_provider*OFI fi_getinfo() failed", "no cpcs for port",
			     "ailed to automatically detect the HCA", "cxil_alloc_svc:",
			     "cxil_open_device*fail", "unable to open any HCA ports",
			     "No allowed provider was found", "Init RDMA failed!",
			     "no usable RDMA transport", "rdma is not supported by this",
			     "fabric is not available and fallback fabric",
			     "Driver initialization failure on /dev/", "OFI fi_open domain failed",
			     "OFI addrinfo() failed"),
	},
	{
		.key = "no-lane",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "two peers have no transport in common (UCX)",
		.why = "one of them lacks the device or library that the other uses, or UCX_TLS or "
		       "UCX_NET_DEVICES leaves none",
		.need = "ucx_info -d, inside both containers",
		.need_why = "which transports each has",
		.pattern =
			P("no active messages transport to",
			  "no remote registered memory access transport to",
			  "no am bcopy transport to", "no put short",
			  "no copy across memory types transport to", "failed to select lane for",
			  "No zero-copy protocol found for", "Transport '*' does not exist",
			  "transport '*' is not available", "transports '*' are not available",
			  "no supported sockaddr auxiliary transports"),
	},
	{
		.key = "uar",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a device refuses its doorbell page (UAR, DEVX): rights or resources are "
			 "missing",
		.why = "GPU-initiated RDMA asks for DEVX objects. A container needs CAP_NET_RAW or "
		       "CAP_SYS_RAWIO and the uverbs devices for it, or --privileged",
		.need = "capsh --print; ls -l /dev/infiniband, inside the container",
		.need_why = "which rights the job has",
		.pattern = P("cannot allocate mlx5dv_devx_uar", "mlx5dv_devx_alloc_uar*failed",
			     "cannot allocate UAR", "DEVX requested but not supported",
			     "mlx5dv_devx_umem_reg*fail", "mlx5dv_open_device*failed"),
	},

	/* ---- Verbs calls, by their errno ---- */
	{
		.key = "verbs-modify",
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.by_errno = true,
		.title = "a queue pair could not be connected (modify QP): the GID in use, or its "
			 "path, is wrong",
		.why = WHY_GID,
		.need = NEED_GID,
		.need_why = "which GID each side uses, and whether one reaches the other",
		.pattern = P("ibv_modify_qp", "odify QP to", "modify UD QP", "modify SRD QP",
			     "modify TM control QP", "odifying QP to", "odifying DCT to",
			     "odifying DCI to", "mlx5dv_devx_obj_modify", "mlx5dv_devx_qp_modify",
			     "rc_init2rtr failed", "rc_rtr2rts failed", "rdma_resolve_addr",
			     "rdma_resolve_route", "modify QP state", "RDMA_CM_EVENT_ADDR_ERROR",
			     "RDMA_CM_EVENT_UNREACHABLE"),
	},
	{
		.key = "verbs-modify",
		.errno_is = 110,
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a queue pair's peer does not answer address resolution from the GID in "
			 "use (ETIMEDOUT)",
		.why = "the kernel found no MAC of the peer on the GID's interface: the two NICs "
		       "are on "
		       "rails that do not reach each other, the GID's network is not the peer's, "
		       "or "
		       "replies leave by another interface (ARP, routing by source)",
		.need = "ping -I LOCAL_NETDEV PEER; " NEED_GID,
		.need_why = "whether this NIC reaches that one at all",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-modify",
		.errno_is = 101,
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a queue pair's peer is in no network that the GID in use reaches "
			 "(ENETUNREACH)",
		.why = "the GID is link-local, or its interface has no route to the peer's network",
		.need = NEED_GID,
		.need_why = "which GID is routable, and its route",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-modify",
		.errno_is = 19,
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "the GID in use has no network interface in this namespace (ENODEV)",
		.why = "a container sees the RDMA device and not its interface, or the wrong "
		       "device of "
		       "several: the devices in use must be those whose interfaces were moved in",
		.need = "show_gids; ip -br addr, inside the container",
		.need_why = "which devices have an interface here",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-modify",
		.errno_is = 111,
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a peer refused a connection of the RDMA connection manager "
			 "(ECONNREFUSED)",
		.why = WHY_REFUSED,
		.need = NEED_REFUSED,
		.need_why = "whether it listens for RDMA on that address",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-modify",
		.errno_is = 104,
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a peer rejected a connection of the RDMA connection manager "
			 "(ECONNRESET)",
		.why = WHY_REFUSED,
		.need = NEED_REFUSED,
		.need_why = "whether it listens for RDMA on that address",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-ah",
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.by_errno = true,
		.title = "an address handle could not be made: the GID in use, or its path, is "
			 "wrong",
		.why = WHY_GID,
		.need = NEED_GID,
		.need_why = "which GID each side uses",
		.pattern = P("ibv_create_ah", "Unable to create ah", "reate address handle",
			     "create ah failed", "Failed to create AH"),
	},
	{
		.key = "verbs-register",
		.but = "Trying a different",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.by_errno = true,
		.title = "memory could not be registered with an RDMA device",
		.why = "ENOMEM points at the limit of locked memory, EFAULT and EINVAL at memory "
		       "that "
		       "the NIC cannot reach: a GPU's without peer memory, or unmapped",
		.need = NEED_LOCKED "; " NEED_GDR,
		.need_why = "which of both",
		.pattern = P("ibv_reg_mr", "ibv_reg_dmabuf_mr", "ibv_reg_dmabuf",
			     "ailed to register memory", "ould not register memory",
			     "ouldn't register memory", "nable to register memory",
			     "egister user memory", "egistering memory", "Couldn't allocate MR",
			     "ibv_exp_reg_mr", "mlx5dv_reg_dmabuf", "failed to register address",
			     "md reg_mem failed", "emory registration failed", "fi_mr_reg",
			     "register memory region with regattr"),
	},
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
	{
		.key = "verbs-register",
		.errno_is = 12,
		.check = "H05",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "registering memory failed for want of memory to lock (ENOMEM): the limit "
			 "of locked memory (memlock)",
		.why = WHY_LOCKED,
		.need = NEED_LOCKED,
		.need_why = "the limit that the job has",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-register",
		.errno_is = 14,
		.gpu = true,
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a NIC cannot reach the memory that it should register (EFAULT): GPU "
			 "memory without GPUDirect RDMA",
		.why = WHY_GDR,
		.need = NEED_GDR,
		.need_why = "whether GPU memory can be registered",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-register",
		.errno_is = 95,
		.gpu = true,
		.check = "P12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a NIC's driver cannot register this memory (EOPNOTSUPP): no dma-buf",
		.why = WHY_GDR,
		.need = NEED_GDR,
		.need_why = "whether peer memory takes its place",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-create",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.by_errno = true,
		.title = "a queue pair or completion queue could not be created",
		.why = "the device refused its size or kind, or ran out: what was asked is beyond "
		       "what "
		       "ibv_devinfo -v lists, or other jobs hold the rest",
		.need = "ibv_devinfo -v; rdma resource show",
		.need_why = "what the device has, and what is taken",
		.pattern = P("ibv_create_qp", "ibv_create_cq", "ibv_create_srq",
			     "ibv_create_comp_channel", "ibv_alloc_pd", "ibv_exp_create_qp",
			     "mlx5dv_create_qp", "Couldn't create QP", "Couldn't create CQ",
			     "Unable to create QP", "create_cq/qp failed", "Failed to create QP",
			     "Failed to create CQ", "Failed to create completion queue",
			     "rdma_create_qp", "rdma_create_ep", "reate DCT share err",
			     "Couldn't allocate PD"),
	},
	{
		.key = "verbs-create",
		.errno_is = 12,
		.check = "H05",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a queue could not be created for want of memory to lock (ENOMEM): the "
			 "limit of locked memory (memlock)",
		.why = WHY_LOCKED,
		.need = NEED_LOCKED,
		.need_why = "the limit that the job has",
		.pattern = P(NULL),
	},
	{
		.key = "ib-error",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_LOW,
		.by_errno = true,
		.title = "an RDMA library reports a failed call",
		.why = "the message names it; its errno says why",
		.need = "dmesg | tail, at the time of the error",
		.need_why = "what the driver says of it",
		.pattern = P("mscclpp::IbError", "Ib failure", "mscclpp*IB error"),
	},
	{
		.key = "ib-error",
		.errno_is = 12,
		.check = "H05",
		.severity = CRIT,
		.confidence = RS_LOW,
		.title = "an RDMA call failed for want of memory to lock (ENOMEM): the limit of "
			 "locked memory (memlock)",
		.why = WHY_LOCKED,
		.need = NEED_LOCKED,
		.need_why = "the limit that the job has",
		.pattern = P(NULL),
	},
	{
		.key = "post",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_LOW,
		.follows = true,
		.title = "work could not be posted to a queue pair",
		.why = "the queue pair is in error already, or full: an earlier message tells "
		       "which",
		.pattern = P("ibv_post_send() failed", "ibv_post_recv() failed",
			     "ibv_post_send failed", "ibv_post_recv failed", "Couldn't post send",
			     "Couldn't post recv", "Failed to post a send for the qpair",
			     "ibv_poll_cq() returned", "Failed to post receive recv_wqes"),
	},

	/* ---- GIDs ---- */
	{
		.key = "gid",
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the GID index in use is empty, or no usable GID was found",
		.why = "RoCE needs a GID that belongs to an interface with a routable address; "
		       "which "
		       "index that is differs by host and by container",
		.need = "show_gids, inside the container",
		.need_why = "which index is RoCE v2 with a routable address",
		.pattern =
			P("No suitable GID found", "Found Incompatibility issue with GID types",
			  "GID * not available", "has no associated network device",
			  "failed to find a gid which", "Invalid GID index", "invalid gid index",
			  "Failed to query GID", "ibv_query_gid failed", "ibv_query_gid(*failed",
			  "Failed to get GID", "Can't find * GID", "no usable GID", "No valid GID",
			  "with GID -1", "GID index * is not valid", "gid index * is out of range",
			  "cannot find gid index", "Failed to read SGID", "ibv_query_gid_ex*failed",
			  "both GID_INDEX and ROCE_SUBNET_LIST are specified", "GID is all zero",
			  "Invalid gid["),
	},
	{
		.key = "gid-add",
		.check = "R02",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "the kernel could not enter a GID into a device's table",
		.why = "the table is full, or the driver refused the address: the index that a job "
		       "expects may be empty",
		.need = "show_gids; dmesg",
		.need_why = "what the table holds",
		.pattern = P("__ib_cache_gid_add: unable to add gid", "failed add gid",
			     "roce_gid_mgmt*fail", "unable to add gid"),
	},

	{
		.key = "gids-none",
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an RDMA device has no GID that can be used",
		.why = "GIDs come from the addresses of the device's own interface: it is down, "
		       "has "
		       "none, or is in another network namespace than the process",
		.need = "ip addr; rdma link; show_gids, in the same namespace as the program",
		.need_why = "whether the interface is there and has an address",
		.pattern = P("n_gids_found=0", "RoCE v2 GID not found", "RoCE V2 GID not found",
			     "GID table is empty", "No IPv4-mapped GID", "no RoCE v2 GID"),
	},

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
		.pattern =
			P("syncStatus: Failed", "Sync Status: Failed", "lastSyncError: *timed out",
			  "lastSyncError: *ailed", "lastSyncError: *lockdown",
			  "lastSyncError: *error", "lastSyncError: *cannot",
			  "Last Sync Error: *timed out", "Last Sync Error: *ailed"),
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
			     "mlx5_device_enable_sriov*failed", "not enough * bus numbers *VF"),
	},
	{
		.key = "optics-alarm",
		.check = "L03",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a module's own alarm is on: light, temperature or voltage",
		.why = "the module compares with the limits that its maker set; too little light "
		       "is "
		       "dirt, a bend, or a dying laser at the other end",
		.need = "the module's values and thresholds at both ends",
		.need_why = "which end sends too little",
		.pattern =
			P("power low alarm*:  On", "power low alarm*: On", "power high alarm*:  On",
			  "power high alarm*: On", "temperature high alarm*:  On",
			  "temperature high alarm*: On", "voltage low alarm*:  On",
			  "voltage low alarm*: On", "voltage high alarm*: On", "bias*alarm*:  On"),
	},
	{
		.key = "slot-told",
		.check = "P01",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a tool says that a slot gives less than the device can",
		.why = "it compares width and rate in use with the device's own",
		.need = "lspci -vvv as root",
		.need_why = "which bridge gives less",
		.pattern = P("PCI width status is below PCI capabilities",
			     "PCI speed status is below PCI capabilities",
			     "which is below the minimum allowed link width",
			     "running at PCI link width *below"),
	},
	{
		.key = "dcgm-fail",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "NVIDIA's diagnostics fail on this host",
		.why = "a GPU, its slot or its links did not pass DCGM's own test",
		.need = "dcgmi diag -r 3 -v; nvidia-smi -q",
		.need_why = "which part, and its errors",
		.pattern = P("Fail - GPU", "| Fail - All", "Diagnostic *| Fail"),
	},
	{
		.key = "firewall-drops",
		.check = "N17",
		.severity = MIN,
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
		.key = "link-below",
		.check = "L04",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "InfiniBand links run below what both ends can",
		.why = "ibdiagnet compares what is in use with what both ends enable: a cable or "
		       "module that does not carry the rate, or dirt",
		.need = "mlxlink of both ends with -m -c",
		.need_why = "which lanes, and the module",
		.pattern = P("Unexpected actual link speed", "Unexpected actual link width"),
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
			  "fabric manager NVIDIA GPU driver interface version*don't match",
			  "failed to start nv-fabricmanager", "Failed to start *fabric manager",
			  "Failed to start NVIDIA fabric"),
	},
	{
		.key = "pfc-lossy",
		.check = "S02",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a switch gets PFC frames for a queue that is lossy there",
		.why = "the neighbour pauses a priority that this port does not treat as lossless: "
		       "PFC is not set on it, or the two ends disagree on the priority",
		.need = "show pfc priority; show pfc counters, and the neighbour's PFC priorities",
		.need_why = "which end is wrong",
		.pattern = P("pfcFrameCounterCheck: Got PFC*lossy queue"),
	},
	{
		.key = "ping-mtu",
		.check = "R03",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a packet of the size that was asked for does not fit the interface's MTU",
		.why = "ping -M do was refused by the sending host itself: its interface (or the "
		       "route) has the MTU that the line names",
		.need = "ip link show; ip route get PEER",
		.need_why = "which interface it leaves by",
		.pattern = P("local error: message too long, mtu=", "Message too long, mtu=",
			     "Frag needed and DF set"),
	},

	/* ---- Ports ---- */
	{
		.key = "port-state",
		.check = "H09",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an RDMA port that is used is not active",
		.why = "on InfiniBand a port that is up stays in INIT until a subnet manager takes "
		       "it; "
		       "otherwise cable, module or switch port",
		.need = "ibstat, or rdma link",
		.need_why = "the state of each port",
		.pattern = P("Port number * state is Down", "Port number * state is Init",
			     "Port number * state is Arm", "port * is not active",
			     "port is not active", "Port * is not active", "No active port",
			     "no active port found", "PORT_DOWN*not usable", "Unable to query port",
			     "port not in active state", "is not in ACTIVE state",
			     "port * is not ACTIVE", "Port not active", "there are no active port",
			     "reported a network error event"),
	},
	{
		.key = "port-event",
		.check = "H09",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "an RDMA port went down while the job ran",
		.why = "NCCL heard of it from the driver (asynchronous event): a link flap, a "
		       "switch port "
		       "or a reset. Its counters and the kernel's log tell when and how often",
		.need = "dmesg -T | grep -iE 'link|mlx5|bnxt|irdma'; ethtool -S NETDEV | grep -i "
			"link_down",
		.need_why = "when the link was lost",
		.pattern = P("async event : port error", "async error event: port error",
			     "async event*port error", "async event*port err", "IBV_EVENT_PORT_ERR",
			     "async fatal event: port", "port_error event"),
	},
	{
		.key = "fatal-event",
		.check = "P14",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "an RDMA device reported a fatal event",
		.why = "the device is reset, or its queue pair or completion queue broke",
		.need = "dmesg -T, at the time of the event",
		.need_why = "what the driver says of it",
		.pattern = P("async event*catastrophic", "async fatal event",
			     "async event : local catastrophic", "IBV_EVENT_DEVICE_FATAL",
			     "IBV_EVENT_QP_FATAL", "IBV_EVENT_CQ_ERR", "async event : CQ error",
			     "async event : local work queue catastrophic"),
	},

	{
		.key = "queue-event",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "an RDMA device broke off a queue pair (asynchronous event)",
		.why = "a request or an answer named memory that is not registered so: two "
		       "releases, or "
		       "a fault of library or driver. The completion's status tells which end",
		.need = "dmesg -T; the logs of both ends",
		.need_why = "which end's memory it was",
		.pattern = P("async event*violation", "async event*work queue error",
			     "async event*request error", "IBV_EVENT_QP_REQ_ERR",
			     "IBV_EVENT_QP_ACCESS_ERR"),
	},
	{
		.key = "gid-change",
		.check = "R02",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "a device's GID table changed while a job ran",
		.why = "an address was added or taken away: connections that use it break",
		.need = "journalctl -u NetworkManager -u systemd-networkd; show_gids",
		.need_why = "what changed the address",
		.pattern = P("GID table change", "IBV_EVENT_GID_CHANGE"),
	},

	/* ---- Which devices ---- */
	{
		.key = "device-name",
		.check = "N04",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the job names a network device that is not there, or not usable",
		.why = "the list (NCCL_IB_HCA, UCX_NET_DEVICES, MC_..., -d) was written for "
		       "another host, "
		       "or the container was given other devices",
		.need = "ibv_devices; ibdev2netdev, inside the container",
		.need_why = "which names are right here",
		.pattern =
			P("network device '*' is not available",
			  "network devices '*' are not available", "device '*' is not available",
			  "requires NIC * but that NIC is not available",
			  "is not enabled, please set UCX_NET_DEVICES",
			  "failed: device * is not enabled", "IB device '*' wasn't found",
			  "IB device * not found in", "device * wasn't found", "No such IB device",
			  "Could not force merge NICs", "Couldn't find net with name",
			  "TOPO/NET : Only matched", "failed to find port"),
	},
	{
		.key = "device-count",
		.but = "Ignoring due to",
		.check = "N04",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "ranks have different numbers or kinds of network devices",
		.why = "one host lacks a NIC, or its container, plugin or list differs from the "
		       "others'",
		.need = "ibdev2netdev, on each host",
		.need_why = "which host is the odd one",
		.pattern = P("Detected mixed local Net device counts",
			     "Detected mixed local CollNet device",
			     "mismatched physical devices between local",
			     "has a different number of devices="),
	},
	{
		.key = "link-layers",
		.check = "N02",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a rank's InfiniBand device meets another's RoCE device",
		.why = "the lists of devices take a storage or management NIC in: name the rails "
		       "alone",
		.need = "ibdev2netdev; ibstat, on both hosts",
		.need_why = "which devices are rails",
		.pattern =
			P("Trying to connect IB and RoCE", "device is incompatible with the local",
			  "different link_layer", "Attempted to connect incompatible devices",
			  "Attempted to merge incompatible devices"),
	},

	/* ---- The job's own network ---- */
	{
		.key = "bootstrap",
		.check = "N17",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "ranks cannot reach each other by TCP (bootstrap): wrong interface, route "
			 "or firewall",
		.why = "before RDMA is used, ranks exchange addresses over sockets. The interface "
		       "that was "
		       "chosen (loopback, docker0, one of several) is not one that the others "
		       "reach: "
		       "NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and the host's own name in "
		       "/etc/hosts "
		       "decide",
		.need = "ip -br addr; ip route get PEER; getent hosts $(hostname), on each host",
		.need_why = "which interface leads to the others",
		.pattern =
			P("Gloo connectFullMesh failed", "Unable to init the socket connection",
			  "Unable to set up socket connection",
			  "Failed to exchange data between server and client",
			  "Failed to sync between server and client",
			  "bootstrap_loader_*returned error", "bootstrap_pmi_init*error",
			  "gloo/transport/tcp*connect:", "gloo*timed out connecting",
			  "Unable to resolve hostname to a (local) address",
			  "ootstrap : no socket interface found", "NET/Socket : no interface found",
			  "No interface found in the same subnet",
			  "No usable listening interface found", "verify NCCL_OOB_NET_IFNAME",
			  "socketStartConnect: Connect to", "socketPollConnect*failed",
			  "socketPollConnect: Connect to", "Net : Connect to * failed",
			  "connect returned *exceeded error retry",
			  "connect to * returned *exceeded error retry", "Call to connect returned",
			  "Call to connect failed", "client socket has timed out",
			  "client socket has failed to connect", "NET/IB : No IP interface found",
			  "no socket interface found", "wrong magic", "WARN Socket creation failed",
			  "Couldn't connect to *:", "socket.cc*Connect to * failed",
			  "Failed to connect to metadata", "store_based_barrier_key*worker_count=",
			  "Timed out initializing process group in store",
			  "server socket has failed to listen", "EADDRINUSE",
			  "RendezvousConnectionError", "RendezvousTimeoutError", "DistNetworkError",
			  "Broken pipe*TCPStore", "TCPStore*failed",
			  "host not found: ", "Did not find interface matching this subnet"),
	},
	{
		.key = "names",
		.check = "N17",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.but = "IPv6 network addresses",
		.against = "message connected",
		.title = "a host's name cannot be resolved",
		.why = "ranks are given by name (MASTER_ADDR, the rendezvous endpoint, a "
		       "hostfile): "
		       "/etc/hosts or DNS does not know it here, or not yet, as a pod's name "
		       "that was just made",
		.need = "getent hosts NAME, on each host or in each pod",
		.need_why = "which of them do not know it",
		.pattern = P("Name or service not known", "Temporary failure in name resolution",
			     "No address associated with hostname", "nodename nor servname",
			     "Could not resolve hostname"),
	},
	{
		.key = "launcher",
		.check = "N17",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "the launcher could not start its daemons on the job's hosts, or lost "
			 "them",
		.why = "before any rank runs, mpirun or srun starts a daemon on each host and "
		       "speaks to it "
		       "by TCP: ssh, its key and port, the name of the host, the launcher's path "
		       "there, and the interface (oob_tcp_if_include) must be right",
		.need = "ssh HOST 'which orted prted; ip -br addr'; getent hosts HOST",
		.need_why = "whether the host is reached, and has the launcher",
		.pattern =
			P("unable to reliably start one or more daemons",
			  "does not know how to route a message to the specified daemon",
			  "ORTE daemon has unexpectedly failed", "died unexpectedly with status",
			  "lost communication with a remote daemon", "Host key verification failed",
			  "Permission denied (publickey", "ssh: connect to host",
			  "HYDU_sock_connect (", "unable to connect from *Connection refused",
			  "srun: error: Unable to create step", "pmixp_*fail",
			  "Slurmd could not connect IO", "orted: command not found",
			  "bstrap_proxy*fail", "Unable to run bstrap_proxy",
			  "was not built with SLURM's PMI support"),
	},
	{
		.key = "hccl-socket",
		.check = "N17",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a rank of an Ascend job was not reached in time (HCCL, EI0006)",
		.why = "HCCL's ranks meet by TCP first: one of them failed or is late, its port "
		       "is taken, "
		       "or the network of the NPUs' own ports does not carry it",
		.need = "hccn_tool -i N -ping -g address PEER; the first error of each rank's "
			"plog; "
			"HCCL_CONNECT_TIMEOUT",
		.need_why = "which rank failed first",
		.pattern = P("(EI0006)", "EI0006: ", "Getting socket times out",
			     "wait socket establish timeout", "HcclSocket][Listen*fail"),
	},
	{
		.key = "hccl-port",
		.check = "H09",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an NPU's network port is down (HCCL, EJ0002)",
		.why = "the NPU's own RoCE port has no link, or was not set up",
		.need = "hccn_tool -i N -link -g; hccn_tool -i N -ip -g",
		.need_why = "which port is down",
		.pattern = P("network port is down", "EJ0002: "),
	},
	{
		.key = "versions",
		.check = "X05",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "ranks run different NCCL releases",
		.why = "the containers or library paths of the hosts differ",
		.need = "NCCL_DEBUG=VERSION on each host",
		.need_why = "which host is the odd one",
		.pattern = P("Mismatched NCCL version detected",
			     "NCCL version mismatch with remote peer", "NCCL library is too old",
			     "NCCL library is not backwards compatible",
			     "compiled with too old version of NCCL"),
	},
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
		.key = "wrong-data",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a collective gave wrong results",
		.why = "data changed on its way: memory, a PCIe link without ordering that a "
		       "library "
		       "relies on, or a fault of a driver",
		.need = "the same test with NCCL_NET_GDR_LEVEL=0, then with NCCL_P2P_DISABLE=1",
		.need_why = "which path changes data",
		.pattern = P("Out of bounds values : * FAILED"),
	},
	{
		.key = "mismatch",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "ranks call different collectives, or different sizes",
		.why = "the program's ranks have come apart; the network is as it should be",
		.pattern = P("Mismatched collective detected", "collective mismatch error",
			     "message truncated :", "Message truncated : received",
			     "posted incorrect receive info"),
	},
	{
		.key = "no-transport",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "NCCL found no transport between two ranks",
		.why = "each of P2P, shared memory and network is disabled or does not reach",
		.pattern = P("No transport found for rank", "No transport found !",
			     "Could not find any local path from gpu"),
	},

	{
		.key = "shared-memory",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "shared memory (/dev/shm) is too small, or not there",
		.why = "NCCL and others keep buffers of ranks of one host in /dev/shm. A container "
		       "has "
		       "64 MB of it by default",
		.need = "df -h /dev/shm; docker run --shm-size or --ipc=host; an emptyDir of "
			"medium "
			"Memory",
		.need_why = "how large it is inside the container",
		.pattern =
			P("shared memory segment", "failed to create shared memory file",
			  "shared memory file*error", "/dev/shm*No space left",
			  "unable to open shared memory object", "out of shared memory",
			  "Bus error*shared memory", "posix_fallocate failed",
			  "failed to extend /dev/shm", "insufficient shared memory",
			  "unlink shared memory /dev/shm", "per-host segment limit * is too small"),
	},
	{
		.key = "rank-memory",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title =
			"a rank may not reach another's memory on the same host (CMA, /proc, SysV)",
		.why = "ranks of one host read each other by process_vm_readv or by shared "
		       "segments: "
		       "other containers or user namespaces, Yama's ptrace_scope, a missing "
		       "CAP_SYS_PTRACE, or memory of a GPU stop that",
		.need = "cat /proc/sys/kernel/yama/ptrace_scope; ls -l /proc/self/ns, in two "
			"ranks; "
			"UCX_TLS=^cma,posix as a test",
		.need_why = "whether the ranks share a user and PID namespace",
		.pattern = P("process_vm_readv(*returned -1", "process_vm_writev(*returned -1",
			     "process_vm_readv failed", "process_vm_readv: *not permitted",
			     "mm ep failed to connect to remote FIFO", "(file_name=/proc/*failed",
			     "shmget(size*failed", "Reading from remote process' memory failed",
			     "shmat(shmid*failed", "Shared memory error"),
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
			     "imex channel*not", "Failed to open IMEX"),
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
			     "cuMulticastBindMem*fail", "Multicast support requested for team"),
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
		.pattern = P("cudaIpcGetMemHandle failed", "failed to open CUDA IPC handle",
			     "cudaIpcOpenMemHandle*fail", "hipIpcOpenMemHandle*fail",
			     "cuMemImportFromShareableHandle failed",
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
			     "system not yet initialized", "no kernel image is available"),
	},
	{
		.key = "gpu-memory",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
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
		.pattern =
			P("an illegal memory access was encountered", "unspecified launch failure",
			  "uncorrectable ECC error encountered", "CUDA error: device-side assert",
			  "unhandled cuda error", "peer mapping resources exhausted",
			  "invalid device ordinal", "hipErrorIllegalAddress",
			  "Memory access fault by GPU", "all CUDA-capable devices are busy"),
	},
	{
		.key = "libfabric-completion",
		.check = "N12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "an operation over libfabric ended in error",
		.why = "the provider's own words say which: a peer that is gone or not reached (of "
		       "EFA: a security group that does not take all traffic of its own), a "
		       "request that no receive matches, or a resource of the NIC that is used up",
		.need = "FI_LOG_LEVEL=warn of all ranks; dmesg -T on both hosts",
		.need_why = "what the provider met first",
		.pattern =
			P("OFI poll failed", "Error returned from fi_cq_readerr",
			  "MPIDI_OFI_handle_cq_error", "PTLTE_NOT_FOUND",
			  "NET/OFI Request * completed with error", "context completed with error",
			  "cq_write_tx_error: err", "cq_write_rx_error: err", "fi_cq_readerr: err"),
	},
	{
		.key = "mpi-retry",
		.check = "N12",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "Open MPI's peer did not answer: the retry count between two processes "
			 "was exceeded",
		.why = "packets or their answers are lost for good, or (receiver not ready) no "
		       "receive is posted: look at the link of the named hosts and device",
		.need = "ibqueryerrors, or ethtool -S; the counters of both hosts",
		.need_why = "which of both loses",
		.pattern = P("retry count between two MPI processes",
			     "retry count on a per-peer connection",
			     "transport error: Endpoint timeout", "Fatal: transport error",
			     "endpoint timeout", "Endpoint timeout"),
	},

	/* ---- Consequences ---- */
	{
		.key = "job-failed",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_LOW,
		.follows = true,
		.title = "the job says that it failed",
		.why = "this is where an error ended, not where it began: the first message of the "
		       "first "
		       "rank that failed tells more",
		.need = "NCCL_DEBUG=INFO (or UCX_LOG_LEVEL=info) of all ranks, from their start",
		.need_why = "what came first",
		.pattern =
			P("unhandled system error", "ncclSystemError:", "ncclRemoteError:",
			  "ncclInternalError:", "ncclInvalidUsage:", "Test NCCL failure",
			  "Watchdog caught collective operation timeout", "NIXL_ERR_",
			  "nixlBackendError", "connect EPS failed",
			  "nvshmem setup connections failed", "Process failed for slice",
			  "DeepEP*timeout", "Connection closed by remote peer", "Call to recv from",
			  "Connection reset by remote peer", "Destination is unreachable",
			  "Failed to complete run_iter", "Unable to Connect the HCA's",
			  "Context is not active", "aborting due to error in",
			  "communicator encountered a fatal error", "nvshmem*initialization failed",
			  "comm *Init FAILED", "Failed to exchange handshake", "ep_connect failed"),
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
			     "DMAR: DRHD: handling fault status", "smmu*event*translation fault"),
	},
	{
		.key = "numa-balancing",
		.check = "H03",
		.severity = MIN,
		.confidence = RS_HIGH,
		.title = "automatic NUMA balancing is on",
		.why = "RCCL says so itself: pages move while NICs and GPUs use them",
		.need = "cat /proc/sys/kernel/numa_balancing",
		.need_why = "its value",
		.pattern = P("NUMA auto balancing enabled"),
	},
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
		.pattern = P(
			"mlx5_core*health compromised", "mlx5_core*assert_var",
			"mlx5_core*device's health", "mlx5_core*fatal error",
			"mlx5_core*timeout. Will cause a leak", "mlx5_core*handling bad device",
			"mlx5_core*Fatal error", "mlx5_core*pre-initializing",
			"mlx5_core*TX timeout detected", "mlx5_core*crash dump",
			"mlx5_core*pci_disable", "mlx5_core*enter error state",
			"bnxt_*Error (timeout:", "QPLIB: cmdq*timedout",
			"bnxt_*Firmware not responding", "bnxt_*timed out", "bnxt_re*Failed to",
			"irdma*CQP*timed out", "irdma*probe of*failed",
			"irdma*request new completed", "irdma*abnormal ae_id", "erdma*timeout",
			"hns_roce*timeout", "ionic*timed out", "infiniband *: Couldn't open port"),
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
	{
		.key = "slot-power",
		.check = "P14",
		.severity = MAJ,
		.confidence = RS_LOW,
		.title = "a NIC says that its PCIe slot gives too little power",
		.why = "it may throttle, or leave a port down. Some boards say so of a slot that "
		       "suffices: "
		       "compare the port's rate with its like",
		.need = "lspci -vvv -s BDF | grep SlotPowerLimit; mlxlink",
		.need_why = "what the slot offers",
		.pattern = P("insufficient power on the PCIe slot",
			     "powered down due to insufficient/unadvertised",
			     "PCIE slot power budget exceeded", "PCIe slot power budget exceeded"),
	},
	{
		.key = "module",
		.check = "L03",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a NIC's cable or module is faulty, too hot or not taken",
		.why = "the driver's event names the reason",
		.need = "ethtool -m NETDEV; mlxlink -d DEV -m",
		.need_why = "the module's temperature, light and kind",
		.pattern = P("Port module event[error]", "Port module event: module *, Cable error",
			     "module *High temp", "Cable error*igh temp", "Bus stuck*shorted",
			     "Bad or shorted cable", "Power budget exceeded", "Unsupported SFP",
			     "Transceiver*high temperature", "unsupported SFP+ or QSFP",
			     "unqualified transceiver", "High temperature on sensors"),
	},
	{
		.key = "unplugged",
		.check = "C07",
		.severity = MAJ,
		.confidence = RS_LOW,
		.title = "a NIC reports that its cable is unplugged",
		.why = "an unused port says so too: it matters where the job uses it",
		.need = "ibdev2netdev; ip -br link",
		.need_why = "whether the port is one of the rails",
		.pattern = P("Link down*Cable unplugged"),
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

	/* ---- Switches ---- */
	{
		.key = "switch-fec",
		.check = "L01",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a switch refused a FEC mode for a port, or the ends do not agree on one",
		.why = "lanes of 50 Gb/s and more need RS(544,514); a port's speed, its module and "
		       "the switch's chip decide which modes are offered",
		.need = "show interfaces status, show interfaces fec status, on both ends",
		.need_why = "which mode each end has",
		.pattern = P("doPortTask: Unsupported port * FEC mode", "RS FEC unsupported",
			     "doPortTask: Failed to set port * FEC mode",
			     "FEC mode * is not supported", "Unsupported FEC mode"),
	},
	{
		.key = "switch-port",
		.check = "C07",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "a switch says that a port went down",
		.why = "a host that was restarted does so by right: the log around it, and how "
		       "often "
		       "it comes, tell",
		.need = "show interfaces status; the same log over a day",
		.need_why = "whether the port came back, and how often it is lost",
		.pattern = P("link status event: DOWN", "oper state set from up to down",
			     "Set operation status DOWN to host interface",
			     "%LINEPROTO-5-UPDOWN*state to down", "LINEPROTO-5-UPDOWN*to down",
			     "ETHPORT-5-IF_DOWN", "%LINK-3-UPDOWN*to down",
			     "UPDOWN: Interface*down", "ETHPORT-3-IF_", "SNMP_TRAP_LINK_DOWN"),
	},
	{
		.key = "switch-qos",
		.check = "S15",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a switch could not put a QoS or buffer setting in force",
		.why = "orchagent's own words: what is configured is not what the chip does",
		.need = "show interfaces status; the log around the line",
		.need_why = "which setting of which port",
		.pattern = P("Failed to set PFC", "Failed to set port pfc", "processQueue: Failed",
			     "processPriorityGroup: Failed", "processBufferProfile*ailed",
			     "handleSchedulerTable*ailed", "Failed to apply buffer profile",
			     "handlePortQosMapTable*ailed", "Failed to create dscp_to_tc",
			     "handleDscpToTcTable*ailed"),
	},
	{
		.key = "pfc-storm",
		.check = "S08",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a switch's watchdog saw a PFC storm",
		.why = "something behind that port pauses without end: a host that hangs, or a "
		       "loop of pauses. "
		       "Until it ends the watchdog drops what the queue holds",
		.need = "show pfcwd stats, or show priority-flow-control watchdog",
		.need_why = "which queues, and how often",
		.pattern = P("PFC Watchdog detected PFC storm", "PFC storm detected",
			     "PFC Watchdog*storm*detected", "PFC_WATCHDOG*storm", "PFCWD*stuck",
			     "PFC watchdog*stuck", "PFC*_STORM", "pfc-watchdog*detected",
			     "PFC deadlock detected", "PFCWD_QUEUE_SHUTDOWN",
			     "PFC watchdog*in shutdown state"),
	},
	{0},
};
