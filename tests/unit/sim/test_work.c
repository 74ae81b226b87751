/* Graphs of work through the whole simulator: bytes against closed forms, one result whatever the
 * threads, what is written reads as the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "describe/describe.h"
#include "sim/sim.h"

/* Two GPUs and NICs a host, NVLink between the two. */
#define FABRIC                                                                                   \
	"fabric: {hosts: [{name: h, count: 4, cpu: genoa, sockets: 1, "                          \
	"nvlink: {rate: 3600G}, switches: [{name: sw0, on: socket0, pcie: gen5x16}], "           \
	"gpus: [{name: gpu0, on: sw0, pcie: gen5x16}, {name: gpu1, on: sw0, pcie: gen5x16}], "   \
	"nics: [{name: nic0, on: sw0, pcie: gen5x16}, {name: nic1, on: sw0, pcie: gen5x16}]}], " \
	"network: {kind: single-switch, rate: 400G}}\n"
#define MODEL "layers: 4, hidden: 256, heads: 8, ffn: 1024, sequence: 256, vocab: 512, "

struct run {
	struct rs_fabric *f;
	struct rs_sim_result *r;
};

static struct run run_text(const char *text, unsigned threads)
{
	struct rs_sim_options o = {.seed = 1, .threads = threads};
	struct rs_error e = {0};
	struct run x;

	if (rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, &x.f, &e) ||
	    rs_sim_run(x.f, &o, &x.r, &e))
		fail_msg("%s:%d: %s", e.file, e.line, e.what);
	assert_true(x.r->complete);
	return x;
}

static struct run run_train(const char *keys, unsigned threads)
{
	char text[2048];

	snprintf(text, sizeof(text), FABRIC "workload: [{train: {" MODEL "%s}}]\n", keys);
	return run_text(text, threads);
}

static void done(struct run x)
{
	rs_sim_result_free(x.r);
	rs_fabric_free(x.f);
}

static const char *const steps[] = {
	"microbatches: 2",
	"microbatches: 4, tp: 2, pp: 2, sequence_parallel: true, zero: 1",
	"microbatches: 4, pp: 2, chunks: 2, schedule: interleaved, zero: 3",
	"microbatches: 1, cp: 4, kv_heads: 4, recompute: true, overlap: 0, zero: 2",
	"microbatches: 2, experts: 8, top_k: 2, expert_ffn: 128, ep: 4, skew: 2, dispatch: 1",
	"microbatches: 2, experts: 8, top_k: 2, expert_ffn: 128, dense_layers: 1, ep: 4, cp: 2, "
	"context: all-gather, tp: 2, pp: 1, dp: 2",
};

/* All ranks' all-reduces send 2 (n - 1) / n of the gradients each. */
static void test_gradients_are_sent_once_round_the_ring(void **state)
{
	struct run x = run_train("microbatches: 2", 1);
	const uint64_t gradients = 2 * (4 * 12 * 256 * 256 + 2 * 512 * 256);

	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_DATA], 8 * 2 * 7 * gradients / 8);
	assert_true(x.r->jobs[0].work.outside[RS_WHY_DATA] < x.r->jobs[0].work.bytes[RS_WHY_DATA]);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_TENSOR], 0);
	done(x);
}

static void test_each_step_ends_and_its_times_add_up(void **state)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct run x = run_train(steps[i], 1);
		const struct rs_program_result *w = &x.r->jobs[0].work;
		rs_time sum = w->compute;

		for (int k = 0; k < RS_WHYS; k++)
			sum += w->exposed[k];
		assert_int_equal(w->ranks, 8);
		assert_in_range(w->step - sum, 0, 2 * RS_WHYS * 8);
		assert_true(w->step > w->dry && w->dry >= w->compute);
		assert_int_equal(x.r->jobs[0].train.step, w->step);
		done(x);
	}
}

static void test_threads_change_nothing(void **state)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct run one = run_train(steps[i], 1);

		for (unsigned n = 2; n < 4; n++) {
			struct run more = run_train(steps[i], n);

			assert_memory_equal(&one.r->jobs[0].work, &more.r->jobs[0].work,
					    sizeof(one.r->jobs[0].work));
			assert_memory_equal(one.r->jobs[0].program->ended,
					    more.r->jobs[0].program->ended,
					    one.r->jobs[0].program->n_nodes * sizeof(rs_time));
			done(more);
		}
		done(one);
	}
}

static void test_what_is_written_reads_as_the_same(void **state)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct run one = run_train(steps[i], 1), again;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(rs_fabric_write(one.f, out), 0);
		fclose(out);
		again = run_text(text, 1);
		assert_memory_equal(&one.r->jobs[0].work, &again.r->jobs[0].work,
				    sizeof(one.r->jobs[0].work));
		done(again);
		done(one);
		free(text);
	}
}

