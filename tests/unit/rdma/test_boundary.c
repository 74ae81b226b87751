/*
 * Protection as the wire sees it: what each refusal of IBTA §9.7.4.1 answers, at the last byte that
 * is granted and the first that is not, and that both memories are what they were.
 */
#include "unit/rdma/pair.h"

enum { AT = 0x4000, BYTES = 0x2000, VA = 0x1000 + AT, ALL = 15 };
enum { READ_TOO = RS_ACCESS_LOCAL_WRITE | RS_ACCESS_REMOTE_READ };

/* NIC 1 grants [VA, VA + BYTES) of its memory by a key of its own. */
struct guarded {
	struct pair t;
	uint32_t key;
	uint8_t before[2][PAIR_BYTES];
};

struct grant {
	uint32_t region, qp, pd, bytes;
};

static const struct grant whole = {ALL, ALL, PAIR_PD, BYTES};

static struct guarded *start(const struct grant *grant)
{
	struct guarded *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	pair_begin(&g->t);
	g->t.attr.access = grant->qp;
	pair_connect(&g->t);
	assert_int_equal(rs_nic_reg_mr(g->t.nics[1], grant->pd, VA, grant->bytes, grant->region,
				       g->t.memory[1] + AT, &g->key),
			 0);
	for (int i = 0; i < PAIR_BYTES; i++) {
		g->t.memory[0][i] = (uint8_t)(i * 5 + 1);
		g->t.memory[1][i] = (uint8_t)(i * 3 + (i >> 8));
	}
	memcpy(g->before, g->t.memory, sizeof(g->before));
	return g;
}

static void end(struct guarded *g)
{
	pair_end(&g->t);
	free(g);
}

static void nothing_changed(struct guarded *g)
{
	assert_memory_equal(g->t.memory[0], g->before[0], PAIR_BYTES);
	assert_memory_equal(g->t.memory[1], g->before[1], PAIR_BYTES);
}

static int post(struct guarded *g, uint8_t op, uint32_t length, uint64_t va, uint32_t key)
{
	struct rs_sge s = {.va = 0x1000, .length = length, .lkey = g->t.keys[0]};
	struct rs_send_wr wr = {
		.op = op,
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &s,
		.remote_va = va,
		.rkey = key,
		.swap_add = 99,
	};

	return rs_qp_post_send(g->t.nics[0], g->t.qps[0], &wr, g->t.now);
}

/* All of NIC 0's packets arrive; what NIC 1 says first, which ends the connection, if it does. */
static uint8_t answer(struct guarded *g)
{
	struct pair *t = &g->t;
	uint32_t first = t->attr.sq_psn;
	struct rs_packet *p;
	uint8_t syndrome;

	while ((p = pair_tx(t, 0)))
		pair_rx(t, 1, p);
	p = pair_tx(t, 1);
	assert_non_null(p);
	syndrome = rs_packet_syndrome(p);
	if (syndrome >= RS_NAK_INVALID_REQUEST) {
		assert_int_equal(p->psn, first);
		assert_int_equal(rs_qp_get_state(t->qps[1]), RS_QPS_ERR);
	}
	pair_rx(t, 0, p);
	pair_settle(t);
	return syndrome;
}

/* What a request is answered, and that a refused one left nothing behind. */
static uint8_t outcome(const struct grant *grant, uint8_t op, uint32_t length, uint64_t va,
		       uint32_t key_change)
{
	struct guarded *g = start(grant);
	uint8_t syndrome;
	struct rs_cqe e;

	assert_int_equal(post(g, op, length, va, g->key ^ key_change), 0);
	syndrome = answer(g);
	e = pair_poll(&g->t, 0);
	if (syndrome >= RS_NAK_INVALID_REQUEST) {
		static const uint8_t status[] = {0, RS_WC_REM_INV_REQ_ERR, RS_WC_REM_ACCESS_ERR,
						 RS_WC_REM_OP_ERR};

		assert_int_equal(e.status, status[syndrome & RS_SYN_VALUE]);
		assert_int_equal(rs_cq_waiting(g->t.cqs[1]), 0);
		nothing_changed(g);
	} else {
		assert_int_equal(e.status, RS_WC_SUCCESS);
		syndrome = RS_SYN_ACK;
	}
	end(g);
	return syndrome;
}

