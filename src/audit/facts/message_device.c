/*
 * RDMA devices: locked memory, user libraries, drivers, plugins (aws-ofi-nccl and others) and
 * providers that open them, and the names that a job gives.
 */
#include "audit/facts/message_rows.h"

#define WHY_OPEN                                                                                   \
	"the library sees no device that it can open: /dev/infiniband/uverbs* is not in the "      \
	"container, the driver's user part (rdma-core) is missing or older than the kernel's, or " \
	"the device is in another network namespace"
#define NEED_OPEN "ls -l /dev/infiniband /sys/class/infiniband; ibv_devinfo, inside the container"

static const struct rs_message rows[] = {
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
			  "exceeds the locked memory limit",
			  "VFIO_MAP_DMA failed: Cannot allocate memory",
			  "libibverbs: Warning: RLIMIT_MEMLOCK", "memlock limits are set too low",
			  "no mlock permission", "allocate some locked memory"),
	},

	/* ---- Devices that cannot be opened ---- */
	{
		.key = "openib-device",
		.check = "N15",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "Open MPI's openib layer did not initialise a device",
		.why = "of Open MPI 4 that layer is there for old programs alone: UCX or libfabric "
		       "carries the messages where Open MPI has it, and this warning means nothing",
		.need = "ompi_info | grep -E 'pml|mtl|ucx'; mpirun --mca pml_base_verbose 10",
		.need_why = "which layer carries the messages",
		.pattern = P("error initializing an OpenFabrics device"),
	},
	{
		.key = "ucx-tcp-only",
		.check = "N15",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.but = "(ib)",
		.title = "UCX was given an RDMA device and sees TCP's interfaces alone",
		.why = WHY_OPEN,
		.need = NEED_OPEN,
		.need_why = "whether the device, and UCX' library of RDMA (libuct_ib), are there",
		.pattern = P(
			"network device 'mlx*is not available, please use one or more of: *(tcp)"),
	},
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
		.key = "module-absent",
		.check = "N15",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "the kernel that runs has no module of this RDMA driver",
		.why = "it was built for another kernel, or its package is missing: without it "
		       "there is no RDMA device",
		.need = "uname -r; dkms status; find /lib/modules/$(uname -r) -name '*ib*'",
		.need_why = "which kernel has it",
		.pattern = P("Module mlx5_*not found in directory",
			     "Module mlx4_*not found in directory",
			     "Module bnxt_re not found in directory",
			     "Module irdma not found in directory",
			     "Module efa not found in directory",
			     "Module erdma not found in directory",
			     "Module ionic_rdma not found in directory",
			     "Module ib_core not found in directory",
			     "Module ib_uverbs not found in directory",
			     "Module rdma_*not found in directory",
			     "Module ib_ipoib not found in directory",
			     "Module nvme-rdma not found in directory"),
	},
	{
		.key = "device-gone",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an RDMA device is listed and cannot be read",
		.why = "its driver lost it, or it left for another namespace while it was read",
		.need = "dmesg | tail; lspci | grep -iE 'mellanox|infiniband'; rdma dev",
		.need_why = "whether the NIC is still on the bus",
		.pattern = P("stat of IB device '*failed", "can't open device '*: No such device"),
	},
	{
		.key = "no-device-tree",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.given = "env NCCL_IB_HCA",
		.title = "no RDMA device is here, and the job's variables name one",
		.why = "without /sys/class/infiniband the driver's RDMA half is not loaded, or the "
		       "host has no such NIC; without /dev/infiniband a container did not get it",
		.need = "ls /sys/class/infiniband /dev/infiniband; kubectl describe pod, or docker "
			"inspect",
		.need_why = "whether the host has it, and the container was given it",
	},
	{
		.key = "no-device-tree",
		.check = "N15",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.against = "env NCCL_IB_HCA",
		.title = "this host or container shows no RDMA device at all",
		.why = "without /sys/class/infiniband the driver's RDMA half is not loaded, or the "
		       "host has no such NIC; without /dev/infiniband a container did not get it",
		.need = "lspci | grep -iE 'mellanox|infiniband|ethernet'; lsmod | grep -E "
			"'ib_core|mlx5_ib'",
		.need_why = "whether a NIC is there whose driver is not",
		.pattern = P("cannot access '/sys/class/infiniband'",
			     "cannot access '/dev/infiniband'"),
	},
	{
		.key = "verbs-library",
		.but = "NCCL INFO dlvsym", /* of a call that NCCL can do without */
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
		.pattern = P("no userspace device-specific driver found for",
			     "river * does not support the kernel ABI"),
	},
	{
		.key = "verbs-absent",
		.check = "N15",
		.severity = MIN,
		.setting = true,
		.confidence = RS_LOW,
		.against = "message network-rdma",
		.title = "libibverbs names drivers that are not installed here",
		.why = "it lists a driver for each kind of NIC (/etc/libibverbs.d). It matters "
		       "where the line's driver is that of a NIC of this host",
		.need = "ibv_devices; ls /sys/class/infiniband",
		.need_why = "whether each device is listed",
		.pattern = P("libibverbs: Warning: couldn't load driver"),
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
		.pattern = P(
			"NET/IB : Unable to open device", "NET/IB: Unable to open device",
			"ibv_open_device failed", "ibv_open_device(*) failed",
			"ibv_open_device()*failed", "Couldn't get context for the device",
			"rdma_context.cpp*Failed to open device", "Disable device mlx5",
			"RdmaTransport*Disable device", "Failed to open IB device",
			"failed to open device /dev/infiniband", "/dev/infiniband/uverbs*No such",
			"/dev/infiniband/uverbs*Permission denied",
			"/dev/infiniband/rdma_cm*No such", "Unable to open the device",
			"Failed to open device", "Couldn't open IB device", "VERBS RDMA open error",
			"VERBS RDMA disabled because", "Couldn't allocate context"),
	},
	{
		.key = "ofi-tcp",
		.check = "N14",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.meant = true,
		.title = "libfabric's provider for NCCL is one of TCP, not of RDMA",
		.why = "aws-ofi-nccl takes what libfabric offers: without EFA's (or another NIC's) "
		       "provider that is TCP, at a tenth of the rate",
		.need = "fi_info -p efa; ls /dev/infiniband, inside the container",
		.need_why = "whether libfabric has the provider, and the job the device",
		.pattern = P("NET/OFI Selected provider is tcp",
			     "NET/OFI Selected provider is sockets",
			     "NET/OFI Selected provider is udp"),
	},
	{
		/* librdmacm has no device file, no provider's library, or no right to either */
		.key = "event-channel",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the RDMA connection manager could not be opened "
			 "(rdma_create_event_channel)",
		.why = "it needs /dev/infiniband/rdma_cm (module rdma_ucm), a device with its "
		       "provider's library, and the right to open them",
		.need = "ls -l /dev/infiniband; ibv_devices; lsmod | grep rdma_ucm",
		.need_why = "which of the three is missing",
		.pattern =
			P("rdma_create_event_channel fail", "rdma_create_event_channel error",
			  "rdma_create_event_channel: ", "rdma_create_event_channel() fail",
			  "ailed to create RDMA event channel",
			  "ailed to create rdmacm event channel", "ailed to create event channel"),
	},
	{
		.key = "list-devices",
		.but = "<info>", /* libfabric asks each provider */
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
		.but = "protocol:|(ignored)|NET plugin IB", /* INFO where no device is */
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
			"Couldn't find any optimal provider", "Could not find any optimal provider",
			"No eligible providers were found", "fi_getinfo() call failed",
			"fi_getinfo*: -61", "EFA libfabric provider not detected",
			"EFA provider requires at least", "NET/OFI Failed to initialize",
			"NET/OFI OFI NCCL failure", "Failed to initialize any NET plugin",
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
			"No OpenFabrics connection schemes reported",
			"exceeded transports/devices limit"),
	},
	{
		/* Open MPI 4.0 to 4.1, btl/openib */
		.key = "openib-left-out",
		.check = "N15",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "Open MPI's openib leaves InfiniBand ports out, its default from 4.0 on",
		.why = "it leaves them to UCX. Where the job does not use UCX, its messages go "
		       "over TCP",
		.need = "mpirun --mca pml ucx, which fails where UCX has no device",
		.need_why = "which transport the job uses",
		.pattern = P("infiniband ports on a device"),
	},
	{
		/* libfabric (fi_getinfo): the provider answered, and lists nothing */
		.key = "provider-empty",
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.against = "message network-rdma",
		.title = "libfabric's RDMA provider is there and lists no device that fits",
		.why = "no device of its kind is visible here (a container, an instance without "
		       "it), or what the plugin asks for (FI_HMEM, an API version, a memory "
		       "mode) is none of this release's",
		.need = "fi_info -p efa -v, inside the container; FI_LOG_LEVEL=debug",
		.need_why = "whether a device is listed without the plugin's wishes",
		.pattern = P("provider efa output empty list", "provider cxi output empty list",
			     "provider verbs output empty list", "provider psm3 output empty list",
			     "provider opx output empty list"),
	},
	{
		/* NCCL asks each plugin and then its own; the last one's failure is a WARN */
		.key = "plugin-passed-over",
		.but = "NET plugin IB", /* no device is there */
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.against = "message network-rdma",
		.title = "a network plugin did not initialise, and NCCL found no other RDMA",
		.why = WHY_OPEN,
		.need = "fi_info -p efa, or ibv_devinfo; ldd of the plugin, inside the container",
		.need_why = "what it finds on this host, compared with a host on which it works",
		.pattern = P("Failed to initialize NET plugin"),
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
		.pattern =
			P("failed to initialize ATL", "fi_getinfo error: ret",
			  "no TLs are selected for", "required TL * is not part of",
			  "lib_init failed for component", "no CLs are selected",
			  "failed to init ucx", "No provider entry/domain found",
			  "Could not open domain for", "Requested OFI provider * is not available",
			  "find_provider*OFI fi_getinfo() failed", "no cpcs for port",
			  "ailed to automatically detect the HCA",
			  "cxil_alloc_svc:", "Failed to allocate LNI", "cxil_open_device*fail",
			  "unable to open any HCA ports", "No allowed provider was found",
			  "Init RDMA failed!", "no usable RDMA transport",
			  "rdma is not supported by this",
			  "fabric is not available and fallback fabric",
			  "Driver initialization failure on /dev/", "OFI fi_open domain failed",
			  "OFI addrinfo() failed"),
	},

	{
		.key = "hcoll-init",
		.check = "N15",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "Open MPI's hcoll does not initialise, and Open MPI goes on without it",
		.why = "its own collectives take the place of hcoll's, which use the NIC more",
		.need = "ucx_info -d, inside the container; HCOLL_MAIN_IB",
		.need_why = "whether it finds a device",
		.pattern = P("Hcol library init failed"),
	},

	/* ---- Which devices ---- */
	{
		.key = "device-name",
		.check = "N04",
		.against = "message verbs-driver", /* then no device has a name */
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "the job names a network device that is not there, or not usable",
		.why = "the list (NCCL_IB_HCA, UCX_NET_DEVICES, MC_..., -d) was written for "
		       "another host, "
		       "or the container was given other devices",
		.need = "ibv_devices; ibdev2netdev, inside the container",
		.need_why = "which names are right here",
		.pattern =
			P("network device '*' is not available", "No matched device found: ",
			  "network devices '*' are not available", "device '*' is not available",
			  "requires NIC * but that NIC is not available",
			  "is not enabled, please set UCX_NET_DEVICES",
			  "failed: device * is not enabled", "IB device '*' wasn't found",
			  "IB device * not found in", "device * wasn't found", "No such IB device",
			  "Could not force merge NICs", "Couldn't find net with name",
			  "TOPO/NET : Only matched", "failed to find port"),
	},
	{
		/* aws-ofi-nccl: nccl_ofi_topo and the plugin's rails; NVSHMEM's and UCX's counts */
		.key = "nics-of-gpu",
		.check = "N04",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a GPU is given another number of NICs than its machine has",
		.why = "the instance, the container or the topology file shows fewer devices, or a "
		       "peer shows more: the data goes over what is left, or the connection fails",
		.need = "fi_info -p efa | grep -c domain; ls /sys/class/infiniband, inside the "
			"container",
		.need_why = "how many devices the job sees, on each host",
		.pattern = P("Wrong number of NICs for device", "Unexpected number of remote rails",
			     "Unexpected number of rails", "number of NICs does not match",
			     "mismatched number of NICs"),
	},
	{
		/* a provider's check of its own recommended variables */
		.key = "variable-expected",
		.check = "X06",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a variable of the job is not what its platform's own check expects",
		.why = "the platform's values belong together, on all hosts: a value that was set "
		       "for another platform, or by hand, takes the place of its own",
		.need = "env | grep -E 'NCCL|UCX|FI_', on each host",
		.need_why = "which script sets it, and whether all hosts have the same",
		.but = "NET/OFI|nccl_net_ofi|nccl_ofi_", /* functions, no variables */
		.pattern = P("NCCL_*expected*actual", "UCX_*expected*actual"),
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
};

PART(rs_messages_device);
