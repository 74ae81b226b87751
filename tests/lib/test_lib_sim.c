/* ripstop/fabric.h and ripstop/sim.h through the shared library: calls and text make the same
 * fabric and the same results; threads, seeds, progress, cancel; what is wrong is said with its
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <ripstop/sim.h>

#define GBPS INT64_C(1000000000)
enum { FLOWS = 64 };

static void ok(int err, struct ripstop_error **e)
{
	if (err)
		fail_msg("%s", ripstop_error_text(*e));
}

static struct ripstop_fabric *parse(const char *text)
{
	struct ripstop_fabric *f;
	struct ripstop_error *e = NULL;

	ok(ripstop_fabric_parse(text, strlen(text), "t.yaml", NULL, &f, &e), &e);
	return f;
}

static struct ripstop_result *simulate(const struct ripstop_fabric *f, uint64_t seed,
				       uint32_t threads)
{
	struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options);
	struct ripstop_result *r;
	struct ripstop_error *e = NULL;

	o.seed = seed;
	o.threads = threads;
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	return r;
}

static void same_result(const struct ripstop_result *a, const struct ripstop_result *b)
{
	struct ripstop_flow_time x[FLOWS], y[FLOWS];
	struct ripstop_job p[8], q[8];
	struct ripstop_counters c = RIPSTOP_INIT(struct ripstop_counters);
	struct ripstop_counters d = RIPSTOP_INIT(struct ripstop_counters);
	size_t n = ripstop_result_flows(a, 0, 0, FLOWS, x, sizeof(x[0]));

	assert_int_equal(n, ripstop_result_flows(b, 0, 0, FLOWS, y, sizeof(y[0])));
	assert_memory_equal(x, y, (n < FLOWS ? n : FLOWS) * sizeof(x[0]));
	n = ripstop_result_jobs(a, 0, 0, 8, p, sizeof(p[0]));
	assert_int_equal(n, ripstop_result_jobs(b, 0, 0, 8, q, sizeof(q[0])));
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(p[i].name, q[i].name);
		assert_int_equal(p[i].finish, q[i].finish);
		assert_int_equal(p[i].time, q[i].time);
	}
	assert_int_equal(ripstop_result_counters(a, 0, &c), 0);
	assert_int_equal(ripstop_result_counters(b, 0, &d), 0);
	assert_memory_equal(&c, &d, sizeof(c));
}

/* ---- Calls and text ---- */

static const char leaf_spine[] =
	"fabric:\n"
	"  network: {kind: leaf-spine, hosts: 12, leaves: 3, spines: 2, rate: 100G, "
	"uplink_rate: 200G, delay: 600ns, mtu: 1024, loss: 0.0001}\n"
	"  qos: {classes: [{class: 3, kmin: 50kB, kmax: 200kB}], routing: spray}\n"
	"  cc: {kind: dcqcn, preset: paper, rate_ai: 50M}\n"
	"workload:\n"
	"- {name: given, flows: [{src: h0, dst: h5, bytes: 300000B}, {src: 1, dst: 11, bytes: 1MB, "
	"start: 3us, class: 2}]}\n"
	"- {name: sum, collective: {bytes: 2MiB, qps: 2, algorithm: tree}}\n"
	"- {train: {parameters: 1e6, tokens: 2000, qps: 1}}\n"
	"what-if:\n"
	"- {name: other, set: {fabric.qos.routing: adaptive}}\n";

static struct ripstop_fabric *leaf_spine_by_calls(void)
{
	struct ripstop_network n = RIPSTOP_INIT(struct ripstop_network);
	struct ripstop_collective c = RIPSTOP_INIT(struct ripstop_collective);
	struct ripstop_training t = RIPSTOP_INIT(struct ripstop_training);
	const struct ripstop_flow flow[] = {
		{.bytes = 300000, .src = 0, .dst = 5, .traffic_class = -1},
		{.start = 3000000, .bytes = 1000000, .src = 1, .dst = 11, .traffic_class = 2}};
	struct ripstop_fabric *f;
	struct ripstop_error *e = NULL;