static const struct operation {
	uint8_t op;
	uint32_t length, need;
} operations[] = {
	{RS_WR_WRITE, 64, RS_ACCESS_REMOTE_WRITE},
	{RS_WR_WRITE, 3 * PAIR_MTU + 1, RS_ACCESS_REMOTE_WRITE},
	{RS_WR_READ, 64, RS_ACCESS_REMOTE_READ},
	{RS_WR_READ, 3 * PAIR_MTU + 1, RS_ACCESS_REMOTE_READ},
	{RS_WR_CMP_SWAP, 8, RS_ACCESS_REMOTE_ATOMIC},
	{RS_WR_FETCH_ADD, 8, RS_ACCESS_REMOTE_ATOMIC},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static bool atomic(const struct operation *o)
{
	return o->need == RS_ACCESS_REMOTE_ATOMIC;
}

static void test_key_that_was_not_granted(void **state)
{
	/* another generation, another entry, one that never was, none */
	static const uint32_t changes[] = {1, 0x80, 0x100, 0x600, 0x7fff00};

	for (unsigned i = 0; i < OPERATIONS; i++) {
		const struct operation *o = &operations[i];

		assert_int_equal(outcome(&whole, o->op, o->length, VA, 0), RS_SYN_ACK);
		for (unsigned k = 0; k < sizeof(changes) / sizeof(changes[0]); k++)
			assert_int_equal(outcome(&whole, o->op, o->length, VA, changes[k]),
					 RS_NAK_REMOTE_ACCESS);
	}
}

static void test_protection_domain(void **state)
{
	static const struct grant other = {ALL, ALL, PAIR_PD + 1, BYTES};

	for (unsigned i = 0; i < OPERATIONS; i++)
		assert_int_equal(outcome(&other, operations[i].op, operations[i].length, VA, 0),
				 RS_NAK_REMOTE_ACCESS);
}

static void test_one_byte_outside_at_either_end(void **state)
{
	for (unsigned i = 0; i < OPERATIONS; i++) {
		const struct operation *o = &operations[i];
		uint64_t last = VA + BYTES - o->length;
		uint32_t step = atomic(o) ? 8 : 1; /* an atomic's next address */

		assert_int_equal(outcome(&whole, o->op, o->length, VA, 0), RS_SYN_ACK);
		assert_int_equal(outcome(&whole, o->op, o->length, VA - step, 0),
				 RS_NAK_REMOTE_ACCESS);
		assert_int_equal(outcome(&whole, o->op, o->length, last, 0), RS_SYN_ACK);
		assert_int_equal(outcome(&whole, o->op, o->length, last + step, 0),
				 RS_NAK_REMOTE_ACCESS);
		assert_int_equal(outcome(&whole, o->op, o->length, UINT64_MAX - 7, 0),
				 RS_NAK_REMOTE_ACCESS);
		assert_int_equal(outcome(&whole, o->op, o->length, 0, 0), RS_NAK_REMOTE_ACCESS);
	}
}

/* The word's last byte alone lies outside: §9.4.5. */
static void test_region_that_ends_within_the_word(void **state)
{
	static const struct grant short_by_one = {ALL, ALL, PAIR_PD, BYTES - 1};

	assert_int_equal(outcome(&short_by_one, RS_WR_FETCH_ADD, 8, VA + BYTES - 8, 0),
			 RS_NAK_REMOTE_ACCESS);
	assert_int_equal(outcome(&short_by_one, RS_WR_FETCH_ADD, 8, VA + BYTES - 16, 0),
			 RS_SYN_ACK);
}

static void test_rights_of_region_and_queue_pair(void **state)
{
	for (unsigned i = 0; i < OPERATIONS; i++) {
		const struct operation *o = &operations[i];
		struct grant only = {o->need | RS_ACCESS_LOCAL_WRITE, o->need, PAIR_PD, BYTES};
		struct grant region = {ALL & ~o->need, ALL, PAIR_PD, BYTES};
		struct grant qp = {ALL, ALL & ~o->need, PAIR_PD, BYTES};

		assert_int_equal(outcome(&only, o->op, o->length, VA, 0), RS_SYN_ACK);
		assert_int_equal(outcome(&region, o->op, o->length, VA, 0), RS_NAK_REMOTE_ACCESS);
		assert_int_equal(outcome(&qp, o->op, o->length, VA, 0), RS_NAK_INVALID_REQUEST);
	}
}

/* Of no bytes no key is looked at: §9.7.4.1.5. */
static void test_no_bytes_need_no_key(void **state)
{
	assert_int_equal(outcome(&whole, RS_WR_WRITE, 0, 0, 0xffff00), RS_SYN_ACK);
	assert_int_equal(outcome(&whole, RS_WR_READ, 0, 0, 0xffff00), RS_SYN_ACK);
}

static void test_revoked_between_two_packets(void **state)
{
	for (int rereg = 0; rereg < 2; rereg++) {
		struct guarded *g = start(&whole);
		struct pair *t = &g->t;

		post(g, RS_WR_WRITE, 3 * PAIR_MTU, VA, g->key);
		pair_rx(t, 1, pair_tx(t, 0));
		assert_memory_equal(t->memory[1] + AT, t->memory[0], PAIR_MTU);
		memcpy(g->before, t->memory, sizeof(g->before));
		if (rereg)
			rs_nic_rereg_mr(t->nics[1], g->key, RS_REREG_ACCESS, 0, 0, 0, READ_TOO,
					NULL);
		else
			rs_nic_dereg_mr(t->nics[1], g->key);
		pair_settle(t);
		assert_int_equal(pair_poll(t, 0).status, RS_WC_REM_ACCESS_ERR);
		nothing_changed(g);
		end(g);
	}
}

/* A READ is answered packet by packet: what is revoked is not read any more. */
static void test_revoked_between_two_responses(void **state)
{
	struct guarded *g = start(&whole);
	struct pair *t = &g->t;
	struct rs_packet *p;

	post(g, RS_WR_READ, 3 * PAIR_MTU, VA, g->key);
	pair_rx(t, 1, pair_tx(t, 0));
	p = pair_tx(t, 1);
	assert_int_equal(p->opcode, RS_OP_READ_RESPONSE_FIRST);
	pair_rx(t, 0, p);
	rs_nic_dereg_mr(t->nics[1], g->key);
	p = pair_tx(t, 1);
	assert_int_equal(p->opcode, RS_OP_ACKNOWLEDGE);
	assert_int_equal(rs_packet_syndrome(p), RS_NAK_REMOTE_ACCESS);
	pair_rx(t, 0, p);
	pair_settle(t);
	assert_int_equal(pair_poll(t, 0).status, RS_WC_REM_ACCESS_ERR);
	assert_memory_equal(t->memory[0] + PAIR_MTU, g->before[0] + PAIR_MTU,
			    PAIR_BYTES - PAIR_MTU);
	end(g);
}

/* What came before a refused request is answered before its NAK: §9.7.5.1.1. */
static void test_answers_before_the_nak(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t length;
	} rows[] = {{RS_WR_READ, 3 * PAIR_MTU}, {RS_WR_FETCH_ADD, 8}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct guarded *g = start(&whole);
		struct pair *t = &g->t;
		struct rs_packet *p;
		struct rs_cqe e[2];

		post(g, rows[i].op, rows[i].length, VA, g->key);
		post(g, RS_WR_WRITE, 64, VA, g->key + 1);
		while ((p = pair_tx(t, 0)))
			pair_rx(t, 1, p);
		pair_settle(t);
		assert_int_equal(rs_cq_poll(t->cqs[0], e, 2), 2);
		assert_int_equal(e[0].status, RS_WC_SUCCESS);
		assert_int_equal(e[1].status, RS_WC_REM_ACCESS_ERR);
		assert_memory_equal(t->memory[0], g->before[1] + AT, rows[i].length);
		end(g);
	}
}

