/* Merged packets taken apart: linux/Documentation/networking/segmentation-offloads.rst; the ICRC is
 * that of IBTA annex A17.3.3. */
#include "wire/segment.h"
#include <string.h>
#include "base/bytes.h"
#include "base/error.h"
#include "wire/frame.h"
#include "wire/roce.h"

enum {
	TYPE_AT = 12,
	TYPE_VLAN = 0x8100,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	PROTOCOL_UDP = 17,
	SIZE_LEAST = RS_BTH_BYTES + RS_ICRC_BYTES,
	SIZE_MOST = 4240, /* the largest payload and headers */
};

static bool locate(const uint8_t *b, size_t n, struct rs_segments *s)
{
	size_t at = TYPE_AT, whole;
	uint16_t type;

	*s = (struct rs_segments){.frame = b};
	if (n < TYPE_AT + 2 + RS_VLAN_BYTES)
		return false;
	type = rs_get16(b + at);
	if (type == TYPE_VLAN) {
		at += RS_VLAN_BYTES;
		type = rs_get16(b + at);
	}
	s->ip = at + 2;
	s->ipv6 = type == TYPE_IPV6;
	if (type != TYPE_IPV4 && type != TYPE_IPV6)
		return false;
	s->udp = s->ip + (s->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES);
	if (n < s->udp + RS_UDP_BYTES || (!s->ipv6 && b[s->ip] != 0x45) ||
	    b[s->ip + (s->ipv6 ? 6 : 9)] != PROTOCOL_UDP || rs_get16(b + s->udp + 2) != RS_UDP_PORT)
		return false;
	whole = s->ipv6 ? (size_t)RS_IPV6_BYTES + rs_get16(b + s->ip + 4) : rs_get16(b + s->ip + 2);
	if (whole > n - s->ip || whole < s->udp - s->ip + RS_UDP_BYTES + SIZE_LEAST)
		return false;
	s->bytes = whole - (s->udp - s->ip) - RS_UDP_BYTES;
	return true;
}

size_t rs_segment_get(const struct rs_segments *s, unsigned k, uint8_t *out)
{
	size_t head = s->udp + RS_UDP_BYTES, left = s->bytes - k * s->size;
	size_t n = left < s->size ? left : s->size;
	uint8_t *ip = out + s->ip;

	rs_assert(k * s->size < s->bytes && head + n <= RS_SEGMENT_ROOM);
	memcpy(out, s->frame, head);
	memcpy(out + head, s->frame + head + k * s->size, n);
	rs_put16(out + s->udp + 4, (uint32_t)(RS_UDP_BYTES + n));
	if (s->ipv6) {
		rs_put16(ip + 4, (uint32_t)(RS_UDP_BYTES + n));
		return head + n;
	}
	rs_put16(ip + 2, (uint32_t)(RS_IPV4_BYTES + RS_UDP_BYTES + n));
	rs_put16(ip + 4, (rs_get16(ip + 4) + k) & 0xffff);
	rs_put16(ip + 10, 0);
	rs_put16(ip + 10, rs_internet_checksum(ip, RS_IPV4_BYTES));
	return head + n;
}

/* Is the k-th's ICRC right where each is so long? */
static bool right(struct rs_segments *s, size_t size, unsigned k)
{
	uint8_t b[RS_SEGMENT_ROOM];
	size_t n;

	s->size = size;
	n = rs_segment_get(s, k, b);
	return n >= s->udp + RS_UDP_BYTES + SIZE_LEAST &&
	       rs_get32_le(b + n - RS_ICRC_BYTES) ==
		       rs_icrc(b + s->ip, n - s->ip - RS_ICRC_BYTES, s->ipv6);
}

/* What follows the first is a transport header of the same partition: asked before the ICRC, which
 * costs. */
static bool begins_another(const struct rs_segments *s, size_t size)
{
	const uint8_t *first = s->frame + s->udp + RS_UDP_BYTES, *next = first + size;

	return s->bytes - size >= SIZE_LEAST && rs_opcodes[next[0]].flags & RS_F_VALID &&
	       !(next[1] & 15) && rs_get16(next + 2) == rs_get16(first + 2);
}

static bool fits(struct rs_segments *s, size_t size)
{
	if (size < SIZE_LEAST || size > SIZE_MOST || size >= s->bytes ||
	    (s->bytes + size - 1) / size > RS_SEGMENTS_MAX || !begins_another(s, size) ||
	    !right(s, size, 0))
		return false;
	s->n = (unsigned)((s->bytes + size - 1) / size);
	return true;
}

bool rs_segments_find(const uint8_t *frame, size_t n, size_t likely, struct rs_segments *s)
{
	if (!locate(frame, n, s))
		return false;
	if (likely && fits(s, likely))
		return true;
	for (size_t size = SIZE_LEAST; size < s->bytes && size <= SIZE_MOST; size += 4)
		if (fits(s, size))
			return true;
	return false;
}
