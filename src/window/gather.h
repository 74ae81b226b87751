/*
 * A stream that comes may gather in its socket for a while between two looks: a receiver that looks
 * at each datagram slows its sender, and acknowledges each. But a sender that has few messages on
 * their way waits for those ACKs. So a stream's stretches are timed, with pauses and without, and
 * pauses are made only where they do not slow it. On a machine with other work a stretch is slow
 * now and then for no fault of a pause: the way without is timed anew then, and pauses are given up
 * once several stretches in a row were slower than the plain one before each.
 *
 * A pure state machine, as window.h has it. Times are of one clock that never goes back, in ns.
 */
#ifndef RS_WINDOW_GATHER_H
#define RS_WINDOW_GATHER_H

#include <stdbool.h>
#include <stdint.h>

struct rs_gather_tuning {
	uint64_t stretch; /* bytes: the first without pauses */
	int64_t gap_ns;   /* so long without any: the stream is over */
	unsigned slower;  /* per cent: so much longer may a stretch with pauses take */
	unsigned tries;   /* stretches with pauses between two without, which measure anew */
	unsigned agree;   /* slower stretches in a row that say that pauses are slower */
	unsigned rest, rest_most; /* stretches without, once pauses were slower: at first, ever */
};

struct rs_gather {
	struct rs_gather_tuning tuning;
	bool comes, pauses;
	uint64_t bytes;            /* of this stretch */
	int64_t begin_ns, last_ns; /* of this stretch; when any came last */
	int64_t plain_ns;          /* what the last stretch without pauses took */
	unsigned left, rest;       /* stretches until the other way is tried */
	unsigned slow, good; /* stretches with pauses: slower in a row; not slower since a rest */
};

void rs_gather_init(struct rs_gather *g, const struct rs_gather_tuning *tuning);
/* A look found so many bytes of what may be a stream. Is the next to wait? */
bool rs_gather_looked(struct rs_gather *g, uint64_t bytes, int64_t now_ns);
/* How long so many bytes take, by the last stretch without pauses. */
int64_t rs_gather_takes(const struct rs_gather *g, uint64_t bytes);
/* Data was sent since the last look: who answers is not streamed to. */
void rs_gather_answered(struct rs_gather *g);

#endif
