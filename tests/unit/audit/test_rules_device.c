/* How functions and their drivers are set up: each check right, wrong, in doubt, and where it looks
 * wrong but is not. */
#include "judge.h"

#define BOTH                                           \
	{"a", "topo", "distance/GPU0/NIC0", "PIX", 0}, \
	{                                              \
		"a", "nic/mlx5_0", "netdev", "e0", 0   \
	}

/* ---- P12 ---- */

static void test_gpu_memory_can_be_registered(void **state)
{
	/* what a job did outranks what is loaded */
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "nccl", "via_ib_gdr", "NET/IB/0", 0})),
			 RS_PASS);
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", "memory_peers/nv_mem", "1", 0})),
			 RS_PASS);
	/* dma-buf needs no module */
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", "kernel", "6.8.0-45", 0},
					      {"a", "host", "gpu_module", "open", 0})),
			 RS_PASS);
	assert_int_equal(verdict("P12", FACTS(BOTH)), RS_UNKNOWN);
	assert_int_equal(verdict("P12", FACTS({"a", "nic/mlx5_0", "netdev", "e0", 0})), RS_NA);
}

static void test_peer_memory_depends_on_the_release(void **state)
{
	static const char *const module = "module/nvidia_peermem";

	/* the module's directory counts from 2.23.4 on */
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", module, "loaded", 0},
					      {"a", "nccl", "version", "2.26.2", 0})),
			 RS_PASS);
	assert_int_equal(verdict("P12", FACTS(BOTH, {"a", "host", module, "loaded", 0},
					      {"a", "nccl", "version", "2.19.4", 0})),
			 RS_UNKNOWN);
}

static void test_absence_needs_a_whole_list(void **state)
{
	enum { MODULES = 24 };
	struct told facts[MODULES + 5] = {BOTH,
					  {"a", "host", "gpu_module", "proprietary", 0},
					  {"a", "host", "module/nvidia", "loaded", 0}};
	static char names[MODULES][32];

	/* a filtered list proves nothing */
	assert_int_equal(verdict("P12", facts), RS_UNKNOWN);
	for (int i = 0; i < MODULES; i++) {
		snprintf(names[i], sizeof(names[i]), "module/m%d", i);
		facts[4 + i] = (struct told){"a", "host", names[i], "loaded", 0};
	}
	assert_int_equal(verdict("P12", facts), RS_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu_memory_can_be_registered),
		cmocka_unit_test(test_peer_memory_depends_on_the_release),
		cmocka_unit_test(test_absence_needs_a_whole_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
