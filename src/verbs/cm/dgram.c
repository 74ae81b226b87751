/*
 * Datagram rsockets: a UDP socket by which peers tell one another their UD queue pairs, and those.
 * Wire-compatible with librdmacm's (its docs/rsocket, "Datagram Overview"; rsocket(7)).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "base/socket.h"
#include "verbs/cm/rsocket.h"

enum {
	TAG = 0x55555555,
	DATA = 0,    /* RS_OP_DATA: the user's bytes follow */
	CONTROL = 7, /* RS_OP_CTRL: the sender's queue pair, as an answer */
	V4_UDP = 16, /* lengths of the headers */
	V6_UDP = 28,
	V4_UD = 8,
	V6_UD = 24,
	GRH = 40,
	SLOT = 4160,       /* a path MTU's bytes and the GRH */
	PER_BUFFER = 2048, /* of SO_RCVBUF and SO_SNDBUF: a datagram */
	LEAST_SLOTS = 16,
	MOST_SLOTS = 4096,
	PORTS = 64, /* local addresses */
	BUCKETS = 256,
	DESTS = 4096,
	BATCH = 16,
	UDP_EACH = 64, /* looks at a busy queue between two at the UDP socket */
	ASK_MS = 1000, /* a peer not heard for so long is asked anew: it may be another process */
	LINGER_LOOKS = 10000,
};
#define WR_SEND (UINT64_C(1) << 32)

/* Before the user's bytes on the UDP socket. */
struct udp_header {
	__be32 tag;
	uint8_t version, op, length, reserved;
	__be32 qpn;
	uint8_t addr[16]; /* the sender's; four bytes of IPv4 */
};

/* Before the user's bytes in a UD message: where they come from. */
struct ud_header {
	uint8_t version, length;
	__be16 port;
	uint8_t addr[20]; /* four bytes of IPv4; or the flow and 16 of IPv6 */
};

_Static_assert(sizeof(struct udp_header) == V6_UDP && sizeof(struct ud_header) == V6_UD,
	       "as librdmacm's");

struct port;

/* What came and was not read. Of a port: one for each of its receives; else allocated. */
struct message {
	struct message *next;
	struct port *port;
	uint8_t *bytes;
	uint32_t n;
	struct sockaddr_storage from;
};

/* A local address: a UD queue pair on its device. */
struct port {
	struct port *next;
	uint8_t gid[16];
	uint8_t gid_index;
	uint32_t mtu, receives, sends;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* a slot a receive, then a slot a send */
	struct message *message;
	uint32_t *free, n_free; /* of the sends */
};

struct dest {
	struct dest *next;
	uint8_t gid[16];
	uint16_t number; /* of the UDP port */
	struct sockaddr_storage addr;
	struct port *port;
	struct ibv_ah *ah; /* NULL: its queue pair is not known */
	uint32_t qpn;
	int64_t heard, asked;
};

struct rs_dgram {
	int udp;
	struct port *ports;
	unsigned n_ports, n_dests, from_udp; /* from_udp: messages that are allocated */
	struct dest *dests[BUCKETS];
	struct dest *peer;          /* rconnect()ed */
	struct message *in, **tail; /* what came */
	const struct port *target;  /* of a send that waits */
	uint16_t number;            /* of our UDP port, once it is asked for */
	unsigned looks;
};

