/* What a NIC takes over from simulators that it is compared with, and telemetry on its way round.
 */
#include "unit/rdma/pair.h"
#include "wire/telemetry.h"

/* ---- A congestion control that raises its rate at a time, and listens to telemetry ---- */

static struct {
	int64_t raise;
	unsigned calls;
	struct rs_cc_feedback f; /* the latest */
	struct rs_cc_hop hop[RS_CC_HOPS];
} heard;

static void slow_init(const struct rs_cc_params *p, struct rs_cc *cc, int64_t line, rs_time now)
{
	*cc = (struct rs_cc){
		.next_event = 300 * RS_US, .byte_credit = INT64_MAX, .window = UINT64_MAX};
	rs_cc_set_rate(cc, RS_MBPS);
}

static void slow_time(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	assert_true(now >= cc->next_event);
	cc->next_event = RS_NEVER;
	rs_cc_set_rate(cc, heard.raise);
}

static void listen(const struct rs_cc_params *p, struct rs_cc *cc, const struct rs_cc_feedback *f)
{
	assert_null(f->path_state);
	assert_true(f->n_hops <= RS_CC_HOPS);
	heard.calls++;
	heard.f = *f;
	if (f->n_hops)
		memcpy(heard.hop, f->hops, f->n_hops * sizeof(*f->hops));
}

/* When the second packet of a queue pair at 1 Mb/s goes, whose rate is raised at 300 us. */
static rs_time second_packet(bool fixed, int64_t raise)
{
	struct rs_cc_ops ops = test_cc_ops;
	struct pair t;

	ops.init = slow_init;
	ops.on_time = slow_time;
	heard.raise = raise;
	pair_begin(&t);
	t.config.cc = &(struct rs_cc_use){.ops = &ops};
	t.config.quirks.pace_fixed = fixed;
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU), 0);
	pair_drop(&t, 0, pair_tx(&t, 0));
	for (unsigned i = 0; i < 3; i++) {
		struct rs_packet *p = pair_tx(&t, 0);

		if (p) {
			pair_drop(&t, 0, p);
			break;
		}
	}
	assert_int_equal(t.qps[0]->send_k, 2);
	rs_nic_destroy(t.nics[0]);
	rs_nic_destroy(t.nics[1]);
	rs_pool_fini(&t.pool);
	return t.now;
}

static void test_a_raised_rate_hastens_the_packet_that_waits(void **state)
{
	uint32_t bytes = rs_frame_bytes(RS_OP_WRITE_FIRST, PAIR_MTU, false) + RS_PREAMBLE_IPG_BYTES;
	rs_time whole = (rs_time)bytes * 8 * RS_US; /* at 1 Mb/s */

	/* what is left after 300 us passes a thousand times as fast */
	assert_int_equal(second_packet(false, RS_GBPS), 300 * RS_US + (whole - 300 * RS_US) / 1000);
	/* a lower rate does not take back what was promised */
	assert_int_equal(second_packet(false, RS_MBPS / 2), whole);
	/* ns-3's rule */
	assert_int_equal(second_packet(true, RS_GBPS), whole);
}

