/* Classes at a NIC's port (802.1Qaz) against the fluid that they stand for: strict classes,
 * weights, a class that is paused; hosts that are plain, and hosts whose payloads come over PCIe
 * first. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "unit/sim/load.h"

enum { CLASSES_MAX = 4, FLOWS_MAX = 12 };

/* One host sends flows of several classes, each to a host of its own: its port alone is shared. */
struct load {
	bool inside;
	int64_t gbps;
	unsigned mtu, n_classes, n_flows;
	struct {
		unsigned tc, weight;
	} class[CLASSES_MAX];
	struct {
		unsigned class;
		uint64_t bytes;
		double finish; /* of the fluid, seconds */
	} flow[FLOWS_MAX];
};

#define INSIDE                                                                                   \
	"hosts: [{name: h, count: %u, cpu: genoa, sockets: 1, nics: [{name: nic0, on: socket0, " \
	"pcie: gen5x16}]}]\n  "

static void run(const struct text *t, struct rs_fabric **f, struct rs_sim_result **r)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_error e = {0};

	if (rs_fabric_load_text(t->s, t->n, "test", ".", NULL, 0, f, &e) ||
	    rs_sim_run(*f, &o, r, &e))
		fail_msg("%s\n%s", e.what, t->s);
	assert_true((*r)->complete);
}

static void done(struct rs_fabric *f, struct rs_sim_result *r)
{
	rs_sim_result_free(r);
	rs_fabric_free(f);
}

static double frames(const struct load *l, uint64_t bytes)
{
	return (double)bytes * (l->mtu + 82) / l->mtu;
}

/* Of the classes that still have bytes: the highest strict one, or all that are weighted. */
static double share(const struct load *l, unsigned c, const double *left)
{
	unsigned sum = 0, strict = CLASSES_MAX;

	for (unsigned i = 0; i < l->n_classes; i++) {
		if (left[i] <= 0)
			continue;
		sum += l->class[i].weight;
		if (!l->class[i].weight &&
		    (strict == CLASSES_MAX || l->class[i].tc > l->class[strict].tc))
			strict = i;
	}
	if (left[c] <= 0)
		return 0;
	if (strict < CLASSES_MAX)
		return strict == c;
	return (double)l->class[c].weight / sum;
}

/* When each class is at its end; of flows of equal length in a class, which take turns, each. */
static void fluid(struct load *l)
{
	double left[CLASSES_MAX] = {0}, end[CLASSES_MAX] = {0}, now = 0;

	for (unsigned i = 0; i < l->n_flows; i++)
		left[l->flow[i].class] += frames(l, l->flow[i].bytes) * 8;
	for (unsigned step = 0; step < l->n_classes; step++) {
		double first = 1e9;
		unsigned at = 0;

		for (unsigned c = 0; c < l->n_classes; c++)
			if (share(l, c, left) > 0 &&
			    left[c] / share(l, c, left) < first * (double)l->gbps * 1e9) {
				first = left[c] / share(l, c, left) / (double)l->gbps / 1e9;
				at = c;
			}
		double rates[CLASSES_MAX];

		for (unsigned c = 0; c < l->n_classes; c++)
			rates[c] = share(l, c, left) * (double)l->gbps * 1e9;
		for (unsigned c = 0; c < l->n_classes; c++)
			left[c] -= rates[c] * first;
		now += first;
		left[at] = 0;
		end[at] = now;
	}
	for (unsigned i = 0; i < l->n_flows; i++)
		l->flow[i].finish = end[l->flow[i].class];
}

static void scenario(const struct load *l, struct text *t)
{
	t->n = 0;
	add(t, "fabric:\n  ");
	if (l->inside)
		add(t, INSIDE, l->n_flows + 1);
	add(t, "network: {kind: single-switch, rate: %dG, delay: 300ns, mtu: %u", (int)l->gbps,
	    l->mtu);
	if (!l->inside)
		add(t, ", hosts: %u", l->n_flows + 1);
	add(t, "}\n");
	add(t, "  cc: {kind: none}\n  qos:\n    classes:\n");
	for (unsigned c = 0; c < l->n_classes; c++)
		add(t, "      - {class: %u, weight: %u}\n", l->class[c].tc, l->class[c].weight);
	add(t, "workload:\n  - flows:\n");
	for (unsigned i = 0; i < l->n_flows; i++)
		add(t, "      - {src: h0, dst: h%u, bytes: %lluB, class: %u}\n", i + 1,
		    (unsigned long long)l->flow[i].bytes, l->class[l->flow[i].class].tc);
}

/* Seconds that a flow is late by, at worst, beyond a share of its time. */
static double late(struct load *l, struct text *t, double share_of_time)
{
	struct rs_sim_result *r;
	struct rs_fabric *f;
	double worst = 0;

	fluid(l);
	scenario(l, t);
	run(t, &f, &r);
	assert_int_equal(r->counters.drops + r->counters.retransmits, 0);
	for (unsigned i = 0; i < l->n_flows; i++) {
		double d = (double)r->flows[i].finish / (double)RS_S - l->flow[i].finish;
		double slack = share_of_time * l->flow[i].finish;

		d = d > slack ? d - slack : d < -slack ? d + slack : 0;
		worst = d * d > worst * worst ? d : worst;
	}
	done(f, r);
	return worst;
}

