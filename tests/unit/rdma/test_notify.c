/* CQ notification, asynchronous events, attribute masks and the states around SQD. IBTA §11.4.2.2,
 * §11.6.3, §10.3.1, §11.2.5. */
#include "unit/rdma/pair.h"

static void write_once(struct pair *t)
{
	assert_int_equal(pair_post(t, RS_WR_WRITE, 64), 0);
	pair_settle(t);
}

static void test_one_event_per_arming(void **state)
{
	struct pair t;

	pair_start(&t);
	write_once(&t);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	rs_cq_arm(t.cqs[0], false); /* what lies there makes no event */
	assert_null(rs_nic_poll_notified(t.nics[0]));
	write_once(&t);
	write_once(&t);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	write_once(&t);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	pair_end(&t);
}

/* What came since the last event and is not polled makes one, once; what an event told of does not.
 */
static void test_arming_after_a_missed_completion(void **state)
{
	struct rs_cqe e[8];
	struct pair t;

	pair_start(&t);
	write_once(&t);
	rs_cq_arm_unpolled(t.cqs[0], true); /* it is not solicited */
	assert_null(rs_nic_poll_notified(t.nics[0]));
	rs_cq_arm_unpolled(t.cqs[0], false);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	rs_cq_arm_unpolled(t.cqs[0], false);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	write_once(&t);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	write_once(&t);
	write_once(&t);
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 3), 3);
	assert_int_equal(rs_cq_resize(t.cqs[0], 8), 0);
	rs_cq_arm_unpolled(t.cqs[0], false); /* the fourth */
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	write_once(&t);
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 8), 2);
	rs_cq_arm_unpolled(t.cqs[0], false);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	rs_cq_disarm(t.cqs[0]);
	write_once(&t);
	write_once(&t);
	rs_cq_forget(t.cqs[0], 1); /* none is of that queue pair */
	rs_cq_arm_unpolled(t.cqs[0], false);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	pair_end(&t);
}

/* As if it had told: of several parts of one queue one does, for all. */
static void test_disarmed(void **state)
{
	struct pair t;

	pair_start(&t);
	rs_cq_arm(t.cqs[0], false);
	rs_cq_disarm(t.cqs[0]);
	write_once(&t);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	rs_cq_arm(t.cqs[0], false);
	write_once(&t);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	pair_end(&t);
}

static void send_once(struct pair *t, uint8_t flags)
{
	struct rs_send_wr wr = {.op = RS_WR_SEND, .flags = flags};

	pair_receive(t, 64);
	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
	pair_settle(t);
}

static void test_solicited_arming(void **state)
{
	struct pair t;

	pair_start(&t);
	rs_cq_arm(t.cqs[1], true);
	send_once(&t, 0);
	assert_null(rs_nic_poll_notified(t.nics[1]));
	send_once(&t, RS_WR_SOLICITED);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[1]), t.cqs[1]);
	/* Next outdoes solicited, in either order. */
	rs_cq_arm(t.cqs[1], false);
	rs_cq_arm(t.cqs[1], true);
	send_once(&t, 0);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[1]), t.cqs[1]);
	/* An error is as good as solicited. */
	rs_cq_arm(t.cqs[1], true);
	pair_receive(&t, 64);
	rs_qp_modify(t.nics[1], t.qps[1], RS_QPS_ERR, NULL, t.now);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[1]), t.cqs[1]);
	pair_end(&t);
}

