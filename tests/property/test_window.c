/*
 * The windows towards peers' sockets, and the transport above them, under the hostile network:
 * loss, reordering, duplicates, processes that do not run, sockets that are full, and a peer that
 * lies in its questions and answers. Whatever comes, queue pairs between honest nodes make
 * progress, no packet goes that a window does not allow, and where the network is clean no socket
 * overflows.
 *
 * test_window [--seed N] [--from N] [--runs N] [--seconds N]: one seed replays exactly.
 */
#include <stdlib.h>
#include <string.h>
#include "live/flow.h"
#include "live/tuning.h"
#include "property/hostile.h"

#define CHECK HOSTILE_CHECK

enum {
	NODES = HOSTILE_NICS,
	LIAR = NODES - 1,
	DEPTH = 4,
	MTU = 4096,
	LENGTH_MAX = 256 << 10,
	SOCKET = 1 << 20,
	QUEUE = 4096, /* of a socket, in packets: more than its bytes hold */
	OUT = 1024,
	BATCH = 64,
	LINUX_MORE = 832, /* what a datagram is charged beside twice its bytes */
	CHARGE = 2 * (MTU + 78) + 1024,
	PD = 1,
};

#define PROGRESS_WITHIN (8 * RS_S)
#define ALL_WITHIN      (300 * RS_S)

struct mad {
	bool answer;
	uint8_t asker, granter;
	uint32_t question, qpn;
	uint64_t bytes;
	bool whole;
};

struct outgoing {
	struct mad mad;
	uint32_t to;
};

struct arrived {
	struct rs_packet *p;
	struct mad mad;
};

struct node {
	struct rs_endpoint end;
	struct world *world;
	uint32_t place;
	struct rs_nic *nic;
	struct rs_flow flow;
	struct rs_grants grants;
	struct arrived queue[QUEUE];
	unsigned head, tail;
	uint64_t used; /* bytes of the socket */
	rs_time run_at, asleep_until;
	struct outgoing out[OUT];
	unsigned out_head, out_tail;
	struct mad sending[OUT]; /* where payloads on their way to the wire lie */
	struct mad heard;        /* the last answer, to be said again */
	unsigned in_batch;
	uint32_t key;
};

struct side {
	uint32_t node, peer;
	struct rs_qp *qp;
	struct rs_cq *cq;
	uint8_t transport;
	uint32_t to_post, posted, done, failed;
	rs_time progress;
	uint64_t acked;
};

enum { SIDES = NODES * (NODES - 1) * 2 + NODES };

struct world {
	struct hostile net;
	struct node node[NODES];
	struct side sides[SIDES];
	unsigned n_sides;
	struct rs_random random;
	bool clean; /* the network neither loses nor reorders, and processes run most of the time */
	bool lies;
	uint32_t starve; /* of 65536 runs of a process, it does not run for a while then */
	rs_time starve_max;
	unsigned stops; /* that are to come: the whole machine, as of a virtual one */
	uint64_t overflows;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return rs_random_below(&w->random, n);
}

static bool honest(const struct world *w, uint32_t node)
{
	return !w->lies || node != LIAR;
}

static uint8_t slot_of(uint32_t node)
{
	return (uint8_t)(node + 1);
}

static struct rs_window_to to_of(uint32_t node)
{
	return rs_flow_to(node, 0, (uint32_t)slot_of(node) << 16);
}

/* ---- Questions and answers: what live/grant.c says in management datagrams ---- */

static void say(struct node *n, uint32_t to, const struct mad *m)
{
	if (n->out_tail - n->out_head == OUT)
		return; /* lost */
	n->out[n->out_tail++ % OUT] = (struct outgoing){*m, to};
}

static uint64_t lie_of_bytes(struct world *w)
{
	static const uint64_t lies[] = {0,       1,        UINT64_MAX, INT64_MAX, UINT64_C(1) << 63,
					1 << 30, 64 << 10, 8 << 20};

	return below(w, 4) ? lies[below(w, 8)] : rs_random_u64(&w->random);
}

