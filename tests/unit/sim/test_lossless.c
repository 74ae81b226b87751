/* PFC between a switch and NICs whose PCIe is slower than their link: headroom of 802.1Q's formula
 * loses nothing, whatever rates, delays, buffers and classes; half of it does, where the worst case
 * comes about. A PAUSE is obeyed as late as 802.3 allows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "port/pfc.h"
#include "unit/sim/load.h"

struct result {
	struct rs_fabric *f;
	struct rs_sim_result *r;
	uint64_t lossless_drops, nic_pauses;
};

static struct result run(const struct text *t, bool cut_short)
{
	struct rs_sim_options o = {.seed = 1};
	struct result x = {0};
	struct rs_error e = {0};

	if (rs_fabric_load_text(t->s, t->n, "test", ".", NULL, 0, &x.f, &e) ||
	    rs_sim_run(x.f, &o, &x.r, &e))
		fail_msg("%s\n%s", e.what, t->s);
	if (!cut_short && !x.r->complete)
		fail_msg("not complete:\n%s", t->s);
	for (uint32_t i = 0; i < x.r->n_drops; i++)
		if (x.f->qos.tc[x.f->qos.tc_of_dscp[x.r->drops[i].dscp]].lossless)
			x.lossless_drops += x.r->drops[i].packets;
	x.nic_pauses = x.r->counters.nic_pauses;
	return x;
}

static void done(struct result *x)
{
	rs_sim_result_free(x->r);
	rs_fabric_free(x->f);
}

/* ---- Anything ---- */

static const int64_t gbps[] = {10, 25, 40, 50, 100, 200, 400, 800, 1600};
static const struct {
	unsigned gen, lanes;
} slot[] = {{3, 1}, {3, 4}, {3, 8}, {4, 4}, {4, 8}, {4, 16}, {5, 4}, {5, 16}};

static rs_time random_delay(struct rs_random *r)
{
	static const rs_time most[] = {100 * RS_NS, RS_US, 10 * RS_US, 50 * RS_US};

	return 10 * RS_NS +
	       (rs_time)rs_random_below(r, (uint32_t)(most[rs_random_below(r, 4)] / RS_NS)) * RS_NS;
}

struct draw {
	int64_t rate;
	rs_time delay;
	unsigned mtu, senders, classes, lossy, nic_buffers;
	uint64_t headroom;
};

static struct draw random_draw(struct rs_random *r)
{
	struct draw d = {.rate = gbps[rs_random_below(r, 9)] * RS_GBPS,
			 .delay = random_delay(r),
			 .mtu = 256u << rs_random_below(r, 5),
			 .senders = 1 + rs_random_below(r, 4),
			 .classes = 1 + rs_random_below(r, 3),
			 .lossy = rs_random_below(r, 2),
			 .nic_buffers = rs_random_below(r, 3)};

	d.headroom = rs_pfc_headroom(d.rate, d.delay + 250 * RS_NS, 4240,
				     rs_pfc_response_quanta(d.rate)) +
		     4240;
	return d;
}

/* Lossless classes 3, 4, 5; a lossy one beside them; a switch that pauses too, or not. */
static void scenario(struct rs_random *r, const struct draw *d, struct text *t)
{
	unsigned s = rs_random_below(r, 8);
	uint64_t nic_buffer = d->classes * d->headroom + 2 * 4240 + rs_random_below(r, 300000);
	/* 254-byte cells take three times the bytes of small frames, 144-byte ones 1.8 times */
	uint64_t buffer = (d->senders + 1) * d->classes * d->headroom * 2 + 200000 +
			  rs_random_below(r, 1000000);

	t->n = 0;
	add(t, "fabric:\n  hosts: [{name: h, count: %u, cpu: genoa, sockets: 1, ", d->senders + 1);
	add(t, "nics: [{name: nic0, on: socket0, pcie: gen5x16}]}]\n");
	add(t, "  change: [{host: h0, link: {nic0: {gen: %u, lanes: %u}}}]\n", slot[s].gen,
	    slot[s].lanes);
	add(t, "  network: {kind: single-switch, rate: %dG, delay: %dns, mtu: %u}\n",
	    (int)(d->rate / RS_GBPS), (int)(d->delay / RS_NS), d->mtu);
	add(t, "  cc: {kind: %s}\n",
	    (const char *[]){"none", "none", "dcqcn", "hpcc"}[rs_random_below(r, 4)]);
	add(t, "  transport: {ipv6: %s}\n", rs_random_below(r, 2) ? "true" : "false");
	add(t, "  qos:\n    buffer: %lluB\n",
	    rs_random_below(r, 3) ? (unsigned long long)buffer : 0);
	if (d->nic_buffers)
		add(t, "    nic_buffer: %lluB\n", (unsigned long long)nic_buffer);
	add(t, "    classes:\n");
	for (unsigned c = 0; c < d->classes; c++)
		add(t, "      - {class: %u, lossless: true, weight: %u}\n", 3 + c,
		    rs_random_below(r, 5));
	add(t, "workload:\n  - flows:\n");
	for (unsigned i = 0; i < d->senders; i++)
		for (unsigned c = 0; c < d->classes; c++)
			add(t,
			    "      - {src: h%u, dst: h0, bytes: %lluB, class: %u, start: %uns}\n",
			    i + 1,
			    (unsigned long long)(nic_buffer / d->classes / d->senders * 2 + 500000),
			    3 + c, rs_random_below(r, 20000));
	if (d->lossy)
		add(t, "      - {src: h1, dst: h0, bytes: 200kB, class: 1}\n");
}

