/*
 * The NIC's transport: a pure state machine. It does no I/O, reads no clock, starts no thread and
 * allocates nothing once its objects are made. Packets and the time go in; packets and the next
 * deadline come out. The same code simulates and runs live.
 *
 * A port that can send asks rs_nic_tx(); an arrived packet goes to rs_nic_rx(); rs_nic_deadline()
 * says when rs_nic_expire() is next due. Calls carry a time that never goes back.
 *
 * IBTA volume 1 chapters 9 (transport), 10 (software interface), 11 (verbs).
 */
#ifndef RS_RDMA_NIC_H
#define RS_RDMA_NIC_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/quirks.h"
#include "base/time.h"
#include "cc/balance.h"
#include "cc/cc.h"
#include "port/endpoint.h"
#include "wire/framing.h"
#include "wire/packet.h"
#include "wire/pool.h"

struct rs_nic;
struct rs_qp;
struct rs_cq;
struct rs_srq;

enum { RS_GRH_BYTES = 40, RS_INLINE_MAX = 4096, RS_NIC_CCS = 250 };

/*
 * How a queue pair recovers from loss, chosen when it is made. Both ends must have the same.
 * Go-back-N is IBTA's (§9.7.5.2), and what every other RoCEv2 NIC speaks. Selective has no standard
 * on the wire: a header of our own stands for one (wire/roce.h), so it is for simulation, and for
 * peers that say that they know it (rs_selective.ask).
 */
struct rs_recovery;
extern const struct rs_recovery rs_recovery_go_back_n;
extern const struct rs_recovery rs_recovery_selective; /* RC only */
const char *rs_recovery_name(const struct rs_recovery *r);

/* Of selective recovery. */
struct rs_selective {
	uint32_t in_flight; /* packets of a queue pair at most on their way, 1 to 8192: IRN
			     * (SIGCOMM 2018), §3.2 has the bandwidth-delay product of the longest
			     * path. 0: no queue pair may be selective */
	rs_time reorder;    /* a packet is lost when one sent later has come, and it has not a round
			     * trip and so long after it was sent: RFC 8985, §6.2. 0: paths keep order
			     */
	bool ask; /* whether the peer is selective, too, is not known: a queue pair is go-back-N
		   * until an answer has RS_BTH_CAN. false: it is */
	rs_time rto_low, rto_high; /* with up to 3 packets on their way, with more: IRN, §3.1 */
	/* The UDP source port of each packet, which switches hash; n is at most RS_PORTS_MAX. 0: a
	 * queue pair's packets have its own. */
	struct rs_balance_conf balance;
};

enum { RS_PORTS_MAX = 1 << 14 }; /* from 0xc000 on */

/* Limits of one NIC; every table is allocated by rs_nic_create(), none grows on the data path. */
/* What the spacing of CNPs holds for: mlxconfig's ROCE_CC_CNP_MODERATION. */
enum rs_cnp_moderation { RS_CNP_BY_QP, RS_CNP_BY_IP, RS_CNP_BY_PORT };

