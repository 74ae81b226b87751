/* The NIC: its tables, and where an arrived packet goes. */
#include "rdma/nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rdma/state.h"
#include "wire/telemetry.h"

static int check_cc(const struct rs_nic_config *c, struct rs_error *e)
{
	if (c->n_cc > RS_NIC_CCS || (c->cc && !c->n_cc))
		return rs_error_set(e, -EINVAL, "%u congestion controls are not 1..%d", c->n_cc,
				    RS_NIC_CCS);
	for (uint32_t i = 0; c->cc && i < c->n_cc; i++) {
		rs_assert(c->cc[i].ops->path_bytes <= RS_CC_PATH_BYTES);
		rs_assert(c->cc[i].ops->on_feedback ||
			  !(c->cc[i].ops->needs & ~RS_CC_NEEDS_CREDITS));
		rs_assert(!c->cc[i].ops->credits == !(c->cc[i].ops->needs & RS_CC_NEEDS_CREDITS));
		if ((c->cc[i].ops->needs & RS_CC_NEEDS_STAMPS) && !c->int_scale)
			return rs_error_set(e, -EINVAL, "%s needs the telemetry's scale",
					    c->cc[i].ops->name);
	}
	for (unsigned t = 0; t < RS_CLASSES; t++)
		if (c->cc_of_class[t] && c->cc_of_class[t] >= c->n_cc)
			return rs_error_set(e, -EINVAL, "class %u has no congestion control", t);
	return 0;
}

static int check_config(const struct rs_nic_config *c, struct rs_error *e)
{
	if (!c->free)
		return rs_error_set(e, -EINVAL, "a NIC needs a packet list");
	if (!c->max_qps || c->max_qps > RS_MAX_QPS)
		return rs_error_set(e, -EINVAL, "max_qps %u is not in 1..%d", c->max_qps,
				    RS_MAX_QPS);
	if (c->first_qpn < 2 || c->first_qpn > RS_QPN_MASK + 1u - c->max_qps)
		return rs_error_set(e, -EINVAL, "first_qpn %u is not in 2..%u", c->first_qpn,
				    RS_QPN_MASK + 1u - c->max_qps);
	if (!c->max_cqs || c->max_mrs > RS_MAX_MRS)
		return rs_error_set(e, -EINVAL, "max_cqs must be at least 1, max_mrs at most %d",
				    RS_MAX_MRS);
	if (c->max_srqs > RS_MAX_SRQS)
		return rs_error_set(e, -EINVAL, "max_srqs is above %d", RS_MAX_SRQS);
	if (c->quirks.window_payload && !(c->framing && c->framing->data))
		return rs_error_set(e, -EINVAL, "windows of payload need headers of one length");
	if (c->selective.in_flight > RS_SELECTIVE_MAX || c->selective.reorder < 0 ||
	    (c->selective.in_flight &&
	     (c->selective.rto_low <= 0 || c->selective.rto_high < c->selective.rto_low)))
		return rs_error_set(e, -EINVAL,
				    "selective: at most %d packets in flight, and "
				    "0 < rto_low <= rto_high",
				    RS_SELECTIVE_MAX);
	if (c->line_rate <= 0 || c->cnp_tc >= RS_CLASSES || c->ack_tc >= RS_CLASSES ||
	    c->ack_delay < 0 || c->min_rto < 0 || c->pace_late < 0 || c->qp_rate < 0 ||
	    c->rtt_rate < 0 || c->rto_late < 0 || c->rto_grace < 0 || c->rnr_grace < 0 ||
	    c->probe < 0 || c->qp_message_time < 0)
		return rs_error_set(e, -EINVAL, "a rate, class or time is out of range");
	return check_cc(c, e);
}

/* What telemetry takes: the latest stamps, to be returned, and what is known of paths. */
static int alloc_telemetry(struct rs_nic *nic)
{
	const struct rs_nic_config *c = &nic->c;
	bool stamps = false;

	for (uint32_t i = 0; c->cc && i < c->n_cc; i++)
		stamps = stamps || (c->cc[i].ops->needs & RS_CC_NEEDS_STAMPS);
	if (!stamps)
		return 0;
	nic->int_records = calloc((size_t)c->max_qps, sizeof(*nic->int_records));
	nic->cc_paths = calloc(c->max_qps, rs_cc_paths_bytes(c));
	nic->reads_beside = true;
	return nic->int_records && nic->cc_paths ? 0 : -ENOMEM;
}

