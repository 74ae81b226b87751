/* Completion queues: polling in both styles, arming, events. IBTA §11.4.2. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "verbs/gsi.h"
#include "verbs/verbs.h"

/* What UCX looks for in a datagram's completion: the kind of its GRH (mlx5: RoCE v2 over IPv4,
 * IPv6). */
enum { SL_IPV4 = 0xa, SL_IPV6 = 0x9 };

/* Completion opcodes and flags by enum rs_wr_op. */
static const enum ibv_wc_opcode opcodes[] = {
	[RS_WR_SEND] = IBV_WC_SEND,
	[RS_WR_SEND_IMM] = IBV_WC_SEND,
	[RS_WR_WRITE] = IBV_WC_RDMA_WRITE,
	[RS_WR_WRITE_IMM] = IBV_WC_RDMA_WRITE,
	[RS_WR_READ] = IBV_WC_RDMA_READ,
	[RS_WR_CMP_SWAP] = IBV_WC_COMP_SWAP,
	[RS_WR_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[RS_WR_SEND_INV] = IBV_WC_SEND,
	[RS_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[RS_WR_BIND_MW] = IBV_WC_BIND_MW,
	[RS_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
	[RS_WR_RECV] = IBV_WC_RECV,
	[RS_WR_RECV_WRITE_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
};

static unsigned flags_of(const struct rs_cqe *e)
{
	return (e->flags & RS_CQE_INV ? IBV_WC_WITH_INV
		: e->has_imm          ? IBV_WC_WITH_IMM
				      : 0) |
	       (e->flags & RS_CQE_GRH ? IBV_WC_GRH : 0);
}

static uint8_t sl_of(const struct rs_cqe *e)
{
	if (!(e->flags & RS_CQE_GRH))
		return 0;
	return e->flags & RS_CQE_GRH_IPV6 ? SL_IPV6 : SL_IPV4;
}

static void fill_wc(const struct rs_cqe *e, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
		.wr_id = e->wr_id,
		.status = (enum ibv_wc_status)e->status,
		.opcode = opcodes[e->op],
		.vendor_err = e->status,
		.byte_len = e->bytes,
		.qp_num = e->qpn,
		.src_qp = e->src_qp,
		.wc_flags = flags_of(e),
		.sl = sl_of(e),
	};
	if (e->flags & RS_CQE_INV)
		wc->invalidated_rkey = e->imm;
	else if (e->has_imm)
		wc->imm_data = htobe32(e->imm);
}

/* ---- Events ---- */

/* Each part that was armed tells of its next completion; the first that does is the queue's. */
static void report(const struct rs_vctx *c, struct rs_vcq *v)
{
	struct rs_vchannel *ch;

	bool told = c->lanes > 1 && !v->armed;

	v->armed = RS_V_ARM_NONE;
	if (!v->ex.channel || told)
		return;
	ch = rs_container(v->ex.channel, struct rs_vchannel, base);
	rs_vevents_add(&ch->events, v, &v->events, RS_V_COMPLETION);
}

static const enum ibv_event_type event_types[] = {
	[RS_EVENT_CQ_ERR] = IBV_EVENT_CQ_ERR,
	[RS_EVENT_QP_FATAL] = IBV_EVENT_QP_FATAL,
	[RS_EVENT_QP_REQ_ERR] = IBV_EVENT_QP_REQ_ERR,
	[RS_EVENT_QP_ACCESS_ERR] = IBV_EVENT_QP_ACCESS_ERR,
	[RS_EVENT_COMM_EST] = IBV_EVENT_COMM_EST,
	[RS_EVENT_SQ_DRAINED] = IBV_EVENT_SQ_DRAINED,
	[RS_EVENT_SRQ_LIMIT] = IBV_EVENT_SRQ_LIMIT_REACHED,
	[RS_EVENT_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
};

/* Of a completion queue, or an SRQ. */
static void queue_event(struct rs_vctx *c, const struct rs_event *e)
{
	struct rs_vcq *cq = e->cq ? (struct rs_vcq *)(uintptr_t)rs_cq_get_user(e->cq) : NULL;
	struct rs_vsrq *srq = e->srq ? (struct rs_vsrq *)(uintptr_t)rs_srq_get_user(e->srq) : NULL;

	if (cq)
		rs_vevents_add(&c->async, cq, &cq->async, event_types[e->type]);
	else if (srq)
		rs_vevents_add(&c->async, srq, &srq->events, event_types[e->type]);
}

static void tell(struct rs_vctx *c, struct rs_nic *nic)
{
	struct rs_event e;
	struct rs_cq *cq;

	while ((cq = rs_nic_poll_notified(nic)) != NULL)
		report(c, (struct rs_vcq *)(uintptr_t)rs_cq_get_user(cq));
	while (rs_nic_poll_event(nic, &e)) {
		if (e.qp)
			rs_v_handle_event(c, (struct rs_vqp *)(uintptr_t)rs_qp_get_user(e.qp),
					  event_types[e.type]);
		else
			queue_event(c, &e);
	}
}

/* Whoever takes events has all lanes' locks; lanes that add some have one each. */
void rs_vcq_events(void *arg)
{
	struct rs_vlane *lane = arg;
	struct rs_vctx *c = lane->c;

	if (c->lanes > 1)
		pthread_mutex_lock(&c->telling);
	tell(c, rs_live_nic(lane->live));
	if (c->lanes > 1)
		pthread_mutex_unlock(&c->telling);
}

/* Bits of the lanes to look at: without users, the first drives what else there is. */
static uint32_t used(struct rs_vcq *v)
{
	uint32_t lanes = atomic_load(&v->used);

	return lanes ? lanes : 1;
}

/* A lane that comes in late is as the others are. */
void rs_vcq_use(struct rs_vcq *v, unsigned lane)
{
	if (atomic_fetch_or(&v->used, UINT32_C(1) << lane) & UINT32_C(1) << lane)
		return;
	rs_cq_disarm(v->cq[lane]);
	if (v->armed)
		rs_cq_arm(v->cq[lane], v->armed == RS_V_ARM_SOLICITED);
}

/* Armed for completions to come: those that lie in the queue are the application's to poll. */
int rs_v_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct rs_vctx *c = rs_vctx(cq->context);
	struct rs_vcq *v = rs_vcq(cq);
	bool told;

	rs_vctx_lock(c);
	for (unsigned i = 0; i < c->lanes && c->lanes > 1; i++)
		tell(c, rs_vctx_nic(c, i)); /* of what they were armed for before */
	told = c->lanes > 1 && v->armed == RS_V_ARM_NONE;
	if (v->armed != RS_V_ARM_NEXT)
		v->armed = solicited_only ? RS_V_ARM_SOLICITED : RS_V_ARM_NEXT;
	for (uint32_t lanes = used(v); lanes; lanes &= lanes - 1) {
		unsigned i = (unsigned)__builtin_ctz(lanes);

		/* where another part has told, this one is still as it was armed then */
		if (told)
			rs_cq_disarm(v->cq[i]);
		rs_cq_arm_unpolled(v->cq[i], solicited_only);
		tell(c, rs_vctx_nic(c, i));
		rs_live_awaited(c->lane[i].live);
	}
	rs_vctx_unlock(c);
	return 0;
}

/* ---- Polling ---- */

/* Locked: a lane's next completion. A send's gives its place in the queue back. */
static bool take(struct rs_vctx *c, struct rs_vcq *v, unsigned lane, struct rs_cqe *e)
{
	struct rs_vqp *made;
	struct rs_qp *qp;

	if (!rs_cq_poll(v->cq[lane], e, 1))
		return false;
	if (e->op == RS_WR_RECV || e->op == RS_WR_RECV_WRITE_IMM)
		return true;
	qp = rs_nic_find_qp(rs_vctx_nic(c, lane), e->qpn);
	made = qp ? (struct rs_vqp *)(uintptr_t)rs_qp_get_user(qp) : NULL;
	/* of requests without one, errors tell, too; and of what was there before a reset */
	if (made && made->told != made->signaled)
		made->told++;
	return true;
}

/* Locked: up to n completions, to wc or, one, to v->now. */
static int take_some(struct rs_vctx *c, struct rs_vcq *v, unsigned lane, int n, struct ibv_wc *wc)
{
	struct rs_cqe e;
	int got = 0;

	if (!wc)
		return take(c, v, lane, &v->now);
	while (got < n && take(c, v, lane, &e))
		fill_wc(&e, &wc[got++]);
	return got;
}

/* Locked: where there is none, what may bring some is done. */
static int poll_locked(struct rs_vctx *c, struct rs_vcq *v, unsigned lane, int n, struct ibv_wc *wc,
		       bool *busy)
{
	int got = take_some(c, v, lane, n, wc);

	*busy = true;
	if (got) {
		rs_live_polled(c->lane[lane].live);
		return got;
	}
	*busy = rs_live_progress(c->lane[lane].live);
	return take_some(c, v, lane, n, wc);
}

static int poll_lane(struct rs_vctx *c, struct rs_vcq *v, unsigned lane, int n, struct ibv_wc *wc,
		     bool yields)
{
	struct rs_live *l = c->lane[lane].live;
	bool busy;
	int got;

	rs_live_lock(l);
	got = poll_locked(c, v, lane, n, wc, &busy);
	rs_live_unlock(l);
	if (!busy)
		rs_live_rest(l, yields);
	return got;
}

enum { MISSES = 64 }; /* looks in a row at lanes whose threads have them, until one is waited for */

/* One of several lanes. False: its thread has it, and nothing waits. What waits is waited for: a
 * program that was told of it polls once, and sleeps. */
static bool lock_lane(struct rs_vcq *v, unsigned lane, struct rs_live *l)
{
	if (rs_live_trylock(l))
		return true;
	if (!rs_cq_waiting(v->cq[lane]) && atomic_fetch_add(&v->missed, 1) < MISSES)
		return false;
	atomic_store(&v->missed, 0);
	rs_live_lock(l);
	return true;
}

/* Lanes take turns at being the first. */
static int poll_lanes(struct rs_vctx *c, struct rs_vcq *v, uint32_t lanes, int n, struct ibv_wc *wc,
		      bool yields)
{
	unsigned first = atomic_fetch_add(&v->turn, 1);
	bool any_busy = false;
	int got = 0;

	for (unsigned k = 0; k < c->lanes && (wc ? got < n : !got); k++) {
		unsigned i = (first + k) % c->lanes;
		struct rs_live *l = c->lane[i].live;
		bool busy;

		if (!(lanes & UINT32_C(1) << i) || !lock_lane(v, i, l))
			continue;
		got += poll_locked(c, v, i, n - got, wc ? wc + got : NULL, &busy);
		rs_live_unlock(l);
		any_busy |= busy;
	}
	if (!got && !any_busy)
		rs_live_rest(c->live, yields);
	return got;
}

/* Up to n completions to wc; wc NULL: one to v->now. */
static int poll(struct rs_vctx *c, struct rs_vcq *v, int n, struct ibv_wc *wc, bool yields)
{
	uint32_t lanes = used(v);

	if (__builtin_expect(!(lanes & (lanes - 1)), 1))
		return poll_lane(c, v, (unsigned)__builtin_ctz(lanes), n, wc, yields);
	return poll_lanes(c, v, lanes, n, wc, yields);
}

int rs_v_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct ibv_wc none;

	return poll(rs_vctx(cq->context), rs_vcq(cq), n, wc ? wc : &none, true);
}

RS_EXPORT int rs_verbs_look(struct ibv_cq *cq, int n, struct ibv_wc *wc, bool yields)
{
	return poll(rs_vctx(cq->context), rs_vcq(cq), n, wc, yields);
}

static struct rs_vcq *of_ex(struct ibv_cq_ex *ex)
{
	return (struct rs_vcq *)(void *)ex;
}

/* What v->now has, for the program to read. */
static void show_now(struct rs_vcq *v)
{
	struct timespec t;

	v->ex.status = (enum ibv_wc_status)v->now.status;
	v->ex.wr_id = v->now.wr_id;
	clock_gettime(CLOCK_MONOTONIC, &t);
	v->timestamp = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct rs_vcq *v = of_ex(ex);

	if (attr->comp_mask)
		return EINVAL;
	if (!poll(rs_vctx(ex->context), v, 1, NULL, true))
		return ENOENT;
	show_now(v);
	return 0;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct rs_vctx *c = rs_vctx(ex->context);
	struct rs_vcq *v = of_ex(ex);
	bool found = false;

	for (uint32_t lanes = used(v); lanes && !found; lanes &= lanes - 1) {
		unsigned i = (unsigned)__builtin_ctz(lanes);

		rs_live_lock(c->lane[i].live);
		found = take(c, v, i, &v->now);
		rs_live_unlock(c->lane[i].live);
	}
	if (!found)
		return ENOENT;
	show_now(v);
	return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return opcodes[of_ex(ex)->now.op];
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return of_ex(ex)->now.status;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return of_ex(ex)->now.bytes;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	struct ibv_wc wc;

	fill_wc(&of_ex(ex)->now, &wc);
	return wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return of_ex(ex)->now.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	struct ibv_wc wc;

	fill_wc(&of_ex(ex)->now, &wc);
	return wc.src_qp;
}

static unsigned read_wc_flags(struct ibv_cq_ex *ex)
{
	return flags_of(&of_ex(ex)->now);
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	struct ibv_wc wc;

	fill_wc(&of_ex(ex)->now, &wc);
	return wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return of_ex(ex)->timestamp;
}

static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	return 0;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	return 0;
}

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	memset(info, 0, sizeof(*info));
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void fill_ops(struct ibv_cq_ex *ex)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	ex->read_completion_ts = read_completion_ts;
	ex->read_cvlan = read_cvlan;
	ex->read_flow_tag = read_flow_tag;
	ex->read_tm_info = read_tm_info;
	ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

/* ---- Life ---- */

/* Locked. Those that were made. */
static void destroy_parts(struct rs_vctx *c, struct rs_vcq *v)
{
	for (unsigned i = 0; i < c->lanes && v->cq[i]; i++)
		rs_nic_destroy_cq(rs_vctx_nic(c, i), v->cq[i]);
}

/* Locked. Each may hold as many as the whole: which lane completes them is not said. */
static int create_parts(struct rs_vctx *c, struct rs_vcq *v, uint32_t cqe)
{
	for (unsigned i = 0; i < c->lanes; i++) {
		int err = rs_nic_create_cq(rs_vctx_nic(c, i), cqe, &v->cq[i]);

		if (err) {
			destroy_parts(c, v);
			return err;
		}
		rs_cq_set_user(v->cq[i], (uintptr_t)v);
	}
	return 0;
}

/* Locked. All, or none. */
static int resize_parts(struct rs_vctx *c, struct rs_vcq *v, uint32_t cqe)
{
	uint32_t waiting = 0;

	for (unsigned i = 0; i < c->lanes; i++)
		waiting += rs_cq_waiting(v->cq[i]);
	if (waiting > cqe)
		return -EINVAL;
	for (unsigned i = 0; i < c->lanes; i++) {
		int err = rs_cq_resize(v->cq[i], cqe);

		if (!err)
			continue;
		while (i-- > 0)
			rs_cq_resize(v->cq[i], (uint32_t)v->ex.cqe);
		return err;
	}
	return 0;
}

/* Locked. */
static bool in_use(const struct rs_vctx *c, const struct rs_vcq *v)
{
	bool any = false;

	for (unsigned i = 0; i < c->lanes; i++)
		any |= rs_cq_in_use(v->cq[i]);
	return any;
}

static struct rs_vcq *create(struct ibv_context *context, uint32_t cqe, void *cq_context,
			     struct ibv_comp_channel *channel, uint32_t vector)
{
	struct rs_vctx *c = rs_vctx(context);
	struct rs_vcq *v;
	int err;

	if (!cqe || cqe > RS_V_MAX_CQE || vector >= (uint32_t)context->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	v = calloc(1, sizeof(*v));
	if (!v) {
		errno = ENOMEM;
		return NULL;
	}
	rs_vctx_lock(c);
	err = create_parts(c, v, cqe);
	v->ex.handle = c->next_handle++;
	if (!err && channel)
		channel->refcnt++;
	rs_vctx_unlock(c);
	if (err) {
		free(v);
		errno = -err;
		return NULL;
	}
	v->ex.context = context;
	v->ex.channel = channel;
	v->ex.cq_context = cq_context;
	v->ex.cqe = (int)cqe;
	pthread_mutex_init(&v->ex.mutex, NULL);
	pthread_cond_init(&v->ex.cond, NULL);
	fill_ops(&v->ex);
	return v;
}

RS_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				       struct ibv_comp_channel *channel, int vector)
{
	struct rs_vcq *v;

	if (cqe <= 0 || vector < 0) {
		errno = EINVAL;
		return NULL;
	}
	v = create(context, (uint32_t)cqe, cq_context, channel, (uint32_t)vector);
	return v ? ibv_cq_ex_to_cq(&v->ex) : NULL;
}

struct ibv_cq_ex *rs_v_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *a)
{
	static const uint64_t fields = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct rs_vcq *v;

