/*
 * ACKs may wait for the data that their program is about to answer with: both then reach the peer
 * together. Only for a program that is known to answer: one that ends without a word, by _exit()
 * or a signal, takes an ACK that waits with it, and its peer has an error for what arrived.
 *
 * An answer is the first data behind ACKs. That some ACKs waited in vain proves nothing: on a
 * machine with few cores the program may only run once the ACKs have left. Two of them without
 * data between do.
 *
 * A pure state machine, as window.h has it.
 */
#ifndef RS_WINDOW_ANSWERS_H
#define RS_WINDOW_ANSWERS_H

#include <stdbool.h>
#include "base/time.h"

struct rs_answers_tuning {
	unsigned least; /* answers in a row that are asked for, before ACKs wait */
	rs_time within; /* data so long behind ACKs is no answer to what they acknowledge */
};

struct rs_answers {
	struct rs_answers_tuning tuning;
	unsigned in_a_row;
	rs_time alone; /* when ACKs went without data; 0: data went since */
};

void rs_answers_init(struct rs_answers *a, const struct rs_answers_tuning *tuning);

/* May the next ACKs wait? Not behind some that no data followed yet. */
bool rs_answers_wait(const struct rs_answers *a);

/* ACKs go alone, at a time above 0. */
void rs_answers_alone(struct rs_answers *a, rs_time now);

/* Data goes; do ACKs go with it? */
void rs_answers_data(struct rs_answers *a, bool acks, rs_time now);

#endif
