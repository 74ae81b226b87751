/* Stamps of in-band telemetry: packed and unpacked (HPCC, SIGCOMM 2019, §4.1). */
#include "wire/telemetry.h"
#include "base/error.h"

enum { TIME_BITS = 24, SENT_BITS = 20, QUEUE_BITS = 16 };

/* A code that none sends reads as the fastest, so that no caller divides by 0. */
static const int64_t rates[16] = {
	1 * RS_GBPS,    1 * RS_GBPS,    10 * RS_GBPS,   25 * RS_GBPS,
	40 * RS_GBPS,   50 * RS_GBPS,   100 * RS_GBPS,  200 * RS_GBPS,
	400 * RS_GBPS,  800 * RS_GBPS,  1600 * RS_GBPS, 3200 * RS_GBPS,
	3200 * RS_GBPS, 3200 * RS_GBPS, 3200 * RS_GBPS, 3200 * RS_GBPS,
};

uint8_t rs_int_rate_code(int64_t rate)
{
	uint8_t code = 1;

	rs_assert(rate > 0);
	while (code < 11 && rates[code + 1] <= rate)
		code++;
	return code;
}

uint64_t rs_int_pack(uint8_t rate_code, rs_time now, uint64_t sent, uint64_t queue, uint32_t scale)
{
	uint64_t time = (uint64_t)(now / RS_NS) & ((1 << TIME_BITS) - 1);
	uint64_t q = queue / RS_INT_QUEUE_UNIT / scale;

	sent = sent / RS_INT_SENT_UNIT / scale & ((1 << SENT_BITS) - 1);
	if (q >= 1 << QUEUE_BITS)
		q = (1 << QUEUE_BITS) - 1;
	return (uint64_t)rate_code << (TIME_BITS + SENT_BITS + QUEUE_BITS) |
	       time << (SENT_BITS + QUEUE_BITS) | sent << QUEUE_BITS | q;
}

void rs_int_unpack(uint64_t stamp, uint32_t scale, struct rs_int_stamp *out)
{
	*out = (struct rs_int_stamp){
		.rate = rates[stamp >> (TIME_BITS + SENT_BITS + QUEUE_BITS)],
		.time = (uint32_t)(stamp >> (SENT_BITS + QUEUE_BITS)) & ((1 << TIME_BITS) - 1),
		.sent = (stamp >> QUEUE_BITS & ((1 << SENT_BITS) - 1)) *
			((uint64_t)RS_INT_SENT_UNIT * scale),
		.queue = (uint32_t)(stamp & ((1 << QUEUE_BITS) - 1)) * RS_INT_QUEUE_UNIT * scale,
	};
}
