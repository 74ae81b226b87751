/*
 * Every service at once under the hostile network: RC with and without SRQs, UC, UD and XRC, with
 * memory windows, invalidation, fences, inline data, READs, atomics, ATOMIC WRITE, RNR, errors,
 * flushes and QPs destroyed with packets in flight.
 *
 * What must hold: reliable messages arrive once and in order; unreliable ones arrive whole or not
 * at all; every post completes once, in order; no byte outside what was granted changes; no packet
 * is lost to the slab.
 *
 * test_services [--seed N] [--from N] [--runs N] [--seconds N]: one seed replays exactly.
 */
#include <stdlib.h>
#include <string.h>
#include "property/hostile.h"

enum kind { RC, RC_SHARED, UC, UD, UD_SHARED, XRC, KINDS };

enum {
	LINKS = 5,
	SIDES = 2 * LINKS,
	DEPTH = 8,
	SLOTS = 16, /* receives of a pool */
	SLOT = 13 * 1024,
	GUARD = 256,
	AREA = 8192,
	INLINE = 300,
	SENT = 64, /* messages a connection; then it rests */
	PD = 7,
	DOMAIN = 3,
	QKEY = 0x5151,
	/* A side's memory: sends, then guard, area, guard, then a word for atomics. */
	AREA_AT = DEPTH * SLOT + GUARD,
	WORD_AT = AREA_AT + AREA + GUARD,
	SIDE_BYTES = WORD_AT + 8,
	POOLS = SIDES + 2 * HOSTILE_NICS,
};

#define CHECK HOSTILE_CHECK

/* Receives: of one QP, or of an SRQ that several share. */
struct pool {
	uint32_t nic;
	struct rs_srq *srq;
	struct rs_qp *qp;
	uint8_t *memory;
	uint64_t va;
	uint32_t key;
	bool posted[SLOTS];
};

struct message {
	uint64_t id;
	uint32_t length, key;
	uint8_t op;
	bool forbidden; /* must not arrive */
	bool window;    /* a WRITE through the peer's window */
};

enum window_state { FREE, BINDING, BOUND, LEAVING };

struct side {
	enum kind kind;
	uint32_t nic, index;
	struct rs_qp *qp;
	struct rs_cq *cq;
	struct side *peer;
	struct pool *pool;
	uint8_t *memory, *model; /* the model is of AREA and its guards */
	uint64_t va;
	uint32_t key, window, region;
	enum window_state state;
	uint64_t posted, completed, due, received;
	uint32_t window_writes; /* of this side, not completed */
	struct message sent[SENT];
	uint32_t arrivals[SENT]; /* numbers of what the peer shall receive, in order */
	uint64_t word;           /* of atomics aimed at this side */
	bool broken, last_wqe;
};

struct world {
	struct hostile net;
	struct rs_random random;
	struct side sides[SIDES];
	struct pool pools[POOLS];
	struct rs_cq *xrc_cq[HOSTILE_NICS];
	uint32_t mtu;
	bool gentle;
	bool uc; /* some link is UC, which takes whatever comes from its peer's address for its own
		  */
	uint32_t rebuilt;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return rs_random_below(&w->random, n);
}

static uint8_t byte_of(uint64_t id, uint32_t i)
{
	return (uint8_t)(id * 31 + i * 7 + (i >> 8));
}

static bool unreliable(const struct side *s)
{
	return s->kind == UC || s->kind == UD || s->kind == UD_SHARED;
}

static bool datagrams(const struct side *s)
{
	return s->kind == UD || s->kind == UD_SHARED;
}

/* The receiving end of XRC sends nothing. */
static bool sends(const struct side *s)
{
	return s->kind != XRC || !(s->index & 1);
}

static struct rs_nic *nic_of(struct world *w, const struct side *s)
{
	return w->net.nics[s->nic];
}

/* ---- Posting ---- */

static uint32_t random_length(struct world *w, const struct side *s)
{
	if (datagrams(s))
		return below(w, w->mtu + 1);
	switch (below(w, 4)) {
	case 0:
		return below(w, 4);
	case 1:
		return w->mtu * below(w, 3) + below(w, 3);
	default:
		return below(w, 12 * 1024);
	}
}

