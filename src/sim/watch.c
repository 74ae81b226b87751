/* Making what a run that is watched keeps, and what it follows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"
#include "sim/observe.h"
#include "sim/watch.h"

enum {
	FIRST_INTERVAL = 1000000, /* 1 us, where nothing is said */
	HOPS = 8,                 /* of a packet and its ACK, about */
	HOPS_A_BIN = 64,          /* of a port, at least */
	PATHS_MAX = 1 << 16,      /* flows whose way is looked up before the run */
};

/* ---- How long, how much ---- */

/*
 * To close a port's bin takes about as long as to pass on a packet: where a run has few packets for
 * its ports, it has fewer bins.
 */
static uint32_t bins_of(const struct rs_sim *s)
{
	uint32_t payload = s->f->transport.payload ? s->f->transport.payload : s->f->transport.mtu;
	uint64_t ports = 2 * (uint64_t)s->f->n_links, hops = 0;
	uint32_t bins = RS_SERIES_BINS;

	for (uint32_t i = 0; i < s->r->n_jobs; i++)
		hops += s->load[i].bytes / payload * HOPS;
	while (!s->o->observe.interval && bins > RS_SERIES_BINS_LEAST &&
	       ports * bins * HOPS_A_BIN > hops)
		bins /= 2;
	while (bins > RS_SERIES_BINS_LEAST && ports * bins > RS_SERIES_PORTS * RS_SERIES_BINS)
		bins /= 2;
	return bins;
}

/* Where nothing is said: half as many bins as there may be, if the run is as short as it can be;
 * and none that would be halved in a run as long as `links`. */
static rs_time interval_of(const struct rs_sim *s, uint32_t bins, rs_time links)
{
	rs_time interval = FIRST_INTERVAL, least = 0;

	if (s->o->observe.interval)
		return s->o->observe.interval;
	for (uint32_t i = 0; i < s->r->n_jobs; i++)
		least = rs_time_max(least, s->load[i].least);
	while (interval * bins / 2 < least || interval * bins < links)
		interval *= 2;
	return interval;
}

/* ---- Inside hosts ---- */

static int watch_links(struct rs_sim *s, struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	int links = rs_bus_links(n->host->bus);
	struct rs_bus_link_stat l;

	w->inside = rs_arena_alloc(s->arena, (size_t)links + 1, sizeof(*w->inside));
	if (!w->inside)
		return -ENOMEM;
	for (int i = 0; i < links; i++) {
		struct rs_series_inside *o = &w->inside[i].s;

		rs_bus_link_stat(n->host->bus, i, &l);
		snprintf(o->name, sizeof(o->name), "%.16s %.46s", s->f->hosts[n->host->index].name,
			 l.name);
		o->rate = l.rate;
		w->n_inside++;
	}
	return 0;
}

/* Parts that issue DMAs. */
static int watch_engines(struct rs_sim *s, struct sim_node *n)
{
	const struct rs_fabric_host *h = &s->f->hosts[n->host->index];
	struct sim_watch *w = n->watch;
	struct rs_bus_outstanding most;

	w->engine = rs_arena_alloc(s->arena, (size_t)h->inside->n_parts + 1, sizeof(*w->engine));
	if (!w->engine)
		return -ENOMEM;
	for (int i = 0; i < h->inside->n_parts; i++) {
		struct watched_engine *g = &w->engine[w->n_engines];

		rs_bus_outstanding(n->host->bus, i, 0, &most);
		if (!most.reads_max)
			continue;
		snprintf(g->s.name, sizeof(g->s.name), "%.30s %.30s", h->name,
			 h->inside->parts[i].name);
		g->part = i;
		g->s.reads_max = most.reads_max;
		g->s.read_bytes_max = most.read_bytes_max;
		g->s.credits_max = most.credits_max;
		w->n_engines++;
	}
	return 0;
}

/* ---- Connections ---- */

/* The ports that a packet of this connection leaves by. */
static void find_path(const struct rs_sim *s, const struct sim_conn_who *who,
		      struct rs_series_flow *f)
{
	const struct rs_fabric_host *h = &s->f->hosts[who->host];
	const struct sim_node *n = &s->nodes[who->host];
	struct rs_packet p = {.src = who->src,
			      .dst = who->dst,
			      .sport = who->sport,
			      .dest_qp = who->dst_qpn,
			      .number = who->way};
	uint32_t port = who->src - h->first_endpoint, ways;

