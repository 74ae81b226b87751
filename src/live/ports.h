/*
 * rdma_cm's ports (annex A11), which the processes of a host share: which may have which beside
 * which, by the rules of Linux's cma (cma_check_port(), cma_bind_listen(),
 * cma_match_private_data()), and which requests a listener hears.
 */
#ifndef RS_LIVE_PORTS_H
#define RS_LIVE_PORTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "live/live.h"

enum rs_cm_how {
	RS_CM_REUSE = 1,  /* RDMA_OPTION_ID_REUSEADDR; a listener has it no more */
	RS_CM_AFONLY = 2, /* RDMA_OPTION_ID_AFONLY; of an IPv4 address unless the option says no */
	RS_CM_IPV6 = 4,   /* the address is one of AF_INET6 */
};

static inline bool rs_cm_any(const uint8_t gid[16])
{
	static const uint8_t any[16];

	return !memcmp(gid, any, sizeof(any));
}

/* May a port be had with this address beside one who has it with another? reuse: not by a listener.
 */
static inline int rs_cm_beside(unsigned mine, const uint8_t my_gid[16], unsigned other,
			       const uint8_t other_gid[16], bool reuse)
{
	if (reuse && (mine & other & RS_CM_REUSE))
		return 0;
	if ((mine & other & RS_CM_AFONLY) && ((mine ^ other) & RS_CM_IPV6))
		return 0;
	if (rs_cm_any(my_gid) || rs_cm_any(other_gid))
		return -EADDRNOTAVAIL;
	return memcmp(my_gid, other_gid, 16) ? 0 : -EADDRINUSE;
}

/* Does who listens at an address hear a request to an own one? */
static inline bool rs_cm_hears(unsigned how, const uint8_t gid[16], const uint8_t own[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!rs_cm_any(gid))
		return !memcmp(gid, own, 16);
	return !(how & RS_CM_AFONLY) || !memcmp(own, mapped, sizeof(mapped)) == !(how & RS_CM_IPV6);
}

/*
 * Take a port of a port space (RDMA_PS_*) at a GID, all zero: at any; *port 0 picks a free one.
 * Returns the place where it is noted. -EADDRINUSE, -EADDRNOTAVAIL, -ENOSPC.
 */
int rs_live_cm_bind(struct rs_live *l, uint16_t space, uint16_t *port, const uint8_t gid[16],
		    unsigned how);
/* Options set after the bind hold for who comes later. */
void rs_live_cm_change(struct rs_live *l, int place, unsigned how);
/* Requests for it come here. A listener does not share: -EADDRINUSE, -EADDRNOTAVAIL. */
int rs_live_cm_listen(struct rs_live *l, int place);
void rs_live_cm_unbind(struct rs_live *l, int place);

#endif
