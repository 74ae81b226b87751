/* fabric.events: links that go down, slow down and lose packets while a job runs, and the routes
 * around them. Exact where a closed form tells; random ones are the same on any number of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "unit/sim/load.h"

static const char two_hosts[] = "fabric: {cc: {kind: none}, network: {kind: single-switch, hosts: "
				"2, rate: 100G, delay: 500ns},\n"
				"  events: [%s], failover: {detect: 50us, converge: 100us}}\n"
				"workload: [{flows: [{src: h0, dst: h1, bytes: 25MB}]}]\n";

static struct loaded two(const char *events)
{
	struct text t = {.n = 0};

	add(&t, two_hosts, events);
	return load_run(t.s, (struct rs_sim_options){.threads = 1});
}

static rs_time end_of(const struct loaded *l)
{
	assert_true(l->r->complete);
	return rs_sim_fct(l->r, 0, 100);
}

static void near(rs_time a, rs_time b, rs_time by)
{
	if (a < b - by || a > b + by)
		fail_msg("%.3f us, expected %.3f us, %.3f us more or less", (double)a / RS_US,
			 (double)b / RS_US, (double)by / RS_US);
}

/* At half the rate for a millisecond, half a millisecond's bytes are late. */
static void test_a_slower_link_costs_what_it_does_not_carry(void **state)
{
	struct loaded plain = two(""), slow = two("{at: 200us, link: h0, rate: 50G, for: 1ms}"),
		      far = two("{at: 200us, link: h1, rate: 25G, for: 800us}"),
		      late = two("{at: 1s, link: h0, rate: 50G}");

	near(end_of(&slow), end_of(&plain) + 500 * RS_US, 2 * RS_US);
	near(end_of(&far), end_of(&plain) + 600 * RS_US, 2 * RS_US);
	assert_int_equal(end_of(&late), end_of(&plain));
	assert_int_equal(slow.r->counters.link_losses + far.r->counters.link_losses, 0);
	load_free(&plain);
	load_free(&slow);
	load_free(&far);
	load_free(&late);
}

/* Down, and sent again from the first loss on; what was sent in vain is what the link carries then.
 */
static void test_a_link_that_is_down_loses_all(void **state)
{
	struct loaded plain = two(""), one = two("{at: 200us, link: h0, drop: 1}"),
		      down = two("{at: 200us, link: h1, down: 100us}"),
		      flaps = two("{at: 200us, link: h1, down: 10us, every: 300us, times: 3}");

	assert_int_equal(plain.r->counters.link_losses, 0);
	/* a packet of data each way: the other way there are none */
	assert_int_equal(one.r->counters.link_losses, 1);
	assert_true(one.r->counters.retransmits > 0);
	assert_true(down.r->counters.link_losses > 0);
	assert_in_range(end_of(&down), end_of(&plain) + 99 * RS_US, end_of(&plain) + 300 * RS_US);
	assert_true(flaps.r->counters.naks >= 3);
	assert_in_range(end_of(&flaps), end_of(&plain) + 29 * RS_US, end_of(&plain) + 200 * RS_US);
	load_free(&plain);
	load_free(&one);
	load_free(&down);
	load_free(&flaps);
}

/* 8 flows over 2 spines; spine1 goes. */
static struct loaded pod(const char *events, const char *failover)
{
	struct text t = {.n = 0};

	add(&t,
	    "fabric: {cc: {kind: none}, network: {kind: leaf-spine, leaves: 2, spines: 2, links: "
	    "4, "
	    "hosts_per_leaf: 8, rate: 100G, delay: 500ns}, events: [%s], failover: {%s}, "
	    "transport: {timeout: 6}}\n"
	    "workload: [{flows: [",
	    events, failover);
	for (int i = 0; i < 8; i++)
		add(&t, "{src: h%d, dst: h%d, bytes: 5MB}, ", i, 8 + i);
	add(&t, "]}]\n");
	return load_run(t.s, (struct rs_sim_options){.threads = 1});
}