/* Both tables of queue pairs, at the start of a pair of cache lines. */
static void alloc_qps(struct rs_nic *nic)
{
	const size_t each = sizeof(*nic->qps) + sizeof(*nic->qps_cold);
	const uintptr_t start = _Alignof(struct rs_qp);

	nic->qps_memory = calloc(1, nic->c.max_qps * each + start);
	if (!nic->qps_memory)
		return;
	nic->qps = (struct rs_qp *)(((uintptr_t)nic->qps_memory + start - 1) & ~(start - 1));
	nic->qps_cold = (struct rs_qp_cold *)(nic->qps + nic->c.max_qps);
}

static int alloc_tables(struct rs_nic *nic)
{
	const struct rs_nic_config *c = &nic->c;

	alloc_qps(nic);
	if (rs_credit_create(nic))
		return -ENOMEM;
	nic->reads_beside = nic->credits != NULL;
	nic->mrs = calloc(c->max_mrs ? c->max_mrs : 1, sizeof(*nic->mrs));
	if (c->copy_payload)
		nic->bounce = malloc((size_t)RS_BOUNCE_BUFFERS * RS_MAX_PAYLOAD);
	if (c->qp_message_time)
		nic->message_due = calloc(c->max_qps, sizeof(*nic->message_due));
	if (c->probe)
		nic->probes = calloc(c->max_qps, sizeof(*nic->probes));
	if (c->given_qpns)
		nic->entry_of = calloc(c->max_qps, sizeof(*nic->entry_of));
	if (c->given_qpns && !nic->entry_of)
		return -ENOMEM;
	nic->n_qpns = nic->entry_of ? c->max_qps : 0;
	nic->events = calloc(RS_EVENTS, sizeof(*nic->events));
	if (c->max_srqs)
		nic->srqs = calloc(c->max_srqs, sizeof(struct rs_srq *));
	if (c->qp_counters)
		nic->qp_counters = calloc(c->max_qps, sizeof(*nic->qp_counters));
	if (!nic->events || (c->max_srqs && !nic->srqs) || (c->qp_counters && !nic->qp_counters))
		return -ENOMEM;
	if (!nic->qps_memory || !nic->mrs || (c->copy_payload && !nic->bounce) ||
	    alloc_telemetry(nic) || (c->qp_message_time && !nic->message_due) ||
	    (c->probe && !nic->probes))
		return -ENOMEM;
	if (rs_cnp_create(nic))
		return -ENOMEM;
	if (rs_heap_init(&nic->paced, c->max_qps) || rs_heap_init(&nic->timers, c->max_qps + 1))
		return -ENOMEM;
	return 0;
}

static void set_framing(struct rs_nic *nic)
{
	const struct rs_nic_config *c = &nic->c;
	const struct rs_framing *f = c->framing ? c->framing : &rs_framings[RS_FRAMING_ROCEV2];

	nic->framing = f;
	nic->gap = f->gap;
	nic->whole_ns = c->quirks.whole_ns;
	nic->pace_late = c->pace_late;
	nic->uncounted = c->quirks.window_payload ? f->data : 0;
	nic->ack_frame[0] = rs_framing_ack(f, c->ipv6, 0);
	nic->ack_frame[1] = rs_framing_ack(f, c->ipv6, RS_INT_BYTES);
}

uint16_t rs_nic_frame(const struct rs_nic *nic, const struct rs_qp *qp, uint8_t opcode,
		      uint32_t payload)
{
	uint16_t beside = payload ? rs_qp_beside_bytes(qp) : 0;

	if (__builtin_expect(qp->flags & RS_QF_RECOVERY, 0) && rs_op_placed(opcode) &&
	    !nic->framing->data)
		beside += RS_RETH_BYTES;
	return rs_framing_data(nic->framing, opcode, payload, nic->c.ipv6, beside);
}