struct rs_nic_config {
	uint32_t endpoint; /* this port's endpoint number: src of what it sends */
	int64_t line_rate; /* bits per second */
	int64_t qp_rate;   /* of one queue pair, as counted on the link; 0: the line's */
	int64_t rtt_rate;  /* that congestion control which counts acknowledged bytes, or reads
			    * telemetry, begins with; 0: the same as all */
	rs_time qp_message_time; /* between the beginnings of two messages of a queue pair, at
				  * least: how fast its work requests are fetched; 0: no limit */
	uint32_t max_qps;        /* at most 2^23 */
	uint32_t max_mrs;
	uint32_t max_cqs;
	uint32_t max_srqs;  /* at most 2^16; their numbers are 1 .. max_srqs */
	uint32_t first_qpn; /* QPNs are first_qpn .. first_qpn + max_qps - 1; 0 and 1 are special */
	bool given_qpns;    /* the owner gives QPNs: rs_nic_create_qp_at(). Memory goes with the QPs
			     * that there are, not with QPNs; none is used anew unless given again */
	/* A packet came for a given QPN that no QP has: true when the owner has made one by now,
	 * false when the packet is late and means nothing. Asked outside of all other work. */
	bool (*absent)(void *arg, uint32_t qpn);
	void *absent_arg;
	bool ipv6;                 /* for frame lengths */
	struct rs_pool_list *free; /* where packets are taken from and given back */
	/* Congestion control: what queue pairs may be given (borrowed), at most RS_NIC_CCS. NULL:
	 * rs_cc_none alone. A queue pair has what it was created with, or its class's. */
	const struct rs_cc_use *cc;
	uint32_t n_cc;
	uint8_t cc_of_class[8]; /* [class]: which of cc */
	uint8_t cnp_tos;        /* DSCP of CNPs << 2 | ECN; DSCP 48 on mlx5 */
	uint8_t cnp_tc;
	uint8_t cnp_moderation; /* enum rs_cnp_moderation */
	/* ACKs and NAKs leave in a class of their own, so marked; false: as all that their queue
	 * pair sends. A queue pair that answers READs or atomics stops: an ACK that overtakes an
	 * answer would deny it (§9.7.5.2.5). */
	bool ack_apart;
	uint8_t ack_tos, ack_tc;
	uint8_t weight[8];  /* classes share the port by these (802.1Qaz, port/ets.h); 0: strict,
			     * before all others, the highest first */
	uint32_t ack_every; /* coalescing: an ACK at message end and after so many packets; 1: each
			     */
	uint32_t ack_bytes; /* go-back-N: and so many bytes, in packets of the path MTU */
	bool tell_credits;  /* an ACK unasked when receives are posted after one told of none
			     * (§9.7.7.2.4); NICs differ */
	rs_time ack_delay;  /* longest that a due ACK may wait for coalescing; 0: none waits */
	rs_time min_rto;    /* floor of the local ACK timeout, as vendors have (0: none) */
	/* Go-back-N: a timeout that is found later than rto_late is put off, by rto_grace, and
	 * again only if it is found later than that: the owner did not run, and the ACKs that came
	 * meanwhile are yet to be read. rto_grace 0: never */
	rs_time rto_late, rto_grace;
	/* A receiver that is not ready is asked again for so long, also when rnr_retry (1 to 6) is
	 * used up sooner: its owner may have to wait for a core. 0: not */
	rs_time rnr_grace;
	/* Go-back-N of RC: what is not answered so long after two round trips is asked about,
	 * before its timeout (probe.c). 0: never */
	rs_time probe;
	struct rs_selective selective;
	bool copy_payload; /* false: payload pointers are NULL and no memory is touched */
	/* Copies to the owner's memory, or from it. False: it cannot be touched (a file mapping
	 * past its end): the request ends as one for a region that is not there. NULL: memcpy() */
	bool (*copy)(void *to, const void *from, size_t n);
	/* An atomic's step where others step on the same words: *at becomes next if it is as
	 * expected, which then says what it was. False: as copy. NULL: no other engine does */
	bool (*swap)(uint64_t *at, uint64_t *expected, uint64_t next, bool *done);
	struct rs_quirks quirks;          /* of NICs */
	const struct rs_framing *framing; /* NULL: RoCEv2's */
	rs_time pace_late; /* a paced packet that leaves late by no more does not put off those
			    * behind it: for clocks that oversleep */
	bool qp_counters;  /* keep struct rs_qp_counters for each QP */
	/* UD: writes the 40 bytes before a datagram's payload (A17.4.5.2: an IPv6 header, or an
	 * IPv4 header in the last 20). NULL: zeroes. */
	void (*grh)(void *arg, const struct rs_packet *p, uint8_t out[RS_GRH_BYTES]);
	void *grh_arg;
	/* Numbers that cannot be foreseen, from which keys of memory are made; NULL: keys are
	 * counted, the same in every run. */
	uint32_t (*random)(void *arg);
	void *random_arg;
	/* A region of the device's own, which each QP may read: RS_DEVICE_KEY, 8 bytes of 0 at
	 * address 0. A READ of it says that what came before on its QP is in memory */
	bool device_region;
	uint32_t int_scale; /* units of telemetry (wire/telemetry.h); needed where cc reads it */
	uint32_t int_paths; /* of a QP, kept apart in what cc reads of telemetry; 0: a QP has one */
};

/* What holds the queue pair that may send next back: its rate limit, the message limit, or neither
 * (congestion control, or nothing waits). Rarely asked. */
enum rs_nic_held { RS_HELD_NOT, RS_HELD_QP_RATE, RS_HELD_QP_MESSAGES };
enum rs_nic_held rs_nic_held_by(const struct rs_nic *nic, rs_time now);

/* -EINVAL (a limit out of range), -ENOMEM. */
/* Asks memory for what packets touch: 0 of the NIC itself, then 1 of its first queue
 * pairs, 2 of their requests. */
void rs_nic_prefetch(const struct rs_nic *nic, unsigned step);
int rs_nic_create(const struct rs_nic_config *c, struct rs_nic **nic, struct rs_error *e);
void rs_nic_destroy(struct rs_nic *nic);

/* ---- Memory: IBTA §10.6 ---- */

/* Never one of a registered region. UCX's rc_verbs reads 8 bytes by it to flush (its md's
 * flush_rkey without mlx5), checks the key in debug builds alone, and waits for ever where it is
 * refused. */
#define RS_DEVICE_KEY 0xffu

enum rs_access { /* ibv_access_flags' values */
		 RS_ACCESS_LOCAL_WRITE = 1,
		 RS_ACCESS_REMOTE_WRITE = 2,
		 RS_ACCESS_REMOTE_READ = 4,
		 RS_ACCESS_REMOTE_ATOMIC = 8,
		 RS_ACCESS_MW_BIND = 16,    /* windows may be bound to the region */
		 RS_ACCESS_ZERO_BASED = 32, /* addresses of the region or window start at 0 */
};