static void random_load(struct rs_random *r, struct load *l)
{
	static const int64_t gbps[] = {10, 25, 100, 200, 400};
	unsigned used = 0;

	*l = (struct load){.inside = rs_random_below(r, 2),
			   .gbps = gbps[rs_random_below(r, 5)],
			   .mtu = 256u << rs_random_below(r, 5),
			   .n_classes = 2 + rs_random_below(r, CLASSES_MAX - 1)};
	for (unsigned c = 0; c < l->n_classes; c++) {
		unsigned tc, n = 1 + rs_random_below(r, 3);
		uint64_t bytes = 3000000 + rs_random_below(r, 3000000);

		do
			tc = rs_random_below(r, 8);
		while (used >> tc & 1);
		used |= 1u << tc;
		l->class[c].tc = tc;
		l->class[c].weight = rs_random_below(r, 4) ? 1 + rs_random_below(r, 12) : 0;
		for (unsigned i = 0; i < n; i++) {
			l->flow[l->n_flows].class = c;
			l->flow[l->n_flows++].bytes = bytes / n;
		}
	}
}

/* Beside a share: the way there and back and the end of the last round, 6 us in all. Where reads
 * come first, what is read ahead of a class may run out for a moment. */
static void test_shares_are_those_of_weights_and_strict_classes(void **state)
{
	struct rs_random r = rs_random_stream(6, 0, 0);
	struct load l;
	struct text t;

	for (unsigned trial = 0; trial < 100; trial++) {
		double d;

		random_load(&r, &l);
		d = late(&l, &t, l.inside ? 0.025 : 0.01);
		if (d > 6e-6 || d < 0)
			fail_msg("%.1f us from the fluid:\n%s", 1e6 * d, t.s);
	}
}

/* What PCIe brings is less than the wire takes: it is shared as the wire would be. */
static void test_a_slot_that_is_slower_than_the_wire_is_shared_by_weight(void **state)
{
	static const unsigned weight[][3] = {{1, 1, 1}, {1, 2, 5}, {9, 1, 3}, {10, 20, 1}};

	for (unsigned i = 0; i < 4; i++) {
		struct rs_sim_result *r;
		rs_time first = RS_NEVER, last = 0;
		struct rs_fabric *f;
		struct text t = {.n = 0};

		add(&t,
		    "fabric:\n  " INSIDE "change: [{host: h0, link: {nic0: {gen: 3, lanes: 8}}}]\n",
		    7);
		add(&t, "  network: {kind: single-switch, rate: 200G}\n  cc: {kind: none}\n");
		add(&t, "  qos: {classes: [{class: 1, weight: %u}, {class: 4, weight: %u}, ",
		    weight[i][0], weight[i][1]);
		add(&t, "{class: 5, weight: %u}]}\nworkload: [{flows: [", weight[i][2]);
		for (unsigned k = 0; k < 6; k++) /* the second class has three of the flows */
			add(&t, "{src: h0, dst: h%u, class: %u, bytes: %uB}, ", k + 1,
			    k == 0  ? 1
			    : k < 4 ? 4
				    : 5,
			    400000 * (k == 0  ? weight[i][0] * 6
				      : k < 4 ? weight[i][1] * 2
					      : weight[i][2] * 3));
		add(&t, "]}]\n");
		run(&t, &f, &r);
		for (unsigned k = 0; k < 6; k++) {
			first = rs_time_min(first, r->flows[k].finish);
			last = rs_time_max(last, r->flows[k].finish);
		}
		if ((double)first < 0.98 * (double)last)
			fail_msg("%.3f and %.3f ms:\n%s", (double)first / 1e9, (double)last / 1e9,
				 t.s);
		done(f, r);
	}
}

/* Four others send h1 what h0 sends it in class 3, and the switch pauses that class of h0: another
 * class of h0 has all that class 3 may not use. */
static void paused_class(bool inside, unsigned other)
{
	struct rs_sim_result *r;
	struct rs_fabric *f;
	struct text t = {.n = 0};
	double want = 40e6 * 8 * (4096 + 82) / 4096 / (100e9 * 4 / 5);

	add(&t, "fabric:\n  ");
	if (inside)
		add(&t, INSIDE, 7);
	add(&t, "network: {kind: single-switch, rate: 100G, delay: 300ns%s}\n",
	    inside ? "" : ", hosts: 7");
	add(&t, "  cc: {kind: none}\n  qos: {buffer: 4MB, classes: [{class: 3, ecn: false}, ");
	add(&t, "{class: %u, lossless: true, weight: 9}]}\nworkload: [{flows: [", other);
	for (unsigned i = 0; i < 7; i++)
		if (i != 1 && i != 6)
			add(&t, "{src: h%u, dst: h1, bytes: 20MB}, ", i);
	add(&t, "{src: h0, dst: h6, bytes: 40MB, class: %u}]}]\n", other);
	run(&t, &f, &r);
	assert_true(r->counters.pauses > 0);
	assert_int_equal(r->counters.drops, 0);
	if ((double)r->flows[5].finish / (double)RS_S > want * 1.02)
		fail_msg("%.3f ms, not %.3f:\n%s", (double)r->flows[5].finish / 1e9, 1e3 * want,
			 t.s);
	done(f, r);
}

