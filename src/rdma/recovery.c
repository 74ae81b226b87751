/* Go-back-N, and what all strategies share: retry counts and the deadlines behind them. IBTA
 * §9.7.5.2, §9.7.6.1, §9.9.2. */
#include "rdma/state.h"

/* Table 45: RNR NAK timer codes. */
const rs_time rs_rnr_timer[32] = {
	655360 * RS_US, 10 * RS_US,     20 * RS_US,     30 * RS_US,     40 * RS_US,
	60 * RS_US,     80 * RS_US,     120 * RS_US,    160 * RS_US,    240 * RS_US,
	320 * RS_US,    480 * RS_US,    640 * RS_US,    960 * RS_US,    1280 * RS_US,
	1920 * RS_US,   2560 * RS_US,   3840 * RS_US,   5120 * RS_US,   7680 * RS_US,
	10240 * RS_US,  15360 * RS_US,  20480 * RS_US,  30720 * RS_US,  40960 * RS_US,
	61440 * RS_US,  81920 * RS_US,  122880 * RS_US, 163840 * RS_US, 245760 * RS_US,
	327680 * RS_US, 491520 * RS_US,
};

rs_time rs_rto(uint8_t timeout, rs_time floor)
{
	rs_assert(timeout < 32 && floor >= 0); /* 5 bits */
	if (!timeout)
		return 0;
	return rs_time_max((4096 * RS_NS) << timeout, floor);
}

void rs_recover_rewind(struct rs_qp *qp)
{
	qp->sq_send = qp->sq_head;
	qp->send_k = qp->una_k;
	qp->next_psn = qp->una_psn;
	qp->sent = qp->requested = qp->acked;
	qp->outstanding = 0;
	qp->flags &= ~(uint32_t)(RS_QF_RTT | RS_QF_BAD_LOCAL | RS_QF_PROBE);
}

bool rs_recover_go_back(struct rs_nic *nic, struct rs_qp *qp, bool timeout, rs_time now)
{
	const struct rs_cc_use *cc = rs_cc_of(nic, qp);

	if (qp->retries >= qp->cold->retry_cnt) {
		rs_qp_fail(nic, qp, RS_WC_RETRY_EXC_ERR);
		return false;
	}
	qp->retries++;
	qp->cold->again_for = timeout ? RS_AGAIN_TIMEOUT : RS_AGAIN_NAK;
	rs_recovery_of(qp)->rewind(qp);
	if (!(qp->flags & RS_QF_RNR_WAIT))
		qp->deadline = RS_NEVER;
	cc->ops->on_loss(cc->params, &qp->cc, timeout, now);
	if (nic->no_rnr_retry)
		rs_req_await_credit(nic, qp, now);
	rs_sched_kick(nic, qp);
	return true;
}

static uint32_t rnr_clock(rs_time t)
{
	return (uint32_t)(t >> 20);
}

/* A process that has to wait for a core posts no receive meanwhile. Who asks for no retry at all
 * is given none. */
static bool rnr_in_grace(const struct rs_nic *nic, const struct rs_qp *qp, rs_time now)
{
	uint32_t since = rnr_clock(now) - qp->cold->rnr_since;

	return qp->cold->rnr_retry && since < rnr_clock(nic->c.rnr_grace);
}

void rs_recover_rnr(struct rs_nic *nic, struct rs_qp *qp, uint8_t timer, rs_time now)
{
	if (qp->next_psn == qp->una_psn || (qp->flags & RS_QF_RNR_WAIT))
		return; /* a copy of one that already made the QP go back */
	if (!qp->rnr_tries)
		qp->cold->rnr_since = rnr_clock(now);
	if (qp->cold->rnr_retry < 7 && qp->rnr_tries >= qp->cold->rnr_retry &&
	    !rnr_in_grace(nic, qp, now)) {
		rs_qp_fail(nic, qp, RS_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->rnr_tries < qp->cold->rnr_retry && qp->cold->rnr_retry < 7)
		qp->rnr_tries++;
	qp->cold->again_for = RS_AGAIN_RNR;
	rs_recovery_of(qp)->rewind(qp);
	qp->flags |= RS_QF_RNR_WAIT;
	qp->deadline = now + rs_rnr_timer[timer & RS_SYN_VALUE];
	rs_timer_arm(nic, qp, qp->deadline);
}

/* Late, and for the first time; or so late again that the owner did not run at all. */
static bool put_off(const struct rs_nic *nic, struct rs_qp *qp, rs_time due, rs_time now)
{
	rs_time late = qp->flags & RS_QF_PUT_OFF ? nic->c.rto_grace : nic->c.rto_late;

	if (!nic->c.rto_grace || now - due <= late)
		return false;
	qp->flags |= RS_QF_PUT_OFF;
	qp->deadline = now + nic->c.rto_grace;
	return true;
}

void rs_recover_expire(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	rs_time due = qp->deadline;

	qp->deadline = RS_NEVER;
	if (qp->flags & RS_QF_RNR_WAIT) {
		qp->flags &= ~(uint32_t)RS_QF_RNR_WAIT;
		rs_req_credit_waited(qp);
		rs_sched_kick(nic, qp);
		return;
	}
	if ((qp->flags & RS_QF_RECOVERY) && rs_recovery_of(qp)->expire(nic, qp, now))
		return;
	if (rs_probe_expire(nic, qp, due, now) || put_off(nic, qp, due, now))
		return;
	RS_COUNT(nic, qp, local_ack_timeout_err);
	qp->flags &= ~(uint32_t)(RS_QF_IMPLIED | RS_QF_PUT_OFF);
	rs_recover_go_back(nic, qp, true, now);
}

/* One NAK a gap (§9.7.5.2.8): the requester goes back to it, and what is behind it comes again. */
static void early(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		  rs_time now)
{
	if (!(qp->flags & RS_QF_GAP))
		rs_resp_owe_nak(nic, qp, RS_NAK_PSN_SEQ);
}

const struct rs_recovery rs_recovery_go_back_n = {
	.name = "go-back-n",
	.rewind = rs_recover_rewind,
	.early = early,
};

const char *rs_recovery_name(const struct rs_recovery *r)
{
	return r->name;
}
