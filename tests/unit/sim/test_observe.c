/* Watching a run changes nothing of it, and what is kept adds up to its counters: random scenarios,
 * one to three threads, bins of any length, each packet kept or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "base/random.h"
#include "unit/sim/load.h"

enum { SCENARIOS = 24 };

static uint32_t upto(struct rs_random *r, uint32_t n)
{
	return (uint32_t)(rs_random_u64(r) % n);
}

static const char *one_of(struct rs_random *r, const char *const *of, uint32_t n)
{
	return of[upto(r, n)];
}

static void network(struct rs_random *r, struct text *t)
{
	static const char *const kinds[] = {
		"{kind: single-switch, hosts: 7, rate: 100G, delay: 500ns}",
		"{kind: leaf-spine, leaves: 3, spines: 2, hosts_per_leaf: 3, rate: 100G, delay: "
		"1us}",
		"{kind: fat-tree, k: 4, rate: 400G, delay: 300ns, mtu: 4096}",
		"{kind: leaf-spine, leaves: 40, spines: 20, hosts_per_leaf: 2, rate: 100G, delay: "
		"1us}",
	};
	static const char *const qos[] = {
		"{}",
		"{pfc: false, buffer: 200KiB}",
		"{buffer: 2MiB, classes: [{class: 3, lossless: true, dscp: 26, ecn: true, kmin: "
		"20kB, "
		"kmax: 80kB, pmax: 1}]}",
	};
	static const char *const cc[] = {"dcqcn", "none", "swift"};

	add(t, "fabric: {network: %s, qos: %s, cc: {kind: %s}}\n", one_of(r, kinds, 4),
	    one_of(r, qos, 3), one_of(r, cc, 3));
}

static void workload(struct rs_random *r, struct text *t)
{
	static const char *const ops[] = {"all-reduce", "all-to-all", "all-gather"};

	if (upto(r, 2)) {
		add(t, "workload: [{collective: {op: %s, bytes: 1MiB}}]\n", one_of(r, ops, 3));
		return;
	}
	add(t, "workload: [{flows: [");
	for (uint32_t i = 0; i < 12; i++)
		add(t, "{src: h%u, dst: h%u, bytes: %uB, start: %uus}, ", upto(r, 3),
		    3 + upto(r, 3), 1 + upto(r, 400000), upto(r, 40));
	add(t, "]}]\n");
}

static uint64_t sum(const uint64_t *row, uint32_t n)
{
	uint64_t s = 0;

	for (uint32_t i = 0; row && i < n; i++)
		s += row[i];
	return s;
}

static uint64_t most(const uint64_t *row, uint32_t n)
{
	uint64_t m = 0;

	for (uint32_t i = 0; row && i < n; i++)
		m = row[i] > m ? row[i] : m;
	return m;
}

/* What of a port is told by class is the port's. */
static void by_class(const struct rs_series_port *p, uint32_t bins)
{
	uint64_t bytes = 0, marks = 0, drops = 0;

	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		bytes += sum(p->of[tc]->bytes, bins);
		marks += sum(p->of[tc]->marks, bins);
		drops += sum(p->of[tc]->drops, bins);
	}
	assert_true(bytes <= p->bytes);
	assert_true(bytes * 10 >= p->bytes * 7); /* gaps, PFC */
	if (p->nic)
		return;
	assert_int_equal(marks, p->n_marks);
	assert_int_equal(drops, p->n_drops);
}

/* What was sent again: all of it, when all connections are followed; each packet for a reason. */
static void sent_again(const struct rs_sim_result *r)
{
	const struct rs_series *s = r->series;
	uint64_t all = 0, order = 0;

	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct rs_series_flow *f = &s->flows[i];
		uint64_t why = 0;

		for (unsigned k = 0; k < RS_RESENT_WHYS; k++)
			why += sum(f->resent_for[k], s->bins);
		assert_int_equal(why, sum(f->resent, s->bins));
		all += why;
		order += sum(f->resent_for[RS_RESENT_REORDER], s->bins);
		assert_true(f->n_path >= 2 && f->ways >= 1);
		assert_int_equal(s->ports[f->path[0]].node, f->src);
		assert_int_equal(s->ports[s->ports[f->path[f->n_path - 1]].back].node, f->dst);
	}
	if (s->n_flows < s->connections)
		return;
	assert_int_equal(all, r->counters.retransmits);
	assert_int_equal(order, r->counters.reordered);
}

static uint64_t held_of(const struct rs_series_port *p, uint32_t bins)
{
	uint64_t held = 0;

	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		held += sum((const uint64_t *)p->of[tc]->held, bins);
	return held;
}

