/*
 * The queue pair: what a tx of a middle packet and an ACK touch stands first. Private to the room.
 */
#ifndef RS_RDMA_QP_H
#define RS_RDMA_QP_H

#include <stddef.h>
#include "rdma/nic.h"
#include "rdma/recovery.h"

enum {
	RS_QP_BYTES_MAX = 384, /* what packets touch; struct rs_qp_cold is apart */
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
	uint32_t before;  /* of them, that were sent before */
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
	RS_QF_RECEIVES = 1 << 26,   /* it has a receive queue of its own */
	RS_QF_RECOVERY = 1 << 27,   /* its recovery has memory, and is asked for each packet */
	RS_QF_PUT_OFF = 1 << 28,    /* its timeout was found late, and no progress since */
	RS_QF_PROBE = 1 << 29,      /* packets of a probe are to go (probe.c) */
	RS_QF_PROBED = 1 << 30,     /* no progress since the deadline that probes counts */
#define RS_QF_UNCREDITED (UINT32_C(1) << 31) /* nothing is granted that is not spent (credit.c) */
	/* What lives as long as the QP. */
	RS_QF_LIFE = RS_QF_USED | RS_QF_SIG_ALL | RS_QF_UC | RS_QF_UD | RS_QF_XRC | RS_QF_TARGET |
		     RS_QF_SRQ | RS_QF_RECEIVES | RS_QF_RECOVERY,
/* Sending, or a request's first look, is not RC's plain one. */
#define RS_QF_OTHER_TX                                                                      \
	(RS_QF_BAD_LOCAL | RS_QF_UC | RS_QF_UD | RS_QF_XRC | RS_QF_LOCAL | RS_QF_RECOVERY | \
	 RS_QF_PROBE | RS_QF_UNCREDITED)
	RS_QF_OTHER_RX = RS_QF_UC | RS_QF_UD | RS_QF_TARGET | RS_QF_XRC | RS_QF_ESTABLISH |
			 RS_QF_REFUSED | RS_QF_RECOVERY,
};

/* What only some QPs have; the others share one that is empty and constant. */
struct rs_qp_more {
	struct rs_srq *srq; /* of a target: the one that the request under way names */
	uint8_t *inlined;   /* bytes of RS_WR_INLINE, stride apart */
	uint32_t max_inline, stride;
	uint32_t xrcd;
	uint32_t qkey;
	uint32_t groups; /* that it is attached to */
	const struct rs_recovery *recovery;
	void *recovery_memory; /* NULL: it needs none */
};

extern const struct rs_qp_more rs_qp_plain;

/*
 * What a packet in the middle of a message does not touch: a post, a message's end, a receive, an
 * error, a change of state. Two cache lines beside the queue pair, one table a NIC.
 */
struct rs_qp_cold {
	/* Posts and completions */
	_Alignas(64) uint64_t posted; /* frame bytes posted */
	uint32_t post_psn;            /* of the next post */
	uint32_t post_ssn;
	uint32_t sq_size;
	uint16_t ops; /* bit o: the service has enum rs_wr_op o */
	uint8_t max_send_sge, max_recv_sge;
	struct rs_sge *send_sge, *recv_sge;
	struct rs_cq *send_cq, *recv_cq;
	uint64_t user;

	/* Receives, READs and atomics of the peer */
	struct rs_rwqe *rq;
	uint32_t rq_mask, rq_head, rq_tail, rq_size;
	struct rs_resource *resources;
	rs_time last_cnp;
	const struct rs_qp_more *more;
	uint32_t windows;   /* of type 2, bound to it: the first's entry + 1; 0: none */
	uint32_t rnr_since; /* the first RNR NAK of what is to be sent again, in 2^20 ps */
	uint8_t resource_head;
	uint8_t timeout, retry_cnt, rnr_retry;
	uint8_t max_rd_atomic;
	uint8_t cc_given;      /* rs_qp_init.cc */
	uint8_t again_for : 4; /* enum rs_again, of the latest going back */
	uint8_t credit : 4;    /* rnr_retry 0: what is done without credits (requester.c) */
	bool told : 1;         /* the peer tells of credits unasked */
	bool heard : 1; /* rnr_retry 0: an ACK came, which tells of credits, or that none are told
			 */
	bool told_none : 1; /* the last AETH told of no receive */
};

_Static_assert(sizeof(struct rs_qp_cold) == 128, "two cache lines");

/*
 * What packets touch, in six cache lines. A sender's middle packet reads and writes lines 0 to 2,
 * and its ACK the same three, and the algorithm's own state (3) when it is told of it; a
 * responder's packet lines 0 and 5, and its ACK line 4. Most machines fetch lines in pairs: 0 with
 * 1, 4 with 5.
 */
struct rs_qp {
	/* Line 0: whose packet it is (both directions), and the cursor in the send queue */
	_Alignas(128) uint8_t state; /* enum rs_qp_state */
	uint8_t transport;           /* enum rs_transport */
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

