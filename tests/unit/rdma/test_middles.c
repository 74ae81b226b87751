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

static void check_senders(void)
{
	const struct rs_qp *a = twin[0].qps[0], *b = twin[1].qps[0];
	const struct rs_nic_counters *c = rs_nic_get_counters(twin[0].nics[0]);
	const struct rs_nic_counters *d = rs_nic_get_counters(twin[1].nics[0]);

	assert_int_equal(a->next_psn, b->next_psn);
	assert_int_equal(a->max_psn, b->max_psn);
	assert_int_equal(a->send_k, b->send_k);
	assert_int_equal(a->sent, b->sent);
	assert_int_equal(a->requested, b->requested);
	assert_int_equal(a->unrequested, b->unrequested);
	assert_int_equal(a->deadline, b->deadline);
	assert_int_equal(a->next_allowed, b->next_allowed);
	assert_int_equal(a->cc.byte_credit, b->cc.byte_credit);
	assert_int_equal(a->flags, b->flags);
	assert_memory_equal(c, d, sizeof(*c));
}

static void check_receivers(void)
{
	const struct rs_qp *a = twin[0].qps[1], *b = twin[1].qps[1];
	const struct rs_nic_counters *c = rs_nic_get_counters(twin[0].nics[1]);
	const struct rs_nic_counters *d = rs_nic_get_counters(twin[1].nics[1]);

	assert_int_equal(a->state, b->state);
	assert_int_equal(a->epsn, b->epsn);
	assert_int_equal(a->msn, b->msn);
	assert_int_equal(a->message, b->message);
	assert_int_equal(a->flags & ~RS_QF_ACK_OWED, b->flags & ~RS_QF_ACK_OWED);
	assert_int_equal(a->nak, b->nak);
	if (a->message != RS_NO_MESSAGE) {
		assert_int_equal(a->w_left, b->w_left);
		assert_int_equal(a->w_va, b->w_va);
	}
	assert_int_equal(c->rx_packets, d->rx_packets);
	assert_int_equal(c->rx_bytes, d->rx_bytes);
	assert_int_equal(c->rx_dropped, d->rx_dropped);
	assert_memory_equal(twin[0].memory[1], twin[1].memory[1], PAIR_BYTES);
}

static void post_both(uint8_t op, uint32_t length)
{
	for (unsigned i = 0; i < 2; i++) {
		if (op == RS_WR_SEND)
			pair_receive(&twin[i], length);
		assert_int_equal(pair_post(&twin[i], op, length), 0);
	}
}

static void give_to(struct pair *t, struct rs_packet *p)
{
	pair_rx(t, 1, p);
}

/* The i-th of those that p begins. */
static struct rs_packet *one_of(struct pair *t, const struct rs_packet *p, uint32_t i,
				const uint8_t *payload, uint64_t asking)
{
	struct rs_packet *q = rs_pool_alloc(&t->lists[0]);

	*q = *p;
	q->psn = rs_psn_add(p->psn, i);
	q->payload = payload + (size_t)i * PAIR_MTU;
	q->bth_flags =
		(uint8_t)(p->bth_flags & ~RS_BTH_ACKREQ) | (asking >> i & 1 ? RS_BTH_ACKREQ : 0);
	return q;
}

/* Behind p, twin 1 sends n Middles in one go; twin 0's next packets are the same, and are given to
 * its receiver. Those of twin 1 are given one by one or, of a WRITE, in one go. */
