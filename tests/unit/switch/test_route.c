/* Routing over equal-cost ports: the hash of a flow, spray, the least queue, flowlets, placement;
 * pins. */
#include "bed.h"

static const uint16_t ports[] = {8, 9, 10, 11, 12, 13, 14, 15};
enum { PORTS = 8 };

static void route_bed(struct bed *b, enum rs_routing routing, unsigned n)
{
	bed_init(b, 16);
	bed_set(b, ports, n);
	b->c.routing = routing;
	b->c.flowlet_gap = 10 * RS_US;
	b->c.buffer = 1 << 30;
	b->c.classes[0].lossless = true;
	bed_start(b);
}

/* The same with other settings. */
static void again(struct bed *b, struct rs_hashing h, struct rs_adaptive a, uint32_t id)
{
	rs_switch_destroy(b->sw);
	b->c.hashing = h;
	b->c.adaptive = a;
	b->c.id = id;
	bed_start(b);
}

/* The port of one packet of the flow, which leaves at once unless it is to stay. */
static int way(struct bed *b, uint32_t src, uint32_t dst, uint16_t sport, rs_time now, bool stay)
{
	struct rs_packet *p = bed_packet(b, 0, dst, 1000);
	int to;

	p->src = src;
	p->sport = sport;
	to = rs_switch_rx(b->sw, 0, p, now, now);
	if (to >= 0 && !stay)
		assert_int_equal(bed_out(b, (unsigned)to, now), 0);
	return to;
}

static void test_an_endpoint_of_this_switch_has_its_port(void **state)
{
	struct bed b;

	route_bed(&b, RS_ROUTE_SPRAY, PORTS);
	for (unsigned e = 0; e < 16; e++)
		assert_int_equal(way(&b, 100, e, 49152, 0, false), e);
	bed_end(&b);
}

static void test_packets_to_nowhere_are_counted_and_dropped(void **state)
{
	struct bed b;

	route_bed(&b, RS_ROUTE_ECMP, 0);
	assert_int_equal(way(&b, 1, BED_FAR, 49152, 0, false), -1);     /* no port leads there */
	assert_int_equal(way(&b, 1, 2 * BED_FAR, 49152, 0, false), -1); /* no such endpoint */
	assert_int_equal(way(&b, 1, UINT32_MAX, 49152, 0, false), -1);
	assert_int_equal(rs_switch_get_counters(b.sw)->unroutable, 3);
	assert_int_equal(rs_switch_get_counters(b.sw)->drops, 0);
	assert_int_equal(rs_switch_port_counters(b.sw, 0)->drops, 3);
	bed_end(&b);
}

static void test_a_single_way_needs_no_choice(void **state)
{
	for (unsigned r = RS_ROUTE_ECMP; r <= RS_ROUTE_PLACED; r++) {
		struct bed b;

		route_bed(&b, (enum rs_routing)r, 1);
		for (unsigned i = 0; i < 50; i++)
			assert_int_equal(way(&b, i, BED_FAR + i, (uint16_t)i, 0, false), 8);
		bed_end(&b);
	}
}

/* Chi-square of n equal cells, 99.99 % below this for 7 and fewer degrees of freedom. */
static double chi_square(const unsigned *count, unsigned n, unsigned total)
{
	double x = 0, want = (double)total / n;

	for (unsigned i = 0; i < n; i++)
		x += (count[i] - want) * (count[i] - want) / want;
	return x;
}
#define CHI_SQUARE_MAX 29.9

/* Flows that differ in the source port alone, in the source alone, in the destination alone. */
static void test_ecmp_spreads_flows_evenly_and_keeps_each_on_its_way(void **state)
{
	for (unsigned n = 2; n <= PORTS; n++)
		for (unsigned kind = 0; kind < 3; kind++) {
			unsigned count[PORTS] = {0};
			struct bed b;

			route_bed(&b, RS_ROUTE_ECMP, n);
			for (unsigned f = 0; f < 900; f++) {
				uint32_t src = kind == 1 ? f : 5;
				uint32_t dst = BED_FAR + (kind == 2 ? f : 5);
				uint16_t sport = (uint16_t)(49152 + (kind == 0 ? f : 0));
				int to = way(&b, src, dst, sport, 0, false);

				assert_in_range(to, 8, 8 + n - 1);
				count[to - 8]++;
				for (unsigned i = 0; i < 3; i++)
					assert_int_equal(way(&b, src, dst, sport, 0, false), to);
			}
			assert_true(chi_square(count, n, 900) < CHI_SQUARE_MAX);
			bed_end(&b);
		}
}

