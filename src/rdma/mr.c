/* Memory regions: keys, protection, gather and scatter. IBTA §10.6. */
#include <errno.h>
#include <string.h>
#include "rdma/state.h"

/*
 * A key is (((tag, entry) ^ salt) + 1) << 8 | generation: 0 is never one. The entry has the bits of
 * key_mask, the tag those above. Without a source of random numbers tag and salt are 0.
 */
static uint32_t index_of(const struct rs_nic *nic, uint32_t key)
{
	return (((key >> 8) - 1) ^ nic->key_salt) & nic->key_mask;
}

void rs_mr_init_keys(struct rs_nic *nic)
{
	enum { NUMBERS = 0xffffff };

	nic->key_mask = NUMBERS;
	if (!nic->c.random)
		return;
	nic->key_mask = 1;
	while (nic->key_mask + 1 < nic->c.max_mrs)
		nic->key_mask = nic->key_mask << 1 | 1;
	nic->key_salt = nic->c.random(nic->c.random_arg) & NUMBERS;
}

/* A new generation is another than the last, and neither 0 nor RS_NO_KEY is a key. */
static uint32_t make_key(struct rs_nic *nic, uint32_t i, uint32_t generation)
{
	uint32_t key, r;

	if (!nic->c.random)
		return (i + 1) << 8 | generation;
	do {
		r = nic->c.random(nic->c.random_arg);
		key = ((((r >> 8 & ~nic->key_mask) | i) ^ nic->key_salt) + 1) << 8 | (r & 0xff);
	} while (!(key >> 8) || key == RS_NO_KEY || (key & 0xff) == ((generation - 1) & 0xff));
	return key;
}

static struct rs_mr *entry_of(struct rs_nic *nic, uint32_t key)
{
	uint32_t i = index_of(nic, key);

	return i < nic->mrs_fresh && nic->mrs[i].key == key ? &nic->mrs[i] : NULL;
}

static struct rs_mr *take_entry(struct rs_nic *nic)
{
	uint32_t i = nic->mr_free;

	if (i != UINT32_MAX) {
		nic->mr_free = nic->mrs[i].next_free;
	} else if (nic->mrs_fresh < nic->c.max_mrs) {
		i = nic->mrs_fresh++;
		nic->mrs[i].key = 1;
	} else {
		return NULL;
	}
	nic->mrs[i].key = make_key(nic, i, nic->mrs[i].key);
	nic->mrs[i].used = true;
	nic->mrs[i].windows = 0;
	nic->mrs[i].parent = RS_NO_MR;
	return &nic->mrs[i];
}

static void give_entry(struct rs_nic *nic, struct rs_mr *m)
{
	m->used = false;
	/* No key at all until it is given out again, so that code that compares keys, as a WRITE
	 * under way does, need look at nothing else. */
	m->key = (m->key + 1) & 0xff;
	m->next_free = nic->mr_free;
	nic->mr_free = (uint32_t)(m - nic->mrs);
}

static bool region_valid(const struct rs_nic *nic, uint32_t pd, uint64_t va, uint64_t length,
			 uint32_t access, const void *host)
{
	if (va + length < va || access > 63 || pd >= RS_PD_OF_QP ||
	    (nic->c.copy_payload && length && !host))
		return false;
	/* What a peer may write, the owner must be able to: §10.6.3.1. */
	return !(access & (RS_ACCESS_REMOTE_WRITE | RS_ACCESS_REMOTE_ATOMIC)) ||
	       (access & RS_ACCESS_LOCAL_WRITE);
}

static void set_region(struct rs_nic *nic, struct rs_mr *m, uint32_t pd, uint64_t va,
		       uint64_t length, uint32_t access, void *host)
{
	m->va = access & RS_ACCESS_ZERO_BASED ? 0 : va;
	m->length = length;
	m->host = nic->c.copy_payload ? host : NULL;
	m->pd = pd;
	m->access = (uint8_t)(access | RS_LOCAL_READ);
}

