#include "base/hist.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << RS_HIST_BITS };

int rs_hist_grow(struct rs_hist *h, unsigned octave)
{
	h->octave[octave] = calloc(BUCKETS, sizeof(uint64_t));
	return h->octave[octave] != NULL;
}

void rs_hist_merge(struct rs_hist *h, const struct rs_hist *from)
{
	uint64_t left_out = 0;

	for (unsigned o = 0; o < RS_HIST_OCTAVES; o++) {
		if (!from->octave[o])
			continue;
		if (!h->octave[o] && !rs_hist_grow(h, o)) {
			for (unsigned b = 0; b < BUCKETS; b++)
				left_out += from->octave[o][b];
			continue;
		}
		for (unsigned b = 0; b < BUCKETS; b++)
			h->octave[o][b] += from->octave[o][b];
	}
	h->n += from->n - left_out;
	h->lost += from->lost + left_out;
	h->sum += from->sum;
	h->most = from->most > h->most ? from->most : h->most;
}

/* The greatest value of a bucket. */
static uint64_t greatest(unsigned octave, unsigned bucket)
{
	if (!octave)
		return bucket;
	return ((((uint64_t)BUCKETS | bucket) + 1) << (octave - 1)) - 1;
}

uint64_t rs_hist_percentile(const struct rs_hist *h, double p)
{
	uint64_t rank = (uint64_t)ceil(p / 100 * (double)h->n), seen = 0;

	if (!h->n)
		return 0;
	rank = rank < 1 ? 1 : rank > h->n ? h->n : rank;
	for (unsigned o = 0; o < RS_HIST_OCTAVES; o++)
		for (unsigned b = 0; h->octave[o] && b < BUCKETS; b++)
			if ((seen += h->octave[o][b]) >= rank)
				return greatest(o, b) < h->most ? greatest(o, b) : h->most;
	return h->most;
}

void rs_hist_fini(struct rs_hist *h)
{
	for (unsigned o = 0; o < RS_HIST_OCTAVES; o++)
		free(h->octave[o]);
	memset(h, 0, sizeof(*h));
}
