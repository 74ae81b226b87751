/*
 * A histogram of whole numbers with buckets of less than 1/128 of their value, for percentiles of
 * what is seen often: a queue's bytes, a packet's time on its way. Memory comes with the ranges
 * that are seen.
 */
#ifndef RS_BASE_HIST_H
#define RS_BASE_HIST_H

#include <stdint.h>

enum { RS_HIST_BITS = 7, RS_HIST_OCTAVES = 64 - RS_HIST_BITS + 1 };

/* Zeroed before the first use. */
struct rs_hist {
	uint64_t n, sum, most;
	uint64_t lost; /* values that found no memory; not in n */
	uint64_t *octave[RS_HIST_OCTAVES];
};

/* The 2^RS_HIST_BITS buckets that v is of, and which: the first octave's are one value each. */
static inline unsigned rs_hist_octave(uint64_t v, unsigned *bucket)
{
	unsigned shift =
		v >> RS_HIST_BITS ? 63 - (unsigned)__builtin_clzll(v) - RS_HIST_BITS + 1 : 0;

	*bucket = (unsigned)((shift ? v >> (shift - 1) : v) & ((1u << RS_HIST_BITS) - 1));
	return shift;
}

/* Makes room for an octave; 0: no memory. */
int rs_hist_grow(struct rs_hist *h, unsigned octave);

/* v, so many times. */
static inline void rs_hist_add_many(struct rs_hist *h, uint64_t v, uint64_t times)
{
	unsigned bucket, octave = rs_hist_octave(v, &bucket);

	if (__builtin_expect(!h->octave[octave], 0) && !rs_hist_grow(h, octave)) {
		h->lost += times;
		return;
	}
	h->octave[octave][bucket] += times;
	h->n += times;
	h->sum += v * times;
	if (v > h->most)
		h->most = v;
}

static inline void rs_hist_add(struct rs_hist *h, uint64_t v)
{
	rs_hist_add_many(h, v, 1);
}

/* Adds what `from` has. */
void rs_hist_merge(struct rs_hist *h, const struct rs_hist *from);
/* Nearest rank, 0 < p <= 100: the greatest value of its bucket, at most the greatest seen; 0 when
 * nothing was. */
uint64_t rs_hist_percentile(const struct rs_hist *h, double p);
void rs_hist_fini(struct rs_hist *h);

#endif