	f->ways = 1;
	for (;;) {
		const struct sim_link *l = &n->out[port];
		int next;

		if (!l->rate || f->n_path == RS_SERIES_PATH) {
			f->n_path = 0;
			return;
		}
		f->path[f->n_path++] = n->watch->port[port].s->number;
		n = &s->nodes[l->to_node];
		if (n->host)
			return;
		next = rs_switch_way(n->sw, &p, &ways);
		if (next < 0) {
			f->n_path = 0;
			return;
		}
		f->ways *= ways;
		port = (uint32_t)next;
	}
}

/*
 * No run is shorter than what its fullest link needs for the flows that must pass it: bins are as
 * long from the start as they would become, and fewer are closed. Flows of more than one way are
 * left out.
 */
static int fullest_link(const struct rs_sim *s, rs_time *least)
{
	const struct rs_series *r = s->r->series;
	uint64_t *load = calloc(r->n_ports + 1u, sizeof(*load));
	struct sim_conn_who who;

	*least = 0;
	if (!load)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim_conns(s) && i < PATHS_MAX; i++) {
		struct rs_series_flow f = {.n_path = 0};

		if (!sim_conn_who(s, i, &who) || !who.flow || who.n_qps != 1)
			continue;
		find_path(s, &who, &f);
		for (uint32_t k = 0; f.ways == 1 && k < f.n_path; k++)
			load[f.path[k]] += s->r->flows[who.index].bytes;
	}
	for (uint32_t p = 0; p < r->n_ports; p++)
		if (load[p])
			*least = rs_time_max(
				*least, rs_pace_time_long(rs_pace_of(r->ports[p].rate), load[p]));
	free(load);
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
	w->n_flows++;
	find_path(s, who, &f->s);
	return sim_conn_follow(s, conn, number);
}

/* The n-th of `all` is one of the `most` that are spread evenly over them. */
static bool chosen(uint32_t n, uint32_t kept, uint32_t all, uint32_t most)
{
	return kept < most && (uint64_t)n * most >= (uint64_t)kept * all;
}

/* Room in each host for those of its connections that will be followed. */
static int make_room(struct rs_sim *s, uint32_t all, uint32_t most)
{
	uint32_t *of = calloc(s->n_hosts + 1u, sizeof(*of)), seen = 0, kept = 0;
	struct sim_conn_who who;
	int err = of ? 0 : -ENOMEM;

	for (uint32_t i = 0; of && i < sim_conns(s); i++) {
		if (!sim_conn_who(s, i, &who) || !chosen(seen++, kept, all, most))
			continue;
		of[who.host]++;
		kept++;
	}
	for (uint32_t i = 0; !err && i < s->n_hosts; i++) {
		struct sim_watch *w = s->nodes[i].watch;

		if (!of[i])
			continue;
		w->flow = rs_arena_alloc(s->arena, of[i], sizeof(*w->flow));
		w->of_flow = calloc((size_t)of[i] * w->bins, FLOW_COLUMNS * sizeof(*w->of_flow));
		err = w->flow && w->of_flow ? 0 : -ENOMEM;
	}
	free(of);
	return err;
}

/* Connections over the network. */
static int watch_flows(struct rs_sim *s)
{
	uint32_t all = 0, most = s->o->observe.flows ? s->o->observe.flows : RS_SERIES_FLOWS;
	uint32_t n = sim_conns(s), seen = 0, kept = 0;
	struct sim_conn_who who;
	int err;

	for (uint32_t i = 0; i < n; i++)
		all += sim_conn_who(s, i, &who);
	err = make_room(s, all, most);
	for (uint32_t i = 0; i < n && !err; i++)
		if (sim_conn_who(s, i, &who) && chosen(seen++, kept, all, most))
			err = watch_flow(s, i, kept++, &who);
	s->connections = all;
	return err;
}

/* ---- Ports ---- */

/* DSCPs that packets of this run may carry, and tcs, their classes at NICs; CNPs apart. */
static uint64_t dscps_of(const struct rs_sim *s, uint8_t *tcs)
{
	const struct rs_fabric *f = s->f;
	uint64_t dscps = 0;

	*tcs = 0;
	for (uint32_t i = 0; i < f->n_jobs; i++) {
		const struct rs_job *j = &f->jobs[i];

		for (uint32_t k = 0; j->kind == RS_JOB_FLOWS && k < j->n_flows; k++)
			*tcs |= (uint8_t)(1u << j->flows[k].tc);
		if (s->r->jobs[i].coll)
			*tcs |= (uint8_t)(1u << s->r->jobs[i].coll->conf.tc);
	}
	for (unsigned m = *tcs; m; m &= m - 1)
		dscps |= UINT64_C(1) << f->qos.tc[__builtin_ctz(m)].dscp;
	if (f->qos.ack_apart) {
		*tcs |= (uint8_t)(1u << f->qos.ack_tc);
		dscps |= UINT64_C(1) << f->qos.ack_dscp;
	}
	for (unsigned i = 0; i < f->qos.n_hop_tcs; i++)
		dscps |= UINT64_C(1) << f->qos.tc[f->qos.hop_tc[i]].dscp;
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (f->endpoints[i].mark)
			dscps |= UINT64_C(1) << (f->endpoints[i].mark - 1);
	return dscps;
}

