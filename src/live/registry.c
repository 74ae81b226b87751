/* The shared registry: a file in /dev/shm (or XDG_RUNTIME_DIR), locked by flock, mapped by all. */
#include "live/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAGIC = 0x52697073, LAYOUT = 5, OPEN_TRIES = 64, NAME_TRIES = 4, SWEEP_MAX = 4096 };

struct slot {
	int32_t pid;    /* 0: free */
	uint32_t index; /* place in the reuseport group */
	uint64_t start; /* of the process, in ticks since boot: a pid is reused */
	uint32_t lease; /* counts those of the slot */
	uint32_t rings; /* lease, where the process takes rings */
};

struct shared {
	uint32_t magic, layout;
	uint32_t members;
	uint32_t next; /* where the search for a free slot begins: a slot rests before reuse */
	struct slot slot[RS_SLOTS];
	struct rs_cm_port port[RS_CM_PORTS];
};

struct rs_registry {
	pthread_mutex_t threads; /* of this process: a file's lock is all of theirs */
	int fd;
	unsigned slot;
	uint64_t netns;
	struct shared *s;
	char path[128];
};

/* Field 22 of /proc/PID/stat (proc(5)); 0: there is no such process. */
static uint64_t start_of(int32_t pid)
{
	char path[64], text[512], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	p = strrchr(text, ')'); /* a program's name may hold anything */
	for (unsigned field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

/* The socket at the end of the group takes the place of one that closes. */
static void remove_member(struct shared *s, unsigned slot)
{
	uint32_t index = s->slot[slot].index, last;

	if (!s->members)
		return;
	last = --s->members;
	for (unsigned i = 0; i < RS_SLOTS; i++)
		if (s->slot[i].pid && i != slot && s->slot[i].index == last)
			s->slot[i].index = index;
	for (unsigned i = 0; i < RS_CM_PORTS; i++)
		if (s->port[i].space && s->port[i].slot == slot)
			s->port[i].space = 0;
	s->slot[slot].pid = 0;
}

unsigned rs_registry_reap(struct rs_registry *r)
{
	unsigned reaped = 0;

	for (unsigned i = 0; i < RS_SLOTS; i++) {
		const struct slot *k = &r->s->slot[i];

		if (k->pid && start_of(k->pid) != k->start) {
			remove_member(r->s, i);
			reaped++;
		}
	}
	return reaped;
}

static int lease(struct rs_registry *r)
{
	struct shared *s = r->s;

	for (unsigned n = 0; n < RS_SLOT_LAST; n++) {
		unsigned i = RS_SLOT_FIRST + (s->next + n) % (RS_SLOT_LAST - RS_SLOT_FIRST + 1);

		if (s->slot[i].pid)
			continue;
		s->slot[i].lease++;
		s->slot[i].rings = 0;
		s->slot[i].pid = getpid();
		s->slot[i].start = start_of(getpid());
		s->slot[i].index = s->members++;
		s->next = i - RS_SLOT_FIRST + 1;
		r->slot = i;
		return 0;
	}
	return -EAGAIN;
}

/* The file, created where it is missing, locked, and still the one of that name. */
static int open_locked(struct rs_registry *r)
{
	struct stat mine, named;

	for (unsigned i = 0; i < OPEN_TRIES; i++) {
		r->fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (r->fd < 0)
			return -errno;
		if (flock(r->fd, LOCK_EX) == 0 && fstat(r->fd, &mine) == 0 &&
		    stat(r->path, &named) == 0 && mine.st_ino == named.st_ino) {
			if (mine.st_uid == geteuid() && S_ISREG(mine.st_mode))
				return 0;
			close(r->fd);
			return -EACCES;
		}
		close(r->fd);
	}
	return -EBUSY;
}

static int map(struct rs_registry *r)
{
	struct stat st;

	if (fstat(r->fd, &st))
		return -errno;
	if (st.st_size != sizeof(*r->s) && ftruncate(r->fd, sizeof(*r->s)))
		return -errno;
	r->s = mmap(NULL, sizeof(*r->s), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->s == MAP_FAILED)
		return -errno;
	if (r->s->magic != MAGIC || r->s->layout != LAYOUT) {
		memset(r->s, 0, sizeof(*r->s));
		r->s->magic = MAGIC;
		r->s->layout = LAYOUT;
		r->s->next = (uint32_t)getpid() % RS_SLOT_LAST;
	}
	return 0;
}

/* Another user's file may have the name: uid 0 of a user namespace is anyone outside, and a
 * namespace's number is used again. Then the next name serves. */
static void name_file(struct rs_registry *r, const char *folder, unsigned try)
{
	struct stat ns;
	int n;

	r->netns = stat("/proc/self/ns/net", &ns) ? 0 : (uint64_t)ns.st_ino;
	n = snprintf(r->path, sizeof(r->path), "%s/ripstop-%u-%llu", folder, (unsigned)geteuid(),
		     (unsigned long long)r->netns);
	if (try && n > 0 && (size_t)n < sizeof(r->path))
		snprintf(r->path + n, sizeof(r->path) - (size_t)n, ".%u", try);
}

static int open_in(struct rs_registry *r, const char *folder)
{
	int err = -EACCES;

	for (unsigned try = 0; err == -EACCES && try < NAME_TRIES; try++) {
		name_file(r, folder, try);
		err = open_locked(r);
	}
	return err;
}

/*
 * Each member holds a lock of its own kind on the file's first byte, which ends with it however it
 * ends, and whatever process IDs mean to who asks: a file without one is nobody's.
 */
static struct flock member_lock(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
}

static void sweep_file(int folder, const char *name)
{
	struct flock lock = member_lock(F_WRLCK);
	struct stat mine, named;
	uint32_t head[2];
	int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	/* who has just opened it sees that its name is gone: open_locked() */
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &mine) && S_ISREG(mine.st_mode) &&
	    mine.st_uid == geteuid() && pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	    head[0] == MAGIC && head[1] == LAYOUT && !fcntl(fd, F_OFD_GETLK, &lock) &&
	    lock.l_type == F_UNLCK && !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
	    named.st_ino == mine.st_ino)
		unlinkat(folder, name, 0);
	close(fd);
}

