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
	[IBV_WR_LOCAL_INV] = NOT_HERE,
	[IBV_WR_BIND_MW] = NOT_HERE,
	[IBV_WR_SEND_WITH_INV] = NOT_HERE,
	[IBV_WR_TSO] = NOT_HERE,
};

uint8_t rs_v_flags(unsigned ibv)
{
	return (uint8_t)((ibv & IBV_SEND_SIGNALED ? RS_WR_SIGNALED : 0) |
			 (ibv & IBV_SEND_SOLICITED ? RS_WR_SOLICITED : 0) |
			 (ibv & IBV_SEND_FENCE ? RS_WR_FENCE : 0));
}

/* Inline bytes wait in the place of their work request until it is completed. */
static int copy_inline(struct rs_vqp *qp, struct rs_sge *out, const struct ibv_data_buf *list,
		       unsigned n)
{
	uint8_t *to = qp->inline_bytes + (size_t)(qp->posted & qp->inline_mask) * qp->inline_stride;
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (list[i].length > qp->cap.max_inline_data - sum)
			return EINVAL;
		if (list[i].length)
			memcpy(to + sum, list[i].addr, list[i].length);
		sum += list[i].length;
	}
	*out = (struct rs_sge){
		.va = (uintptr_t)to, .length = (uint32_t)sum, .lkey = qp->inline_key};
	return 0;
}

int rs_v_post_one(struct rs_vctx *c, struct rs_vqp *qp, struct rs_send_wr *wr,
		  const struct ibv_data_buf *inline_list, unsigned n_inline)
{
	struct rs_sge inlined;
	int err;

	if (inline_list) {
		err = rs_qp_send_room(qp->qp) ? copy_inline(qp, &inlined, inline_list, n_inline)
					      : ENOMEM;
		if (err)
			return err;
		wr->sge = &inlined;
		wr->n_sge = inlined.length ? 1 : 0;
	}
	err = rs_qp_post_send(rs_live_nic(c->live), qp->qp, wr, rs_live_now(c->live));
	if (!err)
		qp->posted++;
	return -err;
}

static int post_one(struct rs_vctx *c, struct rs_vqp *qp, const struct ibv_send_wr *w)
{
	struct rs_sge sge[RS_V_MAX_SGE];
	struct ibv_data_buf bufs[RS_V_MAX_SGE];
	bool is_inline = w->send_flags & IBV_SEND_INLINE;
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
		bufs[i] = (struct ibv_data_buf){(void *)(uintptr_t)s->addr, s->length};
	}
	if (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		bool swap = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		wr.remote_va = w->wr.atomic.remote_addr;
		wr.rkey = w->wr.atomic.rkey;
		wr.swap_add = swap ? w->wr.atomic.swap : w->wr.atomic.compare_add;
		wr.compare = swap ? w->wr.atomic.compare_add : 0;
	} else {
		wr.remote_va = w->wr.rdma.remote_addr;
		wr.rkey = w->wr.rdma.rkey;
	}
	return rs_v_post_one(c, qp, &wr, is_inline ? bufs : NULL, (unsigned)w->num_sge);
}

int rs_v_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct rs_vctx *c = rs_vctx(base->context);
	int err = 0;

	rs_vctx_lock(c);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = post_one(c, rs_vqp(base), wr);
	if (err)
		*bad = wr;
	rs_live_kick(c->live);
	rs_vctx_unlock(c);
	return err;
}

int rs_v_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rs_vctx *c = rs_vctx(base->context);
	struct rs_vqp *qp = rs_vqp(base);
	struct rs_nic *nic = rs_vctx_lock(c);
	int err = 0;

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
		err = -rs_qp_post_recv(nic, qp->qp, &r);
		if (err)
			break;
	}
	if (err)
		*bad = wr;
	rs_live_kick(c->live);
	rs_vctx_unlock(c);
	return err;
}
