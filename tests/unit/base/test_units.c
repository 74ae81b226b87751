/* Quantities as people write them: every suffix, every way to get one wrong, and that what is
 * written reads back to the same value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "base/units.h"

struct good {
	const char *text;
	int64_t value;
};

static const struct good rates[] = {
	{"1k", 1000},
	{"1M", 1000000},
	{"400G", 400 * RS_GBPS},
	{"1.6T", 1600 * RS_GBPS},
	{"64kbps", 64000},
	{"10Mbps", 10 * RS_MBPS},
	{"2.5Gbps", 2500 * RS_MBPS},
	{"1Tbps", 1000 * RS_GBPS},
	{"1kb/s", 1000},
	{"5Mb/s", 5 * RS_MBPS},
	{"100Gb/s", 100 * RS_GBPS},
	{"0.8Tb/s", 800 * RS_GBPS},
	{"9kbit/s", 9000},
	{"9Mbit/s", 9 * RS_MBPS},
	{"9Gbit/s", 9 * RS_GBPS},
	{"9Tbit/s", 9000 * RS_GBPS},
	{"1234bps", 1234},
	{"1234b/s", 1234},
	{"1234bit/s", 1234},
	{"25 G", 25 * RS_GBPS},
	{"4e2G", 400 * RS_GBPS},
	{"400g", 400 * RS_GBPS},
	{"400 Gb/s", 400 * RS_GBPS},
	{"400Gbps", 400 * RS_GBPS},
	{"400gbit", 400 * RS_GBPS},
	{"400 GbE", 400 * RS_GBPS},
	{"25Gb", 25 * RS_GBPS},
	{"0", 0},
	{"0.0", 0},
};
static const struct good sizes[] = {
	{"64B", 64},
	{"150kB", 150000},
	{"3MB", 3000000},
	{"2GB", 2000000000},
	{"1TB", 1000000000000},
	{"4KiB", 4096},
	{"16MiB", 16 << 20},
	{"1.5GiB", INT64_C(3) << 29},
	{"1TiB", INT64_C(1) << 40},
	{"9.1e6TB", INT64_C(9100000000000000000)},
	{"0", 0},
};
static const struct good times[] = {
	{"7ps", 7},          {"500ns", 500 * RS_NS}, {"1us", RS_US},   {"4.096us", 4096 * RS_NS},
	{"1µs", RS_US},      {"10ms", 10 * RS_MS},   {"2s", 2 * RS_S}, {"1min", 60 * RS_S},
	{"1h", 3600 * RS_S}, {"0.0006ns", 1},        {"1e-3s", RS_MS}, {"0", 0},
	{"-0", 0},
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void test_every_suffix(void **state)
{
	struct rs_error e = {0};
	uint64_t bytes;
	int64_t v;

	for (unsigned i = 0; i < N(rates); i++) {
		assert_int_equal(rs_parse_rate(rates[i].text, &v, &e), 0);
		assert_true(v == rates[i].value);
	}
	for (unsigned i = 0; i < N(sizes); i++) {
		assert_int_equal(rs_parse_bytes(sizes[i].text, &bytes, &e), 0);
		assert_true(bytes == (uint64_t)sizes[i].value);
	}
	for (unsigned i = 0; i < N(times); i++) {
		assert_int_equal(rs_parse_time(times[i].text, &v, &e), 0);
		assert_true(v == times[i].value);
	}
	assert_int_equal(e.code, 0);
}

static void wrong(int (*parse)(const char *, int64_t *, struct rs_error *), const char *s, int code,
		  const char *words)
{
	struct rs_error e = {0};
	int64_t v = 4711;

	if (parse(s, &v, &e) != code || e.code != code || !strstr(e.what, words))
		fail_msg("'%s': expected %d with '%s', got %d: %s", s, code, words, e.code, e.what);
	assert_int_equal(v, 4711);
}

static int parse_bytes(const char *s, int64_t *v, struct rs_error *e)
{
	uint64_t b;
	int err = rs_parse_bytes(s, &b, e);

	if (!err)
		*v = (int64_t)b;
	return err;
}

/* Random decimals against the same number in whole picoseconds, computed by digits. */
static void test_fractions_are_exact(void **state)
{
	static const struct {
		const char *unit;
		unsigned zeros;
	} units[] = {{"ns", 3}, {"us", 6}, {"ms", 9}, {"s", 12}};
	struct rs_random r = rs_random_stream(7, 1, 1);

	for (unsigned i = 0; i < 20000; i++) {
		unsigned u = rs_random_below(&r, 4), digits = 1 + rs_random_below(&r, 15);
		uint32_t whole = rs_random_below(&r, 100000);
		uint64_t fraction = 0, expected = whole;
		char text[64];
		rs_time t = -1;
		int n = snprintf(text, sizeof(text), "%u.", whole);

		for (unsigned k = 0; k < digits; k++) {
			unsigned d = rs_random_below(&r, 10);

			n += snprintf(text + n, sizeof(text) - (size_t)n, "%u", d);
			fraction = k < units[u].zeros              ? 10 * fraction + d
				   : k == units[u].zeros && d >= 5 ? fraction + 1
								   : fraction;
		}
		for (unsigned k = 0; k < units[u].zeros; k++) {
			expected *= 10;
			if (k >= digits)
				fraction *= 10;
		}
		snprintf(text + n, sizeof(text) - (size_t)n, "%s", units[u].unit);
		assert_int_equal(rs_parse_time(text, &t, NULL), 0);
		if (t != (rs_time)(expected + fraction))
			fail_msg("%s: %lld, expected %llu", text, (long long)t,
				 (unsigned long long)(expected + fraction));
	}
}

