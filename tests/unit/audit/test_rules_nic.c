/* NICs as the operating system has them: each check right, wrong, in doubt, and where it looks
 * wrong but is not. */
#include "judge.h"

/* ---- H04 ---- */

#define VECTOR                                                            \
	{                                                                 \
		"a", "irq/98", "action", "mlx5_comp3@pci:0000:17:00.0", 0 \
	}
#define TO(cpus)                               \
	{                                      \
		"a", "irq/98", "cpus", cpus, 0 \
	}
#define LOCAL                                                           \
	{                                                               \
		"a", "pci/0000:17:00.0", "local_cpus", "0-47,96-143", 0 \
	}

static void test_interrupts_are_near_their_nic(void **state)
{
	assert_int_equal(verdict("H04", FACTS(VECTOR, LOCAL, TO("3"))), RS_PASS);
	assert_int_equal(verdict("H04", FACTS(VECTOR, LOCAL, TO("48-49"))), RS_FAIL);
	assert_int_equal(verdict("H04", FACTS(VECTOR, LOCAL)), RS_UNKNOWN);
	/* a command queue's is no completion's */
	assert_int_equal(
		verdict("H04", FACTS({"a", "irq/9", "action", "mlx5_async0@pci:0000:17:00.0", 0},
				     {"a", "irq/9", "cpus", "48", 0}, LOCAL)),
		RS_NA);
}

/* ---- H05 ---- */

#define RDMA                                         \
	{                                            \
		"a", "nic/mlx5_0", "netdev", "e0", 0 \
	}

static void test_locked_memory(void **state)
{
	struct judged j;

	assert_int_equal(verdict("H05", FACTS(RDMA, {"a", "host", "memlock", "unlimited", 0})),
			 RS_PASS);
	assert_int_equal(verdict("H05", FACTS(RDMA, {"a", "host", "memlock", "65536", 0})),
			 RS_FAIL);
	/* where a registration failed it is critical */
	j = judge("H05", FACTS(RDMA, {"a", "host", "memlock", "65536", 0},
			       {"a", "nccl", "verbs_failure",
				"ibv_reg_mr_iova2 failed with error Cannot allocate memory", 0}));
	assert_int_equal(j.a->findings[0]->severity, RS_CRITICAL);
	rs_audit_destroy(j.a);
	/* nothing is registered on a host without RDMA: the state is a note */
	j = judge("H05", FACTS({"a", "host", "memlock", "65536", 0}));
	assert_int_equal(j.a->findings[0]->severity, RS_INFO);
	rs_audit_destroy(j.a);
}

static void test_limit_of_the_auditing_shell_is_not_the_jobs(void **state)
{
	const char *only[] = {"H05", NULL};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	rs_facts_add(a->facts, &(struct rs_fact){.host = "a",
						 .subject = "nic/m",
						 .name = "netdev",
						 .value = "e0",
						 .file = "x"});
	rs_facts_add(a->facts, &(struct rs_fact){.host = "a",
						 .subject = "host",
						 .name = "memlock",
						 .value = "65536",
						 .file = "/proc/self/limits"});
	assert_int_equal(rs_audit_run(a, only, NULL, NULL), 0);
	assert_int_equal(a->findings[0]->verdict, RS_UNKNOWN);
	rs_audit_destroy(a);
}

/* ---- H06 ---- */

static void test_huge_pages_never_fail(void **state)
{
	assert_int_equal(verdict("H06", FACTS({"a", "host", "hugepages", "0", 0})), RS_PASS);
	assert_int_equal(verdict("H06", FACTS({"a", "host", "hugepages", "4096", 0})), RS_PASS);
	assert_int_equal(verdict("H06", FACTS({"a", "host", "kernel", "6.1", 0})), RS_NA);
}

/* ---- H07 ---- */

#define TWO(x, y)                                                               \
	{"a", "nic/m0", "netdev", "e0", 0}, {"a", "nic/m1", "netdev", "e1", 0}, \
		{"a", "netdev/e0", "address", x, 0},                            \
	{                                                                       \
		"a", "netdev/e1", "address", y, 0                               \
	}
#define ARP(i, n)                                     \
	{"a", "host", "arp_ignore/all", i, 0},        \
	{                                             \
		"a", "host", "arp_announce/all", n, 0 \
	}
#define RULES                                                             \
	{"a", "host", "rules_seen", "1", 0},                              \
		{"a", "host", "rule/100", "from 10.1.0.5 lookup 101", 0}, \
	{                                                                 \
		"a", "host", "rule/101", "from 10.1.0.6 lookup 102", 0    \
	}

