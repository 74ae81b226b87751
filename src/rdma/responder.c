/*
 * The responder: the checks of a request in the specification's order, each a function that says
 * which AETH syndrome it earns, then its execution, and what is owed in answer. IBTA §9.7.4,
 * §9.7.5.
 */
#include <string.h>
#include "rdma/state.h"

/* Verdicts beside the syndromes of NAKs, which are all above them. */
enum { OK = 0, DROP = 1 };
enum { ATOMIC_BYTES = 8 };
/* §9.7.4.1.6 with §9.4.1: whatever a RETH announces. */
#define MESSAGE_MAX (UINT32_C(1) << RS_MESSAGE_MAX_LOG2)
/* Answered by a response of their own: a place among the resources each. */
enum { ANSWERED = RS_F_READ | RS_F_ATOMIC | RS_F_ATOMIC_WRITE };

/* One packet or, of a WRITE, a run of packets that p's headers stand for (nic.h). */
struct request {
	const struct rs_packet *p;
	uint32_t f;              /* enum rs_opcode_flags: of a run, of all its packets */
	uint32_t packets, bytes; /* bytes of payload */
	struct rs_mr *mr;        /* of a WRITE with bytes, READ or atomic */
	uint64_t original;       /* of an atomic */
	uint8_t receive_status;  /* enum rs_wc_status of the receive that the error belongs to */
};

uint32_t rs_credit_decode(uint8_t code)
{
	if (code < 2)
		return code;
	return (2u | (code & 1u)) << (code / 2u) >> 1;
}

uint8_t rs_credit_encode(uint32_t receives)
{
	unsigned e;

	if (receives < 2)
		return (uint8_t)receives;
	e = 31u - (unsigned)__builtin_clz(receives);
	return e >= 15 ? 30 : (uint8_t)(2 * e + (receives >> (e - 1) & 1));
}

/* Receives that are free for messages not begun; a QP without a receive queue does not say. */
uint8_t rs_resp_credits(const struct rs_qp *qp)
{
	struct rs_qp_cold *c = qp->cold;
	uint32_t n;

	if (!(qp->flags & RS_QF_RECEIVES))
		return RS_CREDIT_INVALID;
	n = c->rq_tail - c->rq_head - !!(qp->flags & RS_QF_RECEIVING);
	c->told_none = !n;
	return rs_credit_encode(n);
}

void rs_resp_tell_credits(struct rs_nic *nic, struct rs_qp *qp)
{
	if (!nic->c.tell_credits || !qp->cold->told_none || qp->transport != RS_RC ||
	    qp->state < RS_QPS_RTR || qp->state > RS_QPS_SQD)
		return;
	qp->cold->told_none = false;
	rs_resp_owe_ack(nic, qp);
}

/* ---- Resources: READs and atomics, oldest first ---- */

static struct rs_resource *resource_at(const struct rs_qp *qp, unsigned i)
{
	unsigned at = qp->cold->resource_head + i;

	return &qp->cold->resources[at >= qp->resource_limit ? at - qp->resource_limit : at];
}

static struct rs_resource *next_pending(struct rs_qp *qp)
{
	for (; qp->resource_next < qp->resource_count; qp->resource_next++) {
		struct rs_resource *r = resource_at(qp, qp->resource_next);

		if (r->pending)
			return r;
	}
	return NULL;
}

/* Room for one more; NULL when the peer exceeds what it was granted. */
static struct rs_resource *take_resource(struct rs_qp *qp)
{
	if (qp->resource_count == qp->resource_limit) {
		qp->cold->resource_head++;
		if (qp->cold->resource_head == qp->resource_limit)
			qp->cold->resource_head = 0;
		qp->resource_count--;
		if (qp->resource_next)
			qp->resource_next--;
	}
	return resource_at(qp, qp->resource_count++);
}

static bool has_resource(const struct rs_qp *qp)
{
	return qp->resource_limit &&
	       (qp->resource_count < qp->resource_limit || resource_at(qp, 0)->answered);
}

/* ---- What is owed ---- */

/* Parts of READs go once more: before what is new. */
static bool owes_again(const struct rs_qp *qp)
{
	return (qp->flags & RS_QF_RECOVERY) && rs_recovery_of(qp)->owes_again(qp);
}

void rs_resp_kick(struct rs_nic *nic, struct rs_qp *qp)
{
	const struct rs_resource *r = qp->resource_count ? next_pending(qp) : NULL;
	bool reads = r && !r->atomic;

	if (reads || owes_again(qp)) {
		qp->flags |= RS_QF_READ_PENDING;
		rs_sched_kick(nic, qp);
	} else {
		qp->flags &= ~(uint32_t)RS_QF_READ_PENDING;
	}
	if (reads)
		return;
	if (r || qp->nak || (qp->flags & RS_QF_ACK_OWED))
		rs_sched_control(nic, qp);
}

static uint32_t aeth(const struct rs_qp *qp, uint8_t syndrome)
{
	return (uint32_t)syndrome << 24 | qp->msn;
}

RS_APART static void fill_atomic_answer(struct rs_nic *nic, struct rs_qp *qp, struct rs_resource *r,
					struct rs_packet *p, rs_time now)
{
	uint8_t op =
		(r->written ? RS_OP_READ_RESPONSE_ONLY : RS_OP_ATOMIC_ACKNOWLEDGE) | qp->transport;

	rs_packet_head(nic, qp, p, op,
		       r->written ? rs_framing_data(nic->framing, op, 0, nic->c.ipv6, 0)
				  : nic->atomic_ack_frame);
	p->psn = r->psn;
	p->aeth = aeth(qp, RS_SYN_ACK | rs_resp_credits(qp));
	p->swap_add = r->original;
	if (qp->flags & RS_QF_RECOVERY) {
		p->bth_flags |= RS_BTH_CAN;
		rs_recovery_of(qp)->spread(nic, qp, p, now);
	}
	r->pending = false;
	r->answered = true;
}

