/* Paths and what comes out of them, each against its closed form (docs/host.md). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "base/time.h"
#include "host/host.h"
#include "unit/host/hosts.h"

static const struct rs_pcie gen5x16 = {5, 16, 256, 512};

static struct rs_bus *bus_of(struct sample *s, const struct rs_host_params *p)
{
	struct rs_error e = {0};
	struct rs_bus *b = NULL;

	assert_int_equal(rs_bus_create(&s->host, p, &b, &e), 0);
	return b;
}

static struct rs_path path_of(const struct rs_bus *b, int from, int to)
{
	struct rs_path p;

	assert_int_equal(rs_bus_path(b, from, to, false, &p), 0);
	return p;
}

static void assert_near(double got, double want, double share)
{
	if (got < want * (1 - share) || got > want * (1 + share))
		fail_msg("got %g, want %g within %g%%", got, want, share * 100);
}

/* Bits per second of a stream of writes of n bytes, each posted when the one before had left. */
static double write_stream(struct rs_bus *b, const struct rs_path *p, uint32_t n, int count)
{
	rs_time at = 0, done = 0, from = 0;

	for (int i = 0; i < count; i++) {
		done = rs_bus_write(b, p, n, at, &at);
		if (i == count / 2)
			from = done;
	}
	return 8.0 * n * (count - 1 - count / 2) / ((double)(done - from) / (double)RS_S);
}

static double read_stream(struct rs_bus *b, const struct rs_path *p, uint32_t n, int count)
{
	rs_time done = 0, from = 0;

	for (int i = 0; i < count; i++) {
		done = rs_bus_read(b, p, n, 0, NULL);
		if (i == count / 2)
			from = done;
	}
	return 8.0 * n * (count - 1 - count / 2) / ((double)(done - from) / (double)RS_S);
}

/* Time of so many bytes at a Gen5 x16 link's usable rate. */
static rs_time wire(uint32_t bytes)
{
	return rs_pace_time(rs_pace_of((int64_t)((double)rs_pcie_rate(&gen5x16) *
						 rs_host_defaults.dll_efficiency)),
			    bytes);
}

static rs_time idle_write(const char *cpu, int from, int to)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;
	rs_time t;

	sample_host(&s, cpu, gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, from, to);
	t = rs_bus_write(b, &p, 8, 0, NULL);
	rs_bus_destroy(b);
	return t;
}

static void test_idle_read_round_trip_of_host_memory_is_550_ns(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "genoa", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, S0);
	assert_int_equal(rs_bus_read(b, &p, 64, 0, NULL), 550 * RS_NS + wire(24) + wire(84));
	rs_bus_destroy(b);
}

static void test_idle_read_round_trip_of_a_gpu_behind_one_switch_is_600_ns(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "genoa", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC0, GPU0);
	assert_int_equal(rs_bus_read(b, &p, 64, 0, NULL),
			 600 * RS_NS + 2 * wire(24) + 2 * wire(84));
	rs_bus_destroy(b);
}

static void test_idle_write_latency_is_the_sum_of_the_path(void **state)
{
	const rs_time t = wire(32), hop = 50 * RS_NS; /* genoa */

	/* to host memory: a link and the root complex's 200 ns */
	assert_int_equal(idle_write("genoa", NIC1, S0), 225 * RS_NS + t);
	assert_in_range(idle_write("genoa", NIC1, S1), 225 * RS_NS + hop + t,
			225 * RS_NS + hop + t + 100); /* 8 bytes on the hop */
	/* PIX: link, switch, link. PXB: two more of each */
	assert_int_equal(idle_write("genoa", NIC0, GPU0), (25 + 105 + 25 + 200) * RS_NS + 2 * t);
	assert_int_equal(idle_write("genoa", NIC0, GPU1), (4 * 25 + 3 * 105 + 200) * RS_NS + 4 * t);
	/* PHB: a turn in the root complex; SYS: two, and the hop */
	assert_in_range(idle_write("genoa", NIC1, GPU2), 400 * RS_NS + 2 * t, 400 * RS_NS + 4 * t);
	assert_in_range(idle_write("genoa", NIC1, GPU3), 550 * RS_NS + hop + 2 * t,
			550 * RS_NS + hop + 2 * t + 6 * RS_NS);
}

/* Measured on a dual Genoa host: 0.05 to 0.20 us more on the other socket (docs/models.md). */
static void test_far_socket_costs_a_gpu_write_at_most_200_ns_on_genoa(void **state)
{
	rs_time more = idle_write("genoa", NIC1, GPU3) - idle_write("genoa", NIC1, GPU2);

	assert_in_range(more, 50 * RS_NS, 205 * RS_NS);
}

