/*
 * In-band telemetry of live packets, for congestion control that reads it (HPCC): a trailer behind
 * the ICRC (wire/telemetry.h), between two devices that both know it. A device whose RIPSTOP_CC
 * names such an algorithm says in its ACKs that it takes trailers; it sends one only to a peer that
 * said so, and returns the stamps of a request in that request's ACK. `ripstop switch` stamps. An
 * ACK without a stamp counts as one of the only hop that is known then: the sender's own port.
 */
#ifndef RS_LIVE_STAMPS_H
#define RS_LIVE_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/time.h"

struct rs_live;
struct rs_packet;

/* Where l->congestion has such an algorithm; else l->stamps stays NULL. -ENOMEM. */
int rs_stamps_init(struct rs_live *l);
void rs_stamps_fini(struct rs_live *l);

/* The functions below: only where l->stamps is there. */

/* A packet that came over the wire: bth is its BTH as it came, trailer NULL or what was behind it.
 */
void rs_stamps_read(struct rs_live *l, const uint8_t *bth, const uint8_t *trailer,
		    struct rs_packet *p);
/* Before the engine is given a packet, over the wire or through memory. */
void rs_stamps_complete(struct rs_live *l, struct rs_packet *p, rs_time now);

/* Is a packet that the engine gave to have a trailer? Its RS_PACKET_INT is cleared: the headers
 * are those of a packet without telemetry. */
bool rs_stamps_wanted(struct rs_live *l, struct rs_packet *p);
/* The bits of its BTH that speak of trailers, before its ICRC is computed. */
void rs_stamps_mark(const struct rs_packet *p, bool wanted, uint8_t *bth);

#endif