/* The end of the connection; the NAK that says so is made by the caller. */
RS_COLD static void fail(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome)
{
	RS_COUNT(nic, qp, resp_cqe_error);
	if (syndrome == RS_NAK_INVALID_REQUEST) {
		RS_COUNT(nic, qp, resp_remote_invalid_request);
		rs_event_add(nic, RS_EVENT_QP_REQ_ERR, qp);
	}
	if (syndrome == RS_NAK_REMOTE_ACCESS) {
		RS_COUNT(nic, qp, resp_remote_access_errors);
		rs_event_add(nic, RS_EVENT_QP_ACCESS_ERR, qp);
	}
	rs_qp_fail(nic, qp, RS_WC_SUCCESS);
}

/* An ACK that is due is not put off any more: what it completes came before what is refused. */
RS_COLD static uint32_t due_ack(const struct rs_qp *qp)
{
	uint32_t owed = qp->flags & (RS_QF_ACK_OWED | RS_QF_ECHO);

	return qp->ack_deadline != RS_NEVER ? owed | RS_QF_ACK_OWED : owed;
}

RS_COLD static void refuse_now(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome)
{
	uint32_t owed = due_ack(qp);

	fail(nic, qp, syndrome);
	qp->flags |= owed;
	qp->nak = syndrome;
	rs_sched_control(nic, qp);
}

/* What was asked before is answered before the NAK (§9.7.5.1.1), and no more is taken. */
RS_COLD static void refuse(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome)
{
	if (!qp->resource_count || !next_pending(qp)) {
		refuse_now(nic, qp, syndrome);
		return;
	}
	qp->nak = syndrome;
	qp->flags |= RS_QF_REFUSED;
}

/* What was sent is the NAK, or (0) the ACK before it. */
RS_COLD static void sent_beside_nak(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome)
{
	if (!syndrome) {
		rs_sched_control(nic, qp);
		return;
	}
	qp->nak = 0;
	if (qp->flags & RS_QF_REFUSED)
		fail(nic, qp, syndrome);
}

bool rs_resp_control(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	struct rs_resource *r = qp->resource_count ? next_pending(qp) : NULL;
	/* Responses go in the order of their PSNs (§9.7.5.1.1): the ACK of what was executed, then
	 * the NAK of what follows it. */
	uint32_t syndrome = qp->flags & RS_QF_ACK_OWED ? 0 : qp->nak;

	if (r && r->atomic) {
		fill_atomic_answer(nic, qp, r, p, now);
		return true;
	}
	if (r || !(qp->nak || (qp->flags & RS_QF_ACK_OWED)))
		return false;
	rs_packet_head(nic, qp, p, RS_OP_ACKNOWLEDGE | qp->transport,
		       nic->ack_frame[!!(qp->cc_needs & RS_CC_NEEDS_STAMPS)]);
	if (__builtin_expect(qp->ack_apart, 0)) {
		p->tos = nic->c.ack_tos;
		p->tc = nic->c.ack_tc;
	}
	p->psn = syndrome ? qp->epsn : rs_psn_add(qp->epsn, RS_PSN_MASK);
	p->aeth = aeth(qp, syndrome ? (uint8_t)syndrome : RS_SYN_ACK | rs_resp_credits(qp));
	if (qp->flags & RS_QF_ECHO)
		p->bth_flags |= RS_BTH_BECN;
	if (__builtin_expect(qp->cc_needs & RS_CC_NEEDS_STAMPS, 0)) {
		p->bth_flags |= RS_PACKET_INT;
		p->int_path = nic->int_records[qp->index].path;
		memcpy(p->int_hop, nic->int_records[qp->index].hop, sizeof(p->int_hop));
	}
	qp->flags &= ~(uint32_t)(RS_QF_ACK_OWED | RS_QF_ECHO);
	qp->unacked = 0;
	qp->ack_deadline = RS_NEVER;
	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0)) {
		rs_recovery_of(qp)->spread(nic, qp, p, now);
		if (!syndrome)
			rs_recovery_of(qp)->answer(nic, qp, p);
	}
	if (__builtin_expect(qp->nak, 0))
		sent_beside_nak(nic, qp, (uint8_t)syndrome);
	return true;
}

static uint8_t read_opcode(const struct rs_resource *r, uint32_t k)
{
	if (r->packets == 1)
		return RS_OP_READ_RESPONSE_ONLY;
	if (!k)
		return RS_OP_READ_RESPONSE_FIRST;
	return k + 1 == r->packets ? RS_OP_READ_RESPONSE_LAST : RS_OP_READ_RESPONSE_MIDDLE;
}

void rs_resp_refuse_read(struct rs_nic *nic, struct rs_qp *qp, uint32_t psn, uint8_t syndrome)
{
	qp->epsn = psn;
	qp->flags &= ~(uint32_t)RS_QF_ACK_OWED; /* that is of what follows it */
	qp->ack_deadline = RS_NEVER;
	refuse_now(nic, qp, syndrome);
}

/* The k-th response of a READ. */
static bool fill_response(struct rs_nic *nic, struct rs_qp *qp, const struct rs_resource *r,
			  uint32_t k, struct rs_packet *p, rs_time now)
{
	uint32_t offset = k * qp->mtu;
	uint32_t bytes = r->length - offset;
	uint8_t op = read_opcode(r, k) | qp->transport;
	struct rs_mr *m = NULL;

	if (bytes > qp->mtu)
		bytes = qp->mtu;
	if (bytes) {
		m = rs_mr_find(nic, r->rkey, r->pd, r->va + offset, bytes, RS_ACCESS_REMOTE_READ);
		if (!m) { /* deregistered since */
			rs_resp_refuse_read(nic, qp, rs_psn_add(r->psn, k), RS_NAK_REMOTE_ACCESS);
			return false;
		}
	}
	rs_packet_head(nic, qp, p, op, rs_framing_data(nic->framing, op, bytes, nic->c.ipv6, 0));
	p->payload_bytes = (uint16_t)bytes;
	if (qp->flags & RS_QF_RECOVERY) {
		p->bth_flags |= RS_BTH_CAN;
		rs_recovery_of(qp)->spread(nic, qp, p, now);
	}
	if (m)
		p->payload = rs_mr_source(m, r->va + offset);
	p->psn = rs_psn_add(r->psn, k);
	p->aeth = aeth(qp, RS_SYN_ACK | rs_resp_credits(qp));
	if (bytes && (qp->cc_needs & RS_CC_NEEDS_CREDITS)) {
		p->frame_bytes += RS_CREDIT_BYTES;
		rs_credit_stamp(nic, qp, p);
	}
	return true;
}

