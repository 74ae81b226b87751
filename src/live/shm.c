/*
 * Rings between the processes of one host and user: made, announced, written, read and given up. A
 * ring that cannot be had, or whose reader is gone, leaves its packets to the wire; what was in it
 * is lost, as on one, and the transport repeats it.
 */
#include "live/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "live/near.h"
#include "live/shm_state.h"

enum { HELLO = 1, BELL = 2, REFUSAL = 3 };
enum {
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW,
};

/* What one process tells another: as long as no head of a packet that is handed over is. */
struct hello {
	char magic[8];
	uint32_t what, slot, lease, zero;
};

_Static_assert(sizeof(struct hello) <= RS_SHM_HELLO_MAX, "it is read in one go");

static const char magic[8] = "RSRINGS";

/* 1: yes. */
static int wanted(const struct rs_live *l, struct rs_error *e)
{
	const char *wish = getenv("RIPSTOP_SHM");

	if (wish && *wish && strcmp(wish, "on") != 0 && strcmp(wish, "off") != 0)
		return rs_error_set(e, -EINVAL, "RIPSTOP_SHM=%s is neither on nor off", wish);
	return !l->congestion.rate && !(wish && !strcmp(wish, "off"));
}

int rs_shm_open(struct rs_live *l, struct rs_error *e)
{
	int on = wanted(l, e);

	if (on <= 0)
		return on;
	l->shm = calloc(1, sizeof(*l->shm));
	if (!l->shm)
		return rs_error_set(e, -ENOMEM, "no memory for rings between processes");
	if (rs_live_random(&l->shm->cookie, sizeof(l->shm->cookie)))
		return rs_error_set(e, -EIO, "the kernel gives no random numbers");
	rs_registry_offer_rings(l->registry);
	return rs_near_open(l, e);
}

/* ---- Addresses of this host ---- */

static bool bindable(const struct rs_live *l, const uint8_t gid[16])
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	memcpy(&a.sin6_addr, gid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr))
		a.sin6_scope_id = l->device.net.index;
	ok = fd >= 0 && !IN6_IS_ADDR_MULTICAST(&a.sin6_addr) &&
	     !IN6_IS_ADDR_UNSPECIFIED(&a.sin6_addr) &&
	     bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Is the peer an address of this host's? Asked once a path. */
static bool is_here(struct rs_live *l, struct rs_path *p)
{
	if (p->place == RS_PATH_UNASKED)
		p->place = bindable(l, p->peer) ? RS_PATH_HERE : RS_PATH_ELSEWHERE;
	return p->place == RS_PATH_HERE;
}

enum rs_live_peer rs_live_peer_of(struct rs_live *l, const uint8_t own[16], const uint8_t peer[16],
				  uint32_t qpn)
{
	uint32_t path = rs_paths_find(&l->paths, own, peer);

	if (l->forked || path == UINT32_MAX || !is_here(l, &l->paths.path[path]))
		return RS_PEER_UNKNOWN;
	return rs_registry_lives(l->registry, qpn >> 16) ? RS_PEER_LIVES : RS_PEER_GONE;
}

/* ---- Telling ---- */

static bool tell(struct rs_live *l, unsigned slot, uint32_t what, uint32_t lease, int fd)
{
	struct hello h = {.what = what, .slot = l->slot, .lease = lease};

	memcpy(h.magic, magic, sizeof(magic));
	return rs_steer_tell(l, slot, &h, sizeof(h), NULL, 0, fd);
}

/* The process that a ring is shared with, which has the slot; pidfd < 0: of another PID namespace.
 */
static bool is_gone(const struct rs_live *l, unsigned slot, int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	if (slot >= RS_NEAR_FIRST)
		return rs_near_is_gone(pidfd);
	return pidfd < 0 ? !rs_registry_lives(l->registry, slot) : poll(&p, 1, 0) > 0;
}

/* ---- The sender's end ---- */