	ok(ripstop_fabric_new(&f, &e), &e);
	n.kind = "leaf-spine";
	n.hosts = 12;
	n.leaves = 3;
	n.spines = 2;
	n.rate = 100 * GBPS;
	n.uplink_rate = 200 * GBPS;
	n.delay = 600000;
	n.mtu = 1024;
	n.loss = 0.0001;
	ok(ripstop_fabric_network(f, &n, &e), &e);
	ok(ripstop_fabric_set_class(f, 3, "kmin", "50kB", &e), &e);
	ok(ripstop_fabric_set_class(f, 3, "kmax", "200kB", &e), &e);
	ok(ripstop_fabric_set(f, "fabric.qos.routing", "spray", &e), &e);
	ok(ripstop_fabric_set_cc(f, "dcqcn", "paper", &e), &e);
	ok(ripstop_fabric_set(f, "fabric.cc.rate_ai", "50M", &e), &e);
	ok(ripstop_fabric_add_flows(f, "given", flow, 2, sizeof(flow[0]), &e), &e);
	c.name = "sum";
	c.bytes = 2 << 20;
	c.qps = 2;
	c.algorithm = "tree";
	ok(ripstop_fabric_add_collective(f, &c, &e), &e);
	t.parameters = 1e6;
	t.tokens = 2000;
	ok(ripstop_fabric_add_training(f, &t, &e), &e);
	ok(ripstop_fabric_add_what_if(f, "other", "fabric.qos.routing", "adaptive", &e), &e);
	return f;
}

static void same_yaml(const struct ripstop_fabric *a, const struct ripstop_fabric *b)
{
	struct ripstop_error *e = NULL;
	char *x, *y;

	ok(ripstop_fabric_yaml(a, &x, &e), &e);
	ok(ripstop_fabric_yaml(b, &y, &e), &e);
	assert_string_equal(x, y);
	ripstop_free(x);
	ripstop_free(y);
}

static void test_calls_and_text_make_the_same(void **state)
{
	char text[sizeof(leaf_spine)];
	struct ripstop_fabric *a, *b = leaf_spine_by_calls(), *c;
	struct ripstop_result *x, *y;
	struct ripstop_error *e = NULL;

	/* ripstop_training's qps is the collective's */
	strcpy(text, leaf_spine);
	memcpy(strstr(text, ", qps: 1}"), "}        ", 9);
	a = parse(text);
	same_yaml(a, b);
	ok(ripstop_fabric_copy(b, &c, &e), &e);
	ripstop_fabric_free(b);
	same_yaml(a, c);
	x = simulate(a, 3, 1);
	y = simulate(c, 3, 1);
	ripstop_fabric_free(a);
	ripstop_fabric_free(c); /* a result needs no fabric */
	same_result(x, y);
	ripstop_result_free(x);
	ripstop_result_free(y);
}

static void test_a_drawn_network(void **state)
{
	struct ripstop_fabric *a, *b, *c;
	struct ripstop_fabric_facts facts = RIPSTOP_INIT(struct ripstop_fabric_facts);
	struct ripstop_error *e = NULL;
	char name[16], *yaml;

	ok(ripstop_fabric_new(&a, &e), &e);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "node-%u", i);
		ok(ripstop_fabric_add_host(a, name, &e), &e);
	}
	ok(ripstop_fabric_add_switch(a, "left", 0, &e), &e);
	ok(ripstop_fabric_add_switch(a, "right", 0, &e), &e);
	ok(ripstop_fabric_add_switch(a, "top", 1, &e), &e);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "node-%u", i);
		ok(ripstop_fabric_add_link(a, name, i < 2 ? "left" : "right", 25 * GBPS, 0, 0, &e),
		   &e);
	}
	ok(ripstop_fabric_add_link(a, "left", "top", 50 * GBPS, 2000000, 0.001, &e), &e);
	ok(ripstop_fabric_add_link(a, "right", "top", 50 * GBPS, 2000000, 0, &e), &e);
	ok(ripstop_fabric_check(a, &facts, &e), &e);
	assert_int_equal(facts.hosts, 4);
	assert_int_equal(facts.switches, 3);
	assert_int_equal(facts.links, 6);
	assert_int_equal(facts.diameter, 3);
	ok(ripstop_fabric_yaml(a, &yaml, &e), &e);
	b = parse(yaml);
	ripstop_free(yaml);
	same_yaml(a, b);
	/* a list that is there is added to */
	ok(ripstop_fabric_add_switch(b, "extra", 0, &e), &e);
	ok(ripstop_fabric_copy(b, &c, &e), &e);
	ok(ripstop_fabric_check(c, &facts, &e), &e);
	assert_int_equal(facts.switches, 4);
	ripstop_fabric_free(a);
	ripstop_fabric_free(b);
	ripstop_fabric_free(c);
}