/* The READ that a PSN belongs to, with its place there; NULL: none that is remembered. */
static struct rs_resource *read_of(const struct rs_qp *qp, uint32_t psn, uint32_t *k)
{
	for (unsigned i = 0; i < qp->resource_count; i++) {
		struct rs_resource *r = resource_at(qp, i);

		*k = (psn - r->psn) & RS_PSN_MASK;
		if (!r->atomic && *k < r->packets)
			return r;
	}
	return NULL;
}

/* False: the READ is forgotten, or its memory is refused; nothing is sent. */
RS_COLD static bool respond_again(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p,
				  rs_time now)
{
	uint32_t k;
	const struct rs_resource *r = read_of(qp, rs_recovery_of(qp)->next_again(qp), &k);

	bool filled = r && fill_response(nic, qp, r, k, p, now);

	rs_recovery_of(qp)->sent_again(qp, !r);
	rs_resp_kick(nic, qp);
	if (filled)
		nic->counters.retransmitted_bytes += p->payload_bytes;
	return filled;
}

bool rs_resp_read(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	struct rs_resource *r;

	if (__builtin_expect(owes_again(qp), 0))
		return respond_again(nic, qp, p, now);
	r = next_pending(qp);
	if (!fill_response(nic, qp, r, r->sent, p, now))
		return false;
	if (__builtin_expect(r->sent < r->before, 0))
		nic->counters.retransmitted_bytes += p->payload_bytes;
	if (++r->sent == r->packets) {
		r->pending = false;
		r->answered = true;
		rs_resp_kick(nic, qp);
	}
	return true;
}

RS_COLD void rs_resp_owe_nak(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome)
{
	qp->flags |= RS_QF_GAP | due_ack(qp);
	qp->nak = syndrome;
	rs_resp_kick(nic, qp);
}

/* An ACK for a request that was executed, or is a duplicate: at once, or after ack_delay. */
static inline void owe_ack(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			   rs_time now)
{
	bool full = rs_qp_is_much(nic, qp, ++qp->unacked, nic->c.ack_every) && nic->c.ack_every;

	if (!full && !(p->bth_flags & RS_BTH_ACKREQ))
		return;
	if (!full && nic->c.ack_delay) {
		if (qp->ack_deadline != RS_NEVER)
			return;
		qp->ack_deadline = now + nic->c.ack_delay;
		rs_timer_arm(nic, qp, qp->ack_deadline);
		return;
	}
	if (qp->flags & RS_QF_ACK_OWED)
		return;
	qp->flags |= RS_QF_ACK_OWED;
	if (qp->resource_count)
		rs_resp_kick(nic, qp);
	else
		rs_sched_control(nic, qp);
}

void rs_resp_owe_ack(struct rs_nic *nic, struct rs_qp *qp)
{
	qp->flags |= RS_QF_ACK_OWED;
	rs_resp_kick(nic, qp);
}

/* ---- Duplicates: §9.7.5.1.4 ---- */

/*
 * Of a peer that takes responses in any order: a part of a READ. What was not sent yet comes
 * anyway, and only the rest goes once more.
 */
static void part_of_read(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p)
{
	uint32_t k, n = rs_qp_packets(qp, p->dma_bytes);
	const struct rs_resource *r = read_of(qp, p->psn & RS_PSN_MASK, &k);
	uint64_t left = r ? r->length - (uint64_t)k * qp->mtu : 0;

	if (!r || p->rkey != r->rkey || p->va != r->va + (uint64_t)k * qp->mtu ||
	    (p->dma_bytes != left && (p->dma_bytes != n * qp->mtu || p->dma_bytes > left))) {
		nic->counters.rx_dropped++;
		return;
	}
	if (r->pending && k + n > r->sent)
		n = r->sent > k ? r->sent - k : 0;
	if (n)
		rs_recovery_of(qp)->owe_again(qp, p->psn & RS_PSN_MASK, n);
	rs_resp_kick(nic, qp);
}

static void duplicate_read(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p)
{
	if ((qp->flags & RS_QF_RECOVERY) && (p->bth_flags & RS_BTH_CAN)) {
		part_of_read(nic, qp, p);
		return;
	}
	for (unsigned i = 0; i < qp->resource_count; i++) {
		struct rs_resource *r = resource_at(qp, i);
		uint32_t k = (p->psn - r->psn) & RS_PSN_MASK;

		if (r->atomic || k >= r->packets)
			continue;
		if (p->rkey != r->rkey || p->va != r->va + (uint64_t)k * qp->mtu ||
		    p->dma_bytes != r->length - k * qp->mtu)
			break;
		r->va = p->va;
		r->length = p->dma_bytes;
		r->psn = rs_psn_add(r->psn, k);
		r->packets -= k;
		if (r->before < r->sent)
			r->before = r->sent;
		r->before = r->before > k ? r->before - k : 0;
		r->sent = 0;
		r->pending = true;
		if (qp->resource_next > i)
			qp->resource_next = (uint8_t)i;
		rs_resp_kick(nic, qp);
		return;
	}
	nic->counters.rx_dropped++;
}

static void duplicate_atomic(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p)
{
	for (unsigned i = 0; i < qp->resource_count; i++) {
		struct rs_resource *r = resource_at(qp, i);

		if (!r->atomic || r->psn != (p->psn & RS_PSN_MASK))
			continue;
		r->pending = true;
		if (qp->resource_next > i)
			qp->resource_next = (uint8_t)i;
		rs_resp_kick(nic, qp);
		return;
	}
	nic->counters.rx_dropped++;
}

