/*
 * Watching a run. Each node closes its own bins, between two of its events, so that windows are as
 * they are without, and results too. What packets show is taken where links that are not plain take
 * them: a run that is not watched pays nothing.
 */
#include "sim/observe.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"

enum { FIRST_INTERVAL = 1000000 }; /* 1 us, where nothing is said */

/* A port in the bin that is open. */
struct watched_port {
	struct rs_series_port s;
	/* until the bin began */
	uint64_t carried, marks, drops, pauses;
	uint8_t paused; /* classes when it began */
	rs_time held[RS_CLASSES];
	uint64_t bytes[RS_CLASSES]; /* in it; where each packet is kept, and NICs */
	uint64_t most;              /* waiting in a queue, of all bins that are closed */
};

struct watched_flow {
	struct rs_series_flow s;
	uint32_t conn;
	uint64_t resent; /* until the bin began */
};

struct sim_watch {
	rs_time next, interval; /* the open bin's end; a bin's length */
	uint32_t bin, bins;     /* the open one; how many there may be */
	struct watched_port *port;
	struct watched_flow *flow;
	uint32_t n_flows;
	struct rs_series_inside *inside;
	uint64_t *moved; /* [inside]: bytes until the bin began */
	uint32_t n_inside;
	struct rs_hist latency[RS_CLASSES];
	struct rs_series_span *span;
	uint32_t n_spans, spans_size;
	uint32_t closed;           /* bins, before two of them became one */
	bool held;                 /* a port was paused when the bin began */
	uint8_t classes, pausable; /* that packets may be of; that can be held */
	bool spans_cut, no_memory, collected;
};

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

static uint64_t queue_of(const struct sim_node *n, uint32_t port, unsigned tc)
{
	if (n->sw)
		return rs_switch_queue_bytes(n->sw, port, tc);
	return n->host->nics[port].egress ? n->host->nics[port].egress->class[tc].bytes : 0;
}

static bool timed(const struct rs_packet *p)
{
	return p->payload_bytes && !(p->psn % RS_SERIES_TIMED);
}

void sim_watch_sent(struct rs_sim *s, struct sim_node *n, uint32_t port, const struct rs_packet *p,
		    rs_time now)
{
	struct watched_port *o = &n->watch->port[port];
	unsigned tc = p->tc & (RS_CLASSES - 1);

	if (p->kind == RS_KIND_PFC || (n->sw && !o->s.exact))
		return;
	o->bytes[tc] += (uint32_t)p->frame_bytes + n->out[port].gap;
	if (n->sw)
		rs_hist_add(&o->s.of[tc].queued, queue_of(n, port, tc));
	else if (timed(p))
		s->sent[rs_pool_index(&s->pool, p)] = now;
}

void sim_watch_arrived(struct rs_sim *s, struct sim_node *n, const struct rs_packet *p, rs_time now)
{
	if (timed(p))
		rs_hist_add(&n->watch->latency[p->tc & (RS_CLASSES - 1)],
			    (uint64_t)(now - s->sent[rs_pool_index(&s->pool, p)]));
}

uint64_t sim_watch_peak(const struct sim_node *n, uint32_t port)
{
	return n->watch ? n->watch->port[port].most : 0;
}

void sim_watch_span(struct sim_node *n, const struct rs_series_span *span)
{
	struct sim_watch *w = n->watch;

	if (w->n_spans == w->spans_size) {
		uint32_t size = w->spans_size ? 2 * w->spans_size : 64;
		struct rs_series_span *more =
			size <= RS_SERIES_SPANS ? realloc(w->span, size * sizeof(*more)) : NULL;

		if (!more) {
			w->spans_cut = true;
			return;
		}
		w->span = more;
		w->spans_size = size;
	}
	w->span[w->n_spans++] = *span;
}

/* ---- Bins ---- */

/* Two bins become one: sums, greatest values, or what was at the end. */
enum pairing { SUM, MOST, LATTER };

static void halve_row(uint64_t *v, uint32_t bins, enum pairing how)
{
	for (uint32_t i = 0; v && i < bins / 2; i++) {
		uint64_t a = v[2 * i], b = v[2 * i + 1];

		v[i] = how == SUM ? a + b : how == MOST ? (a > b ? a : b) : b;
	}
	if (v)
		memset(v + bins / 2, 0, (bins - bins / 2) * sizeof(*v));
}

