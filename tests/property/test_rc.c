/*
 * RC under the hostile network: whatever it does, each message arrives exactly once and in order,
 * memory is as a model has it, every post completes, and no packet is lost to the slab. In some
 * runs each NIC is one of two functions behind its port (port/share.h): the other speaks another
 * transport.
 *
 * test_rc [--seed N] [--from N] [--runs N] [--seconds N]: one seed replays exactly. test_selective
 * is the same of queue pairs whose recovery is selective, and test_lies of such whose congestion
 * control reads telemetry that lies.
 */
#include <stdlib.h>
#include <string.h>
#include "port/share.h"
#include "property/hostile.h"
#include "toy.h"
#include "wire/telemetry.h"

enum {
	CCS = 7, /* of rs_cc_all, that a queue pair draws; behind them: receivers' credits */
	PAIRS = 4,
	DEPTH = 8,
	SLOT = 100 * 1000 + 64, /* a message and gaps between its pieces */
	AREA = 128 * 1024,      /* that the peer reads, and that it writes */
	WORDS = 8,
	SIDE = 2 * DEPTH * SLOT + 2 * AREA + WORDS * 8,
	PIECES = 4,
	POISON = 0xa5, /* below pieces of a null region, which nothing may reach */
	QUEUE = 1 << 12,
};

#define CHECK HOSTILE_CHECK

#ifndef STAMPS_LIE
#define STAMPS_LIE false
#endif

#ifndef RECOVERY
#define RECOVERY rs_recovery_go_back_n
#endif

struct message {
	uint64_t id;
	uint32_t length, offset;
	uint32_t imm;
	uint8_t op;
	uint8_t n_sge;
	uint8_t nulls; /* bit i: piece i is of the null region */
	bool nowhere;  /* it writes to, or reads, the peer's null region */
	struct rs_sge sge[PIECES];
	uint64_t expect; /* of an atomic */
};

struct side {
	uint32_t nic;
	struct rs_qp *qp;
	struct rs_cq *cq;
	struct side *peer;
	uint8_t *memory, *model; /* SIDE bytes; the model is of what the peer writes */
	uint64_t va;
	uint32_t key, null_key;
	uint64_t posted, completed; /* sends */
	uint64_t to_post;
	uint64_t offered, received; /* receives */
	uint64_t arrivals_due;      /* messages sent to this side that consume a receive */
	struct message sends[DEPTH], receives[DEPTH];
	struct message due[QUEUE]; /* what the next receives must hold */
	bool broken;
};

/* What stands beside the NICs behind their ports, each to the next port's. */
struct beside {
	struct rs_share share[HOSTILE_NICS];
	struct toy *toy[HOSTILE_NICS]; /* NULL: nothing does */
	uint32_t sent, arrived;
};

struct world {
	bool ask; /* selective queue pairs ask their peers, of which some are not */
	struct hostile net;
	struct beside beside;
	struct side sides[2 * PAIRS];
	struct rs_random random, nulls; /* null regions move no other draw, and no packet */
	uint32_t mtu;
	bool probe;  /* tails are asked about before the timeout */
	bool gentle; /* no error may come: nothing but faults of the network */
	/* rnr_retry 0, and no error may come of it: who honours credits, and is told of them, meets
	 * no receiver that is not ready */
	bool credits;
	uint64_t cut; /* after so many steps all QPs are destroyed; 0: never */
	uint64_t cc_params[CCS + 1][64];
	uint8_t hpcc;                 /* its number, from 1 */
	struct rs_cc_use cc[CCS + 1]; /* all there are: each queue pair draws one */
	bool granted;                 /* or all have receivers' credits, which both ends must */
	bool asked;                   /* nothing goes before it is granted */
	bool plain;                   /* or the NICs know one that wants nothing beside payloads */
};

/* ---- Memory of a side: [send slots][receive slots][read area][write area][words] ---- */

static uint32_t send_at(uint64_t i)
{
	return (uint32_t)(i % DEPTH) * SLOT;
}

static uint32_t receive_at(uint64_t i)
{
	return (uint32_t)(DEPTH + i % DEPTH) * SLOT;
}

enum { READ_AT = 2 * DEPTH * SLOT, WRITE_AT = READ_AT + AREA, WORDS_AT = WRITE_AT + AREA };

