/* Packets to frames: the reverse of decode.c, with lengths, checksum and ICRC computed. */
#include <errno.h>
#include <string.h>
#include "base/bytes.h"
#include "base/error.h"
#include "wire/filler.h"
#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/telemetry.h"

static uint8_t *put_bytes(uint8_t *b, const void *from, size_t n)
{
	if (!n)
		return b;
	if (from)
		memcpy(b, from, n);
	else
		memset(b, 0, n);
	return b + n;
}

static uint8_t *put_ethernet(uint8_t *b, const struct rs_frame *f, uint16_t type)
{
	b = put_bytes(b, f->dmac, 6);
	b = put_bytes(b, f->smac, 6);
	if (f->vlan) {
		rs_put16(b, 0x8100);
		rs_put16(b + 2, f->vlan_tci);
		b += RS_VLAN_BYTES;
	}
	rs_put16(b, type);
	return b + 2;
}

static long encode_pfc(const struct rs_frame *f, const struct rs_packet *p, uint8_t *out,
		       size_t cap)
{
	enum { HEAD = RS_ETH_BYTES + 4 + 2 * RS_CLASSES, LEAST = RS_ETH_MIN_FRAME - RS_FCS_BYTES };
	size_t tail = f->trailer_bytes ? f->trailer_bytes : LEAST - HEAD;
	struct rs_frame untagged = *f;
	uint8_t *b;

	untagged.vlan = false;
	if (cap < HEAD + tail)
		return -EMSGSIZE;
	b = put_ethernet(out, &untagged, 0x8808);
	rs_put16(b, 0x0101);
	rs_put16(b + 2, p->pfc_enable);
	for (unsigned i = 0; i < RS_CLASSES; i++)
		rs_put16(b + 4 + 2 * i, p->pfc_quanta[i]);
	put_bytes(out + HEAD, f->trailer_bytes ? f->trailer : NULL, tail);
	return (long)(HEAD + tail);
}

/* bytes: of the IP packet, header included. */
static uint8_t *put_ip(uint8_t *b, const struct rs_frame *f, uint8_t tos, size_t bytes)
{
	if (f->ipv6) {
		rs_put32(b, UINT32_C(6) << 28 | (uint32_t)tos << 20 | (f->flow_label & 0xfffff));
		rs_put16(b + 4, (uint32_t)(bytes - RS_IPV6_BYTES));
		b[6] = 17;
		b[7] = f->ttl;
		memcpy(b + 8, f->sip, 16);
		memcpy(b + 24, f->dip, 16);
		return b + RS_IPV6_BYTES;
	}
	b[0] = 0x45;
	b[1] = tos;
	rs_put16(b + 2, (uint32_t)bytes);
	rs_put16(b + 4, f->ip_id);
	rs_put16(b + 6, f->ip_frag);
	b[8] = f->ttl;
	b[9] = 17;
	rs_put16(b + 10, 0);
	memcpy(b + 12, f->sip + 12, 4);
	memcpy(b + 16, f->dip + 12, 4);
	rs_put16(b + 10, rs_internet_checksum(b, RS_IPV4_BYTES));
	return b + RS_IPV4_BYTES;
}

static uint8_t *put_bth(uint8_t *b, const struct rs_frame *f, const struct rs_packet *p)
{
	rs_bth_put(b, p);
	b[1] |= f->tver & 15;
	b[4] |= f->bth_reserved >> 8 & 0x3f;
	b[8] |= f->bth_reserved & 0x7f;
	return b + RS_BTH_BYTES;
}

static uint8_t *put_extended(uint8_t *b, const struct rs_frame *f, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	if (flags & RS_F_XRCETH) {
		b[0] = (uint8_t)f->ext_reserved;
		rs_put24(b + 1, p->xrc_srqn);
		b += RS_XRCETH_BYTES;
	}
	if (flags & RS_F_DETH) {
		rs_put32(b, p->qkey);
		b[4] = (uint8_t)f->ext_reserved;
		rs_put24(b + 5, p->src_qp);
		b += RS_DETH_BYTES;
	}
	if (flags & RS_F_FETH) {
		rs_put32(b, p->feth);
		b += 4;
	}
	b = rs_extended_put(b, p, flags);
	return flags & RS_F_CNP ? put_bytes(b, f->reserved, RS_CNP_PAYLOAD) : b;
}

