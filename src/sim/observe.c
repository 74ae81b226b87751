/*
 * Watching a run while it goes. Each node closes its own bins, between two of its events, so that
 * windows are as they are without, and results too. Nearly all of it is read from counters that are
 * there anyway, at the ends of bins. Packets are looked at where links that are not plain take
 * them: at NICs, and at the switches of `exact`.
 */
#include "sim/observe.h"
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"
#include "sim/watch.h"
#include "sim/work.h"

enum { AHEAD = 3 }; /* ports whose memory is asked for */

/* ---- Packets ---- */

/* Adds to a row, which is made when it is first more than zeroes. */
static void note(struct sim_watch *w, uint64_t **row, uint64_t value)
{
	if (!value)
		return;
	if (!*row && !(*row = calloc(w->bins, sizeof(**row)))) {
		w->no_memory = true;
		return;
	}
	(*row)[w->bin] += value;
}

/* What is kept of a port's bin. */
static inline uint64_t *record(const struct sim_node *n, uint32_t bin, uint32_t port)
{
	const struct sim_watch *w = n->watch;

	return w->kept + ((size_t)bin * n->n_ports + port) * w->width;
}

static inline uint64_t *flow_record(const struct sim_watch *w, uint32_t bin, uint32_t flow)
{
	return w->of_flow + ((size_t)bin * w->n_flows + flow) * FLOW_COLUMNS;
}

static unsigned column_of(const struct sim_watch *w, unsigned tc)
{
	return KEEP_CLASSES + 2u * w->column[tc];
}

void sim_watch_sent(struct sim_node *n, uint32_t port, const struct rs_packet *p)
{
	struct watched_port *o = &n->watch->port[port];
	unsigned tc = p->tc & (RS_CLASSES - 1);

	if (o->exact)
		rs_hist_add(&o->s->of[tc].queued, rs_switch_queue_bytes(n->sw, port, tc));
}

void sim_watch_arrived(struct rs_sim *s, struct sim_node *n, const struct rs_packet *p, rs_time now)
{
	rs_hist_add(&s->latency[n->part][p->tc & (RS_CLASSES - 1)],
		    (uint64_t)(now - s->sent[rs_pool_index(&s->pool, p)]));
}

void sim_watch_lost(struct sim_node *n, uint32_t port)
{
	n->watch->port[port].lost++;
	n->watch->any_lost = true;
}

uint64_t sim_watch_peak(const struct sim_node *n, uint32_t port)
{
	uint64_t most = 0;

	for (uint32_t b = 0; n->watch && b <= n->watch->bin; b++) {
		uint64_t peak = record(n, b, port)[KEEP_PEAK];

		most = peak > most ? peak : most;
	}
	return most;
}

void sim_watch_span(struct sim_node *n, const struct rs_series_span *span)
{
	struct sim_watch *w = n->watch;

	if (w->n_spans == w->spans_size) {
		uint32_t size = w->spans_size ? 2 * w->spans_size : 16;
		struct rs_series_span *more =
			size <= w->spans_most ? realloc(w->span, size * sizeof(*more)) : NULL;

		if (!more) {
			w->spans_cut = true;
			return;
		}
		w->span = more;
		w->spans_size = size;
	}
	w->span[w->n_spans++] = *span;
}

/* ---- Two bins become one ---- */

/* The sum, the greater, or what was at the end. */
enum pairing { SUM, MOST, LATTER };

static uint64_t paired(uint64_t a, uint64_t b, enum pairing how)
{
	switch (how) {
	case SUM:
		return a + b;
	case MOST:
		return a > b ? a : b;
	default:
		return b;
	}
}

static void halve_row(uint64_t *v, uint32_t bins, enum pairing how)
{
	if (!v)
		return;
	for (uint32_t i = 0; i < bins / 2; i++)
		v[i] = paired(v[2 * i], v[2 * i + 1], how);
	memset(v + bins / 2, 0, (bins - bins / 2) * sizeof(*v));
}

/* Counters and queues are the latter's, as they are. */
static void halve_kept(struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	size_t all = (size_t)n->n_ports * w->width;

	for (uint32_t i = 0; i < w->bins / 2; i++) {
		const uint64_t *a = record(n, 2 * i, 0), *b = a + all;
		uint64_t *to = record(n, i, 0);

		for (size_t c = 0; c < all; c++)
			to[c] = c % w->width == KEEP_PEAK ? paired(a[c], b[c], MOST) : b[c];
	}
}

