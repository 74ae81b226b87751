/* Queue pairs: creation, the states and their attributes (IBTA §11.2.5, tables of §10.3.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/verbs.h"

/* ---- Which attributes a transition needs, and which it may have: §11.2.5.2 ---- */

struct transition {
	uint8_t from, to;
	uint8_t types; /* bits of services */
	int needs, may;
};

enum { RC = 1, UC = 2, UD = 4, XRC = 8 };
enum {
	ALT = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE,
	RTR_CONNECTED = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RTR_RELIABLE = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS_RELIABLE =
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	ANY_STATE = IBV_QP_CUR_STATE,
};

static const struct transition transitions[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
	{IBV_QPS_RESET, IBV_QPS_INIT, RC | UC | XRC,
	 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	{IBV_QPS_INIT, IBV_QPS_INIT, RC | UC | XRC, 0,
	 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_INIT, IBV_QPS_RTR, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{IBV_QPS_INIT, IBV_QPS_RTR, UC, RTR_CONNECTED,
	 ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_INIT, IBV_QPS_RTR, RC | XRC, RTR_CONNECTED | RTR_RELIABLE,
	 ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_RTR, IBV_QPS_RTS, UD, IBV_QP_SQ_PSN, ANY_STATE | IBV_QP_QKEY},
	{IBV_QPS_RTR, IBV_QPS_RTS, UC, IBV_QP_SQ_PSN, ANY_STATE | ALT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_RTR, IBV_QPS_RTS, RC | XRC, IBV_QP_SQ_PSN | RTS_RELIABLE,
	 ANY_STATE | ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
	{IBV_QPS_RTS, IBV_QPS_RTS, UD, 0, ANY_STATE | IBV_QP_QKEY},
	{IBV_QPS_RTS, IBV_QPS_RTS, UC, 0, ANY_STATE | ALT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_RTS, IBV_QPS_RTS, RC | XRC, 0,
	 ANY_STATE | ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
	{IBV_QPS_RTS, IBV_QPS_SQD, RC | UC | UD | XRC, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, UD, 0, ANY_STATE | IBV_QP_QKEY},
	{IBV_QPS_SQD, IBV_QPS_RTS, UC, 0, ANY_STATE | ALT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_SQD, IBV_QPS_RTS, RC | XRC, 0,
	 ANY_STATE | ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
	{IBV_QPS_SQD, IBV_QPS_SQD, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{IBV_QPS_SQD, IBV_QPS_SQD, UC, 0,
	 IBV_QP_AV | ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_SQD, IBV_QPS_SQD, RC | XRC, 0,
	 IBV_QP_PORT | IBV_QP_AV | RTS_RELIABLE | RTR_RELIABLE | ALT | IBV_QP_ACCESS_FLAGS |
		 IBV_QP_PKEY_INDEX},
	{IBV_QPS_SQE, IBV_QPS_RTS, UD, 0, ANY_STATE | IBV_QP_QKEY},
	{IBV_QPS_SQE, IBV_QPS_RTS, UC, 0, ANY_STATE | IBV_QP_ACCESS_FLAGS},
};

static uint8_t service_of(enum ibv_qp_type t)
{
	switch (t) {
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_UC:
		return UC;
	case IBV_QPT_UD:
		return UD;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return XRC;
	default:
		return 0;
	}
}

/* An XRC target has no requester, an initiator no responder: §11.2.5.2 with annex A14. */
static int not_needed(enum ibv_qp_type t)
{
	if (t == IBV_QPT_XRC_SEND)
		return RTR_RELIABLE;
	return t == IBV_QPT_XRC_RECV ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
				     : 0;
}

static bool mask_valid(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		       int mask)
{
	int given = mask & ~IBV_QP_STATE;

	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return !(given & ~ANY_STATE);
	for (unsigned i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];
		int needs = t->needs & ~not_needed(type);

		if (t->from != from || t->to != to || !(t->types & service_of(type)))
			continue;
		return (given & needs) == needs && !(given & ~(t->needs | t->may));
	}
	return false;
}

static bool values_valid(const struct rs_vqp *qp, const struct ibv_qp_attr *a, int mask)
{
	if ((mask & IBV_QP_PORT) && a->port_num != RS_V_PORT)
		return false;
	if ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index)
		return false;
	if ((mask & IBV_QP_CUR_STATE) && a->cur_qp_state != qp->attr.qp_state)
		return false;
	if ((mask & IBV_QP_PATH_MTU) && (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096))
		return false;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > RS_V_MAX_RD_ATOMIC)
		return false;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > RS_V_MAX_RD_ATOMIC)
		return false;
	if ((mask & IBV_QP_AV) && !a->ah_attr.is_global)
		return false;
	return !(mask & IBV_QP_PATH_MIG_STATE) || a->path_mig_state == IBV_MIG_MIGRATED;
}

static void remember(struct ibv_qp_attr *to, const struct ibv_qp_attr *a, int mask)
{
	static const struct {
		int bit;
		size_t offset, size;
	} fields[] = {
#define FIELD(bit, name) \
	{bit, offsetof(struct ibv_qp_attr, name), sizeof(((struct ibv_qp_attr *)0)->name)}
		FIELD(IBV_QP_ACCESS_FLAGS, qp_access_flags),
		FIELD(IBV_QP_PKEY_INDEX, pkey_index),
		FIELD(IBV_QP_PORT, port_num),
		FIELD(IBV_QP_QKEY, qkey),
		FIELD(IBV_QP_AV, ah_attr),
		FIELD(IBV_QP_PATH_MTU, path_mtu),
		FIELD(IBV_QP_TIMEOUT, timeout),
		FIELD(IBV_QP_RETRY_CNT, retry_cnt),
		FIELD(IBV_QP_RNR_RETRY, rnr_retry),
		FIELD(IBV_QP_RQ_PSN, rq_psn),
		FIELD(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
		FIELD(IBV_QP_MIN_RNR_TIMER, min_rnr_timer),
		FIELD(IBV_QP_SQ_PSN, sq_psn),
		FIELD(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
		FIELD(IBV_QP_DEST_QPN, dest_qp_num),
#undef FIELD
	};

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (mask & fields[i].bit)
			memcpy((char *)to + fields[i].offset, (const char *)a + fields[i].offset,
			       fields[i].size);
}

enum { ECT0 = 2, DSCP = 0xfc };

/* ibv_qp_attr_mask's bits are enum rs_qp_mask; the engine has no use for the others. */
#define ENGINE_MASK                                                                           \
	((uint32_t)(RS_QP_EN_SQD_NOTIFY | RS_QP_ACCESS | RS_QP_PKEY | RS_QP_QKEY | RS_QP_AV | \
		    RS_QP_PATH_MTU | RS_QP_TIMEOUT | RS_QP_RETRY_CNT | RS_QP_RNR_RETRY |      \
		    RS_QP_RQ_PSN | RS_QP_MAX_RD_ATOMIC | RS_QP_MIN_RNR_TIMER | RS_QP_SQ_PSN | \
		    RS_QP_MAX_DEST_RD_ATOMIC | RS_QP_DEST_QPN))

/* What an address handle says, as the engine takes it. */
struct rs_ah rs_v_ah(struct ibv_ah *ah, unsigned lane)
{
	return (struct rs_ah){
		.endpoint = rs_vah(ah)->endpoint[lane],
		.sport = RS_UDP_PORT,
		.tos = (uint8_t)((rs_vah(ah)->attr.grh.traffic_class & DSCP) | ECT0),
	};
}

static struct rs_qp_attr engine_attr(const struct rs_vqp *qp, const struct ibv_qp_attr *a)
{
	return (struct rs_qp_attr){
		.dest_endpoint = qp->endpoint,
		.dest_qpn = a->dest_qp_num & RS_QPN_MASK,
		.sq_psn = a->sq_psn & RS_PSN_MASK,
		.rq_psn = a->rq_psn & RS_PSN_MASK,
		.path_mtu = (uint16_t)(a->path_mtu ? 128 << a->path_mtu : 1024),
		.sport = RS_UDP_PORT,
		.pkey = 0xffff,
		.tos = (uint8_t)((a->ah_attr.grh.traffic_class & DSCP) | ECT0),
		.timeout = a->timeout & 31,
		.retry_cnt = a->retry_cnt & 7,
		.rnr_retry = a->rnr_retry & 7,
		.min_rnr_timer = a->min_rnr_timer & 31,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.access = a->qp_access_flags & 15u,
		.qkey = a->qkey,
		.sqd_notify = a->en_sqd_async_notify,
	};
}

/* ---- Modify and query ---- */

static void drop_path(struct rs_vqp *qp)
{
	if (qp->has_path)
		rs_live_path_put(qp->live, qp->endpoint);
	qp->has_path = false;
}

/* Locked. A reset QP starts anew: its completions leave the queues. */
static void reset(struct rs_vqp *qp)
{
	rs_qp_modify(rs_live_nic(qp->live), qp->qp, RS_QPS_RESET, NULL, rs_live_now(qp->live));
	rs_live_settle(qp->live);
	rs_live_left(qp->live, qp->qp);
	if (qp->ex.qp_base.send_cq)
		rs_cq_forget(rs_vcq(qp->ex.qp_base.send_cq)->cq[qp->lane], rs_qp_num(qp->qp));
	if (qp->ex.qp_base.recv_cq)
		rs_cq_forget(rs_vcq(qp->ex.qp_base.recv_cq)->cq[qp->lane], rs_qp_num(qp->qp));
	qp->told = qp->signaled;
	drop_path(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
}

/* Locked. The state that the engine may have changed by itself. */
static enum ibv_qp_state refresh(struct rs_vqp *qp)
{
	enum ibv_qp_state s = (enum ibv_qp_state)rs_qp_get_state(qp->qp);

	qp->attr.qp_state = qp->attr.cur_qp_state = s;
	qp->ex.qp_base.state = s;
	return s;
}

static int modify(struct rs_vqp *qp, const struct ibv_qp_attr *a, int mask)
{
	enum ibv_qp_state from = refresh(qp);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? a->qp_state : from;
	struct ibv_qp_attr all = qp->attr;
	struct rs_qp_attr e;
	int err;

	if (!mask_valid(qp->ex.qp_base.qp_type, from, to, mask) || !values_valid(qp, a, mask))
		return EINVAL;
	if (to == IBV_QPS_RESET) {
		reset(qp);
		return 0;
	}
	remember(&all, a, mask);
	if (mask & IBV_QP_AV) {
		uint32_t endpoint;

		err = rs_live_path_get(qp->live, a->ah_attr.grh.sgid_index, a->ah_attr.grh.dgid.raw,
				       &endpoint);
		if (err)
			return -err;
		drop_path(qp);
		qp->endpoint = endpoint;
		qp->has_path = true;
	}
	all.en_sqd_async_notify = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) && a->en_sqd_async_notify;
	e = engine_attr(qp, &all);
	e.tc = (uint8_t)rs_live_class(qp->live, e.tos);
	err = rs_qp_modify_mask(rs_live_nic(qp->live), qp->qp, (enum rs_qp_state)to, &e,
				(uint32_t)mask & ENGINE_MASK, rs_live_now(qp->live));
	if (err)
		return -err;
	qp->attr = all;
	if (to == IBV_QPS_RTR && mask & IBV_QP_AV && mask & IBV_QP_DEST_QPN)
		rs_live_connected(qp->live, qp->endpoint, a->dest_qp_num);
	if (to == IBV_QPS_ERR)
		rs_live_settle(qp->live);
	rs_live_kick(qp->live);
	return 0;
}

RS_EXPORT int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *a, int mask)
{
	struct rs_vctx *c = rs_vctx(base->context);
	struct rs_vqp *qp = rs_vqp(base)->made;
	int err;

	rs_vctx_lock(c);
	err = modify(qp, a, mask);
	base->state = refresh(qp);
	rs_vctx_unlock(c);
	return err;
}

RS_EXPORT int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *a, int mask,
			   struct ibv_qp_init_attr *init)
{
	struct rs_vctx *c = rs_vctx(base->context);
	struct rs_vqp *qp = rs_vqp(base)->made;
	struct rs_qp_attr e;

	rs_vctx_lock(c);
	base->state = refresh(qp);
	*a = qp->attr;
	if (qp->attr.qp_state >= IBV_QPS_RTR && qp->attr.qp_state <= IBV_QPS_SQE) {
		rs_qp_query(qp->qp, &e);
		a->sq_psn = qp->attr.qp_state >= IBV_QPS_RTS ? e.sq_psn : 0;
		a->rq_psn = e.rq_psn;
	}
	rs_vctx_unlock(c);
	a->cap = qp->cap;
	a->path_mig_state = IBV_MIG_MIGRATED;
	*init = (struct ibv_qp_init_attr){
		.qp_context = base->qp_context,
		.send_cq = base->send_cq,
		.recv_cq = base->recv_cq,
		.srq = base->srq,
		.cap = qp->cap,
		.qp_type = base->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	return 0;
}

RS_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0; /* a lost packet's bytes come after its followers' are dropped, but not promised
		   */
}

/* No options of the connection are negotiated (IBTA A20). */
RS_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return ece->options || ece->comp_mask ? EOPNOTSUPP : 0;
}

RS_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	memset(ece, 0, sizeof(*ece));
	return 0;
}