static uint8_t byte_of(uint64_t id, uint32_t i)
{
	return (uint8_t)(id * 31 + i * 7 + (i >> 8));
}

static uint32_t below(struct world *w, uint32_t n)
{
	return rs_random_below(&w->random, n);
}

static uint32_t random_length(struct world *w)
{
	switch (below(w, 8)) {
	case 0:
		return below(w, 4);
	case 1:
		return w->mtu * below(w, 4);
	case 2:
		return w->mtu + below(w, 3) - 1;
	case 3:
		return below(w, 100 * 1000);
	default:
		return below(w, 4 * w->mtu);
	}
}

/* Cut length bytes at a slot into pieces with gaps of up to 16 bytes; some have no memory. */
static void cut(struct world *w, struct side *s, struct message *m, uint32_t at, uint32_t length)
{
	uint32_t left = length;

	m->n_sge = (uint8_t)(1 + below(w, PIECES));
	m->nulls = rs_random_below(&w->nulls, 8) ? 0
						 : (uint8_t)rs_random_below(&w->nulls, 1 << PIECES);
	for (unsigned i = 0; i < m->n_sge; i++) {
		uint32_t n = i + 1 == m->n_sge ? left : below(w, left + 1);

		m->sge[i] = (struct rs_sge){.va = s->va + at, .length = n};
		m->sge[i].lkey = m->nulls >> i & 1 ? s->null_key : s->key;
		at += n + below(w, 16);
		left -= n;
	}
}

static void fill(struct side *s, const struct message *m)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < m->n_sge; i++)
		for (uint32_t k = 0; k < m->sge[i].length; k++)
			s->memory[m->sge[i].va - s->va + k] = byte_of(m->id, at++);
}

/* A list that is to be written. */
static void poison(struct side *s, const struct message *m)
{
	for (unsigned i = 0; i < m->n_sge; i++)
		if (m->nulls >> i & 1)
			memset(s->memory + (m->sge[i].va - s->va), POISON, m->sge[i].length);
}

/* Byte `at` of what a message carries. */
static uint8_t carried(const struct message *m, uint32_t at)
{
	uint32_t left = at;
	unsigned i = 0;

	while (i < m->n_sge && left >= m->sge[i].length)
		left -= m->sge[i++].length;
	return m->nulls >> i & 1 ? 0 : byte_of(m->id, at);
}

/* Do the first n bytes of a list hold bytes [offset, offset + n) of what `from` carries? */
static bool holds(const struct side *s, const struct message *m, const struct message *from,
		  uint32_t offset, uint32_t n)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < m->n_sge; i++)
		for (uint32_t k = 0; k < m->sge[i].length && at < n; k++, at++)
			if (s->memory[m->sge[i].va - s->va + k] !=
			    (m->nulls >> i & 1 ? POISON : carried(from, offset + at)))
				return false;
	return at == n;
}

/* ---- Posting ---- */

static void model_write(struct side *s, const struct message *m)
{
	uint8_t *to = s->peer->model + WRITE_AT + m->offset;

	for (uint32_t k = 0; k < m->length; k++)
		to[k] = carried(m, k);
}

static void model_atomic(struct side *s, struct message *m, const struct rs_send_wr *wr)
{
	uint64_t old, next;
	uint8_t *at = s->peer->model + WORDS_AT + m->offset;

	memcpy(&old, at, 8);
	next = wr->op == RS_WR_FETCH_ADD ? old + wr->swap_add
	       : old == wr->compare      ? wr->swap_add
					 : old;
	memcpy(at, &next, 8);
	m->expect = old;
}

static void expect_arrival(struct side *s, const struct message *m)
{
	CHECK(s->peer->arrivals_due - s->peer->received < QUEUE);
	s->peer->due[s->peer->arrivals_due++ % QUEUE] = *m;
}

static void aim(struct world *w, struct side *s, struct message *m, struct rs_send_wr *wr)
{
	uint32_t base = WRITE_AT;

	if (wr->op == RS_WR_READ)
		base = READ_AT;
	m->offset = m->length < AREA ? below(w, AREA - m->length) : 0;
	if (wr->op > RS_WR_READ) {
		base = WORDS_AT;
		m->offset = 8 * below(w, WORDS);
	}
	wr->remote_va = s->peer->va + base + m->offset;
	m->nowhere = wr->op <= RS_WR_READ && !rs_random_below(&w->nulls, 8);
	wr->rkey = m->nowhere ? s->peer->null_key : s->peer->key;
}

