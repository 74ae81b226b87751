/* A switch: packets in, packets out (switch.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "switch/state.h"
#include "wire/telemetry.h"

enum { RANDOM_MARK = 2 };

static uint32_t alpha(int shift)
{
	shift = shift > ALPHA_SHIFT_MAX ? ALPHA_SHIFT_MAX : shift;
	return shift < -ALPHA_BITS ? 1 : UINT32_C(1) << (shift + ALPHA_BITS);
}

static void make_port(struct rs_switch *sw, unsigned i)
{
	struct port *p = &sw->port[i];
	const struct rs_switch_port *c = &sw->cfg.ports[i];

	p->rate = c->rate;
	p->headroom = c->headroom;
	p->kmax = c->kmax;
	p->limit = c->limit;
	rs_lfc_init(&p->lfc, &p->times, c->rate, c->response);
	p->rate_code = rs_int_rate_code(c->rate, sw->cfg.int_scale);
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		const struct rs_switch_class *k = &sw->class[t];

		p->q[t].packets.head = RS_NO_PACKET;
		p->q[t].kmin = !k->ecn ? UINT64_MAX : c->kmin ? c->kmin : k->kmin;
		p->in[t].alpha = alpha(k->alpha_shift + c->alpha_add);
		p->in[t].use = -(int64_t)k->reserve;
	}
}

/* Headroom of lossless classes and the reserves come out of the buffer; the rest is shared. */
static int divide_buffer(struct rs_switch *sw, struct rs_error *e)
{
	uint64_t fixed = 0;

	for (unsigned i = 0; i < sw->cfg.n_ports; i++)
		for (unsigned t = 0; t < RS_CLASSES; t++)
			fixed += sw->class[t].reserve +
				 (sw->class[t].lossless ? sw->port[i].headroom : 0);
	if (fixed >= sw->cfg.buffer) {
		rs_error_set(
			e, -EINVAL,
			"a switch's buffer of %llu bytes cannot hold the headroom and reserves of "
			"its %u ports, %llu bytes",
			(unsigned long long)sw->cfg.buffer, sw->cfg.n_ports,
			(unsigned long long)fixed);
		rs_error_hint(e,
			      "raise qos.buffer, shorten cables, or make fewer classes lossless");
		return -EINVAL;
	}
	sw->pool_size = sw->cfg.buffer - fixed;
	sw->free = (int64_t)sw->pool_size;
	return 0;
}

static int check_config(const struct rs_switch_config *c, struct rs_error *e)
{
	if (!c->n_ports || c->n_ports > RS_SWITCH_PORTS_MAX)
		return rs_error_set(e, -EINVAL, "a switch has 1 to %d ports, not %u",
				    RS_SWITCH_PORTS_MAX, c->n_ports);
	if (c->cell > RS_SWITCH_CELL_MAX)
		return rs_error_set(e, -EINVAL, "a switch's cell has at most %d bytes, not %u",
				    RS_SWITCH_CELL_MAX, c->cell);
	if (c->buffer > RS_SWITCH_BUFFER_MAX)
		return rs_error_set(e, -EINVAL, "a switch's buffer has at most 16 TiB");
	if (c->routing == RS_ROUTE_FLOWLET && c->flowlet_gap <= 0)
		return rs_error_set(e, -EINVAL, "flowlet routing needs a gap above 0");
	if (c->adaptive.n_grades > RS_AR_GRADES || c->adaptive.sample < 0 ||
	    (c->adaptive.sticky && !c->adaptive.n_grades))
		return rs_error_set(e, -EINVAL,
				    "adaptive routing: up to %d thresholds, and one at least for "
				    "flows that stay",
				    RS_AR_GRADES);
	for (unsigned i = 0; i < RS_CLASSES; i++)
		if (c->classes[i].trim_bytes &&
		    (c->classes[i].trim_bytes < RS_ETH_MIN_FRAME ||
		     c->classes[i].trim_tc >= RS_CLASSES || c->classes[i].trim_tc == i))
			return rs_error_set(e, -EINVAL,
					    "class %u: trimmed packets have %d bytes at least, and "
					    "a class of their own",
					    i, RS_ETH_MIN_FRAME);
	for (unsigned i = 0; i < 64; i++)
		if (c->tc_of_dscp[i] >= RS_CLASSES)
			return rs_error_set(e, -EINVAL, "DSCP %u has class %u; classes are 0 to 7",
					    i, c->tc_of_dscp[i]);
	return 0;
}

