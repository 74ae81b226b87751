/* Jobs as hosts carry them out: flows as a message or several each, collectives as lanes of steps
 * whose receivers are told of each message. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"

enum {
	QPS_MAX = RS_QPS_MAX,
	POSTS = 2,       /* pieces of a long flow in the queue at a time */
	PIECE = 1 << 30, /* a message is at most 2^31 bytes (§9.7.7) */
	SLOTS_MAX = RS_SLOTS_MAX,
	REPEATS_MAX = RS_REPEATS_MAX,
	BUS_PIECE = 1 << 20,
	FLOWS_MANY = 10000,
	RECEIVERS_A_TURN = 3, /* looked at when one is opened */
};

#define NO_CONN UINT32_MAX

/* Where DMA goes: NIC to source memory, NIC to destination memory. */
struct sim_dma {
	struct rs_path from, to;
};

/* What a collective's connection keeps beside: messages over queue pairs, or inside a host. */
struct sim_messages {
	uint32_t src_rank, dst_rank;
	/* sending */
	union {
		uint64_t parts_sent[QPS_MAX]; /* over the network: parts completed, a queue pair */
		uint64_t left[SLOTS_MAX];     /* inside a host: of a message's bytes */
	};
	uint64_t sent, completed; /* messages */
	/* receiving */
	uint64_t parts[QPS_MAX];               /* parts arrived, a queue pair */
	uint64_t announced, arrived, consumed; /* messages */
};

/*
 * A connection. The sending half is touched by the source's node alone, the receiving half by the
 * destination's. A flow's queue pairs are made when it starts and freed when it has ended: the
 * sender's with the last completion, the receiver's some time after its last packet (flows.c).
 */
struct sim_conn {
	/* both, constant */
	uint32_t job, index; /* index: of the flow or of the plan's connection */
	uint32_t src_endpoint, dst_endpoint, src_host, dst_host;
	uint32_t src_qpn, dst_qpn; /* of the first of its queue pairs */
	bool flow, nvlink;
	bool rested; /* receiving: a flow's queue pair was there, had all of it, and is gone */
	uint8_t n_qps;
	uint8_t error;        /* the sender's: enum rs_wc_status of its first queue pair in error */
	uint32_t outstanding; /* sending: pieces or messages not yet completed */
	struct sim_dma *dma;  /* NULL: neither end has an inside */
	rs_time visible;      /* receiving */
	rs_time kept;         /* ... by the transport of the end that is gone */
	union {
		struct sim_messages *m; /* of a collective */
		uint64_t to_post;       /* of a flow, sending: bytes not yet posted */
	};
};

struct sim_lane {
	uint64_t i, n;
	struct rs_step step;
	bool loaded, computing;
};

struct sim_coll {
	struct rs_coll *plan;
	uint32_t job, first_conn;
	struct sim_lane *lanes; /* [rank * n_lanes + lane] */
	uint32_t *left;         /* [rank]: lanes not at their end */
	int64_t *rep;           /* [rank]: repetitions done */
	rs_time *first, *last;  /* [rank]: ends of the first and of the latest repetition */
	uint32_t first_lane;    /* number of lanes[0] among all collectives' */
	uint32_t repeat;
	struct rs_path *inside; /* [conn]: GPU to GPU */
};

struct sim_workload {
	uint32_t n_conns, n_colls, n_flows, n_lanes;
	struct sim_conn *conns;
	struct sim_coll *colls;
	uint32_t *coll_of_job, *first_flow; /* [job] */
	uint32_t *first_qp; /* [endpoint]: of its queue pairs in conn_of; and one behind */
	uint32_t *conn_of;  /* [queue pair]: the flow's, or NO_CONN */
	/* flows of a host, by start: starts[next[host]] .. starts[end[host] - 1] are to come */
	uint32_t *starts, *next, *end;
	uint64_t total; /* flows and lanes */
};

static struct sim_coll *coll_of(struct rs_sim *s, uint32_t job)
{
	return &s->work->colls[s->work->coll_of_job[job]];
}

/* The GPU that a rank of a collective is. */
static uint32_t gpu_of(const struct sim_coll *k, uint32_t rank)
{
	return rs_collective_gpu(&k->plan->conf, rank);
}

static struct sim_coll *coll_of_lane(struct rs_sim *s, uint32_t lane)
{
	uint32_t c = s->work->n_colls;

	while (s->work->colls[--c].first_lane > lane)
		;
	return &s->work->colls[c];
}

/* A counterfactual leaves this job out: it is planned as ever, so that the others' draws stay as
 * they are, and never starts. */
static bool skipped(const struct rs_sim *s, uint32_t job)
{
	return job < 64 && s->o->ideal.skip >> job & 1;
}

/* ---- Messages ---- */

/* An end's user: which of the connection's queue pairs, the connection, which side. */
static uint64_t user_of(const struct rs_sim *s, const struct sim_conn *c, unsigned q, bool receiver)
{
	return (uint64_t)q << 33 | (uint64_t)(c - s->work->conns) << 1 | receiver;
}

static struct sim_conn *conn_of_user(struct rs_sim *s, uint64_t user)
{
	return &s->work->conns[(uint32_t)(user >> 1)];
}

struct rs_path *sim_qp_path(struct rs_sim *s, uint64_t user, bool send)
{
	struct sim_conn *c = conn_of_user(s, user);

	/* the receiver's queue pair reads nothing, the sender's writes nothing, in these workloads
	 */
	return user & 1 ? &c->dma->to : &c->dma->from;
}

void sim_qp_visible(struct rs_sim *s, uint64_t user, rs_time when)
{
	struct sim_conn *c = conn_of_user(s, user);

	if (user & 1 && when > c->visible)
		c->visible = when;
}

static void post(struct rs_sim *s, struct sim_conn *c, unsigned q, uint64_t bytes, rs_time now)
{
	struct sim_nic *k = sim_nic_of(s, c->src_endpoint);

	k->transport->post(k->ends.self, c->src_qpn + q, bytes, !c->flow, now);
}

/* Bytes of part q when a message is dealt over n queue pairs. */
static uint64_t part_bytes(uint64_t bytes, unsigned n, unsigned q)
{
	return bytes / n + (q < bytes % n);
}

static void post_message(struct rs_sim *s, struct sim_conn *c, uint64_t bytes, rs_time now)
{
	c->m->sent++;
	for (unsigned q = 0; q < c->n_qps; q++)
		post(s, c, q, part_bytes(bytes, c->n_qps, q), now);
	sim_nic_kick(s, sim_nic_of(s, c->src_endpoint), now);
}

static void post_flow(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	while (c->to_post && c->outstanding < POSTS) {
		uint64_t n = c->to_post < PIECE ? c->to_post : PIECE;

		c->to_post -= n;
		c->outstanding++;
		post(s, c, 0, n, now);
	}
	sim_nic_kick(s, sim_nic_of(s, c->src_endpoint), now);
}

