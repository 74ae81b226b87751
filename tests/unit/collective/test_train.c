/*
 * The training step against docs/models.md: GPT-3 175B, 3.15 M tokens, 400 TFLOP/s a GPU.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "collective/collective.h"

enum { HOSTS_MAX = 1024 };

static struct rs_fabric_host hosts[HOSTS_MAX];
static struct rs_fabric_endpoint endpoints[8 * HOSTS_MAX];

static struct rs_fabric fabric_of(uint32_t n_hosts)
{
	for (uint32_t h = 0; h < n_hosts; h++)
		hosts[h] = (struct rs_fabric_host){
			.first_gpu = 8 * h, .n_gpus = 8, .first_endpoint = 8 * h, .n_endpoints = 8};
	return (struct rs_fabric){.n_hosts = n_hosts,
				  .n_gpus = 8 * n_hosts,
				  .n_endpoints = 8 * n_hosts,
				  .hosts = hosts,
				  .endpoints = endpoints};
}

static struct rs_train_conf gpt3(uint32_t tp, uint32_t pp)
{
	return (struct rs_train_conf){.parameters = 175e9,
				      .type_bytes = 2,
				      .tokens = 1536 * 2048.0,
				      .tp = tp,
				      .pp = pp,
				      .flops = 400e12,
				      .bucket = 100000000,
				      .overlap = 1};
}

static struct rs_train_plan plan_of(uint32_t n_hosts, const struct rs_train_conf *t)
{
	struct rs_fabric f = fabric_of(n_hosts);
	struct rs_train_plan p;
	struct rs_error e = {0};

	if (rs_train_plan(&f, t, &p, &e))
		fail_msg("%s", e.what);
	return p;
}

static void assert_near(double have, double want, double share)
{
	if (have < want * (1 - share) || have > want * (1 + share))
		fail_msg("%g is not within %g of %g", have, share, want);
}

static void test_gpt3_on_1024_gpus(void **state)
{
	struct rs_train_conf t = gpt3(8, 16);
	struct rs_train_plan p = plan_of(128, &t);
	double step = (double)(p.forward + p.backward) / RS_S;

	assert_int_equal(p.dp, 8);
	assert_near(p.parameters_per_gpu, 1.367e9, 0.001);
	assert_near((double)p.gradient_bytes, 2.73e9, 0.002);
	assert_near((double)p.gradient_bytes * 2 * 7 / 8, 4.79e9, 0.002);
	assert_near(step, 8.06, 0.001);
	assert_near((double)p.backward / (double)p.forward, 2, 1e-6);
	assert_int_equal(p.n_buckets, 28);
	assert_int_equal(p.simulated_buckets, 2);
	/* Megatron's order: rank = tensor + 8 * (data + 8 * pipeline) */
	assert_int_equal(p.bucket.stride, 8);
	assert_int_equal(p.bucket.group, 8);
}

static void test_gpt3_on_8192_gpus(void **state)
{
	struct rs_train_conf t = gpt3(8, 16);
	struct rs_train_plan p = plan_of(1024, &t);

	assert_int_equal(p.dp, 64);
	assert_near((double)p.gradient_bytes * 2 * 63 / 64, 5.38e9, 0.001);
	assert_near((double)(p.forward + p.backward) / RS_S, 1.01, 0.005);
}

static void test_simulated_share_is_at_least_two_and_at_most_all(void **state)
{
	struct rs_train_conf t = gpt3(8, 16);

	t.simulate = 1;
	assert_int_equal(plan_of(128, &t).simulated_buckets, 2);
	t.simulate = 350000000;
	assert_int_equal(plan_of(128, &t).simulated_buckets, 4);
	t.simulate = UINT64_C(1) << 40;
	assert_int_equal(plan_of(128, &t).simulated_buckets, 28);
	t.bucket = 0; /* one bucket of all */
	assert_int_equal(plan_of(128, &t).simulated_buckets, 1);
}

/* The job's own bytes a rank, through the collective that it asks for. */
static void test_bucket_collective_sends_the_closed_form(void **state)
{
	struct rs_train_conf t = gpt3(8, 1);
	struct rs_fabric f = fabric_of(8);
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_plan p = plan_of(8, &t);
	struct rs_error e = {0};
	struct rs_coll *c;

	assert_int_equal(rs_coll_plan(&f, &p.bucket, a, &c, &e), 0);
	assert_near((double)rs_coll_bytes_sent(c, 5), (double)p.bucket_bytes * 2 * 7 / 8, 1e-5);
	for (uint32_t i = 0; i < c->n_conns; i++) {
		assert_false(c->conns[i].nvlink);
		assert_int_equal(c->conns[i].src % 8, c->conns[i].dst % 8);
	}
	rs_arena_destroy(a);
}