RS_COLD static void duplicate(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			      uint32_t f, rs_time now)
{
	RS_COUNT(nic, qp, duplicate_request);
	if (f & RS_F_READ)
		duplicate_read(nic, qp, p);
	else if (f & (RS_F_ATOMIC | RS_F_ATOMIC_WRITE))
		duplicate_atomic(nic, qp, p);
	else if (f & (RS_F_SEND | RS_F_WRITE))
		owe_ack(nic, qp, p, now);
	else /* what is no request now was none then */
		nic->counters.rx_dropped++;
}

/* ---- The checks, in the order of §9.7.4.1 ---- */

static inline uint8_t check_psn(struct rs_nic *nic, struct rs_qp *qp, const struct request *q,
				rs_time now)
{
	int32_t ahead = rs_psn_diff(q->p->psn, qp->epsn);

	if (__builtin_expect(!ahead, 1)) {
		qp->flags &= ~(uint32_t)RS_QF_GAP;
		qp->nak = 0;
		return OK;
	}
	if (ahead < 0) {
		duplicate(nic, qp, q->p, q->f, now);
		return DROP;
	}
	RS_COUNT(nic, qp, out_of_sequence);
	rs_recovery_of(qp)->early(nic, qp, q->p, q->f, now);
	return DROP;
}

/* A message's packets follow one another: First, Middle, Last of one kind. */
static inline uint8_t check_op_seq(const struct rs_qp *qp, uint32_t f)
{
	bool first = f & (RS_F_FIRST | RS_F_READ | RS_F_ATOMIC);

	if (first != (qp->message == RS_NO_MESSAGE))
		return RS_NAK_INVALID_REQUEST;
	if (first)
		return OK;
	return (f & RS_F_WRITE ? RS_OP_WRITE_FIRST : RS_OP_SEND_FIRST) == qp->message
		       ? OK
		       : RS_NAK_INVALID_REQUEST;
}

/* Is the operation known, and granted to the peer by this QP? A reserved opcode is an invalid
 * request (§9.9.3, the table of responder errors). */
static inline uint8_t check_op_valid(const struct rs_qp *qp, uint32_t f)
{
	uint32_t need = f & (RS_F_WRITE | RS_F_ATOMIC_WRITE) ? RS_ACCESS_REMOTE_WRITE
			: f & RS_F_READ                      ? RS_ACCESS_REMOTE_READ
			: f & RS_F_ATOMIC                    ? RS_ACCESS_REMOTE_ATOMIC
							     : 0;

	if (!(f & (RS_F_WRITE | ANSWERED | RS_F_SEND)))
		return RS_NAK_INVALID_REQUEST;
	return (qp->access & need) == need ? OK : RS_NAK_INVALID_REQUEST;
}

/* A receive for a SEND or an immediate; a place for a READ or atomic. */
static inline uint8_t check_resource(struct rs_nic *nic, struct rs_qp *qp, uint32_t f)
{
	bool receive = (f & RS_F_SEND && f & RS_F_FIRST) || (f & RS_F_WRITE && f & RS_F_IMM);

	if (receive && qp->cold->rq_head == qp->cold->rq_tail &&
	    !((qp->flags & RS_QF_SRQ) && rs_srq_take(nic, qp)))
		return RS_SYN_RNR | qp->rnr_timer;
	if (f & ANSWERED && !has_resource(qp))
		return RS_NAK_INVALID_REQUEST;
	return OK;
}

/* §9.7.4.1.6: full packets but the last. */
static inline bool fills_packets(const struct rs_qp *qp, const struct request *q)
{
	uint64_t room = (uint64_t)q->packets * qp->mtu;

	if (!(q->f & RS_F_LAST))
		return q->bytes == room;
	return q->bytes <= room &&
	       (q->bytes > room - qp->mtu || (q->f & RS_F_FIRST && q->packets == 1));
}

/* Neither more nor less than the message announced. */
static inline bool write_fits(const struct rs_qp *qp, const struct request *q)
{
	uint32_t left = q->f & RS_F_FIRST ? q->p->dma_bytes : qp->w_left;

	if (q->f & RS_F_FIRST && left > MESSAGE_MAX)
		return false;
	return q->f & RS_F_LAST ? q->bytes == left : q->bytes < left;
}

/* What the R_Key gives this QP: a region or window of its PD, or one of type 2 that is its own. */
static inline struct rs_mr *find_remote(struct rs_nic *nic, const struct rs_qp *qp,
					const struct rs_packet *p, uint64_t length, uint32_t need)
{
	struct rs_mr *m = rs_mr_find(nic, p->rkey, qp->pd, p->va, length, need);

	if (__builtin_expect(!m, 0))
		m = rs_mr_find(nic, p->rkey, RS_PD_OF_QP | qp->qpn, p->va, length, need);
	return m;
}

/*
 * A WRITE's length, range, key and rights: of a packet, of the next Middle in a hurry, and of a
 * run. The range is checked whole at its first packet; later ones check that the key lives.
 */
static inline uint8_t check_write(struct rs_nic *nic, const struct rs_qp *qp, struct request *q)
{
	if (!fills_packets(qp, q) || !write_fits(qp, q))
		return RS_NAK_INVALID_REQUEST;
	if (!(q->f & RS_F_FIRST)) {
		q->mr = &nic->mrs[qp->w_mr];
		return q->mr->key == qp->w_rkey ? OK : RS_NAK_REMOTE_ACCESS;
	}
	if (!q->p->dma_bytes)
		return OK;
	q->mr = find_remote(nic, qp, q->p, q->p->dma_bytes, RS_ACCESS_REMOTE_WRITE);
	return q->mr ? OK : RS_NAK_REMOTE_ACCESS;
}

static uint8_t check_send(struct rs_nic *nic, const struct rs_qp *qp, struct request *q)
{
	const struct rs_rwqe *r = &qp->cold->rq[qp->cold->rq_head & qp->cold->rq_mask];
	uint64_t before = q->f & RS_F_FIRST ? 0 : qp->received;

	if (!fills_packets(qp, q))
		return RS_NAK_INVALID_REQUEST;
	if (before + q->bytes > r->length) {
		q->receive_status = RS_WC_LOC_LEN_ERR;
		return RS_NAK_INVALID_REQUEST;
	}
	if (q->f & RS_F_IETH && !rs_mw_may_invalidate(nic, qp, q->p->imm))
		return RS_NAK_REMOTE_ACCESS;
	if (!q->bytes || rs_mr_check_sges(nic, qp->pd, rs_qp_recv_sge(qp, qp->cold->rq_head),
					  r->n_sge, RS_ACCESS_LOCAL_WRITE))
		return OK;
	q->receive_status = RS_WC_LOC_PROT_ERR;
	return RS_NAK_REMOTE_OPERATIONAL;
}

