/* Posting work requests in the old style: lists of ibv_send_wr and ibv_recv_wr. IBTA §11.4.1. */
#include <errno.h>
#include <string.h>
#include "verbs/verbs.h"

enum { NOT_HERE = 0xff };

/* ibv_wr_opcode to enum rs_wr_op. */
static const uint8_t ops[] = {
	[IBV_WR_RDMA_WRITE] = RS_WR_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = RS_WR_WRITE_IMM,
	[IBV_WR_SEND] = RS_WR_SEND,
	[IBV_WR_SEND_WITH_IMM] = RS_WR_SEND_IMM,
	[IBV_WR_RDMA_READ] = RS_WR_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = RS_WR_CMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = RS_WR_FETCH_ADD,
	[IBV_WR_LOCAL_INV] = RS_WR_LOCAL_INV,
	[IBV_WR_BIND_MW] = RS_WR_BIND_MW,
	[IBV_WR_SEND_WITH_INV] = RS_WR_SEND_INV,
	[IBV_WR_TSO] = NOT_HERE,
	[IBV_WR_DRIVER1] = NOT_HERE, /* and those up to the next, which this header has not */
	[IBV_WR_DRIVER1 + 1] = NOT_HERE,
	[IBV_WR_DRIVER1 + 2] = NOT_HERE,
	[IBV_WR_DRIVER1 + 3] = NOT_HERE,
	[IBV_WR_ATOMIC_WRITE] = RS_WR_ATOMIC_WRITE,
};

uint8_t rs_v_flags(unsigned ibv)
{
	return (uint8_t)((ibv & IBV_SEND_SIGNALED ? RS_WR_SIGNALED : 0) |
			 (ibv & IBV_SEND_SOLICITED ? RS_WR_SOLICITED : 0) |
			 (ibv & IBV_SEND_FENCE ? RS_WR_FENCE : 0) |
			 (ibv & IBV_SEND_INLINE ? RS_WR_INLINE : 0));
}

bool rs_v_is_signaled(const struct rs_vqp *qp, const struct rs_send_wr *wr)
{
	return qp->sq_sig_all || wr->flags & RS_WR_SIGNALED;
}

uint32_t rs_v_signaled_room(const struct rs_vqp *qp)
{
	uint32_t out = qp->signaled - qp->told;

	return out < qp->cap.max_send_wr ? qp->cap.max_send_wr - out : 0;
}

int rs_v_post_request(struct rs_vqp *qp, const struct rs_send_wr *wr)
{
	bool signaled = rs_v_is_signaled(qp, wr);
	int err;

	if (signaled && !rs_v_signaled_room(qp))
		return ENOMEM;
	err = -rs_qp_post_send(rs_live_nic(qp->live), qp->qp, wr, rs_live_now(qp->live));
	qp->signaled += signaled && !err;
	return err;
}

/* The rest of a work request by its opcode; what an opcode does not use stays 0. */
static void fill_rest(const struct rs_vqp *qp, const struct ibv_send_wr *w, struct rs_send_wr *wr)
{
	enum ibv_qp_type type = qp->ex.qp_base.qp_type;

	if (type == IBV_QPT_UD) {
		wr->ah = rs_v_ah(w->wr.ud.ah, qp->lane);
		wr->dest_qpn = w->wr.ud.remote_qpn;
		wr->qkey = w->wr.ud.remote_qkey;
	} else if (wr->op == RS_WR_CMP_SWAP || wr->op == RS_WR_FETCH_ADD) {
		bool swap = wr->op == RS_WR_CMP_SWAP;

		wr->remote_va = w->wr.atomic.remote_addr;
		wr->rkey = w->wr.atomic.rkey;
		wr->swap_add = swap ? w->wr.atomic.swap : w->wr.atomic.compare_add;
		wr->compare = swap ? w->wr.atomic.compare_add : 0;
	} else if (wr->op == RS_WR_BIND_MW) {
		wr->rkey = w->bind_mw.rkey;
		wr->bind = rs_v_bind(&w->bind_mw.bind_info);
	} else {
		wr->remote_va = w->wr.rdma.remote_addr;
		wr->rkey = w->wr.rdma.rkey;
	}
	if (wr->op == RS_WR_SEND_INV || wr->op == RS_WR_LOCAL_INV)
		wr->imm = w->invalidate_rkey;
	if (type == IBV_QPT_XRC_SEND)
		wr->srqn = w->qp_type.xrc.remote_srqn;
}

static int post_one(struct rs_vqp *qp, const struct ibv_send_wr *w)
{
	struct rs_sge sge[RS_V_MAX_SGE];
	struct rs_send_wr wr = {
		.wr_id = w->wr_id,
		.op = (unsigned)w->opcode < sizeof(ops) ? ops[w->opcode] : NOT_HERE,
		.flags = rs_v_flags(w->send_flags),
		.n_sge = (uint8_t)w->num_sge,
		.imm = be32toh(w->imm_data),
		.sge = sge,
	};

	if (wr.op == NOT_HERE || w->num_sge < 0 || (uint32_t)w->num_sge > qp->cap.max_send_sge)
		return EINVAL;
	for (int i = 0; i < w->num_sge; i++) {
		const struct ibv_sge *s = &w->sg_list[i];

		sge[i] = (struct rs_sge){.va = s->addr, .length = s->length, .lkey = s->lkey};
	}
	if (qp->ex.qp_base.qp_type == IBV_QPT_UD && !w->wr.ud.ah)
		return EINVAL;
	fill_rest(qp, w, &wr);
	return rs_v_post_request(qp, &wr);
}

void rs_v_posted(struct rs_vqp *qp, unsigned requests)
{
	enum ibv_qp_type type = qp->ex.qp_base.qp_type;

	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND) {
		rs_live_posted(qp->live, qp->qp, requests);
		return;
	}
	if (type == IBV_QPT_UC)
		rs_live_join(qp->live, qp->qp, true);
	rs_live_kick(qp->live);
}

int rs_v_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct rs_vqp *qp = rs_vqp(base);
	unsigned requests = 0;
	int err = 0;

	rs_live_lock(qp->live);
	for (; wr && !err; wr = err ? wr : wr->next, requests++)
		err = post_one(qp, wr);
	if (err)
		*bad = wr;
	rs_v_posted(qp, requests);
	rs_live_unlock(qp->live);
	return err;
}

int rs_v_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rs_vqp *qp = rs_vqp(base);
	int err = 0;

	rs_live_lock(qp->live);
	for (; wr; wr = wr->next) {
		struct rs_sge sge[RS_V_MAX_SGE];
		struct rs_recv_wr r = {
			.wr_id = wr->wr_id, .n_sge = (uint8_t)wr->num_sge, .sge = sge};

		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_recv_sge) {
			err = EINVAL;
			break;
		}
		for (int i = 0; i < wr->num_sge; i++)
			sge[i] = (struct rs_sge){wr->sg_list[i].addr, wr->sg_list[i].length,
						 wr->sg_list[i].lkey};
		if (rs_qp_receives(qp->qp) >= qp->cap.max_recv_wr) {
			err = ENOMEM;
			break;
		}
		err = -rs_qp_post_recv(rs_live_nic(qp->live), qp->qp, &r);
		if (err)
			break;
	}
	if (err)
		*bad = wr;
	rs_live_kick(qp->live);
	rs_live_unlock(qp->live);
	return err;
}
