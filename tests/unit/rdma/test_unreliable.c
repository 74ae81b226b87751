/* UC: what a lost packet does to its message, and that nothing is ever answered. IBTA §9.8.2. */
#include "unit/rdma/pair.h"

static void start(struct pair *t)
{
	pair_begin(t);
	t->init.transport = RS_UC;
	pair_connect(t);
	for (int i = 0; i < 8 * PAIR_MTU; i++)
		t->memory[0][i] = (uint8_t)(i * 3 + (i >> 8));
}

/* Carry n packets, dropping number `lost` (none: -1); NIC 1 must stay silent. */
static void carry(struct pair *t, int n, int lost)
{
	for (int i = 0; i < n; i++) {
		struct rs_packet *p = pair_tx(t, 0);

		assert_non_null(p);
		assert_int_equal(p->bth_flags & RS_BTH_ACKREQ, 0);
		if (i == lost)
			pair_drop(t, 0, p);
		else
			pair_rx(t, 1, p);
		assert_null(pair_tx(t, 1));
	}
	assert_null(pair_tx(t, 0));
}

static void test_messages_arrive_and_complete_unanswered(void **state)
{
	struct pair t;

	start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	carry(&t, 3, -1);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_memory_equal(t.memory[1] + 0x8000, t.memory[0], 3 * PAIR_MTU);
	pair_receive(&t, 3 * PAIR_MTU);
	pair_post(&t, RS_WR_SEND_IMM, 2 * PAIR_MTU + 5);
	carry(&t, 3, -1);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(pair_poll(&t, 1).bytes, 2 * PAIR_MTU + 5);
	assert_memory_equal(t.memory[1], t.memory[0], 2 * PAIR_MTU + 5);
	assert_true(rs_nic_deadline(t.nics[0]) == RS_NEVER);
	pair_end(&t);
}

/* Whatever packet is lost, that message is gone and its receive serves the next one. */
static void test_a_lost_packet_drops_its_message_only(void **state)
{
	for (int lost = 0; lost < 3; lost++) {
		struct pair t;
		struct rs_cqe e;

		start(&t);
		pair_receive(&t, 3 * PAIR_MTU);
		pair_post(&t, RS_WR_SEND, 3 * PAIR_MTU);
		carry(&t, 3, lost);
		assert_int_equal(rs_cq_waiting(t.cqs[1]), 0);
		pair_post(&t, RS_WR_SEND, 100);
		carry(&t, 1, -1);
		e = pair_poll(&t, 1);
		assert_int_equal(e.status, RS_WC_SUCCESS);
		assert_int_equal(e.bytes, 100);
		assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_RTS);
		assert_int_equal(rs_qp_receives(t.qps[1]), 0);
		pair_end(&t);
	}
}

static void test_no_receive_drops_silently(void **state)
{
	struct pair t;

	start(&t);
	pair_post(&t, RS_WR_SEND, 2 * PAIR_MTU);
	carry(&t, 2, -1);
	pair_receive(&t, 100);
	pair_post(&t, RS_WR_SEND, 101);
	carry(&t, 1, -1);
	assert_int_equal(rs_cq_waiting(t.cqs[1]), 0);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->uc_ud_dropped, 2);
	pair_post(&t, RS_WR_SEND, 100);
	carry(&t, 1, -1);
	assert_int_equal(pair_poll(&t, 1).bytes, 100);
	pair_end(&t);
}

static void test_refused_key_writes_nothing_and_says_nothing(void **state)
{
	struct pair t;
	struct rs_packet *p;

	start(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	p = pair_tx(&t, 0);
	p->rkey += 0x100;
	pair_rx(&t, 1, p);
	pair_post(&t, RS_WR_WRITE, 64);
	p = pair_tx(&t, 0);
	p->va = 0x1000 + PAIR_BYTES - 63;
	pair_rx(&t, 1, p);
	for (int i = 0; i < PAIR_BYTES; i++)
		assert_int_equal(t.memory[1][i], 0);
	assert_null(pair_tx(&t, 1));
	assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_RTS);
	pair_end(&t);
}

static void test_unreliable_has_no_read_and_no_atomic(void **state)
{
	struct pair t;

	start(&t);
	assert_int_equal(pair_post(&t, RS_WR_READ, 8), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_FETCH_ADD, 8), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_SEND_INV, 8), -EINVAL);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_arrive_and_complete_unanswered),
		cmocka_unit_test(test_a_lost_packet_drops_its_message_only),
		cmocka_unit_test(test_no_receive_drops_silently),
		cmocka_unit_test(test_refused_key_writes_nothing_and_says_nothing),
		cmocka_unit_test(test_unreliable_has_no_read_and_no_atomic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
