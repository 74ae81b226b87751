/* Keys, ranges and rights at their boundaries: IBTA §10.6; nothing refused is read or written. */
#include "unit/rdma/pair.h"

static void no_change(struct rs_packet *p)
{
}

static void wrong_key(struct rs_packet *p)
{
	p->rkey += 0x100;
}

static void next_generation(struct rs_packet *p)
{
	p->rkey++;
}

static void zero_key(struct rs_packet *p)
{
	p->rkey = 0;
}

static void to_the_last_byte(struct rs_packet *p)
{
	p->va = 0x1000 + PAIR_BYTES - 64;
}

static void past_the_last_byte(struct rs_packet *p)
{
	p->va = 0x1000 + PAIR_BYTES - 63;
}

static void before_the_first_byte(struct rs_packet *p)
{
	p->va = 0xfff;
}

static void around_the_end_of_addresses(struct rs_packet *p)
{
	p->va = UINT64_MAX - 10;
}

/* The status that a request of 64 bytes ends with; granted: rights of the region, of the QP. */
static uint8_t outcome(uint8_t op, void (*alter)(struct rs_packet *), uint32_t region_access,
		       uint32_t qp_access, uint32_t pd)
{
	uint32_t length = op >= RS_WR_CMP_SWAP ? 8 : 64;
	struct pair t;
	struct rs_packet *p;
	uint8_t status;

	pair_begin(&t);
	t.attr.access = qp_access;
	pair_connect(&t);
	assert_int_equal(rs_nic_dereg_mr(t.nics[1], t.keys[1]), 0);
	assert_int_equal(rs_nic_reg_mr(t.nics[1], pd, 0x1000, PAIR_BYTES, region_access,
				       t.memory[1], &t.keys[1]),
			 0);
	memset(t.memory[0], 0xaa, length);
	pair_post(&t, op, length);
	p = pair_tx(&t, 0);
	alter(p);
	pair_rx(&t, 1, p);
	pair_settle(&t);
	status = pair_poll(&t, 0).status;
	for (int i = 0; status && i < PAIR_BYTES; i++)
		assert_int_equal(t.memory[1][i], 0);
	for (uint32_t i = 0; status && i < length; i++)
		assert_int_equal(t.memory[0][i], 0xaa);
	pair_end(&t);
	return status;
}

static void test_keys(void **state)
{
	assert_int_equal(outcome(RS_WR_WRITE, no_change, 15, 15, PAIR_PD), RS_WC_SUCCESS);
	assert_int_equal(outcome(RS_WR_WRITE, wrong_key, 15, 15, PAIR_PD), RS_WC_REM_ACCESS_ERR);
	assert_int_equal(outcome(RS_WR_READ, wrong_key, 15, 15, PAIR_PD), RS_WC_REM_ACCESS_ERR);
	assert_int_equal(outcome(RS_WR_WRITE, next_generation, 15, 15, PAIR_PD),
			 RS_WC_REM_ACCESS_ERR);
	assert_int_equal(outcome(RS_WR_WRITE, zero_key, 15, 15, PAIR_PD), RS_WC_REM_ACCESS_ERR);
	assert_int_equal(outcome(RS_WR_WRITE, no_change, 15, 15, PAIR_PD + 1),
			 RS_WC_REM_ACCESS_ERR);
}

/* What a request of `length` bytes for the device's own region ends with, where there is one. */
static uint8_t own_region(bool there, uint8_t op, uint32_t key, uint64_t va, uint32_t length,
			  uint32_t qp_access)
{
	struct pair t;
	struct rs_packet *p;
	uint8_t status;

	pair_begin(&t);
	t.config.device_region = there;
	t.attr.access = qp_access;
	pair_connect(&t);
	memset(t.memory[0], 0xaa, 16);
	pair_post(&t, op, length);
	p = pair_tx(&t, 0);
	p->rkey = key;
	p->va = va;
	pair_rx(&t, 1, p);
	pair_settle(&t);
	status = pair_poll(&t, 0).status;
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(t.memory[0][i], !status && i < length ? 0 : 0xaa);
	pair_end(&t);
	return status;
}

