/* Selective recovery, packet by packet: what is sent again, when, and what memory holds then. */
#include "unit/rdma/pair.h"

static void start(struct pair *t)
{
	pair_begin(t);
	t->init.recovery = &rs_recovery_selective;
	t->config.selective = (struct rs_selective){
		.in_flight = 64, .rto_low = 100 * RS_US, .rto_high = 320 * RS_US};
	pair_connect(t);
}

/* A WRITE of `bytes`, all of them `fill`, from one place to another. */
static void write_from(struct pair *t, uint32_t from, uint32_t to, uint32_t bytes, uint8_t fill)
{
	struct rs_sge sge = {.va = 0x1000 + from, .length = bytes, .lkey = t->keys[0]};
	struct rs_send_wr wr = {.op = RS_WR_WRITE,
				.flags = RS_WR_SIGNALED,
				.n_sge = 1,
				.sge = &sge,
				.remote_va = 0x1000 + to,
				.rkey = t->keys[1]};

	memset(t->memory[0] + from, fill, bytes);
	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
}

static void write_at(struct pair *t, uint32_t to, uint32_t bytes, uint8_t fill)
{
	write_from(t, to, to, bytes, fill);
}

static void expect_success(struct pair *t, uint32_t n)
{
	struct rs_cqe e[4];

	assert_int_equal(rs_cq_poll(t->cqs[0], e, 4), n);
	while (n--)
		assert_int_equal(e[n].status, RS_WC_SUCCESS);
}

static uint64_t sent_again(const struct pair *t)
{
	return rs_nic_get_counters(t->nics[0])->retransmitted_packets;
}

/* All ACKs that the responder owes, to the requester. */
static void answer(struct pair *t)
{
	struct rs_packet *p;

	while ((p = pair_tx(t, 1)))
		pair_rx(t, 0, p);
}

/* Of ten packets the second and the fifth are lost: these two are sent again, as soon as one behind
 * each has come, and nothing completes before its turn. */
static void test_only_what_is_missing_goes_again(void **state)
{
	struct pair t;

	start(&t);
	write_at(&t, 0, 10 * PAIR_MTU, 7);
	for (int i = 0; i < 10; i++) {
		struct rs_packet *p = pair_tx(&t, 0);

		assert_int_equal(p->psn, rs_psn_add(0xfffffe, (uint32_t)i));
		t.now += RS_US;
		if (i == 1 || i == 4)
			pair_drop(&t, 0, p);
		else
			pair_rx(&t, 1, p);
	}
	assert_int_equal(rs_nic_get_counters(t.nics[1])->tx_ack_packets, 0);
	assert_memory_equal(t.memory[1] + 9 * PAIR_MTU, t.memory[0], PAIR_MTU); /* placed early */
	answer(&t);
	for (int i = 1; i <= 4; i += 3) {
		struct rs_packet *p = pair_tx(&t, 0);

		assert_int_equal(p->psn, rs_psn_add(0xfffffe, (uint32_t)i));
		assert_true(p->bth_flags & RS_BTH_ACKREQ);
		assert_int_equal(rs_cq_waiting(t.cqs[0]), 0);
		pair_rx(&t, 1, p);
	}
	assert_null(pair_tx(&t, 0));
	answer(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(sent_again(&t), 2);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 0);
	assert_memory_equal(t.memory[1], t.memory[0], 10 * PAIR_MTU);
	assert_int_equal(test_cc.losses, 1); /* a round trip's losses are one event */
	pair_end(&t);
}

