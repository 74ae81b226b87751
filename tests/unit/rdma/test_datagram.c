/* UD: addressing, Q_Key and P_Key, the 40 bytes before the payload, multicast. IBTA §9.8.3, §10.5.
 */
#include "unit/rdma/pair.h"

enum { QKEY = 0x1234567, AT = 0x4000 };

static void fill_grh(void *arg, const struct rs_packet *p, uint8_t out[RS_GRH_BYTES])
{
	memset(out, 0x40 + (int)p->src, RS_GRH_BYTES);
}

static void start(struct pair *t)
{
	pair_begin(t);
	t->init.transport = RS_UD;
	t->attr.qkey = QKEY;
	t->config.grh = fill_grh;
	pair_connect(t);
}

static int post(struct pair *t, uint32_t length, uint32_t qpn, uint32_t qkey)
{
	struct rs_sge s = {.va = 0x1000, .length = length, .lkey = t->keys[0]};
	struct rs_send_wr wr = {
		.wr_id = UINT64_C(0xfedcba9876543210),
		.op = RS_WR_SEND_IMM,
		.flags = RS_WR_SIGNALED | RS_WR_SOLICITED,
		.n_sge = 1,
		.sge = &s,
		.imm = 77,
		.ah = {.endpoint = 1, .tos = 0x68, .sport = 50000},
		.dest_qpn = qpn,
		.qkey = qkey,
	};

	return rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now);
}

static void receive_at(struct pair *t, uint32_t length)
{
	struct rs_sge s = {.va = 0x1000 + AT, .length = length, .lkey = t->keys[1]};
	struct rs_recv_wr wr = {.wr_id = 9, .n_sge = 1, .sge = &s};

	assert_int_equal(rs_qp_post_recv(t->nics[1], t->qps[1], &wr), 0);
}

static bool nothing_came(struct pair *t)
{
	struct rs_cqe e;

	for (int i = 0; i < PAIR_BYTES; i++)
		if (t->memory[1][i])
			return false;
	return !rs_cq_poll(t->cqs[1], &e, 1) && rs_qp_get_state(t->qps[1]) == RS_QPS_RTS;
}

static void test_datagram_carries_address_and_header(void **state)
{
	struct pair t;
	struct rs_cqe e;

	start(&t);
	memset(t.memory[0], 0xab, 100);
	receive_at(&t, 140);
	assert_int_equal(post(&t, 100, rs_qp_num(t.qps[1]), QKEY), 0);
	pair_settle(&t);
	e = pair_poll(&t, 0);
	assert_true(e.wr_id == UINT64_C(0xfedcba9876543210) && !e.status);
	e = pair_poll(&t, 1);
	assert_int_equal(e.status, RS_WC_SUCCESS);
	assert_int_equal(e.bytes, 140);
	assert_int_equal(e.src_qp, rs_qp_num(t.qps[0]));
	assert_int_equal(e.flags, RS_CQE_GRH);
	assert_int_equal(e.tos, 0x68);
	assert_true(e.has_imm && e.imm == 77 && e.solicited);
	assert_int_equal(t.memory[1][AT], 0x40);
	assert_int_equal(t.memory[1][AT + 39], 0x40);
	assert_memory_equal(t.memory[1] + AT + 40, t.memory[0], 100);
	assert_int_equal(t.memory[1][AT + 140], 0);
	pair_end(&t);
}

static void test_datagram_needs_the_q_key(void **state)
{
	struct pair t;

	start(&t);
	receive_at(&t, 140);
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY + 1);
	pair_settle(&t);
	assert_true(nothing_came(&t));
	assert_int_equal(rs_nic_get_counters(t.nics[1])->bad_qkey, 1);
	/* A controlled Q_Key means that of the QP: §10.2.5. */
	post(&t, 100, rs_qp_num(t.qps[1]), 0x80000000u | (QKEY + 1));
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 1).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_datagram_needs_the_partition(void **state)
{
	struct pair t;
	struct rs_packet *p;

	start(&t);
	receive_at(&t, 140);
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY);
	p = pair_tx(&t, 0);
	p->pkey = 0x8001;
	pair_rx(&t, 1, p);
	assert_true(nothing_came(&t));
	assert_int_equal(rs_nic_get_counters(t.nics[1])->bad_pkey, 1);
	pair_end(&t);
}

