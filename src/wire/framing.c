/* Frame lengths: RoCEv2 (A17.3, 802.3), and the HPCC paper's ns-3 as it was measured. */
#include "wire/framing.h"

const struct rs_framing rs_framings[RS_FRAMINGS] = {
	[RS_FRAMING_ROCEV2] = {.name = "rocev2",
			       .least = RS_ETH_MIN_FRAME,
			       .pfc = RS_PFC_FRAME,
			       .gap = RS_PREAMBLE_IPG_BYTES},
	/* 14 + 20 + 8 + 6 before the payload; no FCS, preamble or gap */
	[RS_FRAMING_NS3] = {.name = "ns-3", .data = 48, .ack = 46, .least = 60, .pfc = 43},
	/* uet-htsim 40ccb052: 64 in all packets, and nothing beside them */
	[RS_FRAMING_HTSIM] = {.name = "htsim", .data = 64, .ack = 64, .least = 64, .pfc = 64},
};

uint16_t rs_framing_data(const struct rs_framing *f, uint8_t opcode, uint32_t payload, bool ipv6,
			 uint16_t telemetry)
{
	uint32_t n = f->data ? f->data + payload : rs_frame_bytes(opcode, payload, ipv6);

	return (uint16_t)(n + telemetry);
}

uint16_t rs_framing_ack(const struct rs_framing *f, bool ipv6, uint16_t telemetry)
{
	uint32_t n = f->ack ? f->ack : rs_frame_bytes(RS_OP_ACKNOWLEDGE, 0, ipv6);

	n += telemetry;
	return (uint16_t)(n < f->least ? f->least : n);
}
