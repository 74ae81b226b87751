/* Counters of pressure: a rate where there are two readings, a hint where there is one. */
#include "audit/read/reader.h"
#include "judge.h"

#define NOW(subject, counter, value)                       \
	{                                                  \
		"a", subject, "counter/" counter, value, 0 \
	}
#define OLD(subject, counter, value)                       \
	{                                                  \
		"a", subject, "counter/" counter, value, 1 \
	}

static void test_late_receivers_are_a_rate(void **state)
{
	assert_int_equal(verdict("C02", FACTS(NOW("nic/m", "out_of_buffer", "135"))), RS_UNKNOWN);
	assert_int_equal(verdict("C02", FACTS(NOW("nic/m", "out_of_buffer", "135"),
					      OLD("nic/m", "out_of_buffer", "135"))),
			 RS_PASS);
	assert_int_equal(verdict("C02", FACTS(NOW("nic/m", "rnr_nak_retry_err", "9"),
					      OLD("nic/m", "rnr_nak_retry_err", "4"))),
			 RS_FAIL);
	/* cleared in between: it counts from there */
	assert_int_equal(verdict("C02", FACTS(NOW("nic/m", "out_of_buffer", "0"),
					      OLD("nic/m", "out_of_buffer", "135"))),
			 RS_PASS);
}

#define CLOCK                                      \
	{"a", "host", "uptime_s", "2000", 0},      \
	{                                          \
		"a", "host", "uptime_s", "1000", 1 \
	}
#define PAUSED(us)                                                                        \
	NOW("netdev/e", "rx_prio3_pause", "500"), OLD("netdev/e", "rx_prio3_pause", "0"), \
		NOW("netdev/e", "rx_prio3_pause_duration", us),                           \
		OLD("netdev/e", "rx_prio3_pause_duration", "0")

static void test_pause_is_a_share_of_the_time(void **state)
{
	struct judged j;

	/* 20 s of 1000 s */
	assert_int_equal(verdict("C04", FACTS(CLOCK, PAUSED("20000000"))), RS_FAIL);
	/* 0.05 % */
	assert_int_equal(verdict("C04", FACTS(CLOCK, PAUSED("500000"))), RS_PASS);
	/* between the note and the limit: minor */
	j = judge("C04", FACTS(CLOCK, PAUSED("5000000")));
	assert_int_equal(j.a->findings[0]->severity, RS_MINOR);
	rs_audit_destroy(j.a);
	/* frames without a duration or a clock are no share */
	assert_int_equal(verdict("C04", FACTS(PAUSED("20000000"))), RS_UNKNOWN);
	assert_int_equal(verdict("C04", FACTS(NOW("netdev/e", "rx_prio3_pause", "0"))), RS_PASS);
}

