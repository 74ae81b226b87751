/*
 * Counter-based random numbers: a stream an entity, keyed by (seed, entity, purpose), so that no
 * draw of one entity shifts another's. The mix is two rounds of the 64-bit finalizer of
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), over key and counter.
 */
#ifndef RS_BASE_RANDOM_H
#define RS_BASE_RANDOM_H

#include <math.h>
#include <stdint.h>

struct rs_random {
	uint64_t key;
	uint64_t count; /* draws made */
};

static inline uint64_t rs_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* purpose: a constant that the caller owns, so that two uses in one entity do not collide. */
static inline struct rs_random rs_random_stream(uint64_t seed, uint64_t entity, uint32_t purpose)
{
	uint64_t k = rs_mix64(seed + UINT64_C(0x9e3779b97f4a7c15));

	k = rs_mix64(k ^ (entity * UINT64_C(0x9e3779b97f4a7c15) + purpose));
	return (struct rs_random){.key = k, .count = 0};
}

static inline uint64_t rs_random_u64(struct rs_random *r)
{
	return rs_mix64(r->key + ++r->count * UINT64_C(0x9e3779b97f4a7c15));
}

/* Uniform in [0, n), n > 0, by multiplication (bias under 2^-32 for n < 2^32). */
static inline uint32_t rs_random_below(struct rs_random *r, uint32_t n)
{
	return (uint32_t)(((rs_random_u64(r) >> 32) * n) >> 32);
}

/*
 * An exponential number of mean 1, by comparisons alone (von Neumann, "Various techniques used in
 * connection with random digits", 1951): no logarithm, whose last bit differs by machine.
 */
static inline double rs_random_exponential(struct rs_random *r)
{
	for (unsigned whole = 0;; whole++) {
		uint64_t first = rs_random_u64(r), last = first, next;
		unsigned n = 1;

		for (; (next = rs_random_u64(r)) < last; n++)
			last = next;
		if (n % 2)
			return whole + ldexp((double)(first >> 11), -53);
	}
}

#endif