/* ---- The owner's own lists: §10.7.3.2, §9.7.4.1.7 ---- */

static const struct {
	uint64_t va;
	uint32_t pd, access;
	uint8_t status; /* of an operation that stores */
	uint8_t loads;  /* of one that loads */
} lists[] = {
	{VA, PAIR_PD, RS_ACCESS_LOCAL_WRITE, RS_WC_SUCCESS, RS_WC_SUCCESS},
	{VA + BYTES - 64, PAIR_PD, RS_ACCESS_LOCAL_WRITE, RS_WC_SUCCESS, RS_WC_SUCCESS},
	{VA + BYTES - 63, PAIR_PD, RS_ACCESS_LOCAL_WRITE, RS_WC_LOC_PROT_ERR, RS_WC_LOC_PROT_ERR},
	{VA - 1, PAIR_PD, RS_ACCESS_LOCAL_WRITE, RS_WC_LOC_PROT_ERR, RS_WC_LOC_PROT_ERR},
	{VA, PAIR_PD + 1, RS_ACCESS_LOCAL_WRITE, RS_WC_LOC_PROT_ERR, RS_WC_LOC_PROT_ERR},
	{VA, PAIR_PD, 0, RS_WC_LOC_PROT_ERR, RS_WC_SUCCESS},
	{VA, PAIR_PD, RS_ACCESS_REMOTE_READ, RS_WC_LOC_PROT_ERR, RS_WC_SUCCESS},
};

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