int rs_nic_reg_mr(struct rs_nic *nic, uint32_t pd, uint64_t va, uint64_t length, uint32_t access,
		  void *host, uint32_t *key)
{
	struct rs_mr *m;

	if (!region_valid(nic, pd, va, length, access, host))
		return -EINVAL;
	m = take_entry(nic);
	if (!m)
		return -ENOMEM;
	m->kind = RS_MR_REGION;
	set_region(nic, m, pd, va, length, access, host);
	*key = m->key;
	return 0;
}

/* ---- Null regions: no memory, and every address ---- */

const uint8_t rs_mr_zeros[RS_MAX_PAYLOAD];

int rs_nic_reg_null_mr(struct rs_nic *nic, uint32_t pd, uint32_t *key)
{
	struct rs_mr *m = pd < RS_PD_OF_QP ? take_entry(nic) : NULL;

	if (!m)
		return pd < RS_PD_OF_QP ? -ENOMEM : -EINVAL;
	m->kind = RS_MR_NULL;
	set_region(nic, m, pd, 0, UINT64_MAX,
		   RS_ACCESS_LOCAL_WRITE | RS_ACCESS_REMOTE_WRITE | RS_ACCESS_REMOTE_READ, NULL);
	*key = m->key;
	return 0;
}

/* ---- Engines with the same keys ---- */

void rs_nic_share_keys(struct rs_nic *nic, const struct rs_nic *with)
{
	rs_assert(!nic->mrs_fresh && nic->key_mask == with->key_mask);
	nic->key_salt = with->key_salt;
}

int rs_nic_copy_mr(struct rs_nic *nic, struct rs_nic *from, uint32_t key)
{
	const struct rs_mr *m = entry_of(from, key);
	struct rs_mr *own = m ? take_entry(nic) : NULL;
	uint32_t next;

	if (!own)
		return m ? -ENOMEM : -ENOENT;
	/* what both gave out and took back, they did alike */
	rs_assert(own - nic->mrs == m - from->mrs && m->parent == RS_NO_MR);
	next = own->next_free;
	*own = *m;
	own->next_free = next;
	return 0;
}

bool rs_nic_mr_bound(struct rs_nic *nic, uint32_t key)
{
	const struct rs_mr *m = entry_of(nic, key);

	return m && m->kind == RS_MR_REGION && m->windows;
}

int rs_nic_dereg_mr(struct rs_nic *nic, uint32_t key)
{
	struct rs_mr *m = entry_of(nic, key);

	if (!m || m->kind > RS_MR_NULL)
		return -ENOENT;
	if (m->windows)
		return -EBUSY;
	give_entry(nic, m);
	return 0;
}

void rs_nic_unreadable(struct rs_nic *nic, const struct rs_packet *p, const uint8_t *at)
{
	uint32_t f = rs_opcodes[p->opcode].flags;
	struct rs_qp *qp = rs_nic_find_qp(nic, p->src_qp);

	for (uint32_t i = 0; i < nic->mrs_fresh; i++) {
		struct rs_mr *m = &nic->mrs[i];
		uintptr_t from = (uintptr_t)m->host;

		if (m->used && from && (uintptr_t)at >= from && (uintptr_t)at - from < m->length)
			m->length = (uintptr_t)at - from;
	}
	if (qp && qp->state != RS_QPS_ERR && f & RS_F_RESPONSE && f & RS_F_READ)
		rs_resp_refuse_read(nic, qp, p->psn, RS_NAK_REMOTE_OPERATIONAL);
}

/* WRITEs under way to the entry were checked against what it was: refuse their next packets. */
static void stop_writes(struct rs_nic *nic, const struct rs_mr *m)
{
	uint32_t at = (uint32_t)(m - nic->mrs);

	for (uint32_t i = 0; i < nic->qps_fresh; i++)
		if (nic->qps[i].w_mr == at)
			nic->qps[i].w_rkey = RS_NO_KEY;
}