/* Tiers must not choose alike, or half of the second tier's ports stay idle. */
static void test_two_switches_hash_independently(void **state)
{
	unsigned count[PORTS] = {0};
	struct bed a, b;

	route_bed(&a, RS_ROUTE_ECMP, 2);
	route_bed(&b, RS_ROUTE_ECMP, PORTS);
	rs_switch_destroy(b.sw);
	b.c.id = 8;
	bed_start(&b);
	for (unsigned f = 0, n = 0; n < 800; f++)
		if (way(&a, 3, BED_FAR + 4, (uint16_t)f, 0, false) == 8) {
			count[way(&b, 3, BED_FAR + 4, (uint16_t)f, 0, false) - 8]++;
			n++;
		}
	assert_true(chi_square(count, PORTS, 800) < CHI_SQUARE_MAX);
	bed_end(&a);
	bed_end(&b);
}

static void test_spray_spreads_one_flows_packets(void **state)
{
	unsigned count[PORTS] = {0};
	struct bed b;

	route_bed(&b, RS_ROUTE_SPRAY, PORTS);
	for (unsigned i = 0; i < 4000; i++)
		count[way(&b, 1, BED_FAR, 49152, 0, false) - 8]++;
	assert_true(chi_square(count, PORTS, 4000) < CHI_SQUARE_MAX);
	bed_end(&b);
}

static void test_adaptive_takes_the_least_queue(void **state)
{
	unsigned count[PORTS] = {0};
	struct bed b;

	route_bed(&b, RS_ROUTE_ADAPTIVE, PORTS);
	/* packets that stay: each round of eight fills each port once */
	for (unsigned round = 1; round < 20; round++) {
		for (unsigned i = 0; i < PORTS; i++)
			count[way(&b, 1, BED_FAR, 49152, 0, true) - 8]++;
		for (unsigned i = 0; i < PORTS; i++)
			assert_int_equal(count[i], round);
	}
	assert_int_equal(bed_out(&b, 11, 0), 0);
	assert_int_equal(way(&b, 1, BED_FAR, 49152, 0, true), 11);
	bed_end(&b);
	/* among empty ones none is preferred */
	memset(count, 0, sizeof(count));
	route_bed(&b, RS_ROUTE_ADAPTIVE, PORTS);
	for (unsigned i = 0; i < 4000; i++)
		count[way(&b, 1, BED_FAR, 49152, 0, false) - 8]++;
	assert_true(chi_square(count, PORTS, 4000) < CHI_SQUARE_MAX);
	bed_end(&b);
}

/* While packets follow within the gap they share a way, however full; after it the least queue. */
static void test_a_flowlet_keeps_its_way_until_a_gap(void **state)
{
	struct bed b;
	rs_time now = RS_MS;
	int first, next;

	route_bed(&b, RS_ROUTE_FLOWLET, PORTS);
	first = way(&b, 1, BED_FAR, 49152, now, true);
	for (unsigned i = 0; i < 20; i++) {
		now += 10 * RS_US;
		assert_int_equal(way(&b, 1, BED_FAR, 49152, now, true), first);
	}
	now += 10 * RS_US + 1;
	next = way(&b, 1, BED_FAR, 49152, now, true);
	assert_int_not_equal(next, first);
	assert_int_equal(way(&b, 1, BED_FAR, 49152, now, true), next);
	bed_end(&b);
}

static void test_flowlets_of_flows_are_apart(void **state)
{
	unsigned count[PORTS] = {0};
	struct bed b;

	route_bed(&b, RS_ROUTE_FLOWLET, PORTS);
	for (unsigned f = 0; f < 4000; f++)
		count[way(&b, f, BED_FAR + f % 7, (uint16_t)f, RS_MS + f * RS_US, false) - 8]++;
	assert_true(chi_square(count, PORTS, 4000) < CHI_SQUARE_MAX);
	bed_end(&b);
}

