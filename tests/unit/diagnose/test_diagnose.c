/* What a diagnosis says of runs: gains over seeds and jobs, bounds that are bounds, causes that can
 * be pointed at. Scenarios are small enough to work out by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "describe/describe.h"
#include "diagnose/diagnose.h"

struct told {
	char path[64];
	struct rs_fabric *f;
	struct rs_diagnosis *d;
};

static struct told tell(const char *yaml, uint32_t seeds)
{
	struct told t = {.path = "/tmp/ripstop-diagnose-XXXXXX"};
	struct rs_diagnose_options o = {.sim = {.seed = 1}, .threads = 1, .seeds = seeds};
	struct rs_error e = {0};
	int fd = mkstemp(t.path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
	close(fd);
	o.file = t.path;
	if (rs_fabric_load(t.path, NULL, 0, &t.f, &e) || rs_diagnose(t.f, &o, &t.d, &e))
		fail_msg("%s:%d: %s", e.file, e.line, e.what);
	for (uint32_t i = 0; i < t.d->n; i++)
		if (t.d->cases[i].error.code)
			fail_msg("%s: %s", t.d->info[i].name, t.d->cases[i].error.what);
	return t;
}

static void forget(struct told *t)
{
	rs_diagnosis_free(t->d);
	rs_fabric_free(t->f);
	unlink(t->path);
}

static uint32_t find(const struct rs_diagnosis *d, const char *name)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (strstr(d->info[i].name, name))
			return i;
	fail_msg("no run is named '%s'", name);
	return 0;
}

#define SINGLE(rest)                                                                               \
	"fabric: {network: {kind: single-switch, hosts: 4, rate: 100G}, cc: {kind: none}" rest "}" \
	"\n"

/* Nothing in the way: no cause, and what is made ideal changes nothing. */
static void test_healthy_run_names_nothing(void **state)
{
	struct told t = tell(SINGLE("") "workload: [{flows: [{src: 0, dst: 1, bytes: 1MB}]}]\n", 0);
	uint32_t by;

	assert_int_equal(t.d->n_causes, 0);
	assert_int_equal(rs_least_time(t.d, 0, &by), rs_case_job_time(t.d, 0, 0));
	assert_int_equal(t.d->n_seeds, 5);
	forget(&t);
}

/* What did not happen is not made ideal. */
static void test_absent_things_are_not_run(void **state)
{
	struct told t = tell(SINGLE("") "workload: [{flows: [{src: 0, dst: 1, bytes: 1MB}]}]\n", 1);

	for (uint32_t i = 0; i < t.d->n; i++) {
		const char *id = t.d->info[i].id;

		assert_true(!id || (strcmp(id, "pauses") && strcmp(id, "drops") &&
				    strcmp(id, "link.loss") && strcmp(id, "paths") &&
				    strcmp(id, "host") && strcmp(id, "reordering")));
	}
	forget(&t);
}

/* A lossy link: found, first, mended by its repair, and the share is of what is lost. */
static void test_lossy_link_is_named(void **state)
{
	struct told t =
		tell("fabric: {network: {kind: explicit, rate: 100G, hosts: [a, b], switches: [s], "
		     "links: [{a: a, b: s}, {a: b, b: s, loss: 0.01}]}, cc: {kind: none}}\n"
		     "workload: [{flows: [{src: a, dst: b, bytes: 8MB}]}]\n",
		     5);
	const struct rs_cause *c = &t.d->causes[0];
	struct rs_gain g;

	assert_true(t.d->n_causes > 0);
	assert_string_equal(c->id, "link.loss");
	assert_true(c->fix > 0);
	assert_non_null(strstr(t.d->info[c->fix].name, "no bit errors on b - s"));
	g = rs_case_gain(t.d, c->run);
	assert_true(g.clear && g.low > 0 && g.low <= g.gain && g.gain <= g.high && g.high <= 1);
	forget(&t);
}

