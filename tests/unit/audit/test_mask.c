/* Masking: the published primitive, and what must stay true of what is masked. */
#include <stdbool.h>
#include <stdlib.h>
#include "audit/probe/mask.h"
#include "unit/audit/judge.h"

static char *masked(const struct rs_mask *m, const char *text)
{
	size_t n;
	char *out = rs_mask_text(m, text, strlen(text), &n);

	assert_non_null(out);
	assert_int_equal(strlen(out), n);
	return out;
}

static void is_masked_as(const struct rs_mask *m, const char *text, const char *expected)
{
	char *out = masked(m, text);

	assert_string_equal(out, expected);
	free(out);
}

/* Aumasson and Bernstein, SipHash, appendix A. */
static void test_siphash_gives_the_papers_value(void **state)
{
	uint8_t key[16], data[15];

	for (uint8_t i = 0; i < 16; i++)
		key[i] = i;
	memcpy(data, key, 15);
	assert_int_equal(rs_mask_siphash(key, data, 15), UINT64_C(0xa129ca6149be45e5));
}

static unsigned common(uint32_t a, uint32_t b)
{
	unsigned n = 0;

	while (n < 32 && !((a ^ b) >> (31 - n)))
		n++;
	return n;
}

static void test_subnets_stay_subnets(void **state)
{
	struct rs_mask m;
	uint32_t seed = 7;

	assert_int_equal(rs_mask_create(&m, "key", "gpu01"), 0);
	for (int i = 0; i < 2000; i++) {
		uint32_t a, b;

		seed = seed * 1664525 + 1013904223;
		a = 0x0a000000 | seed >> 8;
		b = a ^ 1u << (seed >> 27) % 24;
		assert_int_equal(common(rs_mask_ipv4(&m, a), rs_mask_ipv4(&m, b)), common(a, b));
		assert_int_equal(rs_mask_ipv4(&m, a) >> 24, 10);
	}
	assert_int_not_equal(rs_mask_ipv4(&m, 0x0a010203), 0x0a010203);
	assert_int_equal(rs_mask_ipv4(&m, 0xffffff00), 0xffffff00);
	assert_int_equal(rs_mask_ipv4(&m, 0x7f000001), 0x7f000001);
}

static void test_two_devices_stay_two(void **state)
{
	uint8_t *seen = calloc(1 << 24, 1);
	struct rs_mask m;

	assert_non_null(seen);
	assert_int_equal(rs_mask_create(&m, "key", "gpu01"), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t to = rs_mask_24(&m, i * 167);

		assert_int_equal(to >> 24, 0);
		assert_false(seen[to]);
		seen[to] = 1;
	}
	free(seen);
}

static void test_mac_gid_and_guid_of_one_port_still_match(void **state)
{
	struct rs_mask m;
	char *mac, *gid, *guid, tail[8];

	assert_int_equal(rs_mask_create(&m, NULL, "gpu01"), 0);
	mac = masked(&m, "9c:dc:71:41:4e:3a");
	gid = masked(&m, "fe80:0000:0000:0000:9edc:71ff:fe41:4e3a");
	guid = masked(&m, "9cdc:7103:0041:4e3a");
	assert_memory_equal(mac, "9c:dc:71:", 9);
	assert_memory_equal(gid, "fe80:0000:0000:0000:9edc:71ff:fe", 32);
	assert_memory_equal(guid, "9cdc:7103:00", 12);
	assert_string_not_equal(mac + 9, "41:4e:3a");
	snprintf(tail, sizeof(tail), "%.2s%.2s%.2s", mac + 9, mac + 12, mac + 15);
	assert_memory_equal(gid + 32, tail, 2);
	assert_string_equal(gid + 35, tail + 2);
	assert_memory_equal(guid + 12, tail, 2);
	assert_string_equal(guid + 15, tail + 2);
	free(mac);
	free(gid);
	free(guid);
}

static void test_a_mapped_gid_goes_with_its_address(void **state)
{
	struct rs_mask m;
	char *gid, expected[48];
	uint32_t a;

	assert_int_equal(rs_mask_create(&m, "key", "gpu01"), 0);
	a = rs_mask_ipv4(&m, 0x0a00ff07);
	gid = masked(&m, "0000:0000:0000:0000:0000:ffff:0a00:ff07");
	snprintf(expected, sizeof(expected), "0000:0000:0000:0000:0000:ffff:%04x:%04x", a >> 16,
		 a & 0xffff);
	assert_string_equal(gid, expected);
	free(gid);
}

static void test_names_and_serials_go_the_same_way_each_time(void **state)
{
	struct rs_mask m, n;
	char *one, *two;

	assert_int_equal(rs_mask_create(&m, "key", "gpu01"), 0);
	assert_int_equal(rs_mask_create(&n, "key", "gpu01"), 0);
	one = masked(&m, "gpu01 mlx5_0\npci/0000:11:00.0 board_serial = MT2243X00001\n");
	two = masked(&n, "gpu01 mlx5_0\npci/0000:11:00.0 board_serial = MT2243X00001\n");
	assert_string_equal(one, two);
	assert_null(strstr(one, "gpu01"));
	assert_null(strstr(one, "MT2243X00001"));
	assert_memory_equal(one, "host-", 5);
	assert_non_null(strstr(one, " mlx5_0\npci/0000:11:00.0 board_serial = SN"));
	free(one);
	free(two);
}

static void test_what_identifies_nobody_stays(void **state)
{
	static const char *const plain[] = {
		"0000:11:00.0",
		"28.39.1002",
		"16.0 GT/s PCIe",
		"0x15b3",
		"10:57:37 deadbeef",
		"00:00:00:00:00:00",
		"0000:0000:0000:0000:0000:0000:0000:0000",
		"::1 127.0.0.1",
		"gpu011 mygpu01x",
		"std::dead",
		"face: cafe.",
		"",
	};
	struct rs_mask m;

	assert_int_equal(rs_mask_create(&m, "key", "gpu01"), 0);
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		is_masked_as(&m, plain[i], plain[i]);
}

static void test_another_key_is_another_mask(void **state)
{
	struct rs_mask m, n;

	assert_int_equal(rs_mask_create(&m, "key", "gpu01"), 0);
	assert_int_equal(rs_mask_create(&n, "kez", "gpu01"), 0);
	assert_int_not_equal(rs_mask_ipv4(&m, 0x0a010203), rs_mask_ipv4(&n, 0x0a010203));
	assert_string_not_equal(m.masked, n.masked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash_gives_the_papers_value),
		cmocka_unit_test(test_subnets_stay_subnets),
		cmocka_unit_test(test_two_devices_stay_two),
		cmocka_unit_test(test_mac_gid_and_guid_of_one_port_still_match),
		cmocka_unit_test(test_a_mapped_gid_goes_with_its_address),
		cmocka_unit_test(test_names_and_serials_go_the_same_way_each_time),
		cmocka_unit_test(test_what_identifies_nobody_stays),
		cmocka_unit_test(test_another_key_is_another_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
