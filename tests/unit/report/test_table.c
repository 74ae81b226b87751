/*
 * Tables, trees, paragraphs and bars as a reader sees them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static char *text;
static size_t size;
static FILE *out;

static int start(void **state)
{
	text = NULL;
	out = open_memstream(&text, &size);
	return out ? 0 : -1;
}

static int stop(void **state)
{
	free(text);
	return 0;
}

static void print(struct rs_table *t)
{
	assert_int_equal(rs_table_print(t, out), 0);
	fclose(out);
}

static size_t widest_line(const char *s)
{
	size_t widest = 0;

	for (size_t n; *s; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		widest = n > widest ? n : widest;
	}
	return widest;
}

static void test_table_aligns_columns(void **state)
{
	struct rs_table *t = rs_table_create("Collectives");

	rs_table_column(t, "NAME", RS_LEFT);
	rs_table_column(t, "GB/s", RS_RIGHT);
	rs_table_row(t);
	rs_table_cell(t, "%s", "ring");
	rs_table_cell(t, "%.1f", 46.25);
	rs_table_row(t);
	rs_table_cell(t, "%s", "tree");
	rs_table_cell(t, "%.1f", 5.0);
	print(t);
	assert_string_equal(text, "Collectives\n"
				  "NAME GB/s\n"
				  "ring 46.2\n"
				  "tree  5.0\n");
}

static void test_table_control_bytes_cannot_drive_a_terminal(void **state)
{
	struct rs_table *t = rs_table_create("t\033[2J");

	rs_table_column(t, "NAME", RS_LEFT);
	rs_table_row(t);
	rs_table_cell(t, "%s", "a\033]0;x\007\r\n\xc2\x9b!\xff");
	print(t);
	for (const char *s = text; *s; s++)
		assert_true(*s == '\n' || (unsigned char)*s >= 0x20);
	assert_non_null(strstr(text, "a?]0;x"
				     "?????"
				     "!?\n"));
	assert_non_null(strstr(text, "t?[2J\n"));
}

static void test_table_tree_shows_parents(void **state)
{
	struct rs_table *t = rs_table_create(NULL);
	static const struct {
		unsigned depth;
		const char *name;
	} rows[] = {{0, "host"}, {1, "socket0"}, {2, "nic0"}, {1, "socket1"}, {0, "other"}};

	rs_table_column(t, "DEVICE", RS_LEFT);
	rs_table_column(t, "LINK", RS_LEFT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rs_table_tree_row(t, rows[i].depth);
		rs_table_cell(t, "%s", rows[i].name);
		rs_table_cell(t, "x%zu", i);
	}
	print(t);
	assert_string_equal(text, "DEVICE    LINK\n"
				  "host      x0\n"
				  "|-socket0 x1\n"
				  "| `-nic0  x2\n"
				  "`-socket1 x3\n"
				  "other     x4\n");
}

static void test_table_stays_within_100_columns(void **state)
{
	struct rs_table *t = rs_table_create(NULL);
	char longest[301];

	memset(longest, 'x', 300);
	longest[300] = '\0';
	rs_table_column(t, "NAME", RS_LEFT);
	rs_table_column(t, "WHY", RS_LEFT);
	rs_table_column(t, "GAIN", RS_RIGHT);
	rs_table_row(t);
	rs_table_cell(t, "first");
	rs_table_cell(t, "%s", longest);
	rs_table_cell(t, "12.5%%");
	print(t);
	assert_true(widest_line(text) <= 100);
	assert_non_null(strstr(text, "12.5%"));
	/* Wrapped, not cut: every x is there. */
	size_t seen = 0;
	for (const char *s = text; *s; s++)
		seen += *s == 'x';
	assert_int_equal(seen, 300);
}

static void test_table_missing_cells_are_empty(void **state)
{
	struct rs_table *t = rs_table_create(NULL);

	rs_table_column(t, "A", RS_LEFT);
	rs_table_column(t, "B", RS_RIGHT);
	rs_table_row(t);
	rs_table_cell(t, "1");
	print(t);
	assert_non_null(strstr(text, "\n1"));
}

static void test_table_that_ran_out_of_memory_says_so(void **state)
{
	rs_table_column(NULL, "A", RS_LEFT);
	rs_table_row(NULL);
	rs_table_tree_row(NULL, 1);
	rs_table_cell(NULL, "1");
	assert_int_equal(rs_table_print(NULL, out), -ENOMEM);
	fclose(out);
}

static void test_paragraph_wraps_at_100_with_margin(void **state)
{
	char words[1001] = "";

	for (int i = 0; i < 200; i++)
		strcat(words, "abcd ");
	rs_paragraph(out, 4, "%s", words);
	fclose(out);
	assert_int_equal(widest_line(text), 98);
	assert_memory_equal(text, "    abcd abcd", 13);
	assert_non_null(strstr(text, "abcd\n    abcd"));
	assert_int_equal(text[size - 1], '\n');
}

static void test_paragraph_keeps_line_breaks_and_cleans_words(void **state)
{
	rs_paragraph(out, 2, "one  two\n\n%s\n", "three\033[1m");
	fclose(out);
	assert_string_equal(text, "  one two\n\n  three?[1m\n");
}

static void test_paragraph_prints_a_word_longer_than_the_line(void **state)
{
	char word[151];

	memset(word, 'w', 150);
	word[150] = '\0';
	rs_paragraph(out, 0, "a %s b", word);
	fclose(out);
	assert_int_equal(strlen(text), 2 + 151 + 2);
	assert_memory_equal(text, "a\nw", 3);
	assert_string_equal(text + 151, "w\nb\n");
}

static void test_bar_is_as_long_as_its_share(void **state)
{
	static const struct {
		double share;
		const char *bar;
	} cases[] = {{0, ".........."},        {0.5, "#####....."}, {1, "##########"},
		     {7, "##########"},        {-1, ".........."},  {0.001, "#........."},
		     {0.0 / 0.0, ".........."}};
	char buf[11];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rs_bar(buf, sizeof(buf), cases[i].share, 10);
		assert_string_equal(buf, cases[i].bar);
	}
	rs_bar(buf, 4, 1, 10);
	assert_string_equal(buf, "###");
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_table_aligns_columns, start, stop),
		cmocka_unit_test_setup_teardown(test_table_control_bytes_cannot_drive_a_terminal,
						start, stop),
		cmocka_unit_test_setup_teardown(test_table_tree_shows_parents, start, stop),
		cmocka_unit_test_setup_teardown(test_table_stays_within_100_columns, start, stop),
		cmocka_unit_test_setup_teardown(test_table_missing_cells_are_empty, start, stop),
		cmocka_unit_test_setup_teardown(test_table_that_ran_out_of_memory_says_so, start,
						stop),
		cmocka_unit_test_setup_teardown(test_paragraph_wraps_at_100_with_margin, start,
						stop),
		cmocka_unit_test_setup_teardown(test_paragraph_keeps_line_breaks_and_cleans_words,
						start, stop),
		cmocka_unit_test_setup_teardown(test_paragraph_prints_a_word_longer_than_the_line,
						start, stop),
		cmocka_unit_test_setup_teardown(test_bar_is_as_long_as_its_share, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
