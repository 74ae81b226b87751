/* Time-outs, retry counts, RNR, credits and windows: IBTA §9.7.6, §9.7.7.2, tables 45 and 46. */
#include "unit/rdma/pair.h"

static void test_psn_arithmetic_wraps(void **state)
{
	assert_int_equal(rs_psn_diff(0, 0xffffff), 1);
	assert_int_equal(rs_psn_diff(0xffffff, 0), -1);
	assert_int_equal(rs_psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(rs_psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(rs_psn_add(0xfffffe, 5), 3);
}

static void test_timeout_values(void **state)
{
	assert_int_equal(rs_rto(0, 0), 0);
	assert_int_equal(rs_rto(1, 0), 8192 * RS_NS);
	assert_int_equal(rs_rto(14, 0), INT64_C(67108864) * RS_NS);
	assert_int_equal(rs_rto(20, 0), INT64_C(4294967296) * RS_NS);
	assert_int_equal(rs_rto(31, 0), INT64_C(8796093022208) * RS_NS);
	assert_int_equal(rs_rto(1, RS_MS), RS_MS);
	assert_int_equal(rs_rto(0, RS_MS), 0);
}

/* Table 45, in hundredths of a millisecond. */
static void test_rnr_timer_values(void **state)
{
	static const uint32_t table[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
					   16,    24,   32,   48,    64,    96,    128,   192,
					   256,   384,  512,  768,   1024,  1536,  2048,  3072,
					   4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	for (int i = 0; i < 32; i++)
		assert_int_equal(rs_rnr_timer[i], table[i] * RS_MS / 100);
}

static void test_lost_tail_costs_one_timeout(void **state)
{
	struct pair t;
	rs_time sent;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	sent = t.now;
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_drop(&t, 0, pair_tx(&t, 0));
	pair_drop(&t, 1, pair_tx(&t, 1));
	assert_int_equal(pair_expire(&t, 0), sent + rs_rto(14, 0));
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 1);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_int_equal(test_cc.timeouts, 1);
	pair_end(&t);
}

/* ---- Probes of the tail ---- */

enum { FIRST_PROBE = 9 }; /* times rs_nic_config.probe: it, and two round trips of four times it */

static void probe_start(struct pair *t)
{
	pair_begin(t);
	t->config.probe = 10 * RS_US;
	pair_connect(t);
}

static void probe_ends(struct pair *t, unsigned probes)
{
	const struct rs_nic_counters *c = rs_nic_get_counters(t->nics[0]);

	assert_int_equal(c->tail_probes, probes);
	assert_int_equal(c->local_ack_timeout_err, 0);
	assert_int_equal(test_cc.timeouts, 0);
	assert_int_equal(pair_poll(t, 0).status, RS_WC_SUCCESS);
	assert_memory_equal(t->memory[1] + 0x8000, t->memory[0], 4 * PAIR_MTU);
	pair_end(t);
}

/* n packets of four, from the first on, are lost, and what is answered to the rest if `answers`. */
static void lose(struct pair *t, unsigned first, unsigned n, bool answers)
{
	struct rs_packet *p;

	for (unsigned i = 0; i < 4 * PAIR_MTU; i++)
		t->memory[0][i] = (uint8_t)(i * 7 + i / 256);
	pair_post(t, RS_WR_WRITE, 4 * PAIR_MTU);
	for (unsigned i = 0; i < 4; i++) {
		p = pair_tx(t, 0);
		if (i >= first && i < first + n)
			pair_drop(t, 0, p);
		else
			pair_rx(t, 1, p);
	}
	while (answers && (p = pair_tx(t, 1)))
		pair_drop(t, 1, p);
}

static void test_a_lost_tail_costs_a_probe(void **state)
{
	for (unsigned n = 1; n <= 4; n++) {
		struct pair t;

		probe_start(&t);
		lose(&t, 4 - n, n, true);
		assert_int_equal(pair_expire(&t, 0), FIRST_PROBE * t.config.probe);
		pair_settle(&t);
		/* alone, the latest is what was expected; else there is a NAK */
		assert_int_equal(test_cc.losses, n > 1);
		probe_ends(&t, 1);
	}
}

/* §9.7.5.2.8: no second NAK of a gap; the oldest packet fills it, the latest makes a new one. */
static void test_a_lost_nak_costs_a_probe(void **state)
{
	struct pair t;

	probe_start(&t);
	lose(&t, 0, 1, true);
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->packet_seq_err, 1);
	probe_ends(&t, 1);
}

static void test_a_lost_ack_costs_a_probe(void **state)
{
	struct pair t;

	probe_start(&t);
	lose(&t, 4, 0, true);
	pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->duplicate_request, 1);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->retransmitted_packets, 1);
	probe_ends(&t, 1);
}