static void test_each_source_leaves_by_its_own_interface(void **state)
{
	assert_int_equal(
		verdict("H07", FACTS(TWO("10.1.0.5/16", "10.1.0.6/16"), ARP("1", "2"), RULES)),
		RS_PASS);
	assert_int_equal(
		verdict("H07", FACTS(TWO("10.1.0.5/16", "10.1.0.6/16"), ARP("0", "0"), RULES)),
		RS_FAIL);
	assert_int_equal(verdict("H07", FACTS(TWO("10.1.0.5/16", "10.1.0.6/16"), ARP("1", "2"),
					      {"a", "host", "rules_seen", "1", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("H07", FACTS(TWO("10.1.0.5/16", "10.1.0.6/16"))), RS_UNKNOWN);
	/* disjoint networks need none of it */
	assert_int_equal(verdict("H07", FACTS(TWO("10.1.0.5/16", "10.2.0.6/16"), ARP("0", "0"))),
			 RS_PASS);
	assert_int_equal(verdict("H07", FACTS({"a", "nic/m0", "netdev", "e0", 0},
					      {"a", "netdev/e0", "address", "10.1.0.5/16", 0})),
			 RS_NA);
}

/* ---- H08 ---- */

#define BOND(mode, hash)                                                                      \
	{"a", "nic/mlx5_bond_0", "netdev", "bond0", 0}, {"a", "bond/bond0", "mode", mode, 0}, \
		{"a", "bond/bond0", "xmit_hash_policy", hash, 0},                             \
	{                                                                                     \
		"a", "bond/bond0", "slaves", "e0 e1", 0                                       \
	}
#define SLAVES(x, y)                               \
	{"a", "netdev/e0", "bus-info", x, 0},      \
	{                                          \
		"a", "netdev/e1", "bus-info", y, 0 \
	}

static void test_bond_under_roce(void **state)
{
	static const char *const lacp = "IEEE 802.3ad Dynamic link aggregation";

	assert_int_equal(verdict("H08", FACTS(BOND(lacp, "layer3+4 (1)"),
					      SLAVES("0000:17:00.0", "0000:17:00.1"))),
			 RS_PASS);
	assert_int_equal(verdict("H08", FACTS(BOND(lacp, "layer2 (0)"),
					      SLAVES("0000:17:00.0", "0000:17:00.1"))),
			 RS_FAIL);
	/* two cards */
	assert_int_equal(verdict("H08", FACTS(BOND(lacp, "layer3+4 (1)"),
					      SLAVES("0000:17:00.0", "0000:af:00.0"))),
			 RS_FAIL);
	assert_int_equal(verdict("H08", FACTS(BOND("balance-rr 0", "layer3+4 (1)"))), RS_FAIL);
	assert_int_equal(verdict("H08", FACTS({"a", "nic/mlx5_bond_0", "netdev", "bond0", 0},
					      {"a", "bond/bond0", "slaves", "e0 e1", 0})),
			 RS_UNKNOWN);
	/* the front end's bond has no RDMA */
	assert_int_equal(verdict("H08", FACTS({"a", "bond/bond0", "mode", "balance-rr 0", 0},
					      {"a", "nic/mlx5_0", "netdev", "e5", 0})),
			 RS_NA);
}

/* ---- H09 ---- */

#define UP(nic, state, rate)                                                                \
	{"a", "nic/" nic, "port_state", state, 0}, {"a", "nic/" nic, "rate_gbps", rate, 0}, \
	{                                                                                   \
		"a", "nic/" nic, "board_id", "MT_1", 0                                      \
	}
#define LISTED                                                 \
	{                                                      \
		"a", "env", "NCCL_IB_HCA", "=mlx5_0,mlx5_1", 0 \
	}

static void test_rails_are_up_at_their_siblings_rate(void **state)
{
	struct judged j;

	assert_int_equal(verdict("H09", FACTS(LISTED, UP("mlx5_0", "ACTIVE", "400"),
					      UP("mlx5_1", "ACTIVE", "400"))),
			 RS_PASS);
	assert_int_equal(verdict("H09", FACTS(LISTED, UP("mlx5_0", "ACTIVE", "400"),
					      UP("mlx5_1", "DOWN", "400"))),
			 RS_FAIL);
	assert_int_equal(verdict("H09", FACTS(LISTED, UP("mlx5_0", "ACTIVE", "400"),
					      UP("mlx5_1", "ACTIVE", "100"))),
			 RS_FAIL);
	/* a port that is no rail may be down: a note */
	j = judge("H09", FACTS(LISTED, UP("mlx5_0", "ACTIVE", "400"), UP("mlx5_7", "DOWN", "10")));
	assert_int_equal(j.a->findings[0]->severity, RS_INFO);
	rs_audit_destroy(j.a);
	/* which ones are rails is not known, but all that are there are down */
	assert_int_equal(verdict("H09", FACTS(UP("mlx5_1", "DOWN", "400"))), RS_FAIL);
}

/* ---- R01 ---- */

#define LAYER(h, layer)                                 \
	{h, "env", "NCCL_IB_HCA", "=mlx5_0", 0},        \
	{                                               \
		h, "nic/mlx5_0", "link_layer", layer, 0 \
	}

static void test_hosts_of_a_job_have_one_link_layer(void **state)
{
	assert_int_equal(verdict("R01", FACTS(LAYER("a", "InfiniBand"), LAYER("b", "InfiniBand"))),
			 RS_PASS);
	assert_int_equal(verdict("R01", FACTS(LAYER("a", "InfiniBand"), LAYER("b", "Ethernet"))),
			 RS_FAIL);
	assert_int_equal(verdict("R01", FACTS(LAYER("a", "InfiniBand"))), RS_NA);
	/* a storage port of the other layer is no rail */
	assert_int_equal(verdict("R01", FACTS(LAYER("a", "InfiniBand"), LAYER("b", "InfiniBand"),
					      {"b", "nic/mlx5_9", "link_layer", "Ethernet", 0})),
			 RS_PASS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupts_are_near_their_nic),
		cmocka_unit_test(test_locked_memory),
		cmocka_unit_test(test_limit_of_the_auditing_shell_is_not_the_jobs),
		cmocka_unit_test(test_huge_pages_never_fail),
		cmocka_unit_test(test_each_source_leaves_by_its_own_interface),
		cmocka_unit_test(test_bond_under_roce),
		cmocka_unit_test(test_rails_are_up_at_their_siblings_rate),
		cmocka_unit_test(test_hosts_of_a_job_have_one_link_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
