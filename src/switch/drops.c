/* Drops by place and reason: nothing of it is touched before a packet is dropped. */
#include <stdlib.h>
#include "switch/state.h"

int rs_drops_create(struct rs_switch *sw)
{
	uint8_t used = 0;

	for (unsigned d = 0; d < 64; d++)
		used |= (uint8_t)(1 << sw->tc_of_dscp[d]);
	for (unsigned t = 0, slot = 0; t < RS_CLASSES; t++)
		sw->drop_slot[t] = used >> t & 1 ? (uint8_t)slot++ : UINT8_MAX;
	sw->drop_slots = (uint8_t)__builtin_popcount(used);
	sw->drops = calloc((size_t)sw->cfg.n_ports * sw->drop_slots, sizeof(*sw->drops));
	sw->losses = rs_losses_create(sw->cfg.n_ports < PAIRS_MAX / PAIRS_A_PORT
					      ? sw->cfg.n_ports * PAIRS_A_PORT
					      : PAIRS_MAX);
	return sw->drops && sw->losses ? 0 : -1;
}

void rs_drops_destroy(struct rs_switch *sw)
{
	free(sw->drops);
	if (sw->losses)
		rs_losses_destroy(sw->losses);
}

/* The value that most have, if one has more than half (Boyer and Moore 1981). */
static void vote(uint16_t *value, uint16_t *votes, uint16_t v)
{
	if (!*votes)
		*value = v;
	if (*value != v)
		--*votes;
	else if (*votes != UINT16_MAX)
		++*votes;
}

void rs_drops_count(struct rs_switch *sw, unsigned port, unsigned tc, enum rs_switch_why why,
		    int to, const struct rs_packet *p)
{
	struct rs_switch_drops *d = &sw->drops[port * sw->drop_slots + sw->drop_slot[tc]];

	rs_assert(port < sw->cfg.n_ports && sw->drop_slot[tc] < sw->drop_slots);
	rs_assert(to < (int)sw->cfg.n_ports);
	d->packets[why]++;
	vote(&d->dscp, &d->dscp_votes, p->tos >> 2);
	if (to >= 0)
		vote(&d->to, &d->to_votes, (uint16_t)to);
	rs_losses_add(sw->losses, p->src, p->dst, (uint16_t)port, (uint16_t)why);
	if (sw->cfg.dropped)
		sw->cfg.dropped(sw->cfg.dropped_ctx, p);
}

int rs_drop_unroutable(struct rs_switch *sw, unsigned in, unsigned tc, struct rs_packet *p)
{
	rs_drops_count(sw, in, tc, RS_SWITCH_NO_ROUTE, -1, p);
	sw->port[in].c.drops++;
	sw->c.unroutable++;
	rs_pool_free(sw->cfg.free, p);
	return -1;
}

int rs_drop_no_room(struct rs_switch *sw, unsigned in, unsigned to, unsigned tc,
		    struct rs_packet *p, uint64_t bytes)
{
	uint64_t limit = rs_buffer_limit(sw, &sw->port[to], tc);
	bool lossless = sw->lossless >> tc & 1;
	enum rs_switch_why why = lossless ? RS_SWITCH_HEADROOM : RS_SWITCH_LOSSY;

	if (limit && sw->port[to].q[tc].bytes + bytes > limit)
		why = RS_SWITCH_LIMIT;
	rs_drops_count(sw, in, tc, why, (int)to, p);
	sw->port[in].c.drops++;
	sw->c.drops++;
	sw->c.drops_lossless += lossless;
	rs_pool_free(sw->cfg.free, p);
	return -1;
}

const struct rs_switch_drops *rs_switch_drops(const struct rs_switch *sw, unsigned port,
					      unsigned tc)
{
	rs_assert(port < sw->cfg.n_ports && tc < RS_CLASSES);
	return sw->drop_slot[tc] == UINT8_MAX
		       ? NULL
		       : &sw->drops[port * sw->drop_slots + sw->drop_slot[tc]];
}

const struct rs_losses *rs_switch_losses(const struct rs_switch *sw)
{
	return sw->losses;
}