static void test_lone_write_stream_gets_the_link(void **state)
{
	static const uint16_t mps[] = {128, 256, 512};

	for (int i = 0; i < 3; i++) {
		struct rs_pcie up = {4, 16, mps[i], 512};
		struct sample s;
		struct rs_bus *b;
		struct rs_path p;

		sample_host(&s, "genoa", up);
		b = bus_of(&s, NULL);
		p = path_of(b, NIC0, GPU0);
		assert_near(write_stream(b, &p, 4096, 4000),
			    (double)rs_pcie_write_goodput(&up, &rs_host_defaults), 0.001);
		assert_near((double)rs_path_write_rate(b, &p, 4096),
			    (double)rs_pcie_write_goodput(&up, &rs_host_defaults), 0.001);
		rs_bus_destroy(b);
	}
}

static void test_slot_trained_at_gen4_x8_halves_and_halves_again(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "genoa", gen5x16);
	s.parts[NIC0].up = (struct rs_pcie){4, 8, 256, 512};
	b = bus_of(&s, NULL);
	p = path_of(b, NIC0, GPU0);
	assert_near(write_stream(b, &p, 4096, 4000), 460.9e9 * 0.97 / 4, 0.001);
	rs_bus_destroy(b);
}

/* Posted credits: data 8 KiB a 400 ns is 164 Gb/s, 32 KiB 655; at MPS 128 128 headers bind, 328. */
static void test_posted_credits_bound_writes(void **state)
{
	static const struct {
		uint32_t data, headers;
		uint16_t mps;
		double rate;
	} t[] = {{512, 128, 256, 163.84e9},
		 {2048, 128, 256, 655.36e9},
		 {2048, 128, 128, 327.68e9},
		 {1024, 128, 512, 327.68e9},
		 {2048, 16, 256, 81.92e9}};

	for (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct rs_host_params hp = rs_host_defaults;
		struct rs_pcie up = {6, 16, t[i].mps, 512};
		struct sample s;
		struct rs_bus *b;
		struct rs_path p;

		hp.posted_data_credits = t[i].data;
		hp.posted_header_credits = t[i].headers;
		sample_host(&s, "genoa", up);
		b = bus_of(&s, &hp);
		p = path_of(b, NIC0, GPU0);
		assert_near(write_stream(b, &p, 4096, 4000), t[i].rate, 0.002);
		assert_near((double)rs_path_write_rate(b, &p, 4096), t[i].rate, 0.001);
		rs_bus_destroy(b);
	}
}

/* Little's law: tags * MRRS / latency, the latency being an idle request's own. */
static void test_outstanding_reads_bound_the_rate_by_littles_law(void **state)
{
	static const struct {
		uint32_t tags;
		uint16_t mrrs;
	} t[] = {{32, 512}, {64, 512}, {256, 128}, {32, 128}, {256, 512}};
	static const int latency_ns[] = {600, 1000, 1500};

	for (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++)
		for (unsigned j = 0; j < 3; j++) {
			struct rs_host_params hp = rs_host_defaults;
			struct rs_pcie up = {6, 32, 256, t[i].mrrs};
			double bytes, alone;
			struct sample s;
			struct rs_bus *b;
			struct rs_path p;

			hp.tags = t[i].tags;
			hp.dram_read = (latency_ns[j] - 50) * RS_NS;
			sample_host(&s, "genoa", up);
			b = bus_of(&s, &hp);
			p = path_of(b, NIC1, S0);
			alone = (double)rs_bus_read(b, &p, t[i].mrrs, 0, NULL) / (double)RS_S;
			bytes = t[i].tags * (double)t[i].mrrs;
			bytes = bytes < 131072 ? bytes : 131072; /* a Gen6 slot's buffer */
			assert_near(alone, latency_ns[j] * 1e-9, 0.01);
			assert_near(read_stream(b, &p, 4096, 4000), bytes * 8 / alone, 0.01);
			assert_near((double)rs_path_read_rate(b, &p, 4096), bytes * 8 / alone,
				    0.01);
			rs_bus_destroy(b);
		}
}