static void halve_port(struct rs_series_port *p, uint32_t bins)
{
	halve_row(p->carried, bins, SUM);
	halve_row(p->peak, bins, MOST);
	halve_row(p->marks, bins, SUM);
	halve_row(p->drops, bins, SUM);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		halve_row(p->of[tc].bytes, bins, SUM);
		halve_row(p->of[tc].queue, bins, LATTER);
		halve_row((uint64_t *)p->of[tc].held, bins, SUM);
	}
}

static void halve(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	for (uint32_t p = 0; p < n->n_ports; p++)
		halve_port(&w->port[p].s, w->bins);
	for (uint32_t i = 0; i < w->n_flows; i++) {
		halve_row((uint64_t *)w->flow[i].s.rate, w->bins, LATTER);
		halve_row(w->flow[i].s.window, w->bins, LATTER);
		halve_row(w->flow[i].s.in_flight, w->bins, LATTER);
		halve_row(w->flow[i].s.resent, w->bins, SUM);
	}
	for (uint32_t i = 0; i < w->n_inside; i++)
		halve_row(w->inside[i].bytes, w->bins, SUM);
	w->bin = w->bins / 2;
	w->interval *= 2;
}

/* What a counter grew by. */
static uint64_t grown(uint64_t *before, uint64_t now)
{
	uint64_t by = now - *before;

	*before = now;
	return by;
}

static rs_time held(const struct sim_node *n, uint32_t port, unsigned tc, rs_time now)
{
	return n->sw ? rs_switch_held(n->sw, port, tc, now)
		     : sim_nic_held(&n->host->nics[port], tc, now);
}

static void close_class(struct sim_node *n, uint32_t port, unsigned tc, rs_time at)
{
	struct sim_watch *w = n->watch;
	struct watched_port *o = &w->port[port];
	struct rs_series_class *c = &o->s.of[tc];
	uint64_t queue = queue_of(n, port, tc);

	if (w->pausable >> tc & 1)
		note(w, (uint64_t **)&c->held,
		     grown((uint64_t *)&o->held[tc], (uint64_t)held(n, port, tc, at)));
	note(w, &c->queue, queue);
	note(w, &c->bytes, o->bytes[tc]);
	o->bytes[tc] = 0;
	if (queue && n->sw && !o->s.exact)
		rs_hist_add(&c->queued, queue);
}

static void close_switch_port(struct sim_node *n, uint32_t port)
{
	struct sim_watch *w = n->watch;
	struct watched_port *o = &w->port[port];
	const struct rs_switch_port_counters *c = rs_switch_port_counters(n->sw, port);
	uint64_t peak = rs_switch_take_max_queue(n->sw, port);

	note(w, &o->s.peak, peak);
	note(w, &o->s.marks, grown(&o->marks, c->ecn_marked));
	note(w, &o->s.drops, grown(&o->drops, c->drops));
	if (peak > o->most)
		o->most = peak;
}

/* Classes of which there may be something to say: those with packets, and where a pause was, those
 * that can be paused. */
static unsigned worth(const struct sim_node *n, uint32_t port)
{
	struct sim_watch *w = n->watch;
	struct watched_port *o = &w->port[port];
	unsigned held;

	if (!n->sw || o->s.exact)
		return w->classes;
	held = grown(&o->pauses, rs_switch_port_counters(n->sw, port)->rx_pauses) || o->paused;
	o->paused = rs_switch_paused(n->sw, port);
	return rs_switch_filled(n->sw, port) | (held || o->paused ? w->pausable : 0u);
}

static void close_port(struct sim_node *n, uint32_t port, rs_time at)
{
	struct sim_watch *w = n->watch;
	struct watched_port *o = &w->port[port];

	note(w, &o->s.carried, grown(&o->carried, n->out[port].bytes));
	for (unsigned m = worth(n, port); m; m &= m - 1)
		close_class(n, port, (unsigned)__builtin_ctz(m), at);
	if (n->sw)
		close_switch_port(n, port);
}

static void close_flow(struct rs_sim *s, struct sim_watch *w, struct watched_flow *f)
{
	struct rs_sim_end_now now;

	if (!sim_conn_look(s, f->conn, &now))
		return;
	f->s.rate[w->bin] = now.rate;
	f->s.window[w->bin] = now.window;
	f->s.in_flight[w->bin] = now.in_flight;
	f->s.resent[w->bin] += grown(&f->resent, now.resent);
}

