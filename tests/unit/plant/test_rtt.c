/*
 * The longest round trip of a network whose links and switches differ, beside all its shortest
 * paths counted one by one: 60 drawn networks. Each sum is made here from the description's own
 * figures.
 */
#include <stdlib.h>
#include "base/random.h"
#include "plant/plant.h"
#include "unit/describe/text.h"
#include "unit/plant/networks.h"

enum { DATA = 4202, ACK = 86, FAR = 1000 };

struct tried {
	struct rs_fabric *f;
	rs_time there, back; /* the slowest path so far of the pair under way */
	unsigned hops;       /* of its shortest paths */
};

static void put_explicit(struct network_text *t, struct rs_random *r)
{
	static const char *const rates[] = {"10G", "25G", "40G", "100G", "400G"};
	unsigned switches = draw(r, 1, 5), hosts = draw(r, 2, 5);

	put(t, "fabric:\n  qos: {switch_latency: %uns", draw(r, 0, 900));
	put(t, ", tiers: {spine: {switch_latency: %uns}}}\n", draw(r, 0, 2000));
	put(t, "  network: {kind: explicit, rate: 100G, delay: 100ns, switches: [");
	for (unsigned s = 0; s < switches; s++)
		put(t, "{name: s%u, tier: %u}, ", s, rs_random_below(r, 2));
	put(t, "], hosts: [");
	for (unsigned h = 0; h < hosts; h++)
		put(t, "h%u, ", h);
	put(t, "], links: [");
	for (unsigned h = 0; h < hosts; h++)
		put(t, "{a: h%u, b: s%u, rate: %s, rate_back: %s, delay: %uns}, ", h,
		    draw(r, 0, switches - 1), one_of(r, rates, 5), one_of(r, rates, 5),
		    draw(r, 1, 3000));
	for (unsigned s = 1; s < switches; s++)
		put(t, "{a: s%u, b: s%u, rate: %s, delay: %uns}, ", s, draw(r, 0, s - 1),
		    one_of(r, rates, 5), draw(r, 1, 3000));
	for (unsigned i = draw(r, 0, 6); switches > 1 && i; i--) {
		unsigned a = draw(r, 1, switches - 1);

		put(t, "{a: s%u, b: s%u, rate: %s, rate_back: %s, delay: %uns}, ", a,
		    draw(r, 0, a - 1), one_of(r, rates, 5), one_of(r, rates, 5), draw(r, 1, 3000));
	}
	put(t, "]}\n");
}

/* A link passed by a packet of so many bytes, with the switch that it then passes. */
static rs_time passed(const struct tried *t, const struct rs_fabric_link *l, bool back,
		      unsigned bytes)
{
	const struct rs_link_end *to = back ? &l->a : &l->b;
	int64_t rate = back && l->rate_back ? l->rate_back : l->rate;

	return l->delay + (rs_time)(bytes * 8 * (RS_S / RS_MBPS) / (rate / RS_MBPS)) +
	       (to->is_switch ? rs_fabric_qos(t->f, to->id)->switch_latency : 0);
}

/* Every path without a loop from switch `at`; the shortest count. */
static void walk(struct tried *t, uint32_t at, uint32_t end, uint32_t been, unsigned hops,
		 rs_time there, rs_time back)
{
	if (at == end) {
		if (hops < t->hops)
			t->there = t->back = 0;
		if (hops <= t->hops) {
			t->hops = hops;
			t->there = rs_time_max(t->there, there);
			t->back = rs_time_max(t->back, back);
		}
		return;
	}
	for (uint32_t i = 0; i < t->f->n_links; i++) {
		const struct rs_fabric_link *l = &t->f->links[i];
		bool turned = l->a.id != at;
		uint32_t next = turned ? l->a.id : l->b.id;

		if (!l->a.is_switch || (l->a.id != at && l->b.id != at) || been >> next & 1)
			continue;
		walk(t, next, end, been | 1u << next, hops + 1, there + passed(t, l, turned, DATA),
		     back + passed(t, l, !turned, ACK));
	}
}

static rs_time slowest(struct tried *t)
{
	const struct rs_fabric *f = t->f;
	rs_time most = 0;

	for (uint32_t x = 0; x < f->n_endpoints; x++)
		for (uint32_t y = 0; y < f->n_endpoints; y++) {
			const struct rs_fabric_link *from = &f->links[f->endpoints[x].link];
			const struct rs_fabric_link *to = &f->links[f->endpoints[y].link];

			if (x == y)
				continue;
			t->hops = FAR;
			walk(t, from->b.id, to->b.id, 1u << from->b.id, 0, 0, 0);
			most = rs_time_max(most, t->there + t->back + passed(t, from, false, DATA) +
							 passed(t, from, true, ACK) +
							 passed(t, to, true, DATA) +
							 passed(t, to, false, ACK));
		}
	return most;
}

static void test_it_is_the_slowest_of_all_shortest_paths(void **state)
{
	static struct network_text text;
	struct rs_random r = rs_random_stream(14, 7, 0);

	for (unsigned i = 0; i < 60; i++) {
		struct tried t = {0};
		rs_time want, got;

		text.n = 0;
		put_explicit(&text, &r);
		t.f = load(text.s);
		want = slowest(&t);
		got = rs_plant_longest_rtt(t.f, DATA, ACK);
		/* a rate's picoseconds a byte are rounded: 1 ps a link and packet at most */
		if (llabs(got - want) > 20)
			fail_msg("%lld ps, expected %lld, in\n%s", (long long)got, (long long)want,
				 text.s);
		rs_fabric_free(t.f);
	}
}

/* A slow NIC is one end of the longest way, not both; a switch that cuts through waits for heads.
 */
static void test_a_slow_nic_and_a_cut(void **state)
{
	static const char star[] =
		"fabric:\n  qos: {switch_latency: 0ns, cut_through: %s}\n"
		"  network: {kind: explicit, rate: 100G, delay: 1us, hosts: [a, b, c], "
		"switches: [s], links: [{a: a, b: s, rate: %s}, {a: b, b: s}, {a: c, b: s}]}\n";
	char text[512];
	struct rs_fabric *f;

	snprintf(text, sizeof(text), star, "false", "10G");
	f = load(text);
	assert_int_equal(rs_plant_longest_rtt(f, 1000, 0), 4 * RS_US + 880 * RS_NS);
	rs_fabric_free(f);
	snprintf(text, sizeof(text), star, "true", "100G");
	f = load(text);
	assert_int_equal(rs_plant_longest_rtt(f, 1000, 0), 4 * RS_US + 87200);
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_the_slowest_of_all_shortest_paths),
		cmocka_unit_test(test_a_slow_nic_and_a_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