static void test_a_lossless_fabric_loses_nothing_at_nics(void **state)
{
	struct rs_random r = rs_random_stream(7, 0, 0);
	unsigned paused = 0;
	struct text t;

	for (unsigned trial = 0; trial < 60; trial++) {
		struct draw d = random_draw(&r);
		struct result x;

		scenario(&r, &d, &t);
		x = run(&t, false);
		if (x.lossless_drops)
			fail_msg("%llu lost of lossless classes:\n%s",
				 (unsigned long long)x.lossless_drops, t.s);
		paused += x.nic_pauses > 0;
		done(&x);
	}
	assert_true(paused > 20);
}

/* Two tiers of two leaves and two spines, cells, pipelines, cut-through, routing; the pool beside
 * all headroom is some frames a port, so that switches and NICs pause one another all the time,
 * with the shortest PAUSE that is allowed or the longest. */
static void random_fabric(struct rs_random *r, struct text *t)
{
	static const unsigned cells[] = {1, 80, 144, 192, 254};
	static const char *const routings[] = {"ecmp", "flowlet", "ecmp"};
	int64_t rate = gbps[rs_random_below(r, 9)], up = gbps[rs_random_below(r, 9)];
	rs_time delay = random_delay(r), latency = rs_random_below(r, 1000) * RS_NS;
	unsigned cell = cells[rs_random_below(r, 5)], classes = 1 + rs_random_below(r, 2);
	bool inside = rs_random_below(r, 2);
	int64_t fast = (rate > up ? rate : up) * RS_GBPS;
	uint64_t h = rs_pfc_headroom(fast, delay + latency, 4240, rs_pfc_response_quanta(fast));
	unsigned quanta = rs_pfc_least_quanta(rs_pfc_response_quanta(fast), 4240);
	uint64_t buffer =
		6 * classes * rs_pfc_headroom_cells(h, cell) + 200000 + rs_random_below(r, 400000);

	t->n = 0;
	add(t, "fabric:\n  ");
	if (inside)
		add(t, "hosts: [{name: h, count: 8, cpu: genoa, sockets: 1, "
		       "nics: [{name: nic0, on: socket0, pcie: gen5x16}]}]\n  "
		       "change: [{host: h0, link: {nic0: {gen: 3, lanes: 4}}}]\n  ");
	add(t,
	    "network: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, links: 1, rate: "
	    "%dG, "
	    "uplink_rate: %dG, delay: %dns, mtu: %u}\n",
	    (int)rate, (int)up, (int)(delay / RS_NS), 256u << rs_random_below(r, 5));
	add(t, "  cc: {kind: none}\n  qos:\n    buffer: %lluB\n    cell: %uB\n",
	    (unsigned long long)buffer, cell);
	add(t, "    switch_latency: %dns\n    cut_through: %s\n    routing: %s\n",
	    (int)(latency / RS_NS), rs_random_below(r, 2) ? "true" : "false",
	    routings[rs_random_below(r, 3)]);
	add(t, "    pause_quanta: %u\n", rs_random_below(r, 2) ? quanta : 65535);
	add(t,
	    "    classes: [{class: 3, alpha_shift: %d, weight: %u}, {class: 4, lossless: %s, "
	    "alpha_shift: %d}]\n",
	    -(int)rs_random_below(r, 4), rs_random_below(r, 4), classes > 1 ? "true" : "false",
	    -(int)rs_random_below(r, 4));
	add(t, "workload:\n  - flows:\n");
	for (unsigned i = 1; i < 8; i++)
		add(t, "      - {src: h%u, dst: h%u, bytes: %ukB, class: %u, start: %uns}\n", i,
		    rs_random_below(r, 3) ? 0 : (i + 4) % 8, 300 + rs_random_below(r, 700),
		    3 + rs_random_below(r, classes), rs_random_below(r, 10000));
}

