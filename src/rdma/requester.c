/*
 * The requester's sending half: messages cut into packets by the path MTU, in PSN order, as far as
 * window, credits, fences and the limit on READs and atomics allow. IBTA §9.7.
 */
#include <string.h>
#include "rdma/state.h"

/* BTH opcodes of a message's packets. */
static const struct {
	uint8_t first, last, only;
} opcodes[] = {
	[RS_WR_SEND] = {RS_OP_SEND_FIRST, RS_OP_SEND_LAST, RS_OP_SEND_ONLY},
	[RS_WR_SEND_IMM] = {RS_OP_SEND_FIRST, RS_OP_SEND_LAST_IMM, RS_OP_SEND_ONLY_IMM},
	[RS_WR_WRITE] = {RS_OP_WRITE_FIRST, RS_OP_WRITE_LAST, RS_OP_WRITE_ONLY},
	[RS_WR_WRITE_IMM] = {RS_OP_WRITE_FIRST, RS_OP_WRITE_LAST_IMM, RS_OP_WRITE_ONLY_IMM},
	[RS_WR_READ] = {RS_OP_READ_REQUEST, RS_OP_READ_REQUEST, RS_OP_READ_REQUEST},
	[RS_WR_CMP_SWAP] = {RS_OP_CMP_SWAP, RS_OP_CMP_SWAP, RS_OP_CMP_SWAP},
	[RS_WR_FETCH_ADD] = {RS_OP_FETCH_ADD, RS_OP_FETCH_ADD, RS_OP_FETCH_ADD},
	[RS_WR_SEND_INV] = {RS_OP_SEND_FIRST, RS_OP_SEND_LAST_INV, RS_OP_SEND_ONLY_INV},
	[RS_WR_ATOMIC_WRITE] = {RS_OP_ATOMIC_WRITE, RS_OP_ATOMIC_WRITE, RS_OP_ATOMIC_WRITE},
};

/*
 * No credit for a message that consumes a receive: one packet probes, then it waits (§9.7.7.2.5). A
 * queue pair with rnr_retry 0 would end where the probe finds no receive. It may probe, and need
 * not: it waits for credits, which a responder that told of none tells of unasked (§9.7.7.2.4).
 * One that was never heard to do so is probed after CREDIT_WAIT, one that was after
 * CREDIT_TOLD_WAIT, as what it told may be lost.
 */
#define CREDIT_WAIT      (500 * RS_MS)
#define CREDIT_TOLD_WAIT (10 * RS_S)

enum { CREDIT_NOT_AWAITED, CREDIT_AWAITED, CREDIT_MAY_PROBE };

static bool limited(const struct rs_qp *qp, const struct rs_swqe *w)
{
	return w->wants_receive && (qp->flags & RS_QF_CREDITS) && rs_psn_diff(w->ssn, qp->lsn) > 0;
}

/* Before the first ACK nothing is known of receives: one message asks. */
static bool starts_blind(const struct rs_qp *qp, const struct rs_swqe *w)
{
	return w->wants_receive && !qp->cold->rnr_retry && !qp->cold->heard &&
	       qp->una_psn != qp->next_psn;
}

/* May the first packet of a message go? Fence and order: §10.8.3.3. */
RS_APART static bool may_start(const struct rs_qp *qp, const struct rs_swqe *w)
{
	if (qp->state == RS_QPS_SQD && qp->next_psn == qp->max_psn)
		return false;
	if (__builtin_expect(w->flags & RS_WR_FENCE, 0)) {
		if (qp->outstanding)
			return false;
		/* BIND_MW and LOCAL_INV: when all before them is done, and never twice. */
		if (!w->packets)
			return qp->sq_head == qp->sq_send;
	}
	if (w->response && qp->outstanding >= qp->cold->max_rd_atomic)
		return false;
	if (!limited(qp, w))
		return !starts_blind(qp, w);
	return qp->una_psn == qp->next_psn &&
	       (qp->cold->rnr_retry || qp->cold->credit == CREDIT_MAY_PROBE);
}

