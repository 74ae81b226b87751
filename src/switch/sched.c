/* Egress scheduling between classes: port/ets.h over this port's queues. */
#include "switch/state.h"

struct heads {
	const struct rs_packet *base;
	const struct queue *q;
};

static int32_t head_bytes(const void *arg, unsigned c)
{
	const struct heads *h = arg;

	return h->base[h->q[c].packets.head].frame_bytes;
}

unsigned rs_sched_pick(struct rs_switch *sw, struct port *out, uint8_t ready)
{
	const struct heads h = {sw->base, out->q};

	return rs_ets_next(&sw->ets, &out->turns, ready, head_bytes, &h);
}
