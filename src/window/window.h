/*
 * What may be on its way to peers' sockets: a full one drops packets, which hardware's never is.
 * All queue pairs of one device that send to one socket share a window in bytes, as Linux charges
 * them to it. The socket's owner says what it can take (grant.h). What the transport acknowledges
 * leaves the window with its ACKs; what is never acknowledged (UC, UD, responses to READs) by the
 * answer to a question that goes behind it to the same socket, first in, first out.
 *
 * A pure state machine: events go in, orders and questions come out. It does no I/O, reads no
 * clock, starts no thread, and allocates nothing after rs_window_init(). Calls carry a time that
 * never goes back. Whatever a peer says is a claim: it can only make the window towards itself
 * wider, up to most_bytes, or narrower, down to least_bytes.
 */
#ifndef RS_WINDOW_WINDOW_H
#define RS_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"
#include "window/tuning.h"
#include "wire/packet.h"

enum { RS_WINDOW_NONE = -1, RS_WINDOW_BUCKETS = 4096 };

/* A peer's socket: a pair of addresses by the owner's number of it, which of those that had the
 * number it is, and the top byte of the QPNs that the socket's process holds. */
struct rs_window_to {
	uint32_t path;
	uint16_t generation;
	uint8_t slot;
};

struct rs_window_config {
	uint32_t max_qps;        /* queue pairs are numbers below this */
	uint32_t first_question; /* any number; one that cannot be foreseen makes answers hard to
				  * forge
				  */
	const struct rs_window_tuning *tuning; /* borrowed; NULL: the defaults */
};

/* Of a peer: what is never acknowledged, in bytes as they are charged, ever since. */
struct rs_window_loose {
	uint64_t sent, gone; /* gone: that has left the peer's socket */
	rs_time first_at;
	bool closed;
};

struct rs_window_peer {
	struct rs_window_to to;
	bool used, closed;
	bool whole;    /* what goes as one send arrives as one */
	bool silent;   /* an ACK was waited for in vain: what was sent may lie there still */
	bool ours;     /* it answers */
	bool stranger; /* it does not: what is loose is not counted */
	bool fillers;  /* it drops what follows an ICRC */
	bool due;      /* in the line of those to be asked */
	uint32_t qpn;  /* of the peer's, that was last sent to */
	uint64_t window, charged;
	struct rs_window_loose loose;
	uint32_t question; /* that is under way; 0: none */
	uint64_t mark;     /* of loose.sent, when the question first went */
	rs_time asked_first, asked_at;
	uint32_t asked;    /* times, since its last answer */
	rs_time cut_at;    /* when responses to READs were last lost */
	uint64_t cut_mark; /* of loose.sent, then */
	int32_t first;     /* its queue pairs */
	int32_t next;      /* of its hash chain, or of the free list */
	int32_t next_due;
};

struct rs_window_qp {
	int32_t peer, next, prev;
	int32_t next_order, next_count;
	uint64_t bytes, charged;
	bool loose;   /* UC or UD: all of it is loose */
	bool ordered; /* in the line of those whose orders may have changed */
	bool count;   /* what it has on its way is to be counted */
	uint8_t held; /* enum rs_window_hold, as the owner was told */
};

struct rs_window {
	const struct rs_window_tuning *tuning;
	struct rs_window_qp *qp;
	struct rs_window_peer *peer;
	int32_t bucket[RS_WINDOW_BUCKETS];
	uint32_t max_qps;
	int32_t max_peers, fresh, free;
	int32_t orders, counts; /* queue pairs with orders; with counts that are wanted */
	int32_t due;
	uint32_t questions;
	uint32_t closed;  /* windows that are, both kinds */
	uint64_t charged; /* towards all peers */
	rs_time look_at;  /* RS_NEVER: nothing is to be looked at */
};

/* -ENOMEM. */
int rs_window_init(struct rs_window *w, const struct rs_window_config *c);
void rs_window_fini(struct rs_window *w);

/* ---- Events ---- */

/*
 * A queue pair is about to send to a socket: it shares that window from now on, and is held while
 * it is closed. loose: it is of UC or UD. Returns the bytes that are on their way there.
 */
uint64_t rs_window_join(struct rs_window *w, uint32_t qp, const struct rs_window_to *to,
			bool loose);
/* The queue pair was reset or destroyed: it has nothing on its way and is not held. */
void rs_window_left(struct rs_window *w, uint32_t qp);
/* A packet of a queue pair is about to go. True: an ACK should be asked for with it. */
bool rs_window_before(struct rs_window *w, uint32_t qp, const struct rs_window_to *to,
		      const struct rs_packet *p, rs_time now);
/* And went: alone in its send, or behind another. */
void rs_window_sent(struct rs_window *w, uint32_t qp, const struct rs_packet *p, bool alone,
		    rs_time now);
/*
 * n more like p are about to go behind it in its send: so many may before the window closes. *ask:
 * from this one on, an ACK should be asked for, of those that are acknowledged. And they went.
 */
uint32_t rs_window_before_more(const struct rs_window *w, uint32_t qp, const struct rs_packet *p,
			       uint32_t n, uint32_t *ask);