static void test_limits_of_pause_are_settable(void **state)
{
	const char *only[] = {"C04", NULL};
	const struct told facts[] = {CLOCK, PAUSED("20000000")};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	a->set.pause_note = a->set.pause_fail = 0.05;
	for (unsigned i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		assert_int_equal(
			rs_facts_add(a->facts, &(struct rs_fact){.host = facts[i].host,
								 .subject = facts[i].subject,
								 .name = facts[i].name,
								 .value = facts[i].value,
								 .age = facts[i].age,
								 .file = "test"}),
			0);
	assert_int_equal(rs_audit_run(a, only, NULL, NULL), 0);
	assert_int_equal(a->findings[0]->verdict, RS_PASS);
	rs_audit_destroy(a);
}

static void test_storm_of_pause_is_critical(void **state)
{
	struct judged j = judge("C04", FACTS(NOW("netdev/e", "tx_pause_storm_error_events", "1"),
					     NOW("netdev/e", "outbound_pci_stalled_wr", "77")));

	assert_int_equal(j.a->findings[0]->severity, RS_CRITICAL);
	assert_int_equal(j.a->findings[0]->n_facts, 2);
	rs_audit_destroy(j.a);
}

static void test_flushes_are_no_errors(void **state)
{
#define CQE(all, flush, age)                                \
	{"a", "nic/m", "counter/resp_cqe_error", all, age}, \
		{"a", "nic/m", "counter/resp_cqe_flush_error", flush, age}
	assert_int_equal(verdict("C06", FACTS(CQE("998", "998", 0))), RS_PASS);
	assert_int_equal(verdict("C06", FACTS(CQE("1009", "998", 0))), RS_UNKNOWN);
	assert_int_equal(verdict("C06", FACTS(CQE("1009", "998", 0), CQE("1000", "998", 1))),
			 RS_FAIL);
	/* teardown between the readings */
	assert_int_equal(verdict("C06", FACTS(CQE("1009", "998", 0), CQE("511", "500", 1))),
			 RS_PASS);
	assert_int_equal(verdict("C06", FACTS(NOW("nic/m", "resp_cqe_error", "1009"))), RS_NA);
}

static void test_discards_are_a_rate_and_ceilings_prove_nothing(void **state)
{
	assert_int_equal(verdict("C08", FACTS(NOW("netdev/e", "rx_discards_phy", "10"),
					      OLD("netdev/e", "rx_discards_phy", "3"))),
			 RS_FAIL);
	assert_int_equal(verdict("C08", FACTS(NOW("netdev/e", "rx_discards_phy", "10"))),
			 RS_UNKNOWN);
	assert_int_equal(verdict("C08", FACTS(NOW("netdev/e", "rx_discards_phy", "0"))), RS_PASS);
	assert_int_equal(verdict("C08", FACTS(NOW("nic/m", "port_xmit_discards", "65535"),
					      OLD("nic/m", "port_xmit_discards", "65535"))),
			 RS_UNKNOWN);
}

/* ---- C07's other halves ---- */

#define FLAP(n, at)                                 \
	{                                           \
		"a", "netdev/ib6", "flap/" n, at, 0 \
	}

static void test_losses_of_a_link_within_a_day(void **state)
{
	assert_int_equal(verdict("C07", FACTS(FLAP("1", "1000"), FLAP("2", "87399"))), RS_FAIL);
	/* a day apart */
	assert_int_equal(verdict("C07", FACTS(FLAP("1", "1000"), FLAP("2", "87400"))), RS_NA);
	assert_int_equal(verdict("C07", FACTS(FLAP("1", "1000"))), RS_NA);
}

static void test_copied_counters_are_no_reading(void **state)
{
#define SENT(nic, v) {"a", "nic/" nic, "counter/port_xmit_data", v, 0}
	assert_int_equal(
		verdict("C07", FACTS(SENT("m0", "230442669431839"), SENT("m1", "230442669431839"),
				     SENT("m2", "230442669431839"))),
		RS_UNKNOWN);
	/* idle ports are alike by right */
	assert_int_equal(verdict("C07", FACTS(SENT("m0", "0"), SENT("m1", "0"), SENT("m2", "0"))),
			 RS_NA);
}

static struct rs_audit *log_of(const char *text)
{
	struct rs_input in = {.host = "a",
			      .path = "syslog",
			      .inner = "syslog",
			      .data = text,
			      .size = strlen(text)};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_read_input(a, &in), 1);
	rs_facts_seal(a->facts);
	return a;
}

static void test_log_tells_faults_and_losses_apart_from_starts(void **state)
{
	struct rs_audit *a = log_of(
		"[    5.1] mlx5_core 0000:17:00.0: firmware version: 28.41.1000\n"
		"[    9.0] mlx5_core 0000:17:00.0 eth4: Link down\n"
		"[ 4000.0] mlx5_core 0000:17:00.0 eth4: Link down\n"
		"[ 4100.0] NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n"
		"[ 4101.0] NVRM: Xid (PCI:0000:18:00): 31, pid=1, MMU fault of an application\n");

	/* nine seconds after the driver's start a link is still coming up */
	assert_int_equal(rs_facts_get(a->facts, "a", "netdev/eth4", "flap/1")->number, 4000);
	assert_null(rs_facts_get(a->facts, "a", "netdev/eth4", "flap/2"));
	assert_non_null(rs_facts_get(a->facts, "a", "host", "kernel_error/1"));
	assert_null(rs_facts_get(a->facts, "a", "host", "kernel_error/2"));
	rs_audit_destroy(a);
	a = log_of("Aug 17 06:18:01 vm systemd-networkd[5398]: ib6: lost carrier\n"
		   "Aug 18 06:18:01 vm systemd-networkd[5398]: ib6: lost carrier\n");
	assert_int_equal(rs_facts_get(a->facts, "a", "netdev/ib6", "flap/2")->number -
				 rs_facts_get(a->facts, "a", "netdev/ib6", "flap/1")->number,
			 24 * 3600);
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_receivers_are_a_rate),
		cmocka_unit_test(test_pause_is_a_share_of_the_time),
		cmocka_unit_test(test_limits_of_pause_are_settable),
		cmocka_unit_test(test_storm_of_pause_is_critical),
		cmocka_unit_test(test_flushes_are_no_errors),
		cmocka_unit_test(test_discards_are_a_rate_and_ceilings_prove_nothing),
		cmocka_unit_test(test_losses_of_a_link_within_a_day),
		cmocka_unit_test(test_copied_counters_are_no_reading),
		cmocka_unit_test(test_log_tells_faults_and_losses_apart_from_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
