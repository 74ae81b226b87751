/* The process's devices and identifiers, and the thread that handles datagrams and timeouts. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "base/socket.h"
#include "verbs/cm/cm.h"

pthread_mutex_t rs_cm_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rs_cm_dev *devices;
static struct rs_cm_id *ids;
static bool running;
static pthread_once_t conds = PTHREAD_ONCE_INIT, forks = PTHREAD_ONCE_INIT;
static unsigned ghosts;

/* Datagrams that wait for the thread: a ring of its own lock, taken with a device locked. */
static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t inbox_cond;
static struct rs_gsi_datagram inbox[RS_CM_INBOX];
static unsigned inbox_head, inbox_count;
static bool woken;

int rs_cm_fail(int err)
{
	errno = err < 0 ? -err : err;
	return -1;
}

int64_t rs_cm_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint32_t rs_cm_random(void)
{
	uint32_t r = 0;

	/* first PSNs among others: what can be guessed would be no use (it comes whole:
	 * getrandom(2)) */
	while (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
		if (errno != EINTR)
			abort();
	return r;
}

static void take(void *arg, const struct rs_gsi_datagram *d)
{
	pthread_mutex_lock(&inbox_lock);
	if (inbox_count < RS_CM_INBOX)
		inbox[(inbox_head + inbox_count++) % RS_CM_INBOX] = *d;
	pthread_cond_signal(&inbox_cond);
	pthread_mutex_unlock(&inbox_lock);
}

void rs_cm_wake(void)
{
	pthread_mutex_lock(&inbox_lock);
	woken = true;
	pthread_cond_signal(&inbox_cond);
	pthread_mutex_unlock(&inbox_lock);
}

static void lay(struct rs_cm_id *ghost)
{
	rs_cm_remove(ghost);
	free(ghost);
	ghosts--;
}

void rs_cm_haunt(const struct rs_cm_id *id, int64_t due_ms)
{
	struct rs_cm_id *g = ghosts < RS_CM_GHOSTS ? malloc(sizeof(*g)) : NULL;

	if (!g)
		return;
	*g = *id;
	g->ghost = true;
	g->due_ms = due_ms;
	g->bound = false;
	g->base.qp = NULL;
	g->groups = NULL;
	ghosts++;
	rs_cm_add(g);
	rs_cm_wake();
}

/* Run what is due; when the next is: -1: nothing. */
static int64_t expire_all(void)
{
	int64_t next = -1, now = rs_cm_now_ms();

	pthread_mutex_lock(&rs_cm_lock);
	for (struct rs_cm_id *id = ids, *after; id; id = after) {
		after = id->next;
		if (id->due_ms && id->due_ms <= now)
			rs_cm_expire(id, now);
		if (id->due_ms && (next < 0 || id->due_ms < next))
			next = id->due_ms;
		if (id->ghost && id->state == RS_CM_CLOSED && !id->due_ms)
			lay(id);
	}
	pthread_mutex_unlock(&rs_cm_lock);
	return next;
}

/* The next datagram, or false at the time until, -1: never. */
static bool wait_datagram(int64_t until, struct rs_gsi_datagram *d)
{
	struct timespec ts = {until / 1000, until % 1000 * 1000000};
	bool any;

	pthread_mutex_lock(&inbox_lock);
	while (!inbox_count && !woken) {
		int err = until < 0 ? pthread_cond_wait(&inbox_cond, &inbox_lock)
				    : pthread_cond_timedwait(&inbox_cond, &inbox_lock, &ts);

		if (err == ETIMEDOUT)
			break;
	}
	woken = false;
	any = inbox_count != 0;
	if (any) {
		*d = inbox[inbox_head];
		inbox_head = (inbox_head + 1) % RS_CM_INBOX;
		inbox_count--;
	}
	pthread_mutex_unlock(&inbox_lock);
	return any;
}

static void *thread(void *arg)
{
	for (;;) {
		struct rs_gsi_datagram d;

		if (!wait_datagram(expire_all(), &d))
			continue;
		pthread_mutex_lock(&rs_cm_lock);
		rs_cm_receive(&d);
		pthread_mutex_unlock(&rs_cm_lock);
	}
	return NULL;
}

static void make_cond(void)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&inbox_cond, &a);
	pthread_condattr_destroy(&a);
}

/* Registered after live/'s handlers, so called before them: rs_cm_lock comes before a device's. The
 * inbox's comes after, and is made anew. */
static void before_fork(void)
{
	pthread_mutex_lock(&rs_cm_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&rs_cm_lock);
}

