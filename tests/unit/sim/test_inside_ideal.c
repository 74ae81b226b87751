/*
 * What bounds a host, one thing at a time: the counterfactual that takes it away helps, the others
 * do not, and the lists of links and limits name it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "describe/describe.h"
#include "sim/sim.h"

enum { LINKS = 1, LIMITS = 2, RECEIVER = 4, HOST = 8 };

static const struct host_case {
	const char *what, *sender, *receiver; /* keys of the NICs */
	const char *memory, *model;
	unsigned helps;
	int kind; /* of the worst limit; -1: none is tight */
	const char *name;
} cases[] = {
	{"a narrow slot that sends", "pcie: gen3x8", "pcie: gen5x16", "host", "", LINKS | HOST, -1,
	 "a0 socket0->nic0"},
	{"a narrow slot that receives", "pcie: gen5x16", "pcie: gen3x8", "host", "",
	 LINKS | RECEIVER | HOST, -1, "b0 nic0->socket0"},
	{"few tags", "pcie: gen5x16, tags: 16", "pcie: gen5x16", "host", "", LIMITS | HOST,
	 RS_LIMIT_READS, "a0 nic0"},
	{"a small read buffer", "pcie: gen5x16, read_buffer: 8192", "pcie: gen5x16", "host", "",
	 LIMITS | HOST, RS_LIMIT_BUFFER, "a0 nic0"},
	{"slow memory and reads as they are", "pcie: gen5x16", "pcie: gen5x16", "host",
	 "dram_read: 4us", LIMITS | HOST, RS_LIMIT_BUFFER, "a0 nic0"},
	{"few data credits", "pcie: gen5x16", "pcie: gen5x16, posted_data_credits: 256", "host", "",
	 LIMITS | RECEIVER | HOST, RS_LIMIT_CREDITS, "b0 nic0"},
	{"few header credits", "pcie: gen5x16", "pcie: gen5x16, posted_header_credits: 20", "host",
	 "", LIMITS | RECEIVER | HOST, RS_LIMIT_CREDITS, "b0 nic0"},
	{"a far GPU that is read", "pcie: gen5x16", "pcie: gen5x16", "gpu", "", LINKS | HOST, -1,
	 "a0 socket1->socket0 p2p"},
	{"a queue pair's rate", "pcie: gen5x16, qp_rate: 100G", "pcie: gen5x16", "host", "",
	 LIMITS | HOST, RS_LIMIT_QP, "a0 nic0"},
	{"nothing", "pcie: gen5x16", "pcie: gen5x16", "host", "", 0, -1, ""},
};

static struct rs_sim_result *run(const struct host_case *c, struct rs_sim_ideal ideal)
{
	struct rs_sim_options o = {.seed = 1, .ideal = ideal};
	struct rs_sim_result *r = NULL;
	struct rs_fabric *f = NULL;
	struct rs_error e = {0};
	bool far = !strcmp(c->memory, "gpu");
	char text[2048];

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [{name: a, cpu: spr, sockets: 2, "
		 "gpus: [{name: gpu0, on: socket%d, pcie: gen5x16}], "
		 "nics: [{name: nic0, on: socket0, %s}]}, {name: b, cpu: spr, sockets: 2, "
		 "nics: [{name: nic0, on: socket0, %s}]}], "
		 "network: {kind: single-switch, rate: 400G, delay: 200ns}, cc: {kind: none}, "
		 "host_model: {%s}}\n"
		 "workload: [{memory: %s, flows: [{src: a0, dst: b0, bytes: 16MB}]}]\n",
		 far, c->sender, c->receiver, c->model, c->memory);
	if (rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, &f, &e) ||
	    rs_sim_run(f, &o, &r, &e))
		fail_msg("%s: %s", c->what, e.what);
	assert_true(r->complete);
	rs_fabric_free(f);
	return r;
}