static void test_destroyed_cq_leaves_the_line(void **state)
{
	struct pair t;
	struct rs_cq *more[2];

	pair_start(&t);
	for (int i = 0; i < 2; i++) {
		struct rs_qp *qp;
		struct rs_recv_wr wr = {0};

		assert_int_equal(rs_nic_create_cq(t.nics[0], 4, &more[i]), 0);
		t.init.send_cq = t.init.recv_cq = more[i];
		assert_int_equal(rs_nic_create_qp(t.nics[0], &t.init, &qp), 0);
		assert_int_equal(rs_qp_modify(t.nics[0], qp, RS_QPS_INIT, &t.attr, 0), 0);
		rs_qp_post_recv(t.nics[0], qp, &wr);
		rs_cq_arm(more[i], false);
		rs_qp_modify(t.nics[0], qp, RS_QPS_ERR, NULL, 0);
		assert_int_equal(rs_cq_waiting(more[i]), 1);
		rs_cq_forget(more[i], rs_qp_num(qp));
		assert_int_equal(rs_cq_waiting(more[i]), 0);
		rs_nic_destroy_qp(t.nics[0], qp);
	}
	assert_int_equal(rs_nic_destroy_cq(t.nics[0], t.cqs[0]), -EBUSY);
	assert_int_equal(rs_nic_destroy_cq(t.nics[0], more[1]), 0);
	rs_cq_arm(t.cqs[0], false);
	write_once(&t);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), more[0]);
	assert_ptr_equal(rs_nic_poll_notified(t.nics[0]), t.cqs[0]);
	assert_null(rs_nic_poll_notified(t.nics[0]));
	pair_end(&t);
}

static void expect_event(struct rs_nic *nic, enum rs_event_type type, const void *object)
{
	struct rs_event e;

	assert_true(rs_nic_poll_event(nic, &e));
	assert_int_equal(e.type, type);
	assert_true(e.qp == object || e.cq == object);
	assert_false(rs_nic_poll_event(nic, &e));
}

static void test_events_of_a_responder(void **state)
{
	struct pair t;

	pair_start(&t);
	t.keys[1] += 0x100;
	pair_post(&t, RS_WR_WRITE, 64);
	pair_settle(&t);
	expect_event(t.nics[1], RS_EVENT_QP_ACCESS_ERR, t.qps[1]);
	pair_end(&t);
	pair_begin(&t);
	t.attr.access = 0;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_settle(&t);
	expect_event(t.nics[1], RS_EVENT_QP_REQ_ERR, t.qps[1]);
	pair_end(&t);
}

static void test_communication_established_in_rtr(void **state)
{
	struct pair t;
	struct rs_event e;

	pair_nics((pair_begin(&t), &t));
	for (unsigned i = 0; i < 2; i++) {
		struct rs_qp_attr a = t.attr;

		a.dest_endpoint = !i;
		a.dest_qpn = rs_qp_num(t.qps[!i]);
		for (enum rs_qp_state s = RS_QPS_INIT; s <= (i ? RS_QPS_RTR : RS_QPS_RTS); s++)
			assert_int_equal(rs_qp_modify(t.nics[i], t.qps[i], s, &a, 0), 0);
	}
	assert_false(rs_nic_poll_event(t.nics[1], &e));
	write_once(&t);
	write_once(&t);
	expect_event(t.nics[1], RS_EVENT_COMM_EST, t.qps[1]);
	pair_end(&t);
}

static void test_cq_overrun_is_told_once(void **state)
{
	struct pair t;

	pair_start(&t);
	for (int i = 0; i < 70; i++)
		write_once(&t);
	assert_true(rs_cq_overrun(t.cqs[0]));
	expect_event(t.nics[0], RS_EVENT_CQ_ERR, t.cqs[0]);
	pair_end(&t);
}

