/* A NIC and its windows, without a socket: what goes towards a peer's socket until it answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "live/flow.h"

enum {
	MESSAGE = 1 << 20,
	MESSAGE_PACKETS = MESSAGE / 4096,
	PEER_SLOT = 5,
	ENDPOINT = 3,
	QPS = 2,
	CHARGE = 2 * 4200 + 1024, /* of one packet, at most */
};

static const struct rs_window_to to = {.path = ENDPOINT, .slot = PEER_SLOT};

struct bed {
	struct rs_pool pool;
	struct rs_pool_list free;
	struct rs_nic *nic;
	struct rs_flow flow;
	struct rs_cq *cq;
	struct rs_qp *qp[QPS];
	uint32_t key, last[QPS]; /* the last PSN of each */
	uint32_t question;       /* that goes to the peer */
	unsigned asked;          /* questions, repeated ones, too */
	unsigned copies;         /* of the last */
	bool ack_asked;
	rs_time now;
};

static void begin(struct bed *t, uint8_t transport)
{
	struct rs_nic_config c = {.line_rate = 8000 * RS_GBPS,
				  .max_qps = QPS,
				  .max_mrs = 1,
				  .max_cqs = 1,
				  .first_qpn = 0x10000,
				  .ack_every = 16,
				  .rto_late = RS_MS,
				  .rto_grace = 50 * RS_MS,
				  .qp_counters = true};
	struct rs_qp_init init = {
		.max_send_wr = 4, .max_send_sge = 1, .transport = transport, .sq_sig_all = true};
	struct rs_qp_attr a = {.dest_endpoint = ENDPOINT,
			       .dest_qpn = PEER_SLOT << 16 | 1,
			       .path_mtu = 4096,
			       .pkey = 0xffff,
			       .access = RS_ACCESS_REMOTE_READ,
			       .max_dest_rd_atomic = 4,
			       .timeout = 14};
	struct rs_window_config w = {.max_qps = QPS};

	memset(t, 0, sizeof(*t));
	t->now = RS_S;
	assert_int_equal(rs_pool_init(&t->pool, 4096), 0);
	rs_pool_list_init(&t->free, &t->pool);
	c.free = &t->free;
	assert_int_equal(rs_nic_create(&c, &t->nic, NULL), 0);
	assert_int_equal(rs_flow_init(&t->flow, &w), 0);
	rs_flow_bind(&t->flow, t->nic, c.first_qpn);
	assert_int_equal(rs_nic_create_cq(t->nic, 16, &t->cq), 0);
	init.send_cq = init.recv_cq = t->cq;
	assert_int_equal(rs_nic_reg_mr(t->nic, 0, 0, MESSAGE, RS_ACCESS_REMOTE_READ, NULL, &t->key),
			 0);
	for (unsigned i = 0; i < QPS; i++) {
		assert_int_equal(rs_nic_create_qp(t->nic, &init, &t->qp[i]), 0);
		assert_int_equal(rs_qp_connect(t->nic, t->qp[i], &a, 0), 0);
	}
}

static void end(struct bed *t)
{
	rs_window_check(&t->flow.window);
	for (unsigned i = 0; i < QPS; i++)
		rs_nic_destroy_qp(t->nic, t->qp[i]);
	rs_flow_fini(&t->flow);
	rs_nic_destroy(t->nic);
	rs_pool_fini(&t->pool);
}

static void write_message(struct bed *t, unsigned qp)
{
	struct rs_sge sge = {.va = 0, .length = MESSAGE, .lkey = t->key};
	struct rs_send_wr wr = {.op = RS_WR_WRITE, .n_sge = 1, .sge = &sge};

	assert_int_equal(rs_qp_post_send(t->nic, t->qp[qp], &wr, t->now), 0);
}

static struct rs_packet *from_peer(struct bed *t, uint8_t opcode, unsigned qp)
{
	struct rs_packet *p = rs_pool_alloc(&t->free);

	memset(p, 0, sizeof(*p));
	p->opcode = opcode;
	p->src = ENDPOINT;
	p->dest_qp = rs_qp_num(t->qp[qp]);
	p->pkey = 0xffff;
	return p;
}

