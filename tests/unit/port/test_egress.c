/* A NIC's way out, where packets wait for their payload (port/egress.h): who goes first, against a
 * slow twin, and how classes share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/random.h"
#include "port/egress.h"
#include "wire/pool.h"

enum { PACKETS = 4096, WORLDS = 200, STEPS = 600 };

struct bed {
	struct rs_pool pool;
	struct rs_pool_list list;
	struct rs_egress g;
};

static const uint8_t even[RS_CLASSES] = {1, 1, 1, 1, 1, 1, 0, 1};

static void make(struct bed *b, const uint8_t weight[RS_CLASSES])
{
	assert_int_equal(rs_pool_init(&b->pool, PACKETS), 0);
	rs_pool_list_init(&b->list, &b->pool);
	rs_egress_init(&b->g, b->pool.base, weight);
}

static struct rs_packet *packet(struct bed *b, uint8_t opcode, uint16_t payload, uint32_t number)
{
	struct rs_packet *p = rs_pool_alloc(&b->list);

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	p->opcode = opcode;
	p->payload_bytes = payload;
	p->frame_bytes = (uint16_t)(payload + 64);
	p->number = number;
	return p;
}

static uint32_t take(struct bed *b, uint8_t held, rs_time now)
{
	rs_time again = RS_NEVER;
	unsigned ready = rs_egress_ready(&b->g, held, now, &again);
	struct rs_packet *p;
	uint32_t number;

	if (!ready)
		return UINT32_MAX;
	p = rs_egress_take(&b->g, ready);
	number = p->number;
	rs_pool_free(&b->list, p);
	return number;
}

static void test_an_ack_goes_before_data_but_not_before_a_read_response(void **state)
{
	struct bed b;

	make(&b, even);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_WRITE_ONLY, 1000, 1), 500);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_ACKNOWLEDGE, 0, 2), 0);
	assert_int_equal(take(&b, 0, 0), 2);
	assert_int_equal(take(&b, 0, 499), UINT32_MAX);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_READ_RESPONSE_ONLY, 1000, 3), 400);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_ACKNOWLEDGE, 0, 4), 0);
	rs_egress_put(&b.g, 3, packet(&b, RS_OPCODE_CNP, 0, 5), 0);
	assert_int_equal(take(&b, 0, 0), 5);
	assert_int_equal(take(&b, 0, 500), 1);
	assert_int_equal(take(&b, 0, 500), 3);
	assert_int_equal(take(&b, 0, 500), 4);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_WRITE_ONLY, 1000, 6), 900);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_ACKNOWLEDGE, 0, 7), 0);
	assert_int_equal(take(&b, 0, 500), 7); /* the responses are gone */
	rs_pool_fini(&b.pool);
}

static void test_a_class_that_waits_or_is_held_holds_no_other(void **state)
{
	struct bed b;
	rs_time again = RS_NEVER;

	make(&b, even);
	rs_egress_put(&b.g, 1, packet(&b, RS_OP_WRITE_ONLY, 100, 1), 900);
	rs_egress_put(&b.g, 2, packet(&b, RS_OP_WRITE_ONLY, 100, 2), 700);
	rs_egress_put(&b.g, 3, packet(&b, RS_OP_WRITE_ONLY, 100, 3), 10);
	assert_int_equal(rs_egress_ready(&b.g, 1 << 3, 20, &again), 0);
	assert_int_equal(again, 700);
	assert_int_equal(rs_egress_bytes(&b.g, 1 << 3), 200);
	assert_int_equal(take(&b, 0, 20), 3);
	assert_int_equal(take(&b, 1 << 2, 900), 1);
	assert_int_equal(take(&b, 0, 900), 2);
	rs_pool_fini(&b.pool);
}

