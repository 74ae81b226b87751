/* What nodes kept becomes the result's series; and its end. */
#include <errno.h>
#include <stdlib.h>
#include "sim/host.h"
#include "sim/observe.h"
#include "sim/ranks.h"
#include "sim/watch.h"

static int node_memory(const struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].watch->no_memory)
			return -ENOMEM;
	return 0;
}

int sim_series_block(struct rs_series *r, uint64_t *block)
{
	if (r->n_blocks == r->blocks_size) {
		uint32_t size = r->blocks_size ? 2 * r->blocks_size : 64;
		uint64_t **more = realloc(r->blocks, size * sizeof(*more));

		if (!more) {
			free(block);
			return -ENOMEM;
		}
		r->blocks = more;
		r->blocks_size = size;
	}
	r->blocks[r->n_blocks++] = block;
	return 0;
}

/* A node's rows, one behind the other in a block that the series has. */
struct rows {
	uint64_t *next;
	uint32_t bins;
};

static struct rows rows_for(struct rs_series *r, struct sim_watch *w, size_t n)
{
	struct rows rows = {n ? malloc(n * (w->bin + 1) * sizeof(*rows.next)) : NULL, w->bin + 1};

	w->no_memory |= n && (!rows.next || sim_series_block(r, rows.next));
	return rows;
}

/* The row that was written last; NULL: zeroes alone. */
static uint64_t *take(struct rows *rows, uint64_t any)
{
	uint64_t *row = rows->next;

	if (!any)
		return NULL;
	rows->next += rows->bins;
	return row;
}

/* A column of the ports' records, as it was at the bins' ends. */
static uint64_t *row_of(const struct sim_node *n, struct rows *rows, uint32_t port, unsigned column)
{
	uint64_t any = 0;

	for (uint32_t b = 0; b < rows->bins; b++)
		any |= rows->next[b] = sim_watch_record(n, b, port)[column];
	return take(rows, any);
}

/* What a counter grew by in each bin. */
static uint64_t *growth_of(const struct sim_node *n, struct rows *rows, uint32_t port,
			   unsigned column)
{
	uint64_t any = 0, before = 0;

	for (uint32_t b = 0; b < rows->bins; b++) {
		uint64_t now = sim_watch_record(n, b, port)[column];

		any |= rows->next[b] = now - before;
		before = now;
	}
	return take(rows, any);
}

static uint64_t *peaks_of(const struct sim_node *n, struct rows *rows, uint32_t port)
{
	uint64_t any = 0;

	for (uint32_t b = 0; n->sw && b < rows->bins; b++)
		any |= rows->next[b] = n->watch->peak[(size_t)b * n->n_ports + port];
	return take(rows, any);
}

static void make_rows(const struct sim_node *n, struct rs_series_port *p, struct rows *rows)
{
	unsigned column = KEEP_CLASSES;

	if (!rows->next)
		return;
	p->carried = growth_of(n, rows, p->port, KEEP_CARRIED);
	p->peak = peaks_of(n, rows, p->port);
	for (unsigned m = n->watch->busy; m; m &= m - 1, column += 2) {
		struct rs_series_class *k = p->of[__builtin_ctz(m)];

		k->bytes = growth_of(n, rows, p->port, column);
		k->queue = row_of(n, rows, p->port, column + 1);
	}
	if (n->watch->busy != n->watch->classes)
		p->of[n->watch->cnp]->bytes = growth_of(n, rows, p->port, column);
}

/* There also where all are zeroes. */
static uint64_t *flow_row(const struct sim_watch *w, struct rows *rows, uint32_t flow,
			  unsigned column)
{
	for (uint32_t b = 0; b < rows->bins; b++)
		rows->next[b] = sim_watch_flow_record(w, b, flow)[column];
	return take(rows, 1);
}

/* What was acknowledged in each bin; the counter is 0 before the start and after the end. */
static uint64_t *acked_row(const struct sim_watch *w, struct rows *rows, uint32_t flow)
{
	uint64_t any = 0, before = 0;

	for (uint32_t b = 0; b < rows->bins; b++) {
		uint64_t now = sim_watch_flow_record(w, b, flow)[FLOW_ACKED];

		any |= rows->next[b] = now ? now - before : 0;
		before = now ? now : before;
	}
	return take(rows, any);
}

