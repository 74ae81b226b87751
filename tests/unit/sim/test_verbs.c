/* Flows of each verb against arithmetic: latency to the picosecond, messages under way, READs'
 * limit, what a READ crosses inside hosts, answers that are lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"
#include "unit/sim/load.h"

enum { GAP = 20, ACK = 66 };

static rs_time time_of(const char *text, struct rs_sim_options o)
{
	struct loaded l = load_run(text, o);
	rs_time t;

	assert_true(l.r->complete);
	t = rs_sim_fct(l.r, 0, 100);
	load_free(&l);
	return t;
}

/* Bytes of frames that src sends for a message of one packet, and that come back. */
static void frames_of(const char *op, uint32_t bytes, uint32_t *there, uint32_t *back)
{
	*there = op[0] == 'w' ? 78 + bytes : op[0] == 's' ? 62 + bytes : op[0] == 'r' ? 78 : 90;
	*back = op[0] == 'r' ? ACK + bytes : op[0] == 'a' ? ACK + 8 : ACK;
}

static void one_switch(struct text *t, const char *rate, unsigned delay_ns, unsigned rd)
{
	add(t,
	    "fabric:\n  network: {kind: single-switch, hosts: 4, rate: %s, delay: %uns}\n"
	    "  qos: {switch_latency: 0ns}\n  cc: none\n  transport: {max_rd_atomic: %u}\n"
	    "workload:\n",
	    rate, delay_ns, rd);
}

static void test_latency_of_each_verb_is_exact(void **state)
{
	static const char *const ops[] = {"write", "send", "read", "atomic"};

	for (unsigned i = 0; i < 4; i++) {
		uint32_t bytes = i == 3 ? 8 : 1000, there, back;
		struct text t = {.n = 0};

		one_switch(&t, "100G", 700, 1);
		add(&t, "  - {op: %s, flows: [{src: h0, dst: h1, bytes: %uB}]}\n", ops[i], bytes);
		frames_of(ops[i], bytes, &there, &back);
		assert_int_equal(time_of(t.s, (struct rs_sim_options){0}),
				 4 * 700 * RS_NS + 2 * 80 * (rs_time)(there + back + 2 * GAP));
	}
}

/* N messages of one packet: as many as may be under way each round trip, or what the line takes of
 * the longer direction. Twenty of them, drawn. */
static void test_messages_under_way_bound_the_rate(void **state)
{
	static const char *const ops[] = {"write", "send", "read", "atomic"};
	static const struct {
		const char *text;
		rs_time byte; /* ps */
	} rates[] = {{"25G", 320}, {"100G", 80}, {"400G", 20}};
	struct rs_random r = rs_random_stream(14, 1, 1);

	for (unsigned i = 0; i < 20; i++) {
		unsigned op = rs_random_below(&r, 4), rate = rs_random_below(&r, 3);
		unsigned depth = 1 + rs_random_below(&r, 40), rd = 1 + rs_random_below(&r, 16);
		unsigned delay = 100 + rs_random_below(&r, 4000), n = 60 * depth;
		uint32_t bytes = op == 3 ? 8 : 16 + rs_random_below(&r, 4000), there, back;
		unsigned under_way = op >= 2 && rd < depth ? rd : depth;
		rs_time trip, line, least, took;
		struct text t = {.n = 0};

		frames_of(ops[op], bytes, &there, &back);
		trip = 4 * delay * RS_NS + 2 * rates[rate].byte * (rs_time)(there + back + 2 * GAP);
		line = (rs_time)((there > back ? there : back) + GAP) * rates[rate].byte;
		least = trip / under_way > line ? trip / under_way : line;
		one_switch(&t, rates[rate].text, delay, rd);
		add(&t, "  - {flows: [{src: h0, dst: h1, bytes: %uB, op: %s, depth: %u", n * bytes,
		    ops[op], depth);
		if (op != 3)
			add(&t, ", message: %uB", bytes);
		add(&t, "}]}\n");
		took = time_of(t.s, (struct rs_sim_options){0});
		if (took < (n - depth) * least || took > n * least + trip + n * least / 50)
			fail_msg("%s: %lld ps, expected %lld a message and one trip of %lld\n%s",
				 ops[op], (long long)took, (long long)least, (long long)trip, t.s);
	}
}

/* Long messages: a READ's bytes come as soon as a WRITE's or a SEND's, and share no direction with
 * those of its own src. */
