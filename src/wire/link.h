/*
 * Frames of the link layers that captures have (tcpdump.org/linktypes.html), as Ethernet's: what
 * follows reads one kind only.
 */
#ifndef RS_WIRE_LINK_H
#define RS_WIRE_LINK_H

#include <stdbool.h>
#include <stdint.h>

enum { RS_LINK_ETHERNET = 1, RS_LINK_ROOM = 1 << 16 };

struct rs_link_frame {
	const uint8_t *bytes;
	uint32_t captured, original; /* bytes here, and on the wire */
	uint32_t place; /* where on the machine: the interface and direction of a cooked capture */
};

bool rs_link_known(uint32_t link);
/* The names of those that are known, for messages. */
extern const char rs_link_names[];
/*
 * In place; bytes may point into room (RS_LINK_ROOM bytes) afterwards, to an Ethernet header that
 * was made up. Of several VLAN tags the innermost is left. False: too short for its own header.
 */
bool rs_link_to_ethernet(uint32_t link, struct rs_link_frame *f, uint8_t *room);

#endif
