/* Admission to the shared buffer: reserve, dynamic threshold (Choudhury and Hahne 1998), headroom.
 */
#include "switch/state.h"

/* T = free shared bytes << shift. */
static uint64_t threshold(const struct rs_switch *sw, const struct port *p, unsigned tc)
{
	uint64_t free = sw->shared_size > sw->shared_used ? sw->shared_size - sw->shared_used : 0;
	int shift = sw->class[tc].alpha_shift + p->alpha_add;

	return shift >= 0 ? free << shift : free >> -shift;
}

/* Bytes of use above the reserve: what weighs on the shared pool. */
static uint64_t over(uint64_t use, uint64_t reserve)
{
	return use > reserve ? use - reserve : 0;
}

bool rs_buffer_admit(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes, rs_time now)
{
	struct port *p = &sw->port[in];
	const struct rs_switch_class *c = &sw->class[tc];
	uint64_t before = over(p->in_use[tc], c->reserve);
	uint64_t after = over(p->in_use[tc] + bytes, c->reserve);
	uint64_t t = threshold(sw, p, tc);

	if (p->in_headroom[tc] || (after && after > t)) {
		if (!c->lossless || p->in_headroom[tc] + bytes > p->headroom)
			return false;
		p->in_headroom[tc] += bytes;
	} else {
		p->in_use[tc] += bytes;
		sw->shared_used += after - before;
	}
	sw->used += bytes;
	if (sw->used > sw->c.max_buffer)
		sw->c.max_buffer = sw->used;
	if (c->lossless && !(p->pausing >> tc & 1) &&
	    (p->in_headroom[tc] || over(p->in_use[tc], c->reserve) >= threshold(sw, p, tc)))
		rs_pfc_set(sw, in, tc, true, now);
	return true;
}

void rs_buffer_release(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes, rs_time now)
{
	struct port *p = &sw->port[in];
	const struct rs_switch_class *c = &sw->class[tc];
	uint64_t from_headroom = bytes < p->in_headroom[tc] ? bytes : p->in_headroom[tc];
	uint64_t rest = bytes - from_headroom;
	uint64_t before = over(p->in_use[tc], c->reserve);

	sw->used -= bytes;
	p->in_headroom[tc] -= from_headroom;
	p->in_use[tc] -= rest;
	sw->shared_used -= before - over(p->in_use[tc], c->reserve);
	if (!(p->pausing >> tc & 1) || p->in_headroom[tc])
		return;
	if (over(p->in_use[tc], c->reserve) + c->xon_offset <= threshold(sw, p, tc) ||
	    !over(p->in_use[tc], c->reserve))
		rs_pfc_set(sw, in, tc, false, now);
}

bool rs_buffer_egress_full(const struct rs_switch *sw, const struct port *out, unsigned tc,
			   uint64_t bytes)
{
	return !sw->class[tc].lossless && out->q[tc].bytes + bytes > threshold(sw, out, tc) &&
	       out->q[tc].bytes;
}