static void test_long_and_odd_numbers(void **state)
{
	static const struct good odd[] = {
		{"0.0005ns", 1},
		{"0.00049999999999999999999999999ns", 0},
		{"0.5ps", 1},
		{"1.5ps", 2},
		{"0.0000000000000000000000000000000000000000000000000001s", 0},
		{"100000000000000000000000000000000000000000e-40ns", 10000},
		{"00000000000000000000000000000000000000000000000000001ns", 1000},
		{"9199999s", 9199999 * RS_S},
		{"1.e3ns", RS_US},
		{"12345678901234567890123e-17ns", 123456789},
	};
	int64_t v;

	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		assert_int_equal(rs_parse_time(odd[i].text, &v, NULL), 0);
		if (v != odd[i].value)
			fail_msg("%s: %lld", odd[i].text, (long long)v);
	}
}

static void test_errors_say_which_units_fit(void **state)
{
	wrong(rs_parse_rate, "400", -EINVAL, "400G");
	wrong(rs_parse_rate, "400x", -EINVAL, "'x' is no unit");
	wrong(rs_parse_rate, "400GB", -EINVAL, "bytes: 50GB/s is 400G");
	wrong(rs_parse_rate, "50GB/s", -EINVAL, "'GB/s' in '50GB/s' is bytes: 50GB/s is 400G");
	wrong(rs_parse_rate, "32GT/s", -EINVAL, "gen5x16");
	wrong(rs_parse_time, "5m", -EINVAL, "two things: min (60s) or ms (0.001s)");
	wrong(rs_parse_time, "5u", -EINVAL, "us");
	wrong(rs_parse_rate, "", -EINVAL, "expected a rate");
	wrong(rs_parse_rate, "G", -EINVAL, "expected a rate");
	wrong(rs_parse_rate, "fast", -EINVAL, "found 'fast'");
	wrong(rs_parse_rate, "-1G", -ERANGE, "negative");
	wrong(rs_parse_rate, "1e30G", -ERANGE, "too large");
	wrong(rs_parse_rate, "1e99999G", -ERANGE, "too large");
	wrong(rs_parse_rate, "nanG", -EINVAL, "expected a rate");
	wrong(rs_parse_rate, "infG", -EINVAL, "expected a rate");
	wrong(rs_parse_rate, "0x10G", -EINVAL, "expected a rate");
	wrong(rs_parse_rate, " 1G", -EINVAL, "expected a rate");
	wrong(rs_parse_rate, "1G ", -EINVAL, "no unit");
	wrong(rs_parse_rate, "1,5G", -EINVAL, "no unit");
	wrong(parse_bytes, "16", -EINVAL, "16MiB");
	wrong(parse_bytes, "16M", -EINVAL, "two things: MB (10^6) or MiB (2^20)");
	wrong(parse_bytes, "150KB", -EINVAL, "two things: kB (1000) or KiB (1024)");
	wrong(parse_bytes, "1Gb", -EINVAL, "bits: write GB");
	wrong(parse_bytes, "4Ki", -EINVAL, "KiB");
	wrong(parse_bytes, "16X", -EINVAL, "no unit");
	wrong(parse_bytes, "99999999TB", -ERANGE, "too large");
	wrong(parse_bytes, "-1B", -ERANGE, "negative");
	wrong(rs_parse_time, "5", -EINVAL, "500ns");
	wrong(rs_parse_time, "1e10h", -ERANGE, "too large");
}

static void count_is(const char *s, double expected)
{
	double v;

	assert_int_equal(rs_parse_count(s, &v, NULL), 0);
	assert_true(v == expected);
}

static void test_counts_are_plain_numbers(void **state)
{
	static const char *const bad[] = {"", "x", "1k", "1e", "--1", "0x1", "inf", "1 ", "."};
	double v;

	count_is("175e9", 175e9);
	count_is("1.75e11", 175e9);
	count_is("0", 0);
	count_is("0.5", 0.5);
	for (unsigned i = 0; i < N(bad); i++)
		assert_int_equal(rs_parse_count(bad[i], &v, NULL), -EINVAL);
	assert_int_equal(rs_parse_count("-1", &v, NULL), -ERANGE);
	assert_int_equal(rs_parse_count("1e301", &v, NULL), -ERANGE);
}