static void close_out(struct rs_shm *s, unsigned slot)
{
	struct rs_shm_out *o = s->out[slot];

	s->out[slot] = NULL;
	if (!o)
		return;
	if (o->w.ring)
		munmap(o->w.ring, sizeof(*o->w.ring));
	if (o->pidfd >= 0)
		close(o->pidfd);
	free(o);
}

/* Sealed: the reader's mapping of it cannot be made to end early. */
static int make_ring(struct rs_live *l, struct rs_shm_out *o)
{
	const struct rs_ways_tuning ways = {.stretch = rs_live_tuning.stage_stretch,
					    .break_ns = rs_live_tuning.stage_break_ns,
					    .tries = rs_live_tuning.stage_tries,
					    .agree = rs_live_tuning.stage_agree};
	int fd = memfd_create("ripstop", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(*o->w.ring)) || fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL))
		goto bad;
	o->w.ring = mmap(NULL, sizeof(*o->w.ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (o->w.ring == MAP_FAILED) {
		o->w.ring = NULL;
		goto bad;
	}
	o->w.ring->magic = RS_SHM_MAGIC;
	o->w.ring->layout = RS_SHM_LAYOUT;
	o->w.ring->lines = RS_SHM_LINES;
	o->w.ring->cookie_at = (uintptr_t)&l->shm->cookie;
	o->w.ring->cookie = l->shm->cookie;
	rs_ways_init(&o->ways, &ways);
	o->runs.ticket = o->w.ring->ticket;
	o->runs.done_word = &o->w.ring->runs_done;
	o->runs.stops_max = rs_live_tuning.window->run_stops;
	return fd;
bad:
	close(fd);
	return -ENOMEM;
}

APART static struct rs_shm_out *open_out(struct rs_live *l, unsigned slot, uint32_t lease,
					 rs_time now)
{
	struct rs_shm *s = l->shm;
	struct rs_shm_out *o = calloc(1, sizeof(*o));
	int fd = -1;

	close_out(s, slot);
	s->refused[slot] = lease; /* until it is there */
	if (!o)
		return NULL;
	s->out[slot] = o;
	o->lease = lease;
	o->made = now;
	o->pidfd = rs_registry_process(l->registry, slot, &o->pid);
	/* Of two devices of one process the application polls one while it waits for the other,
	 * whose thread then sleeps: the wire wakes it sooner on loaded cores (pyverbs: three
	 * times). */
	if ((o->pidfd >= 0 || o->pidfd == -EXDEV) && (o->pid != getpid() || s->within))
		fd = make_ring(l, o);
	/* Alive after it was told: it was its socket that heard, and nobody's who took the name. */
	if (fd < 0 || !tell(l, slot, HELLO, lease, fd) || is_gone(l, slot, o->pidfd)) {
		if (fd >= 0)
			close(fd);
		close_out(s, slot);
		return NULL;
	}
	close(fd);
	s->refused[slot] = 0;
	return o;
}

/* No ring for this holder of the slot any more. */
static void give_up(struct rs_live *l, unsigned slot)
{
	struct rs_shm *s = l->shm;

	s->refused[slot] = s->out[slot]->lease;
	if (s->waiting.slot == slot)
		s->waiting.slot = 0;
	close_out(s, slot);
	if (slot >= RS_NEAR_FIRST)
		rs_near_lost(l, slot, rs_live_clock(l));
}

int rs_shm_make_out(struct rs_live *l, unsigned number, int alive)
{
	struct rs_shm_out *o = calloc(1, sizeof(*o));
	int fd;

	close_out(l->shm, number);
	if (!o) {
		close(alive);
		return -ENOMEM;
	}
	l->shm->out[number] = o;
	o->made = rs_live_clock(l);
	o->pidfd = alive;
	fd = make_ring(l, o);
	if (fd >= 0) /* none of its business where this process's memory lies */
		o->w.ring->cookie_at = o->w.ring->cookie = 0;
	return fd;
}

void rs_shm_drop_out(struct rs_live *l, unsigned number)
{
	if (l->shm->out[number])
		give_up(l, number);
}

/* The ring towards the holder of a slot; NULL: there is none. */
static struct rs_shm_out *out_to(struct rs_live *l, unsigned slot, rs_time now)
{
	struct rs_shm *s = l->shm;
	uint32_t lease = rs_registry_rings(l->registry, slot);
	struct rs_shm_out *o = s->out[slot];

	if (__builtin_expect(o && o->lease == lease, 1))
		return o;
	if (o)
		give_up(l, slot);
	if (!lease || slot == l->slot || s->refused[slot] == lease)
		return NULL;
	/* whoever captures wants to see the packets */
	if (rs_netdev_captured(l->device.net.index)) {
		s->refused[slot] = lease;
		return NULL;
	}
	return open_out(l, slot, lease, now);
}

static void note_written(struct rs_shm *s, struct rs_shm_out *o, unsigned slot)
{
	if (o->written)
		return;
	o->written = true;
	s->written[s->n_written++] = (uint16_t)slot;
}

/* The reader learns whose packets a path's are. */
APART static bool tell_path(struct rs_live *l, struct rs_shm_out *o, uint32_t number)
{
	const struct rs_path *p = &l->paths.path[number];
	struct rs_shm_record r = {.kind = RS_SHM_PATH, .path = (uint16_t)number};
	uint8_t gids[32];

	memcpy(gids, p->own, 16);
	memcpy(gids + 16, p->peer, 16);
	if (!rs_shm_write(&o->w, &r, gids, sizeof(gids)))
		return false;
	o->told[number] = p->generation + 1u;
	return true;
}

static bool knows_path(const struct rs_live *l, const struct rs_shm_out *o, uint32_t path)
{
	return o->told[path] == l->paths.path[path].generation + 1u;
}

static void note_runs(struct rs_shm *s, struct rs_shm_out *o, unsigned slot)
{
	if (o->running)
		return;
	o->running = true;
	s->out_slot[s->outs++] = (uint16_t)slot;
}

static bool write_record(struct rs_live *l, unsigned slot, struct rs_shm_record *r,
			 const void *payload, size_t n)
{
	struct rs_shm_out *o = l->shm->out[slot];
	size_t bytes;

	if (!knows_path(l, o, r->path) && !tell_path(l, o, r->path))
		return false;
	if (r->kind == RS_SHM_RUN) {
		note_runs(l->shm, o, slot);
		return rs_shm_write_run(o, r);
	}
	bytes = r->kind == RS_SHM_STAGED ? r->u.run.bytes : n;
	if (r->kind == RS_SHM_STAGED ? !rs_shm_write_staged(&o->w, r)
				     : !rs_shm_write(&o->w, r, payload, n))
		return false;
	if (bytes >= RS_SHM_LONG)
		rs_shm_judge_way(o, bytes);
	return true;
}

/* A packet for which there is no room waits, and all others behind it. */
APART static void wait_for_room(struct rs_shm *s, unsigned slot, const struct rs_shm_record *r,
				const void *payload, size_t n, rs_time now)
{
	if (s->out[slot]->deaf)
		return;
	s->waiting.slot = slot;
	memcpy(&s->waiting.record, r, sizeof(*r));
	s->waiting.n = n;
	if (n)
		memcpy(s->waiting.payload, payload, n);
	s->waiting.since = now;
}

/* The ring that a packet goes by, and its number; NULL: there is none. */
static struct rs_shm_out *out_of(struct rs_live *l, const struct rs_packet *p, unsigned *number,
				 rs_time now)
{
	struct rs_path *path = &l->paths.path[p->dst];

	if (!path->used)
		return NULL;
	if (is_here(l, path))
		return out_to(l, *number, now);
	*number = l->near ? rs_near_to(l, p->dst, p->dest_qp, now) : 0;
	return *number ? l->shm->out[*number] : NULL;
}

bool rs_shm_send(struct rs_live *l, struct rs_packet *p, const struct rs_packet *ack, bool *shared,
		 rs_time now)
{
	unsigned slot = p->dest_qp >> 16;
	struct rs_shm_record r;
	struct rs_shm_out *o;
	size_t n;

	*shared = false;
	if (!l->shm || p->dst >= RS_SHM_PATHS || p->dst >= l->paths.fresh ||
	    p->dest_qp == RS_MULTICAST_QPN || p->opcode == RS_OPCODE_CNP)
		return false;
	o = out_of(l, p, &slot, now);
	if (!o)
		return false;
	n = p->payload_bytes;
	if (n && rs_shm_make_run(l, o, p, &r, now))
		n = 0;
	else
		rs_shm_pack(p, &r);
	*shared = ack && rs_shm_pack_ack(p, ack, &r);
	r.path = (uint16_t)p->dst;
	if (!write_record(l, slot, &r, p->payload, n))
		wait_for_room(l->shm, slot, &r, p->payload, n, now);
	else
		o->deaf = false;
	note_written(l->shm, o, slot);
	l->counters.tx_shared += 1u + *shared;
	return true;
}

static rs_time stall_of(unsigned slot)
{
	return slot < RS_NEAR_FIRST ? rs_live_tuning.ring_stall : rs_live_tuning.near_stall;
}

void rs_live_connected(struct rs_live *l, uint32_t endpoint, uint32_t dest_qpn)
{
	if (!l->forked && l->near && endpoint < l->paths.fresh && endpoint < RS_SHM_PATHS &&
	    !is_here(l, &l->paths.path[endpoint]))
		rs_near_to(l, endpoint, dest_qpn, rs_live_now(l));
}

/* Nobody reads the ring for long: what waits is lost. */
APART static bool retry(struct rs_live *l, rs_time now)
{
	struct rs_shm *s = l->shm;
	unsigned slot = s->waiting.slot;
	struct rs_shm_out *o = s->out[slot];
	const struct rs_shm_record *r = &s->waiting.record;
	/* of a run, its request may be over */
	bool stale = (r->kind == RS_SHM_RUN || r->kind == RS_SHM_STAGED) &&
		     !rs_nic_awaits(l->nic, r->aeth_imm, r->psn);

	if (o && !stale &&
	    write_record(l, slot, &s->waiting.record, s->waiting.payload, s->waiting.n)) {
		note_written(s, o, slot);
		s->waiting.slot = 0;
		return true;
	}
	if (o && !stale && now - s->waiting.since < stall_of(slot))
		return false;
	if (o && !stale)
		o->deaf = true;
	if (o && !stale && slot >= RS_NEAR_FIRST)
		give_up(l, slot); /* once, and not again each time it reads a little */
	s->waiting.slot = 0;
	return true;
}

bool rs_shm_blocked(struct rs_live *l, rs_time now)
{
	return l->shm && l->shm->waiting.slot && !retry(l, now);
}

static bool ring_bell(struct rs_live *l, unsigned slot, const struct rs_shm_out *o)
{
	return slot < RS_NEAR_FIRST ? tell(l, slot, BELL, o->lease, -1)
				    : rs_near_ring_bell(l, slot);
}

void rs_shm_wake(struct rs_live *l)
{
	struct rs_shm *s = l->shm;

	if (!s || !s->n_written)
		return;
	/* Its word that it sleeps is looked at after the packets are there: see rs_shm_sleep(). */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < s->n_written; i++) {
		struct rs_shm_out *o = s->out[s->written[i]];

		if (!o)
			continue;
		o->written = false;
		/* Not told, as its socket is full of what it has not read: it is about to. */
		if (atomic_load_explicit(&o->w.ring->asleep, memory_order_relaxed) &&
		    atomic_exchange(&o->w.ring->asleep, 0) && !ring_bell(l, s->written[i], o))
			atomic_store(&o->w.ring->asleep, 1);
	}
	s->n_written = 0;
}

