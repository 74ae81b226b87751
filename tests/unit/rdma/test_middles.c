/* Middles that go, and come, in one go are what they are one by one: the same packets, and the same
 * state of both queue pairs behind them. */
#include "pair.h"

enum { CASES = 3000, BASE = 0x1000 /* of pair.h's region */, STRIDE = PAIR_MTU + 24 };

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

static struct pair twin[2]; /* one by one; in one go */

static void make_twins(void)
{
	for (unsigned i = 0; i < 2; i++) {
		pair_begin(&twin[i]);
		twin[i].config.pace_late = 200 * RS_US;
		twin[i].config.ack_every = 16;
		twin[i].attr.rnr_retry = 7;
		pair_connect(&twin[i]);
		twin[i].now = RS_MS;
		for (unsigned k = 0; k < PAIR_BYTES; k++)
			twin[i].memory[0][k] = (uint8_t)(k * 7 + k / 256);
	}
}

static void end_twins(void)
{
	pair_end(&twin[0]);
	pair_end(&twin[1]);
}

static void check_sending(const struct rs_qp *a, const struct rs_qp *b)
{
	assert_int_equal(a->next_psn, b->next_psn);
	assert_int_equal(a->max_psn, b->max_psn);
	assert_int_equal(a->una_psn, b->una_psn);
	assert_int_equal(a->una_k, b->una_k);
	assert_int_equal(a->send_k, b->send_k);
	assert_int_equal(a->sent, b->sent);
	assert_int_equal(a->acked, b->acked);
	assert_int_equal(a->requested, b->requested);
	assert_int_equal(a->unrequested, b->unrequested);
	assert_int_equal(a->outstanding, b->outstanding);
	assert_int_equal(a->deadline, b->deadline);
	assert_int_equal(a->next_allowed, b->next_allowed);
	assert_int_equal(a->cc.byte_credit, b->cc.byte_credit);
}

static void check_receiving(const struct rs_qp *a, const struct rs_qp *b)
{
	assert_int_equal(a->epsn, b->epsn);
	assert_int_equal(a->msn, b->msn);
	assert_int_equal(a->message, b->message);
	assert_int_equal(a->nak, b->nak);
	assert_int_equal(a->cold->rq_head, b->cold->rq_head);
	assert_int_equal(a->resource_count, b->resource_count);
	for (unsigned i = 0; i < a->resource_count; i++)
		assert_int_equal(a->cold->resources[i].sent, b->cold->resources[i].sent);
	if (a->message == RS_NO_MESSAGE)
		return;
	assert_int_equal(a->received, b->received);
	if (a->message == RS_OP_WRITE_FIRST) {
		assert_int_equal(a->w_left, b->w_left);
		assert_int_equal(a->w_va, b->w_va);
	}
}

/* Both ends of both twins. An ACK that is owed sooner by one is the same ACK. */
static void check_alike(void)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct rs_qp *a = twin[0].qps[i], *b = twin[1].qps[i];
		struct rs_nic_counters c = *rs_nic_get_counters(twin[0].nics[i]);
		struct rs_nic_counters d = *rs_nic_get_counters(twin[1].nics[i]);
		uint32_t acks = RS_QF_ACK_OWED | RS_QF_ON_CONTROL;

		assert_int_equal(a->state, b->state);
		assert_int_equal(a->flags & ~acks, b->flags & ~acks);
		check_sending(a, b);
		check_receiving(a, b);
		assert_memory_equal(&c, &d, sizeof(c));
		assert_memory_equal(twin[0].memory[i], twin[1].memory[i], PAIR_BYTES);
	}
}

static void post_both(uint8_t op, uint32_t length)
{
	for (unsigned i = 0; i < 2; i++) {
		if (op == RS_WR_SEND)
			pair_receive(&twin[i], length);
		assert_int_equal(pair_post(&twin[i], op, length), 0);
	}
}

/* The i-th of those that p begins. */
static struct rs_packet *one_of(struct pair *t, unsigned from, const struct rs_packet *p,
				uint32_t i, const uint8_t *payload, uint64_t asking)
{
	struct rs_packet *q = rs_pool_alloc(&t->lists[from]);

	*q = *p;
	q->psn = rs_psn_add(p->psn, i);
	q->payload = payload + (size_t)i * PAIR_MTU;
	q->bth_flags =
		(uint8_t)(p->bth_flags & ~RS_BTH_ACKREQ) | (asking >> i & 1 ? RS_BTH_ACKREQ : 0);
	return q;
}

/* Of a kind: how many went, and came, in one go. */
static unsigned went[256], came[256];

/* Behind p, twin 1 sends n Middles in one go; twin 0's next packets are the same, and are given to
 * its receiver. Those of twin 1 are given one by one or in one go. */
