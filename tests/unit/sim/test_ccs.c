/* Several congestion controls in one description: of classes, hosts, jobs and flows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "plant/plant.h"
#include "sim/sim.h"

enum { SEEDS = 4 };

/* What a run of a description tells. */
struct outcome {
	rs_time end[16]; /* [flow] */
	rs_time job[4];  /* [job]: its last flow's end */
	uint64_t cuts[4];
	struct rs_sim_counters counters;
};

static struct rs_fabric *load(const char *text)
{
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};

	if (rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &f, &e))
		fail_msg("%d:%d: %s\n%s", e.line, e.column, e.what, text);
	return f;
}

static struct outcome run_with(const char *text, uint64_t seed, uint32_t threads)
{
	struct rs_sim_options o = {.seed = seed, .threads = threads};
	struct rs_fabric *f = load(text);
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};
	struct outcome out = {0};
	uint64_t sum = 0;

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s\n%s", e.what, text);
	assert_true(r->complete);
	for (uint32_t i = 0; i < r->n_flows && i < 16; i++)
		out.end[i] = r->flows[i].finish;
	for (uint32_t i = 0; i < r->n_jobs; i++) {
		sum += r->jobs[i].cc_cuts;
		if (i < 4) {
			out.job[i] = r->jobs[i].finish;
			out.cuts[i] = r->jobs[i].cc_cuts;
		}
	}
	out.counters = r->counters;
	assert_int_equal(sum, r->several_ccs ? r->counters.cc_cuts : 0);
	rs_sim_result_free(r);
	rs_fabric_free(f);
	return out;
}

static struct outcome run(const char *text)
{
	return run_with(text, 5, 1);
}

__attribute__((format(printf, 1, 2))) static struct outcome runf(const char *format, ...)
{
	char text[4000];
	va_list a;

	va_start(a, format);
	assert_in_range(vsnprintf(text, sizeof(text), format, a), 1, sizeof(text) - 1);
	va_end(a);
	return run(text);
}

#define FABRIC(more, class4)                                                              \
	"fabric: {" more "network: {kind: single-switch, rate: 400G, delay: 500ns%s}, "   \
	"qos: {classes: [{class: 3, weight: 50}, {class: 4, lossless: true, ecn: true, "  \
	"weight: 50, dscp: 34" class4 "}]}, change: [{link: [h1, switch0], rate: 100G}, " \
	"{link: [h2, switch0], rate: 100G}]}\n"

static bool same(const struct outcome *a, const struct outcome *b)
{
	return !memcmp(a->end, b->end, sizeof(a->end)) &&
	       a->counters.cc_cuts == b->counters.cc_cuts;
}

/* ---- Where it is said ---- */

/* Two to one in class 4: the fabric's own, the class's, the hosts', the job's, the flows'. */
static void test_each_place_means_the_same(void **state)
{
	static const char *const kinds[] = {"swift", "none", "{kind: dcqcn, preset: paper}",
					    "{kind: hpcc, eta: 0.9}"};
	static const char hosts[] = "hosts: [{name: h, count: 6, sockets: 1, nics: [{name: nic0, "
				    "on: socket0, pcie: gen5x16}]";

	for (unsigned i = 0; i < 4; i++) {
		const char *k = kinds[i];
		struct outcome fabric, at[4];

#define FLOWS(cc)                                                  \
	"flows: [{src: h3, dst: h1, bytes: 4MB, class: 4" cc "}, " \
	"{src: h4, dst: h1, bytes: 4MB, class: 4" cc "}]}]\n"
		fabric = runf(FABRIC("cc: %s, ", "") "workload: [{" FLOWS(""), k, ", hosts: 6");
		at[0] = runf(FABRIC("", ", cc: %s") "workload: [{" FLOWS(""), ", hosts: 6", k);
		at[1] = runf(FABRIC("", "") "workload: [{cc: %s, " FLOWS(""), ", hosts: 6", k);
		at[2] = runf(FABRIC("", "") "workload: [{" FLOWS(", cc: %s"), ", hosts: 6", k, k);
		for (unsigned w = 0; w < 3; w++)
			if (!same(&fabric, &at[w]))
				fail_msg("%s: place %u: %.3f us, the fabric's %.3f us", k, w,
					 (double)at[w].job[0] / RS_US,
					 (double)fabric.job[0] / RS_US);
		/* hosts with an inside are another machine: beside the fabric's own on the same */
		fabric = runf(FABRIC("cc: %s, %s}], ", "") "workload: [{" FLOWS(""), k, hosts, "");
		at[3] = runf(FABRIC("%s, cc: %s}], ", "") "workload: [{" FLOWS(""), hosts, k, "");
		assert_true(same(&fabric, &at[3]));
	}
}

