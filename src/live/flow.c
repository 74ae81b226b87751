/* Events of a NIC to its windows, and their orders to its queue pairs: see flow.h. */
#include "live/flow.h"

#include <errno.h>
#include <stdlib.h>

int rs_flow_init(struct rs_flow *f, const struct rs_window_config *c)
{
	int err = rs_window_init(&f->window, c);

	if (err)
		return err;
	f->qps = 0;
	f->timeouts = 0;
	f->qp_timeouts = calloc(c->max_qps, sizeof(*f->qp_timeouts));
	if (f->qp_timeouts)
		return 0;
	rs_window_fini(&f->window);
	return -ENOMEM;
}

void rs_flow_fini(struct rs_flow *f)
{
	rs_window_fini(&f->window);
	free(f->qp_timeouts);
	f->qp_timeouts = NULL;
}

void rs_flow_bind(struct rs_flow *f, struct rs_nic *nic, uint32_t first_qpn)
{
	f->nic = nic;
	f->first_qpn = first_qpn;
}

static struct rs_qp *qp_of(struct rs_flow *f, uint32_t number)
{
	return rs_nic_find_qp(f->nic, f->first_qpn + number);
}

static void obey(struct rs_flow *f)
{
	struct rs_window_order o;

	while (rs_window_has_orders(&f->window) && rs_window_next(&f->window, &o)) {
		struct rs_qp *qp = qp_of(f, o.qp);

		if (!qp) {
			rs_window_left(&f->window, o.qp);
		} else if (o.count) {
			rs_window_counted(&f->window, o.qp, rs_qp_unacked(qp));
		} else {
			rs_qp_hold(f->nic, qp, o.held & RS_WINDOW_HOLD_REQUESTS);
			rs_qp_hold_reads(f->nic, qp, o.held & RS_WINDOW_HOLD_READS);
		}
	}
}

static void note(struct rs_flow *f, uint32_t number)
{
	if (number >= f->qps)
		f->qps = number + 1;
}

uint64_t rs_flow_join(struct rs_flow *f, const struct rs_qp *qp, const struct rs_window_to *to,
		      bool loose)
{
	uint32_t number = rs_qp_num(qp) - f->first_qpn;
	uint64_t charged = rs_window_join(&f->window, number, to, loose);

	note(f, number);
	obey(f);
	return charged;
}

void rs_flow_left(struct rs_flow *f, uint32_t qpn)
{
	if (qpn - f->first_qpn < f->window.max_qps)
		rs_window_left(&f->window, qpn - f->first_qpn);
	obey(f);
}

bool rs_flow_before(struct rs_flow *f, struct rs_packet *p, const struct rs_window_to *to,
		    rs_time now)
{
	uint32_t number = p->src_qp - f->first_qpn;

	if (rs_window_before(&f->window, number, to, p, now))
		rs_qp_ask_ack(f->nic, p, now);
	return rs_window_fills(&f->window, number);
}

void rs_flow_sent(struct rs_flow *f, const struct rs_packet *p, bool alone, rs_time now)
{
	uint32_t number = p->src_qp - f->first_qpn;

	rs_window_sent(&f->window, number, p, alone, now);
	note(f, number);
	obey(f);
}

uint32_t rs_flow_ahead(const struct rs_flow *f, const struct rs_packet *p, uint32_t max,
		       rs_time now, const uint8_t **payload, uint32_t *ask)
{
	uint32_t n = rs_nic_tx_ahead(f->nic, p, max, now, payload);

	return n ? rs_window_before_more(&f->window, p->src_qp - f->first_qpn, p, n, ask) : 0;
}

void rs_flow_sent_more(struct rs_flow *f, const struct rs_packet *p, uint32_t n, rs_time now)
{
	rs_window_sent_more(&f->window, p->src_qp - f->first_qpn, p, n, now);
	obey(f);
}

/* Behind a response: what it acknowledges is counted out. */
static void count_acked(struct rs_flow *f, uint32_t qpn, bool lost)
{
	const struct rs_qp *qp;
	uint64_t charged;

	if (!rs_window_joined(&f->window, qpn - f->first_qpn, &charged))
		return;
	qp = rs_nic_find_qp(f->nic, qpn);
	if (!qp)
		return;
	rs_window_acked(&f->window, qpn - f->first_qpn, rs_qp_unacked(qp), lost);
	obey(f);
}

void rs_flow_rx(struct rs_flow *f, struct rs_packet *p, rs_time now)
{
	/* the NIC takes the packet */
	uint32_t flags = rs_opcodes[p->opcode].flags;
	bool response = flags & RS_F_RESPONSE;
	bool read = flags & RS_F_READ && !response && !(p->bth_flags & RS_BTH_CAN);
	uint64_t again = rs_nic_get_counters(f->nic)->duplicate_request;
	bool lost =
		(p->opcode & 0x1f) == RS_OP_ACKNOWLEDGE && rs_packet_syndrome(p) == RS_NAK_PSN_SEQ;
	uint32_t qpn = p->dest_qp;

	rs_nic_rx(f->nic, p, now);
	if (read && rs_nic_get_counters(f->nic)->duplicate_request != again) {
		rs_window_reads_lost(&f->window, qpn - f->first_qpn, now);
		obey(f);
	}
	if (response)
		count_acked(f, qpn, lost);
}

void rs_flow_rx_middles(struct rs_flow *f, const struct rs_packet *p, uint32_t n, size_t stride,
			rs_time now)
{
	rs_nic_rx_middles(f->nic, p, n, stride, now);
	if (rs_opcodes[p->opcode].flags & RS_F_RESPONSE)
		count_acked(f, p->dest_qp, false);
}

static void pass_on_timeouts(struct rs_flow *f)
{
	for (uint32_t i = 0; i < f->qps; i++) {
		const struct rs_qp *qp = qp_of(f, i);
		const struct rs_qp_counters *c = qp ? rs_qp_get_counters(f->nic, qp) : NULL;

		if (!c || c->local_ack_timeout_err == f->qp_timeouts[i])
			continue;
		f->qp_timeouts[i] = c->local_ack_timeout_err;
		rs_window_timeout(&f->window, i);
	}
}

rs_time rs_flow_deadline(const struct rs_flow *f)
{
	return rs_time_min(rs_nic_deadline(f->nic), f->window.look_at);
}

void rs_flow_expire(struct rs_flow *f, rs_time now)
{
	if (rs_nic_deadline(f->nic) <= now)
		rs_nic_expire(f->nic, now);
	if (rs_nic_get_counters(f->nic)->local_ack_timeout_err != f->timeouts) {
		f->timeouts = rs_nic_get_counters(f->nic)->local_ack_timeout_err;
		pass_on_timeouts(f);
	}
	rs_window_look(&f->window, now);
	obey(f);
}

bool rs_flow_may_ask(const struct rs_flow *f, uint32_t qpn, uint32_t path, uint8_t slot)
{
	const struct rs_qp *qp = rs_nic_find_qp(f->nic, qpn);
	struct rs_qp_attr a;

	if (!qp)
		return false;
	rs_qp_query(qp, &a);
	return !a.dest_qpn || (a.dest_endpoint == path && a.dest_qpn >> 16 == slot);
}

void rs_flow_answered(struct rs_flow *f, const struct rs_window_to *to, uint32_t question,
		      uint64_t bytes, bool whole)
{
	rs_window_answered(&f->window, to, question, bytes, whole);
	obey(f);
}
