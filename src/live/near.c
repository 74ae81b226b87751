/* Rings between network namespaces of one host: see near.h. */
#include "live/near.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/shm_state.h"
#include "live/vendor_mad.h"

enum { SECRET = 16, GUESTS = 64, BATCH = 64, SWEEP_MAX = 4096, PATH = 108 };
enum {
	ASKER_AT = 41, /* as grant.c's: by these the other process of the port finds whose it is */
	GRANTER_AT = 42,
	TOKEN_AT = 44,
	TICKET_AT = 60,  /* of an answer */
	ADDRESS_AT = 60, /* of a question: the asker's socket */
	QPN_AT = 92,     /* of a question */
};
enum { WELCOME = 1, RING = 2, REFUSAL = 3, BELL = 4 };

/* By the socket, behind its key. */
struct word {
	char magic[8];
	uint32_t what, zero;
	uint8_t secret[SECRET]; /* WELCOME: the token; RING: the ticket; REFUSAL: the token */
	struct rs_local_address sender; /* WELCOME */
};

static const char magic[8] = "RSNEAR1";

enum state { FREE, ASKED, OPEN, REFUSED };

/* One that this device sends to. */
struct peer {
	enum state state;
	uint32_t path;
	uint16_t generation;
	uint8_t slot;
	unsigned tries;
	rs_time since;
	uint8_t token[SECRET], ticket[SECRET];
	bool has_ticket;
	int alive;                  /* of a WELCOME; -1 */
	int sock;                   /* connected to its socket; -1 */
	struct rs_local_address at; /* of that */
};

/* One that asked, and may send a ring. */
struct guest {
	bool used;
	uint8_t ticket[SECRET], token[SECRET];
	uint8_t own[16], peer[16], slot;
	int sock;
	struct rs_local_address at;
};

struct rs_near {
	int dir, sock, alive[2];
	char folder[PATH], path[PATH]; /* of the socket */
	struct rs_local_address address;
	struct peer peer[RS_NEAR_PEERS];
	uint16_t *row[RS_SHM_PATHS]; /* [path][slot]: number of the ring */
	struct guest guest[GUESTS];
	unsigned next_guest;
};

/* ---- The directory ---- */

/* Who may write to the directory may write to the socket. */
static int open_up(const struct rs_near *n)
{
	struct stat st;

	if (fstat(n->dir, &st))
		return -errno;
	return chmod(n->path,
		     0600 | (st.st_mode & S_IWGRP ? 0060 : 0) | (st.st_mode & S_IWOTH ? 0006 : 0))
		       ? -errno
		       : 0;
}

/* A socket of the directory, itself and not what a link of its name leads to, to send to; -1: there
 * is none, or not for this user. */
static int connect_to(const struct rs_near *n, const struct rs_local_address *a)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char file[64];
	struct stat st;
	int at, sock;

	rs_local_file(a, file, sizeof(file));
	at = openat(n->dir, file, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return -1;
	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d", at);
	sock = fstat(at, &st) || !S_ISSOCK(st.st_mode)
		       ? -1
		       : socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sock >= 0 && connect(sock, (struct sockaddr *)&name, sizeof(name))) {
		close(sock);
		sock = -1;
	}
	close(at);
	return sock;
}

