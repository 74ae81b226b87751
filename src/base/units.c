/* Quantities as people write them. Values are read as decimal numbers, then scaled exactly. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"

struct unit {
	const char *name;
	double scale;
};
/* A unit that people write and that means two things, or another kind of thing. */
struct slip {
	const char *name, *meant;
};

/* Rates and times are the same in any case, but for a B, which is a byte. */
static const struct unit rates[] = {
	{"k", 1e3},       {"M", 1e6},     {"G", 1e9},      {"T", 1e12},     {"kbps", 1e3},
	{"Mbps", 1e6},    {"Gbps", 1e9},  {"Tbps", 1e12},  {"kb/s", 1e3},   {"Mb/s", 1e6},
	{"Gb/s", 1e9},    {"Tb/s", 1e12}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9},
	{"Tbit/s", 1e12}, {"kb", 1e3},    {"Mb", 1e6},     {"Gb", 1e9},     {"Tb", 1e12},
	{"kbit", 1e3},    {"Mbit", 1e6},  {"Gbit", 1e9},   {"Tbit", 1e12},  {"GbE", 1e9},
	{"bps", 1},       {"b/s", 1},     {"bit/s", 1},    {NULL, 0},
};
static const struct slip rate_slips[] = {
	{"kB/s", "bytes: 1kB/s is 8k"},
	{"MB/s", "bytes: 1MB/s is 8M"},
	{"GB/s", "bytes: 50GB/s is 400G"},
	{"TB/s", "bytes: 1TB/s is 8T"},
	{"MB", "bytes: 1MB/s is 8M"},
	{"GB", "bytes: 50GB/s is 400G"},
	{"GBps", "bytes: 50GB/s is 400G"},
	{"GiB/s", "bytes: 1GiB/s is 8589934592bps"},
	{"GT/s", "PCIe's transfers: write gen5x16"},
	{NULL, NULL},
};
static const struct unit sizes[] = {
	{"B", 1},         {"kB", 1e3},         {"MB", 1e6},
	{"GB", 1e9},      {"TB", 1e12},        {"KiB", 1024},
	{"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776.0},
	{"kiB", 1024},    {"bytes", 1},        {"byte", 1},
	{NULL, 0},
};
static const struct slip size_slips[] = {
	{"k", "two things: kB (1000) or KiB (1024)"},
	{"K", "two things: kB (1000) or KiB (1024)"},
	{"KB", "two things: kB (1000) or KiB (1024)"},
	{"kb", "bits: write kB (1000) or KiB (1024)"},
	{"Kb", "bits: write kB (1000) or KiB (1024)"},
	{"M", "two things: MB (10^6) or MiB (2^20)"},
	{"m", "two things: MB (10^6) or MiB (2^20)"},
	{"mb", "two things: MB (10^6) or MiB (2^20)"},
	{"Mb", "bits: write MB (10^6) or MiB (2^20)"},
	{"G", "two things: GB (10^9) or GiB (2^30)"},
	{"g", "two things: GB (10^9) or GiB (2^30)"},
	{"gb", "two things: GB (10^9) or GiB (2^30)"},
	{"Gb", "bits: write GB (10^9) or GiB (2^30)"},
	{"T", "two things: TB (10^12) or TiB (2^40)"},
	{"b", "bits: write B"},
	{"Mi", "short of a B: MiB"},
	{"Gi", "short of a B: GiB"},
	{"Ki", "short of a B: KiB"},
	{NULL, NULL},
};
static const struct unit times[] = {
	{"ps", 1},     {"ns", 1e3},    {"us", 1e6},    {"µs", 1e6},   {"ms", 1e9},
	{"s", 1e12},   {"min", 60e12}, {"h", 3600e12}, {"nsec", 1e3}, {"usec", 1e6},
	{"msec", 1e9}, {"sec", 1e12},  {NULL, 0},
};
static const struct slip time_slips[] = {
	{"m", "two things: min (60s) or ms (0.001s)"},
	{"n", "short of an s: ns"},
	{"u", "short of an s: us"},
	{"M", "two things: min (60s) or ms (0.001s)"},
	{NULL, NULL},
};

/* In any case where the kind allows it; a B stays a B. */
static bool same_unit(const char *a, const char *b, bool any_case)
{
	for (; *a && *b; a++, b++) {
		bool byte = *a == 'B' || *b == 'B';

		if (any_case && !byte ? tolower((unsigned char)*a) != tolower((unsigned char)*b)
				      : *a != *b)
			return false;
	}
	return *a == *b;
}

/* mantissa x 10^exponent; digits beyond the first 19 are left out. */
struct decimal {
	uint64_t mantissa;
	int exponent;
	bool negative;
};

enum { DIGITS = 19, EXPONENT_MAX = 10000 };

static void digit(struct decimal *d, unsigned *n, char c, bool fraction)
{
	if (*n < DIGITS) {
		d->mantissa = 10 * d->mantissa + (unsigned)(c - '0');
		*n += d->mantissa != 0;
		d->exponent -= fraction;
		return;
	}
	d->exponent += !fraction;
}

static const char *exponent(const char *s, struct decimal *d)
{
	const char *p = s + 1 + (s[1] == '-' || s[1] == '+');
	int v = 0;

	if (!isdigit((unsigned char)*p))
		return s; /* the unit begins with an e, or is none */
	for (; isdigit((unsigned char)*p); p++)
		v = v < EXPONENT_MAX ? 10 * v + (*p - '0') : v;
	d->exponent += s[1] == '-' ? -v : v;
	return p;
}

/* A decimal number at s: *end behind it. Only digits, a point and an exponent: no hex, no "inf". */
static bool decimal(const char *s, struct decimal *d, const char **end)
{
	const char *p = s + (*s == '-');
	unsigned n = 0;

	*d = (struct decimal){.negative = *s == '-'};
	if (!isdigit((unsigned char)*p) || (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')))
		return false;
	for (; isdigit((unsigned char)*p); p++)
		digit(d, &n, *p, false);
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			digit(d, &n, *p, true);
	if (*p == 'e' || *p == 'E')
		p = exponent(p, d);
	*end = p;
	return true;
}

/* d x scale, to the nearest, ties away from zero; false: above 9.2e18. By integers, so that every
 * machine reads the same number. */
static bool scaled(const struct decimal *d, uint64_t scale, int64_t *out)
{
	const uint64_t most = UINT64_C(9200000000000000000);
	rs_uint128 v = (rs_uint128)d->mantissa * scale;
	int e = d->exponent;

	for (; e > 0 && v && v < most; e--)
		v *= 10;
	for (; e < -1 && v; e++)
		v /= 10;
	if (e < 0) /* the highest digit that goes decides */
		v = v / 10 + (v % 10 >= 5);
	if (v >= most)
		return false;
	*out = (int64_t)v;
	return true;
}

static int quantity(const char *s, const struct unit *units, const struct slip *slips,
		    const char *kind, const char *fit, int64_t *out, struct rs_error *e)
{
	bool any_case = units != sizes;
	struct decimal v;
	const char *end;

	if (!decimal(s, &v, &end))
		return rs_error_set(e, -EINVAL, "expected %s such as %s, found '%s'", kind, fit, s);
	while (*end == ' ')
		end++;
	if (!*end && !v.mantissa) {
		*out = 0;
		return 0;
	}
	if (!*end)
		return rs_error_set(e, -EINVAL, "%s needs a unit, as in %s; found '%s'", kind, fit,
				    s);
	for (; units->name; units++)
		if (same_unit(end, units->name, any_case))
			break;
	for (; !units->name && slips->name; slips++)
		if (!strcmp(end, slips->name))
			return rs_error_set(e, -EINVAL,
					    "'%s' in '%s' is %s; expected %s such as %s", end, s,
					    slips->meant, kind, fit);
	if (!units->name)
		return rs_error_set(e, -EINVAL, "'%s' is no unit of %s; write it as in %s", end,
				    kind, fit);
	if (v.negative && v.mantissa)
		return rs_error_set(e, -ERANGE, "%s cannot be negative: '%s'", kind, s);
	if (!scaled(&v, (uint64_t)units->scale, out))
		return rs_error_set(e, -ERANGE, "'%s' is too large", s);
	return 0;
}

int rs_parse_rate(const char *s, int64_t *rate, struct rs_error *e)
{
	return quantity(s, rates, rate_slips, "a rate", "400G or 5Mb/s (bits per second)", rate, e);
}

int rs_parse_bytes(const char *s, uint64_t *bytes, struct rs_error *e)
{
	int64_t v;
	int err = quantity(s, sizes, size_slips, "a size", "150kB, 16MiB or 64B", &v, e);

	if (!err)
		*bytes = (uint64_t)v;
	return err;
}

int rs_parse_time(const char *s, rs_time *t, struct rs_error *e)
{
	return quantity(s, times, time_slips, "a time", "500ns, 1us or 10ms", t, e);
}

int rs_parse_count(const char *s, double *n, struct rs_error *e)
{
	struct decimal d;
	const char *end;
	double v;

	if (!decimal(s, &d, &end) || *end)
		return rs_error_set(e, -EINVAL, "expected a plain number such as 175e9, found '%s'",
				    s);
	v = strtod(s, NULL); /* the nearest double, on every machine */
	if (v < 0 || !(v < 1e300))
		return rs_error_set(e, -ERANGE, "'%s' is out of range", s);
	*n = v;
	return 0;
}

int rs_parse_int(const char *s, int64_t min, int64_t max, int64_t *n, struct rs_error *e)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || *end || (s[0] != '-' && !(s[0] >= '0' && s[0] <= '9')))
		return rs_error_set(e, -EINVAL, "expected a whole number, found '%s'", s);
	if ((errno || v < min || v > max) && min == max)
		return rs_error_set(e, -ERANGE, "expected %" PRId64 ", found '%s'", min, s);
	if (errno || v < min || v > max)
		return rs_error_set(e, -ERANGE,
				    "expected a whole number from %" PRId64 " to %" PRId64
				    ", found '%s'",
				    min, max, s);
	*n = v;
	return 0;
}

/* The largest unit that leaves a whole number; a plain value in the smallest otherwise. */
static char *exact(char *buf, size_t size, uint64_t v, const struct unit *units, unsigned n)
{
	while (n-- > 1)
		if (v && v % (uint64_t)units[n].scale == 0)
			break;
	snprintf(buf, size, "%" PRIu64 "%s", v / (uint64_t)units[n].scale, units[n].name);
	return buf;
}

char *rs_format_rate(char *buf, size_t size, int64_t rate)
{
	static const struct unit u[] = {
		{"bps", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};

	/* 1600G, not 2T of something that is not whole */
	return exact(buf, size, (uint64_t)rate, u, rate % 1000000000000 ? 4 : 5);
}

char *rs_format_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const struct unit binary[] = {
		{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
	static const struct unit metric[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};

	return bytes && bytes % 1000 == 0 ? exact(buf, size, bytes, metric, 4)
					  : exact(buf, size, bytes, binary, 4);
}

char *rs_format_time(char *buf, size_t size, rs_time t)
{
	static const struct unit u[] = {
		{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};

	return exact(buf, size, (uint64_t)t, u, 5);
}

static char *human(char *buf, size_t size, double v, const struct unit *u, unsigned n)
{
	while (n > 1 && fabs(v) < u[n - 1].scale * 0.9995)
		n--;
	v /= u[n - 1].scale;
	snprintf(buf, size, "%.*f %s", v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, u[n - 1].name);
	return buf;
}

char *rs_format_range(char *buf, size_t size, int64_t least, int64_t most)
{
	if (least == most)
		snprintf(buf, size, "%" PRId64, least);
	else
		snprintf(buf, size, "%" PRId64 " to %" PRId64, least, most);
	return buf;
}

char *rs_human_rate(char *buf, size_t size, double rate)
{
	static const struct unit u[] = {
		{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};

	return human(buf, size, rate, u, 5);
}

char *rs_human_bytes(char *buf, size_t size, double bytes)
{
	static const struct unit u[] = {
		{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};

	return human(buf, size, bytes, u, 5);
}

char *rs_human_time(char *buf, size_t size, rs_time t)
{
	static const struct unit u[] = {
		{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};

	if (t == RS_NEVER) {
		snprintf(buf, size, "never");
		return buf;
	}
	return human(buf, size, (double)t, u, 5);
}