static uint8_t random_op(struct world *w, const struct side *s)
{
	static const uint8_t reliable[] = {RS_WR_SEND, RS_WR_SEND_IMM,  RS_WR_WRITE,
					   RS_WR_READ, RS_WR_WRITE_IMM, RS_WR_FETCH_ADD};

	if (datagrams(s))
		return RS_WR_SEND_IMM;
	if (s->kind == UC)
		return below(w, 3) ? RS_WR_SEND_IMM : RS_WR_WRITE;
	if (s->kind != XRC && !below(w, 8))
		return RS_WR_ATOMIC_WRITE;
	return reliable[below(w, 6)];
}

static bool consumes(uint8_t op)
{
	return op <= RS_WR_SEND_IMM || op == RS_WR_WRITE_IMM || op == RS_WR_SEND_INV;
}

static void aim(struct world *w, struct side *s, struct message *m, struct rs_send_wr *wr)
{
	uint32_t offset = below(w, AREA - (m->length < AREA ? m->length : 0));
	bool writes = m->op == RS_WR_WRITE || m->op == RS_WR_WRITE_IMM;

	if (m->op == RS_WR_ATOMIC_WRITE) {
		offset &= ~7u;
		writes = true;
	}
	wr->remote_va = s->peer->va + AREA_AT + offset;
	wr->rkey = m->key = s->peer->key;
	if (m->op == RS_WR_FETCH_ADD)
		wr->remote_va = s->peer->va + WORD_AT;
	if (m->op == RS_WR_WRITE && s->peer->state == BOUND && below(w, 2)) {
		wr->rkey = m->key = s->peer->window;
		m->window = true;
		s->window_writes++;
	}
	if (s->kind == XRC)
		wr->srqn = rs_srq_num(s->peer->pool->srq);
	if (datagrams(s)) {
		wr->ah = (struct rs_ah){.endpoint = s->peer->nic, .tos = RS_ECN_ECT0};
		wr->dest_qpn = rs_qp_num(s->peer->qp);
		m->forbidden = !below(w, 8);
		wr->qkey = m->forbidden ? QKEY + 1 : QKEY;
	}
	for (uint32_t i = 0; writes && i < m->length; i++)
		s->peer->model[GUARD + offset + i] = byte_of(m->id, i);
}

static void post(struct world *w, struct side *s, struct message m)
{
	uint32_t at = (uint32_t)(s->posted % DEPTH) * SLOT;
	struct rs_sge g = {.va = s->va + at, .length = m.length, .lkey = s->key};
	struct rs_send_wr wr = {
		.wr_id = s->posted,
		.op = m.op,
		.flags = (uint8_t)(below(w, 8) | RS_WR_SIGNALED),
		.n_sge = 1,
		.sge = &g,
		.imm = m.op == RS_WR_SEND_INV ? m.key : (uint32_t)s->posted,
		.swap_add = 3,
	};
	uint8_t copy[INLINE];

	if (m.op == RS_WR_SEND_INV && s->kind == XRC)
		wr.srqn = rs_srq_num(s->peer->pool->srq);
	if (m.op != RS_WR_SEND_INV)
		aim(w, s, &m, &wr);
	for (uint32_t i = 0; m.op != RS_WR_READ && m.op != RS_WR_FETCH_ADD && i < m.length; i++)
		s->memory[at + i] = byte_of(m.id, i);
	if (m.length <= INLINE && m.op != RS_WR_READ && m.op != RS_WR_FETCH_ADD && below(w, 2)) {
		memcpy(copy, s->memory + at, m.length);
		g = (struct rs_sge){.va = (uintptr_t)copy, .length = m.length};
		wr.flags |= RS_WR_INLINE;
	}
	CHECK(!rs_qp_post_send(nic_of(w, s), s->qp, &wr, w->net.now));
	memset(copy, 0xcc, sizeof(copy));
	if (consumes(m.op) && !unreliable(s))
		s->peer->arrivals[s->peer->due++] = (uint32_t)s->posted;
	s->sent[s->posted++] = m;
	w->net.count.messages++;
	hostile_wake(&w->net, s->nic);
}

static void post_message(struct world *w, struct side *s)
{
	struct message m = {.id = rs_random_u64(&w->random), .op = random_op(w, s)};

	m.length = m.op == RS_WR_FETCH_ADD || m.op == RS_WR_ATOMIC_WRITE ? 8 : random_length(w, s);
	if (m.op == RS_WR_READ && m.length >= AREA)
		m.length = AREA - 1;
	if (m.op == RS_WR_WRITE || m.op == RS_WR_WRITE_IMM)
		m.length %= AREA;
	post(w, s, m);
}