/*
 * Register [va, va + length). host: where its bytes are (borrowed until deregistered), NULL when
 * copy_payload is false. One key serves as L_Key and R_Key; its low byte changes with each reuse of
 * the entry, so that a stale key is refused, and with rs_nic_config.random no key is foreseen.
 * -ENOMEM at the limit, -EINVAL on an overflowing range.
 */
int rs_nic_reg_mr(struct rs_nic *nic, uint32_t pd, uint64_t va, uint64_t length, uint32_t access,
		  void *host, uint32_t *key);
/*
 * Register a null region: every address, no memory. What is written to it is discarded, and it
 * reads as zeros, by its owner and by peers; it has no right to atomics or windows, and
 * rs_nic_rereg_mr() refuses it. -ENOMEM, -EINVAL.
 */
int rs_nic_reg_null_mr(struct rs_nic *nic, uint32_t pd, uint32_t *key);
/* -ENOENT on a key that is not there, -EBUSY while a window is bound to it. */
int rs_nic_dereg_mr(struct rs_nic *nic, uint32_t key);
/*
 * Several NICs that a program sees as one have the same regions and windows under the same keys:
 * before the first, keys are shared; each is then made on one NIC, copied to all others before the
 * next is made, and given back on all. -ENOENT, -ENOMEM.
 */
void rs_nic_share_keys(struct rs_nic *nic, const struct rs_nic *with);
int rs_nic_copy_mr(struct rs_nic *nic, struct rs_nic *from, uint32_t key);
/* Is a window bound to the region? */
bool rs_nic_mr_bound(struct rs_nic *nic, uint32_t key);
/*
 * The payload of a packet that rs_nic_tx() gave cannot be read, from that address on: it is not
 * sent. Regions that the address is in end there from now on, so that the request is refused when
 * it is sent again; in the place of a READ's response goes a NAK. Looks at all regions.
 */
void rs_nic_unreadable(struct rs_nic *nic, const struct rs_packet *p, const uint8_t *at);

enum rs_rereg { RS_REREG_TRANSLATION = 1, RS_REREG_PD = 2, RS_REREG_ACCESS = 4 }; /* ibv's values */

/*
 * Change what the mask `what` names; the key stays. A WRITE under way to the region is refused from
 * here on. Errors as of registration and -EBUSY as above; the region is unchanged then.
 */
int rs_nic_rereg_mr(struct rs_nic *nic, uint32_t key, uint32_t what, uint32_t pd, uint64_t va,
		    uint64_t length, uint32_t access, void *host);

/*
 * Memory windows (§10.6.7), of type 1 or 2 (2B: R_Key and QP must match). They share the regions'
 * table and limit. A window is bound by RS_WR_BIND_MW and loses its binding by RS_WR_LOCAL_INV or a
 * peer's SEND with invalidate (type 2), by a bind of length 0 (type 1), and by deallocation.
 */
int rs_nic_alloc_mw(struct rs_nic *nic, uint32_t pd, unsigned type, uint32_t *key);
int rs_nic_dealloc_mw(struct rs_nic *nic, uint32_t key);
/* A window of type 1 that a queue pair of another NIC with the same keys binds. False: refused. */
struct rs_bind;
bool rs_nic_bind_mw(struct rs_nic *nic, uint32_t pd, uint32_t key, const struct rs_bind *b);

/* ---- Completion queues ---- */

enum rs_wc_status { /* ibv_wc_status's order and values */
		    RS_WC_SUCCESS = 0,
		    RS_WC_LOC_LEN_ERR = 1,
		    RS_WC_LOC_QP_OP_ERR = 2,
		    RS_WC_LOC_PROT_ERR = 4,
		    RS_WC_WR_FLUSH_ERR = 5,
		    RS_WC_MW_BIND_ERR = 6, /* BIND_MW or LOCAL_INV refused */
		    RS_WC_REM_INV_REQ_ERR = 9,
		    RS_WC_REM_ACCESS_ERR = 10,
		    RS_WC_REM_OP_ERR = 11,
		    RS_WC_RETRY_EXC_ERR = 12,
		    RS_WC_RNR_RETRY_EXC_ERR = 13,
};

enum rs_wr_op {
	RS_WR_SEND,
	RS_WR_SEND_IMM,
	RS_WR_WRITE,
	RS_WR_WRITE_IMM,
	RS_WR_READ,
	RS_WR_CMP_SWAP,
	RS_WR_FETCH_ADD,
	RS_WR_SEND_INV,       /* imm: the R_Key that the peer shall invalidate */
	RS_WR_LOCAL_INV,      /* imm: the R_Key; these two complete when all before them have */
	RS_WR_BIND_MW,        /* rkey: the window's new R_Key; bind */
	RS_WR_ATOMIC_WRITE,   /* RC: eight bytes, aligned at the peer (annex A19) */
	RS_WR_RECV,           /* completions only: a receive consumed by SEND */
	RS_WR_RECV_WRITE_IMM, /* completions only: a receive consumed by WRITE with immediate */
};