/* Of the end of a connection within the former all is there. */
static void halve_flows(struct sim_watch *w)
{
	if (!w->n_flows)
		return;
	for (uint32_t i = 0; i < w->bins / 2; i++)
		for (uint32_t f = 0; f < w->n_flows; f++) {
			const uint64_t *a = flow_record(w, 2 * i, f);
			const uint64_t *b = flow_record(w, 2 * i + 1, f);
			uint64_t *to = flow_record(w, i, f);

			for (unsigned c = 0; c < FLOW_COLUMNS; c++)
				to[c] = b[c] || c == FLOW_IN_FLIGHT ? b[c] : a[c];
		}
	memset(flow_record(w, w->bins / 2, 0), 0,
	       (size_t)(w->bins - w->bins / 2) * w->n_flows * FLOW_COLUMNS * sizeof(uint64_t));
}

static void halve_port(const struct sim_watch *w, struct watched_port *o)
{
	struct rs_series_port *p = o->s;
	uint32_t bins = w->bins;

	halve_row(p->marks, bins, SUM);
	halve_row(p->drops, bins, SUM);
	halve_row(p->lost, bins, SUM);
	for (unsigned m = w->classes; m; m &= m - 1) {
		struct rs_series_class *c = &p->of[__builtin_ctz(m)];

		halve_row((uint64_t *)c->held, bins, SUM);
		halve_row(c->pauses, bins, SUM);
		halve_row(c->marks, bins, SUM);
		halve_row(c->drops, bins, SUM);
	}
}

static void halve_flow(struct rs_series_flow *f, uint32_t bins)
{
	halve_row(f->resent, bins, SUM);
	for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
		halve_row(f->resent_for[why], bins, SUM);
}

static void halve(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	halve_kept(n);
	halve_flows(w);
	for (uint32_t p = 0; p < n->n_ports; p++)
		halve_port(w, &w->port[p]);
	for (uint32_t i = 0; i < w->n_flows; i++)
		halve_flow(&w->flow[i].s, w->bins);
	for (uint32_t i = 0; i < w->n_inside; i++) {
		halve_row(w->inside[i].s.bytes, w->bins, SUM);
		halve_row((uint64_t *)w->inside[i].s.busy, w->bins, SUM);
	}
	for (uint32_t i = 0; i < w->n_engines; i++) {
		struct rs_series_engine *g = &w->engine[i].s;

		halve_row(g->reads, w->bins, LATTER);
		halve_row(g->read_bytes, w->bins, LATTER);
		halve_row(g->credits, w->bins, LATTER);
		halve_row((uint64_t *)g->waited, w->bins, SUM);
	}
	w->bin = w->bins / 2;
	w->interval *= 2;
}

/* ---- Ports ---- */

/* What a counter grew by. */
static uint64_t grown(uint64_t *before, uint64_t now)
{
	uint64_t by = now - *before;

	*before = now;
	return by;
}

static rs_time time_grown(rs_time *before, rs_time now)
{
	rs_time by = now - *before;

	*before = now;
	return by;
}

static void note_time(struct sim_watch *w, rs_time **row, rs_time value)
{
	note(w, (uint64_t **)row, (uint64_t)value);
}

/* How long the peers' pauses held the classes. */
static void close_held(struct sim_node *n, uint32_t port, rs_time at)
{
	struct sim_watch *w = n->watch;
	struct watched_port *o = &w->port[port];

	for (unsigned m = w->pausable; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);
		rs_time held = n->sw ? rs_switch_held(n->sw, port, tc, at)
				     : sim_nic_held(&n->host->nics[port], tc, at);

		note_time(w, &o->s->of[tc].held, time_grown(&o->class[tc].held, held));
	}
}

/* What the port's classes counted; drops: some may have been dropped. */
static void close_classes(struct sim_node *n, uint32_t port, bool drops)
{
	struct sim_watch *w = n->watch;
	struct watched_port *o = &w->port[port];
	struct rs_switch_class_counters c;

	for (unsigned m = w->classes; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);
		struct rs_series_class *k = &o->s->of[tc];
		struct watched_class *was = &o->class[tc];
		uint64_t dropped;

		rs_switch_class_counters(n->sw, port, tc, &c);
		note(w, &k->marks, grown(&was->marks, c.ecn_marked));
		note(w, &k->pauses, grown(&was->pauses, c.tx_pauses));
		if (!drops)
			continue;
		dropped = grown(&was->drops, c.drops);
		note(w, &k->drops, dropped);
		note(w, &o->s->drops, dropped);
	}
}

/* What some port of a switch had in the open bin: others need not be looked at for it. */
struct seldom {
	bool marks, drops, pauses, held;
};

static struct seldom seldom_of(struct sim_watch *w, const struct rs_switch *sw)
{
	const struct rs_switch_counters *c = rs_switch_get_counters(sw);
	bool held = rs_switch_held_now(sw) > 0;
	struct seldom some = {
		.marks = grown(&w->marks, c->ecn_marked),
		.drops = grown(&w->drops, c->drops + c->unroutable + c->watchdog_drops),
		.pauses = grown(&w->pauses_sent, c->pauses_sent),
		.held = grown(&w->pauses_heard, c->pauses_heard) || held || w->held,
	};