static void post_receive(struct world *w, struct pool *p)
{
	uint32_t i = below(w, SLOTS);
	uint32_t first = below(w, SLOT);
	struct rs_sge g[2] = {{p->va + (uint64_t)i * SLOT, first, p->key},
			      {p->va + (uint64_t)i * SLOT + first, SLOT - first, p->key}};
	struct rs_recv_wr wr = {.wr_id = i, .n_sge = 2, .sge = g};

	if (p->posted[i])
		return;
	if (p->srq)
		CHECK(!rs_srq_post_recv(w->net.nics[p->nic], p->srq, &wr));
	else
		CHECK(!rs_qp_post_recv(w->net.nics[p->nic], p->qp, &wr));
	p->posted[i] = true;
}

/* ---- Windows: the owner binds and invalidates, the peer writes through and invalidates ---- */

static void post_local(struct world *w, struct side *s, struct rs_send_wr wr)
{
	wr.wr_id = s->posted;
	wr.flags = RS_WR_SIGNALED;
	CHECK(!rs_qp_post_send(nic_of(w, s), s->qp, &wr, w->net.now));
	s->sent[s->posted++] = (struct message){.op = wr.op};
	hostile_wake(&w->net, s->nic);
}

static void work_window(struct world *w, struct side *s)
{
	struct rs_send_wr bind = {
		.op = RS_WR_BIND_MW,
		.rkey = (s->window & ~0xffu) | ((s->window + 1) & 0xff),
		.bind = {.va = s->va + AREA_AT,
			 .length = AREA,
			 .mr_key = s->region,
			 .access = RS_ACCESS_REMOTE_WRITE},
	};

	if (s->state == FREE) {
		post_local(w, s, bind);
		s->window = bind.rkey;
		s->state = BINDING;
		return;
	}
	if (s->state != BOUND || (w->gentle && s->peer->window_writes))
		return;
	s->state = LEAVING;
	if (below(w, 2) || s->peer->posted - s->peer->completed == DEPTH ||
	    s->peer->posted == SENT || s->due == SENT)
		post_local(w, s, (struct rs_send_wr){.op = RS_WR_LOCAL_INV, .imm = s->window});
	else
		post(w, s->peer,
		     (struct message){
			     .id = 5, .op = RS_WR_SEND_INV, .key = s->window, .length = 9});
}

/* ---- Completions ---- */

static void check_sent(struct world *w, struct side *s, const struct rs_cqe *e)
{
	struct message *m = &s->sent[s->completed];
	uint64_t old;

	CHECK(s->completed < s->posted && e->wr_id == s->completed && e->op == m->op);
	s->completed++;
	s->window_writes -= m->window;
	if (e->status != RS_WC_SUCCESS) {
		CHECK(!w->gentle);
		s->broken = true;
		return;
	}
	CHECK(!s->broken);
	if (m->op == RS_WR_BIND_MW)
		s->state = BOUND;
	if (m->op == RS_WR_LOCAL_INV)
		s->state = FREE;
	if (m->op == RS_WR_FETCH_ADD && w->gentle) {
		memcpy(&old, s->memory + (e->wr_id % DEPTH) * SLOT, 8);
		CHECK(old == s->peer->word);
		s->peer->word += 3;
	}
}

static void check_payload(const struct pool *p, const struct rs_cqe *e, const struct message *m,
			  uint32_t skip)
{
	const uint8_t *at = p->memory + e->wr_id * SLOT + skip;

	CHECK(e->bytes == m->length + skip);
	for (uint32_t i = 0; i < m->length; i++)
		CHECK(at[i] == byte_of(m->id, i));
}

static void check_received(struct world *w, struct side *s, const struct rs_cqe *e)
{
	const struct message *m;

	CHECK(e->wr_id < SLOTS && s->pool->posted[e->wr_id]);
	s->pool->posted[e->wr_id] = false;
	if (e->status != RS_WC_SUCCESS) {
		CHECK(!w->gentle);
		s->broken = true;
		return;
	}
	if (unreliable(s)) {
		CHECK(e->has_imm && e->imm < s->peer->posted);
		m = &s->peer->sent[e->imm];
		CHECK(m->op == RS_WR_SEND_IMM && !m->forbidden);
		CHECK(!datagrams(s) || e->src_qp == rs_qp_num(s->peer->qp));
		check_payload(s->pool, e, m, datagrams(s) ? RS_GRH_BYTES : 0);
		return;
	}
	CHECK(s->received < s->due);
	m = &s->peer->sent[s->arrivals[s->received++]];
	CHECK(!e->has_imm || e->imm == s->arrivals[s->received - 1]);
	CHECK(e->op == (m->op == RS_WR_WRITE_IMM ? RS_WR_RECV_WRITE_IMM : RS_WR_RECV));
	if (m->op == RS_WR_SEND_INV) {
		CHECK(e->flags == RS_CQE_INV && e->imm == m->key);
		s->state = FREE;
	}
	if (m->op == RS_WR_WRITE_IMM)
		CHECK(e->bytes == m->length);
	else
		check_payload(s->pool, e, m, 0);
}

