/* A site's expectations: the grammar's refusals, values, suppressions with an end. */
#include <errno.h>
#include "audit/read/profile.h"
#include "audit/rules/profile.h"
#include "unit/audit/judge.h"

static void refuses(const char *text, int line, const char *says)
{
	struct rs_error e = {0};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(
		rs_audit_profile_text(a, text, strlen(text), "site.yaml", rs_rule_known, &e),
		-EINVAL);
	assert_int_equal(e.line, line);
	if (!strstr(e.what, says))
		fail_msg("'%s' does not say '%s'", e.what, says);
	assert_null(a->profile);
	rs_audit_destroy(a);
}

static void test_what_is_not_understood_is_refused_with_its_line(void **state)
{
	refuses("settings:\n  cable: 3\n", 2, "cable");
	refuses("settings:\n  cable_m: long\n", 2, "long");
	refuses("skip: [P02, Z99]\n", 1, "Z99");
	refuses("expect:\n  - name: x\n", 2, "subject");
	refuses("expect:\n  - subject: nic/*\n", 2, "expects nothing");
	refuses("expect:\n  - {subject: a, facts: {b: []}}\n", 2, "expected a value");
	refuses("expect:\n  - {subject: a, count: 1, severity: awful}\n", 2, "awful");
	refuses("suppress:\n  - check: P02\n", 2, "reason");
	refuses("suppress:\n  - {check: P02, reason: r, until: soon}\n", 2, "2027-01-31");
	refuses("expects: []\n", 1, "expects");
}

static void test_values_compare_as_versions_do(void **state)
{
	static const struct {
		const char *value, *expected;
		bool meets;
	} cases[] = {
		{"28.39.1002", ">=28.39.1002", true},
		{"28.39.2048", ">=28.39.1002", true},
		{"28.9.1002", ">=28.39.1002", false},
		{"v28.39.1002", "=28.39.1002", true},
		{"400", ">=400", true},
		{"50", ">=400", false},
		{"50", "<400", true},
		{"MT_0000000970", "MT_*", true},
		{"ACTIVE", "ACTIVE", true},
		{"DOWN", "ACTIVE", false},
		{"0", "!=0", false},
		{"1", "!= 0", true},
		{"", "*", true},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(rs_profile_meets(cases[i].value, cases[i].expected),
				 cases[i].meets);
}

static const char site[] = "settings: {cable_m: 5, lossless: no}\n"
			   "expect:\n"
			   "  - name: firmware of the H100 NICs\n"
			   "    hosts: gpu*\n"
			   "    subject: nic/mlx5_*\n"
			   "    where: {board_id: [MT_0000000970, MT_0000000971]}\n"
			   "    count: 2\n"
			   "    severity: minor\n"
			   "    facts: {firmware: '>=28.39.1002'}\n"
			   "suppress:\n"
			   "  - {check: E01, hosts: gpu02, reason: on loan, until: 2030-01-31}\n";

static struct judged with_profile(const struct told *t)
{
	struct judged j;

	assert_int_equal(rs_audit_create(&j.a), 0);
	assert_int_equal(rs_audit_profile_text(j.a, site, sizeof(site) - 1, "site.yaml",
					       rs_rule_known, NULL),
			 0);
	for (; t->host; t++) {
		struct rs_fact f = {.host = t->host,
				    .subject = t->subject,
				    .name = t->name,
				    .value = t->value,
				    .file = "test"};

		assert_int_equal(rs_facts_add(j.a->facts, &f), 0);
	}
	assert_int_equal(rs_audit_run(j.a, (const char *const[]){"E01", NULL}, NULL, NULL), 0);
	return j;
}

#define NIC(host, nic, fw)                                  \
	{host, "nic/" nic, "board_id", "MT_0000000970", 0}, \
	{                                                   \
		host, "nic/" nic, "firmware", fw, 0         \
	}

static void test_as_expected_is_a_pass(void **state)
{
	struct judged j = with_profile(FACTS(NIC("gpu01", "mlx5_0", "28.39.1002"),
					     NIC("gpu01", "mlx5_1", "28.40.1000"),
					     {"gpu01", "nic/mlx5_2", "board_id", "DELL", 0},
					     {"gpu01", "nic/mlx5_2", "firmware", "1.0", 0}));

	assert_int_equal(j.a->n_findings, 1);
	assert_int_equal(j.a->findings[0]->verdict, RS_PASS);
	assert_true(j.a->set.cable_m == 5);
	assert_false(j.a->set.lossless);
	rs_audit_destroy(j.a);
}

static void test_older_firmware_and_a_missing_nic_fail(void **state)
{
	struct judged j = with_profile(FACTS(NIC("gpu01", "mlx5_0", "28.39.1000"),
					     NIC("gpu01", "mlx5_1", "28.39.1002"),
					     NIC("gpu03", "mlx5_0", "28.39.1002")));
	const struct rs_finding *f = j.a->findings[0];

	assert_int_equal(f->verdict, RS_FAIL);
	assert_int_equal(f->severity, RS_MINOR);
	assert_int_equal(f->n_subjects, 2);
	assert_string_equal(f->subject[0].part, "mlx5_0");
	assert_string_equal(f->subject[1].host, "gpu03");
	assert_non_null(strstr(f->title, "28.39.1000"));
	assert_int_equal(f->n_facts, 1);
	rs_audit_destroy(j.a);
}

static void test_what_was_not_seen_is_unknown(void **state)
{
	struct judged j =
		with_profile(FACTS(NIC("gpu01", "mlx5_0", "28.39.1002"),
				   {"gpu01", "nic/mlx5_1", "board_id", "MT_0000000970", 0}));

	assert_int_equal(j.a->findings[0]->verdict, RS_UNKNOWN);
	assert_int_equal(j.a->findings[0]->n_needs, 1);
	rs_audit_destroy(j.a);
}

static void test_a_suppression_holds_until_its_day_and_for_its_hosts_alone(void **state)
{
	struct judged j =
		with_profile(FACTS(NIC("gpu02", "mlx5_0", "1"), NIC("gpu02", "mlx5_1", "1")));

	assert_true(j.a->findings[0]->suppressed);
	assert_string_equal(j.a->findings[0]->suppressed_why, "on loan");
	assert_int_equal(rs_audit_status(j.a, true, false), 0);
	j.a->findings[0]->suppressed = false;
	rs_profile_suppress(j.a, "2030-01-31");
	assert_true(j.a->findings[0]->suppressed);
	j.a->findings[0]->suppressed = false;
	rs_profile_suppress(j.a, "2030-02-01");
	assert_false(j.a->findings[0]->suppressed);
	rs_audit_destroy(j.a);
	j = with_profile(FACTS(NIC("gpu02", "mlx5_0", "1"), NIC("gpu02", "mlx5_1", "1"),
			       NIC("gpu03", "mlx5_0", "1"), NIC("gpu03", "mlx5_1", "1")));
	assert_false(j.a->findings[0]->suppressed);
	rs_audit_destroy(j.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_understood_is_refused_with_its_line),
		cmocka_unit_test(test_values_compare_as_versions_do),
		cmocka_unit_test(test_as_expected_is_a_pass),
		cmocka_unit_test(test_older_firmware_and_a_missing_nic_fail),
		cmocka_unit_test(test_what_was_not_seen_is_unknown),
		cmocka_unit_test(test_a_suppression_holds_until_its_day_and_for_its_hosts_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
