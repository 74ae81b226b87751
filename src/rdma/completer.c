/*
 * The requester's receiving half: ACKs, NAKs, READ responses and atomic answers retire send
 * requests in order. IBTA §9.7.5.1, §9.7.6, §9.7.7.
 */
#include <string.h>
#include "rdma/state.h"
#include "wire/telemetry.h"

/*
 * n more PSNs are acknowledged. Stops at a READ or atomic, which only its response completes: false
 * then, and what came is an implied NAK of that response (§9.7.5.2.5).
 */
static inline bool acknowledge(struct rs_nic *nic, struct rs_qp *qp, uint32_t n)
{
	while (n) {
		const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_head);
		uint32_t left = w->packets - qp->una_k;

		if (w->response)
			return false;
		if (n < left) {
			qp->una_k += n;
			qp->una_psn = rs_psn_add(qp->una_psn, n);
			qp->acked =
				w->start + w->first_extra + (uint64_t)qp->una_k * qp->middle_count;
			return true;
		}
		n -= left;
		rs_qp_retire_as(nic, qp, RS_WC_SUCCESS, w->length);
	}
	return true;
}

static void update_credits(struct rs_qp *qp, const struct rs_packet *p)
{
	uint8_t code = rs_packet_syndrome(p) & RS_SYN_VALUE;

	if (code == RS_CREDIT_INVALID) {
		qp->flags &= ~(uint32_t)RS_QF_CREDITS;
		return;
	}
	qp->flags |= RS_QF_CREDITS;
	qp->lsn = rs_psn_add(rs_packet_msn(p), rs_credit_decode(code));
}

/* Stamps older than this may be a turn of their clock behind (2^24 ns, wire/telemetry.h). */
#define PATH_FORGOTTEN (8 * RS_MS)

/* A path's own place; of more paths than places, the one that came first gives its place. */
static uint32_t path_place(struct rs_cc_paths *t, uint32_t room, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < t->n; i++)
		if (t->path[i].id == id)
			return i;
	if (t->n < room) {
		t->n++;
	} else {
		i = t->next;
		t->next = i + 1 == room ? 0 : i + 1;
	}
	t->path[i] = (struct rs_cc_path){.id = id};
	return i;
}

/* Where what is told of a path is kept, apart from what was told of others. */
static void *path_state(struct rs_nic *nic, struct rs_qp *qp, uint32_t id, rs_time now)
{
	struct rs_cc_paths *t = rs_cc_paths_of(nic, qp);
	struct rs_cc_path *path = t->path;

	if (!nic->c.int_paths)
		return path->state;
	path += path_place(t, nic->c.int_paths, id);
	if (now - path->seen > PATH_FORGOTTEN)
		memset(path->state, 0, sizeof(path->state));
	path->seen = now;
	return path->state;
}

/* The stamps that the data gathered on its way, for an algorithm that reads them. */
static void telemetry(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
		      struct rs_cc_hop hop[RS_CC_HOPS], struct rs_cc_feedback *f)
{
	uint8_t n = 0;

	for (; n < RS_INT_HOPS && p->int_hop[n]; n++) {
		struct rs_int_stamp s;

		rs_int_unpack(p->int_hop[n], nic->c.int_scale, &s);
		hop[n] = (struct rs_cc_hop){.time = s.time,
					    .time_wrap = s.time_wrap,
					    .queue = s.queue,
					    .sent = s.sent,
					    .sent_wrap = rs_int_wrap(nic->c.int_scale),
					    .rate = s.rate};
	}
	if (!n)
		return;
	f->hops = hop;
	f->n_hops = n;
	f->path = p->int_path;
	if (rs_cc_of(nic, qp)->ops->path_bytes)
		f->path_state = path_state(nic, qp, p->int_path, f->now);
}

/* As it was before this ACK freed anything. */
static enum rs_cc_limited limited(const struct rs_qp *qp, uint64_t acked)
{
	if (qp->sq_send == qp->sq_tail)
		return RS_CC_BY_APPLICATION;
	return qp->sent - acked + qp->window_room > qp->cc.window ? RS_CC_BY_WINDOW
								  : RS_CC_NOT_LIMITED;
}