static void close_inside(struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	struct rs_bus_link_stat l;

	for (uint32_t i = 0; i < w->n_inside; i++) {
		rs_bus_link_stat(n->host->bus, (int)i, &l);
		w->inside[i].bytes[w->bin] = grown(&w->moved[i], l.bytes);
	}
}

/* The open bin ends at `at`. */
static void close_bin(struct rs_sim *s, struct sim_node *n, rs_time at)
{
	struct sim_watch *w = n->watch;

	for (uint32_t p = 0; p < n->n_ports; p++)
		close_port(n, p, at);
	w->closed++;
	for (uint32_t i = 0; i < w->n_flows; i++)
		close_flow(s, w, &w->flow[i]);
	close_inside(n);
}

static void next_bin(struct sim_node *n)
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
		close_bin(s, n, n->watch->next);
		next_bin(n);
	}
	return events + sim_node_run(s, n, end);
}

/* ---- Before and after ---- */

static uint32_t bins_of(const struct rs_sim *s)
{
	uint32_t bins = RS_SERIES_BINS;
	uint64_t ports = 2 * (uint64_t)s->f->n_links;

	for (; bins > RS_SERIES_BINS_LEAST && ports > RS_SERIES_PORTS; ports /= 2)
		bins /= 2;
	return bins;
}

/* A time that the run will hardly be shorter than: what a job's NICs need for its bytes. */
static rs_time least_time(const struct rs_sim *s)
{
	double bytes = 0, rate = 0, least = 0;

	for (uint32_t i = 0; i < s->f->n_endpoints; i++)
		rate += (double)s->f->endpoints[i].rate;
	for (uint32_t i = 0; i < s->f->n_jobs; i++) {
		const struct rs_job *j = &s->f->jobs[i];

		for (uint32_t k = 0; j->kind == RS_JOB_FLOWS && k < j->n_flows; k++)
			bytes += (double)j->flows[k].bytes;
		if (j->kind == RS_JOB_COLLECTIVE)
			bytes = (double)j->collective.bytes * s->f->n_gpus * j->collective.repeat;
		if (rate > 0 && bytes * 8 / rate > least)
			least = bytes * 8 / rate;
		bytes = 0;
	}
	return least < 3600 ? (rs_time)(least * RS_S) : 3600 * RS_S;
}

/* Where nothing is said: half as many bins as there may be, if the run is as short as it can be. */
static rs_time interval_of(const struct rs_sim *s, uint32_t bins)
{
	rs_time interval = FIRST_INTERVAL;

	if (s->o->observe.interval)
		return s->o->observe.interval;
	while (interval * bins / 2 < least_time(s))
		interval *= 2;
	return interval;
}

static int watch_inside(struct rs_sim *s, struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	struct rs_bus_link_stat l;
	int links = n->host && n->host->bus ? rs_bus_links(n->host->bus) : 0;

	w->inside = rs_arena_alloc(s->arena, (size_t)links + 1, sizeof(*w->inside));
	w->moved = rs_arena_alloc(s->arena, (size_t)links + 1, sizeof(*w->moved));
	if (!w->inside || !w->moved)
		return -ENOMEM;
	for (int i = 0; i < links; i++) {
		struct rs_series_inside *o = &w->inside[i];

		rs_bus_link_stat(n->host->bus, i, &l);
		snprintf(o->name, sizeof(o->name), "%.16s %.46s", s->f->hosts[n->host->index].name,
			 l.name);
		o->rate = l.rate;
		o->bytes = calloc(w->bins, sizeof(*o->bytes));
		w->n_inside++;
		if (!o->bytes)
			return -ENOMEM;
	}
	return 0;
}

static int watch_flow(struct rs_sim *s, uint32_t conn, uint32_t number,
		      const struct sim_conn_who *who)
{
	struct sim_watch *w = s->nodes[who->host].watch;
	struct watched_flow *f = &w->flow[w->n_flows];

	f->conn = conn;
	f->s = (struct rs_series_flow){.number = number,
				       .job = who->job,
				       .index = who->index,
				       .src = who->src,
				       .dst = who->dst,
				       .flow = who->flow,
				       .sport = who->sport};
	f->s.rate = calloc(w->bins, sizeof(*f->s.rate));
	f->s.window = calloc(w->bins, sizeof(*f->s.window));
	f->s.in_flight = calloc(w->bins, sizeof(*f->s.in_flight));
	f->s.resent = calloc(w->bins, sizeof(*f->s.resent));
	w->n_flows++;
	if (!f->s.rate || !f->s.window || !f->s.in_flight || !f->s.resent)
		return -ENOMEM;
	return sim_conn_follow(s, conn, number);
}

