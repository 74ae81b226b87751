/* Waiting on rsockets: one by itself, or many beside the kernel's descriptors (rpoll, rselect). */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "verbs/cm/rsocket.h"

enum { SPINS = 32 /* looks before a sleep, at least: an answer is often quick */ };

/* Not before all that came was read: rstream takes it for an error. */
static short hung_up(const struct rs_sock *s)
{
	return s->r_ready ? 0 : POLLHUP;
}

static short connected_events(const struct rs_sock *s)
{
	short e = 0;

	if (s->r_ready || !s->may_read)
		e |= POLLIN;
	if (s->may_write ? rs_sock_can_send(s) : !s->may_read)
		e |= POLLOUT;
	if (!s->may_read && !s->may_write)
		e |= hung_up(s);
	return e;
}

short rs_sock_events(struct rs_sock *s)
{
	if (s->dgram)
		return rs_dgram_events(s);
	rs_sock_progress(s);
	switch (s->state) {
	case RS_SOCK_NEW:
	case RS_SOCK_BOUND:
		return POLLOUT | POLLHUP; /* as TCP's */
	case RS_SOCK_LISTENING:
		return rs_cm_pending(s->channel) ? POLLIN : 0;
	case RS_SOCK_CONNECTED:
		return connected_events(s);
	case RS_SOCK_OVER:
		return (short)(POLLIN | POLLOUT | hung_up(s));
	case RS_SOCK_FAILED:
		return POLLIN | POLLOUT | POLLHUP | POLLERR;
	default:
		return 0;
	}
}

/* What may wake: the connection's events, and its completions. */
static unsigned arm(struct rs_sock *s, struct pollfd out[2])
{
	s->vain = 0;
	if (s->dgram) {
		rs_dgram_arm(s);
		out[0] = (struct pollfd){.fd = s->fd, .events = POLLIN};
		return 1;
	}
	out[0] = (struct pollfd){.fd = s->channel->fd, .events = POLLIN};
	if (!s->cq)
		return 1;
	ibv_req_notify_cq(s->cq, 0);
	out[1] = (struct pollfd){.fd = s->completions->fd, .events = POLLIN};
	return 2;
}

