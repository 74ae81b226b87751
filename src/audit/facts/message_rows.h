/*
 * The rows of message.h: one file a topic (message_*.c), and what they are written with. A row is a
 * meaning, so one row may hold the words of many programs. Patterns are words of the programs' own
 * sources, cut to what tells them apart: NCCL v2.3.5-5 to v2.30.7-1 (net_ib, ibvwrap, net, init,
 * bootstrap, socket, topo, gin), RCCL, aws-ofi-nccl, UCX 1.8 to master, perftest, NVSHMEM,
 * Mooncake, NIXL, the RDMA shared device plugin, Linux (mlx5, bnxt_re, irdma, efa, erdma, hns_roce,
 * rxe, PCI AER), NVRM, amdgpu, SONiC.
 */
#ifndef RS_AUDIT_FACTS_MESSAGE_ROWS_H
#define RS_AUDIT_FACTS_MESSAGE_ROWS_H

#include "audit/facts/message.h"

#define CRIT RS_CRITICAL
#define MAJ  RS_MAJOR
#define MIN  RS_MINOR
#define P(...)                    \
	{                         \
		__VA_ARGS__, NULL \
	}

#define WHY_GDR                                                                                \
	"NICs cannot reach GPU memory, so each transfer is copied through host memory. "       \
	"Registration needs dma-buf (Linux 5.12, the open GPU module) or nvidia_peermem that " \
	"found ib_register_peer_memory_client, which the RDMA stack's vendor build has"
#define NEED_GDR "lsmod | grep peermem; ls /sys/kernel/mm/memory_peers; dmesg | grep -i peermem"
#define WHY_LOCKED                                                                               \
	"RDMA memory is locked. The limit of the process that started the job counts (systemd, " \
	"slurmd, the container's runtime), not that of a login shell"
#define NEED_LOCKED "grep 'locked memory' /proc/PID/limits, of the job's own process"

struct rs_message_part {
	const struct rs_message *row;
	uint32_t n;
};

/* The rows of this file under a name of their own. */
#define PART(name) const struct rs_message_part name = {rows, sizeof(rows) / sizeof(*rows)}

extern const struct rs_message_part rs_messages_signs;
extern const struct rs_message_part rs_messages_gpu;
extern const struct rs_message_part rs_messages_device;
extern const struct rs_message_part rs_messages_job;
extern const struct rs_message_part rs_messages_verbs;
extern const struct rs_message_part rs_messages_kubernetes;
extern const struct rs_message_part rs_messages_port;
extern const struct rs_message_part rs_messages_kernel;
extern const struct rs_message_part rs_messages_switch;
extern const struct rs_message_part rs_messages_host;
extern const struct rs_message_part rs_messages_shown;
extern const struct rs_message_part rs_messages_state;
extern const struct rs_message_part rs_messages_vendor;

#endif
