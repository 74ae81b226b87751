/*
 * XRC domains, and target queue pairs that are opened by their number: several handles of one queue
 * pair, which lives until the last is destroyed. IBTA volume 1, annex A14; ibv_open_qp(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "verbs/verbs.h"

/* ---- Domains ---- */

/* The domain that a file names, within this context; -1: a private one. */
static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *a)
{
	static const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct rs_vctx *c = rs_vctx(context);
	struct stat file = {0};
	struct rs_vxrcd *x, *same;

	if ((a->comp_mask & needed) != needed || (a->fd >= 0 && fstat(a->fd, &file))) {
		errno = EINVAL;
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	if (!x) {
		errno = ENOMEM;
		return NULL;
	}
	x->base.context = context;
	x->inode = (uint64_t)file.st_ino;
	x->volume = (uint64_t)file.st_dev;
	rs_vctx_lock(c);
	for (same = c->xrcds;
	     same && (!x->inode || same->inode != x->inode || same->volume != x->volume);
	     same = same->next)
		;
	if (same ? a->oflags & O_EXCL : x->inode && !(a->oflags & O_CREAT)) {
		rs_vctx_unlock(c);
		free(x);
		errno = same ? EINVAL : EAGAIN;
		return NULL;
	}
	x->number = same ? same->number : ++c->next_xrcd;
	rs_vlist_add(&c->xrcds, x);
	rs_vctx_unlock(c);
	return &x->base;
}

static int close_xrcd(struct ibv_xrcd *base)
{
	struct rs_vxrcd *x = rs_vxrcd(base);
	struct rs_vctx *c = rs_vctx(base->context);
	bool busy;

	rs_vctx_lock(c);
	busy = x->refs != 0;
	if (!busy)
		rs_vlist_remove(x);
	rs_vctx_unlock(c);
	if (busy)
		return EBUSY;
	free(x);
	return 0;
}

/* ---- Handles ---- */

void rs_v_handle_add(struct rs_vqp *made, struct rs_vqp *handle)
{
	handle->made = made;
	rs_vlist_add(&made->first, handle);
	made->handles++;
}

bool rs_v_handle_remove(struct rs_vqp *handle)
{
	rs_vlist_remove(handle);
	return !handle->made->first;
}

/* The maker's memory holds the queue pair's attributes: it goes last. */
void rs_v_handle_free(struct rs_vctx *c, struct rs_vqp *handle)
{
	struct rs_vqp *made = handle->made;
	bool last;

	rs_vctx_lock(c);
	last = !--made->handles;
	rs_vctx_unlock(c);
	if (handle != made)
		free(handle);
	if (last)
		free(made);
}

void rs_v_handle_event(struct rs_vctx *c, struct rs_vqp *made, enum ibv_event_type type)
{
	for (struct rs_vqp *h = made->first; h; h = h->next)
		rs_vevents_add(&c->async, h, &h->events, type);
}

/* Locked. A target of this domain, by its number; NULL: there is none. */
static struct rs_vqp *find_target(struct rs_vctx *c, uint32_t qpn, const struct rs_vxrcd *x)
{
	struct rs_qp *e = rs_nic_find_qp(rs_live_nic(c->live), qpn);
	struct rs_vqp *made = e ? (struct rs_vqp *)(uintptr_t)rs_qp_get_user(e) : NULL;

	return made && made->ex.qp_base.qp_type == IBV_QPT_XRC_RECV && made->domain == x->number
		       ? made
		       : NULL;
}

static void fill(struct rs_vqp *h, struct ibv_context *context, const struct ibv_qp_open_attr *a)
{
	struct ibv_qp *b = &h->ex.qp_base;

	b->context = context;
	b->qp_context = a->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? a->qp_context : NULL;
	b->qp_num = b->handle = a->qp_num;
	b->qp_type = IBV_QPT_XRC_RECV;
	pthread_mutex_init(&b->mutex, NULL);
	pthread_cond_init(&b->cond, NULL);
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *a)
{
	static const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct rs_vctx *c = rs_vctx(context);
	struct rs_vqp *made = NULL, *h;

	if (a->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if ((a->comp_mask & needed) != needed || a->qp_type != IBV_QPT_XRC_RECV || !a->xrcd) {
		errno = EINVAL;
		return NULL;
	}
	h = calloc(1, sizeof(*h));
	if (!h) {
		errno = ENOMEM;
		return NULL;
	}
	fill(h, context, a);
	rs_vctx_lock(c);
	if (a->xrcd->context == context)
		made = find_target(c, a->qp_num, rs_vxrcd(a->xrcd));
	if (made) {
		h->qp = made->qp;
		h->lane = made->lane;
		h->live = made->live;
		h->domain = made->domain;
		h->xrcd = rs_vxrcd(a->xrcd);
		h->xrcd->refs++;
		h->ex.qp_base.state = (enum ibv_qp_state)rs_qp_get_state(h->qp);
		rs_v_handle_add(made, h);
	}
	rs_vctx_unlock(c);
	if (made)
		return &h->ex.qp_base;
	free(h);
	errno = EINVAL;
	return NULL;
}

void rs_v_fill_xrc_ops(struct verbs_context *v)
{
	v->open_xrcd = open_xrcd;
	v->close_xrcd = close_xrcd;
	v->open_qp = open_qp;
}
