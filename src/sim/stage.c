/* What a NIC inside a host sends: pulled from its transport ahead of the wire, its payload read
 * from memory over the bus (models.md §17-§21). */
#include "sim/host.h"

/* As much as makes sense where outstanding reads have no limit: 42 us of 800G. */
enum { ENDLESS = 4 << 20 };

/* A short message that the doorbell's own write brought: nothing is left to read. A processor can
 * put only what it reads itself into it, which is not GPU memory. */
static bool inlined(struct rs_sim *s, const struct sim_nic *k, const struct rs_path *path,
		    const struct rs_packet *p, uint64_t user)
{
	const struct rs_part *parts = s->f->hosts[k->node->host->index].inside->parts;

	return p->kind == RS_KIND_ROCE &&
	       (p->opcode == RS_OP_WRITE_ONLY || p->opcode == RS_OP_WRITE_ONLY_IMM ||
		p->opcode == RS_OP_SEND_ONLY) &&
	       p->payload_bytes <= sim_qp_inline(s, user, k->inline_bytes) &&
	       parts[path->target].kind == RS_PART_SOCKET;
}

static unsigned class_of(const struct rs_sim *s, const struct rs_packet *p)
{
	bool apart = s->f->transport.quirks.ack_unpaused && p->opcode == RS_OP_ACKNOWLEDGE;

	return apart ? RS_CLASSES - 1 : p->tc;
}

/* When a packet's payload will be there, asked for now. */
static rs_time fetch(struct rs_sim *s, struct sim_nic *k, const struct rs_packet *p, rs_time now)
{
	struct sim_node *n = k->node;
	struct rs_path *path;
	rs_time done = now;
	uint64_t user;
	bool open = sim_end_user(k, p->src_qp, &user);

	rs_assert(open);
	path = sim_qp_path(s, user, true);
	if (!inlined(s, k, path, p, user)) {
		done = rs_bus_read(n->host->bus, path, p->payload_bytes, now, &k->read_free);
		k->read_time = done - k->read_free;
	}
	return done + s->f->host_params.nic_pipeline;
}

/* A packet from the transport to the queue of its class. */
static void stage(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	rs_egress_put(k->egress, class_of(s, p), p, p->payload_bytes ? fetch(s, k, p, now) : now);
}

/* What is read ahead is to keep the wire busy for longer than the latest read took. */
static rs_time lookahead(const struct sim_nic *k)
{
	return k->read_time + k->ahead;
}

/*
 * Is as much read ahead as the wire needs? While no packet's bytes are there, reads bind, and more
 * are asked for: as many as the NIC may have outstanding, which the bus holds them to. What waits
 * in a class that is paused takes no room from the others; nor does what several classes have
 * beyond their parts, which is up to two packets each.
 */
static bool read_ahead(struct rs_sim *s, const struct sim_nic *k, uint8_t sharing, rs_time now)
{
	uint32_t bytes = rs_egress_bytes(k->egress, k->lfc.paused.now);
	rs_time again, need = lookahead(k);

	if (sharing & (sharing - 1))
		need += rs_pace_time(k->out->pace, 2 * (uint32_t)__builtin_popcount(sharing) *
							   s->f->transport.mtu);
	if (rs_pace_time(k->out->pace, bytes) <= need)
		return s->o->ideal.host_limits && bytes > ENDLESS;
	return s->o->ideal.host_limits ||
	       rs_egress_ready(k->egress, k->lfc.paused.now, now, &again);
}

/* Limits on messages and queue pairs: what was asked for came (p), or waits for one of them. */
static void limits(struct sim_nic *k, const struct rs_packet *p, rs_time again, rs_time now)
{
	if (!p) {
		if (k->waits == RS_NEVER && again != RS_NEVER && k->ends.limited &&
		    k->transport->held(k->ends.self, now))
			k->waits = now;
		return;
	}
	if (k->waits != RS_NEVER) {
		k->stalled_qps += now - k->waits;
		k->waits = RS_NEVER;
	}
	if (!k->message_time || p->kind != RS_KIND_ROCE ||
	    !(rs_opcodes[p->opcode].flags & RS_F_FIRST) || !p->payload_bytes)
		return;
	if (k->message_free > now)
		k->stalled_messages += k->message_time;
	k->message_free = rs_time_max(k->message_free, now) + k->message_time;
}

/* Pull from the transport, and read from memory what it sends, as far ahead of the wire as is of
 * use and outstanding reads allow; returns when the transport wants to be asked again. A packet
 * whose read waits for others to end is the last that is pulled until then. A class may have more
 * than its part while others have nothing to send. */
rs_time sim_stage_pull(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	rs_time again = RS_NEVER;

	while (sim_stage_may_pull(k, now)) {
		uint8_t some = rs_egress_sharing(k->egress, k->lfc.paused.now), full = 0;
		struct rs_packet *p;

		if (read_ahead(s, k, some, now))
			return RS_NEVER; /* until the wire has taken something */
		if (some & (some - 1))
			full = rs_egress_full(k->egress, some, lookahead(k), k->out->pace,
					      s->f->transport.mtu);
		p = sim_end_packet(k, k->lfc.paused.now | full, now, &again);
		if (!p && full)
			p = sim_end_packet(k, k->lfc.paused.now, now, &again);
		if (k->limited)
			limits(k, p, again, now);
		if (!p)
			return k->quiet = again;
		stage(s, k, p, now);
		k->read_free = rs_time_max(k->read_free, k->message_free);
	}
	return rs_time_max(k->read_free, k->quiet);
}

rs_time sim_stage_send(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	rs_time again = RS_NEVER;
	unsigned ready = rs_egress_ready(k->egress, k->lfc.paused.now, now, &again);

	if (!ready)
		return again;
	sim_transmit(s, k->node, k->port, rs_egress_take(k->egress, ready), now);
	return k->out->busy_until;
}
