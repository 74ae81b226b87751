/* The responder's checks and answers: IBTA §9.7.4, §9.7.5, table 45, table 46. */
#include "unit/rdma/pair.h"

static void test_responder_nak_once_per_gap(void **state)
{
	struct pair t;
	struct rs_packet *p, *answer;

	pair_start(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 5 * PAIR_MTU), 0);
	pair_drop(&t, 0, pair_tx(&t, 0));
	for (int i = 0; i < 4; i++) {
		p = pair_tx(&t, 0);
		pair_rx(&t, 1, p);
	}
	answer = pair_tx(&t, 1);
	assert_non_null(answer);
	assert_int_equal(answer->opcode, RS_OP_ACKNOWLEDGE);
	assert_int_equal(rs_packet_syndrome(answer), RS_NAK_PSN_SEQ);
	assert_int_equal(answer->psn, 0xfffffe);
	assert_null(pair_tx(&t, 1));
	assert_int_equal(rs_nic_get_counters(t.nics[1])->out_of_sequence, 4);
	pair_rx(&t, 0, answer);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->packet_seq_err, 1);
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->retransmitted_packets, 5);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_responder_gap_that_closes_by_itself_is_not_naked(void **state)
{
	struct pair t;
	struct rs_packet *first, *second;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU);
	first = pair_tx(&t, 0);
	second = pair_tx(&t, 0);
	pair_rx(&t, 1, second);
	pair_rx(&t, 1, first);
	first = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(first) & RS_SYN_KIND, RS_SYN_ACK);
	assert_int_equal(first->psn, 0xfffffe);
	pair_drop(&t, 1, first);
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_responder_duplicate_write_is_acknowledged_not_executed(void **state)
{
	struct pair t;
	struct rs_packet *p, *ack;

	pair_start(&t);
	memset(t.memory[0], 0x11, 64);
	pair_post(&t, RS_WR_WRITE, 64);
	p = pair_tx(&t, 0);
	pair_rx(&t, 1, p);
	pair_drop(&t, 1, pair_tx(&t, 1));
	memset(t.memory[1] + 0x8000, 0x22, 64);
	pair_expire(&t, 0);
	pair_rx(&t, 1, pair_tx(&t, 0));
	ack = pair_tx(&t, 1);
	assert_int_equal(ack->psn, 0xfffffe);
	assert_int_equal(t.memory[1][0x8000], 0x22);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->duplicate_request, 1);
	pair_rx(&t, 0, ack);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_responder_duplicate_atomic_gets_the_saved_answer(void **state)
{
	struct pair t;
	uint64_t word = 100, original;

	pair_start(&t);
	memcpy(t.memory[1] + 0x8000, &word, 8);
	pair_post(&t, RS_WR_FETCH_ADD, 8);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_drop(&t, 1, pair_tx(&t, 1));
	pair_expire(&t, 0);
	pair_settle(&t);
	memcpy(&word, t.memory[1] + 0x8000, 8);
	memcpy(&original, t.memory[0], 8);
	assert_int_equal(word, 105);
	assert_int_equal(original, 100);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->duplicate_request, 1);
	assert_int_equal(pair_poll(&t, 0).op, RS_WR_FETCH_ADD);
	pair_end(&t);
}

static void test_responder_atomic_write_is_done_once(void **state)
{
	struct pair t;

	pair_start(&t);
	memset(t.memory[0], 0x5a, 8);
	pair_post(&t, RS_WR_ATOMIC_WRITE, 8);
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_memory_equal(t.memory[1] + 0x8000, t.memory[0], 8);
	pair_drop(&t, 1, pair_tx(&t, 1));
	memset(t.memory[1] + 0x8000, 0x11, 8); /* the peer's own store, later */
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(t.memory[1][0x8000], 0x11);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->duplicate_request, 1);
	assert_int_equal(pair_poll(&t, 0).op, RS_WR_ATOMIC_WRITE);
	pair_end(&t);
}

