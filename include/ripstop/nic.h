/*
 * One RoCEv2 NIC, driven with packets of the caller's own: Ethernet frames go in, Ethernet frames
 * come out, byte for byte as on the wire (ICRC included, without the FCS). The caller owns the time
 * and the network. The NIC is the one that `ripstop sim` simulates and `ripstop exec` runs.
 *
 * Times never go back: a call with an earlier time than the call before is refused (-EINVAL).
 * IBTA volume 1 chapters 9 to 11, annex A17 (RoCEv2).
 */
#ifndef RIPSTOP_NIC_H
#define RIPSTOP_NIC_H

#include <ripstop/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ripstop_nic;
struct ripstop_cq;
struct ripstop_qp;

/* No frame of a NIC is longer: RS_MAX_PAYLOAD and all headers. */
enum { RIPSTOP_FRAME_MAX = 4352 };

struct ripstop_nic_config {
	size_t size;
	uint8_t mac[6];        /* of this port; all 0: 02:00:00:00:00:01 */
	uint8_t unused[2];     /* 0 */
	uint8_t address[16];   /* of this port; all 0: 10.0.0.1 */
	int64_t rate;          /* of the port; 0: 400 Gb/s */
	uint32_t max_qps;      /* 0: 256; at most 2^20 */
	uint32_t max_regions;  /* 0: 1024; at most 2^20 */
	uint32_t max_cqs;      /* 0: 256; at most 2^16 */
	uint32_t max_peers;    /* addresses that it can know; 0: 256; at most 2^20 */
	uint32_t first_qpn;    /* 0: 16 */
	uint32_t ack_every;    /* an ACK at a message's end and after so many packets; 0: 8; at most
				  2^20 */
	int64_t ack_delay;     /* longest that an ACK may wait for others; 0: none waits */
	int64_t min_rto;       /* floor of the local ACK timeout; 0: none */
	const char *cc;        /* congestion control: "dcqcn", "none", ...; NULL: "dcqcn" */
	const char *cc_preset; /* NULL: the algorithm's default */
	const char
		*cc_settings; /* "name=value" with commas between them; NULL: as the preset says */
	uint64_t key_seed;    /* keys of memory are drawn from it; 0: they are counted up */
	uint8_t cnp_dscp;     /* 0: 48 */
	uint8_t cnp_class;    /* 0: 6 */
	uint8_t weight[8];    /* of a class in the port's share (802.1Qaz); all 0: 1 each; 0 beside
			       * others: strict */
};

/* -EINVAL: a value out of range, an unknown algorithm; -ENOMEM. */
RIPSTOP_API int ripstop_nic_create(const struct ripstop_nic_config *c, struct ripstop_nic **nic,
				   struct ripstop_error **e);
/* With all that was made on it. */
RIPSTOP_API void ripstop_nic_destroy(struct ripstop_nic *nic);

/* ---- Memory: IBTA 10.6 ---- */

enum ripstop_access {
	RIPSTOP_LOCAL_WRITE = 1,
	RIPSTOP_REMOTE_WRITE = 2,
	RIPSTOP_REMOTE_READ = 4,
	RIPSTOP_REMOTE_ATOMIC = 8,
};

/*
 * Bytes that packets may read or write, by rights of enum ripstop_access. va: the address that
 * requests name; it need not be the pointer. The bytes are the caller's, and stay until the region
 * is deregistered. One key is both the L_Key and the R_Key. pd: a protection domain, a number of
 * the caller's: a queue pair uses regions of its own only.
 */
RIPSTOP_API int ripstop_nic_register(struct ripstop_nic *nic, uint32_t pd, void *bytes, uint64_t va,
				     uint64_t length, uint32_t access, uint32_t *key,
				     struct ripstop_error **e);
/* -ENOENT: no such key. */
RIPSTOP_API int ripstop_nic_deregister(struct ripstop_nic *nic, uint32_t key,
				       struct ripstop_error **e);

/* ---- Completions: IBTA 11.4.2 ---- */

enum ripstop_op {
	RIPSTOP_SEND,
	RIPSTOP_SEND_IMM,
	RIPSTOP_WRITE,
	RIPSTOP_WRITE_IMM,
	RIPSTOP_READ,
	RIPSTOP_CMP_SWAP,
	RIPSTOP_FETCH_ADD,
	/* of completions alone: a receive that a SEND, or a WRITE with immediate, used up */
	RIPSTOP_RECV = 11,
	RIPSTOP_RECV_WRITE_IMM = 12,
};

enum ripstop_status { /* ibv_wc_status's values */
		      RIPSTOP_OK = 0,
		      RIPSTOP_LOCAL_LENGTH = 1,
		      RIPSTOP_LOCAL_QP_OPERATION = 2,
		      RIPSTOP_LOCAL_PROTECTION = 4,
		      RIPSTOP_FLUSHED = 5,
		      RIPSTOP_REMOTE_INVALID_REQUEST = 9,
		      RIPSTOP_REMOTE_ACCESS = 10,
		      RIPSTOP_REMOTE_OPERATION = 11,
		      RIPSTOP_RETRIES_EXCEEDED = 12,
		      RIPSTOP_RNR_RETRIES_EXCEEDED = 13,
};

