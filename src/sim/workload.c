/* Jobs as hosts carry them out: flows as a message or several each, collectives as lanes of steps
 * whose receivers are told of each message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/work.h"

enum {
	BUS_PIECE = 1 << 20,
	RECEIVERS_A_TURN = 3, /* looked at when one is opened */
};

static struct sim_coll *coll_of_lane(struct rs_sim *s, uint32_t lane)
{
	uint32_t c = s->work->n_colls;

	while (s->work->colls[--c].first_lane > lane)
		;
	return &s->work->colls[c];
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

	/* each end has one memory: what it reads to send, or writes of what it receives */
	return user & 1 ? &c->dma->to : &c->dma->from;
}

uint32_t sim_qp_inline(struct rs_sim *s, uint64_t user, uint32_t by_nic)
{
	const struct sim_conn *c = conn_of_user(s, user);

	return c->flow && flow_of(s, c)->inline_given ? flow_of(s, c)->inline_bytes : by_nic;
}

void sim_qp_visible(struct rs_sim *s, uint64_t user, rs_time when)
{
	struct sim_conn *c = conn_of_user(s, user);

	if ((user & 1 || c->op == RS_FLOW_READ) && when > c->visible)
		c->visible = when;
}

static void post(struct rs_sim *s, struct sim_conn *c, unsigned q, uint64_t bytes, rs_time now)
{
	struct sim_nic *k = sim_nic_of(s, c->src_endpoint);

	k->transport->post(k->ends.self, c->src_qpn + q, bytes, c->op, !c->flow, now);
}

/* Bytes of part q when a message is dealt over n queue pairs. */
static uint64_t part_bytes(uint64_t bytes, unsigned n, unsigned q)
{
	return bytes / n + (q < bytes % n);
}

static void post_message(struct rs_sim *s, struct sim_conn *c, uint64_t bytes, rs_time now)
{
	if (c->m->posted)
		c->m->posted[c->m->sent % SLOTS_MAX] = now;
	if (c->turns)
		post(s, c, (unsigned)(c->m->sent % c->n_qps), bytes, now);
	for (unsigned q = 0; q < c->n_qps && !c->turns; q++)
		post(s, c, q, part_bytes(bytes, c->n_qps, q), now);
	c->m->sent++;
	sim_nic_kick(s, sim_nic_of(s, c->src_endpoint), now);
}

static void post_next(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	uint64_t message = sim_flow_message(flow_of(s, c));
	uint64_t n = c->to_post < message ? c->to_post : message;

	c->to_post -= n;
	c->outstanding++;
	post(s, c, 0, n, now);
}

static bool may_post(const struct rs_sim *s, const struct sim_conn *c)
{
	return c->to_post && c->outstanding < sim_flow_depth(flow_of(s, c));
}

/* Registers the next message's memory, one message of a flow at a time. */
static void register_next(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	if (c->registers || !may_post(s, c))
		return;
	c->registers = true;
	sim_app_schedule(s, c->src_host, now + flow_of(s, c)->registration, APP_REGISTERED,
			 (uint32_t)(c - s->work->conns), 0);
}

static void post_registered(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	c->registers = false;
	if (c->error) /* it has ended */
		return;
	post_next(s, c, now);
	register_next(s, c, now);
	sim_nic_kick(s, sim_nic_of(s, c->src_endpoint), now);
}

static void post_flow(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	if (flow_of(s, c)->registration) {
		register_next(s, c, now);
		return;
	}
	while (may_post(s, c))
		post_next(s, c, now);
	sim_nic_kick(s, sim_nic_of(s, c->src_endpoint), now);
}

/* The plan that a connection is of, where a job joins several. */
static const struct rs_coll *plan_of(const struct sim_coll *k, const struct sim_conn *c)
{
	return k->plan->part ? k->plan->part[c->index] : k->plan;
}

/*
 * The next piece of the message at the head of a connection inside a host. Through PCIe a piece is
 * issued when the one before has left and its credits are there: what shares the links gets its
 * turn between two.
 */
