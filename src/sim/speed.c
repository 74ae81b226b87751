/*
 * How fast flows and jobs were, beside what an empty network allows: closed forms. A flow's packets
 * go through a row of stages, as through links that nothing else uses; a few of them are followed,
 * the ones between take what the slowest stage takes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/observe.h"
#include "sim/watch.h"
#include "sim/work.h"
#include "wire/telemetry.h"

enum {
	STAGES = RS_SERIES_PATH + 2,
	FOLLOWED = 16,
	TURNS = 4,
	MESSAGE = 1 << 30,
	WAYS = 32, /* links or switches at one distance that are followed: with more the time is
		      less */
};

/* A link, or the DMAs of a NIC. */
struct stage {
	struct rs_pace pace;
	struct rs_pace limit; /* of a queue pair: two packets begin no closer than it allows */
	uint16_t gap;
	bool dma, whole_ns;
	uint32_t ways, turn;   /* equal links that packets are dealt over; whose turn it is */
	int64_t rate;          /* of pace */
	rs_time delay, header; /* as in struct sim_link */
	rs_time free[WAYS];    /* of each, while packets are followed */
};

struct row {
	struct stage at[STAGES];
	unsigned n;
};

struct sizes {
	const struct rs_framing *framing;
	bool ipv6;
	uint16_t stamps;
	uint8_t op;             /* enum rs_flow_op, of which READs' packets are the answers */
	uint32_t payload, full; /* of a packet, at most; the frame that has so much */
	uint16_t ack;
};

static uint32_t frame_bytes(const struct sizes *z, uint8_t opcode, uint32_t payload)
{
	return rs_framing_data(z->framing, opcode, payload, z->ipv6, z->stamps);
}

static struct sizes sizes_of(const struct rs_sim *s)
{
	const struct rs_transport_conf *t = &s->f->transport;
	struct sizes z = {
		.framing = &rs_framings[t->framing],
		.ipv6 = t->ipv6,
		.stamps = s->plant->stamps ? RS_INT_BYTES : 0,
		.payload = t->payload ? t->payload : t->mtu,
	};

	z.full = frame_bytes(&z, RS_OP_WRITE_MIDDLE, z.payload);
	z.ack = rs_framing_ack(z.framing, z.ipv6, z.stamps);
	return z;
}

/* ---- The way ---- */

static void add_dma(struct row *w, int64_t rate, rs_time delay)
{
	if (w->n < STAGES)
		w->at[w->n++] = (struct stage){.pace = rs_pace_of(rate),
					       .rate = rate,
					       .dma = true,
					       .ways = 1,
					       .delay = delay};
}

/* Do a flow's packets take several paths from here on: by the switch's choice, or by their ports?
 */
static bool is_dealt(const struct rs_sim *s, uint32_t ways)
{
	const struct rs_transport_conf *t = &s->f->transport;

	return ways > 1 || (t->balance && t->paths > 1 && !s->pins);
}

/* The switches of the next step, each once; the links that lead there, WAYS at most. */
static uint32_t step(const struct rs_sim *s, uint32_t group, uint32_t *at, uint32_t *n_at)
{
	const struct rs_routes *r = &s->f->routes;
	uint32_t next[WAYS], n = 0, links = 0;

	for (uint32_t i = 0; i < *n_at; i++) {
		uint32_t set = r->set_of[at[i]][group];

		for (uint32_t k = 0; k < (set & 0xff); k++) {
			const struct sim_node *node = &s->nodes[s->n_hosts + at[i]];
			uint32_t to = node->out[r->ports[at[i]][(set >> 8) + k]].to_node, seen = 0;

			links++;
			to -= s->n_hosts;
			while (seen < n && next[seen] != to)
				seen++;
			if (seen == n && n < WAYS)
				next[n++] = to;
		}
	}
	memcpy(at, next, n * sizeof(*at));
	*n_at = n;
	return links < WAYS ? links : WAYS;
}

