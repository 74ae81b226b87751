/*
 * Virtual and real time: signed 64-bit picoseconds. A byte at 800 Gb/s takes 10 ps; the range is
 * 106 days either way.
 */
#ifndef RS_BASE_TIME_H
#define RS_BASE_TIME_H

#include <float.h>
#include <stdint.h>

typedef int64_t rs_time;

/* What is computed with doubles is the same on every machine: docs/design.md, "Floating point". */
_Static_assert(FLT_EVAL_METHOD == 0, "doubles are evaluated as doubles, not as x87 registers");

#define RS_PS ((rs_time)1)
#define RS_NS ((rs_time)1000)
#define RS_US (1000 * RS_NS)
#define RS_MS (1000 * RS_US)
#define RS_S  (1000 * RS_MS)

/* Later than every time: "no deadline". Safe to compare, never to add to. */
#define RS_NEVER INT64_MAX

static inline rs_time rs_time_min(rs_time a, rs_time b)
{
	return a < b ? a : b;
}

static inline rs_time rs_time_max(rs_time a, rs_time b)
{
	return a > b ? a : b;
}

/* t by a clock that is put back by so much. What lies far back stays there: put back again and
 * again, it would run out of the range at the other end. */
static inline rs_time rs_time_earlier(rs_time t, rs_time by)
{
	return t == RS_NEVER ? t : rs_time_max(t - by, -RS_S);
}

/* Rates are bits per second in int64_t. */
#define RS_GBPS INT64_C(1000000000)
#define RS_MBPS INT64_C(1000000)

__extension__ typedef unsigned __int128 rs_uint128; /* for products of two 64-bit numbers */

/*
 * A rate turned into a multiplier, so that a serialization time costs one multiplication: Q16
 * picoseconds a byte. Exact to the picosecond for every rate that divides 8e12 (1, 10, 25, 40, 50,
 * 100, 200, 400, 800 Gb/s); for others the error is under bytes/2^17 ps (a tenth of a picosecond
 * for a full packet).
 */
struct rs_pace {
	uint64_t q16; /* picoseconds a byte << 16; 0 means infinitely fast */
};

/* rate: bits per second, > 0, at least 1 kb/s. A rate of 0 gives the infinitely fast pace. */
static inline struct rs_pace rs_pace_of(int64_t rate)
{
	struct rs_pace p = {0};

	if (rate > 0)
		p.q16 = (uint64_t)(((rs_uint128)8 * 1000000000000 * 65536 + (uint64_t)rate / 2) /
				   (uint64_t)rate);
	return p;
}

/* Time that `bytes` take, rounded down to the picosecond: up to 2^24 bytes from 1 Mb/s on, up to 35
 * kB at 1 kb/s (the product stays below 2^64). */
static inline rs_time rs_pace_time(struct rs_pace p, uint32_t bytes)
{
	return (rs_time)((p.q16 * bytes) >> 16);
}

/* The same for any number of bytes (messages, buffers). */
static inline rs_time rs_pace_time_long(struct rs_pace p, uint64_t bytes)
{
	return (rs_time)(((rs_uint128)p.q16 * bytes) >> 16);
}

/*
 * t cut to whole nanoseconds, as a simulator with such a clock does that divides in floating point:
 * a whole number of them comes out a hair below, and is cut to one less.
 */
static inline rs_time rs_whole_ns(rs_time t)
{
	return t > 0 ? (t - 1) / RS_NS * RS_NS : 0;
}

#endif