/*
 * The next piece of the message at the head of a connection inside a host. Through PCIe a piece is
 * issued when the one before has left and its credits are there: whoever shares the links gets its
 * turn between two.
 */
static void inside_piece(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	struct rs_bus *bus = s->nodes[c->src_host].host->bus;
	const struct rs_path *path = &coll_of(s, c->job)->inside[c->index];
	uint32_t conn = (uint32_t)(c - s->work->conns), n;
	uint64_t *left = &c->m->left[c->m->completed % SLOTS_MAX];
	uint64_t most = path->nvlink ? BUS_PIECE : RS_BUS_PIECE;
	rs_time gone = now, visible = now;

	if (!bus)
		*left = 0;
	n = (uint32_t)(*left < most ? *left : most);
	if (n) {
		visible = rs_bus_write(bus, path, n, now, &gone);
		gone = rs_bus_write_ready(bus, path, n, rs_time_max(gone, now));
	}
	*left -= n;
	if (!*left)
		sim_app_schedule(s, c->dst_host, rs_time_max(visible, now), APP_ARRIVED, conn, 1);
	sim_app_schedule(s, c->src_host, gone, *left ? APP_PIECE : APP_SENT, conn, 0);
}

static void send_inside(struct rs_sim *s, struct sim_conn *c, uint64_t bytes, rs_time now)
{
	c->m->left[c->m->sent++ % SLOTS_MAX] = bytes;
	if (c->m->sent - c->m->completed == 1)
		inside_piece(s, c, now);
}

static void send_message(struct rs_sim *s, struct sim_coll *k, uint32_t conn, uint64_t bytes,
			 rs_time now)
{
	struct sim_conn *c = &s->work->conns[k->first_conn + conn];
	const struct rs_host_params *hp = &s->f->host_params;

	c->outstanding++;
	if (c->nvlink)
		send_inside(s, c, bytes, now);
	else if (sim_nic_of(s, c->src_endpoint)->inside)
		sim_app_schedule(s, c->src_host, now + hp->post + hp->mmio, APP_POST,
				 (uint32_t)(c - s->work->conns), bytes);
	else
		post_message(s, c, bytes, now);
}

/* ---- Lanes ---- */

static bool step_ready(struct rs_sim *s, struct sim_coll *k, uint32_t rank,
		       const struct rs_step *st)
{
	const struct sim_lane *mine = &k->lanes[rank * k->plan->n_lanes];

	for (unsigned i = 0; i < st->n_wait; i++)
		if (mine[st->wait[i].lane].i < st->wait[i].count)
			return false;
	for (unsigned i = 0; i < st->n_recv; i++) {
		const struct sim_conn *c = &s->work->conns[k->first_conn + st->recv[i].conn];

		if (c->m->arrived == c->m->consumed)
			return false;
	}
	for (unsigned i = 0; i < st->n_send; i++)
		if (s->work->conns[k->first_conn + st->send[i].conn].outstanding >= k->plan->window)
			return false;
	return true;
}

static void step_send(struct rs_sim *s, struct sim_coll *k, struct sim_lane *l, rs_time now)
{
	struct rs_step st = l->step;

	l->loaded = l->computing = false;
	l->i++;
	for (unsigned i = 0; i < st.n_send; i++)
		send_message(s, k, st.send[i].conn, st.send[i].bytes, now);
}

/* One step of a lane, if it can be taken: true when something moved. */
static bool lane_step(struct rs_sim *s, struct sim_coll *k, uint32_t rank, uint32_t lane,
		      rs_time now)
{
	struct sim_lane *l = &k->lanes[rank * k->plan->n_lanes + lane];

	if (l->computing || l->i == l->n)
		return false;
	if (!l->loaded) {
		k->plan->step(k->plan, rank, lane, l->i, &l->step);
		l->loaded = true;
	}
	if (!step_ready(s, k, rank, &l->step))
		return false;
	for (unsigned i = 0; i < l->step.n_recv; i++)
		s->work->conns[k->first_conn + l->step.recv[i].conn].m->consumed++;
	if (l->step.compute > 0) {
		l->computing = true;
		sim_app_schedule(s, rs_fabric_rank_host(s->f, gpu_of(k, rank)),
				 now + l->step.compute, APP_COMPUTED,
				 k->first_lane + rank * k->plan->n_lanes + lane, 0);
	} else {
		step_send(s, k, l, now);
	}
	return true;
}

static bool rank_finished(const struct sim_coll *k, uint32_t rank)
{
	for (uint32_t l = 0; l < k->plan->n_lanes; l++) {
		const struct sim_lane *lane = &k->lanes[rank * k->plan->n_lanes + l];

		if (lane->computing || lane->i < lane->n)
			return false;
	}
	return true;
}

static void rank_advance(struct rs_sim *s, struct sim_coll *k, uint32_t rank, rs_time now)
{
	bool moved;

	if (k->rep[rank] == k->repeat)
		return;
	for (;;) {
		do {
			moved = false;
			for (uint32_t l = 0; l < k->plan->n_lanes; l++)
				while (lane_step(s, k, rank, l, now))
					moved = true;
		} while (moved);
		if (!rank_finished(k, rank))
			return;
		if (!k->rep[rank])
			k->first[rank] = now;
		k->last[rank] = now;
		if (++k->rep[rank] == k->repeat) {
			sim_finished(s);
			return;
		}
		for (uint32_t l = 0; l < k->plan->n_lanes; l++)
			k->lanes[rank * k->plan->n_lanes + l].i = 0;
	}
}

/* ---- Queue pairs ---- */

/* Where placement is ideal: the path of a queue pair's data, or of its ACKs. */
static uint32_t way(const struct rs_sim *s, uint64_t conn, unsigned q, uint32_t dst, bool back)
{
	return s->o->ideal.placed && !s->o->ideal.network
		       ? sim_placement_way(s, (uint32_t)conn, q, dst, back)
		       : 0;
}

static const struct rs_flow *flow_of(const struct rs_sim *s, const struct sim_conn *c)
{
	return &s->f->jobs[c->job].flows[c->index - s->work->first_flow[c->job]];
}

