/*
 * The CRC-32 of Ethernet and of the ICRC (IBTA 7.8.1): bits reflected, as IEEE 802.3 sends them. By
 * ISA-L where the processor multiplies without carry; where it cannot, or QEMU's emulation makes
 * each such multiplication a loop of 64 steps, by shifts of 64-bit words.
 */
#ifndef RS_WIRE_CRC_H
#define RS_WIRE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef RS_NO_ISAL
#include <isa-l/crc.h>
#endif

/* Decided before main(). */
extern bool rs_crc_by_words;

/* Of n bytes behind those of which crc is the CRC; 0 to begin with. Both give the same. */
uint32_t rs_crc32_words(uint32_t crc, const uint8_t *bytes, size_t n);

static inline uint32_t rs_crc32(uint32_t crc, const uint8_t *bytes, size_t n)
{
#ifdef RS_NO_ISAL
	return rs_crc32_words(crc, bytes, n);
#else
	return __builtin_expect(rs_crc_by_words, 0) ? rs_crc32_words(crc, bytes, n)
						    : crc32_gzip_refl(crc, bytes, n);
#endif
}

#endif