static void inside_piece(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	struct rs_bus *bus = s->nodes[c->src_host].host->bus;
	const struct rs_path *path = &coll_of(s, c->job)->inside[c->index];
	uint32_t conn = (uint32_t)(c - s->work->conns), n;
	uint64_t *left = &c->m->left[c->m->completed % SLOTS_MAX];
	uint64_t most = path->nvlink ? BUS_PIECE : RS_BUS_PIECE;
	rs_time gone = now, visible = now, hop = plan_of(coll_of(s, c->job), c)->hop;

	if (!bus)
		*left = 0;
	n = (uint32_t)(*left < most ? *left : most);
	if (n) {
		visible = rs_bus_write(bus, path, n, now, &gone);
		gone = rs_bus_write_ready(bus, path, n, rs_time_max(gone, now));
	}
	*left -= n;
	/* NCCL's own time of a hop stands for all latencies of the way */
	if (hop)
		visible = rs_time_max(visible - path->fixed, now) + hop;
	/* of an earlier one the block has told already */
	if (!*left && c->m->sent - c->m->completed == 1)
		visible = rs_time_max(visible, c->m->told);
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

/* A rank's proxy thread posts one message after another, some time after the GPU told it; those
 * that share a core take turns. */
static rs_time proxy_posts(struct rs_sim *s, struct sim_coll *k, const struct sim_conn *c,
			   uint64_t bytes, rs_time now)
{
	const struct rs_coll *plan = plan_of(k, c);
	rs_time *free = &k->posted[rs_coll_proxy(plan, c->m->src_rank)], *served;

	now += rs_coll_proxy_time(plan, bytes);
	*free = rs_time_max(*free, now) + plan->post;
	if (bytes > plan->eager)
		*free += plan->rendezvous;
	else if (plan->eager_rate && bytes > plan->copied)
		*free += (rs_time)(bytes * (uint64_t)(RS_S / plan->eager_rate));
	if (bytes <= plan->eager)
		*free += plan->found;
	*free += rs_coll_inject_time(plan, bytes);
	if (!k->served)
		return *free;
	served = &k->served[c->src_host];
	*served = rs_time_max(*served, *free) + rs_coll_serve_time(plan, bytes);
	return *served;
}

/* When the memory of a message that is to be sent now is registered: a rank does one after another.
 */
static rs_time registered(struct sim_coll *k, const struct sim_conn *c, rs_time now)
{
	rs_time *free = k->registered ? &k->registered[c->m->src_rank] : NULL;

	if (!free || c->nvlink)
		return now;
	*free = rs_time_max(*free, now) + k->plan->conf.registration;
	return *free;
}

static void send_message(struct rs_sim *s, struct sim_coll *k, uint32_t conn, uint64_t bytes,
			 rs_time when)
{
	struct sim_conn *c = &s->work->conns[k->first_conn + conn];
	const struct rs_host_params *hp = &s->f->host_params;
	rs_time now = registered(k, c, when);

	c->outstanding++;
	if (c->nvlink)
		send_inside(s, c, bytes, now);
	else if (k->posted && plan_of(k, c)->post)
		sim_app_schedule(s, c->src_host, proxy_posts(s, k, c, bytes, now), APP_POST,
				 (uint32_t)(c - s->work->conns), bytes);
	else if (sim_nic_of(s, c->src_endpoint)->inside)
		sim_app_schedule(s, c->src_host, now + hp->post + hp->mmio, APP_POST,
				 (uint32_t)(c - s->work->conns), bytes);
	else if (now > when)
		sim_app_schedule(s, c->src_host, now, APP_POST, (uint32_t)(c - s->work->conns),
				 bytes);
	else
		post_message(s, c, bytes, now);
}

/* ---- Lanes ---- */

static uint32_t window_of(const struct sim_coll *k, const struct sim_conn *c)
{
	uint32_t own = plan_of(k, c)->net_window;

	return own && !c->nvlink ? own : k->plan->window;
}

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
	for (unsigned i = 0; i < st->n_send; i++) {
		const struct sim_conn *c = &s->work->conns[k->first_conn + st->send[i].conn];

		if (c->outstanding >= window_of(k, c))
			return false;
	}
	return true;
}

/* A plan that keeps times is told. */
static void mark(struct sim_coll *k, const struct sim_lane *l, bool taken, rs_time now)
{
	uint32_t at = (uint32_t)(l - k->lanes);

	if (k->plan->mark)
		k->plan->mark(k->plan, at / k->plan->n_lanes, at % k->plan->n_lanes, l->i, taken,
			      now);
}

/* Lines with flags pass through a block one by one: the next block need not wait for the last. What
 * a block stores into another GPU is on the links meanwhile, and is told when all is there. */
