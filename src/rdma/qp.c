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

static int alloc_queues(struct rs_qp *qp, const struct rs_qp_init *i)
{
	uint32_t sends = round_up(i->max_send_wr), receives = round_up(i->max_recv_wr);

	qp->sq = calloc(sends, sizeof(*qp->sq));
	qp->send_sge = calloc((size_t)sends * i->max_send_sge, sizeof(*qp->send_sge));
	if (!qp->sq || !qp->send_sge)
		return -ENOMEM;
	qp->sq_mask = sends - 1;
	qp->sq_size = sends;
	if (!i->max_recv_wr)
		return 0;
	qp->rq = calloc(receives, sizeof(*qp->rq));
	qp->recv_sge = calloc((size_t)receives * i->max_recv_sge, sizeof(*qp->recv_sge));
	if (!qp->rq || !qp->recv_sge)
		return -ENOMEM;
	qp->rq_mask = receives - 1;
	qp->rq_size = receives;
	return 0;
}

static void free_queues(struct rs_qp *qp)
{
	free(qp->sq);
	free(qp->send_sge);
	free(qp->rq);
	free(qp->recv_sge);
	free(qp->resources);
	qp->sq = NULL;
	qp->send_sge = NULL;
	qp->rq = NULL;
	qp->recv_sge = NULL;
	qp->resources = NULL;
}

static bool init_valid(const struct rs_qp_init *i)
{
	return i->send_cq && i->recv_cq && i->transport == RS_RC && i->max_send_wr &&
	       i->max_send_wr <= RS_WR_MAX && i->max_recv_wr <= RS_WR_MAX && i->max_send_sge &&
	       i->max_send_sge <= RS_SGE_MAX && i->max_recv_sge <= RS_SGE_MAX &&
	       (i->max_recv_sge || !i->max_recv_wr);
}

static uint32_t take_index(struct rs_nic *nic)
{
	uint32_t i = nic->qp_free_head;

	if (nic->qps_fresh < nic->c.max_qps)
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
	nic->qps[i].link[0].next = RS_NO_QP;
	if (nic->qp_free_tail == RS_NO_QP)
		nic->qp_free_head = i;
	else
		nic->qps[nic->qp_free_tail].link[0].next = i;
	nic->qp_free_tail = i;
}

int rs_nic_create_qp(struct rs_nic *nic, const struct rs_qp_init *i, struct rs_qp **out)
{
	struct rs_qp *qp;
	uint32_t index;
	int err;

	if (!init_valid(i))
		return -EINVAL;
	index = take_index(nic);
	if (index == RS_NO_QP)
		return -ENOMEM;
	qp = &nic->qps[index];
	memset(qp, 0, sizeof(*qp));
	qp->index = index;
	err = alloc_queues(qp, i);
	if (err) {
		free_queues(qp);
		give_index(nic, index);
		return err;
	}
	qp->qpn = nic->c.first_qpn + index;
	qp->flags = RS_QF_USED | (i->sq_sig_all ? RS_QF_SIG_ALL : 0);
	qp->transport = i->transport;
	qp->pd = i->pd;
	qp->max_send_sge = i->max_send_sge;
	qp->max_recv_sge = i->max_recv_sge;
	qp->send_cq = i->send_cq;
	qp->recv_cq = i->recv_cq;
	qp->send_cq->refs++;
	qp->recv_cq->refs++;
	qp->deadline = qp->ack_deadline = RS_NEVER;
	qp->message = RS_NO_MESSAGE;
	nic->qps_live++;
	*out = qp;
	return 0;
}

