/* Memory windows, invalidation, rereg, inline data: IBTA §10.6.7, §9.4.1.1.3, §10.6.3.3. */
#include "unit/rdma/pair.h"
#include "base/random.h"

enum { AT = 0x8000, BYTES = 0x100, ALL = 15 };

struct windows {
	struct pair t;
	uint32_t region, window; /* of NIC 1 */
};

/* The window's owner is NIC 1, which binds through its own QP; NIC 0 is the peer. */
static void start(struct windows *w, unsigned type)
{
	struct pair *t = &w->t;

	pair_start(t);
	assert_int_equal(rs_nic_reg_mr(t->nics[1], PAIR_PD, 0x1000, PAIR_BYTES,
				       RS_ACCESS_LOCAL_WRITE | RS_ACCESS_MW_BIND, t->memory[1],
				       &w->region),
			 0);
	assert_int_equal(rs_nic_alloc_mw(t->nics[1], PAIR_PD, type, &w->window), 0);
	memset(t->memory[0], 0x5a, 0x400);
}

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

static uint8_t post_local(struct pair *t, struct rs_send_wr wr)
{
	wr.flags = RS_WR_SIGNALED;
	assert_int_equal(rs_qp_post_send(t->nics[1], t->qps[1], &wr, t->now), 0);
	pair_settle(t);
	return pair_poll(t, 1).status;
}

static uint8_t bind_bytes(struct windows *w, uint64_t va, uint64_t length, uint32_t access)
{
	struct rs_send_wr wr = {
		.op = RS_WR_BIND_MW,
		.rkey = next_key(w->window),
		.bind = {.va = va, .length = length, .mr_key = w->region, .access = access},
	};
	uint8_t status = post_local(&w->t, wr);

	if (!status)
		w->window = wr.rkey;
	return status;
}

static uint8_t bind(struct windows *w, uint32_t access)
{
	return bind_bytes(w, 0x1000 + AT, BYTES, access);
}

/* What NIC 0 gets for a request of 64 bytes with the key at va. */
static uint8_t use(struct pair *t, uint8_t op, uint32_t key, uint64_t va)
{
	struct rs_sge g = {.va = 0x1000, .length = 64, .lkey = t->keys[0]};
	struct rs_send_wr wr = {.op = op,
				.flags = RS_WR_SIGNALED,
				.n_sge = 1,
				.sge = &g,
				.remote_va = va,
				.rkey = key};

	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
	pair_settle(t);
	return pair_poll(t, 0).status;
}

/* One use of a fresh window, bound with the rights, by op at an offset from its first byte. */
static uint8_t outcome(unsigned type, uint32_t access, uint8_t op, int offset)
{
	struct windows w;
	uint8_t status;

	start(&w, type);
	assert_int_equal(bind(&w, access), RS_WC_SUCCESS);
	status = use(&w.t, op, w.window, (uint64_t)(0x1000 + AT + offset));
	for (int i = 0; status && i < PAIR_BYTES; i++)
		assert_int_equal(w.t.memory[1][i], 0);
	pair_end(&w.t);
	return status;
}

static void test_a_window_grants_its_bytes_and_rights(void **state)
{
	for (unsigned type = 1; type <= 2; type++) {
		uint32_t write = RS_ACCESS_REMOTE_WRITE, read = RS_ACCESS_REMOTE_READ;

		assert_int_equal(outcome(type, write, RS_WR_WRITE, 0), RS_WC_SUCCESS);
		assert_int_equal(outcome(type, write, RS_WR_WRITE, BYTES - 64), RS_WC_SUCCESS);
		assert_int_equal(outcome(type, write, RS_WR_WRITE, BYTES - 63),
				 RS_WC_REM_ACCESS_ERR);
		assert_int_equal(outcome(type, write, RS_WR_WRITE, -1), RS_WC_REM_ACCESS_ERR);
		assert_int_equal(outcome(type, write, RS_WR_READ, 0), RS_WC_REM_ACCESS_ERR);
		assert_int_equal(outcome(type, read, RS_WR_READ, 0), RS_WC_SUCCESS);
		assert_int_equal(outcome(type, read, RS_WR_WRITE, 0), RS_WC_REM_ACCESS_ERR);
	}
}

