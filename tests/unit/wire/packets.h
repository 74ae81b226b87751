/* A packet of each opcode, with every field that it carries set to something of its own. */
#ifndef TESTS_WIRE_PACKETS_H
#define TESTS_WIRE_PACKETS_H

#include <string.h>
#include "wire/frame.h"

struct sample {
	struct rs_frame frame;
	struct rs_packet packet;
};

static const uint8_t *sample_payload(void)
{
	static uint8_t bytes[RS_MAX_PAYLOAD];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	return bytes;
}

/* payload: of opcodes that carry some. */
static inline struct sample sample_of(uint8_t opcode, uint16_t payload, bool ipv6, bool vlan)
{
	uint32_t flags = rs_opcodes[opcode].flags;
	struct sample s = {0};
	struct rs_packet *p = &s.packet;

	rs_frame_of_endpoints(&s.frame, 41, 7, ipv6);
	s.frame.vlan = vlan;
	s.frame.vlan_tci = vlan ? 0x6064 : 0;
	s.frame.ip_id = ipv6 ? 0 : 0x1234;
	s.frame.flow_label = ipv6 ? 0xabcde : 0;
	s.frame.udp_checksum = ipv6 ? 0xbeef : 0;
	p->next = RS_NO_PACKET;
	p->opcode = opcode;
	p->sport = 0xc123;
	p->tos = 26 << 2 | RS_ECN_CE;
	p->pkey = 0xffff;
	p->dest_qp = 0x123456;
	p->psn = 0xfedcba;
	p->bth_flags = RS_BTH_SE | RS_BTH_ACKREQ | RS_BTH_FECN;
	p->xrc_srqn = flags & RS_F_XRCETH ? 0x00a1b2 : 0;
	p->qkey = flags & RS_F_DETH ? 0x11223344 : 0;
	p->src_qp = flags & RS_F_DETH ? 0x556677 : 0;
	p->feth = flags & RS_F_FETH ? 0x00000012 : 0;
	p->va = flags & (RS_F_RETH | RS_F_ATOMIC) ? UINT64_C(0x0102030405060708) : 0;
	p->rkey = flags & (RS_F_RETH | RS_F_ATOMIC) ? 0x99aabbcc : 0;
	p->dma_bytes = flags & RS_F_RETH ? 0x00010203 : 0;
	p->swap_add = flags & (RS_F_ATOMIC | RS_F_ATOMIC_ACK) ? UINT64_C(0x1112131415161718) : 0;
	p->compare = flags & RS_F_ATOMIC ? UINT64_C(0x2122232425262728) : 0;
	p->aeth = flags & RS_F_AETH ? 0x1f00abcd : 0;
	p->imm = flags & (RS_F_IMM | RS_F_IETH) ? 0xcafef00d : 0;
	if (flags & RS_F_PAYLOAD) {
		p->payload = sample_payload();
		p->payload_bytes = payload;
	}
	return s;
}

#endif
