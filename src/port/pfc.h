/*
 * Priority-based flow control as a switch's port and a NIC's do it alike (802.1Q-2022 clause 36,
 * 802.3 annexes 31B and 31D): a PAUSE heard, obeyed and over; the frame; headroom and times.
 */
#ifndef RS_PORT_PFC_H
#define RS_PORT_PFC_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"
#include "wire/packet.h"

enum { RS_QUANTUM_BYTES = 64, RS_QUANTA_MAX = 65535 }; /* 512 bit times; the field's 16 bits */
#define RS_PAUSE_RESPONSE_802_3 (-1) /* in place of a time: rs_pfc_response_time() */

/* What a peer's PAUSE does to one class of an egress. */
struct rs_pause {
	rs_time since; /* obeyed from then on: later than it was heard by the port's response time
			*/
	rs_time until;
};

/* Classes of an egress whose PAUSE is obeyed, and those whose PAUSE is not obeyed yet. */
struct rs_paused {
	uint8_t now, heard;
};

/*
 * A PAUSE for class c came that ends at `until`, or a RESUME (until <= now). A port that goes on
 * sending for `response` after a PAUSE may also begin at once when a RESUME has come. True: what
 * was paused may send again; since and until are as they were.
 */
static inline bool rs_pause_heard(struct rs_paused *p, struct rs_pause *t, unsigned c,
				  rs_time until, rs_time response, rs_time now)
{
	uint8_t bit = (uint8_t)(1u << c), was = p->now & bit;

	if (until <= now) {
		p->now &= (uint8_t)~bit;
		p->heard &= (uint8_t)~bit;
		return was;
	}
	t->until = until;
	if (was || p->heard & bit)
		return false;
	t->since = now + response;
	*(response ? &p->heard : &p->now) |= bit;
	return false;
}

/* Time has passed: a PAUSE that was heard is obeyed from `since` on if it is not over by then.
 * True: a class that was paused may send again. */
static inline bool rs_pause_passes(struct rs_paused *p, const struct rs_pause *t, unsigned c,
				   rs_time now)
{
	uint8_t bit = (uint8_t)(1u << c);

	if (p->heard & bit && (t->since <= now || t->until <= now)) {
		p->heard &= (uint8_t)~bit;
		if (t->until > now)
			p->now |= bit;
		return false;
	}
	if (!(p->now & bit) || t->until > now)
		return false;
	p->now &= (uint8_t)~bit;
	return true;
}

/* When rs_pause_passes() is to be asked about c, which is paused or heard. */
static inline rs_time rs_pause_deadline(const struct rs_paused *p, const struct rs_pause *t,
					unsigned c)
{
	return p->heard >> c & 1 ? rs_time_min(t->since, t->until) : t->until;
}

static inline rs_time rs_quanta_time(struct rs_pace pace, uint32_t quanta)
{
	return rs_pace_time_long(pace, (uint64_t)quanta * RS_QUANTUM_BYTES);
}

/* Makes k the frame of a port: of classes due, and of all that it pauses, as one timer refreshes
 * them. Its length is the caller's. */
void rs_pfc_fill(struct rs_packet *k, uint8_t due, uint8_t pausing, uint16_t quanta);

/*
 * PFC headroom (802.1Q-2022 annex N): bytes that still arrive after the decision to pause. rate:
 * bits per second; delay: one way over the cable; max_frame with FCS, without preamble; response:
 * the peer's time to obey in quanta.
 */
uint64_t rs_pfc_headroom(int64_t rate, rs_time delay, uint32_t max_frame, uint32_t response_quanta);
/* Buffer that so many bytes on a link may take: whole cells of the frames that fill them worst. */
uint64_t rs_pfc_headroom_cells(uint64_t link_bytes, uint32_t cell);
/* 802.3 annex 31B.3.7: a port of this rate sends no new frame so many quanta after a PAUSE came. */
uint32_t rs_pfc_response_quanta(int64_t rate);
rs_time rs_pfc_response_time(int64_t rate);
/*
 * The least quanta of a PAUSE that holds its peer: one that ends before the peer must obey and has
 * sent the frame that it was at holds nothing, and one that is sent again at half its time behind a
 * frame of its own port must not be over when that arrives.
 */
uint32_t rs_pfc_least_quanta(uint32_t response_quanta, uint32_t max_frame);

#endif
