/* The event loop: windows over nodes (engine.h), the network built from a description. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/elapsed.h"
#include "sim/engine.h"
#include "sim/happen.h"
#include "sim/ideal.h"
#include "sim/observe.h"

enum { RANDOM_LOSS = 1, POOL_PACKETS = 1 << 28, POOL_LEAST = 1 << 20 };

static inline void count_hop(struct sim_node *n, struct sim_link *l, const struct rs_packet *p)
{
	if (p->payload_bytes) {
		l->data_hops++;
		return;
	}
	l->other_hops++;
	if (p->kind == RS_KIND_PFC) {
		n->pfc_hops++;
		l->pfc_bytes += (uint32_t)p->frame_bytes;
	}
}

/* A NIC's packet is counted by class where that is not seen by the link's own counts, and timed. */
static inline void nic_watched(struct rs_sim *s, struct sim_node *n, struct sim_link *l,
			       struct rs_packet *p, rs_time now)
{
	if (__builtin_expect(p->tc != l->main_tc, 0) && p->kind != RS_KIND_PFC) {
		if (p->tc == l->cnp_tc)
			l->cnp_bytes += (uint32_t)p->frame_bytes;
		else
			sim_watch_apart(n, (uint32_t)(l - n->out), p);
	}
	if (sim_watch_timed(s, p))
		p->sent = now;
}

/* By an event, or by chance. */
static bool is_lost(struct sim_link *l, const struct rs_packet *p)
{
	if (l->down)
		return true;
	if (l->picks && p->payload_bytes && sim_link_picks(l))
		return true;
	return l->loss && p->kind != RS_KIND_PFC && (rs_random_u64(&l->random) >> 32) < l->loss;
}

/* Each packet of the link is looked at, is captured or may be lost: false when p is lost. */
static bool unplain(struct rs_sim *s, struct sim_node *n, struct sim_link *l, struct rs_packet *p,
		    rs_time now)
{
	if (l->odd & SIM_LINK_RISES)
		rs_rise_packet(&s->rise, p);
	if (l->odd & SIM_LINK_EXACT && p->kind != RS_KIND_PFC)
		sim_watch_sent(n, (uint32_t)(l - n->out), p);
	if (l->odd & SIM_LINK_CAPTURED)
		rs_capture_packet(s->capture, l->capture, p, now);
	if (l->odd & SIM_LINK_LOSES && is_lost(l, p)) {
		if (p->kind == RS_KIND_PFC) {
			rs_pool_free(&n->free, p);
			return false;
		}
		n->losses++;
		if (n->watch)
			sim_watch_lost(n, (uint32_t)(l - n->out));
		sim_lost_on_link(n, (uint32_t)(l - n->out), p);
		sim_order_dropped(s, n, p);
		rs_pool_free(&n->free, p);
		return false;
	}
	return true;
}

static void post_far(struct rs_sim *s, struct sim_node *n, struct sim_link *l)
{
	struct sim_part *from = &s->parts[n->part];
	uint32_t to = s->nodes[l->to_node].part;

	from->box[to][from->n_box[to]++] = l;
}

void sim_transmit(struct rs_sim *s, struct sim_node *n, uint32_t port, struct rs_packet *p,
		  rs_time now)
{
	struct sim_link *l = &n->out[port];
	uint32_t bytes = (uint32_t)p->frame_bytes + l->gap;
	rs_time serial = rs_framing_time(l->pace, bytes, l->whole_ns);
	bool idle = sim_link_idle(l);

	l->busy_until = now + serial;
	l->bytes += bytes;
	count_hop(n, l, p);
	if (__builtin_expect(l->odd, 0)) {
		if (l->odd & SIM_LINK_WATCHED)
			nic_watched(s, n, l, p, now);
		if (l->odd != SIM_LINK_WATCHED && !unplain(s, n, l, p, now))
			return;
	}
	p->when = now + l->delay + (l->header && l->header < serial ? l->header : serial);
	sim_link_append(l, rs_pool_index(&s->pool, p), p->when);
	if (!idle)
		return;
	if (__builtin_expect(!l->far, 1))
		sim_link_armed(s, l, p->when);
	else
		post_far(s, n, l);
}

