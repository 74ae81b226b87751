/* Stamps of in-band telemetry: what goes in comes out, to a unit, and counters start anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/random.h"
#include "wire/frame.h"
#include "wire/framing.h"
#include "wire/filler.h"
#include "wire/telemetry.h"

static void test_units_grow_with_the_nics_rate(void **state)
{
	assert_int_equal(rs_int_scale(10 * RS_GBPS), 1);
	assert_int_equal(rs_int_scale(25 * RS_GBPS), 1);
	assert_int_equal(rs_int_scale(50 * RS_GBPS), 2);
	assert_int_equal(rs_int_scale(100 * RS_GBPS), 4);
	assert_int_equal(rs_int_scale(400 * RS_GBPS), 16);
	assert_int_equal(rs_int_wrap(4), (UINT64_C(1) << 20) * 512);
}

static void test_a_rate_reads_as_the_fastest_not_above_it(void **state)
{
	static const struct {
		int64_t rate, reads;
	} table[] = {{100 * RS_GBPS, 100 * RS_GBPS},
		     {25 * RS_GBPS, 25 * RS_GBPS},
		     {99 * RS_GBPS, 50 * RS_GBPS},
		     {800 * RS_GBPS, 800 * RS_GBPS},
		     {RS_MBPS, RS_GBPS},
		     {INT64_C(9000) * RS_GBPS, 3200 * RS_GBPS}};
	struct rs_int_stamp s;

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t raw = rs_int_pack(rs_int_rate_code(table[i].rate, 1), 0, 0, 0, 1);

		assert_true(raw != 0); /* a stamp is never taken for an empty place */
		rs_int_unpack(raw, 1, &s);
		assert_int_equal(s.rate, table[i].reads);
	}
}

static void test_what_goes_in_comes_out_to_a_unit(void **state)
{
	struct rs_random r = rs_random_stream(7, 1, 1);
	struct rs_int_stamp s;

	for (unsigned i = 0; i < 100000; i++) {
		uint32_t scale = 1u << rs_random_below(&r, 6);
		rs_time now = (rs_time)(rs_random_u64(&r) >> 14);
		uint64_t sent = rs_random_u64(&r) >> 10, queue = rs_random_u64(&r) >> 44;
		uint64_t most = UINT64_C(65535) * 80 * scale, unit = UINT64_C(80) * scale;

		rs_int_unpack(rs_int_pack(6, now, sent, queue, scale), scale, &s);
		assert_int_equal(s.time, (uint64_t)(now / 1000) % (1 << 24));
		assert_int_equal(s.sent, sent % rs_int_wrap(scale) / (128 * scale) * (128 * scale));
		assert_int_equal(s.queue, queue / unit * unit < most ? queue / unit * unit : most);
	}
}