/* A READ, an atomic or an atomic write. */
static uint8_t check_answered(struct rs_nic *nic, const struct rs_qp *qp, struct request *q)
{
	const struct rs_packet *p = q->p;
	uint64_t length = q->f & RS_F_READ ? p->dma_bytes : ATOMIC_BYTES;
	uint32_t need = q->f & RS_F_READ     ? RS_ACCESS_REMOTE_READ
			: q->f & RS_F_ATOMIC ? RS_ACCESS_REMOTE_ATOMIC
					     : RS_ACCESS_REMOTE_WRITE;

	if (q->f & RS_F_ATOMIC_WRITE ? q->bytes != ATOMIC_BYTES || p->dma_bytes != ATOMIC_BYTES
				     : q->bytes || length > MESSAGE_MAX)
		return RS_NAK_INVALID_REQUEST;
	if (!(q->f & RS_F_READ) && p->va & (ATOMIC_BYTES - 1))
		return RS_NAK_INVALID_REQUEST;
	if (!length)
		return OK;
	q->mr = find_remote(nic, qp, p, length, need);
	return q->mr ? OK : RS_NAK_REMOTE_ACCESS;
}

/* §9.7.4.1.6 and .7: lengths, then keys. */
static inline uint8_t check_memory(struct rs_nic *nic, const struct rs_qp *qp, struct request *q)
{
	if (q->f & ANSWERED)
		return check_answered(nic, qp, q);
	return q->f & RS_F_WRITE ? check_write(nic, qp, q) : check_send(nic, qp, q);
}

/* ---- Execution ---- */

RS_APART static void finish_receive(struct rs_nic *nic, struct rs_qp *qp, const struct request *q)
{
	struct rs_cqe e = {
		.bytes = qp->received,
		.imm = q->f & RS_F_IMM ? q->p->imm : 0,
		.status = RS_WC_SUCCESS,
		.op = q->f & RS_F_WRITE ? RS_WR_RECV_WRITE_IMM : RS_WR_RECV,
		.has_imm = !!(q->f & RS_F_IMM),
		.solicited = !!(q->p->bth_flags & RS_BTH_SE),
	};

	if (__builtin_expect(q->f & RS_F_IETH, 0)) {
		rs_mw_invalidate(nic, qp, q->p->imm);
		e.imm = q->p->imm;
		e.flags = RS_CQE_INV;
	}
	rs_qp_complete_receive(nic, qp, &e);
}

static inline bool put_payload(const struct rs_nic *nic, const struct rs_qp *qp, uint8_t *to,
			       const struct rs_packet *p)
{
	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0))
		return rs_recovery_of(qp)->place(nic, qp, to, p);
	return rs_nic_copy(nic, to, p->payload, p->payload_bytes);
}

/* The payload of a SEND. What recovery kept has been put there. */
static bool put_received(struct rs_nic *nic, const struct rs_qp *qp, const struct request *q)
{
	const struct rs_sge *sge = rs_qp_recv_sge(qp, qp->cold->rq_head);
	uint8_t n = qp->cold->rq[qp->cold->rq_head & qp->cold->rq_mask].n_sge;
	uint32_t at = q->f & RS_F_FIRST ? 0 : qp->received;
	const uint8_t *to = NULL;

	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0) &&
	    rs_mr_piece(nic, qp->pd, sge, n, at, q->bytes, &to) && to)
		return put_payload(nic, qp, (uint8_t *)(uintptr_t)to, q->p);
	return rs_mr_scatter(nic, qp->pd, sge, n, at, q->p->payload, q->bytes);
}

static bool put_written(struct rs_nic *nic, const struct rs_qp *qp, const struct request *q)
{
	uint64_t va = q->f & RS_F_FIRST ? q->p->va : qp->w_va;

	return !q->mr || !q->mr->host || put_payload(nic, qp, q->mr->host + (va - q->mr->va), q->p);
}

/* The word is compared and stored in host order, as verbs have it. False: it cannot be touched. */
static uint64_t after_atomic(const struct request *q)
{
	if ((q->p->opcode & 0x1f) == RS_OP_FETCH_ADD)
		return q->original + q->p->swap_add;
	return q->original == q->p->compare ? q->p->swap_add : q->original;
}

static bool do_atomic(const struct rs_nic *nic, struct request *q)
{
	bool done = false;
	uint64_t next;
	uint8_t *at;

	if (!q->mr->host)
		return true;
	at = q->mr->host + (q->p->va - q->mr->va);
	if (nic->c.swap && !((uintptr_t)at % sizeof(next))) {
		q->original = 0; /* a guess, which the first step puts right */
		while (!done)
			if (!nic->c.swap((uint64_t *)(void *)at, &q->original, after_atomic(q),
					 &done))
				return false;
		return true;
	}
	if (!rs_nic_copy(nic, &q->original, at, sizeof(q->original)))
		return false;
	next = after_atomic(q);
	return rs_nic_copy(nic, at, &next, sizeof(next));
}

/* Eight bytes, which no reader sees by halves where the region lies as its addresses say. */
static bool do_atomic_write(const struct rs_nic *nic, const struct request *q)
{
	uint8_t *at;
	uint64_t value;

	if (!q->mr->host || !q->p->payload)
		return true;
	at = q->mr->host + (q->p->va - q->mr->va);
	memcpy(&value, q->p->payload, sizeof(value));
	if (nic->c.copy || (uintptr_t)at % sizeof(value))
		return rs_nic_copy(nic, at, &value, sizeof(value));
	__atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE);
	return true;
}

/*
 * The last check: the bytes go where they belong. Memory that is registered and cannot be touched
 * is the responder's own fault (§9.9.3), of which a receive's owner is told.
 */