static void test_a_lost_read_is_asked_for_again(void **state)
{
	struct pair t;

	probe_start(&t);
	memset(t.memory[1], 0x5a, PAIR_BYTES);
	pair_post(&t, RS_WR_READ, 2 * PAIR_MTU);
	pair_drop(&t, 0, pair_tx(&t, 0));
	while (rs_nic_get_counters(t.nics[0])->tail_probes < 3)
		pair_expire(&t, 0);
	assert_true(t.now < rs_rto(14, 0) / 2);
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 0);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_memory_equal(t.memory[0], t.memory[1], 2 * PAIR_MTU);
	pair_end(&t);
}

/* Nobody is there: three probes a try, and it all takes as long as without. */
static void test_probes_are_no_retries(void **state)
{
	struct pair t;
	struct rs_packet *p;
	rs_time end = 0;
	struct rs_cqe e;

	probe_start(&t);
	pair_post(&t, RS_WR_WRITE, 4 * PAIR_MTU);
	while (!rs_cq_poll(t.cqs[0], &e, 1)) {
		while ((p = pair_tx(&t, 0)))
			pair_drop(&t, 0, p);
		end = pair_expire(&t, 0);
	}
	assert_int_equal(e.status, RS_WC_RETRY_EXC_ERR);
	assert_in_range(end, 3 * rs_rto(14, 0), 3 * rs_rto(14, 0) + RS_MS);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->tail_probes, 3 * 3);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 3);
	pair_end(&t);
}

/* Found late, the owner did not run: what came meanwhile is read first. */
static void test_a_late_probe_is_left_out(void **state)
{
	struct pair t;

	pair_begin(&t);
	t.config.probe = 10 * RS_US;
	t.config.rto_late = 100 * RS_US;
	t.config.rto_grace = RS_MS;
	pair_connect(&t);
	lose(&t, 4, 0, false);
	t.now = 300 * RS_US;
	rs_nic_expire(t.nics[0], t.now);
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->retransmitted_packets, 0);
	probe_ends(&t, 0);
}

static void test_an_ack_moves_the_deadline_without_a_heap_operation(void **state)
{
	struct pair t;
	uint64_t moves;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 30 * PAIR_MTU);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1));
	pair_rx(&t, 1, pair_tx(&t, 0));
	moves = t.nics[0]->timers.moves;
	for (int i = 0; i < 20; i++) {
		pair_rx(&t, 0, pair_tx(&t, 1));
		pair_rx(&t, 1, pair_tx(&t, 0));
	}
	assert_int_equal(t.nics[0]->timers.moves, moves);
	pair_settle(&t);
	pair_end(&t);
}

/* A packet takes ten timeouts to pace, and no answer is due before the last: none fires. */
static void test_slow_pace_is_no_timeout(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_begin(&t);
	test_cc.rate = 100 * RS_MBPS;
	t.config.ack_every = 0;
	t.attr.timeout = 1;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 8 * PAIR_MTU);
	while ((p = pair_tx(&t, 0))) {
		rs_nic_expire(t.nics[0], t.now);
		pair_rx(&t, 1, p);
	}
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->local_ack_timeout_err, 0);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

/*
 * The responder's congestion control sends a READ's response a packet in `late`. All requests
 * arrive, none is lost: what counts is whether a response goes before the last try is over.
 */
static uint8_t read_at_a_pace(rs_time late)
{
	struct pair t;
	struct rs_packet *p;
	uint8_t status;

	pair_begin(&t);
	t.attr.timeout = 5;
	t.attr.retry_cnt = 7;
	pair_connect(&t);
	t.qps[1]->next_allowed = late;
	pair_post(&t, RS_WR_READ, 64);
	while ((p = pair_tx(&t, 0))) {
		pair_rx(&t, 1, p);
		if (t.qps[0]->deadline < late)
			pair_expire(&t, 0);
	}
	t.now = rs_time_max(t.now, late);
	while ((p = pair_tx(&t, 1)))
		pair_rx(&t, 0, p);
	status = pair_poll(&t, 0).status;
	pair_end(&t);
	return status;
}

static void test_responses_slower_than_all_tries(void **state)
{
	assert_int_equal(read_at_a_pace(0), RS_WC_SUCCESS);
	assert_int_equal(read_at_a_pace(8 * rs_rto(5, 0) - RS_US), RS_WC_SUCCESS);
	assert_int_equal(read_at_a_pace(8 * rs_rto(5, 0) + RS_US), RS_WC_RETRY_EXC_ERR);
}

