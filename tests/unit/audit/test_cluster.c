/* The audited hosts as a cluster: what takes part, and that its description is one. */
#include <errno.h>
#include <stdlib.h>
#include "audit/price/cluster.h"
#include "describe/describe.h"
#include "fabric/fabric.h"
#include "unit/audit/judge.h"

static struct rs_fabric *written(const struct rs_cluster *c)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	assert_int_equal(rs_cluster_write(c, out), 0);
	fclose(out);
	if (rs_fabric_load_text(text, n, "test", ".", NULL, 0, &f, &e))
		fail_msg("%d: %s\n%s", e.line, e.what, text);
	free(text);
	return f;
}

#define HOST(h)                                                                               \
	{h, "pci/0000:13:00.0", "kind", "gpu", 0}, {h, "pci/0000:14:00.0", "kind", "nic", 0}, \
		{h, "pci/0000:14:00.0", "link_speed", "160", 0},                              \
		{h, "pci/0000:14:00.0", "link_width", "16", 0},                               \
		{h, "nic/mlx5_0", "pci", "0000:14:00.0", 0},                                  \
	{                                                                                     \
		h, "nic/mlx5_0", "rate_gbps", "200", 0                                        \
	}

static void test_hosts_with_insides_become_a_rail_network(void **state)
{
	struct judged j = judge("P01", FACTS(HOST("a: \"b', [c]"), HOST("gpu02")));
	struct rs_cluster c;
	struct rs_fabric *f;

	assert_int_equal(rs_audit_cluster(j.a, NULL, RS_CLUSTER_HOSTS, &c, NULL), 0);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.nics, 1);
	assert_false(c.rate_assumed);
	f = written(&c);
	assert_int_equal(f->n_hosts, 2);
	assert_int_equal(f->n_gpus, 2);
	assert_int_equal(f->endpoints[0].rate, INT64_C(200000000000));
	assert_non_null(f->hosts[0].inside);
	rs_fabric_free(f);
	rs_audit_destroy(j.a);
}

static void test_the_hosts_of_a_finding_come_first(void **state)
{
	struct judged j = judge("P01", FACTS(HOST("gpu01"), HOST("gpu02"), HOST("gpu03")));
	const char *first[] = {"gpu03", NULL};
	struct rs_cluster c;

	assert_int_equal(rs_audit_cluster(j.a, first, 2, &c, NULL), 0);
	assert_string_equal(c.host[0].name, "gpu03");
	assert_string_equal(c.host[1].name, "gpu01");
	assert_int_equal(c.n, 2);
	rs_audit_destroy(j.a);
}

static void test_without_pci_all_hosts_are_plain(void **state)
{
	struct judged j =
		judge("P01", FACTS(HOST("gpu01"), {"gpu02", "nic/mlx5_0", "rate_gbps", "400", 0},
				   {"leaf1", "host", "role", "switch", 0},
				   {"leaf1", "netdev/x", "mtu", "9000", 0},
				   {"notes", "env", "NCCL_IB_TC", "106", 0}));
	struct rs_cluster c;
	struct rs_fabric *f;

	assert_int_equal(rs_audit_cluster(j.a, NULL, RS_CLUSTER_HOSTS, &c, NULL), 0);
	assert_int_equal(c.n, 2);
	assert_null(c.host[0].inside);
	for (int load = RS_LOAD_RINGS; load <= RS_LOAD_BYSTANDER; load++) {
		c.load = (enum rs_cluster_load)load;
		f = written(&c);
		assert_int_equal(f->n_hosts, load == RS_LOAD_BYSTANDER ? 3 : 2);
		assert_int_equal(f->endpoints[0].rate, INT64_C(400000000000));
		rs_fabric_free(f);
	}
	rs_audit_destroy(j.a);
}

static void test_switches_alone_are_no_cluster(void **state)
{
	struct judged j = judge("P01", FACTS({"leaf1", "host", "role", "switch", 0}));
	struct rs_cluster c;

	assert_int_equal(rs_audit_cluster(j.a, NULL, RS_CLUSTER_HOSTS, &c, NULL), -ENODATA);
	rs_audit_destroy(j.a);
}

static void test_a_rate_that_nothing_says_is_marked_as_assumed(void **state)
{
	struct judged j = judge("P01", FACTS({"gpu02", "netdev/eth0", "mtu", "1500", 0}));
	struct rs_cluster c;

	assert_int_equal(rs_audit_cluster(j.a, NULL, RS_CLUSTER_HOSTS, &c, NULL), 0);
	assert_true(c.rate_assumed);
	rs_audit_destroy(j.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_with_insides_become_a_rail_network),
		cmocka_unit_test(test_the_hosts_of_a_finding_come_first),
		cmocka_unit_test(test_without_pci_all_hosts_are_plain),
		cmocka_unit_test(test_switches_alone_are_no_cluster),
		cmocka_unit_test(test_a_rate_that_nothing_says_is_marked_as_assumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