void sim_link_grow(struct sim_link *l)
{
	uint32_t size = l->size ? 2 * l->size : SIM_RING_LEAST;
	struct sim_flight *ring = calloc(size, sizeof(*ring));

	rs_assert(ring);
	for (uint32_t i = l->head; i != l->tail; i++)
		ring[i & (size - 1)] = *sim_link_flight(l, i);
	free(l->ring);
	l->ring = ring;
	l->size = size;
}

/* ---- Switches ---- */

/* Packets behind the head of a link that memory is asked for. */
enum { LOOK = 2 };

/* What every packet takes is worth a copy here: the software switch calls it too, so that the
 * compiler would leave it where it is (8 % of a hop). */
#define INLINE_ALL __attribute__((flatten))

INLINE_ALL static void switch_send(struct rs_sim *s, struct sim_node *n, uint32_t port, rs_time now)
{
	struct sim_link *l = &n->out[port];
	uint32_t slot = port * SLOTS_SWITCH_PORT + SLOT_TX;
	struct rs_packet *p;
	rs_time again;

	if (l->busy_until > now) {
		rs_tree_set(&n->tree, slot, l->busy_until);
		return;
	}
	p = rs_switch_tx(n->sw, port, now, &again);
	if (!p) {
		rs_tree_set(&n->tree, slot, again);
		return;
	}
	sim_transmit(s, n, port, p, now);
	/* a port that has nothing more finds out when the next packet comes, not by an event */
	rs_tree_set(&n->tree, slot, rs_switch_port_empty(n->sw, port) ? RS_NEVER : l->busy_until);
}

static void switch_woken(struct rs_sim *s, struct sim_node *n, rs_time now)
{
	for (unsigned w = 0; w < (n->n_ports + 63) / 64; w++) {
		uint64_t bits = rs_switch_woken(n->sw, w);

		for (; bits; bits &= bits - 1)
			switch_send(s, n, w * 64 + (unsigned)__builtin_ctzll(bits), now);
	}
}

INLINE_ALL static void switch_arrival(struct rs_sim *s, struct sim_node *n, uint32_t port,
				      rs_time now)
{
	struct sim_link *l = n->in[port];
	struct rs_packet *p = sim_link_head(s, l);
	rs_time ready = now;
	int out;

	sim_link_fetch(s, l, LOOK);
	rs_tree_set(&n->tree, port * SLOTS_SWITCH_PORT + SLOT_ARRIVAL, sim_link_pop(s, l, now));
	if (l->header) {
		rs_time serial =
			rs_framing_time(l->pace, (uint32_t)p->frame_bytes + l->gap, l->whole_ns);

		if (serial > l->header)
			ready = now + serial - l->header;
	}
	out = rs_switch_rx(n->sw, port, p, now, ready);
	if (out >= 0)
		switch_send(s, n, (uint32_t)out, now);
}

/* A port that packets come from is one that their ACKs, or what they are ACKs of, go to. */
static void fetch_ports(const struct sim_node *n)
{
	for (uint32_t i = 0; i < n->n_ports; i++) {
		const struct sim_link *l = n->in[i];

		if (!l || sim_link_idle(l))
			continue;
		__builtin_prefetch(sim_link_flight(l, l->head));
		__builtin_prefetch(&n->out[i]);
		__builtin_prefetch(&n->out[i].delay);
		rs_switch_prefetch(n->sw, i);
	}
}

static void fetch_packets(const struct rs_sim *s, const struct sim_node *n)
{
	for (uint32_t i = 0; i < n->n_ports; i++) {
		if (!n->in[i] || sim_link_idle(n->in[i]))
			continue;
		for (unsigned k = 0; k < LOOK; k++)
			sim_link_fetch(s, n->in[i], k);
		rs_switch_prefetch_waiting(n->sw, i);
	}
}