static void test_zero_based_window(void **state)
{
	struct windows w;

	start(&w, 1);
	assert_int_equal(bind(&w, RS_ACCESS_REMOTE_WRITE | RS_ACCESS_ZERO_BASED), RS_WC_SUCCESS);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, BYTES - 64), RS_WC_SUCCESS);
	assert_int_equal(w.t.memory[1][AT + BYTES - 1], 0x5a);
	assert_int_equal(w.t.memory[1][AT + BYTES - 65], 0);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_REM_ACCESS_ERR);
	pair_end(&w.t);
}

static void test_what_a_bind_may_not_do(void **state)
{
	static const struct {
		uint64_t va, length;
		uint32_t access;
	} rows[] = {
		{0x1000 + PAIR_BYTES - BYTES + 1, BYTES, RS_ACCESS_REMOTE_READ},
		{0xfff, BYTES, RS_ACCESS_REMOTE_READ},
		{0x1000, BYTES, RS_ACCESS_LOCAL_WRITE},
		{0x1000, PAIR_BYTES + 1, RS_ACCESS_REMOTE_READ},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct windows w;

		start(&w, 2);
		assert_int_equal(bind_bytes(&w, rows[i].va, rows[i].length, rows[i].access),
				 RS_WC_MW_BIND_ERR);
		assert_int_equal(rs_qp_get_state(w.t.qps[1]), RS_QPS_ERR);
		pair_end(&w.t);
	}
}

/* A region without the right to bind, of another PD, or that its owner may not write. */
static void test_what_a_region_must_allow(void **state)
{
	static const struct {
		uint32_t pd, access;
		uint8_t status;
	} rows[] = {
		{PAIR_PD, RS_ACCESS_LOCAL_WRITE | RS_ACCESS_MW_BIND, RS_WC_SUCCESS},
		{PAIR_PD, RS_ACCESS_LOCAL_WRITE, RS_WC_MW_BIND_ERR},
		{PAIR_PD + 1, RS_ACCESS_LOCAL_WRITE | RS_ACCESS_MW_BIND, RS_WC_MW_BIND_ERR},
		{PAIR_PD, RS_ACCESS_MW_BIND, RS_WC_MW_BIND_ERR},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct windows w;

		start(&w, 1);
		assert_int_equal(rs_nic_reg_mr(w.t.nics[1], rows[i].pd, 0x1000, PAIR_BYTES,
					       rows[i].access, w.t.memory[1], &w.region),
				 0);
		assert_int_equal(bind(&w, RS_ACCESS_REMOTE_WRITE), rows[i].status);
		pair_end(&w.t);
	}
}

static void test_rebinding(void **state)
{
	struct windows w;
	uint32_t old;

	/* Type 1: the old key dies with the new bind; length 0 unbinds. */
	start(&w, 1);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	old = w.window;
	assert_int_equal(bind(&w, RS_ACCESS_REMOTE_WRITE), RS_WC_SUCCESS);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_SUCCESS);
	assert_int_equal(use(&w.t, RS_WR_WRITE, old, 0x1000 + AT), RS_WC_REM_ACCESS_ERR);
	pair_end(&w.t);
	start(&w, 1);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	assert_int_equal(bind_bytes(&w, 0x1000 + AT, 0, 0), RS_WC_SUCCESS);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_REM_ACCESS_ERR);
	pair_end(&w.t);
	/* Type 2: must be invalidated first. */
	start(&w, 2);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	assert_int_equal(bind(&w, RS_ACCESS_REMOTE_WRITE), RS_WC_MW_BIND_ERR);
	pair_end(&w.t);
}

