/* The NIC's own state and what its files ask of one another. Private to the room. */
#ifndef RS_RDMA_STATE_H
#define RS_RDMA_STATE_H

#include <stdatomic.h>
#include <string.h>
#include "port/ets.h"
#include "rdma/heap.h"
#include "rdma/nic.h"
#include "rdma/qp.h"
#include "wire/telemetry.h"

enum {
	RS_BOUNCE_BUFFERS = 256,    /* a gathered payload lives for so many calls of rs_nic_tx() */
	RS_REQUEST_EVERY = 1 << 16, /* AckReqs of an endless message, well inside the PSN window */
	RS_MAX_QPS = 1 << 23,
	RS_MAX_MRS = (1 << 24) - 2,
	RS_MAX_CQ = 1 << 22,
	RS_MAX_SRQS = 1 << 16,
	RS_MAX_ATTACHED = 4096, /* QPs to multicast groups */
	RS_EVENTS = 256,
	RS_SELECTIVE_MAX = 8192, /* packets in flight: rs_selective */
};

#define RS_NO_QP UINT32_MAX

/* Kept out of the path of a streaming message: seldom, or never in a healthy run. */
#define RS_APART __attribute__((noinline))
#define RS_COLD  __attribute__((noinline, cold))

/* RS_MR_NULL: a region without memory; its host is NULL. */
enum rs_mr_kind { RS_MR_REGION, RS_MR_NULL, RS_MR_WINDOW_1, RS_MR_WINDOW_2 };

/* In a region's access beside enum rs_access: its owner may read it. Windows are not for owners. */
#define RS_LOCAL_READ 0x80u

/* PDs are below this; a window of type 2 that is bound has this plus its QP's number for a PD. */
#define RS_PD_OF_QP 0x80000000u

struct rs_mr {
	uint64_t va, length;
	uint8_t *host;
	uint64_t windows; /* bound to the region */
	uint32_t key;     /* as last given out; its low byte is the generation */
	uint32_t pd;
	uint32_t next_free;
	uint32_t parent; /* of a window: the entry of its region; RS_NO_MR: not bound */
	uint32_t own_pd; /* of a window */
	uint8_t access;
	bool used;
	uint8_t kind; /* enum rs_mr_kind */
	/* Of a window of type 2 that is bound: entries + 1 of its QP's others; 0: none. */
	uint32_t next_window, prev_window;
}; /* 64 bytes: an index becomes an address by a shift */

_Static_assert(sizeof(struct rs_mr) == 64, "see above");

#define RS_NO_MR  UINT32_MAX
#define RS_NO_KEY UINT32_MAX /* RS_MAX_MRS keeps it from being one */

struct rs_srq {
	struct rs_rwqe *rq;
	struct rs_sge *sge;
	uint32_t mask, head, tail;
	uint32_t size, limit;
	uint32_t refs; /* QPs on it */
	uint32_t pd, xrcd;
	uint32_t number;
	uint8_t max_sge;
	bool xrc;
	struct rs_cq *cq; /* of XRC */
	uint64_t user;
};

struct rs_attached {
	uint32_t group;
	uint32_t qp; /* index */
};

struct rs_cq {
	struct rs_cqe *ring;
	uint32_t mask;
	_Atomic uint32_t head, tail;
	uint32_t refs; /* QPs and SRQs on it */
	bool overrun;
	uint8_t armed; /* enum rs_arming */
	bool notified; /* in the NIC's line */
	uint32_t told; /* where the tail was at the last event, or behind the head */
	struct rs_cq *next_notified;
	uint64_t user;
	struct rs_nic *nic;
	struct rs_cq *next, **prev;
};

enum rs_arming { RS_ARM_NONE, RS_ARM_SOLICITED, RS_ARM_NEXT };

struct rs_list {
	uint32_t head, tail;
};

/* The telemetry of the latest data packet. */
struct rs_int_record {
	uint64_t hop[RS_INT_HOPS];
	uint32_t path;
};

/* What congestion control knows of a path that a QP's packets take beside others. */
struct rs_cc_path {
	uint32_t id;
	rs_time seen;
	uint64_t state[RS_CC_PATH_BYTES / 8];
};

