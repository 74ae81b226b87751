/* NCCL's environment from facts, and symptoms told in words. */
#include <stdbool.h>
#include "audit/rules/job_env.h"
#include "audit/facts/nccl.h"
#include "audit/rules/symptom.h"
#include "unit/audit/judge.h"

static const struct rs_job_line *line(const struct rs_job_env *e, const char *name)
{
	for (uint32_t i = 0; i < e->n; i++)
		if (!strcmp(e->line[i].name, name))
			return &e->line[i];
	fail_msg("there is no line on %s", name);
	return NULL;
}

static struct judged env_of(const struct told *t, uint32_t release, struct rs_job_env *e)
{
	struct judged j = judge(NULL, t);

	rs_audit_job_env(j.a, release, e);
	return j;
}

#define PORT(h, nic, rate, state)                                                       \
	{h, "nic/" nic, "rate_gbps", rate, 0}, {h, "nic/" nic, "port_state", state, 0}, \
	{                                                                               \
		h, "nic/" nic, "link_layer", "Ethernet", 0                              \
	}

static void test_devices_that_are_down_or_slow_are_left_out(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(
		FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"), PORT("h", "mlx5_1", "400", "ACTIVE"),
		      PORT("h", "mlx5_2", "25", "ACTIVE"), PORT("h", "mlx5_3", "400", "DOWN"),
		      PORT("h", "mlx5_bond_0", "400", "ACTIVE")),
		0, &e);

	assert_string_equal(line(&e, "NCCL_IB_HCA")->value, "=mlx5_0,mlx5_1");
	assert_null(line(&e, "NCCL_IB_HCA")->host);
	rs_audit_destroy(j.a);
}

static void test_no_list_where_all_devices_are_alike(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(
		FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"), PORT("h", "mlx5_1", "400", "ACTIVE")),
		0, &e);

	assert_null(line(&e, "NCCL_IB_HCA")->value);
	rs_audit_destroy(j.a);
}

static void test_one_link_layer_and_the_jobs_own_choice(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(FACTS({"h", "nic/ibp1", "link_layer", "InfiniBand", 0},
				       {"h", "nic/ibp2", "link_layer", "InfiniBand", 0},
				       {"h", "nic/rocep9", "link_layer", "Ethernet", 0}),
				 0, &e);

	assert_string_equal(line(&e, "NCCL_IB_HCA")->value, "=ibp1,ibp2");
	rs_audit_destroy(j.a);
	/* the second is for storage: the job leaves it out, and it is near no GPU */
	j = env_of(FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"), PORT("h", "mlx5_1", "400", "ACTIVE"),
			 {"h", "env", "NCCL_IB_HCA", "=mlx5_0", 0}),
		   0, &e);
	assert_string_equal(line(&e, "NCCL_IB_HCA")->value, "=mlx5_0");
	rs_audit_destroy(j.a);
}

static void test_hosts_that_differ_get_a_line_each(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(
		FACTS(PORT("a", "mlx5_0", "400", "ACTIVE"), PORT("a", "mlx5_1", "25", "ACTIVE"),
		      PORT("b", "mlx5_0", "25", "ACTIVE"), PORT("b", "mlx5_1", "400", "ACTIVE")),
		0, &e);

	assert_string_equal(e.line[0].host, "a");
	assert_string_equal(e.line[0].value, "=mlx5_0");
	assert_string_equal(e.line[1].host, "b");
	assert_string_equal(e.line[1].value, "=mlx5_1");
	rs_audit_destroy(j.a);
}

#define GIDS(h, nic, index)                                                             \
	{h, "nic/" nic, "gid/" index, "0000:0000:0000:0000:0000:ffff:0a00:0001", 0},    \
		{h, "nic/" nic, "gid_type/" index, "v2", 0},                            \
		{h, "nic/" nic, "gid/0", "fe80:0000:0000:0000:0000:0000:0000:0001", 0}, \
	{                                                                               \
		h, "nic/" nic, "gid_type/0", "v2", 0                                    \
	}

static void test_the_gid_index_is_told_to_old_releases_alone(void **state)
{
	const struct told *t =
		FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"), GIDS("h", "mlx5_0", "3"));
	struct rs_job_env e;
	struct judged j = env_of(t, rs_nccl_make(2, 18, 5), &e);

	assert_string_equal(line(&e, "NCCL_IB_GID_INDEX")->value, "3");
	rs_audit_destroy(j.a);
	j = env_of(t, rs_nccl_make(2, 21, 5), &e);
	assert_null(line(&e, "NCCL_IB_GID_INDEX")->value);
	rs_audit_destroy(j.a);
}