void rs_req_await_credit(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);

	if (qp->cold->rnr_retry || qp->cold->credit != CREDIT_NOT_AWAITED ||
	    !(qp->flags & RS_QF_CREDITS) || qp->state < RS_QPS_RTS || qp->state > RS_QPS_SQD ||
	    (qp->flags & (RS_QF_RNR_WAIT | RS_QF_BAD_LOCAL)) || qp->sq_send == qp->sq_tail ||
	    qp->send_k || qp->una_psn != qp->next_psn || !limited(qp, w))
		return;
	qp->cold->credit = CREDIT_AWAITED;
	qp->flags |= RS_QF_RNR_WAIT;
	qp->deadline = now + (qp->cold->told ? CREDIT_TOLD_WAIT : CREDIT_WAIT);
	rs_timer_arm(nic, qp, qp->deadline);
}

void rs_req_credit_waited(struct rs_qp *qp)
{
	if (qp->cold->credit == CREDIT_AWAITED)
		qp->cold->credit = CREDIT_MAY_PROBE;
}

void rs_req_credit_came(struct rs_qp *qp)
{
	if (qp->cold->credit == CREDIT_AWAITED && limited(qp, rs_qp_swqe(qp, qp->sq_send)))
		return;
	if (qp->cold->credit == CREDIT_AWAITED) {
		qp->cold->told = true; /* nothing was on its way that it could answer */
		qp->flags &= ~(uint32_t)RS_QF_RNR_WAIT;
		qp->deadline = RS_NEVER;
	}
	qp->cold->credit = CREDIT_NOT_AWAITED;
}

bool rs_req_may_go(const struct rs_qp *qp)
{
	const struct rs_swqe *w;

	if (__builtin_expect(qp->flags & RS_QF_BAD_LOCAL, 0))
		return qp->sq_send == qp->sq_head;
	w = rs_qp_swqe(qp, qp->sq_send);
	if (!qp->send_k || w->response)
		return may_start(qp, w);
	/* Blocked only while an answer is due that brings credits, or shows that it has its
	 * receive. */
	return __builtin_expect(!limited(qp, w), 1) || qp->sq_head != qp->sq_send || qp->una_k ||
	       (int64_t)(qp->requested - qp->acked) <= 0;
}

static inline bool ready(const struct rs_qp *qp)
{
	uint64_t flying = qp->sent - qp->acked;

	if (qp->sq_send == qp->sq_tail || (qp->flags & (RS_QF_RNR_WAIT | RS_QF_HELD)))
		return false;
	if (flying && flying + qp->window_room > qp->cc.window)
		return false;
	if (__builtin_expect(rs_qp_in_flight(qp) >= RS_PSN_WINDOW, 0))
		return false;
	return rs_req_may_go(qp);
}

bool rs_req_ready(const struct rs_qp *qp)
{
	if (__builtin_expect(qp->flags & (RS_QF_RECOVERY | RS_QF_PROBE | RS_QF_UNCREDITED), 0)) {
		if (qp->flags & RS_QF_UNCREDITED)
			return qp->flags & RS_QF_PROBE || rs_credit_ready(qp);
		return qp->flags & RS_QF_PROBE || rs_recovery_of(qp)->ready(qp);
	}
	return ready(qp);
}

bool rs_req_ready_in_order(const struct rs_qp *qp)
{
	return ready(qp);
}

/* The requester's own memory was refused: the error completes in its turn. */
RS_COLD static bool bad_local(struct rs_nic *nic, struct rs_qp *qp)
{
	if (qp->sq_head == qp->sq_send)
		rs_qp_fail_send(nic, qp, RS_WC_LOC_PROT_ERR);
	else
		qp->flags |= RS_QF_BAD_LOCAL;
	return false;
}

RS_APART static bool inlined(struct rs_qp *qp, const struct rs_swqe *w, struct rs_packet *p)
{
	const struct rs_qp_more *m = qp->cold->more;

	if (!(w->flags & RS_WR_INLINE))
		return false;
	p->payload = m->inlined + (size_t)(qp->sq_send & qp->sq_mask) * m->stride +
		     (size_t)qp->send_k * qp->mtu;
	return true;
}

