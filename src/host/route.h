/* Within the room: the way from one part to another over a host's tree, before it becomes links. */
#ifndef RS_HOST_ROUTE_H
#define RS_HOST_ROUTE_H

#include "host/host.h"

enum tlp { TLP_WRITE, TLP_COMPLETION, TLP_READ, TLP_KINDS };
enum { MPS_DEFAULT = 256, MRRS_DEFAULT = 512, DEPTH_MAX = 12 };

int64_t host_nvlink_rate(const char *model);
int64_t host_pcie_usable(const struct rs_pcie *p, const struct rs_host_params *hp);
void host_tlp_headers(const struct rs_pcie *p, const struct rs_host_params *hp,
		      uint32_t header[TLP_KINDS]);

/* How a part hangs on its parent: by its link, by Socket-Direct's second, or by a coherent link. */
enum via { VIA_UP, VIA_UP2, VIA_C2C, VIAS };
int host_parent(const struct rs_host *h, int part, enum via via);

enum step_kind { STEP_UP, STEP_DOWN, STEP_CROSS };
struct step {
	enum step_kind kind;
	enum via via;
	int part;  /* the child of the link; for STEP_CROSS the socket left */
	int other; /* the parent; for STEP_CROSS the socket entered */
};

struct route {
	int n, bridges, crossings;
	bool through_socket; /* or ends in one */
	bool one_node;       /* all sockets crossed are of one NUMA node */
	bool unknown;        /* a part's place is not known: no steps */
	struct step step[RS_PATH_HOPS_MAX];
};

/* 0, -ENOENT or -E2BIG. The way with the fewest socket crossings, then the fewest links. */
int host_route(const struct rs_host *h, int a, int b, struct route *r);
enum rs_distance host_route_distance(const struct route *r);
bool host_is_socket_link(const struct rs_host *h, const struct rs_xlink *x);
bool host_has_socket_links(const struct rs_host *h);
/* Over NVLink: 1 by a link of their own, 2 through NVSwitches, 0 not. */
int host_nvlink(const struct rs_host *h, int a, int b);

#endif