/* ---- As an endpoint ---- */

_Static_assert(offsetof(struct rs_nic, as_endpoint) == 0, "the casts here and in rs_nic_of()");

static struct rs_packet *endpoint_tx(struct rs_endpoint *e, uint8_t held, rs_time now,
				     rs_time *again)
{
	return rs_nic_tx((struct rs_nic *)e, held, now, again);
}

static void endpoint_rx(struct rs_endpoint *e, struct rs_packet *p, rs_time now)
{
	rs_nic_rx((struct rs_nic *)e, p, now);
}

static rs_time endpoint_deadline(const struct rs_endpoint *e)
{
	return rs_nic_deadline((const struct rs_nic *)e);
}

static void endpoint_expire(struct rs_endpoint *e, rs_time now)
{
	rs_nic_expire((struct rs_nic *)e, now);
}

static void endpoint_prefetch(const struct rs_endpoint *e, unsigned step)
{
	rs_nic_prefetch((const struct rs_nic *)e, step);
}

static const struct rs_endpoint_ops endpoint_ops = {
	.tx = endpoint_tx,
	.rx = endpoint_rx,
	.deadline = endpoint_deadline,
	.expire = endpoint_expire,
	.prefetch = endpoint_prefetch,
};

struct rs_endpoint *rs_nic_endpoint(struct rs_nic *nic)
{
	return &nic->as_endpoint;
}

struct rs_nic *rs_nic_of(struct rs_endpoint *e)
{
	return e->ops == &endpoint_ops ? (struct rs_nic *)e : NULL;
}

/* ---- Making ---- */

static const struct rs_cc_use no_cc = {.ops = &rs_cc_none};

int rs_nic_create(const struct rs_nic_config *c, struct rs_nic **out, struct rs_error *e)
{
	int err = check_config(c, e);
	struct rs_nic *nic;

	if (err)
		return err;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return rs_error_set(e, -ENOMEM, "no memory for a NIC");
	nic->as_endpoint.ops = &endpoint_ops;
	nic->c = *c;
	nic->cc = c->cc ? c->cc : &no_cc;
	nic->mr_free = UINT32_MAX;
	nic->notified_end = &nic->notified;
	nic->request_every = c->ack_every ? c->ack_every : RS_REQUEST_EVERY;
	nic->qp_free_head = nic->qp_free_tail = RS_NO_QP;
	for (unsigned i = 0; i < RS_CLASSES; i++) {
		rs_list_init(&nic->data[i]);
		rs_list_init(&nic->control[i]);
	}
	rs_list_init(&nic->cnp);
	set_framing(nic);
	rs_mr_init_keys(nic);
	nic->atomic_ack_frame = rs_frame_bytes(RS_OP_ATOMIC_ACKNOWLEDGE, 0, c->ipv6);
	nic->cnp_frame = rs_frame_bytes(RS_OPCODE_CNP, 0, c->ipv6);
	nic->credit_frame = rs_frame_bytes(RS_OPCODE_CREDIT, RS_CREDIT_PACKET_BYTES, c->ipv6);
	for (uint8_t t = 0; t < RS_CLASSES; t++)
		nic->ack_class[t] = c->quirks.ack_unpaused ? RS_CLASSES - 1 : t;
	nic->apart_class = c->quirks.ack_unpaused ? RS_CLASSES - 1 : c->ack_tc;
	if (c->quirks.ack_unpaused)
		nic->c.weight[RS_CLASSES - 1] = 0;
	nic->ets = rs_ets_of(nic->c.weight);
	err = alloc_tables(nic);
	if (err) {
		rs_nic_destroy(nic);
		return rs_error_set(e, err, "no memory for the tables of %u QPs", c->max_qps);
	}
	*out = nic;
	return 0;
}

