/*
 * Bytes behind the ICRC of live packets, towards peers that said that they drop them: the packets
 * of a message that have no RETH or AETH are filled to the length of those that have one, because
 * one send of the kernel's (UDP_SEGMENT) takes packets of one length. The ICRC leaves them out, as
 * the lengths of IP and UDP that it covers do: it is that of the packet without them. A bit of the
 * BTH that the ICRC does not cover says that they follow (roce.h). Zeroes, a name of three bytes,
 * their number.
 */
#ifndef RS_WIRE_FILLER_H
#define RS_WIRE_FILLER_H

#include <stddef.h>
#include <string.h>
#include "wire/roce.h"

enum { RS_FILLER_NAME = 3, RS_FILLER_MAX = RS_RETH_BYTES };

/* How many bytes a packet of this opcode is filled by, where it is; 0: never. */
static inline uint32_t rs_filler_of(uint8_t opcode)
{
	uint32_t f = rs_opcodes[opcode].flags;

	if ((opcode & 0xe0) > RS_UC || f & RS_F_FIRST)
		return 0;
	if (f & RS_F_WRITE)
		return RS_RETH_BYTES - (f & RS_F_IMM ? RS_IMM_BYTES : 0);
	return f & RS_F_READ && f & RS_F_RESPONSE && !(f & RS_F_AETH) ? RS_AETH_BYTES : 0;
}

/* n: 4 to RS_FILLER_MAX, a multiple of 4. */
static inline void rs_filler_put(uint8_t *at, size_t n)
{
	memset(at, 0, n - 4);
	memcpy(at + n - 4, "RSF", RS_FILLER_NAME);
	at[n - 1] = (uint8_t)n;
}

/* How many of them a packet has whose BTH and what follows it are n bytes; 0: none, or none that is
 * whole. */
static inline size_t rs_filler_find(const uint8_t *bth, size_t n)
{
	uint8_t whole[RS_FILLER_MAX];
	size_t bytes;

	if (n < RS_BTH_BYTES || __builtin_expect(!(bth[4] & RS_BTH4_FILLED), 1))
		return 0;
	bytes = rs_filler_of(bth[0]);
	if (!bytes || n < RS_BTH_BYTES + RS_ICRC_BYTES + bytes)
		return 0;
	rs_filler_put(whole, bytes);
	return memcmp(bth + n - bytes, whole, bytes) ? 0 : bytes;
}

#endif