/* ---- The receiver's end ---- */

static void close_in(struct rs_shm *s, unsigned slot)
{
	struct rs_shm_in *in = s->in[slot];
	unsigned i = 0;

	s->in[slot] = NULL;
	if (!in)
		return;
	while (s->in_slot[i] != slot)
		i++;
	s->in_slot[i] = s->in_slot[--s->ins];
	munmap(in->r.ring, sizeof(*in->r.ring));
	if (in->pidfd >= 0)
		close(in->pidfd);
	free(in);
}

/* A ring is what its sender should have made, and cannot shrink under the reader. */
static struct rs_shm_ring *map_ring(int fd)
{
	struct rs_shm_ring *ring;
	struct statfs fs;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	/* no file of huge pages, of which there may be none when it is touched */
	if (seals < 0 || (seals & SEALS) != SEALS || fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC ||
	    fstat(fd, &st) || st.st_size != (off_t)sizeof(*ring))
		return NULL;
	ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return NULL;
	if (ring->magic == RS_SHM_MAGIC && ring->layout == RS_SHM_LAYOUT &&
	    ring->lines == RS_SHM_LINES)
		return ring;
	munmap(ring, sizeof(*ring));
	return NULL;
}

/* Its memory can be read if a word of it is what its ring says. */
static bool can_read(const struct rs_shm_in *in)
{
	uint64_t seen = 0;
	struct iovec mine = {&seen, sizeof(seen)};
	struct iovec theirs = {(void *)(uintptr_t)in->r.ring->cookie_at, sizeof(seen)};

	return in->pid &&
	       process_vm_readv(in->pid, &mine, 1, &theirs, 1, 0) == (ssize_t)sizeof(seen) &&
	       seen == in->r.ring->cookie;
}