/* The SACK: 64 PSNs, aligned, a bit for each that came before its turn. */
static void test_a_sack_names_what_came(void **state)
{
	struct pair t;
	struct rs_packet *p;

	start(&t);
	write_at(&t, 0, 5 * PAIR_MTU, 7);
	pair_drop(&t, 0, pair_tx(&t, 0)); /* 0xfffffe */
	pair_drop(&t, 0, pair_tx(&t, 0)); /* 0xffffff */
	pair_rx(&t, 1, pair_tx(&t, 0));   /* 0 */
	pair_drop(&t, 0, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0)); /* 2 */
	p = pair_tx(&t, 1);
	assert_int_equal(p->opcode, RS_OP_ACKNOWLEDGE);
	assert_int_equal(rs_packet_syndrome(p) & RS_SYN_KIND, RS_SYN_SACK);
	assert_int_equal(p->psn, 0xfffffd);
	assert_int_equal(p->rkey, 0);
	assert_int_equal(p->va, 5);
	assert_int_equal(p->frame_bytes,
			 rs_frame_bytes(RS_OP_ACKNOWLEDGE, 0, false) + RS_SACK_BYTES);
	pair_rx(&t, 0, p);
	pair_settle(&t);
	assert_int_equal(sent_again(&t), 3);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

/* Nothing behind a lost tail tells of it: IRN's shorter timeout for 3 packets or fewer, the longer
 * for more; only the tail goes again. */
static void test_a_lost_tail_costs_irns_timeouts(void **state)
{
	for (int lost = 3; lost <= 4; lost++) {
		struct pair t;
		rs_time sent;

		start(&t);
		write_at(&t, 0, 8 * PAIR_MTU, 7);
		for (int i = 0; i < 8 - lost; i++)
			pair_rx(&t, 1, pair_tx(&t, 0));
		for (int i = 0; i < lost; i++)
			pair_drop(&t, 0, pair_tx(&t, 0));
		answer(&t);
		sent = t.now;
		assert_int_equal(pair_expire(&t, 0), sent + (lost == 3 ? 100 : 320) * RS_US);
		pair_settle(&t);
		assert_int_equal(sent_again(&t), lost);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
		assert_int_equal(test_cc.timeouts, 1);
		pair_end(&t);
	}
}

/* What comes in another order within `reorder` is not lost. */
static void test_a_changed_order_is_no_loss_within_its_time(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct pair t;
		struct rs_packet *first, *p;

		pair_begin(&t);
		t.init.recovery = &rs_recovery_selective;
		t.config.selective = (struct rs_selective){.in_flight = 64,
							   .reorder = 20 * RS_US,
							   .rto_low = RS_MS,
							   .rto_high = RS_MS};
		pair_connect(&t);
		write_at(&t, 0, 6 * PAIR_MTU, 7);
		first = pair_tx(&t, 0);
		while ((p = pair_tx(&t, 0)))
			pair_rx(&t, 1, p);
		t.now += 2 * RS_US;
		answer(&t);
		assert_null(pair_tx(&t, 0));
		t.now += (late ? 30 : 10) * RS_US;
		if (late)
			rs_nic_expire(t.nics[0], t.now);
		pair_rx(&t, 1, first);
		pair_settle(&t);
		assert_int_equal(sent_again(&t), late);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
		pair_end(&t);
	}
}

/* Two WRITEs to one place: the second is put there while the first is lost, and stays. */
static void test_a_late_write_leaves_newer_bytes(void **state)
{
	struct pair t;

	start(&t);
	write_at(&t, 0, 3 * PAIR_MTU, 1);
	for (int i = 0; i < 3; i++)
		pair_drop(&t, 0, pair_tx(&t, 0));
	/* unaligned to the first one's packets, so that it covers parts of two */
	write_from(&t, 0x8000, PAIR_MTU / 2, PAIR_MTU, 2);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_settle(&t);
	for (int i = 0; i < 3 * PAIR_MTU; i++)
		assert_int_equal(t.memory[1][i],
				 i >= PAIR_MTU / 2 && i < PAIR_MTU / 2 + PAIR_MTU ? 2 : 1);
	assert_int_equal(sent_again(&t), 3);
	expect_success(&t, 2);
	pair_end(&t);
}

/* No WRITE goes while a SEND, READ or atomic before it is out, nor a READ or atomic while anything
 * is. */