/* One end of a connection's q-th. past: what it had received before; NULL: nothing. */
static int open_end(struct rs_sim *s, struct sim_conn *c, unsigned q, bool receiver, uint32_t depth,
		    uint8_t tc, const struct rs_sim_past *past)
{
	struct sim_nic *k = sim_nic_of(s, receiver ? c->dst_endpoint : c->src_endpoint);
	uint64_t id = (uint64_t)(c - s->work->conns);
	const struct rs_flow *flow = c->flow ? flow_of(s, c) : NULL;
	const struct rs_sim_conn_end end = {
		.number = (receiver ? c->dst_qpn : c->src_qpn) + q,
		.peer = receiver ? c->src_endpoint : c->dst_endpoint,
		.peer_number = (receiver ? c->src_qpn : c->dst_qpn) + q,
		.receiver = receiver,
		.depth = depth,
		.told = !c->flow,
		.tc = tc,
		.cc = rs_plant_qp_cc(s->plant, &s->f->jobs[c->job], flow, c->src_endpoint, tc),
		.sport = (uint16_t)(0xc000 | (rs_mix64(s->o->seed ^ (id * QPS_MAX + q)) & 0x3fff)),
		.user = user_of(s, c, q, receiver),
		.past = past,
	};
	int err = k->transport->open(k->ends.self, &end);

	if (!err)
		sim_nic_way(k, end.number, way(s, id, q, end.peer, receiver));
	return err;
}

/* Memory that cannot be had ends the run through an assertion: what there is goes with the flows
 * that are under way. */
static void open_sender(struct rs_sim *s, struct sim_conn *c)
{
	int err = open_end(s, c, 0, false, POSTS, flow_of(s, c)->tc, NULL);

	rs_assert(!err);
}

/* What congestion control did for an end is its job's. Flows of one job end in several threads: a
 * sum does not tell in which order. */
static void count_cuts(struct rs_sim *s, struct sim_nic *k, uint32_t number, uint32_t job)
{
	struct rs_sim_job *j = &s->r->jobs[job];
	uint64_t down = 0, up = 0;

	if (!s->r->several_ccs || !k->transport->cuts)
		return;
	k->transport->cuts(k->ends.self, number, &down, &up);
	__atomic_fetch_add(&j->cc_cuts, down, __ATOMIC_RELAXED);
	__atomic_fetch_add(&j->cc_increases, up, __ATOMIC_RELAXED);
}

void sim_count_open_cuts(struct rs_sim *s, struct sim_nic *k)
{
	const uint32_t *first = &s->work->first_qp[k->endpoint];
	uint64_t user;

	for (uint32_t i = SIM_FIRST_QPN; i < SIM_FIRST_QPN + first[1] - first[0]; i++)
		if (k->transport->user(k->ends.self, i, &user))
			count_cuts(s, k, i, conn_of_user(s, user)->job);
}

static void close_sender(struct rs_sim *s, struct sim_conn *c)
{
	struct sim_nic *k = sim_nic_of(s, c->src_endpoint);

	count_cuts(s, k, c->src_qpn, c->job);
	k->transport->close(k->ends.self, c->src_qpn);
}

static struct rs_sim_past past_of(const struct rs_sim *s, const struct sim_conn *c)
{
	return (struct rs_sim_past){flow_of(s, c)->bytes, PIECE, c->kept};
}

/*
 * Closes receivers that have everything and owe nothing, a few of those that are open, in turn.
 * Their last packet may come once more, when its ACK was lost: the end is opened anew then, where
 * it was, and answers as it would have.
 */
static void close_receivers(struct rs_sim *s, struct sim_nic *k)
{
	for (unsigned i = 0; i < RECEIVERS_A_TURN && k->n_open; i++) {
		uint32_t at = k->open_at < k->n_open ? k->open_at : 0;
		struct sim_conn *c = &s->work->conns[k->open[at]];
		struct rs_sim_past past = past_of(s, c);

		k->open_at = at + 1;
		if (!k->transport->rests(k->ends.self, c->dst_qpn, &past))
			continue;
		c->kept = past.kept;
		c->rested = true;
		k->open[at] = k->open[--k->n_open];
	}
}

static void open_receiver(struct rs_sim *s, struct sim_nic *k, struct sim_conn *c)
{
	struct rs_sim_past past = past_of(s, c);
	int err;

	if (k->transport->rests) {
		close_receivers(s, k);
		if (k->n_open == k->open_size) {
			k->open_size = k->open_size ? 2 * k->open_size : 16;
			k->open = realloc(k->open, k->open_size * sizeof(*k->open));
			rs_assert(k->open);
		}
		k->open[k->n_open++] = (uint32_t)(c - s->work->conns);
	}
	err = open_end(s, c, 0, true, 0, flow_of(s, c)->tc, c->rested ? &past : NULL);
	rs_assert(!err);
}

/* A sender's queue pair that is gone has nothing to hear. */
bool sim_flow_absent(struct rs_sim *s, struct sim_nic *k, uint32_t qpn)
{
	const struct sim_workload *w = s->work;
	uint32_t at = w->first_qp[k->endpoint] + qpn - SIM_FIRST_QPN;
	struct sim_conn *c;

	if (qpn < SIM_FIRST_QPN || at >= w->first_qp[k->endpoint + 1] || w->conn_of[at] == NO_CONN)
		return false;
	c = &w->conns[w->conn_of[at]];
	if (c->dst_endpoint != k->endpoint || c->dst_qpn != qpn)
		return false;
	open_receiver(s, k, c);
	return true;
}

/* When a flow's first work request is in the NIC's hands. */
static rs_time flow_posted(struct rs_sim *s, const struct sim_conn *c)
{
	const struct rs_host_params *hp = &s->f->host_params;
	bool inside = sim_nic_of(s, c->src_endpoint)->inside;

	return s->r->flows[c->index].start + (inside ? hp->post + hp->mmio : 0);
}

/* The next of a host's flows to start: at one time they go before all else, in their order. */
static void next_flow(struct rs_sim *s, uint32_t host)
{
	struct sim_workload *w = s->work;
	uint32_t i;
	rs_time when;

	if (w->next[host] == w->end[host])
		return;
	i = w->starts[w->next[host]++];
	when = flow_posted(s, &w->conns[i]);
	sim_app_schedule_as(s, host, when, APP_FLOW_START, i, 0, 2 * (uint64_t)i);
	if (s->o->rate_interval)
		sim_app_schedule_as(s, host, when, APP_RATE, i, 0, 2 * (uint64_t)i + 1);
}

/* ---- What hosts tell ---- */

static void message_arrived(struct rs_sim *s, struct sim_conn *c, uint64_t messages, rs_time now)
{
	c->m->arrived += messages;
	rank_advance(s, coll_of(s, c->job), c->m->dst_rank, now);
}

static void message_sent(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	c->outstanding--;
	rank_advance(s, coll_of(s, c->job), c->m->src_rank, now);
}

static void flow_completed(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	c->outstanding--;
	if (c->to_post) {
		post_flow(s, c, now);
	} else if (!c->outstanding) {
		s->r->flows[c->index].finish = now;
		close_sender(s, c);
		sim_finished(s);
	}
}

