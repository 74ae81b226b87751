/*
 * The queue pair: what a tx of a middle packet and an ACK touch stands first. Private to the room.
 */
#ifndef RS_RDMA_QP_H
#define RS_RDMA_QP_H

#include <stddef.h>
#include "rdma/nic.h"

enum {
	RS_QP_BYTES_MAX = 512,
	RS_SGE_MAX = 16,
	RS_WR_MAX = 1 << 20,    /* entries of one queue */
	RS_RD_ATOMIC_MAX = 128, /* outstanding READs and atomics a QP */
	RS_PSN_WINDOW =
		1 << 22, /* PSNs in flight: half of the half circle, so a READ always fits */
	RS_MESSAGE_MAX_LOG2 = 31,
};

/*
 * A send work request, from its post to its completion. PSNs are fixed at the post. UD, BIND_MW and
 * XRC keep what they alone have in fields that they have no other use for: fill_other() in qp.c.
 */
struct rs_swqe {
	uint64_t start, end; /* frame bytes posted on the QP before, and with, this message */
	uint64_t wr_id;
	uint64_t remote_va;
	uint32_t length;
	uint32_t packets; /* PSNs that it takes: of a READ, its responses; 0: BIND_MW, LOCAL_INV */
	uint32_t first_psn;
	uint32_t rkey;
	uint32_t imm;
	uint32_t ssn;  /* send sequence number: §9.7.7.2.2 */
	uint8_t op;    /* enum rs_wr_op */
	uint8_t flags; /* enum rs_wr_flags */
	uint8_t n_sge;
	uint8_t middle;      /* BTH opcode of a middle packet */
	uint8_t first_extra; /* frame bytes of the first packet above a middle one */
	bool response;       /* READ or atomic: completed by a response, not by an ACK */
	bool wants_receive;  /* consumes a receive of the peer */
	uint64_t swap_add, compare;
};

static inline bool rs_op_atomic(uint8_t op)
{
	return op == RS_WR_CMP_SWAP || op == RS_WR_FETCH_ADD;
}

/* Do its packets have a payload? Not READ requests and atomics. */
static inline bool rs_swqe_carries(const struct rs_swqe *w)
{
	return !w->response || w->op == RS_WR_ATOMIC_WRITE;
}

/* Of XRC: the SRQ that XRCETH names. */
static inline uint32_t rs_swqe_srqn(const struct rs_swqe *w)
{
	return rs_op_atomic(w->op) ? w->imm : (uint32_t)w->swap_add;
}

struct rs_rwqe {
	uint64_t wr_id;
	uint32_t length;
	uint8_t n_sge;
};

/* A READ or atomic that the responder remembers for duplicates: §9.7.5.1.6. */
struct rs_resource {
	uint64_t va;       /* of the READ's first byte still asked for */
	uint64_t original; /* the atomic's answer */
	uint32_t length;   /* bytes from va */
	uint32_t rkey;
	uint32_t pd;      /* that the key was found in */
	uint32_t psn;     /* of va */
	uint32_t packets; /* from psn */
	uint32_t sent;    /* responses sent since it was last asked for */
	bool atomic;      /* answered by one packet, in place of a READ's */
	bool written;     /* ATOMIC WRITE: the answer has no word */
	bool pending;     /* asked for, not all sent */
	bool answered;    /* sent whole at least once: may be evicted */
};

enum rs_place { RS_PLACE_NONE, RS_PLACE_READY, RS_PLACE_PACED };

enum rs_list_kind { RS_LIST_DATA, RS_LIST_CONTROL, RS_LIST_CNP, RS_LISTS };

struct rs_link {
	uint32_t next, prev;
};