/* Congestion control hears of an ACK that brings what it needs. */
RS_APART static void feedback(struct rs_nic *nic, struct rs_qp *qp, uint64_t acked, rs_time rtt,
			      const struct rs_packet *p, rs_time now)
{
	const struct rs_cc_use *cc = rs_cc_of(nic, qp);
	struct rs_cc_hop hop[RS_CC_HOPS];
	struct rs_pace old = qp->cc.pace;
	struct rs_cc_feedback f = {.now = now,
				   .rtt = rtt,
				   .acked = qp->acked,
				   .sent = qp->sent,
				   .bytes = (uint32_t)(qp->acked - acked),
				   .entropy = qp->sport};

	if (p && nic->c.quirks.ack_echo && (p->bth_flags & RS_BTH_BECN) &&
	    (qp->cc_needs & RS_CC_NEEDS_MARKS))
		f.marked = f.bytes;
	if (p && (p->bth_flags & RS_PACKET_INT) && (qp->cc_needs & RS_CC_NEEDS_STAMPS))
		telemetry(nic, qp, p, hop, &f);
	if (qp->cc_needs & RS_CC_NEEDS_LIMITED)
		f.limited = limited(qp, acked);
	if (!f.n_hops && !f.marked && !(f.bytes && (qp->cc_needs & RS_CC_NEEDS_BYTES)))
		return;
	cc->ops->on_feedback(cc->params, &qp->cc, &f);
	if (f.n_hops && qp->cc.pace.q16 != old.q16)
		rs_sched_repace(nic, qp, old, now);
}

/* Something new was acknowledged: retry counts and timer start anew. p: the ACK; NULL: a response,
 * which tells congestion control of bytes alone. */
static inline void progress(struct rs_nic *nic, struct rs_qp *qp, uint64_t acked,
			    const struct rs_packet *p, rs_time now)
{
	uint32_t flags = qp->flags;
	rs_time rtt = -1;

	qp->retries = qp->rnr_tries = 0;
	qp->flags = flags & ~(uint32_t)(RS_QF_IMPLIED | RS_QF_PUT_OFF | RS_QF_PROBED);
	if (rs_psn_diff(qp->una_psn, qp->next_psn) > 0)
		rs_recover_rewind(qp);
	if (!(qp->flags & (RS_QF_RNR_WAIT | RS_QF_RECOVERY))) {
		/* at an earlier time, which will do; but for what comes after a probe */
		bool armed = qp->deadline != RS_NEVER && !(flags & RS_QF_PROBED);

		qp->deadline = RS_NEVER;
		if ((int64_t)(qp->requested - qp->acked) > 0 && qp->rto) {
			qp->deadline = now + qp->rto;
			if (!armed)
				rs_timer_arm(nic, qp, qp->deadline);
		}
	}
	if ((qp->flags & RS_QF_RTT) && rs_psn_diff(qp->una_psn, qp->rtt_psn) > 0) {
		qp->flags &= ~(uint32_t)RS_QF_RTT;
		rtt = now - qp->rtt_at;
		if (nic->c.probe)
			rs_probe_rtt(nic, qp, rtt, now);
	}
	if (__builtin_expect((qp->cc_needs & RS_CC_NEEDS_BYTES) ||
				     (p && (p->bth_flags & (RS_BTH_BECN | RS_PACKET_INT))),
			     0))
		feedback(nic, qp, acked, rtt, p, now);
}

/* A response skipped an unanswered READ or atomic: ask again, once until something moves. */
RS_COLD static void implied_nak(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	if ((qp->flags & RS_QF_IMPLIED) || qp->next_psn == qp->una_psn)
		return;
	RS_COUNT(nic, qp, implied_nak_seq_err);
	if (rs_recover_go_back(nic, qp, false, now))
		qp->flags |= RS_QF_IMPLIED;
}

RS_COLD static void fatal_nak(struct rs_nic *nic, struct rs_qp *qp, uint8_t syndrome)
{
	static const uint8_t status[] = {
		[RS_NAK_INVALID_REQUEST & RS_SYN_VALUE] = RS_WC_REM_INV_REQ_ERR,
		[RS_NAK_REMOTE_ACCESS & RS_SYN_VALUE] = RS_WC_REM_ACCESS_ERR,
		[RS_NAK_REMOTE_OPERATIONAL & RS_SYN_VALUE] = RS_WC_REM_OP_ERR,
	};

	if (syndrome == RS_NAK_INVALID_REQUEST)
		RS_COUNT(nic, qp, req_remote_invalid_request);
	if (syndrome == RS_NAK_REMOTE_ACCESS)
		RS_COUNT(nic, qp, req_remote_access_errors);
	rs_qp_fail(nic, qp, status[syndrome & RS_SYN_VALUE]);
}