static void compare_middles(unsigned from, struct rs_packet *p)
{
	static uint8_t block[64 * STRIDE];
	struct pair *t = &twin[1];
	uint32_t max = 1 + draw(64), ask = draw(2) ? 64 : draw(64), n;
	bool gather = draw(2);
	const uint8_t *payload;
	uint64_t asking;
	bool asks = false;

	n = rs_nic_tx_ahead(t->nics[from], p, max, t->now, &payload);
	if (!n)
		return;
	asking = rs_nic_tx_middles(t->nics[from], p, n, ask, t->now);
	went[p->opcode] += n;
	came[p->opcode] += gather ? n : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct rs_packet *single = pair_tx(&twin[0], from);
		struct rs_packet *q = one_of(t, from, p, i, payload, asking);

		if (i >= ask && rs_opcodes[p->opcode].flags & RS_F_REQUEST)
			rs_qp_ask_ack(twin[0].nics[from], single, t->now);
		assert_int_equal(single->opcode, q->opcode);
		assert_int_equal(single->psn, q->psn);
		assert_int_equal(single->bth_flags, q->bth_flags);
		assert_int_equal(single->payload_bytes, q->payload_bytes);
		assert_int_equal(single->frame_bytes, q->frame_bytes);
		assert_int_equal(single->dest_qp, q->dest_qp);
		assert_int_equal(single->payload - twin[0].memory[from],
				 q->payload - t->memory[from]);
		pair_rx(&twin[0], !from, single);
		asks |= q->bth_flags & RS_BTH_ACKREQ;
		memcpy(block + (size_t)i * STRIDE, q->payload, PAIR_MTU);
		if (gather)
			rs_pool_free(&t->lists[from], q);
		else
			pair_rx(t, !from, q);
	}
	if (gather) {
		struct rs_packet *q = one_of(t, from, p, 0, block, asks);

		q->payload = block;
		assert_int_equal(rs_nic_rx_ahead(t->nics[!from], q, n), n);
		rs_nic_rx_middles(t->nics[!from], q, n, STRIDE, t->now);
		rs_pool_free(&t->lists[from], q);
	}
	check_alike();
}

/* Both twins' next packet from there, and what goes behind it. False: there is none. */
static bool send_both(unsigned from)
{
	struct rs_packet *p = pair_tx(&twin[1], from), *q = pair_tx(&twin[0], from);

	assert_int_equal(!p, !q);
	if (!p)
		return false;
	assert_int_equal(p->opcode, q->opcode);
	assert_int_equal(p->psn, q->psn);
	pair_rx(&twin[0], !from, q);
	q = rs_pool_alloc(&twin[1].lists[from]);
	*q = *p;
	pair_rx(&twin[1], !from, q);
	if (p->payload_bytes)
		compare_middles(from, p);
	rs_pool_free(&twin[1].lists[from], p);
	return true;
}

static void test_middles_are_what_they_are_one_by_one(void **state)
{
	static const uint8_t ops[] = {RS_WR_WRITE, RS_WR_SEND, RS_WR_READ};
	static const uint8_t kinds[] = {RS_OP_WRITE_MIDDLE, RS_OP_SEND_MIDDLE,
					RS_OP_READ_RESPONSE_MIDDLE};

	seed = 5;
	make_twins();
	for (unsigned i = 0; i < CASES; i++) {
		unsigned first = draw(2);

		if (send_both(first) || send_both(!first))
			continue;
		check_alike();
		twin[0].now = twin[1].now = rs_time_max(twin[0].now, twin[1].now) + RS_MS;
		for (unsigned k = draw(3) + 1; k; k--)
			post_both(ops[draw(3)], 1 + draw(PAIR_BYTES / 2));
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_true(went[kinds[i]] > CASES / 8);
		assert_true(came[kinds[i]] > CASES / 16);
	}
	pair_settle(&twin[0]);
	pair_settle(&twin[1]);
	end_twins();
}

/* Which side sends the long packets of a request. */
static unsigned side_of(uint8_t op)
{
	return op == RS_WR_READ;
}

/* A message of 8 packets has begun at both ends of both twins; twin 1's first packet. */
static struct rs_packet *begin(uint8_t op)
{
	unsigned from = side_of(op);
	struct rs_packet *p = NULL;

	make_twins();
	post_both(op, 8 * PAIR_MTU);
	if (from)
		for (unsigned i = 0; i < 2; i++)
			pair_rx(&twin[i], 1, pair_tx(&twin[i], 0));
	for (unsigned i = 0; i < 2; i++) {
		struct rs_packet *q = rs_pool_alloc(&twin[i].lists[from]);

		p = pair_tx(&twin[i], from);
		*q = *p;
		pair_rx(&twin[i], !from, q);
		if (!i)
			rs_pool_free(&twin[0].lists[from], p);
	}
	return p;
}