static double duration(const struct rs_sim_result *r)
{
	return (double)r->flows[0].delivered / (double)RS_S;
}

static void check_names(const struct host_case *c, const struct rs_sim_result *r)
{
	double tight = r->n_limits ? (double)r->limits[0].stalled / (double)RS_S : 0;

	if (c->kind < 0) {
		if (tight > 0.1 * duration(r))
			fail_msg("%s: %s (kind %d) waits %.0f%% of the time", c->what,
				 r->limits[0].name, (int)r->limits[0].kind,
				 100 * tight / duration(r));
		if (*c->name && (!r->n_links || strcmp(r->links[0].name, c->name)))
			fail_msg("%s: the busiest link is %s, want %s", c->what,
				 r->n_links ? r->links[0].name : "none", c->name);
		return;
	}
	if (tight < 0.5 * duration(r) || tight > 1.01 * duration(r) ||
	    (int)r->limits[0].kind != c->kind || strcmp(r->limits[0].name, c->name))
		fail_msg("%s: the tightest limit is %s, kind %d, %.0f%%; want %s, kind %d", c->what,
			 r->n_limits ? r->limits[0].name : "none",
			 r->n_limits ? (int)r->limits[0].kind : -1, 100 * tight / duration(r),
			 c->name, c->kind);
}

/* At least 10 % faster, or within 5 % (a link of no width shortens a read by its own bytes) and
 * never slower. */
static void test_what_binds_is_what_helps(void **state)
{
	static const struct rs_sim_ideal flags[] = {
		{.host_links = true}, {.host_limits = true}, {.receiver = true}, {.host = true}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct host_case *c = &cases[i];
		struct rs_sim_result *r = run(c, (struct rs_sim_ideal){0});
		double base = duration(r);

		check_names(c, r);
		rs_sim_result_free(r);
		for (unsigned j = 0; j < 4; j++) {
			bool helps = c->helps >> j & 1;
			double t;

			r = run(c, flags[j]);
			/* plain hosts say when the last ACK was there, which is later */
			t = flags[j].host ? (double)r->flows[0].finish / (double)RS_S : duration(r);
			rs_sim_result_free(r);
			if (helps ? t > base * 0.9 : t > base * 1.01 || t < base * 0.95)
				fail_msg("%s, flag %u: %.1f of %.1f us", c->what, 1u << j, t * 1e6,
					 base * 1e6);
		}
	}
}

/* Limits that were taken away let nobody fill the queue of a slow link for all the others: this
 * ring of far GPUs was 43 % slower so. */
static void test_no_limits_is_no_flood(void **state)
{
	static const char text[] =
		"fabric: {hosts: [{name: h, count: 4, cpu: bdw, sockets: 2, "
		"gpus: [{name: gpu0, on: socket0, pcie: gen5x16}, "
		"{name: gpu1, on: socket1, pcie: gen5x16}], "
		"nics: [{name: nic0, on: socket0, pcie: gen3x8, tags: 64, read_buffer: 16384}]}], "
		"network: {kind: single-switch, rate: 800G, delay: 200ns}, cc: {kind: none}}\n"
		"workload: [{collective: {op: broadcast, bytes: 4MiB, chunk: 64KiB, channels: "
		"1}}]\n";
	rs_time took[2];

	for (int i = 0; i < 2; i++) {
		struct rs_sim_options o = {.seed = 1, .ideal = {.host_limits = i}};
		struct rs_sim_result *r = NULL;
		struct rs_fabric *f = NULL;
		struct rs_error e = {0};

		if (rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, &f, &e) ||
		    rs_sim_run(f, &o, &r, &e))
			fail_msg("%s", e.what);
		took[i] = r->sim_time;
		rs_sim_result_free(r);
		rs_fabric_free(f);
	}
	assert_true(took[1] <= took[0] / 100 * 102);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_binds_is_what_helps),
		cmocka_unit_test(test_no_limits_is_no_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