/* ---- Life ---- */

static bool caps_valid(const struct ibv_qp_cap *cap)
{
	return cap->max_send_wr <= RS_V_MAX_WR && cap->max_recv_wr <= RS_V_MAX_WR &&
	       cap->max_send_sge <= RS_V_MAX_SGE && cap->max_recv_sge <= RS_V_MAX_SGE &&
	       cap->max_inline_data <= RS_V_MAX_INLINE;
}

static void grant(struct rs_vqp *qp, const struct ibv_qp_init_attr_ex *a)
{
	qp->cap = a->cap;
	if (!qp->cap.max_send_wr)
		qp->cap.max_send_wr = 1;
	if (!qp->cap.max_send_sge)
		qp->cap.max_send_sge = 1;
	if (!qp->cap.max_recv_sge)
		qp->cap.max_recv_sge = 1;
	if (a->srq || a->qp_type == IBV_QPT_XRC_SEND)
		qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
	if (a->qp_type == IBV_QPT_XRC_RECV)
		qp->cap = (struct ibv_qp_cap){0};
}

static const uint8_t transports[] = {
	[IBV_QPT_RC] = RS_RC,        [IBV_QPT_UC] = RS_UC,        [IBV_QPT_UD] = RS_UD,
	[IBV_QPT_XRC_SEND] = RS_XRC, [IBV_QPT_XRC_RECV] = RS_XRC,
};

