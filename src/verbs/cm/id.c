/* Identifiers: made, bound, resolved, connected, taken down: the calls of rdma_cm(7). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/socket.h"
#include "verbs/cm/cm.h"

enum { TRIES_MAX = 7, SIDR_REJECT = 2 };

struct rs_cm_id *rs_cm_new(struct rdma_event_channel *channel, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type type)
{
	struct rs_cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->base.channel = channel;
	id->base.context = context;
	id->base.ps = ps;
	id->base.qp_type = type;
	id->psn = rs_cm_random() & RS_PSN_MASK;
	id->qkey = RDMA_UDP_QKEY;
	id->ack_timeout = RS_CM_ACK_TIMEOUT;
	id->af_only = -1;
	return id;
}

static int create(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
		  enum rdma_port_space ps, enum ibv_qp_type type)
{
	struct rdma_event_channel *own = channel ? NULL : rdma_create_event_channel();
	struct rs_cm_id *id;

	if (!channel && !own)
		return -1;
	id = rs_cm_new(channel ? channel : own, context, ps, type);
	if (!id) {
		if (own)
			rdma_destroy_event_channel(own);
		return rs_cm_fail(ENOMEM);
	}
	id->sync = id->own_channel = own != NULL;
	pthread_mutex_lock(&rs_cm_lock);
	rs_cm_add(id);
	pthread_mutex_unlock(&rs_cm_lock);
	*out = &id->base;
	return 0;
}

RS_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			     void *context, enum rdma_port_space ps)
{
	if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP && ps != RDMA_PS_IPOIB && ps != RDMA_PS_IB)
		return rs_cm_fail(EPROTONOSUPPORT);
	return create(channel, id, context, ps,
		      ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC);
}

/* Requests that were not taken are refused. */
static void drop_requests(struct rs_cm_id *listener)
{
	struct rs_cm_id *id = rs_cm_all();

	while (id) {
		struct rs_cm_id *next = id->next;

		if (id->listener == listener) {
			if (id->base.ps == RDMA_PS_UDP)
				rs_cm_send_sidr_rep(id, SIDR_REJECT, NULL, 0);
			else
				rs_cm_send_rej(id, RS_REJ_CONSUMER, NULL, 0);
			rs_cm_remove(id);
			rs_cm_drop_events(id);
			free(id);
		}
		id = next;
	}
}

static void leave_groups(struct rs_cm_id *id)
{
	while (id->groups) {
		struct rs_cm_group *g = id->groups;

		id->groups = g->next;
		if (g->attached && id->base.qp)
			ibv_detach_mcast(id->base.qp, &g->gid, 0);
		free(g);
	}
}

/* The peer learns of a connection's end also when the application just destroys it. */
static void say_goodbye(struct rs_cm_id *id)
{
	if (id->state == RS_CM_REQ_RCVD && id->base.ps == RDMA_PS_UDP)
		rs_cm_send_sidr_rep(id, SIDR_REJECT, NULL, 0);
	else if (id->state == RS_CM_REQ_RCVD || id->state == RS_CM_REP_RCVD)
		rs_cm_send_rej(id, RS_REJ_CONSUMER, NULL, 0);
	else if (id->state == RS_CM_ESTABLISHED && id->base.ps != RDMA_PS_UDP)
		rs_cm_send_dreq(id);
	/* What asked may ask again, its refusal being late or lost: that is no new request. */
	if (id->state == RS_CM_DREQ_SENT)
		rs_cm_haunt(id, id->due_ms);
	else if (id->passive && id->state == RS_CM_CLOSED && rs_cm_refused(id))
		rs_cm_haunt(id, rs_cm_now_ms() + RS_CM_REFUSED_MS);
}

RS_EXPORT int rdma_destroy_id(struct rdma_cm_id *base)
{
	struct rs_cm_id *id = rs_cm_id(base);

	if (id->sync && base->event)
		rdma_ack_cm_event(base->event);
	pthread_mutex_lock(&rs_cm_lock);
	say_goodbye(id);
	rs_cm_give_port(id);
	rs_cm_remove(id);
	drop_requests(id);
	rs_cm_drop_events(id);
	leave_groups(id);
	rs_cm_forget_ask(id);
	pthread_mutex_unlock(&rs_cm_lock);
	if (id->own_channel)
		rdma_destroy_event_channel(base->channel);
	free(id);
	return 0;
}

/* ---- Addresses ---- */