static void post_send(struct world *w, struct side *s)
{
	struct message *m = &s->sends[s->posted % DEPTH];
	struct rs_send_wr wr = {
		.wr_id = s->posted,
		.op = (uint8_t)below(w, RS_WR_FETCH_ADD + 1),
		.flags = (uint8_t)(below(w, 8) | RS_WR_SIGNALED),
		.imm = (uint32_t)rs_random_u64(&w->random),
		.swap_add = rs_random_u64(&w->random),
	};

	*m = (struct message){.id = rs_random_u64(&w->random), .imm = wr.imm, .op = wr.op};
	m->length = wr.op > RS_WR_READ ? 8 : random_length(w);
	aim(w, s, m, &wr);
	cut(w, s, m, send_at(s->posted), m->length);
	wr.sge = m->sge;
	wr.n_sge = m->n_sge;
	if (below(w, 2))
		memcpy(&wr.compare, s->peer->model + WORDS_AT + (m->offset & 56), 8);
	if (wr.op < RS_WR_READ)
		fill(s, m);
	else
		poison(s, m);
	CHECK(!rs_qp_post_send(w->net.nics[s->nic], s->qp, &wr, w->net.now));
	s->posted++;
	w->net.count.messages++;
	s->to_post--;
	if (s->broken || s->peer->broken)
		return;
	if ((wr.op == RS_WR_WRITE || wr.op == RS_WR_WRITE_IMM) && !m->nowhere)
		model_write(s, m);
	if (wr.op > RS_WR_READ)
		model_atomic(s, m, &wr);
	if (wr.op <= RS_WR_SEND_IMM || wr.op == RS_WR_WRITE_IMM)
		expect_arrival(s, m);
}

static void post_receive(struct world *w, struct side *s)
{
	struct message *m = &s->receives[s->offered % DEPTH];
	struct rs_recv_wr wr = {.wr_id = s->offered};

	*m = (struct message){0};
	cut(w, s, m, receive_at(s->offered), 100 * 1000);
	poison(s, m);
	wr.sge = m->sge;
	wr.n_sge = m->n_sge;
	CHECK(!rs_qp_post_recv(w->net.nics[s->nic], s->qp, &wr));
	s->offered++;
}

/* ---- Completions ---- */

static void check_sent(struct world *w, struct side *s, const struct rs_cqe *e)
{
	const struct message *m = &s->sends[s->completed % DEPTH];
	/* what the peer's area holds, or its null region */
	struct message there = {.id = s->peer->va, .nulls = m->nowhere};
	uint64_t original;

	CHECK(e->wr_id == s->completed && e->op == m->op);
	s->completed++;
	if (e->status != RS_WC_SUCCESS) {
		CHECK(!w->gentle);
		s->broken = true;
		return;
	}
	CHECK(!s->broken);
	if (m->op == RS_WR_READ)
		CHECK(holds(s, m, &there, m->offset, m->length));
	if (m->op <= RS_WR_READ || s->peer->broken)
		return;
	for (uint32_t i = 0, at = 0; i < m->n_sge; i++) {
		memcpy((uint8_t *)&original + at, s->memory + (m->sge[i].va - s->va),
		       m->sge[i].length);
		at += m->sge[i].length;
	}
	if (w->gentle && !m->nulls)
		CHECK(original == m->expect);
}

static void check_received(struct world *w, struct side *s, const struct rs_cqe *e)
{
	const struct message *r = &s->receives[s->received % DEPTH];
	const struct message *m = &s->due[s->received % QUEUE];

	CHECK(e->wr_id == s->received);
	s->received++;
	if (e->status != RS_WC_SUCCESS) {
		CHECK(!w->gentle);
		s->broken = true;
		return;
	}
	if (!w->gentle)
		return;
	CHECK(s->received <= s->arrivals_due);
	CHECK(e->has_imm == (m->op != RS_WR_SEND));
	CHECK(!e->has_imm || e->imm == m->imm);
	CHECK(e->bytes == m->length);
	if (m->op == RS_WR_WRITE_IMM) {
		CHECK(e->op == RS_WR_RECV_WRITE_IMM);
		return;
	}
	CHECK(e->op == RS_WR_RECV);
	CHECK(holds(s, r, m, 0, m->length));
}