/* The peer READs all of the memory. */
static void ask_to_read(struct bed *t)
{
	struct rs_packet *p = from_peer(t, RS_RC | RS_OP_READ_REQUEST, 0);

	p->rkey = t->key;
	p->dma_bytes = MESSAGE;
	rs_flow_rx(&t->flow, p, t->now);
}

static void acknowledge(struct bed *t, unsigned qp)
{
	struct rs_packet *p = from_peer(t, RS_RC | RS_OP_ACKNOWLEDGE, qp);

	p->psn = t->last[qp];
	p->aeth = (uint32_t)RS_CREDIT_INVALID << 24;
	rs_flow_rx(&t->flow, p, t->now);
}

static void ask(struct bed *t)
{
	struct rs_window_question q;

	while (rs_window_ask(&t->flow.window, t->now, &q)) {
		assert_int_equal(q.to.slot, PEER_SLOT);
		t->question = q.number;
		t->asked++;
		t->copies = q.copies;
	}
}

/* All that goes now, each packet a send of its own. */
static unsigned let_go(struct bed *t)
{
	rs_time again = 0;
	unsigned n = 0;

	while (again != RS_NEVER) {
		struct rs_packet *p = rs_nic_tx(t->nic, 0, t->now, &again);

		t->now = rs_time_max(t->now, again == RS_NEVER ? t->now : again);
		if (!p)
			continue;
		again = 0;
		rs_flow_before(&t->flow, p, &to, t->now);
		rs_flow_sent(&t->flow, p, true, t->now);
		t->last[p->src_qp != rs_qp_num(t->qp[0])] = p->psn;
		t->ack_asked = p->bth_flags & RS_BTH_ACKREQ;
		rs_pool_free(&t->free, p);
		n++;
	}
	ask(t);
	return n;
}

static struct rs_window_peer *peer(struct bed *t)
{
	return rs_window_find(&t->flow.window, &to);
}

static void pass(struct bed *t, rs_time time)
{
	t->now += time;
	rs_window_look(&t->flow.window, t->now);
	rs_flow_expire(&t->flow, t->now);
	ask(t);
}

/* For a process that runs all the time. */
static void run_for(struct bed *t, rs_time time)
{
	for (rs_time end = t->now + time; t->now < end;)
		pass(t, 5 * RS_MS);
}

static void test_queue_pairs_share_what_their_peers_socket_holds(void **state)
{
	struct bed t;
	uint64_t unknown = rs_window_defaults.unknown_bytes;
	unsigned n;

	begin(&t, RS_RC);
	for (unsigned i = 0; i < QPS; i++) {
		write_message(&t, i);
		rs_flow_join(&t.flow, t.qp[i], &to, false);
	}
	n = let_go(&t);
	assert_true(n > 16 && n < 2 * MESSAGE_PACKETS); /* not all of it */
	assert_true(t.ack_asked);                       /* the ACK that opens the window again */
	assert_true(peer(&t)->closed);
	assert_in_range(peer(&t)->charged, unknown, unknown + CHARGE);
	acknowledge(&t, 0);
	acknowledge(&t, 1);
	assert_false(peer(&t)->closed);
	assert_int_equal(peer(&t)->charged, 0);
	assert_in_range(let_go(&t), n - 2, n + 2); /* as much once more */
	rs_flow_answered(&t.flow, &to, t.question, 8 << 20, true);
	assert_false(peer(&t)->closed);
	assert_in_range(2 * n + let_go(&t), 2 * MESSAGE_PACKETS - 2, 2 * MESSAGE_PACKETS + 2);
	end(&t);
}

/* To the next question, which is answered: a message goes meanwhile, without a window. */
static void hear_of_it(struct bed *t, uint64_t window)
{
	pass(t, 2 * RS_S);
	assert_int_equal(let_go(t), MESSAGE_PACKETS);
	rs_flow_answered(&t->flow, &to, t->question, window, true);
}

