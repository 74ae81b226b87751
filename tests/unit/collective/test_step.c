/*
 * A training step as a graph against what follows from its settings: bytes of each group, the
 * pipeline's bubble, the order of turns.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "collective/program.h"
#include "collective/train.h"
#include "fabric/models.h"
#include "fabric/order.h"

static struct rs_train_conf plain(uint32_t layers)
{
	struct rs_train_conf t = {.type_bytes = 2, .flops = 1e12, .overlap = 1, .bucket = 1 << 20};

	t.step = (struct rs_step_conf){.on = true,
				       .cp = 1,
				       .ep = 1,
				       .chunks = 1,
				       .micro_batch = 1,
				       .microbatches = 1,
				       .skew = 1,
				       .dispatch = 2,
				       .scale = 1};
	t.step.model = (struct rs_model){.layers = layers,
					 .hidden = 256,
					 .heads = 16,
					 .kv_heads = 16,
					 .head_dim = 16,
					 .ffn = 1024,
					 .sequence = 512};
	return t;
}

static struct rs_work *work_of(const struct rs_train_conf *t, uint32_t n, struct rs_arena *a)
{
	struct rs_error e = {0};
	struct rs_work *w;

	if (rs_step_work(t, n, a, &w, &e))
		fail_msg("%s", e.what);
	return w;
}

static rs_time dry(const struct rs_train_conf *t, uint32_t n)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_error e = {0};
	rs_time time;

	if (rs_work_dry_time(work_of(t, n, a), &time, &e))
		fail_msg("%s", e.what);
	rs_arena_destroy(a);
	return time;
}

/* What collectives of one kind of a rank are given, in bytes of their buffers. */
static uint64_t buffers(const struct rs_work *w, uint32_t rank, enum rs_work_why why,
			enum rs_coll_op op)
{
	const struct rs_work_rank *r = &w->rank[rank];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->n; i++)
		if (r->node[i].kind == RS_WORK_COLL && r->node[i].why == why && r->node[i].op == op)
			sum += r->node[i].bytes;
	return sum;
}

static void assert_near(double have, double want, double share)
{
	if (have < want * (1 - share) || have > want * (1 + share))
		fail_msg("%.9g is not within %g of %.9g", have, share, want);
}

/* ---- Pipelines ---- */

/* Each pass once, and each forward pass before its backward pass. */
static void check_turns(enum rs_schedule s, uint32_t p, uint32_t m, uint32_t v)
{
	for (uint32_t stage = 0; stage < p; stage++) {
		uint8_t seen[2][8][64] = {0};

		for (uint32_t i = 0; i < 2 * m * v; i++) {
			struct rs_turn t = rs_step_turn(s, p, stage, m, v, i);

			assert_in_range(t.microbatch, 0, m - 1);
			assert_in_range(t.chunk, 0, v - 1);
			assert_false(seen[t.backward][t.chunk][t.microbatch]);
			assert_true(!t.backward || seen[0][t.chunk][t.microbatch]);
			seen[t.backward][t.chunk][t.microbatch] = 1;
		}
	}
}

static void test_turns_are_each_pass_once(void **state)
{
	check_turns(RS_SCHEDULE_1F1B, 4, 9, 1);
	check_turns(RS_SCHEDULE_1F1B, 8, 3, 1);
	check_turns(RS_SCHEDULE_1F1B, 1, 5, 1);
	check_turns(RS_SCHEDULE_GPIPE, 4, 6, 1);
	check_turns(RS_SCHEDULE_INTERLEAVED, 4, 4, 3);
	check_turns(RS_SCHEDULE_INTERLEAVED, 4, 12, 2);
	check_turns(RS_SCHEDULE_INTERLEAVED, 1, 5, 4);
	check_turns(RS_SCHEDULE_INTERLEAVED, 8, 16, 8);
}

/* Without a network the step is the compute of all microbatches and p - 1 more: a share of
 * (p - 1) / (m + p - 1) is lost; with v chunks a stage p - 1 v-ths. */