/* ---- Errors ---- */

static void test_text_is_refused_with_its_place(void **state)
{
	static const char text[] = "fabric:\n  network: {kind: leaf-spine,\n    rate: fast}\n";
	struct ripstop_fabric *f;
	struct ripstop_error *e = NULL;

	f = parse(text);
	assert_int_equal(ripstop_fabric_check(f, NULL, &e), -EINVAL);
	assert_string_equal(ripstop_error_file(e), "t.yaml");
	assert_int_equal(ripstop_error_line(e), 3);
	assert_int_equal(ripstop_error_column(e), 11);
	assert_non_null(strstr(ripstop_error_text(e), "t.yaml:3:11: "));
	ripstop_error_free(e);
	ripstop_fabric_free(f);
	assert_int_equal(ripstop_fabric_parse("a: [", 4, NULL, NULL, &f, &e), -EINVAL);
	assert_null(f);
	ripstop_error_free(e);
	assert_int_equal(ripstop_fabric_load("/nonexistent/x.yaml", &f, &e), -ENOENT);
	assert_null(f);
	ripstop_error_free(e);
}

static void refused(struct ripstop_fabric *f, const char *place, int line)
{
	struct ripstop_error *e = NULL;

	assert_true(ripstop_fabric_check(f, NULL, &e) < 0);
	assert_string_equal(ripstop_error_file(e), place);
	assert_int_equal(ripstop_error_line(e), line);
	ripstop_error_free(e);
}

static void test_calls_are_refused_with_their_place(void **state)
{
	struct ripstop_fabric *f = leaf_spine_by_calls();
	struct ripstop_flow bad = {.bytes = 1, .src = 0, .dst = 99, .traffic_class = -1};
	struct ripstop_network n = RIPSTOP_INIT(struct ripstop_network);
	struct ripstop_error *e = NULL;
	struct ripstop_result *r;

	ok(ripstop_fabric_set(f, "fabric.network.rate", "quick", &e), &e);
	refused(f, "fabric.network.rate", 1);
	ok(ripstop_fabric_set(f, "fabric.network.rate", "100G", &e), &e);
	ok(ripstop_fabric_set_class(f, 9, "kmin", "1kB", &e), &e);
	refused(f, "class", 2);
	ok(ripstop_fabric_set(f, "fabric.qos.classes[1]", NULL, &e), &e);
	ok(ripstop_fabric_check(f, NULL, &e), &e);
	ok(ripstop_fabric_add_flows(f, "bad", &bad, 1, sizeof(bad), &e), &e);
	refused(f, "flow", 1);
	assert_int_equal(ripstop_fabric_set(f, "workload[3].flows.x", "1", &e), -EINVAL);
	ripstop_error_free(e);
	ok(ripstop_fabric_set(f, "workload[3]", NULL, &e), &e);
	ok(ripstop_fabric_check(f, NULL, &e), &e);
	n.rate = -1;
	assert_int_equal(ripstop_fabric_network(f, &n, &e), -ERANGE);
	ripstop_error_free(e);
	assert_int_equal(ripstop_fabric_set(f, "a..b", "1", &e), -EINVAL);
	ripstop_error_free(e);
	ok(ripstop_fabric_check(f, NULL, &e), &e);
	ok(ripstop_fabric_set(f, "workload", NULL, &e), &e);
	assert_int_equal(ripstop_simulate(f, NULL, &r, &e), -EINVAL);
	assert_null(r);
	ripstop_error_free(e);
	ripstop_fabric_free(f);
}

