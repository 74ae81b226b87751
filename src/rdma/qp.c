/* Queue pairs: creation, the states of §10.3.1, posting, completion and flush. */
#include "rdma/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdma/state.h"

static uint32_t round_up(uint32_t n)
{
	uint32_t r = 1;

	while (r < n)
		r *= 2;
	return r;
}

const struct rs_qp_more rs_qp_plain = {.recovery = &rs_recovery_go_back_n};

static int alloc_sends(struct rs_qp *qp, const struct rs_qp_init *i)
{
	uint32_t sends = round_up(i->max_send_wr ? i->max_send_wr : 1);
	uint8_t max_sge = i->max_send_sge ? i->max_send_sge : 1;

	qp->sq = calloc(sends, sizeof(*qp->sq));
	qp->cold->send_sge = calloc((size_t)sends * max_sge, sizeof(*qp->cold->send_sge));
	if (!qp->sq || !qp->cold->send_sge)
		return -ENOMEM;
	qp->sq_mask = sends - 1;
	qp->cold->sq_size = sends;
	qp->cold->max_send_sge = max_sge;
	return 0;
}

/* Receives from an SRQ pass through one place of the QP's own. */
static int alloc_receives(struct rs_qp *qp, const struct rs_qp_init *i)
{
	bool shared = i->srq || i->xrc_target;
	uint32_t receives = shared ? 1 : round_up(i->max_recv_wr);

	qp->cold->max_recv_sge = i->srq          ? i->srq->max_sge
				 : i->xrc_target ? RS_SGE_MAX
						 : i->max_recv_sge;
	if (!shared && !i->max_recv_wr)
		return 0;
	qp->cold->rq = calloc(receives, sizeof(*qp->cold->rq));
	qp->cold->recv_sge =
		calloc((size_t)receives * qp->cold->max_recv_sge, sizeof(*qp->cold->recv_sge));
	if (!qp->cold->rq || !qp->cold->recv_sge)
		return -ENOMEM;
	qp->cold->rq_mask = receives - 1;
	qp->cold->rq_size = shared ? 0 : receives;
	return 0;
}

static int alloc_more(const struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_init *i)
{
	struct rs_qp_more *m;

	qp->cold->more = &rs_qp_plain;
	if (i->transport == RS_RC && !i->srq && !i->max_inline && !(qp->flags & RS_QF_RECOVERY))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	qp->cold->more = m;
	m->srq = i->srq;
	m->xrcd = i->xrcd;
	m->recovery = i->recovery ? i->recovery : &rs_recovery_go_back_n;
	if (m->recovery->bytes) {
		m->recovery_memory = calloc(1, m->recovery->bytes(&nic->c));
		if (!m->recovery_memory)
			return -ENOMEM;
		m->recovery->init(&nic->c, m->recovery_memory);
	}
	m->max_inline = i->max_inline;
	m->stride = (i->max_inline + 15) & ~15u;
	if (!m->stride)
		return 0;
	m->inlined = calloc(qp->cold->sq_size, m->stride);
	return m->inlined ? 0 : -ENOMEM;
}

static int alloc_queues(const struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_init *i)
{
	int err = alloc_sends(qp, i);

	if (!err)
		err = alloc_receives(qp, i);
	return err ? err : alloc_more(nic, qp, i);
}

static void free_queues(struct rs_qp *qp)
{
	free(qp->sq);
	free(qp->cold->send_sge);
	free(qp->cold->rq);
	free(qp->cold->recv_sge);
	free(qp->cold->resources);
	if (qp->cold->more && qp->cold->more != &rs_qp_plain) {
		free(qp->cold->more->inlined);
		free(qp->cold->more->recovery_memory);
		free(rs_qp_own_more(qp));
	}
	qp->sq = NULL;
	qp->cold->send_sge = NULL;
	qp->cold->rq = NULL;
	qp->cold->recv_sge = NULL;
	qp->cold->resources = NULL;
	qp->cold->more = &rs_qp_plain;
}

static bool queues_valid(const struct rs_qp_init *i)
{
	bool sends = !i->xrc_target, receives = i->transport != RS_XRC;

	if (sends && (!i->send_cq || !i->max_send_wr || !i->max_send_sge))
		return false;
	if (receives && (!i->recv_cq || (!i->srq && i->max_recv_wr && !i->max_recv_sge)))
		return false;
	if (!receives && (i->max_recv_wr || i->srq || i->recv_cq))
		return false;
	if (!sends && (i->send_cq || i->max_send_wr || i->max_inline))
		return false;
	return !i->srq || (!i->srq->xrc && !i->max_recv_wr);
}

static bool init_valid(const struct rs_nic *nic, const struct rs_qp_init *i)
{
	bool service = i->transport == RS_RC || i->transport == RS_UC || i->transport == RS_UD ||
		       i->transport == RS_XRC;

	if (i->recovery && i->recovery->bytes &&
	    (i->transport != RS_RC || !nic->c.selective.in_flight))
		return false;
	return service && queues_valid(i) && (!i->xrc_target || i->transport == RS_XRC) &&
	       i->max_send_wr <= RS_WR_MAX && i->max_recv_wr <= RS_WR_MAX &&
	       i->max_send_sge <= RS_SGE_MAX && i->max_recv_sge <= RS_SGE_MAX &&
	       i->max_inline <= RS_INLINE_MAX && i->pd < RS_PD_OF_QP;
}

static uint32_t flags_of(const struct rs_qp_init *i)
{
	uint32_t f = RS_QF_USED | (i->sq_sig_all ? RS_QF_SIG_ALL : 0);

	if (i->transport == RS_UC)
		f |= RS_QF_UC;
	if (i->transport == RS_UD)
		f |= RS_QF_UD;
	if (i->transport == RS_XRC)
		f |= i->xrc_target ? RS_QF_TARGET : RS_QF_XRC;
	if (i->max_recv_wr)
		f |= RS_QF_RECEIVES;
	if (i->recovery && i->recovery->bytes)
		f |= RS_QF_RECOVERY;
	return f | (i->srq || i->xrc_target ? RS_QF_SRQ : 0);
}