static void test_only_writes_overtake_writes(void **state)
{
	static const uint8_t before[] = {RS_WR_SEND, RS_WR_READ, RS_WR_WRITE};
	static const uint8_t behind[] = {RS_WR_WRITE, RS_WR_WRITE, RS_WR_READ};

	for (unsigned i = 0; i < 3; i++) {
		struct pair t;
		struct rs_packet *p;

		start(&t);
		pair_receive(&t, 1024);
		pair_post(&t, before[i], 64);
		pair_post(&t, behind[i], 64);
		p = pair_tx(&t, 0);
		assert_non_null(p);
		assert_null(pair_tx(&t, 0));
		pair_rx(&t, 1, p);
		pair_settle(&t);
		expect_success(&t, 2);
		pair_end(&t);
	}
}

static void test_the_window_bounds_what_is_in_flight(void **state)
{
	struct pair t;
	struct rs_packet *p;
	unsigned n = 0;

	pair_begin(&t);
	t.init.recovery = &rs_recovery_selective;
	t.config.ack_every = 0;
	t.config.selective = (struct rs_selective){
		.in_flight = 5, .rto_low = 100 * RS_US, .rto_high = 320 * RS_US};
	pair_connect(&t);
	write_at(&t, 0, 20 * PAIR_MTU, 7);
	for (; (p = pair_tx(&t, 0)); n++)
		pair_rx(&t, 1, p);
	assert_int_equal(n, 5);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(sent_again(&t), 0);
	pair_end(&t);
}

/* A packet takes twice the timeout to pace, and no answer is due before the last: none fires. */
static void test_slow_pace_is_no_timeout(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_begin(&t);
	test_cc.rate = 40 * RS_MBPS;
	t.init.recovery = &rs_recovery_selective;
	t.config.ack_every = 0;
	t.config.selective = (struct rs_selective){
		.in_flight = 64, .rto_low = 100 * RS_US, .rto_high = 100 * RS_US};
	pair_connect(&t);
	write_at(&t, 0, 5 * PAIR_MTU, 7);
	for (int i = 0; i < 5; i++) {
		p = pair_tx(&t, 0);
		assert_int_equal(!!(p->bth_flags & RS_BTH_ACKREQ), i == 4);
		assert_int_equal(rs_nic_deadline(t.nics[0]) == RS_NEVER, i < 4);
		pair_rx(&t, 1, p);
	}
	answer(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 0);
	pair_end(&t);
}

/* A receive at an offset of NIC 1's memory. */
static void receive_at(struct pair *t, uint32_t at, uint32_t length)
{
	struct rs_sge s = {.va = 0x1000 + at, .length = length, .lkey = t->keys[1]};
	struct rs_recv_wr wr = {.wr_id = at, .n_sge = 1, .sge = &s};

	assert_int_equal(rs_qp_post_recv(t->nics[1], t->qps[1], &wr), 0);
}

static void send_from(struct pair *t, uint32_t from, uint32_t bytes, uint8_t fill)
{
	struct rs_sge sge = {.va = 0x1000 + from, .length = bytes, .lkey = t->keys[0]};
	struct rs_send_wr wr = {.op = RS_WR_SEND, .flags = RS_WR_SIGNALED, .n_sge = 1, .sge = &sge};

	memset(t->memory[0] + from, fill, bytes);
	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
}

/* Three SENDs, of two packets, one and two: the first packet comes last. The others are in the
 * receives that they take by then; receives complete in order, and nothing goes again. */