/* Those of a QP; `next` goes when another comes. */
struct rs_cc_paths {
	uint32_t n, next;
	struct rs_cc_path path[];
};

/* Places of a QP. One that is told of one path alone has one, whatever path the stamps name. */
static inline uint32_t rs_cc_paths_room(const struct rs_nic_config *c)
{
	return c->int_paths ? c->int_paths : 1;
}

static inline size_t rs_cc_paths_bytes(const struct rs_nic_config *c)
{
	return sizeof(struct rs_cc_paths) + rs_cc_paths_room(c) * sizeof(struct rs_cc_path);
}

struct rs_peer_cnp {
	uint32_t peer;
	rs_time last;
};

/* Of a queue pair: probe.c. */
struct rs_probe {
	rs_time rto;       /* the timeout */
	rs_time srtt;      /* round trips, smoothed */
	rs_time silent_at; /* since when nothing was heard */
	uint8_t n;         /* of this silence */
	bool oldest;       /* went */
};

/* The receiving half of a queue pair's credits: credit.c. Totals of bytes, modulo 2^32. */
struct rs_credit {
	uint32_t granted, target; /* so far; asked for */
	uint32_t next;            /* that waits for its turn; RS_NO_QP */
	bool waits;
};

struct rs_nic {
	struct rs_endpoint as_endpoint; /* first: rs_nic_of() */
	struct rs_nic_config c;
	const struct rs_cc_use *cc; /* [rs_qp.cc_use] */
	struct rs_qp *qps;
	struct rs_qp_cold *qps_cold;         /* [QP] */
	void *qps_memory;                    /* that holds both, before alignment */
	uint32_t qps_fresh;                  /* entries never used */
	uint32_t qp_free_head, qp_free_tail; /* first in, first out: a QPN rests before reuse */
	uint32_t *entry_of; /* [QPN - first_qpn]: entry + 1, or 0; NULL: the NIC numbers QPs */
	uint32_t n_qpns;    /* of entry_of */
	uint32_t qps_live;
	struct rs_mr *mrs;
	uint32_t mrs_fresh, mr_free;
	uint32_t key_salt, key_mask; /* how a key's upper 24 bits name an entry: mr.c */
	struct rs_cq *cqs;
	uint32_t cqs_live;

	/* Scheduling: bit c of a mask says that class c's list is not empty. */
	struct rs_list data[RS_CLASSES], control[RS_CLASSES], cnp;
	uint8_t data_mask, control_mask, cnp_mask;
	bool event;
	struct rs_ets ets;
	struct rs_ets_turns turns;
	struct rs_heap paced, timers;

	const struct rs_framing *framing;
	struct rs_int_record *int_records; /* [QP]: to be returned; NULL: no telemetry */
	uint8_t *cc_paths;                 /* [QP]: struct rs_cc_paths; NULL: none is kept */
	struct rs_probe *probes;           /* [QP]; NULL: there are none */
	rs_time probe_next;                /* no queue pair probes before */
	struct rs_credit *credits;         /* [QP]; NULL: none is granted */
	struct rs_cc_credits *credit_conf; /* [rs_qp.cc_use] */
	uint32_t pull_head, pull_tail;     /* of those that wait for credit */
	uint32_t n_wanting;                /* senders that do */
	rs_time pull_at;                   /* no grant goes before */
	struct rs_pace pull_pace;
	rs_time *message_due; /* [QP]: its next message begins no earlier; or NULL */
	uint16_t gap;         /* bytes that a frame takes on the link beside itself */
	uint16_t uncounted;   /* bytes of a frame that windows do not count, telemetry
			       * apart */
	bool whole_ns;
	bool no_rnr_retry; /* of some QP */
	rs_time pace_late;
	uint8_t ack_class[RS_CLASSES]; /* where a QP's ACKs wait, by its class */
	uint8_t apart_class;           /* where those of rs_qp.ack_apart do */
	uint32_t request_every;        /* packets between AckReqs at most */
	uint16_t ack_frame[2];         /* without telemetry, with it */
	uint16_t cnp_frame, atomic_ack_frame, credit_frame;
	bool reads_beside; /* telemetry or credits stand beside payloads */
	uint8_t *bounce;
	uint32_t bounce_next;
	struct rs_nic_counters counters;
	struct rs_qp_counters *qp_counters; /* [QP], or NULL */

