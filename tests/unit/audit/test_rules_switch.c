/* Checks of switches: each on a right switch, a wrong one, one that tells too little, and on what
 * looks wrong but is not. */
#include "judge.h"

#define SWITCH(os)                             \
	{"leaf", "host", "role", "switch", 0}, \
	{                                      \
		"leaf", "host", "os", os, 0    \
	}
#define OF(p, n, v)                        \
	{                                  \
		"leaf", "port/" p, n, v, 0 \
	}
/* DSCP 26 in class 3, group and queue 3, lossless; 48 in 6; 0 in 0 */
#define PORT(p)                                                                               \
	OF(p, "dscp_to_tc/26", "3"), OF(p, "dscp_to_tc/48", "6"), OF(p, "dscp_to_tc/0", "0"), \
		OF(p, "pfc/3", "1"), OF(p, "pfc/4", "0"), OF(p, "pfc_seen", "1")
#define HOST(dscp_tc)                                                                      \
	{"gpu", "nic/m", "netdev", "eth0", 0}, {"gpu", "netdev/eth0", "trust", "dscp", 0}, \
		{"gpu", "netdev/eth0", "dscp_to_prio/26", "3", 0},                         \
		{"gpu", "netdev/eth0", "dscp_to_prio/40", "3", 0},                         \
		{"gpu", "netdev/eth0", "pfc/3", "1", 0},                                   \
	{                                                                                  \
		"gpu", "nic/m", "tclass", dscp_tc, 0                                       \
	}

static enum rs_severity severity(const char *rule, const struct told *t)
{
	struct judged j = judge(rule, t);
	enum rs_severity s;

	assert_true(j.a->n_findings > 0);
	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	s = j.a->findings[0]->severity;
	rs_audit_destroy(j.a);
	return s;
}

/* A fix of the first finding that begins so. */
static void fixed_by(const char *rule, const struct told *t, const char *command)
{
	struct judged j = judge(rule, t);
	const struct rs_finding *f = j.a->findings[0];
	bool found = false;

	assert_int_equal(f->verdict, RS_FAIL);
	for (uint32_t i = 0; i < f->n_fixes; i++)
		found |= !strncmp(f->fix[i].command, command, strlen(command));
	if (!found)
		print_error("%s is first; no fix is %s\n",
			    f->n_fixes ? f->fix[0].command : "nothing", command);
	assert_true(found);
	rs_audit_destroy(j.a);
}

/* ---- S01 ---- */

static void test_class_that_hosts_mark_is_lossless(void **state)
{
	assert_int_equal(verdict("S01", FACTS(SWITCH("SONiC"), PORT("Ethernet0"), HOST("106"))),
			 RS_PASS);
	assert_int_equal(verdict("S01", FACTS(SWITCH("SONiC"), PORT("Ethernet0"))), RS_PASS);
}

static void test_class_that_hosts_mark_is_lossy(void **state)
{
	/* DSCP 40: no row, so the default class */
	const struct told *t = FACTS(SWITCH("SONiC"), PORT("Ethernet0"), HOST("160"));

	assert_int_equal(severity("S01", t), RS_CRITICAL);
	fixed_by("S01", t, "echo '[{\"op\":\"add\",\"path\":\"/DSCP_TO_TC_MAP/AZURE/40\"");
}

static void test_fix_of_a_class_is_in_the_switchs_own_words(void **state)
{
	fixed_by("S01",
		 FACTS(SWITCH("EOS"), PORT("Ethernet1"), OF("Ethernet1", "trust", "dscp"),
		       OF("Ethernet1", "dscp_to_tc/40", "5"), HOST("160")),
		 "qos map dscp 40 to traffic-class 3");
	fixed_by("S01",
		 FACTS(SWITCH("Junos"), PORT("et-0/0/1"), OF("et-0/0/1", "tc_to_pg/3", "3"),
		       OF("et-0/0/1", "dscp_to_tc_map", "d1"),
		       OF("et-0/0/1", "class/3/name", "RDMA"), HOST("160")),
		 "set class-of-service classifiers dscp d1 forwarding-class RDMA loss-priority low "
		 "code-points 101000; commit");
	fixed_by("S01",
		 FACTS(SWITCH("Cumulus"), PORT("*"), OF("*", "dscp_to_tc/40", "5"), HOST("160")),
		 "nv set qos mapping default-global dscp 40 switch-priority 3; nv config apply");
}

static void test_class_protected_that_nothing_reaches(void **state)
{
	assert_int_equal(verdict("S01", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"),
					      OF("Ethernet0", "dscp_to_tc/0", "0"))),
			 RS_FAIL);
}