	/* Line 1: what a packet adds to what is out, and an ACK takes from it; the timer */
	uint64_t sent, acked; /* frame bytes along the PSN line; sent falls back in recovery */
	rs_time next_allowed;
	rs_time deadline; /* local ACK timeout or end of the RNR wait; RS_NEVER: none */
	rs_time rto;      /* 0: off. With probes: until the first */
	uint32_t una_psn;
	uint32_t una_k;   /* packets of sq_head acknowledged */
	uint32_t max_psn; /* one past the highest PSN ever sent */
	uint32_t lsn;     /* limit sequence number */
	uint8_t place;    /* enum rs_place */
	uint8_t retries, rnr_tries;
	uint8_t outstanding; /* READs and atomics sent and not answered */
	uint32_t qpn;

	/* Line 2: the window and, at the start of cc, the pace; line 3: the rest of cc */
	uint64_t requested;    /* value of sent at the last AckReq */
	uint32_t rtt_psn;      /* being timed */
	uint16_t window_room;  /* bytes that must be left in the window for a packet to go */
	uint16_t middle_count; /* what a middle packet counts in sent, acked and the window */
	uint8_t cc_use;        /* which of the NIC's congestion controls */
	uint8_t cc_needs;      /* enum rs_cc_needs: what that one needs, as the service has it */
	struct rs_cc cc;

	/* Line 4: the NIC's lists, the way to what is cold, a round trip */
	struct rs_link link[RS_LISTS];
	struct rs_qp_cold *cold;
	rs_time rtt_at; /* when rtt_psn went */

	/* Line 5: the responder, from the expected PSN to the ACK that is put off */
	_Alignas(64) uint32_t epsn;
	uint32_t msn;
	uint8_t message; /* BTH operation that began the message under way; RS_NO_MESSAGE */
	uint8_t nak;     /* syndrome owed; 0: none */
	uint8_t resource_count;
	uint8_t access;
	uint32_t unacked; /* packets since the last ACK */
	uint32_t w_rkey;  /* the WRITE under way */
	uint32_t w_mr;    /* its region's entry */
	uint64_t w_va;
	uint32_t w_left;
	uint32_t received;    /* bytes of the message under way */
	rs_time ack_deadline; /* of a delayed ACK */
	uint32_t pd;
	uint8_t resource_limit;
	uint8_t resource_next; /* ring place from which pending responses are looked for */
	uint8_t rnr_timer;
	bool ack_apart; /* rs_nic_config.ack_apart, until it answers a READ or an atomic */
};

_Static_assert(sizeof(struct rs_qp) <= RS_QP_BYTES_MAX, "six cache lines at most");
_Static_assert(offsetof(struct rs_qp, sent) == 64, "line 1");
_Static_assert(offsetof(struct rs_qp, requested) == 128, "line 2");
_Static_assert(offsetof(struct rs_qp, cc.byte_credit) + sizeof(int64_t) <= 192,
	       "what a packet reads of congestion control is on line 2");
_Static_assert(offsetof(struct rs_qp, epsn) == 320, "line 5");

enum { RS_NO_MESSAGE = 0xff };

/* A QP's own, to be written. */
static inline struct rs_qp_more *rs_qp_own_more(const struct rs_qp *qp)
{
	rs_assert(qp->cold->more != &rs_qp_plain);
	return (struct rs_qp_more *)(uintptr_t)qp->cold->more;
}

static inline struct rs_swqe *rs_qp_swqe(const struct rs_qp *qp, uint32_t i)
{
	return &qp->sq[i & qp->sq_mask];
}

static inline const struct rs_sge *rs_qp_send_sge(const struct rs_qp *qp, uint32_t i)
{
	return &qp->cold->send_sge[(size_t)(i & qp->sq_mask) * qp->cold->max_send_sge];
}

static inline const struct rs_sge *rs_qp_recv_sge(const struct rs_qp *qp, uint32_t i)
{
	return &qp->cold->recv_sge[(size_t)(i & qp->cold->rq_mask) * qp->cold->max_recv_sge];
}

static inline const struct rs_recovery *rs_recovery_of(const struct rs_qp *qp)
{
	return qp->cold->more->recovery;
}

/* Packets of a message of length bytes: an empty one takes one too. Path MTUs are powers of two. */
static inline uint32_t rs_qp_packets(const struct rs_qp *qp, uint32_t length)
{
	if (__builtin_expect(qp->mtu & (qp->mtu - 1), 0))
		return length ? (length - 1) / qp->mtu + 1 : 1; /* rs_quirks.any_payload */
	return length ? ((length - 1) >> __builtin_ctz(qp->mtu)) + 1 : 1;
}

/* PSNs sent since the last go-back and not acknowledged. */
static inline uint32_t rs_qp_in_flight(const struct rs_qp *qp)
{
	return (qp->next_psn - qp->una_psn) & RS_PSN_MASK;
}

#endif
