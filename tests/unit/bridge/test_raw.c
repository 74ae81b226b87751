/* Bursts that the kernel did not cut: each packet must come out as its sender would have encoded it
 * alone, and anything that is not what it says must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/bytes.h"
#include "base/random.h"
#include "bridge/raw.h"
#include "wire/frame.h"

enum { UDP_L4 = 5, TCPV4 = 1, NEEDS_CSUM = 1, MOST = 9216 };

static uint8_t payload[4096];

/* RC WRITE Middles, PSN k and identification k: what one send of the NIC holds. */
static size_t encode(unsigned k, uint16_t bytes, bool ipv6, uint8_t *out)
{
	struct rs_packet p = {.opcode = 0x07,
			      .payload_bytes = bytes,
			      .payload = payload,
			      .tos = 2,
			      .psn = k,
			      .dest_qp = 0x1234,
			      .pkey = 0xffff,
			      .sport = 4791};
	struct rs_frame f;
	long n;

	rs_frame_of_endpoints(&f, 1, 2, ipv6);
	f.dport = 4791;
	f.ip_id = ipv6 ? 0 : (uint16_t)k;
	n = rs_frame_encode(&f, &p, out, MOST);
	assert_true(n > 0);
	return (size_t)n;
}

/* The UDP checksum that hardware would fill in. */
static uint16_t udp_checksum(const uint8_t *frame, size_t n, bool ipv6)
{
	const uint8_t *ip = frame + 14, *udp = ip + (ipv6 ? 40 : 20);
	size_t bytes = n - (size_t)(udp - frame);
	uint32_t sum = 17 + (uint32_t)bytes;

	for (unsigned i = 0; i < (ipv6 ? 32 : 8); i += 2)
		sum += rs_get16(ip + (ipv6 ? 8 : 12) + i);
	for (size_t i = 0; i < bytes; i++)
		sum += i == 6 || i == 7 ? 0 : (uint32_t)udp[i] << (i & 1 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static size_t bytes_of(const struct rs_raw *r, uint8_t *out)
{
	memcpy(out, r->head, r->head_bytes);
	memcpy(out + r->head_bytes, r->rest, r->rest_bytes);
	return r->head_bytes + (size_t)r->rest_bytes;
}

/* What the hardware does with the checksum that it was left. */
static void finish_checksum(const struct rs_raw *r, uint8_t *frame, size_t n)
{
	uint32_t sum = 0;
	size_t start = r->vnet.csum_start;

	if (!(r->vnet.flags & NEEDS_CSUM))
		return;
	for (size_t i = start; i < n; i++)
		sum += (uint32_t)frame[i] << ((i - start) & 1 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	rs_put16(frame + start + r->vnet.csum_offset, (uint16_t)~sum);
}

static void cut(unsigned count, uint16_t bytes, uint16_t last, bool ipv6)
{
	static uint8_t burst[RS_RAW_FRAME_MAX], one[MOST], got[MOST];
	size_t n = 0, head = 14 + (ipv6 ? 40 : 20) + 8;
	struct virtio_net_hdr v = {.flags = NEEDS_CSUM, .gso_type = UDP_L4};
	struct rs_raw_burst b;
	struct rs_raw r;

	for (unsigned k = 0; k < count; k++) {
		size_t m = encode(k, k + 1 < count ? bytes : last, ipv6, one);

		if (!k) {
			memcpy(burst, one, head);
			n = head;
			v.gso_size = (uint16_t)(m - head);
		}
		memcpy(burst + n, one + head, m - head);
		n += m - head;
	}
	v.csum_start = (uint16_t)(head - 8);
	v.csum_offset = 6;
	assert_true(rs_raw_begin(&b, burst, n, &v));
	for (unsigned k = 0; k < count; k++) {
		size_t m = encode(k, k + 1 < count ? bytes : last, ipv6, one);
		struct rs_packet p;
		struct rs_frame f;

		assert_true(rs_raw_next(&b, &r));
		assert_int_equal(r.tos, 2);
		assert_int_equal(r.vnet.gso_type, 0);
		if (k & 1) { /* as a switch does that marks */
			rs_raw_set_tos(&r, 3);
			one[15] = ipv6 ? (uint8_t)(one[15] | 0x10) : 3;
			if (!ipv6) {
				rs_put16(one + 24, 0);
				rs_put16(one + 24, rs_internet_checksum(one + 14, 20));
			}
		}
		assert_int_equal(bytes_of(&r, got), m);
		finish_checksum(&r, got, m);
		rs_put16(one + head - 2, udp_checksum(one, m, ipv6));
		assert_memory_equal(got, one, m);
		assert_int_equal(rs_frame_decode(got, m, &f, &p, NULL), RS_DECODE_OK);
		assert_true(f.icrc_ok);
		assert_int_equal(p.tos, k & 1 ? 3 : 2);
	}
	assert_false(rs_raw_next(&b, &r));
}

static void test_a_burst_is_cut_as_its_sender_would_have(void **state)
{
	for (unsigned i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 37 >> 3);
	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		cut(1, 4096, 4096, ipv6);
		cut(2, 1024, 1024, ipv6);
		cut(15, 4096, 4096, ipv6);
		cut(15, 4096, 4, ipv6);
		cut(60, 1024, 512, ipv6);
	}
}

static void test_what_is_no_burst_passes_whole(void **state)
{
	struct virtio_net_hdr v = {.flags = NEEDS_CSUM | 2, .csum_start = 34, .csum_offset = 6};
	uint8_t frame[MOST], got[MOST];
	size_t n = encode(3, 100, false, frame);
	struct rs_raw_burst b;
	struct rs_raw r;

	assert_true(rs_raw_begin(&b, frame, n, &v));
	assert_true(rs_raw_next(&b, &r));
	assert_int_equal(bytes_of(&r, got), n);
	assert_memory_equal(got, frame, n);
	assert_int_equal(r.vnet.flags, NEEDS_CSUM); /* the other flag is of received frames only */
	assert_false(rs_raw_next(&b, &r));
	memset(frame + 12, 0, 2); /* another protocol: no TOS */
	assert_true(rs_raw_begin(&b, frame, n, &v));
	assert_true(rs_raw_next(&b, &r));
	assert_int_equal(r.ip_version, 0);
	assert_int_equal(r.tos, 0);
	v.gso_type = TCPV4;
	v.gso_size = 10;
	assert_true(rs_raw_begin(&b, frame, n, &v));
	assert_true(rs_raw_next(&b, &r));
	assert_int_equal(r.vnet.gso_size, 10);
	assert_int_equal(bytes_of(&r, got), n);
	assert_true(rs_raw_begin(&b, frame, 14, &(struct virtio_net_hdr){0}));
	assert_true(rs_raw_next(&b, &r));
	assert_int_equal(bytes_of(&r, got), 14);
}

static void test_a_burst_that_is_none_is_refused(void **state)
{
	struct virtio_net_hdr v = {.gso_type = UDP_L4, .gso_size = 100};
	uint8_t frame[MOST];
	size_t n = encode(0, 400, false, frame);
	struct rs_raw_burst b;

	assert_true(rs_raw_begin(&b, frame, n, &v));
	assert_false(rs_raw_begin(&b, frame, 41, &v)); /* no whole UDP header */
	assert_false(rs_raw_begin(&b, frame, 13, &v));
	v.gso_size = 0;
	assert_false(rs_raw_begin(&b, frame, n, &v));
	v.gso_size = 100;
	frame[23] = 6; /* TCP */
	assert_false(rs_raw_begin(&b, frame, n, &v));
	frame[23] = 17;
	frame[14] = 0x44; /* a header shorter than any */
	assert_false(rs_raw_begin(&b, frame, n, &v));
	frame[14] = 0x4f; /* options that reach past the end */
	assert_false(rs_raw_begin(&b, frame, 60, &v));
}

/* Whatever the bytes: never past the end (the sanitizers see), and no byte lost or twice. */
static void test_hostile_frames_are_cut_or_refused(void **state)
{
	struct rs_random random = rs_random_stream(7, 1, 1);

	for (unsigned i = 0; i < 20000; i++) {
		size_t n = rs_random_below(&random, 300), head;
		uint8_t *frame = malloc(n + !n);
		struct virtio_net_hdr v = {.flags = (uint8_t)rs_random_below(&random, 4),
					   .gso_type = rs_random_below(&random, 4) ? UDP_L4 : 0,
					   .gso_size = (uint16_t)rs_random_below(&random, 50)};
		struct rs_raw_burst b;
		struct rs_raw r;
		size_t sum = 0;

		assert_non_null(frame);
		for (size_t k = 0; k < n; k++)
			frame[k] = (uint8_t)rs_random_below(&random, 256);
		if (n > 30 && rs_random_below(&random, 8)) {
			bool ipv6 = rs_random_below(&random, 2);

			rs_put16(frame + 12, ipv6 ? 0x86dd : 0x0800);
			frame[14] = ipv6 ? 0x60 : (uint8_t)(0x44 + rs_random_below(&random, 4));
			frame[ipv6 ? 20 : 23] = 17;
		}
		if (rs_raw_begin(&b, frame, n, &v)) {
			head = b.all.head_bytes;
			while (rs_raw_next(&b, &r)) {
				if (r.ip_version)
					rs_raw_set_tos(&r, 3);
				assert_ptr_equal(r.rest, frame + head + sum);
				sum += r.rest_bytes;
			}
			assert_int_equal(sum + head, n);
		}
		free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_burst_is_cut_as_its_sender_would_have),
		cmocka_unit_test(test_what_is_no_burst_passes_whole),
		cmocka_unit_test(test_a_burst_that_is_none_is_refused),
		cmocka_unit_test(test_hostile_frames_are_cut_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
