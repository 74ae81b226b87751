/*
 * Collectives of many queue pairs a connection on contended fabrics: each ends, and each
 * NIC has sent what the algorithm says. A message's parts
 * go by queue pairs of their own, over paths of their own; one may be many messages behind another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "sim/sim.h"
#include "unit/describe/text.h"

#ifdef __SANITIZE_ADDRESS__
enum { RANDOM_CASES = 12 };
#else
enum { RANDOM_CASES = 150 };
#endif

static struct rs_sim_result *run(const struct rs_fabric *f, uint64_t seed, unsigned threads)
{
	struct rs_sim_options o = {.seed = seed, .threads = threads};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	return r;
}

/* Each NIC sent what its ranks' steps say, once, whatever was lost. */
static void check_nics(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	const struct rs_coll *c = r->jobs[0].coll;
	uint64_t want[64] = {0};
	struct rs_step s;

	assert_true(f->n_endpoints <= 64);
	for (uint32_t rank = 0; rank < c->n_ranks; rank++)
		for (uint32_t l = 0; l < c->n_lanes; l++)
			for (uint64_t i = 0, n = c->n_steps(c, rank, l); i < n; i++) {
				c->step(c, rank, l, i, &s);
				for (unsigned k = 0; k < s.n_send; k++)
					if (!c->conns[s.send[k].conn].nvlink)
						want[c->conns[s.send[k].conn].src_endpoint] +=
							c->conf.repeat * s.send[k].bytes;
			}
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		assert_int_equal(r->nic_bytes[i], want[i]);
}

static void must_end(const char *text, uint64_t seed, unsigned threads)
{
	struct rs_fabric *f = load(text);
	struct rs_sim_result *r = run(f, seed, threads);

	if (!r->complete)
		fail_msg("seed %llu: does not end:\n%s", (unsigned long long)seed, text);
	check_nics(f, r);
	rs_sim_result_free(r);
	rs_fabric_free(f);
}

/* ECMP puts both queue pairs of some connections on one slow uplink, those of others on two. */
static void oversubscribed_ring(void **state)
{
	for (uint32_t qps = 2; qps <= 16; qps *= 2) {
		char text[512];

		snprintf(text, sizeof(text),
			 "fabric: {network: {kind: leaf-spine, hosts: 16, leaves: 2, spines: 2, "
			 "links: 1, rate: 400G, uplink_rate: 100G}}\n"
			 "workload: [{collective: {op: all-reduce, bytes: 4MiB, qps: %u}}]\n",
			 qps);
		must_end(text, qps, 1);
	}
}

/* One path only: the queue pairs differ by what their NIC lets them send. */
static void one_path(void **state)
{
	must_end("fabric: {preset: ns-3, network: {kind: leaf-spine, hosts: 7, leaves: 3, "
		 "spines: 1, rate: 800G, delay: 1us, mtu: 1024},\n"
		 " qos: {buffer: 0B, pfc: false},\n"
		 " cc: {kind: dcqcn, preset: paper}, transport: {timeout: 4}}\n"
		 "workload: [{collective: {op: all-reduce, algorithm: tree, bytes: 5000003B, "
		 "channels: 8, qps: 4, chunk: 4KiB, slots: 8}}]\n",
		 1, 1);
}

/* ---- Random ones ---- */

static const char *one_of(struct rs_random *r, const char *const *words, uint32_t n)
{
	return words[rs_random_below(r, n)];
}

static int random_network(struct rs_random *r, char *to, size_t room)
{
	static const char *const rates[] = {"100G", "200G", "400G"};
	static const char *const delays[] = {"100ns", "500ns", "2us", "5us"};
	static const char *const losses[] = {"0", "0", "0", "0.0001", "0.001"};
	uint32_t hosts = 2 + rs_random_below(r, 9), nics = 1 + rs_random_below(r, 4);
	uint32_t leaves = 1 + rs_random_below(r, hosts < 4 ? hosts : 4);
	const char *rate = one_of(r, rates, 3), *delay = one_of(r, delays, 4);
	const char *loss = one_of(r, losses, 5);

	if (rs_random_below(r, 5) == 0)
		return snprintf(to, room,
				"{kind: single-switch, hosts: %u, nics: %u, rate: %s, delay: %s, "
				"loss: %s}",
				hosts, nics, rate, delay, loss);
	return snprintf(to, room,
			"{kind: leaf-spine, hosts: %u, nics: %u, leaves: %u, spines: %u, links: 1, "
			"rate: %s, uplink_rate: %s, delay: %s, loss: %s}",
			hosts, nics, leaves, 1 + rs_random_below(r, 3), rate, one_of(r, rates, 3),
			delay, loss);
}

static void random_collective(struct rs_random *r, char *to, size_t room)
{
	static const char *const kinds[] = {
		"all-reduce, algorithm: ring",
		"all-reduce, algorithm: tree",
		"all-reduce, algorithm: hierarchical",
		"reduce-scatter, algorithm: ring",
		"reduce-scatter, algorithm: hierarchical",
		"all-gather, algorithm: ring",
		"all-gather, algorithm: hierarchical",
		"broadcast, algorithm: ring",
		"broadcast, algorithm: tree",
		"all-to-all",
	};

	snprintf(to, room,
		 "{op: %s, bytes: %uB, channels: %u, qps: %u, chunk: %uB, slots: %u, repeat: %u}",
		 one_of(r, kinds, sizeof(kinds) / sizeof(*kinds)), 4 + rs_random_below(r, 2000000),
		 1 + rs_random_below(r, 8), 1 + rs_random_below(r, 16),
		 1024u << rs_random_below(r, 10),
		 1 + rs_random_below(r, rs_random_below(r, 2) ? 4 : 64), 1 + rs_random_below(r, 2));
}

static void random_ones(void **state)
{
	static const char *const cc[] = {"dcqcn", "none", "swift"};

	for (uint32_t i = 0; i < RANDOM_CASES; i++) {
		struct rs_random r = rs_random_stream(10, i, 1);
		char network[256], collective[256], text[1024];

		random_network(&r, network, sizeof(network));
		random_collective(&r, collective, sizeof(collective));
		snprintf(text, sizeof(text),
			 "fabric: {network: %s, cc: {kind: %s}}\nworkload: [{collective: %s}]\n",
			 network, one_of(&r, cc, 3), collective);
		must_end(text, i, 1 + i % 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oversubscribed_ring),
		cmocka_unit_test(one_path),
		cmocka_unit_test(random_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