struct rs_cqe {
	uint64_t wr_id;
	uint32_t qpn;
	uint32_t bytes; /* received, or read */
	uint32_t imm;
	uint8_t status; /* enum rs_wc_status */
	uint8_t op;     /* enum rs_wr_op */
	uint8_t has_imm;
	uint8_t solicited;
	uint32_t src_qp; /* UD: the sender's */
	uint8_t flags;   /* enum rs_cqe_flags */
	uint8_t tos;     /* UD: of the datagram */
	uint16_t pkey;   /* UD */
};

enum rs_cqe_flags {
	RS_CQE_GRH = 1,      /* the 40 bytes are there, and counted in bytes */
	RS_CQE_INV = 2,      /* imm is the R_Key that the peer invalidated */
	RS_CQE_GRH_IPV6 = 4, /* the 40 bytes are an IPv6 header: of one of IPv4, the last 20 */
};

/* depth: entries, rounded up to a power of two. An overrun sets rs_cq_overrun() and loses the CQE.
 */
int rs_nic_create_cq(struct rs_nic *nic, uint32_t depth, struct rs_cq **cq);
/* -EBUSY while a QP or an SRQ is on it: this count is the only one. */
int rs_nic_destroy_cq(struct rs_nic *nic, struct rs_cq *cq);
bool rs_cq_in_use(const struct rs_cq *cq);
uint32_t rs_cq_poll(struct rs_cq *cq, struct rs_cqe *out, uint32_t max);
bool rs_cq_overrun(const struct rs_cq *cq);
/* CQEs that wait: the one call that needs no lock, and then sees at least what the caller may know
 * of. Drop those of one QP, as after its reset. */
uint32_t rs_cq_waiting(const struct rs_cq *cq);
void rs_cq_forget(struct rs_cq *cq, uint32_t qpn);
/*
 * Ask for one event at the next CQE that comes, or that is solicited or an error (§11.4.2.2). What
 * already waits makes none. An arming for the next outdoes one for solicited ones.
 */
void rs_cq_arm(struct rs_cq *cq, bool solicited_only);
/* The same, as NICs do it that are told which CQEs were polled (mlx5): what came since the last
 * event and was not polled makes one at once. UCX arms after it has polled, and does not look
 * again. */
void rs_cq_arm_unpolled(struct rs_cq *cq, bool solicited_only);
void rs_cq_disarm(struct rs_cq *cq);
/* The next CQ whose event came, in order; NULL: none. Each is once in the line at most. */
struct rs_cq *rs_nic_poll_notified(struct rs_nic *nic);
void rs_cq_set_user(struct rs_cq *cq, uint64_t user);
uint64_t rs_cq_get_user(const struct rs_cq *cq);
/* Another depth; what is queued stays. -EINVAL: less than that, or out of range; -ENOMEM. */
int rs_cq_resize(struct rs_cq *cq, uint32_t depth);

/* ---- Shared receive queues: §10.2.9; of XRC: annex A14 ---- */

struct rs_srq_init {
	uint32_t pd;
	uint32_t max_wr;
	uint8_t max_sge; /* 1..16 */
	bool xrc;
	uint32_t xrcd;    /* XRC: the domain, a number of the caller's */
	struct rs_cq *cq; /* XRC: where its receives complete */
};

struct rs_recv_wr;

/* -EINVAL, -ENOMEM. */
int rs_nic_create_srq(struct rs_nic *nic, const struct rs_srq_init *i, struct rs_srq **srq);
/* -EBUSY while a QP is on it. Its receives are gone without completions (§11.2.6.4). */
int rs_nic_destroy_srq(struct rs_nic *nic, struct rs_srq *srq);
int rs_srq_post_recv(struct rs_nic *nic, struct rs_srq *srq, const struct rs_recv_wr *wr);
/* One RS_EVENT_SRQ_LIMIT when fewer than limit receives wait; 0 disarms. -EINVAL: above max_wr. */
int rs_srq_arm(struct rs_nic *nic, struct rs_srq *srq, uint32_t limit);
/* -EINVAL: fewer than wait or than the limit; -ENOMEM. */
int rs_srq_resize(struct rs_srq *srq, uint32_t max_wr);
uint32_t rs_srq_receives(const struct rs_srq *srq);
uint32_t rs_srq_limit(const struct rs_srq *srq); /* 0: not armed */
uint32_t rs_srq_num(const struct rs_srq *srq);   /* what XRCETH names */
void rs_srq_set_user(struct rs_srq *srq, uint64_t user);
uint64_t rs_srq_get_user(const struct rs_srq *srq);

/* ---- Queue pairs ---- */

