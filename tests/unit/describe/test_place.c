/* Where jobs' ranks are: GPUs that no other job has, or lists; what does not fit is refused. */
#include <stdlib.h>
#include "base/random.h"
#include "describe/describe.h"
#include "unit/describe/text.h"

#define NET "fabric: {network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 8, spines: 4}}\n"
/* 4 hosts of 4 GPUs and 2 NICs */
#define INSIDE                                                                                 \
	"fabric:\n  hosts: [{name: n-, count: 4, sockets: 1, gpus: [{name: g0, on: socket0}, " \
	"{name: g1, on: socket0}, {name: g2, on: socket0}, {name: g3, on: socket0}], nics: "   \
	"[{name: nic0, on: socket0}, {name: nic1, on: socket0}]}]\n"                           \
	"  network: {kind: single-switch}\n"

static void is_on(const struct rs_fabric *f, uint32_t job, const char *expected)
{
	const struct rs_collective_conf *c = rs_job_collective(&f->jobs[job]);
	uint32_t n = c->n_ranks ? c->n_ranks : f->n_gpus;
	char got[400] = "";

	for (uint32_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", i ? " " : "",
			 rs_collective_gpu(c, i));
	assert_string_equal(got, expected);
}

static void one(const char *fabric, const char *job, const char *expected)
{
	char text[2000], *once = NULL, *twice = NULL;
	size_t n;
	struct rs_fabric *f, *g;
	FILE *out;

	snprintf(text, sizeof(text), "%sworkload: [%s]\n", fabric, job);
	f = load(text);
	is_on(f, 0, expected);
	out = open_memstream(&once, &n);
	rs_fabric_write(f, out);
	fclose(out);
	g = load(once);
	is_on(g, 0, expected);
	out = open_memstream(&twice, &n);
	rs_fabric_write(g, out);
	fclose(out);
	assert_string_equal(once, twice);
	rs_fabric_free(f);
	rs_fabric_free(g);
	free(once);
	free(twice);
}