static void test_read_and_send_get_what_write_gets(void **state)
{
	static const char *const ops[] = {"write", "send", "read"};
	rs_time alone[3], both;
	struct text t;

	for (unsigned i = 0; i < 3; i++) {
		t.n = 0;
		one_switch(&t, "100G", 1000, 16);
		add(&t,
		    "  - {op: %s, depth: 4, message: 256KiB, flows: [{src: h0, dst: h1, bytes: "
		    "8MiB}]}\n",
		    ops[i]);
		alone[i] = time_of(t.s, (struct rs_sim_options){0});
		assert_in_range(alone[i], alone[0] - alone[0] / 200, alone[0] + alone[0] / 200);
	}
	add(&t, "  - {flows: [{src: h0, dst: h1, bytes: 8MiB}]}\n");
	both = time_of(t.s, (struct rs_sim_options){0});
	assert_in_range(both, alone[2], alone[2] + alone[2] / 20);
	/* two READs by one host, of two others: its link is shared */
	t.n = 0;
	one_switch(&t, "100G", 1000, 16);
	add(&t, "  - {op: read, flows: [{src: h0, dst: h1, bytes: 8MiB}, {src: h0, dst: h2, bytes: "
		"8MiB}]}\n");
	both = time_of(t.s, (struct rs_sim_options){0});
	assert_in_range(both, 2 * alone[2] - alone[2] / 20, 2 * alone[2] + alone[2] / 20);
}

/* Of h0 and h1 one has a NIC with few outstanding reads of memory: those bind who sends the bytes,
 * which is a READ's dst. */
static rs_time inside(const char *op, const char *src, const char *dst)
{
	struct text t = {.n = 0};

	add(&t,
	    "fabric:\n  hosts:\n"
	    "    - {name: h, count: 1, sockets: 1, nics: [{name: nic0, on: socket0, pcie: gen5x16, "
	    "rate: 200G}]}\n"
	    "    - {name: h, count: 1, first: 1, sockets: 1, nics: [{name: nic0, on: socket0, "
	    "pcie: gen5x16, rate: 200G, tags: 8}]}\n"
	    "  network: {kind: single-switch, delay: 500ns}\n  cc: none\n"
	    "workload:\n  - {op: %s, depth: 16, message: 128KiB, flows: [{src: %s, dst: %s, bytes: "
	    "4MiB}]}\n",
	    op, src, dst);
	return time_of(t.s, (struct rs_sim_options){0});
}

static void test_a_read_reads_memory_at_the_responder(void **state)
{
	rs_time bound = inside("write", "h1", "h0"), line = inside("write", "h0", "h1");
	rs_time of_slow = inside("read", "h0", "h1"), of_fast = inside("read", "h1", "h0");

	assert_true(bound > 2 * line);
	assert_in_range(of_slow, bound - bound / 50, bound + bound / 50);
	assert_in_range(of_fast, line - line / 50, line + line / 50);
}

/* A short SEND comes with the doorbell where its flow says so, whatever its NIC's model does. */
static void test_inline_saves_a_read_of_memory(void **state)
{
	rs_time t[2];

	for (unsigned i = 0; i < 2; i++) {
		struct text s = {.n = 0};

		add(&s,
		    "fabric:\n  hosts: [{name: h, count: 2, sockets: 1, nics: [{name: nic0, on: "
		    "socket0, pcie: gen5x16, rate: 200G}]}]\n"
		    "  network: {kind: single-switch, delay: 500ns}\n"
		    "  host_model: {inline: 220}\n"
		    "workload:\n  - {op: send, inline: %uB, flows: [{src: h0, dst: h1, bytes: "
		    "200B}]}\n",
		    i ? 200 : 199);
		t[i] = time_of(s.s, (struct rs_sim_options){0});
	}
	assert_true(t[0] > t[1] + 200 * RS_NS);
}

/* 300 short flows over links that lose packets: answers that are lost are sent again, though the
 * responder's queue pair was gone by then. */
static void test_lost_answers_are_repeated(void **state)
{
	static const char *const ops[] = {"send", "read", "atomic"};
	static const char *const recoveries[] = {"go-back-n", "selective"};

	for (unsigned i = 0; i < 6; i++) {
		struct text t = {.n = 0};
		struct loaded l;

		add(&t,
		    "fabric:\n  network: {kind: single-switch, hosts: 8, rate: 100G, delay: 1us, "
		    "loss: 1%%}\n  transport: {timeout: 5, recovery: %s}\n"
		    "workload:\n  - {op: %s, %s, depth: 3, qps: 4, flows: {load: 40%%, count: 10, "
		    "bytes: 20000B}}\n",
		    recoveries[i / 3], ops[i % 3], i % 3 == 2 ? "name: a" : "message: 6000B");
		l = load_run(t.s, (struct rs_sim_options){0});
		assert_true(l.r->complete);
		assert_int_equal(l.r->n_flows, 320);
		assert_int_equal(l.r->jobs[0].failed, 0);
		assert_true(l.r->counters.link_losses > 10 && l.r->counters.retransmits > 3);
		load_free(&l);
	}
}

