/* Admission to the shared buffer near its limits: dynamic threshold (Choudhury and Hahne 1998),
 * headroom, XOFF and XON (802.1Q-2022 clause 36). state.h has the way of a packet far from them. */
#include "switch/state.h"

bool rs_buffer_admit_tight(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes)
{
	struct share *s = &sw->port[in].in[tc];
	bool lossless = sw->lossless >> tc & 1;
	int64_t over = above_0(s->use + (int64_t)bytes);
	int64_t more = over - above_0(s->use);

	bool above = over && over > threshold(s, sw->free);

	/* The frame that crosses the threshold is not of those that headroom is for: these come
	 * after it. It is the pool's, while it fits: alpha above 1 would let in what does not. */
	if (lossless && !s->pausing && !sw->cfg.quirks.headroom_delays)
		above = false;
	if (s->headroom || above || more > sw->free) {
		if (!lossless || s->headroom + bytes > sw->port[in].headroom)
			return false;
		s->headroom += bytes;
	} else {
		s->use += (int64_t)bytes;
		sw->free -= more;
	}
	hold(sw, bytes);
	if (lossless && !s->pausing && (s->headroom || above_0(s->use) >= threshold(s, sw->free)))
		rs_pfc_set(sw, in, tc, true);
	return true;
}

bool rs_buffer_overflow(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes)
{
	struct share *s = &sw->port[in].in[tc];
	bool lossless = sw->lossless >> tc & 1;

	if (!sw->cfg.endless)
		return false;
	/* only its egress queue was too long: PFC is what holds it back then */
	if (lossless && rs_buffer_admit_tight(sw, in, tc, bytes))
		return true;
	s->headroom += bytes;
	hold(sw, bytes);
	if (!lossless)
		s->pausing = true;
	else if (!s->pausing)
		rs_pfc_set(sw, in, tc, true);
	return true;
}

/* Headroom empties first. */
void rs_buffer_release_pausing(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes)
{
	struct share *s = &sw->port[in].in[tc];
	uint64_t from_headroom = bytes < s->headroom ? bytes : s->headroom;
	int64_t use = s->use - (int64_t)(bytes - from_headroom);

	sw->free += above_0(s->use) - above_0(use);
	s->use = use;
	s->headroom -= from_headroom;
	if (s->headroom)
		return;
	if (unlikely(!(sw->lossless >> tc & 1)))
		s->pausing = false;
	else if (use <= 0 || use + (int64_t)sw->class[tc].xon_offset <= threshold(s, sw->free))
		rs_pfc_set(sw, in, tc, false);
}

uint64_t rs_buffer_limit(const struct rs_switch *sw, const struct port *out, unsigned tc)
{
	uint64_t limit = sw->class[tc].egress_limit;

	return limit && out->limit && tc == sw->cfg.limit_tc ? out->limit : limit;
}

bool rs_buffer_egress_full(const struct rs_switch *sw, const struct port *out, unsigned tc,
			   uint64_t bytes)
{
	const struct rs_switch_class *c = &sw->class[tc];
	uint64_t queued = out->q[tc].bytes, limit = rs_buffer_limit(sw, out, tc);

	if (limit && queued + bytes > limit)
		return true;
	return !c->lossless && queued &&
	       queued + bytes > (uint64_t)threshold(&out->in[tc], sw->free);
}
