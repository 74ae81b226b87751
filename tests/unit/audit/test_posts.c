/* Posts in the form of what people paste: prompts, prefixes, prose, holes. tests/data/posts/EXPECT
 * says what each must give. */
#include <ctype.h>
#include <stdlib.h>
#include "audit/read/reader.h"
#include "judge.h"

static char *slurp(const char *name, size_t *n)
{
	char path[512], *data = malloc(1 << 16);
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/posts/%s", RS_SOURCE_DIR, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(data);
	*n = fread(data, 1, (1 << 16) - 1, f);
	data[*n] = '\0';
	fclose(f);
	return data;
}

static struct rs_audit *post(const char *name)
{
	char file[128];
	struct rs_error e = {0};
	struct rs_audit *a;
	size_t n;
	char *data;
	struct rs_input in = {.host = "h", .path = file, .inner = file};

	snprintf(file, sizeof(file), "%s.txt", name);
	data = slurp(file, &n);
	in.data = data;
	in.size = n;
	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, &e), 0);
	free(data);
	return a;
}

static unsigned count(const struct rs_audit *a, const char *id, enum rs_verdict v)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < a->n_findings; i++)
		n += (!id || !strcmp(a->findings[i]->rule->id, id)) &&
		     a->findings[i]->verdict == v && (id || a->findings[i]->severity >= RS_MAJOR);
	return n;
}

static bool has_fact(const struct rs_audit *a, char *what)
{
	char host[64], subject[64], name[128], value[256];
	const char *is;

	assert_int_equal(sscanf(what, "%63s %63s %127s %255s", host, subject, name, value), 4);
	for (char *p = value; *p; p++)
		*p = *p == '~' ? ' ' : *p;
	for (char *p = host; *p; p++)
		*p = *p == '~' ? ' ' : *p;
	is = rs_facts_value(a->facts, host, subject, name);
	return strcmp(value, "-") ? is && !strcmp(is, value) : !is;
}

static bool holds(const struct rs_audit *a, char *line)
{
	char what[16], *rest = line + strcspn(line, " ");

	assert_int_equal(sscanf(line, "%15s", what), 1);
	rest += strspn(rest, " ");
	if (!strcmp(what, "status"))
		return rs_audit_status(a, false, false) == atoi(rest);
	if (!strcmp(what, "fact"))
		return has_fact(a, rest);
	if (!strcmp(what, "fail"))
		return count(a, rest, RS_FAIL) > 0;
	if (!strcmp(what, "once"))
		return count(a, rest, RS_FAIL) == 1;
	if (!strcmp(what, "not-fail"))
		return !count(a, rest, RS_FAIL);
	if (!strcmp(what, "no"))
		return !count(a, NULL, RS_FAIL);
	if (!strcmp(what, "pass"))
		return count(a, rest, RS_PASS) > 0;
	if (!strcmp(what, "not-pass"))
		return !count(a, rest, RS_PASS);
	if (!strcmp(what, "next"))
		return a->next_command && !strcmp(a->next_command, rest);
	if (!strcmp(what, "hosts"))
		return rs_facts_hosts(a->facts) == (uint32_t)atoi(rest);
	assert_string_equal(what, "strange");
	return a->texts && a->texts->count[RS_LINE_STRANGE] <= (uint32_t)atoi(rest);
}

static void test_posts_give_what_they_state(void **state)
{
	char last[64] = "", *expect, *save = NULL;
	struct rs_audit *a = NULL;
	unsigned posts = 0, wrong = 0;
	size_t n;

	expect = slurp("EXPECT", &n);
	for (char *l = strtok_r(expect, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char name[64];

		if (*l == '#')
			continue;
		assert_int_equal(sscanf(l, "%63s", name), 1);
		if (strcmp(name, last)) {
			rs_audit_destroy(a);
			a = post(name);
			posts++;
			snprintf(last, sizeof(last), "%s", name);
		}
		if (!holds(a, l + strlen(name) + 1)) {
			print_error("%s\n", l);
			wrong++;
		}
	}
	rs_audit_destroy(a);
	free(expect);
	assert_true(posts >= 25);
	assert_int_equal(wrong, 0);
}

/* Whatever passed did so on a fact, and no line is lost: each is counted once. */
/* A few NULs in a text are holes; a program's file is no text, whatever words it has. */
static void test_program_with_a_prompt_in_it_is_no_text(void **state)
{
	static const char file[] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0\1\0\0\0"
				   "\n$ ulimit -l\n64\n\0\0\1\2\3\0\0\0\4\0\0";
	struct rs_input in = {
		.host = "h", .path = "a", .inner = "a", .data = file, .size = sizeof(file) - 1};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_read_input(a, &in), 0);
	assert_null(a->texts);
	rs_audit_destroy(a);
}

static void test_each_line_is_counted_and_each_pass_has_a_fact(void **state)
{
	char *expect, *save = NULL;
	size_t n;

	expect = slurp("EXPECT", &n);
	for (char *l = strtok_r(expect, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct rs_audit *a;
		uint32_t lines = 0;
		char name[64];

		if (*l == '#' || sscanf(l, "%63s", name) != 1)
			continue;
		a = post(name);
		assert_non_null(a->texts);
		for (unsigned u = 0; u < 5; u++)
			lines += a->texts->count[u];
		assert_int_equal(lines, a->texts->lines);
		for (uint32_t i = 0; i < a->n_findings; i++)
			if (a->findings[i]->verdict == RS_PASS)
				assert_true(a->findings[i]->n_facts > 0);
		rs_audit_destroy(a);
	}
	free(expect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_posts_give_what_they_state),
		cmocka_unit_test(test_program_with_a_prompt_in_it_is_no_text),
		cmocka_unit_test(test_each_line_is_counted_and_each_pass_has_a_fact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
