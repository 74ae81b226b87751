/* Memory windows: IBTA §10.6.7, §11.2.8.10. */
#include <errno.h>
#include <stdlib.h>
#include "verbs/verbs.h"

/* A remote key's low byte is the application's in a window of type 2. */
enum { KEY_VARIANT = 0xff };

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct rs_vctx *c = rs_vctx(pd->context);
	struct rs_nic *nic;
	struct rs_vmw *mw;
	int err;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
		errno = EINVAL;
		return NULL;
	}
	mw = calloc(1, sizeof(*mw));
	if (!mw) {
		errno = ENOMEM;
		return NULL;
	}
	nic = rs_vctx_lock(c);
	err = rs_nic_alloc_mw(nic, rs_vpd(pd)->number, (unsigned)type, &mw->base.rkey);
	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = rs_nic_copy_mr(rs_vctx_nic(c, i), nic, mw->base.rkey);
	mw->base.handle = c->next_handle++;
	if (!err)
		rs_vpd(pd)->refs++;
	rs_vctx_unlock(c);
	if (err) {
		free(mw);
		errno = -err;
		return NULL;
	}
	mw->base.context = pd->context;
	mw->base.pd = pd;
	mw->base.type = type;
	return &mw->base;
}

static int dealloc_mw(struct ibv_mw *base)
{
	struct rs_vctx *c = rs_vctx(base->context);
	int err = rs_nic_dealloc_mw(rs_vctx_lock(c), base->rkey);

	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = rs_nic_dealloc_mw(rs_vctx_nic(c, i), base->rkey);
	if (!err)
		rs_vpd(base->pd)->refs--;
	rs_vctx_unlock(c);
	if (err)
		return -err;
	free(rs_container(base, struct rs_vmw, base));
	return 0;
}

struct rs_bind rs_v_bind(const struct ibv_mw_bind_info *i)
{
	return (struct rs_bind){
		.va = i->addr,
		.length = i->length,
		.mr_key = i->mr ? rs_vmr(i->mr)->key : 0,
		.access = i->mw_access_flags & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED),
	};
}

/* Type 1: the bind gives the window its next key, which the caller sees at once (§11.4.4). */
static int bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct rs_vctx *c = rs_vctx(base->context);
	uint32_t key = (mw->rkey & ~(uint32_t)KEY_VARIANT) | ((mw->rkey + 1) & KEY_VARIANT);
	struct rs_send_wr wr = {
		.wr_id = bind->wr_id,
		.op = RS_WR_BIND_MW,
		.flags = rs_v_flags(bind->send_flags),
		.rkey = key,
		.bind = rs_v_bind(&bind->bind_info),
	};
	struct rs_vqp *qp = rs_vqp(base);
	int err;

	if (mw->type != IBV_MW_TYPE_1 || (bind->bind_info.length && !bind->bind_info.mr) ||
	    (bind->bind_info.mr && bind->bind_info.mr->pd != mw->pd))
		return EINVAL;
	rs_vctx_lock(c);
	err = rs_v_post_request(qp, &wr);
	if (!err)
		mw->rkey = key;
	/* the others' queue pairs are to hear the key, too, which nobody knows yet */
	for (unsigned i = 0; i < c->lanes && !err; i++)
		if (i != qp->lane)
			rs_nic_bind_mw(rs_vctx_nic(c, i), rs_vpd(mw->pd)->number, key, &wr.bind);
	rs_live_kick(qp->live);
	rs_vctx_unlock(c);
	return err;
}

void rs_v_fill_window_ops(struct verbs_context *v)
{
	v->context.ops.alloc_mw = alloc_mw;
	v->context.ops.bind_mw = bind_mw;
	v->context.ops.dealloc_mw = dealloc_mw;
}
