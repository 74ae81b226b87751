/* ripstop/session.h: messages that are sent while the simulation runs end at the picosecond at
 * which the same flows of a description end; what is told, when, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <ripstop/session.h>

enum { FLOWS = 40, MOST = 256 };

static void ok(int err, struct ripstop_error **e)
{
	if (err < 0)
		fail_msg("%s", ripstop_error_text(*e));
}

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % n);
}

/* Networks that bring about what differs: lost and reordered packets, pauses, insides of hosts,
 * another transport, links that fail, collectives beside. */
static const char *const fabrics[] = {
	"fabric: {network: {kind: single-switch, hosts: 8, rate: 100G, delay: 500ns}}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 2, spines: 2, rate: 100G, "
	"delay: 300ns, loss: 0.001}, cc: {kind: dcqcn}}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 4, spines: 4, rate: 200G, "
	"delay: 700ns, loss: 0.0005}, qos: {routing: spray}, cc: {kind: none}}\n",
	"fabric: {network: {kind: fat-tree, k: 4, rate: 400G, delay: 1us}, cc: {kind: swift}}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 2, spines: 1, rate: 25G, "
	"delay: 2us}, cc: {kind: hpcc}}\n",
	"fabric:\n"
	"  hosts:\n"
	"  - name: h\n"
	"    count: 4\n"
	"    cpu: spr\n"
	"    sockets: 2\n"
	"    gpus: [{name: gpu0, model: H100, on: socket0, pcie: gen5x16}, {name: gpu1, model: "
	"H100, on: socket1, pcie: gen5x16}]\n"
	"    nics: [{name: nic0, model: ConnectX-7, on: socket0, pcie: gen5x16, rate: 200G}, "
	"{name: nic1, model: ConnectX-7, on: socket1, pcie: gen4x8, rate: 200G}]\n"
	"  network: {kind: rail, leaves: 2, rate: 200G, delay: 500ns}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 2, spines: 2, rate: 100G, "
	"delay: 500ns}, transport: {kind: uet}}\n",
	"fabric:\n"
	"  network: {kind: leaf-spine, hosts: 8, leaves: 2, spines: 2, rate: 100G, delay: 500ns}\n"
	"  events: [{at: 20us, link: [leaf0, spine1], down: 60us}, {at: 30us, link: h3, rate: "
	"25G, for: 30us}, {at: 50us, nic: h5, pause: 20us}]\n"
	"  failover: {detect: 5us, converge: 10us}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 4, spines: 2, rate: 100G, "
	"uplink_rate: 50G, delay: 500ns}, qos: {buffer: 600kB}, cc: {kind: none}}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 2, spines: 2, rate: 100G, "
	"delay: 500ns}}\n"
	"workload:\n"
	"- {name: before, flows: [{src: h0, dst: h5, bytes: 700kB, start: 10us}]}\n"
	"- {name: sum, collective: {bytes: 1MiB}}\n",
	"fabric: {network: {kind: leaf-spine, hosts: 8, leaves: 4, spines: 4, rate: 200G, "
	"delay: 300ns, loss: 0.02}, qos: {routing: spray}, cc: {kind: none}}\n",
};
enum { FABRICS = sizeof(fabrics) / sizeof(fabrics[0]) };

static struct ripstop_fabric *fabric(unsigned i)
{
	struct ripstop_fabric *f;
	struct ripstop_error *e = NULL;

	ok(ripstop_fabric_parse(fabrics[i], strlen(fabrics[i]), "t.yaml", NULL, &f, &e), &e);
	return f;
}

static uint32_t endpoints_of(const struct ripstop_fabric *f)
{
	struct ripstop_fabric_facts facts = RIPSTOP_INIT(struct ripstop_fabric_facts);
	struct ripstop_error *e = NULL;

	ok(ripstop_fabric_check(f, &facts, &e), &e);
	return facts.endpoints;
}

static struct ripstop_session *session(const struct ripstop_fabric *f, uint64_t seed)
{
	struct ripstop_session_options o = RIPSTOP_INIT(struct ripstop_session_options);
	struct ripstop_session *s;
	struct ripstop_error *e = NULL;

	o.seed = seed;
	ok(ripstop_session_new(f, &o, &s, &e), &e);
	return s;
}