static void test_packets_of_another_transport_wait_for_payload_alone(void **state)
{
	struct bed b;
	struct rs_packet *p;

	make(&b, even);
	rs_egress_put(&b.g, 0, packet(&b, 0, 1000, 1), 50);
	p = packet(&b, RS_OP_READ_RESPONSE_ONLY, 0, 2); /* its opcode means something else */
	p->kind = RS_KIND_OTHER;
	rs_egress_put(&b.g, 0, p, 0);
	assert_int_equal(take(&b, 0, 0), 2);
	assert_int_equal(take(&b, 0, 50), 1);
	rs_pool_fini(&b.pool);
}

/* All classes always have packets: bytes that left are in proportion to weights. */
static void test_classes_share_by_weight(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {1, 2, 5, 3, 1, 1, 4, 1};
	uint64_t sent[RS_CLASSES] = {0};
	struct bed b;

	make(&b, weight);
	for (unsigned c = 0; c < RS_CLASSES; c++)
		for (unsigned i = 0; i < 4; i++)
			rs_egress_put(&b.g, c,
				      packet(&b, RS_OP_WRITE_ONLY, (uint16_t)(500 * (c + 1)), c),
				      0);
	for (unsigned i = 0; i < 40000; i++) {
		uint32_t c = take(&b, 0, 0);

		sent[c] += 500 * (c + 1) + 64;
		rs_egress_put(&b.g, c, packet(&b, RS_OP_WRITE_ONLY, (uint16_t)(500 * (c + 1)), c),
			      0);
	}
	for (unsigned c = 1; c < RS_CLASSES; c++) {
		uint64_t slack = 2 * (4096 + 5 * RS_ETS_QUANTUM) * 6;

		assert_in_range(sent[c] * weight[0] + slack - sent[0] * weight[c], 0, 2 * slack);
	}
	rs_pool_fini(&b.pool);
}

static void test_a_class_is_full_at_its_part_and_a_packet(void **state)
{
	static const uint8_t weight[RS_CLASSES] = {1, 3, 0, 0, 0, 0, 0, 0};
	struct rs_pace pace = rs_pace_of(100 * RS_GBPS); /* 80 ps a byte */
	struct bed b;

	make(&b, weight);
	rs_egress_put(&b.g, 0, packet(&b, RS_OP_WRITE_ONLY, 3000, 0), 0);
	rs_egress_put(&b.g, 1, packet(&b, RS_OP_WRITE_ONLY, 3000, 1), 0);
	assert_int_equal(rs_egress_sharing(&b.g, 0), 3);
	assert_int_equal(rs_egress_sharing(&b.g, 2), 1);
	/* of 8000 bytes' time 2000 and 6000, and 1000 more */
	assert_int_equal(rs_egress_full(&b.g, 3, 8000 * 80, pace, 1000), 1);
	assert_int_equal(rs_egress_full(&b.g, 3, 8004 * 80, pace, 1000), 0);
	rs_egress_put(&b.g, 1, packet(&b, RS_OP_WRITE_ONLY, 4000, 1), 0);
	assert_int_equal(rs_egress_full(&b.g, 3, 8000 * 80, pace, 1000), 3);
	rs_pool_fini(&b.pool);
}

/* ---- The twin: a list of all that is in there ---- */

struct entry {
	uint32_t number;
	uint8_t class;
	bool express, answer;
	uint16_t payload;
	rs_time when;
};

struct twin {
	struct entry e[PACKETS];
	uint32_t n;
};

static bool answers(const struct twin *t, unsigned c)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->e[i].class == c && t->e[i].answer)
			return true;
	return false;
}

/* The one of its class that goes first; -1: none. */
static int first_of(const struct twin *t, unsigned c)
{
	int at = -1;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->e[i].class == c && (at < 0 || (t->e[i].express && !t->e[at].express)))
			at = (int)i;
	return at;
}

/* Its payload is not there before that of any staged before it. */
static rs_time there(const struct twin *t, uint32_t at)
{
	rs_time when = t->e[at].when;

	for (uint32_t i = 0; i < at; i++)
		if (t->e[i].class == t->e[at].class && !t->e[i].express)
			when = rs_time_max(when, t->e[i].when);
	return t->e[at].express ? 0 : when;
}

