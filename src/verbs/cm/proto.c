/* The connection's states: what each message does in each (IBTA §12.9.5-12.9.7), and its timeouts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "live/knock.h"
#include "verbs/cm/cm.h"
#include "base/bytes.h"

/* Rejected messages, as REJ and MRA name them. */
enum { ABOUT_REQ, ABOUT_REP, ABOUT_OTHER };
enum { SIDR_UNSUPPORTED = 1 }; /* §12.11.2.2: no such service ID */

static void reply(struct ibv_context *verbs, const struct rs_gsi_datagram *to, struct rs_cm_msg *m)
{
	struct rs_gsi_datagram d = {0};

	memcpy(d.own, to->own, 16);
	memcpy(d.peer, to->peer, 16);
	if (!rs_cm_encode(m, d.mad))
		rs_verbs_gsi_send(verbs, &d);
}

static int transmit(struct rs_cm_id *id)
{
	struct rs_gsi_datagram d = {0};

	memcpy(d.own, id->own, 16);
	memcpy(d.peer, id->peer, 16);
	memcpy(d.mad, id->mad, RS_MAD_BYTES);
	return rs_verbs_gsi_send(id->dev->verbs, &d);
}

/* How long an answer to this try is waited for: a quarter more or less, so that what was lost
 * together is not sent together again. */
static int64_t patience(const struct rs_cm_id *id)
{
	int64_t ms = INT64_C(1) * RS_CM_RETRY_MS << (id->tries - 1);

	if (ms > RS_CM_RETRY_MAX_MS)
		ms = RS_CM_RETRY_MAX_MS;
	return ms - ms / 4 + (int64_t)(rs_cm_random() % (uint32_t)(ms / 2));
}

/* A burst fits into a socket of the kernel's default size; what is behind it waits its turn. */
static int64_t turn(int64_t now)
{
	static int64_t begun;
	static unsigned sent;

	if (now - begun >= RS_CM_BURST_MS) {
		begun = now;
		sent = 0;
	}
	if (sent == RS_CM_BURST) {
		begun += RS_CM_BURST_MS;
		sent = 0;
	}
	sent++;
	return begun > now ? begun : now;
}

static void try(struct rs_cm_id *id, int64_t now)
{
	id->tries++;
	id->due_ms = now + patience(id);
	transmit(id);
}

/* repeat: until it is answered, RS_CM_TRIES times. */
static int send_msg(struct rs_cm_id *id, struct rs_cm_msg *m, const void *data, unsigned n,
		    bool repeat)
{
	int64_t now;
	int err;

	if (n > rs_cm_private_max(m->kind))
		return -EINVAL;
	m->tid = id->tid;
	if (n)
		memcpy(m->private_data, data, n);
	m->private_length = (uint8_t)n;
	err = rs_cm_encode(m, id->mad);
	if (err)
		return err;
	id->tries = 0;
	id->due_ms = 0;
	if (!repeat)
		return transmit(id);
	now = rs_cm_now_ms();
	id->due_ms = turn(now);
	/* The network may refuse for a while: what is repeated may get through later. */
	if (id->due_ms <= now)
		try(id, now);
	rs_cm_wake();
	return 0;
}

static uint64_t service_of(const struct rs_cm_id *id, uint16_t port)
{
	return (uint64_t)id->base.ps << 16 | port;
}

static uint16_t dst_port(struct rs_cm_id *id)
{
	return be16toh(rdma_get_dst_port(&id->base));
}

/* A REQ's or SIDR_REQ's private data: A11's header, then the application's. */
static int prefix(struct rs_cm_id *id, uint8_t *out, const void *data, unsigned n, unsigned max)
{
	struct rs_cm_ip ip = {.version = 6, .port = id->port};

	if (n + RS_CM_IP_BYTES > max)
		return -EINVAL;
	if (rs_cm_is_ipv4(id->own))
		ip.version = 4;
	memcpy(ip.src, id->own, 16);
	memcpy(ip.dst, id->peer, 16);
	rs_cm_ip_encode(&ip, out);
	if (n)
		memcpy(out + RS_CM_IP_BYTES, data, n);
	return (int)n + RS_CM_IP_BYTES;
}

