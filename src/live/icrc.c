/*
 * A UDP socket hides the IPv4 identification, which the ICRC covers (IBTA annex A17.3.3). CRC-32 is
 * linear: the received ICRC is right for some identification when its difference from the ICRC for
 * identification 0 lies in the span of the 16 single-bit differences. That checks 16 of 32 bits.
 */
#include <isa-l/crc.h>
#include <string.h>
#include "live/state.h"
#include "base/bytes.h"

enum { ID_AT = 4 };

/* How the CRC of n bytes changes with one bit of the identification: by zeros behind it. */
static void make_basis(struct rs_icrc_basis *b, size_t n)
{
	static const uint8_t zeros[4096 + 160];
	size_t behind = n - ID_AT - 2;
	uint32_t none = crc32_gzip_refl(crc32_gzip_refl(0, zeros, 2), zeros, behind);

	for (unsigned i = 0; i < 16; i++) {
		uint8_t id[2] = {0, 0};
		uint32_t row;

		rs_put16(id, 1u << i);
		row = crc32_gzip_refl(crc32_gzip_refl(0, id, 2), zeros, behind) ^ none;
		for (unsigned k = 0; k < i; k++)
			if (row >> b->lead[k] & 1)
				row ^= b->row[k];
		b->row[i] = row;
		b->lead[i] = row ? (uint8_t)(31 - __builtin_clz(row)) : 0;
	}
	b->n = n;
}

bool rs_icrc_any_id(struct rs_live *l, const uint8_t *ip, size_t n, uint32_t received)
{
	uint32_t rest = rs_icrc(ip, n, false) ^ received;
	struct rs_icrc_basis *b = &l->basis;

	if (n < ID_AT + 2 || n > 4096 + 160)
		return false;
	if (b->n != n)
		make_basis(b, n);
	for (unsigned i = 0; i < 16; i++)
		if (rest >> b->lead[i] & 1)
			rest ^= b->row[i];
	return rest == 0;
}
