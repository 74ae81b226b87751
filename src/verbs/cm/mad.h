/*
 * Messages of the communication manager as management datagrams: IBTA volume 1 §12.6 (their
 * fields), §13.4.2 (the common header), annex A11 (IP addressing: service IDs and private data).
 * Host byte order; encoding what was decoded gives the same bytes but for reserved bits.
 */
#ifndef RS_VERBS_CM_MAD_H
#define RS_VERBS_CM_MAD_H

#include <stdbool.h>
#include <stdint.h>
#include "live/gsi.h"

enum rs_cm_kind { /* attribute IDs, table 105 */
		  RS_CM_REQ = 0x10,
		  RS_CM_MRA = 0x11,
		  RS_CM_REJ = 0x12,
		  RS_CM_REP = 0x13,
		  RS_CM_RTU = 0x14,
		  RS_CM_DREQ = 0x15,
		  RS_CM_DREP = 0x16,
		  RS_CM_SIDR_REQ = 0x17,
		  RS_CM_SIDR_REP = 0x18,
};

enum rs_cm_reason { /* §12.6.7.2 */
		    RS_REJ_NO_QP = 1,
		    RS_REJ_NO_RESOURCES = 3,
		    RS_REJ_TIMEOUT = 4,
		    RS_REJ_INVALID_ID = 6,
		    RS_REJ_INVALID_SERVICE = 8,
		    RS_REJ_STALE = 10,
		    RS_REJ_CONSUMER = 28,
};

enum rs_cm_transport { RS_CM_RC = 0, RS_CM_UC = 1, RS_CM_EXTENDED = 3 /* XRC */ };

enum {
	RS_CM_PRIVATE_MAX = 224,
	RS_CM_ARI_BYTES = 72,
	RS_CM_IP_BYTES = 36, /* A11's header before a REQ's or SIDR_REQ's private data */
};

struct rs_cm_path {
	uint16_t slid, dlid;
	uint8_t sgid[16], dgid[16];
	uint32_t flow_label;
	uint8_t rate, traffic_class, hop_limit, sl, subnet_local, ack_timeout;
};

struct rs_cm_msg {
	uint16_t kind; /* enum rs_cm_kind */
	uint64_t tid;
	uint32_t local_id, remote_id; /* local_id: SIDR's request ID too */
	uint64_t service_id, guid;
	uint32_t qkey, qpn, psn, local_eecn, remote_eecn;
	uint16_t pkey;
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_timeout, local_timeout; /* 4.096 us * 2^n */
	uint8_t transport;                     /* enum rs_cm_transport */
	uint8_t flow_control, retry_count, rnr_retry, mtu, rdc, max_retries, srq;
	uint8_t extended_transport, failover;
	uint8_t ack_delay; /* REP */
	struct rs_cm_path path, alternate;
	uint8_t what;        /* REJ, MRA: the message that it is about: 0 REQ, 1 REP, 2 other */
	uint16_t reason;     /* REJ; SIDR_REP: status */
	uint8_t info_length; /* of ari */
	uint8_t ari[RS_CM_ARI_BYTES];
	uint8_t private_length; /* always the kind's maximum when decoded */
	uint8_t private_data[RS_CM_PRIVATE_MAX];
};

/* -EPROTO: not a message of the connection manager, of class version 2 and a kind listed above. */
int rs_cm_decode(const uint8_t mad[RS_MAD_BYTES], struct rs_cm_msg *m);
/* -EINVAL: kind; -EMSGSIZE: more private data than the kind carries. */
int rs_cm_encode(const struct rs_cm_msg *m, uint8_t mad[RS_MAD_BYTES]);
/* Bytes of private data of a kind; 0: no such kind. */
unsigned rs_cm_private_max(unsigned kind);

/* Annex A11: the header that names IP addresses. */
struct rs_cm_ip {
	uint8_t version;          /* 4 or 6 */
	uint16_t port;            /* of the source */
	uint8_t src[16], dst[16]; /* IPv4 as ::ffff:a.b.c.d */
};

/* False: another version of the header, or no IP. */
bool rs_cm_ip_decode(const uint8_t b[RS_CM_IP_BYTES], struct rs_cm_ip *ip);
void rs_cm_ip_encode(const struct rs_cm_ip *ip, uint8_t b[RS_CM_IP_BYTES]);

#endif
