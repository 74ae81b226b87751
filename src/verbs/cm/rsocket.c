/* The calls of rsocket(7): sockets whose stream, or datagrams, are RDMA. Made, named, connected,
 * shut; their options. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs/cm/rsocket.h"

enum { RESOLVE_MS = 2000, TYPE_MASK = 0xf };

/* ---- Descriptors: each is its event channel's ---- */

static struct rs_sock *_Atomic socks[RS_SOCK_MAX];

struct rs_sock *rs_sock_of(int fd)
{
	return fd >= 0 && fd < RS_SOCK_MAX ? socks[fd] : NULL;
}

struct rs_sock *rs_sock_take(int fd)
{
	struct rs_sock *s = rs_sock_of(fd);

	if (s)
		pthread_mutex_lock(&s->lock);
	else
		errno = EBADF;
	return s;
}

static void leave(struct rs_sock *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* Unlock; rc with err as errno when it is not 0. */
static int finish(struct rs_sock *s, int err)
{
	leave(s);
	return err ? rs_cm_fail(err) : 0;
}

static void destroy(struct rs_sock *s)
{
	if (s->fd >= 0 && s->fd < RS_SOCK_MAX)
		socks[s->fd] = NULL;
	if (s->dgram)
		rs_dgram_unmake(s);
	rs_sock_unmake(s);
	if (s->id)
		rdma_destroy_id(s->id);
	if (s->channel)
		rdma_destroy_event_channel(s->channel);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->progressed);
	free(s);
}

static struct rs_sock *make_any(const struct rs_sock *like)
{
	struct rs_sock *s = calloc(1, sizeof(*s));

	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	if (like) {
		s->sq_size = like->sq_size;
		s->rq_size = like->rq_size;
		s->inline_size = like->inline_size;
		s->sndbuf = like->sndbuf;
		s->rcvbuf = like->rcvbuf;
		s->n_iomaps = like->n_iomaps;
		s->domain = like->domain;
	} else {
		const struct rs_sock_conf *c = rs_sock_conf();

		s->sq_size = c->sq;
		s->rq_size = c->rq;
		s->inline_size = c->inline_size;
		s->sndbuf = c->wmem;
		s->rcvbuf = c->mem;
		s->n_iomaps = c->iomaps;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->progressed, NULL);
	s->fd = -1;
	return s;
}

/* Of a stream: with its channel, so with its number. NULL with errno. */
static struct rs_sock *make(const struct rs_sock *like)
{
	struct rs_sock *s = make_any(like);

	if (!s)
		return NULL;
	s->channel = rdma_create_event_channel();
	if (!s->channel || s->channel->fd >= RS_SOCK_MAX) {
		destroy(s);
		errno = EMFILE;
		return NULL;
	}
	fcntl(s->channel->fd, F_SETFL, fcntl(s->channel->fd, F_GETFL) | O_NONBLOCK);
	return s;
}

static int publish(struct rs_sock *s)
{
	s->fd = s->channel->fd;
	socks[s->fd] = s;
	return s->fd;
}

static int make_datagrams(int domain, int type)
{
	struct rs_sock *s = make_any(NULL);
	int err;

	if (!s)
		return -1;
	s->domain = domain;
	s->flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
	err = rs_dgram_make(s);
	if (err) {
		destroy(s);
		return rs_cm_fail(err);
	}
	socks[s->fd] = s;
	return s->fd;
}

RS_EXPORT int rsocket(int domain, int type, int protocol)
{
	struct rs_sock *s;
	int err;

	if (domain != PF_INET && domain != PF_INET6)
		return rs_cm_fail(EAFNOSUPPORT);
	if ((type & TYPE_MASK) == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP))
		return make_datagrams(domain, type);
	if ((type & TYPE_MASK) != SOCK_STREAM || (protocol && protocol != IPPROTO_TCP))
		return rs_cm_fail(EPROTONOSUPPORT);
	s = make(NULL);
	if (!s)
		return -1;
	s->domain = domain;
	s->flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
	if (!rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP))
		return publish(s);
	err = errno;
	destroy(s);
	return rs_cm_fail(err);
}

/* ---- Names ---- */

