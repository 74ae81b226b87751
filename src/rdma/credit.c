/*
 * Receivers' credits (cc/credit.c). Each packet with a payload tells the receiver of the data how
 * much its sender was granted, as far as it knows, and how much it wants beyond that. The receiver
 * has one pacer a port: the senders that want more take turns, and the next grant goes when what
 * was granted has passed the link. Totals are absolute: a lost credit packet is made good by the
 * next. A sender without credit and with something to send asks by a packet of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdma/state.h"

/* The sending half: in the state that congestion control has for its own. */
struct sender {
	uint32_t known; /* granted so far, as it knows */
	uint32_t told;  /* the highest total that it asked for */
	bool wants;     /* something waits to be sent: one of nic->n_wanting */
	uint8_t tries;  /* so often it asked again in vain */
	rs_time again;  /* asks again; RS_NEVER */
};

/* Where thousands of senders wait for their turn at a receiver, what they ask must not fill links.
 */
enum { TRIES_MOST = 8 };

_Static_assert(sizeof(struct sender) <= RS_CC_STATE_BYTES, "the state lives in the QP");

static struct sender *sender_of(struct rs_qp *qp)
{
	return (struct sender *)qp->cc.state;
}

static struct rs_credit *credit_of(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return &nic->credits[qp->index];
}

static const struct rs_cc_credits *conf_of(const struct rs_nic *nic, const struct rs_qp *qp)
{
	return &nic->credit_conf[qp->cc_use];
}

static bool by_credit(const struct rs_qp *qp)
{
	return qp->cc_needs & RS_CC_NEEDS_CREDITS;
}

/* The pacer has the place behind those of queue pairs in the heap of timers. */
static uint32_t pacer(const struct rs_nic *nic)
{
	return nic->c.max_qps;
}

int rs_credit_create(struct rs_nic *nic)
{
	const struct rs_nic_config *c = &nic->c;
	bool any = false;

	nic->pull_head = nic->pull_tail = RS_NO_QP;
	for (uint32_t i = 0; c->cc && i < c->n_cc; i++)
		any = any || (c->cc[i].ops->needs & RS_CC_NEEDS_CREDITS);
	if (!any)
		return 0;
	nic->credits = calloc(c->max_qps, sizeof(*nic->credits));
	nic->credit_conf = calloc(c->n_cc, sizeof(*nic->credit_conf));
	if (!nic->credits || !nic->credit_conf)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_cc; i++)
		if (c->cc[i].ops->needs & RS_CC_NEEDS_CREDITS)
			c->cc[i].ops->credits(c->cc[i].params, c->line_rate, &nic->credit_conf[i]);
	nic->pull_pace = rs_pace_of(c->line_rate);
	return 0;
}

void rs_credit_destroy(struct rs_nic *nic)
{
	free(nic->credits);
	free(nic->credit_conf);
}

/* ---- A sender ---- */

static void set_wants(struct rs_nic *nic, struct sender *s, bool wants)
{
	nic->n_wanting += (uint32_t)wants - (uint32_t)s->wants;
	s->wants = wants;
}

void rs_credit_begin(struct rs_nic *nic, struct rs_qp *qp)
{
	if (!by_credit(qp))
		return;
	sender_of(qp)->again = RS_NEVER;
	*credit_of(nic, qp) = (struct rs_credit){.next = RS_NO_QP};
	if (qp->cc.byte_credit <= 0)
		qp->flags |= RS_QF_UNCREDITED;
}

/* Frame bytes of READ answers that were not sent, or go again: a packet of these at least. */
static uint64_t answers(const struct rs_qp *qp)
{
	uint64_t packets = 0;

	if (!(qp->flags & RS_QF_READ_PENDING))
		return 0;

	for (unsigned i = 0; i < qp->resource_count; i++) {
		const struct rs_resource *r =
			&qp->cold->resources[(qp->cold->resource_head + i) % qp->resource_limit];

		if (r->pending && !r->atomic)
			packets += r->packets - r->sent;
	}
	return (packets ? packets : 1) * qp->middle_frame;
}

/* Frame bytes that wait to be sent, those that go again counted. */
static uint64_t backlog(const struct rs_qp *qp)
{
	uint64_t bytes = answers(qp);

	if (qp->state != RS_QPS_RTS && qp->state != RS_QPS_SQD)
		return 0;
	if (qp->sq_send != qp->sq_tail)
		bytes += qp->cold->posted - qp->sent;
	/* which of those that were sent go again is its recovery's to know: all, at most */
	if (qp->flags & RS_QF_RECOVERY && rs_recovery_of(qp)->ready(qp))
		bytes += qp->sent - qp->acked;
	return bytes;
}

