/* A host node: NIC ports with PFC, DMA over the bus before sending and after receiving
 * (docs/host.md), and a heap of what applications do next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"

enum { LINKS_KEPT = 8, LIMITS_KEPT = 8 };
/* Packets behind the head of a link that memory is asked for: an event is shorter than its latency.
 */
enum { LOOK = 4 };
/* Bytes that are read ahead beyond what covers a read's latency: some packets' jitter on the bus.
 */
enum { SPARE = 16384 };
/* As much as makes sense where outstanding reads have no limit: 42 us of 800G. */
enum { ENDLESS = 4 << 20 };
#define TOGETHER (500 * RS_NS)
enum { SLOT_NIC_ARRIVAL, SLOT_NIC_TX, SLOT_NIC_RX, SLOT_NIC_TIMER, SLOTS_NIC };

uint32_t sim_host_slots(uint32_t n_endpoints)
{
	return n_endpoints * SLOTS_NIC + 1;
}

uint32_t sim_host_arrival_slot(uint32_t port)
{
	return port * SLOTS_NIC + SLOT_NIC_ARRIVAL;
}

struct sim_nic *sim_nic_of(struct rs_sim *s, uint32_t endpoint)
{
	uint32_t host = s->f->endpoints[endpoint].host;

	return &s->nodes[host].host->nics[endpoint - s->f->hosts[host].first_endpoint];
}

/* ---- FIFOs of packets ---- */

static void fifo_push(struct rs_sim *s, struct sim_fifo *q, struct rs_packet *p)
{
	uint32_t i = rs_pool_index(&s->pool, p);

	p->next = RS_NO_PACKET;
	if (q->head == RS_NO_PACKET)
		q->head = i;
	else
		rs_pool_at(&s->pool, q->tail)->next = i;
	q->tail = i;
}

static struct rs_packet *fifo_peek(struct rs_sim *s, const struct sim_fifo *q)
{
	return q->head == RS_NO_PACKET ? NULL : rs_pool_at(&s->pool, q->head);
}

static void fifo_pop(struct rs_sim *s, struct sim_fifo *q)
{
	q->head = rs_pool_at(&s->pool, q->head)->next;
}

/* ---- Applications' heap ---- */

static bool earlier(const struct sim_app_event *a, const struct sim_app_event *b)
{
	return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

static void arm_app(struct rs_sim *s, struct sim_node *n)
{
	struct sim_host *h = n->host;

	rs_tree_set(&n->tree, h->n_nics * SLOTS_NIC, h->n_heap ? h->heap[0].when : RS_NEVER);
}

void sim_app_schedule(struct rs_sim *s, uint32_t host, rs_time when, enum app_event type,
		      uint32_t arg, uint64_t bytes)
{
	sim_app_schedule_as(s, host, when, type, arg, bytes, s->nodes[host].host->seq++);
}

void sim_app_schedule_as(struct rs_sim *s, uint32_t host, rs_time when, enum app_event type,
			 uint32_t arg, uint64_t bytes, uint64_t seq)
{
	struct sim_node *n = &s->nodes[host];
	struct sim_host *h = n->host;
	uint32_t i = h->n_heap++;

	if (i == h->heap_size) {
		/* grows with the messages in flight, not with packets */
		h->heap_size = h->heap_size ? 2 * h->heap_size : 64;
		h->heap = realloc(h->heap, h->heap_size * sizeof(*h->heap));
		rs_assert(h->heap);
	}
	h->heap[i] = (struct sim_app_event){when, seq, bytes, arg, type};
	for (; i && earlier(&h->heap[i], &h->heap[(i - 1) / 2]); i = (i - 1) / 2) {
		struct sim_app_event t = h->heap[i];

		h->heap[i] = h->heap[(i - 1) / 2];
		h->heap[(i - 1) / 2] = t;
	}
	if (!i)
		arm_app(s, n);
}

static struct sim_app_event app_pop(struct sim_host *h)
{
	struct sim_app_event top = h->heap[0], last = h->heap[--h->n_heap];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < h->n_heap) {
		if (c + 1 < h->n_heap && earlier(&h->heap[c + 1], &h->heap[c]))
			c++;
		if (!earlier(&h->heap[c], &last))
			break;
		h->heap[i] = h->heap[c];
		i = c;
	}
	h->heap[i] = last;
	return top;
}

