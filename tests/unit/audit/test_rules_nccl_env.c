/* NCCL's variables and device list against the release and the host: each check right, wrong, in
 * doubt, and where it looks wrong but is not. */
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "judge.h"

#define ENV(name, value)                   \
	{                                  \
		"a", "env", name, value, 0 \
	}
#define NIC(name, state, layer, rate)                                                           \
	{"a", "nic/" name, "port_state", state, 0}, {"a", "nic/" name, "link_layer", layer, 0}, \
	{                                                                                       \
		"a", "nic/" name, "rate_gbps", rate, 0                                          \
	}
#define RAIL(name) NIC(name, "ACTIVE", "InfiniBand", "400")

/* ---- N01 ---- */

static void test_names_by_release(void **state)
{
	/* a slip */
	assert_int_equal(verdict("N01", FACTS(ENV("NCCL_IB_GID_INDX", "3"))), RS_FAIL);
	/* not yet, and no longer */
	assert_int_equal(verdict("N01", FACTS(ENV("NCCL_GIN_TYPE", "3"),
					      {"a", "nccl", "version", "2.20.5", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N01", FACTS(ENV("NCCL_IB_CUDA_SUPPORT", "1"),
					      {"a", "nccl", "version", "2.27.3", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("N01", FACTS(ENV("NCCL_IB_TC", "106"),
					      {"a", "nccl", "version", "2.27.3", 0})),
			 RS_PASS);
	/* which release is not known */
	assert_int_equal(verdict("N01", FACTS(ENV("NCCL_GIN_TYPE", "3"))), RS_UNKNOWN);
	/* a plugin's own name is no slip */
	assert_int_equal(verdict("N01", FACTS(ENV("NCCL_FASTRAK_NUM_FLOWS", "8"),
					      {"a", "nccl", "version", "2.27.3", 0})),
			 RS_PASS);
}

static void test_table_of_names_is_in_order(void **state)
{
	for (const struct rs_nccl_name *n = rs_nccl_names; n[0].name && n[1].name; n++) {
		assert_true(strcmp(n[0].name, n[1].name) < 0);
		assert_true(!n->until || n->since <= n->until);
	}
}

/* ---- N03 ---- */

#define TWELVE RAIL("mlx5_1"), RAIL("mlx5_2"), RAIL("mlx5_10"), RAIL("mlx5_11")

static void test_name_without_equals_is_a_beginning(void **state)
{
	assert_int_equal(verdict("N03", FACTS(TWELVE, ENV("NCCL_IB_HCA", "mlx5_1,mlx5_2"))),
			 RS_FAIL);
	/* leaves out more than it says */
	assert_int_equal(verdict("N03", FACTS(TWELVE, ENV("NCCL_IB_HCA", "^mlx5_1"))), RS_FAIL);
	assert_int_equal(verdict("N03", FACTS(TWELVE, ENV("NCCL_IB_HCA", "=mlx5_1,mlx5_2"))),
			 RS_NA);
	/* all that it takes are listed, too */
	assert_int_equal(
		verdict("N03", FACTS(TWELVE, ENV("NCCL_IB_HCA", "mlx5_1,mlx5_10:1,mlx5_11"))),
		RS_PASS);
	/* meant as a beginning */
	assert_int_equal(verdict("N03", FACTS(TWELVE, ENV("NCCL_IB_HCA", "mlx5"))), RS_PASS);
	assert_int_equal(verdict("N03", FACTS(ENV("NCCL_IB_HCA", "mlx5_1"))), RS_UNKNOWN);
}

static void test_fix_of_a_prefix_is_the_list_that_was_meant(void **state)
{
	struct judged j = judge("N03", FACTS(TWELVE, ENV("NCCL_IB_HCA", "mlx5_1,mlx5_2")));

	assert_string_equal(j.a->findings[0]->fix[0].command, "NCCL_IB_HCA==mlx5_1,mlx5_2");
	assert_string_equal(j.a->findings[0]->fix[0].undo, "NCCL_IB_HCA=mlx5_1,mlx5_2");
	rs_audit_destroy(j.a);
}

/* The matcher against a plain twin: split the list, compare item by item. */
static bool plainly(const char *list, const char *name)
{
	bool exclude = *list == '^', exact, hit = false;
	char copy[128], *save = NULL;

	list += exclude;
	exact = *list == '=';
	snprintf(copy, sizeof(copy), "%s", list + exact);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char *port = strchr(w, ':');

		if (port)
			*port = '\0';
		hit |= exact ? !strcmp(w, name) : strstr(name, w) == name;
	}
	return exclude ? !hit : hit;
}

static void test_matching_a_list_agrees_with_a_plain_twin(void **state)
{
	static const char *const lists[] = {
		"mlx5_1",         "=mlx5_1",    "^mlx5_1", "^=mlx5_1,mlx5_2",
		"mlx5_1:1,rocep", "=mlx5_10:2", "mlx5"};
	static const char *const names[] = {"mlx5_1", "mlx5_10", "mlx5_2", "rocep80s0", "irdma0"};

	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (unsigned k = 0; k < sizeof(names) / sizeof(*names); k++)
			assert_int_equal(rs_look_hca(lists[i], names[k]),
					 plainly(lists[i], names[k]));
}

/* ---- N04 ---- */

static void test_each_rail_is_listed_and_active(void **state)
{
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"),
					      ENV("NCCL_IB_HCA", "=mlx5_0,mlx5_1"))),
			 RS_PASS);
	/* down */
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_2"),
					      NIC("mlx5_1", "DOWN", "InfiniBand", "400"),
					      ENV("NCCL_IB_HCA", "=mlx5_0,mlx5_1,mlx5_2"))),
			 RS_FAIL);
	/* not there */
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"),
					      ENV("NCCL_IB_HCA", "=mlx5_0,mlx5_9"))),
			 RS_FAIL);
	/* the front end, slower, of the other link layer */
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"),
					      NIC("mlx5_8", "ACTIVE", "Ethernet", "100"),
					      ENV("NCCL_IB_HCA", "mlx5"))),
			 RS_FAIL);
	/* a down port that nobody listed is nobody's business */
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"),
					      NIC("mlx5_2", "DOWN", "InfiniBand", "10"),
					      ENV("NCCL_IB_HCA", "=mlx5_0,mlx5_1"))),
			 RS_PASS);
	/* one device's file is no list of devices */
	assert_int_equal(verdict("N04", FACTS({"a", "nic/mlx5_0", "counter/x", "1", 0},
					      ENV("NCCL_IB_HCA", "=mlx5_0,mlx5_1"))),
			 RS_UNKNOWN);
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"))), RS_NA);
}