static void test_class_without_a_map_is_unknown(void **state)
{
	assert_int_equal(verdict("S01", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"))),
			 RS_UNKNOWN);
}

/* DSCP 26 in a marked class without PFC, PFC on a class that only EOS' default rows reach */
static void test_guarded_class_is_not_the_marked_one(void **state)
{
	const struct told *t =
		FACTS(SWITCH("EOS"), OF("*", "dscp_to_tc/26", "3"), OF("*", "tc_to_queue/3", "3"),
		      OF("Ethernet1", "pfc/4", "1"), OF("Ethernet1", "pfc_seen", "1"),
		      OF("Ethernet1", "trust", "dscp"), OF("Ethernet1", "queue/3/ecn", "1"));

	assert_int_equal(verdict("S01", t), RS_FAIL);
	assert_int_equal(verdict("S02", t), RS_NA);
	/* the same map, PFC where it leads */
	t = FACTS(SWITCH("EOS"), OF("*", "dscp_to_tc/26", "3"), OF("*", "tc_to_queue/3", "3"),
		  OF("Ethernet1", "pfc/3", "1"), OF("Ethernet1", "trust", "dscp"),
		  OF("Ethernet1", "queue/3/ecn", "1"));
	assert_int_equal(verdict("S01", t), RS_PASS);
	assert_int_equal(verdict("S02", t), RS_PASS);
}

/* PFC on each priority is no choice of one: nothing is right by it. */
static void test_pfc_on_all_priorities_is_no_pass(void **state)
{
	const struct told *t = FACTS(SWITCH("SONiC"), OF("Ethernet0", "dscp_to_tc/26", "3"),
				     OF("Ethernet0", "pfc/0", "1"), OF("Ethernet0", "pfc/1", "1"),
				     OF("Ethernet0", "pfc/2", "1"), OF("Ethernet0", "pfc/3", "1"),
				     OF("Ethernet0", "pfc/4", "1"), OF("Ethernet0", "pfc/5", "1"),
				     OF("Ethernet0", "pfc/6", "1"), OF("Ethernet0", "pfc/7", "1"));

	assert_int_equal(verdict("S02", t), RS_NA);
	assert_int_equal(verdict("S14", t), RS_FAIL);
}

static void test_class_numbers_are_joined_by_maps(void **state)
{
	/* queue 4, PFC priority 3 */
	const struct told *t =
		FACTS(SWITCH("Junos"), OF("et-0/0/1", "dscp_to_tc/26", "4"),
		      OF("et-0/0/1", "tc_to_pg/4", "3"), OF("et-0/0/1", "pfc/3", "1"),
		      OF("et-0/0/1", "pfc_dscp/26", "1"), HOST("106"));

	assert_int_equal(verdict("S01", t), RS_PASS);
	assert_int_equal(verdict("X01", t), RS_PASS);
}

/* ---- S02 ---- */

static void test_port_that_classifies_and_does_not_protect(void **state)
{
	const struct told *t =
		FACTS(SWITCH("SONiC"), PORT("Ethernet0"), OF("Ethernet0", "speed_mbps", "400000"),
		      OF("Ethernet8", "dscp_to_tc/26", "3"), OF("Ethernet8", "pfc/3", "0"),
		      OF("Ethernet8", "speed_mbps", "400000"));

	assert_int_equal(verdict("S02", t), RS_FAIL);
	fixed_by("S02", t, "sudo config interface pfc priority Ethernet8 3 on");
	assert_int_equal(verdict("S02", FACTS(SWITCH("SONiC"), PORT("Ethernet0"))), RS_PASS);
}

/* Not the last fact that was looked up, but what decides. */
static void test_pass_cites_what_decides(void **state)
{
	struct judged j = judge("S02", FACTS(SWITCH("SONiC"), PORT("Ethernet0")));
	const struct rs_finding *f = j.a->n_findings ? j.a->findings[0] : NULL;

	assert_non_null(f);
	assert_int_equal(f->verdict, RS_PASS);
	assert_int_equal(f->n_facts, 1);
	assert_string_equal(f->fact[0]->subject, "port/Ethernet0");
	assert_string_equal(f->fact[0]->name, "pfc/3");
	rs_audit_destroy(j.a);
}

static void test_management_port_needs_no_protection(void **state)
{
	const struct told *t =
		FACTS(SWITCH("SONiC"), PORT("Ethernet0"), OF("Ethernet0", "speed_mbps", "400000"),
		      OF("Ethernet512", "dscp_to_tc/26", "3"), OF("Ethernet512", "pfc/3", "0"),
		      OF("Ethernet512", "speed_mbps", "10000"), HOST("106"));

	assert_int_equal(verdict("S02", t), RS_PASS);
	assert_int_equal(verdict("X01", t), RS_PASS);
	assert_int_equal(verdict("S01", t), RS_PASS);
	/* unless a host of the job is behind it */
	assert_int_equal(verdict("S02", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet512", "dscp_to_tc/26", "3"),
					      OF("Ethernet512", "pfc/3", "0"),
					      OF("Ethernet512", "neighbour", "gpu"), HOST("106"))),
			 RS_FAIL);
}

static void test_port_that_is_down_is_passed_over(void **state)
{
	assert_int_equal(verdict("S02", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "speed_mbps", "100000"),
					      OF("Ethernet8", "dscp_to_tc/26", "3"),
					      OF("Ethernet8", "pfc/3", "0"),
					      OF("Ethernet8", "admin", "down"),
					      OF("Ethernet8", "speed_mbps", "100000"))),
			 RS_PASS);
}

static void test_flow_control_in_one_direction_only(void **state)
{
	assert_int_equal(
		verdict("S02", FACTS(SWITCH("Cumulus"), PORT("*"), OF("*", "pfc_tx", "0"))),
		RS_FAIL);
}

