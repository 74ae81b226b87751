/* RoCE as a transport of the simulator: a NIC a port, a queue pair an end. A collective's messages
 * are WRITEs, those that the receiver is told of with immediate, as NCCL's network transport sends
 * them. */
#include <errno.h>
#include <stdlib.h>
#include "rdma/nic.h"
#include "sim/sim.h"
#include "sim/transport.h"

enum {
	PATHS_KEPT = 64,
	ALL_ACCESS = RS_ACCESS_LOCAL_WRITE | RS_ACCESS_REMOTE_WRITE | RS_ACCESS_REMOTE_READ |
		     RS_ACCESS_REMOTE_ATOMIC,
};

#define REGION (UINT64_C(1) << 46)

struct roce {
	struct rs_nic *nic;
	struct rs_cq *cq;
	const struct rs_plant *plant;
	uint32_t endpoint, first, n_ends;
	uint32_t key;             /* every NIC has one region, made alike: one key */
	uint32_t full_frame;      /* of a middle packet */
	uint64_t cuts, increases; /* by congestion control, of queue pairs that are gone */
};

static struct rs_qp *qp_of(const struct roce *r, uint32_t number)
{
	return rs_nic_find_qp(r->nic, number);
}

static void destroy(void *self)
{
	struct roce *r = self;

	if (r)
		rs_nic_destroy(r->nic);
	free(r);
}

static uint32_t full_payload(const struct rs_plant *p)
{
	const struct rs_transport_conf *t = &p->f->transport;

	return t->payload ? t->payload : t->mtu;
}

static int create(const struct rs_sim_port *port, struct rs_sim_ends *out, struct rs_error *e)
{
	struct roce *r = calloc(1, sizeof(*r));
	struct rs_nic_config c;
	int err;

	if (!r)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*r = (struct roce){.plant = port->plant,
			   .endpoint = port->endpoint,
			   .first = port->first,
			   .n_ends = port->n_ends};
	rs_plant_nic(port->plant, port->endpoint, &c);
	r->full_frame = rs_framing_data(c.framing, RS_OP_WRITE_MIDDLE, full_payload(port->plant),
					c.ipv6, 0);
	c.max_qps = port->n_ends + port->later ? port->n_ends + port->later : 1;
	c.max_mrs = c.max_cqs = 1;
	c.first_qpn = port->first;
	c.given_qpns = true;
	c.absent = port->absent;
	c.absent_arg = port->absent_arg;
	c.free = port->free;
	c.qp_counters = port->counted;
	c.int_paths = port->paths_vary ? PATHS_KEPT : 0;
	err = rs_nic_create(&c, &r->nic, e);
	if (!err)
		err = rs_nic_create_cq(r->nic, port->news, &r->cq);
	if (!err)
		err = rs_nic_reg_mr(r->nic, 1, 0, REGION, ALL_ACCESS, NULL, &r->key);
	if (err) {
		destroy(r);
		return rs_error_set(e, err, "no memory for a NIC with %u queue pairs",
				    port->n_ends);
	}
	*out = (struct rs_sim_ends){r, rs_nic_endpoint(r->nic), c.qp_message_time || c.qp_rate};
	return 0;
}

/* ---- Ends ---- */

static uint32_t messages_of(const struct rs_sim_past *p)
{
	return (uint32_t)((p->bytes + p->piece - 1) / p->piece);
}

/* The PSN behind the last packet of all messages: each begins with a packet of its own. */
static uint32_t psn_behind(const struct roce *r, const struct rs_sim_past *p)
{
	uint64_t mtu = full_payload(r->plant), whole = p->bytes / p->piece;

	return (uint32_t)((whole * ((p->piece + mtu - 1) / mtu) +
			   (p->bytes % p->piece + mtu - 1) / mtu) &
			  RS_PSN_MASK);
}

/* For an immediate, or with room for a SEND. */
static void receive(struct roce *r, struct rs_qp *qp, bool send)
{
	struct rs_sge sge = {.va = 0, .length = RS_FLOW_MESSAGE_MAX, .lkey = r->key};
	struct rs_recv_wr wr = {.wr_id = rs_qp_get_user(qp), .n_sge = send, .sge = &sge};

	rs_qp_post_recv(r->nic, qp, &wr);
}

/*
 * Where it was. The answers of READs and atomics may have been lost after it went: it remembers
 * those that the peer may still ask for, as it did then.
 */
