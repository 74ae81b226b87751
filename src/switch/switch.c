/* A switch: packets in, packets out (switch.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "switch/state.h"
#include "wire/telemetry.h"

enum { RANDOM_MARK = 2 };

static void make_port(struct rs_switch *sw, unsigned i)
{
	struct port *p = &sw->port[i];
	const struct rs_switch_port *c = &sw->cfg.ports[i];

	p->rate = c->rate;
	p->pace = rs_pace_of(c->rate);
	p->headroom = c->headroom;
	p->kmin = c->kmin;
	p->kmax = c->kmax;
	p->refresh = RS_NEVER;
	p->alpha_add = c->alpha_add;
	p->rate_code = rs_int_rate_code(c->rate);
	for (unsigned t = 0; t < RS_CLASSES; t++)
		p->q[t].head = p->q[t].tail = RS_NO_PACKET;
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
	sw->shared_size = sw->cfg.buffer - fixed;
	return 0;
}

int rs_switch_create(const struct rs_switch_config *c, struct rs_switch **out, struct rs_error *e)
{
	struct rs_switch *sw;
	int err;

	if (!c->n_ports || c->n_ports > RS_SWITCH_PORTS_MAX)
		return rs_error_set(e, -EINVAL, "a switch has 1 to %d ports, not %u",
				    RS_SWITCH_PORTS_MAX, c->n_ports);
	sw = calloc(1, sizeof(*sw));
	if (!sw)
		return rs_error_set(e, -ENOMEM, "out of memory");
	sw->cfg = *c;
	memcpy(sw->class, c->classes, sizeof(sw->class));
	sw->port = calloc(c->n_ports, sizeof(*sw->port));
	sw->woken = calloc((c->n_ports + 63) / 64, sizeof(*sw->woken));
	if (!sw->port || !sw->woken) {
		rs_switch_destroy(sw);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	for (unsigned i = 0; i < c->n_ports; i++)
		make_port(sw, i);
	for (unsigned t = 0; t < RS_CLASSES; t++)
		*(sw->class[t].weight ? &sw->weighted : &sw->strict) |= (uint8_t)(1 << t);
	sw->deadline = RS_NEVER;
	sw->random = rs_random_stream(c->seed, c->id, RANDOM_MARK);
	sw->hash_seed = (uint32_t)rs_mix64(c->seed ^ (uint64_t)c->id << 32);
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
	free(sw);
}

void rs_switch_pin(struct rs_switch *sw, const struct rs_switch_pins *pins)
{
	sw->pins = *pins;
}

/* ---- Packets ---- */

static int drop(struct rs_switch *sw, unsigned in, struct rs_packet *p, uint64_t *why)
{
	sw->port[in].c.drops++;
	++*why;
	rs_pool_free(sw->cfg.free, p);
	return -1;
}

int rs_switch_rx(struct rs_switch *sw, unsigned in, struct rs_packet *p, rs_time now, rs_time ready)
{
	unsigned tc = sw->cfg.tc_of_dscp[p->tos >> 2];
	struct port *out;
	struct queue *q;
	uint64_t bytes;
	uint32_t index;
	int to;

	if (__builtin_expect(p->kind == RS_KIND_PFC, 0)) {
		rs_pfc_received(sw, in, p, now);
		return -1;
	}
	sw->port[in].c.rx_packets++;
	sw->port[in].c.rx_bytes += p->frame_bytes;
	to = rs_route(sw, p);
	if (to < 0)
		return drop(sw, in, p, &sw->c.unroutable);
	out = &sw->port[to];
	bytes = cells(sw, p->frame_bytes);
	if (rs_buffer_egress_full(sw, out, tc, bytes) || !rs_buffer_admit(sw, in, tc, bytes, now)) {
		sw->c.drops_lossless += sw->class[tc].lossless;
		return drop(sw, in, p, &sw->c.drops);
	}
	/* cut-through only where the line drains no faster than it fills, and nothing waits */
	if (ready > now && out->rate <= sw->port[in].rate && !out->filled)
		ready = now;
	p->tc = (uint8_t)tc;
	p->in_port = (uint16_t)in;
	p->when = ready;
	p->next = RS_NO_PACKET;
	index = rs_pool_index(sw->cfg.pool, p);
	q = &out->q[tc];
	if (q->head == RS_NO_PACKET)
		q->head = index;
	else
		rs_pool_at(sw->cfg.pool, q->tail)->next = index;
	q->tail = index;
	q->bytes += bytes;
	out->filled |= (uint8_t)(1 << tc);
	if (q->bytes > out->c.max_queue)
		out->c.max_queue = q->bytes;
	if (!sw->cfg.mark_at_dequeue)
		rs_ecn_mark(sw, out, tc, p);
	return to;
}