/* LetFlow: any port, its own among them, whatever waits there. */
static void test_a_flowlet_may_take_any_port_at_random(void **state)
{
	unsigned count[PORTS] = {0}, before = 0;
	rs_time now = RS_MS;
	struct bed b;

	route_bed(&b, RS_ROUTE_FLOWLET, PORTS);
	rs_switch_destroy(b.sw);
	b.c.flowlet_random = true;
	bed_start(&b);
	for (unsigned i = 0; i < 4000; i++) {
		unsigned at = (unsigned)way(&b, 1, BED_FAR, 49152, now, i < 8) - 8;

		assert_true(!i || i % 2 == 0 || at == before);
		count[at] += i % 2 == 0;
		before = at;
		now += i % 2 ? 11 * RS_US : 9 * RS_US;
	}
	assert_true(chi_square(count, PORTS, 2000) < CHI_SQUARE_MAX);
	bed_end(&b);
}

/* As the packet says, a byte a choice; the next switch reads the next byte. */
static void test_placed_goes_where_the_packet_says(void **state)
{
	struct rs_packet *p;
	struct bed b;

	route_bed(&b, RS_ROUTE_PLACED, PORTS);
	for (unsigned d = 0; d < 40; d++) {
		p = bed_packet(&b, 0, BED_FAR + d, 1000);
		p->number = 0x0700 | d;
		assert_int_equal(rs_switch_rx(b.sw, 0, p, 0, 0), 8 + d % PORTS);
		assert_int_equal(p->number, 7);
		assert_int_equal(bed_out(&b, 8 + d % PORTS, 0), 0);
	}
	bed_end(&b);
}

static void test_pinned_flows_take_the_given_port_and_others_the_hash(void **state)
{
	static uint32_t first[2 * BED_FAR + 1];
	static const uint16_t pin[] = {12, RS_UNPINNED};
	const struct rs_switch_pins pins = {first, pin, 16};
	struct bed b;
	int hashed;

	for (unsigned e = BED_FAR + 1; e <= 2 * BED_FAR; e++)
		first[e] = 2;
	route_bed(&b, RS_ROUTE_ECMP, PORTS);
	hashed = way(&b, 1, BED_FAR, 49152, 0, false);
	assert_int_not_equal(hashed, 12);
	rs_switch_pin(b.sw, &pins);
	for (unsigned qp = 15; qp < 20; qp++) {
		struct rs_packet *p = bed_packet(&b, 0, BED_FAR, 1000);

		p->src = 1;
		p->sport = 49152;
		p->dest_qp = qp;
		assert_int_equal(rs_switch_rx(b.sw, 0, p, 0, 0), qp == 16 ? 12 : hashed);
	}
	bed_end(&b);
}

/* ---- Other hashes ---- */

static void hash_bed(struct bed *b, unsigned n, struct rs_hashing h, uint32_t id)
{
	route_bed(b, RS_ROUTE_HASHED, n);
	again(b, h, (struct rs_adaptive){0}, id);
}

enum { ALL_FIELDS = RS_HASH_SRC | RS_HASH_DST | RS_HASH_SPORT };

static void test_what_is_not_hashed_does_not_choose(void **state)
{
	static const uint8_t functions[] = {RS_HASH_MIX, RS_HASH_CRC32, RS_HASH_XOR};

	for (unsigned i = 0; i < 3; i++) {
		struct rs_hashing pair = {functions[i], RS_HASH_SRC | RS_HASH_DST, false};
		struct rs_hashing sport = {functions[i], RS_HASH_SPORT, false};
		struct bed b;
		int to;

		hash_bed(&b, PORTS, pair, 1);
		to = way(&b, 3, BED_FAR + 4, 49152, 0, false);
		for (uint16_t s = 0; s < 100; s++)
			assert_int_equal(way(&b, 3, BED_FAR + 4, s, 0, false), to);
		again(&b, sport, (struct rs_adaptive){0}, 1);
		to = way(&b, 3, BED_FAR, 49152, 0, false);
		for (unsigned s = 0; s < 100; s++)
			assert_int_equal(way(&b, s, BED_FAR + s, 49152, 0, false), to);
		bed_end(&b);
	}
}

