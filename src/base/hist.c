#include "base/hist.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << RS_HIST_BITS, FEW_LEAST = 4 };

/* ---- A few ---- */

/* False: no room, or there are more than a few. */
static int put_few(struct rs_hist *h, uint32_t bucket, uint64_t times)
{
	struct rs_hist_few *more;

	for (uint32_t i = 0; i < h->n_few; i++)
		if (h->few[i].bucket == bucket && h->few[i].n + times <= UINT32_MAX) {
			h->few[i].n += (uint32_t)times;
			return 1;
		}
	if (h->n_few == RS_HIST_FEW || times > UINT32_MAX)
		return 0;
	if (h->n_few == h->few_size) {
		uint32_t size = h->few_size ? 2 * h->few_size : FEW_LEAST;

		more = realloc(h->few, size * sizeof(*more));
		if (!more)
			return 0;
		h->few = more;
		h->few_size = size;
	}
	h->few[h->n_few++] = (struct rs_hist_few){bucket, (uint32_t)times};
	return 1;
}

/* ---- Octaves ---- */

static int put_octave(struct rs_hist *h, unsigned octave, unsigned bucket, uint64_t times)
{
	if (!h->octave[octave])
		h->octave[octave] = calloc(BUCKETS, sizeof(uint64_t));
	if (h->octave[octave])
		h->octave[octave][bucket] += times;
	return h->octave[octave] != NULL;
}

static void free_octaves(struct rs_hist *h)
{
	for (unsigned o = 0; h->octave && o < RS_HIST_OCTAVES; o++)
		free(h->octave[o]);
	free(h->octave);
	h->octave = NULL;
}

/* The list becomes octaves, all of it or nothing. */
static int spread(struct rs_hist *h)
{
	h->octave = calloc(RS_HIST_OCTAVES, sizeof(*h->octave));
	if (!h->octave)
		return 0;
	for (uint32_t i = 0; i < h->n_few; i++)
		if (!put_octave(h, h->few[i].bucket >> RS_HIST_BITS,
				h->few[i].bucket & (BUCKETS - 1), h->few[i].n)) {
			free_octaves(h);
			return 0;
		}
	free(h->few);
	h->few = NULL;
	h->n_few = h->few_size = 0;
	return 1;
}

int rs_hist_put(struct rs_hist *h, unsigned octave, unsigned bucket, uint64_t times)
{
	if (!h->octave && put_few(h, octave << RS_HIST_BITS | bucket, times))
		return 1;
	if (!h->octave && !spread(h))
		return 0;
	return put_octave(h, octave, bucket, times);
}

/* ---- Both ---- */

void rs_hist_each(const struct rs_hist *h, void (*each)(void *arg, uint32_t bucket, uint64_t n),
		  void *arg)
{
	for (unsigned o = 0; h->octave && o < RS_HIST_OCTAVES; o++)
		for (unsigned b = 0; h->octave[o] && b < BUCKETS; b++)
			if (h->octave[o][b])
				each(arg, o << RS_HIST_BITS | b, h->octave[o][b]);
	for (uint32_t i = 0; i < h->n_few; i++)
		each(arg, h->few[i].bucket, h->few[i].n);
}

static void merge_bucket(void *arg, uint32_t bucket, uint64_t n)
{
	struct rs_hist *h = arg;

	if (rs_hist_put(h, bucket >> RS_HIST_BITS, bucket & (BUCKETS - 1), n))
		h->n += n;
	else
		h->lost += n;
}

void rs_hist_merge(struct rs_hist *h, const struct rs_hist *from)
{
	rs_hist_each(from, merge_bucket, h);
	h->lost += from->lost;
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

static int by_bucket(const void *x, const void *y)
{
	const struct rs_hist_few *a = x, *b = y;

	return a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

static uint64_t rank_of_few(const struct rs_hist *h, uint64_t rank)
{
	struct rs_hist_few few[RS_HIST_FEW];
	uint64_t seen = 0;

	if (h->n_few)
		memcpy(few, h->few, h->n_few * sizeof(*few));
	qsort(few, h->n_few, sizeof(*few), by_bucket);
	for (uint32_t i = 0; i < h->n_few; i++)
		if ((seen += few[i].n) >= rank)
			return greatest(few[i].bucket >> RS_HIST_BITS,
					few[i].bucket & (BUCKETS - 1));
	return h->most;
}

static uint64_t rank_of_octaves(const struct rs_hist *h, uint64_t rank)
{
	uint64_t seen = 0;

	for (unsigned o = 0; o < RS_HIST_OCTAVES; o++)
		for (unsigned b = 0; h->octave[o] && b < BUCKETS; b++)
			if ((seen += h->octave[o][b]) >= rank)
				return greatest(o, b);
	return h->most;
}

uint64_t rs_hist_percentile(const struct rs_hist *h, double p)
{
	uint64_t rank = (uint64_t)ceil(p / 100 * (double)h->n), found;

	if (!h->n)
		return 0;
	rank = rank < 1 ? 1 : rank > h->n ? h->n : rank;
	found = h->octave ? rank_of_octaves(h, rank) : rank_of_few(h, rank);
	return found < h->most ? found : h->most;
}

void rs_hist_fini(struct rs_hist *h)
{
	free_octaves(h);
	free(h->few);
	memset(h, 0, sizeof(*h));
}
