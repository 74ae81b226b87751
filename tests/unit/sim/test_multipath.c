/* Congestion control over many paths: an idle network gives what one path gives, whatever chooses
 * paths; and a queue is still controlled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"
#include "sim/sim.h"

enum { BYTES = 4000000 };

/* A flow's frames on its link, 10 ps a bit. */
#define LINE ((rs_time)BYTES * 4198 / 4096 * 8 * 10)

static const char *const ccs[] = {"none", "dcqcn", "hpcc", "swift"};
static const char *const routings[] = {"ecmp", "flowlet, flowlet_gap: 20us", "adaptive", "spray"};

/* What `senders` hosts of leaf 1 send to h0 of leaf 0, over 4 spines of one link or two each. */
static rs_time last(const char *cc, const char *routing, unsigned links, unsigned senders,
		    uint64_t *queue)
{
	struct rs_sim_options o = {.seed = 3, .ideal.in_order = true};
	struct rs_sim_result *r = NULL;
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};
	char *text = NULL;
	rs_time t;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	fprintf(out,
		"fabric: {cc: {kind: %s}, network: {kind: leaf-spine, leaves: 3, spines: 4, "
		"links: %u, hosts_per_leaf: 4, rate: 100G, delay: 500ns}, qos: {routing: %s}}\n"
		"workload: [{flows: [",
		cc, links, routing);
	for (unsigned i = 0; i < senders; i++)
		fprintf(out, "{src: h%u, dst: h0, bytes: %dB}, ", 4 + i, BYTES);
	fputs("]}]\n", out);
	fclose(out);
	if (rs_fabric_load_text(text, n, "t.yaml", NULL, NULL, 0, &f, &e) ||
	    rs_sim_run(f, &o, &r, &e))
		fail_msg("%s:%d:%d: %s", e.file, e.line, e.column, e.what);
	assert_true(r->complete);
	t = rs_sim_fct(r, 0, 100);
	if (queue)
		*queue = r->counters.max_queue;
	rs_sim_result_free(r);
	rs_fabric_free(f);
	free(text);
	return t;
}

static void test_an_idle_network_gives_the_line(void **state)
{
	rs_time line = LINE;

	for (unsigned c = 0; c < 4; c++)
		for (unsigned links = 1; links <= 2; links++)
			for (unsigned i = 0; i < 4; i++) {
				rs_time t = last(ccs[c], routings[i], links, 1, NULL);

				/* HPCC aims at 95 %, and stamps are 1 % of a packet */
				if (t > line * (strcmp(ccs[c], "hpcc") ? 105 : 113) / 100)
					fail_msg("%s over %s, %u links: %.1f us, the line's %.1f",
						 ccs[c], routings[i], links, (double)t / RS_US,
						 (double)line / RS_US);
			}
}

/* Four to one: the queue that four senders at line rate make is 12 MB. */
static void test_hpcc_holds_the_queue_over_many_paths(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		rs_time line = 4 * LINE, t;
		uint64_t queue = 0, none = 0;

		last("none", routings[i], 1, 4, &none);
		t = last("hpcc", routings[i], 1, 4, &queue);
		assert_true(none > 8000000);
		assert_true(queue < 1000000);
		assert_true(t < line * 14 / 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_idle_network_gives_the_line),
		cmocka_unit_test(test_hpcc_holds_the_queue_over_many_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