static int by_start(const void *a, const void *b)
{
	const struct ripstop_flow *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Some start together, some with what nothing else does. */
static void draw_flows(struct ripstop_flow *flow, uint32_t endpoints)
{
	for (unsigned i = 0; i < FLOWS; i++) {
		uint32_t src = draw(endpoints);

		flow[i] = (struct ripstop_flow){.start = draw(3) ? 1000 * (int64_t)draw(80000)
								 : 20000000,
						.bytes = 1 + (draw(4) ? draw(200000) : draw(2000)),
						.src = src,
						.dst = (src + 1 + draw(endpoints - 1)) % endpoints,
						.traffic_class = draw(5) ? -1 : 2};
	}
	qsort(flow, FLOWS, sizeof(flow[0]), by_start);
}

/* What the last job's flows came to when all was known before. */
static size_t at_once(unsigned i, uint64_t seed, const struct ripstop_flow *flow, size_t n,
		      struct ripstop_flow_time *out, struct ripstop_counters *c)
{
	struct ripstop_fabric *f = fabric(i);
	struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options);
	struct ripstop_result *r;
	struct ripstop_error *e = NULL;
	size_t all;

	o.seed = seed;
	ok(ripstop_fabric_add_flows(f, "session", flow, n, sizeof(flow[0]), &e), &e);
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	all = ripstop_result_flows(r, 0, 0, MOST, out, sizeof(out[0]));
	assert_int_equal(ripstop_result_counters(r, 0, c), 0);
	ripstop_result_free(r);
	ripstop_fabric_free(f);
	return all;
}

static void same_flows(unsigned i, const struct ripstop_flow_time *a,
		       const struct ripstop_flow_time *b, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (memcmp(&a[k], &b[k], sizeof(a[k])))
			fail_msg("fabric %u, flow %zu: %u to %u, %lld to %lld, not %u to %u, %lld "
				 "to %lld",
				 i, k, a[k].src, a[k].dst, (long long)a[k].start,
				 (long long)a[k].finish, b[k].src, b[k].dst, (long long)b[k].start,
				 (long long)b[k].finish);
}

/* What is sent and lost does not depend on how long the run goes on after the last flow's end. */
static void same_counters(const struct ripstop_counters *a, const struct ripstop_counters *b)
{
	assert_int_equal(a->data_packets, b->data_packets);
	assert_int_equal(a->drops, b->drops);
	assert_int_equal(a->retransmits, b->retransmits);
	assert_int_equal(a->timeouts, b->timeouts);
	assert_int_equal(a->ecn_marked, b->ecn_marked);
	assert_int_equal(a->max_queue, b->max_queue);
}

struct told {
	int64_t sent[MOST], delivered[MOST];
	uint32_t n_sent, n_delivered, failed;
};

static void take(struct ripstop_session *s, struct told *t)
{
	struct ripstop_news news;

	while (ripstop_session_news(s, &news, 1, sizeof(news))) {
		assert_int_equal(news.when, ripstop_session_now(s));
		if (news.what == RIPSTOP_NEWS_TIMER)
			continue;
		assert_int_equal(news.user, 1000 + news.message);
		t->failed += news.what == RIPSTOP_NEWS_FAILED;
		t->n_sent += news.what == RIPSTOP_NEWS_SENT;
		t->n_delivered += news.what == RIPSTOP_NEWS_DELIVERED;
		if (news.what == RIPSTOP_NEWS_SENT)
			t->sent[news.message] = news.when;
		if (news.what == RIPSTOP_NEWS_DELIVERED)
			t->delivered[news.message] = news.when;
	}
}

static void run_to(struct ripstop_session *s, int64_t until, struct told *t)
{
	struct ripstop_error *e = NULL;
	int n;

	while ((n = ripstop_session_run(s, until, &e)) > 0)
		take(s, t);
	ok(n, &e);
	if (until != RIPSTOP_NEVER)
		assert_int_equal(ripstop_session_now(s), until);
}

static void send(struct ripstop_session *s, const struct ripstop_flow *m, uint64_t user)
{
	struct ripstop_error *e = NULL;

	ok(ripstop_session_send(s, m, user, &e), &e);
}