static void test_a_paused_class_holds_up_no_other(void **state)
{
	static const unsigned other[] = {0, 2, 4, 7};

	for (unsigned i = 0; i < 8; i++)
		paused_class(i & 1, other[i / 2]);
}

/* Four senders to one, in a buffer that PFC keeps from overflowing. */
#define INCAST(change)                                                                         \
	"fabric: {network: {kind: single-switch, hosts: 6, rate: 100G}, cc: none, change: "    \
	"[" change "],\n  qos: {buffer: 1MB, ecn: false}}\n"                                   \
	"workload: [{flows: [{src: h1, dst: h0, bytes: 2MB}, {src: h2, dst: h0, bytes: 2MB}, " \
	"{src: h3, dst: h0, bytes: 2MB}, {src: h4, dst: h0, bytes: 2MB}]}]\n"

static bool was_held(const struct rs_sim_result *r, const char *nic)
{
	for (uint32_t i = 0; i < r->n_pauses; i++)
		if (!strcmp(r->pauses[i].held, nic) && r->pauses[i].time > 0)
			return true;
	return false;
}

/* A NIC without PFC sends on through the PAUSEs of its switch, and what it sends is dropped. */
static void test_a_nic_without_pfc_is_not_held(void **state)
{
	struct loaded l = load_run(INCAST(""), (struct rs_sim_options){0});

	assert_int_equal(l.r->counters.drops, 0);
	assert_true(was_held(l.r, "h2") && was_held(l.r, "h3"));
	load_free(&l);
	l = load_run(INCAST("{nic: h3, pfc: false}"), (struct rs_sim_options){0});
	assert_true(l.r->complete && l.r->counters.drops > 0);
	assert_true(was_held(l.r, "h2") && !was_held(l.r, "h3"));
	for (uint32_t i = 0; i < l.r->n_drops; i++)
		assert_non_null(strstr(l.r->drops[i].place, "from h3"));
	load_free(&l);
}

/* What a NIC marks is what its switch goes by. */
/* Its ACKs come through a queue of data: strictly before it, they take the time of an idle way. */
static void test_acks_of_a_class_of_their_own_pass_data(void **state)
{
	static const char *const qos[] = {"", ", ack_class: 6", ", ack_class: 5, ack_dscp: 46"};
	rs_time t[4];

	for (unsigned i = 0; i < 4; i++) {
		static struct text text;
		struct loaded l;

		text.n = 0;
		add(&text,
		    "fabric: {cc: none, network: {kind: single-switch, hosts: 4, rate: 100G,"
		    " delay: 1us}, qos: {ecn: false, classes: [{class: 5, weight: 0}]%s}}\n"
		    "workload: [{flows: [{src: 0, dst: 1, bytes: 4kB, start: 100us}]}",
		    qos[i % 3]);
		/* two senders that fill the switch's queue to h0, where the ACK goes */
		if (i < 3)
			add(&text, ", {flows: [{src: 2, dst: 0, bytes: 4MB}, "
				   "{src: 3, dst: 0, bytes: 4MB}]}");
		add(&text, "]\n");
		l = load_run(text.s, (struct rs_sim_options){0});
		assert_true(l.r->complete);
		t[i] = l.r->jobs[0].finish;
		load_free(&l);
	}
	/* a frame under way may be before it, here and at h1's own port */
	for (unsigned i = 1; i < 3; i++)
		assert_in_range(t[i], t[3], t[3] + 2 * 340 * RS_NS);
	assert_true(t[0] > t[3] + 50 * RS_US);
}

static void test_a_nic_marks_its_own_dscp(void **state)
{
	struct loaded l = load_run(INCAST("{nic: h3, dscp: 0}"), (struct rs_sim_options){0});

	assert_true(l.r->complete && l.r->counters.drops > 0);
	for (uint32_t i = 0; i < l.r->n_drops; i++) {
		assert_int_equal(l.r->drops[i].dscp, 0);
		assert_int_equal(l.r->drops[i].tc, 0);
		assert_non_null(strstr(l.r->drops[i].place, "from h3"));
	}
	load_free(&l);
	/* another DSCP of the same class is no other thing */
	l = load_run(INCAST("{nic: h3, dscp: 26}"), (struct rs_sim_options){0});
	assert_int_equal(l.r->counters.drops, 0);
	load_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_those_of_weights_and_strict_classes),
		cmocka_unit_test(test_a_slot_that_is_slower_than_the_wire_is_shared_by_weight),
		cmocka_unit_test(test_a_nic_without_pfc_is_not_held),
		cmocka_unit_test(test_acks_of_a_class_of_their_own_pass_data),
		cmocka_unit_test(test_a_nic_marks_its_own_dscp),
		cmocka_unit_test(test_a_paused_class_holds_up_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