/* A peer that lies: of what it says, a word or all. */
static void twist(struct world *w, struct node *n, struct mad *m)
{
	if (below(w, 3) == 0)
		m->bytes = lie_of_bytes(w);
	if (below(w, 4) == 0)
		m->question += below(w, 5) - 2;
	if (below(w, 6) == 0)
		m->question = below(w, 2) ? 0 : (uint32_t)rs_random_u64(&w->random);
	if (below(w, 3) == 0)
		m->whole = !m->whole;
	if (below(w, 4) == 0 && !m->answer)
		m->asker = (uint8_t)below(w, 256);
	if (below(w, 4) == 0 && m->answer)
		m->granter = (uint8_t)below(w, 256);
	if (below(w, 8) == 0)
		*m = n->heard; /* what was true once */
}

static void lie(struct world *w, struct node *n)
{
	uint32_t to = below(w, NODES - 1);
	struct mad m = {.answer = below(w, 2),
			.asker = slot_of(to),
			.granter = slot_of(to),
			.question = below(w, 64),
			.bytes = lie_of_bytes(w),
			.qpn = (uint32_t)slot_of(to) << 16 | below(w, 8)};

	*(m.answer ? &m.granter : &m.asker) = slot_of(n->place);
	twist(w, n, &m);
	say(n, to, &m);
}

static void take_question(struct node *n, uint32_t from, const struct mad *m, rs_time now)
{
	uint8_t own[16] = {(uint8_t)n->place}, peer[16] = {(uint8_t)from};
	struct rs_grant g;

	if (m->granter != slot_of(n->place) || !rs_flow_may_ask(&n->flow, m->qpn, from, m->asker))
		return;
	rs_grants_asked(&n->grants, own, peer, m->asker, m->question, now);
	while (rs_grants_next(&n->grants, &g)) {
		struct mad a = {.answer = true,
				.asker = g.slot,
				.granter = slot_of(n->place),
				.question = g.question,
				.bytes = g.bytes};

		say(n, g.peer[0], &a);
	}
}

static void take_mad(struct node *n, uint32_t from, const struct mad *m, rs_time now)
{
	struct rs_window_to to = rs_flow_to(from, 0, (uint32_t)m->granter << 16);

	if (!m->answer)
		take_question(n, from, m, now);
	else if (m->asker == slot_of(n->place))
		rs_flow_answered(&n->flow, &to, m->question, m->bytes, m->whole);
	if (m->answer)
		n->heard = *m;
}

static struct rs_packet *send_mad(struct node *n)
{
	struct world *w = n->world;
	struct outgoing *o = &n->out[n->out_head % OUT];
	struct mad *m = &n->sending[n->out_head++ % OUT];
	struct rs_packet *p = rs_pool_alloc(&w->net.lists[n->place]);

	CHECK(p);
	*m = o->mad;
	if (!honest(w, n->place))
		twist(w, n, m);
	memset(p, 0, sizeof(*p));
	p->next = RS_NO_PACKET;
	p->opcode = RS_UD | RS_OP_SEND_ONLY;
	p->src = n->place;
	p->dst = o->to;
	p->dest_qp = (uint32_t)slot_of(o->to) << 16 | 0xffff;
	p->frame_bytes = 330;
	p->payload = (const uint8_t *)m;
	p->payload_bytes = sizeof(*m);
	return p;
}

/* ---- A node: an endpoint of the network ---- */

static struct node *node_of(const struct rs_endpoint *e)
{
	return (struct node *)(void *)(uintptr_t)e;
}

static void ask(struct node *n, rs_time now)
{
	struct rs_window_question q;

	n->in_batch = 0;
	while (rs_window_ask(&n->flow.window, now, &q)) {
		struct mad m = {.asker = slot_of(n->place),
				.granter = q.to.slot,
				.question = q.number,
				.qpn = q.qpn};

		CHECK(q.number != 0);
		n->world->net.count.asked++;
		say(n, q.to.path, &m);
	}
}

/* No packet goes that its window does not allow. One of UD may, each time that its queue pair turns
 * to a peer whose window is closed: where it goes is known only when it goes. */
