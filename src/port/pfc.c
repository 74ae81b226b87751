/* PFC: the frame, headroom, and the times of 802.3 annex 31B. */
#include <string.h>
#include "port/pfc.h"
#include "base/error.h"

void rs_pfc_fill(struct rs_packet *k, uint8_t due, uint8_t pausing, uint16_t quanta)
{
	memset(k, 0, sizeof(*k));
	k->kind = RS_KIND_PFC;
	k->pfc_enable = due | pausing;
	for (unsigned c = 0; c < RS_CLASSES; c++)
		k->pfc_quanta[c] = pausing >> c & 1 ? quanta : 0;
}

uint32_t rs_pfc_response_quanta(int64_t rate)
{
	static const struct {
		int64_t rate;
		uint32_t quanta;
	} table[] = {{10 * RS_GBPS, 60},  {25 * RS_GBPS, 80},   {40 * RS_GBPS, 118},
		     {50 * RS_GBPS, 147}, {100 * RS_GBPS, 394}, {200 * RS_GBPS, 453}};

	rs_assert(rate > 0);
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (rate <= table[i].rate)
			return table[i].quanta;
	return 905;
}

rs_time rs_pfc_response_time(int64_t rate)
{
	return rs_quanta_time(rs_pace_of(rate), rs_pfc_response_quanta(rate));
}

uint32_t rs_pfc_least_quanta(uint32_t response_quanta, uint32_t max_frame)
{
	uint32_t frame = max_frame + RS_PREAMBLE_IPG_BYTES;
	uint32_t pfc = RS_PFC_FRAME + RS_PREAMBLE_IPG_BYTES;
	uint32_t obeyed = response_quanta + (frame + RS_QUANTUM_BYTES - 1) / RS_QUANTUM_BYTES;
	uint32_t renewed = (2 * (frame + pfc) + RS_QUANTUM_BYTES - 1) / RS_QUANTUM_BYTES;

	return obeyed > renewed ? obeyed : renewed;
}

uint64_t rs_pfc_headroom(int64_t rate, rs_time delay, uint32_t max_frame, uint32_t response_quanta)
{
	const rs_uint128 bit_s = (rs_uint128)8 * 1000000000000;
	uint64_t cable;

	rs_assert(rate > 0 && delay >= 0);
	cable = (uint64_t)(((rs_uint128)2 * (uint64_t)delay * (uint64_t)rate + bit_s - 1) / bit_s);
	return 2 * ((uint64_t)max_frame + RS_PREAMBLE_IPG_BYTES) + RS_PFC_FRAME +
	       RS_PREAMBLE_IPG_BYTES + cable + (uint64_t)response_quanta * RS_QUANTUM_BYTES;
}

/* Worst are frames of one byte more than whole cells, or the shortest; the last may be cut off. */
uint64_t rs_pfc_headroom_cells(uint64_t link_bytes, uint32_t cell)
{
	uint64_t cells, worst = link_bytes;

	if (cell <= 1)
		return link_bytes;
	cells = (RS_ETH_MIN_FRAME + cell - 1) / cell;
	for (uint64_t frame = RS_ETH_MIN_FRAME; cells <= 2 + RS_ETH_MIN_FRAME / cell; cells++) {
		uint64_t room = (link_bytes / (frame + RS_PREAMBLE_IPG_BYTES) + 1) * cells * cell;

		worst = room > worst ? room : worst;
		frame = cells * cell + 1;
	}
	return worst;
}