static uint32_t compare_middles(struct rs_packet *p)
{
	static uint8_t block[64 * STRIDE];
	struct pair *t = &twin[1];
	uint32_t max = 1 + draw(64), ask = draw(2) ? 64 : draw(64), n;
	bool write = rs_opcodes[p->opcode].flags & RS_F_WRITE, gather = write && draw(2);
	const uint8_t *payload;
	uint64_t asking;
	bool asks = false;

	n = rs_nic_tx_ahead(t->nics[0], p, max, t->now, &payload);
	if (!n)
		return 0;
	asking = rs_nic_tx_middles(t->nics[0], p, n, ask, t->now);
	for (uint32_t i = 0; i < n; i++) {
		struct rs_packet *single = pair_tx(&twin[0], 0);
		struct rs_packet *q = one_of(t, p, i, payload, asking);

		if (i >= ask)
			rs_qp_ask_ack(twin[0].nics[0], single, t->now);
		assert_int_equal(single->opcode, q->opcode);
		assert_int_equal(single->psn, q->psn);
		assert_int_equal(single->bth_flags, q->bth_flags);
		assert_int_equal(single->payload_bytes, q->payload_bytes);
		assert_int_equal(single->frame_bytes, q->frame_bytes);
		assert_int_equal(single->dest_qp, q->dest_qp);
		assert_int_equal(single->payload - twin[0].memory[0], q->payload - t->memory[0]);
		give_to(&twin[0], single);
		asks |= q->bth_flags & RS_BTH_ACKREQ;
		memcpy(block + (size_t)i * STRIDE, q->payload, PAIR_MTU);
		if (gather)
			rs_pool_free(&t->lists[0], q);
		else
			give_to(t, q);
	}
	if (gather) {
		struct rs_packet *q = one_of(t, p, 0, block, asks);

		q->payload = block;
		assert_true(rs_nic_rx_ahead(t->nics[1], q) >= n);
		rs_nic_rx_middles(t->nics[1], q, n, STRIDE, t->now);
		rs_pool_free(&t->lists[0], q);
	}
	check_senders();
	check_receivers();
	return n;
}

static void test_middles_are_what_they_are_one_by_one(void **state)
{
	unsigned went = 0;

	seed = 5;
	make_twins();
	for (unsigned i = 0; i < CASES; i++) {
		struct rs_packet *p = pair_tx(&twin[1], 0), *q;

		if (!p) {
			pair_settle(&twin[0]);
			pair_settle(&twin[1]);
			check_receivers();
			twin[0].now = twin[1].now = rs_time_max(twin[0].now, twin[1].now) + RS_MS;
			post_both(draw(3) ? RS_WR_WRITE : RS_WR_SEND, 1 + draw(PAIR_BYTES / 2));
			continue;
		}
		q = pair_tx(&twin[0], 0);
		assert_int_equal(p->psn, q->psn);
		give_to(&twin[0], q);
		q = rs_pool_alloc(&twin[1].lists[0]);
		*q = *p;
		give_to(&twin[1], q);
		went += compare_middles(p);
		rs_pool_free(&twin[1].lists[0], p);
	}
	assert_true(went > CASES);
	pair_settle(&twin[0]);
	pair_settle(&twin[1]);
	end_twins();
}

/* A WRITE of 8 packets has begun at both ends of both twins. */
static struct rs_packet *begin_write(void)
{
	struct rs_packet *p = NULL;

	make_twins();
	post_both(RS_WR_WRITE, 8 * PAIR_MTU);
	for (unsigned i = 0; i < 2; i++) {
		struct rs_packet *q = rs_pool_alloc(&twin[i].lists[0]);

		p = pair_tx(&twin[i], 0);
		*q = *p;
		give_to(&twin[i], q);
		if (!i)
			rs_pool_free(&twin[0].lists[0], p);
	}
	return p;
}

static uint32_t ahead(const struct rs_packet *p)
{
	const uint8_t *payload;

	return rs_nic_tx_ahead(twin[1].nics[0], p, 64, twin[1].now, &payload);
}

