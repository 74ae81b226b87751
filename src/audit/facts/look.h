/* Private to audit/: what several families of checks ask of the facts. */
#ifndef RS_AUDIT_FACTS_LOOK_H
#define RS_AUDIT_FACTS_LOOK_H

#include "audit/facts/audit.h"

/* "gpu", "nic", "ethernet", "bridge", "other"; "": not known. pci: "pci/0000:16:00.0". */
const char *rs_look_kind(const struct rs_audit *a, const char *host, const char *pci);
bool rs_look_guest(const struct rs_audit *a, const char *host);
/* The interface of an RDMA device: its own fact, or the only bond of the host where the device is a
 * bond's ("mlx5_bond_0"). NULL: not known. */
const char *rs_look_netdev(const struct rs_audit *a, const char *host, const char *nic);
/* Gb/s of a port of this kind of device, by its PCI or CA type (pci.ids); 0: not known. */
int64_t rs_look_kind_rate(const struct rs_audit *a, const char *host, const char *nic);
/* A port for management, by the name that vendors give it ("Management1", "mgmt0", "fxp0"). */
bool rs_look_management(const char *port);
/* A port that no RDMA of a cluster crosses: for management, or of 1 Gb/s or less, unless an RDMA
 * device of the host has it. subject: "port/Management1", "netdev/em0". */
bool rs_look_aside(const struct rs_audit *a, const char *host, const char *subject);
/* Does this host have a GPU, an RDMA device? By any fact. */
bool rs_look_has_gpu(const struct rs_audit *a, const char *host);
bool rs_look_has_rdma(const struct rs_audit *a, const char *host);
/* A fact whose name is put together. NULL: not known. */
const struct rs_fact *rs_look(const struct rs_audit *a, const char *host, const char *subject,
			      const char *name_fmt, ...) __attribute__((format(printf, 4, 5)));
/* Its number; otherwise when it is unknown or no number. */
int64_t rs_look_number(const struct rs_audit *a, const char *host, const char *subject,
		       const char *name, int64_t otherwise);
/* Does any fact of these subjects (by prefix) have a name that begins so? */
bool rs_look_any(const struct rs_audit *a, const char *host, const char *subject, const char *name);
/* The RDMA device of a PCI function ("nic/mlx5_0"), and the port rate behind one, summed. */
const char *rs_look_nic_at(const struct rs_audit *a, const char *host, const char *pci);
int64_t rs_look_rate(const struct rs_audit *a, const char *host, const char *pci);
/* Gb/s of an RDMA device's port: its own fact, or its interface's speed; 0: not known. */
int64_t rs_look_port_rate(const struct rs_audit *a, const char *host, const char *nic);
/* The PCI function of an RDMA device ("pci/0000:18:00.0"): its own fact, or its netdev's. */
bool rs_look_pci_of(const struct rs_audit *a, const char *host, const char *nic, char *out,
		    size_t size);

/* What Mellanox's firmware tools call a device: its PCI address, else its own name. */
const char *rs_look_mft(struct rs_audit *a, const char *host, const char *nic);

enum { RS_LOOK_ABOVE = 16 }; /* deep enough for PCIe trees of servers */
/* Bridges above a function, nearest first, as subjects; how many, at most `most`. By the parent of
 * sysfs and XML, else by the bus numbers of lspci. */
unsigned rs_look_above(const struct rs_audit *a, const char *host, const char *pci,
		       const char **bridge, unsigned most);

/* Distances between GPUs and NICs: topo -m where it was read, else from the PCI tree. */
enum rs_near { RS_PIX = 1, RS_PXB, RS_PHB, RS_NODE, RS_SYS, RS_NEAR_UNKNOWN = -1 };
extern const char *const rs_near_name[]; /* by enum rs_near */
/* enum rs_near of two functions by the tree and their sockets. */
int rs_look_between(const struct rs_audit *a, const char *host, const char *x, const char *y);
int rs_look_nearest(const struct rs_audit *a, const char *host, const char *nic);

/* What narrows the devices in use: NCCL_IB_HCA, or else UCX_NET_DEVICES. NULL: nothing was seen. */
const struct rs_fact *rs_look_list(const struct rs_audit *a, const char *host);
/* NCCL_IB_HCA: a list of prefixes; '=' exact, '^' exclude. */
bool rs_look_hca(const char *list, const char *name);

/* Do the switches that were seen spray packets over paths? 1, 0; -1: not known. */
int rs_look_sprays(const struct rs_audit *a, const struct rs_fact **which);

/* What a counter did: between two snapshots, or two readings of one text, where there are two, else
 * since boot. */
struct rs_rise {
	int64_t by;     /* how much it rose; of one reading: its value */
	bool lifetime;  /* one reading alone */
	bool cleared;   /* it fell: it counts from the clearing */
	bool in_text;   /* between two readings of one text: seconds is at least that many */
	bool full;      /* it stands where it stops (IBTA vol. 1 16.1.3.5) */
	double seconds; /* of the time it took; 0: not known */
	const struct rs_fact *now, *before; /* before: of one text; NULL */
};
/* The first counter of a subject that was read; NULL: none, or no subject. */
const struct rs_fact *rs_look_counter(const struct rs_audit *a, const char *host,
				      const char *subject);
/* false: the counter is not known. */
bool rs_look_rise(const struct rs_audit *a, const char *host, const char *subject,
		  const char *counter, struct rs_rise *r);
/* A rise between two readings of one text that is small: it is told as minor. */
bool rs_look_few(const struct rs_rise *r);
/* Of one reading: so few since boot that a link which came up, or a cable that was plugged,
 * explains them. */
bool rs_look_few_ever(const struct rs_rise *r);
/* Where a counter of a port stops; INT64_MAX: at 64 bits. */
int64_t rs_look_ceiling(const char *counter);
/* "between the two snapshots", "in the 3600 s between ...", "since boot or the last clearing",
 * "between two readings" */
const char *rs_look_since(struct rs_audit *a, const struct rs_rise *r);

#endif
