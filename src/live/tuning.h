/*
 * When the live world looks, waits, gathers and gives up: each threshold, with its unit, what chose
 * it, and what half and twice of it cost (x/2, 2x) by bench/live/sweep. That counts what a busy
 * machine leaves alone: system calls, wake-ups, sends, ACKs and packets sent again a message, and
 * memory; in WRITEs, READs and SENDs over veth and through memory, asleep and polling, paced and at
 * 1 % loss. "No difference" says that no count of x/2 or 2x left the range of the default's own
 * runs by a tenth in every run, of 2 or 3. "Measured" names other figures: bench/README.md (its
 * section "Live"), or a commit's message. "A limit" is what may be waited for once: the wait is the
 * cost, half of it for x/2. window/tuning.h has the thresholds of windows, grants and runs: the
 * member window. Sizes of tables and batches are not here: they are limits, beside what they limit.
 */
#ifndef RS_LIVE_TUNING_H
#define RS_LIVE_TUNING_H

#include <stdint.h>
#include "base/time.h"
#include "rdma/nic.h"
#include "window/tuning.h"

struct rs_live_tuning {
	/* ---- Who drives: the application that polls, or the thread; ns ---- */

	/* The application polled so lately: it drives. x/2, 2x: no difference. */
	int64_t polling_ns;
	/* Or now and then: it may be about to answer, and ACKs may wait. x/2, 2x: no difference. */
	int64_t active_ns;
	/* The thread looks at least so seldom, and at most, whether the application still polls:
	 * after a share (1 of look_share) of the time that it did. Measured (60f9803): a look takes
	 * some 20 us of a core from who polls; small messages 0.15 million a second before, 0.5
	 * to 1.2 after. x/2, 2x of each: no difference. */
	int64_t look_ns, look_max_ns, look_share;
	/* A packet waited for the end of a nap: the application polls now and then, but spins on
	 * its memory (ib_write_lat). Then the thread does not nap for so long; unless the
	 * application polled so shortly before, or nothing was there, so many times in a row: the
	 * thread only took the core from it. Measured as a whole (de2d341): 2 bytes over veth, p50,
	 * loaded cores, 37 us with a thread that woke itself time and again, 5.1 so. x/2,
	 * 2x of each: no difference. */
	int64_t watch_ns, shortly_ns, needless_max;
	/* Polls in vain for so long: the peer may want the core. x/2, 2x: no difference. */
	int64_t spin_ns;
	/* Looks of the thread at an application that minds the device, and has not moved: then it
	 * sleeps. x/2, 2x: no difference. */
	unsigned aside_looks;
	/* The thread's longest sleep: events wake it before. x/2, 2x: no difference. */
	int64_t sleep_ns;

	/* ---- What is looked at, and how often; ns ---- */

	/* Packets that landed in another process are few: the socket between processes, while
	 * nothing else came and while something did. x/2, 2x: no difference. */
	int64_t stray_ns, stray_max_ns;
	/* Rings, by the thread: between looks while the application polls, and how long it looks
	 * without sleep when it does not. x/2, 2x of the first, x/2 of the second: no difference.
	 * 2x of the second: 5 times the CPU time, and 27 calls for 1.6, a message of 2 bytes while
	 * both cores have other work. */
	int64_t ring_look_ns, ring_spin_ns;
	/* Such a look, or the end of a nap, that comes so late, of an application that did not poll
	 * meanwhile: it keeps the thread from its core. Linux's slice of a real-time priority is
	 * 100 ms. Measured: ib_write_lat of 2 bytes over veth at such a priority took 170 to 330
	 * us on average while naps did not count, 15 to 24 so. */
	int64_t starved_ns;
	/* The same while the application sleeps on its completions: the core may be the one that it
	 * is to wake on. Measured: with 5 us streams of 64 KiB carried a tenth less; with 20 us 64
	 * bytes took 3.0 calls to receive, 2.1 without. */
	int64_t ring_spin_sleeper_ns;
	/* Polls without a new request to be told that make an application one that polls. Measured:
	 * with 8 rsockets' looks before a sleep counted as such, and 64 bytes took 44 us, not 27.
	 * x/2, 2x: no difference. */
	unsigned sleeper_polls;
	/* A ring brought something so lately: the rings bring what comes, and the UDP socket is
	 * looked at so seldom. Measured as a whole (0afa21c): 2 bytes through memory in 0.35 us,
	 * 0.52 before. socket_ns: a message of 64 KiB takes 0.27 looks at x/2, 0.16 at x, 0.11 at
	 * 2x, of 2.9 calls in all; ring_busy_ns: no difference. */
	int64_t ring_busy_ns, socket_ns;
	/* Between looks at whose process is gone. x/2, 2x: no difference. */
	int64_t ring_check_ns;
	/* Records read of one ring in one go, before others are looked at: 256 of 2 bytes take some
	 * 20 us. x/2, 2x: no difference. */
	uint32_t ring_round;
	/* Calls in a row that find a datagram until more than one is asked for: while they come
	 * singly, what one brings does not wait for a look at the next. x/2, 2x: no
	 * difference. */
	uint32_t rx_singly;
	/* Calls to the kernel of one look: ACKs go after each. x/2, 2x: no difference. */
	uint32_t rx_rounds;
	/* Cycles of the processor within which the clock is not read again: 0.3 to 0.5 us. x/2, 2x:
	 * no difference. */
	uint64_t clock_cycles;