static void test_retries_run_out(void **state)
{
	struct pair t;
	struct rs_packet *p;
	struct rs_cqe e[2];

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_post(&t, RS_WR_WRITE, 64);
	for (int tries = 0; tries <= t.attr.retry_cnt; tries++) {
		while ((p = pair_tx(&t, 0)))
			pair_drop(&t, 0, p);
		pair_expire(&t, 0);
	}
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 2), 2);
	assert_int_equal(e[0].status, RS_WC_RETRY_EXC_ERR);
	assert_int_equal(e[1].status, RS_WC_WR_FLUSH_ERR);
	assert_int_equal(rs_qp_get_state(t.qps[0]), RS_QPS_ERR);
	assert_null(pair_tx(&t, 0));
	pair_end(&t);
}

static void test_progress_resets_the_retry_count(void **state)
{
	struct pair t;
	struct rs_packet *p;

	pair_begin(&t);
	t.config.ack_every = 1;
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 10 * PAIR_MTU);
	for (int k = 0; k < 9; k++) { /* one packet a timeout gets through */
		pair_rx(&t, 1, pair_tx(&t, 0));
		while ((p = pair_tx(&t, 0)))
			pair_drop(&t, 0, p);
		pair_rx(&t, 0, pair_tx(&t, 1));
		pair_expire(&t, 0);
	}
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_rnr_retries_run_out(void **state)
{
	struct pair t;
	rs_time at;

	pair_start(&t);
	pair_post(&t, RS_WR_SEND, 64);
	for (int i = 0; i < 3; i++) {
		pair_rx(&t, 1, pair_tx(&t, 0));
		pair_rx(&t, 0, pair_tx(&t, 1));
		if (i == 2)
			break;
		at = t.now;
		pair_expire(&t, 0);
		assert_int_equal(t.now, at + rs_rnr_timer[12]);
	}
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->rnr_nak_retry_err, 3);
	pair_end(&t);
}

/* Asked again for as long as the grace, though the two tries are over after 1.3 ms; for less than
 * one wait more. */
static void test_a_receiver_is_asked_again_in_its_grace(void **state)
{
	const rs_time grace = 20 * RS_MS;
	struct pair t;
	rs_time since = RS_NEVER;
	unsigned naks = 0;

	pair_begin(&t);
	t.config.rnr_grace = grace;
	pair_connect(&t);
	pair_post(&t, RS_WR_SEND, 64);
	while (rs_qp_get_state(t.qps[0]) == RS_QPS_RTS) {
		pair_rx(&t, 1, pair_tx(&t, 0));
		pair_rx(&t, 0, pair_tx(&t, 1));
		if (!naks++)
			since = t.now;
		if (rs_qp_get_state(t.qps[0]) == RS_QPS_RTS)
			pair_expire(&t, 0);
	}
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_RNR_RETRY_EXC_ERR);
	assert_in_range(t.now - since, grace - RS_MS / 100, grace + rs_rnr_timer[12]);
	assert_in_range(naks, grace / rs_rnr_timer[12], grace / rs_rnr_timer[12] + 2);
	pair_end(&t);
}

/* What it does in time counts: its grace begins anew with each message. */
static void test_each_message_has_its_own_grace(void **state)
{
	struct pair t;

	pair_begin(&t);
	t.config.rnr_grace = 2 * RS_MS;
	pair_connect(&t);
	for (int i = 0; i < 4; i++) {
		pair_post(&t, RS_WR_SEND, 64);
		for (int k = 0; k < 3; k++) {
			pair_rx(&t, 1, pair_tx(&t, 0));
			pair_rx(&t, 0, pair_tx(&t, 1));
			assert_int_equal(rs_qp_get_state(t.qps[0]), RS_QPS_RTS);
			pair_expire(&t, 0);
		}
		pair_receive(&t, 64);
		pair_settle(&t);
		assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	}
	pair_end(&t);
}

/* rnr_retry 0 asks for no try, and gets none. */
static void test_without_retries_there_is_no_grace(void **state)
{
	struct pair t;

	pair_begin(&t);
	t.config.rnr_grace = 20 * RS_MS;
	t.attr.rnr_retry = 0;
	pair_connect(&t);
	pair_post(&t, RS_WR_SEND, 64);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1));
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_RNR_RETRY_EXC_ERR);
	pair_end(&t);
}

static void test_ack_past_an_unanswered_read_is_an_implied_nak(void **state)
{
	struct pair t;
	struct rs_packet *p;
	struct rs_cqe e[2];

	pair_start(&t);
	memset(t.memory[1] + 0x8000, 0x77, 64);
	pair_post(&t, RS_WR_READ, 64);
	pair_post(&t, RS_WR_WRITE, 0);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_drop(&t, 1, pair_tx(&t, 1));
	pair_rx(&t, 1, pair_tx(&t, 0));
	p = pair_tx(&t, 1);
	assert_int_equal(p->opcode, RS_OP_ACKNOWLEDGE);
	pair_rx(&t, 0, p);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->implied_nak_seq_err, 1);
	pair_settle(&t);
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 2), 2);
	assert_int_equal(e[0].op, RS_WR_READ);
	assert_int_equal(t.memory[0][63], 0x77);
	pair_end(&t);
}

