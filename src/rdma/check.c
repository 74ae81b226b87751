/* The invariants of a NIC, for tests: slow and obvious. */
#include "rdma/state.h"

static void check_sends(const struct rs_qp *qp)
{
	uint32_t psn = qp->una_psn;
	uint32_t head = qp->sq_head;

	rs_assert(qp->sq_tail - head <= qp->cold->sq_size);
	rs_assert(qp->sq_send - head <= qp->sq_tail - head);
	rs_assert(rs_psn_diff(qp->max_psn, qp->next_psn) >= 0);
	rs_assert(rs_psn_diff(qp->next_psn, qp->una_psn) >= 0);
	rs_assert(qp->sent >= qp->acked);
	for (uint32_t i = head; i != qp->sq_tail; i++) {
		const struct rs_swqe *w = rs_qp_swqe(qp, i);
		uint32_t k = i == head ? qp->una_k : 0;

		rs_assert(w->packets || w->op > RS_WR_SEND_INV);
		rs_assert(!w->packets || (k < w->packets && w->end > w->start));
		rs_assert(rs_psn_add(w->first_psn, k) == psn);
		if (i == qp->sq_send)
			rs_assert(qp->next_psn == rs_psn_add(w->first_psn, qp->send_k));
		psn = rs_psn_add(w->first_psn, w->packets);
	}
	if (qp->state >= RS_QPS_RTS && qp->state != RS_QPS_ERR)
		rs_assert(psn == qp->cold->post_psn);
}

static void check_outstanding(const struct rs_qp *qp)
{
	uint32_t n = 0;

	for (uint32_t i = qp->sq_head; i != qp->sq_send; i++)
		n += rs_qp_swqe(qp, i)->response;
	rs_assert(n == qp->outstanding);
	rs_assert(n <= qp->cold->max_rd_atomic || !n);
}

static void check_places(const struct rs_nic *nic, const struct rs_qp *qp)
{
	rs_time due = rs_time_min(qp->deadline, qp->ack_deadline);
	uint32_t at = nic->timers.place[qp->index];

	rs_assert((qp->place == RS_PLACE_PACED) == rs_heap_has(&nic->paced, qp->index));
	if (due != RS_NEVER)
		rs_assert(at != RS_HEAP_OUT && nic->timers.entries[at].when <= due);
	/* No QP that could send is forgotten. */
	if (qp->place == RS_PLACE_NONE && qp->state != RS_QPS_ERR)
		rs_assert(!rs_sched_ready(qp));
	if ((qp->nak || (qp->flags & RS_QF_ACK_OWED)) && !(qp->flags & RS_QF_READ_PENDING))
		rs_assert(qp->flags & RS_QF_ON_CONTROL);
	/* In flight: something will move it. */
	if ((int64_t)(qp->requested - qp->acked) > 0 && qp->rto)
		rs_assert(qp->deadline != RS_NEVER);
	else if (qp->next_psn != qp->una_psn && qp->rto && !(qp->flags & RS_QF_RNR_WAIT))
		rs_assert(qp->place != RS_PLACE_NONE || (qp->flags & RS_QF_UNCREDITED));
	rs_credit_check(nic, qp);
}

static void check_receives(const struct rs_qp *qp)
{
	rs_assert(qp->cold->rq_tail - qp->cold->rq_head <=
		  (qp->flags & RS_QF_SRQ ? 1 : qp->cold->rq_size));
	if (qp->flags & RS_QF_RECEIVING)
		rs_assert(qp->cold->rq_tail != qp->cold->rq_head &&
			  qp->message == RS_OP_SEND_FIRST);
	rs_assert(qp->resource_count <= qp->resource_limit);
	rs_assert(qp->resource_next <= qp->resource_count);
}

static void check_heap(const struct rs_nic *nic, const struct rs_heap *h)
{
	rs_assert(h->count <= nic->c.max_qps + (h == &nic->timers));
	for (uint32_t i = 0; i < h->count; i++) {
		rs_assert(h->entries[i].id == nic->c.max_qps ||
			  nic->qps[h->entries[i].id].flags & RS_QF_USED);
		rs_assert(h->place[h->entries[i].id] == i);
		rs_assert(!i || h->entries[(i - 1) / 2].when <= h->entries[i].when);
	}
}