static void test_hashes_spread_flows_evenly(void **state)
{
	static const uint8_t functions[] = {RS_HASH_MIX, RS_HASH_CRC32, RS_HASH_XOR};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned n = 2; n <= PORTS; n++) {
			struct rs_hashing h = {functions[i], ALL_FIELDS, false};
			struct rs_random r = rs_random_stream(7, i, n);
			unsigned count[PORTS] = {0};
			struct bed b;

			hash_bed(&b, n, h, 1);
			for (unsigned f = 0; f < 900; f++)
				count[way(&b, rs_random_below(&r, 4096),
					  BED_FAR + rs_random_below(&r, BED_FAR),
					  (uint16_t)rs_random_below(&r, 65536), 0, false) -
				      8]++;
			assert_true(chi_square(count, n, 900) < CHI_SQUARE_MAX);
			bed_end(&b);
		}
}

/* XOR keeps what flows have in common: source ports in a row are dealt out in turn, and flows whose
 * source and destination differ alike share one path. */
static void test_xor_keeps_flows_alike(void **state)
{
	struct rs_hashing h = {RS_HASH_XOR, ALL_FIELDS, false};
	unsigned count[PORTS] = {0};
	struct bed b;
	int to;

	hash_bed(&b, PORTS, h, 1);
	for (unsigned f = 0; f < 100 * PORTS; f++)
		count[way(&b, 1, BED_FAR, (uint16_t)(49152 + f), 0, false) - 8]++;
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(count[i], 100);
	to = way(&b, BED_FAR ^ 5, BED_FAR, 49152, 0, false);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(way(&b, (BED_FAR + i) ^ 5, BED_FAR + i, 49152, 0, false), to);
	bed_end(&b);
}

/* Polarisation: behind a switch with the same seed one of 8 ports has all the traffic. */
static void test_one_seed_for_all_polarises(void **state)
{
	static const uint8_t functions[] = {RS_HASH_MIX, RS_HASH_CRC32, RS_HASH_XOR};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned same = 0; same < 2; same++) {
			struct rs_hashing h = {functions[i], ALL_FIELDS, same};
			unsigned count[PORTS] = {0}, n = 0, used = 0;
			struct bed a, b;

			hash_bed(&a, PORTS, h, 1);
			hash_bed(&b, PORTS, h, 2);
			for (unsigned f = 0; n < 200; f++)
				if (way(&a, f % 97, BED_FAR + f % 13, (uint16_t)(f * 7), 0,
					false) == 11) {
					count[way(&b, f % 97, BED_FAR + f % 13, (uint16_t)(f * 7),
						  0, false) -
					      8]++;
					n++;
				}
			for (unsigned k = 0; k < PORTS; k++)
				used += count[k] != 0;
			/* XOR with another seed is the same choice, shifted: polarised too; CRC is
			 * linear alike */
			if (same)
				assert_int_equal(count[3], 200);
			else if (functions[i] == RS_HASH_MIX)
				assert_int_equal(used, PORTS);
			bed_end(&a);
			bed_end(&b);
		}
}

/* ---- Round robin, and adaptive by grades ---- */

static void test_round_robin_deals_out_in_turn(void **state)
{
	for (unsigned n = 2; n <= PORTS; n++) {
		unsigned count[PORTS] = {0};
		struct bed b;
		int last = -1;

		route_bed(&b, RS_ROUTE_ROUND_ROBIN, n);
		for (unsigned i = 0; i < 10 * n; i++) {
			int to = way(&b, i % 3, BED_FAR + i % 5, 49152, 0, false);

			if (last >= 0)
				assert_int_equal(to - 8, (last - 8 + 1) % (int)n);
			last = to;
			count[to - 8]++;
		}
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(count[i], 10);
		bed_end(&b);
	}
}