static void end(uint8_t op, struct rs_packet *p)
{
	rs_pool_free(&twin[1].lists[side_of(op)], p);
	end_twins();
}

static uint32_t ahead(const struct rs_packet *p, unsigned from)
{
	const uint8_t *payload;

	return rs_nic_tx_ahead(twin[1].nics[from], p, 64, twin[1].now, &payload);
}

/* What holds whoever sends: its pace, its credit in bytes, memory that went. */
static void check_pace(struct rs_packet *p, unsigned from)
{
	struct rs_qp *qp = twin[1].qps[from];
	struct rs_nic *nic = twin[1].nics[from];
	struct rs_qp before = *qp;

	qp->cc.byte_credit = 2000;
	assert_int_equal(ahead(p, from), 0);
	*qp = before;
	qp->next_allowed = twin[1].now - 100 * RS_NS; /* 6 packets take 500 ns at 100 Gb/s */
	assert_int_equal(ahead(p, from), 0);
	qp->next_allowed = twin[1].now - 1000 * RS_NS;
	assert_int_equal(ahead(p, from), 6);
	*qp = before;
	assert_int_equal(rs_nic_dereg_mr(nic, twin[1].keys[from]), 0);
	assert_int_equal(ahead(p, from), 0);
}

static void test_sender_that_must_stop_has_none_ahead(void **state)
{
	struct rs_packet *p = begin(RS_WR_WRITE);
	struct rs_qp *qp = twin[1].qps[0];
	struct rs_nic *nic = twin[1].nics[0];
	struct rs_qp before = *qp;

	assert_int_equal(ahead(p, 0), 6);
	rs_qp_hold(nic, qp, true);
	assert_int_equal(ahead(p, 0), 0);
	rs_qp_hold(nic, qp, false);
	assert_int_equal(ahead(p, 0), 6);
	qp->max_psn = rs_psn_add(qp->next_psn, 2); /* sent again */
	assert_int_equal(ahead(p, 0), 0);
	*qp = before;
	qp->cc.window = 1 << 20; /* each packet is judged by it */
	assert_int_equal(ahead(p, 0), 0);
	*qp = before;
	check_pace(p, 0);
	end(RS_WR_WRITE, p);
}

static void test_responder_that_must_stop_has_none_ahead(void **state)
{
	struct rs_packet *p = begin(RS_WR_READ);
	struct rs_qp *qp = twin[1].qps[1];
	struct rs_nic *nic = twin[1].nics[1];
	struct rs_resource *r = &qp->cold->resources[qp->cold->resource_head];
	struct rs_sge s = {.va = BASE, .length = 8, .lkey = twin[1].keys[1]};
	struct rs_send_wr own = {.op = RS_WR_WRITE,
				 .n_sge = 1,
				 .sge = &s,
				 .remote_va = BASE,
				 .rkey = twin[1].keys[0]};

	assert_int_equal(ahead(p, 1), 6);
	rs_qp_hold_reads(nic, qp, true);
	assert_int_equal(ahead(p, 1), 0);
	rs_qp_hold_reads(nic, qp, false);
	r->before = 3; /* some of it is sent again */
	assert_int_equal(ahead(p, 1), 0);
	r->before = 0;
	p->psn++; /* another READ's */
	assert_int_equal(ahead(p, 1), 0);
	p->psn--;
	check_pace(p, 1);
	end(RS_WR_READ, p);

	p = begin(RS_WR_READ);
	own.rkey = twin[1].keys[0];
	s.lkey = twin[1].keys[1];
	assert_int_equal(ahead(p, 1), 6);
	for (unsigned i = 0; i < 2; i++) /* it takes turns with a request of its own */
		assert_int_equal(
			rs_qp_post_send(twin[i].nics[1], twin[i].qps[1], &own, twin[i].now), 0);
	assert_int_equal(ahead(p, 1), 0);
	end(RS_WR_READ, p);
}

