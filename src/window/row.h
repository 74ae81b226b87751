/*
 * Posts in a row, without a poll between them, may go in one send: for a program that polls at once
 * behind them. What it posted would wait if it did not, so an account is kept in ns: each row with
 * a prompt poll behind it earns what its sends would have cost, each late poll costs how late it
 * was. Posts are held while the account says that this pays. A program that left held posts waiting
 * for long has to earn twice as much before the next, until it has earned that many times over.
 *
 * A pure state machine, as window.h has it. Times are of one clock that never goes back, in ns.
 */
#ifndef RS_WINDOW_ROW_H
#define RS_WINDOW_ROW_H

#include <stdbool.h>
#include <stdint.h>

struct rs_row_tuning {
	unsigned gather;     /* requests that go in one send at most */
	int64_t gain_ns;     /* what a send less is worth, at least */
	int64_t least, most; /* ns that are to be earned first: at the beginning, ever */
	unsigned pardon;     /* earned so many times over, the next is half as much */
	int64_t prompt_ns;   /* a poll is prompt so long after the last post */
	int64_t long_ns;     /* posts that were held for longer waited in vain */
};

struct rs_row {
	struct rs_row_tuning tuning;
	unsigned posts;   /* since the last poll */
	int64_t last_ns;  /* the last of them */
	int64_t account;  /* 0 to twice need */
	int64_t need;     /* at which posts are held */
	int64_t earned;   /* since posts last waited in vain */
	unsigned waiting; /* requests that nothing but a poll sends */
	bool hold;        /* some did since the last poll, though they may have left since */
};

void rs_row_init(struct rs_row *r, const struct rs_row_tuning *tuning);

/* Is the next post, of so many requests, to wait for those that may come behind it? The first of a
 * row never does. */
bool rs_row_holds(struct rs_row *r, unsigned requests);

/* A post was made, held or not. */
void rs_row_posted(struct rs_row *r, int64_t now_ns);

/* The program polls. What is held is the caller's to send, and rs_row_sent() to be called. */
void rs_row_polled(struct rs_row *r, int64_t now_ns);

/* All that was posted went out. */
void rs_row_sent(struct rs_row *r);

#endif
