/*
 * Two ways to do the same, of which one may be the faster one now, and the other in a moment: by
 * how a virtual machine's cores lie, writing a line of another core's cache takes 2 or 30 GB/s.
 * Stretches of bytes are timed. The way that was faster last is taken, and the other one is tried
 * now and then, for no longer than a stretch takes by the faster one: what is much slower would
 * cost more than it tells. A stretch may be slow for what else the machine does: the other way is
 * tried sooner only after several in a row that took longer than it did, and what is taken after a
 * trial is soon held against what was left.
 *
 * A pure state machine, as window.h has it. Times are of one clock that never goes back, in ns.
 */
#ifndef RS_WINDOW_WAYS_H
#define RS_WINDOW_WAYS_H

#include <stdbool.h>
#include <stdint.h>

struct rs_ways_tuning {
	uint64_t stretch; /* bytes */
	int64_t break_ns; /* a gap of so long says nothing of the way: the stretch begins anew */
	unsigned tries;   /* of so many stretches one is a trial, of fewer after a change */
	unsigned agree;   /* slow stretches in a row that bring a trial sooner */
};

struct rs_ways {
	struct rs_ways_tuning tuning;
	bool way, trial;           /* the way that is taken; to see how fast it is */
	uint64_t bytes;            /* of this one */
	int64_t begin_ns, last_ns; /* of this one; when any went last */
	int64_t ns[2];             /* that a stretch takes by each; 0: not known */
	unsigned plain, until;     /* stretches since the last trial; to the next */
	unsigned slow;             /* in a row */
	int64_t least_slow;        /* ns of these */
};

void rs_ways_init(struct rs_ways *w, const struct rs_ways_tuning *tuning);
/* So many bytes went by the way that rs_ways.way says, and this is the time. What is next goes by
 * the one that it says then. */
void rs_ways_went(struct rs_ways *w, uint64_t bytes, int64_t now_ns);

#endif
