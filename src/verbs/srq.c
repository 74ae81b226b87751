/* Shared receive queues, of XRC too: IBTA §10.2.9, annex A14. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/verbs.h"

static int check(const struct ibv_srq_init_attr_ex *a)
{
	enum ibv_srq_type type =
		a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? a->srq_type : IBV_SRQT_BASIC;

	if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !a->pd)
		return EINVAL;
	if (type == IBV_SRQT_XRC && (!(a->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !a->xrcd ||
				     !(a->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !a->cq))
		return EINVAL;
	return a->attr.max_wr > RS_V_MAX_SRQ_WR || a->attr.max_sge > RS_V_MAX_SGE ? EINVAL : 0;
}

/* Locked. Of its CQ the engine counts it. */
static void count_users(struct rs_vsrq *s, int by)
{
	s->pd->refs += (uint32_t)by;
	if (s->xrcd)
		s->xrcd->refs += (uint32_t)by;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *a)
{
	struct rs_vctx *c = rs_vctx(context);
	bool xrc = (a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && a->srq_type == IBV_SRQT_XRC;
	int err = check(a);
	struct rs_vsrq *s = err ? NULL : calloc(1, sizeof(*s));
	struct rs_srq_init i;

	if (!s) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	s->pd = rs_vpd(a->pd);
	s->max_wr = a->attr.max_wr ? a->attr.max_wr : 1;
	s->max_sge = a->attr.max_sge ? a->attr.max_sge : 1;
	s->cq = xrc ? rs_vcq(a->cq) : NULL;
	s->xrcd = xrc ? rs_vxrcd(a->xrcd) : NULL;
	i = (struct rs_srq_init){.pd = s->pd->number,
				 .max_wr = s->max_wr,
				 .max_sge = (uint8_t)s->max_sge,
				 .xrc = xrc,
				 .xrcd = xrc ? s->xrcd->number : 0,
				 .cq = xrc ? s->cq->cq[0] : NULL};
	rs_vctx_lock(c);
	s->lane = xrc ? 0 : rs_vctx_next_lane(c);
	s->live = c->lane[s->lane].live;
	err = -rs_nic_create_srq(rs_live_nic(s->live), &i, &s->srq);
	s->base.handle = c->next_handle++;
	if (!err) {
		rs_srq_set_user(s->srq, (uintptr_t)s);
		if (xrc)
			rs_vcq_use(s->cq, s->lane);
		count_users(s, 1);
	}
	rs_vctx_unlock(c);
	if (err) {
		free(s);
		errno = err;
		return NULL;
	}
	s->base.context = context;
	s->base.srq_context = a->srq_context;
	s->base.pd = a->pd;
	pthread_mutex_init(&s->base.mutex, NULL);
	pthread_cond_init(&s->base.cond, NULL);
	a->attr.max_wr = s->max_wr;
	a->attr.max_sge = s->max_sge;
	return &s->base;
}

RS_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = a->srq_context,
		.attr = a->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq = create_srq_ex(pd->context, &ex);

	if (srq)
		a->attr = ex.attr;
	return srq;
}

RS_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask)
{
	struct rs_vsrq *s = rs_vsrq(srq);
	int err = 0;

	if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) ||
	    ((mask & IBV_SRQ_MAX_WR) && (!a->max_wr || a->max_wr > RS_V_MAX_SRQ_WR)))
		return EINVAL;
	rs_live_lock(s->live);
	if (mask & IBV_SRQ_MAX_WR) {
		err = rs_srq_resize(s->srq, a->max_wr);
		s->max_wr = err ? s->max_wr : a->max_wr;
	}
	if (!err && (mask & IBV_SRQ_LIMIT))
		err = rs_srq_arm(rs_live_nic(s->live), s->srq, a->srq_limit);
	rs_live_kick(s->live);
	rs_live_unlock(s->live);
	return -err;
}

RS_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
	struct rs_vsrq *s = rs_vsrq(srq);

	rs_live_lock(s->live);
	*a = (struct ibv_srq_attr){s->max_wr, s->max_sge, rs_srq_limit(s->srq)};
	rs_live_unlock(s->live);
	return 0;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = rs_srq_num(rs_vsrq(srq)->srq);
	return 0;
}

RS_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct rs_vctx *c = rs_vctx(srq->context);
	struct rs_vsrq *s = rs_vsrq(srq);
	int err;

	rs_vctx_lock(c);
	err = rs_nic_destroy_srq(rs_live_nic(s->live), s->srq);
	if (!err) {
		rs_vevents_drop(&c->async, &s->events);
		count_users(s, -1);
	}
	rs_vctx_unlock(c);
	if (err)
		return -err;
	rs_vevents_wait_acks(&srq->mutex, &srq->cond, &srq->events_completed, s->events_got);
	free(s);
	return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rs_vsrq *s = rs_vsrq(srq);
	int err = 0;

	rs_live_lock(s->live);
	for (; wr; wr = wr->next) {
		struct rs_sge sge[RS_V_MAX_SGE];
		struct rs_recv_wr r = {
			.wr_id = wr->wr_id, .n_sge = (uint8_t)wr->num_sge, .sge = sge};

		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > s->max_sge)
			err = EINVAL;
		else if (rs_srq_receives(s->srq) >= s->max_wr)
			err = ENOMEM;
		for (int i = 0; !err && i < wr->num_sge; i++)
			sge[i] = (struct rs_sge){wr->sg_list[i].addr, wr->sg_list[i].length,
						 wr->sg_list[i].lkey};
		if (!err)
			err = -rs_srq_post_recv(rs_live_nic(s->live), s->srq, &r);
		if (err)
			break;
	}
	if (err)
		*bad = wr;
	rs_live_kick(s->live);
	rs_live_unlock(s->live);
	return err;
}

void rs_v_fill_srq_ops(struct verbs_context *v)
{
	v->create_srq_ex = create_srq_ex;
	v->get_srq_num = get_srq_num;
	v->context.ops.post_srq_recv = post_srq_recv;
}

void rs_v_fill_services(struct ibv_device_attr *a)
{
	a->device_cap_flags |= IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
			       IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
			       IBV_DEVICE_SRQ_RESIZE;
	a->max_mw = RS_LIVE_MAX_MRS;
	a->max_srq = RS_LIVE_MAX_SRQS;
	a->max_srq_wr = RS_V_MAX_SRQ_WR;
	a->max_srq_sge = RS_V_MAX_SGE;
	a->max_mcast_grp = RS_LIVE_MAX_GROUPS;
	a->max_mcast_qp_attach = RS_V_MAX_MCAST_QPS;
	a->max_total_mcast_qp_attach = RS_V_MAX_MCAST_QPS;
}

void rs_v_fill_services_ex(struct ibv_device_attr_ex *a)
{
	a->odp_caps.per_transport_caps.uc_odp_caps =
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
	a->odp_caps.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	a->odp_caps.per_transport_caps.rc_odp_caps |= IBV_ODP_SUPPORT_SRQ_RECV;
	a->xrc_odp_caps = a->odp_caps.per_transport_caps.rc_odp_caps;
}
