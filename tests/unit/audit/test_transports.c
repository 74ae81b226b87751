/* What network libraries list, and states that stand in lines without their head. */
#include "reading.h"

struct first {
	char id[8];
	enum rs_severity severity;
	int status;
};

static struct first first_of(const char *text)
{
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = strlen(text)};
	struct first r = {.id = ""};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
	if (a->n_findings && a->findings[0]->verdict == RS_FAIL) {
		snprintf(r.id, sizeof(r.id), "%s", a->findings[0]->rule->id);
		r.severity = a->findings[0]->severity;
	}
	r.status = rs_audit_status(a, false, false);
	rs_audit_destroy(a);
	return r;
}

static void test_lists_without_rdma(void **state)
{
	static const char tcp[] = "#\n# Memory domain: tcp\n#     Component: tcp\n"
				  "#      Transport: tcp\n#         Device: eth0\n";
	static const char both[] = "#\n# Memory domain: tcp\n#      Transport: tcp\n"
				   "#         Device: eth0\n# Memory domain: mlx5_0\n"
				   "#      Transport: rc_mlx5\n#         Device: mlx5_0:1\n";
	static const char built[] = "# Library version: 1.16.0\n"
				    "# Configured with: --enable-mt --without-verbs --with-avx\n";
	static const char fi[] = "provider: tcp\n    fabric: 10.0.0.0/24\nprovider: shm\n"
				 "    fabric: shm\n";
	static const char efa[] = "provider: efa\n    fabric: efa\nprovider: tcp\n";
	char meant[256];

	assert_string_equal(first_of(tcp).id, "N15");
	assert_int_equal(first_of(tcp).severity, RS_MINOR);
	assert_string_equal(first_of(both).id, "");
	assert_string_equal(first_of(built).id, "N15");
	assert_string_equal(first_of(fi).id, "N15");
	assert_string_equal(first_of(efa).id, "");
	/* where RDMA is meant it is more */
	snprintf(meant, sizeof(meant), "$ export UCX_NET_DEVICES=mlx5_0:1\n$ ucx_info -d\n%s", tcp);
	assert_string_equal(first_of(meant).id, "N15");
	assert_int_equal(first_of(meant).severity, RS_MAJOR);
}

static void test_states_without_their_head(void **state)
{
	assert_string_equal(first_of("    Port 1:\n        State: Down\n"
				     "        Physical state: Polling\n")
				    .id,
			    "H09");
	assert_string_equal(first_of("        Physical state: LinkUp\n").id, "");
	assert_string_equal(first_of("  local address:  LID 0x0000, QPN 0x11, PSN 0x17, GID "
				     "fe80::5054:ff:fe6c:1\n")
				    .id,
			    "R02");
	/* InfiniBand's GIDs are link-local by right */
	assert_string_equal(first_of("  local address:  LID 0x0007, QPN 0x11, PSN 0x17, GID "
				     "fe80::5054:ff:fe6c:1\n")
				    .id,
			    "");
	assert_string_equal(first_of("  \"pods\": \"110\",\n  \"rdma/rail_a\": \"0\"\n").id, "K02");
	assert_string_equal(first_of("  \"pods\": \"110\",\n  \"rdma/rail_a\": \"8\"\n").id, "");
}

/* Who complains is not told that all is right. */
static void test_a_complaint_is_never_fine(void **state)
{
	static const char *const said[] = {
		"Why is the bandwidth between my two nodes different for GPU 0?\n",
		"We see that it does not use the second rail and the rate is capped.\n",
		"# Transport rc_mlx5 does not show up\n",
	};
	char text[512];

	for (unsigned i = 0; i < sizeof(said) / sizeof(*said); i++) {
		snprintf(text, sizeof(text), "%s$ ulimit -l\nunlimited\n", said[i]);
		assert_int_equal(first_of(text).status, 4);
	}
	/* what a sentence says is not known, whatever it is */
	assert_int_equal(first_of("The limit is as it should be.\n$ ulimit -l\nunlimited\n").status,
			 4);
	assert_int_equal(first_of("$ ulimit -l\nunlimited\n").status, 0);
}

static void test_ports_of_switches_and_bonds(void **state)
{
	static const char bond[] = "[  631.479939] bond0: link status definitely down for "
				   "interface eno4, disabling it\n"
				   "[  691.479939] bond0: link status definitely down for "
				   "interface eno4, disabling it\n";
	static const char sonic[] = "  Interface    Lanes    Speed    MTU    FEC    Alias    Vlan  "
				    "  Oper    Admin    Type\n"
				    "-----------  -------  -------  -----  -----  -------  ------  "
				    "------  -------  ------\n"
				    "  Ethernet0    77,78      50G   9100     rs  Eth1/1    trunk  "
				    "  down       up   QSFP28\n";
	char beside[600];

	assert_string_equal(first_of(bond).id, "C07");
	assert_string_equal(first_of(sonic).id, "H09");
	assert_int_equal(first_of(sonic).severity, RS_MAJOR); /* the one that is shown */
	snprintf(beside, sizeof(beside), "%s%s", sonic,
		 "  Ethernet4    79,80      50G   9100     rs  Eth1/2    trunk    up       up   "
		 "QSFP28\n");
	assert_string_equal(first_of(beside).id, "H09");
	assert_int_equal(first_of(beside).severity, RS_INFO); /* some wait for a host */
	assert_string_equal(first_of("2025 Oct 28 03:51:36.7 s1 ERR swss#orchagent: :- doPortTask: "
				     "Unsupported port Ethernet32 FEC mode rs\n")
				    .id,
			    "L01");
}

static void test_global_pause_is_told(void **state)
{
	static const char paused[] =
		"$ ethtool -S ens1 | grep pause\n"
		"     rx_pause_ctrl_phy: 132481122\n     tx_pause_ctrl_phy: 0\n";
	static const char calm[] = "$ ethtool -S ens1 | grep pause\n"
				   "     rx_pause_ctrl_phy: 12\n     tx_pause_ctrl_phy: 0\n";

	assert_string_equal(first_of(paused).id, "C04");
	assert_string_equal(first_of(calm).id, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_without_rdma),
		cmocka_unit_test(test_states_without_their_head),
		cmocka_unit_test(test_a_complaint_is_never_fine),
		cmocka_unit_test(test_ports_of_switches_and_bonds),
		cmocka_unit_test(test_global_pause_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
