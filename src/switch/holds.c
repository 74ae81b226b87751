/* Who pauses whom, and for what: kept where PFC frames come and go, of classes with PFC. */
#include <stdlib.h>
#include <string.h>
#include "switch/state.h"

enum { QUEUES = 8, LOOK = 16 };

int rs_holds_create(struct rs_switch *sw)
{
	sw->hold_slots = (uint8_t)__builtin_popcount(sw->lossless);
	sw->holds = calloc((size_t)sw->cfg.n_ports * sw->hold_slots + 1, sizeof(*sw->holds));
	return sw->holds ? 0 : -1;
}

static struct hold *hold_of(const struct rs_switch *sw, unsigned port, unsigned tc)
{
	unsigned before = (unsigned)__builtin_popcount(sw->lossless & ((1u << tc) - 1));

	rs_assert(port < sw->cfg.n_ports && sw->lossless >> tc & 1);
	return &sw->holds[port * sw->hold_slots + before];
}

rs_time rs_switch_held(const struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	const struct port *p = &sw->port[port];

	if (!(sw->lossless >> tc & 1))
		return 0;
	return hold_of(sw, port, tc)->held + rs_lfc_lasts(&p->lfc, &p->times, tc, now);
}

void rs_holds_ended(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	rs_time since = sw->port[port].times.pause[tc].since;

	rs_assert(now >= since);
	hold_of(sw, port, tc)->held += now - since;
}

/* Times that were summed up begin anew, for their sums would leave the range, too. */
void rs_holds_rebase(struct rs_switch *sw, rs_time by)
{
	for (unsigned i = 0; i < sw->cfg.n_ports * sw->hold_slots; i++) {
		struct hold *h = &sw->holds[i];

		h->held = h->held_before = 0;
		h->since = h->open ? h->since - by : 0;
		memset(h->wait, 0, sizeof(h->wait));
	}
}

/* ---- What an ingress waits for ---- */

/* The longest queue of the class that comes after (bytes, port); -1: none. */
static int next_longest(const struct rs_switch *sw, unsigned tc, uint64_t bytes, int port)
{
	uint64_t most = 0;
	int at = -1;

	for (unsigned i = 0; i < sw->cfg.n_ports; i++) {
		uint64_t b = sw->port[i].q[tc].bytes;

		if (b > most && (b < bytes || (b == bytes && (int)i > port))) {
			most = b;
			at = (int)i;
		}
	}
	return at;
}

/* The bytes of a queue that came in by `in`, as its first packets are. */
static uint64_t share_of(const struct rs_switch *sw, const struct queue *q, unsigned in)
{
	uint64_t mine = 0, seen = 0;
	uint32_t k = q->packets.head;

	for (unsigned i = 0; i < LOOK && k != RS_NO_PACKET; i++, k = sw->base[k].next) {
		uint32_t bytes = sw->base[k].frame_bytes;

		seen += bytes;
		mine += sw->base[k].in_port == in ? bytes : 0;
	}
	return seen ? (uint64_t)((rs_uint128)q->bytes * mine / seen) : 0;
}

/* The egress where most of the bytes wait that came in by `in`: the longest queues are looked into,
 * as far as one not looked into could still hold more. */
static unsigned waits_for(const struct rs_switch *sw, unsigned in, unsigned tc)
{
	int at = next_longest(sw, tc, UINT64_MAX, -1), longest = at;
	uint64_t most = 0;

	for (unsigned i = 0; i < QUEUES && at >= 0 && sw->port[at].q[tc].bytes > most; i++) {
		uint64_t here = share_of(sw, &sw->port[at].q[tc], in);

		if (here > most) {
			most = here;
			longest = at;
		}
		at = next_longest(sw, tc, sw->port[at].q[tc].bytes, at);
	}
	return longest < 0 ? in : (unsigned)longest;
}

/* Adds to one of the few egresses kept; when there are more, the least gives way and what it had
 * counts on (Space-Saving). */
