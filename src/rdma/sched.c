/*
 * Who sends next. Per traffic class, QPs that may send wait in a ring and take turns; QPs held by
 * their pace wait in a heap; the others in neither. Between classes: port/ets.h.
 */
#include "rdma/state.h"

void rs_list_init(struct rs_list *l)
{
	l->head = l->tail = RS_NO_QP;
}

void rs_list_add(struct rs_nic *nic, struct rs_list *l, struct rs_qp *qp, enum rs_list_kind k)
{
	qp->link[k] = (struct rs_link){.next = RS_NO_QP, .prev = l->tail};
	if (l->tail == RS_NO_QP)
		l->head = qp->index;
	else
		nic->qps[l->tail].link[k].next = qp->index;
	l->tail = qp->index;
}

void rs_list_del(struct rs_nic *nic, struct rs_list *l, struct rs_qp *qp, enum rs_list_kind k)
{
	struct rs_link n = qp->link[k];

	if (n.prev == RS_NO_QP)
		l->head = n.next;
	else
		nic->qps[n.prev].link[k].next = n.next;
	if (n.next == RS_NO_QP)
		l->tail = n.prev;
	else
		nic->qps[n.next].link[k].prev = n.prev;
}

static uint8_t class_bit(const struct rs_list *l, unsigned c)
{
	return (uint8_t)((l->head != RS_NO_QP) << c);
}

void rs_sched_add(struct rs_nic *nic, struct rs_qp *qp)
{
	rs_list_add(nic, &nic->data[qp->tc], qp, RS_LIST_DATA);
	nic->data_mask |= (uint8_t)(1 << qp->tc);
	qp->place = RS_PLACE_READY;
}

static void take_ready(struct rs_nic *nic, struct rs_qp *qp)
{
	unsigned c = qp->tc;

	rs_list_del(nic, &nic->data[c], qp, RS_LIST_DATA);
	nic->data_mask = (uint8_t)(nic->data_mask & ~(1 << c)) | class_bit(&nic->data[c], c);
	qp->place = RS_PLACE_NONE;
}

/* Where a QP's ACKs wait. */
static inline unsigned control_class(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return __builtin_expect(qp->ack_apart, 0) ? nic->apart_class : nic->ack_class[qp->tc];
}

void rs_sched_control(struct rs_nic *nic, struct rs_qp *qp)
{
	unsigned c = control_class(nic, qp);

	if (qp->flags & RS_QF_ON_CONTROL)
		return;
	qp->flags |= RS_QF_ON_CONTROL;
	rs_list_add(nic, &nic->control[c], qp, RS_LIST_CONTROL);
	nic->control_mask |= (uint8_t)(1 << c);
}

static inline void take_control(struct rs_nic *nic, struct rs_qp *qp)
{
	unsigned c = control_class(nic, qp);

	rs_list_del(nic, &nic->control[c], qp, RS_LIST_CONTROL);
	nic->control_mask =
		(uint8_t)(nic->control_mask & ~(1 << c)) | class_bit(&nic->control[c], c);
	qp->flags &= ~(uint32_t)RS_QF_ON_CONTROL;
}

void rs_sched_join_acks(struct rs_nic *nic, struct rs_qp *qp)
{
	bool waits = qp->flags & RS_QF_ON_CONTROL;

	if (waits)
		take_control(nic, qp);
	qp->ack_apart = false;
	if (waits)
		rs_sched_control(nic, qp);
}

void rs_sched_cnp(struct rs_nic *nic, struct rs_qp *qp)
{
	if (qp->flags & RS_QF_ON_CNP)
		return;
	qp->flags |= RS_QF_ON_CNP;
	rs_list_add(nic, &nic->cnp, qp, RS_LIST_CNP);
	nic->cnp_mask = (uint8_t)(1 << nic->c.cnp_tc);
}

static void take_cnp(struct rs_nic *nic, struct rs_qp *qp)
{
	rs_list_del(nic, &nic->cnp, qp, RS_LIST_CNP);
	nic->cnp_mask = class_bit(&nic->cnp, nic->c.cnp_tc);
	qp->flags &= ~(uint32_t)RS_QF_ON_CNP;
}