static void test_two_flows_share_a_link_alike(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p[2];
	rs_time at[2] = {0, 0};
	double bytes[2] = {0, 0}, rate;

	sample_host(&s, "genoa", gen5x16);
	b = bus_of(&s, NULL);
	p[0] = path_of(b, NIC1, GPU0); /* equally long; both cross socket0->pci0->gpu0 */
	p[1] = path_of(b, GPU2, GPU0);
	while (at[0] < 100 * RS_US || at[1] < 100 * RS_US) {
		int i = at[1] < at[0];

		rs_bus_write(b, &p[i], 4096, at[i], &at[i]);
		at[i] = rs_bus_write_ready(b, &p[i], 4096, at[i]);
		if (at[i] < 100 * RS_US)
			bytes[i] += 4096;
	}
	rate = (double)rs_path_write_rate(b, &p[0], 4096) * 100e-6 / 8;
	assert_near(bytes[0] + bytes[1], rate, 0.02);
	assert_near(bytes[0], rate / 2, 0.02);
	assert_near(bytes[0], bytes[1], 0.01);
	rs_bus_destroy(b);
}

/* SYS: the least of the port, the link and the root complexes' peer-to-peer of the CPU's class. */
static void test_far_socket_gives_min_of_link_and_peer_to_peer(void **state)
{
	static const struct {
		const char *cpu;
		double gbytes;
	} t[] = {{"skl", 11},  {"icx", 11},   {"spr", 22},   {"emr", 40},    {"gnr", 40},
		 {"rome", 16}, {"milan", 16}, {"genoa", 39}, {"turin", 1000}};
	static const uint8_t gens[] = {4, 5}; /* what 200G and 400G need */

	for (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++)
		for (unsigned j = 0; j < 2; j++) {
			struct rs_pcie up = {gens[j], 16, 256, 512};
			struct sample s;
			struct rs_bus *b;
			struct rs_path p;
			double link, want;

			sample_host(&s, t[i].cpu, up);
			b = bus_of(&s, NULL);
			p = path_of(b, NIC1, GPU3);
			link = (double)rs_pcie_write_goodput(&up, &rs_host_defaults);
			want = link < t[i].gbytes * 8e9 ? link : t[i].gbytes * 8e9;
			assert_near(write_stream(b, &p, 4096, 4000), want, 0.002);
			assert_near(read_stream(b, &p, 4096, 4000),
				    want < link ? want : link * 280 / 276, 0.005);
			rs_bus_destroy(b);
		}
}

/* On Xeon the root complex passes on TLPs of 64 bytes. */
static void test_near_root_cuts_tlps_on_xeon_and_leaves_them_on_epyc(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;
	double link = (double)rs_pcie_write_goodput(&gen5x16, &rs_host_defaults);

	sample_host(&s, "spr", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, GPU2);
	assert_near(write_stream(b, &p, 4096, 4000),
		    (double)rs_pcie_rate(&gen5x16) * 0.97 * 64 / 88, 0.002);
	rs_bus_destroy(b);
	sample_host(&s, "genoa", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, GPU2);
	assert_near(write_stream(b, &p, 4096, 4000), link, 0.002);
	rs_bus_destroy(b);
}

/* A narrow slot loses nothing to it: the wide port that the TLPs leave by has room for their heads.
 */
static void test_a_narrow_slot_loses_nothing_in_the_root(void **state)
{
	struct rs_pcie narrow = {5, 8, 256, 512};
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "spr", gen5x16);
	s.parts[NIC1].up = narrow;
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, GPU2);
	assert_near(write_stream(b, &p, 4096, 4000),
		    (double)rs_pcie_write_goodput(&narrow, &rs_host_defaults), 0.002);
	rs_bus_destroy(b);
}

/* Genoa: 39 GB/s one way, 64 both ways together. */
static void test_both_ways_across_sockets_share_on_genoa(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p[2];
	rs_time at[2] = {0, 0};
	double bytes[2] = {0, 0};

	sample_host(&s, "genoa", gen5x16);
	b = bus_of(&s, NULL);
	p[0] = path_of(b, GPU2, GPU3);
	p[1] = path_of(b, GPU3, GPU2);
	while (at[0] < 100 * RS_US || at[1] < 100 * RS_US) {
		int i = at[1] < at[0];

		rs_bus_write(b, &p[i], 4096, at[i], &at[i]);
		at[i] = rs_bus_write_ready(b, &p[i], 4096, at[i]);
		if (at[i] < 100 * RS_US)
			bytes[i] += 4096;
	}
	assert_near(bytes[0] + bytes[1], 64e9 * 100e-6, 0.02);
	assert_near(bytes[0], bytes[1], 0.02);
	rs_bus_destroy(b);
}