static void count_out(struct node *n, struct rs_packet *p, rs_time now)
{
	struct rs_window *w = &n->flow.window;
	struct rs_window_to to = to_of(p->dst);
	const struct rs_window_peer *peer = rs_window_find(w, &to);
	bool datagram = (p->opcode & 0xe0) == RS_UD;
	uint64_t before = peer ? peer->charged : 0, allowed;
	bool closed = peer && peer->closed;

	allowed = peer ? rs_window_bytes(w, peer) : w->tuning->unknown_bytes;
	rs_flow_before(&n->flow, p, &to, now);
	rs_flow_sent(&n->flow, p, below(n->world, 4) != 0, now);
	peer = rs_window_find(w, &to);
	if (!peer || peer->charged <= before || datagram || before < allowed)
		return;
	/* one loose packet goes though requests fill the window: what they wait for may be behind
	 * it; and one request, which asks for an ACK, though the window was made smaller */
	if (rs_window_kind(p) == RS_WINDOW_ACKED)
		CHECK(p->bth_flags & RS_BTH_ACKREQ && peer->closed && !closed);
	else
		CHECK(peer->loose.sent - peer->loose.gone <= CHARGE);
}

static struct rs_packet *tx(struct rs_endpoint *e, uint8_t held, rs_time now, rs_time *again)
{
	struct node *n = node_of(e);
	struct rs_packet *p;

	if (now < n->asleep_until) {
		*again = n->asleep_until;
		return NULL;
	}
	if (n->out_head != n->out_tail)
		return send_mad(n);
	p = rs_nic_tx(n->nic, held, now, again);
	if (p)
		count_out(n, p, now);
	if (!p || ++n->in_batch == BATCH)
		ask(n, now);
	if (!p && n->out_head != n->out_tail)
		return send_mad(n);
	return p;
}

static uint32_t charge_of(const struct rs_packet *p)
{
	return 2u * p->frame_bytes + LINUX_MORE;
}

static void rx(struct rs_endpoint *e, struct rs_packet *p, rs_time now)
{
	struct node *n = node_of(e);
	struct arrived *a = &n->queue[n->tail % QUEUE];

	if (n->used + charge_of(p) > SOCKET) {
		n->world->overflows += honest(n->world, n->place);
		rs_pool_free(&n->world->net.lists[n->place], p);
		return;
	}
	CHECK(n->tail - n->head < QUEUE);
	a->p = p;
	if ((p->dest_qp & 0xffff) == 0xffff && p->payload) {
		memcpy(&a->mad, p->payload, sizeof(a->mad));
	}
	n->tail++;
	n->used += charge_of(p);
	if (n->run_at == RS_NEVER)
		n->run_at =
			rs_time_max(n->asleep_until, now + (rs_time)below(n->world, 20000) * RS_NS);
}

/* All that lies in the socket, or, as live/ reads it when packets come singly, one. */
static void run_process(struct node *n, rs_time now)
{
	struct world *w = n->world;
	unsigned upto = below(w, 4) ? n->tail : n->head + (n->head != n->tail);

	n->run_at = upto == n->tail ? RS_NEVER : now + 10 * RS_US;
	for (; n->head != upto; n->head++) {
		struct arrived *a = &n->queue[n->head % QUEUE];

		n->used -= charge_of(a->p);
		if ((a->p->dest_qp & 0xffff) == 0xffff) {
			if (!a->p->corrupt)
				take_mad(n, a->p->src, &a->mad, now);
			rs_pool_free(&w->net.lists[n->place], a->p);
			continue;
		}
		if (rs_opcodes[a->p->opcode].flags & RS_F_READ &&
		    rs_opcodes[a->p->opcode].flags & RS_F_REQUEST) {
			const struct rs_qp *qp = rs_nic_find_qp(n->nic, a->p->dest_qp);
			struct rs_window_to to = to_of(a->p->src);

			if (qp)
				rs_flow_join(&n->flow, qp, &to, false);
		}
		rs_flow_rx(&n->flow, a->p, now);
	}
	CHECK(n->head != n->tail || n->used == 0);
	if (!honest(w, n->place) && below(w, 4) == 0)
		lie(w, n);
	if (below(w, 65536) < w->starve)
		n->asleep_until =
			now + (rs_time)below(w, (uint32_t)(w->starve_max / RS_US)) * RS_US;
}