static int make_records(const struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	size_t all = (size_t)w->bins * n->n_ports + 1;

	for (uint32_t b = 0; b < w->bins; b++)
		w->row[b] = (uint8_t)b;
	w->kept = malloc(all * w->width * sizeof(*w->kept));
	w->peak = n->sw ? malloc(all * sizeof(*w->peak)) : NULL;
	return w->kept && (w->peak || !n->sw) ? 0 : -ENOMEM;
}

/* Classes that a port may have figures of: of a NIC all, as it may be asked for any. */
static uint8_t told_of(const struct sim_node *n)
{
	return n->sw ? n->watch->classes | n->watch->pausable : UINT8_MAX;
}

static int make_classes(const struct rs_sim *s, const struct sim_node *n)
{
	struct sim_watch *w = n->watch;
	uint8_t slots = 0;

	for (unsigned m = told_of(n); m; m &= m - 1)
		w->slot[__builtin_ctz(m)] = slots++;
	w->class = sim_lines_alloc(s->arena, n->n_ports + 1u, slots * sizeof(*w->class));
	return w->class ? 0 : -ENOMEM;
}

/* dscps, tcs: dscps_of(). -ENOMEM. */
static int classes_of(const struct rs_sim *s, uint32_t node, uint64_t dscps, uint8_t tcs,
		      struct sim_watch *w)
{
	const struct rs_qos *q =
		node < s->n_hosts ? &s->f->qos : rs_fabric_qos(s->f, node - s->n_hosts);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		if (q->pfc && q->tc[tc].lossless)
			w->pausable |= (uint8_t)(1u << tc);
	w->cnp = node < s->n_hosts ? q->cnp_tc : q->tc_of_dscp[s->f->qos.cnp_dscp];
	for (; node >= s->n_hosts && dscps; dscps &= dscps - 1)
		w->busy |= (uint8_t)(1u << q->tc_of_dscp[__builtin_ctzll(dscps)]);
	if (node < s->n_hosts)
		w->busy = tcs;
	w->classes = w->busy | (uint8_t)(1u << w->cnp);
	w->main = w->busy ? (uint8_t)__builtin_ctz(w->busy) : 0;
	w->width =
		(uint8_t)(KEEP_CLASSES + 2 * __builtin_popcount(w->busy) + (w->busy != w->classes));
	return make_records(&s->nodes[node]) || make_classes(s, &s->nodes[node]) ? -ENOMEM : 0;
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

static void watch_port(struct rs_sim *s, uint32_t i, uint32_t p, uint32_t number)
{
	struct sim_node *n = &s->nodes[i];
	uint32_t endpoint = n->host ? s->f->hosts[i].first_endpoint + p : 0;
	struct rs_series_port *o = n->watch->port[p].s;

	sim_egress_name(s, i, p, o->name);
	o->number = number;
	o->rate = n->out[p].rate;
	o->nic = n->host != NULL;
	o->port = p;
	o->node = n->host ? endpoint : i - s->n_hosts;
	o->exact = n->sw && exact(s, s->f->switches[i - s->n_hosts].name);
	n->out[p].odd |= o->nic ? SIM_LINK_WATCHED : 0;
	n->out[p].odd |= o->exact ? SIM_LINK_EXACT : 0;
}

/* spare: what no port with a link is. */
static int watch_node(struct rs_sim *s, uint32_t i, uint32_t bins, struct rs_series_port *spare)
{
	struct rs_series *r = s->r->series;
	struct sim_node *n = &s->nodes[i];
	struct sim_watch *w = n->watch = rs_arena_alloc(s->arena, 1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->bins = bins;
	w->n_ports = n->n_ports;
	w->spans_most = RS_SERIES_SPANS_ALL / (s->n_hosts + 1);
	if (w->spans_most > RS_SERIES_SPANS)
		w->spans_most = RS_SERIES_SPANS;
	w->port = sim_lines_alloc(s->arena, n->n_ports + 1u, sizeof(*w->port));
	w->seldom = sim_lines_alloc(s->arena, n->n_ports + 1u, sizeof(*w->seldom));
	w->rest = sim_lines_alloc(s->arena, n->n_ports + 1u, sizeof(*w->rest));
	if (!w->port || !w->seldom || !w->rest)
		return -ENOMEM;
	for (uint32_t p = 0; p < n->n_ports; p++) {
		n->watch->port[p].s = n->out[p].rate ? &r->ports[r->n_ports] : spare;
		if (n->out[p].rate)
			watch_port(s, i, p, r->n_ports++);
	}
	if (!n->host || !n->host->bus)
		return 0;
	err = watch_links(s, n);
	return err ? err : watch_engines(s, n);
}

/* The other directions of links. */
static void find_backs(struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];

		for (uint32_t p = 0; p < n->n_ports; p++) {
			const struct sim_link *l = &n->out[p];

			if (l->rate)
				n->watch->port[p].s->back =
					s->nodes[l->to_node].watch->port[l->to_port].s->number;
		}
	}
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

/* The result's series, with room for its ports; the one behind them. NULL: no memory. */
static struct rs_series_port *make_series(struct rs_sim *s)
{
	struct rs_series *r = s->r->series = calloc(1, sizeof(*r));
	size_t ports = 1;

