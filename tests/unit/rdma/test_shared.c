/* Shared receive queues, of RC and of XRC: order, limit, RNR, who may be destroyed when. IBTA
 * §10.2.9, annex A14. */
#include "unit/rdma/pair.h"

enum { DOMAIN = 5 };

static void give(struct pair *t, struct rs_srq *s, uint64_t id, uint32_t length)
{
	struct rs_sge g = {.va = 0x1000 + 0x100 * id, .length = length, .lkey = t->keys[1]};
	struct rs_recv_wr wr = {.wr_id = id, .n_sge = 1, .sge = &g};

	assert_int_equal(rs_srq_post_recv(t->nics[1], s, &wr), 0);
}

/* NIC 1's QP takes its receives from *s. */
static void start(struct pair *t, struct rs_srq **s)
{
	struct rs_srq_init i = {.pd = PAIR_PD, .max_wr = 4, .max_sge = 2};
	struct rs_qp_attr a;

	pair_begin(t);
	t->config.max_srqs = 2;
	pair_nics(t);
	assert_int_equal(rs_nic_create_srq(t->nics[1], &i, s), 0);
	rs_nic_destroy_qp(t->nics[1], t->qps[1]);
	t->init.srq = *s;
	t->init.max_recv_wr = 0;
	t->init.send_cq = t->init.recv_cq = t->cqs[1];
	assert_int_equal(rs_nic_create_qp(t->nics[1], &t->init, &t->qps[1]), 0);
	for (unsigned k = 0; k < 2; k++) {
		a = t->attr;
		a.dest_endpoint = !k;
		a.dest_qpn = rs_qp_num(t->qps[!k]);
		assert_int_equal(rs_qp_connect(t->nics[k], t->qps[k], &a, 0), 0);
	}
}

static void test_receives_are_taken_in_order(void **state)
{
	struct pair t;
	struct rs_srq *s;

	start(&t, &s);
	for (uint64_t i = 1; i <= 4; i++)
		give(&t, s, i, 200);
	for (uint64_t i = 1; i <= 4; i++) {
		struct rs_cqe e;

		pair_post(&t, i & 1 ? RS_WR_SEND : RS_WR_WRITE_IMM, 64);
		pair_settle(&t);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
		e = pair_poll(&t, 1);
		assert_true(e.wr_id == i && e.qpn == rs_qp_num(t.qps[1]));
		assert_int_equal(rs_srq_receives(s), 4 - i);
	}
	pair_end(&t);
}

static void test_empty_queue_is_receiver_not_ready(void **state)
{
	struct pair t;
	struct rs_srq *s;
	struct rs_packet *p;

	start(&t, &s);
	pair_post(&t, RS_WR_SEND, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	p = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(p) & RS_SYN_KIND, RS_SYN_RNR);
	pair_rx(&t, 0, p);
	give(&t, s, 1, 64);
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_true(pair_poll(&t, 1).wr_id == 1);
	pair_end(&t);
}

static void test_limit_is_reported_once(void **state)
{
	struct pair t;
	struct rs_srq *s;
	struct rs_event e;

	start(&t, &s);
	for (uint64_t i = 1; i <= 3; i++)
		give(&t, s, i, 64);
	assert_int_equal(rs_srq_arm(t.nics[1], s, 5), -EINVAL);
	assert_int_equal(rs_srq_arm(t.nics[1], s, 2), 0);
	for (unsigned i = 0; i < 3; i++) {
		pair_post(&t, RS_WR_SEND, 64);
		pair_settle(&t);
		if (i == 1) {
			assert_true(rs_nic_poll_event(t.nics[1], &e));
			assert_int_equal(e.type, RS_EVENT_SRQ_LIMIT);
			assert_ptr_equal(e.srq, s);
			assert_int_equal(rs_srq_limit(s), 0);
		}
		assert_false(rs_nic_poll_event(t.nics[1], &e));
	}
	pair_end(&t);
}

static void test_destroy_rules_and_last_wqe(void **state)
{
	struct pair t;
	struct rs_srq *s;
	struct rs_event e;
	struct rs_recv_wr wr = {0};

	start(&t, &s);
	give(&t, s, 1, 64);
	assert_int_equal(rs_qp_post_recv(t.nics[1], t.qps[1], &wr), -EINVAL);
	assert_int_equal(rs_nic_destroy_srq(t.nics[1], s), -EBUSY);
	rs_qp_modify(t.nics[1], t.qps[1], RS_QPS_ERR, NULL, t.now);
	assert_true(rs_nic_poll_event(t.nics[1], &e));
	assert_int_equal(e.type, RS_EVENT_LAST_WQE);
	assert_ptr_equal(e.qp, t.qps[1]);
	assert_int_equal(rs_srq_receives(s), 1);
	rs_nic_destroy_qp(t.nics[1], t.qps[1]);
	assert_int_equal(rs_nic_destroy_srq(t.nics[1], s), 0);
	assert_int_equal(rs_cq_waiting(t.cqs[1]), 0);
	pair_end(&t);
}