void rs_nic_destroy_qp(struct rs_nic *nic, struct rs_qp *qp)
{
	rs_sched_forget(nic, qp);
	rs_heap_remove(&nic->timers, qp->index);
	qp->send_cq->refs--;
	qp->recv_cq->refs--;
	free_queues(qp);
	qp->flags = 0;
	qp->state = RS_QPS_RESET;
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

static bool rtr_valid(const struct rs_nic *nic, const struct rs_qp_attr *a)
{
	bool mtu = a->path_mtu >= (nic->c.any_payload ? 64 : 256) &&
		   a->path_mtu <= RS_MAX_PAYLOAD &&
		   (nic->c.any_payload || !(a->path_mtu & (a->path_mtu - 1)));

	return mtu && a->dest_qpn <= RS_QPN_MASK && a->rq_psn <= RS_PSN_MASK &&
	       a->tc < RS_CLASSES && a->min_rnr_timer <= 31 &&
	       a->max_dest_rd_atomic <= RS_RD_ATOMIC_MAX;
}

static bool rts_valid(const struct rs_qp_attr *a)
{
	return a->sq_psn <= RS_PSN_MASK && a->timeout <= 31 && a->retry_cnt <= 7 &&
	       a->rnr_retry <= 7 && a->max_rd_atomic <= RS_RD_ATOMIC_MAX;
}

static int to_rtr(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a, rs_time now)
{
	if (!rtr_valid(nic, a))
		return -EINVAL;
	if (a->max_dest_rd_atomic) {
		qp->resources = calloc(a->max_dest_rd_atomic, sizeof(*qp->resources));
		if (!qp->resources)
			return -ENOMEM;
	}
	qp->resource_limit = a->max_dest_rd_atomic;
	qp->dest_endpoint = a->dest_endpoint;
	qp->dest_qpn = a->dest_qpn;
	qp->epsn = a->rq_psn;
	qp->mtu = a->path_mtu;
	qp->middle_frame = rs_nic_frame(nic, RS_OP_WRITE_MIDDLE | qp->transport, qp->mtu);
	qp->middle_count = (uint16_t)(qp->middle_frame - nic->uncounted);
	qp->window_room = nic->c.window_payload ? 1 : qp->middle_count;
	qp->sport = a->sport;
	qp->tos = a->tos;
	qp->tc = a->tc;
	qp->rnr_timer = a->min_rnr_timer;
	qp->last_cnp = RS_NEVER;
	nic->cc->init(nic->cc_params, &qp->cc, nic->c.line_rate, now);
	return 0;
}

static int to_rts(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a)
{
	if (!rts_valid(a))
		return -EINVAL;
	qp->next_psn = qp->una_psn = qp->max_psn = qp->post_psn = a->sq_psn;
	qp->rto = rs_rto(a->timeout, nic->c.min_rto);
	qp->retry_cnt = a->retry_cnt;
	qp->rnr_retry = a->rnr_retry;
	qp->max_rd_atomic = a->max_rd_atomic;
	return 0;
}

static void to_reset(struct rs_nic *nic, struct rs_qp *qp)
{
	struct rs_qp old = *qp;

	rs_sched_forget(nic, qp);
	rs_heap_remove(&nic->timers, qp->index);
	free(qp->resources);
	memset(qp, 0, sizeof(*qp));
	qp->index = old.index;
	qp->qpn = old.qpn;
	qp->flags = old.flags & (RS_QF_USED | RS_QF_SIG_ALL);
	qp->transport = old.transport;
	qp->pd = old.pd;
	qp->max_send_sge = old.max_send_sge;
	qp->max_recv_sge = old.max_recv_sge;
	qp->send_cq = old.send_cq;
	qp->recv_cq = old.recv_cq;
	qp->sq = old.sq;
	qp->sq_mask = old.sq_mask;
	qp->sq_size = old.sq_size;
	qp->send_sge = old.send_sge;
	qp->rq = old.rq;
	qp->rq_mask = old.rq_mask;
	qp->rq_size = old.rq_size;
	qp->recv_sge = old.recv_sge;
	qp->user = old.user;
	qp->deadline = qp->ack_deadline = RS_NEVER;
	qp->message = RS_NO_MESSAGE;
}

int rs_qp_modify(struct rs_nic *nic, struct rs_qp *qp, enum rs_qp_state to,
		 const struct rs_qp_attr *a, rs_time now)
{
	enum rs_qp_state from = qp->state;
	int err = 0;

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
	if (!a && to <= RS_QPS_RTR)
		return -EINVAL;
	if (to == RS_QPS_INIT) {
		if (a->access > 15)
			return -EINVAL;
		qp->access = (uint8_t)a->access;
		qp->pkey = a->pkey;
	} else if (to == RS_QPS_RTR) {
		err = to_rtr(nic, qp, a, now);
	} else if (from == RS_QPS_RTR) {
		err = a ? to_rts(nic, qp, a) : -EINVAL;
	}
	if (err)
		return err;
	qp->state = (uint8_t)to;
	rs_sched_kick(nic, qp);
	return 0;
}

int rs_qp_connect(struct rs_nic *nic, struct rs_qp *qp, const struct rs_qp_attr *a, rs_time now)
{
	static const enum rs_qp_state way[] = {RS_QPS_INIT, RS_QPS_RTR, RS_QPS_RTS};

	if (qp->state != RS_QPS_RESET || !rtr_valid(nic, a) || !rts_valid(a))
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

/* ---- Completion ---- */

void rs_qp_retire(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status, uint32_t bytes)
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
	if (status != RS_WC_SUCCESS) {
		nic->counters.req_cqe_error++;
		nic->counters.req_cqe_flush_error += status == RS_WC_WR_FLUSH_ERR;
	} else if (!(w->flags & RS_WR_SIGNALED) && !(qp->flags & RS_QF_SIG_ALL)) {
		return;
	}
	rs_cq_push(qp->send_cq, &e);
}

void rs_qp_complete_receive(struct rs_nic *nic, struct rs_qp *qp, const struct rs_cqe *from)
{
	struct rs_cqe e = *from;

	e.wr_id = qp->rq[qp->rq_head & qp->rq_mask].wr_id;
	e.qpn = qp->qpn;
	qp->rq_head++;
	if (qp->flags & RS_QF_RECEIVING && e.status != RS_WC_SUCCESS)
		qp->flags &= ~(uint32_t)RS_QF_RECEIVING;
	rs_cq_push(qp->recv_cq, &e);
}

static void flush(struct rs_nic *nic, struct rs_qp *qp)
{
	const struct rs_cqe e = {.status = RS_WC_WR_FLUSH_ERR, .op = RS_WR_RECV};

	while (qp->sq_head != qp->sq_tail)
		rs_qp_retire(nic, qp, RS_WC_WR_FLUSH_ERR, 0);
	qp->sq_send = qp->sq_tail;
	qp->send_k = 0;
	qp->outstanding = 0;
	qp->next_psn = qp->max_psn = qp->una_psn;
	qp->sent = qp->acked;
	while (qp->rq_head != qp->rq_tail)
		rs_qp_complete_receive(nic, qp, &e);
}

void rs_qp_fail(struct rs_nic *nic, struct rs_qp *qp, enum rs_wc_status status)
{
	if (qp->state == RS_QPS_ERR)
		return;
	qp->state = RS_QPS_ERR;
	rs_sched_forget(nic, qp);
	qp->deadline = qp->ack_deadline = RS_NEVER;
	qp->flags &= RS_QF_USED | RS_QF_SIG_ALL;
	qp->nak = 0;
	qp->resource_count = qp->resource_next = 0;
	qp->message = RS_NO_MESSAGE;
	if (status != RS_WC_SUCCESS && qp->sq_head != qp->sq_tail)
		rs_qp_retire(nic, qp, status, 0);
	flush(nic, qp);
}

/* ---- Posting ---- */

static const uint8_t middles[] = {
	[RS_WR_SEND] = RS_OP_SEND_MIDDLE,    [RS_WR_SEND_IMM] = RS_OP_SEND_MIDDLE,
	[RS_WR_WRITE] = RS_OP_WRITE_MIDDLE,  [RS_WR_WRITE_IMM] = RS_OP_WRITE_MIDDLE,
	[RS_WR_READ] = RS_OP_READ_REQUEST,   [RS_WR_CMP_SWAP] = RS_OP_CMP_SWAP,
	[RS_WR_FETCH_ADD] = RS_OP_FETCH_ADD,
};

/* Sum of the list; -1: too long for a message. */
static int64_t sge_bytes(const struct rs_sge *sge, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += sge[i].length;
	return sum > UINT64_C(1) << RS_MESSAGE_MAX_LOG2 ? -1 : (int64_t)sum;
}

static bool send_valid(const struct rs_qp *qp, const struct rs_send_wr *wr, int64_t bytes)
{
	bool atomic = wr->op == RS_WR_CMP_SWAP || wr->op == RS_WR_FETCH_ADD;

	if (wr->op > RS_WR_FETCH_ADD || wr->n_sge > qp->max_send_sge || bytes < 0)
		return false;
	if (atomic && (bytes != 8 || (wr->remote_va & 7)))
		return false;
	if ((atomic || wr->op == RS_WR_READ) && !qp->max_rd_atomic)
		return false;
	return wr->op != RS_WR_READ || rs_qp_packets(qp, (uint32_t)bytes) <= RS_PSN_WINDOW;
}

/* Frame bytes of the whole message, as its packets will have them. */
static uint64_t message_frames(const struct rs_nic *nic, const struct rs_qp *qp,
			       const struct rs_swqe *w)
{
	bool write = w->middle == RS_OP_WRITE_MIDDLE;
	bool imm = w->op == RS_WR_SEND_IMM || w->op == RS_WR_WRITE_IMM;
	uint8_t last = write ? (imm ? RS_OP_WRITE_LAST_IMM : RS_OP_WRITE_LAST)
			     : (imm ? RS_OP_SEND_LAST_IMM : RS_OP_SEND_LAST);
	uint8_t only = write ? (imm ? RS_OP_WRITE_ONLY_IMM : RS_OP_WRITE_ONLY)
			     : (imm ? RS_OP_SEND_ONLY_IMM : RS_OP_SEND_ONLY);

	if (w->response)
		return rs_nic_frame(nic, w->middle | qp->transport, 0);
	if (w->packets == 1)
		return rs_nic_frame(nic, only | qp->transport, w->length);
	return (uint64_t)w->first_extra + (uint64_t)(w->packets - 1) * qp->middle_frame +
	       rs_nic_frame(nic, last | qp->transport, w->length - (w->packets - 1) * qp->mtu);
}

static void fill_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_swqe *w,
		      const struct rs_send_wr *wr, uint32_t bytes)
{
	*w = (struct rs_swqe){
		.start = qp->posted,
		.wr_id = wr->wr_id,
		.remote_va = wr->remote_va,
		.length = bytes,
		.first_psn = qp->post_psn,
		.rkey = wr->rkey,
		.imm = wr->imm,
		.ssn = rs_psn_add(qp->post_ssn, 1),
		.op = wr->op,
		.flags = wr->flags,
		.n_sge = wr->n_sge,
		.middle = middles[wr->op],
		.response = wr->op >= RS_WR_READ,
		.wants_receive = wr->op <= RS_WR_SEND_IMM || wr->op == RS_WR_WRITE_IMM,
		.swap_add = wr->swap_add,
		.compare = wr->compare,
	};
	w->packets = wr->op > RS_WR_READ ? 1 : rs_qp_packets(qp, bytes);
	if (w->middle == RS_OP_WRITE_MIDDLE)
		w->first_extra = nic->framing->data ? 0 : RS_RETH_BYTES;
	w->end = w->start + message_frames(nic, qp, w) -
		 (uint64_t)(w->response ? 1 : w->packets) * nic->uncounted;
	qp->posted = w->end;
	qp->post_ssn = w->ssn;
	qp->post_psn = rs_psn_add(qp->post_psn, w->packets);
}

