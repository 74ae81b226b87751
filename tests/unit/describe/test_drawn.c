/* Flows that are drawn: as many bytes as were asked for, of the sizes and at the times that were
 * asked for, within what chance allows (5 standard deviations: 1 draw in 2 million fails). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "describe/describe.h"
#include "unit/describe/text.h"

enum { SIGMAS = 5 };

static struct rs_fabric *drawn(const char *flows)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "fabric:\n  network: {kind: single-switch, hosts: 32, rate: 100G}\n"
		 "workload:\n  - flows: {%s}\n",
		 flows);
	return load(text);
}

static double bytes_of(const struct rs_job *j)
{
	double sum = 0;

	for (uint32_t i = 0; i < j->n_flows; i++)
		sum += (double)j->flows[i].bytes;
	return sum;
}

/* 32 sources at 40 % of 100 Gb/s for 4 ms: 64 MB; of flows of one size the number is Poisson's. */
static void test_load_offered_is_load_asked(void **state)
{
	static const uint64_t sizes[] = {4096, 65536, 200};

	for (unsigned i = 0; i < 3; i++) {
		char text[128];
		struct rs_fabric *f;
		double want, got, ms = sizes[i] == 200 ? 0.02 : 4;

		snprintf(text, sizeof(text), "load: 40%%, time: %gms, bytes: %lluB, draw: %u", ms,
			 (unsigned long long)sizes[i], i);
		f = drawn(text);
		want = 32 * 0.4 * 100e9 * ms * 1e-3 / 8;
		got = bytes_of(&f->jobs[0]);
		assert_true(fabs(got - want) < SIGMAS * sqrt(want * (double)sizes[i]));
		rs_fabric_free(f);
	}
}

/* Gaps of a Poisson process: mean m, and a variance of m squared; none is another's. */
static void test_gaps_are_exponential(void **state)
{
	struct rs_fabric *f = drawn("load: 10%, count: 20000, bytes: 10kB, src: [h0]");
	const struct rs_flow *flow = f->jobs[0].flows;
	double sum = 0, squares = 0, mean = 10000 * 8 / (0.1 * 100e9) * RS_S;
	uint32_t longer = 0, n = f->jobs[0].n_flows - 1;

	assert_int_equal(n, 19999);
	for (uint32_t i = 0; i < n; i++) {
		double gap = (double)(flow[i + 1].start - flow[i].start) / mean;

		assert_true(gap >= 0);
		sum += gap;
		squares += gap * gap;
		longer += gap > 1;
	}
	assert_true(fabs(sum / n - 1) < SIGMAS / sqrt(n));
	assert_true(fabs(squares / n - 2) < SIGMAS * sqrt(20.0 / n));
	/* exp(-1) of them are longer than the mean */
	assert_true(fabs((double)longer / n - 0.36788) < SIGMAS * sqrt(0.36788 * 0.63212 / n));
	rs_fabric_free(f);
}

static void test_regular_gaps_are_equal(void **state)
{
	struct rs_fabric *f = drawn("load: 50%, count: 100, bytes: 10kB, arrivals: regular");
	const struct rs_job *j = &f->jobs[0];
	rs_time gap = 1600 * RS_NS;

	assert_int_equal(j->n_flows, 3200);
	for (uint32_t i = 1; i < j->n_flows; i++)
		if (j->flows[i].src == j->flows[i - 1].src)
			assert_in_range(j->flows[i].start - j->flows[i - 1].start, gap - 1,
					gap + 1);
		else
			assert_true(j->flows[i].start < gap); /* its own phase */
	rs_fabric_free(f);
}