static socklen_t length_of(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* An address in the socket's own family. */
static void address(const struct rs_sock *s, const uint8_t gid[16], uint16_t number,
		    struct sockaddr_storage *a)
{
	struct sockaddr_in6 *v6 = (void *)a;

	if (s->domain == AF_INET || !rs_cm_is_ipv4(gid)) {
		rs_cm_addr_of(gid, number, a);
		return;
	}
	memset(a, 0, sizeof(*a));
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(number);
	memcpy(&v6->sin6_addr, gid, 16);
}

/* ---- Ports ---- */

static void drop_port(struct port *p)
{
	if (p->qp)
		ibv_destroy_qp(p->qp);
	if (p->cq)
		ibv_destroy_cq(p->cq);
	if (p->completions)
		ibv_destroy_comp_channel(p->completions);
	if (p->mr)
		ibv_dereg_mr(p->mr);
	free(p->memory);
	free(p->message);
	free(p->free);
	free(p);
}

static void post_receive(struct port *p, uint32_t i)
{
	struct ibv_sge g = {(uintptr_t)p->memory + (size_t)i * SLOT, SLOT, p->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &g, .num_sge = 1}, *bad;

	ibv_post_recv(p->qp, &wr, &bad);
}

static uint32_t slots(uint32_t bytes)
{
	uint32_t n = bytes / PER_BUFFER;

	return n < LEAST_SLOTS ? LEAST_SLOTS : n > MOST_SLOTS ? MOST_SLOTS : n;
}

static int make_memory(struct port *p)
{
	size_t n = (size_t)(p->receives + p->sends) * SLOT;

	p->memory = malloc(n);
	p->message = calloc(p->receives, sizeof(*p->message));
	p->free = calloc(p->sends, sizeof(*p->free));
	if (!p->memory || !p->message || !p->free)
		return ENOMEM;
	for (uint32_t i = 0; i < p->sends; i++)
		p->free[p->n_free++] = i;
	p->mr = ibv_reg_mr(p->pd, p->memory, n, IBV_ACCESS_LOCAL_WRITE);
	return p->mr ? 0 : errno;
}

static int make_qp(struct port *p)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_UD, .sq_sig_all = 1};
	struct ibv_qp_attr to = {
		.qp_state = IBV_QPS_INIT, .port_num = RS_V_PORT, .qkey = RDMA_UDP_QKEY};
	int err;

	p->completions = ibv_create_comp_channel(p->verbs);
	if (!p->completions)
		return errno;
	fcntl(p->completions->fd, F_SETFL, fcntl(p->completions->fd, F_GETFL) | O_NONBLOCK);
	p->cq = ibv_create_cq(p->verbs, (int)(p->receives + p->sends), p, p->completions, 0);
	if (!p->cq)
		return errno;
	a.send_cq = a.recv_cq = p->cq;
	a.cap = (struct ibv_qp_cap){p->sends, p->receives, 1, 1, 0};
	p->qp = ibv_create_qp(p->pd, &a);
	if (!p->qp)
		return errno;
	err = ibv_modify_qp(p->qp, &to,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	for (uint32_t i = 0; !err && i < p->receives; i++)
		post_receive(p, i);
	to.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(p->qp, &to, IBV_QP_STATE);
	to.qp_state = IBV_QPS_RTS;
	return err ? err : ibv_modify_qp(p->qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* The device that has the address, and its index there. */
static int find_device(struct port *p)
{
	struct ibv_port_attr attr = {0};
	struct rs_cm_dev *dev;
	union ibv_gid g;

	pthread_mutex_lock(&rs_cm_lock);
	dev = rs_cm_device(p->gid);
	if (dev) {
		p->verbs = dev->verbs;
		p->pd = dev->pd;
	}
	pthread_mutex_unlock(&rs_cm_lock);
	if (!dev)
		return ENODEV;
	ibv_query_port(p->verbs, RS_V_PORT, &attr);
	p->mtu = 128u << attr.active_mtu;
	while (p->gid_index < RS_LIVE_GID_TABLE &&
	       (ibv_query_gid(p->verbs, RS_V_PORT, p->gid_index, &g) || memcmp(g.raw, p->gid, 16)))
		p->gid_index++;
	return p->gid_index < RS_LIVE_GID_TABLE ? 0 : ENODEV;
}

/* The port of a local address, made when it is new. */
static int port_of(struct rs_sock *s, const uint8_t gid[16], struct port **out)
{
	struct rs_dgram *d = s->dgram;
	struct epoll_event e = {.events = EPOLLIN};
	struct port *p;
	int err;

	for (p = d->ports; p && memcmp(p->gid, gid, 16); p = p->next)
		;
	*out = p;
	if (p)
		return 0;
	p = d->n_ports < PORTS ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return ENOBUFS;
	memcpy(p->gid, gid, 16);
	p->receives = slots(s->rcvbuf);
	p->sends = slots(s->sndbuf);
	err = find_device(p);
	if (!err)
		err = make_memory(p);
	if (!err)
		err = make_qp(p);
	if (!err && epoll_ctl(s->fd, EPOLL_CTL_ADD, p->completions->fd, &e))
		err = errno;
	if (err) {
		drop_port(p);
		return err;
	}
	p->next = d->ports;
	d->ports = p;
	d->n_ports++;
	*out = p;
	return 0;
}

/* ---- Destinations ---- */

/* Our address towards another: the one that we are bound to, or the one that the routes give. */
static int local_of(const struct rs_sock *s, const struct sockaddr_storage *a, uint8_t gid[16])
{
	struct sockaddr_storage own = {0};
	socklen_t n = sizeof(own);
	uint16_t number;
	int fd, err = 0;

	if (getsockname(s->dgram->udp, (struct sockaddr *)&own, &n) ||
	    !rs_cm_gid_of((struct sockaddr *)&own, gid, &number))
		return EINVAL;
	if (!rs_cm_any(gid))
		return 0;
	fd = rs_socket(a->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n = sizeof(own);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)a, length_of(a)) ||
	    getsockname(fd, (struct sockaddr *)&own, &n))
		err = errno;
	else if (!rs_cm_gid_of((struct sockaddr *)&own, gid, &number))
		err = EINVAL;
	close(fd);
	return err;
}