/* Connections over the network, spread evenly over all that there are. */
static int watch_flows(struct rs_sim *s)
{
	uint32_t all = 0, most = s->o->observe.flows ? s->o->observe.flows : RS_SERIES_FLOWS;
	uint32_t n = sim_conns(s), seen = 0, kept = 0;
	struct sim_conn_who who;
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		all += sim_conn_who(s, i, &who);
	for (uint32_t i = 0; i < s->n_hosts; i++) {
		struct sim_watch *w = s->nodes[i].watch;

		w->flow =
			rs_arena_alloc(s->arena, (all < most ? all : most) + 1u, sizeof(*w->flow));
		if (!w->flow)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < n && !err; i++) {
		if (!sim_conn_who(s, i, &who))
			continue;
		if ((uint64_t)seen++ * most < (uint64_t)kept * all || kept == most)
			continue;
		err = watch_flow(s, i, kept++, &who);
	}
	s->connections = all;
	return err;
}

static void classes_of(const struct rs_sim *s, uint32_t node, struct sim_watch *w)
{
	const struct rs_qos *q =
		node < s->n_hosts ? &s->f->qos : rs_fabric_qos(s->f, node - s->n_hosts);

	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		if (q->pfc && q->tc[tc].lossless)
			w->pausable |= (uint8_t)(1u << tc);
	for (unsigned d = 0; d < 64; d++)
		w->classes |= (uint8_t)(1u << q->tc_of_dscp[d]);
}

/* Is each packet of this place kept? */
static bool exact(const struct rs_sim *s, const char *name)
{
	const struct rs_observe *o = &s->o->observe;

	for (uint32_t i = 0; i < o->n_exact; i++)
		if (!strcmp(o->exact[i], "all") || !strcmp(o->exact[i], name))
			return true;
	return false;
}

static void watch_port(struct rs_sim *s, uint32_t i, uint32_t p)
{
	struct sim_node *n = &s->nodes[i];
	uint32_t endpoint = n->host ? s->f->hosts[i].first_endpoint + p : 0;
	struct rs_series_port *o = &n->watch->port[p].s;

	sim_egress_name(s, i, p, o->name);
	o->rate = n->out[p].rate;
	o->nic = n->host != NULL;
	o->port = p;
	o->node = n->host ? endpoint : i - s->n_hosts;
	o->exact = n->sw && exact(s, s->f->switches[i - s->n_hosts].name);
	if (o->nic || o->exact)
		n->out[p].plain = false;
}

static int watch_node(struct rs_sim *s, uint32_t i, uint32_t bins, rs_time interval)
{
	struct sim_node *n = &s->nodes[i];
	struct sim_watch *w = n->watch = rs_arena_alloc(s->arena, 1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->bins = bins;
	w->next = w->interval = interval;
	w->port = rs_arena_alloc(s->arena, n->n_ports + 1u, sizeof(*w->port));
	if (!w->port)
		return -ENOMEM;
	classes_of(s, i, w);
	for (uint32_t p = 0; p < n->n_ports; p++)
		if (n->out[p].rate)
			watch_port(s, i, p);
	return watch_inside(s, n);
}

/* Names that nothing has are an error. */
static int check_exact(const struct rs_sim *s, struct rs_error *e)
{
	const struct rs_observe *o = &s->o->observe;

	for (uint32_t i = 0; i < o->n_exact; i++) {
		bool found = !strcmp(o->exact[i], "all");

		for (uint32_t k = 0; k < s->f->n_switches && !found; k++)
			found = !strcmp(o->exact[i], s->f->switches[k].name);
		if (found || s->o->ideal.network)
			continue;
		rs_error_set(e, -EINVAL, "observe: no switch is called '%s'", o->exact[i]);
		rs_error_hint(e, "names are those of `ripstop fabric show`, or all");
		return -EINVAL;
	}
	return 0;
}

int sim_watch_create(struct rs_sim *s, struct rs_error *e)
{
	uint32_t bins = bins_of(s);
	rs_time interval = interval_of(s, bins);
	int err = 0;

	if (!s->o->observe.on)
		return 0;
	err = check_exact(s, e);
	if (err)
		return err;
	s->sent = rs_pool_beside(&s->pool, sizeof(*s->sent));
	err = s->sent ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->n_nodes && !err; i++)
		err = watch_node(s, i, bins, interval);
	err = err ? err : watch_flows(s);
	return err ? rs_error_set(e, err, "no memory to watch the run") : 0;
}