static void adds_up(const struct rs_sim_result *r)
{
	const struct rs_series *s = r->series;
	uint64_t hops = 0, marks = 0, drops = 0, held = 0, peak = 0, pauses = 0, lost = 0;

	assert_true(s->bins && s->bins <= RS_SERIES_BINS);
	assert_true((rs_time)s->bins * s->interval >= r->sim_time);
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct rs_series_port *p = &s->ports[i];

		hops += p->data_packets;
		marks += sum(p->marks, s->bins);
		drops += sum(p->drops, s->bins);
		lost += sum(p->lost, s->bins);
		assert_int_equal(p->number, i);
		assert_int_equal(s->ports[p->back].back, i);
		assert_int_equal(p->n_marks, sum(p->marks, s->bins));
		assert_int_equal(p->n_drops, sum(p->drops, s->bins));
		assert_int_equal(sum(p->carried, s->bins), p->bytes);
		peak = most(p->peak, s->bins) > peak ? most(p->peak, s->bins) : peak;
		held += held_of(p, s->bins);
		pauses += p->n_pauses;
		by_class(p, s->bins);
	}
	assert_int_equal(hops, r->counters.packet_hops);
	assert_int_equal(marks, r->counters.ecn_marked);
	assert_int_equal(drops, r->counters.drops + r->counters.nic_drops);
	assert_int_equal(lost, r->counters.link_losses);
	assert_int_equal(pauses, r->counters.pauses + r->counters.nic_pauses);
	assert_int_equal(held, (uint64_t)r->counters.paused);
	assert_int_equal(peak, r->counters.max_queue);
}

static void same_row(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	assert_int_equal(a != NULL, b != NULL);
	if (a)
		assert_memory_equal(a, b, n * sizeof(*a));
}

static void same_series(const struct rs_series *a, const struct rs_series *b)
{
	assert_int_equal(a->bins, b->bins);
	assert_int_equal(a->interval, b->interval);
	assert_int_equal(a->n_ports, b->n_ports);
	assert_int_equal(a->n_flows, b->n_flows);
	assert_int_equal(a->n_spans, b->n_spans);
	for (uint32_t i = 0; i < a->n_ports; i++) {
		same_row(a->ports[i].carried, b->ports[i].carried, a->bins);
		same_row(a->ports[i].peak, b->ports[i].peak, a->bins);
		same_row(a->ports[i].marks, b->ports[i].marks, a->bins);
		same_row(a->ports[i].drops, b->ports[i].drops, a->bins);
		same_row(a->ports[i].lost, b->ports[i].lost, a->bins);
		assert_int_equal(a->ports[i].kept, b->ports[i].kept);
		for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
			const struct rs_series_class *x = a->ports[i].of[tc],
						     *y = b->ports[i].of[tc];
			same_row(x->queue, y->queue, a->bins);
			same_row(x->bytes, y->bytes, a->bins);
			same_row(x->pauses, y->pauses, a->bins);
			same_row((const uint64_t *)x->held, (const uint64_t *)y->held, a->bins);
			assert_int_equal(x->queued.n, y->queued.n);
			assert_int_equal(rs_hist_percentile(&x->queued, 99),
					 rs_hist_percentile(&y->queued, 99));
		}
	}
	for (uint32_t i = 0; i < a->n_flows; i++) {
		same_row((const uint64_t *)a->flows[i].rate, (const uint64_t *)b->flows[i].rate,
			 a->bins);
		same_row(a->flows[i].in_flight, b->flows[i].in_flight, a->bins);
		same_row(a->flows[i].acked, b->flows[i].acked, a->bins);
		same_row(a->flows[i].resent, b->flows[i].resent, a->bins);
	}
	for (uint64_t i = 0; i < a->n_spans; i++) {
		assert_int_equal(a->spans[i].from, b->spans[i].from);
		assert_int_equal(a->spans[i].to, b->spans[i].to);
		assert_int_equal(a->spans[i].rank, b->spans[i].rank);
		assert_int_equal(a->spans[i].step, b->spans[i].step);
	}
}

static void same_run(const struct rs_sim_result *a, const struct rs_sim_result *b)
{
	assert_int_equal(a->sim_time, b->sim_time);
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
	assert_int_equal(a->n_flows, b->n_flows);
	for (uint32_t i = 0; i < a->n_flows; i++)
		assert_int_equal(a->flows[i].finish, b->flows[i].finish);
	for (uint32_t i = 0; i < a->n_jobs; i++)
		assert_int_equal(a->jobs[i].finish, b->jobs[i].finish);
}