/* §10.3.1.4: what was begun finishes, what was posted since waits. */
static void test_drained(void **state)
{
	struct pair t;
	struct rs_qp_attr a = {.sqd_notify = true};
	struct rs_event e;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_int_equal(
		rs_qp_modify_mask(t.nics[0], t.qps[0], RS_QPS_SQD, &a, RS_QP_EN_SQD_NOTIFY, t.now),
		0);
	pair_post(&t, RS_WR_WRITE, 64);
	assert_false(rs_nic_poll_event(t.nics[0], &e));
	pair_settle(&t);
	expect_event(t.nics[0], RS_EVENT_SQ_DRAINED, t.qps[0]);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(rs_qp_modify_mask(t.nics[0], t.qps[0], RS_QPS_RTS, NULL, 0, t.now), 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	/* An idle queue is drained at once. */
	rs_qp_modify_mask(t.nics[0], t.qps[0], RS_QPS_SQD, &a, RS_QP_EN_SQD_NOTIFY, t.now);
	expect_event(t.nics[0], RS_EVENT_SQ_DRAINED, t.qps[0]);
	pair_end(&t);
}

static void test_drained_after_a_loss(void **state)
{
	struct pair t;
	struct rs_qp_attr a = {.sqd_notify = true};
	struct rs_event e;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_drop(&t, 0, pair_tx(&t, 0));
	rs_qp_modify_mask(t.nics[0], t.qps[0], RS_QPS_SQD, &a, RS_QP_EN_SQD_NOTIFY, t.now);
	pair_settle(&t);
	assert_false(rs_nic_poll_event(t.nics[0], &e));
	pair_expire(&t, 0);
	pair_settle(&t);
	expect_event(t.nics[0], RS_EVENT_SQ_DRAINED, t.qps[0]);
	pair_end(&t);
}

static void test_masks_change_what_they_name(void **state)
{
	struct pair t;
	struct rs_qp_attr a = {.access = RS_ACCESS_REMOTE_READ, .min_rnr_timer = 31}, q;

	pair_start(&t);
	assert_int_equal(
		rs_qp_modify_mask(t.nics[1], t.qps[1], RS_QPS_RTS, &a, RS_QP_ACCESS, t.now), 0);
	rs_qp_query(t.qps[1], &q);
	assert_int_equal(q.access, RS_ACCESS_REMOTE_READ);
	assert_int_equal(q.min_rnr_timer, 12);
	assert_int_equal(q.timeout, 14);
	assert_int_equal(q.path_mtu, PAIR_MTU);
	assert_int_equal(q.max_dest_rd_atomic, 2);
	write_once(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_INV_REQ_ERR);
	a.access = 16;
	assert_int_equal(
		rs_qp_modify_mask(t.nics[0], t.qps[0], RS_QPS_RTS, &a, RS_QP_ACCESS, t.now),
		-EINVAL);
	pair_end(&t);
}

/* The number of READs to remember may change while the queue is drained; old ones stay known. */
static void test_resources_change_in_sqd(void **state)
{
	struct pair t;
	struct rs_qp_attr a = {.max_dest_rd_atomic = 9}, q;
	struct rs_packet *p;

	pair_start(&t);
	pair_post(&t, RS_WR_FETCH_ADD, 8);
	p = pair_tx(&t, 0);
	pair_rx(&t, 1, p);
	pair_drop(&t, 1, pair_tx(&t, 1));
	rs_qp_modify_mask(t.nics[1], t.qps[1], RS_QPS_SQD, NULL, 0, t.now);
	assert_int_equal(rs_qp_modify_mask(t.nics[1], t.qps[1], RS_QPS_SQD, &a,
					   RS_QP_MAX_DEST_RD_ATOMIC, t.now),
			 0);
	rs_qp_query(t.qps[1], &q);
	assert_int_equal(q.max_dest_rd_atomic, 9);
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(t.memory[1][0x8000], 5); /* once */
	pair_end(&t);
}

static void test_counters_of_one_qp(void **state)
{
	struct pair t;
	const struct rs_qp_counters *c;

	pair_begin(&t);
	t.config.qp_counters = true;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU);
	pair_drop(&t, 0, pair_tx(&t, 0));
	pair_settle(&t);
	c = rs_qp_get_counters(t.nics[0], t.qps[0]);
	assert_int_equal(c->packet_seq_err, 1);
	assert_int_equal(c->retransmitted_packets, 2);
	assert_int_equal(rs_qp_get_counters(t.nics[1], t.qps[1])->out_of_sequence, 1);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_event_per_arming),
		cmocka_unit_test(test_arming_after_a_missed_completion),
		cmocka_unit_test(test_disarmed),
		cmocka_unit_test(test_solicited_arming),
		cmocka_unit_test(test_destroyed_cq_leaves_the_line),
		cmocka_unit_test(test_events_of_a_responder),
		cmocka_unit_test(test_communication_established_in_rtr),
		cmocka_unit_test(test_cq_overrun_is_told_once),
		cmocka_unit_test(test_drained),
		cmocka_unit_test(test_drained_after_a_loss),
		cmocka_unit_test(test_masks_change_what_they_name),
		cmocka_unit_test(test_resources_change_in_sqd),
		cmocka_unit_test(test_counters_of_one_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
