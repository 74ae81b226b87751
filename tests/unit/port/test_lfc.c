/* Link-level flow control of a port (port/lfc.h, port/buffer.h) against slow twins: what a log of
 * frames says of a class at any time, and two ports that face each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/random.h"
#include "port/buffer.h"

enum { RATE = 100, EVENTS = 400, ROUNDS = 300 };

/* ---- The twin of an egress ---- */

struct twin {
	bool on;
	rs_time since, until;
	rs_time held; /* by pauses that are over */
};

static void twin_pass(struct twin *w, rs_time now)
{
	if (w->on && w->until <= now) {
		w->held += w->until > w->since ? w->until - w->since : 0;
		w->on = false;
	}
}

static void twin_hear(struct twin *w, rs_time until, rs_time response, rs_time now)
{
	twin_pass(w, now);
	if (until <= now) {
		w->held += w->on && now > w->since ? now - w->since : 0;
		w->on = false;
	} else if (w->on) {
		w->until = until;
	} else {
		*w = (struct twin){true, now + response, until, w->held};
	}
}

static bool twin_holds(const struct twin *w, rs_time now)
{
	return w->on && w->since <= now && now < w->until;
}

struct egress {
	struct rs_lfc_conf conf;
	struct rs_lfc l;
	struct rs_lfc_times t;
	struct twin twin[RS_CLASSES];
	rs_time held[RS_CLASSES];
	rs_time now;
};

static void count(struct egress *g, uint8_t again)
{
	for (unsigned m = again; m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);

		assert_true(g->conf.classes >> c & 1);
		assert_false(g->l.paused.now >> c & 1);
		g->held[c] += g->now - g->t.pause[c].since;
	}
}

static void pass_to(struct egress *g, rs_time when)
{
	rs_time due;

	while ((due = rs_lfc_deadline(&g->l, &g->t)) <= when) {
		assert_true(due >= g->now);
		g->now = due;
		count(g, rs_lfc_expire(&g->l, &g->t, g->now));
		assert_true(rs_lfc_deadline(&g->l, &g->t) > g->now);
	}
	g->now = when;
	for (unsigned c = 0; c < RS_CLASSES; c++)
		twin_pass(&g->twin[c], when);
}

static void hear(struct egress *g, const struct rs_packet *p)
{
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		rs_time until = !p->pfc_quanta[c] ? g->now
				: g->conf.holds
					? RS_NEVER
					: g->now + rs_quanta_time(g->t.pace, p->pfc_quanta[c]);

		if (p->pfc_enable & g->conf.classes & 1u << c)
			twin_hear(&g->twin[c], until, g->t.response, g->now);
	}
	count(g, rs_lfc_heard(&g->conf, &g->l, &g->t, p, g->now));
}

static void check_egress(const struct egress *g)
{
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		const struct twin *w = &g->twin[c];
		rs_time lasts = twin_holds(w, g->now) ? g->now - w->since : 0;

		assert_int_equal(g->l.paused.now >> c & 1, twin_holds(w, g->now));
		assert_int_equal(rs_lfc_lasts(&g->l, &g->t, c, g->now), lasts);
		assert_int_equal(g->held[c], w->held);
	}
}

static void test_egress_is_held_as_a_log_of_frames_says(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 1);
		struct egress g = {.conf = {.classes = (uint8_t)rs_random_u64(&r),
					    .holds = rs_random_below(&r, 4) == 0}};

		rs_lfc_init(&g.l, &g.t, RATE * RS_GBPS,
			    rs_random_below(&r, 2) ? rs_random_below(&r, 2000) * RS_NS : 0);
		for (int i = 0; i < EVENTS; i++) {
			struct rs_packet p = {.kind = RS_KIND_PFC,
					      .pfc_enable = (uint8_t)rs_random_u64(&r)};

			for (unsigned c = 0; c < RS_CLASSES; c++)
				p.pfc_quanta[c] = (uint16_t)(rs_random_below(&r, 3)
								     ? rs_random_below(&r, 1000)
								     : 0);
			pass_to(&g, g.now + rs_random_below(&r, 3000) * RS_NS);
			hear(&g, &p);
			check_egress(&g);
		}
	}
}

static void test_rebase_changes_no_pause(void **state)
{
	const rs_time by = 5 * RS_MS;

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 2);
		struct egress g = {.conf = {.classes = 0xff}, .now = by}, h;
		struct rs_packet p = {.kind = RS_KIND_PFC,
				      .pfc_enable = (uint8_t)rs_random_u64(&r)};

		rs_lfc_init(&g.l, &g.t, RATE * RS_GBPS, rs_random_below(&r, 900) * RS_NS);
		for (unsigned c = 0; c < RS_CLASSES; c++)
			p.pfc_quanta[c] = (uint16_t)rs_random_below(&r, 1000);
		hear(&g, &p);
		pass_to(&g, by + rs_random_below(&r, 2000) * RS_NS);
		h = g;
		rs_lfc_rebase(&h.l, &h.t, by);
		h.now -= by;
		for (int i = 0; i < 50; i++) {
			rs_time due = rs_lfc_deadline(&g.l, &g.t);

			assert_int_equal(rs_lfc_deadline(&h.l, &h.t),
					 due == RS_NEVER ? RS_NEVER : due - by);
			if (due == RS_NEVER)
				break;
			g.now = due;
			h.now = due - by;
			count(&g, rs_lfc_expire(&g.l, &g.t, g.now));
			count(&h, rs_lfc_expire(&h.l, &h.t, h.now));
			assert_memory_equal(&g.l, &h.l, sizeof(g.l));
			assert_memory_equal(g.held, h.held, sizeof(g.held));
		}
	}
}

