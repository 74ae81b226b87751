/* Verbs calls by their errno, GIDs, completions that libraries tell in words of their own. */
#include "audit/facts/message_rows.h"

#define WHY_GID                                                                                    \
	"to leave INIT the kernel resolves the peer's address from the GID's own interface. It "   \
	"fails when the index is empty, of RoCE v1 on one side, link-local, of an interface that " \
	"is not in this network namespace, or when the peer's network is not reached from there"
#define NEED_GID "show_gids, ip route get PEER from LOCAL, on both hosts"
#define WHY_REFUSED                                                                          \
	"the address was reached, and what runs there did not take the connection: nothing " \
	"listens "                                                                           \
	"for RDMA on that port, its port is another, or its limits are below what was asked"
#define NEED_REFUSED "the peer's own log; rdma resource show cm_id, on the peer"

static const struct rs_message rows[] = {
	/* ---- Devices that cannot be opened ---- */
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
			     "cannot allocate UAR", "Failed to map doorbell",
			     "DEVX requested but not supported", "mlx5dv_devx_umem_reg*fail",
			     "mlx5dv_open_device*failed"),
	},

	/* ---- Verbs calls, by their errno ---- */
	{
		.key = "verbs-modify",
		.but = "UMR QP|to INIT|to Init",
		.against = "message devx-modify", /* the firmware's answer says more */
		.check = "R02",
		.also = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.by_errno = true,
		.title = "a queue pair could not be connected (modify QP): the GID in use, or its "
			 "path, is wrong",
		.why = WHY_GID,
		.need = NEED_GID,
		.need_why = "which GID each side uses, and whether one reaches the other",
		.pattern = P("ibv_modify_qp", "odify QP to", "odify QP *to RTR", "modify UD QP",
			     "modify SRD QP", "modify TM control QP", "odifying QP to",
			     "odifying DCT to", "odifying DCI to", "rc_init2rtr failed",
			     "rc_rtr2rts failed", "rdma_resolve_addr", "rdma_resolve_route",
			     "modify QP state", "RDMA_CM_EVENT_ADDR_ERROR",
			     "RDMA_CM_EVENT_UNREACHABLE", "RDMA_CM_EVENT_ROUTE_ERROR"),
	},
	{
		.key = "verbs-modify",
		.errno_is = 110,
		.check = "R02",
		.also = "N16",
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
		.also = "N16",
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
		.also = "N16",
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
		.errno_is = 99,
		.check = "R02",
		.also = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "the address that a connection should leave from is none of an RDMA "
			 "device here (EADDRNOTAVAIL)",
		.why = "the RDMA connection manager looks for a device by the source address, or "
		       "by the route to the peer: the address was taken away, is another "
		       "host's, or is of an interface without RDMA",
		.need = NEED_GID,
		.need_why = "which device has that address",
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
		/* UCX's uct/ib/mlx5/dv: the firmware's answer, with its syndrome */
		.key = "devx-modify",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "the NIC's firmware refused to change a queue pair's state",
		.why = "an attribute that the job asks for is none that this port takes: the "
		       "service level (UCX_IB_SL), the traffic class, the path MTU, atomics, or "
		       "a firmware that is older than the library",
		.need = "UCX's or the job's own variables; ibv_devinfo -v; dmesg -T | grep mlx5",
		.need_why = "which attribute was not the default",
		.pattern = P("mlx5dv_devx_obj_modify", "mlx5dv_devx_qp_modify"),
	},
	{
		.key = "qp-init",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a queue pair could not be made ready (RESET to INIT): its port, P_Key or "
			 "access flags were refused",
		.why = "no peer and no GID take part in this step: the port's number or the "
		       "P_Key's index is not the device's, the driver lacks an access right that "
		       "is asked for (atomics, relaxed ordering), or the port is down",
		.need = "ibv_devinfo -v; cat /sys/class/infiniband/*/ports/1/pkeys/0; dmesg -T",
		.need_why = "what the port has",
		.pattern = P("odify QP to INIT", "odify UD QP to INIT", "odifying QP to INIT",
			     "odify * QP to INIT*fail", "to INIT state failed",
			     "ailed to transition QP to INIT"),
	},
	{
		.key = "umr-qp",
		.check = "N16",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "UCX's queue pair for memory keys (UMR) could not be made ready",
		.why = "UCX sets no port of a bond for it, which firmware refuses on a bonded "
		       "device (mlx5_bond_0; UCX_TLS=^gga goes around it); in a container, ENODEV "
		       "also says that the device has no network interface inside",
		.need = "ibdev2netdev; show_gids; ip -br addr, inside the container",
		.need_why = "a bond, or a device without its interface",
		.pattern = P("ibv_modify_qp(UMR QP"),
	},
	{
		.key = "verbs-ah",
		.check = "R02",
		.also = "N16",
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
			     "Unable to register MR buf", "ailed to register memory",
			     "ould not register memory", "ouldn't register memory",
			     "nable to register memory", "egister user memory", "egistering memory",
			     "Couldn't allocate MR", "ibv_exp_reg_mr", "mlx5dv_reg_dmabuf",
			     "failed to register address", "md reg_mem failed",
			     "emory registration failed", "fi_mr_reg",
			     "UCX*ailed to allocate memory pool",
			     "register memory region with regattr", "MemoryRegion failed",
			     "MemoryRegion::register*failed"),
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
		.errno_is = 19,
		.check = "N15",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "no RDMA device is there for what should be created (ENODEV)",
		.why = "the address is of no RDMA device, or the container has not got the device",
		.need = "rdma link; show_gids, inside the container; ip -br addr",
		.need_why = "which addresses have a device",
		.pattern = P(NULL),
	},
	{
		.key = "verbs-create",
		.against = "message kernel-qp", /* the firmware's own limit */
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
		.but = "work item failed", /* a completion: its errno is an older call's */
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
			     /* Open MPI's btl/openib */
			     "error posting send request", "error posting receive",
			     "error posting srq", "ibv_poll_cq() returned",
			     "Failed to post receive recv_wqes"),
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
			P("is NULL GID", "No suitable GID found",
			  "Found Incompatibility issue with GID types", "GID * not available",
			  "has no associated network device", "failed to find a gid which",
			  "Invalid GID index", "invalid gid index", "Failed to query GID",
			  "ibv_query_gid failed", "ibv_query_gid(*failed", "Failed to get GID",
			  "Can't find * GID", "no usable GID", "No valid GID", "with GID -1",
			  "GID index * is not valid", "gid index * is out of range",
			  "cannot find gid index", "Failed to read SGID", "ibv_query_gid_ex*failed",
			  "both GID_INDEX and ROCE_SUBNET_LIST are specified", "GID is all zero",
			  "Invalid gid["),
	},
	{
		/* NCCL prints GIDs of a completion in error where the link layer is Ethernet */
		.key = "gid-link-local",
		.check = "R02",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "a completion in error is between link-local GIDs (fe80::) of RoCE",
		.why = "such a GID is reached in its own network alone, and only where the peer's "
		       "kernel answers for it: the index was left at 0, or the interface has no "
		       "address",
		.need = NEED_GID,
		.need_why = "which index is RoCE v2 with a routable address, on both sides",
		.pattern = P(
			"localGid fe80:", "remoteGid fe80:", "remoteGidsfe80:", "remoteGids fe80:"),
	},
	{
		.key = "relaxed-order",
		.check = "P11",
		.severity = MIN,
		.setting = true,
		.confidence = RS_HIGH,
		.title = "relaxed ordering was asked for, and the user library has no call for it",
		.why = "rdma-core 28 and later can register memory with it (ibv_reg_mr_iova2); "
		       "without it writes wait for one another on boards with slow ordering",
		.need = "dpkg -l libibverbs1, or rpm -q libibverbs, inside the container",
		.need_why = "its release",
		.pattern = P("relaxed order memory access requested but not supported",
			     "Relaxed ordering is NOT supported"),
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

	/* ---- The job's own network ---- */
	/* libfabric's prov/efa/src/efa_errno.h: statuses of the device, and from 4096 on the
	 * provider's own */
	{
		.key = "efa-unreached",
		.check = "N12",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an EFA peer never answered (status 15, or 4126: no handshake)",
		.why = "SRD's packets are no IP: a rule for 0.0.0.0/0 lets none of them pass. The "
		       "security group must name itself in an inbound and in an outbound rule for "
		       "all traffic; or the peer's process is not there",
		.need = "aws ec2 describe-security-group-rules --filters "
			"Name=group-id,Values=GROUP; fi_pingpong -p efa between the two hosts",
		.need_why = "whether both directions name the group itself",
		.pattern = P("Unreachable remote - never received a response",
			     "reachable by EFA device but handshake failed",
			     "FI_EFA_ERR_UNESTABLISHED_RECV_UNRESP", "FI_EFA_ERR_PEER_HANDSHAKE",
			     "Failure posting handshake to peer"),
	},
	{
		.key = "efa-peer-left",
		.check = "N12",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.follows = true,
		.title = "an EFA peer that had answered does no more (status 8, 13, 4124, 4127)",
		.why = "its process ended, or its host or NIC stands still: the peer's own log "
		       "says what failed first",
		.need = "the logs of all ranks by time; dmesg -T of the peer's host",
		.need_why = "which rank failed first",
		.pattern = P("Unresponsive remote (was previously responsive)",
			     "Unresponsive receiver (connection previously established)",
			     "Connection was reset by remote peer",
			     "FI_EFA_ERR_ESTABLISHED_RECV_UNRESP", "FI_EFA_ERR_PEER_ABORTED",
			     "the peer closed its memory registration or endpoint mid-transfer"),
	},
	{
		.key = "efa-memory",
		.check = "N12",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "an EFA operation met memory that is not registered for it (status 5, 7, "
			 "4111)",
		.why = "the region was closed or moved while an operation was under way, lacks "
		       "the access, or a child process has it after fork()",
		.need = "FI_LOG_LEVEL=warn of both ranks; RDMAV_FORK_SAFE, FI_EFA_FORK_SAFE",
		.need_why = "which side's region it was",
		.pattern = P("Local memory registration is invalid",
			     "Remote memory registration is invalid",
			     "RMA address verification failed", "FI_EFA_ERR_RMA_ADDR"),
	},
	{
		.key = "efa-no-room",
		.check = "N12",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title =
			"an EFA receiver had no buffer posted (status 10), or the provider's pools "
			"are used up (4108, 4109)",
		.why = "the receiver does not poll, or more is under way than it has entries for",
		.need = "FI_LOG_LEVEL=warn; FI_EFA_RX_SIZE, FI_EFA_TX_SIZE",
		.need_why = "which pool it is",
		.pattern = P("no work queue entries posted on receive queue",
			     "RX entries exhausted", "TX entries exhausted",
			     "FI_EFA_ERR_RXE_POOL_EXHAUSTED", "FI_EFA_ERR_TXE_POOL_EXHAUSTED",
			     "Failure to post internal receive buffers"),
	},
	{
		.key = "libfabric-completion",
		.check = "N12",
		.severity = CRIT,
		.general = true,
		.confidence = RS_MEDIUM,
		.title = "an operation over libfabric ended in error",
		.why = "the provider's own words say which: a peer that is gone or not reached (of "
		       "EFA: a security group that does not take all traffic of its own), a "
		       "request that no receive matches, or a resource of the NIC that is used up",
		.need = "FI_LOG_LEVEL=warn of all ranks; dmesg -T on both hosts",
		.need_why = "what the provider met first",
		.pattern = P("OFI poll failed", "Error returned from fi_cq_readerr",
			     "MPIDI_OFI_handle_cq_error", "PTLTE_NOT_FOUND",
			     "error: 0x* (err: ", "NET/OFI Request * completed with error",
			     "context completed with error", "cq_write_tx_error: err",
			     "cq_write_rx_error: err", "fi_cq_readerr: err"),
	},
	{
		/* functions that UCX runs for a completion in error alone */
		.key = "ucx-backtrace",
		.check = "N12",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a backtrace goes through UCX's handling of a completion in error",
		.why = "the line above the backtrace has the status: what came before it failed "
		       "first",
		.need = "the log before the backtrace, of all ranks",
		.need_why = "the completion's status, and the peer",
		.pattern = P("uct_ib_mlx5_completion_with_err", "uct_dc_mlx5_ep_handle_failure",
			     "uct_rc_verbs_handle_failure", "uct_rc_mlx5_iface_handle_failure",
			     "uct_srd_iface_handle_failure", "uct_ud_mlx5_iface_handle_failure",
			     "ucp_worker_iface_err_handle"),
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

	/* ---- What tools show: found by audit/read/shown_table.c ---- */
	{
		.key = "mcast-join",
		.check = "H09",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "an InfiniBand interface could not join its multicast group",
		.why = "no subnet manager answers, or the partition (P_Key) or rate of the group "
		       "does not fit this port",
		.need = "sminfo; saquery -g; the port's P_Keys",
		.need_why = "which",
		.pattern = P("multicast join failed for"),
	},
	{
		.key = "mtu-asked",
		.check = "R03",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "a test asked for a path MTU that the port does not have",
		.why = "the port's active MTU follows its network interface's: 4096 takes 4200 "
		       "bytes there, and as many on every switch between",
		.need = "ibv_devinfo | grep mtu; ip -br link",
		.need_why = "the interface's MTU",
		.pattern = P("Requested mtu is higher than active mtu"),
	},
	{
		.key = "nvme-path",
		.check = "N16",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a path to an NVMe over Fabrics target is not live",
		.why = "the host connects again and again: the target is gone, or this path's NIC "
		       "or network is",
		.need = "dmesg | grep nvme; rping -c -a TARGET -v, from the path's own address",
		.need_why = "whether the target is reached by RDMA",
	},
	{
		.key = "qp-error",
		.check = "N12",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "a queue pair stands in the state of error",
		.why = "a completion in error has ended it: what failed first is in the log of the "
		       "process that owns it",
		.need = "the log of the process named; rdma statistic",
		.need_why = "which status it had",
	},
	{
		.key = "lnet-timeouts",
		.check = "N16",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.title = "Lustre's network (LNet) counts messages without an answer",
		.why = "peers that are slow or gone, or a path that loses packets",
		.need = "lnetctl peer show -v 3; lctl ping NID",
		.need_why = "which peers",
	},
	{
		.key = "nvme-fabrics",
		.check = "N16",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.but = "sqsize", /* a warning of sizes */
		.title = "an NVMe over Fabrics host lost its target, or could not connect to it",
		.why = "the target does not listen there, refuses this host, or is not reached "
		       "over "
		       "RDMA",
		.need = "nvme discover -t rdma; rping -c -a TARGET -v; the target's own log",
		.need_why = "whether the target is reached, and takes this host",
		/* Linux drivers/nvme/host: fabrics.c, rdma.c */
		.pattern = P(
			"nvme nvme*: Connect command failed", "nvme nvme*: failed to connect queue",
			"nvme nvme*: Connect rejected", "nvme nvme*: Connect Invalid",
			"nvme nvme*: rdma connection establishment failed",
			"nvme nvme*: rdma_resolve_addr", "nvme nvme*: Failed reconnect attempt",
			"nvme nvme*: Connect for subsystem", "nvme nvme*: failed nvme_keep_alive",
			"nvme nvme*: starting error recovery", "nvme nvme*: Reconnecting in"),
	},
};

PART(rs_messages_verbs);