static void test_reads_outstanding_are_bounded(void **state)
{
	struct pair t;

	pair_start(&t);
	for (int i = 0; i < 5; i++)
		pair_post(&t, RS_WR_READ, 8);
	pair_rx(&t, 1, pair_tx(&t, 0));
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_null(pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1));
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_null(pair_tx(&t, 0));
	pair_settle(&t);
	pair_end(&t);
}

static void test_fence_waits_for_reads(void **state)
{
	struct pair t;
	struct rs_send_wr wr = {.op = RS_WR_WRITE, .flags = RS_WR_FENCE};

	pair_start(&t);
	pair_post(&t, RS_WR_READ, 8);
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, t.now), 0);
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_null(pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1));
	assert_int_equal(pair_tx(&t, 0)->opcode, RS_OP_WRITE_ONLY);
	t.pool.fresh--; /* that packet stays here */
	pair_end(&t);
}

static void test_window_bounds_what_is_in_flight(void **state)
{
	struct pair t;
	uint32_t frame = rs_frame_bytes(RS_OP_WRITE_MIDDLE, PAIR_MTU, false);
	struct rs_packet *p[4];

	pair_begin(&t);
	test_cc.window = 4 * frame; /* the first frame is 16 bytes longer: three fit */
	pair_connect(&t);
	pair_post(&t, RS_WR_WRITE, 10 * PAIR_MTU);
	for (int i = 0; i < 3; i++)
		p[i] = pair_tx(&t, 0);
	assert_null(pair_tx(&t, 0));
	assert_true(p[1]->bth_flags & RS_BTH_ACKREQ); /* half the window */
	for (int i = 0; i < 3; i++)
		pair_rx(&t, 1, p[i]);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	pair_end(&t);
}

static void test_without_credit_one_packet_probes(void **state)
{
	struct pair t;
	struct rs_packet *ack;

	pair_start(&t);
	pair_receive(&t, 4096);
	pair_post(&t, RS_WR_SEND, 8);
	pair_rx(&t, 1, pair_tx(&t, 0));
	ack = pair_tx(&t, 1);
	assert_int_equal(rs_packet_syndrome(ack), RS_SYN_ACK | 0);
	pair_rx(&t, 0, ack);
	pair_receive(&t, 4096);
	pair_post(&t, RS_WR_SEND, 3 * PAIR_MTU);
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_null(pair_tx(&t, 0));
	pair_rx(&t, 0, pair_tx(&t, 1)); /* acknowledged: it has its receive */
	pair_settle(&t);
	assert_int_equal(rs_nic_get_counters(t.nics[0])->rnr_nak_retry_err, 0);
	assert_int_equal(rs_nic_get_counters(t.nics[1])->rx_packets, 4);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_psn_arithmetic_wraps),
		cmocka_unit_test(test_timeout_values),
		cmocka_unit_test(test_rnr_timer_values),
		cmocka_unit_test(test_lost_tail_costs_one_timeout),
		cmocka_unit_test(test_a_lost_tail_costs_a_probe),
		cmocka_unit_test(test_a_lost_nak_costs_a_probe),
		cmocka_unit_test(test_a_lost_ack_costs_a_probe),
		cmocka_unit_test(test_a_lost_read_is_asked_for_again),
		cmocka_unit_test(test_probes_are_no_retries),
		cmocka_unit_test(test_a_late_probe_is_left_out),
		cmocka_unit_test(test_an_ack_moves_the_deadline_without_a_heap_operation),
		cmocka_unit_test(test_slow_pace_is_no_timeout),
		cmocka_unit_test(test_responses_slower_than_all_tries),
		cmocka_unit_test(test_retries_run_out),
		cmocka_unit_test(test_progress_resets_the_retry_count),
		cmocka_unit_test(test_rnr_retries_run_out),
		cmocka_unit_test(test_a_receiver_is_asked_again_in_its_grace),
		cmocka_unit_test(test_each_message_has_its_own_grace),
		cmocka_unit_test(test_without_retries_there_is_no_grace),
		cmocka_unit_test(test_ack_past_an_unanswered_read_is_an_implied_nak),
		cmocka_unit_test(test_reads_outstanding_are_bounded),
		cmocka_unit_test(test_fence_waits_for_reads),
		cmocka_unit_test(test_window_bounds_what_is_in_flight),
		cmocka_unit_test(test_without_credit_one_packet_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