static void test_lossy_switch_has_nothing_to_protect(void **state)
{
	assert_int_equal(verdict("S02", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "0"),
					      OF("Ethernet0", "dscp_to_tc/26", "3"))),
			 RS_NA);
}

static void test_switch_that_is_seen_by_lldp_alone(void **state)
{
	assert_int_equal(verdict("S02", FACTS(HOST("106"),
					      {"gpu", "netdev/eth0", "neighbour_pfc", "0x08", 0})),
			 RS_PASS);
	assert_int_equal(verdict("S02", FACTS(HOST("106"),
					      {"gpu", "netdev/eth0", "neighbour_pfc", "0x10", 0})),
			 RS_FAIL);
	/* more than the host asks for is none of its concern; nothing said is nothing known */
	assert_int_equal(verdict("S02", FACTS(HOST("106"),
					      {"gpu", "netdev/eth0", "neighbour_pfc", "0x18", 0})),
			 RS_PASS);
	assert_int_equal(verdict("S02", FACTS(HOST("106"))), RS_NA);
}

/* ---- S03 ---- */

#define ROOM(bytes, cable)                                                                   \
	SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"), OF("Ethernet0", "pg/3/xoff", bytes), \
		OF("Ethernet0", "speed_mbps", "400000"), OF("Ethernet0", "mtu", "9216"),     \
		OF("Ethernet0", "cable_m", cable)

static void test_headroom_at_400g_over_100_metres(void **state)
{
	/* 2 x 9216 + 84 + 50000 = 68516 at least, 126436 with the peer's slowest answer */
	assert_int_equal(severity("S03", FACTS(ROOM("68515", "100"))), RS_MAJOR);
	assert_int_equal(severity("S03", FACTS(ROOM("68516", "100"))), RS_MINOR);
	assert_int_equal(severity("S03", FACTS(ROOM("126435", "100"))), RS_MINOR);
	assert_int_equal(verdict("S03", FACTS(ROOM("126436", "100"))), RS_PASS);
	assert_int_equal(verdict("S03", FACTS(ROOM("86436", "20"))), RS_PASS);
}

static void test_headroom_that_the_switch_computes(void **state)
{
	assert_int_equal(verdict("S03", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"),
					      OF("Ethernet0", "pg/3/profile", "NULL"))),
			 RS_PASS);
}

static void test_headroom_without_the_speed_is_unknown(void **state)
{
	assert_int_equal(verdict("S03", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"),
					      OF("Ethernet0", "pg/3/xoff", "1"))),
			 RS_UNKNOWN);
}

static void test_headroom_of_all_ports_fits_the_pool(void **state)
{
	assert_int_equal(severity("S03", FACTS(ROOM("200000", "5"),
					       {"leaf", "host", "pool/ingress_lossless_pool/size",
						"199999", 0})),
			 RS_MAJOR);
	assert_int_equal(
		verdict("S03",
			FACTS(ROOM("200000", "5"),
			      {"leaf", "host", "pool/ingress_lossless_pool/size", "199999", 0},
			      {"leaf", "host", "pool/ingress_lossless_pool/shared_headroom",
			       "50000", 0})),
		RS_PASS);
}

/* ---- S04 ---- */

static void test_lossless_queue_marks(void **state)
{
	assert_int_equal(verdict("S04", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "queue/3/ecn", "1"))),
			 RS_PASS);
	assert_int_equal(verdict("S04", FACTS(SWITCH("SONiC"), PORT("Ethernet0"))), RS_UNKNOWN);
}

static void test_lossless_queue_without_marks(void **state)
{
	const struct told *t =
		FACTS(SWITCH("SONiC"), PORT("Ethernet0"), {"leaf", "host", "queues_seen", "1", 0},
		      OF("Ethernet0", "queue/4/ecn", "1"));

	assert_int_equal(severity("S04", t), RS_MAJOR);
	fixed_by("S04", t, "sudo ecnconfig -p AZURE_LOSSLESS -gmin");
}

static void test_marks_are_looked_for_in_the_mapped_queue(void **state)
{
	/* class 3 goes to queue 1 there */
	assert_int_equal(
		verdict("S04",
			FACTS(SWITCH("EOS"), PORT("Ethernet1"), OF("Ethernet1", "trust", "dscp"),
			      OF("*", "tc_to_queue/3", "1"), OF("Ethernet1", "queues_seen", "1"),
			      OF("Ethernet1", "queue/1/ecn", "1"))),
		RS_PASS);
}

/* ---- S05 ---- */

#define MARKS(kmin, kmax)                                                                  \
	SWITCH("SONiC"), PORT("Ethernet0"), OF("Ethernet0", "queue/3/kmin", kmin),         \
		OF("Ethernet0", "queue/3/kmax", kmax), OF("Ethernet0", "pg/3/alpha", "0"), \
		OF("Ethernet0", "pg/3/pool", "p"),                                         \
	{                                                                                  \
		"leaf", "host", "pool/p/size", "4000000", 0                                \
	}

static void test_marking_begins_before_pauses(void **state)
{
	/* alpha 1 of 4 MB: one ingress is stopped at 2 MB */
	assert_int_equal(verdict("S05", FACTS(MARKS("150000", "1500000"))), RS_PASS);
	assert_int_equal(severity("S05", FACTS(MARKS("150000", "2000000"))), RS_MINOR);
	assert_int_equal(severity("S05", FACTS(MARKS("2000000", "3000000"))), RS_MAJOR);
}

