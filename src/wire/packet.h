/*
 * A packet as the engine passes it: decoded headers, the payload as a reference. Two cache lines:
 * the first is all that a switch hop and most of the transport touch; the second is for the packets
 * that carry RETH, AtomicETH or DETH.
 */
#ifndef RS_WIRE_PACKET_H
#define RS_WIRE_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include "base/time.h"
#include "wire/roce.h"

enum rs_packet_kind {
	RS_KIND_ROCE = 0,
	RS_KIND_PFC = 1,   /* 802.1Qbb: classes in pfc_enable, quanta in pfc_quanta[] */
	RS_KIND_OTHER = 2, /* another transport's: what its opcode and numbers mean it knows */
};

enum {
	RS_CLASSES = 8,
	RS_INT_HOPS = 5,
	RS_PACKET_INT =
		1 << 5, /* among the BTH flags, not on the wire: int_hop[] is the packet's */
	/* in the place of BTH flags of another transport's packet: a switch cut its payload off,
	 * and the switch was its destination's own */
	RS_PACKET_TRIMMED = 1 << 6,
	RS_PACKET_TRIMMED_LAST = 1 << 7,
};

struct rs_packet {
	/* Line 0 */
	uint32_t next; /* index of the next in whatever queue holds this; owner: the holder */
	uint32_t dst;  /* destination endpoint: what switches route on */
	uint32_t src;  /* source endpoint */
	uint16_t frame_bytes; /* Ethernet header .. FCS: what buffers and windows count */
	uint16_t sport;       /* UDP source port: the entropy that ECMP hashes */
	uint8_t tos;          /* DSCP << 2 | ECN (enum rs_ecn) */
	uint8_t tc;           /* traffic class at the present hop */
	uint8_t kind;         /* enum rs_packet_kind */
	uint8_t opcode;       /* BTH */
	uint8_t bth_flags;    /* RS_BTH_*, RS_PACKET_INT */
	uint8_t corrupt;      /* set by a hostile network: ICRC will not verify; the NIC drops it */
	uint16_t payload_bytes;
	uint32_t dest_qp;
	uint32_t psn;
	uint32_t aeth;   /* syndrome << 24 | MSN; ACKs and READ responses */
	uint32_t src_qp; /* DETH; on every packet that rs_nic_tx() gives: whose it is */
	uint16_t pkey;
	uint16_t in_port; /* scratch of the switch that holds the packet: ingress port */
	uint32_t number;  /* the owner's, not on the wire: a simulator's order or path (switch.h) */
	rs_time when;     /* scratch of the holder: arrival at the far end of a link */
	union {
		const uint8_t *payload; /* borrowed; NULL where no bytes are moved */
		/* simulation, where none are: when the NIC put it on the wire, if that is asked
		 * for; until it arrives at a NIC */
		rs_time sent;
	};

	/* Line 1 */
	uint64_t va; /* RETH / AtomicETH virtual address */
	uint32_t rkey;
	uint32_t dma_bytes; /* RETH length */
	union {
		uint32_t qkey;     /* DETH */
		uint32_t int_path; /* of in-band telemetry: which path the stamps are of */
	};
	uint32_t imm; /* ImmDt, or IETH's R_Key; host order of the big-endian field */
	union {
		struct {
			uint64_t swap_add; /* AtomicETH swap or add; AtomicAckETH original */
			uint64_t compare;
			uint32_t xrc_srqn;
			uint32_t feth; /* FLUSH: type, selectivity */
		};
		struct {
			uint8_t pfc_enable;              /* class-enable vector */
			uint16_t pfc_quanta[RS_CLASSES]; /* 512 bit times; 0 = XON */
		};
		/* Of receivers' credits (rdma/credit.c), bytes modulo 2^32: granted so far by a
		 * credit packet's sender; granted to it, as it knows; asked for beyond that */
		struct {
			uint32_t credit_granted, credit_known, credit_want;
		};
		/* In-band telemetry, a stamp a switch, 0 behind the last (wire/telemetry.h); never
		 * on atomics and XRC's packets. Fills the line. */
		uint64_t int_hop[RS_INT_HOPS];
	};
};

_Static_assert(offsetof(struct rs_packet, va) == 64, "line 0 is one cache line");
_Static_assert(sizeof(struct rs_packet) == 128, "two cache lines");

#define RS_NO_PACKET UINT32_MAX

/* Bytes that a frame takes on a link: preamble, SFD and inter-packet gap added. */
static inline uint32_t rs_packet_link_bytes(const struct rs_packet *p)
{
	return (uint32_t)p->frame_bytes + RS_PREAMBLE_IPG_BYTES;
}

static inline unsigned rs_packet_ecn(const struct rs_packet *p)
{
	return p->tos & 3;
}

static inline unsigned rs_packet_dscp(const struct rs_packet *p)
{
	return p->tos >> 2;
}

static inline uint8_t rs_packet_syndrome(const struct rs_packet *p)
{
	return (uint8_t)(p->aeth >> 24);
}

static inline uint32_t rs_packet_msn(const struct rs_packet *p)
{
	return p->aeth & 0xffffff;
}

/*
 * Frame bytes of a RoCEv2 packet with this opcode and payload over IPv4 or IPv6, untagged, padding,
 * ICRC and FCS included, the Ethernet minimum applied.
 */
static inline uint16_t rs_frame_bytes(uint8_t opcode, uint32_t payload, bool ipv6)
{
	uint32_t n = RS_ETH_BYTES + (ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES) + RS_UDP_BYTES +
		     RS_BTH_BYTES + rs_opcodes[opcode].ext_bytes + payload + rs_pad(payload) +
		     RS_ICRC_BYTES + RS_FCS_BYTES;

	return (uint16_t)(n < RS_ETH_MIN_FRAME ? RS_ETH_MIN_FRAME : n);
}

#endif