/* UCX flushes by a READ of it; nothing else is there, and nothing can be written. */
static void test_device_region(void **state)
{
	const uint32_t key = RS_DEVICE_KEY, refused = RS_WC_REM_ACCESS_ERR;

	assert_int_equal(own_region(true, RS_WR_READ, key, 0, 8, 15), RS_WC_SUCCESS);
	assert_int_equal(own_region(true, RS_WR_READ, key, 7, 1, 15), RS_WC_SUCCESS);
	assert_int_equal(own_region(true, RS_WR_READ, key, 0, 9, 15), refused);
	assert_int_equal(own_region(true, RS_WR_READ, key, 1, 8, 15), refused);
	assert_int_equal(own_region(true, RS_WR_READ, key, UINT64_MAX, 2, 15), refused);
	assert_int_equal(own_region(true, RS_WR_READ, key + 1, 0, 8, 15), refused);
	assert_int_equal(own_region(true, RS_WR_WRITE, key, 0, 8, 15), refused);
	assert_int_equal(own_region(true, RS_WR_FETCH_ADD, key, 0, 8, 15), refused);
	assert_int_equal(own_region(false, RS_WR_READ, key, 0, 8, 15), refused);
	assert_int_equal(own_region(true, RS_WR_READ, key, 0, 8, 15 & ~RS_ACCESS_REMOTE_READ),
			 RS_WC_REM_INV_REQ_ERR);
}

static void test_range_by_one_byte(void **state)
{
	static const uint8_t ops[] = {RS_WR_WRITE, RS_WR_READ};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(outcome(ops[i], to_the_last_byte, 15, 15, PAIR_PD), 0);
		assert_int_equal(outcome(ops[i], past_the_last_byte, 15, 15, PAIR_PD),
				 RS_WC_REM_ACCESS_ERR);
		assert_int_equal(outcome(ops[i], before_the_first_byte, 15, 15, PAIR_PD),
				 RS_WC_REM_ACCESS_ERR);
		assert_int_equal(outcome(ops[i], around_the_end_of_addresses, 15, 15, PAIR_PD),
				 RS_WC_REM_ACCESS_ERR);
	}
}

static void test_rights_of_region_and_qp(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t need;
	} rows[] = {{RS_WR_WRITE, RS_ACCESS_REMOTE_WRITE},
		    {RS_WR_READ, RS_ACCESS_REMOTE_READ},
		    {RS_WR_FETCH_ADD, RS_ACCESS_REMOTE_ATOMIC},
		    {RS_WR_CMP_SWAP, RS_ACCESS_REMOTE_ATOMIC},
		    {RS_WR_ATOMIC_WRITE, RS_ACCESS_REMOTE_WRITE}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t need = rows[i].need;

		assert_int_equal(
			outcome(rows[i].op, no_change, need | RS_ACCESS_LOCAL_WRITE, need, PAIR_PD),
			RS_WC_SUCCESS);
		assert_int_equal(outcome(rows[i].op, no_change, 15 & ~need, 15, PAIR_PD),
				 RS_WC_REM_ACCESS_ERR);
		assert_int_equal(outcome(rows[i].op, no_change, 15, 15 & ~need, PAIR_PD),
				 RS_WC_REM_INV_REQ_ERR);
	}
}

static void test_stale_key_after_reuse(void **state)
{
	struct pair t;
	uint32_t key, old;

	pair_start(&t);
	old = t.keys[1];
	assert_int_equal(rs_nic_dereg_mr(t.nics[1], old), 0);
	assert_int_equal(rs_nic_dereg_mr(t.nics[1], old), -ENOENT);
	assert_int_equal(
		rs_nic_reg_mr(t.nics[1], PAIR_PD, 0x1000, PAIR_BYTES, 15, t.memory[1], &key), 0);
	assert_int_equal(key >> 8, old >> 8);
	assert_int_not_equal(key, old);
	pair_post(&t, RS_WR_WRITE, 64);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
}