/* Locked. That of its SRQ; connected queue pairs are spread, datagrams and XRC are in the first. */
static unsigned lane_of(struct rs_vctx *c, const struct ibv_qp_init_attr_ex *a)
{
	if (a->qp_type != IBV_QPT_XRC_RECV && a->srq)
		return rs_vsrq(a->srq)->lane;
	return a->qp_type == IBV_QPT_RC || a->qp_type == IBV_QPT_UC ? rs_vctx_next_lane(c) : 0;
}

/* Locked. The queues that an XRC target was given say nothing: libfabric gives it some. */
static int make_engine_qp(struct rs_vctx *c, struct rs_vqp *qp, const struct ibv_qp_init_attr_ex *a)
{
	bool target = a->qp_type == IBV_QPT_XRC_RECV;
	bool receives = !target && a->qp_type != IBV_QPT_XRC_SEND;
	unsigned lane = lane_of(c, a);
	struct rs_live *live = c->lane[lane].live;
	struct rs_qp_init i = {
		.pd = qp->pd ? qp->pd->number : 0,
		.send_cq = a->send_cq && !target ? rs_vcq(a->send_cq)->cq[lane] : NULL,
		.recv_cq = a->recv_cq && receives ? rs_vcq(a->recv_cq)->cq[lane] : NULL,
		.max_send_wr = qp->cap.max_send_wr,
		.max_recv_wr = qp->cap.max_recv_wr,
		.max_send_sge = (uint8_t)qp->cap.max_send_sge,
		.max_recv_sge = (uint8_t)qp->cap.max_recv_sge,
		.transport = transports[a->qp_type],
		.xrc_target = target,
		.xrcd = qp->domain,
		.srq = a->srq && !target ? rs_vsrq(a->srq)->srq : NULL,
		.max_inline = qp->cap.max_inline_data > rs_v_build_inline(qp)
				      ? qp->cap.max_inline_data
				      : rs_v_build_inline(qp),
		.sq_sig_all = a->sq_sig_all,
		.recovery = a->qp_type == IBV_QPT_RC && rs_live_selective(live)
				    ? &rs_recovery_selective
				    : NULL,
	};

	qp->lane = lane;
	qp->live = live;
	return rs_nic_create_qp(rs_live_nic(live), &i, &qp->qp);
}

