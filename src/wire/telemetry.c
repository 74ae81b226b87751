/* Stamps of in-band telemetry: packed and unpacked (HPCC, SIGCOMM 2019, §4.1). */
#include "wire/telemetry.h"
#include <string.h>
#include "base/bytes.h"
#include "base/error.h"
#include "wire/roce.h"

enum { TIME_BITS = 24, SENT_BITS = 20, QUEUE_BITS = 16 };
enum { SOFTWARE_TIME_BITS = 20, SOFTWARE_TIME_SHIFT = 10, SOFTWARE_SCALE = 4 };

/* A code that none sends reads as the fastest, so that no caller divides by 0. */
static const int64_t rates[16] = {
	1 * RS_GBPS,    1 * RS_GBPS,    10 * RS_GBPS,   25 * RS_GBPS,
	40 * RS_GBPS,   50 * RS_GBPS,   100 * RS_GBPS,  200 * RS_GBPS,
	400 * RS_GBPS,  800 * RS_GBPS,  1600 * RS_GBPS, 3200 * RS_GBPS,
	3200 * RS_GBPS, 3200 * RS_GBPS, 3200 * RS_GBPS, 3200 * RS_GBPS,
};

/* In software: two digits, and a power of ten; 10 of the first are 1 Mb/s. */
static const uint8_t digits[32] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 25, 26, 28,
				   30, 32, 35, 36, 40, 45, 48, 50, 55, 56, 60, 64, 70, 75, 80, 90};

static int64_t software_rate(unsigned code)
{
	int64_t rate = digits[code % 32] * (RS_MBPS / 10);

	for (unsigned i = code / 32; i; i--)
		rate *= 10;
	return rate;
}

uint8_t rs_int_rate_code(int64_t rate, uint32_t scale)
{
	unsigned code = 1, last = scale == RS_INT_SOFTWARE ? 255 : 11;

	rs_assert(rate > 0);
	while (code < last &&
	       (scale == RS_INT_SOFTWARE ? software_rate(code + 1) : rates[code + 1]) <= rate)
		code++;
	return (uint8_t)code;
}

static unsigned time_bits(uint32_t scale)
{
	return scale == RS_INT_SOFTWARE ? SOFTWARE_TIME_BITS : TIME_BITS;
}

uint64_t rs_int_pack(uint8_t rate_code, rs_time now, uint64_t sent, uint64_t queue, uint32_t scale)
{
	unsigned shift = scale == RS_INT_SOFTWARE ? SOFTWARE_TIME_SHIFT : 0;
	unsigned times = scale == RS_INT_SOFTWARE ? SOFTWARE_SCALE : scale;
	uint64_t time = (uint64_t)(now / RS_NS) >> shift & ((1u << time_bits(scale)) - 1);
	uint64_t q = queue / RS_INT_QUEUE_UNIT / times;

	sent = sent / RS_INT_SENT_UNIT / times & ((1 << SENT_BITS) - 1);
	if (q >= 1 << QUEUE_BITS)
		q = (1 << QUEUE_BITS) - 1;
	return (uint64_t)rate_code << (time_bits(scale) + SENT_BITS + QUEUE_BITS) |
	       time << (SENT_BITS + QUEUE_BITS) | sent << QUEUE_BITS | q;
}

void rs_int_unpack(uint64_t stamp, uint32_t scale, struct rs_int_stamp *out)
{
	bool software = scale == RS_INT_SOFTWARE;
	unsigned shift = software ? SOFTWARE_TIME_SHIFT : 0;
	unsigned code = (unsigned)(stamp >> (time_bits(scale) + SENT_BITS + QUEUE_BITS));
	uint32_t time =
		(uint32_t)(stamp >> (SENT_BITS + QUEUE_BITS)) & ((1u << time_bits(scale)) - 1);

	if (software)
		scale = SOFTWARE_SCALE;
	*out = (struct rs_int_stamp){
		.rate = software ? software_rate(code) : rates[code],
		.time = time << shift,
		.time_wrap = software ? 1u << (SOFTWARE_TIME_BITS + SOFTWARE_TIME_SHIFT)
				      : 1u << TIME_BITS,
		.sent = (stamp >> QUEUE_BITS & ((1 << SENT_BITS) - 1)) *
			((uint64_t)RS_INT_SENT_UNIT * scale),
		.queue = (uint32_t)(stamp & ((1 << QUEUE_BITS) - 1)) * RS_INT_QUEUE_UNIT * scale,
	};
}

/* ---- The trailer of live packets ---- */

static const uint8_t name[4] = {'R', 'S', 'I', '1'};

bool rs_int_trailer_may(uint8_t opcode)
{
	const uint32_t f = rs_opcodes[opcode].flags;

	return (opcode & 0xe0) == RS_RC && f & RS_F_VALID &&
	       !(f & (RS_F_ATOMIC | RS_F_ATOMIC_ACK | RS_F_FETH | RS_F_CNP));
}

const uint8_t *rs_int_trailer_find(const uint8_t *bth, size_t n)
{
	const uint8_t *at;

	if (n < RS_BTH_BYTES + RS_ICRC_BYTES + RS_INT_TRAILER_BYTES || n % 4 ||
	    !(bth[4] & RS_BTH4_STAMPED) || !rs_int_trailer_may(bth[0]))
		return NULL;
	at = bth + n - RS_INT_TRAILER_BYTES;
	return memcmp(at, name, sizeof(name)) ? NULL : at;
}

void rs_int_trailer_get(const uint8_t *trailer, struct rs_packet *p)
{
	p->int_path = rs_get32(trailer + 4);
	for (unsigned i = 0; i < RS_INT_HOPS; i++)
		p->int_hop[i] = rs_get64(trailer + 8 + 8 * (size_t)i);
}

void rs_int_trailer_put(const struct rs_packet *p, uint8_t *trailer)
{
	memcpy(trailer, name, sizeof(name));
	rs_put32(trailer + 4, p->int_path);
	for (unsigned i = 0; i < RS_INT_HOPS; i++)
		rs_put64(trailer + 8 + 8 * (size_t)i, p->int_hop[i]);
}