static void test_responder_duplicate_read_is_executed_again(void **state)
{
	struct pair t;

	pair_start(&t);
	memset(t.memory[1] + 0x8000, 0x55, 3 * PAIR_MTU);
	pair_post(&t, RS_WR_READ, 3 * PAIR_MTU);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1)); /* First arrives, Middle and Last do not */
	pair_drop(&t, 1, pair_tx(&t, 1));
	pair_drop(&t, 1, pair_tx(&t, 1));
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).bytes, 3 * PAIR_MTU);
	assert_memory_equal(t.memory[0], t.memory[1] + 0x8000, 3 * PAIR_MTU);
	/* what had arrived was not asked for again */
	assert_int_equal(rs_nic_get_counters(t.nics[1])->tx_data_packets, 5);
	pair_end(&t);
}

static void test_responder_acks_are_merged(void **state)
{
	struct pair t;
	struct rs_packet *ack;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 4 * PAIR_MTU);
	for (int i = 0; i < 4; i++)
		pair_rx(&t, 1, pair_tx(&t, 0));
	ack = pair_tx(&t, 1);
	assert_int_equal(ack->psn, rs_psn_add(0xfffffe, 3));
	assert_int_equal(rs_packet_msn(ack), 1);
	assert_null(pair_tx(&t, 1));
	pair_rx(&t, 0, ack);
	pair_end(&t);
}