static void make_flow_rows(const struct sim_watch *w, struct rs_series_flow *f, uint32_t flow,
			   struct rows *rows)
{
	if (!rows->next)
		return;
	f->rate = (int64_t *)flow_row(w, rows, flow, FLOW_RATE);
	f->window = flow_row(w, rows, flow, FLOW_WINDOW);
	f->in_flight = flow_row(w, rows, flow, FLOW_IN_FLIGHT);
	f->acked = acked_row(w, rows, flow);
}

/*
 * Packets are of no class but those that are watched: see classes_of(). A switch's other classes
 * are looked at only where the port sent more than the watched ones; PFC frames are that, too.
 */
static void check_classes(const struct sim_node *n, uint32_t port)
{
	const struct sim_watch *w = n->watch;
	uint64_t packets, left = n->out[port].bytes;

	if (!n->sw) {
		rs_assert(!(w->seen & ~w->busy));
		return;
	}
	packets = rs_switch_port_counters(n->sw, port)->tx_packets;
	left -= packets * n->out[port].gap;
	for (unsigned m = w->classes; m && left; m &= m - 1)
		left -= rs_switch_sent(n->sw, port, (unsigned)__builtin_ctz(m));
	for (unsigned tc = 0; left && tc < RS_CLASSES; tc++)
		rs_assert((w->classes >> tc & 1) || !rs_switch_sent(n->sw, port, tc));
}

static uint64_t most(const uint64_t *row, uint32_t bins)
{
	uint64_t m = 0;

	for (uint32_t b = 0; row && b < bins; b++)
		m = row[b] > m ? row[b] : m;
	return m;
}

/* What waited at the bins' ends, where not each packet was looked at. */
static void queue_at_ends(struct rs_series_class *c, uint32_t bins)
{
	uint32_t empty = 0;

	for (uint32_t b = 0; b < bins; b++)
		if (c->queue[b])
			rs_hist_add(&c->queued, c->queue[b]);
		else
			empty++;
	if (empty)
		rs_hist_add_many(&c->queued, 0, empty);
}

/* The rows are there. */
static void settle_port(struct rs_series_port *p, uint32_t bins)
{
	unsigned watched = p->classes;

	p->classes = 0;
	for (unsigned m = watched; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);
		struct rs_series_class *c = p->of[tc];

		if (!most(c->queue, bins))
			c->queue = NULL; /* it was more in the former of two bins */
		if (c->bytes || c->queue || c->held || c->pauses || c->drops || c->queued.n)
			p->classes |= (uint8_t)(1u << tc);
		if (c->queue && !p->exact)
			queue_at_ends(c, bins);
	}
}

static void close_last(struct rs_sim *s, struct sim_node *n)
{
	const rs_time *next = sim_watch_next(s, n);

	while (*next < sim_end(s)) {
		sim_watch_close_bin(s, n, *next);
		sim_watch_next_bin(s, n);
	}
	sim_watch_close_bin(s, n, sim_end(s));
}

static void finish_ports(struct sim_node *n, struct rs_series *r)
{
	struct sim_watch *w = n->watch;
	unsigned each = 3 + 2 * (unsigned)__builtin_popcount(w->busy);
	struct rows rows = rows_for(r, w, (size_t)n->n_ports * each + 1);

	for (uint32_t p = 0; p < n->n_ports; p++) {
		struct rs_series_port *o = w->port[p].s;

		if (!n->out[p].rate)
			continue;
		check_classes(n, p);
		make_rows(n, o, &rows);
		o->data_packets = n->out[p].data_hops;
		o->bytes = n->out[p].bytes;
	}
}

static void finish_flows(struct sim_watch *w, struct rs_series *r)
{
	struct rows rows = rows_for(r, w, (size_t)w->n_flows * FLOW_COLUMNS);

	for (uint32_t i = 0; i < w->n_flows; i++)
		make_flow_rows(w, &w->flow[i].s, i, &rows);
}