static void sample_rate(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	const struct sim_nic *k = sim_nic_of(s, c->src_endpoint);

	if (s->r->flows[c->index].finish != RS_NEVER)
		return;
	sim_host_rate(s, c->src_host, c->index, k->transport->rate(k->ends.self, c->src_qpn), now);
	sim_app_schedule(s, c->src_host, now + s->o->rate_interval, APP_RATE,
			 (uint32_t)(c - s->work->conns), 0);
}

void sim_app_event(struct rs_sim *s, uint32_t host, const struct sim_app_event *ev)
{
	struct sim_conn *c = &s->work->conns[ev->arg];
	struct sim_coll *k;
	uint32_t lane;

	switch (ev->type) {
	case APP_FLOW_START:
		next_flow(s, host);
		open_sender(s, c);
		post_flow(s, c, ev->when);
		break;
	case APP_POST:
		post_message(s, c, ev->bytes, ev->when);
		break;
	case APP_ARRIVED:
		message_arrived(s, c, ev->bytes, ev->when);
		break;
	case APP_PIECE:
		inside_piece(s, c, ev->when);
		break;
	case APP_SENT:
		if (++c->m->completed < c->m->sent)
			inside_piece(s, c, ev->when);
		message_sent(s, c, ev->when);
		break;
	case APP_COMPUTED:
		k = coll_of_lane(s, ev->arg);
		lane = ev->arg - k->first_lane;
		step_send(s, k, &k->lanes[lane], ev->when);
		rank_advance(s, k, lane / k->plan->n_lanes, ev->when);
		break;
	case APP_RATE:
		sample_rate(s, c, ev->when);
		break;
	case APP_LOST:
		sim_order_lost(s, ev);
		break;
	case APP_COLL_START:
		rank_advance(s, coll_of(s, ev->arg), (uint32_t)ev->bytes, ev->when);
		break;
	}
}

/* Queue pairs work in order, each for itself, and one may be many messages ahead of another: a
 * message is whole when the slowest has done its part. */
static uint64_t whole_messages(const struct sim_conn *c, const uint64_t *parts)
{
	uint64_t least = parts[0];

	for (unsigned q = 1; q < c->n_qps; q++)
		if (parts[q] < least)
			least = parts[q];
	return least;
}

static void part_arrived(struct rs_sim *s, struct sim_conn *c, struct sim_nic *k, unsigned q,
			 rs_time now)
{
	uint64_t least;

	c->m->parts[q]++;
	least = whole_messages(c, c->m->parts);
	if (least == c->m->announced)
		return;
	if (k->inside)
		sim_app_schedule(s, c->dst_host,
				 rs_time_max(now, c->visible) + s->f->host_params.poll, APP_ARRIVED,
				 (uint32_t)(c - s->work->conns), least - c->m->announced);
	else
		message_arrived(s, c, least - c->m->announced, now);
	c->m->announced = least;
}

static void part_sent(struct rs_sim *s, struct sim_conn *c, unsigned q, rs_time now)
{
	c->m->parts_sent[q]++;
	if (whole_messages(c, c->m->parts_sent) == c->m->completed)
		return;
	c->m->completed++;
	message_sent(s, c, now);
}

void sim_app_news(struct rs_sim *s, struct sim_nic *k, const struct rs_sim_news *news, rs_time now)
{
	struct sim_conn *c = conn_of_user(s, news->user);
	unsigned q = (unsigned)(news->user >> 33);

	if (news->status != RS_WC_SUCCESS) {
		/* the connection is gone; what hangs on it never finishes, and the report says so
		 */
		if (news->status != RS_WC_WR_FLUSH_ERR) {
			__atomic_fetch_add(&s->r->jobs[c->job].failed, 1, __ATOMIC_RELAXED);
			if (!c->error && k->endpoint == c->src_endpoint)
				c->error = news->status;
		}
		if (c->flow && s->r->flows[c->index].finish == RS_NEVER && c->outstanding) {
			c->outstanding = 0;
			sim_finished(s);
		}
		return;
	}
	if (news->arrived)
		part_arrived(s, c, k, q, now);
	else if (c->flow)
		flow_completed(s, c, now);
	else
		part_sent(s, c, q, now);
}

/* ---- Making connections ---- */

/* Where a flow's bytes are: in the memory of the NIC's socket, of the first other socket, or of the
 * first GPU that uses the NIC (the socket's when none does). */
static int flow_memory(const struct rs_fabric *f, uint32_t endpoint, enum rs_flow_memory memory)
{
	const struct rs_fabric_host *fh = &f->hosts[f->endpoints[endpoint].host];
	const struct rs_host *h = fh->inside;
	int p = f->endpoints[endpoint].part;

	if (memory == RS_MEMORY_GPU)
		for (uint32_t r = fh->first_gpu; r < fh->first_gpu + fh->n_gpus; r++)
			if (rs_fabric_rank_endpoint(f, r) == endpoint)
				return rs_fabric_rank_part(f, r);
	while (h && p >= 0 && h->parts[p].kind != RS_PART_SOCKET)
		p = h->parts[p].parent;
	for (int i = 0; memory == RS_MEMORY_FAR && h && i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_SOCKET && i != p)
			return i;
	return p;
}

static int dma_path(struct rs_sim *s, uint32_t endpoint, int memory, struct rs_path *p,
		    struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	const struct rs_fabric_host *h = &f->hosts[f->endpoints[endpoint].host];
	struct sim_host *sh = s->nodes[f->endpoints[endpoint].host].host;

	if (!sh->bus || !sim_nic_of(s, endpoint)->inside)
		return 0;
	if (memory < 0 || rs_bus_path(sh->bus, f->endpoints[endpoint].part, memory, false, p))
		return rs_error_set(e, -EINVAL,
				    "host %s: no path from %s to the memory that it must reach",
				    h->name, h->inside->parts[f->endpoints[endpoint].part].name);
	return 0;
}

static int dma_paths(struct rs_sim *s, struct sim_conn *c, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	enum rs_flow_memory memory = f->jobs[c->job].memory;
	int from, to, err;

	if (!sim_nic_of(s, c->src_endpoint)->inside && !sim_nic_of(s, c->dst_endpoint)->inside)
		return 0;
	c->dma = rs_arena_alloc(s->arena, 1, sizeof(*c->dma));
	if (!c->dma)
		return rs_error_set(e, -ENOMEM, "out of memory");
	from = c->flow ? flow_memory(f, c->src_endpoint, memory)
		       : rs_fabric_rank_part(f, gpu_of(coll_of(s, c->job), c->m->src_rank));
	to = c->flow ? flow_memory(f, c->dst_endpoint, memory)
		     : rs_fabric_rank_part(f, gpu_of(coll_of(s, c->job), c->m->dst_rank));
	err = dma_path(s, c->src_endpoint, from, &c->dma->from, e);
	return err ? err : dma_path(s, c->dst_endpoint, to, &c->dma->to, e);
}