static uint32_t key_of_list(struct guarded *g, unsigned nic, unsigned i)
{
	uint32_t key;

	assert_int_equal(rs_nic_reg_mr(g->t.nics[nic], lists[i].pd, VA, BYTES, lists[i].access,
				       g->t.memory[nic] + AT, &key),
			 0);
	return key;
}

/* Nothing goes out: the requester's own error is no matter of the peer's. */
static void test_memory_of_a_request(void **state)
{
	static const uint8_t ops[] = {RS_WR_SEND, RS_WR_WRITE, RS_WR_READ, RS_WR_FETCH_ADD};

	for (unsigned k = 0; k < sizeof(ops) * LISTS; k++) {
		unsigned i = k % LISTS;
		uint8_t op = ops[k / LISTS];
		bool stores = op == RS_WR_READ || op == RS_WR_FETCH_ADD;
		uint8_t want = stores ? lists[i].status : lists[i].loads;
		struct guarded *g = start(&whole);
		uint32_t length = op == RS_WR_FETCH_ADD ? 8 : 64;
		/* an atomic's answer is shorter: the same distance from the end */
		uint64_t va = lists[i].va > VA ? lists[i].va + 64 - length : lists[i].va;
		struct rs_sge s = {.va = va, .length = length, .lkey = key_of_list(g, 0, i)};
		struct rs_send_wr wr = {
			.op = op,
			.flags = RS_WR_SIGNALED,
			.n_sge = 1,
			.sge = &s,
			.remote_va = VA,
			.rkey = g->key,
		};

		pair_receive(&g->t, 64);
		assert_int_equal(rs_qp_post_send(g->t.nics[0], g->t.qps[0], &wr, 0), 0);
		if (want)
			assert_null(pair_tx(&g->t, 0));
		pair_settle(&g->t);
		assert_int_equal(pair_poll(&g->t, 0).status, want);
		if (want)
			nothing_changed(g);
		end(g);
	}
}

/* The responder's own receive is at fault: a remote operational error to the peer (§9.7.4.1.7). */
static void test_memory_of_a_receive(void **state)
{
	for (unsigned i = 0; i < LISTS; i++) {
		struct guarded *g = start(&whole);
		struct rs_sge s = {.va = lists[i].va, .length = 64, .lkey = key_of_list(g, 1, i)};
		struct rs_recv_wr wr = {.wr_id = 9, .n_sge = 1, .sge = &s};
		uint8_t syndrome;

		assert_int_equal(rs_qp_post_recv(g->t.nics[1], g->t.qps[1], &wr), 0);
		post(g, RS_WR_SEND, 64, 0, 0);
		syndrome = answer(g);
		assert_int_equal(pair_poll(&g->t, 1).status, lists[i].status);
		if (lists[i].status) {
			assert_int_equal(syndrome, RS_NAK_REMOTE_OPERATIONAL);
			assert_int_equal(pair_poll(&g->t, 0).status, RS_WC_REM_OP_ERR);
			nothing_changed(g);
		}
		end(g);
	}
}

static void test_response_into_memory_withdrawn_since(void **state)
{
	struct guarded *g = start(&whole);
	struct pair *t = &g->t;

	post(g, RS_WR_READ, 64, VA, g->key);
	pair_rx(t, 1, pair_tx(t, 0));
	rs_nic_dereg_mr(t->nics[0], t->keys[0]);
	pair_rx(t, 0, pair_tx(t, 1));
	assert_int_equal(pair_poll(t, 0).status, RS_WC_LOC_PROT_ERR);
	nothing_changed(g);
	end(g);
}

