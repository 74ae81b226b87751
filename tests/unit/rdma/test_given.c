/* QPNs that the owner gives: queue pairs come when they are wanted and go when they rest; what
 * comes late for one that is gone does no harm, and a receiver made anew answers as it would have.
 */
#include "pair.h"

struct owner {
	struct pair *pair;
	unsigned asked;
	bool makes; /* the receiver anew */
	uint32_t psn, msn;
};

static bool absent(void *arg, uint32_t qpn)
{
	struct owner *o = arg;
	struct pair *t = o->pair;
	struct rs_qp_attr a = t->attr;

	o->asked++;
	if (!o->makes || qpn != 71)
		return false;
	a.dest_endpoint = 0;
	a.dest_qpn = 70;
	t->init.send_cq = t->init.recv_cq = t->cqs[1];
	assert_int_equal(rs_nic_create_qp_at(t->nics[1], &t->init, qpn, &t->qps[1]), 0);
	assert_int_equal(rs_qp_connect(t->nics[1], t->qps[1], &a, 0), 0);
	rs_qp_resume(t->qps[1], o->psn, o->msn, RS_NEVER);
	return true;
}

static void begin(struct pair *t, struct owner *o)
{
	*o = (struct owner){.pair = t};
	pair_begin(t);
	t->config.given_qpns = true;
	t->config.absent = absent;
	t->config.absent_arg = o;
	t->init.max_recv_wr = 0;
	pair_connect(t);
}

/* A WRITE of three packets of which the receiver has all; the last one, once more. */
static struct rs_packet *written(struct pair *t)
{
	struct rs_packet *p, *last = NULL;

	assert_int_equal(pair_post(t, RS_WR_WRITE, 3 * PAIR_MTU), 0);
	for (unsigned i = 0; i < 3; i++) {
		p = pair_tx(t, 0);
		assert_non_null(p);
		if (i == 2) {
			last = rs_pool_alloc(&t->lists[0]);
			*last = *p;
		}
		pair_rx(t, 1, p);
	}
	return last;
}

static void test_a_receiver_rests_when_it_owes_nothing(void **state)
{
	struct pair t;
	struct owner o;
	struct rs_packet *late;

	begin(&t, &o);
	assert_true(rs_qp_rests(t.nics[1], t.qps[1], 0xfffffe));
	late = written(&t);
	assert_false(rs_qp_rests(t.nics[1], t.qps[1], 1)); /* its ACK is to be sent */
	pair_settle(&t);
	assert_true(rs_qp_rests(t.nics[1], t.qps[1], 1));
	assert_false(rs_qp_rests(t.nics[1], t.qps[1], 2));
	pair_drop(&t, 0, late);
	pair_end(&t);
}

static void test_a_late_packet_to_a_sender_that_is_gone_does_no_harm(void **state)
{
	struct pair t;
	struct owner o;
	struct rs_packet *ack, *again;

	begin(&t, &o);
	pair_drop(&t, 0, written(&t));
	ack = pair_tx(&t, 1);
	again = rs_pool_alloc(&t.lists[1]);
	*again = *ack;
	pair_rx(&t, 0, ack);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	rs_nic_destroy_qp(t.nics[0], t.qps[0]);
	assert_null(rs_nic_find_qp(t.nics[0], 70));
	pair_rx(&t, 0, again);
	assert_int_equal(o.asked, 1);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->rx_dropped, 0);
	pair_end(&t);
}

/* The ACK was lost: the sender sends its last packet again, to a receiver that is gone. */
static void test_a_receiver_made_anew_answers_as_it_would_have(void **state)
{
	uint32_t psn[2], aeth[2];

	for (unsigned gone = 0; gone < 2; gone++) {
		struct pair t;
		struct owner o;
		struct rs_packet *late, *ack;

		begin(&t, &o);
		late = written(&t);
		pair_drop(&t, 1, pair_tx(&t, 1));
		if (gone) {
			assert_true(rs_qp_rests(t.nics[1], t.qps[1], 1));
			rs_nic_destroy_qp(t.nics[1], t.qps[1]);
			o = (struct owner){.pair = &t, .makes = true, .psn = 1, .msn = 1};
		}
		pair_rx(&t, 1, late);
		ack = pair_tx(&t, 1);
		assert_non_null(ack);
		psn[gone] = ack->psn;
		aeth[gone] = ack->aeth;
		assert_int_equal(o.asked, gone);
		pair_rx(&t, 0, ack);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
		assert_true(rs_qp_rests(t.nics[1], t.qps[1], 1));
		pair_end(&t);
	}
	assert_int_equal(psn[0], psn[1]);
	assert_int_equal(aeth[0], aeth[1]);
}

static void test_a_qpn_is_one_queue_pairs_and_entries_are_used_anew(void **state)
{
	struct pair t;
	struct owner o;
	struct rs_qp *qp, *first;

	begin(&t, &o);
	t.init.send_cq = t.init.recv_cq = t.cqs[0];
	assert_int_equal(rs_nic_create_qp(t.nics[0], &t.init, &qp), -EINVAL);
	assert_int_equal(rs_nic_create_qp_at(t.nics[0], &t.init, 70, &qp), -EINVAL);
	assert_int_equal(rs_nic_create_qp_at(t.nics[0], &t.init, 63, &qp), -EINVAL);
	assert_int_equal(rs_nic_create_qp_at(t.nics[0], &t.init, 80, &qp), -EINVAL);
	assert_int_equal(rs_nic_create_qp_at(t.nics[0], &t.init, 79, &first), 0);
	for (unsigned i = 0; i < 100; i++) {
		rs_nic_destroy_qp(t.nics[0], first);
		assert_int_equal(rs_nic_create_qp_at(t.nics[0], &t.init, 64 + i % 6, &qp), 0);
		assert_ptr_equal(qp, first);
		assert_int_equal(rs_qp_num(qp), 64 + i % 6);
		assert_ptr_equal(rs_nic_find_qp(t.nics[0], 64 + i % 6), qp);
	}
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_receiver_rests_when_it_owes_nothing),
		cmocka_unit_test(test_a_late_packet_to_a_sender_that_is_gone_does_no_harm),
		cmocka_unit_test(test_a_receiver_made_anew_answers_as_it_would_have),
		cmocka_unit_test(test_a_qpn_is_one_queue_pairs_and_entries_are_used_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
