/* Whole sites in a file each (sites/NAME.case), audited like a user's directory: what is wrong is
 * among the first three findings, and nothing that is right is accused of more than a minor fault.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "judge.h"

/*
 * A case: lines "first: ID..." (one of these is among the first three findings that are no PASS)
 * and "may: ID..." (these may fail, too), then files, each behind "=== PATH".
 */
struct site {
	char name[64], root[64], first[256], may[256];
};

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;

	assert_non_null(f);
	assert_true(getdelim(&text, &n, EOF, f) > 0);
	fclose(f);
	return text;
}

static void make_parents(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(!mkdir(path, 0700) || errno == EEXIST);
		*p = '/';
	}
}

static void unpack(struct site *s, char *text)
{
	FILE *out = NULL;

	for (char *line = text, *next; line && *line; line = next) {
		char path[512];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strncmp(line, "=== ", 4)) {
			if (out)
				fclose(out);
			snprintf(path, sizeof(path), "%s/%s", s->root, line + 4);
			make_parents(path);
			out = fopen(path, "w");
			assert_non_null(out);
		} else if (out) {
			fprintf(out, "%s\n", line);
		} else if (!strncmp(line, "first:", 6)) {
			snprintf(s->first, sizeof(s->first), "%s ", line + 6);
		} else if (!strncmp(line, "may:", 4)) {
			snprintf(s->may, sizeof(s->may), "%s ", line + 4);
		}
	}
	assert_non_null(out);
	fclose(out);
}

static void take_away(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char sub[768];

		if (e->d_name[0] == '.')
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		if (unlink(sub))
			take_away(sub);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

static bool has(const char *list, const char *id)
{
	char word[16];

	snprintf(word, sizeof(word), " %s ", id);
	return strstr(list, word) != NULL;
}

/* How many things are wrong with what the audit says of the site. */
static unsigned judge_site(const struct site *s, const struct rs_audit *a)
{
	unsigned told = 0, wrong = 0;
	bool found = !*s->first;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];
		const char *id = f->rule->id;

		if (f->verdict != RS_FAIL && f->verdict != RS_UNKNOWN)
			continue;
		found |= told++ < 3 && has(s->first, id);
		if (f->verdict == RS_FAIL && f->severity >= RS_MAJOR && !has(s->first, id) &&
		    !has(s->may, id)) {
			print_error("%s: %s %s\n", s->name, id, f->title);
			wrong++;
		}
	}
	if (!found)
		print_error("%s: none of%sis among the first three findings\n", s->name, s->first);
	return wrong + !found;
}

static unsigned audit_site(const char *path, const char *name)
{
	struct site s = {.root = "/tmp/ripstop-site-XXXXXX"};
	char *text = slurp(path);
	struct rs_error e = {0};
	struct rs_audit *a;
	unsigned wrong;

	snprintf(s.name, sizeof(s.name), "%s", name);
	assert_non_null(mkdtemp(s.root));
	unpack(&s, text);
	free(text);
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, s.root, NULL, 0, &e), 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, &e), 0);
	wrong = judge_site(&s, a);
	rs_audit_destroy(a);
	take_away(s.root);
	return wrong;
}

static void test_sites_are_judged_as_they_say(void **state)
{
	static const char dir[] = RS_SOURCE_DIR "/tests/unit/audit/sites";
	unsigned cases = 0, wrong = 0;
	char path[1024];
	struct dirent *e;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d))) {
		char *end = strstr(e->d_name, ".case");

		if (!end)
			continue;
		cases++;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		wrong += audit_site(path, e->d_name);
	}
	closedir(d);
	assert_true(cases >= 40);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_are_judged_as_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
