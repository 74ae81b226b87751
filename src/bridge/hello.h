/*
 * Private to bridge/: what switches of one described network tell their neighbours, in a frame of
 * the EtherType that IEEE 802 leaves to experiments (0x88b5), to the group address of the nearest
 * bridge (802.1Q-2022 table 8-1). It says which switch sends it, and at which port, so that a wrong
 * cable is seen, and which address is behind which endpoint. A switch passes on what is new to it
 * by all its links before it forwards the frame that taught it: so no switch on any path has to
 * guess.
 *
 *   0  group address, sender's address, EtherType
 *   14 "RSB" and version 1
 *   18 digest of the description (8), switch (4), port (2), flags (1), places (1)
 *   34 a place: address (6), endpoint (4), stamp (8)
 *
 * Numbers are big-endian.
 */
#ifndef RS_BRIDGE_HELLO_H
#define RS_BRIDGE_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HELLO_ETHERTYPE = 0x88b5,
	HELLO_HEAD = 34,
	HELLO_PLACE = 18,
	HELLO_PLACES = 64, /* of a frame: it fits an MTU of 1500 */
	HELLO_MAX = HELLO_HEAD + HELLO_PLACES * HELLO_PLACE,
};

struct hello_place {
	uint8_t address[6];
	uint32_t endpoint;
	uint64_t stamp;
};

struct hello {
	uint64_t digest;
	uint32_t sw;
	uint16_t port;
	bool asks; /* to be told all that the receiver knows */
	uint8_t n;
	struct hello_place place[HELLO_PLACES];
};

/* Bytes of the frame, at least Ethernet's 60. */
size_t hello_encode(const struct hello *h, const uint8_t from[6], uint8_t out[HELLO_MAX]);
/* False: it is none, or cut off, or of another version. */
bool hello_decode(const uint8_t *frame, size_t n, struct hello *out);

#endif