static struct loaded watch(const char *text, struct rs_observe o, unsigned threads)
{
	return load_run(text, (struct rs_sim_options){.observe = o, .threads = threads});
}

static void test_nothing_changes_and_all_adds_up(void **state)
{
	static const char *const all[] = {"all"};

	(void)state;
	for (uint64_t seed = 0; seed < SCENARIOS; seed++) {
		struct rs_random r = rs_random_stream(seed, 1, 2);
		struct text t = {.n = 0};
		struct rs_observe o = {.on = true};
		struct loaded plain, one, three;

		network(&r, &t);
		workload(&r, &t);
		o.interval = upto(&r, 2) ? 0 : RS_NS + (rs_time)upto(&r, 20 * RS_US);
		if (upto(&r, 2)) {
			o.exact = (const char **)all;
			o.n_exact = 1;
		}
		plain = watch(t.s, (struct rs_observe){0}, 1);
		one = watch(t.s, o, 1);
		three = watch(t.s, o, 3);
		assert_null(plain.r->series);
		same_run(plain.r, one.r);
		same_run(plain.r, three.r);
		adds_up(one.r);
		sent_again(one.r);
		same_series(one.r->series, three.r->series);
		load_free(&plain);
		load_free(&one);
		load_free(&three);
	}
}

/* Leaves put the packets into class 0: their peers' pauses of class 3 hold a class that they send
 * nothing of. Bins are halved after them. */
static void test_pauses_of_a_class_without_packets_add_up(void **state)
{
	struct loaded l = watch(
		"fabric:\n"
		"  network: {kind: leaf-spine, leaves: 3, hosts_per_leaf: 6, spines: 4, rate: "
		"400G,\n"
		"            delay: 500ns}\n"
		"  qos: {buffer: 4MB, tiers: {leaf: {dscp: {26: 0}}}}\n"
		"  cc: {kind: none}\n"
		"workload: [{flows: [{src: 6, dst: 0, bytes: 4MB}, {src: 7, dst: 0, bytes: 4MB},\n"
		"  {src: 8, dst: 0, bytes: 4MB}, {src: 9, dst: 0, bytes: 4MB},\n"
		"  {src: 12, dst: 0, bytes: 4MB}, {src: 13, dst: 0, bytes: 4MB}]}]\n",
		(struct rs_observe){.on = true, .interval = RS_US}, 1);

	const struct rs_series *s = l.r->series;
	uint64_t held = 0;

	(void)state;
	assert_true(s->interval > RS_US);
	for (uint32_t i = 0; i < s->n_ports; i++)
		held += held_of(&s->ports[i], s->bins);
	assert_true(held > 0);
	assert_int_equal(held, (uint64_t)l.r->counters.paused);
	load_free(&l);
}

/* Alone on its way a packet takes what the links and the switch need. */
static void test_latency_of_one_is_its_ways(void **state)
{
	struct loaded l =
		watch("fabric: {cc: {kind: none}, network: {kind: single-switch, hosts: 2, "
		      "rate: 100G, delay: 700ns, mtu: 1024}, qos: {switch_latency: 300ns}}\n"
		      "workload: [{flows: [{src: h0, dst: h1, bytes: 1MiB}]}]\n",
		      (struct rs_observe){.on = true}, 1);
	const struct rs_series *s = l.r->series;
	uint64_t n = 0;
	/* a frame of 1086 bytes and 20 beside it, twice; the first has RETH, 16 more */
	rs_time way = 2 * (700 * RS_NS + 1106 * 80) + 300 * RS_NS;

	(void)state;
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		const struct rs_hist *h = &s->latency[tc];

		n += h->n;
		if (!h->n)
			continue;
		assert_in_range(rs_hist_percentile(h, 50), way, way + (way >> RS_HIST_BITS));
		assert_int_equal(h->most, way + 2 * 16 * 80);
	}
	assert_int_equal(n, 1024 / RS_SERIES_TIMED);
	assert_int_equal(s->connections, 1);
	assert_int_equal(s->n_flows, 1);
	assert_int_equal(s->flows[0].rate[0], 100 * RS_GBPS);
	load_free(&l);
}

/* The closed form of an empty network against the simulator: a flow alone, without congestion
 * control, over links of any rates, hosts with an inside, cut-through, paths chosen per packet. */