/* A list's links agree both ways; returns its length. */
static uint32_t check_list(const struct rs_nic *nic, const struct rs_list *l, enum rs_list_kind k)
{
	uint32_t n = 0, last = RS_NO_QP;

	for (uint32_t i = l->head; i != RS_NO_QP; i = nic->qps[i].link[k].next) {
		rs_assert(nic->qps[i].link[k].prev == last);
		rs_assert(n++ < nic->c.max_qps);
		rs_assert(nic->qps[i].flags & RS_QF_USED);
		last = i;
	}
	rs_assert(l->tail == last);
	return n;
}

/* Who holds a completion queue or a shared receive queue; a target borrows both from the SRQ. */
static void count_holders(const struct rs_nic *nic, uint32_t *of_cqs, uint32_t *of_srqs)
{
	for (uint32_t i = 0; i < nic->qps_fresh; i++) {
		const struct rs_qp *qp = &nic->qps[i];

		if (!(qp->flags & RS_QF_USED))
			continue;
		*of_cqs += qp->cold->send_cq != NULL;
		if (qp->flags & RS_QF_TARGET)
			continue;
		*of_cqs += qp->cold->recv_cq != NULL;
		*of_srqs += qp->cold->more->srq != NULL;
	}
	for (uint32_t i = 0; i < nic->c.max_srqs; i++)
		*of_cqs += nic->srqs[i] && nic->srqs[i]->cq;
}

static void check_queues(const struct rs_nic *nic)
{
	uint32_t of_cqs = 0, of_srqs = 0, cqs = 0, line = 0;

	count_holders(nic, &of_cqs, &of_srqs);
	for (const struct rs_cq *q = nic->cqs; q; q = q->next, cqs++) {
		rs_assert(q->nic == nic && *q->prev == q);
		rs_assert(!(q->mask & (q->mask + 1)) && q->tail - q->head <= q->mask + 1);
		of_cqs -= q->refs;
		line += q->notified;
	}
	rs_assert(nic->notified || nic->notified_end == &nic->notified);
	for (const struct rs_cq *q = nic->notified; q; q = q->next_notified) {
		rs_assert(q->notified && line--);
		rs_assert(q->next_notified || nic->notified_end == &q->next_notified);
	}
	for (uint32_t i = 0; i < nic->c.max_srqs; i++) {
		const struct rs_srq *s = nic->srqs[i];

		if (!s)
			continue;
		rs_assert(s->number == i + 1 && s->limit <= s->size);
		rs_assert(!(s->mask & (s->mask + 1)) && s->size <= s->mask + 1);
		rs_assert(s->tail - s->head <= s->size);
		of_srqs -= s->refs;
	}
	rs_assert(cqs == nic->cqs_live && !of_cqs && !of_srqs && !line);
}

void rs_nic_check(const struct rs_nic *nic)
{
	uint32_t ready = 0, listed = 0, live = 0, control = 0, cnp = 0;

	for (uint32_t i = 0; i < nic->qps_fresh; i++) {
		const struct rs_qp *qp = &nic->qps[i];

		if (!(qp->flags & RS_QF_USED))
			continue;
		live++;
		rs_assert(qp->index == i && qp->tc < RS_CLASSES);
		check_sends(qp);
		check_outstanding(qp);
		check_receives(qp);
		check_places(nic, qp);
		if (qp->flags & RS_QF_RECOVERY)
			rs_recovery_of(qp)->check(qp);
		ready += qp->place == RS_PLACE_READY;
		control += (qp->flags & RS_QF_ON_CONTROL) != 0;
		cnp += (qp->flags & RS_QF_ON_CNP) != 0;
	}
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		listed += check_list(nic, &nic->data[c], RS_LIST_DATA);
		control -= check_list(nic, &nic->control[c], RS_LIST_CONTROL);
		rs_assert((nic->data_mask >> c & 1) == (nic->data[c].head != RS_NO_QP));
		rs_assert((nic->control_mask >> c & 1) == (nic->control[c].head != RS_NO_QP));
	}
	rs_assert(cnp == check_list(nic, &nic->cnp, RS_LIST_CNP) && !control);
	rs_assert(nic->cnp_mask == (cnp ? 1 << nic->c.cnp_tc : 0));
	rs_assert(ready == listed && live == nic->qps_live);
	rs_assert(nic->events_tail - nic->events_head <= RS_EVENTS);
	check_heap(nic, &nic->paced);
	check_heap(nic, &nic->timers);
	check_queues(nic);
}
