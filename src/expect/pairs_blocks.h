/* Which hosts stand apart in a matrix of hosts: blocks of slow ways, and hosts slow to all. */
#ifndef RS_EXPECT_PAIRS_BLOCKS_H
#define RS_EXPECT_PAIRS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

struct rs_pairs_view {
	uint32_t hosts;
	const double *mean; /* [from * hosts + to]: ln below the level; NAN: not measured */
	double slow;        /* what is below it is slow */
};

/* Each host of the one set is slow to each of the other, one way; the sets share none, or are the
 * same. */
struct rs_pairs_block {
	const bool *from, *to; /* [host] */
	uint32_t n_from, n_to;
};

enum { RS_PAIRS_BLOCKS = 64 };

/* Blocks of two hosts and more on each side that chance does not make. Returns their number. */
uint32_t rs_pairs_blocks(const struct rs_pairs_view *v, struct rs_arena *a,
			 struct rs_pairs_block *out);
/* Hosts that are slow to all others, both ways, and need no other's slowness for it: the slowest
 * first, each beside those that are left. Fills part_of[host]: 0 for the others, each of these has
 * a number of its own. Returns how many these are. */
uint32_t rs_pairs_slow_hosts(const struct rs_pairs_view *v, uint32_t *part_of);
/* Leaves, of which two at least are slow to all others: parts that no way of full rate joins. The
 * largest is 0, and well; where others are as large none is, and the parts begin with 1. Returns
 * the highest number, 0 where there are no such parts. */
uint32_t rs_pairs_leaves(const struct rs_pairs_view *v, uint32_t *part_of, bool *well);

#endif
