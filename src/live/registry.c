/* The shared registry: see registry.h. Changed under flock, mapped by all. */
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
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "live/meet.h"
#include "live/tuning.h"
#include "wire/roce.h"

enum { MAGIC = 0x52697073, LAYOUT = 7, SWEEP_MAX = 4096, PATH_BYTES = 192, NAME_BYTES = 8 };
enum { REST = 64 }; /* leases until a slot is given out again, where others are free */

struct slot {
	int32_t pid;    /* 0: free */
	uint32_t index; /* place in the reuseport group */
	uint64_t start; /* of the process, in ticks since boot: a pid is reused */
	uint64_t pidns; /* where the pid means something; 0: not known */
	uint32_t lease; /* counts those of the slot */
	uint32_t rings; /* lease, where the process takes rings */
	uint64_t left;  /* when it was given back: counted in leases of all slots */
	struct rs_local_address address;
};

struct shared {
	uint32_t magic, layout;
	uint32_t members;
	uint64_t leases; /* given out */
	struct slot slot[RS_SLOTS];
	uint32_t ports; /* those that are taken are below */
	struct rs_cm_port port[RS_CM_PORTS];
};

struct rs_registry {
	pthread_mutex_t threads; /* of this process: a file's lock is all of theirs */
	int fd;
	unsigned slot;
	struct shared *s;
	struct rs_meet meet;   /* until this process can answer questions itself */
	char path[PATH_BYTES]; /* empty: not known here */
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

	rs_assert(slot < RS_SLOTS);
	if (!s->members)
		return;
	last = --s->members;
	for (unsigned i = 0; i < RS_SLOTS; i++)
		if (s->slot[i].pid && i != slot && s->slot[i].index == last)
			s->slot[i].index = index;
	for (unsigned i = 0; i < s->ports && i < RS_CM_PORTS; i++)
		if (s->port[i].space && s->port[i].slot == slot)
			s->port[i].space = 0;
	while (s->ports && (s->ports > RS_CM_PORTS || !s->port[s->ports - 1].space))
		s->ports--;
	s->slot[slot].pid = 0;
	s->slot[slot].left = s->leases;
	memset(&s->slot[slot].address, 0, sizeof(s->slot[slot].address));
}

/* ---- Who lives ---- */

/*
 * Byte i is locked while slot i's process, or a child that has its descriptors still, lives. The
 * locks are those of the open file (fcntl(2), "open file description locks"): the kernel knows them
 * in all namespaces.
 */
static struct flock slot_lock(short type, unsigned slot, unsigned n)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)slot, .l_len = (off_t)n};
}

/* Does somebody else hold a lock on these? Where the kernel does not say, yes. */
static bool locked_by_others(int fd, unsigned slot, unsigned n)
{
	struct flock k = slot_lock(F_WRLCK, slot, n);

	return fcntl(fd, F_OFD_GETLK, &k) != 0 || k.l_type != F_UNLCK;
}

bool rs_registry_lives(const struct rs_registry *r, unsigned slot)
{
	return rs_registry_leased(r, slot) && (slot == r->slot || locked_by_others(r->fd, slot, 1));
}

unsigned rs_registry_reap(struct rs_registry *r)
{
	unsigned reaped = 0;

	for (unsigned i = 0; i < RS_SLOTS; i++)
		if (r->s->slot[i].pid && !rs_registry_lives(r, i)) {
			remove_member(r->s, i);
			reaped++;
		}
	return reaped;
}

/* ---- Leases ---- */

/* One that nobody can foresee: the top byte of its QPNs is half of what a forger has to guess.
 * Those that rested come first: the last holder's peers may still be sending. */
static unsigned pick_slot(const struct shared *s)
{
	unsigned rested = 0, free_ones = 0, n, seen = 0;
	uint32_t random;

	for (unsigned i = RS_SLOT_FIRST; i <= RS_SLOT_LAST; i++) {
		free_ones += !s->slot[i].pid;
		rested += !s->slot[i].pid && s->leases - s->slot[i].left >= REST;
	}
	n = rested ? rested : free_ones;
	if (!n || rs_live_random(&random, sizeof(random)))
		return 0;
	for (unsigned i = RS_SLOT_FIRST; i <= RS_SLOT_LAST; i++) {
		bool fits = !s->slot[i].pid && (!rested || s->leases - s->slot[i].left >= REST);

		if (fits && seen++ == random % n)
			return i;
	}
	return 0;
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

static int lease(struct rs_registry *r)
{
	unsigned i = pick_slot(r->s);
	struct slot *k = &r->s->slot[i];
	struct flock mine = slot_lock(F_WRLCK, i, 1);

	if (!i)
		return -EAGAIN;
	if (fcntl(r->fd, F_OFD_SETLK, &mine))
		return -errno;
	if (!++k->lease)
		k->lease = 1;
	k->rings = 0;
	k->start = start_of(getpid());
	k->pidns = pid_namespace();
	k->index = r->s->members++;
	k->pid = getpid();
	r->s->leases++;
	r->slot = i;
	return 0;
}

/* ---- The file ---- */

/*
 * Is the file this user's own and nobody else's? Its number of a user does not say so: in a user
 * namespace all that have none there read alike. But only its owner may set a file's mode.
 */
static bool is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       fchmod(fd, 0600) == 0;
}

