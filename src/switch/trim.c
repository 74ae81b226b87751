/*
 * Packet trimming: a packet that finds no room is cut to its header, which overtakes data in a
 * class of its own and tells the destination what is missing (Ultra Ethernet; NDP, SIGCOMM 2017,
 * §3.1). Who is cut: the arrival, or by a coin the newest packet that waits. Rare: it walks the
 * queue.
 */
#include "switch/state.h"

/* The packet that came last into a queue that is not empty, out of it and of the buffer. */
static struct rs_packet *take_newest(struct rs_switch *sw, struct port *out, unsigned tc)
{
	struct queue *q = &out->q[tc];
	struct rs_packet *p, *before = NULL;
	uint64_t bytes;

	for (uint32_t i = q->packets.head; i != q->packets.tail; i = before->next)
		before = &sw->base[i];
	p = &sw->base[q->packets.tail];
	bytes = cells(sw, p->frame_bytes);
	if (before) {
		before->next = RS_NO_PACKET;
		q->packets.tail = (uint32_t)(before - sw->base);
	} else {
		q->packets.head = RS_NO_PACKET;
		out->filled &= (uint8_t) ~(1u << tc);
	}
	q->bytes -= bytes;
	release(sw, p->in_port, tc, bytes);
	return p;
}

/* Into the queue, or false. */
static bool enter(struct rs_switch *sw, unsigned in, struct port *out, unsigned tc,
		  struct rs_packet *p, rs_time ready)
{
	uint64_t bytes = cells(sw, p->frame_bytes);

	if ((sw->limited >> tc & 1 && rs_buffer_egress_full(sw, out, tc, bytes)) ||
	    !admit(sw, in, tc, bytes))
		return false;
	p->tc = (uint8_t)tc;
	p->in_port = (uint16_t)in;
	p->when = ready;
	enqueue(sw, out, tc, p, bytes);
	if (out->q[tc].bytes > out->q[tc].kmin && !sw->mark_at_dequeue)
		rs_ecn_mark(sw, out, tc, p);
	return true;
}

/* Cut, or dropped where it cannot be or its header finds no room either. */
static bool cut(struct rs_switch *sw, unsigned in, unsigned to, unsigned tc, struct rs_packet *p,
		rs_time ready)
{
	const struct rs_switch_class *c = &sw->class[tc];
	bool last = p->dst < sw->n_endpoints && sw->group_of[p->dst] == sw->my_group;

	if (!c->trim_bytes || p->kind != RS_KIND_OTHER || !p->payload_bytes ||
	    p->frame_bytes <= c->trim_bytes) {
		rs_drop_no_room(sw, in, to, tc, p, cells(sw, p->frame_bytes));
		return false;
	}
	p->frame_bytes = c->trim_bytes;
	p->payload_bytes = 0;
	p->payload = NULL;
	p->tos = (uint8_t)(c->trim_tos | (p->tos & 3));
	p->bth_flags |= last ? RS_PACKET_TRIMMED | RS_PACKET_TRIMMED_LAST : RS_PACKET_TRIMMED;
	if (!enter(sw, in, &sw->port[to], c->trim_tc, p, ready)) {
		rs_drop_no_room(sw, in, to, c->trim_tc, p, cells(sw, p->frame_bytes));
		return false;
	}
	sw->c.trimmed++;
	sw->drops[to * sw->drop_slots + sw->drop_slot[tc]].trimmed++;
	return true;
}

int rs_no_room(struct rs_switch *sw, unsigned in, unsigned to, unsigned tc, struct rs_packet *p,
	       rs_time ready)
{
	struct port *out = &sw->port[to];
	bool newest = sw->class[tc].lose_either && out->filled >> tc & 1 &&
		      rs_random_u64(&sw->random) >> 63;
	bool some = false;

	if (newest) {
		struct rs_packet *victim = take_newest(sw, out, tc);

		some = cut(sw, victim->in_port, to, tc, victim, victim->when);
	}
	if (newest && enter(sw, in, out, tc, p, ready))
		some = true;
	else
		some |= cut(sw, in, to, tc, p, ready);
	return some ? (int)to : -1;
}