/* The nearest holds: flow, job, host, class, fabric. */
static void test_the_nearest_holds(void **state)
{
	static const char *const names[] = {"none", "hpcc", "swift", "dcqcn", "none"};
	struct rs_plant *p;

	for (unsigned from = 0; from < 5; from++) {
		char text[1500], said[5][32] = {{0}};
		const struct rs_job *j;
		struct rs_fabric *f;

		for (unsigned i = from; i < 4; i++)
			snprintf(said[i], sizeof(said[i]), ", cc: %s", names[i]);
		snprintf(text, sizeof(text),
			 "fabric: {cc: {kind: %s}, hosts: [{name: h, count: 2, sockets: 1, nics: "
			 "[{name: nic0, on: socket0, pcie: gen5x16}]%s}], network: {kind: "
			 "single-switch, rate: 100G}, qos: {classes: "
			 "[{class: 5%s}]}}\nworkload: [{name: j%s, flows: [{src: h0, dst: h1, "
			 "bytes: 1MB, class: 5%s}]}]\n",
			 names[4], said[2], said[3], said[1], said[0]);
		f = load(text);
		j = &f->jobs[0];
		assert_int_equal(rs_plant_create(f, NULL, 1, f->arena, &p, NULL), 0);
		assert_string_equal(p->cc[rs_plant_qp_cc(p, j, &j->flows[0], 0, 5) - 1].ops->name,
				    names[from]);
		rs_fabric_free(f);
	}
}

/* ---- Two on one NIC ---- */

#define STORAGE                                                       \
	"{name: storage%s, flows: [{src: h0, dst: h1, bytes: 10MB}, " \
	"{src: h3, dst: h1, bytes: 10MB}]}"
#define TRAINING                                                                 \
	"{name: training%s, flows: [{src: h0, dst: h2, bytes: 10MB, class: 4}, " \
	"{src: h4, dst: h2, bytes: 10MB, class: 4}]}"

static bool near(double a, double b, double share)
{
	return a < b * (1 + share) && b < a * (1 + share);
}

/* Jobs' means over seeds: DCQCN's marks are drawn. */
static void mean(const char *jobs, double job[2], uint64_t cuts[2])
{
	memset(job, 0, 2 * sizeof(*job));
	memset(cuts, 0, 2 * sizeof(*cuts));
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		char text[2000];
		struct outcome o;

		snprintf(text, sizeof(text), FABRIC("", "") "workload: [%s]\n", ", hosts: 6", jobs);
		o = run_with(text, seed, 1);
		for (unsigned i = 0; i < 2; i++) {
			job[i] += (double)o.job[i] / SEEDS;
			cuts[i] += o.cuts[i];
		}
		assert_int_equal(o.counters.drops, 0);
	}
}

/* h0 sends to two receivers that are full of others' packets too; its own port is not full. */
static void test_two_on_one_nic_behave_as_alone(void **state)
{
	static const char *const kinds[] = {"dcqcn", "swift", "hpcc", "none"};
	/* DCQCN shares as its marks fall; who begins at half of 400 Gb/s gets less of them */
	static const double bar[] = {0.03, 0.15};

	for (unsigned a = 0; a < 4; a++)
		for (unsigned b = 0; b < 4; b++) {
			char ja[300], jb[300], both[610], ca[40], cb[40];
			double x[2], y[2], z[2];
			uint64_t nx[2], ny[2], nz[2];

			snprintf(ca, sizeof(ca), ", cc: %s", kinds[a]);
			snprintf(cb, sizeof(cb), ", cc: %s", kinds[b]);
			snprintf(ja, sizeof(ja), STORAGE, ca);
			snprintf(jb, sizeof(jb), TRAINING, cb);
			snprintf(both, sizeof(both), "%s, %s", ja, jb);
			mean(ja, x, nx);
			mean(jb, y, ny);
			mean(both, z, nz);
			if (!near(z[0], x[0], bar[!a]) || !near(z[1], y[0], bar[!b]))
				fail_msg("%s beside %s: %.1f us and %.1f us, alone %.1f and %.1f",
					 kinds[a], kinds[b], z[0] / RS_US, z[1] / RS_US,
					 x[0] / RS_US, y[0] / RS_US);
			assert_true(!nz[0] == !nx[0] && !nz[1] == !ny[0]);
		}
}