static void test_stamps_come_back_in_the_ack(void **state)
{
	struct rs_cc_ops ops = test_cc_ops;
	struct rs_packet *p;
	struct pair t;

	memset(&heard, 0, sizeof(heard));
	ops.on_feedback = listen;
	ops.needs = RS_CC_NEEDS_STAMPS;
	pair_begin(&t);
	t.config.cc = &(struct rs_cc_use){.ops = &ops};
	t.config.int_scale = 4;
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 2 * PAIR_MTU), 0);
	p = pair_tx(&t, 0);
	assert_true(p->bth_flags & RS_PACKET_INT);
	assert_int_equal(p->frame_bytes,
			 rs_frame_bytes(RS_OP_WRITE_FIRST, PAIR_MTU, false) + RS_INT_BYTES);
	assert_int_equal(p->int_hop[0], 0);
	rs_int_push(p, rs_int_pack(rs_int_rate_code(100 * RS_GBPS, 4), 5 * RS_US, 51200, 3200, 4),
		    0x50);
	rs_int_push(p, rs_int_pack(rs_int_rate_code(400 * RS_GBPS, 4), 6 * RS_US, 1024, 0, 4),
		    0x14);
	pair_rx(&t, 1, p);
	p = pair_tx(&t, 1);
	assert_int_equal(p->frame_bytes,
			 rs_frame_bytes(RS_OP_ACKNOWLEDGE, 0, false) + RS_INT_BYTES);
	assert_int_equal(heard.calls, 0);
	pair_rx(&t, 0, p);
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.f.n_hops, 2);
	assert_int_equal(heard.f.path, 0x50 ^ 0x14);
	assert_int_equal(heard.hop[0].time, 5000);
	assert_int_equal(heard.hop[0].sent, 51200);
	assert_int_equal(heard.hop[0].queue, 3200);
	assert_int_equal(heard.hop[0].rate, 100 * RS_GBPS);
	assert_int_equal(heard.hop[1].rate, 400 * RS_GBPS);
	assert_int_equal(heard.hop[1].sent_wrap, rs_int_wrap(4));
	assert_true(heard.f.acked > PAIR_MTU && heard.f.acked == heard.f.sent);
	pair_settle(&t);
	/* the second packet passed no switch */
	assert_int_equal(heard.calls, 1);
	pair_end(&t);
}

static void test_a_read_request_has_no_room_for_stamps(void **state)
{
	struct rs_cc_ops ops = test_cc_ops;
	struct rs_packet *p;
	struct pair t;

	ops.on_feedback = listen;
	ops.needs = RS_CC_NEEDS_STAMPS;
	pair_begin(&t);
	t.config.cc = &(struct rs_cc_use){.ops = &ops};
	t.config.int_scale = 1;
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_READ, PAIR_MTU), 0);
	p = pair_tx(&t, 0);
	assert_false(p->bth_flags & RS_PACKET_INT);
	assert_int_equal(p->frame_bytes, rs_frame_bytes(RS_OP_READ_REQUEST, 0, false));
	pair_rx(&t, 1, p);
	pair_settle(&t);
	pair_end(&t);
}

static void test_telemetry_needs_its_scale(void **state)
{
	struct rs_cc_ops ops = test_cc_ops;
	struct rs_error e = {0};
	struct rs_nic *nic;
	struct pair t;

	ops.on_feedback = listen;
	ops.needs = RS_CC_NEEDS_STAMPS;
	pair_begin(&t);
	rs_pool_list_init(&t.lists[0], &t.pool);
	t.config.free = &t.lists[0];
	t.config.cc = &(struct rs_cc_use){.ops = &ops};
	assert_int_equal(rs_nic_create(&t.config, &nic, &e), -EINVAL);
	rs_pool_fini(&t.pool);
}

/* ---- ns-3's frames and windows ---- */

static void begin_ns3(struct pair *t)
{
	pair_begin(t);
	t->config.framing = &rs_framings[RS_FRAMING_NS3];
	t->config.quirks.any_payload = true;
	t->config.quirks.window_payload = true;
	t->attr.path_mtu = 1000;
}

static void test_any_payload_cuts_messages_so(void **state)
{
	static const uint16_t frames[] = {1048, 1048, 548};
	struct pair t;

	begin_ns3(&t);
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 2500), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct rs_packet *p = pair_tx(&t, 0);

		assert_int_equal(p->frame_bytes, frames[i]);
		pair_rx(&t, 1, p);
		p = pair_tx(&t, 1);
		assert_int_equal(p->frame_bytes, 60);
		pair_rx(&t, 0, p);
	}
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(t.qps[0]->sent, 2500);
	assert_int_equal(t.qps[0]->acked, 2500);
	pair_end(&t);
}