/* An XRC target has a domain in place of a PD and CQs: annex A14. */
static int check_init(const struct ibv_qp_init_attr_ex *a)
{
	static const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
				      IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	bool target = a->qp_type == IBV_QPT_XRC_RECV;

	if ((a->comp_mask & ~known) || !service_of(a->qp_type) ||
	    ((a->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && a->create_flags))
		return EOPNOTSUPP;
	if (target)
		return (a->comp_mask & IBV_QP_INIT_ATTR_XRCD) && a->xrcd ? 0 : EINVAL;
	if (!(a->comp_mask & IBV_QP_INIT_ATTR_PD) || !a->pd || !a->send_cq ||
	    (!a->recv_cq && a->qp_type != IBV_QPT_XRC_SEND) || !caps_valid(&a->cap))
		return EINVAL;
	return 0;
}

static void fill_base(struct rs_vctx *c, struct rs_vqp *qp, const struct ibv_qp_init_attr_ex *a)
{
	struct ibv_qp *b = &qp->ex.qp_base;

	b->context = &c->v.context;
	b->qp_context = a->qp_context;
	b->pd = qp->pd ? &qp->pd->base : NULL;
	b->send_cq = qp->xrcd ? NULL : a->send_cq;
	b->recv_cq = qp->xrcd ? NULL : a->recv_cq;
	b->srq = qp->xrcd ? NULL : a->srq;
	b->qp_num = rs_qp_num(qp->qp);
	b->handle = b->qp_num;
	b->state = IBV_QPS_RESET;
	b->qp_type = a->qp_type;
	pthread_mutex_init(&b->mutex, NULL);
	pthread_cond_init(&b->cond, NULL);
}

/* Locked. What must not go before the QP, beside its queues, where the engine counts it. */
static void count_refs(struct rs_vqp *qp, int by)
{
	if (qp->xrcd)
		qp->xrcd->refs += (uint32_t)by;
	if (qp->pd)
		qp->pd->refs += (uint32_t)by;
}

/* Locked: from here on the engine's events find it. */
static void made(struct rs_vctx *c, struct rs_vqp *qp, const struct ibv_qp_init_attr_ex *a)
{
	fill_base(c, qp, a);
	rs_v_handle_add(qp, qp);
	rs_qp_set_user(qp->qp, (uintptr_t)qp);
	if (qp->ex.qp_base.send_cq)
		rs_vcq_use(rs_vcq(qp->ex.qp_base.send_cq), qp->lane);
	if (qp->ex.qp_base.recv_cq)
		rs_vcq_use(rs_vcq(qp->ex.qp_base.recv_cq), qp->lane);
	count_refs(qp, 1);
}

struct ibv_qp *rs_v_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *a)
{
	struct rs_vctx *c = rs_vctx(context);
	int err = check_init(a);
	struct rs_vqp *qp = err ? NULL : calloc(1, sizeof(*qp));

