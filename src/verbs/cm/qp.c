/* An identifier's QP: made with what it was not given, and moved along its connection's states with
 * the attributes that IBTA §12.9.8 takes from the messages. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/cm/cm.h"

enum {
	HOPS = 64,
	GIDS = RS_LIVE_GID_TABLE,
	/* Adapters grant what is left of a work request's slot; rdma_xclient asks for none and
	 * sends 16 bytes inline. */
	LEAST_INLINE = 64,
};

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static int gid_index(struct rs_cm_id *id)
{
	for (int i = 0; i < GIDS; i++) {
		union ibv_gid g;

		if (!ibv_query_gid(id->dev->verbs, RS_V_PORT, i, &g) && !memcmp(g.raw, id->own, 16))
			return i;
	}
	return -1;
}

void rs_cm_fill_ah(struct rs_cm_id *id, const uint8_t dgid[16], struct ibv_ah_attr *a)
{
	int index = gid_index(id);

	*a = (struct ibv_ah_attr){.is_global = 1, .port_num = RS_V_PORT};
	memcpy(a->grh.dgid.raw, dgid, 16);
	a->grh.sgid_index = index < 0 ? 0 : (uint8_t)index;
	a->grh.hop_limit = HOPS;
	a->grh.traffic_class = id->tos;
}

static void init_attr(struct rs_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	a->pkey_index = 0;
	a->port_num = RS_V_PORT;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (id->base.qp_type == IBV_QPT_UD) {
		a->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return;
	}
	a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->base.qp_type != IBV_QPT_UC)
		a->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask |= IBV_QP_ACCESS_FLAGS;
}

