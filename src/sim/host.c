/* A host node: NIC ports with PFC, DMA over the bus before sending and after receiving
 * (docs/host.md), and a heap of what applications do next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"
#include "sim/observe.h"

/* Packets behind the head of a link that memory is asked for: an event is shorter than its latency.
 */
enum { LOOK = 4 };
/* Bytes that are read ahead beyond what covers a read's latency: some packets' jitter on the bus.
 */
enum { SPARE = 16384 };
/* Room for ends of flows that come while the run goes: a sender's, or a receiver's with those that
 * rest and are not closed yet (at most half as many: close_receivers() looks at 3 for each opened).
 */
enum { ENDS_A_FLOW = 4 };
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

	rs_assert(h->n_heap < h->heap_size); /* one was there */
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

static void to_transport(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	k->quiet = 0;
	if (__builtin_expect(k->streams != NULL, 0))
		sim_order_arrived(s, k, p, now);
	else
		sim_end_rx(k, p, now);
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
		wants = sim_stage_may_pull(k, now) ? sim_stage_pull(s, k, now)
						   : rs_time_max(k->read_free, k->quiet);
	if (l->busy_until <= now) {
		if (k->lfc.due) {
			send_pfc(s, k, now);
			again = l->busy_until;
		} else if (k->inside) {
			again = sim_stage_send(s, k, now);
			/* in step with the wire, as paces are; else the transport had no more */
			if (l->busy_until > now && wants == RS_NEVER)
				wants = sim_stage_pull(s, k, now);
		} else {
			p = sim_end_packet(k, k->lfc.paused.now, now, &again);
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

void sim_nic_storm(struct sim_nic *k, bool on, rs_time now)
{
	rs_assert(on || k->storms);
	k->storms += on ? 1 : UINT32_MAX;
	k->buffer.stuck = k->storms != 0;
	if (k->buffer.stuck)
		rs_lfc_xoff(&k->lfc, k->lfc_conf.classes & (uint8_t)~k->lfc.pausing);
	else if (k->buffer.used <= k->buffer.xon)
		rs_lfc_xon(&k->lfc, k->lfc.pausing);
	sim_nic_kick(k->sim, k, now);
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
	k->paused = true;
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

/* The user of the end that receives at this number; false: there is none. A flow's end is opened
 * when its first packet comes. */
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
	struct rs_packet *p = rs_queue_first(&k->rx, s->pool.base);
	rs_time accepted = RS_NEVER;
	uint64_t user;

	if (p && receiver_of(s, k, p->dest_qp, &user))
		sim_qp_visible(s, user,
			       rs_bus_write(n->host->bus, sim_qp_path(s, user, false),
					    p->payload_bytes, now, &accepted));
	else if (p) /* a READ's response once more, the READ having ended meanwhile */
		accepted = now;
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
	rs_queue_push(&k->rx, s->pool.base, p);
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
	if (__builtin_expect(s->timed != NULL, 0) && sim_watch_timed(s, p))
		sim_watch_arrived(s, n, p, now);
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
	struct rs_packet *p = rs_queue_first(&k->rx, s->pool.base);

	rs_queue_pop(&k->rx, s->pool.base);
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

static bool absent(void *arg, uint32_t qpn)
{
	struct sim_nic *k = arg;

	return sim_flow_absent(k->sim, k, qpn);
}

/* The transport behind the port. */
static int make_ends(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps, uint32_t news,
		     uint32_t later, struct rs_error *e)
{
	const struct rs_sim_port port = {
		.plant = s->plant,
		.endpoint = k->endpoint,
		.first = SIM_FIRST_QPN,
		.n_ends = n_qps,
		.later = ENDS_A_FLOW * later,
		.news = news + RS_FLOW_DEPTH * later,
		.paths_vary = s->orders != NULL,
		.counted = s->o->observe.on,
		.free = &k->node->free,
		.absent = absent,
		.absent_arg = k,
	};
	int err;

	k->transport = sim_transport_of(s->f, s->o, k->endpoint);
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
	k->egress = rs_arena_alloc(s->arena, 1, sizeof(*k->egress));
	if (!k->egress)
		return -ENOMEM;
	rs_egress_init(k->egress, s->pool.base, port.weight);
	k->ahead = s->f->host_params.nic_pipeline +
		   rs_pace_time(rs_pace_of(s->f->endpoints[k->endpoint].rate), SPARE);
	apply_limits(s, k);
	return 0;
}

int sim_nic_more(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps)
{
	int err = k->transport->more ? k->transport->more(k->ends.self, n_qps) : -ENOTSUP;

	return err ? err : sim_streams_more(s, k, n_qps);
}

bool sim_host_is_app(const struct sim_node *n, uint32_t slot)
{
	return slot == n->host->n_nics * SLOTS_NIC;
}

struct sim_nic *sim_host_payload(const struct rs_sim *s, const struct sim_node *n, uint32_t slot,
				 uint32_t *qpn)
{
	struct sim_host *h = n->host;
	struct sim_nic *k = slot / SLOTS_NIC < h->n_nics ? &h->nics[slot / SLOTS_NIC] : NULL;
	const struct rs_packet *p = NULL;

	if (k && slot % SLOTS_NIC == SLOT_NIC_ARRIVAL && !k->inside)
		p = sim_link_head(s, n->in[k->port]);
	else if (k && slot % SLOTS_NIC == SLOT_NIC_RX)
		p = rs_queue_first(&k->rx, s->pool.base);
	if (!p || !p->payload_bytes)
		return NULL;
	*qpn = p->dest_qp;
	return k;
}

int sim_host_nic(struct rs_sim *s, uint32_t endpoint, uint32_t n_qps, uint32_t news, uint32_t later,
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
	err = k->pfc ? make_ends(s, k, n_qps, news, later, e) : -ENOMEM;
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
