/*
 * The thresholds of windows, of grants and of runs, each with its unit and what chose it: the part
 * of live/tuning.h that works without a socket or a clock. What x/2 and 2x cost is by
 * bench/live/sweep: of the first 200 of property_window's worlds, the same in each run (packets
 * sent again, questions, packets lost to full sockets, virtual time; hostile worlds, so that
 * packets are lost). Over veth without loss x/2 and 2x of each make no difference.
 */
#ifndef RS_WINDOW_TUNING_H
#define RS_WINDOW_TUNING_H

#include <stdint.h>
#include "base/time.h"

struct rs_window_tuning {
	/* ---- Windows ---- */

	/* Bytes of a peer that has not said what it can take: Linux's least default (rmem_default),
	 * as it charges a socket. More than 16 packets fit: what an ACK is asked for anyway.
	 * x/2 loses 14 % more to full sockets, 2x 24 % more and takes 4 % less time. */
	uint64_t unknown_bytes;
	/* Bytes that a window never goes below, whatever a peer says. x/2: 10 % more time, 7 %
	 * fewer sent again; 2x: 23 % less time, 16 % more sent again. */
	uint64_t least_bytes;
	/* Bytes that it never goes beyond: more than the caches hold is slower, not faster. x/2,
	 * 2x: 1 %. */
	uint64_t most_bytes;
	/* Bytes that Linux charges for a datagram of its own beside twice its length (up to 832),
	 * and for a segment of one send that is not cut beside its length: those lie in pages, side
	 * by side. Both rounded up. tests/interop/flight.sh: with them nothing is lost. Of
	 * alone_bytes 2x breaks a world (a window is too small for its share), x/2 takes 3 % less
	 * time; next_bytes: 2 %. */
	uint32_t alone_bytes, next_bytes;
	/* Between two questions to a peer that is sent to. A share of the socket changes when
	 * another process comes, which is told at once, or goes. x/2: 5 % more sent again, 2 % more
	 * questions; 2x: 2 % fewer sent again. */
	rs_time ask_every;
	/* To a peer's first answer; until then it has a window, too. x/2, 2x: no difference. */
	rs_time known_within;
	/* Until a question, which may be lost as its answer may, is asked again. x/2: 41 % more
	 * questions, 31 % more lost to full sockets, 6 % less time; 2x: 12 % fewer questions, 44 %
	 * fewer lost, 16 % more time. */
	rs_time again;
	/* Without an answer until a peer is a stranger: a process that does not run for a while is
	 * none; the same time as the transport's least timeout (live/tuning.h's min_rto). x/2: 67 %
	 * more lost to full sockets, 9 % fewer questions; 2x: 36 % fewer lost. */
	rs_time give_up;
	/* And asked so many times: of a process that did not run itself the time alone says nothing
	 * of its peer. known_asked for known_within. property_window holds them. give_up_asked of 2
	 * loses 14 % more to full sockets, of 10 5 % less; known_asked of 2 asks 14 % fewer
	 * questions and loses 7 % more, of 10 30 % more and 20 % fewer. */
	uint32_t give_up_asked, known_asked;
	/* Between two looks at windows that are closed; ACKs open them sooner. x/2: 6 % less time,
	 * 3 % more sent again; 2x: 2 % of each. */
	rs_time look_again;

	/* ---- Grants ---- */

	/* Eighths of a socket's buffer that are not granted: one for ACKs and datagrams, two as
	 * Linux counts what was read as lying there still, up to a quarter, until all was.
	 * Measured (3182271): 7/8 granted lost a datagram a second over veth at 64 KiB, 5/8
	 * none. 1: 15 % more sent again; 6 breaks worlds, whose windows are to be 5/8 at least. */
	uint32_t grant_reserved;
	/* A process that asks is forgotten after so long: three questions (ask_every) that did not
	 * come. x/2, 2x: 3 % of time. */
	rs_time grant_forget;

	/* ---- Runs between processes ---- */

	/* A sender that does not come for its grant does not run: the receiver copies its part,
	 * too. A half of 256 KiB takes some 10 us. x/2: no difference; 2x: twice the wake-ups a
	 * message of 1 MiB through memory, on loaded cores. */
	rs_time run_grant;
	/* Times that a sender whose request is over finds the receiver at a copy of the run, and
	 * waits, before it gives the ring up. Counted: a receiver that keeps to the rules copies
	 * from a run at most 3 times (what it reads as the run comes, the sender's half, and all
	 * of it packet by packet), so a fourth is of one that does not. Measured: 1 in each of
	 * 10,000 of property_copies' worlds, which also holds that no honest end is given up. */
	uint32_t run_stops;
};

extern const struct rs_window_tuning rs_window_defaults;

#endif