/* The links from an endpoint's NIC to another's; false: there is no way. */
static bool add_links(const struct rs_sim *s, struct row *w, struct rs_packet p)
{
	uint32_t host = s->f->endpoints[p.src].host, ways = 1;
	const struct sim_node *n = &s->nodes[host];
	int port = (int)(p.src - s->f->hosts[host].first_endpoint);
	uint32_t at[WAYS], n_at = 0, group = s->f->routes.group_of[p.dst];

	for (;;) {
		const struct sim_link *l = &n->out[port];

		if (!l->rate || w->n == STAGES)
			return false;
		w->at[w->n++] = (struct stage){.pace = rs_pace_of(l->rate),
					       .rate = l->rate,
					       .gap = l->gap,
					       .whole_ns = l->whole_ns,
					       .ways = ways,
					       .delay = l->delay,
					       .header = l->header};
		n = &s->nodes[l->to_node];
		if (n->host)
			return true;
		port = rs_switch_way(n->sw, &p, &ways);
		if (port < 0)
			return false;
		if (!n_at && is_dealt(s, ways))
			at[n_at++] = (uint32_t)(n - s->nodes) - s->n_hosts;
		/* behind where they part they take as many links as lead on, until they meet */
		if (n_at)
			ways = step(s, group, at, &n_at);
		ways = ways ? ways : 1;
	}
}

/* A single short message of host memory comes with the doorbell: as sim/stage.c has it. */
static bool inlined(const struct rs_sim *s, const struct sim_conn *c, const struct sim_nic *k,
		    uint64_t bytes)
{
	const struct rs_part *parts = s->f->hosts[c->src_host].inside->parts;
	const struct rs_flow *f = flow_of(s, c);

	return c->op != RS_FLOW_READ &&
	       bytes <= (f->inline_given ? f->inline_bytes : k->inline_bytes) &&
	       parts[c->dma->from.target].kind == RS_PART_SOCKET;
}

static bool make_row(struct rs_sim *s, uint32_t conn, uint64_t bytes, uint32_t payload,
		     struct row *w)
{
	const struct sim_conn *c = &s->work->conns[conn];
	bool reads = c->op == RS_FLOW_READ;
	const struct sim_nic *from = sim_nic_of(s, sim_bytes_from(c));
	const struct sim_nic *to = sim_nic_of(s, sim_bytes_to(c));
	const struct rs_bus *bus = from->node->host->bus;
	rs_time pipeline = s->f->host_params.nic_pipeline;
	uint32_t n = bytes < payload ? (uint32_t)bytes : payload;
	struct rs_packet p = {.src = sim_bytes_from(c),
			      .dst = sim_bytes_to(c),
			      .dest_qp = reads ? c->src_qpn : c->dst_qpn,
			      .sport = sim_source_port(s, conn, 0),
			      .number = sim_way(s, conn, 0, sim_bytes_to(c), false)};
	struct rs_nic_config limits;
	unsigned nic;

	w->n = 0;
	if (from->inside && !inlined(s, c, from, bytes)) {
		const struct rs_path *d = reads ? &c->dma->to : &c->dma->from;

		add_dma(w, rs_path_read_rate(bus, d, n),
			d->fixed + d->read_access + d->fixed_back + pipeline);
	} else if (from->inside) {
		add_dma(w, 0, pipeline);
	}
	nic = w->n;
	if (!add_links(s, w, p))
		return false;
	rs_plant_nic(s->plant, sim_bytes_from(c), &limits);
	w->at[nic].limit = rs_pace_of(limits.qp_rate);
	if (to->inside) {
		w->at[w->n - 1].delay += pipeline;
		add_dma(w,
			rs_path_write_rate(to->node->host->bus, reads ? &c->dma->from : &c->dma->to,
					   n),
			0);
	}
	return true;
}

/* ---- Packets on it ---- */

static rs_time serial(const struct stage *t, uint32_t frame, uint32_t payload)
{
	return t->dma ? rs_pace_time(t->pace, payload)
		      : rs_framing_time(t->pace, frame + t->gap, t->whole_ns);
}

/* Between the beginnings of two packets on one link. */
static rs_time on_one(const struct stage *t, uint32_t frame, uint32_t payload)
{
	rs_time all = serial(t, frame, payload);

	return t->dma ? all : rs_time_max(all, rs_pace_time(t->limit, frame + t->gap));
}