static void test_random_fabrics_lose_nothing(void **state)
{
	struct rs_random r = rs_random_stream(8, 0, 0);
	unsigned paused = 0;
	struct text t;

	for (unsigned trial = 0; trial < 60; trial++) {
		struct result x;

		random_fabric(&r, &t);
		x = run(&t, false);
		if (x.lossless_drops)
			fail_msg("%llu lost of lossless classes:\n%s",
				 (unsigned long long)x.lossless_drops, t.s);
		paused += x.r->counters.pauses > 0;
		done(&x);
	}
	assert_true(paused > 20);
}

/* ---- The worst case ---- */

/*
 * It comes about where frames arrive without a gap from XOFF on and hardly any leave meanwhile: at
 * a NIC that PCIe drains at a quarter of the rate or less, at a switch that eight ports overrun. Of
 * the formula the wait behind a frame of one's own is missing, as ACKs alone go back: it counts
 * only where headroom is some frames long (test_pfc.c has it too). Cells of 1 byte: the frames here
 * are long, and of the headroom for the worst ones in cells half would be enough.
 */
static uint64_t headroom(int64_t rate, rs_time delay)
{
	return rs_pfc_headroom(rate, delay + 250 * RS_NS, 4200, rs_pfc_response_quanta(rate));
}

static struct result pressed(int64_t rate, rs_time delay, double scale, bool at_nic)
{
	uint64_t h = headroom(rate, delay);
	struct text t = {.n = 0};

	add(&t, "fabric:\n  ");
	if (at_nic) {
		add(&t, "hosts: [{name: h, count: 2, cpu: genoa, sockets: 1, ");
		add(&t, "nics: [{name: nic0, on: socket0, pcie: gen5x16}]}]\n");
		add(&t, "  change: [{host: h0, link: {nic0: {gen: %u, lanes: %u}}}]\n  ",
		    rate >= 100 * RS_GBPS ? 3 : 1, rate >= 100 * RS_GBPS ? 4 : 1);
	}
	add(&t, "network: {kind: single-switch, %srate: %dG, delay: %dns}\n",
	    at_nic ? "" : "hosts: 9, ", (int)(rate / RS_GBPS), (int)(delay / RS_NS));
	add(&t,
	    "  cc: {kind: none}\n  qos: {ecn: false, cell: 1B, headroom_scale: %g, buffer: %lluB",
	    scale, at_nic ? 0 : (unsigned long long)(18 * h + 2000000));
	if (at_nic)
		add(&t, ", nic_buffer: %lluB", (unsigned long long)(h + 200000));
	add(&t, "}\nworkload: [{flows: [");
	for (unsigned i = 1; i <= (at_nic ? 1 : 8); i++)
		add(&t, "{src: h%u, dst: h0, bytes: %lluB}, ", i,
		    (unsigned long long)(3 * h + 1500000));
	add(&t, "]}]\n");
	return run(&t, true);
}

static void test_half_the_headroom_loses_in_the_worst_case(void **state)
{
	static const rs_time delay[] = {10 * RS_NS, 500 * RS_NS, 5 * RS_US, 50 * RS_US};

	unsigned tried = 0;

	for (unsigned r = 0; r < 9; r++)
		for (unsigned d = 0; d < 4; d++)
			for (unsigned nic = 0; nic < 2; nic++) {
				if (headroom(gbps[r] * RS_GBPS, delay[d]) < 32000)
					continue;
				tried++;
				struct result half = pressed(gbps[r] * RS_GBPS, delay[d], 0.5, nic);
				struct result whole = pressed(gbps[r] * RS_GBPS, delay[d], 1, nic);

				if (!half.lossless_drops || whole.lossless_drops)
					fail_msg("%dG, %d ns, %s: half of the headroom lost %llu, "
						 "all of it %llu",
						 (int)gbps[r], (int)(delay[d] / RS_NS),
						 nic ? "NIC" : "switch",
						 (unsigned long long)half.lossless_drops,
						 (unsigned long long)whole.lossless_drops);
				done(&half);
				done(&whole);
			}
	assert_true(tried > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lossless_fabric_loses_nothing_at_nics),
		cmocka_unit_test(test_random_fabrics_lose_nothing),
		cmocka_unit_test(test_half_the_headroom_loses_in_the_worst_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