static int bind_locked(struct rs_sock *s, const struct sockaddr *a)
{
	if (s->state != RS_SOCK_NEW)
		return EINVAL;
	if (s->reuse)
		rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &s->reuse,
				sizeof(s->reuse));
	if (s->v6only)
		rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &s->v6only,
				sizeof(s->v6only));
	if (rdma_bind_addr(s->id, (struct sockaddr *)(uintptr_t)a))
		return errno;
	s->state = RS_SOCK_BOUND;
	return 0;
}

RS_EXPORT int rbind(int fd, const struct sockaddr *a, socklen_t n)
{
	struct rs_sock *s = rs_sock_take(fd);

	if (!s)
		return -1;
	return finish(s, s->dgram ? rs_dgram_bind(s, a, n) : bind_locked(s, a));
}

RS_EXPORT int rlisten(int fd, int backlog)
{
	struct rs_sock *s = rs_sock_take(fd);
	int err = 0;

	if (!s)
		return -1;
	if (s->dgram)
		err = EOPNOTSUPP;
	else if (s->state > RS_SOCK_LISTENING)
		err = EINVAL;
	else if (s->state != RS_SOCK_LISTENING && rdma_listen(s->id, backlog))
		err = errno;
	if (!err)
		s->state = RS_SOCK_LISTENING;
	return finish(s, err);
}

static int name(const struct sockaddr_storage *from, struct sockaddr *a, socklen_t *n)
{
	socklen_t size = from->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_in);

	memcpy(a, from, size < *n ? size : *n);
	*n = size;
	return 0;
}

RS_EXPORT int rgetsockname(int fd, struct sockaddr *a, socklen_t *n)
{
	struct rs_sock *s = rs_sock_take(fd);

	struct sockaddr_storage own;
	int err = 0;

	if (!s)
		return -1;
	own = (struct sockaddr_storage){.ss_family = (sa_family_t)s->domain};
	if (s->dgram)
		err = rs_dgram_own(s, &own);
	else if (s->id->route.addr.src_storage.ss_family)
		own = s->id->route.addr.src_storage;
	if (!err)
		name(&own, a, n);
	return finish(s, err);
}

RS_EXPORT int rgetpeername(int fd, struct sockaddr *a, socklen_t *n)
{
	struct rs_sock *s = rs_sock_take(fd);
	struct sockaddr_storage peer;
	int err = 0;

	if (!s)
		return -1;
	if (s->dgram)
		err = rs_dgram_peer(s, &peer);
	else
		peer = s->id->route.addr.dst_storage;
	if (!err && !peer.ss_family)
		err = ENOTCONN;
	if (!err)
		name(&peer, a, n);
	return finish(s, err);
}

/* ---- Connections ---- */

static void describe(struct rs_sock *s, struct rs_sock_hello *h, struct rdma_conn_param *p)
{
	rs_sock_hello(s, h);
	*p = (struct rdma_conn_param){.private_data = h,
				      .private_data_len = sizeof(*h),
				      .responder_resources = 1,
				      .initiator_depth = 1,
				      .flow_control = 1,
				      .retry_count = 7,
				      .rnr_retry_count = 7};
}

/* Addresses are resolved at once: their event lies in the queue. */
static int take_event(struct rs_sock *s, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *e;
	int err;

	if (rdma_get_cm_event(s->channel, &e))
		return errno;
	err = e->event == wanted ? 0 : e->status ? abs(e->status) : EHOSTUNREACH;
	rdma_ack_cm_event(e);
	return err;
}