void sim_switch_fetch(const struct rs_sim *s, const struct sim_node *n, unsigned step)
{
	if (step == 0)
		for (uint32_t i = 0; i < n->n_ports; i++)
			__builtin_prefetch(n->in[i]);
	else if (step == 1)
		fetch_ports(n);
	else if (step == 2)
		fetch_packets(s, n);
}

static void switch_event(struct rs_sim *s, struct sim_node *n, uint32_t slot, rs_time now)
{
	uint32_t port = slot / SLOTS_SWITCH_PORT;

	if (slot == SLOT_DEADLINE)
		rs_switch_expire(n->sw, now);
	else if (slot % SLOTS_SWITCH_PORT == SLOT_ARRIVAL)
		switch_arrival(s, n, port, now);
	else
		switch_send(s, n, port, now);
	if (__builtin_expect(rs_switch_any_woken(n->sw), 0))
		switch_woken(s, n, now);
	n->deadline = rs_switch_deadline(n->sw);
}

/* ---- The loop ---- */

static uint64_t run(struct rs_sim *s, struct sim_node *n, rs_time end)
{
	uint64_t events = 0;

	for (;; events++) {
		uint64_t top = rs_tree_top(&n->tree);
		uint32_t slot = (uint32_t)(top & (RS_TREE_SLOTS - 1));
		rs_time now = rs_tree_time(top);

		/* a switch's timer is outside its tree: seldom due, and the tree is half as large
		 */
		if (__builtin_expect(n->deadline < now, 0)) {
			slot = SLOT_DEADLINE;
			now = n->deadline;
		}
		if (now >= end) {
			*n->due = now;
			break;
		}
		if (n->sw)
			switch_event(s, n, slot, now);
		else
			sim_host_event(s, n, slot, now);
	}
	n->events += events;
	return events;
}

/* What happens to its links and routes comes first of all that is at one time. */
static uint64_t run_with_happenings(struct rs_sim *s, struct sim_node *n, rs_time end)
{
	uint64_t events = 0;

	while (sim_happen_next(n) < end) {
		events += run(s, n, sim_happen_next(n));
		sim_happen(n);
	}
	events += run(s, n, end);
	*n->due = rs_time_min(*n->due, sim_happen_next(n));
	return events;
}

uint64_t sim_node_run(struct rs_sim *s, struct sim_node *n, rs_time end)
{
	if (__builtin_expect(n->happenings != NULL, 0))
		return run_with_happenings(s, n, end);
	return run(s, n, end);
}

/* ---- Building ---- */

static int tree_init(struct rs_sim *s, struct sim_node *n, uint32_t slots, struct rs_error *e)
{
	uint32_t leaves = 2;

	if (slots > RS_TREE_SLOTS)
		return rs_error_set(e, -E2BIG, "a node has %u queue slots; the limit is %u", slots,
				    RS_TREE_SLOTS);
	while (leaves < slots)
		leaves *= 2;
	n->tree.leaves = leaves;
	n->tree.key = sim_lines_alloc(s->arena, 2 * (size_t)leaves, sizeof(uint64_t));
	if (!n->tree.key)
		return -ENOMEM;
	memset(n->tree.key, 0xff, 2 * (size_t)leaves * sizeof(uint64_t));
	return 0;
}

uint32_t sim_node_of(const struct rs_sim *s, const struct rs_link_end *e, uint32_t *port)
{
	if (e->is_switch) {
		*port = e->port;
		return s->n_hosts + e->id;
	}
	*port = e->id - s->f->hosts[s->f->endpoints[e->id].host].first_endpoint;
	return s->f->endpoints[e->id].host;
}

