/*
 * repoll_create(), repoll_ctl(), repoll_wait() (RDMACM_1.5, of rdma-core 65): epoll(7) over
 * rsockets and the kernel's descriptors. The kernel's are in an epoll set of the kernel's, which
 * knows when one is closed; ours are looked at by rpoll(), and that set beside them. Ours are
 * level-triggered. EPOLLONESHOT is kept. Of EPOLLET, that one of ours can be written is told when
 * it could not before; that it can be read is told as long as it can.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "verbs/cm/rsocket.h"

/* The name that programs link to. */
#define NAMED(name) __asm__(name) RS_EXPORT

/* By name these calls are librspreload's, which would come back here. */
static int kernel_create(void)
{
	return (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC);
}

static int kernel_change(int set, int op, int fd, const struct epoll_event *wish)
{
	return (int)syscall(SYS_epoll_ctl, set, op, fd, wish);
}

static int kernel_collect(int set, struct epoll_event *out, int max)
{
	return (int)syscall(SYS_epoll_pwait, set, out, max, 0, NULL, 0);
}

struct watched {
	int fd;
	struct epoll_event wish;
	bool silent;    /* EPOLLONESHOT: it was told of */
	bool told_free; /* EPOLLET: that it can be written was */
};

struct repoll {
	pthread_mutex_t lock;
	struct repoll *later;   /* another set */
	int fd;                 /* readable when the list has changed: who waits looks at it anew */
	int kernel;             /* the kernel's descriptors */
	struct watched *list;   /* ours */
	unsigned n, room, next; /* next: whose turn it is to be told of first */
	unsigned waiting;
	bool closed, kernel_first;
};

static struct repoll *sets[RS_SOCK_MAX], *all;
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;

/* Locked; NULL with errno. */
static struct repoll *take(int fd)
{
	struct repoll *r = NULL;

	pthread_mutex_lock(&sets_lock);
	if (fd >= 0 && fd < RS_SOCK_MAX)
		r = sets[fd];
	if (r)
		pthread_mutex_lock(&r->lock);
	pthread_mutex_unlock(&sets_lock);
	errno = r ? errno : EBADF;
	return r;
}

static void tell_waiting(struct repoll *r)
{
	uint64_t n = r->waiting; /* each takes one */

	if (n && write(r->fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
}

static void destroy(struct repoll *r)
{
	close(r->fd);
	close(r->kernel);
	pthread_mutex_destroy(&r->lock);
	free(r->list);
	free(r);
}

int rs_repoll_close(int fd)
{
	struct repoll *r = take(fd);
	bool last;

	if (!r)
		return -1;
	pthread_mutex_unlock(&r->lock);
	pthread_mutex_lock(&sets_lock);
	sets[fd] = NULL;
	for (struct repoll **at = &all; *at; at = &(*at)->later)
		if (*at == r) {
			*at = r->later;
			break;
		}
	pthread_mutex_unlock(&sets_lock);
	pthread_mutex_lock(&r->lock);
	r->closed = true;
	last = !r->waiting;
	tell_waiting(r);
	pthread_mutex_unlock(&r->lock);
	if (last)
		destroy(r); /* else by who waits */
	return 0;
}

int repoll_make(int flags) NAMED("repoll_create");
int repoll_make(int flags)
{
	struct repoll *r = calloc(1, sizeof(*r));

	if (!r)
		return rs_cm_fail(ENOMEM);
	r->fd = eventfd(0,
			EFD_NONBLOCK | EFD_SEMAPHORE | (flags & EPOLL_CLOEXEC ? EFD_CLOEXEC : 0));
	r->kernel = r->fd < 0 ? -1 : kernel_create();
	if (r->kernel < 0 || r->fd >= RS_SOCK_MAX) {
		int err = r->kernel < 0 ? errno : EMFILE;

		if (r->fd >= 0)
			close(r->fd);
		if (r->kernel >= 0)
			close(r->kernel);
		free(r);
		return rs_cm_fail(err);
	}
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_lock(&sets_lock);
	sets[r->fd] = r;
	r->later = all;
	all = r;
	pthread_mutex_unlock(&sets_lock);
	return r->fd;
}

/* ---- repoll_ctl ---- */

static struct watched *find(struct repoll *r, int fd)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->list[i].fd == fd)
			return &r->list[i];
	return NULL;
}

static int add(struct repoll *r, int fd, const struct epoll_event *wish)
{
	if (r->n == r->room) {
		unsigned room = r->room ? 2 * r->room : 16;
		struct watched *list = realloc(r->list, room * sizeof(*list));

		if (!list)
			return ENOMEM;
		r->list = list;
		r->room = room;
	}
	r->list[r->n++] = (struct watched){.fd = fd, .wish = *wish};
	return 0;
}

static int change(struct repoll *r, int op, int fd, const struct epoll_event *wish)
{
	struct watched *w = find(r, fd);

	if (op != EPOLL_CTL_DEL && !wish)
		return EFAULT;
	if (!w && !rs_sock_of(fd))
		return kernel_change(r->kernel, op, fd, wish) ? errno : 0;
	switch (op) {
	case EPOLL_CTL_ADD:
		return w ? EEXIST : add(r, fd, wish);
	case EPOLL_CTL_MOD:
		if (w)
			*w = (struct watched){.fd = fd, .wish = *wish};
		return w ? 0 : ENOENT;
	case EPOLL_CTL_DEL:
		if (w)
			*w = r->list[--r->n];
		return w ? 0 : ENOENT;
	default:
		return EINVAL;
	}
}