/* A step that is run smaller: bytes as of the whole, and about its time. */
static void test_scale_multiplies_back(void **state)
{
	struct run whole = run_train("microbatches: 2, tp: 2, flops: 1e12", 1);
	struct run part = run_train("microbatches: 2, tp: 2, flops: 1e12, scale: 4", 1);
	const struct rs_program_result *a = &whole.r->jobs[0].work, *b = &part.r->jobs[0].work;

	assert_int_equal(a->bytes[RS_WHY_TENSOR], b->bytes[RS_WHY_TENSOR]);
	assert_in_range(b->step, a->step * 95 / 100, a->step * 120 / 100);
	done(whole);
	done(part);
}

/* Latencies are divided with the bytes, so that they keep their weight. Ring steps of 2 us links:
 * 32 times smaller, the step was 3.5 times as long before they were. */
static void test_scale_divides_latencies(void **state)
{
	static const char *const scales[] = {"1", "8", "32"};
	rs_time step[3];

	for (unsigned i = 0; i < 3; i++) {
		char text[512];
		struct run x;

		snprintf(text, sizeof(text),
			 "fabric: {network: {kind: single-switch, hosts: 8, rate: 200G, delay: "
			 "2us}}\nworkload: [{train: {layers: 2, hidden: 1024, heads: 8, ffn: 4096, "
			 "sequence: 4096, microbatches: 1, tp: 8, flops: 100e12, scale: %s, "
			 "collective: {algorithm: ring, channels: 1}}}]\n",
			 scales[i]);
		x = run_text(text, 1);
		step[i] = x.r->jobs[0].work.step;
		done(x);
	}
	assert_in_range(step[1], step[0] * 99 / 100, step[0] * 101 / 100);
	assert_in_range(step[2], step[0] * 97 / 100, step[0] * 103 / 100);
}

static void refuse(const char *train, const char *says)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_error e = {0};
	struct rs_sim_result *r = NULL;
	struct rs_fabric *f = NULL;
	char text[2048];

	snprintf(text, sizeof(text), FABRIC "workload: [{train: {%s}}]\n", train);
	if (!rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, &f, &e) &&
	    !rs_sim_run(f, &o, &r, &e))
		fail_msg("'%s' was taken", train);
	if (!strstr(e.what, says))
		fail_msg("'%s' does not say '%s'", e.what, says);
	assert_int_equal(e.line, 2);
	rs_fabric_free(f);
}

static void test_refuses(void **state)
{
	refuse("layers: 4, hidden: 64, heads: 4, ffn: 64, sequence: 64", "microbatches");
	refuse("layers: 4, hidden: 64, heads: 4, ffn: 64, microbatches: 1", "sequence");
	refuse("model: gpt-4, microbatches: 1", "gpt-22b");
	refuse("parameters: 1e9, tokens: 1e6, zero: 1", "zero goes with model or layers");
	refuse("model: llama3-8b, parameters: 1e9", "parameters follow");
	refuse("model: llama3-8b, peak: 1e15", "efficiency");
	refuse("model: llama3-8b, peak: 1e15, efficiency: 0.5, flops: 1e12", "flops");
	refuse("model: llama3-8b, tp: 3", "do not divide");
	refuse("model: llama3-8b, simulate: 1MiB", "scale");
}

/* All GPUs at half their speed are GPUs of half the FLOP/s; one alone holds all. */
static void test_a_slow_gpu_holds_the_step(void **state)
{
	static const char *const forms[] = {"{train: {" MODEL "microbatches: 2, pp: 2, flops: %s}}",
					    "{train: {parameters: 1e8, tokens: 65536, flops: %s}}"};
	static const char *const net = "fabric: {network: {kind: single-switch, hosts: 4}%s}\n"
				       "workload: [%s]\n";

	for (unsigned i = 0; i < 2; i++) {
		static const char *const change[] = {
			"",
			", change: [{gpu: h0, speed: 50%}, {gpu: h1, speed: 50%}, {gpu: h2, speed: "
			"50%}, {gpu: h3, speed: 50%}]",
			", change: [{gpu: h2, speed: 50%}]", ""};
		rs_time step[4];

		for (unsigned k = 0; k < 4; k++) {
			char job[1024], text[2048];
			struct run x;

			snprintf(job, sizeof(job), forms[i], k ? "1e12" : "0.5e12");
			snprintf(text, sizeof(text), net, change[k], job);
			x = run_text(text, 1);
			step[k] = x.r->jobs[0].train.step;
			done(x);
		}
		assert_in_range(step[1], step[0] - RS_US, step[0] + RS_US);
		assert_true(step[2] > step[3] + step[3] / 10 && step[2] <= step[0] + RS_US);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients_are_sent_once_round_the_ring),
		cmocka_unit_test(test_each_step_ends_and_its_times_add_up),
		cmocka_unit_test(test_threads_change_nothing),
		cmocka_unit_test(test_what_is_written_reads_as_the_same),
		cmocka_unit_test(test_scale_multiplies_back),
		cmocka_unit_test(test_scale_divides_latencies),
		cmocka_unit_test(test_a_slow_gpu_holds_the_step),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