/* Table 65 (§10.7.2.2): what each service has; XRC as RC, but that annex A19 is RC's alone. */
enum {
	OPS_UD = 1 << RS_WR_SEND | 1 << RS_WR_SEND_IMM,
	OPS_LOCAL = 1 << RS_WR_LOCAL_INV | 1 << RS_WR_BIND_MW,
	OPS_UC = OPS_UD | 1 << RS_WR_WRITE | 1 << RS_WR_WRITE_IMM | OPS_LOCAL,
	OPS_RC = OPS_UC | 1 << RS_WR_READ | 1 << RS_WR_CMP_SWAP | 1 << RS_WR_FETCH_ADD |
		 1 << RS_WR_SEND_INV | 1 << RS_WR_ATOMIC_WRITE,
	OPS_XRC = OPS_RC & ~(1 << RS_WR_ATOMIC_WRITE),
	OPS_RESPONSE = 1 << RS_WR_READ | 1 << RS_WR_CMP_SWAP | 1 << RS_WR_FETCH_ADD |
		       1 << RS_WR_ATOMIC_WRITE,
	OPS_RECEIVE = OPS_UD | 1 << RS_WR_WRITE_IMM | 1 << RS_WR_SEND_INV,
};

static uint16_t ops_of(uint32_t flags)
{
	if (flags & RS_QF_TARGET)
		return 0;
	if (flags & RS_QF_UD)
		return OPS_UD;
	if (flags & RS_QF_XRC)
		return OPS_XRC;
	return flags & RS_QF_UC ? OPS_UC : OPS_RC;
}

static uint32_t take_index(struct rs_nic *nic)
{
	uint32_t i = nic->qp_free_head;

	/* given QPNs do not go with entries: the latest that was left is the warmest */
	if (nic->qps_fresh < nic->c.max_qps && !(nic->entry_of && i != RS_NO_QP))
		return nic->qps_fresh++;
	if (i == RS_NO_QP)
		return i;
	nic->qp_free_head = nic->qps[i].link[0].next;
	if (nic->qp_free_head == RS_NO_QP)
		nic->qp_free_tail = RS_NO_QP;
	return i;
}

static void give_index(struct rs_nic *nic, uint32_t i)
{
	if (nic->entry_of) {
		nic->qps[i].link[0].next = nic->qp_free_head;
		nic->qp_free_head = i;
		return;
	}
	nic->qps[i].link[0].next = RS_NO_QP;
	if (nic->qp_free_tail == RS_NO_QP)
		nic->qp_free_head = i;
	else
		nic->qps[nic->qp_free_tail].link[0].next = i;
	nic->qp_free_tail = i;
}

/* qpn: RS_NO_QP where the NIC gives it. */
static int create_qp(struct rs_nic *nic, const struct rs_qp_init *i, uint32_t qpn,
		     struct rs_qp **out)
{
	struct rs_qp *qp;
	uint32_t index;
	int err;

	if (!init_valid(nic, i) || i->cc > nic->c.n_cc ||
	    (nic->entry_of != NULL) != (qpn != RS_NO_QP))
		return -EINVAL;
	index = take_index(nic);
	if (index == RS_NO_QP)
		return -ENOMEM;
	qp = &nic->qps[index];
	memset(qp, 0, sizeof(*qp));
	qp->index = index;
	qp->cold = &nic->qps_cold[index];
	memset(qp->cold, 0, sizeof(*qp->cold));
	qp->flags = flags_of(i);
	err = alloc_queues(nic, qp, i);
	if (err) {
		free_queues(qp);
		qp->flags = 0;
		give_index(nic, index);
		return err;
	}
	qp->qpn = nic->entry_of ? qpn : nic->c.first_qpn + index;
	if (nic->entry_of)
		nic->entry_of[qpn - nic->c.first_qpn] = index + 1;
	qp->transport = i->transport;
	qp->cold->ops = ops_of(qp->flags);
	qp->pd = i->pd;
	qp->cold->cc_given = i->cc;
	qp->cold->send_cq = i->send_cq;
	qp->cold->recv_cq = i->recv_cq;
	if (qp->cold->send_cq)
		qp->cold->send_cq->refs++;
	if (qp->cold->recv_cq)
		qp->cold->recv_cq->refs++;
	if (i->srq)
		i->srq->refs++;
	if (nic->qp_counters)
		memset(&nic->qp_counters[index], 0, sizeof(*nic->qp_counters));
	if (nic->message_due)
		nic->message_due[index] = 0;
	qp->deadline = qp->ack_deadline = RS_NEVER;
	qp->message = RS_NO_MESSAGE;
	nic->qps_live++;
	*out = qp;
	return 0;
}

int rs_nic_create_qp(struct rs_nic *nic, const struct rs_qp_init *i, struct rs_qp **out)
{
	return create_qp(nic, i, RS_NO_QP, out);
}

int rs_nic_create_qp_at(struct rs_nic *nic, const struct rs_qp_init *i, uint32_t qpn,
			struct rs_qp **out)
{
	if (qpn - nic->c.first_qpn >= nic->n_qpns || rs_nic_find_qp(nic, qpn))
		return -EINVAL;
	return create_qp(nic, i, qpn, out);
}