static void poll(struct world *w, struct side *s)
{
	struct rs_cqe e;

	while (rs_cq_poll(s->cq, &e, 1)) {
		CHECK(e.qpn == rs_qp_num(s->qp));
		if (e.op >= RS_WR_RECV)
			check_received(w, s, &e);
		else
			check_sent(w, s, &e);
	}
}

/* ---- A run ---- */

/*
 * In a gentle world the next try of a request never begins before the answer to this one could be
 * sent. Responses of a READ go at their sender's pace, which losses lower as far as the algorithm
 * lets them: Swift's least window of 0.001 packets is a packet in 13 ms and more, and by then 8
 * tries of 131 us are over, with no packet lost (test_recovery,
 * test_responses_slower_than_all_tries).
 */
#define GENTLE_RATE RS_GBPS

static void raise_floor(const struct rs_cc_ops *ops, struct rs_cc_params *params)
{
	for (const struct rs_cc_param *p = ops->params; p && p->name; p++) {
		if (!strcmp(p->name, "rate_min"))
			CHECK(!rs_cc_params_set(ops, params, p->name, "1Gb/s", NULL));
		if (!strcmp(p->name, "min_window")) /* no pace */
			CHECK(!rs_cc_params_set(ops, params, p->name,
						p->unit == 'b' ? "8192B" : "1", NULL));
	}
}

static void check_gentle(const struct world *w)
{
	for (int i = 0; i < 2 * PAIRS; i++)
		CHECK(rs_qp_cc(w->sides[i].qp)->rate >= GENTLE_RATE);
}

/* Some peers are of go-back-N where they are asked: the third of each four ends. */
static const struct rs_recovery *recovery_of(const struct world *w, const struct side *s)
{
	return w->ask && (s - w->sides) % 4 == 2 ? &rs_recovery_go_back_n : &RECOVERY;
}

static void make_side(struct world *w, struct side *s, uint32_t nic)
{
	struct rs_nic *n = w->net.nics[nic];
	struct rs_qp_init init = {
		.pd = 7,
		.max_send_wr = DEPTH,
		.max_recv_wr = DEPTH,
		.max_send_sge = PIECES,
		.max_recv_sge = PIECES,
		.transport = RS_RC,
		.cc = STAMPS_LIE ? w->hpcc : (uint8_t)below(w, CCS + 1),
		.recovery = recovery_of(w, s),
	};

	if (w->granted)
		init.cc = CCS + 1;
	if (w->plain)
		init.cc = 1;
	s->nic = nic;
	s->va = rs_random_u64(&w->random) >> 8 & ~UINT64_C(7);
	s->memory = calloc(1, SIDE);
	s->model = calloc(1, SIDE);
	CHECK(s->memory && s->model);
	for (uint32_t i = 0; i < AREA; i++)
		s->memory[READ_AT + i] = byte_of(s->va, i);
	CHECK(!rs_nic_reg_mr(n, init.pd, s->va, SIDE, 15, s->memory, &s->key));
	CHECK(!rs_nic_reg_null_mr(n, init.pd, &s->null_key));
	CHECK(!rs_nic_create_cq(n, 2 * DEPTH, &s->cq));
	init.send_cq = init.recv_cq = s->cq;
	CHECK(!rs_nic_create_qp(n, &init, &s->qp));
}