/* The child begins anew: devices, ports and connections are the parent's. */
static void after_fork_child(void)
{
	pthread_mutex_init(&rs_cm_lock, NULL);
	pthread_mutex_init(&inbox_lock, NULL);
	make_cond();
	devices = NULL;
	ids = NULL;
	running = false;
	inbox_count = 0;
	ghosts = 0;
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static bool start(void)
{
	sigset_t every, old;
	pthread_t t;

	pthread_once(&conds, make_cond);
	if (running)
		return true;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	running = pthread_create(&t, NULL, thread, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (running)
		pthread_detach(t);
	return running;
}

static struct rs_cm_dev *open_device(struct ibv_device *device)
{
	struct rs_cm_dev *d = start() ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return NULL;
	d->verbs = ibv_open_device(device);
	d->pd = d->verbs ? ibv_alloc_pd(d->verbs) : NULL;
	if (!d->pd) {
		if (d->verbs)
			ibv_close_device(d->verbs);
		free(d);
		return NULL;
	}
	pthread_once(&forks, watch_forks);
	d->slot = rs_verbs_gsi_open(d->verbs, take, NULL);
	d->next = devices;
	devices = d;
	return d;
}

/* The device of an address (NULL: the first). Devices stay open, as those of the original do. */
static struct rs_cm_dev *find_device(const uint8_t *gid)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct rs_cm_dev *found = NULL;
	struct ibv_device *which = NULL;

	for (unsigned i = 0; list && list[i] && !which; i++)
		if (!gid || rs_verbs_has_gid(list[i], gid))
			which = list[i];
	for (struct rs_cm_dev *d = devices; d && which && !found; d = d->next)
		if (d->verbs->device == which)
			found = d;
	if (which && !found)
		found = open_device(which);
	ibv_free_device_list(list);
	return found;
}

struct rs_cm_dev *rs_cm_device(const uint8_t gid[16])
{
	return find_device(gid);
}

struct rs_cm_dev *rs_cm_any_device(void)
{
	return devices ? devices : find_device(NULL);
}

/* Also what would have to wait for its turn. */
static void send_now(struct rs_cm_id *id)
{
	if (!rs_cm_send_dreq(id) && !id->tries)
		rs_cm_expire(id, rs_cm_now_ms());
}

/*
 * The process exits: peers are told, as the kernel would when the program's files are closed, and
 * what lies in our sockets for other processes is handed over. The holder of the lock may never
 * give it back.
 */
__attribute__((destructor)) static void say_goodbye(void)
{
	bool lockable = true;

	if (!running || pthread_mutex_trylock(&rs_cm_lock))
		return;
	for (struct rs_cm_dev *d = devices; d; d = d->next)
		lockable = lockable && rs_verbs_gsi_lockable(d->verbs);
	for (struct rs_cm_id *id = ids; lockable && id; id = id->next)
		if (id->state == RS_CM_ESTABLISHED && id->base.ps != RDMA_PS_UDP)
			send_now(id);
	for (struct rs_cm_dev *d = devices; lockable && d; d = d->next)
		rs_verbs_gsi_drain(d->verbs);
	pthread_mutex_unlock(&rs_cm_lock);
}

RS_EXPORT struct ibv_context **rdma_get_devices(int *num)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context **out = calloc(RS_LIVE_DEVICES + 1, sizeof(struct ibv_context *));
	int n = 0;

	pthread_mutex_lock(&rs_cm_lock);
	for (unsigned i = 0; list && out && list[i]; i++) {
		struct rs_cm_dev *d = devices;

		while (d && d->verbs->device != list[i])
			d = d->next;
		if (!d)
			d = open_device(list[i]);
		if (d)
			out[n++] = d->verbs;
	}
	pthread_mutex_unlock(&rs_cm_lock);
	ibv_free_device_list(list);
	if (num)
		*num = n;
	if (n)
		return out;
	free(out);
	errno = ENODEV;
	return NULL;
}

RS_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

void rs_cm_add(struct rs_cm_id *id)
{
	id->next = ids;
	ids = id;
}

void rs_cm_remove(struct rs_cm_id *id)
{
	struct rs_cm_id **at = &ids;

	while (*at && *at != id)
		at = &(*at)->next;
	if (*at)
		*at = id->next;
}

struct rs_cm_id *rs_cm_all(void)
{
	return ids;
}

/* IPv6 hears IPv4 too, unless net.ipv6.bindv6only says no: as any socket of this namespace. */
static bool v6_only(void)
{
	int fd = rs_socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 0;
	socklen_t n = sizeof(on);

	if (fd < 0)
		return false;
	if (getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, &n))
		on = 0;
	close(fd);
	return on;
}

static unsigned how_of(const struct rs_cm_id *id)
{
	bool only = id->af_only >= 0 ? id->af_only : !id->ipv6 || v6_only();

	return (id->shared ? RS_CM_REUSE : 0) | (only ? RS_CM_AFONLY : 0) |
	       (id->ipv6 ? RS_CM_IPV6 : 0);
}

int rs_cm_take_port(struct rs_cm_id *id)
{
	struct rs_cm_dev *d = id->dev ? id->dev : rs_cm_any_device();

	if (!d)
		return -ENODEV;
	id->how = how_of(id);
	id->place = rs_verbs_cm_bind(d->verbs, (uint16_t)id->base.ps, &id->port, id->bound_gid,
				     id->how);
	id->bound = id->place >= 0;
	id->port_dev = d;
	return id->bound ? 0 : id->place;
}

void rs_cm_change_port(struct rs_cm_id *id)
{
	if (!id->bound)
		return;
	id->how = how_of(id);
	rs_verbs_cm_change(id->port_dev->verbs, id->place, id->how);
}

void rs_cm_give_port(struct rs_cm_id *id)
{
	if (id->bound)
		rs_verbs_cm_unbind(id->port_dev->verbs, id->place);
	id->bound = false;
}