static void test_sends_are_taken_in_any_order(void **state)
{
	static const uint32_t at[] = {0, 4 * PAIR_MTU, 8 * PAIR_MTU};
	static const uint32_t bytes[] = {2 * PAIR_MTU, 100, 2 * PAIR_MTU - 1};
	struct rs_packet *p[5];
	struct rs_cqe e[4];
	struct pair t;

	start(&t);
	for (unsigned i = 0; i < 3; i++) {
		receive_at(&t, at[i], 2 * PAIR_MTU);
		send_from(&t, at[i], bytes[i], (uint8_t)(i + 1));
	}
	for (unsigned i = 0; i < 5; i++)
		assert_non_null(p[i] = pair_tx(&t, 0));
	for (unsigned i = 5; i-- > 1;)
		pair_rx(&t, 1, p[i]);
	for (unsigned i = 1; i < 3; i++)
		assert_memory_equal(t.memory[1] + at[i], t.memory[0] + at[i], bytes[i]);
	assert_int_equal(rs_cq_poll(t.cqs[1], e, 4), 0);
	pair_rx(&t, 1, p[0]);
	assert_int_equal(rs_cq_poll(t.cqs[1], e, 4), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(e[i].wr_id, at[i]);
		assert_int_equal(e[i].bytes, bytes[i]);
		assert_memory_equal(t.memory[1] + at[i], t.memory[0] + at[i], bytes[i]);
	}
	answer(&t);
	expect_success(&t, 3);
	assert_int_equal(sent_again(&t), 0);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->packet_seq_err, 0);
	pair_end(&t);
}

/* Without a receive it is not kept: it is asked for again, and taken when there is one. */
static void test_a_send_without_a_receive_is_not_kept(void **state)
{
	struct rs_packet *p[2];
	struct rs_cqe e[4];
	struct pair t;

	start(&t);
	receive_at(&t, 0, 100);
	send_from(&t, 0, 100, 1);
	send_from(&t, 4 * PAIR_MTU, 100, 2);
	p[0] = pair_tx(&t, 0);
	p[1] = pair_tx(&t, 0);
	assert_non_null(p[1]);
	pair_rx(&t, 1, p[1]);
	pair_rx(&t, 1, p[0]);
	assert_int_equal(rs_cq_poll(t.cqs[1], e, 4), 1);
	receive_at(&t, 4 * PAIR_MTU, 100);
	answer(&t);
	for (unsigned i = 0; i < 400; i++) {
		struct rs_packet *q;

		while ((q = pair_tx(&t, 0)))
			pair_rx(&t, 1, q);
		answer(&t);
		t.now += RS_US;
		rs_nic_expire(t.nics[0], t.now);
	}
	assert_int_equal(rs_cq_poll(t.cqs[1], e, 4), 1);
	assert_memory_equal(t.memory[1] + 4 * PAIR_MTU, t.memory[0] + 4 * PAIR_MTU, 100);
	expect_success(&t, 2);
	pair_end(&t);
}

/* A READ of NIC 1's bytes at `at` to the same place of NIC 0. */
static void read_at(struct pair *t, uint32_t at, uint32_t bytes, uint8_t fill)
{
	struct rs_sge sge = {.va = 0x1000 + at, .length = bytes, .lkey = t->keys[0]};
	struct rs_send_wr wr = {.wr_id = at,
				.op = RS_WR_READ,
				.flags = RS_WR_SIGNALED,
				.n_sge = 1,
				.sge = &sge,
				.remote_va = 0x1000 + at,
				.rkey = t->keys[1]};

	memset(t->memory[1] + at, fill, bytes);
	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
}

static uint64_t implied_naks(const struct pair *t)
{
	return rs_nic_get_counters(t->nics[0])->implied_nak_seq_err;
}

/* Of ten responses the second and the fifth are lost: a READ of each alone, with its PSN, as soon
 * as one behind it has come. The other eight are in memory by then; nothing completes before all.
 */
