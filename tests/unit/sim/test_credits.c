/* Receivers' credits under RC: what waits in the queue before a receiver is bounded by what was
 * granted, links that need no help keep their rate, and nothing hangs when credit is lost. */
#include "unit/sim/load.h"

enum { FRAME = 4096 + 62 + 8, CELL = 144, GRANT = 8192 }; /* a full one, with what it tells */

static const char star[] = "network: {kind: single-switch, hosts: %u, rate: 100G, delay: 500ns}";

/* The fabric with this cc and more of it; then the workload. */
static void begin(struct text *t, const char *cc, const char *more)
{
	t->n = 0;
	add(t, "fabric:\n  cc: {kind: %s}\n%s  ", cc, more);
}

/* n hosts send so many bytes to the last one. */
static struct loaded incast(unsigned n, const char *cc, const char *more, unsigned kbytes)
{
	struct text *t = calloc(1, sizeof(*t));
	struct loaded l;

	begin(t, cc, more);
	add(t, star, n + 1);
	add(t, "\nworkload:\n  - flows:\n");
	for (unsigned i = 0; i < n; i++)
		add(t, "    - {src: %u, dst: %u, bytes: %ukB}\n", i, n, kbytes);
	l = load_run(t->s, (struct rs_sim_options){0});
	free(t);
	return l;
}

static rs_time last(const struct loaded *l)
{
	rs_time t = 0;

	for (uint32_t i = 0; i < l->r->n_flows; i++)
		t = rs_time_max(t, l->r->flows[i].finish);
	return t;
}

/* What the receiver's link needs for the payload of all, in full frames. */
static rs_time least(unsigned n, unsigned kbytes)
{
	return (rs_time)((double)n * kbytes * 1000 / 4096 * (FRAME + 20) * 80) * RS_NS / 1000;
}

static void kept(const struct loaded *l)
{
	const struct rs_sim_counters *c = &l->r->counters;

	assert_true(l->r->complete);
	assert_int_equal(c->packets_sent, c->packets_delivered + c->drops + c->nic_drops +
						  c->link_losses + c->packets_in_flight);
}

/* Nothing goes unasked: each sender may be a frame over what it was granted. With a product of the
 * line's unasked each brings that, and what the link carries meanwhile is gone. */
static void test_the_queue_of_an_incast_is_bounded_by_credits(void **state)
{
	static const unsigned sizes[] = {2, 8, 32};

	for (unsigned i = 0; i < 3; i++) {
		unsigned n = sizes[i];
		struct loaded asked = incast(n, "credits, preset: asked", "", 1000);
		struct loaded unasked = incast(n, "credits, base_rtt: 4us", "", 1000);
		struct loaded dcqcn = incast(n, "dcqcn", "", 1000);
		uint64_t first = 100000 / 8 * 4; /* 100 Gb/s for base_rtt */

		kept(&asked);
		kept(&unasked);
		kept(&dcqcn);
		assert_true(asked.r->counters.max_queue <= n * (FRAME + CELL));
		assert_true(unasked.r->counters.max_queue <= n * (first + FRAME + CELL));
		assert_true(dcqcn.r->counters.max_queue > 2 * unasked.r->counters.max_queue);
		assert_int_equal(asked.r->counters.pauses, 0);
		assert_true(last(&asked) < least(n, 1000) * 102 / 100 + 12 * RS_US);
		assert_true(last(&unasked) < least(n, 1000) * 102 / 100 + 6 * RS_US);
		assert_true(asked.r->counters.credits >= n * 1000000u / GRANT);
		load_free(&asked);
		load_free(&unasked);
		load_free(&dcqcn);
	}
}

/* Who sends to one receiver shares its link evenly: all end together. */
static void test_senders_take_turns(void **state)
{
	struct loaded l = incast(16, "credits", "", 1000);
	rs_time first = RS_NEVER;

	for (uint32_t i = 0; i < l.r->n_flows; i++)
		first = rs_time_min(first, l.r->flows[i].finish);
	kept(&l);
	assert_true(last(&l) - first < last(&l) / 20);
	load_free(&l);
}