/* Between the beginnings of two packets. */
static rs_time apart(const struct stage *t, uint32_t frame, uint32_t payload)
{
	rs_time all = serial(t, frame, payload) / t->ways;

	return t->dma ? all : rs_time_max(all, rs_pace_time(t->limit, frame + t->gap));
}

/* When a packet that is ready at `at` is at the end. */
static rs_time pass(struct row *w, uint32_t frame, uint32_t payload, rs_time at)
{
	for (unsigned i = 0; i < w->n; i++) {
		struct stage *t = &w->at[i];
		rs_time *free = &t->free[t->turn], whole = serial(t, frame, payload);
		rs_time begin = rs_time_max(at, *free);

		*free = begin + on_one(t, frame, payload);
		t->turn = t->turn + 1 < t->ways ? t->turn + 1 : 0;
		at = begin + t->delay + whole;
		/* cut-through: a link that is no faster begins with the header */
		if (t->header && t->header < whole && i + 1 < w->n && !w->at[i + 1].dma &&
		    w->at[i + 1].rate <= t->rate)
			at = begin + t->delay + t->header;
	}
	return at;
}

/* Bytes of frame number i of n. */
static uint32_t frame_of(const struct sizes *z, uint64_t i, uint64_t n, uint64_t bytes,
			 uint32_t *payload)
{
	uint64_t each = (MESSAGE + z->payload - 1) / z->payload;
	/* first, middle, last, only */
	static const uint8_t opcodes[][4] = {
		[RS_FLOW_WRITE] = {RS_OP_WRITE_FIRST, RS_OP_WRITE_MIDDLE, RS_OP_WRITE_LAST,
				   RS_OP_WRITE_ONLY},
		[RS_FLOW_SEND] = {RS_OP_SEND_FIRST, RS_OP_SEND_MIDDLE, RS_OP_SEND_LAST,
				  RS_OP_SEND_ONLY},
		[RS_FLOW_READ] = {RS_OP_READ_RESPONSE_FIRST, RS_OP_READ_RESPONSE_MIDDLE,
				  RS_OP_READ_RESPONSE_LAST, RS_OP_READ_RESPONSE_ONLY},
	};
	bool first = i % each == 0, last = i + 1 == n || i % each + 1 == each;
	uint64_t message = i / each * MESSAGE, off = i % each * z->payload;
	uint64_t left = (bytes - message < MESSAGE ? bytes - message : MESSAGE) - off;

	*payload = left < z->payload ? (uint32_t)left : z->payload;
	return frame_bytes(z,
			   opcodes[z->op][first && last ? 3
					  : first       ? 0
					  : last        ? 2
							: 1],
			   *payload);
}

static rs_time slowest(const struct row *w, const struct sizes *z)
{
	rs_time most = 0;

	for (unsigned i = 0; i < w->n; i++)
		most = rs_time_max(most, apart(&w->at[i], z->full, z->payload));
	return most;
}

/* As if links had been taken for so much longer. */
static void put_off(struct row *w, rs_time by)
{
	for (unsigned i = 0; i < w->n; i++)
		for (uint32_t k = 0; k < w->at[i].ways; k++)
			w->at[i].free[k] += by;
}

/* When the last of the packets is at the far end, all ready at `ready`. */
static rs_time last_there(struct row *w, const struct sizes *z, uint64_t bytes, rs_time ready)
{
	uint64_t each = (MESSAGE + z->payload - 1) / z->payload;
	uint64_t n = bytes / MESSAGE * each + (bytes % MESSAGE + z->payload - 1) / z->payload;
	rs_time at = 0, between = slowest(w, z);

	for (uint64_t i = 0; i < n; i++) {
		uint32_t payload, frame = frame_of(z, i, n, bytes, &payload);

		at = pass(w, frame, payload, ready);
		if (i != FOLLOWED / 2 || n <= FOLLOWED)
			continue;
		put_off(w, (rs_time)(n - FOLLOWED) * between);
		i += n - FOLLOWED;
	}
	return at;
}

/* The same of messages, of which `depth` may be under way: one is ready when the one so many before
 * it has ended, `back` after its last packet was there. Turns of `depth` messages come to take the
 * same time: a few are followed, of those between the time is known. RS_NEVER: no memory. */