	struct rs_srq **srqs; /* [number - 1] */
	struct rs_attached *attached;
	uint32_t n_attached;
	struct rs_cq *notified, **notified_end;
	struct rs_event *events;
	uint32_t events_head, events_tail;

	rs_time port_cnp;             /* when the last CNP of any queue pair went */
	struct rs_peer_cnp *peer_cnp; /* of peers: RS_CNP_BY_IP alone; cnp.c */
	uint32_t peer_cnps;
};

/* Once, for a NIC with its config. -ENOMEM. */
int rs_cnp_create(struct rs_nic *nic);
/* When the last CNP went for what the spacing of this queue pair's holds for; RS_NEVER: never. */
rs_time *rs_cnp_last(struct rs_nic *nic, struct rs_qp *qp);

/* To or from registered memory. False: it cannot be touched. */
static inline bool rs_nic_copy(const struct rs_nic *nic, void *to, const void *from, size_t n)
{
	if (nic->c.copy)
		return nic->c.copy(to, from, n);
	memcpy(to, from, n);
	return true;
}

static inline struct rs_cc_paths *rs_cc_paths_of(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return (void *)(nic->cc_paths + qp->index * rs_cc_paths_bytes(&nic->c));
}

static inline const struct rs_cc_use *rs_cc_of(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return &nic->cc[qp->cc_use];
}

/* What congestion control has beside the payload of the QP's packets. */
static inline uint16_t rs_qp_beside_bytes(const struct rs_qp *qp)
{
	return qp->cc_needs & RS_CC_NEEDS_STAMPS    ? RS_INT_BYTES
	       : qp->cc_needs & RS_CC_NEEDS_CREDITS ? RS_CREDIT_BYTES
						    : 0;
}

/* n packets since the last: so much that an ACK is due, or asked for. */
static inline bool rs_qp_is_much(const struct rs_nic *nic, const struct rs_qp *qp, uint32_t n,
				 uint32_t every)
{
	return __builtin_expect(n >= every, 0) &&
	       (n * (uint64_t)qp->mtu >= nic->c.ack_bytes || qp->flags & RS_QF_RECOVERY);
}

/* Bytes of a frame of the QP that windows do not count. */
static inline uint32_t rs_qp_uncounted(const struct rs_qp *qp)
{
	return (uint32_t)qp->middle_frame - qp->middle_count;
}

/* What a queue pair may send at, at most. */
static inline int64_t rs_nic_qp_line(const struct rs_nic *nic)
{
	return nic->c.qp_rate && nic->c.qp_rate < nic->c.line_rate ? nic->c.qp_rate
								   : nic->c.line_rate;
}

/* The entry of a QPN; RS_NO_QP: there is none. */
static inline uint32_t rs_nic_entry(const struct rs_nic *nic, uint32_t qpn)
{
	uint32_t i = qpn - nic->c.first_qpn;

	if (nic->entry_of)
		return i < nic->n_qpns ? nic->entry_of[i] - 1 : RS_NO_QP;
	return i;
}

/* A packet of the connected peer's, that the QP is in a state to take. */
static inline bool rs_qp_from_peer(const struct rs_qp *qp, const struct rs_packet *p)
{
	return (uint8_t)(qp->state - RS_QPS_RTR) < RS_QPS_ERR - RS_QPS_RTR &&
	       p->src == qp->dest_endpoint && !((p->pkey ^ qp->pkey) & 0x7fff);
}

/* One of this NIC's that is there: not destroyed, not another NIC's. */
static inline bool rs_nic_has_qp(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return qp->index < nic->qps_fresh && qp == &nic->qps[qp->index] && (qp->flags & RS_QF_USED);
}

/* A request goes again. */
RS_COLD void rs_req_count_again(struct rs_nic *nic, const struct rs_qp *qp, uint32_t payload);

/* Count for the NIC and for the QP. */
#define RS_COUNT(nic, qp, field)                                     \
	do {                                                         \
		(nic)->counters.field++;                             \
		if (__builtin_expect((nic)->qp_counters != NULL, 0)) \
			(nic)->qp_counters[(qp)->index].field++;     \
	} while (0)

