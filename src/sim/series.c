/* What nodes kept becomes the result's series; and its end. */
#include <errno.h>
#include <stdlib.h>
#include "sim/host.h"
#include "sim/observe.h"
#include "sim/watch.h"

static int node_memory(const struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].watch->no_memory)
			return -ENOMEM;
	return 0;
}

/* Columns of what was kept become rows; NULL: zeroes alone. */
struct column {
	const uint64_t *from; /* of bin 0 */
	size_t stride;        /* to the next bin's */
};

static void put(struct sim_watch *w, uint64_t **row, uint32_t bin, uint64_t v)
{
	if (!v)
		return;
	if (!*row)
		*row = calloc(w->bin + 1, sizeof(**row));
	if (*row)
		(*row)[bin] = v;
	else
		w->no_memory = true;
}

static uint64_t *row_of(struct sim_watch *w, struct column c)
{
	uint64_t *row = NULL;

	for (uint32_t b = 0; b <= w->bin; b++)
		put(w, &row, b, c.from[b * c.stride]);
	return row;
}

/* The same, there also where all are zeroes. */
static uint64_t *whole_row_of(struct sim_watch *w, struct column c)
{
	uint64_t *row = row_of(w, c);

	if (!row)
		row = calloc(w->bin + 1, sizeof(*row));
	w->no_memory |= !row;
	return row;
}

/* What a counter grew by in each bin. One of a connection is 0 before its start and after its end.
 */
static uint64_t *growth_of(struct sim_watch *w, struct column c)
{
	uint64_t *row = NULL, before = 0;

	for (uint32_t b = 0; b <= w->bin; b++) {
		uint64_t now = c.from[b * c.stride];

		put(w, &row, b, now ? now - before : 0);
		before = now ? now : before;
	}
	return row;
}

static void make_rows(const struct sim_node *n, struct watched_port *o)
{
	struct sim_watch *w = n->watch;
	struct column c = {w->kept + (size_t)o->s->port * w->width, (size_t)n->n_ports * w->width};

	o->s->carried = growth_of(w, (struct column){c.from + KEEP_CARRIED, c.stride});
	o->s->peak = row_of(w, (struct column){c.from + KEEP_PEAK, c.stride});
	c.from += KEEP_CLASSES;
	for (unsigned m = w->classes; m; m &= m - 1, c.from += 2) {
		struct rs_series_class *k = &o->s->of[__builtin_ctz(m)];

		k->bytes = growth_of(w, c);
		k->queue = row_of(w, (struct column){c.from + 1, c.stride});
	}
}

static void make_flow_rows(struct sim_watch *w, uint32_t flow)
{
	struct rs_series_flow *f = &w->flow[flow].s;
	const uint64_t *from = w->of_flow + (size_t)flow * FLOW_COLUMNS;
	size_t stride = (size_t)w->n_flows * FLOW_COLUMNS;

	f->rate = (int64_t *)whole_row_of(w, (struct column){from + FLOW_RATE, stride});
	f->window = whole_row_of(w, (struct column){from + FLOW_WINDOW, stride});
	f->in_flight = whole_row_of(w, (struct column){from + FLOW_IN_FLIGHT, stride});
	f->acked = growth_of(w, (struct column){from + FLOW_ACKED, stride});
}

/* Packets are of no class but those that are watched: see classes_of(). */
static void check_classes(const struct rs_sim *s, const struct sim_node *n,
			  const struct watched_port *o)
{
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		rs_assert((n->watch->classes >> tc & 1) ||
			  !(n->sw ? rs_switch_sent(n->sw, o->s->port, tc)
				  : s->nic_sent[o->s->node][tc]));
}

static void collect_port(const struct rs_sim *s, const struct sim_node *n,
			 struct watched_port *port)
{
	struct sim_watch *w = n->watch;
	struct rs_series_port *p = port->s;
	const struct sim_link *l = &n->out[p->port];

	check_classes(s, n, port);
	make_rows(n, port);
	p->data_packets = l->data_hops;
	p->bytes = l->bytes;
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		struct rs_series_class *c = &p->of[tc];

		if (c->bytes || c->queue || c->held || c->pauses || c->drops || c->queued.n)
			p->classes |= (uint8_t)(1u << tc);
		for (uint32_t b = 0; c->queue && !p->exact && b <= w->bin; b++)
			rs_hist_add(&c->queued, c->queue[b]);
	}
}

