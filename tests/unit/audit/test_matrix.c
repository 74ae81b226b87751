/* Each check has a case in which it passes, one in which it fails, one in which it cannot tell, and
 * one that only looks wrong or right: rules/FAMILY.txt, a few facts a case. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include "judge.h"

/*
 * "ID pass|fail SEVERITY|unknown|trap pass|trap na|trap none|trap unknown|trap fail SEVERITY: what"
 * begins a case; then a fact a line, "[old ]HOST SUBJECT NAME VALUE" ("~" in SUBJECT is a blank),
 * and "fix TEXT" for a text that some fix has. "ID no KIND: why" says why a kind cannot be.
 */
enum { PASS, FAIL, UNKNOWN, TRAP, KINDS };
static const char *const kinds[KINDS] = {"pass", "fail", "unknown", "trap"};
static const char *const severities[] = {"info", "minor", "major", "critical"};

enum { FACTS_MAX = 96, RULES_MAX = 128 };

struct test_case {
	char id[8], what[256], fix[256];
	int kind, verdict, severity; /* verdict: enum rs_verdict, -1: no FAIL and no UNKNOWN */
	struct told fact[FACTS_MAX];
	unsigned facts;
};

static struct {
	char id[8];
	unsigned n[KINDS];
} seen[RULES_MAX];
static unsigned n_seen, wrong;

static void count(const char *id, int kind)
{
	unsigned i = 0;

	while (i < n_seen && strcmp(seen[i].id, id))
		i++;
	assert_true(i < RULES_MAX);
	if (i == n_seen)
		snprintf(seen[n_seen++].id, sizeof(seen->id), "%s", id);
	seen[i].n[kind]++;
}

static int word_in(const char *word, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return i;
	return -1;
}

static void complain(const struct test_case *c, const char *what)
{
	print_error("%s %s: %s: %s\n", c->id, kinds[c->kind], c->what, what);
	wrong++;
}

static bool has_fix(const struct rs_audit *a, const char *text)
{
	for (uint32_t i = 0; i < a->n_findings; i++)
		for (uint32_t k = 0; k < a->findings[i]->n_fixes; k++)
			if (strstr(a->findings[i]->fix[k].command, text))
				return true;
	return false;
}

/* Findings are in order: what fails first, then what is not known. */
static void judge_case(struct test_case *c)
{
	const struct rs_finding *f;
	struct judged j;

	if (!c->facts)
		return;
	c->fact[c->facts] = (struct told){NULL, NULL, NULL, NULL, 0};
	j = judge(c->id, c->fact);
	f = j.a->n_findings ? j.a->findings[0] : NULL;
	if (c->verdict < 0 && f && (f->verdict == RS_FAIL || f->verdict == RS_UNKNOWN))
		complain(c, f->title);
	if (c->verdict >= 0 && (!f || (int)f->verdict != c->verdict))
		complain(c, f ? f->title : "nothing is found");
	else if (c->verdict == RS_FAIL && (int)f->severity != c->severity)
		complain(c, severities[f->severity]);
	if (*c->fix && !has_fix(j.a, c->fix))
		complain(c, "no fix says so");
	if (f && f->verdict == RS_UNKNOWN && !f->n_needs)
		complain(c, "what would tell is not named");
	rs_audit_destroy(j.a);
	for (unsigned i = 0; i < c->facts; i++)
		free((char *)c->fact[i].host);
	c->facts = 0;
}

/* "P01 fail major: what" */
static bool begin(struct test_case *c, char *line)
{
	static const struct {
		const char *word;
		int verdict;
	} verdicts[] = {{"pass", RS_PASS},
			{"fail", RS_FAIL},
			{"unknown", RS_UNKNOWN},
			{"na", RS_NA},
			{"none", -1}};
	char kind[16] = "", more[16] = "", last[16] = "", *colon = strchr(line, ':');
	int n;

	if (!colon || !isupper((unsigned char)line[0]) || !isdigit((unsigned char)line[1]))
		return false;
	*colon = '\0';
	n = sscanf(line, "%7s %15s %15s %15s", c->id, kind, more, last);
	assert_true(n >= 2);
	snprintf(c->what, sizeof(c->what), "%s", colon + 2);
	*c->fix = '\0';
	if (!strcmp(kind, "no")) {
		count(c->id, word_in(more, kinds, KINDS));
		return true;
	}
	c->kind = word_in(kind, kinds, KINDS);
	assert_true(c->kind >= 0);
	count(c->id, c->kind);
	for (unsigned i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++)
		if (!strcmp(c->kind == TRAP ? more : kind, verdicts[i].word))
			c->verdict = verdicts[i].verdict;
	c->severity = word_in(c->kind == TRAP ? last : more, severities, 4);
	if (c->verdict == RS_FAIL)
		assert_true(c->severity >= 0);
	return true;
}

