/*
 * Probes of the tail, after RFC 8985 (§7): where nothing is heard, a requester of go-back-N asks
 * before its timeout ends. The oldest unacknowledged packet goes again, and the latest: they are
 * duplicates (IBTA §9.7.5.1.4), fill the gap, or are behind one. So an ACK or a NAK tells, also
 * when the NAK of this gap was made already and lost (§9.7.5.2.8). A READ or atomic is asked for
 * once more, later. No try of retry_cnt is used up, and the timeout comes when it would.
 */
#include "rdma/state.h"

enum {
	PROBES = 3, /* in one silence, each twice as long after the one before */
	SHARE = 16, /* a probe is worth it where the timeout is so many times as long */
	GUESS = 4,  /* least times: a round trip before one was measured */
	SMOOTH = 8, /* RFC 6298: alpha */
};

static struct rs_probe *probe_of(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return &nic->probes[qp->index];
}

/* What the deadline is set to: the first probe, or the timeout. */
static void set_wait(const struct rs_nic *nic, struct rs_qp *qp)
{
	const struct rs_probe *b = probe_of(nic, qp);
	rs_time wait = nic->c.probe + 2 * b->srtt;

	qp->rto = wait <= b->rto / SHARE ? wait : b->rto;
}

void rs_probe_set(struct rs_nic *nic, struct rs_qp *qp, rs_time rto)
{
	qp->rto = rto;
	if (!nic->probes)
		return;
	*probe_of(nic, qp) = (struct rs_probe){.rto = rto};
	if (qp->transport != RS_RC ||
	    qp->flags & (RS_QF_UC | RS_QF_UD | RS_QF_XRC | RS_QF_TARGET | RS_QF_RECOVERY))
		return;
	probe_of(nic, qp)->srtt = GUESS * nic->c.probe;
	set_wait(nic, qp);
	if (qp->rto < rto)
		qp->cc_needs |= RS_CC_NEEDS_RTT;
}

void rs_probe_rtt(struct rs_nic *nic, struct rs_qp *qp, rs_time rtt, rs_time now)
{
	struct rs_probe *b = probe_of(nic, qp);

	if (!b->srtt) /* it does not probe */
		return;
	b->srtt += (rtt - b->srtt) / SMOOTH;
	set_wait(nic, qp);
	/* What is in the heap may be later than the new deadline: only here can that be. */
	if (!(qp->flags & RS_QF_RNR_WAIT) && qp->deadline != RS_NEVER &&
	    qp->deadline > now + qp->rto) {
		qp->deadline = now + qp->rto;
		rs_timer_arm(nic, qp, qp->deadline);
	}
}

/* A READ's or atomic's request again, at the last probe: what it asks for may be much. */
static void ask_again(struct rs_nic *nic, struct rs_qp *qp)
{
	if (probe_of(nic, qp)->n + 1 < PROBES)
		return;
	rs_recover_rewind(qp);
	qp->deadline = RS_NEVER; /* set as it goes */
	rs_sched_kick(nic, qp);
}

static void probe(struct rs_nic *nic, struct rs_qp *qp)
{
	qp->cold->again_for = RS_AGAIN_TIMEOUT;
	nic->counters.tail_probes++;
	if (rs_qp_swqe(qp, qp->sq_head)->response) {
		ask_again(nic, qp);
		return;
	}
	qp->flags |= RS_QF_PROBE;
	probe_of(nic, qp)->oldest = false;
	rs_sched_kick(nic, qp);
}

static bool silence_over(struct rs_qp *qp, const struct rs_probe *b, rs_time now)
{
	if (now < b->silent_at + b->rto) {
		qp->deadline = b->silent_at + b->rto;
		return false;
	}
	qp->flags &= ~(uint32_t)(RS_QF_PROBE | RS_QF_PROBED);
	return true;
}

bool rs_probe_expire(struct rs_nic *nic, struct rs_qp *qp, rs_time due, rs_time now)
{
	struct rs_probe *b = nic->probes ? probe_of(nic, qp) : NULL;

	if (!b || qp->rto >= b->rto || qp->next_psn == qp->una_psn)
		return false;
	if (!(qp->flags & RS_QF_PROBED)) {
		qp->flags |= RS_QF_PROBED;
		b->n = 0;
		b->silent_at = due - qp->rto;
	}
	if (b->n == PROBES)
		return !silence_over(qp, b, now);
	qp->deadline = now + (qp->rto << (b->n + 1));
	/* Found late: the owner did not run, and what came meanwhile is yet to be read. Many silent
	 * at once: their peer is late, and all their probes would find no room there. */
	if ((!nic->c.rto_grace || now - due <= nic->c.rto_late) && now >= nic->probe_next) {
		nic->probe_next = now + nic->c.probe;
		probe(nic, qp);
	}
	if (++b->n == PROBES && qp->deadline != RS_NEVER)
		qp->deadline = rs_time_max(b->silent_at + b->rto, now + 1);
	return true;
}

/* The packet that was sent last since the latest going back. False: it is a READ or atomic. */
static bool latest(const struct rs_qp *qp, uint32_t *i, uint32_t *k)
{
	const struct rs_swqe *w;

	*i = qp->send_k ? qp->sq_send : qp->sq_send - 1;
	w = rs_qp_swqe(qp, *i);
	*k = (qp->send_k ? qp->send_k : w->packets) - 1;
	return w->packets && !w->response;
}

bool rs_probe_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	struct rs_probe *b = probe_of(nic, qp);
	uint32_t i, k;

	/* an answer came first: to all, or to all before a READ or atomic, which is asked again
	 * alone */
	if (qp->next_psn == qp->una_psn || rs_qp_swqe(qp, qp->sq_head)->response) {
		qp->flags &= ~(uint32_t)RS_QF_PROBE;
		return false;
	}
	if (!b->oldest) {
		b->oldest = true;
		if (rs_qp_in_flight(qp) == 1 || !latest(qp, &i, &k))
			qp->flags &= ~(uint32_t)RS_QF_PROBE;
		return rs_req_send_again(nic, qp, qp->sq_head, qp->una_k, qp->una_psn, p);
	}
	qp->flags &= ~(uint32_t)RS_QF_PROBE;
	return latest(qp, &i, &k) &&
	       rs_req_send_again(nic, qp, i, k, rs_psn_add(qp->next_psn, RS_PSN_MASK), p);
}