static void test_region_withdrawn_in_the_middle_of_a_write(void **state)
{
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	pair_rx(&t, 1, pair_tx(&t, 0));
	rs_nic_dereg_mr(t.nics[1], t.keys[1]);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
}

/* The requester's own memory: the error completes after what was posted before it. */
static void test_local_protection_error_in_its_turn(void **state)
{
	struct pair t;
	struct rs_cqe e[3];
	uint32_t key;

	pair_start(&t);
	key = t.keys[0];
	pair_post(&t, RS_WR_WRITE, 64);
	t.keys[0] += 0x100;
	pair_post(&t, RS_WR_WRITE, 64);
	t.keys[0] = key;
	pair_post(&t, RS_WR_WRITE, 64);
	pair_settle(&t);
	assert_int_equal(rs_cq_poll(t.cqs[0], e, 3), 3);
	assert_int_equal(e[0].status, RS_WC_SUCCESS);
	assert_int_equal(e[1].status, RS_WC_LOC_PROT_ERR);
	assert_int_equal(e[2].status, RS_WC_WR_FLUSH_ERR);
	pair_end(&t);
}

static void test_registration_limits(void **state)
{
	struct pair t;
	uint32_t key;

	pair_start(&t);
	assert_int_equal(rs_nic_reg_mr(t.nics[0], 1, UINT64_MAX - 5, 7, 1, t.memory[0], &key),
			 -EINVAL);
	assert_int_equal(
		rs_nic_reg_mr(t.nics[0], 1, 0, 8, RS_ACCESS_REMOTE_WRITE, t.memory[0], &key),
		-EINVAL);
	assert_int_equal(rs_nic_reg_mr(t.nics[0], 1, 0, 8, 1, NULL, &key), -EINVAL);
	for (int i = 0; i < 7; i++)
		assert_int_equal(rs_nic_reg_mr(t.nics[0], 1, 0, 8, 1, t.memory[0], &key), 0);
	assert_int_equal(rs_nic_reg_mr(t.nics[0], 1, 0, 8, 1, t.memory[0], &key), -ENOMEM);
	pair_end(&t);
}

static void test_gather_and_scatter_across_pieces(void **state)
{
	struct pair t;
	struct rs_sge out[3], in[2];
	struct rs_send_wr wr = {.op = RS_WR_SEND, .n_sge = 3, .sge = out};
	struct rs_recv_wr rr = {.n_sge = 2, .sge = in};

	pair_start(&t);
	for (int i = 0; i < PAIR_BYTES; i++)
		t.memory[0][i] = (uint8_t)(i * 7 + (i >> 8));
	for (unsigned i = 0; i < 3; i++)
		out[i] = (struct rs_sge){0x1000 + 3000 * i, 700 + i, t.keys[0]};
	in[0] = (struct rs_sge){0x1000 + 100, 1, t.keys[1]};
	in[1] = (struct rs_sge){0x1000 + 200, 4000, t.keys[1]};
	assert_int_equal(rs_qp_post_recv(t.nics[1], t.qps[1], &rr), 0);
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, 0), 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 1).bytes, 2103);
	assert_int_equal(t.memory[1][100], t.memory[0][0]);
	assert_memory_equal(t.memory[1] + 200, t.memory[0] + 1, 699);
	assert_memory_equal(t.memory[1] + 200 + 699, t.memory[0] + 3000, 701);
	assert_memory_equal(t.memory[1] + 200 + 1400, t.memory[0] + 6000, 702);
	pair_end(&t);
}

/* ---- Null regions ---- */