	/* ---- Streams ---- */

	/* So many bytes with no longer gaps: a stretch of a stream. Behind the first it is left to
	 * gather in the socket for pause_ns, less where a small buffer would fill an eighth at 1
	 * byte a pause_bytes_a_ns-th of a ns, and not at all below pause_min_ns. Measured
	 * (bench/README.md): with 80 us the receiver takes 0.16 calls and ACKs a message of 64 KiB.
	 * A message of 1 MiB takes 46 calls and 7.0 wake-ups at x/2, 38 and 4.5 at x, no fewer
	 * calls and 2.7 wake-ups at 2x, which puts every ACK off for longer. Twice stream_gap_ns:
	 * 51 calls. x/2, 2x of the others: no difference. (Swept with 512 KiB and pauses in any
	 * stream.) */
	uint64_t stream_bytes;
	int64_t stream_gap_ns, pause_ns, pause_min_ns, pause_bytes_a_ns;
	/* Pauses are made where a stretch takes no more per cent longer with them than without,
	 * which is measured anew after so many, and after one that was slower. So many slower ones
	 * in a row agree that pauses slow; then they rest for so many stretches at first, twice as
	 * many each time, and at most. By judgement: test_gather holds that no sender that waits
	 * for ACKs is slowed by more. Measured as a whole (bench/README.md): 64 KiB, one at a
	 * time, 4 Gb/s before, 10 so; and with 1 that was enough, streams beside other work went
	 * without pauses, 1.1 of bare sends where 1.5 is had. Not swept yet. */
	unsigned stream_slower, stream_tries, stream_agree, stream_rest, stream_rest_most;
	/* Of a pause so much is left: the program's poll may sleep rest_ns of it, 20 us, to which
	 * Linux adds 50 at most. Measured (bench/README.md): a receiver of SENDs that spins
	 * meanwhile takes lines of the socket and, on a virtual machine, speed from its sender: 1.0
	 * to 1.4 of bare sends for 1.6 to 1.7. */
	int64_t pause_rest_ns;
	/* Bytes of a datagram, or of coalesced ones, that belong to a stream (measured: WRITEs of
	 * 10,000 bytes 7.4 Gb/s with 16 KiB, 14.0 so); and that have their ACKs not wait for
	 * answers. Of the second x/2: 10 % more calls to receive where 64 bytes stream; 2x: no
	 * difference. */
	uint64_t gather_bytes, bulk_bytes;
	/* Bytes on their way: what is posted may wait for the next poll. Measured as a whole
	 * (122f2aa): RC WRITE of 64 KiB 0.57 of raw UDP before, 0.68 after. x/2, 2x: no difference.
	 */
	uint64_t defer_bytes;
	/* Posts in a row may wait for one another, up to so many, which is what one send takes. A
	 * row with a poll within prompt_ns earns send_ns for each send less (two to four times as
	 * much was measured); a later poll pays for how late it is. Held from earn_least_ns on: a
	 * thread's look later, at most 2 ms, is what the first that wait in vain (in_vain_ns: the
	 * thread looks no sooner than look_ns) may cost. Each such time twice as much, up to
	 * earn_most_ns, is earned first, until earn_pardon times that has been: test_row holds
	 * that what is lost is no more than what is gained. Measured as a whole (bench/README.md):
	 * 0.2 million messages of 2 bytes a second without. Not swept yet. */
	unsigned gather;
	int64_t prompt_ns, send_ns, earn_least_ns, earn_most_ns, in_vain_ns;
	unsigned earn_pardon;
	/* Bytes on their way for longer than a short sleep takes: a poll in vain sleeps rest_ns,
	 * and the thread takes over no sooner than rest_late_ns after, however much that
	 * oversleeps. Measured as a whole (3182271): polls in vain took a fifth of the core, 20
	 * calls an ACK; none so. x/2, 2x of each: no
	 * difference. */
	uint64_t rest_bytes;
	int64_t rest_ns, rest_late_ns;

