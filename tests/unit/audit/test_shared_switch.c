/* Published files of switches, LLDP and fabrics, read in place: which reader takes each, that
 * nothing is made up, and that what is healthy is not accused. */
#include "elsewhere.h"
#include "judge.h"

static bool absent(void)
{
	char path[512];

	return !elsewhere("switch", path, sizeof(path));
}

static struct rs_audit *audit(const char *path)
{
	char full[512];
	struct rs_audit *a;
	struct rs_error e = {0};

	assert_true(elsewhere(path, full, sizeof(full)));
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, full, NULL, 0, &e), 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, &e), 0);
	return a;
}

static const struct {
	const char *path, *reader;
	unsigned least; /* facts */
} files[] = {
	{"switch/cumulus-nv-show-roce", "nv show", 100},
	{"switch/eos-ethernet-interfaces.cfg", "eos", 100},
	{"switch/eos-qos.cfg", "eos", 90},
	{"switch/junos-ai-backend", "junos", 1000},
	{"switch/junos-rocev2-lossless.conf", "junos", 20},
	{"switch/sonic-config_db-acs-msn3700-t0-version_3_0_3.json", "sonic", 500},
	{"switch/sonic-config_db-acs-msn4700-t1-version_3_0_3.json", "sonic", 500},
	{"switch/sonic-config_db-qos_map_table_input.json", "sonic", 40},
	{"switch/sonic-counters_db.json", "sonic-counters", 300},
	{"switch/sonic-mock-config_db.json", "sonic", 500},
	{"switch/sonic-qos-arista7050cx3-dualtor.json", "sonic", 1000},
	{"switch/sonic-qos-arista7060x6.json", "sonic", 1000},
	{"switch/sonic-qos-mellanox4600c-c64-remap-disabled.json", "sonic", 1000},
	{"lldp/sichek-bjg45.json", "lldp-json", 3},
	{"lldp/sichek-clnet36.json", "lldp-json", 6},
	{"lldp/sichek-dracog24.json", "lldp-json", 3},
	{"lldp/sichek-empty.json", "lldp-json", 0},
	{"fabric/superbench-ib_traffic_topo_aware_ibnetdiscover.txt", "ibnetdiscover", 10},
	{"fabric/superbench-ib_traffic_topo_aware_ibstat.txt", NULL, 0},
	{"fabric/topograph-ibnetdiscover-dgx.out", "ibnetdiscover", 1000},
	{"fabric/topograph-ibnetdiscover-example-bad.out", NULL, 0},
	{"fabric/topograph-netq-computeNodes.json", NULL, 0},
	{"fabric/topograph-netq-topologyGraph.json", "netq", 30},
};

static void test_each_file_is_recognised_by_its_content(void **state)
{
	if (absent())
		skip();
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct rs_audit *a = audit(files[i].path);
		bool found = false;

		for (uint32_t f = 0; f < a->n_files; f++) {
			const char *r = a->files[f].reader;

			found |= files[i].reader ? r && !strcmp(r, files[i].reader) : !r;
		}
		if (!found || rs_facts_count(a->facts) < files[i].least)
			print_error("%s: %u facts\n", files[i].path, rs_facts_count(a->facts));
		assert_true(found);
		assert_true(rs_facts_count(a->facts) >= files[i].least);
		rs_audit_destroy(a);
	}
}

/* A priority, queue, class or DSCP outside its range, or a threshold below zero, was made up. */
static void test_no_fact_is_out_of_range(void **state)
{
	static const struct {
		const char *name;
		int from, to;
	} ranges[] = {{"pfc/", 0, 1},      {"dscp_to_tc/", 0, 15},
		      {"tc_to_pg/", 0, 7}, {"tc_to_queue/", 0, 15},
		      {"mtu", 64, 16384},  {"neighbour_mfs", 64, 16384},
		      {"lanes", 1, 8},     {"speed_mbps", 10, 1600000}};

	if (absent())
		skip();
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct rs_audit *a = audit(files[i].path);

		for (uint32_t h = 0; h < rs_facts_hosts(a->facts); h++)
			for (unsigned r = 0; r < sizeof(ranges) / sizeof(*ranges); r++) {
				const struct rs_fact *f;
				uint32_t at = 0;

				while ((f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, h),
							  "", ranges[r].name))) {
					bool right = f->numeric && f->number >= ranges[r].from &&
						     f->number <= ranges[r].to;

					if (!right)
						print_error("%s:%u: %s %s = %s\n", f->file, f->line,
							    f->subject, f->name, f->value);
					assert_true(right);
				}
			}
		rs_audit_destroy(a);
	}
}