/* A collective's queue pairs are there from the start. */
static int connect_coll(struct rs_sim *s, struct sim_conn *c, struct rs_error *e)
{
	const struct rs_coll *plan = coll_of(s, c->job)->plan;
	int err = 0;

	for (unsigned q = 0; !err && q < c->n_qps; q++) {
		err = open_end(s, c, q, true, plan->window, plan->conf.tc, NULL);
		if (!err)
			err = open_end(s, c, q, false, plan->window, plan->conf.tc, NULL);
	}
	return err ? rs_error_set(e, err, "no memory for a queue pair") : 0;
}

static int inside_path(struct rs_sim *s, struct sim_coll *k, uint32_t i, struct sim_conn *c,
		       struct rs_error *e)
{
	struct rs_bus *bus = s->nodes[c->src_host].host->bus;
	int a = rs_fabric_rank_part(s->f, gpu_of(k, c->m->src_rank));
	int b = rs_fabric_rank_part(s->f, gpu_of(k, c->m->dst_rank));

	if (!bus)
		return 0;
	if (!rs_bus_path(bus, a, b, true, &k->inside[i]) ||
	    !rs_bus_path(bus, a, b, false, &k->inside[i]))
		return 0;
	return rs_error_set(e, -EINVAL, "host %s: no path between the GPUs of ranks %u and %u",
			    s->f->hosts[c->src_host].name, c->m->src_rank, c->m->dst_rank);
}

/* Connections as plans and flows ask for them, queue pairs not yet made. */
static void list_flows(struct rs_sim *s, uint32_t job, uint32_t *at, uint32_t *flow)
{
	const struct rs_job *j = &s->f->jobs[job];

	s->work->first_flow[job] = *flow;
	for (uint32_t i = 0; i < j->n_flows; i++, (*at)++, (*flow)++) {
		const struct rs_flow *fl = &j->flows[i];
		struct sim_conn *c = &s->work->conns[*at];

		*c = (struct sim_conn){.job = job,
				       .index = *flow,
				       .flow = true,
				       .n_qps = 1,
				       .src_endpoint = fl->src,
				       .dst_endpoint = fl->dst,
				       .to_post = fl->bytes};
		c->src_host = s->f->endpoints[fl->src].host;
		c->dst_host = s->f->endpoints[fl->dst].host;
		s->r->flows[*flow] = (struct rs_sim_flow){job,       fl->src,  fl->dst, fl->bytes,
							  fl->start, RS_NEVER, RS_NEVER};
	}
}

static int list_coll(struct rs_sim *s, struct sim_coll *k, uint32_t *at)
{
	uint32_t qps = k->plan->conf.qps;
	struct sim_messages *messages =
		rs_arena_alloc(s->arena, k->plan->n_conns + 1u, sizeof(*messages));

	if (!messages)
		return -ENOMEM;

	k->first_conn = *at;
	for (uint32_t i = 0; i < k->plan->n_conns; i++, (*at)++) {
		const struct rs_conn *p = &k->plan->conns[i];
		struct sim_conn *c = &s->work->conns[*at];

		*c = (struct sim_conn){.job = k->job,
				       .index = i,
				       .nvlink = p->nvlink,
				       .n_qps = (uint8_t)(qps < 1         ? 1
							  : qps > QPS_MAX ? QPS_MAX
									  : qps),
				       .src_endpoint = p->src_endpoint,
				       .dst_endpoint = p->dst_endpoint,
				       .m = &messages[i]};
		c->m->src_rank = p->src;
		c->m->dst_rank = p->dst;
		c->src_host = rs_fabric_rank_host(s->f, gpu_of(k, p->src));
		c->dst_host = rs_fabric_rank_host(s->f, gpu_of(k, p->dst));
	}
	return 0;
}

/* Of every connection that crosses the network. */
static int check_routes(struct rs_sim *s, const struct sim_coll *k, const struct rs_job *j,
			struct rs_error *e)
{
	const struct rs_fabric *f = s->f;

	for (uint32_t i = 0; i < k->plan->n_conns; i++) {
		const struct rs_conn *c = &k->plan->conns[i];

		if (!c->nvlink && !rs_fabric_reachable(f, c->src_endpoint, c->dst_endpoint))
			return rs_error_at(e, -EINVAL, j->at,
					   "job '%s': no route from %s (rank %u) to %s (rank %u)",
					   j->name, f->endpoints[c->src_endpoint].name, c->src,
					   f->endpoints[c->dst_endpoint].name, c->dst);
	}
	return 0;
}

/* gpu: where its ranks are, where that is drawn from the run's seed. */
static int plan_job(struct rs_sim *s, uint32_t job, const uint32_t *gpu, struct sim_coll *k,
		    struct rs_error *e)
{
	const struct rs_job *j = &s->f->jobs[job];
	struct rs_sim_job *r = &s->r->jobs[job];
	struct rs_collective_conf conf = j->collective;
	int err;

	conf.gpu = s->f->places_drawn ? gpu : conf.gpu;
	if (j->kind == RS_JOB_TRAIN) {
		struct rs_train_conf train = j->train;

		train.collective.gpu = s->f->places_drawn ? gpu : train.collective.gpu;
		err = rs_train_plan(s->f, &train, &r->plan, e);
		if (err) {
			rs_error_place(e, j->at);
			return err;
		}
		conf = r->plan.bucket;
		conf.repeat = r->plan.simulated_buckets;
	}
	if (!conf.slots || conf.slots > SLOTS_MAX)
		return rs_error_at(e, -EINVAL, j->at, "slots must be 1 to %d", SLOTS_MAX);
	if (!conf.repeat || conf.repeat > REPEATS_MAX)
		return rs_error_at(e, -EINVAL, j->at, "repeat must be 1 to %d", REPEATS_MAX);
	k->job = job;
	k->repeat = conf.repeat;
	err = rs_coll_plan(s->f, &conf, s->r->arena, &r->coll, e);
	if (err) {
		rs_error_place(e, j->at);
		return err;
	}
	k->plan = r->coll;
	k->inside = rs_arena_alloc(s->arena, k->plan->n_conns + 1u, sizeof(*k->inside));
	return k->inside ? check_routes(s, k, j, e) : rs_error_set(e, -ENOMEM, "out of memory");
}