static void test_responder_acks_every_so_many_packets(void **state)
{
	static const struct {
		uint32_t every, bytes, acks;
	} rows[] = {{1, 0, 8},
		    {2, 0, 4},
		    {4, 0, 2},
		    {8, 0, 1},
		    {0, 0, 1},
		    {100, 0, 1},
		    {1, 2 * PAIR_MTU, 4},
		    {1, 2 * PAIR_MTU + 1, 3},
		    {4, 2 * PAIR_MTU, 2},
		    {1, 100 * PAIR_MTU, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair t;

		pair_begin(&t);
		t.config.ack_every = rows[i].every;
		t.config.ack_bytes = rows[i].bytes;
		pair_connect(&t);
		pair_post(&t, RS_WR_WRITE, 8 * PAIR_MTU);
		for (int k = 0; k < 8; k++) {
			struct rs_packet *ack;

			pair_rx(&t, 1, pair_tx(&t, 0));
			ack = pair_tx(&t, 1);
			if (ack)
				pair_rx(&t, 0, ack);
		}
		assert_int_equal(rs_nic_get_counters(t.nics[1])->tx_ack_packets, rows[i].acks);
		pair_end(&t);
	}
}

static void test_responder_delayed_ack_waits_no_longer_than_its_delay(void **state)
{
	struct pair t;
	rs_time sent;

	pair_begin(&t);
	t.config.ack_every = 16;
	t.config.ack_delay = 2 * RS_US;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	sent = t.now;
	assert_null(pair_tx(&t, 1));
	assert_int_equal(pair_expire(&t, 1), sent + 2 * RS_US);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

/* A request whose header one test row alters, and the NAK that it must earn. */
static void expect_nak(uint8_t op, uint32_t length, void (*alter)(struct rs_packet *),
		       uint8_t syndrome, uint8_t status)
{
	struct pair t;
	struct rs_packet *p, *nak;

	pair_start(&t);
	pair_receive(&t, 4096);
	pair_post(&t, op, length);
	p = pair_tx(&t, 0);
	alter(p);
	pair_rx(&t, 1, p);
	nak = pair_tx(&t, 1);
	assert_non_null(nak);
	assert_int_equal(rs_packet_syndrome(nak), syndrome);
	assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_ERR);
	pair_rx(&t, 0, nak);
	assert_int_equal(pair_poll(&t, 0).status, status);
	assert_int_equal(rs_qp_get_state(t.qps[0]), RS_QPS_ERR);
	pair_end(&t);
}

static void middle_first(struct rs_packet *p)
{
	p->opcode = RS_OP_WRITE_MIDDLE;
}

static void unknown_op(struct rs_packet *p)
{
	p->opcode = RS_OP_FLUSH;
}

static void short_first(struct rs_packet *p)
{
	p->payload_bytes--;
}

static void more_than_announced(struct rs_packet *p)
{
	p->dma_bytes--;
}

static void odd_atomic(struct rs_packet *p)
{
	p->va++;
}

static void giant_read(struct rs_packet *p)
{
	p->dma_bytes = (1u << 31) + 1;
}

static void odd_key(struct rs_packet *p)
{
	p->rkey++;
}

static void giant_write(struct rs_packet *p)
{
	p->dma_bytes = (1u << 31) + PAIR_MTU;
}

static void test_responder_checks_sequence_opcode_and_length(void **state)
{
	static const uint8_t naks = RS_NAK_INVALID_REQUEST, status = RS_WC_REM_INV_REQ_ERR;

	expect_nak(RS_WR_WRITE, PAIR_MTU, middle_first, naks, status);
	expect_nak(RS_WR_SEND, 64, unknown_op, naks, status);
	expect_nak(RS_WR_WRITE, 2 * PAIR_MTU, short_first, naks, status);
	expect_nak(RS_WR_WRITE, 64, more_than_announced, naks, status);
	expect_nak(RS_WR_FETCH_ADD, 8, odd_atomic, naks, status);
	expect_nak(RS_WR_READ, 8, giant_read, naks, status);
	expect_nak(RS_WR_WRITE, 2 * PAIR_MTU, giant_write, naks, status);
	expect_nak(RS_WR_WRITE, PAIR_MTU, giant_write, naks, status);
	expect_nak(RS_WR_WRITE_IMM, PAIR_MTU, giant_write, naks, status);
}

/* As far as it is in bounds its first packet passes: 2^31 itself is a length. */
static void test_message_of_2_to_the_31_bytes_is_the_longest(void **state)
{
	struct rs_sge two[2] = {{.va = 0x1000, .length = 1u << 31}, {.va = 0x1000, .length = 1}};
	struct rs_send_wr wr = {.op = RS_WR_WRITE, .n_sge = 1, .sge = two};
	static uint8_t nothing[1];
	struct rs_packet *p;
	uint32_t key;
	struct pair t;

	pair_start(&t);
	two[0].lkey = two[1].lkey = t.keys[0];
	wr.n_sge = 2;
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, t.now), -EINVAL);
	assert_int_equal(
		rs_nic_reg_mr(t.nics[1], PAIR_PD, 1 << 20, UINT64_C(1) << 33, 15, nothing, &key),
		0);
	pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU);
	p = pair_tx(&t, 0);
	p->rkey = key;
	p->va = 1 << 20;
	p->dma_bytes = 1u << 31;
	p->payload = NULL;
	p->payload_bytes = PAIR_MTU;
	t.nics[1]->c.copy_payload = false; /* its bytes go nowhere */
	pair_rx(&t, 1, p);
	assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_RTS);
	assert_int_equal(t.qps[1]->epsn, 0xffffff);
	pair_drop(&t, 0, pair_tx(&t, 0));
	pair_drop(&t, 1, pair_tx(&t, 1));
	t.nics[1]->c.copy_payload = true;
	pair_end(&t);
}

static bool reserved(unsigned op)
{
	return !(rs_opcodes[op].flags & RS_F_VALID);
}

/* RC's own, at the PSN that is expected: NAK, invalid request (the table of §9.9.3). */
static void test_reserved_opcode_is_an_invalid_request(void **state)
{
	unsigned seen = 0;

	for (unsigned op = RS_RC; op < RS_RC + 32; op++) {
		struct rs_packet *p;
		struct pair t;

		if (!reserved(op))
			continue;
		seen++;
		pair_start(&t);
		pair_post(&t, RS_WR_WRITE, 64);
		p = pair_tx(&t, 0);
		p->opcode = (uint8_t)op;
		p->payload_bytes = 0;
		pair_rx(&t, 1, p);
		p = pair_tx(&t, 1);
		assert_non_null(p);
		assert_int_equal(rs_packet_syndrome(p), RS_NAK_INVALID_REQUEST);
		assert_int_equal(p->psn, 0xfffffe);
		assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_ERR);
		pair_rx(&t, 0, p);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_INV_REQ_ERR);
		pair_end(&t);
	}
	assert_int_equal(seen, 7); /* 0x15, 0x18..0x1b, 0x1e, 0x1f */
}