static void test_send_one_byte_longer_than_its_receive(void **state)
{
	struct guarded *g = start(&whole);

	pair_receive(&g->t, 99);
	post(g, RS_WR_SEND, 100, 0, 0);
	assert_int_equal(answer(g), RS_NAK_INVALID_REQUEST);
	assert_int_equal(pair_poll(&g->t, 1).status, RS_WC_LOC_LEN_ERR);
	nothing_changed(g);
	end(g);
}

/* ---- Partition: §9.6.1.1.1, §10.9.3 ---- */

/* Dropped without a word, and no PSN is taken: the right one is executed after it. */
static void test_partition_of_a_connection(void **state)
{
	static const struct {
		uint16_t pkey;
		bool good;
	} rows[] = {{0xffff, true}, {0x7fff, true}, {0xfffe, false}, {0x8001, false}, {0, false}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct guarded *g = start(&whole);
		struct pair *t = &g->t;
		struct rs_packet *p;

		post(g, RS_WR_WRITE, 64, VA, g->key);
		p = pair_tx(t, 0);
		p->pkey = rows[i].pkey;
		pair_rx(t, 1, p);
		assert_int_equal(rs_nic_get_counters(t->nics[1])->bad_pkey, !rows[i].good);
		if (!rows[i].good) {
			assert_null(pair_tx(t, 1));
			nothing_changed(g);
			pair_expire(t, 0);
		}
		pair_settle(t);
		assert_int_equal(pair_poll(t, 0).status, RS_WC_SUCCESS);
		end(g);
	}
}

/* Two limited members may not talk: a queue pair is a full one. */
static void test_partition_of_a_queue_pair(void **state)
{
	static const uint16_t refused[] = {0x7fff, 0, 0x8000, 1};
	struct pair t;

	pair_begin(&t);
	pair_nics(&t);
	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct rs_qp_attr a = t.attr;

		a.pkey = refused[i];
		assert_int_equal(rs_qp_connect(t.nics[0], t.qps[0], &a, 0), -EINVAL);
	}
	pair_end(&t);
}

/* ---- A stranger's packets to a connected queue pair ---- */

static struct rs_packet *forge(struct guarded *g, unsigned from, uint8_t opcode, uint32_t src)
{
	struct rs_packet *p = rs_pool_alloc(&g->t.lists[from]);

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	p->src = src;
	p->dst = !from;
	p->opcode = opcode;
	p->pkey = 0xffff;
	p->dest_qp = rs_qp_num(g->t.qps[!from]);
	p->psn = g->t.attr.sq_psn;
	p->frame_bytes = rs_frame_bytes(opcode, 0, false);
	return p;
}

static void test_requests_of_a_stranger(void **state)
{
	static const uint8_t ops[] = {RS_OP_SEND_ONLY,    RS_OP_WRITE_ONLY, RS_OP_READ_REQUEST,
				      RS_OP_CMP_SWAP,     RS_OP_FETCH_ADD,  RS_OP_SEND_ONLY_INV,
				      RS_OP_ATOMIC_WRITE, RS_OP_WRITE_FIRST};
	static uint8_t payload[64] = {0xee};

	for (unsigned i = 0; i < sizeof(ops); i++) {
		struct guarded *g = start(&whole);
		struct pair *t = &g->t;
		struct rs_packet *p = forge(g, 0, ops[i], 2);

		pair_receive(t, 64);
		p->va = VA;
		p->rkey = g->key;
		p->dma_bytes = p->payload_bytes = 64;
		p->payload = payload;
		p->bth_flags = RS_BTH_ACKREQ;
		pair_rx(t, 1, p);
		assert_null(pair_tx(t, 1));
		assert_int_equal(rs_qp_get_state(t->qps[1]), RS_QPS_RTS);
		assert_int_equal(rs_nic_get_counters(t->nics[1])->rx_dropped, 1);
		nothing_changed(g);
		/* what the peer itself sends is the next in order */
		post(g, RS_WR_WRITE, 64, VA, g->key);
		pair_settle(t);
		assert_int_equal(pair_poll(t, 0).status, RS_WC_SUCCESS);
		end(g);
	}
}