/* ---- Runs ---- */

static void test_threads_change_nothing(void **state)
{
	static const char text[] =
		"fabric: {network: {kind: fat-tree, k: 8}, cc: dcqcn}\n"
		"workload: [{collective: {bytes: 256KiB, op: all-to-all, ranks: 32}}]\n";
	struct ripstop_fabric *f = parse(text);
	struct ripstop_result *one = simulate(f, 7, 1), *three = simulate(f, 7, 3);
	struct ripstop_summary s = RIPSTOP_INIT(struct ripstop_summary);

	ripstop_result_summary(three, &s);
	assert_int_equal(s.threads, 3);
	assert_int_equal(s.endpoints, 128);
	same_result(one, three);
	ripstop_result_free(one);
	ripstop_result_free(three);
	ripstop_fabric_free(f);
}

static void *another(void *arg)
{
	return simulate(arg, 3, 1);
}

static void test_one_fabric_in_several_threads(void **state)
{
	struct ripstop_fabric *f = leaf_spine_by_calls();
	struct ripstop_result *first = simulate(f, 3, 1);
	pthread_t t[3];
	void *r;

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, another, f), 0);
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(t[i], &r);
		same_result(first, r);
		ripstop_result_free(r);
	}
	ripstop_result_free(first);
	ripstop_fabric_free(f);
}

struct told {
	unsigned times, cancel_after;
	double last;
};

static int on_progress(void *arg, int64_t now, double share)
{
	struct told *t = arg;

	assert_true(share >= t->last && share <= 1);
	t->last = share;
	return ++t->times == t->cancel_after;
}

static void test_progress_and_cancel(void **state)
{
	static const char text[] = "fabric: {network: {kind: single-switch, hosts: 4}}\n"
				   "workload: [{collective: {bytes: 96MiB}}]\n";
	struct ripstop_fabric *f = parse(text);
	struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options);
	struct ripstop_summary s = RIPSTOP_INIT(struct ripstop_summary);
	struct ripstop_error *e = NULL;
	struct ripstop_result *r;
	struct ripstop_job job;
	struct told t = {0};
	volatile int cancel = 1;

	o.threads = 1;
	o.progress = on_progress;
	o.progress_arg = &t;
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	assert_true(t.times > 0);
	ripstop_result_summary(r, &s);
	assert_true(s.complete && !s.stopped);
	ripstop_result_free(r);
	t = (struct told){.cancel_after = 1};
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	assert_int_equal(t.times, 1);
	ripstop_result_summary(r, &s);
	assert_true(!s.complete && s.stopped);
	ripstop_result_jobs(r, 0, 0, 1, &job, sizeof(job));
	assert_int_equal(job.end, RIPSTOP_STOPPED);
	assert_true(job.time == RIPSTOP_NEVER);
	ripstop_result_free(r);
	o.progress = NULL;
	o.cancel = &cancel;
	o.diagnose = 1;
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	ripstop_result_summary(r, &s);
	assert_true(s.stopped && s.runs == 1);
	ripstop_result_free(r);
	o.cancel = NULL;
	o.diagnose = 0;
	o.max_time = 1000000;
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	ripstop_result_summary(r, &s);
	assert_true(s.stopped);
	ripstop_result_free(r);
	ripstop_fabric_free(f);
}