int rs_nic_more_qpns(struct rs_nic *nic, uint32_t n)
{
	uint32_t *more;

	rs_assert(nic->entry_of);
	if (n <= nic->n_qpns)
		return 0;
	if (n > RS_QPN_MASK + 1u - nic->c.first_qpn)
		return -ENOSPC;
	more = realloc(nic->entry_of, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + nic->n_qpns, 0, (n - nic->n_qpns) * sizeof(*more));
	nic->entry_of = more;
	nic->n_qpns = n;
	return 0;
}

bool rs_qp_rests(const struct rs_nic *nic, const struct rs_qp *qp, uint32_t psn)
{
	const uint32_t owed = RS_QF_ACK_OWED | RS_QF_ECHO | RS_QF_ON_CONTROL | RS_QF_ON_CNP |
			      RS_QF_GAP | RS_QF_READ_PENDING | RS_QF_RECEIVING;

	return qp->state == RS_QPS_RTS && qp->epsn == psn && qp->message == RS_NO_MESSAGE &&
	       !qp->nak && !(qp->flags & owed) && !qp->unacked && qp->sq_head == qp->sq_tail &&
	       qp->place == RS_PLACE_NONE && !rs_heap_has(&nic->timers, qp->index);
}

bool rs_qp_has_all(const struct rs_qp *qp, uint32_t psn, uint32_t msn)
{
	return qp->epsn == psn && qp->msn == (msn & RS_PSN_MASK);
}

void rs_qp_resume(struct rs_qp *qp, uint32_t psn, uint32_t msn, rs_time last_cnp)
{
	rs_assert(qp->state == RS_QPS_RTS && qp->message == RS_NO_MESSAGE && !qp->unacked);
	qp->epsn = psn & RS_PSN_MASK;
	qp->msn = msn & RS_PSN_MASK;
	qp->cold->last_cnp = last_cnp;
}

void rs_qp_resume_answer(struct rs_qp *qp, uint32_t rkey, uint32_t psn, uint32_t length,
			 bool atomic)
{
	uint32_t packets = atomic ? 1 : rs_qp_packets(qp, length);

	rs_assert(qp->resource_count < qp->resource_limit && !qp->cold->resource_head);
	qp->cold->resources[qp->resource_count++] = (struct rs_resource){
		.rkey = rkey,
		.pd = qp->pd,
		.psn = psn & RS_PSN_MASK,
		.length = atomic ? 0 : length,
		.packets = packets,
		.sent = packets,
		.atomic = atomic,
		.answered = true,
	};
	qp->resource_next = qp->resource_count;
}

rs_time rs_qp_last_cnp(const struct rs_qp *qp)
{
	return qp->cold->last_cnp;
}

void rs_nic_destroy_qp(struct rs_nic *nic, struct rs_qp *qp)
{
	rs_assert(rs_nic_has_qp(nic, qp) && nic->qps_live);
	rs_sched_forget(nic, qp);
	rs_heap_remove(&nic->timers, qp->index);
	rs_event_forget(nic, qp);
	rs_mw_forget_qp(nic, qp);
	rs_ud_forget(nic, qp);
	if (qp->cold->send_cq)
		qp->cold->send_cq->refs--;
	if (qp->cold->recv_cq && !(qp->flags & RS_QF_TARGET))
		qp->cold->recv_cq->refs--;
	if (qp->cold->more->srq && !(qp->flags & RS_QF_TARGET))
		qp->cold->more->srq->refs--;
	free_queues(qp);
	qp->flags = 0;
	qp->state = RS_QPS_RESET;
	if (nic->entry_of)
		nic->entry_of[qp->qpn - nic->c.first_qpn] = 0;
	nic->qps_live--;
	give_index(nic, qp->index);
}

/* ---- States ---- */

/* Figure 124: bit t of [f] says that f -> t may be asked for. Any -> RESET or ERR is always. */
static const uint8_t transitions[] = {
	[RS_QPS_RESET] = 1 << RS_QPS_INIT,
	[RS_QPS_INIT] = 1 << RS_QPS_INIT | 1 << RS_QPS_RTR,
	[RS_QPS_RTR] = 1 << RS_QPS_RTS,
	[RS_QPS_RTS] = 1 << RS_QPS_RTS | 1 << RS_QPS_SQD,
	[RS_QPS_SQD] = 1 << RS_QPS_SQD | 1 << RS_QPS_RTS,
	[RS_QPS_SQE] = 1 << RS_QPS_RTS,
	[RS_QPS_ERR] = 0,
};

/* What each transition sets when the caller does not say. */
enum {
	MASK_INIT = RS_QP_ACCESS | RS_QP_PKEY | RS_QP_QKEY,
	MASK_RTR = RS_QP_AV | RS_QP_PATH_MTU | RS_QP_DEST_QPN | RS_QP_RQ_PSN | RS_QP_MIN_RNR_TIMER |
		   RS_QP_MAX_DEST_RD_ATOMIC,
	MASK_RTS = RS_QP_SQ_PSN | RS_QP_TIMEOUT | RS_QP_RETRY_CNT | RS_QP_RNR_RETRY |
		   RS_QP_MAX_RD_ATOMIC,
};

static bool mtu_valid(const struct rs_nic *nic, uint32_t mtu)
{
	return mtu >= (nic->c.quirks.any_payload ? 64 : 256) && mtu <= RS_MAX_PAYLOAD &&
	       (nic->c.quirks.any_payload || !(mtu & (mtu - 1)));
}