/* ---- Sending ---- */

static void send_pfc(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	struct sim_node *n = k->node;
	uint32_t port = k->port;
	struct rs_packet *p = rs_pool_alloc(&n->free);

	if (!p)
		return;
	rs_lfc_frame(&k->lfc_conf, &k->lfc, &k->times, p, now);
	p->src = k->endpoint;
	for (unsigned m = k->lfc.pausing; m; m &= m - 1)
		k->pfc->sent[__builtin_ctz(m)]++;
	k->pauses += k->lfc.pausing != 0;
	sim_transmit(s, n, port, p, now);
}

/* A short message that the doorbell's own write brought: nothing is left to read. A processor can
 * put only what it reads itself into it, which is not GPU memory. */
static bool inlined(const struct rs_sim *s, const struct sim_nic *k, const struct rs_path *path,
		    const struct rs_packet *p)
{
	const struct rs_part *parts = s->f->hosts[k->node->host->index].inside->parts;

	return p->payload_bytes <= k->inline_bytes && p->kind == RS_KIND_ROCE &&
	       (p->opcode == RS_OP_WRITE_ONLY || p->opcode == RS_OP_WRITE_ONLY_IMM) &&
	       parts[path->target].kind == RS_PART_SOCKET;
}

/* The transport's next packet, of none of the classes that are held. */
static inline struct rs_packet *next_packet(struct sim_nic *k, uint8_t held, rs_time now,
					    rs_time *again)
{
	struct rs_packet *p = sim_end_tx(k, held, now, again);

	if (__builtin_expect(k->streams != NULL, 0) && p)
		sim_order_sent(k, p);
	if (__builtin_expect(k->ways != NULL, 0) && p)
		p->number = k->ways[p->src_qp - SIM_FIRST_QPN];
	return p;
}

static void to_transport(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	k->quiet = 0;
	if (__builtin_expect(k->streams != NULL, 0))
		sim_order_arrived(s, k, p, now);
	else
		sim_end_rx(k, p, now);
}

/* ACKs, NAKs and CNPs need nothing from memory and go before what does; ACKs not before READ
 * responses, as a QP's answers are in order. So does whatever of another transport has no payload.
 */
static bool is_express(const struct sim_outbox *box, const struct rs_packet *p)
{
	if (p->kind != RS_KIND_ROCE)
		return !p->payload_bytes;
	return p->opcode == RS_OPCODE_CNP || (p->opcode == RS_OP_ACKNOWLEDGE && !box->responses);
}

static bool is_response(const struct rs_packet *p)
{
	return p->kind == RS_KIND_ROCE && p->opcode >= RS_OP_READ_RESPONSE_FIRST &&
	       p->opcode <= RS_OP_READ_RESPONSE_ONLY;
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
	if (!inlined(s, k, path, p)) {
		done = rs_bus_read(n->host->bus, path, p->payload_bytes, now, &k->read_free);
		k->read_time = done - k->read_free;
	}
	return done + s->f->host_params.nic_pipeline;
}

/* A packet from the transport to the queue of its class. */
static void stage(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	struct sim_staging *g = k->staging;
	unsigned c = class_of(s, p);
	struct sim_outbox *box = &g->out[c];

	g->filled |= (uint8_t)(1u << c);
	if (is_express(box, p)) {
		fifo_push(s, &box->express, p);
		return;
	}
	p->when = now;
	if (p->payload_bytes) {
		p->when = fetch(s, k, p, now);
		g->used |= (uint8_t)(1u << c);
	}
	p->when = box->last = rs_time_max(p->when, box->last);
	box->bytes += p->payload_bytes;
	box->responses += is_response(p);
	g->bytes += p->payload_bytes;
	fifo_push(s, &box->stage, p);
}

/* Classes whose first packet may go; else *again: when the first of them has its payload. */
static unsigned ready_classes(struct rs_sim *s, const struct sim_nic *k, rs_time now,
			      rs_time *again)
{
	unsigned ready = 0;

	for (unsigned m = k->staging->filled & ~(unsigned)k->lfc.paused.now; m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);
		const struct sim_outbox *box = &k->staging->out[c];

		if (fifo_peek(s, &box->express) || fifo_peek(s, &box->stage)->when <= now)
			ready |= 1u << c;
		else
			*again = rs_time_min(*again, fifo_peek(s, &box->stage)->when);
	}
	return ready;
}