static uint8_t put(struct rs_nic *nic, const struct rs_qp *qp, struct request *q)
{
	bool done = true;

	if (q->f & RS_F_ATOMIC_WRITE) {
		done = do_atomic_write(nic, q);
	} else if (q->f & RS_F_ATOMIC) {
		done = do_atomic(nic, q);
	} else if (q->p->payload && q->bytes && q->f & RS_F_WRITE) {
		done = put_written(nic, qp, q);
	} else if (q->p->payload && q->bytes && q->f & RS_F_SEND && !put_received(nic, qp, q)) {
		q->receive_status = RS_WC_LOC_PROT_ERR;
		done = false;
	}
	return done ? OK : RS_NAK_REMOTE_OPERATIONAL;
}

static inline void execute_write(struct rs_nic *nic, struct rs_qp *qp, const struct request *q)
{
	const struct rs_packet *p = q->p;

	if (q->f & RS_F_FIRST) {
		qp->w_va = p->va;
		qp->w_rkey = p->rkey;
		qp->w_mr = q->mr ? (uint32_t)(q->mr - nic->mrs) : 0;
		qp->w_left = p->dma_bytes;
		qp->received = 0;
		qp->message = RS_OP_WRITE_FIRST;
	}
	qp->w_va += q->bytes;
	qp->w_left -= q->bytes;
	qp->received += q->bytes;
	if (__builtin_expect(!(q->f & RS_F_LAST), 1))
		return;
	qp->message = RS_NO_MESSAGE;
	qp->msn = rs_psn_add(qp->msn, 1);
	if (q->f & RS_F_IMM)
		finish_receive(nic, qp, q);
}

RS_APART static void execute_send(struct rs_nic *nic, struct rs_qp *qp, const struct request *q)
{
	const struct rs_packet *p = q->p;

	if (q->f & RS_F_FIRST) {
		qp->received = 0;
		qp->message = RS_OP_SEND_FIRST;
		qp->flags |= RS_QF_RECEIVING;
	}
	qp->received += p->payload_bytes;
	if (!(q->f & RS_F_LAST))
		return;
	qp->message = RS_NO_MESSAGE;
	qp->flags &= ~(uint32_t)RS_QF_RECEIVING;
	qp->msn = rs_psn_add(qp->msn, 1);
	finish_receive(nic, qp, q);
}

/* READs and atomics: remembered, then answered in order. Returns the PSNs taken. */
RS_APART static uint32_t execute_response(struct rs_nic *nic, struct rs_qp *qp,
					  const struct request *q)
{
	const struct rs_packet *p = q->p;
	struct rs_resource *r = take_resource(qp);

	*r = (struct rs_resource){
		.va = p->va,
		.rkey = p->rkey,
		.pd = q->mr ? q->mr->pd : qp->pd,
		.psn = qp->epsn,
		.packets = 1,
		.atomic = !(q->f & RS_F_READ),
		.written = !!(q->f & RS_F_ATOMIC_WRITE),
		.pending = true,
	};
	if (r->atomic) {
		r->original = q->original;
	} else {
		r->length = p->dma_bytes;
		r->packets = rs_qp_packets(qp, r->length);
	}
	qp->msn = rs_psn_add(qp->msn, 1);
	/* The answer acknowledges all that came before. */
	qp->flags &= ~(uint32_t)RS_QF_ACK_OWED;
	qp->ack_deadline = RS_NEVER;
	qp->unacked = 0;
	if (qp->ack_apart)
		rs_sched_join_acks(nic, qp);
	return r->packets;
}

static void execute(struct rs_nic *nic, struct rs_qp *qp, const struct request *q, rs_time now)
{
	if (__builtin_expect(q->f & ANSWERED, 0)) {
		qp->epsn = rs_psn_add(qp->epsn, execute_response(nic, qp, q));
		rs_resp_kick(nic, qp);
		return;
	}
	qp->epsn = rs_psn_add(qp->epsn, q->packets);
	if (q->f & RS_F_WRITE)
		execute_write(nic, qp, q);
	else
		execute_send(nic, qp, q);
	qp->unacked += q->packets - 1;
	owe_ack(nic, qp, q->p, now);
}

/* A NAK that ends the connection; the receive under way completes with its own error. */
RS_COLD static void reject(struct rs_nic *nic, struct rs_qp *qp, const struct request *q,
			   uint8_t syndrome)
{
	struct rs_cqe e = {.status = q->receive_status, .op = RS_WR_RECV};

	if (q->receive_status != RS_WC_SUCCESS)
		rs_qp_complete_receive(nic, qp, &e);
	refuse(nic, qp, syndrome);
}

/* The next Middle of the message under way, of that kind, nothing owed but ACKs. */
static inline bool goes_on(const struct rs_qp *qp, const struct rs_packet *p, uint8_t middle,
			   uint8_t message)
{
	return (p->opcode & 0x1f) == middle && p->psn == qp->epsn && qp->message == message &&
	       !(qp->flags & (RS_QF_GAP | RS_QF_UC)) && !qp->nak;
}

/* Of a WRITE: all the checks below would pass, and are decided here in one go. */
static inline bool streams_on(struct rs_nic *nic, const struct rs_qp *qp, const struct rs_packet *p)
{
	struct request q = {.p = p, .f = RS_F_WRITE, .packets = 1, .bytes = p->payload_bytes};

	return goes_on(qp, p, RS_OP_WRITE_MIDDLE, RS_OP_WRITE_FIRST) && !check_write(nic, qp, &q);
}

static inline void stream(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			  rs_time now)
{
	const struct rs_mr *m = &nic->mrs[qp->w_mr];

	if (m->host &&
	    !rs_nic_copy(nic, m->host + (qp->w_va - m->va), p->payload, p->payload_bytes)) {
		refuse(nic, qp, RS_NAK_REMOTE_OPERATIONAL);
		return;
	}
	qp->w_va += p->payload_bytes;
	qp->w_left -= p->payload_bytes;
	qp->received += p->payload_bytes;
	qp->epsn = rs_psn_add(qp->epsn, 1);
	owe_ack(nic, qp, p, now);
}

