/* The ICRC against a twin that works a bit at a time on the pseudo packet of IBTA annex A17.3.3,
 * and against packets that Linux sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "base/bytes.h"
#include "wire/crc.h"
#include "wire/frame.h"

/* CRC-32 of Ethernet (802.3 §3.2.9): polynomial 04C11DB7, bits of a byte lowest first. */
static uint32_t crc_bit(uint32_t crc, unsigned bit)
{
	return crc >> 1 ^ ((crc ^ bit) & 1 ? 0xedb88320u : 0);
}

static uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
	for (unsigned i = 0; i < 8; i++)
		crc = crc_bit(crc, byte >> i & 1);
	return crc;
}

/* Is byte at of the IP packet one of those that count as ones? */
static bool masked(size_t at, bool ipv6)
{
	static const size_t v4[] = {1, 8, 10, 11, 26, 27, 32};
	static const size_t v6[] = {1, 2, 3, 7, 46, 47, 52};
	const size_t *list = ipv6 ? v6 : v4;

	for (unsigned i = 0; i < 7; i++)
		if (list[i] == at)
			return true;
	return false;
}

static uint32_t twin(const uint8_t *ip, size_t n, bool ipv6)
{
	uint32_t crc = 0xffffffff;

	for (unsigned i = 0; i < 8; i++)
		crc = crc_byte(crc, 0xff);
	for (size_t i = 0; i < n; i++)
		crc = crc_byte(crc, masked(i, ipv6) ? 0xff : ipv6 && i == 0 ? ip[0] | 0x0f : ip[i]);
	return ~crc;
}

static void test_icrc_is_the_twins(void **state)
{
	struct rs_random r = rs_random_stream(1, 2, 3);
	uint8_t b[1100];

	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)rs_random_u64(&r);
	for (size_t n = 60; n < sizeof(b); n += 1 + n / 40) {
		assert_int_equal(rs_icrc(b, n, false), twin(b, n, false));
		assert_int_equal(rs_icrc(b, n, true), twin(b, n, true));
	}
}

/* The check value of CRC-32 shows that the twin is the CRC that it says it is. */
static void test_the_twin_gives_the_check_value_of_crc32(void **state)
{
	uint32_t crc = 0xffffffff;

	for (const char *s = "123456789"; *s; s++)
		crc = crc_byte(crc, (uint8_t)*s);
	assert_int_equal(~crc, 0xcbf43926);
}

/* An ACK of Linux 6.12 soft-RoCE over IPv4, out of tests/golden/wire/rc-send-only.pcap's kind: its
 * last four bytes are the ICRC, lowest byte first. */
static void test_an_acknowledgement_of_linux_verifies(void **state)
{
	const char *path = RS_SOURCE_DIR "/tests/fuzz/corpus/fuzz_packet/11";
	FILE *f = fopen(path, "rb");
	uint8_t b[128];
	size_t n;

	assert_non_null(f);
	n = fread(b, 1, sizeof(b), f);
	fclose(f);
	assert_int_equal(n, 62);
	assert_int_equal(rs_get32_le(b + n - 4), twin(b + 14, n - 18, false));
	assert_int_equal(rs_get32_le(b + n - 4), rs_icrc(b + 14, n - 18, false));
}

/* The ways without carry-less multiplication and by 256 bits of it, in pieces as well. */
static void test_each_way_to_crc_is_the_twins(void **state)
{
	struct rs_random r = rs_random_stream(4, 5, 6);
	static uint8_t b[5000];

	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)rs_random_u64(&r);
	for (unsigned i = 0; i < 1500; i++) {
		size_t n = i < 200 ? i : rs_random_u64(&r) % 4200;
		size_t at = rs_random_u64(&r) % 64, cut = n ? rs_random_u64(&r) % n : 0;
		uint32_t crc = 0xffffffff;

		for (size_t k = 0; k < n; k++)
			crc = crc_byte(crc, b[at + k]);
		assert_int_equal(rs_crc32_words(0, b + at, n), ~crc);
		assert_int_equal(
			rs_crc32_words(rs_crc32_words(0, b + at, cut), b + at + cut, n - cut),
			~crc);
		assert_int_equal(rs_crc32(0, b + at, n), ~crc);
		assert_int_equal(rs_crc32(rs_crc32(0, b + at, cut), b + at + cut, n - cut), ~crc);
		if (rs_crc_wide_from == SIZE_MAX || n < 128)
			continue;
		assert_int_equal(rs_crc32_wide(0, b + at, n), ~crc);
		if (n - cut >= 128)
			assert_int_equal(
				rs_crc32_wide(rs_crc32(0, b + at, cut), b + at + cut, n - cut),
				~crc);
	}
}

/* What is copied on the way is copied whole, and nothing beside it. */
static void test_crc_of_what_is_copied_is_the_twins(void **state)
{
	struct rs_random r = rs_random_stream(7, 8, 9);
	static uint8_t b[5000], to[5000];

	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)rs_random_u64(&r);
	for (unsigned i = 0; i < 1500; i++) {
		size_t n = i < 200 ? i : rs_random_u64(&r) % 4200;
		size_t at = rs_random_u64(&r) % 64, there = 1 + rs_random_u64(&r) % 64;
		uint32_t crc = 0xffffffff;

		for (size_t k = 0; k < n; k++)
			crc = crc_byte(crc, b[at + k]);
		memset(to, 0x55, sizeof(to));
		assert_int_equal(rs_crc32_copy(0, to + there, b + at, n), ~crc);
		assert_memory_equal(to + there, b + at, n);
		assert_int_equal(to[there - 1], 0x55);
		assert_int_equal(to[there + n], 0x55);
		if (rs_crc_wide_from != SIZE_MAX && n >= 128)
			assert_int_equal(rs_crc32_wide_copy(0, to, b + at, n), ~crc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_icrc_is_the_twins),
		cmocka_unit_test(test_the_twin_gives_the_check_value_of_crc32),
		cmocka_unit_test(test_each_way_to_crc_is_the_twins),
		cmocka_unit_test(test_crc_of_what_is_copied_is_the_twins),
		cmocka_unit_test(test_an_acknowledgement_of_linux_verifies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
