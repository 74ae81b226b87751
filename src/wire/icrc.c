/* The invariant CRC: what switches may change counts as ones (IBTA §7.8, annex A17.3.3). */
#include <string.h>

#include "base/bytes.h"
#include "wire/crc.h"
#include "wire/frame.h"

/* trailer: bytes behind the ICRC that the header's lengths count, and the ICRC's do not. */
static uint32_t icrc(const uint8_t *ip, size_t n, bool ipv6, uint32_t trailer)
{
	size_t udp = ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES;
	size_t head = udp + RS_UDP_BYTES + RS_BTH_BYTES;
	uint8_t m[8 + RS_IPV6_BYTES + RS_UDP_BYTES + RS_BTH_BYTES];
	uint8_t *h = m + 8;

	rs_assert(n >= head);
	memset(m, 0xff, 8); /* in place of the LRH */
	memcpy(h, ip, head);
	if (ipv6) {
		h[0] |= 0x0f; /* traffic class, flow label, hop limit */
		memset(h + 1, 0xff, 3);
		h[7] = 0xff;
	} else {
		h[1] = h[8] = 0xff; /* type of service, time to live, checksum */
		h[10] = h[11] = 0xff;
	}
	if (__builtin_expect(trailer, 0)) {
		size_t at = ipv6 ? 4 : 2;

		rs_put16(h + at, rs_get16(h + at) - trailer);
		rs_put16(h + udp + 4, rs_get16(h + udp + 4) - trailer);
	}
	h[udp + 6] = h[udp + 7] = 0xff;   /* UDP checksum */
	h[udp + RS_UDP_BYTES + 4] = 0xff; /* FECN, BECN and six reserved bits */
	return rs_crc32(rs_crc32(0, m, 8 + head), ip + head, n - head);
}

uint32_t rs_icrc(const uint8_t *ip, size_t n, bool ipv6)
{
	return icrc(ip, n, ipv6, 0);
}

uint32_t rs_icrc_before(const uint8_t *ip, size_t n, bool ipv6, uint32_t behind)
{
	return icrc(ip, n, ipv6, behind);
}