static void begin_runs(struct rs_shm_in *in)
{
	in->runs = (struct rs_runs_in){.ticket = in->r.ring->ticket,
				       .done_word = &in->r.ring->runs_done,
				       .grant_time = rs_live_tuning.window->run_grant};
}

static bool attach(struct rs_live *l, const struct hello *h, int32_t pid, int fd)
{
	struct rs_shm *s = l->shm;
	struct rs_shm_in *in;
	bool refused = false;
	int32_t leased = -1;

	if (h->slot < RS_SLOT_FIRST || h->slot > RS_SLOT_LAST || h->slot == l->slot ||
	    h->lease != rs_registry_rings(l->registry, l->slot))
		return false;
	in = calloc(1, sizeof(*in));
	if (!in)
		return false;
	in->r.ring = map_ring(fd);
	in->pidfd = in->r.ring ? rs_registry_process(l->registry, h->slot, &leased) : -ESRCH;
	/* Another container's process has no number here that says who it is; that it knows this
	 * socket's key does. */
	if (in->pidfd == -ESRCH && leased == pid) /* it ended meanwhile: its last words are here */
		leased = 0;
	else if (in->pidfd < 0 ? in->pidfd != -EXDEV : leased != pid)
		refused = true;
	if (!in->r.ring || refused) {
		if (in->r.ring)
			munmap(in->r.ring, sizeof(*in->r.ring));
		if (in->pidfd >= 0)
			close(in->pidfd);
		free(in);
		return false;
	}
	begin_runs(in);
	in->pid = leased;
	in->lease = rs_registry_rings(l->registry, h->slot);
	close_in(s, h->slot);
	s->in[h->slot] = in;
	s->in_slot[s->ins++] = (uint16_t)h->slot;
	if (can_read(in))
		atomic_store(&in->r.ring->pulls, 1);
	atomic_store(&in->r.ring->attached, 1);
	return true;
}

