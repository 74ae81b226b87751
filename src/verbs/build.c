/* Posting in the new style: ibv_wr_start() .. ibv_wr_complete() gather requests under the lock, and
 * post all or none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/verbs.h"

enum {
	ATOMIC_BYTES = 8,
	BUILD_MAX = RS_V_MAX_WR,
	OPS = (IBV_QP_EX_WITH_TSO - 1) | IBV_QP_EX_WITH_ATOMIC_WRITE
};

struct request {
	struct rs_send_wr wr;
	uint32_t sge, n_sge;     /* in the list of SGEs */
	uint32_t bytes, n_bytes; /* in the inline bytes */
	bool is_inline, has_data;
};

/* What was gathered since ibv_wr_start(). */
struct rs_vbuild {
	uint64_t ops;
	pthread_mutex_t lock; /* from ibv_wr_start() to its end; not the device's: the application
			       * may call other verbs in between */
	struct request *request;
	struct rs_sge *sge;
	uint8_t *bytes;
	uint32_t n, n_sge, n_bytes;
	uint32_t size, sge_size, bytes_size;
	int err;
};

static struct rs_vbuild *of(struct ibv_qp_ex *ex)
{
	return ((struct rs_vqp *)(void *)ex)->build;
}

/* Room for n more in an array that doubles. */
static bool grow(void **array, uint32_t *size, uint32_t used, uint32_t more, size_t each)
{
	uint32_t to = *size ? *size : 16;
	void *p;

	if (used + more <= *size)
		return true;
	while (to < used + more)
		to *= 2;
	p = realloc(*array, to * each);
	if (!p)
		return false;
	*array = p;
	*size = to;
	return true;
}

static struct request *last(struct rs_vbuild *b)
{
	return b->n ? &b->request[b->n - 1] : NULL;
}

static struct request *add(struct ibv_qp_ex *ex, uint64_t bit, uint8_t op)
{
	struct rs_vbuild *b = of(ex);
	struct request *r;

	if (!(b->ops & bit))
		b->err = b->err ? b->err : EINVAL;
	if (b->n >= BUILD_MAX ||
	    !grow((void **)&b->request, &b->size, b->n, 1, sizeof(*b->request)))
		b->err = b->err ? b->err : ENOMEM;
	if (b->err)
		return NULL;
	r = &b->request[b->n++];
	*r = (struct request){
		.wr = {.wr_id = ex->wr_id, .op = op, .flags = rs_v_flags(ex->wr_flags)},
		.sge = b->n_sge,
		.bytes = b->n_bytes,
	};
	return r;
}