static void test_a_sixth_hop_is_not_recorded(void **state)
{
	struct rs_packet p;

	memset(&p, 0, sizeof(p));
	for (uint64_t i = 1; i <= 6; i++)
		rs_int_push(&p, i, 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(p.int_hop[i], i + 1);
}

static void test_the_bytes_are_on_the_wire(void **state)
{
	static const uint8_t ops[] = {RS_OP_WRITE_MIDDLE, RS_OP_WRITE_FIRST, RS_OP_ACKNOWLEDGE};
	uint8_t payload[1024] = {0}, bytes[2048];
	struct rs_frame f;

	rs_frame_of_endpoints(&f, 1, 2, false);
	for (unsigned i = 0; i < sizeof(ops); i++) {
		uint32_t n = ops[i] == RS_OP_ACKNOWLEDGE ? 0 : sizeof(payload);
		struct rs_packet p = {.opcode = ops[i],
				      .bth_flags = RS_PACKET_INT,
				      .payload_bytes = (uint16_t)n,
				      .payload = payload,
				      .int_hop = {UINT64_C(0x6102030405060708), 9}};
		long length = rs_frame_encode(&f, &p, bytes, sizeof(bytes));
		const uint8_t *at = bytes + 14 + 20 + 8 + 12 + rs_opcodes[ops[i]].ext_bytes;
		static const uint8_t expect[] = {0, 2, 0x61, 2, 3, 4, 5, 6, 7,
						 8, 0, 0,    0, 0, 0, 0, 0, 9};

		assert_int_equal(length + RS_FCS_BYTES,
				 rs_frame_bytes(ops[i], n, false) + RS_INT_BYTES);
		assert_memory_equal(at, expect, sizeof(expect));
	}
}

static void test_frames_are_as_long_as_the_framing_says(void **state)
{
	const struct rs_framing *roce = &rs_framings[RS_FRAMING_ROCEV2];
	const struct rs_framing *ns3 = &rs_framings[RS_FRAMING_NS3];

	assert_int_equal(rs_framing_data(roce, RS_OP_WRITE_MIDDLE, 1024, false, 0),
			 rs_frame_bytes(RS_OP_WRITE_MIDDLE, 1024, false));
	assert_int_equal(rs_framing_data(ns3, RS_OP_WRITE_FIRST, 1000, false, 0), 1048);
	assert_int_equal(rs_framing_data(ns3, RS_OP_WRITE_LAST, 10, false, 0), 58);
	assert_int_equal(rs_framing_data(ns3, RS_OP_WRITE_MIDDLE, 1000, false, RS_INT_BYTES), 1090);
	assert_int_equal(rs_framing_ack(roce, false, 0),
			 rs_frame_bytes(RS_OP_ACKNOWLEDGE, 0, false));
	assert_int_equal(rs_framing_ack(ns3, false, 0), 60);
	assert_int_equal(rs_framing_ack(ns3, false, RS_INT_BYTES), 88);
}

static void test_a_clock_of_nanoseconds_cuts_and_never_sees_a_full_one(void **state)
{
	struct rs_pace p = rs_pace_of(100 * RS_GBPS);

	assert_int_equal(rs_framing_time(p, 1048, false), 83840);
	assert_int_equal(rs_framing_time(p, 1048, true), 83000);
	assert_int_equal(rs_framing_time(p, 1050, true), 83000); /* 84 000 ps: a hair below */
	assert_int_equal(rs_framing_time(p, 60, true), 4000);
	assert_int_equal(rs_framing_time(p, 0, true), 0);
}

/* In software: any rate from 1 Mb/s reads as one that is at most an eighth less. */
static void test_software_has_rates_of_two_digits_and_seconds(void **state)
{
	struct rs_random r = rs_random_stream(8, 1, 1);
	struct rs_int_stamp s;

	for (unsigned i = 0; i < 100000; i++) {
		uint32_t scale = RS_INT_SOFTWARE;
		rs_time now = (rs_time)(rs_random_u64(&r) >> 12);
		uint64_t sent = rs_random_u64(&r) >> 10, queue = rs_random_u64(&r) >> 44;
		int64_t rate = 2 * RS_MBPS + (int64_t)(rs_random_u64(&r) >> (18 + i % 30));
		uint64_t raw = rs_int_pack(rs_int_rate_code(rate, scale), now, sent, queue, scale);

		assert_true(raw != 0);
		rs_int_unpack(raw, scale, &s);
		assert_true(s.rate <= rate && s.rate >= rate / 8 * 7);
		assert_int_equal(s.time_wrap, 1 << 30);
		assert_int_equal(s.time, (uint64_t)(now / 1000) / 1024 * 1024 % s.time_wrap);
		assert_int_equal(s.sent, sent % rs_int_wrap(scale) / 512 * 512);
		assert_int_equal(s.queue, queue / 320 * 320 < 65535u * 320 ? queue / 320 * 320
									   : 65535u * 320);
	}
	for (unsigned i = 0; i < 100000; i++) {
		rs_int_unpack(rs_random_u64(&r), RS_INT_SOFTWARE, &s);
		assert_true(s.rate >= RS_MBPS);
	}
}

static long stamped(uint8_t opcode, bool ipv6, uint8_t *out, size_t cap)
{
	static const uint8_t payload[1000] = {7};
	struct rs_packet p = {.opcode = opcode,
			      .pkey = 0xffff,
			      .dest_qp = 5,
			      .sport = 4791,
			      .int_path = 0x12345678,
			      .int_hop = {1, 2, 3}};
	struct rs_frame f;

	if (rs_opcodes[opcode].flags & RS_F_PAYLOAD) {
		p.payload = payload;
		p.payload_bytes = 999;
	}
	rs_frame_of_endpoints(&f, 3, 4, ipv6);
	f.stamped = true;
	f.bth_reserved = RS_BTH4_STAMPED << 8;
	return rs_frame_encode(&f, &p, out, cap);
}

/* Whatever a switch writes there, the ICRC holds; it is that of the packet without the trailer. */
static void test_a_trailer_is_behind_the_icrc(void **state)
{
	for (unsigned i = 0; i < 256; i++) {
		uint8_t bytes[1400], again[1400];
		struct rs_packet p;
		struct rs_frame f;
		long n;

		if (!rs_int_trailer_may((uint8_t)i))
			continue;
		n = stamped((uint8_t)i, i & 1, bytes, sizeof(bytes));
		assert_true(n > RS_INT_TRAILER_BYTES);
		rs_put64(bytes + n - 8, UINT64_C(0xdeadbeef));
		assert_int_equal(rs_frame_decode(bytes, (size_t)n, &f, &p, NULL), RS_DECODE_OK);
		assert_true(f.icrc_ok && f.stamped && !(p.bth_flags & RS_PACKET_INT));
		assert_int_equal(p.int_path, 0x12345678);
		assert_int_equal(p.int_hop[2], 3);
		assert_int_equal(p.int_hop[4], 0xdeadbeef);
		assert_int_equal(rs_frame_encode(&f, &p, again, sizeof(again)), n);
		assert_memory_equal(again, bytes, (size_t)n);
	}
	assert_false(rs_int_trailer_may(RS_OP_CMP_SWAP));
	assert_false(rs_int_trailer_may(RS_UD | RS_OP_SEND_ONLY));
	assert_false(rs_int_trailer_may(0x1f));
}

/* Cut short, misnamed, or without the bit: there is none, and nothing is read that is not there. */
static void test_what_is_no_trailer_is_not_found(void **state)
{
	enum { HEAD = RS_ETH_BYTES + RS_IPV4_BYTES + RS_UDP_BYTES };
	uint8_t bytes[1400], *bth = bytes + HEAD;
	size_t n = (size_t)stamped(RS_OP_WRITE_ONLY, false, bytes, sizeof(bytes)) - HEAD;

	assert_ptr_equal(rs_int_trailer_find(bth, n), bth + n - RS_INT_TRAILER_BYTES);
	for (size_t k = 0; k < n; k++) {
		uint8_t *exact = malloc(k ? k : 1); /* whose end a sanitizer watches */

		assert_non_null(exact);
		memcpy(exact, bth, k);
		assert_null(rs_int_trailer_find(exact, k));
		free(exact);
	}
	bth[4] = 0;
	assert_null(rs_int_trailer_find(bth, n));
	bth[4] = RS_BTH4_STAMPED;
	bth[n - RS_INT_TRAILER_BYTES] ^= 1;
	assert_null(rs_int_trailer_find(bth, n));
}

/* ---- Bytes behind the ICRC that mean nothing: filler.h ---- */

static void test_a_filler_is_no_part_of_the_packet(void **state)
{
	enum { HEAD = RS_ETH_BYTES + RS_IPV4_BYTES + RS_UDP_BYTES };
	static const uint8_t payload[64] = {1, 2, 3};

	for (unsigned op = 0; op < 256; op++) {
		struct rs_packet p = {.kind = RS_KIND_ROCE,
				      .opcode = (uint8_t)op,
				      .dest_qp = 5,
				      .payload = payload,
				      .payload_bytes = sizeof(payload)};
		size_t filler = rs_filler_of((uint8_t)op), n;
		uint8_t bytes[200], again[200];
		struct rs_frame f;

		if (!filler)
			continue;
		rs_frame_of_endpoints(&f, 3, 4, false);
		n = (size_t)rs_frame_encode(&f, &p, again, sizeof(again));
		f.filled = (uint8_t)filler;
		f.bth_reserved = RS_BTH4_FILLED << 8;
		assert_int_equal(rs_frame_encode(&f, &p, bytes, sizeof(bytes)), n + filler);
		/* the ICRC is that of the packet without it, and the bit */
		assert_memory_equal(bytes + n - RS_ICRC_BYTES, again + n - RS_ICRC_BYTES,
				    RS_ICRC_BYTES);
		n += filler;
		assert_int_equal(rs_frame_decode(bytes, n, &f, &p, NULL), RS_DECODE_OK);
		assert_true(f.icrc_ok && f.filled == filler);
		assert_int_equal(p.payload_bytes, sizeof(payload));
		assert_int_equal(rs_frame_encode(&f, &p, again, sizeof(again)), n);
		assert_memory_equal(again, bytes, n);
		/* of a capture that kept less */
		assert_int_equal(rs_frame_decode_part(bytes, 90, n, &f, &p, NULL), RS_DECODE_OK);
		assert_int_equal(p.payload_bytes, sizeof(payload));
		for (size_t k = 0; k < filler; k++) { /* misnamed: the ICRC is not where it is */
			bytes[n - 1 - k] ^= 1;
			assert_int_equal(rs_filler_find(bytes + HEAD, n - HEAD), 0);
			bytes[n - 1 - k] ^= 1;
		}
		bytes[HEAD + 4] = 0;
		assert_int_equal(rs_frame_decode(bytes, n, &f, &p, NULL), RS_DECODE_OK);
		assert_true(!f.icrc_ok && !f.filled);
	}
	assert_int_equal(rs_filler_of(RS_OP_WRITE_MIDDLE), 16);
	assert_int_equal(rs_filler_of(RS_OP_READ_RESPONSE_MIDDLE), 4);
	assert_int_equal(rs_filler_of(RS_OP_WRITE_ONLY) + rs_filler_of(RS_OP_SEND_MIDDLE), 0);
	assert_int_equal(rs_filler_of(RS_UC | RS_OP_WRITE_MIDDLE), 16);
	assert_int_equal(rs_filler_of(RS_XRC | RS_OP_WRITE_MIDDLE), 0);
}

/* Of a packet that is cut short no byte is read that is not there. */
static void test_what_is_no_filler_is_not_found(void **state)
{
	for (size_t n = 0; n < 40; n++) {
		uint8_t *exact = calloc(1, n ? n : 1); /* whose end a sanitizer watches */

		assert_non_null(exact);
		if (n)
			exact[0] = RS_OP_WRITE_MIDDLE;
		if (n > 4)
			exact[4] = RS_BTH4_FILLED;
		assert_int_equal(rs_filler_find(exact, n), 0);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_filler_is_no_part_of_the_packet),
		cmocka_unit_test(test_what_is_no_filler_is_not_found),
		cmocka_unit_test(test_units_grow_with_the_nics_rate),
		cmocka_unit_test(test_a_rate_reads_as_the_fastest_not_above_it),
		cmocka_unit_test(test_what_goes_in_comes_out_to_a_unit),
		cmocka_unit_test(test_a_sixth_hop_is_not_recorded),
		cmocka_unit_test(test_the_bytes_are_on_the_wire),
		cmocka_unit_test(test_frames_are_as_long_as_the_framing_says),
		cmocka_unit_test(test_a_clock_of_nanoseconds_cuts_and_never_sees_a_full_one),
		cmocka_unit_test(test_software_has_rates_of_two_digits_and_seconds),
		cmocka_unit_test(test_a_trailer_is_behind_the_icrc),
		cmocka_unit_test(test_what_is_no_trailer_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