/* What the routing policy keeps; false: no memory. */
static bool allocate_routing(struct rs_switch *sw)
{
	const struct rs_switch_config *c = &sw->cfg;
	bool flows = c->routing == RS_ROUTE_FLOWLET ||
		     (c->routing == RS_ROUTE_ADAPTIVE && c->adaptive.sticky);
	bool samples = c->routing == RS_ROUTE_ADAPTIVE && c->adaptive.sample;
	uint32_t groups = 0;

	if (flows && !(sw->flowlets = calloc(FLOWLETS, sizeof(*sw->flowlets))))
		return false;
	for (unsigned i = 0; flows && i < FLOWLETS; i++)
		sw->flowlets[i].at = UINT32_MAX;
	if (samples && !(sw->sample = calloc(1, sizeof(*sw->sample))))
		return false;
	if (c->routing != RS_ROUTE_ROUND_ROBIN)
		return true;
	for (uint32_t i = 0; i < c->routes.n_endpoints; i++)
		if (c->routes.group_of[i] >= groups)
			groups = c->routes.group_of[i] + 1;
	if (!(sw->turn = calloc(groups + 1, sizeof(*sw->turn))))
		return false;
	for (uint32_t i = 0; i < groups; i++)
		sw->turn[i] = (uint8_t)rs_random_below(&sw->random, 256);
	return true;
}

static int allocate(struct rs_switch *sw, struct rs_error *e)
{
	uint32_t n = sw->cfg.n_ports;

	sw->port = aligned_alloc(LINE, n * sizeof(*sw->port));
	sw->woken = calloc((n + 63) / 64, sizeof(*sw->woken));
	if (!sw->port || !sw->woken || rs_drops_create(sw) || rs_holds_create(sw) ||
	    !allocate_routing(sw))
		return rs_error_set(e, -ENOMEM, "out of memory");
	memset(sw->port, 0, n * sizeof(*sw->port));
	return 0;
}

/* What every packet reads, beside each other. */
static void make_hot(struct rs_switch *sw)
{
	const struct rs_switch_config *c = &sw->cfg;
	uint8_t weight[RS_CLASSES];

	sw->base = c->pool->base;
	sw->group_of = c->routes.group_of;
	sw->set_of = c->routes.set_of;
	sw->ports = c->routes.ports;
	sw->n_endpoints = c->routes.n_endpoints;
	sw->my_group = c->routes.my_group;
	sw->local_port = c->routes.local_port;
	sw->local_index = c->routes.local_index;
	sw->cell = c->cell ? c->cell : 1;
	sw->per_byte = cells_a_byte(sw->cell);
	sw->hash_seed = (uint32_t)rs_mix64(c->hashing.same_seed ? c->seed
								: c->seed ^ (uint64_t)c->id << 32);
	sw->deadline = RS_NEVER;
	sw->int_scale = c->int_scale;
	sw->routing = (uint8_t)c->routing;
	sw->mark_at_dequeue = c->mark_at_dequeue;
	memcpy(sw->tc_of_dscp, c->tc_of_dscp, sizeof(sw->tc_of_dscp));
	memcpy(sw->class, c->classes, sizeof(sw->class));
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		uint8_t bit = (uint8_t)(1 << t);

		weight[t] = sw->class[t].weight;
		if (sw->class[t].lossless)
			sw->lossless |= bit;
		if (!sw->class[t].lossless || sw->class[t].egress_limit)
			sw->limited |= bit;
	}
	sw->ets = rs_ets_of(weight);
	sw->lfc = (struct rs_lfc_conf){.classes = sw->lossless,
				       .holds = c->quirks.pause_holds,
				       .quanta = c->pause_quanta,
				       .frame_bytes = c->pfc_frame ? c->pfc_frame : RS_PFC_FRAME};
}

