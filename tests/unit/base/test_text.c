/* What is text: UTF-8 against a twin that lists its ranges, and the limits' places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

static bool is_text(const char *s, size_t n)
{
	return !rs_text_check(s, n, 1000, 10, NULL);
}

/* Code points as Unicode numbers them, encoded by RFC 3629's table. */
static size_t encode(uint32_t c, char *b)
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		b[i] = (char)(0x80 | (c & 0x3f));
	b[0] = (char)(lead[n] | c);
	return n;
}

static bool printable(uint32_t c)
{
	if (c < 0xa0)
		return c == 9 || c == 10 || c == 13 || (c >= 0x20 && c < 0x7f) || c == 0x85;
	return c < 0xd800 || (c > 0xdfff && c != 0xfffe && c != 0xffff && c <= 0x10ffff);
}

static void test_every_code_point(void **state)
{
	char b[4];

	for (uint32_t c = 0; c < 0x140000; c++) {
		size_t n = encode(c, b);

		if (is_text(b, n) != printable(c))
			fail_msg("U+%04X", c);
		for (size_t cut = 1; cut < n; cut++)
			assert_false(is_text(b, cut));
	}
}

/* More bytes than the code point needs, and bytes that begin nothing. */
static void test_overlong_and_stray_bytes_are_refused(void **state)
{
	assert_false(is_text("\xc0\xaf", 2));
	assert_false(is_text("\xc1\xbf", 2));
	assert_false(is_text("\xe0\x80\xaf", 3));
	assert_false(is_text("\xf0\x80\x80\xaf", 4));
	for (unsigned b = 0x80; b < 0xc2; b++)
		assert_false(is_text((const char[]){(char)b, 'a'}, 2));
	for (unsigned b = 0xf5; b < 0x100; b++)
		assert_false(
			is_text((const char[]){(char)b, (char)0x80, (char)0x80, (char)0x80}, 4));
	assert_true(is_text("", 0));
}

static void refused(const char *s, int code, int line, int column)
{
	struct rs_error e = {0};

	assert_int_equal(rs_text_check(s, strlen(s), 8, 2, &e), code);
	assert_int_equal(e.line, line);
	assert_int_equal(e.column, column);
}

static void test_the_place_is_the_characters(void **state)
{
	refused("ab\ncd\x01", -EINVAL, 2, 3);
	refused("\xc2\xb5s\n\xc2\xb5s \xff", -EINVAL, 2, 4);
	refused("a\n12345678", -E2BIG, 2, 9);
	refused("a\n{[\n[", -E2BIG, 3, 1);
}

static void test_the_limits_themselves_are_allowed(void **state)
{
	const char *s = "1234567\n1234567\n[{}{}]]]]{{";

	assert_int_equal(rs_text_check(s, strlen(s), 12, 2, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_code_point),
		cmocka_unit_test(test_overlong_and_stray_bytes_are_refused),
		cmocka_unit_test(test_the_place_is_the_characters),
		cmocka_unit_test(test_the_limits_themselves_are_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