static void test_host_memory_is_bound_by_neither_peer_to_peer(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path near, far;
	double link = (double)rs_pcie_write_goodput(&gen5x16, &rs_host_defaults);

	sample_host(&s, "spr", gen5x16);
	b = bus_of(&s, NULL);
	near = path_of(b, NIC1, S0);
	far = path_of(b, NIC1, S1);
	assert_near((double)rs_path_write_rate(b, &near, 4096), link, 0.002);
	assert_near((double)rs_path_write_rate(b, &far, 4096), link, 0.002);
	assert_near(write_stream(b, &far, 4096, 4000), link, 0.002);
	rs_bus_destroy(b);
}

/* A NIC whose buffer empties into a slow path must feel it: the credits come back late. */
static void test_slow_hop_down_the_path_holds_the_initiator_back(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;
	rs_time left = 0, seen = 0;

	sample_host(&s, "skl", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, GPU3);
	for (int i = 0; i < 2000; i++)
		seen = rs_bus_write(b, &p, 4096, 0, &left);
	/* what has left and is not there: the credits' 32 KiB at 11 GB/s, and the path */
	assert_true(seen - left < 32768 * INT64_C(91) + 2 * RS_US);
	rs_bus_destroy(b);
}

static void test_socket_direct_is_local_to_both_sockets(void **state)
{
	const struct rs_pcie x8 = {5, 8, 256, 512};
	struct sample s;
	struct rs_bus *b;
	struct rs_path to0, to1, g0, g1;
	rs_time t0, t1;

	sample_host(&s, "spr", gen5x16);
	s.parts[NIC1].up = s.parts[NIC1].up2 = x8;
	s.parts[NIC1].parent2 = S1;
	b = bus_of(&s, NULL);
	to0 = path_of(b, NIC1, S0);
	to1 = path_of(b, NIC1, S1);
	g0 = path_of(b, NIC1, GPU2);
	g1 = path_of(b, NIC1, GPU3);
	t0 = rs_bus_write(b, &to0, 8, 0, NULL);
	t1 = rs_bus_write(b, &to1, 8, 0, NULL);
	assert_in_range(t0 > t1 ? t0 - t1 : t1 - t0, 0, 30 * RS_NS);
	assert_int_equal(g0.distance, RS_DIST_PHB);
	assert_int_equal(g1.distance, RS_DIST_PHB);
	assert_int_equal(g0.fixed, g1.fixed);
	assert_near((double)rs_path_write_rate(b, &to0, 4096), 230.4e9 * 0.97, 0.001);
	assert_near((double)rs_path_write_rate(b, &to1, 4096), 230.4e9 * 0.97, 0.001);
	rs_bus_destroy(b);
}

static void test_nvlink_gives_its_rate_through_the_switch_or_directly(void **state)
{
	struct rs_xlink x[] = {{GPU0, N_PARTS, RS_XLINK_NVLINK, 0, -1, 0},
			       {GPU1, N_PARTS, RS_XLINK_NVLINK, 0, -1, 0},
			       {GPU2, GPU3, RS_XLINK_NVLINK, 100 * RS_GBPS, -1, 0},
			       {GPU2, GPU3, RS_XLINK_NVLINK, 100 * RS_GBPS, -1, 0}};
	struct rs_part parts[N_PARTS + 1];
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "spr", gen5x16);
	memcpy(parts, s.parts, sizeof(s.parts));
	parts[N_PARTS] = part_of("nvs", RS_PART_NVSWITCH, RS_NO_PART, (struct rs_pcie){0});
	parts[GPU0].model = parts[GPU1].model = "H100";
	s.host.parts = parts;
	s.host.n_parts = N_PARTS + 1;
	s.host.xlinks = x;
	s.host.n_xlinks = 4;
	b = bus_of(&s, NULL);
	assert_int_equal(rs_bus_path(b, GPU0, GPU1, true, &p), 0);
	assert_int_equal(p.distance, RS_DIST_NVLINK);
	assert_int_equal(p.fixed, RS_US);
	assert_near(write_stream(b, &p, 1 << 20, 100), 3600e9, 0.001);
	assert_int_equal(rs_bus_path(b, GPU2, GPU3, true, &p), 0);
	assert_near(write_stream(b, &p, 1 << 20, 100), 200e9, 0.001);
	assert_int_equal(rs_bus_path(b, GPU0, GPU3, true, &p), -ENOENT);
	rs_bus_destroy(b);
}

static void test_unknown_link_does_not_limit_and_is_flagged(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, NULL, gen5x16);
	s.parts[GPU2].up = s.parts[NIC1].up = (struct rs_pcie){0};
	b = bus_of(&s, NULL);
	p = path_of(b, NIC0, GPU0);
	assert_false(p.unknown);
	p = path_of(b, NIC1, GPU2);
	assert_true(p.unknown);
	p = path_of(b, NIC0, GPU3); /* the CPU's class is unknown: the hop does not limit */
	assert_true(p.unknown);
	assert_near((double)rs_path_write_rate(b, &p, 4096),
		    (double)rs_pcie_write_goodput(&gen5x16, &rs_host_defaults), 0.001);
	rs_bus_destroy(b);
}