/* Programs that were killed as the last of their network namespace left its file: the next who is
 * the first somewhere clears them away. */
static void sweep(const struct rs_registry *r)
{
	const char *own = strrchr(r->path, '/') + 1;
	char folder[sizeof(r->path)], prefix[64];
	struct dirent *entry;
	DIR *d;

	snprintf(folder, sizeof(folder), "%.*s", (int)(own - r->path), r->path);
	snprintf(prefix, sizeof(prefix), "ripstop-%u-", (unsigned)geteuid());
	d = opendir(folder);
	for (unsigned i = 0; d && i < SWEEP_MAX && (entry = readdir(d)) != NULL; i++)
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
		    strcmp(entry->d_name, own) != 0)
			sweep_file(dirfd(d), entry->d_name);
	if (d)
		closedir(d);
}

int rs_registry_open(struct rs_registry **out, unsigned *slot, struct rs_error *e)
{
	struct rs_registry *r = calloc(1, sizeof(*r));
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct flock member;
	int err;

	if (!r)
		return rs_error_set(e, -ENOMEM, "no memory for the registry");
	pthread_mutex_init(&r->threads, NULL);
	err = open_in(r, "/dev/shm");
	if (err && runtime && *runtime == '/')
		err = open_in(r, runtime);
	if (err) {
		rs_error_set(e, err, "cannot open the registry %s: %s", r->path, strerror(-err));
		rs_error_hint(e, "a writable /dev/shm or XDG_RUNTIME_DIR is needed");
		free(r);
		return err;
	}
	err = map(r);
	if (!err) {
		rs_registry_reap(r);
		err = lease(r);
	}
	if (err) {
		rs_error_set(e, err,
			     err == -EAGAIN ? "all %d leases of QPNs on this host are taken"
					    : "cannot use the registry of %d leases",
			     RS_SLOT_LAST);
		if (r->s && r->s != MAP_FAILED)
			munmap(r->s, sizeof(*r->s));
		close(r->fd);
		free(r);
		return err;
	}
	member = member_lock(F_RDLCK);
	fcntl(r->fd, F_OFD_SETLK, &member);
	if (r->s->members <= 1)
		sweep(r);
	*slot = r->slot;
	*out = r;
	return 0;
}

void rs_registry_joined(struct rs_registry *r)
{
	flock(r->fd, LOCK_UN);
}

