/*
 * Posts in a row, without a poll between them, may go in one send: for a program that is known to
 * poll at once behind them. What it posted would wait for ever if it did not, so it has to show
 * that it does: so many times in a row, and twice as many after each time that posts were held and
 * no poll came.
 *
 * A pure state machine, as window.h has it. Times are of one clock that never goes back, in ns.
 */
#ifndef RS_WINDOW_ROW_H
#define RS_WINDOW_ROW_H

#include <stdbool.h>
#include <stdint.h>

struct rs_row_tuning {
	unsigned gather;      /* posts that go in one send at most */
	unsigned least, most; /* prompt polls in a row that are asked for: at first, ever */
	int64_t prompt_ns;    /* a poll is prompt so long after the last post */
};

struct rs_row {
	struct rs_row_tuning tuning;
	unsigned posts;  /* since the last poll */
	int64_t last_ns; /* the last of them */
	unsigned prompt; /* polls behind two posts or more that came at once, in a row, and */
	unsigned need;   /* needed */
	bool held;       /* posts wait that nothing but a poll sends */
};

void rs_row_init(struct rs_row *r, const struct rs_row_tuning *tuning);

/* Is the next post to wait for those that may come behind it? The first of a row never does. */
bool rs_row_holds(struct rs_row *r);

/* A post was made, held or not. */
void rs_row_posted(struct rs_row *r, int64_t now_ns);

/* The program polls. What is held is the caller's to send, and rs_row_sent() to be called. */
void rs_row_polled(struct rs_row *r, int64_t now_ns);

/* All that was posted went out. */
void rs_row_sent(struct rs_row *r);

#endif
