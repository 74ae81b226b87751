/* Routing policies other than the hash of state.h: pinned paths, packet spray, the least queue,
 * flowlets (Sinha, Kandula and Katabi 2004), other hashes, placement. */
#include "switch/state.h"
#include "wire/crc.h"

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

/* ---- Adaptive: queues by grades, as they were when last looked at ---- */

/* Of a port. A sample is taken when one is needed and the latest is too old. */
static uint64_t seen(struct rs_switch *sw, unsigned port, rs_time now)
{
	struct sample *s = sw->sample;

	if (!s)
		return queued(&sw->port[port]);
	if (now >= s->at) {
		for (unsigned i = 0; i < sw->cfg.n_ports; i++)
			s->queued[i] = queued(&sw->port[i]);
		s->at = now + sw->cfg.adaptive.sample;
	}
	return s->queued[port];
}

/* What counts of a queue: its grade, or each byte where there are none. */
static uint64_t grade(const struct rs_switch *sw, uint64_t bytes)
{
	const struct rs_adaptive *a = &sw->cfg.adaptive;
	unsigned n = 0;

	if (!a->n_grades)
		return bytes;
	while (n < a->n_grades && bytes >= a->grade[n])
		n++;
	return n;
}

/* One of the ports of the least grade, each as likely as another. */
static uint32_t least_grade(struct rs_switch *sw, const uint16_t *set, uint32_t n, rs_time now)
{
	uint64_t best = UINT64_MAX;
	uint32_t alike = 0, of, at = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t g = grade(sw, seen(sw, set[i], now));

		if (g < best) {
			best = g;
			alike = 0;
		}
		alike += g == best;
	}
	of = rs_random_below(&sw->random, alike);
	for (;; at++)
		if (grade(sw, seen(sw, set[at], now)) == best && !of--)
			return at;
}

/* An entry of the table that flows share. */
static struct flowlet *flow_of(struct rs_switch *sw, const struct rs_packet *p)
{
	uint64_t flow = ((uint64_t)p->src << 32 | p->dst) ^ (uint64_t)p->sport << 40;

	return &sw->flowlets[rs_mix64(flow ^ sw->hash_seed) % FLOWLETS];
}

static uint32_t adaptive(struct rs_switch *sw, const struct rs_packet *p, const uint16_t *set,
			 uint32_t n, rs_time now)
{
	const struct rs_adaptive *a = &sw->cfg.adaptive;
	struct flowlet *f;
	uint32_t at;

	if (!a->n_grades && !a->sample)
		return least(sw, set, n);
	at = least_grade(sw, set, n, now);
	if (!a->sticky)
		return at;
	f = flow_of(sw, p);
	if (f->at >= n || grade(sw, seen(sw, set[f->at], now)) > grade(sw, seen(sw, set[at], now)))
		f->at = at;
	return f->at;
}

/* ---- Flowlets ---- */

/* A pause in a flow longer than paths differ lets the rest take another path in order. Flows that
 * share an entry of the table share their flowlet. */
static uint32_t flowlet(struct rs_switch *sw, const struct rs_packet *p, const uint16_t *set,
			uint32_t n, rs_time now)
{
	struct flowlet *f = flow_of(sw, p);

	/* n differs between destinations: an entry may have been another's */
	if (now - f->last > sw->cfg.flowlet_gap || f->at >= n)
		f->at = sw->cfg.flowlet_random ? rs_random_below(&sw->random, n)
					       : least(sw, set, n);
	f->last = now;
	return f->at;
}

/* ---- Others ---- */

/* Packets to one group are dealt out in turn, so that all paths to it have the same share, whatever
 * goes to others in between. Switches begin at different ports. */
static uint32_t round_robin(struct rs_switch *sw, const struct rs_packet *p, uint32_t n)
{
	uint8_t *turn = &sw->turn[sw->group_of[p->dst]];
	uint32_t at = *turn < n ? *turn : *turn % n;

	*turn = (uint8_t)(at + 1 < n ? at + 1 : 0);
	return at;
}

/* The fields that the switch hashes, in network order; the others are 0. */
static void hash_input(const struct rs_switch *sw, const struct rs_packet *p, uint8_t to[16])
{
	uint8_t f = sw->cfg.hashing.fields;
	uint32_t word[4] = {f & RS_HASH_SRC ? p->src : 0, f & RS_HASH_DST ? p->dst : 0,
			    f & RS_HASH_SPORT ? p->sport : 0, f & RS_HASH_QP ? p->dest_qp : 0};

	for (unsigned i = 0; i < 16; i++)
		to[i] = (uint8_t)(word[i / 4] >> (24 - 8 * (i % 4)));
}

static uint32_t random_hash(const struct rs_switch *sw, const struct rs_packet *p, uint32_t n)
{
	uint8_t f = sw->cfg.hashing.fields;
	uint64_t x =
		(uint64_t)(f & RS_HASH_SRC ? p->src : 0) << 32 | (f & RS_HASH_DST ? p->dst : 0);
	uint64_t y = (uint64_t)(f & RS_HASH_QP ? p->dest_qp : 0) << 16 |
		     (f & RS_HASH_SPORT ? p->sport : 0);

	x = rs_mix64(x + UINT64_C(0x9e3779b97f4a7c15) * sw->hash_seed);
	return (uint32_t)((rs_mix64(x ^ y) >> 32) * n >> 32);
}

/* Which of n ports. The seed is the first word that CRC and XOR take in. */
static uint32_t other_hash(const struct rs_switch *sw, const struct rs_packet *p, uint32_t n)
{
	struct rs_packet mixed = {0};
	uint8_t in[16];
	uint32_t x;

	if (sw->cfg.hashing.function == RS_HASH_RANDOM)
		return random_hash(sw, p, n);
	hash_input(sw, p, in);
	switch ((enum rs_hash_function)sw->cfg.hashing.function) {
	case RS_HASH_CRC32:
		return rs_crc32(sw->hash_seed, in, sizeof(in)) % n;
	case RS_HASH_XOR:
		x = sw->hash_seed >> 16 ^ sw->hash_seed;
		for (unsigned i = 0; i < sizeof(in); i += 2)
			x ^= (uint32_t)in[i] << 8 | in[i + 1];
		return (x & 0xffff) % n;
	default:
		mixed.src = sw->cfg.hashing.fields & RS_HASH_SRC ? p->src : 0;
		mixed.dst = sw->cfg.hashing.fields & RS_HASH_DST ? p->dst : 0;
		x = sw->cfg.hashing.fields & RS_HASH_QP ? p->dest_qp : 0;
		mixed.sport = sw->cfg.hashing.fields & RS_HASH_SPORT ? p->sport : 0;
		mixed.src ^= (uint32_t)rs_mix64(x);
		return hashed(sw, &mixed, n);
	}
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
		return adaptive(sw, p, set, n, now);
	case RS_ROUTE_FLOWLET:
		return flowlet(sw, p, set, n, now);
	case RS_ROUTE_PLACED:
		return placed(p, n);
	case RS_ROUTE_ROUND_ROBIN:
		return round_robin(sw, p, n);
	case RS_ROUTE_HASHED:
		return other_hash(sw, p, n);
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
	if (sw->routing == RS_ROUTE_HASHED)
		return sw->ports[(set >> 8) + other_hash(sw, p, n)];
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