static bool goes_early(const struct rs_sim *s, const struct sim_coll *k, const struct rs_step *st,
		       unsigned i)
{
	const struct sim_conn *c = &s->work->conns[k->first_conn + st->send[i].conn];

	return (plan_of(k, c)->lines || plan_of(k, c)->stores) && st->compute > 0 && c->nvlink;
}

static void send_early(struct rs_sim *s, struct sim_coll *k, const struct sim_lane *l, rs_time now)
{
	for (unsigned i = 0; i < l->step.n_send; i++) {
		struct sim_conn *c = &s->work->conns[k->first_conn + l->step.send[i].conn];

		if (!goes_early(s, k, &l->step, i))
			continue;
		c->m->told = plan_of(k, c)->stores ? now + l->step.compute + plan_of(k, c)->hop : 0;
		send_message(s, k, l->step.send[i].conn, l->step.send[i].bytes, now);
	}
}

static void step_send(struct rs_sim *s, struct sim_coll *k, struct sim_lane *l, rs_time now)
{
	struct rs_step st = l->step;

	mark(k, l, false, now);
	l->loaded = l->computing = false;
	l->i++;
	for (unsigned i = 0; i < st.n_send; i++)
		if (!goes_early(s, k, &st, i))
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
		l->since = now;
	}
	if (!step_ready(s, k, rank, &l->step))
		return false;
	mark(k, l, true, now);
	if (s->timed)
		sim_watch_step(s, k, rank, lane, now);
	for (unsigned i = 0; i < l->step.n_recv; i++)
		s->work->conns[k->first_conn + l->step.recv[i].conn].m->consumed++;
	if (l->step.compute > 0) {
		l->computing = true;
		send_early(s, k, l, now);
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

uint32_t sim_way(const struct rs_sim *s, uint64_t conn, unsigned q, uint32_t dst, bool back)
{
	return s->o->ideal.placed && !s->o->ideal.network
		       ? sim_placement_way(s, (uint32_t)conn, q, dst, back)
		       : 0;
}

int sim_open_end(struct rs_sim *s, struct sim_conn *c, unsigned q, bool receiver, uint32_t depth,
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
		.op = c->op,
		.tc = tc,
		.cc = rs_plant_qp_cc(s->plant, &s->f->jobs[c->job], flow, c->src_endpoint, tc),
		.sport = sim_source_port(s, id, q),
		.user = user_of(s, c, q, receiver),
		.past = past,
	};
	int err = k->transport->open(k->ends.self, &end);

	if (!err)
		sim_nic_way(k, end.number,
			    sim_way(s, id, q, end.peer, receiver != (c->op == RS_FLOW_READ)));
	return err;
}

static int open_sender(struct rs_sim *s, struct sim_conn *c)
{
	const struct rs_flow *f = flow_of(s, c);

	return sim_open_end(s, c, 0, false, sim_flow_depth(f), f->tc, NULL);
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
	uint32_t n = s->work->numbers[k->endpoint].n;
	uint64_t user;

	for (uint32_t i = SIM_FIRST_QPN; i < SIM_FIRST_QPN + n; i++)
		if (k->transport->user(k->ends.self, i, &user))
			count_cuts(s, k, i, conn_of_user(s, user)->job);
}

static void close_sender(struct rs_sim *s, struct sim_conn *c)
{
	struct sim_nic *k = sim_nic_of(s, c->src_endpoint);

	count_cuts(s, k, c->src_qpn, c->job);
	if (s->timed)
		sim_watch_closing(s, (uint32_t)(c - s->work->conns), c->src_host);
	k->transport->close(k->ends.self, c->src_qpn);
}

struct rs_sim_past sim_past_of(const struct rs_sim *s, const struct sim_conn *c)
{
	const struct rs_flow *f = flow_of(s, c);

	return (struct rs_sim_past){
		.bytes = f->bytes, .piece = sim_flow_message(f), .op = f->op, .kept = c->kept};
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
		struct rs_sim_past past = sim_past_of(s, c);

		k->open_at = at + 1;
		if (!k->transport->rests(k->ends.self, c->dst_qpn, &past))
			continue;
		c->kept = past.kept;
		c->rested = true;
		k->open[at] = k->open[--k->n_open];
	}
}

/* Memory that cannot be had ends the run through an assertion: what there is goes with the flows
 * that are under way. In a session there is a limit, and the packet is dropped. */