static void direction(struct rs_sim *s, uint32_t index, bool reverse)
{
	struct rs_plant_way w;
	struct sim_link *l;
	uint32_t from, to, from_port, to_port;

	rs_plant_way(s->plant, index, reverse, &w);
	from = sim_node_of(s, &w.from, &from_port);
	to = sim_node_of(s, &w.to, &to_port);
	l = &s->nodes[from].out[from_port];
	*l = (struct sim_link){
		.from_node = from,
		.to_node = to,
		.to_port = to_port,
		.to_slot = w.to.is_switch ? to_port * SLOTS_SWITCH_PORT + SLOT_ARRIVAL
					  : sim_host_arrival_slot(to_port),
		.pace = w.pace,
		.rate = w.rate,
		.gap = w.gap,
		.whole_ns = w.whole_ns,
		.delay = w.delay,
		.header = w.header,
		.loss = w.loss,
		.random = rs_random_stream(s->o->seed, 2 * (uint64_t)index + reverse, RANDOM_LOSS),
		.capture = -1,
	};
	l->odd = l->loss ? SIM_LINK_LOSES : 0;
	if (s->rises && from >= s->n_hosts && to >= s->n_hosts)
		l->odd |= SIM_LINK_RISES;
	s->nodes[to].in[to_port] = l;
	/* nothing crosses sooner than the delay and its first bytes' serialization */
	s->window = rs_time_min(
		s->window,
		l->delay + (l->header ? l->header
				      : rs_framing_time(l->pace,
							rs_framings[s->f->transport.framing].pfc +
								l->gap,
							l->whole_ns)));
}

static int node_init(struct rs_sim *s, uint32_t i, uint32_t ports, uint32_t slots,
		     struct rs_error *e)
{
	struct sim_node *n = &s->nodes[i];

	n->n_ports = ports;
	n->deadline = RS_NEVER;
	n->out = sim_lines_alloc(s->arena, ports ? ports : 1, sizeof(*n->out));
	n->in = rs_arena_alloc(s->arena, ports ? ports : 1, sizeof(*n->in));
	if (!n->out || !n->in)
		return rs_error_set(e, -ENOMEM, "out of memory");
	rs_pool_list_init(&n->free, &s->parts[n->part].pool);
	*n->due = 0; /* looked at in the first window */
	return tree_init(s, n, slots, e);
}

struct drops {
	struct rs_sim *s;
	struct sim_node *n;
};

static void switch_dropped(void *ctx, const struct rs_packet *p)
{
	const struct drops *d = ctx;

	sim_order_dropped(d->s, d->n, p);
}

static int switch_create(struct rs_sim *s, uint32_t i, struct rs_error *e)
{
	struct sim_node *n = &s->nodes[s->n_hosts + i];
	struct rs_switch_port *ports = rs_arena_alloc(s->arena, n->n_ports + 1u, sizeof(*ports));
	struct drops *drops = s->orders ? rs_arena_alloc(s->arena, 1, sizeof(*drops)) : NULL;
	struct rs_switch_config c;

	if (!ports || (s->orders && !drops))
		return rs_error_set(e, -ENOMEM, "out of memory");
	rs_plant_switch(s->plant, i, ports, &c);
	c.pool = &s->pool;
	c.free = &n->free;
	if (drops) {
		*drops = (struct drops){s, n};
		c.dropped = switch_dropped;
		c.dropped_ctx = drops;
	}
	return rs_switch_create(&c, &n->sw, e);
}

static int make_plant(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_sim_ideal *o = &s->o->ideal;
	const struct rs_plant_ideal ideal = {
		.no_pause = o->no_pause,
		.no_drops = o->no_drops,
		.no_loss = o->no_loss,
		.no_cc = o->no_cc,
		.placed = o->placed,
		.host = o->host,
		.host_limits = o->host_limits,
	};

	return rs_plant_create(s->f, &ideal, s->o->seed, s->arena, &s->plant, e);
}

/* Address space only; less where a limit on it is set. */
static int pool_reserve(struct rs_sim *s)
{
	uint32_t packets = POOL_PACKETS;
	int err;

	while ((err = rs_pool_init(&s->pool, packets)) && packets > POOL_LEAST)
		packets /= 2;
	return err;
}