static void disarm(struct rs_sock *s)
{
	struct ibv_cq *cq;
	void *context;

	if (s->dgram) {
		rs_dgram_disarm(s);
		return;
	}
	while (s->completions && !ibv_get_cq_event(s->completions, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/* Called locked, sleeps unlocked. An errno value. */
static int sleep_on(struct rs_sock *s, bool (*ready)(const struct rs_sock *s))
{
	struct pollfd fds[2];
	unsigned n = arm(s, fds);
	int err;

	/* What came before it was armed raises no event. */
	rs_sock_progress(s);
	if (ready(s))
		return 0;
	pthread_mutex_unlock(&s->lock);
	if (s->cq)
		err = -rs_verbs_mind(s->id->verbs, fds, n,
				     INT64_C(1000000) * rs_sock_conf()->wake_ms);
	else
		err = poll(fds, n, rs_sock_conf()->wake_ms) < 0 ? errno : 0;
	pthread_mutex_lock(&s->lock);
	disarm(s);
	return err;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int rs_sock_wait(struct rs_sock *s, bool (*ready)(const struct rs_sock *s), bool once)
{
	int64_t end = once ? 0 : now_ns() + rs_sock_conf()->spin_ns;
	int err = 0;

	for (unsigned i = 0; i < (once ? 1 : SPINS) || (!once && now_ns() < end); i++) {
		rs_sock_progress(s);
		if (ready(s))
			return 0;
	}
	if (once)
		return EAGAIN;
	while (!err && !ready(s)) {
		if (s->waiting) {
			pthread_cond_wait(&s->progressed, &s->lock);
			continue;
		}
		s->waiting = true;
		err = sleep_on(s, ready);
		s->waiting = false;
		rs_sock_progress(s);
		pthread_cond_broadcast(&s->progressed);
	}
	return err;
}

/* ---- rpoll ---- */

static int64_t now_ms(void)
{
	return rs_cm_now_ms();
}

/* The kernel's descriptors, as they are now; ours as -1. real has room for n. */
static int look_at_others(const struct pollfd *fds, nfds_t n, struct pollfd *real)
{
	bool any = false;

	for (nfds_t i = 0; i < n; i++) {
		real[i] = fds[i];
		real[i].revents = 0;
		if (rs_sock_of(fds[i].fd))
			real[i].fd = -1;
		any |= real[i].fd >= 0;
	}
	return any ? poll(real, n, 0) : 0;
}

/* What holds now. */
static int look(struct pollfd *fds, nfds_t n, struct pollfd *real)
{
	int count = 0;

	if (look_at_others(fds, n, real) < 0)
		return -1;
	for (nfds_t i = 0; i < n; i++) {
		struct rs_sock *s = rs_sock_of(fds[i].fd);

		fds[i].revents = real[i].revents;
		if (s) {
			pthread_mutex_lock(&s->lock);
			fds[i].revents = (short)(rs_sock_events(s) &
						 (fds[i].events | POLLERR | POLLHUP | POLLNVAL));
			pthread_mutex_unlock(&s->lock);
		}
		count += fds[i].revents != 0;
	}
	return count;
}

/* Arm all of ours; how many descriptors to sleep on (at most 2 n), 0: something holds already. */
static nfds_t arm_all(struct pollfd *fds, nfds_t n, struct pollfd *real)
{
	nfds_t out = 0;

	for (nfds_t i = 0; i < n; i++) {
		struct rs_sock *s = rs_sock_of(fds[i].fd);
		short holds = 0;

		if (!s) {
			real[out++] = fds[i];
			continue;
		}
		pthread_mutex_lock(&s->lock);
		out += arm(s, real + out);
		holds = rs_sock_events(s);
		pthread_mutex_unlock(&s->lock);
		if (holds & (fds[i].events | POLLERR | POLLHUP))
			return 0;
	}
	return out;
}

/* The device that the connections have in common, which is then minded while all sleep; NULL: they
 * have several, or there is none. */
static struct ibv_context *common_device(const struct pollfd *fds, nfds_t n)
{
	struct ibv_context *common = NULL;

	for (nfds_t i = 0; i < n; i++) {
		struct rs_sock *s = rs_sock_of(fds[i].fd);

		if (!s || s->dgram || !s->cq)
			continue;
		if (common && common != s->id->verbs)
			return NULL;
		common = s->id->verbs;
	}
	return common;
}

static void disarm_all(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++) {
		struct rs_sock *s = rs_sock_of(fds[i].fd);

		if (!s)
			continue;
		pthread_mutex_lock(&s->lock);
		disarm(s);
		pthread_mutex_unlock(&s->lock);
	}
}

static bool some_ours(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (rs_sock_of(fds[i].fd))
			return true;
	return false;
}

/* Sleep until something may hold, or the deadline (-1: none). False with errno. */
static bool sleep_on_all(struct pollfd *fds, nfds_t n, struct pollfd *real, int64_t deadline)
{
	nfds_t m = arm_all(fds, n, real);
	int64_t most = rs_sock_conf()->wake_ms, ms = deadline < 0 ? most : deadline - now_ms();
	struct ibv_context *device = m <= RS_LIVE_MIND_MAX ? common_device(fds, n) : NULL;
	int rc = 0;

	ms = ms < most ? ms : most;
	if (m && ms > 0 && device) {
		errno = -rs_verbs_mind(device, real, (unsigned)m, INT64_C(1000000) * ms);
		rc = errno ? -1 : 0;
	} else if (m && ms > 0) {
		rc = poll(real, m, (int)ms);
	}
	disarm_all(fds, n);
	return rc >= 0;
}

/* At once, or within the time that a sleep takes. */
static int look_for_a_while(struct pollfd *fds, nfds_t n, struct pollfd *real)
{
	int64_t end = now_ns() + rs_sock_conf()->spin_ns;
	int count;

	do
		count = look(fds, n, real);
	while (!count && now_ns() < end);
	return count;
}

RS_EXPORT int rpoll(struct pollfd *fds, nfds_t n, int timeout)
{
	int64_t deadline = timeout < 0 ? -1 : now_ms() + timeout;
	struct pollfd *real;
	int count;

	if (!some_ours(fds, n))
		return poll(fds, n, timeout);
	real = calloc(n, 2 * sizeof(*real));
	if (!real)
		return rs_cm_fail(ENOMEM);
	count = timeout ? look_for_a_while(fds, n, real) : look(fds, n, real);
	while (!count && timeout && (deadline < 0 || now_ms() < deadline)) {
		if (!sleep_on_all(fds, n, real, deadline)) {
			count = -1;
			break;
		}
		count = look(fds, n, real);
	}
	free(real);
	return count;
}

/* ---- rselect, by rpoll ---- */

static nfds_t to_poll(int n, const fd_set *r, const fd_set *w, const fd_set *x, struct pollfd *fds)
{
	nfds_t out = 0;

	for (int fd = 0; fd < n; fd++) {
		short events = (short)((r && FD_ISSET(fd, r) ? POLLIN : 0) |
				       (w && FD_ISSET(fd, w) ? POLLOUT : 0) |
				       (x && FD_ISSET(fd, x) ? POLLPRI : 0));

		if (events)
			fds[out++] = (struct pollfd){.fd = fd, .events = events};
	}
	return out;
}

static int note(int fd, short got, short wanted, short mask, fd_set *set)
{
	if (!set || !(wanted & mask))
		return 0;
	if (got & (mask | (mask == POLLPRI ? 0 : POLLERR | POLLHUP)))
		return 1;
	FD_CLR(fd, set);
	return 0;
}

RS_EXPORT int rselect(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout)
{
	int ms = timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000) : -1;
	struct pollfd fds[FD_SETSIZE];
	nfds_t m;
	int count = 0;

	if (n < 0 || n > FD_SETSIZE)
		return rs_cm_fail(EINVAL);
	m = to_poll(n, r, w, x, fds);
	if (rpoll(fds, m, ms) < 0)
		return -1;
	for (nfds_t i = 0; i < m; i++) {
		short got = fds[i].revents, wanted = fds[i].events;

		if (got & POLLNVAL)
			return rs_cm_fail(EBADF);
		count += note(fds[i].fd, got, wanted, POLLIN, r) +
			 note(fds[i].fd, got, wanted, POLLOUT, w) +
			 note(fds[i].fd, got, wanted, POLLPRI, x);
	}
	return count;
}