/* NIC 1's null region: what is written goes nowhere, what is read is 0, at any address; atomics are
 * refused, and so is another domain. */
static void test_peers_of_a_null_region(void **state)
{
	static const struct {
		uint8_t op, status;
		uint32_t length, pd;
		uint64_t va;
	} rows[] = {{RS_WR_WRITE, RS_WC_SUCCESS, 3 * PAIR_MTU + 5, PAIR_PD, 0},
		    {RS_WR_WRITE, RS_WC_SUCCESS, 64, PAIR_PD, UINT64_MAX - 64},
		    {RS_WR_WRITE, RS_WC_REM_ACCESS_ERR, 64, PAIR_PD, UINT64_MAX - 10},
		    {RS_WR_WRITE, RS_WC_REM_ACCESS_ERR, 64, PAIR_PD + 1, 0},
		    {RS_WR_ATOMIC_WRITE, RS_WC_SUCCESS, 8, PAIR_PD, 64},
		    {RS_WR_READ, RS_WC_SUCCESS, 3 * PAIR_MTU + 5, PAIR_PD, 12345},
		    {RS_WR_READ, RS_WC_REM_ACCESS_ERR, 64, PAIR_PD + 1, 0},
		    {RS_WR_FETCH_ADD, RS_WC_REM_ACCESS_ERR, 8, PAIR_PD, 64},
		    {RS_WR_CMP_SWAP, RS_WC_REM_ACCESS_ERR, 8, PAIR_PD, 64}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rs_sge s = {.va = 0x1000, .length = rows[i].length};
		struct rs_send_wr wr = {.op = rows[i].op,
					.flags = RS_WR_SIGNALED,
					.n_sge = 1,
					.sge = &s,
					.remote_va = rows[i].va};
		bool read = rows[i].op == RS_WR_READ && !rows[i].status;
		struct pair t;

		pair_start(&t);
		s.lkey = t.keys[0];
		memset(t.memory[0], 0xaa, PAIR_BYTES);
		assert_int_equal(rs_nic_reg_null_mr(t.nics[1], rows[i].pd, &wr.rkey), 0);
		assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, 0), 0);
		pair_settle(&t);
		assert_int_equal(pair_poll(&t, 0).status, rows[i].status);
		for (uint32_t k = 0; k < PAIR_BYTES; k++) {
			assert_int_equal(t.memory[0][k], read && k < s.length ? 0 : 0xaa);
			assert_int_equal(t.memory[1][k], 0);
		}
		pair_end(&t);
	}
}

/* Of a list of three pieces the middle one is null: sent as zeros, and not received. */
static void test_null_pieces_of_a_list(void **state)
{
	struct pair t;
	struct rs_sge out[3], in[3];
	struct rs_send_wr wr = {.op = RS_WR_SEND, .n_sge = 3, .sge = out};
	struct rs_recv_wr rr = {.n_sge = 3, .sge = in};
	uint32_t null[2];

	pair_start(&t);
	memset(t.memory[0], 0x55, PAIR_BYTES);
	memset(t.memory[1], 0x11, PAIR_BYTES);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rs_nic_reg_null_mr(t.nics[i], PAIR_PD, &null[i]), 0);
	for (unsigned i = 0; i < 3; i++) {
		out[i] = (struct rs_sge){0x1000 + 3000 * i, 1000, i == 1 ? null[0] : t.keys[0]};
		in[i] = (struct rs_sge){0x1000 + 3000 * i, 1200, i == 1 ? null[1] : t.keys[1]};
	}
	assert_int_equal(rs_qp_post_recv(t.nics[1], t.qps[1], &rr), 0);
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, 0), 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 1).bytes, 3000);
	for (uint32_t i = 0; i < PAIR_BYTES; i++) {
		/* bytes 0 .. 1199 lie at 0, 1200 .. 2399 nowhere, 2400 .. 2999 at 6000 */
		bool first = i < 1200, last = i >= 6000 && i < 6600;

		assert_int_equal(t.memory[1][i], last                ? 0x55
						 : first && i < 1000 ? 0x55
						 : first             ? 0
								     : 0x11);
		assert_int_equal(t.memory[0][i], 0x55);
	}
	pair_end(&t);
}