/* A node's last bin ends with the run, and what was kept becomes rows, which are the series' own.
 */
static void finish_node(struct rs_sim *s, struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	uint32_t given = 0;

	close_last(s, n);
	finish_ports(n, s->r->series);
	finish_flows(w, s->r->series);
	while (given < w->n_rows && !sim_series_block(s->r->series, w->rows[given].v))
		given++;
	w->no_memory |= given < w->n_rows;
	w->n_rows = 0;
}

/* What a node had becomes the result's. */
static void collect_node(struct sim_node *n, struct rs_series *r)
{
	struct sim_watch *w = n->watch;

	for (uint32_t p = 0; p < n->n_ports; p++)
		if (n->out[p].rate)
			settle_port(w->port[p].s, w->bin + 1);
	for (uint32_t i = 0; i < w->n_flows; i++)
		r->flows[r->n_flows++] = w->flow[i].s;
	for (uint32_t i = 0; i < w->n_inside; i++)
		r->inside[r->n_inside++] = w->inside[i].s;
	for (uint32_t i = 0; i < w->n_engines; i++)
		r->engines[r->n_engines++] = w->engine[i].s;
	for (uint32_t i = 0; i < w->n_spans; i++)
		r->spans[r->n_spans++] = w->span[i];
	r->spans_cut |= w->spans_cut;
	r->interval = w->interval;
	r->bins = w->bin + 1;
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

static void add_up(struct rs_series_port *p, uint32_t bins)
{
	p->queue_most = most(p->peak, bins);
	p->n_marks = sum(p->marks, bins);
	p->n_drops = sum(p->drops, bins);
	p->n_lost = sum(p->lost, bins);
	for (unsigned m = p->classes; m; m &= m - 1) {
		const struct rs_series_class *c = p->of[__builtin_ctz(m)];

		p->paused += (rs_time)sum((const uint64_t *)c->held, bins);
		p->n_pauses += sum(c->pauses, bins);
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
	int err;

	if (!s->o->observe.on)
		return 0;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (sim_runs_here(s, &s->nodes[i]))
			finish_node(s, &s->nodes[i]);
	for (uint32_t p = 0; p < s->n_parts; p++)
		sim_watch_count_timed(&s->timed[p]);
	if (s->o->ranks && (err = sim_watch_share(s)))
		return err;
	if (make_room(s, r))
		return -ENOMEM;
	r->connections = s->connections;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		collect_node(&s->nodes[i], r);
	for (uint32_t p = 0; p < s->n_parts; p++)
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			rs_hist_merge(&r->latency[tc], &s->timed[p].of[tc]);
	if (sim_speed(s, r) || keep(r, s->o->observe.ports ? s->o->observe.ports : RS_SERIES_KEPT))
		return -ENOMEM;
	return node_memory(s);
}

/* ---- The end ---- */

static void destroy_node(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	for (uint32_t i = 0; i < w->n_rows; i++)
		free(w->rows[i].v);
	free(w->rows);
	free(w->kept);
	free(w->peak);
	free(w->of_flow);
	free(w->span);
}

void sim_watch_destroy(struct rs_sim *s)
{
	for (uint32_t i = 0; s->nodes && i < s->n_nodes; i++)
		if (s->nodes[i].watch)
			destroy_node(&s->nodes[i]);
	for (uint32_t p = 0; s->timed && p < s->n_parts; p++)
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			rs_hist_fini(&s->timed[p].of[tc]);
}

void rs_series_free(struct rs_series *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; r->classes && i < r->n_ports; i++)
		for (unsigned m = r->ports[i].classes; m; m &= m - 1)
			rs_hist_fini(&r->ports[i].of[__builtin_ctz(m)]->queued);
	for (uint32_t i = 0; i < r->n_blocks; i++)
		free(r->blocks[i]);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		rs_hist_fini(&r->latency[tc]);
	free(r->blocks);
	free(r->classes);
	free(r->ports);
	free(r->flows);
	free(r->inside);
	free(r->engines);
	free(r->spans);
	free(r->flow_speed);
	free(r->job_speed);
	free(r);
}