int sim_build(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric *f;
	struct rs_fabric *ideal;
	int err;

	if ((err = rs_sim_scaled(s->f, s->arena, &s->f, e)))
		return err;
	if (s->o->ideal.network) {
		if ((err = rs_sim_ideal_network(s->f, s->arena, &ideal, e)))
			return err;
		s->f = ideal;
	}
	f = s->f;
	s->n_hosts = f->n_hosts;
	s->n_nodes = f->n_hosts + f->n_switches;
	if ((err = make_plant(s, e)) || (err = pool_reserve(s)) ||
	    (err = sim_parts_create(s, s->o->threads, e)) || (err = sim_orders_create(s, e)))
		return err;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if ((err = node_init(s, i, f->hosts[i].n_endpoints,
				     sim_host_slots(f->hosts[i].n_endpoints), e)))
			return err;
	for (uint32_t i = 0; i < f->n_switches; i++)
		if ((err = node_init(s, s->n_hosts + i, f->switches[i].n_ports,
				     f->switches[i].n_ports * SLOTS_SWITCH_PORT, e)))
			return err;
	s->window = RS_S;
	s->rises = rs_plant_rise(s->plant, &s->rise);
	for (uint32_t i = 0; i < f->n_links; i++) {
		direction(s, i, false);
		direction(s, i, true);
	}
	for (uint32_t i = 0; i < f->n_switches; i++)
		if ((err = switch_create(s, i, e)))
			return err;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if ((err = sim_host_create(s, i, e)))
			return err;
	if ((err = sim_happen_create(s, e)) || (s->o->pcap && (err = rs_capture_open(s, e))))
		return err;
	if ((err = sim_parts_connect(s, e)) || (err = sim_places_create(s, e)) ||
	    (err = sim_deadlock_create(s, e)))
		return err;
	err = sim_workload_create(s, e);
	return err ? err : sim_watch_create(s, e);
}

/* ---- The end ---- */

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void collect_switch(struct rs_sim *s, struct sim_node *n)
{
	const struct rs_switch_counters *c = rs_switch_get_counters(n->sw);
	struct rs_sim_counters *r = &s->r->counters;

	r->drops += c->drops + c->unroutable + c->watchdog_drops;
	r->ecn_marked += c->ecn_marked;
	r->trimmed += c->trimmed;
	r->ecn_again += c->ecn_again;
	r->pauses += c->pauses_sent;
	if (c->max_buffer > r->max_buffer)
		r->max_buffer = c->max_buffer;
	for (uint32_t p = 0; p < n->n_ports; p++) {
		const struct rs_switch_port_counters *pc = rs_switch_port_counters(n->sw, p);

		r->max_queue = most(r->max_queue, most(pc->max_queue, sim_watch_peak(n, p)));
		for (unsigned t = 0; t < RS_CLASSES; t++)
			r->paused += rs_switch_held(n->sw, p, t, sim_end(s));
	}
}

/* Sums and greatest values over the processes that share the run. */
static int combine(struct rs_sim *s)
{
	struct rs_sim_counters *c = &s->r->counters;
	int64_t most[2] = {(int64_t)c->max_buffer, (int64_t)c->max_queue};
	int err = sim_ranks_combine(s, RS_RANKS_SUM, c, sizeof(*c) / sizeof(int64_t),
				    sizeof(int64_t), 0);

	if (!err)
		err = sim_ranks_combine(s, RS_RANKS_MAX_OF, most, 2, sizeof(*most), 0);
	if (!err)
		err = sim_ranks_combine(s, RS_RANKS_SUM, s->r->nic_bytes, s->f->n_endpoints,
					sizeof(*s->r->nic_bytes), 0);
	c->max_buffer = (uint64_t)most[0];
	c->max_queue = (uint64_t)most[1];
	return err;
}