/* Two jobs: the short one counts as much as the long one, and runs alone are as if it were. */
static void test_probe_beside_bulk_is_the_headline(void **state)
{
	struct told t = tell(
		SINGLE("") "workload:\n"
			   "  - {name: big, flows: [{src: 0, dst: 2, bytes: 20MB}, {src: 1, dst: "
			   "2, bytes: "
			   "20MB}]}\n"
			   "  - {name: tiny, flows: [{src: 3, dst: 2, bytes: 1kB, start: 1ms}]}\n",
		1);
	uint32_t alone = find(t.d, "job 'tiny' alone");
	rs_time with = rs_case_job_time(t.d, 0, 1), without = rs_case_job_time(t.d, alone, 1);
	struct rs_gain g = rs_case_gain(t.d, alone);

	assert_true(with > 20 * without);
	assert_int_equal(rs_case_job_time(t.d, alone, 0), RS_NEVER); /* left out */
	assert_true(g.ends && g.base_ends);
	/* the geometric mean over two jobs, one of which is left out: its square is the ratio */
	assert_true((1 - g.gain) * (1 - g.gain) * (double)with / (double)without > 0.999);
	assert_true((1 - g.gain) * (1 - g.gain) * (double)with / (double)without < 1.001);
	assert_string_equal(t.d->causes[0].id, "other-job");
	assert_non_null(strstr(t.d->causes[0].what, "'big'"));
	forget(&t);
}

/* A bound is the least of all runs: no share is above one, whatever a brake does. */
static void test_no_share_is_above_one(void **state)
{
	static const char *const yaml[] = {
		/* without congestion control the ring is slower than with it */
		"fabric: {network: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, "
		"rate: 100G}}\n"
		"workload: [{collective: {op: all-reduce, bytes: 4MiB}}, {flows: [{src: 0, dst: 7, "
		"bytes: "
		"4MB}, {src: 1, dst: 7, bytes: 4MB}, {src: 2, dst: 7, bytes: 64B}]}]\n",
		"fabric: {network: {kind: single-switch, hosts: 6, rate: 10G, mtu: 512}, qos: "
		"{buffer: 2MB}}\n"
		"workload: [{flows: [{src: 0, dst: 1, bytes: 1MB}, {src: 2, dst: 1, bytes: 1MB}, "
		"{src: 3, "
		"dst: 4, bytes: 1MB}, {src: 0, dst: 4, bytes: 2MB}, {src: 5, dst: 0, bytes: "
		"300kB}]}]\n",
	};

	for (unsigned i = 0; i < 2; i++) {
		struct told t = tell(yaml[i], 2);

		for (uint32_t j = 0; j < t.f->n_jobs; j++) {
			uint32_t by;
			rs_time least = rs_least_time(t.d, j, &by);

			for (uint32_t k = 0; k < t.d->n; k++)
				if (t.d->info[k].kind != RS_CASE_FIX && !t.d->info[k].mends &&
				    t.d->info[k].kind != RS_CASE_WITHOUT)
					assert_true(rs_case_job_time(t.d, k, j) >= least);
		}
		forget(&t);
	}
}

/* Jobs left out send nothing; the others' draws stay as they are. */
static void test_job_alone_is_as_if_described_alone(void **state)
{
	struct told two =
		tell(SINGLE("") "workload: [{name: x, flows: [{src: 0, dst: 1, bytes: 1MB}]}, "
				"{name: y, flows: [{src: 2, dst: 3, bytes: 1MB}]}]\n",
		     1);
	struct told one = tell(
		SINGLE("") "workload: [{name: x, flows: [{src: 0, dst: 1, bytes: 1MB}]}]\n", 1);
	uint32_t alone = find(two.d, "job 'x' alone");

	assert_int_equal(rs_case_job_time(two.d, alone, 0), rs_case_job_time(one.d, 0, 0));
	assert_int_equal(two.d->cases[alone].result->counters.data_packets,
			 one.d->cases[0].result->counters.data_packets);
	assert_int_equal(two.d->n_causes, 0);
	forget(&two);
	forget(&one);
}

/* A difference that seeds explain is none. */
static void test_chance_is_not_a_gain(void **state)
{
	/* four flows over four spines: ECMP's draw decides, so that seeds differ */
	struct told t = tell(
		"fabric: {network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4, "
		"rate: 100G}, cc: {kind: none}}\n"
		"workload: [{flows: [{src: 0, dst: 4, bytes: 2MB}, {src: 1, dst: 5, bytes: "
		"2MB}]}]\n",
		5);

	for (uint32_t i = 1; i < t.d->n; i++) {
		struct rs_gain g = rs_case_gain(t.d, i);

		if (t.d->info[i].n_seeds > 1)
			assert_int_equal(g.clear, g.low > 0 || g.high < 0);
	}
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy_run_names_nothing),
		cmocka_unit_test(test_absent_things_are_not_run),
		cmocka_unit_test(test_lossy_link_is_named),
		cmocka_unit_test(test_probe_beside_bulk_is_the_headline),
		cmocka_unit_test(test_no_share_is_above_one),
		cmocka_unit_test(test_job_alone_is_as_if_described_alone),
		cmocka_unit_test(test_chance_is_not_a_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
