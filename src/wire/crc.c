/* CRC-32 without carry-less multiplication, and by 256 bits of it, and when which is the better
 * way. */
#include "wire/crc.h"
#include <string.h>
#include "base/clock.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

bool rs_crc_by_words;
size_t rs_crc_wide_from = SIZE_MAX;

static uint32_t table[8][256]; /* the register after a byte and j bytes of zeros */

#define POLYNOMIAL UINT32_C(0xedb88320)

enum { AHEAD = 5 };

static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (unsigned bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
		table[0][i] = c;
	}
	for (unsigned j = 1; j < 8; j++)
		for (uint32_t i = 0; i < 256; i++)
			table[j][i] = table[j - 1][i] >> 8 ^ table[0][table[j - 1][i] & 0xff];
}

#if defined(RS_NO_ISAL)
static bool multiplies_slowly(void)
{
	return true;
}
#elif defined(__x86_64__)
static bool multiplies_slowly(void)
{
	unsigned a, b, c, d;

	return !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_PCLMUL) || rs_machine_emulated();
}
#else
static bool multiplies_slowly(void)
{
	return false;
}
#endif

#if defined(__x86_64__) && !defined(RS_NO_ISAL)
/*
 * What carries a block of 128 bits over so many bits: its low half is multiplied by x to the bits
 * plus 32, its high half by x to the bits less 32, both reflected and modulo the polynomial (Intel:
 * Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, 2009).
 */
struct carry {
	uint64_t low, high;
};

static struct carry over_1024, over_256, over_128, over_64; /* of the last, one half */
/* The polynomial with its highest term, and x^64 divided by it; reflected. */
static const struct carry barrett = {UINT64_C(0x1db710641), UINT64_C(0x1f7011641)};

static uint64_t power_of_x(unsigned n)
{
	uint32_t r = UINT32_C(1) << 31;

	while (n--)
		r = r >> 1 ^ (r & 1 ? POLYNOMIAL : 0);
	return (uint64_t)r << 1;
}

static struct carry carry_over(unsigned bits)
{
	return (struct carry){power_of_x(bits + 32), power_of_x(bits - 32)};
}

static bool multiplies_wide(void)
{
	__builtin_cpu_init(); /* a constructor may come before libgcc's */
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") &&
	       !__builtin_cpu_supports("avx512f") && !rs_machine_emulated();
}

#define WIDE __attribute__((target("avx2,sse4.1,pclmul,vpclmulqdq")))

WIDE static inline __m256i load(const uint8_t *b)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)b);
}

WIDE static inline __m256i both_lanes(const struct carry *k)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)k));
}

/* a, carried over to where b is */
WIDE static inline __m256i fold(__m256i a, __m256i k, __m256i b)
{
	return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(a, k, 0x00),
						 _mm256_clmulepi64_epi128(a, k, 0x11)),
				b);
}

WIDE static inline __m128i halves(const struct carry *k)
{
	return _mm_loadu_si128((const __m128i *)(const void *)k);
}

WIDE static inline __m128i fold_half(__m128i a, __m128i b)
{
	__m128i k = halves(&over_128);

	return _mm_xor_si128(
		_mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00), _mm_clmulepi64_si128(a, k, 0x11)),
		b);
}

/* The CRC of what was folded into 128 bits: to 96 bits, to 64, and Barrett's reduction (the same
 * paper, for reflected bits). */
WIDE static inline uint32_t reduce(__m128i a)
{
	const __m128i words = _mm_set_epi32(0, -1, 0, -1);
	__m128i q, k = halves(&barrett);

	a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, halves(&over_128), 0x10));
	a = _mm_xor_si128(_mm_srli_si128(a, 4),
			  _mm_clmulepi64_si128(_mm_and_si128(a, words), halves(&over_64), 0x00));
	q = _mm_clmulepi64_si128(_mm_and_si128(a, words), k, 0x10);
	q = _mm_clmulepi64_si128(_mm_and_si128(q, words), k, 0x00);
	return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(a, q), 1);
}

WIDE static inline __m256i take(const uint8_t *b, uint8_t *to, size_t at)
{
	__m256i v = load(b + at);

	if (to)
		_mm256_storeu_si256((__m256i *)(void *)(to + at), v);
	return v;
}

/*
 * Four blocks of 256 bits side by side, as one multiplication waits for the last. What lies behind
 * them is ISA-L's. What was loaded is stored at `to` as well, unless that is NULL: beside the
 * multiplications that takes next to no time.
 */