/* It can neither acknowledge, nor refuse, nor answer, nor slow down what others asked. */
static void test_answers_of_a_stranger(void **state)
{
	static const struct {
		uint8_t opcode, syndrome;
	} rows[] = {
		{RS_OP_ACKNOWLEDGE, RS_SYN_ACK},
		{RS_OP_ACKNOWLEDGE, RS_NAK_PSN_SEQ},
		{RS_OP_ACKNOWLEDGE, RS_NAK_REMOTE_ACCESS},
		{RS_OP_ACKNOWLEDGE, RS_SYN_RNR | 31},
		{RS_OP_READ_RESPONSE_ONLY, RS_SYN_ACK},
		{RS_OP_ATOMIC_ACKNOWLEDGE, RS_SYN_ACK},
		{RS_OPCODE_CNP, 0},
	};
	static uint8_t payload[64] = {0xee};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct guarded *g = start(&whole);
		struct pair *t = &g->t;
		struct rs_packet *p = forge(g, 1, rows[i].opcode, 2), *request;
		struct rs_cqe e;

		post(g, RS_WR_READ, 64, VA, g->key);
		request = pair_tx(t, 0);
		p->aeth = (uint32_t)rows[i].syndrome << 24;
		if (rows[i].opcode == RS_OP_READ_RESPONSE_ONLY) {
			p->payload_bytes = 64;
			p->payload = payload;
		}
		pair_rx(t, 0, p);
		assert_int_equal(rs_cq_poll(t->cqs[0], &e, 1), 0);
		assert_null(pair_tx(t, 0));
		assert_int_equal(test_cc.cnps + test_cc.losses, 0);
		nothing_changed(g);
		pair_rx(t, 1, request);
		pair_settle(t);
		assert_int_equal(pair_poll(t, 0).status, RS_WC_SUCCESS);
		assert_memory_equal(t->memory[0], g->before[1] + AT, 64);
		end(g);
	}
}

/* ---- The peer itself answers what the standard does not know ---- */

static void test_reserved_syndromes_do_nothing(void **state)
{
	/* table 45: kind 2, and NAK codes behind "invalid RD request" */
	static const uint8_t reserved[] = {0x40, 0x5f, 0x64, 0x65, 0x7f};

	for (unsigned i = 0; i < sizeof(reserved); i++) {
		struct guarded *g = start(&whole);
		struct pair *t = &g->t;
		struct rs_packet *p;
		struct rs_cqe e;

		post(g, RS_WR_WRITE, 64, VA, g->key);
		post(g, RS_WR_WRITE, 64, VA, g->key);
		pair_drop(t, 0, pair_tx(t, 0));
		pair_drop(t, 0, pair_tx(t, 0));
		p = forge(g, 1, RS_OP_ACKNOWLEDGE, 1);
		p->psn = rs_psn_add(t->attr.sq_psn, 1);
		p->aeth = (uint32_t)reserved[i] << 24;
		pair_rx(t, 0, p);
		assert_int_equal(rs_cq_poll(t->cqs[0], &e, 1), 0);
		assert_int_equal(rs_nic_get_counters(t->nics[0])->rx_dropped, 1);
		assert_int_equal(rs_qp_get_state(t->qps[0]), RS_QPS_RTS);
		end(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_that_was_not_granted),
		cmocka_unit_test(test_protection_domain),
		cmocka_unit_test(test_one_byte_outside_at_either_end),
		cmocka_unit_test(test_region_that_ends_within_the_word),
		cmocka_unit_test(test_rights_of_region_and_queue_pair),
		cmocka_unit_test(test_no_bytes_need_no_key),
		cmocka_unit_test(test_revoked_between_two_packets),
		cmocka_unit_test(test_revoked_between_two_responses),
		cmocka_unit_test(test_answers_before_the_nak),
		cmocka_unit_test(test_memory_of_a_request),
		cmocka_unit_test(test_memory_of_a_receive),
		cmocka_unit_test(test_response_into_memory_withdrawn_since),
		cmocka_unit_test(test_send_one_byte_longer_than_its_receive),
		cmocka_unit_test(test_partition_of_a_connection),
		cmocka_unit_test(test_partition_of_a_queue_pair),
		cmocka_unit_test(test_requests_of_a_stranger),
		cmocka_unit_test(test_answers_of_a_stranger),
		cmocka_unit_test(test_reserved_syndromes_do_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