	if ((a->wc_flags & ~fields) ||
	    (a->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	v = create(context, a->cqe, a->cq_context, a->channel, a->comp_vector);
	return v ? &v->ex : NULL;
}

/* Moderation delays events for fewer interrupts: there are none here. */
int rs_v_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *a)
{
	return EOPNOTSUPP;
}

RS_EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct rs_vctx *c = rs_vctx(cq->context);
	struct rs_vcq *v = rs_vcq(cq);
	int err;

	if (cqe <= 0 || cqe > RS_V_MAX_CQE)
		return EINVAL;
	rs_vctx_lock(c);
	err = resize_parts(c, v, (uint32_t)cqe);
	if (!err)
		v->ex.cqe = cqe;
	rs_vctx_unlock(c);
	return -err;
}

RS_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct rs_vctx *c = rs_vctx(cq->context);
	struct rs_vcq *v = rs_vcq(cq);

	rs_vctx_lock(c);
	if (in_use(c, v)) {
		rs_vctx_unlock(c);
		return EBUSY;
	}
	destroy_parts(c, v);
	if (v->ex.channel) {
		rs_vevents_drop(&rs_container(v->ex.channel, struct rs_vchannel, base)->events,
				&v->events);
		v->ex.channel->refcnt--;
	}
	rs_vevents_drop(&c->async, &v->async);
	rs_vctx_unlock(c);
	rs_vevents_wait_acks(&cq->mutex, &cq->cond, &cq->comp_events_completed, v->events_got);
	rs_vevents_wait_acks(&cq->mutex, &cq->cond, &cq->async_events_completed, v->async_got);
	free(v);
	return 0;
}