static void test_a_flow_alone_takes_its_closed_form(void **state)
{
	static const char *const kinds[] = {
		"network: {kind: single-switch, hosts: 7, rate: 25G, delay: 500ns, mtu: 256}",
		"network: {kind: leaf-spine, leaves: 3, spines: 2, hosts_per_leaf: 3, rate: 100G, "
		"uplink_rate: 40G, delay: 1us}",
		"network: {kind: fat-tree, k: 4, rate: 400G, delay: 300ns, mtu: 4096}",
		"hosts: [{name: h, count: 7, cpu: spr, sockets: 2, nics: [{name: nic0, on: "
		"socket0, pcie: gen4x8}]}], network: {kind: single-switch, rate: 200G, delay: "
		"500ns, mtu: 4096}",
	};
	static const char *const qos[] = {"{}", "{cut_through: true}", "{routing: spray}"};

	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct rs_random r = rs_random_stream(seed, 7, 8);
		uint32_t src = upto(&r, 3), bytes = 1u << upto(&r, 23);
		struct text t = {.n = 0};
		struct loaded l;
		const struct rs_series_speed *x;

		add(&t, "fabric: {%s, qos: %s, cc: {kind: none}}\n", one_of(&r, kinds, 4),
		    one_of(&r, qos, 3));
		add(&t, "workload: [{flows: [{src: %u, dst: %u, bytes: %uB, start: %uus}]}]\n", src,
		    3 + upto(&r, 3), bytes + upto(&r, bytes), upto(&r, 40));
		l = watch(t.s, (struct rs_observe){.on = true}, 1);
		x = &l.r->series->flow_speed[0]; /* what is sprayed comes out of order, and some of
						    it goes again */
		if (!(x->slowdown > 0.99 && (x->slowdown < 1.01 || strstr(t.s, "spray"))))
			fail_msg("%f of the closed form: %s", x->slowdown, t.s);
		if (!(x->allowed > 0 && x->goodput <= x->allowed * 1.001))
			fail_msg("%g of %g: %s", x->goodput, x->allowed, t.s);
		assert_true(l.r->series->job_speed[0].goodput > 0);
		load_free(&l);
	}
}

/* Packets that are dealt over several slow links pass each tier of them side by side. */
static void test_a_dealt_flow_takes_its_closed_form(void **state)
{
	static const char *const kinds[] = {
		"{kind: leaf-spine, leaves: 2, spines: 4, hosts_per_leaf: 8, rate: 400G, "
		"uplink_rate: 25G, delay: 1us}",
		"{kind: leaf-spine, leaves: 4, spines: 3, hosts_per_leaf: 4, rate: 100G, "
		"uplink_rate: 40G, mtu: 1024}",
		"{kind: fat-tree, k: 4, rate: 800G, uplink_rate: 25G, delay: 1us}",
	};
	static const char *const ways[] = {"qos: {routing: round-robin, cut_through: true}",
					   "qos: {routing: round-robin}"};

	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct rs_random r = rs_random_stream(seed, 10, 8);
		struct text t = {.n = 0};
		struct loaded l;
		const struct rs_series_speed *x;

		add(&t,
		    "fabric: {network: %s, %s, cc: none, transport: {recovery: selective, "
		    "in_flight: 8192}}\n"
		    "workload: [{flows: [{src: %u, dst: %u, bytes: %uB}]}]\n",
		    one_of(&r, kinds, 3), one_of(&r, ways, 2), upto(&r, 3), 13 + upto(&r, 2),
		    1 + upto(&r, 1u << upto(&r, 21)));
		l = watch(t.s, (struct rs_observe){.on = true}, 1);
		x = &l.r->series->flow_speed[0];
		if (!(x->slowdown > 0.99 && x->slowdown < 1.04))
			fail_msg("%f of the closed form: %s", x->slowdown, t.s);
		load_free(&l);
	}
}

/* And in messages of which some may be under way, each waiting for the end of another: READs for
 * answers, of which the peer holds a few, the others for ACKs. */
