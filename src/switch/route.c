/* Routing: ECMP by hash of the flow, a packet spray, or the least queue among equal-cost ports. */
#include "switch/state.h"

static uint32_t below(uint32_t hash, uint32_t n)
{
	return (uint32_t)((uint64_t)hash * n >> 32);
}

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

static uint16_t pinned_port(const struct rs_switch_pins *pins, const struct rs_packet *p)
{
	uint32_t first = pins->first[p->dst], n = pins->first[p->dst + 1] - first;
	uint32_t i = p->dest_qp - pins->first_qpn;

	return i < n ? pins->port[first + i] : RS_UNPINNED;
}

int rs_route(struct rs_switch *sw, const struct rs_packet *p)
{
	const struct rs_switch_routes *r = &sw->cfg.routes;
	uint32_t group, set, n, at;
	uint64_t hash;

	if (p->dst >= r->n_endpoints)
		return -1;
	if (__builtin_expect(sw->pins.port != NULL, 0)) {
		uint16_t pinned = pinned_port(&sw->pins, p);

		if (pinned != RS_UNPINNED)
			return pinned;
	}
	group = r->group_of[p->dst];
	if (group == r->my_group)
		return r->local_port[r->local_index[p->dst]];
	set = r->set_of[group];
	n = set & 0xff;
	if (n <= 1)
		return n ? r->ports[set >> 8] : -1;
	if (sw->cfg.routing == RS_ROUTE_ADAPTIVE) {
		at = least(sw, &r->ports[set >> 8], n);
	} else if (sw->cfg.routing == RS_ROUTE_SPRAY) {
		at = rs_random_below(&sw->random, n);
	} else if (sw->cfg.routing == RS_ROUTE_PLACED) {
		at = r->local_index[p->dst] % n; /* a division: counterfactual runs only */
	} else {
		hash = ((uint64_t)p->src << 32 | p->dst) * UINT64_C(0x9e3779b97f4a7c15);
		hash = (hash ^ hash >> 29 ^ (uint64_t)p->sport << 17 ^ sw->hash_seed) *
		       UINT64_C(0xbf58476d1ce4e5b9);
		at = below((uint32_t)(hash >> 32), n);
	}
	return r->ports[(set >> 8) + at];
}