static void poll_cq(struct world *w, uint32_t nic, struct rs_cq *cq)
{
	struct rs_cqe e;

	while (rs_cq_poll(cq, &e, 1)) {
		struct rs_qp *qp = rs_nic_find_qp(w->net.nics[nic], e.qpn);
		struct side *s;

		CHECK(qp);
		s = &w->sides[rs_qp_get_user(qp)];
		if (e.op >= RS_WR_RECV)
			check_received(w, s, &e);
		else
			check_sent(w, s, &e);
	}
}

static void poll_events(struct world *w, uint32_t nic)
{
	struct rs_event e;

	while (rs_nic_poll_event(w->net.nics[nic], &e)) {
		CHECK(e.type != RS_EVENT_CQ_ERR && e.type != RS_EVENT_SRQ_LIMIT);
		CHECK(!w->gentle || e.type == RS_EVENT_COMM_EST);
		if (e.type == RS_EVENT_LAST_WQE)
			w->sides[rs_qp_get_user(e.qp)].last_wqe = true;
	}
}

static void poll(struct world *w)
{
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		rs_nic_check(w->net.nics[i]);
		if (!rs_nic_take_event(w->net.nics[i]))
			continue;
		for (uint32_t k = 0; k < SIDES; k++)
			if (w->sides[k].nic == i)
				poll_cq(w, i, w->sides[k].cq);
		poll_cq(w, i, w->xrc_cq[i]);
		poll_events(w, i);
	}
}

/* ---- Connections: made, broken, and made again ---- */

static void make_pool(struct world *w, struct pool *p, uint32_t nic)
{
	p->nic = nic;
	p->va = 0x100000 + ((uint64_t)(p - w->pools) << 24);
	p->memory = calloc(SLOTS, SLOT);
	CHECK(p->memory);
	CHECK(!rs_nic_reg_mr(w->net.nics[nic], PD, p->va, (uint64_t)SLOTS * SLOT,
			     RS_ACCESS_LOCAL_WRITE, p->memory, &p->key));
}

static void make_shared(struct world *w)
{
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		struct rs_srq_init init = {.pd = PD, .max_wr = SLOTS, .max_sge = 2};

		CHECK(!rs_nic_create_cq(w->net.nics[i], 64, &w->xrc_cq[i]));
		for (uint32_t xrc = 0; xrc < 2; xrc++) {
			struct pool *p = &w->pools[SIDES + 2 * i + xrc];

			make_pool(w, p, i);
			init.xrc = xrc;
			init.xrcd = DOMAIN;
			init.cq = xrc ? w->xrc_cq[i] : NULL;
			CHECK(!rs_nic_create_srq(w->net.nics[i], &init, &p->srq));
		}
	}
}

static void make_side(struct world *w, struct side *s)
{
	struct rs_nic *n = nic_of(w, s);
	uint32_t shared = SIDES + 2 * s->nic;

	s->va = 0x40000000 + ((uint64_t)s->index << 24);
	s->memory = calloc(1, SIDE_BYTES);
	s->model = calloc(1, AREA + 2 * GUARD);
	CHECK(s->memory && s->model);
	CHECK(!rs_nic_reg_mr(n, PD, s->va, SIDE_BYTES, 15, s->memory, &s->key));
	CHECK(!rs_nic_reg_mr(n, PD, s->va, SIDE_BYTES, RS_ACCESS_LOCAL_WRITE | RS_ACCESS_MW_BIND,
			     s->memory, &s->region));
	CHECK(!rs_nic_alloc_mw(n, PD, 2, &s->window));
	CHECK(!rs_nic_create_cq(n, 64, &s->cq));
	s->pool = &w->pools[s->index];
	if (s->kind == RC_SHARED || s->kind == UD_SHARED)
		s->pool = &w->pools[shared];
	else if (s->kind == XRC)
		s->pool = &w->pools[shared + 1];
	else
		make_pool(w, s->pool, s->nic);
}