static rs_time deadline(const struct rs_endpoint *e)
{
	const struct node *n = node_of(e);
	return rs_time_max(rs_time_min(rs_flow_deadline(&n->flow), n->run_at), n->asleep_until);
}

static void expire(struct rs_endpoint *e, rs_time now)
{
	struct node *n = node_of(e);

	if (now < n->asleep_until)
		return;
	if (n->run_at <= now)
		run_process(n, now);
	if (now < n->asleep_until)
		return;
	rs_flow_expire(&n->flow, now);
	if (n->flow.window.due != RS_WINDOW_NONE)
		ask(n, now);
}

static const struct rs_endpoint_ops ops = {
	.tx = tx, .rx = rx, .deadline = deadline, .expire = expire};

static void make_node(struct world *w, uint32_t place)
{
	struct node *n = &w->node[place];
	struct rs_nic_config c = {.endpoint = place,
				  .line_rate = 100 * RS_GBPS,
				  .max_qps = 8,
				  .max_mrs = 2,
				  .max_cqs = 8,
				  .first_qpn = (uint32_t)slot_of(place) << 16,
				  .free = &w->net.lists[place],
				  .cnp_tos = 48 << 2,
				  .ack_every = rs_live_tuning.ack_every,
				  .ack_bytes = rs_live_tuning.ack_bytes,
				  .min_rto = rs_live_tuning.min_rto,
				  .rto_late = rs_live_tuning.rto_late,
				  .rto_grace = rs_live_tuning.rto_grace,
				  .qp_counters = true};
	struct rs_window_config wc = {.max_qps = 8, .first_question = 1u << below(w, 32)};

	n->end.ops = &ops;
	n->world = w;
	n->place = place;
	n->run_at = RS_NEVER;
	CHECK(!rs_nic_create(&c, &n->nic, NULL));
	CHECK(!rs_flow_init(&n->flow, &wc));
	rs_flow_bind(&n->flow, n->nic, c.first_qpn);
	rs_grants_init(&n->grants, NULL, SOCKET);
	CHECK(!rs_nic_reg_mr(n->nic, PD, 0, LENGTH_MAX, 15, NULL, &n->key));
	hostile_join(&w->net, place, &n->end);
}

/* ---- Queue pairs ---- */

static void make_side(struct world *w, uint32_t node, uint32_t peer, uint8_t transport)
{
	struct side *s = &w->sides[w->n_sides++];
	struct rs_qp_init init = {.pd = PD,
				  .max_send_wr = DEPTH,
				  .max_send_sge = 1,
				  .max_recv_sge = 1,
				  .transport = transport,
				  .sq_sig_all = true};

	*s = (struct side){.node = node, .peer = peer, .transport = transport};
	s->to_post = 2 + below(w, 10);
	CHECK(!rs_nic_create_cq(w->node[node].nic, 2 * DEPTH, &s->cq));
	init.send_cq = init.recv_cq = s->cq;
	CHECK(!rs_nic_create_qp(w->node[node].nic, &init, &s->qp));
}

static void connect(struct world *w, struct side *s, const struct side *peer)
{
	struct rs_qp_attr a = {.dest_endpoint = s->peer,
			       .dest_qpn = peer ? rs_qp_num(peer->qp) : 0,
			       .path_mtu = MTU,
			       .pkey = 0xffff,
			       .timeout = 14,
			       .retry_cnt = 7,
			       .rnr_retry = 7,
			       .max_rd_atomic = 4,
			       .max_dest_rd_atomic = 4,
			       .access = 15,
			       .qkey = 5};

	CHECK(!rs_qp_connect(w->node[s->node].nic, s->qp, &a, w->net.now));
}

