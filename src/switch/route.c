/* Routing policies other than the hash of state.h: pinned paths, packet spray, the least queue,
 * flowlets (Sinha, Kandula and Katabi 2004), placement. */
#include "switch/state.h"

static uint64_t queued(const struct port *p)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < RS_CLASSES; c++)
		n += p->q[c].bytes;
	return n;
}

static uint32_t least(struct rs_switch *sw, const uint16_t *set, uint32_t n)
{
	uint32_t start = rs_random_below(&sw->random, n), best = start;
	uint64_t least_bytes = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = start + i < n ? start + i : start + i - n;
		uint64_t bytes = queued(&sw->port[set[at]]);

		if (bytes < least_bytes) {
			least_bytes = bytes;
			best = at;
		}
	}
	return best;
}

/* A pause in a flow longer than paths differ lets the rest take another path in order. Flows that
 * share an entry of the table share their flowlet. */
static uint32_t flowlet(struct rs_switch *sw, const struct rs_packet *p, const uint16_t *set,
			uint32_t n, rs_time now)
{
	uint64_t flow = ((uint64_t)p->src << 32 | p->dst) ^ (uint64_t)p->sport << 40;
	struct flowlet *f = &sw->flowlets[rs_mix64(flow ^ sw->hash_seed) % FLOWLETS];

	/* n differs between destinations: an entry may have been another's */
	if (now - f->last > sw->cfg.flowlet_gap || f->at >= n)
		f->at = least(sw, set, n);
	f->last = now;
	return f->at;
}

/* The path is the packet's: who sent it knows all sets. A division: counterfactual runs only. */
static uint32_t placed(struct rs_packet *p, uint32_t n)
{
	uint32_t at = p->number & 0xff;

	p->number >>= 8;
	return at % n;
}

uint32_t rs_route_choose(struct rs_switch *sw, struct rs_packet *p, const uint16_t *set, uint32_t n,
			 rs_time now)
{
	switch ((enum rs_routing)sw->routing) {
	case RS_ROUTE_ADAPTIVE:
		return least(sw, set, n);
	case RS_ROUTE_FLOWLET:
		return flowlet(sw, p, set, n, now);
	case RS_ROUTE_PLACED:
		return placed(p, n);
	default:
		return rs_random_below(&sw->random, n);
	}
}

int rs_route_pinned(const struct rs_switch *sw, const struct rs_packet *p)
{
	const struct rs_switch_pins *pins = &sw->pins;
	uint32_t first = pins->first[p->dst], n = pins->first[p->dst + 1] - first;
	uint32_t i = p->dest_qp - pins->first_qpn;

	return i < n ? pins->port[first + i] : RS_UNPINNED;
}

int rs_switch_way(const struct rs_switch *sw, struct rs_packet *p, uint32_t *ways)
{
	int pinned = sw->pinned ? rs_route_pinned(sw, p) : RS_UNPINNED;
	uint32_t set, n;

	*ways = 1;
	if (p->dst >= sw->n_endpoints)
		return -1;
	if (pinned != RS_UNPINNED)
		return pinned;
	if (sw->group_of[p->dst] == sw->my_group)
		return sw->local_port[sw->local_index[p->dst]];
	set = sw->set_of[sw->group_of[p->dst]];
	n = set & 0xff;
	if (n <= 1)
		return n ? sw->ports[set >> 8] : -1;
	if (sw->routing == RS_ROUTE_ECMP)
		return sw->ports[(set >> 8) + hashed(sw, p, n)];
	if (sw->routing == RS_ROUTE_PLACED)
		return sw->ports[(set >> 8) + placed(p, n)];
	*ways = n;
	return sw->ports[set >> 8];
}

void rs_switch_set_routes(struct rs_switch *sw, const uint32_t *set_of, const uint16_t *ports)
{
	rs_assert(set_of && ports);
	sw->set_of = set_of;
	sw->ports = ports;
}