/* mr.c: §10.6. The entry of a key, or NULL when the key is stale, of another PD, lacks a right or
 * does not cover [va, va + length). */
/* Before the first key: how they are made. */
void rs_mr_init_keys(struct rs_nic *nic);
struct rs_mr *rs_mr_find(struct rs_nic *nic, uint32_t key, uint32_t pd, uint64_t va,
			 uint64_t length, uint32_t access);
extern const uint8_t rs_mr_zeros[RS_MAX_PAYLOAD];
/* What a region has to be read at va: at most RS_MAX_PAYLOAD bytes of a null one. NULL: the NIC
 * copies no payload. */
static inline const uint8_t *rs_mr_source(const struct rs_mr *m, uint64_t va)
{
	if (__builtin_expect(m->host != NULL, 1))
		return m->host + (va - m->va);
	return m->kind == RS_MR_NULL ? rs_mr_zeros : NULL;
}
bool rs_mr_check_sges(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
		      uint32_t access);
/* Bytes [offset, offset + length) of a list, as one piece: in place, or gathered to a bounce
 * buffer. NULL when the memory is refused. */
const uint8_t *rs_mr_gather(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
			    uint32_t offset, uint32_t length);
/* BIND_MW and LOCAL_INV as they were posted; false: refused. */
bool rs_mw_bind(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w);
/* By LOCAL_INV or a peer's SEND; check alone leaves it as it is. */
bool rs_mw_may_invalidate(struct rs_nic *nic, const struct rs_qp *qp, uint32_t key);
bool rs_mw_invalidate(struct rs_nic *nic, struct rs_qp *qp, uint32_t key);
/* The QP goes: its windows of type 2 are not bound any more. */
void rs_mw_forget_qp(struct rs_nic *nic, struct rs_qp *qp);
/* Where `length` bytes from `offset` of a list lie, to be written; false: refused, or in pieces.
 * *to is NULL where no memory is touched. */
bool rs_mr_piece(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
		 uint32_t offset, uint32_t length, const uint8_t **to);
/* False when the memory is refused; nothing is written then. */
bool rs_mr_scatter(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
		   uint32_t offset, const uint8_t *bytes, uint32_t length);

/* cq.c */
void rs_cq_push(struct rs_cq *cq, const struct rs_cqe *e);

/* event.c: object is a QP, CQ or SRQ, as the type has it. */
void rs_event_add(struct rs_nic *nic, enum rs_event_type type, void *object);
void rs_event_forget(struct rs_nic *nic, const void *object);

/* srq.c: the next receive becomes the QP's own; false: there is none. */
bool rs_srq_take(struct rs_nic *nic, struct rs_qp *qp);
struct rs_srq *rs_srq_find(const struct rs_nic *nic, uint32_t number);

/* datagram.c: UD. */
void rs_ud_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now);
void rs_ud_multicast(struct rs_nic *nic, const struct rs_packet *p, rs_time now);
void rs_ud_forget(struct rs_nic *nic, struct rs_qp *qp);
bool rs_ud_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p);

/* qp.c: to ERR: the oldest send completes with status (RS_WC_SUCCESS: none is to blame), all
 * others and the receives are flushed. */
void rs_qp_fail(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status);
/* The requester's own error: RC and XRC go to ERR, UC and UD to SQE (§10.3.1.5). */
void rs_qp_fail_send(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status);
/* Complete the oldest send. */
void rs_qp_retire(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status, uint32_t bytes);
/* The oldest receive, with what e says; its wr_id and qpn are filled in. */
void rs_qp_complete_receive(struct rs_nic *nic, struct rs_qp *qp, struct rs_cqe *e);

/* SQD: tell the owner once all that the queue began is done. */
void rs_qp_report_drained(struct rs_nic *nic, struct rs_qp *qp);