enum rs_qp_state {
	RS_QPS_RESET,
	RS_QPS_INIT,
	RS_QPS_RTR,
	RS_QPS_RTS,
	RS_QPS_SQD,
	RS_QPS_SQE,
	RS_QPS_ERR
}; /* ibv_qp_state's order */

struct rs_qp_init {
	uint32_t pd;
	struct rs_cq *send_cq, *recv_cq;
	uint32_t max_send_wr, max_recv_wr;  /* powers of two are used; at least 1 and 0 */
	uint8_t max_send_sge, max_recv_sge; /* 1..16 */
	uint8_t transport;                  /* enum rs_transport: RS_RC, RS_UC, RS_UD, RS_XRC */
	bool sq_sig_all;
	bool xrc_target;     /* RS_XRC: the receiving end, without CQs; else the initiator */
	uint32_t xrcd;       /* of a target */
	struct rs_srq *srq;  /* in place of receives of its own; not XRC */
	uint32_t max_inline; /* bytes of RS_WR_INLINE, up to RS_INLINE_MAX */
	const struct rs_recovery *recovery; /* NULL: go-back-N */
	uint8_t cc; /* congestion control: rs_nic_config.cc[cc - 1]; 0: its class's when it
		     * gets to RTR. UD: always rs_cc_none */
};

enum rs_qp_mask { /* ibv_qp_attr_mask's values */
		  RS_QP_EN_SQD_NOTIFY = 1 << 2,
		  RS_QP_ACCESS = 1 << 3,
		  RS_QP_PKEY = 1 << 4,
		  RS_QP_QKEY = 1 << 6,
		  RS_QP_AV = 1 << 7, /* dest_endpoint, sport, tos, tc */
		  RS_QP_PATH_MTU = 1 << 8,
		  RS_QP_TIMEOUT = 1 << 9,
		  RS_QP_RETRY_CNT = 1 << 10,
		  RS_QP_RNR_RETRY = 1 << 11,
		  RS_QP_RQ_PSN = 1 << 12,
		  RS_QP_MAX_RD_ATOMIC = 1 << 13,
		  RS_QP_MIN_RNR_TIMER = 1 << 15,
		  RS_QP_SQ_PSN = 1 << 16,
		  RS_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
		  RS_QP_DEST_QPN = 1 << 20,
};

struct rs_qp_attr {
	uint32_t dest_endpoint;
	uint32_t dest_qpn;
	uint32_t sq_psn, rq_psn;
	uint16_t path_mtu;          /* 256, 512, 1024, 2048 or 4096 */
	uint16_t sport;             /* UDP source port */
	uint16_t pkey;              /* of a full member */
	uint8_t tos;                /* DSCP << 2 | ECN */
	uint8_t tc;                 /* traffic class: the port's queue */
	uint8_t timeout;            /* local ACK timeout 4.096 us * 2^n; 0: off */
	uint8_t retry_cnt;          /* 0..7 */
	uint8_t rnr_retry;          /* 0..7; 7: for ever */
	uint8_t min_rnr_timer;      /* code of table 45 */
	uint8_t max_rd_atomic;      /* as requester: outstanding READs and atomics */
	uint8_t max_dest_rd_atomic; /* as responder */
	uint32_t access;            /* enum rs_access: remote rights of this QP */
	uint32_t qkey;              /* UD */
	bool sqd_notify;            /* RTS -> SQD: RS_EVENT_SQ_DRAINED when it is */
};

int rs_nic_create_qp(struct rs_nic *nic, const struct rs_qp_init *i, struct rs_qp **qp);
/* Where the owner gives QPNs: -EINVAL when one is out of range or in use. */
int rs_nic_create_qp_at(struct rs_nic *nic, const struct rs_qp_init *i, uint32_t qpn,
			struct rs_qp **qp);
/* ... and more of them than max_qps, for QPs that are made later: first_qpn .. first_qpn + n - 1.
 * -ENOSPC: there are no such QPNs; -ENOMEM. */
int rs_nic_more_qpns(struct rs_nic *nic, uint32_t n);
/* Packets in flight to it are dropped on arrival. */
void rs_nic_destroy_qp(struct rs_nic *nic, struct rs_qp *qp);
/* RESET -> INIT -> RTR -> RTS with all attributes checked, in one call: what a connection manager
 * ends with. -EINVAL names nothing: the caller checked. */
int rs_qp_connect(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a, rs_time now);
/* One transition of figure 124 (§10.3.1), or any state -> ERR or RESET. */
int rs_qp_modify(struct rs_nic *nic, struct rs_qp *qp, enum rs_qp_state to,
		 const struct rs_qp_attr *a, rs_time now);
/*
 * The same with only the attributes that mask names (enum rs_qp_mask): RTS -> RTS, SQD -> SQD and
 * the transitions' optional attributes. Which ones a transition needs is the caller's to check
 * (§11.2.5.2); a value out of range is -EINVAL, and nothing is changed then.
 */