static int send_sidr_req(struct rs_cm_id *id, const void *data, unsigned n)
{
	struct rs_cm_msg m = {.kind = RS_CM_SIDR_REQ,
			      .local_id = id->local_id,
			      .pkey = 0xffff,
			      .service_id = service_of(id, dst_port(id))};
	uint8_t bytes[RS_CM_PRIVATE_MAX];
	int total = prefix(id, bytes, data, n, rs_cm_private_max(RS_CM_SIDR_REQ));

	if (total < 0)
		return total;
	id->state = RS_CM_REQ_SENT;
	return send_msg(id, &m, bytes, (unsigned)total, true);
}

static uint8_t transport_of(enum ibv_qp_type t)
{
	if (t == IBV_QPT_XRC_SEND)
		return RS_CM_EXTENDED;
	return t == IBV_QPT_UC ? RS_CM_UC : RS_CM_RC;
}

int rs_cm_send_req(struct rs_cm_id *id, const void *data, unsigned n)
{
	struct rs_cm_msg m = {.kind = RS_CM_REQ,
			      .local_id = id->local_id,
			      .service_id = service_of(id, dst_port(id)),
			      .guid = be64toh(ibv_get_device_guid(id->dev->verbs->device)),
			      .qpn = id->qpn,
			      .psn = id->psn,
			      .responder_resources = id->responder_resources,
			      .initiator_depth = id->initiator_depth,
			      .remote_timeout = RS_CM_TIMEOUT,
			      .local_timeout = RS_CM_TIMEOUT,
			      .transport = transport_of(id->base.qp_type),
			      .extended_transport = id->base.qp_type == IBV_QPT_XRC_SEND,
			      .retry_count = id->retry_count,
			      .rnr_retry = id->rnr_retry,
			      .pkey = 0xffff,
			      .mtu = id->mtu,
			      .max_retries = RS_CM_TRIES,
			      .srq = id->srq,
			      .path = {.slid = 0xffff,
				       .dlid = 0xffff,
				       .hop_limit = 64,
				       .traffic_class = id->tos,
				       .ack_timeout = id->ack_timeout}};
	uint8_t bytes[RS_CM_PRIVATE_MAX];
	int total;

	if (id->base.ps == RDMA_PS_UDP)
		return send_sidr_req(id, data, n);
	total = prefix(id, bytes, data, n, rs_cm_private_max(RS_CM_REQ));
	if (total < 0)
		return total;
	memcpy(m.path.sgid, id->own, 16);
	memcpy(m.path.dgid, id->peer, 16);
	id->state = RS_CM_REQ_SENT;
	return send_msg(id, &m, bytes, (unsigned)total, true);
}

int rs_cm_send_rep(struct rs_cm_id *id, const void *data, unsigned n)
{
	struct rs_cm_msg m = {.kind = RS_CM_REP,
			      .local_id = id->local_id,
			      .remote_id = id->remote_id,
			      .qpn = id->qpn,
			      .psn = id->psn,
			      .responder_resources = id->responder_resources,
			      .initiator_depth = id->initiator_depth,
			      .ack_delay = RS_CM_ACK_DELAY,
			      .rnr_retry = id->rnr_retry,
			      .srq = id->srq,
			      .guid = be64toh(ibv_get_device_guid(id->dev->verbs->device))};

	id->state = RS_CM_REP_SENT;
	return send_msg(id, &m, data, n, true);
}

/* Two ways through the network and the peer's delay, as Linux counts them (cm_ack_timeout in cm.c):
 * then nothing of the connection is under way any more, and its QP may be used anew. The
 * acknowledgement timeout stands for the two ways, as in cma_resolve_iboe_route. */