enum rs_qp_flags {
	RS_QF_SIG_ALL = 1 << 0,
	RS_QF_RNR_WAIT = 1 << 1, /* the requester waits out an RNR NAK: the deadline is its end */
	RS_QF_IMPLIED = 1 << 2,  /* went back for an implied NAK; no progress since */
	RS_QF_CREDITS = 1 << 3,  /* the responder advertises credits: lsn holds */
	RS_QF_RTT = 1 << 4,      /* rtt_psn is being timed */
	RS_QF_ACK_OWED = 1 << 5,
	RS_QF_GAP = 1 << 6,          /* the NAK of this gap is made: §9.7.5.2.8 */
	RS_QF_READ_PENDING = 1 << 7, /* the next response is a READ response */
	RS_QF_READ_TURN = 1 << 8,    /* responses and requests take turns */
	RS_QF_ECHO = 1 << 9,         /* the next ACK carries a congestion mark */
	RS_QF_RECEIVING = 1 << 10,   /* a receive is held by the message under way */
	RS_QF_BAD_LOCAL = 1 << 11,   /* the current request's own memory was refused */
	RS_QF_USED = 1 << 12,
	RS_QF_ON_CONTROL = 1 << 13,
	RS_QF_ON_CNP = 1 << 14,
	RS_QF_UC = 1 << 15,
	RS_QF_UD = 1 << 16,
	RS_QF_XRC = 1 << 17,        /* initiator */
	RS_QF_TARGET = 1 << 18,     /* of XRC */
	RS_QF_SRQ = 1 << 19,        /* receives come from an SRQ, one at a time, to rq[0] */
	RS_QF_LOCAL = 1 << 20,      /* a BIND_MW or LOCAL_INV was posted */
	RS_QF_ESTABLISH = 1 << 21,  /* RTR, and no request came yet */
	RS_QF_DRAIN = 1 << 22,      /* SQD: the owner wants to know when the queue is drained */
	RS_QF_HELD = 1 << 23,       /* by rs_qp_hold(): no requests */
	RS_QF_REFUSED = 1 << 24,    /* nak ends the connection when what is owed is answered */
	RS_QF_READS_HELD = 1 << 25, /* by rs_qp_hold_reads() */
	/* What lives as long as the QP. */
	RS_QF_LIFE = RS_QF_USED | RS_QF_SIG_ALL | RS_QF_UC | RS_QF_UD | RS_QF_XRC | RS_QF_TARGET |
		     RS_QF_SRQ,
	/* Sending, or a request's first look, is not RC's plain one. */
	RS_QF_OTHER_TX = RS_QF_BAD_LOCAL | RS_QF_UC | RS_QF_UD | RS_QF_XRC | RS_QF_LOCAL,
	RS_QF_OTHER_RX =
		RS_QF_UC | RS_QF_UD | RS_QF_TARGET | RS_QF_XRC | RS_QF_ESTABLISH | RS_QF_REFUSED,
};

/* What only some QPs have; the others share an empty one. */
struct rs_qp_more {
	struct rs_srq *srq; /* of a target: the one that the request under way names */
	uint8_t *inlined;   /* bytes of RS_WR_INLINE, stride apart */
	uint32_t max_inline, stride;
	uint32_t xrcd;
	uint32_t qkey;
	uint32_t groups; /* that it is attached to */
};

struct rs_qp {
	/* Line 0: sending */
	_Alignas(RS_QP_BYTES_MAX) uint8_t state; /* enum rs_qp_state */
	uint8_t transport;                       /* enum rs_transport */
	uint8_t tos, tc;
	uint16_t sport, pkey;
	uint32_t dest_endpoint, dest_qpn;
	uint16_t mtu;
	uint16_t middle_frame; /* frame bytes of a full middle packet */
	uint32_t flags;        /* enum rs_qp_flags */
	struct rs_swqe *sq;
	uint32_t sq_mask;
	uint32_t sq_head, sq_send, sq_tail; /* oldest unacknowledged; being sent; next free */
	uint32_t send_k;                    /* packets of sq_send already sent */
	uint32_t next_psn;
	uint32_t unrequested; /* packets since the last AckReq */
	uint32_t index;       /* in the NIC's table */

	/* Line 1: acknowledgement */
	uint64_t sent, acked; /* frame bytes along the PSN line; sent falls back in recovery */
	rs_time next_allowed;
	rs_time deadline; /* local ACK timeout or end of the RNR wait; RS_NEVER: none */
	rs_time rto;      /* 0: off */
	uint32_t una_psn;
	uint32_t una_k;   /* packets of sq_head acknowledged */
	uint32_t max_psn; /* one past the highest PSN ever sent */
	uint32_t lsn;     /* limit sequence number */
	uint8_t place;    /* enum rs_place */
	uint8_t retries, rnr_tries;
	uint8_t outstanding; /* READs and atomics sent and not answered */
	uint32_t qpn;
	uint16_t window_room;  /* bytes that must be left in the window for a packet to go */
	uint16_t middle_count; /* what a middle packet counts in sent, acked and the window */
	uint16_t ops;          /* bit o: the service has enum rs_wr_op o */
	uint8_t cc_use;        /* which of the NIC's congestion controls */
	uint8_t cc_needs;      /* enum rs_cc_needs: what that one needs, as the service has it */

