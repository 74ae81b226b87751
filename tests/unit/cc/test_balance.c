/* Load balancers: the picks of the Ultra Ethernet Consortium's simulator, one by one, and what its
 * traces do not have. A draw is what the test says it is: it sees inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"

static uint32_t given, draws;

static uint32_t draw(struct rs_random *r, uint32_t n)
{
	draws++;
	return given % n;
}

#define rs_random_below draw
#include "cc/balance.c"
#undef rs_random_below

enum { EVENTS = 1024, VALUES = 64, STATE = 1024 };

struct event {
	bool pick;
	enum rs_path_feedback what;
	uint16_t value;
};

struct trace {
	struct event event[EVENTS];
	unsigned n, first; /* first: the first pick */
};

union memory {
	struct rs_balance b;
	uint64_t words[STATE / 8];
};

static bool parse(const char *line, struct event *e)
{
	static const struct {
		const char *name;
		enum rs_path_feedback what;
	} words[] = {{"good", RS_PATH_GOOD},
		     {"ecn", RS_PATH_MARKED},
		     {"nack", RS_PATH_TRIMMED},
		     {"nack_last", RS_PATH_GOOD},
		     {"nack_last_ecn", RS_PATH_MARKED},
		     {"timeout", RS_PATH_TIMEOUT}};
	char word[32];
	unsigned value;

	if (sscanf(line, "%*d,%*d,%31[a-z_],%u", word, &value) != 2)
		return false;
	*e = (struct event){.pick = !strcmp(word, "pick"), .value = (uint16_t)value};
	for (unsigned i = 0; !e->pick && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].name, word)) {
			e->what = words[i].what;
			return true;
		}
	return e->pick;
}

static void load(struct trace *t, const char *name)
{
	char path[400], line[80];
	FILE *f;

	snprintf(path, sizeof(path), RS_SOURCE_DIR "/tests/data/uet-truth/entropy-%s.csv", name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f)); /* the columns */
	for (t->n = 0; fgets(line, sizeof(line), f); t->n++) {
		assert_in_range(t->n, 0, EVENTS - 1);
		assert_true(parse(line, &t->event[t->n]));
	}
	fclose(f);
	assert_in_range(t->n, 600, EVENTS);
	for (t->first = 0; !t->event[t->first].pick; t->first++)
		;
}

static void make(union memory *m, enum rs_balance_kind kind, uint16_t first)
{
	const struct rs_balance_conf c = {.kind = kind, .n = VALUES, .freeze = 10 * RS_MS};

	assert_in_range(rs_balance_bytes(&c), sizeof(struct rs_balance), sizeof(*m));
	given = first & (VALUES - 1);
	rs_balance_init(&m->b, &c, rs_random_stream(1, 2, 3));
	m->b.above = first & (uint16_t) ~(VALUES - 1);
}

/* All events from i on, whatever is drawn at each draw that there is on the way: one fits all. */
static bool explained(const struct trace *t, const union memory *from, unsigned i)
{
	union memory m = *from, before;

	for (; i < t->n; i++) {
		const struct event *e = &t->event[i];

		if (!e->pick) {
			rs_balance_told(&m.b, e->value, e->what, 0);
			continue;
		}
		before = m;
		draws = 0;
		given = 0;
		if (rs_balance_next(&m.b, 0) == e->value && !draws)
			continue;
		for (uint32_t x = 0; draws && x < VALUES; x++) {
			m = before;
			given = x;
			if (rs_balance_next(&m.b, 0) == e->value && explained(t, &m, i + 1))
				return true;
			draws = 1;
		}
		return false;
	}
	return true;
}

static void check_walks(enum rs_balance_kind kind, const char *name)
{
	static struct trace t;
	union memory m;

	load(&t, name);
	make(&m, kind, t.event[t.first].value);
	assert_true(explained(&t, &m, 0));
	/* another answer to what was told would not be found equal */
	for (unsigned i = t.n / 2; i < t.n; i++)
		if (t.event[i].pick) {
			t.event[i].value ^= 1;
			break;
		}
	assert_false(explained(&t, &m, 0));
}

static void test_walks_are_those_of_the_consortiums_simulator(void **state)
{
	check_walks(RS_BALANCE_OBLIVIOUS, "one-nscc-oblivious");
	check_walks(RS_BALANCE_OBLIVIOUS, "perm128-failed4-nscc-oblivious");
	check_walks(RS_BALANCE_BITMAP, "perm128-failed4-nscc-bitmap");
	check_walks(RS_BALANCE_MIXED, "perm128-failed4-nscc-mixed");
}

/* A ring of eight, plainly: the oldest is taken, a ninth pushes it out. */
struct plain {
	uint16_t value[EVENTS];
	unsigned n, from;
};

static void check_reps(const char *name)
{
	static struct trace t;
	struct plain p = {.n = 0};
	unsigned recycled = 0;
	union memory m;

	load(&t, name);
	make(&m, RS_BALANCE_REPS, t.event[t.first].value);
	for (unsigned i = 0; i < t.n; i++) {
		const struct event *e = &t.event[i];

		if (!e->pick) {
			rs_balance_told(&m.b, e->value, e->what, 0);
			if (e->what == RS_PATH_GOOD)
				p.value[p.n++] = e->value;
			if (p.n - p.from > 8)
				p.from = p.n - 8;
			continue;
		}
		draws = 0;
		given = e->value;
		assert_int_equal(rs_balance_next(&m.b, 0), e->value);
		assert_int_equal(draws, p.from == p.n);
		if (!draws)
			assert_int_equal(p.value[p.from++], e->value);
		recycled += !draws;
	}
	assert_in_range(recycled, 100, EVENTS);
}

