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

/* Makes a row, and room to find it when bins are halved. */
static bool make_row(struct sim_watch *w, uint64_t **row, enum watched_pairing how)
{
	if (w->n_rows == w->rows_size) {
		uint32_t size = w->rows_size ? 2 * w->rows_size : 16;
		struct watched_row *more = realloc(w->rows, size * sizeof(*more));

		if (!more)
			return false;
		w->rows = more;
		w->rows_size = size;
	}
	*row = calloc(w->bins, sizeof(**row));
	if (*row)
		w->rows[w->n_rows++] = (struct watched_row){*row, how};
	return *row != NULL;
}

/* Adds to a row, which is made when it is first more than zeroes. */
static void note_as(struct sim_watch *w, uint64_t **row, uint64_t value, enum watched_pairing how)
{
	if (!value)
		return;
	if (!*row && !make_row(w, row, how)) {
		w->no_memory = true;
		return;
	}
	(*row)[w->bin] += value;
}

static void note(struct sim_watch *w, uint64_t **row, uint64_t value)
{
	note_as(w, row, value, PAIR_SUM);
}

static struct watched_class *class_at(const struct sim_watch *w, uint32_t port, unsigned tc)
{
	return &w->class[(size_t)w->slot[tc] * w->n_ports + port];
}

void sim_watch_apart(struct sim_node *n, uint32_t port, const struct rs_packet *p)
{
	unsigned tc = p->tc & (RS_CLASSES - 1);

	n->watch->seen |= (uint8_t)(1u << tc);
	class_at(n->watch, port, tc)->passed += (uint32_t)p->frame_bytes;
}

void sim_watch_sent(struct sim_node *n, uint32_t port, const struct rs_packet *p)
{
	unsigned tc = p->tc & (RS_CLASSES - 1);

	rs_hist_add(&n->watch->port[port].s->of[tc]->queued,
		    rs_switch_queue_bytes(n->sw, port, tc));
}

void sim_watch_count_timed(struct sim_timed *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		rs_hist_add(&t->of[t->tc[i]], (uint64_t)t->took[i]);
	t->n = 0;
}

void sim_watch_arrived(struct rs_sim *s, struct sim_node *n, struct rs_packet *p, rs_time now)
{
	struct sim_timed *t = &s->timed[n->part];

	t->tc[t->n] = p->tc & (RS_CLASSES - 1);
	t->took[t->n++] = now - p->sent;
	p->payload = NULL;
	if (t->n == TIMED_AT_ONCE)
		sim_watch_count_timed(t);
}

void sim_watch_lost(struct sim_node *n, uint32_t port)
{
	n->watch->port[port].lost++;
	n->watch->any_lost = true;
}

