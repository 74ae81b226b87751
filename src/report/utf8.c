/* UTF-8 by the table of well-formed byte sequences (RFC 3629, section 4). */
#include "report/text.h"

/* By first byte: how long, and the range of the second byte; every later byte is 80..BF. */
static const struct {
	unsigned char first, last, length, low, high;
} utf8[] = {
	{0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
	{0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
	{0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

unsigned rs_report_utf8(const char *s)
{
	const unsigned char *b = (const unsigned char *)s;

	for (size_t i = 0; i < sizeof(utf8) / sizeof(utf8[0]); i++) {
		if (b[0] < utf8[i].first || b[0] > utf8[i].last)
			continue;
		if (utf8[i].length == 1)
			return 1;
		if (b[1] < utf8[i].low || b[1] > utf8[i].high)
			return 0;
		for (unsigned k = 2; k < utf8[i].length; k++)
			if ((b[k] & 0xc0) != 0x80)
				return 0;
		return utf8[i].length;
	}
	return 0;
}