	for (uint32_t i = 0; i < s->n_nodes; i++)
		ports += s->nodes[i].n_ports;
	if (!r)
		return NULL;
	r->ports = calloc(ports, sizeof(*r->ports));
	return r->ports ? &r->ports[ports - 1] : NULL;
}

/* Which classes' figures a port may have; after classes_of(). */
static void name_classes(const struct sim_node *n)
{
	struct sim_watch *w = n->watch;

	for (uint32_t p = 0; p < n->n_ports; p++) {
		w->port[p].s->classes = told_of(n);
		n->out[p].main_tc = w->main;
		n->out[p].cnp_tc = w->busy == w->classes ? UINT8_MAX : w->cnp;
	}
}

/* Their memory, class by class; one that nobody writes to stands for all others. */
static int place_classes(struct rs_series *r, struct rs_series_port *spare)
{
	struct rs_series_class *next;
	size_t n = 1;

	spare->classes = UINT8_MAX;
	for (const struct rs_series_port *p = r->ports; p <= spare; p++)
		n += (size_t)__builtin_popcount(p->classes);
	r->classes = next = calloc(n, sizeof(*next));
	if (!next)
		return -ENOMEM;
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		for (struct rs_series_port *p = r->ports; p <= spare; p++)
			p->of[tc] = p->classes >> tc & 1 ? next++ : &r->classes[n - 1];
	return 0;
}

/* When bins end. */
static int make_ends(struct rs_sim *s, rs_time interval)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		s->nodes[i].watch->interval = interval;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		struct sim_part *p = &s->parts[i];

		p->bin_end = interval;
		p->bin_ends = sim_lines_alloc(s->arena, p->n_nodes + 1u, sizeof(*p->bin_ends));
		if (!p->bin_ends)
			return -ENOMEM;
		for (uint32_t k = 0; k <= p->n_nodes; k++)
			p->bin_ends[k] = interval;
	}
	return 0;
}

int sim_watch_create(struct rs_sim *s, struct rs_error *e)
{
	struct rs_series_port *spare;
	uint32_t bins;
	rs_time links = 0;
	uint64_t dscps;
	uint8_t tcs;
	int err = 0;

	if (!s->o->observe.on)
		return 0;
	err = check_exact(s, e);
	if (err)
		return err;
	spare = make_series(s);
	if (!spare || sim_loads(s))
		return rs_error_set(e, -ENOMEM, "no memory to watch the run");
	bins = bins_of(s);
	dscps = dscps_of(s, &tcs);
	s->untimed = exact(s, "all") ? 0 : RS_SERIES_TIMED - 1;
	s->timed = sim_lines_alloc(s->arena, s->n_parts + 1u, sizeof(*s->timed));
	err = s->timed ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->n_nodes && !err; i++)
		err = watch_node(s, i, bins, spare);
	for (uint32_t i = 0; i < s->n_nodes && !err; i++) {
		err = classes_of(s, i, dscps, tcs, s->nodes[i].watch);
		name_classes(&s->nodes[i]);
	}
	err = err ? err : place_classes(s->r->series, spare);
	if (!err)
		find_backs(s);
	err = err ? err : fullest_link(s, &links);
	err = err ? err : make_ends(s, interval_of(s, bins, links));
	err = err ? err : watch_flows(s);
	return err ? rs_error_set(e, err, "no memory to watch the run") : 0;
}
