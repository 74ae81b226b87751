/* Memory regions: keys, protection, gather and scatter. IBTA §10.6. */
#include <errno.h>
#include <string.h>
#include "rdma/state.h"

/* A key is (entry + 1) << 8 | generation: 0 is never one. */
static struct rs_mr *entry_of(struct rs_nic *nic, uint32_t key)
{
	uint32_t i = (key >> 8) - 1;

	if (i >= nic->mrs_fresh || !nic->mrs[i].used || nic->mrs[i].key != key)
		return NULL;
	return &nic->mrs[i];
}

int rs_nic_reg_mr(struct rs_nic *nic, uint32_t pd, uint64_t va, uint64_t length, uint32_t access,
		  void *host, uint32_t *key)
{
	struct rs_mr *m;
	uint32_t i;

	if (va + length < va || access > 15 || (nic->c.copy_payload && length && !host))
		return -EINVAL;
	/* What a peer may write, the owner must be able to: §10.6.3.1. */
	if ((access & (RS_ACCESS_REMOTE_WRITE | RS_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & RS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (nic->mr_free != UINT32_MAX) {
		i = nic->mr_free;
		nic->mr_free = nic->mrs[i].next_free;
	} else if (nic->mrs_fresh < nic->c.max_mrs) {
		i = nic->mrs_fresh++;
		nic->mrs[i].key = (i + 1) << 8 | 1;
	} else {
		return -ENOMEM;
	}
	m = &nic->mrs[i];
	m->va = va;
	m->length = length;
	m->host = nic->c.copy_payload ? host : NULL;
	m->pd = pd;
	m->access = (uint8_t)access;
	m->used = true;
	*key = m->key;
	return 0;
}

int rs_nic_dereg_mr(struct rs_nic *nic, uint32_t key)
{
	struct rs_mr *m = entry_of(nic, key);

	if (!m)
		return -ENOENT;
	m->used = false;
	/* Now, so that a WRITE under way sees it by comparing keys alone. */
	m->key = (m->key & ~0xffu) | ((m->key + 1) & 0xff);
	m->next_free = nic->mr_free;
	nic->mr_free = (uint32_t)(m - nic->mrs);
	return 0;
}

struct rs_mr *rs_mr_find(struct rs_nic *nic, uint32_t key, uint32_t pd, uint64_t va,
			 uint64_t length, uint32_t access)
{
	struct rs_mr *m = entry_of(nic, key);

	if (!m || m->pd != pd || (m->access & access) != access)
		return NULL;
	if (va < m->va || length > m->length || va - m->va > m->length - length)
		return NULL;
	return m;
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

static uint8_t *host_of(struct rs_nic *nic, uint32_t pd, const struct rs_sge *s, uint32_t offset,
			uint32_t length, uint32_t access)
{
	const struct rs_mr *m = rs_mr_find(nic, s->lkey, pd, s->va + offset, length, access);

	return m ? m->host + (s->va + offset - m->va) : NULL;
}

const uint8_t *rs_mr_gather(struct rs_nic *nic, uint32_t pd, const struct rs_sge *sge, unsigned n,
			    uint32_t offset, uint32_t length)
{
	unsigned i = locate(sge, n, &offset);
	uint8_t *out;

	if (i < n && length <= sge[i].length - offset)
		return host_of(nic, pd, &sge[i], offset, length, 0);
	out = nic->bounce + (size_t)(nic->bounce_next++ % RS_BOUNCE_BUFFERS) * RS_MAX_PAYLOAD;
	for (uint32_t done = 0; done < length && i < n; i++, offset = 0) {
		uint32_t piece = sge[i].length - offset;
		const uint8_t *from;

		if (piece > length - done)
			piece = length - done;
		if (!piece)
			continue;
		from = host_of(nic, pd, &sge[i], offset, piece, 0);
		if (!from)
			return NULL;
		memcpy(out + done, from, piece);
		done += piece;
	}
	return out;
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

		if (piece > length)
			piece = length;
		if (!piece)
			continue;
		memcpy(host_of(nic, pd, &sge[i], offset, piece, RS_ACCESS_LOCAL_WRITE), bytes,
		       piece);
		bytes += piece;
		length -= piece;
	}
	return true;
}
