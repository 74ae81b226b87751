/*
 * Packets that a capture shows as one: a host that leaves the cutting to its network card
 * (UDP_SEGMENT), or that gathers what arrived (UDP_GRO), has one IP packet of many UDP payloads
 * where its captures are taken. Their ICRCs tell where one ends: each is over a header of its own.
 */
#ifndef RS_WIRE_SEGMENT_H
#define RS_WIRE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_segments {
	const uint8_t *frame;
	size_t ip, udp, bytes; /* where they begin; of the UDP payload */
	bool ipv6;
	size_t size; /* of each payload but the last, which may be shorter */
	unsigned n;
};

enum { RS_SEGMENTS_MAX = 128, RS_SEGMENT_ROOM = 4400 };

/* False: it is not such a frame. likely: a size to try first; 0: none. */
bool rs_segments_find(const uint8_t *frame, size_t n, size_t likely, struct rs_segments *s);
/* The k-th as an Ethernet frame of its own; its length, at most RS_SEGMENT_ROOM. */
size_t rs_segment_get(const struct rs_segments *s, unsigned k, uint8_t *out);

#endif