static void test_a_read_asks_for_what_is_missing(void **state)
{
	struct pair t;

	start(&t);
	read_at(&t, 0, 10 * PAIR_MTU - 5, 7);
	pair_rx(&t, 1, pair_tx(&t, 0));
	for (int i = 0; i < 10; i++) {
		struct rs_packet *p = pair_tx(&t, 1);

		assert_int_equal(p->psn, rs_psn_add(0xfffffe, (uint32_t)i));
		if (i == 1 || i == 4)
			pair_drop(&t, 1, p);
		else
			pair_rx(&t, 0, p);
	}
	assert_int_equal(t.memory[0][PAIR_MTU], 0);
	assert_memory_equal(t.memory[0] + 5 * PAIR_MTU, t.memory[1], 5 * PAIR_MTU - 5);
	for (int i = 1; i <= 4; i += 3) {
		struct rs_packet *p = pair_tx(&t, 0);

		assert_int_equal(p->opcode, RS_OP_READ_REQUEST);
		assert_int_equal(p->psn, rs_psn_add(0xfffffe, (uint32_t)i));
		assert_int_equal(p->va, 0x1000 + i * PAIR_MTU);
		assert_int_equal(p->dma_bytes, PAIR_MTU);
		assert_int_equal(rs_cq_waiting(t.cqs[0]), 0);
		pair_rx(&t, 1, p);
	}
	assert_null(pair_tx(&t, 0));
	answer(&t);
	assert_int_equal(pair_poll(&t, 0).bytes, 10 * PAIR_MTU - 5);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->tx_data_packets, 12);
	assert_memory_equal(t.memory[0], t.memory[1], 10 * PAIR_MTU - 5);
	assert_int_equal(implied_naks(&t), 0);
	pair_end(&t);
}

/* The second READ's responses and an atomic's answer come before the first READ's, all turned
 * round: nothing is asked for again within `reorder`, and completions keep their order. */
static void test_answers_are_taken_in_any_order(void **state)
{
	struct rs_packet *p[8], *q;
	struct rs_cqe e[4];
	unsigned n = 0;
	struct pair t;

	pair_begin(&t);
	t.init.recovery = &rs_recovery_selective;
	t.config.selective = (struct rs_selective){
		.in_flight = 64, .reorder = 20 * RS_US, .rto_low = RS_MS, .rto_high = RS_MS};
	t.attr.max_rd_atomic = t.attr.max_dest_rd_atomic = 3;
	pair_connect(&t);
	read_at(&t, 0, 3 * PAIR_MTU, 1);
	read_at(&t, 4 * PAIR_MTU, 2 * PAIR_MTU, 2);
	pair_post(&t, RS_WR_FETCH_ADD, 8);
	while ((q = pair_tx(&t, 0)))
		pair_rx(&t, 1, q);
	while ((q = pair_tx(&t, 1)))
		p[n++] = q;
	assert_int_equal(n, 6);
	while (n) {
		assert_int_equal(rs_cq_waiting(t.cqs[0]), 0);
		pair_rx(&t, 0, p[--n]);
		assert_null(pair_tx(&t, 0));
	}
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 4), 3);
	assert_int_equal(e[0].wr_id, 0);
	assert_int_equal(e[1].wr_id, 4 * PAIR_MTU);
	assert_int_equal(e[2].op, RS_WR_FETCH_ADD);
	assert_memory_equal(t.memory[0], t.memory[1], 6 * PAIR_MTU);
	assert_int_equal(sent_again(&t) + implied_naks(&t), 0);
	pair_end(&t);
}

/* Two FETCH_ADDs and a READ reach the responder the wrong way round: each waits for its turn, and
 * is executed once. The NAK that tells of the gap does nothing within `reorder`. */
static void test_atomics_wait_for_their_turn(void **state)
{
	struct rs_packet *p[3];
	uint64_t word, old;
	struct pair t;

	pair_begin(&t);
	t.init.recovery = &rs_recovery_selective;
	t.config.selective = (struct rs_selective){
		.in_flight = 64, .reorder = 20 * RS_US, .rto_low = RS_MS, .rto_high = RS_MS};
	t.attr.max_rd_atomic = t.attr.max_dest_rd_atomic = 3;
	pair_connect(&t);
	pair_post(&t, RS_WR_FETCH_ADD, 8); /* 5 to the word at 0x8000, the old one to 0 */
	pair_post(&t, RS_WR_FETCH_ADD, 8);
	read_at(&t, 4 * PAIR_MTU, 64, 3);
	for (int i = 0; i < 3; i++)
		p[i] = pair_tx(&t, 0);
	for (int i = 3; i--;) {
		memcpy(&word, t.memory[1] + 0x8000, 8);
		assert_int_equal(word, 0);
		pair_rx(&t, 1, p[i]);
	}
	memcpy(&word, t.memory[1] + 0x8000, 8);
	assert_int_equal(word, 10);
	pair_settle(&t);
	memcpy(&old, t.memory[0], 8);
	assert_int_equal(old, 5);
	expect_success(&t, 3);
	assert_int_equal(sent_again(&t), 0);
	pair_end(&t);
}

