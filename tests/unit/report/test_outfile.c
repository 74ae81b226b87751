/*
 * An output file is whole or absent, whatever happens in between.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

static char dir[] = "/tmp/ripstop-outfile-XXXXXX";
static char path[64];

static int start(void **state)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/out.json", dir);
	return 0;
}

/* Files in the directory; removes them when asked. */
static int entries(bool remove_them)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int n = 0;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		n++;
		if (remove_them)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	closedir(d);
	return n;
}

static int stop(void **state)
{
	entries(true);
	return rmdir(dir);
}

static void put(const char *name, const char *contents)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(contents, f);
	fclose(f);
}

static void assert_contents(const char *name, const char *expected)
{
	char buf[64] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	assert_non_null(fgets(buf, sizeof(buf), f));
	fclose(f);
	assert_string_equal(buf, expected);
}

static void test_outfile_appears_at_commit_only(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};

	assert_int_equal(rs_outfile_open(&o, path, &e), 0);
	fputs("whole", o.f);
	fflush(o.f);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rs_outfile_commit(&o, &e), 0);
	assert_contents(path, "whole");
	assert_int_equal(entries(false), 1);
}

static void test_outfile_abort_keeps_what_was_there(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};

	put(path, "old");
	assert_int_equal(rs_outfile_open(&o, path, &e), 0);
	fputs("half", o.f);
	rs_outfile_abort(&o);
	rs_outfile_abort(&o);
	assert_contents(path, "old");
	assert_int_equal(entries(false), 1);
}

static void test_outfile_replaces_the_file_behind_a_link(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};
	struct stat st;
	char name[96];

	put(path, "old");
	snprintf(name, sizeof(name), "%s/link", dir);
	assert_int_equal(symlink(path, name), 0);
	assert_int_equal(rs_outfile_open(&o, name, &e), 0);
	fputs("new", o.f);
	assert_int_equal(rs_outfile_commit(&o, &e), 0);
	assert_contents(path, "new");
	assert_int_equal(lstat(name, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_outfile_takes_over_a_dead_namesake(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};
	char stale[96];

	snprintf(stale, sizeof(stale), "%s.tmp.%ld", path, (long)getpid());
	put(stale, "left by a killed process");
	assert_int_equal(rs_outfile_open(&o, path, &e), 0);
	fputs("new", o.f);
	assert_int_equal(rs_outfile_commit(&o, &e), 0);
	assert_contents(path, "new");
	assert_int_equal(entries(false), 1);
}

static void test_outfile_says_why_it_cannot_be_opened(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};
	char name[96];

	snprintf(name, sizeof(name), "%s/absent/out", dir);
	assert_int_equal(rs_outfile_open(&o, name, &e), -ENOENT);
	assert_non_null(strstr(e.what, "cannot write here"));
	assert_string_equal(e.file, name);
	memset(&e, 0, sizeof(e));
	assert_int_equal(rs_outfile_open(&o, dir, &e), -EISDIR);
}

static void test_outfile_refuses_a_name_that_does_not_fit(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};
	char name[600];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(rs_outfile_open(&o, name, &e), -ENAMETOOLONG);
}

static void test_outfile_writes_devices_in_place(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};
	struct stat st;

	assert_int_equal(rs_outfile_open(&o, "/dev/null", &e), 0);
	fputs("gone", o.f);
	assert_int_equal(rs_outfile_commit(&o, &e), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void test_outfile_reports_a_full_disk(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};

	if (access("/dev/full", W_OK)) {
		print_message("no /dev/full here\n");
		skip();
	}
	assert_int_equal(rs_outfile_open(&o, "/dev/full", &e), 0);
	fputs("lost", o.f);
	assert_int_equal(rs_outfile_commit(&o, &e), -ENOSPC);
}

static void test_outfile_dash_is_standard_output_and_stays_open(void **state)
{
	struct rs_outfile o;
	struct rs_error e = {0};

	assert_int_equal(rs_outfile_open(&o, "-", &e), 0);
	assert_ptr_equal(o.f, stdout);
	assert_int_equal(rs_outfile_commit(&o, &e), 0);
	assert_int_equal(fflush(stdout), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_outfile_appears_at_commit_only, start, stop),
		cmocka_unit_test_setup_teardown(test_outfile_abort_keeps_what_was_there, start,
						stop),
		cmocka_unit_test_setup_teardown(test_outfile_replaces_the_file_behind_a_link, start,
						stop),
		cmocka_unit_test_setup_teardown(test_outfile_takes_over_a_dead_namesake, start,
						stop),
		cmocka_unit_test_setup_teardown(test_outfile_says_why_it_cannot_be_opened, start,
						stop),
		cmocka_unit_test(test_outfile_refuses_a_name_that_does_not_fit),
		cmocka_unit_test(test_outfile_writes_devices_in_place),
		cmocka_unit_test(test_outfile_reports_a_full_disk),
		cmocka_unit_test(test_outfile_dash_is_standard_output_and_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