/* rs_qp_retire() but for errors' counters: in line where messages end in success. */
static inline void rs_qp_retire_as(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status,
				   uint32_t bytes)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_head);
	struct rs_cqe e = {
		.wr_id = w->wr_id,
		.qpn = qp->qpn,
		.bytes = bytes,
		.status = (uint8_t)status,
		.op = w->op,
	};

	if (w->response && (int32_t)(qp->sq_head - qp->sq_send) < 0 && qp->outstanding)
		qp->outstanding--;
	qp->una_psn = rs_psn_add(w->first_psn, w->packets);
	qp->una_k = 0;
	qp->acked = w->end;
	qp->sq_head++;
	if (__builtin_expect(qp->flags & RS_QF_DRAIN, 0))
		rs_qp_report_drained(nic, qp);
	if (status != RS_WC_SUCCESS || (w->flags & RS_WR_SIGNALED) || (qp->flags & RS_QF_SIG_ALL))
		rs_cq_push(qp->cold->send_cq, &e);
}

/* requester.c */
/* The payload of a packet from the memory of its work request; false: refused. */
bool rs_req_payload(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w,
		    struct rs_packet *p);
/* Is the memory of a work request the owner's? */
bool rs_req_memory(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w);
bool rs_req_ready(const struct rs_qp *qp);
/* For recovery: the same by go-back-N's rules. */
bool rs_req_ready_in_order(const struct rs_qp *qp);
/* May the request at the cursor go, by its own message: windows and waits apart? */
bool rs_req_may_go(const struct rs_qp *qp);
/* For recovery: the request at the cursor; packet k of the i-th request, once more, with this PSN.
 * False: no packet came of it, the memory was refused. */
bool rs_req_send_next(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);
bool rs_req_send_again(struct rs_nic *nic, struct rs_qp *qp, uint32_t i, uint32_t k, uint32_t psn,
		       struct rs_packet *p);

/* A middle packet of a message that needs neither credit nor response, and room for it: the common
 * case of rs_req_ready(). */
static inline bool rs_req_streams(const struct rs_qp *qp)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);

	return qp->send_k && qp->send_k + 1 < w->packets && !w->response && !w->wants_receive &&
	       !(qp->flags & (RS_QF_RNR_WAIT | RS_QF_BAD_LOCAL | RS_QF_READ_PENDING | RS_QF_HELD |
			      RS_QF_RECOVERY | RS_QF_UNCREDITED)) &&
	       (qp->sent == qp->acked || qp->sent - qp->acked + qp->window_room <= qp->cc.window) &&
	       rs_qp_in_flight(qp) < RS_PSN_WINDOW;
}
bool rs_req_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);
/* middles.c: those that may follow p, which went; none leaves *next as it is. They went. */
struct rs_middles {
	uint32_t n; /* so many at most; their bytes are there: */
	uint32_t key, pd, access;
	uint64_t va;
};
void rs_req_go_on(const struct rs_qp *qp, const struct rs_packet *p, struct rs_middles *next);
uint64_t rs_req_went_on(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, uint32_t n,
			uint32_t ask, rs_time now);

/* responder.c */
void rs_resp_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		rs_time now);
/* An ACK, NAK or atomic answer into p; false: none is owed. */
bool rs_resp_control(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);
bool rs_resp_read(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);
/* For recovery: a NAK of the gap before a request that is not taken; an ACK at once; a request that
 * was kept, in its turn; the memory that an R_Key gives the QP for a WRITE of so many bytes. */
void rs_resp_owe_nak(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome);
void rs_resp_owe_ack(struct rs_nic *nic, struct rs_qp *qp);
void rs_resp_execute(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now);
struct rs_mr *rs_resp_write_memory(struct rs_nic *nic, const struct rs_qp *qp,
				   const struct rs_packet *p);
/* Put the QP where its next owed response is sent from. */
void rs_resp_kick(struct rs_nic *nic, struct rs_qp *qp);
uint8_t rs_resp_credits(const struct rs_qp *qp);
/* The connection ends with a NAK in the place of a READ's response. */
void rs_resp_refuse_read(struct rs_nic *nic, struct rs_qp *qp, uint32_t psn, uint8_t syndrome);
/* Receives were posted: told of, if the last that the peer heard is that there are none. */
void rs_resp_tell_credits(struct rs_nic *nic, struct rs_qp *qp);
/* middles.c: READ responses that may follow p, and went; requests that begin with p, so many at
 * most, and where their bytes go. They are there, or not even the first could be put there. */
