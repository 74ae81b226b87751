/* Words of a list in a text: apart from others, within them behind '~', numbered or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "audit/facts/word_list.h"

static const struct {
	const char *low, *words;
	bool plain, numbered;
} cases[] = {
	{"eth0: link down", "up|link", true, true},
	{"eth0: link down", "eth", false, true},
	{"uplinks", "link|~plin", true, true},
	{"uplinks", "link|uplink", false, false},
	{"a4 failed", "4 failed", false, false},
	{"port 4x", "port 4", false, true},
	{"first and last", "last", true, true},
	{"last", "|last", true, true},
	{"none", "", false, false},
	{"none", NULL, false, false},
};

static void test_words_stand_apart(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rs_word_list_has(cases[i].low, cases[i].words, false),
				 cases[i].plain);
		assert_int_equal(rs_word_list_has(cases[i].low, cases[i].words, true),
				 cases[i].numbered);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_stand_apart)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
