/* Shared receive queues, of RC, UC and UD (IBTA §10.2.9) and of XRC (annex A14). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdma/state.h"

static uint32_t round_up(uint32_t n)
{
	uint32_t r = 1;

	while (r < n)
		r *= 2;
	return r;
}

static int alloc_ring(uint32_t n, uint8_t max_sge, struct rs_rwqe **rq, struct rs_sge **sge)
{
	*rq = calloc(n, sizeof(**rq));
	*sge = calloc((size_t)n * max_sge, sizeof(**sge));
	if (*rq && *sge)
		return 0;
	free(*rq);
	free(*sge);
	return -ENOMEM;
}

int rs_nic_create_srq(struct rs_nic *nic, const struct rs_srq_init *i, struct rs_srq **out)
{
	struct rs_srq *s;
	uint32_t at = 0;

	if (!i->max_wr || i->max_wr > RS_WR_MAX || !i->max_sge || i->max_sge > RS_SGE_MAX ||
	    i->pd >= RS_PD_OF_QP || i->xrc != !!i->cq)
		return -EINVAL;
	while (at < nic->c.max_srqs && nic->srqs[at])
		at++;
	if (at == nic->c.max_srqs)
		return -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (!s || alloc_ring(round_up(i->max_wr), i->max_sge, &s->rq, &s->sge)) {
		free(s);
		return -ENOMEM;
	}
	s->mask = round_up(i->max_wr) - 1;
	s->size = i->max_wr;
	s->max_sge = i->max_sge;
	s->pd = i->pd;
	s->xrc = i->xrc;
	s->xrcd = i->xrcd;
	s->cq = i->cq;
	if (s->cq)
		s->cq->refs++;
	s->number = at + 1;
	nic->srqs[at] = s;
	*out = s;
	return 0;
}

/* A target whose request under way names the SRQ cannot finish it. */
static void abandon_targets(struct rs_nic *nic, const struct rs_srq *s)
{
	for (uint32_t i = 0; i < nic->qps_fresh; i++) {
		struct rs_qp *qp = &nic->qps[i];

		if (!(qp->flags & RS_QF_TARGET) || qp->cold->more->srq != s)
			continue;
		rs_qp_fail(nic, qp, RS_WC_SUCCESS);
		rs_qp_own_more(qp)->srq = NULL;
		qp->cold->recv_cq = NULL;
	}
}

int rs_nic_destroy_srq(struct rs_nic *nic, struct rs_srq *s)
{
	rs_assert(rs_srq_find(nic, s->number) == s);
	if (s->refs)
		return -EBUSY;
	if (s->xrc)
		abandon_targets(nic, s);
	if (s->cq)
		s->cq->refs--;
	rs_event_forget(nic, s);
	nic->srqs[s->number - 1] = NULL;
	free(s->rq);
	free(s->sge);
	free(s);
	return 0;
}

int rs_srq_post_recv(struct rs_nic *nic, struct rs_srq *s, const struct rs_recv_wr *wr)
{
	uint64_t sum = 0;

	if (wr->n_sge > s->max_sge)
		return -EINVAL;
	for (unsigned i = 0; i < wr->n_sge; i++)
		sum += wr->sge[i].length;
	if (sum > UINT64_C(1) << RS_MESSAGE_MAX_LOG2)
		return -EINVAL;
	if (s->tail - s->head >= s->size)
		return -ENOMEM;
	s->rq[s->tail & s->mask] =
		(struct rs_rwqe){.wr_id = wr->wr_id, .length = (uint32_t)sum, .n_sge = wr->n_sge};
	if (wr->n_sge)
		memcpy(&s->sge[(size_t)(s->tail & s->mask) * s->max_sge], wr->sge,
		       wr->n_sge * sizeof(*wr->sge));
	s->tail++;
	return 0;
}

static void check_limit(struct rs_nic *nic, struct rs_srq *s)
{
	if (s->tail - s->head >= s->limit)
		return;
	s->limit = 0;
	rs_event_add(nic, RS_EVENT_SRQ_LIMIT, s);
}

int rs_srq_arm(struct rs_nic *nic, struct rs_srq *s, uint32_t limit)
{
	rs_assert(rs_srq_find(nic, s->number) == s);
	if (limit > s->size)
		return -EINVAL;
	s->limit = limit;
	if (limit)
		check_limit(nic, s);
	return 0;
}

int rs_srq_resize(struct rs_srq *s, uint32_t max_wr)
{
	uint32_t waiting = s->tail - s->head, n = round_up(max_wr);
	struct rs_rwqe *rq;
	struct rs_sge *sge;

	if (!max_wr || max_wr > RS_WR_MAX || max_wr < waiting || max_wr < s->limit)
		return -EINVAL;
	if (alloc_ring(n, s->max_sge, &rq, &sge))
		return -ENOMEM;
	for (uint32_t i = 0; i < waiting; i++) {
		uint32_t from = (s->head + i) & s->mask;

		rq[i] = s->rq[from];
		memcpy(&sge[(size_t)i * s->max_sge], &s->sge[(size_t)from * s->max_sge],
		       s->max_sge * sizeof(*sge));
	}
	free(s->rq);
	free(s->sge);
	s->rq = rq;
	s->sge = sge;
	s->mask = n - 1;
	s->head = 0;
	s->tail = waiting;
	s->size = max_wr;
	return 0;
}

bool rs_srq_take(struct rs_nic *nic, struct rs_qp *qp)
{
	struct rs_srq *s = qp->cold->more->srq;
	uint32_t at;

	if (!s || s->head == s->tail)
		return false;
	at = s->head++ & s->mask;
	qp->cold->rq[0] = s->rq[at];
	memcpy(qp->cold->recv_sge, &s->sge[(size_t)at * s->max_sge],
	       s->rq[at].n_sge * sizeof(*qp->cold->recv_sge));
	qp->cold->rq_tail++;
	if (s->limit)
		check_limit(nic, s);
	return true;
}

struct rs_srq *rs_srq_find(const struct rs_nic *nic, uint32_t number)
{
	return number - 1 < nic->c.max_srqs ? nic->srqs[number - 1] : NULL;
}

uint32_t rs_srq_receives(const struct rs_srq *s)
{
	return s->tail - s->head;
}

uint32_t rs_srq_limit(const struct rs_srq *s)
{
	return s->limit;
}

uint32_t rs_srq_num(const struct rs_srq *s)
{
	return s->number;
}

void rs_srq_set_user(struct rs_srq *s, uint64_t user)
{
	s->user = user;
}

uint64_t rs_srq_get_user(const struct rs_srq *s)
{
	return s->user;
}
