/* Queue pairs: size, states (§10.3.1, figure 124), attribute limits, posting, flush. */
#include "unit/rdma/pair.h"

static void test_qp_is_at_most_384_bytes(void **state)
{
	assert_true(sizeof(struct rs_qp) <= RS_QP_BYTES_MAX);
	assert_int_equal(RS_QP_BYTES_MAX, 384);
	assert_true(rs_qp_bytes() <= 560); /* with its places in two heaps */
}

/* Figure 124, spelt out: may `from` become `to` when it is asked for? */
static void test_transitions(void **state)
{
	static const char *const may[] = {
		[RS_QPS_RESET] = "RI----E", [RS_QPS_INIT] = "RIr---E", [RS_QPS_RTR] = "R--s--E",
		[RS_QPS_RTS] = "R--sd-E",   [RS_QPS_SQD] = "R--sd-E",  [RS_QPS_SQE] = "R--s--E",
		[RS_QPS_ERR] = "R-----E",
	};

	for (unsigned from = 0; from <= RS_QPS_ERR; from++)
		for (unsigned to = 0; to <= RS_QPS_ERR; to++) {
			struct pair t;
			int err;

			pair_begin(&t);
			pair_nics(&t);
			t.attr.dest_endpoint = 1;
			for (unsigned s = RS_QPS_INIT; s <= from && s <= RS_QPS_RTS; s++)
				rs_qp_modify(t.nics[0], t.qps[0], s, &t.attr, 0);
			if (from > RS_QPS_RTS)
				t.qps[0]->state = (uint8_t)from;
			err = rs_qp_modify(t.nics[0], t.qps[0], to, &t.attr, 0);
			assert_int_equal(err, may[from][to] == '-' ? -EINVAL : 0);
			assert_int_equal(rs_qp_get_state(t.qps[0]), err ? from : to);
			pair_end(&t);
		}
}

static void test_attribute_limits(void **state)
{
	struct pair t;
	struct rs_qp_attr a;

	pair_begin(&t);
	pair_nics(&t);
#define REFUSED(field, value)                                                         \
	do {                                                                          \
		a = t.attr;                                                           \
		a.field = value;                                                      \
		assert_int_equal(rs_qp_connect(t.nics[0], t.qps[0], &a, 0), -EINVAL); \
		assert_int_equal(rs_qp_get_state(t.qps[0]), RS_QPS_RESET);            \
	} while (0)
	REFUSED(path_mtu, 255);
	REFUSED(path_mtu, 1500);
	REFUSED(path_mtu, 8192);
	REFUSED(dest_qpn, 1 << 24);
	REFUSED(sq_psn, 1 << 24);
	REFUSED(rq_psn, 1 << 24);
	REFUSED(tc, 8);
	REFUSED(timeout, 32);
	REFUSED(retry_cnt, 8);
	REFUSED(rnr_retry, 8);
	REFUSED(min_rnr_timer, 32);
	REFUSED(max_rd_atomic, 129);
	REFUSED(max_dest_rd_atomic, 129);
	REFUSED(access, 16);
#undef REFUSED
	assert_int_equal(rs_qp_connect(t.nics[0], t.qps[0], &t.attr, 0), 0);
	pair_end(&t);
}

static void test_post_limits(void **state)
{
	struct pair t;
	struct rs_sge s[5] = {{0}};
	struct rs_recv_wr r = {.n_sge = 5, .sge = s};

	pair_begin(&t);
	pair_nics(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 8), -EINVAL); /* RESET */
	r.n_sge = 1;
	assert_int_equal(rs_qp_post_recv(t.nics[0], t.qps[0], &r), -EINVAL);
	t.attr.dest_endpoint = 1;
	rs_qp_modify(t.nics[0], t.qps[0], RS_QPS_INIT, &t.attr, 0);
	assert_int_equal(rs_qp_post_recv(t.nics[0], t.qps[0], &r), 0);
	r.n_sge = 5;
	assert_int_equal(rs_qp_post_recv(t.nics[0], t.qps[0], &r), -EINVAL);
	rs_qp_modify(t.nics[0], t.qps[0], RS_QPS_RTR, &t.attr, 0);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 8), -EINVAL);
	rs_qp_modify(t.nics[0], t.qps[0], RS_QPS_RTS, &t.attr, 0);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, UINT32_C(1) << 31), 0);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, (UINT32_C(1) << 31) + 1), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_FETCH_ADD, 4), -EINVAL);
	assert_int_equal(pair_post(&t, RS_WR_RECV, 4), -EINVAL);
	for (int i = 0; i < 15; i++)
		assert_int_equal(pair_post(&t, RS_WR_WRITE, 8), 0);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 8), -ENOMEM);
	pair_end(&t);
}

