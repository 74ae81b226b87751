/*
 * The progress line: when it is due, what it says, and that nobody but a terminal sees it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "report/progress.h"
#include "report/report.h"

#define MS INT64_C(1000000)

static void test_progress_first_line_after_two_seconds(void **state)
{
	struct rs_progress_pace p;

	rs_progress_begin(&p, 5000 * MS);
	assert_false(rs_progress_due(&p, 5000 * MS));
	assert_false(rs_progress_due(&p, 7000 * MS - 1));
	assert_true(rs_progress_due(&p, 7000 * MS));
}

static void test_progress_at_most_five_lines_a_second(void **state)
{
	struct rs_progress_pace p;
	int lines = 0;

	rs_progress_begin(&p, 0);
	for (int64_t t = 2000; t < 12000; t++)
		lines += rs_progress_due(&p, t * MS);
	assert_int_equal(lines, 50);
}

static void test_progress_line_shows_share_and_text(void **state)
{
	char line[128];

	rs_progress_line(line, sizeof(line), 80, 0.5, "what-if 3 of 8");
	assert_string_equal(line, "[##########..........]  50%  what-if 3 of 8");
	rs_progress_line(line, sizeof(line), 80, 1.7, "done");
	assert_string_equal(line, "[####################] 100%  done");
	rs_progress_line(line, sizeof(line), 80, -1, "reading");
	assert_string_equal(line, "reading");
}

static void test_progress_line_fits_the_terminal_and_is_clean(void **state)
{
	char line[128];

	rs_progress_line(line, sizeof(line), 6, -1, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9zz");
	assert_string_equal(line, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
	rs_progress_line(line, sizeof(line), 80, -1, "a\033[2J\n");
	assert_string_equal(line, "a?[2J?");
}

static void test_progress_writes_nothing_to_what_is_not_a_terminal(void **state)
{
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);
	struct rs_progress *p = rs_progress_create(err, false);

	assert_non_null(p);
	rs_progress_update(p, 0.5, "half");
	rs_progress_destroy(p);
	rs_progress_update(NULL, 0.5, "half");
	rs_progress_destroy(NULL);
	fclose(err);
	assert_int_equal(size, 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress_first_line_after_two_seconds),
		cmocka_unit_test(test_progress_at_most_five_lines_a_second),
		cmocka_unit_test(test_progress_line_shows_share_and_text),
		cmocka_unit_test(test_progress_line_fits_the_terminal_and_is_clean),
		cmocka_unit_test(test_progress_writes_nothing_to_what_is_not_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