int sim_collect(struct rs_sim *s, struct rs_error *e)
{
	struct rs_sim_counters *r = &s->r->counters;
	int err = 0;

	s->r->nic_bytes = rs_arena_alloc(s->r->arena, s->f->n_endpoints + 1u, sizeof(uint64_t));
	if (!s->r->nic_bytes)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];

		r->events += n->events;
		for (uint32_t p = 0; p < n->n_ports; p++) {
			r->packet_hops += n->out[p].data_hops;
			r->ack_hops += n->out[p].other_hops;
		}
		r->ack_hops -= n->pfc_hops;
		r->pfc_hops += n->pfc_hops;
		r->link_losses += n->losses;
		if (n->sw)
			collect_switch(s, n);
		else
			sim_host_collect(s, n);
	}
	r->packets_in_flight = sim_packets_in_flight(s);
	for (uint32_t p = 0; p < s->n_parts; p++)
		s->r->packets_peak +=
			s->parts[p].pool.fresh - (p ? s->parts[p - 1].pool.capacity : 0);
	s->r->qp_bytes = rs_qp_bytes();
	s->r->packet_bytes = sizeof(struct rs_packet);
	s->r->port_bytes = rs_switch_port_bytes() + sizeof(struct sim_link) +
			   sizeof(struct sim_link *) + 2 * SLOTS_SWITCH_PORT * sizeof(uint64_t) +
			   SIM_RING_LEAST * sizeof(struct sim_flight);
	if (s->o->ranks && ((err = combine(s)) || (err = sim_workload_combine(s))))
		return rs_error_set(e, err, "the other processes' results cannot be had: %s",
				    strerror(-err));
	if (s->regain && s->o->ranks &&
	    (err = sim_ranks_combine(s, RS_RANKS_SUM, s->regain->useful, s->regain->n,
				     sizeof(*s->regain->useful), 0)))
		return rs_error_set(e, err, "the other processes' results cannot be had: %s",
				    strerror(-err));
	sim_workload_collect(s);
	if (sim_workload_explain(s) || sim_regain_collect(s) || sim_host_share(s) ||
	    sim_places_collect(s) || sim_pauses_collect(s))
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (sim_watch_collect(s))
		return rs_error_set(e, -ENOMEM, "no memory for what was watched");
	return 0;
}

void sim_destroy(struct rs_sim *s)
{
	sim_watch_destroy(s);
	for (uint32_t i = 0; s->nodes && i < s->n_nodes; i++) {
		if (s->nodes[i].sw)
			rs_switch_destroy(s->nodes[i].sw);
		if (s->nodes[i].host)
			sim_host_destroy(s->nodes[i].host);
		for (uint32_t p = 0; s->nodes[i].out && p < s->nodes[i].n_ports; p++) {
			free(s->nodes[i].out[p].ring);
			if (s->nodes[i].out[p].far)
				free(s->nodes[i].out[p].far->ring);
		}
	}
	sim_places_destroy(s);
	sim_orders_destroy(s);
	sim_parts_destroy(s);
	if (s->pool.base)
		rs_pool_fini(&s->pool);
	rs_arena_destroy(s->arena);
}

int rs_sim_run(const struct rs_fabric *f, const struct rs_sim_options *o,
	       struct rs_sim_result **out, struct rs_error *e)
{
	struct rs_sim s = {.f = f, .o = o, .arena = rs_arena_create(0)};
	struct rs_arena *ra = rs_arena_create(0);
	double wall = rs_elapsed_s(RS_ELAPSED_WALL), cpu = rs_elapsed_s(RS_ELAPSED_THREAD_CPU);
	int err = -ENOMEM;

	*out = NULL;
	s.r = ra ? rs_arena_alloc(ra, 1, sizeof(*s.r)) : NULL;
	if (s.r && s.arena) {
		s.r->arena = ra;
		err = sim_build(&s, e);
		if (!err)
			err = s.o->ranks ? sim_ranks_run(&s, e) : sim_parts_run(&s, e);
		if (!err)
			err = sim_collect(&s, e);
		if (s.capture) {
			int closed = rs_capture_close(s.capture, e);

			err = err ? err : closed;
		}
	}
	if (err == -ENOMEM)
		rs_error_set(e, err, "out of memory");
	sim_destroy(&s);
	if (err) {
		rs_series_free(s.r ? s.r->series : NULL);
		rs_arena_destroy(ra);
		return err;
	}
	s.r->wall_s = rs_elapsed_s(RS_ELAPSED_WALL) - wall;
	s.r->cpu_s += rs_elapsed_s(RS_ELAPSED_THREAD_CPU) - cpu;
	*out = s.r;
	return 0;
}

void rs_sim_result_free(struct rs_sim_result *r)
{
	if (!r)
		return;
	rs_series_free(r->series);
	rs_arena_destroy(r->arena);
}
