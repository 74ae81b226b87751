/* Frames to packets: Ethernet, 802.1Q, IPv4/IPv6, UDP, BTH and extended headers; PFC. IBTA §9.2,
 * §9.3, annex A17; IEEE 802.1Q clause 36. */
#include <errno.h>
#include <string.h>
#include "base/bytes.h"
#include "wire/filler.h"
#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/telemetry.h"

enum { TYPE_VLAN = 0x8100, TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_CONTROL = 0x8808 };
enum { PFC_OPCODE = 0x0101, PROTOCOL_UDP = 17, IPV4_MORE_AND_OFFSET = 0x3fff };

/* What is left to read, and what it is read into. */
struct input {
	const uint8_t *b, *end;
	size_t cut; /* bytes behind end that were on the wire and are not here */
	struct rs_frame *f;
	struct rs_packet *p;
	struct rs_error *why;
};

static size_t left(const struct input *in)
{
	return (size_t)(in->end - in->b);
}

/* As long as it was on the wire. */
static size_t whole(const struct input *in)
{
	return left(in) + in->cut;
}

static enum rs_decode refuse(struct input *in, enum rs_decode r, const char *field,
			     unsigned expected, unsigned found)
{
	rs_error_set(in->why, -EBADMSG, "%s: expected %u, found %u", field, expected, found);
	return r;
}

static enum rs_decode truncated(struct input *in, const char *header, size_t needs)
{
	return refuse(in, in->cut ? RS_DECODE_CUT : RS_DECODE_TRUNCATED, header, (unsigned)needs,
		      (unsigned)left(in));
}

static enum rs_decode other(struct input *in, const char *what)
{
	rs_error_set(in->why, -EPROTONOSUPPORT, "%s: not RoCEv2", what);
	return RS_DECODE_OTHER;
}

static enum rs_decode decode_pfc(struct input *in)
{
	if (left(in) < 2)
		return truncated(in, "bytes of MAC control", 2);
	if (rs_get16(in->b) != PFC_OPCODE)
		return other(in, "MAC control opcode");
	if (left(in) < RS_ETH_MIN_FRAME - RS_FCS_BYTES - RS_ETH_BYTES)
		return truncated(in, "bytes of a PFC frame",
				 RS_ETH_MIN_FRAME - RS_FCS_BYTES - RS_ETH_BYTES);
	if (in->b[2])
		return refuse(in, RS_DECODE_MALFORMED, "upper byte of PFC's class-enable vector", 0,
			      in->b[2]);
	in->p->kind = RS_KIND_PFC;
	in->p->pfc_enable = in->b[3];
	for (unsigned i = 0; i < RS_CLASSES; i++)
		in->p->pfc_quanta[i] = rs_get16(in->b + 4 + 2 * i);
	in->b += 4 + 2 * RS_CLASSES;
	if (left(in) > RS_TRAILER_MAX)
		return refuse(in, RS_DECODE_MALFORMED, "bytes behind PFC's quanta", RS_TRAILER_MAX,
			      (unsigned)left(in));
	in->f->trailer = in->b;
	in->f->trailer_bytes = (uint16_t)left(in);
	return RS_DECODE_OK;
}

/* The IP packet ends at in->b + bytes: what follows is the Ethernet trailer. */
static enum rs_decode cut(struct input *in, size_t bytes, size_t least, const char *field)
{
	size_t trailer;

	if (bytes < least)
		return refuse(in, RS_DECODE_MALFORMED, field, (unsigned)least, (unsigned)bytes);
	if (bytes > whole(in))
		return refuse(in, RS_DECODE_TRUNCATED, field, (unsigned)whole(in), (unsigned)bytes);
	if (bytes > left(in)) {
		in->cut = bytes - left(in);
		in->f->cut = true;
		return RS_DECODE_OK;
	}
	in->cut = 0;
	trailer = left(in) - bytes;
	if (trailer > RS_TRAILER_MAX)
		return refuse(in, RS_DECODE_MALFORMED, "bytes behind the IP packet", RS_TRAILER_MAX,
			      (unsigned)trailer);
	in->end = in->b + bytes;
	in->f->trailer = in->end;
	in->f->trailer_bytes = (uint16_t)trailer;
	return RS_DECODE_OK;
}