static struct dest **bucket_of(struct rs_dgram *d, const uint8_t gid[16], uint16_t number)
{
	unsigned h = number ^ number >> 8;

	for (unsigned i = 0; i < 16; i++)
		h = h * 31 + gid[i];
	return &d->dests[h % BUCKETS];
}

static struct dest *find_dest(struct rs_dgram *d, const uint8_t gid[16], uint16_t number)
{
	struct dest *t = *bucket_of(d, gid, number);

	while (t && (t->number != number || memcmp(t->gid, gid, 16)))
		t = t->next;
	return t;
}

static void drop_dest(struct rs_dgram *d, struct dest **at)
{
	struct dest *t = *at;

	*at = t->next;
	d->n_dests--;
	if (t->ah)
		ibv_destroy_ah(t->ah);
	free(t);
}

/* Room for one more in a bucket: its oldest goes, but for the peer. */
static bool make_room(struct rs_dgram *d, struct dest **bucket)
{
	struct dest **victim = NULL;

	if (d->n_dests < DESTS)
		return true;
	for (struct dest **at = bucket; *at; at = &(*at)->next)
		if (*at != d->peer)
			victim = at;
	if (victim)
		drop_dest(d, victim);
	return victim;
}

/* An errno value. */
static int dest_of(struct rs_sock *s, const struct sockaddr *a, struct dest **out)
{
	struct rs_dgram *d = s->dgram;
	uint8_t gid[16], own[16];
	struct dest *t, **bucket;
	struct port *port;
	uint16_t number;
	int err;

	if (!rs_cm_gid_of(a, gid, &number) || !number || rs_cm_any(gid) ||
	    (s->domain == AF_INET && a->sa_family != AF_INET))
		return EINVAL;
	*out = find_dest(d, gid, number);
	if (*out)
		return 0;
	bucket = bucket_of(d, gid, number);
	t = make_room(d, bucket) ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return ENOBUFS;
	memcpy(t->gid, gid, 16);
	t->number = number;
	address(s, gid, number, &t->addr);
	err = local_of(s, &t->addr, own);
	if (!err)
		err = port_of(s, own, &port);
	if (err) {
		free(t);
		return err == ENODEV ? ENETUNREACH : err;
	}
	t->port = port;
	t->next = *bucket;
	*bucket = t;
	d->n_dests++;
	*out = t;
	return 0;
}