static void use_device(struct rs_cm_id *id, struct rs_cm_dev *d)
{
	id->dev = d;
	id->base.verbs = d->verbs;
	id->base.pd = d->pd;
	id->base.port_num = RS_V_PORT;
	if (!id->local_id)
		id->local_id = rs_cm_new_number(d->slot);
}

void rs_cm_set_path(struct rs_cm_id *id)
{
	struct rdma_ib_addr *ib = &id->base.route.addr.addr.ibaddr;
	struct ibv_port_attr port = {.active_mtu = IBV_MTU_1024};

	ibv_query_port(id->dev->verbs, RS_V_PORT, &port);
	id->mtu = (uint8_t)port.active_mtu;
	memcpy(ib->sgid.raw, id->own, 16);
	memcpy(ib->dgid.raw, id->peer, 16);
	ib->pkey = htobe16(0xffff);
	id->path = (struct ibv_sa_path_rec){.sgid = ib->sgid,
					    .dgid = ib->dgid,
					    .hop_limit = 64,
					    .traffic_class = id->tos,
					    .reversible = 1,
					    .numb_path = 1,
					    .pkey = htobe16(0xffff),
					    .mtu_selector = 2,
					    .mtu = id->mtu,
					    .rate_selector = 2,
					    .packet_life_time_selector = 2};
	id->base.route.path_rec = &id->path;
	id->base.route.num_paths = 1;
}

static bool is_loopback(const uint8_t gid[16])
{
	static const uint8_t v6[16] = {[15] = 1}, v4[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};

	return !memcmp(gid, v6, sizeof(v6)) || !memcmp(gid, v4, sizeof(v4));
}

/* The loopback's address without a port, where other devices are: libfabric asks so which there
 * are, and takes no answer of one device for all. Which one it is, is seen when it listens or
 * connects. */
static bool asks_only(const struct rs_cm_id *id, const uint8_t gid[16])
{
	int n = 0;

	if (id->port || !is_loopback(gid))
		return false;
	ibv_free_device_list(ibv_get_device_list(&n));
	return n > 1;
}

static int bind_locked(struct rs_cm_id *id, const struct sockaddr *a)
{
	struct rs_cm_dev *d = NULL;
	uint8_t gid[16];
	int err;

	if (id->bound || id->state != RS_CM_IDLE)
		return EINVAL;
	if (!rs_cm_gid_of(a, gid, &id->port))
		return EINVAL;
	if (!rs_cm_any(gid))
		d = rs_cm_device(gid);
	/* Where no device is the loopback's, its address is any, as the kernel has it: so libfabric
	 * asks what there is. */
	if (!d && is_loopback(gid))
		memset(gid, 0, sizeof(gid));
	if (!d && !rs_cm_any(gid))
		return ENODEV;
	if (d && !asks_only(id, gid)) {
		use_device(id, d);
		memcpy(id->own, gid, 16);
	}
	memcpy(id->bound_gid, gid, 16);
	id->ipv6 = a->sa_family == AF_INET6;
	err = -rs_cm_take_port(id);
	if (err)
		return err;
	memcpy(&id->base.route.addr.src_storage, a,
	       a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	if (a->sa_family == AF_INET)
		id->base.route.addr.src_sin.sin_port = htobe16(id->port);
	else
		id->base.route.addr.src_sin6.sin6_port = htobe16(id->port);
	memcpy(id->base.route.addr.addr.ibaddr.sgid.raw, gid, 16);
	return 0;
}

RS_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *a)
{
	int err;

	pthread_mutex_lock(&rs_cm_lock);
	err = bind_locked(rs_cm_id(id), a);
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

/* The kernel's routing tables: the source that a datagram to dst would have. */
static bool route(const uint8_t dst[16], uint32_t scope, uint8_t src[16])
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htobe16(4791)}, from;
	socklen_t n = sizeof(from);
	int fd = rs_socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), no = 0;
	bool ok;

	memcpy(&to.sin6_addr, dst, 16);
	to.sin6_scope_id = scope;
	ok = fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) &&
	     !connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	     !getsockname(fd, (struct sockaddr *)&from, &n);
	if (ok)
		memcpy(src, &from.sin6_addr, 16);
	if (fd >= 0)
		close(fd);
	return ok;
}