/* "[old ]host subject name value": the strings live in one allocation, that of the host. */
static void add(struct test_case *c, const char *line)
{
	char *copy = strdup(line), *save = NULL, *host, *subject, *name, *value;
	struct told *t = &c->fact[c->facts];
	uint8_t age = !strncmp(copy, "old ", 4);

	assert_true(c->facts + 1 < FACTS_MAX);
	if (age)
		memmove(copy, copy + 4, strlen(copy + 4) + 1);
	host = strtok_r(copy, " ", &save);
	subject = strtok_r(NULL, " ", &save);
	name = strtok_r(NULL, " ", &save);
	value = strtok_r(NULL, "", &save);
	if (!value)
		print_error("%s: not a fact: %s\n", c->id, line);
	assert_non_null(value);
	for (char *p = subject; *p; p++)
		*p = *p == '~' ? ' ' : *p;
	*t = (struct told){host, subject, name, value, age};
	c->facts++;
}

static void read_family(const char *path)
{
	FILE *f = fopen(path, "r");
	struct test_case c = {.facts = 0};
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			continue;
		if (!*line)
			judge_case(&c);
		else if (!strncmp(line, "fix ", 4))
			snprintf(c.fix, sizeof(c.fix), "%s", line + 4);
		else if (!begin(&c, line))
			add(&c, line);
	}
	judge_case(&c);
	fclose(f);
}

static void test_each_case_is_judged_as_it_says(void **state)
{
	static const char dir[] = RS_SOURCE_DIR "/tests/unit/audit/rules";
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[1024];

	assert_non_null(d);
	while ((e = readdir(d)))
		if (strstr(e->d_name, ".txt")) {
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			read_family(path);
		}
	closedir(d);
	assert_int_equal(wrong, 0);
}

static void test_each_check_has_all_four_kinds(void **state)
{
	unsigned lacking = 0;

	for (unsigned i = 0; rs_rule_families[i]; i++)
		for (const struct rs_rule *r = rs_rule_families[i]; r->id; r++)
			for (int kind = 0; kind < KINDS; kind++) {
				unsigned k = 0;

				while (k < n_seen && strcmp(seen[k].id, r->id))
					k++;
				if (k < n_seen && seen[k].n[kind])
					continue;
				print_error("%s has no case that is %s\n", r->id, kinds[kind]);
				lacking++;
			}
	assert_int_equal(lacking, 0);
}

/* Is the check in the list that docs/audit.md has from the code? */
static bool documented(const char *id)
{
	FILE *f = fopen(RS_SOURCE_DIR "/docs/audit.md", "r");
	char line[2048], row[32];
	bool found = false;

	assert_non_null(f);
	snprintf(row, sizeof(row), "| **%s** ", id);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, row, strlen(row));
	fclose(f);
	return found;
}

/* The list that the project set: "P01 pcie-path-rate", a check a line. */
static void test_each_check_of_the_list_is_one_of_ours(void **state)
{
	FILE *f = fopen(RS_SOURCE_DIR "/tests/data/audit-checks.txt", "r");
	unsigned n = 0, lacking = 0;
	char line[2048];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char id[8], name[64];
		const struct rs_rule *r;

		if (sscanf(line, "%3[A-Z0-9] %63[^\n]", id, name) != 2 || !isdigit(id[2]))
			continue;
		n++;
		r = rs_rule_find(id);
		if (r && !strcmp(r->id, id) && documented(id))
			continue;
		print_error("%s %s is no check of its own, or not in docs/audit.md\n", id, name);
		lacking++;
	}
	fclose(f);
	assert_int_equal(n, 104);
	assert_int_equal(lacking, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_case_is_judged_as_it_says),
		cmocka_unit_test(test_each_check_has_all_four_kinds),
		cmocka_unit_test(test_each_check_of_the_list_is_one_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