void rs_sched_forget(struct rs_nic *nic, struct rs_qp *qp)
{
	if (qp->place == RS_PLACE_READY)
		take_ready(nic, qp);
	else if (qp->place == RS_PLACE_PACED)
		rs_heap_remove(&nic->paced, qp->index);
	qp->place = RS_PLACE_NONE;
	if (qp->flags & RS_QF_ON_CONTROL)
		take_control(nic, qp);
	if (qp->flags & RS_QF_ON_CNP)
		take_cnp(nic, qp);
	if (nic->credits)
		rs_credit_forget(nic, qp);
}

void rs_qp_hold(struct rs_nic *nic, struct rs_qp *qp, bool held)
{
	rs_assert(rs_nic_has_qp(nic, qp));
	if (held) {
		qp->flags |= RS_QF_HELD;
		return;
	}
	qp->flags &= ~(uint32_t)RS_QF_HELD;
	rs_sched_kick(nic, qp);
}

void rs_qp_hold_reads(struct rs_nic *nic, struct rs_qp *qp, bool held)
{
	rs_assert(rs_nic_has_qp(nic, qp));
	if (held) {
		qp->flags |= RS_QF_READS_HELD;
		return;
	}
	qp->flags &= ~(uint32_t)RS_QF_READS_HELD;
	rs_sched_kick(nic, qp);
}

uint64_t rs_qp_unacked(const struct rs_qp *qp)
{
	uint64_t off = qp->flags & RS_QF_RECOVERY ? rs_recovery_of(qp)->off(qp) : 0;

	return qp->sent - qp->acked - off;
}

uint64_t rs_qp_awaited(const struct rs_qp *qp)
{
	return (uint64_t)rs_qp_in_flight(qp) * qp->mtu;
}

uint32_t rs_qp_oldest(const struct rs_qp *qp)
{
	return qp->una_psn;
}

uint64_t rs_qp_acked(const struct rs_qp *qp)
{
	return qp->acked;
}

/* A CNP: A17.9.3; or a grant of credit, which needs the same haste. */
RS_APART static void send_cnp(struct rs_nic *nic, struct rs_packet *p)
{
	struct rs_qp *qp = &nic->qps[nic->cnp.head];

	take_cnp(nic, qp);
	if (qp->cc_needs & RS_CC_NEEDS_CREDITS) {
		rs_credit_fill(nic, qp, p);
		return;
	}
	rs_packet_head(nic, qp, p, RS_OPCODE_CNP, nic->cnp_frame);
	p->tos = nic->c.cnp_tos;
	p->tc = nic->c.cnp_tc;
	p->bth_flags |= RS_BTH_BECN;
	p->psn = 0;
	RS_COUNT(nic, qp, np_cnp_sent);
}

static bool send_control(struct rs_nic *nic, unsigned c, struct rs_packet *p, rs_time now)
{
	while (nic->control[c].head != RS_NO_QP) {
		struct rs_qp *qp = &nic->qps[nic->control[c].head];

		take_control(nic, qp);
		if (rs_resp_control(nic, qp, p, now)) {
			if (qp->resource_count)
				rs_resp_kick(nic, qp);
			nic->counters.tx_ack_packets++;
			return true;
		}
	}
	return false;
}

/* Between messages a limit on them may hold for longer than the rate does. */
static inline void wait_for_message(const struct rs_nic *nic, struct rs_qp *qp)
{
	if (nic->message_due && !qp->send_k)
		qp->next_allowed = rs_time_max(qp->next_allowed, nic->message_due[qp->index]);
}

/* What was due at a time before now. A packet that waits at a low rate waits less at a higher one.
 */
RS_APART static void catch_up(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	const struct rs_cc_use *cc = rs_cc_of(nic, qp);
	uint64_t old = qp->cc.pace.q16, pace;
	rs_time left = qp->next_allowed - now;

	cc->ops->on_time(cc->params, &qp->cc, now);
	pace = qp->cc.pace.q16;
	if (left > 0 && pace < old && !nic->c.quirks.pace_fixed)
		qp->next_allowed = now + (rs_time)((rs_uint128)(uint64_t)left * pace / old);
	wait_for_message(nic, qp);
}

