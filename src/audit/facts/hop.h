/* Private to audit/: what a switch does with a DSCP on a port, in numbers of its own: class, group
 * (the priority of PFC), queue. Joined through the switch's maps, never by equal numbers. */
#ifndef RS_AUDIT_FACTS_HOP_H
#define RS_AUDIT_FACTS_HOP_H

#include "audit/facts/audit.h"

struct rs_hop {
	int tc, group, queue; /* -1: not known */
	int lossless, ecn;    /* 1, 0; -1: not known */
	bool untrusted;       /* the port does not look at the DSCP */
	bool inferred;        /* by the vendor's default, no map has a row for it */
	const struct rs_fact *map, *pfc;
};

enum { RS_HOP_CLASSES = 16, RS_HOP_PRIORITIES = 8 };

/* One port's maps by number, gathered once: its own facts over those of the port named "*", which
 * is all. */
struct rs_hop_view {
	const struct rs_audit *a;
	const char *sw, *port; /* port: the subject, "port/Ethernet8" */
	bool junos, eos, sonic;
	bool mqc, vrp; /* NX-OS, OS10; Huawei, H3C */
	const struct rs_fact *dscp[64], *pfc_dscp[64], *group[RS_HOP_CLASSES];
	const struct rs_fact *queue[RS_HOP_CLASSES], *ecn[RS_HOP_CLASSES];
	const struct rs_fact *pfc[RS_HOP_PRIORITIES], *pfc_queue[RS_HOP_PRIORITIES];
	const struct rs_fact *trust, *routed, *pfc_seen;
	unsigned mask;   /* bit p: PFC is on for priority p */
	bool classifies; /* something says how it classifies */
	bool by_dscp;    /* PFC names code points (Junos) */
};

void rs_hop_view(const struct rs_audit *a, const char *sw, const char *port, struct rs_hop_view *v);
void rs_hop_find(const struct rs_hop_view *v, int dscp, struct rs_hop *h);
/* The queue that a PFC priority protects; -1: not known. */
int rs_hop_queue(const struct rs_hop_view *v, int priority);

/* A fact of a port, else of the port named "*". */
const struct rs_fact *rs_hop_fact(const struct rs_audit *a, const char *sw, const char *port,
				  const char *name_fmt, ...) __attribute__((format(printf, 4, 5)));
int64_t rs_hop_number(const struct rs_audit *a, const char *sw, const char *port, const char *name,
		      int64_t otherwise);
/* Ports of a switch, each once; *at: 0 to begin. Administratively down ones are passed over. */
const char *rs_hop_port(const struct rs_audit *a, uint32_t *at, const char *sw);
/* "SONiC", "EOS", "Junos", "Cumulus", "NX-OS", "OS10"; "": not known. */
const char *rs_hop_os(const struct rs_audit *a, const char *sw);

/* What the ports of a switch have together. */
struct rs_hop_site {
	unsigned mask;      /* priorities with PFC on some port */
	int64_t speed_mbps; /* of the first port with PFC; 0: not known */
};
void rs_hop_site(const struct rs_audit *a, const char *sw, struct rs_hop_site *s);
/* Is RDMA traffic to be expected here? Where others have PFC and this port has none, only if a
 * host or switch of this audit is behind it, or it is as fast as they are: ports of storage and
 * management need none. */
bool rs_hop_carries(const struct rs_hop_view *v, const struct rs_hop_site *s);

/* What hosts send: DSCPs, each once, with a host that sends it. */
struct rs_demand {
	int dscp;
	const char *host;
	char netdev[96];
	int lossless; /* on the host: 1, 0; -1: not known */
};
unsigned rs_hop_demands(const struct rs_audit *a, struct rs_demand *out, unsigned most);

/* The other end of a host's interface by LLDP or the switch's own list: the switch as audited and
 * the port's subject. false: not known. */
bool rs_hop_peer(const struct rs_audit *a, const char *host, const char *netdev, const char **sw,
		 const char **port);
/* A port's name without "port/"; "all ports" for the one named "*". */
const char *rs_hop_name(const char *port);

#endif
