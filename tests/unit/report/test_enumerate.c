/* A list within a sentence: entries with something between, cut between two entries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "report/report.h"

static void test_enumeration_puts_something_between(void **state)
{
	struct rs_enumeration l = {0};

	assert_string_equal(l.text, "");
	rs_enumerate(&l, ", ", "%s", "a");
	assert_string_equal(l.text, "a");
	rs_enumerate(&l, ", ", "%s %d", "b", 2);
	rs_enumerate(&l, "; ", "c");
	assert_string_equal(l.text, "a, b 2; c");
	assert_int_equal(l.n, 3);
}

static void test_enumeration_leaves_out_what_finds_no_room(void **state)
{
	struct rs_enumeration l = {0};
	char entry[400];
	size_t before;

	memset(entry, 'x', sizeof(entry) - 1);
	entry[sizeof(entry) - 1] = '\0';
	for (unsigned i = 0; i < 5; i++)
		rs_enumerate(&l, ", ", "%s", entry);
	before = strlen(l.text);
	assert_int_equal(before, 5 * 399 + 4 * 2);
	rs_enumerate(&l, ", ", "%s", entry);
	assert_int_equal(strlen(l.text), before);
	assert_int_equal(l.n, 6);
	rs_enumerate(&l, ", ", "last");
	assert_string_equal(l.text + before, ", last");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enumeration_puts_something_between),
		cmocka_unit_test(test_enumeration_leaves_out_what_finds_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
