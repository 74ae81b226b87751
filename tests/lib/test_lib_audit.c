/* ripstop/audit.h through the shared library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <ripstop/audit.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lspci[] =
	"19:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
	"\tNUMA node: 0\n"
	"\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
	"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
	"\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n";

static void ok(int err, struct ripstop_error **e)
{
	if (err)
		fail_msg("%s", ripstop_error_text(*e));
}

/* The number of the finding of this rule that fails; -1: it does not. */
static long failed(const struct ripstop_audit *a, const char *id, struct ripstop_finding *f)
{
	for (size_t i = 0; ripstop_audit_findings(a, i, 1, f, sizeof(*f)) > i; i++)
		if (!strcmp(f->id, id) && f->verdict == RIPSTOP_FAIL)
			return (long)i;
	return -1;
}

static void check_slot(const struct ripstop_audit *a, const char *file)
{
	struct ripstop_finding f;
	struct ripstop_place place;
	struct ripstop_evidence fact[8];
	struct ripstop_fix fix[8];
	long i = failed(a, "P01", &f);
	size_t n, speed = 0;

	assert_true(i >= 0);
	assert_int_equal(f.severity, RIPSTOP_MAJOR);
	assert_int_equal(f.places, 1);
	assert_int_equal(ripstop_audit_places(a, (size_t)i, 0, 1, &place, sizeof(place)), 1);
	assert_string_equal(place.host, "gpu01");
	assert_string_equal(place.part, "0000:19:00.0");
	n = ripstop_audit_evidence(a, (size_t)i, 0, 8, fact, sizeof(fact[0]));
	assert_true(n == f.evidence && n >= 2);
	for (size_t k = 0; k < n && k < 8; k++)
		if (!strcmp(fact[k].name, "link_speed")) {
			speed++;
			assert_string_equal(fact[k].value, "160");
			assert_int_equal(fact[k].line, 5);
			assert_non_null(strstr(fact[k].file, file));
		}
	assert_int_equal(speed, 1);
	n = ripstop_audit_fixes(a, (size_t)i, 0, 8, fix, sizeof(fix[0]));
	assert_true(n == f.fixes && n >= 1);
	assert_string_equal(fix[0].on, "gpu01");
	assert_true(*fix[0].command);
	assert_int_equal(ripstop_audit_fixes(a, 100000, 0, 8, fix, sizeof(fix[0])), 0);
	assert_int_equal(ripstop_audit_status(a, 0, 1), 1);
}

static void test_a_text(void **state)
{
	struct ripstop_audit *a;
	struct ripstop_error *e = NULL;
	char *json;

	ok(ripstop_audit_new(&a, &e), &e);
	ok(ripstop_audit_read_text(a, "gpu01", "lspci_vv.txt", lspci, &e), &e);
	ok(ripstop_audit_run(a, NULL, &e), &e);
	check_slot(a, "lspci_vv.txt");
	ok(ripstop_audit_json(a, &json, &e), &e);
	assert_non_null(strstr(json, "\"id\": \"P01\""));
	ripstop_free(json);
	assert_int_equal(ripstop_audit_run(a, NULL, &e), -EINVAL);
	ripstop_error_free(e);
	assert_int_equal(ripstop_audit_read(a, "/tmp", NULL, &e), -EINVAL);
	ripstop_error_free(e);
	ripstop_audit_free(a);
}

static void test_a_folder(void **state)
{
	char folder[] = "/tmp/ripstop-audit-XXXXXX", path[64];
	struct ripstop_audit_options o = RIPSTOP_INIT(struct ripstop_audit_options);
	const char *only[] = {"P01", NULL}, *unknown[] = {"X99", NULL};
	struct ripstop_file file;
	struct ripstop_finding f;
	struct ripstop_audit *a;
	struct ripstop_error *e = NULL;
	FILE *out;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/lspci_vv.txt", folder);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(lspci, out);
	fclose(out);
	ok(ripstop_audit_new(&a, &e), &e);
	assert_true(ripstop_audit_read(a, "/nonexistent", NULL, &e) < 0);
	ripstop_error_free(e);
	ok(ripstop_audit_read(a, folder, "gpu01", &e), &e);
	o.only = unknown;
	assert_int_equal(ripstop_audit_run(a, &o, &e), -EINVAL);
	ripstop_error_free(e);
	o.only = only;
	ok(ripstop_audit_run(a, &o, &e), &e);
	check_slot(a, "lspci_vv.txt");
	assert_true(ripstop_audit_files(a, 0, 1, &file, sizeof(file)) >= 1); /* an entry a reader */
	assert_string_equal(file.host, "gpu01");
	assert_true(file.facts > 2 && *file.reader);
	for (size_t i = 0; ripstop_audit_findings(a, i, 1, &f, sizeof(f)) > i; i++)
		assert_string_equal(f.id, "P01");
	ripstop_audit_free(a);
	unlink(path);
	rmdir(folder);
}

static void test_nothing_read(void **state)
{
	struct ripstop_audit *a;
	struct ripstop_error *e = NULL;

	ok(ripstop_audit_new(&a, &e), &e);
	ok(ripstop_audit_run(a, NULL, &e), &e);
	assert_int_equal(ripstop_audit_status(a, 0, 0), 4);
	assert_int_equal(ripstop_audit_status(a, 0, 1), 0);
	ripstop_audit_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_text),
		cmocka_unit_test(test_a_folder),
		cmocka_unit_test(test_nothing_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