int rs_switch_create(const struct rs_switch_config *c, struct rs_switch **out, struct rs_error *e)
{
	struct rs_switch *sw;
	int err = check_config(c, e);

	if (err)
		return err;
	rs_assert(c->pool && c->pool->base && c->free && c->ports);
	for (unsigned i = 0; i < c->n_ports; i++)
		rs_assert(c->ports[i].rate > 0);
	sw = aligned_alloc(LINE, sizeof(*sw));
	if (!sw)
		return rs_error_set(e, -ENOMEM, "out of memory");
	memset(sw, 0, sizeof(*sw));
	sw->cfg = *c;
	sw->random = rs_random_stream(c->seed, c->id, RANDOM_MARK);
	make_hot(sw);
	err = allocate(sw, e);
	for (unsigned i = 0; !err && i < c->n_ports; i++)
		make_port(sw, i);
	if (!err)
		err = divide_buffer(sw, e);
	if (err) {
		rs_switch_destroy(sw);
		return err;
	}
	*out = sw;
	return 0;
}

void rs_switch_destroy(struct rs_switch *sw)
{
	free(sw->port);
	free(sw->woken);
	free(sw->flowlets);
	free(sw->sample);
	free(sw->turn);
	rs_drops_destroy(sw);
	free(sw->holds);
	free(sw);
}

void rs_switch_pin(struct rs_switch *sw, const struct rs_switch_pins *pins)
{
	sw->pins = *pins;
	sw->pinned = pins->port != NULL;
}

/* ---- Packets ---- */

int rs_switch_rx(struct rs_switch *sw, unsigned in, struct rs_packet *p, rs_time now, rs_time ready)
{
	unsigned tc = sw->tc_of_dscp[p->tos >> 2];
	struct port *from = &sw->port[in], *out;
	uint64_t bytes;
	int to;

	if (unlikely(p->kind == RS_KIND_PFC)) {
		rs_pfc_received(sw, in, p, now);
		return -1;
	}
	from->c.rx_packets++;
	from->c.rx_bytes += p->frame_bytes;
	to = route(sw, p, now);
	if (unlikely(to < 0))
		return rs_drop_unroutable(sw, in, tc, p);
	out = &sw->port[to];
	bytes = cells(sw, p->frame_bytes);
	if (unlikely((sw->limited >> tc & 1 && rs_buffer_egress_full(sw, out, tc, bytes)) ||
		     !admit(sw, in, tc, bytes)) &&
	    !rs_buffer_overflow(sw, in, tc, bytes))
		return rs_no_room(sw, in, (unsigned)to, tc, p, ready);
	if (unlikely(ready > now)) {
		/* cut-through only where the line drains no faster than it fills, and nothing waits
		 */
		if (out->rate <= from->rate && !out->filled)
			ready = now;
		out->later = rs_time_max(out->later, ready);
	}
	p->tc = sw->latest = (uint8_t)tc;
	p->in_port = (uint16_t)in;
	p->when = ready;
	enqueue(sw, out, tc, p, bytes);
	if (unlikely(out->q[tc].bytes > out->q[tc].kmin) && !sw->mark_at_dequeue)
		rs_ecn_mark(sw, out, tc, p);
	return to;
}

/* The queue is what this packet leaves behind; the bytes are those sent before it. */
static void stamp(struct rs_switch *sw, const struct port *out, struct rs_packet *p, rs_time now)
{
	uint64_t link = (uint64_t)sw->cfg.id << 32 | (uint32_t)(out - sw->port);
	uint64_t queued = 0, sent = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++) {
		queued += out->q[t].bytes;
		sent += out->q[t].sent;
	}
	rs_int_push(p, rs_int_pack(out->rate_code, now, sent, queued, sw->int_scale),
		    (uint32_t)rs_mix64(link + 1));
}

/* Of the ready classes those whose first packet is whole; else *again: when the first will be. */
static uint8_t arrived(const struct rs_switch *sw, const struct port *out, uint8_t ready,
		       rs_time now, rs_time *again)
{
	uint8_t whole = 0;

	for (unsigned left = ready; left; left &= left - 1) {
		unsigned tc = (unsigned)__builtin_ctz(left);
		rs_time when = sw->base[out->q[tc].packets.head].when;

		if (when <= now)
			whole |= (uint8_t)(1 << tc);
		else
			*again = rs_time_min(*again, when);
	}
	return whole;
}

struct rs_packet *rs_switch_tx(struct rs_switch *sw, unsigned port, rs_time now, rs_time *again)
{
	struct port *out = &sw->port[port];
	uint8_t ready = out->filled & (uint8_t)~out->lfc.paused.now;
	struct rs_packet *p;
	struct queue *q;
	uint64_t bytes;
	unsigned tc;