static int lanes_create(struct rs_sim *s, struct sim_coll *k, struct rs_error *e)
{
	uint32_t n = k->plan->n_ranks, lanes = k->plan->n_lanes;

	k->lanes = rs_arena_alloc(s->arena, (size_t)n * lanes, sizeof(*k->lanes));
	k->rep = rs_arena_alloc(s->arena, n, sizeof(*k->rep));
	k->first = rs_arena_alloc(s->arena, n, sizeof(*k->first));
	k->last = rs_arena_alloc(s->arena, n, sizeof(*k->last));
	if (!k->lanes || !k->rep || !k->first || !k->last)
		return rs_error_set(e, -ENOMEM, "out of memory");
	k->first_lane = s->work->n_lanes;
	s->work->n_lanes += n * lanes;
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t l = 0; l < lanes; l++)
			k->lanes[r * lanes + l].n = k->plan->n_steps(k->plan, r, l);
	if (skipped(s, k->job))
		return 0;
	s->unfinished += n;
	for (uint32_t r = 0; r < n; r++)
		sim_app_schedule(s, rs_fabric_rank_host(s->f, gpu_of(k, r)), k->plan->conf.start,
				 APP_COLL_START, k->job, r);
	return 0;
}

static int place(struct rs_sim *s, struct rs_error *e)
{
	const struct sim_workload *w = s->work;
	struct sim_line *line;
	int err;

	if (!s->o->ideal.placed || s->o->ideal.network)
		return 0;
	line = calloc(w->n_conns + 1u, sizeof(*line));
	if (!line)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < w->n_conns; i++) {
		const struct sim_conn *c = &w->conns[i];

		line[i] = (struct sim_line){.src = c->src_endpoint,
					    .dst = c->dst_endpoint,
					    .job = c->job,
					    .index = c->index,
					    .n_qps = c->nvlink ? 0 : c->n_qps,
					    .flow = c->flow};
	}
	err = sim_placement_create(s, line, w->n_conns, e);
	free(line);
	return err;
}

/* How many of an endpoint's queue pairs are collectives', and flows'. */
struct qp_counts {
	uint32_t coll, flow;
};

/* Each queue pair has its number from the start: it decides paths, and where given ones lead. */
static int number_qps(struct rs_sim *s, struct qp_counts *n, uint32_t *all)
{
	struct sim_workload *w = s->work;

	for (uint32_t i = 0; i < w->n_conns; i++) {
		struct sim_conn *c = &w->conns[i];

		if (c->nvlink)
			continue;
		c->src_qpn = SIM_FIRST_QPN + all[c->src_endpoint];
		all[c->src_endpoint] += c->n_qps;
		c->dst_qpn = SIM_FIRST_QPN + all[c->dst_endpoint];
		all[c->dst_endpoint] += c->n_qps;
		*(c->flow ? &n[c->src_endpoint].flow : &n[c->src_endpoint].coll) += c->n_qps;
		*(c->flow ? &n[c->dst_endpoint].flow : &n[c->dst_endpoint].coll) += c->n_qps;
	}
	w->first_qp = rs_arena_alloc(s->arena, s->f->n_endpoints + 1u, sizeof(*w->first_qp));
	for (uint32_t i = 0; w->first_qp && i < s->f->n_endpoints; i++)
		w->first_qp[i + 1] = w->first_qp[i] + all[i];
	if (w->first_qp)
		w->conn_of = rs_arena_alloc(s->arena, w->first_qp[s->f->n_endpoints] + 1u,
					    sizeof(*w->conn_of));
	if (!w->conn_of)
		return -ENOMEM;
	memset(w->conn_of, 0xff, w->first_qp[s->f->n_endpoints] * sizeof(*w->conn_of));
	for (uint32_t i = 0; i < w->n_conns; i++) {
		const struct sim_conn *c = &w->conns[i];

		if (!c->flow)
			continue;
		w->conn_of[w->first_qp[c->src_endpoint] + c->src_qpn - SIM_FIRST_QPN] = i;
		w->conn_of[w->first_qp[c->dst_endpoint] + c->dst_qpn - SIM_FIRST_QPN] = i;
	}
	return 0;
}

/* So many: what a NIC has room for but never uses must not cost memory, in no run of several. */
static void keep_room_cheap(const struct sim_workload *w)
{
#ifdef M_MMAP_THRESHOLD
	if (w->n_flows > FLOWS_MANY)
		mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

static int nics_create(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	struct qp_counts *n = calloc(f->n_endpoints + 1u, sizeof(*n));
	uint32_t *qps = calloc(f->n_endpoints + 1u, sizeof(*qps));
	int err = n && qps ? number_qps(s, n, qps) : -ENOMEM;

	if (err)
		rs_error_set(e, err, "out of memory");
	keep_room_cheap(s->work);
	err = err ? err : sim_pins_create(s, qps, e);
	for (uint32_t i = 0; !err && i < f->n_endpoints; i++)
		err = sim_host_nic(s, i, qps[i], 64 + 32 * n[i].coll + 4 * n[i].flow, e);
	free(qps);
	free(n);
	return err;
}

static int pin_flow(struct rs_sim *s, const struct sim_conn *c, const struct rs_flow *f,
		    struct rs_error *e)
{
	int err = sim_pin(s, c->dst_endpoint, c->dst_qpn, f->path, e);

	return err ? err : sim_pin(s, c->src_endpoint, c->src_qpn, f->ack_path, e);
}

/* A flow's start beside its connection: qsort() hands nothing on to what compares. */
struct begun {
	rs_time start;
	uint32_t conn;
};

static int by_start(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->conn > y->conn) - (x->conn < y->conn);
}

static void sort_starts(struct rs_sim *s, uint32_t host, struct begun *by)
{
	struct sim_workload *w = s->work;
	uint32_t *starts = w->starts + w->next[host], n = w->end[host] - w->next[host];

	for (uint32_t i = 0; i < n; i++)
		by[i] = (struct begun){s->r->flows[w->conns[starts[i]].index].start, starts[i]};
	qsort(by, n, sizeof(*by), by_start);
	for (uint32_t i = 0; i < n; i++)
		starts[i] = by[i].conn;
}

/* Flows by host and start; each host's first one is scheduled. */
static int list_starts(struct rs_sim *s, struct rs_error *e)
{
	struct sim_workload *w = s->work;
	struct begun *by;
	uint32_t at = 0, most = 0;

	w->starts = rs_arena_alloc(s->arena, w->n_flows + 1u, sizeof(*w->starts));
	w->next = rs_arena_alloc(s->arena, s->n_hosts + 1u, sizeof(*w->next));
	w->end = rs_arena_alloc(s->arena, s->n_hosts + 1u, sizeof(*w->end));
	if (!w->starts || !w->next || !w->end)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < w->n_conns; i++)
		w->end[w->conns[i].src_host] += w->conns[i].flow && !skipped(s, w->conns[i].job);
	for (uint32_t h = 0; h < s->n_hosts; at += w->end[h++])
		w->next[h] = at;
	for (uint32_t h = 0; h < s->n_hosts; h++)
		w->end[h] = w->next[h];
	for (uint32_t i = 0; i < w->n_conns; i++)
		if (w->conns[i].flow && !skipped(s, w->conns[i].job))
			w->starts[w->end[w->conns[i].src_host]++] = i;
	for (uint32_t h = 0; h < s->n_hosts; h++)
		most = w->end[h] - w->next[h] > most ? w->end[h] - w->next[h] : most;
	by = calloc(most + 1u, sizeof(*by));
	if (!by)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t h = 0; h < s->n_hosts; h++) {
		sort_starts(s, h, by);
		s->nodes[h].host->seq = 2 * (uint64_t)w->n_conns;
		next_flow(s, h);
	}
	free(by);
	s->unfinished += at;
	return 0;
}