static enum rs_decode decode_ipv4(struct input *in)
{
	const uint8_t *b = in->b;
	unsigned header;
	enum rs_decode r;

	if (left(in) < RS_IPV4_BYTES)
		return truncated(in, "bytes of IPv4 header", RS_IPV4_BYTES);
	header = (b[0] & 15) * 4;
	if (b[0] >> 4 != 4)
		return refuse(in, RS_DECODE_MALFORMED, "IPv4 version", 4, b[0] >> 4);
	if (b[9] != PROTOCOL_UDP)
		return other(in, "IPv4 protocol");
	if (rs_get16(b + 6) & IPV4_MORE_AND_OFFSET)
		return other(in, "IPv4 fragment");
	if (left(in) < header + RS_UDP_BYTES)
		return truncated(in, "bytes of IPv4 and UDP headers", header + RS_UDP_BYTES);
	if (rs_get16(b + header + 2) != RS_UDP_PORT)
		return other(in, "UDP destination port");
	if (header != RS_IPV4_BYTES)
		return refuse(in, RS_DECODE_MALFORMED, "IPv4 header length (no options)",
			      RS_IPV4_BYTES, header);
	if (rs_internet_checksum(b, RS_IPV4_BYTES))
		return refuse(in, RS_DECODE_MALFORMED, "IPv4 checksum over the header", 0,
			      rs_internet_checksum(b, RS_IPV4_BYTES));
	r = cut(in, rs_get16(b + 2), RS_IPV4_BYTES + RS_UDP_BYTES, "IPv4 total length");
	if (r)
		return r;
	in->p->tos = b[1];
	in->f->ip_id = rs_get16(b + 4);
	in->f->ip_frag = rs_get16(b + 6);
	in->f->ttl = b[8];
	in->f->sip[10] = in->f->sip[11] = in->f->dip[10] = in->f->dip[11] = 0xff;
	memcpy(in->f->sip + 12, b + 12, 4);
	memcpy(in->f->dip + 12, b + 16, 4);
	in->b += RS_IPV4_BYTES;
	return RS_DECODE_OK;
}

static enum rs_decode decode_ipv6(struct input *in)
{
	const uint8_t *b = in->b;
	enum rs_decode r;

	if (left(in) < RS_IPV6_BYTES)
		return truncated(in, "bytes of IPv6 header", RS_IPV6_BYTES);
	if (b[0] >> 4 != 6)
		return refuse(in, RS_DECODE_MALFORMED, "IPv6 version", 6, b[0] >> 4);
	if (b[6] != PROTOCOL_UDP)
		return other(in, "IPv6 next header");
	if (left(in) < RS_IPV6_BYTES + RS_UDP_BYTES)
		return truncated(in, "bytes of IPv6 and UDP headers", RS_IPV6_BYTES + RS_UDP_BYTES);
	r = cut(in, (size_t)RS_IPV6_BYTES + rs_get16(b + 4), RS_IPV6_BYTES + RS_UDP_BYTES,
		"IPv6 header and payload length");
	if (r)
		return r;
	in->f->ipv6 = true;
	in->p->tos = (uint8_t)(rs_get16(b) >> 4);
	in->f->flow_label = rs_get24(b + 1) & 0xfffff;
	in->f->ttl = b[7];
	memcpy(in->f->sip, b + 8, 16);
	memcpy(in->f->dip, b + 24, 16);
	in->b += RS_IPV6_BYTES;
	return RS_DECODE_OK;
}

static enum rs_decode decode_udp(struct input *in)
{
	if (rs_get16(in->b + 2) != RS_UDP_PORT)
		return other(in, "UDP destination port");
	if (rs_get16(in->b + 4) != whole(in))
		return refuse(in, RS_DECODE_MALFORMED, "UDP length", (unsigned)whole(in),
			      rs_get16(in->b + 4));
	in->p->sport = rs_get16(in->b);
	in->f->dport = RS_UDP_PORT;
	in->f->udp_checksum = rs_get16(in->b + 6);
	in->b += RS_UDP_BYTES;
	return RS_DECODE_OK;
}