static void test_datagram_one_byte_too_long_for_its_receive(void **state)
{
	struct pair t;

	start(&t);
	receive_at(&t, 139);
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY);
	pair_settle(&t);
	assert_true(nothing_came(&t));
	post(&t, 99, rs_qp_num(t.qps[1]), QKEY);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 1).bytes, 139);
	pair_end(&t);
}

static void test_datagram_without_receive_is_dropped(void **state)
{
	struct pair t;

	start(&t);
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_true(nothing_came(&t));
	assert_int_equal(rs_nic_get_counters(t.nics[1])->uc_ud_dropped, 1);
	pair_end(&t);
}

static void test_datagram_limits_at_the_post(void **state)
{
	struct pair t;

	start(&t);
	assert_int_equal(post(&t, PAIR_MTU + 1, 5, QKEY), -EINVAL);
	assert_int_equal(post(&t, PAIR_MTU, 5, QKEY), 0);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 8), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_READ, 8), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_FETCH_ADD, 8), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_BIND_MW, 0), -EINVAL);
	pair_settle(&t);
	pair_end(&t);
}

/* §10.3.1.5: the send queue stops, receives go on, and a modify starts it again. */
static void test_datagram_bad_memory_stops_the_send_queue_only(void **state)
{
	struct pair t;
	struct rs_cqe e[3];
	uint32_t key;

	start(&t);
	key = t.keys[0];
	t.keys[0] += 0x100;
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY);
	t.keys[0] = key;
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY);
	pair_settle(&t);
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 3), 2);
	assert_int_equal(e[0].status, RS_WC_LOC_PROT_ERR);
	assert_int_equal(e[1].status, RS_WC_WR_FLUSH_ERR);
	assert_int_equal(rs_qp_get_state(t.qps[0]), RS_QPS_SQE);
	assert_int_equal(rs_qp_modify_mask(t.nics[0], t.qps[0], RS_QPS_RTS, NULL, 0, t.now), 0);
	receive_at(&t, 140);
	post(&t, 100, rs_qp_num(t.qps[1]), QKEY);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 1).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_multicast_reaches_who_is_attached(void **state)
{
	struct pair t;
	struct rs_packet *p;

	start(&t);
	assert_int_equal(rs_qp_attach(t.nics[1], t.qps[1], 500), 0);
	assert_int_equal(rs_qp_attach(t.nics[1], t.qps[1], 500), 0);
	receive_at(&t, 140);
	for (uint32_t group = 499; group <= 500; group++) {
		post(&t, 100, RS_MULTICAST_QPN, QKEY);
		p = pair_tx(&t, 0);
		p->dst = group;
		pair_rx(&t, 1, p);
		assert_int_equal(rs_cq_waiting(t.cqs[1]), group - 499);
	}
	assert_int_equal(pair_poll(&t, 1).bytes, 140);
	assert_int_equal(rs_qp_detach(t.nics[1], t.qps[1], 500), 0);
	assert_int_equal(rs_qp_detach(t.nics[1], t.qps[1], 500), -ENOENT);
	receive_at(&t, 140);
	post(&t, 100, RS_MULTICAST_QPN, QKEY);
	p = pair_tx(&t, 0);
	p->dst = 500;
	pair_rx(&t, 1, p);
	assert_int_equal(rs_cq_waiting(t.cqs[1]), 0);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_datagram_carries_address_and_header),
		cmocka_unit_test(test_datagram_needs_the_q_key),
		cmocka_unit_test(test_datagram_needs_the_partition),
		cmocka_unit_test(test_datagram_one_byte_too_long_for_its_receive),
		cmocka_unit_test(test_datagram_without_receive_is_dropped),
		cmocka_unit_test(test_datagram_limits_at_the_post),
		cmocka_unit_test(test_datagram_bad_memory_stops_the_send_queue_only),
		cmocka_unit_test(test_multicast_reaches_who_is_attached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
