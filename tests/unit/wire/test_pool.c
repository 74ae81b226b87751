/* The packet slab against a twin that remembers who holds which packet, under random load; and its
 * limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/random.h"
#include "wire/pool.h"

enum { LISTS = 5, CAPACITY = 6000, STEPS = 400000 };

struct twin {
	struct rs_pool pool;
	struct rs_pool_list list[LISTS];
	struct rs_packet *held[CAPACITY];
	unsigned n;
	bool used[CAPACITY];
};

static void take(struct twin *t, unsigned l, uint32_t stamp)
{
	struct rs_packet *k = rs_pool_alloc(&t->list[l]);
	uint32_t i;

	if (!k) { /* then the list is empty, nothing is spilled and nothing is fresh */
		assert_int_equal(t->list[l].count, 0);
		assert_int_equal(t->pool.spill_count, 0);
		assert_int_equal(t->pool.fresh, CAPACITY);
		return;
	}
	i = rs_pool_index(&t->pool, k);
	assert_true(i < CAPACITY);
	assert_ptr_equal(rs_pool_at(&t->pool, i), k);
	assert_false(t->used[i]);
	t->used[i] = true;
	k->psn = stamp;
	k->dest_qp = i;
	k->next = 0xdead;
	t->held[t->n++] = k;
}

static void give(struct twin *t, unsigned l, unsigned which)
{
	struct rs_packet *k = t->held[which];
	uint32_t i = rs_pool_index(&t->pool, k);

	assert_true(t->used[i]);
	assert_int_equal(k->dest_qp, i); /* nobody wrote into a packet that was held */
	assert_int_equal(k->next, 0xdead);
	t->used[i] = false;
	t->held[which] = t->held[--t->n];
	rs_pool_free(&t->list[l], k);
}

/* A chain of free packets that nobody else has: how many. */
static uint32_t chain(const struct twin *t, uint8_t *seen, uint32_t i)
{
	uint32_t n = 0;

	for (; i != RS_NO_PACKET; i = t->pool.base[i].next, n++)
		assert_true(!seen[i]++ && !t->used[i]);
	return n;
}

/* Every packet is held, fresh, spilled or in exactly one list; counts tell the truth. */
static void check(const struct twin *t)
{
	static uint8_t seen[CAPACITY];
	uint32_t spilled = 0, total = t->n + (CAPACITY - t->pool.fresh);

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = t->pool.spill_head; i != RS_NO_PACKET; i = t->pool.base[i].dst) {
		assert_int_equal(chain(t, seen, i), RS_POOL_MAGAZINE);
		spilled += RS_POOL_MAGAZINE;
	}
	assert_int_equal(spilled, t->pool.spill_count);
	total += spilled;
	for (unsigned l = 0; l < LISTS; l++) {
		const struct rs_pool_list *list = &t->list[l];

		assert_int_equal(chain(t, seen, list->head), list->count);
		if (list->full != RS_NO_PACKET)
			assert_int_equal(chain(t, seen, list->full), RS_POOL_MAGAZINE);
		assert_true(rs_pool_list_count(list) <= RS_POOL_LIST_MAX);
		total += rs_pool_list_count(list);
	}
	assert_int_equal(total, CAPACITY);
}

static void test_the_slab_gives_each_packet_to_one_holder(void **state)
{
	static struct twin t;
	struct rs_random r = rs_random_stream(11, 0, 0);

	assert_int_equal(rs_pool_init(&t.pool, CAPACITY), 0);
	for (unsigned l = 0; l < LISTS; l++)
		rs_pool_list_init(&t.list[l], &t.pool);
	for (unsigned i = 0; i < STEPS; i++) {
		/* tides: mostly taking, then mostly giving; one host sends, another receives */
		bool rising = i / 20000 % 2 == 0;

		if (rs_random_below(&r, 10) < (rising ? 7 : 3))
			take(&t, rs_random_below(&r, LISTS), i);
		else if (t.n)
			give(&t, rs_random_below(&r, 2), rs_random_below(&r, t.n));
		if (i % 5000 == 0)
			check(&t);
	}
	while (t.n)
		give(&t, 0, t.n - 1);
	check(&t);
	rs_pool_fini(&t.pool);
}

static void test_the_slab_says_no_at_its_limit_and_yes_after_a_return(void **state)
{
	struct rs_packet *k[100];
	struct rs_pool_list l;
	struct rs_pool p;

	assert_int_equal(rs_pool_init(&p, 100), 0);
	rs_pool_list_init(&l, &p);
	for (unsigned i = 0; i < 100; i++)
		assert_non_null(k[i] = rs_pool_alloc(&l));
	assert_null(rs_pool_alloc(&l));
	rs_pool_free(&l, k[42]);
	assert_ptr_equal(rs_pool_alloc(&l), k[42]);
	assert_null(rs_pool_alloc(&l));
	rs_pool_fini(&p);
}

/* Last in, first out: what is taken next was touched last. */
static void test_a_list_gives_the_latest_return_first(void **state)
{
	struct rs_packet *k[RS_POOL_LIST_MAX];
	struct rs_pool_list l;
	struct rs_pool p;

	assert_int_equal(rs_pool_init(&p, 1000), 0);
	rs_pool_list_init(&l, &p);
	for (unsigned i = 0; i < RS_POOL_LIST_MAX; i++)
		k[i] = rs_pool_alloc(&l);
	for (unsigned i = 0; i < RS_POOL_LIST_MAX; i++)
		rs_pool_free(&l, k[i * 7 % RS_POOL_LIST_MAX]);
	for (unsigned i = RS_POOL_LIST_MAX; i-- > 0;)
		assert_ptr_equal(rs_pool_alloc(&l), k[i * 7 % RS_POOL_LIST_MAX]);
	rs_pool_fini(&p);
}

/* Two slabs of one: what gathers in one is had again in the other, before anything is fresh. */
static void test_what_gathers_in_a_part_goes_to_the_others(void **state)
{
	enum { EACH = 20000 };
	static struct rs_packet *k[EACH];
	struct rs_pool whole, a, b, *parts[] = {&a, &b};
	struct rs_pool_list la, lb;

	assert_int_equal(rs_pool_init(&whole, 2 * EACH), 0);
	assert_int_equal(rs_pool_split(&whole, parts, 2), 0);
	rs_pool_list_init(&la, &a);
	rs_pool_list_init(&lb, &b);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < EACH; i++)
			assert_non_null(k[i] = rs_pool_alloc(&la));
		for (unsigned i = 0; i < EACH; i++)
			rs_pool_free(&lb, k[i]);
		for (unsigned i = 0; i < EACH; i++)
			assert_non_null(k[i] = rs_pool_alloc(&lb));
		for (unsigned i = 0; i < EACH; i++)
			rs_pool_free(&la, k[i]);
	}
	assert_int_equal(a.fresh, EACH);
	assert_int_equal(b.fresh, EACH); /* of its own it used none */
	rs_pool_join(parts, 2);
	rs_pool_fini(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_slab_gives_each_packet_to_one_holder),
		cmocka_unit_test(test_the_slab_says_no_at_its_limit_and_yes_after_a_return),
		cmocka_unit_test(test_a_list_gives_the_latest_return_first),
		cmocka_unit_test(test_what_gathers_in_a_part_goes_to_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
