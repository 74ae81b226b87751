/*
 * How many bytes a packet is on a link: RoCEv2's own sizes, or those of a simulator that Ripstop is
 * compared with. Chosen once a NIC and a link; nothing is decided for each packet.
 */
#ifndef RS_WIRE_FRAMING_H
#define RS_WIRE_FRAMING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"
#include "wire/packet.h"

enum rs_framing_kind { RS_FRAMING_ROCEV2, RS_FRAMING_NS3, RS_FRAMING_HTSIM, RS_FRAMINGS };

struct rs_framing {
	const char *name;
	uint16_t data;  /* header bytes of a packet with payload; 0: RoCEv2's, by its opcode */
	uint16_t ack;   /* an ACK or NAK before padding; 0: RoCEv2's */
	uint16_t least; /* a shorter ACK is padded to this */
	uint16_t pfc;   /* an 802.1Qbb frame */
	uint16_t gap;   /* what a frame takes on the link beside itself */
};

extern const struct rs_framing rs_framings[RS_FRAMINGS];

/* Frame bytes of a packet; telemetry: bytes of INT that it carries. */
uint16_t rs_framing_data(const struct rs_framing *f, uint8_t opcode, uint32_t payload, bool ipv6,
			 uint16_t telemetry);
uint16_t rs_framing_ack(const struct rs_framing *f, bool ipv6, uint16_t telemetry);

/* Time on a link or between two paced packets; whole_ns: of a clock that ticks in nanoseconds and
 * cuts what is between. */
static inline rs_time rs_framing_time(struct rs_pace pace, uint32_t bytes, bool whole_ns)
{
	rs_time t = rs_pace_time(pace, bytes);

	return __builtin_expect(whole_ns, 0) ? rs_whole_ns(t) : t;
}

#endif