int rs_nic_rereg_mr(struct rs_nic *nic, uint32_t key, uint32_t what, uint32_t pd, uint64_t va,
		    uint64_t length, uint32_t access, void *host)
{
	struct rs_mr *m = entry_of(nic, key);
	uint32_t kept = m ? m->access & 63u : 0;

	if (!m || m->kind != RS_MR_REGION)
		return m && m->kind == RS_MR_NULL ? -EINVAL : -ENOENT;
	if (!what || (what & ~7u))
		return -EINVAL;
	if (!(what & RS_REREG_PD))
		pd = m->pd;
	if (!(what & RS_REREG_ACCESS))
		access = kept;
	if (!(what & RS_REREG_TRANSLATION)) {
		va = m->va;
		length = m->length;
		host = m->host;
	}
	if (!region_valid(nic, pd, va, length, access, host))
		return -EINVAL;
	if (m->windows)
		return -EBUSY;
	stop_writes(nic, m);
	set_region(nic, m, pd, va, length, access, host);
	return 0;
}

/* ---- Memory windows: §10.6.7 ---- */

/* Keys of a window differ in their low byte from bind to bind. */
static struct rs_mr *window_of(struct rs_nic *nic, uint32_t key)
{
	uint32_t i = index_of(nic, key);

	if (i >= nic->mrs_fresh || !nic->mrs[i].used || nic->mrs[i].kind <= RS_MR_NULL ||
	    (nic->mrs[i].key ^ key) >> 8)
		return NULL;
	return &nic->mrs[i];
}

int rs_nic_alloc_mw(struct rs_nic *nic, uint32_t pd, unsigned type, uint32_t *key)
{
	struct rs_mr *m;

	if ((type != 1 && type != 2) || pd >= RS_PD_OF_QP)
		return -EINVAL;
	m = take_entry(nic);
	if (!m)
		return -ENOMEM;
	m->kind = type == 1 ? RS_MR_WINDOW_1 : RS_MR_WINDOW_2;
	m->va = m->length = 0;
	m->host = NULL;
	m->access = 0;
	m->own_pd = m->pd = pd;
	*key = m->key;
	return 0;
}

/* A QP's own windows are in a list: it may go while a million other entries are there. */
static void list_window(struct rs_nic *nic, struct rs_qp *qp, struct rs_mr *m)
{
	uint32_t at = (uint32_t)(m - nic->mrs) + 1;

	m->prev_window = 0;
	m->next_window = qp->cold->windows;
	if (qp->cold->windows)
		nic->mrs[qp->cold->windows - 1].prev_window = at;
	qp->cold->windows = at;
}

static void unlist_window(struct rs_nic *nic, struct rs_qp *qp, const struct rs_mr *m)
{
	if (m->prev_window)
		nic->mrs[m->prev_window - 1].next_window = m->next_window;
	else
		qp->cold->windows = m->next_window;
	if (m->next_window)
		nic->mrs[m->next_window - 1].prev_window = m->prev_window;
}

static void unbind(struct rs_nic *nic, struct rs_mr *m)
{
	if (m->parent == RS_NO_MR)
		return;
	stop_writes(nic, m);
	nic->mrs[m->parent].windows--;
	if (m->kind == RS_MR_WINDOW_2)
		unlist_window(nic, rs_nic_find_qp(nic, m->pd & ~RS_PD_OF_QP), m);
	m->parent = RS_NO_MR;
	m->va = m->length = 0;
	m->host = NULL;
	m->access = 0;
	m->pd = m->own_pd;
}

int rs_nic_dealloc_mw(struct rs_nic *nic, uint32_t key)
{
	struct rs_mr *m = window_of(nic, key);

	if (!m)
		return -ENOENT;
	unbind(nic, m);
	give_entry(nic, m);
	return 0;
}

/* §10.6.7.2.1: may the window have these rights on these bytes of the region? */
static bool bind_allowed(uint32_t pd, const struct rs_mr *window, const struct rs_mr *region,
			 uint64_t va, uint64_t length, uint32_t access)
{
	uint32_t writes = RS_ACCESS_REMOTE_WRITE | RS_ACCESS_REMOTE_ATOMIC;
	uint32_t rights = writes | RS_ACCESS_REMOTE_READ | RS_ACCESS_ZERO_BASED;

	if (!region || region->kind != RS_MR_REGION || !(region->access & RS_ACCESS_MW_BIND))
		return false;
	if (region->pd != pd || window->own_pd != pd || (access & ~rights))
		return false;
	if ((access & writes) && !(region->access & RS_ACCESS_LOCAL_WRITE))
		return false;
	return va >= region->va && length <= region->length &&
	       va - region->va <= region->length - length;
}