static void random_put(struct bed *b, struct twin *t, struct rs_random *r, uint32_t number,
		       rs_time now)
{
	static const uint8_t opcodes[] = {RS_OP_WRITE_ONLY, RS_OP_ACKNOWLEDGE, RS_OPCODE_CNP,
					  RS_OP_READ_RESPONSE_ONLY};
	uint8_t opcode = opcodes[rs_random_below(r, 4)];
	bool bare = opcode == RS_OP_ACKNOWLEDGE || opcode == RS_OPCODE_CNP;
	struct entry e = {.number = number,
			  .class = (uint8_t)rs_random_below(r, RS_CLASSES),
			  .answer = opcode == RS_OP_READ_RESPONSE_ONLY,
			  .payload = bare ? 0 : (uint16_t)rs_random_below(r, 4096)};

	e.express =
		opcode == RS_OPCODE_CNP || (opcode == RS_OP_ACKNOWLEDGE && !answers(t, e.class));
	e.when = e.payload ? now + rs_random_below(r, 3000) : now;
	rs_egress_put(&b->g, e.class, packet(b, opcode, e.payload, number), e.when);
	/* what left before may have had a later payload: it counts on */
	if (!e.express)
		e.when = b->g.class[e.class].last;
	t->e[t->n++] = e;
}

static void random_take(struct bed *b, struct twin *t, struct rs_random *r, rs_time now)
{
	uint8_t held = (uint8_t)(rs_random_u64(r) & rs_random_u64(r));
	rs_time again = RS_NEVER, expected = RS_NEVER;
	unsigned ready = rs_egress_ready(&b->g, held, now, &again), should = 0;
	uint32_t number;

	for (unsigned c = 0; c < RS_CLASSES; c++) {
		int at = held >> c & 1 ? -1 : first_of(t, c);

		if (at >= 0 && there(t, (uint32_t)at) <= now)
			should |= 1u << c;
		else if (at >= 0)
			expected = rs_time_min(expected, there(t, (uint32_t)at));
	}
	assert_int_equal(ready, should);
	assert_int_equal(again, expected);
	if (!ready)
		return;
	number = take(b, held, now);
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		int at = first_of(t, c);

		if (at < 0 || t->e[at].number != number)
			continue;
		assert_true(ready >> c & 1);
		memmove(&t->e[at], &t->e[at + 1], (t->n - (uint32_t)at - 1) * sizeof(t->e[0]));
		t->n--;
		return;
	}
	fail_msg("packet %u was not the first of its class", number);
}

static void test_leaves_as_a_list_says(void **state)
{
	static struct twin t;

	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 9);
		rs_time now = 0;
		struct bed b;

		t.n = 0;
		make(&b, even);
		for (uint32_t i = 0; i < STEPS; i++) {
			uint32_t bytes = 0;

			now += rs_random_below(&r, 800);
			if (rs_random_below(&r, 2))
				random_put(&b, &t, &r, i, now);
			else
				random_take(&b, &t, &r, now);
			for (uint32_t k = 0; k < t.n; k++)
				bytes += t.e[k].payload;
			assert_int_equal(rs_egress_bytes(&b.g, 0), bytes);
			assert_int_equal(rs_egress_count(&b.g), t.n);
		}
		rs_pool_fini(&b.pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_ack_goes_before_data_but_not_before_a_read_response),
		cmocka_unit_test(test_a_class_that_waits_or_is_held_holds_no_other),
		cmocka_unit_test(test_packets_of_another_transport_wait_for_payload_alone),
		cmocka_unit_test(test_classes_share_by_weight),
		cmocka_unit_test(test_a_class_is_full_at_its_part_and_a_packet),
		cmocka_unit_test(test_leaves_as_a_list_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