/* The peer says which queue pair is its. */
static void learn(struct dest *t, uint32_t qpn)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = RS_V_PORT};

	t->heard = rs_cm_now_ms();
	t->qpn = qpn;
	if (t->ah)
		return;
	memcpy(a.grh.dgid.raw, t->gid, 16);
	a.grh.sgid_index = t->port->gid_index;
	a.grh.hop_limit = 64;
	t->ah = ibv_create_ah(t->port->pd, &a);
}

/* ---- Out ---- */

static unsigned udp_header(const struct port *p, uint8_t op, struct udp_header *h)
{
	bool v4 = rs_cm_is_ipv4(p->gid);

	*h = (struct udp_header){.tag = htobe32(TAG),
				 .version = v4 ? 4 : 6,
				 .op = op,
				 .length = v4 ? V4_UDP : V6_UDP,
				 .qpn = htobe32(p->qp->qp_num)};
	memcpy(h->addr, p->gid + (v4 ? 12 : 0), v4 ? 4 : 16);
	return h->length;
}

/* By the UDP socket: what is too long for the path MTU, and what goes to who is not known yet. */
static int send_udp(struct rs_sock *s, struct dest *t, uint8_t op, const void *bytes, size_t n)
{
	struct udp_header h;
	struct iovec v[2] = {{&h, udp_header(t->port, op, &h)}, {(void *)(uintptr_t)bytes, n}};
	struct msghdr m = {.msg_name = &t->addr,
			   .msg_namelen = length_of(&t->addr),
			   .msg_iov = v,
			   .msg_iovlen = n ? 2 : 1};

	t->asked = rs_cm_now_ms();
	if (sendmsg(s->dgram->udp, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	/* refused: an answer to what was sent before; a datagram socket may lose */
	return errno == ECONNREFUSED ? 0 : errno;
}

static uint16_t own_number(struct rs_dgram *d)
{
	struct sockaddr_storage own = {0};
	socklen_t n = sizeof(own);
	uint8_t gid[16];

	if (!d->number && !getsockname(d->udp, (struct sockaddr *)&own, &n))
		rs_cm_gid_of((struct sockaddr *)&own, gid, &d->number);
	return d->number;
}

static unsigned ud_header(struct rs_dgram *d, const struct port *p, uint8_t *out)
{
	bool v4 = rs_cm_is_ipv4(p->gid);
	struct ud_header h = {.version = v4 ? 4 : 6,
			      .length = v4 ? V4_UD : V6_UD,
			      .port = htobe16(own_number(d))};

	memcpy(h.addr + (v4 ? 0 : 4), p->gid + (v4 ? 12 : 0), v4 ? 4 : 16);
	memcpy(out, &h, h.length);
	return h.length;
}

static int send_ud(struct rs_sock *s, struct dest *t, const uint8_t *bytes, uint32_t n)
{
	struct port *p = t->port;
	uint32_t slot = p->free[p->n_free - 1];
	uint8_t *at = p->memory + (size_t)(p->receives + slot) * SLOT;
	struct ibv_sge g = {(uintptr_t)at, 0, p->mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = WR_SEND | slot,
				       .sg_list = &g,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND,
				       .wr.ud = {t->ah, t->qpn, RDMA_UDP_QKEY}};
	unsigned header = ud_header(s->dgram, p, at);

	memcpy(at + header, bytes, n);
	g.length = header + n;
	if (ibv_post_send(p->qp, &wr, &bad))
		return EIO;
	p->n_free--;
	return 0;
}

static bool sendable(const struct rs_sock *s)
{
	return s->dgram->target->n_free;
}

static int send_to(struct rs_sock *s, struct dest *t, const uint8_t *bytes, size_t n, bool wait)
{
	int64_t now = rs_cm_now_ms();
	int err;

	if (n > RS_SOCK_DATAGRAM)
		return EMSGSIZE;
	s->dgram->target = t->port;
	err = rs_sock_wait(s, sendable, !wait);
	if (err)
		return err;
	if (!t->ah || n + V6_UD > t->port->mtu ||
	    (now - t->heard > ASK_MS && now - t->asked > ASK_MS))
		return send_udp(s, t, DATA, bytes, n);
	return send_ud(s, t, bytes, (uint32_t)n);
}

ssize_t rs_dgram_send(struct rs_sock *s, const struct iovec *v, size_t n, int flags,
		      const struct sockaddr *a)
{
	bool wait = !(s->flags & O_NONBLOCK) && !(flags & MSG_DONTWAIT);
	uint8_t all[RS_SOCK_DATAGRAM];
	struct dest *t = s->dgram->peer;
	size_t total = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].iov_len > sizeof(all) - total)
			return rs_cm_fail(EMSGSIZE);
		memcpy(all + total, v[i].iov_base, v[i].iov_len);
		total += v[i].iov_len;
	}
	if (a)
		err = dest_of(s, a, &t);
	else if (!t)
		err = EDESTADDRREQ;
	if (!err)
		err = send_to(s, t, all, total, wait);
	return err ? rs_cm_fail(err) : (ssize_t)total;
}

