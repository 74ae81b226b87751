/*
 * A histogram of whole numbers with buckets of less than 1/128 of their value, for percentiles of
 * what is seen often: a queue's bytes, a packet's time on its way. A few values are kept as a list;
 * memory for more comes with the ranges that are seen.
 */
#ifndef RS_BASE_HIST_H
#define RS_BASE_HIST_H

#include <stdint.h>

enum {
	RS_HIST_BITS = 7,
	RS_HIST_OCTAVES = 64 - RS_HIST_BITS + 1,
	RS_HIST_FEW = 16, /* buckets that are kept as a list */
};

/* So many values of a bucket: octave << RS_HIST_BITS | bucket. */
struct rs_hist_few {
	uint32_t bucket, n;
};

/* Zeroed before the first use. */
struct rs_hist {
	uint64_t n, sum, most;
	uint64_t lost; /* values that found no memory; not in n */
	/* One of them, or none: a list in no order, or the octaves' buckets. */
	struct rs_hist_few *few;
	uint64_t **octave; /* [RS_HIST_OCTAVES] */
	uint32_t n_few, few_size;
};

/* The 2^RS_HIST_BITS buckets that v is of, and which: the first octave's are one value each. */
static inline unsigned rs_hist_octave(uint64_t v, unsigned *bucket)
{
	unsigned shift =
		v >> RS_HIST_BITS ? 63 - (unsigned)__builtin_clzll(v) - RS_HIST_BITS + 1 : 0;

	*bucket = (unsigned)((shift ? v >> (shift - 1) : v) & ((1u << RS_HIST_BITS) - 1));
	return shift;
}

/* Counts into a bucket that has no memory yet; false: none is to be had. */
int rs_hist_put(struct rs_hist *h, unsigned octave, unsigned bucket, uint64_t times);

/* v, so many times. */
static inline void rs_hist_add_many(struct rs_hist *h, uint64_t v, uint64_t times)
{
	unsigned bucket, octave = rs_hist_octave(v, &bucket);

	if (__builtin_expect(h->octave && h->octave[octave], 1)) {
		h->octave[octave][bucket] += times;
	} else if (!rs_hist_put(h, octave, bucket, times)) {
		h->lost += times;
		return;
	}
	h->n += times;
	h->sum += v * times;
	if (v > h->most)
		h->most = v;
}

static inline void rs_hist_add(struct rs_hist *h, uint64_t v)
{
	rs_hist_add_many(h, v, 1);
}

/* Calls with each bucket that has values, in no order: octave << RS_HIST_BITS | bucket. */
void rs_hist_each(const struct rs_hist *h, void (*each)(void *arg, uint32_t bucket, uint64_t n),
		  void *arg);
/* Adds what `from` has. */
void rs_hist_merge(struct rs_hist *h, const struct rs_hist *from);
/* Nearest rank, 0 < p <= 100: the greatest value of its bucket, at most the greatest seen; 0 when
 * nothing was. */
uint64_t rs_hist_percentile(const struct rs_hist *h, double p);
void rs_hist_fini(struct rs_hist *h);

#endif