/* Their answers come in any order: what comes before them says nothing of them. */
static bool reads_out(const struct rs_qp *qp)
{
	return (qp->flags & RS_QF_RECOVERY) && rs_recovery_of(qp)->reads_out(qp);
}

RS_COLD static void on_nak(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			   rs_time now)
{
	uint8_t syndrome = rs_packet_syndrome(p);

	if ((syndrome & RS_SYN_KIND) == RS_SYN_RNR) {
		RS_COUNT(nic, qp, rnr_nak_retry_err);
		rs_recover_rnr(nic, qp, syndrome & RS_SYN_VALUE, now);
		return;
	}
	if (syndrome == RS_NAK_PSN_SEQ) {
		RS_COUNT(nic, qp, packet_seq_err);
		if (reads_out(qp))
			rs_recovery_of(qp)->gap(nic, qp, p->psn & RS_PSN_MASK, now);
		else if (qp->next_psn != qp->una_psn)
			rs_recover_go_back(nic, qp, false, now);
		return;
	}
	fatal_nak(nic, qp, syndrome);
}

/* Table 45. */
static bool reserved(uint8_t syndrome)
{
	uint8_t kind = syndrome & RS_SYN_KIND;

	return kind != RS_SYN_RNR && (kind != RS_SYN_NAK || syndrome > RS_NAK_REMOTE_OPERATIONAL);
}

/* An ACK or a NAK behind READs or atomics whose answers have not all come. */
RS_COLD static void ahead_of_reads(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				   rs_time now)
{
	if (!reads_out(qp))
		implied_nak(nic, qp, now);
	else if (rs_packet_syndrome(p) == RS_NAK_PSN_SEQ) {
		RS_COUNT(nic, qp, packet_seq_err);
		rs_recovery_of(qp)->gap(nic, qp, p->psn & RS_PSN_MASK, now);
	}
}

static void on_ack(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, int32_t ahead,
		   rs_time now)
{
	uint8_t kind = rs_packet_syndrome(p) & RS_SYN_KIND;
	uint64_t acked = qp->acked;
	uint32_t una = qp->una_psn;
	bool whole;

	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0) && kind == RS_SYN_SACK)
		kind = RS_SYN_ACK;
	if (kind == RS_SYN_ACK) {
		if (ahead >= -1)
			update_credits(qp, p);
		ahead++;
	} else if (reserved(rs_packet_syndrome(p))) {
		nic->counters.rx_dropped++;
		return;
	}
	if (ahead < 0)
		return;
	whole = acknowledge(nic, qp, (uint32_t)ahead);
	if (__builtin_expect(qp->una_psn != una, 1))
		progress(nic, qp, acked, p, now);
	if (__builtin_expect(!whole, 0))
		ahead_of_reads(nic, qp, p, now);
	else if (__builtin_expect(kind != RS_SYN_ACK, 0))
		on_nak(nic, qp, p, now);
	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0))
		rs_recovery_of(qp)->acked(nic, qp, p, now);
	rs_sched_kick(nic, qp);
}

/* Does the response fit the READ that it should answer, as its k-th? The last may be short, no
 * other. */
bool rs_comp_fits(const struct rs_qp *qp, const struct rs_swqe *w, uint32_t k,
		  const struct rs_packet *p, uint32_t f)
{
	bool last = k + 1 == w->packets;

	if (rs_op_atomic(w->op))
		return (f & RS_F_ATOMIC_ACK) && p->payload_bytes == 0;
	if (w->op == RS_WR_ATOMIC_WRITE) /* by an empty READ response: annex A19 */
		return (f & RS_F_READ) && (f & RS_F_FIRST) && (f & RS_F_LAST) && !p->payload_bytes;
	if (!(f & RS_F_READ) || !!(f & RS_F_LAST) != last)
		return false;
	return p->payload_bytes == (last ? w->length - k * qp->mtu : qp->mtu);
}

bool rs_comp_store(struct rs_nic *nic, struct rs_qp *qp, uint32_t i, uint32_t k,
		   const struct rs_packet *p)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, i);
	const struct rs_sge *sge = rs_qp_send_sge(qp, i);
	uint64_t original = p->swap_add;

	if (w->op == RS_WR_ATOMIC_WRITE)
		return true;
	if (w->op == RS_WR_READ)
		return rs_mr_scatter(nic, qp->pd, sge, w->n_sge, k * qp->mtu, p->payload,
				     p->payload_bytes);
	return rs_mr_scatter(nic, qp->pd, sge, w->n_sge, 0, (const uint8_t *)&original, 8);
}

