/* Protection domains, memory regions, device memory: IBTA §10.6, §11.2.8. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/verbs.h"

enum {
	ACCESS_KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
		       IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB
};
enum { REMOTE_WRITES = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC };
enum { DM_ALIGN = 4 };

/* ibv_access_flags' first bits are enum rs_access. A region that starts at 0 is given that address.
 */
static uint32_t engine_access(unsigned access)
{
	return access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
}

/* ---- Protection domains ---- */

static struct ibv_pd *add_pd(struct rs_vctx *c, struct rs_vpd *parent, struct rs_vtd *td)
{
	struct rs_vpd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		errno = ENOMEM;
		return NULL;
	}
	rs_vctx_lock(c);
	pd->base.context = &c->v.context;
	pd->base.handle = c->next_handle++;
	pd->number = parent ? parent->number : ++c->next_pd;
	pd->parent = parent;
	pd->td = td;
	rs_vlist_add(&c->pds, pd);
	if (parent)
		parent->refs++;
	if (td)
		td->refs++;
	rs_vctx_unlock(c);
	return &pd->base;
}

RS_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return add_pd(rs_vctx(context), NULL, NULL);
}

RS_EXPORT int ibv_dealloc_pd(struct ibv_pd *base)
{
	struct rs_vpd *pd = rs_vpd(base);
	struct rs_vctx *c = rs_vctx(base->context);
	bool busy;

	rs_vctx_lock(c);
	busy = pd->refs != 0;
	if (!busy) {
		rs_vlist_remove(pd);
		if (pd->parent)
			pd->parent->refs--;
		if (pd->td)
			pd->td->refs--;
	}
	rs_vctx_unlock(c);
	if (busy)
		return EBUSY;
	free(pd);
	return 0;
}

RS_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct rs_vctx *c = rs_vctx(context);
	struct rs_vpd *pd;

	rs_vctx_lock(c);
	for (pd = c->pds; pd && pd->base.handle != handle; pd = pd->next)
		;
	rs_vctx_unlock(c);
	errno = pd ? errno : EINVAL;
	return pd ? &pd->base : NULL;
}

RS_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
}

/* A parent domain only says who locks: the engine's own lock is always taken. */
/* IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC, of rdma-core 64: memory that a
 * confidential virtual machine shares. */
enum { UNPROTECTED = 1 << 2 };

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *a)
{
	if (a->pd && a->comp_mask & UNPROTECTED) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!a->pd || (a->comp_mask & ~(uint32_t)(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
						  IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT))) {
		errno = EINVAL;
		return NULL;
	}
	return add_pd(rs_vctx(context), rs_vpd(a->pd),
		      a->td ? rs_container(a->td, struct rs_vtd, base) : NULL);
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *a)
{
	struct rs_vtd *td = a->comp_mask ? NULL : calloc(1, sizeof(*td));

	if (!td) {
		errno = a->comp_mask ? EINVAL : ENOMEM;
		return NULL;
	}
	td->base.context = context;
	return &td->base;
}

static int dealloc_td(struct ibv_td *base)
{
	struct rs_vtd *td = rs_container(base, struct rs_vtd, base);
	struct rs_vctx *c = rs_vctx(base->context);
	bool busy;

	rs_vctx_lock(c);
	busy = td->refs != 0;
	rs_vctx_unlock(c);
	if (busy)
		return EBUSY;
	free(td);
	return 0;
}

/* ---- Memory regions ---- */

/* Locked. A region of the first lane becomes one of all. */
static int add_everywhere(struct rs_vctx *c, struct rs_nic *nic, struct ibv_pd *pd,
			  struct rs_vmr *mr)
{
	int err = 0;

	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = rs_nic_copy_mr(rs_vctx_nic(c, i), nic, mr->key);
	if (err)
		return err;
	rs_vlist_add(&c->mrs, mr);
	mr->base.handle = c->next_handle++;
	rs_vpd(pd)->refs += !mr->null;
	return 0;
}

/* [va, va + length) of peers is at host, the bytes of dm where there is one. base.addr is what the
 * application will see. */
static struct ibv_mr *add_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t va,
			     uint8_t *host, unsigned access, struct rs_vdm *dm)
{
	struct rs_vctx *c = rs_vctx(pd->context);
	struct rs_vmr *mr = calloc(1, sizeof(*mr));
	int err = mr ? 0 : -ENOMEM;
	struct rs_nic *nic;

	if (!err && ((access & ~IBV_ACCESS_OPTIONAL_RANGE & ~(unsigned)ACCESS_KNOWN) ||
		     ((access & REMOTE_WRITES) && !(access & IBV_ACCESS_LOCAL_WRITE))))
		err = -EINVAL;
	if (err) {
		free(mr);
		errno = -err;
		return NULL;
	}
	nic = rs_vctx_lock(c);
	err = rs_nic_reg_mr(nic, rs_vpd(pd)->number, va, length, engine_access(access), host,
			    &mr->key);
	if (!err)
		err = add_everywhere(c, nic, pd, mr);
	if (!err && dm) {
		mr->dm = dm;
		dm->refs++;
	}
	rs_vctx_unlock(c);
	if (err) {
		free(mr);
		errno = -err;
		return NULL;
	}
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.addr = addr;
	mr->base.length = length;
	mr->base.lkey = mr->base.rkey = mr->key;
	mr->access = access;
	return &mr->base;
}