/* Once the routes go around it nothing more is lost, however long it is down. */
static void test_routes_go_around_what_is_down(void **state)
{
	const char *soon = "detect: 20us, converge: 30us";
	struct loaded brief = pod("{at: 100us, switch: spine1, down: 200us}", soon),
		      ever = pod("{at: 100us, switch: spine1, down: true}", soon),
		      slow = pod("{at: 100us, switch: spine1, down: 200us}",
				 "detect: 190us, converge: 1s"),
		      never = pod("{at: 100us, switch: spine1, down: 200us}",
				  "detect: 201us, converge: 0ns");

	assert_true(ever.r->complete && brief.r->complete && slow.r->complete && never.r->complete);
	assert_true(ever.r->counters.link_losses > 0);
	assert_int_equal(ever.r->counters.link_losses, brief.r->counters.link_losses);
	assert_true(slow.r->counters.link_losses > ever.r->counters.link_losses);
	/* both spines' leaves are its neighbours: without detection all of the outage is lost */
	assert_true(never.r->counters.link_losses >= slow.r->counters.link_losses);
	assert_int_equal(ever.r->counters.drops, 0);
	load_free(&brief);
	load_free(&ever);
	load_free(&slow);
	load_free(&never);
}

/* A leaf hears late that a spine no longer reaches the other leaf: what it sends there has no
 * route. */
static void test_who_is_not_beside_hears_later(void **state)
{
	const char *event = "{at: 100us, link: [leaf1, spine1], down: 2ms}";
	struct loaded early = pod(event, "detect: 10us, converge: 20us"),
		      late = pod(event, "detect: 10us, converge: 300us");

	assert_true(early.r->complete && late.r->complete);
	assert_true(late.r->counters.drops > early.r->counters.drops);
	load_free(&early);
	load_free(&late);
}

/* ---- Random events ---- */

static void random_events(struct text *t, struct rs_random *r, uint32_t spines)
{
	uint32_t n = 1 + rs_random_below(r, 4);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = rs_random_below(r, 300), span = 1 + rs_random_below(r, 200);

		add(t, "{at: %uus, ", at);
		if (rs_random_below(r, 3))
			add(t, "link: [leaf%u, spine%u], ", rs_random_below(r, 3),
			    rs_random_below(r, spines));
		else
			add(t, "link: h%u, ", rs_random_below(r, 12));
		switch (rs_random_below(r, 5)) {
		case 0:
			add(t, "rate: %uG, for: %uus}, ", 5 + rs_random_below(r, 90), span);
			break;
		case 1:
			add(t, "loss: %u%%, for: %uus}, ", 1 + rs_random_below(r, 30), span);
			break;
		case 2:
			add(t, "drop: %u}, ", 1 + rs_random_below(r, 5));
			break;
		case 3:
			add(t, "down: %uus, every: %uus, times: %u}, ", span, span + 1 + at,
			    2 + rs_random_below(r, 4));
			break;
		default:
			add(t, "down: %uus}, ", span);
		}
	}
}

static void random_pod(struct text *t, uint64_t seed)
{
	static const char *const routing[] = {"ecmp", "spray", "adaptive", "flowlet"};
	struct rs_random r = rs_random_stream(seed, 7, 7);
	uint32_t spines = 1 + rs_random_below(&r, 4);

	add(t,
	    "fabric: {cc: {kind: %s}, network: {kind: leaf-spine, leaves: 3, spines: %u, "
	    "hosts_per_leaf: 4, rate: 100G, delay: %uns}, qos: {routing: %s}, "
	    "transport: {timeout: 6, recovery: %s}, failover: {detect: %uus, converge: %uus}, "
	    "events: [",
	    rs_random_below(&r, 2) ? "dcqcn" : "none", spines, 100 + rs_random_below(&r, 2000),
	    routing[rs_random_below(&r, 4)], rs_random_below(&r, 2) ? "go-back-n" : "selective",
	    rs_random_below(&r, 60), rs_random_below(&r, 200));
	random_events(t, &r, spines);
	add(t, "]}\nworkload: [{flows: [");
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t src = rs_random_below(&r, 12);

		add(t, "{start: %uus, src: h%u, dst: h%u, bytes: %ukB}, ", rs_random_below(&r, 200),
		    src, (src + 1 + rs_random_below(&r, 11)) % 12, 1 + rs_random_below(&r, 400));
	}
	add(t, "]}]\n");
}

static void same(const struct loaded *a, const struct loaded *b, uint64_t seed)
{
	const struct rs_sim_counters *x = &a->r->counters, *y = &b->r->counters;

	if (memcmp(x, y, sizeof(*x)) != 0 || end_of(a) != end_of(b) ||
	    a->r->n_regains != b->r->n_regains ||
	    (a->r->n_regains &&
	     memcmp(a->r->regains, b->r->regains, a->r->n_regains * sizeof(*a->r->regains)) != 0))
		fail_msg("seed %llu: threads change what happens", (unsigned long long)seed);
}

/* A NIC that holds its switch costs the time that it does, and loses nothing; its rate as an event
 * is its link's. */
