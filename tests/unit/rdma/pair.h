/* Two NICs joined by hand: a test sees and may alter each packet between them. */
#ifndef RS_TESTS_PAIR_H
#define RS_TESTS_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdma/nic.h"
#include "rdma/state.h"

enum { PAIR_PD = 3, PAIR_BYTES = 1 << 16, PAIR_MTU = 1024 };

struct pair {
	struct rs_pool pool;
	struct rs_pool_list lists[2];
	struct rs_nic *nics[2];
	struct rs_cq *cqs[2];
	struct rs_qp *qps[2];
	uint32_t keys[2];
	_Alignas(8) uint8_t memory[2][PAIR_BYTES];
	struct rs_nic_config config;
	struct rs_qp_init init;
	struct rs_qp_attr attr;
	rs_time now;
};

/* A congestion control that a test can watch and set. */
struct test_cc {
	int64_t rate;
	uint64_t window;
	unsigned acks, losses, timeouts, cnps, marked;
};

static struct test_cc test_cc;

static void test_cc_init(const struct rs_cc_params *p, struct rs_cc *cc, int64_t line_rate,
			 rs_time now)
{
	*cc = (struct rs_cc){.next_event = RS_NEVER, .byte_credit = INT64_MAX};
	cc->window = test_cc.window ? test_cc.window : UINT64_MAX;
	rs_cc_set_rate(cc, test_cc.rate ? test_cc.rate : line_rate);
}

static void test_cc_nothing(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
}

static void test_cc_cnp(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	test_cc.cnps++;
}

static void test_cc_feedback(const struct rs_cc_params *p, struct rs_cc *cc,
			     const struct rs_cc_feedback *f)
{
	test_cc.acks++;
	test_cc.marked += f->marked != 0;
}

static void test_cc_loss(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now)
{
	test_cc.losses++;
	test_cc.timeouts += timeout;
}

static bool test_cc_due(const struct rs_cc_params *p, rs_time last, rs_time now)
{
	return last == RS_NEVER || now - last >= 50 * RS_US;
}

static const struct rs_cc_ops test_cc_ops = {
	.name = "test",
	.needs = RS_CC_NEEDS_BYTES | RS_CC_NEEDS_MARKS,
	.init = test_cc_init,
	.on_time = test_cc_nothing,
	.on_bytes = test_cc_nothing,
	.on_feedback = test_cc_feedback,
	.on_cnp = test_cc_cnp,
	.on_loss = test_cc_loss,
	.cnp_due = test_cc_due,
};
static const struct rs_cc_use test_cc_use = {.ops = &test_cc_ops};

/* Defaults, to be changed between pair_begin() and pair_connect(). */
static inline void pair_begin(struct pair *t)
{
	memset(t, 0, sizeof(*t));
	test_cc = (struct test_cc){0};
	assert_int_equal(rs_pool_init(&t->pool, 1 << 16), 0);
	t->config = (struct rs_nic_config){
		.line_rate = 100 * RS_GBPS,
		.max_qps = 16,
		.max_mrs = 8,
		.max_cqs = 4,
		.first_qpn = 64,
		.cc = &test_cc_use,
		.n_cc = 1,
		.cnp_tos = 48 << 2,
		.cnp_tc = 6,
		.ack_every = 1,
		.copy_payload = true,
	};
	t->init = (struct rs_qp_init){
		.pd = PAIR_PD,
		.max_send_wr = 16,
		.max_recv_wr = 16,
		.max_send_sge = 4,
		.max_recv_sge = 4,
		.transport = RS_RC,
	};
	t->attr = (struct rs_qp_attr){
		.path_mtu = PAIR_MTU,
		.pkey = 0xffff,
		.tos = RS_ECN_ECT0,
		.tc = 3,
		.timeout = 14,
		.retry_cnt = 2,
		.rnr_retry = 2,
		.min_rnr_timer = 12,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 2,
		.access = 15,
		.sq_psn = 0xfffffe,
		.rq_psn = 0xfffffe,
	};
}