int rs_qp_modify_mask(struct rs_nic *nic, struct rs_qp *qp, enum rs_qp_state to,
		      const struct rs_qp_attr *a, uint32_t mask, rs_time now);
/* As they are: sq_psn and rq_psn are those of the next packets. */
void rs_qp_query(const struct rs_qp *qp, struct rs_qp_attr *a);
/* UD: datagrams to a group's endpoint number (p->dst of an arrived packet to RS_MULTICAST_QPN)
 * reach the QP too. -EINVAL: not UD; -ENOMEM: 4096 attachments; -ENOENT. Attaching twice is once.
 */
int rs_qp_attach(struct rs_nic *nic, struct rs_qp *qp, uint32_t group);
int rs_qp_detach(struct rs_nic *nic, struct rs_qp *qp, uint32_t group);
uint32_t rs_qp_num(const struct rs_qp *qp);
enum rs_qp_state rs_qp_get_state(const struct rs_qp *qp);
struct rs_qp *rs_nic_find_qp(struct rs_nic *nic, uint32_t qpn);
/* A responder that has everything up to psn and owes nothing, with no timer to come: it may go, and
 * a new QP that resumes with this PSN, MSN and time of the last CNP answers late duplicates as it
 * would. */
bool rs_qp_rests(const struct rs_nic *nic, const struct rs_qp *qp, uint32_t psn);
void rs_qp_resume(struct rs_qp *qp, uint32_t psn, uint32_t msn, rs_time last_cnp);
/* A responder has taken all packets before psn, which were so many whole messages. */
bool rs_qp_has_all(const struct rs_qp *qp, uint32_t psn, uint32_t msn);
/* Of such a QP, before any packet comes: a READ of length bytes, or an atomic, that it answered;
 * the oldest first, as many as it has places for. */
void rs_qp_resume_answer(struct rs_qp *qp, uint32_t rkey, uint32_t psn, uint32_t length,
			 bool atomic);
rs_time rs_qp_last_cnp(const struct rs_qp *qp);
/* For reports and tests. */
const struct rs_cc *rs_qp_cc(const struct rs_qp *qp);
const struct rs_cc_use *rs_qp_cc_use(const struct rs_nic *nic, const struct rs_qp *qp);
/* A word that the owner keeps with the QP, returned for a CQE's qpn in constant time. */
void rs_qp_set_user(struct rs_qp *qp, uint64_t user);
uint64_t rs_qp_get_user(const struct rs_qp *qp);

struct rs_sge {
	uint64_t va;
	uint32_t length;
	uint32_t lkey;
};

enum rs_wr_flags {
	RS_WR_SIGNALED = 1,
	RS_WR_SOLICITED = 2,
	RS_WR_FENCE = 4,
	RS_WR_INLINE = 8, /* the SGEs' va are plain addresses, read at the post; keys are ignored */
};

/* Where a datagram goes: an address handle's content, and a number that the owner gave a path. */
struct rs_ah {
	uint32_t endpoint;
	uint16_t sport;
	uint8_t tos, tc;
};

struct rs_bind {
	uint64_t va, length; /* of the region; length 0 unbinds a window of type 1 */
	uint32_t mr_key;
	uint32_t access; /* remote rights, RS_ACCESS_ZERO_BASED */
};

struct rs_send_wr {
	uint64_t wr_id;
	uint8_t op; /* enum rs_wr_op */
	uint8_t flags;
	uint8_t n_sge;
	uint32_t imm;
	const struct rs_sge *sge; /* copied */
	uint64_t remote_va;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint32_t srqn;     /* XRC: the peer's SRQ */
	struct rs_ah ah;   /* UD */
	uint32_t dest_qpn; /* UD */
	uint32_t qkey;     /* UD; with bit 31 set the QP's own goes instead (§10.2.5) */
	struct rs_bind bind;
};

struct rs_recv_wr {
	uint64_t wr_id;
	uint8_t n_sge;
	const struct rs_sge *sge;
};

/* -ENOMEM: queue full; -EINVAL: state, opcode, SGEs; a message is at most 2^31 bytes. */
int rs_qp_post_send(struct rs_nic *nic, struct rs_qp *qp, const struct rs_send_wr *wr, rs_time now);
int rs_qp_post_recv(struct rs_nic *nic, struct rs_qp *qp, const struct rs_recv_wr *wr);
/* Sends that can still be posted; receives that wait. */
uint32_t rs_qp_send_room(const struct rs_qp *qp);
uint32_t rs_qp_receives(const struct rs_qp *qp);

/*
 * For an owner that knows what the peer can take: a held QP sends no requests, its answers go on.
 * The bytes of frames that were sent and are not acknowledged; an ACK asked for by a request that
 * rs_nic_tx() gave just now and whose message goes on.
 */