static void join(struct world *w, struct side *a, struct side *b)
{
	static const uint16_t mtus[] = {256, 512, 1024, 2048, 4096};
	uint32_t psn[2] = {0xffffff - below(w, 64), below(w, 0x1000000)};
	struct rs_qp_attr t = {
		.path_mtu = mtus[below(w, 5)],
		.pkey = 0xffff,
		.tos = RS_ECN_ECT0,
		.tc = (uint8_t)below(w, RS_CLASSES),
		/* packets of a READ at the least rate, and probes, come in time */
		.timeout = STAMPS_LIE ? 12
			   : w->probe ? 10
				      : 5,
		.retry_cnt = w->gentle ? 7 : (uint8_t)below(w, 3),
		.rnr_retry = w->credits  ? 0
			     : w->gentle ? 7
					 : (uint8_t)below(w, 3),
		.min_rnr_timer = 1,
		.max_rd_atomic = (uint8_t)(1 + below(w, 4)),
		.access = 15,
	};

	w->mtu = t.path_mtu;
	t.max_dest_rd_atomic = t.max_rd_atomic;
	a->peer = b;
	b->peer = a;
	for (int i = 0; i < 2; i++) {
		struct side *s = i ? b : a;

		t.dest_endpoint = s->peer->nic;
		t.dest_qpn = rs_qp_num(s->peer->qp);
		t.sq_psn = psn[i];
		t.rq_psn = psn[!i];
		CHECK(!rs_qp_connect(w->net.nics[s->nic], s->qp, &t, 0));
		s->to_post = 4 + below(w, 24);
	}
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

static void work(struct world *w)
{
	struct side *s = &w->sides[below(w, 2 * PAIRS)];

	if (s->to_post && s->posted - s->completed < DEPTH && below(w, 4)) {
		post_send(w, s);
		hostile_wake(&w->net, s->nic);
	}
	if (s->offered - s->received < DEPTH && (s->offered < s->arrivals_due || below(w, 2)))
		post_receive(w, s);
	if (!w->gentle && !below(w, 64))
		hostile_garbage(&w->net, s->nic, s->peer->nic);
	if (!w->gentle && !below(w, 4096))
		rs_qp_modify(w->net.nics[s->nic], s->qp, RS_QPS_ERR, NULL, w->net.now);
}

/* Virtual time leaps to the next event. A second may pass where nothing else is due, which no
 * receiver lets pass. */
static void receive_in_time(struct world *w)
{
	for (int i = 0; i < 2 * PAIRS; i++) {
		struct side *s = &w->sides[i];

		if (s->offered >= s->arrivals_due || s->offered - s->received >= DEPTH)
			continue;
		post_receive(w, s);
		hostile_wake(&w->net, s->nic);
	}
}

static bool busy(const struct world *w)
{
	for (int i = 0; i < 2 * PAIRS; i++)
		if (w->sides[i].to_post || w->sides[i].posted != w->sides[i].completed)
			return true;
	return false;
}

/* All QPs go while their packets are in flight; what arrives later finds nobody. */
static void destroy_all(struct world *w)
{
	for (int i = 0; i < 2 * PAIRS; i++) {
		struct side *s = &w->sides[i];

		poll(w, s);
		rs_nic_destroy_qp(w->net.nics[s->nic], s->qp);
		s->posted = s->completed;
		s->to_post = 0;
	}
}

static void drive(struct world *w)
{
	uint64_t steps = 0;

	while (busy(w)) {
		CHECK(++steps < 4000000);
		if (steps == w->cut) {
			destroy_all(w);
			break;
		}
		if (w->credits)
			receive_in_time(w);
		if (!below(w, 8) || !hostile_step(&w->net))
			work(w);
		for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
			rs_nic_check(w->net.nics[i]);
			if (!rs_nic_take_event(w->net.nics[i]))
				continue;
			for (int k = 0; k < 2 * PAIRS; k++)
				if (w->sides[k].nic == i)
					poll(w, &w->sides[k]);
		}
		if (w->gentle)
			check_gentle(w);
	}
	w->net.rates = (struct hostile_rates){0};
	w->net.paused = 0;
	for (steps = 0; hostile_step(&w->net); steps++)
		CHECK(steps < 1000000);
}

static void finish(struct world *w)
{
	for (int i = 0; i < 2 * PAIRS; i++) {
		struct side *s = &w->sides[i];

		if (w->cut && !s->to_post && s->posted == s->completed)
			continue;
		poll(w, s);
		CHECK(s->posted == s->completed);
		CHECK(!rs_cq_overrun(s->cq));
		if (!w->gentle)
			continue;
		CHECK(s->received == s->arrivals_due);
		CHECK(!memcmp(s->memory + WRITE_AT, s->model + WRITE_AT, AREA + WORDS * 8));
	}
	CHECK(!w->net.flying && !hostile_used(&w->net));
}

/* ---- Beside the NICs ---- */

enum { TOY_FIRST = 50, TOY_POSTS = 40 };