struct ripstop_completion {
	uint64_t id;    /* of the work request */
	uint32_t qpn;   /* the queue pair here */
	uint32_t bytes; /* received, or read; of a datagram without the 40 bytes before it */
	uint32_t imm;
	uint32_t src_qpn; /* of a datagram */
	uint8_t status;   /* enum ripstop_status */
	uint8_t op;       /* enum ripstop_op */
	uint8_t has_imm, solicited;
};

/* depth: completions that wait at most; beyond it they are lost and ripstop_cq_overrun() is 1. */
RIPSTOP_API int ripstop_nic_create_cq(struct ripstop_nic *nic, uint32_t depth,
				      struct ripstop_cq **cq, struct ripstop_error **e);
/* At most n, the oldest first, into out with `each` bytes between them. Returns how many. */
RIPSTOP_API uint32_t ripstop_cq_poll(struct ripstop_cq *cq, struct ripstop_completion *out,
				     uint32_t n, size_t each);
RIPSTOP_API int ripstop_cq_overrun(const struct ripstop_cq *cq);
/* -EBUSY: a queue pair completes to it. */
RIPSTOP_API int ripstop_cq_destroy(struct ripstop_cq *cq, struct ripstop_error **e);

/* ---- Queue pairs ---- */

enum ripstop_transport { RIPSTOP_RC = 0x00, RIPSTOP_UC = 0x20, RIPSTOP_UD = 0x60 };

struct ripstop_qp_config {
	size_t size;
	uint32_t pd;
	uint8_t transport;    /* enum ripstop_transport */
	uint8_t max_sge;      /* of a work request; 0: 1; at most 16 */
	uint8_t all_signaled; /* each send completes, not only those with RIPSTOP_SIGNALED */
	uint8_t unused;       /* 0 */
	uint32_t max_sends, max_receives; /* that wait at most; 0: 128; at most 2^16 */
	struct ripstop_cq *send_cq, *receive_cq;
};

RIPSTOP_API int ripstop_nic_create_qp(struct ripstop_nic *nic, const struct ripstop_qp_config *c,
				      struct ripstop_qp **qp, struct ripstop_error **e);
RIPSTOP_API void ripstop_qp_destroy(struct ripstop_qp *qp);
RIPSTOP_API uint32_t ripstop_qp_number(const struct ripstop_qp *qp);

/* Values at which a field means "the default" are said with it. */
struct ripstop_qp_peer {
	size_t size;
	/* The peer; of RIPSTOP_UD nothing: each datagram names its own */
	uint8_t address[16];
	uint8_t mac[6]; /* of the peer or of the router towards it */
	uint16_t mtu;   /* path MTU: 256, 512, 1024, 2048, 4096; 0: 4096 */
	uint32_t qpn;
	uint32_t send_psn, receive_psn; /* the first; 24 bits */
	uint32_t access;                /* enum ripstop_access: what the peer may do here */
	uint32_t qkey;                  /* RIPSTOP_UD */
	uint16_t source_port;           /* UDP; 0: 49152 and the low 14 bits of both QPNs, mixed */
	uint16_t pkey;                  /* 0: 0xffff */
	uint8_t dscp;                   /* of what it sends */
	uint8_t ecn;                    /* 0: ECT(0), as RoCEv2 NICs send; 1: not ECN-capable */
	uint8_t traffic_class;          /* the port's queue; 0 to 7 */
	uint8_t timeout;       /* 4.096 us times 2^n; 0: 14; 255: none, a lost packet stays lost */
	uint8_t retries;       /* 0: 7; 1 to 7; 255: none */
	uint8_t rnr_retries;   /* 0: 7, for ever; 1 to 6; 255: none */
	uint8_t min_rnr_timer; /* code of table 45, 0 to 31; 0 is 655 ms as there, so say it: 12 */
	uint8_t max_reads;     /* READs and atomics out at a time, and taken; 0: 16; at most 16 */
};

/* RESET to RTS in one call, as a connection manager leaves it. -EINVAL: a value out of range, or
 * the queue pair is connected; -ENOSPC: more peers than max_peers. */
RIPSTOP_API int ripstop_qp_connect(struct ripstop_qp *qp, const struct ripstop_qp_peer *peer,
				   int64_t now, struct ripstop_error **e);

enum ripstop_qp_state { RIPSTOP_QP_RESET, RIPSTOP_QP_READY, RIPSTOP_QP_ERROR };
RIPSTOP_API enum ripstop_qp_state ripstop_qp_get_state(const struct ripstop_qp *qp);
/* To RESET (all that waits is gone) or to ERROR (all that waits completes as flushed). */
RIPSTOP_API int ripstop_qp_set_state(struct ripstop_qp *qp, enum ripstop_qp_state to, int64_t now,
				     struct ripstop_error **e);

/* ---- Work ---- */