static void test_marking_without_the_pools_size_is_unknown(void **state)
{
	assert_int_equal(verdict("S05", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "queue/3/kmin", "1"))),
			 RS_UNKNOWN);
	assert_int_equal(verdict("S05", FACTS(SWITCH("Junos"), PORT("et-0/0/0"),
					      OF("et-0/0/0", "tc_to_pg/3", "3"),
					      OF("et-0/0/0", "queue/3/kmin_percent", "55"))),
			 RS_UNKNOWN);
}

static void test_fixed_threshold_is_taken_as_it_is(void **state)
{
	assert_int_equal(verdict("S05", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "queue/3/kmin", "300000"),
					      OF("Ethernet0", "pg/3/static", "200000"))),
			 RS_FAIL);
}

/* ---- S06 ---- */

static void test_cnps_have_a_queue_of_their_own(void **state)
{
	assert_int_equal(verdict("S06", FACTS(SWITCH("SONiC"), PORT("Ethernet0"))), RS_PASS);
	assert_int_equal(severity("S06", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"),
					       OF("Ethernet0", "dscp_to_tc/26", "3"),
					       OF("Ethernet0", "dscp_to_tc/48", "3"))),
			 RS_MAJOR);
	assert_int_equal(severity("S06", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "1"),
					       OF("Ethernet0", "dscp_to_tc/26", "3"),
					       OF("Ethernet0", "dscp_to_tc/48", "0"))),
			 RS_MINOR);
}

static void test_cnps_are_looked_for_where_hosts_mark_them(void **state)
{
	assert_int_equal(verdict("S06", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "dscp_to_tc/50", "3"),
					      {"gpu", "netdev/eth0", "cnp_dscp", "50", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("S06", FACTS(SWITCH("Cumulus"), OF("*", "dscp_to_tc/26", "3"),
					      OF("*", "pfc/3", "1"))),
			 RS_UNKNOWN);
}

/* ---- S07 ---- */

static void test_shares_within_a_hundred(void **state)
{
	assert_int_equal(severity("S07", FACTS(SWITCH("EOS"), PORT("Ethernet1"),
					       OF("Ethernet1", "trust", "dscp"),
					       OF("Ethernet1", "queues_seen", "1"),
					       OF("Ethernet1", "queue/0/weight", "60"),
					       OF("Ethernet1", "queue/3/weight", "50"))),
			 RS_MINOR);
	/* weights of SONiC are no per cents */
	assert_int_equal(verdict("S07", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      {"leaf", "host", "queues_seen", "1", 0},
					      OF("Ethernet0", "queue/0/weight", "90"),
					      OF("Ethernet0", "queue/3/weight", "80"))),
			 RS_PASS);
}

static void test_strict_queue_is_for_control_traffic(void **state)
{
	assert_int_equal(
		verdict("S07", FACTS(SWITCH("Cumulus"), PORT("*"), OF("*", "queues_seen", "1"),
				     OF("*", "queue/6/scheduler", "STRICT"))),
		RS_PASS);
	assert_int_equal(
		verdict("S07", FACTS(SWITCH("Cumulus"), PORT("*"), OF("*", "queues_seen", "1"),
				     OF("*", "dscp_to_tc/10", "6"),
				     OF("*", "queue/6/scheduler", "STRICT"))),
		RS_FAIL);
	/* a strict queue that is limited starves nobody */
	assert_int_equal(verdict("S07", FACTS(SWITCH("Junos"), PORT("et-0/0/1"),
					      OF("et-0/0/1", "queues_seen", "1"),
					      OF("et-0/0/1", "dscp_to_tc/10", "6"),
					      OF("et-0/0/1", "queue/6/weight", "5"),
					      OF("et-0/0/1", "queue/6/scheduler", "STRICT"))),
			 RS_PASS);
}

/* ---- S08 ---- */

static void test_watchdog_is_on_and_patient(void **state)
{
	assert_int_equal(verdict("S08", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "watchdog", "on"),
					      OF("Ethernet0", "watchdog/detection_ms", "200"),
					      OF("Ethernet0", "watchdog/restoration_ms", "200"))),
			 RS_PASS);
	assert_int_equal(verdict("S08", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					      OF("Ethernet0", "watchdog", "on"),
					      OF("Ethernet0", "watchdog/detection_ms", "50"))),
			 RS_FAIL);
	assert_int_equal(verdict("S08", FACTS(SWITCH("SONiC"), PORT("Ethernet0"))), RS_UNKNOWN);
}

static void test_missing_watchdog_weighs_more_on_two_tiers(void **state)
{
	assert_int_equal(severity("S08", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					       {"leaf", "host", "model", "x", 0})),
			 RS_MINOR);
	assert_int_equal(severity("S08", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					       {"leaf", "host", "model", "x", 0},
					       {"spine", "host", "role", "switch", 0})),
			 RS_MAJOR);
	assert_int_equal(verdict("S08", FACTS(SWITCH("SONiC"), OF("Ethernet0", "pfc/3", "0"),
					      {"leaf", "host", "model", "x", 0})),
			 RS_NA);
}

