/* Archives as text: what a writer of the same form made comes out again, whatever the files hold;
 * what is cut or none is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "audit/read/read.h"
#include "audit/read/ttar.h"

#define RULER "# ttar - - - - - - - - - - - - - - - - - -\n"

/* The other half, a byte at a time. */
static void pack(char *out, const char *name, const char *data, size_t n)
{
	unsigned lines = n > 0;

	for (size_t i = 0; i + 1 < n; i++)
		lines += data[i] == '\n';
	out += sprintf(out, RULER "Path: %s\nLines: %u\n", name, lines);
	for (size_t i = 0; i < n; i++) {
		if (!data[i]) {
			out += sprintf(out, "NULLBYTE");
			continue;
		}
		if (!strncmp(data + i, "NULLBYTE", 8) || !strncmp(data + i, "EOF", 3))
			*out++ = '\\';
		*out++ = data[i];
	}
	if (n && data[n - 1] != '\n')
		out += sprintf(out, "EOF\n");
	sprintf(out, "Mode: 644\n");
}

static void test_what_was_packed_comes_out(void **state)
{
	static const char words[][10] = {"a", "\n", "EOF", "NULLBYTE", "a\\b", "4: ACTIVE", "\n\n"};
	unsigned seed = 1;

	for (int round = 0; round < 2000; round++) {
		char data[128] = "", packed[1024];
		struct rs_ttar t = {.data = packed};
		size_t n = 0;

		for (int i = rand_r(&seed) % 8; i > 0; i--) {
			const char *w = words[rand_r(&seed) % 7];

			if (rand_r(&seed) % 9) {
				memcpy(data + n, w, strlen(w));
				n += strlen(w);
			} else {
				data[n++] = '\0';
			}
		}
		pack(packed, "sys/class/x", data, n);
		t.size = strlen(packed);
		assert_true(rs_ttar_is(packed, t.size));
		assert_int_equal(rs_ttar_next(&t), 1);
		assert_string_equal(t.path, "sys/class/x");
		assert_int_equal(t.n, n);
		assert_memory_equal(t.file, data, n);
		assert_int_equal(t.file[n], '\0');
		assert_int_equal(rs_ttar_next(&t), 0);
		rs_ttar_end(&t);
	}
	(void)state;
}

static void test_links_and_directories_are_no_files(void **state)
{
	static const char text[] = "# Archive created by ttar\nDirectory: sys\nMode: 755\n" RULER
				   "Path: sys/up\nSymlinkTo: ../..\n" RULER
				   "Path: sys/a\nLines: 1\n1\nMode: 444\n" RULER;
	struct rs_ttar t = {.data = text, .size = sizeof(text) - 1};

	assert_int_equal(rs_ttar_next(&t), 1);
	assert_string_equal(t.path, "sys/a");
	assert_string_equal(t.file, "1\n");
	assert_int_equal(rs_ttar_next(&t), 0);
	rs_ttar_end(&t);
	(void)state;
}

static void test_what_is_cut_or_no_archive_is_refused(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
	} broken[] = {
		{RULER "Path: a\nLines: 3\n1\n2\n", 5},
		{RULER "Path: a\nLines: 99999999999999999999\n1\n", 4},
		{RULER "Lines: 1\n1\n", 2},
		{RULER "Path: a\nLines: 1\n1\n2\n", 5},
	};

	for (unsigned i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		struct rs_ttar t = {.data = broken[i].text, .size = strlen(broken[i].text)};
		int r;

		do
			r = rs_ttar_next(&t);
		while (r > 0);
		assert_int_equal(r, -EINVAL);
		assert_int_equal(t.line, broken[i].line);
		assert_non_null(t.why);
		rs_ttar_end(&t);
	}
	assert_false(rs_ttar_is("", 0));
	assert_false(rs_ttar_is("Path: a\n", 8));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_packed_comes_out),
		cmocka_unit_test(test_links_and_directories_are_no_files),
		cmocka_unit_test(test_what_is_cut_or_no_archive_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