/* What share of the flows has at most so many bytes. */
static void share(const char *sizes, double bytes, double want)
{
	char text[256];
	struct rs_fabric *f;
	uint32_t n = 0;

	snprintf(text, sizeof(text), "load: 1%%, count: 600, sizes: %s", sizes);
	f = drawn(text);
	for (uint32_t i = 0; i < f->jobs[0].n_flows; i++)
		n += (double)f->jobs[0].flows[i].bytes <= bytes;
	assert_int_equal(f->jobs[0].n_flows, 32 * 600);
	assert_true(fabs((double)n / (32 * 600) - want) <
		    SIGMAS * sqrt(want * (1 - want) / (32 * 600)) + 1e-3);
	rs_fabric_free(f);
}

static void test_sizes_are_those_of_the_distribution(void **state)
{
	share("websearch", 10000, .15);
	share("websearch", 1e6, .7);
	share("websearch", 6e6, .9 + .07 / 5);
	share("hadoop", 350, .15);
	share("hadoop", 30000, .72);
	share("storage", 8000, .6921);
}

static void test_list_has_each_size_as_often(void **state)
{
	struct rs_fabric *f = drawn("load: 10%, count: 300, bytes: [1kB, 1kB, 64KiB]");
	const struct rs_job *j = &f->jobs[0];
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n_flows; i++) {
		assert_true(j->flows[i].bytes == 1000 || j->flows[i].bytes == 65536);
		n += j->flows[i].bytes == 1000;
	}
	assert_true(fabs((double)n / j->n_flows - 2.0 / 3) < SIGMAS * sqrt(2.0 / 9 / j->n_flows));
	rs_fabric_free(f);
}

static void test_permutation_gives_each_one_source(void **state)
{
	for (unsigned draw = 0; draw < 20; draw++) {
		char text[128];
		uint32_t to[32], seen = 0;
		struct rs_fabric *f;

		snprintf(text, sizeof(text),
			 "load: 10%%, count: 3, bytes: 1kB, pairs: permutation, draw: %u", draw);
		f = drawn(text);
		memset(to, 0xff, sizeof(to));
		for (uint32_t i = 0; i < f->jobs[0].n_flows; i++) {
			const struct rs_flow *w = &f->jobs[0].flows[i];

			assert_true(to[w->src] == UINT32_MAX || to[w->src] == w->dst);
			assert_int_not_equal(w->src, w->dst);
			to[w->src] = w->dst;
			seen |= UINT32_C(1) << w->dst;
		}
		assert_int_equal(seen, UINT32_MAX);
		rs_fabric_free(f);
	}
}

/* Flows of one source are the same beside other sources; another draw has others. */
static void test_a_source_has_draws_of_its_own(void **state)
{
	struct rs_fabric *a = drawn("load: 10%, count: 50, sizes: hadoop, src: [h3], dst: all");
	struct rs_fabric *b = drawn("load: 10%, count: 50, sizes: hadoop, src: [h1, h3], dst: all");
	struct rs_fabric *c = drawn("load: 10%, count: 50, sizes: hadoop, src: [h3], draw: 1");

	assert_memory_equal(a->jobs[0].flows, b->jobs[0].flows + 50, 50 * sizeof(struct rs_flow));
	assert_memory_not_equal(a->jobs[0].flows, c->jobs[0].flows, 50 * sizeof(struct rs_flow));
	rs_fabric_free(a);
	rs_fabric_free(b);
	rs_fabric_free(c);
}