static void test_part_of_unknown_place_has_a_path_marked_unknown(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "spr", gen5x16);
	s.parts[GPU3].parent = RS_NO_PART;
	b = bus_of(&s, NULL);
	p = path_of(b, NIC0, GPU3);
	assert_true(p.unknown);
	assert_int_equal(p.distance, RS_DIST_UNKNOWN);
	assert_true(rs_bus_write(b, &p, 4096, 7, NULL) > 7);
	assert_int_equal(rs_bus_path(b, NIC0, PCI0, false, &p), -ENOENT);
	rs_bus_destroy(b);
}

static void test_link_statistics_count_bytes_and_busy_time(void **state)
{
	struct rs_bus_link_stat st, hop = {{0}, 0, 0, 0};
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;

	sample_host(&s, "spr", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, GPU3);
	rs_bus_write(b, &p, 4096, 0, NULL);
	for (int i = 0; i < rs_bus_links(b); i++) {
		rs_bus_link_stat(b, i, &st);
		if (!strcmp(st.name, "socket0->socket1"))
			hop = st;
		if (!strcmp(st.name, "nic1->socket0")) {
			assert_int_equal(st.bytes, 4096 + 16 * 24);
			assert_int_equal(st.busy, wire(4096 + 16 * 24));
		}
	}
	assert_int_equal(hop.bytes, 4096);
	rs_bus_destroy(b);
}

/* GPU and NIC on two sockets: what the NIC moves, the hop moves, in the direction that it takes. */
static void test_every_byte_of_a_far_gpu_crosses_the_hop_once(void **state)
{
	struct sample s;
	struct rs_bus *b;
	struct rs_path p;
	uint64_t bytes[2] = {0};

	sample_host(&s, "spr", gen5x16);
	b = bus_of(&s, NULL);
	p = path_of(b, NIC1, GPU3);
	write_stream(b, &p, 4096, 1000);
	read_stream(b, &p, 4096, 500);
	for (int i = 0; i < rs_bus_links(b); i++) {
		struct rs_bus_link_stat l;

		rs_bus_link_stat(b, i, &l);
		if (!strcmp(l.name, "socket0->socket1"))
			bytes[0] = l.bytes;
		if (!strcmp(l.name, "socket1->socket0"))
			bytes[1] = l.bytes;
	}
	assert_int_equal(bytes[0], 1000 * 4096);
	assert_int_equal(bytes[1], 500 * 4096);
	rs_bus_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_read_round_trip_of_host_memory_is_550_ns),
		cmocka_unit_test(test_idle_read_round_trip_of_a_gpu_behind_one_switch_is_600_ns),
		cmocka_unit_test(test_idle_write_latency_is_the_sum_of_the_path),
		cmocka_unit_test(test_far_socket_costs_a_gpu_write_at_most_200_ns_on_genoa),
		cmocka_unit_test(test_lone_write_stream_gets_the_link),
		cmocka_unit_test(test_slot_trained_at_gen4_x8_halves_and_halves_again),
		cmocka_unit_test(test_posted_credits_bound_writes),
		cmocka_unit_test(test_outstanding_reads_bound_the_rate_by_littles_law),
		cmocka_unit_test(test_two_flows_share_a_link_alike),
		cmocka_unit_test(test_far_socket_gives_min_of_link_and_peer_to_peer),
		cmocka_unit_test(test_every_byte_of_a_far_gpu_crosses_the_hop_once),
		cmocka_unit_test(test_a_narrow_slot_loses_nothing_in_the_root),
		cmocka_unit_test(test_both_ways_across_sockets_share_on_genoa),
		cmocka_unit_test(test_near_root_cuts_tlps_on_xeon_and_leaves_them_on_epyc),
		cmocka_unit_test(test_host_memory_is_bound_by_neither_peer_to_peer),
		cmocka_unit_test(test_slow_hop_down_the_path_holds_the_initiator_back),
		cmocka_unit_test(test_socket_direct_is_local_to_both_sockets),
		cmocka_unit_test(test_nvlink_gives_its_rate_through_the_switch_or_directly),
		cmocka_unit_test(test_unknown_link_does_not_limit_and_is_flagged),
		cmocka_unit_test(test_part_of_unknown_place_has_a_path_marked_unknown),
		cmocka_unit_test(test_link_statistics_count_bytes_and_busy_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