void rs_registry_lock(struct rs_registry *r)
{
	pthread_mutex_lock(&r->threads);
	while (flock(r->fd, LOCK_EX) && errno == EINTR)
		;
}

void rs_registry_unlock(struct rs_registry *r)
{
	flock(r->fd, LOCK_UN);
	pthread_mutex_unlock(&r->threads);
}

void rs_registry_leave(struct rs_registry *r)
{
	bool last = true;

	remove_member(r->s, r->slot);
	for (unsigned i = 0; i < RS_SLOTS; i++)
		last &= r->s->slot[i].pid == 0;
	if (last)
		unlink(r->path);
	pthread_mutex_unlock(&r->threads);
	rs_registry_abandon(r);
}

void rs_registry_abandon(struct rs_registry *r)
{
	munmap(r->s, sizeof(*r->s));
	close(r->fd);
	free(r);
}

unsigned rs_registry_order(const struct rs_registry *r, uint8_t order[RS_SLOTS])
{
	unsigned members = r->s->members < RS_SLOTS ? r->s->members : RS_SLOTS;

	memset(order, 0, RS_SLOTS);
	for (unsigned i = 0; i < RS_SLOTS; i++)
		if (r->s->slot[i].pid && r->s->slot[i].index < members)
			order[r->s->slot[i].index] = (uint8_t)i;
	return members;
}

void rs_registry_found(struct rs_registry *r, unsigned slot, unsigned index)
{
	if (slot < RS_SLOTS && index < RS_SLOTS)
		__atomic_store_n(&r->s->slot[slot].index, index, __ATOMIC_RELAXED);
}

int rs_registry_leased(const struct rs_registry *r, unsigned slot)
{
	return slot < RS_SLOTS && __atomic_load_n(&r->s->slot[slot].pid, __ATOMIC_RELAXED) != 0;
}

void rs_registry_offer_rings(struct rs_registry *r)
{
	struct slot *k = &r->s->slot[r->slot];

	__atomic_store_n(&k->rings, k->lease ? k->lease : 1, __ATOMIC_RELEASE);
}

uint32_t rs_registry_rings(const struct rs_registry *r, unsigned slot)
{
	const struct slot *k = &r->s->slot[slot % RS_SLOTS];

	return __atomic_load_n(&k->pid, __ATOMIC_RELAXED)
		       ? __atomic_load_n(&k->rings, __ATOMIC_ACQUIRE)
		       : 0;
}

int rs_registry_process(const struct rs_registry *r, unsigned slot, int32_t *pid)
{
	const struct slot *k = &r->s->slot[slot % RS_SLOTS];
	int fd;

	*pid = __atomic_load_n(&k->pid, __ATOMIC_RELAXED);
	if (*pid <= 0)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, *pid, 0);
	if (fd < 0)
		return -errno;
	/* Looked at with the process held: it is the one that leased. */
	if (start_of(*pid) == k->start && k->pid == *pid)
		return fd;
	close(fd);
	return -ESRCH;
}

/* The file of this name, if it is a registry of ours. */
static int peek_in(const char *folder, uint8_t leased[RS_SLOTS])
{
	struct rs_registry r = {0};
	struct shared *s = malloc(sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	r.fd = -1;
	for (unsigned try = 0; r.fd < 0 && try < NAME_TRIES && (!try || errno == EACCES); try++) {
		name_file(&r, folder, try);
		r.fd = open(r.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (r.fd < 0 || read(r.fd, s, sizeof(*s)) != (ssize_t)sizeof(*s) || s->magic != MAGIC ||
	    s->layout != LAYOUT)
		err = -ENOENT;
	for (unsigned i = 0; i < RS_SLOTS; i++)
		leased[i] = !err && s->slot[i].pid && start_of(s->slot[i].pid) == s->slot[i].start;
	if (r.fd >= 0)
		close(r.fd);
	free(s);
	return err;
}

int rs_registry_peek(uint8_t leased[RS_SLOTS])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int err = peek_in("/dev/shm", leased);

	return err && runtime && *runtime == '/' ? peek_in(runtime, leased) : err;
}

uint64_t rs_registry_netns(const struct rs_registry *r)
{
	return r->netns;
}

struct rs_cm_port *rs_registry_ports(struct rs_registry *r)
{
	return r->s->port;
}