/* Each with the column of what is wrong; 0: that of the flows. */
static void test_what_is_refused(void **state)
{
	static const char before[] = "workload: [flows: {";
	static const struct {
		const char *flows, *says, *at;
	} bad[] = {
		{"time: 1ms, bytes: 1kB", "needs the key 'load'", NULL},
		{"load: 0%, time: 1ms, bytes: 1kB", "expected a share", "0%"},
		{"load: 50%, bytes: 1kB", "one of time", NULL},
		{"load: 50%, time: 1ms, count: 2, bytes: 1kB", "one of time", NULL},
		{"load: 50%, time: 1ms", "one of bytes", NULL},
		{"load: 50%, time: 1ms, bytes: 1kB, sizes: hadoop", "one of bytes", NULL},
		{"load: 50%, time: 1ms, bytes: []", "a list of sizes", "[]"},
		{"load: 50%, time: 1ms, bytes: [1kB, 0B]", "1B to 64TiB", "0B"},
		{"load: 50%, time: 1ms, sizes: no-such", "cannot read", "no-such"},
		{"load: 50%, time: 1ms, bytes: 1kB, dst: [h40]", "no endpoint 'h40'", "h40"},
		{"load: 50%, time: 1ms, bytes: 1kB, src: []", "no endpoint", "[]"},
		{"load: 50%, time: 1ms, bytes: 1kB, src: [h1], dst: [h1]", "to itself", NULL},
		{"load: 50%, time: 1ms, bytes: 1kB, pairs: all", "permutation", "all"},
		{"load: 50%, time: 1ms, bytes: 1kB, lod: 1", "did you mean 'load'", "lod"},
		{"load: 50%, time: 1ns, bytes: 1GB", "no flows", NULL},
		{"load: 100%, time: 1s, bytes: 1B", "more than 1000000 flows", NULL},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[512];
		struct rs_error e = {0};
		struct rs_fabric *f = NULL;
		long column = (long)sizeof(before) - 1;

		if (bad[i].at)
			column += 1 + (long)(strstr(bad[i].flows, bad[i].at) - bad[i].flows);
		snprintf(text, sizeof(text),
			 "fabric: {network: {kind: single-switch, hosts: 4}}\n%s%s}]\n", before,
			 bad[i].flows);
		assert_true(rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &f, &e) < 0);
		if (!strstr(e.what, bad[i].says) || e.line != 2 || e.column != column)
			fail_msg("%s: %d:%d (not %ld): %s", bad[i].flows, e.line, e.column, column,
				 e.what);
	}
}

/* A distribution of the user's own: steps, lines between them, and what is wrong with one. */
static void test_a_file_of_sizes(void **state)
{
	static const struct {
		const char *text, *says;
		int line;
	} bad[] = {
		{"0 0\n", "must be 100", 1},
		{"# none\n\n", "must be 100", 1},
		{"5 100\n4 100\n", "must not fall", 2},
		{"5 x\n", "BYTES SHARE", 1},
		{"\n5 100 3\n", "BYTES SHARE", 2},
		{"-1 100\n", "64 TiB", 1},
		{"5 nan\n", "64 TiB", 1},
		{"0 100\n", "empty", 1},
	};
	char name[] = "/tmp/ripstop-sizes-XXXXXX", text[256];
	int fd = mkstemp(name);
	struct rs_fabric *f;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "# own\n0 0\n1000 50\n1000 75\n1000000 100\n") > 0);
	share(name, 500, .25);
	share(name, 999, .4995);
	share(name, 1000, .75);
	share(name, 500500, .875);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct rs_error e = {0};

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bad[i].text, strlen(bad[i].text), 0),
				 strlen(bad[i].text));
		snprintf(text, sizeof(text),
			 "fabric: {network: {kind: single-switch, hosts: 4}}\n"
			 "workload: [flows: {load: 1%%, count: 1, sizes: %s}]\n",
			 name);
		assert_true(rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &f, &e) < 0);
		if (!strstr(e.what, bad[i].says) || e.line != bad[i].line || strcmp(e.file, name))
			fail_msg("%s: %s:%d: %s", bad[i].text, e.file, e.line, e.what);
	}
	close(fd);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_offered_is_load_asked),
		cmocka_unit_test(test_gaps_are_exponential),
		cmocka_unit_test(test_regular_gaps_are_equal),
		cmocka_unit_test(test_sizes_are_those_of_the_distribution),
		cmocka_unit_test(test_list_has_each_size_as_often),
		cmocka_unit_test(test_permutation_gives_each_one_source),
		cmocka_unit_test(test_a_source_has_draws_of_its_own),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_a_file_of_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