static void no_fail(const char *path)
{
	struct rs_audit *a = audit(path);

	for (uint32_t i = 0; i < a->n_findings; i++) {
		if (a->findings[i]->verdict == RS_FAIL)
			print_error("%s: %s %s\n", path, a->findings[i]->rule->id,
				    a->findings[i]->title);
		assert_int_not_equal(a->findings[i]->verdict, RS_FAIL);
	}
	rs_audit_destroy(a);
}

/* Juniper's validated design, LLDP, and fabrics whose wiring is right. */
static void test_healthy_switches_are_not_accused(void **state)
{
	if (absent())
		skip();
	no_fail("switch/junos-ai-backend/leaf1_qfx5240-64od.conf");
	no_fail("switch/junos-ai-backend/leaf2_qfx5240-64od.conf");
	no_fail("switch/junos-ai-backend/spine1_qfx5240-64od.conf");
	no_fail("switch/junos-ai-backend/spine2_qfx5240-64od.conf");
	no_fail("switch/junos-ai-backend");
	no_fail("switch/junos-rocev2-lossless.conf");
	no_fail("lldp");
	no_fail("fabric/topograph-netq-topologyGraph.json");
	no_fail("fabric/superbench-ib_traffic_topo_aware_ibnetdiscover.txt");
}

/* Of the DGX pod's 122 named hosts one has two cables swapped, as the file shows. */
static void test_real_pod_has_one_pair_of_swapped_cables(void **state)
{
	const char *list[] = {"X04", NULL};
	struct rs_error e = {0};
	const struct rs_finding *f;
	struct rs_audit *a;

	char path[512];

	if (!elsewhere("fabric/topograph-ibnetdiscover-dgx.out", path, sizeof(path)))
		skip();
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read(a, path, NULL, 0, &e), 0);
	assert_int_equal(rs_audit_run(a, list, NULL, &e), 0);
	assert_int_equal(a->n_findings, 1);
	f = a->findings[0];
	assert_int_equal(f->verdict, RS_FAIL);
	assert_int_equal(f->n_subjects, 2);
	assert_string_equal(f->subject[0].host, "b08-p1-dgx-08-c01");
	assert_string_equal(f->subject[1].host, "b08-p1-dgx-08-c01");
	rs_audit_destroy(a);
}

/* Leaf 1 sends DSCP 26 to queue 4, whose PFC priority is 3: numbers that differ by right. */
static void test_junos_fixture_is_read_as_its_comment_says(void **state)
{
	struct rs_audit *a;

	if (absent())
		skip();
	a = audit("switch/junos-ai-backend/leaf1_qfx5240-64od.conf");
	for (uint32_t h = 0; h < rs_facts_hosts(a->facts); h++) {
		const char *host = rs_facts_host(a->facts, h), *port = "port/et-0/0/12:0";
		int64_t n;

		assert_true(rs_facts_is_switch(a->facts, host));
		assert_true(rs_facts_number(a->facts, host, port, "dscp_to_tc/26", &n) && n == 4);
		assert_true(rs_facts_number(a->facts, host, port, "tc_to_pg/4", &n) && n == 3);
		assert_true(rs_facts_number(a->facts, host, port, "pfc/3", &n) && n == 1);
		assert_true(rs_facts_number(a->facts, host, port, "queue/4/kmin_percent", &n) &&
			    n == 55);
	}
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_is_recognised_by_its_content),
		cmocka_unit_test(test_no_fact_is_out_of_range),
		cmocka_unit_test(test_healthy_switches_are_not_accused),
		cmocka_unit_test(test_real_pod_has_one_pair_of_swapped_cables),
		cmocka_unit_test(test_junos_fixture_is_read_as_its_comment_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
