/* The job: bootstrap over TCP, launchers, releases, shared memory, and how it ends. */
#include "audit/facts/message_rows.h"

static const struct rs_message rows[] = {
	/* ---- Devices that cannot be opened ---- */
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
			  "Call to connect failed", "socket*exceeded error retry count after",
			  "client socket has timed out", "No valid IPv4_or_IPv6",
			  "No valid [IPv6]:port", "No valid * or <hostname>:<port>",
			  "reached maximum number of connection retries",
			  "client socket has failed to connect", "NET/IB : No IP interface found",
			  "no socket interface found", "wrong magic", "WARN Socket creation failed",
			  "Couldn't connect to *:", "socket.cc*Connect to * failed",
			  "Failed to connect to metadata", "store_based_barrier_key*worker_count=",
			  "Timed out initializing process group in store",
			  "server socket has failed to listen", "EADDRINUSE",
			  "waiting for clients. ", "RendezvousConnectionError",
			  "RendezvousTimeoutError", "DistNetworkError", "Broken pipe*TCPStore",
			  "TCPStore*failed", "connect() timed out. Original timeout",
			  "Couldn't listen to port", "Unable to open file descriptor for socket",
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
			  "was not built with SLURM's PMI support",
			  "unable to complete a TCP connection",
			  "Socket timed out on send/recv operation"),
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
		.key = "hccl-timeout",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "a collective of an Ascend job was not done in time (HCCL, EI0002)",
		.why = "one rank failed, is late, or its packets are lost",
		.need = "grep -rn 'error cqe' of the logs of all ranks; hccn_tool -i N -link -g",
		.need_why = "which rank failed first",
		.pattern = P("EI0002: ", "(EI0002)",
			     "to complete a communication operation within the timeout",
			     "wait execution of the Notify register times out",
			     "when the Notify register waits for execution"),
	},
	{
		.key = "mpi-slots",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "mpirun was asked for more processes than its hosts have slots",
		.why = "the host file or the batch system names fewer slots than -np",
		.need = "the host file; echo $SLURM_TASKS_PER_NODE",
		.need_why = "how many slots each host has",
		.pattern = P("not enough slots available in the system"),
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
		.pattern = P("network port is down", "EJ0002: ", "(EJ0002)"),
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
		.but = "mismatch detection", /* OSPF's of MTUs */
		.pattern = P("Mismatched collective detected", "collective mismatch error",
			     "message truncated :", "Message truncated : received",
			     "posted incorrect receive info",
			     /* NCCL's RAS (ras/client_support.cc) */
			     "Communicator ranks have different", "RUNNING*MISMATCH"),
	},
	{
		.key = "ras-missing",
		.check = "N18",
		.severity = CRIT,
		.confidence = RS_MEDIUM,
		.title = "NCCL does not find processes of the job any more",
		.why = "they have ended, hang, or their host is not reached: the rest wait for "
		       "them in the next collective",
		.need = "the logs of the processes that are named, and journalctl -k on their "
			"hosts",
		.need_why = "how they ended",
		.pattern = P("Missing communicator data from",
			     "considered dead (unreachable via the RAS network)"),
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
		.check = "K06",
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
		.but = "memory segments", /* ipcs' heading */
		.pattern = P("shared memory segment", "Please check that /dev/shm",
			     "failed to create shared memory file", "shared memory file*error",
			     "/dev/shm*No space left", "unable to open shared memory object",
			     "out of shared memory", "Bus error*shared memory",
			     "posix_fallocate failed", "failed to extend /dev/shm",
			     "insufficient shared memory", "unlink shared memory /dev/shm",
			     "per-host segment limit * is too small"),
	},
	{
		.key = "shm-full",
		.check = "K06",
		.severity = MAJ,
		.confidence = RS_HIGH,
		.title = "shared memory (/dev/shm) is full",
		.why = "ranks of one host exchange data through it: NCCL, gloo and data loaders "
		       "fail where it has no room",
		.need = "ls -l /dev/shm; docker run --shm-size or --ipc=host",
		.need_why = "what fills it: segments of jobs that ended by force stay",
	},
	{
		.key = "shm-default",
		.fix = "docker run --shm-size=16g, in Compose: shm_size: 16gb, in a pod: emptyDir "
		       "{medium: Memory} at /dev/shm",
		.interrupts = "the container",
		.check = "K06",
		.severity = MIN,
		.confidence = RS_MEDIUM,
		.setting = true,
		.title = "/dev/shm has the container runtime's default of 64 MiB",
		.why = "NCCL and data loaders of several ranks need more",
		.need = "docker run --shm-size or --ipc=host; an emptyDir of medium Memory",
		.need_why = "how large it may be",
	},
	{
		.key = "rate-low",
		.check = "M01",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.general = true,
		.title = "a test of the bandwidth says that it is too low",
		.why = "the test knows what this part should reach: the line names the part and "
		       "its rate",
		.need = "the same test by itself on that part; the link, the slot and the NUMA "
			"node of its NIC",
		.need_why = "whether it is the part or what shares it",
		.pattern = P("bandwidth is low", "test bandwidth low", "Average BW over*FAIL",
			     "bandwidth*below threshold", "bandwidth*below the threshold",
			     "bandwidth*lower than expected", "bandwidth*below expected",
			     "busbw*below"),
	},
	{
		.key = "provider-differs",
		.check = "X06",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a rank has another fabric provider than its system",
		.why = "peers speak with each other by one provider alone",
		.need = "the provider in the configuration of each server",
		.need_why = "which of them differs",
		.pattern = P("fabric provider * does not match"),
	},
	{
		.key = "oom-killed",
		.check = "H11",
		.severity = CRIT,
		.confidence = RS_HIGH,
		.title = "a process was killed for want of the host's memory",
		.why = "the kernel ends a process when a host, a cgroup or a pod has no memory "
		       "left. Its peers see only that it does not answer",
		.need = "journalctl -k | grep -i -e oom -e 'killed process'; the memory that the "
			"job or pod asks for",
		.need_why = "which process it was, and which limit it met",
		/* docker inspect, memory.events and manifests name it where nothing happened */
		.but = "OOMKilled: false|OOMKilled\": false|oom_score_adj: -|SystemOOM is|"
		       "has no SystemOOM|OOMPolicy",
		/* Linux (mm/oom_kill.c), slurmstepd, Kubernetes, Ray, systemd-oomd */
		.pattern = P("oom-kill event", "oom_kill event", "have been OOM Killed",
			     "cgroup out-of-memory handler", "ut of memory: Kill",
			     "oom_reaper: reaped", "invoked oom-killer", "oom-kill:constraint",
			     "task *: Out Of Memory", "OOMKilled", "State=OUT_OF_MEMORY",
			     " OUT_OF_ME+ ", "System OOM encountered",
			     "killed due to memory pressure (OOM)", "systemd-oomd killed",
			     "killed by the OOM killer",
			     "process of this unit has been killed by the OOM"),
	},
	{
		.key = "sigkill",
		.check = "H11",
		.severity = MIN,
		.confidence = RS_LOW,
		.title =
			"a process was ended by SIGKILL, as the kernel ends one for want of memory",
		.why = "nothing else that was read says who sent it; a launcher that gives up, a "
		       "scheduler and a person send it, too",
		.need = "journalctl -k | grep -i -e oom -e 'killed process'; sacct -o "
			"State,MaxRSS",
		.need_why = "whether it was the kernel",
		.pattern = P("exits with return code = -9", "exitcode : -9", "exitcode: -9",
			     "exited on signal 9 (Killed)", "exit code 137", "exit code: 137",
			     "exited with code 137", "Signal 9 (SIGKILL) received by PID",
			     "killed by signal: Killed", "KILLED BY SIGNAL: 9", "killed by system"),
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
			  "comm *Init FAILED", "Failed to exchange handshake", "ep_connect failed",
			  "(Mscclpp failure: ", "due to async NCCL error",
			  "remote process exited or there was a network error"),
	},
	{
		.key = "job-crash",
		.check = "N18",
		.severity = MAJ,
		.confidence = RS_MEDIUM,
		.title = "a process crashed within a library of communication",
		.why = "the kernel names the library whose code it ran: its release, its plugin, "
		       "or memory that was given back while it was in use",
		.need = "the releases of NCCL, its plugin, UCX and rdma-core; the core's backtrace",
		.need_why = "which call it was",
		.pattern = P("segfault at *in libnccl", "segfault at *in librccl",
			     "segfault at *in libucp", "segfault at *in libuct",
			     "segfault at *in libucs", "segfault at *in libibverbs",
			     "segfault at *in libmlx5", "segfault at *in libfabric",
			     "segfault at *in libmpi", "segfault at *in libtorch",
			     "segfault at *in libnixl", "segfault at *in libbnxt_re"),
	},
};

PART(rs_messages_job);