static void test_sender_that_must_stop_has_none_ahead(void **state)
{
	struct rs_packet *p = begin_write();
	struct rs_qp *qp = twin[1].qps[0];
	struct rs_nic *nic = twin[1].nics[0];
	struct rs_qp before = *qp;

	assert_int_equal(ahead(p), 6);
	rs_qp_hold(nic, qp, true);
	assert_int_equal(ahead(p), 0);
	rs_qp_hold(nic, qp, false);
	assert_int_equal(ahead(p), 6);
	qp->max_psn = rs_psn_add(qp->next_psn, 2); /* sent again */
	assert_int_equal(ahead(p), 0);
	*qp = before;
	qp->cc.window = 1 << 20; /* each packet is judged by it */
	assert_int_equal(ahead(p), 0);
	*qp = before;
	qp->cc.byte_credit = 2000;
	assert_int_equal(ahead(p), 0);
	*qp = before;
	qp->next_allowed = twin[1].now - 100 * RS_NS; /* 6 packets take 500 ns at 100 Gb/s */
	assert_int_equal(ahead(p), 0);
	qp->next_allowed = twin[1].now - 1000 * RS_NS;
	assert_int_equal(ahead(p), 6);
	*qp = before;
	assert_int_equal(rs_nic_dereg_mr(nic, twin[1].keys[0]), 0);
	assert_int_equal(ahead(p), 0);
	rs_pool_free(&twin[1].lists[0], p);
	end_twins();
}

/* Each thing that makes a Middle another packet than the next of the WRITE under way. */
static void test_receiver_takes_none_that_is_not_plainly_next(void **state)
{
	struct rs_packet *p = begin_write(), q;
	struct rs_nic *nic = twin[1].nics[1];
	struct rs_qp *qp = twin[1].qps[1], before;

	q = *p;
	q.opcode = RS_RC | RS_OP_WRITE_MIDDLE;
	q.psn = rs_psn_add(p->psn, 1);
	before = *qp;
	assert_int_equal(rs_nic_rx_ahead(nic, &q), 6);
	for (unsigned i = 0; i < 12; i++) {
		struct rs_packet r = q;

		*qp = before;
		r.opcode ^= i == 0 ? RS_OP_WRITE_MIDDLE ^ RS_OP_SEND_MIDDLE : 0;
		r.opcode |= i == 1 ? RS_UC : 0;
		r.psn = rs_psn_add(r.psn, i == 2 ? 1 : i == 3 ? RS_PSN_MASK : 0);
		r.dest_qp += i == 4;
		r.pkey ^= i == 5;
		r.src += i == 6;
		r.payload_bytes -= i == 7 ? 4 : 0;
		r.tos |= i == 8 ? RS_ECN_CE : 0;
		qp->w_rkey ^= i == 9;
		qp->nak = i == 10 ? RS_NAK_PSN_SEQ : 0;
		qp->flags |= i == 11 ? RS_QF_ESTABLISH : 0;
		assert_int_equal(rs_nic_rx_ahead(nic, &r), 0);
	}
	*qp = before;
	assert_int_equal(rs_nic_rx_ahead(nic, &q), 6);
	rs_pool_free(&twin[1].lists[0], p);
	end_twins();
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
static void test_memory_that_is_gone_ends_both_alike(void **state)
{
	struct rs_packet *p = begin_write();
	uint8_t block[6 * STRIDE] = {0};
	struct rs_packet q = *p;

	q.opcode = RS_RC | RS_OP_WRITE_MIDDLE;
	q.payload = block;
	q.psn = rs_psn_add(p->psn, 1);
	for (unsigned i = 0; i < 2; i++)
		twin[i].nics[1]->c.copy = copy_some;
	copies_left = 2;
	for (uint32_t i = 0; i < 6; i++) {
		struct rs_packet *r = rs_pool_alloc(&twin[0].lists[0]);

		*r = q;
		r->psn = rs_psn_add(q.psn, i);
		give_to(&twin[0], r);
	}
	copies_left = 2;
	rs_nic_rx_middles(twin[1].nics[1], &q, 6, STRIDE, twin[1].now);
	check_receivers();
	assert_int_equal(twin[1].qps[1]->state, RS_QPS_ERR);
	assert_int_equal(twin[1].qps[1]->epsn, rs_psn_add(p->psn, 3));
	rs_pool_free(&twin[1].lists[0], p);
	end_twins();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_middles_are_what_they_are_one_by_one),
		cmocka_unit_test(test_sender_that_must_stop_has_none_ahead),
		cmocka_unit_test(test_receiver_takes_none_that_is_not_plainly_next),
		cmocka_unit_test(test_memory_that_is_gone_ends_both_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