static void test_integers_within_their_bounds(void **state)
{
	static const char *const bad[] = {"",    "-",   "+1",  " 1",  "1 ",
					  "1.0", "1e3", "0x1", "- 1", "one"};
	int64_t v;

	assert_int_equal(rs_parse_int("-7", -7, 7, &v, NULL), 0);
	assert_int_equal(v, -7);
	assert_int_equal(rs_parse_int("007", -7, 7, &v, NULL), 0);
	assert_int_equal(v, 7);
	assert_int_equal(rs_parse_int("8", -7, 7, &v, NULL), -ERANGE);
	assert_int_equal(rs_parse_int("-8", -7, 7, &v, NULL), -ERANGE);
	assert_int_equal(rs_parse_int("9223372036854775807", 0, INT64_MAX, &v, NULL), 0);
	assert_int_equal(rs_parse_int("9223372036854775808", 0, INT64_MAX, &v, NULL), -ERANGE);
	for (unsigned i = 0; i < N(bad); i++)
		assert_int_equal(rs_parse_int(bad[i], 0, 9, &v, NULL), -EINVAL);
}

static void reads_back(int64_t v)
{
	char buf[32];
	uint64_t bytes;
	int64_t back;

	assert_int_equal(rs_parse_rate(rs_format_rate(buf, sizeof(buf), v), &back, NULL), 0);
	assert_true(back == v);
	assert_int_equal(rs_parse_time(rs_format_time(buf, sizeof(buf), v), &back, NULL), 0);
	assert_true(back == v);
	assert_int_equal(
		rs_parse_bytes(rs_format_bytes(buf, sizeof(buf), (uint64_t)v), &bytes, NULL), 0);
	assert_true(bytes == (uint64_t)v);
}

static void test_what_is_written_reads_back(void **state)
{
	struct rs_random r = rs_random_stream(1, 0, 0);

	for (int64_t v = 1; v < INT64_C(9000000000000000000) / 10; v *= 10)
		for (int64_t k = 1; k < 10; k++)
			reads_back(v * k);
	for (unsigned bit = 0; bit < 62; bit++)
		reads_back(INT64_C(1) << bit);
	for (unsigned i = 0; i < 20000; i++)
		reads_back((int64_t)(rs_random_u64(&r) >> (2 + i % 60)));
}

static void test_the_written_form_is_the_one_people_use(void **state)
{
	char b[32];

	assert_string_equal(rs_format_rate(b, sizeof(b), 400 * RS_GBPS), "400G");
	assert_string_equal(rs_format_rate(b, sizeof(b), 1600 * RS_GBPS), "1600G");
	assert_string_equal(rs_format_rate(b, sizeof(b), 1000), "1k");
	assert_string_equal(rs_format_bytes(b, sizeof(b), 16 << 20), "16MiB");
	assert_string_equal(rs_format_bytes(b, sizeof(b), 150000), "150kB");
	assert_string_equal(rs_format_bytes(b, sizeof(b), 0), "0B");
	assert_string_equal(rs_format_time(b, sizeof(b), 1500 * RS_NS), "1500ns");
	assert_string_equal(rs_format_time(b, sizeof(b), RS_S), "1s");
}

static void test_three_digits_for_people(void **state)
{
	char b[32];

	assert_string_equal(rs_human_rate(b, sizeof(b), 391.4e9), "391 Gb/s");
	assert_string_equal(rs_human_rate(b, sizeof(b), 99.96e9), "100 Gb/s");
	assert_string_equal(rs_human_rate(b, sizeof(b), 999.7e6), "1.00 Gb/s");
	assert_string_equal(rs_human_bytes(b, sizeof(b), 1048576), "1.05 MB");
	assert_string_equal(rs_human_bytes(b, sizeof(b), 0), "0.00 B");
	assert_string_equal(rs_human_time(b, sizeof(b), 12345678), "12.3 us");
	assert_string_equal(rs_human_time(b, sizeof(b), RS_NEVER), "never");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_suffix),
		cmocka_unit_test(test_fractions_are_exact),
		cmocka_unit_test(test_long_and_odd_numbers),
		cmocka_unit_test(test_errors_say_which_units_fit),
		cmocka_unit_test(test_counts_are_plain_numbers),
		cmocka_unit_test(test_integers_within_their_bounds),
		cmocka_unit_test(test_what_is_written_reads_back),
		cmocka_unit_test(test_the_written_form_is_the_one_people_use),
		cmocka_unit_test(test_three_digits_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