static bool open_receiver(struct rs_sim *s, struct sim_nic *k, struct sim_conn *c)
{
	struct rs_sim_past past = sim_past_of(s, c);
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
	/* receives of SENDs: what was taken is posted anew a little after its ACK tells of credits
	 */
	err = sim_open_end(s, c, 0, true, 2 * sim_flow_depth(flow_of(s, c)), flow_of(s, c)->tc,
			   c->rested ? &past : NULL);
	rs_assert(!err || s->session);
	if (err && k->transport->rests)
		k->n_open--;
	return !err;
}

struct sim_conn *sim_flow_to(struct rs_sim *s, uint32_t endpoint, uint32_t qpn)
{
	const struct sim_workload *w = s->work;
	const struct sim_numbers *k = &w->numbers[endpoint];
	uint32_t at = qpn - SIM_FIRST_QPN;
	struct sim_conn *c;

	if (at >= k->n || k->conn[at] == NO_CONN)
		return NULL;
	c = &w->conns[k->conn[at]];
	return c->dst_endpoint == endpoint && c->dst_qpn == qpn ? c : NULL;
}

/* A sender's queue pair that is gone has nothing to hear. */
bool sim_flow_absent(struct rs_sim *s, struct sim_nic *k, uint32_t qpn)
{
	struct sim_conn *c = sim_flow_to(s, k->endpoint, qpn);

	return c && open_receiver(s, k, c);
}

rs_time sim_flow_posted(struct rs_sim *s, const struct sim_conn *c)
{
	const struct rs_host_params *hp = &s->f->host_params;
	bool inside = sim_nic_of(s, c->src_endpoint)->inside;

	return s->r->flows[c->index].start + (inside ? hp->post + hp->mmio : 0);
}

void sim_next_flow(struct rs_sim *s, uint32_t host)
{
	struct sim_workload *w = s->work;
	uint32_t i;
	rs_time when;

	if (w->next[host] == w->end[host])
		return;
	i = w->starts[w->next[host]++];
	when = sim_flow_posted(s, &w->conns[i]);
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
		/* a READ's bytes may be on their way to memory */
		s->r->flows[c->index].finish =
			c->op == RS_FLOW_READ ? rs_time_max(now, c->visible) : now;
		close_sender(s, c);
		sim_finished(s);
		if (s->session)
			sim_session_ended(s, c, RS_WC_SUCCESS);
	}
}

/* A flow begins. Where no queue pair is to be had, a session is told; else the run ends. */
static void start_flow(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	int err = open_sender(s, c);

	rs_assert(!err || s->session);
	if (!err) {
		post_flow(s, c, now);
		return;
	}
	sim_finished(s);
	sim_session_ended(s, c, RS_WC_LOC_QP_OP_ERR);
}

static void sample_rate(struct rs_sim *s, struct sim_conn *c, rs_time now)
{
	const struct sim_nic *k = sim_nic_of(s, c->src_endpoint);
	struct rs_sim_end_now end;

	if (s->r->flows[c->index].finish != RS_NEVER)
		return;
	if (k->transport->look(k->ends.self, c->src_qpn, &end))
		sim_host_rate(s, c->src_host, c->index, end.rate, now);
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
		sim_next_flow(s, host);
		start_flow(s, c, ev->when);
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
	case APP_REGISTERED:
		post_registered(s, c, ev->when);
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
 * message is whole when the slowest has done its part. Where they take messages in turn, the first
 * that is missing is the next one of a queue pair. */
static uint64_t whole_messages(const struct sim_conn *c, const uint64_t *parts)
{
	uint64_t least = UINT64_MAX, n;

	for (unsigned q = 0; q < c->n_qps; q++) {
		n = c->turns ? parts[q] * c->n_qps + q : parts[q];
		least = n < least ? n : least;
	}
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
	uint64_t whole;

	c->m->parts_sent[q]++;
	whole = whole_messages(c, c->m->parts_sent);
	while (c->m->completed < whole) {
		if (c->m->posted)
			sim_watch_message(s, c, now);
		c->m->completed++;
		message_sent(s, c, now);
	}
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
			if (s->session)
				sim_session_ended(s, c, news->status);
		}
		return;
	}
	if (news->arrived && c->flow) /* a SEND: its sender hears of it, too */
		return;
	if (news->arrived)
		part_arrived(s, c, k, q, now);
	else if (c->flow)
		flow_completed(s, c, now);
	else
		part_sent(s, c, q, now);
}

double sim_workload_share(const struct rs_sim *s)
{
	return s->work->total ? 1 - (double)s->unfinished / (double)s->work->total : 1;
}