void rs_resp_go_on(struct rs_qp *qp, const struct rs_packet *p, struct rs_middles *next);
void rs_resp_went_on(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, uint32_t n);
uint32_t rs_resp_coming(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			uint32_t max, uint8_t **to);
void rs_resp_came(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t n,
		  rs_time now);
void rs_resp_untouchable(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p);
/* rnr_retry 0: credits are waited for, if nothing else is on its way; the wait is over; an ACK told
 * of credits. */
void rs_req_await_credit(struct rs_nic *nic, struct rs_qp *qp, rs_time now);
void rs_req_credit_waited(struct rs_qp *qp);
void rs_req_credit_came(struct rs_qp *qp);
/* The number of receives that a credit code stands for: table 46. */
uint32_t rs_credit_decode(uint8_t code);
uint8_t rs_credit_encode(uint32_t receives);

/* completer.c */
/* For recovery: is p, with these opcode flags, the k-th answer of w; and its payload to where w of
 * the i-th request has it, false when that memory is refused. */
bool rs_comp_fits(const struct rs_qp *qp, const struct rs_swqe *w, uint32_t k,
		  const struct rs_packet *p, uint32_t f);
bool rs_comp_store(struct rs_nic *nic, struct rs_qp *qp, uint32_t i, uint32_t k,
		   const struct rs_packet *p);
void rs_comp_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		rs_time now);
/* middles.c: READ responses that begin with p, as rs_resp_coming(), and came. */
uint32_t rs_comp_coming(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			uint32_t max, uint8_t **to);
void rs_comp_came(struct rs_nic *nic, struct rs_qp *qp, uint32_t n, rs_time now);

/* recovery.c */
rs_time rs_rto(uint8_t timeout, rs_time floor);
extern const rs_time rs_rnr_timer[32];
/* Send again from the oldest unacknowledged PSN: go-back-N's. */
void rs_recover_rewind(struct rs_qp *qp);
/* One retry is spent; false: none was left, the QP is in ERR. */
bool rs_recover_go_back(struct rs_nic *nic, struct rs_qp *qp, bool timeout, rs_time now);
void rs_recover_rnr(struct rs_nic *nic, struct rs_qp *qp, uint8_t timer, rs_time now);
void rs_recover_expire(struct rs_nic *nic, struct rs_qp *qp, rs_time now);

/* probe.c: a queue pair's timeout is given; may it probe? Then its deadline comes first. */
void rs_probe_set(struct rs_nic *nic, struct rs_qp *qp, rs_time rto);
/* A round trip was measured. */
void rs_probe_rtt(struct rs_nic *nic, struct rs_qp *qp, rs_time rtt, rs_time now);
/* The deadline, which was due, came. False: the timeout did. */
bool rs_probe_expire(struct rs_nic *nic, struct rs_qp *qp, rs_time due, rs_time now);
/* Of RS_QF_PROBE: the next packet; false: none went. */
bool rs_probe_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p);

/*
 * credit.c: receivers' credits. Made and gone with the NIC (-ENOMEM), a queue pair's at RTR and
 * when the scheduler forgets it.
 */
int rs_credit_create(struct rs_nic *nic);
void rs_credit_destroy(struct rs_nic *nic);
void rs_credit_begin(struct rs_nic *nic, struct rs_qp *qp);
void rs_credit_forget(struct rs_nic *nic, struct rs_qp *qp);
/* Of RS_QF_UNCREDITED: has it a request without a payload, which may go, or something to send that
 * it did not ask for? Then that, or the packet that asks; false: none came of it. */
bool rs_credit_ready(const struct rs_qp *qp);
bool rs_credit_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);
/* Into a packet of its full length: what it knows and wants. One without a payload is free. */
void rs_credit_stamp(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p);
/* A packet went, and byte_credit is not above 0. */
void rs_credit_spent(struct rs_nic *nic, struct rs_qp *qp, rs_time now);
/* Its time to ask again, if it came; returns that, or RS_NEVER. */
rs_time rs_credit_expire(struct rs_nic *nic, struct rs_qp *qp, rs_time now);
/* A receiver: data came; a packet of credit's own came; the next grant may be due; a grant that is
 * owed, into p. */