/* Of a peer that grants so much and answers each question: the packets between two answers. */
static void assert_goes_in_windows(struct bed *t, uint64_t window)
{
	unsigned sent = 0, rounds = 0;

	for (; sent < MESSAGE_PACKETS && rounds < MESSAGE_PACKETS; rounds++) {
		sent += let_go(t);
		assert_true(peer(t)->charged <= window + CHARGE);
		assert_true(peer(t)->question != 0 || sent == MESSAGE_PACKETS);
		rs_flow_answered(&t->flow, &to, t->question + 1, window, true); /* never asked */
		assert_true(!peer(t)->loose.closed || let_go(t) == 0);
		rs_flow_answered(&t->flow, &to, t->question, window, true);
	}
	assert_int_equal(sent, MESSAGE_PACKETS);
	assert_in_range(rounds, MESSAGE / window, 8 * MESSAGE / window); /* twice: the charge */
	assert_false(peer(t)->loose.closed);
}

static void test_unreliable_packets_wait_for_the_peers_answers(void **state)
{
	struct bed t;
	unsigned first;

	begin(&t, RS_UC);
	write_message(&t, 0);
	first = let_go(&t); /* the window of the unknown */
	assert_in_range(first, 16, MESSAGE_PACKETS / 2);
	assert_true(peer(&t)->loose.closed);
	pass(&t, 50 * RS_MS); /* this process did not run, nor may its peer have */
	assert_int_equal(let_go(&t), 0);
	run_for(&t, 100 * RS_MS); /* it never answers: no Ripstop, and no window */
	assert_int_equal(first + let_go(&t), MESSAGE_PACKETS);
	assert_int_equal(peer(&t)->charged, 0);
	write_message(&t, 0);
	hear_of_it(&t, 256 << 10);
	write_message(&t, 0);
	assert_goes_in_windows(&t, 256 << 10);
	end(&t);
}

static void test_read_responses_wait_for_the_peers_answers(void **state)
{
	struct bed t;
	unsigned first;

	begin(&t, RS_RC);
	ask_to_read(&t);
	first = let_go(&t);
	assert_in_range(first, 16, MESSAGE_PACKETS / 2);
	assert_true(peer(&t)->loose.closed);
	run_for(&t, 100 * RS_MS);
	assert_int_equal(first + let_go(&t), MESSAGE_PACKETS);
	ask_to_read(&t); /* a duplicate is answered again, whole */
	hear_of_it(&t, 256 << 10);
	ask_to_read(&t);
	assert_goes_in_windows(&t, 256 << 10);
	end(&t);
}

/* All that was asked to be READ, each question answered. */
static void read_all(struct bed *t, uint64_t window)
{
	for (unsigned sent = 0; sent < MESSAGE_PACKETS;) {
		unsigned n = let_go(t);

		assert_true(n > 0);
		sent += n;
		rs_flow_answered(&t->flow, &to, t->question, window, true);
	}
}

/* A READ that is asked for again tells of a loss, as a NAK does; an answer soon after says nothing
 * against it. */
static void test_reads_that_are_asked_for_again_narrow_the_window(void **state)
{
	struct bed t;

	begin(&t, RS_RC);
	ask_to_read(&t);
	read_all(&t, 512 << 10);
	assert_int_equal(t.copies, 1);
	assert_int_equal(peer(&t)->window, 512 << 10);
	ask_to_read(&t);
	assert_int_equal(peer(&t)->window, 256 << 10);
	ask_to_read(&t); /* the same loss: nothing was sent since */
	assert_int_equal(peer(&t)->window, 256 << 10);
	read_all(&t, 512 << 10);
	assert_int_equal(peer(&t)->window, 256 << 10);
	assert_int_equal(t.copies, 2); /* one may be lost, too */
	for (unsigned i = 0; i < 8; i++) {
		ask_to_read(&t);
		read_all(&t, 512 << 10);
	}
	assert_int_equal(peer(&t)->window, rs_window_defaults.least_bytes);
	ask_to_read(&t);
	pass(&t, 2 * RS_S);
	read_all(&t, 512 << 10);
	assert_int_equal(peer(&t)->window, 512 << 10);
	end(&t);
}

/* A forged answer may take the right away, and not give it. Nor does it hold for who is silent:
 * another process may have its place. */