static void resume(struct roce *r, struct rs_qp *qp, const struct rs_sim_past *past)
{
	uint64_t n = messages_of(past), left = r->plant->f->transport.max_rd_atomic;
	struct rs_sim_past before = *past;

	rs_qp_resume(qp, psn_behind(r, past), messages_of(past), past->kept);
	if (past->op != RS_FLOW_READ && past->op != RS_FLOW_ATOMIC)
		return;
	for (uint64_t i = n > left ? n - left : 0; i < n; i++) {
		uint64_t from = i * past->piece, bytes = past->bytes - from;

		before.bytes = from;
		if (bytes > past->piece)
			bytes = past->piece;
		rs_qp_resume_answer(qp, r->key, psn_behind(r, &before), (uint32_t)bytes,
				    past->op == RS_FLOW_ATOMIC);
	}
}

/* Congestion control begins at time 0, as if the queue pair had been there and idle. */
static int open(void *self, const struct rs_sim_conn_end *end)
{
	struct roce *r = self;
	bool taken = end->told || end->op == RS_FLOW_SEND;
	uint32_t receives = end->receiver && taken ? end->depth : 0;
	struct rs_qp_init i = {.pd = 1,
			       .send_cq = r->cq,
			       .recv_cq = r->cq,
			       .max_send_wr = end->receiver ? 1 : end->depth,
			       .max_recv_wr = receives,
			       .max_send_sge = 1,
			       .max_recv_sge = 1,
			       .cc = end->cc,
			       .recovery = rs_plant_recovery(r->plant)};
	struct rs_qp_attr at;
	struct rs_qp *qp;

	rs_plant_qp(r->plant, r->endpoint, end->tc, &at);
	at.dest_endpoint = end->peer;
	at.dest_qpn = end->peer_number;
	at.sport = end->sport;
	at.access = ALL_ACCESS;
	if (rs_nic_create_qp_at(r->nic, &i, end->number, &qp))
		return -ENOMEM;
	if (rs_qp_connect(r->nic, qp, &at, 0)) {
		rs_nic_destroy_qp(r->nic, qp);
		return -ENOMEM;
	}
	rs_qp_set_user(qp, end->user);
	if (end->past)
		resume(r, qp, end->past);
	for (uint32_t n = 0; n < receives; n++)
		receive(r, qp, end->op == RS_FLOW_SEND);
	return 0;
}

static void cuts(void *self, uint32_t number, uint64_t *down, uint64_t *up)
{
	const struct rs_cc *cc = rs_qp_cc(qp_of(self, number));

	*down += cc->cuts;
	*up += cc->increases;
}

static void close_end(void *self, uint32_t number)
{
	struct roce *r = self;

	cuts(r, number, &r->cuts, &r->increases);
	rs_nic_destroy_qp(r->nic, qp_of(r, number));
}

static bool rests(void *self, uint32_t number, struct rs_sim_past *past)
{
	struct roce *r = self;
	struct rs_qp *qp = qp_of(r, number);

	if (!rs_qp_rests(r->nic, qp, psn_behind(r, past)))
		return false;
	past->kept = rs_qp_last_cnp(qp);
	rs_nic_destroy_qp(r->nic, qp);
	return true;
}

static bool has_all(void *self, uint32_t number, const struct rs_sim_past *past)
{
	const struct rs_qp *qp = qp_of(self, number);

	return qp && rs_qp_has_all(qp, psn_behind(self, past), messages_of(past));
}

static int more(void *self, uint32_t n)
{
	struct roce *r = self;
	int err = rs_nic_more_qpns(r->nic, n);

	if (!err && n > r->n_ends)
		r->n_ends = n;
	return err;
}

static bool user(void *self, uint32_t number, uint64_t *out)
{
	const struct rs_qp *qp = qp_of(self, number);

	if (qp)
		*out = rs_qp_get_user(qp);
	return qp != NULL;
}

static bool look(void *self, uint32_t number, struct rs_sim_end_now *out)
{
	const struct roce *r = self;
	const struct rs_qp_counters *n;
	struct rs_qp *qp = qp_of(r, number);

	if (!qp)
		return false;
	n = rs_qp_get_counters(r->nic, qp);
	*out = (struct rs_sim_end_now){.rate = rs_qp_cc(qp)->rate,
				       .window = rs_qp_cc(qp)->window,
				       .in_flight = rs_qp_unacked(qp),
				       .acked = rs_qp_acked(qp),
				       .answered = rs_qp_oldest(qp)};
	if (n) {
		out->resent[RS_RESENT_TIMEOUT] = n->again[RS_AGAIN_TIMEOUT];
		out->resent[RS_RESENT_NAK] = n->again[RS_AGAIN_NAK];
		out->resent[RS_RESENT_RNR] = n->again[RS_AGAIN_RNR];
	}
	return true;
}