static void make_sides(struct world *w)
{
	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t k = i + 1; k < NODES; k++) {
			make_side(w, i, k, RS_RC);
			make_side(w, k, i, RS_RC);
			make_side(w, i, k, RS_UC);
			make_side(w, k, i, RS_UC);
		}
		make_side(w, i, (i + 1) % NODES, RS_UD);
	}
	for (unsigned i = 0; i < w->n_sides; i++) {
		struct side *s = &w->sides[i];
		const struct side *peer = NULL;

		for (unsigned k = 0; k < w->n_sides; k++)
			if (w->sides[k].node == s->peer && w->sides[k].peer == s->node &&
			    w->sides[k].transport == s->transport && s->transport != RS_UD)
				peer = &w->sides[k];
		connect(w, s, peer);
	}
}

/* Of a node, the queue pair that hears datagrams; in worlds where all may happen any number. Those
 * that name none have no answer to their questions. */
static uint32_t hearing(struct world *w, uint32_t node)
{
	uint32_t number = (uint32_t)slot_of(node) << 16 | below(w, 8);

	for (unsigned i = 0; w->clean && i < w->n_sides; i++)
		if (w->sides[i].node == node && w->sides[i].transport == RS_UD)
			number = rs_qp_num(w->sides[i].qp);
	return number;
}

static void post(struct world *w, struct side *s)
{
	struct node *n = &w->node[s->node];
	struct rs_sge sge = {.length = 1 + below(w, LENGTH_MAX), .lkey = n->key};
	struct rs_send_wr wr = {.op = RS_WR_WRITE, .n_sge = 1, .sge = &sge};
	struct rs_window_to to = to_of(s->peer);

	wr.rkey = w->node[s->peer].key;
	if (s->transport == RS_RC && below(w, 3) == 0)
		wr.op = RS_WR_READ;
	if (s->transport == RS_UD) {
		uint32_t peer = (s->node + 1 + below(w, NODES - 1)) % NODES;

		sge.length = 1 + below(w, MTU);
		wr.op = RS_WR_SEND;
		wr.ah.endpoint = peer;
		wr.dest_qpn = hearing(w, peer);
		wr.qkey = 5;
	}
	CHECK(!rs_qp_post_send(n->nic, s->qp, &wr, w->net.now));
	if (s->transport != RS_UD)
		rs_flow_join(&n->flow, s->qp, &to, s->transport == RS_UC);
	if (s->posted == s->done)
		s->progress = w->net.now;
	s->posted++;
	s->to_post--;
	w->net.count.messages++;
}

/* A side that has work does some of it within a time. */
static void watch(struct world *w, struct side *s)
{
	uint64_t acked = rs_qp_unacked(s->qp);
	struct rs_cqe e;

	while (rs_cq_poll(s->cq, &e, 1)) {
		if (e.op >= RS_WR_RECV)
			continue;
		s->done++;
		s->progress = w->net.now;
		if (e.status != RS_WC_SUCCESS) {
			s->failed++;
			s->to_post = 0;
			CHECK(!honest(w, s->node) || !honest(w, s->peer));
		}
	}
	if (acked != s->acked)
		s->progress = w->net.now;
	s->acked = acked;
	if (honest(w, s->node) && honest(w, s->peer) && s->done < s->posted)
		CHECK(w->net.now - s->progress < PROGRESS_WITHIN);
}

static bool work(struct world *w)
{
	bool any = false;

	for (unsigned i = 0; i < w->n_sides; i++) {
		struct side *s = &w->sides[i];
		struct node *n = &w->node[s->node];

		watch(w, s);
		if (w->net.now < n->asleep_until)
			continue;
		while (s->to_post && s->posted - s->done < DEPTH &&
		       (s->transport != RS_UD || s->posted < s->done + 2)) {
			post(w, s);
			hostile_wake(&w->net, s->node);
		}
		any |= s->done < s->posted || s->to_post;
	}
	return any;
}

/* ---- A run ---- */

/* No process runs for a while, whatever is on its way arrives; then all do, in any order. Not for
 * just as long as a timeout: one that is found in time is believed. */
static void stop_machine(struct world *w)
{
	rs_time for_ms = below(w, 2) ? 50 + below(w, 100) : 600 + below(w, 2000);
	rs_time end = w->net.now + for_ms * RS_MS;

	w->stops--;
	for (uint32_t i = 0; i < NODES; i++)
		w->node[i].asleep_until = end + (rs_time)below(w, 5000) * RS_US;
}