static bool values_valid(const struct rs_nic *nic, const struct rs_qp *qp,
			 const struct rs_qp_attr *a, uint32_t mask)
{
	if (qp->flags & RS_QF_UD)
		mask &= ~(uint32_t)(RS_QP_AV | RS_QP_DEST_QPN);
	return (!(mask & RS_QP_ACCESS) || a->access <= 15) &&
	       (!(mask & RS_QP_PKEY) || a->pkey > RS_PKEY_FULL) &&
	       (!(mask & RS_QP_PATH_MTU) || mtu_valid(nic, a->path_mtu)) &&
	       (!(mask & RS_QP_DEST_QPN) || a->dest_qpn <= RS_QPN_MASK) &&
	       (!(mask & RS_QP_RQ_PSN) || a->rq_psn <= RS_PSN_MASK) &&
	       (!(mask & RS_QP_AV) || a->tc < RS_CLASSES) &&
	       (!(mask & RS_QP_MIN_RNR_TIMER) || a->min_rnr_timer <= 31) &&
	       (!(mask & RS_QP_MAX_DEST_RD_ATOMIC) || a->max_dest_rd_atomic <= RS_RD_ATOMIC_MAX) &&
	       (!(mask & RS_QP_SQ_PSN) || a->sq_psn <= RS_PSN_MASK) &&
	       (!(mask & RS_QP_TIMEOUT) || a->timeout <= 31) &&
	       (!(mask & RS_QP_RETRY_CNT) || a->retry_cnt <= 7) &&
	       (!(mask & RS_QP_RNR_RETRY) || a->rnr_retry <= 7) &&
	       (!(mask & RS_QP_MAX_RD_ATOMIC) || a->max_rd_atomic <= RS_RD_ATOMIC_MAX);
}

/* Another number of READs and atomics to remember; the newest ones stay. */
static int set_resources(struct rs_qp *qp, uint8_t n)
{
	uint8_t kept = qp->resource_count < n ? qp->resource_count : n;
	struct rs_resource *r = n ? calloc(n, sizeof(*r)) : NULL;

	if (n && !r)
		return -ENOMEM;
	for (unsigned i = 0; i < kept; i++)
		r[i] = qp->cold->resources[(qp->cold->resource_head + qp->resource_count - kept +
					    i) %
					   qp->resource_limit];
	free(qp->cold->resources);
	qp->cold->resources = r;
	qp->resource_limit = n;
	qp->resource_count = kept;
	qp->cold->resource_head = qp->resource_next = 0;
	return 0;
}

/* A QP takes its place among those of its class anew when the class changes. */
static void set_path(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a)
{
	rs_sched_forget(nic, qp);
	qp->dest_endpoint = a->dest_endpoint;
	qp->sport = a->sport;
	qp->tos = a->tos;
	qp->tc = a->tc;
	qp->ack_apart = nic->c.ack_apart && !qp->resource_count;
	if (qp->state >= RS_QPS_RTR && qp->state != RS_QPS_ERR)
		rs_resp_kick(nic, qp);
}

static void set_mtu(struct rs_nic *nic, struct rs_qp *qp, uint16_t mtu)
{
	qp->mtu = mtu;
	qp->middle_frame = rs_nic_frame(nic, qp, RS_OP_WRITE_MIDDLE | qp->transport, mtu);
	qp->middle_count = qp->middle_frame;
	if (nic->c.quirks.window_payload)
		qp->middle_count -= (uint16_t)(nic->uncounted + rs_qp_beside_bytes(qp));
	qp->window_room = nic->c.quirks.window_payload ? 1 : qp->middle_count;
}

static void set_requester(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a,
			  uint32_t mask)
{
	if (mask & RS_QP_SQ_PSN)
		qp->next_psn = qp->una_psn = qp->max_psn = qp->cold->post_psn = a->sq_psn;
	if (mask & RS_QP_TIMEOUT) {
		bool reliable = !(qp->flags & (RS_QF_UC | RS_QF_UD));

		qp->cold->timeout = a->timeout;
		rs_probe_set(nic, qp, reliable ? rs_rto(a->timeout, nic->c.min_rto) : 0);
	}
	if (mask & RS_QP_RETRY_CNT)
		qp->cold->retry_cnt = a->retry_cnt;
	if (mask & RS_QP_RNR_RETRY) {
		qp->cold->rnr_retry = a->rnr_retry;
		nic->no_rnr_retry |= !a->rnr_retry;
	}
	if (mask & RS_QP_MAX_RD_ATOMIC)
		qp->cold->max_rd_atomic = a->max_rd_atomic;
}

static void set_attributes(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a,
			   uint32_t mask)
{
	if (mask & RS_QP_ACCESS)
		qp->access = (uint8_t)a->access;
	if (mask & RS_QP_PKEY)
		qp->pkey = a->pkey;
	if ((mask & RS_QP_QKEY) && (qp->flags & RS_QF_UD))
		rs_qp_own_more(qp)->qkey = a->qkey;
	if (mask & RS_QP_PATH_MTU)
		set_mtu(nic, qp, a->path_mtu);
	if ((mask & RS_QP_AV) && !(qp->flags & RS_QF_UD))
		set_path(nic, qp, a);
	if ((mask & RS_QP_DEST_QPN) && !(qp->flags & RS_QF_UD))
		qp->dest_qpn = a->dest_qpn;
	if (mask & RS_QP_RQ_PSN)
		qp->epsn = a->rq_psn;
	if (mask & RS_QP_MIN_RNR_TIMER)
		qp->rnr_timer = a->min_rnr_timer;
	set_requester(nic, qp, a, mask);
}

/* Before its packets' lengths are known, which telemetry adds to: XRCETH has its place, and
 * datagrams are not acknowledged. */
static void choose_cc(const struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a,
		      uint32_t mask)
{
	unsigned class = mask & RS_QP_AV ? a->tc : qp->tc;

	qp->cc_use = qp->cold->cc_given ? qp->cold->cc_given - 1 : nic->c.cc_of_class[class];
	qp->cc_needs = nic->cc[qp->cc_use].ops->needs;
	if (qp->flags & RS_QF_UD)
		qp->cc_needs = 0;
	else if (qp->transport == RS_XRC)
		qp->cc_needs &= (uint8_t) ~(RS_CC_NEEDS_STAMPS | RS_CC_NEEDS_CREDITS);
}