static void add_rdma(struct ibv_qp_ex *ex, uint64_t bit, uint8_t op, uint32_t rkey, uint64_t va,
		     __be32 imm)
{
	struct request *r = add(ex, bit, op);

	if (!r)
		return;
	r->wr.rkey = rkey;
	r->wr.remote_va = va;
	r->wr.imm = be32toh(imm);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t va, uint64_t compare,
			      uint64_t swap)
{
	struct request *r = add(ex, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, RS_WR_CMP_SWAP);

	if (!r)
		return;
	r->wr.rkey = rkey;
	r->wr.remote_va = va;
	r->wr.compare = compare;
	r->wr.swap_add = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t va, uint64_t value)
{
	struct request *r = add(ex, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, RS_WR_FETCH_ADD);

	if (!r)
		return;
	r->wr.rkey = rkey;
	r->wr.remote_va = va;
	r->wr.swap_add = value;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t va)
{
	add_rdma(ex, IBV_QP_EX_WITH_RDMA_READ, RS_WR_READ, rkey, va, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t va)
{
	add_rdma(ex, IBV_QP_EX_WITH_RDMA_WRITE, RS_WR_WRITE, rkey, va, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t va, __be32 imm)
{
	add_rdma(ex, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, RS_WR_WRITE_IMM, rkey, va, imm);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add_rdma(ex, IBV_QP_EX_WITH_SEND, RS_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	add_rdma(ex, IBV_QP_EX_WITH_SEND_WITH_IMM, RS_WR_SEND_IMM, 0, 0, imm);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct rs_vbuild *b = of(ex);
	struct request *r = last(b);

	if (b->err)
		return;
	if (!r || n > ((struct rs_vqp *)(void *)ex)->cap.max_send_sge)
		b->err = EINVAL;
	else if (!grow((void **)&b->sge, &b->sge_size, b->n_sge, (uint32_t)n, sizeof(*b->sge)))
		b->err = ENOMEM;
	if (b->err)
		return;
	r->sge = b->n_sge;
	r->n_sge = (uint32_t)n;
	r->is_inline = false;
	for (size_t i = 0; i < n; i++)
		b->sge[b->n_sge++] = (struct rs_sge){list[i].addr, list[i].length, list[i].lkey};
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge s = {addr, length, lkey};

	wr_set_sge_list(ex, 1, &s);
}

static void take_bytes(struct rs_vbuild *b, struct request *r, size_t n,
		       const struct ibv_data_buf *list)
{
	r->is_inline = true;
	r->bytes = b->n_bytes;
	for (size_t i = 0; i < n; i++) {
		if (list[i].length)
			memcpy(b->bytes + b->n_bytes, list[i].addr, list[i].length);
		b->n_bytes += (uint32_t)list[i].length;
	}
	r->n_bytes = b->n_bytes - r->bytes;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct rs_vbuild *b = of(ex);
	struct request *r = last(b);
	size_t sum = 0;

	if (b->err)
		return;
	for (size_t i = 0; i < n && sum <= RS_V_MAX_INLINE; i++)
		sum += list[i].length;
	if (!r || sum > ((struct rs_vqp *)(void *)ex)->cap.max_inline_data)
		b->err = EINVAL;
	else if (!grow((void **)&b->bytes, &b->bytes_size, b->n_bytes, (uint32_t)sum + 1, 1))
		b->err = ENOMEM;
	if (b->err)
		return;
	take_bytes(b, r, n, list);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf d = {addr, length};

	wr_set_inline_data_list(ex, 1, &d);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct request *r = add(ex, IBV_QP_EX_WITH_BIND_MW, RS_WR_BIND_MW);

	if (!r)
		return;
	r->wr.rkey = rkey;
	r->wr.bind = rs_v_bind(info);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct request *r = add(ex, IBV_QP_EX_WITH_LOCAL_INV, RS_WR_LOCAL_INV);

	if (r)
		r->wr.imm = rkey;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct request *r = add(ex, IBV_QP_EX_WITH_SEND_WITH_INV, RS_WR_SEND_INV);

	if (r)
		r->wr.imm = rkey;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct request *r = last(of(ex));

	if (of(ex)->err || !r)
		return;
	r->wr.ah = rs_v_ah(ah, ((struct rs_vqp *)(void *)ex)->lane);
	r->wr.dest_qpn = qpn;
	r->wr.qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct request *r = last(of(ex));

	if (!of(ex)->err && r)
		r->wr.srqn = srqn;
}

/* Segmentation of a TCP stream: not offered at creation, so never rightly called. */
static void wr_send_tso(struct ibv_qp_ex *ex, void *header, uint16_t n, uint16_t mss)
{
	of(ex)->err = of(ex)->err ? of(ex)->err : EOPNOTSUPP;
}

/* The value is taken here, whatever inline data the QP was granted: rs_v_build_inline(). */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t va, const void *value)
{
	struct ibv_data_buf d = {(void *)(uintptr_t)value, ATOMIC_BYTES};
	struct rs_vbuild *b = of(ex);

	add_rdma(ex, IBV_QP_EX_WITH_ATOMIC_WRITE, RS_WR_ATOMIC_WRITE, rkey, va, 0);
	if (b->err)
		return;
	if (grow((void **)&b->bytes, &b->bytes_size, b->n_bytes, ATOMIC_BYTES, 1))
		take_bytes(b, last(b), 1, &d);
	else
		b->err = ENOMEM;
}

static void clear(struct rs_vbuild *b)
{
	b->n = b->n_sge = b->n_bytes = 0;
	b->err = 0;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	pthread_mutex_lock(&of(ex)->lock);
	clear(of(ex));
}

static int post(struct rs_vqp *qp, struct rs_vbuild *b)
{
	uint32_t signaled = 0;

	for (uint32_t i = 0; i < b->n; i++)
		signaled += rs_v_is_signaled(qp, &b->request[i].wr);
	if (b->n > rs_qp_send_room(qp->qp) || signaled > rs_v_signaled_room(qp))
		return ENOMEM;
	for (uint32_t i = 0; i < b->n; i++) {
		struct request *r = &b->request[i];
		struct rs_sge data = {.va = (uintptr_t)(b->bytes + r->bytes), .length = r->n_bytes};
		int err;

		r->wr.sge = r->is_inline ? &data : b->sge + r->sge;
		r->wr.n_sge = (uint8_t)(r->is_inline ? 1 : r->n_sge);
		r->wr.flags = (uint8_t)((r->wr.flags & ~RS_WR_INLINE) |
					(r->is_inline ? RS_WR_INLINE : 0));
		err = rs_v_post_request(qp, &r->wr);
		if (err)
			return err;
	}
	return 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct rs_vqp *qp = (struct rs_vqp *)(void *)ex;
	int err = qp->build->err;

	if (!err) {
		rs_live_lock(qp->live);
		err = post(qp, qp->build);
		rs_v_posted(qp, qp->build->n);
		rs_live_unlock(qp->live);
	}
	pthread_mutex_unlock(&qp->build->lock);
	return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	clear(of(ex));
	pthread_mutex_unlock(&of(ex)->lock);
}

int rs_v_build_init(struct rs_vqp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->ex;

	if (!ops)
		return 0;
	if (ops & ~(uint64_t)OPS)
		return -EOPNOTSUPP;
	qp->build = calloc(1, sizeof(*qp->build));
	if (!qp->build)
		return -ENOMEM;
	pthread_mutex_init(&qp->build->lock, NULL);
	qp->build->ops = ops;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = wr_send_tso;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_write = wr_atomic_write;
	return 0;
}

uint32_t rs_v_build_inline(const struct rs_vqp *qp)
{
	return qp->build && (qp->build->ops & IBV_QP_EX_WITH_ATOMIC_WRITE) ? ATOMIC_BYTES : 0;
}

void rs_v_build_fini(struct rs_vqp *qp)
{
	if (!qp->build)
		return;
	free(qp->build->request);
	free(qp->build->sge);
	free(qp->build->bytes);
	free(qp->build);
}