static void draw_world(struct world *w, uint64_t seed)
{
	static const rs_time far[] = {RS_US, 50 * RS_US, 2 * RS_MS, 8 * RS_MS, 30 * RS_MS};

	w->random = rs_random_stream(seed, 1, 0x57494e);
	CHECK(!hostile_init_bare(&w->net, seed));
	w->clean = below(w, 3) == 0;
	w->lies = below(w, 2);
	w->net.latency = w->clean ? RS_US : far[below(w, 5)];
	w->net.jitter = (1 + (rs_time)below(w, 200)) * RS_US;
	w->starve = below(w, 3) ? below(w, 400) : 0;
	w->stops = w->clean && below(w, 2) ? below(w, 6) : 0;
	w->starve_max = w->clean ? 15 * RS_MS : (1 + (rs_time)below(w, 400)) * RS_MS;
	if (w->clean)
		return;
	w->net.rates = (struct hostile_rates){.lose = below(w, 2) ? below(w, 1500) : 0,
					      .duplicate = below(w, 2000),
					      .delay = below(w, 2) ? below(w, 20000) : 0,
					      .corrupt = below(w, 300),
					      .dark = below(w, 2) ? below(w, 20) : 0};
}

/* What is on its way is known to have arrived, or given up; honest shares are what they should be.
 */
static void check_end(struct world *w)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *n = &w->node[i];

		rs_window_check(&n->flow.window);
		CHECK(n->grants.n <= RS_GRANT_ASKERS);
		for (uint32_t k = 0; honest(w, i) && k < NODES; k++) {
			struct rs_window_to to = to_of(k);
			const struct rs_window_peer *p = rs_window_find(&n->flow.window, &to);

			if (!p || !honest(w, k))
				continue;
			CHECK(p->charged == 0 && !p->closed && !p->loose.closed);
			if (w->clean && p->ours)
				CHECK(p->window >= SOCKET / 8 * 5 / (NODES - 1));
		}
	}
	/* a liar's questions have no answers, so it takes its peers for strangers and floods them
	 */
	if (!w->clean || w->lies)
		return;
	CHECK(w->overflows == 0);
	/* what was not lost is not sent again, however late a process comes to its ACKs */
	for (uint32_t i = 0; i < NODES; i++)
		CHECK(rs_nic_get_counters(w->node[i].nic)->retransmitted_packets == 0);
}

static void free_world(struct world *w)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *n = &w->node[i];

		for (; n->head != n->tail; n->head++)
			rs_pool_free(&w->net.lists[i], n->queue[n->head % QUEUE].p);
		rs_flow_fini(&n->flow);
		rs_nic_destroy(n->nic);
	}
	hostile_fini(&w->net);
}

static void run(uint64_t seed, struct hostile_counts *sum)
{
	struct world *w = calloc(1, sizeof(*w));
	unsigned steps = 0;
	rs_time quiet;

	CHECK(w);
	draw_world(w, seed);
	for (uint32_t i = 0; i < NODES; i++)
		make_node(w, i);
	make_sides(w);
	while (work(w)) {
		CHECK(w->net.now < ALL_WITHIN);
		CHECK(hostile_used(&w->net) < NODES * QUEUE);
		if (!hostile_step(&w->net)) /* nothing is left to happen, and work is: a deadlock */
			CHECK(!work(w));
		if (w->stops && below(w, 4000) == 0)
			stop_machine(w);
		if (steps++ % 256 == 0)
			for (uint32_t i = 0; i < NODES; i++)
				rs_window_check(&w->node[i].flow.window);
	}
	w->net.count.virtual_us = (uint64_t)(w->net.now / RS_US);
	for (quiet = w->net.now + 5 * RS_S; w->net.now < quiet && hostile_step(&w->net);)
		;
	check_end(w);
	w->net.count.overflows = w->overflows;
	for (uint32_t i = 0; i < NODES; i++)
		w->net.count.resent += rs_nic_get_counters(w->node[i].nic)->retransmitted_packets;
	hostile_add(sum, &w->net.count);
	free_world(w);
	free(w);
}

int main(int argc, char **argv)
{
	return hostile_main(argc, argv, "test_window", 800, run);
}