/* A datagram's packets are as long as the port allows: the caller's path MTU, or the largest. */
static void begin(struct rs_nic *nic, struct rs_qp *qp, uint32_t mask, rs_time now)
{
	const struct rs_cc_use *use = rs_cc_of(nic, qp);
	int64_t line = rs_nic_qp_line(nic);

	/* what the link carries in a time: no window comes of a link that is not known */
	if (nic->c.rtt_rate && (qp->cc_needs & (RS_CC_NEEDS_BYTES | RS_CC_NEEDS_STAMPS)))
		line = nic->c.rtt_rate;
	if (qp->flags & RS_QF_UD) {
		qp->dest_endpoint = UINT32_MAX;
		if (!(mask & RS_QP_PATH_MTU))
			set_mtu(nic, qp, RS_MAX_PAYLOAD);
	}
	qp->cold->last_cnp = RS_NEVER;
	qp->flags |= RS_QF_ESTABLISH;
	if (qp->flags & RS_QF_UD)
		rs_cc_none.init(NULL, &qp->cc, line, now);
	else
		use->ops->init(use->params, &qp->cc, line, now);
	if (nic->credits)
		rs_credit_begin(nic, qp);
	if (nic->cc_paths)
		memset(rs_cc_paths_of(nic, qp), 0, rs_cc_paths_bytes(&nic->c));
}

static void to_reset(struct rs_nic *nic, struct rs_qp *qp)
{
	struct rs_qp old = *qp;
	struct rs_qp_cold *cold = qp->cold;

	rs_sched_forget(nic, qp);
	rs_heap_remove(&nic->timers, qp->index);
	rs_mw_forget_qp(nic, qp);
	free(cold->resources);
	memset(qp, 0, sizeof(*qp));
	qp->index = old.index;
	qp->qpn = old.qpn;
	qp->flags = old.flags & RS_QF_LIFE;
	qp->transport = old.transport;
	qp->pd = old.pd;
	qp->sq = old.sq;
	qp->sq_mask = old.sq_mask;
	qp->cold = cold;
	*cold = (struct rs_qp_cold){
		.ops = cold->ops,
		.max_send_sge = cold->max_send_sge,
		.max_recv_sge = cold->max_recv_sge,
		.send_cq = cold->send_cq,
		.recv_cq = cold->recv_cq,
		.sq_size = cold->sq_size,
		.send_sge = cold->send_sge,
		.rq = cold->rq,
		.rq_mask = cold->rq_mask,
		.rq_size = cold->rq_size,
		.recv_sge = cold->recv_sge,
		.user = cold->user,
		.more = cold->more,
		.cc_given = cold->cc_given,
	};
	qp->deadline = qp->ack_deadline = RS_NEVER;
	qp->message = RS_NO_MESSAGE;
	if (qp->flags & RS_QF_RECOVERY)
		rs_recovery_of(qp)->forget(qp);
}

int rs_qp_modify_mask(struct rs_nic *nic, struct rs_qp *qp, enum rs_qp_state to,
		      const struct rs_qp_attr *a, uint32_t mask, rs_time now)
{
	enum rs_qp_state from = qp->state;

	rs_assert(rs_nic_has_qp(nic, qp));
	if (to == RS_QPS_ERR) {
		rs_qp_fail(nic, qp, RS_WC_SUCCESS);
		return 0;
	}
	if (to == RS_QPS_RESET) {
		to_reset(nic, qp);
		return 0;
	}
	if (to > RS_QPS_ERR || !(transitions[from] >> to & 1))
		return -EINVAL;
	if (mask && (!a || !values_valid(nic, qp, a, mask)))
		return -EINVAL;
	if (to == RS_QPS_RTR && !(qp->flags & RS_QF_UD) && !(mask & RS_QP_PATH_MTU))
		return -EINVAL;
	if ((mask & RS_QP_MAX_DEST_RD_ATOMIC) && set_resources(qp, a->max_dest_rd_atomic))
		return -ENOMEM;
	if (to == RS_QPS_RTR)
		choose_cc(nic, qp, a, mask);
	set_attributes(nic, qp, a, mask);
	if (to == RS_QPS_RTR)
		begin(nic, qp, mask, now);
	qp->state = (uint8_t)to;
	qp->flags &= ~(uint32_t)RS_QF_DRAIN;
	if (to == RS_QPS_SQD && from == RS_QPS_RTS && (mask & RS_QP_EN_SQD_NOTIFY) &&
	    a->sqd_notify) {
		qp->flags |= RS_QF_DRAIN;
		rs_qp_report_drained(nic, qp);
	}
	rs_sched_kick(nic, qp);
	return 0;
}

int rs_qp_modify(struct rs_nic *nic, struct rs_qp *qp, enum rs_qp_state to,
		 const struct rs_qp_attr *a, rs_time now)
{
	uint32_t mask = 0;

	if (to == RS_QPS_INIT)
		mask = MASK_INIT;
	else if (to == RS_QPS_RTR)
		mask = MASK_RTR;
	else if (to == RS_QPS_RTS && qp->state == RS_QPS_RTR)
		mask = MASK_RTS;
	return rs_qp_modify_mask(nic, qp, to, a, mask, now);
}

int rs_qp_connect(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a, rs_time now)
{
	static const enum rs_qp_state way[] = {RS_QPS_INIT, RS_QPS_RTR, RS_QPS_RTS};

	if (qp->state != RS_QPS_RESET || !values_valid(nic, qp, a, MASK_INIT | MASK_RTR | MASK_RTS))
		return -EINVAL;
	for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		int err = rs_qp_modify(nic, qp, way[i], a, now);

		if (err) {
			to_reset(nic, qp);
			return err;
		}
	}
	return 0;
}