static void test_storm_is_told_apart_from_one_that_ended(void **state)
{
	assert_int_equal(severity("S08", FACTS(SWITCH("SONiC"),
					       OF("Ethernet0", "watchdog/3/status", "stormed"))),
			 RS_CRITICAL);
	assert_int_equal(severity("S08", FACTS(SWITCH("SONiC"),
					       OF("Ethernet0", "watchdog/3/status", "operational"),
					       OF("Ethernet0", "watchdog/3/detected", "2"),
					       OF("Ethernet0", "watchdog/3/restored", "2"))),
			 RS_MINOR);
}

/* ---- S09 ---- */

#define PLUGGED(mtu)                                                                           \
	{"gpu", "netdev/eth0", "mtu", mtu, 0}, {"gpu", "netdev/eth0", "neighbour", "leaf", 0}, \
	{                                                                                      \
		"gpu", "netdev/eth0", "neighbour_port", "p1", 0                                \
	}

static void test_port_takes_the_hosts_packets(void **state)
{
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("SONiC"), OF("p1", "mtu", "9100"), PLUGGED("9000"))),
		RS_PASS);
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("SONiC"), OF("p1", "mtu", "4200"), PLUGGED("9000"))),
		RS_FAIL);
	fixed_by("S09", FACTS(SWITCH("Cumulus"), OF("p1", "mtu", "1500"), PLUGGED("9000")),
		 "nv set interface p1 link mtu 9000");
}

static void test_mtu_is_counted_as_the_system_counts_it(void **state)
{
	/* Junos counts the header: 9014 is 9000 */
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("Junos"), OF("p1", "mtu", "9014"), PLUGGED("9000"))),
		RS_PASS);
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("Junos"), OF("p1", "mtu", "9013"), PLUGGED("9000"))),
		RS_FAIL);
	/* EOS: l2 mtu counts the frame with its tag */
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("EOS"), OF("p1", "mtu_l2", "9017"), PLUGGED("9000"))),
		RS_FAIL);
}

static void test_port_is_found_by_alias_and_whole_names(void **state)
{
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("SONiC"), OF("Ethernet0", "mtu", "4200"),
				     OF("Ethernet0", "alias", "etp1"),
				     {"gpu", "netdev/eth0", "mtu", "9000", 0},
				     {"gpu", "netdev/eth0", "neighbour", "leaf.dc.example", 0},
				     {"gpu", "netdev/eth0", "neighbour_port", "etp1", 0})),
		RS_FAIL);
	/* leaf and leaf2 are two */
	assert_int_equal(
		verdict("S09", FACTS(SWITCH("SONiC"), OF("Ethernet0", "mtu", "4200"),
				     {"gpu", "netdev/eth0", "mtu", "9000", 0},
				     {"gpu", "netdev/eth0", "neighbour", "leaf2", 0},
				     {"gpu", "netdev/eth0", "neighbour_port", "Ethernet0", 0})),
		RS_NA);
}

static void test_mtu_by_lldp(void **state)
{
	assert_int_equal(verdict("S09", FACTS({"gpu", "netdev/eth0", "mtu", "9000", 0},
					      {"gpu", "netdev/eth0", "neighbour_mfs", "9216", 0})),
			 RS_PASS);
	assert_int_equal(verdict("S09", FACTS({"gpu", "netdev/eth0", "mtu", "9000", 0},
					      {"gpu", "netdev/eth0", "neighbour_mfs", "1518", 0})),
			 RS_FAIL);
	/* some name their MTU there: no accusation */
	assert_int_equal(verdict("S09", FACTS({"gpu", "netdev/eth0", "mtu", "9216", 0},
					      {"gpu", "netdev/eth0", "neighbour_mfs", "9216", 0})),
			 RS_PASS);
	assert_int_equal(verdict("S09", FACTS({"gpu", "netdev/eth0", "mtu", "9000", 0})), RS_NA);
}

/* ---- S10 ---- */

#define TWIN(name, tc)                                                         \
	{name, "host", "role", "switch", 0}, {name, "host", "os", "SONiC", 0}, \
		{name, "port/e0", "dscp_to_tc/26", tc, 0},                     \
	{                                                                      \
		name, "port/e0", "description", name, 0                        \
	}

static void test_twins_differ(void **state)
{
	struct judged j;

	assert_int_equal(verdict("S10", FACTS(TWIN("l1", "3"), TWIN("l2", "3"))), RS_PASS);
	j = judge("S10", FACTS(TWIN("l1", "3"), TWIN("l2", "1"), TWIN("l3", "3")));
	assert_int_equal(j.a->findings[0]->verdict, RS_FAIL);
	assert_string_equal(j.a->findings[0]->subject[0].host, "l2");
	rs_audit_destroy(j.a);
}

static void test_switches_of_two_roles_are_no_twins(void **state)
{
	assert_int_equal(verdict("S10", FACTS(TWIN("l1", "3"), {"l1", "host", "tier", "Leaf", 0},
					      TWIN("s1", "1"), {"s1", "host", "tier", "Spine", 0})),
			 RS_NA);
}

/* ---- S11, S12 ---- */