/* News against the result of the same session, and that against a run of all at once. */
static void check(unsigned i, uint64_t seed, struct ripstop_session *s,
		  const struct ripstop_flow *flow, size_t n, const struct told *t)
{
	static struct ripstop_flow_time a[MOST], b[MOST];
	struct ripstop_counters c = RIPSTOP_INIT(struct ripstop_counters);
	struct ripstop_counters d = RIPSTOP_INIT(struct ripstop_counters);
	struct ripstop_error *e = NULL;
	struct ripstop_result *r;
	size_t all, first;
	char *json;

	assert_int_equal(ripstop_session_unfinished(s), 0);
	ok(ripstop_session_end(s, &r, &e), &e);
	ripstop_session_free(s);
	all = ripstop_result_flows(r, 0, 0, MOST, a, sizeof(a[0]));
	first = all - n;
	assert_int_equal(at_once(i, seed, flow, n, b, &d), all);
	for (size_t k = first; k < all; k++) {
		/* a message that came twice was seen again */
		b[k].delivered = a[k].delivered;
		assert_int_equal(t->sent[k - first], a[k].finish);
		assert_true(t->delivered[k - first] > a[k].start);
	}
	same_flows(i, a, b, all);
	assert_int_equal(ripstop_result_counters(r, 0, &c), 0);
	same_counters(&c, &d);
	assert_int_equal(t->n_sent, n);
	assert_int_equal(t->n_delivered, n);
	ok(ripstop_result_json(r, &json, &e), &e);
	assert_non_null(strstr(json, "\"session\""));
	ripstop_free(json);
	ripstop_result_free(r);
}

/* Each message is sent at its start, before it, or when half of what was sent has been heard of. */
static void test_times_are_those_of_a_description(void **unused)
{
	static struct ripstop_flow flow[FLOWS];

	for (unsigned i = 0; i < FABRICS; i++)
		for (unsigned way = 0; way < 2; way++) {
			struct ripstop_fabric *f = fabric(i);
			struct ripstop_session *s = session(f, 7 + i);
			struct told t = {0};

			state = 100 + i;
			draw_flows(flow, endpoints_of(f));
			ripstop_fabric_free(f);
			for (unsigned k = 0; k < FLOWS; k++) {
				if (way)
					run_to(s, flow[k].start, &t);
				send(s, &flow[k], 1000 + k);
			}
			run_to(s, RIPSTOP_NEVER, &t);
			check(i, 7 + i, s, flow, FLOWS, &t);
		}
}

/* What is sent depends on what came: the receiver of a message sends the next, at once or later. */
static size_t react(struct ripstop_session *s, struct ripstop_flow *flow, uint32_t endpoints,
		    struct told *t)
{
	struct ripstop_error *e = NULL;
	struct ripstop_news news;
	size_t n = 0;
	int more;

	for (; n < 6; n++) {
		flow[n] = (struct ripstop_flow){.src = (uint32_t)n % endpoints,
						.dst = ((uint32_t)n + 1) % endpoints,
						.bytes = 30000,
						.traffic_class = -1};
		send(s, &flow[n], 1000 + n);
	}
	while ((more = ripstop_session_run(s, RIPSTOP_NEVER, &e)) > 0)
		while (ripstop_session_news(s, &news, 1, sizeof(news))) {
			struct ripstop_flow next = {.traffic_class = -1};

			if (news.what == RIPSTOP_NEWS_SENT) {
				t->sent[news.message] = news.when;
				t->n_sent++;
			}
			if (news.what == RIPSTOP_NEWS_DELIVERED) {
				t->delivered[news.message] = news.when;
				t->n_delivered++;
			}
			if (news.what == RIPSTOP_NEWS_TIMER)
				assert_int_equal(news.message, UINT32_MAX);
			if (news.what == RIPSTOP_NEWS_SENT || n == 6 * FLOWS)
				continue;
			if (news.what == RIPSTOP_NEWS_DELIVERED && !draw(4)) {
				ok(ripstop_session_at(s, news.when + draw(2) * 1234567, news.user,
						      &e),
				   &e);
				continue;
			}
			next.src = flow[news.user - 1000].dst;
			next.dst = (next.src + 1 + draw(endpoints - 1)) % endpoints;
			next.bytes = 1 + draw(100000);
			next.start = ripstop_session_now(s);
			flow[n] = next;
			send(s, &next, 1000 + n);
			n++;
		}
	ok(more, &e);
	return n;
}