	w->held = held;
	return some;
}

/* Marks, drops and PAUSEs of the ports that had some. */
static void close_seldom(struct sim_node *n, uint32_t port, const struct seldom *some)
{
	struct sim_watch *w = n->watch;
	struct watched_seldom *was = &w->seldom[port];
	uint64_t marks = 0, pauses = 0;

	if (some->marks)
		marks = grown(&was->marks, rs_switch_marks(n->sw, port));
	if (some->pauses)
		pauses = grown(&was->pauses, rs_switch_pauses(n->sw, port));
	note(w, &w->port[port].s->marks, marks);
	if (marks || pauses || some->drops)
		close_classes(n, port, some->drops);
}

/* CNPs are few, and their class's counters are on a line of their own: it is looked at only where
 * the port sent something else than data. */
static bool rest_grew(struct sim_node *n, uint32_t port, uint64_t sent)
{
	const struct sim_link *l = &n->out[port];

	return grown(&n->watch->seldom[port].rest, l->bytes - sent) != 0;
}

static void close_switch_port(struct sim_node *n, uint32_t port)
{
	struct sim_watch *w = n->watch;
	uint64_t *now = record(n, w->bin, port), packets, sent;
	unsigned filled = rs_switch_look(n->sw, port, &now[KEEP_PEAK], &packets);
	size_t stride = (size_t)n->n_ports * w->width;
	bool grew;

	now[KEEP_CARRIED] = n->out[port].bytes;
	sent = packets * n->out[port].gap;
	for (unsigned m = w->busy; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);
		uint64_t *class = &now[column_of(w, tc)];

		class[0] = rs_switch_sent(n->sw, port, tc);
		class[1] = filled >> tc & 1 ? rs_switch_queue_bytes(n->sw, port, tc) : 0;
		sent += class[0];
	}
	grew = w->busy != w->classes && rest_grew(n, port, sent);
	for (unsigned m = w->classes & ~w->busy; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);
		uint64_t *class = &now[column_of(w, tc)];

		class[0] = grew ? rs_switch_sent(n->sw, port, tc) : w->bin ? *(class - stride) : 0;
		class[1] = filled >> tc & 1 ? rs_switch_queue_bytes(n->sw, port, tc) : 0;
	}
}

/* Asks memory for what a later port's bin touches: nothing else has it near. */
static inline void ask_for(const struct sim_node *n, uint32_t port)
{
	if (port >= n->n_ports)
		return;
	__builtin_prefetch(&n->out[port].bytes);
	rs_switch_prefetch_look(n->sw, port, n->watch->classes);
}

static void close_switch(struct sim_node *n, rs_time at)
{
	const struct seldom some = seldom_of(n->watch, n->sw);

	for (uint32_t p = 0; p < n->n_ports; p++) {
		ask_for(n, p + AHEAD);
		close_switch_port(n, p);
		if (some.marks || some.drops || some.pauses)
			close_seldom(n, p, &some);
		if (some.held)
			close_held(n, p, at);
	}
}

static void close_nic_port(const struct rs_sim *s, struct sim_node *n, uint32_t port, rs_time at)
{
	struct sim_watch *w = n->watch;
	struct sim_nic *k = &n->host->nics[port];
	const uint64_t *sent = s->nic_sent[k->endpoint];
	uint64_t drops = k->drops, *now = record(n, w->bin, port);

	if (k->transport && k->transport->dropped)
		drops += k->transport->dropped(k->ends.self);
	now[KEEP_CARRIED] = n->out[port].bytes;
	drops = grown(&w->seldom[port].drops, drops);
	if (drops)
		note(w, &w->port[port].s->drops, drops);
	if (!k->transport)
		return; /* no connection has an end here */
	if (k->paused)
		close_held(n, port, at);
	for (unsigned m = w->classes; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);
		uint64_t *class = &now[column_of(w, tc)];

		class[0] = sent[tc];
		class[1] = k->egress ? k->egress->class[tc].bytes : 0;
	}
	for (unsigned tc = 0; k->pauses && tc < RS_CLASSES; tc++)
		note(w, &w->port[port].s->of[tc].pauses,
		     grown(&w->port[port].class[tc].pauses, k->pfc->sent[tc]));
}

