/*
 * The receive buffer of one port, for all of its classes, as a NIC has it: when a class is to stop
 * and when to go on, and what finds no room. (The buffer that the ports of a switch share, and its
 * dynamic thresholds: switch/buffer.c.)
 */
#ifndef RS_PORT_BUFFER_H
#define RS_PORT_BUFFER_H

#include "port/lfc.h"

struct rs_port_buffer {
	uint64_t used;
	uint64_t size;  /* UINT64_MAX: no end */
	uint64_t lossy; /* what classes without PFC may fill it to: the rest is headroom */
	/* above the first a class with PFC is asked to stop; at the second, and below, all are
	 * asked to go on */
	uint64_t xoff, xon;
	bool stuck; /* a fault: none is asked to go on */
};

static inline bool rs_port_buffer_fits(const struct rs_port_buffer *b, bool lossless,
				       uint32_t bytes)
{
	return b->used + bytes <= (lossless ? b->size : b->lossy);
}

/* `used` has changed by a packet of these classes: one with PFC, or none. */
static inline void rs_port_buffer_changed(const struct rs_port_buffer *b, struct rs_lfc *l,
					  uint8_t classes)
{
	if (b->used > b->xoff)
		rs_lfc_xoff(l, classes & (uint8_t)~l->pausing);
	else if (l->pausing && b->used <= b->xon && !b->stuck)
		rs_lfc_xon(l, l->pausing);
}

#endif
