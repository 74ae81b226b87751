/* Good signs: what shows that something is as it should be. They only contradict other rows. */
#include "audit/facts/message_rows.h"

static const struct rs_message rows[] = {
	/* ---- Good signs ---- */
	{.key = "gdr-enabled", .pattern = P("GPU Direct RDMA Enabled for", "/GDRDMA", "/GDR/")},
	{.key = "network-rdma",
	 .but = "provider is tcp|Provider is tcp|provider is sockets|Provider is sockets|provider "
		"is udp|Provider is udp",
	 .pattern = P("Using network IB", "Using network AWS Libfabric", "Using network Libfabric",
		      "Using network gIB", "Using network FasTrak", "NET/OFI Selected Provider is",
		      "NET/OFI Selected provider is", "NET/IB : Using [0]",
		      "Using network GPUDirect")},
	{.key = "rdma-meant",
	 .pattern = P("P2P plugin IBext", "NCCL RDMA Plugin", "NET/OFI Initializing aws-ofi-nccl",
		      "NET/OFI Using aws-ofi", "RdmaTransport", "NVSHMEM_IBGDA",
		      "vpc.amazonaws.com/efa")},
	{.key = "connected",
	 .pattern = P("Connected all rings", "Connected all trees", "- Init COMPLETE")},
	{.key = "rdma-channel",
	 .pattern = P("via NET/IB", "via NET/AWS Libfabric", "via NET/Libfabric", "via NET/OFI",
		      "via NET/gIB", "via NET/FasTrak", "via NET/IBext", "via NET/SHARP")},
	{.key = "finished", .pattern = P("Out of bounds values : 0 OK")},
	{.key = "gpu-buffer",
	 .pattern = P("cuMemAlloc() of a", "allocated GPU buffer address", "creating CUDA Ctx",
		      "for GPU buffer address", "hipMalloc() of a", "--use_cuda", "--use_rocm",
		      "VRAM is used", "Picking GPU number", "allocated * bytes of GPU buffer")},
	{.key = "across-nodes",
	 .pattern = P("[send] via NET/", "[receive] via NET/", "[send] via NET/Socket")},

	/* ---- What tools show: found by audit/read/shown_table.c ---- */
	{.key = "port-up"},
	{.key = "pfc-port-on"},
	{.key = "driver-in-use"},
	{.key = "gpu-p2p-can"},
};

PART(rs_messages_signs);