static void decode_bth(struct input *in)
{
	const uint8_t *b = in->b;

	rs_bth_get(b, in->p);
	in->f->tver = b[1] & 15;
	in->f->bth_reserved = (uint32_t)(b[4] & 0x3f) << 8 | (b[8] & 0x7f);
	in->b += RS_BTH_BYTES;
}

/* The extended headers stand in this order, those that flags name (§9.3, figures of §9.4). */
static void decode_extended(struct input *in, uint32_t flags)
{
	const uint8_t *b = in->b;
	struct rs_packet *p = in->p;

	if (flags & RS_F_XRCETH) {
		in->f->ext_reserved = b[0];
		p->xrc_srqn = rs_get24(b + 1);
		b += RS_XRCETH_BYTES;
	}
	if (flags & RS_F_DETH) {
		p->qkey = rs_get32(b);
		in->f->ext_reserved = b[4];
		p->src_qp = rs_get24(b + 5);
		b += RS_DETH_BYTES;
	}
	if (flags & RS_F_FETH) {
		p->feth = rs_get32(b);
		b += 4;
	}
	b = rs_extended_get(b, p, flags);
	if (flags & RS_F_CNP) {
		memcpy(in->f->reserved, b, RS_CNP_PAYLOAD);
		b += RS_CNP_PAYLOAD;
	}
	in->b = b;
}

/* in holds what follows the extended headers: payload, pad, ICRC. */
static enum rs_decode decode_payload(struct input *in, uint32_t flags, unsigned pad)
{
	size_t n = whole(in) - RS_ICRC_BYTES;

	if (n % 4)
		return refuse(in, RS_DECODE_MALFORMED, "payload and pad bytes modulo 4", 0,
			      (unsigned)(n % 4));
	if (pad > n)
		return refuse(in, RS_DECODE_MALFORMED, "BTH pad count", (unsigned)n, pad);
	n -= pad;
	if (n && !(flags & RS_F_PAYLOAD))
		return refuse(in, RS_DECODE_MALFORMED, "payload bytes of this opcode", 0,
			      (unsigned)n);
	if (n > RS_MAX_PAYLOAD)
		return refuse(in, RS_DECODE_MALFORMED, "payload bytes", RS_MAX_PAYLOAD,
			      (unsigned)n);
	if (!n && pad)
		return refuse(in, RS_DECODE_MALFORMED, "BTH pad count", 0, pad);
	in->p->payload_bytes = (uint16_t)n;
	if (in->cut)
		return RS_DECODE_OK;
	in->p->payload = in->b;
	memcpy(in->f->pad, in->b + n, pad);
	return RS_DECODE_OK;
}

static void check_icrc(struct input *in, const uint8_t *ip)
{
	uint32_t icrc;

	if (in->cut)
		return;
	in->f->icrc = rs_get32_le(in->end - RS_ICRC_BYTES);
	icrc = rs_icrc_before(ip, (size_t)(in->end - ip) - RS_ICRC_BYTES, in->f->ipv6,
			      in->f->stamped ? RS_INT_TRAILER_BYTES : in->f->filled);
	in->f->icrc_ok = in->f->icrc == icrc;
	in->p->corrupt = !in->f->icrc_ok;
}

/* Stamps or a filler behind the ICRC: what is before them is the packet. */
static const uint8_t *cut_trailer(struct input *in)
{
	const uint8_t *trailer = in->cut ? NULL : rs_int_trailer_find(in->b, left(in));

	if (trailer) {
		in->f->stamped = true;
		in->end = trailer;
	} else if (!in->cut) {
		in->f->filled = (uint8_t)rs_filler_find(in->b, left(in));
		in->end -= in->f->filled;
	} else if (left(in) >= RS_BTH_BYTES && in->b[4] & RS_BTH4_FILLED &&
		   in->cut >= rs_filler_of(in->b[0])) { /* it is not here to be looked at */
		in->f->filled = (uint8_t)rs_filler_of(in->b[0]);
		in->cut -= in->f->filled;
	}
	return trailer;
}

