/*
 * What libibverbs got after rdma-core 44, whose headers this is built with: IBVERBS_1.15 to 1.18,
 * of rdma-core 65. The structs are as those headers lay them out, under names of our own, so that
 * it can be built with newer headers as well. What a device here does not offer says so:
 * EOPNOTSUPP, as by a NIC whose plug-in has no such operation.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "verbs/verbs.h"

/* The name that programs link to. */
#define NAMED(name) __asm__(name) RS_EXPORT

/* ---- struct ibv_mr_init_attr and its mask (IBVERBS_1.15) ---- */

enum {
	MR_IOVA = 1 << 0,
	MR_ADDR = 1 << 1,
	MR_FD = 1 << 2,
	MR_FD_OFFSET = 1 << 3,
	MR_DMAH = 1 << 4,
	MR_BUF = 1 << 5,
};

struct mr_init {
	size_t length;
	int access;
	uint64_t comp_mask, iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah, *buf;
};

/* struct ibv_buf is opaque to programs. */
struct buffer {
	struct ibv_pd *pd;
	uint8_t *bytes;
	size_t length;
};

/* A buffer is registered in the domain that it was allocated for. */
static bool inside(const struct ibv_pd *pd, const struct buffer *b, const uint8_t *at, size_t n)
{
	return pd == b->pd && at >= b->bytes && (size_t)(at - b->bytes) <= b->length &&
	       n <= b->length - (size_t)(at - b->bytes);
}

static struct ibv_mr *none(int err)
{
	errno = err;
	return NULL;
}

struct ibv_mr *reg_mr_ex(struct ibv_pd *pd, const struct mr_init *a) NAMED("ibv_reg_mr_ex");
struct ibv_mr *reg_mr_ex(struct ibv_pd *pd, const struct mr_init *a)
{
	uint64_t m = a->comp_mask,
		 known = MR_IOVA | MR_ADDR | MR_FD | MR_FD_OFFSET | MR_DMAH | MR_BUF;

	if (m & ~known || !(m & MR_ADDR) == !(m & MR_FD) || (m & MR_BUF && !(m & MR_ADDR)))
		return none(EINVAL);
	if (m & (MR_FD | MR_DMAH)) /* no DMA buffers, no hints of where memory is */
		return none(EOPNOTSUPP);
	if (m & MR_BUF && (!a->buf || !inside(pd, a->buf, a->addr, a->length)))
		return none(EINVAL);
	return ibv_reg_mr_iova2(pd, a->addr, a->length, m & MR_IOVA ? a->iova : (uintptr_t)a->addr,
				(unsigned)a->access);
}

void *alloc_dmah(struct ibv_context *c, void *attr) NAMED("ibv_alloc_dmah");
void *alloc_dmah(struct ibv_context *c, void *attr)
{
	return none(EOPNOTSUPP);
}

int dealloc_dmah(void *dmah) NAMED("ibv_dealloc_dmah");
int dealloc_dmah(void *dmah)
{
	return EOPNOTSUPP;
}

/* ---- IBVERBS_1.16 ---- */

int export_dm(struct ibv_dm *dm) NAMED("ibv_dm_export_dmabuf_fd");
int export_dm(struct ibv_dm *dm)
{
	errno = EOPNOTSUPP;
	return -1;
}

int port_speed(struct ibv_context *c, uint32_t port, uint64_t *speed) NAMED("ibv_query_port_speed");
int port_speed(struct ibv_context *c, uint32_t port, uint64_t *speed)
{
	enum { MEGABITS = 100 }; /* of its unit */

	if (port != RS_V_PORT)
		return EINVAL;
	*speed = rs_v_port_mbps(c) / MEGABITS;
	return 0;
}

/* ---- Buffers: memory of the host (IBVERBS_1.17) ---- */

void *alloc_buf(struct ibv_pd *pd, size_t size, struct buffer **out) NAMED("ibv_alloc_buf");
void *alloc_buf(struct ibv_pd *pd, size_t size, struct buffer **out)
{
	struct buffer *b = size ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return none(size ? ENOMEM : EINVAL);
	b->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->bytes == MAP_FAILED) {
		free(b);
		return none(ENOMEM);
	}
	b->pd = pd;
	b->length = size;
	*out = b;
	return b->bytes;
}

void free_buf(struct buffer *b) NAMED("ibv_free_buf");
void free_buf(struct buffer *b)
{
	if (!b)
		return;
	munmap(b->bytes, b->length);
	free(b);
}

struct ibv_mr *reg_buf_mr(struct ibv_pd *pd, struct buffer *b, void *addr, size_t n, int access)
	NAMED("ibv_reg_buf_mr");
struct ibv_mr *reg_buf_mr(struct ibv_pd *pd, struct buffer *b, void *addr, size_t n, int access)
{
	if (!b || !inside(pd, b, addr, n))
		return none(EINVAL);
	return ibv_reg_mr_iova2(pd, addr, n, (uintptr_t)addr, (unsigned)access);
}

int export_buf(struct buffer *b) NAMED("ibv_export_buf_dmabuf_fd");
int export_buf(struct buffer *b)
{
	errno = ENODATA; /* no DMA buffer is behind it */
	return -1;
}

/* ---- Completion counters: none (IBVERBS_1.18) ---- */

int query_counters(struct ibv_context *c, void *caps, size_t n) NAMED("_ibv_query_comp_cntr_caps");
int query_counters(struct ibv_context *c, void *caps, size_t n)
{
	return EOPNOTSUPP;
}

void *create_counter(struct ibv_context *c, void *attr) NAMED("ibv_create_comp_cntr");
void *create_counter(struct ibv_context *c, void *attr)
{
	return none(EOPNOTSUPP);
}

/* None exists, so each of these is refused. */
#define REFUSED(function, name, ...)           \
	int function(__VA_ARGS__) NAMED(name); \
	int function(__VA_ARGS__)              \
	{                                      \
		return EOPNOTSUPP;             \
	}

REFUSED(destroy_counter, "ibv_destroy_comp_cntr", void *c)
REFUSED(set_counter, "ibv_set_comp_cntr", void *c, uint64_t value)
REFUSED(set_errors, "ibv_set_err_comp_cntr", void *c, uint64_t value)
REFUSED(inc_counter, "ibv_inc_comp_cntr", void *c, uint64_t n)
REFUSED(inc_errors, "ibv_inc_err_comp_cntr", void *c, uint64_t n)
REFUSED(read_counter, "ibv_read_comp_cntr", void *c, uint64_t *value)
REFUSED(read_errors, "ibv_read_err_comp_cntr", void *c, uint64_t *value)
REFUSED(attach_counter, "ibv_qp_attach_comp_cntr", struct ibv_qp *qp, void *c, void *attr)