/* Classes that share what is read ahead by weight: a paused one has no part in it. */
static uint8_t sharing(const struct sim_nic *k)
{
	return k->staging->used & (uint8_t) ~(k->lfc.paused.now | k->staging->ets.strict);
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
static bool read_ahead(struct rs_sim *s, const struct sim_nic *k, bool more, rs_time now)
{
	uint32_t bytes = k->staging->bytes;
	rs_time again, need = lookahead(k);

	for (uint8_t m = k->lfc.paused.now; m; m &= (uint8_t)(m - 1))
		bytes -= k->staging->out[__builtin_ctz(m)].bytes;
	if (more)
		need += rs_pace_time(k->out->pace, 2 * (uint32_t)__builtin_popcount(sharing(k)) *
							   s->f->transport.mtu);
	if (rs_pace_time(k->out->pace, bytes) <= need)
		return s->o->ideal.host_limits && bytes > ENDLESS;
	return s->o->ideal.host_limits || ready_classes(s, k, now, &again);
}

/* Weighted classes that have their part of what is read ahead: it is to be in proportion to what
 * the wire takes, or else the one of more queue pairs would fill it. Each may have a packet more,
 * so that one of little weight does not wait for its read at each turn. */
static uint8_t have_their_part(const struct rs_sim *s, const struct sim_nic *k)
{
	const struct sim_staging *g = k->staging;
	uint8_t some = sharing(k), full = 0;
	rs_time all = lookahead(k);
	uint32_t sum = 0;

	for (unsigned m = some; m; m &= m - 1)
		sum += g->ets.weight[__builtin_ctz(m)];
	for (unsigned m = some; m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);
		rs_time part = all * g->ets.weight[c] / sum +
			       rs_pace_time(k->out->pace, s->f->transport.mtu);

		if (rs_pace_time_long(k->out->pace, g->out[c].bytes) >= part)
			full |= (uint8_t)(1u << c);
	}
	return full;
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
	if (!k->message_time || !(rs_opcodes[p->opcode].flags & RS_F_FIRST) || !p->payload_bytes)
		return;
	if (k->message_free > now)
		k->stalled_messages += k->message_time;
	k->message_free = rs_time_max(k->message_free, now) + k->message_time;
}

/* Reads are asked for up to `TOGETHER` ahead of when they may go: an event for some, not for each.
 */
static inline bool may_pull(const struct sim_nic *k, rs_time now)
{
	return k->read_free <= now + TOGETHER && k->quiet <= now;
}

/* Pull from the transport, and read from memory what it sends, as far ahead of the wire as is of
 * use and outstanding reads allow; returns when the transport wants to be asked again. A packet
 * whose read waits for others to end is the last that is pulled until then. A class may have more
 * than its part while others have nothing to send. */
static rs_time pull(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	rs_time again = RS_NEVER;

	while (may_pull(k, now)) {
		uint8_t some = sharing(k), full = 0;
		struct rs_packet *p;

		if (read_ahead(s, k, some & (some - 1), now))
			return RS_NEVER; /* until the wire has taken something */
		if (some & (some - 1))
			full = have_their_part(s, k);
		p = next_packet(k, k->lfc.paused.now | full, now, &again);
		if (!p && full)
			p = next_packet(k, k->lfc.paused.now, now, &again);
		if (k->limited)
			limits(k, p, again, now);
		if (!p)
			return k->quiet = again;
		stage(s, k, p, now);
		k->read_free = rs_time_max(k->read_free, k->message_free);
	}
	return rs_time_max(k->read_free, k->quiet);
}

struct boxes {
	struct rs_sim *s;
	const struct sim_outbox *out;
};

static struct rs_packet *box_head(struct rs_sim *s, const struct sim_outbox *l)
{
	struct rs_packet *p = fifo_peek(s, &l->express);

	return p ? p : fifo_peek(s, &l->stage);
}

static int32_t head_bytes(const void *arg, unsigned c)
{
	const struct boxes *b = arg;

	return box_head(b->s, &b->out[c])->frame_bytes;
}