static void test_error_flushes_both_queues_once(void **state)
{
	struct pair t;
	struct rs_cqe e[16];
	uint32_t n;

	pair_start(&t);
	for (int i = 0; i < 3; i++)
		pair_receive(&t, 64);
	rs_qp_modify(t.nics[1], t.qps[1], RS_QPS_ERR, NULL, 0);
	rs_qp_modify(t.nics[1], t.qps[1], RS_QPS_ERR, NULL, 0);
	assert_int_equal(rs_cq_poll(t.cqs[1], e, 16), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(e[i].status, RS_WC_WR_FLUSH_ERR);
	for (int i = 0; i < 4; i++)
		pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	pair_drop(&t, 0, pair_tx(&t, 0));
	rs_qp_modify(t.nics[0], t.qps[0], RS_QPS_ERR, NULL, 0);
	assert_null(pair_tx(&t, 0));
	pair_post(&t, RS_WR_WRITE, 64); /* in ERR: flushed at once */
	n = rs_cq_poll(t.cqs[0], e, 16);
	assert_int_equal(n, 5);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(e[i].status, RS_WC_WR_FLUSH_ERR);
	pair_end(&t);
}

static void test_reset_and_connect_again(void **state)
{
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	pair_drop(&t, 0, pair_tx(&t, 0));
	for (unsigned i = 0; i < 2; i++) {
		struct rs_qp_attr a = t.attr;

		assert_int_equal(rs_qp_modify(t.nics[i], t.qps[i], RS_QPS_RESET, NULL, 0), 0);
		a.dest_endpoint = !i;
		a.dest_qpn = rs_qp_num(t.qps[!i]);
		a.sq_psn = a.rq_psn = 77;
		assert_int_equal(rs_qp_connect(t.nics[i], t.qps[i], &a, 0), 0);
	}
	pair_post(&t, RS_WR_WRITE, 64);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_destroyed_qp_drops_what_arrives(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	p = pair_tx(&t, 0);
	rs_nic_destroy_qp(t.nics[1], t.qps[1]);
	pair_rx(&t, 1, p);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->rx_dropped, 1);
	assert_null(rs_nic_find_qp(t.nics[1], 64));
	pair_end(&t);
}

static void test_sqd_finishes_what_was_begun(void **state)
{
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	rs_qp_modify(t.nics[0], t.qps[0], RS_QPS_SQD, NULL, t.now);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	rs_qp_modify(t.nics[0], t.qps[0], RS_QPS_RTS, NULL, t.now);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_cq_overrun_is_told(void **state)
{
	struct pair t;
	struct rs_cq *small;

	pair_begin(&t);
	pair_nics(&t);
	assert_int_equal(rs_nic_create_cq(t.nics[0], 2, &small), 0);
	for (int i = 0; i < 3; i++) {
		struct rs_cqe e = {.wr_id = (uint64_t)i};

		assert_false(rs_cq_overrun(small));
		rs_cq_push(small, &e);
	}
	assert_true(rs_cq_overrun(small));
	assert_true(rs_nic_take_event(t.nics[0]));
	assert_false(rs_nic_take_event(t.nics[0]));
	pair_end(&t);
}

static void test_wrong_configurations_are_refused(void **state)
{
	struct rs_pool pool;
	struct rs_pool_list list;
	struct rs_nic_config good = {.line_rate = RS_GBPS,
				     .max_qps = 1,
				     .max_cqs = 1,
				     .first_qpn = 2,
				     .cc = &test_cc_use,
				     .n_cc = 1,
				     .free = &list};
	struct rs_nic_config bad;
	struct rs_nic *nic;
	struct rs_error e = {0};

	rs_pool_init(&pool, 16);
	rs_pool_list_init(&list, &pool);
	bad = good;
	bad.max_qps = 0;
	assert_int_equal(rs_nic_create(&bad, &nic, &e), -EINVAL);
	assert_true(strstr(e.what, "max_qps"));
	bad = good;
	bad.first_qpn = 1;
	assert_int_equal(rs_nic_create(&bad, &nic, NULL), -EINVAL);
	bad.first_qpn = 0xffffff + 1;
	assert_int_equal(rs_nic_create(&bad, &nic, NULL), -EINVAL);
	bad = good;
	bad.cnp_tc = 8;
	assert_int_equal(rs_nic_create(&bad, &nic, NULL), -EINVAL);
	assert_int_equal(rs_nic_create(&good, &nic, NULL), 0);
	rs_nic_destroy(nic);
	rs_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qp_is_at_most_384_bytes),
		cmocka_unit_test(test_transitions),
		cmocka_unit_test(test_attribute_limits),
		cmocka_unit_test(test_post_limits),
		cmocka_unit_test(test_error_flushes_both_queues_once),
		cmocka_unit_test(test_reset_and_connect_again),
		cmocka_unit_test(test_destroyed_qp_drops_what_arrives),
		cmocka_unit_test(test_sqd_finishes_what_was_begun),
		cmocka_unit_test(test_cq_overrun_is_told),
		cmocka_unit_test(test_wrong_configurations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