static void test_hash_has_the_source_port(void **state)
{
	assert_int_equal(
		verdict("S11", FACTS(SWITCH("SONiC"), {"leaf", "host", "hash/l4_source", "1", 0})),
		RS_PASS);
	assert_int_equal(
		verdict("S11", FACTS(SWITCH("SONiC"), {"leaf", "host", "hash/l4_source", "0", 0})),
		RS_FAIL);
	assert_int_equal(verdict("S11", FACTS(SWITCH("SONiC"))), RS_UNKNOWN);
}

static void test_adaptive_routing_everywhere_or_nowhere(void **state)
{
	assert_int_equal(verdict("S11", FACTS(SWITCH("Cumulus"), {"leaf", "host", "ar", "on", 0},
					      {"spine", "host", "role", "switch", 0},
					      {"spine", "host", "ar", "off", 0})),
			 RS_FAIL);
	assert_int_equal(verdict("S11", FACTS(SWITCH("Cumulus"), {"leaf", "host", "ar", "on", 0},
					      {"spine", "host", "role", "switch", 0},
					      {"spine", "host", "ar", "on", 0})),
			 RS_NA);
}

static void test_tiers_have_seeds_of_their_own(void **state)
{
#define SEED(name, tier_name, seed)                                                \
	{name, "host", "role", "switch", 0}, {name, "host", "tier", tier_name, 0}, \
		{name, "host", "hash/seed", seed, 0}
	assert_int_equal(severity("S11", FACTS(SEED("l", "Leaf", "5"), SEED("s", "Spine", "5"))),
			 RS_MINOR);
	assert_int_equal(verdict("S11", FACTS(SEED("l", "Leaf", "5"), SEED("s", "Spine", "6"))),
			 RS_UNKNOWN);
	/* twins side by side may have one */
	assert_int_equal(verdict("S11", FACTS(SEED("l1", "Leaf", "5"), SEED("l2", "Leaf", "5"))),
			 RS_UNKNOWN);
}

static void test_uplinks_are_summed_against_downlinks(void **state)
{
	assert_int_equal(
		verdict("S12", FACTS(SWITCH("SONiC"), OF("e0", "speed_mbps", "400000"),
				     OF("e0", "neighbour", "gpu"), OF("e8", "speed_mbps", "400000"),
				     OF("e8", "neighbour", "s1"),
				     OF("e8", "neighbour_tier", "SpineRouter"))),
		RS_PASS);
	assert_int_equal(
		severity("S12", FACTS(SWITCH("SONiC"), OF("e0", "speed_mbps", "400000"),
				      OF("e0", "neighbour", "gpu"),
				      OF("e8", "speed_mbps", "100000"), OF("e8", "neighbour", "s1"),
				      OF("e8", "neighbour_tier", "SpineRouter"))),
		RS_INFO);
	assert_int_equal(verdict("S12", FACTS(SWITCH("SONiC"), OF("e0", "speed_mbps", "400000"),
					      OF("e0", "neighbour", "gpu"))),
			 RS_NA);
}

/* ---- S13 ---- */

static void test_drops_in_a_lossless_queue(void **state)
{
	assert_int_equal(verdict("S13", FACTS(SWITCH("SONiC"), PORT("e0"),
					      OF("e0", "counter/queue/3/dropped", "0"))),
			 RS_PASS);
	assert_int_equal(severity("S13", FACTS(SWITCH("SONiC"), PORT("e0"),
					       OF("e0", "counter/queue/3/dropped", "9"))),
			 RS_MAJOR);
	/* queue 0 may drop */
	assert_int_equal(verdict("S13", FACTS(SWITCH("SONiC"), PORT("e0"),
					      OF("e0", "counter/queue/0/dropped", "9"),
					      OF("e0", "counter/queue/3/dropped", "0"))),
			 RS_PASS);
	assert_int_equal(verdict("S13", FACTS(SWITCH("SONiC"), PORT("e0"))), RS_UNKNOWN);
}

static void test_drops_between_two_snapshots(void **state)
{
	assert_int_equal(
		verdict("S13",
			FACTS(SWITCH("SONiC"), PORT("e0"), OF("e0", "counter/queue/3/dropped", "9"),
			      {"leaf", "port/e0", "counter/queue/3/dropped", "9", 1})),
		RS_PASS);
	assert_int_equal(
		severity("S13", FACTS(SWITCH("SONiC"), PORT("e0"),
				      OF("e0", "counter/queue/3/dropped", "9"),
				      {"leaf", "port/e0", "counter/queue/3/dropped", "4", 1})),
		RS_CRITICAL);
}

static void test_drops_without_pauses_are_flow_control_that_does_not_work(void **state)
{
	assert_int_equal(severity("S13", FACTS(SWITCH("Cumulus"),
					       OF("swp1", "counter/lossless_tx_discards", "9"),
					       OF("swp1", "counter/tx_pause", "0"),
					       OF("swp1", "counter/rx_pause", "0"))),
			 RS_CRITICAL);
	assert_int_equal(severity("S13", FACTS(SWITCH("Cumulus"),
					       OF("swp1", "counter/lossless_tx_discards", "9"),
					       OF("swp1", "counter/tx_pause", "5"),
					       OF("swp1", "counter/rx_pause", "0"))),
			 RS_MAJOR);
	/* RoCE in lossy mode may drop */
	assert_int_equal(
		verdict("S13", FACTS(SWITCH("Cumulus"), {"leaf", "host", "roce_mode", "lossy", 0},
				     OF("swp1", "counter/lossless_tx_discards", "9"))),
		RS_PASS);
}