/* A node's last bin ends with the run; what it had becomes the result's. */
static void collect_node(struct rs_sim *s, struct sim_node *n, struct rs_series *r)
{
	struct sim_watch *w = n->watch;

	while (w->next < sim_end(s)) {
		sim_watch_close_bin(s, n, w->next);
		sim_watch_next_bin(n);
	}
	sim_watch_close_bin(s, n, sim_end(s));
	for (uint32_t p = 0; p < n->n_ports; p++)
		if (n->out[p].rate)
			collect_port(s, n, &w->port[p]);
	for (uint32_t i = 0; i < w->n_flows; i++) {
		make_flow_rows(w, i);
		r->flows[r->n_flows++] = w->flow[i].s;
	}
	for (uint32_t i = 0; i < w->n_inside; i++)
		r->inside[r->n_inside++] = w->inside[i].s;
	for (uint32_t i = 0; i < w->n_engines; i++)
		r->engines[r->n_engines++] = w->engine[i].s;
	for (uint32_t i = 0; i < w->n_spans; i++)
		r->spans[r->n_spans++] = w->span[i];
	r->spans_cut |= w->spans_cut;
	r->interval = w->interval;
	r->bins = w->bin + 1;
	w->collected = true;
}

static void *room(uint64_t n, size_t size)
{
	return calloc(n + 1, size);
}

static int make_room(const struct rs_sim *s, struct rs_series *r)
{
	uint64_t flows = 0, inside = 0, engines = 0, spans = 0;

	for (uint32_t i = 0; i < s->n_nodes; i++) {
		const struct sim_watch *w = s->nodes[i].watch;

		flows += w->n_flows;
		inside += w->n_inside;
		engines += w->n_engines;
		spans += w->n_spans;
	}
	r->flows = room(flows, sizeof(*r->flows));
	r->inside = room(inside, sizeof(*r->inside));
	r->engines = room(engines, sizeof(*r->engines));
	r->spans = room(spans, sizeof(*r->spans));
	return r->flows && r->inside && r->engines && r->spans ? 0 : -ENOMEM;
}

/* ---- What files have the rows of ---- */

/* One thing, by one figure of it. */
struct rank {
	uint64_t figure;
	uint32_t i;
};

static int by_figure(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;

	if (a->figure != b->figure)
		return a->figure < b->figure ? 1 : -1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static uint64_t sum(const uint64_t *row, uint32_t bins)
{
	uint64_t all = 0;

	for (uint32_t b = 0; row && b < bins; b++)
		all += row[b];
	return all;
}

static uint64_t most(const uint64_t *row, uint32_t bins)
{
	uint64_t m = 0;

	for (uint32_t b = 0; row && b < bins; b++)
		m = row[b] > m ? row[b] : m;
	return m;
}

static void add_up(struct rs_series_port *p, uint32_t bins)
{
	p->queue_most = most(p->peak, bins);
	p->n_marks = sum(p->marks, bins);
	p->n_drops = sum(p->drops, bins);
	p->n_lost = sum(p->lost, bins);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		p->paused += (rs_time)sum((const uint64_t *)p->of[tc].held, bins);
		p->n_pauses += sum(p->of[tc].pauses, bins);
	}
}

enum by { BY_PAUSED, BY_LOST, BY_QUEUE, BY_BYTES, BYS };

static uint64_t figure_of(const struct rs_series_port *p, enum by by)
{
	switch (by) {
	case BY_PAUSED:
		return (uint64_t)p->paused;
	case BY_LOST:
		return p->n_drops + p->n_lost;
	case BY_QUEUE:
		return p->queue_most;
	default:
		return p->bytes;
	}
}

/* The first of each ranking, then the second of each, and so on. */
static void keep_ports(struct rs_series *r, struct rank *rank, uint32_t room)
{
	uint32_t n = r->n_ports, left = room < n ? room : n;

	for (unsigned by = 0; by < BYS; by++) {
		for (uint32_t i = 0; i < n; i++)
			rank[by * n + i] = (struct rank){figure_of(&r->ports[i], by), i};
		qsort(rank + by * n, n, sizeof(*rank), by_figure);
	}
	for (uint32_t i = 0; i < n && left; i++)
		for (unsigned by = 0; by < BYS && left; by++) {
			const struct rank *k = &rank[by * n + i];

			if ((!k->figure && by != BY_BYTES) || r->ports[k->i].kept)
				continue;
			r->ports[k->i].kept = true;
			left--;
		}
}

static uint64_t engine_figure(const struct rs_series *r, uint32_t i)
{
	const struct rs_series_engine *g = &r->engines[i];

	return sum((const uint64_t *)g->waited, r->bins) + sum(g->read_bytes, r->bins) +
	       sum(g->credits, r->bins);
}

