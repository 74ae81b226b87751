/* The bus reserves links when a DMA is issued; its twin queues each TLP where it is. How far the
 * two are apart, bounded: docs/host.md quotes these figures (RS_VERBOSE=1 prints them). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include "base/random.h"
#include "unit/host/hosts.h"
#include "unit/host/twin.h"

enum { PIECE = RS_BUS_PIECE, DEPTH = 16, SEEDS = 40 };

static const struct rs_pcie gen5x16 = {5, 16, 256, 512};
static const int engines[] = {NIC0, NIC1, GPU0, GPU1, GPU2, GPU3, GPU4};

struct load {
	struct rs_random rnd;
	struct sample s;
	struct rs_bus *bus;
	struct twin *twin;
	int n;
	rs_time until;
};

static void load_open(struct load *l, uint64_t seed, const char *cpu)
{
	struct rs_error e = {0};

	*l = (struct load){.rnd = rs_random_stream(seed, 0, 1)};
	sample_host(&l->s, cpu, gen5x16);
	assert_int_equal(rs_bus_create(&l->s.host, NULL, &l->bus, &e), 0);
	l->twin = twin_create(l->bus, &l->s.host, &rs_host_defaults);
}

static void load_close(struct load *l)
{
	rs_bus_destroy(l->bus);
	twin_free(l->twin);
}

static void add_stream(struct load *l, int from, int to, bool read, int depth)
{
	struct twin_stream *s = &l->twin->stream[l->n++];

	*s = (struct twin_stream){.read = read, .depth = depth, .until = l->until};
	assert_int_equal(rs_bus_path(l->bus, from, to, false, &s->path), 0);
}

/* NICs read and write GPUs and host memory; GPUs write each other. */
static void add_random_stream(struct load *l, int depth)
{
	int from = engines[rs_random_below(&l->rnd, 7)], to;
	bool nic = from == NIC0 || from == NIC1;

	do
		to = rs_random_below(&l->rnd, nic ? 7 : 5) < 5
			     ? GPU0 + (int)rs_random_below(&l->rnd, 5)
			     : (int)rs_random_below(&l->rnd, 2);
	while (to == from);
	add_stream(l, from, to, nic && rs_random_below(&l->rnd, 2), depth);
}

/* ---- Saturated: each stream goes on for as long as it may ---- */

static void bus_closed(struct load *l, uint64_t bytes[TWIN_STREAMS])
{
	rs_time next[TWIN_STREAMS] = {0}, done[TWIN_STREAMS][DEPTH] = {{0}}, gone;
	uint64_t count[TWIN_STREAMS] = {0};

	for (;;) {
		const struct rs_path *p;
		rs_time now, end;
		int i = 0;

		for (int k = 1; k < l->n; k++)
			if (next[k] < next[i])
				i = k;
		now = next[i];
		if (now >= l->until)
			return;
		p = &l->twin->stream[i].path;
		if (l->twin->stream[i].read) {
			end = rs_bus_read(l->bus, p, PIECE, now, NULL);
			done[i][count[i]++ % DEPTH] = end;
			next[i] = rs_time_max(now, done[i][count[i] % DEPTH]);
		} else {
			end = rs_bus_write(l->bus, p, PIECE, now, &gone);
			next[i] = rs_bus_write_ready(l->bus, p, PIECE, gone);
		}
		bytes[i] += end < l->until ? PIECE : 0;
	}
}

static void twin_closed(struct load *l, uint64_t bytes[TWIN_STREAMS])
{
	for (int i = 0; i < l->n; i++)
		for (int k = 0; k < (l->twin->stream[i].read ? DEPTH : 1); k++)
			twin_issue(l->twin, i, PIECE, 0);
	twin_run(l->twin);
	for (int i = 0; i < l->twin->n_dma; i++)
		if (l->twin->dma[i].done < l->until)
			bytes[l->twin->dma[i].stream] += PIECE;
}

static double apart(double a, double b)
{
	return fabs(a - b) / b;
}

static bool verbose(void)
{
	return getenv("RS_VERBOSE") != NULL;
}

static void test_a_lone_stream_gets_what_the_twin_gives_it(void **state)
{
	double worst = 0;

	for (int from = NIC0; from <= NIC1; from++)
		for (int to = S0; to <= GPU4; to++)
			for (int read = 0; read < 2; read++) {
				uint64_t bus[TWIN_STREAMS] = {0}, twin[TWIN_STREAMS] = {0};
				struct load l;

				if (to > S1 && to < GPU0)
					continue;
				load_open(&l, 1, "spr");
				l.until = 200 * RS_US;
				add_stream(&l, from, to, read, DEPTH);
				bus_closed(&l, bus);
				twin_closed(&l, twin);
				worst = fmax(worst, apart((double)bus[0], (double)twin[0]));
				load_close(&l);
			}
	if (verbose())
		printf("a lone stream's rate: at most %.2f%% apart\n", 100 * worst);
	assert_true(worst < 0.002);
}