/* Each thing that makes a Middle another packet than the next of the message under way. */
static void check_not_next(uint8_t op, uint8_t middle)
{
	struct rs_packet *p = begin(op), q = *p;
	unsigned to = !side_of(op);
	struct rs_nic *nic = twin[1].nics[to];
	struct rs_qp *qp = twin[1].qps[to], before = *qp;
	uint32_t most = op == RS_WR_SEND ? 7 : 6; /* a SEND does not say how long it is */

	q.opcode = RS_RC | middle;
	q.psn = rs_psn_add(p->psn, 1);
	assert_int_equal(rs_nic_rx_ahead(nic, &q, 64), most);
	assert_int_equal(rs_nic_rx_ahead(nic, &q, 4), 4);
	for (unsigned i = 0; i < 13; i++) {
		struct rs_packet r = q;

		*qp = before;
		r.opcode ^= i == 0 ? (middle == RS_OP_WRITE_MIDDLE ? RS_OP_SEND_MIDDLE
								   : RS_OP_WRITE_MIDDLE) ^
					     middle
				   : 0;
		r.opcode |= i == 1 ? RS_UC : 0;
		r.psn = rs_psn_add(r.psn, i == 2 ? 1 : i == 3 ? RS_PSN_MASK : 0);
		r.dest_qp += i == 4;
		r.pkey ^= i == 5;
		r.src += i == 6;
		r.payload_bytes -= i == 7 ? 4 : 0;
		r.tos |= i == 8 ? RS_ECN_CE : 0;
		if (to) { /* a responder's own state */
			qp->nak = i == 9 ? RS_NAK_PSN_SEQ : 0;
			qp->flags |= i == 10 ? RS_QF_ESTABLISH : 0;
			qp->flags |= i == 11 ? RS_QF_GAP : 0;
			qp->w_rkey ^= i == 12 && middle == RS_OP_WRITE_MIDDLE;
			qp->received = i == 12 ? 8 * PAIR_MTU : before.received;
			qp->w_left = i == 12 ? PAIR_MTU : before.w_left;
		} else { /* a requester's */
			qp->flags |= i == 9 ? RS_QF_RECOVERY : 0;
			qp->next_psn = rs_psn_add(qp->next_psn, i == 10 ? RS_PSN_MASK : 0);
			qp->una_k = i == 11 ? 7 : before.una_k;
			qp->max_psn = i == 12 ? qp->una_psn : before.max_psn;
		}
		assert_int_equal(rs_nic_rx_ahead(nic, &r, 64), 0);
	}
	*qp = before;
	assert_int_equal(rs_nic_rx_ahead(nic, &q, 64), most);
	end(op, p);
}

static void test_receiver_takes_none_that_is_not_plainly_next(void **state)
{
	check_not_next(RS_WR_WRITE, RS_OP_WRITE_MIDDLE);
	check_not_next(RS_WR_SEND, RS_OP_SEND_MIDDLE);
	check_not_next(RS_WR_READ, RS_OP_READ_RESPONSE_MIDDLE);
}

static unsigned copies_left;

static bool copy_some(void *to, const void *from, size_t n)
{
	if (!copies_left)
		return false;
	copies_left--;
	memcpy(to, from, n);
	return true;
}

/* Memory that cannot be touched from the third on: two are taken, and the connection ends. */
static void check_gone(uint8_t op, uint8_t middle)
{
	struct rs_packet *p = begin(op), q = *p;
	unsigned from = side_of(op);
	uint8_t block[6 * STRIDE] = {0};
	struct rs_cqe e[2][4];

	q.opcode = RS_RC | middle;
	q.payload = block;
	q.psn = rs_psn_add(p->psn, 1);
	for (unsigned i = 0; i < 2; i++)
		twin[i].nics[!from]->c.copy = copy_some;
	copies_left = 2;
	for (uint32_t i = 0; i < 6; i++) {
		struct rs_packet *r = rs_pool_alloc(&twin[0].lists[from]);

		*r = q;
		r->psn = rs_psn_add(q.psn, i);
		pair_rx(&twin[0], !from, r);
	}
	copies_left = 2;
	rs_nic_rx_middles(twin[1].nics[!from], &q, 6, STRIDE, twin[1].now);
	check_alike();
	assert_int_equal(twin[1].qps[!from]->state, RS_QPS_ERR);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rs_cq_poll(twin[i].cqs[!from], e[i], 4), op != RS_WR_WRITE);
	if (op != RS_WR_WRITE) {
		assert_int_equal(e[0][0].status, RS_WC_LOC_PROT_ERR);
		assert_int_equal(e[1][0].status, RS_WC_LOC_PROT_ERR);
	}
	end(op, p);
}

static void test_memory_that_is_gone_ends_both_alike(void **state)
{
	check_gone(RS_WR_WRITE, RS_OP_WRITE_MIDDLE);
	check_gone(RS_WR_SEND, RS_OP_SEND_MIDDLE);
	check_gone(RS_WR_READ, RS_OP_READ_RESPONSE_MIDDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_middles_are_what_they_are_one_by_one),
		cmocka_unit_test(test_sender_that_must_stop_has_none_ahead),
		cmocka_unit_test(test_responder_that_must_stop_has_none_ahead),
		cmocka_unit_test(test_receiver_takes_none_that_is_not_plainly_next),
		cmocka_unit_test(test_memory_that_is_gone_ends_both_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