/* qp: who binds; NULL: another engine's queue pair, a window of type 1. */
static bool bind(struct rs_nic *nic, struct rs_qp *qp, uint32_t pd, uint32_t key,
		 const struct rs_bind *b)
{
	uint64_t va = b->va, length = b->length;
	uint32_t access = b->access;
	struct rs_mr *m = window_of(nic, key);
	struct rs_mr *region = entry_of(nic, b->mr_key);
	bool two = m && m->kind == RS_MR_WINDOW_2;

	if (!m || m->own_pd != pd || (two && !qp))
		return false;
	/* One of type 2 is invalidated before it is bound anew; length 0 is type 1's way. */
	if (two && (m->parent != RS_NO_MR || !length))
		return false;
	if (length && !bind_allowed(pd, m, region, va, length, access))
		return false;
	unbind(nic, m);
	m->key = key;
	if (!length)
		return true;
	m->parent = (uint32_t)(region - nic->mrs);
	region->windows++;
	m->va = access & RS_ACCESS_ZERO_BASED ? 0 : va;
	m->length = length;
	m->host = region->host ? region->host + (va - region->va) : NULL;
	m->access = (uint8_t)access;
	if (two) {
		m->pd = RS_PD_OF_QP | qp->qpn;
		list_window(nic, qp, m);
	}
	return true;
}

bool rs_mw_bind(struct rs_nic *nic, struct rs_qp *qp, const struct rs_swqe *w)
{
	struct rs_bind b = {.va = w->remote_va,
			    .length = w->swap_add,
			    .mr_key = (uint32_t)(w->compare >> 32),
			    .access = (uint32_t)w->compare};

	return bind(nic, qp, qp->pd, w->rkey, &b);
}

bool rs_nic_bind_mw(struct rs_nic *nic, uint32_t pd, uint32_t key, const struct rs_bind *b)
{
	return bind(nic, NULL, pd, key, b);
}

bool rs_mw_may_invalidate(struct rs_nic *nic, const struct rs_qp *qp, uint32_t key)
{
	const struct rs_mr *m = entry_of(nic, key);

	return m && m->kind == RS_MR_WINDOW_2 && m->pd == (RS_PD_OF_QP | qp->qpn);
}

bool rs_mw_invalidate(struct rs_nic *nic, struct rs_qp *qp, uint32_t key)
{
	if (!rs_mw_may_invalidate(nic, qp, key))
		return false;
	unbind(nic, entry_of(nic, key));
	return true;
}

void rs_mw_forget_qp(struct rs_nic *nic, struct rs_qp *qp)
{
	while (qp->cold->windows)
		unbind(nic, &nic->mrs[qp->cold->windows - 1]);
}

/* ---- What a key gives ---- */

static bool covers(const struct rs_mr *m, uint64_t va, uint64_t length, uint32_t access)
{
	return (m->access & access) == access && va >= m->va && length <= m->length &&
	       va - m->va <= m->length - length;
}

/* The device's own region, of every domain; in the way of refused keys alone. */
RS_APART static struct rs_mr *find_own(const struct rs_nic *nic, uint32_t key, uint64_t va,
				       uint64_t length, uint32_t access)
{
	static uint8_t zeros[8];
	static struct rs_mr own = {
		.length = sizeof(zeros), .host = zeros, .access = RS_ACCESS_REMOTE_READ};

	return nic->c.device_region && key == RS_DEVICE_KEY && covers(&own, va, length, access)
		       ? &own
		       : NULL;
}