static void close_ports(const struct rs_sim *s, struct sim_node *n, rs_time at)
{
	struct sim_watch *w = n->watch;

	if (n->sw)
		close_switch(n, at);
	for (uint32_t p = 0; !n->sw && p < n->n_ports; p++)
		close_nic_port(s, n, p, at);
	for (uint32_t p = 0; w->any_lost && p < n->n_ports; p++) {
		note(w, &w->port[p].s->lost, w->port[p].lost);
		w->port[p].lost = 0;
	}
	w->any_lost = false;
}

/* ---- Connections ---- */

/* Of packets that came out of order the transport knows only that it was told of a loss. */
static void close_resent(struct sim_watch *w, struct watched_flow *f,
			 const struct rs_sim_end_now *now)
{
	uint64_t by[RS_RESENT_WHYS], all = 0, order;

	for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
		by[why] = grown(&f->resent[why], now->resent[why]);
	order = by[RS_RESENT_REORDER];
	for (unsigned why = 0; why < RS_RESENT_REORDER; why++)
		all += by[why];
	if (!all)
		return;
	/* first of those that a NAK asked for, then of the others */
	for (unsigned i = 0; order && i < RS_RESENT_REORDER; i++) {
		unsigned why = i ? (i == 1 ? RS_RESENT_TIMEOUT : RS_RESENT_RNR) : RS_RESENT_NAK;
		uint64_t part = order < by[why] ? order : by[why];

		by[why] -= part;
		order -= part;
	}
	by[RS_RESENT_REORDER] -= order;
	note(w, &f->s.resent, all);
	for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
		note(w, &f->s.resent_for[why], by[why]);
}

static void close_flow(struct rs_sim *s, struct sim_watch *w, uint32_t flow)
{
	struct watched_flow *f = &w->flow[flow];
	uint64_t *to = flow_record(w, w->bin, flow);
	struct rs_sim_end_now now;

	if (!sim_conn_look(s, f->conn, &now))
		return;
	to[FLOW_RATE] = (uint64_t)now.rate;
	to[FLOW_WINDOW] = now.window;
	to[FLOW_IN_FLIGHT] = now.in_flight;
	to[FLOW_ACKED] = now.acked;
	close_resent(w, f, &now);
}

void sim_watch_closing(struct rs_sim *s, uint32_t conn, uint32_t host)
{
	struct sim_watch *w = s->nodes[host].watch;

	for (uint32_t i = 0; i < w->n_flows; i++)
		if (w->flow[i].conn == conn)
			close_flow(s, w, i);
}

/* ---- Inside hosts ---- */

static void close_inside(struct sim_node *n, rs_time at)
{
	struct sim_watch *w = n->watch;
	struct rs_bus_outstanding now;
	rs_time waited;

	for (uint32_t i = 0; i < w->n_inside; i++) {
		struct watched_inside *o = &w->inside[i];
		uint64_t bytes;
		rs_time busy;

		rs_bus_link_carried(n->host->bus, (int)i, &bytes, &busy);
		note(w, &o->s.bytes, grown(&o->bytes, bytes));
		note_time(w, &o->s.busy, time_grown(&o->busy, busy));
	}
	for (uint32_t i = 0; i < w->n_engines; i++) {
		struct watched_engine *o = &w->engine[i];

		rs_bus_outstanding(n->host->bus, o->part, at, &now);
		note(w, &o->s.reads, now.reads);
		note(w, &o->s.read_bytes, now.read_bytes);
		note(w, &o->s.credits, now.credits);
		waited = 0;
		for (unsigned what = 0; what < RS_DMA_WAITS; what++)
			waited += rs_bus_waited(n->host->bus, o->part, what);
		note_time(w, &o->s.waited, time_grown(&o->waited, waited));
	}
}

/* ---- Bins ---- */

void sim_watch_close_bin(struct rs_sim *s, struct sim_node *n, rs_time at)
{
	struct sim_watch *w = n->watch;

	close_ports(s, n, at);
	for (uint32_t i = 0; i < w->n_flows; i++)
		close_flow(s, w, i);
	close_inside(n, at);
}

void sim_watch_next_bin(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	if (++w->bin == w->bins)
		halve(n);
	w->next = (rs_time)(w->bin + 1) * w->interval;
}

uint64_t sim_watch_run(struct rs_sim *s, struct sim_node *n, rs_time end)
{
	uint64_t events = 0;

	while (n->watch->next < end) {
		events += sim_node_run(s, n, n->watch->next);
		sim_watch_close_bin(s, n, n->watch->next);
		sim_watch_next_bin(n);
	}
	return events + sim_node_run(s, n, end);
}

void sim_watch_window(struct rs_sim *s, struct sim_part *p, rs_time end)
{
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		struct sim_node *n = &s->nodes[p->nodes[i]];

		while (n->watch->next < end) {
			sim_watch_close_bin(s, n, n->watch->next);
			sim_watch_next_bin(n);
		}
		p->bin_end = n->watch->next;
	}
}