void rs_qp_hold(struct rs_nic *nic, struct rs_qp *qp, bool held);
/* The same of READ responses, and of the ACKs that come after them in order. */
void rs_qp_hold_reads(struct rs_nic *nic, struct rs_qp *qp, bool held);
uint64_t rs_qp_unacked(const struct rs_qp *qp);
/* The payload that was asked for by READs and has not come yet, and what its WRITEs and SENDs have
 * on their way. */
uint64_t rs_qp_awaited(const struct rs_qp *qp);
/* The bytes of frames that were acknowledged so far. */
uint64_t rs_qp_acked(const struct rs_qp *qp);
/* The oldest PSN that is not acknowledged, or answered. */
uint32_t rs_qp_oldest(const struct rs_qp *qp);
void rs_qp_ask_ack(struct rs_nic *nic, struct rs_packet *p, rs_time now);

/* ---- Packets and time ---- */

/*
 * The next packet that the port may send now, the caller's until it is freed to a pool list; or
 * NULL with *again the time at which to ask anew (RS_NEVER: not before rs_nic_rx(), a post or an
 * expiry). paused: bit c set = class c may not send (802.1Qbb). Classes as rs_nic_config.weight has
 * it; within one, CNPs and ACKs go before data. Constant time, whatever the number of QPs.
 *
 * With copy_payload, p->payload points into registered memory or, when it was gathered, into one of
 * 256 buffers that are used in turn: a caller that keeps the packet longer than 255 calls copies
 * the bytes.
 */
struct rs_packet *rs_nic_tx(struct rs_nic *nic, uint8_t paused, rs_time now, rs_time *again);

/* An arrived packet, ICRC already verified (or p->corrupt set). Takes the packet. */
void rs_nic_rx(struct rs_nic *nic, struct rs_packet *p, rs_time now);

/*
 * Runs: for two NICs whose owner can copy from one's memory to the other's. A run is packets of one
 * WRITE that follow one another, in their place one packet with the first's headers.
 *
 * The sender's: p, which rs_nic_tx() gave just now, is made to stand for those that follow it, up
 * to max bytes, where their payload lies behind its own. Returns how many packets it stands for,
 * with *bytes of payload, and *last: with them the message ends. 1: p is what it was.
 */
uint32_t rs_nic_tx_run(struct rs_nic *nic, struct rs_packet *p, uint32_t max, uint32_t *bytes,
		       bool *last, rs_time now);
/* Was the PSN sent by this QP, in a request that is not acknowledged yet? Then the memory of its
 * payload is still the request's. */
bool rs_nic_awaits(struct rs_nic *nic, uint32_t qpn, uint32_t psn);
/*
 * The receiver's: where bytes of a WRITE to p->va go, by p's QP, source, P_Key and R_Key as they
 * are now; NULL where they may not, or not by this way. ahead: PSNs of runs that are to be executed
 * before; p's must be the one behind them.
 */
uint8_t *rs_nic_run_place(struct rs_nic *nic, const struct rs_packet *p, uint32_t bytes,
			  uint32_t ahead);
/*
 * The payload of a run is where rs_nic_run_place() said: execute it, all checks made anew. False:
 * it is not what the QP expects, and nothing was done: its packets are to come one by one. p stays
 * the caller's.
 */
bool rs_nic_rx_run(struct rs_nic *nic, const struct rs_packet *p, uint32_t packets, uint32_t bytes,
		   bool last, const uint8_t *place, rs_time now);

/*
 * Middles: for an owner who puts many packets into one send, and takes many out of one. They are
 * full packets in the middle of one message, or of one READ's answer, and differ in PSN and AckReq
 * alone.
 *
 * The sender's: how many may go behind p, which rs_nic_tx() gave just now, at most max, without
 * anything else in between; what is sent again goes singly. *payload: of the first; those of the
 * others lie behind it, each behind the other.
 */
uint32_t rs_nic_tx_ahead(struct rs_nic *nic, const struct rs_packet *p, uint32_t max, rs_time now,
			 const uint8_t **payload);
/* n of them go, 64 at most: p becomes the first, its payload left as it was. The result's bit i:
 * the i-th asks for an ACK, as all do from number `ask` on. */
uint64_t rs_nic_tx_middles(struct rs_nic *nic, struct rs_packet *p, uint32_t n, uint32_t ask,
			   rs_time now);
/*
 * The receiver's: so many Middles that begin with p (its payload need not be known yet), at most
 * max, would be taken one after another, nothing else in between. 0: p is not plainly what is
 * expected.
 */
uint32_t rs_nic_rx_ahead(struct rs_nic *nic, const struct rs_packet *p, uint32_t max);
/* n of those come: their payloads lie stride bytes apart from p's on. p asks for an ACK if any
 * does; it stays the caller's. */
void rs_nic_rx_middles(struct rs_nic *nic, const struct rs_packet *p, uint32_t n, size_t stride,
		       rs_time now);