RS_APART static void on_response(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				 uint32_t f, int32_t ahead, rs_time now)
{
	uint64_t acked = qp->acked;
	uint32_t una = qp->una_psn;
	const struct rs_swqe *w;

	if (ahead < 0)
		return;
	if (reads_out(qp)) {
		rs_recovery_of(qp)->response(nic, qp, p, f, now);
		if (qp->una_psn != una && qp->state != RS_QPS_ERR)
			progress(nic, qp, acked, NULL, now);
		return;
	}
	if (!acknowledge(nic, qp, (uint32_t)ahead)) {
		if (qp->una_psn != una)
			progress(nic, qp, acked, NULL, now);
		implied_nak(nic, qp, now);
		rs_sched_kick(nic, qp);
		return;
	}
	w = rs_qp_swqe(qp, qp->sq_head);
	if (!w->response || !rs_comp_fits(qp, w, qp->una_k, p, f)) {
		nic->counters.rx_dropped++;
	} else if (!rs_comp_store(nic, qp, qp->sq_head, qp->una_k, p)) {
		rs_qp_fail(nic, qp, RS_WC_LOC_PROT_ERR);
		return;
	} else if (qp->una_k + 1 == w->packets) {
		rs_qp_retire(nic, qp, RS_WC_SUCCESS, w->length);
	} else {
		qp->una_k++;
		qp->una_psn = rs_psn_add(qp->una_psn, 1);
	}
	if (qp->una_psn != una)
		progress(nic, qp, acked, NULL, now);
	rs_sched_kick(nic, qp);
}

/* Where some queue pair's rnr_retry is 0. */
RS_COLD static void mind_credit(struct rs_nic *nic, struct rs_qp *qp, uint32_t f, rs_time now)
{
	qp->cold->heard |= !(f & (RS_F_READ | RS_F_ATOMIC_ACK));
	if (qp->cold->credit)
		rs_req_credit_came(qp);
	rs_req_await_credit(nic, qp, now);
	rs_sched_kick(nic, qp);
}

void rs_comp_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		rs_time now)
{
	int32_t ahead = rs_psn_diff(p->psn & RS_PSN_MASK, qp->una_psn);

	if (ahead >= (int32_t)((qp->max_psn - qp->una_psn) & RS_PSN_MASK)) {
		nic->counters.rx_dropped++;
		return;
	}
	if (f & (RS_F_READ | RS_F_ATOMIC_ACK)) {
		on_response(nic, qp, p, f, ahead, now);
		if (qp->flags & RS_QF_RECOVERY)
			rs_recovery_of(qp)->acked(nic, qp, p, now);
	} else {
		on_ack(nic, qp, p, ahead, now);
	}
	if (__builtin_expect(nic->no_rnr_retry, 0))
		mind_credit(nic, qp, f, now);
}

/* ---- Middles: middles.c ---- */

uint32_t rs_comp_coming(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			uint32_t max, uint8_t **to)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_head);
	uint32_t out = rs_qp_in_flight(qp), n;
	const uint8_t *place = NULL;

	/* of what is asked for again, una_psn may pass where the asking stands: one by one */
	if ((p->opcode & 0x1f) != RS_OP_READ_RESPONSE_MIDDLE || (qp->flags & RS_QF_RECOVERY) ||
	    nic->no_rnr_retry || p->psn != qp->una_psn || qp->next_psn != qp->max_psn || !out ||
	    w->op != RS_WR_READ || !rs_comp_fits(qp, w, qp->una_k, p, rs_opcodes[p->opcode].flags))
		return 0;
	n = w->packets - 1 - qp->una_k;
	n = n < out ? n : out;
	n = n < max ? n : max;
	if (!rs_mr_piece(nic, qp->pd, rs_qp_send_sge(qp, qp->sq_head), w->n_sge,
			 qp->una_k * qp->mtu, n * qp->mtu, &place) ||
	    !place)
		return 0;
	*to = (uint8_t *)(uintptr_t)place;
	return n;
}

void rs_comp_came(struct rs_nic *nic, struct rs_qp *qp, uint32_t n, rs_time now)
{
	qp->una_k += n;
	qp->una_psn = rs_psn_add(qp->una_psn, n);
	progress(nic, qp, qp->acked, NULL, now);
	rs_sched_kick(nic, qp);
}