static struct rs_packet *unstage(struct rs_sim *s, struct sim_nic *k, unsigned c)
{
	struct sim_outbox *l = &k->staging->out[c];
	struct rs_packet *p = fifo_peek(s, &l->express);

	if (p) {
		fifo_pop(s, &l->express);
	} else {
		p = fifo_peek(s, &l->stage);
		fifo_pop(s, &l->stage);
		l->bytes -= p->payload_bytes;
		k->staging->bytes -= p->payload_bytes;
		l->responses -= is_response(p);
	}
	if (!box_head(s, l))
		k->staging->filled &= (uint8_t) ~(1u << c);
	return p;
}

static rs_time send_staged(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	struct sim_staging *g = k->staging;
	const struct boxes boxes = {s, g->out};
	rs_time again = RS_NEVER;
	unsigned c, ready = ready_classes(s, k, now, &again);

	if (!ready)
		return again;
	c = (unsigned)__builtin_ctz(ready);
	if (ready & (ready - 1)) {
		c = rs_ets_pick(&g->ets, &g->turns, ready, head_bytes, &boxes);
		rs_ets_charge(&g->ets, &g->turns, c, (uint32_t)head_bytes(&boxes, c));
	}
	sim_transmit(s, k->node, k->port, unstage(s, k, c), now);
	return k->out->busy_until;
}

static void send_port(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	struct sim_node *n = k->node;
	uint32_t port = k->port;
	struct sim_link *l = k->out;
	uint32_t slot = port * SLOTS_NIC + SLOT_NIC_TX;
	struct rs_packet *p;
	rs_time again = l->busy_until, wants = RS_NEVER;

	if (k->inside) /* while the wire is busy too: reads take longer than a packet */
		wants = may_pull(k, now) ? pull(s, k, now) : rs_time_max(k->read_free, k->quiet);
	if (l->busy_until <= now) {
		if (k->lfc.due) {
			send_pfc(s, k, now);
			again = l->busy_until;
		} else if (k->inside) {
			again = send_staged(s, k, now);
			/* in step with the wire, as paces are; else the transport had no more */
			if (l->busy_until > now && wants == RS_NEVER)
				wants = pull(s, k, now);
		} else {
			p = next_packet(k, k->lfc.paused.now, now, &again);
			if (p) {
				sim_transmit(s, n, port, p, now);
				again = l->busy_until;
			}
		}
	}
	rs_tree_set(&n->tree, slot, rs_time_min(again, wants));
}

static inline void arm_timer(struct rs_sim *s, struct sim_nic *k)
{
	struct sim_node *n = k->node;
	rs_time t = rs_time_min(sim_end_deadline(k), rs_lfc_deadline(&k->lfc, &k->times));

	rs_tree_set(&n->tree, k->port * SLOTS_NIC + SLOT_NIC_TIMER, t);
}

void sim_nic_kick(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	k->quiet = 0;
	send_port(s, k, now);
	arm_timer(s, k);
}

static void completions(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	struct rs_sim_news news;

	if (!sim_end_has_news(k))
		return;
	while (k->transport->news(k->ends.self, &news))
		sim_app_news(s, k, &news, now);
}

/* ---- Receiving ---- */

rs_time sim_nic_held(const struct sim_nic *k, unsigned tc, rs_time now)
{
	return k->pfc->held[tc] + rs_lfc_lasts(&k->lfc, &k->times, tc, now);
}

/* Classes that were paused may send again. */
static void resumed(struct sim_nic *k, unsigned classes, rs_time now)
{
	for (; classes; classes &= classes - 1) {
		unsigned tc = (unsigned)__builtin_ctz(classes);

		k->pfc->held[tc] += now - k->times.pause[tc].since;
	}
}

static void pfc_received(struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	k->quiet = 0;
	resumed(k, rs_lfc_heard(&k->lfc_conf, &k->lfc, &k->times, p, now), now);
	rs_pool_free(&k->node->free, p);
}

/* The class with PFC of a packet that came, or none: by the NIC's own table, whatever the switch
 * takes it for. */
static uint8_t lossless_of(const struct rs_sim *s, const struct sim_nic *k,
			   const struct rs_packet *p)
{
	return (uint8_t)(1u << s->f->qos.tc_of_dscp[p->tos >> 2]) & k->lfc_conf.classes;
}

