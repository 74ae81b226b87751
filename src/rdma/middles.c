/*
 * Middles that go, and come, in one go: see nic.h. Which may, and what they change, is beside what
 * handles one packet: requests in requester.c and responder.c, READ responses in responder.c and
 * completer.c.
 */
#include "rdma/state.h"

static bool is_response(const struct rs_packet *p)
{
	return rs_opcodes[p->opcode].flags & RS_F_RESPONSE;
}

/* ---- They go ---- */

static struct rs_qp *sender(struct rs_nic *nic, const struct rs_packet *p)
{
	return &nic->qps[rs_nic_entry(nic, p->src_qp)];
}

uint32_t rs_nic_tx_ahead(struct rs_nic *nic, const struct rs_packet *p, uint32_t max, rs_time now,
			 const uint8_t **payload)
{
	struct rs_qp *qp = sender(nic, p);
	struct rs_middles next = {0};
	const struct rs_mr *m;
	uint32_t n;

	/* what congestion control asks of each packet, each packet is asked for */
	if (!nic->c.copy_payload || qp->cc_needs & (RS_CC_NEEDS_STAMPS | RS_CC_NEEDS_CREDITS))
		return 0;
	if (is_response(p))
		rs_resp_go_on(qp, p, &next);
	else
		rs_req_go_on(qp, p, &next);
	n = next.n < max ? next.n : max;
	if (!n || !rs_sched_lets(nic, qp, n, now))
		return 0;
	m = rs_mr_find(nic, next.key, next.pd, next.va, (uint64_t)n * qp->mtu, next.access);
	if (!m || !m->host)
		return 0;
	*payload = m->host + (next.va - m->va);
	return n;
}

uint64_t rs_nic_tx_middles(struct rs_nic *nic, struct rs_packet *p, uint32_t n, uint32_t ask,
			   rs_time now)
{
	struct rs_qp *qp = sender(nic, p);
	uint64_t asking = 0;

	rs_assert(n && n <= 64);
	if (is_response(p))
		rs_resp_went_on(nic, qp, p, n);
	else
		asking = rs_req_went_on(nic, qp, p, n, ask, now);
	rs_sched_went(nic, qp, n, now);
	nic->counters.tx_packets += n;
	nic->counters.tx_data_packets += n;
	nic->counters.tx_data_bytes += (uint64_t)n * qp->mtu;
	nic->counters.tx_bytes += (uint64_t)n * p->frame_bytes;
	return asking;
}

/* ---- They come ---- */

/* So many at most, and where their bytes go; *to NULL: nowhere. */
static uint32_t coming(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
		       uint32_t max, uint8_t **to)
{
	return is_response(p) ? rs_comp_coming(nic, qp, p, max, to)
			      : rs_resp_coming(nic, qp, p, max, to);
}

uint32_t rs_nic_rx_ahead(struct rs_nic *nic, const struct rs_packet *p, uint32_t max)
{
	struct rs_qp *qp = rs_nic_find_qp(nic, p->dest_qp);
	uint8_t *to;

	if (!qp || nic->reads_beside || rs_packet_ecn(p) == RS_ECN_CE || p->kind != RS_KIND_ROCE ||
	    !rs_qp_from_peer(qp, p) || (p->opcode & 0xe0) != qp->transport)
		return 0;
	return coming(nic, qp, p, max, &to);
}

void rs_nic_rx_middles(struct rs_nic *nic, const struct rs_packet *p, uint32_t n, size_t stride,
		       rs_time now)
{
	struct rs_qp *qp = rs_nic_find_qp(nic, p->dest_qp);
	uint8_t *to = NULL;
	uint32_t may = coming(nic, qp, p, n, &to), done = 0;

	rs_assert(n && n == may);
	while (done < n && (!to || rs_nic_copy(nic, to + (size_t)done * p->payload_bytes,
					       p->payload + done * stride, p->payload_bytes)))
		done++;
	nic->counters.rx_packets += n;
	nic->counters.rx_bytes += n * (uint64_t)p->frame_bytes;
	if (done && is_response(p))
		rs_comp_came(nic, qp, done, now);
	else if (done)
		rs_resp_came(nic, qp, p, done, now);
	if (done == n)
		return;
	if (is_response(p))
		rs_qp_fail(nic, qp, RS_WC_LOC_PROT_ERR);
	else
		rs_resp_untouchable(nic, qp, p);
	nic->counters.rx_dropped += n - done - 1;
}