/* This user's sockets that nobody has open any more: of programs that were killed. */
static void sweep(const struct rs_near *n)
{
	DIR *d = opendir(n->folder);
	struct dirent *e;

	for (unsigned i = 0; d && i < SWEEP_MAX && (e = readdir(d)) != NULL; i++) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		struct stat st;
		int sock;

		if (strncmp(e->d_name, "ripstop-", 8) != 0 ||
		    (size_t)snprintf(name.sun_path, sizeof(name.sun_path), "%s/%s", n->folder,
				     e->d_name) >= sizeof(name.sun_path) ||
		    lstat(name.sun_path, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
			continue;
		sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (sock >= 0 && connect(sock, (struct sockaddr *)&name, sizeof(name)) &&
		    errno == ECONNREFUSED)
			unlink(name.sun_path);
		if (sock >= 0)
			close(sock);
	}
	if (d)
		closedir(d);
}

static int open_files(struct rs_near *n, const char *folder)
{
	int err;

	n->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (n->dir < 0)
		return -errno;
	if (pipe2(n->alive, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	sweep(n);
	n->sock = rs_local_open_in(&n->address, n->folder, n->path, sizeof(n->path));
	if (n->sock < 0)
		return n->sock;
	err = open_up(n);
	return err;
}

int rs_near_open(struct rs_live *l, struct rs_error *e)
{
	const char *folder = getenv("RIPSTOP_SHM_DIR");
	struct rs_near *n;
	int err;

	if (!folder || !*folder)
		return 0;
	if (*folder != '/' || strlen(folder) > PATH - 48)
		return rs_error_set(e, -EINVAL,
				    "RIPSTOP_SHM_DIR=%.80s is no absolute path of at most %d "
				    "characters",
				    folder, PATH - 48);
	n = calloc(1, sizeof(*n));
	if (!n)
		return rs_error_set(e, -ENOMEM, "no memory for rings between containers");
	n->dir = n->sock = n->alive[0] = n->alive[1] = -1;
	for (unsigned i = 0; i < RS_NEAR_PEERS; i++)
		n->peer[i].sock = n->peer[i].alive = -1;
	for (unsigned i = 0; i < GUESTS; i++)
		n->guest[i].sock = -1;
	l->near = n;
	snprintf(n->folder, sizeof(n->folder), "%s", folder);
	err = open_files(n, folder);
	return err ? rs_error_set(e, err, "cannot make a socket in RIPSTOP_SHM_DIR=%s: %s", folder,
				  strerror(-err))
		   : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void rs_near_close(struct rs_live *l)
{
	struct rs_near *n = l->near;

	if (!n)
		return;
	if (n->sock >= 0 && !l->forked)
		unlink(n->path);
	for (unsigned i = 0; i < RS_NEAR_PEERS; i++) {
		close_fd(&n->peer[i].sock);
		close_fd(&n->peer[i].alive);
	}
	for (unsigned i = 0; i < GUESTS; i++)
		close_fd(&n->guest[i].sock);
	for (unsigned i = 0; i < RS_SHM_PATHS; i++)
		free(n->row[i]);
	close_fd(&n->sock);
	close_fd(&n->dir);
	close_fd(&n->alive[0]);
	close_fd(&n->alive[1]);
	free(n);
	l->near = NULL;
}

void rs_near_abandon(struct rs_live *l)
{
	if (l->near)
		close_fd(&l->near->alive[1]);
}

int rs_near_descriptor(const struct rs_live *l)
{
	return l->near ? l->near->sock : -1;
}

/* ---- Words ---- */

/* Behind the receiver's key; with up to two descriptors. */
static bool say(int sock, const struct rs_local_address *to, const struct word *w, int fd, int fd2)
{
	_Alignas(8) uint8_t control[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct iovec iov[2] = {{(void *)(uintptr_t)to->key, sizeof(to->key)},
			       {(void *)(uintptr_t)w, sizeof(*w)}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
	int fds[2] = {fd, fd2};
	size_t n = (fd2 >= 0 ? 2 : 1) * sizeof(int);

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(n);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n);
		memcpy(CMSG_DATA(c), fds, n);
	}
	return sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

static struct word word_of(uint32_t what, const uint8_t secret[SECRET])
{
	struct word w = {.what = what};

	memcpy(w.magic, magic, sizeof(magic));
	if (secret)
		memcpy(w.secret, secret, SECRET);
	return w;
}

bool rs_near_is_gone(int alive)
{
	struct pollfd p = {.fd = alive};

	return poll(&p, 1, 0) > 0;
}

/* ---- Asking ---- */

static struct peer *peer_of(struct rs_near *n, unsigned number)
{
	return &n->peer[number - RS_NEAR_FIRST];
}

static void forget(struct rs_near *n, struct peer *p)
{
	close_fd(&p->sock);
	close_fd(&p->alive);
	if (n->row[p->path])
		n->row[p->path][p->slot] = 0;
	*p = (struct peer){.sock = -1, .alive = -1};
}

static void ask(struct rs_live *l, struct peer *p, uint32_t qpn, rs_time now)
{
	const struct rs_path *path = &l->paths.path[p->path];
	struct rs_gsi_datagram d = {.src_qp = RS_GSI_QPN};

	p->state = ASKED;
	p->since = now;
	p->tries++;
	p->has_ticket = false;
	close_fd(&p->sock);
	close_fd(&p->alive);
	if (rs_live_random(p->token, SECRET))
		return;
	memcpy(d.own, path->own, 16);
	memcpy(d.peer, path->peer, 16);
	vendor_mad_begin(d.mad, MAD_GET, MAD_LAYOUT_NEAR);
	d.mad[ASKER_AT] = (uint8_t)l->slot;
	d.mad[GRANTER_AT] = p->slot;
	memcpy(d.mad + TOKEN_AT, p->token, SECRET);
	memcpy(d.mad + ADDRESS_AT, &l->near->address, sizeof(l->near->address));
	rs_put32(d.mad + QPN_AT, qpn);
	rs_live_gsi_send(l, &d); /* lost: asked again */
}

/* The number of a free peer; 0: there is none. */
static unsigned take_peer(struct rs_near *n, uint32_t path, uint8_t slot)
{
	if (!n->row[path])
		n->row[path] = calloc(RS_NEAR_FIRST, sizeof(*n->row[path]));
	for (unsigned i = 0; n->row[path] && i < RS_NEAR_PEERS; i++)
		if (n->peer[i].state == FREE) {
			n->peer[i].path = path;
			n->peer[i].slot = slot;
			n->row[path][slot] = (uint16_t)(RS_NEAR_FIRST + i);
			return RS_NEAR_FIRST + i;
		}
	return 0;
}

/* Not one whose path has become another. */
static unsigned number_of(struct rs_live *l, uint32_t path, uint8_t slot)
{
	struct rs_near *n = l->near;
	unsigned number = n->row[path] ? n->row[path][slot] : 0;

	if (!number || peer_of(n, number)->generation == l->paths.path[path].generation)
		return number;
	rs_shm_drop_out(l, number);
	forget(n, peer_of(n, number));
	return 0;
}

static bool may_ask(const struct peer *p, rs_time now)
{
	rs_time after = p->state == REFUSED || p->tries >= rs_live_tuning.near_tries
				? rs_live_tuning.near_rest
				: rs_live_tuning.near_again;

	return now - p->since > after;
}

unsigned rs_near_to(struct rs_live *l, uint32_t path, uint32_t qpn, rs_time now)
{
	uint8_t slot = (uint8_t)(qpn >> 16);
	unsigned number = number_of(l, path, slot);
	struct peer *p;

	if (number && peer_of(l->near, number)->state == OPEN)
		return number;
	if (number && !may_ask(peer_of(l->near, number), now))
		return 0;
	if (!number && (slot < RS_SLOT_FIRST || slot > RS_SLOT_LAST ||
			rs_netdev_captured(l->device.net.index)))
		return 0;
	number = number ? number : take_peer(l->near, path, slot);
	if (!number)
		return 0;
	p = peer_of(l->near, number);
	p->generation = l->paths.path[path].generation;
	ask(l, p, qpn, now);
	return 0;
}

void rs_near_lost(struct rs_live *l, unsigned number, rs_time now)
{
	struct peer *p = peer_of(l->near, number);

	close_fd(&p->sock);
	close_fd(&p->alive);
	p->state = REFUSED;
	p->since = now;
}

bool rs_near_ring_bell(struct rs_live *l, unsigned number)
{
	const struct peer *p = peer_of(l->near, number);
	struct word w = word_of(BELL, NULL);

	return say(p->sock, &p->at, &w, -1, -1);
}

/* ---- The asker ---- */

/* Both halves are there: the ring goes, and what it is sent by is known. */
static void complete(struct rs_live *l, struct peer *p)
{
	unsigned number = RS_NEAR_FIRST + (unsigned)(p - l->near->peer);
	struct word w = word_of(RING, p->ticket);
	int ring;

	if (!p->has_ticket || p->sock < 0)
		return;
	ring = rs_shm_make_out(l, number, p->alive);
	p->alive = -1;
	p->state = OPEN;
	p->tries = 0;
	if (ring < 0 || !say(p->sock, &p->at, &w, ring, l->near->alive[0])) {
		rs_shm_drop_out(l, number);
		rs_near_lost(l, number, rs_live_now(l));
	}
	if (ring >= 0)
		close(ring);
}

static struct peer *asked_by(struct rs_near *n, const uint8_t token[SECRET], enum state state)
{
	for (unsigned i = 0; i < RS_NEAR_PEERS; i++)
		if (n->peer[i].state == state && !memcmp(n->peer[i].token, token, SECRET))
			return &n->peer[i];
	return NULL;
}

/* What came to the address that asked. */
static void take_ticket(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad)
{
	struct peer *p = asked_by(l->near, mad + TOKEN_AT, ASKED);
	const struct rs_path *path = p ? &l->paths.path[p->path] : NULL;

	if (!p || p->generation != path->generation || memcmp(path->own, d->own, 16) != 0 ||
	    memcmp(path->peer, d->peer, 16) != 0)
		return;
	memcpy(p->ticket, mad + TICKET_AT, SECRET);
	p->has_ticket = true;
	complete(l, p);
}

/* Takes alive. */
static void welcomed(struct rs_live *l, const struct word *w, int alive)
{
	struct peer *p = asked_by(l->near, w->secret, ASKED);

	if (!p || p->sock >= 0 || alive < 0) {
		close_fd(&alive);
		return;
	}
	p->at = w->sender;
	p->alive = alive;
	p->sock = connect_to(l->near, &p->at);
	complete(l, p);
}

/* ---- The asked ---- */

/* In the place of the oldest. */
static struct guest *new_guest(struct rs_near *n)
{
	struct guest *g = &n->guest[n->next_guest++ % GUESTS];

	close_fd(&g->sock);
	*g = (struct guest){.sock = -1};
	return g;
}

static void send_ticket(struct rs_live *l, const struct guest *g)
{
	struct rs_gsi_datagram d = {.src_qp = RS_GSI_QPN};

	memcpy(d.own, g->own, 16);
	memcpy(d.peer, g->peer, 16);
	vendor_mad_begin(d.mad, MAD_GET_RESPONSE, MAD_LAYOUT_NEAR);
	d.mad[ASKER_AT] = g->slot;
	d.mad[GRANTER_AT] = (uint8_t)l->slot;
	memcpy(d.mad + TOKEN_AT, g->token, SECRET);
	memcpy(d.mad + TICKET_AT, g->ticket, SECRET);
	rs_live_gsi_send(l, &d);
}

/* Who names no queue pair of this device, or has no socket in this directory, is told nothing. */
static void welcome(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad)
{
	struct rs_near *n = l->near;
	struct word w = word_of(WELCOME, mad + TOKEN_AT);
	struct rs_local_address at;
	struct guest *g;
	int sock;

	if (mad[GRANTER_AT] != l->slot ||
	    !rs_flow_may_ask(&l->flow, rs_get32(mad + QPN_AT), d->path, mad[ASKER_AT]))
		return;
	memcpy(&at, mad + ADDRESS_AT, sizeof(at));
	sock = connect_to(n, &at);
	if (sock < 0)
		return;
	g = new_guest(n);
	*g = (struct guest){.used = true, .sock = sock, .at = at, .slot = mad[ASKER_AT]};
	if (rs_live_random(g->ticket, SECRET))
		return;
	memcpy(g->token, mad + TOKEN_AT, SECRET);
	memcpy(g->own, d->own, 16);
	memcpy(g->peer, d->peer, 16);
	w.sender = n->address;
	if (say(sock, &at, &w, n->alive[0], -1))
		send_ticket(l, g);
}

void rs_near_heard(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad)
{
	if (!l->near || l->forked)
		return;
	if (mad[MAD_METHOD_AT] == MAD_GET)
		welcome(l, d, mad);
	else if (mad[MAD_METHOD_AT] == MAD_GET_RESPONSE && mad[ASKER_AT] == l->slot)
		take_ticket(l, d, mad);
}

/* Who brings the ticket was told it at its address. Takes both descriptors. */
static void take_ring(struct rs_live *l, const struct word *w, int ring, int alive)
{
	struct rs_near *n = l->near;
	struct guest *g = NULL;

	for (unsigned i = 0; i < GUESTS && !g; i++)
		if (n->guest[i].used && !memcmp(n->guest[i].ticket, w->secret, SECRET))
			g = &n->guest[i];
	if (g && ring >= 0 && alive >= 0 &&
	    rs_shm_take_ring(l, ring, alive, g->own, g->peer, g->slot)) {
		alive = -1;
	} else if (g) {
		struct word no = word_of(REFUSAL, g->token);

		say(g->sock, &g->at, &no, -1, -1);
	}
	if (g) {
		close_fd(&g->sock);
		*g = (struct guest){.sock = -1};
	}
	close_fd(&ring);
	close_fd(&alive);
}

/* ---- The socket in the directory ---- */

static void take_word(struct rs_live *l, const struct word *w, int fd[2])
{
	struct peer *p;

	switch (w->what) {
	case WELCOME:
		welcomed(l, w, fd[0]);
		fd[0] = -1;
		break;
	case RING:
		take_ring(l, w, fd[0], fd[1]);
		fd[0] = fd[1] = -1;
		break;
	case REFUSAL:
		p = asked_by(l->near, w->secret, OPEN);
		if (p)
			rs_shm_drop_out(l, RS_NEAR_FIRST + (unsigned)(p - l->near->peer));
		break;
	default:
		break; /* BELL: it has woken */
	}
}

static void read_fds(struct msghdr *m, int fd[2])
{
	fd[0] = fd[1] = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(c), n < 2 * sizeof(int) ? n : 2 * sizeof(int));
	}
}

bool rs_near_receive(struct rs_live *l)
{
	bool any = false;

	for (unsigned i = 0; l->near && i < BATCH; i++) {
		_Alignas(8) uint8_t
			control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(2 * sizeof(int))];
		uint8_t key[RS_LOCAL_KEY];
		struct word w;
		struct iovec iov[2] = {{key, sizeof(key)}, {&w, sizeof(w)}};
		struct msghdr m = {.msg_iov = iov,
				   .msg_iovlen = 2,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		ssize_t got = recvmsg(l->near->sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		int fd[2];

		if (got < 0)
			break;
		read_fds(&m, fd);
		if (got == (ssize_t)(sizeof(key) + sizeof(w)) &&
		    !memcmp(key, l->near->address.key, sizeof(key)) &&
		    !memcmp(w.magic, magic, sizeof(magic)))
			take_word(l, &w, fd);
		close_fd(&fd[0]);
		close_fd(&fd[1]);
		any = true;
	}
	if (any)
		rs_progress_rouse(l);
	return any;
}
