/* Packets that wait for their payload behind a NIC's port (egress.h). */
#include <string.h>
#include "port/egress.h"
#include "base/error.h"

void rs_egress_init(struct rs_egress *g, struct rs_packet *base, const uint8_t weight[RS_CLASSES])
{
	rs_assert(base);
	memset(g, 0, sizeof(*g));
	for (unsigned c = 0; c < RS_CLASSES; c++)
		g->class[c].staged.head = g->class[c].express.head = RS_NO_PACKET;
	g->ets = rs_ets_of(weight);
	g->base = base;
}

static bool is_answer(const struct rs_packet *p)
{
	return p->kind == RS_KIND_ROCE && p->opcode >= RS_OP_READ_RESPONSE_FIRST &&
	       p->opcode <= RS_OP_READ_RESPONSE_ONLY;
}

static bool is_express(const struct rs_egress_class *k, const struct rs_packet *p)
{
	if (p->kind != RS_KIND_ROCE)
		return !p->payload_bytes;
	return p->opcode == RS_OPCODE_CNP || p->opcode == RS_OPCODE_CREDIT ||
	       (p->opcode == RS_OP_ACKNOWLEDGE && !k->answers);
}

void rs_egress_put(struct rs_egress *g, unsigned c, struct rs_packet *p, rs_time when)
{
	struct rs_egress_class *k = &g->class[c];

	g->filled |= (uint8_t)(1u << c);
	if (is_express(k, p)) {
		rs_queue_push(&k->express, g->base, p);
		return;
	}
	if (p->payload_bytes)
		g->used |= (uint8_t)(1u << c);
	p->when = k->last = rs_time_max(when, k->last);
	k->bytes += p->payload_bytes;
	k->answers += is_answer(p);
	g->bytes += p->payload_bytes;
	rs_queue_push(&k->staged, g->base, p);
}

static struct rs_packet *first(const struct rs_egress *g, unsigned c)
{
	struct rs_packet *p = rs_queue_first(&g->class[c].express, g->base);

	return p ? p : rs_queue_first(&g->class[c].staged, g->base);
}

unsigned rs_egress_ready(const struct rs_egress *g, uint8_t held, rs_time now, rs_time *again)
{
	unsigned ready = 0;

	for (unsigned m = g->filled & ~(unsigned)held; m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);
		const struct rs_packet *p = rs_queue_first(&g->class[c].staged, g->base);

		if (g->class[c].express.head != RS_NO_PACKET || p->when <= now)
			ready |= 1u << c;
		else
			*again = rs_time_min(*again, p->when);
	}
	return ready;
}

static int32_t first_bytes(const void *arg, unsigned c)
{
	return first(arg, c)->frame_bytes;
}

struct rs_packet *rs_egress_take(struct rs_egress *g, unsigned ready)
{
	unsigned c = rs_ets_next(&g->ets, &g->turns, ready, first_bytes, g);
	struct rs_egress_class *k = &g->class[c];
	struct rs_packet *p = rs_queue_first(&k->express, g->base);

	if (p) {
		rs_queue_pop(&k->express, g->base);
	} else {
		p = rs_queue_first(&k->staged, g->base);
		rs_queue_pop(&k->staged, g->base);
		k->bytes -= p->payload_bytes;
		g->bytes -= p->payload_bytes;
		k->answers -= is_answer(p);
	}
	if (!first(g, c))
		g->filled &= (uint8_t) ~(1u << c);
	return p;
}

uint32_t rs_egress_bytes(const struct rs_egress *g, uint8_t held)
{
	uint32_t bytes = g->bytes;

	for (unsigned m = held; m; m &= m - 1)
		bytes -= g->class[__builtin_ctz(m)].bytes;
	return bytes;
}

uint8_t rs_egress_full(const struct rs_egress *g, uint8_t sharing, rs_time ahead,
		       struct rs_pace pace, uint32_t most)
{
	uint32_t sum = 0;
	uint8_t full = 0;

	for (unsigned m = sharing; m; m &= m - 1)
		sum += g->ets.weight[__builtin_ctz(m)];
	for (unsigned m = sharing; m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);
		rs_time part = ahead * g->ets.weight[c] / sum + rs_pace_time(pace, most);

		if (rs_pace_time_long(pace, g->class[c].bytes) >= part)
			full |= (uint8_t)(1u << c);
	}
	return full;
}

uint64_t rs_egress_count(const struct rs_egress *g)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < RS_CLASSES; c++)
		n += rs_queue_count(&g->class[c].staged, g->base) +
		     rs_queue_count(&g->class[c].express, g->base);
	return n;
}