static int conns_create(struct rs_sim *s, struct rs_error *e)
{
	struct sim_workload *w = s->work;
	int err = 0;

	for (uint32_t i = 0; !err && i < w->n_conns; i++) {
		struct sim_conn *c = &w->conns[i];

		if (c->nvlink) {
			err = inside_path(s, coll_of(s, c->job), c->index, c, e);
			continue;
		}
		err = dma_paths(s, c, e);
		if (!err)
			err = c->flow ? pin_flow(s, c, flow_of(s, c), e) : connect_coll(s, c, e);
	}
	return err ? err : list_starts(s, e);
}

int sim_workload_create(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	struct sim_workload *w = rs_arena_alloc(s->arena, 1, sizeof(*w));
	uint32_t at = 0, flow = 0;
	const uint32_t **gpu;
	int err = 0;

	s->work = w;
	s->r->n_jobs = f->n_jobs;
	s->r->jobs = rs_arena_alloc(s->r->arena, f->n_jobs + 1u, sizeof(*s->r->jobs));
	s->r->several_ccs = s->plant->n_cc > 1;
	if (!w || !s->r->jobs)
		return rs_error_set(e, -ENOMEM, "out of memory");
	w->colls = rs_arena_alloc(s->arena, f->n_jobs + 1u, sizeof(*w->colls));
	w->coll_of_job = rs_arena_alloc(s->arena, f->n_jobs + 1u, sizeof(*w->coll_of_job));
	w->first_flow = rs_arena_alloc(s->arena, f->n_jobs + 1u, sizeof(*w->first_flow));
	if (!w->colls || !w->coll_of_job || !w->first_flow)
		return rs_error_set(e, -ENOMEM, "out of memory");
	gpu = rs_arena_alloc(s->r->arena, f->n_jobs + 1u, sizeof(*gpu));
	if (!gpu)
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (f->places_drawn)
		err = rs_fabric_place(f, s->o->seed, s->r->arena, gpu, e);
	for (uint32_t j = 0; !err && j < f->n_jobs; j++) {
		s->r->jobs[j].conf = &f->jobs[j];
		if (f->jobs[j].kind == RS_JOB_FLOWS) {
			w->n_flows += f->jobs[j].n_flows;
			continue;
		}
		w->coll_of_job[j] = w->n_colls;
		err = plan_job(s, j, gpu[j], &w->colls[w->n_colls++], e);
		if (!err)
			w->n_conns += w->colls[w->n_colls - 1].plan->n_conns;
	}
	if (err)
		return err;
	w->n_conns += w->n_flows;
	w->conns = rs_arena_alloc(s->arena, w->n_conns + 1u, sizeof(*w->conns));
	s->r->n_flows = w->n_flows;
	s->r->flows = rs_arena_alloc(s->r->arena, w->n_flows + 1u, sizeof(*s->r->flows));
	if (!w->conns || !s->r->flows)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t j = 0; j < f->n_jobs && !err; j++)
		if (f->jobs[j].kind == RS_JOB_FLOWS)
			list_flows(s, j, &at, &flow);
		else
			err = list_coll(s, coll_of(s, j), &at);
	if (err)
		return rs_error_set(e, err, "out of memory");
	if ((err = place(s, e)) || (err = nics_create(s, e)) || (err = conns_create(s, e)))
		return err;
	sim_pins_apply(s);
	for (uint32_t i = 0; !err && i < w->n_colls; i++)
		err = lanes_create(s, &w->colls[i], e);
	w->total = s->unfinished;
	return err;
}

double sim_workload_share(const struct rs_sim *s)
{
	return s->work->total ? 1 - (double)s->unfinished / (double)s->work->total : 1;
}

/* ---- Results ---- */

static void collect_coll(struct rs_sim *s, struct sim_coll *k)
{
	struct rs_sim_job *j = &s->r->jobs[k->job];
	rs_time first = 0, last = 0;

	j->start = k->plan->conf.start;
	j->done = !j->failed;
	for (uint32_t r = 0; r < k->plan->n_ranks; r++) {
		if (k->rep[r] < k->repeat)
			j->done = false;
		first = rs_time_max(first, k->first[r]);
		last = rs_time_max(last, k->last[r]);
	}
	j->finish = last;
	j->first = first - j->start;
	j->further = k->repeat > 1 ? (last - first) / (k->repeat - 1) : j->first;
	if (j->conf->kind == RS_JOB_TRAIN && j->done)
		rs_train_evaluate(&j->plan, &j->conf->train, j->first, j->further, &j->train);
}

static int by_when(const void *x, const void *y)
{
	const struct rs_sim_rate *a = x, *b = y;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

static void collect_rates(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_hosts; i++)
		n += s->nodes[i].host ? s->nodes[i].host->n_rates : 0;
	r->rates = n ? rs_arena_alloc(r->arena, n, sizeof(*r->rates)) : NULL;
	for (uint32_t i = 0; r->rates && i < s->n_hosts; i++) {
		const struct sim_host *h = s->nodes[i].host;

		if (!h || !h->n_rates)
			continue;
		memcpy(r->rates + r->n_rates, h->rates, h->n_rates * sizeof(*h->rates));
		r->n_rates += h->n_rates;
	}
	if (r->n_rates)
		qsort(r->rates, r->n_rates, sizeof(*r->rates), by_when);
}

static void deliveries(struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->work->n_conns; i++) {
		struct sim_conn *c = &s->work->conns[i];
		struct rs_sim_flow *fl = c->flow ? &s->r->flows[c->index] : NULL;

		if (fl && c->visible && fl->finish != RS_NEVER)
			fl->delivered = c->visible + s->f->host_params.poll;
	}
}