/* ---- In ---- */

static bool wanted(const struct rs_dgram *d, const struct sockaddr_storage *from)
{
	uint8_t gid[16];
	uint16_t number;

	return !d->peer || (rs_cm_gid_of((const struct sockaddr *)from, gid, &number) &&
			    number == d->peer->number && !memcmp(gid, d->peer->gid, 16));
}

static void append(struct rs_dgram *d, struct message *m)
{
	m->next = NULL;
	*d->tail = m;
	d->tail = &m->next;
}

/* The bytes of a UD message and whose they are; false: it is none of ours. */
static bool parse_ud(const struct rs_sock *s, uint8_t *bytes, uint32_t n, struct message *m)
{
	struct ud_header h = {0};
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};

	if (n < V4_UD)
		return false;
	memcpy(&h, bytes, n < sizeof(h) ? n : sizeof(h));
	if (!(h.version == 4 && h.length == V4_UD) &&
	    !(h.version == 6 && h.length == V6_UD && n >= V6_UD))
		return false;
	memcpy(gid + (h.version == 4 ? 12 : 0), h.addr + (h.version == 4 ? 0 : 4),
	       h.version == 4 ? 4 : 16);
	if (s->domain == AF_INET && h.version != 4)
		return false;
	address(s, gid, be16toh(h.port), &m->from);
	m->bytes = bytes + h.length;
	m->n = n - h.length;
	return true;
}

static void on_received(struct rs_sock *s, struct port *p, const struct ibv_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id;
	struct message *m = &p->message[i];
	uint8_t gid[16];
	uint16_t number;
	struct dest *t;

	m->port = p;
	if (wc->byte_len < GRH ||
	    !parse_ud(s, p->memory + (size_t)i * SLOT + GRH, wc->byte_len - GRH, m) ||
	    !wanted(s->dgram, &m->from)) {
		post_receive(p, i);
		return;
	}
	rs_cm_gid_of((struct sockaddr *)&m->from, gid, &number);
	t = find_dest(s->dgram, gid, number);
	if (t && t->qpn == wc->src_qp)
		t->heard = rs_cm_now_ms();
	append(s->dgram, m);
}

static bool poll_port(struct rs_sock *s, struct port *p)
{
	struct ibv_wc wc[BATCH];
	int n = rs_sock_look(s, p->cq, BATCH, wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].wr_id & WR_SEND)
			p->free[p->n_free++] = (uint32_t)wc[i].wr_id;
		else if (wc[i].status == IBV_WC_SUCCESS)
			on_received(s, p, &wc[i]);
	}
	return n > 0;
}