static void test_fillers_go_to_who_answered_that_it_drops_them(void **state)
{
	const struct rs_window *w;
	struct bed t;

	begin(&t, RS_RC);
	w = &t.flow.window;
	write_message(&t, 0);
	let_go(&t);
	assert_false(rs_window_fills(w, 0));
	rs_flow_drops_fillers(&t.flow, &to, t.question + 1, true);
	rs_flow_drops_fillers(&t.flow, &to, 0, true);
	assert_false(rs_window_fills(w, 0));
	rs_flow_drops_fillers(&t.flow, &to, t.question, true);
	rs_flow_answered(&t.flow, &to, t.question, 8 << 20, true);
	assert_true(rs_window_fills(w, 0));
	assert_false(rs_window_fills(w, 1)); /* which sends to nobody */
	rs_window_timeout(&t.flow.window, 0);
	assert_false(rs_window_fills(w, 0));
	acknowledge(&t, 0);
	assert_true(rs_window_fills(w, 0));
	rs_flow_drops_fillers(&t.flow, &to, 0, false);
	assert_false(rs_window_fills(w, 0));
	end(&t);
}

/* An answer that takes longer than a question waits is an answer to it all the same. */
static void test_a_long_way_is_not_silence(void **state)
{
	struct bed t;
	uint32_t first;
	unsigned n, asked;

	begin(&t, RS_UC);
	write_message(&t, 0);
	n = let_go(&t);
	rs_flow_answered(&t.flow, &to, t.question, 128 << 10, true);
	n += let_go(&t);
	pass(&t, RS_MS);
	first = t.question;
	asked = t.asked;
	for (unsigned i = 0; i < 4; i++)
		pass(&t, 12 * RS_MS); /* asked again, and again */
	assert_true(t.asked >= asked + 3);
	assert_int_equal(t.question, first);
	assert_true(peer(&t)->loose.closed);
	assert_int_equal(let_go(&t), 0);
	rs_flow_answered(&t.flow, &to, first, 128 << 10, true);
	assert_false(peer(&t)->loose.closed);
	assert_true(let_go(&t) > 0);
	end(&t);
}

static void test_a_silent_peer_is_given_up(void **state)
{
	struct bed t;
	unsigned n;

	begin(&t, RS_UC);
	write_message(&t, 0);
	n = let_go(&t);
	rs_flow_answered(&t.flow, &to, t.question, 128 << 10, true);
	n += let_go(&t);
	pass(&t, 15 * RS_MS);
	pass(&t, 15 * RS_MS);
	assert_int_equal(let_go(&t), 0);
	pass(&t, 300 * RS_MS);
	assert_int_equal(let_go(&t), 0);
	run_for(&t, 300 * RS_MS);
	assert_int_equal(n + let_go(&t), MESSAGE_PACKETS);
	end(&t);
}

static uint64_t timeouts(const struct bed *t)
{
	return rs_nic_get_counters(t->nic)->local_ack_timeout_err;
}

/* A process that did not run reads what came first; one that ran has waited long enough. */
static void test_a_timeout_found_late_is_put_off_once(void **state)
{
	struct bed t;

	begin(&t, RS_RC);
	write_message(&t, 0);
	let_go(&t);
	t.now = rs_nic_deadline(t.nic) + 400 * RS_MS;
	rs_flow_expire(&t.flow, t.now);
	assert_int_equal(timeouts(&t), 0);
	assert_true(rs_flow_deadline(&t.flow) <= t.now + 50 * RS_MS);
	t.now += 40 * RS_MS;
	rs_flow_expire(&t.flow, t.now);
	assert_int_equal(timeouts(&t), 0);
	t.now += 15 * RS_MS; /* late again, but it ran meanwhile */
	rs_flow_expire(&t.flow, t.now);
	assert_int_equal(timeouts(&t), 1);
	end(&t);
	begin(&t, RS_RC);
	write_message(&t, 0);
	let_go(&t);
	t.now = rs_nic_deadline(t.nic); /* in time */
	rs_flow_expire(&t.flow, t.now);
	assert_int_equal(timeouts(&t), 1);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue_pairs_share_what_their_peers_socket_holds),
		cmocka_unit_test(test_unreliable_packets_wait_for_the_peers_answers),
		cmocka_unit_test(test_read_responses_wait_for_the_peers_answers),
		cmocka_unit_test(test_reads_that_are_asked_for_again_narrow_the_window),
		cmocka_unit_test(test_fillers_go_to_who_answered_that_it_drops_them),
		cmocka_unit_test(test_a_long_way_is_not_silence),
		cmocka_unit_test(test_a_silent_peer_is_given_up),
		cmocka_unit_test(test_a_timeout_found_late_is_put_off_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
