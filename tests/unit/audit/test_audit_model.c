/* A host's inside from facts: what hangs where, at which rate, and what stays unknown. */
#include <errno.h>
#include "audit/price/model.h"
#include "unit/audit/judge.h"

static struct rs_host *host_of(struct judged *j, const struct told *t)
{
	struct rs_error e = {0};
	struct rs_host *h = NULL;

	*j = judge("P01", t);
	assert_int_equal(rs_audit_host(j->a, "h", &h, &e), 0);
	assert_int_equal(rs_host_check(h, &e), 0);
	return h;
}

static int part(const struct rs_host *h, const char *name)
{
	int i = rs_host_find(h, name);

	assert_int_not_equal(i, RS_NO_PART);
	return i;
}

#define UP(pci, up, kind, speed, width)                                         \
	{"h", "pci/" pci, "parent", up, 0}, {"h", "pci/" pci, "kind", kind, 0}, \
		{"h", "pci/" pci, "link_speed", speed, 0},                      \
	{                                                                       \
		"h", "pci/" pci, "link_width", width, 0                         \
	}

static void test_a_switch_is_one_part_below_its_root_port(void **state)
{
	struct judged j;
	struct rs_host *h =
		host_of(&j, FACTS(UP("0000:10:01.0", "pci0000:10", "bridge", "320", "16"),
				  UP("0000:11:00.0", "0000:10:01.0", "bridge", "320", "16"),
				  UP("0000:12:00.0", "0000:11:00.0", "bridge", "320", "16"),
				  UP("0000:12:01.0", "0000:11:00.0", "bridge", "160", "8"),
				  UP("0000:13:00.0", "0000:12:00.0", "gpu", "320", "16"),
				  UP("0000:14:00.0", "0000:12:01.0", "nic", "160", "8"),
				  {"h", "pci/0000:13:00.0", "numa_node", "1", 0},
				  {"h", "pci/0000:14:00.0", "numa_node", "1", 0},
				  {"h", "nic/mlx5_0", "pci", "0000:14:00.0", 0},
				  {"h", "nic/mlx5_0", "rate_gbps", "400", 0}));
	int gpu = part(h, "gpu0"), nic = part(h, "mlx5_0"), sw = part(h, "switch-0000:11:00.0");

	assert_int_equal(h->n_parts, 4);
	assert_int_equal(h->parts[gpu].parent, sw);
	assert_int_equal(h->parts[nic].parent, sw);
	assert_int_equal(h->parts[sw].parent, part(h, "socket1"));
	assert_int_equal(h->parts[nic].up.gen, 4);
	assert_int_equal(h->parts[nic].up.lanes, 8);
	assert_int_equal(h->parts[nic].port_rate, INT64_C(400000000000));
	assert_int_equal(rs_host_distance(h, gpu, nic), RS_DIST_PIX);
	rs_audit_destroy(j.a);
}

static void test_an_idle_gpu_counts_with_what_it_can(void **state)
{
	struct judged j;
	struct rs_host *h =
		host_of(&j, FACTS(UP("0000:13:00.0", "pci0000:10", "gpu", "25", "16"),
				  {"h", "pci/0000:13:00.0", "max_link_speed", "320", 0}));

	assert_int_equal(h->parts[part(h, "gpu0")].up.gen, 5);
	rs_audit_destroy(j.a);
}

static void test_what_is_not_known_stays_unknown(void **state)
{
	struct judged j;
	struct rs_host *h = host_of(&j, FACTS({"h", "pci/0000:13:00.0", "kind", "gpu", 0},
					      {"h", "pci/0000:14:00.0", "kind", "nic", 0},
					      {"h", "pci/0000:14:00.0", "link_width", "255", 0}));
	int nic = part(h, "nic-0000:14:00.0");

	assert_int_equal(h->parts[nic].up.gen, 0);
	assert_int_equal(h->parts[nic].up.lanes, 0);
	assert_int_equal(h->parts[nic].numa, -1);
	assert_int_equal(h->parts[nic].port_rate, 0);
	rs_audit_destroy(j.a);
}

static void test_two_numa_nodes_are_two_sockets(void **state)
{
	struct judged j;
	struct rs_host *h = host_of(&j, FACTS({"h", "pci/0000:13:00.0", "kind", "gpu", 0},
					      {"h", "pci/0000:13:00.0", "numa_node", "0", 0},
					      {"h", "pci/0000:94:00.0", "kind", "nic", 0},
					      {"h", "pci/0000:94:00.0", "numa_node", "1", 0}));

	assert_int_equal(rs_host_distance(h, part(h, "gpu0"), part(h, "nic-0000:94:00.0")),
			 RS_DIST_SYS);
	rs_audit_destroy(j.a);
}

static void test_a_circle_of_bridges_ends(void **state)
{
	struct judged j;
	struct rs_host *h =
		host_of(&j, FACTS(UP("0000:11:00.0", "0000:12:00.0", "bridge", "1", "1"),
				  UP("0000:12:00.0", "0000:11:00.0", "bridge", "1", "1"),
				  UP("0000:13:00.0", "0000:12:00.0", "gpu", "1", "1")));

	assert_int_not_equal(rs_host_find(h, "gpu0"), RS_NO_PART);
	rs_audit_destroy(j.a);
}

static void test_without_pci_there_is_no_host(void **state)
{
	struct judged j = judge("P01", FACTS({"h", "nic/mlx5_0", "rate_gbps", "400", 0}));
	struct rs_host *h;

	assert_int_equal(rs_audit_host(j.a, "h", &h, NULL), -ENODATA);
	rs_audit_destroy(j.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_switch_is_one_part_below_its_root_port),
		cmocka_unit_test(test_an_idle_gpu_counts_with_what_it_can),
		cmocka_unit_test(test_what_is_not_known_stays_unknown),
		cmocka_unit_test(test_two_numa_nodes_are_two_sockets),
		cmocka_unit_test(test_a_circle_of_bridges_ends),
		cmocka_unit_test(test_without_pci_there_is_no_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