/* The queue is what this packet leaves behind; the bytes are those sent before it. */
static void stamp(struct rs_switch *sw, const struct port *out, struct rs_packet *p, rs_time now)
{
	uint64_t queued = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		queued += out->q[t].bytes;
	rs_int_push(p,
		    rs_int_pack(out->rate_code, now, out->c.tx_bytes, queued, sw->cfg.int_scale));
}

struct rs_packet *rs_switch_tx(struct rs_switch *sw, unsigned port, rs_time now, rs_time *again)
{
	struct port *out = &sw->port[port];
	uint8_t ready = out->filled & (uint8_t)~out->paused;
	struct rs_packet *p;
	struct queue *q;
	uint64_t bytes;
	unsigned tc;

	*again = RS_NEVER;
	if (__builtin_expect(out->pfc_due != 0, 0)) {
		p = rs_pfc_frame(sw, port, now);
		if (p)
			return p;
	}
	if (!ready)
		return NULL;
	tc = rs_sched_pick(sw, out, ready);
	q = &out->q[tc];
	p = rs_pool_at(sw->cfg.pool, q->head);
	if (p->when > now) {
		*again = p->when;
		return NULL;
	}
	bytes = cells(sw, p->frame_bytes);
	q->head = p->next;
	q->bytes -= bytes;
	if (q->head == RS_NO_PACKET)
		out->filled &= (uint8_t) ~(1 << tc);
	else
		__builtin_prefetch(rs_pool_at(sw->cfg.pool, q->head));
	rs_buffer_release(sw, p->in_port, tc, bytes, now);
	if (sw->cfg.mark_at_dequeue)
		rs_ecn_mark(sw, out, tc, p);
	if (__builtin_expect(sw->cfg.int_scale && p->payload_bytes && p->bth_flags & RS_PACKET_INT,
			     0))
		stamp(sw, out, p, now);
	out->c.tx_packets++;
	out->c.tx_bytes += p->frame_bytes;
	return p;
}

bool rs_switch_port_empty(const struct rs_switch *sw, unsigned port)
{
	return !sw->port[port].filled && !sw->port[port].pfc_due;
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
	return &sw->port[port].c;
}

const struct rs_switch_counters *rs_switch_get_counters(const struct rs_switch *sw)
{
	return &sw->c;
}

uint64_t rs_switch_queue_bytes(const struct rs_switch *sw, unsigned port, unsigned tc)
{
	return sw->port[port].q[tc].bytes;
}

uint64_t rs_switch_port_bytes(void)
{
	return sizeof(struct port);
}

uint64_t rs_switch_buffer_used(const struct rs_switch *sw)
{
	return sw->used;
}

void rs_switch_check(const struct rs_switch *sw)
{
	uint64_t in = 0, out = 0, shared = 0;

	for (unsigned i = 0; i < sw->cfg.n_ports; i++)
		for (unsigned t = 0; t < RS_CLASSES; t++) {
			const struct port *p = &sw->port[i];
			uint64_t held = 0, use = p->in_use[t], reserve = sw->class[t].reserve;

			for (uint32_t k = p->q[t].head; k != RS_NO_PACKET;
			     k = rs_pool_at(sw->cfg.pool, k)->next)
				held += cells(sw, rs_pool_at(sw->cfg.pool, k)->frame_bytes);
			rs_assert(held == p->q[t].bytes);
			rs_assert(!held == !(p->filled >> t & 1));
			out += held;
			in += use + p->in_headroom[t];
			shared += use > reserve ? use - reserve : 0;
		}
	rs_assert(in == sw->used && out == sw->used && shared == sw->shared_used);
}