WIDE static inline __attribute__((always_inline)) uint32_t wide(uint32_t crc, uint8_t *to,
								const uint8_t *b, size_t n)
{
	__m256i before = _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc));
	__m256i a0 = _mm256_xor_si256(take(b, to, 0), before);
	__m256i a1 = take(b, to, 32), a2 = take(b, to, 64), a3 = take(b, to, 96);
	__m256i k = both_lanes(&over_1024);
	size_t at = 128;
	__m128i low;

	for (; n - at >= 128; at += 128) {
		a0 = fold(a0, k, take(b, to, at));
		a1 = fold(a1, k, take(b, to, at + 32));
		a2 = fold(a2, k, take(b, to, at + 64));
		a3 = fold(a3, k, take(b, to, at + 96));
	}
	k = both_lanes(&over_256);
	a0 = fold(fold(fold(a0, k, a1), k, a2), k, a3);
	for (; n - at >= 32; at += 32)
		a0 = fold(a0, k, take(b, to, at));
	low = _mm256_castsi256_si128(a0);
	crc = reduce(fold_half(low, _mm256_extracti128_si256(a0, 1)));
	if (at == n)
		return crc;
	if (to)
		memcpy(to + at, b + at, n - at);
	return crc32_gzip_refl(crc, to ? to + at : b + at, n - at);
}

WIDE uint32_t rs_crc32_wide(uint32_t crc, const uint8_t *b, size_t n)
{
	return wide(crc, NULL, b, n);
}

WIDE uint32_t rs_crc32_wide_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t n)
{
	return wide(crc, to, from, n);
}

static void choose_width(void)
{
	over_1024 = carry_over(1024);
	over_256 = carry_over(256);
	over_128 = carry_over(128);
	over_64 = (struct carry){power_of_x(64), 0};
	if (multiplies_wide())
		rs_crc_wide_from = RS_CRC_WIDE_LEAST;
}
#else
uint32_t rs_crc32_wide(uint32_t crc, const uint8_t *b, size_t n)
{
	return rs_crc32_words(crc, b, n);
}

uint32_t rs_crc32_wide_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t n)
{
	memcpy(to, from, n);
	return rs_crc32_words(crc, to, n);
}

static void choose_width(void)
{
}
#endif

__attribute__((constructor)) static void choose(void)
{
	fill_table();
	rs_crc_by_words = multiplies_slowly();
	choose_width();
}

static uint64_t word_at(const uint8_t *b)
{
	uint64_t w;

	memcpy(&w, b, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

static uint32_t by_table(uint32_t r, const uint8_t *b, size_t n)
{
	for (; n >= 8; n -= 8, b += 8) {
		uint64_t w = word_at(b) ^ r;

		r = 0;
		for (unsigned j = 0; j < 8; j++)
			r ^= table[7 - j][w >> 8 * j & 0xff];
	}
	for (; n; n--)
		r = r >> 8 ^ table[0][(r ^ *b++) & 0xff];
	return r;
}

/*
 * x^300 + x^155 + x^117 + x^89 + 1 is a multiple of the CRC's polynomial (found by search: the one
 * of five terms with the least degree whose first two are 64 apart). So a bit may be taken away
 * where bits 145, 183, 211 and 300 places behind it are turned over; a whole word at a time, into
 * the words 2 to 5 places on. What is left at the end goes by table.
 */
uint32_t rs_crc32_words(uint32_t crc, const uint8_t *b, size_t n)
{
	uint64_t ahead[AHEAD] = {(uint32_t)~crc};
	uint8_t rest[8 * AHEAD + 8];

	while (n >= 8 * (AHEAD + 1)) {
		uint64_t w = word_at(b) ^ ahead[0];

		ahead[0] = ahead[1];
		ahead[1] = ahead[2] ^ w << 17 ^ w << 55;
		ahead[2] = ahead[3] ^ w >> 47 ^ w >> 9 ^ w << 19;
		ahead[3] = ahead[4] ^ w >> 45 ^ w << 44;
		ahead[4] = w >> 20;
		b += 8;
		n -= 8;
	}
	if (n < 8 * AHEAD) /* it was short: nothing is ahead but the register */
		return ~by_table(~crc, b, n);
	for (unsigned i = 0; i < AHEAD; i++) {
		uint64_t w = word_at(b + 8 * i) ^ ahead[i];

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		memcpy(rest + 8 * i, &w, sizeof(w));
	}
	n -= 8 * AHEAD;
	memcpy(rest + 8 * AHEAD, b + 8 * AHEAD, n);
	return ~by_table(0, rest, 8 * AHEAD + n);
}
