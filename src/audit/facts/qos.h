/* Private to audit/: which priority a host's RoCE traffic has, step by step, with the facts. */
#ifndef RS_AUDIT_FACTS_QOS_H
#define RS_AUDIT_FACTS_QOS_H

#include "audit/facts/audit.h"

enum rs_qp_kind { RS_QP_VERBS, RS_QP_GIN, RS_QP_CM, RS_QP_KINDS };
extern const char *const rs_qp_kinds[]; /* "QPs by ib_verbs", ... */

struct rs_class {
	int tc, dscp, priority; /* -1: not known */
	const char *tc_from;    /* "NCCL_IB_TC", "the kernel's traffic_class", ... */
	const struct rs_fact *tc_fact, *trust, *map, *pfc;
	bool map_inferred; /* priority by DSCP / 8, the default, since the list does not show it */
	bool untagged;     /* trust is pcp and no tag is known: priority 0 */
	int lossless;      /* 1, 0; -1: not known */
};

/* A NIC's network interface: by a fact, or as the only one with QoS facts. NULL: not known. */
const char *rs_qos_netdev(const struct rs_audit *a, const char *host, const char *nic);
/* false: nothing says that such QPs are used. */
bool rs_qos_class(const struct rs_audit *a, const char *host, const char *nic, const char *netdev,
		  enum rs_qp_kind kind, struct rs_class *c);
/* Bit p: PFC is on for priority p; -1: no PFC row was seen. */
int rs_qos_pfc_mask(const struct rs_audit *a, const char *host, const char *netdev);
/* A DSCP that the host's map leads to a priority of the mask, 26 if that does; -1: none. */
int rs_qos_lossless_dscp(const struct rs_audit *a, const char *host, const char *netdev, int mask);
/* The largest path MTU that fits into an interface's, as the kernel counts: less 96 bytes
 * (iboe_get_mtu). */
int rs_qos_path_mtu(int64_t mtu);
/* Is any priority lossless on any host's NIC or switch port that was seen? */
bool rs_qos_any_lossless(const struct rs_audit *a);

/* The NICs of a host that take part: those that NCCL_IB_HCA names, where it names any, with a
 * netdev that has QoS facts; each netdev once.
 * Returns how many, at most `most`; nic[i] may be "" where only the netdev is known. */
struct rs_qos_port {
	char nic[96], netdev[96];
};
unsigned rs_qos_ports(const struct rs_audit *a, const char *host, struct rs_qos_port *port,
		      unsigned most);

#endif