static inline bool bind_payload(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w,
				struct rs_packet *p)
{
	if (!nic->c.copy_payload || !p->payload_bytes)
		return true;
	p->payload = rs_mr_gather(nic, qp->pd, rs_qp_send_sge(qp, qp->sq_send), w->n_sge,
				  qp->send_k * qp->mtu, p->payload_bytes);
	return __builtin_expect(p->payload != NULL, 1) || inlined(qp, w, p);
}

bool rs_req_payload(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w,
		    struct rs_packet *p)
{
	return bind_payload(nic, qp, w, p);
}

bool rs_req_memory(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w)
{
	return rs_mr_check_sges(nic, qp->pd, rs_qp_send_sge(qp, qp->sq_send), w->n_sge,
				rs_swqe_carries(w) ? RS_LOCAL_READ : RS_ACCESS_LOCAL_WRITE) ||
	       (w->flags & RS_WR_INLINE);
}

enum { BESIDE = RS_CC_NEEDS_STAMPS | RS_CC_NEEDS_CREDITS };

/* Room for switches' stamps, or what is told of credits; a request without payload has none. */
RS_APART static void fill_beside(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	if (qp->cc_needs & RS_CC_NEEDS_CREDITS) {
		rs_credit_stamp(nic, qp, p);
		return;
	}
	if (!p->payload_bytes)
		return;
	p->bth_flags |= RS_PACKET_INT;
	p->int_path = 0;
	memset(p->int_hop, 0, sizeof(p->int_hop));
}

/* First, Last and Only packets, READ requests and atomics: PSNs taken, 0 when refused. */
RS_APART static uint32_t fill_edge(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w,
				   struct rs_packet *p)
{
	uint32_t k = qp->send_k, offset = k * qp->mtu;
	bool last = k + 1 == w->packets;
	uint32_t bytes = !rs_swqe_carries(w) ? 0 : last ? w->length - offset : qp->mtu;
	uint8_t op = !k ? (last ? opcodes[w->op].only : opcodes[w->op].first)
			: (last ? opcodes[w->op].last : w->middle);

	if (!k && !rs_req_memory(nic, qp, w))
		return 0;
	if (w->response)
		op = opcodes[w->op].first;
	op |= qp->transport;
	rs_packet_head(nic, qp, p, op, rs_nic_frame(nic, qp, op, bytes));
	p->payload_bytes = (uint16_t)bytes;
	if (rs_opcodes[p->opcode].flags & (RS_F_IMM | RS_F_IETH))
		p->imm = w->imm;
	if (!k || w->response) {
		p->va = w->remote_va + offset;
		p->rkey = w->rkey;
		p->dma_bytes = w->length - offset;
		p->swap_add = w->swap_add;
		p->compare = w->compare;
	}
	if (__builtin_expect(qp->cc_needs & BESIDE, 0))
		fill_beside(nic, qp, p);
	if (w->response) {
		qp->outstanding++;
		p->bth_flags |= RS_BTH_ACKREQ;
		return w->packets - k;
	}
	if (last) {
		p->bth_flags |= RS_BTH_ACKREQ;
		if (w->flags & RS_WR_SOLICITED)
			p->bth_flags |= RS_BTH_SE;
	} else if (!k && limited(qp, w)) {
		p->bth_flags |= RS_BTH_ACKREQ;
	}
	return 1;
}

static inline uint32_t fill_middle(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w,
				   struct rs_packet *p)
{
	rs_packet_head(nic, qp, p, w->middle | qp->transport, qp->middle_frame);
	p->payload_bytes = qp->mtu;
	if (__builtin_expect(qp->cc_needs & BESIDE, 0))
		fill_beside(nic, qp, p);
	return 1;
}

/*
 * An ACK is asked for at a message's end and every ack_every packets; under a window for every
 * packet, as it may shrink below what is out unasked, and nothing would open it again. The timer
 * runs while an answer that was asked for is out (§9.7.6.1.3), however slowly the rest is paced.
 */
