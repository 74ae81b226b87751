/*
 * Bytes <-> struct rs_packet. A struct rs_frame holds what the engine leaves out: MAC and IP
 * addresses, VLAN tag, TTL, identification, ports. Decoding then encoding gives the same bytes.
 */
#ifndef RS_WIRE_FRAME_H
#define RS_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "wire/packet.h"

struct rs_frame {
	uint8_t dmac[6], smac[6];
	bool vlan;
	uint16_t vlan_tci;
	bool ipv6;
	uint8_t sip[16], dip[16]; /* IPv4 as ::ffff:a.b.c.d, as in a RoCEv2 GID */
	uint8_t ttl;              /* hop limit */
	uint16_t ip_id;           /* IPv4 identification */
	uint16_t ip_frag;         /* IPv4 flags and fragment offset, host order (0x4000 = DF) */
	uint32_t flow_label;      /* IPv6 */
	uint16_t dport;
	uint16_t udp_checksum;
	uint32_t bth_reserved;            /* reserved bits as received: ICRC covers most of them */
	uint8_t tver;                     /* BTH transport version */
	uint32_t ext_reserved;            /* reserved bits of the extended header that has some */
	uint8_t reserved[RS_CNP_PAYLOAD]; /* of a CNP */
	uint8_t pad[3]; /* pad bytes behind the payload: as many as rs_pad() says */
	uint32_t icrc;  /* as received, as rs_icrc() gives it */
	bool icrc_ok;
	bool stamped;   /* a trailer with int_path and int_hop[] of the packet is behind the ICRC */
	uint8_t filled; /* bytes behind the ICRC that mean nothing (filler.h); not where stamped */
	bool cut;       /* the payload's end and the ICRC are not here: neither is looked at */
	uint16_t trailer_bytes; /* behind the IP packet: Ethernet padding; encoded as they are */
	const uint8_t *trailer; /* borrowed from the decoded bytes */
};

enum { RS_TRAILER_MAX = 64 }; /* more than Ethernet's padding, FCS included, is refused */

enum rs_decode {
	RS_DECODE_OK = 0,
	RS_DECODE_OTHER,     /* a well-formed frame that is not RoCEv2 (ARP, TCP, another port) */
	RS_DECODE_TRUNCATED, /* a length field says more than is there */
	RS_DECODE_MALFORMED, /* a field holds what its standard forbids */
	RS_DECODE_CUT,       /* the capture holds less than the headers */
	RS_DECODE_RESERVED,  /* a BTH opcode that means nothing: BTH and ICRC are read, no more */
};

/*
 * Decode an Ethernet frame without FCS, n bytes. p->payload points into bytes. On anything but
 * RS_DECODE_OK, why (may be NULL) says packet field, expected and found. Never reads past n.
 * The ICRC is checked into f->icrc_ok (p->corrupt where it is bad); that is no decode error. PFC
 * frames decode too. IPv4 options are refused: RoCEv2 has a header of five words (A17.3.2).
 */
enum rs_decode rs_frame_decode(const uint8_t *bytes, size_t n, struct rs_frame *f,
			       struct rs_packet *p, struct rs_error *why);

/*
 * The same of a frame that was on_wire bytes long and of which the first n were kept (a capture's
 * snap length): f->cut says that p->payload is NULL and the ICRC was not checked.
 */
enum rs_decode rs_frame_decode_part(const uint8_t *bytes, size_t n, size_t on_wire,
				    struct rs_frame *f, struct rs_packet *p, struct rs_error *why);

/*
 * Encode into out (capacity cap; p without RS_PACKET_INT where f->stamped): lengths, IPv4 checksum
 * and ICRC are computed, the FCS is not appended; of a corrupt packet the ICRC is wrong. A NULL
 * p->payload stands for payload_bytes zero bytes. Short frames are not padded (PFC is). Returns the
 * length, or -EMSGSIZE.
 */
long rs_frame_encode(const struct rs_frame *f, const struct rs_packet *p, uint8_t *out, size_t cap);

/* ICRC (IBTA §7.8, annex A17.3.3) of an encoded frame that starts at its IP header, without the
 * trailing ICRC; value in host order, to be stored little-endian first byte first. */
uint32_t rs_icrc(const uint8_t *ip, size_t n, bool ipv6);
/* The same of a packet with bytes behind its ICRC (telemetry.h, filler.h), of which n are before
 * it.
 */
uint32_t rs_icrc_before(const uint8_t *ip, size_t n, bool ipv6, uint32_t behind);

/* A frame with the addresses that a simulated endpoint has: MAC 02:00:00:xx:xx:xx, IPv4
 * 10.x.y.z of endpoint number + 1 (or IPv6 fd00::n), DF, TTL 64. */
void rs_frame_of_endpoints(struct rs_frame *f, uint32_t src, uint32_t dst, bool ipv6);

#endif
