/* rsockets: sockets over RDMA (rsocket(7)). Not implemented: rsocket() says EOPNOTSUPP, and as no
 * descriptor is one of ours, every other call says EBADF. */
#include <errno.h>
#include <rdma/rsocket.h>
#include "verbs/verbs.h"

RS_EXPORT int rsocket(int domain, int type, int protocol)
{
	errno = EOPNOTSUPP;
	return -1;
}

static int bad(void)
{
	errno = EBADF;
	return -1;
}

#define NONE(type, name, ...)            \
	RS_EXPORT type name(__VA_ARGS__) \
	{                                \
		return (type)bad();      \
	}

NONE(int, rbind, int s, const struct sockaddr *a, socklen_t n)
NONE(int, rlisten, int s, int backlog)
NONE(int, raccept, int s, struct sockaddr *a, socklen_t *n)
NONE(int, rconnect, int s, const struct sockaddr *a, socklen_t n)
NONE(int, rshutdown, int s, int how)
NONE(int, rclose, int s)
NONE(ssize_t, rrecv, int s, void *buf, size_t n, int flags)
NONE(ssize_t, rrecvfrom, int s, void *buf, size_t n, int flags, struct sockaddr *a, socklen_t *len)
NONE(ssize_t, rrecvmsg, int s, struct msghdr *m, int flags)
NONE(ssize_t, rsend, int s, const void *buf, size_t n, int flags)
NONE(ssize_t, rsendto, int s, const void *buf, size_t n, int flags, const struct sockaddr *a,
     socklen_t len)
NONE(ssize_t, rsendmsg, int s, const struct msghdr *m, int flags)
NONE(ssize_t, rread, int s, void *buf, size_t n)
NONE(ssize_t, rreadv, int s, const struct iovec *iov, int n)
NONE(ssize_t, rwrite, int s, const void *buf, size_t n)
NONE(ssize_t, rwritev, int s, const struct iovec *iov, int n)
NONE(int, rgetpeername, int s, struct sockaddr *a, socklen_t *n)
NONE(int, rgetsockname, int s, struct sockaddr *a, socklen_t *n)
NONE(int, rsetsockopt, int s, int level, int name, const void *value, socklen_t n)
NONE(int, rgetsockopt, int s, int level, int name, void *value, socklen_t *n)
NONE(int, rfcntl, int s, int cmd, ...)
NONE(off_t, riomap, int s, void *buf, size_t n, int prot, int flags, off_t at)
NONE(int, riounmap, int s, void *buf, size_t n)
NONE(size_t, riowrite, int s, const void *buf, size_t n, off_t at, int flags)

/* Descriptors of the kernel may be waited for: all that there are. */
RS_EXPORT int rpoll(struct pollfd *fds, nfds_t n, int timeout)
{
	return poll(fds, n, timeout);
}

RS_EXPORT int rselect(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout)
{
	return select(n, r, w, x, timeout);
}
