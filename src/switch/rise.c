/* Lossless classes by hop (rise.h). */
#include "switch/rise.h"

#include "base/error.h"

struct rs_rise rs_rise_of(const uint8_t *list, unsigned n, const uint8_t dscp[RS_CLASSES])
{
	struct rs_rise r;

	for (uint8_t c = 0; c < RS_CLASSES; c++) {
		r.next[c] = c;
		r.dscp[c] = dscp[c];
	}
	for (unsigned i = 0; i + 1 < n; i++) {
		rs_assert(list[i] < RS_CLASSES && list[i + 1] < RS_CLASSES);
		r.next[list[i]] = list[i + 1];
	}
	return r;
}

/* What the peer's next switch pauses is what it would have sent there. */
static void pauses(const struct rs_rise *r, struct rs_packet *p)
{
	const uint8_t enable = p->pfc_enable;
	uint16_t quanta[RS_CLASSES];

	for (unsigned c = 0; c < RS_CLASSES; c++)
		quanta[c] = p->pfc_quanta[c];
	p->pfc_enable = 0;
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		p->pfc_enable |= (uint8_t)((enable >> r->next[c] & 1) << c);
		p->pfc_quanta[c] = quanta[r->next[c]];
	}
}

void rs_rise_packet(const struct rs_rise *r, struct rs_packet *p)
{
	if (p->kind == RS_KIND_PFC)
		pauses(r, p);
	else if (r->next[p->tc] != p->tc)
		p->tos = (uint8_t)(r->dscp[r->next[p->tc]] << 2 | (p->tos & 3));
}