static enum rs_decode decode_roce(struct input *in, const uint8_t *ip)
{
	const uint8_t *trailer = cut_trailer(in);
	const struct rs_opcode *op;
	unsigned pad;
	enum rs_decode r;

	if (whole(in) < RS_BTH_BYTES + RS_ICRC_BYTES)
		return refuse(in, RS_DECODE_MALFORMED, "bytes of BTH and ICRC",
			      RS_BTH_BYTES + RS_ICRC_BYTES, (unsigned)whole(in));
	if (left(in) < RS_BTH_BYTES)
		return truncated(in, "bytes of BTH", RS_BTH_BYTES);
	in->p->opcode = in->b[0];
	op = &rs_opcodes[in->b[0]];
	pad = in->b[1] >> 4 & 3;
	decode_bth(in);
	if (!(op->flags & RS_F_VALID)) {
		rs_error_set(in->why, -EBADMSG, "BTH opcode: 0x%02x is reserved", in->p->opcode);
		check_icrc(in, ip);
		return RS_DECODE_RESERVED;
	}
	if (whole(in) < (size_t)op->ext_bytes + RS_ICRC_BYTES)
		return refuse(in, RS_DECODE_MALFORMED, "bytes of extended headers and ICRC",
			      op->ext_bytes + RS_ICRC_BYTES, (unsigned)whole(in));
	if (left(in) < op->ext_bytes)
		return truncated(in, "bytes of extended headers", op->ext_bytes);
	decode_extended(in, op->flags);
	if (trailer)
		rs_int_trailer_get(trailer, in->p);
	r = decode_payload(in, op->flags, pad);
	if (!r)
		check_icrc(in, ip);
	return r;
}

static enum rs_decode decode_ip(struct input *in, uint16_t type)
{
	const uint8_t *ip = in->b;
	enum rs_decode r;

	if (type == TYPE_IPV4)
		r = decode_ipv4(in);
	else if (type == TYPE_IPV6)
		r = decode_ipv6(in);
	else
		return other(in, "EtherType");
	if (!r)
		r = decode_udp(in);
	return r ? r : decode_roce(in, ip);
}

enum rs_decode rs_frame_decode(const uint8_t *bytes, size_t n, struct rs_frame *f,
			       struct rs_packet *p, struct rs_error *why)
{
	return rs_frame_decode_part(bytes, n, n, f, p, why);
}

enum rs_decode rs_frame_decode_part(const uint8_t *bytes, size_t n, size_t on_wire,
				    struct rs_frame *f, struct rs_packet *p, struct rs_error *why)
{
	struct input in = {.b = bytes,
			   .end = bytes + n,
			   .cut = on_wire > n ? on_wire - n : 0,
			   .f = f,
			   .p = p,
			   .why = why};
	uint16_t type;
	enum rs_decode r;

	memset(f, 0, sizeof(*f));
	memset(p, 0, sizeof(*p));
	p->next = RS_NO_PACKET;
	if (n < RS_ETH_BYTES)
		return truncated(&in, "bytes of Ethernet header", RS_ETH_BYTES);
	memcpy(f->dmac, bytes, 6);
	memcpy(f->smac, bytes + 6, 6);
	type = rs_get16(bytes + 12);
	in.b += RS_ETH_BYTES;
	if (type == TYPE_VLAN) {
		if (left(&in) < RS_VLAN_BYTES)
			return truncated(&in, "bytes of 802.1Q tag", RS_VLAN_BYTES);
		f->vlan = true;
		f->vlan_tci = rs_get16(in.b);
		type = rs_get16(in.b + 2);
		in.b += RS_VLAN_BYTES;
	}
	/* MAC control is never tagged. */
	r = type == TYPE_CONTROL && !f->vlan ? decode_pfc(&in) : decode_ip(&in, type);
	if (r && r != RS_DECODE_RESERVED)
		return r;
	n = (on_wire > n ? on_wire : n) + RS_FCS_BYTES;
	p->frame_bytes = (uint16_t)(n < RS_ETH_MIN_FRAME ? RS_ETH_MIN_FRAME : n);
	return r;
}