static int start_connect(struct rs_sock *s, const struct sockaddr *a)
{
	struct rs_sock_hello hello;
	struct rdma_conn_param p;
	int err;

	if (rdma_resolve_addr(s->id, NULL, (struct sockaddr *)(uintptr_t)a, RESOLVE_MS))
		return errno;
	err = take_event(s, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (err)
		return err == ENODEV ? ENETUNREACH : err;
	if (rdma_resolve_route(s->id, RESOLVE_MS))
		return errno;
	err = take_event(s, RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (!err)
		err = rs_sock_make(s);
	if (err)
		return err;
	describe(s, &hello, &p);
	if (rdma_connect(s->id, &p))
		return errno;
	s->state = RS_SOCK_CONNECTING;
	return 0;
}

static bool connected(const struct rs_sock *s)
{
	return s->state != RS_SOCK_CONNECTING && s->state != RS_SOCK_ACCEPTING;
}

static int take_error(struct rs_sock *s)
{
	int err = s->error;

	s->error = 0;
	return err;
}

static int connect_locked(struct rs_sock *s, const struct sockaddr *a)
{
	int err = 0;

	if (s->state == RS_SOCK_CONNECTING)
		rs_sock_progress(s);
	if (s->state == RS_SOCK_CONNECTING)
		return EALREADY;
	/* as librdmacm's: hiredis asks so whether its connection is there, and librspreload turns
	 * to TCP at an error */
	if (s->state == RS_SOCK_CONNECTED)
		return 0;
	if (s->state > RS_SOCK_BOUND)
		return s->state == RS_SOCK_FAILED && s->error ? take_error(s) : EISCONN;
	err = start_connect(s, a);
	if (err)
		return err;
	err = rs_sock_wait(s, connected, s->flags & O_NONBLOCK);
	if (err)
		return err == EAGAIN ? EINPROGRESS : err;
	return s->state == RS_SOCK_FAILED ? take_error(s) : 0;
}

RS_EXPORT int rconnect(int fd, const struct sockaddr *a, socklen_t n)
{
	struct rs_sock *s = rs_sock_take(fd);

	if (!s)
		return -1;
	return finish(s, s->dgram ? rs_dgram_connect(s, a) : connect_locked(s, a));
}

/* A request, as a socket of its own that answers. NULL: it was refused. */
static struct rs_sock *adopt(const struct rs_sock *listener, struct rdma_cm_id *id,
			     const struct rs_sock_hello *theirs, size_t n)
{
	struct rs_sock *s = make(listener);
	struct rs_sock_hello hello;
	struct rdma_conn_param p;
	int err = s ? 0 : errno;

	if (!err && rdma_migrate_id(id, s->channel))
		err = errno;
	if (!err) {
		s->id = id;
		id->context = s;
		err = rs_sock_make(s);
	}
	if (!err)
		err = rs_sock_hear(s, theirs, n);
	if (!err) {
		describe(s, &hello, &p);
		err = rdma_accept(id, &p) ? errno : 0;
	}
	if (!err) {
		s->state = RS_SOCK_ACCEPTING;
		return s;
	}
	rdma_reject(id, NULL, 0);
	if (!s || !s->id)
		rdma_destroy_id(id);
	if (s)
		destroy(s);
	return NULL;
}

/* The next request of those that wait. NULL with errno: EAGAIN. */
static struct rs_sock *next_request(struct rs_sock *l)
{
	struct rs_sock *s = NULL;
	struct rdma_cm_event *e;

	while (!s) {
		struct rs_sock_hello hello = {0};
		struct rdma_cm_id *id;
		size_t n;

		if (rdma_get_cm_event(l->channel, &e))
			return NULL;
		if (e->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
			rdma_ack_cm_event(e);
			continue;
		}
		id = e->id;
		n = e->param.conn.private_data_len;
		if (n >= sizeof(hello))
			memcpy(&hello, e->param.conn.private_data, sizeof(hello));
		rdma_ack_cm_event(e);
		s = adopt(l, id, &hello, n);
	}
	return s;
}

/* Called locked, sleeps unlocked. An errno value. */
static int wait_request(struct rs_sock *l)
{
	struct pollfd p = {.fd = l->channel->fd, .events = POLLIN};
	int err;

	if (l->flags & O_NONBLOCK)
		return EAGAIN;
	leave(l);
	err = poll(&p, 1, -1) < 0 ? errno : 0;
	pthread_mutex_lock(&l->lock);
	return err;
}

RS_EXPORT int raccept(int fd, struct sockaddr *a, socklen_t *n)
{
	struct rs_sock *l = rs_sock_take(fd), *s = NULL;
	int err = 0;

	if (!l)
		return -1;
	if (l->state != RS_SOCK_LISTENING)
		return finish(l, l->dgram ? EOPNOTSUPP : EINVAL);
	while (!s && !err) {
		s = next_request(l);
		if (!s)
			err = errno == EAGAIN ? wait_request(l) : errno;
	}
	leave(l);
	if (err)
		return rs_cm_fail(err);
	if (a && n)
		name(&s->id->route.addr.dst_storage, a, n);
	return publish(s);
}

/* ---- The end ---- */

static bool may_say(const struct rs_sock *s)
{
	return s->controls < RS_SOCK_CONTROLS || s->state != RS_SOCK_CONNECTED;
}

static bool all_sent(const struct rs_sock *s)
{
	return rs_sock_idle(s) || s->state != RS_SOCK_CONNECTED;
}

/* Say that no more comes, after what was sent, and wait until the peer has it. */
static int shut(struct rs_sock *s, int how)
{
	bool both = how == SHUT_RDWR || (how == SHUT_WR && !s->may_read);
	int err = 0;

	if (how != SHUT_WR)
		s->may_read = false;
	if (how == SHUT_RD || !s->may_write)
		return 0;
	err = rs_sock_wait(s, may_say, false);
	if (!err && s->state == RS_SOCK_CONNECTED && rs_sock_say(s, both))
		s->said_goodbye = both;
	s->may_write = false;
	return err ? err : rs_sock_wait(s, all_sent, false);
}

RS_EXPORT int rshutdown(int fd, int how)
{
	struct rs_sock *s = rs_sock_take(fd);

	if (!s)
		return -1;
	if (s->dgram) {
		s->may_read &= how == SHUT_WR;
		return finish(s, 0);
	}
	if (s->state == RS_SOCK_ACCEPTING)
		rs_sock_wait(s, connected, false);
	if (s->state < RS_SOCK_CONNECTED)
		return finish(s, ENOTCONN);
	return finish(s, shut(s, how));
}

bool rs_sock_blocked(int fd)
{
	struct rs_sock *s = rs_sock_of(fd);

	return !s || s->dgram || s->blocked;
}

void rs_sock_unblock(int fd)
{
	struct rs_sock *s = rs_sock_of(fd);

	if (s)
		s->blocked = false;
}

RS_EXPORT int rclose(int fd)
{
	struct rs_sock *s = rs_sock_take(fd);

	if (!s)
		return rs_repoll_close(fd);
	rs_repoll_forget(fd);
	if (s->state == RS_SOCK_ACCEPTING)
		rs_sock_wait(s, connected, false);
	if (s->state == RS_SOCK_CONNECTED)
		shut(s, SHUT_RDWR);
	leave(s);
	destroy(s);
	return 0;
}

/* ---- Options ---- */

/* Where an integer option is kept, and what it may be. */
static int *option(struct rs_sock *s, int level, int which)
{
	const struct {
		int level, which, *at;
	} table[] = {
		{SOL_SOCKET, SO_REUSEADDR, &s->reuse},
		{SOL_SOCKET, SO_KEEPALIVE, &s->keepalive},
		{SOL_SOCKET, SO_OOBINLINE, &s->oob},
		{SOL_SOCKET, SO_SNDBUF, (int *)&s->sndbuf},
		{SOL_SOCKET, SO_RCVBUF, (int *)&s->rcvbuf},
		{IPPROTO_TCP, TCP_NODELAY, &s->nodelay},
		{IPPROTO_TCP, TCP_KEEPIDLE, &s->keep[0]},
		{IPPROTO_TCP, TCP_KEEPINTVL, &s->keep[1]},
		{IPPROTO_TCP, TCP_KEEPCNT, &s->keep[2]},
		{IPPROTO_IPV6, IPV6_V6ONLY, &s->v6only},
		{SOL_RDMA, RDMA_SQSIZE, (int *)&s->sq_size},
		{SOL_RDMA, RDMA_RQSIZE, (int *)&s->rq_size},
		{SOL_RDMA, RDMA_INLINE, (int *)&s->inline_size},
		{SOL_RDMA, RDMA_IOMAPSIZE, (int *)&s->n_iomaps},
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].level == level && table[i].which == which)
			return table[i].at;
	return NULL;
}

/* What sizes memory or queues is fixed once these exist, and has its limits. */
static int set_size(struct rs_sock *s, int level, int which, int v)
{
	enum {
		LEAST_BUFFER = 4096,
		MOST_BUFFER = 1 << 28,
		LEAST_QUEUE = 16,
		MOST_IOMAPS = 1 << 14
	};
	bool buffer = level == SOL_SOCKET;
	int low = buffer ? LEAST_BUFFER : LEAST_QUEUE, high = buffer ? MOST_BUFFER : INT16_MAX;

	if (s->state >= RS_SOCK_CONNECTING)
		return EINVAL;
	if (level == SOL_RDMA && which == RDMA_INLINE) {
		low = 0;
		high = RS_V_MAX_INLINE;
	} else if (level == SOL_RDMA && which == RDMA_IOMAPSIZE) {
		low = 0;
		high = MOST_IOMAPS;
	}
	if (v < 0)
		return EINVAL;
	v = v < low ? low : v > high ? high : v;
	*option(s, level, which) = buffer ? v & ~1 : v; /* a receive buffer has two halves */
	return 0;
}

static int set_option(struct rs_sock *s, int level, int which, const void *value, socklen_t n)
{
	int v, *at = option(s, level, which);

	if (level == SOL_SOCKET && which == SO_LINGER) {
		if (n < sizeof(s->linger))
			return EINVAL;
		memcpy(&s->linger, value, sizeof(s->linger));
		return 0;
	}
	if (!at || (s->dgram && level == IPPROTO_TCP))
		return level == SOL_RDMA ? EOPNOTSUPP : ENOPROTOOPT;
	if (n < sizeof(v))
		return EINVAL;
	memcpy(&v, value, sizeof(v));
	if (level == SOL_RDMA ||
	    (level == SOL_SOCKET && (which == SO_SNDBUF || which == SO_RCVBUF)))
		return set_size(s, level, which, v);
	*at = v;
	if (s->dgram)
		rs_dgram_option(s, level, which, v);
	return 0;
}

RS_EXPORT int rsetsockopt(int fd, int level, int which, const void *value, socklen_t n)
{
	struct rs_sock *s = rs_sock_take(fd);

	return s ? finish(s, set_option(s, level, which, value, n)) : -1;
}

static int get_option(struct rs_sock *s, int level, int which, void *value, socklen_t *n)
{
	int v, *at = option(s, level, which);

	if (level == SOL_SOCKET && which == SO_LINGER) {
		if (*n < sizeof(s->linger))
			return EINVAL;
		*n = sizeof(s->linger);
		memcpy(value, &s->linger, sizeof(s->linger));
		return 0;
	}
	if (level == SOL_SOCKET && which == SO_ERROR) {
		rs_sock_progress(s);
		v = take_error(s);
	} else if (level == SOL_SOCKET && which == SO_TYPE) {
		v = s->dgram ? SOCK_DGRAM : SOCK_STREAM;
	} else if (s->dgram && level == IPPROTO_TCP) {
		return ENOPROTOOPT;
	} else if (level == IPPROTO_TCP && which == TCP_MAXSEG) {
		v = s->id->verbs ? 128 << rs_cm_id(s->id)->mtu : 0;
	} else if (at) {
		v = *at;
	} else {
		return ENOPROTOOPT;
	}
	if (*n < sizeof(v))
		return EINVAL;
	*n = sizeof(v);
	memcpy(value, &v, sizeof(v));
	return 0;
}

RS_EXPORT int rgetsockopt(int fd, int level, int which, void *value, socklen_t *n)
{
	struct rs_sock *s = rs_sock_take(fd);

	return s ? finish(s, get_option(s, level, which, value, n)) : -1;
}

RS_EXPORT int rfcntl(int fd, int cmd, ...)
{
	struct rs_sock *s = rs_sock_take(fd);
	va_list args;
	int value, rc = 0;

	if (!s)
		return -1;
	va_start(args, cmd);
	value = cmd == F_SETFL || cmd == F_SETFD ? va_arg(args, int) : 0;
	va_end(args);
	if (cmd == F_GETFL)
		rc = s->flags | O_RDWR;
	else if (cmd == F_SETFL)
		s->flags = value & O_NONBLOCK;
	else if (cmd == F_GETFD || cmd == F_SETFD)
		rc = fcntl(s->fd, cmd, value);
	else
		rc = rs_cm_fail(ENOTSUP);
	leave(s);
	return rc;
}
