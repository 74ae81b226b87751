/* Given paths: packets keep to them, bad ones are refused by line, written ones read the same; and
 * what the ns-3 preset stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "describe/describe.h"
#include "sim/sim.h"

#define FABRIC                                                                             \
	"fabric: {preset: ns-3, cc: {kind: none}, network: {kind: leaf-spine, leaves: 2, " \
	"spines: 2, hosts_per_leaf: 2, rate: 100G, delay: 1us}}\n"
#define FLOWS(a, b, acks) FLOWS2(a, b, acks, "")
#define FLOWS2(a, b, acks, acks2)                                                        \
	FABRIC "workload: [{flows: [{src: h0, dst: h2, bytes: 1MB, path: [h0, leaf0, " a \
	       ", leaf1, h2]" acks "},\n {src: 1, dst: 3, bytes: 1MB, path: [1, 4, " b   \
	       ", 5, 3]" acks2 "}]}]\n"

#define FLOWS_APART(a, b) \
	FLOWS2(a, b, ", ack_path: [h2, leaf1, spine1, leaf0, h0]", ", ack_path: [3, 5, 6, 4, 1]")

static struct rs_fabric *load(const char *text, const char *dir)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	if (rs_fabric_load_text(text, strlen(text), "t.yaml", dir, NULL, 0, &f, &e))
		fail_msg("%s:%d:%d: %s", e.file, e.line, e.column, e.what);
	return f;
}

/* When the last of the flows is done, ns. */
static int64_t last_ns(struct rs_fabric *f)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};
	int64_t last = 0;

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_true(r->complete);
	for (uint32_t i = 0; i < r->n_flows; i++)
		last = r->flows[i].finish / RS_NS > last ? r->flows[i].finish / RS_NS : last;
	rs_sim_result_free(r);
	return last;
}

static int64_t run(const char *text)
{
	struct rs_fabric *f = load(text, NULL);
	int64_t last = last_ns(f);

	rs_fabric_free(f);
	return last;
}

/* A path of four links: a packet of 83 ns and an ACK of 4 on each, 1 us each way; 1000 packets. */
enum { ALONE = 999 * 83 + 4 * (83 + 4 + 2000) };

static void test_packets_keep_to_the_path_given(void **state)
{
	assert_int_equal(run(FLOWS_APART("spine0", "7")), ALONE);
	assert_int_equal(run(FLOWS_APART("spine1", "6")), ALONE);
	/* two flows through one spine take turns on its links */
	assert_in_range(run(FLOWS("spine0", "6", "")), ALONE + 999 * 83, ALONE + 1001 * 83);
	assert_in_range(run(FLOWS("spine1", "7", "")), ALONE + 999 * 83, ALONE + 1001 * 83);
}

static void test_acks_have_a_path_of_their_own(void **state)
{
	/* those of two flows meet on a link, the second waits for the first; or they do not */
	assert_int_equal(run(FLOWS2("spine0", "7", ", ack_path: [h2, leaf1, spine1, leaf0, h0]",
				    ", ack_path: [3, 5, 7, 4, 1]")),
			 ALONE + 4);
	assert_int_equal(run(FLOWS2("spine0", "7", ", ack_path: [h2, leaf1, spine1, leaf0, h0]",
				    ", ack_path: [3, 5, 6, 4, 1]")),
			 ALONE);
}

static void refused(const char *text, const char *words)
{
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};

	assert_true(rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &f, &e) < 0);
	if (!strstr(e.what, words))
		fail_msg("expected '%s', got: %s", words, e.what);
	assert_null(f);
}

static void test_paths_that_do_not_fit_are_refused(void **state)
{
	refused(FLOWS("spine9", "6", ""), "no node 'spine9'");
	refused(FLOWS("spine0", "8", ""), "no node '8'");
	refused(FLOWS("leaf1", "6", ""), "follows no link");
	refused(FLOWS("h1", "6", ""), "follows no link");
	refused(FLOWS("spine0", "6", ", ack_path: [h0, leaf0, h2]"), "expected a path from h2");
	refused(FLOWS("spine0", "6", ", ack_path: [h2, leaf0, h0]"), "h2 is not linked");
	refused(FABRIC "workload: [{collective: {}, paths: a.csv}]", "go with flows");
}

static void test_a_csv_gives_paths_by_flow(void **state)
{
	char dir[] = "/tmp/rs-paths-XXXXXX", name[64];
	struct rs_fabric *f;
	FILE *out;

	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/p.csv", dir);
	out = fopen(name, "w");
	assert_non_null(out);
	fputs("flow,nodes\n1,1 4 7 5 3\r\n# said twice, the last holds\n0,0 4 7 5 2\n"
	      "0,h0 leaf0 spine0 leaf1 h2\n",
	      out);
	fclose(out);
	f = load(FABRIC "workload: [{flows: [{src: 0, dst: 2, bytes: 1MB}, {src: 1, dst: 3, "
			"bytes: 1MB}], paths: p.csv}]",
		 dir);
	assert_in_range(last_ns(f), ALONE, ALONE + 4);
	assert_int_equal(f->jobs[0].flows[0].path->n, 3);
	rs_fabric_free(f);
	unlink(name);
	rmdir(dir);
}

static char *written(const struct rs_fabric *f)
{
	char *buf = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&buf, &n);

	assert_int_equal(rs_fabric_write(f, out), 0);
	fclose(out);
	return buf;
}

/* The preset is no more than its keys: written out without it, the fabric runs the same. */
static void test_written_out_it_runs_the_same(void **state)
{
	struct rs_fabric *f =
		load(FLOWS("spine0", "6", ", ack_path: [h2, leaf1, spine1, leaf0, h0]"), NULL);
	char *once = written(f), *twice;
	struct rs_fabric *g = load(once, NULL);

	twice = written(g);
	assert_string_equal(once, twice);
	assert_null(strstr(once, "preset"));
	assert_int_equal(last_ns(f), last_ns(g));
	rs_fabric_free(f);
	rs_fabric_free(g);
	free(once);
	free(twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_keep_to_the_path_given),
		cmocka_unit_test(test_acks_have_a_path_of_their_own),
		cmocka_unit_test(test_paths_that_do_not_fit_are_refused),
		cmocka_unit_test(test_a_csv_gives_paths_by_flow),
		cmocka_unit_test(test_written_out_it_runs_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
