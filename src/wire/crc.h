/*
 * The CRC-32 of Ethernet and of the ICRC (IBTA 7.8.1): bits reflected, as IEEE 802.3 sends them. By
 * ISA-L where the processor multiplies without carry; what is long by a way of our own where it
 * does so 256 bits at a time but has no AVX-512, for which ISA-L has one (Zen 3, Alder Lake). Where
 * it cannot multiply so, or QEMU's emulation makes each such multiplication a loop of 64 steps, by
 * shifts of 64-bit words.
 */
#ifndef RS_WIRE_CRC_H
#define RS_WIRE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifndef RS_NO_ISAL
#include <isa-l/crc.h>
#endif

enum { RS_CRC_WIDE_LEAST = 384 }; /* below that ISA-L is as fast */

/* Decided before main(). */
extern bool rs_crc_by_words;
extern size_t rs_crc_wide_from; /* bytes; SIZE_MAX where the processor lacks what that needs */

/* Of n bytes behind those of which crc is the CRC; 0 to begin with. All give the same. */
uint32_t rs_crc32_words(uint32_t crc, const uint8_t *bytes, size_t n);
/* n is 128 at least, and rs_crc_wide_from is not SIZE_MAX. */
uint32_t rs_crc32_wide(uint32_t crc, const uint8_t *bytes, size_t n);
uint32_t rs_crc32_wide_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t n);

static inline uint32_t rs_crc32(uint32_t crc, const uint8_t *bytes, size_t n)
{
#ifdef RS_NO_ISAL
	return rs_crc32_words(crc, bytes, n);
#else
	if (n >= rs_crc_wide_from)
		return rs_crc32_wide(crc, bytes, n);
	return __builtin_expect(rs_crc_by_words, 0) ? rs_crc32_words(crc, bytes, n)
						    : crc32_gzip_refl(crc, bytes, n);
#endif
}

/* The same of bytes that are copied meanwhile: of what is then at `to`, whatever another thread
 * writes at `from`. */
static inline uint32_t rs_crc32_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t n)
{
	if (n >= rs_crc_wide_from)
		return rs_crc32_wide_copy(crc, to, from, n);
	memcpy(to, from, n);
	return rs_crc32(crc, to, n);
}

#endif
