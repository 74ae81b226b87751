/* Private to bridge/: the addresses that a switch knows, each behind an endpoint. */
#ifndef RS_BRIDGE_MACS_H
#define RS_BRIDGE_MACS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"
#include "bridge/bridge.h"

enum { MAC_BYTES = 6 };

struct bridge_mac {
	uint8_t address[MAC_BYTES];
	bool used;
	bool own; /* behind a port of this switch: it tells the others */
	uint32_t endpoint;
	rs_time seen;
	uint64_t stamp; /* of what its own switch said of it last: the greater is the newer */
};

/* A hash table of short runs: an address that finds no free place takes the oldest one's. */
struct bridge_macs {
	struct bridge_mac at[RS_BRIDGE_MACS];
	uint32_t used;
};

/* NULL: not known, or not seen for so long that it is forgotten. */
struct bridge_mac *bridge_mac_find(struct bridge_macs *t, const uint8_t *address, rs_time now);
/* Its place: as it was if it is known, else empty. Seen now. Not for a group address. */
struct bridge_mac *bridge_mac_place(struct bridge_macs *t, const uint8_t *address, rs_time now);
/* Seen within the time after which addresses are forgotten. */
bool bridge_mac_lives(const struct bridge_mac *m, rs_time now);
/* The clock is put back by so much. */
void bridge_macs_rebase(struct bridge_macs *t, rs_time by);

#endif