static struct ibv_mr *reg_host(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       unsigned access)
{
	/* Implicit on-demand paging: the whole address space, byte 0 left out. */
	if (!addr && length == SIZE_MAX && (access & IBV_ACCESS_ON_DEMAND))
		return add_mr(pd, addr, length - 1, 1, (uint8_t *)1, access, NULL);
	if (!addr && length) {
		errno = EINVAL;
		return NULL;
	}
	if (access & IBV_ACCESS_ZERO_BASED)
		iova = 0;
	return add_mr(pd, addr, length, iova, addr, access, NULL);
}

#undef ibv_reg_mr
RS_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg_host(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

#undef ibv_reg_mr_iova
RS_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					 uint64_t iova, int access)
{
	return reg_host(pd, addr, length, iova, (unsigned)access);
}

RS_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access)
{
	return reg_host(pd, addr, length, iova, access);
}

/*
 * Every address, no memory. As on hardware it has no rkey to tell a peer; its key serves peers all
 * the same, as perftest's --use-null-mr asks. Nor does it hold its domain, of which perftest takes
 * leave first: mlx5's null regions are one key of the device's, of which its kernel knows nothing.
 */
static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	struct rs_vctx *c = rs_vctx(pd->context);
	struct rs_vmr *mr = calloc(1, sizeof(*mr));
	struct rs_nic *nic;
	int err;

	if (!mr) {
		errno = ENOMEM;
		return NULL;
	}
	nic = rs_vctx_lock(c);
	mr->null = true;
	err = rs_nic_reg_null_mr(nic, rs_vpd(pd)->number, &mr->key);
	if (!err)
		err = add_everywhere(c, nic, pd, mr);
	rs_vctx_unlock(c);
	if (err) {
		free(mr);
		errno = -err;
		return NULL;
	}
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.length = SIZE_MAX;
	mr->base.lkey = mr->key;
	return &mr->base;
}

RS_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					   uint64_t iova, int fd, int access)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* Locked. In any lane. */
static bool bound(struct rs_vctx *c, const struct rs_vmr *mr)
{
	bool any = false;

	for (unsigned i = 0; i < c->lanes; i++)
		any |= rs_nic_mr_bound(rs_vctx_nic(c, i), mr->key);
	return any;
}

RS_EXPORT int ibv_dereg_mr(struct ibv_mr *base)
{
	struct rs_vmr *mr = rs_vmr(base);
	struct rs_vctx *c = rs_vctx(base->context);

	rs_vctx_lock(c);
	rs_vctx_settle(c);
	if (bound(c, mr)) {
		rs_vctx_unlock(c);
		return EBUSY;
	}
	for (unsigned i = 0; i < c->lanes; i++)
		rs_nic_dereg_mr(rs_vctx_nic(c, i), mr->key);
	rs_vlist_remove(mr);
	if (!mr->null)
		rs_vpd(base->pd)->refs--;
	if (mr->dm)
		mr->dm->refs--;
	rs_vctx_unlock(c);
	free(mr);
	return 0;
}

RS_EXPORT int ibv_rereg_mr(struct ibv_mr *base, int flags, struct ibv_pd *pd, void *addr,
			   size_t length, int access)
{
	struct rs_vmr *mr = rs_vmr(base);
	struct rs_vctx *c = rs_vctx(base->context);
	unsigned rights = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access;
	struct ibv_pd *to = flags & IBV_REREG_MR_CHANGE_PD ? pd : base->pd;
	void *at = flags & IBV_REREG_MR_CHANGE_TRANSLATION ? addr : base->addr;
	size_t n = flags & IBV_REREG_MR_CHANGE_TRANSLATION ? length : base->length;
	int err;

	if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) || !flags || !to || !at ||
	    ((rights & REMOTE_WRITES) && !(rights & IBV_ACCESS_LOCAL_WRITE))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	rs_vctx_lock(c);
	rs_vctx_settle(c);
	err = bound(c, mr) ? -EBUSY : 0;
	/* ibv_rereg_mr_flags are enum rs_rereg; what one refuses, the first refuses */
	for (unsigned i = 0; i < c->lanes && !err; i++)
		err = rs_nic_rereg_mr(rs_vctx_nic(c, i), mr->key, (uint32_t)flags,
				      rs_vpd(to)->number, (uintptr_t)at, n, engine_access(rights),
				      at);
	if (!err) {
		rs_vpd(base->pd)->refs--;
		rs_vpd(to)->refs++;
		base->pd = to;
		base->addr = at;
		base->length = n;
		mr->access = rights;
	}
	rs_vctx_unlock(c);
	if (err) {
		errno = -err;
		return IBV_REREG_MR_ERR_CMD;
	}
	return 0;
}