static void make_qp(struct world *w, struct side *s)
{
	static const uint8_t transports[] = {RS_RC, RS_RC, RS_UC, RS_UD, RS_UD, RS_XRC};
	struct rs_qp_init i = {
		.pd = PD,
		.transport = transports[s->kind],
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.max_send_wr = DEPTH,
		.max_send_sge = 1,
		.max_inline = INLINE,
	};

	if (s->kind == RC_SHARED || s->kind == UD_SHARED)
		i.srq = s->pool->srq;
	if (!s->pool->srq) {
		i.max_recv_wr = SLOTS;
		i.max_recv_sge = 2;
	}
	if (s->kind == XRC)
		i.recv_cq = NULL;
	if (!sends(s))
		i = (struct rs_qp_init){.transport = RS_XRC, .xrc_target = true, .xrcd = DOMAIN};
	CHECK(!rs_nic_create_qp(nic_of(w, s), &i, &s->qp));
	rs_qp_set_user(s->qp, s->index);
	if (!s->pool->srq)
		s->pool->qp = s->qp;
}

static void connect(struct world *w, struct side *a)
{
	uint32_t psn[2] = {0xffffff - below(w, 32), below(w, 0x1000000)};

	for (int i = 0; i < 2; i++) {
		struct side *s = i ? a->peer : a;
		uint8_t reads = (uint8_t)(1 + below(w, 5));
		struct rs_qp_attr t = {
			.path_mtu = (uint16_t)w->mtu,
			.pkey = 0xffff,
			.tos = RS_ECN_ECT0,
			.tc = (uint8_t)(s->index % 4),
			.timeout = 5,
			.retry_cnt = w->gentle ? 7 : (uint8_t)below(w, 3),
			.rnr_retry = w->gentle ? 7 : (uint8_t)below(w, 3),
			.min_rnr_timer = 1,
			.max_rd_atomic = reads,
			.max_dest_rd_atomic = 5,
			.access = 15,
			.qkey = QKEY,
			.dest_endpoint = s->peer->nic,
			.dest_qpn = rs_qp_num(s->peer->qp),
			.sq_psn = psn[i],
			.rq_psn = psn[!i],
		};

		CHECK(!rs_qp_connect(nic_of(w, s), s->qp, &t, w->net.now));
	}
}

/* After an error: all that was posted has completed by then; then both ends go and come back,
 * whatever of theirs is still in flight. */
static void rebuild(struct world *w, struct side *a)
{
	struct side *both[2] = {a, a->peer};

	for (int i = 0; i < 2; i++)
		CHECK(!rs_qp_modify(nic_of(w, both[i]), both[i]->qp, RS_QPS_ERR, NULL, w->net.now));
	poll(w);
	for (int i = 0; i < 2; i++) {
		struct side *s = both[i];

		CHECK(s->completed == s->posted && !rs_cq_waiting(s->cq));
		CHECK(!s->pool->srq || !sends(s) || s->kind == XRC || s->last_wqe);
		rs_nic_destroy_qp(nic_of(w, s), s->qp);
	}
	for (int i = 0; i < 2; i++) {
		struct side *s = both[i];

		s->posted = s->completed = s->due = s->received = s->window_writes = 0;
		s->state = FREE;
		s->broken = s->last_wqe = false;
		make_qp(w, s);
	}
	connect(w, a);
	w->rebuilt++;
}

/* ---- A run ---- */

static void work(struct world *w)
{
	struct side *s = &w->sides[below(w, SIDES)];
	bool room = sends(s) && s->posted < SENT && s->posted - s->completed < DEPTH &&
		    s->peer->due < SENT;

	if (s->broken || s->peer->broken) {
		rebuild(w, s->index & 1 ? s->peer : s);
		return;
	}
	if (room && below(w, 8))
		post_message(w, s);
	else if (room && !unreliable(s) && s->kind != XRC)
		work_window(w, s);
	post_receive(w, s->pool->srq || s->pool->qp ? s->pool : &w->pools[SIDES]);
	if (w->gentle)
		return;
	if (!below(w, 64) && !w->uc)
		hostile_garbage(&w->net, s->nic, s->peer->nic);
	if (!below(w, 1024))
		rebuild(w, s->index & 1 ? s->peer : s);
}

static bool busy(const struct world *w)
{
	for (int i = 0; i < SIDES; i++) {
		const struct side *s = &w->sides[i];

		if (s->posted != s->completed || (sends(s) && s->posted < SENT / 2))
			return true;
	}
	return false;
}