static void test_messages_alone_take_their_closed_form(void **state)
{
	static const char *const kinds[] = {
		"network: {kind: single-switch, hosts: 7, rate: 25G, delay: 500ns, mtu: 256}",
		"network: {kind: leaf-spine, leaves: 3, spines: 2, hosts_per_leaf: 3, rate: 100G, "
		"uplink_rate: 40G, delay: 1us}",
		"network: {kind: fat-tree, k: 4, rate: 400G, delay: 5us, mtu: 4096}",
		"hosts: [{count: 8, cpu: genoa, sockets: 1, nics: [{name: n, on: socket0, pcie: "
		"gen5x16}]}], network: {kind: single-switch, rate: 400G, delay: 500ns}",
	};
	static const char *const ops[] = {"read", "write", "send"};

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct rs_random r = rs_random_stream(seed, 9, 8);
		bool inside = seed % 4 == 3;
		uint32_t message = 1 + upto(&r, 1u << upto(&r, 18)), n = 1 + upto(&r, 300);
		struct text t = {.n = 0};
		struct loaded l;
		const struct rs_series_speed *x;

		add(&t, "fabric: {%s, cc: {kind: none}, transport: {max_rd_atomic: %u}}\n",
		    inside ? kinds[3] : one_of(&r, kinds, 3), 1 + upto(&r, 20));
		add(&t,
		    "workload: [{flows: [{src: %u, dst: %u, op: %s, bytes: %uB, message: %uB, "
		    "depth: %u}]}]\n",
		    upto(&r, 3), 3 + upto(&r, 3), one_of(&r, ops, 3),
		    message * n - upto(&r, message), message, 1 + upto(&r, 1u << upto(&r, 7)));
		l = watch(t.s, (struct rs_observe){.on = true}, 1);
		x = &l.r->series->flow_speed[0];
		/* a NIC reads ahead: a short packet at a message's end costs it less than told;
		 * small READs are answered one by one */
		if (!(x->slowdown > (inside ? 0.97 : 0.99) && x->slowdown < (inside ? 1.05 : 1.01)))
			fail_msg("%f of the closed form: %s", x->slowdown, t.s);
		load_free(&l);
	}
}

/* Nothing is sent over links that the path does not have; path and ways are those of switches. */
static void test_a_path_is_where_packets_went(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct loaded l = load_run(
			"fabric: {network: {kind: fat-tree, k: 4, rate: 100G, delay: 300ns}}\n"
			"workload: [{flows: [{src: 0, dst: 13, bytes: 300kB}]}]\n",
			(struct rs_sim_options){.seed = seed, .observe = {.on = true}});
		const struct rs_series *s = l.r->series;
		uint64_t hops = 0;

		assert_int_equal(s->flows[0].n_path, 6);
		for (uint32_t k = 0; k < 6; k++) {
			assert_int_equal(s->ports[s->flows[0].path[k]].data_packets,
					 l.r->counters.data_packets);
			hops += s->ports[s->flows[0].path[k]].data_packets;
		}
		assert_int_equal(hops, l.r->counters.packet_hops);
		load_free(&l);
	}
}

/* A step's computing is a bar as long as it is; messages follow each other. */
static void test_bars_are_what_ranks_did(void **state)
{
	struct loaded l =
		watch("fabric: {network: {kind: single-switch, hosts: 4, rate: 100G, delay: "
		      "1us}}\nworkload: [{collective: {op: all-reduce, bytes: 4MiB}}]\n",
		      (struct rs_observe){.on = true}, 1);
	const struct rs_series *s = l.r->series;
	uint64_t messages = 0;

	(void)state;
	for (uint64_t i = 0; i < s->n_spans; i++) {
		const struct rs_series_span *x = &s->spans[i];

		assert_true(x->from >= 0 && x->to > x->from && x->to <= l.r->sim_time);
		messages += x->kind == RS_SPAN_MESSAGE;
	}
	assert_true(messages >= 4 * 6);
	assert_false(s->spans_cut);
	load_free(&l);
}

static void test_names_of_nothing_are_refused(void **state)
{
	static const char *const wrong[] = {"leaf9"};
	struct rs_fabric *f =
		load("fabric: {network: {kind: single-switch, hosts: 2, rate: 100G}}\n"
		     "workload: [{flows: [{src: h0, dst: h1, bytes: 1KiB}]}]\n");
	struct rs_sim_options o = {
		.seed = 1, .observe = {.on = true, .n_exact = 1, .exact = (const char **)wrong}};
	struct rs_sim_result *r;
	struct rs_error e = {0};

	(void)state;
	assert_int_equal(rs_sim_run(f, &o, &r, &e), -EINVAL);
	assert_non_null(strstr(e.what, "leaf9"));
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_changes_and_all_adds_up),
		cmocka_unit_test(test_pauses_of_a_class_without_packets_add_up),
		cmocka_unit_test(test_latency_of_one_is_its_ways),
		cmocka_unit_test(test_a_flow_alone_takes_its_closed_form),
		cmocka_unit_test(test_a_dealt_flow_takes_its_closed_form),
		cmocka_unit_test(test_messages_alone_take_their_closed_form),
		cmocka_unit_test(test_a_path_is_where_packets_went),
		cmocka_unit_test(test_bars_are_what_ranks_did),
		cmocka_unit_test(test_names_of_nothing_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
