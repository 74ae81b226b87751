/* Small bit sets in one word, and iteration over them. */
#ifndef RS_BASE_BITMAP_H
#define RS_BASE_BITMAP_H

#include <stdint.h>

/* for each set bit b of word w (evaluated once), lowest first */
#define rs_for_each_bit(b, w)                                                            \
	for (uint64_t rs_w_ = (w); rs_w_ && ((b) = (unsigned)__builtin_ctzll(rs_w_), 1); \
	     rs_w_ &= rs_w_ - 1)

#endif
