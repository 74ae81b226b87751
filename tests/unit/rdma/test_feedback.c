/* What congestion control hears of acknowledgements, and which algorithm a queue pair has. */
#include "unit/rdma/pair.h"
#include "wire/telemetry.h"

static struct {
	unsigned calls;
	struct rs_cc_feedback f; /* the latest */
} heard;

static void listen(const struct rs_cc_params *p, struct rs_cc *cc, const struct rs_cc_feedback *f)
{
	heard.calls++;
	heard.f = *f;
}

/* A pair whose queue pairs have an algorithm that needs this, and listens. */
struct listener {
	struct pair pair;
	struct rs_cc_ops ops;
	struct rs_cc_use use;
};

static struct pair *begin(struct listener *l, uint8_t needs)
{
	memset(&heard, 0, sizeof(heard));
	l->ops = test_cc_ops;
	l->ops.needs = needs;
	l->ops.on_feedback = listen;
	l->use = (struct rs_cc_use){.ops = &l->ops};
	pair_begin(&l->pair);
	l->pair.config.cc = &l->use;
	l->pair.config.int_scale = 4;
	return &l->pair;
}

/* The ACK of a packet, sent at once; NIC 0 has it `later`. */
static void acknowledge(struct pair *t, struct rs_packet *p, rs_time later)
{
	pair_rx(t, 1, p);
	p = pair_tx(t, 1);
	assert_non_null(p);
	t->now += later;
	pair_rx(t, 0, p);
}

static void test_bytes_and_what_is_in_flight(void **state)
{
	struct listener l;
	struct pair *t = begin(&l, RS_CC_NEEDS_BYTES);
	struct rs_packet *p[3];
	uint32_t first, middle;

	pair_connect(t);
	assert_int_equal(pair_post(t, RS_WR_WRITE, 3 * PAIR_MTU), 0);
	for (unsigned i = 0; i < 3; i++)
		p[i] = pair_tx(t, 0);
	first = p[0]->frame_bytes;
	middle = p[1]->frame_bytes;
	acknowledge(t, p[0], RS_US);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.f.bytes, first);
	assert_int_equal(heard.f.acked, first);
	assert_int_equal(rs_cc_in_flight(&heard.f), 2 * middle);
	assert_int_equal(heard.f.now, t->now);
	assert_int_equal(heard.f.entropy, t->attr.sport);
	assert_true(heard.f.rtt < 0 && !heard.f.marked && !heard.f.limited && !heard.f.n_hops);
	pair_rx(t, 1, p[1]);
	pair_rx(t, 1, p[2]);
	pair_settle(t);
	assert_int_equal(rs_cc_in_flight(&heard.f), 0);
	pair_end(t);
}

static void test_round_trips_only_where_they_are_needed(void **state)
{
	for (unsigned needed = 0; needed < 2; needed++) {
		struct listener l;
		struct pair *t = begin(&l, RS_CC_NEEDS_BYTES | (needed ? RS_CC_NEEDS_RTT : 0));

		pair_connect(t);
		assert_int_equal(pair_post(t, RS_WR_WRITE, 1), 0);
		acknowledge(t, pair_tx(t, 0), 7 * RS_US);
		assert_int_equal(heard.calls, 1);
		assert_int_equal(heard.f.rtt, needed ? 7 * RS_US : -1);
		pair_end(t);
	}
}

/* Who kept the sender from more: so many bytes posted, a window, and the ACK of the first packet
 * after `sent` have gone. */
static enum rs_cc_limited limited_by(uint32_t bytes, uint64_t window, unsigned sent)
{
	struct listener l;
	struct pair *t = begin(&l, RS_CC_NEEDS_BYTES | RS_CC_NEEDS_LIMITED);
	struct rs_packet *p[8];
	enum rs_cc_limited by;

	test_cc.window = window;
	pair_connect(t);
	assert_int_equal(pair_post(t, RS_WR_WRITE, bytes), 0);
	for (unsigned i = 0; i < sent; i++)
		assert_non_null(p[i] = pair_tx(t, 0));
	acknowledge(t, p[0], RS_US);
	by = heard.f.limited;
	for (unsigned i = 1; i < sent; i++)
		pair_rx(t, 1, p[i]);
	pair_settle(t);
	pair_end(t);
	return by;
}

static void test_who_limits_the_sender(void **state)
{
	assert_int_equal(limited_by(4 * PAIR_MTU, UINT64_MAX, 4), RS_CC_BY_APPLICATION);
	assert_int_equal(limited_by(4 * PAIR_MTU, UINT64_MAX, 2), RS_CC_NOT_LIMITED);
	assert_int_equal(limited_by(8 * PAIR_MTU, 3 * PAIR_MTU, 2), RS_CC_BY_WINDOW);
	assert_int_equal(limited_by(8 * PAIR_MTU, 4 * PAIR_MTU, 2), RS_CC_NOT_LIMITED);
	/* both: there is nothing to send, whatever the window */
	assert_int_equal(limited_by(2 * PAIR_MTU, 3 * PAIR_MTU, 2), RS_CC_BY_APPLICATION);
}

