/*
 * RoCEv2 on the wire: every header, field and constant. IBTA volume 1 chapter 9 (BTH and extended
 * headers, §9.2, §9.3), annex A17 (RoCEv2), IEEE 802.3, 802.1Q, RFC 791, 768, 8200.
 */
#ifndef RS_WIRE_ROCE_H
#define RS_WIRE_ROCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RS_UDP_PORT = 4791, /* A17.9.1 */

	RS_ETH_BYTES = 14,
	RS_VLAN_BYTES = 4,
	RS_IPV4_BYTES = 20,
	RS_IPV6_BYTES = 40,
	RS_UDP_BYTES = 8,
	RS_BTH_BYTES = 12,
	RS_RETH_BYTES = 16,
	RS_AETH_BYTES = 4,
	RS_IMM_BYTES = 4,
	RS_IETH_BYTES = 4,
	RS_ATOMIC_ETH_BYTES = 28,
	RS_ATOMIC_ACK_BYTES = 8,
	RS_DETH_BYTES = 8,
	RS_XRCETH_BYTES = 4,
	RS_ICRC_BYTES = 4,
	RS_FCS_BYTES = 4,
	RS_PREAMBLE_IPG_BYTES = 20, /* preamble + SFD 8, inter-packet gap 12: 802.3 clauses 3, 4 */
	RS_ETH_MIN_FRAME = 64,      /* with FCS */
	RS_CNP_PAYLOAD = 16,        /* reserved bytes of a CNP: A17.9.3 */
	RS_PFC_FRAME = 64,          /* 802.1Q clause 36 */

	RS_PKEY_FULL = 0x8000, /* membership; alone it is no partition: §10.9.1.2 */
	RS_PSN_MASK = 0xffffff,
	RS_QPN_MASK = 0xffffff,
	RS_GSI_QPN = 1, /* QP1: management datagrams, §9.2.4 (QP0: subnet management) */
	RS_MULTICAST_QPN = 0xffffff, /* §9.2.4 */
	RS_MAX_PAYLOAD = 4096,
	RS_MAX_HEADERS = 160, /* no RoCEv2 packet has more header bytes, FCS included */
};

/* BTH opcodes: transport in the top three bits, operation in the low five (table 38). */
enum rs_transport {
	RS_RC = 0x00,
	RS_UC = 0x20,
	RS_RD = 0x40,
	RS_UD = 0x60,
	RS_CNP_T = 0x80,
	RS_XRC = 0xa0
};
enum rs_op {
	RS_OP_SEND_FIRST = 0,
	RS_OP_SEND_MIDDLE,
	RS_OP_SEND_LAST,
	RS_OP_SEND_LAST_IMM,
	RS_OP_SEND_ONLY,
	RS_OP_SEND_ONLY_IMM,
	RS_OP_WRITE_FIRST,
	RS_OP_WRITE_MIDDLE,
	RS_OP_WRITE_LAST,
	RS_OP_WRITE_LAST_IMM,
	RS_OP_WRITE_ONLY,
	RS_OP_WRITE_ONLY_IMM,
	RS_OP_READ_REQUEST,
	RS_OP_READ_RESPONSE_FIRST,
	RS_OP_READ_RESPONSE_MIDDLE,
	RS_OP_READ_RESPONSE_LAST,
	RS_OP_READ_RESPONSE_ONLY,
	RS_OP_ACKNOWLEDGE,
	RS_OP_ATOMIC_ACKNOWLEDGE,
	RS_OP_CMP_SWAP,
	RS_OP_FETCH_ADD,
	RS_OP_SEND_LAST_INV = 22,
	RS_OP_SEND_ONLY_INV,
	RS_OP_FLUSH = 28,
	RS_OP_ATOMIC_WRITE,
	RS_OPCODE_CNP = 0x81,
	/* Receivers' credits: of the opcodes that table 38 leaves to manufacturers. No standard has
	 * such a packet for RC; ours is simulated alone. */
	RS_OPCODE_CREDIT = 0xc1,
};

/* What an opcode carries and where it stands in a message: one table for the whole tree. */
enum rs_opcode_flags {
	RS_F_VALID = 1 << 0,
	RS_F_RETH = 1 << 1,
	RS_F_AETH = 1 << 2,
	RS_F_IMM = 1 << 3,
	RS_F_IETH = 1 << 4,
	RS_F_ATOMIC = 1 << 5,
	RS_F_ATOMIC_ACK = 1 << 6,
	RS_F_DETH = 1 << 7,
	RS_F_XRCETH = 1 << 8,
	RS_F_PAYLOAD = 1 << 9,
	RS_F_FIRST = 1 << 10, /* First or Only */
	RS_F_LAST = 1 << 11,  /* Last or Only */
	RS_F_SEND = 1 << 12,
	RS_F_WRITE = 1 << 13,
	RS_F_REQUEST = 1 << 14,
	RS_F_RESPONSE = 1 << 15,
	RS_F_READ = 1 << 16, /* READ request or response */
	RS_F_CNP = 1 << 17,
	RS_F_FETH = 1 << 18, /* FLUSH extended header */
	RS_F_ATOMIC_WRITE = 1 << 19,
};