	/* ---- Sending ---- */

	/* Bytes of a batch, where a send ends. Measured (9f15187): a batch that ended by count cut
	 * a message's last send, 3 where 2.1 would do at path MTU 1024. x/2: 13 calls to
	 * send 1 MiB, 2x: 6.6, x: 8.6, at the same CPU time; x is what the caches hold. */
	uint64_t enough_bytes;
	/* Payloads from here on are sent from where they lie, shorter ones copied: a piece costs
	 * the kernel more than copying 1024 bytes, less than copying 4096. x/2, 2x: no difference.
	 */
	uint64_t by_reference_bytes;
	/* ACKs may wait for data so long: while the application polls, and while it spins on its
	 * memory. Measured as a whole (122f2aa): ib_write_lat of 2 bytes, typical, 38 us
	 * before, 5.6 after. The first with 5 us: rstream of 64 bytes by turns sent 2.0 datagrams a
	 * message and took 18 us, on a machine at half its speed; 1.1 and 12.5 with 15 us. x/2, 2x
	 * of it: no difference. */
	rs_time ack_hold_polled, ack_hold;
	/* And only of a program that answered so many in a row, each within answered_within: the
	 * longest that the thread keeps the core of a program that has one. Measured: within
	 * ack_hold instead, ib_write_lat of 2 bytes through memory, a core for each end, took 540
	 * us, typical; 0.5 to 0.8 so, with 0.5 to 8 before there was such a rule. x/2, 2x of both:
	 * no difference. */
	unsigned answers;
	rs_time answered_within;
	/* Packets that pacing lets go while all sleep go at once then, up to so much of them: four
	 * times Linux's default timer slack of 50 us. x/2, 2x: no difference. */
	rs_time pace_late;
	/* Pacing is kept on average: packets due so soon go with those that are due. x/2: no
	 * difference; 2x: 10.5 sends a message of 64 KiB at 2 Gb/s, 12 to 17 at x, in bursts twice
	 * as long. */
	rs_time ahead;
	/* Sends in a row with one TOS until it becomes the socket's own. Naming it with each send
	 * costs 0.2 us with the source address (bench/README.md). x/2, 2x: no difference. */
	int64_t tos_in_a_row;

	/* ---- Timers ---- */

	/* ACK timeouts that are found so late are put off once, by so much: rs_nic_config.rto_late.
	 * Late: ten times what a sleep oversleeps on an idle core; in property_window's worlds x/2
	 * and 2x change 0.2 %. Grace: the peer may have to wait for a core, too: eight processes'
	 * slices of 3 ms, twice. There x/2 sends 1.6 % more packets again and takes 1 % longer, 2x
	 * takes 1.5 % less. property_window holds that it is enough. */
	rs_time rto_late, rto_grace;
	/* So long is a receiver that is not ready asked again: rs_nic_config.rnr_grace. As long as
	 * one wait of a connection by Linux's rdma_cm (its min_rnr_timer is 0: 655 ms, cm.c), where
	 * ours waits 0.64 ms, as a process that shares a core is late by turns of it. Without it
	 * five tries were over in 3 ms, and pyverbs' test_rdmacm_async_traffic_external_qp failed
	 * now and then beside four busy processes. */
	rs_time rnr_grace;
	/* The least ACK timeout, whatever a program asks: a process that does not run for a while
	 * is no lost packet. IBTA §9.9.2.1.1 lets a timeout of 67 ms (perftest's) come up to four
	 * times as late. In property_window's worlds, which lose packets, x/2 takes 16 % less time
	 * and sends 0.9 % more again, 2x takes 19 % more and sends 1 % less. */
	rs_time min_rto;

	/* Two round trips and so long without an answer: the tail may be lost, and is asked about
	 * by two packets of it (rs_nic_config.probe). So long passes from one queue pair's probe
	 * to the next one's: without that, 64 queue pairs of 32 KiB WRITEs filled the peer's
	 * socket (interop_flight). At 1 % loss, going back, x/2 takes 14 % fewer
	 * calls to receive, 2x 10 % fewer sends: an answer that is only late costs little. */
	rs_time probe;