	if (!qp) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	qp->pd = a->comp_mask & IBV_QP_INIT_ATTR_PD && a->pd ? rs_vpd(a->pd) : NULL;
	qp->xrcd = a->qp_type == IBV_QPT_XRC_RECV ? rs_vxrcd(a->xrcd) : NULL;
	qp->domain = qp->xrcd ? qp->xrcd->number : 0;
	qp->sq_sig_all = a->sq_sig_all;
	grant(qp, a);
	err = rs_v_build_init(qp, a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? a->send_ops_flags
										 : 0);
	if (!err) {
		rs_vctx_lock(c);
		err = make_engine_qp(c, qp, a);
		if (!err)
			made(c, qp, a);
		rs_vctx_unlock(c);
	}
	if (err) {
		rs_v_build_fini(qp);
		free(qp);
		errno = -err;
		return NULL;
	}
	a->cap = qp->cap;
	return &qp->ex.qp_base;
}

RS_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = a->qp_context,
		.send_cq = a->send_cq,
		.recv_cq = a->recv_cq,
		.srq = a->srq,
		.cap = a->cap,
		.qp_type = a->qp_type,
		.sq_sig_all = a->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = rs_v_create_qp_ex(pd->context, &ex);

	if (qp)
		a->cap = ex.cap;
	return qp;
}

RS_EXPORT int ibv_destroy_qp(struct ibv_qp *base)
{
	struct rs_vctx *c = rs_vctx(base->context);
	struct rs_vqp *qp = rs_vqp(base);

	rs_vctx_lock(c);
	if (rs_v_handle_remove(qp)) {
		reset(qp->made);
		rs_nic_destroy_qp(rs_live_nic(qp->live), qp->qp);
	}
	rs_vevents_drop(&c->async, &qp->events);
	count_refs(qp, -1);
	rs_vctx_unlock(c);
	rs_vevents_wait_acks(&base->mutex, &base->cond, &base->events_completed, qp->events_got);
	rs_v_build_fini(qp);
	rs_v_handle_free(c, qp);
	return 0;
}

RS_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *base)
{
	struct rs_vqp *qp = rs_vqp(base);

	return qp->build ? &qp->ex : NULL;
}