/* What the series keeps of a READ's flow adds up to its bytes, and comes while it goes. */
static void test_the_series_follows_a_read(void **state)
{
	struct text t = {.n = 0};
	const struct rs_series_flow *f;
	uint64_t sum = 0, most = 0;
	struct loaded l;

	one_switch(&t, "100G", 1000, 16);
	add(&t, "  - {flows: [{src: h0, dst: h1, bytes: 5MB, op: read}]}\n");
	l = load_run(
		t.s,
		(struct rs_sim_options){
			.observe = {.on = true, .interval = 20 * RS_US, .flows = 8, .ports = 8}});
	f = &l.r->series->flows[0];
	for (uint32_t i = 0; i < l.r->series->bins; i++) {
		sum += f->acked[i];
		most = f->acked[i] > most ? f->acked[i] : most;
	}
	assert_int_equal(sum, 5000000);
	assert_in_range(most, 200000, 260000);
	load_free(&l);
}

/* 3,000 queue pairs of one host; and results do not depend on threads. */
static void test_many_queue_pairs(void **state)
{
	rs_time first = 0;

	for (unsigned threads = 1; threads <= 3; threads++) {
		struct text t = {.n = 0};
		rs_time took;

		add(&t,
		    "fabric: {network: {kind: leaf-spine, hosts: 4, leaves: 2, spines: 2, rate: "
		    "100G}}\n"
		    "workload:\n  - {op: read, qps: 1000, depth: 2, message: 1000B, flows: [{src: "
		    "h0, dst: h1, bytes: 3MB}, {src: h0, dst: h2, bytes: 3MB}, {src: h3, dst: h0, "
		    "bytes: 3MB, op: send}]}\n");
		took = time_of(t.s, (struct rs_sim_options){.threads = threads});
		assert_true(threads == 1 || took == first);
		first = took;
		/* two of them share h0's link */
		assert_in_range(took, INT64_C(480000000), INT64_C(960000000));
	}
}

/* A queue pair registers one message after another, each before it is posted: to the picosecond,
 * alone and while others are under way. */
static void test_registration_goes_before_each_message(void **state)
{
	static const char *const ops[] = {"write", "send", "read"};

	for (unsigned i = 0; i < 12; i++) {
		unsigned depth = 1 + i % 4, n = 20, us = 7 + i;
		uint32_t there, back;
		struct text t = {.n = 0};
		rs_time trip, all;

		frames_of(ops[i % 3], 1000, &there, &back);
		trip = 4 * 700 * RS_NS + 2 * 80 * (rs_time)(there + back + 2 * GAP);
		all = depth == 1 ? n * (us * RS_US + trip) : n * us * RS_US + trip;
		one_switch(&t, "100G", 700, 16);
		add(&t,
		    "  - {op: %s, depth: %u, message: 1000B, registration: %uus, flows: [{src: h0, "
		    "dst: h1, bytes: %uB}]}\n",
		    ops[i % 3], depth, us, n * 1000);
		assert_int_equal(time_of(t.s, (struct rs_sim_options){0}), all);
	}
}

/* A rank's messages to other hosts wait for one another's registration. */
static void test_registration_of_a_collective(void **state)
{
	rs_time took[2];

	for (unsigned i = 0; i < 2; i++) {
		struct text t = {.n = 0};
		struct loaded l;

		one_switch(&t, "100G", 700, 1);
		add(&t,
		    "  - {collective: {op: broadcast, algorithm: ring, ranks: 2, bytes: 8MiB, "
		    "chunk: "
		    "1MiB, slots: 2, registration: %uus}}\n",
		    i * 1000);
		l = load_run(t.s, (struct rs_sim_options){0});
		assert_true(l.r->complete);
		took[i] = l.r->jobs[0].first;
		load_free(&l);
	}
	/* of 8 slices, which take 88 us each */
	assert_in_range(took[1] - 8 * RS_MS, 80 * RS_US, 100 * RS_US);
	assert_true(took[0] < RS_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latency_of_each_verb_is_exact),
		cmocka_unit_test(test_messages_under_way_bound_the_rate),
		cmocka_unit_test(test_read_and_send_get_what_write_gets),
		cmocka_unit_test(test_a_read_reads_memory_at_the_responder),
		cmocka_unit_test(test_inline_saves_a_read_of_memory),
		cmocka_unit_test(test_lost_answers_are_repeated),
		cmocka_unit_test(test_the_series_follows_a_read),
		cmocka_unit_test(test_many_queue_pairs),
		cmocka_unit_test(test_registration_goes_before_each_message),
		cmocka_unit_test(test_registration_of_a_collective),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
