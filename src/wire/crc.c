/* CRC-32 without carry-less multiplication, and when that is the better way. */
#include "wire/crc.h"
#include <string.h>
#include "base/clock.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool rs_crc_by_words;

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

__attribute__((constructor)) static void choose(void)
{
	fill_table();
	rs_crc_by_words = multiplies_slowly();
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
