/* Retransmission, RNR and delayed-ACK deadlines: one lazily updated heap entry a QP. */
#include "rdma/state.h"

void rs_timer_insert(struct rs_nic *nic, struct rs_qp *qp, rs_time when)
{
	rs_heap_set(&nic->timers, qp->index, qp->qpn, when);
}

rs_time rs_nic_deadline(const struct rs_nic *nic)
{
	return rs_heap_top(&nic->timers);
}

void rs_nic_expire(struct rs_nic *nic, rs_time now)
{
	while (rs_heap_top(&nic->timers) <= now) {
		struct rs_qp *qp = &nic->qps[nic->timers.entries[0].id];
		rs_time due, again;

		if (nic->timers.entries[0].id == nic->c.max_qps) {
			rs_credit_pull(nic, now);
			continue;
		}
		if (qp->ack_deadline <= now) {
			qp->ack_deadline = RS_NEVER;
			qp->flags |= RS_QF_ACK_OWED;
			rs_resp_kick(nic, qp);
		}
		if (qp->deadline <= now)
			rs_recover_expire(nic, qp, now);
		again = nic->credits ? rs_credit_expire(nic, qp, now) : RS_NEVER;
		due = rs_time_min(rs_time_min(qp->deadline, qp->ack_deadline), again);
		rs_assert(due > now); /* or this would not end */
		if (due == RS_NEVER)
			rs_heap_remove(&nic->timers, qp->index);
		else
			rs_heap_set(&nic->timers, qp->index, qp->qpn, due);
	}
}