/* HPCC's header: how many hops, then the stamps, behind the extended headers. */
static uint8_t *put_telemetry(uint8_t *b, const struct rs_packet *p)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < RS_INT_HOPS; i++) {
		rs_put64(b + 2 + 8 * i, p->int_hop[i]);
		n += p->int_hop[i] != 0;
	}
	rs_put16(b, n);
	return b + RS_INT_BYTES;
}

long rs_frame_encode(const struct rs_frame *f, const struct rs_packet *p, uint8_t *out, size_t cap)
{
	size_t eth = RS_ETH_BYTES + (f->vlan ? RS_VLAN_BYTES : 0);
	size_t stamps = p->bth_flags & RS_PACKET_INT ? RS_INT_BYTES : 0;
	size_t roce = RS_BTH_BYTES + (size_t)rs_opcodes[p->opcode].ext_bytes + stamps +
		      p->payload_bytes + rs_pad(p->payload_bytes) + RS_ICRC_BYTES;
	size_t trailer = f->stamped ? RS_INT_TRAILER_BYTES : f->filled;
	size_t ip = (f->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES) + RS_UDP_BYTES + roce + trailer;
	uint32_t icrc;
	uint8_t *b;

	if (p->kind == RS_KIND_PFC)
		return encode_pfc(f, p, out, cap);
	if (ip > UINT16_MAX || cap < eth + ip + f->trailer_bytes)
		return -EMSGSIZE;
	b = put_ethernet(out, f, f->ipv6 ? 0x86dd : 0x0800);
	b = put_ip(b, f, p->tos, ip);
	rs_put16(b, p->sport);
	rs_put16(b + 2, f->dport);
	rs_put16(b + 4, (uint32_t)(RS_UDP_BYTES + roce + trailer));
	rs_put16(b + 6, f->udp_checksum);
	b = put_bth(b + RS_UDP_BYTES, f, p);
	b = put_extended(b, f, p);
	if (stamps)
		b = put_telemetry(b, p);
	b = put_bytes(b, p->payload, p->payload_bytes);
	b = put_bytes(b, f->pad, rs_pad(p->payload_bytes));
	icrc = rs_icrc_before(out + eth, ip - trailer - RS_ICRC_BYTES, f->ipv6, (uint32_t)trailer);
	rs_put32_le(b, p->corrupt ? ~icrc : icrc);
	if (f->stamped)
		rs_int_trailer_put(p, b + RS_ICRC_BYTES);
	else if (f->filled)
		rs_filler_put(b + RS_ICRC_BYTES, f->filled);
	put_bytes(b + RS_ICRC_BYTES + trailer, f->trailer, f->trailer_bytes);
	return (long)(eth + ip + f->trailer_bytes);
}

static void address(uint8_t mac[6], uint8_t ip[16], uint32_t endpoint, bool ipv6)
{
	uint32_t n = endpoint + 1;

	rs_assert(n && n < 1 << 24); /* what the addresses have room for */
	mac[0] = 0x02;
	rs_put24(mac + 3, n);
	if (ipv6) {
		ip[0] = 0xfd;
		rs_put32(ip + 12, n);
	} else {
		ip[10] = ip[11] = 0xff;
		ip[12] = 10;
		rs_put24(ip + 13, n);
	}
}

void rs_frame_of_endpoints(struct rs_frame *f, uint32_t src, uint32_t dst, bool ipv6)
{
	memset(f, 0, sizeof(*f));
	address(f->smac, f->sip, src, ipv6);
	address(f->dmac, f->dip, dst, ipv6);
	f->ipv6 = ipv6;
	f->ttl = 64;
	f->ip_frag = ipv6 ? 0 : 0x4000;
	f->dport = RS_UDP_PORT;
}
