/* The one error type: the first error wins, places are shown, nothing overflows, and no input
 * drives the terminal that shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"

static const struct rs_where place = {"a.yaml", 12, 7};

static const char *text(const struct rs_error *e)
{
	static char buf[2048];

	rs_error_text(e, buf, sizeof(buf));
	return buf;
}

static void test_the_first_error_wins(void **state)
{
	struct rs_error e = {0};

	assert_int_equal(rs_error_at(&e, -EINVAL, place, "expected %d", 5), -EINVAL);
	assert_int_equal(rs_error_set(&e, -ENOMEM, "out of memory"), -ENOMEM);
	assert_int_equal(e.code, -EINVAL);
	assert_string_equal(text(&e), "a.yaml:12:7: expected 5");
	assert_int_equal(rs_error_set(NULL, -EIO, "nobody listens"), -EIO);
	rs_error_hint(NULL, "nor to this");
}

static void test_places_and_hints(void **state)
{
	struct rs_error e = {0};

	rs_error_set(&e, -EINVAL, "wrong");
	assert_string_equal(text(&e), "wrong");
	rs_error_hint(&e, "try %s", "right");
	assert_string_equal(text(&e), "wrong (try right)");
	e = (struct rs_error){0};
	rs_error_at(&e, -EINVAL, (struct rs_where){"f", 0, 0}, "whole file");
	assert_string_equal(text(&e), "f: whole file");
	e = (struct rs_error){0};
	rs_error_at(&e, -EINVAL, (struct rs_where){0}, "no file");
	assert_string_equal(text(&e), "no file");
}

static void test_long_texts_are_cut_with_an_ellipsis(void **state)
{
	char big[5000], small[16];
	struct rs_error e = {0};

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	rs_error_at(&e, -EINVAL, (struct rs_where){big, 1, 1}, "%s", big);
	rs_error_hint(&e, "%s", big);
	assert_int_equal(strlen(e.what), sizeof(e.what) - 1);
	assert_string_equal(e.what + sizeof(e.what) - 5, "x...");
	assert_string_equal(e.hint + sizeof(e.hint) - 5, "x...");
	assert_int_equal(strlen(e.file), sizeof(e.file) - 1);
	assert_true(rs_error_text(&e, small, sizeof(small)) > (int)sizeof(small));
	assert_int_equal(strlen(small), sizeof(small) - 1);
	rs_error_text(&e, NULL, 0);
}

/* Escape sequences of seven bits, of eight, and of eight as UTF-8 writes them. */
static void test_control_characters_are_shown_as_question_marks(void **state)
{
	struct rs_error e = {0};

	rs_error_set(&e, -EINVAL, "'\033[2J\r\n\t\177' and '\302\2332J'");
	assert_string_equal(text(&e), "'?[2J???"
				      "?' and '?"
				      "?2J'");
	e = (struct rs_error){0};
	rs_error_set(&e, -EINVAL, "'µs', '\303\233'"); /* letters stay */
	assert_string_equal(text(&e), "'µs', '\303\233'");
}

static void test_an_assertion_says_where_and_stops(void **state)
{
	char said[512] = "";
	int out[2], status;
	pid_t child;

	assert_int_equal(pipe(out), 0);
	child = fork();
	if (!child) {
		dup2(out[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		rs_assert(1 + 1 == 3);
		_exit(0);
	}
	close(out[1]);
	assert_true(read(out[0], said, sizeof(said) - 1) > 0);
	close(out[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(said, "test_error.c"));
	assert_non_null(strstr(said, "1 + 1 == 3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_error_wins),
		cmocka_unit_test(test_places_and_hints),
		cmocka_unit_test(test_long_texts_are_cut_with_an_ellipsis),
		cmocka_unit_test(test_control_characters_are_shown_as_question_marks),
		cmocka_unit_test(test_an_assertion_says_where_and_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
