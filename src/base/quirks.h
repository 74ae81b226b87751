/*
 * What other simulators do that no NIC or switch does, and that Ripstop does in order to be
 * compared with them. All false: the real protocol. Each is a key of the description that the
 * preset `ns-3` sets; docs/validation.md measures what each is worth (tools/validate
 * --differences).
 *
 * ns-3 here: the HPCC paper's, alibaba-edu/High-Precision-Congestion-Control at 9f4be2a9; every
 * variant of tools/validate is an answer of it. Its header lengths are no flag: wire/framing.h.
 */
#ifndef RS_BASE_QUIRKS_H
#define RS_BASE_QUIRKS_H

#include <stdbool.h>

struct rs_quirks {
	/* ---- Of a NIC ---- */

	/* A marked packet's ACK has BECN set, and no CNPs are sent (ns-3's qbb-header flag CNP).
	 * All DCQCN variants: with CNPs their means move by -13 to +6 %. */
	bool ack_echo;
	/* Serialization times and gaps between paced packets are cut to whole nanoseconds, as
	 * ns-3's Time does after a division in floating point. All variants: 0.1 to 0.7 %. */
	bool whole_ns;
	/* A rate that a timer raises does not hasten the packet that waits: ns-3 schedules it once.
	 * All DCQCN variants: 0.3 to 0.5 %. */
	bool pace_fixed;
	/* A packet carries any number of bytes, 64 to 4096: ns-3's PACKET_PAYLOAD_SIZE, 1000, or
	 * 990 and 998 in the `-exact` variants. A path MTU of RoCEv2 is a power of two. All
	 * variants. */
	bool any_payload;
	/* Windows and acknowledged bytes count payload, and a packet may go while less than the
	 * window is out, not only when it fits. HPCC's variants and `-vwin`. */
	bool window_payload;
	/* ACKs and NAKs go before all data, and PFC does not hold them: ns-3 gives them a queue
	 * that is never paused. The `-pfc` variants; in those that were measured it moves nothing.
	 */
	bool ack_unpaused;

	/* ---- Of a switch's ports and a NIC's ---- */

	/* A PAUSE lasts until its RESUME, however long: no quanta run out, none is sent again. The
	 * `-pfc` variants, with headroom_delays up to 3 %. */
	bool pause_holds;
	/* Headroom is what a link carries in three one-way delays, and the frame that crosses the
	 * threshold is in it; 802.1Q's is computed (port/pfc.h), for the frames behind that one. */
	bool headroom_delays;
	/* Dynamic thresholds' alpha doubles with each doubling of a port's rate above the fastest
	 * NIC's. `-pfc` variants of networks whose links are of several rates. */
	bool alpha_by_rate;
};

#endif