static void test_local_invalidation(void **state)
{
	struct windows w;

	start(&w, 2);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	assert_int_equal(
		post_local(&w.t, (struct rs_send_wr){.op = RS_WR_LOCAL_INV, .imm = w.window}),
		RS_WC_SUCCESS);
	assert_int_equal(bind(&w, RS_ACCESS_REMOTE_WRITE), RS_WC_SUCCESS);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_SUCCESS);
	assert_int_equal(
		post_local(&w.t, (struct rs_send_wr){.op = RS_WR_LOCAL_INV, .imm = w.window}),
		RS_WC_SUCCESS);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_REM_ACCESS_ERR);
	pair_end(&w.t);
	start(&w, 1);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	assert_int_equal(
		post_local(&w.t, (struct rs_send_wr){.op = RS_WR_LOCAL_INV, .imm = w.window}),
		RS_WC_MW_BIND_ERR);
	pair_end(&w.t);
}

static void send_inv(struct pair *t, uint32_t key)
{
	struct rs_sge g = {.va = 0x1000, .length = 64, .lkey = t->keys[0]};
	struct rs_send_wr wr = {
		.op = RS_WR_SEND_INV, .flags = RS_WR_SIGNALED, .n_sge = 1, .sge = &g, .imm = key};

	pair_receive(t, 64);
	assert_int_equal(rs_qp_post_send(t->nics[0], t->qps[0], &wr, t->now), 0);
	pair_settle(t);
}