	*again = RS_NEVER;
	if (unlikely(out->lfc.due != 0)) {
		p = rs_pfc_frame(sw, port, now);
		if (p)
			return p;
	}
	if (unlikely(out->later > now))
		ready = arrived(sw, out, ready, now, again);
	if (!ready)
		return NULL;
	tc = pick(sw, out, ready);
	q = &out->q[tc];
	p = &sw->base[q->packets.head];
	bytes = cells(sw, p->frame_bytes);
	q->packets.head = p->next;
	q->bytes -= bytes;
	if (q->packets.head == RS_NO_PACKET)
		out->filled &= (uint8_t) ~(1u << tc);
	else
		__builtin_prefetch(&sw->base[q->packets.head]);
	release(sw, p->in_port, tc, bytes);
	if (unlikely(q->bytes > q->kmin) && sw->mark_at_dequeue)
		rs_ecn_mark(sw, out, tc, p);
	if (unlikely(sw->int_scale && p->payload_bytes && p->bth_flags & RS_PACKET_INT))
		stamp(sw, out, p, now);
	out->c.tx_packets++;
	q->sent += p->frame_bytes;
	return p;
}

bool rs_switch_port_empty(const struct rs_switch *sw, unsigned port)
{
	return !sw->port[port].filled && !sw->port[port].lfc.due;
}

bool rs_switch_any_woken(const struct rs_switch *sw)
{
	return sw->any_woken;
}

uint64_t rs_switch_woken(struct rs_switch *sw, unsigned word)
{
	uint64_t w = sw->woken[word];

	sw->woken[word] = 0;
	if (word + 1 == (sw->cfg.n_ports + 63) / 64)
		sw->any_woken = false;
	return w;
}

rs_time rs_switch_deadline(const struct rs_switch *sw)
{
	return sw->deadline;
}

const struct rs_switch_port_counters *rs_switch_port_counters(const struct rs_switch *sw,
							      unsigned port)
{
	struct port *p = port_at(sw, port);

	p->c.tx_bytes = 0; /* counted by class */
	for (unsigned t = 0; t < RS_CLASSES; t++)
		p->c.tx_bytes += p->q[t].sent;
	return &p->c;
}

uint64_t rs_switch_marks(const struct rs_switch *sw, unsigned port)
{
	return port_at(sw, port)->c.ecn_marked;
}

uint64_t rs_switch_pauses(const struct rs_switch *sw, unsigned port)
{
	return port_at(sw, port)->c.tx_pauses;
}

uint64_t rs_switch_sent(const struct rs_switch *sw, unsigned port, unsigned tc)
{
	return port_at(sw, port)->q[tc].sent;
}

void rs_switch_class_counters(const struct rs_switch *sw, unsigned port, unsigned tc,
			      struct rs_switch_class_counters *out)
{
	const struct port *p = port_at(sw, port);
	const struct rs_switch_drops *d = rs_switch_drops(sw, port, tc);

	rs_assert(tc < RS_CLASSES);
	*out = (struct rs_switch_class_counters){
		.tx_bytes = p->q[tc].sent,
		.ecn_marked = p->marked[tc],
		.tx_pauses = rs_holds_pauses(sw, port, tc),
	};
	for (unsigned why = 0; d && why < RS_SWITCH_WHYS; why++)
		out->drops += d->packets[why];
}

uint8_t rs_switch_paused(const struct rs_switch *sw, unsigned port)
{
	return rs_lfc_listened(&port_at(sw, port)->lfc);
}

uint8_t rs_switch_filled(const struct rs_switch *sw, unsigned port)
{
	return port_at(sw, port)->filled;
}

uint8_t rs_switch_look(struct rs_switch *sw, unsigned port, uint64_t *max_queue, uint64_t *packets)
{
	struct port *p = port_at(sw, port);

	*max_queue = p->c.max_queue;
	p->c.max_queue = 0; /* from now on: what waits, and what it grows to */
	for (unsigned m = p->filled; m; m &= m - 1)
		if (p->q[__builtin_ctz(m)].bytes > p->c.max_queue)
			p->c.max_queue = p->q[__builtin_ctz(m)].bytes;
	*packets = p->c.tx_packets;
	return p->filled;
}

const struct rs_switch_counters *rs_switch_get_counters(const struct rs_switch *sw)
{
	return &sw->c;
}

uint64_t rs_switch_queue_bytes(const struct rs_switch *sw, unsigned port, unsigned tc)
{
	rs_assert(tc < RS_CLASSES);
	return port_at(sw, port)->q[tc].bytes;
}