static int node_memory(const struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].watch->no_memory)
			return -ENOMEM;
	return 0;
}

static struct rs_series_port whole(const struct sim_watch *w, const struct rs_series_port *p,
				   const struct sim_link *l)
{
	struct rs_series_port o = *p;

	o.data_packets = l->data_hops;
	o.bytes = l->bytes;
	for (unsigned m = w->classes; m; m &= m - 1) {
		struct rs_series_class *c = &o.of[__builtin_ctz(m)];

		if (c->bytes || c->queue || c->held || c->queued.n)
			o.classes |= (uint8_t)(m & -m);
		if (c->queued.n && !p->exact)
			rs_hist_add_many(&c->queued, 0, w->closed - c->queued.n);
	}
	return o;
}

/* A node's last bin ends with the run; what it had becomes the result's. */
static void collect_node(struct rs_sim *s, struct sim_node *n, struct rs_series *r)
{
	struct sim_watch *w = n->watch;

	while (w->next < sim_end(s)) {
		close_bin(s, n, w->next);
		next_bin(n);
	}
	close_bin(s, n, sim_end(s));
	for (uint32_t p = 0; p < n->n_ports; p++)
		if (n->out[p].rate)
			r->ports[r->n_ports++] = whole(w, &w->port[p].s, &n->out[p]);
	for (uint32_t i = 0; i < w->n_flows; i++)
		r->flows[r->n_flows++] = w->flow[i].s;
	for (uint32_t i = 0; i < w->n_inside; i++)
		r->inside[r->n_inside++] = w->inside[i];
	for (uint32_t i = 0; i < w->n_spans; i++)
		r->spans[r->n_spans++] = w->span[i];
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		rs_hist_merge(&r->latency[tc], &w->latency[tc]);
	r->spans_cut |= w->spans_cut;
	r->interval = w->interval;
	r->bins = w->bin + 1;
	w->collected = true;
}

static void *room(uint64_t n, size_t size)
{
	return calloc(n + 1, size);
}

int sim_watch_collect(struct rs_sim *s)
{
	uint64_t ports = 0, flows = 0, inside = 0, spans = 0;
	struct rs_series *r;

	if (!s->o->observe.on)
		return 0;
	if (node_memory(s) || !(r = s->r->series = room(0, sizeof(*r))))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		const struct sim_watch *w = s->nodes[i].watch;

		ports += s->nodes[i].n_ports;
		flows += w->n_flows;
		inside += w->n_inside;
		spans += w->n_spans;
	}
	r->ports = room(ports, sizeof(*r->ports));
	r->flows = room(flows, sizeof(*r->flows));
	r->inside = room(inside, sizeof(*r->inside));
	r->spans = room(spans, sizeof(*r->spans));
	if (!r->ports || !r->flows || !r->inside || !r->spans)
		return -ENOMEM;
	r->connections = s->connections;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		collect_node(s, &s->nodes[i], r);
	return 0;
}

static void free_port(struct rs_series_port *p)
{
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		free(p->of[tc].bytes);
		free(p->of[tc].queue);
		free(p->of[tc].held);
		rs_hist_fini(&p->of[tc].queued);
	}
	free(p->carried);
	free(p->peak);
	free(p->marks);
	free(p->drops);
}

static void free_flow(struct rs_series_flow *f)
{
	free(f->rate);
	free(f->window);
	free(f->in_flight);
	free(f->resent);
}

static void destroy_node(struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	for (uint32_t p = 0; w->port && p < n->n_ports && !w->collected; p++)
		free_port(&w->port[p].s);
	for (uint32_t i = 0; i < w->n_flows && !w->collected; i++)
		free_flow(&w->flow[i].s);
	for (uint32_t i = 0; i < w->n_inside && !w->collected; i++)
		free(w->inside[i].bytes);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		rs_hist_fini(&w->latency[tc]);
	free(w->span);
}

void sim_watch_destroy(struct rs_sim *s)
{
	for (uint32_t i = 0; s->nodes && i < s->n_nodes; i++)
		if (s->nodes[i].watch)
			destroy_node(&s->nodes[i]);
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
		free(r->inside[i].bytes);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		rs_hist_fini(&r->latency[tc]);
	free(r->ports);
	free(r->flows);
	free(r->inside);
	free(r->spans);
	free(r);
}