static void test_ranks_are_a_count_or_a_list(void **state)
{
	one(NET, "{collective: {ranks: 3}}", "0 1 2");
	one(NET, "{collective: {ranks: [5, 2, 9]}}", "5 2 9");
	one(NET, "{collective: {ranks: [0-2, 8..9]}}", "0 1 2 8 9");
	one(NET, "{collective: {ranks: 4-7}}", "4 5 6 7");
	one(NET, "{collective: {ranks: [h3, h1]}}", "3 1");
	one(NET, "{collective: {ranks: [h8..h11]}}", "8 9 10 11");
	one(NET, "{collective: {ranks: h8-h10}}", "8 9 10");
	one(NET, "{collective: {ranks: 'h[8-10]'}}", "8 9 10");
	one(NET, "{place: [h8..h11], collective: {ranks: 3}}", "8 9 10");
	one(NET, "{collective: {place: h2..h3}}", "2 3");
	one(NET, "{collective: {ranks: all}}", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
	one(NET, "{train: {parameters: 1e9, tokens: 1e6, collective: {ranks: [2-5]}}}", "2 3 4 5");
	one(INSIDE, "{collective: {ranks: [n-1]}}", "4 5 6 7");
	one(INSIDE, "{collective: {ranks: [n-2/g1, n-0/g3]}}", "9 3");
	one(INSIDE, "{collective: {ranks: n-2-n-3}}", "8 9 10 11 12 13 14 15");
	one("fabric: {network: {kind: single-switch, hosts: 4, nics: 2}}\n",
	    "{collective: {ranks: [h1, h3/nic1]}}", "2 3 7");
}

static void test_places_without_a_list(void **state)
{
	one(NET, "{place: packed, collective: {ranks: 4}}", "0 1 2 3");
	one(NET, "{place: spread, collective: {ranks: 4}}", "0 4 8 12");
	one(NET, "{place: spread, collective: {ranks: 3}}", "0 6 11");
	one(INSIDE, "{place: spread, collective: {ranks: 4}}", "0 4 8 12");
	one(INSIDE, "{place: rails, collective: {ranks: 9}}", "0 2 4 6 8 10 12 14 1");
	one(NET, "{place: rails, collective: {ranks: 3}}", "0 1 2");
	one(INSIDE, "{place: spread, collective: {ranks: 6}}", "0 1 4 8 9 12");
	one(INSIDE, "{place: spread, collective: {ranks: 8}}", "0 1 4 5 8 9 12 13");
}

static void test_jobs_have_gpus_of_their_own(void **state)
{
	struct rs_fabric *f = load(NET "workload: [{name: A, collective: {ranks: 8}},\n"
				       " {name: B, collective: {ranks: 8}}]\n");

	is_on(f, 0, "0 1 2 3 4 5 6 7");
	is_on(f, 1, "8 9 10 11 12 13 14 15");
	rs_fabric_free(f);
	/* lists first, wherever they stand */
	f = load(NET "workload: [{collective: {ranks: 3}}, {collective: {ranks: [1, 2]}},\n"
		     " {collective: {ranks: 2, share: true}}, {collective: {ranks: 2}}]\n");
	is_on(f, 0, "0 3 4");
	is_on(f, 1, "1 2");
	is_on(f, 2, "0 1");
	is_on(f, 3, "5 6");
	rs_fabric_free(f);
	f = load(NET "workload: [{collective: {}}, {share: true, collective: {}}]\n");
	assert_null(f->jobs[1].collective.gpu);
	rs_fabric_free(f);
	/* too few for each to have its own: they share */
	f = load(NET "workload: [{collective: {}}, {collective: {ranks: 8}}]\n");
	assert_null(f->jobs[0].collective.gpu);
	is_on(f, 1, "0 1 2 3 4 5 6 7");
	rs_fabric_free(f);
	f = load(NET "workload: [{collective: {ranks: 9}}, {collective: {ranks: 8}}]\n");
	is_on(f, 1, "0 1 2 3 4 5 6 7");
	rs_fabric_free(f);
}

static void test_what_does_not_fit_is_refused(void **state)
{
	refused(NET "workload: [{name: A, collective: {ranks: 9}},\n {name: B, share: false, "
		    "collective: {ranks: 8}}]",
		"job 'B' wants 8 GPUs, 7 of 16 are free");
	refused(NET "workload: [{name: A, collective: {}}, {name: B, share: no, collective: {}}]",
		"job 'B' wants 16 GPUs, 0 of 16 are free");
	refused(NET "workload: [{collective: {ranks: 17}}]", "from 2 to 16");
	refused(NET "workload: [{collective: {ranks: 1}}]", "from 2 to 16");
	refused(NET "workload: [{collective: {ranks: [3]}}]", "needs 2 GPUs or more, found 1");
	refused(NET "workload: [{collective: {ranks: [1, 0-2]}}]", "GPU 1 (h1) is listed twice");
	refused(NET "workload: [{collective: {ranks: [h0..h99]}}]", "'h0..h99' is neither a GPU");
	refused(NET "workload: [{collective: {ranks: [h7..h2]}}]", "runs backwards");
	refused(NET "workload: [{collective: {ranks: [hh3, h2]}}]", "did you mean 'h3'?");
	refused(NET "workload: [{collective: {ranks: {a: b}}}]", "ranks: expected a plain value");
	refused(NET "workload: [{place: [h0, h1], collective: {ranks: [1, 2]}}]", "given twice");
	refused(NET "workload: [{collective: {ranks: 4, place: [h0, h1]}}]",
		"the list has 2 GPUs; expected 2");
	refused(NET "workload: [{collective: {ranks: 4, place: pakced}}]",
		"did you mean 'packed'?");
	refused(NET "workload: [{place: packed, flows: [{src: 0, dst: 1, bytes: 1B}]}]",
		"place and share go with collectives");
}

/* The same of the same seed, another of another; whole hosts, nobody else's GPUs, each order as
 * likely. */
static void test_random_places_come_from_the_seed(void **state)
{
	struct rs_fabric *f = load(INSIDE "workload: [{collective: {ranks: [n-1]}},\n"
					  " {place: random, collective: {ranks: 8}}]\n");
	uint32_t first[16] = {0};

	assert_true(f->places_drawn);
	for (uint64_t seed = 0; seed < 3000; seed++) {
		const uint32_t *a[2], *b[2];
		struct rs_error e = {0};

		assert_int_equal(rs_fabric_place(f, seed, f->arena, a, &e), 0);
		assert_int_equal(rs_fabric_place(f, seed, f->arena, b, &e), 0);
		assert_true(!a[1] == !b[1]);
		first[a[1] ? a[1][0] : 0]++;
		for (uint32_t i = 0; i < 8; i++) {
			uint32_t gpu = a[1] ? a[1][i] : i;

			assert_int_equal(gpu, b[1] ? b[1][i] : i);
			assert_true(gpu / 4 != 1);
			assert_int_equal(gpu % 4, i % 4);
		}
	}
	assert_in_range(first[0], 850, 1150);
	assert_in_range(first[8], 850, 1150);
	assert_in_range(first[12], 850, 1150);
	rs_fabric_free(f);
}

/* Random jobs: whatever is had, no two that do not share or list have a GPU in common. */
static void test_random_jobs_never_meet(void **state)
{
	uint32_t had = 0;

	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct rs_random r = rs_random_stream(seed, 7, 0);
		uint32_t jobs = 1 + rs_random_below(&r, 5), owner[32] = {0};
		char text[2000] = INSIDE "workload:\n";
		struct rs_error e = {0};
		struct rs_fabric *f;

		for (uint32_t i = 0; i < jobs; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 "  - {place: %s, share: false, collective: {ranks: %u}}\n",
				 (const char *[]){"packed", "random", "spread",
						  "rails"}[rs_random_below(&r, 4)],
				 2 + rs_random_below(&r, 5));
		if (rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &f, &e)) {
			assert_non_null(strstr(e.what, " are free"));
			continue;
		}
		had++;
		for (uint32_t i = 0; i < jobs; i++)
			for (uint32_t k = 0; k < f->jobs[i].collective.n_ranks; k++) {
				uint32_t gpu = rs_collective_gpu(&f->jobs[i].collective, k);

				assert_true(gpu < f->n_gpus && !owner[gpu]);
				owner[gpu] = i + 1;
			}
		rs_fabric_free(f);
	}
	assert_in_range(had, 200, 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks_are_a_count_or_a_list),
		cmocka_unit_test(test_places_without_a_list),
		cmocka_unit_test(test_jobs_have_gpus_of_their_own),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
		cmocka_unit_test(test_random_places_come_from_the_seed),
		cmocka_unit_test(test_random_jobs_never_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
