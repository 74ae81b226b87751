/*
 * What a NIC may have outstanding, through the whole simulator, against Little's law: a stream out
 * of host memory gets the least of the wire, the slot, and bytes outstanding / latency of a read.
 * Points are drawn at random.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "sim/sim.h"

struct point {
	uint32_t buffer, tags, mrrs, mtu, gen;
	int64_t latency_ns, wire;
};

static const uint32_t buffers[] = {8192, 12000, 16384, 20000, 32768, 40000, 65536, 100000, 131072};
static const uint32_t tags[] = {20, 32, 64, 256, 1000};

static struct point draw(struct rs_random *r)
{
	static const int64_t wires[] = {50, 100, 200, 400, 800};

	return (struct point){
		.buffer = buffers[rs_random_below(r, 9)],
		.tags = tags[rs_random_below(r, 5)],
		.mrrs = 256u << rs_random_below(r, 3),
		.mtu = rs_random_below(r, 2) ? 4096 : 1024,
		.gen = 4 + (uint32_t)rs_random_below(r, 3),
		.latency_ns = 400 + (int64_t)rs_random_below(r, 2100),
		.wire = wires[rs_random_below(r, 5)],
	};
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* Gb/s. A read's latency: the request and the first request's completions on the slot, 25 ns each
 * way, and the memory. */
static double bound(const struct point *p)
{
	const struct rs_pcie slot = {(uint8_t)p->gen, 16, 256, 0};
	const double raw = (double)rs_pcie_rate(&slot) / 1e9 * (p->gen == 6 ? 1 : 0.97);
	const double request = p->gen == 6 ? 16 : 24, completion = p->gen == 6 ? 16 : 20;
	const double first = least(p->mtu, p->mrrs);
	const double rtt =
		(double)p->latency_ns + 50 + (request + first + first / 256 * completion) * 8 / raw;
	const double outstanding = least(p->tags, (int)(p->buffer / first)) * first;

	return least(least(outstanding * 8 / rtt, raw * 256 / (256 + request)),
		     (double)p->wire * p->mtu / (p->mtu + 82));
}

static double measure(const struct point *p)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_sim_result *r;
	struct rs_fabric *f;
	struct rs_error e = {0};
	char text[1024];
	double rate;

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [{name: h, count: 2, cpu: genoa, sockets: 1, "
		 "nics: [{name: nic0, on: socket0, "
		 "pcie: {gen: %u, lanes: 16, mps: 256B, mrrs: %uB}}]}], "
		 "network: {kind: single-switch, rate: %lldG, delay: 200ns, mtu: %u}, "
		 "cc: {kind: none}, host_model: {read_buffer: %u, tags: %u, dram_read: %lldns, "
		 "posted_data_credits: 20000, posted_header_credits: 20000}}\n"
		 "workload: [{flows: [{src: h0, dst: h1, bytes: 8MB}]}]\n",
		 p->gen, p->mrrs, (long long)p->wire, p->mtu, p->buffer, p->tags,
		 (long long)p->latency_ns);
	if (rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, &f, &e) ||
	    rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	rate = 8e6 * 8 / ((double)r->flows[0].delivered / 1000);
	rs_sim_result_free(r);
	rs_fabric_free(f);
	return rate;
}

/* Whole requests. At most 3 % of what may be outstanding is left unused where it is no multiple of
 * a piece; 8 MB take 1 to 2 % more for their first bytes. */
static void test_reads_outstanding_obey_littles_law(void **state)
{
	struct rs_random r = rs_random_stream(8, 0, 0);
	unsigned by_reads = 0;

	for (int i = 0; i < 40; i++) {
		struct point p = draw(&r);
		double want = bound(&p), got = measure(&p);

		by_reads += want * 1.02 < (double)p.wire * p.mtu / (p.mtu + 82);
		if (got < want * 0.95 || got > want * 1.005)
			fail_msg("read_buffer %u, %u tags of %u, %lld ns, Gen%u, %lldG, MTU %u: "
				 "%.1f Gb/s, want %.1f",
				 p.buffer, p.tags, p.mrrs, (long long)p.latency_ns, p.gen,
				 (long long)p.wire, p.mtu, got, want);
	}
	assert_in_range(by_reads, 15, 40); /* the points are worth the name */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_outstanding_obey_littles_law),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