	struct rs_cc cc;

	/* Responder */
	uint32_t epsn;
	uint32_t msn;
	uint8_t message; /* BTH operation that began the message under way; RS_NO_MESSAGE */
	uint8_t nak;     /* syndrome owed; 0: none */
	uint8_t resource_limit;
	uint8_t resource_next; /* ring place from which pending responses are looked for */
	uint32_t unacked;      /* packets since the last ACK */
	uint32_t w_rkey;       /* the WRITE under way */
	uint32_t w_mr;         /* its region's entry */
	uint64_t w_va;
	uint32_t w_left;
	uint32_t received; /* bytes of the message under way */
	uint32_t rq_mask, rq_head, rq_tail, rq_size;
	struct rs_rwqe *rq;
	struct rs_resource *resources;
	rs_time ack_deadline; /* of a delayed ACK */
	rs_time last_cnp;
	uint8_t resource_head, resource_count;
	uint8_t rnr_timer;
	uint8_t access;

	/* Cold */
	uint8_t retry_cnt, rnr_retry;
	uint8_t max_rd_atomic;
	uint8_t max_send_sge, max_recv_sge;
	uint8_t timeout;
	uint8_t cc_given; /* rs_qp_init.cc */
	uint32_t pd;
	uint32_t sq_size;
	uint32_t post_psn; /* of the next post */
	uint32_t post_ssn;
	uint64_t posted;    /* frame bytes posted */
	uint64_t requested; /* value of sent at the last AckReq */
	uint32_t rtt_psn;
	rs_time rtt_at;
	struct rs_cq *send_cq, *recv_cq;
	struct rs_sge *send_sge, *recv_sge;
	uint64_t user;
	struct rs_qp_more *more;
	uint32_t windows; /* of type 2, bound to it: the first's entry + 1; 0: none */
	struct rs_link link[RS_LISTS];
};

/* At most, and by the alignment exactly: an index becomes an address by one shift. */
_Static_assert(sizeof(struct rs_qp) == RS_QP_BYTES_MAX, "a QP is at most 512 bytes");
_Static_assert(offsetof(struct rs_qp, sent) <= 64, "sending: one cache line");
_Static_assert(offsetof(struct rs_qp, cc) <= 136, "acknowledgement: the next");

enum { RS_NO_MESSAGE = 0xff };

static inline struct rs_swqe *rs_qp_swqe(const struct rs_qp *qp, uint32_t i)
{
	return &qp->sq[i & qp->sq_mask];
}

static inline const struct rs_sge *rs_qp_send_sge(const struct rs_qp *qp, uint32_t i)
{
	return &qp->send_sge[(size_t)(i & qp->sq_mask) * qp->max_send_sge];
}

static inline const struct rs_sge *rs_qp_recv_sge(const struct rs_qp *qp, uint32_t i)
{
	return &qp->recv_sge[(size_t)(i & qp->rq_mask) * qp->max_recv_sge];
}

/* Packets of a message of length bytes: an empty one takes one too. Path MTUs are powers of two. */
static inline uint32_t rs_qp_packets(const struct rs_qp *qp, uint32_t length)
{
	if (__builtin_expect(qp->mtu & (qp->mtu - 1), 0))
		return length ? (length - 1) / qp->mtu + 1 : 1; /* rs_nic_config.any_payload */
	return length ? ((length - 1) >> __builtin_ctz(qp->mtu)) + 1 : 1;
}

/* PSNs sent since the last go-back and not acknowledged. */
static inline uint32_t rs_qp_in_flight(const struct rs_qp *qp)
{
	return (qp->next_psn - qp->una_psn) & RS_PSN_MASK;
}

#endif