static void test_neighbour_that_stops_a_port(void **state)
{
#define STOPPED(us)                                                                          \
	SWITCH("SONiC"), OF("e0", "neighbour", "gpu7"), OF("e0", "counter/pfc_rx_us/3", us), \
		{"leaf", "port/e0", "counter/pfc_rx_us/3", "1000", 1},                       \
		{"leaf", "host", "time", "1100", 0}, {"leaf", "host", "time", "1000", 1}
	/* 100 s: 1% is a second */
	assert_int_equal(severity("S13", FACTS(STOPPED("1002000"))), RS_MAJOR);
	assert_int_equal(verdict("S13", FACTS(STOPPED("1000000"))), RS_NA);
	/* one reading has no time */
	assert_int_equal(verdict("S13", FACTS(SWITCH("SONiC"),
					      OF("e0", "counter/pfc_rx_us/3", "999999999"))),
			 RS_NA);
}

/* ---- S14, S15 ---- */

static void test_few_priorities_are_lossless(void **state)
{
	assert_int_equal(verdict("S14", FACTS(SWITCH("SONiC"), OF("e0", "pfc/3", "1"),
					      OF("e0", "pfc/4", "1"))),
			 RS_PASS);
	assert_int_equal(severity("S14", FACTS(SWITCH("SONiC"), OF("e0", "pfc/3", "1"),
					       OF("e0", "pfc/4", "1"), OF("e0", "pfc/2", "1"))),
			 RS_MINOR);
	assert_int_equal(verdict("S14", FACTS(SWITCH("SONiC"))), RS_NA);
}

static void test_what_is_set_is_in_force(void **state)
{
#define SHOWN(was, is) SWITCH("Cumulus"), OF("*", "applied/x", was), OF("*", "operational/x", is)
	assert_int_equal(verdict("S15", FACTS(SHOWN("lossless", "lossless"))), RS_PASS);
	assert_int_equal(verdict("S15", FACTS(SHOWN("lossless", "lossy"))), RS_FAIL);
	/* cells round */
	assert_int_equal(verdict("S15", FACTS(SHOWN("146.48 KB", "153.00 KB"))), RS_PASS);
	assert_int_equal(verdict("S15", FACTS(SHOWN("146.48 KB", "1.43 MB"))), RS_FAIL);
	assert_int_equal(verdict("S15", FACTS(SHOWN("on", "enabled"))), RS_PASS);
	assert_int_equal(verdict("S15", FACTS(SWITCH("Cumulus"), OF("*", "applied/x", "1"))),
			 RS_UNKNOWN);
}

/* ---- X01 at switches ---- */

static void test_chain_breaks_at_a_port_that_does_not_trust(void **state)
{
	const struct told *t = FACTS(SWITCH("EOS"), PORT("Ethernet1"),
				     OF("Ethernet1", "trust", "pcp"), HOST("106"));

	assert_int_equal(severity("X01", t), RS_CRITICAL);
	fixed_by("X01", t, "interface Ethernet1; qos trust dscp");
}

static void test_chain_takes_eos_default_map_as_likely(void **state)
{
	/* nothing is mapped: EOS puts 26 in class 3, and 34 in class 4 */
	const struct told *t =
		FACTS(SWITCH("EOS"), OF("Ethernet1", "routed", "1"), OF("Ethernet1", "pfc/3", "1"),
		      OF("Ethernet1", "pfc_seen", "1"), HOST("106"));

	assert_int_equal(verdict("X01", t), RS_PASS);
}

static void test_fix_at_the_host_moves_the_hosts_map_too(void **state)
{
	const struct told *t = FACTS(SWITCH("SONiC"), OF("e0", "dscp_to_tc/26", "1"),
				     OF("e0", "dscp_to_tc/3", "3"), OF("e0", "pfc/3", "1"),
				     OF("e0", "pfc/1", "0"), HOST("106"));

	fixed_by("X01", t, "NCCL_IB_TC=12");
	fixed_by("X01", t, "mlnx_qos -i eth0 --dscp2prio set,3,3");
}

static void test_storm_that_ended_is_a_failure_that_was_stated(void **state)
{
	struct judged j = judge("S08", FACTS(SWITCH("SONiC"), PORT("Ethernet0"),
					     OF("Ethernet0", "watchdog/3/status", "operational"),
					     OF("Ethernet0", "watchdog/3/detected", "2"),
					     OF("Ethernet0", "watchdog/3/restored", "2")));
	bool stated = false;

	(void)state;
	for (uint32_t i = 0; i < j.a->n_findings; i++)
		stated |= j.a->findings[i]->verdict == RS_FAIL && j.a->findings[i]->states_failure;
	assert_true(stated);
	rs_audit_destroy(j.a);
}