/* The message under way is given up; its receive waits for the next one. */
static void abandon(struct rs_nic *nic, struct rs_qp *qp)
{
	qp->message = RS_NO_MESSAGE;
	qp->flags &= ~(uint32_t)RS_QF_RECEIVING;
	RS_COUNT(nic, qp, uc_ud_dropped);
}

/*
 * UC: §9.8.2. A gap in the PSNs drops the message that it hits, and the next First or Only begins
 * anew. What is refused is dropped silently, but for receive memory that is not the owner's.
 */
static void uc_rx(struct rs_nic *nic, struct rs_qp *qp, struct request *q)
{
	bool first = q->f & RS_F_FIRST;
	uint8_t v;

	if (qp->message != RS_NO_MESSAGE && (first || q->p->psn != qp->epsn))
		abandon(nic, qp);
	if (!first && qp->message == RS_NO_MESSAGE)
		return;
	qp->epsn = q->p->psn & RS_PSN_MASK;
	v = check_op_seq(qp, q->f);
	if (!v)
		v = check_op_valid(qp, q->f);
	if (!v)
		v = check_resource(nic, qp, q->f);
	if (!v)
		v = check_memory(nic, qp, q);
	if (!v)
		v = put(nic, qp, q);
	if (v && q->receive_status == RS_WC_LOC_PROT_ERR) {
		struct rs_cqe e = {.status = q->receive_status, .op = RS_WR_RECV};

		rs_qp_complete_receive(nic, qp, &e);
		rs_qp_fail(nic, qp, RS_WC_SUCCESS);
		return;
	}
	if (v) {
		abandon(nic, qp);
		return;
	}
	qp->epsn = rs_psn_add(qp->epsn, 1);
	if (q->f & RS_F_WRITE)
		execute_write(nic, qp, q);
	else
		execute_send(nic, qp, q);
}

/* XRC: the request's SRQ gives receive, completion queue and protection domain (A14.2.3). */
static uint8_t check_xrc(struct rs_nic *nic, struct rs_qp *qp, const struct request *q)
{
	struct rs_srq *s = rs_srq_find(nic, q->p->xrc_srqn);

	if (!s || !s->xrc || s->xrcd != qp->cold->more->xrcd)
		return RS_NAK_INVALID_REQUEST;
	if (!(q->f & RS_F_FIRST))
		return s == qp->cold->more->srq ? OK : RS_NAK_INVALID_REQUEST;
	rs_qp_own_more(qp)->srq = s;
	qp->cold->recv_cq = s->cq;
	qp->pd = s->pd;
	return OK;
}

/* Before the checks of a request that is not plainly RC's. False: it is dealt with. */
RS_APART static bool first_look(struct rs_nic *nic, struct rs_qp *qp, struct request *q,
				rs_time now)
{
	if (qp->flags & RS_QF_UD) {
		rs_ud_rx(nic, qp, q->p, now);
		return false;
	}
	/* an initiator responds to nothing, nor who waits to say no */
	if (qp->flags & (RS_QF_XRC | RS_QF_REFUSED)) {
		nic->counters.rx_dropped++;
		return false;
	}
	if (qp->flags & RS_QF_ESTABLISH) {
		qp->flags &= ~(uint32_t)RS_QF_ESTABLISH;
		if (qp->state == RS_QPS_RTR)
			rs_event_add(nic, RS_EVENT_COMM_EST, qp);
	}
	if (qp->flags & RS_QF_UC) {
		uc_rx(nic, qp, q);
		return false;
	}
	return true;
}

static void check_and_execute(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			      uint32_t f, rs_time now)
{
	struct request q = {.p = p, .f = f, .packets = 1, .bytes = p->payload_bytes};
	uint8_t v;

	if (__builtin_expect(qp->flags & RS_QF_OTHER_RX, 0) && !first_look(nic, qp, &q, now))
		return;
	v = check_psn(nic, qp, &q, now);
	if (v == DROP)
		return;
	v = check_op_seq(qp, f);
	if (__builtin_expect(qp->flags & RS_QF_TARGET, 0) && !v)
		v = check_xrc(nic, qp, &q);
	if (!v)
		v = check_op_valid(qp, f);
	if (!v)
		v = check_resource(nic, qp, f);
	if (!v)
		v = check_memory(nic, qp, &q);
	if (!v)
		v = put(nic, qp, &q);
	if (!v)
		execute(nic, qp, &q, now);
	else if ((v & RS_SYN_KIND) == RS_SYN_RNR)
		rs_resp_owe_nak(nic, qp, v);
	else
		reject(nic, qp, &q, v);
}

/* What is not plainly the next packet of a message: and then, what was kept and is due now. */
RS_APART static void look_and_execute(struct rs_nic *nic, struct rs_qp *qp,
				      const struct rs_packet *p, uint32_t f, rs_time now)
{
	check_and_execute(nic, qp, p, f, now);
	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0))
		rs_recovery_of(qp)->in_order(nic, qp, now);
}

void rs_resp_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		rs_time now)
{
	if (nic->c.copy_payload && p->payload_bytes && !p->payload)
		nic->counters.rx_dropped++;
	else if (__builtin_expect(streams_on(nic, qp, p), 1))
		stream(nic, qp, p, now);
	else
		look_and_execute(nic, qp, p, f, now);
}

void rs_resp_execute(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	check_and_execute(nic, qp, p, rs_opcodes[p->opcode].flags, now);
}

struct rs_mr *rs_resp_write_memory(struct rs_nic *nic, const struct rs_qp *qp,
				   const struct rs_packet *p)
{
	return find_remote(nic, qp, p, p->payload_bytes, RS_ACCESS_REMOTE_WRITE);
}

/* ---- Runs: see nic.h ---- */

/* The QP of a run, in a state to execute it; NULL: not so simply. */
static struct rs_qp *run_qp(struct rs_nic *nic, const struct rs_packet *p)
{
	struct rs_qp *qp = rs_nic_find_qp(nic, p->dest_qp);
	uint32_t op = p->opcode & 0x1fu;