static void test_a_peer_invalidates_by_its_send(void **state)
{
	struct windows w;
	struct rs_cqe e;

	start(&w, 2);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	send_inv(&w.t, w.window);
	assert_int_equal(pair_poll(&w.t, 0).status, RS_WC_SUCCESS);
	e = pair_poll(&w.t, 1);
	assert_int_equal(e.status, RS_WC_SUCCESS);
	assert_int_equal(e.flags, RS_CQE_INV);
	assert_int_equal(e.imm, w.window);
	assert_false(e.has_imm);
	assert_int_equal(use(&w.t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_REM_ACCESS_ERR);
	pair_end(&w.t);
	/* Neither a region nor a window of type 1 is the peer's to invalidate. */
	for (int region = 0; region < 2; region++) {
		start(&w, 1);
		bind(&w, RS_ACCESS_REMOTE_WRITE);
		send_inv(&w.t, region ? w.t.keys[1] : w.window);
		assert_int_equal(pair_poll(&w.t, 0).status, RS_WC_REM_ACCESS_ERR);
		pair_end(&w.t);
	}
}

/* Type 2B: the key is good on the QP that bound it alone. */
static void test_a_stranger_qp_may_not_use_the_window(void **state)
{
	struct windows w;
	struct pair *t = &w.t;
	struct rs_qp *qp[2];

	start(&w, 2);
	bind(&w, RS_ACCESS_REMOTE_WRITE);
	for (unsigned i = 0; i < 2; i++) {
		t->init.send_cq = t->init.recv_cq = t->cqs[i];
		assert_int_equal(rs_nic_create_qp(t->nics[i], &t->init, &qp[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct rs_qp_attr a = t->attr;

		a.dest_endpoint = !i;
		a.dest_qpn = rs_qp_num(qp[!i]);
		assert_int_equal(rs_qp_connect(t->nics[i], qp[i], &a, t->now), 0);
	}
	assert_int_equal(use(t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_SUCCESS);
	t->qps[0] = qp[0];
	assert_int_equal(use(t, RS_WR_WRITE, w.window, 0x1000 + AT), RS_WC_REM_ACCESS_ERR);
	pair_end(t);
}

static void test_a_bound_region_is_busy(void **state)
{
	for (unsigned type = 1; type <= 2; type++) {
		struct windows w;

		start(&w, type);
		bind(&w, RS_ACCESS_REMOTE_WRITE);
		assert_int_equal(rs_nic_dereg_mr(w.t.nics[1], w.region), -EBUSY);
		assert_int_equal(
			rs_nic_rereg_mr(w.t.nics[1], w.region, RS_REREG_PD, 9, 0, 0, 0, NULL),
			-EBUSY);
		if (type == 1)
			assert_int_equal(rs_nic_dealloc_mw(w.t.nics[1], w.window), 0);
		else /* the QP takes its windows' bindings along */
			rs_qp_modify(w.t.nics[1], w.t.qps[1], RS_QPS_RESET, NULL, w.t.now);
		assert_int_equal(rs_nic_dereg_mr(w.t.nics[1], w.region), 0);
		pair_end(&w.t);
	}
}

/* A key of a window is not for its owner's own lists. */
static void test_a_window_is_not_for_local_use(void **state)
{
	struct windows w;
	struct rs_sge g;
	struct rs_send_wr wr = {.op = RS_WR_SEND, .n_sge = 1, .sge = &g};

	start(&w, 1);
	bind(&w, RS_ACCESS_REMOTE_READ);
	g = (struct rs_sge){0x1000 + AT, 8, w.window};
	assert_int_equal(post_local(&w.t, wr), RS_WC_LOC_PROT_ERR);
	pair_end(&w.t);
}

static void test_invalidation_under_a_write(void **state)
{
	struct windows w;
	struct rs_sge g;
	struct rs_send_wr wr = {.op = RS_WR_WRITE, .flags = 1, .n_sge = 1, .sge = &g};

	start(&w, 1);
	bind_bytes(&w, 0x1000 + AT, 4 * PAIR_MTU, RS_ACCESS_REMOTE_WRITE);
	g = (struct rs_sge){0x1000, 3 * PAIR_MTU, w.t.keys[0]};
	wr.remote_va = 0x1000 + AT;
	wr.rkey = w.window;
	rs_qp_post_send(w.t.nics[0], w.t.qps[0], &wr, w.t.now);
	pair_rx(&w.t, 1, pair_tx(&w.t, 0));
	rs_nic_dealloc_mw(w.t.nics[1], w.window);
	pair_settle(&w.t);
	assert_int_equal(pair_poll(&w.t, 0).status, RS_WC_REM_ACCESS_ERR);
	assert_int_equal(w.t.memory[1][AT + PAIR_MTU], 0);
	pair_end(&w.t);
}

/* ---- Regions that change ---- */

static void test_rereg_changes_what_it_names(void **state)
{
	struct pair t;
	struct rs_nic *n;
	uint64_t va = 0x1000 + 0x8000;

	pair_start(&t);
	n = t.nics[1];
	assert_int_equal(rs_nic_rereg_mr(n, t.keys[1], 0, 0, 0, 0, 0, NULL), -EINVAL);
	assert_int_equal(rs_nic_rereg_mr(n, t.keys[1] + 1, 1, 0, 0, 0, 0, NULL), -ENOENT);
	assert_int_equal(use(&t, RS_WR_WRITE, t.keys[1], va), RS_WC_SUCCESS);
	/* Another place: addresses of before are outside by then. */
	assert_int_equal(rs_nic_rereg_mr(n, t.keys[1], RS_REREG_TRANSLATION, 0, 0x7000000, 128, 0,
					 t.memory[1]),
			 0);
	assert_int_equal(use(&t, RS_WR_WRITE, t.keys[1], 0x7000000 + 64), RS_WC_SUCCESS);
	assert_int_equal(use(&t, RS_WR_WRITE, t.keys[1], 0x7000000 + 65), RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
	pair_start(&t);
	assert_int_equal(rs_nic_rereg_mr(t.nics[1], t.keys[1], RS_REREG_ACCESS, 0, 0, 0, 1, NULL),
			 0);
	assert_int_equal(use(&t, RS_WR_WRITE, t.keys[1], va), RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
	pair_start(&t);
	assert_int_equal(rs_nic_rereg_mr(t.nics[1], t.keys[1], RS_REREG_PD, 9, 0, 0, 0, NULL), 0);
	assert_int_equal(use(&t, RS_WR_WRITE, t.keys[1], va), RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
}

static void test_rereg_under_a_write(void **state)
{
	struct pair t;

	pair_start(&t);
	pair_post(&t, RS_WR_WRITE, 3 * PAIR_MTU);
	pair_rx(&t, 1, pair_tx(&t, 0));
	assert_int_equal(rs_nic_rereg_mr(t.nics[1], t.keys[1], RS_REREG_TRANSLATION, 0, 0x1000, 16,
					 0, t.memory[1]),
			 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
}

static void test_region_whose_addresses_are_not_its_memory(void **state)
{
	struct pair t;
	uint32_t key;

	pair_start(&t);
	assert_int_equal(rs_nic_reg_mr(t.nics[1], PAIR_PD, 0x12345, 64, ALL | RS_ACCESS_ZERO_BASED,
				       t.memory[1] + 7, &key),
			 0);
	assert_int_equal(use(&t, RS_WR_WRITE, key, 0), RS_WC_SUCCESS);
	assert_int_equal(t.memory[1][6] | t.memory[1][7 + 64], 0);
	assert_int_equal(use(&t, RS_WR_WRITE, key, 1), RS_WC_REM_ACCESS_ERR);
	pair_end(&t);
}

/* ---- Inline data ---- */

static void test_inline_bytes_are_those_of_the_post(void **state)
{
	struct pair t;
	uint8_t bytes[1500], want[1500];
	struct rs_sge g[2];
	struct rs_send_wr wr = {
		.op = RS_WR_WRITE, .flags = RS_WR_INLINE | RS_WR_SIGNALED, .n_sge = 2, .sge = g};

	pair_begin(&t);
	t.init.max_inline = 1500;
	pair_connect(&t);
	for (int i = 0; i < 1500; i++)
		want[i] = bytes[i] = (uint8_t)(i * 5 + (i >> 8));
	g[0] = (struct rs_sge){.va = (uintptr_t)bytes, .length = 3};
	g[1] = (struct rs_sge){.va = (uintptr_t)bytes + 3, .length = 1497};
	wr.remote_va = 0x1000;
	wr.rkey = t.keys[1];
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, t.now), 0);
	memset(bytes, 0, sizeof(bytes));
	pair_drop(&t, 0, pair_tx(&t, 0));
	pair_settle(&t);
	if (!rs_cq_waiting(t.cqs[0]))
		pair_expire(&t, 0);
	pair_settle(&t);
	assert_int_equal(pair_poll(&t, 0).status, RS_WC_SUCCESS);
	assert_memory_equal(t.memory[1], want, 1500);
	g[1].length++;
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, t.now), -EINVAL);
	wr.op = RS_WR_READ;
	g[1].length = 1;
	assert_int_equal(rs_qp_post_send(t.nics[0], t.qps[0], &wr, t.now), -EINVAL);
	pair_end(&t);
}

enum { MANY_QPS = 3, MANY_WINDOWS = 24, STEPS = 4000 };

/* What a twin knows of a window: its key, and the QP that it is bound to; -1: none. */
struct bound {
	uint32_t key;
	int qp;
};

static void bind_one(struct pair *t, struct rs_qp *qp, struct bound *b, uint32_t region)
{
	struct rs_swqe w = {.op = RS_WR_BIND_MW,
			    .rkey = next_key(b->key),
			    .remote_va = 0x1000,
			    .swap_add = 64,
			    .compare = (uint64_t)region << 32 | RS_ACCESS_REMOTE_WRITE};

	assert_int_equal(rs_mw_bind(t->nics[1], qp, &w), b->qp < 0);
	if (b->qp < 0)
		b->key = w.rkey;
}

/* A QP that is reset lets go of its own windows, in any order of binds and ends, and of no other's.
 */
static void test_windows_of_several_qps_are_kept_apart(void **state)
{
	struct rs_random r = rs_random_stream(5, 0, 0);
	struct bound b[MANY_WINDOWS];
	struct rs_qp *qp[MANY_QPS];
	uint32_t region;
	struct pair t;

	pair_begin(&t);
	t.config.max_mrs = 64;
	pair_nics(&t);
	assert_int_equal(
		rs_nic_reg_mr(t.nics[1], PAIR_PD, 0x1000, PAIR_BYTES, 31, t.memory[1], &region), 0);
	for (unsigned i = 0; i < MANY_QPS; i++)
		assert_int_equal(rs_nic_create_qp(t.nics[1], &t.init, &qp[i]), 0);
	for (unsigned i = 0; i < MANY_WINDOWS; i++) {
		b[i].qp = -1;
		assert_int_equal(rs_nic_alloc_mw(t.nics[1], PAIR_PD, 2, &b[i].key), 0);
	}
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = rs_random_below(&r, MANY_WINDOWS), k = rs_random_below(&r, MANY_QPS);
		unsigned what = rs_random_below(&r, 32), left = 0;

		if (what < 20) {
			int was = b[i].qp;

			bind_one(&t, qp[k], &b[i], region);
			b[i].qp = was < 0 ? (int)k : was;
		} else if (what < 28) {
			assert_int_equal(rs_mw_invalidate(t.nics[1], qp[k], b[i].key),
					 b[i].qp == (int)k);
			if (b[i].qp == (int)k)
				b[i].qp = -1;
		} else if (what < 30) {
			assert_int_equal(rs_nic_dealloc_mw(t.nics[1], b[i].key), 0);
			assert_int_equal(rs_nic_alloc_mw(t.nics[1], PAIR_PD, 2, &b[i].key), 0);
			b[i].qp = -1;
		} else {
			assert_int_equal(rs_qp_modify(t.nics[1], qp[k], RS_QPS_RESET, NULL, 0), 0);
			for (unsigned n = 0; n < MANY_WINDOWS; n++)
				b[n].qp = b[n].qp == (int)k ? -1 : b[n].qp;
		}
		for (unsigned n = 0; n < MANY_WINDOWS; n++) {
			left += b[n].qp >= 0;
			if (b[n].qp >= 0)
				assert_true(rs_mw_may_invalidate(t.nics[1], qp[b[n].qp], b[n].key));
		}
		/* a region goes when no window is bound to it, and not before */
		if (left)
			assert_int_equal(rs_nic_dereg_mr(t.nics[1], region), -EBUSY);
	}
	for (unsigned k = 0; k < MANY_QPS; k++)
		rs_nic_destroy_qp(t.nics[1], qp[k]);
	assert_int_equal(rs_nic_dereg_mr(t.nics[1], region), 0);
	pair_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_grants_its_bytes_and_rights),
		cmocka_unit_test(test_zero_based_window),
		cmocka_unit_test(test_what_a_bind_may_not_do),
		cmocka_unit_test(test_what_a_region_must_allow),
		cmocka_unit_test(test_rebinding),
		cmocka_unit_test(test_local_invalidation),
		cmocka_unit_test(test_a_peer_invalidates_by_its_send),
		cmocka_unit_test(test_a_stranger_qp_may_not_use_the_window),
		cmocka_unit_test(test_a_bound_region_is_busy),
		cmocka_unit_test(test_a_window_is_not_for_local_use),
		cmocka_unit_test(test_invalidation_under_a_write),
		cmocka_unit_test(test_rereg_changes_what_it_names),
		cmocka_unit_test(test_rereg_under_a_write),
		cmocka_unit_test(test_region_whose_addresses_are_not_its_memory),
		cmocka_unit_test(test_inline_bytes_are_those_of_the_post),
		cmocka_unit_test(test_windows_of_several_qps_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