static void test_rail_next_to_a_gpu_is_left_out(void **state)
{
	struct judged j = judge("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"), RAIL("mlx5_2"),
					     ENV("NCCL_IB_HCA", "=mlx5_0"),
					     {"a", "topo", "distance/GPU0/mlx5_0", "PIX", 0},
					     {"a", "topo", "distance/GPU1/mlx5_1", "PXB", 0},
					     {"a", "topo", "distance/GPU1/mlx5_2", "SYS", 0}));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	/* the one across the sockets is the front end: not named */
	assert_int_equal(j.a->findings[0]->n_subjects, 1);
	assert_string_equal(j.a->findings[0]->fix[0].command, "NCCL_IB_HCA==mlx5_0,mlx5_1");
	rs_audit_destroy(j.a);
}

static void test_what_only_looks_like_a_wrong_list(void **state)
{
	/* a beginning takes a port that is down: NCCL passes over it */
	assert_int_equal(verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_2"),
					      NIC("mlx5_1", "DOWN", "InfiniBand", "400"),
					      ENV("NCCL_IB_HCA", "mlx5"))),
			 RS_PASS);
	/* a NIC of storage next to the GPU, whose own is in use */
	assert_int_equal(
		verdict("N04", FACTS(RAIL("mlx5_0"), RAIL("mlx5_1"), ENV("NCCL_IB_HCA", "=mlx5_0"),
				     {"a", "topo", "distance/GPU0/mlx5_0", "PIX", 0},
				     {"a", "topo", "distance/GPU0/mlx5_1", "PXB", 0})),
		RS_PASS);
}

/* ---- N08 ---- */

#define NEAR                                                  \
	{"a", "nic/mlx5_0", "netdev", "e0", 0},               \
	{                                                     \
		"a", "topo", "distance/GPU0/mlx5_0", "PIX", 0 \
	}
#define FAR                                                    \
	{"a", "nic/mlx5_0", "netdev", "e0", 0},                \
	{                                                      \
		"a", "topo", "distance/GPU0/mlx5_0", "NODE", 0 \
	}

