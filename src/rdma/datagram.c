/* Unreliable datagrams: sent to where each work request says, received from a peer with the Q_Key,
 * multicast included. IBTA §9.8.3, §10.2.5, §10.5. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdma/state.h"

enum { IPV6 = 6 }; /* an IP header's version */

static bool drop(struct rs_nic *nic, struct rs_qp *qp)
{
	RS_COUNT(nic, qp, uc_ud_dropped);
	nic->counters.rx_dropped++;
	return false;
}

/* §9.6.1: state, partition, opcode, Q_Key; then a receive that holds it. */
static bool acceptable(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p)
{
	uint32_t f = rs_opcodes[p->opcode].flags;

	if (qp->state < RS_QPS_RTR || qp->state == RS_QPS_ERR)
		return drop(nic, qp);
	if ((p->pkey ^ qp->pkey) & 0x7fff) {
		nic->counters.bad_pkey++;
		return drop(nic, qp);
	}
	if ((p->opcode & 0xe0) != RS_UD || !(f & RS_F_VALID) || p->payload_bytes > qp->mtu ||
	    (nic->c.copy_payload && p->payload_bytes && !p->payload))
		return drop(nic, qp);
	if (p->qkey != qp->cold->more->qkey) {
		nic->counters.bad_qkey++;
		return drop(nic, qp);
	}
	if (qp->cold->rq_head == qp->cold->rq_tail &&
	    !((qp->flags & RS_QF_SRQ) && rs_srq_take(nic, qp)))
		return drop(nic, qp);
	if (qp->cold->rq[qp->cold->rq_head & qp->cold->rq_mask].length <
	    (uint32_t)RS_GRH_BYTES + p->payload_bytes)
		return drop(nic, qp);
	return true;
}

void rs_ud_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	bool imm = rs_opcodes[p->opcode].flags & RS_F_IMM;
	struct rs_cqe e = {
		.bytes = (uint32_t)RS_GRH_BYTES + p->payload_bytes,
		.imm = imm ? p->imm : 0,
		.op = RS_WR_RECV,
		.has_imm = imm,
		.solicited = !!(p->bth_flags & RS_BTH_SE),
		.src_qp = p->src_qp,
		.flags = RS_CQE_GRH,
		.tos = p->tos,
		.pkey = p->pkey,
	};
	uint8_t grh[RS_GRH_BYTES] = {0};
	const struct rs_sge *sge;
	unsigned n;

	if (!acceptable(nic, qp, p))
		return;
	sge = rs_qp_recv_sge(qp, qp->cold->rq_head);
	n = qp->cold->rq[qp->cold->rq_head & qp->cold->rq_mask].n_sge;
	if (nic->c.grh && nic->c.copy_payload)
		nic->c.grh(nic->c.grh_arg, p, grh);
	if (grh[0] >> 4 == IPV6)
		e.flags |= RS_CQE_GRH_IPV6;
	if (!rs_mr_scatter(nic, qp->pd, sge, n, 0, grh, RS_GRH_BYTES) ||
	    !rs_mr_scatter(nic, qp->pd, sge, n, RS_GRH_BYTES, p->payload, p->payload_bytes)) {
		e = (struct rs_cqe){.status = RS_WC_LOC_PROT_ERR, .op = RS_WR_RECV};
		rs_qp_complete_receive(nic, qp, &e);
		rs_qp_fail(nic, qp, RS_WC_SUCCESS);
		return;
	}
	rs_qp_complete_receive(nic, qp, &e);
}

/* The datagram's place among the queue's PSNs, and no answer to wait for. */
static void conclude(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w)
{
	qp->next_psn = qp->max_psn = rs_psn_add(qp->next_psn, 1);
	qp->sq_send++;
	rs_qp_retire(nic, qp, RS_WC_SUCCESS, w->length);
	qp->sent = qp->requested = qp->acked;
}

bool rs_ud_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);
	uint8_t op = RS_UD | (w->op == RS_WR_SEND_IMM ? RS_OP_SEND_ONLY_IMM : RS_OP_SEND_ONLY);

	rs_packet_head(nic, qp, p, op, rs_nic_frame(nic, qp, op, w->length));
	p->payload_bytes = (uint16_t)w->length;
	if (!rs_req_memory(nic, qp, w) || !rs_req_payload(nic, qp, w, p)) {
		rs_qp_fail_send(nic, qp, RS_WC_LOC_PROT_ERR);
		return false;
	}
	p->dst = (uint32_t)(w->remote_va >> 32);
	p->dest_qp = (uint32_t)w->remote_va & RS_QPN_MASK;
	p->sport = (uint16_t)(w->swap_add >> 16);
	p->tos = (uint8_t)(w->swap_add >> 8);
	p->tc = (uint8_t)w->swap_add;
	p->qkey = w->rkey;
	p->psn = qp->next_psn;
	p->imm = w->imm;
	if (w->flags & RS_WR_SOLICITED)
		p->bth_flags |= RS_BTH_SE;
	conclude(nic, qp, w);
	return true;
}

/* ---- Multicast: §10.5 ---- */

static uint32_t find(const struct rs_nic *nic, const struct rs_qp *qp, uint32_t group)
{
	uint32_t i = 0;

	while (i < nic->n_attached &&
	       (nic->attached[i].group != group || nic->attached[i].qp != qp->index))
		i++;
	return i;
}

int rs_qp_attach(struct rs_nic *nic, struct rs_qp *qp, uint32_t group)
{
	rs_assert(rs_nic_has_qp(nic, qp));
	if (!(qp->flags & RS_QF_UD))
		return -EINVAL;
	if (find(nic, qp, group) < nic->n_attached)
		return 0;
	if (!nic->attached)
		nic->attached = calloc(RS_MAX_ATTACHED, sizeof(*nic->attached));
	if (!nic->attached || nic->n_attached == RS_MAX_ATTACHED)
		return -ENOMEM;
	nic->attached[nic->n_attached++] = (struct rs_attached){.group = group, .qp = qp->index};
	rs_qp_own_more(qp)->groups++;
	return 0;
}

int rs_qp_detach(struct rs_nic *nic, struct rs_qp *qp, uint32_t group)
{
	uint32_t i = find(nic, qp, group);

	if (i == nic->n_attached)
		return -ENOENT;
	nic->attached[i] = nic->attached[--nic->n_attached];
	rs_qp_own_more(qp)->groups--;
	return 0;
}

void rs_ud_forget(struct rs_nic *nic, struct rs_qp *qp)
{
	for (uint32_t i = nic->n_attached; i-- && qp->cold->more->groups;)
		if (nic->attached[i].qp == qp->index)
			rs_qp_detach(nic, qp, nic->attached[i].group);
}

void rs_ud_multicast(struct rs_nic *nic, const struct rs_packet *p, rs_time now)
{
	bool any = false;

	for (uint32_t i = 0; i < nic->n_attached; i++) {
		if (nic->attached[i].group != p->dst)
			continue;
		any = true;
		rs_ud_rx(nic, &nic->qps[nic->attached[i].qp], p, now);
	}
	nic->counters.rx_dropped += !any;
}
