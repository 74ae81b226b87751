/* A permutation over 8 x 8: how much longer than a flow alone each way to choose paths takes. The
 * bars are those of other simulators and of arithmetic (docs/recovery.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"
#include "unit/sim/load.h"

enum { HOSTS = 64, LEAF = 8, BYTES = 6000000 };

/* To other leaves only. */
static void permutation(unsigned to[HOSTS], uint64_t seed)
{
	struct rs_random r = rs_random_stream(seed, 1, 2);
	bool crosses;

	do {
		crosses = true;
		for (unsigned i = 0; i < HOSTS; i++)
			to[i] = i;
		for (unsigned i = HOSTS - 1; i; i--) {
			unsigned k = rs_random_below(&r, i + 1), t = to[i];

			to[i] = to[k];
			to[k] = t;
		}
		for (unsigned i = 0; i < HOSTS; i++)
			if (to[i] / LEAF == i / LEAF) { /* swapped with one of another leaf */
				unsigned k =
					(i + LEAF * (1 + rs_random_below(&r, LEAF - 1))) % HOSTS;
				unsigned t = to[i];

				to[i] = to[k];
				to[k] = t;
			}
		for (unsigned i = 0; i < HOSTS; i++)
			crosses &= to[i] / LEAF != i / LEAF;
	} while (!crosses);
}

/* The slowest flow's time; only: of one flow alone. */
static double run_on(const char *change, const char *qos, const char *recovery, const char *rate,
		     bool only, uint64_t seed)
{
	unsigned to[HOSTS];
	struct text t = {.n = 0};
	struct loaded l;
	double time;

	permutation(to, seed);
	add(&t,
	    "fabric:\n  network: {kind: leaf-spine, leaves: 8, spines: 8, hosts_per_leaf: 8, rate: "
	    "%s}\n  qos: {%s}\n  cc: none\n  transport: {recovery: %s}\n%sworkload:\n  - flows:\n",
	    rate, qos, recovery, change);
	for (unsigned i = 0; i < (only ? 1 : HOSTS); i++)
		add(&t, "      - {src: h%u, dst: h%u, bytes: %dB}\n", i, to[i], BYTES);
	l = load_run(t.s, (struct rs_sim_options){.seed = seed});
	assert_true(l.r->complete);
	time = (double)rs_sim_fct(l.r, 0, 100) / 1e12;
	load_free(&l);
	return time;
}

static double run(const char *qos, const char *recovery, const char *rate, bool only, uint64_t seed)
{
	return run_on("", qos, recovery, rate, only, seed);
}

struct bar {
	const char *qos, *recovery;
	double least, most;
};

static void hold(const struct bar *b, unsigned n, const char *rate)
{
	for (unsigned i = 0; i < n; i++)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			double alone = run("routing: ecmp", "go-back-n", rate, true, seed);
			double x = run(b[i].qos, b[i].recovery, rate, false, seed) / alone;

			if (x < b[i].least || x > b[i].most)
				fail_msg("%s, %s, %s: %.3f times a lone flow's time, expected "
					 "%.2f to %.2f",
					 b[i].qos, b[i].recovery, rate, x, b[i].least, b[i].most);
		}
}

static void test_a_permutation_takes_what_it_should(void **state)
{
	static const struct bar bars[] = {
		{"routing: ecmp", "go-back-n", 2.7, 4.1},
		{"routing: ecmp", "selective", 2.7, 4.3},
		{"routing: adaptive", "selective", 1, 1.10},
		{"routing: adaptive, ar_sample: 1us", "selective", 1, 1.15},
		{"routing: spray", "selective", 1, 1.15},
		{"routing: round-robin", "selective", 1, 1.05},
		{"routing: ecmp", "selective, balance: mixed", 1, 1.15},
		{"routing: ecmp", "selective, balance: reps", 1, 1.5},
	};

	hold(bars, sizeof(bars) / sizeof(bars[0]), "100G");
}

/* A link of a quarter of the rate, and one that is dead without any switch hearing of it: senders
 * that learn which ports are good lose little, those that do not lose much, and the one whose ports
 * stay what they are never ends over the dead one. */
static void test_senders_learn_which_paths_are_good(void **state)
{
	static const char slow[] = "  change: [{link: [leaf0, spine0], rate: 25G}]\n";
	static const char dead[] = "  events: [{at: 100us, link: [leaf0, spine3], down: true}]\n"
				   "  failover: {detect: 10s, converge: 10s}\n";
	double alone = run("routing: ecmp", "selective", "100G", true, 1), deaf, learns;

	deaf = run_on(slow, "routing: ecmp", "selective, balance: oblivious, paths: 1024", "100G",
		      false, 1);
	learns = run_on(slow, "routing: ecmp", "selective, balance: reps", "100G", false, 1);
	if (learns > 0.85 * deaf || learns > 1.7 * alone)
		fail_msg("a slow link: reps %.2f, oblivious %.2f of a lone flow's time",
			 learns / alone, deaf / alone);
	learns = run_on(dead, "routing: ecmp", "selective, balance: mixed", "100G", false, 1);
	if (learns > 1.7 * alone)
		fail_msg("a dead link: mixed %.2f of a lone flow's time", learns / alone);
}

/* 128 hosts of a fat tree with 4 x 4 ways between two pods, all hosts to other pods. */
static double over_two_tiers(const char *hash, uint64_t seed)
{
	struct text t = {.n = 0};
	struct loaded l;
	double time;

	add(&t,
	    "fabric:\n  network: {kind: fat-tree, k: 8, rate: 100G, mtu: 1024}\n  qos: {%s}\n  cc: "
	    "none\nworkload:\n  - flows:\n",
	    hash);
	for (unsigned i = 0; i < 128; i++)
		add(&t, "      - {src: %u, dst: %u, bytes: 100kB}\n", i,
		    (i / 16 + 1 + i % 16 % 7) % 8 * 16 + i % 16);
	l = load_run(t.s, (struct rs_sim_options){.seed = seed});
	assert_true(l.r->complete);
	time = (double)rs_sim_fct(l.r, 0, 100) / 1e12;
	load_free(&l);
	return time;
}

/*
 * Switches that all hash alike: what reached an aggregation switch by its edge's i-th uplink takes
 * its own i-th, and 3 of its 4 links above are idle. 4 flows on each edge's uplinks share what 16
 * ways would carry: 4 of 16 are used, so that the slowest flow shares its way with 4 times as many
 * in the mean; with few flows a way the extremes are 1.2 to 2.5 times apart.
 */
static void test_one_hash_in_two_tiers_polarises(void **state)
{
	static const char *const hashes[] = {"mix", "crc32", "xor"};
	double apart = 0, alike = 0;

	for (unsigned i = 0; i < 3; i++) {
		char text[64];

		snprintf(text, sizeof(text), "hash: %s, hash_seed: switch", hashes[i]);
		apart += over_two_tiers(text, 1);
		snprintf(text, sizeof(text), "hash: %s, hash_seed: fabric", hashes[i]);
		alike += over_two_tiers(text, 1);
	}
	if (alike < 1.3 * apart || alike > 4 * apart)
		fail_msg("one hash: %.2f times as long as a hash for each switch", alike / apart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_permutation_takes_what_it_should),
		cmocka_unit_test(test_one_hash_in_two_tiers_polarises),
		cmocka_unit_test(test_senders_learn_which_paths_are_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