static void add_from_udp(struct rs_sock *s, const struct sockaddr_storage *from,
			 const uint8_t *bytes, size_t n)
{
	struct rs_dgram *d = s->dgram;
	struct message *m =
		d->from_udp < slots(s->rcvbuf) && wanted(d, from) ? malloc(sizeof(*m) + n) : NULL;

	if (!m)
		return;
	*m = (struct message){.bytes = (uint8_t *)(m + 1), .n = (uint32_t)n, .from = *from};
	memcpy(m->bytes, bytes, n);
	d->from_udp++;
	append(d, m);
}

/* A peer's first datagrams, or its answer to ours. False: none is there. */
static bool poll_udp(struct rs_sock *s)
{
	uint8_t bytes[V6_UDP + RS_SOCK_DATAGRAM];
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof(from);
	struct udp_header h = {0};
	struct dest *t;
	ssize_t n = recvfrom(s->dgram->udp, bytes, sizeof(bytes), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);

	if (n < 0)
		return errno == ECONNREFUSED;
	memcpy(&h, bytes, (size_t)n < sizeof(h) ? (size_t)n : sizeof(h));
	if (n < V4_UDP || h.tag != htobe32(TAG) || h.length > n ||
	    !((h.version == 4 && h.length == V4_UDP) || (h.version == 6 && h.length == V6_UDP)) ||
	    dest_of(s, (struct sockaddr *)&from, &t))
		return true;
	learn(t, be32toh(h.qpn) & RS_QPN_MASK);
	if (h.op != DATA)
		return true;
	send_udp(s, t, CONTROL, NULL, 0);
	add_from_udp(s, &from, bytes + h.length, (size_t)n - h.length);
	return true;
}

void rs_dgram_progress(struct rs_sock *s)
{
	bool some = false;

	for (struct port *p = s->dgram->ports; p; p = p->next)
		some |= poll_port(s, p);
	if (some && ++s->dgram->looks % UDP_EACH)
		return;
	for (unsigned i = 0; i < BATCH && poll_udp(s); i++)
		;
}

static bool readable(const struct rs_sock *s)
{
	return s->dgram->in || !s->may_read;
}

static void consume(struct rs_dgram *d, struct message *m)
{
	d->in = m->next;
	if (!d->in)
		d->tail = &d->in;
	if (m->port) {
		post_receive(m->port, (uint32_t)(m - m->port->message));
		return;
	}
	d->from_udp--;
	free(m);
}

ssize_t rs_dgram_receive(struct rs_sock *s, const struct iovec *v, size_t n, int *flags,
			 struct sockaddr *a, socklen_t *len)
{
	bool wait = !(s->flags & O_NONBLOCK) && !(*flags & MSG_DONTWAIT);
	struct rs_dgram *d = s->dgram;
	int err = d->in ? 0 : rs_sock_wait(s, readable, !wait);
	struct message *m = d->in;
	uint32_t done = 0, size;

	if (err || !m)
		return err ? rs_cm_fail(err) : 0;
	for (size_t i = 0; i < n && done < m->n; i++) {
		uint32_t piece = m->n - done;

		if (piece > v[i].iov_len)
			piece = (uint32_t)v[i].iov_len;
		memcpy(v[i].iov_base, m->bytes + done, piece);
		done += piece;
	}
	if (a && len) {
		memcpy(a, &m->from, *len < length_of(&m->from) ? *len : length_of(&m->from));
		*len = length_of(&m->from);
	}
	size = *flags & MSG_TRUNC ? m->n : done;
	if (!(*flags & MSG_PEEK)) {
		*flags = done < m->n ? MSG_TRUNC : 0;
		consume(d, m);
	} else {
		*flags = done < m->n ? MSG_TRUNC : 0;
	}
	return size;
}

/* ---- Waiting ---- */