int repoll_change(int set, int op, int fd, struct epoll_event *wish) NAMED("repoll_ctl");
int repoll_change(int set, int op, int fd, struct epoll_event *wish)
{
	struct repoll *r;
	int err;

	if (fd == set)
		return rs_cm_fail(EINVAL);
	if (fd < 0)
		return rs_cm_fail(EBADF);
	r = take(set);
	if (!r)
		return -1;
	err = change(r, op, fd, wish);
	tell_waiting(r);
	pthread_mutex_unlock(&r->lock);
	return err ? rs_cm_fail(err) : 0;
}

void rs_repoll_forget(int fd)
{
	pthread_mutex_lock(&sets_lock);
	for (struct repoll *r = all; r; r = r->later) {
		pthread_mutex_lock(&r->lock);
		change(r, EPOLL_CTL_DEL, fd, NULL);
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_unlock(&sets_lock);
}

/* ---- repoll_wait ---- */

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI &&
		       EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLRDHUP == POLLRDHUP,
	       "one meaning");

enum { POLLS = POLLIN | POLLPRI | POLLOUT | POLLRDHUP, EDGE_MS = 100 };

/* Of EPOLLET: the program was told that it can be written, and has not found it full since. */
static bool told_already(const struct watched *w)
{
	return w->wish.events & EPOLLET && w->told_free && !rs_sock_blocked(w->fd);
}

/* Those to be looked at, behind the set's own descriptors. What is left out may have to be looked
 * at soon: *timeout. */
static nfds_t to_poll(const struct repoll *r, struct pollfd *out, int *timeout)
{
	nfds_t n = 0;

	out[n++] = (struct pollfd){.fd = r->fd, .events = POLLIN};
	out[n++] = (struct pollfd){.fd = r->kernel, .events = POLLIN};
	for (unsigned i = 0; i < r->n; i++) {
		const struct watched *w = &r->list[i];
		short events = (short)(w->wish.events & POLLS);

		if (w->silent)
			continue;
		if (events & POLLOUT && told_already(w)) {
			events &= (short)~POLLOUT;
			*timeout = *timeout < 0 || *timeout > EDGE_MS ? EDGE_MS : *timeout;
		}
		out[n++] = (struct pollfd){.fd = w->fd, .events = events};
	}
	return n;
}

/* Of n of ours. */
static int collect_ours(struct repoll *r, const struct pollfd *fds, nfds_t n,
			struct epoll_event *out, int max)
{
	int count = 0;

	for (nfds_t k = 0; k < n && count < max; k++) {
		const struct pollfd *f = &fds[(r->next + k) % n];
		struct watched *w = f->revents ? find(r, f->fd) : NULL;

		if (!w || w->silent)
			continue;
		out[count].events = (uint32_t)f->revents;
		out[count++].data = w->wish.data;
		w->silent = w->wish.events & EPOLLONESHOT;
		w->told_free = f->revents & POLLOUT;
		if (w->told_free)
			rs_sock_unblock(w->fd);
	}
	r->next = n ? (unsigned)((r->next + (unsigned)count) % n) : 0;
	return count;
}

/* Ours and the kernel's take turns at being the first, where there is not room for all. */
static int collect(struct repoll *r, const struct pollfd *fds, nfds_t n, struct epoll_event *out,
		   int max)
{
	int count = 0, more;

	r->kernel_first = !r->kernel_first;
	if (fds[1].revents && r->kernel_first)
		count = kernel_collect(r->kernel, out, max);
	if (count < 0)
		return count;
	count += collect_ours(r, fds + 2, n - 2, out + count, max - count);
	if (!fds[1].revents || r->kernel_first || count == max)
		return count;
	more = kernel_collect(r->kernel, out + count, max - count);
	return more < 0 && !count ? more : count + (more > 0 ? more : 0);
}

/* Sleeps unlocked; the list may be another one then. */
static int look(struct repoll *r, struct epoll_event *out, int max, int timeout)
{
	struct pollfd *fds = calloc(r->n + 2u, sizeof(*fds));
	uint64_t told;
	nfds_t n;
	int rc;

	if (!fds)
		return rs_cm_fail(ENOMEM);
	n = to_poll(r, fds, &timeout);
	r->waiting++;
	pthread_mutex_unlock(&r->lock);
	rc = rpoll(fds, n, timeout);
	pthread_mutex_lock(&r->lock);
	r->waiting--;
	if (fds[0].revents && read(r->fd, &told, sizeof(told)) < 0 && errno != EAGAIN)
		rc = -1;
	if (rc > 0)
		rc = collect(r, fds, n, out, max);
	free(fds);
	return rc;
}

int repoll_await(int set, struct epoll_event *out, int max, int timeout) NAMED("repoll_wait");
int repoll_await(int set, struct epoll_event *out, int max, int timeout)
{
	int64_t end = timeout < 0 ? -1 : rs_cm_now_ms() + timeout;
	struct repoll *r;
	bool gone;
	int rc;

	if (max <= 0)
		return rs_cm_fail(EINVAL);
	r = take(set);
	if (!r)
		return -1;
	do {
		int64_t left = end < 0 ? -1 : end - rs_cm_now_ms();

		rc = look(r, out, max, (int)(end >= 0 && left < 0 ? 0 : left));
		gone = r->closed;
	} while (!rc && !gone && (end < 0 || rs_cm_now_ms() < end));
	gone &= !r->waiting;
	pthread_mutex_unlock(&r->lock);
	if (gone)
		destroy(r);
	return rc;
}