static void test_gpudirect_is_used_where_it_can_be(void **state)
{
	static const char *const via = "via_ib";

	assert_int_equal(verdict("N08", FACTS(NEAR, {"a", "nccl", via, "NET/IB/0", 0})), RS_FAIL);
	assert_int_equal(
		verdict("N08", FACTS(NEAR, {"a", "nccl", "via_ib_gdr", "NET/IB/0/GDRDMA", 0})),
		RS_PASS);
	/* the board has no switch: by design */
	assert_int_equal(verdict("N08", FACTS(FAR, {"a", "nccl", via, "NET/IB/0", 0})), RS_NA);
	/* how near the NICs are was not seen: a minor finding, and P12 is asked after */
	struct judged j = judge("N08", FACTS({"a", "nccl", via, "NET/IB/0", 0}));

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_int_equal(j.a->findings[0]->severity, RS_MINOR);
	rs_audit_destroy(j.a);
	assert_int_equal(verdict("P12", FACTS({"a", "nccl", via, "NET/IB/0", 0})), RS_UNKNOWN);
	/* a level that no NIC is near enough for; digits of old: 3 is PHB, which holds NODE */
	assert_int_equal(verdict("N08", FACTS(FAR, ENV("NCCL_NET_GDR_LEVEL", "PIX"))), RS_FAIL);
	assert_int_equal(verdict("N08", FACTS(FAR, ENV("NCCL_NET_GDR_LEVEL", "3"))), RS_PASS);
}

/* ---- N09 ---- */

static struct judged topo_file(const char *bus)
{
	struct rs_fact f[] = {
		{.host = "a",
		 .subject = "env",
		 .name = "NCCL_TOPO_FILE",
		 .value = "/etc/t.xml",
		 .file = "env"},
		{.host = "a", .subject = bus, .name = "kind", .value = "gpu", .file = "a/t.xml"},
		{.host = "a",
		 .subject = "pci/0000:1a:00.0",
		 .name = "kind",
		 .value = "gpu",
		 .file = "a/lspci"},
	};
	const char *only[] = {"N09", NULL};
	struct judged j;

	assert_int_equal(rs_audit_create(&j.a), 0);
	for (unsigned i = 0; i < 3; i++)
		if (f[i].subject)
			assert_int_equal(rs_facts_add(j.a->facts, &f[i]), 0);
	assert_int_equal(rs_audit_run(j.a, only, NULL, NULL), 0);
	return j;
}

static void test_topology_file_is_this_hosts(void **state)
{
	struct judged j = topo_file("pci/0000:1b:00.0");

	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	rs_audit_destroy(j.a);
	/* a part of the host is enough */
	j = topo_file("pci/0000:1a:00.0");
	assert_int_equal(j.a->findings[0]->verdict, RS_PASS);
	rs_audit_destroy(j.a);
	j = topo_file(NULL);
	assert_int_equal(j.a->findings[0]->verdict, RS_UNKNOWN);
	rs_audit_destroy(j.a);
}

/* ---- N10 ---- */

static void test_pins_of_a_test(void **state)
{
	assert_int_equal(verdict("N10", FACTS(ENV("NCCL_ALGO", "Ring"))), RS_FAIL);
	/* decisions, no pins; what was not seen may pin all the same */
	assert_int_equal(verdict("N10", FACTS(ENV("NCCL_ALGO", "^NVLS"))), RS_UNKNOWN);
	assert_int_equal(verdict("N10", FACTS(ENV("NCCL_ALGO", "allreduce:tree;broadcast:ring"))),
			 RS_UNKNOWN);
	assert_int_equal(
		verdict("N10", FACTS({"a", "message", "connected", "Connected all rings", 0},
				     ENV("NCCL_ALGO", "^NVLS"))),
		RS_PASS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_by_release),
		cmocka_unit_test(test_table_of_names_is_in_order),
		cmocka_unit_test(test_name_without_equals_is_a_beginning),
		cmocka_unit_test(test_fix_of_a_prefix_is_the_list_that_was_meant),
		cmocka_unit_test(test_matching_a_list_agrees_with_a_plain_twin),
		cmocka_unit_test(test_each_rail_is_listed_and_active),
		cmocka_unit_test(test_rail_next_to_a_gpu_is_left_out),
		cmocka_unit_test(test_what_only_looks_like_a_wrong_list),
		cmocka_unit_test(test_gpudirect_is_used_where_it_can_be),
		cmocka_unit_test(test_topology_file_is_this_hosts),
		cmocka_unit_test(test_pins_of_a_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