	if (!qp || !rs_qp_from_peer(qp, p) || qp->transport != RS_RC ||
	    (qp->flags & RS_QF_OTHER_RX) || (p->opcode & 0xe0) != RS_RC ||
	    (op != RS_OP_WRITE_FIRST && op != RS_OP_WRITE_MIDDLE) ||
	    check_op_valid(qp, rs_opcodes[p->opcode].flags))
		return NULL;
	return qp;
}

/* Where the bytes go; NULL: not to a region, as windows may be lost by the peer's own requests in
 * the meantime. */
static uint8_t *run_region(const struct rs_mr *m, uint64_t va)
{
	return m && m->kind == RS_MR_REGION && m->host ? m->host + (va - m->va) : NULL;
}

uint8_t *rs_nic_run_place(struct rs_nic *nic, const struct rs_packet *p, uint32_t bytes,
			  uint32_t ahead)
{
	struct rs_qp *qp = run_qp(nic, p);

	if (!qp || p->psn != rs_psn_add(qp->epsn, ahead))
		return NULL;
	return run_region(find_remote(nic, qp, p, bytes, RS_ACCESS_REMOTE_WRITE), p->va);
}

bool rs_nic_rx_run(struct rs_nic *nic, const struct rs_packet *p, uint32_t packets, uint32_t bytes,
		   bool last, const uint8_t *place, rs_time now)
{
	uint32_t f = rs_opcodes[p->opcode].flags | (last ? RS_F_LAST : 0);
	struct request q = {.p = p, .f = f, .packets = packets, .bytes = bytes};
	struct rs_qp *qp = run_qp(nic, p);

	if (!qp || p->psn != qp->epsn || !packets || packets > RS_PSN_WINDOW ||
	    (!(f & RS_F_FIRST) && p->va != qp->w_va) || check_op_seq(qp, f) ||
	    check_write(nic, qp, &q) || !place || run_region(q.mr, p->va) != place)
		return false;
	qp->flags &= ~(uint32_t)RS_QF_GAP;
	qp->nak = 0;
	nic->counters.rx_packets += packets;
	nic->counters.rx_bytes += bytes + packets * (uint64_t)(p->frame_bytes - p->payload_bytes);
	execute(nic, qp, &q, now);
	return true;
}

/* ---- Middles: middles.c ---- */

/* Behind the response p, those of its READ that were not sent before; not where requests take turns
 * with them. */
void rs_resp_go_on(struct rs_qp *qp, const struct rs_packet *p, struct rs_middles *next)
{
	const struct rs_resource *r;

	if (!rs_resp_streams(qp) || (qp->flags & RS_QF_RECOVERY) || rs_req_ready(qp))
		return;
	r = next_pending(qp);
	if (!r || r->atomic || !r->sent || r->sent < r->before || r->sent + 1 >= r->packets ||
	    rs_psn_add(p->psn, 1) != rs_psn_add(r->psn, r->sent))
		return;
	*next = (struct rs_middles){.n = r->packets - r->sent - 1,
				    .key = r->rkey,
				    .pd = r->pd,
				    .access = RS_ACCESS_REMOTE_READ,
				    .va = r->va + (uint64_t)r->sent * qp->mtu};
}

void rs_resp_went_on(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, uint32_t n)
{
	struct rs_resource *r = next_pending(qp);

	rs_assert(r && r->sent + n < r->packets);
	rs_packet_head(nic, qp, p, RS_OP_READ_RESPONSE_MIDDLE | qp->transport, qp->middle_frame);
	p->payload_bytes = qp->mtu;
	p->psn = rs_psn_add(r->psn, r->sent);
	r->sent += n;
	/* as send_one() has it */
	if (n % 2)
		qp->flags ^= RS_QF_READ_TURN;
}

/* Of the SEND under way. */
static uint32_t send_comes_on(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			      uint32_t max, uint8_t **to)
{
	const struct rs_rwqe *r = &qp->cold->rq[qp->cold->rq_head & qp->cold->rq_mask];
	struct request q = {.p = p, .f = RS_F_SEND, .packets = 1, .bytes = p->payload_bytes};
	const uint8_t *place = NULL;
	uint32_t n;

	if (!goes_on(qp, p, RS_OP_SEND_MIDDLE, RS_OP_SEND_FIRST) || check_send(nic, qp, &q))
		return 0;
	n = (r->length - qp->received) / qp->mtu;
	n = n < max ? n : max;
	if (!rs_mr_piece(nic, qp->pd, rs_qp_recv_sge(qp, qp->cold->rq_head), r->n_sge, qp->received,
			 n * qp->mtu, &place) ||
	    !place)
		return 0;
	*to = (uint8_t *)(uintptr_t)place;
	return n;
}

uint32_t rs_resp_coming(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			uint32_t max, uint8_t **to)
{
	const struct rs_mr *m = &nic->mrs[qp->w_mr];
	uint32_t n;

	if (qp->flags & (RS_QF_OTHER_RX | RS_QF_UC))
		return 0;
	if (!streams_on(nic, qp, p))
		return send_comes_on(nic, qp, p, max, to);
	/* w_left is more than a packet's bytes, or it would be the Last: check_write() */
	n = (qp->w_left - 1) / qp->mtu;
	*to = m->host ? m->host + (qp->w_va - m->va) : NULL;
	return n < max ? n : max;
}

void rs_resp_came(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t n,
		  rs_time now)
{
	uint32_t bytes = n * qp->mtu;

	if (qp->message == RS_OP_WRITE_FIRST) {
		qp->w_va += bytes;
		qp->w_left -= bytes;
	}
	qp->received += bytes;
	qp->epsn = rs_psn_add(qp->epsn, n);
	qp->unacked += n - 1;
	owe_ack(nic, qp, p, now);
}

void rs_resp_untouchable(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p)
{
	bool send = rs_opcodes[p->opcode].flags & RS_F_SEND;
	struct request q = {.receive_status = send ? RS_WC_LOC_PROT_ERR : RS_WC_SUCCESS};

	reject(nic, qp, &q, RS_NAK_REMOTE_OPERATIONAL);
}