void rs_nic_destroy(struct rs_nic *nic)
{
	if (!nic)
		return;
	for (uint32_t i = 0; nic->qps && i < nic->qps_fresh; i++)
		if (nic->qps[i].flags & RS_QF_USED)
			rs_nic_destroy_qp(nic, &nic->qps[i]);
	for (uint32_t i = 0; nic->srqs && i < nic->c.max_srqs; i++)
		if (nic->srqs[i])
			rs_nic_destroy_srq(nic, nic->srqs[i]);
	while (nic->cqs) {
		int busy = rs_nic_destroy_cq(nic, nic->cqs);

		rs_assert(!busy);
	}
	rs_heap_fini(&nic->paced);
	rs_heap_fini(&nic->timers);
	free(nic->qps_memory);
	free(nic->entry_of);
	free(nic->mrs);
	free(nic->bounce);
	free(nic->message_due);
	free(nic->peer_cnp);
	rs_credit_destroy(nic);
	free(nic->probes);
	free(nic->int_records);
	free(nic->cc_paths);
	free(nic->events);
	free(nic->srqs);
	free(nic->qp_counters);
	free(nic->attached);
	free(nic);
}

struct rs_qp *rs_nic_find_qp(struct rs_nic *nic, uint32_t qpn)
{
	uint32_t i = rs_nic_entry(nic, qpn);

	return i < nic->qps_fresh && (nic->qps[i].flags & RS_QF_USED) ? &nic->qps[i] : NULL;
}

/* The congestion-marked packets of a data flow: a CNP to its source, or an echo in its ACK. */
RS_APART static void on_marked(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	const struct rs_cc_use *cc = rs_cc_of(nic, qp);
	rs_time *last;

	RS_COUNT(nic, qp, np_ecn_marked_roce_packets);
	if (nic->c.quirks.ack_echo || nic->c.selective.balance.n)
		qp->flags |= RS_QF_ECHO;
	if (nic->c.quirks.ack_echo)
		return;
	last = rs_cnp_last(nic, qp);
	if (!cc->ops->cnp_due || !cc->ops->cnp_due(cc->params, *last, now))
		return;
	*last = now;
	rs_sched_cnp(nic, qp);
}

RS_APART static void on_cnp(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	const struct rs_cc_use *cc = rs_cc_of(nic, qp);

	RS_COUNT(nic, qp, rp_cnp_handled);
	cc->ops->on_cnp(cc->params, &qp->cc, now);
	rs_sched_kick(nic, qp);
}

static void receive(struct rs_nic *nic, const struct rs_packet *p, rs_time now);

/* To a QP that is not there, where the owner makes them when they are wanted. */
RS_COLD static void wanted(struct rs_nic *nic, const struct rs_packet *p, rs_time now)
{
	if (!nic->c.absent || p->dest_qp - nic->c.first_qpn >= nic->n_qpns)
		nic->counters.rx_dropped++;
	else if (nic->c.absent(nic->c.absent_arg, p->dest_qp) && rs_nic_find_qp(nic, p->dest_qp))
		receive(nic, p, now);
}

/* Not to a connected QP from its peer: a datagram, or it is dropped. */
RS_APART static void stranger(struct rs_nic *nic, const struct rs_packet *p, rs_time now)
{
	struct rs_qp *qp = rs_nic_find_qp(nic, p->dest_qp);

	if (p->kind == RS_KIND_ROCE && nic->entry_of && !qp) {
		wanted(nic, p, now);
		return;
	}
	if (p->kind == RS_KIND_ROCE && p->dest_qp == RS_MULTICAST_QPN) {
		rs_ud_multicast(nic, p, now);
		return;
	}
	if (p->kind == RS_KIND_ROCE && qp && (qp->flags & RS_QF_UD)) {
		rs_ud_rx(nic, qp, p, now);
		return;
	}
	nic->counters.bad_pkey += qp && ((p->pkey ^ qp->pkey) & 0x7fff);
	nic->counters.rx_dropped++;
}

/* §9.6.1: of another service: dropped. A reserved one of its own is a request that the responder
 * refuses, once it is its turn. */
