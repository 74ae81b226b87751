/*
 * The JSON writer against RFC 8259: what it writes is compared byte by byte.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static char *text;
static size_t size;
static FILE *out;

static struct rs_json *start(void)
{
	out = open_memstream(&text, &size);
	assert_non_null(out);
	return rs_json_create(out);
}

static void finish_with(struct rs_json *j, int rc, const char *expected)
{
	assert_int_equal(rs_json_finish(j), rc);
	fclose(out);
	if (expected)
		assert_string_equal(text, expected);
	free(text);
}

static void test_json_nests_and_indents_by_two(void **state)
{
	struct rs_json *j = start();

	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "x/1");
	rs_json_array(j, "runs");
	rs_json_object(j, NULL);
	rs_json_int(j, "a", INT64_MIN);
	rs_json_uint(j, "b", UINT64_MAX);
	rs_json_end(j);
	rs_json_bool(j, NULL, true);
	rs_json_string(j, NULL, NULL);
	rs_json_end(j);
	rs_json_array(j, "none");
	rs_json_end(j);
	rs_json_end(j);
	finish_with(j, 0,
		    "{\n"
		    "  \"schema\": \"x/1\",\n"
		    "  \"runs\": [\n"
		    "    {\n"
		    "      \"a\": -9223372036854775808,\n"
		    "      \"b\": 18446744073709551615\n"
		    "    },\n"
		    "    true,\n"
		    "    null\n"
		    "  ],\n"
		    "  \"none\": []\n"
		    "}\n");
}

static void test_json_escapes_controls_and_quotes(void **state)
{
	struct rs_json *j = start();

	rs_json_string(j, NULL, "a\"b\\c\n\t\x01\x7f/\xc3\xa9");
	finish_with(j, 0, "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f/\xc3\xa9\"\n");
}

static void test_json_replaces_what_is_not_utf8(void **state)
{
	/* A lone continuation, an overlong '/', a surrogate, above U+10FFFF, a sequence cut short.
	 */
	static const char *const bad[] = {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					  "\xe2\x82"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rs_json *j = start();
		char expected[32] = "\"";

		for (size_t k = 0; k < strlen(bad[i]); k++)
			strcat(expected, "\xef\xbf\xbd");
		strcat(expected, "\"\n");
		rs_json_string(j, NULL, bad[i]);
		finish_with(j, 0, expected);
	}
}

static void assert_number(double value, const char *expected)
{
	struct rs_json *j = start();
	char line[64];

	snprintf(line, sizeof(line), "%s\n", expected);
	rs_json_number(j, NULL, value);
	finish_with(j, 0, line);
}

static void test_json_numbers_are_the_shortest_that_read_back(void **state)
{
	assert_number(0, "0");
	assert_number(-0.1, "-0.1");
	assert_number(1.0 / 3, "0.3333333333333333");
	assert_number(0.1 + 0.2, "0.30000000000000004");
	assert_number(46.25, "46.25");
	assert_number(1e300, "1e+300");
	assert_number(5e-324, "5e-324");
	assert_number(123456789012.0, "123456789012");
}

/* The slow twin: every length from one digit up. */
static void test_json_numbers_agree_with_trying_every_length(void **state)
{
	uint64_t x = 1;

	for (int i = 0; i < 20000; i++) {
		char expected[40];
		double v;

		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		memcpy(&v, &x, sizeof(v));
		if (!isfinite(v))
			continue;
		for (int digits = 1; digits <= 17; digits++) {
			snprintf(expected, sizeof(expected), "%.*g", digits, v);
			if (strtod(expected, NULL) == v)
				break;
		}
		assert_number(v, expected);
	}
}

static void test_json_has_no_infinity(void **state)
{
	assert_number(HUGE_VAL, "null");
	assert_number(NAN, "null");
}

/* A locale with a decimal comma, made in a folder of its own where none is installed. */
static bool comma_locale(const char *folder)
{
	char command[256];

	if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
		return true;
	snprintf(command, sizeof(command),
		 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
	setenv("LOCPATH", folder, 1);
	return !system(command) && setlocale(LC_NUMERIC, "de_DE.UTF-8");
}

static void test_json_number_ignores_the_locale(void **state)
{
	char folder[] = "/tmp/ripstop-locale-XXXXXX", command[128];
	bool made;

	assert_non_null(mkdtemp(folder));
	made = comma_locale(folder);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	if (!made) {
		print_message("no locale with a decimal comma, and no localedef to make one\n");
		skip();
	}
	assert_number(46.25, "46.25");
	assert_number(1.5e-200, "1.5e-200");
	setlocale(LC_NUMERIC, "C");
}

static void test_json_refuses_open_brackets(void **state)
{
	struct rs_json *j = start();

	rs_json_object(j, NULL);
	finish_with(j, -EINVAL, NULL);
}

static void test_json_refuses_a_bracket_too_many(void **state)
{
	struct rs_json *j = start();

	rs_json_array(j, NULL);
	rs_json_end(j);
	rs_json_end(j);
	finish_with(j, -EINVAL, NULL);
}

static void test_json_refuses_a_member_without_key_and_an_element_with_one(void **state)
{
	struct rs_json *j = start();

	rs_json_object(j, NULL);
	rs_json_int(j, NULL, 1);
	rs_json_end(j);
	finish_with(j, -EINVAL, NULL);
	j = start();
	rs_json_array(j, NULL);
	rs_json_int(j, "k", 1);
	rs_json_end(j);
	finish_with(j, -EINVAL, NULL);
}

static void test_json_refuses_two_roots_and_none(void **state)
{
	struct rs_json *j = start();

	rs_json_int(j, NULL, 1);
	rs_json_int(j, NULL, 2);
	finish_with(j, -EINVAL, NULL);
	finish_with(start(), -EINVAL, NULL);
}

static void test_json_refuses_endless_depth(void **state)
{
	struct rs_json *j = start();

	for (int i = 0; i < 1000; i++)
		rs_json_array(j, NULL);
	for (int i = 0; i < 1000; i++)
		rs_json_end(j);
	finish_with(j, -EINVAL, NULL);
}

static void test_json_reports_a_full_disk(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct rs_json *j;

	if (!full) {
		print_message("no /dev/full here\n");
		skip();
	}
	j = rs_json_create(full);
	rs_json_int(j, NULL, 1);
	assert_int_equal(rs_json_finish(j), -EIO);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_nests_and_indents_by_two),
		cmocka_unit_test(test_json_escapes_controls_and_quotes),
		cmocka_unit_test(test_json_replaces_what_is_not_utf8),
		cmocka_unit_test(test_json_numbers_are_the_shortest_that_read_back),
		cmocka_unit_test(test_json_numbers_agree_with_trying_every_length),
		cmocka_unit_test(test_json_has_no_infinity),
		cmocka_unit_test(test_json_number_ignores_the_locale),
		cmocka_unit_test(test_json_refuses_open_brackets),
		cmocka_unit_test(test_json_refuses_a_bracket_too_many),
		cmocka_unit_test(test_json_refuses_a_member_without_key_and_an_element_with_one),
		cmocka_unit_test(test_json_refuses_two_roots_and_none),
		cmocka_unit_test(test_json_refuses_endless_depth),
		cmocka_unit_test(test_json_reports_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