static void test_answers_are_as_if_known_before(void **unused)
{
	static struct ripstop_flow flow[MOST];

	for (unsigned i = 0; i < FABRICS; i++) {
		struct ripstop_fabric *f = fabric(i);
		struct ripstop_session *s = session(f, 3);
		uint32_t endpoints = endpoints_of(f);
		struct told t = {0};
		size_t n;

		ripstop_fabric_free(f);
		state = 500 + i;
		n = react(s, flow, endpoints, &t);
		assert_int_equal(n, 6 * FLOWS);
		check(i, 3, s, flow, n, &t);
	}
}

/* A run is cut into pieces anywhere: nothing depends on it. */
static void test_pieces_change_nothing(void **unused)
{
	static struct ripstop_flow flow[FLOWS];
	struct ripstop_fabric *f = fabric(8);
	struct ripstop_session *s = session(f, 1);
	struct told t = {0};

	state = 9;
	draw_flows(flow, 8);
	for (unsigned k = 0; k < FLOWS; k++)
		send(s, &flow[k], 1000 + k);
	for (int64_t now = 0; t.n_sent < FLOWS; now += 1 + draw(300000))
		run_to(s, now, &t);
	check(8, 1, s, flow, FLOWS, &t);
	ripstop_fabric_free(f);
}

/* Each message is sent when nothing is under way any more, in the window of the last one's end. */
static void test_after_all_has_ended(void **unused)
{
	static struct ripstop_flow flow[FLOWS];
	struct ripstop_fabric *f = fabric(FABRICS - 1);
	struct ripstop_session *s = session(f, 1);
	struct told t = {0};

	ripstop_fabric_free(f);
	state = 77;
	for (unsigned k = 0; k < FLOWS; k++) {
		flow[k] = (struct ripstop_flow){.start = ripstop_session_now(s),
						.bytes = 1 + draw(20000),
						.src = draw(8),
						.traffic_class = -1};
		flow[k].dst = (flow[k].src + 1 + draw(7)) % 8;
		send(s, &flow[k], 1000 + k);
		run_to(s, RIPSTOP_NEVER, &t);
	}
	check(FABRICS - 1, 1, s, flow, FLOWS, &t);
}

/* ---- What is told ---- */

static void test_timers_come_in_their_order(void **unused)
{
	struct ripstop_fabric *f = fabric(0);
	struct ripstop_session *s = session(f, 1);
	struct ripstop_error *e = NULL;
	struct ripstop_news news[4];

	ok(ripstop_session_at(s, 500, 1, &e), &e);
	ok(ripstop_session_at(s, 200, 2, &e), &e);
	ok(ripstop_session_at(s, 500, 3, &e), &e);
	assert_int_equal(ripstop_session_run(s, RIPSTOP_NEVER, &e), 1);
	assert_int_equal(ripstop_session_run(s, RIPSTOP_NEVER, &e), 1); /* nothing, it waits */
	assert_int_equal(ripstop_session_news(s, news, 4, sizeof(news[0])), 1);
	assert_int_equal(news[0].user, 2);
	assert_int_equal(ripstop_session_now(s), 200);
	assert_int_equal(ripstop_session_run(s, 499, &e), 0);
	assert_int_equal(ripstop_session_now(s), 499);
	assert_int_equal(ripstop_session_run(s, 500, &e), 2);
	assert_int_equal(ripstop_session_news(s, news, 1, sizeof(news[0])), 1);
	assert_int_equal(news[0].user, 1);
	assert_int_equal(ripstop_session_news(s, news, 4, sizeof(news[0])), 1);
	assert_int_equal(news[0].user, 3);
	assert_int_equal(ripstop_session_run(s, RIPSTOP_NEVER, &e), 0);
	assert_int_equal(ripstop_session_now(s), 500);
	ripstop_session_free(s);
	ripstop_fabric_free(f);
}