/* Who receives at this number, if anybody: a flow's end is opened when its first packet comes. */
static bool receiver_of(struct rs_sim *s, struct sim_nic *k, uint32_t number, uint64_t *user)
{
	return sim_end_user(k, number, user) ||
	       (sim_flow_absent(s, k, number) && sim_end_user(k, number, user));
}

/* The write of the packet at the head of the receive buffer: one at a time, so that reads of what
 * is sent get their turn on the NIC's PCIe link between two. */
static void rx_start(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	struct sim_node *n = k->node;
	struct rs_packet *p = fifo_peek(s, &k->rx);
	rs_time accepted = RS_NEVER;
	uint64_t user;

	if (p) {
		bool there = receiver_of(s, k, p->dest_qp, &user);

		rs_assert(there);
		sim_qp_visible(s, user,
			       rs_bus_write(n->host->bus, sim_qp_path(s, user, false),
					    p->payload_bytes, now, &accepted));
	}
	rs_tree_set(&n->tree, k->port * SLOTS_NIC + SLOT_NIC_RX, accepted);
}

static void to_memory(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	struct sim_node *n = k->node;
	bool idle = k->rx.head == RS_NO_PACKET;
	uint64_t user;

	if (!receiver_of(s, k, p->dest_qp, &user) ||
	    !rs_port_buffer_fits(&k->buffer, lossless_of(s, k, p), p->frame_bytes)) {
		k->drops++;
		sim_lost_at_nic(n, k->port, p);
		sim_order_dropped(s, n, p);
		rs_pool_free(&n->free, p);
		return;
	}
	k->buffer.used += p->frame_bytes;
	fifo_push(s, &k->rx, p);
	rs_port_buffer_changed(&k->buffer, &k->lfc, lossless_of(s, k, p));
	if (idle)
		rx_start(s, k, now + s->f->host_params.nic_pipeline);
}

static void receive_inside(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	uint64_t user;

	if (!s->o->ideal.receiver) {
		to_memory(s, k, p, now);
		return;
	}
	if (receiver_of(s, k, p->dest_qp, &user))
		sim_qp_visible(s, user, now);
	to_transport(s, k, p, now);
}

static void arrival(struct rs_sim *s, struct sim_node *n, uint32_t port, rs_time now)
{
	struct sim_nic *k = &n->host->nics[port];
	struct sim_link *l = n->in[port];
	struct rs_packet *p = sim_link_head(s, l);

	sim_link_fetch(s, l, LOOK);
	rs_tree_set(&n->tree, port * SLOTS_NIC + SLOT_NIC_ARRIVAL, sim_link_pop(s, l, now));
	if (p->kind == RS_KIND_PFC)
		pfc_received(k, p, now);
	else if (k->inside && p->payload_bytes)
		receive_inside(s, k, p, now);
	else
		to_transport(s, k, p, now);
}

static void rx_done(struct rs_sim *s, struct sim_node *n, uint32_t port, rs_time now)
{
	struct sim_nic *k = &n->host->nics[port];
	struct rs_packet *p = fifo_peek(s, &k->rx);

	fifo_pop(s, &k->rx);
	k->buffer.used -= p->frame_bytes;
	rs_port_buffer_changed(&k->buffer, &k->lfc, lossless_of(s, k, p));
	rx_start(s, k, now);
	to_transport(s, k, p, now);
}

static void timer(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	k->quiet = 0;
	if (sim_end_deadline(k) <= now)
		rs_endpoint_expire(k->ends.endpoint, now);
	resumed(k, rs_lfc_expire(&k->lfc, &k->times, now), now);
}

static inline void turn(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	send_port(s, k, now);
	completions(s, k, now);
	arm_timer(s, k);
}

void sim_nic_turn(struct rs_sim *s, struct sim_nic *k, rs_time now)
{
	turn(s, k, now);
}