int sim_workload_combine(struct rs_sim *s)
{
	struct sim_workload *w = s->work;
	struct rs_sim_result *r = s->r;
	int64_t *failed = calloc(r->n_jobs + 1u, sizeof(*failed));
	int err = failed ? 0 : -ENOMEM;

	if (!err && r->n_flows)
		err = sim_ranks_combine(s, RS_RANKS_MIN, r->flows, r->n_flows, sizeof(*r->flows),
					offsetof(struct rs_sim_flow, finish));
	if (!err && w->n_conns)
		err = sim_ranks_combine(s, RS_RANKS_MAX_OF, w->conns, w->n_conns, sizeof(*w->conns),
					offsetof(struct sim_conn, visible));
	for (uint32_t i = 0; !err && i < w->n_colls; i++) {
		struct sim_coll *k = &w->colls[i];
		uint32_t n = k->plan->n_ranks;

		err = sim_ranks_combine(s, RS_RANKS_MAX_OF, k->first, n, sizeof(*k->first), 0);
		if (!err)
			err = sim_ranks_combine(s, RS_RANKS_MAX_OF, k->last, n, sizeof(*k->last),
						0);
		if (!err)
			err = sim_ranks_combine(s, RS_RANKS_MAX_OF, k->rep, n, sizeof(*k->rep), 0);
	}
	for (uint32_t i = 0; i < r->n_jobs && failed; i++)
		failed[i] = r->jobs[i].failed;
	if (!err)
		err = sim_ranks_combine(s, RS_RANKS_SUM, failed, r->n_jobs, sizeof(*failed), 0);
	for (uint32_t i = 0; i < r->n_jobs && !err; i++)
		r->jobs[i].failed = (uint32_t)failed[i];
	free(failed);
	for (uint32_t i = 0; i < r->n_jobs && !err; i++) {
		uint64_t cc[] = {r->jobs[i].cc_cuts, r->jobs[i].cc_increases};

		err = sim_ranks_combine(s, RS_RANKS_SUM, cc, 2, sizeof(*cc), 0);
		r->jobs[i].cc_cuts = cc[0];
		r->jobs[i].cc_increases = cc[1];
	}
	return err;
}

void sim_workload_collect(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;

	for (uint32_t i = 0; i < r->n_jobs; i++) {
		r->jobs[i].done = !r->jobs[i].failed && r->jobs[i].conf->kind == RS_JOB_FLOWS;
		r->jobs[i].start = RS_NEVER;
	}
	deliveries(s);
	collect_rates(s);
	for (uint32_t i = 0; i < r->n_flows; i++) {
		struct rs_sim_job *j = &r->jobs[r->flows[i].job];

		j->start = rs_time_min(j->start, r->flows[i].start);
		if (r->flows[i].finish == RS_NEVER)
			j->done = false;
		else
			j->finish = rs_time_max(j->finish, r->flows[i].finish);
	}
	for (uint32_t i = 0; i < s->work->n_colls; i++)
		collect_coll(s, &s->work->colls[i]);
	for (uint32_t i = 0; i < r->n_jobs; i++) {
		r->sim_time = rs_time_max(r->sim_time, r->jobs[i].finish);
		if (r->jobs[i].start == RS_NEVER)
			r->jobs[i].start = 0;
	}
}

/* ---- What did not end ---- */

static void keep_place(struct rs_sim *s, const struct sim_conn *c)
{
	struct rs_sim_job *j = &s->r->jobs[c->job];
	char place[64];
	uint64_t lost = sim_place_of_pair(s, c->src_endpoint, c->dst_endpoint, place);

	if (lost <= j->lost)
		return;
	j->lost = lost;
	memcpy(j->place, place, sizeof(place));
}

static bool any_lost(const struct rs_sim_counters *c)
{
	return c->drops + c->nic_drops + c->link_losses > 0;
}

static enum rs_sim_end end_of(const struct rs_sim *s, const struct rs_sim_job *j)
{
	if (j->done)
		return RS_SIM_DONE;
	if (j->failed)
		return RS_SIM_FAILED;
	if (s->r->deadlock.n)
		return RS_SIM_DEADLOCK;
	if (s->r->stopped)
		return RS_SIM_STOPPED;
	return !s->f->transport.timeout && any_lost(&s->r->counters) ? RS_SIM_NO_TIMEOUT
								     : RS_SIM_STUCK;
}

static void list_failures(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;

	r->failures = rs_arena_alloc(r->arena, RS_SIM_PLACES, sizeof(*r->failures));
	for (uint32_t i = 0; r->failures && i < s->work->n_conns; i++) {
		const struct sim_conn *c = &s->work->conns[i];
		struct rs_sim_failure *x = &r->failures[r->n_failures];

		if (!c->error || r->n_failures == RS_SIM_PLACES)
			continue;
		*x = (struct rs_sim_failure){.job = c->job,
					     .src = c->src_endpoint,
					     .dst = c->dst_endpoint,
					     .status = c->error};
		x->lost = sim_place_of_pair(s, x->src, x->dst, x->place);
		r->n_failures++;
	}
}

/* Did it keep its job from its end, by what it lost? */
static bool kept_back(const struct rs_sim_job *j, const struct sim_conn *c)
{
	if (j->end == RS_SIM_FAILED)
		return c->error;
	return j->end != RS_SIM_DONE && j->end != RS_SIM_DEADLOCK && j->end != RS_SIM_LEFT_OUT &&
	       !c->nvlink && c->outstanding;
}

void sim_workload_explain(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;
	uint32_t job = UINT32_MAX, looked = 0;

	r->complete = !s->unfinished;
	for (uint32_t i = 0; i < r->n_jobs; i++) {
		if (skipped(s, i)) {
			r->jobs[i].end = RS_SIM_LEFT_OUT;
			continue;
		}
		r->jobs[i].end = end_of(s, &r->jobs[i]);
		r->complete &= r->jobs[i].done;
	}
	if (r->complete)
		return;
	r->sim_time = rs_time_max(r->sim_time, s->now);
	if (s->o->ranks)
		return;
	list_failures(s);
	for (uint32_t i = 0; i < s->work->n_conns; i++) {
		const struct sim_conn *c = &s->work->conns[i];

		looked = c->job == job ? looked : 0;
		job = c->job;
		/* a job's first few: each asks all nodes */
		if (looked < RS_SIM_PLACES && kept_back(&r->jobs[c->job], c)) {
			keep_place(s, c);
			looked++;
		}
	}
}

static int by_time(const void *a, const void *b)
{
	rs_time x = *(const rs_time *)a, y = *(const rs_time *)b;

	return x < y ? -1 : x > y;
}

rs_time rs_sim_fct(const struct rs_sim_result *r, uint32_t job, double percentile)
{
	rs_time *t = malloc((r->n_flows + 1u) * sizeof(*t)), value = RS_NEVER;
	uint32_t n = 0, at;

	for (uint32_t i = 0; t && i < r->n_flows; i++)
		if (r->flows[i].job == job && r->flows[i].finish != RS_NEVER)
			t[n++] = r->flows[i].finish - r->flows[i].start;
	if (n) {
		qsort(t, n, sizeof(*t), by_time);
		at = (uint32_t)(percentile / 100 * n);
		value = t[at < n ? at : n - 1];
	}
	free(t);
	return value;
}