static void put_beside(struct world *w)
{
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		struct rs_share *s = &w->beside.share[i];
		struct toy *t = toy_create(HOSTILE_NICS + i, TOY_FIRST, 2, 1000, 50 * RS_US,
					   &w->net.lists[i]);
		uint32_t next = HOSTILE_NICS + (i + 1) % HOSTILE_NICS;
		uint8_t weight[RS_CLASSES], tc = (uint8_t)below(w, RS_CLASSES);

		for (unsigned c = 0; c < RS_CLASSES; c++)
			weight[c] = (uint8_t)below(w, 4);
		rs_share_init(s, weight, &w->net.lists[i]);
		CHECK(!rs_share_add(s, rs_nic_endpoint(w->net.nics[i]), i, 1, 1));
		CHECK(!rs_share_add(s, &t->as_endpoint, HOSTILE_NICS + i, 1, 1));
		toy_open(t, TOY_FIRST, next, TOY_FIRST + 1, tc, 0);
		toy_open(t, TOY_FIRST + 1, HOSTILE_NICS + (i + 2) % HOSTILE_NICS, TOY_FIRST, tc, 0);
		for (unsigned k = 0; k < TOY_POSTS; k++)
			CHECK(toy_post(t, TOY_FIRST, below(w, 4000), true));
		hostile_join(&w->net, i, &s->as_endpoint);
		hostile_wake(&w->net, i);
		w->beside.toy[i] = t;
	}
}

static void finish_beside(struct world *w)
{
	struct toy_news n;

	for (uint32_t i = 0; i < HOSTILE_NICS && w->beside.toy[i]; i++) {
		while (toy_take_news(w->beside.toy[i], &n))
			*(n.arrived ? &w->beside.arrived : &w->beside.sent) += 1;
		toy_destroy(w->beside.toy[i]);
		CHECK(!w->beside.share[i].dropped);
	}
	if (w->beside.toy[0])
		CHECK(w->beside.sent == HOSTILE_NICS * TOY_POSTS &&
		      w->beside.arrived == HOSTILE_NICS * TOY_POSTS);
}

static struct rs_nic_config random_config(struct world *w)
{
	uint8_t class = (uint8_t)below(w, CCS);

	for (unsigned i = 0; i <= CCS; i++) {
		struct rs_cc_params *p = (struct rs_cc_params *)w->cc_params[i];

		CHECK(rs_cc_all[i]->params_bytes <= sizeof(w->cc_params[i]));
		CHECK(!rs_cc_params_init(rs_cc_all[i], i == CCS && w->asked ? "asked" : NULL, p,
					 NULL));
		if (w->gentle)
			raise_floor(rs_cc_all[i], p);
		if (rs_cc_all[i] == &rs_cc_hpcc)
			w->hpcc = (uint8_t)(i + 1);
		w->cc[i] = (struct rs_cc_use){rs_cc_all[i], p};
	}
	/* what is asked again for want of credit comes before tries are over */
	CHECK(!rs_cc_params_set(&rs_cc_credit, (struct rs_cc_params *)w->cc_params[CCS], "again",
				"40us", NULL));
	CHECK(rs_cc_all[CCS] == &rs_cc_credit && !rs_cc_all[CCS + 1]);
	return (struct rs_nic_config){
		.cc = w->cc,
		.n_cc = CCS + 1,
		.cc_of_class = {class, class, class, class, class, class, class, class},
		.int_scale = STAMPS_LIE ? RS_INT_SOFTWARE : 4,
		.line_rate = 100 * RS_GBPS,
		.max_qps = 2 * PAIRS,
		.max_mrs = 4 * PAIRS,
		.max_cqs = 2 * PAIRS,
		.ipv6 = below(w, 2),
		.cnp_tos = 48 << 2,
		.cnp_tc = 6,
		.ack_every = below(w, 3) ? 1 + below(w, 16) : 0,
		.ack_delay = below(w, 2) * RS_US,
		.copy_payload = true,
		.quirks.ack_echo = below(w, 2),
	};
}