void sim_host_event(struct rs_sim *s, struct sim_node *n, uint32_t slot, rs_time now)
{
	struct sim_host *h = n->host;
	uint32_t port = slot / SLOTS_NIC;
	struct sim_nic *k;

	if (port == h->n_nics) {
		while (h->n_heap && h->heap[0].when <= now) {
			struct sim_app_event ev = app_pop(h);

			sim_app_event(s, h->index, &ev);
		}
		arm_app(s, n);
		return;
	}
	k = &h->nics[port];
	switch (slot % SLOTS_NIC) {
	case SLOT_NIC_ARRIVAL:
		arrival(s, n, port, now);
		break;
	case SLOT_NIC_RX:
		rx_done(s, n, port, now);
		break;
	case SLOT_NIC_TIMER:
		timer(s, k, now);
		break;
	default:
		break;
	}
	turn(s, k, now);
}

static void fetch_links(const struct sim_node *n)
{
	const struct sim_host *h = n->host;

	for (uint32_t i = 0; i < n->n_ports; i++) {
		__builtin_prefetch(n->in[i]);
		__builtin_prefetch(&n->out[i]);
		__builtin_prefetch(&n->out[i].delay);
	}
	for (size_t at = 0; at < h->n_nics * sizeof(*h->nics); at += SIM_LINE)
		__builtin_prefetch((const char *)h->nics + at);
}

static void fetch_flights(const struct rs_sim *s, const struct sim_node *n)
{
	for (uint32_t i = 0; i < n->n_ports; i++)
		if (n->in[i] && !sim_link_idle(n->in[i]))
			__builtin_prefetch(sim_link_flight(n->in[i], n->in[i]->head));
	if (n->free.head != RS_NO_PACKET)
		__builtin_prefetch(rs_pool_at(&s->pool, n->free.head), 1);
}

static void fetch_packets(const struct rs_sim *s, const struct sim_node *n)
{
	for (uint32_t i = 0; i < n->n_ports; i++)
		for (unsigned k = 0; n->in[i] && !sim_link_idle(n->in[i]) && k < LOOK; k++)
			sim_link_fetch(s, n->in[i], k);
}

void sim_host_fetch(const struct rs_sim *s, const struct sim_node *n, unsigned step)
{
	const struct sim_host *h = n->host;

	if (step == 0) {
		fetch_links(n);
		return;
	}
	if (step == 1)
		fetch_flights(s, n);
	else if (step == 2)
		fetch_packets(s, n);
	for (uint32_t i = 0; i < h->n_nics; i++)
		sim_end_prefetch(&h->nics[i], step - 1);
}

/* ---- Making and unmaking ---- */

int sim_host_create(struct rs_sim *s, uint32_t host, struct rs_error *e)
{
	const struct rs_fabric_host *fh = &s->f->hosts[host];
	struct sim_host *h = rs_arena_alloc(s->arena, 1, sizeof(*h));
	int err;

	if (!h)
		return rs_error_set(e, -ENOMEM, "out of memory");
	s->nodes[host].host = h;
	h->index = host;
	h->n_nics = fh->n_endpoints;
	h->nics = sim_lines_alloc(s->arena, h->n_nics ? h->n_nics : 1, sizeof(*h->nics));
	if (!h->nics)
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (!fh->inside || s->o->ideal.host)
		return 0;
	err = rs_bus_create(fh->inside, &s->f->host_params, &h->bus, e);
	if (!err)
		rs_bus_ideal(h->bus, s->o->ideal.host_links, s->o->ideal.host_limits);
	return err;
}

/* What the NIC's model or description says of messages and queue pairs. */
static void apply_limits(const struct rs_sim *s, struct sim_nic *k)
{
	struct rs_plant_messages m;

	rs_plant_messages(s->plant, k->endpoint, &m);
	k->waits = RS_NEVER;
	k->inline_bytes = m.inline_bytes;
	k->message_time = m.message_time;
	k->limited = k->message_time || k->ends.limited;
}

/* PFC towards the switch: what comes after XOFF has room, in each class; a plain host takes all. */
static void flow_limits(struct rs_sim *s, struct sim_nic *k)
{
	struct rs_plant_port port;

	rs_plant_nic_port(s->plant, k->endpoint, &port);
	k->lfc_conf = port.lfc;
	k->buffer = port.buffer;
	rs_lfc_init(&k->lfc, &k->times, port.rate, port.response);
}

static struct sim_staging *staging_create(struct rs_sim *s, const uint8_t weight[RS_CLASSES])
{
	struct sim_staging *g = rs_arena_alloc(s->arena, 1, sizeof(*g));