struct rs_mr *rs_mr_find(struct rs_nic *nic, uint32_t key, uint32_t pd, uint64_t va,
			 uint64_t length, uint32_t access)
{
	struct rs_mr *m = entry_of(nic, key);

	if (!m)
		return find_own(nic, key, va, length, access);
	return m->pd == pd && covers(m, va, length, access) ? m : NULL;
}

bool rs_mr_check_sges(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
		      uint32_t access)
{
	for (unsigned i = 0; i < n; i++)
		if (sge[i].length &&
		    !rs_mr_find(nic, sge[i].lkey, pd, sge[i].va, sge[i].length, access))
			return false;
	return true;
}

/* The SGE that holds byte *offset of the list; *offset becomes that in the SGE. */
static unsigned locate(const struct rs_sge *sge, unsigned n, uint32_t *offset)
{
	unsigned i = 0;

	while (i < n && *offset >= sge[i].length)
		*offset -= sge[i++].length;
	return i;
}

/* NULL: it is refused, or there is no memory behind it. */
static uint8_t *host_of(struct rs_nic *nic, uint32_t pd, const struct rs_sge *s, uint32_t offset,
			uint32_t length, uint32_t access)
{
	const struct rs_mr *m = rs_mr_find(nic, s->lkey, pd, s->va + offset, length, access);

	return m && m->host ? m->host + (s->va + offset - m->va) : NULL;
}

/* What is sent from there, at most RS_MAX_PAYLOAD; NULL: it is refused. */
static const uint8_t *source_of(struct rs_nic *nic, uint32_t pd, const struct rs_sge *s,
				uint32_t offset, uint32_t length)
{
	const struct rs_mr *m = rs_mr_find(nic, s->lkey, pd, s->va + offset, length, RS_LOCAL_READ);

	return m ? rs_mr_source(m, s->va + offset) : NULL;
}

const uint8_t *rs_mr_gather(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
			    uint32_t offset, uint32_t length)
{
	unsigned i = locate(sge, n, &offset);
	uint8_t *out;

	if (i < n && length <= sge[i].length - offset)
		return source_of(nic, pd, &sge[i], offset, length);
	out = nic->bounce + (size_t)(nic->bounce_next++ % RS_BOUNCE_BUFFERS) * RS_MAX_PAYLOAD;
	for (uint32_t done = 0; done < length && i < n; i++, offset = 0) {
		uint32_t piece = sge[i].length - offset;
		const uint8_t *from;

		if (piece > length - done)
			piece = length - done;
		if (!piece)
			continue;
		from = source_of(nic, pd, &sge[i], offset, piece);
		if (!from)
			return NULL;
		if (!rs_nic_copy(nic, out + done, from, piece))
			return NULL;
		done += piece;
	}
	return out;
}

bool rs_mr_piece(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
		 uint32_t offset, uint32_t length, const uint8_t **to)
{
	unsigned i = locate(sge, n, &offset);

	*to = NULL;
	if (!rs_mr_check_sges(nic, pd, sge, n, RS_ACCESS_LOCAL_WRITE))
		return false;
	if (!nic->c.copy_payload)
		return true;
	if (i == n || length > sge[i].length - offset)
		return false;
	*to = host_of(nic, pd, &sge[i], offset, length, RS_ACCESS_LOCAL_WRITE);
	return true;
}

bool rs_mr_scatter(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
		   uint32_t offset, const uint8_t *bytes, uint32_t length)
{
	unsigned i = locate(sge, n, &offset);

	if (!rs_mr_check_sges(nic, pd, sge, n, RS_ACCESS_LOCAL_WRITE))
		return false;
	if (!nic->c.copy_payload || !bytes)
		return true;
	for (; length && i < n; i++, offset = 0) {
		uint32_t piece = sge[i].length - offset;
		uint8_t *to;

		if (piece > length)
			piece = length;
		if (!piece)
			continue;
		to = host_of(nic, pd, &sge[i], offset, piece, RS_ACCESS_LOCAL_WRITE);
		if (to && !rs_nic_copy(nic, to, bytes, piece)) /* a null region takes none */
			return false;
		bytes += piece;
		length -= piece;
	}
	return true;
}
