/* Masking of what identifies a site. SipHash-2-4 (Aumasson, Bernstein 2012) under a key is the only
 * primitive; addresses keep their common prefixes (Xu, Fan, Ammar, Moon 2002: prefix-preserving).
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "audit/probe/mask.h"

/* ---- SipHash-2-4 ---- */

static uint64_t rotl(uint64_t x, unsigned b)
{
	return x << b | x >> (64 - b);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

static uint64_t little(const uint8_t *p, size_t n)
{
	uint64_t x = 0;

	for (size_t i = 0; i < n; i++)
		x |= (uint64_t)p[i] << (8 * i);
	return x;
}

uint64_t rs_mask_siphash(const uint8_t key[16], const void *data, size_t n)
{
	uint64_t k0 = little(key, 8), k1 = little(key + 8, 8);
	uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
			 k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
	const uint8_t *p = data;
	size_t left = n;

	for (;; p += 8, left -= 8) {
		uint64_t m = left >= 8 ? little(p, 8) : little(p, left) | (uint64_t)n << 56;

		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
		if (left < 8)
			break;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* A hash of n bytes in one of several uses, which share a key but not their values. */
static uint64_t hash(const struct rs_mask *m, char use, const void *data, size_t n)
{
	uint8_t buf[512];

	if (n > sizeof(buf) - 1)
		n = sizeof(buf) - 1;
	buf[0] = (uint8_t)use;
	memcpy(buf + 1, data, n);
	return rs_mask_siphash(m->key, buf, n + 1);
}

/* ---- Addresses ---- */

/* Flips each of bits first..end of an address by a hash of the bits before it: two addresses have
 * after it as long a common prefix as before. */
static void flip(const struct rs_mask *m, char use, const uint8_t *in, uint8_t *out, size_t bytes,
		 unsigned first, unsigned end)
{
	memcpy(out, in, bytes);
	for (unsigned b = first; b < end; b++) {
		uint8_t before[17] = {0};

		memcpy(before, in, b / 8);
		if (b % 8)
			before[b / 8] = (uint8_t)(in[b / 8] & (0xff00 >> b % 8));
		before[16] = (uint8_t)b;
		if (hash(m, use, before, sizeof(before)) & 1)
			out[b / 8] ^= (uint8_t)(0x80 >> b % 8);
	}
}

/* Bits at the front that say what sort of address it is, and stay. 32: all. */
static unsigned ipv4_kept(uint32_t a)
{
	static const struct {
		uint32_t net;
		uint8_t bits, kept;
	} known[] = {
		{0x00000000, 8, 32},  {0x7f000000, 8, 32},  {0xe0000000, 3, 32},
		{0xa9fe0000, 16, 16}, {0x0a000000, 8, 8},   {0xac100000, 12, 12},
		{0xc0a80000, 16, 16}, {0x64400000, 10, 10},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if ((a ^ known[i].net) >> (32 - known[i].bits) == 0)
			return known[i].kept;
	return 0;
}

uint32_t rs_mask_ipv4(const struct rs_mask *m, uint32_t a)
{
	uint8_t in[4] = {(uint8_t)(a >> 24), (uint8_t)(a >> 16), (uint8_t)(a >> 8), (uint8_t)a};
	uint8_t out[4];

	flip(m, '4', in, out, 4, ipv4_kept(a), 32);
	return (uint32_t)out[0] << 24 | (uint32_t)out[1] << 16 | (uint32_t)out[2] << 8 | out[3];
}

/* The lower 24 bits of a MAC address or a GUID made from one: a permutation (Feistel), so that two
 * devices stay two. */
uint32_t rs_mask_24(const struct rs_mask *m, uint32_t low)
{
	uint32_t l = low >> 12 & 0xfff, r = low & 0xfff;

	for (uint8_t round = 0; round < 4; round++) {
		uint8_t in[3] = {round, (uint8_t)(r >> 8), (uint8_t)r};
		uint32_t next = l ^ (hash(m, 'm', in, sizeof(in)) & 0xfff);

		l = r;
		r = next;
	}
	return l << 12 | r;
}

static void mask_tail(const struct rs_mask *m, uint8_t *p)
{
	uint32_t low = rs_mask_24(m, (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]);

	p[0] = (uint8_t)(low >> 16);
	p[1] = (uint8_t)(low >> 8);
	p[2] = (uint8_t)low;
}

static void ipv6(const struct rs_mask *m, uint8_t a[16])
{
	static const uint8_t zero[16], mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool link_local = a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
	uint8_t out[16];

	/* unset, the loopback, multicast */
	if ((!memcmp(a, zero, 15) && a[15] <= 1) || a[0] == 0xff)
		return;
	if (!memcmp(a, mapped, 12)) {
		uint32_t v4 = rs_mask_ipv4(m, (uint32_t)a[12] << 24 | (uint32_t)a[13] << 16 |
						      (uint32_t)a[14] << 8 | a[15]);

		for (int i = 0; i < 4; i++)
			a[12 + i] = (uint8_t)(v4 >> (24 - 8 * i));
		return;
	}
	/* an interface identifier made from a MAC address goes with that (RFC 4291 appendix A) */
	if (a[11] == 0xff && a[12] == 0xfe) {
		flip(m, '6', a, out, 16, link_local ? 64 : 8, 64);
		mask_tail(m, out + 13);
	} else {
		flip(m, '6', a, out, 16, link_local ? 64 : 8, 128);
	}
	memcpy(a, out, 16);
}

/* ---- Words ---- */

struct out {
	char *data;
	size_t n, room;
	bool failed;
};

static void put(struct out *o, const char *p, size_t n)
{
	if (o->failed)
		return;
	if (o->n + n + 1 > o->room) {
		size_t room = 2 * (o->n + n) + 256;
		char *more = realloc(o->data, room);

		if (!more) {
			o->failed = true;
			return;
		}
		o->data = more;
		o->room = room;
	}
	memcpy(o->data + o->n, p, n);
	o->n += n;
	o->data[o->n] = '\0';
}

/* Groups of hex digits between separators: how many, and how long the shortest and longest. */
struct shape {
	unsigned colons, dots, dashes, shortest, longest;
	bool other;
};

static struct shape shape_of(const char *p, size_t n)
{
	struct shape s = {.shortest = 99};
	unsigned run = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && isxdigit((unsigned char)p[i])) {
			run++;
			continue;
		}
		s.shortest = run < s.shortest ? run : s.shortest;
		s.longest = run > s.longest ? run : s.longest;
		run = 0;
		if (i == n)
			break;
		s.colons += p[i] == ':';
		s.dots += p[i] == '.';
		s.dashes += p[i] == '-';
	}
	return s;
}

/* Hex digits in pairs, whatever stands between, to bytes and back into the same places. */
static size_t hex_bytes(const char *p, size_t n, uint8_t *out, size_t most)
{
	size_t digits = 0;

	for (size_t i = 0; i < n && digits < 2 * most; i++)
		if (isxdigit((unsigned char)p[i])) {
			unsigned d = isdigit((unsigned char)p[i]) ? (unsigned)(p[i] - '0')
								  : (p[i] | 0x20) - 'a' + 10u;

			out[digits / 2] = (uint8_t)(digits % 2 ? out[digits / 2] | d : d << 4);
			digits++;
		}
	return digits / 2;
}

static void hex_put(struct out *o, const char *like, size_t n, const uint8_t *bytes)
{
	size_t digit = 0;

	for (size_t i = 0; i < n; i++) {
		char c = like[i];

		if (isxdigit((unsigned char)c)) {
			unsigned d = digit % 2 ? bytes[digit / 2] & 15u : bytes[digit / 2] >> 4;

			c = "0123456789abcdef"[d];
			digit++;
		}
		put(o, &c, 1);
	}
}

static bool is_ipv4(const char *p, size_t n, uint32_t *a)
{
	char text[16];
	struct in_addr in;

	if (n >= sizeof(text))
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	if (inet_pton(AF_INET, text, &in) != 1)
		return false;
	*a = ntohl(in.s_addr);
	return true;
}

static void put_ipv4(const struct rs_mask *m, struct out *o, uint32_t a)
{
	struct in_addr in = {htonl(rs_mask_ipv4(m, a))};
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &in, text, sizeof(text));
	put(o, text, strlen(text));
}

/* false: no IPv6 address. Written out in full it stays so. */
static bool put_ipv6(const struct rs_mask *m, struct out *o, const char *p, size_t n,
		     const struct shape *s)
{
	char text[INET6_ADDRSTRLEN + 1];
	uint8_t a[16];

	if (n >= sizeof(text))
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	if (inet_pton(AF_INET6, text, a) != 1)
		return false;
	ipv6(m, a);
	if (s->colons == 7 && s->shortest == 4 && !s->dots) {
		hex_put(o, p, n, a);
		return true;
	}
	inet_ntop(AF_INET6, a, text, sizeof(text));
	put(o, text, strlen(text));
	return true;
}

/* A word of hex digits, colons, dots and dashes. */
static void word(const struct rs_mask *m, struct out *o, const char *p, size_t n)
{
	struct shape s = shape_of(p, n);
	uint8_t bytes[32] = {0};
	uint32_t v4;

	if (s.dots == 3 && !s.colons && !s.dashes && is_ipv4(p, n, &v4)) {
		put_ipv4(m, o, v4);
	} else if (s.colons == 5 && s.shortest == 2 && s.longest == 2 && !s.dots && !s.dashes) {
		static const uint8_t zero[6], ones[6] = {255, 255, 255, 255, 255, 255};

		hex_bytes(p, n, bytes, 6);
		if (memcmp(bytes, zero, 6) && memcmp(bytes, ones, 6))
			mask_tail(m, bytes + 3);
		hex_put(o, p, n, bytes);
	} else if (s.colons == 3 && s.shortest == 4 && s.longest == 4 && !s.dots && !s.dashes) {
		static const uint8_t zero[8];

		hex_bytes(p, n, bytes, 8);
		if (memcmp(bytes, zero, 8))
			mask_tail(m, bytes + 5);
		hex_put(o, p, n, bytes);
	} else if (s.dashes == 4 && n == 36 && !s.colons && !s.dots) {
		uint64_t h = hash(m, 'u', p, n), g = hash(m, 'v', p, n);

		memcpy(bytes, &h, 8);
		memcpy(bytes + 8, &g, 8);
		hex_put(o, p, n, bytes);
	} else if (s.colons < 2 || s.dashes || !put_ipv6(m, o, p, n, &s)) {
		put(o, p, n);
	}
}

static bool of_word(char c)
{
	return isxdigit((unsigned char)c) || c == ':' || c == '.' || c == '-';
}

static bool of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "pci/0000:11:00.0 serial = MT2243X00000": the value of a fact whose name ends so. */
static size_t serial(const struct rs_mask *m, struct out *o, const char *p, size_t n)
{
	static const char key[] = "serial = ";
	size_t k = sizeof(key) - 1, len;
	char text[32];

	if (n < k || memcmp(p, key, k))
		return 0;
	for (len = 0; k + len < n && p[k + len] != '\n'; len++)
		;
	snprintf(text, sizeof(text), "SN%012llx",
		 (unsigned long long)(hash(m, 's', p + k, len) >> 16));
	put(o, key, k);
	put(o, text, strlen(text));
	return k + len;
}

static size_t host_name(const struct rs_mask *m, struct out *o, const char *p, size_t n)
{
	size_t len = strlen(m->host);

	if (!len || n < len || memcmp(p, m->host, len) || (n > len && of_name(p[len])))
		return 0;
	put(o, m->masked, strlen(m->masked));
	return len;
}

char *rs_mask_text(const struct rs_mask *m, const char *text, size_t n, size_t *out_n)
{
	struct out o = {0};
	bool start = true; /* of a word */

	put(&o, "", 0);
	for (size_t i = 0; i < n && !o.failed;) {
		size_t len = start ? host_name(m, &o, text + i, n - i) : 0;

		if (!len && (start || text[i - 1] == '_'))
			len = serial(m, &o, text + i, n - i);
		if (!len && start && of_word(text[i])) {
			while (i + len < n && of_word(text[i + len]))
				len++;
			/* a sentence's full stop or a list's colon is none of the word */
			while (len > 1 && strchr(".:-", text[i + len - 1]) &&
			       !(len > 2 && text[i + len - 2] == ':'))
				len--;
			if (i + len < n && of_name(text[i + len]))
				put(&o, text + i, len);
			else
				word(m, &o, text + i, len);
		}
		if (!len) {
			put(&o, text + i, 1);
			len = 1;
		}
		i += len;
		start = !of_name(text[i - 1]);
	}
	*out_n = o.n;
	if (o.failed) {
		free(o.data);
		return NULL;
	}
	return o.data;
}

int rs_mask_create(struct rs_mask *m, const char *key, const char *host)
{
	static const uint8_t first[16] = "ripstop mask 1 a", second[16] = "ripstop mask 1 b";
	uint64_t half[2];

	memset(m, 0, sizeof(*m));
	if (!key) {
		if (getrandom(m->key, sizeof(m->key), 0) != (ssize_t)sizeof(m->key))
			return -EAGAIN;
	} else {
		half[0] = rs_mask_siphash(first, key, strlen(key));
		half[1] = rs_mask_siphash(second, key, strlen(key));
		memcpy(m->key, half, sizeof(m->key));
	}
	snprintf(m->host, sizeof(m->host), "%s", host);
	snprintf(m->masked, sizeof(m->masked), "host-%06llx",
		 (unsigned long long)(hash(m, 'h', host, strlen(host)) >> 40));
	return 0;
}
