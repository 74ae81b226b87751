/* Hosts with an inside, through the whole simulator, against closed forms: a message's latency, a
 * flow's rate, rings that the network or the sockets' hop bounds, the parts of a training step. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "describe/describe.h"
#include "sim/sim.h"

/* Two sockets; a GPU and a NIC below a PCIe switch; MPS 256, Gen5 x16: wider than 400G. */
#define HOST                                                    \
	"{name: h, count: %u, cpu: genoa, sockets: 2, "         \
	"switches: [{name: sw0, on: socket0, pcie: gen5x16}], " \
	"gpus: [{name: gpu0, on: sw0, pcie: gen5x16}], "        \
	"nics: [{name: nic0, on: sw0, pcie: gen5x16}]}"
#define NETWORK "{kind: single-switch, rate: 400G, delay: 500ns, mtu: 4096}"
#define LINE    (400e9 * 4096 / 4178)

static const struct rs_sim_job *run(const char *text, struct rs_sim_result **r,
				    struct rs_fabric **f)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_error e = {0};

	if (rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, f, &e) ||
	    rs_sim_run(*f, &o, r, &e))
		fail_msg("%s", e.what);
	assert_true((*r)->complete);
	return (*r)->jobs;
}

static void done(struct rs_sim_result *r, struct rs_fabric *f)
{
	rs_sim_result_free(r);
	rs_fabric_free(f);
}

static void assert_near(double got, double want, double share)
{
	if (got < want * (1 - share) || got > want * (1 + share))
		fail_msg("got %g, want %g within %g%%", got, want, share * 100);
}

static double seconds(rs_time t)
{
	return (double)t / (double)RS_S;
}

/* Post, doorbell, NIC; 106 bytes on two links, a switch of 500 ns; NIC, a PCIe switch and two
 * links, the root complex; a poll. */
static void test_a_short_message_takes_the_sum_of_its_way(void **state)
{
	const rs_time wire = 106 * 8 * RS_S / (400 * RS_GBPS);
	const rs_time tlp = (rs_time)((8 + 24) * 8 / (504.123e9 * 0.97) * (double)RS_S);
	const rs_time want = (75 + 150 + 120) * RS_NS + 2 * (wire + 500 * RS_NS) + 500 * RS_NS +
			     120 * RS_NS + 2 * tlp + (25 + 105 + 25 + 200) * RS_NS + 50 * RS_NS;
	struct rs_sim_result *r;
	struct rs_fabric *f;
	char text[2048];

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [" HOST "], network: " NETWORK ", host_model: {inline: 220}}\n"
		 "workload: [{flows: [{src: h0, dst: h1, bytes: 8B}]}]\n",
		 2);
	run(text, &r, &f);
	assert_in_range(r->flows[0].delivered, want - 100, want + 100);
	done(r, f);
}

static void test_a_flow_of_gpu_memory_gets_the_line_where_pcie_is_wider(void **state)
{
	struct rs_sim_result *r;
	struct rs_fabric *f;
	char text[2048];

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [" HOST "], network: " NETWORK "}\n"
		 "workload: [{memory: gpu, flows: [{src: h0, dst: h1, bytes: 64MB}]}]\n",
		 2);
	run(text, &r, &f);
	assert_near(64e6 * 8 / seconds(r->flows[0].delivered), LINE, 0.005);
	done(r, f);
}

/* 2(n-1)/n * S / B, with enough channels that a step's latency hides behind another's bytes. */
static void test_a_ring_all_reduce_is_bound_by_bandwidth(void **state)
{
	static const uint32_t n[] = {2, 4, 8};

	for (unsigned i = 0; i < 3; i++) {
		struct rs_sim_result *r;
		struct rs_fabric *f;
		const struct rs_sim_job *j;
		char text[2048];

		snprintf(text, sizeof(text),
			 "fabric: {hosts: [" HOST "], network: " NETWORK "}\n"
			 "workload: [{collective: {op: all-reduce, bytes: 128MiB, channels: 4, "
			 "chunk: 1MiB, repeat: 2}}]\n",
			 n[i]);
		j = run(text, &r, &f);
		assert_near(seconds(j->further), 2.0 * (n[i] - 1) / n[i] * (128 << 20) / (LINE / 8),
			    0.01);
		done(r, f);
	}
}