void rs_qp_query(const struct rs_qp *qp, struct rs_qp_attr *a)
{
	*a = (struct rs_qp_attr){
		.dest_endpoint = qp->dest_endpoint,
		.dest_qpn = qp->dest_qpn,
		.sq_psn = qp->next_psn,
		.rq_psn = qp->epsn,
		.path_mtu = qp->mtu,
		.sport = qp->sport,
		.pkey = qp->pkey,
		.tos = qp->tos,
		.tc = qp->tc,
		.timeout = qp->cold->timeout,
		.retry_cnt = qp->cold->retry_cnt,
		.rnr_retry = qp->cold->rnr_retry,
		.min_rnr_timer = qp->rnr_timer,
		.max_rd_atomic = qp->cold->max_rd_atomic,
		.max_dest_rd_atomic = qp->resource_limit,
		.access = qp->access,
		.qkey = qp->cold->more->qkey,
	};
}

/* ---- Completion ---- */

/* What the queue began is done: §10.3.1.4. */
RS_COLD void rs_qp_report_drained(struct rs_nic *nic, struct rs_qp *qp)
{
	if (qp->una_psn != qp->max_psn || qp->una_k)
		return;
	qp->flags &= ~(uint32_t)RS_QF_DRAIN;
	if (qp->state == RS_QPS_SQD)
		rs_event_add(nic, RS_EVENT_SQ_DRAINED, qp);
}

RS_COLD static void count_error(struct rs_nic *nic, const struct rs_qp *qp,
				enum rs_wc_status status)
{
	RS_COUNT(nic, qp, req_cqe_error);
	nic->counters.req_cqe_flush_error += status == RS_WC_WR_FLUSH_ERR;
}

RS_APART void rs_qp_retire(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status,
			   uint32_t bytes)
{
	if (status != RS_WC_SUCCESS)
		count_error(nic, qp, status);
	rs_qp_retire_as(nic, qp, status, bytes);
}

void rs_qp_complete_receive(struct rs_nic *nic, struct rs_qp *qp, struct rs_cqe *e)
{
	e->wr_id = qp->cold->rq[qp->cold->rq_head & qp->cold->rq_mask].wr_id;
	e->qpn = qp->qpn;
	qp->cold->rq_head++;
	if (qp->flags & RS_QF_RECEIVING && e->status != RS_WC_SUCCESS)
		qp->flags &= ~(uint32_t)RS_QF_RECEIVING;
	rs_cq_push(qp->cold->recv_cq, e);
}

static void flush_sends(struct rs_nic *nic, struct rs_qp *qp)
{
	while (qp->sq_head != qp->sq_tail)
		rs_qp_retire(nic, qp, RS_WC_WR_FLUSH_ERR, 0);
	qp->sq_send = qp->sq_tail;
	qp->send_k = 0;
	qp->outstanding = 0;
	qp->next_psn = qp->max_psn = qp->una_psn;
	qp->sent = qp->acked;
}

static void flush_receives(struct rs_nic *nic, struct rs_qp *qp)
{
	struct rs_cqe e = {.status = RS_WC_WR_FLUSH_ERR, .op = RS_WR_RECV};

	while (qp->cold->rq_head != qp->cold->rq_tail)
		rs_qp_complete_receive(nic, qp, &e);
}

void rs_qp_fail(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status)
{
	if (qp->state == RS_QPS_ERR)
		return;
	qp->state = RS_QPS_ERR;
	rs_sched_forget(nic, qp);
	qp->deadline = qp->ack_deadline = RS_NEVER;
	qp->flags &= RS_QF_LIFE;
	qp->nak = 0;
	qp->resource_count = qp->resource_next = 0;
	qp->message = RS_NO_MESSAGE;
	if (status != RS_WC_SUCCESS && qp->sq_head != qp->sq_tail)
		rs_qp_retire(nic, qp, status, 0);
	flush_sends(nic, qp);
	flush_receives(nic, qp);
	if (qp->flags & RS_QF_RECOVERY)
		rs_recovery_of(qp)->forget(qp);
	if (qp->flags & RS_QF_SRQ)
		rs_event_add(nic, RS_EVENT_LAST_WQE, qp);
}

void rs_qp_fail_send(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status)
{
	if (!(qp->flags & (RS_QF_UC | RS_QF_UD))) {
		rs_qp_fail(nic, qp, status);
		return;
	}
	rs_sched_forget(nic, qp);
	qp->state = RS_QPS_SQE;
	rs_qp_retire(nic, qp, status, 0);
	flush_sends(nic, qp);
}

/* ---- Posting ---- */

static const uint8_t middles[] = {
	[RS_WR_SEND] = RS_OP_SEND_MIDDLE,
	[RS_WR_SEND_IMM] = RS_OP_SEND_MIDDLE,
	[RS_WR_WRITE] = RS_OP_WRITE_MIDDLE,
	[RS_WR_WRITE_IMM] = RS_OP_WRITE_MIDDLE,
	[RS_WR_READ] = RS_OP_READ_REQUEST,
	[RS_WR_CMP_SWAP] = RS_OP_CMP_SWAP,
	[RS_WR_FETCH_ADD] = RS_OP_FETCH_ADD,
	[RS_WR_SEND_INV] = RS_OP_SEND_MIDDLE,
	[RS_WR_LOCAL_INV] = 0,
	[RS_WR_BIND_MW] = 0,
	[RS_WR_ATOMIC_WRITE] = RS_OP_ATOMIC_WRITE,
};

/* Sum of the list; -1: too long for a message. */
static int64_t sge_bytes(const struct rs_sge *sge, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += sge[i].length;
	return sum > UINT64_C(1) << RS_MESSAGE_MAX_LOG2 ? -1 : (int64_t)sum;
}

