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

/* The ring's ends are written by whoever has the lock and read by rs_cq_waiting without it. */
static uint32_t end(const _Atomic uint32_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static void set_end(_Atomic uint32_t *at, uint32_t to)
{
	atomic_store_explicit(at, to, memory_order_relaxed);
}

/* ---- Notification: §11.4.2.2 ---- */

RS_APART static void notify(struct rs_cq *cq, const struct rs_cqe *e)
{
	if (cq->armed == RS_ARM_SOLICITED && !e->solicited && e->status == RS_WC_SUCCESS)
		return;
	cq->armed = RS_ARM_NONE;
	cq->told = end(&cq->tail);
	if (cq->notified)
		return;
	cq->notified = true;
	cq->next_notified = NULL;
	*cq->nic->notified_end = cq;
	cq->nic->notified_end = &cq->next_notified;
}

void rs_cq_arm(struct rs_cq *cq, bool solicited_only)
{
	if (cq->armed != RS_ARM_NEXT)
		cq->armed = solicited_only ? RS_ARM_SOLICITED : RS_ARM_NEXT;
}

void rs_cq_arm_unpolled(struct rs_cq *cq, bool solicited_only)
{
	uint32_t head = end(&cq->head), tail = end(&cq->tail);
	uint32_t i = cq->told - head <= tail - head ? cq->told : head;

	rs_cq_arm(cq, solicited_only);
	for (; i != tail && cq->armed; i++)
		notify(cq, &cq->ring[i & cq->mask]);
}

void rs_cq_disarm(struct rs_cq *cq)
{
	cq->armed = RS_ARM_NONE;
}

struct rs_cq *rs_nic_poll_notified(struct rs_nic *nic)
{
	struct rs_cq *cq = nic->notified;

	if (!cq)
		return NULL;
	nic->notified = cq->next_notified;
	if (!nic->notified)
		nic->notified_end = &nic->notified;
	cq->notified = false;
	return cq;
}

static void leave_line(struct rs_nic *nic, struct rs_cq *cq)
{
	struct rs_cq **at = &nic->notified;

	while (*at != cq)
		at = &(*at)->next_notified;
	*at = cq->next_notified;
	if (!*at)
		nic->notified_end = at;
}

/* ---- Life ---- */

bool rs_cq_in_use(const struct rs_cq *cq)
{
	return cq->refs != 0;
}

int rs_nic_destroy_cq(struct rs_nic *nic, struct rs_cq *cq)
{
	rs_assert(cq->nic == nic && nic->cqs_live);
	if (cq->refs)
		return -EBUSY;
	if (cq->notified)
		leave_line(nic, cq);
	rs_event_forget(nic, cq);
	*cq->prev = cq->next;
	if (cq->next)
		cq->next->prev = cq->prev;
	nic->cqs_live--;
	free(cq->ring);
	free(cq);
	return 0;
}

void rs_cq_push(struct rs_cq *cq, const struct rs_cqe *e)
{
	uint32_t tail = end(&cq->tail);

	cq->nic->event = true;
	if (__builtin_expect(tail - end(&cq->head) > cq->mask, 0)) {
		if (!cq->overrun)
			rs_event_add(cq->nic, RS_EVENT_CQ_ERR, cq);
		cq->overrun = true;
		return;
	}
	cq->ring[tail & cq->mask] = *e;
	set_end(&cq->tail, tail + 1);
	if (__builtin_expect(cq->armed, 0))
		notify(cq, e);
}

uint32_t rs_cq_poll(struct rs_cq *cq, struct rs_cqe *out, uint32_t max)
{
	uint32_t n = 0, head = end(&cq->head), tail = end(&cq->tail);

	while (n < max && head != tail)
		out[n++] = cq->ring[head++ & cq->mask];
	set_end(&cq->head, head);
	return n;
}

uint32_t rs_cq_waiting(const struct rs_cq *cq)
{
	return end(&cq->tail) - end(&cq->head);
}

void rs_cq_forget(struct rs_cq *cq, uint32_t qpn)
{
	uint32_t kept = end(&cq->head), tail = end(&cq->tail), told = cq->told;

	for (uint32_t i = kept; i != tail; i++) {
		if (i == cq->told)
			told = kept;
		if (cq->ring[i & cq->mask].qpn != qpn)
			cq->ring[kept++ & cq->mask] = cq->ring[i & cq->mask];
	}
	cq->told = cq->told == tail ? kept : told;
	set_end(&cq->tail, kept);
}

void rs_cq_set_user(struct rs_cq *cq, uint64_t user)
{
	cq->user = user;
}

uint64_t rs_cq_get_user(const struct rs_cq *cq)
{
	return cq->user;
}

bool rs_cq_overrun(const struct rs_cq *cq)
{
	return cq->overrun;
}

int rs_cq_resize(struct rs_cq *cq, uint32_t depth)
{
	uint32_t n = 1, queued = rs_cq_waiting(cq);
	struct rs_cqe *ring;

	if (!depth || depth > RS_MAX_CQ || depth < queued)
		return -EINVAL;
	while (n < depth)
		n *= 2;
	ring = calloc(n, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < queued; i++)
		ring[i] = cq->ring[(end(&cq->head) + i) & cq->mask];
	free(cq->ring);
	cq->ring = ring;
	cq->mask = n - 1;
	cq->told -= end(&cq->head);
	set_end(&cq->head, 0);
	set_end(&cq->tail, queued);
	return 0;
}