/* Held by its pace: to the heap, until it may go or its rate may change. */
RS_APART static void hold(struct rs_nic *nic, struct rs_qp *qp)
{
	take_ready(nic, qp);
	qp->place = RS_PLACE_PACED;
	rs_heap_set(&nic->paced, qp->index, qp->qpn,
		    nic->c.quirks.pace_fixed ? qp->next_allowed
					     : rs_time_min(qp->next_allowed, qp->cc.next_event));
}

/* One packet of the QP: a READ response or a request, in turns when it has both. */
static bool send_one(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	if (__builtin_expect(rs_resp_streams(qp), 0)) {
		qp->flags ^= RS_QF_READ_TURN;
		if ((qp->flags & RS_QF_READ_TURN) || !rs_req_ready(qp))
			return rs_resp_read(nic, qp, p, now);
	}
	return rs_req_send(nic, qp, p, now);
}

/* A limit on messages: the next begins so long after this one began. */
RS_APART static void pace_messages(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				   rs_time now)
{
	if (rs_opcodes[p->opcode].flags & RS_F_FIRST)
		nic->message_due[qp->index] = now + nic->c.qp_message_time;
	wait_for_message(nic, qp);
}

static void pace(struct rs_nic *nic, struct rs_qp *qp, uint32_t frame, rs_time now)
{
	struct rs_cc *cc = &qp->cc;

	qp->next_allowed = rs_time_max(qp->next_allowed, now - nic->pace_late) +
			   rs_framing_time(cc->pace, frame + nic->gap, nic->whole_ns);
	cc->byte_credit -= frame;
	if (__builtin_expect(cc->byte_credit <= 0, 0)) {
		rs_cc_of(nic, qp)->ops->on_bytes(rs_cc_of(nic, qp)->params, cc, now);
		if (cc->byte_credit <= 0)
			rs_credit_spent(nic, qp, now);
	}
}

static rs_time middle_time(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return rs_framing_time(qp->cc.pace, (uint32_t)qp->middle_frame + nic->gap, nic->whole_ns);
}

/* Other queue pairs of the class let it finish its send; other classes do not. */
bool rs_sched_lets(const struct rs_nic *nic, const struct rs_qp *qp, uint32_t n, rs_time now)
{
	rs_time free = rs_time_max(qp->next_allowed, now - nic->pace_late);

	return qp->place == RS_PLACE_READY && nic->data_mask == 1 << qp->tc && !nic->cnp_mask &&
	       !nic->message_due && now < qp->cc.next_event &&
	       qp->cc.byte_credit > (int64_t)n * qp->middle_frame &&
	       free + (rs_time)n * middle_time(nic, qp) <= now;
}

void rs_sched_went(const struct rs_nic *nic, struct rs_qp *qp, uint32_t n, rs_time now)
{
	qp->next_allowed = rs_time_max(qp->next_allowed, now - nic->pace_late) +
			   (rs_time)n * middle_time(nic, qp);
	qp->cc.byte_credit -= (int64_t)n * qp->middle_frame;
}

static bool send_data(struct rs_nic *nic, unsigned c, struct rs_packet *p, rs_time now)
{
	while (nic->data[c].head != RS_NO_QP) {
		struct rs_qp *qp = &nic->qps[nic->data[c].head];

		if (now >= qp->cc.next_event)
			catch_up(nic, qp, now);
		if (!rs_req_streams(qp) && !rs_sched_ready(qp)) {
			take_ready(nic, qp);
			if (__builtin_expect(nic->no_rnr_retry, 0))
				rs_req_await_credit(nic, qp, now);
			continue;
		}
		if (qp->next_allowed > now) {
			hold(nic, qp);
			continue;
		}
		if (!send_one(nic, qp, p, now)) {
			/* a READ response that is refused in its turn leaves a NAK */
			if (qp->nak && send_control(nic, control_class(nic, qp), p, now))
				return true;
			continue;
		}
		pace(nic, qp, p->frame_bytes, now);
		if (__builtin_expect(nic->c.qp_message_time != 0, 0))
			pace_messages(nic, qp, p, now);
		nic->counters.tx_data_packets++;
		nic->counters.tx_data_bytes += p->payload_bytes;
		if (qp->place == RS_PLACE_READY && nic->data[c].tail != qp->index) {
			rs_list_del(nic, &nic->data[c], qp, RS_LIST_DATA);
			rs_list_add(nic, &nic->data[c], qp, RS_LIST_DATA);
		}
		return true;
	}
	return false;
}