/* What is not a plain SEND or WRITE from registered memory. */
RS_APART static bool other_valid(const struct rs_qp *qp, const struct rs_send_wr *wr,
				 uint32_t bytes)
{
	bool response = OPS_RESPONSE >> wr->op & 1;

	if (OPS_LOCAL >> wr->op & 1)
		return !wr->n_sge && !(wr->flags & RS_WR_INLINE);
	if ((wr->flags & RS_WR_INLINE) &&
	    ((response && wr->op != RS_WR_ATOMIC_WRITE) || bytes > qp->cold->more->max_inline))
		return false;
	if ((qp->flags & RS_QF_UD) && (bytes > qp->mtu || wr->ah.tc >= RS_CLASSES))
		return false;
	if ((rs_op_atomic(wr->op) || wr->op == RS_WR_ATOMIC_WRITE) &&
	    (bytes != 8 || (wr->remote_va & 7)))
		return false;
	if (response && !qp->cold->max_rd_atomic)
		return false;
	return wr->op != RS_WR_READ || rs_qp_packets(qp, bytes) <= RS_PSN_WINDOW;
}

static bool send_valid(const struct rs_qp *qp, const struct rs_send_wr *wr, int64_t bytes)
{
	if (wr->op > RS_WR_ATOMIC_WRITE || !(qp->cold->ops >> wr->op & 1) ||
	    wr->n_sge > qp->cold->max_send_sge || bytes < 0)
		return false;
	if (((OPS_LOCAL | OPS_RESPONSE) >> wr->op & 1) || (wr->flags & RS_WR_INLINE) ||
	    (qp->flags & RS_QF_UD))
		return other_valid(qp, wr, (uint32_t)bytes);
	return true;
}

/* Frame bytes of the whole message, as its packets will have them. */
static uint64_t message_frames(const struct rs_nic *nic, const struct rs_qp *qp,
			       const struct rs_swqe *w)
{
	bool write = w->middle == RS_OP_WRITE_MIDDLE;
	/* ImmDt and IETH are of one length. */
	bool imm = w->op == RS_WR_SEND_IMM || w->op == RS_WR_WRITE_IMM || w->op == RS_WR_SEND_INV;
	uint8_t last = write ? (imm ? RS_OP_WRITE_LAST_IMM : RS_OP_WRITE_LAST)
			     : (imm ? RS_OP_SEND_LAST_IMM : RS_OP_SEND_LAST);
	uint8_t only = write ? (imm ? RS_OP_WRITE_ONLY_IMM : RS_OP_WRITE_ONLY)
			     : (imm ? RS_OP_SEND_ONLY_IMM : RS_OP_SEND_ONLY);

	if (w->response)
		return rs_nic_frame(nic, qp, w->middle | qp->transport,
				    rs_swqe_carries(w) ? w->length : 0);
	if (w->packets == 1)
		return rs_nic_frame(nic, qp, only | qp->transport, w->length);
	return (uint64_t)w->first_extra + (uint64_t)(w->packets - 1) * qp->middle_frame +
	       rs_nic_frame(nic, qp, last | qp->transport, w->length - (w->packets - 1) * qp->mtu);
}

static void fill_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_swqe *w,
		      const struct rs_send_wr *wr, uint32_t bytes)
{
	*w = (struct rs_swqe){
		.start = qp->cold->posted,
		.wr_id = wr->wr_id,
		.remote_va = wr->remote_va,
		.length = bytes,
		.first_psn = qp->cold->post_psn,
		.rkey = wr->rkey,
		.imm = wr->imm,
		.ssn = rs_psn_add(qp->cold->post_ssn, 1),
		.op = wr->op,
		.flags = wr->flags,
		.n_sge = wr->n_sge,
		.middle = middles[wr->op],
		.response = OPS_RESPONSE >> wr->op & 1,
		.wants_receive = OPS_RECEIVE >> wr->op & 1,
		.swap_add = wr->swap_add,
		.compare = wr->compare,
	};
	w->packets = rs_op_atomic(wr->op) ? 1 : rs_qp_packets(qp, bytes);
	/* each packet says its place where recovery is selective: rs_nic_frame() */
	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0))
		rs_recovery_of(qp)->posted(qp, w);
	else if (w->middle == RS_OP_WRITE_MIDDLE)
		w->first_extra = nic->framing->data ? 0 : RS_RETH_BYTES;
	w->end = w->start + message_frames(nic, qp, w) -
		 (uint64_t)(w->response ? 1 : w->packets) * rs_qp_uncounted(qp);
	qp->cold->posted = w->end;
	qp->cold->post_ssn = w->ssn;
	qp->cold->post_psn = rs_psn_add(qp->cold->post_psn, w->packets);
}

/* BIND_MW and LOCAL_INV take no PSN and no place among the messages. */
static void fill_local(struct rs_qp *qp, struct rs_swqe *w, const struct rs_send_wr *wr)
{
	*w = (struct rs_swqe){
		.start = qp->cold->posted,
		.end = qp->cold->posted,
		.wr_id = wr->wr_id,
		.first_psn = qp->cold->post_psn,
		.ssn = qp->cold->post_ssn,
		.op = wr->op,
		.flags = wr->flags | RS_WR_FENCE, /* where may_start() looks */
		.imm = wr->imm,
		.rkey = wr->rkey,
		.remote_va = wr->bind.va,
		.swap_add = wr->bind.length,
		.compare = (uint64_t)wr->bind.mr_key << 32 | wr->bind.access,
	};
	qp->flags |= RS_QF_LOCAL;
}