uint64_t rs_switch_port_bytes(void)
{
	return sizeof(struct port) + sizeof(struct hold) + 3 * sizeof(struct rs_switch_drops) +
	       PAIRS_A_PORT * sizeof(struct rs_loss);
}

uint64_t rs_switch_buffer_used(const struct rs_switch *sw)
{
	return sw->used;
}

uint64_t rs_switch_waiting(const struct rs_switch *sw)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < sw->cfg.n_ports; i++)
		for (unsigned t = 0; t < RS_CLASSES; t++)
			n += rs_queue_count(&sw->port[i].q[t].packets, sw->base);
	return n;
}

static void check_queue(const struct rs_switch *sw, const struct port *p, unsigned tc)
{
	uint64_t held = 0;
	uint32_t last = RS_NO_PACKET;

	for (uint32_t k = p->q[tc].packets.head; k != RS_NO_PACKET; k = sw->base[k].next) {
		rs_assert(sw->base[k].tc == tc && sw->base[k].in_port < sw->cfg.n_ports);
		held += cells(sw, sw->base[k].frame_bytes);
		last = k;
	}
	rs_assert(last == RS_NO_PACKET || last == p->q[tc].packets.tail);
	rs_assert(held == p->q[tc].bytes);
	rs_assert(!held == !(p->filled >> tc & 1));
	rs_assert(!p->in[tc].headroom || p->in[tc].pausing);
	if (sw->cfg.endless && !(sw->lossless >> tc & 1)) {
		rs_assert(p->in[tc].pausing == (p->in[tc].headroom > 0));
		return;
	}
	rs_assert(p->in[tc].pausing == (p->lfc.pausing >> tc & 1));
	rs_assert(!p->in[tc].headroom || sw->lossless >> tc & 1);
	rs_assert(sw->cfg.endless || p->in[tc].headroom <= p->headroom);
}

/* Only classes with PFC pause and are paused, and no timer of the port is forgotten. Returns how
 * many its peer pauses. */
static uint32_t check_pauses(const struct rs_switch *sw, const struct port *p)
{
	uint8_t listened = rs_lfc_listened(&p->lfc);

	rs_assert(!((listened | p->lfc.due | p->lfc.pausing) & ~sw->lossless));
	rs_assert(!(p->lfc.paused.now & p->lfc.paused.heard));
	rs_assert(sw->deadline <= rs_lfc_deadline(&p->lfc, &p->times));
	return (uint32_t)__builtin_popcount(listened);
}

void rs_switch_check(const struct rs_switch *sw)
{
	uint32_t held_now = 0;
	uint64_t in = 0, out = 0, pool = 0;

	for (unsigned i = 0; i < sw->cfg.n_ports; i++) {
		const struct port *p = &sw->port[i];

		held_now += check_pauses(sw, p);
		for (unsigned t = 0; t < RS_CLASSES; t++) {
			const struct share *s = &p->in[t];

			check_queue(sw, p, t);
			out += p->q[t].bytes;
			in += (uint64_t)(s->use + (int64_t)sw->class[t].reserve) + s->headroom;
			pool += (uint64_t)above_0(s->use);
		}
	}
	rs_assert(held_now == sw->held_now);
	rs_holds_check(sw);
	rs_assert(in == sw->used && out == sw->used);
	rs_assert(sw->free >= 0 && pool + (uint64_t)sw->free == sw->pool_size);
	rs_assert(sw->cfg.endless || sw->used <= sw->cfg.buffer);
}

void rs_switch_prefetch(const struct rs_switch *sw, unsigned port)
{
	const struct port *p = &sw->port[port];

	__builtin_prefetch(p);
	__builtin_prefetch(&p->q[sw->latest]);
	__builtin_prefetch(&p->in[sw->latest]);
}

void rs_switch_prefetch_look(const struct rs_switch *sw, unsigned port, uint8_t classes)
{
	const struct port *p = &sw->port[port];
	__builtin_prefetch(p, 1);
	for (unsigned m = classes; m; m &= m - 1)
		__builtin_prefetch(&p->q[__builtin_ctz(m)]);
}

void rs_switch_prefetch_waiting(const struct rs_switch *sw, unsigned port)
{
	uint32_t head = sw->port[port].q[sw->latest].packets.head;

	if (head != RS_NO_PACKET)
		__builtin_prefetch(&sw->base[head]);
}