static void keep_inside(struct rs_series *r, struct rank *rank, uint32_t room)
{
	for (uint32_t i = 0; i < r->n_inside; i++)
		rank[i] = (struct rank){sum((const uint64_t *)r->inside[i].busy, r->bins), i};
	qsort(rank, r->n_inside, sizeof(*rank), by_figure);
	for (uint32_t i = 0; i < r->n_inside && i < room; i++)
		r->inside[rank[i].i].kept = true;
	for (uint32_t i = 0; i < r->n_engines; i++)
		rank[i] = (struct rank){engine_figure(r, i), i};
	qsort(rank, r->n_engines, sizeof(*rank), by_figure);
	for (uint32_t i = 0; i < r->n_engines && i < room; i++)
		r->engines[rank[i].i].kept = true;
}

static int keep(struct rs_series *r, uint32_t room)
{
	uint32_t n = BYS * r->n_ports;
	struct rank *rank;

	n = r->n_inside > n ? r->n_inside : n;
	n = r->n_engines > n ? r->n_engines : n;
	rank = calloc(n + 1u, sizeof(*rank));
	if (!rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_ports; i++)
		add_up(&r->ports[i], r->bins);
	keep_ports(r, rank, room);
	keep_inside(r, rank, room);
	free(rank);
	return 0;
}

int sim_watch_collect(struct rs_sim *s)
{
	struct rs_series *r = s->r->series;

	if (!s->o->observe.on)
		return 0;
	if (make_room(s, r))
		return -ENOMEM;
	r->connections = s->connections;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		collect_node(s, &s->nodes[i], r);
	for (uint32_t p = 0; p < s->n_parts; p++)
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			rs_hist_merge(&r->latency[tc], &s->latency[p][tc]);
	if (sim_speed(s, r) || keep(r, s->o->observe.ports ? s->o->observe.ports : RS_SERIES_KEPT))
		return -ENOMEM;
	return node_memory(s);
}

/* ---- The end ---- */

static void free_port(struct rs_series_port *p)
{
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		struct rs_series_class *c = &p->of[tc];

		free(c->bytes);
		free(c->queue);
		free(c->held);
		free(c->pauses);
		free(c->marks);
		free(c->drops);
		rs_hist_fini(&c->queued);
	}
	free(p->carried);
	free(p->peak);
	free(p->marks);
	free(p->drops);
	free(p->lost);
}

static void free_flow(struct rs_series_flow *f)
{
	free(f->rate);
	free(f->window);
	free(f->in_flight);
	free(f->acked);
	free(f->resent);
	for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
		free(f->resent_for[why]);
}

static void free_inside(struct rs_series_inside *l)
{
	free(l->bytes);
	free(l->busy);
}

static void free_engine(struct rs_series_engine *g)
{
	free(g->reads);
	free(g->read_bytes);
	free(g->credits);
	free(g->waited);
}

static void destroy_node(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	for (uint32_t i = 0; i < w->n_flows && !w->collected; i++)
		free_flow(&w->flow[i].s);
	for (uint32_t i = 0; i < w->n_inside && !w->collected; i++)
		free_inside(&w->inside[i].s);
	for (uint32_t i = 0; i < w->n_engines && !w->collected; i++)
		free_engine(&w->engine[i].s);
	free(w->kept);
	free(w->of_flow);
	free(w->span);
}

void sim_watch_destroy(struct rs_sim *s)
{
	for (uint32_t i = 0; s->nodes && i < s->n_nodes; i++)
		if (s->nodes[i].watch)
			destroy_node(&s->nodes[i]);
	for (uint32_t p = 0; s->latency && p < s->n_parts; p++)
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			rs_hist_fini(&s->latency[p][tc]);
	rs_pool_beside_free(&s->pool, s->sent, sizeof(*s->sent));
}

void rs_series_free(struct rs_series *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_ports; i++)
		free_port(&r->ports[i]);
	for (uint32_t i = 0; i < r->n_flows; i++)
		free_flow(&r->flows[i]);
	for (uint32_t i = 0; i < r->n_inside; i++)
		free_inside(&r->inside[i]);
	for (uint32_t i = 0; i < r->n_engines; i++)
		free_engine(&r->engines[i]);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		rs_hist_fini(&r->latency[tc]);
	free(r->ports);
	free(r->flows);
	free(r->inside);
	free(r->engines);
	free(r->spans);
	free(r->flow_speed);
	free(r->job_speed);
	free(r);
}