/* A request without a payload needs no credit. What goes next is known of go-back-N alone. */
static bool is_free(const struct rs_qp *qp)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);

	return !(qp->flags & RS_QF_RECOVERY) && qp->sq_send != qp->sq_tail &&
	       (!rs_swqe_carries(w) || !w->length) && rs_req_ready_in_order(qp);
}

static bool asks(const struct rs_qp *qp)
{
	const struct sender *s = (const struct sender *)qp->cc.state;

	return (int32_t)(s->told - s->known) <= 0 && backlog(qp);
}

bool rs_credit_ready(const struct rs_qp *qp)
{
	return is_free(qp) || asks(qp);
}

/* What it wants beyond what it has, once a frame more is sent. Those of a NIC that want something
 * share what a lone one would hold: their link is one. */
static uint32_t want(struct rs_nic *nic, struct rs_qp *qp, uint32_t frame)
{
	const struct rs_cc_credits *c = conf_of(nic, qp);
	int64_t waits = (int64_t)backlog(qp) - frame, most;

	set_wants(nic, sender_of(qp), waits > 0);
	most = c->most / (nic->n_wanting > 1 ? nic->n_wanting : 1);
	if (most < qp->middle_frame)
		most = qp->middle_frame;
	if (waits > most)
		waits = most;
	if (waits < c->first)
		waits = c->first;
	waits -= qp->cc.byte_credit - frame;
	return waits > 0 ? (uint32_t)waits : 0;
}

static void tell(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, uint32_t frame)
{
	struct sender *s = sender_of(qp);
	uint32_t total;

	p->credit_granted = credit_of(nic, qp)->granted;
	p->credit_known = s->known;
	p->credit_want = want(nic, qp, frame);
	total = s->known + p->credit_want;
	if ((int32_t)(total - s->told) > 0)
		s->told = total;
}

void rs_credit_stamp(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	if (p->payload_bytes)
		tell(nic, qp, p, p->frame_bytes);
	else
		qp->cc.byte_credit += p->frame_bytes; /* which its pace takes off */
}

static void head(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	rs_packet_head(nic, qp, p, RS_OPCODE_CREDIT, nic->credit_frame);
	p->psn = 0;
}

bool rs_credit_send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	if (is_free(qp))
		return rs_req_send_next(nic, qp, p, now);
	head(nic, qp, p);
	tell(nic, qp, p, 0);
	qp->cc.byte_credit += p->frame_bytes;
	/* something waits, and nothing may go: at least this much, or it would ask for ever */
	if (!p->credit_want) {
		p->credit_want = qp->middle_frame;
		sender_of(qp)->told = sender_of(qp)->known + p->credit_want;
	}
	return true;
}

void rs_credit_spent(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	struct sender *s = sender_of(qp);

	if (!by_credit(qp) || qp->cc.byte_credit > 0)
		return;
	qp->flags |= RS_QF_UNCREDITED;
	s->again = now + (conf_of(nic, qp)->again << s->tries);
	rs_timer_arm(nic, qp, s->again);
}

rs_time rs_credit_expire(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	struct sender *s = sender_of(qp);

	if (!by_credit(qp))
		return RS_NEVER;
	if (s->again > now)
		return s->again;
	s->again = RS_NEVER;
	s->told = s->known;
	if (!backlog(qp))
		return RS_NEVER;
	/* nothing is out that a timeout would count: a peer that never answers ends it here */
	if (s->tries == TRIES_MOST) {
		rs_qp_fail(nic, qp, RS_WC_RETRY_EXC_ERR);
		return RS_NEVER;
	}
	s->tries++;
	rs_sched_kick(nic, qp);
	return RS_NEVER;
}

static void granted(struct rs_nic *nic, struct rs_qp *qp, uint32_t total)
{
	const struct rs_cc_credits *c = conf_of(nic, qp);
	struct sender *s = sender_of(qp);
	int32_t more = (int32_t)(total - s->known);

	if (more <= 0 || more > 2 * (c->most + UINT16_MAX)) /* none of ours grants so much */
		return;
	s->known = total;
	s->tries = 0;
	if ((int32_t)(s->told - total) < 0)
		s->told = total;
	qp->cc.byte_credit += more;
	if (qp->cc.byte_credit > c->most)
		qp->cc.byte_credit = c->most;
	if (qp->cc.byte_credit > 0) {
		qp->flags &= ~RS_QF_UNCREDITED;
		s->again = RS_NEVER;
	}
	rs_sched_kick(nic, qp);
}

/* ---- A receiver ---- */

static void append(struct rs_nic *nic, struct rs_qp *qp)
{
	struct rs_credit *r = credit_of(nic, qp);

	r->waits = true;
	r->next = RS_NO_QP;
	if (nic->pull_head == RS_NO_QP)
		nic->pull_head = qp->index;
	else
		nic->credits[nic->pull_tail].next = qp->index;
	nic->pull_tail = qp->index;
}