static void test_bubble(void **state)
{
	static const uint32_t cases[][4] = {
		/* p, m, v, schedule */
		{4, 8, 1, RS_SCHEDULE_1F1B},         {8, 8, 1, RS_SCHEDULE_1F1B},
		{2, 5, 1, RS_SCHEDULE_1F1B},         {4, 2, 1, RS_SCHEDULE_1F1B},
		{4, 8, 1, RS_SCHEDULE_GPIPE},        {4, 8, 2, RS_SCHEDULE_INTERLEAVED},
		{4, 12, 4, RS_SCHEDULE_INTERLEAVED}, {4, 4, 2, RS_SCHEDULE_INTERLEAVED}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t p = cases[i][0], m = cases[i][1], v = cases[i][2];
		struct rs_train_conf t = plain(2 * p * v);
		struct rs_step_plan plan;
		struct rs_error e = {0};
		double compute, step;

		t.pp = p;
		t.step.microbatches = m;
		t.step.chunks = v;
		t.step.schedule = (enum rs_schedule)cases[i][3];
		assert_int_equal(rs_step_plan(&t, p, &plan, &e), 0);
		compute = plan.flops / plan.rate / p;
		step = (double)dry(&t, p) / RS_S;
		assert_near(step, compute * (1 + (double)(p - 1) / (m * v)), 1e-6);
	}
}

/* 14 layers, and an output layer as long as one: 3, 4, 3, 5 without ends, 3, 4, 4, 4 with. The
 * longest stage sets the pace of many microbatches. */
static void test_ends_count_as_layers(void **state)
{
	struct rs_train_conf t = plain(14);
	double even, ends;

	t.pp = 4;
	t.step.microbatches = 64;
	t.step.model.vocab = 12 * 256 + 512;
	even = (double)dry(&t, 4);
	t.step.ends = 1;
	ends = (double)dry(&t, 4);
	assert_near(ends / even, 4.0 / 5, 0.02);
}

/* ---- Bytes ---- */

static void test_data_parallel_is_the_gradients(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_conf t = plain(6);
	struct rs_step_plan p;
	struct rs_error e = {0};
	struct rs_work *w;

	t.step.model.vocab = 1000;
	t.step.microbatches = 3;
	w = work_of(&t, 4, a);
	assert_int_equal(rs_step_plan(&t, 4, &p, &e), 0);
	/* attention 4 h^2, MLP 8 h^2, embedding and output v h each: once a step */
	assert_near(p.parameters, 6 * 12 * 256 * 256 + 2 * 1000 * 256, 0);
	assert_int_equal(buffers(w, 3, RS_WHY_DATA, RS_COLL_ALL_REDUCE),
			 2 * (uint64_t)p.parameters);
	t.step.zero = 1;
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 3, RS_WHY_DATA, RS_COLL_REDUCE_SCATTER),
			 2 * (uint64_t)p.parameters);
	assert_int_equal(buffers(w, 3, RS_WHY_WEIGHTS, RS_COLL_ALL_GATHER),
			 2 * (uint64_t)p.parameters);
	t.step.zero = 3; /* forward and backward, of each microbatch */
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 0, RS_WHY_WEIGHTS, RS_COLL_ALL_GATHER),
			 3 * 2 * 2 * (uint64_t)p.parameters);
	assert_int_equal(buffers(w, 0, RS_WHY_DATA, RS_COLL_REDUCE_SCATTER),
			 3 * 2 * (uint64_t)p.parameters);
	rs_arena_destroy(a);
}

/* Four of a layer and microbatch, of the activations s * b * h. */
static void test_tensor_parallel_is_the_activations(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_conf t = plain(4);
	uint64_t each = UINT64_C(512) * 2 * 256 * 2;
	struct rs_work *w;

	t.tp = 4;
	t.step.micro_batch = 2;
	t.step.microbatches = 5;
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 1, RS_WHY_TENSOR, RS_COLL_ALL_REDUCE), 4 * 4 * 5 * each);
	t.step.sequence = true;
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 1, RS_WHY_TENSOR, RS_COLL_ALL_GATHER), 4 * 4 * 5 * each);
	assert_int_equal(buffers(w, 1, RS_WHY_TENSOR, RS_COLL_REDUCE_SCATTER), 4 * 4 * 5 * each);
	assert_int_equal(buffers(w, 1, RS_WHY_DATA, RS_COLL_ALL_REDUCE), 0);
	/* a split vocabulary: the embedding forward, the output layer backward */
	t.step.model.vocab = 1000;
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 1, RS_WHY_TENSOR, RS_COLL_ALL_GATHER), (4 * 4 + 2) * 5 * each);
	t.step.sequence = false;
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 1, RS_WHY_TENSOR, RS_COLL_ALL_REDUCE), (4 * 4 + 2) * 5 * each);
	rs_arena_destroy(a);
}