/* The PSN is looked at first; another service's opcodes, and those of no service, are dropped. */
static void test_reserved_opcode_elsewhere_is_no_request(void **state)
{
	struct rs_packet *p;
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_drop(&t, 1, pair_tx(&t, 1));
	p = pair_tx(&t, 0);
	for (unsigned op = 0; op < 256; op++) {
		struct rs_packet *copy;

		if (!reserved(op))
			continue;
		copy = rs_pool_alloc(&t.lists[0]);
		*copy = *p;
		copy->opcode = (uint8_t)op;
		copy->payload_bytes = 0;
		if (op < 32) { /* one of RC's own: a duplicate */
			copy->psn = 0xfffffe;
			copy->bth_flags |= RS_BTH_ACKREQ;
		}
		pair_rx(&t, 1, copy);
		assert_null(pair_tx(&t, 1));
	}
	p->opcode = 0x1f;
	p->payload_bytes = 0;
	p->psn = rs_psn_add(p->psn, 1);
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(p), RS_NAK_PSN_SEQ);
	assert_int_equal(p->psn, 0xffffff);
	assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_RTS);
	pair_rx(&t, 0, p);
	pair_settle(&t);
	pair_end(&t);
}

/* ---- The ACK of what was executed goes before the NAK of what follows it ---- */

static void next_answer(struct pair *t, uint32_t psn, uint8_t kind, uint32_t msn)
{
	struct rs_packet *p = pair_tx(t, 1);

	assert_non_null(p);
	assert_int_equal(p->opcode & 0x1f, RS_OP_ACKNOWLEDGE);
	assert_int_equal(p->psn, psn);
	assert_int_equal(rs_packet_msn(p), msn);
	if (kind == RS_SYN_ACK)
		assert_int_equal(rs_packet_syndrome(p) & RS_SYN_KIND, RS_SYN_ACK);
	else
		assert_int_equal(rs_packet_syndrome(p), kind);
	pair_rx(t, 0, p);
}

/* Two WRITEs are executed, a third request is refused: both come while the responder cannot send.
 */
static void ack_then(uint8_t op, void (*spoil)(struct rs_packet *), bool lose, uint8_t nak,
		     rs_time delay)
{
	struct rs_packet *p;
	struct pair t;

	pair_begin(&t);
	t.config.ack_every = delay ? 16 : 1;
	t.config.ack_delay = delay;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_post(&t, RS_WR_WRITE, 64);
	if (lose)
		pair_post(&t, RS_WR_WRITE, 64);
	pair_post(&t, op, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0));
	if (lose)
		pair_drop(&t, 0, pair_tx(&t, 0));
	p = pair_tx(&t, 0);
	if (spoil)
		spoil(p);
	pair_rx(&t, 1, p);
	next_answer(&t, 0xffffff, RS_SYN_ACK, 2);
	next_answer(&t, 0, nak, 2);
	assert_null(pair_tx(&t, 1));
	pair_settle(&t);
	pair_end(&t);
}

static void test_ack_leaves_before_the_nak_of_a_later_request(void **state)
{
	static const rs_time delays[] = {0, 10 * RS_US};

	for (unsigned i = 0; i < 2; i++) {
		ack_then(RS_WR_WRITE, giant_write, false, RS_NAK_INVALID_REQUEST, delays[i]);
		ack_then(RS_WR_WRITE, odd_key, false, RS_NAK_REMOTE_ACCESS, delays[i]);
		ack_then(RS_WR_SEND, NULL, false, RS_SYN_RNR | 12, delays[i]);
		ack_then(RS_WR_WRITE, NULL, true, RS_NAK_PSN_SEQ, delays[i]);
	}
}

