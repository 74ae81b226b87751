/* Completion queues: rings of completions, polled by the owner. IBTA §10.8. */
#include <errno.h>
#include <stdlib.h>
#include "rdma/state.h"

int rs_nic_create_cq(struct rs_nic *nic, uint32_t depth, struct rs_cq **out)
{
	struct rs_cq *cq;
	uint32_t n = 1;

	if (!depth || depth > RS_MAX_CQ)
		return -EINVAL;
	if (nic->cqs_live >= nic->c.max_cqs)
		return -ENOMEM;
	while (n < depth)
		n *= 2;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ring = calloc(n, sizeof(*cq->ring));
	if (!cq->ring) {
		free(cq);
		return -ENOMEM;
	}
	cq->mask = n - 1;
	cq->nic = nic;
	cq->next = nic->cqs;
	cq->prev = &nic->cqs;
	if (cq->next)
		cq->next->prev = &cq->next;
	nic->cqs = cq;
	nic->cqs_live++;
	*out = cq;
	return 0;
}

void rs_nic_destroy_cq(struct rs_nic *nic, struct rs_cq *cq)
{
	rs_assert(!cq->refs);
	*cq->prev = cq->next;
	if (cq->next)
		cq->next->prev = cq->prev;
	nic->cqs_live--;
	free(cq->ring);
	free(cq);
}

void rs_cq_push(struct rs_cq *cq, const struct rs_cqe *e)
{
	cq->nic->event = true;
	if (cq->tail - cq->head > cq->mask) {
		cq->overrun = true;
		return;
	}
	cq->ring[cq->tail++ & cq->mask] = *e;
}

uint32_t rs_cq_poll(struct rs_cq *cq, struct rs_cqe *out, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && cq->head != cq->tail)
		out[n++] = cq->ring[cq->head++ & cq->mask];
	return n;
}

bool rs_cq_overrun(const struct rs_cq *cq)
{
	return cq->overrun;
}

int rs_cq_resize(struct rs_cq *cq, uint32_t depth)
{
	uint32_t n = 1, queued = cq->tail - cq->head;
	struct rs_cqe *ring;

	if (!depth || depth > RS_MAX_CQ || depth < queued)
		return -EINVAL;
	while (n < depth)
		n *= 2;
	ring = calloc(n, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < queued; i++)
		ring[i] = cq->ring[(cq->head + i) & cq->mask];
	free(cq->ring);
	cq->ring = ring;
	cq->mask = n - 1;
	cq->head = 0;
	cq->tail = queued;
	return 0;
}
