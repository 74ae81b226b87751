/* Link layers of captures to Ethernet: cooked ones of Linux (SLL, SLL2), raw IP, BSD's loopback,
 * VLAN tags in tags (IEEE 802.1Q, 802.1ad). */
#include "wire/link.h"
#include <string.h>
#include "base/bytes.h"

enum {
	NULL_BSD = 0,
	RAW_OLD = 12,
	RAW_OPENBSD = 14,
	RAW = 101,
	LOOP = 108,
	SLL = 113,
	IPV4 = 228,
	IPV6 = 229,
	SLL2 = 276,
};
enum { HEADER = 14, TAG = 4, TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, OUTGOING = 4, TAGS_MAX = 8 };

const char rs_link_names[] = "Ethernet, Linux cooked (SLL, SLL2), raw IP, BSD loopback";

bool rs_link_known(uint32_t link)
{
	static const uint16_t known[] = {
		RS_LINK_ETHERNET, NULL_BSD, RAW_OLD, RAW_OPENBSD, RAW, LOOP, SLL, IPV4, IPV6, SLL2};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] == link)
			return true;
	return false;
}

static bool is_tag(uint16_t type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/* An Ethernet header of this type before what is behind the first `skip` bytes. */
static void put_header(struct rs_link_frame *f, uint32_t skip, uint16_t type,
		       const uint8_t addresses[12], uint8_t *room)
{
	uint32_t n = f->captured - skip;

	if (n > RS_LINK_ROOM - HEADER)
		n = RS_LINK_ROOM - HEADER;
	memmove(room + HEADER, f->bytes + skip, n); /* they may be there already */
	memcpy(room, addresses, 12);
	rs_put16(room + 12, type);
	f->bytes = room;
	f->captured = n + HEADER;
	f->original = f->original - skip + HEADER;
}

/* All but the innermost tag go; that one is 802.1Q's. */
static void strip_tags(struct rs_link_frame *f, uint8_t *room)
{
	uint32_t at = HEADER - 2, tags = 0;
	uint8_t addresses[12];

	while (tags < TAGS_MAX && f->captured >= at + 2 + TAG && is_tag(rs_get16(f->bytes + at))) {
		at += TAG;
		tags++;
	}
	if (!tags || (tags == 1 && rs_get16(f->bytes + 12) == 0x8100))
		return;
	memcpy(addresses, f->bytes, 12);
	put_header(f, at - TAG + 2, 0x8100, addresses, room);
}

static uint16_t type_of_ip(const uint8_t *ip)
{
	return ip[0] >> 4 == 6 ? TYPE_IPV6 : TYPE_IPV4;
}

bool rs_link_to_ethernet(uint32_t link, struct rs_link_frame *f, uint8_t *room)
{
	static const uint8_t none[12];
	const uint8_t *b = f->bytes;
	uint32_t skip = link == SLL                        ? 16
			: link == SLL2                     ? 20
			: link == NULL_BSD || link == LOOP ? 4
							   : 0;
	uint16_t type;

	f->place = 0;
	if (link == RS_LINK_ETHERNET) {
		strip_tags(f, room);
		return true;
	}
	if (f->captured <= skip || f->original <= skip)
		return false;
	if (link == SLL) {
		type = rs_get16(b + 14);
		f->place = rs_get16(b) == OUTGOING;
	} else if (link == SLL2) {
		type = rs_get16(b);
		f->place = (rs_get32(b + 4) & 0x7fff) << 1 | (b[10] == OUTGOING);
	} else {
		type = type_of_ip(b + skip);
	}
	put_header(f, skip, type, none, room);
	strip_tags(f, room);
	return true;
}
