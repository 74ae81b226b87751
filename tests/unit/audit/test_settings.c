/* Each threshold that a profile may set turns a verdict, and nothing but the documented ones can be
 * set. */
#include "audit/read/profile.h"
#include "audit/rules/profile.h"
#include "judge.h"

struct turn {
	const char *setting, *rule;
	const struct told *facts;
	int before, after;               /* verdicts */
	int severe_before, severe_after; /* of a FAIL; -1: any */
};

static const struct rs_finding *judge_with(struct rs_audit *a, const struct turn *t,
					   const char *setting)
{
	const char *only[] = {t->rule, NULL};
	char text[128];

	for (const struct told *f = t->facts; f->host; f++) {
		struct rs_fact fact = {.host = f->host,
				       .subject = f->subject,
				       .name = f->name,
				       .value = f->value,
				       .age = f->age,
				       .trust = RS_TRUST_TOOL,
				       .file = "test"};

		assert_int_equal(rs_facts_add(a->facts, &fact), 0);
	}
	if (setting) {
		int n = snprintf(text, sizeof(text), "settings: {%s}\n", setting);

		assert_int_equal(
			rs_audit_profile_text(a, text, (size_t)n, "site", rs_rule_known, NULL), 0);
	}
	assert_int_equal(rs_audit_run(a, only, NULL, NULL), 0);
	return a->n_findings ? a->findings[0] : NULL;
}

static void expect_finding(const struct turn *t, const char *setting, int verdict, int severity)
{
	const struct rs_finding *f;
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	f = judge_with(a, t, setting);
	if ((f ? (int)f->verdict : RS_NA) != verdict ||
	    (severity >= 0 && (!f || (int)f->severity != severity)))
		fail_msg("%s with %s: %s", t->rule, setting ? setting : "its default",
			 f ? f->title : "nothing is found");
	rs_audit_destroy(a);
}

static void test_each_threshold_turns_a_verdict(void **state)
{
	const struct told paused[] = {
		{"h", "host", "time", "0", 1},
		{"h", "host", "time", "100", 0},
		{"h", "netdev/e", "counter/rx_prio3_pause", "1", 1},
		{"h", "netdev/e", "counter/rx_prio3_pause", "9", 0},
		{"h", "netdev/e", "counter/rx_prio3_pause_duration", "0", 1},
		{"h", "netdev/e", "counter/rx_prio3_pause_duration", "500000", 0},
		{NULL, NULL, NULL, NULL, 0}};
	const struct told group[] = {
		{"s", "host", "role", "switch", 0},          {"s", "host", "os", "SONiC", 0},
		{"s", "port/e0", "dscp_to_tc/26", "3", 0},   {"s", "port/e0", "pfc/3", "1", 0},
		{"s", "port/e0", "speed_mbps", "400000", 0}, {"s", "port/e0", "mtu", "9216", 0},
		{"s", "port/e0", "pg/3/xoff", "127000", 0},  {NULL, NULL, NULL, NULL, 0}};
	const struct told reads[] = {{"h", "pci/0000:17:00.0", "kind", "nic", 0},
				     {"h", "pci/0000:17:00.0", "mrrs", "512", 0},
				     {"h", "pci/0000:17:00.0", "ext_tag", "0", 0},
				     {"h", "nic/m", "pci", "0000:17:00.0", 0},
				     {"h", "nic/m", "rate_gbps", "100", 0},
				     {NULL, NULL, NULL, NULL, 0}};
	const struct told errors[] = {{"h", "nic/m", "link/raw_ber", "2E-5", 0},
				      {NULL, NULL, NULL, NULL, 0}};
	const struct told bins[] = {{"h", "netdev/e", "counter/fec_bin/0", "1000000000", 0},
				    {"h", "netdev/e", "counter/fec_bin/10", "1", 0},
				    {NULL, NULL, NULL, NULL, 0}};
	const struct told flaps[] = {{"h", "netdev/e", "flap/0", "1000", 0},
				     {"h", "netdev/e", "flap/1", "2000", 0},
				     {NULL, NULL, NULL, NULL, 0}};
	const struct told idle[] = {{"h", "host", "cpuidle/1/latency_us", "8", 0},
				    {"h", "host", "cpuidle/1/disable", "0", 0},
				    {NULL, NULL, NULL, NULL, 0}};
	const struct told bytes[] = {{"h", "nic/m", "netdev", "e", 0},
				     {"h", "netdev/e", "counter/rx_prio0_bytes", "900000", 0},
				     {NULL, NULL, NULL, NULL, 0}};
	const struct turn turns[] = {
		{"pause_note: 0.01", "C04", paused, RS_FAIL, RS_PASS, RS_MINOR, -1},
		{"pause_fail: 0.001", "C04", paused, RS_FAIL, RS_FAIL, RS_MINOR, RS_MAJOR},
		{"cable_m: 3000", "S03", group, RS_PASS, RS_FAIL, -1, RS_MAJOR},
		{"p2p_rtt_us: 4", "P03", reads, RS_PASS, RS_FAIL, -1, RS_MAJOR},
		{"fec_warn_ber: 0.0001", "L02", errors, RS_FAIL, RS_PASS, RS_MINOR, -1},
		{"fec_warn_bin: 10", "L02", bins, RS_PASS, RS_FAIL, -1, RS_MINOR},
		{"flaps_per_day: 2", "C07", flaps, RS_FAIL, RS_NA, RS_MAJOR, -1},
		{"idle_us: 5", "H01", idle, RS_PASS, RS_FAIL, -1, RS_MINOR},
		{"lossless: no", "C03", bytes, RS_FAIL, RS_NA, RS_CRITICAL, -1},
	};

	for (unsigned i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		expect_finding(&turns[i], NULL, turns[i].before, turns[i].severe_before);
		expect_finding(&turns[i], turns[i].setting, turns[i].after, turns[i].severe_after);
	}
}

/* What docs/audit.md lists under `settings` is what a profile takes. */
static void test_documented_keys_are_those_taken(void **state)
{
	static const char *const keys[] = {"pause_note",    "pause_fail",   "cable_m",
					   "p2p_rtt_us",    "fec_warn_ber", "fec_warn_bin",
					   "flaps_per_day", "idle_us",      "lossless"};
	FILE *f = fopen(RS_SOURCE_DIR "/docs/audit.md", "r");
	char text[1 << 16], word[64];
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		snprintf(word, sizeof(word), "`%s`", keys[i]);
		if (!strstr(text, word))
			fail_msg("docs/audit.md does not name %s", word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_threshold_turns_a_verdict),
		cmocka_unit_test(test_documented_keys_are_those_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