void rs_sched_repace(struct rs_nic *nic, struct rs_qp *qp, struct rs_pace old, rs_time now)
{
	uint32_t bytes = (uint32_t)qp->middle_frame + nic->gap;

	qp->next_allowed += rs_framing_time(qp->cc.pace, bytes, nic->whole_ns) -
			    rs_framing_time(old, bytes, nic->whole_ns);
	wait_for_message(nic, qp);
	if (qp->place == RS_PLACE_PACED)
		rs_heap_set(&nic->paced, qp->index, qp->qpn, qp->next_allowed);
}

enum rs_nic_held rs_nic_held_by(const struct rs_nic *nic, rs_time now)
{
	const struct rs_qp *qp;

	if (rs_heap_top(&nic->paced) == RS_NEVER)
		return RS_HELD_NOT;
	qp = &nic->qps[nic->paced.entries[0].id];
	if (nic->message_due && !qp->send_k && nic->message_due[qp->index] > now &&
	    nic->message_due[qp->index] >= qp->next_allowed)
		return RS_HELD_QP_MESSAGES;
	return nic->c.qp_rate && qp->cc.rate >= rs_nic_qp_line(nic) ? RS_HELD_QP_RATE : RS_HELD_NOT;
}

static bool send_class(struct rs_nic *nic, unsigned c, struct rs_packet *p, rs_time now)
{
	if (nic->cnp_mask >> c & 1) {
		send_cnp(nic, p);
		return true;
	}
	if (nic->control_mask >> c & 1 && send_control(nic, c, p, now))
		return true;
	return send_data(nic, c, p, now);
}

RS_APART static void release_paced(struct rs_nic *nic, rs_time now)
{
	while (rs_heap_top(&nic->paced) <= now) {
		struct rs_qp *qp = &nic->qps[nic->paced.entries[0].id];

		rs_heap_remove(&nic->paced, qp->index);
		rs_sched_add(nic, qp);
	}
}

/* A frame's length is known when it is made: any credit will do, and all of it is charged. */
static int32_t any_bytes(const void *arg, unsigned c)
{
	return 1;
}

/* Ask one class among several: what it sends is charged, as others wait; who has nothing leaves the
 * mask. */
RS_APART static bool send_among(struct rs_nic *nic, unsigned *classes, struct rs_packet *p,
				rs_time now)
{
	unsigned c = rs_ets_pick(&nic->ets, &nic->turns, *classes, any_bytes, NULL);

	if (send_class(nic, c, p, now)) {
		rs_ets_charge(&nic->ets, &nic->turns, c, p->frame_bytes);
		return true;
	}
	rs_ets_missed(&nic->turns, c);
	*classes &= ~(1u << c);
	return false;
}

static inline bool send_any(struct rs_nic *nic, unsigned classes, struct rs_packet *p, rs_time now)
{
	while (__builtin_expect(classes & (classes - 1), 0))
		if (send_among(nic, &classes, p, now))
			return true;
	return send_class(nic, (unsigned)__builtin_ctz(classes), p, now);
}

struct rs_packet *rs_nic_tx(struct rs_nic *nic, uint8_t paused, rs_time now, rs_time *again)
{
	unsigned classes;
	struct rs_packet *p;

	*again = RS_NEVER;
	if (rs_heap_top(&nic->paced) <= now)
		release_paced(nic, now);
	classes =
		(unsigned)(nic->data_mask | nic->control_mask | nic->cnp_mask) & ~(unsigned)paused;
	if (classes) {
		p = rs_pool_alloc(nic->c.free);
		if (__builtin_expect(!p, 0)) {
			nic->counters.tx_no_packet++;
			*again = now + RS_US;
			return NULL;
		}
		if (send_any(nic, classes, p, now)) {
			nic->counters.tx_packets++;
			nic->counters.tx_bytes += p->frame_bytes;
			return p;
		}
		rs_pool_free(nic->c.free, p);
	}
	*again = rs_heap_top(&nic->paced);
	return NULL;
}