int rs_qp_post_send(struct rs_nic *nic, struct rs_qp *qp, const struct rs_send_wr *wr, rs_time now)
{
	int64_t bytes;

	if (qp->state < RS_QPS_RTS || !qp->mtu)
		return -EINVAL;
	bytes = sge_bytes(wr->sge, wr->n_sge <= RS_SGE_MAX ? wr->n_sge : 0);
	if (!send_valid(qp, wr, bytes))
		return -EINVAL;
	if (qp->sq_tail - qp->sq_head >= qp->sq_size)
		return -ENOMEM;
	fill_send(nic, qp, rs_qp_swqe(qp, qp->sq_tail), wr, (uint32_t)bytes);
	if (wr->n_sge)
		memcpy(&qp->send_sge[(size_t)(qp->sq_tail & qp->sq_mask) * qp->max_send_sge],
		       wr->sge, wr->n_sge * sizeof(*wr->sge));
	qp->sq_tail++;
	if (qp->state == RS_QPS_ERR)
		flush(nic, qp);
	rs_sched_kick(nic, qp);
	return 0;
}

int rs_qp_post_recv(struct rs_nic *nic, struct rs_qp *qp, const struct rs_recv_wr *wr)
{
	int64_t bytes;

	if (qp->state == RS_QPS_RESET || wr->n_sge > qp->max_recv_sge)
		return -EINVAL;
	bytes = sge_bytes(wr->sge, wr->n_sge);
	if (bytes < 0)
		return -EINVAL;
	if (qp->rq_tail - qp->rq_head >= qp->rq_size)
		return -ENOMEM;
	qp->rq[qp->rq_tail & qp->rq_mask] =
		(struct rs_rwqe){.wr_id = wr->wr_id, .length = (uint32_t)bytes, .n_sge = wr->n_sge};
	if (wr->n_sge)
		memcpy(&qp->recv_sge[(size_t)(qp->rq_tail & qp->rq_mask) * qp->max_recv_sge],
		       wr->sge, wr->n_sge * sizeof(*wr->sge));
	qp->rq_tail++;
	if (qp->state == RS_QPS_ERR)
		flush(nic, qp);
	return 0;
}

/* ---- Small things ---- */

uint32_t rs_qp_send_room(const struct rs_qp *qp)
{
	return qp->sq_size - (qp->sq_tail - qp->sq_head);
}

uint32_t rs_qp_receives(const struct rs_qp *qp)
{
	return qp->rq_tail - qp->rq_head;
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

void rs_qp_set_user(struct rs_qp *qp, uint64_t user)
{
	qp->user = user;
}

uint64_t rs_qp_get_user(const struct rs_qp *qp)
{
	return qp->user;
}

uint32_t rs_qp_bytes(void)
{
	/* the QP itself, a place and an entry in each of the two heaps */
	return sizeof(struct rs_qp) + 2 * (sizeof(struct rs_heap_entry) + sizeof(uint32_t));
}