static void test_a_nic_that_pauses_costs_its_time(void **state)
{
	struct loaded plain = two(""), storm = two("{at: 300us, nic: h1, pause: 700us}"),
		      both = two("{at: 300us, nic: h1, pause: 400us}, {at: 500us, nic: h1, pause: "
				 "300us}"),
		      sender = two("{at: 300us, nic: h0, pause: 700us}"),
		      slow = two("{at: 200us, nic: h1, rate: 50G, for: 1ms}"),
		      link = two("{at: 200us, link: h1, rate: 50G, for: 1ms}");

	near(end_of(&storm), end_of(&plain) + 700 * RS_US, 4 * RS_US);
	near(end_of(&both), end_of(&plain) + 500 * RS_US, 4 * RS_US);
	near(end_of(&sender), end_of(&plain), 20 * RS_US); /* ACKs are late, data is not */
	assert_int_equal(end_of(&slow), end_of(&link));
	assert_true(storm.r->counters.nic_pauses);
	assert_int_equal(storm.r->counters.retransmits + storm.r->counters.drops, 0);
	load_free(&plain);
	load_free(&storm);
	load_free(&both);
	load_free(&sender);
	load_free(&slow);
	load_free(&link);
}

/* The packet that is chosen, and no other: the last of 16 has no successor. */
static void test_one_chosen_packet_is_lost(void **state)
{
	static const char flow[] =
		"fabric: {cc: none, network: {kind: single-switch, hosts: 2, rate: 100G},\n"
		"  transport: {recovery: %s, timeout: 8, ack_every: 1}, events: [%s]}\n"
		"workload: [{flows: [{src: h0, dst: h1, bytes: 65536B}]}]\n";
	static const struct {
		const char *recovery, *event;
		rs_time costs; /* a timeout; 0: none */
	} cases[] = {
		{"selective", "{at: 0ns, link: h0, drop: 1, skip: 15}", 100 * RS_US},
		{"selective", "{at: 0ns, link: h0, drop: 1, skip: 3}", 0},
		{"selective", "{at: 0ns, link: h0, drop: 1, skip: 16}", 0},
		{"go-back-n", "{at: 0ns, link: h0, drop: 1, skip: 15}", 4096 * RS_NS * 256},
		{"go-back-n", "{at: 0ns, link: h0, drop: 1, skip: 3}", 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = {.n = 0}, clean = {.n = 0};
		struct loaded l, c;

		add(&t, flow, cases[i].recovery, cases[i].event);
		add(&clean, flow, cases[i].recovery, "");
		l = load_run(t.s, (struct rs_sim_options){.threads = 1});
		c = load_run(clean.s, (struct rs_sim_options){.threads = 1});
		near(end_of(&l), end_of(&c) + cases[i].costs, 6 * RS_US);
		assert_int_equal(l.r->counters.timeouts, cases[i].costs != 0);
		load_free(&l);
		load_free(&c);
	}
}

/* Events that single packets out count from when each begins, whatever others wait for. */
static void test_each_drop_counts_for_itself(void **state)
{
	static const char flow[] =
		"fabric: {cc: none, network: {kind: single-switch, hosts: 2, rate: 100G},\n"
		"  transport: {recovery: selective, ack_every: 1}, events: [%s]}\n"
		"workload: [{flows: [{src: h0, dst: h1, bytes: 65536B}]}]\n";
	static const struct {
		const char *events;
		unsigned losses, timeouts;
	} cases[] = {
		{"{at: 0ns, link: h0, drop: 1, skip: 3}, {at: 0ns, link: h0, drop: 1, skip: 7}", 2,
		 0},
		{"{at: 0ns, link: h0, drop: 1, skip: 12}, {at: 1ns, link: h0, drop: 1, skip: 3}", 2,
		 0},
		{"{at: 0ns, link: h0, drop: 2, skip: 1}, {at: 0ns, link: h0, drop: 1}", 3, 0},
		/* the last one, of 16 and the one that goes again */
		{"{at: 0ns, link: h0, drop: 1, skip: 16}, {at: 0ns, link: h0, drop: 1}", 2, 1},
		{"{at: 0ns, link: h0, drop: 1, skip: 17}, {at: 0ns, link: h0, drop: 1}", 1, 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = {.n = 0};
		struct loaded l;

		add(&t, flow, cases[i].events);
		l = load_run(t.s, (struct rs_sim_options){.threads = 1});
		assert_true(l.r->complete);
		assert_int_equal(l.r->counters.link_losses, cases[i].losses);
		assert_int_equal(l.r->counters.timeouts, cases[i].timeouts);
		load_free(&l);
	}
}

/* A link may be slower one way. What happens to it leaves that so, and makes no way faster. */
static void test_each_way_keeps_its_rate(void **state)
{
	static const char network[] =
		"fabric: {cc: none, network: {kind: explicit, hosts: [h0, h1], switches: [s0], "
		"links: [\n"
		"  {a: h0, b: s0, rate: 100G, delay: 500ns},\n"
		"  {a: h1, b: s0, rate: 100G, rate_back: 25G, delay: 500ns}]}, events: [%s]}\n"
		"workload: [{flows: [{src: h0, dst: h1, bytes: 2MB}]}]\n";
	static const struct {
		const char *event;
		rs_time costs;
	} cases[] = {
		{"", 0},
		{"{at: 100us, link: h1, drop: 1, skip: 100000}", 0},
		{"{at: 100us, link: h1, rate: 50G, for: 100us}", 0},
		{"{at: 100us, link: h1, rate: 10G, for: 100us}", 60 * RS_US},
	};
	rs_time plain = 0;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = {.n = 0};
		struct loaded l;

		add(&t, network, cases[i].event);
		l = load_run(t.s, (struct rs_sim_options){.threads = 1});
		plain = plain ? plain : end_of(&l);
		/* 2 MB at 25G are 640 us, and 2 % of headers and gaps more */
		near(plain, 655 * RS_US, 10 * RS_US);
		near(end_of(&l), plain + cases[i].costs, cases[i].costs ? 2 * RS_US : 0);
		load_free(&l);
	}
}

/* One of 8 paths is dead: 7/8 of the rate are left, and 95 % of that is there within 2 ms. */
static void test_what_is_left_is_regained(void **state)
{
	static const char *const routings[] = {"adaptive", "round-robin", "spray"};

	for (unsigned i = 0; i < 3; i++) {
		const struct rs_sim_regain *g;
		struct text t = {.n = 0};
		struct loaded l;

		add(&t,
		    "fabric:\n  network: {kind: leaf-spine, leaves: 2, spines: 8, hosts_per_leaf: "
		    "8, rate: 100G}\n  cc: none\n  qos: {routing: %s}\n  transport: {recovery: "
		    "selective}\n  events: [{at: 500us, link: [leaf0, spine3], down: true}]\n"
		    "workload:\n  - flows:\n",
		    routings[i]);
		for (unsigned h = 0; h < 8; h++)
			add(&t, "      - {src: h%u, dst: h%u, bytes: 30MB}\n", h, 8 + (h + 3) % 8);
		l = load_run(t.s, (struct rs_sim_options){.threads = 1});
		assert_true(l.r->complete);
		assert_int_equal(l.r->n_regains, 1);
		g = &l.r->regains[0];
		if (g->before < 760e9 || g->before > 800e9 || g->left < 630e9 || g->left > 701e9 ||
		    g->time < 0 || g->time > 2 * RS_MS || g->least < 500e9)
			fail_msg("%s: %.0f Gb/s before, %.0f left after %.0f us, %.0f at least",
				 routings[i], (double)g->before / 1e9, (double)g->left / 1e9,
				 (double)g->time / RS_US, (double)g->least / 1e9);
		load_free(&l);
	}
}

static void test_random_events_lose_nothing_for_good(void **state)
{
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct text t = {.n = 0};
		struct loaded one, three;
		const struct rs_sim_counters *c;

		random_pod(&t, seed);
		one = load_run(t.s, (struct rs_sim_options){.threads = 1, .seed = seed});
		three = load_run(t.s, (struct rs_sim_options){.threads = 3, .seed = seed});
		c = &one.r->counters;
		if (!one.r->complete)
			fail_msg("seed %llu: a flow did not finish", (unsigned long long)seed);
		assert_int_equal(c->packets_sent, c->packets_delivered + c->drops + c->nic_drops +
							  c->link_losses + c->packets_in_flight);
		same(&one, &three, seed);
		load_free(&one);
		load_free(&three);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_slower_link_costs_what_it_does_not_carry),
		cmocka_unit_test(test_a_link_that_is_down_loses_all),
		cmocka_unit_test(test_routes_go_around_what_is_down),
		cmocka_unit_test(test_who_is_not_beside_hears_later),
		cmocka_unit_test(test_a_nic_that_pauses_costs_its_time),
		cmocka_unit_test(test_one_chosen_packet_is_lost),
		cmocka_unit_test(test_each_drop_counts_for_itself),
		cmocka_unit_test(test_each_way_keeps_its_rate),
		cmocka_unit_test(test_what_is_left_is_regained),
		cmocka_unit_test(test_random_events_lose_nothing_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