static void unlink_from(struct rs_nic *nic, const struct rs_qp *qp)
{
	uint32_t before = RS_NO_QP, at = nic->pull_head;

	while (at != qp->index) {
		before = at;
		at = nic->credits[at].next;
	}
	if (before == RS_NO_QP)
		nic->pull_head = nic->credits[at].next;
	else
		nic->credits[before].next = nic->credits[at].next;
	if (nic->pull_tail == at)
		nic->pull_tail = before;
}

void rs_credit_forget(struct rs_nic *nic, struct rs_qp *qp)
{
	if (!by_credit(qp))
		return;
	set_wants(nic, sender_of(qp), false);
	sender_of(qp)->again = RS_NEVER;
	if (credit_of(nic, qp)->waits)
		unlink_from(nic, qp);
	credit_of(nic, qp)->waits = false;
}

/* The next in turn is granted; when the link has carried that the one behind it is. */
static void pull(struct rs_nic *nic, rs_time now)
{
	struct rs_qp *qp = &nic->qps[nic->pull_head];
	const struct rs_cc_credits *c = conf_of(nic, qp);
	struct rs_credit *r = credit_of(nic, qp);
	uint32_t bytes = r->target - r->granted, link;

	nic->pull_head = r->next;
	r->waits = false;
	if (bytes > c->grant)
		bytes = c->grant;
	r->granted += bytes;
	rs_sched_cnp(nic, qp);
	if ((int32_t)(r->target - r->granted) > 0)
		append(nic, qp);
	/* full frames' gaps are on the link, too */
	link = bytes + bytes * nic->gap / qp->middle_frame;
	nic->pull_at = now + rs_pace_time(nic->pull_pace, link) * 65536 / c->share;
}

void rs_credit_pull(struct rs_nic *nic, rs_time now)
{
	if (nic->pull_at <= now && nic->pull_head != RS_NO_QP)
		pull(nic, now);
	if (nic->pull_head != RS_NO_QP)
		rs_heap_set(&nic->timers, pacer(nic), 0, nic->pull_at);
	else
		rs_heap_remove(&nic->timers, pacer(nic));
}

static void asked(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	struct rs_credit *r = credit_of(nic, qp);
	uint32_t target = p->credit_known + p->credit_want;

	/* no sender of ours wants more */
	if (p->credit_want > conf_of(nic, qp)->most + UINT16_MAX)
		return;
	/* a receiver that was made anew does not know what the one before it granted; else no
	 * sender knows of more than was granted */
	if ((int32_t)(p->credit_known - r->granted) > 0) {
		if (r->granted || r->target)
			return;
		r->granted = p->credit_known;
	}
	if ((int32_t)(target - r->target) > 0)
		r->target = target;
	if ((int32_t)(r->target - r->granted) <= 0 || r->waits)
		return;
	append(nic, qp);
	rs_credit_pull(nic, now);
}

void rs_credit_data(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	if (by_credit(qp) && p->payload_bytes)
		asked(nic, qp, p, now);
}

/* It asks, or it grants; what was granted and is not known there goes once more. */
void rs_credit_rx(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	if (!nic->credits || !by_credit(qp)) {
		nic->counters.rx_dropped++;
		return;
	}
	granted(nic, qp, p->credit_granted);
	if (!p->credit_want)
		return;
	asked(nic, qp, p, now);
	if ((int32_t)(credit_of(nic, qp)->granted - p->credit_known) > 0)
		rs_sched_cnp(nic, qp);
}

void rs_credit_check(const struct rs_nic *nic, const struct rs_qp *qp)
{
	const struct sender *s = (const struct sender *)qp->cc.state;
	uint32_t at = nic->timers.place[qp->index];

	if (!by_credit(qp) || qp->state == RS_QPS_ERR)
		return;
	rs_assert(!(qp->flags & RS_QF_UNCREDITED) == (qp->cc.byte_credit > 0));
	rs_assert(qp->cc.byte_credit <= conf_of(nic, qp)->most);
	if (s->again != RS_NEVER)
		rs_assert(at != RS_HEAP_OUT && nic->timers.entries[at].when <= s->again);
	/* it asked, and what it waits for may be lost */
	if (qp->flags & RS_QF_UNCREDITED && backlog(qp) && (int32_t)(s->told - s->known) > 0)
		rs_assert(s->again != RS_NEVER);
	if (nic->pull_head != RS_NO_QP)
		rs_assert(rs_heap_has(&nic->timers, pacer(nic)));
}

void rs_credit_fill(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	head(nic, qp, p);
	p->tos = nic->c.cnp_tos;
	p->tc = nic->c.cnp_tc;
	p->credit_granted = credit_of(nic, qp)->granted;
	p->credit_known = sender_of(qp)->known;
	p->credit_want = 0;
	nic->counters.tx_credits++;
}