/* Behind a READ: its response, the WRITE's ACK, the NAK. */
static void test_ack_and_nak_wait_for_the_read_before_them(void **state)
{
	struct rs_packet *p;
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_READ, 64);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0));
	p = pair_tx(&t, 0);
	giant_write(p);
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 1);
	assert_int_equal(p->opcode, RS_OP_READ_RESPONSE_ONLY);
	assert_int_equal(p->psn, 0xfffffe);
	pair_rx(&t, 0, p);
	next_answer(&t, 0xffffff, RS_SYN_ACK, 2);
	next_answer(&t, 0, RS_NAK_INVALID_REQUEST, 2);
	assert_null(pair_tx(&t, 1));
	assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_ERR);
	pair_end(&t);
}

/* Its memory goes while its responses do: what the WRITE behind it would be told is not said. */
static void test_no_ack_passes_a_read_that_fails(void **state)
{
	struct rs_packet *p;
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_READ, 2 * PAIR_MTU);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1));
	assert_int_equal(rs_nic_dereg_mr(t.nics[1], t.keys[1]), 0);
	p = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(p), RS_NAK_REMOTE_ACCESS);
	assert_int_equal(p->psn, 0xffffff);
	pair_rx(&t, 0, p);
	assert_null(pair_tx(&t, 1));
	pair_end(&t);
}

static void test_responder_send_longer_than_its_receive(void **state)
{
	struct pair t;
	struct rs_cqe e;

	pair_start(&t);
	pair_receive(&t, 99);
	pair_post(&t, RS_WR_SEND, 100);
	pair_settle(&t);
	e = pair_poll(&t, 1);
	assert_int_equal(e.status, RS_WC_LOC_LEN_ERR);
	assert_int_equal(e.wr_id, 9);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_INV_REQ_ERR);
	pair_end(&t);
}

static void test_responder_too_many_reads(void **state)
{
	struct pair t;
	struct rs_cqe e[3];

	pair_begin(&t);
	t.attr.max_rd_atomic = 3; /* against the grant of two */
	pair_connect(&t);
	for (int i = 0; i < 3; i++)
		pair_post(&t, RS_WR_READ, 64);
	for (int i = 0; i < 3; i++)
		pair_rx(&t, 1, pair_tx(&t, 0));
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->resp_remote_invalid_request, 1);
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 3), 3);
	assert_int_equal(e[1].status, RS_WC_SUCCESS);
	assert_int_equal(e[2].status, RS_WC_REM_INV_REQ_ERR);
	pair_end(&t);
}

static void test_responder_rnr_then_success(void **state)
{
	struct pair t;
	struct rs_packet *nak;
	struct rs_cqe e;

	pair_start(&t);
	memcpy(t.memory[0], "hello", 5);
	pair_post(&t, RS_WR_SEND_IMM, 5);
	pair_rx(&t, 1, pair_tx(&t, 0));
	nak = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(nak), RS_SYN_RNR | 12);
	pair_rx(&t, 0, nak);
	assert_null(pair_tx(&t, 0));
	pair_receive(&t, 64);
	pair_expire(&t, 0);
	pair_settle(&t);
	e = pair_poll(&t, 1);
	assert_int_equal(e.op, RS_WR_RECV);
	assert_int_equal(e.bytes, 5);
	assert_true(e.has_imm);
	assert_int_equal(e.imm, 0x1234);
	assert_memory_equal(t.memory[1], "hello", 5);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

/* Table 46, written out. */
static void test_credit_codes(void **state)
{
	static const uint32_t table[31] = {0,    1,    2,    3,     4,     6,     8,    12,
					   16,   24,   32,   48,    64,    96,    128,  192,
					   256,  384,  512,  768,   1024,  1536,  2048, 3072,
					   4096, 6144, 8192, 12288, 16384, 24576, 32768};

	for (uint8_t code = 0; code < 31; code++)
		assert_int_equal(rs_credit_decode(code), table[code]);
	for (uint32_t n = 0; n < 70000; n++) {
		uint8_t slow = 30;

		while (table[slow] > n)
			slow--;
		assert_int_equal(rs_credit_encode(n), slow);
	}
}

static void test_ack_says_how_many_receives_wait(void **state)
{
	struct pair t;
	struct rs_packet *ack;

	pair_start(&t);
	for (int i = 0; i < 8; i++)
		pair_receive(&t, 64);
	pair_post(&t, RS_WR_SEND, 5);
	pair_rx(&t, 1, pair_tx(&t, 0));
	ack = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(ack), RS_SYN_ACK | rs_credit_encode(7));
	pair_rx(&t, 0, ack);
	pair_end(&t);
}