static void test_pipeline_is_the_activations_between_stages(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_conf t = plain(12);
	uint64_t each = UINT64_C(512) * 256 * 2;
	struct rs_work *w;

	t.pp = 3;
	t.step.microbatches = 6;
	w = work_of(&t, 3, a);
	assert_int_equal(rs_work_sent(w, 0, RS_WHY_PIPELINE), 6 * each);
	assert_int_equal(rs_work_sent(w, 1, RS_WHY_PIPELINE), 2 * 6 * each);
	assert_int_equal(rs_work_sent(w, 2, RS_WHY_PIPELINE), 6 * each);
	t.step.schedule = RS_SCHEDULE_INTERLEAVED;
	t.step.chunks = 2; /* 5 borders between 6 chunks, both ways */
	w = work_of(&t, 3, a);
	assert_int_equal(rs_work_sent(w, 0, RS_WHY_PIPELINE) + rs_work_sent(w, 1, RS_WHY_PIPELINE) +
				 rs_work_sent(w, 2, RS_WHY_PIPELINE),
			 2 * 5 * 6 * each);
	t.tp = 2; /* with a scattered sequence each sends its part */
	t.step.sequence = true;
	w = work_of(&t, 6, a);
	assert_int_equal(rs_work_sent(w, 4, RS_WHY_PIPELINE) + rs_work_sent(w, 0, RS_WHY_PIPELINE) +
				 rs_work_sent(w, 2, RS_WHY_PIPELINE),
			 5 * 6 * each);
	rs_arena_destroy(a);
}

/* A ring passes keys and values on n - 1 times; backward their gradients, too. */
static void test_context_parallel_is_keys_and_values(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_conf t = plain(2);
	uint64_t kv = 2 * UINT64_C(512) / 4 * 64 * 2;
	struct rs_work *w;

	t.step.model.kv_heads = 4;
	t.step.cp = 4;
	w = work_of(&t, 4, a);
	assert_int_equal(rs_work_sent(w, 2, RS_WHY_CONTEXT), 2 * 3 * (kv + 2 * kv));
	t.step.context = RS_CONTEXT_ALL_GATHER;
	w = work_of(&t, 4, a);
	assert_int_equal(buffers(w, 2, RS_WHY_CONTEXT, RS_COLL_ALL_GATHER), 2 * 2 * 4 * kv);
	assert_int_equal(buffers(w, 2, RS_WHY_CONTEXT, RS_COLL_REDUCE_SCATTER), 2 * 4 * kv);
	/* gradients are of all that have the same parameters */
	assert_int_equal(buffers(w, 0, RS_WHY_DATA, RS_COLL_ALL_REDUCE),
			 2 * 2 * (256 * (2 * 256 + 2 * 64) + 8 * 256 * 256));
	rs_arena_destroy(a);
}

static struct rs_train_conf experts(void)
{
	struct rs_train_conf t = plain(3);

	t.step.model.experts = 16;
	t.step.model.top_k = 2;
	t.step.model.expert_ffn = 128;
	t.step.model.dense = 1;
	t.step.ep = 4;
	return t;
}

static void test_experts_exchange_their_tokens(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_conf t = experts();
	uint64_t each = UINT64_C(512) * 2 * 256;
	struct rs_work *w;

	t.step.dispatch = 1;
	w = work_of(&t, 8, a);
	/* two layers: dispatch at a byte, combine at two; backward two and two */
	assert_int_equal(buffers(w, 5, RS_WHY_EXPERT, RS_COLL_ALL_TO_ALL),
			 2 * each * (1 + 2 + 2 + 2));
	/* experts' gradients meet in groups of two, of a fourth of the experts */
	assert_int_equal(
		buffers(w, 5, RS_WHY_DATA, RS_COLL_ALL_REDUCE),
		2 * (3 * 4 * 256 * 256 + 8 * 256 * 256 + 2 * 256 * 16 + 2 * 4 * 2 * 256 * 128));
	rs_arena_destroy(a);
}

/* Each rank's tokens go somewhere, whatever the skew; the fullest expert has what was asked. */
static void test_skewed_experts_send_as_many_tokens(void **state)
{
	struct rs_train_conf t = experts();
	uint64_t each = UINT64_C(512) * 2 * 256 * 2, most = 0, sum = 0;
	rs_time even = dry(&t, 4);

	t.step.ep = 4;
	t.step.skew = 3;
	for (int skewed = 0; skewed < 2; skewed++) {
		struct rs_arena *a = rs_arena_create(0);
		struct rs_work *w;

		t.step.skew = skewed ? 3 : 1.0001;
		w = work_of(&t, 4, a);
		sum = most = 0;
		for (uint32_t r = 0; r < 4; r++) {
			uint64_t sent = rs_work_sent(w, r, RS_WHY_EXPERT);

			sum += sent;
			most = sent > most ? sent : most;
		}
		/* two layers, four exchanges; a share of each rank's own stays */
		assert_near((double)sum, 4.0 * 2 * 4 * (double)each * 3 / 4, 1e-4);
		rs_arena_destroy(a);
	}
	assert_true(dry(&t, 4) > even);
	assert_true((double)most > 1.01 * (double)sum / 4);
}

