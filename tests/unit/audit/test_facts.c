/* The store of facts: order, trust, ages, look-ups by beginning, against a plain search. */
#include "base/random.h"
#include "judge.h"

static void add(struct rs_facts *s, const char *host, const char *subject, const char *name,
		const char *value, uint8_t trust, uint8_t age)
{
	struct rs_fact f = {.host = host,
			    .subject = subject,
			    .name = name,
			    .value = value,
			    .trust = trust,
			    .age = age,
			    .file = "f"};

	assert_int_equal(rs_facts_add(s, &f), 0);
}

static void test_natural_order_counts_digits_as_numbers(void **state)
{
	assert_true(rs_facts_compare("eth2", "eth10") < 0);
	assert_true(rs_facts_compare("Ethernet100", "Ethernet96") > 0);
	assert_true(rs_facts_compare("a", "a1") < 0);
	assert_int_equal(rs_facts_compare("x7y", "x7y"), 0);
	assert_int_equal(rs_facts_compare("x07", "x7"), 0);
	assert_true(rs_facts_compare("99999999999999999999998", "99999999999999999999999") < 0);
}

static void test_most_trusted_wins_then_the_first(void **state)
{
	struct rs_facts *s = rs_facts_create();

	add(s, "h", "nic/a", "mtu", "1", RS_TRUST_LOG, 0);
	add(s, "h", "nic/a", "mtu", "2", RS_TRUST_LIVE, 0);
	add(s, "h", "nic/a", "mtu", "3", RS_TRUST_LIVE, 0);
	rs_facts_seal(s);
	assert_string_equal(rs_facts_value(s, "h", "nic/a", "mtu"), "2");
	assert_null(rs_facts_get(s, "h", "nic/a", "rate"));
	assert_null(rs_facts_get(s, "other", "nic/a", "mtu"));
	rs_facts_destroy(s);
}

static void test_control_bytes_drive_no_terminal(void **state)
{
	struct rs_facts *s = rs_facts_create();

	add(s, "h\033[31m", "nic/a", "name", "a\tb\nc\x7f", RS_TRUST_LOG, 0);
	rs_facts_seal(s);
	assert_string_equal(rs_facts_host(s, 0), "h?[31m");
	assert_string_equal(rs_facts_value(s, "h?[31m", "nic/a", "name"), "a b?c?");
	rs_facts_destroy(s);
}

static void test_old_snapshot_is_apart(void **state)
{
	struct rs_facts *s = rs_facts_create();

	add(s, "h", "nic/a", "counter/x", "5", RS_TRUST_DUMP, 1);
	add(s, "h", "nic/a", "counter/x", "9", RS_TRUST_DUMP, 0);
	rs_facts_seal(s);
	assert_int_equal(rs_facts_get(s, "h", "nic/a", "counter/x")->number, 9);
	assert_int_equal(rs_facts_get_old(s, "h", "nic/a", "counter/x")->number, 5);
	rs_facts_destroy(s);
}

static void test_numbers_are_whole_or_none(void **state)
{
	static const struct {
		const char *text;
		bool numeric;
		int64_t number;
	} cases[] = {
		{"0", true, 0},     {" 42 ", true, 42},
		{"0x1f", true, 31}, {"-7", true, -7},
		{"007", true, 7},   {"4096 (5)", false, 0},
		{"", false, 0},     {"1.5", false, 0},
		{"x", false, 0},    {"99999999999999999999", false, 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_facts *s = rs_facts_create();
		const struct rs_fact *f;

		add(s, "h", "s", "n", cases[i].text, 0, 0);
		rs_facts_seal(s);
		f = rs_facts_get(s, "h", "s", "n");
		assert_int_equal(f->numeric, cases[i].numeric);
		if (f->numeric)
			assert_int_equal(f->number, cases[i].number);
		rs_facts_destroy(s);
	}
}

/* Random facts; every look-up and every walk is what a search through all of them says. */
static void test_looked_up_as_searched(void **state)
{
	enum { N = 600 };
	struct rs_random r = rs_random_stream(7, 1, 2);
	static char text[N][4][16];
	struct rs_facts *s = rs_facts_create();

	for (int i = 0; i < N; i++) {
		snprintf(text[i][0], 16, "h%d", (int)(rs_random_u64(&r) % 4));
		snprintf(text[i][1], 16, "%s/%d", rs_random_u64(&r) & 1 ? "nic" : "net",
			 (int)(rs_random_u64(&r) % 12));
		snprintf(text[i][2], 16, "p/%d", (int)(rs_random_u64(&r) % 12));
		snprintf(text[i][3], 16, "%d", i);
		add(s, text[i][0], text[i][1], text[i][2], text[i][3], 1, 0);
	}
	rs_facts_seal(s);
	for (int i = 0; i < N; i++) {
		int first = 0;

		while (strcmp(text[first][0], text[i][0]) || strcmp(text[first][1], text[i][1]) ||
		       strcmp(text[first][2], text[i][2]))
			first++;
		assert_int_equal(rs_facts_get(s, text[i][0], text[i][1], text[i][2])->number,
				 first);
	}
	assert_int_equal(rs_facts_hosts(s), 4);
	for (uint32_t h = 0; h < 4; h++) {
		const char *host = rs_facts_host(s, h), *last = NULL, *subject;
		unsigned walked = 0, counted = 0;
		uint32_t at = 0;
		const struct rs_fact *f;

		while ((f = rs_facts_next(s, &at, host, "nic/", "p/1")))
			walked++;
		for (int i = 0; i < N; i++)
			counted += !strcmp(text[i][0], host) && !strncmp(text[i][1], "nic/", 4) &&
				   !strncmp(text[i][2], "p/1", 3);
		assert_int_equal(walked, counted);
		for (at = 0; (subject = rs_facts_subject(s, &at, host, "net/")); last = subject)
			assert_true(!last || rs_facts_compare(last, subject) < 0);
	}
	rs_facts_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_natural_order_counts_digits_as_numbers),
		cmocka_unit_test(test_most_trusted_wins_then_the_first),
		cmocka_unit_test(test_control_bytes_drive_no_terminal),
		cmocka_unit_test(test_old_snapshot_is_apart),
		cmocka_unit_test(test_numbers_are_whole_or_none),
		cmocka_unit_test(test_looked_up_as_searched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
