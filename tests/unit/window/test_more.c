/* Packets that go in one go fill a window as they do one by one: it closes behind the same one, and
 * ACKs are asked for from the same one on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/random.h"
#include "window/window.h"

enum { QPS = 3, CASES = 20000, UNACKED_MAX = 1 << 20 };

static const struct rs_window_to to = {.path = 1, .slot = 5};
static struct rs_window twin[2]; /* one by one; in one go */

static struct rs_packet middle(uint8_t opcode, uint16_t frame)
{
	return (struct rs_packet){.opcode = RS_RC | opcode,
				  .dest_qp = 5 << 16 | 7,
				  .frame_bytes = frame,
				  .payload_bytes = 1024};
}

/* Orders are obeyed, and those of counts answered by what there is. */
static void obey(struct rs_window *w)
{
	struct rs_window_order o;

	while (rs_window_next(w, &o))
		if (o.count)
			rs_window_counted(w, o.qp, w->qp[o.qp].bytes);
}

static bool closed(struct rs_window *w, const struct rs_packet *p)
{
	const struct rs_window_peer *peer = rs_window_find(w, &to);

	return rs_window_kind(p) == RS_WINDOW_LOOSE ? peer->loose.closed : peer->closed;
}

/* One by one until the window closes, as a queue pair that is held sends no more: so many went, and
 * from number *ask on they asked for an ACK. */
static uint32_t send_singly(struct rs_window *w, uint32_t qp, const struct rs_packet *p, uint32_t n,
			    uint32_t *ask, rs_time now)
{
	uint32_t i;

	*ask = UINT32_MAX;
	for (i = 0; i < n && !closed(w, p); i++) {
		if (rs_window_before(w, qp, &to, p, now) && *ask == UINT32_MAX)
			*ask = i;
		rs_window_sent(w, qp, p, false, now);
		obey(w);
	}
	return i;
}

static void check_same(void)
{
	const struct rs_window_peer *a = rs_window_find(&twin[0], &to);
	const struct rs_window_peer *b = rs_window_find(&twin[1], &to);

	assert_int_equal(a->charged, b->charged);
	assert_int_equal(a->closed, b->closed);
	assert_int_equal(a->loose.sent, b->loose.sent);
	assert_int_equal(a->loose.closed, b->loose.closed);
	assert_int_equal(a->due, b->due);
	for (unsigned i = 0; i < QPS; i++) {
		assert_int_equal(twin[0].qp[i].bytes, twin[1].qp[i].bytes);
		assert_int_equal(twin[0].qp[i].charged, twin[1].qp[i].charged);
		assert_int_equal(twin[0].qp[i].held, twin[1].qp[i].held);
	}
	rs_window_check(&twin[0]);
	rs_window_check(&twin[1]);
}

/* What both are told alike. */
static void tell(struct rs_window *w, uint64_t what, uint32_t qp, uint64_t bytes, rs_time now)
{
	struct rs_packet loose = middle(RS_OP_READ_RESPONSE_MIDDLE, 1100);
	struct rs_window_question q;

	if (what < 4) {
		rs_window_acked(w, qp, bytes % (w->qp[qp].bytes + 1), what == 0 && bytes % 8 == 0);
	} else if (what == 4) {
		rs_window_before(w, qp, &to, &loose, now);
		rs_window_sent(w, qp, &loose, bytes % 2, now);
	} else {
		rs_window_want(w, rs_window_find(w, &to));
		while (rs_window_ask(w, now, &q))
			rs_window_answered(w, &q.to, q.number, 64 << 10 | bytes, bytes % 4);
	}
	obey(w);
}

static void test_window_closes_behind_the_same_packet(void **state)
{
	struct rs_window_config c = {.max_qps = QPS};
	struct rs_random r = rs_random_stream(2, 3, 4);
	unsigned cut = 0, cut_loose = 0, asked = 0;
	rs_time now = RS_S;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rs_window_init(&twin[i], &c), 0);
		for (uint32_t qp = 0; qp < QPS; qp++)
			rs_window_join(&twin[i], qp, &to, false);
	}
	for (unsigned i = 0; i < CASES; i++) {
		uint32_t qp = rs_random_below(&r, QPS), n = 1 + rs_random_below(&r, 64);
		uint64_t what = rs_random_below(&r, 6), bytes = rs_random_below(&r, UNACKED_MAX);
		bool loose = rs_random_below(&r, 4) == 0;
		struct rs_packet p = middle(loose ? RS_OP_READ_RESPONSE_MIDDLE : RS_OP_WRITE_MIDDLE,
					    rs_random_below(&r, 2) ? 1098 : 4170);
		uint32_t ask, singly, may, ask_more = 0;

		now += RS_MS;
		singly = send_singly(&twin[0], qp, &p, n, &ask, now);
		rs_window_before(&twin[1], qp, &to, &p, now);
		may = rs_window_before_more(&twin[1], qp, &p, n, &ask_more);
		assert_int_equal(may, singly);
		if (may) {
			assert_int_equal(ask_more < may ? ask_more : UINT32_MAX, ask);
			rs_window_sent_more(&twin[1], qp, &p, may, now);
			obey(&twin[1]);
		}
		cut += may && may < n;
		cut_loose += loose && may && may < n;
		asked += may && ask && ask < may;
		check_same();
		for (unsigned k = 0; k < 2; k++)
			tell(&twin[k], what, qp, bytes, now);
		check_same();
	}
	assert_true(cut > CASES / 20 && cut_loose > CASES / 100 && asked > CASES / 100);
	rs_window_fini(&twin[0]);
	rs_window_fini(&twin[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_closes_behind_the_same_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
