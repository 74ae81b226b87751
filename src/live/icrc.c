/*
 * A UDP socket hides the IPv4 identification, which the ICRC covers (IBTA annex A17.3.3). CRC-32 is
 * linear: the received ICRC is right for some identification when its difference from the ICRC for
 * identification 0 lies in the span of the 16 single-bit differences. That checks 16 of 32 bits.
 * By the same linearity the headers' share comes from tables: it changes with PSN and segment only.
 */
#include <string.h>
#include "live/state.h"
#include "base/bytes.h"
#include "wire/crc.h"

enum { ID_AT = 4 };

/* How the CRC of n bytes changes with one bit of the identification: by zeros behind it. */
static void make_basis(struct rs_icrc_basis *b, size_t n)
{
	static const uint8_t zeros[4096 + 160];
	size_t behind = n - ID_AT - 2;
	uint32_t none = rs_crc32(rs_crc32(0, zeros, 2), zeros, behind);

	for (unsigned i = 0; i < 16; i++) {
		uint8_t id[2] = {0, 0};
		uint32_t row;

		rs_put16(id, 1u << i);
		row = rs_crc32(rs_crc32(0, id, 2), zeros, behind) ^ none;
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

/* ---- The part up to and with the BTH, from tables ---- */

enum {
	MASKED_LRH = 8,
	HEAD_MAX = MASKED_LRH + RS_IPV6_BYTES + RS_UDP_BYTES + RS_BTH_BYTES,
	BTH_FIXED =
		8, /* bytes of the BTH before AckReq and PSN, which differ from packet to packet */
};

static uint32_t slice[4][256]; /* the CRC's register after a byte and j bytes of zeros */
static uint32_t id_delta[RS_ICRC_IDS];

static void fill_slices(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (unsigned bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? UINT32_C(0xedb88320) : 0);
		slice[0][i] = c;
	}
	for (unsigned j = 1; j < 4; j++)
		for (uint32_t i = 0; i < 256; i++)
			slice[j][i] = slice[j - 1][i] >> 8 ^ slice[0][slice[j - 1][i] & 0xff];
}

/* What identification k changes in the register at the place of the BTH's AckReq. */
static void fill_ids(void)
{
	static const uint8_t zeros[HEAD_MAX];
	size_t at = MASKED_LRH + ID_AT;
	size_t n = MASKED_LRH + RS_IPV4_BYTES + RS_UDP_BYTES + BTH_FIXED;
	uint32_t none = rs_crc32(0, zeros, n);

	for (uint32_t k = 0; k < RS_ICRC_IDS; k++) {
		uint8_t head[HEAD_MAX] = {0};

		rs_put16(head + at, k);
		id_delta[k] = rs_crc32(0, head, n) ^ none;
	}
}

void rs_icrc_init(void)
{
	fill_slices();
	fill_ids();
}

/* The register behind the fixed part of a stream's headers; identification 0. */
static uint32_t head_register(const struct rs_path *path, bool arrived, uint16_t sport,
			      const uint8_t *bth, size_t n)
{
	const uint8_t *src = arrived ? path->peer : path->own;
	const uint8_t *dst = arrived ? path->own : path->peer;
	uint8_t m[HEAD_MAX], *h = m + MASKED_LRH, *udp;

	memset(m, 0xff, sizeof(m));
	if (path->ipv6) {
		h[0] = 0x6f;
		rs_put16(h + 4, (uint32_t)(RS_UDP_BYTES + n));
		h[6] = IPPROTO_UDP;
		memcpy(h + 8, src, 16);
		memcpy(h + 24, dst, 16);
	} else {
		h[0] = 0x45;
		rs_put16(h + 2, (uint32_t)(RS_IPV4_BYTES + RS_UDP_BYTES + n));
		rs_put32(h + 4, 0x4000); /* identification 0, DF */
		h[9] = IPPROTO_UDP;
		memcpy(h + 12, src + 12, 4);
		memcpy(h + 16, dst + 12, 4);
	}
	udp = h + (path->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES);
	rs_put16(udp, sport);
	rs_put16(udp + 2, RS_UDP_PORT);
	rs_put16(udp + 4, (uint32_t)(RS_UDP_BYTES + n));
	memcpy(udp + RS_UDP_BYTES, bth, BTH_FIXED);
	udp[RS_UDP_BYTES + 4] = 0xff; /* FECN, BECN */
	return ~rs_crc32(0, m, (size_t)(udp + RS_UDP_BYTES + BTH_FIXED - m));
}

uint32_t rs_icrc_fixed(struct rs_icrc_cache *c, const struct rs_path *path, uint32_t number,
		       bool arrived, uint16_t sport, const uint8_t *bth, size_t n)
{
	uint64_t fixed;
	struct rs_icrc_stream *s;
	uint64_t key[2];

	memcpy(&fixed, bth, sizeof(fixed)); /* opcode, flags, P_Key, destination QP */
	fixed |= UINT64_C(0xff) << 32;      /* byte 4 is masked */
	key[0] = fixed;
	key[1] = (uint64_t)path->generation << 48 ^ (uint64_t)number << 32 ^ (uint64_t)sport << 16 ^
		 (uint64_t)n << 1 ^ arrived;
	s = &c->stream[(key[0] ^ key[0] >> 40 ^ key[1] >> 1 ^ key[1] >> 32) % RS_ICRC_STREAMS];
	if (__builtin_expect(s->key[0] != key[0] || s->key[1] != key[1], 0)) {
		s->key[0] = key[0];
		s->key[1] = key[1];
		s->value = head_register(path, arrived, sport, bth, n);
	}
	return s->value;
}

uint32_t rs_icrc_behind(uint32_t fixed, const struct rs_path *path, const uint8_t *bth, unsigned id)
{
	uint32_t r = fixed;

	if (!path->ipv6)
		r ^= id_delta[id];
	r ^= rs_get32_le(bth + BTH_FIXED);
	return ~(slice[3][r & 0xff] ^ slice[2][r >> 8 & 0xff] ^ slice[1][r >> 16 & 0xff] ^
		 slice[0][r >> 24]);
}