/* The test above would see it if the wrong one held: they differ by far. */
static void test_dcqcn_and_swift_are_told_apart(void **state)
{
	struct outcome d, s;

	d = runf(FABRIC("", "") "workload: [" TRAINING "]\n", ", hosts: 6", ", cc: dcqcn");
	s = runf(FABRIC("", "") "workload: [" TRAINING "]\n", ", hosts: 6", ", cc: swift");
	assert_false(near((double)d.job[0], (double)s.job[0], 0.2));
	assert_true(d.counters.cnps > 0);
	assert_int_equal(s.counters.cnps, 0);
}

/* Telemetry's 42 bytes are of HPCC's packets alone. */
static void test_only_the_flow_that_needs_stamps_carries_them(void **state)
{
	struct outcome r;

	r = runf(FABRIC("cc: none, ", "") "workload: [{flows: [{src: h0, dst: h3, bytes: 1MB}, "
					  "{src: h4, dst: h5, bytes: 1MB, cc: {kind: hpcc, "
					  "rate_min: 400G}}, {src: h6, dst: h7, bytes: 1MB}]}]\n",
		 ", hosts: 8");
	assert_int_equal(r.end[0], r.end[2]);
	/* 245 packets of 42 bytes more at 400 Gb/s, in 1 MB: one product of its window in hand */
	assert_true(r.end[1] - r.end[0] >= 245 * 42 * 20);
	assert_true(r.end[1] - r.end[0] < 245 * 42 * 20 + 5 * RS_US);
}

/* ---- Any of them ---- */

static const char *const drawn[] = {"dcqcn",
				    "swift",
				    "hpcc",
				    "none",
				    "{kind: dcqcn, preset: paper, g: 0.0156}",
				    "{kind: swift, target: 12us}",
				    "{kind: hpcc, preset: ns-3}"};

static char *random_description(struct rs_random *d)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

#define DRAWN drawn[rs_random_below(d, 7)]
	fprintf(out,
		"fabric: {cc: %s, network: {kind: leaf-spine, leaves: 2, spines: 2, "
		"hosts_per_leaf: 4, rate: 100G, delay: 500ns}, qos: {routing: %s, classes: "
		"[{class: "
		"3, cc: %s}, {class: 4, lossless: true, ecn: true}]}}\nworkload:\n",
		DRAWN, rs_random_below(d, 2) ? "ecmp" : "spray", DRAWN);
	for (unsigned j = 0; j < 3; j++) {
		fprintf(out, " - {name: j%u%s%s, flows: [", j, j ? ", cc: " : "", j ? DRAWN : "");
		for (unsigned i = 0; i < 5; i++) {
			unsigned src = rs_random_below(d, 8), to = rs_random_below(d, 7);

			fprintf(out, "{src: h%u, dst: h%u, class: %u, bytes: %ukB", src,
				to + (to >= src), 3 + rs_random_below(d, 2),
				1 + rs_random_below(d, 1500));
			fprintf(out, rs_random_below(d, 2) ? ", cc: %s}, " : "}, ", DRAWN);
		}
		fputs("]}\n", out);
	}
	fprintf(out, " - {cc: %s, collective: {ranks: 8, bytes: 300kB}}\n", DRAWN);
	fclose(out);
	return text;
}

/* Every flow ends; jobs' cuts add up (in run()); threads and a second reading of what is written
 * change nothing. */
static void test_any_mixture(void **state)
{
	struct rs_random d = rs_random_stream(11, 1, 1);

	for (unsigned i = 0; i < 12; i++) {
		char *text = random_description(&d), *written = NULL, *again = NULL;
		struct outcome a = run(text), b = run_with(text, 5, 2), c;
		size_t n;

		for (unsigned turn = 0; turn < 2; turn++) {
			struct rs_fabric *f = load(turn ? written : text);
			FILE *out = open_memstream(turn ? &again : &written, &n);

			assert_int_equal(rs_plant_cc_fill(f, NULL), 0);
			assert_int_equal(rs_fabric_write(f, out), 0);
			fclose(out);
			rs_fabric_free(f);
		}
		assert_string_equal(written, again);
		c = run(written);
		if (!same(&a, &b) || !same(&a, &c))
			fail_msg("threads: %d, written: %d\n%s", same(&a, &b), same(&a, &c), text);
		free(text);
		free(written);
		free(again);
	}
}

/* ---- What is wrong ---- */

/* Two queue pairs from each of four hosts, each packet marked, no cut that changes a rate: a CNP in
 * 50 us for each queue pair, each host, or the port. */