/* A port leaves the least grade when its queue reaches the threshold: 4 packets of 1000 bytes. */
static void test_grades_hide_what_is_below_them(void **state)
{
	const struct rs_adaptive grades = {.n_grades = 2, .grade = {4000, 8000}};
	struct bed b;

	route_bed(&b, RS_ROUTE_ADAPTIVE, PORTS);
	again(&b, (struct rs_hashing){0}, grades, 1);
	for (unsigned round = 1; round <= 2; round++) {
		unsigned count[PORTS] = {0}, uneven = 0;

		for (unsigned i = 0; i < 4 * PORTS; i++) {
			count[way(&b, 1, BED_FAR, 49152, 0, true) - 8]++;
			for (unsigned k = 0; k < PORTS; k++)
				uneven += count[k] > i / PORTS + 1;
		}
		for (unsigned k = 0; k < PORTS; k++)
			assert_int_equal(count[k], 4);
		assert_true(uneven); /* below a threshold chance rules */
	}
	bed_end(&b);
}

static void test_a_sample_is_as_old_as_it_may_be(void **state)
{
	const struct rs_adaptive sampled = {.sample = RS_US};
	unsigned count[PORTS] = {0}, least = UINT32_MAX;
	struct bed b;
	int to;

	route_bed(&b, RS_ROUTE_ADAPTIVE, PORTS);
	again(&b, (struct rs_hashing){0}, sampled, 1);
	for (unsigned i = 0; i < 800; i++) /* all queues were empty at 0 */
		count[way(&b, 1, BED_FAR, 49152, i * RS_NS, true) - 8]++;
	assert_true(chi_square(count, PORTS, 800) < CHI_SQUARE_MAX);
	for (unsigned i = 0; i < PORTS; i++)
		least = count[i] < least ? count[i] : least;
	assert_true(least < 100); /* exact looks would have dealt out 100 each */
	to = way(&b, 1, BED_FAR, 49152, RS_US, true);
	assert_int_equal(count[to - 8], least);
	bed_end(&b);
}

/* A flow fills its port up to the threshold, then moves. */
static void test_a_sticky_flow_stays_within_its_grade(void **state)
{
	const struct rs_adaptive sticky = {.n_grades = 1, .grade = {4000}, .sticky = true};
	unsigned count[PORTS] = {0};
	struct bed b;

	route_bed(&b, RS_ROUTE_ADAPTIVE, PORTS);
	again(&b, (struct rs_hashing){0}, sticky, 1);
	for (unsigned run = 0; run < PORTS; run++) {
		int at = way(&b, 1, BED_FAR, 49152, 0, true);

		assert_int_equal(count[at - 8]++, 0);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(way(&b, 1, BED_FAR, 49152, 0, true), at);
	}
	bed_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_endpoint_of_this_switch_has_its_port),
		cmocka_unit_test(test_packets_to_nowhere_are_counted_and_dropped),
		cmocka_unit_test(test_a_single_way_needs_no_choice),
		cmocka_unit_test(test_ecmp_spreads_flows_evenly_and_keeps_each_on_its_way),
		cmocka_unit_test(test_two_switches_hash_independently),
		cmocka_unit_test(test_spray_spreads_one_flows_packets),
		cmocka_unit_test(test_adaptive_takes_the_least_queue),
		cmocka_unit_test(test_a_flowlet_keeps_its_way_until_a_gap),
		cmocka_unit_test(test_flowlets_of_flows_are_apart),
		cmocka_unit_test(test_a_flowlet_may_take_any_port_at_random),
		cmocka_unit_test(test_placed_goes_where_the_packet_says),
		cmocka_unit_test(test_what_is_not_hashed_does_not_choose),
		cmocka_unit_test(test_hashes_spread_flows_evenly),
		cmocka_unit_test(test_xor_keeps_flows_alike),
		cmocka_unit_test(test_one_seed_for_all_polarises),
		cmocka_unit_test(test_round_robin_deals_out_in_turn),
		cmocka_unit_test(test_grades_hide_what_is_below_them),
		cmocka_unit_test(test_a_sample_is_as_old_as_it_may_be),
		cmocka_unit_test(test_a_sticky_flow_stays_within_its_grade),
		cmocka_unit_test(test_pinned_flows_take_the_given_port_and_others_the_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