static void drive(struct world *w)
{
	uint64_t steps = 0;

	while (busy(w) && w->rebuilt < 20) {
		CHECK(++steps < 2000000);
		if (!below(w, 6) || !hostile_step(&w->net))
			work(w);
		poll(w);
	}
	w->net.rates = (struct hostile_rates){0};
	w->net.paused = 0;
	for (steps = 0; hostile_step(&w->net); steps++) {
		CHECK(steps < 1000000);
		for (uint32_t i = 0; i < POOLS; i++)
			if (w->gentle && (w->pools[i].srq || w->pools[i].qp))
				post_receive(w, &w->pools[i]);
	}
	poll(w);
}

static void finish(struct world *w)
{
	static const uint8_t zeroes[GUARD];

	for (int i = 0; i < SIDES; i++) {
		struct side *s = &w->sides[i];
		const uint8_t *area = s->memory + AREA_AT;

		CHECK(!memcmp(area - GUARD, zeroes, GUARD));
		CHECK(!memcmp(area + AREA, zeroes, GUARD));
		CHECK(!rs_cq_overrun(s->cq));
		if (!w->gentle)
			continue;
		CHECK(s->posted == s->completed);
		CHECK(unreliable(s) || s->received == s->due);
		CHECK(unreliable(s) || !memcmp(area, s->model + GUARD, AREA));
		CHECK(!memcmp(s->memory + WORD_AT, &s->word, 8));
	}
	CHECK(!w->net.flying && !hostile_used(&w->net));
}

static struct hostile_rates random_rates(struct world *w)
{
	return (struct hostile_rates){
		.lose = below(w, 3) * below(w, 1500),
		.duplicate = below(w, 3) * below(w, 4000),
		.delay = below(w, 3) * below(w, 4000),
		.corrupt = below(w, 3) * below(w, 800),
		.mark = below(w, 2000),
		.stranger = below(w, 2) * below(w, 2000),
		.dark = below(w, 3) * below(w, 12),
	};
}

static void start(struct world *w, uint64_t seed)
{
	static const uint16_t mtus[] = {256, 512, 1024, 2048, 4096};
	struct rs_nic_config c = {
		.line_rate = 100 * RS_GBPS,
		.max_qps = 256, /* so that no number is used again: late packets would find it */
		.max_mrs = 4 * SIDES,
		.max_cqs = SIDES + 1,
		.max_srqs = 2,
		.cnp_tos = 48 << 2,
		.cnp_tc = 6,
		.copy_payload = true,
		.qp_counters = true,
	};

	w->random = rs_random_stream(seed, 1, 0x53525643);
	w->gentle = below(w, 2);
	w->mtu = mtus[below(w, 5)];
	c.ack_every = below(w, 3) ? 1 + below(w, 8) : 0;
	c.ack_delay = below(w, 2) * RS_US;
	c.quirks.ack_echo = below(w, 2);
	c.rnr_grace = seed % 2 ? 200 * RS_US : 0;
	CHECK(!hostile_init(&w->net, &c, seed));
	w->net.latency = RS_US;
	w->net.jitter = (rs_time)(1 + below(w, 30)) * RS_US;
	w->net.rates = random_rates(w);
	make_shared(w);
	for (uint32_t i = 0; i < SIDES; i++) {
		struct side *s = &w->sides[i];

		s->index = i;
		s->nic = i & 1 ? (w->sides[i - 1].nic + 1 + below(w, 2)) % HOSTILE_NICS
			       : below(w, HOSTILE_NICS);
		s->kind = i & 1 ? w->sides[i - 1].kind : (enum kind)below(w, KINDS);
		s->peer = &w->sides[i ^ 1];
		w->uc |= s->kind == UC;
		make_side(w, s);
		make_qp(w, s);
	}
	for (uint32_t i = 0; i < SIDES; i += 2)
		connect(w, &w->sides[i]);
}

static void run(uint64_t seed, struct hostile_counts *sum)
{
	struct world *w = calloc(1, sizeof(*w));

	CHECK(w);
	start(w, seed);
	drive(w);
	finish(w);
	hostile_add(sum, &w->net.count);
	hostile_fini(&w->net);
	for (int i = 0; i < SIDES; i++) {
		free(w->sides[i].memory);
		free(w->sides[i].model);
	}
	for (int i = 0; i < POOLS; i++)
		free(w->pools[i].memory);
	free(w);
}

int main(int argc, char **argv)
{
	return hostile_main(argc, argv, "test_services", 120, run);
}