/* Middles come in one go only where nothing stands beside payloads. */
static void leave_one_cc(const struct world *w, uint64_t seed, struct rs_nic_config *c)
{
	c->cc = &w->cc[seed / 4 % 2 ? 0 : CCS - 1];
	c->n_cc = 1;
	memset(c->cc_of_class, 0, sizeof(c->cc_of_class));
	CHECK(!(c->cc->ops->needs & RS_CC_NEEDS_STAMPS));
}

/* Windows of one packet and more than any run fills, order waited for or not, one path or many. */
static struct rs_selective random_selective(uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, 2, 0x53454c45);
	struct rs_selective s = {
		.in_flight = 1 + rs_random_below(&r, rs_random_below(&r, 2) ? 16 : 400),
		.reorder = rs_random_below(&r, 2) * rs_random_below(&r, 60) * RS_US,
		.rto_low = (20 + rs_random_below(&r, 200)) * RS_US,
		.rto_high = 320 * RS_US,
		.ask = !rs_random_below(&r, 3),
	};

	s.balance.kind = (enum rs_balance_kind)rs_random_below(&r, RS_BALANCES);
	s.balance.n = (uint16_t)(rs_random_below(&r, 2) << rs_random_below(&r, 10));
	s.balance.freeze = rs_random_below(&r, 2) * 50 * RS_US;
	return s;
}

/* Every second run has probes of the tail, behind round trips of 2 to 62 us. */
static rs_time random_probe(uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, 3, 0x50524f42);

	return seed / 4 % 2 ? (1 + rs_random_below(&r, 28)) * RS_US : 0;
}

/* ACKs in a class of their own. */
static void random_ack_class(uint64_t seed, struct rs_nic_config *c)
{
	struct rs_random r = rs_random_stream(seed, 4, 0x41434b53);

	c->ack_apart = !rs_random_below(&r, 3);
	c->ack_tc = (uint8_t)rs_random_below(&r, RS_CLASSES);
}

/* Every third run has ACKs by bytes, too. */
static uint32_t random_ack_bytes(uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, 5, 0x41434b42);

	return rs_random_below(&r, 3) ? 0 : rs_random_below(&r, 128 << 10);
}

static void run(uint64_t seed, struct hostile_counts *sum)
{
	struct world *w = calloc(1, sizeof(*w));
	struct rs_nic_config c;

	CHECK(w);
	w->random = rs_random_stream(seed, 1, 0x574f524b);
	w->nulls = rs_random_stream(seed, 6, 0x4e554c4c);
	w->gentle = seed % 4 != 3;
	if (!w->gentle && below(w, 2))
		w->cut = 100 + below(w, 5000);
	w->granted = !STAMPS_LIE && seed % 7 == 5;
	w->asked = seed % 14 == 5;
	c = random_config(w);
	w->plain = !STAMPS_LIE && !w->granted && seed % 4 == 1;
	if (w->plain)
		leave_one_cc(w, seed, &c);
	c.selective = random_selective(seed);
	c.probe = random_probe(seed);
	random_ack_class(seed, &c);
	c.ack_bytes = random_ack_bytes(seed);
	w->credits = w->gentle && seed % 3 == 1;
	c.tell_credits = w->credits;
	w->probe = c.probe != 0;
	w->ask = c.selective.ask;
	CHECK(!hostile_init(&w->net, &c, seed));
	w->net.lies = STAMPS_LIE;
	w->net.latency = RS_US;
	w->net.jitter = 30 * RS_US;
	w->net.rates = random_rates(w);
	for (uint32_t i = 0; i < PAIRS; i++) {
		make_side(w, &w->sides[2 * i], i % 2);
		make_side(w, &w->sides[2 * i + 1], i < 3 ? (i % 2) ^ 1 : 2);
		join(w, &w->sides[2 * i], &w->sides[2 * i + 1]);
	}
	for (int i = 0; w->credits && i < 2 * PAIRS; i++)
		post_receive(w, &w->sides[i]); /* of the first message nothing is known */
	if (seed % 5 == 4)
		put_beside(w);
	drive(w);
	finish(w);
	finish_beside(w);
	hostile_add(sum, &w->net.count);
	hostile_fini(&w->net);
	for (int i = 0; i < 2 * PAIRS; i++) {
		free(w->sides[i].memory);
		free(w->sides[i].model);
	}
	free(w);
}

int main(int argc, char **argv)
{
	return hostile_main(argc, argv, "test_rc", 200, run);
}