RS_COLD static void other_opcode(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				 rs_time now)
{
	if (p->opcode == RS_OPCODE_CREDIT)
		rs_credit_rx(nic, qp, p, now);
	else if ((p->opcode & 0xe0) == qp->transport)
		rs_resp_rx(nic, qp, p, 0, now);
	else
		nic->counters.rx_dropped++;
}

/* What stands beside the payload of a request. */
RS_APART static void read_beside(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				 rs_time now)
{
	if ((p->bth_flags & RS_PACKET_INT) && nic->int_records) {
		memcpy(nic->int_records[qp->index].hop, p->int_hop, sizeof(p->int_hop));
		nic->int_records[qp->index].path = p->int_path;
	}
	if (nic->credits)
		rs_credit_data(nic, qp, p, now);
}

static inline void take_response(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				 uint32_t f, rs_time now)
{
	if (__builtin_expect(rs_packet_ecn(p) == RS_ECN_CE && p->payload_bytes, 0))
		on_marked(nic, qp, now);
	if (__builtin_expect((f & RS_F_READ) && nic->credits, 0))
		rs_credit_data(nic, qp, p, now);
	rs_comp_rx(nic, qp, p, f, now);
}

static inline void take_request(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
				uint32_t f, rs_time now)
{
	if (__builtin_expect(rs_packet_ecn(p) == RS_ECN_CE, 0))
		on_marked(nic, qp, now);
	if (__builtin_expect(nic->reads_beside, 0))
		read_beside(nic, qp, p, now);
	rs_resp_rx(nic, qp, p, f, now);
}

/* Whose it is, and what it is. */
static void receive(struct rs_nic *nic, const struct rs_packet *p, rs_time now)
{
	uint32_t f = rs_opcodes[p->opcode].flags;
	uint32_t index = rs_nic_entry(nic, p->dest_qp);
	struct rs_qp *qp = &nic->qps[index < nic->qps_fresh ? index : 0];

	if (__builtin_expect(p->kind != RS_KIND_ROCE || index >= nic->qps_fresh ||
				     !rs_qp_from_peer(qp, p),
			     0))
		stranger(nic, p, now);
	else if (__builtin_expect(p->opcode == RS_OPCODE_CNP, 0))
		on_cnp(nic, qp, now);
	else if (__builtin_expect((p->opcode & 0xe0) != qp->transport || !(f & RS_F_VALID), 0))
		other_opcode(nic, qp, p, now);
	else if (f & RS_F_RESPONSE)
		take_response(nic, qp, p, f, now);
	else
		take_request(nic, qp, p, f, now);
}

void rs_nic_rx(struct rs_nic *nic, struct rs_packet *p, rs_time now)
{
	if (__builtin_expect(p->corrupt, 0)) {
		nic->counters.rx_icrc_encapsulated++;
	} else {
		nic->counters.rx_packets++;
		nic->counters.rx_bytes += p->frame_bytes;
		receive(nic, p, now);
	}
	rs_pool_free(nic->c.free, p);
}

bool rs_nic_take_event(struct rs_nic *nic)
{
	bool event = nic->event;

	nic->event = false;
	return event;
}

const struct rs_nic_counters *rs_nic_get_counters(const struct rs_nic *nic)
{
	return &nic->counters;
}

static void prefetch_lines(const void *p, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 64)
		__builtin_prefetch((const char *)p + at);
}

/* Its first queue pairs: those that there are in a ring, or of a host that sends one flow. */
static uint32_t few_qps(const struct rs_nic *nic)
{
	return nic->qps_fresh < 2 ? nic->qps_fresh : 2;
}

void rs_nic_prefetch(const struct rs_nic *nic, unsigned step)
{
	if (step == 0) {
		prefetch_lines(nic, sizeof(*nic));
	} else if (step == 1) {
		prefetch_lines(nic->qps, few_qps(nic) * sizeof(*nic->qps));
		__builtin_prefetch(nic->paced.entries);
		__builtin_prefetch(nic->timers.entries);
	} else {
		for (uint32_t i = 0; i < few_qps(nic); i++) {
			const struct rs_qp *qp = &nic->qps[i];

			__builtin_prefetch(&qp->sq[qp->sq_send & qp->sq_mask]);
		}
	}
}