	if (!g)
		return NULL;
	for (unsigned t = 0; t < RS_CLASSES; t++)
		g->out[t].stage.head = g->out[t].express.head = RS_NO_PACKET;
	g->ets = rs_ets_of(weight);
	return g;
}

static bool absent(void *arg, uint32_t qpn)
{
	struct sim_nic *k = arg;

	return sim_flow_absent(k->sim, k, qpn);
}

/* The transport behind the port. */
static int make_ends(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps, uint32_t news,
		     struct rs_error *e)
{
	const struct rs_sim_port port = {
		.plant = s->plant,
		.endpoint = k->endpoint,
		.first = SIM_FIRST_QPN,
		.n_ends = n_qps,
		.news = news,
		.paths_vary = s->orders != NULL,
		.free = &k->node->free,
		.absent = absent,
		.absent_arg = k,
	};
	int err;

	k->transport = s->o->transport ? s->o->transport : &sim_roce;
	err = k->transport->create(&port, &k->ends, e);
	if (!err)
		k->nic = rs_nic_of(k->ends.endpoint);
	return err;
}

/* What a NIC inside a host has beside. */
static int make_inside(struct rs_sim *s, struct sim_nic *k)
{
	struct rs_plant_port port;

	rs_plant_nic_port(s->plant, k->endpoint, &port);
	k->staging = staging_create(s, port.weight);
	k->ahead = s->f->host_params.nic_pipeline +
		   rs_pace_time(rs_pace_of(s->f->endpoints[k->endpoint].rate), SPARE);
	apply_limits(s, k);
	return k->staging ? 0 : -ENOMEM;
}

int sim_host_nic(struct rs_sim *s, uint32_t endpoint, uint32_t n_qps, uint32_t news,
		 struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	struct sim_nic *k = sim_nic_of(s, endpoint);
	uint32_t host = f->endpoints[endpoint].host;
	int err;

	k->sim = s;
	k->endpoint = endpoint;
	k->node = &s->nodes[host];
	k->port = endpoint - f->hosts[host].first_endpoint;
	k->out = &k->node->out[k->port];
	k->part = f->endpoints[endpoint].part;
	k->rx.head = RS_NO_PACKET;
	k->inside = rs_plant_inside(s->plant, endpoint);
	flow_limits(s, k);
	k->pfc = rs_arena_alloc(s->arena, 1, sizeof(*k->pfc));
	err = k->pfc ? make_ends(s, k, n_qps, news, e) : -ENOMEM;
	if (!err && k->inside)
		err = make_inside(s, k);
	if (!err)
		err = sim_streams_create(s, k, n_qps);
	if (!err && s->o->ideal.placed) {
		k->ways = rs_arena_alloc(s->arena, n_qps + 1u, sizeof(*k->ways));
		err = k->ways ? 0 : -ENOMEM;
	}
	return err == -ENOMEM
		       ? rs_error_set(e, err, "no memory for a NIC with %u queue pairs", n_qps)
		       : err;
}

void sim_nic_way(struct sim_nic *k, uint32_t qpn, uint32_t way)
{
	if (k->ways)
		k->ways[qpn - SIM_FIRST_QPN] = way;
}

void sim_host_rate(struct rs_sim *s, uint32_t host, uint32_t flow, int64_t rate, rs_time now)
{
	struct sim_host *h = s->nodes[host].host;

	if (h->n_rates == h->rates_size) {
		uint32_t size = h->rates_size ? 2 * h->rates_size : 1024;
		struct rs_sim_rate *more;

		if (size > RS_SIM_RATES_MAX)
			return;
		more = realloc(h->rates, size * sizeof(*more));
		if (!more)
			return;
		h->rates = more;
		h->rates_size = size;
	}
	h->rates[h->n_rates++] = (struct rs_sim_rate){now, rate, flow};
}

/* Among the busiest so far, the busiest first; of equals the first seen. */
static void keep_busiest(struct rs_sim_result *r, const char *host,
			 const struct rs_bus_link_stat *l)
{
	uint32_t i = r->n_links;

	if (i == LINKS_KEPT && r->links[i - 1].busy >= l->busy)
		return;
	if (i < LINKS_KEPT)
		r->n_links++;
	else
		i--;
	for (; i && r->links[i - 1].busy < l->busy; i--)
		r->links[i] = r->links[i - 1];
	r->links[i] = (struct rs_sim_link){.bytes = l->bytes, .busy = l->busy, .rate = l->rate};
	snprintf(r->links[i].name, sizeof(r->links[i].name), "%.16s %.46s", host, l->name);
}

