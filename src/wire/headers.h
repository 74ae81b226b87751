/* The base and the extended transport headers' fields, as bytes: IBTA volume 1, sections 9.2
 * and 9.3. */
#ifndef RS_WIRE_HEADERS_H
#define RS_WIRE_HEADERS_H

#include "base/bytes.h"
#include "wire/packet.h"
#include "wire/roce.h"

/* The BTH at b, RS_BTH_BYTES: the version and what is reserved are zero. */
static inline void rs_bth_put(uint8_t *b, const struct rs_packet *p)
{
	unsigned flags = p->bth_flags;

	b[0] = p->opcode;
	b[1] = (uint8_t)((flags & RS_BTH_SE ? 0x80 : 0) | (flags & RS_BTH_MIGREQ ? 0x40 : 0) |
			 rs_pad(p->payload_bytes) << 4);
	rs_put16(b + 2, p->pkey);
	b[4] = (uint8_t)((flags & RS_BTH_FECN ? 0x80 : 0) | (flags & RS_BTH_BECN ? 0x40 : 0));
	rs_put24(b + 5, p->dest_qp);
	b[8] = flags & RS_BTH_ACKREQ ? 0x80 : 0;
	rs_put24(b + 9, p->psn);
}

/* Its reverse; the pad count is the reader's. */
static inline void rs_bth_get(const uint8_t *b, struct rs_packet *p)
{
	p->opcode = b[0];
	p->bth_flags = (uint8_t)((b[1] & 0x80 ? RS_BTH_SE : 0) | (b[1] & 0x40 ? RS_BTH_MIGREQ : 0) |
				 (b[4] & 0x80 ? RS_BTH_FECN : 0) | (b[4] & 0x40 ? RS_BTH_BECN : 0) |
				 (b[8] & 0x80 ? RS_BTH_ACKREQ : 0));
	p->pkey = (uint16_t)rs_get16(b + 2);
	p->dest_qp = rs_get24(b + 5);
	p->psn = rs_get24(b + 9);
}

/*
 * The headers behind the BTH that a connected queue pair's packets have, those that flags (of
 * rs_opcodes) name, in the order of section 9.3; a caller who knows that some do not occur leaves
 * them out of flags. XRCETH, DETH and FETH stand before them, and a CNP's reserved bytes behind.
 * Returns what lies behind.
 */
static inline uint8_t *rs_extended_put(uint8_t *b, const struct rs_packet *p, uint32_t flags)
{
	if (flags & (RS_F_RETH | RS_F_ATOMIC)) {
		rs_put64(b, p->va);
		rs_put32(b + 8, p->rkey);
		b += 12;
	}
	if (flags & RS_F_RETH) {
		rs_put32(b, p->dma_bytes);
		b += 4;
	}
	if (flags & RS_F_ATOMIC) {
		rs_put64(b, p->swap_add);
		rs_put64(b + 8, p->compare);
		b += 16;
	}
	if (flags & RS_F_AETH) {
		rs_put32(b, p->aeth);
		b += RS_AETH_BYTES;
	}
	if (flags & RS_F_ATOMIC_ACK) {
		rs_put64(b, p->swap_add);
		b += RS_ATOMIC_ACK_BYTES;
	}
	if (flags & (RS_F_IMM | RS_F_IETH)) {
		rs_put32(b, p->imm);
		b += RS_IMM_BYTES;
	}
	return b;
}

static inline const uint8_t *rs_extended_get(const uint8_t *b, struct rs_packet *p, uint32_t flags)
{
	if (flags & (RS_F_RETH | RS_F_ATOMIC)) {
		p->va = rs_get64(b);
		p->rkey = rs_get32(b + 8);
		b += 12;
	}
	if (flags & RS_F_RETH) {
		p->dma_bytes = rs_get32(b);
		b += 4;
	}
	if (flags & RS_F_ATOMIC) {
		p->swap_add = rs_get64(b);
		p->compare = rs_get64(b + 8);
		b += 16;
	}
	if (flags & RS_F_AETH) {
		p->aeth = rs_get32(b);
		b += RS_AETH_BYTES;
	}
	if (flags & RS_F_ATOMIC_ACK) {
		p->swap_add = rs_get64(b);
		b += RS_ATOMIC_ACK_BYTES;
	}
	if (flags & (RS_F_IMM | RS_F_IETH)) {
		p->imm = rs_get32(b);
		b += RS_IMM_BYTES;
	}
	return b;
}

#endif