struct rs_opcode {
	const char *name; /* "RC SEND First"; NULL where the opcode is reserved */
	uint32_t flags;
	uint8_t ext_bytes; /* extended headers after the BTH */
};

extern const struct rs_opcode rs_opcodes[256];

/* AETH syndrome: two bits of kind, five of value (table 45). */
enum {
	RS_SYN_ACK = 0x00,
	RS_SYN_RNR = 0x20,
	RS_SYN_SACK = 0x40, /* reserved by table 45: ours, see RS_BTH_EXTENDED */
	RS_SYN_NAK = 0x60,
	RS_SYN_KIND = 0x60,
	RS_SYN_VALUE = 0x1f,
	RS_NAK_PSN_SEQ = 0x60,
	RS_NAK_INVALID_REQUEST = 0x61,
	RS_NAK_REMOTE_ACCESS = 0x62,
	RS_NAK_REMOTE_OPERATIONAL = 0x63,
	RS_NAK_INVALID_RD = 0x64,
	RS_CREDIT_INVALID = 0x1f, /* "no credit information" */
};

/* BTH flag bits, as struct rs_packet keeps them. */
enum {
	RS_BTH_SE = 1 << 0,
	RS_BTH_MIGREQ = 1 << 1,
	RS_BTH_ACKREQ = 1 << 2,
	RS_BTH_FECN = 1 << 3,
	RS_BTH_BECN = 1 << 4,
	/*
	 * An extended header of our own follows those of the opcode. No standard has one for
	 * selective recovery (nic.h), so these stand for it; packets of no other queue pair have
	 * them. A request's tells its place, as the RETH of a WRITE's first packet does: where the
	 * payload goes, R_Key, bytes left of the message (of a SEND: the offset in it, how many
	 * receives the messages before it take, bytes left). An ACK of kind RS_SYN_SACK has the
	 * first PSN of 64 that are a multiple of 64, and a bit for each of them that has come
	 * before its turn, the lowest for the first.
	 */
	RS_BTH_EXTENDED = 1 << 6,
	RS_BTH_CAN = 1 << 7, /* the sender takes packets with such headers, too */
};

/* The same two on the wire: of the 7 bits behind AckReq, which are 0 and are not looked at (§9.2,
 * "resv7"). Only live devices that were told to (RIPSTOP_RECOVERY) write or read them. */
enum { RS_BTH8_CAN = 0x40, RS_BTH8_EXTENDED = 0x20 };

/* Of live devices whose congestion control reads telemetry (RIPSTOP_CC=hpcc): in an ACK's byte 8
 * that its sender takes packets with a trailer (telemetry.h), and in byte 4, of the 6 bits behind
 * FECN and BECN ("resv6", which the ICRC leaves out), that this packet has one. */
enum { RS_BTH8_STAMPS = 0x10, RS_BTH4_STAMPED = 0x01 };

/* Another of these 6 bits: bytes that mean nothing follow the ICRC (filler.h). */
enum { RS_BTH4_FILLED = 0x02 };

enum { RS_SACK_BYTES = 12 };

/* What a sender knows and asks for, beside the payload; in a credit packet what is granted, too. */
enum { RS_CREDIT_BYTES = 8, RS_CREDIT_PACKET_BYTES = 12 };

/* Does a packet of this opcode tell its place, where recovery is selective? Those that have no
 * RETH, of WRITEs of several packets, and all of SENDs. */
static inline bool rs_op_placed(uint8_t opcode)
{
	uint32_t f = rs_opcodes[opcode].flags;

	return f & RS_F_SEND || (f & RS_F_WRITE && !(f & RS_F_RETH) && !(f & RS_F_FIRST));
}

enum rs_ecn { RS_ECN_NOT_ECT = 0, RS_ECN_ECT1 = 1, RS_ECN_ECT0 = 2, RS_ECN_CE = 3 }; /* RFC 3168 */

/* a - b in the 24-bit PSN circle, in [-2^23, 2^23) (§9.7.2). */
static inline int32_t rs_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t rs_psn_add(uint32_t a, uint32_t n)
{
	return (a + n) & RS_PSN_MASK;
}

/* Pad bytes that round a payload up to four (BTH PadCnt). */
static inline unsigned rs_pad(uint32_t payload)
{
	return (0u - payload) & 3;
}

#endif