RS_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct rs_vctx *c = rs_vctx(pd->context);
	struct rs_vmr *mr;

	rs_vctx_lock(c);
	for (mr = c->mrs; mr && mr->base.handle != handle; mr = mr->next)
		;
	rs_vctx_unlock(c);
	errno = mr ? errno : EINVAL;
	return mr ? &mr->base : NULL;
}

RS_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
}

/* Advice: pages come when they are touched. It is checked all the same. */
static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sge, uint32_t n)
{
	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ||
	    (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) || !n)
		return EINVAL;
	return 0;
}

/* ---- Device memory: host memory that only the calls below and keys reach ---- */

static bool dm_range(const struct rs_vdm *dm, uint64_t offset, size_t n)
{
	return offset % DM_ALIGN == 0 && n % DM_ALIGN == 0 && offset <= dm->length &&
	       n <= dm->length - offset;
}

static int copy_to_dm(struct ibv_dm *base, uint64_t offset, const void *from, size_t n)
{
	struct rs_vdm *dm = rs_container(base, struct rs_vdm, base);

	if (!dm_range(dm, offset, n))
		return EINVAL;
	memcpy(dm->bytes + offset, from, n);
	return 0;
}

static int copy_from_dm(void *to, struct ibv_dm *base, uint64_t offset, size_t n)
{
	struct rs_vdm *dm = rs_container(base, struct rs_vdm, base);

	if (!dm_range(dm, offset, n))
		return EINVAL;
	memcpy(to, dm->bytes + offset, n);
	return 0;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *a)
{
	struct rs_vctx *c = rs_vctx(context);
	struct rs_vdm *dm;

	if (a->comp_mask || !a->length || a->length > RS_V_MAX_DM || a->log_align_req > 12) {
		errno = a->length > RS_V_MAX_DM ? ENOMEM : EINVAL;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (dm && posix_memalign((void **)&dm->bytes, 4096, (a->length + 4095) & ~(size_t)4095)) {
		free(dm);
		dm = NULL;
	}
	if (!dm) {
		errno = ENOMEM;
		return NULL;
	}
	memset(dm->bytes, 0, a->length);
	dm->length = a->length;
	dm->base.context = context;
	dm->base.memcpy_to_dm = copy_to_dm;
	dm->base.memcpy_from_dm = copy_from_dm;
	dm->base.comp_mask = IBV_DM_MASK_HANDLE;
	rs_vctx_lock(c);
	dm->base.handle = c->next_handle++;
	rs_vlist_add(&c->dms, dm);
	rs_vctx_unlock(c);
	return &dm->base;
}

static int free_dm(struct ibv_dm *base)
{
	struct rs_vdm *dm = rs_container(base, struct rs_vdm, base);
	struct rs_vctx *c = rs_vctx(base->context);
	bool busy;

	rs_vctx_lock(c);
	busy = dm->refs != 0;
	if (!busy)
		rs_vlist_remove(dm);
	rs_vctx_unlock(c);
	if (busy)
		return EBUSY;
	free(dm->bytes);
	free(dm);
	return 0;
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
				size_t length, unsigned access)
{
	struct rs_vdm *dm = rs_container(base, struct rs_vdm, base);

	if (!(access & IBV_ACCESS_ZERO_BASED) || !dm_range(dm, offset, length)) {
		errno = EINVAL;
		return NULL;
	}
	return add_mr(pd, NULL, length, 0, dm->bytes + offset, access, dm);
}

RS_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct rs_vctx *c = rs_vctx(context);
	struct rs_vdm *dm;

	rs_vctx_lock(c);
	for (dm = c->dms; dm && dm->base.handle != handle; dm = dm->next)
		;
	rs_vctx_unlock(c);
	errno = dm ? errno : EINVAL;
	return dm ? &dm->base : NULL;
}

RS_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
}

void rs_v_fill_memory_ops(struct verbs_context *v)
{
	v->alloc_parent_domain = alloc_parent_domain;
	v->alloc_td = alloc_td;
	v->dealloc_td = dealloc_td;
	v->advise_mr = advise_mr;
	v->alloc_null_mr = alloc_null_mr;
	v->alloc_dm = alloc_dm;
	v->free_dm = free_dm;
	v->reg_dm_mr = reg_dm_mr;
}