static int map(struct rs_registry *r)
{
	struct stat st;

	if (fstat(r->fd, &st))
		return -errno;
	if (st.st_size != sizeof(*r->s))
		return -EINVAL;
	r->s = mmap(NULL, sizeof(*r->s), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->s != MAP_FAILED)
		return 0;
	r->s = NULL;
	return -errno;
}

/* Room is taken at once: a full file system would else end this process as it writes. */
static int make(struct rs_registry *r)
{
	int err = -posix_fallocate(r->fd, 0, sizeof(*r->s));

	if (!err)
		err = map(r);
	if (err)
		return err;
	r->s->magic = MAGIC;
	r->s->layout = LAYOUT;
	r->s->leases = REST;
	return 0;
}

static uint64_t net_namespace(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) ? 0 : (uint64_t)st.st_ino;
}

/* What the names of this network namespace's registries begin with; or, all: this user's. */
static void prefix_of(char *out, size_t size, bool all)
{
	if (all)
		snprintf(out, size, "ripstop-%u-", (unsigned)geteuid());
	else
		snprintf(out, size, "ripstop-%u-%llu-", (unsigned)geteuid(),
			 (unsigned long long)net_namespace());
}

static const char *folder_of(unsigned i)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (i == 0)
		return "/dev/shm";
	return i == 1 && runtime && *runtime == '/' ? runtime : NULL;
}

/* What goes with a name: 0 to look on. */
typedef int look_fn(void *arg, int folder, const char *folder_name, const char *name);

static int each_file(const char *folder, bool all, look_fn *look, void *arg)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	char prefix[64];
	int found = 0;

	prefix_of(prefix, sizeof(prefix), all);
	for (unsigned i = 0; d && !found && i < SWEEP_MAX && (entry = readdir(d)) != NULL; i++)
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			found = look(arg, dirfd(d), folder, entry->d_name);
	if (d)
		closedir(d);
	return found;
}

static int open_named(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || is_own(fd))
		return fd;
	close(fd);
	return -1;
}

static bool is_registry(int fd)
{
	struct stat st;
	uint32_t head[2];

	return !fstat(fd, &st) && st.st_size == sizeof(struct shared) &&
	       pread(fd, head, sizeof(head), 0) == sizeof(head) && head[0] == MAGIC &&
	       head[1] == LAYOUT;
}

/* One that somebody holds a slot of. */
static int look_for_living(void *arg, int folder, const char *folder_name, const char *name)
{
	struct rs_registry *r = arg;
	int fd = open_named(folder, name);

	if (fd < 0)
		return 0;
	if (!is_registry(fd) || !locked_by_others(fd, 0, RS_SLOTS) ||
	    (size_t)snprintf(r->path, sizeof(r->path), "%s/%s", folder_name, name) >=
		    sizeof(r->path)) {
		close(fd);
		return 0;
	}
	r->fd = fd;
	return 1;
}

static bool find(struct rs_registry *r)
{
	bool found = false;

	for (unsigned i = 0; i < 2 && !found; i++)
		found = folder_of(i) && each_file(folder_of(i), false, look_for_living, r);
	if (!found)
		r->path[0] = 0;
	return found;
}

/* Of all its user's in this folder, those that nobody holds a slot of are cleared away: of programs
 * that were killed as the last of their network namespace. Who makes one holds it locked. */
static int sweep_one(void *arg, int folder, const char *folder_name, const char *name)
{
	struct stat mine, named;
	int fd = open_named(folder, name);

	if (fd < 0)
		return 0;
	if (!flock(fd, LOCK_EX | LOCK_NB) && is_registry(fd) &&
	    !locked_by_others(fd, 0, RS_SLOTS) && !fstat(fd, &mine) &&
	    !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) && named.st_ino == mine.st_ino)
		unlinkat(folder, name, 0);
	close(fd);
	return 0;
}