static int resolve_locked(struct rs_cm_id *id, const struct sockaddr *src,
			  const struct sockaddr *dst)
{
	const struct sockaddr_in6 *v6 = (const void *)dst;
	uint8_t own[16], peer[16];
	struct rs_cm_dev *d;
	uint16_t port;
	int err = 0;

	if (id->state != RS_CM_IDLE)
		return EINVAL;
	if (!rs_cm_gid_of(dst, peer, &port))
		return EINVAL;
	if (src && !id->bound)
		err = bind_locked(id, src);
	if (err)
		return err;
	memcpy(own, id->bound_gid, 16);
	if (rs_cm_any(own) && !route(peer, dst->sa_family == AF_INET6 ? v6->sin6_scope_id : 0, own))
		return ENETUNREACH;
	d = rs_cm_device(own);
	if (!d)
		return ENODEV;
	use_device(id, d);
	memcpy(id->own, own, 16);
	memcpy(id->peer, peer, 16);
	if (!id->bound) {
		memcpy(id->bound_gid, own, 16);
		id->ipv6 = dst->sa_family == AF_INET6;
		err = -rs_cm_take_port(id);
		if (err)
			return err;
	}
	rs_cm_addr_of(own, id->port, &id->base.route.addr.src_storage);
	memset(&id->base.route.addr.dst_storage, 0, sizeof(id->base.route.addr.dst_storage));
	memcpy(&id->base.route.addr.dst_storage, dst,
	       dst->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6));
	return 0;
}

RS_EXPORT int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src, struct sockaddr *dst,
				int timeout_ms)
{
	struct rs_cm_id *id = rs_cm_id(base);
	int err;

	pthread_mutex_lock(&rs_cm_lock);
	err = resolve_locked(id, src, dst);
	if (!err || err == ENODEV || err == ENETUNREACH)
		rs_cm_post(id, err ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, -err);
	pthread_mutex_unlock(&rs_cm_lock);
	if (err && err != ENODEV && err != ENETUNREACH)
		return rs_cm_fail(err);
	return rs_cm_wait(id);
}

RS_EXPORT int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct rs_cm_id *id = rs_cm_id(base);

	if (!id->dev || rs_cm_any(id->peer))
		return rs_cm_fail(EINVAL);
	pthread_mutex_lock(&rs_cm_lock);
	rs_cm_set_path(id);
	rs_cm_post(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	pthread_mutex_unlock(&rs_cm_lock);
	return rs_cm_wait(id);
}

/* ---- Connections ---- */

/* RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH: as many as the device has, and the peer asked for. */
static uint8_t reads(const struct rs_cm_id *id, uint8_t asked, uint8_t of_peer)
{
	if (asked == RDMA_MAX_RESP_RES && id->passive)
		asked = of_peer;
	return asked < RS_V_MAX_RD_ATOMIC ? asked : RS_V_MAX_RD_ATOMIC;
}

static void take_param(struct rs_cm_id *id, const struct rdma_conn_param *p)
{
	id->responder_resources = reads(id, p->responder_resources, id->responder_resources);
	id->initiator_depth = reads(id, p->initiator_depth, id->initiator_depth);
	if (!id->passive)
		id->retry_count = p->retry_count & TRIES_MAX;
	if (!id->base.qp) {
		id->qpn = p->qp_num;
		id->srq = p->srq;
	}
}

RS_EXPORT int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *p)
{
	static const struct rdma_conn_param defaults = {.responder_resources = RS_V_MAX_RD_ATOMIC,
							.initiator_depth = RS_V_MAX_RD_ATOMIC,
							.retry_count = 7,
							.rnr_retry_count = 7};
	struct rs_cm_id *id = rs_cm_id(base);
	int err = EINVAL;

	p = p ? p : (struct rdma_conn_param *)(uintptr_t)&defaults;
	pthread_mutex_lock(&rs_cm_lock);
	if (id->dev && id->state == RS_CM_IDLE && !rs_cm_any(id->peer)) {
		if (!id->mtu)
			rs_cm_set_path(id);
		take_param(id, p);
		id->rnr_retry = p->rnr_retry_count & 7;
		id->tid = (uint64_t)rs_cm_random() << 32 | id->local_id;
		err = -rs_cm_send_req(id, p->private_data, p->private_data_len);
		if (err)
			id->state = RS_CM_IDLE;
	}
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : rs_cm_wait(id);
}