/* What XRC and UD have beside a message: rs_swqe_srqn() and datagram.c read it. */
static void fill_other(const struct rs_qp *qp, struct rs_swqe *w, const struct rs_send_wr *wr)
{
	if (qp->flags & RS_QF_UD) {
		w->remote_va = (uint64_t)wr->ah.endpoint << 32 | wr->dest_qpn;
		w->rkey = wr->qkey >> 31 ? qp->cold->more->qkey : wr->qkey;
		w->swap_add = (uint64_t)wr->ah.sport << 16 | (uint64_t)wr->ah.tos << 8 | wr->ah.tc;
	} else if (rs_op_atomic(w->op)) {
		w->imm = wr->srqn;
	} else {
		w->swap_add = wr->srqn;
	}
}

/* One SGE that no key covers; rs_req_payload() finds the bytes. */
static void copy_inline(struct rs_qp *qp, const struct rs_send_wr *wr, struct rs_swqe *w)
{
	uint32_t at = qp->sq_tail & qp->sq_mask;
	uint8_t *to = qp->cold->more->inlined + (size_t)at * qp->cold->more->stride;

	for (unsigned i = 0; i < wr->n_sge; i++) {
		if (wr->sge[i].length)
			memcpy(to, (const void *)(uintptr_t)wr->sge[i].va, wr->sge[i].length);
		to += wr->sge[i].length;
	}
	qp->cold->send_sge[(size_t)at * qp->cold->max_send_sge] =
		(struct rs_sge){.length = w->length};
	w->n_sge = 1;
}

int rs_qp_post_send(struct rs_nic *nic, struct rs_qp *qp, const struct rs_send_wr *wr, rs_time now)
{
	struct rs_swqe *w;
	int64_t bytes;

	if (qp->state < RS_QPS_RTS || !qp->mtu)
		return -EINVAL;
	bytes = sge_bytes(wr->sge, wr->n_sge <= RS_SGE_MAX ? wr->n_sge : 0);
	if (!send_valid(qp, wr, bytes))
		return -EINVAL;
	if (qp->sq_tail - qp->sq_head >= qp->cold->sq_size)
		return -ENOMEM;
	w = rs_qp_swqe(qp, qp->sq_tail);
	if (__builtin_expect(OPS_LOCAL >> wr->op & 1, 0))
		fill_local(qp, w, wr);
	else
		fill_send(nic, qp, w, wr, (uint32_t)bytes);
	if (__builtin_expect(qp->flags & (RS_QF_UD | RS_QF_XRC), 0) && w->packets)
		fill_other(qp, w, wr);
	if (wr->flags & RS_WR_INLINE && bytes)
		copy_inline(qp, wr, w);
	else if (wr->n_sge)
		memcpy(&qp->cold->send_sge[(size_t)(qp->sq_tail & qp->sq_mask) *
					   qp->cold->max_send_sge],
		       wr->sge, wr->n_sge * sizeof(*wr->sge));
	qp->sq_tail++;
	if (qp->state >= RS_QPS_SQE)
		flush_sends(nic, qp);
	if (__builtin_expect(!qp->cold->rnr_retry, 0))
		rs_req_await_credit(nic, qp, now);
	rs_sched_kick(nic, qp);
	return 0;
}

int rs_qp_post_recv(struct rs_nic *nic, struct rs_qp *qp, const struct rs_recv_wr *wr)
{
	int64_t bytes;

	if (qp->state == RS_QPS_RESET || wr->n_sge > qp->cold->max_recv_sge ||
	    (qp->flags & RS_QF_SRQ))
		return -EINVAL;
	bytes = sge_bytes(wr->sge, wr->n_sge);
	if (bytes < 0)
		return -EINVAL;
	if (qp->cold->rq_tail - qp->cold->rq_head >= qp->cold->rq_size)
		return -ENOMEM;
	qp->cold->rq[qp->cold->rq_tail & qp->cold->rq_mask] =
		(struct rs_rwqe){.wr_id = wr->wr_id, .length = (uint32_t)bytes, .n_sge = wr->n_sge};
	if (wr->n_sge)
		memcpy(&qp->cold->recv_sge[(size_t)(qp->cold->rq_tail & qp->cold->rq_mask) *
					   qp->cold->max_recv_sge],
		       wr->sge, wr->n_sge * sizeof(*wr->sge));
	qp->cold->rq_tail++;
	if (qp->state == RS_QPS_ERR)
		flush_receives(nic, qp);
	else if (__builtin_expect(qp->cold->told_none, 0))
		rs_resp_tell_credits(nic, qp);
	return 0;
}

/* ---- Small things ---- */

uint32_t rs_qp_send_room(const struct rs_qp *qp)
{
	return qp->cold->sq_size - (qp->sq_tail - qp->sq_head);
}

uint32_t rs_qp_receives(const struct rs_qp *qp)
{
	return qp->cold->rq_tail - qp->cold->rq_head;
}

uint32_t rs_qp_num(const struct rs_qp *qp)
{
	return qp->qpn;
}

enum rs_qp_state rs_qp_get_state(const struct rs_qp *qp)
{
	return qp->state;
}

const struct rs_cc *rs_qp_cc(const struct rs_qp *qp)
{
	return &qp->cc;
}

const struct rs_cc_use *rs_qp_cc_use(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return rs_cc_of(nic, qp);
}

void rs_qp_set_user(struct rs_qp *qp, uint64_t user)
{
	qp->cold->user = user;
}

uint64_t rs_qp_get_user(const struct rs_qp *qp)
{
	return qp->cold->user;
}

const struct rs_qp_counters *rs_qp_get_counters(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return nic->qp_counters ? &nic->qp_counters[qp->index] : NULL;
}

uint32_t rs_qp_bytes(void)
{
	/* the QP itself, what is cold of it, a place and an entry in each of the two heaps */
	return sizeof(struct rs_qp) + sizeof(struct rs_qp_cold) +
	       2 * (sizeof(struct rs_heap_entry) + sizeof(uint32_t));
}
