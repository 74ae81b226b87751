/* Random orders: for tests. */
#ifndef RS_TESTS_SHUFFLE_H
#define RS_TESTS_SHUFFLE_H

#include "base/random.h"

/* 0 to n - 1 in an order drawn from r. */
static inline void shuffle(struct rs_random *r, uint32_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = i;
	for (uint32_t i = n - 1; i; i--) {
		uint32_t k = rs_random_below(r, i), swap = to[i];

		to[i] = to[k];
		to[k] = swap;
	}
}

#endif