/* ---- Two ports ---- */

/* An ingress asks, its frames go to the egress at the far end: who is asked to stop is held,
 * without a gap, until asked to go on, however long that is against the quanta. */
static void test_asked_to_stop_is_held_until_asked_to_go_on(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 3);
		bool holds = rs_random_below(&r, 4) == 0;
		struct rs_lfc_conf conf = {.classes = 0xff,
					   .holds = holds,
					   .quanta = (uint16_t)(10 + rs_random_below(&r, 1000)),
					   .frame_bytes = 64};
		struct egress g = {.conf = conf};
		struct rs_lfc in;
		struct rs_lfc_times times;

		rs_lfc_init(&in, &times, RATE * RS_GBPS, 0);
		rs_lfc_init(&g.l, &g.t, RATE * RS_GBPS, 0);
		for (int i = 0; i < EVENTS; i++) {
			rs_time next = g.now + rs_random_below(&r, 20000) * RS_NS;
			uint8_t c = (uint8_t)(1u << rs_random_below(&r, RS_CLASSES));

			while (in.due || rs_lfc_deadline(&in, &times) <= next) {
				rs_time when = in.due ? g.now : rs_lfc_deadline(&in, &times);
				struct rs_packet p;

				pass_to(&g, when);
				rs_lfc_expire(&in, &times, when);
				assert_true(in.due);
				rs_lfc_frame(&conf, &in, &times, &p, when);
				assert_int_equal(p.frame_bytes, 64);
				assert_int_equal(in.due, 0);
				hear(&g, &p);
				assert_int_equal(g.l.paused.now, in.pausing);
			}
			pass_to(&g, next);
			assert_int_equal(g.l.paused.now, in.pausing);
			if (in.pausing & c)
				rs_lfc_xon(&in, c);
			else
				rs_lfc_xoff(&in, c);
			assert_int_equal(in.due, c);
		}
	}
}

static void test_a_watchdog_breaks_one_class(void **state)
{
	struct egress g = {.conf = {.classes = 0xff, .holds = true}};
	struct rs_packet p = {
		.kind = RS_KIND_PFC, .pfc_enable = 0x0c, .pfc_quanta = {[2] = 1, [3] = 1}};

	rs_lfc_init(&g.l, &g.t, RATE * RS_GBPS, 0);
	rs_lfc_heard(&g.conf, &g.l, &g.t, &p, 0);
	rs_lfc_break(&g.l, 3);
	assert_int_equal(g.l.paused.now, 0x04);
	assert_int_equal(rs_lfc_deadline(&g.l, &g.t), RS_NEVER);
}

/* ---- The receive buffer ---- */

static void test_buffer_asks_above_xoff_and_leaves_headroom_to_lossless_classes(void **state)
{
	struct rs_port_buffer b = {.size = 10000, .lossy = 6000, .xoff = 6000, .xon = 4000};
	struct rs_lfc l = {.due = 0};

	b.used = 6000;
	rs_port_buffer_changed(&b, &l, 1 << 3);
	assert_int_equal(l.due, 0);
	assert_true(rs_port_buffer_fits(&b, true, 4000));
	assert_false(rs_port_buffer_fits(&b, true, 4001));
	assert_false(rs_port_buffer_fits(&b, false, 1));
	b.used = 6001;
	rs_port_buffer_changed(&b, &l, 0); /* of a lossy class: nobody is asked */
	assert_int_equal(l.pausing | l.due, 0);
	rs_port_buffer_changed(&b, &l, 1 << 3);
	rs_port_buffer_changed(&b, &l, 1 << 5);
	assert_int_equal(l.pausing, 1 << 3 | 1 << 5);
	assert_int_equal(l.due, 1 << 3 | 1 << 5);
	l.due = 0; /* the frame went */
	rs_port_buffer_changed(&b, &l, 1 << 3);
	assert_int_equal(l.due, 0);
	b.used = 4001;
	rs_port_buffer_changed(&b, &l, 1 << 3);
	assert_int_equal(l.due, 0);
	b.used = 4000;
	rs_port_buffer_changed(&b, &l, 1 << 3);
	assert_int_equal(l.pausing, 0);
	assert_int_equal(l.due, 1 << 3 | 1 << 5);
}

static void test_buffer_without_end_asks_nobody(void **state)
{
	struct rs_port_buffer b = {.size = UINT64_MAX,
				   .lossy = UINT64_MAX,
				   .xoff = UINT64_MAX,
				   .xon = UINT64_MAX / 3 * 2};
	struct rs_lfc l = {.due = 0};

	b.used = UINT64_C(1) << 50;
	rs_port_buffer_changed(&b, &l, 0xff);
	assert_int_equal(l.due | l.pausing, 0);
	assert_true(rs_port_buffer_fits(&b, false, 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_egress_is_held_as_a_log_of_frames_says),
		cmocka_unit_test(test_rebase_changes_no_pause),
		cmocka_unit_test(test_asked_to_stop_is_held_until_asked_to_go_on),
		cmocka_unit_test(test_a_watchdog_breaks_one_class),
		cmocka_unit_test(
			test_buffer_asks_above_xoff_and_leaves_headroom_to_lossless_classes),
		cmocka_unit_test(test_buffer_without_end_asks_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