static void test_reps_recycles_what_the_consortiums_simulator_does(void **state)
{
	check_reps("one-nscc-reps");
	check_reps("perm128-failed4-nscc-reps");
}

static void test_reps_frozen_takes_known_values_alone(void **state)
{
	union memory m;

	make(&m, RS_BALANCE_REPS, 0);
	for (uint16_t v = 10; v < 13; v++)
		rs_balance_told(&m.b, v, RS_PATH_GOOD, 0);
	assert_int_equal(rs_balance_next(&m.b, 0), 10);
	rs_balance_told(&m.b, 0, RS_PATH_TIMEOUT, RS_US);
	rs_balance_told(&m.b, 40, RS_PATH_GOOD, RS_US); /* of a path that may be dead by now */
	draws = 0;
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(rs_balance_next(&m.b, 10 * RS_MS), 10 + i % 3);
	assert_int_equal(draws, 0);
	/* 10 ms later it knows nothing, and looks about */
	given = 33;
	rs_balance_told(&m.b, 20, RS_PATH_GOOD, 11 * RS_MS);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(rs_balance_next(&m.b, 11 * RS_MS), 33);
	assert_int_equal(draws, 16);
	assert_int_equal(rs_balance_next(&m.b, 11 * RS_MS), 20);
}

static void test_reps_frozen_with_nothing_known_draws(void **state)
{
	union memory m;

	make(&m, RS_BALANCE_REPS, 0);
	rs_balance_told(&m.b, 0, RS_PATH_TIMEOUT, 0);
	given = 5;
	assert_int_equal(rs_balance_next(&m.b, 0), 5);
}

static void test_bitmap_forgives_the_first_it_passes_over(void **state)
{
	union memory m;

	make(&m, RS_BALANCE_BITMAP, 0);
	m.b.above = 0;
	given = 0;
	rs_balance_told(&m.b, 0, RS_PATH_MARKED, 0);
	rs_balance_told(&m.b, 1, RS_PATH_TRIMMED, 0);
	rs_balance_told(&m.b, 1, RS_PATH_GOOD, 0); /* takes nothing back */
	assert_int_equal(rs_balance_next(&m.b, 0), 2);
	for (unsigned i = 3; i < VALUES; i++)
		assert_int_equal(rs_balance_next(&m.b, 0), i);
	assert_int_equal(rs_balance_next(&m.b, 0), 0); /* forgiven */
	for (unsigned round = 0; round < 4; round++)   /* 4 for a trim, one a round */
		for (unsigned i = 0; i < VALUES; i++)
			if (i != 1 && (round || i))
				assert_int_equal(rs_balance_next(&m.b, 0), i);
	assert_int_equal(rs_balance_next(&m.b, 0), 0);
	assert_int_equal(rs_balance_next(&m.b, 0), 1);
}

static void test_bitmap_takes_what_comes_when_all_are_bad(void **state)
{
	unsigned seen[VALUES] = {0};
	union memory m;

	make(&m, RS_BALANCE_BITMAP, 0);
	given = 0;
	for (uint16_t v = 0; v < VALUES; v++)
		rs_balance_told(&m.b, v, RS_PATH_TIMEOUT, 0);
	for (unsigned i = 0; i < 20 * VALUES; i++)
		seen[rs_balance_next(&m.b, 0) & (VALUES - 1)]++;
	for (unsigned v = 0; v < VALUES; v++)
		assert_in_range(seen[v], 1, 10 * VALUES);
}

static void test_fixed_is_one_value(void **state)
{
	union memory m;
	uint16_t v;

	make(&m, RS_BALANCE_FIXED, 0);
	v = rs_balance_next(&m.b, 0);
	rs_balance_told(&m.b, v, RS_PATH_TRIMMED, 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(rs_balance_next(&m.b, 0), v);
}

static void test_mixed_forgets_what_its_ring_has_no_room_for(void **state)
{
	union memory m;

	make(&m, RS_BALANCE_MIXED, 0);
	for (unsigned i = 0; i < RS_BALANCE_KEPT + 3; i++)
		rs_balance_told(&m.b, (uint16_t)(100 + i), RS_PATH_GOOD, 0);
	for (unsigned i = 0; i < RS_BALANCE_KEPT; i++)
		assert_int_equal(rs_balance_next(&m.b, 0), 103 + i);
	m.b.above = 0;
	assert_int_equal(rs_balance_next(&m.b, 0), 0); /* the walk */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks_are_those_of_the_consortiums_simulator),
		cmocka_unit_test(test_reps_recycles_what_the_consortiums_simulator_does),
		cmocka_unit_test(test_reps_frozen_takes_known_values_alone),
		cmocka_unit_test(test_reps_frozen_with_nothing_known_draws),
		cmocka_unit_test(test_bitmap_forgives_the_first_it_passes_over),
		cmocka_unit_test(test_bitmap_takes_what_comes_when_all_are_bad),
		cmocka_unit_test(test_fixed_is_one_value),
		cmocka_unit_test(test_mixed_forgets_what_its_ring_has_no_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