/* Scaled down by ten, all is a tenth. */
static void test_scale(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_train_conf t = experts(), small = t;
	struct rs_work *w, *s;

	small.step.scale = 8;
	w = work_of(&t, 8, a);
	s = work_of(&small, 8, a);
	assert_int_equal(buffers(w, 0, RS_WHY_EXPERT, RS_COLL_ALL_TO_ALL),
			 8 * buffers(s, 0, RS_WHY_EXPERT, RS_COLL_ALL_TO_ALL));
	assert_near((double)dry(&t, 8), 8 * (double)dry(&small, 8), 1e-6);
	rs_arena_destroy(a);
}

/* ---- Published models ---- */

static void test_models_have_their_sizes(void **state)
{
	static const struct {
		const char *name;
		uint32_t ranks;
		double parameters, active;
	} known[] = {
		{"gpt-22b", 8, 22e9, 22e9},         {"gpt-175b", 64, 175e9, 175e9},
		{"gpt-530b", 280, 530e9, 530e9},    {"gpt-1t", 512, 1008e9, 1008e9},
		{"bloom-176b", 384, 176e9, 176e9},  {"llama3-405b", 8192, 405e9, 405e9},
		{"llama3-70b", 8, 70.6e9, 70.6e9},  {"llama3-8b", 8, 8e9, 8e9},
		{"deepseek-v3", 2048, 671e9, 37e9}, {"mixtral-8x7b", 8, 46.7e9, 12.9e9},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct rs_train_conf t = plain(1);
		struct rs_step_plan p;
		struct rs_error e = {0};

		assert_string_equal(rs_model_names[i], known[i].name);
		rs_model_apply(rs_model_find(known[i].name), &t);
		if (rs_step_plan(&t, known[i].ranks, &p, &e))
			fail_msg("%s: %s", known[i].name, e.what);
		assert_near(p.parameters, known[i].parameters, 0.03);
		assert_near(p.active, known[i].active, 0.03);
	}
	assert_null(rs_model_names[sizeof(known) / sizeof(*known)]);
}

/* ---- What is refused ---- */

static void refuse(const struct rs_train_conf *t, uint32_t n, const char *says)
{
	struct rs_step_plan p;
	struct rs_error e = {0};

	assert_int_equal(rs_step_plan(t, n, &p, &e), -EINVAL);
	if (!strstr(e.what, says))
		fail_msg("'%s' does not say '%s'", e.what, says);
}

static void test_refuses_what_does_not_divide(void **state)
{
	struct rs_train_conf t = plain(4);

	t.tp = 3;
	refuse(&t, 8, "do not divide by tensor 3");
	t.tp = 32;
	refuse(&t, 32, "heads 16 does not divide by tp 32");
	t = plain(4);
	t.pp = 8;
	refuse(&t, 8, "4 layers for 8 stages");
	t = plain(4);
	t.dp = 3;
	refuse(&t, 8, "is 3 ranks, there are 8");
	t.dp = 0;
	t.step.ep = 2;
	refuse(&t, 8, "no experts");
	t = experts();
	t.step.ep = 16;
	refuse(&t, 8, "dp x cp 8 does not divide by ep 16");
	t = plain(8);
	t.pp = 4;
	t.step.ends = 1;
	refuse(&t, 4, "without a vocabulary");
	t.step.ends = 0;
	t.step.chunks = 2;
	refuse(&t, 4, "schedule: interleaved");
	t.step.model.vocab = 1000;
	t.step.schedule = RS_SCHEDULE_INTERLEAVED;
	t.step.microbatches = 6;
	refuse(&t, 4, "microbatches 6 does not divide by pp 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns_are_each_pass_once),
		cmocka_unit_test(test_bubble),
		cmocka_unit_test(test_ends_count_as_layers),
		cmocka_unit_test(test_data_parallel_is_the_gradients),
		cmocka_unit_test(test_tensor_parallel_is_the_activations),
		cmocka_unit_test(test_pipeline_is_the_activations_between_stages),
		cmocka_unit_test(test_context_parallel_is_keys_and_values),
		cmocka_unit_test(test_experts_exchange_their_tokens),
		cmocka_unit_test(test_skewed_experts_send_as_many_tokens),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_models_have_their_sizes),
		cmocka_unit_test(test_refuses_what_does_not_divide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
