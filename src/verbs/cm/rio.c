/* Bytes through rsockets: the calls that send and receive, and mapped buffers (riomap, riowrite).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/cm/rsocket.h"

static bool waits(const struct rs_sock *s, int flags)
{
	return !(s->flags & O_NONBLOCK) && !(flags & MSG_DONTWAIT);
}

/* ---- Out ---- */

static bool pending(const struct rs_sock *s)
{
	return s->state == RS_SOCK_CONNECTING || s->state == RS_SOCK_ACCEPTING;
}

static bool sendable(const struct rs_sock *s)
{
	return !pending(s) &&
	       (s->state != RS_SOCK_CONNECTED || !s->may_write || rs_sock_can_send(s));
}

static bool speakable(const struct rs_sock *s)
{
	return s->state != RS_SOCK_CONNECTED || s->controls < RS_SOCK_CONTROLS;
}

/* Can bytes still go out at all? An errno value. */
static int writable(struct rs_sock *s)
{
	int err = s->error;

	if (s->state == RS_SOCK_FAILED && err) {
		s->error = 0;
		return err;
	}
	if (s->state < RS_SOCK_CONNECTING)
		return ENOTCONN;
	return s->state != RS_SOCK_CONNECTED || !s->may_write ? EPIPE : 0;
}

/* So much room that nobody has to look for more: each look is a call to the kernel. */
static bool has_room(const struct rs_sock *s)
{
	return s->state == RS_SOCK_CONNECTED && s->may_write && s->s_free > s->sndbuf / 2 &&
	       s->sends < s->sq_size / 4 && rs_sock_can_send(s);
}

/* offset: -1: the stream; else a mapped buffer. An errno value once nothing more goes. */
static int send_step(struct rs_sock *s, const uint8_t *bytes, size_t n, int64_t offset, bool wait,
		     size_t *done)
{
	int err = 0;
	ssize_t some;

	if (s->state < RS_SOCK_CONNECTING)
		err = ENOTCONN;
	else if (!has_room(s))
		err = rs_sock_wait(s, sendable, !wait);
	if (!err)
		err = writable(s);
	while (!err && !rs_sock_send_maps(s)) {
		err = rs_sock_wait(s, speakable, !wait);
		if (!err)
			err = writable(s);
	}
	if (err)
		return err;
	some = offset < 0 ? (ssize_t)rs_sock_send_some(s, bytes, n)
			  : rs_sock_write_some(s, bytes, n, (uint64_t)offset);
	if (some <= 0)
		return some < 0 ? EINVAL : EIO;
	*done += (size_t)some;
	return 0;
}

/* As much as may go: all, when it may wait. -1 with errno: nothing. */
static ssize_t send_locked(struct rs_sock *s, const uint8_t *bytes, size_t n, int64_t offset,
			   int flags)
{
	size_t done = 0;
	int err = s->dgram ? EOPNOTSUPP : 0; /* of a mapped buffer: it has none */

	while (!err && done < n)
		err = send_step(s, bytes + done, n - done,
				offset < 0 ? offset : offset + (int64_t)done, waits(s, flags),
				&done);
	s->blocked |= done < n;
	if (!done && err) {
		errno = err;
		return -1;
	}
	return (ssize_t)done;
}

/* a: where a datagram goes; NULL: to the peer. */
static ssize_t send_vector(int fd, const struct iovec *iov, size_t n, int flags,
			   const struct sockaddr *a)
{
	struct rs_sock *s = rs_sock_take(fd);
	ssize_t total = 0, rc;

	if (!s)
		return -1;
	if (s->dgram) {
		total = rs_dgram_send(s, iov, n, flags, a);
		n = 0;
	} else if (a) {
		total = rs_cm_fail(EISCONN);
		n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		rc = send_locked(s, iov[i].iov_base, iov[i].iov_len, -1, flags);
		if (rc < 0 && !total)
			total = -1;
		if (rc > 0)
			total += rc;
		if (rc < (ssize_t)iov[i].iov_len)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	return total;
}

RS_EXPORT ssize_t rsend(int fd, const void *buf, size_t n, int flags)
{
	struct iovec v = {(void *)(uintptr_t)buf, n};

	return send_vector(fd, &v, 1, flags, NULL);
}

RS_EXPORT ssize_t rsendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *a,
			  socklen_t len)
{
	struct iovec v = {(void *)(uintptr_t)buf, n};

	return send_vector(fd, &v, 1, flags, len ? a : NULL);
}

RS_EXPORT ssize_t rsendmsg(int fd, const struct msghdr *m, int flags)
{
	return m->msg_controllen ? rs_cm_fail(ENOTSUP)
				 : send_vector(fd, m->msg_iov, m->msg_iovlen, flags,
					       m->msg_namelen ? m->msg_name : NULL);
}

RS_EXPORT ssize_t rwrite(int fd, const void *buf, size_t n)
{
	return rsend(fd, buf, n, 0);
}

RS_EXPORT ssize_t rwritev(int fd, const struct iovec *iov, int n)
{
	return n < 0 ? rs_cm_fail(EINVAL) : send_vector(fd, iov, (size_t)n, 0, NULL);
}

/* ---- In ---- */

static bool readable(const struct rs_sock *s)
{
	return !pending(s) && (s->r_ready || !s->may_read || s->state != RS_SOCK_CONNECTED);
}