static void test_lines_that_are_missing_fail(void **state)
{
	(void)state;
	assert_int_equal(severity("S09", FACTS(SWITCH("NX-OS"), PORT("Eth1"),
					       OF("Eth1", "mtu_class", "1500"),
					       OF("Eth1", "mtu_ip", "9216"))),
			 RS_MAJOR);
	assert_true(
		verdict("S09", FACTS(SWITCH("NX-OS"), PORT("Eth1"), OF("Eth1", "mtu_class", "9216"),
				     OF("Eth1", "mtu_ip", "9216"))) != RS_FAIL);
	assert_int_equal(severity("S01", FACTS(SWITCH("NX-OS"), OF("Eth1", "pfc/3", "1"),
					       OF("Eth1", "unbound_policy", "in"))),
			 RS_MAJOR);
	assert_int_equal(severity("S01", FACTS(SWITCH("EOS"), PORT("Ethernet1"),
					       OF("Ethernet1", "trust", "pcp"))),
			 RS_MAJOR);
	assert_int_equal(severity("S01", FACTS(SWITCH("VRP"), OF("100GE1/0/1", "pfc/3", "1"),
					       OF("100GE1/0/1", "trust", "pcp"))),
			 RS_MINOR);
	assert_int_equal(
		severity("S02", FACTS(SWITCH("Junos"), {"leaf", "host", "pfc_unbound", "c", 0})),
		RS_MAJOR);
	assert_int_equal(
		severity("S02", FACTS(SWITCH("NX-OS"), {"leaf", "host", "pfc_meant", "off", 0})),
		RS_MAJOR);
	assert_int_equal(severity("S02", FACTS(SWITCH("Cumulus"),
					       {"leaf", "host", "roce_mode", "lossy", 0})),
			 RS_MINOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class_that_hosts_mark_is_lossless),
		cmocka_unit_test(test_class_that_hosts_mark_is_lossy),
		cmocka_unit_test(test_fix_of_a_class_is_in_the_switchs_own_words),
		cmocka_unit_test(test_class_protected_that_nothing_reaches),
		cmocka_unit_test(test_class_without_a_map_is_unknown),
		cmocka_unit_test(test_guarded_class_is_not_the_marked_one),
		cmocka_unit_test(test_pfc_on_all_priorities_is_no_pass),
		cmocka_unit_test(test_class_numbers_are_joined_by_maps),
		cmocka_unit_test(test_port_that_classifies_and_does_not_protect),
		cmocka_unit_test(test_management_port_needs_no_protection),
		cmocka_unit_test(test_port_that_is_down_is_passed_over),
		cmocka_unit_test(test_flow_control_in_one_direction_only),
		cmocka_unit_test(test_lossy_switch_has_nothing_to_protect),
		cmocka_unit_test(test_switch_that_is_seen_by_lldp_alone),
		cmocka_unit_test(test_headroom_at_400g_over_100_metres),
		cmocka_unit_test(test_headroom_that_the_switch_computes),
		cmocka_unit_test(test_headroom_without_the_speed_is_unknown),
		cmocka_unit_test(test_headroom_of_all_ports_fits_the_pool),
		cmocka_unit_test(test_lossless_queue_marks),
		cmocka_unit_test(test_lossless_queue_without_marks),
		cmocka_unit_test(test_marks_are_looked_for_in_the_mapped_queue),
		cmocka_unit_test(test_marking_begins_before_pauses),
		cmocka_unit_test(test_marking_without_the_pools_size_is_unknown),
		cmocka_unit_test(test_fixed_threshold_is_taken_as_it_is),
		cmocka_unit_test(test_cnps_have_a_queue_of_their_own),
		cmocka_unit_test(test_cnps_are_looked_for_where_hosts_mark_them),
		cmocka_unit_test(test_shares_within_a_hundred),
		cmocka_unit_test(test_strict_queue_is_for_control_traffic),
		cmocka_unit_test(test_watchdog_is_on_and_patient),
		cmocka_unit_test(test_missing_watchdog_weighs_more_on_two_tiers),
		cmocka_unit_test(test_storm_is_told_apart_from_one_that_ended),
		cmocka_unit_test(test_port_takes_the_hosts_packets),
		cmocka_unit_test(test_mtu_is_counted_as_the_system_counts_it),
		cmocka_unit_test(test_port_is_found_by_alias_and_whole_names),
		cmocka_unit_test(test_mtu_by_lldp),
		cmocka_unit_test(test_twins_differ),
		cmocka_unit_test(test_switches_of_two_roles_are_no_twins),
		cmocka_unit_test(test_hash_has_the_source_port),
		cmocka_unit_test(test_adaptive_routing_everywhere_or_nowhere),
		cmocka_unit_test(test_tiers_have_seeds_of_their_own),
		cmocka_unit_test(test_uplinks_are_summed_against_downlinks),
		cmocka_unit_test(test_drops_in_a_lossless_queue),
		cmocka_unit_test(test_drops_between_two_snapshots),
		cmocka_unit_test(test_drops_without_pauses_are_flow_control_that_does_not_work),
		cmocka_unit_test(test_neighbour_that_stops_a_port),
		cmocka_unit_test(test_few_priorities_are_lossless),
		cmocka_unit_test(test_what_is_set_is_in_force),
		cmocka_unit_test(test_chain_breaks_at_a_port_that_does_not_trust),
		cmocka_unit_test(test_chain_takes_eos_default_map_as_likely),
		cmocka_unit_test(test_fix_at_the_host_moves_the_hosts_map_too),
		cmocka_unit_test(test_pass_cites_what_decides),
		cmocka_unit_test(test_storm_that_ended_is_a_failure_that_was_stated),
		cmocka_unit_test(test_lines_that_are_missing_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