static void test_path_mtus_are_powers_of_two_otherwise(void **state)
{
	struct rs_qp_attr a;
	struct pair t;

	pair_begin(&t);
	pair_nics(&t);
	a = t.attr;
	a.dest_endpoint = 1;
	a.dest_qpn = rs_qp_num(t.qps[1]);
	a.path_mtu = 1000;
	assert_int_equal(rs_qp_connect(t.nics[0], t.qps[0], &a, 0), -EINVAL);
	pair_end(&t);
}

/* Packets sent before the window closes. */
static unsigned started(uint64_t window, bool payload)
{
	struct rs_packet *p;
	struct pair t;
	unsigned n = 0;

	begin_ns3(&t);
	t.config.quirks.window_payload = payload;
	test_cc.window = window;
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 9000), 0);
	for (; (p = pair_tx(&t, 0)); n++)
		pair_drop(&t, 0, p);
	pair_end(&t);
	return n;
}

static void test_a_window_of_payload_lets_a_packet_start(void **state)
{
	assert_int_equal(started(2500, true), 3); /* 2000 are out: one more may start */
	assert_int_equal(started(2000, true), 2);
	assert_int_equal(started(2500, false), 2); /* 2 x 1048 fit, a third does not */
	assert_int_equal(started(2000, false), 1);
}

/* The window falls to one packet with the first ACK, while many are out; ACKs are coalesced. */
static void shrink(const struct rs_cc_params *p, struct rs_cc *cc, const struct rs_cc_feedback *f)
{
	cc->window = 1;
}

static void test_a_window_that_shrinks_strands_nobody(void **state)
{
	struct rs_cc_ops ops = test_cc_ops;
	struct rs_packet *p[16];
	unsigned n = 0;
	struct pair t;

	ops.on_feedback = shrink;
	pair_begin(&t);
	t.config.cc = &(struct rs_cc_use){.ops = &ops};
	t.config.ack_every = 8;
	t.attr.timeout = 0;
	test_cc.window = 11 * PAIR_MTU;
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 30 * PAIR_MTU), 0);
	while (n < 16 && (p[n] = pair_tx(&t, 0)))
		n++;
	assert_in_range(n, 9, 11);
	for (unsigned i = 0; i < n; i++) {
		struct rs_packet *ack;

		pair_rx(&t, 1, p[i]);
		ack = pair_tx(&t, 1);
		if (ack)
			pair_rx(&t, 0, ack);
	}
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

/* ---- PFC and ACKs ---- */

static bool ack_goes(bool unpaused)
{
	struct rs_packet *p;
	struct pair t;
	rs_time again;
	bool goes;

	pair_begin(&t);
	t.config.quirks.ack_unpaused = unpaused;
	pair_connect(&t);
	assert_int_equal(pair_post(&t, RS_WR_WRITE, 1), 0);
	pair_rx(&t, 1, pair_tx(&t, 0));
	p = rs_nic_tx(t.nics[1], 1 << 3, t.now, &again);
	goes = p != NULL;
	if (p)
		pair_rx(&t, 0, p);
	pair_settle(&t);
	pair_end(&t);
	return goes;
}

static void test_pfc_holds_back_acks_unless_told_otherwise(void **state)
{
	assert_false(ack_goes(false));
	assert_true(ack_goes(true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_raised_rate_hastens_the_packet_that_waits),
		cmocka_unit_test(test_stamps_come_back_in_the_ack),
		cmocka_unit_test(test_a_read_request_has_no_room_for_stamps),
		cmocka_unit_test(test_telemetry_needs_its_scale),
		cmocka_unit_test(test_any_payload_cuts_messages_so),
		cmocka_unit_test(test_path_mtus_are_powers_of_two_otherwise),
		cmocka_unit_test(test_a_window_of_payload_lets_a_packet_start),
		cmocka_unit_test(test_a_window_that_shrinks_strands_nobody),
		cmocka_unit_test(test_pfc_holds_back_acks_unless_told_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