short rs_dgram_events(struct rs_sock *s)
{
	struct rs_dgram *d = s->dgram;

	rs_dgram_progress(s);
	return (short)((readable(s) ? POLLIN : 0) |
		       (!d->peer || d->peer->port->n_free ? POLLOUT : 0));
}

void rs_dgram_arm(struct rs_sock *s)
{
	for (struct port *p = s->dgram->ports; p; p = p->next)
		ibv_req_notify_cq(p->cq, 0);
}

void rs_dgram_disarm(struct rs_sock *s)
{
	struct ibv_cq *cq;
	void *context;

	for (struct port *p = s->dgram->ports; p; p = p->next)
		while (!ibv_get_cq_event(p->completions, &cq, &context))
			ibv_ack_cq_events(cq, 1);
}

/* ---- Life and names ---- */

int rs_dgram_make(struct rs_sock *s)
{
	struct rs_dgram *d = calloc(1, sizeof(*d));
	struct epoll_event e = {.events = EPOLLIN};

	if (!d)
		return ENOMEM;
	d->tail = &d->in;
	d->udp = -1;
	s->dgram = d;
	s->may_read = s->may_write = true;
	s->fd = epoll_create1(EPOLL_CLOEXEC);
	d->udp = rs_socket(s->domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || d->udp < 0 || epoll_ctl(s->fd, EPOLL_CTL_ADD, d->udp, &e))
		return errno;
	return s->fd < RS_SOCK_MAX ? 0 : EMFILE;
}

/* What was handed over leaves first: a completion says so. */
static void linger(struct rs_sock *s)
{
	for (struct port *p = s->dgram->ports; p; p = p->next)
		for (unsigned i = 0; i < LINGER_LOOKS && p->n_free < p->sends; i++)
			poll_port(s, p);
}

void rs_dgram_unmake(struct rs_sock *s)
{
	struct rs_dgram *d = s->dgram;

	linger(s);
	while (d->in)
		consume(d, d->in);
	for (unsigned i = 0; i < BUCKETS; i++)
		while (d->dests[i])
			drop_dest(d, &d->dests[i]);
	while (d->ports) {
		struct port *p = d->ports;

		d->ports = p->next;
		drop_port(p);
	}
	if (d->udp >= 0)
		close(d->udp);
	if (s->fd >= 0)
		close(s->fd);
	free(d);
}

int rs_dgram_bind(struct rs_sock *s, const struct sockaddr *a, socklen_t n)
{
	return bind(s->dgram->udp, a, n) ? errno : 0;
}

int rs_dgram_connect(struct rs_sock *s, const struct sockaddr *a)
{
	struct dest *t;
	int err = dest_of(s, a, &t);

	if (!err)
		s->dgram->peer = t;
	return err;
}

/* Of a connected one, the address that its datagrams carry. */
int rs_dgram_own(struct rs_sock *s, struct sockaddr_storage *a)
{
	socklen_t n = sizeof(*a);
	uint8_t gid[16];
	uint16_t number;

	if (getsockname(s->dgram->udp, (struct sockaddr *)a, &n))
		return errno;
	if (s->dgram->peer && rs_cm_gid_of((struct sockaddr *)a, gid, &number) && rs_cm_any(gid))
		address(s, s->dgram->peer->port->gid, number, a);
	return 0;
}

int rs_dgram_peer(struct rs_sock *s, struct sockaddr_storage *a)
{
	if (!s->dgram->peer)
		return ENOTCONN;
	*a = s->dgram->peer->addr;
	return 0;
}

/* Options that the kernel's socket must know, too. */
void rs_dgram_option(struct rs_sock *s, int level, int which, int value)
{
	if ((level == SOL_SOCKET && which == SO_REUSEADDR) ||
	    (level == IPPROTO_IPV6 && which == IPV6_V6ONLY))
		setsockopt(s->dgram->udp, level, which, &value, sizeof(value));
}