static void rtr_attr(struct rs_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	*mask = IBV_QP_STATE;
	if (id->base.qp_type == IBV_QPT_UD)
		return;
	rs_cm_fill_ah(id, id->peer, &a->ah_attr);
	a->path_mtu = (enum ibv_mtu)id->mtu;
	a->dest_qp_num = id->remote_qpn;
	a->rq_psn = id->psn; /* "starting PSN": where the other side begins (§12.7.31) */
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (id->base.qp_type == IBV_QPT_UC)
		return;
	if (id->base.qp_type == IBV_QPT_XRC_SEND)
		return;
	a->max_dest_rd_atomic = least(id->responder_resources, RS_V_MAX_RD_ATOMIC);
	a->min_rnr_timer = RS_CM_MIN_RNR;
	*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static void rts_attr(struct rs_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	a->sq_psn = id->remote_psn;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (id->base.qp_type == IBV_QPT_UD || id->base.qp_type == IBV_QPT_UC)
		return;
	a->timeout = id->ack_timeout;
	*mask |= IBV_QP_TIMEOUT;
	if (id->base.qp_type == IBV_QPT_XRC_RECV)
		return;
	a->retry_cnt = id->retry_count;
	a->rnr_retry = id->rnr_retry;
	a->max_rd_atomic = least(id->initiator_depth, RS_V_MAX_RD_ATOMIC);
	*mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

int rs_cm_qp_attr(struct rs_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	enum ibv_qp_state to = a->qp_state;

	if (!id->dev)
		return EINVAL;
	if (to == IBV_QPS_INIT)
		init_attr(id, a, mask);
	else if (to == IBV_QPS_RTR)
		rtr_attr(id, a, mask);
	else if (to == IBV_QPS_RTS)
		rts_attr(id, a, mask);
	else
		return EINVAL;
	return 0;
}

int rs_cm_qp_to(struct rs_cm_id *id, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = {.qp_state = to};
	int mask = IBV_QP_STATE, err = 0;

	if (!id->base.qp)
		return 0;
	if (to != IBV_QPS_ERR)
		err = rs_cm_qp_attr(id, &a, &mask);
	return err ? err : ibv_modify_qp(id->base.qp, &a, mask);
}

RS_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	int err;

	pthread_mutex_lock(&rs_cm_lock);
	err = rs_cm_qp_attr(rs_cm_id(id), a, mask);
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

static void destroy_cqs(struct rdma_cm_id *id)
{
	if (id->send_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->recv_cq && id->recv_cq != id->send_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->send_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	id->send_cq = id->recv_cq = NULL;
	id->send_cq_channel = id->recv_cq_channel = NULL;
}

/* Only what was made here. */
static void drop_cqs(struct rs_cm_id *id)
{
	if (id->made_cqs && !id->base.qp && !id->base.srq)
		destroy_cqs(&id->base);
	if (!id->base.qp && !id->base.srq)
		id->made_cqs = false;
}

/* One with a channel; rdma_verbs.h expects the identifier as the CQ's context. */
static int make_cq(struct rdma_cm_id *id, uint32_t depth, struct ibv_comp_channel **channel,
		   struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -1;
	*cq = ibv_create_cq(id->verbs, depth ? (int)depth : 1, id, *channel, 0);
	return *cq ? 0 : -1;
}

/* Of as many completions as the receives that may be posted. */
static uint32_t recv_depth(const struct ibv_qp_init_attr_ex *a)
{
	struct ibv_srq_attr s;

	return a->srq && !ibv_query_srq(a->srq, &s) ? s.max_wr : a->cap.max_recv_wr;
}

static int make_cqs(struct rs_cm_id *id, struct ibv_qp_init_attr_ex *a)
{
	struct rdma_cm_id *b = &id->base;

	if (a->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (!a->recv_cq && a->qp_type != IBV_QPT_XRC_SEND) {
		uint32_t depth = recv_depth(a);

		if (make_cq(b, depth, &b->recv_cq_channel, &b->recv_cq))
			return -1;
		a->recv_cq = b->recv_cq;
		id->made_cqs = true;
	}
	if (!a->send_cq) {
		if (make_cq(b, a->cap.max_send_wr, &b->send_cq_channel, &b->send_cq))
			return -1;
		a->send_cq = b->send_cq;
		id->made_cqs = true;
	}
	return 0;
}

/* RC and UC stay in INIT, UD goes on to RTS. An errno value. */
static int prepare(struct rs_cm_id *id)
{
	int err = rs_cm_qp_to(id, IBV_QPS_INIT);

	if (err || id->base.qp_type != IBV_QPT_UD)
		return err;
	err = rs_cm_qp_to(id, IBV_QPS_RTR);
	return err ? err : rs_cm_qp_to(id, IBV_QPS_RTS);
}

/* The device's domain for all identifiers that were given none: it has no name. NULL with errno. */
static struct ibv_xrcd *shared_xrcd(struct rs_cm_dev *d)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					       IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};

	pthread_mutex_lock(&rs_cm_lock);
	if (!d->xrcd)
		d->xrcd = ibv_open_xrcd(d->verbs, &a);
	pthread_mutex_unlock(&rs_cm_lock);
	return d->xrcd;
}

/* What the application left out: its PD, or for an XRC target the domain. An errno value. */
static int choose_domain(struct rs_cm_id *id, struct ibv_qp_init_attr_ex *a)
{
	if (a->qp_type == IBV_QPT_XRC_RECV) {
		if (!(a->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !a->xrcd)
			a->xrcd = shared_xrcd(id->dev);
		a->comp_mask =
			(a->comp_mask | IBV_QP_INIT_ATTR_XRCD) & ~(uint32_t)IBV_QP_INIT_ATTR_PD;
		return a->xrcd ? 0 : errno;
	}
	if ((a->comp_mask & IBV_QP_INIT_ATTR_PD) && a->pd)
		return a->pd->context == id->base.verbs ? 0 : EINVAL;
	a->comp_mask |= IBV_QP_INIT_ATTR_PD;
	a->pd = id->base.pd ? id->base.pd : id->dev->pd;
	return 0;
}

RS_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr)
{
	struct rs_cm_id *id = rs_cm_id(base);
	struct ibv_qp_init_attr_ex a = *attr;
	int err;

	if (base->qp || !base->verbs || !id->dev)
		return rs_cm_fail(EINVAL);
	err = choose_domain(id, &a);
	if (err)
		return rs_cm_fail(err);
	if (!a.srq && a.qp_type != IBV_QPT_XRC_SEND)
		a.srq = base->srq;
	if (a.cap.max_inline_data < LEAST_INLINE && a.qp_type != IBV_QPT_XRC_RECV)
		a.cap.max_inline_data = LEAST_INLINE;
	if (make_cqs(id, &a)) {
		err = errno;
		destroy_cqs(base);
		return rs_cm_fail(err);
	}
	base->qp = ibv_create_qp_ex(base->verbs, &a);
	if (!base->qp) {
		err = errno;
		destroy_cqs(base);
		return rs_cm_fail(err);
	}
	base->qp_type = a.qp_type;
	pthread_mutex_lock(&rs_cm_lock);
	id->qpn = base->qp->qp_num;
	id->srq = a.srq != NULL;
	err = prepare(id);
	pthread_mutex_unlock(&rs_cm_lock);
	if (err) {
		rdma_destroy_qp(base);
		return rs_cm_fail(err);
	}
	attr->cap = a.cap;
	if (a.qp_type == IBV_QPT_XRC_RECV)
		return 0;
	base->pd = a.pd;
	attr->pd = a.pd;
	return 0;
}

RS_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct ibv_qp_init_attr_ex ex = {.qp_context = a->qp_context,
					 .send_cq = a->send_cq,
					 .recv_cq = a->recv_cq,
					 .srq = a->srq,
					 .cap = a->cap,
					 .qp_type = a->qp_type,
					 .sq_sig_all = a->sq_sig_all,
					 .comp_mask = IBV_QP_INIT_ATTR_PD,
					 .pd = pd};
	int rc = rdma_create_qp_ex(id, &ex);

	if (!rc)
		a->cap = ex.cap;
	return rc;
}

RS_EXPORT void rdma_destroy_qp(struct rdma_cm_id *base)
{
	struct rs_cm_id *id = rs_cm_id(base);
	struct ibv_qp *qp = base->qp;

	if (!qp)
		return;
	pthread_mutex_lock(&rs_cm_lock);
	base->qp = NULL;
	pthread_mutex_unlock(&rs_cm_lock);
	ibv_destroy_qp(qp);
	drop_cqs(id);
}

/* Of an XRC receive queue: the domain and the CQ that the application left out. */
static int complete_xrc(struct rs_cm_id *id, struct ibv_srq_init_attr_ex *a)
{
	struct rdma_cm_id *b = &id->base;

	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !a->xrcd) {
		a->xrcd = shared_xrcd(id->dev);
		a->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
		if (!a->xrcd)
			return -1;
	}
	if ((a->comp_mask & IBV_SRQ_INIT_ATTR_CQ) && a->cq)
		return 0;
	if (make_cq(b, a->attr.max_wr, &b->recv_cq_channel, &b->recv_cq)) {
		int err = errno;

		destroy_cqs(b);
		return rs_cm_fail(err);
	}
	id->made_cqs = true;
	a->cq = b->recv_cq;
	a->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

RS_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *base, struct ibv_srq_init_attr_ex *a)
{
	struct rs_cm_id *id = rs_cm_id(base);

	if (base->srq || !base->verbs || !id->dev)
		return rs_cm_fail(EINVAL);
	if (!a->pd || !(a->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		a->pd = base->pd ? base->pd : id->dev->pd;
		a->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if ((a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && a->srq_type == IBV_SRQT_XRC &&
	    complete_xrc(id, a))
		return -1;
	base->srq = ibv_create_srq_ex(base->verbs, a);
	if (!base->srq) {
		int err = errno;

		drop_cqs(id);
		return rs_cm_fail(err);
	}
	base->pd = a->pd;
	return 0;
}

RS_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = a->srq_context,
		.attr = a->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | (pd ? IBV_SRQ_INIT_ATTR_PD : 0),
		.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = pd};
	int rc = rdma_create_srq_ex(id, &ex);

	if (!rc)
		a->attr = ex.attr;
	return rc;
}

RS_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (!id->srq)
		return;
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	drop_cqs(rs_cm_id(id));
}