/* The number of a ring from those addresses, or a free one; 0: all are taken. */
static unsigned near_place(const struct rs_shm *s, const uint8_t own[16], const uint8_t peer[16],
			   uint8_t slot)
{
	unsigned place = 0;

	for (unsigned i = RS_NEAR_FIRST; i < RS_SHM_PEERS; i++) {
		const struct rs_shm_in *in = s->in[i];

		if (in && in->slot == slot && !memcmp(in->own, own, 16) &&
		    !memcmp(in->peer, peer, 16))
			return i;
		place = in || place ? place : i;
	}
	return place;
}

bool rs_shm_take_ring(struct rs_live *l, int ring, int alive, const uint8_t own[16],
		      const uint8_t peer[16], uint8_t slot)
{
	struct rs_shm *s = l->shm;
	unsigned place = near_place(s, own, peer, slot);
	struct rs_shm_in *in = place ? calloc(1, sizeof(*in)) : NULL;

	if (in)
		in->r.ring = map_ring(ring);
	if (!in || !in->r.ring) {
		free(in);
		return false;
	}
	begin_runs(in);
	in->pidfd = alive;
	in->slot = slot;
	memcpy(in->own, own, 16);
	memcpy(in->peer, peer, 16);
	close_in(s, place);
	s->in[place] = in;
	s->in_slot[s->ins++] = (uint16_t)place;
	atomic_store(&in->r.ring->attached, 1);
	return true;
}