static rs_time last_message_there(struct row *w, const struct sizes *z, uint64_t bytes,
				  uint64_t message, uint32_t depth, rs_time back)
{
	uint64_t n = (bytes + message - 1) / message;
	rs_time *there = calloc(depth, sizeof(*there)), at = 0;

	for (uint64_t i = 0; there && i < n; i++) {
		rs_time before = there[i % depth];

		at = last_there(w, z, i + 1 < n ? message : bytes - i * message,
				i < depth ? 0 : before + back);
		there[i % depth] = at;
		if (i + 1 == (uint64_t)TURNS * depth && n > i + 1 + 2 * (uint64_t)depth) {
			uint64_t turns = (n - i - 1) / depth - 1;

			put_off(w, (rs_time)turns * (at - before));
			for (uint32_t k = 0; k < depth; k++)
				there[k] += (rs_time)turns * (at - before);
			i += turns * depth;
		}
	}
	free(there);
	return there ? at : RS_NEVER;
}

/* The ACK of the last, back to the sender, or a READ's request, which is about as long; RS_NEVER:
 * no way. */
static rs_time ack_back(const struct rs_sim *s, uint32_t conn, const struct sizes *z)
{
	const struct sim_conn *c = &s->work->conns[conn];
	struct rs_packet p = {.src = sim_bytes_to(c),
			      .dst = sim_bytes_from(c),
			      .dest_qp = c->op == RS_FLOW_READ ? c->dst_qpn : c->src_qpn,
			      .sport = sim_source_port(s, conn, 0),
			      .number = sim_way(s, conn, 0, sim_bytes_from(c), true)};
	struct row w = {.n = 0};

	return add_links(s, &w, p) ? pass(&w, z->ack, 0, 0) : RS_NEVER;
}

/* ---- Flows ---- */

static double per_second(uint64_t bytes, rs_time t)
{
	return t > 0 ? (double)bytes * 8 * (double)RS_S / (double)t : 0;
}

/* Responses carry no telemetry. */
static struct sizes of_reads(struct sizes z)
{
	z.stamps = 0;
	z.full = frame_bytes(&z, RS_OP_WRITE_MIDDLE, z.payload);
	z.ack = rs_framing_ack(z.framing, z.ipv6, 0);
	return z;
}

/* Messages that may be under way: those that are posted, and of READs those that the peer answers.
 */
static uint32_t depth_of(const struct rs_sim *s, const struct sim_conn *c)
{
	uint32_t depth = sim_flow_depth(flow_of(s, c)), reads = s->f->transport.max_rd_atomic;

	return c->op == RS_FLOW_READ && reads < depth ? reads : depth;
}

static void flow_speed(struct rs_sim *s, uint32_t conn, const struct sizes *all,
		       struct rs_series_speed *o)
{
	const struct sim_conn *c = &s->work->conns[conn];
	const struct rs_sim_flow *f = &s->r->flows[c->index];
	struct sizes own = c->op == RS_FLOW_READ ? of_reads(*all) : *all;
	const struct sizes *z = &own;
	const struct rs_host_params *hp = &s->f->host_params;
	rs_time post = sim_nic_of(s, f->src)->inside ? hp->post + hp->mmio : 0, back, there;
	uint64_t message = flow_of(s, c)->message;
	struct row w;

	if (c->op == RS_FLOW_ATOMIC)
		return;
	own.op = c->op;
	back = ack_back(s, conn, z);
	if (back == RS_NEVER || !make_row(s, conn, f->bytes, z->payload, &w))
		return;
	o->allowed = per_second(z->payload, slowest(&w, z));
	there = message ? last_message_there(&w, z, f->bytes, message, depth_of(s, c), back)
			: last_there(&w, z, f->bytes, 0);
	if (there == RS_NEVER)
		return;
	o->alone = post + there + back;
	if (f->finish != RS_NEVER && o->alone > 0)
		o->slowdown = (double)(f->finish - f->start) / (double)o->alone;
}

/* ---- Jobs ---- */

/* Payload that a job's endpoints send and receive. */
struct loads {
	uint64_t *out, *in, all;
};

static void add_load(struct loads *l, const struct sim_conn *c, uint64_t bytes)
{
	if (c->nvlink)
		return;
	l->out[sim_bytes_from(c)] += bytes;
	l->in[sim_bytes_to(c)] += bytes;
	l->all += bytes;
}

