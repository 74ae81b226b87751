/*
 * Load balancers of a sender: which entropy value its next packet carries. Switches hash it, so
 * that it chooses the path; what came of earlier packets teaches some balancers which to take
 * again. Any transport whose packets may overtake each other can use one: it is pure, draws its
 * random numbers from its own stream, and its memory is the owner's.
 *
 * Cost: next() and told() touch one or two lines of memory. rs_balance_bytes(): 80 bytes for
 * oblivious, 96 for reps, n/2 more for bitmap, 512 more for mixed.
 */
#ifndef RS_CC_BALANCE_H
#define RS_CC_BALANCE_H

#include <stddef.h>
#include <stdint.h>
#include "base/random.h"
#include "base/time.h"

enum rs_balance_kind {
	/* all n values in turn, in an order that is drawn anew each time; deaf to feedback */
	RS_BALANCE_OBLIVIOUS,
	/* the same walk, which passes over values that were marked, trimmed or lost */
	RS_BALANCE_BITMAP,
	/* Recycled entropy (Bonato et al., arXiv 2407.21625): values of unmarked ACKs, the oldest
	 * first; none waits: a random one. After a loss only known ones. */
	RS_BALANCE_REPS,
	/* values of unmarked ACKs without a limit of eight; none waits: bitmap's walk */
	RS_BALANCE_MIXED,
	/* one value for all packets, as a queue pair has it */
	RS_BALANCE_FIXED,
	RS_BALANCES
};
/* By kind; ended by NULL. */
extern const char *const rs_balance_names[RS_BALANCES + 1];

/* What a packet of an entropy value met. */
enum rs_path_feedback {
	RS_PATH_GOOD,
	RS_PATH_MARKED,  /* ECN's CE */
	RS_PATH_TRIMMED, /* cut or dropped elsewhere than at the receiver's own port */
	RS_PATH_TIMEOUT,
};

enum { RS_BALANCE_VALUES_MAX = 32768, RS_BALANCE_KEPT = 256 };

struct rs_balance_conf {
	enum rs_balance_kind kind;
	uint16_t n;     /* values; a power of two, 1 .. RS_BALANCE_VALUES_MAX; 64 */
	rs_time freeze; /* REPS: so long after a timeout it takes known values alone; 0: never */
};

struct rs_balance;

/* Bytes of one, which begin where a pointer may. */
size_t rs_balance_bytes(const struct rs_balance_conf *c);
void rs_balance_init(struct rs_balance *b, const struct rs_balance_conf *c,
		     struct rs_random random);
/* The next packet's. */
uint16_t rs_balance_next(struct rs_balance *b, rs_time now);
/* Of which a transport that coalesces ACKs tells a part. */
void rs_balance_told(struct rs_balance *b, uint16_t value, enum rs_path_feedback what, rs_time now);

#endif