/* The first READ's request is lost, the second's is kept: the NAK asks for the first, and the
 * second is answered once. */
static void test_a_lost_read_request_costs_a_nak(void **state)
{
	struct pair t;
	rs_time began;

	start(&t);
	read_at(&t, 0, 2 * PAIR_MTU, 1);
	read_at(&t, 4 * PAIR_MTU, 3 * PAIR_MTU, 2);
	began = t.now;
	pair_drop(&t, 0, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_settle(&t);
	expect_success(&t, 2);
	assert_memory_equal(t.memory[0], t.memory[1], 8 * PAIR_MTU);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->packet_seq_err, 1);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 0);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->tx_data_packets, 5);
	assert_true(t.now - began < 10 * RS_US);
	pair_end(&t);
}

/* Nothing behind a lost last response tells of it. A request that is asked once more while its
 * answers still wait to be sent is answered once. */
static void test_a_lost_last_response_costs_rto_low(void **state)
{
	struct pair t;
	rs_time sent;

	start(&t);
	read_at(&t, 0, 8 * PAIR_MTU, 7);
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_int_equal(pair_expire(&t, 0), 320 * RS_US);
	pair_rx(&t, 1, pair_tx(&t, 0));
	for (int i = 0; i < 7; i++)
		pair_rx(&t, 0, pair_tx(&t, 1));
	sent = t.now;
	pair_drop(&t, 1, pair_tx(&t, 1));
	assert_null(pair_tx(&t, 1));
	assert_int_equal(pair_expire(&t, 0), sent + 100 * RS_US);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->tx_data_packets, 9);
	pair_end(&t);
}

static void test_only_rc_is_selective(void **state)
{
	struct pair t;
	struct rs_qp *qp;

	start(&t);
	t.init.transport = RS_UC;
	assert_int_equal(rs_nic_create_qp(t.nics[0], &t.init, &qp), -EINVAL);
	t.init.transport = RS_RC;
	t.init.send_cq = t.init.recv_cq = t.cqs[0];
	assert_int_equal(rs_nic_create_qp(t.nics[0], &t.init, &qp), 0);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_missing_goes_again),
		cmocka_unit_test(test_a_sack_names_what_came),
		cmocka_unit_test(test_a_lost_tail_costs_irns_timeouts),
		cmocka_unit_test(test_a_changed_order_is_no_loss_within_its_time),
		cmocka_unit_test(test_a_late_write_leaves_newer_bytes),
		cmocka_unit_test(test_only_writes_overtake_writes),
		cmocka_unit_test(test_the_window_bounds_what_is_in_flight),
		cmocka_unit_test(test_slow_pace_is_no_timeout),
		cmocka_unit_test(test_sends_are_taken_in_any_order),
		cmocka_unit_test(test_a_send_without_a_receive_is_not_kept),
		cmocka_unit_test(test_a_read_asks_for_what_is_missing),
		cmocka_unit_test(test_answers_are_taken_in_any_order),
		cmocka_unit_test(test_atomics_wait_for_their_turn),
		cmocka_unit_test(test_a_lost_read_request_costs_a_nak),
		cmocka_unit_test(test_a_lost_last_response_costs_rto_low),
		cmocka_unit_test(test_only_rc_is_selective),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