static void test_saturated_streams_share_as_in_the_twin(void **state)
{
	double worst_total = 0, worst = 0, sum = 0, sum_total = 0;
	int n = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint64_t bus[TWIN_STREAMS] = {0}, twin[TWIN_STREAMS] = {0}, a = 0, b = 0;
		struct load l;

		load_open(&l, seed, seed & 1 ? "spr" : "genoa");
		l.until = 100 * RS_US;
		for (int i = 0; i < 2 + (int)(seed % 5); i++)
			add_random_stream(&l, DEPTH);
		bus_closed(&l, bus);
		twin_closed(&l, twin);
		for (int i = 0; i < l.n; i++) {
			double x = apart((double)bus[i], (double)twin[i]);

			a += bus[i];
			b += twin[i];
			sum += x;
			worst = fmax(worst, x);
			n++;
		}
		sum_total += apart((double)a, (double)b);
		worst_total = fmax(worst_total, apart((double)a, (double)b));
		load_close(&l);
	}
	if (verbose())
		printf("saturated: all streams together %.1f%% apart on average, at most %.1f%%; "
		       "one "
		       "stream %.1f%% on average, at most %.1f%%\n",
		       100 * sum_total / SEEDS, 100 * worst_total, 100 * sum / n, 100 * worst);
	assert_true(sum_total / SEEDS < 0.02 && worst_total < 0.1);
	assert_true(sum / n < 0.1 && worst < 0.6);
}

/* ---- Below saturation: DMAs at random times ---- */

struct issue {
	rs_time when;
	int stream;
	uint32_t n;
};

static int by_when(const void *a, const void *b)
{
	const struct issue *x = a, *y = b;

	return x->when < y->when ? -1 : x->when > y->when;
}

static void test_latency_under_load_is_the_twins(void **state)
{
	static struct issue issues[8192];
	double worst_mean = 0, sum = 0;
	rs_time worst = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		double got = 0, want = 0;
		struct load l;
		int n = 0, streams = 2 + (int)(seed % 5);

		load_open(&l, seed, seed & 1 ? "spr" : "genoa");
		for (int i = 0; i < streams; i++)
			add_random_stream(&l, 0);
		for (int i = 0; i < l.n; i++) {
			/* all together at most the slowest of the paths, 22 GB/s on spr */
			rs_time at = 0, gap = 2 * PIECE * INT64_C(45) * l.n;

			while (at < 100 * RS_US && n < 8192) {
				at += rs_random_below(&l.rnd, (uint32_t)(2 * gap));
				issues[n++] =
					(struct issue){at, i, 1 + rs_random_below(&l.rnd, PIECE)};
			}
		}
		qsort(issues, (size_t)n, sizeof(*issues), by_when);
		for (int i = 0; i < n; i++)
			twin_issue(l.twin, issues[i].stream, issues[i].n, issues[i].when);
		twin_run(l.twin);
		for (int i = 0; i < n; i++) {
			const struct twin_stream *s = &l.twin->stream[issues[i].stream];
			rs_time now = issues[i].when, there = l.twin->dma[i].done - now;
			rs_time here =
				(s->read ? rs_bus_read(l.bus, &s->path, issues[i].n, now, NULL)
					 : rs_bus_write(l.bus, &s->path, issues[i].n, now, NULL)) -
				now;

			got += (double)here;
			want += (double)there;
			worst = rs_time_max(worst, here > there ? here - there : there - here);
		}
		sum += apart(got, want);
		worst_mean = fmax(worst_mean, apart(got, want));
		load_close(&l);
	}
	if (verbose())
		printf("half loaded: mean latency of a run %.2f%% apart on average, at most "
		       "%.2f%%; "
		       "one DMA at most %.0f ns\n",
		       100 * sum / SEEDS, 100 * worst_mean, (double)worst / RS_NS);
	assert_true(sum / SEEDS < 0.003 && worst_mean < 0.006);
	assert_true(worst < 400 * RS_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lone_stream_gets_what_the_twin_gives_it),
		cmocka_unit_test(test_saturated_streams_share_as_in_the_twin),
		cmocka_unit_test(test_latency_under_load_is_the_twins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