/* A run's bytes would have to lie behind one another; each packet of a null region's is sent alone.
 */
static void test_no_run_of_a_null_region(void **state)
{
	for (unsigned null = 0; null < 2; null++) {
		struct pair t;
		struct rs_packet *p;
		uint32_t bytes, key;
		bool last;

		pair_start(&t);
		key = t.keys[0];
		if (null)
			assert_int_equal(rs_nic_reg_null_mr(t.nics[0], PAIR_PD, &t.keys[0]), 0);
		memset(t.memory[1], 0x11, PAIR_BYTES);
		pair_post(&t, RS_WR_WRITE, 8 * PAIR_MTU);
		p = pair_tx(&t, 0);
		assert_int_equal(rs_nic_tx_run(t.nics[0], p, 8 * PAIR_MTU, &bytes, &last, 0),
				 null ? 1 : 8);
		if (null) {
			assert_false(last);
			pair_rx(&t, 1, p);
			pair_settle(&t);
			assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
			for (uint32_t i = 0; i < PAIR_BYTES; i++)
				assert_int_equal(t.memory[1][i],
						 i >= 0x8000 && i < 0x8000 + 8 * PAIR_MTU ? 0
											  : 0x11);
		} else {
			pair_drop(&t, 0, p);
		}
		t.keys[0] = key;
		pair_end(&t);
	}
}

static void test_what_a_null_region_is_not(void **state)
{
	struct pair t;
	struct rs_send_wr wr = {.op = RS_WR_BIND_MW, .flags = RS_WR_SIGNALED};
	uint32_t null, window;

	pair_start(&t);
	assert_int_equal(rs_nic_reg_null_mr(t.nics[0], UINT32_MAX, &null), -EINVAL);
	assert_int_equal(rs_nic_reg_null_mr(t.nics[0], PAIR_PD, &null), 0);
	assert_int_equal(rs_nic_rereg_mr(t.nics[0], null, RS_REREG_ACCESS, 0, 0, 0, 1, NULL),
			 -EINVAL);
	assert_int_equal(rs_nic_dealloc_mw(t.nics[0], null), -ENOENT);
	assert_int_equal(rs_nic_alloc_mw(t.nics[0], PAIR_PD, 2, &window), 0);
	wr.rkey = window + 1;
	wr.bind = (struct rs_bind){.va = 64, .length = 64, .mr_key = null};
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, 0), 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_MW_BIND_ERR);
	assert_int_equal(rs_nic_dereg_mr(t.nics[0], null), 0);
	assert_int_equal(rs_nic_dereg_mr(t.nics[0], null), -ENOENT);
	for (int i = 0; i < 6; i++)
		assert_int_equal(rs_nic_reg_null_mr(t.nics[0], PAIR_PD, &null), 0);
	assert_int_equal(rs_nic_reg_null_mr(t.nics[0], PAIR_PD, &null), -ENOMEM);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_device_region),
		cmocka_unit_test(test_range_by_one_byte),
		cmocka_unit_test(test_rights_of_region_and_qp),
		cmocka_unit_test(test_stale_key_after_reuse),
		cmocka_unit_test(test_region_withdrawn_in_the_middle_of_a_write),
		cmocka_unit_test(test_local_protection_error_in_its_turn),
		cmocka_unit_test(test_registration_limits),
		cmocka_unit_test(test_gather_and_scatter_across_pieces),
		cmocka_unit_test(test_peers_of_a_null_region),
		cmocka_unit_test(test_null_pieces_of_a_list),
		cmocka_unit_test(test_no_run_of_a_null_region),
		cmocka_unit_test(test_what_a_null_region_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