struct ripstop_sge {
	uint64_t va;
	uint32_t length;
	uint32_t key;
};

enum ripstop_send_flags {
	RIPSTOP_SIGNALED = 1,
	RIPSTOP_SOLICITED = 2,
	RIPSTOP_FENCE = 4,
};

struct ripstop_send {
	size_t size;
	uint64_t id;
	uint8_t op; /* enum ripstop_op */
	uint8_t flags;
	uint8_t n_sge;
	uint8_t unused; /* 0 */
	uint32_t imm;
	const struct ripstop_sge *sge; /* copied; what it names is not */
	uint64_t remote_va;            /* WRITE, READ, atomics */
	uint32_t remote_key;
	uint32_t qpn, qkey; /* RIPSTOP_UD: the peer's */
	uint8_t address[16];
	uint8_t mac[6];
	uint8_t dscp, traffic_class; /* RIPSTOP_UD */
	uint64_t compare;            /* CMP_SWAP: with it */
	uint64_t swap_add;           /* CMP_SWAP: the new value; FETCH_ADD: what is added */
};

/* -ENOMEM: the queue is full; -EINVAL: not in its state, an operation that the transport does not
 * have, a key or a length that is wrong. */
RIPSTOP_API int ripstop_qp_send(struct ripstop_qp *qp, const struct ripstop_send *s, int64_t now,
				struct ripstop_error **e);
RIPSTOP_API int ripstop_qp_receive(struct ripstop_qp *qp, uint64_t id,
				   const struct ripstop_sge *sge, uint8_t n_sge,
				   struct ripstop_error **e);

/* ---- Packets and time ---- */

enum ripstop_rx {
	RIPSTOP_RX_TAKEN, /* RoCEv2, given to the transport; what it thought of it: the counters */
	RIPSTOP_RX_PAUSE, /* 802.1Qbb, obeyed */
	RIPSTOP_RX_OTHER, /* no RoCEv2 */
	RIPSTOP_RX_FOREIGN, /* for another address */
	RIPSTOP_RX_BAD,     /* RoCEv2 that its standard forbids, or cut short */
};

/* An Ethernet frame of n bytes without FCS. Returns enum ripstop_rx, or a negative errno: -EINVAL
 * (the time went back), -ENOBUFS (nothing is lost: ask ripstop_nic_send() first). With
 * RIPSTOP_RX_BAD the error says what is wrong. */
RIPSTOP_API int ripstop_nic_receive(struct ripstop_nic *nic, const void *frame, size_t n,
				    int64_t now, struct ripstop_error **e);

/*
 * The next frame that the port may send now, into out, which has room for RIPSTOP_FRAME_MAX bytes.
 * Returns its length; 0: none, and *again is when to ask anew (RIPSTOP_NEVER: not before a frame
 * comes in, work is posted or ripstop_nic_expire() was due). A caller who models a link asks again
 * once the frame has left: the port's rate is not enforced here, only what congestion control says.
 */
RIPSTOP_API long ripstop_nic_send(struct ripstop_nic *nic, void *out, size_t room, int64_t now,
				  int64_t *again, struct ripstop_error **e);

/* When the next timer is due (retransmission, RNR, a delayed ACK), and what then must be called. */
RIPSTOP_API int64_t ripstop_nic_deadline(const struct ripstop_nic *nic);
RIPSTOP_API int ripstop_nic_expire(struct ripstop_nic *nic, int64_t now, struct ripstop_error **e);

/* ---- Counters: the names of mlx5's hw_counters where one fits ---- */

struct ripstop_nic_counters {
	size_t size;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* frames, with their FCS */
	uint64_t tx_data_packets, tx_data_bytes;             /* payload, also what is sent again */
	uint64_t tx_ack_packets;
	uint64_t retransmitted_packets, retransmitted_bytes;
	uint64_t out_of_sequence, packet_seq_err, implied_nak_seq_err, duplicate_request;
	uint64_t local_ack_timeout_err, rnr_nak_retry_err;
	uint64_t req_remote_access_errors, resp_remote_access_errors;
	uint64_t req_remote_invalid_request, resp_remote_invalid_request;
	uint64_t req_cqe_error, resp_cqe_error, req_cqe_flush_error;
	uint64_t np_ecn_marked_roce_packets, np_cnp_sent, rp_cnp_handled;
	uint64_t rx_icrc_encapsulated; /* dropped: bad ICRC */
	uint64_t rx_dropped;           /* dropped: no such queue pair, wrong state or source */
	uint64_t bad_pkey, bad_qkey;   /* also in rx_dropped */
	uint64_t rx_foreign, rx_other, rx_bad, rx_pauses; /* by ripstop_nic_receive()'s answers */
};

/* Fills what c->size says there is room for. */
RIPSTOP_API void ripstop_nic_counters(const struct ripstop_nic *nic,
				      struct ripstop_nic_counters *c);

/* What congestion control lets a queue pair send at, bits per second. */
RIPSTOP_API int64_t ripstop_qp_rate(const struct ripstop_qp *qp);

#ifdef __cplusplus
}
#endif

#endif