uint64_t sim_watch_peak(const struct sim_node *n, uint32_t port)
{
	uint64_t most = 0;

	for (uint32_t b = 0; n->watch && b < n->watch->bin; b++) {
		uint64_t peak = n->watch->peak[(size_t)b * n->n_ports + port];

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

static uint64_t paired(uint64_t a, uint64_t b, enum watched_pairing how)
{
	switch (how) {
	case PAIR_SUM:
		return a + b;
	case PAIR_MOST:
		return a > b ? a : b;
	default:
		return b;
	}
}

static void halve_row(const struct watched_row *r, uint32_t bins)
{
	uint64_t *v = r->v;

	for (uint32_t i = 0; i < bins / 2; i++)
		v[i] = paired(v[2 * i], v[2 * i + 1], r->how);
	memset(v + bins / 2, 0, (bins - bins / 2) * sizeof(*v));
}

/* Counters and queues are the latter's, as they are: the formers' records are free. */
static void halve_kept(struct sim_watch *w)
{
	uint8_t was[RS_SERIES_BINS];
	uint32_t half = w->bins / 2;

	memcpy(was, w->row, sizeof(was));
	for (uint32_t i = 0; i < half; i++) {
		w->row[i] = was[2 * i + 1];
		w->row[half + i] = was[2 * i];
	}
}

static void halve_peaks(struct sim_node *n)
{
	for (uint32_t i = 0; n->sw && i < n->watch->bins / 2; i++) {
		uint64_t *to = n->watch->peak + (size_t)i * n->n_ports;
		const uint64_t *a = n->watch->peak + (size_t)2 * i * n->n_ports;
		const uint64_t *b = a + n->n_ports;

		for (uint32_t p = 0; p < n->n_ports; p++)
			to[p] = a[p] > b[p] ? a[p] : b[p];
	}
}

/* Of the end of a connection within the former all is there. */
static void halve_flows(struct sim_watch *w)
{
	if (!w->n_flows)
		return;
	for (uint32_t i = 0; i < w->bins / 2; i++)
		for (uint32_t f = 0; f < w->n_flows; f++) {
			const uint64_t *a = sim_watch_flow_record(w, 2 * i, f);
			const uint64_t *b = sim_watch_flow_record(w, 2 * i + 1, f);
			uint64_t *to = sim_watch_flow_record(w, i, f);

			for (unsigned c = 0; c < FLOW_COLUMNS; c++)
				to[c] = b[c] || c == FLOW_IN_FLIGHT ? b[c] : a[c];
		}
	memset(sim_watch_flow_record(w, w->bins / 2, 0), 0,
	       (size_t)(w->bins - w->bins / 2) * w->n_flows * FLOW_COLUMNS * sizeof(uint64_t));
}

static void halve(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	halve_kept(w);
	halve_peaks(n);
	halve_flows(w);
	for (uint32_t i = 0; i < w->n_rows; i++)
		halve_row(&w->rows[i], w->bins);
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

		note_time(w, &o->s->of[tc]->held, time_grown(&class_at(w, port, tc)->held, held));
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
		struct rs_series_class *k = o->s->of[tc];
		struct watched_class *was = class_at(w, port, tc);
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
static uint64_t cnps_of(struct sim_node *n, uint32_t port, uint64_t rest)
{
	struct watched_rest *was = &n->watch->rest[port];

	if (was->bytes != rest)
		was->cnps = rs_switch_sent(n->sw, port, n->watch->cnp);
	was->bytes = rest;
	return was->cnps;
}

static void close_switch_port(struct sim_node *n, uint32_t port)
{
	struct sim_watch *w = n->watch;
	uint64_t *now = sim_watch_record(n, w->bin, port), *to = now + KEEP_CLASSES;
	uint64_t *peak = &w->peak[(size_t)w->bin * n->n_ports + port], packets, sent;
	unsigned filled = rs_switch_look(n->sw, port, peak, &packets);

	now[KEEP_CARRIED] = n->out[port].bytes;
	sent = packets * n->out[port].gap;
	for (unsigned m = w->busy; m; m &= m - 1, to += 2) {
		unsigned tc = (unsigned)__builtin_ctz(m);

		to[0] = rs_switch_sent(n->sw, port, tc);
		to[1] = filled >> tc & 1 ? rs_switch_queue_bytes(n->sw, port, tc) : 0;
		sent += to[0];
	}
	if (w->busy == w->classes)
		return;
	to[0] = cnps_of(n, port, now[KEEP_CARRIED] - sent);
	if (filled >> w->cnp & 1)
		note_as(w, &w->port[port].s->of[w->cnp]->queue,
			rs_switch_queue_bytes(n->sw, port, w->cnp), PAIR_LATTER);
}

/* Asks memory for what a later port's bin touches: nothing else has it near. */
static inline void ask_for(const struct sim_node *n, uint32_t port)
{
	if (port >= n->n_ports)
		return;
	__builtin_prefetch(&n->out[port].bytes);
	rs_switch_prefetch_look(n->sw, port, n->watch->busy);
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

/* Bytes of frames of the class that the link does not count: what all others leave. */
static uint64_t main_bytes(const struct sim_node *n, uint32_t port)
{
	const struct sim_watch *w = n->watch;
	const struct sim_link *l = &n->out[port];
	uint64_t left = l->bytes - (l->data_hops + l->other_hops) * l->gap - l->pfc_bytes;

	for (unsigned m = w->seen; m; m &= m - 1)
		left -= class_at(w, port, (unsigned)__builtin_ctz(m))->passed;
	return left - l->cnp_bytes;
}

static void close_nic_classes(struct sim_node *n, uint32_t port, const struct sim_nic *k)
{
	struct sim_watch *w = n->watch;
	uint64_t *to = sim_watch_record(n, w->bin, port) + KEEP_CLASSES;

	for (unsigned m = w->busy; m; m &= m - 1, to += 2) {
		unsigned tc = (unsigned)__builtin_ctz(m);

		if (!k->transport) /* no connection has an end here */
			to[0] = 0;
		else
			to[0] = tc == w->main ? main_bytes(n, port) : class_at(w, port, tc)->passed;
		to[1] = k->egress ? k->egress->class[tc].bytes : 0;
	}
	if (w->busy == w->classes)
		return;
	to[0] = n->out[port].cnp_bytes;
	if (k->egress)
		note_as(w, &w->port[port].s->of[w->cnp]->queue, k->egress->class[w->cnp].bytes,
			PAIR_LATTER);
}

static void close_nic_port(struct sim_node *n, uint32_t port, rs_time at)
{
	struct sim_watch *w = n->watch;
	struct sim_nic *k = &n->host->nics[port];
	uint64_t drops = k->drops;

	if (k->transport && k->transport->dropped)
		drops += k->transport->dropped(k->ends.self);
	sim_watch_record(n, w->bin, port)[KEEP_CARRIED] = n->out[port].bytes;
	close_nic_classes(n, port, k);
	drops = grown(&w->rest[port].drops, drops);
	if (drops)
		note(w, &w->port[port].s->drops, drops);
	if (!k->transport)
		return;
	if (k->paused)
		close_held(n, port, at);
	for (unsigned tc = 0; k->pauses && tc < RS_CLASSES; tc++)
		note(w, &w->port[port].s->of[tc]->pauses,
		     grown(&class_at(w, port, tc)->pauses, k->pfc->sent[tc]));
}

static void close_ports(struct sim_node *n, rs_time at)
{
	struct sim_watch *w = n->watch;

	if (n->sw)
		close_switch(n, at);
	for (uint32_t p = 0; !n->sw && p < n->n_ports; p++)
		close_nic_port(n, p, at);
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
	uint64_t *to = sim_watch_flow_record(w, w->bin, flow);
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
		note_as(w, &o->s.reads, now.reads, PAIR_LATTER);
		note_as(w, &o->s.read_bytes, now.read_bytes, PAIR_LATTER);
		note_as(w, &o->s.credits, now.credits, PAIR_LATTER);
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

	close_ports(n, at);
	for (uint32_t i = 0; i < w->n_flows; i++)
		close_flow(s, w, i);
	close_inside(n, at);
}

void sim_watch_next_bin(struct rs_sim *s, struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	if (++w->bin == w->bins)
		halve(n);
	*sim_watch_next(s, n) = (rs_time)(w->bin + 1) * w->interval;
}

uint64_t sim_watch_run(struct rs_sim *s, struct sim_node *n, rs_time end)
{
	const rs_time *next = sim_watch_next(s, n);
	uint64_t events = 0;

	while (*next < end) {
		events += sim_node_run(s, n, *next);
		sim_watch_close_bin(s, n, *next);
		sim_watch_next_bin(s, n);
	}
	return events + sim_node_run(s, n, end);
}

void sim_watch_window(struct rs_sim *s, struct sim_part *p, rs_time end)
{
	for (uint32_t i = 0; i < p->n_nodes; i++)
		while (p->bin_ends[i] < end) {
			struct sim_node *n = &s->nodes[p->nodes[i]];

			sim_watch_close_bin(s, n, p->bin_ends[i]);
			sim_watch_next_bin(s, n);
		}
	p->bin_end = p->n_nodes ? p->bin_ends[0] : RS_NEVER;
}