static int64_t timewait_ms(const struct rs_cm_id *id)
{
	const int64_t unit_ns = 4096;

	return ((unit_ns << id->ack_timeout) + (unit_ns << RS_CM_ACK_DELAY)) / 1000000;
}

static void enter_timewait(struct rs_cm_id *id)
{
	id->left = false;
	id->due_ms = id->ghost ? 0 : rs_cm_now_ms() + timewait_ms(id);
	rs_cm_wake();
}

/*
 * Over. On Linux TimeWait begins when a DREP comes, or none does to the last DREQ, or when one is
 * sent, and that is when the application disconnects, too (cm_drep_handler, cm_process_send_error,
 * ib_send_cm_drep in cm.c). One that leaves a parted peer alone is never told of TimeWait's end,
 * and some know no such event. Ours answers a DREQ at once, and tells as if it had waited.
 */
static void post_disconnected(struct rs_cm_id *id)
{
	bool parted = id->state == RS_CM_DREQ_SENT;

	id->state = RS_CM_CLOSED;
	id->due_ms = 0;
	id->left = !parted;
	rs_cm_post(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (parted)
		enter_timewait(id);
}

int rs_cm_part(struct rs_cm_id *id)
{
	if (id->state == RS_CM_ESTABLISHED || id->state == RS_CM_REP_SENT)
		return rs_cm_send_dreq(id);
	if (id->state == RS_CM_CLOSED && id->left)
		enter_timewait(id);
	return 0;
}

/* Whose questions a kernel refused, of all connections of the device. */
static void hear_refusals(struct rs_cm_dev *dev)
{
	uint64_t token;

	while (rs_verbs_knock_refused(dev->verbs, &token))
		for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
			rs_alive_refused(&id->alive, token);
}

static unsigned connections(void)
{
	unsigned n = 0;

	for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
		n += id->state == RS_CM_ESTABLISHED;
	return n;
}

/* Of another host's: it is asked, and its kernel may say that nobody is there. */
static void knock(struct rs_cm_id *id)
{
	struct rs_gsi_datagram d = {0};
	struct rs_knock k = {.local_id = id->local_id, .remote_id = id->remote_id};
	unsigned ms;

	hear_refusals(id->dev);
	if (id->alive.gone) {
		post_disconnected(id);
		return;
	}
	k.token = (uint64_t)rs_cm_random() << 32 | (rs_cm_random() | 1);
	ms = rs_alive_ask(&id->alive, k.token, connections());
	if (!ms)
		return;
	k.token = id->alive.token;
	memcpy(d.own, id->own, 16);
	memcpy(d.peer, id->peer, 16);
	rs_knock_encode(&k, RS_KNOCK_QUESTION, d.mad);
	rs_verbs_knock(id->dev->verbs, &d);
	id->due_ms = rs_cm_now_ms() + ms;
}

/* A process that is killed does not part, and no kernel does in its place: of this host's, it is
 * looked after. */
static void look_after(struct rs_cm_id *id)
{
	enum rs_live_peer p = rs_verbs_peer_of(id->dev->verbs, id->own, id->peer, id->remote_qpn);

	id->due_ms = 0;
	if (p == RS_PEER_LIVES)
		id->due_ms = rs_cm_now_ms() + RS_CM_LOOK_MS;
	else if (p == RS_PEER_GONE)
		post_disconnected(id);
	else
		knock(id);
}

int rs_cm_send_rtu(struct rs_cm_id *id)
{
	struct rs_cm_msg m = {
		.kind = RS_CM_RTU, .local_id = id->local_id, .remote_id = id->remote_id};

	id->state = RS_CM_ESTABLISHED;
	send_msg(id, &m, NULL, 0, false);
	id->due_ms = rs_cm_now_ms() + RS_ALIVE_FIRST_MS;
	rs_cm_wake();
	return 0;
}

int rs_cm_send_rej(struct rs_cm_id *id, unsigned reason, const void *data, unsigned n)
{
	struct rs_cm_msg m = {.kind = RS_CM_REJ,
			      .local_id = id->local_id,
			      .remote_id = id->remote_id,
			      .what = id->passive ? ABOUT_REQ : ABOUT_REP,
			      .reason = (uint16_t)reason};

	id->state = RS_CM_CLOSED;
	return send_msg(id, &m, data, n, false);
}

int rs_cm_send_dreq(struct rs_cm_id *id)
{
	struct rs_cm_msg m = {.kind = RS_CM_DREQ,
			      .local_id = id->local_id,
			      .remote_id = id->remote_id,
			      .qpn = id->remote_qpn};

	/* A REP that waits for its turn: a peer that has none knows no connection to end. */
	if (id->state == RS_CM_REP_SENT && !id->tries)
		transmit(id);
	id->state = RS_CM_DREQ_SENT;
	return send_msg(id, &m, NULL, 0, true);
}

int rs_cm_send_sidr_rep(struct rs_cm_id *id, unsigned status, const void *data, unsigned n)
{
	struct rs_cm_msg m = {.kind = RS_CM_SIDR_REP,
			      .local_id = id->remote_id,
			      .reason = (uint16_t)status,
			      .qpn = id->qpn,
			      .qkey = id->qkey,
			      .service_id = service_of(id, id->port)};

	id->state = status ? RS_CM_CLOSED : RS_CM_ESTABLISHED;
	return send_msg(id, &m, data, n, false);
}

/* ---- What arrives ---- */

uint32_t rs_cm_new_number(unsigned slot)
{
	struct rs_cm_id *id;
	uint32_t n;

	do {
		n = slot << 24 | (rs_cm_random() & 0xffffff);
		for (id = rs_cm_all(); id && id->local_id != n; id = id->next)
			;
	} while (id);
	return n;
}

static struct rs_cm_id *find_local(uint32_t local, const struct rs_gsi_datagram *d)
{
	for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
		if (id->local_id == local && id->state != RS_CM_IDLE && id->state != RS_CM_LISTEN &&
		    !memcmp(id->peer, d->peer, 16))
			return id;
	return NULL;
}

/* Who was made for a request, and for no other of the same number (§12.6.5: transaction IDs). */
static struct rs_cm_id *find_passive(const struct rs_cm_msg *m, const struct rs_gsi_datagram *d)
{
	for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
		if (id->passive && id->remote_id == m->local_id && id->tid == m->tid &&
		    !memcmp(id->peer, d->peer, 16) && !memcmp(id->own, d->own, 16))
			return id;
	return NULL;
}

static struct rs_cm_id *find_listener(const struct rs_cm_msg *m, const uint8_t own[16])
{
	for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
		if (id->state == RS_CM_LISTEN && service_of(id, id->port) == m->service_id &&
		    rs_cm_hears(id->how, id->bound_gid, own))
			return id;
	return NULL;
}

static void post_private(struct rs_cm_event *e, const uint8_t *data, unsigned n)
{
	memcpy(e->private_data, data, n);
	if (e->id->base.ps == RDMA_PS_UDP) {
		e->base.param.ud.private_data = e->private_data;
		e->base.param.ud.private_data_len = (uint8_t)n;
	} else {
		e->base.param.conn.private_data = e->private_data;
		e->base.param.conn.private_data_len = (uint8_t)n;
	}
}

static void refuse(const struct rs_gsi_datagram *d, const struct rs_cm_msg *m, unsigned reason)
{
	struct rs_cm_dev *dev = rs_cm_device(d->own);
	struct rs_cm_msg out = {.kind = RS_CM_REJ,
				.tid = m->tid,
				.remote_id = m->local_id,
				.what = m->kind == RS_CM_REP ? ABOUT_REP : ABOUT_REQ,
				.reason = (uint16_t)reason};

	if (m->kind == RS_CM_SIDR_REQ)
		out = (struct rs_cm_msg){.kind = RS_CM_SIDR_REP,
					 .tid = m->tid,
					 .local_id = m->local_id,
					 .reason = SIDR_UNSUPPORTED,
					 .service_id = m->service_id};
	if (dev)
		reply(dev->verbs, d, &out);
}

/* A new identifier for a request, on the listener's channel. */
static struct rs_cm_id *make_passive(struct rs_cm_id *listener, const struct rs_gsi_datagram *d,
				     const struct rs_cm_msg *m, const struct rs_cm_ip *ip)
{
	struct rs_cm_dev *dev = rs_cm_device(d->own);
	struct rs_cm_id *id = dev ? rs_cm_new(listener->base.channel, listener->base.context,
					      listener->base.ps, listener->base.qp_type)
				  : NULL;

	if (!id)
		return NULL;
	id->dev = dev;
	id->base.verbs = dev->verbs;
	id->base.pd = dev->pd;
	id->base.port_num = RS_V_PORT;
	id->passive = true;
	id->listener = listener;
	id->state = RS_CM_REQ_RCVD;
	id->port = listener->port;
	id->tos = m->path.traffic_class;
	id->local_id = rs_cm_new_number(dev->slot);
	id->remote_id = m->local_id;
	id->tid = m->tid;
	memcpy(id->own, d->own, 16);
	memcpy(id->peer, d->peer, 16);
	rs_cm_addr_of(id->own, id->port, &id->base.route.addr.src_storage);
	rs_cm_addr_of(id->peer, ip->port, &id->base.route.addr.dst_storage);
	rs_cm_set_path(id);
	rs_cm_add(id);
	listener->backlog++;
	return id;
}

bool rs_cm_refused(const struct rs_cm_id *id)
{
	struct rs_cm_msg m;

	return !rs_cm_decode(id->mad, &m) && (m.kind == RS_CM_REJ || m.kind == RS_CM_SIDR_REP);
}

/* A request came again: it crossed our answer, or that was lost, or its connection is over. */
static void on_request_again(struct rs_cm_id *id, const struct rs_gsi_datagram *d,
			     const struct rs_cm_msg *m)
{
	if (id->state == RS_CM_REQ_RCVD && m->kind == RS_CM_REQ) {
		/* The application takes its time: the peer shall wait. */
		struct rs_cm_msg mra = {.kind = RS_CM_MRA,
					.tid = m->tid,
					.local_id = id->local_id,
					.remote_id = m->local_id,
					.what = ABOUT_REQ,
					.local_timeout = RS_CM_TIMEOUT + 2};

		reply(id->dev->verbs, d, &mra);
	} else if (id->state == RS_CM_REP_SENT || id->base.ps == RDMA_PS_UDP ||
		   (id->state == RS_CM_CLOSED && rs_cm_refused(id))) {
		if (id->state != RS_CM_REQ_RCVD)
			transmit(id);
	} else if (id->state == RS_CM_CLOSED || id->state == RS_CM_DREQ_SENT) {
		refuse(d, m, RS_REJ_STALE);
	}
}

static void on_request(const struct rs_gsi_datagram *d, const struct rs_cm_msg *m)
{
	struct rs_cm_id *id = find_passive(m, d), *listener;
	struct rs_cm_event *e;
	struct rs_cm_ip ip;

	if (id) {
		on_request_again(id, d, m);
		return;
	}
	listener = find_listener(m, d->own);
	if (!listener || !rs_cm_ip_decode(m->private_data, &ip)) {
		refuse(d, m, RS_REJ_INVALID_SERVICE);
		return;
	}
	/* Full: the peer asks again, and finds room once some were taken. */
	if (listener->backlog >= listener->backlog_most)
		return;
	id = make_passive(listener, d, m, &ip);
	if (!id) {
		refuse(d, m, RS_REJ_NO_RESOURCES);
		return;
	}
	id->remote_qpn = m->qpn;
	id->remote_psn = m->psn;
	id->mtu = m->mtu;
	id->srq = false;
	id->retry_count = m->retry_count;
	id->rnr_retry = m->rnr_retry;
	if (m->kind == RS_CM_REQ)
		id->ack_timeout = m->path.ack_timeout;
	/* From here: what the peer may start is what we must hold, and the other way round. */
	id->responder_resources = m->initiator_depth;
	id->initiator_depth = m->responder_resources;
	e = rs_cm_post(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (!e) {
		listener->backlog--;
		rs_cm_remove(id);
		free(id);
		return;
	}
	if (m->kind == RS_CM_REQ)
		e->base.param.conn =
			(struct rdma_conn_param){.responder_resources = id->responder_resources,
						 .initiator_depth = id->initiator_depth,
						 .flow_control = m->flow_control,
						 .retry_count = m->retry_count,
						 .rnr_retry_count = m->rnr_retry,
						 .srq = m->srq,
						 .qp_num = m->qpn};
	post_private(e, m->private_data + RS_CM_IP_BYTES, m->private_length - RS_CM_IP_BYTES);
}

static void post_connected(struct rs_cm_id *id, enum rdma_cm_event_type type,
			   const struct rs_cm_msg *m)
{
	struct rs_cm_event *e = rs_cm_post(id, type, 0);

	if (!e)
		return;
	e->base.param.conn =
		(struct rdma_conn_param){.responder_resources = id->responder_resources,
					 .initiator_depth = id->initiator_depth,
					 .flow_control = m->flow_control,
					 .retry_count = id->retry_count,
					 .rnr_retry_count = id->rnr_retry,
					 .srq = m->srq,
					 .qp_num = id->remote_qpn};
	if (m->kind == RS_CM_REP)
		post_private(e, m->private_data, m->private_length);
}

static void on_rep(struct rs_cm_id *id, const struct rs_gsi_datagram *d, const struct rs_cm_msg *m)
{
	int err;

	if (id->state == RS_CM_ESTABLISHED && !id->passive && m->local_id == id->remote_id) {
		transmit(id); /* our RTU was lost */
		return;
	}
	if (id->state == RS_CM_CLOSED) { /* it has seen no REJ or DREQ of ours */
		refuse(d, m, RS_REJ_INVALID_ID);
		return;
	}
	if (id->state != RS_CM_REQ_SENT || id->base.ps == RDMA_PS_UDP)
		return;
	id->due_ms = 0;
	id->remote_id = m->local_id;
	id->remote_qpn = m->qpn;
	id->remote_psn = m->psn;
	id->rnr_retry = m->rnr_retry;
	id->responder_resources = m->initiator_depth;
	id->initiator_depth = m->responder_resources;
	if (!id->base.qp) {
		id->state = RS_CM_REP_RCVD;
		post_connected(id, RDMA_CM_EVENT_CONNECT_RESPONSE, m);
		return;
	}
	err = rs_cm_qp_to(id, IBV_QPS_RTR);
	if (!err)
		err = rs_cm_qp_to(id, IBV_QPS_RTS);
	if (err) {
		rs_cm_qp_to(id, IBV_QPS_ERR);
		rs_cm_send_rej(id, RS_REJ_CONSUMER, NULL, 0);
		rs_cm_post(id, RDMA_CM_EVENT_CONNECT_ERROR, -err);
		return;
	}
	rs_cm_send_rtu(id);
	post_connected(id, RDMA_CM_EVENT_ESTABLISHED, m);
}

static void on_rtu(struct rs_cm_id *id, const struct rs_cm_msg *m)
{
	if (id->state != RS_CM_REP_SENT)
		return;
	id->due_ms = rs_cm_now_ms() + RS_ALIVE_FIRST_MS;
	id->state = RS_CM_ESTABLISHED;
	post_connected(id, RDMA_CM_EVENT_ESTABLISHED, m);
}

/* Does the program have a connection with this one's host? */
static bool knows_host(const struct rs_cm_id *id)
{
	for (const struct rs_cm_id *o = rs_cm_all(); o; o = o->next)
		if (o->state == RS_CM_ESTABLISHED && o->base.ps != RDMA_PS_UDP &&
		    !memcmp(o->peer, id->peer, 16))
			return true;
	return false;
}

/* "No listener": perftest's server listens anew between its two connections, and may not be
 * there yet. The request goes on for a while (64 + 128 + 256 + 512 ms), and where a connection with
 * the host stands for longer (3 times 1,024 ms): its program is there, but may have to wait for a
 * core. */
static bool not_yet(const struct rs_cm_id *id)
{
	return id->tries <= RS_CM_NOT_YET || (id->tries <= RS_CM_NOT_YET_KNOWN && knows_host(id));
}

static void on_rej(struct rs_cm_id *id, const struct rs_cm_msg *m)
{
	struct rs_cm_event *e;

	/* Of what was established nothing is refused any more: that is about a REQ sent twice,
	 * which came when the listener had gone. */
	if (id->state != RS_CM_REQ_SENT && id->state != RS_CM_REP_SENT &&
	    (id->state != RS_CM_REP_RCVD || m->reason == RS_REJ_INVALID_SERVICE))
		return;
	if (id->state == RS_CM_REQ_SENT && m->reason == RS_REJ_INVALID_SERVICE && not_yet(id))
		return;
	id->due_ms = 0;
	id->state = RS_CM_CLOSED;
	rs_cm_qp_to(id, IBV_QPS_ERR);
	e = rs_cm_post(id, RDMA_CM_EVENT_REJECTED, m->reason);
	if (e)
		post_private(e, m->private_data, m->private_length);
}

static void on_dreq(struct rs_cm_id *id, const struct rs_gsi_datagram *d, const struct rs_cm_msg *m)
{
	struct rs_cm_msg drep = {.kind = RS_CM_DREP,
				 .tid = m->tid,
				 .local_id = m->remote_id,
				 .remote_id = m->local_id};
	struct rs_cm_dev *dev = id ? id->dev : rs_cm_device(d->own);

	/* Also of what we know nothing about, or not yet: the peer shall not ask on (§12.9.8.4). */
	if (dev)
		reply(dev->verbs, d, &drep);
	if (!id || m->local_id != id->remote_id ||
	    (id->state != RS_CM_ESTABLISHED && id->state != RS_CM_REP_SENT &&
	     id->state != RS_CM_DREQ_SENT))
		return;
	post_disconnected(id);
}

static void on_drep(struct rs_cm_id *id)
{
	if (id->state == RS_CM_DREQ_SENT)
		post_disconnected(id);
}

static void on_sidr_rep(struct rs_cm_id *id, const struct rs_cm_msg *m)
{
	struct rs_cm_event *e;

	if (id->state != RS_CM_REQ_SENT || id->base.ps != RDMA_PS_UDP)
		return;
	if (m->reason == SIDR_UNSUPPORTED && not_yet(id))
		return;
	id->due_ms = 0;
	id->state = m->reason ? RS_CM_CLOSED : RS_CM_ESTABLISHED;
	id->remote_qpn = m->qpn;
	e = rs_cm_post(id, m->reason ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_ESTABLISHED,
		       m->reason);
	if (!e)
		return;
	post_private(e, m->private_data, m->private_length);
	rs_cm_fill_ah(id, id->peer, &e->base.param.ud.ah_attr);
	e->base.param.ud.qp_num = m->qpn;
	e->base.param.ud.qkey = m->qkey;
}

/* The peer needs longer than it said (§12.6.6). */
static void on_mra(struct rs_cm_id *id, const struct rs_cm_msg *m)
{
	int64_t ms = (INT64_C(4096) << m->local_timeout) / 1000000;
	bool awaited = m->what == ABOUT_REQ ? id->state == RS_CM_REQ_SENT
					    : m->what == ABOUT_REP && id->state == RS_CM_REP_SENT;

	/* What it is about may be answered: then it is late. */
	if (id->due_ms && awaited)
		id->due_ms = rs_cm_now_ms() + ms + RS_CM_RETRY_MS;
}

/* Does the peer's connection live here? Until both ends know that it is over, it does. */
static bool lives(const struct rs_cm_id *id, const struct rs_knock *k)
{
	return id && id->remote_id == k->local_id && id->base.ps != RDMA_PS_UDP &&
	       id->state != RS_CM_CLOSED;
}

static void on_knock(const struct rs_gsi_datagram *d)
{
	struct rs_gsi_datagram out = {0};
	struct rs_cm_dev *dev;
	enum rs_knock_is is;
	struct rs_cm_id *id;
	struct rs_knock k;

	if (!rs_knock_decode(d->mad, &k, &is))
		return;
	id = find_local(is == RS_KNOCK_QUESTION ? k.remote_id : k.local_id, d);
	if (is != RS_KNOCK_QUESTION) {
		if (id && id->state == RS_CM_ESTABLISHED && id->remote_id == k.remote_id) {
			rs_alive_answered(&id->alive, k.token, is == RS_KNOCK_LIVES);
			if (id->alive.gone)
				post_disconnected(id);
			else if (id->alive.ours && !id->due_ms) /* later than it was waited for */
				id->due_ms = rs_cm_now_ms() + RS_ALIVE_MS;
		}
		return;
	}
	if (lives(id, &k)) {
		rs_alive_asked(&id->alive);
		if (id->state == RS_CM_ESTABLISHED && !id->due_ms) /* it was taken for another's */
			id->due_ms = rs_cm_now_ms() + RS_ALIVE_MS;
	}
	dev = id ? id->dev : rs_cm_device(d->own);
	memcpy(out.own, d->own, 16);
	memcpy(out.peer, d->peer, 16);
	rs_knock_encode(&k, lives(id, &k) ? RS_KNOCK_LIVES : RS_KNOCK_GONE, out.mad);
	if (dev)
		rs_verbs_gsi_send(dev->verbs, &out);
}

void rs_cm_receive(const struct rs_gsi_datagram *d)
{
	struct rs_cm_msg m;
	struct rs_cm_id *id;

	if (rs_knock_is_knock(d->mad)) {
		on_knock(d);
		return;
	}
	if (rs_cm_decode(d->mad, &m))
		return;
	if (m.kind == RS_CM_REQ || m.kind == RS_CM_SIDR_REQ) {
		on_request(d, &m);
		return;
	}
	id = find_local(m.kind == RS_CM_SIDR_REP ? m.local_id : m.remote_id, d);
	if (m.kind == RS_CM_DREQ)
		on_dreq(id, d, &m);
	if (!id && m.kind == RS_CM_REP)
		refuse(d, &m, RS_REJ_INVALID_ID);
	if (!id)
		return;
	if (m.kind == RS_CM_REP)
		on_rep(id, d, &m);
	else if (m.kind == RS_CM_RTU)
		on_rtu(id, &m);
	else if (m.kind == RS_CM_REJ)
		on_rej(id, &m);
	else if (m.kind == RS_CM_DREP)
		on_drep(id);
	else if (m.kind == RS_CM_SIDR_REP)
		on_sidr_rep(id, &m);
	else if (m.kind == RS_CM_MRA)
		on_mra(id, &m);
}

void rs_cm_expire(struct rs_cm_id *id, int64_t now)
{
	enum rs_cm_state was = id->state;

	if (was == RS_CM_CLOSED) {
		id->due_ms = 0;
		rs_cm_post(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
		return;
	}
	if (was == RS_CM_ESTABLISHED) {
		look_after(id);
		return;
	}
	if (id->tries < RS_CM_TRIES) {
		try(id, now);
		return;
	}
	if (was == RS_CM_DREQ_SENT) {
		post_disconnected(id);
		return;
	}
	id->due_ms = 0;
	id->state = RS_CM_CLOSED;
	rs_cm_qp_to(id, IBV_QPS_ERR);
	rs_cm_post(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}