static void add_collective(struct rs_sim *s, const struct sim_coll *k, struct loads *l)
{
	const struct rs_coll *plan = k->plan;
	struct rs_step step;

	for (uint32_t r = 0; r < plan->n_ranks; r++)
		for (uint32_t lane = 0; lane < plan->n_lanes; lane++) {
			uint64_t n = plan->n_steps(plan, r, lane);

			for (uint64_t i = 0; i < n; i++) {
				plan->step(plan, r, lane, i, &step);
				for (unsigned m = 0; m < step.n_send; m++)
					add_load(l,
						 &s->work->conns[k->first_conn + step.send[m].conn],
						 step.send[m].bytes * k->repeat);
			}
		}
}

/* What the fullest port of a NIC needs for its bytes. */
static rs_time fullest(const struct rs_sim *s, const struct loads *l, const struct sizes *z)
{
	double frame = z->full + z->framing->gap, most = 0;

	for (uint32_t e = 0; e < s->f->n_endpoints; e++) {
		uint64_t bytes = l->out[e] > l->in[e] ? l->out[e] : l->in[e];
		double t = (double)bytes * 8 / (double)s->f->endpoints[e].rate;

		most = t > most ? t : most;
	}
	return (rs_time)(most * frame / z->payload * (double)RS_S);
}

static void find_load(struct rs_sim *s, uint32_t job, struct loads *l, const struct sizes *z)
{
	memset(l->out, 0, s->f->n_endpoints * sizeof(*l->out));
	memset(l->in, 0, s->f->n_endpoints * sizeof(*l->in));
	l->all = 0;
	if (s->r->jobs[job].coll)
		add_collective(s, coll_of(s, job), l);
	else
		for (uint32_t i = 0; i < s->work->n_conns; i++)
			if (s->work->conns[i].job == job)
				add_load(l, &s->work->conns[i],
					 s->r->flows[s->work->conns[i].index].bytes);
	s->load[job] = (struct sim_load){l->all, fullest(s, l, z)};
}

int sim_loads(struct rs_sim *s)
{
	uint32_t n = s->f->n_endpoints;
	struct loads l = {.out = calloc(n + 1u, sizeof(*l.out)),
			  .in = calloc(n + 1u, sizeof(*l.in))};
	struct sizes z = sizes_of(s);
	int err = 0;

	s->load = rs_arena_alloc(s->arena, s->r->n_jobs + 1u, sizeof(*s->load));
	if (!l.out || !l.in || !s->load)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < s->r->n_jobs; i++)
		find_load(s, i, &l, &z);
	free(l.out);
	free(l.in);
	return err;
}

static void goodputs(const struct rs_sim *s, struct rs_series *r)
{
	for (uint32_t i = 0; i < s->r->n_flows; i++) {
		const struct rs_sim_flow *f = &s->r->flows[i];

		if (f->finish != RS_NEVER)
			r->flow_speed[i].goodput = per_second(f->bytes, f->finish - f->start);
	}
	for (uint32_t i = 0; i < s->r->n_jobs; i++) {
		const struct rs_sim_job *j = &s->r->jobs[i];

		if (j->done)
			r->job_speed[i].goodput =
				per_second(s->load[i].bytes, j->finish - j->start);
	}
}

int sim_speed(struct rs_sim *s, struct rs_series *r)
{
	struct sizes z = sizes_of(s);
	/* another transport's packets are not known here */
	bool known = !s->o->transport && !rs_fabric_has_uet(s->f);

	r->flow_speed = calloc(s->r->n_flows + 1u, sizeof(*r->flow_speed));
	r->job_speed = calloc(s->r->n_jobs + 1u, sizeof(*r->job_speed));
	if (!r->flow_speed || !r->job_speed)
		return -ENOMEM;
	goodputs(s, r);
	for (uint32_t i = 0; known && i < s->work->n_conns; i++)
		if (s->work->conns[i].flow)
			flow_speed(s, i, &z, &r->flow_speed[s->work->conns[i].index]);
	for (uint32_t i = 0; known && i < s->r->n_jobs; i++)
		r->job_speed[i].allowed = per_second(s->load[i].bytes, s->load[i].least);
	return 0;
}