/* One NIC on socket 0, a GPU on either socket: what the network brings for the far one and what the
 * near one sends it go the same way, so that the hop's peer-to-peer rate is the ring's. On Genoa
 * both ways share 64 GB/s. */
static void test_a_ring_through_the_far_socket_runs_at_its_peer_to_peer_rate(void **state)
{
	static const struct {
		const char *cpu;
		double rate;
	} t[] = {{"icx", 11e9}, {"spr", 22e9}, {"genoa", 64e9 / 2}};

	for (unsigned i = 0; i < 3; i++) {
		struct rs_sim_result *r;
		struct rs_fabric *f;
		const struct rs_sim_job *j;
		char text[2048];

		snprintf(text, sizeof(text),
			 "fabric: {hosts: [{name: h, count: 4, cpu: %s, sockets: 2, "
			 "gpus: [{name: gpu0, on: socket0, pcie: gen5x16}, "
			 "{name: gpu1, on: socket1, pcie: gen5x16}], "
			 "nics: [{name: nic0, on: socket0, pcie: gen5x16, rate: 200G}, "
			 "{name: nic1, on: socket0, pcie: gen5x16, rate: 200G}]}], "
			 "network: {kind: rail, leaves: 2, rate: 200G, delay: 500ns, mtu: 4096}}\n"
			 "workload: [{collective: {op: all-reduce, bytes: 64MiB, channels: 2, "
			 "chunk: 128KiB, repeat: 2}}]\n",
			 t[i].cpu);
		j = run(text, &r, &f);
		assert_near(2.0 * 7 / 8 * (64 << 20) / seconds(j->further), t[i].rate, 0.01);
		done(r, f);
	}
}

/* The buckets of a step are repetitions of a collective, and the step is made of them. */
static void test_a_training_step_is_its_compute_and_its_buckets(void **state)
{
	struct rs_sim_result *step, *coll;
	struct rs_fabric *fs, *fc;
	const struct rs_sim_job *t, *c;
	const double compute = 6 * 1e9 * 65536 / (4 * 400e12);
	char text[2048];

	/* 2 GB of gradients in 239 buckets of at most 8 MiB, two of them run */
	snprintf(text, sizeof(text),
		 "fabric: {hosts: [" HOST "], network: " NETWORK "}\n"
		 "workload: [{train: {parameters: 1e9, tokens: 65536, overlap: 0, bucket: 8MiB, "
		 "simulate: 16MiB}}]\n",
		 4);
	t = run(text, &step, &fs);
	assert_int_equal(t->plan.n_buckets, 239);
	assert_int_equal(t->plan.simulated_buckets, 3);
	snprintf(text, sizeof(text),
		 "fabric: {hosts: [" HOST "], network: " NETWORK "}\n"
		 "workload: [{collective: {op: all-reduce, bytes: %lluB, "
		 "algorithm: ring, type: bfloat16, repeat: 3}}]\n",
		 4, (unsigned long long)t->plan.bucket.bytes);
	c = run(text, &coll, &fc);
	assert_int_equal(t->first, c->first);
	assert_int_equal(t->further, c->further);
	assert_near(seconds(t->train.compute), compute, 1e-9);
	assert_int_equal(t->train.communication, t->first + 238 * t->further);
	assert_int_equal(t->train.exposed, t->train.communication); /* nothing hides it */
	assert_int_equal(t->train.step, t->train.compute + t->train.exposed);
	done(step, fs);
	done(coll, fc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_short_message_takes_the_sum_of_its_way),
		cmocka_unit_test(test_a_flow_of_gpu_memory_gets_the_line_where_pcie_is_wider),
		cmocka_unit_test(test_a_ring_all_reduce_is_bound_by_bandwidth),
		cmocka_unit_test(test_a_ring_through_the_far_socket_runs_at_its_peer_to_peer_rate),
		cmocka_unit_test(test_a_training_step_is_its_compute_and_its_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