/* ---- Messages ---- */

static void post(void *self, uint32_t number, uint64_t bytes, uint8_t op, bool tell, rs_time now)
{
	static const uint8_t ops[] = {[RS_FLOW_WRITE] = RS_WR_WRITE,
				      [RS_FLOW_SEND] = RS_WR_SEND,
				      [RS_FLOW_READ] = RS_WR_READ,
				      [RS_FLOW_ATOMIC] = RS_WR_FETCH_ADD};
	struct roce *r = self;
	struct rs_qp *qp = qp_of(r, number);
	struct rs_sge sge = {.va = 0, .length = (uint32_t)bytes, .lkey = r->key};
	struct rs_send_wr wr = {
		.wr_id = rs_qp_get_user(qp),
		.op = tell ? RS_WR_WRITE_IMM : ops[op],
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &sge,
		.remote_va = 0,
		.rkey = r->key,
	};
	int err = rs_qp_post_send(r->nic, qp, &wr, now);

	/* a queue pair in error takes nothing: its completion has told. Any other refusal would be
	 * a message that is never sent. */
	rs_assert(!err || rs_qp_get_state(qp) >= RS_QPS_SQE);
}

static bool news(void *self, struct rs_sim_news *out)
{
	struct roce *r = self;
	struct rs_cqe c;

	if (!rs_cq_poll(r->cq, &c, 1))
		return false;
	*out = (struct rs_sim_news){
		.user = c.wr_id, .arrived = c.op >= RS_WR_RECV, .status = c.status};
	if (out->arrived && c.status == RS_WC_SUCCESS)
		receive(r, qp_of(r, c.qpn), c.op == RS_WR_RECV);
	return true;
}

static bool held(void *self, rs_time now)
{
	const struct roce *r = self;

	return rs_nic_held_by(r->nic, now) != RS_HELD_NOT;
}

/* ---- The end ---- */

static void collect(void *self, struct rs_sim_counters *sum, uint64_t *payload)
{
	const struct roce *r = self;
	const struct rs_nic_counters *c = rs_nic_get_counters(r->nic);

	*payload = c->tx_data_bytes - c->retransmitted_bytes;
	sum->data_packets += c->tx_data_packets;
	sum->packets_sent += c->tx_packets;
	sum->packets_delivered += c->rx_packets - c->rx_dropped;
	sum->ack_packets += c->tx_ack_packets;
	sum->cnps += c->np_cnp_sent;
	sum->credits += c->tx_credits;
	sum->data_marked += c->np_ecn_marked_roce_packets;
	sum->retransmits += c->retransmitted_packets;
	sum->timeouts += c->local_ack_timeout_err;
	sum->naks += c->packet_seq_err;
	sum->rnr_naks += c->rnr_nak_retry_err;
	sum->nic_drops += c->rx_dropped;
	sum->cc_cuts += r->cuts;
	sum->cc_increases += r->increases;
	for (uint32_t q = 0; q < r->n_ends; q++) {
		struct rs_qp *qp = qp_of(r, r->first + q);

		sum->cc_cuts += qp ? rs_qp_cc(qp)->cuts : 0;
		sum->cc_increases += qp ? rs_qp_cc(qp)->increases : 0;
	}
}

static uint64_t dropped(void *self)
{
	const struct roce *r = self;

	return rs_nic_get_counters(r->nic)->rx_dropped;
}

/* Packets that were no use are taken for full ones. */
static uint64_t useful(void *self)
{
	const struct roce *r = self;
	const struct rs_nic_counters *c = rs_nic_get_counters(r->nic);
	uint64_t vain = c->duplicate_request, bytes;

	if (rs_plant_recovery(r->plant) == &rs_recovery_go_back_n)
		vain += c->out_of_sequence;
	bytes = vain * r->full_frame;
	return c->rx_bytes > bytes ? c->rx_bytes - bytes : 0;
}

const struct rs_sim_transport sim_roce = {
	.name = "RoCE",
	.create = create,
	.destroy = destroy,
	.open = open,
	.close = close_end,
	.user = user,
	.post = post,
	.any_op = true,
	.news = news,
	.look = look,
	.cuts = cuts,
	.collect = collect,
	.dropped = dropped,
	.useful = useful,
	.rests = rests,
	.has_all = has_all,
	.more = more,
	.held = held,
};