static void refused(struct rs_live *l, const struct hello *h, int32_t pid)
{
	struct rs_shm_out *o = l->shm && h->slot < RS_NEAR_FIRST ? l->shm->out[h->slot] : NULL;

	if (o && o->lease == h->lease && (!o->pid || o->pid == pid))
		give_up(l, h->slot);
}

bool rs_shm_heard(struct rs_live *l, const void *bytes, size_t n, int32_t pid, int fd)
{
	struct hello h;

	if (n == sizeof(h)) {
		memcpy(&h, bytes, sizeof(h));
		if (!memcmp(h.magic, magic, sizeof(magic))) {
			if (h.what == HELLO && (fd < 0 || !l->shm || !attach(l, &h, pid, fd)))
				tell(l, h.slot & 0xff, REFUSAL, h.lease, -1);
			if (h.what == REFUSAL)
				refused(l, &h, pid);
			rs_progress_rouse(l);
			if (fd >= 0)
				close(fd);
			return true;
		}
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* Only addresses of this host are talked for here: others' packets come by the wire. From another
 * network namespace, those that were proved. */
static bool may_speak_for(const struct rs_live *l, const struct rs_shm_in *in,
			  const struct rs_shm_path *p)
{
	if (in->slot)
		return !memcmp(p->peer, in->peer, 16) && !memcmp(p->own, in->own, 16);
	return bindable(l, p->peer) && bindable(l, p->own);
}

APART static void learn_path(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r,
			     const uint8_t *gids)
{
	struct rs_shm_path *p;

	if (r->path >= RS_SHM_PATHS || r->payload_bytes != 32)
		return;
	p = &in->path[r->path];
	memcpy(p->peer, gids, 16);
	memcpy(p->own, gids + 16, 16);
	p->placed = false;
	p->known = may_speak_for(l, in, p);
}

/* The path of this device that a record came by; UINT32_MAX: a stranger's. */
uint32_t rs_shm_path_of(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r)
{
	struct rs_shm_path *p = &in->path[r->path % RS_SHM_PATHS];

	if (!p->known)
		return UINT32_MAX;
	if (p->placed && l->paths.path[p->path].used &&
	    l->paths.path[p->path].generation == p->generation)
		return p->path;
	p->path = rs_paths_find(&l->paths, p->own, p->peer);
	if (p->path == UINT32_MAX && (r->opcode & 0xe0) == RS_UD)
		p->path = rs_paths_temporary(l, p->own, p->peer);
	p->placed = p->path != UINT32_MAX;
	if (p->placed)
		p->generation = l->paths.path[p->path].generation;
	return p->path;
}

static enum rs_rx_verdict classify(struct rs_live *l, struct rs_shm_in *in,
				   const struct rs_shm_record *r, const uint8_t *payload,
				   struct rs_packet *p)
{
	if (!p)
		return RS_RX_NO_ROOM;
	if (!rs_shm_unpack(r, payload, p))
		return RS_RX_MALFORMED;
	p->src = rs_shm_path_of(l, in, r);
	if (p->src == UINT32_MAX)
		return RS_RX_STRANGER;
	return p->dest_qp >> 16 == l->slot ? RS_RX_ENGINE : RS_RX_OWNERLESS;
}

static void give_packet(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	p->frame_bytes = rs_frame_bytes(p->opcode, p->payload_bytes, l->paths.path[p->src].ipv6);
	l->counters.rx_shared++;
	rs_rx_give(l, p, now);
}

static void take_packet(struct rs_live *l, struct rs_shm_in *in, struct rs_shm_record *r,
			const uint8_t *payload, rs_time now)
{
	struct rs_packet *p = rs_pool_alloc(&l->free), *ack, brought;
	bool acks = rs_shm_unpack_ack(r, &brought);
	enum rs_rx_verdict v = classify(l, in, r, payload, p);
	uint32_t f;

	if (v != RS_RX_ENGINE) {
		rs_rx_drop(l, v);
		if (p)
			rs_pool_free(&l->free, p);
		return;
	}
	brought.src = p->src; /* the same peer's, to the same queue pair */
	/* A ring takes an ACK without a call: one that tells the sender of a completion goes at
	 * once. */
	f = rs_opcodes[p->opcode].flags;
	if (f & RS_F_LAST && f & (RS_F_SEND | RS_F_IMM))
		l->tx.urgent = true;
	give_packet(l, p, now);
	ack = acks ? rs_pool_alloc(&l->free) : NULL;
	if (!ack)
		return;
	*ack = brought;
	give_packet(l, ack, now);
}

/* While runs are being copied, only more of them begin. False: what comes has to wait. */
static bool take_record(struct rs_live *l, struct rs_shm_in *in, rs_time now)
{
	struct rs_shm_record r;
	const uint8_t *payload;

	if (in->runs.pending && (in->runs.pending == RS_RUN_PENDING || !rs_shm_next_is_run(&in->r)))
		return false;
	if (!rs_shm_read(&in->r, &r, &payload))
		return false;
	if (r.kind == RS_SHM_RUN)
		rs_shm_begin_run(l, in, &r, now);
	else if (in->runs.pending)
		return rs_shm_break(&in->r); /* it was one when it was looked at */
	else if (r.kind == RS_SHM_STAGED)
		rs_shm_take_staged(l, in, &r, now);
	else if (r.kind == RS_SHM_PATH)
		learn_path(l, in, &r, payload);
	else
		take_packet(l, in, &r, payload, now);
	return true;
}

static bool read_ring(struct rs_live *l, struct rs_shm_in *in)
{
	unsigned n = 0;
	bool finished;
	rs_time now;

	if (!in->runs.pending && !rs_shm_waiting(&in->r))
		return false;
	now = rs_live_now(l);
	finished = rs_shm_finish_runs(l, in, now);
	while (n < rs_live_tuning.ring_round && take_record(l, in, now)) {
		finished |= rs_shm_finish_runs(l, in, now);
		n++;
	}
	rs_shm_release(&in->r);
	return n || finished;
}

/* Who is gone, or never came. What it wrote last was read. */
APART static void check(struct rs_live *l, rs_time now)
{
	struct rs_shm *s = l->shm;

	for (unsigned slot = RS_SLOT_FIRST; slot < RS_SHM_PEERS; slot++) {
		struct rs_shm_out *o = s->out[slot];
		struct rs_shm_in *in = s->in[slot];

		if (o && (is_gone(l, slot, o->pidfd) || atomic_load(&o->w.ring->refused) ||
			  (!atomic_load(&o->w.ring->attached) &&
			   now - o->made > rs_live_tuning.ring_attach)))
			give_up(l, slot);
		if (in &&
		    (is_gone(l, slot, in->pidfd) ||
		     (slot < RS_NEAR_FIRST && rs_registry_rings(l->registry, slot) != in->lease)))
			close_in(s, slot);
	}
}

bool rs_shm_receive(struct rs_live *l, int64_t now_ns)
{
	struct rs_shm *s = l->shm;
	bool any = s && s->outs && rs_shm_push(l);

	if (!s)
		return false;
	for (unsigned i = 0; i < s->ins; i++)
		any |= read_ring(l, s->in[s->in_slot[i]]);
	if (any)
		atomic_store_explicit(&s->heard_ns, now_ns, memory_order_relaxed);
	if (s->outs && rs_nic_get_counters(l->nic)->req_cqe_error != s->errors) {
		s->errors = rs_nic_get_counters(l->nic)->req_cqe_error;
		rs_shm_forbid(l);
	}
	if (__builtin_expect(now_ns - s->checked_ns > rs_live_tuning.ring_check_ns, 0)) {
		s->checked_ns = now_ns;
		check(l, rs_live_clock(l));
	}
	return any;
}

bool rs_shm_heard_within(const struct rs_live *l, int64_t now_ns, int64_t ns)
{
	return l->shm &&
	       now_ns - atomic_load_explicit(&l->shm->heard_ns, memory_order_relaxed) < ns;
}

bool rs_shm_quiet(const struct rs_live *l, int64_t now_ns)
{
	return !rs_shm_heard_within(l, now_ns, rs_live_tuning.ring_busy_ns) ||
	       now_ns - l->socket_ns > rs_live_tuning.socket_ns;
}

bool rs_shm_sleep(struct rs_live *l)
{
	struct rs_shm *s = l->shm;
	bool waiting = false;

	if (!s || !s->ins)
		return true;
	for (unsigned i = 0; i < s->ins; i++)
		atomic_store_explicit(&s->in[s->in_slot[i]]->r.ring->asleep, 1,
				      memory_order_relaxed);
	/* Either the writer sees the word, or its packet is seen here. */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < s->ins; i++)
		waiting |= rs_shm_waiting(&s->in[s->in_slot[i]]->r);
	return !waiting;
}

rs_time rs_shm_again(const struct rs_live *l)
{
	const struct rs_shm *s = l->shm;
	bool look = s && s->waiting.slot;

	for (unsigned i = 0; s && !look && i < s->ins; i++)
		look = s->in[s->in_slot[i]]->runs.pending;
	return look ? rs_live_clock(l) + rs_live_tuning.ring_again : RS_NEVER;
}

void rs_shm_settle(struct rs_live *l)
{
	if (!l->shm)
		return;
	rs_shm_revoke_all(l);
	rs_shm_forbid(l);
}

void rs_live_settle(struct rs_live *l)
{
	if (!l->forked)
		rs_shm_settle(l);
}

/* Was a ring written that its reader has not mapped yet? */
static bool unmapped(const struct rs_live *l)
{
	for (unsigned slot = RS_SLOT_FIRST; slot < RS_SHM_PEERS; slot++) {
		const struct rs_shm_out *o = l->shm->out[slot];

		if (o && o->w.ring && o->w.tail && !atomic_load(&o->w.ring->attached) &&
		    !atomic_load(&o->w.ring->refused) && !is_gone(l, slot, o->pidfd))
			return true;
	}
	return false;
}

void rs_shm_linger(struct rs_live *l)
{
	const struct timespec look = {.tv_nsec = 1000 * 1000};

	for (unsigned n = 0; l->shm && n < rs_live_tuning.ring_linger_ms && unmapped(l); n++)
		nanosleep(&look, NULL);
}

void rs_shm_close(struct rs_live *l)
{
	struct rs_shm *s = l->shm;

	if (!s)
		return;
	if (!l->forked) {
		rs_shm_linger(l);
		rs_shm_settle(l);
	}
	for (unsigned slot = 0; slot < RS_SHM_PEERS; slot++) {
		close_out(s, slot);
		close_in(s, slot);
	}
	rs_near_close(l);
	free(s->bounce);
	free(s);
	l->shm = NULL;
}