static inline void pair_nics(struct pair *t)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rs_nic_config c = t->config;

		rs_pool_list_init(&t->lists[i], &t->pool);
		c.endpoint = i;
		c.free = &t->lists[i];
		assert_int_equal(rs_nic_create(&c, &t->nics[i], NULL), 0);
		assert_int_equal(rs_nic_create_cq(t->nics[i], 64, &t->cqs[i]), 0);
		assert_int_equal(rs_nic_reg_mr(t->nics[i], PAIR_PD, 0x1000, PAIR_BYTES, 15,
					       t->memory[i], &t->keys[i]),
				 0);
		t->init.send_cq = t->init.recv_cq = t->cqs[i];
		if (c.given_qpns)
			assert_int_equal(
				rs_nic_create_qp_at(t->nics[i], &t->init, 70 + i, &t->qps[i]), 0);
		else
			assert_int_equal(rs_nic_create_qp(t->nics[i], &t->init, &t->qps[i]), 0);
	}
}

static inline void pair_connect(struct pair *t)
{
	pair_nics(t);
	for (unsigned i = 0; i < 2; i++) {
		struct rs_qp_attr a = t->attr;

		a.dest_endpoint = !i;
		a.dest_qpn = rs_qp_num(t->qps[!i]);
		assert_int_equal(rs_qp_connect(t->nics[i], t->qps[i], &a, 0), 0);
	}
}

static inline void pair_start(struct pair *t)
{
	pair_begin(t);
	pair_connect(t);
}

/* No packet may be left anywhere. */
static inline void pair_end(struct pair *t)
{
	rs_nic_check(t->nics[0]);
	rs_nic_check(t->nics[1]);
	assert_int_equal(t->pool.fresh, t->pool.spill_count + rs_pool_list_count(&t->lists[0]) +
						rs_pool_list_count(&t->lists[1]));
	rs_nic_destroy(t->nics[0]);
	rs_nic_destroy(t->nics[1]);
	rs_pool_fini(&t->pool);
}

/* The next packet of a NIC, time moved on to when it may go; NULL when it has none. */
static inline struct rs_packet *pair_tx(struct pair *t, unsigned from)
{
	rs_time again;
	struct rs_packet *p = rs_nic_tx(t->nics[from], 0, t->now, &again);

	if (p || again == RS_NEVER)
		return p;
	t->now = again;
	return rs_nic_tx(t->nics[from], 0, t->now, &again);
}

static inline void pair_rx(struct pair *t, unsigned to, struct rs_packet *p)
{
	rs_nic_rx(t->nics[to], p, t->now);
}

static inline void pair_drop(struct pair *t, unsigned from, struct rs_packet *p)
{
	rs_pool_free(&t->lists[from], p);
}

/* Carry everything both ways until both are silent. */
static inline void pair_settle(struct pair *t)
{
	for (unsigned idle = 0, i = 0; idle < 2; i = !i) {
		struct rs_packet *p = pair_tx(t, i);

		idle = p ? 0 : idle + 1;
		if (p)
			pair_rx(t, !i, p);
	}
}

/* Time passes to the next deadline of a NIC's QP, which fires. The NIC's own may be earlier. */
static inline rs_time pair_expire(struct pair *t, unsigned nic)
{
	rs_time at = rs_time_min(t->qps[nic]->deadline, t->qps[nic]->ack_deadline);

	assert_true(at != RS_NEVER);
	assert_true(rs_nic_deadline(t->nics[nic]) <= at);
	t->now = rs_time_max(t->now, at);
	rs_nic_expire(t->nics[nic], t->now);
	return at;
}

/* NIC 0's request of length bytes at offset 0 of its memory, to offset 0x8000 of NIC 1's. */
static inline int pair_post(struct pair *t, uint8_t op, uint32_t length)
{
	struct rs_sge s = {.va = 0x1000, .length = length, .lkey = t->keys[0]};
	struct rs_send_wr wr = {
		.wr_id = 7,
		.op = op,
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &s,
		.imm = 0x1234,
		.remote_va = 0x1000 + 0x8000,
		.rkey = t->keys[1],
		.swap_add = 5,
	};

	return rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now);
}

/* A receive of NIC 1 at offset 0 of its memory. */
static inline void pair_receive(struct pair *t, uint32_t length)
{
	struct rs_sge s = {.va = 0x1000, .length = length, .lkey = t->keys[1]};
	struct rs_recv_wr wr = {.wr_id = 9, .n_sge = 1, .sge = &s};

	assert_int_equal(rs_qp_post_recv(t->nics[1], t->qps[1], &wr), 0);
}

/* The one completion that a NIC has. */
static inline struct rs_cqe pair_poll(struct pair *t, unsigned nic)
{
	struct rs_cqe e[2];

	assert_int_equal(rs_cq_poll(t->cqs[nic], e, 2), 1);
	return e[0];
}

#endif