static void test_no_index_is_told_where_ports_differ(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"),
				       PORT("h", "mlx5_1", "400", "ACTIVE"),
				       GIDS("h", "mlx5_0", "3"), GIDS("h", "mlx5_1", "5")),
				 rs_nccl_make(2, 18, 5), &e);

	assert_null(line(&e, "NCCL_IB_GID_INDEX")->value);
	rs_audit_destroy(j.a);
}

#define QOS(h, nd, map, prio)                                                   \
	{h, "netdev/" nd, "trust", "dscp", 0}, {h, "netdev/" nd, map, prio, 0}, \
		{h, "netdev/" nd, "pfc/3", "0", 0},                             \
	{                                                                       \
		h, "netdev/" nd, "pfc/" prio, "1", 0                            \
	}

static void test_the_traffic_class_is_that_of_a_lossless_dscp(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"),
				       {"h", "nic/mlx5_0", "netdev", "eth2", 0},
				       QOS("h", "eth2", "dscp_to_prio/41", "5")),
				 0, &e);

	/* 40 to 47 fall to priority 5 where nothing is listed, too */
	assert_string_equal(line(&e, "NCCL_IB_TC")->value, "160");
	rs_audit_destroy(j.a);
	j = env_of(FACTS(PORT("h", "mlx5_0", "400", "ACTIVE"),
			 {"h", "nic/mlx5_0", "netdev", "eth2", 0},
			 {"h", "env", "NCCL_IB_TC", "166", 0},
			 QOS("h", "eth2", "dscp_to_prio/41", "5")),
		   0, &e);
	assert_string_equal(line(&e, "NCCL_IB_TC")->value, "164");
	rs_audit_destroy(j.a);
}

static void test_without_pfc_no_traffic_class_is_made_up(void **state)
{
	struct rs_job_env e;
	struct judged j = env_of(FACTS(PORT("h", "mlx5_0", "400", "ACTIVE")), 0, &e);

	assert_null(line(&e, "NCCL_IB_TC")->value);
	rs_audit_destroy(j.a);
}

/* ---- Symptoms ---- */

static void test_symptoms_are_found_by_words(void **state)
{
	static const struct {
		const char *said, *name;
	} cases[] = {
		{"800G link but 500G goodput", "low-goodput"},
		{"timeouts in large all-reduce", "timeouts"},
		{"CNPs rising", "cnps-rising"},
		{"bandwidth halves at 4 hosts", "halves-with-hosts"},
		{"GPUDirect is not used", "no-gpudirect"},
		{"Slow in a VM", "virtual-machine"},
		{"pauses", "pauses"},
		{"NCCL hangs", "does-not-connect"},
		{"ping works but RDMA does not", "does-not-connect"},
		{"job fails with error 12", "timeouts"},
		{"the first message is slow", "latency"},
	};
	const struct rs_symptom *near[3];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct rs_symptom *s = rs_symptom_find(cases[i].said);

		assert_non_null(s);
		assert_string_equal(s->name, cases[i].name);
	}
	assert_null(rs_symptom_find("the coffee is cold"));
	assert_null(rs_symptom_find(""));
	/* several are as near: they are named */
	assert_null(rs_symptom_find("slow"));
	assert_int_equal(rs_symptom_near("slow", near, 3), 3);
	assert_int_equal(rs_symptom_near("the coffee is cold", near, 3), 0);
}

static void test_each_symptom_is_found_by_its_own_title(void **state)
{
	for (const struct rs_symptom *s = rs_symptoms; s->name; s++) {
		assert_ptr_equal(rs_symptom_find(s->name), s);
		assert_ptr_equal(rs_symptom_find(s->title), s);
	}
}

static void test_each_symptom_has_checks_to_make(void **state)
{
	for (const struct rs_symptom *s = rs_symptoms; s->name; s++) {
		unsigned n = 0;

		for (unsigned i = 0; i < RS_SYMPTOM_STEPS && s->step[i].check; i++)
			n += rs_rule_find(s->step[i].check) != NULL;
		if (n < 4)
			fail_msg("%s has %u checks", s->name, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices_that_are_down_or_slow_are_left_out),
		cmocka_unit_test(test_no_list_where_all_devices_are_alike),
		cmocka_unit_test(test_one_link_layer_and_the_jobs_own_choice),
		cmocka_unit_test(test_hosts_that_differ_get_a_line_each),
		cmocka_unit_test(test_the_gid_index_is_told_to_old_releases_alone),
		cmocka_unit_test(test_no_index_is_told_where_ports_differ),
		cmocka_unit_test(test_the_traffic_class_is_that_of_a_lossless_dscp),
		cmocka_unit_test(test_without_pfc_no_traffic_class_is_made_up),
		cmocka_unit_test(test_symptoms_are_found_by_words),
		cmocka_unit_test(test_each_symptom_is_found_by_its_own_title),
		cmocka_unit_test(test_each_symptom_has_checks_to_make),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
