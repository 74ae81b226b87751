/* Private to fabric/. */
#ifndef RS_FABRIC_STATE_H
#define RS_FABRIC_STATE_H

#include "fabric/fabric.h"

/* Of an endpoint that has no link yet. */
#define FABRIC_NO_LINK UINT32_MAX

/* Endpoints that a part is. */
static inline unsigned fabric_ports_of(const struct rs_part *p)
{
	return p->kind != RS_PART_NIC ? 0 : p->ports ? p->ports : 1;
}

/* The leaf of an endpoint in a leaf-spine or rail network. */
uint32_t clos_leaf(const struct rs_fabric *f, uint32_t endpoint);

#endif