static void test_cnps_are_spaced_for_what_is_chosen(void **state)
{
	static const struct {
		const char *by;
		unsigned units;
	} ways[] = {{"qp", 8}, {"ip", 4}, {"port", 1}};

	for (unsigned w = 0; w < 3; w++) {
		char text[4096];
		size_t n = (size_t)snprintf(
			text, sizeof(text),
			"fabric:\n  network: {kind: single-switch, hosts: 5, rate: 100G}\n"
			"  transport: {cnp_moderation: %s}\n"
			"  cc: {kind: dcqcn, preset: paper, min_factor: 1, cnp_interval: 50us}\n"
			"  qos: {classes: [{class: 3, lossless: true, kmin: 0B, kmax: 1B}]}\n"
			"workload:\n  - flows:\n",
			ways[w].by);
		struct outcome o;
		double spans;

		for (unsigned i = 0; i < 8; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "    - {src: %u, dst: 4, bytes: 2MB}\n", i / 2);
		o = run(text);
		spans = (double)o.job[0] / (double)(50 * RS_US);
		assert_true((double)o.counters.cnps > ways[w].units * (spans * 0.95 - 2));
		assert_true((double)o.counters.cnps < ways[w].units * (spans + 1));
	}
}

static void test_what_is_wrong_says_where(void **state)
{
	static const struct {
		const char *class, *job, *flow, *tier;
		int column;
		const char *what;
	} cases[] = {
		{"swft", "none", "none", "", 0, "no congestion control is called 'swft'; did you"},
		{"none", "{preset: papr}", "none", "", 0, "dcqcn has no preset 'papr'; did you"},
		{"none", "none", "{kind: swift, tarket: 1us}", "", 0, "swift has no parameter "},
		{"none", "none", "{kind: swift, target: 1h}", "", 0, ""},
		{"none", "none", "[swift]", "", 0, "cc: expected a name, or a mapping"},
		{"none", "none", "none", ", tiers: {leaf: {classes: [{class: 3, cc: swift}]}}", 0,
		 "cc: congestion control is the senders', no switch's"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = NULL;
		struct rs_error e = {0};
		struct rs_plant *p;
		char text[1000];
		int err;

		snprintf(text, sizeof(text),
			 "fabric:\n"
			 " network: {kind: single-switch, hosts: 2, rate: 100G}\n"
			 " qos: {classes: [{class: 4, cc: %s}]%s}\n"
			 "workload:\n"
			 " - cc: %s\n"
			 "   flows: [{src: 0, dst: 1, bytes: 1MB, cc: %s}]\n",
			 cases[i].class, cases[i].tier, cases[i].job, cases[i].flow);
		err = rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &f, &e);
		if (!err)
			err = rs_plant_create(f, NULL, 1, f->arena, &p, &e);
		if (err != -EINVAL && err != -ERANGE)
			fail_msg("%u: %d, expected: %s", i, err, cases[i].what);
		assert_non_null(strstr(e.what, cases[i].what));
		assert_string_equal(e.file, "t.yaml");
		assert_true(e.line >= 3 && e.column > 1);
		rs_fabric_free(f);
	}
}

static void test_a_limit_on_different_ones(void **state)
{
	for (unsigned n = RS_OWN_CCS_MAX; n <= RS_OWN_CCS_MAX + 1; n++) {
		struct rs_fabric *f = NULL;
		struct rs_error e = {0};
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		int err;

		fputs("fabric: {network: {kind: single-switch, hosts: 2}}\nworkload:\n", out);
		for (unsigned i = 0; i < 2 * n; i++) /* each of them twice */
			fprintf(out,
				"- {name: j%u, cc: {rate_ai: %uM}, flows: [{src: 0, dst: 1, bytes: "
				"1kB}]}\n",
				i, i % n + 1);
		fclose(out);
		err = rs_fabric_load_text(text, size, "t.yaml", NULL, NULL, 0, &f, &e);
		assert_int_equal(err, n > RS_OWN_CCS_MAX ? -E2BIG : 0);
		assert_true(n > RS_OWN_CCS_MAX || f->n_ccs == n);
		rs_fabric_free(f);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_place_means_the_same),
		cmocka_unit_test(test_the_nearest_holds),
		cmocka_unit_test(test_two_on_one_nic_behave_as_alone),
		cmocka_unit_test(test_dcqcn_and_swift_are_told_apart),
		cmocka_unit_test(test_only_the_flow_that_needs_stamps_carries_them),
		cmocka_unit_test(test_any_mixture),
		cmocka_unit_test(test_cnps_are_spaced_for_what_is_chosen),
		cmocka_unit_test(test_what_is_wrong_says_where),
		cmocka_unit_test(test_a_limit_on_different_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