RS_EXPORT int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	static const struct sockaddr_in any = {.sin_family = AF_INET};
	struct rs_cm_id *id = rs_cm_id(base);
	int err = 0;

	pthread_mutex_lock(&rs_cm_lock);
	if (!id->bound)
		err = bind_locked(id, (const struct sockaddr *)(const void *)&any);
	if (!err)
		err = -rs_verbs_cm_listen(id->port_dev->verbs, id->place);
	if (!err)
		id->state = RS_CM_LISTEN;
	/* 0: as many as there may be, as Linux */
	id->backlog_most =
		backlog > 0 && backlog < RS_CM_BACKLOG ? (unsigned)backlog : RS_CM_BACKLOG;
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

static int give_up(struct rdma_cm_id *id)
{
	int err = errno;

	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	return rs_cm_fail(err);
}

RS_EXPORT int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct rs_cm_id *l = rs_cm_id(listen), *id;
	struct rdma_cm_event *e;

	if (!l->sync)
		return rs_cm_fail(EINVAL);
	if (rs_cm_wait(l))
		return -1;
	e = listen->event;
	if (e->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return rs_cm_fail(EINVAL);
	id = rs_cm_id(e->id);
	if (rdma_migrate_id(e->id, NULL))
		return give_up(e->id);
	if (l->has_qp_init) {
		struct ibv_qp_init_attr a = l->qp_init;

		if (rdma_create_qp(e->id, l->ep_pd, &a))
			return give_up(e->id);
	}
	/* The event stays with the new identifier: its private data are read from there. */
	pthread_mutex_lock(&rs_cm_lock);
	l->events--;
	id->events++;
	rs_container(e, struct rs_cm_event, base)->id = id;
	pthread_mutex_unlock(&rs_cm_lock);
	listen->event = NULL;
	id->base.event = e;
	*out = &id->base;
	return 0;
}

static int accept_locked(struct rs_cm_id *id, struct rdma_conn_param *p)
{
	const void *data = p ? p->private_data : NULL;
	unsigned n = p ? p->private_data_len : 0;
	int err;

	if (id->state != RS_CM_REQ_RCVD)
		return EINVAL;
	if (p)
		take_param(id, p);
	if (id->base.ps == RDMA_PS_UDP)
		return -rs_cm_send_sidr_rep(id, 0, data, n);
	/* Table 103: the REP's RNR retry count is the one that the requester shall use. */
	uint8_t ours = id->rnr_retry;

	err = rs_cm_qp_to(id, IBV_QPS_RTR);
	if (!err)
		err = rs_cm_qp_to(id, IBV_QPS_RTS);
	if (p)
		id->rnr_retry = p->rnr_retry_count & 7;
	if (!err)
		err = -rs_cm_send_rep(id, data, n);
	id->rnr_retry = ours;
	return err;
}

RS_EXPORT int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *p)
{
	struct rs_cm_id *id = rs_cm_id(base);
	int err;

	pthread_mutex_lock(&rs_cm_lock);
	err = accept_locked(id, p);
	pthread_mutex_unlock(&rs_cm_lock);
	if (err)
		return rs_cm_fail(err);
	return base->ps == RDMA_PS_UDP ? 0 : rs_cm_wait(id);
}

RS_EXPORT int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t n)
{
	struct rs_cm_id *id = rs_cm_id(base);
	int err = EINVAL;

	pthread_mutex_lock(&rs_cm_lock);
	if (id->state == RS_CM_REQ_RCVD || id->state == RS_CM_REP_RCVD)
		err = base->ps == RDMA_PS_UDP ? -rs_cm_send_sidr_rep(id, SIDR_REJECT, data, n)
					      : -rs_cm_send_rej(id, RS_REJ_CONSUMER, data, n);
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

/* ECE (enhanced connection establishment) is a vendor's: none is offered, so none is rejected. */
RS_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t n)
{
	return rdma_reject(id, data, n);
}

RS_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!ece || ece->comp_mask)
		return rs_cm_fail(EINVAL);
	rs_cm_id(id)->ece = *ece;
	return 0;
}

RS_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (ece->comp_mask)
		return rs_cm_fail(EINVAL);
	*ece = rs_cm_id(id)->remote_ece;
	return 0;
}