static void test_hierarchy_of_one_gpu_a_host_is_the_ring(void **state)
{
	struct rs_train_conf t = gpt3(8, 1);

	t.collective.algorithm = RS_ALGO_HIERARCHICAL;
	assert_int_equal(plan_of(8, &t).bucket.algorithm, RS_ALGO_RING);
	t.tp = 1;
	assert_int_equal(plan_of(8, &t).bucket.algorithm, RS_ALGO_HIERARCHICAL);
	assert_int_equal(plan_of(8, &t).bucket.stride, 0);
}

/* 10 buckets, 1 s forward, 2 s backward: a bucket is ready each 200 ms. */
static struct rs_train_result evaluate(rs_time first, rs_time further, double overlap)
{
	struct rs_train_plan p = {.n_buckets = 10, .forward = RS_S, .backward = 2 * RS_S};
	struct rs_train_conf t = {.overlap = overlap};
	struct rs_train_result r;

	rs_train_evaluate(&p, &t, first, further, &r);
	return r;
}

static void test_quick_buckets_expose_only_the_last(void **state)
{
	struct rs_train_result r = evaluate(150 * RS_MS, 140 * RS_MS, 1);

	assert_int_equal(r.exposed, 150 * RS_MS);
	assert_int_equal(r.communication, 1500 * RS_MS);
	assert_int_equal(r.step, 3150 * RS_MS);
	assert_near(r.efficiency, 3 / 3.15, 1e-9);
}

static void test_slow_buckets_queue(void **state)
{
	struct rs_train_result r = evaluate(500 * RS_MS, 400 * RS_MS, 1);

	/* the first starts at 1.2 s, nine more follow back to back */
	assert_int_equal(r.step, (1200 + 500 + 9 * 400) * RS_MS);
	assert_int_equal(r.exposed, r.step - 3 * RS_S);
}

static void test_without_overlap_all_is_exposed(void **state)
{
	struct rs_train_result r = evaluate(100 * RS_MS, 90 * RS_MS, 0);

	assert_int_equal(r.exposed, r.communication);
	assert_int_equal(r.exposed, (100 + 9 * 90) * RS_MS);
}

static void test_refusals(void **state)
{
	static const struct {
		struct rs_train_conf t;
		int err;
	} cases[] = {
		{{.parameters = 1e9, .tokens = 1e6, .flops = 1e14, .tp = 3}, -EINVAL},
		{{.parameters = 1e9, .tokens = 1e6, .flops = 1e14, .tp = 8, .dp = 4}, -EINVAL},
		{{.parameters = 1e9, .tokens = 1e6, .flops = 1e14, .tp = 8, .pp = 8}, -EINVAL},
		{{.parameters = 1e9, .tokens = 1e6, .flops = 1e14, .tp = 65536, .pp = 65536},
		 -EINVAL},
		{{.parameters = 1e9, .tokens = 1e6}, -EINVAL},
		{{.parameters = 1e9, .flops = 1e14}, -EINVAL},
		{{.parameters = 1e9, .tokens = 1e6, .flops = 1e14, .bucket = 1}, -EINVAL},
		{{.parameters = 1e30, .tokens = 1e6, .flops = 1e14}, -ERANGE},
		{{.parameters = 1e20, .tokens = 1, .flops = 1e30}, -ERANGE},
		{{.parameters = 1e9, .tokens = 1e6, .flops = 1e14, .collective.n_ranks = 65},
		 -EINVAL},
	};
	struct rs_fabric f = fabric_of(8);
	struct rs_train_plan p;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_error e = {0};

		assert_int_equal(rs_train_plan(&f, &cases[i].t, &p, &e), cases[i].err);
		assert_true(e.what[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpt3_on_1024_gpus),
		cmocka_unit_test(test_gpt3_on_8192_gpus),
		cmocka_unit_test(test_simulated_share_is_at_least_two_and_at_most_all),
		cmocka_unit_test(test_bucket_collective_sends_the_closed_form),
		cmocka_unit_test(test_hierarchy_of_one_gpu_a_host_is_the_ring),
		cmocka_unit_test(test_quick_buckets_expose_only_the_last),
		cmocka_unit_test(test_slow_buckets_queue),
		cmocka_unit_test(test_without_overlap_all_is_exposed),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