/* An algorithm that needs marks alone is not called for other acknowledgements. */
static void test_marks_alone(void **state)
{
	for (unsigned echo = 0; echo < 2; echo++) {
		struct listener l;
		struct pair *t = begin(&l, RS_CC_NEEDS_MARKS);
		struct rs_packet *p;

		t->config.quirks.ack_echo = echo;
		pair_connect(t);
		assert_int_equal(pair_post(t, RS_WR_WRITE, 1), 0);
		assert_int_equal(pair_post(t, RS_WR_WRITE, 1), 0);
		acknowledge(t, pair_tx(t, 0), RS_US);
		assert_int_equal(heard.calls, 0);
		p = pair_tx(t, 0);
		p->tos |= RS_ECN_CE;
		pair_rx(t, 1, p);
		pair_settle(t);
		assert_int_equal(heard.calls, echo);
		assert_int_equal(test_cc.cnps, !echo);
		assert_true(!echo || heard.f.marked == heard.f.bytes);
		pair_end(t);
	}
}

/* ---- Which algorithm ---- */

/* Of a pair whose NICs have none, DCQCN and HPCC. */
static const char *chosen(uint8_t given, uint8_t of_class, uint8_t transport, bool *stamps)
{
	uint64_t params[2][64];
	struct rs_cc_use use[3] = {
		{.ops = &rs_cc_none},
		{.ops = &rs_cc_dcqcn, .params = (void *)params[0]},
		{.ops = &rs_cc_hpcc, .params = (void *)params[1]},
	};
	const char *name;
	struct pair t;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rs_cc_params_init(use[i + 1].ops, NULL, (void *)params[i], NULL),
				 0);
	pair_begin(&t);
	t.config.cc = use;
	t.config.n_cc = 3;
	t.config.int_scale = 4;
	t.config.cc_of_class[t.attr.tc] = of_class;
	t.init.cc = given;
	t.init.transport = transport;
	pair_connect(&t);
	name = rs_qp_cc_use(t.nics[0], t.qps[0])->ops->name;
	if (transport == RS_RC) {
		struct rs_packet *p;

		assert_int_equal(pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU), 0);
		p = pair_tx(&t, 0);
		*stamps = p->bth_flags & RS_PACKET_INT;
		assert_int_equal(p->frame_bytes,
				 rs_frame_bytes(RS_OP_WRITE_FIRST, PAIR_MTU, false) +
					 (*stamps ? RS_INT_BYTES : 0));
		pair_rx(&t, 1, p);
		p = pair_tx(&t, 1);
		assert_int_equal(p->frame_bytes, rs_frame_bytes(RS_OP_ACKNOWLEDGE, 0, false) +
							 (*stamps ? RS_INT_BYTES : 0));
		pair_rx(&t, 0, p);
		pair_settle(&t);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	}
	pair_end(&t);
	return name;
}

static void test_a_queue_pair_has_what_it_is_given_or_its_class_has(void **state)
{
	bool stamps;

	assert_string_equal(chosen(0, 0, RS_RC, &stamps), "none");
	assert_false(stamps);
	assert_string_equal(chosen(0, 1, RS_RC, &stamps), "dcqcn");
	assert_false(stamps);
	assert_string_equal(chosen(0, 2, RS_RC, &stamps), "hpcc");
	assert_true(stamps);
	assert_string_equal(chosen(1, 2, RS_RC, &stamps), "none");
	assert_false(stamps);
	assert_string_equal(chosen(3, 1, RS_RC, &stamps), "hpcc");
	assert_true(stamps);
}

static void test_what_is_not_there_is_refused(void **state)
{
	struct rs_error e = {0};
	struct rs_qp *qp;
	struct rs_nic *nic;
	struct pair t;

	pair_start(&t);
	t.init.cc = 2; /* of one */
	assert_int_equal(rs_nic_create_qp(t.nics[1], &t.init, &qp), -EINVAL);
	t.config.free = &t.lists[0];
	t.config.cc_of_class[5] = 1;
	assert_int_equal(rs_nic_create(&t.config, &nic, &e), -EINVAL);
	t.config.cc_of_class[5] = 0;
	t.config.n_cc = 0;
	assert_int_equal(rs_nic_create(&t.config, &nic, &e), -EINVAL);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_and_what_is_in_flight),
		cmocka_unit_test(test_round_trips_only_where_they_are_needed),
		cmocka_unit_test(test_who_limits_the_sender),
		cmocka_unit_test(test_marks_alone),
		cmocka_unit_test(test_a_queue_pair_has_what_it_is_given_or_its_class_has),
		cmocka_unit_test(test_what_is_not_there_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