RS_EXPORT int rdma_establish(struct rdma_cm_id *base)
{
	struct rs_cm_id *id = rs_cm_id(base);
	int err = EINVAL;

	pthread_mutex_lock(&rs_cm_lock);
	if (!base->qp && id->state == RS_CM_REP_RCVD)
		err = -rs_cm_send_rtu(id);
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

/* A message came before its RTU: the connection stands (§12.9.7.2). */
RS_EXPORT int rdma_notify(struct rdma_cm_id *base, enum ibv_event_type event)
{
	struct rs_cm_id *id = rs_cm_id(base);

	if (event != IBV_EVENT_COMM_EST)
		return rs_cm_fail(EINVAL);
	pthread_mutex_lock(&rs_cm_lock);
	if (id->state == RS_CM_REP_SENT) {
		id->due_ms = rs_cm_now_ms() + RS_CM_LOOK_MS;
		id->state = RS_CM_ESTABLISHED;
		rs_cm_post(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	}
	pthread_mutex_unlock(&rs_cm_lock);
	return 0;
}

RS_EXPORT int rdma_disconnect(struct rdma_cm_id *base)
{
	struct rs_cm_id *id = rs_cm_id(base);
	bool wait = false;
	int err = 0;

	pthread_mutex_lock(&rs_cm_lock);
	if (!id->dev || id->state == RS_CM_IDLE || id->state == RS_CM_LISTEN)
		err = EINVAL;
	if (!err && base->qp)
		err = rs_cm_qp_to(id, IBV_QPS_ERR);
	if (!err)
		err = -rs_cm_part(id);
	/* Already over: its event is in the queue, or was taken. */
	wait = !err && id->state == RS_CM_DREQ_SENT;
	pthread_mutex_unlock(&rs_cm_lock);
	if (err)
		return rs_cm_fail(err);
	return wait ? rs_cm_wait(id) : 0;
}

/* ---- Endpoints ---- */

static int prepare_ep(struct rs_cm_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		      struct ibv_qp_init_attr *a)
{
	if (res->ai_flags & RAI_PASSIVE) {
		if (rdma_bind_addr(&id->base, res->ai_src_addr))
			return -1;
		id->has_qp_init = a != NULL;
		if (a) {
			id->qp_init = *a;
			id->qp_init.qp_type = (enum ibv_qp_type)res->ai_qp_type;
		}
		id->ep_pd = pd;
		return 0;
	}
	if (rdma_resolve_addr(&id->base, res->ai_src_addr, res->ai_dst_addr, 2000) ||
	    rdma_resolve_route(&id->base, 2000))
		return -1;
	if (!a)
		return 0;
	a->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return rdma_create_qp(&id->base, pd, a);
}

RS_EXPORT int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *a)
{
	struct rdma_cm_id *id = NULL;
	int err;

	if (create(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space,
		   (enum ibv_qp_type)res->ai_qp_type))
		return -1;
	if (!prepare_ep(rs_cm_id(id), res, pd, a)) {
		*out = id;
		return 0;
	}
	err = errno;
	rdma_destroy_ep(id);
	return rs_cm_fail(err);
}

RS_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* ---- Options ---- */

/* As Linux: until it listens, or has begun, the identifier may still share its port. */
static int set_sharing(struct rs_cm_id *id, int name, bool on)
{
	bool ok;

	pthread_mutex_lock(&rs_cm_lock);
	if (name == RDMA_OPTION_ID_AFONLY)
		ok = id->state == RS_CM_IDLE && rs_cm_any(id->peer);
	else
		ok = on ? id->state != RS_CM_LISTEN : id->state == RS_CM_IDLE && !id->bound;
	if (ok && name == RDMA_OPTION_ID_AFONLY)
		id->af_only = on;
	else if (ok)
		id->shared = on;
	if (ok)
		rs_cm_change_port(id);
	pthread_mutex_unlock(&rs_cm_lock);
	return ok ? 0 : rs_cm_fail(EINVAL);
}

RS_EXPORT int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t n)
{
	struct rs_cm_id *id = rs_cm_id(base);
	bool byte = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT;
	int flag = 0;

	if (level != RDMA_OPTION_ID)
		return rs_cm_fail(ENOSYS);
	if (!value || n != (byte ? sizeof(uint8_t) : sizeof(int)))
		return rs_cm_fail(EINVAL);
	if (!byte)
		memcpy(&flag, value, sizeof(flag));
	if (name == RDMA_OPTION_ID_TOS) {
		id->tos = *(uint8_t *)value;
	} else if (name == RDMA_OPTION_ID_ACK_TIMEOUT) {
		if (*(uint8_t *)value > 31)
			return rs_cm_fail(EINVAL);
		id->ack_timeout = *(uint8_t *)value;
	} else if (name == RDMA_OPTION_ID_REUSEADDR || name == RDMA_OPTION_ID_AFONLY) {
		return set_sharing(id, name, flag != 0);
	} else {
		return rs_cm_fail(ENOSYS);
	}
	return 0;
}