static ssize_t receive_locked(struct rs_sock *s, uint8_t *buf, size_t n, int flags)
{
	size_t done = 0;
	int err = s->state < RS_SOCK_CONNECTING ? ENOTCONN : 0;

	while (!err && done < n) {
		err = rs_sock_wait(s, readable, !waits(s, flags));
		if (err || !s->r_ready)
			break;
		done += rs_sock_read_some(s, buf + done, n - done, flags & MSG_PEEK);
		rs_sock_progress(s); /* what was read may be offered anew */
		if (!(flags & MSG_WAITALL) || (flags & MSG_PEEK))
			break;
	}
	if (!done && !err && n && s->state == RS_SOCK_FAILED) {
		err = s->error;
		s->error = 0;
	}
	if (done || !err)
		return (ssize_t)done;
	errno = err;
	return -1;
}

/* A stream waits for the first byte only. flags: of the call, then those of msg_flags. */
static ssize_t receive_vector(int fd, const struct iovec *iov, size_t n, int *flags,
			      struct sockaddr *a, socklen_t *len)
{
	struct rs_sock *s = rs_sock_take(fd);
	ssize_t total = 0, rc;
	bool stream;

	if (!s)
		return -1;
	stream = !s->dgram;
	if (!stream)
		total = rs_dgram_receive(s, iov, n, flags, a, len);
	for (size_t i = 0; stream && i < n; i++) {
		rc = receive_locked(s, iov[i].iov_base, iov[i].iov_len,
				    total ? *flags | MSG_DONTWAIT : *flags);
		if (rc < 0 && !total)
			total = -1;
		if (rc > 0)
			total += rc;
		if (rc < (ssize_t)iov[i].iov_len)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	if (!stream)
		return total;
	*flags = 0;
	if (total > 0 && a && len)
		rgetpeername(fd, a, len);
	return total;
}

RS_EXPORT ssize_t rrecv(int fd, void *buf, size_t n, int flags)
{
	struct iovec v = {buf, n};

	return receive_vector(fd, &v, 1, &flags, NULL, NULL);
}

RS_EXPORT ssize_t rrecvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *a,
			    socklen_t *len)
{
	struct iovec v = {buf, n};

	return receive_vector(fd, &v, 1, &flags, a, len);
}

RS_EXPORT ssize_t rrecvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t rc;

	if (m->msg_controllen)
		return rs_cm_fail(ENOTSUP);
	rc = receive_vector(fd, m->msg_iov, m->msg_iovlen, &flags, m->msg_name, &m->msg_namelen);
	m->msg_flags = rc < 0 ? 0 : flags;
	return rc;
}

RS_EXPORT ssize_t rread(int fd, void *buf, size_t n)
{
	return rrecv(fd, buf, n, 0);
}

RS_EXPORT ssize_t rreadv(int fd, const struct iovec *iov, int n)
{
	int flags = 0;

	return n < 0 ? rs_cm_fail(EINVAL) : receive_vector(fd, iov, (size_t)n, &flags, NULL, NULL);
}

/* ---- Mapped buffers ---- */

/* A free entry of the peer's table; -1: all are used. */
static int free_entry(const struct rs_sock *s)
{
	for (unsigned i = 0; i < s->n_peer_iomaps; i++) {
		const struct rs_sock_map *m = s->maps;

		while (m && m->index != (int)i)
			m = m->next;
		if (!m)
			return (int)i;
	}
	return -1;
}

static int map_locked(struct rs_sock *s, void *buf, size_t n, int prot, off_t *offset)
{
	struct rs_sock_map *m;
	int index = prot & PROT_WRITE ? free_entry(s) : -1;

	if (s->dgram)
		return EOPNOTSUPP;
	if (s->state != RS_SOCK_CONNECTED && s->state != RS_SOCK_ACCEPTING)
		return ENOTCONN;
	if (!n || n > UINT32_MAX || (prot & ~PROT_WRITE))
		return EINVAL;
	if ((prot & PROT_WRITE) && index < 0)
		return ENOBUFS;
	m = calloc(1, sizeof(*m));
	if (!m)
		return ENOMEM;
	m->mr = ibv_reg_mr(s->id->pd, buf, n,
			   IBV_ACCESS_LOCAL_WRITE | (prot ? IBV_ACCESS_REMOTE_WRITE : 0));
	if (!m->mr) {
		free(m);
		return errno;
	}
	if (*offset == -1)
		*offset = (off_t)((uintptr_t)buf & INT64_MAX);
	m->offset = (uint64_t)*offset;
	m->index = index;
	m->pending = index >= 0;
	m->next = s->maps;
	s->maps = m;
	return 0;
}

RS_EXPORT off_t riomap(int fd, void *buf, size_t n, int prot, int flags, off_t offset)
{
	struct rs_sock *s = rs_sock_take(fd);
	int err;

	if (!s)
		return -1;
	err = map_locked(s, buf, n, prot, &offset);
	pthread_mutex_unlock(&s->lock);
	return err ? rs_cm_fail(err) : offset;
}

RS_EXPORT int riounmap(int fd, void *buf, size_t n)
{
	struct rs_sock *s = rs_sock_take(fd);
	struct rs_sock_map **at, *m;

	if (!s)
		return -1;
	for (at = &s->maps; *at && ((*at)->mr->addr != buf || (*at)->mr->length != n);)
		at = &(*at)->next;
	m = *at;
	if (m) {
		*at = m->next;
		ibv_dereg_mr(m->mr);
		free(m);
	}
	pthread_mutex_unlock(&s->lock);
	return m ? 0 : rs_cm_fail(EINVAL);
}

RS_EXPORT size_t riowrite(int fd, const void *buf, size_t n, off_t offset, int flags)
{
	struct rs_sock *s = rs_sock_take(fd);
	ssize_t rc;

	if (!s)
		return (size_t)-1;
	if (offset < 0) {
		errno = EINVAL;
		rc = -1;
	} else {
		rc = send_locked(s, buf, n, offset, flags);
	}
	pthread_mutex_unlock(&s->lock);
	return (size_t)rc;
}
