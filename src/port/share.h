/*
 * Several endpoints behind one port: the functions of a NIC (a physical one and virtual ones), or
 * transports side by side. A share is an endpoint itself, so that the port's owner holds one. It
 * may stand behind another share.
 *
 * Classes share the port as everywhere (ets.h). In each class the functions share what the class
 * gets, by weights of their own (deficit round robin). A function gets no more for more queue pairs
 * or longer packets. A class that the peer pauses is held in all functions. No packet is taken from
 * a function before it can leave.
 */
#ifndef RS_PORT_SHARE_H
#define RS_PORT_SHARE_H

#include "port/endpoint.h"
#include "port/ets.h"
#include "wire/pool.h"

enum { RS_SHARE_MAX = RS_CLASSES }; /* functions; for more, a share behind a share */

struct rs_share_function {
	struct rs_endpoint *endpoint; /* borrowed */
	uint32_t first, n;            /* what comes for these addresses (dst) is its */
};

struct rs_share {
	struct rs_endpoint as_endpoint;
	struct rs_ets classes;
	struct rs_ets_turns class_turns;
	struct rs_ets functions;
	struct rs_ets_turns turns[RS_CLASSES]; /* of functions, in each class */
	struct rs_share_function function[RS_SHARE_MAX];
	uint32_t n;
	struct rs_pool_list *free; /* for packets of no function */
	uint64_t dropped;          /* those */
};

/* weight: of classes, as rs_ets_of() takes them. */
void rs_share_init(struct rs_share *s, const uint8_t weight[RS_CLASSES], struct rs_pool_list *free);
/*
 * Another function. weight: 1 to 255, its part against the others'. -ENOSPC: there are
 * RS_SHARE_MAX; -EINVAL: no weight, or another function has one of the addresses.
 */
int rs_share_add(struct rs_share *s, struct rs_endpoint *e, uint32_t first, uint32_t n,
		 uint8_t weight);

#endif