/* All packets of h3 are lost: the queue pair gives up, and its end is told once. */
static void test_a_failure_is_told(void **unused)
{
	const char text[] = "fabric: {network: {kind: single-switch, hosts: 4, rate: 100G, delay: "
			    "500ns}, events: [{at: 0us, link: h3, loss: 100%}]}\n";
	const struct ripstop_flow lost = {.bytes = 5000, .src = 0, .dst = 3, .traffic_class = -1};
	const struct ripstop_flow fine = {.bytes = 5000, .src = 0, .dst = 2, .traffic_class = -1};
	struct ripstop_fabric *f;
	struct ripstop_session *s;
	struct ripstop_error *e = NULL;
	struct told t = {0};

	ok(ripstop_fabric_parse(text, strlen(text), "t.yaml", NULL, &f, &e), &e);
	s = session(f, 1);
	send(s, &lost, 1000);
	send(s, &fine, 1001);
	run_to(s, RIPSTOP_NEVER, &t);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.n_sent, 1);
	assert_int_equal(t.n_delivered, 1);
	assert_int_equal(ripstop_session_unfinished(s), 0);
	ripstop_session_free(s);
	ripstop_fabric_free(f);
}

/* ---- What is refused ---- */

static void refused(struct ripstop_session *s, const struct ripstop_flow *m, int code,
		    const char *why)
{
	struct ripstop_error *e = NULL;

	assert_int_equal(ripstop_session_send(s, m, 0, &e), code);
	if (!strstr(ripstop_error_text(e), why))
		fail_msg("'%s' is not in '%s'", why, ripstop_error_text(e));
	ripstop_error_free(e);
}

static void test_what_is_refused(void **unused)
{
	struct ripstop_session_options o = RIPSTOP_INIT(struct ripstop_session_options);
	const struct ripstop_flow good = {.bytes = 1, .dst = 1, .traffic_class = -1};
	struct ripstop_flow m = good;
	struct ripstop_fabric *f = fabric(0);
	struct ripstop_session *s;
	struct ripstop_error *e = NULL;
	struct ripstop_result *r;
	struct told t = {0};

	o.under_way = 2;
	ok(ripstop_session_new(f, &o, &s, &e), &e);
	ripstop_fabric_free(f); /* the session has its own */
	m.dst = 8;
	refused(s, &m, -EINVAL, "endpoints 0 to 7, found 0 and 8");
	m.dst = 0;
	refused(s, &m, -EINVAL, "found 0 and 0");
	m = good;
	m.bytes = 0;
	refused(s, &m, -EINVAL, "bytes of 1 or more");
	m = good;
	m.traffic_class = 8;
	refused(s, &m, -EINVAL, "class of -1 to 7, found 8");
	m = good;
	m.start = INT64_C(1) << 53;
	refused(s, &m, -ERANGE, "75 minutes");
	run_to(s, 1000, &t);
	m.start = 999;
	refused(s, &m, -EINVAL, "from now on");
	assert_int_equal(ripstop_session_run(s, 999, &e), -EINVAL);
	ripstop_error_free(e);
	send(s, &good, 1000);
	send(s, &good, 1001);
	refused(s, &good, -EAGAIN, "2 messages under way");
	run_to(s, RIPSTOP_NEVER, &t);
	send(s, &good, 1002); /* a refused one has no number */
	run_to(s, RIPSTOP_NEVER, &t);
	assert_int_equal(t.n_sent, 3);
	ok(ripstop_session_end(s, &r, &e), &e);
	assert_int_equal(ripstop_session_run(s, RIPSTOP_NEVER, &e), -EINVAL);
	ripstop_error_free(e);
	ripstop_session_free(s); /* before its result, or after it */
	ripstop_result_free(r);
	o.under_way = 65537;
	f = fabric(0);
	assert_int_equal(ripstop_session_new(f, &o, &s, &e), -EINVAL);
	ripstop_error_free(e);
	ripstop_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_are_those_of_a_description),
		cmocka_unit_test(test_answers_are_as_if_known_before),
		cmocka_unit_test(test_pieces_change_nothing),
		cmocka_unit_test(test_after_all_has_ended),
		cmocka_unit_test(test_timers_come_in_their_order),
		cmocka_unit_test(test_a_failure_is_told),
		cmocka_unit_test(test_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
