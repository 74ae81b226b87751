/* A node's queue of events against a slow, obvious twin: the least of all slots, found by looking.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "sim/tree.h"

struct twin {
	rs_time when[RS_TREE_SLOTS];
	uint32_t slots;
};

/* Ties go to the lower slot: the order is total, so that runs repeat. */
static uint32_t twin_least(const struct twin *t)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < t->slots; i++)
		if (t->when[i] < t->when[least])
			least = i;
	return least;
}

static void tree_make(struct rs_tree *t, uint32_t slots)
{
	t->leaves = 2;
	while (t->leaves < slots)
		t->leaves *= 2;
	t->key = malloc(2 * (size_t)t->leaves * sizeof(*t->key));
	assert_non_null(t->key);
	memset(t->key, 0xff, 2 * (size_t)t->leaves * sizeof(*t->key));
}

static void check(const struct rs_tree *t, const struct twin *w)
{
	uint32_t least = twin_least(w);
	uint64_t top = rs_tree_top(t);

	assert_int_equal(rs_tree_time(top), w->when[least]);
	if (w->when[least] != RS_NEVER)
		assert_int_equal(top & (RS_TREE_SLOTS - 1), least);
}

/* Sets, moves and clears slots at random, with many equal times; takes the least again and again.
 */
static void run(uint32_t slots, uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, slots, 1);
	struct twin *w = malloc(sizeof(*w));
	rs_time now = 0;
	struct rs_tree t;

	assert_non_null(w);
	w->slots = slots;
	for (uint32_t i = 0; i < slots; i++)
		w->when[i] = RS_NEVER;
	tree_make(&t, slots);
	for (int step = 0; step < 20000; step++) {
		uint32_t slot = (uint32_t)(rs_random_u64(&r) % slots);
		uint64_t what = rs_random_u64(&r) % 8;
		rs_time when = what ? now + (rs_time)(rs_random_u64(&r) % 50) : RS_NEVER;

		w->when[slot] = when;
		rs_tree_set(&t, slot, when);
		assert_int_equal(rs_tree_get(&t, slot), when);
		check(&t, w);
		if (what < 4 && w->when[twin_least(w)] != RS_NEVER) {
			slot = twin_least(w);
			now = w->when[slot];
			w->when[slot] = RS_NEVER;
			rs_tree_set(&t, slot, RS_NEVER);
			check(&t, w);
		}
	}
	free(t.key);
	free(w);
}

static void test_queue_gives_the_least_as_its_twin(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 9, 16, 65, 200};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			run(sizes[i], seed);
}

static void test_times_beyond_the_key_are_never(void **state)
{
	struct rs_tree t;

	tree_make(&t, 4);
	rs_tree_set(&t, 3, RS_TREE_TIME_MAX);
	assert_int_equal(rs_tree_time(rs_tree_top(&t)), RS_TREE_TIME_MAX);
	rs_tree_set(&t, 3, RS_TREE_TIME_MAX + 1);
	assert_int_equal(rs_tree_time(rs_tree_top(&t)), RS_NEVER);
	free(t.key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue_gives_the_least_as_its_twin),
		cmocka_unit_test(test_times_beyond_the_key_are_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