	/* Selective recovery, where both ends are told to (RIPSTOP_RECOVERY). Sockets keep order,
	 * so little time is left to what is late; a process that waits for a core answers late, so
	 * that timeouts are long beside IRN's. In flight: 2 MiB at a path MTU of 4096; a queue
	 * pair's memory is 80 bytes for each of 4 times as many packets. At 1 % loss two runs of
	 * the default differ by 5 times in packets sent again, as all processes wait for cores: no
	 * measurement chose among x/2, x and 2x. */
	struct rs_selective selective;
	/* Packets behind which an ACK goes that was not asked for, or is asked for: what a receiver
	 * of 64 KiB at path MTU 4096 sends, one a message. x/2, 2x: no difference. And at a smaller
	 * path MTU so many bytes, going back: a datagram of 61 packets had an ACK of its own.
	 * Measured (bench/README.md): an rsocket's 128 KiB at path MTU 1024 had 2.5 ACKs, 1.8 so,
	 * with what else changed. Not swept yet. */
	uint32_t ack_every, ack_bytes;

	/* ---- Rings between processes ---- */

	/* A process that has not mapped its ring within this never will. A limit. */
	rs_time ring_attach;
	/* A process that ends waits so long for readers that have not mapped its rings: what it
	 * sent unreliably is lost with them. A limit: slices of some ten processes that wait for
	 * one core, many times over. */
	unsigned ring_linger_ms;
	/* A full ring that is not read for so long: its packets are lost, as in a socket that is
	 * full. A limit: four of the transport's least timeouts. */
	rs_time ring_stall;
	/* The same for one of another container, which is given up then. A limit: what a peer that
	 * is not trusted may cost once. */
	rs_time near_stall;
	/* A ring to another container is asked for again after near_again, near_tries times, then
	 * and after a refusal each near_rest. A limit: four datagrams, then one in 30 s. */
	rs_time near_again, near_rest;
	unsigned near_tries;
	/* Between looks at what waits for room, or for a copy. x/2, 2x: no difference. */
	rs_time ring_again;
	/* Halves of runs that a sender copies to one peer in one go, before it looks at others: 4
	 * of 128 KiB take some 20 us. x/2, 2x: no difference. */
	unsigned run_pushes;
	/* Longer than any copy takes: the process at it is stopped, and its ring is given up. A
	 * limit. */
	rs_time run_copy;
	/* A copy that takes longer is waited for with looks at whether its process is there: one of
	 * 256 KiB takes some 20 us. x/2, 2x: no difference. */
	rs_time run_look;
	/* Bytes of a message that is worth a run: below, its packets are few. x/2, 2x: no
	 * difference at 64 KiB and 1 MiB, which both are runs either way. */
	uint32_t run_bytes;
	/* Bytes of a stretch by which the two ways to write a ring's stage are compared, a gap that
	 * breaks one, and of how many stretches one goes the slower way (window/ways.h). Measured:
	 * by the cache 2.5 to 33 GB/s, as a virtual machine's cores lie; past it 15 to 19. x/2, 2x
	 * of each: no difference. */
	uint32_t stage_stretch;
	int64_t stage_break_ns;
	unsigned stage_tries;
	/* So many stretches in a row that took longer than the other way did last. With 1, one that
	 * was slow for another reason was followed by a whole one of the slower way, of up to 8
	 * times the time: test_ways holds what that may cost. x/2, 2x: not swept yet. */
	unsigned stage_agree;

	/* ---- Between processes of a host; ms ---- */

	/* For an answer of who has the registry; then the question is asked again. A limit. */
	int registry_ask_ms;
	/* Until another comer is done. A limit. */
	int registry_retry_ms;
	/* Until a comer gives up: another process is there, and does not answer. A limit. */
	int registry_slow_ms;
	/* Between tries to hand a management datagram to another process; a time of the device's.
	 * A limit: a socket holds ten, so 20,000 a second. */
	rs_time pending_again;
	/* For another process's counters. A limit. */
	int counters_ms;
	/* Another thread has the device's lock for less, and looks at whether it does. A limit. */
	int lock_ms, lock_look_ms;

	/* ---- Sockets; bytes ---- */

	/* Of a socket's buffers, where the administrator allows it: Linux counts twice as much. 64
	 * MiB take 5 ms of a 100 Gb/s link. x/2, 2x: no difference, in memory neither. */
	int receive_buffer, send_buffer;

	/* Windows, grants, runs: window/tuning.h. */
	const struct rs_window_tuning *window;
};

extern const struct rs_live_tuning rs_live_tuning;

#endif
