/*
 * A descriptor to poll that is readable exactly while something waits, for channels of events: an
 * eventfd whose value stands for "not empty". To queue raises it. To take the last lowers it. Both
 * hold the lock that guards the queue. To wait is to read it, as its flags say: a signal restarts
 * the read where its handler was installed so (SA_RESTART), and a thread can be cancelled in it. A
 * woken reader looks at the queue again.
 */
#ifndef RS_VERBS_LEVEL_H
#define RS_VERBS_LEVEL_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct rs_level {
	int fd;
	pid_t owner; /* a fork's child has the same file: it leaves the parent's level as it is */
};

static inline int rs_level_open(struct rs_level *v)
{
	v->owner = getpid();
	v->fd = eventfd(0, EFD_CLOEXEC);
	return v->fd < 0 ? -errno : 0;
}

/* Locked. Also when it is raised already: who watches for edges (EPOLLET) has one for each event.
 */
static inline void rs_level_raise(const struct rs_level *v)
{
	uint64_t one = 1;

	if (v->owner == getpid() && write(v->fd, &one, sizeof(one)) < 0)
		return;
}

/* Locked. It never waits, though the descriptor may: another process may have read it. */
static inline void rs_level_lower(const struct rs_level *v)
{
	uint64_t value;
	struct iovec to = {&value, sizeof(value)};

	if (v->owner == getpid() && preadv2(v->fd, &to, 1, -1, RWF_NOWAIT) < 0)
		return;
}

/* Not locked. 0: it was raised, and this call lowered it: raise it again if more is left than you
 * take. -1 with errno. A thread that is cancelled here may have read already (glibc's bug 12683):
 * ended(of) is then called, not locked, and raises the level again if something waits. */
static inline int rs_level_wait(const struct rs_level *v, void (*ended)(void *), void *of)
{
	uint64_t value;
	ssize_t n;

	pthread_cleanup_push(ended, of);
	n = read(v->fd, &value, sizeof(value));
	pthread_cleanup_pop(0);
	return n == sizeof(value) ? 0 : -1;
}

#endif