static inline void request_ack(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p,
			       rs_time now)
{
	if (rs_qp_is_much(nic, qp, ++qp->unrequested, nic->request_every) ||
	    (int64_t)qp->cc.window >= 0)
		p->bth_flags |= RS_BTH_ACKREQ;
	if (!(p->bth_flags & RS_BTH_ACKREQ))
		return;
	qp->unrequested = 0;
	qp->requested = qp->sent;
	if (qp->deadline == RS_NEVER && qp->rto) {
		qp->deadline = now + qp->rto;
		rs_timer_arm(nic, qp, qp->deadline);
	}
}

static inline void time_rtt(struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	if (!(qp->cc_needs & RS_CC_NEEDS_RTT) || (qp->flags & RS_QF_RTT) ||
	    !(p->bth_flags & RS_BTH_ACKREQ))
		return;
	qp->flags |= RS_QF_RTT;
	qp->rtt_psn = p->psn;
	qp->rtt_at = now;
}

void rs_req_count_again(struct rs_nic *nic, const struct rs_qp *qp, uint32_t payload)
{
	RS_COUNT(nic, qp, retransmitted_packets);
	if (nic->qp_counters)
		nic->qp_counters[qp->index].again[qp->cold->again_for]++;
	nic->counters.retransmitted_bytes += payload;
}

/* n packets with so many bytes of payload are on their way. */
static void advance(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w, uint32_t n,
		    uint32_t bytes)
{
	uint32_t end = rs_psn_add(qp->next_psn, n);

	if (__builtin_expect(qp->next_psn == qp->max_psn, 1))
		qp->max_psn = end;
	else {
		rs_req_count_again(nic, qp, bytes);
		if (rs_psn_diff(end, qp->max_psn) > 0)
			qp->max_psn = end;
	}
	qp->next_psn = end;
	qp->send_k += n;
	if (qp->send_k == w->packets) {
		qp->sq_send++;
		qp->send_k = 0;
	}
}

static inline bool send_packet(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p,
			       rs_time now)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);
	bool fresh = qp->next_psn == qp->max_psn;
	uint32_t n;

	p->psn = qp->next_psn;
	if (__builtin_expect(qp->send_k && qp->send_k + 1 < w->packets && !w->response, 1))
		n = fill_middle(nic, qp, w, p);
	else
		n = fill_edge(nic, qp, w, p);
	if (!n || !bind_payload(nic, qp, w, p))
		return bad_local(nic, qp);
	qp->sent += (uint32_t)p->frame_bytes - rs_qp_uncounted(qp);
	request_ack(nic, qp, p, now);
	if (fresh)
		time_rtt(qp, p, now);
	advance(nic, qp, w, n, p->payload_bytes);
	return true;
}

/* BIND_MW and LOCAL_INV. No packet comes of it. */
static bool run_local(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w)
{
	bool done =
		w->op == RS_WR_BIND_MW ? rs_mw_bind(nic, qp, w) : rs_mw_invalidate(nic, qp, w->imm);

	if (!done) {
		rs_qp_fail_send(nic, qp, RS_WC_MW_BIND_ERR);
		return false;
	}
	rs_qp_retire(nic, qp, RS_WC_SUCCESS, 0);
	qp->sq_send = qp->sq_head;
	return false;
}

/* Nothing will answer: what was sent is done (§9.8.2.1). */
static void conclude(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	p->bth_flags &= (uint8_t)~RS_BTH_ACKREQ;
	if (qp->sq_send != qp->sq_head) {
		rs_qp_retire(nic, qp, RS_WC_SUCCESS, rs_qp_swqe(qp, qp->sq_head)->length);
	} else {
		qp->una_psn = qp->next_psn;
		qp->una_k = qp->send_k;
		qp->acked = qp->sent;
	}
	qp->sent = qp->requested = qp->acked;
}

