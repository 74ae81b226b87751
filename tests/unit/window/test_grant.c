/* A socket's buffer dealt out: to each host its share, whatever another claims. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "window/grant.h"

enum { BUFFER = 1 << 20, GRANTED = BUFFER / 8 * 5 };

static struct rs_grants grants;
static uint64_t told[256][256]; /* by host, slot: what it was told last */
static unsigned answers;

static void ask(unsigned host, unsigned slot, rs_time now)
{
	uint8_t own[16] = {0}, peer[16] = {[15] = (uint8_t)host};
	struct rs_grant g;
	bool first = true;

	rs_grants_asked(&grants, own, peer, (uint8_t)slot, 7, now);
	for (answers = 0; rs_grants_next(&grants, &g); answers++, first = false) {
		if (first && g.peer[15] == host && g.slot == slot)
			assert_int_equal(g.question, 7);
		else
			assert_int_equal(g.question, 0);
		/* what is said unasked is less than before */
		if (!g.question)
			assert_true(g.bytes < told[g.peer[15]][g.slot]);
		told[g.peer[15]][g.slot] = g.bytes;
	}
}

/* Of those that asked lately. */
static uint64_t sum(void)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < grants.n; i++)
		all += told[grants.asker[i].peer[15]][grants.asker[i].slot];
	return all;
}

static void begin(void)
{
	rs_grants_init(&grants, NULL, BUFFER);
	memset(told, 0, sizeof(told));
}

static void test_all_that_ask_share_five_eighths(void **state)
{
	begin();
	ask(1, 1, 0);
	assert_int_equal(told[1][1], GRANTED);
	ask(2, 1, 0);
	assert_int_equal(told[1][1], GRANTED / 2);
	assert_int_equal(told[2][1], GRANTED / 2);
	ask(2, 2, 0);
	assert_int_equal(told[1][1], GRANTED / 2);
	assert_int_equal(told[2][1], GRANTED / 4);
	assert_int_equal(told[2][2], GRANTED / 4);
	ask(1, 1, 4 * RS_S); /* the others were silent for long */
	assert_int_equal(told[1][1], GRANTED);
	assert_int_equal(grants.n, 1);
}

/* One host that claims 256 processes takes from itself alone, tells no other anything, and
 * leaves room for others. */
static void test_a_host_of_many_claims_harms_itself(void **state)
{
	begin();
	ask(1, 1, 0);
	ask(9, 0, 0);
	for (unsigned slot = 1; slot < 256; slot++) {
		ask(9, slot, slot);
		assert_int_equal(told[1][1], GRANTED / 2);
	}
	assert_int_equal(grants.n, RS_GRANT_ASKERS);
	ask(2, 1, 300);
	assert_int_equal(told[2][1], GRANTED / 3);
	assert_int_equal(told[1][1], GRANTED / 3);
	ask(9, 0, 301); /* it was given up for host 2: none has more than it */
	assert_int_equal(grants.n, RS_GRANT_ASKERS);
	assert_true(sum() <= GRANTED);
}

static void test_random_askers_never_get_more_than_there_is(void **state)
{
	uint64_t seed = 3;
	rs_time now = 0;

	begin();
	for (unsigned i = 0; i < 100000; i++) {
		unsigned host, slot;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		host = (unsigned)(seed >> 33) % (i / 20000 + 2);
		slot = (unsigned)(seed >> 45) % 64;
		now += (rs_time)(seed >> 60) * 2 * RS_MS;
		ask(host, slot, now);
		assert_true(grants.n <= RS_GRANT_ASKERS);
		/* who rose by others' leaving hears so when it asks */
		assert_true(sum() <= GRANTED);
		assert_true(grants.hosts <= i / 20000 + 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_ask_share_five_eighths),
		cmocka_unit_test(test_a_host_of_many_claims_harms_itself),
		cmocka_unit_test(test_random_askers_never_get_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