void rs_window_sent_more(struct rs_window *w, uint32_t qp, const struct rs_packet *p, uint32_t n,
			 rs_time now);
/* A response came for a queue pair. unacked: bytes of frames that it has on its way yet; lost: the
 * response says that something was lost. */
void rs_window_acked(struct rs_window *w, uint32_t qp, uint64_t unacked, bool lost);
/* The same without a response: the answer to RS_WINDOW_COUNT. */
void rs_window_counted(struct rs_window *w, uint32_t qp, uint64_t unacked);
/*
 * A READ of a queue pair here was asked for again, by a peer that takes responses in order alone:
 * one was lost, and all behind it. No ACK tells of that. The window is halved, as for a NAK.
 */
void rs_window_reads_lost(struct rs_window *w, uint32_t qp, rs_time now);
/* A timeout sends again what may be lost, or may wait for a process that does not run. */
void rs_window_timeout(struct rs_window *w, uint32_t qp);
/* A peer's socket answers a question, or says something unasked (question 0): how much it takes,
 * and whether what goes to it as one send arrives as one. */
void rs_window_answered(struct rs_window *w, const struct rs_window_to *to, uint32_t question,
			uint64_t bytes, bool whole);
/* The same answer says whether the peer drops what follows an ICRC (wire/filler.h). Before it. */
void rs_window_drops_fillers(struct rs_window *w, const struct rs_window_to *to, uint32_t question,
			     bool drops);
/* Time passed: due at w->look_at, harmless sooner. */
void rs_window_look(struct rs_window *w, rs_time now);

/* ---- Orders and questions ---- */

enum rs_window_hold { RS_WINDOW_HOLD_REQUESTS = 1, RS_WINDOW_HOLD_READS = 2 };

struct rs_window_order {
	uint32_t qp;
	bool count;   /* say by rs_window_counted() what it has on its way, or that it left */
	uint8_t held; /* else: it may send none of these; all others. enum rs_window_hold */
};

/* The next order; false: there is none. After each event, until there is none. */
bool rs_window_next(struct rs_window *w, struct rs_window_order *o);
static inline bool rs_window_has_orders(const struct rs_window *w)
{
	return w->orders != RS_WINDOW_NONE || w->counts != RS_WINDOW_NONE;
}

struct rs_window_question {
	struct rs_window_to to;
	uint32_t qpn; /* a queue pair of the peer's, which the asker must know */
	uint32_t number;
	unsigned copies; /* to send, where packets were lost of late */
};

/* The next question; false: there is none. Once all that was sent has left this host, until there
 * is none: the question is behind it. */
bool rs_window_ask(struct rs_window *w, rs_time now, struct rs_window_question *q);

/* Does a queue pair share a window? Then *charged is what is on its way there. */
static inline bool rs_window_joined(const struct rs_window *w, uint32_t qp, uint64_t *charged)
{
	int32_t peer = qp < w->max_qps ? w->qp[qp].peer : RS_WINDOW_NONE;

	*charged = peer == RS_WINDOW_NONE ? 0 : w->peer[peer].charged;
	return peer != RS_WINDOW_NONE;
}

/* Does who it sends to drop what follows an ICRC? One that is silent may be another process by now.
 */
static inline bool rs_window_fills(const struct rs_window *w, uint32_t qp)
{
	int32_t peer = qp < w->max_qps ? w->qp[qp].peer : RS_WINDOW_NONE;

	return peer != RS_WINDOW_NONE && w->peer[peer].fillers && !w->peer[peer].silent;
}

/* ---- For reports and tests ---- */

/* Does a packet count, and how? */
enum rs_window_kind { RS_WINDOW_FREE, RS_WINDOW_ACKED, RS_WINDOW_LOOSE };
enum rs_window_kind rs_window_kind(const struct rs_packet *p);
/* NULL: there is none. */
struct rs_window_peer *rs_window_find(const struct rs_window *w, const struct rs_window_to *to);
/* Bytes that may be on their way to it: a packet may go while less is. */
uint64_t rs_window_bytes(const struct rs_window *w, const struct rs_window_peer *p);
/* Sums, lists and flags agree, or it aborts. */
void rs_window_check(const struct rs_window *w);

/* Between window.c and loose.c. */
void rs_window_mark(struct rs_window *w, int32_t qp);
void rs_window_mark_all(struct rs_window *w, const struct rs_window_peer *p);
void rs_window_open(struct rs_window *w, struct rs_window_peer *p);
void rs_window_want(struct rs_window *w, struct rs_window_peer *p);
void rs_loose_sent(struct rs_window *w, struct rs_window_peer *p, uint64_t charge, rs_time now);
/* So many of n packets of that charge may go before it closes. */
uint32_t rs_loose_before_more(const struct rs_window *w, const struct rs_window_peer *p,
			      uint64_t charge, uint32_t n);
void rs_loose_close(struct rs_window *w, struct rs_window_peer *p);
void rs_loose_answered(struct rs_window *w, struct rs_window_peer *p);
void rs_loose_look(struct rs_window *w, struct rs_window_peer *p, rs_time now);

#endif