static void add(struct rs_switch_wait *w, unsigned egress, rs_time time, rs_time held)
{
	unsigned least = 0;

	for (unsigned i = 0; i < RS_SWITCH_WAITS; i++) {
		if (w[i].time && w[i].egress == egress) {
			w[i].time += time;
			w[i].held += held;
			return;
		}
		if (w[i].time < w[least].time)
			least = i;
	}
	w[least] = (struct rs_switch_wait){(uint16_t)egress, w[least].time + time, held};
}

uint64_t rs_holds_pauses(const struct rs_switch *sw, unsigned port, unsigned tc)
{
	return sw->lossless >> tc & 1 ? hold_of(sw, port, tc)->pauses : 0;
}

static void close_hold(const struct rs_switch *sw, const struct hold *h, unsigned tc, rs_time now,
		       struct rs_switch_wait *w)
{
	if (h->open && now > h->since)
		add(w, h->egress, now - h->since,
		    rs_switch_held(sw, h->egress, tc, now) - h->held_before);
}

void rs_holds_frame(struct rs_switch *sw, unsigned port, unsigned classes, rs_time now)
{
	uint8_t pausing = sw->port[port].lfc.pausing;

	for (classes &= sw->lossless; classes; classes &= classes - 1) {
		unsigned tc = (unsigned)__builtin_ctz(classes);
		struct hold *h = hold_of(sw, port, tc);

		close_hold(sw, h, tc, now, h->wait);
		h->open = pausing >> tc & 1;
		if (!h->open)
			continue;
		h->pauses++;
		h->since = now;
		h->egress = (uint16_t)waits_for(sw, port, tc);
		h->held_before = rs_switch_held(sw, h->egress, tc, now);
	}
}

uint64_t rs_switch_waits(const struct rs_switch *sw, unsigned port, unsigned tc, rs_time now,
			 struct rs_switch_wait wait[RS_SWITCH_WAITS])
{
	const struct hold *h;

	if (!(sw->lossless >> tc & 1))
		return 0;
	h = hold_of(sw, port, tc);
	memcpy(wait, h->wait, sizeof(h->wait));
	close_hold(sw, h, tc, now, wait);
	return h->pauses;
}

/* ---- Circles ---- */

uint32_t rs_switch_held_now(const struct rs_switch *sw)
{
	return sw->held_now;
}

uint8_t rs_switch_held_before(const struct rs_switch *sw, unsigned port, rs_time before)
{
	const struct port *p = port_at(sw, port);
	uint8_t held = 0;

	for (unsigned m = p->lfc.paused.now & p->filled; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);

		if (p->times.pause[tc].since < before)
			held |= (uint8_t)(1 << tc);
	}
	return held;
}

rs_time rs_switch_held_since(const struct rs_switch *sw, unsigned port, unsigned tc)
{
	rs_assert(tc < RS_CLASSES);
	return port_at(sw, port)->times.pause[tc].since;
}

uint8_t rs_switch_pausing(const struct rs_switch *sw, unsigned port)
{
	return port_at(sw, port)->lfc.pausing;
}

void rs_switch_queued_by(const struct rs_switch *sw, unsigned port, unsigned tc, uint64_t *bytes)
{
	rs_assert(tc < RS_CLASSES);
	for (uint32_t k = port_at(sw, port)->q[tc].packets.head; k != RS_NO_PACKET;
	     k = sw->base[k].next)
		bytes[sw->base[k].in_port] += sw->base[k].frame_bytes;
}

/* ---- For tests ---- */

/* A hold is open as the last frame said; one that is due says otherwise when it leaves. */
void rs_holds_check(const struct rs_switch *sw)
{
	for (unsigned i = 0; i < sw->cfg.n_ports; i++)
		for (unsigned m = sw->lossless; m; m &= m - 1) {
			unsigned tc = (unsigned)__builtin_ctz(m);
			const struct rs_lfc *l = &sw->port[i].lfc;
			const struct hold *h = hold_of(sw, i, tc);

			rs_assert(l->due >> tc & 1 || h->open == (l->pausing >> tc & 1));
			rs_assert(!h->open || (h->pauses && h->egress < sw->cfg.n_ports));
		}
}
