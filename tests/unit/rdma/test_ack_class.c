/* ACKs in a class of their own: where they wait, how they are marked, and where they may not be. */
#include "unit/rdma/pair.h"

enum { CLASS = 5, TOS = 46 << 2, DATA_HELD = 1 << 3, ACKS_HELD = 1 << CLASS };

static void apart(struct pair *t)
{
	pair_begin(t);
	t->config.ack_apart = true;
	t->config.ack_tos = TOS;
	t->config.ack_tc = CLASS;
	pair_connect(t);
}

/* What NIC 1 sends while these classes are held. */
static struct rs_packet *answer(struct pair *t, uint8_t held)
{
	rs_time again;

	return rs_nic_tx(t->nics[1], held, t->now, &again);
}

static void give(struct pair *t, uint8_t op, uint32_t length)
{
	assert_int_equal(pair_post(t, op, length), 0);
	pair_rx(t, 1, pair_tx(t, 0));
}

static void test_an_ack_waits_for_its_own_class(void **state)
{
	struct rs_packet *p;
	struct pair t;

	apart(&t);
	give(&t, RS_WR_WRITE, 1);
	assert_null(answer(&t, ACKS_HELD));
	p = answer(&t, DATA_HELD);
	assert_non_null(p);
	assert_int_equal(p->opcode, RS_OP_ACKNOWLEDGE);
	assert_int_equal(p->tc, CLASS);
	assert_int_equal(p->tos, TOS);
	pair_rx(&t, 0, p);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_a_nak_goes_so_too(void **state)
{
	struct rs_packet *first, *p;
	struct pair t;

	apart(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU), 0);
	first = pair_tx(&t, 0);
	pair_drop(&t, 0, first);
	pair_rx(&t, 1, pair_tx(&t, 0));
	p = answer(&t, DATA_HELD);
	assert_non_null(p);
	assert_int_equal(rs_packet_syndrome(p), RS_NAK_PSN_SEQ);
	assert_int_equal(p->tc, CLASS);
	pair_rx(&t, 0, p);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

/* An ACK before the answer of a READ that came first would be an implied NAK of it. */
static void test_none_overtakes_an_answer(void **state)
{
	static const uint8_t ops[] = {RS_WR_READ, RS_WR_FETCH_ADD};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_packet *p;
		struct pair t;

		apart(&t);
		give(&t, RS_WR_WRITE, 1);
		give(&t, ops[i], 8);
		give(&t, RS_WR_WRITE, 1);
		assert_null(answer(&t, DATA_HELD));
		for (unsigned k = 0; (p = answer(&t, ACKS_HELD)); k++) {
			assert_int_equal(p->tc, 3);
			assert_int_equal(p->opcode == RS_OP_ACKNOWLEDGE, k > 0);
			pair_rx(&t, 0, p);
		}
		pair_settle(&t);
		assert_int_equal(rs_nic_get_counters(t.nics[0])->implied_nak_seq_err, 0);
		assert_int_equal(rs_cq_waiting(t.cqs[0]), 3);
		pair_end(&t);
	}
}

static void test_its_class_is_checked(void **state)
{
	struct rs_pool pool;
	struct rs_pool_list list;
	struct rs_nic_config c = {.line_rate = RS_GBPS,
				  .max_qps = 1,
				  .max_cqs = 1,
				  .first_qpn = 2,
				  .free = &list,
				  .ack_tc = RS_CLASSES};
	struct rs_nic *nic;

	assert_int_equal(rs_pool_init(&pool, 16), 0);
	rs_pool_list_init(&list, &pool);
	assert_int_equal(rs_nic_create(&c, &nic, NULL), -EINVAL);
	rs_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_ack_waits_for_its_own_class),
		cmocka_unit_test(test_a_nak_goes_so_too),
		cmocka_unit_test(test_none_overtakes_an_answer),
		cmocka_unit_test(test_its_class_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
