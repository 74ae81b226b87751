/* Two files that tell of one thing: the same, differently, or of what may differ by right. */
#include "reading.h"

static enum rs_verdict told(const char *subject, const char *name, const char *x, const char *y,
			    const char *other_file)
{
	struct rs_fact f = {.host = "a",
			    .subject = subject,
			    .name = name,
			    .value = x,
			    .trust = RS_TRUST_DUMP,
			    .file = "a/one.txt",
			    .line = 1};
	const char *only[] = {"E02", NULL};
	enum rs_verdict v = RS_NA;
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_facts_add(a->facts, &f), 0);
	f.value = y;
	f.file = other_file;
	f.trust = RS_TRUST_TOOL;
	assert_int_equal(rs_facts_add(a->facts, &f), 0);
	assert_int_equal(rs_audit_run(a, only, NULL, NULL), 0);
	if (a->n_findings) {
		v = a->findings[0]->verdict;
		assert_int_equal(a->findings[0]->severity, RS_MINOR);
		if (v == RS_FAIL)
			assert_int_equal(a->findings[0]->n_facts, 2);
	}
	rs_audit_destroy(a);
	return v;
}

static void test_two_sources_agree_or_do_not(void **state)
{
	assert_int_equal(told("netdev/eth0", "mtu", "9000", "9000", "a/two.txt"), RS_PASS);
	assert_int_equal(told("netdev/eth0", "mtu", "9000", "1500", "a/two.txt"), RS_FAIL);
	assert_int_equal(told("netdev/eth0", "pfc/3", "1", "0", "a/two.txt"), RS_FAIL);
	(void)state;
}

static void test_what_may_differ_by_right_is_not_compared(void **state)
{
	/* one file tells a table's row twice; counters run; a device without a name is any */
	assert_int_equal(told("netdev/eth0", "mtu", "9000", "1500", "a/one.txt"), RS_NA);
	assert_int_equal(told("nic/m", "counter/symbol_error", "1", "2", "a/two.txt"), RS_NA);
	assert_int_equal(told("netdev/unnamed", "mtu", "9000", "1500", "a/two.txt"), RS_NA);
	assert_int_equal(told("netdev/eth0", "mtu_max", "1", "2", "a/two.txt"), RS_NA);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_sources_agree_or_do_not),
		cmocka_unit_test(test_what_may_differ_by_right_is_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
