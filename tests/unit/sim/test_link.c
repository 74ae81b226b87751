/* A link's ring of packets against a twin that keeps every arrival in an array, under random load:
 * growth, wrap-around, gaps too long for 32 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "sim/engine.h"

enum { STEPS = 60000, CAPACITY = 4096 };

struct arrival {
	uint32_t packet;
	rs_time when;
};

struct bed {
	struct rs_sim s;
	struct sim_link link;
	struct arrival twin[STEPS];
	uint32_t first, last; /* of the twin's: on the wire */
	rs_time now;
};

static void send(struct bed *b, struct rs_random *r)
{
	/* mostly a frame's time; now and then longer than UINT32_MAX ps */
	rs_time later = rs_random_below(r, 50) ? 1 + rs_random_below(r, 100000)
					       : (rs_time)rs_random_below(r, UINT32_MAX) * 3;
	rs_time after = b->first == b->last ? b->now : b->twin[b->last - 1].when;
	struct arrival a = {.packet = b->last % CAPACITY, .when = after + later};

	rs_pool_at(&b->s.pool, a.packet)->when = a.when;
	sim_link_append(&b->link, a.packet, a.when);
	b->twin[b->last++] = a;
}

static void arrive(struct bed *b)
{
	const struct arrival *a = &b->twin[b->first++];
	rs_time next;

	assert_ptr_equal(sim_link_head(&b->s, &b->link), rs_pool_at(&b->s.pool, a->packet));
	b->now = a->when;
	next = sim_link_pop(&b->s, &b->link, b->now);
	assert_int_equal(next, b->first == b->last ? RS_NEVER : b->twin[b->first].when);
}

static void test_packets_arrive_in_order_and_on_time(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct rs_random r = rs_random_stream(21, 0, 0);

	assert_non_null(b);
	assert_int_equal(rs_pool_init(&b->s.pool, CAPACITY), 0);
	b->link.head = b->link.tail = UINT32_MAX - STEPS / 2; /* the counts wrap */
	while (b->last < STEPS) {
		/* tides: the wire fills up to some hundreds, and drains */
		bool rising = b->last / 1500 % 2 == 0;

		assert_int_equal(sim_link_idle(&b->link), b->first == b->last);
		assert_int_equal(b->link.tail - b->link.head, b->last - b->first);
		if (b->first == b->last ||
		    (b->last - b->first < CAPACITY && rs_random_below(&r, 10) < (rising ? 7 : 4)))
			send(b, &r);
		else
			arrive(b);
	}
	assert_true(b->link.size >= 2 * SIM_RING_LEAST);
	assert_int_equal(b->link.size & (b->link.size - 1), 0);
	while (b->first != b->last)
		arrive(b);
	free(b->link.ring);
	rs_pool_fini(&b->s.pool);
	free(b);
}

/* Memory is asked for packets that are not there, too: never outside the ring. */
static void test_looking_behind_the_tail_stays_in_the_ring(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct rs_random r = rs_random_stream(22, 0, 0);

	assert_non_null(b);
	assert_int_equal(rs_pool_init(&b->s.pool, CAPACITY), 0);
	for (unsigned i = 0; i < 3 * SIM_RING_LEAST; i++) {
		send(b, &r);
		for (unsigned k = 0; k < SIM_RING_LEAST; k++) {
			const struct sim_flight *f = sim_link_flight(&b->link, b->link.head + k);

			assert_in_range(f - b->link.ring, 0, b->link.size - 1);
			assert_in_range(f->packet, 0, CAPACITY - 1);
			sim_link_fetch(&b->s, &b->link, k);
		}
		arrive(b);
	}
	assert_int_equal(b->link.size, SIM_RING_LEAST); /* one on the wire: no growth */
	free(b->link.ring);
	rs_pool_fini(&b->s.pool);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_arrive_in_order_and_on_time),
		cmocka_unit_test(test_looking_behind_the_tail_stays_in_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