void rs_credit_data(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now);
void rs_credit_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now);
void rs_credit_pull(struct rs_nic *nic, rs_time now);
/* Asserts. */
void rs_credit_check(const struct rs_nic *nic, const struct rs_qp *qp);
void rs_credit_fill(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p);

/* nic.c: frame bytes of the QP's packet with payload, or request, as this NIC frames it. */
uint16_t rs_nic_frame(const struct rs_nic *nic, const struct rs_qp *qp, uint8_t opcode,
		      uint32_t payload);

/* sched.c */
/* The pace changed from `old`: the next packet's time moves with it. */
void rs_sched_repace(struct rs_nic *nic, struct rs_qp *qp, struct rs_pace old, rs_time now);
/* May n middle packets of the QP go now, one after another, by its pace and its class's other QPs?
 * And they went. */
bool rs_sched_lets(const struct rs_nic *nic, const struct rs_qp *qp, uint32_t n, rs_time now);
void rs_sched_went(const struct rs_nic *nic, struct rs_qp *qp, uint32_t n, rs_time now);
void rs_list_init(struct rs_list *l);
void rs_list_add(struct rs_nic *nic, struct rs_list *l, struct rs_qp *qp, enum rs_list_kind k);
void rs_list_del(struct rs_nic *nic, struct rs_list *l, struct rs_qp *qp, enum rs_list_kind k);
void rs_sched_add(struct rs_nic *nic, struct rs_qp *qp);
void rs_sched_control(struct rs_nic *nic, struct rs_qp *qp);
/* Its ACKs go with all else that it sends from now on: rs_qp.ack_apart no more. */
void rs_sched_join_acks(struct rs_nic *nic, struct rs_qp *qp);
void rs_sched_cnp(struct rs_nic *nic, struct rs_qp *qp);
void rs_sched_forget(struct rs_nic *nic, struct rs_qp *qp);

/* A READ response may go. */
static inline bool rs_resp_streams(const struct rs_qp *qp)
{
	return (qp->flags & (RS_QF_READ_PENDING | RS_QF_READS_HELD | RS_QF_UNCREDITED)) ==
	       RS_QF_READ_PENDING;
}

static inline bool rs_sched_ready(const struct rs_qp *qp)
{
	return rs_resp_streams(qp) || rs_req_ready(qp);
}

/* Queue a QP that may have become able to send. */
static inline void rs_sched_kick(struct rs_nic *nic, struct rs_qp *qp)
{
	if (qp->place == RS_PLACE_NONE && rs_sched_ready(qp))
		rs_sched_add(nic, qp);
}

/* timer.c: the heap's entry is never later than the QP's own deadlines; it may be earlier, and is
 * pushed forward when it fires, so that moving a deadline back costs nothing. */
void rs_timer_insert(struct rs_nic *nic, struct rs_qp *qp, rs_time when);

static inline void rs_timer_arm(struct rs_nic *nic, struct rs_qp *qp, rs_time when)
{
	uint32_t place = nic->timers.place[qp->index];

	if (place == RS_HEAP_OUT || nic->timers.entries[place].when > when)
		rs_timer_insert(nic, qp, when);
}

/* Fields that every packet of a QP shares. */
static inline void rs_packet_head(const struct rs_nic *nic, const struct rs_qp *qp,
				  struct rs_packet *p, uint8_t opcode, uint16_t frame)
{
	p->dst = qp->dest_endpoint;
	p->src_qp = qp->qpn; /* so that the owner of the port knows whose packet it sends */
	p->src = nic->c.endpoint;
	p->frame_bytes = frame;
	p->sport = qp->sport;
	p->tos = qp->tos;
	p->tc = qp->tc;
	p->kind = RS_KIND_ROCE;
	p->opcode = opcode;
	p->bth_flags = RS_BTH_MIGREQ;
	p->corrupt = 0;
	p->payload_bytes = 0;
	p->dest_qp = qp->dest_qpn;
	p->pkey = qp->pkey;
	p->payload = NULL;
}

#endif