static void test_resize_keeps_what_waits(void **state)
{
	struct pair t;
	struct rs_srq *s;

	start(&t, &s);
	for (uint64_t i = 1; i <= 3; i++)
		give(&t, s, i, 64);
	assert_int_equal(rs_srq_resize(s, 2), -EINVAL);
	assert_int_equal(rs_srq_resize(s, 30), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		pair_post(&t, RS_WR_SEND, 64);
		pair_settle(&t);
		assert_true(pair_poll(&t, 1).wr_id == i);
	}
	pair_end(&t);
}

/* ---- XRC: NIC 0 is the initiator, NIC 1 the target with two SRQs ---- */

static void start_xrc(struct pair *t, struct rs_srq *s[2], uint32_t domain)
{
	struct rs_srq_init i = {
		.pd = PAIR_PD, .max_wr = 4, .max_sge = 1, .xrc = true, .xrcd = domain};
	struct rs_qp_init target = {.transport = RS_XRC, .xrc_target = true, .xrcd = DOMAIN};

	pair_begin(t);
	t->config.max_srqs = 2;
	pair_nics(t);
	for (int k = 0; k < 2; k++) {
		rs_nic_destroy_qp(t->nics[k], t->qps[k]);
		i.cq = t->cqs[1];
		assert_int_equal(rs_nic_create_srq(t->nics[1], &i, &s[k]), 0);
	}
	t->init.transport = RS_XRC;
	t->init.recv_cq = NULL;
	t->init.max_recv_wr = 0;
	t->init.send_cq = t->cqs[0];
	assert_int_equal(rs_nic_create_qp(t->nics[0], &t->init, &t->qps[0]), 0);
	assert_int_equal(rs_nic_create_qp(t->nics[1], &target, &t->qps[1]), 0);
	for (unsigned k = 0; k < 2; k++) {
		struct rs_qp_attr a = t->attr;

		a.dest_endpoint = !k;
		a.dest_qpn = rs_qp_num(t->qps[!k]);
		assert_int_equal(rs_qp_connect(t->nics[k], t->qps[k], &a, 0), 0);
	}
}

static void post_xrc(struct pair *t, uint8_t op, uint32_t length, uint32_t srqn)
{
	struct rs_sge g = {.va = 0x1000, .length = length, .lkey = t->keys[0]};
	struct rs_send_wr wr = {
		.op = op,
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &g,
		.remote_va = 0x1000 + 0x8000,
		.rkey = t->keys[1],
		.swap_add = 5,
		.srqn = srqn,
		.imm = 3,
	};

	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
}

static void test_xrc_names_the_queue_a_message(void **state)
{
	struct pair t;
	struct rs_srq *s[2];

	start_xrc(&t, s, DOMAIN);
	memset(t.memory[0], 0x77, 3000);
	for (int k = 0; k < 2; k++) {
		give(&t, s[k], (uint64_t)k + 1, 3000);
		post_xrc(&t, RS_WR_SEND, 2500, rs_srq_num(s[k]));
		pair_settle(&t);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
		assert_true(pair_poll(&t, 1).wr_id == (uint64_t)k + 1);
		assert_int_equal(rs_srq_receives(s[k]), 0);
	}
	post_xrc(&t, RS_WR_FETCH_ADD, 8, rs_srq_num(s[0]));
	post_xrc(&t, RS_WR_WRITE, 3000, rs_srq_num(s[0]));
	post_xrc(&t, RS_WR_READ, 3000, rs_srq_num(s[1]));
	pair_settle(&t);
	for (int k = 0; k < 3; k++) {
		struct rs_cqe e;

		assert_int_equal(rs_cq_poll(t.cqs[0], &e, 1), 1);
		assert_int_equal(e.status, RS_WC_SUCCESS);
	}
	pair_end(&t);
}

static void test_xrc_refuses_a_queue_of_another_domain_or_none(void **state)
{
	for (uint32_t wrong = 0; wrong < 2; wrong++) {
		struct pair t;
		struct rs_srq *s[2];

		start_xrc(&t, s, wrong ? DOMAIN : DOMAIN + 1);
		give(&t, s[0], 1, 64);
		post_xrc(&t, RS_WR_SEND, 64, wrong ? 99 : rs_srq_num(s[0]));
		pair_settle(&t);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_INV_REQ_ERR);
		assert_int_equal(rs_srq_receives(s[0]), 1);
		assert_int_equal(rs_cq_waiting(t.cqs[1]), 0);
		pair_end(&t);
	}
}

static void test_xrc_queue_destroyed_under_a_message(void **state)
{
	struct pair t;
	struct rs_srq *s[2];

	start_xrc(&t, s, DOMAIN);
	give(&t, s[0], 1, 3000);
	post_xrc(&t, RS_WR_SEND, 2500, rs_srq_num(s[0]));
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_int_equal(rs_nic_destroy_srq(t.nics[1], s[0]), 0);
	assert_int_equal(rs_qp_get_state(t.qps[1]), RS_QPS_ERR);
	pair_settle(&t);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receives_are_taken_in_order),
		cmocka_unit_test(test_empty_queue_is_receiver_not_ready),
		cmocka_unit_test(test_limit_is_reported_once),
		cmocka_unit_test(test_destroy_rules_and_last_wqe),
		cmocka_unit_test(test_resize_keeps_what_waits),
		cmocka_unit_test(test_xrc_names_the_queue_a_message),
		cmocka_unit_test(test_xrc_refuses_a_queue_of_another_domain_or_none),
		cmocka_unit_test(test_xrc_queue_destroyed_under_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