/* When rs_nic_expire() is due: retransmission, RNR and delayed-ACK timers. RS_NEVER: none runs. */
rs_time rs_nic_deadline(const struct rs_nic *nic);
void rs_nic_expire(struct rs_nic *nic, rs_time now);

/* The NIC as an endpoint (port/endpoint.h): these four and rs_nic_prefetch(). */
struct rs_endpoint *rs_nic_endpoint(struct rs_nic *nic);
/* The NIC that an endpoint is; NULL: it speaks another transport. */
struct rs_nic *rs_nic_of(struct rs_endpoint *e);

/* Has any CQE been added since the last call? (A cheap poll for the owner.) */
bool rs_nic_take_event(struct rs_nic *nic);

/* ---- Asynchronous events: §11.6.3 ---- */

enum rs_event_type {
	RS_EVENT_CQ_ERR, /* overrun */
	RS_EVENT_QP_FATAL,
	RS_EVENT_QP_REQ_ERR,    /* responder: invalid request */
	RS_EVENT_QP_ACCESS_ERR, /* responder: access refused */
	RS_EVENT_COMM_EST,      /* a first request in RTR */
	RS_EVENT_SQ_DRAINED,
	RS_EVENT_SRQ_LIMIT,
	RS_EVENT_LAST_WQE, /* a QP on an SRQ reached ERR and takes no more receives */
};

struct rs_event {
	enum rs_event_type type;
	struct rs_qp *qp; /* the one that the type names; the others are NULL */
	struct rs_cq *cq;
	struct rs_srq *srq;
};

/* In order; false: none. 256 wait at most, later ones are counted in events_lost. What concerns a
 * destroyed object is gone. */
bool rs_nic_poll_event(struct rs_nic *nic, struct rs_event *e);

/* Counters under the names of mlx5's hw_counters where one fits. */
struct rs_nic_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* RoCE, frame bytes */
	uint64_t rx_dropped; /* dropped: no such QP, wrong state, malformed, strange source */
	uint64_t tx_data_packets, tx_ack_packets;
	uint64_t tx_data_bytes; /* payload, what is sent again too */
	uint64_t retransmitted_packets;
	uint64_t retransmitted_bytes; /* payload; of responses to READs too */
	uint64_t out_of_sequence;     /* responder: arrived beyond the expected PSN */
	uint64_t packet_seq_err;      /* requester: NAKs (sequence) received */
	uint64_t duplicate_request;
	uint64_t implied_nak_seq_err; /* requester: a response skipped PSNs */
	uint64_t local_ack_timeout_err;
	uint64_t tail_probes;
	uint64_t rnr_nak_retry_err; /* requester: RNR NAKs received */
	uint64_t req_remote_access_errors, resp_remote_access_errors;
	uint64_t req_remote_invalid_request, resp_remote_invalid_request;
	uint64_t req_cqe_error, resp_cqe_error, req_cqe_flush_error;
	uint64_t np_ecn_marked_roce_packets, np_cnp_sent, rp_cnp_handled;
	uint64_t rx_icrc_encapsulated; /* dropped: bad ICRC */
	uint64_t bad_pkey, bad_qkey;   /* dropped; also in rx_dropped */
	uint64_t uc_ud_dropped;        /* messages that unreliable services dropped, IBTA's rules */
	uint64_t events_lost;
	uint64_t tx_credits;   /* credit packets that granted */
	uint64_t tx_no_packet; /* the slab was empty: sending was put off */
};

const struct rs_nic_counters *rs_nic_get_counters(const struct rs_nic *nic);

/* Why a request is sent again: what told the requester last. */
enum rs_again {
	RS_AGAIN_TIMEOUT,
	RS_AGAIN_NAK, /* a NAK of its sequence, a response that skipped PSNs, a selective ACK */
	RS_AGAIN_RNR,
	RS_AGAINS
};

/* The same of one QP: what goes wrong, and congestion. */
struct rs_qp_counters {
	uint64_t retransmitted_packets;
	uint64_t again[RS_AGAINS]; /* of those, by reason */
	uint64_t out_of_sequence, packet_seq_err, duplicate_request, implied_nak_seq_err;
	uint64_t local_ack_timeout_err, rnr_nak_retry_err;
	uint64_t req_remote_access_errors, resp_remote_access_errors;
	uint64_t req_remote_invalid_request, resp_remote_invalid_request;
	uint64_t req_cqe_error, resp_cqe_error;
	uint64_t np_ecn_marked_roce_packets, np_cnp_sent, rp_cnp_handled;
	uint64_t uc_ud_dropped;
};

/* NULL without rs_nic_config.qp_counters. */
const struct rs_qp_counters *rs_qp_get_counters(const struct rs_nic *nic, const struct rs_qp *qp);

/* Bytes that one QP takes, its share of tables included, queues apart: for the report and a test.
 */
uint32_t rs_qp_bytes(void);

/* Invariants of every QP and queue, for tests: asserts. Slow. */
void rs_nic_check(const struct rs_nic *nic);

#endif