bool rs_req_send_next(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);

	if (qp->flags & RS_QF_BAD_LOCAL)
		return bad_local(nic, qp);
	if (!w->packets)
		return run_local(nic, qp, w);
	if (qp->flags & RS_QF_UD)
		return rs_ud_send(nic, qp, p);
	if (!send_packet(nic, qp, p, now))
		return false;
	if (qp->flags & RS_QF_XRC)
		p->xrc_srqn = rs_swqe_srqn(w);
	if (qp->flags & RS_QF_UC)
		conclude(nic, qp, p);
	return true;
}

RS_APART static bool send_other(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p,
				rs_time now)
{
	if (qp->flags & RS_QF_PROBE)
		return rs_probe_send(nic, qp, p);
	if (qp->flags & RS_QF_UNCREDITED)
		return rs_credit_send(nic, qp, p, now);
	if (qp->flags & RS_QF_RECOVERY)
		return rs_recovery_of(qp)->send(nic, qp, p, now);
	return rs_req_send_next(nic, qp, p, now);
}

/* The cursor is there for the one packet, and then where it was. */
bool rs_req_send_again(struct rs_nic *nic, struct rs_qp *qp, uint32_t i, uint32_t k, uint32_t psn,
		       struct rs_packet *p)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, i);
	uint32_t sq_send = qp->sq_send, send_k = qp->send_k;
	uint32_t n;

	qp->sq_send = i;
	qp->send_k = k;
	p->psn = psn;
	n = k && k + 1 < w->packets && !w->response ? fill_middle(nic, qp, w, p)
						    : fill_edge(nic, qp, w, p);
	if (n && !bind_payload(nic, qp, w, p))
		n = 0;
	qp->sq_send = sq_send;
	qp->send_k = send_k;
	if (!n)
		return false;
	p->bth_flags |= RS_BTH_ACKREQ;
	rs_req_count_again(nic, qp, p->payload_bytes);
	return true;
}

void rs_qp_ask_ack(struct rs_nic *nic, struct rs_packet *p, rs_time now)
{
	struct rs_qp *qp = &nic->qps[rs_nic_entry(nic, p->src_qp)];

	rs_assert(rs_nic_entry(nic, p->src_qp) < nic->qps_fresh && (qp->flags & RS_QF_USED));
	if (p->bth_flags & RS_BTH_ACKREQ)
		return;
	p->bth_flags |= RS_BTH_ACKREQ;
	request_ack(nic, qp, p, now);
}

bool rs_req_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	if (__builtin_expect(qp->flags & RS_QF_OTHER_TX, 0))
		return send_other(nic, qp, p, now);
	return send_packet(nic, qp, p, now);
}

/* ---- Runs: see nic.h ---- */

/* Packets that may follow p in its run, p not counted. */
static uint32_t run_room(const struct rs_qp *qp, const struct rs_swqe *w, const struct rs_packet *p,
			 uint32_t max)
{
	uint32_t op = p->opcode & 0x1fu, n;

	if ((qp->flags & RS_QF_OTHER_TX) || (p->opcode & 0xe0) != RS_RC ||
	    (op != RS_OP_WRITE_FIRST && op != RS_OP_WRITE_MIDDLE) || !p->payload || !qp->send_k ||
	    rs_psn_add(p->psn, 1) != qp->next_psn || max < qp->mtu || w->n_sge != 1 ||
	    (w->flags & RS_WR_INLINE) || (int64_t)qp->cc.window >= 0)
		return 0;
	n = w->packets - qp->send_k - (w->op != RS_WR_WRITE); /* an immediate's packet goes alone */
	if (n >= max / qp->mtu)
		n = max / qp->mtu - 1;
	return rs_qp_in_flight(qp) + n < RS_PSN_WINDOW ? n : 0;
}

