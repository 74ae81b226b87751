/* Fields of any alignment, in network order and little-endian. */
#ifndef RS_BASE_BYTES_H
#define RS_BASE_BYTES_H

#include <stdint.h>

static inline uint16_t rs_get16(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t rs_get24(const uint8_t *b)
{
	return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}

static inline uint32_t rs_get32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | rs_get24(b + 1);
}

static inline uint64_t rs_get64(const uint8_t *b)
{
	return (uint64_t)rs_get32(b) << 32 | rs_get32(b + 4);
}

static inline uint32_t rs_get32_le(const uint8_t *b)
{
	return __builtin_bswap32(rs_get32(b));
}

static inline void rs_put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

static inline void rs_put24(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 16);
	rs_put16(b + 1, v);
}

static inline void rs_put32(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 24);
	rs_put24(b + 1, v);
}

static inline void rs_put64(uint8_t *b, uint64_t v)
{
	rs_put32(b, (uint32_t)(v >> 32));
	rs_put32(b + 4, (uint32_t)v);
}

static inline void rs_put32_le(uint8_t *b, uint32_t v)
{
	rs_put32(b, __builtin_bswap32(v));
}

/* The Internet checksum (RFC 1071) of n bytes, n even; 0 over a header that holds its own. */
static inline uint16_t rs_internet_checksum(const uint8_t *b, unsigned n)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i += 2)
		sum += rs_get16(b + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

#endif