static void test_a_diagnosis_and_its_arrays(void **state)
{
	struct ripstop_fabric *f = leaf_spine_by_calls();
	struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options);
	struct ripstop_summary s = RIPSTOP_INIT(struct ripstop_summary);
	struct ripstop_run run[64];
	struct ripstop_cause cause[16];
	struct ripstop_flow_time flow;
	struct ripstop_result *r;
	struct ripstop_error *e = NULL;
	uint64_t sent[12], total = 0;
	size_t n, rates;
	char *json;
	int found = 0;

	o.diagnose = 1;
	o.seeds = 2;
	o.rate_interval = 1000000;
	ok(ripstop_simulate(f, &o, &r, &e), &e);
	ripstop_result_summary(r, &s);
	n = ripstop_result_runs(r, 0, 64, run, sizeof(run[0]));
	assert_int_equal(n, s.runs);
	for (size_t i = 0; i < n; i++)
		found += !strcmp(run[i].kind, "fix") && !strcmp(run[i].name, "other");
	assert_int_equal(found, 1);
	assert_string_equal(run[0].kind, "base");
	n = ripstop_result_causes(r, 0, 16, cause, sizeof(cause[0]));
	assert_true(n > 0 && n == s.causes);
	for (size_t i = 0; i < n; i++)
		assert_true(cause[i].run < s.runs && *cause[i].what && *cause[i].id);
	/* one element, from the middle, of a smaller size; then beyond the end */
	assert_int_equal(ripstop_result_flows(r, 0, 1, 1, &flow, sizeof(flow)), 2);
	assert_int_equal(flow.src, 1);
	flow.start = -5;
	assert_int_equal(ripstop_result_flows(r, 0, 2, 1, &flow, sizeof(flow)), 2);
	assert_int_equal(flow.start, -5);
	assert_int_equal(ripstop_result_flows(r, 9999, 0, 1, &flow, sizeof(flow)), 0);
	rates = ripstop_result_rates(r, 0, 0, NULL, sizeof(struct ripstop_rate));
	assert_true(rates > 0 && rates == s.rates);
	assert_int_equal(ripstop_result_sent(r, 0, 12, sent), 12);
	for (unsigned i = 0; i < 12; i++)
		total += sent[i];
	assert_true(total > 1300000);
	assert_string_equal(ripstop_result_endpoint(r, 11), "h11");
	assert_null(ripstop_result_endpoint(r, 12));
	ok(ripstop_result_json(r, &json, &e), &e);
	assert_non_null(strstr(json, "\"schema\": \"ripstop-sim/2\""));
	ripstop_free(json);
	ripstop_result_free(r);
	ripstop_fabric_free(f);
}

/* A million flows are given in one call; here as many as a test has time for, more refused. */
static void test_many_flows(void **state)
{
	enum { MANY = 20000 };
	struct ripstop_flow *flow = calloc(MANY, sizeof(*flow));
	struct ripstop_network n = RIPSTOP_INIT(struct ripstop_network);
	struct ripstop_summary s = RIPSTOP_INIT(struct ripstop_summary);
	struct ripstop_error *e = NULL;
	struct ripstop_fabric *f;
	struct ripstop_result *r;

	for (uint32_t i = 0; i < MANY; i++)
		flow[i] = (struct ripstop_flow){.start = 100000 * (int64_t)i,
						.bytes = 64,
						.src = i % 32,
						.dst = (i + 1 + i / 32 % 31) % 32,
						.traffic_class = -1};
	ok(ripstop_fabric_new(&f, &e), &e);
	n.kind = "single-switch";
	n.hosts = 32;
	ok(ripstop_fabric_network(f, &n, &e), &e);
	ok(ripstop_fabric_add_flows(f, NULL, flow, MANY, sizeof(*flow), &e), &e);
	assert_int_equal(ripstop_fabric_add_flows(f, NULL, flow, 1000001, sizeof(*flow), &e),
			 -E2BIG);
	ripstop_error_free(e);
	free(flow);
	r = simulate(f, 1, 1);
	ripstop_result_summary(r, &s);
	assert_int_equal(s.flows, MANY);
	assert_true(s.complete);
	ripstop_result_free(r);
	ripstop_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_and_text_make_the_same),
		cmocka_unit_test(test_a_drawn_network),
		cmocka_unit_test(test_text_is_refused_with_its_place),
		cmocka_unit_test(test_calls_are_refused_with_their_place),
		cmocka_unit_test(test_threads_change_nothing),
		cmocka_unit_test(test_one_fabric_in_several_threads),
		cmocka_unit_test(test_progress_and_cancel),
		cmocka_unit_test(test_a_diagnosis_and_its_arrays),
		cmocka_unit_test(test_many_flows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