static void busiest_inside(struct rs_sim *s, const struct sim_host *h)
{
	struct rs_sim_result *r = s->r;
	struct rs_bus_link_stat l;

	if (!r->links)
		r->links = rs_arena_alloc(r->arena, LINKS_KEPT, sizeof(*r->links));
	for (int i = 0; r->links && i < rs_bus_links(h->bus); i++) {
		rs_bus_link_stat(h->bus, i, &l);
		if (l.busy)
			keep_busiest(r, s->f->hosts[h->index].name, &l);
	}
}

static void keep_limit(struct rs_sim *s, const char *host, const char *part,
		       enum rs_limit_kind kind, rs_time stalled)
{
	struct rs_sim_result *r = s->r;
	uint32_t i = r->n_limits;

	if (!r->limits)
		r->limits = rs_arena_alloc(r->arena, LIMITS_KEPT, sizeof(*r->limits));
	if (!stalled || !r->limits)
		return;
	if (i == LIMITS_KEPT && r->limits[i - 1].stalled >= stalled)
		return;
	if (i < LIMITS_KEPT)
		r->n_limits++;
	else
		i--;
	for (; i && r->limits[i - 1].stalled < stalled; i--)
		r->limits[i] = r->limits[i - 1];
	r->limits[i] = (struct rs_sim_limit){.kind = kind, .stalled = stalled};
	snprintf(r->limits[i].name, sizeof(r->limits[i].name), "%.16s %.46s", host, part);
}

static void limits_inside(struct rs_sim *s, const struct sim_host *h)
{
	const struct rs_fabric_host *fh = &s->f->hosts[h->index];
	static const enum rs_limit_kind kinds[] = {[RS_WAIT_TAGS] = RS_LIMIT_READS,
						   [RS_WAIT_READ_BUFFER] = RS_LIMIT_BUFFER,
						   [RS_WAIT_CREDITS] = RS_LIMIT_CREDITS};

	for (int i = 0; i < fh->inside->n_parts; i++)
		for (int w = 0; w < RS_DMA_WAITS; w++)
			keep_limit(s, fh->name, fh->inside->parts[i].name, kinds[w],
				   rs_bus_waited(h->bus, i, (enum rs_dma_wait)w));
	for (uint32_t i = 0; i < h->n_nics; i++) {
		const struct sim_nic *k = &h->nics[i];
		const char *name = strchr(s->f->endpoints[k->endpoint].name, '/');

		name = name ? name + 1 : "";
		keep_limit(s, fh->name, name, RS_LIMIT_MESSAGES, k->stalled_messages);
		keep_limit(s, fh->name, name, RS_LIMIT_QP, k->stalled_qps);
	}
}

void sim_host_collect(struct rs_sim *s, struct sim_node *n)
{
	struct rs_sim_counters *r = &s->r->counters;

	for (uint32_t i = 0; i < n->host->n_nics; i++) {
		struct sim_nic *k = &n->host->nics[i];

		k->transport->collect(k->ends.self, r, &s->r->nic_bytes[k->endpoint]);
		if (s->r->several_ccs)
			sim_count_open_cuts(s, k);
		r->reordered += k->reordered;
		r->nic_pauses += k->pauses;
		for (unsigned t = 0; t < RS_CLASSES; t++)
			r->paused += sim_nic_held(k, t, sim_end(s));
		r->nic_drops += k->drops;
	}
	if (n->host->bus && !s->o->ranks) {
		busiest_inside(s, n->host);
		limits_inside(s, n->host);
	}
}

void sim_host_destroy(struct sim_host *h)
{
	for (uint32_t i = 0; h->nics && i < h->n_nics; i++) {
		if (h->nics[i].transport)
			h->nics[i].transport->destroy(h->nics[i].ends.self);
		sim_streams_destroy(&h->nics[i]);
		free(h->nics[i].open);
	}
	if (h->bus)
		rs_bus_destroy(h->bus);
	free(h->heap);
	free(h->rates);
}