static void test_marked_packet_earns_one_cnp_an_interval(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 4 * PAIR_MTU);
	for (int i = 0; i < 4; i++) {
		p = pair_tx(&t, 0);
		p->tos |= RS_ECN_CE;
		pair_rx(&t, 1, p);
	}
	p = pair_tx(&t, 1);
	assert_int_equal(p->opcode, RS_OPCODE_CNP);
	assert_int_equal(p->dest_qp, rs_qp_num(t.qps[0]));
	assert_int_equal(rs_packet_dscp(p), 48);
	assert_int_equal(p->tc, 6);
	assert_true(p->bth_flags & RS_BTH_BECN);
	pair_rx(&t, 0, p);
	pair_settle(&t);
	assert_int_equal(test_cc.cnps, 1);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->np_ecn_marked_roce_packets, 4);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->np_cnp_sent, 1);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->rp_cnp_handled, 1);
	pair_end(&t);
}

static void test_ack_echoes_the_mark_when_told_to(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_begin(&t);
	t.config.quirks.ack_echo = true;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU);
	p = pair_tx(&t, 0);
	p->tos |= RS_ECN_CE;
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 1);
	assert_int_equal(p->opcode, RS_OP_ACKNOWLEDGE);
	assert_true(p->bth_flags & RS_BTH_BECN);
	pair_rx(&t, 0, p);
	assert_int_equal(test_cc.marked, 1);
	pair_settle(&t);
	assert_int_equal(test_cc.marked, 1);
	assert_int_equal(test_cc.acks, 2);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->np_cnp_sent, 0);
	pair_end(&t);
}

static void test_stranger_and_stale_packets_are_dropped(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 4 * PAIR_MTU);
	p = pair_tx(&t, 0);
	p->src = 5;
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 0);
	p->dest_qp += 1000;
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 0);
	p->pkey = 0x8001;
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 0);
	p->corrupt = 1;
	pair_rx(&t, 1, p);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->rx_dropped, 3);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->rx_icrc_encapsulated, 1);
	assert_null(pair_tx(&t, 1));
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_responder_nak_once_per_gap),
		cmocka_unit_test(test_responder_gap_that_closes_by_itself_is_not_naked),
		cmocka_unit_test(test_responder_duplicate_write_is_acknowledged_not_executed),
		cmocka_unit_test(test_responder_atomic_write_is_done_once),
		cmocka_unit_test(test_responder_duplicate_atomic_gets_the_saved_answer),
		cmocka_unit_test(test_responder_duplicate_read_is_executed_again),
		cmocka_unit_test(test_responder_acks_are_merged),
		cmocka_unit_test(test_responder_acks_every_so_many_packets),
		cmocka_unit_test(test_responder_delayed_ack_waits_no_longer_than_its_delay),
		cmocka_unit_test(test_responder_checks_sequence_opcode_and_length),
		cmocka_unit_test(test_message_of_2_to_the_31_bytes_is_the_longest),
		cmocka_unit_test(test_reserved_opcode_is_an_invalid_request),
		cmocka_unit_test(test_reserved_opcode_elsewhere_is_no_request),
		cmocka_unit_test(test_ack_leaves_before_the_nak_of_a_later_request),
		cmocka_unit_test(test_ack_and_nak_wait_for_the_read_before_them),
		cmocka_unit_test(test_no_ack_passes_a_read_that_fails),
		cmocka_unit_test(test_responder_send_longer_than_its_receive),
		cmocka_unit_test(test_responder_too_many_reads),
		cmocka_unit_test(test_responder_rnr_then_success),
		cmocka_unit_test(test_credit_codes),
		cmocka_unit_test(test_ack_says_how_many_receives_wait),
		cmocka_unit_test(test_marked_packet_earns_one_cnp_an_interval),
		cmocka_unit_test(test_ack_echoes_the_mark_when_told_to),
		cmocka_unit_test(test_stranger_and_stale_packets_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