uint32_t rs_nic_tx_run(struct rs_nic *nic, struct rs_packet *p, uint32_t max, uint32_t *bytes,
		       bool *last, rs_time now)
{
	struct rs_qp *qp = &nic->qps[rs_nic_entry(nic, p->src_qp)];
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);
	const struct rs_sge *sge = rs_qp_send_sge(qp, qp->sq_send);
	uint32_t n = run_room(qp, w, p, max), more, offset = qp->send_k * qp->mtu;
	uint64_t before = qp->sent;
	bool fresh = qp->next_psn == qp->max_psn;
	const struct rs_mr *m;

	*bytes = p->payload_bytes;
	*last = false;
	/* what is sent again goes singly: its bytes may be the reason why it was not taken */
	if (!n || rs_psn_add(p->psn, 1) != qp->max_psn)
		return 1;
	*last = qp->send_k + n == w->packets;
	more = *last ? w->length - offset : n * qp->mtu;
	m = rs_mr_find(nic, sge->lkey, qp->pd, sge->va + offset, more, RS_LOCAL_READ);
	if (!m || !m->host) { /* a null region's bytes do not lie behind one another */
		*last = false;
		return 1;
	}
	*bytes += more;
	p->va = w->remote_va + offset - qp->mtu;
	p->rkey = w->rkey;
	qp->sent = *last ? w->end : qp->sent + (uint64_t)n * qp->middle_count;
	p->bth_flags |= RS_BTH_ACKREQ;
	request_ack(nic, qp, p, now);
	if (fresh)
		time_rtt(qp, p, now);
	nic->counters.tx_packets += n;
	nic->counters.tx_data_packets += n;
	nic->counters.tx_data_bytes += more;
	nic->counters.tx_bytes += qp->sent - before;
	advance(nic, qp, w, n, more);
	return n + 1;
}

/* ---- Middles: middles.c ---- */

/* The next packet of p's message is plainly a Middle that goes for the first time. */
static bool goes_on(const struct rs_qp *qp, const struct rs_swqe *w, const struct rs_packet *p)
{
	return !(qp->flags & (RS_QF_OTHER_TX | RS_QF_RNR_WAIT | RS_QF_READ_PENDING | RS_QF_HELD)) &&
	       qp->send_k && !w->response && !limited(qp, w) && w->n_sge == 1 &&
	       !(w->flags & RS_WR_INLINE) && (int64_t)qp->cc.window < 0 &&
	       rs_psn_add(p->psn, 1) == qp->next_psn && qp->next_psn == qp->max_psn;
}

void rs_req_go_on(const struct rs_qp *qp, const struct rs_packet *p, struct rs_middles *next)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);
	const struct rs_sge *sge = rs_qp_send_sge(qp, qp->sq_send);
	uint32_t room = RS_PSN_WINDOW - rs_qp_in_flight(qp), n;

	if (!goes_on(qp, w, p) || qp->send_k + 1 >= w->packets)
		return;
	n = w->packets - qp->send_k - 1;
	*next = (struct rs_middles){.n = n < room ? n : room,
				    .key = sge->lkey,
				    .pd = qp->pd,
				    .access = RS_LOCAL_READ,
				    .va = sge->va + qp->send_k * qp->mtu};
}

uint64_t rs_req_went_on(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, uint32_t n,
			uint32_t ask, rs_time now)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);
	uint32_t first = qp->next_psn;
	uint64_t asking = 0;

	rs_assert(qp->send_k + n < w->packets);
	for (uint32_t i = 0; i < n; i++) {
		fill_middle(nic, qp, w, p);
		p->psn = qp->next_psn;
		p->bth_flags |= i >= ask ? RS_BTH_ACKREQ : 0;
		qp->sent += qp->middle_count;
		request_ack(nic, qp, p, now);
		time_rtt(qp, p, now);
		asking |= (uint64_t) !!(p->bth_flags & RS_BTH_ACKREQ) << i;
		advance(nic, qp, w, 1, qp->mtu);
	}
	p->psn = first;
	return asking;
}

bool rs_nic_awaits(struct rs_nic *nic, uint32_t qpn, uint32_t psn)
{
	const struct rs_qp *qp = rs_nic_find_qp(nic, qpn);

	return qp && qp->state >= RS_QPS_RTS && qp->state <= RS_QPS_SQD &&
	       rs_psn_diff(psn, qp->una_psn) >= 0 && rs_psn_diff(psn, qp->max_psn) < 0;
}