/* Each host sends to another one, and receives from one: nothing is short but what is granted. */
static struct loaded permutation(unsigned n, const char *cc, unsigned step, unsigned kbytes)
{
	struct text *t = calloc(1, sizeof(*t));
	struct loaded l;

	begin(t, cc, "");
	add(t, star, n);
	add(t, "\nworkload:\n  - flows:\n");
	for (unsigned i = 0; i < n; i++)
		add(t, "    - {src: %u, dst: %u, bytes: %ukB}\n", i, (i + step) % n, kbytes);
	l = load_run(t->s, (struct rs_sim_options){0});
	free(t);
	return l;
}

static void test_a_permutation_keeps_its_rate(void **state)
{
	static const char *const presets[] = {"credits", "credits, preset: asked"};

	for (unsigned i = 0; i < 2; i++) {
		struct loaded with = permutation(16, presets[i], 5, 4000);
		struct loaded none = permutation(16, "none", 5, 4000);

		kept(&with);
		/* 1 % is not granted; credit packets take another */
		assert_true(last(&with) < last(&none) * 103 / 100 + 6 * RS_US);
		load_free(&with);
		load_free(&none);
	}
}

static struct loaded all_to_all(const char *cc, unsigned n, const char *bytes, uint32_t threads)
{
	struct text *t = calloc(1, sizeof(*t));
	struct loaded l;

	begin(t, cc, "");
	add(t,
	    "network: {kind: leaf-spine, leaves: 4, spines: 4, hosts_per_leaf: %u, rate: 100G, "
	    "uplink_rate: 100G}\nworkload:\n  - collective: {op: all_to_all, bytes: %s}\n",
	    n / 4, bytes);
	l = load_run(t->s, (struct rs_sim_options){.threads = threads});
	free(t);
	return l;
}

static void test_an_all_to_all_ends_and_threads_agree(void **state)
{
	struct loaded one = all_to_all("credits", 16, "16MiB", 1);
	struct loaded none = all_to_all("none", 16, "16MiB", 1);

	kept(&one);
	assert_true(one.r->jobs[0].finish < none.r->jobs[0].finish * 5 / 4);
	for (uint32_t threads = 2; threads <= 3; threads++) {
		struct loaded l = all_to_all("credits", 16, "16MiB", threads);

		assert_int_equal(l.r->sim_time, one.r->sim_time);
		assert_memory_equal(&l.r->counters, &one.r->counters, sizeof(one.r->counters));
		load_free(&l);
	}
	load_free(&one);
	load_free(&none);
}

/* Any verb, both recoveries, with packets lost, credit's own too. */
static void test_nothing_hangs_when_credit_is_lost(void **state)
{
	static const char *const verbs[] = {"write", "send", "read", "atomic"};
	static const char *const recoveries[] = {"go-back-n", "selective"};
	static const char *const presets[] = {"credits", "credits, preset: asked",
					      "credits, preset: asked, grant: 64B, again: 20us"};

	for (unsigned i = 0; i < 24; i++) {
		const char *verb = verbs[i % 4];
		struct text *t = calloc(1, sizeof(*t));
		struct loaded l;

		begin(t, presets[i / 8], "");
		add(t,
		    "transport: {recovery: %s, timeout: 8}\n  network: {kind: single-switch, "
		    "hosts: "
		    "5, rate: 100G, delay: 500ns, loss: 1e-2}\nworkload:\n  - flows:\n",
		    recoveries[i / 4 % 2]);
		for (unsigned k = 0; k < 4; k++)
			add(t, "    - {src: %u, dst: 4, op: %s, bytes: %s, depth: 4}\n", k, verb,
			    i % 4 == 3 ? "4000B" : "500kB, message: 50kB");
		l = load_run(t->s, (struct rs_sim_options){.seed = 3 + i});
		if (!l.r->complete)
			fail_msg("%s", t->s);
		kept(&l);
		assert_true(l.r->counters.link_losses > 0);
		load_free(&l);
		free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_queue_of_an_incast_is_bounded_by_credits),
		cmocka_unit_test(test_senders_take_turns),
		cmocka_unit_test(test_a_permutation_keeps_its_rate),
		cmocka_unit_test(test_an_all_to_all_ends_and_threads_agree),
		cmocka_unit_test(test_nothing_hangs_when_credit_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