static int create_in(struct rs_registry *r, const char *folder)
{
	uint8_t random[NAME_BYTES];
	char prefix[64];
	int n, err = rs_live_random(random, sizeof(random));

	if (err)
		return err;
	each_file(folder, true, sweep_one, NULL);
	prefix_of(prefix, sizeof(prefix), false);
	n = snprintf(r->path, sizeof(r->path), "%s/%s", folder, prefix);
	for (unsigned i = 0; i < NAME_BYTES && n > 0 && (size_t)n < sizeof(r->path); i++)
		n += snprintf(r->path + n, sizeof(r->path) - (size_t)n, "%02x", random[i]);
	if (n < 0 || (size_t)n >= sizeof(r->path))
		return -ENAMETOOLONG;
	r->fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->fd < 0)
		return -errno;
	err = flock(r->fd, LOCK_EX | LOCK_NB) ? -errno : make(r);
	if (!err)
		return 0;
	unlink(r->path);
	close(r->fd);
	return err;
}

/* Without a place for a file it has no name: the others ask for it. */
static int create(struct rs_registry *r)
{
	int err = -ENOENT;

	for (unsigned i = 0; i < 2; i++) {
		if (folder_of(i))
			err = create_in(r, folder_of(i));
		if (!err)
			return 0;
	}
	r->path[0] = 0;
	r->fd = memfd_create("ripstop-registry", MFD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	err = flock(r->fd, LOCK_EX) ? -errno : make(r);
	if (err)
		close(r->fd);
	return err;
}

/* ---- Finding it ---- */

/* Somebody's descriptor: its locks are all one's who share it, so the file is opened anew. */
static int open_anew(int passed)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", passed);
	fd = open(path, O_RDWR | O_CLOEXEC);
	close(passed);
	if (fd >= 0 && is_own(fd) && is_registry(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Locked, mapped, and still somebody's: the last to leave takes it away. */
static bool enter(struct rs_registry *r)
{
	while (flock(r->fd, LOCK_EX))
		if (errno != EINTR)
			goto bad;
	if (locked_by_others(r->fd, 0, RS_SLOTS) && !map(r))
		return true;
bad:
	close(r->fd);
	return false;
}

static void nap(void)
{
	nanosleep(&(struct timespec){0, rs_live_tuning.registry_retry_ms * 1000L * 1000}, NULL);
}

enum step { FOUND, ALONE, AGAIN };

/* Ask who has it, or, where nobody is on the port, be the first: of several who come at once the
 * one that sees no other, for each shows itself before it looks. */
static enum step meet(struct rs_registry *r, bool *asked, struct rs_error *e, int *err)
{
	struct rs_meet_port port;
	bool blind = rs_meet_look(NULL, &port) != 0;
	int fd;

	*err = 0;
	if (!blind && !port.members && port.comers) {
		nap();
		return AGAIN;
	}
	*err = rs_meet_open(&r->meet, e);
	if (*err)
		return AGAIN;
	for (;;) {
		blind = rs_meet_look(&r->meet, &port) != 0;
		if (blind ? *asked : !port.members && port.comers == 1)
			return ALONE;
		if (blind || port.members) {
			*asked = true;
			fd = rs_meet_ask(&r->meet, rs_live_tuning.registry_ask_ms);
			r->fd = fd < 0 ? -1 : open_anew(fd);
			rs_meet_close(&r->meet);
			if (fd >= 0 && r->fd < 0)
				*err = rs_error_set(e, -ENOENT,
						    "cannot use the registry that another process "
						    "passed: /proc is needed, and one version");
			return r->fd >= 0 && enter(r) ? FOUND : AGAIN;
		}
		if (!port.mine_first)
			break;
		nap();
	}
	rs_meet_close(&r->meet);
	nap();
	return AGAIN;
}

static int find_or_create(struct rs_registry *r, struct rs_error *e)
{
	int64_t end = rs_clock_ns() + rs_live_tuning.registry_slow_ms * INT64_C(1000000);
	bool asked = false;
	int err;

	do {
		if (find(r) && enter(r))
			return 0;
		r->path[0] = 0;
		switch (meet(r, &asked, e, &err)) {
		case FOUND:
			return 0;
		case ALONE:
			err = create(r);
			if (err)
				rs_error_set(e, err, "cannot make the registry: %s",
					     strerror(-err));
			return err;
		case AGAIN:
			if (err)
				return err;
		}
	} while (rs_clock_ns() < end);
	rs_error_set(e, -ETIMEDOUT,
		     "UDP port %d is shared with programs that do not answer for %d s", RS_UDP_PORT,
		     rs_live_tuning.registry_slow_ms / 1000);
	rs_error_hint(
		e,
		"they are stopped, or of another version of Ripstop, or the loopback is down: "
		"ip link set lo up, look with ss -ulpn 'sport = %d'",
		RS_UDP_PORT);
	return -ETIMEDOUT;
}

static void free_registry(struct rs_registry *r)
{
	rs_meet_close(&r->meet);
	if (r->s)
		munmap(r->s, sizeof(*r->s));
	if (r->fd >= 0)
		close(r->fd);
	pthread_mutex_destroy(&r->threads);
	free(r);
}

int rs_registry_open(struct rs_registry **out, unsigned *slot, struct rs_error *e)
{
	struct rs_registry *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return rs_error_set(e, -ENOMEM, "no memory for the registry");
	pthread_mutex_init(&r->threads, NULL);
	r->fd = r->meet.udp = r->meet.local = -1;
	err = find_or_create(r, e);
	if (err) {
		r->fd = -1;
		free_registry(r);
		return err;
	}
	rs_registry_reap(r);
	err = lease(r);
	if (err == -EAGAIN)
		rs_error_set(e, err,
			     "all %d leases of QPNs in this network namespace are taken, all by "
			     "this user's programs",
			     RS_SLOT_LAST);
	else if (err)
		rs_error_set(e, err, "cannot lock the registry: %s", strerror(-err));
	if (err) {
		free_registry(r);
		return err;
	}
	*slot = r->slot;
	*out = r;
	return 0;
}

void rs_registry_announce(struct rs_registry *r, const struct rs_local_address *a)
{
	r->s->slot[r->slot].address = *a;
}

void rs_registry_joined(struct rs_registry *r)
{
	rs_meet_close(&r->meet);
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

/* Locks are let go of by word: where a child was forked it has the file open still. */
void rs_registry_leave(struct rs_registry *r)
{
	struct flock mine = slot_lock(F_UNLCK, r->slot, 1);
	bool last = true;

	remove_member(r->s, r->slot);
	for (unsigned i = 0; i < RS_SLOTS; i++)
		last &= r->s->slot[i].pid == 0;
	if (last && r->path[0])
		unlink(r->path);
	fcntl(r->fd, F_OFD_SETLK, &mine);
	rs_registry_unlock(r);
	rs_registry_abandon(r);
}

void rs_registry_abandon(struct rs_registry *r)
{
	free_registry(r);
}

int rs_registry_descriptor(const struct rs_registry *r)
{
	return r->fd;
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

int rs_registry_leased(const struct rs_registry *r, unsigned slot)
{
	return slot < RS_SLOTS && __atomic_load_n(&r->s->slot[slot].pid, __ATOMIC_RELAXED) != 0;
}

void rs_registry_address(const struct rs_registry *r, unsigned slot, struct rs_local_address *a)
{
	memcpy(a, &r->s->slot[slot % RS_SLOTS].address, sizeof(*a));
}

void rs_registry_offer_rings(struct rs_registry *r)
{
	struct slot *k = &r->s->slot[r->slot];

	__atomic_store_n(&k->rings, k->lease, __ATOMIC_RELEASE);
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
	if (!k->pidns || k->pidns != r->s->slot[r->slot].pidns) {
		*pid = 0;
		return rs_registry_lives(r, slot) ? -EXDEV : -ESRCH;
	}
	fd = (int)syscall(SYS_pidfd_open, *pid, 0);
	if (fd < 0)
		return -errno;
	/* Looked at with the process held: it is the one that leased. */
	if (start_of(*pid) == k->start && k->pid == *pid && rs_registry_lives(r, slot))
		return fd;
	close(fd);
	return -ESRCH;
}

/* Of another container's: it has to be asked for. */
static bool ask_for(struct rs_registry *r)
{
	struct rs_meet_port port;
	int fd = -1;

	if (rs_meet_look(NULL, &port) || !port.members || rs_meet_open(&r->meet, NULL))
		return false;
	for (unsigned i = 0; i < 4 && fd < 0; i++)
		fd = rs_meet_ask(&r->meet, rs_live_tuning.registry_ask_ms);
	rs_meet_close(&r->meet);
	r->fd = fd < 0 ? -1 : open_anew(fd);
	return r->fd >= 0;
}

int rs_registry_peek(struct rs_registry_peeked out[RS_SLOTS])
{
	struct rs_registry r = {.fd = -1, .meet = {.udp = -1, .local = -1}};
	struct shared *s = malloc(sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	if ((!find(&r) && !ask_for(&r)) || pread(r.fd, s, sizeof(*s), 0) != (ssize_t)sizeof(*s))
		err = -ENOENT;
	for (unsigned i = 0; i < RS_SLOTS; i++) {
		out[i].leased = !err && s->slot[i].pid && locked_by_others(r.fd, i, 1);
		out[i].address = err ? (struct rs_local_address){0} : s->slot[i].address;
	}
	if (r.fd >= 0)
		close(r.fd);
	free(s);
	return err;
}

struct rs_cm_port *rs_registry_ports(struct rs_registry *r, uint32_t **end)
{
	if (r->s->ports > RS_CM_PORTS)
		r->s->ports = RS_CM_PORTS;
	*end = &r->s->ports;
	return r->s->port;
}
